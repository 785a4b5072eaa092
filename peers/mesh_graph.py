"""MemoryGrams for the mesh peers: sections 2.3, 3.1, 3.2 and 4.8.3."""

import datetime

from mesh_json import Number

MARK = "addedBy"


def is_text(value):
    return isinstance(value, str)


def problem(graph, ways, require_members=False, ids_optional=False):
    """(rule, reason) of the first defect of the content, or None. The caller made sure that the MemoryGram is an object."""
    for name, kind in (("nodes", list), ("edges", list), ("mode", str), ("encoding", str)):
        if name not in graph:
            if require_members or ways.bug("graph-members-all-required"):
                return f"graph-{name}-missing", f"MemoryGram.{name} is missing"
        elif not isinstance(graph[name], kind) and not ways.skips(f"graph-{name}-type"):
            return f"graph-{name}-type", f"MemoryGram.{name} has the wrong type"
    if "mode" in graph and ways.bug("mode-full-only") and graph["mode"] != "full":
        return "graph-mode", "unknown mode"
    if "encoding" in graph and ways.bug("encoding-taken-for-charset") and graph["encoding"] != "utf-8":
        return "graph-encoding", "unknown encoding"
    nodes, edges = graph.get("nodes", []), graph.get("edges", [])
    seen = ways.memory.setdefault("node-ids", set()) if ways.bug("node-ids-unique-for-ever") else set()
    for node in nodes if isinstance(nodes, list) else ():
        found = _node(node, seen, ways, ids_optional)
        if found:
            return found
        if ways.bug("first-node-checked-only"):
            break
    for edge in edges if isinstance(edges, list) else ():
        found = _edge(edge, ways, ids_optional)
        if found:
            return found
        if ways.bug("dangling-edge-refused") and isinstance(nodes, list):
            known = {n.get("id") for n in nodes if isinstance(n, dict)}
            if edge.get("source") not in known or edge.get("target") not in known:
                return "graph-dangling", "an edge to an unknown node"
        if ways.bug("dangling-source-refused") and edge.get("source") not in {n.get("id") for n in nodes if isinstance(n, dict)}:
            return "graph-dangling", "an edge from an unknown node"
        if ways.bug("first-edge-checked-only"):
            break
    if ways.bug("parallel-edges-refused"):
        ends = [(e.get("source"), e.get("target")) for e in edges]
        if len(set(ends)) < len(ends):
            return "graph-parallel", "two edges between the same nodes"
    return None


def _node(node, seen, ways, ids_optional):
    if not isinstance(node, dict):
        return "graph-node", "a node is not an object"
    if "id" not in node:
        if not ids_optional and not ways.skips("graph-node-id-missing"):
            return "graph-node-id-missing", "a node has no id"
    elif not is_text(node["id"]):
        if not ways.skips("graph-node-id-type") and not (ways.bug("null-ids-taken") and node["id"] is None):
            return "graph-node-id-type", "the id of a node is not a string"
    else:
        key = node["id"].lower() if ways.bug("node-ids-ignore-case") else node["id"]
        if key in seen and not ways.skips("graph-duplicate-id"):
            return "graph-duplicate-id", "two nodes with one id"
        if key in seen and ways.bug("equal-duplicate-ids-taken"):
            return None
        seen.add(key)
    if "type" in node and not is_text(node["type"]) and not ways.skips("graph-node-type"):
        return "graph-node-type", "the type of a node is not a string"
    if ways.bug("unknown-node-category-refused") and node.get("type") not in ("plan", "issue", "task", None):
        return "graph-node-category", "unknown category"
    if "metadata" in node and not isinstance(node["metadata"], dict) and not ways.skips("graph-node-metadata"):
        return "graph-node-metadata", "the metadata of a node is not an object"
    metadata = node.get("metadata") if isinstance(node.get("metadata"), dict) else {}
    if ways.bug("metadata-allow-list") and set(metadata) - {"importance", "decay", "processedBy", "processingTimestamp"}:
        return "graph-metadata-unknown", "unknown metadata"
    if ways.bug("importance-range-checked") and isinstance(metadata.get("importance"), Number):
        if not 0 <= metadata["importance"].decimal() <= 1:
            return "graph-importance", "importance out of range"
    if ways.bug("decay-must-be-number") and "decay" in metadata and not isinstance(metadata["decay"], Number):
        return "graph-decay", "decay is not a number"
    if ways.bug("node-members-closed") and set(node) - {"id", "type", "metadata"}:
        return "graph-node-members", "unknown member of a node"
    return None


def _edge(edge, ways, ids_optional):
    if not isinstance(edge, dict):
        return "graph-edge", "an edge is not an object"
    for name in ("source", "target"):
        if name not in edge:
            if not ids_optional and not ways.skips(f"graph-edge-{name}-missing"):
                return f"graph-edge-{name}-missing", f"an edge has no {name}"
        elif not is_text(edge[name]) and not ways.skips(f"graph-edge-{name}"):
            return f"graph-edge-{name}", f"the {name} of an edge is not a string"
    if "weight" in edge:
        weight = edge["weight"]
        if is_text(weight) and ways.bug("weight-parsed-from-string"):
            return None
        if weight is None and ways.bug("weight-null-taken"):
            return None
        if not isinstance(weight, Number):
            if not ways.skips("graph-weight-type"):
                return "graph-weight-type", "a weight is not a number"
        elif not ways.skips("graph-weight-range"):
            value = weight.decimal()
            low, high = value < 0, value > 1
            if ways.bug("weight-one-refused"):
                high = value >= 1
            if ways.bug("weight-zero-refused"):
                low = value <= 0
            if ways.bug("weight-upper-bound-only"):
                low = False
            if ways.bug("weight-lower-bound-only"):
                high = False
            if ways.bug("weight-range-in-tenths"):
                low, high = value < -1, value > 10
            if low or high:
                return "graph-weight-range", "a weight out of range"
    if "context" in edge:
        if not is_text(edge["context"]) and not ways.skips("graph-edge-context"):
            return "graph-edge-context", "the context of an edge is not a string"
    elif ways.bug("edge-context-required"):
        return "graph-edge-context-missing", "an edge has no context"
    if ways.bug("annotated-edge-refused") and set(edge) - {"source", "target", "weight", "context"}:
        return "graph-edge-members", "unknown member of an edge"
    return None


# --- Section 4.8.3 ----------------------------------------------------------------------------------------------------


def timestamp():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def objects(graph, name):
    """The objects in an array of the graph."""
    items = graph.get(name) if isinstance(graph, dict) else None
    return [i for i in items if isinstance(i, dict)] if isinstance(items, list) else []


def annotate(graph, uri, ways, ids=None, when=None):
    """Appends the node URI to processedBy of the nodes, in place. What is there stays."""
    for node in objects(graph, "nodes"):
        if ids is not None and node.get("id") not in ids:
            continue
        if ways.bug("annotation-replaces-metadata"):
            node["metadata"] = {}
        metadata = node.setdefault("metadata", {})
        if not isinstance(metadata, dict):
            continue
        before = metadata.get("processedBy")
        before = before if isinstance(before, list) and not ways.bug("annotation-replaces-list") else []
        entry = ways.change("annotation", [*before, uri], None)
        metadata["processedBy"] = entry
        metadata["processingTimestamp"] = when or ("yesterday" if ways.bug("annotation-time-in-words") else timestamp())
        if ways.bug("annotation-time-without-zone"):
            metadata["processingTimestamp"] = "2026-01-02T03:04:05"
        if ways.bug("annotates-first-node-only"):
            break


def fresh_id(graph, base):
    taken = {n.get("id") for n in objects(graph, "nodes") if is_text(n.get("id"))}
    count = 1
    while f"{base}-{count}" in taken:
        count += 1
    return f"{base}-{count}"


def augment(graph, uri, ways, way=None):
    """Adds one identified node, and an edge to it from a node that is there. Without a block that asks for it (`way`) only to
    arrays that are there."""
    if way and not isinstance(graph.get("nodes"), list):
        return
    nodes = graph.setdefault("nodes", [])
    if not isinstance(nodes, list):
        return
    first = next((n["id"] for n in objects(graph, "nodes") if is_text(n.get("id"))), None)
    name = "added-1" if ways.bug("added-id-constant") else fresh_id(graph, "added")
    if ways.bug("added-id-taken") and first:
        name = first
    node = {"id": name, "type": "note", "metadata": {MARK: uri}}
    edge = {"source": first or name, "target": name, "weight": Number("0.5"), "context": "seen", "metadata": {MARK: uri}}
    if way == "graph-augmented-origin":
        node, edge = {"id": name, "type": "note", "origin": "relay"}, None
    elif way == "graph-augmented-by-uri":
        node, edge = {"id": name, "type": "note", "metadata": {"comment": f"seen at {uri}"}}, None
    if ways.bug("addition-unmarked"):
        node["metadata"] = {"comment": "seen"}
        node.pop("origin", None)
        if edge:
            edge.pop("metadata")
    if ways.bug("added-edge-unmarked") and edge:
        edge.pop("metadata")
    nodes.append(node)
    if edge and (way is None or "edges" in graph):
        edges = graph.setdefault("edges", [])
        if isinstance(edges, list):
            edges.append(edge)


def add(graph, uri, nodes, edges):
    """Adds these nodes and edges, each marked."""
    for name, items in (("nodes", nodes), ("edges", edges)):
        target = graph.setdefault(name, [])
        for item in items:
            marked = dict(item)
            metadata = dict(marked.get("metadata") or {})
            metadata[MARK] = uri
            marked["metadata"] = metadata
            target.append(marked)


def drop(graph, ids, dangling=False):
    """Removes nodes, and the edges that end there."""
    if isinstance(graph.get("nodes"), list):
        graph["nodes"] = [n for n in graph["nodes"] if not (isinstance(n, dict) and is_text(n.get("id")) and n["id"] in ids)]
    if isinstance(graph.get("edges"), list) and not dangling:
        gone = lambda e: isinstance(e, dict) and any(is_text(e.get(k)) and e[k] in ids for k in ("source", "target"))
        graph["edges"] = [e for e in graph["edges"] if not gone(e)]

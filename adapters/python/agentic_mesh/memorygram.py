"""MemoryGrams: validity (2.3, 3.1, 3.2), and what an intermediary may do to them (4.8.3)."""

from __future__ import annotations

from datetime import datetime, timezone

from .model import INVALID_MEMORYGRAM, Fault
from .text import Literal

MARK = "addedBy"  # E17


def check(graph: object) -> None:
    """Raises the fault for the first defect of the content."""
    if not isinstance(graph, dict):
        raise _invalid("a MemoryGram is an object")
    for name, kind in (("nodes", list), ("edges", list), ("mode", str), ("encoding", str)):
        if name in graph and not isinstance(graph[name], kind):
            raise _invalid(f"{name} has the wrong type")
    seen = set()
    for node in graph.get("nodes", []):
        _members(node, "node", {"id": str}, {"type": str, "metadata": dict})
        if node["id"] in seen:
            raise _invalid(f"two nodes have the id {node['id']!r}")
        seen.add(node["id"])
    for edge in graph.get("edges", []):
        # An end may be outside: a MemoryGram is a partial snapshot (E14).
        _members(edge, "edge", {"source": str, "target": str}, {"weight": Literal, "context": str, "metadata": dict})
        if "weight" in edge and not 0 <= edge["weight"].value() <= 1:
            raise _invalid("the weight of an edge is not between 0 and 1")


def _invalid(reason: str) -> Fault:
    return Fault(INVALID_MEMORYGRAM, reason)


def _members(item: object, word: str, required: dict, optional: dict) -> None:
    if not isinstance(item, dict):
        raise _invalid(f"{word} is not an object")
    for name in required:
        if name not in item:
            raise _invalid(f"{word} without {name}")
    for name, kind in {**required, **optional}.items():
        if name in item and not isinstance(item[name], kind):
            raise _invalid(f"{name} of {word} has the wrong type")


def _objects(graph: dict, name: str) -> list[dict]:
    items = graph.get(name)
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def ids(graph: dict) -> list[str]:
    return [node["id"] for node in _objects(graph, "nodes") if isinstance(node.get("id"), str)]


def free_id(graph: dict, wish: str) -> str:
    """`wish`, or with a number behind it if a node has that id already."""
    taken, name, count = set(ids(graph)), wish, 1
    while name in taken:
        count += 1
        name = f"{wish}-{count}"
    return name


def annotate(graph: dict, uri: str, only: set[str] | None = None) -> None:
    """Rule 2: notes that `uri` processed the nodes. Metadata that is there stays, and processedBy grows at its end."""
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    for node in _objects(graph, "nodes"):
        if only is not None and node.get("id") not in only:
            continue
        metadata = node.setdefault("metadata", {})
        if isinstance(metadata, dict):
            before = metadata.get("processedBy")
            metadata["processedBy"] = [*(before if isinstance(before, list) else []), uri]
            metadata["processingTimestamp"] = now


def augment(graph: dict, uri: str, nodes: list[dict], edges: list[dict]) -> None:
    """Rule 4: adds nodes and edges, each marked. An id that is taken is changed, in the added edges as well."""
    renamed = {}
    for node in nodes:
        if isinstance(node.get("id"), str):
            name = free_id(graph, node["id"])
            renamed[node["id"]] = name
            node = {**node, "id": name}
        _array(graph, "nodes").append(_marked(node, uri))
    for edge in edges:
        ends = {end: renamed.get(edge[end], edge[end]) for end in ("source", "target") if isinstance(edge.get(end), str)}
        _array(graph, "edges").append(_marked({**edge, **ends}, uri))


def _array(graph: dict, name: str) -> list:
    return graph.setdefault(name, [])


def _marked(item: dict, uri: str) -> dict:
    metadata = item.get("metadata")
    return {**item, "metadata": {**(metadata if isinstance(metadata, dict) else {}), MARK: uri}}


def drop(graph: dict, gone: set[str]) -> None:
    """Rule 3: removes nodes, and the edges that would end at them. All others stay."""
    if isinstance(graph.get("nodes"), list):
        graph["nodes"] = [n for n in graph["nodes"] if not (isinstance(n, dict) and n.get("id") in gone)]
    if isinstance(graph.get("edges"), list):
        graph["edges"] = [e for e in graph["edges"] if not (isinstance(e, dict) and {e.get("source"), e.get("target")} & gone)]

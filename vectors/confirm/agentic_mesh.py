"""Confirms the vectors of agentic-mesh: a second reading of sections 2, 4.7 and 4.8 in the order of the nine steps."""

import json

NEXT = "urn:agentic:mesh:role:next"
ULTIMATE = "urn:agentic:mesh:role:ultimateReceiver"
COMMON = ["id", "about", "covers", "flags", "result", "strict", "errata", "tolerated"]
MEMBERS = {"mesh-process": ["node", "message", "code", "codes", "forwarded", "ttl_after", "twin"]}
FIELDS = {"messageId": str, "traceId": str, "roles": list, "routingIntent": str}


class Fault(Exception):
    """One fault, with its code without prefix."""


def whole(value):
    return isinstance(value, int) and not isinstance(value, bool)


def number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def check_structure(message):
    envelope = message.get("Envelope") if isinstance(message, dict) else None
    if not isinstance(envelope, dict):
        raise Fault("Sender")
    header = envelope.get("Header")
    if isinstance(header, dict) and header.get("version", "1.0") != "1.0":
        raise Fault("VersionMismatch")
    if not all(isinstance(envelope.get(name), dict) for name in ("Header", "Body", "MemoryGram")):
        raise Fault("Sender")
    return envelope


def check_fields(header):
    if not all(isinstance(header.get(name), kind) for name, kind in FIELDS.items()) or not whole(header.get("ttl")):
        raise Fault("Sender")


def targeted(block, node):
    acts = {NEXT, *node["roles"]}
    if node["kind"] == "ultimateReceiver":
        acts.add(ULTIMATE)
    return block.get("role", ULTIMATE) in acts


def check_graph(graph):
    nodes, edges = graph.get("nodes", []), graph.get("edges", [])
    ids = [node.get("id") for node in nodes]
    sound = all(isinstance(one, str) for one in ids) and len(set(ids)) == len(ids)
    for edge in edges:
        ends = isinstance(edge.get("source"), str) and isinstance(edge.get("target"), str)
        weight = edge.get("weight", 0)
        sound = sound and ends and number(weight) and 0 <= weight <= 1
    if not sound:
        raise Fault("InvalidMemoryGram")


def process(message, node):
    """The outcome, the lowered ttl, and the forwarded message with the inbound traceId."""
    envelope = check_structure(message)
    header = envelope["Header"]
    check_fields(header)
    ttl = header["ttl"] - 1
    if ttl <= 0:
        raise Fault("TTLExpired")
    behaviours = {entry["type"]: entry["behaviour"] for entry in node["understands"]}
    blocks = header.get("headers", [])
    mine = [block for block in blocks if targeted(block, node)]
    mandatory = [block for block in mine if block.get("mustUnderstand") is True]
    if any(block["type"] not in behaviours for block in mandatory):
        raise Fault("MustUnderstand")
    check_graph(envelope["MemoryGram"])
    for block in mine:
        if behaviours.get(block["type"]) == "fail" and block.get("content", {}).get("fail") is True:
            raise Fault("Receiver")
    if node["kind"] == "ultimateReceiver":
        if node["tasks"].get(envelope["Body"].get("task")) == "refuse":
            raise Fault("Receiver")
        return "delivered", ttl, None
    kept = []
    for block in blocks:
        behaviour = behaviours.get(block["type"])
        stays = behaviour == "reinsert" if behaviour else block.get("relay") is True
        if not targeted(block, node) or stays:
            kept.append(block)
    copy = json.loads(json.dumps(message))
    copy["Envelope"]["Header"]["ttl"] = ttl
    if "headers" in header:
        copy["Envelope"]["Header"]["headers"] = kept
    return "forwarded", ttl, copy


def without_trace(message):
    message["Envelope"]["Header"].pop("traceId", None)
    if not message["Envelope"]["Header"].get("headers", True):
        del message["Envelope"]["Header"]["headers"]
    return message


def includes(made, expected):
    """Whether everything that a vector names is in the copy: an active node may change the rest."""
    if isinstance(made, dict) and isinstance(expected, dict):
        return all(name in made and includes(made[name], value) for name, value in expected.items())
    return made == expected


def outcome(text, node):
    try:
        return process(json.loads(text), node)
    except Fault as fault:
        return fault.args[0], None, None


def check(test):
    node = test["node"]
    good = "delivered" if node["kind"] == "ultimateReceiver" else "forwarded"
    found, ttl, copy = outcome(test["message"], node)
    if test["result"] == "invalid":
        findings = [("code", test["code"], found)] if found != test["code"] else []
        twin = outcome(test["twin"], node)[0]
        return findings + ([("twin", good, twin)] if twin != good else [])
    findings = [("outcome", good, found)] if found != good else []
    if "ttl_after" in test and test["ttl_after"] != ttl:
        findings.append(("ttl_after", test["ttl_after"], ttl))
    if "forwarded" in test and copy is not None:
        expected, made = without_trace(json.loads(test["forwarded"])), without_trace(copy)
        if not includes(made, expected):
            findings.append(("forwarded", expected, made))
    return findings


def confirm(root, ledger, check_labels):
    catalogue = (root / "suites/agentic-mesh/requirements.yaml").read_text(encoding="utf-8")
    register = (root / "suites/agentic-mesh/errata.md").read_text(encoding="utf-8")
    seen = set()
    for path in sorted((root / "vectors/agentic-mesh").glob("*.json")):
        file = json.loads(path.read_text(encoding="utf-8"))
        where = f"vectors/agentic-mesh/{path.name}"
        tests = [{**group.get("with", {}), **test} for group in file["groups"] for test in group["tests"]]
        ledger.judge(where, [("count", file["count"], len(tests))] if file["count"] != len(tests) else [])
        for test in tests:
            findings = check_labels(test, file["notes"], catalogue, register)
            unknown = [name for name in test if name not in COMMON + MEMBERS[file["kind"]]]
            findings += [("members", "known ones", unknown)] if unknown else []
            findings += check(test)
            findings += [("id", "each once", test["id"])] if test["id"] in seen else []
            seen.add(test["id"])
            ledger.judge(f"{where}: {test['id']}", findings)

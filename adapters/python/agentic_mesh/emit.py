"""Messages that a node emits: forwarded copies (4.8.2), replies, and faults (4.10)."""

from __future__ import annotations

import copy

from . import blocks as header_blocks
from .model import CODES, Fault, Node, inside, new_id
from .text import Literal

PLACES = (
    ("Envelope", "Body", "fault"), ("Envelope", "Body", "Fault"), ("Envelope", "Fault"), ("Envelope", "fault"),
    ("Body", "fault"), ("fault",), ("Fault",),
)  # fmt: skip


def forwarded(message: dict, node: Node, processed: set[int], reinserted: dict[int, object]) -> dict:
    """The copy for the next hop: ttl, traceId and blocks change, nothing else (4.8.2.1)."""
    blocks = header_blocks.listed(message, node)
    out = copy.deepcopy(message)
    place = header_blocks.slot(out, node)
    if place is not None:
        kept = []
        for block in blocks:
            if block.index in reinserted:
                kept.append(copy.deepcopy(reinserted[block.index]))
            elif header_blocks.stays(block, node, processed):
                kept.append(place[0][place[1]][block.index])
        place[0][place[1]] = kept
    header = out["Envelope"]["Header"]
    header["ttl"] = Literal(message["Envelope"]["Header"]["ttl"].integer() - 1)
    header["traceId"] = f"{header['traceId']}/{node.short_name}"  # E23: changed, and it contains the old one
    return out


def _header(inbound: object) -> dict:
    """The Header of a message of this node's own, which answers `inbound`."""
    trace, roles = inside(inbound, "Header", "traceId"), inside(inbound, "Header", "roles")
    return {
        "messageId": new_id(),
        "traceId": trace if isinstance(trace, str) and trace else new_id(),
        "roles": list(roles) if isinstance(roles, list) else [],
        "routingIntent": "direct",
        "ttl": Literal(8),
    }


def _message(header: dict, body: dict) -> dict:
    graph = {"nodes": [], "edges": [], "mode": "snapshot", "encoding": "json"}
    return {"Envelope": {"Header": header, "Body": body, "MemoryGram": graph}}


def reply(inbound: dict) -> dict:
    """The answer to the task echo."""
    context = inside(inbound, "Body", "context")
    echo = copy.deepcopy(context) if isinstance(context, dict) else {}
    return _message(_header(inbound), {"task": "echo", "expectedOutput": ["echo"], "context": {"echo": echo}})


def fault(problem: Fault, node: Node, inbound: object = None) -> dict:
    body = {"code": {"value": problem.code}, "reason": [{"text": problem.reason, "lang": "en"}], "node": node.uri}
    if problem.not_understood:
        body["detail"] = {"blocks": list(problem.not_understood)}
    return _message(_header(inbound), {"fault": body})


def built(header: dict, body: dict | None, graph: object, blocks: list | None, node: Node) -> dict:
    """A new message. messageId, traceId and other required fields that are not given are made up."""
    defaults = {"messageId": new_id(), "traceId": new_id(), "roles": [], "routingIntent": "direct", "ttl": Literal(8)}
    message = _message({**defaults, **header}, {"task": "echo", "expectedOutput": []} if body is None else body)
    if graph is not None:
        message["Envelope"]["MemoryGram"] = graph
    if blocks is not None:
        holder: dict = message
        *parents, name = node.blocks_at.split("/")[1:]
        for parent in parents:
            holder = holder.setdefault(parent, {})
        holder[name] = blocks
    return message


def code_in(message: object) -> str | None:
    """The code of a fault in one of the forms that nodes use (E02), or None."""
    for place in PLACES:
        value = message
        for name in place:
            value = value.get(name) if isinstance(value, dict) else None
        for found in _codes(value):
            return found
    if isinstance(message, dict):
        error = message.get("error")
        for value in (error.get("code") if isinstance(error, dict) else None, message.get("faultCode"), message.get("code")):
            if isinstance(value, str):
                return value
    return _anywhere(message)


def _codes(value: object) -> list[str]:
    """code, code.value, Code or Code.Value of a fault, or of the faults in a list."""
    if isinstance(value, list):
        return [code for item in value for code in _codes(item)]
    found = []
    for name in ("code", "Code"):
        code = value.get(name) if isinstance(value, dict) else None
        inner = code.get("value", code.get("Value")) if isinstance(code, dict) else code
        if isinstance(inner, str):
            found.append(inner)
    return found


def _anywhere(value: object) -> str | None:
    left = [value]
    while left:
        item = left.pop()
        if isinstance(item, dict):
            for name, member in item.items():
                if isinstance(member, str) and member in CODES and ("code" in name.lower() or name.lower() == "error"):
                    return member
            left.extend(item.values())
        elif isinstance(item, list):
            left.extend(item)
    return None

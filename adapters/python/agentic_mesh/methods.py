"""The methods of the adapter: params to calls of the library, and answers back to JSON-RPC.

Replace this file to test your own library.
"""

from __future__ import annotations

from typing import Callable

import adapter

from . import blocks as header_blocks
from . import checks, emit, memorygram, process, seal, text
from .model import BLOCKS_AT, CODE_AT, CannotSetUp, Fault, Node

NAME, VERSION = "agentic-mesh-python", "0.1.0"
CANNOT_SET_UP = -32001

Params = dict
Result = dict


# --- Params -------------------------------------------------------------------------------------------------------------


def _node(params: Params) -> Node:
    given = params.get("node")
    if given is None:
        return Node()
    try:
        return Node.told(given)
    except CannotSetUp as error:
        raise adapter.Failure(CANNOT_SET_UP, str(error)) from None
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise adapter.Failure(adapter.INVALID_PARAMS, f"not a node object: {error!r}") from None


def _bytes(params: Params, name: str = "message_hex") -> bytes:
    return adapter.unhex(params, name)


def _value(params: Params, name: str) -> object:
    """The JSON value in hex. The library reads it, so that its reader is tested."""
    try:
        return text.read(_bytes(params, name))
    except text.NotJson as error:
        raise adapter.Failure(adapter.INVALID_PARAMS, f"{name}: {error}") from None


def _object(params: Params, name: str) -> dict:
    value = _value(params, name)
    if not isinstance(value, dict):
        raise adapter.Failure(adapter.INVALID_PARAMS, f"{name} must hold an object")
    return value


def _plain(params: Params, name: str, kind: type) -> object:
    """A JSON value that stands in the params itself, or None."""
    value = params.get(name)
    if value is not None and not isinstance(value, kind):
        raise adapter.Failure(adapter.INVALID_PARAMS, f"{name} must be {kind.__name__}")
    return text.from_plain(value)


def _list(params: Params, name: str) -> list:
    value = params.get(name)
    if value is not None and not isinstance(value, list):
        raise adapter.Failure(adapter.INVALID_PARAMS, f"{name} must be an array")
    return value or []


def _hex(value: object) -> str:
    return text.encode(value).hex()


def _fault(fault: Fault, node: Node, inbound: object = None) -> dict:
    return {"code": fault.code, "reason": fault.reason, "message_hex": _hex(emit.fault(fault, node, inbound))}


def _checked(params: Params) -> tuple[dict, Node]:
    """A message that has to be well formed, and the node."""
    node = _node(params)
    try:
        message = checks.parsed(_bytes(params))
        checks.check_header(checks.check_structure(message, node)["Header"])
    except Fault as fault:
        raise adapter.Failure(adapter.INVALID_PARAMS, f"not a message: {fault.reason}") from None
    return message, node  # type: ignore[return-value]


# --- Messages -----------------------------------------------------------------------------------------------------------


def describe(params: Params) -> Result:
    return {
        "name": NAME,
        "version": VERSION,
        "node_uri": _node(params).uri,
        "envelope_versions": ["1.0"],
        "header_blocks_at": BLOCKS_AT,
        "fault_code_at": CODE_AT,
        "memorygram": "validates",
        "methods": sorted(TABLE),
    }


def parse(params: Params) -> Result:
    """Steps 1 and 3, and the header blocks; nothing is processed."""
    node, message = _node(params), None
    try:
        message = checks.parsed(_bytes(params))
        envelope = checks.check_structure(message, node)
        checks.check_header(envelope["Header"])
        blocks = header_blocks.listed(message, node)
    except Fault as fault:
        return {"ok": False, "fault": _fault(fault, node, message)}
    return {
        "ok": True,
        "version": envelope["Header"].get("version", "1.0"),
        "header_hex": _hex(envelope["Header"]),
        "body_hex": _hex(envelope["Body"]),
        "memorygram_hex": _hex(envelope["MemoryGram"]),
        "blocks": [
            {"index": b.index, "type": b.type, "role": b.role, "must_understand": b.mandatory, "relay": b.relayable} for b in blocks
        ],
    }


def process_message(params: Params) -> Result:
    node = _node(params)
    out = process.process(_bytes(params), node)
    return {
        "outcome": out.outcome,
        "faults": [] if out.fault is None else [_fault(out.fault, node, out.message)],
        "forwarded_hex": [] if out.forwarded is None else [_hex(out.forwarded)],
        "reply_hex": None if out.reply is None else _hex(out.reply),
        "roles": out.roles,
        "processed_blocks": out.processed,
        "body_processed": out.body_processed,
        "memorygram_used": out.memorygram_used,
        "ttl_after": out.ttl_after,
    }


def target(params: Params) -> Result:
    message, node = _checked(params)
    try:
        blocks = header_blocks.listed(message, node)
    except Fault as fault:
        raise adapter.Failure(adapter.INVALID_PARAMS, fault.reason) from None
    targeted = [b for b in blocks if header_blocks.is_targeted(b, node)]
    return {
        "targeted": [b.index for b in targeted],
        "mandatory": [b.index for b in targeted if b.mandatory],
        "not_understood": [b.index for b in header_blocks.not_understood(blocks, node)],
    }


def forward(params: Params) -> Result:
    message, node = _checked(params)
    processed = set(_list(params, "processed"))
    try:
        reinserted = {entry["index"]: _object(entry, "block_hex") for entry in _list(params, "reinserted")}
        return {"message_hex": _hex(emit.forwarded(message, node, processed, reinserted))}
    except (KeyError, TypeError):
        raise adapter.Failure(adapter.INVALID_PARAMS, "reinserted must hold objects with index and block_hex") from None
    except Fault as fault:
        raise adapter.Failure(adapter.INVALID_PARAMS, fault.reason) from None


def build(params: Params) -> Result:
    header = _plain(params, "header", dict) or {}
    blocks = _plain(params, "blocks", list)
    message = emit.built(header, _plain(params, "body", dict), _plain(params, "memorygram", dict), blocks, _node(params))
    return {"message_hex": _hex(message)}


def fault_message(params: Params) -> Result:
    inbound = None
    if params.get("inbound_hex") is not None:
        try:
            inbound = text.read(_bytes(params, "inbound_hex"))
        except text.NotJson:
            pass  # a fault about text that is not JSON has nothing to copy
    problem = Fault(adapter.text(params, "code"), adapter.optional_text(params, "reason") or "")
    return {"message_hex": _hex(emit.fault(problem, _node(params), inbound))}


def read_fault(params: Params) -> Result:
    try:
        code = emit.code_in(text.read(_bytes(params)))
    except text.NotJson:
        code = None
    return {"is_fault": code is not None, "code": code}


# --- MemoryGrams --------------------------------------------------------------------------------------------------------


def memorygram_check(params: Params) -> Result:
    try:
        memorygram.check(text.read(_bytes(params, "memorygram_hex")))
    except text.NotJson as error:
        raise adapter.Failure(adapter.INVALID_PARAMS, str(error)) from None
    except Fault as fault:
        return {"valid": False, "code": fault.code}
    return {"valid": True, "code": None}


def memorygram_annotate(params: Params) -> Result:
    graph = _object(params, "memorygram_hex")
    ids = params.get("ids")
    memorygram.annotate(graph, adapter.text(params, "node_uri"), None if ids is None else set(_list(params, "ids")))
    return {"memorygram_hex": _hex(graph)}


def memorygram_augment(params: Params) -> Result:
    graph = _object(params, "memorygram_hex")
    nodes, edges = _plain(params, "nodes", list) or [], _plain(params, "edges", list) or []
    memorygram.augment(graph, adapter.text(params, "node_uri"), nodes, edges)
    return {"memorygram_hex": _hex(graph)}


def memorygram_filter(params: Params) -> Result:
    graph = _object(params, "memorygram_hex")
    memorygram.drop(graph, set(_list(params, "drop")))
    return {"memorygram_hex": _hex(graph)}


# --- Encryption ---------------------------------------------------------------------------------------------------------


def encrypt_field(params: Params) -> Result:
    message = _object(params, "message_hex")
    try:
        seal.encrypt_field(message, adapter.text(params, "pointer"), adapter.text(params, "encrypted_for"))
    except KeyError as error:
        raise adapter.Failure(adapter.INVALID_PARAMS, f"there is no member at {error}") from None
    return {"message_hex": _hex(message)}


def encrypt_section(params: Params) -> Result:
    message = _object(params, "message_hex")
    try:
        seal.encrypt_section(message, adapter.text(params, "encrypted_for"))
    except (KeyError, TypeError):
        raise adapter.Failure(adapter.INVALID_PARAMS, "the message has no MemoryGram") from None
    return {"message_hex": _hex(message)}


METHODS: dict[str, Callable[[Params], Result]] = {
    "describe": describe,
    "parse": parse,
    "process": process_message,
    "target": target,
    "forward": forward,
    "build": build,
    "fault": fault_message,
    "read_fault": read_fault,
    "memorygram_check": memorygram_check,
    "memorygram_annotate": memorygram_annotate,
    "memorygram_augment": memorygram_augment,
    "memorygram_filter": memorygram_filter,
    "encrypt_field": encrypt_field,
    "encrypt_section": encrypt_section,
}
TABLE: dict[str, Callable[[Params], Result]] = {f"agentic-mesh/{name}": method for name, method in METHODS.items()}


def table() -> dict[str, Callable[[Params], Result]]:
    return dict(TABLE)

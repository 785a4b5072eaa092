"""Tables of RFC 001: type codes (4.3), body schemas (4.4), error codes (15), versions (13.1), message ids (4.2)."""

import re

from .cbor import NULL, Map, Simple

TYPES = {
    0x01: "PING",
    0x02: "PONG",
    0x03: "ACK",
    0x04: "PROC_OK",
    0x05: "PROC_FAIL",
    0x06: "CONTACT_REQUEST",
    0x07: "CONTACT_RESPONSE",
    0x08: "CONTACT_REVOKE",
    0x09: "PROCESSING",
    0x0A: "PROGRESS",
    0x0B: "INPUT_REQUIRED",
    0x0F: "ERROR",
    0x10: "MESSAGE",
    0x11: "REQUEST",
    0x12: "RESPONSE",
    0x13: "STREAM_START",
    0x14: "STREAM_DATA",
    0x15: "STREAM_END",
    0x16: "BATCH",
    0x20: "CAP_QUERY",
    0x21: "CAP_DECLARE",
    0x22: "CAP_INVOKE",
    0x23: "CAP_RESULT",
    0x30: "DOC_SEND",
    0x31: "DOC_REQUEST",
    0x40: "CRED_ISSUE",
    0x41: "CRED_REQUEST",
    0x42: "CRED_PRESENT",
    0x43: "CRED_VERIFY",
    0x50: "DELEG_GRANT",
    0x51: "DELEG_REVOKE",
    0x52: "DELEG_QUERY",
    0x60: "PRESENCE",
    0x61: "PRESENCE_QUERY",
    0x62: "PRESENCE_SUB",
    0x63: "PRESENCE_UNSUB",
    0x70: "HELLO",
    0x71: "HELLO_ACK",
    0x72: "HELLO_REJECT",
    0xF0: "EXTENSION",
}
HANDSHAKE = (0x70, 0x71, 0x72)

# Name and whether a retry is useful.
ERRORS = {
    1001: ("INVALID_MESSAGE", False),
    1002: ("INVALID_SIGNATURE", False),
    1003: ("INVALID_TIMESTAMP", False),
    1004: ("UNSUPPORTED_VERSION", False),
    1005: ("UNKNOWN_TYPE", False),
    2001: ("RECIPIENT_NOT_FOUND", True),
    2002: ("ENDPOINT_UNREACHABLE", True),
    2003: ("RELAY_REJECTED", True),
    2004: ("TTL_EXPIRED", False),
    3001: ("UNAUTHORIZED", False),
    3002: ("CONTACT_REQUIRED", False),
    3003: ("CONTACT_DENIED", False),
    3004: ("DELEGATION_INVALID", False),
    3005: ("RATE_LIMITED", True),
    4001: ("BAD_REQUEST", False),
    4002: ("CAPABILITY_NOT_FOUND", False),
    4003: ("VERSION_MISMATCH", False),
    4004: ("SCHEMA_VIOLATION", False),
    5001: ("INTERNAL_ERROR", True),
    5002: ("UNAVAILABLE", True),
    5003: ("TIMEOUT", True),
    5004: ("OVERLOADED", True),
}
CATEGORIES = {1: "protocol", 2: "routing", 3: "security", 4: "client", 5: "server"}


def is_uint(value):
    return isinstance(value, int) and 0 <= value < 1 << 64


def is_text(value):
    return isinstance(value, str)


def is_bytes(value):
    return isinstance(value, bytes)


def is_bool(value):
    return value in (Simple(20), Simple(21)) if isinstance(value, Simple) else False


def is_any(_):
    return True


def list_of(inner, least=0):
    return lambda value: isinstance(value, list) and len(value) >= least and all(map(inner, value))


def one_of(*words):
    return lambda value: isinstance(value, str) and value in words


def is_agent_info(value):
    return fits(value, {"name": is_text}, {"implementation": is_text})


def is_utc(value):
    return is_text(value) and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)", value) is not None


def fits(body, required, optional):
    """Whether a body is a closed map of these members."""
    if not isinstance(body, Map) or not all(isinstance(key, str) for key in body.keys()):
        return False
    names = body.keys()
    if len(set(names)) != len(names) or not set(required) <= set(names) <= set(required) | set(optional):
        return False
    return all((required | optional)[name](value) for name, value in body.pairs)


CREDENTIAL = ({"format": is_text, "credential": is_any}, {"purpose": is_text})
SCHEMAS = {
    0x03: (
        {"ack_source": one_of("relay", "recipient"), "received_at": is_uint},
        {"ack_target": is_text, "stream_id": is_text, "chunks_received": is_uint, "verified": is_bool},
    ),
    0x04: ({}, {"details": is_any}),
    0x05: ({}, {"error": is_any}),
    0x0F: (
        {"code": is_uint, "category": is_text, "message": is_text},
        {"details": is_any, "retry": is_bool, "batch_index": is_uint},
    ),
    0x13: (
        {
            "stream_id": is_text,
            "content_type": is_text,
            "filename": is_text,
            "total_size": is_uint,
            "total_chunks": is_uint,
            "chunk_size": is_uint,
            "hash_algo": is_text,
        },
        {},
    ),
    0x14: ({"stream_id": is_text, "index": is_uint, "data": is_bytes}, {}),
    0x15: ({"stream_id": is_text, "hash": is_bytes}, {}),
    0x16: ({"items": list_of(is_bytes, 1)}, {}),
    0x30: (
        {"content_type": is_text, "filename": is_text, "size": is_uint, "hash": is_bytes, "data": is_bytes},
        {},
    ),
    0x31: ({}, {"doc_id": is_text, "hash": is_bytes, "accept": is_text}),
    0x40: CREDENTIAL,
    0x41: ({"format": is_text}, {"request": is_any, "purpose": is_text}),
    0x42: CREDENTIAL,
    0x43: ({"format": is_text, "credential": is_any}, {}),
    0x50: ({"credential": is_any}, {"scope": is_any, "expires": is_utc}),
    0x51: ({"delegation_id": is_text}, {}),
    0x52: ({"delegation_id": is_text}, {}),
    0x70: (
        {"versions": list_of(is_text, 1)},
        {"extensions": list_of(is_text), "agent_info": is_agent_info},
    ),
    0x71: ({"selected": is_text}, {}),
    0x72: ({}, {"reason": is_text}),
}


def body_fits(typ, body):
    """Whether a body has the form of its type in section 4.4; other types take any value."""
    if typ in (0x01, 0x02):
        return body == NULL if isinstance(body, Simple) else False
    if typ not in SCHEMAS:
        return True
    if not fits(body, *SCHEMAS[typ]):
        return False
    if typ == 0x31:
        return "doc_id" in body.keys() or "hash" in body.keys()
    return True


def error_info(code):
    if code not in ERRORS:
        return {"unknown": True}
    name, retry = ERRORS[code]
    return {"name": name, "category": CATEGORIES[code // 1000], "retry": retry}


VERSION = re.compile(r"(0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)(?:\.(?:0|[1-9][0-9]*))?")


def major(version):
    """The integer before the first dot of a version of two or three parts (E50), or None."""
    found = VERSION.fullmatch(version)
    return int(found.group(1)) if found else None


def selectable(supported, offered):
    """The offered versions that may be selected: those that are supported (E51, E91)."""
    return [version for version in offered if version in supported]


def make_id(ts, random):
    return ts.to_bytes(8, "big") + random



"""The bodies of section 4.4. Members outside the schema are ignored (E34).

A protocol body (control, handshake, batch, stream) that does not match is 1001, the body of an application is 4004.
"""

from __future__ import annotations

import hashlib
from typing import Any, Callable

from . import cbor, codes
from .cbor import Map
from .did import is_did
from .document import instant
from .refusal import Refusal

Check = Callable[[Any], bool]

# A stream with a larger declared size is not stored (E58).
MAX_STREAM = 64 << 20


def _uint(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= cbor.UINT_MAX


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _bytes(value: Any) -> bool:
    return isinstance(value, bytes)


def _bool(value: Any) -> bool:
    return isinstance(value, bool)


def _any(value: Any) -> bool:
    return True


def _null(value: Any) -> bool:
    return value is None


def _utc(value: Any) -> bool:
    time = instant(value)
    return time is not None and time.utcoffset() is not None and not time.utcoffset()


def _source(value: Any) -> bool:
    return value == "relay" or value == "recipient"


def _list(check: Check, least: int) -> Check:
    return lambda value: isinstance(value, list) and len(value) >= least and all(map(check, value))


def _map(**members: Check) -> Check:
    """A map. A name that ends in `_` may be absent."""

    def check(value: Any) -> bool:
        if not isinstance(value, Map):
            return False
        for name, fits in members.items():
            key = name.rstrip("_")
            if key in value:
                if not fits(value.get(key)):
                    return False
            elif key == name:
                return False
        return True

    return check


_DELEGATION = _map(delegation_id=_text)

_SCHEMAS: dict[str, Check] = {
    "PING": _null,
    "PONG": _null,
    "ACK": _map(
        ack_source=_source,
        received_at=_uint,
        ack_target_=is_did,
        stream_id_=_text,
        chunks_received_=_uint,
        verified_=_bool,
    ),
    "PROC_OK": _map(details_=_any),
    "PROC_FAIL": _map(error_=_any),
    "ERROR": _map(code=_uint, category=_text, message=_text, details_=_any, retry_=_bool, batch_index_=_uint),
    "DOC_SEND": _map(content_type=_text, filename=_text, size=_uint, hash=_bytes, data=_bytes),
    "DOC_REQUEST": _map(doc_id_=_text, hash_=_bytes, accept_=_text),
    "STREAM_START": _map(
        stream_id=_text,
        content_type=_text,
        filename=_text,
        total_size=_uint,
        total_chunks=_uint,
        chunk_size=_uint,
        hash_algo=_text,
    ),
    "STREAM_DATA": _map(stream_id=_text, index=_uint, data=_bytes),
    "STREAM_END": _map(stream_id=_text, hash=_bytes),
    "CRED_ISSUE": _map(format=_text, credential=_any, purpose_=_text),
    "CRED_REQUEST": _map(format=_text, request_=_any, purpose_=_text),
    "CRED_PRESENT": _map(format=_text, credential=_any, purpose_=_text),
    "CRED_VERIFY": _map(format=_text, credential=_any),
    "DELEG_GRANT": _map(credential=_any, scope_=_any, expires_=_utc),
    "DELEG_REVOKE": _DELEGATION,
    "DELEG_QUERY": _DELEGATION,
    "HELLO": _map(
        versions=_list(_text, 1), extensions_=_list(_text, 0), agent_info_=_map(name=_text, implementation_=_text)
    ),
    "HELLO_ACK": _map(selected=_text),
    "HELLO_REJECT": _map(reason_=_text),
    "BATCH": _map(items=_list(_bytes, 1)),
}
_APPLICATION = ("PROC_", "DOC_", "CRED_", "DELEG_")


def check(typ: int, body: Any) -> None:
    """Refuse a body that does not match this type. MESSAGE, REQUEST and RESPONSE accept any value (E40)."""
    name = codes.TYPES.get(typ, "")
    schema = _SCHEMAS.get(name)
    if schema is not None and not schema(body):
        raise Refusal(4004 if name.startswith(_APPLICATION) else 1001, f"no body of {name}", "body")
    further = _FURTHER.get(name)
    if further is not None:
        further(body)


def _doc_send(body: Map) -> None:
    data = body.get("data")
    if body.get("size") != len(data) or body.get("hash") != hashlib.sha256(data).digest():
        raise Refusal(4004, "size and hash are those of other data", "body")  # E61


def _doc_request(body: Map) -> None:
    if "doc_id" not in body and "hash" not in body:
        raise Refusal(4001, "neither doc_id nor hash", "body")


def _stream_start(body: Map) -> None:
    """The numbers have to be consistent before anything is stored (E58)."""
    size, count, chunk = body.get("total_size"), body.get("total_chunks"), body.get("chunk_size")
    if body.get("hash_algo") != "sha256":
        raise Refusal(4001, "the hash is SHA-256", "body")  # E59
    if size > MAX_STREAM:
        raise Refusal(5004, "the stream is too large", "body")
    if (size > 0 and chunk == 0) or count != (-(-size // chunk) if size else 0):
        raise Refusal(4001, "total_size, chunk_size and total_chunks contradict each other", "body")


_FURTHER = {"DOC_SEND": _doc_send, "DOC_REQUEST": _doc_request, "STREAM_START": _stream_start}


def error(code: int, reason: str, details: Any = None, batch_index: int | None = None) -> Map:
    """The body of an ERROR (section 15.1)."""
    info = codes.ERRORS.get(code)
    category = info.category if info else codes.CATEGORIES.get(code // 1000)
    if category is None:
        raise Refusal(1001, f"{code} is not an error code", "body")
    body = Map({"code": code, "category": category, "message": reason, "retry": codes.retryable(code)})
    if details is not None:
        body.add("details", details)
    if batch_index is not None:
        body.add("batch_index", batch_index)
    return body


def ack(received_at: int, **optional: Any) -> Map:
    """The body of an ACK by the recipient (section 16.1). `optional`: ack_target, stream_id, chunks_received, verified."""
    body = Map({"ack_source": "recipient", "received_at": received_at})
    for name, value in optional.items():
        if value is not None:
            body.add(name, value)
    return body

"""The fixed wrappers of the HTTP binding: polling, webhook, relay forward and commit report (002-6.2 to 002-6.6)."""

from __future__ import annotations

from typing import Any

from . import cbor
from .cbor import Map
from .did import is_did
from .refusal import Refusal


def _uint(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _bytes(value: Any) -> bool:
    return isinstance(value, bytes)


def _list_of(check: Any) -> Any:
    return lambda value: isinstance(value, list) and all(map(check, value))


_MEMBERS = {
    "poll": {
        "messages": _list_of(_bytes),
        "next_cursor": lambda value: value is None or isinstance(value, str),
        "has_more": lambda value: isinstance(value, bool),
    },
    "webhook": {"message": _bytes, "relay": is_did, "sent_at": _uint},
    "forward": {
        "fwd_v": _uint,
        "message": _bytes,
        "from_did": is_did,
        "recipient_did": is_did,
        "relay_path": _list_of(is_did),
        "hop_limit": _uint,
        "upstream_relay": is_did,
        "transfer_mode": lambda value: value in ("single", "dual"),
    },
    "commit": {"commit_v": _uint, "commit_receipt": _bytes},
}
KINDS = frozenset(_MEMBERS)


def decode(kind: str, data: bytes) -> Map:
    """The wrapper in `data`: 1001 if a member is missing, of another type or unknown, 1004 for another version of it."""
    value = cbor.decode(data)
    members = _MEMBERS[kind]
    if not isinstance(value, Map):
        raise _malformed("a wrapper is a map")
    for name in ("fwd_v", "commit_v"):
        # Another version may have other members, so it is checked first.
        if name in members and _uint(value.get(name)) and value.get(name) != 1:
            raise Refusal(1004, f"{name} is 1", "wrapper")
    for name, fits in members.items():
        if name not in value or not fits(value.get(name)):
            raise _malformed(f"{name} is missing or of another type")
    if len(value) != len(members):
        raise _malformed("the wrapper has further members")
    if kind == "poll" and value.get("has_more") and value.get("next_cursor") is None:
        raise _malformed("has_more without a cursor")  # E74
    return value


def _malformed(reason: str) -> Refusal:
    return Refusal(1001, reason, "wrapper")

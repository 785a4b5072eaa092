"""Frames and wrappers of RFC 002 (4.2, 6.2, 6.3, 6.5, 6.6)."""

from . import cbor, registry
from .cbor import NULL, Simple

DEFAULT_MAX_SIZE = 1 << 20


class BadFrame(Exception):
    """An invalid frame length."""


def encode(frame_type, payload):
    return (len(payload) + 1).to_bytes(4, "big") + bytes([frame_type]) + payload


def decode(data, max_size=DEFAULT_MAX_SIZE):
    """The complete frames and the rest. The limit is on the payload without the type byte (E72)."""
    frames = []
    while len(data) >= 4:
        length = int.from_bytes(data[:4], "big")
        if length < 1 or length - 1 > max_size:
            raise BadFrame(length)
        if len(data) < 4 + length:
            break
        frames.append({"type": data[4], "payload": data[5 : 4 + length].hex()})
        data = data[4 + length :]
    return frames, data


def is_null(value):
    return isinstance(value, Simple) and value == NULL


def one(value):
    return isinstance(value, int) and value == 1


WRAPPERS = {
    "poll": {
        "messages": registry.list_of(registry.is_bytes),
        "next_cursor": lambda value: registry.is_text(value) or is_null(value),
        "has_more": registry.is_bool,
    },
    "webhook": {"message": registry.is_bytes, "relay": registry.is_text, "sent_at": registry.is_uint},
    "forward": {
        "fwd_v": one,
        "message": registry.is_bytes,
        "from_did": registry.is_text,
        "recipient_did": registry.is_text,
        "relay_path": registry.list_of(registry.is_text),
        "hop_limit": registry.is_uint,
        "upstream_relay": registry.is_text,
        "transfer_mode": registry.one_of("single", "dual"),
    },
    "commit": {"commit_v": one, "commit_receipt": registry.is_bytes},
}
VERSION_OF = {"forward": "fwd_v", "commit": "commit_v"}


def wrapper(kind, data):
    """The code of the refusal, or None for a valid wrapper."""
    try:
        value = cbor.read(data)
    except cbor.Refused:
        return 1001
    version = value.get(VERSION_OF[kind]) if kind in VERSION_OF and isinstance(value, cbor.Map) else None
    if registry.is_uint(version) and version != 1:
        return 1004
    return None if registry.fits(value, WRAPPERS[kind], {}) else 1001

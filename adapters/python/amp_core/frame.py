"""The frames of the TCP binding (002-4.2, 002-4.3, E72)."""

from __future__ import annotations

from typing import NamedTuple

from .refusal import Misuse, Refusal

# Recommended for agents by 002-3.2; used unless another limit was negotiated.
DEFAULT_MAX = 16 << 20


class Frame(NamedTuple):
    """A frame. Unknown types are not checked here."""

    type: int
    payload: bytes


def encode(frame: Frame) -> bytes:
    """Length of type and payload in four bytes, big-endian; type; payload."""
    if not 0 <= frame.type <= 255 or len(frame.payload) >= 2**32 - 1:
        raise Misuse("the length or the type does not fit its bytes")
    return (len(frame.payload) + 1).to_bytes(4, "big") + bytes([frame.type]) + frame.payload


def decode(data: bytes, max_payload: int = DEFAULT_MAX) -> tuple[list[Frame], bytes]:
    """The complete frames at the beginning of `data`, and the rest. 1001 for a length without room for the type, and for a
    payload above the maximum, which is detected before the payload arrives."""
    frames, at = [], 0
    while len(data) - at >= 4:
        length = int.from_bytes(data[at : at + 4], "big")
        if length < 1:
            raise Refusal(1001, "a frame has a type", "frame")
        if length - 1 > max_payload:
            raise Refusal(1001, "the frame is too large", "frame")
        if len(data) - at - 4 < length:
            break
        frames.append(Frame(data[at + 4], data[at + 5 : at + 4 + length]))
        at += 4 + length
    return frames, data[at:]

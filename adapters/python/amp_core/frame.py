"""The frames of the TCP binding (002-4.2, 002-4.3, E72)."""

from __future__ import annotations

from typing import NamedTuple

from .refusal import Misuse, Refusal

# 002-3.2 recommends this for agents; it holds where nothing else was agreed.
DEFAULT_MAX = 16 << 20


class Frame(NamedTuple):
    """A frame. Types that are not known are not judged here."""

    type: int
    payload: bytes


def encode(frame: Frame) -> bytes:
    """Length of type and payload in four bytes, highest first; type; payload."""
    if not 0 <= frame.type <= 255 or len(frame.payload) >= 2**32 - 1:
        raise Misuse("the frame does not fit its length or its type byte")
    return (len(frame.payload) + 1).to_bytes(4, "big") + bytes([frame.type]) + frame.payload


def decode(data: bytes, max_payload: int = DEFAULT_MAX) -> tuple[list[Frame], bytes]:
    """The whole frames at the beginning of `data`, and the rest. 1001 for a length without room for the type, and for a
    payload above the maximum, which is seen before the payload has come."""
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

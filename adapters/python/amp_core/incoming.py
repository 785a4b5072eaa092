"""The streams that a node receives (sections 6.2 and 6.3, E57, E60)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterator

from . import stream
from .refusal import Refusal

STREAM_TIMEOUT = 30_000
MAX_OPEN, MAX_KEPT = 16, 1024

Key = tuple  # (sender DID, stream_id): another sender may use the same name


@dataclass
class Incoming:
    """One stream, with the data for a later answer."""

    receiver: stream.Receiver
    start: Any  # the STREAM_START message
    deadline: int
    end: Any = None  # the STREAM_END message, once received


class Streams:
    """Streams by sender and stream_id. Ended ones are remembered for a while, without their data."""

    def __init__(self, timeout: int = STREAM_TIMEOUT):
        self._timeout = timeout
        self._streams: dict[Key, Incoming] = {}

    def start(self, sender: str, message: Any, body: Any, now: int) -> None:
        """STREAM_START."""
        key = (sender, body.get("stream_id"))
        known = self._streams.get(key)
        if known is not None and known.receiver.state != stream.DONE:
            raise Refusal(4001, "the stream is under way", "stream")
        open_ = sum(
            1 for (owner, _), entry in self._streams.items() if owner == sender and entry.receiver.state != stream.DONE
        )
        if open_ >= MAX_OPEN:
            raise Refusal(5004, "too many streams", "stream")
        self._streams.pop(key, None)
        self._forget()
        self._streams[key] = Incoming(stream.Receiver(body), message, now + self._timeout)

    def find(self, sender: str, body: Any, now: int) -> Incoming:
        """The stream that a chunk or an end belongs to. Its timeout restarts."""
        found = self._streams.get((sender, body.get("stream_id")))
        if found is None:
            raise Refusal(4001, "unknown stream", "stream")
        found.deadline = now + self._timeout
        return found

    def late(self, now: int) -> Iterator[Incoming]:
        """The streams that timed out. They are given up."""
        for entry in self._streams.values():
            if entry.receiver.state != stream.DONE and now > entry.deadline:
                entry.receiver.fail()
                yield entry

    def _forget(self) -> None:
        if len(self._streams) < MAX_KEPT:
            return
        over = [key for key, entry in self._streams.items() if entry.receiver.state == stream.DONE]
        if not over:
            raise Refusal(5004, "too many streams", "stream")
        del self._streams[over[0]]

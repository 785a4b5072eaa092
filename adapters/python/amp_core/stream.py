"""Streams: both ends of STREAM_START, STREAM_DATA and STREAM_END (sections 6.2 and 6.3)."""

from __future__ import annotations

import hashlib
from typing import Any

from . import bodies, codes
from .cbor import Map
from .refusal import Misuse, Refusal, WrongState

IDLE, RECEIVING, VERIFY = "IDLE", "RECEIVING", "VERIFY"
SENDING, AWAIT_ACK, DONE = "SENDING", "AWAIT_ACK", "DONE"


class Receiver:
    """A received stream. Memory is allocated for received data, never for announced sizes (E58)."""

    def __init__(self, start: Any):
        bodies.check(codes.STREAM_START, start)
        self.stream_id: str = start.get("stream_id")
        self.total_size: int = start.get("total_size")
        self.total_chunks: int = start.get("total_chunks")
        self.chunk_size: int = start.get("chunk_size")
        self.state = RECEIVING
        self.verified = False
        self.data: bytes | None = None
        self._chunks: dict[int, bytes] = {}
        self._hash: bytes | None = None  # the hash of STREAM_END, while a chunk is missing

    @property
    def received(self) -> int:
        """The number of different chunks received."""
        return self.total_chunks if self.verified else len(self._chunks)

    def chunk(self, index: int, data: bytes) -> bool:
        """Process a chunk; true if it was the last one before a pending STREAM_END, and the hash matches.

        A duplicate is ignored, whatever its content (E62)."""
        if self.state == DONE:
            if self.verified and 0 <= index < self.total_chunks:
                return False
            raise Refusal(4001, "the stream is over", "stream")
        if not 0 <= index < self.total_chunks:
            raise Refusal(4001, "the index is not below total_chunks", "stream")
        if index in self._chunks:
            return False
        last = index == self.total_chunks - 1
        if len(data) != (self.total_size - index * self.chunk_size if last else self.chunk_size):
            raise Refusal(4001, "the chunk has another size", "stream")
        self._chunks[index] = data
        return self._hash is not None and self._verify()

    def end(self, digest: bytes) -> bool:
        """STREAM_END: true if the hash matches, false while a chunk is missing. Raises if it does not match."""
        if self.state == DONE:
            raise Refusal(4001, "the stream is over", "stream")
        if len(digest) != 32:
            self._finish()
            raise Refusal(4001, "a SHA-256 has 32 bytes", "stream")
        self._hash, self.state = digest, VERIFY
        return self._verify()

    def fail(self) -> None:
        """Give up."""
        self._finish()

    def _verify(self) -> bool:
        if len(self._chunks) != self.total_chunks:
            return False
        # In index order, whatever the order of arrival; nothing between the chunks.
        data = b"".join(self._chunks[index] for index in range(self.total_chunks))
        good = hashlib.sha256(data).digest() == self._hash
        self._finish()
        if not good:
            raise Refusal(4001, "the hash does not match", "stream")
        self.verified, self.data = True, data
        return True

    def _finish(self) -> None:
        self.state = DONE
        self._chunks = {}

    def ack(self, received_at: int) -> Map:
        """The body of the one final ACK."""
        return bodies.ack(received_at, stream_id=self.stream_id, chunks_received=self.received, verified=self.verified)


class Sender:
    """A sent stream: IDLE, SENDING, AWAIT_ACK, DONE."""

    def __init__(self, stream_id: str, data: bytes, chunk_size: int, filename: str, content_type: str):
        if chunk_size < 1:
            raise Misuse("a chunk has at least one byte")
        self.stream_id = stream_id
        self.state = IDLE
        self.failed = False
        self._data = data
        self._chunk_size = chunk_size
        self._start = Map(
            {
                "stream_id": stream_id,
                "content_type": content_type,
                "filename": filename,
                "total_size": len(data),
                "total_chunks": -(-len(data) // chunk_size),
                "chunk_size": chunk_size,
                "hash_algo": "sha256",
            }
        )

    def start(self) -> tuple[int, Map]:
        """STREAM_START."""
        self._expect(IDLE)
        self.state = SENDING
        return codes.STREAM_START, self._start

    def chunk(self, index: int) -> tuple[int, Map]:
        """STREAM_DATA."""
        self._expect(SENDING)
        if not 0 <= index < self._start.get("total_chunks"):
            raise Misuse("unknown chunk")
        data = self._data[index * self._chunk_size : (index + 1) * self._chunk_size]
        return codes.STREAM_DATA, Map({"stream_id": self.stream_id, "index": index, "data": data})

    def end(self) -> tuple[int, Map]:
        """STREAM_END. Afterwards the stream waits for the answer."""
        self._expect(SENDING)
        self.state = AWAIT_ACK
        return codes.STREAM_END, Map({"stream_id": self.stream_id, "hash": hashlib.sha256(self._data).digest()})

    def messages(self) -> list[tuple[int, Map]]:
        """The whole stream in order."""
        chunks = range(self._start.get("total_chunks"))
        return [self.start(), *(self.chunk(index) for index in chunks), self.end()]

    def ack(self, body: Any) -> None:
        """An ACK. One for another stream, and a plain one, do not affect the transfer."""
        bodies.check(codes.ACK, body)
        if body.get("stream_id") == self.stream_id and isinstance(body.get("verified"), bool):
            self._end(failed=not body.get("verified"))

    def error(self) -> None:
        """An ERROR ends the transfer."""
        self._end(failed=True)

    def timeout(self) -> None:
        """No answer is a failure. Another attempt uses another stream_id (section 6.3)."""
        self._end(failed=True)

    def _end(self, failed: bool) -> None:
        if self.state in (SENDING, AWAIT_ACK):
            self.state, self.failed = DONE, failed

    def _expect(self, state: str) -> None:
        if self.state != state:
            raise WrongState(f"the stream is {self.state}")

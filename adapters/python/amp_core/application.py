"""The application behind a node: the processing of requests, and received documents (binding.md section 11)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from . import codes
from .cbor import Map
from .refusal import Refusal

MAX_DOCUMENTS, MAX_STORED = 256, 128 << 20
MAX_SLOW = 60_000


@dataclass(frozen=True)
class Answer:
    """The answer to a request, `after` that many milliseconds."""

    type: int
    body: Any
    after: int = 0


class Application:
    """Counts its runs, so that a repeat that is processed again is visible."""

    def __init__(self) -> None:
        self.runs = 0
        self._documents: dict[bytes, Map] = {}
        self._stored = 0

    def take(self) -> None:
        """A message that needs only an ACK."""
        self.runs += 1

    def request(self, body: Any) -> Answer:
        """A REQUEST: echo, count, fail and slow."""
        operation = body.get("op") if isinstance(body, Map) else None
        if operation == "count":  # requesting the number must not change it
            return Answer(codes.RESPONSE, Map({"count": self.runs}))
        self.runs += 1
        if operation == "echo":
            return Answer(codes.RESPONSE, Map({"data": body.get("data")}))
        if operation == "slow":
            wait = body.get("ms")
            if isinstance(wait, int) and not isinstance(wait, bool) and 0 <= wait <= MAX_SLOW:
                return Answer(codes.RESPONSE, Map({"ms": wait}), after=wait)
        return Answer(codes.PROC_FAIL, Map({"error": "asked to fail" if operation == "fail" else "unknown operation"}))

    def keep(self, content_type: str, filename: str, data: bytes) -> None:
        """A document received inline or as a stream, by its hash."""
        digest = hashlib.sha256(data).digest()
        if digest not in self._documents:
            if len(self._documents) >= MAX_DOCUMENTS or self._stored + len(data) > MAX_STORED:
                raise Refusal(5004, "no room for another document", "application")
            members = {
                "content_type": content_type,
                "filename": filename,
                "size": len(data),
                "hash": digest,
                "data": data,
            }
            self._documents[digest] = Map(members)
            self._stored += len(data)
        self.runs += 1

    def document(self, wanted: Map) -> Answer:
        """A DOC_REQUEST, by hash or by name. A doc_id is the file name or the hash in hex."""
        self.runs += 1
        for digest, document in self._documents.items():
            named = wanted.get("hash") == digest or wanted.get("doc_id") in (document.get("filename"), digest.hex())
            if named and wanted.get("accept") in (None, document.get("content_type")):
                return Answer(codes.DOC_SEND, document)
        return Answer(codes.PROC_FAIL, Map({"error": "no such document"}))

"""The side of an agent that asks: registration before anything else, and calls of capabilities (sections 4.1 and 10.2)."""

from __future__ import annotations

import time
import uuid
from datetime import datetime
from typing import Callable

from . import envelope, text
from .model import INVALID_SCHEMA, STATUSES, TIMEOUT, Refusal, is_text


def participate(identity: dict, endpoints: dict, capabilities: list, registered: bool, requests: list, now: datetime) -> list[bytes]:
    """What an agent sends: its registration, and its requests once that was answered with success."""
    fields = {
        "source": {"agent_id": identity["id"]},
        "agent": identity,
        "capabilities": capabilities,
        "endpoints": endpoints,
        "authentication": {"type": "bearer", "credentials": uuid.uuid4().hex},
    }
    sent = [envelope.build("registration", fields, identity["id"], now)]
    if registered:
        sent += [envelope.build("request", fields, identity["id"], now) for fields in requests]
    return [text.encode(message) for message in sent]


def outcome(asked: dict, reply: bytes) -> dict:
    """What a reply to a message amounts to for the caller."""
    try:
        message = envelope.read(reply)["message"]
    except Refusal as refusal:
        return _failed(INVALID_SCHEMA, f"the reply is malformed: {refusal.message}")
    headers = message.get("headers")
    told = headers.get("correlation_id") if isinstance(headers, dict) else None
    # An error need not say what it answers (E14).
    if told != asked["message"]["id"] and not (message["type"] == "error" and told is None):
        return _failed(TIMEOUT, "no reply to this request has arrived")
    payload = message["payload"]
    if message["type"] == "error":
        error = payload.get("error")
        if not isinstance(error, dict) or not is_text(error.get("code")):
            return _failed(INVALID_SCHEMA, "the reply is an error without a code")
        return {"status": "failed", "error": error}
    if message["type"] != "response" or payload.get("status") not in STATUSES:
        return _failed(INVALID_SCHEMA, "the reply is not a response with a status")
    return {"status": payload["status"], "result": payload.get("result")}


def _failed(code: str, message: str) -> dict:
    return {"status": "failed", "error": {"code": code, "message": message}}


class Calls:
    """Calls that are open: each is done once its reply has arrived."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._open: dict[str, tuple[float, dict]] = {}

    def start(self, done: dict, delay_ms: float) -> str:
        handle = uuid.uuid4().hex
        self._open[handle] = (self._clock() + delay_ms / 1000, done)
        return handle

    def poll(self, handle: str) -> dict | None:
        """The outcome, or None while it is open. Raises KeyError for an unknown handle."""
        due, done = self._open[handle]
        return done if self._clock() >= due else None

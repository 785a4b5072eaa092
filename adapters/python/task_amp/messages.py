"""Building messages and acknowledgements (section 00; E18)."""

from __future__ import annotations

from . import rules, words


class Invalid(Exception):
    """A message that would not be valid."""

    def __init__(self, errors: list) -> None:
        super().__init__(", ".join(f"{error['path']}: {error['code']}" for error in errors))
        self.errors = errors


class NotAddressed(Exception):
    """A message is acknowledged by its addressee alone."""


def build(type_: str, sender: str, addressee: str, task_id: str, payload: dict, now_ms: int, **more: object) -> dict:
    """A valid message. `more`: `requires_ack`, `ack_timeout_sec`, `context_ref`."""
    required = more.get("requires_ack")
    message = {
        "msg_id": words.msg_id(type_, task_id, now_ms),
        "protocol_version": words.VERSION,
        "type": type_,
        "from": sender,
        "to": addressee,
        "task_id": task_id,
        "timestamp": words.stamp(now_ms),
        "requires_ack": type_ in words.WORKING if required is None else required,
        **({"ack_timeout_sec": more["ack_timeout_sec"]} if more.get("ack_timeout_sec") is not None else {}),
        "context_ref": more.get("context_ref") or [],
        "payload": payload,
    }
    errors = rules.errors_of(message)
    if errors:
        raise Invalid(errors)
    return message


def ack(message: dict, actor: str, now_ms: int, status: str = "received") -> dict:
    if message.get("to") != actor:
        raise NotAddressed(f"the message is addressed to {message.get('to')}")
    return {
        "msg_id": message["msg_id"],
        "task_id": message.get("task_id"),
        "actor": actor,
        "ack_status": status,
        "ts": words.stamp(now_ms),
        "note": "",
    }

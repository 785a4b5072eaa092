"""Messages: their structure as it is read and written (section 2.3), and the protocol version (section 11)."""

from __future__ import annotations

import re
import uuid
from datetime import datetime

from . import text
from .model import (
    DISCOVERY,
    FAMILIES,
    INVALID_SCHEMA,
    REGISTRATION,
    REGISTRY,
    STATUSES,
    TYPES,
    VERSION,
    Refusal,
    instant,
    invalid,
    is_number,
    is_text,
    is_whole,
    stamp,
)

NUMBER = "(0|[1-9][0-9]*)"
VERSIONS = re.compile(rf"({'|'.join(FAMILIES)})/{NUMBER}\.{NUMBER}", re.ASCII)
MAJOR_MINOR = re.compile(rf"{NUMBER}\.{NUMBER}", re.ASCII)


def read(raw: bytes) -> dict:
    """The envelope in these bytes. Members that this version does not know stay where they are (E07)."""
    try:
        envelope = text.read(raw)
    except text.NotJson as error:
        raise invalid(f"not JSON: {error}") from None
    return checked(envelope)


def checked(envelope: object) -> dict:
    """The envelope, if it has the structure that every message has (E02, E86)."""
    if not isinstance(envelope, dict):
        raise invalid("a message is one JSON object")
    check_version(envelope.get("protocol"))
    message = envelope.get("message")
    if not isinstance(message, dict):
        raise invalid("an object is required", "/message")
    if message.get("type") not in TYPES:
        raise invalid(f"one of {', '.join(TYPES)} is required", "/message/type")
    if not isinstance(message.get("payload"), dict):
        raise invalid("an object is required", "/message/payload")
    for name in ("source", "destination", "headers"):
        if message.get(name) is not None and not isinstance(message[name], dict):
            raise invalid("an object", f"/message/{name}")
    return envelope


def check_version(protocol: object) -> None:
    found = VERSIONS.fullmatch(protocol) if isinstance(protocol, str) else None
    # A newer MINOR only adds; another MAJOR is another protocol.
    if found is None or found[2] != "1":
        raise Refusal(INVALID_SCHEMA, "/protocol: not a supported version", {"path": "/protocol", "supported_versions": [VERSION]})


def check_complete(message: dict) -> None:
    """What the strict reading of E02 demands of a request or an event, with the forms of E10, E11, E15 to E17."""
    if not is_text(message.get("id")):
        raise invalid("a non-empty text is required", "/message/id")
    if instant(message.get("timestamp")) is None:
        raise invalid("an RFC 3339 time is required", "/message/timestamp")
    source, destination, headers = (message.get(name) for name in ("source", "destination", "headers"))
    if not isinstance(source, dict) or not is_text(source.get("agent_id")):
        raise invalid("a non-empty text is required", "/message/source/agent_id")
    if source.get("session_id") is not None and not isinstance(source["session_id"], str):
        raise invalid("a text", "/message/source/session_id")
    if not isinstance(destination, dict):
        raise invalid("an object is required", "/message/destination")
    for name in ("agent_id", "capability"):
        if destination.get(name) is not None and not is_text(destination[name]):
            raise invalid("a non-empty text", f"/message/destination/{name}")
    if not isinstance(headers, dict):
        raise invalid("an object is required", "/message/headers")
    priority, timeout = headers.get("priority"), headers.get("timeout_ms")
    if priority is not None and not (is_whole(priority) and 1 <= priority <= 10):
        raise invalid("an integer from 1 to 10", "/message/headers/priority")
    if timeout is not None and not (is_whole(timeout) and timeout > 0):
        raise invalid("a positive integer", "/message/headers/timeout_ms")
    if headers.get("correlation_id") is not None and not isinstance(headers["correlation_id"], str):
        raise invalid("a text", "/message/headers/correlation_id")
    for name in ("routing_hints", "authentication", "signature"):
        if headers.get(name) is not None and not isinstance(headers[name], dict):
            raise invalid("an object", f"/message/headers/{name}")
    taken = headers.get("execution_time_ms")
    if taken is not None and not is_number(taken):
        raise invalid("a number", "/message/headers/execution_time_ms")


def agreed(offered: list) -> str | None:
    """The version to use with a peer that offers these, by the meaning of MAJOR and MINOR (E86)."""
    found = [MAJOR_MINOR.fullmatch(version) for version in offered if isinstance(version, str)]
    return VERSION if any(version and version[1] == "1" for version in found) else None


# --- Writing ----------------------------------------------------------------------------------------------------------


def message(kind: str, source: dict, destination: dict, payload: dict, now: datetime, **more: object) -> dict:
    """A whole envelope. `more`: `id`, `headers`, `protocol`."""
    identity = more.get("id") or str(uuid.uuid4())
    headers = {"correlation_id": identity, "priority": 5, "timeout_ms": 30000, "routing_hints": {}}
    headers.update(more.get("headers") or {})  # type: ignore[call-overload]
    return {
        "protocol": more.get("protocol") or f"{FAMILIES[0]}/{VERSION}",
        "message": {
            "id": identity,
            "type": kind,
            "timestamp": stamp(now),
            "source": source,
            "destination": destination,
            "headers": headers,
            "payload": payload,
        },
    }


def reply(asked: object, kind: str, own: str, payload: dict, now: datetime, headers: dict | None = None) -> dict:
    """A message that answers another, as far as that can be read: to its sender, by its id, in its family of names (E01, E13)."""
    asked = asked if isinstance(asked, dict) else {}
    protocol, told = asked.get("protocol"), asked.get("message")
    told = told if isinstance(told, dict) else {}
    found = VERSIONS.fullmatch(protocol) if isinstance(protocol, str) else None
    source = told.get("source")
    sender = source.get("agent_id") if isinstance(source, dict) else None
    own_headers = {"correlation_id": told["id"]} if is_text(told.get("id")) else {}
    built = message(kind, {"agent_id": own}, {"agent_id": sender} if is_text(sender) else {}, payload, now)
    built["protocol"] = f"{found[1] if found else FAMILIES[0]}/{VERSION}"
    built["message"]["headers"].pop("correlation_id")
    built["message"]["headers"] = {**own_headers, **built["message"]["headers"], **(headers or {})}
    return built


# The parts of the payload by the kind of message that is built (sections 3, 4 and 6).
PARTS = {
    "request": ("capability", "parameters", "context"),
    "event": ("event_type", "context"),
    "context_update": ("context",),
    "registration": ("agent", "capabilities", "endpoints", "authentication"),
    "discovery": ("query",),
    "negotiation": ("negotiation_type", "requirements"),
    "delegation": ("delegation",),
}


def build(kind: str, fields: dict, own: str, now: datetime) -> dict:
    """A message of a kind from its parts; what is not given is filled in."""
    if kind in ("response", "error"):
        asked = read(fields["request_raw"]) if "request_raw" in fields else None
        if kind == "error":
            error = {"code": fields.get("code"), "message": fields.get("message") or "failed"}
            if fields.get("details") is not None:
                error["details"] = fields["details"]
            payload = {"error": error}
        else:
            status = fields.get("status", "success")
            if status not in STATUSES:
                raise invalid(f"one of {', '.join(STATUSES)}", "/status")
            payload = {"status": status, "result": fields.get("result", {})}
            if fields.get("metadata") is not None:
                payload["metadata"] = fields["metadata"]
        source = fields.get("source")
        built = reply(asked, kind, source["agent_id"] if isinstance(source, dict) else own, payload, now, fields.get("headers"))
        if fields.get("destination") is not None:
            built["message"]["destination"] = fields["destination"]
        return built
    payload = {name: fields[name] for name in PARTS[kind] if fields.get(name) is not None}
    destination = dict(fields.get("destination") or {})
    if kind in ("registration", "discovery"):
        destination = {"agent_id": REGISTRY, "capability": REGISTRATION if kind == "registration" else DISCOVERY}
    elif kind == "request":
        destination.setdefault("capability", payload.get("capability"))
        payload.setdefault("parameters", {})
    elif kind == "negotiation":
        payload.setdefault("negotiation_type", "capability_check")
        needed = (payload.get("requirements") or {}).get("capabilities") or []
        if needed:
            destination.setdefault("capability", needed[0])  # E44
    elif kind == "delegation":
        subtask = payload.get("delegation", {}).get("subtask", {})
        if subtask.get("capability"):
            destination.setdefault("capability", subtask["capability"])
    elif kind == "context_update":
        payload = {"event_type": "context_update", **payload}
    type_ = "event" if kind in ("event", "context_update") else "request"
    source = fields.get("source") or {"agent_id": own}
    return message(type_, source, destination, payload, now, id=fields.get("id"), headers=fields.get("headers"))

"""The words of the protocol: types, error codes, the taxonomy, time stamps, and a refusal."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

TYPES = ("request", "response", "event", "error")
STATUSES = ("success", "partial", "failed")
FRAMEWORKS = ("langchain", "crewai", "autogen", "custom")
FAMILIES = ("AMP", "AIP")  # two names of one protocol (E01)
VERSION = "1.0"

# Section 6.2, and the status that the strict reading of E63 gives each.
AGENT_NOT_FOUND = "AGENT_NOT_FOUND"
CAPABILITY_NOT_FOUND = "CAPABILITY_NOT_FOUND"
AUTHENTICATION_FAILED = "AUTHENTICATION_FAILED"
RATE_LIMIT_EXCEEDED = "RATE_LIMIT_EXCEEDED"
TIMEOUT = "TIMEOUT"
INVALID_SCHEMA = "INVALID_SCHEMA"
CONTEXT_NOT_FOUND = "CONTEXT_NOT_FOUND"
INSUFFICIENT_RESOURCES = "INSUFFICIENT_RESOURCES"
HTTP_STATUS = {
    AGENT_NOT_FOUND: 404,
    CAPABILITY_NOT_FOUND: 404,
    AUTHENTICATION_FAILED: 401,
    RATE_LIMIT_EXCEEDED: 429,
    TIMEOUT: 504,
    INVALID_SCHEMA: 400,
    CONTEXT_NOT_FOUND: 404,
    INSUFFICIENT_RESOURCES: 503,
}

# Section 9.
TAXONOMY = {
    "text-processing": ["text-analysis", "sentiment-analysis", "summarization", "translation", "question-answering"],
    "data-processing": ["data-extraction", "data-transformation", "data-validation"],
    "generation": ["text-generation", "code-generation", "image-generation"],
    "reasoning": ["logical-reasoning", "mathematical-reasoning", "causal-reasoning"],
    "specialized": ["web-search", "tool-use", "memory-retrieval"],
}
STANDARD = {name for group in TAXONOMY.values() for name in group}
REGISTRY, REGISTRATION, DISCOVERY = "registry", "registration", "discovery"  # reserved names (E41)


class Refusal(Exception):
    """A message that is answered by an error of section 6."""

    def __init__(self, code: str, message: str, details: dict | None = None, denied: bool = False) -> None:
        super().__init__(message)
        self.code, self.message, self.details, self.denied = code, message, details, denied

    def error(self) -> dict:
        return {"code": self.code, "message": self.message, **({"details": self.details} if self.details else {})}


def invalid(reason: str, path: str = "") -> Refusal:
    return Refusal(INVALID_SCHEMA, f"{path}: {reason}" if path else reason, {"path": path} if path else None)


# --- Types ------------------------------------------------------------------------------------------------------------


def is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_whole(value: object) -> bool:
    return is_number(value) and value == int(value)  # type: ignore[call-overload]


# --- Time stamps ------------------------------------------------------------------------------------------------------

INSTANT = re.compile(r"(\d{4}-\d\d-\d\d)[Tt](\d\d):(\d\d):(\d\d)(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)


def instant(text: object) -> datetime | None:
    """The time of an RFC 3339 date-time, or None (E11). A leap second counts as the second that follows it."""
    found = INSTANT.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return None
    day, hour, minute, second, fraction, zone = found.groups()
    try:
        base = datetime.strptime(f"{day} {hour}:{minute}", "%Y-%m-%d %H:%M").replace(tzinfo=timezone.utc)
        if int(second) > 60:
            return None
        offset = timedelta()
        if zone not in "Zz":
            hours, minutes = int(zone[1:3]), int(zone[4:])
            if hours > 23 or minutes > 59:
                return None
            offset = timedelta(hours=hours, minutes=minutes) * (-1 if zone[0] == "-" else 1)
        return base + timedelta(seconds=int(second), microseconds=int(float(fraction or "0") * 1_000_000)) - offset
    except (ValueError, OverflowError):
        return None


def stamp(time: datetime) -> str:
    """Whole seconds, in UTC with the letter Z."""
    return time.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")

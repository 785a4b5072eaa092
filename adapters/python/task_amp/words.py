"""The words of the protocol: types, roles, routes, timeouts; message ids and time stamps (section 00)."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta, timezone

VERSION = "AMP/1.0"
DISPATCH, RESULT, REQUEST, VERDICT, ESCALATION = "task_dispatch", "task_result", "review_request", "review_verdict", "escalation"
TYPES = (DISPATCH, RESULT, REQUEST, VERDICT, ESCALATION)
WORKING = TYPES[:4]  # the four that require an ACK

ADMIN, COORDINATOR, EXECUTOR, REVIEWER, SYSTEM = "admin", "coordinator", "executor", "reviewer", "system"
SENDERS = (ADMIN, COORDINATOR, EXECUTOR, REVIEWER, SYSTEM)
ADDRESSEES = SENDERS[:4]

# The head cards of the five types (E14).
ROUTES = {
    DISPATCH: [(COORDINATOR, EXECUTOR)],
    RESULT: [(EXECUTOR, COORDINATOR)],
    REQUEST: [(COORDINATOR, REVIEWER)],
    VERDICT: [(REVIEWER, COORDINATOR)],
    ESCALATION: [(role, ADMIN) for role in (COORDINATOR, EXECUTOR, REVIEWER, SYSTEM)],
}
TIMEOUTS = {DISPATCH: 300, RESULT: 120, REQUEST: 600, VERDICT: 60}  # seconds; an escalation has none
HEARTBEAT = 1800  # seconds

TASK_ID = re.compile(r"T-[0-9]{4}-[0-9]{3}", re.ASCII)
MSG_ID = re.compile(rf"({'|'.join(TYPES)})-({TASK_ID.pattern})-([0-9]{{13}})", re.ASCII)
INSTANT = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)([.,]\d+)?(Z|[+-]\d\d(:?\d\d)?)?", re.ASCII)


class NotJson(ValueError):
    """Bytes that are not one JSON text in UTF-8."""


def read(data: bytes) -> object:
    def members(pairs: list) -> dict:
        if len({name for name, _ in pairs}) != len(pairs):
            raise NotJson("a member name is repeated")
        return dict(pairs)

    def constant(name: str) -> None:
        raise NotJson(f"{name} is not JSON")

    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=members, parse_constant=constant)
    except RecursionError:
        raise NotJson("nested too deeply") from None
    except ValueError as error:
        raise NotJson(str(error)) from None


def encode(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")


def parts_of(msg_id: object) -> tuple[str, str, int] | None:
    """Type, task and milliseconds of a message id in its full form (E09), or None."""
    found = MSG_ID.fullmatch(msg_id) if isinstance(msg_id, str) else None
    return (found[1], found[2], int(found[3])) if found else None


def msg_id(type_: str, task_id: str, unix_ms: int) -> str:
    return f"{type_}-{task_id}-{unix_ms:013d}"


def is_instant(text: object, with_offset: bool) -> bool:
    """Whether it is a date and time of ISO 8601 that exists in the calendar (E13)."""
    found = INSTANT.fullmatch(text) if isinstance(text, str) else None
    if found is None or with_offset and found[8] is None:
        return False
    year, month, day, hour, minute, second = (int(found[n]) for n in range(1, 7))
    if found[8] not in (None, "Z") and (int(found[8][1:3]) > 23 or int(found[8][-2:] if found[9] else 0) > 59):
        return False
    try:
        datetime(year, month, day, hour, minute, min(second, 59))
    except ValueError:
        return False
    return second <= 60  # a leap second


def stamp(unix_ms: int) -> str:
    time = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(milliseconds=unix_ms)
    return time.isoformat(timespec="milliseconds" if unix_ms % 1000 else "seconds")


def timeout_of(message: dict) -> float | None:
    """The seconds within which a message has to be acknowledged, or None (E17, E65)."""
    if message.get("requires_ack") is not True:
        return None
    explicit = message.get("ack_timeout_sec")
    return explicit if explicit is not None else TIMEOUTS.get(message.get("type"))  # type: ignore[arg-type]

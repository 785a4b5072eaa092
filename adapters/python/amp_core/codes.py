"""The registries: message types (section 4.3) and error codes (section 15.3)."""

from __future__ import annotations

from typing import NamedTuple

TYPES: dict[int, str] = {
    0x01: "PING",
    0x02: "PONG",
    0x03: "ACK",
    0x04: "PROC_OK",
    0x05: "PROC_FAIL",
    0x06: "CONTACT_REQUEST",
    0x07: "CONTACT_RESPONSE",
    0x08: "CONTACT_REVOKE",
    0x09: "PROCESSING",
    0x0A: "PROGRESS",
    0x0B: "INPUT_REQUIRED",
    0x0F: "ERROR",
    0x10: "MESSAGE",
    0x11: "REQUEST",
    0x12: "RESPONSE",
    0x13: "STREAM_START",
    0x14: "STREAM_DATA",
    0x15: "STREAM_END",
    0x16: "BATCH",
    0x20: "CAP_QUERY",
    0x21: "CAP_DECLARE",
    0x22: "CAP_INVOKE",
    0x23: "CAP_RESULT",
    0x30: "DOC_SEND",
    0x31: "DOC_REQUEST",
    0x40: "CRED_ISSUE",
    0x41: "CRED_REQUEST",
    0x42: "CRED_PRESENT",
    0x43: "CRED_VERIFY",
    0x50: "DELEG_GRANT",
    0x51: "DELEG_REVOKE",
    0x52: "DELEG_QUERY",
    0x60: "PRESENCE",
    0x61: "PRESENCE_QUERY",
    0x62: "PRESENCE_SUB",
    0x63: "PRESENCE_UNSUB",
    0x70: "HELLO",
    0x71: "HELLO_ACK",
    0x72: "HELLO_REJECT",
    0xF0: "EXTENSION",
}
NUMBERS: dict[str, int] = {name: number for number, name in TYPES.items()}

PING, PONG, ACK, PROC_OK, PROC_FAIL, ERROR = 0x01, 0x02, 0x03, 0x04, 0x05, 0x0F
MESSAGE, REQUEST, RESPONSE = 0x10, 0x11, 0x12
STREAM_START, STREAM_DATA, STREAM_END, BATCH = 0x13, 0x14, 0x15, 0x16
DOC_SEND, DOC_REQUEST = 0x30, 0x31
HELLO, HELLO_ACK, HELLO_REJECT = 0x70, 0x71, 0x72
HANDSHAKE = frozenset((HELLO, HELLO_ACK, HELLO_REJECT))

# Types defined in other documents (E39, E69): a message of these types is refused with 1005.
_ELSEWHERE = ("CAP_", "CONTACT_", "PRESENCE", "PROCESSING", "PROGRESS", "INPUT_REQUIRED", "EXTENSION")
SUPPORTED = frozenset(number for number, name in TYPES.items() if not name.startswith(_ELSEWHERE))

CATEGORIES: dict[int, str] = {1: "protocol", 2: "routing", 3: "security", 4: "client", 5: "server"}


class ErrorInfo(NamedTuple):
    """A row of section 15.3."""

    name: str
    category: str
    retry: bool


ERRORS: dict[int, ErrorInfo] = {
    code: ErrorInfo(name, CATEGORIES[code // 1000], retry)
    for code, name, retry in (
        (1001, "INVALID_MESSAGE", False),
        (1002, "INVALID_SIGNATURE", False),
        (1003, "INVALID_TIMESTAMP", False),
        (1004, "UNSUPPORTED_VERSION", False),
        (1005, "UNKNOWN_TYPE", False),
        (2001, "RECIPIENT_NOT_FOUND", True),
        (2002, "ENDPOINT_UNREACHABLE", True),
        (2003, "RELAY_REJECTED", True),
        (2004, "TTL_EXPIRED", False),
        (3001, "UNAUTHORIZED", False),
        (3002, "CONTACT_REQUIRED", False),
        (3003, "CONTACT_DENIED", False),
        (3004, "DELEGATION_INVALID", False),
        (3005, "RATE_LIMITED", True),
        (4001, "BAD_REQUEST", False),
        (4002, "CAPABILITY_NOT_FOUND", False),
        (4003, "VERSION_MISMATCH", False),
        (4004, "SCHEMA_VIOLATION", False),
        (5001, "INTERNAL_ERROR", True),
        (5002, "UNAVAILABLE", True),
        (5003, "TIMEOUT", True),
        (5004, "OVERLOADED", True),
    )
}


def retryable(code: int) -> bool:
    """Whether an error without `retry` may be tried again (E33). Codes outside the table may not,
    except server errors."""
    info = ERRORS.get(code)
    return code // 1000 == 5 if info is None else info.retry

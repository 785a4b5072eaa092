"""A small library for The Agentic Protocol v0.1: canonical form, content hash, validation.

It is an example to copy from and an implementation of its own: it shares no code with proofmark. Section numbers are
those of the specification, E-numbers those of suites/agentic/errata.md.
"""

import hashlib
import json
import re
import sys
from datetime import datetime
from decimal import Decimal


class NotCanonicalizable(ValueError):
    """The input is not JSON, or not I-JSON (repeated names, unpaired surrogates, numbers beyond a double: E07, E08)."""


class InvalidSchema(ValueError):
    """The input is JSON, but neither a package nor a fact."""


# --- Reading ---------------------------------------------------------------------------------------------------------
#
# json.loads alone is too kind: it takes NaN, lets the last of two equal names win, passes unpaired surrogates and turns
# 1e400 into infinity. Each hook below closes one of these doors.

MAX_DEPTH = 1000
sys.setrecursionlimit(max(sys.getrecursionlimit(), 4 * MAX_DEPTH))


def parse(data: bytes):
    """The JSON value in `data`. Objects become dicts in the order of the input, unknown members included."""
    try:
        text = data.decode("utf-8")
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_float=_fraction,
            parse_constant=_constant,
        )
        _look_through(value)
    except NotCanonicalizable:
        raise
    except UnicodeDecodeError as e:
        raise NotCanonicalizable(f"not UTF-8: {e.reason} at byte {e.start}") from None
    except RecursionError:
        raise NotCanonicalizable("nested too deeply") from None
    except ValueError as e:
        raise NotCanonicalizable(f"not JSON: {e}") from None
    return value


def _object(pairs):
    members = dict(pairs)
    if len(members) != len(pairs):
        raise NotCanonicalizable("a member name occurs twice")
    return members


def _integer(text):
    _fraction(text)  # the same limits as for every other number
    return int(text) if len(text) < 30 else float(text)


def _fraction(text):
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise NotCanonicalizable("a number does not fit a double")
    return value


def _constant(text):
    raise NotCanonicalizable(f"{text} is not JSON")


def _look_through(value, depth=0):
    """Refuse unpaired surrogates, and nesting that the recursive functions below could not follow."""
    if depth > MAX_DEPTH:
        raise NotCanonicalizable("nested too deeply")
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise NotCanonicalizable("an unpaired surrogate") from None
    elif isinstance(value, list):
        for item in value:
            _look_through(item, depth + 1)
    elif isinstance(value, dict):
        for name, item in value.items():
            _look_through(name, depth + 1)
            _look_through(item, depth + 1)


def serialize(value) -> bytes:
    """JSON for the wire. Nothing is renamed, sorted, filled in or left out (section 6)."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8")


# --- Canonical form and hash (section 6.6, Appendix A) ----------------------------------------------------------------


def canonicalize(value) -> bytes:
    return _canonical(value).encode("utf-8")


def _canonical(value) -> str:
    if isinstance(value, dict):
        # Null members go at every depth (E04); names are sorted by their UTF-8 bytes (E05).
        members = [(name, item) for name, item in value.items() if item is not None]
        members.sort(key=lambda member: member[0].encode("utf-8"))
        return "{" + ",".join(f"{_string(name)}:{_canonical(item)}" for name, item in members) + "}"
    if isinstance(value, list):
        # A null element is not a member and stays (E04); the order stays.
        return "[" + ",".join(_canonical(item) for item in value) + "]"
    if value is None or isinstance(value, bool):  # before numbers: True is an int in Python
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return _string(value)
    return _number(float(value))  # every number goes through a double (E07)


def _string(value: str) -> str:
    # With ensure_ascii off, Python escapes exactly what the appendix asks for: quote, reverse solidus and the characters
    # below U+0020, in short form where there is one, hex digits in lower case (E06).
    return json.dumps(value, ensure_ascii=False)


def _number(value: float) -> str:
    """RFC 8785, section 3.2.2.3: as ECMAScript prints it."""
    if value == 0:
        return "0"  # negative zero too
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    digits = "".join(map(str, digits))
    point = len(digits) + exponent  # the value is 0.digits * 10 ** point
    if -6 < point <= 0:
        text = "0." + "0" * -point + digits
    elif 0 < point <= 21:
        text = digits.ljust(point, "0")
        if len(digits) > point:
            text = digits[:point] + "." + digits[point:]
    else:
        text = digits[0] + ("." + digits[1:] if len(digits) > 1 else "") + f"e{point - 1:+d}"
    return "-" + text if sign else text


def content_hash(package) -> str:
    """SHA-256 of the canonical form of the package as it is: no defaults are filled in (E09)."""
    return "sha256:" + hashlib.sha256(canonicalize(package)).hexdigest()


def verify(package, claimed: str) -> bool:
    """Compare with a freshly computed hash; prefix and case of the digits do not matter (E03)."""
    return claimed.lower().removeprefix("sha256:") == content_hash(package).removeprefix("sha256:")


# --- Validation (sections 6.1 to 6.5, 7.1, 7.2) -----------------------------------------------------------------------

STATUSES = ("draft", "complete", "awaiting_review", "revision_requested")
PACKAGE_TYPES = (
    "standard",
    "milestone",
    "decision",
    "handoff",
    "auto_deposit",
    "analysis",
    "question",
    "orchestrator_report",
)
REVIEW_TYPES = ("none", "human", "agent")
ACTOR_TYPES = ("human", "agent", "script")

NEXT_STATES = {  # section 5.3
    "draft": {"complete", "awaiting_review"},
    "awaiting_review": {"complete", "revision_requested"},
    "revision_requested": {"awaiting_review", "complete"},
    "complete": set(),
}


def transition_allowed(old: str, new: str) -> bool:
    return new in NEXT_STATES.get(old, set())


TIME = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(\.[0-9]+)?Z")


def instant(text: str):
    """A time as a value that compares, or None if it is not RFC 3339 in UTC (E57: Z is the only zone of the examples)."""
    found = TIME.fullmatch(text)
    if not found:
        return None
    try:
        return datetime.fromisoformat(found.group(1)), Decimal("0" + (found.group(2) or ""))
    except ValueError:  # month 13, 30 February, hour 25
        return None


class Findings:
    """Collects what is wrong, each with a JSON pointer."""

    def __init__(self):
        self.errors = []

    def add(self, pointer, reason):
        self.errors.append({"pointer": pointer, "reason": reason})

    def member(self, owner, at, name, judge, required=False):
        """Judge one member. Null is the same as absent (E48)."""
        value = owner.get(name)
        pointer = f"{at}/{name}"
        if value is None:
            if required:
                self.add(pointer, "required")
            return None
        reason = judge(value)
        if reason:
            self.add(pointer, reason)
            return None
        return value


def string(value):
    return None if isinstance(value, str) else "must be a string"


def title(value):
    # A character is a code point (E56), which is what len counts.
    return string(value) or (None if 1 <= len(value) <= 200 else "must have 1 to 200 characters")


def timestamp(value):
    return string(value) or (None if instant(value) else "must be an RFC 3339 UTC time")


def one_of(*allowed):
    return lambda value: None if isinstance(value, str) and value in allowed else f"must be one of {', '.join(allowed)}"


def package_type(value):
    # Section 12.2: further types live under x-.
    return string(value) or (None if value in PACKAGE_TYPES or value.startswith("x-") else "unknown package type")


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def significance(value):
    if not is_number(value) or value != int(value):
        return "must be an integer"
    return None if 1 <= value <= 10 else "must be 1 to 10"


def confidence(value):
    if not is_number(value):
        return "must be a number"
    return None if 0 <= value <= 1 else "must be 0.0 to 1.0"


def size(value):
    if not is_number(value) or value != int(value):
        return "must be an integer"
    return None if value >= 0 else "must not be negative"


def path(value):
    if not isinstance(value, str):
        return "must be a string"
    if value.startswith("/") or ".." in value.split("/"):
        return "must be relative within the project, or a URL"
    return None


def deliverable_hash(value):
    return string(value) or (None if re.fullmatch(r"[^:]+:[0-9A-Fa-f]+", value) else "must be algorithm:hex")


def strings(value):
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return None
    return "must be an array of strings"


def array(value):
    return None if isinstance(value, list) else "must be an array"


def an_object(value):
    return None if isinstance(value, dict) else "must be an object"


def _actor(findings, owner, at, name, required):
    actor = findings.member(owner, at, name, an_object, required)
    if actor is not None:
        findings.member(actor, f"{at}/{name}", "id", string, required=True)
        findings.member(actor, f"{at}/{name}", "type", one_of(*ACTOR_TYPES), required=True)
        findings.member(actor, f"{at}/{name}", "session_id", string)


def validate_package(package) -> list:
    """What is wrong with a package, as a list of {pointer, reason}; empty if nothing is. Unknown members are fine."""
    findings = Findings()
    if not isinstance(package, dict):
        findings.add("", "must be an object")
        return findings.errors
    # 6.1
    findings.member(package, "", "package_id", string, required=True)
    findings.member(package, "", "project_id", string, required=True)
    findings.member(package, "", "relay_version", one_of("0.1"), required=True)
    findings.member(package, "", "title", title, required=True)
    findings.member(package, "", "status", one_of(*STATUSES), required=True)
    findings.member(package, "", "package_type", package_type, required=True)
    findings.member(package, "", "review_type", one_of(*REVIEW_TYPES), required=True)
    findings.member(package, "", "created_at", timestamp, required=True)
    _actor(findings, package, "", "created_by", required=True)
    # 6.4
    for name in ("description", "handoff_note", "content_md"):
        findings.member(package, "", name, string)
    for name in ("parent_package_id", "topic", "artifact_type", "storage_path"):
        findings.member(package, "", name, string)
    for name in ("tags", "decisions_made", "open_questions"):
        findings.member(package, "", name, strings)
    findings.member(package, "", "estimated_next_actor", one_of("human", "agent"))
    findings.member(package, "", "significance", significance)
    # 6.5
    for index, item in enumerate(findings.member(package, "", "deliverables", array) or []):
        at = f"/deliverables/{index}"
        if not isinstance(item, dict):
            findings.add(at, "must be an object")
            continue
        findings.member(item, at, "path", path, required=True)
        findings.member(item, at, "type", string, required=True)
        findings.member(item, at, "hash", deliverable_hash)
        findings.member(item, at, "size_bytes", size)
    return findings.errors


def validate_fact(fact) -> list:
    findings = Findings()
    if not isinstance(fact, dict):
        findings.add("", "must be an object")
        return findings.errors
    # 7.1: value is a string, numbers included (E44)
    for name in ("fact_id", "project_id", "subject", "predicate", "value"):
        findings.member(fact, "", name, string, required=True)
    start = findings.member(fact, "", "valid_from", timestamp, required=True)
    findings.member(fact, "", "created_at", timestamp, required=True)
    # 7.2
    end = findings.member(fact, "", "valid_to", timestamp)
    findings.member(fact, "", "source_package_id", string)
    findings.member(fact, "", "confidence", confidence)
    _actor(findings, fact, "", "asserted_by", required=False)
    findings.member(fact, "", "tags", strings)
    if start and end and instant(end) < instant(start):
        findings.add("/valid_to", "must not be before valid_from")
    return findings.errors


# --- The library's types ----------------------------------------------------------------------------------------------


class Record:
    """A package or fact. It keeps the object it was read from, so that members it does not know, at any depth, come out
    again as they went in (sections 6 and 12.1). Copying known fields into columns is how most implementations lose them.
    """

    def __init__(self, members: dict):
        self.members = members

    @classmethod
    def from_json(cls, data: bytes):
        value = parse(data)
        if not isinstance(value, dict):
            raise InvalidSchema("must be an object")
        return cls(value)

    def to_json(self) -> bytes:
        return serialize(self.members)

    def __getattr__(self, name):
        try:
            return self.members[name]
        except KeyError:
            raise AttributeError(name) from None


class Package(Record):
    pass


class Fact(Record):
    pass

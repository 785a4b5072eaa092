"""Validation of packages (sections 6.1 to 6.5), facts (7.1 and 7.2), assertions (8.6) and sessions (5.5).

Each function returns the defects as a list of {"pointer", "reason"}, empty if there are none. Unknown members are never
defects (section 6). A member that is null counts as absent (E48).
"""

import re

from .instants import instant

STATUSES = ("draft", "awaiting_review", "revision_requested", "complete")
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

# --- Validators: each returns the defect of a value, or None ------------------------------------------------------------


def text(value):
    return None if isinstance(value, str) else "must be a string"


def one_of(*words):
    def judge(value):
        return None if isinstance(value, str) and value in words else f"must be one of {', '.join(words)}"

    return judge


def title(value):
    # A character is a code point (E56), and that is what len counts.
    return text(value) or (None if 1 <= len(value) <= 200 else "must have 1 to 200 characters")


def package_type(value):
    """A type of section 6.3, or a custom one (section 12.2)."""
    if isinstance(value, str) and (value in PACKAGE_TYPES or re.fullmatch(r"x-.+", value, re.DOTALL)):
        return None
    return "must be one of section 6.3, or begin with x-"


def time(value):
    return text(value) or (None if instant(value) else "must be an RFC 3339 time that ends in Z")


def texts(value):
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return None
    return "must be an array of strings"


def array(value):
    return None if isinstance(value, list) else "must be an array"


def an_object(value):
    return None if isinstance(value, dict) else "must be an object"


def _number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def whole_number(value):
    # JSON has no separate integers: 5.0 is one (E64).
    return None if _number(value) and value == int(value) else "must be an integer"


def significance(value):
    return whole_number(value) or (None if 1 <= value <= 10 else "must be from 1 to 10")


def size(value):
    return whole_number(value) or (None if value >= 0 else "must not be negative")


def confidence(value):
    return None if _number(value) and 0 <= value <= 1 else "must be a number from 0 to 1"


def digest(value):
    """Algorithm, colon, hex digits (section 6.5)."""
    return text(value) or (None if re.fullmatch(r"[^:\s]+:[0-9A-Fa-f]+", value) else "must be algorithm:hex")


def path(value):
    """A relative path within the project, or a URL (E62)."""
    if not isinstance(value, str):
        return "must be a string"
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", value):
        return None
    if value.startswith("/") or ".." in value.split("/"):
        return "must stay within the project"
    return None


# --- Tables: member, validator, whether it is required -------------------------------------------------------------------

ACTOR = (
    ("id", text, True),
    ("type", one_of(*ACTOR_TYPES), True),
    ("session_id", text, False),
)
DELIVERABLE = (
    ("path", path, True),
    ("type", text, True),
    ("hash", digest, False),
    ("size_bytes", size, False),
)
PACKAGE = (
    ("package_id", text, True),
    ("project_id", text, True),
    ("relay_version", one_of("0.1"), True),
    ("title", title, True),
    ("status", one_of(*STATUSES), True),
    ("package_type", package_type, True),
    ("review_type", one_of(*REVIEW_TYPES), True),
    ("created_at", time, True),
    ("created_by", an_object, True),
    ("description", text, False),
    ("tags", texts, False),
    ("decisions_made", texts, False),
    ("open_questions", texts, False),
    ("handoff_note", text, False),
    ("estimated_next_actor", one_of("human", "agent"), False),
    ("deliverables", array, False),
    ("parent_package_id", text, False),
    ("significance", significance, False),
    ("content_md", text, False),
    ("topic", text, False),
    ("artifact_type", text, False),
    ("storage_path", text, False),
)
# The inputs of assert_fact (section 8.6), and the members that the store adds (section 7.1).
ASSERTION = (
    ("project_id", text, True),
    ("subject", text, True),
    ("predicate", text, True),
    ("value", text, True),
    ("valid_from", time, False),
    ("source_package_id", text, False),
    ("confidence", confidence, False),
    ("asserted_by", an_object, False),
    ("tags", texts, False),
)
FACT = ASSERTION + (
    ("fact_id", text, True),
    ("valid_from", time, True),
    ("created_at", time, True),
    ("valid_to", time, False),
)
SESSION = (
    ("session_id", text, True),
    ("project_id", text, True),
    ("actor_id", text, True),
    ("actor_type", one_of(*ACTOR_TYPES), True),
    ("callsign", text, False),
    ("started_at", time, True),
    ("ended_at", time, False),
    ("packages_deposited", texts, True),
)


def _judge(value, table, at=""):
    if not isinstance(value, dict):
        return [{"pointer": at, "reason": "must be an object"}]
    wrong = []
    for name, judge, required in table:
        member = value.get(name)
        if member is not None:
            reason = judge(member)
        else:
            reason = "is required" if required else None
        if reason:
            wrong.append({"pointer": f"{at}/{name}", "reason": reason})
    return wrong


def _judge_actor(value, name):
    actor = value.get(name)
    return _judge(actor, ACTOR, f"/{name}") if isinstance(actor, dict) else []


def package(value):
    wrong = _judge(value, PACKAGE)
    if isinstance(value, dict):
        wrong += _judge_actor(value, "created_by")
        deliverables = value.get("deliverables")
        for index, item in enumerate(deliverables if isinstance(deliverables, list) else []):
            wrong += _judge(item, DELIVERABLE, f"/deliverables/{index}")
    return wrong


def assertion(value):
    wrong = _judge(value, ASSERTION)
    if isinstance(value, dict):
        wrong += _judge_actor(value, "asserted_by")
    return wrong


def fact(value):
    wrong = _judge(value, FACT)
    if isinstance(value, dict):
        wrong += _judge_actor(value, "asserted_by")
        if not wrong and value.get("valid_to") is not None:
            if instant(value["valid_to"]) < instant(value["valid_from"]):
                wrong.append({"pointer": "/valid_to", "reason": "must not be before valid_from"})
    return wrong


def session(value):
    return _judge(value, SESSION)

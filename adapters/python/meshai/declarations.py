"""Identities, capability declarations, contexts and registrations (sections 2.1, 2.2, 4.1 and 5.1)."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from . import schema
from .model import FRAMEWORKS, REGISTRY, STANDARD, instant, is_number, is_text, is_whole

Problems = list

DOTTED = re.compile(r"(0|[1-9]\d*)(\.(0|[1-9]\d*)){1,2}", re.ASCII)
TWO_PARTS = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)", re.ASCII)


def _problem(path: str, reason: str) -> dict:
    return {"path": path, "reason": reason}


def identity(agent: object, complete: bool = False) -> Problems:
    """What is wrong with an identity. `version` and `protocol_version` may be missing unless it has to be complete (E37)."""
    if not isinstance(agent, dict):
        return [_problem("/agent", "an identity is an object")]
    problems = [_problem(f"/agent/{name}", "a non-empty text is required") for name in ("id", "name", "framework") if not is_text(agent.get(name))]
    for name in ("version", "protocol_version"):
        if name in agent and not is_text(agent[name]) or complete and name not in agent:
            problems.append(_problem(f"/agent/{name}", "a version is a non-empty text"))
    if is_text(agent.get("version")) and not re.fullmatch(r"\d+\.\d+\.\d+([-+.].*)?", agent["version"], re.ASCII):
        problems.append(_problem("/agent/version", "three dotted numbers, and a suffix if any"))
    if is_text(agent.get("protocol_version")) and not TWO_PARTS.fullmatch(agent["protocol_version"]):
        problems.append(_problem("/agent/protocol_version", "the form is MAJOR.MINOR"))
    if is_text(agent.get("framework")) and agent["framework"] not in FRAMEWORKS:
        problems.append(_problem("/agent/framework", f"one of {', '.join(FRAMEWORKS)}"))
    if agent.get("id") == REGISTRY:
        problems.append(_problem("/agent/id", "reserved for the registry (E41)"))
    return problems


def capability(declared: object, strict: bool = False, at: str = "/capability") -> Problems:
    """What is wrong with a declaration. Strict: standard ids, languages and references that resolve (E82, E84)."""
    if not isinstance(declared, dict):
        return [_problem(at, "a declaration is an object")]
    problems = []

    def check(holds: bool, name: str, reason: str) -> None:
        if not holds:
            problems.append(_problem(f"{at}/{name}", reason))

    check(is_text(declared.get("id")), "id", "a non-empty text is required")
    check(isinstance(declared.get("version"), str) and bool(DOTTED.fullmatch(declared["version"])), "version", "dotted numbers are required")
    check(isinstance(declared.get("description"), str), "description", "a text is required")
    for name in ("input_schema", "output_schema"):
        given = declared.get(name)
        reason = schema.flaw(given) if isinstance(given, dict) else "an object is required"
        check(reason is None, name, reason or "")
        check(not strict or reason is not None or schema.resolves(given), name, "a reference that does not resolve")
    if strict and is_text(declared.get("id")):
        check(declared["id"] in STANDARD, "id", "not an identifier of the taxonomy")
    limits = declared.get("constraints", {})
    if not isinstance(limits, dict):
        return [*problems, _problem(f"{at}/constraints", "constraints are an object")]
    length, languages, time = (limits.get(name) for name in ("max_input_length", "supported_languages", "response_time_ms"))
    check(length is None or is_whole(length) and length >= 0, "constraints/max_input_length", "a non-negative integer")
    texts = isinstance(languages, list) and all(isinstance(language, str) for language in languages)
    check(languages is None or texts, "constraints/supported_languages", "an array of texts")
    check(not (strict and texts) or all(re.fullmatch("[a-z]{2}", name) for name in languages), "constraints/supported_languages", "two letters")
    check(time is None or is_number(time) and time >= 0, "constraints/response_time_ms", "a non-negative number")
    return problems


def access(lists: object, at: str) -> Problems:
    if not isinstance(lists, dict):
        return [_problem(at, "access control is an object")]
    wrong = [n for n in ("read", "write") if n in lists and not (isinstance(lists[n], list) and all(map(is_text, lists[n])))]
    return [_problem(f"{at}/{name}", "an array of agent ids") for name in wrong]


def content(given: object, at: str = "/context") -> Problems:
    """What is wrong with the members of a context that agents may set (section 5.1, E48)."""
    if not isinstance(given, dict):
        return [_problem(at, "a context is an object")]
    problems = []
    if given.get("session_id") is not None and not is_text(given["session_id"]):
        problems.append(_problem(f"{at}/session_id", "a non-empty text"))
    if given.get("expires_at") is not None and instant(given["expires_at"]) is None:
        problems.append(_problem(f"{at}/expires_at", "an RFC 3339 time"))
    for name in ("shared_memory", "agent_memory"):
        if given.get(name) is not None and not isinstance(given[name], dict):
            problems.append(_problem(f"{at}/{name}", "an object"))
    private = given.get("agent_memory")
    if isinstance(private, dict) and not all(isinstance(memory, dict) for memory in private.values()):
        problems.append(_problem(f"{at}/agent_memory", "an object for each agent"))
    shared = given.get("shared_memory")
    forms = (("user_preferences", dict), ("conversation_summary", str), ("task_history", list))  # section 3.4
    for name, form in forms if isinstance(shared, dict) else ():
        if name in shared and not isinstance(shared[name], form):
            problems.append(_problem(f"{at}/shared_memory/{name}", f"of type {form.__name__}"))
    if given.get("access_control") is not None:
        problems += access(given["access_control"], f"{at}/access_control")
    return problems


def context(given: object) -> Problems:
    """What is wrong with a whole context."""
    problems = content(given)
    if not isinstance(given, dict):
        return problems
    if not is_text(given.get("id")):
        problems.append(_problem("/context/id", "a non-empty text is required"))
    created, expires = instant(given.get("created_at")), instant(given.get("expires_at"))
    if created is None:
        problems.append(_problem("/context/created_at", "an RFC 3339 time is required"))
    if created and expires and expires < created:
        problems.append(_problem("/context/expires_at", "before the creation"))
    if not isinstance(given.get("shared_memory"), dict):
        problems.append(_problem("/context/shared_memory", "an object is required"))
    lineage = given.get("lineage")
    if lineage is not None and not isinstance(lineage, dict):
        problems.append(_problem("/context/lineage", "an object"))
    elif lineage:
        wrong = [name for name in ("parent_context", "root_context") if lineage.get(name) is not None and not is_text(lineage[name])]
        problems += [_problem(f"/context/lineage/{name}", "an id") for name in wrong]
    return problems


def is_url(value: object) -> bool:
    """Whether it is an absolute URL with the scheme http or https (E39)."""
    try:
        parts = urlsplit(value) if isinstance(value, str) else None
        return parts is not None and parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False


def registration(payload: dict) -> Problems:
    problems = identity(payload.get("agent"))
    declared = payload.get("capabilities")
    if not isinstance(declared, list):
        problems.append(_problem("/capabilities", "an array is required"))
    else:
        problems += [found for index, entry in enumerate(declared) for found in capability(entry, at=f"/capabilities/{index}")]
    endpoints = payload.get("endpoints")
    if not isinstance(endpoints, dict):
        problems.append(_problem("/endpoints", "an object is required"))
    else:
        problems += [_problem(f"/endpoints/{name}", "an absolute URL") for name in ("invoke", "health") if not is_url(endpoints.get(name))]
    given = payload.get("authentication")
    if given is not None:
        if not isinstance(given, dict):
            problems.append(_problem("/authentication", "an object"))
        else:
            wrong = [name for name in ("type", "credentials") if not isinstance(given.get(name), str)]
            problems += [_problem(f"/authentication/{name}", "a text") for name in wrong]
    return problems

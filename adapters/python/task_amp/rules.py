"""What makes a message valid: the tables of fields and the boxes below them, as data (sections 00 to 05)."""

from __future__ import annotations

import re
from typing import Callable, Optional

from . import words
from .words import DISPATCH, ESCALATION, REQUEST, RESULT, VERDICT

# A rule says which code a value deserves, or None if it is fine.
Rule = Callable[[object], Optional[str]]
MISSING, TYPE, ENUM, FORMAT, RANGE = "missing_field", "wrong_type", "bad_enum", "bad_format", "out_of_range"
PROTECTED = ("main", "master")
FIX_KINDS = ("typo", "lint", "whitespace", "import", "import_order")  # E51
MOST_LINES = 4


def _number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _whole(value: object) -> bool:
    """300.0 is an integer, too (E07)."""
    return _number(value) and value == value // 1  # type: ignore[operator]


def integer(least: Optional[int] = None) -> Rule:
    def rule(value: object) -> Optional[str]:
        if not _whole(value):
            return TYPE
        return RANGE if least is not None and value < least else None  # type: ignore[operator]

    return rule


def text(value: object) -> Optional[str]:
    """A text that says something: an empty one is as none (E07)."""
    if not isinstance(value, str):
        return TYPE
    return None if value.strip() else FORMAT


def any_text(value: object) -> Optional[str]:
    return None if isinstance(value, str) else TYPE


def boolean(value: object) -> Optional[str]:
    return None if isinstance(value, bool) else TYPE


def open_object(value: object) -> Optional[str]:
    return None if isinstance(value, dict) else TYPE


def nullable(rule: Rule) -> Rule:
    def checked(value: object) -> Optional[str]:
        return None if value is None else rule(value)

    checked.takes_null = True  # type: ignore[attr-defined]
    return checked


def one_of(*values: str) -> Rule:
    def rule(value: object) -> Optional[str]:
        if not isinstance(value, str):
            return TYPE
        return None if value in values else ENUM

    return rule


def list_of(rule: Rule) -> Rule:
    def checked(value: object) -> Optional[str]:
        if not isinstance(value, list):
            return TYPE
        return next((code for code in map(rule, value) if code), None)

    return checked


def pattern(expression: str) -> Rule:
    def rule(value: object) -> Optional[str]:
        if not isinstance(value, str):
            return TYPE
        return None if re.fullmatch(expression, value, re.ASCII) else FORMAT

    return rule


def id_of(*types: str) -> Rule:
    def rule(value: object) -> Optional[str]:
        if not isinstance(value, str):
            return TYPE
        parts = words.parts_of(value)
        return None if parts and (not types or parts[0] in types) else FORMAT

    return rule


def instant(with_offset: bool) -> Rule:
    def rule(value: object) -> Optional[str]:
        if not isinstance(value, str):
            return TYPE
        return None if words.is_instant(value, with_offset) else FORMAT

    return rule


def version(value: object) -> Optional[str]:
    if not isinstance(value, str):
        return TYPE
    return None if value == words.VERSION else "incompatible_version"


def branch(value: object) -> Optional[str]:
    return "branch_forbidden" if value in PROTECTED else text(value)


def diff_place(value: object) -> Optional[str]:
    """A URL, or a path: with a slash, or of a patch file (E42)."""
    if text(value):
        return text(value)
    is_place = re.fullmatch(r"https?://[^/\s]+.*|(?!\w+://).*/.*|.*\.(diff|patch)", value)  # type: ignore[arg-type]
    return None if is_place else FORMAT


class Shape:
    """An object: its required and optional members with their rules; a rule may be a shape, or a list with one."""

    def __init__(self, required: dict, optional: Optional[dict] = None) -> None:
        self.required, self.optional = required, optional or {}

    def check(self, value: object, at: str, errors: list) -> None:
        if not isinstance(value, dict):
            errors.append({"code": TYPE, "path": at})
            return
        for name, rule in self.required.items():
            # null in place of a required member is as none (E07).
            if name not in value or value[name] is None and not getattr(rule, "takes_null", False):
                errors.append({"code": MISSING, "path": f"{at}/{name}"})
            else:
                _apply(rule, value[name], f"{at}/{name}", errors)
        for name, rule in self.optional.items():
            if name in value:
                _apply(rule, value[name], f"{at}/{name}", errors)


def _apply(rule: object, value: object, at: str, errors: list) -> None:
    if isinstance(rule, Shape):
        rule.check(value, at, errors)
    elif isinstance(rule, list):
        if not isinstance(value, list):
            errors.append({"code": TYPE, "path": at})
        else:
            for index, item in enumerate(value):
                rule[0].check(item, f"{at}/{index}", errors)
    else:
        code = rule(value)  # type: ignore[operator]
        if code:
            errors.append({"code": code, "path": at})


COUNT, TEXTS = integer(0), list_of(text)
ENVELOPE = Shape(
    {
        "msg_id": id_of(),
        "protocol_version": version,
        "type": one_of(*words.TYPES),
        "from": one_of(*words.SENDERS),
        "to": one_of(*words.ADDRESSEES),
        "task_id": pattern(words.TASK_ID.pattern),
        "timestamp": instant(with_offset=True),
        "requires_ack": boolean,
        "payload": open_object,
    },
    {"ack_timeout_sec": integer(1), "context_ref": list_of(id_of())},
)
PAYLOADS = {
    DISPATCH: Shape(
        {
            "description": text,
            "repo": pattern(r"(/|[A-Za-z]:[\\/]).*"),
            "branch": branch,
            "subtasks": [Shape({"subtask_id": text, "description": text, "estimated_lines": COUNT})],
            "acceptance_criteria": TEXTS,
            "risk_level": one_of("low", "medium", "high"),
        },
        {"forbidden_actions": TEXTS, "tech_constraints": open_object},
    ),
    RESULT: Shape(
        {
            "subtask_id": text,
            "completion_status": one_of("complete", "partial", "failed"),
            "diff_summary": Shape({"files_changed": list_of(any_text), "lines_added": COUNT, "lines_removed": COUNT}),
            "self_assessment": Shape({"criteria_met": list_of(nullable(boolean)), "notes": list_of(any_text)}),
            "work_log": [Shape({"timestamp": instant(with_offset=False), "action": any_text, "file": any_text, "detail": any_text})],
        },
        {"commit_hash": pattern("[0-9A-Fa-f]{7,64}"), "blockers": list_of(any_text)},
    ),
    REQUEST: Shape(
        {
            "original_dispatch_ref": id_of(DISPATCH),
            "task_result_ref": id_of(RESULT),
            "review_scope": one_of("full", "incremental"),
            "diff_url": diff_place,
            "reject_count": COUNT,
        },
        {"coordinator_notes": any_text, "ci_status": open_object},
    ),
    VERDICT: Shape(
        {
            "decision": one_of("approved", "approved_with_fix", "rejected"),
            "criteria_results": [Shape({"criterion": text, "passed": nullable(boolean), "evidence": any_text})],
            "confidence": lambda value: TYPE if not _number(value) else None if 0 <= value <= 1 else RANGE,  # type: ignore[operator]
        },
        {
            "issues": [
                Shape(
                    {
                        "severity": one_of("critical", "major", "minor"),
                        "file": any_text,
                        "line": nullable(COUNT),
                        "description": any_text,
                        "suggested_fix": any_text,
                    }
                )
            ],
            "direct_fixes": [
                Shape(
                    {
                        "file": any_text,
                        "change_type": one_of(*FIX_KINDS),
                        "diff_lines": lambda value: integer(1)(value) or (None if value <= MOST_LINES else "fix_out_of_range"),  # type: ignore[operator]
                    }
                )
            ],
            "architecture_notes": any_text,
        },
    ),
    ESCALATION: Shape(
        {
            "escalation_type": one_of(
                "hallucination_lock",
                "ack_timeout",
                "branch_violation",
                "ci_failure",
                "conflict",
                "heartbeat_timeout",
                "permission_denied",
                "unknown",
            ),
            "severity": one_of("critical", "warning", "info"),
            "triggered_by": one_of(words.COORDINATOR, words.EXECUTOR, words.REVIEWER, words.SYSTEM),
            "description": text,
            "affected_msgs": list_of(id_of()),
            "system_state_snapshot": Shape({"task_status": any_text, "reject_count": COUNT, "last_successful_msg_id": nullable(any_text)}),
            "auto_suspended": boolean,
        },
        {"suggested_actions": list_of(any_text)},
    ),
}


# --- Rules that join members ------------------------------------------------------------------------------------------


def _dispatch(payload: dict) -> list:
    errors = []
    ids = [subtask["subtask_id"] for subtask in payload["subtasks"]]
    if not ids or len(set(ids)) != len(ids):
        errors.append({"code": FORMAT, "path": "/payload/subtasks"})
    if not payload["acceptance_criteria"]:
        errors.append({"code": "criteria_empty", "path": "/payload/acceptance_criteria"})
    return errors


def _result(payload: dict) -> list:
    given = payload.get("blockers") or []
    if payload["completion_status"] == "complete" or given and all(reason.strip() for reason in given):
        return []
    return [{"code": "blockers_required", "path": "/payload/blockers"}]


def _verdict(payload: dict) -> list:
    errors, decision = [], payload["decision"]
    if not payload["criteria_results"]:
        errors.append({"code": FORMAT, "path": "/payload/criteria_results"})
    if decision == "rejected" and not payload.get("issues"):
        errors.append({"code": "issues_required", "path": "/payload/issues"})
    if decision == "approved_with_fix" and not payload.get("direct_fixes"):
        errors.append({"code": "direct_fixes_required", "path": "/payload/direct_fixes"})
    # A critical or a major issue blocks (E50).
    if decision == "approved" and any(issue["severity"] != "minor" for issue in payload.get("issues", [])):
        errors.append({"code": ENUM, "path": "/payload/decision"})
    return errors


def _escalation(payload: dict) -> list:
    # Only information leaves the system running (E56).
    if payload["severity"] != "info" and not payload["auto_suspended"]:
        return [{"code": "suspend_required", "path": "/payload/auto_suspended"}]
    return []


JOINED = {DISPATCH: _dispatch, RESULT: _result, REQUEST: lambda payload: [], VERDICT: _verdict, ESCALATION: _escalation}


def payload_errors(type_: object, payload: object) -> list:
    if not isinstance(type_, str) or type_ not in PAYLOADS:
        return [{"code": ENUM, "path": "/type"}]
    errors: list = []
    PAYLOADS[type_].check(payload, "/payload", errors)  # type: ignore[index]
    return errors or JOINED[type_](payload)  # type: ignore[index]


def allowed(type_: object, sender: object, addressee: object) -> bool:
    return isinstance(type_, str) and (sender, addressee) in words.ROUTES.get(type_, [])


def errors_of(message: object, dispatch: Optional[dict] = None, receiver: Optional[str] = None) -> list:
    """Everything that is wrong with a message. With the dispatch that it answers, the two are compared."""
    if not isinstance(message, dict):
        return [{"code": "not_an_object", "path": ""}]
    errors: list = []
    ENVELOPE.check(message, "", errors)
    broken = {error["path"] for error in errors}
    type_, payload = message.get("type"), message.get("payload")
    parts = words.parts_of(message.get("msg_id"))
    if parts and not broken & {"/type", "/task_id"} and parts[:2] != (type_, message["task_id"]):
        errors.append({"code": "msg_id_mismatch", "path": "/msg_id"})
    if not broken & {"/type", "/from", "/to"}:
        if not allowed(type_, message["from"], message["to"]) or receiver is not None and message["to"] != receiver:
            errors.append({"code": "route_not_allowed", "path": "/to"})
        if type_ in words.WORKING and message.get("requires_ack") is False:
            errors.append({"code": FORMAT, "path": "/requires_ack"})  # E16
    if not broken & {"/type", "/payload"}:
        found = payload_errors(type_, payload)
        if not found and "/task_id" not in broken and type_ == REQUEST:
            wrong = [name for name in ("original_dispatch_ref", "task_result_ref") if words.parts_of(payload[name])[1] != message["task_id"]]  # type: ignore[index]
            found = [{"code": "unresolved_ref", "path": f"/payload/{name}"} for name in wrong]
        errors += found
        if not found and dispatch is not None:
            errors += unaligned(type_, payload, dispatch["payload"])  # type: ignore[arg-type]
    return errors


def unaligned(type_: object, payload: dict, plan: dict) -> list:
    """Where a result or a verdict does not fit the dispatch that it answers (E33, E48)."""
    criteria = plan["acceptance_criteria"]
    if type_ == RESULT:
        errors = []
        if payload["subtask_id"] not in [subtask["subtask_id"] for subtask in plan["subtasks"]]:
            errors.append({"code": "unresolved_ref", "path": "/payload/subtask_id"})
        if len(payload["self_assessment"]["criteria_met"]) != len(criteria):
            errors.append({"code": FORMAT, "path": "/payload/self_assessment/criteria_met"})
        return errors
    if type_ == VERDICT and [entry["criterion"] for entry in payload["criteria_results"]] != criteria:
        return [{"code": FORMAT, "path": "/payload/criteria_results"}]
    return []

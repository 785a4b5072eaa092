"""Confirm vectors/task-amp: a validator of messages, written from the specification and its errata register.

`problems(text)` lists what every reading rejects, `problems(text, strict=True)` what the strict profile rejects as well.
"""

import json
import re
from datetime import datetime

TASK = re.compile(r"T-[0-9]{4}-[0-9]{3,}")
KINDS = {
    "task_dispatch": ({"coordinator"}, "executor"),
    "task_result": ({"executor"}, "coordinator"),
    "review_request": ({"coordinator"}, "reviewer"),
    "review_verdict": ({"reviewer"}, "coordinator"),
    "escalation": ({"coordinator", "executor", "reviewer", "system"}, "admin"),
}
MSG_ID = re.compile(rf"({'|'.join(KINDS)})-({TASK.pattern})-([0-9]+)")
OFFSET = re.compile(r"(Z|[+-][0-9]{2}:?[0-9]{2})$")


def text(v):
    return isinstance(v, str)


def flag(v):
    return isinstance(v, bool)


def number(v):
    return isinstance(v, (int, float)) and not flag(v)


def whole(v):
    return number(v) and float(v).is_integer()


def mapping(v):
    return isinstance(v, dict)


def listing(of):
    return lambda v: isinstance(v, list) and all(of(item) for item in v)


def word(*words):
    return lambda v: text(v) and v in words


def or_null(of):
    return lambda v: v is None or of(v)


def moment(v):
    """Whether a text is a date and time of ISO 8601, with or without an offset."""
    if not text(v) or not re.match(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}", v):
        return False
    try:
        datetime.fromisoformat(v.replace("Z", "+00:00"))
    except ValueError:
        return False
    return True


ENVELOPE = {
    "msg_id": lambda v: text(v) and MSG_ID.fullmatch(v) is not None,
    "protocol_version": lambda v: text(v) and re.fullmatch(r"AMP/1\.[0-9]+", v) is not None,
    "type": word(*KINDS),
    "from": word("admin", "coordinator", "executor", "reviewer", "system"),
    "to": word("admin", "coordinator", "executor", "reviewer"),
    "task_id": lambda v: text(v) and TASK.fullmatch(v) is not None,
    "timestamp": lambda v: moment(v) and OFFSET.search(v) is not None,
    "requires_ack": flag,
    "payload": mapping,
}
OPTIONAL_ENVELOPE = {"ack_timeout_sec": whole, "context_ref": listing(text)}


def fields(required, optional=None):
    """A check of an object: the names of what is wrong in it."""

    def check(v):
        if not mapping(v):
            return ["not an object"]
        found = []
        for name, test in required.items():
            if name not in v:
                found.append(f"{name} missing")
            else:
                result = test(v[name])
                found += [f"{name}: {r}" for r in result] if isinstance(result, list) else [] if result else [name]
        for name, test in (optional or {}).items():
            if v.get(name) is not None:
                result = test(v[name])
                found += [f"{name}: {r}" for r in result] if isinstance(result, list) else [] if result else [name]
        return found

    return check


def each(of):
    def check(v):
        if not isinstance(v, list):
            return ["not an array"]
        return [problem for item in v for problem in of(item)]

    return check


def absolute(v):
    return text(v) and (v.startswith(("/", "\\\\")) or re.match(r"[A-Za-z]:[\\/]", v) is not None)


ISSUE = fields(
    {
        "severity": word("critical", "major", "minor"),
        "file": text,
        "line": or_null(whole),
        "description": text,
        "suggested_fix": text,
    }
)
FIX = fields(
    {
        "file": text,
        "change_type": word("typo", "lint", "whitespace", "import", "import_order"),
        "diff_lines": lambda v: whole(v) and v < 5,
    }
)
TYPES = "hallucination_lock ack_timeout branch_violation ci_failure conflict heartbeat_timeout permission_denied unknown"
PAYLOADS = {
    "task_dispatch": fields(
        {
            "description": text,
            "repo": absolute,
            "branch": lambda v: text(v) and v != "",
            "subtasks": each(fields({"subtask_id": text, "description": text, "estimated_lines": number})),
            "acceptance_criteria": lambda v: listing(text)(v) and len(v) > 0,
            "risk_level": word("low", "medium", "high"),
        },
        {"forbidden_actions": listing(text), "tech_constraints": mapping},
    ),
    "task_result": fields(
        {
            "subtask_id": text,
            "completion_status": word("complete", "partial", "failed"),
            "diff_summary": fields({"files_changed": listing(text), "lines_added": whole, "lines_removed": whole}),
            "self_assessment": fields({"criteria_met": listing(or_null(flag)), "notes": listing(text)}),
            "work_log": each(fields({"timestamp": text, "action": text, "file": text, "detail": text})),
        },
        {
            "commit_hash": lambda v: text(v) and re.fullmatch(r"[0-9A-Fa-f]+", v) is not None,
            "blockers": listing(text),
        },
    ),
    "review_request": fields(
        {
            "original_dispatch_ref": text,
            "task_result_ref": text,
            "review_scope": word("full", "incremental"),
            "diff_url": text,
            "reject_count": whole,
        },
        {"coordinator_notes": text, "ci_status": mapping},
    ),
    "review_verdict": fields(
        {
            "decision": word("approved", "approved_with_fix", "rejected"),
            "criteria_results": each(fields({"criterion": text, "passed": or_null(flag), "evidence": text})),
            "confidence": lambda v: number(v) and 0 <= v <= 1,
        },
        {"issues": each(ISSUE), "architecture_notes": text},
    ),
    "escalation": fields(
        {
            "escalation_type": word(*TYPES.split()),
            "severity": word("critical", "warning", "info"),
            "triggered_by": word("coordinator", "executor", "reviewer", "system"),
            "description": text,
            "affected_msgs": listing(text),
            "system_state_snapshot": fields(
                {"task_status": text, "reject_count": whole, "last_successful_msg_id": or_null(text)}
            ),
            "auto_suspended": flag,
        },
        {"suggested_actions": listing(text)},
    ),
}


def conditions(kind, payload):
    """Members that others demand."""
    if kind == "task_result" and payload.get("completion_status") in ("partial", "failed"):
        if payload.get("blockers") is None:
            yield "blockers missing"
    if kind == "review_verdict":
        if payload.get("decision") == "rejected" and not payload.get("issues"):
            yield "issues missing"
        if payload.get("decision") == "approved_with_fix":
            yield from each(FIX)(payload.get("direct_fixes"))
    if kind == "escalation" and payload.get("severity") == "critical" and payload.get("auto_suspended") is False:
        yield "auto_suspended"


def strictly(message, kind, payload):
    """What only the strict profile rejects."""
    if message["protocol_version"] != "AMP/1.0":
        yield "protocol_version"
    if len(MSG_ID.fullmatch(message["msg_id"])[3]) != 13:
        yield "msg_id"
    if kind != "escalation" and message["requires_ack"] is False:
        yield "requires_ack"
    if message.get("ack_timeout_sec") is not None and message["ack_timeout_sec"] <= 0:
        yield "ack_timeout_sec"
    if kind == "task_dispatch" and (payload["description"] == "" or payload["subtasks"] == []):
        yield "empty"
    if kind == "escalation" and payload["severity"] == "warning" and payload["auto_suspended"] is False:
        yield "auto_suspended"
    if kind == "review_verdict" and payload["decision"] == "approved":
        if any(issue["severity"] != "minor" for issue in payload.get("issues") or []):
            yield "issues"


def problems(body, strict=False):
    try:
        message = json.loads(body)
    except ValueError:
        return ["not JSON"]
    if not mapping(message):
        return ["not an object"]
    found = fields(ENVELOPE, OPTIONAL_ENVELOPE)(message)
    if found:
        return found
    kind, payload = message["type"], message["payload"]
    parts = MSG_ID.fullmatch(message["msg_id"])
    if (parts[1], parts[2]) != (kind, message["task_id"]):
        found.append("msg_id")
    senders, receiver = KINDS[kind]
    if message["from"] != "admin" and (message["from"] not in senders or message["to"] != receiver):
        found.append("route")
    found += PAYLOADS[kind](payload)
    found += [] if found else conditions(kind, payload)
    if strict and not found:
        found += strictly(message, kind, payload)
    return found


def check(test):
    found = []
    broken, strict = problems(test["message"]), problems(test["message"], strict=True)
    expected = test["result"]
    if expected == "valid" and strict:
        found.append(("message", "valid", strict))
    if expected == "invalid" and not broken:
        found.append(("message", "invalid", "no problem found"))
    if expected == "acceptable" and broken:
        found.append(("message", "left open", broken))
    if expected == "acceptable" and (test.get("strict") == "invalid") != bool(strict):
        found.append(("strict", test.get("strict"), strict))
    if "twin" in test and problems(test["twin"], strict=True):
        found.append(("twin", "valid", problems(test["twin"], strict=True)))
    return found


def confirm(root, ledger, read_json, check_labels):
    """Judge every vector of the folder."""
    catalogue = (root / "suites/task-amp/requirements.yaml").read_text(encoding="utf-8")
    seen = set()
    for path in sorted((root / "vectors/task-amp").glob("*.json")):
        file = read_json(path.read_bytes())
        tests = [test for group in file["groups"] for test in group["tests"]]
        for test in tests:
            findings = check(test) + check_labels(test, file["notes"], catalogue, None)
            if test["id"] in seen:
                findings.append(("id", "each once in the folder", test["id"]))
            seen.add(test["id"])
            ledger.judge(f"{path.name}: {test['id']}", findings)
        ledger.judge(f"{path.name}: count", [] if file["count"] == len(tests) else [("count", len(tests), file["count"])])

"""Fixed messages for the self-check, and a client that sends them to a server over HTTP."""

import http.client
import json
import time

PREFIX = "/api/amp/v1"
TASK = "T-2026-044"
MS = 1772116327000


def envelope(kind, sender, to, payload, n=0, task=TASK, **more):
    return {
        "msg_id": f"{kind}-{task}-{MS + n}", "protocol_version": "AMP/1.0", "type": kind, "from": sender, "to": to, "task_id": task,
        "timestamp": "2026-02-26T14:32:07+00:00", "requires_ack": kind != "escalation", "context_ref": [], "payload": payload, **more,
    }  # fmt: skip


def plan(repo="/srv/fixture", task=TASK):
    return {
        "description": "Append the line ok to NOTES.txt", "repo": repo, "branch": "feature/work",
        "subtasks": [{"subtask_id": f"{task}-S1", "description": "Append the line", "estimated_lines": 1}],
        "acceptance_criteria": ["NOTES.txt ends with the line ok", "No other file changes"], "risk_level": "low",
    }  # fmt: skip


def dispatch(n=0, task=TASK, **changes):
    return envelope("task_dispatch", "coordinator", "executor", {**plan(task=task), **changes}, n, task)


def result(subtask, n=0, task=TASK, status="complete", **more):
    payload = {
        "subtask_id": subtask, "completion_status": status, "diff_summary": {"files_changed": ["NOTES.txt"], "lines_added": 1, "lines_removed": 0},
        "self_assessment": {"criteria_met": [True, None], "notes": ["checked", "left to the review"]},
        "work_log": [{"timestamp": "2026-02-26T14:33:00+00:00", "action": "append", "file": "NOTES.txt", "detail": "one line"}], **more,
    }  # fmt: skip
    return envelope("task_result", "executor", "coordinator", payload, n, task)


def verdict(decision, n=0, task=TASK, confidence=0.9, **more):
    results = [{"criterion": c, "passed": decision != "rejected", "evidence": "read"} for c in plan()["acceptance_criteria"]]
    issue = {"severity": "major", "file": "NOTES.txt", "line": 1, "description": "A defect", "suggested_fix": "Repair it"}
    payload = {"decision": decision, "criteria_results": results, "confidence": confidence, **({"issues": [issue]} if decision == "rejected" else {}), **more}
    return envelope("review_verdict", "reviewer", "coordinator", payload, n, task)


def escalation(severity="info", n=0, task=TASK, sender="executor"):
    payload = {
        "escalation_type": "unknown", "severity": severity, "triggered_by": sender, "description": "probe", "affected_msgs": [],
        "system_state_snapshot": {"task_status": "executing", "reject_count": 0, "last_successful_msg_id": None}, "auto_suspended": severity != "info",
    }  # fmt: skip
    return envelope("escalation", sender, "admin", payload, n, task)


class Client:
    """Calls a server; records are shown under the names of the binding."""

    def __init__(self, url):
        self.host = url.removeprefix("http://")

    def call(self, method, path, role="admin", body=None, raw=None, prefix=PREFIX):
        link = http.client.HTTPConnection(self.host, timeout=10)
        data = raw if raw is not None else None if body is None else json.dumps(body).encode()
        try:
            link.request(method, prefix + path, data, {"X-AMP-Role": role, "Content-Type": "application/json"})
            answer = link.getresponse()
            text = answer.read()
            return answer.status, json.loads(text) if text.strip() else None
        finally:
            link.close()

    def submit(self, message, role=None):
        return self.call("POST", "/messages", role or message["from"], message)[0]

    def messages(self, task=TASK, kind=None):
        found = [r.get("message") or r.get("envelope") or r for r in self.call("GET", f"/messages?task_id={task}")[1]["messages"]]
        return [m for m in found if kind in (None, m["type"])]

    def ack(self, message, role):
        return self.call("POST", f"/messages/{message['msg_id']}/acks", role, {"msg_id": message["msg_id"], "ack_status": "acked"})[0]

    def errors(self):
        return json.dumps(self.call("GET", "/errors")[1]["errors"])

    def advance(self, seconds):
        body = {"advance_ms": seconds * 1000}
        if self.call("POST", "/_test/clock", body=body)[0] == 404:
            self.call("POST", "/_test/clock", body=body, prefix="")

    def wait(self, count, task=TASK, kind=None, seconds=6):
        """The messages of a type, once there are so many."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            found = self.messages(task, kind)
            if len(found) >= count:
                return found
            time.sleep(0.05)
        return self.messages(task, kind)

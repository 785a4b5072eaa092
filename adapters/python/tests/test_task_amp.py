"""Tests of the task-amp library. Expected values come from the specification, its errata and the vectors.

Each operation has a check, and at least one planted bug that the check must catch.
"""

import json
import sys
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import adapter  # noqa: E402
from task_amp import engines, messages, methods, rules, words  # noqa: E402

TABLE = methods.TABLE
VECTORS = Path(__file__).resolve().parents[3] / "vectors" / "task-amp" / "messages.json"
TASK, NOW = "T-2026-044", 1772116327000  # 2026-02-26T14:32:07Z
STAMP = "2026-02-26T14:32:07+00:00"
CRITERIA = ["NOTES.txt ends with the line ok", "No other file changes"]
PLAN = {
    "description": "Append the line ok to NOTES.txt",
    "repo": "/srv/fixture",
    "branch": "feature/proofmark",
    "subtasks": [{"subtask_id": f"{TASK}-S{n}", "description": "d", "estimated_lines": 1} for n in (1, 2)],
    "acceptance_criteria": CRITERIA,
    "risk_level": "low",
}
ISSUE = {"severity": "major", "file": "NOTES.txt", "line": 1, "description": "A defect.", "suggested_fix": "Repair it."}
ROUTES = {
    "task_dispatch": ("coordinator", "executor"),
    "task_result": ("executor", "coordinator"),
    "review_request": ("coordinator", "reviewer"),
    "review_verdict": ("reviewer", "coordinator"),
    "escalation": ("executor", "admin"),
}


def call(operation, **params):
    return TABLE[f"task-amp/{operation}"](params)


def of(outputs, kind):
    return [output.get("message") or output.get("ack") or output.get("entry") or output for output in outputs if output["kind"] == kind]


def types(outputs):
    return [message["type"] for message in of(outputs, "message")]


class Case(unittest.TestCase):
    """The checks: one for each operation, in terms of what a caller sees."""

    def setUp(self):
        self.at = NOW

    def refused(self, code, body):
        with self.assertRaises(adapter.Failure) as caught:
            body()
        self.assertEqual(caught.exception.code, code)
        return caught.exception

    def message(self, type_, payload, task=TASK, **changes):
        self.at += 1
        sender, addressee = ROUTES[type_]
        return {
            "msg_id": f"{type_}-{task}-{self.at}",
            "protocol_version": "AMP/1.0",
            "type": type_,
            "from": sender,
            "to": addressee,
            "task_id": task,
            "timestamp": STAMP,
            "requires_ack": type_ != "escalation",
            "context_ref": [],
            "payload": payload,
            **changes,
        }

    def dispatch(self, **changes):
        return self.message("task_dispatch", {**PLAN, **changes})

    def result(self, subtask=1, status="complete", **more):
        payload = {
            "subtask_id": f"{TASK}-S{subtask}",
            "completion_status": status,
            "diff_summary": {"files_changed": ["NOTES.txt"], "lines_added": 1, "lines_removed": 0},
            "self_assessment": {"criteria_met": [True, None], "notes": []},
            "work_log": [{"timestamp": STAMP, "action": "append", "file": "NOTES.txt", "detail": "one line"}],
            **more,
        }
        return self.message("task_result", payload)

    def verdict(self, decision="approved", confidence=0.9, **more):
        results = [{"criterion": criterion, "passed": True, "evidence": "read"} for criterion in CRITERIA]
        payload = {"decision": decision, "criteria_results": results, "confidence": confidence, **more}
        if decision == "rejected":
            payload.setdefault("issues", [ISSUE])
        return self.message("review_verdict", payload)

    def escalation(self, severity="info", type_="unknown", **more):
        snapshot = {"task_status": "executing", "reject_count": 0, "last_successful_msg_id": None}
        payload = {"escalation_type": type_, "severity": severity, "triggered_by": "executor", "description": "d", "affected_msgs": []}
        return self.message("escalation", {**payload, "system_state_snapshot": snapshot, "auto_suspended": severity != "info", **more})

    def request(self, dispatch, result):
        refs = {"original_dispatch_ref": dispatch["msg_id"], "task_result_ref": result["msg_id"]}
        return self.message("review_request", {**refs, "review_scope": "full", "diff_url": "/srv/x.diff", "reject_count": 0})

    # --- Messages -----------------------------------------------------------------------------------------------------

    def check_info(self):
        told = call("info")
        self.assertEqual(told["roles"], ["coordinator", "executor", "reviewer", "system"])
        self.assertEqual([f"task-amp/{name}" for name in told["ops"]], sorted(TABLE))

    def check_validate(self):
        for group in json.loads(VECTORS.read_text("utf-8"))["groups"]:
            for vector in group["tests"]:
                with self.subTest(vector=vector["id"]):
                    answer = call("validate", raw_hex=vector["message"].encode().hex())
                    # A vector that the errata leave open has its outcome in the strict profile, or none.
                    expected = vector.get("strict") if vector["result"] == "acceptable" else vector["result"]
                    if expected is not None:
                        self.assertEqual(answer["valid"], expected == "valid", answer)
                    if "code" in vector:
                        self.assertIn(vector["code"], [error["code"] for error in answer["errors"]])
        self.assertEqual(call("validate", message=[])["errors"], [{"code": "not_an_object", "path": ""}])
        self.assertEqual(call("validate", raw_hex=b'{"a":1,"a":1}'.hex())["errors"], [{"code": "invalid_json", "path": ""}])
        self.assertEqual(call("validate", raw_hex=b"\xff".hex())["errors"], [{"code": "invalid_json", "path": ""}])
        dispatch, result = self.dispatch(), self.result()
        self.assertTrue(call("validate", message=result, dispatch=dispatch, receiver="coordinator")["valid"])
        self.assertFalse(call("validate", message=result, receiver="reviewer")["valid"])
        for change in ({"subtask_id": "other"}, {"self_assessment": {"criteria_met": [True], "notes": []}}):
            wrong = {**result, "payload": {**result["payload"], **change}}
            self.assertEqual((call("validate", message=wrong)["valid"], call("validate", message=wrong, dispatch=dispatch)["valid"]), (True, False))
        for message, name, value in (
            (dispatch, "timestamp", "2026-02-26T14:32:07-05:30"),
            (dispatch, "timestamp", "2024-02-29T23:59:60.5Z"),
            (dispatch, "ack_timeout_sec", 300.0),
            (self.escalation("critical", affected_msgs=[dispatch["msg_id"]]), "from", "system"),
        ):
            self.assertEqual(call("validate", message={**message, name: value})["errors"], [])
        for message, name, value, code in (
            (dispatch, "timestamp", "2025-02-29T00:00:00Z", "bad_format"),
            (dispatch, "timestamp", "2026-02-26T14:32:07+24:00", "bad_format"),
            (dispatch, "ack_timeout_sec", None, "wrong_type"),
            (dispatch, "ack_timeout_sec", 0, "out_of_range"),
            (dispatch, "requires_ack", 1, "wrong_type"),
            (dispatch, "msg_id", f"task_dispatch-{TASK}-001", "bad_format"),
            (dispatch, "context_ref", ["task_dispatch-T-2026-043-..."], "bad_format"),
            (dispatch, "to", "system", "bad_enum"),
            (dispatch, "task_id", f"{TASK}-S1", "bad_format"),
            (self.escalation(), "from", "admin", "route_not_allowed"),
        ):
            self.assertEqual([error["code"] for error in call("validate", message={**message, name: value})["errors"]], [code], (name, value))

    def check_validate_payload(self):
        self.assertEqual(call("validate_payload", type="task_dispatch", payload=PLAN), {"valid": True, "errors": []})
        for type_, message in (("task_result", self.result()), ("review_verdict", self.verdict()), ("escalation", self.escalation())):
            self.assertTrue(call("validate_payload", type=type_, payload=message["payload"])["valid"])
            self.assertFalse(call("validate_payload", type="task_dispatch", payload=message["payload"])["valid"])
            self.assertFalse(call("validate_payload", type=type_, payload={})["valid"])
        self.assertFalse(call("validate_payload", type="ack", payload={})["valid"])
        fix = {"file": "a", "change_type": "import_order", "diff_lines": 4}

        def code(type_, message, change):
            errors = call("validate_payload", type=type_, payload={**message["payload"], **change})["errors"]
            return [error["code"] for error in errors]

        for change, codes in (
            ({"direct_fixes": [fix]}, []),
            ({"direct_fixes": [fix, {**fix, "diff_lines": 5}]}, ["fix_out_of_range"]),
            ({"direct_fixes": [fix, {**fix, "change_type": "logic"}]}, ["bad_enum"]),
            ({"direct_fixes": []}, ["direct_fixes_required"]),
            ({"confidence": 1.01}, ["out_of_range"]),
            ({"confidence": True}, ["wrong_type"]),
        ):
            self.assertEqual(code("review_verdict", self.verdict("approved_with_fix", direct_fixes=[fix]), change), codes, change)
        for change, codes in (
            ({"branch": "master"}, ["branch_forbidden"]),
            ({"branch": "feature/main"}, []),
            ({"acceptance_criteria": []}, ["criteria_empty"]),
            ({"subtasks": PLAN["subtasks"][:1] * 2}, ["bad_format"]),
            ({"repo": "dev/x"}, ["bad_format"]),
            ({"tech_constraints": []}, ["wrong_type"]),
            ({"risk_level": "Medium"}, ["bad_enum"]),
        ):
            self.assertEqual(code("task_dispatch", self.dispatch(), change), codes, change)
        self.assertEqual(code("task_result", self.result(), {"completion_status": "partial", "blockers": [" "]}), ["blockers_required"])
        self.assertEqual(code("escalation", self.escalation("critical"), {"auto_suspended": False}), ["suspend_required"])
        self.assertEqual(code("review_verdict", self.verdict(), {"issues": [{**ISSUE, "severity": "critical"}]}), ["bad_enum"])
        self.assertEqual(code("review_verdict", self.verdict(), {"issues": [{**ISSUE, "severity": "minor"}]}), [])

    def check_parse_msg_id(self):
        parts = {"type": "task_dispatch", "task_id": TASK, "unix_ms": 1740576727001}
        self.assertEqual(call("parse_msg_id", msg_id=f"task_dispatch-{TASK}-1740576727001"), parts)
        for wrong in ("abc", f"ack-{TASK}-1740576727001", f"task_dispatch-{TASK}-001", f"task_dispatch-{TASK}-1740576727001 ", "task_dispatch-T-26-44-1740576727001", 5):
            self.refused(-32010, lambda: call("parse_msg_id", msg_id=wrong))

    def check_make_msg_id(self):
        made = call("make_msg_id", type="escalation", task_id=TASK, unix_ms=1740576727001)["msg_id"]
        self.assertEqual(made, f"escalation-{TASK}-1740576727001")
        self.refused(-32010, lambda: call("make_msg_id", type="ack", task_id=TASK, unix_ms=1740576727001))

    def check_build(self):
        params = {"type": "task_dispatch", "from": "coordinator", "to": "executor", "task_id": TASK, "payload": PLAN, "now_ms": NOW + 5}
        answer = call("build", **params)
        expected = {
            "msg_id": f"task_dispatch-{TASK}-{NOW + 5}",
            "protocol_version": "AMP/1.0",
            "type": "task_dispatch",
            "from": "coordinator",
            "to": "executor",
            "task_id": TASK,
            "timestamp": "2026-02-26T14:32:07.005+00:00",
            "requires_ack": True,
            "context_ref": [],
            "payload": PLAN,
        }
        self.assertEqual((answer["message"], json.loads(bytes.fromhex(answer["raw_hex"]))), (expected, expected))
        more = call("build", **{**params, "ack_timeout_sec": 7, "context_ref": [expected["msg_id"]], "now_ms": NOW})["message"]
        self.assertEqual((more["ack_timeout_sec"], more["context_ref"], more["timestamp"]), (7, [expected["msg_id"]], STAMP))
        report = self.escalation()["payload"]
        built = call("build", **{**params, "type": "escalation", "from": "system", "to": "admin", "payload": report})["message"]
        self.assertIs(built["requires_ack"], False)
        for change in ({"to": "reviewer"}, {"payload": {**PLAN, "branch": "main"}}, {"task_id": "T-1"}, {"requires_ack": False}):
            self.assertTrue(self.refused(-32011, lambda: call("build", **{**params, **change})).data["errors"])

    def check_check_route(self):
        roles = ("admin", "coordinator", "executor", "reviewer", "system")
        for type_, route in ROUTES.items():
            for sender in roles:
                for addressee in roles:
                    allowed = (sender, addressee) == route
                    if type_ == "escalation":
                        allowed = sender != "admin" and addressee == "admin"
                    self.assertEqual(call("check_route", **{"type": type_, "from": sender, "to": addressee})["allowed"], allowed)

    def check_ack_required(self):
        self.assertEqual([call("ack_required", type=type_)["required"] for type_ in ROUTES], [True, True, True, True, False])

    def check_ack_timeout(self):
        def seconds(message, **changes):
            return call("ack_timeout", message={**message, **changes})["ack_timeout_sec"]

        found = [seconds(self.message(type_, {})) for type_ in ROUTES]
        self.assertEqual(found, [300, 120, 600, 60, None])
        self.assertEqual(seconds(self.dispatch(), ack_timeout_sec=7), 7)
        self.assertIsNone(seconds(self.escalation(), ack_timeout_sec=7))
        self.assertIsNone(seconds(self.escalation(), requires_ack=True))

    def check_ack(self):
        dispatch = self.dispatch()
        ack = call("ack", message=dispatch, actor="executor", now_ms=NOW)["ack"]
        self.assertEqual((ack["msg_id"], ack["task_id"], ack["actor"], ack["ts"]), (dispatch["msg_id"], TASK, "executor", STAMP))
        self.refused(-32012, lambda: call("ack", message=dispatch, actor="reviewer", now_ms=NOW))

    # --- Engines ------------------------------------------------------------------------------------------------------

    def engine(self, role, **config):
        name = call("engine_new", role=role, now_ms=NOW, config=config)["engine"]

        def feed(kind, **members):
            return call("engine_feed", engine=name, event={"kind": kind, **members})["outputs"]

        feed.name = name
        feed.message = lambda message: feed("message", message=message)
        feed.advance = lambda seconds: call("engine_advance", engine=name, ms=seconds * 1000)["outputs"]
        feed.state = lambda: call("engine_state", engine=name, task_id=TASK)
        feed.control = lambda actor="admin", type_="RESUME", instruction="continue": feed(
            "control", actor=actor, task_id=TASK, control_type=type_, payload={"instruction": instruction}
        )
        return feed

    def approved(self, **plan):
        feed = self.engine("coordinator")
        self.assertEqual(feed("plan", task_id=TASK, plan={**PLAN, **plan}), [])
        (dispatch,) = of(feed("approve", task_id=TASK), "message")
        return feed, dispatch

    def valid(self, outputs):
        for message in of(outputs, "message"):
            self.assertEqual(call("validate", message=message)["errors"], [])
        return outputs

    def check_engine_new(self):
        self.assertNotEqual(self.engine("system").name, self.engine("system").name)
        self.refused(-32602, lambda: self.engine("admin"))
        feed = self.engine("system", heartbeat_timeout_sec=60)
        feed.message(self.dispatch(**{}))
        self.assertEqual(types(feed.advance(60)), ["escalation"])

    def check_engine_feed(self):
        self.check_executor()
        self.check_coordinator()
        self.check_rounds()
        self.check_reviewer()
        self.check_suspension()
        feed = self.engine("executor")
        self.refused(-32602, lambda: feed("plan", task_id=TASK, plan=PLAN))
        self.refused(-32602, lambda: feed("message"))

    def check_executor(self):
        feed, dispatch = self.engine("executor"), self.dispatch()
        outputs = feed.message(dispatch)
        self.assertEqual([output["kind"] for output in outputs], ["ack", "work"])
        self.assertEqual(of(outputs, "ack")[0]["msg_id"], dispatch["msg_id"])
        self.assertEqual(of(outputs, "work")[0]["subtask_id"], f"{TASK}-S1")
        self.assertEqual(feed.message(dispatch), [])  # a repetition
        self.assertEqual([entry["code"] for entry in of(feed.message({**dispatch, "payload": {**PLAN, "risk_level": "high"}}), "error_log")], ["duplicate_msg_id"])
        self.assertEqual(feed("work_done", subtask_id=f"{TASK}-S1", outcome="complete"), [{"kind": "work", "task_id": TASK, "subtask_id": f"{TASK}-S2"}])
        self.refused(-32011, lambda: feed("work_done", subtask_id=f"{TASK}-S2", outcome="done"))
        outputs = self.valid(feed("work_done", subtask_id=f"{TASK}-S2", outcome="partial", criteria_met=[True, False], blockers=["b"], commit_hash="a3f8d21"))
        first, second = (message["payload"] for message in of(outputs, "message"))
        self.assertEqual((first["self_assessment"]["criteria_met"], first["completion_status"]), ([None, None], "complete"))
        self.assertEqual((second["self_assessment"]["criteria_met"], second["blockers"], second["commit_hash"]), ([True, False], ["b"], "a3f8d21"))
        self.assertEqual(feed.state()["status"], "awaiting_review")
        self.assertEqual(of(feed.message(self.dispatch()), "work")[0]["subtask_id"], f"{TASK}-S1")
        for wrong in ({**self.dispatch(), "protocol_version": "AMP/2.0"}, self.dispatch(acceptance_criteria=[]), {**self.dispatch(), "to": "reviewer"}):
            outputs = feed.message(wrong)
            self.assertEqual([output["kind"] for output in outputs], ["error_log"])
            self.assertEqual(outputs[0]["entry"]["msg_id"], wrong["msg_id"])
        for branch in ("main", "master"):
            wrong = self.dispatch(branch=branch)
            outputs = self.valid(feed.message(wrong))
            self.assertEqual([output["kind"] for output in outputs], ["error_log", "message"])
            payload = outputs[1]["message"]["payload"]
            self.assertEqual((payload["escalation_type"], payload["affected_msgs"]), ("branch_violation", [wrong["msg_id"]]))

    def check_coordinator(self):
        feed, dispatch = self.approved()
        self.assertEqual((dispatch["payload"], dispatch["to"]), (PLAN, "executor"))
        self.assertEqual(feed("approve", task_id=TASK), [])
        self.assertEqual(feed("ack", ack={"msg_id": dispatch["msg_id"], "task_id": TASK, "actor": "executor"}), [])
        self.assertEqual(types(feed.message(self.result(9))), [])
        first, second = self.result(1), self.result(2)
        self.assertEqual(types(feed.message(first)), [])
        outputs = self.valid(feed.message(second))
        self.assertEqual([output["kind"] for output in outputs], ["ack", "message"])
        payload = outputs[1]["message"]["payload"]
        self.assertEqual((payload["original_dispatch_ref"], payload["task_result_ref"], payload["reject_count"]), (dispatch["msg_id"], second["msg_id"], 0))
        self.assertEqual(types(feed.message(self.verdict(issues=[{**ISSUE, "severity": "minor"}]))), [])
        self.assertEqual((feed.state()["status"], feed.state()["reject_count"]), ("approved", 0))
        self.assertEqual(of(feed.message(self.verdict()), "ack"), [])  # an uninvited verdict
        feed, _ = self.approved()
        feed("ci", task_id=TASK, status={"xcode_cloud": "failed"})
        feed.message(self.result(1))
        self.assertEqual(types(feed.message(self.result(2))), ["task_dispatch"])
        feed("ci", task_id=TASK, status={"xcode_cloud": "passed"})
        feed.message(self.result(1))
        self.assertEqual(of(feed.message(self.result(2)), "message")[0]["payload"]["ci_status"], {"xcode_cloud": "passed"})
        feed, _ = self.approved()
        self.assertEqual(types(self.valid(feed.message(self.result(1, "partial", blockers=["b"])))), ["task_dispatch"])
        self.assertEqual(types(self.valid(feed.message(self.result(1, "partial", blockers=["b"])))), ["escalation"])
        feed, _ = self.approved()
        self.assertEqual(types(feed.message(self.result(1, "failed", blockers=["b"]))), ["escalation"])
        feed = self.engine("coordinator")
        for wrong in ({"branch": "main"}, {"acceptance_criteria": []}):
            self.assertEqual(len(of(feed("plan", task_id=TASK, plan={**PLAN, **wrong}), "error_log")), 1)
            self.assertEqual(feed("approve", task_id=TASK), [])

    def check_rounds(self):
        feed, dispatch = self.approved(subtasks=PLAN["subtasks"][:1])
        ids = {dispatch["msg_id"]}
        for count in range(4):
            request = of(self.valid(feed.message(self.result())), "message")[0]
            self.assertEqual(request["payload"]["reject_count"], count)
            notes = request["payload"].get("coordinator_notes", "")
            self.assertEqual("lock" in notes.lower() and "approach" in notes.lower(), count >= 2)
            self.assertNotIn(request["msg_id"], ids)
            rejection = self.verdict("rejected", confidence=0.79 if count == 0 else 0.8)
            outputs = self.valid(feed.message(rejection))
            if count == 3:
                break
            # The report about low confidence comes before the dispatch.
            self.assertEqual(types(outputs), ["escalation", "task_dispatch"] if count == 0 else ["task_dispatch"])
            again = of(outputs, "message")[-1]
            self.assertIn("A defect.", again["payload"]["description"])
            self.assertEqual(again["context_ref"], [rejection["msg_id"]])
            self.assertNotIn(again["msg_id"], ids)
            ids |= {request["msg_id"], again["msg_id"]}
        (lock,) = of(outputs, "message")
        payload = lock["payload"]
        self.assertEqual((payload["escalation_type"], payload["severity"], payload["auto_suspended"]), ("hallucination_lock", "critical", True))
        self.assertEqual((payload["system_state_snapshot"]["reject_count"], rejection["msg_id"] in payload["affected_msgs"]), (4, True))
        self.assertEqual((feed.state()["lock_state"], feed.state()["suspended"]), ("halted", True))
        self.assertEqual(feed.message(self.result()), [])
        self.assertEqual(types(feed.control())[0], "task_dispatch")

    def check_reviewer(self):
        feed, dispatch, result = self.engine("reviewer"), self.dispatch(), self.result()
        outputs = self.valid(feed.message(self.request(dispatch, result)))
        self.assertEqual(([output["kind"] for output in outputs], types(outputs)), (["error_log", "message"], ["escalation"]))
        feed.message(dispatch)
        feed.message(result)
        request = self.request(dispatch, result)
        outputs = feed.message(request)
        self.assertEqual([output["kind"] for output in outputs], ["ack", "review"])
        for wrong in ({"decision": "rejected"}, {"decision": "approved", "issues": [ISSUE]}, {"decision": "approved_with_fix", "direct_fixes": [{"file": "a", "change_type": "typo", "diff_lines": 5}]}):
            self.refused(-32011, lambda: feed("review_done", task_id=TASK, confidence=0.9, **wrong))
        (verdict,) = of(self.valid(feed("review_done", task_id=TASK, decision="rejected", confidence=0.5, issues=[ISSUE])), "message")
        self.assertEqual([entry["criterion"] for entry in verdict["payload"]["criteria_results"]], CRITERIA)
        self.assertEqual((verdict["payload"]["confidence"], verdict["payload"]["issues"], verdict["context_ref"]), (0.5, [ISSUE], [request["msg_id"]]))
        self.refused(-32602, lambda: feed("review_done", task_id=TASK, decision="approved", confidence=1))

    def check_suspension(self):
        feed, _ = self.approved(subtasks=PLAN["subtasks"][:1])
        feed.message(self.escalation("critical"))
        self.assertEqual(feed.message(self.result()), [])
        other = feed.control(actor="executor")
        self.assertEqual([output["kind"] for output in other], ["error_log"])
        self.assertTrue(feed.state()["suspended"])
        self.assertEqual(types(feed.control()), ["review_request"])  # the result that was held
        self.assertEqual(feed.control(), [])
        feed = self.engine("executor")
        feed.message(self.dispatch(subtasks=PLAN["subtasks"][:1]))
        feed.control(type_="STOP")
        self.assertEqual(feed("work_done", subtask_id=f"{TASK}-S1", outcome="complete"), [])
        self.assertEqual(types(feed.control()), ["task_result"])
        feed.message(self.escalation("critical"))
        self.assertEqual(feed.message(self.dispatch()), [])
        self.assertEqual(feed.control(instruction="cancel"), [])
        self.assertEqual(feed.state()["status"], "cancelled")
        feed.message(self.escalation("warning"))
        self.assertFalse(feed.state()["suspended"])

    def check_engine_advance(self):
        feed, dispatch = self.approved()
        self.assertEqual(feed("ack", ack={"msg_id": dispatch["msg_id"], "actor": "reviewer"}), [])  # of a third role
        self.assertEqual(feed.advance(299), [])
        (report,) = of(self.valid(feed.advance(1)), "message")
        self.assertEqual((report["payload"]["escalation_type"], report["payload"]["affected_msgs"], report["to"]), ("ack_timeout", [dispatch["msg_id"]], "admin"))
        self.assertEqual(report["timestamp"], "2026-02-26T14:37:07+00:00")
        self.assertEqual(feed.advance(10000), [])  # one report
        feed, dispatch = self.approved()
        feed("ack", ack={"message_id": dispatch["msg_id"], "by": "executor"})
        self.assertEqual(feed.advance(10000), [])
        feed = self.engine("system")
        sent = [{**self.dispatch(), "ack_timeout_sec": 900}, self.result(), self.verdict(), {**self.escalation(), "ack_timeout_sec": 1}]
        for message in sent:
            feed.message(message)
        outputs = self.valid(feed.advance(1000))
        affected = [message["payload"]["affected_msgs"][0] for message in of(outputs, "message")]
        self.assertEqual(affected, [sent[2]["msg_id"], sent[1]["msg_id"], sent[0]["msg_id"]])  # in order of due time
        feed = self.engine("system")
        feed.message({**self.dispatch(), "ack_timeout_sec": 99999})
        self.assertEqual(feed.advance(1740), [])
        feed("ssot_write", actor="executor", task_id=TASK)
        feed("ssot_write", actor="reviewer", task_id=TASK)
        self.assertEqual(feed.advance(1799), [])
        (report,) = of(feed.advance(1), "message")
        self.assertEqual(report["payload"]["escalation_type"], "heartbeat_timeout")
        self.assertIn("executor", report["payload"]["description"])
        self.assertEqual(feed.advance(7200), [])
        feed = self.engine("system")
        feed.message({**self.dispatch(), "ack_timeout_sec": 99999})
        feed.message({**self.result(), "ack_timeout_sec": 99999})  # the assignment is over
        self.assertEqual(feed.advance(3600), [])

    def check_engine_state(self):
        feed, _ = self.approved()
        state = feed.state()
        told = {name: state[name] for name in ("task_id", "status", "risk_level", "branch", "repo", "reject_count", "lock_state", "suspended")}
        self.assertEqual(
            told,
            {
                "task_id": TASK,
                "status": "dispatched",
                "risk_level": "low",
                "branch": "feature/proofmark",
                "repo": "/srv/fixture",
                "reject_count": 0,
                "lock_state": "active",
                "suspended": False,
            },
        )
        self.refused(-32000, lambda: call("engine_state", engine=feed.name, task_id="T-2026-001"))

    def check_engine_close(self):
        feed = self.engine("executor")
        self.assertEqual(call("engine_close", engine=feed.name), {})
        self.refused(-32602, lambda: feed.advance(1))


def replaced(holder, name, body):
    return mock.patch.object(holder, name, body)


def result(operation, change):
    """A method whose result differs."""
    real = TABLE[f"task-amp/{operation}"]
    return mock.patch.dict(TABLE, {f"task-amp/{operation}": lambda params: change(real(params))})


def shape(type_, name, rule):
    """A member of a payload under another rule."""
    found = rules.PAYLOADS[type_]
    return mock.patch.dict(found.required if name in found.required else found.optional, {name: rule})


def member(name, rule):
    """A member of the envelope under another rule."""
    found = rules.ENVELOPE
    return mock.patch.dict(found.required if name in found.required else found.optional, {name: rule})


def fix_kinds(rule):
    return mock.patch.dict(rules.PAYLOADS["review_verdict"].optional["direct_fixes"][0].required, {"change_type": rule})


def _always(value):
    return lambda *_, **__: value


def _resumes(self, event, real=engines.Engine.on_control):
    real(self, {**event, "actor": "admin"})


def _forgets_held(self, task, item, action):
    if not task.is_suspended:
        action(task, item)


def _ack_of_anyone(self, event):
    self._started.pop(event["ack"].get("msg_id"), None)


def _never_over(self, task, message, real=engines.System._seen):
    kept = dict(self._open)
    real(self, task, message)
    self._open.update(kept)


def _repeats(self, event, real=engines.Engine.on_message):
    self.known.pop(event["message"]["msg_id"], None)
    real(self, event)


def _guesses(self, task, event, real=engines.Executor._finish):
    real(self, task, {"criteria_met": [True, True], **event})


def _first_result(self, task, message, real=engines.Coordinator._completed):
    real(self, task, next(iter(task.results.values())))


def _reports_again(self, message, real=engines.Engine._unacknowledged):
    real(self, message)
    self._await(message)


def _always_planned(self, real=engines.Task.record):
    return {**real(self), "status": "planned"}


def _only_first(self, value, at, errors, real=rules.Shape.check):
    if not at.rsplit("/", 1)[-1].isdigit() or at.endswith("/0"):
        real(self, value, at, errors)


# One bug or more in each operation.
BUGS = {
    "info": {"a-role-missing": replaced(engines, "ROLES", {"executor": engines.Executor})},
    "validate": {
        "timestamp-optional": mock.patch.dict(rules.ENVELOPE.required, {"timestamp": rules.nullable(rules.instant(True))}),
        "naive-timestamp": member("timestamp", rules.instant(with_offset=False)),
        "calendar-unchecked": replaced(words, "is_instant", lambda text, with_offset: bool(words.INSTANT.fullmatch(text))),
        "version-prefix-match": member("protocol_version", lambda value: None if isinstance(value, str) and value.startswith("AMP/") else "wrong_type"),
        "system-addressable": member("to", rules.one_of(*words.SENDERS)),
        "task-id-unanchored": member("task_id", lambda value: None if isinstance(value, str) and words.TASK_ID.search(value) else "bad_format"),
        "truthy-requires-ack": member("requires_ack", lambda value: None if value in (True, False, "true") else "wrong_type"),
        "timeout-as-string": member("ack_timeout_sec", _always(None)),
        "routes-unchecked": replaced(rules, "allowed", _always(True)),
        "msg-id-unchecked": member("msg_id", rules.text),
        "any-payload-fits": replaced(rules, "payload_errors", _always([])),
        "second-entry-unchecked": replaced(rules.Shape, "check", _only_first),
        "repeated-names": replaced(words.json, "loads", lambda text, **_: json.JSONDecoder().decode(text)),
        "unaligned": replaced(rules, "unaligned", _always([])),
    },
    "validate_payload": {
        "master-forgotten": replaced(rules, "PROTECTED", ("main",)),
        "main-as-substring": shape("task_dispatch", "branch", lambda value: "branch_forbidden" if "main" in value or value == "master" else None),
        "criteria-may-be-empty": mock.patch.dict(rules.JOINED, {"task_dispatch": _always([])}),
        "relative-repo-accepted": shape("task_dispatch", "repo", rules.text),
        "risk-coerced-to-low": shape("task_dispatch", "risk_level", rules.any_text),
        "blockers-not-asked-for": mock.patch.dict(rules.JOINED, {"task_result": _always([])}),
        "fixes-not-asked-for": mock.patch.dict(rules.JOINED, {"review_verdict": _always([])}),
        "fix-limit-inclusive": replaced(rules, "MOST_LINES", 5),
        "import-order-unknown": fix_kinds(rules.one_of("typo", "lint", "whitespace", "import")),
        "fix-kind-unchecked": fix_kinds(rules.any_text),
        "confidence-in-percent": shape("review_verdict", "confidence", rules.integer(0)),
        "critical-keeps-running": mock.patch.dict(rules.JOINED, {"escalation": _always([])}),
    },
    "parse_msg_id": {"any-tail": replaced(words, "MSG_ID", words.re.compile(rf"(.*?)-({words.TASK_ID.pattern})-([0-9]+) ?"))},
    "make_msg_id": {"in-seconds": replaced(words, "msg_id", lambda type_, task, ms: f"{type_}-{task}-{ms // 1000:013d}"), "unchecked": replaced(words, "parts_of", _always(()))},
    "build": {
        "unchecked": replaced(rules, "errors_of", _always([])),
        "no-offset": replaced(words, "stamp", lambda ms: "2026-02-26T14:32:07"),
        "escalation-wants-an-ack": replaced(words, "WORKING", words.TYPES),
        "timeout-dropped": replaced(messages, "build", lambda *given, real=messages.build, **more: real(*given, context_ref=more["context_ref"])),
    },
    "check_route": {"ends-unordered": replaced(rules, "allowed", lambda type_, one, other: (one, other) in words.ROUTES[type_] or (other, one) in words.ROUTES[type_])},
    "ack_required": {"all": replaced(words, "WORKING", words.TYPES)},
    "ack_timeout": {
        "one-default": replaced(words, "timeout_of", lambda message: message.get("ack_timeout_sec", 300) if message["requires_ack"] else None),
        "override-ignored": replaced(words, "timeout_of", lambda message: words.TIMEOUTS.get(message["type"])),
        "without-requires-ack": replaced(words, "timeout_of", lambda message: message.get("ack_timeout_sec", words.TIMEOUTS.get(message["type"]))),
    },
    "ack": {
        "names-the-task": result("ack", lambda answer: {"ack": {**answer["ack"], "msg_id": answer["ack"]["task_id"]}}),
        "by-anyone": replaced(messages, "ack", lambda message, actor, now, status="": {"msg_id": message["msg_id"], "task_id": message["task_id"], "actor": actor, "ts": words.stamp(now)}),
    },
    "engine_new": {"heartbeat-ignored": mock.patch.dict(engines.ROLES, {"system": lambda now, heartbeat: engines.System(now)})},
    "engine_feed": {
        "branch-refused-silently": replaced(engines.Executor, "_refused", _always(None)),
        "invalid-taken": replaced(rules, "errors_of", _always([])),
        "refused-not-logged": replaced(engines.Engine, "_log", _always(None)),
        "never-acknowledged": replaced(engines.Engine, "_acknowledge", _always(None)),
        "repetition-acted-on": replaced(engines.Engine, "on_message", _repeats),
        "dispatch-before-approval": replaced(engines.Coordinator, "on_plan", lambda self, event, real=engines.Coordinator.on_plan: (real(self, event), self.on_approve(event))),
        "result-for-any-subtask": replaced(rules, "unaligned", _always([])),
        "guess-true": replaced(engines.Executor, "_finish", _guesses),
        "stale-result-ref": replaced(engines.Coordinator, "_completed", _first_result),
        "ci-gate-missing": replaced(engines.Coordinator, "on_ci", _always(None)),
        "lock-warning-missing": replaced(engines, "WARN_FROM", 99),
        "lock-never": replaced(engines, "LOCK_ABOVE", 99),
        "lock-at-two": replaced(engines, "LOCK_ABOVE", 1),
        "low-confidence-ignored": replaced(engines, "LOW_CONFIDENCE", 0),
        "threshold-inclusive": replaced(engines, "LOW_CONFIDENCE", 0.81),
        "review-without-context": replaced(engines.Reviewer, "_receive", lambda self, task, message: self._outputs.append({"kind": "review", "task_id": task.task_id})),
        "suspension-ignored": replaced(engines.Engine, "_held_or", lambda self, task, item, action: action(task, item)),
        "held-events-lost": replaced(engines.Engine, "_held_or", _forgets_held),
        "resume-by-anyone": replaced(engines.Engine, "on_control", _resumes),
        "msg-id-collides": replaced(engines.Engine, "_free_ms", lambda self, type_, task_id: self.now_ms),
    },
    "engine_advance": {
        "timeout-in-ms": replaced(engines.Engine, "_later", lambda self, ms, action, argument, real=engines.Engine._later: real(self, ms / 1000, action, argument)),
        "ack-from-anyone": replaced(engines.Engine, "on_ack", _ack_of_anyone),
        "never-reported": replaced(engines.Engine, "_unacknowledged", _always(None)),
        "reported-again": replaced(engines.Engine, "_unacknowledged", _reports_again),
        "heartbeat-not-reset": replaced(engines.System, "on_ssot_write", _always(None)),
        "heartbeat-five-minutes": mock.patch.dict(engines.ROLES, {"system": lambda now, heartbeat: engines.System(now, 300)}),
        "heartbeat-absent": replaced(engines.System, "_silent", _always(None)),
        "heartbeat-without-assignment": replaced(engines.System, "_seen", _never_over),
        "out-of-order": result("engine_advance", lambda answer: {"outputs": answer["outputs"][::-1]}),
    },
    "engine_state": {"constant": replaced(engines.Task, "record", _always_planned)},
    "engine_close": {"kept": mock.patch.dict(TABLE, {"task-amp/engine_close": lambda params: {}})},
}


class Operations(Case):
    def test_every_operation_has_a_check_and_a_bug(self):
        names = {name.removeprefix("task-amp/") for name in TABLE}
        self.assertEqual(names, {name[6:] for name in dir(Case) if name.startswith("check_")} - {"executor", "coordinator", "rounds", "reviewer", "suspension"})
        self.assertEqual(names, set(BUGS))


def _passes(operation):
    return lambda self: getattr(self, f"check_{operation}")()


def _catches(operation, bug):
    def test(self):
        outcome = unittest.TestResult()
        with bug:
            Probe(f"check_{operation}").run(outcome)
        self.assertTrue(outcome.failures or outcome.errors, "the planted bug is not caught")

    return test


class Probe(Case):
    """A check outside of the tests, to see it fail."""


for _operation, _bugs in BUGS.items():
    setattr(Operations, f"test_{_operation}", _passes(_operation))
    for _name, _bug in _bugs.items():
        setattr(Operations, f"test_{_operation}_catches_{_name.replace('-', '_')}", _catches(_operation, _bug))


if __name__ == "__main__":
    unittest.main()

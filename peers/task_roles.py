"""Coordinator, Executor and Reviewer. Each reads its inbox through an access (task_access.py) and writes through it.

A role handles one message at a time: it refuses what is broken, holds what belongs to a suspended task, acknowledges, acts.
"""

import re
import threading
import time
import traceback

import task_git as git
import task_rules as rules
from task_bus import escalation, iso
from task_rules import TIMEOUTS

HINT = "x_proofmark"
SLOW = 0.7  # seconds before a slow role looks at a message


class Role(threading.Thread):
    """What the three have in common. `only` of a role is the types that it takes."""

    name_of_role = ""
    only = ()

    def __init__(self, ways, access):
        super().__init__(daemon=True)
        self.ways, self.access = ways, access
        self.waiting = []  # (when, message, body): what came in and is handled later
        self.seen = {}  # msg_id -> message
        self.held = {}  # task -> messages that came during a suspension
        self.stopped = {}  # task -> number of RESUMEs when this role stopped by itself
        self.last_ms = {}
        self.timers = {}  # own messages without ACK, where no bus watches them
        self.stop = threading.Event()

    # --- The loop ---------------------------------------------------------------------------------------------------

    def run(self):
        while not self.stop.is_set():
            version = self.access.version()
            try:
                busy = self.step()
            except Exception:  # shown to the sweep; the role lives on
                if self.ways.bug("swallowed-exception"):
                    busy = False
                else:
                    traceback.print_exc()
                    busy = False
            if not busy:
                self.access.wait(version, 0.05 if self.waiting else 0.5)

    def step(self):
        """Handles what is there. Returns whether there was anything."""
        busy = False
        for message, body in self.access.inbox(self.name_of_role):
            self.waiting.append((time.monotonic() + (SLOW if self.ways.has("roles-are-slow") else 0), message, body))
        while self.waiting and self.waiting[0][0] <= time.monotonic():
            busy = True
            _, message, body = self.waiting.pop(0)
            self.receive(message, body)
        for task_id in list(self.held):
            if not self.halted(task_id):
                for message in self.held.pop(task_id):
                    busy = True
                    if self.ways.has("held-kept"):
                        self.handle(message)
        return self.more() or busy

    def more(self):
        return False

    def receive(self, message, body):
        """One message of the inbox."""
        ways = self.ways
        if self.access.unchecked:
            found = rules.problems(message, ways, self.access)
            if not found and message["type"] not in self.only:
                found = [("route", "route_not_allowed", "/type", f"not for the {self.name_of_role}")]
            forbidden = isinstance(message, dict) and rules.forbidden(message) and not ways.skips("branch")
            if found and not (forbidden and all(f[1] == "branch_forbidden" for f in found)):
                if not ways.bug("role-refusals-not-logged"):
                    self.access.log(self.name_of_role, found[0], message, body)
                if ways.bug("ack-before-validation") and isinstance(message, dict) and isinstance(message.get("msg_id"), str):
                    self.acknowledge(message)
                return
        msg_id = message["msg_id"]
        if msg_id in self.seen and not ways.bug("resend-handled-again", "verdict-counted-again"):
            if not rules.same(self.seen[msg_id], message):
                if ways.bug("conflict-handled"):
                    self.handle(message)
                    return
                self.access.log(self.name_of_role, ("duplicate", "duplicate_msg_id", "/msg_id", "used by another message"), message, body)
            return
        self.seen[msg_id] = message
        if self.halted(message["task_id"]):
            if ways.bug(f"{self.name_of_role}-ignores-suspension"):
                self.handle(message)
                return
            if ways.bug("held-acknowledged"):
                self.acknowledge(message)
            self.held.setdefault(message["task_id"], []).append(message)
            return
        self.handle(message)

    def halted(self, task_id):
        if self.ways.bug(f"{self.name_of_role}-never-halts"):
            return False
        task = self.access.task(task_id)
        if self.ways.bug(f"{self.name_of_role}-stays-suspended") and (task["suspended"] or task_id in self.ways.memory):
            self.ways.memory[task_id] = True
            return True
        if task["cancelled"] and not self.ways.bug("cancel-ignored"):
            return True
        return task["suspended"] or self.stopped.get(task_id, -1) >= task["resumes"]

    # --- Writing ----------------------------------------------------------------------------------------------------

    def new_id(self, kind, task):
        return self.access.new_id(kind, task, self.last_ms)

    def send(self, kind, to, task_id, payload, answers=()):
        """Writes a working message. Returns its id, or None if the task was suspended meanwhile."""
        ways = self.ways
        if self.halted(task_id) and not ways.bug(f"{self.name_of_role}-ignores-suspension", "lock-without-stop", "carries-out-its-suggestion"):
            return None
        message = {
            "msg_id": self.new_id(kind, task_id), "protocol_version": "AMP/1.0", "type": kind, "from": self.name_of_role, "to": to,
            "task_id": task_id, "timestamp": iso(self.access.now(), ways), "requires_ack": True, "payload": payload,
        }  # fmt: skip
        if ways.has("own-timeout-default"):
            message["ack_timeout_sec"] = TIMEOUTS[kind]
        if ways.has("context-empty"):
            message["context_ref"] = []
        elif ways.has("context-earlier"):
            message["context_ref"] = [a for a in answers if a]
        message = ways.change("emit", message, self)
        msg_id = message.get("msg_id")
        if not ways.bug("dispatch-not-stored") or kind != "task_dispatch":
            if not self.access.submit(self.name_of_role, message):
                return None
        if ways.bug("sent-twice"):
            self.access.submit(self.name_of_role, {**message, "msg_id": self.new_id(kind, task_id)})
        self.timers[msg_id] = (task_id, self.access.now() + message.get("ack_timeout_sec", TIMEOUTS[kind]) * 1000, to)
        return msg_id

    def acknowledge(self, message):
        ways = self.ways
        if not message.get("requires_ack") or ways.bug(f"{self.name_of_role}-never-acks"):
            return
        if ways.bug("acks-first-message-of-a-task-only", "coordinator-acks-first-only"):
            known = ways.memory.setdefault("acked", set())
            if (self.name_of_role, message["task_id"]) in known:
                return
            known.add((self.name_of_role, message["task_id"]))
        record = {"msg_id": message["msg_id"], "task_id": message["task_id"], "actor": self.name_of_role, "ts": iso(self.access.now(), ways), "note": ""}
        if not ways.has("ack-word-none"):
            record["ack_status"] = "received" if ways.has("ack-word-received") else "acked"
        msg_id = message["msg_id"]
        if ways.bug("ack-names-task"):
            record["msg_id"] = message["task_id"]
        role = "system" if ways.bug("ack-as-system") else self.name_of_role
        self.access.ack(role, msg_id, record)

    def escalate(self, task_id, kind, level, affected, text, culprit=None, count=None, actions=("Resume the task", "Cancel the task")):
        ways, task = self.ways, self.access.task(task_id)
        severity, suspended = level
        snapshot = {
            "task_status": task["status"], "reject_count": task["rejects"] if count is None else count,
            "last_successful_msg_id": task["last"] if ways.has("last-successful-id") else None,
        }  # fmt: skip
        message = escalation(
            self.new_id("escalation", task_id), self.name_of_role, task_id, kind, level, affected, text, culprit or self.name_of_role, snapshot,
            iso(self.access.now(), ways), ways, actions,
        )  # fmt: skip
        message = ways.change("emit", message, self)
        if suspended and not ways.bug("writer-does-not-stop"):
            self.stopped[task_id] = task["resumes"]
        self.access.submit(self.name_of_role, message)

    def level(self, what):
        word = self.ways.pick(f"{what}-severity").removeprefix(f"{what}-")
        return {"critical": ("critical", True), "warning": ("warning", True), "info": ("info", False), "info-suspended": ("info", True)}[word]


class Executor(Role):
    name_of_role = "executor"
    only = ("task_dispatch",)

    def __init__(self, ways, access):
        super().__init__(ways, access)
        self.repositories = {}  # a lock for each

    def handle(self, dispatch):
        ways, p, task_id, msg_id = self.ways, dispatch["payload"], dispatch["task_id"], dispatch["msg_id"]
        if dispatch["type"] != "task_dispatch":
            return
        if rules.forbidden(dispatch) and not ways.skips("branch"):
            branch_missed = ways.bug("master-forgotten") and p["branch"] == "master" or ways.bug("main-forgotten") and p["branch"] == "main"
            if not branch_missed:
                if self.access.unchecked or ways.has("branch-at-executor"):
                    self.access.log("executor", ("branch", "branch_forbidden", "/payload/branch", "protected"), dispatch, None)
                if ways.bug("branch-executed-and-reported"):
                    self.work(dispatch)
                if not ways.bug("branch-refused-silently"):
                    level = self.level("branch-report")
                    self.escalate(task_id, "branch_violation", level, [msg_id], f"Dispatch on {p['branch']}", culprit="coordinator", actions=("Dispatch on a feature branch",))
                return
        if not git.is_repository(p["repo"]) and not ways.skips("repository"):
            self.without_repository(dispatch)
            return
        late = ways.bug("ack-after-the-result")
        if not late:
            self.acknowledge(dispatch)
        # Work takes a while; other dispatches do not wait for it.
        threading.Thread(target=self.worker, args=(dispatch, late), daemon=True).start()

    def worker(self, dispatch, late):
        try:
            with self.repositories.setdefault(dispatch["payload"]["repo"], threading.Lock()):
                self.work(dispatch)
        except Exception:
            traceback.print_exc()
        if late:
            time.sleep(0.5)
            self.acknowledge(dispatch)

    def without_repository(self, dispatch):
        ways, p = self.ways, dispatch["payload"]
        if ways.bug("bad-repository-ignored"):
            return
        if ways.bug("bad-repository-acknowledged-only"):
            return self.acknowledge(dispatch)
        if ways.has("repo-logged"):
            self.access.log("executor", ("repository", "bad_format", "/payload/repo", "no .git"), dispatch, None)
        elif ways.has("repo-escalated"):
            self.escalate(dispatch["task_id"], "unknown", self.level("stuck"), [dispatch["msg_id"]], f"{p['repo']} is not a repository", culprit="coordinator")
        else:
            self.acknowledge(dispatch)
            for subtask in p["subtasks"]:
                self.result(dispatch, subtask, "failed", None, [f"{p['repo']} is not a repository"])

    def work(self, dispatch):
        ways, p = self.ways, dispatch["payload"]
        hint = (p.get("tech_constraints") or {}).get(HINT) or {}
        if ways.has("hints-ignored") or not isinstance(hint, dict):
            hint = {}
        outcome = hint.get("outcome", "complete")
        commits = hint.get("commit", True) is not False and outcome == "complete"
        prohibited = " ".join(p.get("forbidden_actions") or ()) if not ways.bug("prohibitions-ignored") else ""
        file = "NOTES.txt" if "NOTES.txt" not in prohibited else "OTHER.txt"
        if ways.bug("prohibitions-ignored") and "FORBIDDEN.txt" in p["description"]:
            file = "FORBIDDEN.txt"
        branch = p["branch"]
        base = git.head(p["repo"], branch)
        if base is None and git.head(p["repo"], "HEAD") is None:
            commits = False
        done = []
        subtasks = p["subtasks"][:1] if ways.bug("one-result-for-all-subtasks") else p["subtasks"]
        if ways.bug("subtasks-in-reverse"):
            subtasks = subtasks[::-1]
        for subtask in subtasks:
            change = None
            if commits:
                in_tree = ways.has("commits-in-work-tree")
                change = git.append(p["repo"], branch, file, "ok", str(subtask.get("description", "")), in_tree)
                if ways.bug("merges-to-main"):
                    git.move(p["repo"], "main", change.commit)
                if ways.bug("works-on-main-too"):
                    git.append(p["repo"], "main", file, "ok", "again", False)
            if change is None and outcome == "complete" and commits:
                done.append((subtask, "failed", None, ["The branch cannot be written"]))
            elif outcome == "complete":
                done.append((subtask, "complete", git.since(p["repo"], base, branch, change), None))
            else:
                done.append((subtask, outcome if outcome in ("partial", "failed") else "failed", None, ["Told so by the dispatch"]))
            if ways.has("results-between"):
                self.result(dispatch, *done.pop(0))
        for entry in done:
            self.result(dispatch, *entry)
        if ways.bug("results-repeated-later"):
            threading.Timer(0.3, lambda: self.result(dispatch, p["subtasks"][-1], "complete", git.since(p["repo"], base, branch, None), None)).start()
        if ways.bug("late-commit") and commits:
            threading.Timer(0.6, lambda: git.append(p["repo"], branch, file, "ok", "late", False)).start()
        if ways.bug("late-scratch-file") and commits:
            threading.Timer(0.6, lambda: git.scratch(p["repo"])).start()
        if ways.bug("commits-when-another-task-comes"):
            for repo, name in ways.memory.setdefault("repos", []):
                git.append(repo, name, file, "ok", "meanwhile", False)
            ways.memory["repos"].append((p["repo"], branch))

    def result(self, dispatch, subtask, status, change, blockers):
        ways, p = self.ways, dispatch["payload"]
        files, added, removed, commit = change if change else ([], 0, 0, None)
        if ways.bug("files-from-the-plan"):
            files = ["NOTES.txt", "README.md"]
        if ways.bug("files-of-last-commit-missing"):
            files = []
        met = []
        for criterion in p["acceptance_criteria"]:
            verified = "NOTES.txt" in criterion and status == "complete" and commit
            met.append(True if verified or ways.bug("guesses-true") else None if ways.has("unverified-null") else False)
        if ways.bug("criteria-met-of-first-only"):
            met = met[:1]
        if ways.bug("criteria-met-in-words"):
            met = ["yes" if m else m for m in met]
        now = iso(self.access.now(), ways)
        payload = {
            "subtask_id": subtask["subtask_id"], "completion_status": status,
            "diff_summary": {"files_changed": list(files), "lines_added": added, "lines_removed": removed},
            "self_assessment": {"criteria_met": met, "notes": ["checked" if m else "left to the review" for m in met]},
            "work_log": [{"timestamp": now, "action": "append", "file": f, "detail": "one line"} for f in files] or [{"timestamp": now, "action": "read", "file": "", "detail": "no change"}],
        }  # fmt: skip
        if commit:
            payload["commit_hash"] = commit[:10] if ways.has("hash-short") else commit
        if blockers:
            payload["blockers"] = blockers
        elif ways.has("empty-blockers"):
            payload["blockers"] = []
        self.send("task_result", "coordinator", dispatch["task_id"], payload, [dispatch["msg_id"]])


class Reviewer(Role):
    name_of_role = "reviewer"
    only = ("review_request",)

    def handle(self, request):
        ways, p, task_id, msg_id = self.ways, request["payload"], request["task_id"], request["msg_id"]
        if request["type"] != "review_request":
            return
        dispatch, result = (self.access.record(p[n]) for n in ("original_dispatch_ref", "task_result_ref"))
        dispatch, result = (r["message"] if r else None for r in (dispatch, result))
        readable = dispatch and result and dispatch["type"] == "task_dispatch" and result["type"] == "task_result"
        if not readable and not (ways.bug("dispatch-alone-suffices") and dispatch):
            if ways.bug("unreadable-ignored"):
                return
            if ways.bug("unreadable-approved"):
                self.acknowledge(request)
                self.send("review_verdict", "coordinator", task_id, {"decision": "approved", "criteria_results": [{"criterion": "all", "passed": True, "evidence": "read"}], "confidence": 0.9}, [msg_id])
                return
            if ways.has("unreadable-logged"):
                self.access.log("reviewer", ("refs", "unresolved_ref", "/payload/original_dispatch_ref", "not in the store"), request, None)
            else:
                self.escalate(task_id, "unknown", self.level("stuck"), [msg_id], "The messages of the request cannot be read", culprit="coordinator")
            return
        self.acknowledge(request)
        if ways.bug("one-verdict-per-task") and task_id in ways.memory.setdefault("reviewed", set()):
            return
        ways.memory.setdefault("reviewed", set()).add(task_id)
        if ways.bug("first-dispatch-judged"):
            dispatch = self.access.first_dispatch(task_id) or dispatch
        hint = (p.get("ci_status") or {}).get(HINT) or {}
        if ways.has("hints-ignored") or not isinstance(hint, dict):
            hint = {}
        decision = hint.get("decision", "approved")
        confidence = hint.get("confidence", 0.9)
        payload = self.verdict(decision, confidence, dispatch, result or {"payload": {"self_assessment": {"criteria_met": []}}})
        if ways.bug("verdict-task-of-last-request"):
            task_id, ways.memory["last"] = ways.memory.get("last", task_id), task_id
        self.send("review_verdict", "coordinator", task_id, payload, [msg_id, p["task_result_ref"]])

    def verdict(self, decision, confidence, dispatch, result):
        ways = self.ways
        criteria = dispatch["payload"]["acceptance_criteria"]
        met = result["payload"]["self_assessment"]["criteria_met"]
        results = []
        for n, criterion in enumerate(criteria):
            own = met[n] if n < len(met) else None
            passed = decision != "rejected" or n > 0
            if ways.has("passed-undecided") and own is None:
                passed = None
            text = f"Is met: {criterion}" if ways.has("results-rephrased") else criterion
            results.append({"criterion": text, "passed": passed, "evidence": "read"})
        if ways.has("results-for-some") and len(results) > 1:
            results.pop()
        line = 1 if ways.has("issue-line-number") else 0 if ways.has("issue-line-zero") else None
        issue = lambda severity: {"severity": severity, "file": "NOTES.txt", "line": line, "description": "A defect", "suggested_fix": "Repair it"}
        payload = {"decision": decision, "criteria_results": results, "confidence": confidence}
        if decision == "rejected":
            payload["issues"] = [issue("critical"), issue("minor")]
        elif decision == "approved" and ways.has("approves-with-minor-issues"):
            payload["issues"] = [issue("minor")]
        elif decision == "approved_with_fix":
            token = "import" if ways.has("import-short") else "import_order"
            payload["direct_fixes"] = [{"file": "NOTES.txt", "change_type": token, "diff_lines": 2}, {"file": "README.md", "change_type": "whitespace", "diff_lines": 4}]
            if ways.has("fixes-with-issues"):
                payload["issues"] = [issue("major")]
        return payload


class Case:
    """What the Coordinator knows of a task."""

    def __init__(self):
        self.dispatches = []  # (msg_id, payload)
        self.complete = {}  # subtask -> msg_id of its result
        self.open_request = None  # msg_id of the request that waits for a verdict
        self.last_result = None
        self.rejects, self.verdicts, self.repairs = 0, 0, 0
        self.locked = self.approved = False
        self.forward = []  # what waits for a RESUME: functions
        self.reporting = set()


class Coordinator(Role):
    name_of_role = "coordinator"
    only = ("task_result", "review_verdict")

    def __init__(self, ways, access):
        super().__init__(ways, access)
        self.cases = {}
        self.approvals = {}

    def case(self, task_id):
        return self.cases.setdefault(task_id, Case())

    def more(self):
        """Approved plans, what waited for a RESUME, and missing ACKs where no bus watches."""
        busy = False
        for task_id, plan, approved in self.access.plans():
            again = self.ways.bug("second-approval-dispatches-again") and self.access.task(task_id)["resumes"]
            if approved and (task_id not in self.approvals or self.approvals[task_id] != again) and not self.halted(task_id):
                self.approvals[task_id] = again
                busy = True
                if not self.ways.bug("approval-ignored"):
                    self.dispatch(task_id, dict(plan))
        for task_id, case in list(self.cases.items()):
            if case.forward and not self.halted(task_id):
                waiting, case.forward = case.forward, []
                for act in waiting:
                    act()
                busy = True
        if self.access.unchecked:
            self.missing_acks()
        return busy

    def missing_acks(self):
        now = self.access.now()
        for msg_id, (task_id, due, to) in list(self.timers.items()):
            if due > now or self.access.acked(msg_id, to):
                if due <= now:
                    del self.timers[msg_id]
                continue
            del self.timers[msg_id]
            self.escalate(task_id, "ack_timeout", self.level("ack-report"), [msg_id], f"No ACK of {msg_id}", culprit=to)

    # --- Dispatches -------------------------------------------------------------------------------------------------

    def dispatch(self, task_id, payload, answers=()):
        ways, case = self.ways, self.case(task_id)
        if rules.forbidden({"type": "task_dispatch", "payload": payload}) and self.access.unchecked and not ways.bug("plan-branch-unchecked", "plan-unchecked"):
            return
        if self.access.unchecked and not payload.get("acceptance_criteria") and not ways.bug("plan-unchecked"):
            return
        payload = {k: v for k, v in payload.items() if v is not None}
        if case.dispatches and ways.has("subtasks-renamed"):
            n = len(case.dispatches) + 1
            payload["subtasks"] = [{**s, "subtask_id": re.sub(r"(-R\d+)?$", f"-R{n}", str(s["subtask_id"]))} for s in payload["subtasks"]]
        if ways.bug("criteria-lost-on-repeat") and case.dispatches:
            payload["acceptance_criteria"] = []
        case.complete, case.open_request = {}, None
        msg_id = self.send("task_dispatch", "executor", task_id, payload, answers)
        if msg_id is None:
            case.forward.append(lambda: self.dispatch(task_id, payload, answers))
            return
        case.dispatches.append((msg_id, payload))

    def again(self, task_id, note, answers):
        """Another dispatch of the task, with a note in its description."""
        case = self.case(task_id)
        payload = dict(case.dispatches[-1][1])
        payload["description"] = f"{payload['description'].split(' (')[0]} ({note})"
        self.dispatch(task_id, payload, answers)

    # --- Messages ---------------------------------------------------------------------------------------------------

    def handle(self, message):
        if message["type"] in self.only:
            self.acknowledge(message)
            if message["type"] == "task_result":
                self.on_result(message)
            else:
                self.on_verdict(message)

    def on_result(self, result):
        ways, p, task_id, msg_id = self.ways, result["payload"], result["task_id"], result["msg_id"]
        case = self.case(task_id)
        if not case.dispatches or case.locked and not ways.bug("lock-without-stop"):
            return
        wanted = [s["subtask_id"] for s in case.dispatches[-1][1]["subtasks"]]
        if p["subtask_id"] not in wanted and not ways.bug("any-subtask-counts"):
            return
        status = p["completion_status"]
        if ways.bug("null-criteria-need-repair") and None in p["self_assessment"]["criteria_met"]:
            status = "partial"
        if ways.bug("partial-counts-as-complete") and status == "partial" or ways.bug("every-result-is-reviewed"):
            status = "complete"
        if status != "complete":
            self.unfinished(case, task_id, msg_id, status, p)
            return
        if case.open_request and p["subtask_id"] in case.complete:
            return
        case.complete[p["subtask_id"]] = msg_id
        case.last_result = msg_id
        last = all(s in case.complete for s in wanted) or ways.bug("any-subtask-counts")
        if ways.bug("several-subtasks-never-reviewed") and len(wanted) > 1:
            return
        if last or ways.has("review-at-each"):
            self.review(case, task_id, msg_id)

    def unfinished(self, case, task_id, msg_id, status, p):
        ways = self.ways
        if ways.bug("unfinished-ignored") or ways.bug("failed-ignored") and status == "failed" or ways.bug("partial-ignored") and status == "partial":
            return
        if ways.bug("second-unfinished-ignored") and case.repairs:
            return
        case.repairs += 1
        escalates = ways.has("unfinished-escalated") or ways.has("unfinished-both") and status == "failed" or case.repairs > 3
        if escalates:
            affected = [case.dispatches[-1][0]] if ways.bug("unfinished-names-the-dispatch") else [msg_id]
            self.escalate(task_id, "unknown", self.level("unfinished"), affected, f"{status}: {'; '.join(p.get('blockers') or ())}", culprit="executor")
        else:
            self.again(task_id, f"after a {status} result", [msg_id])

    def review(self, case, task_id, msg_id):
        ways = self.ways
        ci = self.access.ci(task_id) or {}
        if ci.get("xcode_cloud") == "failed" and not ways.bug("ci-gate-missing"):
            if ways.has("ci-nothing"):
                return
            case.repairs += 1
            if ways.has("ci-escalated") or case.repairs > 3:
                kind = "unknown" if ways.bug("ci-failure-as-unknown") else "ci_failure"
                self.escalate(task_id, kind, self.level("unfinished"), [msg_id], "The CI build failed", culprit="executor")
            else:
                self.again(task_id, "the CI failed", [msg_id])
            return
        if ways.bug("ci-must-have-passed") and ci.get("xcode_cloud") not in (None, "passed"):
            return
        repo = case.dispatches[-1][1]["repo"]
        url = {"diff-path": f"{repo}/.git/review.diff", "diff-url": "https://example.invalid/compare/main...feature", "diff-file": "review.diff"}[ways.pick("diff-url")]
        count = case.rejects
        if ways.bug("reject-count-from-one"):
            count += 1
        if ways.bug("reject-count-shared"):
            count = sum(c.rejects for c in self.cases.values())
        if ways.bug("reject-count-one-behind"):
            count = max(0, count - 1) if count > 1 else count
        if ways.bug("reject-count-stays-at-one"):
            count = min(count, 1)
        if ways.bug("reject-count-wraps-at-three"):
            count %= 2
        dispatch_id = case.dispatches[0 if ways.has("requests-name-original") else -1][0]
        if ways.bug("request-names-first-result"):
            msg_id = self.ways.memory.setdefault(("first", task_id), msg_id)
        if ways.bug("request-names-previous-result-in-third-round"):
            known = self.ways.memory.setdefault(("results", task_id), [])
            known.append(msg_id)
            if len(known) == 3:
                msg_id = known[-2]
        payload = {
            "original_dispatch_ref": dispatch_id, "task_result_ref": msg_id,
            "review_scope": "incremental" if case.verdicts and ways.has("scope-incremental") else "full", "diff_url": url, "reject_count": count,
        }  # fmt: skip
        warn = 2
        if ways.bug("lock-note-at-three"):
            warn = 3
        if count >= warn and not ways.has("lock-note-missing") and not ways.bug("lock-note-never"):
            payload["coordinator_notes"] = f"Lock is approaching: {count} rejects so far." if not ways.bug("lock-note-unclear") else "Please be careful."
            if ways.bug("lock-note-once") and count > 2:
                del payload["coordinator_notes"]
        if ci and ways.has("requests-with-ci"):
            payload["ci_status"] = ci
        request = self.send("review_request", "reviewer", task_id, payload, [dispatch_id, msg_id])
        if request is None:
            case.forward.append(lambda: self.review(case, task_id, msg_id))
            return
        case.open_request = request

    def on_verdict(self, verdict):
        ways, p, task_id, msg_id = self.ways, verdict["payload"], verdict["task_id"], verdict["msg_id"]
        case = self.case(task_id)
        if case.locked or not case.dispatches:
            return
        if not case.open_request and not ways.bug("verdict-counted-again"):
            return
        case.open_request = None
        case.verdicts += 1
        decision = p["decision"]
        notes = p.get("architecture_notes") or ""
        if ways.bug("architecture-notes-obeyed") and "reject" in notes.lower() or ways.bug("minor-counts-as-reject") and decision == "approved" and p.get("issues"):
            decision = "rejected"
        if ways.bug("fix-counts-as-reject") and decision == "approved_with_fix":
            decision = "rejected"
        limit = 0.7 if ways.bug("confidence-limit-0.7") else 0.5 if ways.bug("confidence-limit-0.5-exclusive") else 0.8
        low = p["confidence"] < limit
        silent = ways.has("low-confidence-silent") or ways.bug("low-confidence-ignored")
        report = low and not silent and (decision == "rejected" or ways.has("low-confidence-always"))
        if report and not ways.bug("low-confidence-after-the-dispatch"):
            self.doubt(task_id, case, msg_id, p)
        if decision != "rejected":
            case.approved = True
            return
        case.rejects += 1
        if ways.bug("rejects-counted-twice"):
            case.rejects += 1
        limit = 3 if ways.has("lock-at-3") else 4
        if ways.bug("lock-at-two"):
            limit = 2
        if ways.bug("lock-at-five"):
            limit = 5
        if ways.bug("lock-never"):
            limit = 99
        if ways.bug("lock-counts-all-tasks"):
            limit = 1 if sum(c.rejects for c in self.cases.values()) >= 4 else limit
        if case.rejects >= limit:
            self.lock(case, task_id, msg_id)
            if not ways.bug("lock-without-stop"):
                return
        self.again(task_id, f"reject {case.rejects}", [msg_id])
        if report and ways.bug("low-confidence-after-the-dispatch"):
            self.doubt(task_id, case, msg_id, p)

    def doubt(self, task_id, case, msg_id, p):
        affected = [case.dispatches[-1][0]] if self.ways.bug("low-confidence-names-the-dispatch") else [msg_id]
        self.escalate(task_id, "unknown", self.level("low-confidence"), affected, f"The verdict {msg_id} has confidence {p['confidence']}", culprit="reviewer", count=case.rejects + (p["decision"] == "rejected"))

    def lock(self, case, task_id, msg_id):
        ways = self.ways
        case.locked = not ways.bug("lock-without-stop")
        if ways.bug("lock-silently"):
            return
        count = 0 if ways.bug("snapshot-constant") else case.rejects - 1 if ways.bug("snapshot-one-behind") else case.rejects
        affected = [case.dispatches[-1][0]] if ways.bug("lock-names-the-dispatch") else [case.dispatches[-1][0], msg_id]
        level = ("critical", True)
        if ways.bug("lock-keeps-running"):
            level = ("critical", False)
        kind = "conflict" if ways.bug("lock-as-conflict") else "hallucination_lock"
        if ways.has("after-lock-forwarded"):
            def forward():
                case.locked, case.rejects = False, 0
                self.again(task_id, "after the lock", [msg_id])

            case.forward.append(forward)
        self.escalate(task_id, kind, level, affected, f"{case.rejects} rejects in a row", culprit="executor", count=count, actions=("Split the task",))
        if ways.bug("carries-out-its-suggestion"):
            case.forward = []
            self.stopped.pop(task_id, None)
            case.locked = False
            self.ways.memory["free"] = True
            self.again(task_id, "split", [msg_id])


ROLES = {"coordinator": Coordinator, "executor": Executor, "reviewer": Reviewer}

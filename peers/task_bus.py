"""The bus with its store: messages, ACKs, the error log, task records, control calls, timers, suspension. No HTTP here.

Everything that changes state holds `lock`; roles wait for `changed`.
"""

import copy
import hashlib
import threading
import time
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone

import task_rules as rules
from task_rules import TIMEOUTS, WORKING

HEARTBEAT_SEC = 1800


class Clock:
    """The clock of the machine, ahead by what the test hook said."""

    def __init__(self):
        self.ahead_ms = 0

    def now_ms(self):
        return int(time.time() * 1000) + self.ahead_ms


def iso(ms, ways):
    """A moment in the form of the choice."""
    moment = datetime.fromtimestamp(ms / 1000, timezone.utc)
    form = ways.pick("time-form")
    if form == "time-east":
        return moment.astimezone(timezone(timedelta(hours=8))).isoformat(timespec="milliseconds")
    if form == "time-z":
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    return moment.isoformat(timespec="seconds" if form == "time-seconds" else "milliseconds")


@dataclass
class Task:
    task_id: str
    created_ms: int
    updated_ms: int = 0
    status: str = "planned"
    plan: dict | None = None
    approved: bool = False
    dispatch: dict | None = None  # the newest payload
    rejects: int = 0
    suspended: bool = False
    resumes: int = 0
    instruction: str = ""
    controls: list = field(default_factory=list)
    ci: dict | None = None
    last: str | None = None  # the last stored working message
    assigned: dict = field(default_factory=dict)  # role -> (msg_id, since, open subtasks)
    wrote: dict = field(default_factory=dict)  # role -> ms of its last write


@dataclass
class Timer:
    msg_id: str
    due_ms: int
    by: str  # the role that has to acknowledge
    done: bool = False


class Bus:
    def __init__(self, ways, roles):
        self.ways, self.roles = ways, tuple(roles)
        self.clock = Clock()
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.version = 0  # raised by every change
        self.records, self.by_id = [], {}
        self.acks, self.errors, self.events = [], [], []
        self.tasks, self.timers = {}, []
        self.beats = {}  # (task, role) -> the write after which silence was reported
        self.last_ms = {}
        self.queue = []  # for bugs that answer before they store

    # --- Help ------------------------------------------------------------------------------------------------------

    def now(self):
        return self.clock.now_ms()

    def touch(self):
        self.version += 1
        self.changed.notify_all()

    def record(self, msg_id):
        return self.by_id.get(msg_id)

    def has_task(self, task):
        return task in self.tasks

    def of_type(self, task, kind):
        return [r["message"] for r in self.records if r["message"]["task_id"] == task and r["message"]["type"] == kind]

    def dispatches(self, task):
        return self.of_type(task, "task_dispatch")

    def requests(self, task):
        return self.of_type(task, "review_request")

    def task_of(self, task_id):
        if task_id not in self.tasks:
            self.tasks[task_id] = Task(task_id, self.now(), self.now())
        return self.tasks[task_id]

    def new_id(self, kind, task):
        """A msg_id of this moment that was not given before."""
        ms = self.now()
        if self.ways.bug("msg-id-in-seconds"):
            return f"{kind}-{task}-{ms // 1000}"
        if self.ways.bug("msg-id-in-microseconds"):
            return f"{kind}-{task}-{ms * 1000}"
        if self.ways.bug("msg-id-of-first-message"):
            ms = self.last_ms.setdefault((kind, task), ms - 3_600_000) + 1
        ms = max(ms, self.last_ms.get((kind, task), 0) + 1)
        while f"{kind}-{task}-{ms}" in self.by_id:
            ms += 1
        self.last_ms[kind, task] = ms
        return f"{kind}-{task}-{ms}"

    # --- Submission ------------------------------------------------------------------------------------------------

    def log(self, receiver, code, path, text, msg_id, body):
        """An entry of the error log."""
        ways = self.ways
        digest = hashlib.sha256(body).hexdigest() if body is not None else None
        entry = {"seq": len(self.errors) + 1, "ts": iso(self.now(), ways)}
        form = ways.pick("log-form")
        named = msg_id if isinstance(msg_id, str) else None
        if form == "log-full":
            entry |= {"receiver": receiver, "code": code, "path": path, "detail": text, "msg_id": named, "body_sha256": digest}
        elif form == "log-id":
            entry |= {"receiver": receiver, "msg_id": named} | ({} if named else {"body_sha256": digest})
        elif form == "log-digest":
            entry |= {"body_sha256": digest} if digest else {"msg_id": named}
        elif form == "log-time":
            entry |= {"receiver": receiver, "reason": code}
        else:
            entry |= {"detail": f"{receiver} refused {named or digest}: {text}"}
        entry = ways.change("log-entry", entry, named, digest)
        self.errors.append(entry)
        if ways.bug("log-keeps-20"):
            del self.errors[:-20]
        self.touch()

    def refuse(self, status, found, msg_id, body, logged=True):
        """(status, problems) of a refusal, which is logged."""
        rule, code, path, text = found[0]
        ways = self.ways
        quiet = (
            ways.bug("refusals-not-logged")
            or ways.bug("conflict-not-logged") and status == 409
            or ways.bug("version-not-logged") and code == "incompatible_version"
            or ways.bug("route-not-logged") and code == "route_not_allowed"
            or ways.bug("syntax-not-logged") and code in ("invalid_json", "not_an_object")
            or ways.bug("payload-not-logged") and path.startswith("/payload")
        )
        if logged and not quiet:
            self.log("bus", code, path, text, msg_id, body)
        return status, found

    def submit(self, role, body):
        """(status, message or problems) for a body that came in."""
        with self.lock:
            return self.taken(role, body)

    def taken(self, role, body):
        ways = self.ways
        try:
            message = rules.read(self.uncommented(body))
        except ValueError as error:
            if ways.bug("bad-json-crashes"):
                raise RuntimeError("bad JSON") from None
            return self.refuse(400, [("json", "invalid_json", "", str(error))], None, body)
        if isinstance(message, list) and len(message) == 1 and ways.bug("list-of-one-taken"):
            message = message[0]
        if not isinstance(message, dict):
            return self.refuse(400, [("json", "not_an_object", "", "not an object")], None, body)
        message = ways.change("inbound", message)
        msg_id = message.get("msg_id")
        found = self.writer(role, message) if ways.has("writer-first") else []
        found = found or rules.problems(message, ways, self)
        found = found or ([] if ways.has("writer-first") else self.writer(role, message))
        if found:
            code = found[0][1]
            if code == "writer_mismatch":
                status = 403 if ways.has("writer-403") else 422
            else:
                status = int(ways.pick("refused-status").removeprefix("refused-"))
            answer = self.refuse(status, found, msg_id, body)
            if ways.bug("unknown-type-dropped") and found[0][0] == "envelope.type.enum":
                return 202, message
            if ways.bug("refused-but-stored") or ways.bug("broken-payload-stored") and found[0][2].startswith("/payload"):
                if all(isinstance(message.get(n), str) for n in ("msg_id", "type", "task_id", "from")) and msg_id not in self.by_id:
                    self.store(role, message)
            if ways.bug("logged-but-accepted"):
                if isinstance(msg_id, str) and isinstance(message.get("task_id"), str) and msg_id not in self.by_id:
                    self.store(role, message)
                return 202, message
            return answer
        earlier = self.by_id.get(msg_id)
        if earlier:
            return self.repeated(role, message, earlier, body)
        if rules.forbidden(message):
            refused = self.protected(message, body)
            if refused:
                return refused
        task = self.tasks.get(message["task_id"])
        if message["type"] in WORKING and task and task.suspended and not ways.bug("suspension-ignored-by-bus"):
            only_one = ways.bug("only-dispatch-withheld") and message["type"] != "task_dispatch"
            if not ways.has("suspended-withheld") and not only_one:
                status = 423 if ways.has("suspended-423") else 409
                return self.refuse(status, [("suspended", "task_suspended", "/task_id", "suspended")], msg_id, body, ways.has("suspended-logged"))
        self.store(role, message)
        return 202, message

    def uncommented(self, body):
        """Bugs of relaxed readers."""
        import re

        if self.ways.bug("json-comments-taken"):
            body = re.sub(rb"/\*.*?\*/|//[^\n]*\n", b"", body)
        if self.ways.bug("trailing-commas-taken"):
            body = re.sub(rb",\s*([}\]])", rb"\1", body)
        if self.ways.bug("truncated-json-repaired") and body.startswith(b"{"):
            try:
                rules.read(body)
            except ValueError:
                return b"{}"
        if self.ways.bug("empty-body-taken") and not body:
            return b"{}"
        return body

    def writer(self, role, message):
        ways = self.ways
        if role == message.get("from") or not isinstance(message.get("from"), str):
            return []
        if ways.bug("coordinator-writes-for-all") and role == "coordinator" or ways.bug("executor-writes-for-all") and role == "executor":
            return []
        if ways.bug("escalation-writer-unchecked") and message.get("type") == "escalation":
            return []
        if ways.skips("writer"):
            return []
        return [("writer", "writer_mismatch", "/from", f"written by {role or 'nobody'}")]

    def repeated(self, role, message, earlier, body):
        """A message whose id was used."""
        ways, msg_id = self.ways, message["msg_id"]
        if rules.same(earlier["message"], message):
            if ways.bug("resend-stored-again"):
                self.append(role, message)
                return 202, message
            if ways.has("resend-200"):
                return 200, message | {"duplicate": True}
            return self.refuse(409, [("duplicate", "duplicate_msg_id", "/msg_id", "known")], msg_id, body)
        if ways.bug("conflict-taken-for-resend"):
            return 200, message
        if ways.bug("conflict-replaces"):
            earlier["message"] = message
            self.touch()
            return 202, message
        if ways.bug("conflict-replaces-but-refuses"):
            earlier["message"] = message
        if ways.bug("conflict-joins"):
            self.append(role, message)
            return 202, message
        return self.refuse(409, [("duplicate", "duplicate_msg_id", "/msg_id", "used by another message")], msg_id, body)

    def protected(self, message, body):
        """A dispatch on main or master. Returns the refusal, or None if an executor decides."""
        ways, msg_id = self.ways, message["msg_id"]
        branch = message["payload"]["branch"]
        if ways.bug("master-forgotten") and branch == "master" or ways.bug("main-forgotten") and branch == "main":
            return None
        if ways.skips("branch"):
            return None
        to_executor = ways.has("branch-at-executor")
        if to_executor and "executor" in self.roles:
            return None
        if not ways.bug("branch-refused-silently"):
            at_bus = not to_executor
            if to_executor:
                self.store(message["from"], message)
            self.escalate(
                "system", message["task_id"], "branch_violation", self.level("branch-report"), [msg_id],
                f"Dispatch on {branch} was not executed", culprit="coordinator",
            )  # fmt: skip
            if not at_bus:
                return 202, message
        return self.refuse(422, [("branch", "branch_forbidden", "/payload/branch", f"{branch} is protected")], msg_id, body)

    # --- Storing ---------------------------------------------------------------------------------------------------

    def store(self, role, message):
        ways = self.ways
        if ways.bug("every-tenth-lost"):
            n = ways.memory["n"] = ways.memory.get("n", 0) + 1
            if n % 10 == 0:
                return
        self.append(role, message)
        self.follow(role, message)
        if ways.bug("accepted-messages-logged"):
            self.log("bus", "ok", "", "stored", message["msg_id"], None)
        self.touch()

    def append(self, role, message):
        ways = self.ways
        stored = ways.change("stored", copy.deepcopy(message), self)
        writer = "system" if ways.bug("writer-always-system") else role
        record = {"seq": len(self.records) + 1, "stored_at": iso(self.now(), ways), "stored_ms": self.now(), "written_by": writer, "message": stored}
        self.records.append(record)
        self.by_id[message["msg_id"]] = record
        self.touch()

    def follow(self, role, message):
        """What follows from a stored message for the task, the timers and the assignments."""
        ways, now = self.ways, self.now()
        kind, msg_id, p = message["type"], message["msg_id"], message.get("payload")
        p = p if isinstance(p, dict) else {}
        if ways.bug("task-record-from-dispatch-only") and kind != "task_dispatch" and message["task_id"] not in self.tasks:
            return
        task = self.task_of(message["task_id"])
        task.updated_ms = now
        self.wrote(task, role, now, kind)
        if kind != "escalation":
            task.last = msg_id
        if kind == "task_dispatch":
            task.dispatch, task.status = p, "dispatched"
            subtasks = [s.get("subtask_id") for s in p.get("subtasks", []) if isinstance(s, dict)]
            if not rules.forbidden(message):
                task.assigned["executor"] = [msg_id, now, set(map(str, subtasks)) or {""}]
        elif kind == "task_result":
            task.status = "executing"
            if "executor" in task.assigned:
                task.assigned["executor"][2].discard(str(p.get("subtask_id")))
                if not task.assigned["executor"][2] or ways.bug("heartbeat-ends-at-first-result"):
                    del task.assigned["executor"]
        elif kind == "review_request":
            task.status = "in_review"
            task.assigned["reviewer"] = [msg_id, now, {"review"}]
        elif kind == "review_verdict":
            task.assigned.pop("reviewer", None)
            if p.get("decision") == "rejected":
                task.rejects += 1
                task.status = "rejected"
            elif self.requests(task.task_id):
                task.status = "approved"
        elif kind == "escalation":
            critical = p.get("severity") == "critical"
            if ways.bug("critical-of-executor-only") and role != "executor":
                critical = False
            if critical and not ways.bug("suspension-never"):
                task.suspended = True
        self.arm(message, now)

    def wrote(self, task, role, now, kind):
        ways = self.ways
        if ways.bug("heartbeat-not-reset") or ways.bug("heartbeat-reset-by-result-only") and kind != "task_result":
            return
        if ways.bug("heartbeat-reset-by-anybody"):
            for other in rules.ROLES:
                task.wrote[other] = now
        task.wrote[role] = now

    def arm(self, message, now):
        """Starts the timer of a message."""
        ways, kind = self.ways, message["type"]
        if not message.get("requires_ack") and not ways.bug("timers-without-requires-ack"):
            return
        seconds = message.get("ack_timeout_sec")
        if ways.bug("explicit-timeout-ignored"):
            seconds = None
        if kind == "escalation" and not ways.bug("escalations-have-timers"):
            if seconds is None or ways.has("escalation-timer-none"):
                return
        if seconds is None:
            table = TIMEOUTS
            if ways.bug("one-default-timeout"):
                table = {}
            if ways.bug("verdict-timeout-of-result"):
                table = TIMEOUTS | {"review_verdict": 120}
            if ways.bug("request-timeout-in-minutes-of-dispatch"):
                table = TIMEOUTS | {"review_request": 300}
            seconds = table.get(kind, 300)
        if ways.bug("timeout-capped-at-300"):
            seconds = min(seconds, 300)
        unit = 1 if ways.bug("timeout-in-ms") else 1000
        if ways.bug("timeout-from-the-minute"):
            now += 60_000
        if ways.bug("timer-for-newest-only"):
            self.timers = [t for t in self.timers if self.by_id[t.msg_id]["message"]["task_id"] != message["task_id"]]
        self.timers.append(Timer(message["msg_id"], now + int(seconds * unit), message["to"]))

    # --- ACKs ------------------------------------------------------------------------------------------------------

    def ack(self, role, msg_id, record):
        """(status, record) for an ACK."""
        ways = self.ways
        with self.lock:
            stored = self.by_id.get(msg_id)
            if stored is None:
                return 404, None
            if not isinstance(record, dict) or record.get("msg_id", msg_id) != msg_id:
                return 422, None
            message = stored["message"]
            counts = role == message["to"]
            if not counts and ways.has("foreign-ack-403") and not ways.bug("ack-from-anyone", "ack-from-sender"):
                return 403, None
            known = [a for a in self.acks if a["msg_id"] == msg_id and a["actor"] == role]
            if known and not ways.has("second-ack-201"):
                return (200 if ways.has("second-ack-200") else 409), known[0]
            made = {"msg_id": msg_id, "task_id": message["task_id"], "actor": role, "ts": iso(self.now(), ways), "seq": len(self.acks) + 1}
            if isinstance(record, dict) and record.get("ack_status"):
                made["ack_status"] = record["ack_status"]
            made = ways.change("ack", made, message)
            if not ways.bug("acks-not-kept"):
                self.acks.append(made)
            task = self.task_of(message["task_id"])
            if not ways.bug("heartbeat-ignores-acks"):
                self.wrote(task, role, self.now(), "ack")
            if ways.bug("ack-from-anyone") or ways.bug("ack-from-sender") and role == message["from"]:
                counts = True
            if ways.bug("ack-must-say-acked") and made.get("ack_status") != "acked":
                counts = False
            if counts and not ways.bug("acks-do-not-stop-timers"):
                for timer in self.timers:
                    same_task = ways.bug("ack-stops-all-timers-of-the-task") and self.by_id[timer.msg_id]["message"]["task_id"] == message["task_id"]
                    if timer.msg_id == msg_id or same_task:
                        timer.done = True
            self.touch()
            return 201, made

    def shown_ack(self, ack):
        names = {"ack-plain": ("msg_id", "actor", "ts"), "ack-message-id": ("message_id", "from", "ack_at"), "ack-of": ("ack_of", "by", "acked_at"), "ack-ref": ("ref", "role", "timestamp"), "ack-own-names": ("acknowledged", "agent", "written")}  # fmt: skip
        own = dict(zip(("msg_id", "actor", "ts"), names[self.ways.pick("ack-form")]))
        return {own.get(k, k): v for k, v in ack.items() if k not in ("from_record",)}

    # --- Timers ----------------------------------------------------------------------------------------------------

    def level(self, what):
        """(severity, auto_suspended) of an escalation by its choice."""
        word = self.ways.pick(f"{what}-severity").removeprefix(f"{what}-")
        return {"critical": ("critical", True), "warning": ("warning", True), "info": ("info", False), "info-suspended": ("info", True)}[word]

    def escalate(self, role, task_id, kind, level, affected, text, culprit=None, count=None, actions=("Resume the task", "Cancel the task")):
        """Writes an escalation; returns it."""
        ways = self.ways
        with self.lock:
            task = self.task_of(task_id)
            message = escalation(
                self.new_id("escalation", task_id), role, task_id, kind, level, affected, text, culprit or role,
                {"task_status": task.status, "reject_count": task.rejects if count is None else count, "last_successful_msg_id": task.last if ways.has("last-successful-id") else None},
                iso(self.now(), ways), ways, actions,
            )  # fmt: skip
            message = ways.change("emit", message, self)
            self.store(role, message)
            return message

    def tick(self):
        """Fires what is due."""
        ways = self.ways
        with self.lock:
            if "system" not in self.roles and "coordinator" not in self.roles:
                return
            now = self.now()
            for timer in sorted(self.timers, key=lambda t: t.due_ms):
                if timer.done or timer.due_ms > now:
                    continue
                message = self.by_id[timer.msg_id]["message"]
                task = self.tasks[message["task_id"]]
                if task.suspended and ways.has("timers-stop"):
                    continue
                if task.instruction == "cancel":
                    continue
                if ways.bug("reports-only-dispatches") and message["type"] != "task_dispatch" or ways.bug("ack-timeouts-never"):
                    continue
                if ways.bug("report-once-per-task") and timer.msg_id and (message["task_id"] in ways.memory.setdefault("reported", set())):
                    continue
                ways.memory.setdefault("reported", set()).add(message["task_id"])
                timer.done = True
                if ways.bug("report-repeated"):
                    timer.done, timer.due_ms = False, timer.due_ms + 1000
                role = "system" if ways.has("reports-as-system") or "coordinator" not in self.roles else "coordinator"
                if "system" not in self.roles:
                    role = "coordinator"
                kind = "unknown" if ways.bug("timeout-reported-as-unknown") else "heartbeat_timeout" if ways.bug("timeout-reported-as-heartbeat") else "ack_timeout"
                affected = [] if ways.bug("timeout-without-message") else [timer.msg_id]
                if ways.bug("timeout-names-newest-message") and task.last:
                    affected = [task.last]
                self.escalate(role, task.task_id, kind, self.level("ack-report"), affected, f"No ACK of {timer.msg_id} by {timer.by}", culprit=timer.by if timer.by != "admin" else role)
            self.timers = [t for t in self.timers if not t.done]
            self.heartbeats(now)

    def heartbeats(self, now):
        ways = self.ways
        limit = HEARTBEAT_SEC * 1000
        if ways.bug("heartbeat-five-minutes"):
            limit = 300_000
        if ways.bug("heartbeat-after-an-hour"):
            limit = 3_600_000
        if ways.bug("heartbeat-absent"):
            return
        watched = ("executor", "reviewer") if ways.has("heartbeat-of-both") else ("executor",)
        for task in list(self.tasks.values()):
            if task.suspended or task.instruction == "cancel":
                continue
            for role in watched:
                if role not in task.assigned:
                    continue
                msg_id, since, _ = task.assigned[role]
                wrote = task.wrote.get(role, 0)
                if ways.has("heartbeat-per-agent"):
                    wrote = max((t.wrote.get(role, 0) for t in self.tasks.values()), default=0)
                last = max(since, wrote)
                if now - last < limit or self.beats.get((task.task_id, role)) == last and not ways.bug("heartbeat-repeated"):
                    continue
                self.beats[task.task_id, role] = last
                reporter = "coordinator" if ways.has("heartbeat-as-coordinator") and "coordinator" in self.roles else "system"
                if "system" not in self.roles:
                    reporter = "coordinator"
                kind = "ack_timeout" if ways.bug("heartbeat-reported-as-ack-timeout") else "heartbeat_timeout"
                text = f"The {role} has written nothing for {(now - last) // 1000} s"
                if ways.bug("heartbeat-without-agent"):
                    text = "An agent is silent"
                self.escalate(reporter, task.task_id, kind, self.level("heartbeat-report"), [msg_id], text, culprit=role)

    # --- Control ---------------------------------------------------------------------------------------------------

    def plan(self, body):
        ways = self.ways
        with self.lock:
            task_id, plan = (body.get("task_id"), body.get("plan")) if isinstance(body, dict) else (None, None)
            if not isinstance(task_id, str) or not isinstance(plan, dict) or not rules.TASK_ID.fullmatch(task_id):
                return 422
            there = rules.Rules(ways)
            there.on_task_dispatch(plan, {})
            forbidden = plan.get("branch") in ("main", "master") and not ways.skips("branch") and not ways.bug("plan-branch-unchecked")
            if ways.bug("plan-unchecked"):
                there.found, forbidden = [], False
            if there.found or forbidden:
                return 422
            known = self.tasks.get(task_id)
            if known and known.plan is not None:
                return 409
            task = self.task_of(task_id)
            task.plan, task.status, task.updated_ms = plan, "awaiting_approval", self.now()
            if ways.bug("dispatch-before-approval"):
                task.approved = True
            self.touch()
            return 201

    def approve(self, task_id):
        with self.lock:
            task = self.tasks.get(task_id)
            if task is None or task.plan is None:
                return 404
            if task.approved and not self.ways.bug("dispatch-before-approval"):
                if self.ways.bug("second-approval-dispatches-again"):
                    task.resumes += 1
                return 200 if self.ways.has("control-again-200") else 409
            if task.suspended:
                return 423
            task.approved, task.updated_ms = True, self.now()
            self.touch()
            return 200

    def control(self, task_id, body):
        ways = self.ways
        with self.lock:
            task = self.tasks.get(task_id)
            if task is None:
                return 404
            kind = body.get("control_type") if isinstance(body, dict) else None
            if kind not in ("RESUME", "STOP"):
                return 422
            again = 200 if ways.has("control-again-200") else 409
            control_id = body.get("control_id")
            if control_id is not None and control_id in [c.get("control_id") for c in task.controls]:
                return again
            task.controls.append(body)
            payload = body.get("payload")
            instruction = payload.get("instruction") if isinstance(payload, dict) else None
            if kind == "STOP":
                task.suspended = True
            else:
                needless = not task.suspended and not task.last
                if needless and again == 409 and not instruction:
                    return again
                if ways.bug("resume-lost") or ways.bug("second-resume-lost") and task.resumes:
                    pass
                elif ways.bug("resume-wakes-every-task"):
                    for other in self.tasks.values():
                        other.suspended, other.resumes = False, other.resumes + 1
                else:
                    task.suspended = False
                task.resumes += 1
                if instruction == "cancel" and not ways.bug("cancel-taken-for-continue"):
                    task.instruction, task.status = "cancel", "cancelled"
            task.updated_ms = self.now()
            self.touch()
            return int(ways.pick("control-status").removeprefix("control-"))

    def ci(self, task_id, body):
        with self.lock:
            if not isinstance(body, dict):
                return 422
            if task_id not in self.tasks:
                if self.ways.has("ci-unknown-404"):
                    return 404
                if not rules.TASK_ID.fullmatch(task_id):
                    return 404
            if not self.ways.bug("ci-forgotten"):
                self.task_of(task_id).ci = body
            if self.ways.bug("ci-shared"):
                for task in self.tasks.values():
                    task.ci = body
            self.touch()
            return 202

    def shown_task(self, task):
        ways = self.ways
        form = ways.pick("task-form")
        record = {"task_id": task.task_id, "updated_at": iso(task.updated_ms or task.created_ms, ways)}
        if form != "task-poor":
            record["suspended"] = task.suspended
            dispatch = task.dispatch or task.plan or {}
            record |= {
                "status": "locked" if task.suspended and task.rejects >= 3 else task.status, "risk_level": dispatch.get("risk_level"),
                "branch": dispatch.get("branch"), "repo": dispatch.get("repo"), "reject_count": task.rejects,
                "lock_state": "halted" if task.suspended else "active", "last_successful_msg_id": task.last,
                "created_at": iso(task.created_ms, ways),
            }  # fmt: skip
        if form == "task-published":
            record = {{"task_id": "id", "reject_count": "qa_retry_count"}.get(k, k): v for k, v in record.items()}
        return ways.change("task-record", record, task)


def escalation(msg_id, role, task, kind, level, affected, text, culprit, snapshot, time, ways, actions=()):
    """An escalation as the choices want it."""
    severity, suspended = level
    trigger = culprit if ways.has("triggered-by-culprit") else role
    message = {
        "msg_id": msg_id, "protocol_version": "AMP/1.0", "type": "escalation", "from": role, "to": "admin", "task_id": task,
        "timestamp": time, "requires_ack": ways.has("escalation-ack-true"),
        "payload": {
            "escalation_type": kind, "severity": severity, "triggered_by": trigger, "description": text, "affected_msgs": list(affected),
            "system_state_snapshot": snapshot, "auto_suspended": suspended,
        },
    }  # fmt: skip
    if ways.has("with-suggestions") and actions:
        message["payload"]["suggested_actions"] = list(actions)
    if ways.has("context-empty"):
        message["context_ref"] = []
    return message

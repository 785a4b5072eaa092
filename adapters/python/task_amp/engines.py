"""The roles as engines: events go in, what the role writes comes out; time passes only when it is told to.

An engine knows what it was fed, as a role knows what it reads in the SSOT. It works on no file: `work` and `review` ask the program
around it to do so, which has to check that `repo` contains .git and to watch `forbidden_actions`.
"""

from __future__ import annotations

import hashlib
import heapq
from dataclasses import dataclass, field

from . import messages, rules, words
from .words import COORDINATOR, DISPATCH, ESCALATION, EXECUTOR, REQUEST, RESULT, REVIEWER, SYSTEM, VERDICT

LOCK_ABOVE = 3  # rejects (E44)
WARN_FROM = 2
LOW_CONFIDENCE = 0.8
WARNING = "Lock is approaching"
ACTOR_NAMES = ("actor", "from", "by", "role")
MSG_ID_NAMES = ("msg_id", "message_id", "ack_of", "ack_for", "ref")


class BadEvent(ValueError):
    """An event that the engine cannot read."""


@dataclass
class Task:
    """What a role knows of a task."""

    task_id: str
    created_ms: int
    status: str = "planned"
    reject_count: int = 0
    is_suspended: bool = False
    is_locked: bool = False
    last_successful: str | None = None
    updated_ms: int = 0
    plan: dict | None = None  # payload of the current dispatch
    dispatch: dict | None = None  # the current dispatch
    request: dict | None = None  # the open review request
    rejections: list = field(default_factory=list)
    results: dict = field(default_factory=dict)  # by subtask
    partials: int = 0
    ci: dict | None = None
    held: list = field(default_factory=list)  # events that wait for the end of the suspension
    waiting: list = field(default_factory=list)  # subtasks that are not worked on yet
    done: list = field(default_factory=list)  # payloads of results that are not sent yet

    def record(self) -> dict:
        plan = self.plan or {}
        return {
            "task_id": self.task_id,
            "status": self.status,
            "risk_level": plan.get("risk_level"),
            "branch": plan.get("branch"),
            "repo": plan.get("repo"),
            "reject_count": self.reject_count,
            "lock_state": "halted" if self.is_locked else "active",
            "suspended": self.is_suspended,
            "last_successful_msg_id": self.last_successful,
            "created_at": words.stamp(self.created_ms),
            "updated_at": words.stamp(self.updated_ms or self.created_ms),
        }


class Engine:
    """What all roles share."""

    role = ""

    def __init__(self, now_ms: int, heartbeat_sec: float = words.HEARTBEAT) -> None:
        self.now_ms, self.heartbeat_ms = now_ms, int(heartbeat_sec * 1000)
        self.tasks: dict[str, Task] = {}
        self.known: dict[str, dict] = {}  # messages by id
        self._outputs: list = []
        self._timers: list = []
        self._started: dict[str, str] = {}  # ids of messages whose acknowledgement is awaited, and their addressees
        self._count = 0

    # --- Events and time ----------------------------------------------------------------------------------------------

    def feed(self, event: object) -> list:
        kind = event.get("kind") if isinstance(event, dict) else None
        handler = getattr(self, f"on_{kind}", None) if isinstance(kind, str) else None
        if handler is None:
            raise BadEvent(f"no event of the kind {kind!r} at the role {self.role}")
        try:
            handler(event)
        except (KeyError, TypeError, AttributeError) as error:
            raise BadEvent(f"not an event of the kind {kind}: {error!r}") from None
        return self._taken()

    def advance(self, ms: int) -> list:
        """Lets time pass; what falls due in it happens at its own time, in order."""
        end = self.now_ms + ms
        while self._timers and self._timers[0][0] <= end:
            due, _, action, argument = heapq.heappop(self._timers)
            self.now_ms = max(self.now_ms, due)
            action(argument)
        self.now_ms = end
        return self._taken()

    def _taken(self) -> list:
        out, self._outputs = self._outputs, []
        return out

    def _later(self, ms: float, action, argument: object) -> None:
        self._count += 1
        heapq.heappush(self._timers, (self.now_ms + int(ms), self._count, action, argument))

    def task(self, task_id: str) -> Task:
        return self.tasks.setdefault(task_id, Task(task_id, self.now_ms))

    # --- Outputs ------------------------------------------------------------------------------------------------------

    def _send(self, type_: str, addressee: str, task: Task, payload: dict, context: list | None = None) -> dict:
        at = self._free_ms(type_, task.task_id)
        message = messages.build(type_, self.role, addressee, task.task_id, payload, at, context_ref=context)
        self.known[message["msg_id"]] = message
        task.updated_ms = self.now_ms
        self._outputs.append({"kind": "message", "message": message})
        return message

    def _free_ms(self, type_: str, task_id: str) -> int:
        """The time of a message id: that of now, or the next that is free if there are two messages in one millisecond (E10)."""
        at = self.now_ms
        while words.msg_id(type_, task_id, at) in self.known:
            at += 1
        return at

    def _acknowledge(self, message: dict, status: str = "received") -> None:
        if message["requires_ack"]:
            self._outputs.append({"kind": "ack", "ack": messages.ack(message, self.role, self.now_ms, status)})

    def _log(self, code: str, path: str, detail: str, body: object) -> None:
        msg_id = body.get("msg_id") if isinstance(body, dict) else None
        entry = {
            "ts": words.stamp(self.now_ms),
            "receiver": self.role,
            "code": code,
            "path": path,
            "detail": detail,
            "msg_id": msg_id if isinstance(msg_id, str) else None,
            "body_sha256": hashlib.sha256(words.encode(body)).hexdigest(),
        }
        self._outputs.append({"kind": "error_log", "entry": entry})

    def _escalate(self, type_: str, task: Task, description: str, affected: list, severity: str = "info", actions: list | None = None) -> dict:
        """Reports to the Admin. Above the level of information the task stops until the Admin resumes it (E56)."""
        payload = {
            "escalation_type": type_,
            "severity": severity,
            "triggered_by": self.role,
            "description": description,
            "affected_msgs": affected,
            "system_state_snapshot": {
                "task_status": task.status,
                "reject_count": task.reject_count,
                "last_successful_msg_id": task.last_successful,
            },
            "auto_suspended": severity != "info",
            **({"suggested_actions": actions} if actions else {}),
        }
        if severity != "info":
            task.is_suspended = True
        return self._send(ESCALATION, words.ADMIN, task, payload)

    # --- Messages -----------------------------------------------------------------------------------------------------

    def on_message(self, event: dict) -> None:
        message = event["message"]
        errors = rules.errors_of(message)
        if errors:
            self._log(errors[0]["code"], errors[0]["path"], f"refused: {len(errors)} errors", message)
            self._refused(message, errors)
            return
        known = self.known.get(message["msg_id"])
        if known is not None:
            # Another message under the same id does not replace the first; a repeated one is not acted on again (E10).
            if known != message:
                self._log("duplicate_msg_id", "/msg_id", "the id is that of another message", message)
            return
        self.known[message["msg_id"]] = message
        task = self.task(message["task_id"])
        self._seen(task, message)
        if message["type"] == ESCALATION:
            if message["payload"]["severity"] == "critical":
                task.is_suspended = True
        elif message["to"] == self.role:
            self._held_or(task, message, self._receive)

    def _held_or(self, task: Task, item: dict, action) -> None:
        """Does it now, or once the Admin has ended the suspension of the task."""
        if task.is_suspended:
            task.held.append((action, item))
        else:
            action(task, item)

    def _refused(self, message: object, errors: list) -> None:
        """A role may have more to do than to log."""

    def _seen(self, task: Task, message: dict) -> None:
        """Every valid message, to any addressee."""

    def _receive(self, task: Task, message: dict) -> None:
        """A valid message to this role, about a task that is not suspended."""

    # --- Acknowledgements ---------------------------------------------------------------------------------------------

    def _await(self, message: dict) -> None:
        seconds = words.timeout_of(message)
        if seconds is not None:
            self._started[message["msg_id"]] = message["to"]
            self._later(seconds * 1000, self._unacknowledged, message)

    def _unacknowledged(self, message: dict) -> None:
        task = self.task(message["task_id"])
        if self._started.pop(message["msg_id"], None) is None:
            return
        if task.is_suspended:  # halted agents do not acknowledge: the time starts anew with the work
            task.held.append((lambda _, message: self._await(message), message))
            return
        text = f"{message['to']} has not acknowledged {message['msg_id']} within {words.timeout_of(message)} s"
        self._escalate("ack_timeout", task, text, [message["msg_id"]], actions=["Check the agent", "Reissue the message"])

    def on_ack(self, event: dict) -> None:
        ack = event["ack"]
        named = next((ack[name] for name in MSG_ID_NAMES if name in ack), None)
        actor = next((ack[name] for name in ACTOR_NAMES if name in ack), None)
        # An acknowledgement of another than the addressee does not count (E20).
        if isinstance(named, str) and self._started.get(named) == actor:
            del self._started[named]
        self._wrote(actor, ack.get("task_id"))

    def on_ssot_write(self, event: dict) -> None:
        self._wrote(event["actor"], event.get("task_id"))

    def _wrote(self, actor: object, task_id: object) -> None:
        """A sign of life."""

    # --- The Admin ----------------------------------------------------------------------------------------------------

    def on_control(self, event: dict) -> None:
        task, type_ = self.task(event["task_id"]), event["control_type"]
        if event["actor"] != words.ADMIN:
            self._log("writer_mismatch", "/actor", "only the Admin controls a task", event)
            return
        if type_ == "STOP":
            task.is_suspended = True
        elif type_ == "RESUME":
            instruction = (event.get("payload") or {}).get("instruction", "continue")
            held, task.held = task.held, []
            task.is_suspended = task.is_locked = False
            if instruction == "cancel":
                task.status, task.waiting, task.done, task.dispatch, task.request = "cancelled", [], [], None, None
                self._started = {name: actor for name, actor in self._started.items() if self.known[name]["task_id"] != task.task_id}
                return
            for action, item in held:
                self._held_or(task, item, action)
        else:
            raise BadEvent(f"unknown control {type_!r}")


class Executor(Engine):
    role = EXECUTOR

    def _refused(self, message: object, errors: list) -> None:
        if not any(error["code"] == "branch_forbidden" for error in errors) or not isinstance(message, dict):
            return
        parts = words.parts_of(message.get("msg_id"))
        if parts and parts[0] == DISPATCH and message.get("to") == self.role:
            text = f"The dispatch {message['msg_id']} names the branch {message['payload']['branch']}, which is protected."
            self._escalate("branch_violation", self.task(parts[1]), text, [message["msg_id"]], actions=["Reissue it with a feature branch"])

    def _receive(self, task: Task, message: dict) -> None:
        # A new dispatch ends the waiting state and takes the place of an open one.
        task.dispatch, task.plan, task.status, task.done = message, message["payload"], "executing", []
        task.waiting = [subtask["subtask_id"] for subtask in message["payload"]["subtasks"]]
        task.last_successful = message["msg_id"]
        self._acknowledge(message, "started")
        self._work(task)

    def _work(self, task: Task) -> None:
        if task.waiting:
            self._outputs.append({"kind": "work", "task_id": task.task_id, "subtask_id": task.waiting[0]})

    def on_work_done(self, event: dict) -> None:
        named = event.get("task_id")
        tasks = [self.tasks[named]] if named is not None else self.tasks.values()
        task = next((task for task in tasks if task.waiting[:1] == [event["subtask_id"]]), None)
        if task is None:
            raise BadEvent("no work on this subtask is open")
        self._held_or(task, event, self._finish)

    def _finish(self, task: Task, event: dict) -> None:
        """All work is done before the first result is sent: afterwards the branch stays untouched (E78)."""
        assert task.dispatch is not None and task.plan is not None
        criteria, outcome = task.plan["acceptance_criteria"], event["outcome"]
        payload = {
            "subtask_id": event["subtask_id"],
            "completion_status": outcome,
            "diff_summary": {
                "files_changed": event.get("files_changed", []),
                "lines_added": event.get("lines_added", 0),
                "lines_removed": event.get("lines_removed", 0),
            },
            # What was not verified is null, not true.
            "self_assessment": {
                "criteria_met": event.get("criteria_met", [None] * len(criteria)),
                "notes": event.get("notes", ["Left to the review."] * len(criteria)),
            },
            "work_log": event.get("work_log", []),
            **{name: event[name] for name in ("commit_hash", "blockers") if event.get(name) is not None},
        }
        if outcome != "complete":
            payload.setdefault("blockers", ["The work stopped without a stated reason."])
        errors = rules.payload_errors(RESULT, payload) or rules.unaligned(RESULT, payload, task.plan)
        if errors:
            raise messages.Invalid(errors)
        task.waiting.pop(0)
        task.done.append(payload)
        if task.waiting:
            self._work(task)
            return
        task.status = "awaiting_review"
        for payload in task.done:
            self._send(RESULT, COORDINATOR, task, payload, [task.dispatch["msg_id"]])
        task.done = []


class Coordinator(Engine):
    role = COORDINATOR

    def on_plan(self, event: dict) -> None:
        task, plan = self.task(event["task_id"]), event["plan"]
        errors = rules.payload_errors(DISPATCH, plan)
        if errors:
            self._log(errors[0]["code"], errors[0]["path"], "the plan cannot be dispatched", plan)
            return
        task.plan, task.status = plan, "awaiting_approval"

    def on_approve(self, event: dict) -> None:
        self._held_or(self.task(event["task_id"]), event, self._approved)

    def _approved(self, task: Task, event: dict) -> None:
        if task.status == "awaiting_approval":
            assert task.plan is not None
            self._dispatch(task, task.plan, [])

    def on_ci(self, event: dict) -> None:
        self.task(event["task_id"]).ci = event["status"]

    def _dispatch(self, task: Task, plan: dict, context: list) -> None:
        task.results, task.request, task.status = {}, None, "dispatched"
        task.dispatch = self._send(DISPATCH, EXECUTOR, task, plan, context)
        self._await(task.dispatch)

    def _again(self, task: Task, reason: str, context: list) -> None:
        """The plan once more, with what there is to repair."""
        assert task.plan is not None
        self._dispatch(task, {**task.plan, "description": f"{task.plan['description']}\n\n{reason}"}, context)

    def _receive(self, task: Task, message: dict) -> None:
        self._result(task, message) if message["type"] == RESULT else self._verdict(task, message)

    def _result(self, task: Task, message: dict) -> None:
        payload = message["payload"]
        errors = rules.unaligned(RESULT, payload, task.dispatch["payload"]) if task.dispatch else [{"code": "unknown_task", "path": "/task_id"}]
        if errors:  # an uninvited result (E69)
            self._log(errors[0]["code"], errors[0]["path"], "it answers no dispatch", message)
            return
        self._acknowledge(message)
        task.last_successful = message["msg_id"]
        status, subtask = payload["completion_status"], payload["subtask_id"]
        if status == "complete":
            task.results[subtask] = message
            if len(task.results) == len(task.dispatch["payload"]["subtasks"]) and task.request is None:
                self._completed(task, message)
            return
        reasons = "; ".join(payload["blockers"])
        if status == "partial" and task.partials == 0:
            task.partials += 1
            self._again(task, f"The work was partial: {reasons}", [message["msg_id"]])
        else:
            task.status = status
            self._escalate("unknown", task, f"The subtask {subtask} is {status}: {reasons}", [message["msg_id"]], "warning", ["Reissue the task", "Terminate it"])

    def _completed(self, task: Task, message: dict) -> None:
        if (task.ci or {}).get("xcode_cloud") == "failed":
            self._again(task, "The CI failed: repair its errors.", [message["msg_id"]])
            return
        assert task.dispatch is not None
        plan = task.dispatch["payload"]
        payload = {
            "original_dispatch_ref": task.dispatch["msg_id"],
            "task_result_ref": message["msg_id"],
            "review_scope": "full",
            "diff_url": f"{plan['repo']}/.git/{message['msg_id']}.diff",
            "reject_count": task.reject_count,
        }
        if task.reject_count >= WARN_FROM:
            payload["coordinator_notes"] = f"{WARNING}: {task.reject_count} rejects."
        if task.ci is not None:
            payload["ci_status"] = task.ci
        results = [result["msg_id"] for result in task.results.values()]
        task.request = self._send(REQUEST, REVIEWER, task, payload, [task.dispatch["msg_id"], *results])
        task.status = "in_review"
        self._await(task.request)

    def _verdict(self, task: Task, message: dict) -> None:
        if task.request is None:
            self._log("unresolved_ref", "/task_id", "no review was asked for", message)
            return
        self._acknowledge(message)
        task.last_successful, task.request = message["msg_id"], None
        payload = message["payload"]
        if payload["decision"] != "rejected":
            task.status = "approved"
            return
        task.reject_count, task.status = task.reject_count + 1, "rejected"
        task.rejections.append(message["msg_id"])
        if payload["confidence"] < LOW_CONFIDENCE:
            text = f"The verdict {message['msg_id']} has a confidence of {payload['confidence']}; it is forwarded to the Executor."
            self._escalate("unknown", task, text, [message["msg_id"]])
        if task.reject_count > LOCK_ABOVE:
            task.is_locked, task.status = True, "locked"
            assert task.dispatch is not None
            text = f"{task.task_id} was rejected {task.reject_count} times. It is suspended."
            affected = [task.dispatch["msg_id"], *task.rejections]
            self._escalate("hallucination_lock", task, text, affected, "critical", ["Review the diff", "Split the task", "Terminate it"])
            task.held.append((self._forward, message))
        else:
            self._forward(task, message)

    def _forward(self, task: Task, message: dict) -> None:
        issues = "; ".join(f"{issue['file']}: {issue['description']} ({issue['suggested_fix']})" for issue in message["payload"]["issues"])
        self._again(task, f"The review rejected the work: {issues}", [message["msg_id"]])


class Reviewer(Engine):
    role = REVIEWER

    def _receive(self, task: Task, message: dict) -> None:
        payload = message["payload"]
        refs = [payload["original_dispatch_ref"], payload["task_result_ref"]]
        missing = [ref for ref in refs if ref not in self.known]
        if missing:
            self._log("unresolved_ref", "/payload/original_dispatch_ref", f"not readable: {', '.join(missing)}", message)
            text = f"The review of {message['msg_id']} is not possible: {', '.join(missing)} cannot be read."
            self._escalate("unknown", task, text, [message["msg_id"]], actions=["Store the messages and ask again"])
            return
        task.request, task.status, task.reject_count = message, "in_review", payload["reject_count"]
        task.dispatch, task.last_successful = self.known[refs[0]], message["msg_id"]
        self._acknowledge(message)
        self._outputs.append({"kind": "review", "task_id": task.task_id})

    def on_review_done(self, event: dict) -> None:
        task = self.tasks.get(event["task_id"])
        if task is None or task.request is None:
            raise BadEvent("no review of this task is open")
        self._held_or(task, event, self._judge)

    def _judge(self, task: Task, event: dict) -> None:
        assert task.dispatch is not None and task.request is not None
        decision = event["decision"]
        results = [
            {"criterion": criterion, "passed": decision != "rejected", "evidence": "The work was judged as a whole."}
            for criterion in task.dispatch["payload"]["acceptance_criteria"]
        ]
        payload = {"decision": decision, "criteria_results": event.get("criteria_results", results), "confidence": event["confidence"]}
        payload.update({name: event[name] for name in ("issues", "direct_fixes", "architecture_notes") if event.get(name)})
        errors = rules.payload_errors(VERDICT, payload) or rules.unaligned(VERDICT, payload, task.dispatch["payload"])
        if errors:
            raise messages.Invalid(errors)
        self._send(VERDICT, COORDINATOR, task, payload, [task.request["msg_id"]])
        task.request, task.status = None, decision


class System(Engine):
    """Watches all: acknowledgements that are missing, and agents that are silent (E62)."""

    role = SYSTEM

    def __init__(self, now_ms: int, heartbeat_sec: float = words.HEARTBEAT) -> None:
        super().__init__(now_ms, heartbeat_sec)
        self._open: dict[tuple[str, str], str] = {}  # agent and task, and the message with the assignment
        self._last: dict[tuple[str, str], int] = {}

    def _seen(self, task: Task, message: dict) -> None:
        self._wrote(message["from"], task.task_id)
        if message["type"] == ESCALATION:
            return
        task.last_successful = message["msg_id"]
        self._await(message)
        if message["type"] in (DISPATCH, REQUEST):
            at = (message["to"], task.task_id)
            self._open[at], self._last[at] = message["msg_id"], self.now_ms
            self._later(self.heartbeat_ms, self._silent, (*at, self.now_ms))
        else:
            self._open.pop((message["from"], task.task_id), None)

    def _wrote(self, actor: object, task_id: object) -> None:
        for at in self._open:
            if at[0] == actor:
                self._last[at] = self.now_ms
                self._later(self.heartbeat_ms, self._silent, (*at, self.now_ms))

    def _silent(self, at: tuple) -> None:
        agent, task_id, since = at
        # A later write, or the end of the assignment, has made this timer void.
        if self._last.get((agent, task_id)) != since or (agent, task_id) not in self._open:
            return
        task = self.task(task_id)
        if task.is_suspended:
            self._later(self.heartbeat_ms, self._silent, at)
            return
        del self._last[(agent, task_id)]  # one report
        text = f"The {agent} has written nothing for {self.heartbeat_ms // 60_000} minutes."
        self._escalate("heartbeat_timeout", task, text, [self._open[(agent, task_id)]], actions=["Restart the agent"])


ROLES = {engine.role: engine for engine in (Coordinator, Executor, Reviewer, System)}

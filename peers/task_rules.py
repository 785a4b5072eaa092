"""Reading JSON, and the rules for envelopes and payloads, from the catalogue and the rulings.

`problems` returns what is wrong with a message, as (rule, code, path, text). A rule has a name such as
`task_dispatch.branch.type`, by which a bug can leave it out.
"""

import json
import re
from datetime import datetime, timedelta, timezone

TYPES = ("task_dispatch", "task_result", "review_request", "review_verdict", "escalation")
WORKING = TYPES[:4]
ROLES = ("coordinator", "executor", "reviewer", "system")
ROUTES = {
    "task_dispatch": (("coordinator",), "executor"),
    "task_result": (("executor",), "coordinator"),
    "review_request": (("coordinator",), "reviewer"),
    "review_verdict": (("reviewer",), "coordinator"),
    "escalation": (ROLES, "admin"),
}
TIMEOUTS = {"task_dispatch": 300, "task_result": 120, "review_request": 600, "review_verdict": 60}
ESCALATION_TYPES = (
    "hallucination_lock", "ack_timeout", "branch_violation", "ci_failure", "conflict", "heartbeat_timeout", "permission_denied",
    "unknown",
)  # fmt: skip
FIX_TYPES = ("typo", "lint", "whitespace", "import", "import_order")

MSG_ID = re.compile(rf"({'|'.join(TYPES)})-(T-[0-9]{{4}}-[0-9]{{3,}})-([0-9]+)")
TASK_ID = re.compile(r"T-[0-9]{4}-[0-9]{3,}")
TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?(Z|[+-]\d\d(?::\d\d|\d\d)?)?", re.ASCII)


def read(data):
    """The value of a body. Raises ValueError."""

    def constant(word):
        raise ValueError(word)

    try:
        return json.loads(data.decode("utf-8"), parse_constant=constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def same(one, other):
    """Equality of JSON values: numbers by value, booleans apart."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(v, other[k]) for k, v in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other or isinstance(one, (int, float)) and isinstance(other, (int, float)) and one == other


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_integer(value, ways):
    if isinstance(value, float):
        return value.is_integer() and ways.takes("zero-fractions")
    return isinstance(value, int) and not isinstance(value, bool)


def instant(text, needs_offset=True, bare_offsets=True):
    """The moment of an ISO 8601 time, or None."""
    found = TIME.fullmatch(text) if isinstance(text, str) else None
    if not found:
        return None
    offset = found[7]
    if offset is None:
        if needs_offset:
            return None
        offset = "Z"
    if offset != "Z" and ":" not in offset and not bare_offsets:
        return None
    try:
        zone = timezone.utc
        if offset != "Z":
            digits = offset[1:].replace(":", "").ljust(4, "0")
            shift = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
            if int(digits[2:]) > 59:
                return None
            zone = timezone(-shift if offset[0] == "-" else shift)
        parts = [int(found[n] or 0) for n in range(1, 7)]
        return datetime(*parts, tzinfo=zone)
    except ValueError:
        return None


def id_parts(text):
    """(type, task, digits) of a msg_id, or None."""
    found = MSG_ID.fullmatch(text) if isinstance(text, str) else None
    return found.groups() if found else None


class Rules:
    """The rules for one message. `store` answers `record(msg_id)`, `has_task(id)` and `dispatches(id)`; None for a check without context."""

    def __init__(self, ways, store=None):
        self.ways, self.store, self.found = ways, store, []

    def bad(self, rule, code, path, text):
        if not self.ways.skips(rule):
            self.found.append((rule, code, path, text))
        return None

    # --- Parts of objects ------------------------------------------------------------------------------------------

    def member(self, holder, rule, path, name, kind, needed=True):
        """The member if it is there with its type, else None. `kind` is a function and a word."""
        test, word = kind
        value = holder.get(name)
        if value is None:
            if name in holder and not needed and not self.ways.takes("null-options"):
                self.bad(f"{rule}.{name}.null", "wrong_type", f"{path}/{name}", "null")
            elif needed:
                null = name in holder
                if null and self.ways.bug("null-counts-as-present"):
                    return None
                self.bad(f"{rule}.{name}.missing", "missing_field", f"{path}/{name}", f"{name} is required")
            return None
        if not test(value):
            return self.bad(f"{rule}.{name}.type", "wrong_type", f"{path}/{name}", f"{name} is not {word}")
        return value

    def text(self, holder, rule, path, name, needed=True, blank=False):
        value = self.member(holder, rule, path, name, (lambda v: isinstance(v, str), "a text"), needed)
        if value is not None and not value.strip() and not blank:
            self.bad(f"{rule}.{name}.blank", "bad_format", f"{path}/{name}", f"{name} is empty")
        return value

    def integer(self, holder, rule, path, name, needed=True):
        return self.member(holder, rule, path, name, (lambda v: is_integer(v, self.ways), "an integer"), needed)

    def object(self, holder, rule, path, name, needed=True):
        return self.member(holder, rule, path, name, (lambda v: isinstance(v, dict), "an object"), needed)

    def array(self, holder, rule, path, name, needed=True):
        return self.member(holder, rule, path, name, (lambda v: isinstance(v, list), "an array"), needed)

    def flag(self, holder, rule, path, name):
        return self.member(holder, rule, path, name, (lambda v: isinstance(v, bool), "a boolean"))

    def texts(self, holder, rule, path, name, needed=True, also=()):
        """An array of texts; `also` are other values that may stand in it."""
        values = self.array(holder, rule, path, name, needed)
        for n, value in enumerate(values or ()):
            if self.ways.bug("first-entry-checked") and n:
                break
            if not isinstance(value, str) and value not in also:
                self.bad(f"{rule}.{name}.entries", "wrong_type", f"{path}/{name}/{n}", "not a text")
        return values

    def one_of(self, holder, rule, path, name, words):
        value = self.member(holder, rule, path, name, (lambda v: isinstance(v, str), "a text"))
        if value is not None and value not in words:
            folded = self.ways.bug("enums-ignore-case") and value.lower() in words
            if not folded:
                self.bad(f"{rule}.{name}.enum", "bad_enum", f"{path}/{name}", f"{value!r} is not one of {', '.join(words)}")
        return value

    def entries(self, holder, rule, path, name, needed=True):
        """(path, object) of each entry of an array of objects."""
        values = self.array(holder, rule, path, name, needed)
        made = []
        for n, value in enumerate(values or ()):
            if n and self.ways.bug("second-entry-unchecked"):
                break
            if n == len(values) - 1 and n and self.ways.bug("last-entry-unchecked"):
                break
            place = f"{path}/{name}/{n}"
            if isinstance(value, dict):
                made.append((place, value))
            else:
                self.bad(f"{rule}.{name}.entries", "wrong_type", place, "not an object")
        return made

    # --- The envelope ----------------------------------------------------------------------------------------------

    def message(self, message):
        ways = self.ways
        kind = self.one_of(message, "envelope", "", "type", TYPES)
        msg_id = self.member(message, "envelope", "", "msg_id", (lambda v: isinstance(v, str), "a text"))
        version = self.member(message, "envelope", "", "protocol_version", (lambda v: isinstance(v, str), "a text"))
        if version is not None and version != "AMP/1.0" and not (version == "AMP/1.1" and ways.takes("version-1.1")):
            if not (
                ways.bug("version-prefix-match") and version.startswith("AMP/")
                or ways.bug("version-case-folded") and version.upper() == "AMP/1.0"
                or ways.bug("version-trimmed") and version.strip() == "AMP/1.0"
                or ways.bug("older-versions-taken") and version.startswith("AMP/0.")
            ):  # fmt: skip
                self.bad("envelope.protocol_version.value", "incompatible_version", "/protocol_version", f"{version!r} is not AMP/1.0")
        task = self.member(message, "envelope", "", "task_id", (lambda v: isinstance(v, str), "a text"))
        task_form = self.task_form(task)
        if task is not None and not task_form:
            self.bad("envelope.task_id.form", "bad_format", "/task_id", "not T-YYYY-NNN")
        self.id_form(msg_id, kind, task)
        self.route(message, kind)
        time = self.member(message, "envelope", "", "timestamp", (lambda v: isinstance(v, str), "a text"))
        if time is not None:
            self.timestamp(time)
        needs_ack = self.member(message, "envelope", "", "requires_ack", (lambda v: isinstance(v, bool), "a boolean"))
        if needs_ack is False and kind in WORKING and not ways.takes("ack-false"):
            self.bad("envelope.requires_ack.false", "bad_format", "/requires_ack", f"{kind} requires an ACK")
        timeout = self.integer(message, "envelope", "", "ack_timeout_sec", needed=False)
        if timeout is not None and timeout <= 0 and not ways.takes("useless-timeouts"):
            self.bad("envelope.ack_timeout_sec.range", "out_of_range", "/ack_timeout_sec", "not above zero")
        context = self.texts(message, "envelope", "", "context_ref", needed=False)
        for n, entry in enumerate(context or ()):
            if not isinstance(entry, str):
                continue
            if not self.well_formed(entry):
                if not ways.takes("odd-context"):
                    self.bad("envelope.context_ref.form", "bad_format", f"/context_ref/{n}", "not a msg_id")
            elif self.store and not ways.takes("unresolved-context") and entry.split("-")[2:4] == str(task).split("-")[1:]:
                if not self.store.record(entry):
                    self.bad("envelope.context_ref.resolve", "unresolved_ref", f"/context_ref/{n}", "not in the store")
        payload = self.object(message, "envelope", "", "payload")
        known = {
            "msg_id", "protocol_version", "type", "from", "to", "task_id", "timestamp", "requires_ack", "ack_timeout_sec", "context_ref",
            "payload",
        }  # fmt: skip
        if not ways.takes("extra-members") and set(message) - known:
            self.bad("envelope.extra", "bad_format", "/" + min(set(message) - known), "unknown member")
        if payload is not None and kind in TYPES:
            self.payload(kind, payload, message)
        return self.found

    def task_form(self, task):
        if not isinstance(task, str):
            return False
        if self.ways.bug("task-id-unanchored"):
            return bool(TASK_ID.search(task))
        if self.ways.bug("task-id-any-case"):
            return bool(TASK_ID.fullmatch(task.upper()))
        if self.ways.bug("task-id-two-digits"):
            return bool(re.fullmatch(r"T-\d{2,4}-\d{2,}", task))
        if not TASK_ID.fullmatch(task):
            return False
        return len(task.split("-")[2]) == 3 or self.ways.takes("long-serials")

    def well_formed(self, msg_id):
        parts = id_parts(msg_id)
        return bool(parts) and (len(parts[2]) == 13 or self.ways.takes("short-tails"))

    def id_form(self, msg_id, kind, task):
        if msg_id is None:
            return
        if self.ways.bug("ids-trimmed"):
            msg_id = msg_id.strip()
        parts = id_parts(msg_id)
        if not parts or not self.well_formed(msg_id):
            if parts is None and self.ways.bug("msg-id-tail-unchecked") and task and re.match(rf"{kind}-{re.escape(task)}-", msg_id):
                return
            self.bad("envelope.msg_id.form", "bad_format", "/msg_id", "not {type}-{task_id}-{unix_ms}")
            return
        if parts[0] != kind:
            self.bad("envelope.msg_id.type", "msg_id_mismatch", "/msg_id", "another type")
        if parts[1] != task:
            self.bad("envelope.msg_id.task", "msg_id_mismatch", "/msg_id", "another task")

    def route(self, message, kind):
        ways = self.ways
        sender = self.one_of(message, "envelope", "", "from", ("admin", *ROLES))
        words = ("admin", "coordinator", "executor", "reviewer")
        if ways.bug("system-addressable"):
            words = (*words, "system")
        to = self.one_of(message, "envelope", "", "to", words)
        if kind not in TYPES or sender not in ("admin", *ROLES) or to not in words:
            return
        senders, addressee = ROUTES[kind]
        allowed = sender in senders and to == addressee
        if sender == "admin":
            if kind == "task_dispatch":
                allowed = to == "coordinator" and ways.takes("admin-plans") or to == "executor" and ways.takes("admin-work")
            elif kind == "review_request":
                allowed = to == "reviewer" and ways.takes("admin-work")
            elif kind == "escalation":
                allowed = to == "admin" and ways.takes("admin-escalations")
        if not allowed:
            if to == "system":
                return
            if ways.bug("routes-both-ways") and to in senders and sender == addressee:
                return
            if ways.bug("any-sender-to-the-addressee") and to == addressee and sender != "admin":
                return
            if ways.bug("any-addressee-of-the-sender") and sender in senders:
                return
            self.bad(f"{kind}.route", "route_not_allowed", "/to", f"{kind} does not go from {sender} to {to}")

    def timestamp(self, text):
        bare = self.ways.takes("bare-offsets")
        if instant(text, bare_offsets=bare):
            return
        if self.ways.bug("naive-timestamp") and instant(text, needs_offset=False):
            return
        if self.ways.bug("calendar-unchecked") and TIME.fullmatch(text) and TIME.fullmatch(text)[7]:
            return
        if self.ways.bug("date-is-enough") and re.fullmatch(r"\d{4}-\d\d-\d\d", text):
            return
        self.bad("envelope.timestamp.form", "bad_format", "/timestamp", "not an ISO 8601 time with an offset")

    # --- Payloads ---------------------------------------------------------------------------------------------------

    def payload(self, kind, payload, message):
        if self.ways.bug("any-payload-fits"):
            for other in TYPES:
                if other != kind:
                    there = Rules(self.ways)
                    getattr(there, "on_" + other)(payload, message)
                    if not there.found:
                        return
        if self.ways.bug("empty-payload-taken") and not payload:
            return
        getattr(self, "on_" + kind)(payload, message)

    def on_task_dispatch(self, p, message):
        ways, rule, at = self.ways, "task_dispatch", "/payload"
        self.text(p, rule, at, "description", blank=ways.takes("blank-texts"))
        repo = self.text(p, rule, at, "repo", blank=True)
        if repo is not None:
            drive = re.match(r"[A-Za-z]:[\\/]", repo) and ways.takes("drive-letters")
            if not repo.startswith("/") and not drive:
                self.bad("task_dispatch.repo.absolute", "bad_format", "/payload/repo", "not an absolute path")
        branch = self.text(p, rule, at, "branch")
        if branch is not None and ways.bug("main-as-substring") and ("main" in branch or "master" in branch):
            self.bad("task_dispatch.branch.substring", "branch_forbidden", "/payload/branch", "a protected branch")
        if branch is not None and ways.bug("main-as-last-segment") and branch.split("/")[-1] in ("main", "master"):
            self.bad("task_dispatch.branch.segment", "branch_forbidden", "/payload/branch", "a protected branch")
        ids = []
        subtasks = self.entries(p, rule, at, "subtasks")
        if isinstance(p.get("subtasks"), list) and not p["subtasks"] and not ways.takes("no-subtasks"):
            self.bad("task_dispatch.subtasks.empty", "bad_format", "/payload/subtasks", "empty")
        for place, subtask in subtasks:
            ids.append(self.text(subtask, "task_dispatch.subtasks", place, "subtask_id"))
            self.text(subtask, "task_dispatch.subtasks", place, "description", blank=ways.takes("blank-texts"))
            self.lines(subtask, "task_dispatch.subtasks", place, "estimated_lines")
        known = [i for i in ids if isinstance(i, str)]
        if len(known) != len(set(known)) and not ways.takes("twin-subtasks"):
            self.bad("task_dispatch.subtasks.unique", "bad_format", "/payload/subtasks", "two subtasks with one id")
        criteria = self.texts(p, rule, at, "acceptance_criteria")
        if isinstance(criteria, list):
            if not criteria:
                self.bad("task_dispatch.acceptance_criteria.empty", "criteria_empty", "/payload/acceptance_criteria", "empty")
            if any(isinstance(c, str) and not c.strip() for c in criteria) and not ways.takes("blank-texts"):
                self.bad("task_dispatch.acceptance_criteria.blank", "bad_format", "/payload/acceptance_criteria", "a blank criterion")
        if ways.bug("risk-free-text"):
            self.text(p, rule, at, "risk_level")
        else:
            self.one_of(p, rule, at, "risk_level", ("low", "medium", "high"))
        self.texts(p, rule, at, "forbidden_actions", needed=False)
        self.object(p, rule, at, "tech_constraints", needed=False)

    def lines(self, holder, rule, path, name):
        """A number of lines; negative and broken ones may be taken."""
        odd = self.ways.takes("odd-counts")
        fits = is_number if odd and name == "estimated_lines" else lambda v: is_integer(v, self.ways)
        value = self.member(holder, rule, path, name, (fits, "an integer"))
        if value is not None and value < 0 and not odd:
            self.bad(f"{rule}.{name}.range", "out_of_range", f"{path}/{name}", "negative")

    def on_task_result(self, p, message):
        ways, rule, at = self.ways, "task_result", "/payload"
        subtask = self.text(p, rule, at, "subtask_id", blank=ways.takes("blank-texts"))
        status = self.one_of(p, rule, at, "completion_status", ("complete", "partial", "failed"))
        diff = self.object(p, rule, at, "diff_summary")
        if diff is not None:
            self.texts(diff, "task_result.diff_summary", "/payload/diff_summary", "files_changed")
            self.lines(diff, "task_result.diff_summary", "/payload/diff_summary", "lines_added")
            self.lines(diff, "task_result.diff_summary", "/payload/diff_summary", "lines_removed")
        own = self.object(p, rule, at, "self_assessment")
        met = notes = None
        if own is not None:
            place = "/payload/self_assessment"
            met = self.array(own, "task_result.self_assessment", place, "criteria_met")
            for n, value in enumerate(met or ()):
                if ways.bug("criteria-met-booleans-only") and not isinstance(value, bool):
                    self.bad("task_result.criteria_met.null", "wrong_type", f"{place}/criteria_met/{n}", "not a boolean")
                elif value is not None and not isinstance(value, bool):
                    self.bad("task_result.criteria_met.entries", "wrong_type", f"{place}/criteria_met/{n}", "not true, false or null")
            notes = self.texts(own, "task_result.self_assessment", place, "notes")
        if isinstance(met, list) and isinstance(notes, list) and len(met) != len(notes) and not ways.takes("unaligned-notes"):
            self.bad("task_result.notes.length", "bad_format", "/payload/self_assessment/notes", "not one for each criterion")
        for place, entry in self.entries(p, rule, at, "work_log"):
            time = self.text(entry, "task_result.work_log", place, "timestamp", blank=True)
            if time is not None and not instant(time, needs_offset=False) and not ways.takes("odd-log-times"):
                self.bad("task_result.work_log.timestamp.form", "bad_format", f"{place}/timestamp", "not ISO 8601")
            for name in ("action", "file", "detail"):
                self.text(entry, "task_result.work_log", place, name, blank=True)
        commit = self.text(p, rule, at, "commit_hash", needed=False, blank=True)
        if commit is not None:
            least = 1 if ways.takes("short-hashes") else 7
            letters = "0-9a-fA-F" if ways.takes("capital-hashes") else "0-9a-f"
            if not re.fullmatch(rf"[{letters}]{{{least},64}}", commit):
                self.bad("task_result.commit_hash.form", "bad_format", "/payload/commit_hash", "not a hash")
        blockers = self.texts(p, rule, at, "blockers", needed=False)
        if status in ("partial", "failed"):
            if blockers is None:
                if p.get("blockers") is None and not (ways.bug("blockers-only-when-failed") and status == "partial") and not (
                    ways.bug("blockers-only-when-partial") and status == "failed"
                ):  # fmt: skip
                    self.bad("task_result.blockers.needed", "blockers_required", "/payload/blockers", f"required with {status}")
            elif not any(isinstance(b, str) and b.strip() for b in blockers) and not ways.takes("no-blockers"):
                self.bad("task_result.blockers.blank", "blockers_required", "/payload/blockers", f"empty with {status}")
        elif status == "complete" and blockers is None and ways.bug("blockers-always-needed"):
            self.bad("task_result.blockers.always", "blockers_required", "/payload/blockers", "required")
        elif status == "complete" and blockers == [] and ways.bug("empty-blockers-refused"):
            self.bad("task_result.blockers.always", "blockers_required", "/payload/blockers", "empty")
        self.against_dispatch(message, subtask, met)

    def against_dispatch(self, message, subtask, met):
        """What only the store can tell of a result."""
        ways, task = self.ways, message.get("task_id")
        if not self.store or not isinstance(task, str):
            return
        if not self.known_task(task):
            return
        dispatches = self.store.dispatches(task)
        if not dispatches:
            if not ways.takes("uninvited"):
                self.bad("task_result.uninvited", "unknown_task", "/task_id", "no dispatch of this task")
            return
        ids = lambda d: [s.get("subtask_id") for s in d["payload"]["subtasks"]]
        owner = next((d for d in reversed(dispatches) if subtask in ids(d)), None)
        if not owner:
            if isinstance(subtask, str) and not ways.takes("unknown-subtasks"):
                self.bad("task_result.subtask_id.known", "unresolved_ref", "/payload/subtask_id", "not dispatched")
            return
        if isinstance(met, list) and len(met) != len(owner["payload"]["acceptance_criteria"]) and not ways.takes("unaligned-criteria"):
            self.bad("task_result.criteria_met.length", "bad_format", "/payload/self_assessment/criteria_met", "not one for each criterion")

    def known_task(self, task):
        if not self.store.has_task(task):
            if not self.ways.takes("unknown-tasks"):
                self.bad("task.known", "unknown_task", "/task_id", "no record of this task")
            return False
        return True

    def on_review_request(self, p, message):
        ways, rule, at = self.ways, "review_request", "/payload"
        task = message.get("task_id")
        for name, kind in (("original_dispatch_ref", "task_dispatch"), ("task_result_ref", "task_result")):
            ref = self.text(p, rule, at, name, blank=True)
            if ref is None:
                continue
            parts = id_parts(ref)
            if not parts or not self.well_formed(ref):
                self.bad(f"review_request.{name}.form", "bad_format", f"/payload/{name}", "not a msg_id")
            elif parts[0] != kind:
                self.bad(f"review_request.{name}.kind", "bad_format", f"/payload/{name}", f"not a {kind}")
            elif parts[1] != task and not ways.takes("foreign-refs"):
                self.bad(f"review_request.{name}.task", "unresolved_ref", f"/payload/{name}", "another task")
            elif self.store and not ways.takes("unreadable-refs") and not self.store.record(ref):
                self.bad(f"review_request.{name}.resolve", "unresolved_ref", f"/payload/{name}", "not in the store")
        self.one_of(p, rule, at, "review_scope", ("full", "incremental"))
        url = self.text(p, rule, at, "diff_url")
        if url and url.strip() and not ways.takes("odd-diff-urls"):
            if not (re.match(r"https?://\S+$", url) or "/" in url and " " not in url or url.endswith((".diff", ".patch"))):
                self.bad("review_request.diff_url.form", "bad_format", "/payload/diff_url", "neither URL nor path")
        count = self.integer(p, rule, at, "reject_count")
        if count is not None and count < 0 and not ways.takes("negative-rejects"):
            self.bad("review_request.reject_count.range", "out_of_range", "/payload/reject_count", "negative")
        self.text(p, rule, at, "coordinator_notes", needed=False, blank=True)
        self.object(p, rule, at, "ci_status", needed=False)
        if self.store and isinstance(task, str):
            self.known_task(task)

    def on_review_verdict(self, p, message):
        ways, rule, at = self.ways, "review_verdict", "/payload"
        decision = self.one_of(p, rule, at, "decision", ("approved", "approved_with_fix", "rejected"))
        results = self.entries(p, rule, at, "criteria_results")
        if p.get("criteria_results") == [] and not ways.takes("no-results"):
            self.bad("review_verdict.criteria_results.empty", "bad_format", "/payload/criteria_results", "empty")
        for place, entry in results:
            self.text(entry, "review_verdict.criteria_results", place, "criterion", blank=True)
            if not (entry.get("passed", 1) is None and ways.takes("passed-null")):
                self.flag(entry, "review_verdict.criteria_results", place, "passed")
            self.text(entry, "review_verdict.criteria_results", place, "evidence", blank=True)
        issues = self.array(p, rule, at, "issues", needed=False)
        if decision == "rejected" and not issues and p.get("issues") in (None, []):
            empty = p.get("issues") == []
            if not (empty and ways.bug("empty-issues-taken")):
                self.bad("review_verdict.issues.needed", "issues_required", "/payload/issues", "required with rejected")
        if decision == "approved" and not issues and ways.bug("issues-always-needed"):
            self.bad("review_verdict.issues.always", "issues_required", "/payload/issues", "required")
        blocking = False
        for place, issue in self.entries(p, rule, at, "issues", needed=False):
            if ways.bug("severities-mixed-up"):
                severity = self.one_of(issue, "review_verdict.issues", place, "severity", ("critical", "major", "minor", "warning", "info"))
            else:
                severity = self.one_of(issue, "review_verdict.issues", place, "severity", ("critical", "major", "minor"))
            blocking = blocking or severity in ("critical", "major")
            if severity == "minor" and decision == "approved" and ways.bug("minor-issue-blocks"):
                blocking = True
            for name in ("file", "description", "suggested_fix"):
                self.text(issue, "review_verdict.issues", place, name, blank=True)
            if "line" not in issue:
                self.bad("review_verdict.issues.line.missing", "missing_field", f"{place}/line", "line is required")
            elif issue["line"] in (None, 0) and not isinstance(issue["line"], bool) and ways.takes("line-zero"):
                pass
            elif not is_integer(issue["line"], ways) or issue["line"] == 0:
                self.bad("review_verdict.issues.line.type", "wrong_type", f"{place}/line", "not a number of a line")
        if decision == "approved" and blocking and not (ways.takes("blocked-approvals") and not ways.bug("minor-issue-blocks")):
            self.bad("review_verdict.issues.blocking", "bad_format", "/payload/issues", "approved with a blocking issue")
        self.fixes(p, decision)
        self.text(p, rule, at, "architecture_notes", needed=False, blank=True)
        number = (is_number, "a number")
        if ways.bug("confidence-as-text"):
            number = (lambda v: is_number(v) or isinstance(v, str) and bool(re.fullmatch(r"[0-9.]+", v)), "a number")
        confidence = self.member(p, rule, at, "confidence", number)
        if is_number(confidence):
            low, high = (0, 100) if ways.bug("confidence-in-percent") else (0, 1)
            if ways.bug("confidence-borders-excluded"):
                if not low < confidence < high:
                    self.bad("review_verdict.confidence.range.open", "out_of_range", "/payload/confidence", "not between 0 and 1")
            elif not low <= confidence <= high:
                if not (ways.bug("confidence-rounded") and low <= round(confidence, 1) <= high):
                    self.bad("review_verdict.confidence.range", "out_of_range", "/payload/confidence", "not between 0 and 1")
        self.invited(message)

    def invited(self, message):
        task = message.get("task_id")
        if not self.store or not isinstance(task, str) or not self.known_task(task):
            return
        if not self.ways.takes("uninvited") and not self.store.requests(task):
            self.bad("review_verdict.uninvited", "unresolved_ref", "/task_id", "no request of this task")

    def fixes(self, p, decision):
        ways, rule, at = self.ways, "review_verdict", "/payload"
        fixes = self.array(p, rule, at, "direct_fixes", needed=False)
        if decision == "approved_with_fix" and fixes is None and p.get("direct_fixes") is None:
            self.bad("review_verdict.direct_fixes.needed", "direct_fixes_required", "/payload/direct_fixes", "required")
        if decision == "approved_with_fix" and fixes == [] and not ways.takes("no-fixes"):
            self.bad("review_verdict.direct_fixes.empty", "direct_fixes_required", "/payload/direct_fixes", "empty")
        if decision != "approved_with_fix" and ways.takes("idle-fixes"):
            return
        total = 0
        for place, fix in self.entries(p, rule, at, "direct_fixes", needed=False):
            self.text(fix, "review_verdict.direct_fixes", place, "file", blank=True)
            words = FIX_TYPES
            if ways.bug("import-order-unknown"):
                words = FIX_TYPES[:4]
            if ways.bug("import-unknown"):
                words = ("typo", "lint", "whitespace", "import_order")
            kind = self.text(fix, "review_verdict.direct_fixes", place, "change_type", blank=True)
            if kind is not None and kind not in words and not (ways.bug("enums-ignore-case") and kind.lower() in words):
                self.bad("review_verdict.direct_fixes.change_type.enum", "fix_out_of_range", f"{place}/change_type", "not a small repair")
            lines = self.integer(fix, "review_verdict.direct_fixes", place, "diff_lines")
            if lines is None:
                continue
            total += lines
            most = 5 if ways.bug("fix-limit-inclusive") else 4
            if ways.bug("fix-limit-exclusive-4"):
                most = 3
            if lines > most or ways.bug("fix-lines-summed") and total > most:
                self.bad("review_verdict.direct_fixes.diff_lines.range", "fix_out_of_range", f"{place}/diff_lines", "not below 5")
            if lines <= 0 and not ways.takes("no-diff-lines"):
                self.bad("review_verdict.direct_fixes.diff_lines.low", "fix_out_of_range", f"{place}/diff_lines", "not above 0")

    def on_escalation(self, p, message):
        ways, rule, at = self.ways, "escalation", "/payload"
        words = ESCALATION_TYPES
        if ways.bug("conflict-type-unknown"):
            words = tuple(w for w in words if w != "conflict")
        self.one_of(p, rule, at, "escalation_type", words)
        words = ("critical", "warning", "info")
        if ways.bug("severities-mixed-up"):
            words = (*words, "major", "minor")
        severity = self.one_of(p, rule, at, "severity", words)
        words = (*ROLES, "admin") if ways.bug("triggered-by-admin") else ROLES
        trigger = self.one_of(p, rule, at, "triggered_by", words)
        if trigger in ROLES and trigger != message.get("from") and not ways.takes("other-triggers"):
            self.bad("escalation.triggered_by.other", "bad_format", "/payload/triggered_by", "another role than from")
        self.text(p, rule, at, "description", blank=ways.takes("blank-texts"))
        affected = self.texts(p, rule, at, "affected_msgs")
        for n, entry in enumerate(affected or ()):
            if isinstance(entry, str) and not self.well_formed(entry) and not ways.takes("odd-affected"):
                self.bad("escalation.affected_msgs.form", "bad_format", f"/payload/affected_msgs/{n}", "not a msg_id")
        snapshot = self.object(p, rule, at, "system_state_snapshot")
        if snapshot is not None:
            place = "/payload/system_state_snapshot"
            self.text(snapshot, "escalation.snapshot", place, "task_status", blank=True)
            self.integer(snapshot, "escalation.snapshot", place, "reject_count")
            if "last_successful_msg_id" not in snapshot:
                self.bad("escalation.snapshot.last_successful_msg_id.missing", "missing_field", f"{place}/last_successful_msg_id", "missing")
            elif not isinstance(snapshot["last_successful_msg_id"], (str, type(None))):
                self.bad("escalation.snapshot.last_successful_msg_id.type", "wrong_type", f"{place}/last_successful_msg_id", "not an id")
        self.texts(p, rule, at, "suggested_actions", needed=False)
        suspended = self.flag(p, rule, at, "auto_suspended")
        if suspended is False and severity == "critical":
            self.bad("escalation.auto_suspended.critical", "suspend_required", "/payload/auto_suspended", "false with critical")
        if suspended is False and severity == "warning" and not ways.takes("warning-running"):
            self.bad("escalation.auto_suspended.warning", "suspend_required", "/payload/auto_suspended", "false with warning")


def problems(message, ways, store=None):
    """(rule, code, path, text) of each problem."""
    if not isinstance(message, dict):
        return [("envelope", "not_an_object", "", "not an object")]
    return Rules(ways, store).message(message)


def forbidden(message):
    """Whether a dispatch is for a protected branch (E26)."""
    payload = message.get("payload")
    return message.get("type") == "task_dispatch" and isinstance(payload, dict) and payload.get("branch") in ("main", "master")

"""Typical bugs of implementations of task-amp, one at a time. Each names the requirements that it breaks, at least one of which has to fail.

A bug is
- a rule that is left out (`skip`, by the name of the rule in task_rules.py),
- a change to something that comes in, is stored, is shown or goes out (`place`, `change`),
- or a place in the peer that checks `bug(name)`.

`side`: the part that has it and the kind of target that shows it: `bus` (kind ssot), `coordinator`, `executor`, `reviewer` (kind
bundle with this role), `all` (bundle with all roles), or with `hosted-` before it (kind role: proofmark hosts the store). `profile`:
a lenient run need not detect `strict` ones. `binding`: it stands under this or nearly this name in section 14 of the binding.
"""

import copy as copies
from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    name: str
    about: str
    breaks: tuple
    side: str = "bus"
    profile: str = "lenient"
    binding: bool = False
    needs: tuple = ()
    skip: tuple = ()
    place: str = ""
    change: object = None
    slow: bool = False

    def row(self):
        return {
            "name": self.name, "about": self.about, "breaks": list(self.breaks), "side": self.side, "profile": self.profile,
            "binding": self.binding, "needs": list(self.needs), "slow": self.slow,
        }  # fmt: skip


MUTANTS = {}


def bug(name, about, breaks, **more):
    assert name not in MUTANTS, name
    MUTANTS[name] = Mutant(name, about, tuple("TASK-" + b for b in breaks.split()), **more)


def skip(name, rules, about, breaks, **more):
    bug(name, about, breaks, skip=tuple(rules.split()), **more)


def changed(place, name, about, breaks, **more):
    """The function gets the value, the ways and the context, and returns the new value, or None for no change."""

    def keep(function):
        bug(name, about, breaks, place=place, change=function, **more)
        return function

    return keep


OLD = {"binding": True}
COORDINATOR, EXECUTOR, REVIEWER = {"side": "coordinator"}, {"side": "executor"}, {"side": "reviewer"}

# --- The envelope on receipt ------------------------------------------------------------------------------------------

skip("timestamp-optional", "envelope.timestamp.missing", "Forgets that timestamp is required.", "00.1-22", **OLD)
skip("version-optional", "envelope.protocol_version.missing", "Takes messages without protocol_version.", "00.1-10")
skip("requires-ack-optional", "envelope.requires_ack.missing", "Takes messages without requires_ack.", "00.1-25")
bug("null-counts-as-present", "Required members given as null pass.", "00.1-01 00.1-22 00.1-25 00.1-10 01.2-01 02.2-01 04.2-29", **OLD)
skip("msg-id-type-unchecked", "envelope.msg_id.type", "The first part of msg_id is not compared with type.", "00.1-04", **OLD)
skip("msg-id-task-unchecked", "envelope.msg_id.task", "The middle part of msg_id is not compared with task_id.", "00.1-05", **OLD)
bug("msg-id-tail-unchecked", "The last part of msg_id may be anything.", "00.1-03")
bug("ids-trimmed", "Blanks around msg_id are removed before it is checked.", "00.1-03")
bug("version-prefix-match", "Accepts every version that starts with AMP/.", "00.1-12", **OLD)
bug("version-case-folded", "Compares protocol_version without case.", "00.1-11", **OLD)
bug("version-trimmed", "Trims protocol_version.", "00.1-11")
bug("older-versions-taken", "Takes versions AMP/0.x.", "00.1-12")
bug("unknown-type-dropped", "An unknown type is answered as accepted and dropped.", "00.1-14 I-02", **OLD)
bug("enums-ignore-case", "Compares words of enums without case.", "00.1-16 00.1-18 01.2-24 02.2-05 04.2-02 04.3-05 05.2-04")
bug("system-addressable", "The addressee may be system.", "00.1-18", **OLD)
bug("task-id-unanchored", "The pattern for task_id has no anchors.", "00.1-20", **OLD, skip=("envelope.msg_id.*",))
bug("task-id-any-case", "Takes t-2026-044.", "00.1-20", skip=("envelope.msg_id.*",))
bug("task-id-two-digits", "Takes two digits of year and serial.", "00.1-20", skip=("envelope.msg_id.*",))
bug("naive-timestamp", "Takes a time without offset as UTC.", "00.1-24", **OLD)
bug("calendar-unchecked", "Tests timestamp by a pattern of digits only.", "00.1-23", **OLD)
bug("date-is-enough", "Takes a date as timestamp.", "00.1-23")
skip("timeout-any-type", "envelope.ack_timeout_sec.type", "Takes any type of ack_timeout_sec.", "00.1-32", **OLD)
skip("requires-ack-any-type", "envelope.requires_ack.type", "Takes \"true\" and 1 for a boolean.", "00.1-26", **OLD)
skip("context-any-type", "envelope.context_ref.type", "Takes a text as context_ref.", "00.1-38")
skip("context-entries-unchecked", "envelope.context_ref.entries", "Takes numbers in context_ref.", "00.1-38")
bug("any-payload-fits", "A payload that fits any type is accepted.", "00.1-44", **OLD)
bug("empty-payload-taken", "An empty payload is accepted.", "00.1-44")
bug("routes-both-ways", "Takes each type in the opposite direction too.", "01.1-01 02.1-01 03.1-01 04.1-01")
bug("any-sender-to-the-addressee", "Checks only the addressee of a type.", "01.1-01 02.1-01 03.1-01 04.1-01")
bug("any-addressee-of-the-sender", "Checks only the sender of a type.", "01.1-01 02.1-01 03.1-01 04.1-01 05.1-02")
skip("escalation-to-anyone", "escalation.route", "An escalation may go to any role.", "05.1-02")
skip("writer-unchecked", "writer", "Stores a message whose from is not the acting role.", "01.1-06 02.1-05 03.1-07 04.1-05 05.1-05", **OLD)
bug("coordinator-writes-for-all", "The Coordinator may write in the name of all.", "02.1-05 04.1-05")
bug("executor-writes-for-all", "The Executor may write in the name of all.", "01.1-06 03.1-07 04.1-05")
bug("escalation-writer-unchecked", "The writer of an escalation is not checked.", "05.1-05")

# --- JSON -------------------------------------------------------------------------------------------------------------

bug("json-comments-taken", "Reads JSON with comments.", "I-04", **OLD)
bug("trailing-commas-taken", "Reads JSON with trailing commas.", "I-04 I-02")
bug("truncated-json-repaired", "Takes broken JSON for an empty object, and drops it.", "I-04 I-03", skip=("envelope.*",))
bug("list-of-one-taken", "Takes a list of one message.", "I-04 I-02")
bug("empty-body-taken", "Takes an empty body for an empty message, and drops it.", "I-04", skip=("envelope.*",))
bug("bad-json-crashes", "Broken JSON leads to 500.", "I-04 I-02")

# --- Payload rules: conditions ----------------------------------------------------------------------------------------

bug("second-entry-unchecked", "Only the first entry of a list of objects is checked.", "01.2-14 01.2-15 02.2-27 04.2-06 04.2-13 04.2-21", **OLD)
bug("last-entry-unchecked", "The last of several entries is not checked.", "01.2-14 02.2-27 04.2-06 04.2-13 04.2-21")
bug("first-entry-checked", "Only the first text of a list is checked.", "01.2-19 02.2-10 02.2-22 02.2-35 05.2-11")
skip("criteria-entries-unchecked", "task_dispatch.acceptance_criteria.entries", "Criteria may be numbers or objects.", "01.2-19")
skip("criteria-may-be-empty", "task_dispatch.acceptance_criteria.empty", "Takes an empty list of criteria.", "01.3-04", **OLD)
skip("criteria-optional", "task_dispatch.acceptance_criteria.missing", "Takes dispatches without criteria.", "01.2-18")
skip("relative-repo-accepted", "task_dispatch.repo.absolute", "Takes relative paths and URLs as repo.", "01.2-05", **OLD)
bug("risk-free-text", "Any text is a risk level.", "01.2-24")
bug("master-forgotten", "Only main is protected.", "01.2-10 01.3-02 01.3-03", **OLD)
bug("main-forgotten", "Only master is protected.", "01.2-09 01.3-01 01.3-03")
bug("main-as-substring", "Every branch that contains main or master is refused.", "01.2-09 01.2-10", **OLD)
bug("main-as-last-segment", "feature/main is refused.", "01.2-09 01.2-10")
bug("branch-refused-silently", "main is refused without an escalation.", "01.3-03 05.1-01 05.4-04", needs=("branch-at-bus",), **OLD)
skip("estimated-lines-as-text", "task_dispatch.subtasks.estimated_lines.type", "estimated_lines may be a text.", "01.2-16")
skip("constraints-any-type", "task_dispatch.tech_constraints.type", "tech_constraints may be a list.", "01.2-31")
skip("actions-any-type", "task_dispatch.forbidden_actions.*", "forbidden_actions may be anything.", "01.2-28")
bug("criteria-met-booleans-only", "Refuses null in criteria_met.", "02.2-19 02.3-02", **OLD)
skip("criteria-met-any-type", "task_result.criteria_met.entries", "criteria_met may hold words.", "02.2-19")
bug("blockers-only-when-failed", "partial without blockers passes.", "02.2-33", **OLD)
bug("blockers-only-when-partial", "failed without blockers passes.", "02.2-34")
bug("blockers-always-needed", "complete needs blockers too.", "02.2-36")
bug("empty-blockers-refused", "complete with an empty list of blockers is refused.", "02.2-36")
skip("blockers-any-type", "task_result.blockers.type task_result.blockers.entries", "blockers may be anything.", "02.2-35")
skip("hash-unchecked", "task_result.commit_hash.form", "Takes any text as commit_hash.", "02.2-31")
skip("lines-as-text", "task_result.diff_summary.lines_added.type task_result.diff_summary.lines_removed.type", "Numbers of lines may be texts.", "02.2-12 02.2-14")
skip("files-any-type", "task_result.diff_summary.files_changed.*", "files_changed may be anything.", "02.2-10")
skip("log-detail-optional", "task_result.work_log.detail.missing", "Log entries without detail pass.", "02.2-29")
skip("log-time-optional", "task_result.work_log.timestamp.missing", "Log entries without timestamp pass.", "02.2-26")
skip("notes-optional", "task_result.self_assessment.notes.missing", "self_assessment without notes passes.", "02.2-21")
skip("ref-kind-unchecked", "review_request.*.kind", "A request may name a result as its dispatch.", "03.2-02 03.2-05")
skip("ref-form-unchecked", "review_request.*_ref.form", "References may be any text.", "03.2-02 03.2-05")
skip("dispatch-ref-optional", "review_request.original_dispatch_ref.missing", "A request without a dispatch passes.", "03.2-01")
skip("reject-count-as-text", "review_request.reject_count.type", "reject_count may be a text.", "03.2-14")
skip("diff-url-empty", "review_request.diff_url.blank", "diff_url may be empty.", "03.2-11")
skip("ci-any-type", "review_request.ci_status.type", "ci_status may be a text.", "03.2-19")
bug("empty-issues-taken", "A rejection with an empty list of issues passes.", "04.2-12", **OLD)
skip("rejected-without-issues", "review_verdict.issues.needed", "A rejection without issues passes.", "04.2-12", **OLD)
bug("issues-always-needed", "An approval needs issues too.", "04.2-18")
skip("issue-line-optional", "review_verdict.issues.line.missing", "Issues without line pass.", "04.2-15")
bug("severities-mixed-up", "One enum for the severity of issues and escalations.", "04.3-05 05.2-04", **OLD)
bug("minor-issue-blocks", "An approval with a minor issue is refused.", "04.3-08", side="coordinator")
skip("fixes-optional", "review_verdict.direct_fixes.needed", "approved_with_fix without direct_fixes passes.", "04.2-19")
bug("fix-limit-inclusive", "Five lines are allowed.", "04.2-24 04.3-03", **OLD)
bug("fix-limit-exclusive-4", "Four lines are not allowed.", "04.2-24")
bug("fix-lines-summed", "The limit holds for the sum of all fixes.", "04.2-24")
bug("import-order-unknown", "Only the token import is known.", "04.3-01", **OLD)
bug("import-unknown", "Only the token import_order is known.", "04.2-22")
skip("fix-kind-unchecked", "review_verdict.direct_fixes.change_type.enum", "Any change_type is accepted.", "04.2-22 04.3-03", **OLD)
skip("confidence-unbounded", "review_verdict.confidence.range", "Any number is a confidence.", "04.2-31")
bug("confidence-in-percent", "Takes a confidence up to 100.", "04.2-31", **OLD)
bug("confidence-borders-excluded", "Refuses 0 and 1.", "04.2-31")
bug("confidence-rounded", "Rounds the confidence before the check.", "04.2-31")
bug("confidence-as-text", "Takes the confidence as a text.", "04.2-30")
skip("evidence-optional", "review_verdict.criteria_results.evidence.*", "criteria_results without evidence pass.", "04.2-09 04.2-10")
skip("critical-keeps-running", "escalation.auto_suspended.critical", "critical with auto_suspended false passes.", "05.3-01", **OLD)
bug("triggered-by-admin", "triggered_by may be admin.", "05.2-06")
bug("conflict-type-unknown", "The type conflict is not known.", "05.2-02")
skip("snapshot-count-optional", "escalation.snapshot.reject_count.missing", "A snapshot without reject_count passes.", "05.2-16")
skip("snapshot-last-optional", "escalation.snapshot.last_successful_msg_id.missing", "A snapshot without last_successful_msg_id passes.", "05.2-17")
skip("affected-any-type", "escalation.affected_msgs.type", "affected_msgs may be a text.", "05.2-11")
skip("suspended-any-type", "escalation.auto_suspended.type", "auto_suspended may be a text.", "05.2-22")

# --- Refusal and log --------------------------------------------------------------------------------------------------

bug("refusals-not-logged", "No refusal is logged.", "I-03", **OLD)
bug("conflict-not-logged", "A conflict of ids is refused and not logged.", "I-03")
bug("version-not-logged", "Another version is refused and not logged.", "I-03")
bug("route-not-logged", "A wrong route is refused and not logged.", "I-03")
bug("syntax-not-logged", "What is not a message is refused and not logged.", "I-03 I-04")
bug("payload-not-logged", "A broken payload is refused and not logged.", "I-03")
bug("log-always-empty", "The error log is always empty.", "I-03")
bug("log-keeps-20", "The error log forgets all but the last 20 entries.", "I-03")
bug("logged-but-accepted", "Logs a broken message, answers that it is accepted, and stores it.", "I-02", **OLD)
bug("refused-but-stored", "Refuses a broken message and stores it all the same.", "I-02")
bug("broken-payload-stored", "Refuses a message with a broken payload and stores it all the same.", "I-02")
bug("refusals-as-200", "Answers refusals by 200.", "I-02")
bug("refusals-as-500", "Answers refusals by 500.", "I-02 I-04")


@changed("log-entry", "log-without-reference", "Log entries name neither message nor digest.", "I-03")
def _(entry, ways, *_):
    return {"seq": entry["seq"], "ts": entry["ts"], "detail": "refused"}


@changed("log-entry", "log-names-previous", "Each log entry names the message of the entry before it.", "I-03")
def _(entry, ways, msg_id, digest):
    before, ways.memory["before"] = ways.memory.get("before", {}), {k: v for k, v in entry.items() if k not in ("seq", "ts")}
    return {"seq": entry["seq"], "ts": entry["ts"], **(before or {"detail": "none"})}


bug("accepted-messages-logged", "Accepted messages have an entry in the error log too.", "I-03")

# --- The store --------------------------------------------------------------------------------------------------------

bug("conflict-replaces", "Another message under a used id replaces the first.", "00.1-08", **OLD)
bug("conflict-replaces-but-refuses", "Refuses another message under a used id, and stores it in place of the first.", "00.1-08 01.2-26")
bug("conflict-joins", "Another message under a used id is stored beside the first.", "00.1-08")
bug("conflict-taken-for-resend", "Another message under a used id is answered like a resend.", "00.1-08")
bug("resend-stored-again", "The same message again is stored again.", "00.1-08")
bug("every-tenth-lost", "Each tenth message is accepted and lost.", "I-05")
bug("lookup-by-newest", "A look-up by id returns the newest message.", "I-05")
bug("list-ignores-task", "Lists messages of all tasks.", "I-05 00.1-08")
bug("list-at-most-3", "Lists three messages at most.", "I-05")
bug("admin-list-empty", "The Admin has an empty list.", "05.1-06")
bug("admin-sees-critical-only", "The Admin sees only critical escalations.", "05.1-06")
bug("no-task-records", "There are no task records.", "00.1-21")
bug("task-record-from-dispatch-only", "Only a dispatch creates the record of a task.", "00.1-21")
bug("writer-always-system", "The recorded writer is always system.", "01.1-06 02.1-05 05.1-05", **EXECUTOR)


@changed("stored", "description-trimmed", "Stores descriptions without their last word.", "I-05 05.1-06")
def _(message, ways, bus):
    payload = message.get("payload")
    if isinstance(payload, dict) and " " in str(payload.get("description")):
        return {**message, "payload": {**payload, "description": payload["description"].rsplit(" ", 1)[0]}}


@changed("stored", "null-members-dropped", "Drops null from lists before it stores a message.", "I-05")
def _(message, ways, bus):
    payload = message.get("payload")
    if message.get("type") == "task_result" and isinstance(payload, dict):
        own = payload["self_assessment"]
        return {**message, "payload": {**payload, "self_assessment": {**own, "criteria_met": [m for m in own["criteria_met"] if m is not None]}}}


@changed("stored", "unknown-constraints-dropped", "Stores only known keys of tech_constraints and ci_status.", "I-05")
def _(message, ways, bus):
    payload = message.get("payload")
    if isinstance(payload, dict):
        made = dict(payload)
        for name, known in (("tech_constraints", ("swift_version", "min_ios")), ("ci_status", ("xcode_cloud",))):
            if isinstance(made.get(name), dict):
                made[name] = {k: v for k, v in made[name].items() if k in known}
        return {**message, "payload": made}


@changed("stored", "time-normalised", "Stores timestamps in UTC.", "I-05")
def _(message, ways, bus):
    from datetime import timezone

    import task_rules

    return {**message, "timestamp": task_rules.instant(message["timestamp"]).astimezone(timezone.utc).isoformat()}


@changed("stored", "defaults-filled-in", "Adds the default of ack_timeout_sec to stored messages.", "I-05")
def _(message, ways, bus):
    import task_rules

    if "ack_timeout_sec" not in message and message.get("type") in task_rules.TIMEOUTS:
        return {**message, "ack_timeout_sec": task_rules.TIMEOUTS[message["type"]]}


@changed("stored", "risk-coerced-to-low", "Stores risk_level medium and high as low.", "01.2-26 I-05", **OLD)
def _(message, ways, bus):
    payload = message.get("payload")
    if isinstance(payload, dict) and payload.get("risk_level") in ("medium", "high"):
        return {**message, "payload": {**payload, "risk_level": "low"}}


@changed("task-record", "task-risk-of-first-dispatch", "The task record always shows risk_level low.", "01.2-26", needs=("task-plain",))
def _(record, ways, task):
    return {**record, "risk_level": "low"}


@changed("task-record", "task-record-of-another-task", "The task record names another task.", "00.1-21")
def _(record, ways, task):
    return {**record, ("id" if "id" in record else "task_id"): "T-2000-001"}


# --- ACKs and timers at the bus ---------------------------------------------------------------------------------------

bug("ack-from-anyone", "An ACK by a third role stops the timer.", "00.1-28", **OLD)
bug("ack-from-sender", "An ACK by the sender stops the timer.", "00.1-28")
bug("ack-stops-all-timers-of-the-task", "An ACK stops the timers of all messages of the task.", "00.1-28 00.1-09 02.1-04 03.1-06")
bug("acks-do-not-stop-timers", "An acknowledged message is reported.", "00.1-29")
bug("acks-not-kept", "ACKs are taken and not kept.", "00.1-09 00.1-29")
bug("ack-must-say-acked", "Only ACKs with ack_status acked stop the timer.", "00.1-29")
bug("ack-timeouts-never", "Missing ACKs are never reported.", "00.1-28 00.1-35")
bug("timeout-in-ms", "Takes ack_timeout_sec as milliseconds.", "00.1-28 00.1-29 00.1-36", **OLD)
bug("explicit-timeout-ignored", "ack_timeout_sec is never read.", "00.1-36 00.1-28", **OLD)
bug("timeout-capped-at-300", "No timeout is longer than 300 s.", "00.1-36 03.1-06")
bug("one-default-timeout", "The default is 300 s for all types.", "00.1-35 02.1-04 03.1-06 04.1-04", **OLD)
bug("verdict-timeout-of-result", "The default of a verdict is 120 s.", "04.1-04")
bug("request-timeout-in-minutes-of-dispatch", "The default of a request is 300 s.", "03.1-06")
bug("timeout-from-the-minute", "Timeouts are a minute too long.", "00.1-35 00.1-28 04.1-04")
bug("escalations-have-timers", "Escalations get the default timer too.", "05.1-04", **OLD)
bug("timers-without-requires-ack", "Messages without requires_ack get a timer.", "00.1-30 00.1-34", needs=("escalation-timer-explicit",))
bug("report-repeated", "A report at each second from then on.", "00.1-28", **OLD)
bug("reports-only-dispatches", "Only dispatches are reported.", "02.1-04 03.1-06 04.1-04 00.1-35")
bug("report-once-per-task", "Only the first missing ACK of a task is reported.", "00.1-28")
bug("timer-for-newest-only", "A new message of a task replaces the timer of the one before it.", "00.1-28")
bug("timeout-reported-as-unknown", "A missing ACK is reported as unknown.", "05.4-03", **OLD)
bug("timeout-reported-as-heartbeat", "A missing ACK is reported as heartbeat_timeout.", "05.4-03")
bug("timeout-without-message", "The report of a missing ACK names no message.", "05.2-12 00.1-28", **OLD)
bug("timeout-names-newest-message", "The report of a missing ACK names the newest message of the task.", "00.1-28 05.2-12")
bug("heartbeat-not-reset", "Silence counts from the assignment.", "05.4-08", **OLD)
bug("heartbeat-reset-by-result-only", "Only a result ends silence.", "05.4-08")
bug("heartbeat-reset-by-anybody", "Messages of any role end silence.", "05.4-06 05.4-08")
bug("heartbeat-ignores-acks", "An ACK does not end silence.", "05.4-08")
bug("heartbeat-five-minutes", "Silence is reported after 5 minutes.", "05.4-07", **OLD)
bug("heartbeat-after-an-hour", "Silence is reported after an hour.", "05.4-06")
bug("heartbeat-absent", "Silence is never reported.", "05.4-06", **OLD)
bug("heartbeat-repeated", "Silence is reported again and again.", "05.4-06")
bug("heartbeat-reported-as-ack-timeout", "Silence is reported as ack_timeout.", "05.4-06")
bug("heartbeat-without-agent", "The report of silence does not name the agent.", "05.4-06")
bug("heartbeat-ends-at-first-result", "The first result of several ends the assignment.", "05.4-06")

# --- Suspension at the bus --------------------------------------------------------------------------------------------

bug("suspension-never", "A critical escalation suspends nothing.", "05.3-02 05.3-03 05.1-07", needs=("suspended-423",))
bug("suspension-ignored-by-bus", "The bus takes work on a suspended task.", "05.3-02 05.3-03", profile="strict")
bug("only-dispatch-withheld", "Only dispatches are refused during a suspension.", "05.3-02 05.3-03", profile="strict")
bug("critical-of-executor-only", "Only the Executor can suspend a task.", "05.3-02 05.3-03", **EXECUTOR)
bug("resume-by-anyone", "RESUME is taken from any role.", "05.1-07", **OLD)
bug("resume-by-coordinator", "RESUME is taken from the Coordinator.", "05.1-07")
bug("resume-by-system", "RESUME is taken from system.", "05.1-07")
bug("resume-lost", "A suspension never ends.", "05.3-04", needs=("suspended-423",), **OLD)
bug("second-resume-lost", "A second suspension of a task never ends.", "05.3-04", needs=("suspended-423",))
bug("resume-wakes-every-task", "RESUME of one task wakes all.", "05.3-04 05.1-07")

# --- What roles write -------------------------------------------------------------------------------------------------

bug("msg-id-in-seconds", "Builds ids with seconds.", "00.1-06 00.1-03", **OLD, **COORDINATOR)
bug("msg-id-in-microseconds", "Builds ids with microseconds.", "00.1-06", **EXECUTOR)
bug("msg-id-of-first-message", "Builds ids with the time of an hour ago.", "00.1-06", **COORDINATOR)


def emitted(name, about, breaks, kind=None, **more):
    """The function gets a copy of a message that goes out and changes it."""

    def keep(function):
        def change(message, ways, role):
            if kind in (None, message.get("type")):
                made = copies.deepcopy(message)
                function(made, made["payload"], ways)
                return made if made != message else None
            return None

        bug(name, about, breaks, place="emit", change=change, **more)
        return function

    return keep


@emitted("version-1", "Writes protocol_version AMP/1.", "00.1-11", **EXECUTOR)
def _(m, p, ways):
    m["protocol_version"] = "AMP/1"


@emitted("naive-times-written", "Writes times without an offset.", "00.1-24", **REVIEWER)
def _(m, p, ways):
    m["timestamp"] = m["timestamp"][:19]


@emitted("no-ack-asked-for-verdicts", "Verdicts do not require an ACK.", "04.1-03 I-06", "review_verdict", **REVIEWER)
def _(m, p, ways):
    m["requires_ack"] = False


@emitted("no-ack-asked-for-second-dispatch", "Another dispatch does not require an ACK.", "01.1-04 I-06", "task_dispatch", **COORDINATOR)
def _(m, p, ways):
    if "(" in p["description"]:
        m["requires_ack"] = False


@emitted("timeout-as-text-written", "Writes ack_timeout_sec as a text.", "00.1-32", "task_dispatch", **COORDINATOR)
def _(m, p, ways):
    m["ack_timeout_sec"] = "300"


@emitted("context-of-later-message", "context_ref names the message itself.", "00.1-40", "review_request", **COORDINATOR)
def _(m, p, ways):
    m["context_ref"] = [m["msg_id"]]


@emitted("context-of-tasks", "context_ref names the task.", "00.1-39", "task_result", **EXECUTOR)
def _(m, p, ways):
    m["context_ref"] = [m["task_id"]]


@emitted("requests-to-executor", "Sends review requests to the Executor.", "03.1-01 03.1-02", "review_request", **COORDINATOR)
def _(m, p, ways):
    m["to"] = "executor"


@emitted("results-in-the-name-of-coordinator", "Results are from the Coordinator.", "02.1-01 02.1-05 00.1-16", "task_result", **EXECUTOR)
def _(m, p, ways):
    m["from"] = "coordinator"


@emitted("escalation-to-coordinator", "Escalations go to the Coordinator.", "05.1-02 01.3-03", "escalation", **EXECUTOR)
def _(m, p, ways):
    m["to"] = "coordinator"


@emitted("escalation-without-snapshot-count", "Snapshots have no reject_count.", "05.2-16", "escalation", **EXECUTOR)
def _(m, p, ways):
    del p["system_state_snapshot"]["reject_count"]


@emitted("escalation-severity-major", "Escalations are major.", "05.2-04", "escalation", **EXECUTOR)
def _(m, p, ways):
    p["severity"] = "major"


@emitted("critical-running", "Critical escalations have auto_suspended false.", "05.3-01 05.2-24", "escalation", **EXECUTOR)
def _(m, p, ways):
    p["auto_suspended"] = False


@emitted("branch-reported-as-permission-denied", "A protected branch is reported as permission_denied.", "05.4-04 01.3-03", "escalation", **EXECUTOR)
def _(m, p, ways):
    p["escalation_type"] = "permission_denied"


@emitted("branch-report-without-dispatch", "The report of a protected branch names no message.", "05.2-12 01.3-03", "escalation", **EXECUTOR)
def _(m, p, ways):
    p["affected_msgs"] = []


@emitted("status-completed", "Results say completed.", "02.2-05 01.3-09", "task_result", **EXECUTOR)
def _(m, p, ways):
    if p["completion_status"] == "complete":
        p["completion_status"] = "completed"


@emitted("subtask-invented", "Results name a subtask of their own.", "02.2-03 01.3-09", "task_result", **OLD, **EXECUTOR)
def _(m, p, ways):
    p["subtask_id"] += "-a"


@emitted("blockers-forgotten", "Partial and failed results have no blockers.", "02.2-33 02.2-34 02.2-06", "task_result", **EXECUTOR)
def _(m, p, ways):
    if p["completion_status"] != "complete":
        p.pop("blockers", None)


@emitted("blockers-blank", "Partial results have a blank blocker.", "02.2-06", "task_result", **EXECUTOR)
def _(m, p, ways):
    if p["completion_status"] == "partial":
        p["blockers"] = [" "]


@emitted("commit-hash-dropped", "Committed work is reported without commit_hash.", "02.2-32", "task_result", **OLD, **EXECUTOR)
def _(m, p, ways):
    p.pop("commit_hash", None)


@emitted("commit-hash-of-nothing", "commit_hash names a commit that does not exist.", "02.2-32", "task_result", **EXECUTOR)
def _(m, p, ways):
    if "commit_hash" in p:
        p["commit_hash"] = p["commit_hash"][::-1]


@emitted("commit-hash-remembered", "commit_hash is always that of the first work.", "02.2-32", "task_result", **EXECUTOR)
def _(m, p, ways):
    if "commit_hash" in p:
        p["commit_hash"] = ways.memory.setdefault("commit", p["commit_hash"])


@emitted("lines-as-text-written", "Writes numbers of lines as texts.", "02.2-12", "task_result", **EXECUTOR)
def _(m, p, ways):
    p["diff_summary"]["lines_added"] = str(p["diff_summary"]["lines_added"])


@emitted("log-times-in-epoch", "Writes work_log times as numbers.", "02.2-26", "task_result", **EXECUTOR)
def _(m, p, ways):
    for entry in p["work_log"]:
        entry["timestamp"] = 1_700_000_000


@emitted("approve-despite-critical", "Approves with a critical issue.", "04.3-06", "review_verdict", **OLD, **REVIEWER)
def _(m, p, ways):
    if p["decision"] == "approved":
        p["issues"] = [{"severity": "critical", "file": "a", "line": 1, "description": "d", "suggested_fix": "s"}]


@emitted("approve-despite-major", "Approves with a major issue.", "04.3-07", "review_verdict", **REVIEWER)
def _(m, p, ways):
    if p["decision"] == "approved":
        p["issues"] = [{"severity": "major", "file": "a", "line": 1, "description": "d", "suggested_fix": "s"}]


@emitted("rejects-without-issues", "Rejects without issues.", "04.2-12", "review_verdict", **REVIEWER)
def _(m, p, ways):
    if p["decision"] == "rejected":
        p["issues"] = []


@emitted("severity-error", "Issues have severity error.", "04.3-05 04.2-13", "review_verdict", **REVIEWER)
def _(m, p, ways):
    for issue in p.get("issues") or ():
        issue["severity"] = "error"


@emitted("fixes-of-five-lines", "Repairs five lines.", "04.2-24 04.3-02", "review_verdict", **REVIEWER)
def _(m, p, ways):
    for fix in p.get("direct_fixes") or ():
        fix["diff_lines"] = 5


@emitted("fixes-of-logic", "Repairs logic.", "04.2-22 04.3-01", "review_verdict", **REVIEWER)
def _(m, p, ways):
    for fix in p.get("direct_fixes") or ():
        fix["change_type"] = "logic"


@emitted("fixes-not-listed", "approved_with_fix without direct_fixes.", "04.2-19", "review_verdict", **REVIEWER)
def _(m, p, ways):
    p.pop("direct_fixes", None)


@emitted("confidence-95", "Writes the confidence in percent.", "04.2-31", "review_verdict", **REVIEWER)
def _(m, p, ways):
    p["confidence"] *= 100


@emitted("too-many-results", "A verdict answers one criterion too many.", "04.2-11", "review_verdict", **REVIEWER)
def _(m, p, ways):
    p["criteria_results"].append({"criterion": "Style", "passed": True, "evidence": "read"})


@emitted("results-empty", "A verdict answers no criterion.", "04.2-11", "review_verdict", **REVIEWER)
def _(m, p, ways):
    p["criteria_results"] = []


@emitted("passed-in-words", "passed is yes or no.", "04.2-08", "review_verdict", **REVIEWER)
def _(m, p, ways):
    for entry in p["criteria_results"]:
        entry["passed"] = "yes" if entry["passed"] else "no"


@emitted("scope-all", "Requests have the scope all.", "03.2-08", "review_request", **COORDINATOR)
def _(m, p, ways):
    p["review_scope"] = "all"


@emitted("incremental-at-once", "The first review is incremental.", "03.2-09", "review_request", profile="strict", **COORDINATOR)
def _(m, p, ways):
    p["review_scope"] = "incremental"


@emitted("diff-url-free-text", "diff_url is a sentence.", "03.2-11", "review_request", **COORDINATOR)
def _(m, p, ways):
    p["diff_url"] = "see the branch"


@emitted("notes-as-list", "coordinator_notes is a list.", "03.2-17", "review_request", **COORDINATOR)
def _(m, p, ways):
    if "coordinator_notes" in p:
        p["coordinator_notes"] = [p["coordinator_notes"]]


@emitted("reject-count-as-text-written", "reject_count is a text.", "03.2-14 03.2-15", "review_request", **COORDINATOR)
def _(m, p, ways):
    p["reject_count"] = str(p["reject_count"])


@emitted("lines-estimated-in-words", "Subtasks say \"a few\" lines.", "01.2-16", "task_dispatch", **COORDINATOR)
def _(m, p, ways):
    for subtask in p["subtasks"]:
        subtask["estimated_lines"] = "a few"


@emitted("plan-subtasks-lost-on-repeat", "Another dispatch has no subtasks.", "01.2-13 03.2-15", "task_dispatch", **COORDINATOR)
def _(m, p, ways):
    if "(" in p["description"]:
        p["subtasks"] = []


# --- ACKs of roles ----------------------------------------------------------------------------------------------------

for _role, _breaks in (("executor", "00.1-27 01.3-07"), ("coordinator", "00.1-27"), ("reviewer", "00.1-27")):
    bug(f"{_role}-never-acks", f"The {_role} never acknowledges.", _breaks, side=_role)
bug("ack-names-task", "ACKs carry the task_id where the msg_id belongs.", "00.1-09 00.1-27", **OLD, **EXECUTOR)
bug("ack-as-system", "ACKs are by system.", "00.1-27 00.1-09", **REVIEWER)
bug("ack-after-the-result", "The Executor acknowledges after its result.", "01.3-07", **EXECUTOR)
bug("acks-first-message-of-a-task-only", "Only the first message of a task is acknowledged.", "02.3-08 00.1-27", **EXECUTOR)
bug("coordinator-acks-first-only", "The Coordinator acknowledges only the first message of a task.", "00.1-27", **COORDINATOR)
bug("ack-before-validation", "A hosted Executor acknowledges before it refuses.", "I-02 00.1-27", side="hosted-executor", **OLD)
bug("role-refusals-not-logged", "A hosted role refuses without a log entry.", "I-03", side="hosted-executor")
bug("conflict-handled", "A hosted role acts on another message under a used id.", "00.1-08", side="hosted-executor")
bug("resend-handled-again", "A role reads its inbox again and acts again on the same message.", "00.1-08 02.1-02 04.1-02", side="hosted-reviewer")

# --- The Executor -----------------------------------------------------------------------------------------------------

skip("branch-unchecked", "branch", "Works on main.", "01.3-01 01.3-02 01.2-11 01.3-03", **EXECUTOR)
bug("branch-executed-and-reported", "Works on main and reports it.", "01.3-01 01.3-02 01.2-11", **EXECUTOR)
skip("git-dir-unchecked", "repository", "Works in a folder without .git.", "01.2-06", **OLD, **EXECUTOR)
bug("bad-repository-ignored", "Ignores a dispatch without a repository.", "01.2-06 05.3-06 05.1-01", **EXECUTOR)
bug("bad-repository-acknowledged-only", "Acknowledges a dispatch without a repository, and nothing more.", "01.2-06 05.3-06", **EXECUTOR)
bug("prohibitions-ignored", "Writes to a forbidden file.", "01.2-29", **EXECUTOR)
bug("guesses-true", "Unverifiable criteria are reported true.", "02.3-01", **OLD, **EXECUTOR)
bug("criteria-met-of-first-only", "Only the first criterion is answered.", "02.2-20", **OLD, **EXECUTOR)
bug("criteria-met-in-words", "criteria_met holds words.", "02.2-19", **EXECUTOR)
bug("files-from-the-plan", "files_changed lists files that did not change.", "02.2-15", **OLD, **EXECUTOR)
bug("files-of-last-commit-missing", "files_changed is empty.", "02.2-15", **EXECUTOR)
bug("late-commit", "Commits once more after the result.", "02.3-07 02.3-06", **OLD, **EXECUTOR)
bug("late-scratch-file", "Writes a file into the work tree after the result.", "02.3-07 02.3-06", **EXECUTOR)
bug("commits-when-another-task-comes", "Commits to earlier repositories when another dispatch comes.", "02.3-07 02.3-06", **EXECUTOR)
bug("results-repeated-later", "Sends a result again after a moment.", "02.1-02 02.3-06", **EXECUTOR)
bug("merges-to-main", "Merges the branch to main.", "02.3-10", **OLD, **EXECUTOR)
bug("works-on-main-too", "Commits to main as well.", "02.3-10", **EXECUTOR)
bug("one-result-for-all-subtasks", "Only the first subtask gets a result.", "02.1-02", **OLD, **EXECUTOR)
bug("subtasks-in-reverse", "Works on the last subtask first.", "01.2-17", profile="strict", **EXECUTOR)
bug("executor-ignores-suspension", "Works on a suspended task.", "05.3-02 05.3-03", **EXECUTOR)
bug("executor-stays-suspended", "Does not wake after RESUME.", "05.3-04", **EXECUTOR)
bug("held-acknowledged", "Acknowledges a dispatch of a suspended task.", "05.3-02 05.3-03", **EXECUTOR)
bug("cancel-taken-for-continue", "Takes every RESUME for one that continues.", "05.3-07", **EXECUTOR)
bug("cancel-ignored", "Goes on with what came before the Admin cancelled.", "05.3-07", **EXECUTOR)
bug("swallowed-exception", "Catches everything and writes nothing.", "05.3-06 05.1-01 01.3-03", side="executor", place="emit", change=lambda message, ways, role: 1 // 0 if message["type"] == "escalation" or message["payload"].get("completion_status") == "failed" else None, **OLD)

# --- The Reviewer -----------------------------------------------------------------------------------------------------

bug("unreadable-approved", "Approves although the references cannot be read.", "03.3-03 05.3-05", **OLD, **REVIEWER)
bug("unreadable-ignored", "Ignores a request with unreadable references.", "03.3-03 05.3-06 05.1-01", **REVIEWER)
bug("dispatch-alone-suffices", "Reviews although the result cannot be read.", "03.3-03 05.3-05", **REVIEWER)
bug("first-dispatch-judged", "Takes the criteria of the first dispatch.", "03.2-03", **REVIEWER)
bug("one-verdict-per-task", "Answers only the first request of a task.", "04.1-02", **REVIEWER)
bug("verdict-task-of-last-request", "A verdict names the task of the request before.", "04.1-02", **REVIEWER)
bug("reviewer-ignores-suspension", "Reviews a suspended task.", "05.3-02 05.3-03", **REVIEWER)
bug("reviewer-stays-suspended", "Does not wake after RESUME.", "05.3-04", **REVIEWER)
bug("sent-twice", "Sends everything twice, under two ids.", "04.1-02 02.1-02 03.2-15", **REVIEWER)

# --- The Coordinator --------------------------------------------------------------------------------------------------

bug("dispatch-before-approval", "Dispatches a plan at once.", "01.1-02", **OLD, **COORDINATOR)
bug("approval-ignored", "Never dispatches an approved plan.", "01.1-03", **COORDINATOR)
bug("approval-by-anyone", "Takes an approval of any role.", "01.1-02", **COORDINATOR)
bug("second-approval-dispatches-again", "A second approval leads to a second dispatch.", "01.1-02 00.1-08 01.1-03", **COORDINATOR)
bug("plan-branch-unchecked", "Takes a plan on main.", "01.2-09 01.2-10", **COORDINATOR)
bug("plan-unchecked", "Takes any plan.", "01.3-04 01.2-09", **COORDINATOR)
bug("dispatch-not-stored", "Never stores its dispatch.", "01.1-03", side="coordinator", **OLD)
bug("every-result-is-reviewed", "Every result leads to a request.", "03.1-03 03.1-04", **OLD, **COORDINATOR)
bug("partial-counts-as-complete", "A partial result leads to a request.", "03.1-03", **COORDINATOR)
bug("unfinished-ignored", "A partial or failed result leads to nothing.", "02.3-04 02.3-05", **OLD, **COORDINATOR)
bug("failed-ignored", "A failed result leads to nothing.", "02.3-05", **COORDINATOR)
bug("partial-ignored", "A partial result leads to nothing.", "02.3-04", **COORDINATOR)
bug("second-unfinished-ignored", "A second partial or failed result leads to nothing.", "02.3-04 02.3-05", **COORDINATOR)
bug("unfinished-names-the-dispatch", "The escalation of an unfinished result names the dispatch.", "02.3-04 02.3-05", needs=("unfinished-escalated",), **COORDINATOR)
bug("null-criteria-need-repair", "A complete result with null criteria is not reviewed.", "02.3-02", **COORDINATOR)
bug("any-subtask-counts", "A result for an unknown subtask leads to a request.", "02.2-03", **COORDINATOR)
bug("several-subtasks-never-reviewed", "A dispatch with several subtasks leads to no request.", "03.1-02", **COORDINATOR)
bug("request-names-first-result", "Requests name the first result.", "03.2-05", **OLD, **COORDINATOR)
bug("request-names-previous-result-in-third-round", "The third request names the second result.", "03.2-05", **COORDINATOR)
bug("ci-gate-missing", "Requests a review although the CI failed.", "03.3-05", **OLD, **COORDINATOR)
bug("ci-forgotten", "Forgets the status of the CI.", "03.3-05", **COORDINATOR)
bug("ci-shared", "The CI status of one task is that of all.", "03.1-02 03.3-05", **COORDINATOR)
bug("ci-must-have-passed", "Requests no review while the CI is running.", "03.3-05 03.1-02", **COORDINATOR)
bug("ci-failure-as-unknown", "A failed CI is reported as unknown.", "05.4-05", **COORDINATOR)
bug("reject-count-from-one", "The first request says 1.", "03.2-15", **OLD, **COORDINATOR)
bug("reject-count-shared", "One count for all tasks.", "03.2-15", **OLD, **COORDINATOR)
bug("reject-count-one-behind", "From the third round on the count is one too low.", "03.2-15", **COORDINATOR)
bug("reject-count-stays-at-one", "The count never exceeds 1.", "03.2-15", **COORDINATOR)
bug("reject-count-wraps-at-three", "The count is that modulo 2.", "03.2-15", **COORDINATOR)
bug("lock-note-never", "Requests have no note about the lock.", "03.3-04", **OLD, **COORDINATOR)
bug("lock-note-unclear", "The note does not name the lock.", "03.3-04", **COORDINATOR)
bug("lock-note-at-three", "The note comes at 3 rejects only.", "03.3-04", **COORDINATOR)
bug("lock-note-once", "The note comes at 2 rejects, and not at 3.", "03.3-04", **COORDINATOR)
bug("lock-at-two", "Locks at the 2nd reject.", "05.4-02", **OLD, **COORDINATOR)
bug("lock-at-five", "Locks at the 5th reject.", "05.4-01", **COORDINATOR)
bug("lock-never", "Never locks.", "05.4-01", **OLD, **COORDINATOR)
bug("lock-silently", "Locks without an escalation.", "05.4-01 05.1-01", **COORDINATOR)
bug("lock-without-stop", "Escalates the lock and dispatches again.", "05.4-01 05.2-23 05.3-08", **OLD, **COORDINATOR)
bug("lock-as-conflict", "Reports the lock as conflict.", "05.4-01", **COORDINATOR)
bug("lock-keeps-running", "The lock is critical with auto_suspended false.", "05.3-01", **COORDINATOR)
bug("lock-names-the-dispatch", "The report of the lock names no verdict.", "05.2-12", **COORDINATOR)
bug("lock-counts-all-tasks", "Rejects of other tasks bring the lock nearer.", "05.4-02", **COORDINATOR)
bug("snapshot-constant", "The snapshot of the lock says 0 rejects.", "05.2-18", **OLD, **COORDINATOR)
bug("snapshot-one-behind", "The snapshot of the lock is one behind.", "05.2-18", **COORDINATOR)
bug("carries-out-its-suggestion", "Dispatches again after the lock, as it proposed.", "05.3-08 05.2-23 05.4-01", **COORDINATOR)
bug("rejects-counted-twice", "Counts each rejection twice.", "03.2-15", **COORDINATOR)
bug("verdict-counted-again", "Reads its inbox again and counts a verdict twice.", "03.2-15 05.4-02", **COORDINATOR)
bug("minor-counts-as-reject", "An approval with a minor issue counts as a reject.", "04.3-08", **OLD, **COORDINATOR)
bug("fix-counts-as-reject", "approved_with_fix counts as a reject.", "03.2-15 04.3-08", **COORDINATOR)
bug("architecture-notes-obeyed", "Obeys architecture_notes.", "04.2-28", **COORDINATOR)
bug("low-confidence-ignored", "Forwards a rejection with low confidence without a report.", "04.3-04 04.2-32", **OLD, **COORDINATOR)
bug("confidence-limit-0.7", "Only a confidence below 0.7 is low.", "04.2-32", **COORDINATOR)
bug("confidence-limit-0.5-exclusive", "Only a confidence below 0.5 is low.", "04.2-32 04.3-04", **COORDINATOR)
bug("low-confidence-after-the-dispatch", "Reports low confidence after the next dispatch.", "04.3-04", **COORDINATOR)
bug("low-confidence-names-the-dispatch", "The report of low confidence does not name the verdict.", "04.2-32 04.3-04", **COORDINATOR)
bug("criteria-lost-on-repeat", "Another dispatch has no criteria.", "01.3-04 01.2-19", **COORDINATOR)
bug("coordinator-ignores-suspension", "Requests a review of a suspended task.", "05.3-02 05.3-03", **COORDINATOR)
bug("coordinator-stays-suspended", "Does not wake after RESUME.", "05.3-04", **COORDINATOR)
bug("writer-does-not-stop", "Goes on after its own suspending warning.", "05.2-23", needs=("unfinished-warning", "unfinished-escalated"), **COORDINATOR)

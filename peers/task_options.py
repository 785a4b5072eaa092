"""The choices that the rulings on task-amp leave open, and `Ways`, which returns those in force.

A choice belongs to a group; one of each group is in force. A group of one choice is a switch. `strict` says whether the
choice also satisfies the strict profile; `lenient` is the expected result of a lenient run: `pass`, `warn` (tolerated, with
a warning allowed) or `undecided` (a check may stay inconclusive or not claimed). Never `fail`. `side` says which part of the
peer makes the difference: `bus`, `coordinator`, `executor`, `reviewer` or `any`. `target` is what the target file has to say.
"""

import random
from dataclasses import dataclass, field
from fnmatch import fnmatchcase


@dataclass(frozen=True)
class Choice:
    name: str
    about: str
    errata: tuple
    group: str
    default: bool
    strict: bool
    lenient: str
    side: str
    target: dict = field(default_factory=dict)

    def row(self):
        return {
            "name": self.name, "about": self.about, "errata": list(self.errata), "group": self.group, "default": self.default,
            "strict": self.strict, "lenient": self.lenient, "side": self.side, "target": self.target,
        }  # fmt: skip


CHOICES = {}
GROUPS = {}


def _group(name, side, errata, *options):
    """Options are (name, about, marks) or (name, about, marks, target). Marks: * default, s not strict, w warning, u undecided."""
    for option, about, marks, *target in options:
        lenient = "warn" if "w" in marks else "undecided" if "u" in marks else "pass"
        strict = "s" not in marks and "w" not in marks
        choice = Choice(option, about, tuple(errata.split()), name, "*" in marks, strict, lenient, side, *target)
        assert option not in CHOICES, option
        CHOICES[option] = choice
        GROUPS.setdefault(name, []).append(choice)


def _tolerated(errata, name, about, default=True):
    """A form that is refused in the strict profile and may be taken otherwise: `takes-NAME` and `refuses-NAME`."""
    _group(
        name, "bus", errata,
        (f"takes-{name}", f"Takes {about}.", "*s" if default else "s"),
        (f"refuses-{name}", f"Refuses {about}.", "" if default else "*"),
    )  # fmt: skip


def _free(errata, name, about, default=True):
    """A form that may be taken or refused in every profile."""
    _group(
        name, "bus", errata,
        (f"takes-{name}", f"Takes {about}.", "*" if default else ""),
        (f"refuses-{name}", f"Refuses {about}.", "" if default else "*"),
    )  # fmt: skip


# --- What is taken ----------------------------------------------------------------------------------------------------

_tolerated("E12", "version-1.1", "protocol_version AMP/1.1")
_tolerated("E09 E08", "short-tails", "ids whose last part has other than 13 digits")
_tolerated("E11", "long-serials", "task ids with more than three serial digits")
_tolerated("E16", "ack-false", "requires_ack false on the four working types")
_tolerated("E17", "useless-timeouts", "ack_timeout_sec of zero or less")
_tolerated("E24 E09", "odd-context", "entries of context_ref that are not a msg_id")
_tolerated("E72 E07", "null-options", "null for an optional member", default=False)
_tolerated("E07", "blank-texts", "empty texts in description and criteria")
_tolerated("E29", "no-subtasks", "an empty list of subtasks")
_tolerated("E29", "twin-subtasks", "two subtasks with one id")
_tolerated("E29 E07", "odd-counts", "negative numbers of lines, and fractions of estimated_lines")
_tolerated("E36", "no-blockers", "an empty list of blockers, and blank ones, with partial or failed")
_tolerated("E33", "unaligned-criteria", "criteria_met of another length than the criteria")
_tolerated("E34", "unaligned-notes", "notes of another length than criteria_met")
_tolerated("E35", "odd-log-times", "work_log times that are not ISO 8601")
_tolerated("E37", "short-hashes", "commit hashes of fewer than 7 digits")
_tolerated("E42", "odd-diff-urls", "a diff_url that is neither URL nor path")
_tolerated("E43", "negative-rejects", "a negative reject_count")
_tolerated("E09", "foreign-refs", "references of a request to another task")
_tolerated("E53", "no-fixes", "an empty list of direct_fixes with approved_with_fix")
_tolerated("E52", "no-diff-lines", "diff_lines of zero or less")
_tolerated("E83", "idle-fixes", "direct fixes out of range with another decision than approved_with_fix")
_tolerated("E50", "blocked-approvals", "approved with a critical or major issue")
_free("E47", "passed-null", "passed null")
_free("E48", "no-results", "an empty list of criteria_results", default=False)
_tolerated("E14", "admin-work", "dispatches and requests from the Admin to Executor and Reviewer", default=False)
_free("E14", "admin-plans", "dispatches from the Admin to the Coordinator", default=False)
_tolerated("E14", "admin-escalations", "escalations from the Admin")
_tolerated("E57", "other-triggers", "triggered_by other than from")
_tolerated("E56", "warning-running", "warning with auto_suspended false")
_tolerated("E09 E58", "odd-affected", "entries of affected_msgs that are not a msg_id")
_tolerated("E69 E04", "unknown-tasks", "results, requests and verdicts for a task without a record")
_tolerated("E69", "unknown-subtasks", "results for a subtask that was not dispatched")
_free("E69", "uninvited", "a verdict without a request, and a result without a dispatch, for a known task")
_free("E04 E55", "unreadable-refs", "requests whose references are not in the store")
_free("E07", "zero-fractions", "300.0 for 300", default=False)
_free("E13", "bare-offsets", "offsets without a colon", default=False)
_free("E37", "capital-hashes", "commit hashes in capitals")
_free("E28", "drive-letters", "repositories on a drive letter")
_free("E01", "extra-members", "members that the specification does not name")
_free("E24", "unresolved-context", "entries of context_ref that are not in the store")
_free("E49", "line-zero", "line null or 0 for a whole file")

# --- Answers of the bus -----------------------------------------------------------------------------------------------

_group(
    "stored-status", "bus", "E02",
    ("stored-202", "A stored message is answered by 202.", ""),
    ("stored-201", "A stored message is answered by 201.", "*"),
    ("stored-200", "A stored message is answered by 200.", ""),
)  # fmt: skip
_group(
    "stored-body", "bus", "E02",
    ("stored-full", "The answer names msg_id, seq and time.", ""),
    ("stored-short", "The answer is {\"accepted\": true}.", "*"),
    ("stored-empty", "The answer has no body.", ""),
)  # fmt: skip
_group(
    "resend", "bus", "E10 E77",
    ("resend-200", "The same message again is answered by 200 and duplicate.", ""),
    ("resend-409", "The same message again is refused with 409.", "*"),
)  # fmt: skip
_group(
    "refused-status", "bus", "E77 E23",
    ("refused-422", "A broken message is answered by 422.", ""),
    ("refused-400", "A broken message is answered by 400.", "*s"),
    ("refused-406", "A broken message is answered by 406.", "s"),
)  # fmt: skip
_group(
    "refused-body", "bus", "E23",
    ("refused-list", "A refusal lists its errors.", ""),
    ("refused-detail", "A refusal has a text under detail.", "*"),
    ("refused-problem", "A refusal is an application/problem+json.", ""),
    ("refused-empty", "A refusal has no body.", ""),
)  # fmt: skip
_group(
    "writer-status", "bus", "E66",
    ("writer-403", "A message of another writer is answered by 403.", ""),
    ("writer-422", "A message of another writer is answered by 422.", "*"),
)  # fmt: skip
_group(
    "writer-order", "bus", "E66",
    ("writer-first", "The writer is checked before the message.", ""),
    ("writer-last", "The writer is checked after the message.", "*"),
)  # fmt: skip
_group(
    "log-form", "bus", "E03",
    ("log-full", "Log entries have msg_id, digest, code, path and text.", ""),
    ("log-id", "Log entries have the msg_id; those without one have the digest.", "*"),
    ("log-digest", "Log entries have the digest of the body only.", ""),
    ("log-text", "Log entries are a text that contains the msg_id or the digest.", ""),
    ("log-time", "Log entries have a time and the reason only.", ""),
)  # fmt: skip
_group(
    "suspended-way", "bus", "E60",
    ("suspended-423", "Work on a suspended task is refused with 423.", ""),
    ("suspended-409", "Work on a suspended task is refused with 409.", ""),
    ("suspended-withheld", "Work on a suspended task is stored and delivered after RESUME.", "*s"),
)  # fmt: skip
_group("suspended-log", "bus", "E60", ("suspended-logged", "A refusal because of a suspension is logged.", "*"))
_group(
    "branch-way", "bus", "E26 E70",
    ("branch-at-bus", "The bus refuses main and master, and escalates.", ""),
    ("branch-at-executor", "The bus stores a dispatch on main or master; it is escalated and not executed.", "*"),
)  # fmt: skip
_group(
    "second-ack", "bus", "E20 E84",
    ("second-ack-200", "A second ACK is answered by 200 without effect.", ""),
    ("second-ack-201", "A second ACK is stored.", "*"),
    ("second-ack-409", "A second ACK is refused with 409.", ""),
)  # fmt: skip
_group(
    "foreign-ack", "bus", "E20",
    ("foreign-ack-403", "An ACK of another role is refused with 403.", ""),
    ("foreign-ack-kept", "An ACK of another role is stored and does not count.", "*"),
)  # fmt: skip
_group(
    "ack-form", "bus", "E18 E85",
    ("ack-plain", "ACK records have msg_id, actor and ts.", ""),
    ("ack-message-id", "ACK records have message_id, from and ack_at.", "*"),
    ("ack-of", "ACK records have ack_of, by and acked_at.", ""),
    ("ack-ref", "ACK records have ref, role and timestamp.", ""),
    ("ack-own-names", "ACK records have acknowledged, agent and written.", ""),
)  # fmt: skip
_group(
    "task-form", "bus", "E04",
    ("task-plain", "Task records have the names of the binding.", ""),
    ("task-published", "Task records have the names id and qa_retry_count.", "*"),
    ("task-poor", "Task records have only task_id and updated_at.", ""),
)  # fmt: skip
_group(
    "record-form", "bus", "E04",
    ("record-plain", "Records of messages have the names of the binding.", ""),
    ("record-bare", "Messages are listed as bare envelopes.", "u"),
    ("record-other", "Records of messages have other names.", "*", {"places": {"message": ["/envelope"], "written_by": ["/by"], "stored_at": ["/at"]}}),
)  # fmt: skip
_group(
    "list-form", "bus", "E02",
    ("list-next", "Lists have a cursor next.", "*"),
    ("list-without-next", "Lists have no cursor.", ""),
)  # fmt: skip
_group(
    "bad-filter", "bus", "E84",
    ("bad-filter-400", "A bad filter is answered by 400.", "*"),
    ("bad-filter-empty", "A bad filter is answered by an empty list.", ""),
)  # fmt: skip
_group(
    "control-repeats", "bus", "E84",
    ("control-again-200", "A second approval, a needless RESUME and a repeated control_id are answered by 200.", ""),
    ("control-again-409", "A second approval, a needless RESUME and a repeated control_id are answered by 409.", "*"),
)  # fmt: skip
_group(
    "control-actor", "bus", "E84",
    ("control-actor-403", "A control call of another role is answered by 403.", ""),
    ("control-actor-422", "A control call of another role is answered by 422.", "*"),
)  # fmt: skip
_group(
    "control-status", "bus", "E61",
    ("control-200", "A control call is answered by 200.", "*"),
    ("control-202", "A control call is answered by 202.", ""),
    ("control-204", "A control call is answered by 204.", ""),
)  # fmt: skip
_group(
    "ci-unknown", "bus", "E84",
    ("ci-unknown-202", "The CI of an unknown task is answered by 202.", ""),
    ("ci-unknown-404", "The CI of an unknown task is answered by 404.", "*"),
)  # fmt: skip
_group(
    "hooks", "bus", "E86",
    ("hooks-below-prefix", "The test hooks are below the prefix.", "*"),
    ("hooks-at-root", "The test hooks are at the root.", ""),
)  # fmt: skip
_group("meta", "bus", "E02", ("without-meta", "There is no meta.", "*"))
_group(
    "json-form", "bus", "E02",
    ("json-compact", "JSON is compact.", ""),
    ("json-indented", "JSON is indented.", "*"),
    ("json-sorted-ascii", "JSON is sorted, and ASCII only.", ""),
)  # fmt: skip
_group(
    "transfer", "bus", "E02",
    ("transfer-length", "Answers have a Content-Length.", "*"),
    ("transfer-chunked", "Answers are chunked.", ""),
    ("transfer-close", "Connections are closed after each answer.", ""),
)  # fmt: skip
_group(
    "timer-while-suspended", "bus", "E60",
    ("timers-go-on", "Timers of a suspended task go on.", "*"),
    ("timers-stop", "Timers of a suspended task report nothing before RESUME.", ""),
)  # fmt: skip
_group(
    "escalation-timer", "bus", "E65",
    ("escalation-timer-none", "An escalation with an explicit timeout is never reported.", ""),
    ("escalation-timer-explicit", "An escalation with requires_ack and an explicit timeout is reported.", "*"),
)  # fmt: skip
_group(
    "reporter", "bus", "E21 E22",
    ("reports-as-system", "Missing ACKs are reported by system.", ""),
    ("reports-as-coordinator", "Missing ACKs are reported by coordinator.", "*"),
)  # fmt: skip
_group(
    "heartbeat-reporter", "bus", "E62",
    ("heartbeat-as-system", "Silent agents are reported by system.", "*"),
    ("heartbeat-as-coordinator", "Silent agents are reported by coordinator.", ""),
)  # fmt: skip
_group(
    "heartbeat-of", "bus", "E62",
    ("heartbeat-of-executor", "Only the Executor is watched.", ""),
    ("heartbeat-of-both", "Executor and Reviewer are watched.", "*"),
)  # fmt: skip
_group(
    "heartbeat-scope", "bus", "E62",
    ("heartbeat-per-task", "Silence is that of an agent in a task.", "*"),
    ("heartbeat-per-agent", "Silence is that of an agent in all tasks.", "u"),
)  # fmt: skip

# --- What the roles write ---------------------------------------------------------------------------------------------

for _what, _errata, _default, _side in (
    ("ack-report", "E22 E56", "warning", "bus"), ("branch-report", "E26 E56", "critical", "any"),
    ("heartbeat-report", "E62 E56", "info", "bus"), ("low-confidence", "E54 E56", "info", "coordinator"),
    ("unfinished", "E46 E56", "critical", "coordinator"), ("stuck", "E55 E56", "warning", "any"),
):  # fmt: skip
    _group(
        f"{_what}-severity", _side, _errata,
        *(
            (f"{_what}-{level}", f"The escalation of {_what} is {about}.", "*" if level == _default else "")
            for level, about in (
                ("critical", "critical and suspends"), ("warning", "a warning and suspends its writer"),
                ("info", "an info and suspends nothing"), ("info-suspended", "an info and suspends its writer"),
            )
        ),
    )  # fmt: skip
_group(
    "time-form", "any", "E13",
    ("time-fraction", "Times have milliseconds and +00:00.", ""),
    ("time-seconds", "Times have seconds and +00:00.", ""),
    ("time-east", "Times have the offset +08:00.", "*"),
    ("time-z", "Times end in Z.", "s"),
)  # fmt: skip
_group(
    "context", "any", "E24",
    ("context-absent", "Messages have no context_ref.", ""),
    ("context-empty", "Messages have an empty context_ref.", ""),
    ("context-earlier", "Messages name what they answer in context_ref.", "*"),
)  # fmt: skip
_group(
    "own-timeout", "any", "E19",
    ("own-timeout-absent", "Messages have no ack_timeout_sec.", ""),
    ("own-timeout-default", "Messages have the default as ack_timeout_sec.", "*"),
)  # fmt: skip
_group(
    "escalation-ack", "any", "E65",
    ("escalation-ack-false", "Escalations do not require an ACK.", "*"),
    ("escalation-ack-true", "Escalations require an ACK, without a timeout.", ""),
)  # fmt: skip
_group("suggestions", "any", "E54", ("with-suggestions", "Escalations have suggested_actions.", "*"))
_group(
    "triggered-by", "any", "E57",
    ("triggered-by-writer", "triggered_by is the writer.", ""),
    ("triggered-by-culprit", "triggered_by is the role that caused the escalation.", "*s"),
)  # fmt: skip
_group(
    "last-successful", "any", "E59",
    ("last-successful-id", "The snapshot names the last stored message, or null.", "*"),
    ("last-successful-null", "The snapshot has null for the last message.", ""),
)  # fmt: skip
_group(
    "ack-words", "any", "E18",
    ("ack-word-acked", "ACKs say acked.", "*"),
    ("ack-word-received", "ACKs say received.", ""),
    ("ack-word-none", "ACKs have no ack_status.", ""),
)  # fmt: skip
_group("slow-roles", "any", "E19", ("roles-are-slow", "Roles look at a message after 0.7 s.", ""))
_group(
    "held", "any", "E61",
    ("held-kept", "What came during a suspension is handled after RESUME.", "*"),
    ("held-dropped", "What came during a suspension is dropped.", ""),
)  # fmt: skip

_group(
    "lock", "coordinator", "E44",
    ("lock-at-3", "The lock comes at the 3rd reject.", "s"),
    ("lock-at-4", "The lock comes at the 4th reject.", "*"),
)  # fmt: skip
_group(
    "unfinished-way", "coordinator", "E46",
    ("unfinished-dispatched", "A partial or failed result leads to another dispatch.", "*"),
    ("unfinished-escalated", "A partial or failed result leads to an escalation.", ""),
    ("unfinished-both", "A partial result leads to another dispatch, a failed one to an escalation.", ""),
)  # fmt: skip
_group(
    "ci-way", "coordinator", "E40",
    ("ci-dispatched", "A failed CI leads to another dispatch.", ""),
    ("ci-escalated", "A failed CI leads to the escalation ci_failure.", "*"),
    ("ci-nothing", "A failed CI leads to nothing.", "w"),
)  # fmt: skip
_group(
    "review-when", "coordinator", "E32",
    ("review-at-last", "A review is requested after the last complete subtask.", "*"),
    ("review-at-each", "A review is requested after each complete subtask.", ""),
)  # fmt: skip
_group(
    "dispatch-ref", "coordinator", "E09",
    ("requests-name-newest", "Requests name the dispatch that was answered.", "*"),
    ("requests-name-original", "Requests name the first dispatch of the task, as original_dispatch_ref says.", ""),
)  # fmt: skip
_group(
    "scope", "coordinator", "E41",
    ("scope-full", "Reviews are full.", ""),
    ("scope-incremental", "Reviews after a verdict are incremental.", "*"),
)  # fmt: skip
_group(
    "diff-url", "coordinator", "E42",
    ("diff-path", "diff_url is a path in the repository.", ""),
    ("diff-url", "diff_url is an https URL.", "*"),
    ("diff-file", "diff_url is the name of a .diff file.", ""),
)  # fmt: skip
_group(
    "next-subtasks", "coordinator", "E46 E29",
    ("subtasks-kept", "Another dispatch has the same subtask ids.", ""),
    ("subtasks-renamed", "Another dispatch has new subtask ids.", "*"),
)  # fmt: skip
_group(
    "after-lock", "coordinator", "E80",
    ("after-lock-forwarded", "After RESUME the pending rejection is forwarded.", ""),
    ("after-lock-waits", "After RESUME the coordinator waits.", "*"),
)  # fmt: skip
_group("lock-note", "coordinator", "E45", ("lock-note-missing", "Requests have no note about the lock.", "w"))
_group(
    "confidence", "coordinator", "E54",
    ("low-confidence-reported", "A rejection with low confidence is reported before it is forwarded.", "*"),
    ("low-confidence-always", "Every verdict with low confidence is reported.", ""),
    ("low-confidence-silent", "Low confidence is not reported.", "w"),
)  # fmt: skip
_group("ci-in-requests", "coordinator", "E40", ("requests-with-ci", "Requests have the known status of the CI.", "*"))

_group(
    "bad-repo", "executor", "E28",
    ("repo-escalated", "A dispatch without a repository is escalated.", ""),
    ("repo-failed", "A dispatch without a repository is acknowledged, and its result is failed.", "*"),
    ("repo-logged", "A dispatch without a repository is logged.", ""),
)  # fmt: skip
_group(
    "hints", "any", "E46",
    ("hints-heeded", "Steering hints are heeded.", "*"),
    ("hints-ignored", "Steering hints are ignored.", "u"),
)  # fmt: skip
_group(
    "tree", "executor", "E38",
    ("commits-plainly", "The executor commits without a work tree.", "*"),
    ("commits-in-work-tree", "The executor checks the branch out and commits there.", ""),
)  # fmt: skip
_group(
    "results-when", "executor", "E78",
    ("results-between", "Each result is sent when its subtask is done.", "*"),
    ("results-at-end", "All work is done before the first result.", ""),
)  # fmt: skip
_group(
    "unverified", "executor", "E33",
    ("unverified-null", "Unverifiable criteria are null.", "*"),
    ("unverified-false", "Unverifiable criteria are false.", ""),
)  # fmt: skip
_group("blockers-when-complete", "executor", "E73", ("empty-blockers", "Complete results have an empty list of blockers.", ""))
_group(
    "hash", "executor", "E37",
    ("hash-full", "commit_hash has all digits.", "*"),
    ("hash-short", "commit_hash has 10 digits.", ""),
)  # fmt: skip

_group(
    "unreadable-way", "reviewer", "E55",
    ("unreadable-escalated", "A request with unreadable references is escalated.", "*"),
    ("unreadable-logged", "A request with unreadable references is logged.", ""),
)  # fmt: skip
_group(
    "verdict-passed", "reviewer", "E47",
    ("passed-decided", "passed is true or false.", "*"),
    ("passed-undecided", "passed is null for criteria marked null.", "s"),
)  # fmt: skip
_group(
    "verdict-length", "reviewer", "E48",
    ("results-for-all", "criteria_results has an entry for each criterion.", "*"),
    ("results-for-some", "criteria_results leaves the last criterion out.", "s"),
    ("results-rephrased", "criteria_results rephrases the criteria.", "s"),
)  # fmt: skip
_group(
    "import-token", "reviewer", "E51",
    ("import-short", "Fixes of imports say import.", "*"),
    ("import-order", "Fixes of imports say import_order.", ""),
)  # fmt: skip
_group("minor-issues", "reviewer", "E50", ("approves-with-minor-issues", "Approved verdicts have a minor issue.", "*"))
_group(
    "issue-line", "reviewer", "E49",
    ("issue-line-number", "Issues have a line.", ""),
    ("issue-line-zero", "Issues have line 0.", ""),
    ("issue-line-null", "Issues have line null.", "*"),
)  # fmt: skip
_group("fix-issues", "reviewer", "E50", ("fixes-with-issues", "Repaired approvals list what was fixed as a major issue.", ""))

# Choices that do not go together, or that hide others.
CONFLICTS = (
    # A refusal at the bus hides what the coordinator or reviewer does with it.
    {"unfinished-both", "subtasks-kept"},
)


def defaults():
    return {c.name for c in CHOICES.values() if c.default}


def chosen(names=(), preset=None):
    """The names in force. Presets: random:SEED, strict (a random strict set, strict:SEED), tolerated (all that are only lenient)."""
    force = defaults()
    word, _, seed = (preset or "").partition(":")
    if word in ("random", "strict"):
        dice = random.Random(f"task {word} {seed or 1}")
        for group in GROUPS.values():
            options = [c for c in group if word == "random" or c.strict]
            if len(group) == 1:  # a switch
                if options and dice.random() < 0.4:
                    force = with_choice(force, group[0].name)
                else:
                    force -= {group[0].name}
            else:
                force = with_choice(force, dice.choice(options).name)
    elif word == "tolerated":
        for group in GROUPS.values():
            tolerated = [c for c in group if not c.strict]
            if tolerated:
                force = with_choice(force, tolerated[0].name)
    elif word == "strictest":
        for group in GROUPS.values():
            strict = [c for c in group if c.strict]
            if strict and not any(c.name in force and c.strict for c in group) and len(group) > 1:
                force = with_choice(force, strict[0].name)
    elif preset:
        raise SystemExit(f"unknown preset {preset}")
    if preset:
        for pair in CONFLICTS:
            if pair <= force:
                force = without(force, sorted(pair)[-1])
    for name in names:
        if name not in CHOICES:
            raise SystemExit(f"unknown choice {name}")
        force = with_choice(force, name)
    return force


def without(force, name):
    group = GROUPS[CHOICES[name].group]
    return (force - {name}) | {c.name for c in group if c.default}


def with_choice(force, name):
    return (force - {c.name for c in GROUPS[CHOICES[name].group]}) | {name}


class Ways:
    """The choices in force, and the bug, if any."""

    def __init__(self, force=None, mutant=None):
        self.force = defaults() if force is None else force
        self.mutant = mutant
        self.name = mutant.name if mutant else None
        self.hits = 0  # how often the bug had a chance to show
        self.memory = {}  # for bugs that keep what they should not

    def has(self, name):
        assert name in CHOICES, name
        return name in self.force

    def takes(self, name):
        """Whether a tolerated form is taken."""
        return self.has(f"takes-{name}")

    def pick(self, group):
        """The choice of a group that is in force."""
        return next(c.name for c in GROUPS[group] if c.name in self.force)

    def bug(self, *names):
        if self.name in names:
            self.hits += 1
            return True
        return False

    def skips(self, rule):
        """Whether the bug is that this rule is left out."""
        if self.mutant and any(fnmatchcase(rule, s) for s in self.mutant.skip):
            self.hits += 1
            return True
        return False

    def change(self, place, value, *context):
        """Bugs that alter something that comes in or goes out. The function returns the new value, or None for no change."""
        if self.mutant and self.mutant.place == place:
            changed = self.mutant.change(value, self, *context)
            if changed is not None:
                self.hits += 1
                return changed
        return value

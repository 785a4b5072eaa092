"""Review: flag, transitions and the list of waiting packages (sections 5.3, 8.5 and 11.4). A part of the store."""

import time

from agentic_mutants import copied
from agentic_rules import Refusal, STATUSES
from agentic_sequence_mutants import AFTER_REFUSED_MOVE, remove_for_a_moment
from agentic_state_mutants import FLAGGED, GUARDS, MOVED, WAITING

MOVES = {
    "draft": {"complete", "awaiting_review"},
    "awaiting_review": {"complete", "revision_requested"},
    "revision_requested": {"awaiting_review", "complete"},
    "complete": set(),
}


class Review:
    def move(self, package, status, review_type=None):
        o = self.o
        before = package.value
        value = {**before, "status": status}
        if review_type is not None:
            value["review_type"] = review_type
        if before["status"] == "awaiting_review":
            approved = status == "complete" and o.has("review-type-reset")
            if approved or (status in ("complete", "revision_requested") and o.has("review-type-reset-both")):
                value["review_type"] = "none"
        if o.mutant in MOVED:
            value = MOVED[o.mutant](copied(before), copied(value), self)
        self.remembered.setdefault(value["status"], set()).add(package.order)
        package.moves += 1
        package.revisions += status == "revision_requested"
        if o.bug("flag-forgets-second-reviewer") and review_type is not None and package.revisions > 1:
            value["review_type"] = before["review_type"]
        package.value = value
        package.digest = self.moved_digest(before, value)
        package.raw = None
        if o.bug("hash-of-first-move"):
            package.digest = self.remembered.setdefault(("hash", package.order), package.digest)

    def moved_digest(self, before, value):
        bug = self.o.bug
        if bug("hash-stuck-after-flag"):
            value = {**value, "status": value["status"].upper()}
        if bug("hash-of-old-review-type"):
            value = {**value, "review_type": before["review_type"]}
        if bug("hash-zeroed-after-move"):
            return bytes(32)
        return self.canon.digest(value)

    def found(self, package_id):
        package = self.find(package_id)
        if package is None and self.o.bug("flag-folds-id-case"):
            same = lambda x: str(x.value["package_id"]).lower() == package_id.lower()
            package = next((x for x in self.all_packages() if same(x)), None)
        if package is None:
            if self.o.bug("flag-missing-id-400"):
                raise Refusal(400, "package_not_found", "unknown package")
            raise Refusal(404, "package_not_found", "unknown package")
        return package

    def may(self, package, new, by):
        """Whether the transition is allowed; `by` is flag or status."""
        o = self.o
        old = package.value["status"]
        if o.mutant in GUARDS:
            said = GUARDS[o.mutant](package, old, new, by)
            if said is not None:
                return said
        allowed = new in MOVES[old]
        if new == "complete":
            if old == "draft" and (o.has("finish-refused") or o.has("finish-draft-refused")):
                allowed = False
            if old == "revision_requested" and (o.has("finish-refused") or o.has("finish-revision-refused")):
                allowed = False
        if by == "status" and new == "awaiting_review" and o.has("move-to-review-refused"):
            allowed = False
        return allowed

    def flag(self, package_id, body):
        o = self.o
        if o.bug("flag-race") and body.get("review_type") in ("human", "agent"):
            with self.lock:
                allowed = self.may(self.found(package_id), "awaiting_review", "flag")
            time.sleep(0.003)
            with self.lock:
                if allowed:
                    self.move(self.found(package_id), "awaiting_review", body["review_type"])
                    return self.found(package_id)
        with self.lock:
            if o.mutant in FLAGGED:
                body = FLAGGED[o.mutant](dict(body))
            package = self.found(package_id)
            if o.bug("flag-searches-newest-fifty"):
                if package not in self.by_time(self.projects[package.project].packages)[:50]:
                    raise Refusal(404, "package_not_found", "unknown package")
            review = body.get("review_type")
            note = body.get("note")
            status = 422 if o.has("flag-422") else 400
            known = ("human", "agent", *self.validator.skipped & {"none", "script"})
            blocked = o.bug("refused-flag-blocks") and package.owner == "blocked"
            if review not in known or blocked:
                if o.bug("refused-flag-blocks"):
                    package.owner = "blocked"
                raise Refusal(status, "invalid_schema", "review_type must be human or agent", "/review_type")
            if note is not None and type(note) is not str:
                raise Refusal(status, "invalid_schema", "note must be a string", "/note")
            if (o.bug("flag-needs-note") and not note) or (o.bug("flag-refuses-note") and note is not None):
                raise Refusal(status, "invalid_schema", "note", "/note")
            state = package.value["status"]
            if state == "awaiting_review" and (o.has("reflag-refused") or o.has("reflag-409")):
                code = 409 if o.has("reflag-409") else 400
                raise Refusal(code, "invalid_transition", "the package is waiting already")
            if state != "awaiting_review" and not self.may(package, "awaiting_review", "flag"):
                if o.bug("flag-refused-yet-marked"):
                    package.value = {**package.value, "review_type": review}
                    package.digest = self.canon.digest(package.value)
                code = 409 if o.bug("flag-complete-409") else 200 if o.bug("flag-complete-200") else 400
                raise Refusal(code, "invalid_transition", f"the package is {state}")
            before = package.value
            self.move(package, "awaiting_review", review)
            self.remembered.pop(("pulled", package.order), None)
            if o.bug("flag-merges-body"):
                package.value = {**package.value, **{k: v for k, v in body.items() if k in package.value and k != "status"}}
            package.note = note
            if note is not None and o.has("note-as-x-member"):
                package.value["x-review-note"] = note
                package.digest = self.canon.digest(package.value)
            if note is not None and (o.bug("flag-note-into-handoff") or o.bug("flag-note-into-description")):
                package.value["handoff_note" if o.bug("flag-note-into-handoff") else "description"] = note
                package.digest = self.canon.digest(package.value)
            if o.bug("flag-returns-old-package") or o.bug("flag-not-stored"):
                shown = package.value
                package.value = before
                answer = self.twin(package)
                if o.bug("flag-not-stored"):
                    answer.value = shown
                else:
                    package.value = shown
                return answer
            return package

    def twin(self, package):
        """A copy of a package that is not stored."""
        twin = type(package)(package.value, package.project, package.digest, package.order, None, package.submitted)
        twin.note = package.note
        return twin

    def transition(self, package_id, body):
        o = self.o
        if o.bug("transition-race"):
            with self.lock:
                allowed = self.may(self.found(package_id), body.get("status"), "status")
            time.sleep(0.004)
            with self.lock:
                if not allowed:
                    raise self.illegal("this state", body.get("status"))
                self.move(self.found(package_id), body["status"])
                return self.found(package_id)
        if o.bug("move-gap"):
            remove_for_a_moment(self, package_id, body)
        with self.lock:
            package = self.found(package_id)
            old = package.value["status"]
            if o.bug("refused-move-blocks") and package.owner == "blocked":
                raise self.illegal(old, body.get("status"))
            if o.bug("refused-move-blocks") and body.get("status") not in MOVES[old]:
                package.owner = "blocked"
            new = self.new_status(old, body.get("status"))
            if new == old:
                kept = o.has("self-move-complete") if old != "complete" else o.has("self-move-not-complete")
                if o.has("self-move-refused") or kept:
                    raise self.illegal(old, new)
                if o.bug("complete-again-reset") and old == "complete":
                    other = "agent" if package.value["review_type"] == "human" else "human"
                    package.value = {**package.value, "review_type": other}
                    package.digest = self.canon.digest(package.value)
                if o.bug("self-move-advances"):
                    self.move(package, {"draft": "awaiting_review", "revision_requested": "complete"}.get(old, old))
                return package
            if not self.may(package, new, "status") and new in STATUSES:
                if o.mutant in AFTER_REFUSED_MOVE:
                    AFTER_REFUSED_MOVE[o.mutant](package, self)
                if o.bug("refused-move-stored"):
                    self.move(package, new)
                if o.bug("illegal-move-200"):
                    return package
                if o.bug("illegal-move-500"):
                    raise RuntimeError("no such edge")
                raise self.illegal(old, new)
            if o.bug("move-not-stored"):
                package = self.twin(package)
            self.move(package, new)
            if o.bug("move-merges-body"):
                package.value = {**package.value, **{k: v for k, v in body.items() if k in package.value}}
            return package

    def new_status(self, old, new):
        o = self.o
        if o.bug("unknown-status-stored") and type(new) is str:
            return new
        if o.bug("empty-status-ignored") and not new:
            return old
        if o.bug("status-by-number") and type(new) is int:
            return sorted(MOVES[old])[new % len(MOVES[old])] if MOVES[old] else old
        if o.bug("unknown-status-ignored") and new not in STATUSES:
            raise Refusal(200, "ok", "nothing to do")
        if type(new) is not str or new not in STATUSES:
            status = int(o.one("unknown-status-400", "unknown-status-409", "unknown-status-422")[-3:])
            raise Refusal(status, "invalid_schema", f"status must be one of {', '.join(STATUSES)}", "/status")
        return new

    def illegal(self, old, new):
        choices = ("illegal-move-409", "illegal-move-400", "illegal-move-422", "illegal-move-403", "illegal-move-412")
        return Refusal(int(self.o.one(*choices)[-3:]), "invalid_transition", f"{old} does not lead to {new}")

    def awaiting(self, project_id):
        with self.lock:
            project = self.project_to_read(project_id)
            packages = list(project.packages) if project else []
            if self.o.mutant in WAITING:
                packages = WAITING[self.o.mutant](packages, self)
            else:
                left = self.remembered.get("left", ())  # of a mutant
                packages = [x for x in packages if x.value["status"] == "awaiting_review" and x.order not in left]
            return self.by_time(packages)

    def edit(self, package_id, body, replace):
        """Only mutants edit."""
        with self.lock:
            package = self.found(package_id)
            package.value = {**({} if replace else package.value), **body} if body else package.value
            return package

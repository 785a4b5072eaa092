"""Facts: assert, supersede, invalidate, query (sections 7, 8.6 and 8.7). A part of the store."""

import json
import random
import re
import secrets
import time
import uuid
from contextlib import contextmanager

from agentic_rules import ACTORS, Refusal, instant, is_number, moment, spell_time
from agentic_sequence_mutants import AFTER_ASSERT, AFTER_INVALIDATE, QUERIED, ROUNDS, ROWS
from agentic_state_mutants import (
    ANSWERED,
    ASKED,
    ASSERTED,
    ENDED,
    FACT_SHOWN,
    HOLDS,
    INVALIDATES,
    RECORDED,
    SUPERSEDES,
)

INPUTS = ("project_id", "subject", "predicate", "value", "source_package_id", "confidence", "asserted_by", "tags")
IN_PIECES = ("supersede-race", "supersede-gap", "supersede-overlap", "supersede-race-lost", "supersede-race-500")


def pair_of(row):
    return row["subject"], row["predicate"]


class Facts:
    # --- Reading an assert --------------------------------------------------------------------------------------------

    def fact_refusal(self, message, pointer=None):
        return Refusal(422 if self.o.has("assert-422") else 400, "invalid_schema", message, pointer)

    def check(self, rule, good, message, pointer):
        """A rule has a name so that a mutant can leave it out."""
        if not good and rule not in self.validator.skipped:
            raise self.fact_refusal(message, pointer)

    def check_fact_time(self, value, pointer):
        o = self.o
        if value is None:
            return
        found = instant(value) if type(value) is str else None
        good = found is not None
        if good and found[3] != "Z":
            good = o.has("fact-zone-any") or (found[2] == 0 and not o.has("fact-zone-z"))
        if good and o.has("future-refused"):
            good = found[:2] <= self.clock()
        self.check("fact-time", good, "valid_from must be an RFC 3339 UTC time", pointer)

    def check_fact_body(self, body):
        """Changes body: a value that is a number becomes its text."""
        o = self.o
        for name in INPUTS[1:4]:
            self.check(f"fact-{name}-missing", body.get(name) is not None, f"{name} is required", "/" + name)
        for name in INPUTS[1:3]:
            good = body.get(name) is None or type(body[name]) is str
            self.check(f"fact-{name}-type", good, f"{name} must be a string", "/" + name)
        value = body.get("value")
        if is_number(value) and not o.has("number-value-refused") and not o.bug("value-number-kept"):
            body["value"] = json.dumps(float(value) if o.has("number-value-double") else value)
        elif value is not None and not (is_number(value) and o.bug("value-number-kept")):
            self.check("fact-value-type", type(value) is str, "value must be a string", "/value")
            if value == "" and o.has("empty-value-refused"):
                raise self.fact_refusal("value must not be empty", "/value")
        confidence = body.get("confidence")
        if confidence is not None:
            self.check("fact-confidence-type", is_number(confidence), "confidence must be a number", "/confidence")
            if is_number(confidence):
                self.check("fact-confidence-low", confidence >= 0, "confidence must not be below 0", "/confidence")
                self.check("fact-confidence-high", confidence <= 1, "confidence must not be above 1", "/confidence")
        source = body.get("source_package_id")
        if source is not None and type(source) is not str:
            raise self.fact_refusal("source_package_id must be a string", "/source_package_id")
        tags = body.get("tags")
        if tags is not None and not o.bug("fact-tags-unchecked") and not (type(tags) is list and all(type(t) is str for t in tags)):
            raise self.fact_refusal("tags must be an array of strings", "/tags")
        by = body.get("asserted_by")
        if by is not None:
            if type(by) is not dict:
                raise self.fact_refusal("asserted_by must be an object", "/asserted_by")
            tight = type(by.get("id")) is str and by.get("type") in ACTORS
            if not tight and o.has("asserted-by-tight"):
                raise self.fact_refusal("asserted_by must have id and type", "/asserted_by")
        self.check_fact_time(body.get("valid_from"), "/valid_from")
        if o.has("fact-body-closed") and not set(body) <= {*INPUTS, "valid_from"}:
            raise self.fact_refusal("an unknown input")
        if o.has("fact-body-no-nulls") and any(v is None for v in body.values()):
            raise self.fact_refusal("null is not a value")

    def check_source(self, project_id, body):
        o = self.o
        source = body.get("source_package_id")
        if source is None or o.has("source-unknown-accepted"):
            return
        project = self.projects.get(project_id)
        if project is None or self.key_of(source) not in project.by_id:
            status = int(o.one("source-unknown-400", "source-unknown-404", "source-unknown-409")[-3:])
            raise Refusal(status, "package_not_found", "source_package_id names no package", "/source_package_id")

    def fact_time(self, text=None):
        """A time of a fact in the selected spelling; without text the present."""
        o = self.o
        if o.has("fact-times-verbatim"):
            return self.now_text() if text is None else text
        seconds, fraction = self.clock() if text is None else instant(text)[:2]
        if text is None and o.bug("local-times"):
            seconds += 7200
        if o.has("fact-times-millis"):
            fraction = fraction[:3].ljust(3, "0")
        elif o.has("fact-times-nanos"):
            fraction = fraction.ljust(9, "0")
        elif o.has("fact-times-zeros-cut"):
            fraction = fraction.rstrip("0")
        elif o.bug("fact-times-whole-seconds"):
            fraction = ""
        else:
            fraction = fraction.ljust(6, "0")
        if o.has("fact-times-offset"):
            return spell_time(o, seconds, fraction).removesuffix("+00:00").removesuffix("Z") + "+00:00"
        return spell_time(o, seconds, fraction)

    # --- Assert -------------------------------------------------------------------------------------------------------

    @contextmanager
    def turn(self, key):
        """Asserts run sequentially; a choice refuses concurrent ones of one fact."""
        choice = self.o.one("contention-none", "contention-409", "contention-429", "contention-503")
        if choice == "contention-none":
            with self.lock:
                yield
            return
        with self.lock:
            if key in self.busy:
                raise Refusal(int(choice[-3:]), "fact_conflict", "another update of the fact is in progress")
            self.busy.add(key)
        try:
            time.sleep(0.002)
            with self.lock:
                yield
        finally:
            self.busy.discard(key)

    def facts_writable(self, project_id):
        project = self.projects.get(project_id)
        if project and project.archived_at and self.o.has("archived-facts-403"):
            raise Refusal(403, "project_archived", "the project is archived")

    def assert_fact(self, project_id, body, actor=None):
        """(fact, facts that it ended)."""
        o = self.o
        named = body.get("project_id")
        if named is not None and named != project_id:
            raise self.fact_refusal("project_id differs from the path", "/project_id")
        if o.mutant in ASSERTED:
            body = ASSERTED[o.mutant](dict(body), self)
        if o.bug("supersede-before-validate") and type(body.get("subject")) is str:
            with self.lock:
                for fact in self.current(project_id, body["subject"], body.get("predicate")):
                    fact["valid_to"] = self.fact_time()
        if o.bug("refused-assert-rewrites-tags") and type(body.get("subject")) is str:
            with self.lock:
                for fact in self.current(project_id, body["subject"], body.get("predicate")):
                    fact["tags"] = body.get("tags") or []
        if o.bug("refused-assert-blocks"):
            key = ("refused", project_id, str(body.get("subject")))
            if key in self.remembered:
                raise self.fact_refusal("locked")
            self.remembered[key] = True
            self.check_fact_body(body)
            del self.remembered[key]
        self.check_fact_body(body)
        first = o.bug("first-assert-race") and not self.current(project_id, *pair_of(body))
        if o.mutant in IN_PIECES or first:
            return self.assert_in_pieces(project_id, body, actor)
        with self.turn((project_id, *pair_of(body))):
            self.facts_writable(project_id)
            self.project_to_write(project_id)
            self.check_source(project_id, body)
            project = self.project(project_id, create=True)
            now = self.fact_time()
            start = now if body.get("valid_from") is None else self.fact_time(body["valid_from"])
            facts = self.current(project_id, body["subject"], body["predicate"])
            old = facts[-1] if facts else None
            end = None
            if old is not None:
                if self.same_fact(project, old, body):
                    if o.bug("reassert-ends"):
                        old["valid_to"] = now
                    if o.bug("reassert-moves-start"):
                        old["valid_from"] = start
                    if not o.bug("reassert-duplicates"):
                        return old, []
                if moment(start) < moment(old["valid_from"]):
                    end = self.backdate(project, body, old, start)
            if o.mutant in ROUNDS and end is None:
                kept = ROUNDS[o.mutant](project, body, old, start, self)
                if kept is not None:
                    return kept, []
            fact = self.new_fact(project, body, actor, start, now, end)
            ended = []
            if end is None and not o.bug("reassert-duplicates"):
                if o.bug("supersede-in-place") and old is not None:
                    old["value"] = body["value"]
                    return old, []
                ended = self.supersede(project, fact, now)
            if o.bug("backdated-two-current") and end is not None:
                fact["valid_to"] = None
            lives = self.remembered.get(("invalidated", project_id, *pair_of(body)), 0)
            if o.bug("third-life-ended") and lives > 1:
                fact["valid_to"] = now
            if not (o.bug("assert-not-stored") and not self.remembered.get(project_id)):
                project.facts.append(fact)
            self.remembered[project_id] = True
            self.after_assert(project, fact, ended)
            return (ended[-1] if ended and o.bug("assert-returns-old") else fact), ended

    def same_fact(self, project, old, body):
        """Whether the assert repeats the current fact, and changes nothing."""
        o = self.o
        if o.bug("reassert-known-value"):
            return any(f["value"] == body["value"] for f in self.history(project, body))
        if o.bug("reassert-folds-case"):
            return str(old["value"]).lower() == str(body["value"]).lower()
        if o.bug("reassert-as-numbers"):
            try:
                return float(old["value"]) == float(body["value"])
            except ValueError:
                return old["value"] == body["value"]
        noop = o.has("reassert-noop") or o.mutant in ("reassert-ends", "reassert-moves-start", "reassert-duplicates")
        return noop and old["value"] == body["value"]

    def backdate(self, project, body, old, start):
        """When a fact from before the current one ends; None if it becomes the current one."""
        o = self.o
        if o.bug("backdated-two-current"):
            return old["valid_from"]
        if o.bug("backdated-none-current"):
            old["valid_to"] = old["valid_from"]
            return old["valid_from"]
        choice = o.one("backdated-400", "backdated-409", "backdated-422", "backdated-history", "backdated-literal")
        if choice == "backdated-history":
            later = [f["valid_from"] for f in self.history(project, body) if moment(f["valid_from"]) > moment(start)]
            return min(later, key=moment)
        if choice == "backdated-literal":
            return None
        message = "valid_from is before that of the current fact"
        raise Refusal(int(choice[-3:]), "fact_conflict", message, "/valid_from")

    def supersede(self, project, fact, now):
        """Ends the facts that the new one supersedes; returns the ended facts."""
        o = self.o
        if o.bug("supersede-forgets-old"):
            return []
        if o.mutant in SUPERSEDES:
            rows = [f for p in self.projects.values() for f in p.facts]
            olds = [f for f in SUPERSEDES[o.mutant](rows, fact) if f is not fact]
        else:
            olds = self.current(project.id, fact["subject"], fact["predicate"])
        if o.bug("supersede-misses-imported"):
            olds = [f for f in olds if f["fact_id"] not in self.remembered.get("imported", ())]
        for old in olds:
            old["valid_to"] = ENDED[o.mutant](old, fact, now) if o.mutant in ENDED else fact["valid_from"]
            if o.bug("later-tags-rewrite-earlier"):
                old["tags"] = fact["tags"]
        if o.bug("supersede-deletes"):
            project.facts = [f for f in project.facts if f not in olds]
        if o.bug("history-of-two"):
            rows = self.history(project, fact)
            project.facts = [f for f in project.facts if f not in rows[:-1]]
        return olds

    def new_fact(self, project, body, actor, start, now, end):
        o = self.o
        fact = {
            "fact_id": self.new_fact_id(project),
            "project_id": project.id,
            "subject": body["subject"],
            "predicate": body["predicate"],
            "value": body["value"],
            "valid_from": start,
            "valid_to": end,
            "source_package_id": body.get("source_package_id"),
            "confidence": body.get("confidence"),
            "asserted_by": self.asserted_by(project, body, actor),
            "created_at": self.fact_time() if o.has("fact-clock-twice") else now,
            "tags": body.get("tags"),
        }
        if o.has("fact-x-kept"):
            fact.update({k: v for k, v in body.items() if k.startswith("x-")})
        if o.mutant in RECORDED:
            RECORDED[o.mutant](fact, body, self)
        return fact

    def new_fact_id(self, project):
        o = self.o
        if o.has("fact-id-uuid"):
            return str(uuid.uuid4())
        if o.has("fact-id-serial"):
            self.counter += 1
            return str(self.counter)
        if o.bug("fact-id-per-project"):
            return f"fact_{len(project.facts) + 1:032x}"
        return "fact_" + secrets.token_hex(16)

    def asserted_by(self, project, body, actor):
        o = self.o
        caller = {"id": actor or "peer", "type": "script"}
        if o.bug("asserted-by-ignored"):
            return caller
        if body.get("asserted_by") is not None:
            return body["asserted_by"]
        source = body.get("source_package_id")
        if source is not None and not o.bug("asserted-by-from-key") and not o.bug("asserted-by-not-copied"):
            package = project.by_id.get(source) or (self.packages.get(source) or [None])[0]
            if package:
                by = dict(package.value["created_by"])
                if o.bug("asserted-by-copy-of-table"):
                    by = {k: v for k, v in by.items() if k in ("id", "type", "session_id")}
                if o.bug("asserted-by-without-session"):
                    by.pop("session_id", None)
                return by
        if o.bug("asserted-by-not-copied"):
            return None
        return caller if o.has("asserted-by-caller") or o.bug("asserted-by-from-key") else None

    def after_assert(self, project, fact, ended):
        """Behaviour of mutants only."""
        o = self.o
        source = project.by_id.get(fact["source_package_id"])
        if o.bug("assert-writes-package") and project.packages:
            package = project.packages[-1]
            value = {**package.value, "package_id": "pkg_" + secrets.token_hex(16), "title": "fact " + fact["subject"]}
            value["created_at"] = self.now_text()
            self.insert(project.id, project.id, value, self.canon.digest(value), None)
        if o.bug("assert-touches-package") and source:
            source.value = {**source.value, "tags": [*(source.value.get("tags") or []), fact["predicate"]]}
            source.digest = self.canon.digest(source.value)
            source.raw = None
        if o.bug("created-at-touched"):
            for old in ended:
                old["created_at"] = fact["valid_from"]
        if o.mutant in AFTER_ASSERT:
            AFTER_ASSERT[o.mutant](project, fact, ended, self)

    def assert_in_pieces(self, project_id, body, actor):
        """Mutants that leave the lock between reading, ending and inserting."""
        bug = self.o.bug

        def parts():
            now = self.fact_time()
            start = now if body.get("valid_from") is None else self.fact_time(body["valid_from"])
            project = self.project(project_id, create=True)
            return project, start, self.new_fact(project, body, actor, start, now, None)

        def end(olds, start):
            for old in olds:
                old["valid_to"] = start

        if bug("supersede-gap") or bug("supersede-overlap"):
            with self.gate:
                with self.lock:
                    project, start, fact = parts()
                    olds = self.current(project_id, *pair_of(body))
                    if bug("supersede-gap"):
                        end(olds, start)
                    else:
                        project.facts.append(fact)
                time.sleep(0.003)
                with self.lock:
                    if bug("supersede-gap"):
                        project.facts.append(fact)
                    else:
                        end(olds, start)
            return fact, olds
        with self.lock:
            project, start, fact = parts()
            olds = self.current(project_id, *pair_of(body))
            copies = [dict(f) for f in project.facts]
        time.sleep(0.004)
        with self.lock:
            if bug("supersede-race-500") and self.current(project_id, *pair_of(body)) != olds:
                raise RuntimeError("unique constraint")
            if bug("supersede-race-lost"):
                known = {f["fact_id"] for f in olds}
                project.facts = copies
                end([f for f in copies if f["fact_id"] in known], start)
            else:
                end(olds, start)
            project.facts.append(fact)
        return fact, olds

    def history(self, project, row):
        return [f for f in project.facts if pair_of(f) == pair_of(row)]

    def current(self, project_id, subject, predicate):
        project = self.projects.get(project_id)
        facts = project.facts if project else []
        return [f for f in facts if pair_of(f) == (subject, predicate) and f["valid_to"] is None]

    # --- Invalidate ---------------------------------------------------------------------------------------------------

    def invalidate(self, project_id, subject, predicate, value):
        """The facts that were ended."""
        o = self.o
        if o.bug("refused-invalidate-ends") and predicate is None and project_id in self.projects:
            with self.lock:
                for fact in self.projects[project_id].facts:
                    if fact["subject"] == subject and fact["valid_to"] is None:
                        fact["valid_to"] = self.fact_time()
        if o.bug("invalidate-writes-back") and project_id in self.projects:
            with self.lock:
                read = list(self.projects[project_id].facts)
            time.sleep(0.003)
            with self.lock:
                self.projects[project_id].facts = read
        if subject is None and not o.bug("invalidate-without-subject"):
            raise self.fact_refusal("subject is required", "/subject")
        if predicate is None and not o.bug("invalidate-by-subject"):
            raise self.fact_refusal("predicate is required", "/predicate")
        if o.bug("invalidate-race"):
            with self.lock:
                facts = self.current(project_id, subject, predicate)
            time.sleep(0.01)
            with self.lock:
                now = self.fact_time()
                for fact in facts:
                    fact["valid_to"] = now
            return facts
        with self.lock:
            self.facts_writable(project_id)
            project = self.project_to_read(project_id)
            mine = project.facts if project else []
            if o.mutant in INVALIDATES:
                everything = [f for p in self.projects.values() for f in p.facts]
                same = INVALIDATES[o.mutant]
                facts = [f for f in everything if same(f, project_id, subject, predicate)]
            else:
                facts = self.current(project_id, subject, predicate)
            if value is not None and (o.has("object-honoured") or o.bug("invalidate-object-quoted")):
                wanted = json.dumps(value) if o.bug("invalidate-object-quoted") else value
                facts = [f for f in facts if f["value"] == wanted]
            if not facts:
                if o.bug("invalidate-zero-400"):
                    raise self.fact_refusal("nothing matches")
                if o.bug("invalidate-zero-500"):
                    raise RuntimeError("no row")
                if o.has("none-ended-404"):
                    raise Refusal(404, "fact_not_found", "no current fact matches")
            life = ("invalidated", project_id, subject, predicate)
            if o.bug("invalidate-once-per-pair") and self.remembered.get(life):
                facts = []
            if facts:
                self.remembered[life] = self.remembered.get(life, 0) + 1
            now = self.fact_time()
            if o.bug("invalidate-moves-earlier-end") and facts:
                rows = [f for f in mine if pair_of(f) == (subject, predicate)]
                starts = {f["valid_from"] for f in rows}
                for row in rows:
                    if row["valid_to"] is not None and row["valid_to"] not in starts:
                        row["valid_to"] = now
            total = len([f for f in mine if pair_of(f) == (subject, predicate)])
            for fact in facts:
                fact["valid_to"] = ENDED[o.mutant](fact, None, now) if o.mutant in ENDED else now
                if o.bug("invalidate-clears-confidence"):
                    fact["confidence"] = 0.5
            self.remembered.setdefault("invalidated", set()).update(f["fact_id"] for f in facts)
            if o.mutant in AFTER_INVALIDATE and project:
                AFTER_INVALIDATE[o.mutant](facts, project, now, self)
            if o.bug("invalidate-count-grows") and facts:
                return self.remembered[life]
            if o.bug("invalidate-deletes") and project:
                project.facts = [f for f in project.facts if f not in facts]
            if o.bug("invalidate-inserts-null"):
                for fact in facts:
                    more = {"fact_id": self.new_fact_id(project), "value": "", "valid_from": now, "valid_to": None}
                    self.projects[fact["project_id"]].facts.append({**fact, **more})
            if o.mutant in ANSWERED:
                return ANSWERED[o.mutant](facts, total)
            return facts

    # --- Query --------------------------------------------------------------------------------------------------------

    def show_fact(self, fact):
        o = self.o
        out = dict(fact)
        if out.get("confidence") is None and o.has("fact-defaults-shown"):
            out["confidence"] = 1.0
        if out.get("tags") is None and o.has("fact-defaults-shown"):
            out["tags"] = []
        if o.has("fact-defaults-omitted"):
            out = {k: v for k, v in out.items() if not (k == "confidence" and v == 1 or k == "tags" and v == [])}
        by = out.get("asserted_by")
        if type(by) is dict and o.has("asserted-by-null-session"):
            out["asserted_by"] = {"session_id": None, **by}
        if o.has("fact-valid-to-null"):
            out = {k: v for k, v in out.items() if v is not None or k == "valid_to"}
        elif not o.has("fact-nulls-shown"):
            out = {k: v for k, v in out.items() if v is not None}
        return FACT_SHOWN[o.mutant](out) if o.mutant in FACT_SHOWN else out

    def sure(self, fact):
        return fact.get("confidence") is None or fact["confidence"] >= 0.5

    def query_facts(self, project_id, query):
        """Current facts, those of an instant (as_of), or all of them (include_ended)."""
        o = self.o
        at = self.as_of(query.get("as_of"))
        ended = query.get("include_ended") in ("true", "1", "yes") and not o.bug("history-ignores-ended")
        kind = "as_of" if at is not None else "history" if ended else "current"
        same = ASKED.get(o.mutant)
        with self.lock:
            project = self.project_to_read(project_id)
            facts = project.facts if project else []
            if same:
                facts = [f for p in self.projects.values() for f in p.facts]
            if o.mutant in ROWS:
                facts = ROWS[o.mutant](facts, query, kind, self)
            out = []
            for fact in facts:
                if same and not same(fact, project_id, query, kind):
                    continue
                if not same and any(query.get(n) is not None and fact[n] != query[n] for n in ("subject", "predicate")):
                    continue
                if o.has("low-confidence-never") and not self.sure(fact):
                    continue
                if kind == "as_of" and not self.holds(fact, at):
                    continue
                if kind == "current" and not self.is_current(fact, facts):
                    continue
                if kind == "history" and o.bug("history-of-ended-only") and fact["valid_to"] is None:
                    continue
                out.append(fact)
            out.sort(key=lambda f: moment(f["valid_from"]), reverse=o.has("facts-newest-first"))
            if o.has("facts-shuffled"):
                random.shuffle(out)
            if o.mutant in QUERIED:
                out = QUERIED[o.mutant](out, kind, self)
            if o.bug("history-cut-at-three") and kind == "history":
                out = sorted(out, key=lambda f: moment(f["valid_from"]))[-3:]
            if o.bug("facts-cut-at-five"):
                out = out[:5]
            if o.bug("facts-one-per-subject") and kind == "current":
                out = list({f["subject"]: f for f in out}.values())
            if o.bug("as-of-nothing-404") and kind == "as_of" and not out:
                raise Refusal(404, "fact_not_found", "no fact was valid then")
            shown = [self.show_fact(f) for f in out]
            if o.bug("pit-cached") and kind == "as_of":
                asked = ("pit", project_id, query.get("subject"), query.get("predicate"), at)
                return self.remembered.setdefault(asked, shown)
            return shown

    def as_of(self, at):
        o = self.o
        if at is None or o.bug("pit-ignores-as-of"):
            return None
        if o.bug("pit-fraction-ignored") and "." in at:
            return None
        if re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", at) and o.has("as-of-date-midnight"):
            at += "T00:00:00Z"
        if o.bug("pit-offset-ignored"):
            at = re.sub("[+-][0-9]{2}:[0-9]{2}$", "Z", at)
        found = instant(at)
        good = found is not None and (found[3] == "Z" or not o.has("as-of-z"))
        if o.bug("pit-fraction-refused") and "." in at:
            good = False
        if o.bug("pit-future-refused") and good:
            good = found[:2] <= self.clock()
        if not good:
            raise Refusal(400, "invalid_request", "as_of must be an RFC 3339 UTC time", "/as_of")
        return at

    def is_current(self, fact, facts):
        o = self.o
        if o.bug("current-by-interval"):
            return moment(fact["valid_from"]) <= self.clock()
        if o.bug("current-is-latest"):
            rows = [f for f in facts if pair_of(f) == pair_of(fact) and f["project_id"] == fact["project_id"]]
            return max(rows, key=lambda f: moment(f["valid_from"])) is fact
        if fact["valid_to"] is not None:
            return False
        if o.has("future-not-yet") and moment(fact["valid_from"]) > self.clock():
            return False
        return not o.has("low-confidence-hidden") or self.sure(fact)

    def holds(self, fact, at):
        o = self.o
        start, end = fact["valid_from"], fact["valid_to"]
        if o.mutant in HOLDS:
            return HOLDS[o.mutant](fact, at, self)
        start, at, end = moment(start), moment(at), moment(end) if end else None
        return start <= at and (end is None or at < end)

    def active_facts(self, project_id):
        """The facts in orient."""
        o = self.o
        facts = self.query_facts(project_id, {})
        project = self.projects.get(project_id)
        if o.bug("orient-facts-all-projects"):
            facts = [f for p in self.projects for f in self.query_facts(p, {})]
        if o.bug("orient-shows-ended") and project:
            facts = [self.show_fact(f) for f in project.facts]
        if o.bug("orient-forgets-second-life"):
            facts = [f for f in facts if not self.remembered.get(("invalidated", project_id, *pair_of(f)))]
        if o.bug("orient-facts-newest-only"):
            facts = facts[:1]
        if o.bug("orient-facts-of-the-day"):
            day = self.clock()[0] - 86400
            facts = [f for f in facts if instant(f["valid_from"])[0] >= day]
        if o.bug("orient-facts-cached"):
            facts = self.remembered.setdefault(("orient", project_id), facts) if facts else facts
        return facts

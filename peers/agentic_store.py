"""State and operations of the peer: packages, facts, projects, sessions. No HTTP here.

Everything lives in dicts under one lock. An operation returns plain Python values; their form on the wire is the
business of agentic_server.py.
"""

import hashlib
import json
import re
import secrets
import threading
import time
import unicodedata

from agentic_facts import Facts
from agentic_mutants import BEFORE, SHOWN, SKIPS, STORED, copied
from agentic_rare_mutants import LEFT_OUT
from agentic_review import Review
from agentic_sequence_mutants import AFTER_ARCHIVE, AFTER_DEPOSIT, AGAIN, EXPORTED, LISTED
from agentic_state_mutants import IMPORTED
from agentic_rules import (
    ACTORS,
    Canon,
    DEFAULTS,
    Refusal,
    TYPES,
    Validator,
    fill_defaults,
    instant,
    invalid,
    is_number,
    known_members_only,
    moment,
    spell_hash,
    spell_time,
)


class Options:
    def __init__(self, choices, mutant=None):
        self.choices = choices
        self.mutant = mutant

    def has(self, choice):
        return choice in self.choices

    def bug(self, mutant):
        return self.mutant == mutant

    def one(self, *choices):
        """The selected one of these choices, or the first."""
        for choice in choices:
            if choice in self.choices:
                return choice
        return choices[0]


class Package:
    """A deposited package. `value` is the object as deposited; status and review_type are replaced by transitions."""

    __slots__ = (
        "value",
        "project",
        "digest",
        "deposited",
        "order",
        "raw",
        "visible_at",
        "note",
        "submitted",
        "owner",
        "moves",
        "revisions",
    )

    def __init__(self, value, project, digest, order, raw, submitted):
        self.value = value
        self.submitted = submitted
        self.project = project
        self.digest = digest  # of the present package
        self.deposited = digest  # of the deposited package
        self.order = order
        self.raw = raw
        self.visible_at = 0.0
        self.note = None
        self.owner = None  # the actor whose credentials deposited it
        self.moves = self.revisions = 0  # for mutants: how often the status changed, and how often to revision_requested

    def created(self):
        found = moment(self.value["created_at"]) if type(self.value.get("created_at")) is str else None
        return found or (0, "")


class Project:
    def __init__(self, identity, name, created_at):
        self.id = identity
        self.name = name
        self.created_at = created_at
        self.archived_at = None
        self.packages = []
        self.by_id = {}
        self.facts = []
        self.sessions = {}


def total_order(value):
    return json.dumps(value, sort_keys=True)


def with_sorted_arrays(value):
    if type(value) is list:
        return sorted((with_sorted_arrays(v) for v in value), key=total_order)
    if type(value) is dict:
        return {k: with_sorted_arrays(v) for k, v in value.items()}
    return value


class Store(Facts, Review):
    def __init__(self, options):
        self.o = options
        self.lock = threading.RLock()
        self.canon = Canon(options)
        self.validator = Validator(options, SKIPS.get(options.mutant, frozenset()))
        self.projects = {}
        self.packages = {}  # package_id -> packages of that id, oldest first
        self.counter = 0
        self.last_time = (0, 0)
        self.reserved = {}
        self.skew = 100 if options.has("clock-ahead") else -100 if options.has("clock-behind") else 0
        self.started = self.now_text()
        self.gate = threading.Lock()
        self.busy = set()  # facts with an assert in progress
        self.remembered = {}  # state of mutants

    # --- Time ---------------------------------------------------------------------------------------------------------

    def clock(self):
        """The present time, never twice the same: (seconds, digits of the fraction)."""
        with self.lock:
            micros = time.time_ns() // 1000 + self.skew * 1_000_000
            if self.o.has("times-whole-seconds"):
                return micros // 1_000_000, ""
            micros = max(micros, self.last_time[0] + 1)
            self.last_time = (micros, 0)
            return micros // 1_000_000, f"{micros % 1_000_000:06}"

    def now_text(self):
        seconds, fraction = self.clock()
        if self.o.bug("local-times"):
            seconds += 7200
        return spell_time(self.o, seconds, fraction)

    def time_text(self, seconds):
        return spell_time(self.o, seconds)

    def refuse(self, message, pointer):
        raise invalid(message, pointer)

    # --- Projects -----------------------------------------------------------------------------------------------------

    def project(self, identity, create=False):
        found = self.projects.get(identity)
        if found is None and create:
            found = self.projects[identity] = Project(identity, identity, self.now_text())
        return found

    def project_to_read(self, identity):
        """The project; None if it does not exist and an unknown project reads as empty; else 404."""
        if self.o.bug("latest-project-folded-case"):
            identity = next((p for p in self.projects if p.lower() == identity.lower()), identity)
        found = self.projects.get(identity)
        if found is None:
            if self.o.has("unknown-project-404"):
                raise Refusal(404, "project_not_found", "unknown project")
            if self.o.has("unknown-project-created"):
                return self.project(identity, create=True)
            return None
        if found.archived_at and self.o.has("archived-reads-404"):
            raise Refusal(404, "project_not_found", "the project is archived")
        return found

    def project_to_write(self, identity):
        found = self.projects.get(identity)
        if found is None and self.o.has("projects-must-exist"):
            raise Refusal(404, "project_not_found", "unknown project")
        return found

    def create_project(self, body):
        identity = body.get("project_id") or body.get("id")
        if type(identity) is not str:
            raise invalid("project_id must be a string", "/project_id")
        name = body.get("name")
        if name is not None and type(name) is not str:
            raise invalid("name must be a string", "/name")
        with self.lock:
            known = identity in self.projects
            if known and self.o.has("project-create-409"):
                raise Refusal(409, "project_exists", "the project exists")
            project = self.project(identity, create=True)
            if name and not known:
                project.name = name
            return self.show_project(project)

    def show_project(self, project, identity=None):
        name = "project_id" if self.o.has("project-id-as-project-id") else "id"
        if project is None:
            return {name: identity, "name": identity, "archived_at": None}
        archived = project.archived_at
        if self.o.bug("archive-flag-only"):
            archived = archived is not None
        if self.o.bug("archive-not-set"):
            archived = None
        return {name: project.id, "name": project.name, "created_at": project.created_at, "archived_at": archived}

    def archive(self, identity, restore):
        with self.lock:
            project = self.projects.get(identity)
            if project is None:
                raise Refusal(404, "project_not_found", "unknown project")
            if restore:
                if not self.o.bug("archive-for-good"):
                    project.archived_at = None
            else:
                project.archived_at = project.archived_at or self.now_text()
                keep = None
                if self.o.bug("archive-deletes"):
                    keep = []
                elif self.o.bug("archive-drops-drafts"):
                    keep = [x for x in project.packages if x.value["status"] == "complete"]
                elif self.o.bug("archive-again-deletes"):
                    times = self.remembered[("archived", identity)] = self.remembered.get(("archived", identity), 0) + 1
                    keep = [] if times > 1 else None
                elif self.o.bug("archive-deletes-old"):
                    keep = self.by_time(project.packages)[:1]
                if keep is not None:
                    for package in project.packages:
                        if package not in keep:
                            self.packages[package.value["package_id"]].remove(package)
                            project.by_id.pop(package.value["package_id"], None)
                    project.packages = keep
                if self.o.bug("archive-drops-history"):
                    project.facts = [f for f in project.facts if f["valid_to"] is None]
                if self.o.bug("archive-deletes-facts"):
                    project.facts = []
                if self.o.bug("archive-ends-facts"):
                    for fact in project.facts:
                        fact["valid_to"] = fact["valid_to"] or self.fact_time()
            if self.o.mutant in AFTER_ARCHIVE:
                AFTER_ARCHIVE[self.o.mutant](project, restore, self)
            return self.show_project(project)

    # --- Deposit ------------------------------------------------------------------------------------------------------

    def refuse_when_archived(self, project):
        """True if the deposit is answered and dropped."""
        if project is None or not project.archived_at:
            return False
        if self.o.bug("archived-swallows-deposit"):
            return True
        if self.o.bug("archived-409"):
            raise Refusal(409, "project_archived", "the project is archived")
        if self.o.has("archive-403"):
            raise Refusal(403, "project_archived", "the project is archived")
        return False

    def target_project(self, p, path_project):
        """The project a package goes to; path and body may disagree (E35)."""
        if p["project_id"] == path_project:
            return path_project
        if self.o.bug("path-project-listed"):
            return path_project
        if self.o.bug("mismatch-listed-twice"):
            return p["project_id"]
        choice = self.o.one("mismatch-400", "mismatch-409", "mismatch-422", "mismatch-body-wins", "mismatch-path-wins")
        if choice == "mismatch-body-wins":
            return p["project_id"]
        if choice == "mismatch-path-wins":
            p["project_id"] = path_project
            return path_project
        raise Refusal(int(choice[-3:]), "invalid_schema", "project_id differs from the path", "/project_id")

    def prepare(self, p, path_project, actor, connection):
        """Validate, fill in permitted defaults, refuse the rest. Changes p."""
        o = self.o
        if o.mutant in BEFORE:
            BEFORE[o.mutant](p, path_project, self)
        if o.bug("created-at-assigned") and "created_at" in p:
            p["created_at"] = self.now_text()
        if o.has("id-assigned") and "package_id" not in p:
            p["package_id"] = "pkg_" + secrets.token_hex(16)
        if o.has("type-defaulted") and "package_type" not in p:
            p["package_type"] = "standard"
        self.validator.package(p)
        if p["status"] == "revision_requested":
            if o.has("revision-deposit-400"):
                raise invalid("a deposit may not ask for a revision", "/status")
            if o.has("revision-deposit-422"):
                raise Refusal(422, "invalid_schema", "a deposit may not ask for a revision", "/status")
        if o.bug("created-by-from-token") and actor and type(p["created_by"]) is dict:
            p["created_by"] = {**p["created_by"], "id": actor}
        if o.bug("actor-of-connection") and type(p["created_by"]) is dict:
            p["created_by"] = dict(connection.setdefault("actor", p["created_by"]))
        storage = p.get("storage_path")
        if storage is None and o.has("storage-path-hashed"):
            p["storage_path"] = self.storage_path(p)

    def storage_path(self, p):
        return "blobs/" + hashlib.sha256(str(p["package_id"]).encode("utf-8", "replace")).hexdigest()[:16] + ".json"

    def check_parent(self, p):
        o = self.o
        parent = p.get("parent_package_id")
        if parent is None:
            return
        found = self.packages.get(parent) if type(parent) is str else None
        if not found and not o.has("parent-unknown-accepted") and type(parent) is str:
            status = int(o.one("parent-unknown-400", "parent-unknown-404", "parent-unknown-422")[-3:])
            code = "package_not_found" if status == 404 else "invalid_schema"
            raise Refusal(status, code, "parent_package_id names no package", "/parent_package_id")
        if found and o.bug("one-child-only"):
            for package in self.all_packages():
                if package.value.get("parent_package_id") == parent and package.value["package_id"] != p["package_id"]:
                    raise Refusal(409, "conflict", "the parent has a child")
        if found and o.bug("next-actor-blocks"):
            if found[0].value.get("estimated_next_actor") == "human" and p["created_by"]["type"] != "human":
                raise Refusal(403, "forbidden", "the next actor is a human")

    def all_packages(self):
        return [package for project in self.projects.values() for package in project.packages]

    def existing(self, project_id, package_id):
        """The package that a deposit of this id would clash with."""
        key = self.key_of(package_id)
        if self.o.has("id-global"):
            found = self.packages.get(key)
            return found[0] if found else None
        project = self.projects.get(project_id)
        return project.by_id.get(key) if project else None

    def key_of(self, package_id):
        """The lookup key of an id; the id itself, unless a mutant changes it."""
        bug = self.o.bug
        if type(package_id) is not str:
            return json.dumps(package_id)
        if bug("id-lowercased"):
            return package_id.lower()
        if bug("id-trailing-space-ignored"):
            return package_id.rstrip(" ")
        if bug("id-cut-at-64"):
            return package_id[:64]
        if bug("id-composed"):
            return unicodedata.normalize("NFC", package_id)
        if bug("id-accents-folded"):
            decomposed = unicodedata.normalize("NFD", package_id)
            return "".join(c for c in decomposed if not unicodedata.combining(c))
        return package_id

    def is_identical(self, old, p, digest, raw):
        o = self.o
        if o.bug("duplicate-always-409"):
            return False
        if o.bug("duplicate-never-409"):
            return True
        if o.bug("duplicate-checks-title-only"):
            return old.value["title"] == p["title"]
        if o.bug("duplicate-ignores-unknown"):
            return known_members_only(old.submitted) == known_members_only(p)
        if o.bug("duplicate-ignores-order"):
            return with_sorted_arrays(old.submitted) == with_sorted_arrays(p)
        if o.mutant in LEFT_OUT:
            without = lambda x: {k: v for k, v in x.items() if k not in LEFT_OUT[o.mutant]}
            return without(old.submitted) == without(p)
        if o.bug("duplicate-ignores-actor"):
            return {**old.submitted, "created_by": 0} == {**p, "created_by": 0}
        if o.bug("duplicate-by-raw-bytes"):
            return old.raw == raw
        if o.bug("duplicate-last-only"):
            return old.deposited == digest and self.projects[old.project].packages[-1] is old
        if old.digest != old.deposited or old.value["status"] != old.submitted["status"]:
            if o.has("redeposit-after-move-ok") and old.deposited == digest:
                return True
            return old.digest == digest and o.has("same-by-hash")
        if o.has("same-by-value"):
            return same_value(old.submitted, p)
        return old.deposited == digest

    def deposit(self, path_project, p, raw, actor=None, connection=None):
        """(package, is it new)."""
        o = self.o
        connection = connection if connection is not None else {}
        if o.bug("store-then-validate"):
            self.store_unseen(path_project, p, raw)
        try:
            self.prepare(p, path_project, actor, connection)
        except Refusal:
            if o.bug("invalid-replaces") and type(p.get("package_id")) is str:
                old = self.existing(path_project, p["package_id"])
                if old is not None:
                    old.value = {**old.value, **{k: v for k, v in p.items() if type(v) is str}}
            if o.bug("refused-is-searched") and all(type(p.get(n)) is str for n in ("package_id", "title", "created_at")):
                self.note_refused(path_project, p)
            if o.bug("refused-id-reserved") and type(p.get("package_id")) is str:
                self.reserved[p["package_id"]] = True
            raise
        project_id = self.target_project(p, path_project)
        if type(project_id) is not str:
            project_id = json.dumps(project_id)
        digest = self.canon.digest(p, raw)
        if o.bug("duplicate-race"):
            with self.lock:
                old = self.existing(project_id, p["package_id"])
            if old is None:
                time.sleep(0.01)
            elif self.is_identical(old, p, digest, raw):
                return old, False
            else:
                raise Refusal(409, "duplicate_package_id", "the id is taken by another package")
            with self.lock:
                return self.insert(project_id, path_project, p, digest, raw), True
        if o.bug("duplicate-race-409"):
            with self.lock:
                seen = self.existing(project_id, p["package_id"])
            time.sleep(0.005)
            with self.lock:
                if seen is None and self.existing(project_id, p["package_id"]):
                    raise Refusal(409, "duplicate_package_id", "unique constraint")
        if o.bug("project-creation-race") and project_id not in self.projects:
            fresh = Project(project_id, project_id, self.now_text())
            time.sleep(0.003)
            with self.lock:
                self.projects[project_id] = fresh
        with self.lock:
            project = self.project_to_write(project_id)
            if self.refuse_when_archived(project):
                return Package(p, project_id, digest, 0, raw, p), True
            if p["package_id"] in self.reserved if type(p["package_id"]) is str else False:
                raise Refusal(409, "duplicate_package_id", "the id is reserved")
            if o.bug("actor-id-unique") and project:
                for package in project.packages:
                    by, mine = package.value["created_by"], p["created_by"]
                    if by.get("id") == mine.get("id") and by.get("type") != mine.get("type"):
                        raise Refusal(409, "conflict", "the actor exists with another type")
            old = self.existing(project_id, p["package_id"])
            if o.bug("id-of-other-project-repeats") and old is None and self.packages.get(p["package_id"]):
                return self.packages[p["package_id"]][0], False
            if o.bug("imported-id-free") and old and old.order in self.remembered.get("imported", ()):
                old = None
            if o.bug("duplicate-checks-last-fifty") and old and old not in self.projects[old.project].packages[-50:]:
                self.remove(old)
                old = None
            if old is not None:
                same = self.is_identical(old, p, digest, raw)
                if o.mutant in AGAIN:
                    same = AGAIN[o.mutant](old, p, digest, same, self)
                if same:
                    if o.bug("redeposit-resets-status"):
                        self.move(old, p["status"], p["review_type"])
                    if o.bug("duplicate-listed-twice"):
                        self.projects[old.project].packages.append(old)
                    return old, False
                waiting = old.value["status"] == "awaiting_review"
                if o.bug("duplicate-overwrites") or (o.bug("duplicate-replaces-waiting") and waiting):
                    self.remove(old)
                else:
                    if o.bug("clash-leaks-questions") or o.bug("refused-is-searched"):
                        self.note_refused(project_id, p)
                    if o.bug("clash-changes-hash"):
                        old.digest = digest
                    if o.bug("duplicate-merges"):
                        old.value = {**old.value, **p}
                    status = 400 if o.bug("duplicate-409-wrong-status") else 409
                    raise Refusal(status, "duplicate_package_id", "the id is taken by another package", "/package_id")
            self.check_parent(p)
            package = self.insert(project_id, path_project, p, digest, raw)
            package.owner = actor
            return package, True

    def note_refused(self, project_id, p):
        """For mutants that show a part of what was refused."""
        self.remembered.setdefault(("refused", project_id), []).append(Package(p, project_id, bytes(32), 0, None, p))

    def remove(self, package):
        project = self.projects[package.project]
        project.packages = [x for x in project.packages if x is not package]
        key = self.key_of(package.value["package_id"])
        project.by_id.pop(key, None)
        self.packages[key] = [x for x in self.packages.get(key, []) if x is not package]

    def insert(self, project_id, path_project, p, digest, raw):
        o = self.o
        fresh = project_id not in self.projects
        project = self.project(project_id, create=True)
        value = p
        if o.mutant in STORED:
            value = STORED[o.mutant](copied(p))
        if o.bug("parent-autofilled") and value.get("parent_package_id") is None and project.packages:
            value = {**value, "parent_package_id": project.packages[-1].value["package_id"]}
        if o.bug("tags-of-last-deposit"):
            tags = self.remembered.setdefault("tags", [])
            if value.get("tags") is None:
                value = {**value, "tags": list(tags)} if tags else value
            else:
                tags[:] = value["tags"]
        self.counter += 1
        package = Package(value, project_id, digest, self.counter, raw, p)
        if o.bug("deposit-asynchronous"):
            package.visible_at = time.monotonic() + 0.25
        if o.bug("first-deposit-lost") and fresh:
            return package
        project.packages.append(package)
        key = self.key_of(p["package_id"])
        project.by_id[key] = package
        self.packages.setdefault(key, []).append(package)
        if o.bug("mismatch-listed-twice") and path_project != project_id:
            self.project(path_project, create=True).packages.append(package)
        if o.bug("old-packages-forgotten") and len(project.packages) > 8:
            self.remove(project.packages[0])
        self.note_session(project, package)
        if o.mutant in AFTER_DEPOSIT:
            AFTER_DEPOSIT[o.mutant](package, project, self)
        if o.bug("deposit-ends-facts"):
            for fact in project.facts:
                if fact["valid_to"] is None and fact["subject"] in str(value.get("description")):
                    fact["valid_to"] = self.fact_time()
        if o.bug("deposit-asserts-fact"):
            body = {"subject": str(p["package_id"]), "predicate": "status", "value": str(p["status"])}
            now = self.fact_time()
            project.facts.append(self.new_fact(project, body, None, now, now, None))
        return package

    def store_unseen(self, project_id, p, raw):
        with self.lock:
            identity = p.get("package_id")
            if type(identity) is str and not self.existing(project_id, identity):
                value = {"created_at": self.now_text(), "status": "complete", "title": "", "created_by": {}, **p}
                try:
                    self.validator.package(p)
                except Refusal:
                    self.insert(project_id, project_id, value, bytes(32), raw)

    def note_session(self, project, package):
        by = package.value.get("created_by")
        if type(by) is not dict or type(by.get("session_id")) is not str:
            return
        session = project.sessions.setdefault(
            by["session_id"],
            {
                "session_id": by["session_id"],
                "project_id": project.id,
                "actor_id": by["id"],
                "actor_type": by["type"],
                "callsign": callsign(by["session_id"]),
                "started_at": self.now_text(),
                "ended_at": None,
                "packages_deposited": [],
            },
        )
        if (session["actor_id"], session["actor_type"]) == (by["id"], by["type"]):
            session["packages_deposited"].append(package.value["package_id"])

    # --- Returned packages --------------------------------------------------------------------------------------------

    def show(self, package, where):
        """The package as it is returned, without hash. `where` is deposit, pull, list, orient, flag or export."""
        o = self.o
        value = package.value
        stale = (o.bug("lists-show-first-status") and where in ("list", "orient")) or (
            o.bug("export-shows-first-status") and where == "export"
        )
        if o.bug("lists-show-first-answer") and where in ("list", "orient"):
            value = self.remembered.setdefault(("shown", package.order), value)
        if stale:
            value = {**value, "status": package.submitted["status"]}
        if o.mutant in SHOWN:
            value = SHOWN[o.mutant](copied(value), where)
        if o.has("nulls-dropped"):
            value = without_nulls(value)
        elif o.has("storage-path-added") or o.has("storage-path-rewritten"):
            value = dict(value)
        if o.has("storage-path-added") and value.get("storage_path") is None and where != "export":
            value = {**value, "storage_path": self.storage_path(package.value)}
        if o.has("storage-path-rewritten") and value.get("storage_path") is not None and where != "export":
            value = {**value, "storage_path": self.storage_path(package.value)}
        # Not in an export: the hash of the package has to be the same after an import (10.1-08).
        shows = o.has("defaults-shown") or (o.has("defaults-in-lists") and where in ("list", "orient"))
        if shows and where != "export":
            value = fill_defaults(value)
            if o.has("nulls-dropped"):
                value = {k: v for k, v in value.items() if v is not None or k in DEFAULTS}
        if o.has("integers-as-doubles"):
            value = as_doubles(value)
        return value

    def hash_text(self, package):
        digest = package.deposited if self.o.has("hash-kept") else package.digest
        if self.o.bug("hash-recomputed-per-read"):
            digest = hashlib.sha256(digest + str(time.time_ns()).encode()).digest()
        return spell_hash(self.o, digest)

    # --- Pull ---------------------------------------------------------------------------------------------------------

    def find(self, package_id):
        """The package of that id, or None."""
        with self.lock:
            found = self.packages.get(self.key_of(package_id))
            if self.o.bug("missing-id-cached"):
                if package_id in self.remembered:
                    return None
                if not found:
                    self.remembered[package_id] = True
            if not found and self.o.bug("id-like-match"):
                pattern = "".join(".*" if c == "%" else "." if c == "_" else re.escape(c) for c in package_id)
                match = re.compile(pattern, re.DOTALL | re.IGNORECASE)
                found = next((v for k, v in self.packages.items() if v and match.fullmatch(k)), None)
            if not found and self.o.bug("id-prefix-match"):
                found = next(
                    (v for k, v in self.packages.items() if v and package_id and k.startswith(package_id)), None
                )
            if not found or found[0].visible_at > time.monotonic():
                return None
            return found[0]

    def by_time(self, packages):
        o = self.o
        if o.bug("latest-by-insertion"):
            key = lambda x: (x.order,)
        elif o.bug("latest-by-text"):
            key = lambda x: (x.value["created_at"], x.order)
        elif o.bug("latest-by-whole-seconds"):
            key = lambda x: (x.created()[0], -x.order)
        elif o.bug("latest-fraction-as-integer"):
            key = lambda x: (x.created()[0], int(x.created()[1] or 0), -x.order)
        elif o.bug("latest-before-1970-first"):
            key = lambda x: (x.created()[0] % 2**32, x.created()[1], -x.order)
        elif o.bug("latest-by-last-change"):
            key = lambda x: (x.moves > 0, x.created(), -x.order)
        elif o.has("ties-newest-first"):
            key = lambda x: (x.created(), x.order)
        else:
            key = lambda x: (x.created(), -x.order)
        return sorted(packages, key=key, reverse=not o.bug("latest-ascending"))

    def listed(self, project):
        """The packages of a project that lists show."""
        o = self.o
        if project is None:
            return []
        packages = project.packages
        if o.bug("latest-prefix-project"):
            packages = [x for p in self.projects.values() if p.id.startswith(project.id) for x in p.packages]
        if o.has("drafts-unlisted"):
            packages = [x for x in packages if x.value["status"] != "draft"]
        if o.bug("custom-type-unlisted"):
            packages = [x for x in packages if x.value["package_type"] in TYPES]
        if o.bug("deposit-asynchronous"):
            packages = [x for x in packages if x.visible_at <= time.monotonic()]
        if o.bug("latest-stale"):
            packages = packages[:-1]
        if o.bug("reviewed-unlisted"):
            packages = [x for x in packages if not x.moves or x.value["status"] != "complete"]
        if o.mutant in LISTED:
            packages = LISTED[o.mutant](packages, self)
        return packages

    def latest(self, project_id, limit, limit_given):
        o = self.o
        with self.lock:
            project = self.project_to_read(project_id)
            packages = self.listed(project)
            if o.bug("latest-across-projects") and limit_given:
                packages = self.all_packages()
            if o.bug("latest-limit-before-sort"):
                packages = packages[-limit:]
            packages = self.by_time(packages)
            for bug, key in (
                ("latest-one-per-title", lambda x: x.value["title"]),
                ("latest-one-per-second", lambda x: x.value["created_at"]),
                ("latest-one-per-actor", lambda x: x.value["created_by"]["id"]),
            ):
                if o.bug(bug):
                    packages = list({key(x): x for x in reversed(packages)}.values())[::-1]
            if o.bug("latest-hides-children"):
                packages = [x for x in packages if not x.value.get("parent_package_id")]
            if o.bug("latest-hides-minor"):
                packages = [x for x in packages if (x.value.get("significance") or 5) >= 5]
            if o.bug("latest-off-by-one"):
                limit += 1
            if o.bug("latest-ties-at-limit-dropped") and len(packages) > limit:
                packages = [x for x in packages[:limit] if x.created() != packages[limit].created()]
            if o.bug("latest-cap-5"):
                limit = min(limit, 5)
            if not (o.bug("latest-limit-ignored") and limit_given):
                packages = packages[:limit]
            if o.bug("latest-newest-last"):
                packages.reverse()
            if o.bug("latest-empty-404") and not packages:
                raise Refusal(404, "project_not_found", "nothing here")
            return packages

    def relevant(self, project_id, query, limit):
        """(score, package), best first. Words of title, prose and lists; a word of the title counts more."""
        o = self.o
        words = set(re.findall(r"[a-z0-9]+" if o.bug("relevant-ascii-words") else r"\w+", query.lower()))
        with self.lock:
            project = self.project_to_read(project_id)
            packages = self.all_packages() if o.bug("relevant-across-projects") else list(self.listed(project))
            packages += self.remembered.get(("refused", project_id), [])
            if o.bug("reviewed-not-searched"):
                packages = [x for x in packages if not x.moves]
            if o.bug("relevant-newest-fifty"):
                packages = self.by_time(packages)[:50]
        found = []
        for package in packages:
            score = self.score(package.value, words)
            if o.bug("relevant-titles-only-if-exact"):
                score = float(package.value["title"].lower() == query.lower())
            if score > 0 or o.bug("relevant-is-latest"):
                found.append((score, package))
        found.sort(key=lambda x: (x[0], x[1].created(), x[1].order), reverse=True)
        if o.bug("relevant-unranked") or o.bug("relevant-is-latest"):
            found.sort(key=lambda x: (x[1].created(), x[1].order), reverse=True)
        if o.bug("relevant-limit-before-rank"):
            newest = sorted(found, key=lambda x: (x[1].created(), x[1].order), reverse=True)[:limit]
            found = sorted(newest, key=lambda x: x[0], reverse=True)
        if o.bug("relevant-worst-first"):
            found.reverse()
        if o.bug("relevant-one-per-score"):
            found = list({s: (s, x) for s, x in found}.values())
        if o.bug("search-shows-first-status"):
            found = [(s, self.twin(x)) for s, x in found]
            for _, x in found:
                x.value = {**x.value, "status": x.submitted["status"]}
        return found if o.bug("relevant-limit-ignored") else found[:limit]

    def score(self, p, words):
        total = 0.0
        for name, weight in (
            ("title", 3.0),
            ("description", 1.0),
            ("handoff_note", 1.0),
            ("content_md", 1.0),
            ("topic", 2.0),
        ):
            if type(p.get(name)) is str:
                total += weight * sum(1 for w in re.findall(r"\w+", p[name].lower()) if w in words)
        for name in ("tags", "decisions_made", "open_questions"):
            for text in p.get(name) or []:
                if type(text) is str:
                    total += sum(1 for w in re.findall(r"\w+", text.lower()) if w in words)
        return total

    # --- Orient and orchestrate ---------------------------------------------------------------------------------------

    def recent(self, project, days):
        packages = self.listed(project)
        if self.o.has("window-filters") and not self.o.bug("orient-other-projects"):
            seconds, fraction = self.clock()
            unit = 3600 if self.o.bug("orient-window-in-hours") else 86400
            start = (seconds - days * unit, fraction)
            packages = [x for x in packages if x.created() >= start]
        if self.o.bug("orient-other-projects"):
            packages = self.all_packages()
        return self.by_time(packages)[: 5 if self.o.has("orient-recent-five") else 50]

    def questions(self, packages, project):
        o = self.o
        if o.bug("orient-questions-all-projects"):
            packages = self.all_packages()
        if o.bug("orient-questions-newest-only"):
            packages = packages[:1]
        if o.bug("orient-questions-not-custom"):
            packages = [x for x in packages if x.value["package_type"] in TYPES]
        if o.bug("orient-questions-of-three"):
            packages = packages[:3]
        if o.bug("clash-leaks-questions") and project:
            packages = packages + self.remembered.get(("refused", project.id), [])
        out = []
        for package in packages:
            texts = [t for t in package.value.get("open_questions") or [] if type(t) is str]
            if o.bug("orient-questions-cut"):
                texts = [t[:120] for t in texts]
            if o.bug("orient-questions-first-only"):
                texts = texts[:1]
            identity = package.value["package_id"]
            if o.has("questions-as-objects"):
                out += [{"question": t, "package_id": identity} for t in texts]
            elif o.has("questions-as-groups"):
                out += [{"package_id": identity, "questions": texts}] if texts else []
            else:
                out += texts
        return out[:10] if o.bug("orient-questions-cut-at-ten") else out

    def orient(self, project_id, days):
        o = self.o
        with self.lock:
            project = self.project_to_read(project_id)
            if o.bug("orient-window-cached"):
                days = self.remembered.setdefault(("window", project_id), days)
            if o.bug("orient-five-hundred") and not (project and project.packages):
                raise RuntimeError("max() of an empty sequence")
            if o.bug("orient-ends-old-facts") and project:
                start = (self.clock()[0] - days * 86400, "")
                for fact in project.facts:
                    if fact["valid_to"] is None and moment(fact["valid_from"]) < start:
                        fact["valid_to"] = self.fact_time()
            packages = self.recent(project, days)
            recent = [self.show(x, "orient") for x in packages]
            if o.bug("orient-summaries"):
                recent = [{"package_id": x["package_id"], "title": x["title"]} for x in recent]
            if o.bug("orient-ids-only"):
                recent = [x["package_id"] for x in recent]
            facts = self.active_facts(project_id)
            bundle = {
                "project": self.show_project(project, project_id),
                "recent_packages": recent,
                "active_facts": facts,
                "open_questions": self.questions(packages, project),
                "window_days": days,
                "generated_at": self.now_text(),
            }
        if o.bug("orient-project-as-text"):
            bundle["project"] = project_id
        if o.bug("orient-project-empty"):
            bundle["project"] = {}
        if o.bug("orient-nulls"):
            bundle = {k: v if v != [] else None for k, v in bundle.items()}
        if o.bug("orient-facts-missing"):
            del bundle["active_facts"]
        if o.bug("orient-questions-as-count"):
            bundle["open_questions"] = len(bundle["open_questions"])
        if o.bug("orient-echo-constant"):
            bundle["window_days"] = 14
        if o.bug("orient-window-as-text"):
            bundle["window_days"] = str(days)
        if o.bug("orient-window-renamed"):
            bundle["days"] = bundle.pop("window_days")
        if o.bug("orient-constant-time"):
            bundle["generated_at"] = self.started
        if o.bug("orient-time-as-number"):
            bundle["generated_at"] = time.time()
        if o.bug("orient-enveloped-twice"):
            return [bundle]
        return bundle

    def orchestrate(self, project_id, focus, snippets):
        with self.lock:
            if project_id is not None:
                project = self.project_to_read(project_id)
                projects = [project] if project else []
            else:
                projects = list(self.projects.values())
            days = 14
            packages = []
            for project in projects:
                seen = project.packages if self.o.bug("digest-shows-drafts") else self.listed(project)
                packages += [x for x in seen if x.value["status"] != "draft" or self.o.bug("digest-shows-drafts")]
            packages = self.by_time(packages)[:200]
            facts = [self.show_fact(f) for p in projects for f in p.facts if f["valid_to"] is None]
            questions = self.questions(packages, None)
            ranked = []
            if focus is not None:
                words = set(re.findall(r"\w+", focus.lower()))
                scored = [(self.score(x.value, words), x) for x in packages]
                ranked = [x for s, x in sorted(scored, key=lambda y: -y[0]) if s > 0][:snippets]
            pieces = [
                {"package_id": x.value["package_id"], "text": x.value.get("description") or x.value["title"]}
                for x in ranked
            ]
            summary = "; ".join(x.value["title"] for x in packages[:200])
            counts = {p.id: len(self.listed(p)) for p in projects}
            if self.o.has("orchestrate-own-names"):
                digest = {
                    "period": {"days": days},
                    "at": self.now_text(),
                    "activity": [{"package": x.value["package_id"], "title": x.value["title"]} for x in packages],
                    "facts": facts,
                    "questions": questions,
                    "related": pieces,
                    "projects": [{"project": k, "packages": n} for k, n in counts.items()],
                }
            else:
                digest = {
                    "window_days": days,
                    "generated_at": self.now_text(),
                    "summary": summary,
                    "active_facts": facts,
                    "open_questions": questions,
                    "snippets": pieces,
                    "project_counts": counts,
                }
            if self.o.bug("digest-cached"):
                digest = self.remembered.setdefault(("digest", project_id, focus), digest)
            return digest

    # --- Export, import, sessions -------------------------------------------------------------------------------------

    def sessions(self, project_id):
        with self.lock:
            project = self.project_to_read(project_id)
            return list(project.sessions.values()) if project else []

    def export(self, project_id):
        """(kind, record) of a project."""
        o = self.o
        with self.lock:
            project = self.project_to_read(project_id)
            if project is None:
                return []
            projects = list(self.projects.values()) if o.bug("export-all-projects") else [project]
            out = []
            for each in projects:
                record = {
                    "project_id": each.id,
                    "name": each.name,
                    "created_at": each.created_at,
                    "archived_at": each.archived_at,
                }
                out.append(("project", record))
                packages = each.packages
                if o.bug("export-newest-five"):
                    packages = self.by_time(packages)[:5]
                if o.bug("export-without-waiting"):
                    packages = [x for x in packages if x.value["status"] in ("draft", "complete")]
                if o.bug("export-no-drafts"):
                    packages = [x for x in packages if x.value["status"] == "complete"]
                rows = [("package", self.show(x, "export")) for x in packages]
                facts = [("fact", f) for f in self.exported_facts(each)]
                out += facts + rows if o.has("export-facts-first") else rows + facts
                if o.has("sessions-listed"):
                    out += [("session", s) for s in each.sessions.values()]
            return EXPORTED[o.mutant](out, self) if o.mutant in EXPORTED else out

    def exported_facts(self, project):
        bug = self.o.bug
        facts = project.facts
        starts = {(f["subject"], f["predicate"], moment(f["valid_from"])) for f in facts}
        if bug("export-current-only"):
            facts = [f for f in facts if f["valid_to"] is None]
        if bug("export-without-facts"):
            facts = []
        if bug("export-without-invalidated"):
            follows = lambda f: (f["subject"], f["predicate"], moment(f["valid_to"])) in starts
            facts = [f for f in facts if f["valid_to"] is None or follows(f)]
        if bug("export-one-fact-per-pair"):
            facts = list({(f["subject"], f["predicate"]): f for f in facts}.values())
        if bug("export-facts-of-all-projects"):
            facts = [f for p in self.projects.values() for f in p.facts]
        shown = [self.show_fact(f) for f in facts]
        if bug("export-valid-to-lost"):
            shown = [{k: v for k, v in f.items() if k != "valid_to"} for f in shown]
        if bug("export-store-names"):
            names = {"predicate": "relation", "value": "object", "valid_to": "ended_at"}
            shown = [{names.get(k, k): v for k, v in f.items()} for f in shown]
        return shown

    def load(self, records):
        """Read records of an export. All or none."""
        o = self.o
        packages, facts, sessions, projects = [], [], [], []
        if o.bug("import-first-line-only"):
            records = records[:1]
        if o.bug("import-batches-lose-one"):
            records = [r for n, r in enumerate(records) if n % 101 != 100]
        for record in records:
            if type(record) is not dict:
                raise invalid("a record must be an object")
            for kind in ("package", "fact", "session", "project", "data"):
                if type(record.get(kind)) is dict and "package_id" not in record and "fact_id" not in record:
                    record = record[kind]
                    break
            if "fact_id" in record:
                facts.append(self.check_stored_fact(record))
            elif "package_id" in record:
                self.validator.package(record)
                packages.append(record)
            elif "session_id" in record and "started_at" in record:
                sessions.append(record)
            elif "project_id" in record or "id" in record:
                projects.append(record)
            else:
                raise invalid("a record of unknown kind")
        with self.lock:
            for p in packages:
                old = self.existing(p["project_id"], p["package_id"])
                if o.bug("import-again-resets-status") and old and old.deposited == self.canon.digest(p):
                    self.move(old, p["status"], p["review_type"])
                if old is not None and old.digest != self.canon.digest(p):
                    if o.bug("import-overwrites"):
                        self.remove(old)
                        continue
                    raise Refusal(409, "duplicate_package_id", "the id is taken by another package")
            known = {f["fact_id"]: f for project in self.projects.values() for f in project.facts}
            fresh = []
            for fact in facts:
                old = known.get(fact["fact_id"])
                if old is None:
                    if fact["valid_to"] is None and self.current(
                        fact["project_id"], fact["subject"], fact["predicate"]
                    ):
                        raise Refusal(409, "fact_conflict", "a current fact exists already")
                    fresh.append(fact)
                elif o.bug("import-again-doubles"):
                    fresh.append(dict(fact))
                elif (old["value"], old["subject"]) != (fact["value"], fact["subject"]):
                    raise Refusal(409, "fact_conflict", "the id is taken by another fact")
                elif o.bug("import-again-reopens"):
                    old["valid_to"] = fact["valid_to"]
            for record in projects:
                identity = record.get("project_id") or record.get("id")
                if type(identity) is not str:
                    raise invalid("a project needs an id")
                project = self.project(identity, create=True)
                project.name = record.get("name") or identity
                project.archived_at = record.get("archived_at")
            for p in packages:
                if self.existing(p["project_id"], p["package_id"]):
                    continue
                if o.bug("import-drops-unknown"):
                    p = known_members_only(p)
                if o.bug("import-as-complete"):
                    p = {**p, "status": "complete"}
                if o.bug("import-restamps"):
                    p = {**p, "created_at": self.now_text()}
                if o.bug("import-skips-custom-types") and p["package_type"] not in TYPES:
                    continue
                package = self.insert(p["project_id"], p["project_id"], p, self.canon.digest(p), None)
                self.remembered.setdefault("imported", set()).add(package.order)
            if o.mutant in IMPORTED:
                fresh = [f for f in (IMPORTED[o.mutant](f, self) for f in fresh) if f is not None]
            for fact in fresh:
                self.project(fact["project_id"], create=True).facts.append(fact)
                self.remembered.setdefault("imported", set()).add(fact["fact_id"])
            for session in sessions:
                if type(session.get("project_id")) is str:
                    project = self.project(session["project_id"], create=True)
                    project.sessions[session["session_id"]] = session
        return {"packages": len(packages), "facts": len(facts), "sessions": len(sessions)}

    def check_stored_fact(self, fact):
        for name in ("fact_id", "project_id", "subject", "predicate", "value", "valid_from", "created_at"):
            if type(fact.get(name)) is not str:
                raise invalid(f"{name} of a fact must be a string", "/" + name)
        for name in ("valid_from", "created_at", "valid_to"):
            if fact.get(name) is not None and (type(fact[name]) is not str or instant(fact[name]) is None):
                raise invalid(f"{name} of a fact must be an RFC 3339 time", "/" + name)
        confidence = fact.get("confidence")
        if confidence is not None and not (is_number(confidence) and 0 <= confidence <= 1):
            raise invalid("confidence must be 0.0 to 1.0", "/confidence")
        return {"valid_to": None, **fact}


def same_value(a, b):
    if type(a) is bool or type(b) is bool or not (is_number(a) and is_number(b)):
        if type(a) is not type(b):
            return False
    if type(a) is dict:
        return a.keys() == b.keys() and all(same_value(a[k], b[k]) for k in a)
    if type(a) is list:
        return len(a) == len(b) and all(map(same_value, a, b))
    return a == b


def without_nulls(value):
    if type(value) is dict:
        return {k: without_nulls(v) for k, v in value.items() if v is not None}
    if type(value) is list:
        return [without_nulls(v) for v in value]
    return value


def as_doubles(value):
    if type(value) is int and abs(value) > 1 << 53:
        return float(value)
    if type(value) is list:
        return [as_doubles(v) for v in value]
    if type(value) is dict:
        return {k: as_doubles(v) for k, v in value.items()}
    return value


ADJECTIVES = "amber brisk coral dusky early fleet golden hazel ivory jolly keen lunar mellow noble olive proud".split()
NOUNS = "badger crane dingo eagle finch gecko heron ibis jackal kite lemur marten newt otter plover quail".split()


def callsign(seed):
    digest = hashlib.sha256(seed.encode("utf-8", "replace")).digest()
    return f"{ADJECTIVES[digest[0] % 16]}-{NOUNS[digest[1] % 16]}"

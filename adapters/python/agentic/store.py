"""A store in memory: projects, packages, facts and sessions, and the operations of section 8 on them."""

from . import jsontext, search, transfer, validate
from .canonical import content_hash
from .errors import (
    DuplicatePackageId,
    HashMismatch,
    InvalidSchema,
    InvalidTransition,
    NotFound,
    ProjectArchived,
)
from .facts import Timeline
from .instants import Clock, days_before, instant
from .sessions import Sessions

# Section 5.3. The same state is not a transition (E15).
NEXT_STATES = {
    "draft": ("complete", "awaiting_review"),
    "awaiting_review": ("complete", "revision_requested"),
    "revision_requested": ("awaiting_review", "complete"),
    "complete": (),
}
WINDOW_DAYS = 14  # section 8.3
LATEST_LIMIT = 5  # section 8.2
RECENT_LIMIT = 50
SNIPPETS = 10


def transition_allowed(old, new):
    return new in NEXT_STATES.get(old, ())


class Stored:
    """A package in its present state, and its hash, which is not part of it (section 6.6)."""

    def __init__(self, package):
        self.deposited_hash = self.hash = content_hash(package)
        self.package = package

    def change(self, **members):
        """Only status and review_type ever change. The hash is that of the changed package (E10, E11)."""
        self.package = {**self.package, **members}
        self.hash = content_hash(self.package)

    def is_intact(self):
        return content_hash(self.package) == self.hash


class Project:
    """The contents of one project (section 5.2)."""

    def __init__(self, record, clock):
        self.record = record
        self.package_ids = []  # in the order of arrival
        self.facts = Timeline(clock)
        self.sessions = Sessions(clock)


class Store:
    def __init__(self, now=None):
        self.clock = Clock(now)
        self.projects = {}
        self.packages = {}  # package ids are unique across projects (E22)

    # --- projects (section 5.2, E33) -----------------------------------------------------------------------------------

    def create_project(self, project_id, members=None):
        """Create a project, or keep the existing one unchanged. Writes create projects too."""
        if project_id not in self.projects:
            record = {"project_id": project_id, "name": project_id, "created_at": self.clock.now(), "archived_at": None}
            self.projects[project_id] = Project({**record, **(members or {})}, self.clock)
        return self.projects[project_id]

    def project(self, project_id):
        if project_id not in self.projects:
            raise NotFound(f"unknown project {project_id}", code="project_not_found")
        return self.projects[project_id]

    def archive_project(self, project_id):
        record = self.project(project_id).record
        record["archived_at"] = record["archived_at"] or self.clock.now()
        return record["archived_at"]

    def restore_project(self, project_id):
        self.project(project_id).record["archived_at"] = None

    # --- deposit (section 8.1) ------------------------------------------------------------------------------------------

    def deposit(self, project_id, package):
        """The stored package, and whether it is new."""
        require_valid(validate.package(package))
        if package["project_id"] != project_id:
            raise InvalidSchema("the package names another project", "/project_id")  # E35
        if project_id in self.projects and self.projects[project_id].record["archived_at"]:
            raise ProjectArchived(f"the project {project_id} is archived")
        stored = self.packages.get(package["package_id"])
        if stored is not None:
            if content_hash(package) not in (stored.hash, stored.deposited_hash):
                raise DuplicatePackageId("the id belongs to a package with other content", "/package_id")
            return self._read(package["package_id"]), False  # section 11.2
        stored = self.keep(package)
        self.projects[project_id].sessions.note(package)
        return stored, True

    def keep(self, package):
        """Store a package that is known to be valid."""
        stored = self.packages[package["package_id"]] = Stored(package)
        self.create_project(package["project_id"]).package_ids.append(package["package_id"])
        return stored

    # --- pull (section 8.2) ---------------------------------------------------------------------------------------------

    def pull_specific(self, package_id):
        """A stored package, or None."""
        return self._read(package_id) if package_id in self.packages else None

    def _read(self, package_id):
        """A stored package, after verifying its hash (section 6.6)."""
        if package_id not in self.packages:
            raise NotFound(f"unknown package {package_id}")
        stored = self.packages[package_id]
        if not stored.is_intact():
            raise HashMismatch(f"the package {package_id} does not match its hash")
        return stored

    def _newest_first(self, project_id):
        """The packages of a project, without those altered in storage."""
        stored = (self.packages[package_id] for package_id in reversed(self.project(project_id).package_ids))
        intact = [item.package for item in stored if item.is_intact()]
        return sorted(intact, key=lambda package: instant(package["created_at"]), reverse=True)

    def pull_latest(self, project_id, limit=None):
        return self._newest_first(project_id)[: limit or LATEST_LIMIT]

    def pull_relevant(self, project_id, query, limit=None):
        return [package for _, package in search.rank(self._newest_first(project_id), query)][:limit]

    # --- orient and orchestrate (sections 8.3 and 8.4) --------------------------------------------------------------------

    def _recent(self, project_id, days):
        earliest = days_before(instant(self.clock.now()), days)
        packages = self._newest_first(project_id)
        return [package for package in packages if instant(package["created_at"]) >= earliest]

    def orient(self, project_id, window_days=None):
        days = WINDOW_DAYS if window_days is None else window_days
        project = self.project(project_id)
        recent = self._recent(project_id, days)[:RECENT_LIMIT]
        return {
            "project": project.record,
            "recent_packages": recent,
            "active_facts": project.facts.current(),
            "open_questions": open_questions(recent),
            "window_days": days,
            "generated_at": self.clock.now(),
        }

    def orchestrate(self, project_id=None, focus=None, snippets=None):
        """A digest of one project or of all. Drafts are left out (section 5.3)."""
        project_ids = list(self.projects) if project_id is None else [self.project(project_id).record["project_id"]]
        recent, facts, counts = [], [], {}
        for each in project_ids:
            packages = [package for package in self._recent(each, WINDOW_DAYS) if package["status"] != "draft"]
            recent += packages
            facts += self.projects[each].facts.current()
            counts[each] = len(packages)
        titles = "; ".join(package["title"] for package in recent)
        found = search.rank(recent, focus) if focus else [(0.0, package) for package in recent]
        return {
            "window_days": WINDOW_DAYS,
            "generated_at": self.clock.now(),
            "summary": f"{len(recent)} packages in {WINDOW_DAYS} days: {titles}" if recent else "nothing new",
            "active_facts": facts,
            "open_questions": open_questions(recent),
            "snippets": [
                {
                    "package_id": package["package_id"],
                    "project_id": package["project_id"],
                    "score": score,
                    "text": ". ".join(dict.fromkeys(search.passages(package))),
                }
                for score, package in found[: SNIPPETS if snippets is None else snippets]
            ],
            "project_counts": counts,
        }

    # --- review (sections 5.3, 8.5 and 11.4) ------------------------------------------------------------------------------

    def flag_for_review(self, package_id, review_type):
        """The note of section 8.5 is only for the reviewer: it must not change the package (E72)."""
        stored = self._read(package_id)
        if review_type not in ("human", "agent"):
            raise InvalidSchema("review_type must be human or agent", "/review_type")
        return self._move(stored, "awaiting_review", review_type=review_type)

    def transition(self, package_id, status):
        stored = self._read(package_id)
        if status not in validate.STATUSES:
            raise InvalidSchema(f"status must be one of {', '.join(validate.STATUSES)}", "/status")
        return self._move(stored, status)

    def _move(self, stored, status, **members):
        old = stored.package["status"]
        if not transition_allowed(old, status):
            raise InvalidTransition(f"a package goes from {old} to {', '.join(NEXT_STATES[old]) or 'nothing else'}")
        stored.change(status=status, **members)
        return stored

    def awaiting_review(self, project_id):
        """Those that wait longest come first."""
        waiting = [item for item in self._newest_first(project_id) if item["status"] == "awaiting_review"]
        return waiting[::-1]

    # --- facts (sections 7, 8.6 and 8.7) ----------------------------------------------------------------------------------

    def assert_fact(self, inputs):
        require_valid(validate.assertion(inputs))
        author = None
        if inputs.get("source_package_id") in self.packages:
            author = self._read(inputs["source_package_id"]).package["created_by"]
        return self.create_project(inputs["project_id"]).facts.assert_(inputs, author)

    def invalidate_fact(self, project_id, subject, predicate, value=None):
        return self.project(project_id).facts.invalidate(subject, predicate, value)

    def query_facts(self, project_id, **question):
        return self.project(project_id).facts.query(**question)

    # --- the rest ---------------------------------------------------------------------------------------------------------

    def list_sessions(self, project_id):
        return self.project(project_id).sessions.all()

    def export(self, project_id):
        return transfer.export(self, project_id)

    def import_(self, data):
        return transfer.import_(self, data)

    def tamper(self, package_id, package):
        """For tests only: what a broken disk would do."""
        self._read(package_id).package = package


def require_valid(wrong):
    if wrong:
        first = wrong[0]
        raise InvalidSchema(f"{first['pointer'] or 'the value'} {first['reason']}", first["pointer"])


def open_questions(packages):
    """The questions of these packages, each once."""
    return list(dict.fromkeys(question for package in packages for question in package.get("open_questions") or ()))


def parse_record(data, judge):
    """Text to a package or fact, as this library holds one: the object with all its members, known or not."""
    record = jsontext.read(data)
    require_valid(judge(record))
    return record

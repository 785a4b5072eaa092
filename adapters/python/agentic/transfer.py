"""Export and import (sections 10.1 and 10.3, E69): one record a line, told apart by their members."""

from . import jsontext, validate
from .canonical import content_hash
from .errors import DuplicatePackageId, HashMismatch, InvalidSchema, NotCanonicalizable
from .facts import Timeline

_WRAPPERS = ("package", "fact", "session", "project", "data")
_IDS = ("package_id", "fact_id", "session_id", "project_id", "id")


def export(store, project_id):
    """The project, its packages, its facts with their history, and its sessions, each on a line of its own."""
    project = store.project(project_id)
    stored = [store.packages[package_id] for package_id in project.package_ids]
    if not all(item.is_intact() for item in stored):
        # A backup that lacks a package without a word would be worse than none.
        raise HashMismatch("a package of the project does not have its hash")
    records = [project.record, *(item.package for item in stored), *project.facts.rows.values(), *project.sessions.all()]
    return b"".join(jsontext.wire(record) + b"\n" for record in records)


def import_(store, data):
    """Take all records or none. The answer is how many there were of each kind."""
    found = {"project": [], "package": [], "fact": [], "session": []}
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            try:
                record = _unwrap(jsontext.read(line))
                kind, judge = _kind(record)
                wrong = judge(record)
                if wrong:
                    raise InvalidSchema(f"{wrong[0]['pointer']} {wrong[0]['reason']}", wrong[0]["pointer"])
            except (InvalidSchema, NotCanonicalizable) as error:
                raise InvalidSchema(f"line {number}: {error}", error.pointer) from None
            found[kind].append(record)

    # First all checks, then all writes.
    hashes = {}  # of packages that are only in the stream
    for package in found["package"]:
        package_id, digest = package["package_id"], content_hash(package)
        here = store.packages.get(package_id)
        known = (here.hash, here.deposited_hash) if here else (hashes.setdefault(package_id, digest),)
        if digest not in known:
            raise DuplicatePackageId(f"{package_id} belongs to other content", "/package_id")
    facts = {}
    for fact in found["fact"]:
        facts.setdefault(fact["project_id"], []).append(fact)
    for project_id, rows in facts.items():
        timeline = store.projects[project_id].facts if project_id in store.projects else Timeline(store.clock)
        timeline.refuse_import(rows)

    for record in found["project"]:
        store.create_project(record.get("project_id", record.get("id")), record)
    for package in found["package"]:
        if package["package_id"] not in store.packages:
            store.keep(package)
    for project_id, rows in facts.items():
        store.create_project(project_id).facts.take(rows)
    for session in found["session"]:
        store.create_project(session["project_id"]).sessions.take(session)
    return {f"{kind}s": len(found[kind]) for kind in ("package", "fact", "session")}


def _unwrap(record):
    """A line may wrap its record under the name of its kind."""
    if not isinstance(record, dict):
        raise InvalidSchema("is not an object")
    if not any(name in record for name in _IDS):
        for name in _WRAPPERS:
            if isinstance(record.get(name), dict):
                return record[name]
    return record


def _kind(record):
    """The kind of a record, and its validator. An incomplete package is an invalid package, not a project (E97)."""
    if "package_id" in record and ("title" in record or "fact_id" not in record):
        return "package", validate.package
    if "fact_id" in record:
        return "fact", validate.fact
    if "session_id" in record and "started_at" in record:
        return "session", validate.session
    if isinstance(record.get("project_id", record.get("id")), str):
        return "project", lambda _: []
    raise InvalidSchema("is not a package, fact, session or project")

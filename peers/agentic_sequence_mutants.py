"""Bugs that depend on what came before or beside a request, in the form of agentic_mutants.py. `kind` names the reason
that a test can miss one: second-round, coincidence, long-list, untouched, race, spelling or index.

A mutant here is another answer to a repeated deposit (AGAIN) or assert (ROUNDS), a further effect of a deposit, an
assert, an invalidation, an archiving or a refused transition (AFTER_*), other rows behind a list (LISTED, ROWS,
QUERIED, EXPORTED), or a place that checks `bug`. `store.remembered` has the set "imported" (order of packages, fact_id
of facts) and the set "invalidated" (fact_id).
"""

import json
import time

from agentic_mutants import before, inline, registering, stored
from agentic_rules import Refusal, moment
from agentic_state_mutants import at_level, holds, in_state, is_open, key, l2, l3, recorded, supersedes, waiting

AGAIN, LISTED, EXPORTED, AFTER_DEPOSIT, AFTER_ARCHIVE = {}, {}, {}, {}, {}
ROUNDS, ROWS, QUERIED, AFTER_ASSERT, AFTER_INVALIDATE, AFTER_REFUSED_MOVE = {}, {}, {}, {}, {}, {}

again, listed, exported = registering(AGAIN), registering(LISTED), registering(EXPORTED)
after_deposit, after_archive = registering(AFTER_DEPOSIT), registering(AFTER_ARCHIVE)
rounds, rows_read, queried = at_level("L2", ROUNDS), at_level("L2", ROWS), at_level("L2", QUERIED)
after_assert, after_invalidate = at_level("L2", AFTER_ASSERT), at_level("L2", AFTER_INVALIDATE)
after_refused_move = at_level("L3", AFTER_REFUSED_MOVE)

SECOND, TIE, LONG = {"kind": "second-round"}, {"kind": "coincidence"}, {"kind": "long-list"}
UNTOUCHED, RACE, SPELLING, INDEX = {"kind": "untouched"}, {"kind": "race"}, {"kind": "spelling"}, {"kind": "index"}

# --- Second and third rounds --------------------------------------------------------------------------------------------


@rounds(
    "invalidated-value-revived",
    "Asserting the value that was invalidated last reopens its row.",
    "7.4-05 5.1-02",
    **SECOND,
)
def _(project, body, old, start, store):
    rows = store.history(project, body)
    if old is None and rows and rows[-1]["value"] == body["value"]:
        rows[-1]["valid_to"] = None
        return rows[-1]


@rounds(
    "earlier-value-revived",
    "Asserting a value that the pair had before reopens its row, as an upsert by value does.",
    "5.1-02 7.3-06 8.6-10 10.1-03",
    **SECOND,
)
def _(project, body, old, start, store):
    rows = [f for f in store.history(project, body) if f is not old and f["value"] == body["value"]]
    if old is not None and old["value"] != body["value"] and rows:
        old["valid_to"] = start
        rows[0]["valid_to"] = None
        return rows[0]


l2("invalidate-count-grows", "The count includes the earlier invalidations of the pair.", "8.7-08", **SECOND)


@again("third-deposit-clashes", "Accepts one repeat of a deposit, not a second one.", "11.2-03", **SECOND)
def _(old, p, digest, same, store):
    times = store.remembered[("repeats", old.order)] = store.remembered.get(("repeats", old.order), 0) + same
    return same and times < 2


@again("repeat-after-clash-refused", "After a clash, the original content is refused as well.", "11.2-03", **SECOND)
def _(old, p, digest, same, store):
    clashes = store.remembered.setdefault("clashes", set())
    if not same:
        clashes.add(old.order)
    return same and old.order not in clashes


@again("second-clash-accepted", "The second attempt with the same other content is answered as a repeat.", "11.2-05 8.1-12", **SECOND)
def _(old, p, digest, same, store):
    last = store.remembered.get(("attempt", old.order))
    store.remembered[("attempt", old.order)] = digest
    return same or last == digest


@after_archive("archived-once-only", "A project that was restored is not archived again.", "5.2-03", **SECOND)
def _(project, restore, store):
    times = store.remembered[("archived", project.id)] = store.remembered.get(("archived", project.id), 0) + (not restore)
    if times > 1:
        project.archived_at = None


@after_archive(
    "restore-from-snapshot",
    "Restoring brings back the packages at the time of archiving: those deposited meanwhile are lost.",
    "5.2-05 8.1-14",
    **SECOND,
)
def _(project, restore, store):
    if not restore:
        store.remembered[("snapshot", project.id)] = list(project.packages)
        return
    kept = store.remembered.pop(("snapshot", project.id), project.packages)
    for package in [x for x in project.packages if x not in kept]:
        store.remove(package)


l2("import-again-reopens", "A second import of an older export reopens facts that have ended since.", "7.3-05 7.4-05 10.1-03", **SECOND)
l3("import-again-resets-status", "A second import of an older export restores the status of a package.", "10.1-01 5.3-18", **SECOND)
l3(
    "hash-of-first-move",
    "After a second transition the hash is that of the state after the first.",
    "6.6-17",
    needs=("hash-everywhere",),
    **SECOND,
)

# --- Coincidences ---------------------------------------------------------------------------------------------------------


@after_assert("empty-interval-pruned", "A fact that is superseded at its own valid_from is removed.", "3-02 5.1-02", **TIE)
def _(project, fact, ended, store):
    empty = [f for f in ended if moment(f["valid_from"]) == moment(f["valid_to"])]
    project.facts = [f for f in project.facts if f not in empty]


@holds("pit-empty-interval-holds", "A row with equal valid_from and valid_to holds at that instant.", "7.3-12 10.1-03", **TIE)
def _(fact, at, store):
    start, end, at = moment(fact["valid_from"]), moment(fact["valid_to"] or "9999-01-01T00:00:00Z"), moment(at)
    return start <= at < end or start == at == end


inline(
    "latest-ties-at-limit-dropped",
    "If packages before and after the cut have the same created_at, latest leaves all of these out.",
    "8.2-03 8.2-01",
    **TIE,
)


@before("id-of-project-taken", "Projects and packages share a table: a package_id equal to the project_id is a clash.", "6.1-06", **TIE)
def _(p, project, store):
    if p.get("package_id") == project:
        raise Refusal(409, "duplicate_package_id", "the id is taken")


@queried("facts-one-per-value", "Lists one of the current facts of a subject that have the same value.", "8.3-07 7.3-01", **TIE)
def _(out, kind, store):
    return list({(f["subject"], f["value"]): f for f in out}.values()) if kind == "current" else out


def current_row(row, store):
    """The fact that `row` is going to supersede."""
    return (store.current(*key(row)) or [None])[-1]


@recorded("confidence-of-one-inherited", "An assert with confidence 1 keeps the confidence of the fact that it ends.", "7.2-06", **TIE)
def _(row, body, store):
    old = current_row(row, store)
    if body.get("confidence") == 1 and old is not None:
        row["confidence"] = old["confidence"]


@recorded("empty-tags-inherited", "An assert with empty tags keeps the tags of the fact that it ends.", "7.2-15", **TIE)
def _(row, body, store):
    old = current_row(row, store)
    if body.get("tags") == [] and old is not None:
        row["tags"] = old["tags"]


def without_empty(p):
    return {k: v for k, v in p.items() if v not in ("", [], {})}


@again("duplicate-ignores-empty-members", "Compares without members that are empty.", "11.2-05", **TIE)
def _(old, p, digest, same, store):
    return same or without_empty(old.submitted) == without_empty(p)


def as_text(value):
    """The value with all scalars as text, which compares like a loose equality."""
    if type(value) is dict:
        return {k: as_text(v) for k, v in value.items()}
    if type(value) is list:
        return [as_text(v) for v in value]
    return str(int(value) if type(value) is bool else value)


@again("duplicate-loose-equality", "Compares loosely: 1, the text 1 and true are the same.", "11.2-05", **TIE)
def _(old, p, digest, same, store):
    return same or as_text(old.submitted) == as_text(p)


inline("relevant-one-per-score", "Keeps matches by score: of matches with the same score one is found.", "8.2-11", **TIE)
inline(
    "id-of-other-project-repeats",
    "A deposit under an id of another project answers the package of that project and stores nothing.",
    "8.1-09 4-02",
    **TIE,
)

# --- Long lists -----------------------------------------------------------------------------------------------------------


@listed("lists-scan-first-fifty", "Lists, orient and search read the first fifty packages that arrived.", "8.2-01 8.3-04", **LONG)
def _(packages, store):
    return packages[:50]


@rows_read("orient-scans-first-fifty-rows", "active_facts come from the first fifty rows, ended ones included.", "8.3-07", **LONG)
def _(rows, query, kind, store):
    return rows[:50] if not query else rows


@rows_read("facts-cut-before-filter", "A query reads the last hundred rows of the project, then filters.", "7.3-10 11.3-04 3-02", **LONG)
def _(rows, query, kind, store):
    return rows[-100:]


@rows_read("pit-reads-last-ten-rows", "A query for an instant reads the last ten rows of a pair.", "7.3-13 11.3-05", **LONG)
def _(rows, query, kind, store):
    pair = query.get("subject"), query.get("predicate")
    return [f for f in rows if (f["subject"], f["predicate"]) == pair][-10:] if kind == "as_of" and None not in pair else rows


@supersedes("supersede-scans-last-hundred", "Looks for the current fact among the last hundred rows of the project.", "7.3-05 8.6-10", **LONG)
def _(rows, new):
    last = [f for f in rows if f["project_id"] == new["project_id"]][-100:]
    return [f for f in last if key(f) == key(new) and is_open(f)]


@exported("export-first-hundred", "Export holds the first hundred records.", "10.1-05 10.1-06 5.2-06", **LONG)
def _(records, store):
    return records[:100]


inline("import-batches-lose-one", "Imports in batches of a hundred and loses the record between two batches.", "5.2-07 10.3-04", **LONG)


@waiting("awaiting-list-of-newest-twenty", "The list of waiting packages filters the newest twenty packages.", "11.4-04 11.4-06", **LONG)
def _(packages, store):
    return in_state("awaiting_review")(store.by_time(packages)[:20], store)


@stored(
    "array-index-as-text",
    "Keeps array elements in rows, sorted by the index as text: the eleventh comes third.",
    "6.4-34 6.4-35 6.5-11 6-09",
    **LONG,
)
def _(p):
    def walk(v):
        if type(v) is dict:
            return {k: walk(x) for k, x in v.items()}
        return [walk(v[i]) for i in sorted(range(len(v)), key=str)] if type(v) is list else v

    return walk(p)


inline("duplicate-checks-last-fifty", "Checks an id against the last fifty packages: an older one is replaced.", "11.2-05 8.1-12 5.1-01", **LONG)
inline("orient-questions-cut-at-ten", "open_questions are cut at ten.", "8.3-08", **LONG)
l3("flag-searches-newest-fifty", "Flag finds an id among the newest fifty packages of the project only.", "8.5-01 5.3-06", **LONG)

# --- Effects on other things ------------------------------------------------------------------------------------------------


@after_invalidate("invalidate-cascades-to-source", "An invalidation ends the other facts of the same source package too.", "8.7-02", **UNTOUCHED)
def _(facts, project, now, store):
    sources = {f["source_package_id"] for f in facts} - {None}
    for fact in project.facts:
        if is_open(fact) and fact["source_package_id"] in sources:
            fact["valid_to"] = now


@after_deposit(
    "child-marks-parent",
    "A deposit writes its id into its parent, as superseded_by.",
    "5.3-24 6.6-18 6.6-16 10.1-01",
    **UNTOUCHED,
)
def _(package, project, store):
    parent = project.by_id.get(package.value.get("parent_package_id"))
    if parent is not None:
        parent.value = {**parent.value, "superseded_by": package.value["package_id"]}
        parent.digest = store.canon.digest(parent.value)
        parent.raw = None


def rejoin(project, package, same, names):
    """Gives members of created_by to the other packages of which created_by is the same row of a table of actors."""
    new = package.value["created_by"]
    for other in project.packages:
        if same(other.value["created_by"], new):
            other.value = {**other.value, "created_by": {**other.value["created_by"], **{n: new[n] for n in names}}}


@after_deposit("actor-kind-joined-by-id", "The kind of an actor is a column of its id: a later deposit changes earlier packages.", "5.4-01 6.6-16", **UNTOUCHED)
def _(package, project, store):
    rejoin(project, package, lambda a, b: a["id"] == b["id"], ("type",))


@after_deposit(
    "actor-joined-by-session",
    "The actor is a column of the session: a deposit by another actor with that session_id changes earlier packages.",
    "5.4-04 6.6-16",
    **UNTOUCHED,
)
def _(package, project, store):
    same = lambda a, b: a.get("session_id") is not None and a.get("session_id") == b.get("session_id")
    rejoin(project, package, same, ("id", "type"))


@recorded("tags-of-whole-subject", "Tags belong to the subject: an assert changes those of its other facts.", "7.2-15", **UNTOUCHED)
def _(row, body, store):
    for fact in store.projects[row["project_id"]].facts:
        if body.get("tags") is not None and fact["subject"] == row["subject"]:
            fact["tags"] = body["tags"]


l2("refused-invalidate-ends", "An invalidation without predicate is refused after it ended the facts of the subject.", "8.7-04", **UNTOUCHED)


@after_refused_move(
    "refused-move-resets-reviewer",
    "A refused transition has set review_type to none.",
    "5.3-11 5.3-18 5.3-20 10.1-01",
    **UNTOUCHED,
)
def _(package, store):
    package.value = {**package.value, "review_type": "none"}
    package.digest = store.canon.digest(package.value)


@after_refused_move("refused-move-leaves-queue", "A refused transition removes the package from the list of waiting ones.", "11.4-04", **INDEX)
def _(package, store):
    store.remembered.setdefault("left", set()).add(package.order)


@after_archive("restore-all-projects", "Restoring a project restores all others too.", "5.2-03", **UNTOUCHED)
def _(project, restore, store):
    for each in store.projects.values() if restore else ():
        each.archived_at = None


l2("orient-ends-old-facts", "orient ends the facts that began before its window.", "7.3-10 8.3-07 11.3-04", **UNTOUCHED)
l2("as-of-sticks", "After a query for an instant, the connection answers all later ones for that instant.", "7.3-10 11.3-04", **UNTOUCHED)
inline("limit-becomes-default", "The limit of a list is the default of the next list of that project.", "8.2-05", **UNTOUCHED)

# --- Races ------------------------------------------------------------------------------------------------------------------

l3("flag-race", "Flag checks and writes in separate transactions: a completed package goes back to review.", "5.3-19 10.1-01", **RACE)
l3("move-gap", "A transition removes the package and inserts it again: readers miss it for 3 ms.", "5.1-01 8.2-07", **RACE)
l2("first-assert-race", "The row lock protects a current fact; parallel first asserts of a pair are all current.", "7.3-08 10.1-02 7.3-05", **RACE)
inline("project-creation-race", "Parallel first deposits create the project twice: the second replaces the first.", "8.2-04 8.2-01", **RACE)
l2("invalidate-writes-back", "An invalidation writes back all facts that it read: an assert meanwhile is lost.", "8.6-01 3-02", **RACE)


@recorded("fact-id-of-millisecond", "Makes fact_id from the clock: asserts of one millisecond have the same.", "7.1-02", **RACE)
def _(row, body, store):
    row["fact_id"] = f"fact_{time.time_ns() // 1_000_000:032x}"


def remove_for_a_moment(store, package_id, body):
    """The first part of the bug move-gap."""
    with store.lock:
        package = store.find(package_id)
        if package is None or not store.may(package, body.get("status"), "status"):
            return
        store.remove(package)
    time.sleep(0.003)
    with store.lock:
        name = store.key_of(package.value["package_id"])
        store.projects[package.project].packages.append(package)
        store.projects[package.project].by_id[name] = package
        store.packages.setdefault(name, []).append(package)


# --- Other spellings ----------------------------------------------------------------------------------------------------------

l2("invalidate-subject-first", "Refuses an invalidation whose first parameter is not subject.", "8.7-01 11.3-02", **SPELLING)
inline("escaped-names-kept", "Does not decode escapes in member names.", "6-05 11.2-04", **SPELLING)
inline("escaped-solidus-kept", "Keeps the reverse solidus of an escaped solidus.", "6-12", **SPELLING)
inline("capital-exponent-refused", "Refuses numbers with a capital E.", "6-09 6-05", **SPELLING)
inline("media-type-in-capitals-refused", "Compares the media type of a request with regard to case: 415.", "9.1-11", **SPELLING)
inline("header-names-compared", "Reads Content-Length only if it is spelled so: content-length means no body.", "9.1-11 11.2-01", **SPELLING)
inline("id-letters-not-decoded", "Decodes percent signs of reserved characters only.", "6.1-06 8.2-07", **SPELLING)
l2("pit-offset-ignored", "Reads the offset of as_of as Z.", "7.3-16 7.3-13", **SPELLING)
inline("white-space-before-refused", "Refuses a body that begins with white space.", "11.2-04 6-01", **SPELLING)


@again("duplicate-by-number-spelling", "Compares numbers as written: 1.0 and 1 are a clash.", "11.2-04", **SPELLING)
def _(old, p, digest, same, store):
    text = lambda x: json.dumps({k: v for k, v in x.items() if v is not None}, sort_keys=True)
    return same and text(old.submitted) == text(p)


# --- One index without the other ------------------------------------------------------------------------------------------------


@exported("export-misses-invalidations", "Export does not show the end of an invalidated fact.", "10.1-06 10.1-09 5.2-06", level="L2", **INDEX)
def _(records, store):
    gone = store.remembered.get("invalidated", ())
    open_again = lambda v: {n: x for n, x in v.items() if n != "valid_to"} if v.get("fact_id") in gone else v
    return [(kind, open_again(value)) for kind, value in records]


@holds("pit-ignores-invalidations", "A query for an instant knows the end of superseded facts only.", "7.3-12 11.3-05", **INDEX)
def _(fact, at, store):
    if fact["fact_id"] in store.remembered.get("invalidated", ()):
        return moment(fact["valid_from"]) <= moment(at)
    return moment(fact["valid_from"]) <= moment(at) and (is_open(fact) or moment(at) < moment(fact["valid_to"]))


l2("orient-forgets-second-life", "active_facts leave out a pair that was invalidated and asserted again.", "8.3-07", **INDEX)
l2("history-outlives-invalidation", "The cache of histories is cleared by an assert, not by an invalidation.", "7.4-01 7.2-02", **INDEX)
l3("pull-outlives-move", "The cache of packages is cleared by a flag, not by the status route.", "5.3-09 5.3-10 8.2-07", **INDEX)
l3("search-shows-first-status", "A search shows the status of the deposit.", "5.3-09 8.2-12", **INDEX)
inline("search-cached", "A search repeats its first answer.", "8.2-11", **INDEX)


@listed("imported-unlisted", "Imported packages are found by id only.", "5.2-07 10.3-04 8.2-04", **INDEX)
def _(packages, store):
    return [x for x in packages if x.order not in store.remembered.get("imported", ())]


@waiting("imported-not-awaiting", "The list of waiting packages misses imported ones.", "11.4-04", **INDEX)
def _(packages, store):
    return [x for x in in_state("awaiting_review")(packages, store) if x.order not in store.remembered.get("imported", ())]


inline("imported-id-free", "An imported id can be deposited again with other content.", "11.2-05 8.1-12", **INDEX)
l2("supersede-misses-imported", "An assert does not end an imported fact.", "7.3-05 8.6-10", **INDEX)

"""Bugs of facts and review (levels L2 and L3), in the form of agentic_mutants.py.

A mutant here is a change of an assert before it is read (ASSERTED), of the row that is recorded (RECORDED) or shown
(FACT_SHOWN), another choice of the rows that end (SUPERSEDES, INVALIDATES) or of their end times (ENDED), of the rows
a query finds (ASKED, HOLDS), of imported data (IMPORTED), a change of a package by a transition (MOVED) or of the body of
a flag (FLAGGED), a gap in the table of transitions (GUARDS), another list of waiting packages (WAITING), or a place that
checks `bug`.
"""

import json
import secrets
import unicodedata

from agentic_mutants import inline, registering, skip, stored
from agentic_rules import instant, known_members_only, moment, spell_time

ASSERTED, RECORDED, FACT_SHOWN, IMPORTED = {}, {}, {}, {}
SUPERSEDES, INVALIDATES, ENDED, ANSWERED = {}, {}, {}, {}
ASKED, HOLDS = {}, {}
MOVED, FLAGGED, GUARDS, WAITING = {}, {}, {}, {}


def at_level(level, table):
    register = registering(table)

    def named(name, about, breaks, **more):
        return register(name, about, breaks, level=level, **more)

    return named


asserted, recorded, fact_shown, imported = (at_level("L2", t) for t in (ASSERTED, RECORDED, FACT_SHOWN, IMPORTED))
supersedes, invalidates, ended, answered = (at_level("L2", t) for t in (SUPERSEDES, INVALIDATES, ENDED, ANSWERED))
asked, holds = at_level("L2", ASKED), at_level("L2", HOLDS)
moved, flagged, guards, waiting = (at_level("L3", t) for t in (MOVED, FLAGGED, GUARDS, WAITING))


def l2(name, about, breaks, **more):
    inline(name, about, breaks, level="L2", **more)


def l3(name, about, breaks, **more):
    inline(name, about, breaks, level="L3", **more)


def shifted(text, seconds):
    """The instant the given number of seconds later, in whole seconds."""
    return spell_time_z(instant(text)[0] + seconds)


class _Plain:
    def bug(self, _):
        return False

    has = bug


def spell_time_z(seconds, fraction=""):
    return spell_time(_Plain(), seconds, fraction)


def key(row):
    return row["project_id"], row["subject"], row["predicate"]


def is_open(row):
    return row["valid_to"] is None


# --- Contents of an assert --------------------------------------------------------------------------------------------


def changes(member, change):
    def edit(body, store):
        if type(body.get(member)) is str:
            body[member] = change(body[member])
        return body

    return edit


for _name, _about, _breaks, _member, _change in (
    ("subject-trimmed", "Trims the subject.", "7.1-06", "subject", lambda s: s.strip()),
    ("subject-in-lower-case", "Writes subjects in lower case.", "7.1-06 7.3-03", "subject", lambda s: s.lower()),
    ("subject-cut-at-slash", "Keeps the part before a slash.", "7.1-06", "subject", lambda s: s.partition("/")[0]),
    (
        "subject-in-ascii",
        "Drops non-ASCII characters from subjects.",
        "7.1-06",
        "subject",
        lambda s: s.encode("ascii", "ignore").decode(),
    ),
    ("subject-composed", "Composes subjects to NFC.", "7.1-06", "subject", lambda s: unicodedata.normalize("NFC", s)),
    (
        "subject-percent-decoded",
        "Decodes percent signs of a stored subject.",
        "7.1-06",
        "subject",
        lambda s: s.replace("%20", " ").replace("%2F", "/"),
    ),
    (
        "predicate-as-slug",
        "Writes predicates with underscores for all but letters and digits.",
        "12.3-01",
        "predicate",
        lambda s: "".join(c if c.isalnum() else "_" for c in s),
    ),
    ("predicate-in-lower-case", "Writes predicates in lower case.", "12.3-01 7.3-03", "predicate", lambda s: s.lower()),
    ("predicate-without-prefix", "Strips x- from predicates.", "12.3-01", "predicate", lambda s: s.removeprefix("x-")),
    ("value-trimmed", "Trims values.", "7.1-11", "value", lambda s: s.strip() or s),
    ("value-cut-at-255", "Cuts values at 255 characters.", "7.1-11", "value", lambda s: s[:255]),
    ("value-cut-at-4096", "Cuts values at 4096 characters.", "7.1-11", "value", lambda s: s[:4096]),
    ("value-in-lower-case", "Writes values in lower case.", "7.1-11", "value", lambda s: s.lower()),
    (
        "value-without-zeros",
        "Strips leading zeros of values that are digits.",
        "7.1-11",
        "value",
        lambda s: str(int(s)) if s.isdigit() and s.isascii() else s,
    ),
):
    ASSERTED[_name] = changes(_member, _change)
    l2(_name, _about, _breaks)


@asserted("value-number-reprinted", "Reprints values that look like numbers: 1e3 becomes 1000.0.", "7.1-11")
def _(body, store):
    try:
        body["value"] = str(float(body["value"]))
    except (KeyError, TypeError, ValueError):
        pass
    return body


@asserted("value-null-as-text", "Accepts a null or missing value and stores the text null.", "8.6-04")
def _(body, store):
    return {**body, "value": "null"} if body.get("value") is None else body


@asserted("subject-missing-as-empty", "Accepts an assert without subject.", "8.6-02")
def _(body, store):
    return {**body, "subject": body.get("subject") or ""}


@asserted("predicate-missing-as-default", "Accepts an assert without predicate.", "8.6-03")
def _(body, store):
    return {**body, "predicate": body.get("predicate") or "is"}


@asserted("subject-coerced", "Converts a non-text subject to text.", "8.6-05")
def _(body, store):
    return body if type(body.get("subject")) in (str, type(None)) else {**body, "subject": json.dumps(body["subject"])}


@asserted("predicate-coerced", "Converts a non-text predicate to text.", "8.6-06")
def _(body, store):
    known = type(body.get("predicate")) in (str, type(None))
    return body if known else {**body, "predicate": json.dumps(body["predicate"])}


@asserted("confidence-clamped", "Clamps a confidence outside 0 to 1.", "7.2-07 7.2-08")
def _(body, store):
    c = body.get("confidence")
    return {**body, "confidence": min(max(c, 0.0), 1.0)} if type(c) in (int, float) else body


@asserted("confidence-text-parsed", "Accepts a confidence that is the text of a number.", "7.2-09")
def _(body, store):
    try:
        return {**body, "confidence": float(body["confidence"])} if "confidence" in body else body
    except (TypeError, ValueError):
        return body


@asserted("valid-from-ignored", "Uses the time of the request instead of valid_from.", "7.1-14 7.3-02 8.6-08")
def _(body, store):
    store.check_fact_time(body.get("valid_from"), "/valid_from")
    return {k: v for k, v in body.items() if k != "valid_from"}


@asserted("valid-from-bad-is-now", "Uses the time of the request if valid_from is invalid.", "7.1-16")
def _(body, store):
    text = body.get("valid_from")
    return body if type(text) is str and instant(text) else {k: v for k, v in body.items() if k != "valid_from"}


@asserted("valid-from-epoch-accepted", "Accepts a number as seconds since 1970.", "7.1-16", needs=("backdated-history",))
def _(body, store):
    text = body.get("valid_from")
    return {**body, "valid_from": spell_time_z(text)} if type(text) is int else body


@asserted("valid-from-whole-day", "Keeps the day of valid_from only.", "7.1-14 7.3-02")
def _(body, store):
    text = body.get("valid_from")
    return {**body, "valid_from": text[:10] + "T00:00:00Z"} if type(text) is str and instant(text) else body


@asserted("valid-from-as-local", "Reads valid_from in the zone of the server, two hours east.", "7.1-14")
def _(body, store):
    text = body.get("valid_from")
    return {**body, "valid_from": shifted(text, -7200)} if type(text) is str and instant(text) else body


@asserted("valid-from-midnight", "Without valid_from a fact is valid from midnight.", "8.6-09")
def _(body, store):
    if body.get("valid_from") is None:
        body["valid_from"] = store.now_text()[:10] + "T00:00:00Z"
    return body


@asserted("valid-from-1970", "Without valid_from a fact is valid from 1970.", "8.6-09")
def _(body, store):
    return {"valid_from": "1970-01-01T00:00:00Z", **body}


skip(
    "confidence-unchecked",
    "fact-confidence-low fact-confidence-high",
    "Has no range check on confidence.",
    "7.2-07 7.2-08",
    level="L2",
)
skip(
    "confidence-negative-taken",
    "fact-confidence-low",
    "Checks the upper bound of confidence only.",
    "7.2-07",
    level="L2",
)
skip(
    "confidence-large-taken", "fact-confidence-high", "Checks the lower bound of confidence only.", "7.2-08", level="L2"
)
l2("value-number-kept", "Stores a JSON number as value unchanged.", "7.1-10", needs=("number-value-text",))
skip(
    "value-types-unchecked",
    "fact-value-type",
    "Stores any JSON as value.",
    "7.1-10 7.1-09",
    level="L2",
    needs=("number-value-refused",),
)

# --- The row ----------------------------------------------------------------------------------------------------------


def drops(member):
    def edit(fact, body, store):
        fact[member] = None

    return edit


@recorded("confidence-zero-is-default", "Treats 0 as absent and stores 1.", "7.2-06")
def _(fact, body, store):
    fact["confidence"] = body.get("confidence") or 1.0


@recorded("confidence-in-tenths", "Keeps one digit of confidence.", "7.2-06")
def _(fact, body, store):
    if fact["confidence"] is not None:
        fact["confidence"] = round(fact["confidence"], 1)


@recorded("confidence-as-integer", "Keeps confidence in a column of integers.", "7.2-06")
def _(fact, body, store):
    if fact["confidence"] is not None:
        fact["confidence"] = int(fact["confidence"])


@recorded("confidence-in-percent", "Keeps confidence in percent.", "7.2-06")
def _(fact, body, store):
    if fact["confidence"] is not None:
        fact["confidence"] *= 100


for _name, _about, _breaks, _member in (
    ("fact-tags-dropped", "Has no column for tags of facts.", "7.2-15 8.6-08", "tags"),
    ("fact-confidence-dropped", "Has no column for confidence.", "7.2-06 8.6-08", "confidence"),
    ("fact-source-dropped", "Has no column for source_package_id.", "7.2-04 8.6-08", "source_package_id"),
):
    RECORDED[_name] = drops(_member)
    l2(_name, _about, _breaks)


@recorded("fact-tags-sorted", "Sorts tags of facts.", "7.2-15")
def _(fact, body, store):
    fact["tags"] = sorted(fact["tags"] or [])


@recorded("fact-created-at-backdated", "Sets created_at to valid_from.", "7.1-15")
def _(fact, body, store):
    fact["created_at"] = fact["valid_from"]


@recorded("fact-created-at-start", "Sets created_at to the start of the server's day.", "7.1-15")
def _(fact, body, store):
    fact["created_at"] = fact["created_at"][:10] + "T00:00:00Z"


@recorded("fact-id-of-pair", "Makes fact_id from subject and predicate: the successor has the same.", "5.1-02 7.3-04")
def _(fact, body, store):
    fact["fact_id"] = "fact_" + f"{fact['project_id']} {fact['subject']} {fact['predicate']}".encode().hex()[:32].ljust(
        32, "0"
    )


@recorded(
    "fact-id-of-value", "Makes fact_id from subject, predicate and value: other projects have the same.", "7.1-02"
)
def _(fact, body, store):
    text = f"{fact['value']} {fact['predicate']} {fact['subject']}"
    fact["fact_id"] = "fact_" + text.encode().hex()[:32].ljust(32, "0")


@recorded("asserted-by-kind-lost", "Keeps every asserted_by as an agent.", "7.2-13 7.2-12")
def _(fact, body, store):
    if fact["asserted_by"]:
        fact["asserted_by"] = {**fact["asserted_by"], "type": "agent"}


l2("fact-id-per-project", "Counts facts from 1 in each project.", "7.1-02")
l2(
    "asserted-by-from-key",
    "Sets asserted_by from the credentials despite a source package.",
    "7.2-12",
    arguments=("--auth", "key-a=owner-a"),
)
l2("asserted-by-ignored", "Sets asserted_by from the caller, ignoring the input.", "7.2-13 8.6-08")
l2("asserted-by-not-copied", "Leaves asserted_by out despite a source package.", "7.2-12")
l2("asserted-by-without-session", "Copies id and type of the source package only.", "7.2-12")

# --- The row as shown -------------------------------------------------------------------------------------------------


@fact_shown("value-as-number", "Returns values that look like numbers as numbers.", "7.1-10 7.1-11")
def _(fact):
    try:
        return {**fact, "value": float(fact["value"])}
    except ValueError:
        return fact


@fact_shown("value-as-json", "Returns values that are JSON texts as JSON values: true, null, numbers.", "7.1-10 7.1-11")
def _(fact):
    try:
        return {**fact, "value": json.loads(fact["value"])}
    except ValueError:
        return fact


def renames(**names):
    return lambda fact: {names.get(k, k): v for k, v in fact.items()}


FACT_SHOWN["fact-store-names"] = renames(predicate="relation", value="object", valid_to="ended_at", fact_id="id")
l2(
    "fact-store-names",
    "Shows facts with the names of its columns: id, relation, object, ended_at.",
    "7.1-01 7.1-08 7.1-09",
)
FACT_SHOWN["fact-camel-names"] = renames(
    **{
        k: k.split("_")[0] + k.split("_")[1].title()
        for k in ("fact_id", "project_id", "valid_from", "valid_to", "created_at")
    }
)
l2("fact-camel-names", "Shows facts with names in camel case.", "7.1-01 7.1-04 7.1-12 7.1-13")


def hides(member):
    return lambda fact: {k: v for k, v in fact.items() if k != member}


for _name, _about, _breaks, _member in (
    ("fact-without-project", "Shows facts without project_id.", "7.1-04 4-02", "project_id"),
    ("fact-without-created", "Shows facts without created_at.", "7.1-13 7.1-15", "created_at"),
    ("fact-without-valid-to", "Never shows valid_to.", "7.2-02 7.3-02", "valid_to"),
    ("fact-without-id", "Shows facts without fact_id.", "7.1-01 8.6-12", "fact_id"),
):
    FACT_SHOWN[_name] = hides(_member)
    l2(_name, _about, _breaks)


@fact_shown("fact-id-as-number", "fact_id is a number.", "7.1-01")
def _(fact):
    return {**fact, "fact_id": int(fact["fact_id"][-8:], 16)}


@fact_shown("confidence-as-text", "Shows confidence as text.", "7.2-05 7.2-06")
def _(fact):
    return {**fact, "confidence": str(fact["confidence"])} if "confidence" in fact else fact


@fact_shown("fact-tags-as-text", "Shows tags of facts as one text with commas.", "7.2-14 7.2-15")
def _(fact):
    return {**fact, "tags": ",".join(fact["tags"])} if "tags" in fact else fact


@fact_shown("asserted-by-as-text", "Shows asserted_by as type and id in one text.", "7.2-11 7.2-13")
def _(fact):
    by = fact.get("asserted_by")
    return {**fact, "asserted_by": f"{by.get('type')}:{by.get('id')}"} if by else fact


def with_times(change):
    def edit(fact):
        return {k: change(v) if k in ("valid_from", "valid_to", "created_at") and v else v for k, v in fact.items()}

    return edit


for _name, _about, _breaks, _change in (
    ("fact-times-naive", "Shows times of facts without zone.", "7.1-12 7.1-13 9.1-13", lambda t: t.rstrip("Z")),
    (
        "fact-times-as-sql",
        "Shows times of facts with a space.",
        "7.1-12 7.1-13",
        lambda t: t.replace("T", " ").rstrip("Z"),
    ),
    ("fact-times-as-seconds", "Shows times of facts as numbers.", "7.1-12 7.1-13", lambda t: instant(t)[0]),
    (
        "fact-times-local",
        "Shows times of facts in the zone of the server, two hours east, with Z.",
        "7.1-14 7.1-15",
        lambda t: shifted(t, 7200),
    ),
    ("fact-times-whole-minutes", "Shows times of facts in whole minutes.", "7.1-14 7.3-02", lambda t: t[:16] + ":00Z"),
):
    FACT_SHOWN[_name] = with_times(_change)
    l2(_name, _about, _breaks)

# --- Supersession -----------------------------------------------------------------------------------------------------


def match(same):
    """The open rows that are the same as the new one."""
    return lambda rows, new: [f for f in rows if is_open(f) and same(f, new)]


def folded(row):
    return row["project_id"], row["subject"].lower(), row["predicate"].lower()


def joined(row):
    return row["project_id"], row["subject"] + row["predicate"]


def joined_with_colon(row):
    return row["project_id"], row["subject"] + ":" + row["predicate"]


for _name, _about, _breaks, _same in (
    (
        "supersede-ignores-project",
        "Ends the fact of other projects too.",
        "5.2-10",
        lambda f, n: key(f)[1:] == key(n)[1:],
    ),
    (
        "supersede-ignores-predicate",
        "Ends every current fact of the subject.",
        "7.3-03",
        lambda f, n: key(f)[:2] == key(n)[:2],
    ),
    (
        "supersede-ignores-subject",
        "Ends every current fact of the predicate.",
        "7.3-03",
        lambda f, n: key(f)[::2] == key(n)[::2],
    ),
    ("supersede-folds-case", "Matches without regard to case.", "7.3-03", lambda f, n: folded(f) == folded(n)),
    (
        "supersede-by-prefix",
        "Ends facts whose subject has that of the new one as a prefix.",
        "7.3-03",
        lambda f, n: key(f)[::2] == key(n)[::2] and f["subject"].startswith(n["subject"]),
    ),
    (
        "supersede-by-joined-key",
        "Matches subject and predicate joined without a separator.",
        "7.3-03",
        lambda f, n: joined(f) == joined(n),
    ),
    (
        "supersede-by-colon-key",
        "Matches subject and predicate joined by a colon.",
        "7.3-03",
        lambda f, n: joined_with_colon(f) == joined_with_colon(n),
    ),
    (
        "supersede-trims",
        "Matches without regard to spaces at the ends.",
        "7.3-03",
        lambda f, n: [x.strip() for x in key(f)] == [x.strip() for x in key(n)],
    ),
    (
        "supersede-per-actor",
        "Ends the fact only if the same actor asserted it.",
        "7.3-05 8.6-10",
        lambda f, n: key(f) == key(n) and (f["asserted_by"] or {}).get("id") == (n["asserted_by"] or {}).get("id"),
    ),
    (
        "supersede-per-source",
        "Ends the fact only if it has the same source package.",
        "7.3-05 8.6-10",
        lambda f, n: key(f) == key(n) and f["source_package_id"] == n["source_package_id"],
    ),
    (
        "supersede-equal-source-null",
        "Compares source packages in SQL, where null equals nothing.",
        "7.3-05 8.6-10",
        lambda f, n: key(f) == key(n) and n["source_package_id"] is not None,
    ),
    (
        "supersede-only-older",
        "Ends the fact only if its valid_from is earlier, not if it is the same.",
        "7.3-05",
        lambda f, n: key(f) == key(n) and moment(f["valid_from"]) < moment(n["valid_from"]),
    ),
    (
        "supersede-only-certain",
        "Ends the fact only if the new one has the same confidence.",
        "7.3-05",
        lambda f, n: key(f) == key(n)
        and (1 if n["confidence"] is None else n["confidence"]) >= (1 if f["confidence"] is None else f["confidence"]),
    ),
):
    SUPERSEDES[_name] = match(_same)
    l2(_name, _about, _breaks)


@supersedes("supersede-first-row", "Ends the first row of the pair, ended or not.", "7.3-05 7.3-06")
def _(rows, new):
    return [f for f in rows if key(f) == key(new)][:1]


@supersedes("supersede-all-rows", "Sets valid_to on every row of the pair, ended ones too.", "7.3-06 3-02")
def _(rows, new):
    return [f for f in rows if key(f) == key(new)]


@supersedes("supersede-last-row", "Ends the last row of the pair, an invalidated one once more.", "7.4-05")
def _(rows, new):
    return [f for f in rows if key(f) == key(new)][-1:]


@supersedes("supersede-once", "Ends the first fact of a pair, no later one.", "7.3-05 7.3-06")
def _(rows, new):
    mine = [f for f in rows if key(f) == key(new)]
    return mine if len(mine) == 1 and is_open(mine[0]) else []


@ended("supersede-with-clock", "Ends the old fact at the clock, not at the new valid_from.", "7.3-02 7.3-06 8.6-10")
def _(old, new, now):
    return now


@ended("supersede-a-second-early", "Ends the old fact a second before the new one begins.", "7.3-02 7.3-06")
def _(old, new, now):
    return shifted(new["valid_from"], -1) if new else now


@ended("supersede-a-millisecond-early", "Ends the old fact a millisecond before the new one begins.", "7.3-02 7.3-06")
def _(old, new, now):
    if new is None:
        return now
    seconds, fraction = instant(new["valid_from"])[:2]
    millis = seconds * 1000 + int(fraction.ljust(3, "0")[:3]) - 1
    return spell_time_z(millis // 1000, f"{millis % 1000:03}")


@ended("supersede-a-day-late", "Ends the old fact at the end of the day on which the new one begins.", "7.3-02 7.3-06")
def _(old, new, now):
    return shifted(new["valid_from"][:10] + "T00:00:00Z", 86400) if new else now


@ended("supersede-at-own-start", "Ends the old fact at its own valid_from.", "7.3-02 7.3-06")
def _(old, new, now):
    return old["valid_from"] if new else now


@ended("supersede-at-recording", "Ends the old fact at the created_at of the new one.", "7.3-02 7.3-06")
def _(old, new, now):
    return new["created_at"] if new else now


l2("supersede-forgets-old", "Inserts without ending the old fact.", "7.3-05 8.6-10")
l2("supersede-in-place", "Updates the value of the row.", "5.1-02 3-02")
l2("supersede-deletes", "Deletes the old row.", "3-02 8.6-10 5.1-02")
l2("history-of-two", "Keeps two rows of a pair.", "3-02 7.3-06")
l2("supersede-before-validate", "Ends the old fact, then refuses the new one.", "7.3-07 8.6-11")
l2("supersede-race", "Reads, ends and inserts in separate transactions.", "7.3-08 10.1-02")
l2(
    "supersede-race-lost",
    "Reads all facts, adds one and writes all back: of parallel asserts one is left.",
    "7.3-08 10.1-02",
)
l2("supersede-race-500", "Parallel asserts fail with 500 at the unique key.", "7.3-08")
l2("supersede-gap", "Readers see no fact between the end of the old and the insert of the new.", "7.3-07 8.6-11")
l2("supersede-overlap", "Readers see two facts between the insert of the new and the end of the old.", "7.3-07 8.6-11")
l2("reassert-known-value", "An earlier value of the pair is not asserted again.", "7.3-05 8.6-10")
l2("reassert-folds-case", "A value that differs in case only is not asserted.", "7.1-11 8.6-10")
l2("reassert-as-numbers", "A value that is the same number is not asserted: 97 for 97.0.", "7.1-11")
l2("reassert-duplicates", "Asserting the current value again inserts a second current row.", "8.6-14 7.3-05")
l2("reassert-ends", "Asserting the current value again ends it.", "8.6-14")
l2(
    "reassert-moves-start",
    "Asserting the current value again changes its valid_from.",
    "8.6-14",
    needs=("reassert-noop",),
)
l2("backdated-two-current", "A backdated assert leaves two current facts.", "8.6-13")
l2("backdated-none-current", "A backdated assert leaves no current fact.", "8.6-13")
l2("assert-returns-old", "An assert answers the fact that it ended.", "7.3-04 8.6-01")
l2("assert-202", "An assert answers 202.", "8.6-01 11.3-01")
l2("assert-not-stored", "The first assert of a project is answered, not stored.", "8.6-01 5.2-10")
l2("assert-writes-package", "Writes a package for each assert.", "3-03")
l2("assert-touches-package", "Adds the predicate to the tags of the source package.", "3-03")
l2("deposit-asserts-fact", "A deposit asserts its status as a fact.", "3-04")
l2("deposit-ends-facts", "A deposit ends the facts whose subject is in its text.", "3-04")
l2("created-at-touched", "Ending a fact changes its created_at.", "7.1-15")

# --- Invalidation -----------------------------------------------------------------------------------------------------

for _name, _about, _breaks, _same in (
    (
        "invalidate-by-subject",
        "Ignores predicate.",
        "8.7-02 8.7-04",
        lambda f, p, s, q: is_open(f) and key(f)[:2] == (p, s),
    ),
    ("invalidate-by-predicate", "Ignores subject.", "8.7-02", lambda f, p, s, q: is_open(f) and key(f)[::2] == (p, q)),
    (
        "invalidate-without-subject",
        "Without subject it ends every fact of the predicate.",
        "8.7-03",
        lambda f, p, s, q: is_open(f) and f["project_id"] == p and f["predicate"] == q and s in (None, f["subject"]),
    ),
    (
        "invalidate-all-projects",
        "Ignores the project.",
        "8.7-02",
        lambda f, p, s, q: is_open(f) and key(f)[1:] == (s, q),
    ),
    (
        "invalidate-folds-case",
        "Matches without regard to case.",
        "8.7-02",
        lambda f, p, s, q: is_open(f) and folded(f) == (p, str(s).lower(), str(q).lower()),
    ),
    (
        "invalidate-by-prefix",
        "Ends facts whose subjects share a prefix.",
        "8.7-02",
        lambda f, p, s, q: is_open(f) and key(f)[::2] == (p, q) and f["subject"].startswith(s),
    ),
    (
        "invalidate-rewrites-history",
        "Sets valid_to on every row of the pair.",
        "8.7-11 8.7-08 8.7-10",
        lambda f, p, s, q: key(f) == (p, s, q),
    ),
    ("invalidate-nothing", "Answers 0 and ends nothing.", "8.7-01 7.4-03", lambda f, p, s, q: False),
):
    INVALIDATES[_name] = _same
    l2(_name, _about, _breaks)


@ended("invalidate-at-start", "Ends the fact at its own valid_from.", "7.4-01 7.4-04")
def _(old, new, now):
    return new["valid_from"] if new else old["valid_from"]


@ended("invalidate-local-time", "Ends the fact two hours ahead.", "7.4-01")
def _(old, new, now):
    return new["valid_from"] if new else shifted(now, 7200)


@ended("invalidate-at-midnight", "Ends the fact at midnight of the present day.", "7.4-01")
def _(old, new, now):
    return new["valid_from"] if new else now[:10] + "T00:00:00Z"


@ended("invalidate-at-recording", "Ends the fact at its created_at.", "7.4-01 7.4-04")
def _(old, new, now):
    return new["valid_from"] if new else shifted(old["created_at"], -7)


@answered("invalidate-count-total", "Counts all rows of the pair.", "8.7-08")
def _(facts, total):
    return total


@answered("invalidate-count-one", "Always answers 1.", "8.7-09 8.7-10")
def _(facts, total):
    return 1


@answered("invalidate-count-zero", "Always answers 0.", "8.7-08")
def _(facts, total):
    return 0


@answered("invalidate-count-flag", "Answers true or false.", "8.7-08 8.7-09")
def _(facts, total):
    return bool(facts)


@answered("invalidate-count-text", "Answers the count as text.", "8.7-08 8.7-09")
def _(facts, total):
    return str(len(facts))


@answered("invalidate-count-left", "Counts the rows that were not ended.", "8.7-08")
def _(facts, total):
    return total - len(facts)


l2("invalidate-deletes", "Deletes the row.", "7.4-04 7.4-02")
l2("invalidate-inserts-null", "Inserts a row with an empty value.", "7.4-02 7.4-03")
l2("invalidate-204", "Answers 204.", "8.7-08 11.3-02")
l2("invalidate-no-count", "Answers 200 and ok.", "8.7-08 11.3-02")
l2("invalidate-zero-500", "Fails with 500 when nothing matches.", "8.7-09")
l2("invalidate-zero-400", "Answers 400 when nothing matches.", "8.7-09")
l2("invalidate-ignores-object", "Ignores the object parameter.", "8.7-06", needs=("object-ignored",), profile="strict")
l2("invalidate-object-quoted", "Compares object with the value in quotes.", "8.7-05")

# --- Queries ----------------------------------------------------------------------------------------------------------


def asks(project=True, subject=True, predicate=True, only=None):
    def same(fact, p, query, kind):
        every = only is not None and kind != only
        return (
            (fact["project_id"] == p or not (project or every))
            and (query.get("subject") in (None, fact["subject"]) or not (subject or every))
            and (query.get("predicate") in (None, fact["predicate"]) or not (predicate or every))
        )

    return same


for _name, _about, _breaks, _same in (
    ("facts-of-all-projects", "The query forgets the project.", "5.2-02", asks(project=False, only="current")),
    (
        "history-of-all-projects",
        "The query for ended facts forgets the project.",
        "5.2-02 5.2-10",
        asks(project=False, only="history"),
    ),
    (
        "pit-of-all-projects",
        "The query for an instant forgets the project.",
        "5.2-02 11.3-05",
        asks(project=False, only="as_of"),
    ),
    ("facts-of-any-subject", "The query forgets the subject.", "7.3-10 7.1-06", asks(subject=False, only="current")),
    (
        "facts-of-any-predicate",
        "The query forgets the predicate.",
        "7.3-10 12.3-01",
        asks(predicate=False, only="current"),
    ),
    (
        "history-of-any-predicate",
        "The query for ended facts forgets the predicate.",
        "7.3-06 3-02",
        asks(predicate=False, only="history"),
    ),
    (
        "pit-of-any-predicate",
        "The query for an instant forgets the predicate.",
        "7.3-13 7.3-11",
        asks(predicate=False, only="as_of"),
    ),
    (
        "facts-fold-case",
        "The query matches without regard to case.",
        "7.3-03",
        lambda f, p, q, kind: f["project_id"] == p
        and (q.get("subject") or f["subject"]).lower() == f["subject"].lower()
        and (q.get("predicate") or f["predicate"]).lower() == f["predicate"].lower(),
    ),
    (
        "facts-by-prefix",
        "The query finds subjects with a common prefix.",
        "7.3-10",
        lambda f, p, q, kind: f["project_id"] == p
        and f["subject"].startswith(q.get("subject") or "")
        and q.get("predicate") in (None, f["predicate"]),
    ),
):
    ASKED[_name] = _same
    l2(_name, _about, _breaks)


def half_open(start, at, end):
    return start <= at and (end is None or at < end)


def times(fact, at):
    return moment(fact["valid_from"]), moment(at), moment(fact["valid_to"]) if fact["valid_to"] else None


@holds("pit-end-inclusive", "A query for an instant includes valid_to.", "7.3-12")
def _(fact, at, store):
    start, at, end = times(fact, at)
    return start <= at and (end is None or at <= end)


@holds("pit-start-exclusive", "A query for an instant excludes valid_from.", "7.3-11")
def _(fact, at, store):
    start, at, end = times(fact, at)
    return start < at and (end is None or at < end)


@holds("pit-shifted", "A query for an instant excludes valid_from and includes valid_to.", "7.3-11 7.3-12")
def _(fact, at, store):
    start, at, end = times(fact, at)
    return start < at and (end is None or at <= end)


@holds("pit-null-excluded", "A query for an instant misses rows whose valid_to is null.", "7.3-14")
def _(fact, at, store):
    start, at, end = times(fact, at)
    return end is not None and start <= at < end


@holds("pit-null-is-now", "A query for an instant reads a null valid_to as the present time.", "7.3-14")
def _(fact, at, store):
    start, at, end = times(fact, at)
    return start <= at < (end or store.clock())


@holds("pit-text-compare", "Compares instants as text.", "7.3-16", needs=("fact-times-verbatim",))
def _(fact, at, store):
    start, end = fact["valid_from"], fact["valid_to"]
    return start <= at and (end is None or at < end)


@holds("pit-by-recording", "A query for an instant uses created_at instead of valid_from.", "7.3-11 7.3-13")
def _(fact, at, store):
    return half_open(moment(fact["created_at"]), moment(at), times(fact, at)[2])


@holds("pit-current-only", "A query for an instant searches only current facts.", "7.3-13")
def _(fact, at, store):
    return is_open(fact) and moment(fact["valid_from"]) <= moment(at)


@holds("pit-by-start-alone", "A query for an instant finds every fact that had begun.", "7.3-12 7.3-13")
def _(fact, at, store):
    return moment(fact["valid_from"]) <= moment(at)


@holds("pit-by-end-alone", "A query for an instant finds every fact that had not ended.", "7.3-15 7.3-13")
def _(fact, at, store):
    end = times(fact, at)[2]
    return end is None or moment(at) < end


@holds("pit-by-day", "A query for an instant compares days.", "7.3-13 7.3-11")
def _(fact, at, store):
    day = lambda t: t and t[:10]
    return day(fact["valid_from"]) <= day(at) and (is_open(fact) or day(at) < day(fact["valid_to"]))


@holds("pit-whole-seconds", "A query for an instant cuts fractions.", "7.3-16")
def _(fact, at, store):
    cut = lambda m: m and m[0]
    return half_open(*map(cut, times(fact, at)))


@holds("pit-as-local", "Reads as_of in the zone of the server, two hours east.", "7.3-11 7.3-13")
def _(fact, at, store):
    return half_open(*times(fact, shifted(at, -7200)))


@holds("pit-without-invalidated", "A query for an instant skips invalidated facts.", "7.4-04")
def _(fact, at, store):
    rows = [f for p in store.projects.values() for f in p.facts if key(f) == key(fact) and f is not fact]
    replaced = is_open(fact) or any(moment(f["valid_from"]) == moment(fact["valid_to"]) for f in rows)
    return replaced and half_open(*times(fact, at))


@holds("pit-last-begun", "A query for an instant finds the last fact that had begun, ended or not.", "7.3-12")
def _(fact, at, store):
    rows = [f for p in store.projects.values() for f in p.facts if key(f) == key(fact)]
    begun = [f for f in rows if moment(f["valid_from"]) <= moment(at)]
    return bool(begun) and max(begun, key=lambda f: moment(f["valid_from"])) is fact


l2("pit-ignores-as-of", "Shows the current fact, ignoring as_of.", "7.3-13 7.3-15")
l2("pit-fraction-ignored", "Shows the current fact if as_of has a fraction.", "7.3-16")
l2("pit-fraction-refused", "Refuses an as_of with a fraction.", "7.3-16")
l2("pit-future-refused", "Refuses an as_of in the future.", "7.3-14")
l2("as-of-nothing-404", "Answers 404 if no fact was valid at the instant.", "7.3-15")
l2("current-by-interval", "Treats every fact that has begun as current, ended or not.", "7.3-01 8.3-07")
l2("current-is-latest", "Treats the latest row of a pair as current, invalidated or not.", "7.4-03 7.3-01")
l2("history-of-ended-only", "include_ended lists ended facts only.", "3-02 7.3-06")
l2("history-ignores-ended", "Ignores include_ended.", "3-02")
l2("history-cut-at-three", "include_ended lists the last three rows.", "7.3-06")
l2("facts-cut-at-five", "A list of facts is cut at five.", "8.3-07 7.3-01")
l2("facts-one-per-subject", "Lists one current fact for each subject.", "8.3-07 7.3-03")
l2("facts-empty-null", "An empty list of facts is null, as in Go.", "7.4-03 7.3-15")
l2("facts-empty-404", "An empty list of facts is 404.", "7.4-03 7.3-15")
l2("facts-cached", "Repeats the first answer to a query.", "7.3-10 11.3-04 7.4-03")
l2("facts-of-connection", "Caches the facts of a query per connection until that connection asserts.", "7.3-10 7.4-03")
l2("orient-shows-ended", "active_facts has every fact.", "8.3-07")
l2("orient-facts-cached", "active_facts repeats the first answer.", "8.3-07")
l2("orient-facts-all-projects", "active_facts come from all projects.", "8.3-07 5.2-02")
l2("orient-facts-newest-only", "active_facts has one fact.", "8.3-07")
l2("orient-facts-of-the-day", "active_facts has the facts that began within a day.", "8.3-07")
l2("query-decoded-twice", "Decodes query values twice.", "7.1-06 12.3-01")
l2("query-not-decoded", "Does not decode query values.", "7.1-06 12.3-01")
l2("query-plus-decoded-late", "Turns plus signs into spaces after decoding.", "7.1-06")
l2("query-decoded-before-split", "Decodes the query before splitting it at ampersands.", "7.1-06")
l2("query-as-latin1", "Decodes query values as Latin-1.", "7.1-06 12.3-01")
l2("query-cut-at-semicolon", "Reads a semicolon as a separator, decoded ones too.", "7.1-06")
l2("query-in-lower-case", "Writes query values in lower case.", "7.1-06 12.3-01")
l2("query-trimmed", "Trims query values.", "7.1-06")

# --- Export, import, archive ------------------------------------------------------------------------------------------

l2("export-current-only", "Export leaves ended facts out.", "10.1-06 5.2-06")
l2("export-without-facts", "Export has packages only.", "10.1-06 5.2-06")
l2("export-without-invalidated", "Export leaves invalidated facts out.", "10.1-06 5.2-06")
l2("export-one-fact-per-pair", "Export holds the last fact of each pair.", "10.1-06 5.2-06")
l2("export-facts-of-all-projects", "Export holds the facts of all projects.", "5.2-06")
l2("export-store-names", "Export writes facts with the names of its columns.", "10.1-06 6-02")
l2("export-valid-to-lost", "Export leaves valid_to out.", "10.1-06 5.2-06")
l2("archive-ends-facts", "Archiving ends the facts of a project.", "5.2-05")
l2("archive-deletes-facts", "Archiving deletes the facts of a project.", "5.2-05")


@imported("import-restamps-facts", "Import gives facts new ids and a new created_at.", "10.1-09")
def _(fact, store):
    return {**fact, "fact_id": "fact_" + secrets.token_hex(16), "created_at": store.now_text()}


@imported("import-reopens-facts", "Import loses valid_to.", "10.1-09")
def _(fact, store):
    return {**fact, "valid_to": None}


@imported("import-drops-facts", "Import skips facts.", "10.1-09")
def _(fact, store):
    return None


@imported("import-drops-ended-facts", "Import skips ended facts.", "10.1-09")
def _(fact, store):
    return fact if is_open(fact) else None


@imported("import-fact-x-lost", "Import loses x- members of facts.", "12.1-03")
def _(fact, store):
    return {k: v for k, v in fact.items() if not k.startswith("x-")}


@imported("import-fact-tags-lost", "Import loses tags and confidence of facts.", "10.1-09")
def _(fact, store):
    return {k: v for k, v in fact.items() if k not in ("tags", "confidence")}


@imported("import-fact-ends-now", "Import sets the end of ended facts to the present time.", "10.1-09")
def _(fact, store):
    return fact if is_open(fact) else {**fact, "valid_to": store.now_text()}


# --- Flag -------------------------------------------------------------------------------------------------------------


def after_flag(before, after):
    return after["status"] == "awaiting_review"


@moved("flag-keeps-review-type", "Flag changes status only.", "8.5-02 5.3-25")
def _(before, after, store):
    return {**after, "review_type": before["review_type"]}


@moved("flag-always-human", "Flag always sets review_type to human.", "8.5-02 5.3-25")
def _(before, after, store):
    return {**after, "review_type": "human"} if after_flag(before, after) else after


@moved("flag-keeps-status", "Flag sets review_type only.", "8.5-01 11.4-01")
def _(before, after, store):
    return {**after, "status": before["status"]} if after_flag(before, after) else after


@moved("flag-status-renamed", "Flag sets status to pending_review.", "8.5-01")
def _(before, after, store):
    return {**after, "status": "pending_review"} if after_flag(before, after) else after


@moved("flag-stamps-created-at", "Flag sets created_at to the present time.", "8.5-05 6.6-16")
def _(before, after, store):
    return {**after, "created_at": store.now_text()} if after_flag(before, after) else after


@moved("flag-adds-updated-at", "A transition adds updated_at.", "8.5-05 6.6-16")
def _(before, after, store):
    return {**after, "updated_at": store.now_text()}


@moved("flag-takes-over", "Flag sets created_by to the flagging actor.", "8.5-05 6.6-16")
def _(before, after, store):
    return {**after, "created_by": {"id": "reviewer", "type": "human"}} if after_flag(before, after) else after


@moved("flag-clears-questions", "Flag empties open_questions.", "8.5-05 6.6-16")
def _(before, after, store):
    return {**after, "open_questions": []} if after_flag(before, after) else after


@moved("flag-sets-next-actor", "Flag sets estimated_next_actor to the reviewer.", "8.5-05 6.6-16")
def _(before, after, store):
    return {**after, "estimated_next_actor": after["review_type"]} if after_flag(before, after) else after


@moved("flag-trims-title", "Flag marks the title.", "8.5-05 6.6-16")
def _(before, after, store):
    return {**after, "title": "[review] " + after["title"]} if after_flag(before, after) else after


@moved("unknown-lost-on-flag", "A flag or transition rewrites the package from the tables.", "6-10")
def _(before, after, store):
    return known_members_only(after)


@moved("unknown-lost-on-move", "A transition, not a flag, rewrites the package from the tables.", "6.6-16")
def _(before, after, store):
    return after if after_flag(before, after) else known_members_only(after)


@moved("unknown-nested-lost-on-move", "A transition rebuilds created_by and deliverables from columns.", "8.5-05 6.6-16")
def _(before, after, store):
    known = known_members_only(after)
    return {k: known.get(k, v) for k, v in after.items()}


@moved("unknown-text-on-move", "A transition stores unknown members as text.", "6-10")
def _(before, after, store):
    known = known_members_only(after)
    return {k: v if k in known or type(v) is str else json.dumps(v) for k, v in after.items()}


@moved("complete-stamps-created-at", "Completion sets created_at to the present time.", "6.6-16")
def _(before, after, store):
    return {**after, "created_at": store.now_text()} if after["status"] == "complete" else after


@moved("complete-clears-note", "Completion empties handoff_note.", "6.6-16")
def _(before, after, store):
    return {**after, "handoff_note": ""} if after["status"] == "complete" else after


@moved("revision-raises-significance", "A request for revision raises significance.", "6.6-16")
def _(before, after, store):
    raised = after["status"] == "revision_requested" and type(after.get("significance")) is int
    return {**after, "significance": min(10, after["significance"] + 1)} if raised else after


@moved("move-swaps-review-type", "A review sets review_type to the other kind.", "6.6-16 5.3-25")
def _(before, after, store):
    other = {"human": "agent", "agent": "human"}.get(after["review_type"])
    return {**after, "review_type": other} if before["status"] == "awaiting_review" and other else after


@flagged("flag-default-human", "Flag without review_type means human.", "8.5-03")
def _(body):
    return {"review_type": "human", **body}


@flagged("flag-unknown-is-human", "Flag with any other review_type means human.", "8.5-03")
def _(body):
    return body if body.get("review_type") in ("human", "agent") else {**body, "review_type": "human"}


skip("flag-accepts-none", "none", "Flag accepts review_type none.", "8.5-03", level="L3")
skip("flag-accepts-script", "script", "Flag accepts review_type script.", "8.5-03", level="L3")
l3("flag-needs-note", "Refuses a flag without note.", "8.5-04 8.5-01")
l3("flag-refuses-note", "Refuses a flag with a note.", "8.5-04")
l3("flag-note-into-handoff", "Flag writes its note into handoff_note.", "8.5-05 6.6-16")
l3("flag-note-into-description", "Flag writes its note into description.", "8.5-05 6.6-16")
l3("flag-returns-old-package", "Flag answers with the earlier package.", "8.5-06")
l3("flag-not-stored", "Flag answers the new package and stores nothing.", "8.5-01 3-07")
l3("flag-empty-answer", "Flag answers 200 without a body.", "8.5-06")
l3("flag-answers-status-only", "Flag answers the id and the new status.", "8.5-06")
l3("flag-204", "Flag answers 204.", "8.5-06 11.4-01")
l3("flag-202", "Flag answers 202.", "8.5-06 11.4-01")
l3("flag-missing-id-200", "Flag on an unknown id answers 200.", "8.5-09")
l3("flag-missing-id-400", "Flag on an unknown id answers 400.", "8.5-09")
l3("flag-missing-id-500", "Flag on an unknown id fails with 500.", "8.5-09")
l3("flag-complete-409", "Flag on a complete package answers 409.", "8.5-07")
l3("flag-complete-200", "Flag on a complete package answers 200 and does nothing.", "8.5-07 5.3-19")
l3("flag-refused-yet-marked", "A refused flag has set review_type.", "8.5-07 10.1-01 5.3-19")
l3("hash-stuck-after-flag", "After a transition the hash matches no state.", "6.6-17", needs=("hash-everywhere",))
l3(
    "hash-of-old-review-type",
    "After a flag the hash is that of the new status and the old review_type.",
    "6.6-17",
    needs=("hash-everywhere",),
)
l3("hash-zeroed-after-move", "After a transition the hash is all zeros.", "6.6-17", needs=("hash-everywhere",))
l3(
    "redeposit-resets-status",
    "Repeating the original deposit restores the first status of a package.",
    "11.2-03 11.2-04 10.1-01",
    needs=("redeposit-after-move-ok",),
)

# --- Transitions ------------------------------------------------------------------------------------------------------


@guards("complete-can-be-flagged", "Flag does not check the present status.", "5.3-19 8.5-07 10.1-01")
def _(package, old, new, by):
    return True if by == "flag" else None


@guards("complete-can-reopen", "complete may go to draft and to revision_requested.", "5.3-18 5.3-20")
def _(package, old, new, by):
    return True if old == "complete" and by == "status" and new != "awaiting_review" else None


@guards("complete-to-draft", "complete may go to draft.", "5.3-18")
def _(package, old, new, by):
    return True if (old, new) == ("complete", "draft") else None


@guards("complete-to-awaiting", "complete may go to awaiting_review by the status route, not by flag.", "5.3-19")
def _(package, old, new, by):
    return True if (old, new, by) == ("complete", "awaiting_review", "status") else None


@guards("complete-to-revision", "complete may go to revision_requested.", "5.3-20")
def _(package, old, new, by):
    return True if (old, new) == ("complete", "revision_requested") else None


@guards("complete-guard-forgets-review", "complete is terminal only for packages deposited as complete.", "5.3-22")
def _(package, old, new, by):
    return True if old == "complete" and package.submitted["status"] != "complete" else None


@guards("complete-guard-of-humans", "complete is terminal only if a human reviewed.", "5.3-22 5.3-18")
def _(package, old, new, by):
    return True if old == "complete" and package.value["review_type"] == "agent" else None


@guards("draft-to-revision", "draft may go directly to revision_requested.", "5.3-08")
def _(package, old, new, by):
    return True if (old, new) == ("draft", "revision_requested") else None


@guards("review-back-to-draft", "awaiting_review and revision_requested may go back to draft.", "5.3-11 5.3-14")
def _(package, old, new, by):
    return True if new == "draft" and old != "complete" else None


@guards("awaiting-back-to-draft", "awaiting_review may go back to draft.", "5.3-11")
def _(package, old, new, by):
    return True if (old, new) == ("awaiting_review", "draft") else None


@guards("revision-back-to-draft", "revision_requested may go back to draft.", "5.3-14")
def _(package, old, new, by):
    return True if (old, new) == ("revision_requested", "draft") else None


@guards("revision-cannot-resubmit", "revision_requested may not go to awaiting_review.", "5.3-12")
def _(package, old, new, by):
    return False if (old, new) == ("revision_requested", "awaiting_review") else None


@guards("review-must-revise", "awaiting_review may not go to complete.", "5.3-09 11.4-02")
def _(package, old, new, by):
    return False if (old, new) == ("awaiting_review", "complete") else None


@guards("review-cannot-revise", "awaiting_review may not go to revision_requested.", "5.3-10 11.4-03")
def _(package, old, new, by):
    return False if (old, new) == ("awaiting_review", "revision_requested") else None


@guards("draft-cannot-be-flagged", "A draft may not be flagged.", "5.3-06 11.4-01")
def _(package, old, new, by):
    return False if old == "draft" and by == "flag" else None


@guards("agents-cannot-approve", "A package under review by an agent cannot be completed.", "5.3-09 11.4-02")
def _(package, old, new, by):
    return False if new == "complete" and package.value["review_type"] == "agent" else None


@guards("deposited-waiting-stuck", "A package deposited in awaiting_review has no transitions.", "5.3-09 5.3-10")
def _(package, old, new, by):
    return False if package.submitted["status"] == "awaiting_review" else None


@guards("any-move", "All transitions are allowed.", "5.3-18 5.3-08 5.3-11")
def _(package, old, new, by):
    return True


@guards("one-review-only", "A package may be flagged once.", "5.3-12 11.4-06")
def _(package, old, new, by):
    return False if new == "awaiting_review" and old == "revision_requested" else None


l3("refused-move-stored", "A refused transition is stored nevertheless.", "5.3-18 5.3-08 5.3-11")
l3("illegal-move-200", "Illegal transitions answer 200 and change nothing.", "5.3-18 5.3-20")
l3("illegal-move-500", "Illegal transitions fail with 500.", "5.3-18 5.3-08")
l3("unknown-status-stored", "The status route stores any text.", "5.3-23")
l3("unknown-status-ignored", "An unknown status answers 200.", "5.3-23")
l3("empty-status-ignored", "An empty status answers 200 and changes nothing.", "5.3-23")
l3("status-by-number", "A number is read as an index into the list of next states.", "5.3-23")
l3(
    "complete-again-reset",
    "complete to complete answers 200 and sets review_type.",
    "5.3-21 10.1-01",
    needs=("self-move-ok",),
)
l3("self-move-advances", "Requesting the present state moves to the next.", "5.3-15 5.3-17", needs=("self-move-ok",))
l3(
    "transition-race",
    "Reads the state and writes in separate transactions: a completed package changes state.",
    "5.3-20 10.1-01",
)
l3("move-not-stored", "A transition answers the new package and stores nothing.", "5.3-09 11.4-02")

# --- The list of waiting packages ---------------------------------------------------------------------------------------


def in_state(*states):
    return lambda packages, store: [x for x in packages if x.value["status"] in states]


for _name, _about, _breaks, _list in (
    (
        "awaiting-list-global",
        "The list of waiting packages ignores the project.",
        "11.4-05",
        lambda packages, store: in_state("awaiting_review")(store.all_packages(), store),
    ),
    (
        "awaiting-list-first-five",
        "The list of waiting packages is cut at five.",
        "11.4-06",
        lambda packages, store: store.by_time(in_state("awaiting_review")(packages, store))[:5],
    ),
    (
        "awaiting-list-includes-revision",
        "The list of waiting packages shows revision_requested too.",
        "11.4-04",
        in_state("awaiting_review", "revision_requested"),
    ),
    (
        "awaiting-list-includes-drafts",
        "The list of waiting packages shows drafts too.",
        "11.4-04",
        in_state("awaiting_review", "draft"),
    ),
    (
        "awaiting-list-humans-only",
        "The list of waiting packages shows those for humans only.",
        "11.4-04",
        lambda packages, store: [
            x for x in in_state("awaiting_review")(packages, store) if x.value["review_type"] == "human"
        ],
    ),
    (
        "awaiting-list-flagged-only",
        "The list of waiting packages misses those deposited in that state.",
        "11.4-04",
        lambda packages, store: [
            x for x in in_state("awaiting_review")(packages, store) if x.submitted["status"] != "awaiting_review"
        ],
    ),
    (
        "awaiting-list-deposited-only",
        "The list of waiting packages has those deposited in that state.",
        "11.4-04",
        lambda packages, store: [
            x for x in packages if x.submitted["status"] == "awaiting_review" and x.value["status"] == "awaiting_review"
        ],
    ),
    (
        "awaiting-list-by-first-status",
        "The list of waiting packages keeps those that have changed state.",
        "11.4-06",
        lambda packages, store: [
            x
            for x in packages
            if "awaiting_review" in (x.submitted["status"], x.value["status"])
            or x.order in store.remembered.get("awaiting_review", ())
        ],
    ),
    (
        "awaiting-list-first-review",
        "The list of waiting packages misses those flagged again after a revision.",
        "11.4-06",
        lambda packages, store: [
            x
            for x in in_state("awaiting_review")(packages, store)
            if x.order not in store.remembered.get("revision_requested", ())
        ],
    ),
    (
        "awaiting-list-one-per-actor",
        "The list of waiting packages has one for each actor.",
        "11.4-04",
        lambda packages, store: list(
            {x.value["created_by"]["id"]: x for x in in_state("awaiting_review")(packages, store)}.values()
        ),
    ),
    (
        "awaiting-list-without-custom",
        "The list of waiting packages leaves x- types out.",
        "11.4-04",
        lambda packages, store: [
            x for x in in_state("awaiting_review")(packages, store) if not x.value["package_type"].startswith("x-")
        ],
    ),
    (
        "awaiting-list-of-the-day",
        "The list of waiting packages has those created within a day.",
        "11.4-06",
        lambda packages, store: [
            x for x in in_state("awaiting_review")(packages, store) if x.created()[0] > store.clock()[0] - 86400
        ],
    ),
    (
        "awaiting-list-cached",
        "The list of waiting packages repeats the first answer.",
        "11.4-06",
        lambda packages, store: (
            store.remembered.setdefault(("waiting", packages[0].project), in_state("awaiting_review")(packages, store))
            if packages
            else []
        ),
    ),
):
    WAITING[_name] = _list
    l3(_name, _about, _breaks)

# --- Some of lower levels ------------------------------------------------------------------------------------------------

inline("digest-shows-drafts", "orchestrate reads drafts.", "5.3-02", needs=("orchestrate-named",))


@stored("waiting-deposit-is-draft", "A deposit in state awaiting_review becomes a draft.", "5.3-05")
def _(p):
    return {**p, "status": "draft"} if p["status"] == "awaiting_review" else p


inline("draft-hidden-from-owner", "Pull by id hides drafts from all actors.", "5.3-01")

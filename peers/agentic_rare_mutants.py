"""Bugs that show late or rarely, in the form of agentic_mutants.py: in a second round or a third revision, with a value that
few tests send, in the first of many rows, or in something that another request should not have changed.
"""

import unicodedata

from agentic_mutants import before, inline, shown, skip, stored, unknown_top
from agentic_rules import instant, invalid, known_members_only, through_32_bits
from agentic_state_mutants import asserted, ended, guards, l2, l3, recorded, spell_time_z

# --- Values of a package ------------------------------------------------------------------------------------------------

skip("hour-24-accepted", "created_at-hour-24", "Accepts hour 24 in created_at.", "6.1-37")
skip("leap-day-in-any-year", "created_at-leap-day", "Accepts 29 February in every year.", "6.1-37")
skip("leap-second-as-minute-60", "created_at-minute-60", "Accepts minute 60 in created_at.", "6.1-37")
skip("null-elements-accepted", "texts-null", "Accepts null among tags and decisions.", "6.4-04 6.4-06")
skip("lists-in-arrays-accepted", "texts-lists", "Accepts arrays among the strings of an array.", "6.4-04 6.4-06 6.4-08")
skip("size-bool-accepted", "size-bool", "Accepts true as size_bytes, because it is an integer in Python.", "6.5-10")


@before("leap-day-refused", "Refuses 29 February.", "6.1-37")
def _(p, project, store):
    if type(p.get("created_at")) is str and "-02-29T" in p["created_at"]:
        raise invalid("created_at is not a day", "/created_at")


@before("title-blank-refused", "Refuses a title of white space.", "6.1-21")
def _(p, project, store):
    if type(p.get("title")) is str and not p["title"].strip():
        raise invalid("title must not be blank", "/title")


@stored("empty-text-is-null", "Keeps an empty text in a nullable member as null, as Oracle does.", "6.4-24 6.4-26")
def _(p):
    return {k: None if k in ("topic", "artifact_type") and v == "" else v for k, v in p.items()}


@stored("empty-elements-lost", "Drops empty texts from arrays of strings.", "6.4-04 6-03")
def _(p):
    lists = ("tags", "decisions_made", "open_questions")
    return {k: [x for x in v if x != ""] if k in lists and v else v for k, v in p.items()}


def in_unknown(p, change):
    """`change` on each value below the unknown members, inner ones first."""

    def walk(v):
        if type(v) is dict:
            return change({k: walk(x) for k, x in v.items()})
        return change([walk(x) for x in v]) if type(v) is list else change(v)

    return {k: walk(v) if k in unknown_top(p) else v for k, v in p.items()}


@stored("numbered-names-as-list", "Turns objects whose names are 0, 1, … into arrays, as PHP and Lua do.", "6-09 6-05")
def _(p):
    def change(v):
        numbered = type(v) is dict and v and list(v) == [str(n) for n in range(len(v))]
        return list(v.values()) if numbered else v

    return in_unknown(p, change)


@stored("integers-within-64-bits", "Cuts unknown integers to 64 bits.", "6-09")
def _(p):
    return in_unknown(p, lambda v: min(v, 2**63 - 1) if type(v) is int else v)


@stored("inner-empty-containers-lost", "Drops empty arrays and objects inside unknown objects.", "6-09")
def _(p):
    def change(v):
        return {k: x for k, x in v.items() if x != {} and x != []} if type(v) is dict else v

    return in_unknown(p, change)


@stored("nesting-cut-at-twelve", "Replaces what is nested more than twelve deep by null.", "6-09 6-05")
def _(p):
    def cut(v, depth):
        if type(v) is dict:
            return None if depth > 12 else {k: cut(x, depth + 1) for k, x in v.items()}
        return (None if depth > 12 else [cut(x, depth + 1) for x in v]) if type(v) is list else v

    return {k: cut(v, 1) if k in unknown_top(p) else v for k, v in p.items()}


@stored("size-within-31-bits", "Cuts size_bytes to 31 bits.", "6.5-09")
def _(p):
    sizes = lambda d: {**d, "size_bytes": min(d["size_bytes"], 2**31 - 1)} if type(d.get("size_bytes")) is int else d
    return {**p, "deliverables": [sizes(d) for d in p["deliverables"]]} if p.get("deliverables") else p


@stored("late-tags-lost", "Keeps the first hundred tags.", "6.4-04 8.1-09")
def _(p):
    return {**p, "tags": p["tags"][:100]} if p.get("tags") else p


@stored("unknown-kept-in-first-deliverable", "Keeps unknown members of the first deliverable only.", "6-08")
def _(p):
    if len(p.get("deliverables") or ()) < 2:
        return p
    return {**p, "deliverables": [p["deliverables"][0], *known_members_only(p)["deliverables"][1:]]}


@stored("actor-id-trimmed", "Trims created_by.id.", "5.4-04 6-12 6-03")
def _(p):
    return {**p, "created_by": {**p["created_by"], "id": p["created_by"]["id"].strip()}}


@stored("topic-trimmed", "Trims topic and artifact_type.", "6-12 6-03")
def _(p):
    return {k: v.strip() if k in ("topic", "artifact_type") and type(v) is str else v for k, v in p.items()}


@stored("path-normalised", "Removes repeated solidi and dots from deliverable paths.", "6-12 6-03 6.5-03")
def _(p):
    tidy = lambda path: path if "://" in path else path.replace("/./", "/").replace("//", "/")
    return {**p, "deliverables": [{**d, "path": tidy(d["path"])} for d in p["deliverables"]]} if p.get("deliverables") else p


@shown("lists-cut-title", "Lists cut titles to 80 characters.", "6-02 11.1-03 8.2-01")
def _(p, where):
    return {**p, "title": p["title"][:80]} if where == "list" else p


@shown("lists-without-large-bodies", "Lists and orient leave out a content_md of more than 8,192 characters.", "11.1-03 6-02 8.3-03")
def _(p, where):
    large = where in ("list", "orient") and len(p.get("content_md") or "") > 8192
    return {k: v for k, v in p.items() if k != "content_md"} if large else p


@shown("export-cuts-bodies", "Export cuts content_md to 4,096 characters.", "10.1-05")
def _(p, where):
    return {**p, "content_md": p["content_md"][:4096]} if where == "export" and p.get("content_md") else p


@shown("export-without-empty", "Export leaves out unknown members that are empty.", "10.1-05")
def _(p, where):
    return {k: v for k, v in p.items() if k not in unknown_top(p) or v or type(v) in (int, float, bool)} if where == "export" else p


inline("orient-questions-cut", "open_questions are cut to 120 characters.", "8.3-08")
inline("import-line-limit", "Refuses a line of an import beyond 64 KiB.", "5.2-07 10.3-04")
inline("utf8-split-at-64k", "Decodes a body in pieces of 64 KiB: a letter on the border becomes U+FFFD.", "6-12 8.1-09")
inline("escapes-of-pairs-split", "Reads each half of an escaped surrogate pair as a letter.", "6-12")
inline("white-space-after-refused", "Refuses a body that ends in a line feed.", "11.2-04 6-03")
inline("hash-first-64k", "Hashes the first 64 KiB of the canonical form.", "6.6-02")
inline("tags-of-last-deposit", "Default values are shared: a package without tags has those of the one before.", "6.4-05")
inline("number-overflow-500", "Fails with 500 on a number beyond the doubles.", "9.1-12")

# --- Repeats and refusals -----------------------------------------------------------------------------------------------

LEFT_OUT = {}  # the members that a comparison of deposits leaves out
for _name, _about, _members in (
    ("duplicate-ignores-note", "Compares without handoff_note and content_md.", ("handoff_note", "content_md")),
    ("duplicate-ignores-topic", "Compares without topic and artifact_type.", ("topic", "artifact_type")),
    ("duplicate-ignores-review-type", "Compares without review_type.", ("review_type",)),
    ("duplicate-ignores-lists", "Compares without decisions and questions.", ("decisions_made", "open_questions")),
    ("duplicate-ignores-parent", "Compares without parent_package_id.", ("parent_package_id",)),
    ("duplicate-ignores-next-actor", "Compares without estimated_next_actor.", ("estimated_next_actor",)),
):
    inline(_name, _about, "11.2-05")
    LEFT_OUT[_name] = _members

inline("clash-changes-hash", "A refused clash has replaced the hash of the stored package.", "11.2-05 8.1-12", needs=("hash-everywhere",))
inline("invalid-replaces", "An invalid package under the id of a stored one is refused after it was written.", "8.1-03 6.6-16")
inline("clash-leaks-questions", "orient shows the questions of a package that was refused as a clash.", "8.1-03 8.1-12 8.3-08")
inline("refused-is-searched", "A search finds packages that were refused.", "8.1-03", needs=("search-semantic",))

# --- Lists --------------------------------------------------------------------------------------------------------------

inline("lists-show-first-status", "Lists and orient show the status of the deposit.", "6.1-24 8.2-07 5.3-09", level="L3")
inline("export-shows-first-status", "Export shows the status of the deposit.", "10.1-05", level="L3")
inline("lists-show-first-answer", "Lists and orient show a package as they first showed it.", "5.3-09 6.1-24", level="L3")
inline("reviewed-unlisted", "Lists leave out packages that were reviewed.", "8.2-04", level="L3")
inline("reviewed-not-searched", "A search leaves out packages that were reviewed.", "8.2-11", level="L3")
inline("latest-fraction-as-integer", "Compares fractions as integers: .9 is before .25.", "8.2-02")
inline("latest-before-1970-first", "Sorts times before 1970 as large unsigned numbers.", "8.2-01 8.2-02")
inline("orient-window-cached", "Repeats the window of the first request for a project.", "8.3-09")
inline("digest-cached", "orchestrate repeats its first answer for a project.", "8.4-02 8.4-04", needs=("orchestrate-named",))
inline("latest-by-last-change", "Packages that were reviewed come first in lists.", "8.2-01", level="L3")
inline("relevant-limit-before-rank", "Cuts the matches to limit, newest first, then ranks them.", "8.2-13 8.2-16")
inline("relevant-ascii-words", "Reads words of ASCII letters only.", "8.2-11")
inline("relevant-newest-fifty", "Searches among the newest fifty packages.", "8.2-11")
inline("orient-questions-of-three", "open_questions come from the newest three packages.", "8.3-08")

inline("latest-of-connection", "Caches the list of a project per connection until that connection deposits.", "8.2-01")
inline("missing-id-cached", "Remembers that an id was unknown.", "8.2-07 8.1-08")
inline("empty-project-cached", "Remembers that a project had no packages.", "8.2-01 8.2-04")
inline("duplicate-per-connection", "Knows a repeated deposit only on the connection of the first.", "11.2-03")

# --- HTTP ---------------------------------------------------------------------------------------------------------------

inline("id-lower-hex-not-decoded", "Decodes percent signs before capital digits only.", "6.1-07")
inline("accept-list-406", "Refuses an Accept header with several types with 406.", "9.1-03 8.2-07")
inline("chunked-body-unread", "Reads a body only if it has a Content-Length.", "9.1-11", profile="strict")
inline("head-unknown", "Answers HEAD with 404.", "9.1-03")
inline("quoted-charset-refused", "Refuses a charset in quotes with 415.", "9.1-11")

# --- Import and archives --------------------------------------------------------------------------------------------------

inline("import-splits-at-line-separators", "Splits an import at U+2028 and U+0085 too.", "5.2-07 10.3-04")
inline("import-overwrites", "An import replaces a package of the same id.", "6.6-16 10.1-01")
inline("import-again-doubles", "An import of the same facts again stores them again.", "7.1-02 7.3-05", level="L2")
inline("export-without-waiting", "Export leaves out packages that wait for a review or a revision.", "10.1-05 5.2-06")
inline("archive-drops-drafts", "Archiving removes packages that are not complete.", "5.2-05")
inline("import-as-complete", "Import reads every package as complete.", "5.2-07 10.3-04")
inline("duplicate-replaces-waiting", "Another deposit under the id of a waiting package replaces it.", "8.1-12 11.2-05")
inline("archive-again-deletes", "The second archiving of a project removes its packages.", "5.2-05")
inline("archive-drops-history", "Archiving removes ended facts.", "5.2-05", level="L2")

# --- Rounds of facts ------------------------------------------------------------------------------------------------------

l2("invalidate-moves-earlier-end", "An invalidation also moves the end that an earlier one set.", "8.7-10 8.7-11 7.4-05")
l2("invalidate-once-per-pair", "A pair is invalidated once, no second time.", "7.4-03 8.7-01")
l2("third-life-ended", "A pair that was invalidated twice and is asserted again is stored as ended.", "7.4-05")
l2("later-tags-rewrite-earlier", "A new value gives its tags to the row that it ends.", "5.1-02 3-02")
l2("invalidate-clears-confidence", "An invalidation sets the confidence of the row to 0.5.", "7.4-02 7.4-04")
l2("refused-assert-rewrites-tags", "A refused update has changed the tags of the current fact.", "7.3-07 8.6-11")
l2("asserted-by-copy-of-table", "Copies the members of the table from created_by of the source package.", "7.2-12")
l2("fact-times-whole-seconds", "Times of facts have whole seconds.", "7.1-14", needs=("fact-times-padded",))


@recorded("tags-of-last-assert", "Default values are shared: a fact without tags has those of the one before.", "7.2-14")
def _(row, body, store):
    tags = store.remembered.setdefault(("tags", row["project_id"]), [])
    if body.get("tags") is None:
        row["tags"] = list(tags)
    else:
        tags[:] = body["tags"]


@recorded("confidence-of-last-assert", "A fact without confidence has that of the one before.", "7.2-05")
def _(row, body, store):
    key = ("confidence", row["project_id"])
    if body.get("confidence") is None:
        row["confidence"] = store.remembered.get(key)
    else:
        store.remembered[key] = body["confidence"]


@asserted("valid-from-rolled-over", "Reads 30 February as 2 March.", "7.1-16")
def _(body, store):
    text = body.get("valid_from")
    if type(text) is str and instant(text) is None and text[4:8] == "-02-":
        body["valid_from"] = text.replace("-02-30", "-03-02").replace("-02-29", "-03-01")
    return body


@asserted("valid-from-hour-24", "Reads hour 24 as the last second of the day.", "7.1-16")
def _(body, store):
    text = body.get("valid_from")
    return {**body, "valid_from": text[:11] + "23:59:59Z"} if type(text) is str and text[11:13] == "24" else body


@asserted("confidence-bool-accepted", "Accepts true as confidence.", "7.2-09")
def _(body, store):
    return {**body, "confidence": 1} if body.get("confidence") is True else body


@asserted("valid-from-before-1970-clamped", "Cuts times before 1970 to 1970.", "7.1-14")
def _(body, store):
    text = body.get("valid_from")
    early = type(text) is str and instant(text) is not None and instant(text)[0] < 0
    return {**body, "valid_from": "1970-01-01T00:00:00Z"} if early else body


@asserted("subject-cut-at-line", "Keeps the first line of a subject.", "7.1-06")
def _(body, store):
    return {**body, "subject": body["subject"].partition("\n")[0]} if type(body.get("subject")) is str else body


@recorded("assert-takes-created-at", "Takes created_at from the body of an assert.", "7.1-15")
def _(row, body, store):
    row["created_at"] = body.get("created_at") or row["created_at"]


@recorded("assert-takes-valid-to", "Takes valid_to from the body of an assert.", "7.3-04")
def _(row, body, store):
    row["valid_to"] = body.get("valid_to")


@recorded("assert-takes-fact-id", "Takes fact_id from the body of an assert, whoever has it.", "7.1-02")
def _(row, body, store):
    row["fact_id"] = body.get("fact_id") or row["fact_id"]


l2("refused-assert-blocks", "After a refused update the fact cannot be updated.", "8.6-10 7.3-05")
l2("history-of-connection", "Caches a history per connection until that connection writes a fact.", "3-02 7.3-06")
@asserted("predicate-composed", "Composes predicates to NFC.", "12.3-01")
def _(body, store):
    found = type(body.get("predicate")) is str
    return {**body, "predicate": unicodedata.normalize("NFC", body["predicate"])} if found else body


@asserted("fact-tags-trimmed", "Trims tags of facts and writes them in lower case.", "7.2-15")
def _(body, store):
    texts = type(body.get("tags")) is list and all(type(t) is str for t in body["tags"])
    return {**body, "tags": [t.strip().lower() for t in body["tags"]]} if texts else body


@recorded("asserted-by-in-lower-case", "Writes the id of asserted_by in lower case.", "7.2-13")
def _(row, body, store):
    by = row["asserted_by"]
    if type(by) is dict and type(by.get("id")) is str:
        row["asserted_by"] = {**by, "id": by["id"].lower()}


@recorded("fact-source-in-lower-case", "Writes source_package_id in lower case.", "7.2-04")
def _(row, body, store):
    row["source_package_id"] = row["source_package_id"] and row["source_package_id"].lower()


@recorded("confidence-through-32-bits", "Keeps confidence in 32 bits: 0.9 becomes 0.8999999761581421.", "7.2-06")
def _(row, body, store):
    row["confidence"] = through_32_bits(row["confidence"])


l2("pit-cached", "Repeats the first answer to a query for an instant.", "7.3-14 7.3-12 11.3-05")
l2("invalidate-race", "Reads and ends in separate transactions: each of parallel invalidations counts the fact.", "8.7-08 8.7-10")
l2("fact-tags-unchecked", "Stores any JSON as tags of a fact.", "7.2-14")


@ended("supersede-end-whole-seconds", "Cuts the fraction of the end of a superseded fact.", "7.3-02 7.3-06")
def _(old, fact, now):
    return spell_time_z(instant(fact["valid_from"] if fact else now)[0])


# --- Rounds of review -----------------------------------------------------------------------------------------------------


@guards("third-revision-refused", "A package may be returned for revision twice.", "5.3-10 11.4-03")
def _(package, old, new, by):
    return False if new == "revision_requested" and package.revisions > 1 else None


l3("flag-merges-body", "A flag writes every member of its body into the package.", "8.5-05 6.6-16")
l3("move-merges-body", "The status route writes every member of its body into the package.", "6.6-16")
l3("refused-flag-blocks", "After a refused flag the package cannot be flagged.", "8.5-01 5.3-06")
l3("refused-move-blocks", "After a refused transition the package has none.", "5.3-09 11.4-02")
l3("flag-folds-id-case", "A flag finds a package whose id differs in letter case.", "8.5-09")
l3("flag-forgets-second-reviewer", "From the third flag on the reviewer stays that of the second.", "8.5-02")

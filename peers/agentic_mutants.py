"""Typical bugs of real servers, one at a time.

Each names the requirements that it breaks; a harness that checks these requirements has to detect it. A mutant is one of
- a rule of the validator that is left out (SKIPS),
- a change to the package before it is validated (BEFORE), when it is stored (STORED) or whenever it is returned (SHOWN),
- or a place in the server that checks `bug(name)`.
"""

import copy
import html
import json
import unicodedata
from dataclasses import dataclass, field

from agentic_rules import DEFAULTS, known_members_only, through_32_bits


@dataclass(frozen=True)
class Mutant:
    name: str
    about: str
    breaks: tuple
    level: str = "L1"
    needs: tuple = field(default=())  # choices that the fault needs to be visible
    profile: str = "lenient"  # "strict" if only the strict profile has to detect it
    arguments: tuple = field(default=())  # program arguments that the fault needs to be visible
    kind: str = ""  # of agentic_sequence_mutants.py: why a test can miss the fault


MUTANTS, SKIPS, BEFORE, STORED, SHOWN = {}, {}, {}, {}, {}


def inline(name, about, breaks, **more):
    assert name not in MUTANTS, name
    MUTANTS[name] = Mutant(name, about, tuple("AGENTIC-" + b for b in breaks.split()), **more)


def skip(name, rules, about, breaks, **more):
    inline(name, about, breaks, **more)
    SKIPS[name] = frozenset(rules.split())


def registering(table):
    def named(name, about, breaks, **more):
        inline(name, about, breaks, **more)

        def keep(function):
            table[name] = function
            return function

        return keep

    return named


before, stored, shown = registering(BEFORE), registering(STORED), registering(SHOWN)


def every_string(value, change):
    if type(value) is str:
        return change(value)
    if type(value) is list:
        return [every_string(v, change) for v in value]
    if type(value) is dict:
        return {k: every_string(v, change) for k, v in value.items()}
    return value


def unknown_top(p):
    return [k for k in p if k not in DEFAULTS and k not in CORE]


CORE = {
    "package_id",
    "project_id",
    "relay_version",
    "title",
    "status",
    "package_type",
    "review_type",
    "created_at",
    "created_by",
}

# --- Content hash -----------------------------------------------------------------------------------------------------

inline("hash-over-raw-body", "Hashes the request bytes as received.", "6.6-03 6.6-05 6.6-06")
inline("hash-wrong-algorithm", "Uses SHA-1.", "6.6-02")
inline("hash-md5", "Uses MD5.", "6.6-02")
inline("hash-truncated", "Cuts SHA-256 to 16 bytes.", "6.6-02")
inline("hash-double", "Hashes the hash once more.", "6.6-02")
inline("hash-of-hex", "Hashes the hex text of the hash once more.", "6.6-02")
inline("hash-strips-defaults", "Leaves out members that equal their default.", "6.6-08", profile="strict")
inline("hash-missing", "Does not return the hash.", "6.6-01 8.1-06 8.1-11")
inline("hash-known-members-only", "Hashes only the members of the tables.", "6.6-04")
inline("hash-includes-itself", "Puts an empty content_hash member into the object before hashing.", "6.6-11 6.6-02")
inline("hash-without-session", "Leaves created_by.session_id out of the hashed form.", "5.4-07")
inline("hash-ignores-attribution", "Leaves created_by out of the hashed form.", "5.4-05 5.4-06")
inline("hash-skips-status", "Leaves status and review_type out of the hashed form.", "6.6-04")
inline("hash-without-id", "Leaves package_id out of the hashed form.", "6.6-04")
inline(
    "hash-top-level-scalars-only", "Leaves lists and objects other than created_by out of the hashed form.", "6.6-04"
)
inline("hash-recomputed-per-read", "Each read reports another hash.", "6.6-10", needs=("hash-everywhere",))
inline("hash-leading-zeros-cut", "Prints the hash as a big integer, so leading zeros are lost.", "6.6-02 6.6-10")
inline(
    "hash-of-previous-deposit",
    "A buffer of the connection is reused: the hash is that of the deposit before.",
    "6.6-02 8.1-11",
)
inline("hash-latin1-bytes", "Hashes the canonical form in Latin-1, with question marks.", "6.6-02 6.6-19")
inline("hash-utf16-bytes", "Hashes the canonical form in UTF-16.", "6.6-02")
inline("canonical-spaces", "Writes a space after colon and comma, as Python does by default.", "6.6-06")
inline("canonical-insertion-order", "Writes names unsorted, without white space.", "6.6-03 6.6-05")
inline("canonical-top-level-sort", "Sorts the outermost object only.", "6.6-05")
inline("canonical-case-insensitive-sort", "Sorts names without regard to case.", "6.6-05 A-03")
inline("canonical-numeric-sort", "Sorts digit-only names by number.", "6.6-05 A-01")
inline("canonical-keeps-null", "Writes null members out.", "6.6-07")
inline("canonical-drops-falsy", "Leaves out empty strings, empty lists, zero and false.", "6.6-04 6.6-08 A-10")
inline("canonical-drops-emptied-object", "Leaves out objects that are empty without their nulls.", "6.6-04 A-08 A-10 6.6-19")
inline("canonical-sorts-arrays", "Sorts arrays.", "6.6-04 A-11 6.6-19 6.6-02")
inline("canonical-ascii-only", "Escapes non-ASCII, as Python does by default.", "6.6-02 A-21 6.6-19")
inline(
    "canonical-html-escapes",
    "Escapes angle brackets, ampersand, U+2028 and U+2029, as Go does by default.",
    "6.6-04 A-21 6.6-19",
)
inline("canonical-escapes-solidus", "Escapes the solidus, as PHP does by default.", "6.6-04 A-21 6.6-19 6.6-02")
inline("canonical-nfc", "Composes strings before hashing.", "6.6-04 A-24 6.6-19")
inline("canonical-language-floats", "Prints numbers as Python does: 1.0, 1e-07, 1e+20.", "6.6-04 A-12 A-15 6.6-19")
inline("canonical-17-digits", "Prints fractions with 17 digits.", "6.6-04 A-14 6.6-19")
inline("canonical-all-floats", "Prints integers with a fraction.", "6.6-04 A-12 6.6-19 6.6-02")
inline("canonical-negative-zero", "Writes -0.", "6.6-04 A-13 6.6-19")
inline("canonical-trailing-newline", "Ends the canonical form with a newline.", "6.6-02 A-05")

# --- Strings, numbers and unknown members -----------------------------------------------------------------------------


@stored("normalises-unicode", "Composes strings to NFC before storing.", "6-12")
def _(p):
    return every_string(p, lambda s: unicodedata.normalize("NFC", s))


@stored("trims-strings", "Trims white space around strings.", "6-12")
def _(p):
    return every_string(p, lambda s: s.strip() or s)


@stored("collapses-spaces", "Collapses runs of spaces.", "6-12")
def _(p):
    return every_string(
        p, lambda s: " ".join(s.split(" ")) if "  " not in s else " ".join(x for x in s.split(" ") if x)
    )


@stored("newlines-normalised", "Turns CR LF into LF.", "6-12 6-03")
def _(p):
    return every_string(p, lambda s: s.replace("\r\n", "\n"))


@stored("html-escaped", "Escapes angle brackets and ampersands in stored text.", "6-12 6-03")
def _(p):
    return every_string(p, lambda s: html.escape(s, quote=False))


@stored("quotes-doubled", "Doubles single quotes, as hand-made SQL does.", "6-12 6-03")
def _(p):
    return every_string(p, lambda s: s.replace("'", "''"))


@stored(
    "escapes-decoded-twice", "Decodes escapes twice: a reverse solidus and n in a text become a line feed.", "6-12 6-03"
)
def _(p):
    return every_string(p, lambda s: s.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"'))


@stored("utf8-of-three-bytes", "Cuts strings at the first character of four bytes, as an old MySQL does.", "6-12 6-03")
def _(p):
    def cut(s):
        for i, c in enumerate(s):
            if ord(c) > 0xFFFF:
                return s[:i]
        return s

    return {k: v if k in ("package_id", "project_id") else every_string(v, cut) for k, v in p.items()}


@stored("emoji-stripped", "Strips characters beyond the basic plane.", "6-12 6-03")
def _(p):
    change = lambda s: "".join(c for c in s if ord(c) <= 0xFFFF) or s
    return {k: v if k in ("package_id", "project_id") else every_string(v, change) for k, v in p.items()}


@stored("nul-ends-string", "Cuts strings at U+0000.", "6-12 6-03")
def _(p):
    return every_string(p, lambda s: s.partition("\0")[0])


@stored("zero-width-stripped", "Strips joiners and byte order marks from text.", "6-12")
def _(p):
    return every_string(p, lambda s: s.replace("\u200d", "").replace("\u200b", "").replace("\ufeff", ""))


inline(
    "latin1-mangling", "Reads the body as Latin-1: every non-ASCII character becomes two or more.", "6-12 6.6-02 6.1-07"
)


@stored("float-through-32-bits", "Keeps fractions in 32 bits: 0.87 becomes 0.8700000047683716.", "6-09 12.1-01")
def _(p):
    return through_32_bits(p)


@stored("fractions-cut", "Keeps unknown numbers as integers.", "6-09 12.1-01")
def _(p):
    return {k: int(v) if type(v) is float and k in unknown_top(p) else v for k, v in p.items()}


@stored("fractions-rounded", "Keeps two digits after the point.", "6-09 12.1-01")
def _(p):
    def change(v):
        if type(v) is float:
            return round(v, 1)
        if type(v) is dict:
            return {k: change(x) for k, x in v.items()}
        return [change(x) for x in v] if type(v) is list else v

    return change(p)


@stored("drops-unknown-top", "Keeps the members of the tables, loses unknown top-level ones.", "6-05 12.1-01")
def _(p):
    return {k: v for k, v in p.items() if k in CORE or k in DEFAULTS}


@stored("drops-unknown-nested", "Rebuilds created_by and deliverables from columns.", "6-07 6-08")
def _(p):
    known = known_members_only(p)
    return {k: known.get(k, v) for k, v in p.items()}


@stored("keeps-x-only", "Keeps x- members and loses other unknown ones.", "6-05")
def _(p):
    return {k: v for k, v in p.items() if k in CORE or k in DEFAULTS or k.startswith("x-")}


@stored("unknown-as-text", "Keeps unknown members as strings.", "6-09 12.1-01")
def _(p):
    return {k: v if k not in unknown_top(p) or type(v) is str else json.dumps(v) for k, v in p.items()}


@stored("unknown-integers-as-text", "Turns unknown integers into strings, as JSON of protocol buffers does.", "6-09")
def _(p):
    return {k: str(v) if k in unknown_top(p) and type(v) is int else v for k, v in p.items()}


@stored("number-like-text-parsed", "Turns unknown texts that look like numbers into numbers.", "6-09")
def _(p):
    def change(v):
        if type(v) is str and v.replace(".", "", 1).isdigit():
            return float(v)
        return v

    return {k: change(v) if k in unknown_top(p) else v for k, v in p.items()}


@stored(
    "time-like-text-reprinted",
    "Reads texts that look like times and prints them with milliseconds, except created_at.",
    "6-05 6-09",
)
def _(p):
    def change(s):
        return s[:-1] + ".000Z" if len(s) == 20 and s[10] == "T" and s.endswith("Z") else s

    return {k: v if k == "created_at" else every_string(v, change) for k, v in p.items()}


@stored("empty-members-dropped", "Leaves out empty arrays and objects of unknown members.", "6-09")
def _(p):
    return {k: v for k, v in p.items() if k not in unknown_top(p) or v not in ([], {})}


@stored("zero-members-dropped", "Leaves out zero, false and empty text of unknown members, at every depth.", "6-09")
def _(p):
    def change(v):
        if type(v) is dict:
            return {k: change(x) for k, x in v.items() if x or type(x) in (dict, list)}
        return v

    return {k: change(v) for k, v in p.items() if k not in unknown_top(p) or v or type(v) in (dict, list)}


@stored("null-elements-dropped", "Leaves null elements out of unknown arrays.", "6-09")
def _(p):
    return {k: [x for x in v if x is not None] if type(v) is list else v for k, v in p.items()}


@stored("booleans-as-integers", "Keeps unknown booleans as 0 and 1.", "6-09")
def _(p):
    return {k: int(v) if k in unknown_top(p) and type(v) is bool else v for k, v in p.items()}


@stored("single-element-unwrapped", "Turns unknown arrays of one element into that element.", "6-09")
def _(p):
    return {k: v[0] if k in unknown_top(p) and type(v) is list and len(v) == 1 else v for k, v in p.items()}


@stored("empty-array-as-object", "Turns unknown empty objects into empty arrays, as PHP does.", "6-09")
def _(p):
    return {k: [] if v == {} else v for k, v in p.items()}


@stored("deep-members-flattened", "Replaces unknown objects below the third level by null.", "6-05 6-09")
def _(p):
    def change(v, depth):
        if type(v) is dict:
            return None if depth > 2 else {k: change(x, depth + 1) for k, x in v.items()}
        return [change(x, depth) for x in v] if type(v) is list else v

    return {k: change(v, 1) if k in unknown_top(p) else v for k, v in p.items()}


@stored("names-in-camel-case", "Writes names of unknown members in camel case.", "6-05")
def _(p):
    def change(k):
        head, *rest = k.split("_")
        return head + "".join(x.title() for x in rest)

    return {change(k) if k in unknown_top(p) else k: v for k, v in p.items()}


@stored("names-in-lower-case", "Writes names of unknown members in lower case.", "6-05 12.1-01")
def _(p):
    return {k.lower(): v for k, v in p.items()}


@stored("dotted-names-split", "Reads a dot in a name as a path, as MongoDB does.", "6-05 6-12")
def _(p):
    out = {}
    for k, v in p.items():
        if "." in k and k in unknown_top(p):
            head, _, tail = k.partition(".")
            out[head] = {tail: v}
        else:
            out[k] = v
    return out


@stored("proto-member-lost", "Loses members named __proto__ and constructor, at every depth.", "6-05")
def _(p):
    def change(v):
        if type(v) is dict:
            return {k: change(x) for k, x in v.items() if k not in ("__proto__", "constructor")}
        return [change(x) for x in v] if type(v) is list else v

    return change(p)


@stored("empty-name-lost", "Loses a member whose name is empty.", "6-05")
def _(p):
    return {k: v for k, v in p.items() if k}


@stored("x-prefix-stripped", "Strips the x- prefix when it maps members, so x-title overwrites title.", "12.1-06")
def _(p):
    out = dict(p)
    for k, v in p.items():
        if k.startswith("x-") and k[2:] in CORE | set(DEFAULTS):
            out[k[2:]] = v
    return out


@shown("unknown-lost-in-lists", "Pull by id shows unknown members, lists and orient do not.", "6-06 12.1-02")
def _(p, where):
    return known_members_only(p) if where in ("list", "orient") else p


@shown("unknown-lost-in-orient", "Only orient loses unknown members.", "6-06 12.1-02")
def _(p, where):
    return known_members_only(p) if where == "orient" else p


@shown("unknown-lost-in-export", "Only export loses unknown members.", "6-06 12.1-02 10.1-05")
def _(p, where):
    return known_members_only(p) if where == "export" else p


@shown(
    "unknown-echoed-not-kept",
    "The answer to a deposit echoes the request, later reads lack nested unknown members.",
    "6-07 6-08",
)
def _(p, where):
    return p if where == "deposit" else {k: known_members_only(p).get(k, v) for k, v in p.items()}


@shown("adds-updated-at", "Adds updated_at to every returned package.", "6-04")
def _(p, where):
    return {**p, "updated_at": p["created_at"]}


@shown("adds-internal-id", "Adds _id, as a store of documents does.", "6-04")
def _(p, where):
    return {**p, "_id": "652f8a1b9c0d1e2f3a4b5c6d"}


@shown("adds-search-rank", "Adds an embedding to packages in lists.", "6-04 6-02")
def _(p, where):
    return {**p, "embedding": [0.1, 0.2]} if where == "list" else p


inline("double-encoded", "A single package is returned as a JSON string of JSON.", "8.1-09 8.2-07")

# --- Core members -----------------------------------------------------------------------------------------------------


@stored("created-at-respelled", "Prints created_at with milliseconds.", "6.1-40")
def _(p):
    base, _, fraction = p["created_at"].rstrip("Z").partition(".")
    return {**p, "created_at": f"{base}.{(fraction + '000')[:3]}Z"}


@stored("created-at-zeros-cut", "Cuts trailing zeros of the fraction of created_at, as Go does.", "6.1-40")
def _(p):
    base, point, fraction = p["created_at"].rstrip("Z").partition(".")
    fraction = fraction.rstrip("0")
    return {**p, "created_at": base + ("." + fraction if fraction else "") + "Z"}


@stored("created-at-micros", "Keeps six digits of the fraction of created_at.", "6.1-40 6.1-39")
def _(p):
    base, point, fraction = p["created_at"].rstrip("Z").partition(".")
    return {**p, "created_at": base + point + fraction[:6] + "Z"}


@stored("created-at-with-offset", "Prints created_at with +00:00, as Python does.", "6.1-40")
def _(p):
    return {**p, "created_at": p["created_at"].replace("Z", "+00:00")}


@stored("created-at-whole-seconds", "Cuts the fraction of created_at.", "6.1-40 8.2-02")
def _(p):
    return {**p, "created_at": p["created_at"].partition(".")[0].rstrip("Z") + "Z"}


inline("created-at-assigned", "Replaces created_at by the time of the deposit.", "6.1-40 8.2-01")


@stored("tags-sorted", "Sorts tags.", "6.4-34")
def _(p):
    return {**p, "tags": sorted(p["tags"])} if p.get("tags") else p


@stored("tags-deduplicated", "Drops repeated tags.", "6.4-34")
def _(p):
    return {**p, "tags": list(dict.fromkeys(p["tags"]))} if p.get("tags") else p


@stored("tags-in-lower-case", "Writes tags in lower case.", "6-03 6.4-04")
def _(p):
    return {**p, "tags": [t.lower() for t in p["tags"]]} if p.get("tags") else p


@stored("tags-split-at-comma", "Keeps tags as one text with commas.", "6-03 6.4-34")
def _(p):
    return {**p, "tags": ",".join(p["tags"]).split(",")} if p.get("tags") else p


@stored("questions-sorted", "Sorts open_questions and decisions_made.", "6.4-35")
def _(p):
    return {**p, **{k: sorted(p[k]) for k in ("open_questions", "decisions_made") if p.get(k)}}


@stored("decisions-deduplicated", "Drops repeated decisions.", "6.4-35")
def _(p):
    return {**p, **{k: list(dict.fromkeys(p[k])) for k in ("decisions_made", "open_questions") if p.get(k)}}


@stored("deliverables-sorted", "Sorts deliverables by path.", "6.5-11")
def _(p):
    return {**p, "deliverables": sorted(p["deliverables"], key=lambda d: d["path"])} if p.get("deliverables") else p


@stored("deliverables-by-path", "Keeps one deliverable for each type.", "6.5-11 6-03")
def _(p):
    return (
        {**p, "deliverables": list({d["type"]: d for d in p["deliverables"]}.values())} if p.get("deliverables") else p
    )


@stored("size-as-text", "Prints size_bytes as text, as JSON of protocol buffers does for 64 bits.", "6.5-09 6-02")
def _(p):
    def change(d):
        return {**d, "size_bytes": str(d["size_bytes"])} if d.get("size_bytes") is not None else d

    return {**p, "deliverables": [change(d) for d in p["deliverables"]]} if p.get("deliverables") else p


@stored("size-zero-lost", "Loses a size_bytes of zero.", "6.5-09")
def _(p):
    def change(d):
        return {k: v for k, v in d.items() if k != "size_bytes" or v}

    return {**p, "deliverables": [change(d) for d in p["deliverables"]]} if p.get("deliverables") else p


@stored("deliverable-hash-cut", "Cuts the algorithm of a deliverable hash.", "6.5-06 6.5-08")
def _(p):
    def change(d):
        return {**d, "hash": d["hash"].rpartition(":")[2]} if d.get("hash") else d

    return {**p, "deliverables": [change(d) for d in p["deliverables"]]} if p.get("deliverables") else p


@stored("actor-id-in-lower-case", "Writes created_by.id in lower case.", "5.4-05 6-03")
def _(p):
    return {**p, "created_by": {**p["created_by"], "id": p["created_by"]["id"].lower()}}


@stored("script-becomes-agent", "Keeps actors of type script as agent.", "6.2-08")
def _(p):
    by = p["created_by"]
    return {**p, "created_by": {**by, "type": "agent" if by["type"] == "script" else by["type"]}}


@stored("session-lost", "Loses created_by.session_id.", "6.2-13 5.4-04")
def _(p):
    return {**p, "created_by": {k: v for k, v in p["created_by"].items() if k != "session_id"}}


@shown("session-invented", "Gives actors without session one.", "6-04")
def _(p, where):
    by = p["created_by"]
    return p if by.get("session_id") else {**p, "created_by": {**by, "session_id": "sess_default"}}


inline(
    "created-by-from-token",
    "Replaces created_by by the owner of the key.",
    "9.2-04",
    arguments=("--auth", "key-a=owner-a"),
)
inline(
    "actor-of-connection",
    "The actor of the first deposit on a connection is used for all later ones.",
    "9.2-04 8.1-09",
)


@stored("custom-type-rewritten", "Keeps x- types as standard.", "12.2-03")
def _(p):
    return {**p, "package_type": "standard" if p["package_type"].startswith("x-") else p["package_type"]}


inline("custom-type-unlisted", "Packages of x- types are found by id only.", "12.2-04")
inline("custom-type-refused", "Knows the eight types only.", "12.2-02")
inline("x-prefix-without-hyphen", "Accepts every type that begins with the letter x.", "6.3-11")


@stored("status-complete-always", "Keeps every package as complete.", "5.3-04 5.3-05")
def _(p):
    return {**p, "status": "complete"}


@stored("status-draft-becomes-waiting", "Keeps a draft with a reviewer as awaiting_review.", "5.3-04")
def _(p):
    return {**p, "status": "awaiting_review"} if p["status"] == "draft" and p["review_type"] != "none" else p


@stored("review-type-none-always", "Keeps review_type as none.", "6.1-32 6.1-33")
def _(p):
    return {**p, "review_type": "none"}


@shown("significance-computed", "Computes a significance where none was given.", "6.4-19 6.4-31")
def _(p, where):
    given = p.get("significance", 5) != 5
    return p if given else {**p, "significance": min(10, 5 + len(p.get("decisions_made") or []))}


@shown("significance-default-3", "Shows 3 where no significance was given.", "6.4-19", needs=("defaults-hidden",))
def _(p, where):
    return p if p.get("significance") else {**p, "significance": 3}


@stored("topic-inferred", "Fills topic and artifact_type from the text.", "6.4-25 6.4-27")
def _(p):
    first = (p["title"].split() or ["x"])[0].lower()
    return {**p, "topic": p.get("topic") or first, "artifact_type": p.get("artifact_type") or "note"}


inline(
    "parent-autofilled", "Sets parent_package_id to the newest package of the project where absent.", "6.4-36 6.4-17"
)


@shown(
    "zero-values-shown",
    "Shows absent nullable members as empty text, absent significance as 0, as Go does.",
    "6.4-13 6.4-17 6.4-19 6.4-25 6.4-27",
    needs=("defaults-hidden",),
)
def _(p, where):
    zero = {k: "" for k in ("estimated_next_actor", "parent_package_id", "topic", "artifact_type")}
    return {
        **{k: v for k, v in zero.items() if p.get(k) is None},
        **({} if p.get("significance") else {"significance": 0}),
        **p,
    }


@stored("next-actor-lost", "Loses estimated_next_actor.", "5.6-03 6-03")
def _(p):
    return {k: v for k, v in p.items() if k != "estimated_next_actor"}


@stored("content-md-trimmed", "Cuts white space at the end of content_md and handoff_note.", "6-12 6-03")
def _(p):
    return {k: v.rstrip() if k in ("content_md", "handoff_note", "description") and v else v for k, v in p.items()}


@stored("description-cut", "Cuts description to 255 characters.", "6-03 8.1-09")
def _(p):
    return {k: v[:255] if k == "description" and v else v for k, v in p.items()}


@shown("version-rewritten", "Shows relay_version 0.1.0.", "6.1-14 15.1-01")
def _(p, where):
    return {**p, "relay_version": "0.1.0"}


@shown("lists-as-text", "Lists show tags and decisions_made as JSON text.", "6-02")
def _(p, where):
    if where != "list":
        return p
    return {k: json.dumps(v) if k in ("tags", "decisions_made") else v for k, v in p.items()}


@shown("created-by-flattened", "Lists show created_by as two columns.", "6-02 6.1-41")
def _(p, where):
    if where != "list":
        return p
    by = p["created_by"]
    return {
        **{k: v for k, v in p.items() if k != "created_by"},
        "created_by_id": by["id"],
        "created_by_type": by["type"],
    }


@shown("id-renamed-in-export", "Export calls package_id id.", "6-02 10.1-05")
def _(p, where):
    return {"id" if k == "package_id" else k: v for k, v in p.items()} if where == "export" else p


@shown("lists-cut-text", "Lists cut description to 20 characters.", "6-02 8.2-01 11.1-03")
def _(p, where):
    return {k: v[:20] if k == "description" and v and where == "list" else v for k, v in p.items()}


# --- Validation -------------------------------------------------------------------------------------------------------

skip("any-type-accepted", "package_type-value", "Accepts any text as package_type.", "6.3-11")
skip("any-actor-kind", "actor-type-value", "Accepts anything as created_by.type.", "6.2-09")
inline("script-actor-refused", "Knows human and agent only.", "6.2-08")
skip("any-status-accepted", "status-value", "Accepts any text as status.", "6.1-26")
skip("status-folded-case", "status-case", "Compares status without regard to case.", "6.1-26")
skip("review-type-unchecked", "review_type-value", "Accepts any text as review_type.", "6.1-34")
inline("null-session-refused", "Requires a text if session_id is present.", "6.2-11")
inline("title-counts-bytes", "Applies the limit of the title to bytes.", "6.1-23")
inline("title-limit-255", "Allows 255 characters.", "6.1-22")
skip("title-unlimited", "title-long", "Has no limit for the title.", "6.1-22")
skip("title-empty-accepted", "title-empty", "Accepts an empty title.", "6.1-21")
skip("version-unchecked", "relay_version-value", "Accepts any text as relay_version.", "6.1-16")
skip(
    "version-number-accepted",
    "relay_version-type relay_version-value",
    "Accepts the number 0.1 as relay_version.",
    "6.1-17",
)
skip("significance-unchecked", "significance-range", "Has no range check.", "6.4-20 6.4-21")
skip(
    "significance-bool-accepted",
    "significance-bool",
    "Accepts true as significance, because it is an integer in Python.",
    "6.4-18",
)
skip("significance-any-type", "significance-type", "Accepts a text or fraction as significance.", "6.4-18")
skip("deliverable-without-path", "deliverable-path-required", "Accepts deliverables without path.", "6.5-01")
skip("deliverable-without-type", "deliverable-type-required", "Accepts deliverables without type.", "6.5-04")
skip("deliverable-strings-accepted", "deliverables-elements", "Accepts deliverables that are texts.", "6.4-14")
skip(
    "deliverable-types-unchecked",
    "deliverable-path-type deliverable-type-type deliverable-hash-type",
    "Accepts any JSON type inside deliverables.",
    "6.5-02 6.5-05 6.5-07",
)
skip("size-unchecked", "deliverable-size-type", "Accepts any size_bytes.", "6.5-10")
skip("tags-elements-unchecked", "tags-elements", "Accepts numbers among the tags.", "6.4-04")
skip(
    "questions-unchecked",
    "open_questions-elements decisions_made-elements",
    "Accepts objects among questions and decisions.",
    "6.4-06 6.4-08",
)
skip(
    "arrays-unchecked",
    "tags-type decisions_made-type open_questions-type deliverables-type",
    "Accepts a text instead of an array.",
    "6.4-04 6.4-06 6.4-08 6.4-14",
)
skip(
    "texts-unchecked",
    "description-type handoff_note-type content_md-type",
    "Accepts any JSON type as description, handoff_note and content_md.",
    "6.4-02 6.4-10 6.4-22",
)
skip(
    "nullables-unchecked",
    "topic-type artifact_type-type parent_package_id-type storage_path-type",
    "Takes any JSON type in nullable members.",
    "6.4-16 6.4-24 6.4-26 6.4-28",
)
skip(
    "next-actor-unchecked",
    "estimated_next_actor-value estimated_next_actor-type",
    "Takes any estimated_next_actor.",
    "6.4-12",
)
skip(
    "required-null-accepted",
    "title-null status-null package_type-null review_type-null created_by-null relay_version-null",
    "Looks only whether the member is there: null passes.",
    "6.1-44",
)
skip("created-by-unchecked", "created_by-type", "Takes a text as created_by.", "6.1-43")
skip("actor-without-id", "actor-id-required", "Takes created_by without id.", "6.2-02")
skip("actor-without-type", "actor-type-required", "Takes created_by without type.", "6.2-05")
skip("actor-id-unchecked", "actor-id-type", "Takes a number as created_by.id.", "6.2-03")
skip("session-unchecked", "session-type", "Takes a number as session_id.", "6.2-12")
skip("created-at-date-accepted", "created_at-date", "Takes a date as created_at.", "6.1-37")
skip("created-at-impossible-accepted", "created_at-impossible", "Takes 30 February and hour 25.", "6.1-37")
skip("created-at-unchecked", "created_at-value created_at-type", "Accepts anything as created_at.", "6.1-37")
inline("fraction-limit-3", "Refuses more than three digits of a fraction.", "6.1-39")
inline("fraction-limit-6", "Refuses more than six digits of a fraction.", "6.1-39")
skip("project-id-unchecked", "project_id-type", "Accepts a number as project_id and stores it.", "6.1-11")
skip("title-type-unchecked", "title-type", "Accepts a number or list as title.", "6.1-20")


@before("title-truncated", "Cuts a long title to 200 characters.", "6.1-22")
def _(p, project, store):
    if type(p.get("title")) is str:
        p["title"] = p["title"][:200]


@before("significance-clamped", "Clamps significance to 1 to 10.", "6.4-20 6.4-21")
def _(p, project, store):
    if type(p.get("significance")) in (int, float):
        p["significance"] = max(1, min(10, p["significance"]))


@before("significance-rounded", "Rounds a fraction to an integer.", "6.4-18")
def _(p, project, store):
    if type(p.get("significance")) is float:
        p["significance"] = round(p["significance"])


@before("significance-from-text", "Turns the text 5 into the number.", "6.4-18")
def _(p, project, store):
    if type(p.get("significance")) is str and p["significance"].isdigit():
        p["significance"] = int(p["significance"])


@before("created-at-filled", "Fills in a missing created_at.", "6.1-36")
def _(p, project, store):
    if p.get("created_at") is None:
        p["created_at"] = store.now_text()


@before("created-at-epoch-accepted", "Accepts seconds since 1970 as created_at.", "6.1-37")
def _(p, project, store):
    if type(p.get("created_at")) is int:
        p["created_at"] = store.time_text(p["created_at"])


@before("status-defaulted", "Fills in complete for a missing status.", "6.1-25")
def _(p, project, store):
    p.setdefault("status", "complete")


@before("review-type-defaulted", "Fills in none for a missing review_type.", "6.1-30")
def _(p, project, store):
    p.setdefault("review_type", "none")


@before("version-defaulted", "Fills in a missing relay_version.", "6.1-15")
def _(p, project, store):
    p.setdefault("relay_version", "0.1")


@before("project-id-from-path", "Fills in a missing project_id from the path.", "6.1-10")
def _(p, project, store):
    p.setdefault("project_id", project)


@before("title-defaulted", "Fills in Untitled for a missing or empty title.", "6.1-19 6.1-21")
def _(p, project, store):
    p["title"] = p.get("title") or "Untitled"


@before("created-by-defaulted", "Fills in an anonymous actor for a missing created_by.", "6.1-42")
def _(p, project, store):
    p.setdefault("created_by", {"id": "anonymous", "type": "script"})


@before("id-from-number", "Turns a number as package_id into text.", "6.1-03")
def _(p, project, store):
    if type(p.get("package_id")) in (int, dict):
        p["package_id"] = json.dumps(p["package_id"])


@before("title-from-number", "Turns a number as title into text.", "6.1-20")
def _(p, project, store):
    if type(p.get("title")) in (int, float):
        p["title"] = str(p["title"])


@before("actor-id-from-number", "Turns a number as created_by.id into text.", "6.2-03")
def _(p, project, store):
    by = p.get("created_by")
    if type(by) is dict and type(by.get("id")) is int:
        by["id"] = str(by["id"])


@before("session-from-number", "Turns a number as session_id into text.", "6.2-12")
def _(p, project, store):
    by = p.get("created_by")
    if type(by) is dict and type(by.get("session_id")) in (int, float):
        by["session_id"] = str(by["session_id"])


@before("tags-from-text", "Turns a text as tags into a list.", "6.4-04")
def _(p, project, store):
    if type(p.get("tags")) is str:
        p["tags"] = p["tags"].split(",")


@before(
    "texts-from-anything",
    "Turns any JSON type in description, handoff_note and content_md into text.",
    "6.4-02 6.4-10 6.4-22",
)
def _(p, project, store):
    for name in ("description", "handoff_note", "content_md"):
        if type(p.get(name)) not in (str, type(None)):
            p[name] = json.dumps(p[name])


@before("false-is-absent", "Treats false, zero and empty text as absent in optional members.", "6.4-10 6.4-12 6.4-20")
def _(p, project, store):
    for name in DEFAULTS:
        if name in p and not p[name] and p[name] is not None and type(p[name]) not in (str, list):
            del p[name]


@before("array-holes-removed", "Removes other elements from arrays of texts.", "6.4-04 6.4-08")
def _(p, project, store):
    for name in ("tags", "open_questions", "decisions_made"):
        if type(p.get(name)) is list:
            p[name] = [x for x in p[name] if type(x) is str]


@before("session-must-exist", "Refuses session ids that it did not issue.", "6.2-13")
def _(p, project, store):
    by = p.get("created_by")
    if type(by) is dict and type(by.get("session_id")) is str:
        store.refuse("unknown session", "/created_by/session_id")


@before("handoff-needs-note", "Refuses packages of type handoff without handoff_note.", "5.6-02")
def _(p, project, store):
    if p.get("package_type") == "handoff" and not p.get("handoff_note"):
        store.refuse("handoff_note is required", "/handoff_note")


@before("unknown-refused", "Refuses members that are not in the tables.", "6-05 12.1-01 12.1-05")
def _(p, project, store):
    if unknown_top(p):
        store.refuse("additional properties", "/" + unknown_top(p)[0])


@before("unknown-nested-refused", "Refuses members of created_by that are not in the table.", "6-07 13-02")
def _(p, project, store):
    if type(p.get("created_by")) is dict and set(p["created_by"]) - {"id", "type", "session_id"}:
        store.refuse("additional properties", "/created_by")


@before("many-members-refused", "Refuses packages with more than 24 members.", "6-05 12.1-05")
def _(p, project, store):
    if len(p) > 24:
        store.refuse("too many members", "")


@before("id-pattern-enforced", "Requires the recommended form of package_id.", "6.1-06")
def _(p, project, store):
    name = p.get("package_id")
    if type(name) is str and not (name.startswith("pkg_") and len(name) == 36):
        store.refuse("package_id must be pkg_ and 32 digits", "/package_id")


@before("id-length-limited", "Refuses a package_id of more than 128 characters.", "6.1-06")
def _(p, project, store):
    if type(p.get("package_id")) is str and len(p["package_id"]) > 128:
        store.refuse("package_id is too long", "/package_id")


@before("id-ascii-only", "Refuses a package_id with non-ASCII characters.", "6.1-07")
def _(p, project, store):
    if type(p.get("package_id")) is str and not p["package_id"].isascii():
        store.refuse("package_id must be ASCII", "/package_id")


@before("note-needs-type", "Refuses handoff_note on other types than handoff.", "5.6-01")
def _(p, project, store):
    if p.get("handoff_note") and p.get("package_type") != "handoff":
        store.refuse("handoff_note belongs to handoff", "/handoff_note")


@before("draft-refused", "Refuses drafts.", "5.3-04")
def _(p, project, store):
    if p.get("status") == "draft":
        store.refuse("status draft is not supported", "/status")


# --- Ids and paths ----------------------------------------------------------------------------------------------------

inline("id-lowercased", "Folds ids to lower case when it looks them up.", "6.1-08")
inline("id-like-match", "Looks an id up with LIKE, so a wildcard finds another package.", "8.2-10")
inline("id-prefix-match", "Finds a package by a prefix of its id.", "8.2-10")
inline("id-accents-folded", "Compares ids without regard to accents, as some collations do.", "6.1-07")
inline("id-trailing-space-ignored", "Compares ids without regard to trailing spaces.", "6.1-06")
inline("id-cut-at-64", "Keeps 64 characters of an id for look-ups.", "6.1-06")
inline("id-decoded-twice", "Decodes the percent signs of a path twice.", "6.1-06")
inline("id-plus-as-space", "Reads a plus in a path as a space.", "6.1-06")
inline("id-decoded-as-latin1", "Decodes paths as Latin-1.", "6.1-07")
inline("id-not-decoded", "Does not decode paths.", "6.1-06 6.1-07")
inline(
    "id-format-suffix-cut", "Reads the part after the last dot of a path as a format, as some routers do.", "6.1-06"
)
inline("id-colon-is-verb", "Reads the part after a colon in a path as a verb.", "6.1-06")
inline("id-composed", "Composes ids to NFC when it looks them up.", "6.1-07")
inline("id-semicolon-cut", "Cuts a path at a semicolon.", "6.1-06")
inline("missing-package-empty-200", "Answers 200 and an empty object for an unknown id.", "8.2-08")
inline("missing-package-204", "Answers 204 for an unknown id.", "8.2-08")
inline("missing-package-500", "Fails on an unknown id.", "8.2-08")
inline("missing-package-400", "Answers 400 for an unknown id.", "8.2-08")
inline("missing-package-html", "An unknown id gives the HTML page of the framework.", "9.1-10")
inline("missing-package-error-200", "Answers 200 and an error object for an unknown id.", "8.2-08")

# --- Deposit ----------------------------------------------------------------------------------------------------------

inline(
    "path-project-listed", "Lists the package under the path's project, returns the body's project_id.", "6.1-12 5.2-01"
)
inline("mismatch-listed-twice", "Lists the package in both projects if path and body differ.", "6.1-12 5.2-01")
inline("duplicate-overwrites", "A second deposit under the same id replaces the first.", "8.1-12 11.2-05 5.1-01")
inline("duplicate-merges", "Answers 409, yet has merged the new members into the old package.", "11.2-05 8.1-12")
inline("duplicate-always-409", "Refuses identical content.", "11.2-03")
inline("duplicate-409-wrong-status", "Answers 400 for a clash.", "8.1-12 11.2-05")
inline("duplicate-checks-title-only", "Treats content as identical if the titles match.", "11.2-05")
inline("duplicate-ignores-unknown", "Compares the members of the tables only.", "11.2-05")
inline("duplicate-ignores-order", "Compares arrays as sets.", "11.2-05")
inline("duplicate-ignores-actor", "Compares without created_by.", "11.2-05")
inline("duplicate-never-409", "Answers 200 and the old package for any content.", "11.2-05 8.1-12")
inline("duplicate-by-raw-bytes", "Compares request bytes, so other white space is a clash.", "11.2-04")
inline(
    "duplicate-last-only",
    "Remembers only the last deposit of the project: older ones deposited again clash.",
    "11.2-03",
)
inline("duplicate-listed-twice", "An identical deposit is listed a second time.", "11.2-03")
inline("duplicate-race", "Looks for the id, then inserts, without a lock.", "11.2-06 11.2-07")
inline("duplicate-race-409", "Parallel identical deposits clash at the unique key.", "11.2-06")
inline("store-then-validate", "Stores first and validates afterwards; the refused package stays.", "8.1-03")
inline("refused-id-reserved", "A refused deposit leaves its id reserved: a valid one under it clashes.", "8.1-03")
inline("deposit-returns-id-only", "Answers with only the id.", "8.1-09")
inline("deposit-returns-nothing", "Answers 201 without a body.", "8.1-09 8.1-11")
inline("deposit-returns-204", "Answers 204.", "8.1-09")
inline("deposit-202", "Answers 202.", "8.1-09")
inline("deposit-asynchronous", "A package can be read only some time after the answer.", "8.1-08")
inline("first-deposit-lost", "The deposit that creates a project is answered but not stored.", "8.1-08 8.1-07")
inline("old-packages-forgotten", "Keeps the newest eight packages of a project.", "5.1-01 8.2-04")
inline("actor-id-unique", "An actor id belongs to one type: another is a clash.", "5.4-01")
inline("one-child-only", "A second package with the same parent is refused.", "16-01")
inline("next-actor-blocks", "Refuses a child by an agent where the parent expects a human.", "5.6-04")
inline("validation-422", "Refuses invalid packages with 422, as some frameworks do.", "8.1-04")
inline("validation-200", "Refuses invalid packages with 200 and an error object.", "8.1-04 8.1-03")
inline("validation-500", "Fails with 500 on wrong types.", "8.1-04")
inline("non-object-500", "Fails with 500 on a body that is not an object.", "6-01")
inline("bad-json-500", "Fails with 500 on a malformed body.", "9.1-12")
inline("invalid-utf8-replaced", "Accepts invalid UTF-8 with replacement characters.", "9.1-12")
inline("python-nan", "Accepts NaN and Infinity and returns them.", "9.1-12")
inline("trailing-garbage-tolerated", "Ignores text after the first JSON value.", "9.1-12")
inline("charset-refused", "Refuses a Content-Type with a charset with 415.", "9.1-11")
inline("put-edits-package", "PUT on a package replaces its members.", "6.6-16 10.1-01")
inline("patch-edits-package", "PATCH on a package changes its members.", "6.6-16 10.1-01")
inline(
    "auth-checked-after-store",
    "Refuses the actor after the package is stored.",
    "8.1-17",
    arguments=("--auth", "key-a=owner-a"),
)
inline("auth-any-token", "Accepts any token.", "8.1-17 9.2-02", arguments=("--auth", "key-a=owner-a"))
inline("auth-writes-open", "Requires the token for reads only.", "8.1-17 9.2-02", arguments=("--auth", "key-a=owner-a"))
inline("auth-404", "Answers 404 for wrong credentials.", "8.1-17", arguments=("--auth", "key-a=owner-a"))

# --- Lists ------------------------------------------------------------------------------------------------------------

inline("latest-by-insertion", "Orders latest by arrival.", "8.2-01")
inline("latest-by-text", "Orders latest by comparing created_at as text.", "8.2-02")
inline("latest-by-whole-seconds", "Orders latest by whole seconds.", "8.2-02")
inline("latest-ascending", "Orders latest oldest first, then cuts.", "8.2-01 8.2-03")
inline("latest-limit-before-sort", "Selects the last arrivals, then sorts them.", "8.2-01 8.2-03")
inline("latest-newest-last", "Selects the newest, returns them oldest first.", "8.2-01")
inline("latest-default-20", "Default limit 20.", "8.2-05")
inline("latest-default-10", "Default limit 10.", "8.2-05")
inline("latest-cap-5", "Never returns more than five.", "8.2-04")
inline("latest-off-by-one", "Returns limit plus one.", "8.2-03")
inline("latest-limit-ignored", "Ignores limit.", "8.2-03")
inline("latest-across-projects", "Forgets the project if a limit is given.", "5.2-01")
inline("latest-stale", "A cache of the list misses the last deposit.", "8.2-01 8.1-08")
inline("latest-one-per-title", "Lists one package for each title.", "8.2-04")
inline("latest-one-per-second", "Lists one package for each created_at.", "8.2-04")
inline("latest-one-per-actor", "Lists one package for each actor.", "8.2-04")
inline("latest-hides-children", "Lists no package that has a parent.", "8.2-04")
inline("latest-hides-minor", "Lists no package of significance below 5.", "8.2-04")
inline("latest-empty-null", "An empty list is null, as in Go.", "8.2-06")
inline(
    "latest-empty-404", "An empty list is 404, also in a project that exists.", "8.2-06", needs=("project-create-201",)
)
inline("latest-prefix-project", "Lists the packages of projects whose ids share a prefix.", "5.2-01")
inline("latest-project-folded-case", "Compares project ids without regard to case.", "5.2-01")
inline(
    "project-of-connection",
    "The project of the first list on a connection is used for all later ones.",
    "5.2-01 8.2-01",
)
inline("relevant-across-projects", "Searches all projects.", "8.2-14")
inline("relevant-returns-chunks", "Returns text fragments with a score and a package id.", "8.2-12")
inline("relevant-returns-summaries", "Returns id, title and score.", "8.2-12")
inline("relevant-unranked", "Returns matches newest first.", "8.2-13")
inline("relevant-worst-first", "Returns the best match last.", "8.2-13")
inline("relevant-is-latest", "Ignores the query.", "8.2-11 8.2-13")
inline("relevant-limit-ignored", "Ignores limit.", "8.2-16")
inline("relevant-without-query", "Returns all packages without a query.", "8.2-15")
inline("relevant-missing-query-500", "Fails without query.", "8.2-15")
inline("relevant-titles-only-if-exact", "Finds a package only by its whole title.", "8.2-11")
inline("search-missing-400", "Answers 400 where search is off.", "8.2-17 10.2-07", needs=("search-off-named",))
inline("search-missing-404", "Answers 404 where search is off.", "8.2-17 10.2-07", needs=("search-off-named",))
inline(
    "search-missing-empty-list",
    "Answers an empty list where search is off.",
    "10.2-07 8.2-17",
    needs=("search-off-named",),
    profile="strict",
)
inline("search-missing-empty-body", "Answers 501 without a body.", "10.2-09", needs=("search-off-named",))
inline("search-missing-unnamed", "Answers 501 with a body that does not name the capability.", "10.2-09", needs=("search-off-named",))
inline("search-declared-without", "Declares search and answers 501.", "10.2-06")

# --- Orient, descriptor, projects -------------------------------------------------------------------------------------

inline("orient-summaries", "recent_packages hold id and title only.", "8.3-03")
inline("orient-ids-only", "recent_packages are ids.", "8.3-03")
inline("orient-other-projects", "recent_packages come from all projects.", "8.3-04")
inline("orient-window-in-hours", "Counts the window in hours.", "8.3-04 8.3-05", needs=("window-filters",))
inline("orient-default-7", "Default window 7.", "8.3-10")
inline("orient-echo-constant", "Always returns window_days 14.", "8.3-09")
inline("orient-window-as-text", "Says window_days as text.", "8.3-09")
inline("orient-window-renamed", "Says days for window_days.", "8.3-09")
inline("orient-constant-time", "generated_at is the start of the server.", "8.3-11")
inline("orient-time-as-number", "generated_at is a number.", "8.3-11 9.1-13")
inline("naive-times", "Times that the server makes have no zone.", "8.3-11 9.1-13")
inline("local-times", "Times that the server makes are local, two hours ahead, with Z.", "8.3-11")
inline("orient-project-as-text", "project is the id.", "8.3-02")
inline("orient-project-empty", "project is an empty object.", "8.3-02")
inline("orient-nulls", "Empty arrays are null, as in Go.", "8.3-06 8.3-08")
inline("orient-facts-missing", "active_facts is missing.", "8.3-06")
inline("orient-questions-all-projects", "open_questions come from all projects.", "8.3-08")
inline("orient-questions-newest-only", "open_questions come from the newest package.", "8.3-08")
inline("orient-questions-first-only", "Of each package the first question is taken.", "8.3-08")
inline("orient-questions-not-custom", "Questions of x- types are left out.", "12.2-04")
inline("orient-questions-as-count", "open_questions is a number.", "8.3-08")
inline("orient-five-hundred", "Fails in a project without packages.", "8.3-01", needs=("project-create-201",))
inline("orient-enveloped-twice", "The bundle is an array of one.", "8.3-01")
inline("descriptor-version-number", "protocol_version is the number 0.1.", "11.5-02 15.1-02", level="L0")
inline("descriptor-version-missing", "protocol_version is missing.", "11.5-02 15.1-02", level="L0")
inline("descriptor-version-v", "protocol_version is v0.1.", "11.5-02", level="L0")
inline("descriptor-level-number", "conformance_level is a number.", "11.5-03", level="L0")
inline("descriptor-level-wide", "conformance_level is L4.", "11.5-03 4-03", level="L0")
inline("descriptor-flags-as-text", "Capabilities are texts.", "11.5-04 10.2-02", level="L0")
inline("descriptor-capabilities-list", "capabilities is a list of names.", "11.5-04", level="L0")
inline("descriptor-overclaims", "Declares L3 while orient and flag answer 501.", "11.5-07", level="L0")
inline("archive-deletes", "Archiving removes the packages.", "5.2-05 5.2-04")
inline("archive-deletes-old", "Archiving keeps the newest package only.", "5.2-05")
inline("archived-swallows-deposit", "A deposit to an archived project answers 200 and stores nothing.", "8.1-14 8.1-16")
inline("archived-409", "A deposit to an archived project is refused with 409.", "8.1-14")
inline("archive-for-good", "Restore answers 200 and leaves the project archived.", "5.2-04", needs=("archive-403",))
inline("archive-flag-only", "archived_at is true.", "5.2-03")
inline("archive-not-set", "Archiving leaves archived_at null.", "5.2-03", needs=("project-get-200",))
inline("export-raw-newline", "Export is indented, records go over lines.", "10.3-02", needs=("export-plain",))
inline("export-newest-five", "Export holds the newest five packages.", "10.1-05 5.2-06")
inline("export-all-projects", "Export holds all projects.", "5.2-06 5.2-01")
inline("export-csv", "Export is a table with commas.", "10.3-02 10.1-05")
inline("export-no-drafts", "Export holds complete packages only.", "10.1-05 5.2-06")
inline("import-drops-unknown", "Import keeps the members of the tables.", "10.1-08 5.2-07", needs=("import-200",))
inline("import-first-line-only", "Import reads the first record only.", "5.2-07 10.3-04", needs=("import-200",))
inline("import-restamps", "Import sets created_at to the present time.", "10.1-08 5.2-07", needs=("import-200",))
inline("import-skips-custom-types", "Import passes over x- types.", "10.1-08 12.2-04", needs=("import-200",))

# --- Transport --------------------------------------------------------------------------------------------------------

inline("text-plain-errors", "Errors are text/plain.", "9.1-10")
inline("errors-without-type", "Errors have no Content-Type.", "9.1-10")
inline("no-content-type", "No answer has a Content-Type.", "9.1-10")
inline("text-html-always", "Every answer is text/html.", "9.1-10")
inline("lists-as-text-json", "Lists are text/json.", "9.1-10")
inline("length-in-characters", "Content-Length counts characters, so texts with other letters are cut.", "6-12 8.2-07")
inline("bodies-in-latin1", "Bodies are sent in Latin-1.", "6-12 8.2-07")
inline(
    "error-body-of-last-error", "The body of an error is that of the error before.", "8.1-05 8.2-09", profile="strict"
)
inline("server-error-once-in-20", "Every twentieth request fails with 500.", "8.1-08 8.2-07")
inline("answers-of-neighbours", "Under load an answer may be that of another request.", "11.2-07 8.1-09")


def copied(p):
    return copy.deepcopy(p)

"""Confirm the vectors of `vectors/agentic`; the canonical form, and what all vector files have in common.

The reader, the number printer and the canonical form are written from section 6.6 and Appendix A of the specification and
from the rulings that the vectors name.
"""

import hashlib
import itertools
import json
import re
import sys

# --------------------------------------------------------------------------------------------------------------------
# JSON reader. Unlike an ordinary one, it keeps the order and repetition of members and the spelling of
# numbers. Text that is JSON but not I-JSON is accepted and recorded in `problems`.
# --------------------------------------------------------------------------------------------------------------------

BOM, DUPLICATE, SURROGATE, OVERFLOW = "byte order mark", "duplicate member", "unpaired surrogate", "number overflow"

WHITE = " \t\n\r"
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
SHORT_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class NotJson(Exception):
    """The bytes are not a JSON text."""


class Number:
    """A number as it was spelled."""

    def __init__(self, text, integer):
        self.text = text
        self.integer = integer  # spelled without fraction and exponent


class Object:
    """Members in the order of the input, repeated names included."""

    def __init__(self, members):
        self.members = members

    def get(self, name):
        for key, value in reversed(self.members):
            if key == name:
                return value
        return None


class Reader:
    def __init__(self, data):
        self.problems = set()
        try:
            text = data.decode("utf-8", "strict")
        except UnicodeDecodeError as e:
            raise NotJson(f"invalid UTF-8 at byte {e.start}") from None
        if text.startswith("\ufeff"):
            self.problems.add(BOM)
            text = text[1:]
        self.text = text
        self.at = 0

    def fail(self, why):
        raise NotJson(f"{why} at character {self.at}")

    def peek(self):
        return self.text[self.at] if self.at < len(self.text) else ""

    def skip(self):
        while self.peek() and self.peek() in WHITE:
            self.at += 1

    def expect(self, what):
        if not self.text.startswith(what, self.at):
            self.fail(f"{what!r} expected")
        self.at += len(what)

    def document(self):
        self.skip()
        value = self.value()
        self.skip()
        if self.at != len(self.text):
            self.fail("text after the value")
        return value

    def value(self):
        c = self.peek()
        if c == "{":
            return self.object()
        if c == "[":
            return self.array()
        if c == '"':
            return self.string()
        for word, value in (("true", True), ("false", False), ("null", None)):
            if self.text.startswith(word, self.at):
                self.at += len(word)
                return value
        return self.number()

    def object(self):
        self.expect("{")
        members, seen = [], set()
        self.skip()
        if self.peek() == "}":
            self.at += 1
            return Object(members)
        while True:
            self.skip()
            if self.peek() != '"':
                self.fail("member name expected")
            name = self.string()
            if name in seen:
                self.problems.add(DUPLICATE)
            seen.add(name)
            self.skip()
            self.expect(":")
            self.skip()
            members.append((name, self.value()))
            self.skip()
            if self.peek() == "}":
                self.at += 1
                return Object(members)
            self.expect(",")

    def array(self):
        self.expect("[")
        items = []
        self.skip()
        if self.peek() == "]":
            self.at += 1
            return items
        while True:
            self.skip()
            items.append(self.value())
            self.skip()
            if self.peek() == "]":
                self.at += 1
                return items
            self.expect(",")

    def unit(self):
        """The four hex digits after a reverse solidus and u."""
        digits = self.text[self.at : self.at + 4]
        if not re.fullmatch(r"[0-9A-Fa-f]{4}", digits):
            self.fail("four hex digits expected")
        self.at += 4
        return int(digits, 16)

    def string(self):
        self.expect('"')
        out = []
        while True:
            c = self.peek()
            if c == "":
                self.fail("unterminated string")
            self.at += 1
            if c == '"':
                return "".join(out)
            if c < " ":
                self.at -= 1
                self.fail("raw control character in a string")
            if c != "\\":
                out.append(c)
                continue
            c = self.peek()
            self.at += 1
            if c != "" and c in SHORT_ESCAPES:
                out.append(SHORT_ESCAPES[c])
            elif c == "u":
                unit = self.unit()
                if 0xD800 <= unit <= 0xDBFF and self.text.startswith("\\u", self.at):
                    mark = self.at
                    self.at += 2
                    low = self.unit()
                    if 0xDC00 <= low <= 0xDFFF:
                        unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00)
                    else:
                        self.at = mark
                if 0xD800 <= unit <= 0xDFFF:
                    self.problems.add(SURROGATE)
                out.append(chr(unit))
            else:
                self.at -= 1
                self.fail("unknown escape")

    def number(self):
        found = NUMBER.match(self.text, self.at)
        if not found:
            self.fail("value expected")
        self.at = found.end()
        if float(found.group()) in (float("inf"), float("-inf")):
            self.problems.add(OVERFLOW)
        return Number(found.group(), found.group(1) is None and found.group(2) is None)


def read(data):
    """The value of a JSON text and the set of I-JSON problems it has."""
    reader = Reader(data)
    return reader.document(), reader.problems


def plain(value):
    """The value in Python's own types, to read the vector files themselves."""
    if isinstance(value, Object):
        return {name: plain(v) for name, v in value.members}
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, Number):
        return int(value.text) if value.integer else float(value.text)
    return value


# --------------------------------------------------------------------------------------------------------------------
# Canonical form
# --------------------------------------------------------------------------------------------------------------------

# The readings that the errata register tolerates in addition to the ruling, in the order of combined names.
TOP_NULLS = "top-level nulls only"
NULL_ELEMENTS = "null array elements dropped"
UTF16_ORDER = "UTF-16 code-unit order"
DIGITS = "integers kept digit for digit"
U_ESCAPES = "every control character as u-escape"
UPPER_HEX = "upper-case hex digits"
DEFAULTS = "defaults filled in first"

READINGS = [TOP_NULLS, NULL_ELEMENTS, UTF16_ORDER, DIGITS, U_ESCAPES, UPPER_HEX]
PACKAGE_READINGS = [*READINGS, DEFAULTS]

ERRATUM = {
    TOP_NULLS: "E04",
    NULL_ELEMENTS: "E04",
    UTF16_ORDER: "E05",
    DIGITS: "E07",
    U_ESCAPES: "E06",
    UPPER_HEX: "E06",
    DEFAULTS: "E09",
}

# Section 6.4. The members whose default is null are left out of the canonical form.
SIX_FOUR = {
    "description": "",
    "tags": [],
    "decisions_made": [],
    "open_questions": [],
    "handoff_note": "",
    "deliverables": [],
    "significance": Number("5", True),
    "content_md": "",
}


def number_text(value):
    """ECMAScript's Number::toString, from the shortest digits that Python's repr finds."""
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    # value = 0.d1d2d3... * 10**point
    point = int(exponent or 0) + (len(whole) if whole != "0" else len(digits) - len(fraction))
    digits = digits.rstrip("0")
    count = len(digits)
    if count <= point <= 21:
        return sign + digits + "0" * (point - count)
    if 0 < point <= 21:
        return sign + digits[:point] + "." + digits[point:]
    if -6 < point <= 0:
        return sign + "0." + "0" * -point + digits
    power = point - 1
    tail = ("." + digits[1:]) if count > 1 else ""
    return f"{sign}{digits[0]}{tail}e{'+' if power > 0 else '-'}{abs(power)}"


SHORT_FORMS = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def string_text(value, readings):
    out = ['"']
    for c in value:
        if c == '"' or c == "\\":
            out.append("\\" + c)
        elif c >= " ":
            out.append(c)
        elif c in SHORT_FORMS and U_ESCAPES not in readings:
            out.append(SHORT_FORMS[c])
        else:
            out.append(f"\\u{ord(c):04X}" if UPPER_HEX in readings else f"\\u{ord(c):04x}")
    out.append('"')
    return "".join(out)


def sort_key(name, readings):
    return name.encode("utf-16-be") if UTF16_ORDER in readings else name.encode("utf-8")


def canonical_text(value, readings=frozenset(), top=True):
    if isinstance(value, Object):
        keeps_null = TOP_NULLS in readings and not top
        members = [(n, v) for n, v in value.members if v is not None or keeps_null]
        members.sort(key=lambda member: sort_key(member[0], readings))
        return (
            "{"
            + ",".join(string_text(n, readings) + ":" + canonical_text(v, readings, False) for n, v in members)
            + "}"
        )
    if isinstance(value, list):
        items = [v for v in value if v is not None or NULL_ELEMENTS not in readings]
        return "[" + ",".join(canonical_text(v, readings, False) for v in items) + "]"
    if isinstance(value, Number):
        if DIGITS in readings and value.integer:
            return str(int(value.text))
        return number_text(float(value.text))
    if isinstance(value, str):
        return string_text(value, readings)
    return {True: "true", False: "false", None: "null"}[value]


def with_defaults(package):
    present = {name for name, value in package.members if value is not None}
    missing = [(name, value) for name, value in SIX_FOUR.items() if name not in present]
    return Object([m for m in package.members if m[1] is not None or m[0] not in SIX_FOUR] + missing)


def canonical(value, readings=frozenset()):
    if DEFAULTS in readings:
        value = with_defaults(value)
    return canonical_text(value, readings).encode("utf-8")


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def tolerated(value, readings):
    """Each further hash that some combination of tolerated readings gives, under the smallest such combination."""
    seen = {sha256(canonical(value))}
    out = []
    for size in range(1, len(readings) + 1):
        for combination in itertools.combinations(readings, size):
            digest = sha256(canonical(value, frozenset(combination)))
            if digest not in seen:
                seen.add(digest)
                out.append({"reading": " + ".join(combination), "sha256": digest})
    return out


# --------------------------------------------------------------------------------------------------------------------
# Checks of the files
# --------------------------------------------------------------------------------------------------------------------

SOURCE = "The Agentic Protocol v0.1, section 6.6 and Appendix A"
HEADER = ["schema", "kind", "protocol", "source", "count", "notes", "groups"]
HASHED = ["id", "about", "covers", "flags", "input", "canonical", "bytes", "sha256", "tolerated", "errata", "result"]
REFUSED = ["id", "about", "covers", "flags", "input_hex", "result", "strict", "errata"]
OPTIONAL = {"errata", "strict"}


class Ledger:
    def __init__(self):
        self.passed = 0
        self.failed = 0

    def judge(self, where, findings):
        """One check is done; findings are (what, expected, observed)."""
        if not findings:
            self.passed += 1
            return
        self.failed += 1
        for what, expected, observed in findings:
            print(f"{where}: {what}\n  expected: {expected}\n  observed: {observed}")


def check_members(test, allowed):
    names = list(test)
    found = []
    missing = [n for n in allowed if n not in names and n not in OPTIONAL]
    if missing:
        found.append(("members missing", allowed, names))
    unknown = [n for n in names if n not in allowed]
    if unknown:
        found.append(("unknown members", allowed, unknown))
    return found


def check_labels(test, notes, catalogue, register):
    found = []
    if not test.get("about"):
        found.append(("about", "a sentence", repr(test.get("about"))))
    if not test.get("covers"):
        found.append(("covers", "at least one requirement", test.get("covers")))
    for requirement in test.get("covers", []):
        if f"- id: {requirement.partition('/')[0]}\n" not in catalogue:  # ID/2 is its second clause
            found.append(("covers", "an id of requirements.yaml", requirement))
    for flag in test.get("flags", []):
        if flag not in notes:
            found.append(("flags", f"one of {sorted(notes)}", flag))
    for erratum in test.get("errata", []):
        entry = rf"^(?:#+ {erratum}[: ]|\| {erratum} \|)"
        if register is not None and not re.search(entry, register, re.MULTILINE):
            found.append(("errata", "an entry of errata.md", erratum))
    return found


def check_hashed(test, readings):
    try:
        value, problems = read(test["input"].encode("utf-8", "surrogatepass"))
    except NotJson as e:
        return [("input", "a JSON text", str(e))]
    found = []
    if problems:
        found.append(("input", "I-JSON", sorted(problems)))
        return found
    form = canonical(value)
    digest = sha256(form)
    if test["canonical"].encode("utf-8") != form:
        found.append(("canonical", form.decode("utf-8"), test["canonical"]))
    if test["bytes"] != len(form):
        found.append(("bytes", len(form), test["bytes"]))
    if sha256(test["canonical"].encode("utf-8")) != test["sha256"]:
        found.append(("sha256 of the listed canonical form", sha256(test["canonical"].encode("utf-8")), test["sha256"]))
    if test["sha256"] != digest:
        found.append(("sha256", digest, test["sha256"]))
    again = canonical(read(form)[0])
    if again != form:
        found.append(("canonical form of the canonical form", form, again))
    wanted = tolerated(value, readings)
    if test["tolerated"] != wanted:
        found.append(("tolerated", json.dumps(wanted), json.dumps(test["tolerated"])))
    errata = sorted({ERRATUM[part] for entry in wanted for part in entry["reading"].split(" + ")})
    if test.get("errata", []) != errata:
        found.append(("errata", errata, test.get("errata", [])))
    if test["result"] != "valid":
        found.append(("result", "valid", test["result"]))
    return found


def check_refused(test):
    try:
        data = bytes.fromhex(test["input_hex"])
    except ValueError as e:
        return [("input_hex", "hex digits", str(e))]
    found = []
    if data.hex() != test["input_hex"]:
        found.append(("input_hex", data.hex(), test["input_hex"]))
    try:
        _, problems = read(data)
        observed, errata = ("acceptable" if problems else "valid"), set()
        for problem in problems:
            errata.add("E07" if problem == OVERFLOW else "E08")
    except NotJson:
        observed, errata = "invalid", set()
    if test["result"] != observed or observed == "valid":
        found.append(("result", observed, test["result"]))
    if observed == "acceptable" and test.get("strict") != "invalid":
        found.append(("strict", "invalid", test.get("strict")))
    if observed == "invalid" and "strict" in test:
        found.append(("strict", "absent", test["strict"]))
    if test.get("errata", []) != sorted(errata):
        found.append(("errata", sorted(errata), test.get("errata", [])))
    return found


CHECKS = {
    "canonical-json": (HASHED, lambda test: check_hashed(test, READINGS)),
    "content-hash": (HASHED, lambda test: check_hashed(test, PACKAGE_READINGS)),
    "refused-json": (REFUSED, check_refused),
}


def check_header(name, file):
    found = []
    if list(file) != HEADER:
        found.append(("members", HEADER, list(file)))
        return found
    tests = [test for group in file["groups"] for test in group.get("tests", [])]
    for what, wanted in (
        ("schema", 1),
        ("kind", name.removesuffix(".json")),
        ("protocol", "agentic"),
        ("source", SOURCE),
        ("count", len(tests)),
    ):
        if file[what] != wanted:
            found.append((what, wanted, file[what]))
    if file["kind"] not in CHECKS:
        found.append(("kind", f"one of {sorted(CHECKS)}", file["kind"]))
    if not tests:
        found.append(("groups", "at least one test", "none"))
    for group in file["groups"]:
        if list(group) != ["group", "about", "tests"] or not group["about"] or not group["tests"]:
            found.append(("group", "group, about, tests, none of them empty", list(group)))
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", group.get("group", "")):
            found.append(("group", "a kebab-case name", group.get("group")))
    for what, names in (
        ("group names", [group.get("group") for group in file["groups"]]),
        ("ids", [test.get("id") for test in tests]),
    ):
        twice = sorted({n for n in names if names.count(n) > 1})
        if twice:
            found.append((what, "each once", twice))
    unused = sorted(set(file["notes"]) - {flag for test in tests for flag in test.get("flags", [])})
    if unused:
        found.append(("notes", "only flags that some test has", unused))
    return found


def confirm(root, ledger):
    catalogue = (root / "suites/agentic/requirements.yaml").read_text(encoding="utf-8")
    register = root / "suites/agentic/errata.md"
    register = register.read_text(encoding="utf-8") if register.exists() else None
    folder = root / "vectors/agentic"
    present = {path.name for path in folder.glob("*.json")}
    wanted = {kind + ".json" for kind in CHECKS}
    ledger.judge(str(folder), [("files", sorted(wanted), sorted(present))] if present != wanted else [])

    by_id = {}
    for name in sorted(present):
        where = f"vectors/agentic/{name}"
        try:
            value, problems = read((folder / name).read_bytes())
        except NotJson as e:
            ledger.judge(where, [("file", "a JSON text", str(e))])
            continue
        if problems:
            ledger.judge(where, [("file", "I-JSON", sorted(problems))])
            continue
        file = plain(value)
        findings = check_header(name, file)
        ledger.judge(where, findings)
        if list(file) != HEADER or file["kind"] not in CHECKS:
            continue
        members, check = CHECKS[file["kind"]]
        for test in (test for group in file["groups"] for test in group.get("tests", [])):
            findings = check_members(test, members)
            if not findings:
                findings = check_labels(test, file["notes"], catalogue, register) + check(test)
                other = by_id.setdefault(test["id"], (name, test))[1]
                for what in ("input", "canonical", "sha256", "input_hex"):
                    if test.get(what) != other.get(what):
                        findings.append(
                            (f"{what}, compared with the same id in {by_id[test['id']][0]}", other.get(what), test.get(what))
                        )
            ledger.judge(f"{where}: {test.get('id')}", findings)


def read_plain(data):
    """The value of an I-JSON text, or ValueError."""
    try:
        value, problems = read(data)
    except NotJson as e:
        raise ValueError(str(e)) from None
    if problems:
        raise ValueError(", ".join(sorted(problems)))
    return plain(value)


def compute(package):
    text = sys.stdin.buffer.read()
    value, problems = read(text)
    if problems:
        print(f"not I-JSON: {', '.join(sorted(problems))}", file=sys.stderr)
        return 1
    form = canonical(value)
    others = tolerated(value, PACKAGE_READINGS if package else READINGS)
    test = {
        "input": text.decode("utf-8"),
        "canonical": form.decode("utf-8"),
        "bytes": len(form),
        "sha256": sha256(form),
        "tolerated": others,
        "errata": sorted({ERRATUM[part] for entry in others for part in entry["reading"].split(" + ")}),
        "result": "valid",
    }
    print(json.dumps(test, indent=2))
    return 0

"""The rules of The Agentic Protocol v0.1 as implemented by the peer: reading JSON, canonical form, validation, time.

`o` is an Options object throughout: `o.has(choice)` and `o.bug(mutant)`.
"""

import base64
import hashlib
import json
import re
import struct
import unicodedata
from datetime import date
from json.encoder import encode_basestring, encode_basestring_ascii

MAX_DEPTH = 1500  # nesting of request bodies; fuzzers use some hundreds


class Refusal(Exception):
    """A request that is refused."""

    def __init__(self, status, code, message, pointer=None, capability=None):
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.pointer = pointer
        self.capability = capability


def invalid(message, pointer=None):
    return Refusal(400, "invalid_schema", message, pointer)


# --- Reading JSON -----------------------------------------------------------------------------------------------------


class JsonReader:
    def __init__(self, o):
        self.o = o
        self.bug = o.bug

    def read(self, data):
        o = self.o
        if data.startswith(b"\xef\xbb\xbf"):
            if o.has("bom-refused"):
                raise invalid("the body begins with a byte order mark")
            data = data[3:]
        try:
            if self.bug("latin1-mangling"):
                text = data.decode("latin-1")
            elif self.bug("invalid-utf8-replaced"):
                text = data.decode("utf-8", "replace")
            elif self.bug("utf8-split-at-64k") and len(data) > 65536:
                text = "".join(data[i : i + 65536].decode("utf-8", "replace") for i in range(0, len(data), 65536))
            else:
                text = data.decode("utf-8")
            if self.bug("escapes-of-pairs-split"):
                text = re.sub(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}", "\ufffd\ufffd", text)
            if self.bug("escaped-names-kept"):
                double = lambda f: f.group().replace("\\", "\\\\") if f.group(1) else f.group()
                text = re.sub(r'"(?:[^"\\]|\\.)*"(\s*:)?', double, text, flags=re.DOTALL)
            if self.bug("escaped-solidus-kept"):
                text = re.sub(r"\\(.)", lambda f: r"\\/" if f.group(1) == "/" else f.group(), text)
            if self.bug("white-space-before-refused") and text[:1].isspace():
                raise invalid("the body does not begin with its value")
            if self.bug("white-space-after-refused") and text.endswith("\n"):
                raise invalid("the body does not end after its value")
        except UnicodeDecodeError as e:
            raise invalid(f"the body is not UTF-8: {e.reason} at byte {e.start}") from None
        try:
            if self.bug("trailing-garbage-tolerated"):
                value, _ = self._decoder().raw_decode(text.lstrip(" \t\r\n"))
            else:
                value = self._decoder().decode(text)
            return self._look_through(value, 1) if "\\u" in text or text.count("[") + text.count("{") > 200 else value
        except Refusal:
            raise
        except RecursionError:
            raise invalid("the body is nested too deeply") from None
        except ValueError as e:
            if self.bug("bad-json-500"):
                raise RuntimeError("bad JSON") from e
            raise invalid(f"the body is not JSON: {e}") from None

    def _decoder(self):
        constant = None if self.bug("python-nan") else self._constant
        return json.JSONDecoder(
            object_pairs_hook=self._pairs, parse_constant=constant, parse_int=_integer, parse_float=self._fraction
        )

    def _fraction(self, text):
        if self.bug("capital-exponent-refused") and "E" in text:
            raise ValueError("a number has no capital letter")
        try:
            return _fraction(text)
        except ValueError:
            if self.bug("number-overflow-500"):
                raise RuntimeError("infinity") from None
            raise

    def _constant(self, text):
        raise ValueError(f"{text} is not a JSON value")

    def _pairs(self, pairs):
        members = dict(pairs)
        if len(members) != len(pairs):
            if self.o.has("duplicate-members-refused"):
                raise invalid("a member occurs twice")
            if self.o.has("duplicate-members-first"):
                members = dict(reversed(pairs))
                members = {name: members[name] for name, _ in pairs}
        return members

    def _look_through(self, value, depth):
        if depth > MAX_DEPTH:
            raise RecursionError
        if type(value) is str:
            try:
                value.encode("utf-8")
                return value
            except UnicodeEncodeError:
                if self.o.has("surrogates-refused"):
                    raise invalid("an unpaired surrogate") from None
                return re.sub("[\ud800-\udfff]", "\ufffd", value)
        if type(value) is list:
            return [self._look_through(v, depth + 1) for v in value]
        if type(value) is dict:
            return {self._look_through(k, depth): self._look_through(v, depth + 1) for k, v in value.items()}
        return value


def _integer(text):
    return int(text) if len(text) < 300 else _fraction(text)


def _fraction(text):
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError("a number does not fit a double")
    return value


# --- Canonical form and content hash (6.6, Appendix A) ------------------------------------------------------------------


def double_text(x):
    """A double as ECMAScript prints it."""
    if x != x or x in (float("inf"), float("-inf")):
        raise invalid("a number does not fit a double")
    if x == 0:
        return "0"
    text = repr(x)
    sign = ""
    if text[0] == "-":
        sign, text = "-", text[1:]
    if "e" not in text:  # between 1e-4 and 1e16 both languages agree
        return sign + text.removesuffix(".0")
    mantissa, _, exponent = text.partition("e")
    left, _, right = mantissa.partition(".")
    shift = int(exponent or "0") + len(left)
    digits = left + right
    stripped = digits.lstrip("0")
    shift -= len(digits) - len(stripped)
    digits = stripped.rstrip("0")
    if 0 < shift <= 21:
        if len(digits) <= shift:
            return sign + digits + "0" * (shift - len(digits))
        return sign + digits[:shift] + "." + digits[shift:]
    if -6 < shift <= 0:
        return sign + "0." + "0" * -shift + digits
    head = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
    return f"{sign}{head}e{shift - 1:+d}"


SAFE = 1 << 53
LONG_FORM = {"\\b": "\\u0008", "\\t": "\\u0009", "\\n": "\\u000a", "\\f": "\\u000c", "\\r": "\\u000d"}

DEFAULTS = {
    "description": "",
    "tags": [],
    "decisions_made": [],
    "open_questions": [],
    "handoff_note": "",
    "estimated_next_actor": None,
    "deliverables": [],
    "parent_package_id": None,
    "significance": 5,
    "content_md": "",
    "topic": None,
    "artifact_type": None,
    "storage_path": None,
}

REQUIRED = (
    "package_id",
    "project_id",
    "relay_version",
    "title",
    "status",
    "package_type",
    "review_type",
    "created_at",
    "created_by",
)

CREATED_BY = ("id", "type", "session_id")
DELIVERABLE = ("path", "type", "hash", "size_bytes")


def known_members_only(package):
    p = {k: v for k, v in package.items() if k in REQUIRED or k in DEFAULTS}
    if isinstance(p.get("created_by"), dict):
        p["created_by"] = {k: v for k, v in p["created_by"].items() if k in CREATED_BY}
    if isinstance(p.get("deliverables"), list):
        p["deliverables"] = [{k: v for k, v in d.items() if k in DELIVERABLE} for d in p["deliverables"]]
    return p


def fill_defaults(package):
    p = dict(package)
    for name, value in DEFAULTS.items():
        if p.get(name) is None:
            p[name] = value
    return p


class Canon:
    def __init__(self, o):
        self.o = o
        bug, has = o.bug, o.has
        self.top_nulls = has("reading-top-nulls")
        self.drop_elements = has("reading-null-elements")
        self.exact = has("reading-exact-integers")
        self.long_escapes = has("reading-u-escapes")
        self.upper = has("reading-upper-hex")
        self.keeps_null = bug("canonical-keeps-null")
        self.drops_falsy = bug("canonical-drops-falsy")
        self.drops_emptied = bug("canonical-drops-emptied-object")
        self.sorts_arrays = bug("canonical-sorts-arrays")
        self.unsorted = bug("canonical-insertion-order")
        self.top_sort = bug("canonical-top-level-sort")
        self.comma, self.colon = (", ", ": ") if bug("canonical-spaces") else (",", ":")
        if has("reading-utf16-order"):
            self.key = lambda name: name.encode("utf-16-be", "surrogatepass")
        elif bug("canonical-case-insensitive-sort"):
            self.key = lambda name: (name.lower(), name)
        elif bug("canonical-numeric-sort"):
            self.key = lambda name: (0, int(name), "") if name.isascii() and name.isdigit() else (1, 0, name)
        else:
            self.key = None  # Python compares strings by code point, which is the order of their UTF-8 bytes
        self.plain_strings = not (
            self.long_escapes
            or self.upper
            or bug("canonical-ascii-only")
            or bug("canonical-html-escapes")
            or bug("canonical-escapes-solidus")
            or bug("canonical-nfc")
        )

    def string(self, value):
        if self.plain_strings:
            return encode_basestring(value)
        bug = self.o.bug
        if bug("canonical-nfc"):
            value = unicodedata.normalize("NFC", value)
        text = encode_basestring_ascii(value) if bug("canonical-ascii-only") else encode_basestring(value)
        if self.long_escapes or self.upper:
            text = self._respell(text)
        if bug("canonical-html-escapes"):
            for c in "<>&\u2028\u2029":
                text = text.replace(c, f"\\u{ord(c):04x}")
        if bug("canonical-escapes-solidus"):
            text = text.replace("/", "\\/")
        return text

    def _respell(self, text):
        # Skip escaped reverse solidi, so that \\n in the text is not read as a line feed.
        def each(found):
            escape = found.group()
            if escape == "\\\\":
                return escape
            if self.long_escapes:
                escape = LONG_FORM.get(escape, escape)
            if self.upper and escape.startswith("\\u"):
                escape = "\\u" + escape[2:].upper()
            return escape

        return re.sub(r"\\\\|\\[bfnrt]|\\u00[01][0-9a-f]", each, text)

    def number(self, value):
        bug = self.o.bug
        if type(value) is int:
            if bug("canonical-all-floats"):
                return repr(float(value))
            if -SAFE <= value <= SAFE or self.exact:
                return str(value)
            try:
                value = float(value)
            except OverflowError:
                raise invalid("a number does not fit a double") from None
        if bug("canonical-language-floats"):
            return json.dumps(value)
        if bug("canonical-17-digits"):
            return f"{value:.17g}"
        if bug("canonical-negative-zero") and value == 0 and str(value)[0] == "-":
            return "-0"
        return double_text(value)

    def text(self, value, top=True):
        kind = type(value)
        if kind is str:
            return self.string(value)
        if kind is dict:
            drop = not self.keeps_null and (top or not self.top_nulls)
            items = [(k, v) for k, v in value.items() if v is not None or not drop]
            if self.drops_falsy:
                items = [(k, v) for k, v in items if v]
            if self.drops_emptied:
                items = [(k, v) for k, v in items if not (type(v) is dict and all(x is None for x in v.values()))]
            if not self.unsorted and (top or not self.top_sort):
                items.sort(key=(lambda item: self.key(item[0])) if self.key else (lambda item: item[0]))
            parts = [self.string(k) + self.colon + self.text(v, False) for k, v in items]
            return "{" + self.comma.join(parts) + "}"
        if kind is list:
            if self.drop_elements:
                value = [v for v in value if v is not None]
            parts = [self.text(v, False) for v in value]
            if self.sorts_arrays:
                parts.sort()
            return "[" + self.comma.join(parts) + "]"
        if value is None:
            return "null"
        if kind is bool:
            return "true" if value else "false"
        return self.number(value)

    def digest(self, package, raw=b""):
        """The 32 bytes of the content hash."""
        bug = self.o.bug
        if self.o.has("reading-defaults"):
            package = fill_defaults(package)
        if bug("hash-strips-defaults"):
            package = {k: v for k, v in package.items() if k not in DEFAULTS or v != DEFAULTS[k]}
        if bug("hash-known-members-only"):
            package = known_members_only(package)
        if bug("hash-includes-itself"):
            package = {**package, "content_hash": ""}
        if bug("hash-without-session"):
            by = {k: v for k, v in package["created_by"].items() if k != "session_id"}
            package = {**package, "created_by": by}
        if bug("hash-ignores-attribution"):
            package = {k: v for k, v in package.items() if k != "created_by"}
        if bug("hash-skips-status"):
            package = {k: v for k, v in package.items() if k not in ("status", "review_type")}
        if bug("hash-without-id"):
            package = {k: v for k, v in package.items() if k != "package_id"}
        if bug("hash-top-level-scalars-only"):
            package = {k: v for k, v in package.items() if not isinstance(v, (dict, list)) or k == "created_by"}
        try:
            data = self.text(package).encode("utf-8", "surrogatepass")
        except RecursionError:
            raise invalid("the body is nested too deeply") from None
        if bug("hash-first-64k"):
            data = data[:65536]
        if bug("hash-over-raw-body") and raw:
            data = raw
        if bug("canonical-trailing-newline"):
            data += b"\n"
        if bug("hash-latin1-bytes"):
            data = data.decode("utf-8").encode("latin-1", "replace")
        if bug("hash-utf16-bytes"):
            data = data.decode("utf-8").encode("utf-16-le")
        if bug("hash-wrong-algorithm"):
            return hashlib.sha1(data).digest()
        if bug("hash-md5"):
            return hashlib.md5(data).digest()
        if bug("hash-double"):
            return hashlib.sha256(hashlib.sha256(data).digest()).digest()
        digest = hashlib.sha256(data).digest()
        if bug("hash-truncated"):
            return digest[:16]
        if bug("hash-of-hex"):
            return hashlib.sha256(digest.hex().encode()).digest()
        return digest


def spell_hash(o, digest):
    if o.has("hash-base64"):
        return base64.b64encode(digest).decode("ascii")
    text = digest.hex()
    if o.bug("hash-leading-zeros-cut"):
        text = f"{int(text, 16):x}"
    if o.has("hash-upper") or o.has("hash-prefixed-upper"):
        text = text.upper()
    return "sha256:" + text if o.has("hash-prefixed") or o.has("hash-prefixed-upper") else text


# --- Time -------------------------------------------------------------------------------------------------------------

TIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?(Z|[+-][0-9]{2}:[0-9]{2})"
)
EPOCH = date(1970, 1, 1).toordinal()


def instant(text):
    """(seconds, digits of the fraction without trailing zeros, offset in seconds, digits as written) or None."""
    found = TIME.fullmatch(text)
    if not found:
        return None
    year, month, day, hour, minute, second, fraction, zone = found.groups()
    try:
        days = date(int(year), int(month), int(day)).toordinal() - EPOCH
    except ValueError:
        return None
    if int(hour) > 23 or int(minute) > 59 or int(second) > 59:
        return None
    offset = 0
    if zone != "Z":
        if int(zone[1:3]) > 23 or int(zone[4:6]) > 59:
            return None
        offset = (int(zone[1:3]) * 60 + int(zone[4:6])) * 60 * (-1 if zone[0] == "-" else 1)
    seconds = days * 86400 + int(hour) * 3600 + int(minute) * 60 + int(second) - offset
    return seconds, (fraction or "").rstrip("0"), offset, zone


def moment(text):
    """The instant as a sortable value."""
    found = instant(text)
    return (found[0], found[1]) if found else None


def spell_time(o, seconds, fraction=""):
    days, rest = divmod(seconds, 86400)
    day = date.fromordinal(EPOCH + days)
    text = f"{day.isoformat()}T{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    if fraction:
        text += "." + fraction
    if o.bug("naive-times"):
        return text
    return text + ("+00:00" if o.has("times-offset") else "Z")


# --- Validation of packages (6.1 to 6.5) ------------------------------------------------------------------------------

STATUSES = ("draft", "complete", "awaiting_review", "revision_requested")
TYPES = (
    "standard",
    "milestone",
    "decision",
    "handoff",
    "auto_deposit",
    "analysis",
    "question",
    "orchestrator_report",
)
REVIEWS = ("none", "human", "agent")
ACTORS = ("human", "agent", "script")


def is_number(value):
    return type(value) in (int, float)


def is_integer(o, value):
    if type(value) is int:
        return True
    return (
        type(value) is float
        and o.has("integer-by-value")
        and value == value
        and abs(value) < 1e300
        and value == int(value)
    )


def characters(o, text):
    if o.bug("title-counts-bytes"):
        return len(text.encode("utf-8"))
    if o.has("title-utf16"):
        return len(text.encode("utf-16-le")) // 2
    if o.has("title-graphemes"):
        return sum(1 for c in text if not unicodedata.combining(c) and c not in "\u200d\ufe0f")
    return len(text)


class Validator:
    """Raises the first violation. A rule has a name so that a mutant can leave it out."""

    def __init__(self, o, skipped):
        self.o = o
        self.skipped = skipped

    def fail(self, rule, pointer, message):
        if rule not in self.skipped:
            raise invalid(f"{pointer[1:]} {message}", pointer)

    def required(self, owner, at, name):
        if name not in owner:
            self.fail(f"{name}-required", f"{at}/{name}", "is required")
        elif owner[name] is None:
            self.fail(f"{name}-null", f"{at}/{name}", "is required and must not be null")

    def text(self, owner, at, name):
        value = owner.get(name)
        if value is not None and type(value) is not str:
            self.fail(f"{name}-type", f"{at}/{name}", "must be a string")

    def one_of(self, owner, at, name, allowed):
        value = owner.get(name)
        if value is None:
            return
        if type(value) is not str:
            self.fail(f"{name}-type", f"{at}/{name}", "must be a string")
        elif value not in allowed:
            if f"{name}-case" in self.skipped and value.lower() in allowed:
                return
            self.fail(f"{name}-value", f"{at}/{name}", f"must be one of {', '.join(allowed)}")

    def texts(self, owner, at, name):
        value = owner.get(name)
        if value is None:
            return
        if type(value) is not list:
            self.fail(f"{name}-type", f"{at}/{name}", "must be an array of strings")
            return
        for index, item in enumerate(value):
            if item is None and "texts-null" in self.skipped and name != "open_questions":
                continue
            if type(item) is list and "texts-lists" in self.skipped:
                continue
            if type(item) is not str:
                self.fail(f"{name}-elements", f"{at}/{name}/{index}", "must be a string")

    def time(self, owner, at, name):
        value = owner.get(name)
        if value is None:
            return
        pointer = f"{at}/{name}"
        if type(value) is not str:
            self.fail(f"{name}-type", pointer, "must be a string")
            return
        found = instant(value)
        if found is None:
            if f"{name}-impossible" in self.skipped and TIME.fullmatch(value):
                return
            if f"{name}-date" in self.skipped and re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", value):
                return
            for rule, part in (("hour-24", "T24:00:00"), ("leap-day", "-02-29T"), ("minute-60", ":60:")):
                if f"{name}-{rule}" in self.skipped and part in value:
                    return
            self.fail(f"{name}-value", pointer, "must be an RFC 3339 UTC time")
            return
        zone = found[3]
        if zone != "Z" and not self.o.has("any-offset-accepted"):
            zero = found[2] == 0 and zone[0] == "+"
            if not (zero and self.o.has("zero-offset-accepted")):
                self.fail(f"{name}-zone", pointer, "must be in UTC")
        digits = re.sub("[^0-9].*", "", value.partition(".")[2])
        if self.o.bug("fraction-limit-6") and len(digits) > 6:
            raise invalid("created_at has too many digits", pointer)
        if self.o.bug("fraction-limit-3") and len(digits) > 3:
            raise invalid("created_at has too many digits", pointer)

    def actor(self, owner, at, name):
        value = owner.get(name)
        if value is None:
            return
        at = f"{at}/{name}"
        if type(value) is not dict:
            self.fail(f"{name}-type", at, "must be an object")
            return
        self.required_in(value, at, "id", "actor-id")
        self.required_in(value, at, "type", "actor-type")
        if value.get("id") is not None and type(value["id"]) is not str:
            self.fail("actor-id-type", f"{at}/id", "must be a string")
        kind = value.get("type")
        if kind is not None and kind not in ACTORS:
            self.fail("actor-type-value", f"{at}/type", f"must be one of {', '.join(ACTORS)}")
        if self.o.bug("script-actor-refused") and kind == "script":
            raise invalid("type must be human or agent", f"{at}/type")
        session = value.get("session_id")
        if session is not None and type(session) is not str:
            self.fail("session-type", f"{at}/session_id", "must be a string or null")
        if self.o.bug("null-session-refused") and "session_id" in value and session is None:
            raise invalid("session_id must be a string", f"{at}/session_id")

    def required_in(self, owner, at, name, rule):
        if owner.get(name) is None:
            self.fail(f"{rule}-required", f"{at}/{name}", "is required")

    def package(self, p):
        o = self.o
        for name in REQUIRED:
            self.required(p, "", name)
        for name in ("package_id", "project_id", "relay_version", "title"):
            self.text(p, "", name)
        if type(p.get("relay_version")) is str and p["relay_version"] != "0.1":
            minor = re.fullmatch(r"0\.1\.[0-9]+|0\.2", p["relay_version"])
            if not (minor and o.has("version-minor")):
                self.fail("relay_version-value", "/relay_version", "must be 0.1")
        title = p.get("title")
        if type(title) is str:
            if title == "":
                self.fail("title-empty", "/title", "must not be empty")
            if characters(o, title) > (255 if o.bug("title-limit-255") else 200):
                self.fail("title-long", "/title", "must have at most 200 characters")
        self.one_of(p, "", "status", STATUSES)
        self.one_of(p, "", "review_type", REVIEWS)
        kind = p.get("package_type")
        if type(kind) is str and kind not in TYPES:
            custom = kind.startswith("x" if o.bug("x-prefix-without-hyphen") else "x-")
            if not custom or o.bug("custom-type-refused"):
                self.fail("package_type-value", "/package_type", "is not a known type")
        elif kind is not None and type(kind) is not str:
            self.fail("package_type-type", "/package_type", "must be a string")
        self.time(p, "", "created_at")
        self.actor(p, "", "created_by")
        if o.has("null-optional-refused"):
            for name, default in DEFAULTS.items():
                if default is not None and name in p and p[name] is None:
                    raise invalid(f"{name} must not be null", "/" + name)
        for name in ("description", "handoff_note", "content_md"):
            self.text(p, "", name)
        for name in ("parent_package_id", "topic", "artifact_type", "storage_path"):
            self.text(p, "", name)
        for name in ("tags", "decisions_made", "open_questions"):
            self.texts(p, "", name)
        self.one_of(p, "", "estimated_next_actor", ("human", "agent"))
        self.significance(p)
        self.deliverables(p)

    def significance(self, p):
        value = p.get("significance")
        if value is None:
            return
        if not is_integer(self.o, value):
            if type(value) is bool:
                self.fail("significance-bool", "/significance", "must be an integer")
                return
            self.fail("significance-type", "/significance", "must be an integer")
            return
        if not 1 <= value <= 10:
            self.fail("significance-range", "/significance", "must be 1 to 10")

    def deliverables(self, p):
        value = p.get("deliverables")
        if value is None:
            return
        if type(value) is not list:
            self.fail("deliverables-type", "/deliverables", "must be an array")
            return
        for index, item in enumerate(value):
            at = f"/deliverables/{index}"
            if type(item) is not dict:
                self.fail("deliverables-elements", at, "must be an object")
                continue
            for name in ("path", "type"):
                if item.get(name) is None:
                    self.fail(f"deliverable-{name}-required", f"{at}/{name}", "is required")
                elif type(item[name]) is not str:
                    self.fail(f"deliverable-{name}-type", f"{at}/{name}", "must be a string")
            if item.get("hash") is not None and type(item["hash"]) is not str:
                self.fail("deliverable-hash-type", f"{at}/hash", "must be a string")
            size = item.get("size_bytes")
            if type(size) is bool and "size-bool" in self.skipped:
                continue
            if size is not None and not is_integer(self.o, size):
                self.fail("deliverable-size-type", f"{at}/size_bytes", "must be an integer")
            if self.o.has("deliverables-tight"):
                self.tight(item, at)

    def tight(self, item, at):
        path, claimed, size = item.get("path"), item.get("hash"), item.get("size_bytes")
        if type(path) is str and (path.startswith("/") or ".." in path.split("/")):
            raise invalid("path must be relative within the project, or a URL", f"{at}/path")
        if type(claimed) is str and not re.fullmatch("[^:]+:[0-9A-Fa-f]+", claimed):
            raise invalid("hash must be algorithm:hex", f"{at}/hash")
        if size is not None and size < 0:
            raise invalid("size_bytes must not be negative", f"{at}/size_bytes")


def through_32_bits(value):
    if type(value) is float:
        try:
            return struct.unpack("f", struct.pack("f", value))[0]
        except OverflowError:
            return value
    if type(value) is list:
        return [through_32_bits(v) for v in value]
    if type(value) is dict:
        return {k: through_32_bits(v) for k, v in value.items()}
    return value

"""JSON text to values and back without loss, for the mesh peers (RFC 8259).

Objects are dicts in the order of the input, numbers are `Number` with their spelling, so that a message can be passed on
exactly. A name that appears twice, NaN, raw control characters and bad UTF-8 are errors. `Habits` holds the readings that
the rulings leave open (E37, E48, E64, E68).
"""

import decimal
import re
from dataclasses import dataclass

SPACE = re.compile(r"[ \t\n\r]*")
LOOSE_SPACE = re.compile(r"(?:[ \t\n\r]|//[^\n]*|/\*.*?\*/)*", re.S)
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
ESCAPE = re.compile(r'\\(?:u([0-9A-Fa-f]{4})|(["\\/bfnrt]))')
LETTERS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
TO_ESCAPE = re.compile(r'["\\\x00-\x1f\ud800-\udfff]')
SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


class NotJson(ValueError):
    """Bytes that are not one JSON text. `bytes_only`: already the bytes are wrong (bad UTF-8, NaN, control characters)."""

    def __init__(self, reason, bytes_only=False):
        super().__init__(reason)
        self.bytes_only = bytes_only


class Number:
    """A number as it is spelled."""

    __slots__ = ("text",)

    def __init__(self, text):
        self.text = str(text)

    def __repr__(self):
        return f"Number({self.text})"

    def __eq__(self, other):
        return isinstance(other, Number) and self.decimal() == other.decimal()

    def __hash__(self):
        return hash(self.decimal())

    def decimal(self):
        """The exact value."""
        try:
            return decimal.Decimal(self.text)
        except decimal.InvalidOperation:  # an exponent beyond any use
            return decimal.Decimal("-Infinity" if self.text.startswith("-") else "Infinity")

    def whole(self):
        """The value as an int, or None if it has a fraction or is absurdly large."""
        value = self.decimal()
        if not value.is_finite() or value.adjusted() > 400:
            return None
        if value != value.to_integral_value():
            return None
        return int(value)

    @property
    def plain(self):
        """Written without fraction and exponent."""
        return self.text.lstrip("-").isdigit()


@dataclass
class Habits:
    comments: bool = False  # comments and trailing commas are read
    duplicates: str = "refuse"  # or "first", "last"
    mark: str = "accept"  # a byte order mark in front; or "refuse"
    depth: int = 512
    overflow: str = "keep"  # a number beyond binary64; or "refuse"


def read(data, habits=Habits()):
    """The value in `data`."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotJson(f"not UTF-8 at byte {error.start}", True) from None
    if text.startswith("\ufeff"):
        if habits.mark == "refuse":
            raise NotJson("a byte order mark")
        text = text[1:]
    return Reader(text, habits).document()


class Reader:
    def __init__(self, text, habits):
        self.text, self.at, self.habits = text, 0, habits
        self.space = LOOSE_SPACE if habits.comments else SPACE

    def fail(self, reason, bytes_only=False):
        raise NotJson(f"{reason} at character {self.at}", bytes_only)

    def peek(self):
        self.at = self.space.match(self.text, self.at).end()
        return self.text[self.at : self.at + 1]

    def skip(self, character):
        if self.peek() != character:
            return False
        self.at += 1
        return True

    def document(self):
        value = self.value(0)
        if self.peek():
            self.fail("text after the value")
        return value

    def value(self, depth):
        if depth > self.habits.depth:
            self.fail("nested too deeply")
        first = self.peek()
        if first == "{":
            return self.object(depth + 1)
        if first == "[":
            return self.array(depth + 1)
        if first == '"':
            return self.string()
        for word, value in (("true", True), ("false", False), ("null", None)):
            if self.text.startswith(word, self.at):
                self.at += len(word)
                return value
        found = NUMBER.match(self.text, self.at)
        if not found:
            self.fail("no value", self.text.startswith(("NaN", "Infinity", "-Infinity"), self.at))
        self.at = found.end()
        if self.habits.overflow == "refuse" and float(found[0]) in (float("inf"), float("-inf")):
            self.fail("a number that is too large")
        return Number(found[0])

    def object(self, depth):
        self.at += 1
        members = {}
        if self.skip("}"):
            return members
        while True:
            if self.peek() != '"':
                if members and self.habits.comments and self.skip("}"):
                    return members
                self.fail("no member name")
            name = self.string()
            if not self.skip(":"):
                self.fail("no colon")
            value = self.value(depth)
            if name not in members or self.habits.duplicates == "last":
                members[name] = value
            elif self.habits.duplicates == "refuse":
                self.fail("a member name that appears twice")
            if self.skip("}"):
                return members
            if not self.skip(","):
                self.fail("no end of an object")

    def array(self, depth):
        self.at += 1
        items = []
        if self.skip("]"):
            return items
        while True:
            if items and self.habits.comments and self.skip("]"):
                return items
            items.append(self.value(depth))
            if self.skip("]"):
                return items
            if not self.skip(","):
                self.fail("no end of an array")

    def string(self):
        self.at += 1
        parts = []
        while True:
            found = PLAIN.match(self.text, self.at)
            parts.append(found[0])
            self.at = found.end()
            stop = self.text[self.at : self.at + 1]
            if stop == '"':
                self.at += 1
                return "".join(parts)
            if stop != "\\":
                self.fail("a raw control character" if stop else "no end of a string", bool(stop))
            found = ESCAPE.match(self.text, self.at) or self.fail("an unknown escape")
            self.at = found.end()
            if not found[1]:
                parts.append(LETTERS.get(found[2], found[2]))
                continue
            unit = int(found[1], 16)
            low = ESCAPE.match(self.text, self.at) if 0xD800 <= unit <= 0xDBFF else None
            if low and low[1] and 0xDC00 <= int(low[1], 16) <= 0xDFFF:
                self.at = low.end()
                unit = 0x10000 + ((unit - 0xD800) << 10) + (int(low[1], 16) - 0xDC00)
            parts.append(chr(unit))


# --- Writing ----------------------------------------------------------------------------------------------------------


@dataclass
class Style:
    """The forms of JSON text that all mean the same (rules 12 and 13 of 4.8.2.1)."""

    ascii: bool = False  # \\u escapes for everything beyond ASCII
    slashes: bool = False  # the solidus escaped
    indent: bool = False
    order: str = "kept"  # or "sorted", "reversed"
    numbers: str = "kept"  # or "shortest" (the same decimal value), "binary64"
    tail: str = ""  # white space at the end


def string(value, style=Style()):
    """A string between quotes."""

    def escaped(found):
        return SHORT.get(found[0]) or f"\\u{ord(found[0]):04x}"

    text = TO_ESCAPE.sub(escaped, value)
    if style.ascii:
        units = []
        for character in text:
            if ord(character) < 0x80:
                units.append(character)
            else:
                raw = character.encode("utf-16-be", "surrogatepass")
                units += [f"\\u{raw[i]:02X}{raw[i + 1]:02X}" for i in range(0, len(raw), 2)]
        text = "".join(units)
    if style.slashes:
        text = text.replace("/", "\\/")
    return f'"{text}"'


def number(value, style=Style()):
    if style.numbers == "kept":
        return value.text
    if style.numbers == "binary64":
        whole = value.whole()
        if value.plain and whole is not None and abs(whole) < 2**63:
            return str(int(float(whole))) if abs(whole) > 2**53 else str(whole)
        real = float(value.text)
        return value.text if real in (float("inf"), float("-inf")) else repr(real)
    exact = value.decimal()
    if not exact.is_finite() or abs(exact.adjusted()) > 60:
        return value.text
    whole = value.whole()
    if whole is not None and abs(whole) < 10**21:
        return str(whole)
    text = format(exact.normalize(decimal.Context(prec=1000)), "f") if exact.adjusted() > -8 else str(exact)
    return text.replace("E", "e").replace("e+", "e")


def write(value, style=Style()):
    """The text of a value."""
    parts = []
    emit(value, style, parts, "\n" if style.indent else "")
    return "".join(parts)


def emit(value, style, parts, line):
    inner = line + "  " if line else ""
    if isinstance(value, dict):
        names = list(value)
        if style.order == "sorted":
            names.sort()
        elif style.order == "reversed":
            names.reverse()
        parts.append("{")
        for n, name in enumerate(names):
            parts += ["," if n else "", inner, string(name, style), ": " if line else ":"]
            emit(value[name], style, parts, inner)
        parts += [line if names else "", "}"]
    elif isinstance(value, list):
        parts.append("[")
        for n, item in enumerate(value):
            parts += ["," if n else "", inner]
            emit(item, style, parts, inner)
        parts += [line if value else "", "]"]
    elif isinstance(value, str):
        parts.append(string(value, style))
    elif value is None or isinstance(value, bool):
        parts.append({None: "null", True: "true", False: "false"}[value])
    elif isinstance(value, Number):
        parts.append(number(value, style))
    else:
        parts.append(str(value))


def encode(value, style=Style()):
    """The bytes of a message."""
    return (write(value, style) + style.tail).encode("utf-8")


def copy(value):
    """A deep copy of the containers; what they hold never changes."""
    if isinstance(value, dict):
        return {name: copy(member) for name, member in value.items()}
    if isinstance(value, list):
        return [copy(item) for item in value]
    return value


def at(value, pointer):
    """(found, value) at a JSON Pointer."""
    for part in pointer.split("/")[1:]:
        part = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return False, None
    return True, value

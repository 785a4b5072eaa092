"""JSON text to values and back, strict and without loss.

Python's own reader is not used: it accepts NaN, duplicate names and unpaired surrogates, turns 1e400
into infinity, and stops at the recursion limit. Here all of those but the last are refused (E07, E08), and nesting is
limited only by the length of the input, because neither reading nor writing recurses.

Objects become dicts in the order of the input, integers ints of any size, other numbers floats.
"""

import re

from .errors import NotCanonicalizable

_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
_UNIT = re.compile(r"[0-9A-Fa-f]{4}")
_SHORT = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_WORDS = {"true": True, "false": False, "null": None}


def read(data):
    """The value in `data`, which is UTF-8. A byte order mark is not JSON."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotCanonicalizable(f"not UTF-8: {error.reason} at byte {error.start}") from None
    return _Reader(text).document()


class _Reader:
    def __init__(self, text):
        self.text = text
        self.at = 0

    def fail(self, reason):
        raise NotCanonicalizable(f"{reason} at character {self.at}")

    def next(self):
        """Skip white space and look at the character after it; "" at the end."""
        self.at = _SPACE.match(self.text, self.at).end()
        return self.text[self.at : self.at + 1]

    def document(self):
        value = self.value()
        if self.next():
            self.fail("text after the value")
        return value

    def value(self):
        # Open containers, each with the name of its next member.
        unfinished = []
        while True:
            start = self.next()
            if start == "{":
                self.at += 1
                value = {}
                if self.next() != "}":
                    unfinished.append((value, self.name(value)))
                    continue
                self.at += 1
            elif start == "[":
                self.at += 1
                value = []
                if self.next() != "]":
                    unfinished.append((value, None))
                    continue
                self.at += 1
            else:
                value = self.scalar(start)
            # The value is complete. It may complete its containers.
            while unfinished:
                container, name = unfinished[-1]
                if isinstance(container, dict):
                    container[name] = value
                else:
                    container.append(value)
                separator = self.next()
                if separator == ",":
                    self.at += 1
                    if isinstance(container, dict):
                        unfinished[-1] = (container, self.name(container))
                    break
                if separator != ("}" if isinstance(container, dict) else "]"):
                    self.fail("neither a comma nor an end")
                self.at += 1
                value, _ = unfinished.pop()
            else:
                return value

    def name(self, members):
        if self.next() != '"':
            self.fail("no member name")
        name = self.string()
        if name in members:
            self.fail("a duplicate member name")
        if self.next() != ":":
            self.fail("no colon")
        self.at += 1
        return name

    def scalar(self, start):
        if start == '"':
            return self.string()
        for word, value in _WORDS.items():
            if self.text.startswith(word, self.at):
                self.at += len(word)
                return value
        return self.number()

    def number(self):
        found = _NUMBER.match(self.text, self.at)
        if not found:
            self.fail("no value")
        value = float(found.group())
        if value in (float("inf"), float("-inf")):
            self.fail("a number beyond the range of a double")
        whole, fraction, exponent = found.groups()
        # Negative zero stays a float: an int cannot be one.
        if fraction is None and exponent is None and whole != "-0":
            value = int(whole)
        self.at = found.end()
        return value

    def string(self):
        self.at += 1
        parts = []
        while True:
            plain = _PLAIN.match(self.text, self.at)
            parts.append(plain.group())
            self.at = plain.end()
            stop = self.text[self.at : self.at + 1]
            if stop == '"':
                self.at += 1
                return "".join(parts)
            if stop != "\\":
                self.fail("a raw control character" if stop else "no end of a string")
            parts.append(self.escape())

    def escape(self):
        letter = self.text[self.at + 1 : self.at + 2]
        if letter in _SHORT:
            self.at += 2
            return _SHORT[letter]
        if letter != "u":
            self.fail("an unknown escape")
        unit = self.unit()
        if 0xDC00 <= unit <= 0xDFFF:
            self.fail("an unpaired surrogate")
        if not 0xD800 <= unit <= 0xDBFF:
            return chr(unit)
        low = self.unit() if self.text.startswith("\\u", self.at) else 0
        if not 0xDC00 <= low <= 0xDFFF:
            self.fail("an unpaired surrogate")
        return chr(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00))

    def unit(self):
        digits = _UNIT.match(self.text, self.at + 2)
        if not digits:
            self.fail("not four hex digits")
        self.at = digits.end()
        return int(digits.group(), 16)


# --- Writing ----------------------------------------------------------------------------------------------------------

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
_ESCAPED = re.compile(r'["\\\x00-\x1f]')


def string(value):
    """A string between quotes: only necessary escapes, in the shortest form, hex digits in lower case (E06)."""
    return '"' + _ESCAPED.sub(lambda found: _ESCAPES.get(found[0]) or f"\\u{ord(found[0]):04x}", value) + '"'


def write(value, members=dict.items, number=repr):
    """The text of a value on one line. `members` says which members an object has and in what order, `number` how
    numbers are spelled."""
    written = []
    # The remaining items in reverse order: pieces of text (True) and values (False).
    left = [(False, value)]
    while left:
        is_text, item = left.pop()
        if is_text:
            written.append(item)
        elif isinstance(item, dict):
            pieces = [(True, "{")]
            for index, (name, member) in enumerate(members(item)):
                pieces.append((True, ("," if index else "") + string(name) + ":"))
                pieces.append((False, member))
            pieces.append((True, "}"))
            left.extend(reversed(pieces))
        elif isinstance(item, list):
            pieces = [(True, "[")]
            for index, element in enumerate(item):
                if index:
                    pieces.append((True, ","))
                pieces.append((False, element))
            pieces.append((True, "]"))
            left.extend(reversed(pieces))
        elif isinstance(item, str):
            written.append(string(item))
        elif item is None or isinstance(item, bool):  # before numbers: in Python True is one
            written.append({None: "null", True: "true", False: "false"}[item])
        else:
            written.append(number(item))
    return "".join(written)


def wire(value):
    """The bytes of a value for clients: nothing is renamed, sorted, filled in or left out (section 6)."""
    return write(value).encode("utf-8")

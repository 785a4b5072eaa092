"""JSON text to values and back, without loss (RFC 8259; 4.8.2.1 rule 1).

A relay has to pass on numbers of any size and precision, so a number is kept as a `Literal`, its spelling. Objects are dicts
in the order of the input. Neither reading nor writing recurses: depth is limited by `MAX_DEPTH` only.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

MAX_DEPTH = 1000

TOKEN = re.compile(
    r"""[ \t\n\r]*(?:
      (?P<mark>[][{}:,])
    | "(?P<string>(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*)"
    | (?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)
    | (?P<word>true|false|null)
    | (?P<end>\Z)
    )""",
    re.VERBOSE,
)
ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})(?:\\u([Dd][C-Fc-f][0-9A-Fa-f]{2}))?|(.))", re.S)
WORDS = {"true": True, "false": False, "null": None}
LETTERS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class NotJson(ValueError):
    """Bytes that are not exactly one JSON text without repeated member names (E64)."""


class Literal:
    """A number by its spelling. Equal if the exact values are."""

    __slots__ = ("spelling",)

    def __init__(self, spelling: object) -> None:
        self.spelling = str(spelling)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and self.value() == other.value()

    def __hash__(self) -> int:
        return hash(self.value())

    def __repr__(self) -> str:
        return f"Literal({self.spelling})"

    def value(self) -> Decimal:
        """The exact value; infinite if the exponent is beyond what Decimal can hold."""
        try:
            return Decimal(self.spelling)
        except InvalidOperation:
            return Decimal("-Infinity" if self.spelling.startswith("-") else "Infinity")

    def integer(self) -> int | None:
        """The value if it is whole (5.0 and 1e1 are: E21), else None. Numbers above 10^300 are never counts."""
        value = self.value()
        if not value.is_finite() or value.adjusted() > 300 or value != value.to_integral_value():
            return None
        return int(value)


def _unescaped(found: re.Match) -> str:
    high, low, letter = found.groups()
    if letter is not None:
        return LETTERS.get(letter, letter)
    unit = int(high, 16)
    if low is None:
        return chr(unit)
    if 0xD800 <= unit <= 0xDBFF:
        return chr(0x10000 + ((unit - 0xD800) << 10) + (int(low, 16) - 0xDC00))
    return chr(unit) + chr(int(low, 16))


class _Tokens:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def next(self) -> tuple[str, object]:
        found = TOKEN.match(self.text, self.at)
        if found is None:
            raise NotJson(f"no JSON at character {self.at}")
        self.at = found.end()
        kind = found.lastgroup or ""
        text = found.group(kind)
        if kind == "string":
            return kind, ESCAPE.sub(_unescaped, text) if "\\" in text else text
        if kind == "number":
            return kind, Literal(text)
        return kind, WORDS[text] if kind == "word" else text


def read(data: bytes) -> object:
    """The value in UTF-8 bytes. A byte order mark in front is skipped (E68)."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotJson(f"not UTF-8 at byte {error.start}") from None
    tokens = _Tokens(text[1:] if text.startswith("\ufeff") else text)
    open_: list[tuple[object, str | None]] = []  # containers, and the name of the member that comes next
    while True:
        kind, value = tokens.next()
        if kind == "mark" and value in ("{", "["):
            if len(open_) >= MAX_DEPTH:
                raise NotJson("nested too deeply")
            container: object = {} if value == "{" else []
            start = tokens.at
            kind, value = tokens.next()
            if (kind, value) != ("mark", "}" if isinstance(container, dict) else "]"):
                tokens.at = start
                open_.append((container, _name(tokens, container) if isinstance(container, dict) else None))
                continue
            value = container
        elif kind in ("mark", "end"):
            raise NotJson(f"no value before character {tokens.at}")
        while open_:
            container, name = open_.pop()
            if isinstance(container, dict):
                container[name] = value
            else:
                container.append(value)  # type: ignore[attr-defined]
            kind, mark = tokens.next()
            if (kind, mark) == ("mark", ","):
                open_.append((container, _name(tokens, container) if isinstance(container, dict) else None))
                break
            if (kind, mark) != ("mark", "}" if isinstance(container, dict) else "]"):
                raise NotJson(f"no end of a container at character {tokens.at}")
            value = container
        else:
            if tokens.next()[0] != "end":
                raise NotJson("text after the value")
            return value


def _name(tokens: _Tokens, members: dict) -> str:
    kind, name = tokens.next()
    if kind != "string":
        raise NotJson(f"no member name at character {tokens.at}")
    if name in members:
        raise NotJson("a member name twice")
    if tokens.next() != ("mark", ":"):
        raise NotJson(f"no colon at character {tokens.at}")
    return str(name)


# --- Writing ----------------------------------------------------------------------------------------------------------

QUOTED = re.compile(r'["\\\x00-\x1f\ud800-\udfff]')
SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def quote(text: str) -> str:
    return '"' + QUOTED.sub(lambda found: SHORT.get(found[0]) or f"\\u{ord(found[0]):04x}", text) + '"'


def write(value: object) -> str:
    parts: list[str] = []
    left: list[object] = [value]
    while left:
        item = left.pop()
        if isinstance(item, _Piece):
            parts.append(item.text)
        elif isinstance(item, dict):
            pieces: list[object] = [_Piece("{")]
            for index, (name, member) in enumerate(item.items()):
                pieces += [_Piece(("," if index else "") + quote(name) + ":"), member]
            left.extend(reversed([*pieces, _Piece("}")]))
        elif isinstance(item, list):
            pieces = [_Piece("[")]
            for index, member in enumerate(item):
                pieces += [_Piece(","), member] if index else [member]
            left.extend(reversed([*pieces, _Piece("]")]))
        elif isinstance(item, str):
            parts.append(quote(item))
        elif isinstance(item, Literal):
            parts.append(item.spelling)
        else:
            parts.append({True: "true", False: "false", None: "null"}[item])  # type: ignore[index]
    return "".join(parts)


class _Piece:
    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def encode(value: object) -> bytes:
    """UTF-8 without a byte order mark."""
    return write(value).encode("utf-8")


def from_plain(value: object) -> object:
    """A value of Python's json module in the form of this module."""
    if isinstance(value, dict):
        return {name: from_plain(member) for name, member in value.items()}
    if isinstance(value, list):
        return [from_plain(member) for member in value]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return Literal(repr(value))
    return value


def pointed(value: object, pointer: str) -> tuple[bool, object]:
    """Whether there is a value at a JSON Pointer (RFC 6901), and that value."""
    for token in pointer.split("/")[1:]:
        token = token.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and token in value:
            value = value[token]
        elif isinstance(value, list) and token.isdigit() and int(token) < len(value):
            value = value[int(token)]
        else:
            return False, None
    return True, value

"""CBOR (RFC 8949): a strict reader, and a writer of the deterministic form only (section 8.1, E10, E11).

The reader accepts any well-formed and valid encoding, because bytes on the wire need not be deterministic (E09). It refuses
duplicate keys, text that is not UTF-8, bytes after the item, and nesting beyond `MAX_DEPTH`; a declared length is compared
with the available bytes before anything is allocated.

Values: int, bytes, str, list, `Map`, `Tag`, bool, None, float, `UNDEFINED` and `Simple`.
"""

from __future__ import annotations

import math
import struct
from typing import Any, Iterator, NoReturn

from .refusal import Misuse, Refusal

MAX_DEPTH = 64
UINT_MAX = 2**64 - 1

_BREAK = object()
_SIZES = {24: 1, 25: 2, 26: 4, 27: 8}
_FLOATS = {25: ">e", 26: ">f", 27: ">d"}


class Map:
    """A map of CBOR. Keys may be of any type, so they are kept as pairs; the order of the pairs has no meaning."""

    __slots__ = ("_pairs",)

    def __init__(self, pairs: dict | list | None = None):
        items = pairs.items() if isinstance(pairs, dict) else pairs or []
        # 1, 1.0 and True are one key to Python and three to CBOR, hence the encoding as the key.
        self._pairs: dict[bytes, tuple[Any, Any]] = {encode(key): (key, value) for key, value in items}

    def get(self, key: Any, default: Any = None) -> Any:
        """The value under `key`."""
        return self._pairs.get(encode(key), (None, default))[1]

    def add(self, key: Any, value: Any) -> bool:
        """Add a pair; return false, without a change, if the key exists already."""
        encoded = encode(key)
        if encoded in self._pairs:
            return False
        self._pairs[encoded] = (key, value)
        return True

    def __contains__(self, key: Any) -> bool:
        return encode(key) in self._pairs

    def __len__(self) -> int:
        return len(self._pairs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Map) and encode(self) == encode(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Map({list(self.items())!r})"

    def keys(self) -> Iterator[Any]:
        """The keys, in insertion order."""
        return (key for key, _ in self._pairs.values())

    def items(self) -> Iterator[tuple[Any, Any]]:
        """The pairs, in insertion order."""
        return iter(self._pairs.values())

    def encoded(self) -> list[tuple[bytes, Any]]:
        """The encoded keys with their values, in deterministic order (RFC 8949 section 4.2.1)."""
        return sorted(((key, value) for key, (_, value) in self._pairs.items()), key=lambda pair: pair[0])


class Tag:
    """A tagged value. Tags are kept and not interpreted (E11)."""

    __slots__ = ("number", "value")

    def __init__(self, number: int, value: Any):
        self.number = number
        self.value = value

    def __repr__(self) -> str:
        return f"Tag({self.number}, {self.value!r})"


class Simple:
    """A simple value other than false, true, null and undefined."""

    __slots__ = ("number",)

    def __init__(self, number: int):
        self.number = number

    def __repr__(self) -> str:
        return f"Simple({self.number})"


UNDEFINED = Simple(23)
_SIMPLE = {20: False, 21: True, 22: None, 23: UNDEFINED}


# --- Writing ------------------------------------------------------------------------------------------------------------


def encode(value: Any) -> bytes:
    """The deterministic encoding of `value`."""
    out = bytearray()
    _write(out, value)
    return bytes(out)


def _head(out: bytearray, major: int, argument: int) -> None:
    if argument < 24:
        out.append(major << 5 | argument)
        return
    for code, size in _SIZES.items():
        if argument < 1 << 8 * size:
            out.append(major << 5 | code)
            out += argument.to_bytes(size, "big")
            return
    raise Misuse(f"{argument} does not fit 64 bits")


def _write(out: bytearray, value: Any) -> None:
    if value is None:
        out.append(0xF6)
    elif isinstance(value, bool):
        out.append(0xF5 if value else 0xF4)
    elif isinstance(value, int):
        _head(out, 0, value) if value >= 0 else _head(out, 1, -1 - value)
    elif isinstance(value, str):
        try:
            data = value.encode("utf-8")
        except UnicodeEncodeError:
            raise Misuse("a text with half a surrogate pair has no encoding") from None
        _head(out, 3, len(data))
        out += data
    elif isinstance(value, (bytes, bytearray)):
        _head(out, 2, len(value))
        out += value
    elif isinstance(value, (list, tuple)):
        _head(out, 4, len(value))
        for item in value:
            _write(out, item)
    elif isinstance(value, (Map, dict)):
        pairs = (value if isinstance(value, Map) else Map(value)).encoded()
        _head(out, 5, len(pairs))
        for key, item in pairs:
            out += key
            _write(out, item)
    elif isinstance(value, float):
        out += _shortest(value)
    elif isinstance(value, Tag):
        _head(out, 6, value.number)
        _write(out, value.value)
    elif isinstance(value, Simple):
        out += bytes([0xE0 | value.number] if value.number < 24 else [0xF8, value.number])
    else:
        raise TypeError(f"{type(value).__name__} has no encoding")


def _shortest(value: float) -> bytes:
    """The shortest float that keeps the value; there is one NaN (E11)."""
    if math.isnan(value):
        return b"\xf9\x7e\x00"
    for code, form in _FLOATS.items():
        try:
            packed = struct.pack(form, value)
        except OverflowError:
            continue
        if struct.unpack(form, packed)[0] == value:
            return bytes([7 << 5 | code]) + packed
    raise AssertionError("binary64 keeps every float")


# --- Reading ------------------------------------------------------------------------------------------------------------


def decode(data: bytes) -> Any:
    """The single item in `data`. Raises `Refusal` 1001 if it is not well-formed and valid, or followed by other bytes."""
    value, end = decode_first(data)
    if end != len(data):
        raise Refusal(1001, f"{len(data) - end} bytes behind the item", "cbor")
    return value


def decode_first(data: bytes) -> tuple[Any, int]:
    """The first item in `data` and where it ends."""
    reader = _Reader(data)
    value = reader.item(0)
    if value is _BREAK:
        reader.fail("a break outside of an indefinite item")
    return value, reader.at


def is_deterministic(data: bytes) -> bool:
    """Whether `data` is one item in its deterministic form."""
    try:
        return encode(decode(data)) == data
    except Refusal:
        return False


class _Reader:
    def __init__(self, data: bytes):
        self.data = data
        self.at = 0

    def fail(self, reason: str) -> NoReturn:
        raise Refusal(1001, f"invalid CBOR: {reason} at byte {self.at}", "cbor")

    def take(self, count: int) -> bytes:
        """The next bytes. Compares before it slices: a declared length is only a claim."""
        if count > len(self.data) - self.at:
            self.fail("the data ends too early")
        self.at += count
        return self.data[self.at - count : self.at]

    def item(self, depth: int) -> Any:
        """The next item, or `_BREAK`."""
        if depth > MAX_DEPTH:
            self.fail("nested too deeply")
        initial = self.take(1)[0]
        major, info = initial >> 5, initial & 31
        if major == 7:
            return self.simple(info)
        if info == 31:
            return self.indefinite(major, depth)
        argument = self.argument(info)
        if major == 0:
            return argument
        if major == 1:
            return -1 - argument
        if major == 2:
            return self.take(argument)
        if major == 3:
            return self.text(self.take(argument))
        if major == 6:
            return Tag(argument, self.content(depth + 1))
        if argument * (1 if major == 4 else 2) > len(self.data) - self.at:
            self.fail("more items announced than bytes are left")
        if major == 4:
            return [self.content(depth + 1) for _ in range(argument)]
        pairs = Map()
        for _ in range(argument):
            self.pair(pairs, self.content(depth + 1), depth)
        return pairs

    def argument(self, info: int) -> int:
        if info < 24:
            return info
        size = _SIZES.get(info)
        if size is None:
            self.fail("a reserved length")
        return int.from_bytes(self.take(size), "big")

    def content(self, depth: int) -> Any:
        value = self.item(depth)
        if value is _BREAK:
            self.fail("a break instead of an item")
        return value

    def pair(self, pairs: Map, key: Any, depth: int) -> None:
        if not pairs.add(key, self.content(depth + 1)):
            self.fail("a duplicate key")  # section 8.1 rule 3, E16

    def text(self, data: bytes) -> str:
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            self.fail("text that is not UTF-8")

    def indefinite(self, major: int, depth: int) -> Any:
        if major in (2, 3):
            return self.chunks(major)
        if major not in (4, 5):
            if major == 7:
                return _BREAK
            self.fail("an invalid indefinite length")
        items: list = []
        pairs = Map()
        while True:
            value = self.item(depth + 1)
            if value is _BREAK:
                return items if major == 4 else pairs
            if major == 4:
                items.append(value)
            else:
                self.pair(pairs, value, depth)

    def chunks(self, major: int) -> Any:
        """A string of indefinite length: definite chunks of the same type, each of them valid by itself."""
        parts: list[Any] = []
        while True:
            initial = self.take(1)[0]
            if initial == 0xFF:
                return b"".join(parts) if major == 2 else "".join(parts)
            if initial >> 5 != major or initial & 31 == 31:
                self.fail("a chunk of another type")
            chunk = self.take(self.argument(initial & 31))
            parts.append(chunk if major == 2 else self.text(chunk))

    def simple(self, info: int) -> Any:
        if info == 31:
            return _BREAK
        if info in _FLOATS:
            return struct.unpack(_FLOATS[info], self.take(_SIZES[info]))[0]
        if info > 24:
            self.fail("a reserved simple value")
        number = info
        if info == 24:
            number = self.take(1)[0]
            if number < 32:
                self.fail("a simple value in two bytes that has one")
        return _SIMPLE[number] if number in _SIMPLE else Simple(number)

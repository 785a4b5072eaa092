"""CBOR (RFC 8949): a reader that keeps the encoding of each item, and the deterministic writer of section 4.2.1.

Items are Python's int, bytes, str and list, and the classes below. true, false, null and undefined are `Simple`, because in
Python True equals 1. cbor2 is only a check; `differs` compares the reader with it.
"""

import math
import struct
from dataclasses import dataclass

import cbor2

DEPTH_LIMIT = 256


class Refused(Exception):
    """The bytes are not a single well-formed and valid CBOR item."""


class Duplicate(Exception):
    """A map has a duplicate key, and so no deterministic form."""


@dataclass(frozen=True)
class Simple:
    number: int


@dataclass(frozen=True)
class Float:
    value: float


@dataclass(frozen=True)
class Tag:
    number: int
    item: object


class Map:
    """Pairs in the order of the bytes, duplicate keys included."""

    def __init__(self, pairs):
        self.pairs = list(pairs)

    def get(self, key):
        """The value of a text key, or Python's None."""
        for name, value in self.pairs:
            if isinstance(name, str) and name == key:
                return value
        return None

    def keys(self):
        return [key for key, _ in self.pairs]


FALSE, TRUE, NULL, UNDEFINED = Simple(20), Simple(21), Simple(22), Simple(23)
BREAK = object()


class Reader:
    def __init__(self, data):
        self.data = data
        self.at = 0

    def take(self, count):
        if count > len(self.data) - self.at:
            raise Refused(f"ends early: {count} bytes wanted at {self.at}")
        self.at += count
        return self.data[self.at - count : self.at]

    def head(self):
        """Major type, additional information and argument (None: indefinite length)."""
        first = self.take(1)[0]
        major, info = first >> 5, first & 31
        if info < 24:
            return major, info, info
        if info < 28:
            return major, info, int.from_bytes(self.take(1 << (info - 24)), "big")
        if info < 31 or major in (0, 1, 6):
            raise Refused(f"reserved initial byte {first:02x} at {self.at - 1}")
        return major, info, None

    def item(self, depth=0, may_break=False):
        if depth > DEPTH_LIMIT:
            raise Refused(f"nested deeper than {DEPTH_LIMIT}")
        start = self.at
        major, info, argument = self.head()
        if major == 0:
            return argument
        if major == 1:
            return -1 - argument
        if major in (2, 3):
            return self.string(major, argument)
        if major == 4:
            return self.list(argument, depth)
        if major == 5:
            return self.map(argument, depth)
        if major == 6:
            return Tag(argument, self.item(depth + 1))
        if argument is None:
            if may_break:
                return BREAK
            raise Refused(f"break at {start} outside an item of indefinite length")
        if info < 24:
            return Simple(argument)
        if info == 24:
            if argument < 32:
                raise Refused(f"simple value {argument} in two bytes")
            return Simple(argument)
        form = {25: ">e", 26: ">f", 27: ">d"}[info]
        return Float(struct.unpack(form, argument.to_bytes(struct.calcsize(form), "big"))[0])

    def string(self, major, length):
        if length is not None:
            return self.text(major, self.take(length))
        parts = []
        while True:
            if self.data[self.at : self.at + 1] == b"\xff":
                self.at += 1
                return (b"" if major == 2 else "").join(parts)
            chunk, _, length = self.head()
            if chunk != major or length is None:
                raise Refused("a chunk of another type in a string of indefinite length")
            parts.append(self.text(major, self.take(length)))

    @staticmethod
    def text(major, data):
        if major == 2:
            return data
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            raise Refused("text that is not UTF-8") from None

    def list(self, length, depth):
        items = []
        while length is None or len(items) < length:
            item = self.item(depth + 1, may_break=length is None)
            if item is BREAK:
                break
            items.append(item)
        return items

    def map(self, length, depth):
        pairs = []
        while length is None or len(pairs) < length:
            key = self.item(depth + 1, may_break=length is None)
            if key is BREAK:
                break
            pairs.append((key, self.item(depth + 1)))
        return Map(pairs)


def member_bytes(data, name):
    """The bytes of a member of the encoded map, unchanged."""
    reader = Reader(data)
    _, _, count = reader.head()
    while count is None or count > 0:
        key = reader.item(1, may_break=count is None)
        start = reader.at
        if key is BREAK:
            break
        reader.item(1)
        if key == name:
            return data[start : reader.at]
        count = None if count is None else count - 1
    return None


def read(data):
    """The single item that the bytes encode."""
    reader = Reader(data)
    item = reader.item()
    if reader.at != len(data):
        raise Refused(f"{len(data) - reader.at} bytes after the item")
    return item


def head(major, number):
    if number < 24:
        return bytes([major << 5 | number])
    for info, width in ((24, 1), (25, 2), (26, 4), (27, 8)):
        if number < 1 << 8 * width:
            return bytes([major << 5 | info]) + number.to_bytes(width, "big")
    raise ValueError(number)


def float_bytes(value):
    """The shortest form that keeps the value; one NaN."""
    if math.isnan(value):
        return bytes.fromhex("f97e00")
    for first, form in ((0xF9, ">e"), (0xFA, ">f")):
        try:
            data = struct.pack(form, value)
        except OverflowError:
            continue
        if struct.unpack(form, data)[0] == value:
            return bytes([first]) + data
    return b"\xfb" + struct.pack(">d", value)


def write(item):
    """The deterministic form: minimal heads, definite lengths, keys in bytewise order of their encoding."""
    if isinstance(item, int):
        return head(0, item) if item >= 0 else head(1, -1 - item)
    if isinstance(item, bytes):
        return head(2, len(item)) + item
    if isinstance(item, str):
        data = item.encode("utf-8")
        return head(3, len(data)) + data
    if isinstance(item, list):
        return head(4, len(item)) + b"".join(map(write, item))
    if isinstance(item, Map):
        pairs = sorted((write(key), write(value)) for key, value in item.pairs)
        if len({key for key, _ in pairs}) != len(pairs):
            raise Duplicate()
        return head(5, len(pairs)) + b"".join(key + value for key, value in pairs)
    if isinstance(item, Tag):
        return head(6, item.number) + write(item.item)
    if isinstance(item, Simple):
        return bytes([0xE0 | item.number]) if item.number < 24 else bytes([0xF8, item.number])
    if isinstance(item, Float):
        return float_bytes(item.value)
    raise TypeError(type(item))


def has_duplicate(item):
    """Whether a map somewhere in the item has a duplicate key."""
    try:
        write(item)
    except Duplicate:
        return True
    return False


def plain(item):
    """The item as read by cbor2, or LookupError where cbor2 converts it (tags) or cannot represent it (keys)."""
    if isinstance(item, Map):
        if any(isinstance(key, (list, Map, Float)) for key, _ in item.pairs):
            raise LookupError("key")
        return {plain(key): plain(value) for key, value in item.pairs}
    if isinstance(item, list):
        return [plain(value) for value in item]
    if isinstance(item, Float):
        return item.value
    if isinstance(item, Tag):
        raise LookupError("tag")
    if isinstance(item, Simple):
        known = {20: False, 21: True, 22: None, 23: cbor2.undefined}
        return known[item.number] if item.number in known else cbor2.CBORSimpleValue(item.number)
    return item


def differs(data):
    """How cbor2 differs on bytes that `read` accepts, as text, or None. Map order does not count."""
    item = read(data)
    try:
        wanted = plain(item)
    except LookupError:
        return None
    if has_duplicate(item):
        return None
    found = cbor2.loads(data)
    return None if repr_of(found) == repr_of(wanted) else f"cbor2 reads {found!r}"


def repr_of(value):
    """A text that distinguishes 1 from True and 1.0, and does not depend on the order of a map."""
    if isinstance(value, dict):
        return "{" + ",".join(sorted(repr_of(k) + ":" + repr_of(v) for k, v in value.items())) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(repr_of, value)) + "]"
    return f"{type(value).__name__} {value!r}"

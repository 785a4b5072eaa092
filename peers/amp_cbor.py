"""CBOR (RFC 8949): a decoder that reports deviations from the deterministic form, and an encoder for the deterministic form
and for others.

Maps are `Map`, a list of pairs, because 1, 1.0 and True are different keys and a map may be a key. The encoder takes dicts too.
Nothing is allocated for a declared length: a length has to be covered by available bytes.
"""

import math
import struct


class CborError(ValueError):
    pass


class Map:
    __slots__ = ("pairs",)

    def __init__(self, pairs=()):
        self.pairs = list(pairs)

    def get(self, key, default=None):
        for k, v in self.pairs:
            if type(k) is type(key) and k == key:
                return v
        return default

    def has(self, key):
        return any(type(k) is type(key) and k == key for k, _ in self.pairs)

    def keys(self):
        return [k for k, _ in self.pairs]

    def __repr__(self):
        return "{" + ", ".join(f"{k!r}: {v!r}" for k, v in self.pairs) + "}"

    def __eq__(self, other):
        return isinstance(other, Map) and encode(self) == encode(other)

    __hash__ = None


class Tag:
    __slots__ = ("tag", "value")

    def __init__(self, tag, value):
        self.tag, self.value = tag, value

    def __repr__(self):
        return f"{self.tag}({self.value!r})"


class Simple:
    __slots__ = ("number",)

    def __init__(self, number):
        self.number = number

    def __repr__(self):
        return f"simple({self.number})"


def head(major, number, wide=False):
    if number < 0 or number > 0xFFFFFFFFFFFFFFFF:
        raise CborError("number beyond 64 bits")
    if wide:
        return bytes([major << 5 | 27]) + number.to_bytes(8, "big")
    if number < 24:
        return bytes([major << 5 | number])
    for code, size in ((24, 1), (25, 2), (26, 4), (27, 8)):
        if number < 1 << (8 * size):
            return bytes([major << 5 | code]) + number.to_bytes(size, "big")
    raise CborError("unreachable")


def encode_float(value, shortest=True):
    if math.isnan(value):
        return b"\xf9\x7e\x00" if shortest else b"\xfb" + struct.pack(">d", value)
    if shortest:
        for first, form in ((b"\xf9", ">e"), (b"\xfa", ">f")):
            try:
                packed = struct.pack(form, value)
            except OverflowError:
                continue
            if struct.unpack(form, packed)[0] == value:
                return first + packed
    return b"\xfb" + struct.pack(">d", value)


def encode(value, order="bytewise", wide=False, indefinite=False, floats="shortest"):
    """`order`: bytewise (deterministic), length-first, text, given or reverse. `wide`: all integers in eight bytes."""
    again = lambda v: encode(v, order, wide, indefinite, floats)
    if value is None:
        return b"\xf6"
    if value is True or value is False:
        return b"\xf5" if value else b"\xf4"
    if isinstance(value, int):
        return head(0, value, wide) if value >= 0 else head(1, -1 - value, wide)
    if isinstance(value, float):
        if floats == "integral" and value.is_integer() and abs(value) < 2**53:
            return again(int(value))
        return encode_float(value, floats != "double")
    if isinstance(value, (bytes, bytearray)):
        return head(2, len(value)) + bytes(value)
    if isinstance(value, str):
        text = value.encode("utf-8", "surrogateescape")
        return head(3, len(text)) + text
    if isinstance(value, (list, tuple)):
        items = b"".join(again(v) for v in value)
        return b"\x9f" + items + b"\xff" if indefinite else head(4, len(value)) + items
    if isinstance(value, (dict, Map)):
        pairs = value.pairs if isinstance(value, Map) else list(value.items())
        coded = [(again(k), again(v), k) for k, v in pairs]
        if type(value).__name__ == "Unsorted":
            pass
        elif order == "bytewise":
            coded.sort(key=lambda p: p[0])
        elif order == "length-first":
            coded.sort(key=lambda p: (len(p[0]), p[0]))
        elif order == "text":
            coded.sort(key=lambda p: p[2] if isinstance(p[2], str) else repr(p[2]))
        elif order == "length-only":
            coded.sort(key=lambda p: len(p[0]))
        elif order == "utf16":
            coded.sort(key=lambda p: p[2].encode("utf-16-be") if isinstance(p[2], str) else b"")
        elif order == "case":
            coded.sort(key=lambda p: p[2].lower() if isinstance(p[2], str) else repr(p[2]))
        elif order == "reverse":
            coded.reverse()
        items = b"".join(k + v for k, v, _ in coded)
        return b"\xbf" + items + b"\xff" if indefinite else head(5, len(coded)) + items
    if isinstance(value, Tag):
        return head(6, value.tag) + again(value.value)
    if isinstance(value, Simple):
        return bytes([0xE0 | value.number]) if value.number < 24 else bytes([0xF8, value.number])
    raise CborError(f"cannot encode {type(value).__name__}")


BREAK = object()


class Decoder:
    """Reads one item. `notes` lists its forms: indefinite, wide, duplicate, unsorted, float, tag, simple, utf8."""

    def __init__(self, data, depth=128, utf8="strict", duplicates="keep", bounds=True):
        self.data, self.at, self.depth, self.utf8, self.duplicates = data, 0, depth, utf8, duplicates
        self.bounds = bounds
        self.notes = set()
        self.deepest = 0

    def take(self, count):
        end = self.at + count
        if end > len(self.data):
            raise CborError("the end is missing")
        part = self.data[self.at : end]
        self.at = end
        return part

    def item(self, level=0, may_break=False):
        if level > self.depth:
            raise CborError("nested too deep")
        self.deepest = max(self.deepest, level)
        first = self.take(1)[0]
        major, low = first >> 5, first & 31
        if major == 7:
            return self.simple(low, may_break)
        if low < 24:
            number = low
        elif low < 28:
            size = 1 << (low - 24)
            number = int.from_bytes(self.take(size), "big")
            if number < 24 or (size > 1 and number < 1 << (4 * size)):
                self.notes.add("wide")
        elif low == 31 and major in (2, 3, 4, 5):
            self.notes.add("indefinite")
            return self.indefinite(major, level)
        else:
            raise CborError("reserved length")
        if major == 0:
            return number
        if major == 1:
            return -1 - number
        if major in (2, 3):
            if not self.bounds and number > len(self.data) - self.at:
                raise MemoryError(number)
            part = self.take(number)
            return bytes(part) if major == 2 else self.text(part)
        if major == 4:
            if number > len(self.data) - self.at:
                raise CborError("the end is missing")
            return [self.item(level + 1) for _ in range(number)]
        if major == 5:
            if 2 * number > len(self.data) - self.at:
                raise CborError("the end is missing")
            return self.map([self.pair(level) for _ in range(number)])
        self.notes.add("tag")
        return Tag(number, self.item(level + 1))

    def pair(self, level):
        start = self.at
        key = self.item(level + 1)
        middle = self.at
        value = self.item(level + 1)
        return bytes(self.data[start:middle]), key, value

    def map(self, coded):
        seen, last = {}, None
        for position, (wire, key, _) in enumerate(coded):
            form = encode(key)
            if form in seen:
                self.notes.add("duplicate")
            seen.setdefault(form, []).append(position)
            if last is not None and form < last:
                self.notes.add("unsorted")
            last = form
        if self.duplicates == "last":
            keep = {places[-1] for places in seen.values()}
        elif self.duplicates == "first":
            keep = {places[0] for places in seen.values()}
        else:
            keep = range(len(coded))
        return Map((k, v) for n, (_, k, v) in enumerate(coded) if n in keep)

    def text(self, part):
        if self.utf8 == "replace":
            return part.decode("utf-8", "replace")
        try:
            return part.decode("utf-8")
        except UnicodeDecodeError:
            self.notes.add("utf8")
            if self.utf8 == "keep":
                return part.decode("utf-8", "surrogateescape")
            raise CborError("text that is not UTF-8") from None

    def indefinite(self, major, level):
        if major in (2, 3):
            parts = []
            while True:
                if self.at < len(self.data) and self.data[self.at] == 0xFF:
                    self.at += 1
                    break
                first = self.data[self.at] if self.at < len(self.data) else 0
                if first >> 5 != major or first & 31 == 31:
                    raise CborError("chunk of another kind")
                parts.append(self.item(level + 1))
            return (b"" if major == 2 else "").join(parts)
        items = []
        while True:
            start = self.at
            key = self.item(level + 1, may_break=True)
            if key is BREAK:
                break
            if major == 4:
                items.append(key)
            else:
                wire = bytes(self.data[start : self.at])
                items.append((wire, key, self.item(level + 1)))
        return items if major == 4 else self.map(items)

    def simple(self, low, may_break):
        if low == 20 or low == 21:
            return low == 21
        if low == 22:
            return None
        if low in (25, 26, 27):
            self.notes.add("float")
            size, form = {25: (2, ">e"), 26: (4, ">f"), 27: (8, ">d")}[low]
            return struct.unpack(form, self.take(size))[0]
        if low == 31:
            if may_break:
                return BREAK
            raise CborError("break without a start")
        if low == 24:
            low = self.take(1)[0]
            if low < 32:
                raise CborError("simple value in two bytes")
        elif low > 24:
            raise CborError("reserved simple value")
        self.notes.add("simple")
        return Simple(low)


def decode(data, **more):
    decoder = Decoder(data, **more)
    value = decoder.item()
    if decoder.at != len(data):
        raise CborError("bytes after the item")
    return value


def top_level(data, **more):
    """The pairs of a map with the positions of their values: [(key, value, start, end)], the decoder, and the error that ended
    the reading or None. The part before the error is kept, so that a refusal can name the sender."""
    decoder = Decoder(data, **more)
    pairs = []
    try:
        first = decoder.take(1)[0]
        if first >> 5 != 5:
            decoder.at = 0
            decoder.item()
            return None, decoder, None
        count = None
        if first == 0xBF:
            decoder.notes.add("indefinite")
        else:
            decoder.at = 0
            low = first & 31
            if low > 27:
                raise CborError("reserved length")
            decoder.at = 1
            count = low if low < 24 else int.from_bytes(decoder.take(1 << (low - 24)), "big")
            if low >= 24 and count < 24:
                decoder.notes.add("wide")
            if 2 * count > len(data):
                raise CborError("the end is missing")
        while count is None or len(pairs) < count:
            key = decoder.item(1, may_break=count is None)
            if key is BREAK:
                break
            start = decoder.at
            value = decoder.item(1)
            pairs.append((key, value, start, decoder.at))
    except CborError as error:
        return pairs, decoder, error
    return pairs, decoder, None

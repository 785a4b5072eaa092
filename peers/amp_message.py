"""Messages: reading and checking an envelope (sections 4, 8), Sig_Input, and building one.

A check is `ways.refuse(rule, code)` where it fails; a choice or a bug may give the rule another code, a bug may leave the rule
out. After a rule that was left out, values are coerced as by a lenient library.
"""

import os
import unicodedata
from dataclasses import dataclass, field

import amp_cbor as cbor
import amp_keys as keys
from amp_options import Taken

ALG, MODE = "X25519-XSalsa20-Poly1305", "authcrypt"
MINUTE, DAY = 60_000, 86_400_000

TYPES = {
    "PING": 0x01, "PONG": 0x02, "ACK": 0x03, "PROC_OK": 0x04, "PROC_FAIL": 0x05, "CONTACT_REQUEST": 0x06,
    "CONTACT_RESPONSE": 0x07, "CONTACT_REVOKE": 0x08, "PROCESSING": 0x09, "PROGRESS": 0x0A, "INPUT_REQUIRED": 0x0B,
    "ERROR": 0x0F, "MESSAGE": 0x10, "REQUEST": 0x11, "RESPONSE": 0x12, "STREAM_START": 0x13, "STREAM_DATA": 0x14,
    "STREAM_END": 0x15, "BATCH": 0x16, "CAP_QUERY": 0x20, "CAP_DECLARE": 0x21, "CAP_INVOKE": 0x22, "CAP_RESULT": 0x23,
    "DOC_SEND": 0x30, "DOC_REQUEST": 0x31, "CRED_ISSUE": 0x40, "CRED_REQUEST": 0x41, "CRED_PRESENT": 0x42,
    "CRED_VERIFY": 0x43, "DELEG_GRANT": 0x50, "DELEG_REVOKE": 0x51, "DELEG_QUERY": 0x52, "PRESENCE": 0x60,
    "PRESENCE_QUERY": 0x61, "PRESENCE_SUB": 0x62, "PRESENCE_UNSUB": 0x63, "HELLO": 0x70, "HELLO_ACK": 0x71,
    "HELLO_REJECT": 0x72, "EXTENSION": 0xF0,
}  # fmt: skip
NAMES = {number: name for name, number in TYPES.items()}
HELLOS = (0x70, 0x71, 0x72)
CONTROL = (0x02, 0x03, 0x04, 0x05, 0x0F)  # never answered by an ACK

# code: (name, retry) of section 15.3
CODES = {
    1001: ("INVALID_MESSAGE", False), 1002: ("INVALID_SIGNATURE", False), 1003: ("INVALID_TIMESTAMP", False),
    1004: ("UNSUPPORTED_VERSION", False), 1005: ("UNKNOWN_TYPE", False), 2001: ("RECIPIENT_NOT_FOUND", True),
    2002: ("ENDPOINT_UNREACHABLE", True), 2003: ("RELAY_REJECTED", True), 2004: ("TTL_EXPIRED", False),
    3001: ("UNAUTHORIZED", False), 3002: ("CONTACT_REQUIRED", False), 3003: ("CONTACT_DENIED", False),
    3004: ("DELEGATION_INVALID", False), 3005: ("RATE_LIMITED", True), 4001: ("BAD_REQUEST", False),
    4002: ("CAPABILITY_NOT_FOUND", False), 4003: ("VERSION_MISMATCH", False), 4004: ("SCHEMA_VIOLATION", False),
    5001: ("INTERNAL_ERROR", True), 5002: ("UNAVAILABLE", True), 5003: ("TIMEOUT", True), 5004: ("OVERLOADED", True),
}  # fmt: skip
CATEGORIES = {1: "protocol", 2: "routing", 3: "security", 4: "client", 5: "server"}


class Refusal(Exception):
    """A message that is not accepted. `silent` without any answer, `bare` if no ERROR message names the sender."""

    def __init__(self, rule, code, details=None):
        super().__init__(f"{code} {rule}")
        self.rule, self.code, self.details = rule, code, details
        self.sender = self.id = self.typ = None
        self.thread_id = None


@dataclass
class Envelope:
    raw: bytes
    fields: dict = field(default_factory=dict)  # wire values by name, as they enter Sig_Input
    v: int = 1
    id: bytes = b""
    typ: int = 0
    ts: int = 0
    ttl: int = 0
    sender: str = ""
    to: list = field(default_factory=list)
    sig: bytes = b""
    body: object = None
    body_bytes: bytes = b""
    wire_body: bytes = b""
    enc: object = None
    ext: object = None
    encrypted: bool = False
    batch: tuple = None  # (container envelope, index)

    @property
    def thread_id(self):
        return self.fields.get("thread_id")

    @property
    def reply_to(self):
        return self.fields.get("reply_to")


def is_uint(value):
    return type(value) is int and value >= 0


def bend(value, default):
    """How a lenient library reads a value that is not an unsigned integer."""
    if type(value) is int:
        return value
    if type(value) is float and value == value and abs(value) < 2**63:
        return int(value)
    if type(value) is str:
        return int(value) if value.isdigit() else TYPES.get(value, default)
    if isinstance(value, cbor.Tag):
        if isinstance(value.value, bytes):
            return int.from_bytes(value.value, "big")
        return bend(value.value, default)
    return default


def text_of(value):
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return ""


def bytes_of(value, size=None):
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        try:
            return bytes.fromhex(value)
        except ValueError:
            return value.encode()
    if isinstance(value, list) and all(is_uint(b) and b < 256 for b in value):
        return bytes(value)
    return b""


REQUIRED = ("v", "id", "typ", "ts", "ttl", "from", "to", "sig")
KNOWN = REQUIRED + ("reply_to", "thread_id", "body", "enc", "ext")


def notes_of(decoder, ways):
    """Forms that a strict decoder may refuse (E09, E11)."""
    notes = decoder.notes
    if "indefinite" in notes and ways.has("refuse-indefinite"):
        ways.refuse("indefinite", 1001)
    if "wide" in notes and ways.has("refuse-wide"):
        ways.refuse("wide", 1001)
    if "wide" in notes and ways.bug("wide-crashes"):
        raise RuntimeError("unexpected length")
    if "float" in notes and ways.has("refuse-floats"):
        ways.refuse("floats", 1001)
    if "tag" in notes and ways.has("refuse-tags"):
        ways.refuse("tags", 1001)
    if "simple" in notes and ways.has("refuse-simple-values"):
        ways.refuse("simple-values", 1001)


def salvage(pairs, refusal):
    """The sender and id of a message that could not be read completely."""
    for key, value, *_ in pairs or ():
        if key == "from" and keys.is_did(value):
            refusal.sender = value
        elif key == "id" and isinstance(value, bytes) and len(value) == 16:
            refusal.id = value
        elif key == "typ" and type(value) is int:
            refusal.typ = value
        elif key == "thread_id" and isinstance(value, bytes):
            refusal.thread_id = value
    return refusal


def read(data, ways):
    """Step 1 of E31: all checks that need no clock, key or state."""
    pairs = []
    try:
        depth = 6 if ways.bug("depth-six") else 16 if ways.has("depth-16") else 150 if not ways.has("depth-64") else 66
        duplicates = "last" if ways.has("duplicates-last-win") or ways.bug("cbor-duplicate-last-wins") else "keep"
        if ways.has("duplicates-first-win") or ways.bug("cbor-duplicate-first-wins"):
            duplicates = "first"
        utf8 = "keep" if ways.has("utf8-unchecked") else "replace" if ways.bug("utf8-replaced") else "strict"
        limit = 5000 if ways.bug("depth-unlimited") else depth
        pairs, decoder, error = cbor.top_level(
            data, depth=limit, duplicates=duplicates, utf8=utf8, bounds=not ways.bug("cbor-length-allocated")
        )
        return _read(data, pairs, decoder, error, ways)
    except Refusal as refusal:
        if ways.has("no-salvage") and refusal.rule in ("not-cbor", "trailing"):
            raise
        raise salvage(pairs, refusal)


def _read(data, pairs, decoder, error, ways):
    if error is not None:
        raise Refusal("not-cbor", ways.code("not-cbor", 1001))
    if pairs is None:
        raise Refusal("not-a-map", ways.code("not-a-map", 1001))
    if error is None and decoder.at != len(data):
        ways.refuse("trailing", 1001)
    notes_of(decoder, ways)
    if ways.bug("integer-keys-read"):
        names = ("v", "id", "typ", "ts", "ttl", "from", "to", "reply_to", "thread_id", "sig", "body", "ext")
        pairs = [(names[k - 1] if type(k) is int and 0 < k < 13 else k, *rest) for k, *rest in pairs]
    if any(not isinstance(k, str) for k, *_ in pairs):
        ways.refuse("key-not-text", 1001)
    values, spans = {}, {}
    for key, value, start, end in pairs:
        if not isinstance(key, str):
            continue
        if ways.bug("keys-ignore-case"):
            key = key.lower()
        if key in values:
            if ways.has("duplicates-last-win") or ways.bug("cbor-duplicate-last-wins"):
                pass
            elif ways.has("duplicates-first-win") or ways.bug("cbor-duplicate-first-wins"):
                continue
            else:
                ways.refuse("duplicate-key", 1001)
        values[key], spans[key] = value, (start, end)
    if ways.has("refuse-unknown-members") and any(k not in KNOWN for k in values):
        ways.refuse("unknown-member", 1001)
    if ways.bug("unknown-member-changes-type") and any(k not in KNOWN for k in values):
        values["typ"] = 0x0C
    if ways.bug("ttl-default-filled"):
        values.setdefault("ttl", DAY)
    for name in REQUIRED:
        if name not in values:
            code = ways.code("missing-ttl-beside-enc", 1001) if name == "ttl" and "enc" in values else 1001
            ways.refuse("missing-" + name, code)
            values[name] = {"v": 1, "id": os.urandom(16), "typ": 0x10, "ts": ways.now(), "ttl": DAY}.get(name, b"" if name == "sig" else "")
    return _typed(data, values, spans, ways)


def _typed(data, values, spans, ways):
    for name in ("v", "typ", "ts", "ttl"):
        if isinstance(values[name], bool) and ways.bug("bool-as-" + name):
            values[name] = int(values[name]) if name in ("v", "typ") else ways.now()
        if not is_uint(values[name]) or values[name] >= 2**64:
            ways.refuse("type-" + name, 1001)
    for name in ("id", "sig"):
        if not isinstance(values[name], bytes):
            ways.refuse("type-" + name, 1001)
    for name in ("reply_to", "thread_id"):
        if name in values and values[name] is None:
            ways.refuse("null-" + name, 1001)
            if not ways.bug("null-reference-signed"):
                del values[name]
        elif name in values and not isinstance(values[name], bytes):
            ways.refuse("type-" + name, 1001)
    if not isinstance(values["from"], str):
        ways.refuse("type-from", 1001)
    to = values["to"]
    if isinstance(to, list):
        if not to:
            ways.refuse("empty-to", 1001)
        if not all(isinstance(t, str) for t in to):
            ways.refuse("type-to", 1001)
        if ways.bug("to-array-refused"):
            ways.refuse("to-array", 1001)
    elif not isinstance(to, str):
        ways.refuse("type-to", 1001)
    if "ext" in values:
        ext = values["ext"]
        if not isinstance(ext, cbor.Map) or any(not isinstance(k, str) for k in ext.keys()):
            if not ways.has("ext-unchecked"):
                ways.refuse("type-ext", 1001)
        if ways.bug("ext-refused"):
            ways.refuse("ext-there", 1001)
    message = Envelope(
        raw=bytes(data),
        v=bend(values["v"], 1),
        id=bytes_of(values["id"]),
        typ=bend(values["typ"], 0x10),
        ts=bend(values["ts"], ways.now()),
        ttl=bend(values["ttl"], DAY),
        sender=text_of(values["from"] if not isinstance(values["from"], list) else (values["from"] or [""])[0]),
        to=[text_of(t) for t in (to if isinstance(to, list) else [to])],
        sig=bytes_of(values["sig"]),
        ext=values.get("ext"),
    )
    message.fields = {k: values[k] for k in ("id", "typ", "ts", "ttl", "from", "to", "reply_to", "thread_id", "v", "ext") if k in values}
    Taken.now().message = message
    if len(message.id) != 16:
        ways.refuse("id-size", 1001)
        message.id = message.id if ways.bug("id-any-size") else message.id[:16].ljust(16, b"\0")
    if len(message.sig) != 64:
        ways.refuse("sig-size", 1001)
        message.sig = message.sig[:64].ljust(64, b"\0")
    if message.reply_to is not None and len(message.reply_to) != 16 and ways.has("reply-to-size-checked"):
        ways.refuse("reply-to-size", 1001)
    if message.thread_id == b"" and ways.has("thread-id-not-empty"):
        ways.refuse("thread-id-empty", 1001)
    if isinstance(message.thread_id, bytes):
        if ways.bug("thread-id-16-only") and len(message.thread_id) != 16:
            ways.refuse("thread-id-size", 1001)
        if ways.bug("thread-id-must-be-utf8"):
            try:
                message.thread_id.decode("utf-8")
            except UnicodeDecodeError:
                ways.refuse("thread-id-utf8", 1001)
    if not keys.is_did(message.sender):
        ways.refuse("from-syntax", 1001)
    if ways.has("to-syntax-checked") and not all(keys.is_did(t) for t in message.to):
        ways.refuse("to-syntax", 1001)
    _content(message, values, spans, ways)
    apart = int.from_bytes(message.id[:8], "little" if ways.bug("id-read-little-endian") else "big") - message.ts
    far = abs(apart) > 1000
    if ways.bug("id-second-exclusive"):
        far = abs(apart) >= 1000
    elif ways.bug("id-must-equal"):
        far = apart != 0
    elif ways.bug("id-time-one-sided"):
        far = apart > 1000
    elif ways.bug("id-time-other-side"):
        far = apart < -1000
    elif ways.bug("id-time-one-minute"):
        far = abs(apart) > MINUTE
    elif ways.bug("id-time-in-whole-seconds"):
        far = abs(int.from_bytes(message.id[:8], "big") // 1000 - message.ts // 1000) > 1
    elif ways.bug("id-time-low-32-bits"):
        far = abs((int.from_bytes(message.id[:8], "big") & 0xFFFFFFFF) - (message.ts & 0xFFFFFFFF)) > 1000
    if far:
        ways.refuse("id-time", 1001)
    return message


def _content(message, values, spans, ways):
    there, enc_there = "body" in values, "enc" in values
    if ways.bug("body-null-beside-enc") and there and enc_there and values["body"] is None:
        there = False
    if there and enc_there:
        ways.refuse("body-and-enc", 1001)
        if ways.bug("enc-wins-over-body"):
            there = False
        else:
            enc_there = False
    if ways.bug("null-enc-is-absent") and enc_there and values["enc"] is None and not there:
        enc_there, there = False, True
        values["body"], spans["body"] = None, (0, 0)
    if not there and not enc_there:
        ways.refuse("body-or-enc", 1001)
        values["body"], spans["body"] = None, (0, 0)
        there = True
    if there:
        message.body = values["body"]
        start, end = spans["body"]
        message.wire_body = message.raw[start:end] or b"\xf6"
        return
    enc = values["enc"]
    if not isinstance(enc, cbor.Map):
        ways.refuse("type-enc", 1001)
        enc = cbor.Map()
    for name, fits in (
        ("alg", lambda v: isinstance(v, str)),
        ("mode", lambda v: isinstance(v, str)),
        ("nonce", lambda v: isinstance(v, bytes)),
        ("ciphertext", lambda v: isinstance(v, bytes)),
    ):
        if not enc.has(name):
            ways.refuse("enc-missing-" + name, 1001)
        elif not fits(enc.get(name)):
            ways.refuse("enc-type-" + name, 1001)
    if enc.get("alg") != ALG:
        same = isinstance(enc.get("alg"), str) and enc.get("alg").lower() == ALG.lower()
        if not (ways.bug("enc-alg-any-case") and same):
            ways.refuse("enc-alg", 1001)
    if enc.get("mode") != MODE:
        same = isinstance(enc.get("mode"), str) and enc.get("mode").lower() == MODE
        if not (ways.bug("enc-mode-any-case") and same):
            ways.refuse("enc-mode", 1001)
    nonce = enc.get("nonce")
    if isinstance(nonce, bytes) and len(nonce) > 24 and ways.bug("enc-nonce-longer-cut"):
        nonce = nonce[:24]
    if not isinstance(nonce, bytes) or len(nonce) != 24:
        ways.refuse("enc-nonce-size", 1001)
        nonce = bytes_of(nonce)[:24].ljust(24, b"\0")
    if ways.has("enc-closed") and any(k not in ("alg", "mode", "nonce", "ciphertext") for k in enc.keys()):
        ways.refuse("enc-member", 1001)
    if len(bytes_of(enc.get("ciphertext"))) < 16:
        ways.refuse("enc-short", 3001)
    message.enc = {"nonce": nonce, "ciphertext": bytes_of(enc.get("ciphertext")), "epk": enc.get("epk")}
    message.encrypted = True


def sig_input(fields, body_bytes, ways=None):
    """Section 8.1. `fields` are wire values; absent ones are absent."""
    bug = ways.sig_bug if ways else lambda name: False
    names = ["id", "typ", "ts", "ttl", "from", "to", "reply_to", "thread_id"]
    headers = {k: fields[k] for k in names if k in fields}
    if bug("sig-null-for-absent"):
        headers = {k: fields.get(k) for k in names}
    for name in names:
        if bug("sig-skip-" + name.replace("_", "-")):
            headers.pop(name, None)
    if bug("sig-flatten-single-to") and isinstance(headers.get("to"), list) and len(headers["to"]) == 1:
        headers["to"] = headers["to"][0]
    if bug("sig-array-always-to") and isinstance(headers.get("to"), str):
        headers["to"] = [headers["to"]]
    if bug("sig-first-recipient-only") and isinstance(headers.get("to"), list):
        headers["to"] = headers["to"][0] if headers["to"] else ""
    if bug("sig-sort-recipients") and isinstance(headers.get("to"), list):
        headers["to"] = sorted(headers["to"], key=str)
    if bug("sig-bare-from"):
        headers["from"] = keys.bare(text_of(headers.get("from")))
    if bug("sig-lowercase-dids"):
        headers["from"] = text_of(headers.get("from")).lower()
    if bug("sig-includes-v"):
        headers["v"] = fields.get("v", 1)
    if bug("sig-includes-ext") and "ext" in fields:
        headers["ext"] = fields["ext"]
    if bug("sig-ts-in-seconds"):
        headers["ts"] = headers.get("ts", 0) // 1000
    if bug("sig-id-as-hex"):
        headers["id"] = bytes_of(headers.get("id")).hex()
    context = "AMP-v2" if bug("sig-context-v2") else "amp-v1" if bug("sig-context-lower") else "AMP-v1"
    protected = b""
    if bug("sig-protected-integer"):
        protected = 1
    elif bug("sig-protected-map"):
        protected = b"\xa0"
    elif bug("sig-protected-null"):
        protected = None
    if bug("sig-headers-array"):
        headers = list(headers.values())
    order = "text" if bug("sig-raw-text-order") else "given" if bug("sig-declaration-order") else "bytewise"
    wide = bug("sig-wide-integers")
    if bug("sig-body-inline"):
        parts = cbor.encode([context, protected], order, wide)[1:] + cbor.encode(headers, order, wide) + body_bytes
        return b"\x84" + parts
    items = [context, protected, headers, body_bytes]
    if bug("sig-three-elements"):
        items = [context, headers, body_bytes]
    whole = cbor.encode(items, order, wide)
    if bug("sig-over-sha256"):
        import hashlib

        whole = hashlib.sha256(whole).digest()
    return whole


def misread_scalar(value, name):
    """A value as read by libraries of other languages."""
    if name == "reads-integers-as-doubles" and type(value) is int and abs(value) > 2**53:
        return int(float(value)) % 2**64 if value > 0 else max(int(float(value)), -(2**64))
    if name == "reads-integers-as-signed-64" and type(value) is int and value >= 2**63:
        return value - 2**64
    if name == "reads-integers-as-signed-32" and type(value) is int and abs(value) >= 2**31:
        return (value + 2**31) % 2**32 - 2**31
    if name == "reads-negatives-off-by-one" and type(value) is int and value < 0:
        return value + 1
    if name == "reads-booleans-as-integers" and isinstance(value, bool):
        return int(value)
    if name == "reads-ascii-bytes-as-text" and isinstance(value, bytes) and value.isascii() and value:
        return value.decode()
    if name == "reads-null-as-empty-text" and value is None:
        return ""
    if name == "reads-text-in-normal-form" and isinstance(value, str):
        return unicodedata.normalize("NFC", value)
    if name == "reads-text-without-spaces-at-its-ends" and isinstance(value, str):
        return value.strip()
    if name == "reads-text-by-characters" and isinstance(value, str):
        return value.encode()[: len(value)].decode("utf-8", "ignore")
    return value


MISREADINGS = (
    "reads-integers-as-doubles", "reads-integers-as-signed-64", "reads-integers-as-signed-32", "reads-negatives-off-by-one",
    "reads-booleans-as-integers", "reads-ascii-bytes-as-text", "reads-null-as-empty-text", "reads-text-in-normal-form",
    "reads-text-without-spaces-at-its-ends", "reads-text-by-characters", "reads-keys-of-digits-as-integers",
    "reads-integer-keys-as-text", "reads-empty-arrays-as-maps", "reads-empty-maps-as-arrays", "drops-null-members",
    "keeps-large-maps-unsorted", "keeps-inner-maps-unsorted",
)  # fmt: skip


def misread(value, ways, level=0):
    name = ways.name
    again = lambda v: misread(v, ways, level + 1)
    if isinstance(value, list):
        if name == "reads-empty-arrays-as-maps" and not value:
            ways.bug(name)
            return cbor.Map()
        return [again(v) for v in value]
    if isinstance(value, cbor.Map):
        if name == "reads-empty-maps-as-arrays" and not value.pairs:
            ways.bug(name)
            return []
        pairs = [(misread_key(k, name), again(v)) for k, v in value.pairs]
        if name == "drops-null-members":
            pairs = [(k, v) for k, v in pairs if v is not None]
        read = cbor.Map(pairs)
        if name == "keeps-large-maps-unsorted" and len(pairs) > 23 or name == "keeps-inner-maps-unsorted" and level:
            read = Unsorted(pairs)
        if not isinstance(read, Unsorted) and pairs == value.pairs:
            return read
        ways.bug(name)
        return read
    read = misread_scalar(value, name)
    if read is not value:
        ways.bug(name)
    return read


def misread_key(key, name):
    if name == "reads-keys-of-digits-as-integers" and isinstance(key, str) and key.isascii() and key.isdigit():
        return int(key)
    if name == "reads-integer-keys-as-text" and type(key) is int:
        return str(key)
    return misread_scalar(key, name)


class Unsorted(cbor.Map):
    """A map that a sorting encoder forgets to sort."""


def canonical(body, ways, message=None):
    """Deterministic bytes of a body, or those of a bug."""
    order = "bytewise"
    if ways.sig_bug("sig-length-first-order"):
        order = "length-first"
    elif ways.sig_bug("body-text-order"):
        order = "text"
    elif ways.sig_bug("body-as-given"):
        order = "given"
    elif ways.sig_bug("body-utf16-order"):
        order = "utf16"
    elif ways.sig_bug("body-case-order"):
        order = "case"
    elif ways.sig_bug("body-length-only-order"):
        order = "length-only"
    if message is not None and ways.name in MISREADINGS:
        body = misread(body, ways)
    wide = ways.sig_bug("sig-wide-integers") or ways.sig_bug("body-wide-integers")
    floats = "integral" if ways.bug("float-becomes-integer") else "double" if ways.bug("float-not-shortest") else "shortest"
    if ways.sig_bug("body-null-empty") and body is None:
        return b""
    return cbor.encode(body, order, wide, floats=floats)


def wire(fields, ways):
    """The bytes of an envelope with signed parts. Any order and form is legal (E09)."""
    order = "bytewise"
    if ways.has("out-declaration-order"):
        first = ("v", "id", "typ", "ts", "ttl", "from", "to", "reply_to", "thread_id", "sig", "body", "enc", "ext")
        fields = {k: fields[k] for k in first if k in fields} | fields
        order = "given"
    elif ways.has("out-reverse-order"):
        fields, order = dict(reversed(list(fields.items()))), "given"
    if ways.has("out-indefinite"):
        return cbor.encode(fields, order, indefinite=True)
    if ways.has("out-wide"):
        return cbor.encode(fields, order, wide=True)
    if ways.has("out-unsorted-body") and isinstance(fields.get("body"), dict) and len(fields["body"]) > 1:
        parts = [(cbor.encode(k), cbor.encode(v, "reverse") if k == "body" else cbor.encode(v)) for k, v in fields.items()]
        return cbor.head(5, len(parts)) + b"".join(k + v for k, v in sorted(parts))
    whole = cbor.encode(fields, order)
    if ways.bug("out-envelope-array"):
        return cbor.encode(list(fields.values()))
    if ways.bug("out-integer-keys"):
        names = ["", "v", "id", "typ", "ts", "ttl", "from", "to", "reply_to", "thread_id", "sig", "body", "ext", "enc"]
        return cbor.encode({names.index(k): v for k, v in fields.items() if k in names})
    if ways.bug("out-trailing-newline"):
        whole += b"\n"
    if ways.bug("out-tagged"):
        whole = b"\xd9\xd9\xf7" + whole
    return whole

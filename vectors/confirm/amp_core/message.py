"""Messages of RFC 001: Sig_Input (8.1), building (8.6), and a recipient in the order of ruling E31."""

from . import boxes, cbor, did, ed25519, registry
from .cbor import NULL, Map

SIGNED = ("id", "typ", "ts", "ttl", "from", "to", "reply_to", "thread_id")
ALG, MODE = "X25519-XSalsa20-Poly1305", "authcrypt"
MAX_CLOCK_SKEW = 30_000


class Rejected(Exception):
    """A message that must not be accepted, with the code of section 15.3."""

    def __init__(self, code, why):
        super().__init__(f"{code}: {why}")
        self.code = code


def sig_input(headers, body_bytes):
    """The bytes that are signed. `headers` is a Map; unsigned members are left out here."""
    signed = Map([(name, headers.get(name)) for name in SIGNED if name in headers.keys()])
    return cbor.write(["AMP-v1", b"", signed, body_bytes])


def header_items(headers):
    """The CBOR values of headers as the adapter protocol writes them: hex for bytes, texts for large integers."""
    out = []
    for name, value in headers.items():
        if name in ("id", "reply_to", "thread_id"):
            value = bytes.fromhex(value)
        elif name in ("v", "typ", "ts", "ttl"):
            value = int(value)
        out.append((name, value))
    return Map(out)


def spelled(item):
    """The reverse of `header_items` for one value."""
    if isinstance(item, bytes):
        return item.hex()
    if isinstance(item, int) and item > 2**53 - 1:
        return str(item)
    return item


def build(sender, headers, body_bytes, enc=None, ext=None):
    """A signed message. With `enc` (nonce, ciphertext) the body is left out."""
    headers = header_items({"v": 1, "from": sender["did"]} | headers)
    signed = sig_input(headers, body_bytes)
    pairs = [*headers.pairs, ("sig", ed25519.sign(bytes.fromhex(sender["ed25519_seed"]), signed))]
    if enc is None:
        pairs.append(("body", cbor.read(body_bytes)))
    else:
        nonce, ciphertext = enc
        pairs.append(("enc", Map([("alg", ALG), ("mode", MODE), ("nonce", nonce), ("ciphertext", ciphertext)])))
    if ext is not None:
        pairs.append(("ext", cbor.read(ext)))
    return cbor.write(Map(pairs)), signed


def entries(message):
    """The encoded members of a message, those of enc one by one: independent of the order of members."""
    out = []
    for key, value in cbor.read(message).pairs:
        if key == "enc":
            out.append(cbor.write(key) + cbor.head(5, len(value.pairs)))
            out += [cbor.write(name) + cbor.write(inner) for name, inner in value.pairs]
        else:
            out.append(cbor.write(key) + cbor.write(value))
    return sorted(out)


def need(condition, why, code=1001):
    if not condition:
        raise Rejected(code, why)


def is_did(value):
    return isinstance(value, str) and did.is_did(value)


def check_enc(enc):
    need(isinstance(enc, Map), "enc is not a map")
    names = enc.keys()
    need(set(names) == {"alg", "mode", "nonce", "ciphertext"} and len(names) == 4, "members of enc")
    need(enc.get("alg") == ALG and enc.get("mode") == MODE, "alg or mode of enc")
    need(isinstance(enc.get("nonce"), bytes) and len(enc.get("nonce")) == 24, "nonce")
    need(isinstance(enc.get("ciphertext"), bytes), "ciphertext")


def parse(data):
    """Step 1: one well-formed map with the members of section 4.1."""
    try:
        message = cbor.read(data)
    except cbor.Refused as e:
        raise Rejected(1001, str(e)) from None
    need(isinstance(message, Map), "no map")
    names = message.keys()
    need(all(isinstance(name, str) for name in names), "a key that is not text")
    need(not cbor.has_duplicate(message), "a duplicate key")
    for name in ("v", "typ", "ts", "ttl"):
        need(registry.is_uint(message.get(name)), f"{name} is not an unsigned integer")
    need(isinstance(message.get("id"), bytes) and len(message.get("id")) == 16, "id")
    need(isinstance(message.get("sig"), bytes) and len(message.get("sig")) == 64, "sig")
    need(is_did(message.get("from")), "from is not a DID")
    to = message.get("to")
    need(is_did(to) or (isinstance(to, list) and len(to) > 0 and all(map(is_did, to))), "to")
    for name in ("reply_to", "thread_id"):
        need(name not in names or isinstance(message.get(name), bytes), f"{name} is not a byte string")
    need(("body" in names) != ("enc" in names), "body and enc: exactly one of them")
    if "enc" in names:
        check_enc(message.get("enc"))
    if "ext" in names:
        ext = message.get("ext")
        need(isinstance(ext, Map) and all(isinstance(key, str) for key in ext.keys()), "ext")
    need(abs(int.from_bytes(message.get("id")[:8], "big") - message.get("ts")) <= 1000, "time of id and ts")
    return message


def recipients(message):
    to = message.get("to")
    return to if isinstance(to, list) else [to]


def decrypt(me, message, document):
    chosen = did.select(document, message.get("from"), "agreement") if document else None
    need(chosen is not None, "no key agreement key of the sender", 3001)
    enc = message.get("enc")
    try:
        return boxes.open_box(
            bytes.fromhex(me["x25519_private"]), chosen[1], enc.get("nonce"), enc.get("ciphertext")
        )
    except boxes.Closed as e:
        raise Rejected(3001, str(e)) from None


def check_ack(message, body, original, trusted_relays):
    """Section 16.1, after the ACK itself is valid."""
    sender = did.bare(message.get("from"))
    if body.get("ack_source") == "recipient":
        need(sender in map(did.bare, recipients(cbor.read(original))), "an ACK of a party that was not in to")
    else:
        need(sender in trusted_relays, "an ACK of a relay that is not trusted")


def judged(me, data, now, documents, trusted_relays=(), original=None):
    message = parse(data)
    need(message.get("v") == 1, "version", 1004)
    need(now <= message.get("ts") + message.get("ttl"), "expired", 1003)
    need(message.get("ts") <= now + MAX_CLOCK_SKEW, "from the future", 1003)
    need(me["did"] in map(did.bare, recipients(message)), "for another recipient", 3001)
    document = did.resolve(message.get("from"), documents)
    chosen = did.select(document, message.get("from"), "signature") if document else None
    need(chosen is not None, "no signing key of the sender", 3001)
    if "enc" in message.keys():
        body_bytes = decrypt(me, message, document)
    else:
        body_bytes = cbor.write(message.get("body"))
    need(ed25519.libsodium(chosen[1], sig_input(message, body_bytes), message.get("sig")), "signature", 1002)
    try:
        body = cbor.read(body_bytes)
    except cbor.Refused as e:
        raise Rejected(1001, f"decrypted bytes: {e}") from None
    typ = message.get("typ")
    need(typ in registry.TYPES, "unknown type", 1005)
    need(registry.body_fits(typ, body), "body does not match its type")
    if typ == 0x03 and original is not None:
        check_ack(message, body, original, trusted_relays)
    names = ("v", *SIGNED)
    wire = cbor.member_bytes(data, "body")
    return {
        "headers": {name: spelled(message.get(name)) for name in names if name in message.keys()},
        "body": body_bytes.hex(),
        "body_wire": None if wire in (None, body_bytes) else wire.hex(),
        "encrypted": "enc" in message.keys(),
        "signer": chosen[0],
    }


def receive(me, data, now, documents, trusted_relays=(), original=None):
    """`accept` with headers, body, encrypted and signer, or the code of the refusal and the reason.

    `body` holds the bytes that were signed, `body_wire` those of a plain body on the wire if they differ.
    """
    try:
        return "accept", judged(me, data, now, documents, trusted_relays, original)
    except Rejected as e:
        return e.code, str(e)


def null_body():
    return cbor.write(NULL)

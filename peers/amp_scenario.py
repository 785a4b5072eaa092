"""A fixed conversation with the AMP peer, in parts, whose course is compared between servers. Every step gives a text in which
random and time-dependent parts are replaced, so that two runs of one server give the same answers."""

import asyncio
import hashlib
import json
import os

import amp_cbor as cbor
import amp_keys as keys
from amp_client import Frames, Peer, Socket, http, opened, parse_http, settled, signed_bytes

PARTS = ("http", "documents", "content", "bytes", "ws", "tcp", "poll", "relay", "clock", "initiator")
SLOW_PARTS = ("clock", "initiator", "relay", "poll")


class World:
    def __init__(self, server):
        self.server = server
        clock = lambda: server.ways.now()
        self.alice, self.bob, self.carol, self.mallory, self.relay = (
            Peer(n, clock) for n in ("alice", "bob", "carol", "mallory", "relay")
        )
        self.people = {p.did: n for n, p in vars(self).items() if isinstance(p, Peer)}
        self.to = server.did
        self.names = {}
        self.out_ids, self.nonces, self.received, self.keys_used = [], [], [], {}
        self.fixtures()

    def key_of(self, did, kind):
        if not isinstance(did, str):
            return None
        did = keys.bare(did)
        document = self.server.node.document if did == self.to else keys.key_document(did)
        if document is None:
            return None
        entries = keys.methods(document) + keys.methods(document, "keyAgreement")
        found = [keys.method_key(m)[1] for _, m in sorted(entries, key=lambda e: e[0]) if keys.method_key(m)[0] == kind]
        if kind == "ed" and did == self.to:
            return self.server.node.keys.public
        return found[0] if found else None

    @property
    def box(self):
        return self.key_of(self.to, "x")

    # --- fixture documents ----------------------------------------------------------------------------------------------

    def fixtures(self):
        """Documents of section 6 of the binding, preloaded under did:web names that are never fetched."""
        make = lambda n: keys.Keys(hashlib.sha256(b"fixture " + n.encode()).digest())
        self.keys_used = {n: make(n) for n in ("a", "b", "c", "x1", "x2")}
        a, b, c, x1, x2 = self.keys_used.values()

        def ed(did, name, key, **more):
            return {"id": name if name.startswith("#") else f"{did}#{name}", "type": "Multikey", "controller": did, "publicKeyMultibase": keys.multibase(keys.ED, key.public), **more}

        def xk(did, name, key):
            return {"id": f"{did}#{name}", "type": "Multikey", "controller": did, "publicKeyMultibase": keys.multibase(keys.X, key.x_public)}

        def put(name, methods, **relations):
            did = "did:web:fixtures.proofmark.test:agent:" + name
            methods = methods(did)
            document = {"id": did, "verificationMethod": methods}
            for relation, entries in relations.items():
                document[relation] = [e if isinstance(e, dict) else (did + e if not e.startswith("##") else e[1:]) for e in (entries(did) if callable(entries) else entries)]
            self.server.node.resolver.preloaded[did] = document
            return did

        self.twokeys = put("twokeys", lambda d: [ed(d, "key-2", b), ed(d, "key-10", a), ed(d, "key-1", c), xk(d, "x-10", x1), xk(d, "x-2", x2)], assertionMethod=["#key-2", "#key-10"], authentication=["#key-1"], keyAgreement=["#x-10", "#x-2"])
        self.agreeonly = put("agreeonly", lambda d: [ed(d, "key-1", a)], keyAgreement=["#key-1"])
        self.turned = put("turned", lambda d: [ed(d, "key-2", b), ed(d, "key-10", a)], assertionMethod=["#key-10", "#key-2"])
        self.authonly = put("authonly", lambda d: [ed(d, "key-1", a)], authentication=["#key-1"])
        self.emptyassert = put("emptyassert", lambda d: [ed(d, "key-1", a), xk(d, "x-1", x1)], assertionMethod=["#x-1"], authentication=["#key-1"])
        self.nokey = put("nokey", lambda d: [xk(d, "x-1", x1)], keyAgreement=["#x-1"], assertionMethod=["#x-1"])
        self.p256 = put("p256first", lambda d: [{"id": d + "#aa", "type": "Multikey", "controller": d, "publicKeyMultibase": keys.multibase(keys.P256, b"\2" + a.public)}, ed(d, "key-1", a)], assertionMethod=["#aa", "#key-1"])
        self.embedded = put("embedded", lambda d: [], assertionMethod=lambda d: [ed(d, "key-1", a)])
        self.relative = put("relative", lambda d: [ed(d, "#key-1", a)], assertionMethod=["##key-1"])
        self.notlisted = put("notlisted", lambda d: [ed(d, "key-1", a), xk(d, "x-1", x1), xk(d, "x-0", x2)], assertionMethod=["#key-1"], keyAgreement=["#x-1"])
        self.revoked = put("revoked", lambda d: [ed(d, "key-1", a, revoked="2020-01-01T00:00:00Z"), ed(d, "key-2", b)], assertionMethod=["#key-1", "#key-2"])
        zero = keys.Keys(b"\1" * 32)
        zero.x_public = bytes(32)
        self.loworder = put("loworder", lambda d: [ed(d, "key-1", a), xk(d, "x-1", zero)], assertionMethod=["#key-1"], keyAgreement=["#x-1"])
        small = keys.Keys(b"\1" * 32)
        small.public = b"\1" + bytes(31)
        self.smallorder = put("smallorder", lambda d: [ed(d, "key-1", small)], assertionMethod=["#key-1"])

    def person(self, did, key, x=None):
        peer = Peer("alice", self.alice.clock)
        peer.did, peer.keys = did, keys.Keys(key.seed, x.x_secret if x else None)
        return peer

    # --- texts ----------------------------------------------------------------------------------------------------------

    def tidy(self, value, name=""):
        now = self.server.ways.now()
        if isinstance(value, (cbor.Map, dict)):
            pairs = value.pairs if isinstance(value, cbor.Map) else value.items()
            return "{" + ", ".join(f"{k if isinstance(k, str) else repr(k)}={self.tidy(v, k)}" for k, v in sorted(pairs, key=lambda p: repr(p[0]))) + "}"
        if isinstance(value, (list, tuple)):
            if name == "items":
                return "[" + "; ".join(self.message(v) if isinstance(v, bytes) else "NOT BYTES " + self.tidy(v) for v in value) + "]"
            return "[" + ", ".join(self.tidy(v) for v in value) + "]"
        if isinstance(value, bool) or value is None:
            return repr(value)
        if isinstance(value, (int, float)):
            kind = "" if isinstance(value, int) else "float "
            for word, base in (("now", now), ("seconds", now // 1000), ("micro", now * 1000)):
                off = value - base
                if abs(off) < 4_000_000 and value > 10**6 and abs(off) < base:
                    return f"{kind}{word}{'' if -8000 < off < 2000 else round(off / 20_000)}"
            return f"{kind}{value}" if abs(value) < 10**11 else kind + "large"
        if isinstance(value, str):
            for did, who in self.people.items():
                value = value.replace(did, who)
            value = value.replace(self.to, "TARGET").replace(self.to.split(":")[-1], "TARGETKEY").replace(str(self.server.port), "PORT")
            return repr(value)
        if isinstance(value, bytes):
            if value in self.names:
                return "<" + self.names[value] + ">"
            return f"bytes({len(value)})" if len(value) in (16, 24, 64) or name in ("ciphertext", "id") else "h" + hashlib.sha256(value).hexdigest()[:8] + f"({len(value)})"
        if isinstance(value, cbor.Tag):
            return f"tag {value.tag} {self.tidy(value.value)}"
        return type(value).__name__

    def message(self, raw):
        fields = opened(raw, self.key_of, self.alice)
        if fields is None:
            return f"NO MESSAGE {raw[:1].hex()}.."
        decoder = cbor.Decoder(raw)
        whole = decoder.item()
        m_id, ts = fields.get("id"), fields.get("ts")
        gap = "?"
        if isinstance(m_id, bytes) and isinstance(ts, int) and len(m_id) == 16:
            self.out_ids.append(m_id)
            gap = int.from_bytes(m_id[:8], "big") - ts
            gap = gap if abs(gap) < 10_000 else "far"
        enc = fields.get("enc")
        if isinstance(enc, cbor.Map) and isinstance(enc.get("nonce"), bytes):
            self.nonces.append((m_id, enc.get("nonce")))
        body = fields.get("body")
        late = ""
        if isinstance(body, cbor.Map) and isinstance(body.get("received_at"), int):
            self.received.append(body.get("received_at"))
            late = "half " if isinstance(ts, int) and 400 <= body.get("received_at") - ts < 700 else ""
        order = "det" if not decoder.notes & {"unsorted", "indefinite", "wide"} else ",".join(sorted(decoder.notes))
        names = " ".join(k if isinstance(k, str) else repr(k) for k in whole.keys()) if "unsorted" in decoder.notes else ""
        text = {k: v for k, v in fields.items() if k not in ("ok", "sig", "id", "enc")}
        sig = fields.get("sig")
        shape = f"{type(sig).__name__}{len(sig) if hasattr(sig, '__len__') else ''}" if "sig" in fields else "none"
        id_shape = f"{type(m_id).__name__}{len(m_id) if hasattr(m_id, '__len__') else ''}"
        extra = f" enc={self.tidy(enc)}" if "enc" in fields else ""
        same = " SAME-ID" if isinstance(m_id, bytes) and m_id in self.names else ""
        return f"<{'ok' if fields['ok'] else 'BAD'} sig={shape} id={id_shape}{gap}{same} {order} {names}{late}{self.tidy(text)}{extra}>"

    def units(self, data):
        """All items of a response body."""
        if not data:
            return "empty"
        out, rest = [], data
        while rest and len(out) < 8:
            decoder = cbor.Decoder(rest)
            try:
                decoder.item()
            except cbor.CborError:
                out.append(f"RUBBISH({len(rest) if len(rest) < 200 else 'long'})")
                break
            out.append(self.message(rest[: decoder.at]))
            rest = rest[decoder.at :]
        return " + ".join(out)

    def summary(self):
        self.nonces = [n for _, n in {m: (m, n) for m, n in self.nonces}.values()]
        self.out_ids = list(dict.fromkeys(self.out_ids))
        tails = [i[8:] for i in self.out_ids]
        numbers = [int.from_bytes(t, "big") for t in tails]
        counter = len(numbers) > 3 and sum(0 < b - a < 10 for a, b in zip(numbers, numbers[1:])) > len(numbers) // 2
        return (
            f"tails={len(set(tails)) > len(tails) // 2} counter={counter} "
            f"short={bool(numbers) and max(numbers) < 2**32} nonces={len(set(self.nonces)) == len(self.nonces)} "
            f"half={bool(self.nonces) and all(n[16:] == bytes(8) for n in self.nonces)} "
            f"whole={len(self.received) > 3 and all(r % 1000 == 0 for r in self.received)}"
        )

    def name(self, fields, text):
        if isinstance(fields.get("id"), bytes):
            self.names[fields["id"]] = text
        return fields

    async def post(self, raw, headers=None, path="/amp/v1/messages"):
        status, head, body = await http(self.server, "POST", path, raw, headers)
        kept = {k: head[k] for k in ("content-type", "connection", "transfer-encoding", "x-amp-transport-version", ":version", ":reason") if k in head}
        names = head.get(":names", "")
        shape = "lower" if names and names == names.lower() else "usual"
        more = f"{shape}{' no-date' if 'date' not in head else ''}{' many' if 'x-pad' in head else ''}{' no-length' if 'content-length' not in head else ''}"
        return f"{status} {kept} {more} {self.units(body) if 'cbor' in head.get('content-type', 'cbor').lower() or not body else head.get('content-type') + ' ' + str(body[:60])}"


# Bodies that libraries of other languages read as something else.
MISREAD = (
    "a\u0308", " x ", "\u00fc", b"ascii", 2**53 + 1, 2**31, 2**63, -5, {"1": 1}, {"a": None}, {"a": True}, {"a": [], "b": {}},
    {"\uff5e\uff5e\uff5e\uff5e": 1, "\U0001f701\U0001f701\U0001f701": 2}, {"B": 1, "a": 2, "A": 3},
)  # fmt: skip


def good_hello(**more):
    return {"versions": ["1.0", "1.0.0"], **more}


STREAM = b"hello proofmark!!"


def start(name, total=17, chunks=3, size=8, **more):
    return {"stream_id": name, "content_type": "text/plain", "filename": "f.txt", "total_size": total, "total_chunks": chunks, "chunk_size": size, "hash_algo": "sha256", **more}


def document(data=b"proofmark document", **more):
    return {"content_type": "text/plain", "filename": "name.txt", "size": len(data), "hash": hashlib.sha256(data).digest(), "data": data, **more}


def without(body, *names):
    return {k: v for k, v in body.items() if k not in names}


BODIES = {
    0x30: document(), 0x31: {"doc_id": "nothing", "hash": b"\1" * 32, "accept": "text/plain"},
    0x40: {"format": "jwt_vc", "credential": "e30.e30.x", "purpose": "test"}, 0x41: {"format": "jwt_vc", "request": {}, "purpose": "test"},
    0x42: {"format": "jwt_vc", "credential": "e30.e30.x", "purpose": "test"}, 0x43: {"format": "jwt_vc", "credential": "e30.e30.x"},
    0x50: {"credential": "garbage", "scope": {}, "expires": "2030-01-01T00:00:00Z"}, 0x51: {"delegation_id": "d-1"}, 0x52: {"delegation_id": "d-1"},
    0x13: start("schema"), 0x14: {"stream_id": "schema", "index": 0, "data": b"hello pr"}, 0x15: {"stream_id": "schema", "hash": bytes(32)},
    0x03: {"ack_source": "recipient", "received_at": 1, "ack_target": "did:key:z", "stream_id": "s", "chunks_received": 1, "verified": True},
    0x0F: {"code": 1001, "category": "protocol", "message": "", "details": None, "retry": False, "batch_index": 0},
}  # fmt: skip


async def part_http(w):
    """Envelope, time, ids, versions, types, negotiation, acknowledgement, repeats, encryption."""
    a, to = w.alice, w.to
    msg = {"msg": "proofmark 1"}
    half = {}

    async def send(name, typ=0x10, body=msg, **more):
        fields = w.name(a.message(to, typ, body, **more), name)
        half["last"] = fields
        return name, await w.post(cbor.encode(fields))

    yield await send("base")
    base = half["last"]
    yield "base again", await w.post(cbor.encode(base))
    yield await send("flipped", after={"sig": base["sig"]})
    flip = bytearray(half["last"]["sig"])
    for bit in (0, 7, 255, 511):
        fields = a.message(to, 0x10, msg)
        sig = bytearray(fields["sig"])
        sig[bit // 8] ^= 0x80 >> bit % 8
        yield f"bit {bit}", await w.post(cbor.encode({**fields, "sig": bytes(sig)}))
    fields = a.message(to, 0x10, msg)
    scalar = int.from_bytes(fields["sig"][32:], "little") + keys.ORDER
    yield "malleated", await w.post(cbor.encode({**fields, "sig": fields["sig"][:32] + scalar.to_bytes(32, "little")}))
    yield await send("zero signature", after={"sig": bytes(64)})
    yield await send("own key", key=w.mallory.keys)
    for typ in (0x01, 0x70, 0x04, 0x03, 0x13, 0x30, 0x40, 0x16, 0x11):
        yield await send(f"forged {typ:#x}", typ, BODIES.get(typ, None if typ == 1 else good_hello() if typ == 0x70 else {"items": [b""]} if typ == 0x16 else {}), key=w.mallory.keys)
    yield await send("forged null", 0x10, None, key=w.mallory.keys)
    yield await send("forged with ext", key=w.mallory.keys, ext={"verified": True, "permissions": ["*"]})
    yield await send("key in ext", key=w.mallory.keys, ext={"public_key": w.mallory.keys.public})
    yield "forged, relay header", await w.post(a.raw(to, 0x10, msg, key=w.mallory.keys), {"X-AMP-Relay": "did:key:z", "X-Forwarded-For": "1.2.3.4"})
    yield "relay header", await w.post(a.raw(to, 0x10, msg), {"X-AMP-Relay": "did:key:z"})
    yield "as itself", await w.post(w.person(to, w.mallory.keys).raw(to, 0x10, msg))
    for name in ("v", "id", "typ", "ts", "ttl", "from", "to", "sig", "body"):
        yield await send(f"without {name}", without=(name,) if name != "sig" else (), drop=(name,))
    yield await send("sig missing, null body", 0x10, None, drop=("sig",))
    for name, values in {
        "v": (-1, 1.0, "1", None), "typ": (-1, "PING", 16.0, None), "ts": (-1, "1", 1.5e12, cbor.Tag(1, 1)), "ttl": (-1, None, "60000", 60000.0),
        "from": (a.did.encode(), 7, None, [a.did]), "to": (to.encode(), 1, None, {}, [1], [], [[to]]),
        "reply_to": ("x", 1, None, b"short"), "thread_id": ("x", 7, None, b"", b"\1"),
    }.items():  # fmt: skip
        for value in values:
            yield await send(f"{name} {value!r}"[:40], **{name: value})
    for name in ("reply_to", "thread_id"):
        fields = a.message(to, 0x10, msg)
        fields[name] = None
        yield f"{name} null, signed without", await w.post(cbor.encode(fields))
    stamp = w.server.ways.now()
    yield await send("ts float now", ts=float(stamp), id=stamp.to_bytes(8, "big") + os.urandom(8))
    yield await send("id text", id=os.urandom(16).hex())
    stamp = w.server.ways.now()
    yield await send("id hex text", id=(stamp.to_bytes(8, "big") + b"\5" * 8).hex(), ts=stamp)
    for size in (0, 8, 15, 17, 32):
        yield await send(f"id of {size}", id=(stamp.to_bytes(8, "big") + bytes(24))[:size], ts=stamp)
    fields = a.message(to, 0x10, msg)
    yield "sig hex", await w.post(cbor.encode({**fields, "sig": fields["sig"].hex()}))
    yield "sig array", await w.post(cbor.encode({**fields, "sig": list(fields["sig"])}))
    for size in (0, 63, 65, 128):
        fields = a.message(to, 0x10, msg)
        yield f"sig of {size}", await w.post(cbor.encode({**fields, "sig": (fields["sig"] * 2)[:size]}))
    for ext in ({}, {"a": {"b": [1, b"x"]}}, [1], "x", {1: 2}):
        yield await send(f"ext {ext}", after={"ext": ext})
    yield await send("ext signed", ext={"a": 1})
    yield await send("unknown member", after={"x": 1})
    yield await send("upper case keys", after={"V": 1}, drop=("v",))
    for body in (None, True, False, 0, -1, "text", b"bytes", {}, [], {1: 2, "a": 3}, [[[[[[[[1]]]]]]]], {"a": 1.5}, 2.0, {"z": cbor.Tag(0, "2020-01-01T00:00:00Z")}, cbor.Simple(99)):
        yield await send(f"body {body!r}", body=body)
    yield await send("array to", to=[to])
    yield await send("two recipients", to=[to, w.carol.did])
    yield await send("two recipients turned", to=[w.carol.did, to])
    yield await send("to sorted before signing", to=sorted([to, w.carol.did], reverse=True), signed={"to": sorted([to, w.carol.did])})
    yield await send("to first signed", to=[to, w.carol.did], signed={"to": to})
    yield await send("to flattened", to=[to], signed={"to": to})
    yield await send("for carol", to=w.carol.did)
    yield await send("for prefix", to=to + "x")
    yield await send("for upper", to=to.upper().replace("DID:KEY", "did:key"))
    yield await send("to with fragment", to=to + "#" + w.server.node.method_fragment)
    yield await send("to rubbish beside", to=[to, "rubbish"])
    fragment = keys.key_document(a.did)["verificationMethod"][0]["id"]
    yield "from with fragment", await w.post(cbor.encode(w.name(a.message(to, 0x10, msg, **{"from": fragment}), "fragment")))
    for name in ("alice", "", "did:", "did:x", "http://a", "did:web:proofmark.invalid"):
        yield f"from {name}", await w.post(a.raw(to, 0x10, msg, **{"from": name}))
    yield "from unknown fragment", await w.post(a.raw(to, 0x10, msg, **{"from": a.did + "#nothing"}))
    for name, value in (("id", lambda f: f["id"][:15] + b"\0"), ("typ", lambda f: 0x11), ("ts", lambda f: f["ts"] + 1), ("ttl", lambda f: f["ttl"] + 1), ("from", lambda f: w.carol.did), ("to", lambda f: [to, w.bob.did]), ("reply_to", lambda f: b"\1" * 16), ("thread_id", lambda f: b"\1" * 16)):
        fields = a.message(to, 0x10, msg)
        fields[name] = value(fields)
        yield f"{name} altered", await w.post(cbor.encode(fields))
        fields = a.message(to, 0x10, msg, **({name: b"\2" * 16} if name in ("reply_to", "thread_id") else {}))
        headers = {k: fields[k] for k in ("id", "typ", "ts", "ttl", "from", "to", "reply_to", "thread_id") if k in fields and k != name}
        fields["sig"] = a.keys.sign(signed_bytes(headers, cbor.encode(msg)))
        yield f"{name} unsigned", await w.post(cbor.encode(fields))
    for name, make in odd_signatures(a):
        fields = a.message(to, 0x10, msg)
        fields["sig"] = a.keys.sign(make(fields))
        yield "signed: " + name, await w.post(cbor.encode(fields))
    yield await send("ext covered", ext={"q": 1}, signed={"ext": {"q": 1}})
    yield await send("thread", thread_id=b"\0\xff\xc3\x28\x80" + b"t")
    yield await send("reply_to", reply_to=b"\x11" * 16)
    now = w.server.ways.now()
    for name, more in {
        "expired": {"ts": now - 10_000, "ttl": 5000}, "expired long": {"ts": now - 7_200_000, "ttl": 3_600_000}, "hour old": {"ts": now - 3_700_000, "ttl": 86_400_000},
        "ttl seconds": {"ts": now - 2000, "ttl": 1000}, "future": {"ts": now + 120_000}, "near future": {"ts": now + 15_000}, "future 200": {"ts": now + 200_000},
        "ttl zero ahead": {"ts": now + 5000, "ttl": 0}, "ttl zero past": {"ts": now - 3000, "ttl": 0}, "ttl small": {"ts": now, "ttl": 8000}, "ttl day": {"ttl": 86_400_000},
        "ttl huge": {"ttl": 2**64 - 1}, "ttl 2^31": {"ttl": 2**31 + 5}, "ttl 2^62": {"ttl": 2**62}, "year": {"ttl": 401 * 86_400_000}, "override": {"ts": now - 10_000, "ttl": 5000, "ext": {"override_ttl": 10**9}},
        "override zero": {"ext": {"override_ttl": 0}}, "ts seconds": {"ts": now // 1000}, "slightly expired": {"ts": now - 8000, "ttl": 2000},
    }.items():  # fmt: skip
        yield await send(name, **more)
    for body in MISREAD:
        yield await send(f"misread {body!r}"[:60], body=body)
    yield await send("grace", ts=now - 7000, ttl=5000)
    yield await send("minute ahead", ts=now + 45_000)
    for gap in (-1000, 1000, -1500, 1500, -5000, 5000, -900_000, 300, -(2**32)):
        stamp = w.server.ways.now()
        yield await send(f"id {gap}", id=(stamp + gap).to_bytes(8, "big") + os.urandom(8), ts=stamp)
    for v in (0, 2, 99, 257, 2**32, 2**32 + 1):
        yield await send(f"v {v}", v=v)
    for typ in (0x00, 0x0C, 0x0E, 0x17, 0x24, 0x2F, 0x32, 0x44, 0x53, 0x64, 0x73, 0x80, 0x90, 0xEF, 0xF1, 0xF5, 0xFF, 0x110, 0x190, 0x06, 0x09, 0x20, 0x22, 0x60, 0x61, 0xF0, 0x12, 0x04, 0x05, 0x02):
        yield await send(f"typ {typ:#x}", typ, {} if typ != 0x02 else None)
    yield await send("PING", 0x01, None)
    yield await send("PING again", 0x01, None)
    yield await send("PING body", 0x01, {"a": 1})
    for body in ({"op": "echo", "data": "x"}, {"op": "count"}, {"op": "fail"}, {"op": "what"}, None):
        yield await send(f"REQUEST {body}", 0x11, body)
        yield "and again", await w.post(cbor.encode(half["last"]))
    yield await send("count", 0x11, {"op": "count"})
    for name, body in {
        "99": {"versions": ["99.0"]}, "both": {"versions": ["99.0", "1.0"]}, "turned": {"versions": ["1.0", "99.0"]}, "two parts": {"versions": ["1.0"]}, "three parts": {"versions": ["1.0.0"]},
        "1.0.0 first": {"versions": ["1.0.0", "1.0"]}, "1.2": {"versions": ["1.2", "1.10", "1.0"]}, "10": {"versions": ["10.0"]}, "2": {"versions": ["2.0", "3.0"]}, "0": {"versions": ["0.30.0"]},
        "none": {}, "text": {"versions": "1.0"}, "empty": {"versions": []}, "number": {"versions": [1]}, "mixed": {"versions": [1, "1.0"]}, "null": None,
        "extensions": good_hello(extensions=["x-proofmark"]), "no extensions": good_hello(extensions=[]), "info": good_hello(agent_info={"name": "p"}), "info bad": good_hello(agent_info={}), "plain": good_hello(),
    }.items():  # fmt: skip
        yield await send(f"HELLO {name}", 0x70, body)
    yield await send("HELLO v 2", 0x70, good_hello(), v=2)
    yield await send("HELLO_ACK", 0x71, {"selected": "9.0"})
    yield await send("HELLO_REJECT", 0x72, {})
    for name, body in {
        "good": {"ack_source": "recipient", "received_at": 1}, "relay": {"ack_source": "relay", "received_at": 1}, "bad": {"ack_source": "gateway", "received_at": 1}, "text": {"ack_source": "recipient", "received_at": "x"},
        "null": None, "extra": {"ack_source": "recipient", "received_at": 1, "x": 1}, "target": {"ack_source": "recipient", "received_at": 1, "ack_target": b"x"},
    }.items():  # fmt: skip
        yield await send(f"ACK {name}", 0x03, body, reply_to=b"\x22" * 16)
    yield await send("ERROR", 0x0F, BODIES[0x0F], reply_to=b"\x22" * 16)
    yield await send("ERROR again", 0x0F, BODIES[0x0F], reply_to=b"\x22" * 16)
    # repeats and reuse
    first = a.message(to, 0x10, msg)
    for sender in (a, w.bob):
        yield "same id, other sender", await w.post(cbor.encode(sender.message(to, 0x10, msg, id=first["id"], ts=first["ts"])))
    yield "same id, other body", await w.post(cbor.encode(a.message(to, 0x10, {"msg": "other"}, id=first["id"], ts=first["ts"])))
    yield "same id, request", await w.post(cbor.encode(a.message(to, 0x11, {"op": "count"}, id=first["id"], ts=first["ts"])))
    fields = a.message(to, 0x10, msg)
    forged = {**fields, "sig": w.mallory.keys.sign(b"x")}
    yield "forged first", await w.post(cbor.encode(forged))
    yield "true second", await w.post(cbor.encode(w.name(fields, "true")))
    yield "forged third", await w.post(cbor.encode(forged))
    plain = a.message(to, 0x10, msg)
    full = a.message(to, 0x10, msg, id=plain["id"], ts=plain["ts"], **{"from": fragment})
    yield "bare then full", await w.post(cbor.encode(plain)) + await w.post(cbor.encode(full))
    yield await send("same tail", id=w.server.ways.now().to_bytes(8, "big") + first["id"][8:])
    yield await send("same time", id=first["id"][:8] + b"\x99" * 8, ts=first["ts"])
    twice = a.message(to, 0x11, {"op": "count"})
    both = await asyncio.gather(w.post(cbor.encode(twice)), w.post(cbor.encode(twice)))
    yield "two copies at once", " | ".join(both)
    kept = a.message(to, 0x11, {"op": "count"})
    yield "kept", await w.post(cbor.encode(kept))
    for n in range(17):
        await w.post(a.raw(to, 0x10, n))
    yield "kept after seventeen", await w.post(cbor.encode(kept))
    ways = w.server.ways
    for gap in (3000, 12_000):
        ways.offset_ms += gap
        yield f"kept after {gap}", await w.post(cbor.encode(kept))
    ahead = a.message(to, 0x11, {"op": "count"}, ts=ways.now() + 20_000, ttl=2000)
    yield "ahead", await w.post(cbor.encode(ahead))
    ways.offset_ms += 5000
    yield "ahead again", await w.post(cbor.encode(ahead))
    bad = a.message(to, 0x30, {})
    yield "schema", await w.post(cbor.encode(w.name(bad, "schema")))
    yield "schema again", await w.post(cbor.encode(bad))
    _, _, one = await http(w.server, "POST", "/amp/v1/messages", cbor.encode(bad))
    _, _, two = await http(w.server, "POST", "/amp/v1/messages", cbor.encode(bad))
    yield "schema identical", str(one == two)
    yield await send("count at last", 0x11, {"op": "count"})
    # encryption
    if w.box:
        box = w.box
        yield await send("ENC", enc=box)
        yield "ENC again", await w.post(cbor.encode(half["last"]))
        yield await send("ENC PING", 0x01, None, enc=box)
        yield await send("ENC REQUEST", 0x11, {"op": "echo", "data": {"z": 1, "aa": 2}}, enc=box)
        yield await send("ENC REQUEST 2", 0x11, {"op": "echo", "data": 2}, enc=box)
        yield await send("ENC count", 0x11, {"op": "count"}, enc=box)
        yield "ENC count again", await w.post(cbor.encode(half["last"]))
        yield await send("ENC forged", enc=box, key=w.mallory.keys)
        yield await send("ENC carol's box", enc=w.carol.keys.x_public)
        good = a.message(to, 0x10, msg, enc=box)
        for place in (0, 15, 16, -1):
            sealed = bytearray(good["enc"]["ciphertext"])
            sealed[place] ^= 1
            yield f"ENC byte {place}", await w.post(cbor.encode({**a.message(to, 0x10, msg, enc=box), "enc": {**good["enc"], "ciphertext": bytes(sealed)}}))

        def enc_with(**changes):
            fields = a.message(to, 0x10, msg, enc=box)
            fields["enc"] = {k: v for k, v in {**fields["enc"], **changes}.items() if v != "-"}
            return cbor.encode(fields)

        sealed = good["enc"]["ciphertext"]
        for changes in (
            {"alg": "-"}, {"mode": "-"}, {"nonce": "-"}, {"ciphertext": "-"}, {"alg": 1}, {"mode": None}, {"nonce": "x"}, {"ciphertext": 5}, {"alg": "AES-GCM"}, {"alg": "x25519-xsalsa20-poly1305"},
            {"mode": "anoncrypt"}, {"mode": "AUTHCRYPT"}, {"nonce": b""}, {"nonce": bytes(12)}, {"nonce": bytes(23)}, {"ciphertext": b""}, {"ciphertext": bytes(15)}, {"ciphertext": bytes(16)},
            {"extra": 1}, {"ciphertext": "keep"},
        ):  # fmt: skip
            if changes.get("ciphertext") == "keep":
                changes = {}
            yield f"enc {changes}", await w.post(enc_with(**changes))
        for size in (23, 25):
            fields = a.message(to, 0x10, msg, enc=box)
            nonce = (fields["enc"]["nonce"] + b"\0")[:size]
            fields["enc"]["nonce"] = nonce
            yield f"nonce {size}", await w.post(cbor.encode(fields))
        fields = a.message(to, 0x10, msg, enc=box)
        fields["enc"]["ciphertext"] = fields["enc"]["ciphertext"][16:] + fields["enc"]["ciphertext"][:16]
        yield "tag last", await w.post(cbor.encode(fields))
        fresh = keys.Keys(os.urandom(32))
        fields = a.message(to, 0x10, msg, enc=box)
        fields["enc"]["ciphertext"] = keys.seal(cbor.encode(msg), fields["enc"]["nonce"], box, fresh.x_secret)
        fields["enc"]["epk"] = fresh.x_public
        yield "ephemeral", await w.post(cbor.encode(fields))
        for name, plain, signed in (
            ("unsorted", b"\xa2\x61b\x01\x61a\x02", None), ("unsorted, sorted signed", b"\xa2\x61b\x01\x61a\x02", b"\xa2\x61a\x02\x61b\x01"), ("cut", b"\xa2\x61b\x01", None), ("two", b"\xf6\xf6", None),
            ("nothing", b"", None), ("null", b"\xf6", None), ("duplicate", b"\xa2\x61a\x01\x61a\x02", None),
        ):  # fmt: skip
            fields = a.message(to, 0x10, None, body_bytes=signed or plain, enc=box)
            fields["enc"]["ciphertext"] = keys.seal(plain, fields["enc"]["nonce"], box, a.keys.x_secret)
            yield "enc " + name, await w.post(cbor.encode(fields))
        fields = a.message(to, 0x10, msg, enc=box)
        fields["sig"] = a.keys.sign(signed_bytes({k: fields[k] for k in ("id", "typ", "ts", "ttl", "from", "to")}, fields["enc"]["ciphertext"]))
        yield "ciphertext signed", await w.post(cbor.encode(fields))
        fields = a.message(to, 0x10, msg, enc=box)
        yield "both", await w.post(cbor.encode({**fields, "body": msg}))
        fields = a.message(to, 0x10, None, enc=box)
        yield "both, null", await w.post(cbor.encode({**fields, "body": None}))
        fields = a.message(to, 0x10, msg, enc=box, without=("ttl",))
        yield "enc without ttl", await w.post(cbor.encode(fields))
        for enc in (b"x", [], None, {}):
            fields = a.message(to, 0x10, None)
            yield f"enc {enc!r} alone", await w.post(cbor.encode({**{k: v for k, v in fields.items() if k != "body"}, "enc": enc}))
        second = keys.bindings.crypto_scalarmult_base(hashlib.sha256(b"amp peer rotated agreement").digest())
        yield await send("ENC second key", enc=second)
        for n in range(4):
            yield await send(f"ENC {n}", enc=box)
    else:
        fields = a.message(to, 0x10, msg, enc=w.carol.keys.x_public)
        yield "ENC to nobody", await w.post(cbor.encode(fields))
    yield "four faults", await w.post(a.raw(to, 0x0C, msg, v=3, ts=now - 10_000, ttl=1, key=w.mallory.keys))
    yield "type and signature", await w.post(a.raw(to, 0x0C, msg, key=w.mallory.keys))
    yield "time and signature", await w.post(a.raw(to, 0x10, msg, ts=now - 10_000, ttl=1, key=w.mallory.keys))
    yield "recipient and version", await w.post(a.raw(w.carol.did, 0x10, msg, v=3))
    yield "recipient and time", await w.post(a.raw(w.carol.did, 0x10, msg, ts=now - 10_000, ttl=1))
    yield "version and time", await w.post(a.raw(to, 0x10, msg, v=3, ts=now - 10_000, ttl=1))
    del flip
    yield "summary", w.summary()


def odd_signatures(a):
    names = ("id", "typ", "ts", "ttl", "from", "to")

    def build(context="AMP-v1", protected=b"", headers=None, body=None, order="bytewise", wide=False, extra=None, drop=False):
        def make(fields):
            signed = {k: fields[k] for k in names}
            if extra:
                signed.update(extra)
            signed = list(signed.values()) if headers == "array" else signed
            body_bytes = cbor.encode(fields.get("body"))
            items = [context, protected, signed, body_bytes]
            if drop:
                items.pop(1)
            return cbor.encode(items, order, wide)

        return make

    inline = lambda f: b"\x84\x66AMP-v1\x40" + cbor.encode({k: f[k] for k in names}) + cbor.encode(f.get("body"))
    return (
        ("integer", build(protected=1)), ("map", build(protected=b"\xa0")), ("null", build(protected=None)), ("v2", build(context="AMP-v2")), ("lower", build(context="amp-v1")),
        ("v", build(extra={"v": 1})), ("nulls", build(extra={"reply_to": None, "thread_id": None})), ("array", build(headers="array")), ("three", build(drop=True)), ("inline", inline),
        ("text order", build(order="text")), ("given order", build(order="given")), ("wide", build(wide=True)), ("sha256", lambda f: hashlib.sha256(build()(f)).digest()), ("length first", build(order="length-first")),
        ("seconds", lambda f: build(extra={"ts": f["ts"] // 1000})(f)), ("lower from", lambda f: build(extra={"from": f["from"].lower()})(f)), ("hex id", lambda f: build(extra={"id": f["id"].hex()})(f)), ("to array", lambda f: build(extra={"to": [f["to"]]})(f)),
    )  # fmt: skip


async def part_documents(w):
    """Key selection by the fixtures of section 6."""
    k = w.keys_used
    msg = {"msg": 1}

    async def send(did, key, name, x=None, **more):
        peer = w.person(keys.bare(did), k[key], x)
        return name, await w.post(cbor.encode(peer.message(w.to, 0x10, msg, **{"from": did, **more})))

    for key in ("a", "b", "c"):
        yield await send(w.twokeys, key, f"twokeys by {key}")
        yield await send(w.twokeys + "#key-2", key, f"twokeys#key-2 by {key}")
        yield await send(w.twokeys + "#key-1", key, f"twokeys#key-1 by {key}")
        yield await send(w.twokeys + "#key-9", key, f"twokeys#key-9 by {key}")
    yield await send(w.twokeys + "#x-2", "a", "x25519 fragment")
    yield await send(w.agreeonly + "#key-1", "a", "fragment of a key for agreement")
    for name in ("turned", "authonly", "emptyassert", "nokey", "p256", "embedded", "relative", "revoked"):
        for key in ("a", "b"):
            yield await send(getattr(w, name), key, f"{name} by {key}")
    peer = w.person(w.nokey, keys.Keys(k["x1"].seed))
    yield "x25519 key signs", await w.post(peer.raw(w.to, 0x10, msg))
    if w.box:
        for x in ("x1", "x2"):
            yield await send(w.twokeys, "a", f"twokeys box by {x}", k[x], enc=w.box)
            yield await send(w.notlisted, "a", f"notlisted box by {x}", k[x], enc=w.box)
        peer = w.person(w.loworder, k["a"])
        fields = peer.message(w.to, 0x10, msg, enc=w.box)
        shared = keys.box_key  # the box key of an all-zero point is the same for everybody
        del shared
        yield "low order", await w.post(cbor.encode(fields))
        derived = w.person(w.notlisted, k["a"], keys.Keys(k["a"].seed))
        yield "box by derived key", await w.post(cbor.encode(derived.message(w.to, 0x10, msg, enc=w.box)))
    fields = w.person(w.smallorder, k["a"]).message(w.to, 0x10, msg)
    fields["sig"] = b"\1" + bytes(63)
    yield "small order", await w.post(cbor.encode(fields))
    status, head, body = await http(w.server, "GET", w.server.document_path)
    try:
        content = json.loads(body) if body else None
    except ValueError:
        content = "rubbish"
    yield "document", f"{status} {head.get('content-type')} {body.count(10)} {w.tidy(content)}"
    status, head, body = await http(w.server, "GET", "/amp/v1/health")
    yield "health", f"{status} {body[:60]}"


async def part_content(w):
    """Batch, streams, documents, credentials, delegations."""
    a, to = w.alice, w.to

    async def send(name, typ, body, **more):
        fields = w.name(a.message(to, typ, body, **more), name)
        return name, await w.post(cbor.encode(fields))

    raw = lambda n, **more: cbor.encode(w.name(a.message(to, more.pop("typ", 0x10), more.pop("body", {"n": n}), **more), f"item {n}"))
    yield await send("two", 0x16, {"items": [raw(1), raw(2)]})
    forged = raw(3, key=w.mallory.keys)
    items = [raw(4), forged, raw(5, ts=w.server.ways.now() - 9000, ttl=1), raw(6, typ=0x0C), w.bob.raw(to, 0x10, 1), w.alice.raw(w.carol.did, 0x10, 1), raw(7)]
    yield await send("mixed", 0x16, {"items": items})
    yield await send("undecodable", 0x16, {"items": [raw(8), raw(9), os.urandom(1) * 9]})
    yield await send("cut", 0x16, {"items": [raw(10)[:-40], raw(11)]})
    yield await send("map item", 0x16, {"items": [{"v": 1}, raw(12)]})
    yield await send("empty", 0x16, {"items": []})
    yield await send("array body", 0x16, [raw(13)])
    yield await send("null body", 0x16, None)
    yield await send("text items", 0x16, {"items": "x"})
    yield await send("single", 0x16, {"items": [raw(14)]})
    yield await send("nested", 0x16, {"items": [raw(15, typ=0x16, body={"items": [raw(16)]})]})
    yield await send("forged container", 0x16, {"items": [raw(17)]}, key=w.mallory.keys)
    yield await send("ten", 0x16, {"items": [raw(20 + n) for n in range(10)]})
    yield await send("unsigned item", 0x16, {"items": [raw(40, drop=("sig",)), raw(41)]})
    yield await send("ping item", 0x16, {"items": [raw(42, typ=0x01, body=None)]})

    digest = hashlib.sha256(STREAM).digest()
    parts = [STREAM[:8], STREAM[8:16], STREAM[16:]]

    async def stream(name, first, chunks, end, sender=a):
        out = []
        for typ, body in [(0x13, first)] + [(0x14, {"stream_id": name, "index": i, "data": d}) for i, d in chunks] + [(0x15, {"stream_id": name, "hash": end})]:
            out.append(await w.post(cbor.encode(w.name(sender.message(to, typ, body), f"{name} {typ:#x}"))))
        return name, "\n    ".join(out)

    good = list(enumerate(parts))
    yield await stream("byte", start("byte"), [good[0], (257, parts[1]), good[2]], digest)
    yield await stream("uneven", start("uneven"), [(0, STREAM[:7]), (1, STREAM[7:15]), (2, STREAM[15:])], digest)
    for other in ("CASE", " case "):
        yield await send("start of " + other, 0x13, start("case"))
        yield await send("chunk of " + other, 0x14, {"stream_id": other, "index": 0, "data": parts[0]})
    yield await send("large document", 0x30, document(bytes(1_100_000)))
    yield await stream("good", start("good"), good, digest)
    yield await send("after the end", 0x14, {"stream_id": "good", "index": 0, "data": parts[0]})
    yield await send("end again", 0x15, {"stream_id": "good", "hash": digest})
    yield await stream("turned", start("turned"), [good[2], good[0], good[1]], digest)
    yield await stream("arrival hash", start("arrival hash"), [good[2], good[0], good[1]], hashlib.sha256(parts[2] + parts[0] + parts[1]).digest())
    yield await stream("missing", start("missing"), [good[0], good[2]], digest)
    yield await stream("surplus", start("surplus", 16, 2), good, digest)
    yield await stream("wrong hash", start("wrong hash"), good, bytes(32))
    yield await stream("short hash", start("short hash"), good, digest[:31])
    yield await stream("prefix hash", start("prefix hash"), good, digest[:8] + bytes(24))
    yield await stream("empty hash", start("empty hash"), good, b"")
    yield await stream("lengths", start("lengths"), good, hashlib.sha256(b"".join(len(p).to_bytes(4, "big") + p for p in parts)).digest())
    yield await stream("cbor", start("cbor"), good, hashlib.sha256(b"".join(cbor.encode(p) for p in parts)).digest())
    yield await stream("duplicate", start("duplicate"), [good[0], good[0], *good[1:]], digest)
    yield await stream("overwritten", start("overwritten"), [good[0], (0, b"XXXXXXXX"), *good[1:]], digest)
    yield await stream("from one", start("from one"), [(i + 1, p) for i, p in good], digest)
    yield await stream("far", start("far"), good + [(2**63, b"x")], digest)
    yield await stream("wraps", start("wraps"), [(3, parts[0]), *good[1:]], digest)
    yield await stream("long chunk", start("long chunk"), [(0, STREAM[:9]), (1, STREAM[9:16]), good[2]], digest)
    yield await stream("short chunk", start("short chunk"), [(0, STREAM[:7]), (1, STREAM[7:15]), (2, STREAM[15:])], digest)
    yield await stream("less", start("less"), [(0, b"hello pr"), (1, b"oofmark"), (2, b"")], hashlib.sha256(b"hello proofmark").digest())
    yield await stream("nothing", start("nothing", 0, 0), [], hashlib.sha256(b"").digest())
    yield await stream("fewer declared", start("fewer declared", 17, 2), good[:2], hashlib.sha256(STREAM[:16]).digest())
    yield await stream("contradiction", start("contradiction", 17, 5), good, digest)
    yield await stream("huge", start("huge", 2**62, 2**59), [], digest)
    yield await stream("md5", start("md5", hash_algo="md5"), good, digest)
    twelve = [bytes([65 + n]) * 2 for n in range(12)]
    yield await stream("twelve", start("twelve", 24, 12, 2), list(enumerate(twelve)), hashlib.sha256(b"".join(twelve)).digest())
    yield await send("never started", 0x15, {"stream_id": "never", "hash": digest})
    yield await send("shared", 0x13, start("shared"))
    yield "shared by bob", await w.post(w.bob.raw(to, 0x14, {"stream_id": "shared", "index": 0, "data": parts[0]}))
    # schemas
    for typ, body in BODIES.items():
        if typ in (0x03, 0x0F):
            continue
        yield await send(f"{typ:#x} whole", typ, body)
        yield await send(f"{typ:#x} null", typ, None)
        yield await send(f"{typ:#x} extra", typ, {**body, "x": 1})
        yield await send(f"{typ:#x} ext", typ, body, ext={"scope": "*"})
        for member, value in body.items():
            yield await send(f"{typ:#x} without {member}", typ, without(body, member))
            for wrong in (5, None) if not isinstance(value, int) else ("5", -1, 1.0):
                yield await send(f"{typ:#x} {member} {wrong}", typ, {**body, member: wrong})
            if isinstance(value, bytes):
                yield await send(f"{typ:#x} {member} text", typ, {**body, member: value.hex()})
            if isinstance(value, str):
                yield await send(f"{typ:#x} {member} bytes", typ, {**body, member: value.encode()})
                yield await send(f"{typ:#x} {member} empty", typ, {**body, member: ""})
    yield await send("document kept", 0x30, document())
    yield await send("document asked", 0x31, {"hash": document()["hash"]})
    yield await send("document by name", 0x31, {"doc_id": "name.txt"})
    yield await send("document by name and accept", 0x31, {"doc_id": "name.txt", "accept": "text/plain"})
    yield await send("no selector", 0x31, {})
    yield await send("accept only", 0x31, {"accept": "text/plain"})
    yield await send("wrong hash", 0x30, document(hash=bytes(32)))
    yield await send("wrong size", 0x30, document(size=3))
    yield await send("empty document", 0x30, document(b""))
    yield await send("other media type", 0x30, document(content_type="application/x-proofmark"))
    yield await send("expires tomorrow", 0x50, {"credential": {"a": 1}, "expires": "tomorrow"})
    yield await send("unknown format", 0x42, {"format": "what", "credential": {}})
    yield "summary", w.summary()


async def part_bytes(w):
    """Encodings, rubbish, routes and sizes over HTTP."""
    a, to = w.alice, w.to
    msg = {"a": 1, "b": 2}
    base = lambda **more: a.message(to, 0x10, msg, **more)
    for name, raw in {
        "nothing": b"", "rubbish": b"\x1c\x3d\x5e\xff" * 8, "json": b'{"v":1}', "integer": b"\x01", "array": cbor.encode(list(base().values())), "bytes": cbor.encode(cbor.encode(base())),
        "trailing 00": cbor.encode(base()) + b"\0", "trailing null": cbor.encode(base()) + b"\xf6", "twice": cbor.encode(base()) * 2, "two": cbor.encode(base()) + cbor.encode(base()),
        "integer keys": cbor.encode(dict(zip((1, 2, 3, 4, 5, 6, 7, 11, 10), [base()[k] for k in ("v", "id", "typ", "ts", "ttl", "from", "to", "body", "sig")]))),
        "tagged": b"\xd9\xd9\xf7" + cbor.encode(base()),
    }.items():  # fmt: skip
        yield name, await w.post(raw)
    whole = cbor.encode(base())
    for n in range(1, 20, 3):
        yield f"cut {n}", await w.post(whole[: len(whole) * n // 20])
    turned = cbor.encode(base(), "reverse")
    for n in range(1, 20, 3):
        yield f"turned, cut {n}", await w.post(turned[: len(turned) * n // 20])
    yield "declaration order", await w.post(cbor.encode(base(), "given"))
    yield "reverse order", await w.post(turned)
    yield "indefinite", await w.post(cbor.encode(base(), indefinite=True))
    yield "wide", await w.post(cbor.encode(base(), wide=True))
    large = [b"\x61" + bytes([n]) + b"\x01" for n in range(97, 121)]
    for name, wire, signed in (
        ("large, unsorted", b"\xb8\x18" + b"".join(reversed(large)), b"\xb8\x18" + b"".join(large)),
        ("inner, unsorted", b"\xa1\x61m\xa2\x61b\x02\x61a\x01", b"\xa1\x61m\xa2\x61a\x01\x61b\x02"),
        ("unsorted", b"\xa2\x61b\x02\x61a\x01", None), ("unsorted as signed", b"\xa2\x61b\x02\x61a\x01", b"\xa2\x61b\x02\x61a\x01"), ("wide integer", b"\x18\x02", b"\x02"), ("wide integer signed", b"\x18\x02", b"\x18\x02"),
        ("long text", b"\x78\x03abc", b"\x63abc"), ("indefinite array", b"\x9f\x01\xff", b"\x81\x01"), ("indefinite signed", b"\x9f\x01\xff", b"\x9f\x01\xff"),
        ("duplicate", b"\xa2\x61a\x01\x61a\x02", b"\xa2\x61a\x01\x61a\x02"), ("duplicate first", b"\xa2\x61a\x01\x61a\x02", b"\xa1\x61a\x01"), ("duplicate last", b"\xa2\x61a\x01\x61a\x02", b"\xa1\x61a\x02"),
        ("mixed keys", b"\xa3\x0a\x01\x18\x64\x02\x20\x03", b"\xa3\x0a\x01\x18\x64\x02\x20\x03"), ("mixed keys length first", b"\xa3\x0a\x01\x18\x64\x02\x20\x03", b"\xa3\x0a\x01\x20\x03\x18\x64\x02"),
        ("text order", b"\xa2\x61b\x01\x62aa\x02", b"\xa2\x62aa\x02\x61b\x01"), ("double", b"\xfb\x3f\xf8" + bytes(6), b"\xf9\x3e\x00"), ("double kept", b"\xfb\x3f\xf8" + bytes(6), b"\xfb\x3f\xf8" + bytes(6)),
        ("integral", b"\xf9\x40\x00", b"\x02"), ("integral kept", b"\xf9\x40\x00", b"\xf9\x40\x00"), ("bad text", b"\x62\xc3\x28", b"\x62\xc3\x28"), ("tag 2", b"\xc2\x49\x01" + bytes(8), b"\xc2\x49\x01" + bytes(8)),
        ("simple", b"\xf8\xff", b"\xf8\xff"), ("reserved", b"\x1c", b"\xf6"), ("break", b"\xff", b"\xf6"), ("deep 20", b"\x81" * 20 + b"\0", b"\x81" * 20 + b"\0"), ("deep 64", b"\x81" * 64 + b"\0", b"\x81" * 64 + b"\0"),
        ("deep 100", b"\x81" * 100 + b"\0", b"\x81" * 100 + b"\0"), ("deep 3000", b"\x81" * 3000 + b"\0", b"\x81" * 3000 + b"\0"), ("long bytes", b"\x5b" + b"\xff" * 8, b"\xf6"), ("long array", b"\x9b\x7f" + b"\xff" * 7, b"\xf6"),
        ("long map", b"\xbb\0\0\0\1\0\0\0\0", b"\xf6"), ("long text head", b"\x7b\0\0\0\1\0\0\0\0", b"\xf6"),
    ):  # fmt: skip
        fields = a.message(to, 0x10, None, body_bytes=signed or b"\xa2\x61a\x01\x61b\x02")
        fields = {k: v for k, v in fields.items() if k != "body"}
        for place in ("last", "sorted"):
            pairs = [(cbor.encode(k), cbor.encode(v)) for k, v in fields.items()] + [(cbor.encode("body"), wire)]
            if place == "sorted":
                pairs.sort()
            yield f"wire {name} {place}", await w.post(b"\xa9" + b"".join(k + v for k, v in pairs))
            fields = {**a.message(to, 0x10, None, body_bytes=signed or b"\xa2\x61a\x01\x61b\x02")}
            fields.pop("body")
    fields = base(ttl=50_000)
    pairs = [(cbor.encode(k), cbor.encode(v)) for k, v in fields.items()]
    for name, extra in (("ttl later", [(cbor.encode("ttl"), cbor.encode(1))]), ("same", [(cbor.encode("v"), b"\x01")])):
        yield f"duplicate {name}", await w.post(b"\xaa" + b"".join(k + v for k, v in pairs + extra))
        yield f"duplicate {name} first", await w.post(b"\xaa" + b"".join(k + v for k, v in extra + [(cbor.encode(k), cbor.encode(v)) for k, v in base(ttl=50_000).items()]))
    yield "no body, no enc", await w.post(cbor.encode(a.message(to, 0x10, None, drop=("body",))))
    fields = a.message(to, 0x10, None)
    yield "no sender, bad id", await w.post(cbor.encode({**fields, "id": b"x"}))
    for path in ("/amp/v2/messages", "/amp/v1/nothing", "/"):
        yield path, await w.post(cbor.encode(base()), path=path)
    for headers in ({"Content-Type": "text/plain"}, {"Content-Type": None}, {"X-AMP-Transport-Version": "99"}, {"X-AMP-Transport-Version": None}, {"Content-Type": "application/json"}, {"Content-Type": "Application/CBOR"}):
        yield f"headers {headers}", await w.post(cbor.encode(base()), headers)
    for method in ("GET", "PUT", "DELETE"):
        status, head, body = await http(w.server, method, "/amp/v1/messages", headers={"X-Principal-Did": a.did})
        yield method, f"{status} {head.get('content-type')} {len(body)}"
    status, head, body = await http(w.server, "GET", "/amp/v1/messages")
    yield "GET of nobody", f"{status}"
    status, head, body = await http(w.server, "GET", "/amp/v1/messages?cursor=what", headers={"X-Principal-Did": a.did})
    yield "GET with a bad cursor", f"{status}"
    for size in (70_000, 600_000, 1 << 20, (1 << 20) + 1):
        raw = padded(a, to, size)
        yield f"size {size}", (await w.post(raw))[:400]
    # polling for replies that came no other way
    yield "polled", await polled(w, a)
    # several on one connection
    reader, writer = await asyncio.open_connection("127.0.0.1", w.server.port)
    out = []
    for n in range(10):
        raw = cbor.encode(base())
        writer.write(b"POST /amp/v1/messages HTTP/1.1\r\nHost: x\r\nContent-Type: application/cbor\r\nContent-Length: %d\r\n\r\n" % len(raw) + raw)
        try:
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 3)
            while head.startswith(b"HTTP/1.1 1"):
                head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 3)
            status, headers, _ = parse_http(head)
            if "content-length" not in headers:
                out.append(f"{status}*")
                break
            await reader.readexactly(int(headers["content-length"]))
            out.append(str(status))
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.TimeoutError):
            out.append("end")
            break
    writer.close()
    yield "ten on one connection", " ".join(out)
    started = asyncio.get_running_loop().time()
    for _ in range(3):
        await w.post(cbor.encode(base()))
    took = asyncio.get_running_loop().time() - started
    reader, writer = await asyncio.open_connection("127.0.0.1", w.server.port)
    raw = cbor.encode(base())
    writer.write(b"POST /amp/v1/messages HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(raw) + raw)
    answer = await asyncio.wait_for(reader.read(), 5)
    writer.close()
    yield "interim", f"{answer.startswith(b'HTTP/1.1 103')}"
    del took
    yield "summary", w.summary()


def padded(sender, to, size):
    """A message of exactly `size` bytes."""
    raw = sender.raw(to, 0x10, b"")
    for _ in range(4):
        raw = sender.raw(to, 0x10, bytes(max(0, size - len(raw) + (len(raw) - len(sender.raw(to, 0x10, b""))))))
        over = len(raw) - size
        if over == 0:
            break
        raw = sender.raw(to, 0x10, bytes(size - len(sender.raw(to, 0x10, b"")) - over))
    while len(raw) != size:
        body = cbor.decode(raw).get("body")
        raw = sender.raw(to, 0x10, bytes(len(body) + size - len(raw)))
    return raw


async def polled(w, who, limit=50, pages=6):
    out, cursor = [], None
    for _ in range(pages):
        query = f"?limit={limit}" + (f"&cursor={cursor}" if cursor else "")
        status, head, body = await http(w.server, "GET", "/amp/v1/messages" + query, headers={"X-Principal-Did": who.did})
        if status != 200:
            out.append(str(status))
            break
        try:
            page = cbor.decode(body)
            messages, cursor, more = page.get("messages"), page.get("next_cursor"), page.get("has_more")
            texts = [w.message(m)[:160] if isinstance(m, bytes) and opened(m, w.key_of) else f"NOT BYTES {type(m).__name__}" for m in messages]
            out.append(f"{head.get('content-type')} {sorted(page.keys())} {type(cursor).__name__} {more} [" + "; ".join(texts) + "]")
        except (cbor.CborError, AttributeError, TypeError):
            out.append(f"RUBBISH {body[:1].hex()}")
            break
        if not more and not cursor:
            break
    return "\n    ".join(out)


async def part_ws(w):
    a, to = w.alice, w.to

    def text(events):
        return "; ".join(f"{k} {w.units(v)}" if k.startswith("message") else f"{k} {v if not isinstance(v, bytes) else v[:12].hex()}" for k, v in events) or "silence"

    async def fresh(hello=True, sender=a, **more):
        socket = Socket(w.server)
        status, head = await socket.open(**more)
        if status == 101 and hello:
            socket.frame(2, sender.raw(to, 0x70, good_hello()))
            events = await socket.settle(1)
            return socket, status, head, events
        return socket, status, head, []

    socket, _, _, _ = await fresh(headers={"X-AMP-Max-Message-Size": "300"})
    socket.frame(2, a.raw(to, 0x11, {"op": "echo", "data": "x" * 400}))
    yield "more than the peer takes", text(await socket.settle(2, 0.6))
    socket.close()
    for final, payload in ((False, b"x"), (True, b"x" * 126)):
        socket, _, _, _ = await fresh()
        socket.frame(9, payload, final)
        yield f"ping {final} {len(payload)}", text(await socket.settle(2, 0.6))
        socket.close()
    for protocols in ("amp.v1", "chat, amp.v1", "amp.v1, chat", "", "chat", "amp.v10"):
        socket, status, head, _ = await fresh(False, protocols=protocols)
        line = f"{status} {head.get('sec-websocket-protocol')} {head.get('x-amp-max-message-size')} {head.get(':names') == head.get(':names', '').lower()}"
        if status == 101:
            socket.frame(2, a.raw(to, 0x70, good_hello()))
            line += " " + text(await socket.settle(1))
            socket.close()
        yield f"protocols {protocols}", line
    socket, _, _, events = await fresh()
    yield "hello", text(events)
    for name, raw in {"base": a.raw(to, 0x10, {"m": 1}), "ping": a.raw(to, 0x01), "request": a.raw(to, 0x11, {"op": "echo", "data": 1})}.items():
        socket.frame(2, raw)
        yield name, text(await socket.settle(2 if name != "base" else 1, 0.4))
    thirds = a.raw(to, 0x10, {"m": 2})
    socket.frame(2, thirds[:50], False)
    socket.frame(9, b"mid!")
    socket.frame(0, thirds[50:90], False)
    socket.frame(0, thirds[90:])
    yield "fragments", text(await socket.settle(2))
    socket.frame(9, b"ping")
    yield "ping frame", text(await socket.settle(1, 0.5))
    for n in range(3):
        socket.frame(2, a.raw(to, 0x10, n))
    yield "three at once", text(sorted(await socket.settle(3), key=lambda e: e[0]))
    socket.frame(2, a.raw(to, 0x70, good_hello()))
    yield "second hello", text(await socket.settle(1, 0.6))
    socket.frame(2, a.raw(to, 0x10, 1, v=2))
    yield "v 2", text(await socket.settle(1, 0.6))
    socket.frame(2, a.raw(to, 0x10, {"m": 1}))
    yield "after an error", text(await socket.settle(1, 0.6))
    socket.close()
    socket, _, _, _ = await fresh()
    socket.frame(2, a.raw(to, 0x72, {}))
    await socket.settle(1, 0.2)
    socket.frame(2, a.raw(to, 0x10, {"m": 1}))
    yield "after an unsolicited reject", text(await socket.settle(1, 0.6))
    socket.frame(8, b"\x03\xe8")
    yield "close", text(await socket.settle(2, 1.0))
    socket.close()
    for name, frames in {
        "text hex": [(1, a.raw(to, 0x10, 1).hex().encode())], "text": [(1, b"{}")], "joined": [(2, a.raw(to, 0x10, 1) + a.raw(to, 0x10, 2))], "rubbish": [(2, b"\xff" * 20)], "empty": [(2, b"")],
        "reserved": [(5, b"x")], "cut": [(2, a.raw(to, 0x10, 1)[:60])], "flipped": [(2, a.raw(to, 0x10, 1, key=w.mallory.keys))],
    }.items():  # fmt: skip
        socket, _, _, _ = await fresh()
        for opcode, payload in frames:
            socket.frame(opcode, payload)
        yield name, text(await socket.settle(2, 0.4))
        socket.frame(2, a.raw(to, 0x10, {"m": 1}))
        yield "then base", text(await socket.settle(1, 0.4))
        socket.close()
    socket, _, _, _ = await fresh()
    socket.frame(2, a.raw(to, 0x10, 1), masked=False)
    yield "unmasked", text(await socket.settle(2, 0.4))
    socket.close()
    for name, typ, body in (("base", 0x10, 1), ("ping", 0x01, None), ("batch", 0x16, {"items": [a.raw(to, 0x10, 1)]}), ("ack", 0x71, {"selected": "1.0"})):
        socket, _, _, _ = await fresh(False)
        socket.frame(2, a.raw(to, typ, body))
        yield f"{name} before hello", text(await socket.settle(2, 0.3))
        socket.frame(2, a.raw(to, 0x10, {"m": 1}))
        yield "then base", text(await socket.settle(2, 0.3))
        socket.frame(2, a.raw(to, 0x70, good_hello()))
        yield "then hello", text(await socket.settle(1, 0.3))
        socket.close()
    socket, _, _, _ = await fresh(False)
    socket.frame(2, a.raw(to, 0x70, {"versions": ["99.0"]}))
    yield "rejected", text(await socket.settle(1, 0.4))
    socket.frame(2, a.raw(to, 0x10, {"m": 1}))
    yield "base after reject", text(await socket.settle(1, 0.4))
    socket.close()
    one, _, _, _ = await fresh()
    two, _, _, _ = await fresh()
    raw = a.raw(to, 0x11, {"op": "count"})
    for socket in (one, two):
        socket.frame(2, raw)
        yield "same bytes", text(await socket.settle(2, 0.4))
        socket.close()
    yield "same bytes by HTTP", await w.post(raw)
    raw = padded(a, to, 1 << 20)
    socket, _, _, _ = await fresh()
    socket.frame(2, raw)
    yield "a mebibyte", text(await socket.settle(1, 4.0))[:200]
    socket.frame(2, padded(a, to, (1 << 20) + 1))
    yield "a mebibyte and one", text(await socket.settle(2, 2.0))[:200]
    socket.close()


async def part_tcp(w):
    a, to = w.alice, w.to

    def shown(payload):
        try:
            value = cbor.decode(payload)
            return w.message(payload) if isinstance(value, cbor.Map) and value.has("typ") else w.tidy(value)
        except cbor.CborError:
            return payload[:12].hex()

    def text(events):
        return "; ".join(f"{k} {(shown(v) if k != 3 else 'opaque') if isinstance(v, bytes) else v}" for k, v in events) or "silence"

    async def fresh(hello=True, **more):
        frames = Frames(w.server)
        await frames.open()
        events = await frames.handshake(**more)
        if hello:
            frames.send(1, a.raw(to, 0x70, good_hello()))
            events += await frames.settle(1)
        return frames, events

    for more in ({}, {"did": None}, {"extensions": ["x"]}, {"token": "t"}, {"version": 99}, {"version": None}, {"max_msg_size": None}, {"max_msg_size": "x"}, {"version": "1"}, {"version": 257}, {"version": 2**32 + 1}, {"max_msg_size": 100}):
        frames, events = await fresh(False, **more)
        line = text(events)
        frames.send(1, a.raw(to, 0x70, good_hello()))
        line += " | " + text(await frames.settle(1, 0.4))
        yield f"handshake {more}", line
        frames.close()
    frames, events = await fresh()
    yield "hello", text(events)
    for name, raw in {"base": a.raw(to, 0x10, {"m": 1}), "ping": a.raw(to, 0x01), "request": a.raw(to, 0x11, {"op": "echo", "data": 1})}.items():
        frames.send(1, raw)
        yield name, text(await frames.settle(2 if name != "base" else 1, 0.5))
    for payload in (b"", b"ping", bytes(range(125)), b"\xff\0\xff"):
        frames.send(3, payload)
        yield f"PING {len(payload)}", text(await frames.settle(1, 0.5))
    frames.send(1, a.raw(to, 0x10, 1, key=w.mallory.keys))
    yield "flipped", text(await frames.settle(1, 0.5))
    frames.send(0x7F, b"")
    yield "unknown frame", text(await frames.settle(1, 0.3))
    frames.send(0x7F, a.raw(to, 0x10, 1))
    yield "unknown frame with message", text(await frames.settle(1, 0.3))
    frames.send(1, a.raw(to, 0x10, {"m": 1}))
    yield "then base", text(await frames.settle(1, 0.5))
    frames.close()
    for name, data in {
        "zero": bytes(4), "huge": b"\xff" * 4, "over": ((64 << 20) + 2).to_bytes(4, "big"), "two mebibytes": None, "above what was agreed": ((1 << 20) + 18).to_bytes(4, "big"), "rubbish": b"\0\0\0\x05\x01abcd", "empty message": b"\0\0\0\x01\x01", "A.2": bytes.fromhex("0000000401a1617801"),
        "goaway": bytes.fromhex("0000001605a266726561736f6e00676d65737361676563627965"), "second handshake": b"\0\0\0\x02\x02\xa0", "pong": b"\0\0\0\x01\x04",
    }.items():  # fmt: skip
        frames, _ = await fresh()
        if data is None:
            continue
        frames.writer.write(data)
        yield name, text(await frames.settle(2, 0.4))
        frames.send(1, a.raw(to, 0x10, {"m": 1}))
        yield "then base", text(await frames.settle(1, 0.3))
        frames.close()
    for name, kind, payload in (("message", 1, a.raw(to, 0x10, 1)), ("hello", 1, a.raw(to, 0x70, good_hello())), ("handshake as message", 1, cbor.encode({"version": 1, "max_msg_size": 1048576})), ("ping", 3, b"x"), ("rubbish handshake", 2, b"\xff")):
        frames = Frames(w.server)
        await frames.open()
        frames.send(kind, payload)
        yield f"{name} first", text(await frames.settle(2, 0.4))
        frames.close()
    for typ, body in ((0x10, 1), (0x01, None)):
        frames, _ = await fresh(False)
        frames.send(1, a.raw(to, typ, body))
        yield f"{typ} before hello", text(await frames.settle(2, 0.4))
        frames.send(1, a.raw(to, 0x10, {"m": 1}))
        yield "then base", text(await frames.settle(1, 0.3))
        frames.close()
    raw = padded(a, to, 1 << 20)
    frames, _ = await fresh()
    frames.send(1, raw)
    yield "a mebibyte", text(await frames.settle(1, 4.0))[:200]
    frames.close()
    frames = Frames(w.server)
    await frames.open()
    yield "silent", text(await frames.settle(1, 2.6 if w.server.ways.has("tcp-handshake-two-seconds") else 0.1))
    frames.close()


async def part_poll(w):
    """Replies by polling, and the wrapper; meant for role both."""
    a, b = w.alice, w.bob
    sizes = (1, 100, 100_000)
    for n, size in enumerate(sizes):
        fields = w.name(a.message(b.did, 0x10, bytes(size)), f"queued {n}")
        yield f"queue {n}", await w.post(cbor.encode(fields, "given"))
    yield "for carol", await w.post(cbor.encode(w.name(a.message(w.carol.did, 0x10, 1), "for carol")))
    yield "all", await polled(w, b)
    yield "one at a time", await polled(w, b, 1)
    yield "two at a time", await polled(w, b, 2)
    yield "three at a time", await polled(w, b, 3)
    yield "carol", await polled(w, w.carol)
    yield "mallory", await polled(w, w.mallory)
    status, head, body = await http(w.server, "GET", "/amp/v1/messages?limit=2&cursor=zzz", headers={"X-Principal-Did": b.did})
    yield "bad cursor", f"{status}"
    status, head, body = await http(w.server, "GET", "/amp/v1/messages")
    yield "nobody", f"{status}"
    status, head, body = await http(w.server, "GET", "/amp/v1/messages?limit=1", headers={"X-Principal-Did": b.did})
    yield "hash", hashlib.sha256(body).hexdigest()[:0] + str(len(body) > 60)


async def part_relay(w):
    a, b, to = w.alice, w.bob, w.to
    ways = w.server.ways

    async def through(name, poll_by=None, order="given", **more):
        fields = w.name(a.message(more.pop("to", b.did), 0x10, {"m": name}, **more), name)
        raw = cbor.encode(fields, order)
        line = await w.post(raw)
        if poll_by:
            status, _, body = await http(w.server, "GET", "/amp/v1/messages?limit=50", headers={"X-Principal-Did": poll_by.did})
            try:
                found = cbor.decode(body).get("messages")
            except cbor.CborError:
                found = []
            same = raw in found
            ours = [m for m in found if isinstance(m, bytes) and fields["id"] in m]
            line += f" -> {'same' if same else 'other ' + w.message(ours[0]) if ours else 'absent'}"
        return name, line

    yield await through("stored", b)
    yield await through("with all", b, thread_id=b"\0\xff\x28", ext={"a": 1}, reply_to=b"\1" * 16)
    yield await through("two", w.carol, to=[b.did, w.carol.did])
    yield await through("long ttl", b, ttl=400 * 86_400_000)
    yield await through("expired", None, ts=ways.now() - 9000, ttl=1000)
    yield await through("future", None, ts=ways.now() + 200_000)
    yield await through("v 2", None, v=2)
    yield await through("forged", b, key=w.mallory.keys)
    yield await through("ttl 0", b, ts=ways.now() + 10_000, ttl=0)
    yield await through("nowhere", None, to="did:web:proofmark.invalid")
    if True:
        fields = a.message(b.did, 0x10, {"m": 1}, enc=b.keys.x_public)
        yield "encrypted", await w.post(cbor.encode(w.name(fields, "encrypted")))
    yield "request", await w.post(a.raw(b.did, 0x11, {"op": "echo"}))
    yield "its own", await w.post(a.raw(to, 0x10, 1))
    # retained until the ACK
    yield "again", await polled(w, b)
    yield "and again", await polled(w, b)
    fields = w.name(a.message(b.did, 0x10, {"m": "kept"}), "kept")
    yield "kept", await w.post(cbor.encode(fields))
    ack = b.message(a.did, 0x03, {"ack_source": "recipient", "received_at": ways.now()}, reply_to=fields["id"])
    yield "ack", await w.post(cbor.encode(w.name(ack, "ack of bob")))
    yield "after the ack", await polled(w, b)
    yield "alice", await polled(w, a)
    short = w.name(a.message(w.carol.did, 0x10, 1, ttl=3000), "short")
    long = w.name(a.message(w.carol.did, 0x10, 2, ttl=60_000), "long")
    for fields in (short, long):
        await w.post(cbor.encode(fields))
    for gap in (4000, 10_000):
        ways.offset_ms += gap
        yield f"after {gap}", await polled(w, w.carol)
    # a connection
    socket = Socket(w.server)
    status, _ = await socket.open()
    if status == 101:
        socket.frame(2, b.raw(to, 0x70, good_hello()))
        first = await socket.settle(1, 1.0)
        yield "connected", f"{sorted(k for k, _ in first)} {len(first)} " + "; ".join(w.message(v)[:120] for k, v in first if k == "message")
        for name, more in (("pushed", {}), ("pushed at once", {"ts": ways.now() + 10_000, "ttl": 0})):
            fields = w.name(a.message(b.did, 0x10, {"m": name}, **more), name)
            raw = cbor.encode(fields)
            line = await w.post(raw)
            events = await socket.settle(1, 0.4)
            yield name, line + f" -> {[('same' if v == raw else 'other') if k == 'message' else k for k, v in events]}"
        socket.close()
        await asyncio.sleep(0.05)
    yield "after all", await polled(w, b)
    yield "summary", w.summary()


async def part_clock(w):
    """Exact boundaries with a frozen clock."""
    a, to, ways = w.alice, w.to, w.server.ways
    t = 1_760_000_000_000
    for name, now, more in (
        ("at expiry", t + 60_000, {}), ("one past expiry", t + 60_001, {}), ("at skew", t - 30_000, {}), ("beyond skew", t - 30_001, {}), ("ttl 0 now", t, {"ttl": 0}),
        ("five minutes", t + 300_001, {"ttl": 86_400_000}),
    ):  # fmt: skip
        fields = a.message(to, 0x10, 1, ts=t, **more)
        ways.frozen_ms = now
        yield name, await w.post(cbor.encode(fields))
    ways.frozen_ms = None


async def part_initiator(w):
    """What the server does with its own messages; times are measured in steps that survive a busy machine."""
    a = w.alice
    posts, plan = [], []

    async def serve(reader, writer):
        try:
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)
            _, headers, _ = parse_http(b"HTTP/1.1 200 \r\n" + head.split(b"\r\n", 1)[1])
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            posts.append((asyncio.get_running_loop().time(), head.split(b"\r\n")[0].decode(), headers.get("content-type"), body))
            step = plan[min(len(posts) - 1, len(plan) - 1)]
            answer = step(body) if step else b""
            status = b"202 Accepted" if not answer else b"200 OK"
            writer.write(b"HTTP/1.1 " + status + b"\r\nContent-Type: application/cbor\r\nContent-Length: %d\r\n\r\n" % len(answer) + answer)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.TimeoutError):
            pass
        finally:
            writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    id_of = lambda body: cbor.decode(body).get("id")
    ack = lambda who, source="recipient", **more: lambda body: who.raw(w.to, 0x03, {"ack_source": source, "received_at": 1}, reply_to=id_of(body), **more)
    error = lambda code, retry: lambda body: a.raw(w.to, 0x0F, {"code": code, "category": "server", "message": "", "retry": retry}, reply_to=id_of(body))

    async def run(name, steps, seconds, **order):
        posts.clear()
        plan[:] = steps
        started = asyncio.get_running_loop().time()
        await w.server.send({"to": a.did, "url": url, "body": {"m": 1}, **order})
        await asyncio.sleep(seconds)
        count = len(posts)
        first = posts[0] if posts else (0, "", "", b"\xf6")
        ids = len({id_of(p[3]) for p in posts if opened(p[3], w.key_of)})
        same = len({p[3] for p in posts})
        gap = posts[1][0] - posts[0][0] if count > 1 else 0
        gap_text = "none" if not gap else "none at all" if gap < 0.3 else "short" if gap < 1.6 else "long"
        late = posts[0][0] - started > 0.5 if posts else None
        kind = {0: "none", 1: "one", 2: "two"}.get(count, "several" if count < 8 else "many")
        for task in list(w.server.tasks):
            task.cancel()
        return name, f"{kind} ids={ids} same={same == 1} gap={gap_text} late={late} {first[1]} {first[2]} {w.message(first[3])}"

    yield await run("acknowledged", [ack(a)], 1.5)
    yield await run("silent then acknowledged", [None, ack(a)], 3.4)
    yield await run("permanent error", [error(1002, False)], 1.5)
    yield await run("passing error", [error(5002, True), ack(a)], 1.8)
    yield await run("stranger", [ack(w.mallory), ack(a)], 1.8)
    yield await run("forged", [ack(a, key=w.mallory.keys), ack(a)], 1.8)
    yield await run("expiry", [None], 3.0, ttl=500)
    yield await run("HELLO", [ack(a)], 0.4, typ="HELLO", body=None)
    gaps = []
    for _ in range(1):
        posts.clear()
        plan[:] = [None]
        await w.server.send({"to": a.did, "url": url, "body": 1})
        await asyncio.sleep(7.6)
        gaps = [y[0] - x[0] for x, y in zip(posts, posts[1:])]
        for task in list(w.server.tasks):
            task.cancel()
    full = bool(gaps) and all(abs(g - 2**n) < 0.04 for n, g in enumerate(gaps))
    grows = len(gaps) > 2 and gaps[2] > 1.6
    yield "waits", f"full={full} grows={grows} count={'few' if len(posts) < 3 else 'some' if len(posts) < 6 else 'many'}"
    listener.close()


RUNS = {name: globals()["part_" + name] for name in PARTS}
__all__ = ["PARTS", "RUNS", "SLOW_PARTS", "World", "padded", "polled", "settled"]

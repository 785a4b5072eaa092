"""A node: the processing of a readable message (E31 from step 2 on), replies, repeats, negotiation, batch, and the relay.

`Node.take` gets bytes from a channel and returns the messages that answer it, in order. A channel has `kind` (http, ws, tcp),
`peer` (a DID or None), `negotiated`, and `deliver(bytes)` on persistent ones.
"""

import asyncio
import hashlib
import os
import random

import amp_cbor as cbor
import amp_keys as keys
from amp_apps import Apps
from amp_options import Taken
from amp_message import (
    ALG, CATEGORIES, CODES, CONTROL, DAY, HELLOS, MINUTE, MODE, NAMES, TYPES,
    Refusal, canonical, is_uint, read, sig_input, wire,
)  # fmt: skip


class Channel:
    kind = "http"

    def __init__(self, peer=None):
        self.peer, self.negotiated, self.failed, self.started = peer, False, False, False

    def deliver(self, raw):
        return False


class Node(Apps):
    def __init__(self, ways, own, did, document, role="agent"):
        self.ways, self.keys, self.did, self.document, self.role = ways, own, did, document, role
        self.resolver = keys.Resolver(ways)
        keys.WAYS = ways
        self.resolver.preloaded[did] = document
        self.agreement_secrets = [own.x_secret]
        self.seen = {}  # (from, id): [digest, replies, forget_at]
        self.busy = {}  # (from, id): future
        self.boxes = {}  # did: [[seq, id, raw, expires, sender]]
        self.sequence = 0
        self.online = {}  # did: set of channels
        self.relayed = {}  # (recipient, id): sender
        self.counter = 0
        self.nonce_counter = 0
        self.sent = {}  # id: outbound state
        self.peers_state = {}
        self.start_apps()

    # --- building ---------------------------------------------------------------------------------------------------

    def new_id(self, ts):
        w = self.ways
        self.counter += 1
        tail = os.urandom(8)
        if w.bug("id-counter-tail"):
            tail = self.counter.to_bytes(8, "big")
        elif w.bug("id-tail-32-bits"):
            tail = bytes(4) + os.urandom(4)
        elif w.bug("id-tail-constant"):
            tail = b"\1\2\3\4\5\6\7\x08"
        elif w.bug("id-tail-seeded"):
            tail = random.Random(1).randbytes(8)
        stamp = ts
        if w.has("id-time-half-second-off"):
            stamp = ts - 500
        elif w.bug("id-time-in-seconds"):
            stamp = ts // 1000
        elif w.bug("id-time-two-seconds-off"):
            stamp = ts - 2000
        elif w.bug("id-time-zero"):
            stamp = 0
        elif w.bug("id-time-microseconds"):
            stamp = ts * 1000
        if w.bug("id-random"):
            return os.urandom(16)
        if w.bug("id-swapped"):
            return tail + stamp.to_bytes(8, "big")
        if w.bug("reply-ids-count-milliseconds"):
            tail = self.keys.public[:7] + bytes([self.counter & 0xFF])
        return stamp.to_bytes(8, "little" if w.bug("id-little-endian") else "big") + tail

    async def build(self, typ, body, to, reply_to=None, thread_id=None, encrypt=False, ttl=None, sender=None, ext=None, ts=None):
        """A complete message. Hooks of choices and bugs change the draft before and after it is signed."""
        w = self.ways
        ts = w.now() if ts is None else ts
        name = NAMES.get(typ, "")
        draft = {"v": 1, "typ": typ, "ts": ts, "ttl": MINUTE if ttl is None else ttl, "from": sender or self.did, "to": to}
        if ttl is None:
            draft["ttl"] = DAY if w.has("out-ttl-day") else 30 * DAY if w.has("out-ttl-month") else 5000 if w.has("out-ttl-short") else MINUTE
        if w.has("from-with-fragment"):
            draft["from"] = draft["from"] + "#" + self.method_fragment
        if w.has("to-as-array"):
            draft["to"] = [to]
        if reply_to is not None:
            draft["reply_to"] = reply_to
        if thread_id is not None and not w.has("no-thread-echo"):
            draft["thread_id"] = thread_id
        if w.bug("ts-in-seconds"):
            draft["ts"] = ts // 1000
        elif w.bug("ts-local-zone"):
            draft["ts"] = ts + 3_600_000
        elif w.bug("ts-microseconds"):
            draft["ts"] = ts * 1000
        draft["id"] = self.new_id(draft["ts"])
        draft["body"] = body
        if w.has("out-ext"):
            draft["ext"] = {"trace_id": "peer-1", "debug": {"hops": 0}}
        if ext is not None:
            draft["ext"] = ext
        if w.has("out-unknown-member"):
            draft["x-peer"] = True
        w.change("draft", draft, name, self)
        with w.signing():
            body_bytes = canonical(draft.get("body"), w)
            fields = {k: draft[k] for k in ("id", "typ", "ts", "ttl", "from", "to", "reply_to", "thread_id", "v", "ext") if k in draft}
            signed = sig_input(fields, body_bytes, w)
        draft["sig"] = self.keys.sign(signed)
        if w.bug("signs-with-seed-of-agreement"):
            draft["sig"] = keys.Keys(self.keys.x_secret).sign(signed)
        if encrypt:
            await self.encrypt(draft, body_bytes, keys.bare(to if isinstance(to, str) else to[0]))
        w.change("signed", draft, name, self)
        return wire(draft, w)

    async def encrypt(self, draft, body_bytes, recipient):
        w = self.ways
        document = await self.resolver.resolve(recipient)
        theirs = keys.agreement_keys(document, w) if document else []
        if not theirs or not self.document.get("keyAgreement"):
            return
        nonce = os.urandom(24)
        if w.bug("box-constant-nonce"):
            nonce = b"\x07" * 24
        elif w.bug("box-nonce-from-id"):
            nonce = draft["id"] + bytes(8)
        secret, public = self.keys.x_secret, theirs[0]
        enc = {"alg": ALG, "mode": MODE, "nonce": nonce}
        if w.bug("box-ephemeral-sender"):
            fresh = keys.Keys(os.urandom(32))
            secret, enc["epk"] = fresh.x_secret, fresh.x_public
        plain = body_bytes
        if w.bug("box-encrypts-other-serialisation"):
            plain = cbor.encode(draft.get("body"), "reverse")
        if w.bug("box-no-hsalsa"):
            shared = keys.bindings.crypto_scalarmult(secret, public)
            sealed = keys.bindings.crypto_secretbox(plain, nonce, shared)
        else:
            try:
                sealed = keys.seal(plain, nonce, public, secret)
            except RuntimeError:
                return  # a key of low order, which cannot encrypt
        if w.bug("box-tag-last"):
            sealed = sealed[16:] + sealed[:16]
        enc["ciphertext"] = sealed
        if w.bug("enc-alg-lower-out"):
            enc["alg"] = ALG.lower()
        elif w.bug("enc-mode-missing-out"):
            del enc["mode"]
        elif w.bug("enc-nonce-12-out"):
            enc["nonce"] = nonce[:12]
        elif w.bug("enc-nonce-prefixed-out"):
            enc["ciphertext"] = nonce + sealed
        if w.bug("enc-signs-ciphertext"):
            with w.signing():
                draft["sig"] = self.keys.sign(sig_input({k: v for k, v in draft.items() if k not in ("body", "sig")}, sealed, w))
        if not w.bug("enc-keeps-null-body"):
            del draft["body"]
        else:
            draft["body"] = None
        draft["enc"] = enc

    async def reply(self, message, typ, body, encrypted=False, **more):
        """A message to the sender of `message` that names it in reply_to."""
        w = self.ways
        to = message.sender if w.has("reply-to-full-sender") else keys.bare(message.sender)
        if message.batch and w.bug("batch-replies-to-container-sender"):
            to = keys.bare(message.batch[0].sender)
        thread = message.thread_id if isinstance(message.thread_id, bytes) else None
        if thread and len(thread) > 32 and w.bug("thread-echo-32-bytes"):
            thread = thread[:32]
        if thread and w.bug("thread-of-first-kept"):
            thread = self.peers_state.setdefault(("thread", to), thread)
        encrypt = (encrypted or w.has("replies-always-encrypted")) and not w.has("encrypted-answered-plain")
        reference = more.pop("reply_to", message.id)
        if w.bug("reply-ts-is-request-ts"):
            more["ts"] = message.ts
        if w.name == "replies-name-latest" and hasattr(message.channel, "latest"):
            await asyncio.sleep(0.003)
            if message.channel.latest != message.id and w.bug("replies-name-latest"):
                reference = message.channel.latest
        return await self.build(typ, body, to, reply_to=reference, thread_id=thread, encrypt=encrypt, **more)

    def error_body(self, code, rule, details=None, typ=None, batch_index=None):
        w = self.ways
        name, retry = CODES.get(code, ("VENDOR", False))
        category = CATEGORIES[code // 1000]
        text = name.replace("_", " ").lower()
        if w.has("error-text-empty"):
            text = ""
        elif w.has("error-text-code-name"):
            text = name
        elif w.has("error-text-long"):
            text = (name + ": ") + "the message was not taken; see the description of this code. " * 20
        elif w.has("error-text-unicode"):
            text = "refusé \u2014 \u62d2\u5426 \u202e<b>&\u0007"
        if w.has("category-capitalised"):
            category = category.capitalize()
        elif w.has("category-upper"):
            category = category.upper()
        body = {"code": code, "category": category, "message": text}
        if not w.has("no-retry"):
            body["retry"] = retry if not (code == 2003 and w.has("retry-2003-false")) else False
        if code == 3001 and w.bug("decrypt-oracle-details"):
            body["details"] = {"failed": rule}
        elif w.has("details-text"):
            body["details"] = name
        elif w.has("details-map"):
            body["details"] = {"name": name, "spec": "15.3"}
        elif w.has("details-null"):
            body["details"] = None
        elif w.has("details-list"):
            body["details"] = [code, name, b"\0", 1.5]
        if details and not w.has("no-ttl-details"):
            body["details"] = details
        if batch_index is not None and not w.has("no-batch-index"):
            body["batch_index"] = batch_index + (1 if w.bug("batch-index-from-one") else 0)
        w.change("error", body, NAMES.get(typ, ""), self)
        return body

    async def error(self, refusal, encrypted=False, batch=None):
        """The ERROR for a rejection whose sender and id are known; None if either is unknown."""
        w = self.ways
        index = None
        to, reference = refusal.sender, refusal.id
        if batch is not None and (reference is None or to is None or not keys.is_did(to)):
            if w.has("bad-item-silent") and refusal.rule != "item-type":
                return None
            to, reference, index = batch[0].sender, batch[0].id, batch[1]
        if to is None or not keys.is_did(to) or (reference is None and not w.has("error-without-id")):
            return None
        if refusal.silent:
            return None
        silent = refusal.typ == TYPES["ERROR"] or (refusal.typ in CONTROL and not refusal.late and not w.has("error-for-bad-ack"))
        if silent and w.has("bad-control-silent"):
            refusal.silent = True
            return None
        if silent and not w.has("error-for-bad-control"):
            return None
        if w.bug("errors-never-sent"):
            return None
        taken = Taken.now()
        if taken.channel is not None and taken.over("ws", "tcp") and w.name == "errors-once-per-connection":
            if getattr(taken.channel, "complained", False) and w.bug("errors-once-per-connection"):
                refusal.silent = True
                return None
            taken.channel.complained = True
        to = to if w.has("reply-to-full-sender") else keys.bare(to)
        if getattr(taken.channel, "peer", None) and w.name == "error-to-peer-of-connection" and taken.channel.peer != to:
            to = taken.channel.peer if w.bug("error-to-peer-of-connection") else to
        body = self.error_body(refusal.code, refusal.rule, refusal.details, refusal.typ, index)
        encrypt = encrypted and not w.has("encrypted-answered-plain")
        return await self.build(TYPES["ERROR"], body, to, reply_to=reference, thread_id=refusal.thread_id, encrypt=encrypt)

    # --- checking ---------------------------------------------------------------------------------------------------

    def step_version(self, m):
        w = self.ways
        if m.typ in HELLOS:
            if m.v != 1:
                w.refuse("hello-version", 1004)
        elif m.v != 1:
            if w.bug("version-zero-accepted") and m.v == 0:
                return
            if w.bug("version-two-accepted") and m.v == 2:
                return
            if w.bug("version-low-byte") and m.v & 0xFF == 1:
                return
            if w.bug("version-32-bits") and m.v & 0xFFFFFFFF == 0:
                return
            w.refuse("version-zero" if m.v == 0 else "version", 1004)

    def step_time(self, m):
        w = self.ways
        now, end, skew = w.now(), m.ts + m.ttl, 30_000
        if w.bug("ttl-in-seconds"):
            end = m.ts + m.ttl * 1000
        if w.bug("time-overflow-wraps"):
            end = (m.ts + m.ttl) & (2**64 - 1)
        elif w.bug("time-overflow-signed"):
            end = m.ts + (m.ttl if m.ttl < 2**31 else m.ttl - 2**32 if m.ttl < 2**32 else -1)
        if w.bug("ext-ttl-honoured") and isinstance(m.ext, cbor.Map) and is_uint(m.ext.get("override_ttl")):
            end = m.ts + m.ext.get("override_ttl")
        if w.bug("time-ttl-from-receipt"):
            end = now + m.ttl
        if w.bug("time-skew-on-expiry"):
            end += skew
        if w.bug("time-expiry-grace-five-seconds"):
            end += 5_000
        if w.bug("ttl-capped-at-hour"):
            end = min(end, m.ts + 3_600_000)
        if w.bug("time-five-minute-window") and now - m.ts > 5 * MINUTE:
            w.refuse("expired", 1003)
        if w.bug("ttl-zero-refused") and m.ttl == 0:
            w.refuse("ttl-zero", 1001)
        if w.bug("ttl-zero-means-default") and m.ttl == 0:
            end = m.ts + DAY
        if w.bug("ttl-minimum-ten-seconds") and m.ttl < 10_000:
            w.refuse("ttl-small", 1001)
        if w.bug("ttl-maximum-day") and m.ttl > DAY - 1:
            w.refuse("ttl-large", 1001)
        if now > end or (w.bug("time-expiry-inclusive") and now >= end):
            if not (m.ttl == 0 and w.has("ttl-zero-lenient") and now - m.ts < 10_000):
                w.refuse("expired", 1003)
        if m.ttl > 400 * DAY and w.has("ttl-limited"):
            w.refuse("ttl-excessive", 1003)
        if w.bug("time-skew-five-seconds"):
            skew = 5_000
        elif w.bug("time-skew-one-minute"):
            skew = MINUTE
        elif w.bug("time-skew-five-minutes"):
            skew = 5 * MINUTE
        elif w.bug("time-skew-seconds-as-ms"):
            skew = 30
        if m.ts > now + skew or (w.bug("time-skew-inclusive") and m.ts >= now + skew):
            w.refuse("future", 1003)

    def for_me(self, m):
        w = self.ways
        to = m.to
        if w.bug("to-first-only"):
            to = to[:1]
        elif w.bug("to-last-only"):
            to = to[-1:]
        if w.bug("to-prefix-match"):
            return any(t and (t.startswith(self.did) or self.did.startswith(t)) for t in to)
        if w.bug("to-ignore-case"):
            return self.did.lower() in [keys.bare(t).lower() for t in to]
        if w.has("fragment-in-to-refused") or w.bug("to-fragment-refused"):
            return self.did in to
        return self.did in [keys.bare(t) for t in to]

    def step_recipient(self, m):
        if not self.for_me(m) and self.role == "agent":
            if self.ways.has("for-others-silent"):
                refusal = Refusal("for-others", 3001)
                refusal.silent = True
                raise refusal
            self.ways.refuse("for-others", 3001)

    async def step_key(self, m):
        w = self.ways
        if w.bug("verify-with-own-key"):
            m.key = self.keys.public
            return
        if w.bug("key-from-ext") and isinstance(m.ext, cbor.Map) and isinstance(m.ext.get("public_key"), bytes):
            m.key = m.ext.get("public_key")
            return
        document = await self.resolver.resolve(m.sender)
        m.sender_document = document
        m.key = None
        if document is None:
            if w.bug("from-unresolved-accepted"):
                m.trusted = True
                return
            w.refuse("from-unresolved", 3001)
            return
        m.key, rule = keys.signing_key(document, m.sender, w)
        if m.key is not None and w.bug("key-cached-by-bare-did"):
            m.key = self.peers_state.setdefault(("key", keys.bare(m.sender)), m.key)
        if m.key is None:
            w.refuse(rule, 3001)

    async def step_decrypt(self, m):
        w = self.ways
        if not m.encrypted:
            m.body_bytes = None
            return
        if not self.document.get("keyAgreement"):
            w.refuse("decrypt", 3001)
        if m.batch and w.bug("enc-refused-in-items") or m.typ == TYPES["BATCH"] and w.bug("enc-refused-for-batch"):
            w.refuse("decrypt", 3001)
        if len(m.raw) > 65536 and w.bug("enc-large-refused"):
            w.refuse("decrypt", 3001)
        if (m.typ < 0x10 or m.typ in HELLOS) and w.bug("enc-refused-for-control"):
            w.refuse("decrypt", 3001)
        theirs = keys.agreement_keys(m.sender_document or {}, w)
        if not (w.has("every-sender-agreement-key") or w.bug("box-every-key-in-document")):
            theirs = theirs[:1]
        if w.bug("box-ephemeral-sender") and isinstance(m.enc["epk"], bytes) and len(m.enc["epk"]) == 32:
            theirs = [m.enc["epk"]]
        elif w.bug("box-epk-accepted") and isinstance(m.enc["epk"], bytes) and len(m.enc["epk"]) == 32:
            theirs = theirs + [m.enc["epk"]]
        sealed = m.enc["ciphertext"]
        forms = [sealed]
        if w.bug("box-tag-last"):
            forms = [sealed[-16:] + sealed[:-16]]
        elif w.bug("box-tag-either-end"):
            forms = [sealed, sealed[-16:] + sealed[:-16]]
        secrets = self.agreement_secrets
        if w.bug("box-own-first-key-only"):
            secrets = secrets[:1]
        for secret in secrets:
            for public in theirs:
                for form in forms:
                    plain = keys.unseal(form, m.enc["nonce"], public, secret)
                    if plain is not None:
                        m.body_bytes = plain
                        return
        if w.bug("box-tag-unchecked") and theirs:
            m.body_bytes = self.open_unchecked(m, theirs[0])
            return
        if w.bug("decrypt-crashes"):
            raise RuntimeError("box")
        w.refuse("decrypt", 3001)
        m.body_bytes = b"\xf6"

    def open_unchecked(self, m, public):
        """The stream cipher without its tag, as a library that forgot to compare it."""
        key = keys.box_key(public, self.keys.x_secret)
        sealed = m.enc["ciphertext"]
        size = len(sealed) - 16
        pad = keys.bindings.crypto_secretbox(bytes(size), m.enc["nonce"], key)[16:]
        return bytes(a ^ b for a, b in zip(sealed[16:], pad))

    def step_signature(self, m):
        w = self.ways
        if not m.encrypted and "duplicate" in self.body_notes(m):
            if not (w.has("duplicates-last-win") or w.has("duplicates-first-win")):
                w.refuse("duplicate-body-key", 1001)
        if getattr(m, "trusted", False) or m.key is None:
            self.decode_body(m)
            return
        if w.bug("verify-skipped-when-encrypted") and m.encrypted:
            pass
        elif w.bug("verify-skipped-for-control") and (m.typ < 0x10 or m.typ in HELLOS):
            pass
        elif w.bug("verify-skipped-for-streams") and m.typ in (0x13, 0x14, 0x15):
            pass
        elif w.bug("verify-skipped-for-hello") and m.typ in HELLOS:
            pass
        elif w.bug("verify-skipped-for-ping") and m.typ == TYPES["PING"]:
            pass
        elif w.bug("verify-skipped-for-documents") and 0x30 <= m.typ < 0x60:
            pass
        elif w.bug("verify-skipped-for-null-body") and m.body is None and not m.encrypted:
            pass
        elif w.bug("verify-skipped-for-self") and keys.bare(m.sender) == self.did:
            pass
        elif w.bug("ext-verified-trusted") and isinstance(m.ext, cbor.Map) and m.ext.get("verified") is True:
            pass
        elif w.bug("verify-once-per-peer") and self.peers_state.get(keys.bare(m.sender)):
            pass
        elif w.bug("sig-zero-accepted") and not any(m.sig):
            pass
        elif w.bug("verify-skipped-for-batch-items") and m.batch:
            pass
        elif w.bug("verify-http-header-trusted") and getattr(m, "relay_header", False):
            pass
        elif not self.signature_fits(m):
            w.refuse("signature", 1002)
        self.peers_state[keys.bare(m.sender)] = True
        self.decode_body(m)

    def signature_fits(self, m):
        w = self.ways
        public = m.key
        if w.bug("verify-any-method") and m.sender_document:
            candidates = [keys.method_key(x)[1] for _, x in keys.methods(m.sender_document) if keys.method_key(x)[0] == "ed"]
        else:
            candidates = [public]
        for active in w.verifying():
            with active:
                signed = self.sig_bytes(m)
            if m.encrypted and w.bug("enc-headers-unsigned"):
                for name in ("reply_to", "thread_id"):
                    fewer = {k: v for k, v in m.fields.items() if k != name}
                    if keys.verify(public, sig_input(fewer, m.body_bytes, w), m.sig):
                        return True
            for key in candidates:
                if keys.verify(key, signed, m.sig, w.bug("sig-accepts-malleated")):
                    return True
                if w.bug("sig-first-half-only") and len(m.sig) == 64 and self.prefix_fits(key, signed, m.sig):
                    return True
        return False

    def prefix_fits(self, key, signed, sig):
        """An incomplete comparison cannot be built without the secret; only a flipped last byte is accepted."""
        return any(keys.verify(key, signed, sig[:63] + bytes([sig[63] ^ 1 << n])) for n in range(8))

    def sig_bytes(self, m):
        w = self.ways
        body = m.body_bytes
        if m.encrypted:
            if w.bug("sig-over-ciphertext-accepted") and not self.plain_fits(m):
                body = m.enc["ciphertext"]
            elif w.bug("sig-reencode-decrypted"):
                try:
                    body = cbor.encode(cbor.decode(m.body_bytes))
                except cbor.CborError:
                    pass
        elif w.bug("sig-over-wire-body"):
            body = m.wire_body
        else:
            body = canonical(m.body, w, m)
        return sig_input(m.fields, body, w)

    def plain_fits(self, m):
        return keys.verify(m.key, sig_input(m.fields, m.body_bytes, self.ways), m.sig)

    def decode_body(self, m):
        w = self.ways
        if not m.encrypted:
            return
        try:
            decoder = cbor.Decoder(m.body_bytes)
            m.body = decoder.item()
            if decoder.at != len(m.body_bytes):
                w.refuse("body-trailing", 1001)
            if w.has("decrypted-must-be-sorted") and decoder.notes & {"unsorted", "wide", "indefinite"}:
                w.refuse("body-not-deterministic", 1001)
            if "duplicate" in decoder.notes:
                w.refuse("duplicate-body-key", 1001)
            if m.body is not None and not isinstance(m.body, cbor.Map) and w.bug("enc-body-must-be-map"):
                w.refuse("body-not-a-map", 1001)
        except cbor.CborError:
            w.refuse("body-not-cbor", 1001)
            m.body = None

    def body_notes(self, m):
        decoder = cbor.Decoder(m.wire_body, utf8="keep", depth=5000)
        decoder.item()
        return decoder.notes

    def supported(self, m):
        w = self.ways
        typ = m.typ & 0xFF if w.bug("type-one-byte") else m.typ
        if w.bug("type-high-bit-ignored"):
            typ = m.typ & 0x7F if m.typ < 0x100 else m.typ
        if typ not in NAMES:
            if w.bug("type-unknown-as-message"):
                m.typ = TYPES["MESSAGE"]
                return True
            if w.bug("type-vendor-as-message") and 0xF0 < typ <= 0xFF:
                m.typ = TYPES["MESSAGE"]
                return True
            if w.bug("type-reserved-acked") and typ < 0x80:
                m.typ = TYPES["MESSAGE"]
                return True
            return False
        m.typ = typ
        return not w.lacks(NAMES[typ])

    def step_type(self, m):
        w = self.ways
        if isinstance(m.ext, cbor.Map) and is_uint(m.ext.get("typ")) and w.bug("ext-shadows-typ"):
            m.typ = m.ext.get("typ")
        if not self.supported(m):
            if w.bug("type-unknown-dropped"):
                refusal = Refusal("type", 1005)
                refusal.silent = True
                raise refusal
            rule = "type" if m.typ <= 0xFF else "type-above-255"
            if NAMES.get(m.typ, "").split("_")[0] in ("CONTACT", "PRESENCE"):
                rule = "type-of-companion"
            w.refuse(rule, 1005)
            m.typ = TYPES["MESSAGE"]

    async def check(self, m):
        """Steps 2 to 8 in the order of E31 or another (several faults: any code whose condition holds)."""
        w = self.ways
        order = ["version", "time", "recipient", "key", "decrypt", "signature"]
        if w.has("order-signature-first"):
            order = ["key", "decrypt", "signature", "version", "time", "recipient"]
        elif w.has("order-type-first"):
            order = ["type"] + order
        elif w.has("order-recipient-first"):
            order = ["recipient", "version", "key", "decrypt", "signature", "time"]
        elif w.has("order-reversed"):
            order = ["recipient", "time", "version", "key", "decrypt", "signature"]
        if w.bug("body-used-before-verify"):
            order = ["version", "time", "recipient", "type", "key"]
        for name in order:
            done = getattr(self, "step_" + name)(m)
            if asyncio.iscoroutine(done):
                await done

    # --- taking -----------------------------------------------------------------------------------------------------

    async def take(self, data, channel, batch=None, limit=0):
        """(replies, refusal): the messages that answer `data`, and why it was refused if it was."""
        w = self.ways
        m = None
        Taken.current.set(Taken(channel, batch))
        try:
            m = read(data, w)
            m.batch, m.channel = batch, channel
            Taken.now().message = m
            if channel.kind != "http":
                channel.latest = m.id
            m.relay_header = getattr(channel, "relay_header", False)
            if self.forwards(m):
                return await self.forward(m, channel), None
            if w.bug("replay-cache-before-verify") and self.repeat_of(m):
                return self.repeat_of(m)[1], None
            if w.bug("replay-cache-before-verify"):
                self.remember(m, [])
            self.before_hello(m, channel, batch)
            if w.has("replay-served-unverified") and self.repeat_of(m):
                return list(self.repeat_of(m)[1]), None
            await self.check(m)
            if batch and keys.bare(m.sender) != keys.bare(batch[0].sender) and w.bug("batch-same-sender-only"):
                w.refuse("item-sender", 3001)
            replies = await self.once(m, channel)
            return replies, None
        except Refusal as refusal:
            if m is not None:
                refusal.sender, refusal.id, refusal.typ = refusal.sender or m.sender, refusal.id or m.id, m.typ
                refusal.thread_id = m.thread_id if isinstance(m.thread_id, bytes) else None
                if refusal.rule == "signature" and m.typ == TYPES["STREAM_DATA"] and w.name == "stream-forged-chunk-kept":
                    stream = self.stream_of(m) if isinstance(m.body, cbor.Map) else None
                    if stream and is_uint(m.body.get("index")) and w.bug("stream-forged-chunk-kept"):
                        stream["count"] += m.body.get("index") not in stream["parts"]
                        stream["parts"].setdefault(m.body.get("index"), m.body.get("data"))
                if refusal.rule == "signature" and w.bug("replay-forgery-clears"):
                    self.seen.pop(self.cache_key(m), None)
                if refusal.rule == "id-reused" and w.bug("replay-other-content-clears"):
                    self.seen.pop(self.cache_key(m), None)
                if refusal.rule == "signature" and m.typ in HELLOS and w.bug("hello-forged-negotiates"):
                    channel.negotiated, channel.peer = True, keys.bare(m.sender)
                if refusal.rule.startswith("schema-hello") and w.bug("hello-refused-negotiates"):
                    channel.negotiated, channel.peer = True, keys.bare(m.sender)
                if w.bug("replay-errors-kept-before-verify"):
                    self.remember(m, [])
                self.after_refusal(m, refusal, channel)
            if refusal.rule == "hello-version" and w.has("hello-version-reject") and m is not None:
                return [await self.hello_reject(m)], None
            if refusal.rule == "from-unresolved" and w.has("unresolved-bare"):
                return [], refusal
            error = await self.error(refusal, batch=batch, encrypted=False)
            if error is not None and m is not None and refusal.late and w.has("errors-remembered"):
                self.remember(m, [error])
            extra = []
            if w.bug("acks-before-checking") and m is not None:
                extra = [await self.ack(m)]
            return extra + ([error] if error is not None else []), refusal

    def after_refusal(self, m, refusal, channel):
        """State that a bug changes although the message was refused."""
        w = self.ways
        sender, key = keys.bare(m.sender), self.cache_key(m)
        if refusal.rule in ("version", "version-zero") and channel.negotiated and w.bug("refused-version-ends-negotiation"):
            channel.negotiated = False
        if refusal.rule == "id-reused" and w.bug("replay-other-content-replaces"):
            self.seen[key][0] = self.digest(m)
        if refusal.rule != "signature":
            return
        self.peers_state[("forged", key)] = times = self.peers_state.get(("forged", key), 0) + 1
        if key not in self.seen:
            if times > 1 and w.bug("replay-second-forgery-blocks") or m.batch and w.bug("batch-forged-item-remembered"):
                self.remember(m, [])
        if m.typ == TYPES["STREAM_END"] and isinstance(m.body, cbor.Map) and (sender, self.stream_name(m.body)) in self.streams:
            if w.bug("stream-forged-end-closes"):
                del self.streams[(sender, self.stream_name(m.body))]
        for box in self.boxes.values():
            if any(e[1] == m.id and e[4] == sender for e in box) and w.bug("relay-forgery-removes"):
                box[:] = [e for e in box if e[1] != m.id or e[4] != sender]

    def before_hello(self, m, channel, batch):
        """RFC 002 3.3: HELLO is the first message of a connection."""
        w = self.ways
        if channel.kind == "http" or channel.negotiated or batch or m.typ in HELLOS:
            return
        if w.bug("ws-hello-not-required") and channel.kind == "ws":
            return
        if w.bug("tcp-hello-not-required") and channel.kind == "tcp":
            return
        if w.bug("hello-reject-negotiates") and channel.failed:
            return
        if self.peers_state.get(("open", keys.bare(m.sender))) and w.bug("hello-known-party-excused"):
            return
        if w.bug("ping-before-hello") and m.typ == TYPES["PING"]:
            return
        w.refuse("before-hello", 1004)

    def digest(self, m):
        return hashlib.sha256(sig_input(m.fields, m.body_bytes if m.encrypted else cbor.encode(m.body))).digest()

    def cache_key(self, m):
        w = self.ways
        sender = m.sender if w.has("replay-key-full-sender") else keys.bare(m.sender)
        if w.bug("replay-key-id-only"):
            sender = ""
        if w.bug("replay-key-id-tail"):
            return sender, m.id[8:]
        if w.bug("replay-key-id-time"):
            return sender, m.id[:8]
        if w.bug("replay-key-sender-only"):
            return sender, b""
        if w.bug("replay-key-body"):
            return sender, hashlib.sha256(cbor.encode(m.body)).digest()
        if w.bug("replay-key-wire-bytes"):
            return sender, hashlib.sha256(m.raw).digest()
        if w.bug("replay-key-with-type"):
            return sender, m.id, m.typ
        if w.bug("replay-key-connection"):
            return sender, m.id, id(m.channel)
        if w.bug("replay-key-transport"):
            return sender, m.id, m.channel.kind
        if m.ext is not None and w.bug("replay-ext-apart"):
            return sender, m.id, cbor.encode(m.ext)
        if m.encrypted and w.bug("replay-reencrypted-processed"):
            return sender, m.id, m.enc["nonce"]
        if m.batch and w.bug("replay-batch-apart"):
            return sender, m.id, "item"
        if m.batch and w.bug("batch-index-as-id"):
            return sender, m.batch[1]
        return sender, m.id

    def repeat_of(self, m):
        kept = self.seen.get(self.cache_key(m))
        if kept and self.ways.bug("replay-third-copy-processed"):
            kept[2] = 0 if len(kept) > 3 else kept[2]
            kept.append(None)
        return kept if kept and kept[2] > self.ways.now() else None

    def remember(self, m, replies):
        w = self.ways
        now = w.now()
        until = max(m.ts + m.ttl, now + m.ttl)
        if w.has("replay-from-receipt"):
            until = now + m.ttl
        elif w.has("replay-until-expiry"):
            until = m.ts + m.ttl
        if w.bug("replay-forgets-early"):
            until = now + 1000
        elif w.bug("replay-forgets-after-ten-seconds"):
            until = now + 10_000
        if w.bug("replay-not-remembered"):
            return
        if w.bug("replay-requests-only") and m.typ != TYPES["REQUEST"]:
            return
        if w.bug("replay-messages-only") and m.typ == TYPES["REQUEST"]:
            return
        if w.bug("replay-encrypted-not-remembered") and m.encrypted:
            return
        if w.bug("replay-items-not-remembered") and m.batch or w.bug("replay-large-not-remembered") and len(m.raw) > 32768:
            return
        if w.bug("replay-streams-not-remembered") and m.typ in (0x13, 0x14, 0x15):
            return
        if w.bug("replay-threads-not-remembered") and m.thread_id is not None:
            return
        if w.bug("replay-arrays-not-remembered") and isinstance(m.fields["to"], list):
            return
        if w.bug("replay-null-not-remembered") and m.body is None:
            return
        if w.bug("replay-old-not-remembered") and now - m.ts > MINUTE:
            return
        if m.ts > now + 2000 and w.bug("replay-ahead-not-remembered"):
            return
        if self.peers_state.get(("forged", self.cache_key(m))) and replies and w.bug("replay-after-forgery-not-remembered"):
            return
        if m.batch and w.bug("batch-equal-items-processed"):
            m.batch[0].later = [*getattr(m.batch[0], "later", ()), (m, replies)]
            return
        if len(self.seen) >= 64 and w.bug("replay-cleared-when-full"):
            self.seen.clear()
        self.peers_state[("replies", keys.bare(m.sender))] = list(replies)
        if w.bug("replay-remembers-sixteen") and len(self.seen) >= 16:
            self.seen.pop(next(iter(self.seen)))
        if len(self.seen) > 20_000:
            self.seen = {k: v for k, v in self.seen.items() if v[2] > now}
        self.seen[self.cache_key(m)] = [self.digest(m), list(replies), until]

    async def once(self, m, channel):
        """Step 9: a repeat gets the earlier answer; then steps 10 and 11."""
        w = self.ways
        m.channel = channel
        key = self.cache_key(m)
        if w.name == "replay-lock-per-connection":
            key = (*key, channel.kind == "http" or id(channel))
        while key in self.busy and w.name != "replay-race":
            await asyncio.wait([self.busy[key]])
        kept = self.repeat_of(m)
        if kept:
            same = kept[0] == self.digest(m)
            if not same and not w.has("reused-id-cached"):
                if not w.bug("replay-other-content-processed"):
                    w.refuse("id-reused", 1001)
            if w.bug("replay-dropped"):
                return []
            if w.bug("replay-refused"):
                w.refuse("replay", 1003)
            if w.bug("replay-acks-only"):
                return [await self.ack(m)]
            latest = self.peers_state.get(("replies", keys.bare(m.sender)), kept[1])
            if latest != kept[1] and w.bug("replay-last-replies-of-sender"):
                return list(latest)
            if w.has("replay-rebuilt") and kept[1]:
                return [await self.rebuild(r, m) for r in kept[1]]
            if not w.bug("replay-other-content-processed") or same:
                return list(kept[1])
        done = asyncio.get_running_loop().create_future()
        self.busy[key] = done
        try:
            if w.bug("replay-race"):
                await asyncio.sleep(0.15)
            if w.bug("replay-lock-per-connection"):
                await asyncio.sleep(0.005)
            self.in_thread(m)
            self.step_type(m)
            replies = [r for r in await self.process(m, channel) if r is not None]
            self.remember(m, replies)
            return replies
        except Refusal as refusal:
            refusal.late = True
            if w.bug("replay-processed-before-schema"):
                self.count += 1
            raise refusal
        finally:
            self.busy.pop(key, None)
            done.set_result(None)

    def in_thread(self, m):
        """A bug: the times within a thread must rise."""
        thread = ("time", keys.bare(m.sender), m.thread_id)
        if m.thread_id is not None and m.ts < self.peers_state.get(thread, 0) and self.ways.bug("thread-times-must-rise"):
            self.ways.refuse("thread-order", 1003)
        if self.ways.name == "thread-times-must-rise":
            self.peers_state[thread] = m.ts

    async def rebuild(self, raw, m):
        """The cached reply again with a new id and time: same typ, reply_to and body."""
        fields = {k: v for k, v in cbor.decode(raw).pairs}
        if "enc" in fields or fields["typ"] in HELLOS:
            return raw
        body = fields["body"]
        if isinstance(body, cbor.Map):
            body = {k: v for k, v in body.pairs}
            if "received_at" in body and self.ways.has("replay-received-again"):
                body["received_at"] = self.ways.now()
        to = fields["to"] if isinstance(fields["to"], str) else fields["to"][0]
        return await self.build(fields["typ"], body, to, reply_to=fields.get("reply_to"), thread_id=fields.get("thread_id"))

    # --- relay ------------------------------------------------------------------------------------------------------

    def forwards(self, m):
        return self.role != "agent" and not self.for_me(m) and all(keys.is_did(t) for t in m.to)

    def hold(self, did, m_id, raw, expires, sender):
        box = self.boxes.setdefault(did, [])
        self.sequence += 1
        if len(box) > 5000 or len(box) >= 10 and self.ways.bug("relay-box-of-ten"):
            box.pop(0)
        if any(e[1] == m_id for e in box) and self.ways.bug("relay-same-id-lost"):
            return box[-1]
        entry = [self.sequence, m_id, raw, expires, sender]
        if self.ways.name == "poll-cursor-as-text":  # it numbers the messages of each recipient
            entry[0] = self.peers_state[("sequence", did)] = self.peers_state.get(("sequence", did), 0) + 1
        if self.lost_in(box, entry):
            return entry
        box.append(entry)
        return entry

    def lost_in(self, box, entry):
        """Bugs of the queue: True if the new entry is not stored; or another entry is changed."""
        w = self.ways
        _, m_id, raw, _, sender = entry
        if sum(e[3] >= w.now() for e in box) >= 32 and w.bug("relay-thirty-third-lost"):
            return True
        if m_id in self.peers_state.get("acknowledged", ()) and w.bug("relay-unmatched-ack-poisons"):
            return True
        if w.name == "relay-equal-bodies-merged":
            body = lambda e: cbor.encode(cbor.decode(e[2]).get("body")) + e[4].encode() if cbor.decode(e[2]).has("body") else id(e)
            if any(body(e) == body(entry) for e in box) and w.bug("relay-equal-bodies-merged"):
                return True
        if any(e[1][:8] == m_id[:8] and e[4] == sender for e in box) and w.bug("relay-equal-times-replaced"):
            box[:] = [e for e in box if e[1][:8] != m_id[:8] or e[4] != sender]
        for other in self.boxes.values():
            for e in other:
                if e[1] == m_id and e[2] != raw and w.bug("relay-stored-by-id"):
                    e[2] = raw
        return False

    async def forward(self, m, channel):
        """Store and forward by `to`, section 8.3 and 16.5; the bytes are forwarded unchanged."""
        w = self.ways
        if m.v != 1:
            w.refuse("version", 1004)
        now = w.now()
        if now > m.ts + m.ttl and not (m.ttl == 0 and now - m.ts < 10_000):
            w.refuse("relay-expired", 1003)
        if m.ts > now + 30_000:
            w.refuse("future", 1003)
        if m.ttl > 30 * DAY and w.has("relay-ttl-limited"):
            w.refuse("relay-ttl", 2003)
        if w.bug("relay-verifies-encrypted") and m.encrypted:
            w.refuse("signature", 1002)
        if m.typ == TYPES["ACK"] and isinstance(m.reply_to, bytes) and w.bug("relay-forged-ack-clears"):
            self.confirmed(keys.bare(m.sender), m.reply_to, m.typ)
        if isinstance(m.reply_to, bytes) and w.bug("relay-error-clears"):
            self.confirmed(keys.bare(m.sender), m.reply_to, m.typ)
        if not m.encrypted and not w.has("relay-does-not-verify"):
            await self.step_key(m)
            await self.step_decrypt(m)
            self.step_signature(m)
        kept = self.repeat_of(m)
        if kept and not w.bug("relay-repeat-stored-twice"):
            for e in (e for box in self.boxes.values() for e in box if e[1] == m.id and e[4] == keys.bare(m.sender)):
                if kept[0] != self.digest(m) and w.bug("relay-reused-id-replaces"):
                    e[2] = m.raw
                elif kept[0] == self.digest(m) and w.bug("relay-repeat-renews-custody"):
                    e[3] = now + m.ttl
            return list(kept[1])
        raw = m.raw
        if w.bug("relay-reencodes"):
            raw = cbor.encode(cbor.decode(m.raw))
        elif w.bug("relay-drops-ext"):
            raw = cbor.encode({k: v for k, v in cbor.decode(m.raw).pairs if k != "ext"}, "given")
        elif w.bug("relay-extends-ttl"):
            raw = cbor.encode({k: (v + DAY if k == "ttl" else v) for k, v in cbor.decode(m.raw).pairs}, "given")
        elif w.bug("relay-restamps"):
            raw = cbor.encode({k: (now if k == "ts" else v) for k, v in cbor.decode(m.raw).pairs}, "given")
        elif w.bug("relay-drops-thread"):
            raw = cbor.encode({k: v for k, v in cbor.decode(m.raw).pairs if k != "thread_id"}, "given")
        elif w.has("relay-adds-ext"):
            pairs = [(k, v) for k, v in cbor.decode(m.raw).pairs if k != "ext"]
            ext = cbor.Map(m.ext.pairs + [("relay_hint", "peer")]) if isinstance(m.ext, cbor.Map) else {"relay_hint": "peer"}
            raw = cbor.encode(cbor.Map(pairs + [("ext", ext)]), "given")
        if m.typ in (TYPES["ACK"], TYPES["PROC_OK"], TYPES["PROC_FAIL"], TYPES["RESPONSE"]) and isinstance(m.reply_to, bytes):
            self.confirmed(keys.bare(m.sender), m.reply_to, m.typ)
        recipients = m.to[:1] if w.bug("relay-first-recipient-only") else m.to
        named = (lambda t: t) if w.name == "relay-keeps-fragment-of-recipient" else keys.bare
        pushed = False
        for recipient in dict.fromkeys(named(t) for t in recipients):
            if "#" in recipient:
                w.bug("relay-keeps-fragment-of-recipient")
            online = self.online.get(recipient, ())
            if w.name == "relay-pushes-once":
                fresh = [c for c in online if not getattr(c, "pushed", False)]
                online = fresh if len(fresh) == len(online) or not w.bug("relay-pushes-once") else fresh
                for c in online:
                    c.pushed = True
            if pushed and w.bug("relay-pushed-copy-for-all"):
                continue
            reached = [c for c in online if c.deliver(raw)]
            pushed = pushed or bool(reached)
            if w.bug("relay-never-pushes"):
                reached = []
            again = m.ttl == 0 and w.name == "relay-ttl-zero-once" and self.peers_state.get(("zero", recipient))
            if m.ttl == 0 and not w.bug("relay-stores-ttl-zero") and not (again and w.bug("relay-ttl-zero-once")):
                self.peers_state[("zero", recipient)] = True
                if not reached:
                    if w.bug("relay-drops-ttl-zero-silently"):
                        continue
                    w.refuse("ttl-zero-offline", 2003, details="ttl 0 requires immediate delivery")
                continue
            if recipient.startswith("did:web:") and recipient.endswith(".invalid") and not w.has("relay-stores-unknown"):
                w.refuse("recipient-unknown", 2001)
            if w.bug("relay-stores-nothing"):
                continue
            if recipient == keys.bare(m.sender) and w.bug("relay-to-sender-dropped") or m.batch and w.bug("relay-items-not-stored"):
                continue
            if m.encrypted and w.bug("relay-encrypted-not-stored") or m.typ in CONTROL and w.bug("relay-control-not-stored"):
                continue
            expires = m.ts + m.ttl
            if w.bug("relay-ttl-in-seconds"):
                expires = m.ts + m.ttl * 1000
            elif w.bug("relay-forgets-after-ten-seconds"):
                expires = min(expires, now + 10_000)
            if w.name == "relay-box-overwritten":
                box = list(self.boxes.get(recipient, ()))
                await asyncio.sleep(0.004)
                if len(box) < len(self.boxes.get(recipient, ())) and w.bug("relay-box-overwritten"):
                    self.boxes[recipient] = box
            entry = self.hold(recipient, m.id, raw, expires, keys.bare(m.sender))
            if reached and w.bug("relay-forgets-when-pushed"):
                self.boxes[recipient].remove(entry)
        if m.typ in CONTROL or m.typ in HELLOS or (w.has("relay-silent")):
            replies = []
        else:
            replies = [await self.ack(m, source="relay")]
        self.remember(m, replies)
        return replies

    def confirmed(self, recipient, m_id, typ):
        """An ACK of the recipient ends the relay's duty to keep the message."""
        if self.ways.has("relay-keeps-confirmed"):
            return
        boxes = [self.boxes.get(recipient, [])]
        if self.ways.bug("relay-ack-clears-all-boxes") and any(e[1] == m_id for e in boxes[0]):
            boxes = list(self.boxes.values())
        if self.ways.bug("relay-ack-of-stranger-clears"):
            boxes = list(self.boxes.values())
        self.also_removed(self.boxes.get(recipient, []), m_id, typ)
        for box in boxes:
            box[:] = [e for e in box if e[1] != m_id]

    def also_removed(self, box, m_id, typ):
        """Bugs of the acknowledgement: it changes what it does not name."""
        w = self.ways
        at = next((n for n, e in enumerate(box) if e[1] == m_id), None)
        if at is None:
            if not any(e[1] == m_id for other in self.boxes.values() for e in other):
                self.peers_state.setdefault("acknowledged", set()).add(m_id)
            if box and typ == TYPES["ACK"] and w.bug("relay-second-ack-pops"):
                box.pop(0)
            return
        if at and w.bug("relay-ack-cumulative"):
            del box[:at]
        if sum(e[1][:8] == m_id[:8] for e in box) > 1 and w.bug("relay-ack-same-millisecond"):
            box[:] = [e for e in box if e[1][:8] != m_id[:8]]

    def purge(self, box, now):
        """Removes the expired messages."""
        w = self.ways
        live = [e for e in box if e[3] >= now]
        if w.name == "relay-purge-head-only":
            while box and box[0][3] < now:
                box.pop(0)
            if len(live) < len(box):
                w.bug("relay-purge-head-only")
            return
        if w.name == "poll-page-before-expiry":
            return
        last = max((n for n, e in enumerate(box) if e[3] < now), default=-1)
        if last >= 0 and len(box) - last - 1 < len(live) and w.bug("relay-purge-drops-before"):
            live = box[last + 1 :]
        box[:] = live

    def poll(self, did, cursor, limit):
        """(entries, next cursor, has_more) for one consumer."""
        w = self.ways
        now = w.now()
        box = self.boxes.get(did, [])
        if not w.bug("relay-delivers-expired"):
            self.purge(box, now)
        if cursor and any(e[0] <= cursor for e in box) and w.bug("poll-cursor-acknowledges"):
            box[:] = [e for e in box if e[0] > cursor]
        size = max(1, min(limit, 2 if w.has("poll-pages-of-two") else 1 if w.has("poll-one-at-a-time") else 100))
        if w.bug("poll-limit-off-by-one"):
            size += 1
        if w.bug("poll-limit-ignored"):
            size = 1000
        after = [e for e in box if e[0] > cursor]
        counting = cursor if w.name == "poll-cursor-counts" and w.bug("poll-cursor-counts") else None
        if counting is not None:
            after = box[counting:]
        if cursor and w.bug("poll-cursor-as-text"):
            after = [e for e in box if str(e[0]) > str(cursor)]
        if cursor and after and all(e[0] != cursor for e in box) and w.bug("poll-cursor-of-removed"):
            after = []
        if w.bug("poll-newest-first"):
            after.reverse()
        page = after[:size]
        more = len(after) > len(page)
        last = page[-1][0] if page else cursor
        if counting is not None:
            last = counting + len(page)
        if w.bug("poll-skips-one") and more:
            last += 1
        elif w.bug("poll-repeats-last") and page:
            last -= 1
        elif w.bug("poll-cursor-stuck"):
            last = cursor
        if len(after) == len(page) + 1 and w.bug("poll-one-left-unsaid"):
            more = False
        if w.name == "poll-page-before-expiry" and any(e[3] < now for e in page) and w.bug("poll-page-before-expiry"):
            page = [e for e in page if e[3] >= now]
            more = more and bool(page)
        for other in self.boxes.values() if w.name == "relay-group-copy-once" else ():
            if other is not box and any(e[2] == p[2] for e in other for p in page) and w.bug("relay-group-copy-once"):
                other[:] = [e for e in other if e[2] not in [p[2] for p in page]]
        if w.bug("poll-has-more-always-false"):
            more = False
        elif w.bug("poll-has-more-when-full"):
            more = len(page) == size
        if w.bug("relay-drops-after-poll"):
            box[:] = [e for e in box if e not in page]
        return page, last, more

    def connected(self, channel):
        if channel.peer and channel.kind != "http":
            if channel.kind == "tcp" and self.role != "agent" and self.ways.bug("relay-tcp-not-online"):
                return
            self.online.setdefault(channel.peer, set()).add(channel)
            if self.role != "agent" and not self.ways.has("relay-poll-only"):
                now = self.ways.now()
                for entry in list(self.boxes.get(channel.peer, [])):
                    if entry[3] >= now or self.ways.bug("relay-delivers-expired"):
                        channel.deliver(entry[2])
                if self.boxes.get(channel.peer) and self.ways.bug("relay-backlog-cleared-on-connect"):
                    self.boxes[channel.peer].clear()

    def disconnected(self, channel):
        w = self.ways
        if channel.peer in self.online and w.name != "relay-online-after-close":
            self.online[channel.peer].discard(channel)
            if self.online[channel.peer] and w.bug("relay-close-unregisters-all"):
                self.online[channel.peer].clear()
        if channel.peer and w.bug("replay-cleared-on-close"):
            self.seen = {k: v for k, v in self.seen.items() if k[0] != channel.peer}


Refusal.silent = Refusal.late = False

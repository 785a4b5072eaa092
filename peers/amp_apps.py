"""Processing of a checked message: control types, negotiation (section 13), batch (4.5), streams and documents (6), credentials (7),
delegation, acknowledgement (16.1). Bodies are checked against the schemas of section 4.4."""

import asyncio
import datetime
import hashlib
import os

import amp_cbor as cbor
import amp_keys as keys
from amp_message import TYPES, Refusal, bytes_of, is_uint, text_of

TEXT = lambda v: isinstance(v, str)
BYTES = lambda v: isinstance(v, bytes)
UINT = is_uint
BOOL = lambda v: isinstance(v, bool)
ANY = lambda v: True
LIST = lambda v: isinstance(v, list)
MAP = lambda v: isinstance(v, cbor.Map)

# type: {member: (required, predicate)}
SCHEMAS = {
    "ACK": {
        "ack_source": (True, lambda v: v in ("relay", "recipient")), "received_at": (True, UINT), "ack_target": (False, TEXT),
        "stream_id": (False, TEXT), "chunks_received": (False, UINT), "verified": (False, BOOL),
    },
    "PROC_OK": {"details": (False, ANY)},
    "PROC_FAIL": {"error": (False, ANY)},
    "ERROR": {
        "code": (True, UINT), "category": (True, TEXT), "message": (True, TEXT), "details": (False, ANY),
        "retry": (False, BOOL), "batch_index": (False, UINT),
    },
    "DOC_SEND": {"content_type": (True, TEXT), "filename": (True, TEXT), "size": (True, UINT), "hash": (True, BYTES), "data": (True, BYTES)},
    "DOC_REQUEST": {"doc_id": (False, TEXT), "hash": (False, BYTES), "accept": (False, TEXT)},
    "STREAM_START": {
        "stream_id": (True, TEXT), "content_type": (True, TEXT), "filename": (True, TEXT), "total_size": (True, UINT),
        "total_chunks": (True, UINT), "chunk_size": (True, UINT), "hash_algo": (True, TEXT),
    },
    "STREAM_DATA": {"stream_id": (True, TEXT), "index": (True, UINT), "data": (True, BYTES)},
    "STREAM_END": {"stream_id": (True, TEXT), "hash": (True, BYTES)},
    "CRED_ISSUE": {"format": (True, TEXT), "credential": (True, ANY), "purpose": (False, TEXT)},
    "CRED_REQUEST": {"format": (True, TEXT), "request": (False, ANY), "purpose": (False, TEXT)},
    "CRED_PRESENT": {"format": (True, TEXT), "credential": (True, ANY), "purpose": (False, TEXT)},
    "CRED_VERIFY": {"format": (True, TEXT), "credential": (True, ANY)},
    "DELEG_GRANT": {"credential": (True, ANY), "scope": (False, ANY), "expires": (False, TEXT)},
    "DELEG_REVOKE": {"delegation_id": (True, TEXT), "revocation": (False, ANY)},
    "DELEG_QUERY": {"delegation_id": (True, TEXT), "delegator": (False, ANY)},
    "BATCH": {"items": (True, LIST)},
}  # fmt: skip
MAX_STREAM = 64 * 1024 * 1024
OPEN_STREAMS = 16


class Apps:
    """Mixed into the node: uses its `ways`, `did`, `reply` and `take`."""

    def start_apps(self):
        self.count = 0
        self.documents = {}  # hash: body
        self.streams = {}  # (sender, stream_id): stream
        self.delegations = {}

    async def process(self, m, channel):
        name = {v: k for k, v in TYPES.items()}[m.typ]
        self.schema(m, name)
        return await getattr(self, "on_" + name.lower(), self.on_other)(m, channel)

    def schema(self, m, name):
        w = self.ways
        members = SCHEMAS.get(name)
        if members is None:
            return
        application = name.split("_")[0] in ("DOC", "CRED", "DELEG", "STREAM")
        code = 4001 if application else 1001
        family = "app" if application else "protocol"
        if not MAP(m.body):
            if name in ("PROC_OK", "PROC_FAIL") and m.body is None:
                return
            w.refuse(f"schema-{family}-map", code)
            m.body = cbor.Map()
        for member, (required, fits) in members.items():
            rule = f"schema-{name.lower().replace('_', '-')}-{member.replace('_', '-')}"
            if not m.body.has(member):
                if required:
                    self.refuse_schema(rule, code, family)
            elif fits is UINT and isinstance(m.body.get(member), bool) and w.bug("bool-in-bodies"):
                continue
            elif not fits(m.body.get(member)):
                if not required and w.has("optional-types-unchecked"):
                    continue
                self.refuse_schema(rule, code, family)
        if w.has("bodies-closed") and any(k not in members for k in m.body.keys()):
            self.refuse_schema("schema-closed", code, family)

    def refuse_schema(self, rule, code, family):
        """The code of one rule, else of its family, else the default."""
        w = self.ways
        w.refuse(rule, w.code(f"schema-{family}", code))

    # --- acknowledgement ----------------------------------------------------------------------------------------------

    async def ack(self, m, source="recipient", stream=None, reply_to=None):
        w = self.ways
        now = w.now()
        at = now
        if w.has("received-half-second-later"):
            at = now + 500
        elif w.has("received-whole-seconds"):
            at = now - now % 1000
        elif w.has("received-earlier"):
            at = now - 20_000
        if w.bug("relay-acks-as-recipient") and source == "relay":
            source = "recipient"
        if w.bug("received-at-is-ts"):
            at = m.ts
        body = {"ack_source": source, "received_at": at}
        several = len(m.to) > 1 or (w.has("ack-target-for-arrays") and isinstance(m.fields.get("to"), list))
        if source == "recipient" and (w.has("ack-target-always") or (several and not w.has("ack-target-never"))):
            body["ack_target"] = self.did
            if w.bug("ack-target-is-first"):
                body["ack_target"] = keys.bare(m.to[0])
            if w.has("ack-target-as-addressed"):
                body["ack_target"] = next((t for t in m.to if keys.bare(t) == self.did), self.did)
        if stream is not None:
            body["stream_id"] = stream["id"]
            body["verified"] = stream["verified"]
            if not w.has("no-chunks-received"):
                body["chunks_received"] = stream["count"]
            w.change("final", body, "ACK", self)
        w.change("ack", body, "ACK", self)
        more = {"reply_to": reply_to} if reply_to is not None else {}
        return await self.reply(m, TYPES["ACK"], body, m.encrypted, **more)

    async def done(self, m, *answers):
        """An ACK and the following answers, according to the choices."""
        w = self.ways
        answers = [a for a in answers if a is not None]
        if w.bug("no-ack"):
            return list(answers)
        if answers and w.has("ack-implicit"):
            return answers
        if not answers and w.has("ack-implicit"):
            return [await self.proc_ok(m)]
        if w.has("ack-with-proc-ok") and not answers:
            answers = [await self.proc_ok(m)]
        ack = await self.ack(m)
        if w.bug("ack-after-processing-only"):
            return answers + [ack]
        if w.bug("ack-twice-with-other-content"):
            return [ack, await self.ack(m), *answers]
        if w.has("answer-before-ack") and not self.has_proc(answers):
            return [*answers, ack]
        return [ack, *answers]

    def has_proc(self, answers):
        return any(cbor.decode(a).get("typ") in (4, 5) for a in answers)

    async def proc_ok(self, m, details=None):
        w = self.ways
        body = {"details": {"done": True}} if w.has("proc-ok-details") else {}
        if details is not None:
            body["details"] = details
        w.change("proc", body, "PROC_OK", self)
        return await self.reply(m, TYPES["PROC_OK"], body, m.encrypted)

    async def proc_fail(self, m, reason):
        w = self.ways
        body = {} if w.has("proc-fail-empty") else {"error": reason}
        if w.bug("proc-fail-as-ok"):
            return await self.reply(m, TYPES["PROC_OK"], {}, m.encrypted)
        w.change("proc", body, "PROC_FAIL", self)
        return await self.reply(m, TYPES["PROC_FAIL"], body, m.encrypted)

    async def failure(self, m, rule, code, reason):
        """A failure of the application: PROC_FAIL, or an ERROR, alone or after an ACK."""
        w = self.ways
        if w.has("failures-are-errors") or w.has("ack-then-error"):
            refusal = Refusal(rule, w.code(rule, code))
            refusal.sender, refusal.id, refusal.typ = m.sender, m.id, m.typ
            refusal.thread_id = m.thread_id
            error = await self.error(refusal, m.encrypted)
            return ([await self.ack(m)] if w.has("ack-then-error") else []) + [error]
        return await self.done(m, await self.proc_fail(m, reason))

    # --- control ------------------------------------------------------------------------------------------------------

    async def on_ping(self, m, channel):
        w = self.ways
        if w.has("ping-body-refused") and m.body is not None:
            w.refuse("schema-ping", 1001)
        body = None
        if w.bug("pong-echoes-body"):
            body = m.body if m.body is not None else {}
        elif w.bug("pong-map-body"):
            body = {}
        pong = await self.reply(m, TYPES["PING"] if w.bug("pong-is-ping") else TYPES["PONG"], body, m.encrypted)
        if w.bug("ping-acked-only"):
            return [await self.ack(m)]
        if w.bug("ping-ignored"):
            return []
        if w.bug("pong-only-once") and self.peers_state.setdefault("ponged", 0):
            return []
        self.peers_state["ponged"] = 1
        if w.has("ack-beside-pong"):
            return [await self.ack(m), pong]
        if w.has("pong-then-ack"):
            return [pong, await self.ack(m)]
        return [pong]

    async def on_pong(self, m, channel):
        return await self.quiet(m)

    async def quiet(self, m):
        """Messages that need no answer; an ACK of an ACK is a failure in strict only (E42)."""
        if self.ways.has("acks-everything"):
            return [await self.ack(m)]
        if self.ways.bug("control-answered-by-error"):
            self.ways.refuse("unexpected", 1001)
        return []

    async def on_ack(self, m, channel):
        w = self.ways
        original = self.sent.get(m.reply_to)
        if original is not None:
            sender = keys.bare(m.sender)
            if m.body.get("ack_source") == "recipient" and sender not in [keys.bare(t) for t in original["to"]]:
                w.refuse("ack-not-recipient", 1001)
            if m.body.get("ack_source") == "relay" and sender not in w.trusted_relays and w.has("untrusted-ack-refused"):
                w.refuse("ack-not-relay", 1001)
            original["confirmed"] = True
        elif m.body.get("ack_source") == "relay" and keys.bare(m.sender) not in w.trusted_relays and w.has("untrusted-ack-refused"):
            w.refuse("ack-not-relay", 1001)
        self.confirmed(keys.bare(m.sender), m.reply_to, m.typ)
        return await self.quiet(m)

    async def on_error(self, m, channel):
        w = self.ways
        original = self.sent.get(m.reply_to)
        if original is not None:
            original["error"] = (m.body.get("code"), m.body.get("retry"))
        if w.has("error-answers-error"):
            refusal = Refusal("unexpected-error", 1001)
            refusal.sender, refusal.id = m.sender, m.id
            return [await self.error(refusal)]
        if w.bug("error-answers-error-forever"):
            refusal = Refusal("unexpected-error", 1001)
            refusal.sender, refusal.id, refusal.typ = m.sender, m.id, None
            return [await self.error(refusal)]
        return await self.quiet(m)

    async def on_proc_ok(self, m, channel):
        if self.sent.get(m.reply_to):
            self.sent[m.reply_to]["confirmed"] = True
        return await self.quiet(m)

    on_proc_fail = on_proc_ok

    async def on_response(self, m, channel):
        if self.sent.get(m.reply_to):
            self.sent[m.reply_to]["confirmed"] = True
        return await self.quiet(m) if self.ways.has("responses-not-acked") else await self.done(m)

    # --- negotiation --------------------------------------------------------------------------------------------------

    def offered(self, m):
        w = self.ways
        if not MAP(m.body):
            w.refuse("schema-hello-map", 1001)
            return ["1.0"]
        versions = m.body.get("versions")
        if not m.body.has("versions") or not isinstance(versions, list):
            w.refuse("schema-hello-versions", 1001)
            versions = [versions] if isinstance(versions, str) else ["1.0"]
        if not versions:
            if w.has("hello-empty-rejected"):
                return []
            w.refuse("schema-hello-empty", 1001)
            return ["1.0"]
        for version in versions:
            if not isinstance(version, str) and not w.has("hello-bad-entries-skipped"):
                w.refuse("schema-hello-entry", 1001)
        info = m.body.get("agent_info")
        if m.body.has("agent_info") and w.has("agent-info-checked"):
            if not MAP(info) or not isinstance(info.get("name"), str) or not isinstance(info.get("implementation", ""), str):
                w.refuse("schema-hello-agent-info", 1001)
        extensions = m.body.get("extensions")
        if m.body.has("extensions") and w.has("agent-info-checked"):
            if not LIST(extensions) or not all(map(TEXT, extensions)):
                w.refuse("schema-hello-extensions", 1001)
        if w.has("bodies-closed") and any(k not in ("versions", "extensions", "agent_info") for k in m.body.keys()):
            w.refuse("schema-hello-closed", 1001)
        if w.bug("hello-extensions-required") and not m.body.has("extensions"):
            w.refuse("schema-hello-extensions", 1001)
        if w.bug("hello-extensions-known-only") and any(e != "streaming" for e in m.body.get("extensions") or []):
            w.refuse("schema-hello-extensions", 1001)
        if MAP(info) and not str(info.get("name")).isascii() and w.bug("hello-name-ascii-only"):
            w.refuse("schema-hello-agent-info", 1001)
        if w.bug("hello-agent-info-required") and not MAP(info):
            w.refuse("schema-hello-agent-info", 1001)
        if w.has("hello-bad-entries-skipped"):
            versions = [v for v in versions if isinstance(v, str)]
        return [text_of(v) if isinstance(v, (str, bytes)) else str(v) for v in versions]

    def select(self, versions):
        w = self.ways
        if w.bug("hello-accepts-anything"):
            return (versions or ["1.0"])[0]
        major = lambda v: v.split(".")[0]
        if w.bug("hello-major-prefix"):
            major = lambda v: v[:1]
        if w.bug("hello-lexicographic-maximum"):
            best = max(versions, default="")
            return best if major(best) == "1" else None
        if w.bug("hello-first-only"):
            versions = versions[:1]
        elif w.bug("hello-last-only"):
            versions = versions[-1:]
        fits = [v for v in versions if major(v) == "1" and all(p.isdigit() for p in v.split("."))]
        if w.bug("hello-exact-version-only"):
            fits = [v for v in versions if v == "1.0.0"]
        if w.bug("hello-three-parts-only"):
            fits = [v for v in fits if v.count(".") == 2]
        if w.bug("hello-two-parts-only"):
            fits = [v for v in fits if v.count(".") == 1]
        if w.bug("hello-all-must-be-known") and len(fits) != len(versions):
            fits = []
        if len(versions) > 16 and w.bug("hello-hundred-versions"):
            return None
        if len(set(versions)) < len(versions) and w.bug("hello-repeated-version-rejected"):
            return None
        if not fits:
            return None
        if w.bug("hello-selects-own"):
            return "2.0"
        if w.bug("hello-selects-zero"):
            return "0.30.0"
        if w.has("select-own-string"):
            return "1.0"
        if w.has("select-first-offered"):
            return fits[0]
        if w.has("select-last-offered"):
            return fits[-1]
        if w.has("select-lowest"):
            return min(fits, key=lambda v: [int(p) for p in v.split(".")])
        return max(fits, key=lambda v: [int(p) for p in v.split(".")])

    async def hello_reject(self, m):
        w = self.ways
        body = {} if w.has("reject-without-reason") else None if w.has("reject-null") else {"reason": "no common version"}
        w.change("reject", body, "HELLO_REJECT", self)
        return await self.reply(m, TYPES["HELLO_REJECT"], body, m.encrypted, **self.hello_reference(m))

    def hello_reference(self, m):
        return {"reply_to": None} if self.ways.has("hello-answer-without-reply-to") else {}

    async def on_hello(self, m, channel):
        w = self.ways
        if channel.negotiated and channel.kind != "http" and w.has("second-hello-refused"):
            w.refuse("second-hello", 1001)
        if channel.negotiated and channel.kind != "http" and w.has("second-hello-ignored"):
            return []
        if w.bug("hello-ignored"):
            return []
        if w.bug("hello-once-per-peer") and self.peers_state.get(("hello", keys.bare(m.sender))):
            return []
        self.peers_state[("hello", keys.bare(m.sender))] = True
        if w.bug("replay-hello-clears"):
            self.seen = {k: v for k, v in self.seen.items() if k[0] != keys.bare(m.sender)}
        selected = self.select(self.offered(m))
        known = ("negotiated", keys.bare(m.sender))
        if selected is None and self.peers_state.get(known) and w.bug("hello-known-peer-accepted"):
            selected = "1.0"
        if self.peers_state.get(known) is False and w.bug("hello-rejected-peer-remembered"):
            selected = None
        self.peers_state.setdefault(known, selected is not None)
        if selected is None:
            channel.failed = True
            if w.bug("hello-reject-as-error"):
                w.refuse("hello-nothing-common", 1004)
            if w.bug("hello-reject-silent"):
                return []
            return [await self.hello_reject(m)]
        channel.negotiated, channel.failed = True, False
        channel.peer = keys.bare(m.sender)
        self.peers_state[("open", channel.peer)] = True
        body = {"selected": selected}
        w.change("selected", body, "HELLO_ACK", self)
        answer = await self.reply(m, TYPES["HELLO_ACK"], body, m.encrypted, **self.hello_reference(m))
        if w.has("ack-beside-hello-ack"):
            return [answer, await self.ack(m)]
        return [answer]

    async def on_hello_ack(self, m, channel):
        if not MAP(m.body) or not isinstance(m.body.get("selected"), str):
            self.ways.refuse("schema-hello-ack", 1001)
        if self.ways.bug("hello-ack-unsolicited-adopted"):
            channel.negotiated, channel.failed = True, False
            channel.peer = channel.peer or keys.bare(m.sender)
        return await self.quiet(m)

    async def on_hello_reject(self, m, channel):
        if self.ways.bug("hello-reject-unsolicited-obeyed"):
            channel.negotiated = False
        return await self.quiet(m)

    # --- messages and requests ----------------------------------------------------------------------------------------

    async def on_message(self, m, channel):
        self.count += 1
        w = self.ways
        if w.bug("message-body-must-be-map") and not MAP(m.body):
            w.refuse("schema-message", 4001)
        if w.bug("message-null-body-refused") and m.body is None:
            w.refuse("schema-message", 1001)
        if isinstance(m.body, str) and "\0" in m.body and w.bug("text-with-nul-refused"):
            w.refuse("schema-message", 1001)
        if w.bug("message-integer-keys-crash") and MAP(m.body) and any(not isinstance(k, str) for k in m.body.keys()):
            raise RuntimeError("key")
        if w.bug("message-false-is-absent") and not m.body and not MAP(m.body):
            w.refuse("schema-message", 1001)
        return await self.done(m)

    async def on_extension(self, m, channel):
        return await self.done(m)

    async def on_request(self, m, channel):
        w = self.ways
        self.count += 1
        body = m.body if MAP(m.body) else cbor.Map()
        op = body.get("op")
        if op == "slow":
            await asyncio.sleep(min(bend_ms(body.get("ms")), 5000) / 1000)
        if op == "fail":
            return await self.failure(m, "app-failed", 5001, "asked to fail")
        if op == "echo":
            answer = {"data": body.get("data")}
        elif op == "count":
            answer = {"count": self.count}
        elif w.has("unknown-op-fails"):
            return await self.failure(m, "app-unknown-op", 4001, "unknown operation")
        else:
            answer = {"ok": True}
        if w.bug("response-echoes-request-type"):
            return await self.done(m, await self.reply(m, TYPES["REQUEST"], answer, m.encrypted))
        response = await self.reply(m, TYPES["RESPONSE"], answer, m.encrypted)
        if w.has("request-proc-ok"):
            return await self.done(m, await self.proc_ok(m))
        if w.has("request-ack-only"):
            return await self.done(m)
        if w.has("request-response-and-proc"):
            return await self.done(m, response, await self.proc_ok(m))
        if w.bug("response-dropped-ack-lost"):
            return []
        return await self.done(m, response)

    async def on_other(self, m, channel):
        """Types of companion documents that a choice supports."""
        w = self.ways
        if m.typ in (TYPES["CAP_INVOKE"],):
            w.refuse("capability-unknown", 4002)
        if m.typ == TYPES["CAP_QUERY"]:
            return await self.done(m, await self.reply(m, TYPES["CAP_DECLARE"], {"capabilities": []}, m.encrypted))
        return await self.done(m)

    # --- batch --------------------------------------------------------------------------------------------------------

    async def on_batch(self, m, channel):
        w = self.ways
        items = m.body.get("items")
        items = items if isinstance(items, list) else []
        if not items:
            w.refuse("batch-empty", 1001)
        if len(items) > 512:
            w.refuse("batch-long", 1001)
        level = (m.batch[2] if m.batch else 0) + 1
        if m.batch and (w.has("nested-batch-refused") or level > 8):
            w.refuse("batch-nested", 1001)
        if any(not isinstance(i, bytes) for i in items) and not w.has("bad-item-alone"):
            w.refuse("batch-item-type", 1001)
        if w.bug("batch-all-or-nothing"):
            for index, item in enumerate(items):
                _, refusal = await self.take(item, channel, batch=(m, index, level))
                if refusal:
                    w.refuse("batch-item", 1001)
        replies, order = [], list(enumerate(items))
        if w.bug("batch-eight-items"):
            order = order[:8]
        if w.bug("batch-forty-items"):
            order = order[:40]
        if w.bug("batch-large-items-lost"):
            order = [(n, i) for n, i in order if len(i) <= 32768]
        if w.bug("batch-first-item-only"):
            order = order[:1]
        elif w.bug("batch-last-item-lost"):
            order = order[:-1] or order
        if w.has("batch-reverse"):
            order.reverse()
        if w.name == "batch-same-id-merged":
            order = self.first_of_each_id(order)
        refusal = None
        for index, item in order:
            if refusal and w.bug("batch-item-after-bad-lost"):
                refusal = None
                continue
            if isinstance(item, bytes):
                done, refusal = await self.take(item, channel, batch=(m, index, level))
            else:
                refusal = Refusal("item-type", 1001)  # always reported (4.5)
                error = await self.error(refusal, batch=(m, index, level))
                done = [error] if error else []
            if w.bug("batch-stops-at-error") and refusal:
                replies += done
                break
            if w.bug("batch-replies-name-container"):
                done = [await self.rename(r, m.id) for r in done]
            if w.bug("batch-errors-dropped") and refusal:
                continue
            replies += done
        for item, answers in getattr(m, "later", ()):
            item.batch = None
            self.remember(item, answers)
        if w.has("batch-container-acked"):
            replies.insert(0, await self.ack(m))
        elif w.has("batch-container-acked-last"):
            replies.append(await self.ack(m))
        if w.has("batch-container-only"):
            return [await self.ack(m)]
        if w.bug("batch-acked-not-processed"):
            return [await self.ack(m)]
        return replies

    def first_of_each_id(self, order):
        """A bug: of several items with one id only the first is processed."""
        first = {}
        for index, item in order:
            try:
                name = cbor.decode(item).get("id")
            except (cbor.CborError, AttributeError, TypeError):
                name = index
            if first.setdefault(name if isinstance(name, bytes) else index, (index, item))[0] != index:
                self.ways.bug("batch-same-id-merged")
        return list(first.values())

    async def rename(self, raw, reference):
        fields = dict(cbor.decode(raw).pairs)
        body = dict(fields["body"].pairs) if isinstance(fields["body"], cbor.Map) else fields["body"]
        return await self.build(fields["typ"], body, fields["to"], reply_to=reference)

    # --- streams ------------------------------------------------------------------------------------------------------

    async def plain(self, m, chance="stream-plain-acks"):
        return [await self.ack(m)] if self.ways.has(chance) or self.ways.has("ack-implicit") else []

    async def on_stream_start(self, m, channel):
        w, b = self.ways, m.body
        sender = keys.bare(m.sender)
        scope = "" if w.bug("stream-scope-global") else sender
        total, chunks, size = (v if is_uint(v) else 0 for v in (b.get("total_size"), b.get("total_chunks"), b.get("chunk_size")))
        if total > MAX_STREAM or chunks > 1 << 20:
            w.refuse("stream-too-large", 5004)
        consistent = (chunks == 0 and total == 0) or (size > 0 and -(-total // size) == chunks)
        if not consistent and not w.has("stream-numbers-unchecked"):
            w.refuse("stream-numbers", 4001)
        if total == 0 and w.has("stream-empty-refused"):
            w.refuse("stream-empty", 4001)
        if b.get("hash_algo") != "sha256" and not w.has("stream-any-hash-name"):
            w.refuse("stream-hash-name", 4001)
        name = self.stream_name(b)
        mine = [k for k in self.streams if k[0] == scope]
        if len(mine) >= OPEN_STREAMS:
            self.streams.pop(mine[0])
        self.streams[(scope, name)] = {
            "id": name, "total": total, "chunks": chunks, "size": size, "parts": {}, "arrival": [], "count": 0, "verified": False,
            "channel": m.channel,
        }  # fmt: skip
        before = self.peers_state.get(("finished", scope, name))
        if before and before["chunks"] == chunks and w.bug("stream-restart-keeps-chunks"):
            self.streams[(scope, name)].update(parts=dict(before["parts"]), count=before["count"])
        if w.bug("stream-start-final-ack"):
            return [await self.ack(m, stream=self.streams[(scope, name)])]
        return await self.plain(m)

    def stream_of(self, m):
        scope = "" if self.ways.bug("stream-scope-global") else keys.bare(m.sender)
        found = self.streams.get((scope, self.stream_name(m.body)))
        if found and m.channel.kind != "http" and found["channel"] is not m.channel and self.ways.bug("stream-per-connection"):
            return None
        return found

    def stream_name(self, body):
        name = text_of(body.get("stream_id"))
        if self.ways.bug("stream-id-any-case"):
            return name.lower()
        return name.strip() if self.ways.bug("stream-id-trimmed") else name

    async def on_stream_data(self, m, channel):
        w = self.ways
        stream = self.stream_of(m)
        if stream is None:
            if w.has("stream-unknown-silent"):
                return []
            w.refuse("stream-unknown", 4001)
            return [await self.ack(m)]
        index, data = m.body.get("index"), bytes_of(m.body.get("data"))
        index = index if is_uint(index) else 0
        if w.bug("stream-index-eight-bits"):
            index &= 0xFF
        if w.bug("stream-index-from-one"):
            index -= 1
        if index >= stream["chunks"] or index < 0:
            if w.bug("stream-refused-chunk-counted"):
                stream["count"] += 1
            if w.has("stream-surplus-ignored"):
                return await self.plain(m)
            if w.bug("stream-index-wraps") and stream["chunks"]:
                index %= stream["chunks"]
            else:
                w.refuse("stream-index", 4001)
        if len(data) > stream["size"] and not w.has("stream-numbers-unchecked"):
            w.refuse("stream-chunk-size", 4001)
        if w.bug("stream-order-demanded") and index != len(stream["parts"]):
            w.refuse("stream-order", 4001)
        if len(data) < stream["size"] and index < stream["chunks"] - 1 and w.has("chunk-sizes-checked"):
            w.refuse("stream-chunk-size", 4001)
        if index not in stream["parts"]:
            if data in stream["parts"].values() and w.bug("stream-equal-chunks-merged"):
                return await self.plain(m)
            if index > 63 and index & 63 in stream["parts"] and w.bug("stream-sixty-fifth-chunk-lost"):
                return await self.plain(m)
        if index in stream["parts"] and not w.bug("stream-duplicate-overwrites"):
            if w.bug("stream-duplicate-refused"):
                w.refuse("stream-duplicate", 4001)
            if w.bug("stream-duplicate-counted"):
                stream["count"] += 1
            if w.bug("stream-duplicate-appended"):
                stream["arrival"].append(data)
            return await self.plain(m)
        if m.encrypted and w.bug("stream-encrypted-chunk-lost") or m.batch and w.bug("stream-chunk-in-batch-lost"):
            return await self.plain(m)
        if w.name == "stream-chunks-overwritten":
            parts = dict(stream["parts"])
            await asyncio.sleep(0.004)
            if len(parts) < len(stream["parts"]) and w.bug("stream-chunks-overwritten"):
                stream["parts"] = parts
        if index not in stream["parts"]:
            stream["count"] += 1
        stream["parts"][index] = data
        stream["arrival"].append(data)
        if sum(map(len, stream["parts"].values())) > MAX_STREAM:
            w.refuse("stream-too-large", 5004)
        if w.bug("stream-many-final-acks"):
            return [await self.ack(m, stream=dict(stream, verified=True))]
        if w.bug("stream-progress-acks"):
            return [await self.ack(m, stream=stream)]
        if w.bug("stream-last-chunk-lost") and index == stream["chunks"] - 1:
            del stream["parts"][index]
        return await self.plain(m)

    async def on_stream_end(self, m, channel):
        w = self.ways
        stream = self.stream_of(m)
        if stream is None:
            if w.has("stream-unknown-silent"):
                return []
            w.refuse("stream-unknown", 4001)
            stream = {"id": text_of(m.body.get("stream_id")), "parts": {}, "chunks": 0, "arrival": [], "count": 0, "total": 0, "verified": False}
        for _ in range(8 if w.has("stream-waits-for-chunks") else 0):
            if len(stream["parts"]) < stream["chunks"]:
                await asyncio.sleep(0.1)
        ordered = [stream["parts"][k] for k in sorted(stream["parts"])]
        if w.bug("stream-hash-arrival-order") or w.bug("stream-duplicate-appended"):
            ordered = stream["arrival"]
        elif w.bug("stream-text-order"):
            ordered = [stream["parts"][k] for k in sorted(stream["parts"], key=str)]
        if w.bug("stream-hash-with-lengths"):
            data = b"".join(len(p).to_bytes(4, "big") + p for p in ordered)
        elif w.bug("stream-hash-over-cbor"):
            data = b"".join(cbor.encode(p) for p in ordered)
        elif w.bug("stream-padded-to-chunks"):
            data = b"".join(p.ljust(stream["size"], b"\0") for p in ordered)
        else:
            data = b"".join(ordered)
        digest = hashlib.sha256(data).digest()
        if w.bug("stream-hash-sha512"):
            digest = hashlib.sha512(data).digest()[:32]
        elif w.bug("stream-hash-of-hashes"):
            digest = hashlib.sha256(b"".join(hashlib.sha256(p).digest() for p in ordered)).digest()
        given = bytes_of(m.body.get("hash"))
        complete = len(stream["parts"]) == stream["chunks"] and sum(map(len, ordered)) == stream["total"]
        if w.bug("stream-ends-early"):
            complete, digest = True, given
        elif w.bug("stream-size-unchecked"):
            complete = len(stream["parts"]) == stream["chunks"]
        elif w.bug("stream-count-unchecked"):
            complete = True
        match = given == digest
        if w.bug("stream-hash-unchecked"):
            match = True
        elif w.bug("stream-hash-prefix"):
            match = digest.startswith(given)
        elif w.bug("stream-hash-first-bytes"):
            match = digest[:8] == given[:8]
        stream["verified"] = complete and match
        if w.name == "stream-failed-poisons":
            stream["verified"] = stream["verified"] and not self.peers_state.get(("failed", keys.bare(m.sender)))
            if not stream["verified"] and w.bug("stream-failed-poisons"):
                self.peers_state[("failed", keys.bare(m.sender))] = True
        scope = "" if w.bug("stream-scope-global") else keys.bare(m.sender)
        if not w.bug("stream-open-after-end"):
            self.streams.pop((scope, stream["id"]), None)
        for key in [k for k in self.streams if k[0] == scope]:
            if w.bug("stream-end-closes-others"):
                del self.streams[key]
        if stream["verified"]:
            self.peers_state[("finished", scope, stream["id"])] = stream if w.name == "stream-restart-keeps-chunks" else None
            before = self.peers_state.get(("chunks", scope), 0)
            self.peers_state[("chunks", scope)] = before + stream["count"]
            if before and w.bug("stream-count-of-sender"):
                stream["count"] += before
        if not stream["verified"]:
            if w.bug("stream-failure-silent"):
                return []
            if w.bug("stream-failure-plain-ack"):
                return [await self.ack(m)]
            if w.has("stream-failure-ack") or w.bug("stream-failure-error-and-true"):
                if w.bug("stream-failure-error-and-true"):
                    stream["verified"] = True
                return [await self.ack(m, stream=stream)]
            w.refuse("stream-failed", 5001 if w.has("stream-failure-5001") else 4001)
        self.documents[digest] = {"content_type": "application/octet-stream", "filename": "stream", "size": len(data), "hash": digest, "data": data}
        if w.bug("stream-no-final-ack"):
            return [await self.ack(m)]
        final = await self.ack(m, stream=stream)
        replies = [final]
        if w.bug("stream-final-ack-twice"):
            replies = [final, await self.ack(m, stream=stream)]
        if w.has("stream-end-acked-too"):
            replies = [await self.ack(m), final]
        if w.has("stream-proc-ok"):
            replies.append(await self.proc_ok(m))
        return replies

    # --- documents ----------------------------------------------------------------------------------------------------

    async def on_doc_send(self, m, channel):
        w, b = self.ways, m.body
        data, digest = bytes_of(b.get("data")), bytes_of(b.get("hash"))
        if len(data) > 1 << 20 and w.has("documents-inline-limited"):
            w.refuse("document-too-large", 4001)
        right = hashlib.sha256(data).digest()
        if not w.has("documents-unchecked") and not w.bug("document-mismatch-accepted"):
            if digest != right or b.get("size") != len(data):
                return await self.failure(m, "document-mismatch", 4001, "size or hash does not match")
        if w.bug("document-type-list") and b.get("content_type") not in ("application/pdf", "text/plain"):
            w.refuse("document-type", 4001)
        if w.bug("document-hash-as-hex-compared"):
            w.refuse("document-mismatch", 4001)
        if w.bug("document-empty-refused") and not data:
            w.refuse("document-empty", 4001)
        if len(self.documents) > 500:
            self.documents.clear()
        self.documents[right] = {k: v for k, v in b.pairs}
        self.documents[text_of(b.get("filename"))] = self.documents[right]
        return await self.done(m, await self.proc_ok(m) if w.has("documents-proc-ok") else None)

    async def on_doc_request(self, m, channel):
        w, b = self.ways, m.body
        if not b.has("doc_id") and not b.has("hash"):
            w.refuse("document-selector", 4001)
        if w.bug("document-both-selectors") and not (b.has("doc_id") and b.has("hash")):
            w.refuse("document-selector", 4001)
        if w.bug("document-id-required") and not b.has("doc_id"):
            w.refuse("document-selector", 4001)
        if w.bug("document-accept-required") and not b.has("accept"):
            w.refuse("document-selector", 4001)
        found = self.documents.get(bytes_of(b.get("hash"))) or self.documents.get(text_of(b.get("doc_id")))
        if found is None:
            if w.bug("document-unknown-silent"):
                return []
            if w.bug("document-unknown-as-http-404"):
                w.refuse("document-unknown", 4040)
            return await self.failure(m, "document-unknown", 4004 if w.has("document-unknown-4004") else 4900, "no such document")
        body = dict(found)
        if len(body["data"]) > 1 << 20 and w.has("documents-inline-limited"):
            return await self.done(m, *await self.as_stream(m, body))
        if w.bug("document-hash-over-cbor"):
            body["hash"] = hashlib.sha256(cbor.encode(body["data"])).digest()
        elif w.bug("document-size-in-text"):
            body["size"] = str(body["size"])
        elif w.bug("document-hash-hex"):
            body["hash"] = body["hash"].hex()
        return await self.done(m, await self.reply(m, TYPES["DOC_SEND"], body, m.encrypted))

    async def as_stream(self, m, document, size=1 << 18):
        """Documents that are too large for one DOC_SEND (sections 4.3, 6.1)."""
        data, name = document["data"], os.urandom(8).hex()
        parts = [data[n : n + size] for n in range(0, len(data), size)]
        start = {
            "stream_id": name, "content_type": document["content_type"], "filename": document["filename"], "hash_algo": "sha256",
            "total_size": len(data), "total_chunks": len(parts), "chunk_size": size,
        }  # fmt: skip
        bodies = [("STREAM_START", start)]
        bodies += [("STREAM_DATA", {"stream_id": name, "index": n, "data": part}) for n, part in enumerate(parts)]
        bodies += [("STREAM_END", {"stream_id": name, "hash": hashlib.sha256(data).digest()})]
        return [await self.reply(m, TYPES[typ], body, m.encrypted) for typ, body in bodies]

    # --- credentials and delegation -----------------------------------------------------------------------------------

    async def on_credential(self, m, channel):
        w = self.ways
        if w.has("credential-formats-known") and m.body.get("format") not in ("jwt_vc", "cbor_vc", "json_ld"):
            w.refuse("credential-format", 4004)
        if w.bug("credential-must-be-map") and m.body.has("credential") and not MAP(m.body.get("credential")):
            w.refuse("credential-shape", 4001)
        if w.bug("credential-purpose-required") and not m.body.has("purpose"):
            w.refuse("credential-purpose", 4001)
        return await self.done(m, await self.proc_ok(m) if w.has("credentials-proc-ok") else None)

    on_cred_issue = on_cred_request = on_cred_present = on_cred_verify = on_credential

    async def on_deleg_grant(self, m, channel):
        w = self.ways
        credential = m.body.get("credential")
        if w.has("delegation-garbage-refused") and not (MAP(credential) or (isinstance(credential, str) and credential.count(".") == 2)):
            w.refuse("delegation-invalid", 3004)
        if w.has("delegation-expiry-checked") and isinstance(m.body.get("expires"), str) and not rfc3339(m.body.get("expires")):
            w.refuse("delegation-expires", 4001)
        if w.bug("delegation-scope-required") and not m.body.has("scope"):
            w.refuse("delegation-scope", 4001)
        if w.bug("delegation-ext-decides") and isinstance(m.ext, cbor.Map) and m.ext.pairs:
            return [await self.proc_ok(m)]
        self.delegations[os.urandom(4).hex()] = keys.bare(m.sender)
        return await self.done(m, await self.proc_ok(m) if w.has("delegation-proc-ok") else None)

    async def on_deleg_revoke(self, m, channel):
        w = self.ways
        if not m.body.get("delegation_id"):
            w.refuse("delegation-id-empty", 4001)
        if w.has("delegation-unknown-refused"):
            w.refuse("delegation-unknown", 3004)
        return await self.done(m, await self.proc_ok(m) if w.has("delegation-proc-ok") else None)

    on_deleg_query = on_deleg_revoke


def rfc3339(text):
    """Whether this is a time of RFC 3339 with its offset."""
    try:
        return datetime.datetime.fromisoformat(text).tzinfo is not None and "T" in text.upper()
    except ValueError:
        return False


def bend_ms(value):
    return value if is_uint(value) else 0

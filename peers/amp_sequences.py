"""The fixed conversation in which the bugs of `amp_sequence_mutants` are visible: four parts, each a course of short sequences with
fresh identifiers, like the parts of `amp_scenario`. Races are provoked by requests that are sent without waiting."""

import asyncio
import hashlib
import os

import amp_cbor as cbor
from amp_client import Frames, Peer, Socket, http, opened, parse_http
from amp_scenario import good_hello, start

COUNT = {"op": "count"}


def stamped(peer, to, typ, body, ts, tail=None, **more):
    """A message with the time `ts`, and with the id tail `tail`."""
    return peer.message(to, typ, body, ts=ts, id=ts.to_bytes(8, "big") + (tail or os.urandom(8)), **more)


class Talk:
    """Requests to one server and short texts of the answers."""

    def __init__(self, w):
        self.w, self.server, self.to = w, w.server, w.to

    def told(self, data):
        """typ, reply_to and the essential members of each message; a BATCH as its items."""
        out = []
        while data:
            decoder = cbor.Decoder(data)
            try:
                decoder.item()
            except cbor.CborError:
                return out + ["rubbish"]
            fields = opened(data[: decoder.at], self.w.key_of, self.w.alice)
            data = data[decoder.at :]
            body = fields.get("body")
            if fields.get("typ") == 0x16:
                for item in body.get("items"):
                    out += self.told(item)
                continue
            kept = {k: body.get(k) for k in ("code", "count", "ok", "verified", "chunks_received", "stream_id") if body.has(k)} if isinstance(body, cbor.Map) else {}
            thread = fields.get("thread_id")
            out.append((hex(fields.get("typ")), self.w.names.get(fields.get("reply_to"), "none"), thread, kept, fields["ok"]))
        return out

    async def post(self, fields, headers=None):
        status, _, body = await http(self.server, "POST", "/amp/v1/messages", fields if isinstance(fields, bytes) else cbor.encode(fields), headers)
        return f"{status} {self.told(body)}"

    async def send(self, name, peer, typ=0x10, body=1, to=None, **more):
        fields = self.w.name(peer.message(to or self.to, typ, body, **more), name)
        return fields, await self.post(fields)

    async def stream(self, peer, name, chunks, total=None, size=8, end=None, order=None):
        data = b"".join(chunks)
        await self.send(f"{name} start", peer, 0x13, start(name, len(data), len(chunks), size))
        for n in order if order is not None else range(len(chunks)):
            await self.send(f"{name} {n}", peer, 0x14, {"stream_id": name, "index": n, "data": chunks[n]})
        return (await self.send(f"{name} end", peer, 0x15, {"stream_id": name, "hash": end or hashlib.sha256(data).digest()}))[1]

    async def page(self, who, limit=50, cursor="", headers=None):
        query = f"?limit={limit}" + (f"&cursor={cursor}" if cursor else "")
        status, _, body = await http(self.server, "GET", "/amp/v1/messages" + query, headers={"X-Principal-Did": who.did})
        page = cbor.decode(body) if status == 200 else cbor.Map()
        return page.get("messages") or [], page.get("next_cursor"), page.get("has_more")

    async def walk(self, who, limit=50, most=60):
        """The names and bodies of all messages that a walk offers."""
        out, cursor = [], ""
        for _ in range(most):
            messages, cursor, more = await self.page(who, limit, cursor)
            out += [self.queued(m) for m in messages]
            if not more:
                return out
        return out + ["endless"]

    def queued(self, raw):
        message = cbor.decode(raw)
        body = message.get("body")
        return f"{self.w.names.get(message.get('id'))}: {body if isinstance(body, (int, str)) else '-'}"

    async def raw_http(self, *pieces):
        """Pieces of requests on one connection, and the statuses of the answers."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.server.port)
        out = []
        try:
            for piece in pieces:
                writer.write(piece)
                head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 3)
                status, headers, _ = parse_http(head)
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                out.append((status, self.told(body) if b"GET" not in piece[:3] else [self.queued(m) for m in cbor.decode(body).get("messages")]))
        except (asyncio.IncompleteReadError, asyncio.TimeoutError, ConnectionError):
            out.append("end")
        writer.close()
        return str(out)

    async def socket(self, peer, hello=True):
        socket = Socket(self.server)
        await socket.open()
        if hello:
            socket.frame(2, peer.raw(self.to, 0x70, good_hello()))
            await socket.settle(1)
        return socket

    async def frames(self, peer, **more):
        frames = Frames(self.server)
        await frames.open()
        await frames.handshake(**more)
        frames.send(1, peer.raw(self.to, 0x70, good_hello()))
        await frames.settle(1)
        return frames

    async def heard(self, channel, enough=1, seconds=0.5):
        """The messages that arrive, in order of their text, since the processing is concurrent."""
        events = await channel.settle(enough, seconds)
        return str(sorted(str(self.told(v) if k in (1, "message") else (k, v)) for k, v in events))


async def part_sequence(w):
    """Recipient, HTTP."""
    a, b, t = w.alice, w.bob, Talk(w)
    now = w.server.ways.now

    first, _ = await t.send("first", a)
    other = stamped(a, t.to, 0x10, 2, first["ts"], first["id"][8:])
    yield "other content", await t.post(other)
    yield "then the first again", await t.post(first)
    true = w.name(a.message(t.to, 0x11, COUNT), "true")
    forged = {**true, "sig": w.mallory.keys.sign(b"x")}
    yield "forged once", await t.post(forged)
    yield "true after one forgery", await t.post(true)
    yield "its repeat", await t.post(true)
    true = w.name(a.message(t.to, 0x11, COUNT), "true")
    forged = {**true, "sig": w.mallory.keys.sign(b"x")}
    for n in range(2):
        yield f"forged {n}", await t.post(forged)
    yield "true after two forgeries", await t.post(true)
    one, _ = await t.send("one", a)
    await t.send("two", a)
    yield "the repeat of the first of two", await t.post(one)
    counted, line = await t.send("counted", a, 0x11, COUNT)
    yield "counted", line
    yield "counted, with ext", await t.post({**counted, "ext": {"relay_hint": "x"}})
    yield "counted, in a batch", (await t.send("holds it", a, 0x16, {"items": [cbor.encode(counted)]}))[1]
    if w.box:
        ts, tail = now(), os.urandom(8)
        for n in range(2):
            yield f"encrypted {n}", await t.post(w.name(stamped(a, t.to, 0x11, COUNT, ts, tail, enc=w.box), "encrypted"))
    ahead = w.name(stamped(a, t.to, 0x11, COUNT, now() + 15_000), "ahead")
    for n in range(2):
        yield f"ahead {n}", await t.post(ahead)
    item = cbor.encode(w.name(a.message(t.to, 0x11, COUNT), "item"))
    yield "equal items", (await t.send("equal items", a, 0x16, {"items": [item, item]}))[1]
    ts, tail = now(), os.urandom(8)
    items = [cbor.encode(w.name(stamped(peer, t.to, 0x11, COUNT, ts, tail), "of one id")) for peer in (a, b)]
    yield "one id of two senders", (await t.send("one id", a, 0x16, {"items": items}))[1]
    for n in range(2):
        items = [cbor.encode(w.name(a.message(t.to, 0x10, k), f"item {k}")) for k in range(3)]
        yield f"batch {n}", (await t.send("batch", a, 0x16, {"items": items}))[1]
    lost = w.name(a.message(t.to, 0x11, COUNT), "lost")
    bad = cbor.encode({**lost, "sig": bytes(64)})
    items = [bad, *(cbor.encode(w.name(a.message(t.to, 0x10, k), f"after {k}")) for k in range(2))]
    yield "a bad item", (await t.send("a bad item", a, 0x16, {"items": items}))[1]
    yield "the true one", await t.post(lost)

    chunks = [b"12345678", b"abcdefgh", b"x"]
    yield "stream", await t.stream(a, "s", chunks)
    yield "stream again, without chunks", await t.stream(a, "s", chunks, order=())
    yield "another stream", await t.stream(a, "s2", chunks)
    yield "equal chunks", await t.stream(a, "s3", [b"same"] * 3 + [b"z"], size=4)
    yield "seventy chunks", await t.stream(a, "s4", [b"%02d" % n for n in range(70)], size=2)
    await t.send("open start", a, 0x13, start("open", 17, 3, 8))
    await t.stream(a, "inner", chunks)
    for n, chunk in enumerate(chunks):
        yield f"chunk {n} of the outer stream", (await t.send(f"open {n}", a, 0x14, {"stream_id": "open", "index": n, "data": chunk}))[1]
    end = {"stream_id": "open", "hash": hashlib.sha256(b"".join(chunks)).digest()}
    yield "forged end", await t.post(a.message(t.to, 0x15, end, key=w.mallory.keys))
    yield "end of the outer stream", (await t.send("open end", a, 0x15, end))[1]

    for thread in (b"\1t", b"\2t", b"\1t"):
        yield f"thread {thread}", (await t.send("threaded", a, thread_id=thread))[1]
    yield "older in a thread", await t.post(w.name(stamped(a, t.to, 0x10, 1, now() - 9000, thread_id=b"\2t"), "older"))
    yield "one version twice", (await t.send("hello", a, 0x70, {"versions": ["1.0", "1.0"], "agent_info": {"name": "p"}}))[1]
    yield "typ in ext", (await t.send("typ in ext", a, ext={"typ": 1}))[1]

    line = b"POST /amp/v1/messages HTTP/1.1\r\nHost: x\r\nContent-Type: application/cbor\r\n"

    def chunked(raw, extension=b"", pieces=3):
        size = -(-len(raw) // pieces)
        parts = [raw[n : n + size] for n in range(0, len(raw), size)]
        return line + b"Transfer-Encoding: chunked\r\n\r\n" + b"".join(b"%X%s\r\n%s\r\n" % (len(p), extension, p) for p in parts) + b"0\r\n\r\n"

    raw = lambda name: cbor.encode(w.name(a.message(t.to, 0x10, 1), name))
    yield "one chunk, extended", await t.raw_http(chunked(raw("extended"), b";a=b", 1))
    yield "three chunks", await t.raw_http(chunked(raw("in chunks")))
    yield "chunked twice", await t.raw_http(chunked(raw("chunked 1"), pieces=1), chunked(raw("chunked 2"), pieces=1))
    body = raw("capitals")
    yield "capitals", await t.raw_http(line.upper().replace(b"APPLICATION/CBOR", b"application/cbor").replace(b"/AMP/V1/MESSAGES", b"/amp/v1/messages") + b"CONTENT-LENGTH: %d\r\n\r\n" % len(body) + body)

    again = w.name(a.message(t.to, 0x11, COUNT), "again")
    yield "counted before many", await t.post(again)
    for n in range(70):
        await t.post(b.message(t.to, 0x10, n))
    yield "counted after many", await t.post(again)


async def part_sequence_ws(w):
    """Recipient, WebSocket."""
    a, t = w.alice, Talk(w)
    counted = w.name(a.message(t.to, 0x11, COUNT), "counted")
    socket = await t.socket(a)
    for n in range(2):
        socket.frame(2, cbor.encode(counted))
        yield f"counted {n}", await t.heard(socket, 2)
        socket.close()
        await asyncio.sleep(0.1)
        socket = await t.socket(a)
    socket.frame(2, a.raw(t.to, 0x10, 1, v=2))
    await t.heard(socket, 1)
    socket.frame(2, cbor.encode(w.name(a.message(t.to, 0x10, 1), "after v 2")))
    yield "after v 2", await t.heard(socket)
    ends = await t.socket(a, hello=False)
    ends.frame(2, cbor.encode(w.name(a.message(t.to, 0x10, 1), "without hello")))
    yield "without hello", await t.heard(ends, 1)
    ends.close()
    parts = lambda name, n: (lambda raw: [raw[k : k + n] for k in range(0, len(raw), n)])(cbor.encode(w.name(a.message(t.to, 0x10, 1), name)))

    def fragment(channel, pieces, n):
        channel.frame(2 if n == 0 else 0, pieces[n], n == len(pieces) - 1)

    pieces = parts("with ping", 150)
    for n in range(len(pieces)):
        fragment(socket, pieces, n)
        socket.frame(9, b"ping")
    yield "with pings", await t.heard(socket, 3, 0.3)
    socket.close()
    socket = await t.socket(a)
    pieces = parts("many fragments", 6)
    for n in range(len(pieces)):
        fragment(socket, pieces, n)
    yield "many fragments", await t.heard(socket)
    socket.close()
    socket, second = await t.socket(a), await t.socket(w.bob)
    one, two = parts("one", 150), parts("two", 150)
    for n in range(len(one)):
        for channel, pieces in ((socket, one), (second, two)):
            fragment(channel, pieces, n)
            await asyncio.sleep(0.02)
    yield "mixed one", await t.heard(socket)
    yield "mixed two", await t.heard(second)
    socket.close(), second.close()
    socket = await t.socket(a)
    for n in range(3):
        socket.frame(2, cbor.encode(w.name(a.message(t.to, 0x10, n), f"at once {n}")))
    yield "three at once", await t.heard(socket, 3)
    both = cbor.encode(w.name(a.message(t.to, 0x11, COUNT), "both"))
    second = await t.socket(a)
    for channel in (socket, second):
        channel.frame(2, both)
    for channel in (socket, second):
        await t.heard(channel, 2)
    second.close()
    yield "count after two copies at once", (await t.send("last count", a, 0x11, COUNT))[1]
    chunks = [b"12345678", b"abcdefgh", b"x"]
    socket.frame(2, a.raw(t.to, 0x13, start("quick", 17, 3, 8)))
    await asyncio.sleep(0.05)
    for n, chunk in enumerate(chunks):
        socket.frame(2, a.raw(t.to, 0x14, {"stream_id": "quick", "index": n, "data": chunk}))
    await asyncio.sleep(0.2)
    socket.frame(2, cbor.encode(w.name(a.message(t.to, 0x15, {"stream_id": "quick", "hash": hashlib.sha256(b"".join(chunks)).digest()}), "quick end")))
    yield "chunks at once", await t.heard(socket)
    socket.close()


async def part_sequence_tcp(w):
    """Recipient, TCP."""
    a, t = w.alice, Talk(w)
    framed = lambda raw: (len(raw) + 1).to_bytes(4, "big") + b"\1" + raw
    raw = lambda name, body=1: cbor.encode(w.name(a.message(t.to, 0x10, body), name))
    frames = await t.frames(a)
    frames.writer.write(framed(raw("together 1")) + framed(raw("together 2")))
    yield "two frames together", await t.heard(frames, 2)
    data = framed(raw("in pieces"))
    for n in range(0, len(data), 50):
        frames.writer.write(data[n : n + 50])
        await asyncio.sleep(0.01)
    yield "in pieces", await t.heard(frames)
    frames.close()
    frames = await t.frames(a)
    small = await t.frames(w.bob, max_msg_size=600)
    frames.send(1, raw("large", bytes(2000)))
    yield "large beside a small maximum", await t.heard(frames)
    frames.close(), small.close()


async def part_sequence_relay(w):
    """Relay: custody, acknowledgement, polling, connections. Each sequence has a recipient of its own."""
    a, b, t = w.alice, w.bob, Talk(w)
    ways, now = w.server.ways, w.server.ways.now
    made = []

    def someone():
        made.append(Peer(f"recipient {len(made)}", a.clock))
        w.people[made[-1].did] = f"recipient {len(made)}"
        return made[-1]

    async def queue(to, name, peer=a, body=None, **more):
        return await t.send(name, peer, 0x10, name if body is None else body, to=to.did if isinstance(to, Peer) else to, **more)

    async def ack(who, fields, to=a, **more):
        return await t.post(who.message(to.did, 0x03, {"ack_source": "recipient", "received_at": now()}, reply_to=fields["id"], **more))

    async def stored(to, peer, name, ts, tail, body=None):
        fields = w.name(stamped(peer, to.did, 0x10, body or name, ts, tail), name)
        await t.post(fields)
        return fields

    r = someone()
    ts = now()
    kept = [await stored(r, a, f"of one time {n}", ts, bytes([n]) * 8) for n in range(3)]
    yield "one time", str(await t.walk(r))
    await ack(r, kept[1])
    yield "one time, one acknowledged", str(await t.walk(r))
    r, q = someone(), someone()
    ts, tail = now(), os.urandom(8)
    await stored(r, a, "one id", ts, tail, "of alice")
    await stored(q, b, "one id", ts, tail, "of bob")
    yield "one id", str([await t.walk(r), await t.walk(q)])
    r = someone()
    for n in range(2):
        await queue(r, f"equal {n}", body="equal")
    yield "equal bodies", str(await t.walk(r))
    await queue(r, "to itself", r)
    yield "to itself", str(await t.walk(r))
    r = someone()
    kept = [(await queue(r, f"queued {n}"))[0] for n in range(14)]
    yield "fourteen", str(await t.walk(r, 1))
    yield "fourteen by four", str(await t.walk(r, 4))
    yield "fourteen by thirteen", str(await t.walk(r, 13))
    yield "fourteen again", str(await t.walk(r))
    await ack(r, kept[3])
    yield "one acknowledged", str(await t.walk(r))
    await ack(r, kept[3])
    yield "acknowledged twice", str(await t.walk(r))
    messages, cursor, _ = await t.page(r, 2)
    await ack(r, kept[1])
    messages, _, more = await t.page(r, 2, cursor)
    yield "the page after an acknowledged one", f"{[t.queued(m) for m in messages]} {more}"
    _, cursor, _ = await t.page(r, 2)
    messages, _, more = await t.page(r, "%32", cursor.replace("-", "%2D"))
    yield "percent-encoded", f"{[t.queued(m) for m in messages]} {more}"
    r, q = someone(), someone()
    await queue(r, "for one")
    await queue(q, "for the other")
    get = lambda who: f"GET /amp/v1/messages?limit=5 HTTP/1.1\r\nHost: x\r\nX-Principal-Did: {who.did}\r\n\r\n".encode()
    yield "two parties on one connection", await t.raw_http(get(r), get(q))
    r = someone()
    for n in range(40):
        await queue(r, f"many {n}")
    yield "forty", str(len(await t.walk(r)))
    r = someone()
    items = [cbor.encode(w.name(a.message(r.did, 0x10, "item"), "item"))]
    yield "items for others", (await t.send("batch", a, 0x16, {"items": items}))[1] + str(await t.walk(r))
    r, q = someone(), someone()
    await queue([r.did, q.did], "for two")
    yield "for two", str([await t.walk(r), await t.walk(q)])
    fields, _ = await queue(r, "target of a forgery")
    await t.post({**fields, "sig": w.mallory.keys.sign(b"x")})
    yield "after a forgery", str(await t.walk(r))
    await t.post(w.name(stamped(a, r.did, 0x10, "other content", fields["ts"], fields["id"][8:]), "target of a forgery"))
    yield "after other content", str(await t.walk(r))
    r = someone()
    early = w.name(a.message(r.did, 0x10, "early"), "early")
    await ack(w.mallory, early)
    await t.post(early)
    yield "acknowledged before", str(await t.walk(r))
    r, q = someone(), someone()
    for to, order in ((r, (60_000, 3000, 60_000)), (q, (3000, 60_000))):
        for n, ttl in enumerate(order):
            await queue(to, f"ttl {ttl} {n}", ttl=ttl)
    repeated = w.name(a.message((s := someone()).did, 0x10, "repeated", ttl=5000), "repeated")
    await t.post(repeated)
    ways.offset_ms += 3500
    yield "expired in front", str(await t.walk(q, 1))
    yield "expired between", str(await t.walk(r))
    await t.post(repeated)
    ways.offset_ms += 3500
    yield "expired after its repeat", str(await t.walk(s))
    r = someone()
    await asyncio.gather(*(queue(r, f"together {n}") for n in range(4)))
    yield "four together", str(sorted(await t.walk(r)))
    r = someone()
    await queue(r, "before")

    async def late():
        await asyncio.sleep(0.003)
        await queue(r, "during")

    await asyncio.gather(*(t.page(r) for _ in range(6)), late(), *(t.page(r) for _ in range(6)))
    yield "arrived during polls", str(await t.walk(r))
    # connections
    r, q = someone(), someone()
    await queue(r, "waits")
    one = await t.socket(r)
    await one.settle(1, 0.3)
    yield "after a connection", str(await t.walk(r))
    await queue([r.did, q.did], "pushed and kept")
    yield "pushed and kept", f"{len(await one.settle(1, 0.5))} {await t.walk(q)}"
    two = await t.socket(r)
    await two.settle(2, 0.3)
    two.close()
    await asyncio.sleep(0.1)
    at_once = lambda: {"ts": now() + 10_000, "ttl": 0}
    yield "at once", (await queue(r, "at once", **at_once()))[1] + str(len(await one.settle(1, 0.4)))
    one.close()
    await asyncio.sleep(0.1)
    yield "at once, not there any more", (await queue(r, "too late", **at_once()))[1]
    frames = await t.frames(q)
    await frames.settle(2, 0.3)
    yield "at once by TCP", (await queue(q, "by TCP", **at_once()))[1] + str(len(await frames.settle(1, 0.4)))
    frames.close()


RUNS = {"sequence": part_sequence, "sequence-ws": part_sequence_ws, "sequence-tcp": part_sequence_tcp, "sequence-relay": part_sequence_relay}

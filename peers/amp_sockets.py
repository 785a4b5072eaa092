"""WebSocket (RFC 6455, own frames) and TCP frames (RFC 002 section 4) for the peer."""

import asyncio
import base64
import contextlib
import hashlib
import os
import socket
import struct

import amp_cbor as cbor
from amp_http import Answer, linger
from amp_message import is_uint
from amp_node import Channel

MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
CONTINUE, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10


class Closed(Exception):
    def __init__(self, code=None):
        self.code = code


def reset(writer):
    """Ends a connection with RST instead of FIN."""
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def ws_frame(opcode, payload, final=True):
    first = bytes([(0x80 if final else 0) | opcode])
    size = len(payload)
    if size < 126:
        return first + bytes([size]) + payload
    if size < 65536:
        return first + b"\x7e" + struct.pack(">H", size) + payload
    return first + b"\x7f" + struct.pack(">Q", size) + payload


class Persistent(Channel):
    """Shared by WebSocket and TCP: messages processed concurrently, each reply written when it is ready."""

    def __init__(self, server, reader, writer):
        super().__init__()
        self.server, self.node, self.ways = server, server.node, server.ways
        self.reader, self.writer = reader, writer
        self.tasks = set()
        self.open, self.known, self.working = True, False, False
        self.most, self.theirs = self.ways.max_size, None  # our maximum, and that of the other side

    def later(self, coroutine):
        task = asyncio.get_running_loop().create_task(coroutine)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def deliver(self, raw):
        if not self.open:
            return self.ways.bug("relay-online-after-close")
        self.write_message(raw)
        return True

    async def handle(self, data):
        """One message: its replies, or the effect of a refusal without ERROR. True if the connection stays open."""
        w, kind = self.ways, self.kind
        replies, refusal = await self.node.take(data, self)
        # After it: a stream arrives in order here, and a recipient that shuffled it could not confirm it.
        await self.server.pause()
        w.change_list(f"{kind}-replies", replies)
        if refusal is not None and refusal.rule == "before-hello":
            return await self.before_hello(replies)
        if refusal is not None and refusal.silent:
            return True
        if refusal is not None and not replies:
            return await self.unreadable(refusal)
        if w.bug(f"{kind}-replies-joined") and len(replies) > 1:
            replies = [b"".join(replies)]
        elif w.bug(f"{kind}-first-reply-only"):
            replies = replies[:1]
        elif w.bug(f"{kind}-replies-lost"):
            replies = []
        elif w.bug(f"{kind}-errors-lost") and refusal is not None:
            replies = []
        for raw in replies:
            self.write_message(await self.fitting(raw))
        if self.negotiated and not self.known:
            self.known = True
            self.node.connected(self)
        if refusal is not None and w.has(f"{kind}-close-after-error"):
            await self.finish(1008)
            return False
        if refusal is not None and w.bug(f"{kind}-dies-after-error"):
            reset(self.writer)
            return False
        if w.bug(f"{kind}-one-message-only") and self.started:
            await self.finish(1000)
            return False
        self.started = self.started or self.negotiated
        return True

    async def fitting(self, raw):
        """A message within the limit of the other side (RFC 002 4.4, 5.3); an ERROR instead of a larger one."""
        if self.theirs is None or len(raw) <= self.theirs or self.ways.bug(f"{self.kind}-sends-any-size"):
            return raw
        message = cbor.decode(raw)
        to = message.get("to") if isinstance(message.get("to"), str) else message.get("to")[0]
        body = self.node.error_body(1001, "reply-too-large")
        return await self.node.build(0x0F, body, to, reply_to=message.get("reply_to"))

    async def guarded(self, data):
        if self.ways.name == "ws-busy-drops" and self.kind == "ws":
            if self.working and self.ways.bug("ws-busy-drops"):
                return
            self.working = True
            await asyncio.sleep(0.003)
        await self.unguarded(data)
        self.working = False

    async def unguarded(self, data):
        try:
            if not await self.handle(data):
                self.open = False
        except (ConnectionError, OSError):
            self.open = False
        except Exception:
            if not self.open:
                return  # an answer after our half was closed
            if not self.ways.mutant:
                raise
            await self.finish(1011)


class WebSocket(Persistent):
    kind = "ws"

    def write_message(self, raw):
        w = self.ways
        if w.bug("ws-text-replies"):
            self.writer.write(ws_frame(TEXT, raw.hex().encode()))
        elif w.has("ws-fragments") and len(raw) > 8:
            third = len(raw) // 3
            self.writer.write(ws_frame(BINARY, raw[:third], False) + ws_frame(PING, b"mid"))
            self.writer.write(ws_frame(CONTINUE, raw[third : 2 * third], False) + ws_frame(CONTINUE, b"", False))
            self.writer.write(ws_frame(CONTINUE, raw[2 * third :]))
        else:
            self.writer.write(ws_frame(BINARY, raw))
            if w.has("ws-pings-after-replies"):
                self.writer.write(ws_frame(PING, b"still there?"))

    async def finish(self, code=1000, reason=b""):
        if not self.open:
            return
        self.open = False
        try:
            if self.ways.bug("ws-drops-without-close"):
                reset(self.writer)
                return
            self.writer.write(ws_frame(CLOSE, struct.pack(">H", code) + reason))
            await linger(self.reader, self.writer)
        except (ConnectionError, OSError, RuntimeError):
            pass

    async def unreadable(self, refusal):
        w = self.ways
        if w.bug("ws-malformed-ignored"):
            return True
        code = 1002
        if w.has("ws-malformed-1007"):
            code = 1007
        elif w.has("ws-malformed-1008"):
            code = 1008
        elif w.has("ws-malformed-1003"):
            code = 1003
        elif w.bug("ws-malformed-1011"):
            code = 1011
        if self.peer and w.has("malformed-error-to-peer") and not (refusal.sender and refusal.id):
            body = self.node.error_body(refusal.code, refusal.rule)
            self.write_message(await self.node.build(0x0F, body, self.peer))
            return True
        await self.finish(code)
        return False

    async def before_hello(self, replies):
        w = self.ways
        if w.bug("before-hello-ignored"):
            return True
        if w.has("before-hello-closes") or not replies:
            await self.finish(1008 if w.has("before-hello-1008") else 1002)
            return False
        for raw in replies:
            self.write_message(raw)
        if w.has("before-hello-error-and-close"):
            await self.finish(1008)
            return False
        return True

    async def frame(self):
        first, second = await self.reader.readexactly(2)
        size = second & 127
        if size == 126:
            size = int.from_bytes(await self.reader.readexactly(2), "big")
        elif size == 127:
            size = int.from_bytes(await self.reader.readexactly(8), "big")
        if size > self.most and not self.ways.bug("ws-maximum-not-kept"):
            raise Closed(1009)
        if self.ways.bug("size-limit-too-small") and size > 512 * 1024:
            raise Closed(1009)
        if not second & 0x80 and not self.ways.bug("ws-unmasked-accepted"):
            raise Closed(1002)
        if first & 8 and (size > 125 or not first & 0x80) and not self.ways.bug("ws-control-frames-any-size"):
            raise Closed(1002)
        mask = await self.reader.readexactly(4) if second & 0x80 else bytes(4)
        payload = await self.reader.readexactly(size)
        if first & 0x70:
            raise Closed(1002)
        if size:
            key = int.from_bytes((mask * (size // 4 + 1))[:size], "big")
            payload = (int.from_bytes(payload, "big") ^ key).to_bytes(size, "big")
        return first & 0x80, first & 15, payload

    async def run(self):
        w = self.ways
        parts, kind = None, None
        if w.has("ws-greets-with-ping"):
            self.writer.write(ws_frame(PING, b"hello"))
        if w.bug("ws-greets-with-message"):
            self.write_message(await self.node.build(0x01, None, self.node.did))
        try:
            while self.open:
                final, opcode, payload = await asyncio.wait_for(self.frame(), 120)
                if opcode == CLOSE:
                    if w.bug("ws-close-unanswered"):
                        await asyncio.sleep(8)
                        return
                    echo = payload[:2] if not w.has("ws-close-without-code") else b""
                    if w.bug("ws-close-answered-1011"):
                        echo = struct.pack(">H", 1011)
                    self.writer.write(ws_frame(CLOSE, echo))
                    self.open = False
                    await linger(self.reader, self.writer, 1.0)
                    return
                if opcode == PING:
                    if parts and w.bug("ws-ping-drops-fragments"):
                        parts = []
                    if w.bug("ws-ping-ignored"):
                        continue
                    self.writer.write(ws_frame(PONG, b"" if w.bug("ws-pong-empty") else payload))
                    continue
                if opcode == PONG:
                    continue
                if opcode in (BINARY, TEXT):
                    if parts is not None:
                        raise Closed(1002)
                    parts, kind = [payload], opcode
                    if not final and w.bug("ws-fragments-shared"):
                        parts = self.server.__dict__.setdefault("fragments", [])
                        parts[:] = [payload]
                    if w.bug("ws-fragments-refused") and not final:
                        raise Closed(1003)
                    if w.bug("ws-fragments-taken-alone") and not final:
                        await self.guarded(payload)
                elif opcode == CONTINUE:
                    if parts is None:
                        raise Closed(1002)
                    parts.append(payload)
                    if len(parts) > 32 and w.bug("ws-thirty-third-fragment-refused"):
                        raise Closed(1009)
                    if not payload and w.bug("ws-empty-fragment-refused"):
                        raise Closed(1002)
                    if sum(map(len, parts)) > self.most and not w.bug("ws-maximum-of-each-fragment"):
                        raise Closed(1009)
                else:
                    if w.bug("ws-reserved-opcode-ignored"):
                        continue
                    raise Closed(1002)
                if not final:
                    continue
                whole, parts = b"".join(parts), None
                if kind == TEXT:
                    if w.bug("ws-text-accepted"):
                        try:
                            whole = bytes.fromhex(whole.decode())
                        except ValueError:
                            pass
                    elif w.bug("ws-text-ignored"):
                        continue
                    elif w.has("ws-text-error") and self.peer:
                        body = self.node.error_body(1001, "text")
                        self.write_message(await self.node.build(0x0F, body, self.peer))
                        continue
                    else:
                        raise Closed(1007 if w.has("ws-text-1007") else 1002 if w.has("ws-text-1002") else 1008 if w.has("ws-text-1008") else 1003)
                if w.bug("ws-joined-messages-split"):
                    for part in self.split(whole):
                        await self.guarded(part)
                    continue
                if w.bug("ws-empty-ignored") and not whole:
                    continue
                if w.has("ws-one-at-a-time") or not self.negotiated:
                    await self.guarded(whole)
                else:
                    self.later(self.guarded(whole))
        except Closed as closed:
            await self.finish(closed.code)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.TimeoutError, OSError):
            pass
        except RuntimeError:
            if self.open:  # otherwise our half is closed and theirs is still read
                raise
        finally:
            self.open = False
            self.node.disconnected(self)
            self.writer.close()

    def split(self, whole):
        parts = []
        while whole:
            decoder = cbor.Decoder(whole)
            try:
                decoder.item()
            except cbor.CborError:
                return parts + [whole]
            parts.append(whole[: decoder.at])
            whole = whole[decoder.at :]
        return parts


async def upgrade(server, request, reader, writer):
    """The opening handshake; it fails without amp.v1 (RFC 002 5.1)."""
    w = server.ways
    offered = [p.strip() for p in request.headers.get("sec-websocket-protocol", "").split(",") if p.strip()]
    key = request.headers.get("sec-websocket-key", "")
    good = request.method == "GET" and "websocket" in request.headers.get("upgrade", "").lower() and key
    found = "amp.v1" in offered or w.bug("ws-subprotocol-ignored")
    if w.bug("ws-subprotocol-first-only"):
        found = offered[:1] == ["amp.v1"]
    elif w.bug("ws-subprotocol-single-only"):
        found = offered == ["amp.v1"]
    if w.bug("ws-subprotocol-prefix") and any(p.startswith("amp.v1") for p in offered):
        found = True
    if w.bug("ws-subprotocol-optional") and not offered:
        found = True
    late = w.has("ws-refuses-by-close") and good and not found
    if (not good or not found) and not late:
        status = 426 if w.has("ws-refuses-426") else 403 if w.has("ws-refuses-403") else 400
        data, _ = server.http.write(writer, Answer(status), request)
        writer.write(data)
        await linger(reader, writer, 0.5)
        return
    accept = base64.b64encode(hashlib.sha1(key.encode() + MAGIC).digest()).decode()
    lines = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade", f"Sec-WebSocket-Accept: {accept}"]
    if not late and not w.bug("ws-subprotocol-not-named"):
        name = "amp.v1"
        if w.bug("ws-subprotocol-echoed"):
            name = offered[0] if offered else "amp.v1"
        elif w.bug("ws-subprotocol-upper"):
            name = "AMP.V1"
        if "amp.v1" in offered or not w.bug("ws-subprotocol-ignored"):
            lines.append("Sec-WebSocket-Protocol: " + name)
    if w.has("ws-size-header"):
        lines.append(f"X-AMP-Max-Message-Size: {w.max_size}")
    if w.bug("ws-size-header-text"):
        lines.append("X-AMP-Max-Message-Size: 16 MiB")
    if w.has("lower-case-headers"):
        lines = [lines[0]] + [line.split(":")[0].lower() + ":" + line.split(":", 1)[1] for line in lines[1:]]
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
    face = WebSocket(server, reader, writer)
    said = request.headers.get("x-amp-max-message-size", "")
    face.theirs = int(said) if said.isdigit() else None
    if w.has("ws-size-effective"):
        face.most = min(face.most, face.theirs or 1 << 20)
    if late:
        await face.finish(1002)
        return
    await face.run()


class Tcp(Persistent):
    kind = "tcp"

    @property
    def bare(self):
        return self.ways.has("tcp-bare-frames")

    def write_frame(self, kind, payload):
        w = self.ways
        if self.bare:
            if kind == 1:  # no other answer is possible
                self.send_bytes(len(payload).to_bytes(4, "big") + payload)
            return
        size = len(payload) + 1
        if w.bug("tcp-length-without-type"):
            size = len(payload)
        elif w.bug("tcp-length-with-header"):
            size += 4
        data = size.to_bytes(4, "little" if w.bug("tcp-length-little-endian") else "big") + bytes([kind]) + payload
        if w.bug("tcp-type-byte-missing"):
            data = len(payload).to_bytes(4, "big") + payload
        elif w.bug("tcp-length-16-bits"):
            data = (size & 0xFFFF).to_bytes(2, "big") + bytes([kind]) + payload
        self.send_bytes(data)

    def send_bytes(self, data):
        if self.ways.has("tcp-in-pieces"):
            self.later(self.drip(data))
            return
        self.writer.write(data)

    async def drip(self, data):
        with contextlib.suppress(ConnectionError, RuntimeError):  # either side may close between two pieces
            async with self.lock:
                for n in range(0, min(len(data), 120), 3):
                    self.writer.write(data[n : n + 3])
                    await self.writer.drain()
                    await asyncio.sleep(0.0005)
                self.writer.write(data[120:] if len(data) > 120 else b"")

    def write_message(self, raw):
        w = self.ways
        self.write_frame(2 if w.bug("tcp-messages-as-handshake") else 7 if w.bug("tcp-messages-as-type-7") else 1, raw)
        if w.has("tcp-pings"):
            self.write_frame(3, os.urandom(8))

    async def transport_error(self, code, text, close=True):
        w = self.ways
        if w.bug("tcp-errors-ignored"):
            return True
        if not w.has("tcp-errors-close-only"):
            body = {"code": code, "message": text}
            w.change("frame-error", body, "", self.node)
            self.write_frame(6, cbor.encode(body))
        if close or w.has("tcp-errors-close-only"):
            await self.finish()
            return False
        return True

    async def finish(self, code=None, reason=b""):
        if not self.open:
            return
        self.open = False
        w = self.ways
        if w.bug("tcp-closes-by-reset"):
            reset(self.writer)
            return
        if w.has("tcp-goaway-before-close") or w.bug("goaway-text-reason") or w.bug("goaway-not-cbor"):
            body = {"reason": 1, "message": "bye"}
            if w.bug("goaway-text-reason"):
                body["reason"] = "policy"
            self.write_frame(5, b"bye" if w.bug("goaway-not-cbor") else cbor.encode(body))
        await asyncio.gather(*[t for t in self.tasks if t is not asyncio.current_task()], return_exceptions=True)
        await linger(self.reader, self.writer)

    async def unreadable(self, refusal):
        w = self.ways
        if w.bug("tcp-malformed-ignored"):
            return True
        if self.peer and w.has("malformed-error-to-peer") and not (refusal.sender and refusal.id):
            body = self.node.error_body(refusal.code, refusal.rule)
            self.write_message(await self.node.build(0x0F, body, self.peer))
            return True
        code = refusal.code if refusal.sender and refusal.id else 1001
        return await self.transport_error(code, refusal.rule.replace("-", " "), not w.has("tcp-malformed-goes-on"))

    async def before_hello(self, replies):
        w = self.ways
        if w.bug("before-hello-ignored"):
            return True
        if w.has("before-hello-closes"):
            await self.finish()
            return False
        if w.has("before-hello-transport-error") or not replies:
            return await self.transport_error(1004, "HELLO comes first", not w.has("tcp-malformed-goes-on"))
        for raw in replies:
            self.write_message(raw)
        if w.has("before-hello-error-and-close"):
            await self.finish()
            return False
        return True

    async def read_frame(self, seconds):
        size = int.from_bytes(await asyncio.wait_for(self.reader.readexactly(4), seconds), "big")
        if self.bare:
            if size > self.most:
                raise Closed(1001)
            return 1, await asyncio.wait_for(self.reader.readexactly(size), 30)
        if self.ways.bug("tcp-length-excludes-type-in"):
            size += 1
        if size < 1:
            if self.ways.bug("tcp-zero-length-ignored"):
                return 3, b""
            raise Closed(1001)
        most = getattr(self.server, "tcp_most", self.most) if self.ways.name == "tcp-maximum-shared" else self.most
        if most < size - 1 <= self.most:
            self.ways.bug("tcp-maximum-shared")
        if size - 1 > most or (self.ways.bug("size-limit-too-small") and size > 512 * 1024):
            if self.ways.bug("tcp-length-awaited"):
                await asyncio.sleep(60)
            raise Closed(1001)
        if self.ways.name == "tcp-short-read-taken":
            data = await asyncio.wait_for(self.reader.read(size), 30)
            if not data:
                raise asyncio.IncompleteReadError(data, size)
            if len(data) < size:
                self.ways.bug("tcp-short-read-taken")
            return data[0], data[1:]
        data = await asyncio.wait_for(self.reader.readexactly(size), 30)
        if self.ways.name == "tcp-second-frame-dropped" and self.negotiated and self.reader._buffer:
            self.ways.bug("tcp-second-frame-dropped")
            await self.reader.read(len(self.reader._buffer))
        return data[0], data[1:]

    async def handshake(self):
        """True if the handshake of 4.4 was agreed."""
        w = self.ways
        if w.bug("tcp-server-speaks-first"):
            self.write_frame(3, b"hi")
        kind, payload = await self.read_frame(2.0 if w.has("tcp-handshake-two-seconds") else 10.0)
        if kind == 1 and w.bug("tcp-handshake-not-required"):
            self.shaken = True
            await self.guarded(payload)
            return True
        if kind == 1 and w.bug("tcp-handshake-in-any-frame"):
            kind = 2
        if kind != 2:
            await self.transport_error(1001, "handshake comes first")
            return False
        try:
            body = cbor.decode(payload)
            version, size = body.get("version"), body.get("max_msg_size")
        except (cbor.CborError, AttributeError):
            await self.transport_error(1001, "handshake is not a map")
            return False
        text = None
        if w.bug("tcp-handshake-version-one-byte") and is_uint(version):
            version &= 0xFF
        elif w.bug("tcp-handshake-version-32-bits") and is_uint(version):
            version &= 0xFFFFFFFF
        if not is_uint(version) or not is_uint(size):
            if w.bug("tcp-handshake-fields-unchecked"):
                version = 1
            else:
                text = "version and max_msg_size are needed"
        elif version != 1 and not w.bug("tcp-handshake-any-version"):
            text = "unsupported version"
        if w.bug("tcp-handshake-did-required") and not body.has("did"):
            text = "did is needed"
        if w.bug("tcp-handshake-closed-map") and any(k not in ("version", "max_msg_size") for k in body.keys()):
            text = "unknown member"
        answer = {"version": 1, "accepted": text is None, "max_msg_size": w.max_size}
        if w.has("tcp-handshake-extensions"):
            answer["extensions"] = ["x-peer"]
        if text and not w.has("tcp-refusal-without-text"):
            answer["error"] = text
        w.change("handshake", answer, "", self.node)
        if w.bug("tcp-handshake-silent"):
            return True
        if w.bug("tcp-handshake-as-message"):
            self.write_frame(1, cbor.encode(answer))
        elif w.bug("tcp-handshake-json"):
            self.write_frame(2, b'{"version":1,"accepted":true,"max_msg_size":1048576}')
        else:
            self.write_frame(2, cbor.encode(answer, "given" if w.has("out-declaration-order") else "bytewise"))
        if text is None:
            self.theirs = size
            if not w.bug("tcp-agreed-maximum-ignored"):
                self.most = self.server.tcp_most = min(self.most, size)
        if text and w.bug("tcp-refused-stays-open"):
            return True
        if text:
            await self.finish()
        return text is None

    async def run(self):
        w = self.ways
        self.lock = asyncio.Lock()
        try:
            if not self.bare and not await self.handshake():
                return
            while self.open:
                kind, payload = await self.read_frame(120)
                if kind == 1:
                    if w.has("tcp-one-at-a-time") or not self.negotiated:
                        await self.guarded(payload)
                    else:
                        self.later(self.guarded(payload))
                elif kind == 3:
                    if w.bug("tcp-ping-ignored"):
                        continue
                    if w.bug("tcp-ping-long-refused") and len(payload) > 8:
                        await self.transport_error(1001, "ping too long")
                        return
                    if w.bug("tcp-ping-as-text"):
                        payload = payload.decode("utf-8", "replace").encode()
                    echo = b"" if w.bug("tcp-pong-empty") else payload[::-1] if w.bug("tcp-pong-altered") else payload
                    self.write_frame(3 if w.bug("tcp-pong-as-ping") else 4, echo)
                elif kind == 5:
                    if w.bug("tcp-goaway-refused"):
                        await self.transport_error(1001, "unexpected frame")
                        return
                    if w.bug("tcp-goaway-crashes"):
                        reset(self.writer)
                        return
                    if not w.has("tcp-goaway-goes-on"):
                        await asyncio.sleep(0.05)
                        await self.finish()
                        return
                elif kind in (4, 6):
                    continue
                elif kind == 2:
                    if w.has("tcp-second-handshake-ignored"):
                        continue
                    await self.transport_error(1001, "second handshake")
                    return
                else:
                    if w.bug("tcp-unknown-frame-as-message"):
                        await self.guarded(payload)
                    elif w.has("tcp-unknown-frame-error"):
                        await self.transport_error(1001, "unknown frame", close=False)
                    elif w.has("tcp-unknown-frame-closes"):
                        await self.finish()
                        return
        except Closed as closed:
            await self.transport_error(closed.code, "length of frame")
        except asyncio.TimeoutError:
            await self.finish()
        except (asyncio.IncompleteReadError, ConnectionError, OSError):
            pass
        finally:
            self.open = False
            self.node.disconnected(self)
            self.writer.close()

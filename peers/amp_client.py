"""A small AMP client over HTTP, WebSocket and TCP for the self-check. It builds Sig_Input independently, so that the
server's bugs are visible."""

import asyncio
import base64
import os
import struct
import time

import amp_cbor as cbor
import amp_keys as keys

SEEN_ORDER = ("id", "typ", "ts", "ttl", "from", "to", "reply_to", "thread_id")


def text_head(size):
    return cbor.head(3, size)


def signed_bytes(headers, body_bytes):
    """84 "AMP-v1" h'' {headers} bstr, section 8.1."""
    pairs = sorted((cbor.encode(k), cbor.encode(v)) for k, v in headers.items())
    coded = cbor.head(5, len(pairs)) + b"".join(k + v for k, v in pairs)
    return b"\x84\x66AMP-v1\x40" + coded + cbor.head(2, len(body_bytes)) + body_bytes


class Peer:
    """An identity with its keys for building messages."""

    def __init__(self, name, clock=None):
        self.keys = keys.named(name)
        self.did = self.keys.did_key
        self.clock = clock or (lambda: int(time.time() * 1000))

    def message(self, recipient, kind=0x10, content=None, /, **more):
        """The fields of a signed message. `more`: any field, `without` (tuple of names), `key`, `body_bytes`, `signed`
        (fields as they are signed), `after` (fields changed after signing), `enc` (X25519 key of the recipient)."""
        fields = {"v": 1, "typ": kind, "ts": self.clock(), "ttl": 60_000, "from": self.did, "to": recipient, "body": content}
        special = {k: more.pop(k) for k in ("without", "key", "body_bytes", "signed", "after", "enc", "drop") if k in more}
        fields.update(more)
        to_encode = special.pop("body_bytes", None)
        if "id" not in fields:
            stamp = fields["ts"] if isinstance(fields["ts"], int) and 0 <= fields["ts"] < 2**64 else self.clock()
            fields["id"] = stamp.to_bytes(8, "big") + os.urandom(8)
        for name in special.get("without", ()):
            fields.pop(name, None)
        body_bytes = to_encode
        if body_bytes is None:
            body_bytes = cbor.encode(fields.get("body"))
        headers = {k: fields[k] for k in SEEN_ORDER if k in fields}
        headers.update(special.get("signed", {}))
        fields["sig"] = special.get("key", self.keys).sign(signed_bytes(headers, body_bytes))
        if "enc" in special:
            nonce = os.urandom(24)
            sealed = keys.seal(body_bytes, nonce, special["enc"], self.keys.x_secret)
            fields.pop("body", None)
            fields["enc"] = {"alg": "X25519-XSalsa20-Poly1305", "mode": "authcrypt", "nonce": nonce, "ciphertext": sealed}
        fields.update(special.get("after", {}))
        for name in special.get("drop", ()):
            fields.pop(name, None)
        return fields

    def raw(self, recipient, kind=0x10, content=None, /, **more):
        return cbor.encode(self.message(recipient, kind, content, **more))


def opened(raw, keys_of, reader=None):
    """A received message as a dict with `ok` (signature), or None if it is invalid."""
    try:
        message = cbor.decode(raw)
    except (cbor.CborError, RecursionError):
        return None
    if not isinstance(message, cbor.Map):
        return None
    fields = {}
    for key, value in message.pairs:
        fields[key if isinstance(key, str) else repr(key)] = value
    body_bytes = cbor.encode(fields.get("body"))
    if isinstance(fields.get("enc"), cbor.Map) and reader is not None:
        enc = fields["enc"]
        public = keys_of(fields.get("from"), "x")
        plain = keys.unseal(enc.get("ciphertext") or b"", enc.get("nonce") or b"", public, reader.keys.x_secret) if public else None
        if plain is not None:
            body_bytes = plain
            try:
                fields["body"] = cbor.decode(plain)
            except cbor.CborError:
                fields["body"] = "rubbish"
    public = keys_of(fields.get("from"), "ed")
    sig = fields.get("sig")
    headers = {k: fields[k] for k in SEEN_ORDER if k in fields}
    fields["ok"] = bool(public and isinstance(sig, bytes) and len(sig) == 64 and keys.verify(public, signed_bytes(headers, body_bytes), sig))
    return fields


# --- HTTP ---------------------------------------------------------------------------------------------------------------


async def http(server, method, path, body=b"", headers=None, seconds=6.0):
    """(status, headers, body) of one request on its own connection; status 0 if the connection ended without one."""

    async def run():
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        try:
            lines = {"Host": f"127.0.0.1:{server.port}", "Content-Length": str(len(body)), "Connection": "close"}
            if method == "POST":
                lines |= {"Content-Type": "application/cbor", "Accept": "application/cbor", "X-AMP-Transport-Version": "1"}
            lines |= headers or {}
            head = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in lines.items() if v is not None)
            writer.write(head.encode() + b"\r\n" + body)
            answer = b""
            while True:
                part = await reader.read(65536)
                if not part:
                    return answer
                answer += part
        except (ConnectionError, OSError):
            return b""
        finally:
            writer.close()

    try:
        answer = await asyncio.wait_for(run(), seconds)
    except asyncio.TimeoutError:
        return -1, {}, b""
    return parse_http(answer)


def parse_http(answer):
    while True:
        head, _, body = answer.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        parts = lines[0].split(" ")
        if len(parts) < 2:
            return 0, {}, b""
        status = int(parts[1])
        if status >= 200 or status == 101:
            break
        answer = body
    headers = {}
    for line in lines[1:]:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    headers[":version"] = parts[0]
    headers[":names"] = ",".join(sorted(line.split(":")[0] for line in lines[1:]))
    headers[":reason"] = " ".join(parts[2:])
    if "chunked" in headers.get("transfer-encoding", ""):
        whole, rest = b"", body
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            count = int(size.split(b";")[0] or b"0", 16)
            if not count:
                break
            whole, rest = whole + rest[:count], rest[count + 2 :]
        body = whole
    return status, headers, body


# --- WebSocket ----------------------------------------------------------------------------------------------------------


class Socket:
    """A WebSocket client. `events` collects ("message", bytes), ("text", bytes), ("ping", bytes), ("pong", bytes), ("close", code)
    and ("end", "")."""

    def __init__(self, server):
        self.server, self.events = server, []

    async def open(self, protocols="amp.v1", path="/amp/v1/ws", headers=None):
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.server.port)
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{self.server.port}", "Upgrade: websocket", "Connection: Upgrade"]
        lines += [f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13"]
        if protocols:
            lines.append(f"Sec-WebSocket-Protocol: {protocols}")
        lines += [f"{k}: {v}" for k, v in (headers or {}).items()]
        self.writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        try:
            head = await asyncio.wait_for(self.reader.readuntil(b"\r\n\r\n"), 5)
        except (asyncio.IncompleteReadError, asyncio.TimeoutError, ConnectionError):
            return 0, {}
        status, self.headers, _ = parse_http(head)
        if status == 101:
            self.task = asyncio.get_running_loop().create_task(self.listen())
        return status, self.headers

    def frame(self, opcode, payload, final=True, masked=True):
        mask = os.urandom(4) if masked else b""
        size = len(payload)
        first = bytes([(0x80 if final else 0) | opcode])
        bit = 0x80 if masked else 0
        if size < 126:
            head = first + bytes([bit | size])
        elif size < 65536:
            head = first + bytes([bit | 126]) + struct.pack(">H", size)
        else:
            head = first + bytes([bit | 127]) + struct.pack(">Q", size)
        if masked:
            key = int.from_bytes((mask * (size // 4 + 1))[:size], "big")
            payload = (int.from_bytes(payload, "big") ^ key).to_bytes(size, "big") if size else b""
        try:
            self.writer.write(head + mask + payload)
        except (ConnectionError, OSError):
            pass

    async def listen(self):
        parts = []
        try:
            while True:
                first, second = await self.reader.readexactly(2)
                size = second & 127
                if size == 126:
                    size = int.from_bytes(await self.reader.readexactly(2), "big")
                elif size == 127:
                    size = int.from_bytes(await self.reader.readexactly(8), "big")
                payload = await self.reader.readexactly(size)
                opcode = first & 15
                if opcode == 8:
                    self.events.append(("close", int.from_bytes(payload[:2], "big") if payload else None))
                elif opcode == 9:
                    self.events.append(("ping", payload))
                    self.frame(10, payload)
                elif opcode == 10:
                    self.events.append(("pong", payload))
                else:
                    if opcode:
                        kind = "message" if opcode == 2 else "text"
                        parts = []
                    parts.append(payload)
                    if first & 0x80:
                        self.events.append((kind if len(parts) == 1 else kind + "-in-parts", b"".join(parts)))
        except (asyncio.IncompleteReadError, ConnectionError, OSError) as error:
            self.events.append(("end", "reset" if isinstance(error, ConnectionError) else ""))

    async def settle(self, enough=1, seconds=1.5, quiet=0.03):
        """New events: waits for `enough` of them, then a moment more."""
        return await settled(self.events, enough, seconds, quiet)

    def close(self):
        self.task.cancel()
        self.writer.close()


async def settled(events, enough, seconds, quiet):
    deadline = time.monotonic() + seconds
    while len(events) < enough and time.monotonic() < deadline and not any(e[0] == "end" for e in events):
        await asyncio.sleep(0.004)
    before = -1
    while before != len(events):
        before = len(events)
        await asyncio.sleep(quiet)
    found = events[:]
    events.clear()
    return found


# --- TCP ----------------------------------------------------------------------------------------------------------------


class Frames:
    """A client of TCP frames; `events` collects (type, payload) and ("end", "")."""

    def __init__(self, server):
        self.server, self.events = server, []

    async def open(self):
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.server.tcp_port)
        self.task = asyncio.get_running_loop().create_task(self.listen())

    def send(self, kind, payload):
        self.writer.write((len(payload) + 1).to_bytes(4, "big") + bytes([kind]) + payload)

    async def handshake(self, **members):
        body = {"version": 1, "max_msg_size": 1048576, "did": "did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp"}
        body.update(members)
        self.send(2, cbor.encode({k: v for k, v in body.items() if v is not None}))
        return await self.settle()

    async def listen(self):
        try:
            while True:
                size = int.from_bytes(await self.reader.readexactly(4), "big")
                if size < 1 or size > 1 << 26:
                    self.events.append(("length", size))
                    return
                data = await self.reader.readexactly(size)
                self.events.append((data[0], data[1:]))
        except (asyncio.IncompleteReadError, ConnectionError, OSError) as error:
            rest = error.partial if isinstance(error, asyncio.IncompleteReadError) else b""
            self.events.append(("end", "reset" if isinstance(error, ConnectionError) else "rest" if rest else ""))

    async def settle(self, enough=1, seconds=1.5, quiet=0.03):
        return await settled(self.events, enough, seconds, quiet)

    def close(self):
        self.task.cancel()
        self.writer.close()

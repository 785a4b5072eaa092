"""HTTP and WebSocket for the meshai peers: a server for one node, and posting to other agents."""

import asyncio
import base64
import hashlib
import json
import sys
import traceback
import urllib.parse

from mesh_http import MAX_HEAD, REASONS, Stream, chunks, fields, read_reply
from meshai_node import API_KEY, KEY, Answer
from meshai_wire import make_token

MAX_BODY = 8 << 20
UNSUPPORTED = b"<html><body><h1>Error response</h1><p>Unsupported method.</p></body></html>"
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
MORE = {302: "Found", 401: "Unauthorized", 403: "Forbidden", 408: "Request Timeout", 413: "Content Too Large", 429: "Too Many Requests", 504: "Gateway Timeout"}


class Request:
    def __init__(self, method, target, headers, body=b""):
        parts = urllib.parse.urlsplit(target)
        self.method, self.path, self.headers, self.body = method, parts.path, headers, body
        self.query = urllib.parse.parse_qs(parts.query)


async def read_request(stream, writer):
    """The next request, or None at the end of the connection."""
    if not await stream.some():
        return None
    head = (await stream.until(b"\r\n\r\n", MAX_HEAD)).decode("latin-1")
    first, *lines = head.split("\r\n")
    method, target, version = first.split(" ")
    if not version.startswith("HTTP/1."):
        raise ValueError("not HTTP/1")
    headers = fields(lines)
    if headers.get("expect", "").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    if "chunked" in headers.get("transfer-encoding", "").lower():
        return Request(method, target, headers, await chunks(stream))
    length = int(headers.get("content-length", "0"))
    if not 0 <= length <= MAX_BODY:
        raise ValueError("too long")
    return Request(method, target, headers, await stream.exactly(length))


async def write_answer(writer, answer, ways):
    """Writes an answer; whether the connection stays."""
    lower, form = ways.has("http-lower-case"), ways.pick("http-form")
    bare = answer.status == 204
    body = b"" if bare else answer.body
    headers = list(answer.headers)
    if answer.kind and body:
        headers.append(("Content-Type", answer.kind))
    if lower:
        headers += [("X-Request-Id", "peer"), ("Server", "meshai-peer"), ("Cache-Control", "no-store")]
    chunked = form == "http-chunked" and body
    closing = form in ("http-closing", "http-1-0")
    if chunked:
        headers.append(("Transfer-Encoding", "chunked"))
    elif not bare and form != "http-1-0":
        headers.append(("Content-Length", str(len(body) - (2 if ways.bug("length-too-small") and body else 0))))
    if closing:
        headers.append(("Connection", "close"))
    reason = REASONS.get(answer.status) or MORE.get(answer.status, "Status")
    head = f"{'HTTP/1.0' if form == 'http-1-0' else 'HTTP/1.1'} {answer.status} {reason}\r\n"
    head += "".join(f"{n.lower() if lower else n}: {v}\r\n" for n, v in headers) + "\r\n"
    if chunked:
        third = max(1, len(body) // 3)
        parts = [body[i : i + third] for i in range(0, len(body), third)]
        body = b"".join(f"{len(p):x}\r\n".encode() + p + b"\r\n" for p in parts) + b"0\r\n\r\n"
    data = head.encode("latin-1") + body
    step = max(1, len(data) // 4) if form == "http-in-pieces" else len(data)
    for at in range(0, len(data), step):
        writer.write(data[at : at + step])
        await writer.drain()
        if form == "http-in-pieces":
            await asyncio.sleep(0.003)
    return not closing


async def post(url, data, method="POST", kind="application/json", headers=(), seconds=10):
    """(status, body) of a request to another agent, or None. Loopback only."""
    parts = urllib.parse.urlsplit(url)
    if parts.hostname not in ("127.0.0.1", "localhost", "::1"):
        return None

    async def exchange():
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port or 80)
        try:
            path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            fields_ = [("Host", parts.netloc), ("Content-Type", kind), ("Content-Length", str(len(data))), ("Connection", "close"), *headers]
            writer.write((f"{method} {path} HTTP/1.1\r\n" + "".join(f"{n}: {v}\r\n" for n, v in fields_) + "\r\n").encode("latin-1") + data)
            await writer.drain()
            reply = await read_reply(Stream(reader))
            return reply.status, reply.body
        finally:
            writer.close()

    try:
        return await asyncio.wait_for(exchange(), seconds)
    except (OSError, EOFError, ValueError, IndexError, asyncio.TimeoutError):
        return None


class Server:
    """A node behind HTTP and WebSocket."""

    def __init__(self, node, client=None):
        self.node, self.ways, self.client = node, node.ways, client
        self.port = self.listener = None
        self.control = False
        short = self.ways.has("path-short")
        self.invoke, self.health = ("/invoke", "/healthz") if short else ("/aip/v1/invoke", "/health")
        if node.post is None:
            node.post = post
        self.dead, self.last_id = False, None

    async def start(self, host="127.0.0.1", port=0):
        self.listener = await asyncio.start_server(self.connection, host, port)
        self.port = self.listener.sockets[0].getsockname()[1]
        self.url = f"http://{host}:{self.port}"
        return self

    def accepted(self, headers):
        """Whether the credentials in the HTTP headers are right."""
        given = headers.get("authorization", "").partition(" ")[2].strip()
        way = self.ways.pick("auth")
        return way in ("auth-none", "auth-hmac") or given == API_KEY or way.startswith("auth-jwt") and given.count(".") == 2

    async def connection(self, reader, writer):
        stream, ways = Stream(reader), self.ways
        self.replies = 0
        try:
            while not self.dead:
                try:
                    request = await read_request(stream, writer)
                except ValueError:
                    await write_answer(writer, Answer(400), ways)
                    return
                if request is None:
                    return
                if request.headers.get("upgrade", "").lower() == "websocket" and request.path == "/aip/v1/ws":
                    return await Socket(self, stream, writer, request).run()
                answer = await self.answer(request)
                if answer.close:
                    return
                if not await write_answer(writer, answer, ways) or request.headers.get("connection", "").lower() == "close":
                    return
        except (OSError, EOFError):
            pass
        finally:
            writer.close()

    async def answer(self, request):
        try:
            return await self.route(request)
        except asyncio.CancelledError:
            raise
        except Exception:
            if self.ways.mutant is None:
                traceback.print_exc(file=sys.stderr)
            return Answer(500, b"Internal Server Error", "text/plain")

    async def route(self, request):
        ways, node = self.ways, self.node
        await node.delay()
        path, method = request.path, request.method
        if path == self.health and method == "GET":
            if ways.has("health-needs-credentials") and not self.accepted(request.headers):
                return Answer(401)
            return node.health()
        if path == "/aip/v1/control" and method == "POST" and self.control and self.client:
            return await self.client.command(request.body)
        if path != self.invoke:
            return Answer(404)
        authorization = request.headers.get("authorization", "")
        if method == "POST":
            kind = request.headers.get("content-type", "")
            if ways.bug("charset-refused") and ";" in kind:
                return Answer(415)
            return await node.handle(request.body, authorization)
        if method == "GET":
            if ways.bug("get-executes") and "message" in request.query:
                text = request.query["message"][0].encode()
                return await node.handle(text, authorization)
            if ways.bug("get-body-executes") and request.body:
                return await node.handle(request.body, authorization)
            if ways.bug("get-crashes"):
                return Answer(500, b"cannot GET", "text/plain")
            way = ways.pick("get-invoke")
            if way == "get-error":
                return await node.handle(b"", authorization)
            return {
                "get-405": Answer(405, headers=[("Allow", "POST")]), "get-404": Answer(404), "get-page": Answer(200, b"<html><body>POST here.</body></html>", "text/html"),
                "get-501": Answer(501, UNSUPPORTED, "text/html"), "get-json": Answer(200, b'{"name":"meshai peer","post":"messages"}', "application/json"),
            }[way]  # fmt: skip
        if method == "PUT" and ways.bug("put-executes"):
            return await node.handle(request.body, authorization)
        if ways.has("get-501"):
            return Answer(501, UNSUPPORTED, "text/html")
        return Answer(405, headers=[("Allow", "POST")])


class Socket:
    """One WebSocket: an envelope for each text frame."""

    def __init__(self, server, stream, writer, request):
        self.server, self.node, self.ways = server, server.node, server.ways
        self.stream, self.writer, self.request = stream, writer, request
        self.tasks, self.open, self.stuck, self.count = set(), True, False, 0

    async def run(self):
        key = self.request.headers.get("sec-websocket-key", "").encode()
        accept = base64.b64encode(hashlib.sha1(key + GUID).digest()).decode()
        head = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade", f"Sec-WebSocket-Accept: {accept}"]
        self.writer.write(("\r\n".join(head) + "\r\n\r\n").encode())
        await self.writer.drain()
        try:
            text = b""
            while self.open and not self.server.dead:
                final, kind, data = await self.frame()
                if kind == 8:
                    await self.send(8, data[:2])
                    return
                if kind == 9:
                    await self.send(10, data)
                elif kind in (0, 1):
                    text += data
                    if final:
                        whole, text = text, b""
                        await self.take(whole)
                elif kind == 2:
                    await self.close(1003)
        except (OSError, EOFError, ValueError):
            pass
        finally:
            for task in self.tasks:
                task.cancel()

    async def take(self, data):
        if self.stuck or self.ways.bug("ws-one-at-a-time") and self.tasks:
            return
        task = asyncio.ensure_future(self.serve(data))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def serve(self, data):
        ways = self.ways
        try:
            message = json.loads(data)
        except ValueError:
            message = None
        if message is None or not isinstance(message, dict):
            if ways.bug("ws-dies-on-garbage"):
                self.server.dead = True
                self.server.listener.close()
                self.writer.close()
                return
            if ways.bug("ws-stuck-after-garbage"):
                self.stuck = True
                return
            if ways.has("socket-closes"):
                return await self.close(1007)
        elif "message" not in message and message.get("type") in ("handshake", "heartbeat"):
            return
        elif isinstance(message.get("message"), dict):
            self.server.last_id = message["message"].get("id")
        await self.node.delay()
        try:
            answer = await self.node.handle(data, self.request.headers.get("authorization", ""), transport="ws")
        except asyncio.CancelledError:
            raise
        except Exception:
            if ways.mutant is None:
                traceback.print_exc(file=sys.stderr)
            return await self.close(1011)
        self.count += 1
        if ways.bug("ws-first-request-only") and self.count > 1:
            return
        event = isinstance(message, dict) and isinstance(message.get("message"), dict) and message["message"].get("type") == "event"
        body = answer.body
        if ways.bug("ws-errors-uncorrelated") and b'"error"' in body:
            told = json.loads(body)
            told["message"].get("headers", {}).pop("correlation_id", None)
            body = json.dumps(told).encode()
        if ways.bug("ws-correlation-of-the-last") and body:
            told = json.loads(body)
            told["message"]["headers"]["correlation_id"] = self.server.last_id
            body = json.dumps(told).encode()
        if ways.bug("ws-binary-replies"):
            return await self.send(2, body)
        if ways.bug("ws-result-differs") and body:
            body = body.replace(b'"words"', b'"word_count"')
        if ways.bug("ws-inner-message") and body:
            body = json.dumps(json.loads(body)["message"]).encode()
        if ways.bug("ws-two-messages-in-a-frame") and body:
            body = body + b"\n" + body
        if ways.has("socket-keep-alive"):
            await self.send(1, b'{"type":"heartbeat","agent_id":"peer"}')
        if event and (ways.has("socket-silent") or not body.startswith(b'{"protocol"') and b"protocol" not in body):
            return
        if not body or answer.status >= 400 and b'"message"' not in body:
            # A refusal that is not a message has no form here but the end of the connection.
            return await self.close(1008) if answer.status >= 400 else None
        await self.send(1, body)

    async def frame(self):
        first, second = await self.stream.exactly(2)
        length = second & 127
        if length == 126:
            length = int.from_bytes(await self.stream.exactly(2), "big")
        elif length == 127:
            length = int.from_bytes(await self.stream.exactly(8), "big")
        if length > MAX_BODY:
            raise ValueError("too long")
        mask = await self.stream.exactly(4) if second & 128 else bytes(4)
        data = await self.stream.exactly(length)
        data = bytes(b ^ mask[i % 4] for i, b in enumerate(data))
        return first & 128, first & 15, data

    async def send(self, kind, data):
        size = len(data)
        head = bytes([128 | kind]) + (bytes([size]) if size < 126 else b"\x7e" + size.to_bytes(2, "big") if size < 65536 else b"\x7f" + size.to_bytes(8, "big"))
        self.writer.write(head + data)
        await self.writer.drain()

    async def close(self, code):
        self.open = False
        await self.send(8, code.to_bytes(2, "big"))
        await asyncio.sleep(0.05)
        self.writer.close()


def credentials(ways, sender):
    """The HTTP headers with which an agent calls others."""
    way = ways.pick("auth")
    if way == "auth-api-key":
        return [("Authorization", f"Bearer {API_KEY}")]
    if way.startswith("auth-jwt"):
        import time

        return [("Authorization", "Bearer " + make_token({"sub": sender, "agent_id": sender, "exp": int(time.time()) + 600}, KEY))]
    return []

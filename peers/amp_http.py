"""HTTP/1.1 for the peer: reading requests, writing answers in every legal form, and the routes of RFC 002 section 6."""

import asyncio
import email.utils
import json
import time
import urllib.parse

import amp_cbor as cbor
import amp_keys as keys
from amp_message import TYPES
from amp_node import Channel

MAX_HEADERS = 32 * 1024
REASONS = {200: "OK", 201: "Created", 202: "Accepted", 204: "No Content", 400: "Bad Request", 401: "Unauthorized",
           403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed", 406: "Not Acceptable", 410: "Gone",
           413: "Content Too Large", 415: "Unsupported Media Type", 417: "Expectation Failed",
           422: "Unprocessable Content", 426: "Upgrade Required", 429: "Too Many Requests", 500: "Internal Server Error",
           501: "Not Implemented", 503: "Service Unavailable", 504: "Gateway Timeout", 505: "HTTP Version Not Supported"}  # fmt: skip


class Request:
    def __init__(self, method, target, headers):
        self.method, self.headers, self.body = method, headers, b""
        self.path, _, self.query_text = target.partition("?")
        self.query = dict(urllib.parse.parse_qsl(self.query_text))


class Answer:
    def __init__(self, status, body=b"", kind=None, headers=()):
        self.status, self.body, self.kind, self.headers = status, body, kind, list(headers)


class Bad(Exception):
    def __init__(self, status):
        self.status = status


async def read_request(reader, limit, writer, ways):
    """The next request, or None at the end of the connection."""
    try:
        line = await reader.readuntil(b"\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    except asyncio.LimitOverrunError:
        raise Bad(400) from None
    parts = line.decode("latin-1").split()
    if len(parts) != 3 or not parts[2].startswith("HTTP/1."):
        raise Bad(400)
    headers, size = {}, 0
    while True:
        try:
            line = await reader.readuntil(b"\r\n")
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            raise Bad(400) from None
        size += len(line)
        if size > MAX_HEADERS:
            raise Bad(400)
        if line == b"\r\n":
            break
        name, colon, value = line.decode("latin-1").partition(":")
        if not colon:
            raise Bad(400)
        if name.lower() == "content-length" and name not in ("Content-Length", "content-length") and ways.bug("http-length-two-cases"):
            continue
        headers[name.strip().lower()] = value.strip()
    request = Request(parts[0], parts[1], headers)
    request.version = parts[2]
    if headers.get("expect", "").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    try:
        if "chunked" in headers.get("transfer-encoding", "").lower():
            body = bytearray()
            while True:
                line = await reader.readuntil(b"\r\n")
                if b";" in line and ways.bug("http-chunk-extension-refused"):
                    raise Bad(400)
                count = int(line.split(b";")[0], 16)
                if count < 0 or len(body) + count > limit:
                    raise Bad(413)
                if count == 0:
                    if ways.bug("http-chunked-end-unread"):
                        break
                    while await reader.readuntil(b"\r\n") != b"\r\n":
                        pass
                    break
                part = await reader.readexactly(count)
                if not (body and ways.bug("http-first-chunk-only")):
                    body += part
                await reader.readexactly(2)
            request.body = bytes(body)
        elif "content-length" in headers:
            count = int(headers["content-length"])
            if count < 0:
                raise Bad(400)
            if count > limit:
                raise Bad(413)
            request.body = await reader.readexactly(count)
    except (ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
        raise Bad(400) from None
    return request


def error_status(code, ways):
    """The status with an ERROR message; any 2xx or 4xx is legal (E71), the table of RFC 002 6.4 or a single one."""
    if ways.has("status-by-code"):
        if code in (2001, 2002, 4002):
            return 404
        return {1: 400, 2: 503, 3: 403, 4: 422, 5: 503}[code // 1000] if code not in (3005, 2003) else 429
    if ways.has("status-400-for-errors"):
        return 400
    if ways.has("status-422-for-errors"):
        return 422
    if ways.has("status-202-with-body"):
        return 202
    return 200


class HttpFace:
    def __init__(self, node, ways, server):
        self.node, self.ways, self.server = node, ways, server

    # --- writing ------------------------------------------------------------------------------------------------------

    def write(self, writer, answer, request):
        w = self.ways
        status, body = answer.status, answer.body
        headers = [("Date", email.utils.formatdate(time.time(), usegmt=True))]
        if w.has("no-date"):
            headers = []
        if w.has("early-hints") and request is not None and request.method == "POST":
            writer.write(b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n")
        if body or answer.kind:
            headers.append(("Content-Type", answer.kind or "application/cbor"))
        headers += answer.headers
        if w.has("transport-version-header"):
            headers.append(("X-AMP-Transport-Version", "1"))
        close = w.has("close-every-response")
        if close or w.has("http10-close"):
            headers.append(("Connection", "close"))
        head_only = request is not None and request.method == "HEAD"
        chunked = w.has("chunked") and body and request is not None
        endless = w.has("http10-close") and body
        if chunked:
            headers.append(("Transfer-Encoding", "chunked"))
        elif not endless and status != 204:
            headers.append(("Content-Length", str(len(body))))
        if w.has("lower-case-headers"):
            headers = [(k.lower(), v) for k, v in headers]
        elif w.has("many-headers"):
            headers += [("Server", "peer/1"), ("Vary", "Accept"), ("Set-Cookie", "a=b"), ("Cache-Control", "no-store"), ("X-Pad", "x" * 4000)]
        version = "HTTP/1.0" if w.has("http10-close") else "HTTP/1.1"
        reason = "" if w.has("no-reason") else REASONS.get(status, "")
        text = f"{version} {status} {reason}\r\n"
        head = (text + "".join(f"{k}: {v}\r\n" for k, v in headers) + "\r\n").encode("latin-1")
        if head_only:
            body = b""
        if chunked:
            step = 37 if len(body) < 2000 else 997
            pieces = [body[n : n + step] for n in range(0, len(body), step)]
            body = b"".join(f"{len(p):x};a=b\r\n".encode() + p + b"\r\n" for p in pieces) + b"0\r\nX-Trailer: t\r\n\r\n"
        return head + body, close or w.has("http10-close")

    async def send(self, writer, data):
        if self.ways.has("http-in-pieces"):
            for n in range(0, min(len(data), 400), 7):
                writer.write(data[n : n + 7])
                await writer.drain()
                await asyncio.sleep(0.0005)
            writer.write(data[400 + (-400 % 7) :] if len(data) > 400 else b"")
        else:
            writer.write(data)
        await writer.drain()

    async def serve(self, reader, writer):
        w = self.ways
        served, first = 0, None
        try:
            while True:
                try:
                    request = await asyncio.wait_for(read_request(reader, w.max_size, writer, w), 30)
                except Bad as bad:
                    data, _ = self.write(writer, Answer(bad.status), None)
                    await self.send(writer, data)
                    await linger(reader, writer)
                    return
                if request is None:
                    return
                principal = {k: request.headers[k] for k in ("authorization", "x-principal-did") if k in request.headers}
                first = first or principal
                if principal and principal != first and w.bug("http-principal-of-first-request"):
                    request.headers.update(first)
                if request.path == "/amp/v1/ws" and "upgrade" in request.headers and not self.server.http_only:
                    await self.server.websocket(request, reader, writer)
                    return
                try:
                    answer = await self.route(request)
                except Exception:
                    if w.bug("http-closes-on-exception"):
                        return
                    if not w.mutant:
                        raise
                    answer = Answer(500, b"Internal Server Error", "text/plain")
                if answer is None:
                    return
                data, close = self.write(writer, answer, request)
                await self.send(writer, data)
                served += 1
                if w.has("close-after-eight") and served == 8:
                    close = True
                if close or request.headers.get("connection", "").lower() == "close" or request.version == "HTTP/1.0":
                    return
        except (ConnectionError, asyncio.TimeoutError):
            pass
        finally:
            writer.close()

    # --- routes -------------------------------------------------------------------------------------------------------

    async def route(self, request):
        w = self.ways
        path, method = request.path, request.method
        if path == "/amp/v1/messages" or (w.bug("http-any-version-path") and path == "/amp/v2/messages"):
            if method == "POST":
                return await self.submit(request)
            if method == "GET" and w.name == "relay-poll-drops-arrivals":
                return await self.poll_and_write_back(request)
            if method == "GET":
                return self.poll(request)
            return Answer(405, headers=[("Allow", "GET, POST")])
        if w.bug("http-any-path") and method == "POST":
            return await self.submit(request)
        if path == self.server.document_path and method in ("GET", "HEAD"):
            if w.has("no-document"):
                return Answer(404)
            kind = "application/json; charset=utf-8" if w.has("document-as-json") else "application/did+ld+json" if w.has("document-as-ld") else "application/did+json"
            return Answer(200, json.dumps(self.node.document, indent=1 if w.has("document-indented") else None).encode(), kind)
        if path == "/amp/v1/health" and method in ("GET", "HEAD"):
            return Answer(200, b'{"status":"ok"}', "application/json")
        if path == "/amp/v1/control" and method == "POST" and self.server.control_allowed:
            return await self.server.control(request)
        if w.bug("http-unknown-path-202"):
            return Answer(202)
        return Answer(404)

    async def submit(self, request):
        w, node = self.ways, self.node
        kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
        if kind != "application/cbor" and w.has("media-type-415"):
            return Answer(415)
        if kind != "application/cbor" and w.has("media-type-400"):
            return Answer(400)
        if w.bug("http-media-type-case") and request.headers.get("content-type", "").split(";")[0].strip() != "application/cbor":
            return Answer(415)
        if w.bug("http-content-type-exact") and request.headers.get("content-type") != "application/cbor; charset=binary":
            return Answer(415)
        if request.headers.get("x-amp-transport-version", "1") != "1" and not w.has("transport-version-any"):
            return Answer(505 if w.has("transport-version-505") else 400)
        if w.bug("http-transport-version-required") and "x-amp-transport-version" not in request.headers:
            return Answer(400)
        if w.bug("http-json-accepted") and request.body[:1] == b"{":
            return Answer(202)
        if w.bug("size-limit-too-small") and len(request.body) > 512 * 1024:
            return Answer(413)
        if w.bug("http-body-64k") and len(request.body) > 65536:
            return Answer(413)
        if w.bug("http-empty-202") and not request.body:
            return Answer(202)
        channel = Channel(peer=self.principal(request))
        channel.relay_header = any(k in request.headers for k in ("x-amp-relay", "x-forwarded-for"))
        if w.bug("http-relay-header-changes-outcome") and channel.relay_header:
            return Answer(403)
        if w.bug("http-first-message-of-body"):
            decoder = cbor.Decoder(request.body)
            try:
                decoder.item()
                request.body = request.body[: decoder.at]
            except cbor.CborError:
                pass
        await self.server.pause()
        replies, refusal = await node.take(request.body, channel)
        w.change_list("http-replies", replies)
        return await self.answer(replies, refusal, channel)

    async def answer(self, replies, refusal, channel):
        w, node = self.ways, self.node
        if w.bug("http-bare-202-for-bad") and refusal:
            return Answer(202)
        if w.bug("http-500-for-bad") and refusal:
            return Answer(500, b"", None)
        if w.bug("http-bare-400-for-bad") and refusal:
            return Answer(400)
        if w.bug("http-204-for-all"):
            return Answer(204)
        if w.bug("http-reencodes-json-error") and refusal:
            body = json.dumps({"error": {"code": refusal.code, "message": refusal.rule}}).encode()
            return Answer(400, body, "application/json")
        if not replies:
            if refusal is None or refusal.silent:
                return Answer(204 if w.has("no-reply-204") else 200 if w.has("no-reply-200") else 202)
            if w.bug("http-malformed-202"):
                return Answer(202)
            if w.bug("http-malformed-500"):
                return Answer(500)
            if w.bug("http-malformed-closes"):
                return None
            if w.has("malformed-text"):
                return Answer(400, b"malformed message\n", "text/plain")
            if w.has("malformed-problem-json"):
                return Answer(400, b'{"title":"malformed message","status":400}', "application/problem+json")
            return Answer(400)
        if refusal is None and w.has("replies-by-poll"):
            self.keep(replies)
            return Answer(202)
        if refusal is not None and w.has("errors-by-poll"):
            self.keep(replies)
            return Answer(202)
        if len(replies) > 1 and w.has("first-reply-rest-by-poll"):
            self.keep(replies[1:])
            replies = replies[:1]
        if len(replies) > 1 or w.has("single-in-batch"):
            if w.has("several-as-sequence"):
                body = b"".join(replies)
            elif w.bug("http-first-reply-only"):
                body = replies[0]
            elif w.bug("http-last-reply-only"):
                body = replies[-1]
            elif w.bug("http-replies-in-array"):
                body = cbor.encode([cbor.decode(r) for r in replies])
            elif w.bug("http-batch-items-as-maps"):
                body = await node.build(TYPES["BATCH"], {"items": [cbor.decode(r) for r in replies]}, self.addressee(replies))
            elif w.bug("http-batch-body-array"):
                body = await node.build(TYPES["BATCH"], list(replies), self.addressee(replies))
            else:
                body = await self.batch(replies)
        else:
            body = replies[0]
        code = refusal.code if refusal else self.code_of(replies)
        status = error_status(code, w) if code else 202 if w.has("status-202-with-body") else 200
        if not code and w.has("status-201"):
            status = 201
        if w.bug("http-500-with-error") and code:
            status = 500
        if w.bug("http-302") and not code:
            return Answer(302, body, headers=[("Location", "/amp/v1/messages")])
        kind = "application/cbor"
        if w.has("media-type-parameters"):
            kind = "Application/CBOR; charset=binary"
        if w.bug("http-octet-stream"):
            kind = "application/octet-stream"
        elif w.bug("http-base64-body"):
            import base64

            return Answer(status, base64.b64encode(body), kind)
        elif w.bug("http-json-media-type"):
            kind = "application/json"
        elif w.bug("http-hex-body"):
            return Answer(status, body.hex().encode(), kind)
        elif w.bug("http-length-prefixed-body"):
            return Answer(status, len(body).to_bytes(4, "big") + body, kind)
        elif w.bug("http-body-cut"):
            return Answer(status, body[:-1], kind)
        return Answer(status, body, kind)

    def addressee(self, replies):
        to = cbor.decode(replies[0]).get("to")
        return to if isinstance(to, str) else to[0]

    async def batch(self, replies):
        w, node = self.ways, self.node
        first = cbor.decode(replies[0])
        more = {"reply_to": first.get("reply_to")} if w.has("batch-names-request") else {}
        return await node.build(TYPES["BATCH"], {"items": list(replies)}, self.addressee(replies), **more)

    def code_of(self, replies):
        """The code if the only answer is an ERROR that can be read."""
        if len(replies) != 1:
            return None
        try:
            message = cbor.decode(replies[0])
            body = message.get("body") if isinstance(message, cbor.Map) else None
            return body.get("code") if message.get("typ") == TYPES["ERROR"] and isinstance(body, cbor.Map) and body.get("code") in range(1000, 6000) else None
        except (cbor.CborError, AttributeError, TypeError):
            return None

    def keep(self, replies):
        """Replies that wait for the poll of their recipient."""
        for raw in replies:
            message = cbor.decode(raw)
            to = message.get("to") if isinstance(message.get("to"), str) else message.get("to")[0]
            self.node.hold(keys.bare(to), message.get("id"), raw, message.get("ts") + message.get("ttl"), self.node.did)

    def principal(self, request):
        bearer = request.headers.get("authorization", "")
        if bearer.lower().startswith("bearer ") and bearer[7:] in self.server.tokens:
            return self.server.tokens[bearer[7:]]
        return request.headers.get("x-principal-did")

    async def poll_and_write_back(self, request):
        """A bug: what arrives between reading the queue and writing it back is lost."""
        box = self.node.boxes.get(keys.bare(self.principal(request) or ""), [])
        answer, before = self.poll(request), list(box)
        await asyncio.sleep(0.004)
        if any(e not in before for e in box) and self.ways.bug("relay-poll-drops-arrivals"):
            box[:] = [e for e in box if e in before]
        return answer

    def poll(self, request):
        w, node = self.ways, self.node
        if "%" in request.query_text and w.bug("poll-query-undecoded"):
            request.query = dict(part.partition("=")[::2] for part in request.query_text.split("&"))
        if not self.server.polled:
            return Answer(404 if w.has("poll-absent-404") else 405)
        did = self.principal(request)
        if not did:
            return Answer(400 if w.has("poll-nobody-400") else 401)
        try:
            limit = int(request.query.get("limit", "50"))
            text = request.query.get("cursor", "")
            cursor = int(text.removeprefix("c-")) if text else 0
        except ValueError:
            if not w.has("poll-bad-cursor-first-page"):
                return Answer(400)
            cursor, limit = 0, 50
        if w.bug("poll-cursor-ignored"):
            cursor = 0
        if w.bug("poll-everybodys-messages"):
            node.boxes[did] = [e for box in node.boxes.values() for e in box]
        if w.bug("poll-one-box"):
            node.boxes[did] = next((b for b in node.boxes.values() if b), [])
        page, last, more = node.poll(keys.bare(did), cursor, limit)
        messages = [e[2] for e in page]
        body = {"messages": messages, "next_cursor": f"c-{last}" if more or (page and w.has("poll-last-cursor-kept")) else None, "has_more": more}
        if w.bug("poll-messages-as-maps"):
            body["messages"] = [cbor.decode(m) for m in messages]
        elif w.bug("poll-extra-member"):
            body["count"] = len(messages)
        elif w.bug("poll-without-has-more"):
            del body["has_more"]
        elif w.bug("poll-without-next-cursor"):
            del body["next_cursor"]
        elif w.bug("poll-has-more-integer"):
            body["has_more"] = int(more)
        elif w.bug("poll-cursor-integer"):
            body["next_cursor"] = last
        elif w.bug("poll-more-without-cursor"):
            body["next_cursor"] = None
        elif w.bug("poll-hex-messages"):
            body["messages"] = [m.hex() for m in messages]
        elif w.bug("poll-messages-cut"):
            body["messages"] = [m[:65536] for m in messages]
        elif w.bug("poll-bare-array"):
            return Answer(200, cbor.encode(messages), "application/cbor")
        elif w.bug("poll-json"):
            return Answer(200, json.dumps({"messages": [m.hex() for m in messages], "next_cursor": None, "has_more": more}).encode(), "application/json")
        elif w.bug("poll-empty-204") and not messages:
            return Answer(204)
        return Answer(200, cbor.encode(body), "application/cbor")


async def linger(reader, writer, seconds=2.0):
    """Closes our half first and reads the rest, so that the other side sees an end and not a reset."""
    try:
        await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if not await asyncio.wait_for(reader.read(65536), max(0.01, deadline - time.monotonic())):
                break
    except (ConnectionError, OSError, asyncio.TimeoutError, RuntimeError):
        pass
    finally:
        writer.close()

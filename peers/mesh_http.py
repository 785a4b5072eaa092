"""HTTP/1.1 for the mesh peers: reading requests, writing answers in every legal form, and posting to the next hop."""

import asyncio
import time
import urllib.parse
from dataclasses import dataclass, field

MAX_HEAD = 64 * 1024
MAX_BODY = 8 * 1024 * 1024
REASONS = {
    100: "Continue", 200: "OK", 201: "Created", 202: "Accepted", 204: "No Content", 400: "Bad Request", 404: "Not Found",
    405: "Method Not Allowed", 408: "Request Timeout", 409: "Conflict", 413: "Content Too Large", 415: "Unsupported Media Type",
    422: "Unprocessable Content", 500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable",
}  # fmt: skip


@dataclass
class Request:
    method: str
    path: str
    headers: dict  # names in lower case
    body: bytes
    began: float  # when its first byte arrived
    first: int  # how much of the body came with the first read

    @property
    def held(self):
        """Seconds that the request took to arrive."""
        return time.monotonic() - self.began


@dataclass
class Answer:
    status: int
    body: bytes = b""
    kind: str = ""
    headers: list = field(default_factory=list)
    then: object = None  # a coroutine function that runs once the answer is written
    close: bool = False  # no answer at all


class Stream:
    """Reads from a connection; knows when the first byte of a request came."""

    def __init__(self, reader):
        self.reader, self.left = reader, b""

    async def some(self):
        if not self.left:
            self.left = await self.reader.read(65536)
        return self.left

    async def until(self, mark, limit):
        while mark not in self.left:
            if len(self.left) > limit:
                raise ValueError("too long")
            more = await self.reader.read(65536)
            if not more:
                raise EOFError
            self.left += more
        head, _, self.left = self.left.partition(mark)
        return head

    async def exactly(self, count):
        while len(self.left) < count:
            more = await self.reader.read(65536)
            if not more:
                raise EOFError
            self.left += more
        data, self.left = self.left[:count], self.left[count:]
        return data


def fields(lines):
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    return headers


async def chunks(stream):
    body = b""
    while True:
        size = int((await stream.until(b"\r\n", 1024)).split(b";")[0], 16)
        if size > MAX_BODY or len(body) > MAX_BODY:
            raise ValueError("too long")
        if size == 0:
            while await stream.until(b"\r\n", MAX_HEAD):
                pass
            return body
        body += await stream.exactly(size)
        await stream.until(b"\r\n", 2)


async def read_request(stream, writer, patience=None):
    """The next request, or None at the end of the connection. `patience`: seconds for the body, beyond which TimeoutError is raised."""
    if not await stream.some():
        return None
    began = time.monotonic()
    head = (await stream.until(b"\r\n\r\n", MAX_HEAD)).decode("latin-1")
    first, *lines = head.split("\r\n")
    method, target, version = first.split(" ")
    if not version.startswith("HTTP/1."):
        raise ValueError("not HTTP/1")
    headers = fields(lines)
    if headers.get("expect", "").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    came = len(stream.left)
    if "chunked" in headers.get("transfer-encoding", "").lower():
        body = await asyncio.wait_for(chunks(stream), patience)
    else:
        length = int(headers.get("content-length", "0"))
        if length > MAX_BODY:
            raise ValueError("too long")
        body = await asyncio.wait_for(stream.exactly(length), patience)
    return Request(method, urllib.parse.urlsplit(target).path, headers, body, began, came)


async def write_answer(writer, answer, ways):
    """Writes an answer; whether the connection stays."""
    lower = ways.has("http-lower-case")
    form = ways.pick("http-form")
    bare = answer.status == 204
    if bare:
        answer.body = b""
    headers = list(answer.headers)
    if answer.kind and answer.body:
        headers.append(("Content-Type", answer.kind))
    headers.append(("Date", time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime())))
    if lower:
        headers += [("X-Request-Id", "peer"), ("Server", "mesh-peer"), ("Cache-Control", "no-store")]
    chunked = form == "http-chunked" and answer.body
    if chunked:
        headers.append(("Transfer-Encoding", "chunked"))
    elif not bare and form != "http-1-0":
        headers.append(("Content-Length", str(len(answer.body))))
    closing = form in ("http-closing", "http-1-0")
    if closing:
        headers.append(("Connection", "close"))
    version = "HTTP/1.0" if form == "http-1-0" else "HTTP/1.1"
    head = f"{version} {answer.status} {REASONS.get(answer.status, 'Status')}\r\n"
    head += "".join(f"{n.lower() if lower else n}: {v}\r\n" for n, v in headers) + "\r\n"
    data = answer.body
    if chunked:
        third = max(1, len(data) // 3)
        parts = [data[i : i + third] for i in range(0, len(data), third)]
        data = b"".join(f"{len(p):x}\r\n".encode() + p + b"\r\n" for p in parts) + b"0\r\n\r\n"
    data = head.encode("latin-1") + data
    if form == "http-in-pieces":
        step = max(1, len(data) // 4)
        for at in range(0, len(data), step):
            writer.write(data[at : at + step])
            await writer.drain()
            await asyncio.sleep(0.004)
    else:
        writer.write(data)
        await writer.drain()
    return not closing


# --- The client -------------------------------------------------------------------------------------------------------


@dataclass
class Reply:
    status: int
    headers: dict
    body: bytes


async def read_reply(stream):
    while True:
        head = (await stream.until(b"\r\n\r\n", MAX_HEAD)).decode("latin-1")
        first, *lines = head.split("\r\n")
        status = int(first.split(" ")[1])
        if status >= 200:
            break
    headers = fields(lines)
    if status == 204:
        body = b""
    elif "chunked" in headers.get("transfer-encoding", "").lower():
        body = await chunks(stream)
    elif "content-length" in headers:
        body = await stream.exactly(int(headers["content-length"]))
    else:
        body = b""
        while len(body) < MAX_BODY:
            more = await stream.some()
            if not more:
                break
            body, stream.left = body + more, b""
    return Reply(status, headers, body)


class Client:
    """Posts to the next hop, each time over a new connection or over one that is kept."""

    def __init__(self, ways):
        self.ways = ways
        self.kept = {}

    async def post(self, url, data, kind, method="POST", length=None, seconds=10, on_sent=None):
        """The reply, or None if the next hop cannot be reached."""
        parts = urllib.parse.urlsplit(url)
        where = (parts.hostname, parts.port or 80)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        form = self.ways.pick("forward-form")
        try:
            return await asyncio.wait_for(self.exchange(where, path, data, kind, method, length, form, on_sent), seconds)
        except (OSError, EOFError, ValueError, IndexError, asyncio.TimeoutError):
            return None

    async def exchange(self, where, path, data, kind, method, length, form, on_sent):
        keep = form == "forward-kept-alive"
        pool = self.kept.setdefault(where, [])
        while True:
            stream, writer, used = (*pool.pop(), True) if keep and pool else (None, None, False)
            if stream is None:
                reader, writer = await asyncio.open_connection(*where)
                stream = Stream(reader)
            try:
                reply = await self.over(stream, writer, where, path, data, kind, method, length, form, keep, on_sent)
            except (OSError, EOFError):
                writer.close()
                if used:  # the other end closed a connection that was idle
                    continue
                raise
            if keep and reply.headers.get("connection", "").lower() != "close" and "content-length" in reply.headers:
                pool.append((stream, writer))
            else:
                writer.close()
            return reply

    async def over(self, stream, writer, where, path, data, kind, method, length, form, keep, on_sent):
        headers = [("Host", f"{where[0]}:{where[1]}"), ("Accept", "application/amp+json, application/json")]
        if kind:
            headers.append(("Content-Type", kind))
        if form == "forward-with-headers":
            headers += [("Via", "1.1 mesh-peer"), ("Forwarded", "for=127.0.0.1"), ("User-Agent", "mesh-peer/1"), ("X-Trace", "peer")]
        if form == "forward-chunked":
            headers.append(("Transfer-Encoding", "chunked"))
        else:
            headers.append(("Content-Length", str(len(data) if length is None else length)))
        if form == "forward-expecting":
            headers.append(("Expect", "100-continue"))
        if not keep:
            headers.append(("Connection", "close"))
        writer.write((f"{method} {path} HTTP/1.1\r\n" + "".join(f"{n}: {v}\r\n" for n, v in headers) + "\r\n").encode("latin-1"))
        if form == "forward-expecting":
            await writer.drain()
            await asyncio.sleep(0.01)  # the other end need not answer 100
        if form == "forward-chunked":
            half = max(1, len(data) // 2)
            for part in (data[:half], data[half:]):
                if part:
                    writer.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
            writer.write(b"0\r\n\r\n")
        else:
            writer.write(data[: len(data) if length is None else length])
        await writer.drain()
        if on_sent:
            on_sent()
        return await read_reply(stream)

#!/usr/bin/env python3
"""An independent node of the Agentic Mesh Protocol, draft v0.1: ultimate receiver, forwarding intermediary, or both, with a
switch for each choice that the rulings leave open. Standard library only.

    python3 peers/mesh_server.py --port 0 --next-hop http://127.0.0.1:8931/next-hop [--choice NAME]... [--preset random:7]
    python3 peers/mesh_server.py --mutant NAME
    MESH_LISTEN=127.0.0.1:8080 MESH_NEXT_HOP=http://127.0.0.1:8931/next-hop python3 peers/mesh_server.py

POST /amp is the ultimate receiver, POST /amp/relay the intermediary, POST /amp/chain/1 to N with `--chain N` relays in a row
(section 8 of the binding). `--control` adds /control/* (section 11), `--next-hop-header` the header AMP-Next-Hop. The variables
MESH_* of the binding (5.2) and the arguments say the same things; arguments win.
"""

import argparse
import asyncio
import json as plain
import os
import random
import sys
import urllib.parse
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import mesh_graph as graphs  # noqa: E402
import mesh_json as json  # noqa: E402
from mesh_http import Answer, Client, Stream, read_request, write_answer  # noqa: E402
from mesh_mutants import MUTANTS  # noqa: E402
from mesh_node import ASSUMED, RECEIVER, RELAY, STANDARD_BLOCKS, Fault, Node, Setup, fault_code, member  # noqa: E402
from mesh_options import CHOICES, Ways, chosen, defaults  # noqa: E402

URI = "urn:proofmark:mesh:node:target"
HOP_URI = "urn:proofmark:mesh:node:hop-{}"
HOP_ROLE = "urn:proofmark:mesh:role:hop-{}"
# With the choice chain-names-own.
OWN_HOP_URI = "https://peer.example/mesh/relays/{}"
OWN_HOP_ROLE = "urn:peer:mesh:role:relay-{}"
AMP, JSON_TYPE = "application/amp+json", "application/json"
HTML = b"<html><body><h1>Internal Server Error</h1></body></html>"
LOG_LIMIT = 10_000
SENDER_CODES = ("amp:Sender", "amp:InvalidMemoryGram", "amp:TTLExpired")


class Hop:
    """One node with its address and its next hop."""

    def __init__(self, node, next_hop=None):
        self.node, self.next_hop = node, next_hop


class Server:
    def __init__(self, ways, settings):
        self.ways, self.settings = ways, settings
        self.client = Client(ways)
        self.tasks = set()
        self.deliveries, self.faults = [], []
        self.dead = False
        self.busy, self.newest, self.buffer, self.count = 0, 0, None, 0
        self.seen, self.after_fault = set(), False

    def setup(self, kind, uri=None, roles=None):
        s = self.settings
        return Setup(uri or s.node_uri, kind, tuple(s.role if roles is None else roles), dict(s.blocks))

    async def start(self, host="127.0.0.1", port=0):
        server = await asyncio.start_server(self.connection, host, port, limit=1 << 20, backlog=256)
        self.listener = server
        self.port = server.sockets[0].getsockname()[1]
        self.url = f"http://{host}:{self.port}"
        self.build()
        return self

    def build(self):
        s = self.settings
        uri, role = (OWN_HOP_URI, OWN_HOP_ROLE) if self.ways.has("chain-names-own") else (HOP_URI, HOP_ROLE)
        self.hops = {}
        if s.kind in ("both", RECEIVER):
            self.hops["/amp"] = Hop(Node(self.ways, self.setup(RECEIVER)))
        if s.kind in ("both", RELAY):
            self.hops["/amp/relay"] = Hop(Node(self.ways, self.setup(RELAY)), s.next_hop)
        for n in range(1, s.chain + 1):
            onward = f"{self.url}/amp/chain/{n + 1}" if n < s.chain else s.next_hop
            known = max(n - 1, 1) if self.ways.bug("hop-named-like-the-one-before") else n
            setup = self.setup(RELAY, uri.format(known), [*s.role, role.format(n)])
            self.hops[f"/amp/chain/{n}"] = Hop(Node(self.ways, setup), onward)

    async def stop(self):
        self.listener.close()
        for task in list(self.tasks):
            task.cancel()

    async def connection(self, reader, writer):
        stream = Stream(reader)
        task = asyncio.current_task()
        self.tasks.add(task)
        try:
            while not self.dead:
                try:
                    request = await read_request(stream, writer, 1 if self.ways.has("slow-bodies-408") else None)
                except asyncio.TimeoutError:
                    await write_answer(writer, Answer(408, headers=[("Connection", "close")]), self.ways)
                    return
                if request is None:
                    return
                answer = await self.answer(request)
                if answer.close or self.dead:
                    return
                stays = await write_answer(writer, answer, self.ways)
                if answer.then:
                    self.later(answer.then())
                if not stays or request.headers.get("connection", "").lower() == "close":
                    return
        except (OSError, EOFError, ValueError):
            return
        finally:
            self.tasks.discard(task)
            writer.close()

    def later(self, coroutine):
        task = asyncio.get_running_loop().create_task(coroutine)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def answer(self, request):
        ways = self.ways
        hop = self.hops.get(request.path)
        if hop is None:
            if self.settings.control and request.path.startswith("/control/"):
                return self.control(request)
            return self.other(404)
        if request.method != "POST":
            return self.other(405)
        if ways.has("slow-150-ms"):
            await asyncio.sleep(0.15)
        elif ways.has("slow-at-random"):
            await asyncio.sleep(random.random() * 0.2)
        # The hops of a chain send to each other what the choices say, so they take any media type.
        if not request.path.startswith("/amp/chain/") and not self.media(request):
            return Answer(400 if self.ways.pick("media").endswith("-400") else 415)
        self.busy += 1
        try:
            return await self.message(request, hop)
        finally:
            self.busy -= 1

    def other(self, status):
        if self.ways.has("other-paths-json"):
            return Answer(status, b'{"status":"not here"}', JSON_TYPE)
        return Answer(status)

    def media(self, request):
        kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
        way = self.ways.pick("media").removesuffix("-400")
        return {
            "media-any": True,
            "media-amp-only": kind == AMP,
            "media-json-only": kind == JSON_TYPE,
            "media-json-any": kind == JSON_TYPE or kind.endswith("+json"),
        }[way]

    # --- Messages -----------------------------------------------------------------------------------------------------

    async def message(self, request, hop):
        ways, data, node = self.ways, request.body, hop.node
        if len(data) > 16384 and ways.bug("body-at-most-16-kib"):
            return Answer(413)
        if ways.bug("empty-body-as-ping") and not data:
            return Answer(200)
        if request.held > 0.5 and ways.bug("reads-once"):
            data = data[: request.first]
        self.newest += 1
        mine = self.newest
        if node.setup.kind == RELAY:
            if ways.bug("concurrent-mix-up"):
                self.buffer = data
                await asyncio.sleep(0.02)
                data = self.buffer
            elif ways.bug("concurrent-only-one"):
                if self.busy > 1:
                    return Answer(503)
                await asyncio.sleep(0.02)
            elif ways.bug("concurrent-last-wins"):
                await asyncio.sleep(0.02)
                if mine != self.newest:
                    return Answer(202)
        crowded = self.busy > 1 and ways.bug("concurrent-some-twice")
        out = node.process(data)
        fault = out.faults[0] if out.faults else None
        fault = self.server_bugs(request, out, fault, data, node)
        if isinstance(fault, Answer):
            return fault
        self.record(out, fault, node)
        if fault:
            if out.copy is not None:
                self.later(self.forward(hop, out, request))
            return await self.refuse(fault, out, hop, data)
        if node.setup.kind == RECEIVER:
            if ways.bug("receiver-forwards-too") and self.settings.next_hop:
                self.later(self.client.post(self.settings.next_hop, data, AMP))
            return self.accepted(out, node)
        if crowded:
            self.later(self.forward(hop, out, request))
        return await self.relay(hop, out, request, data)

    def server_bugs(self, request, out, fault, data, node):
        """The bugs that need more than the message: time and state."""
        ways, ttl = self.ways, member(out.message, "Header", "ttl")
        if ways.name is None:
            return fault
        seconds = ttl.whole() if isinstance(ttl, json.Number) else None
        if not fault and seconds is not None:
            if request.held > 0.2 and (
                ways.bug("ttl-as-seconds") and request.held >= seconds or ways.bug("ttl-as-tenths-of-a-second") and request.held * 10 >= seconds
            ):
                return Fault("amp:TTLExpired", "ttl-expired", "too late")
        if request.held > 1 and out.copy and ways.bug("weights-aged-while-held"):
            for edge in graphs.objects(member(out.copy, "MemoryGram"), "edges"):
                edge["weight"] = json.Number("0.01")
            for entry in graphs.objects(member(out.copy, "MemoryGram"), "nodes"):
                if isinstance(entry.get("metadata"), dict) and "importance" in entry["metadata"]:
                    entry["metadata"]["importance"] = json.Number("0.01")
        if ways.bug("hop-trail-required") and not fault and node.setup.kind == RECEIVER and "hop" not in str(member(out.message, "Header", "traceId")):
            return Fault("amp:Sender", "hops", "no intermediary")
        if ways.bug("same-message-refused"):
            if data in self.seen:
                return Fault("amp:Sender", "repeated", "this message came before")
            self.seen.add(data)
        if ways.bug("duplicate-filter-on-trace-id") and not fault:
            trace = (node.setup.uri, node.setup.kind, member(out.message, "Header", "traceId"))
            if trace in self.seen:
                return Answer(202)
            self.seen.add(trace)
        if ways.bug("state-after-fault"):
            if self.after_fault and not fault:
                fault = Fault("amp:Receiver", "state", "after a fault")
                self.after_fault = False
            elif fault:
                self.after_fault = True
        if fault and fault.rule == "not-json":
            if ways.bug("parse-error-as-html"):
                return Answer(500, HTML, "text/html")
            if ways.bug("parse-error-accepted"):
                return Answer(202)
            if ways.bug("bad-input-kills-node"):
                self.dead = True
                self.listener.close()
                return Answer(500, close=True)
        if fault and ways.bug("two-errors-unhandled") and errors_in_header(out.message) > 1:
            return Answer(500, HTML, "text/html")
        if fault and ways.bug("faults-without-body"):
            return Answer(400 if fault.code in SENDER_CODES else 500)
        if fault and ways.bug("faults-close-the-connection"):
            return Answer(500, close=True)
        if fault and node.setup.kind == RELAY and ways.bug("reply-for-relay-fault"):
            return Answer(202)
        return fault

    def record(self, out, fault, node):
        header = member(out.message, "Header")
        header = header if isinstance(header, dict) else {}
        entry = {"messageId": header.get("messageId") if isinstance(header.get("messageId"), str) else None}
        if fault:
            entry |= {"code": fault.code, "reason": fault.reason, "hop": node.setup.uri}
            self.faults = [*self.faults[-LOG_LIMIT:], entry]
        if node.setup.kind == RECEIVER and (not fault and not out.filtered or fault and self.ways.bug("delivery-despite-fault")):
            nonce = member(out.message, "Body", "context", "proofmark")
            task = member(out.message, "Body", "task")
            entry |= {"nonce": nonce if isinstance(nonce, str) else None, "task": task if isinstance(task, str) else None}
            trace = header.get("traceId")
            entry["traceId"] = trace if isinstance(trace, str) else None
            self.deliveries = [*self.deliveries[-LOG_LIMIT:], entry]

    async def refuse(self, fault, out, hop, data):
        ways, node = self.ways, hop.node
        if fault.rule == "bytes":
            return Answer(400, b"not a message", "text/plain")
        body = node.encode(node.fault_tree(fault, out.message))
        if ways.bug("fault-forwarded-instead") and hop.next_hop:
            await self.client.post(hop.next_hop, body, AMP)
            return Answer(202)
        if ways.bug("fault-also-to-next-hop") and hop.next_hop:
            await self.client.post(hop.next_hop, body, AMP)
        if ways.has("fault-by-listener") and self.fault_listener() and can_be_tied(body, out.message):
            self.later(self.client.post(self.fault_listener(), body, AMP))
            return Answer(202)
        way = ways.pick("fault-status").removeprefix("fault-status-")
        status = int(way) if way.isdigit() else 400 if fault.code in SENDER_CODES else 500
        kind = {
            "fault-media-amp": AMP, "fault-media-json": JSON_TYPE + "; charset=utf-8", "fault-media-problem": "application/problem+json",
            "fault-media-text": "text/plain; charset=utf-8", "fault-media-none": "",
        }[ways.pick("fault-media")]  # fmt: skip
        return Answer(status, body, kind)

    def fault_listener(self):
        """The fault listener: unless told otherwise the address of the next hop, path /faults (5.1)."""
        if self.settings.fault_listener:
            return self.settings.fault_listener
        if not self.settings.next_hop:
            return None
        parts = urllib.parse.urlsplit(self.settings.next_hop)
        return f"{parts.scheme}://{parts.netloc}/faults"

    def accepted(self, out, node):
        ways = self.ways
        way = ways.pick("answer").removeprefix("answer-")
        if out.reply is not None:
            kind = {
                "reply-media-amp": AMP, "reply-media-json": JSON_TYPE, "reply-media-vendor": "application/vnd.peer.amp+json; version=1",
                "reply-media-none": "",
            }[ways.pick("reply-media")]  # fmt: skip
            return Answer(202 if way == "reply-202" else 200, node.encode(out.reply), kind)
        if way == "text":
            return Answer(200, b"ok\n", "text/plain; charset=utf-8")
        if way == "text-as-json":
            return Answer(200, b"ok", JSON_TYPE)
        if way == "json":
            return Answer(200, b'{"accepted":true,"errors":[]}', JSON_TYPE)
        if way == "json-status":
            return Answer(200, b'{"statusCode":200,"error":null,"message":"accepted"}', JSON_TYPE)
        return Answer(int(way) if way.isdigit() else 202)

    # --- Forwarding ---------------------------------------------------------------------------------------------------

    async def relay(self, hop, out, request, data):
        ways = self.ways
        if out.copy is None:  # filtered
            return self.relayed(None)
        when = ways.pick("when")
        if when == "answers-before-forwarding":
            answer = self.relayed(None)
            answer.then = lambda: self.forward(hop, out, request, data)
            return answer
        if when == "answers-before-forwarding-late":
            answer = self.relayed(None)

            async def late():
                await asyncio.sleep(0.4)
                await self.forward(hop, out, request, data)

            answer.then = late
            return answer
        if when == "answers-while-forwarding":
            sent = asyncio.Event()
            self.later(self.forward(hop, out, request, data, sent.set))
            try:
                await asyncio.wait_for(sent.wait(), 5)
            except asyncio.TimeoutError:
                pass
            return self.relayed(None)
        reply = await self.forward(hop, out, request, data)
        if reply is None:
            fault = Fault("amp:Receiver", "next-hop", "the next hop cannot be reached")
            return await self.refuse(fault, out, hop, data)
        if ways.bug("next-hop-answer-is-a-reply") and not reply.body:
            return await self.refuse(Fault("amp:Receiver", "next-hop", "the next hop sent no reply"), out, hop, data)
        try:
            passed = fault_code(json.read(reply.body)) is not None
        except ValueError:
            passed = False
        if passed:
            return Answer(reply.status, reply.body, reply.headers.get("content-type", ""))
        return self.relayed(reply)

    def relayed(self, reply):
        """The answer for a message that was, or will be, forwarded."""
        way = self.ways.pick("relay-answer")
        if way == "relay-answer-200-json":
            return Answer(200, b'{"forwarded":true}', JSON_TYPE)
        if way == "relay-answer-202-text-as-json":
            return Answer(202, b"OK", JSON_TYPE)
        if way == "relay-answer-200-page-as-json":
            return Answer(200, b"<html><body>Accepted</body></html>", JSON_TYPE)
        if way == "relay-answer-passed-on" and reply is not None and 200 <= reply.status < 300:
            return Answer(reply.status, reply.body, reply.headers.get("content-type", ""))
        return Answer(204 if way == "relay-answer-204" else 202)

    async def forward(self, hop, out, request, data=None, on_sent=None):
        """Posts the copy to the next hop; its reply, or None."""
        ways, node, url = self.ways, hop.node, hop.next_hop
        if self.settings.next_hop_header and request.headers.get("amp-next-hop"):
            url = request.headers["amp-next-hop"]
        from mesh_http import Reply

        done = Reply(202, {}, b"")
        self.count += 1
        if ways.bug("never-forwards") or ways.bug("forwards-every-second") and self.count % 2 == 0:
            if on_sent:
                on_sent()
            return done
        if not url:
            return None
        body = node.encode(out.copy)
        if ways.bug("inbound-forwarded-as-is") and data is not None:
            body = data
        kind = {
            "forward-media-amp": AMP, "forward-media-json": JSON_TYPE + "; charset=utf-8", "forward-media-none": "",
            "forward-media-kept": request.headers.get("content-type", ""),
        }[ways.pick("forward-media")]  # fmt: skip
        for block in node.blocks(out.message):
            role = block.get("role") if isinstance(block, dict) else None
            if isinstance(role, str) and role.startswith("http://127.0.0.1"):
                if ways.bug("role-uri-dialled"):
                    await self.client.post(role, json.encode(block), JSON_TYPE, seconds=2)
                if ways.bug("type-uri-dialled"):
                    await self.client.post(role, b"", "", method="GET", seconds=2)
        method, length = "POST", None
        if ways.bug("forwards-to-other-path"):
            parts = urllib.parse.urlsplit(url)
            url = f"{parts.scheme}://{parts.netloc}/"
        if ways.bug("forwards-with-put"):
            method = "PUT"
        if ways.bug("forwards-by-query"):
            method, url, body = "GET", url + "?message=" + urllib.parse.quote(body), b""
        if ways.bug("length-in-characters"):
            length = len(body.decode("utf-8", "replace"))
        reply = await self.client.post(url, body, kind, method, length, on_sent=on_sent)
        if ways.bug("forwards-twice"):
            reply = await self.client.post(url, body, kind, method, length)
        return reply

    # --- Control ------------------------------------------------------------------------------------------------------

    def control(self, request):
        """The control interface of section 11 of the binding."""
        what, method = request.path.removeprefix("/control/"), request.method
        as_json = lambda value: Answer(200, plain.dumps(value).encode(), JSON_TYPE)
        if what == "health":
            return as_json({"ok": True})
        if what == "deliveries" and method == "DELETE":
            self.deliveries = []
            return Answer(204)
        if what == "deliveries":
            return as_json(self.deliveries)
        if what == "faults":
            return as_json(self.faults)
        if what == "node" and method == "DELETE":
            self.build()
            return Answer(204)
        if what == "node" and method == "PUT":
            try:
                told = plain.loads(request.body)
                self.configure(told)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                return Answer(400, str(error).encode(), "text/plain")
            return Answer(204)
        return Answer(404)

    def configure(self, told):
        """Takes over a node object of section 9; what it leaves out stays."""
        for hop in self.hops.values():
            setup = hop.node.setup
            if told.get("kind") not in (None, setup.kind):
                continue
            setup.uri = told.get("uri", setup.uri)
            setup.roles = tuple(told.get("roles", setup.roles))
            if "understands" in told:
                setup.understands = {b["type"]: b["behaviour"] for b in told["understands"]}
            setup.versions = tuple(told.get("versions", setup.versions))
            setup.validates = told.get("memorygram", "validates" if setup.validates else "ignores") == "validates"
            if setup.kind == RELAY and hop.next_hop and "/amp/chain/" not in hop.next_hop:
                hop.next_hop = told.get("next_hop", hop.next_hop)


def can_be_tied(body, message):
    """Whether a fault holds an identifier of its request. Without one nobody can tie it to the request (E45): it is the response."""
    header = member(message, "Header")
    found = [header.get(name) for name in ("messageId", "traceId")] if isinstance(header, dict) else []
    return any(isinstance(value, str) and value and value.encode() in body for value in found)


def errors_in_header(message):
    header = member(message, "Header")
    if not isinstance(header, dict):
        return 0
    kinds = {"messageId": str, "traceId": str, "roles": list, "routingIntent": str, "ttl": json.Number}
    return sum(not isinstance(header.get(name), kind) for name, kind in kinds.items())


# --- The command line ------------------------------------------------------------------------------------------------


def arguments(words=None):
    env = os.environ.get
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=None)
    parser.add_argument("--port-file", help="the line `listening URL` is written to this file")
    parser.add_argument("--kind", choices=("both", RECEIVER, RELAY), default=env("MESH_KIND", "both"))
    parser.add_argument("--next-hop", default=env("MESH_NEXT_HOP"))
    parser.add_argument("--fault-listener", help="URL to which the choice fault-by-listener posts")
    parser.add_argument("--node-uri", default=env("MESH_NODE_URI", URI))
    parser.add_argument("--role", action="append", help="user-defined role; repeatable")
    parser.add_argument("--blocks", help="JSON array of {type, behaviour}")
    parser.add_argument("--chain", type=int, default=0, help="so many relays in a row at /amp/chain/1 and on")
    parser.add_argument("--control", action="store_true")
    parser.add_argument("--next-hop-header", action="store_true")
    parser.add_argument("--choice", action="append", default=[])
    parser.add_argument("--preset", help="random:SEED, strict, strict:SEED or tolerated")
    parser.add_argument("--mutant")
    parser.add_argument("--list-choices", action="store_true")
    parser.add_argument("--list-mutants", action="store_true")
    parser.add_argument("--show", action="store_true", help="the choices that differ from the default, and what a target file has to declare")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(words)
    if options.role is None:
        options.role = env("MESH_ROLES", ASSUMED).split()
    blocks = options.blocks or env("MESH_BLOCKS")
    options.blocks = {b["type"]: b["behaviour"] for b in plain.loads(blocks)} if blocks else dict(STANDARD_BLOCKS)
    if options.port is None:
        host, _, port = env("MESH_LISTEN", "127.0.0.1:0").rpartition(":")
        options.host, options.port = host, int(port)
    return options


def make_ways(choice=(), preset=None, mutant=None):
    if mutant is not None and mutant not in MUTANTS:
        raise SystemExit(f"unknown bug {mutant}")
    entry = MUTANTS.get(mutant)
    return Ways(chosen([*choice, *(entry.needs if entry else ())], preset), entry)


def listing(rows, as_json):
    if as_json:
        print(plain.dumps(rows, indent=1))
        return
    for row in rows:
        print(f"{row['name']}: {row['about']} ({', '.join(row.get('breaks') or row.get('errata'))})")


async def main():
    options = arguments()
    sys.setrecursionlimit(20_000)
    if options.list_choices:
        return listing([c.row() for c in CHOICES.values()], options.json)
    if options.list_mutants:
        return listing([m.row() for m in MUTANTS.values()], options.json)
    ways = make_ways(options.choice, options.preset, options.mutant)
    if options.show:
        picked = sorted(ways.force - defaults())
        target = {k: v for name in picked for k, v in CHOICES[name].target.items()}
        return print(plain.dumps({"choices": picked, "target": target}))
    server = await Server(ways, options).start(options.host, options.port)
    line = f"listening {server.url}"
    print(line, flush=True)
    if options.port_file:
        Path(options.port_file + ".new").write_text(line + "\n")
        os.replace(options.port_file + ".new", options.port_file)
    try:
        await server.listener.serve_forever()
    except asyncio.CancelledError:
        pass
    await asyncio.Event().wait()  # a bug may have closed the listener; the process stays


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        pass

#!/usr/bin/env python3
"""Checks the meshai peers: correct ones serve and refuse as every legal implementation does; each choice and each bug is visible
in a fixed conversation (its hook exists), and a peer behind a socket answers over HTTP and WebSocket.

    python3 peers/meshai_selfcheck.py [--only NAME]... [--basics] [--choices] [--mutants] [--jobs 2] [--verbose]

Last line: `N passed, M failed`. Standard library only.
"""

import argparse
import asyncio
import base64
import concurrent.futures
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import meshai_wire as wire  # noqa: E402
from meshai_http import Server, post  # noqa: E402
from meshai_mutants import MUTANTS  # noqa: E402
from meshai_node import KEY, Node  # noqa: E402
from meshai_options import CHOICES, defaults  # noqa: E402
from meshai_scenario import Talk, conversation  # noqa: E402
from meshai_server import make_ways  # noqa: E402

sys.setrecursionlimit(10_000)
KEPT = {}
# Timing alone: two runs cannot be compared. What only a socket shows is looked at over one.
UNSEEN = ("slow-at-random", "slow-100-ms", "execution-time-zero", "timeout-late", "callback-late", "size-1-mib", "expiry-late")
SOCKET_GROUPS = ("http-form", "http-names", "socket-garbage", "socket-events", "socket-order")


def run(coroutine):
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda loop, context: None)
    try:
        return loop.run_until_complete(asyncio.wait_for(coroutine, 120))
    finally:
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()


# --- Over sockets -----------------------------------------------------------------------------------------------------


class Line:
    """A WebSocket as a client has it."""

    async def start(self, port, authorization=""):
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", port)
        head = f"GET /aip/v1/ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}\r\nSec-WebSocket-Version: 13\r\n"
        if authorization:
            head += f"Authorization: {authorization}\r\n"
        self.writer.write((head + "\r\n").encode())
        await self.reader.readuntil(b"\r\n\r\n")
        return self

    def send(self, data, kind=1):
        mask = os.urandom(4)
        size = len(data)
        length = bytes([128 | size]) if size < 126 else b"\xfe" + size.to_bytes(2, "big")
        self.writer.write(bytes([128 | kind]) + length + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(data)))

    async def receive(self, seconds=0.3):
        """(kind, data), or None for silence or the end."""
        try:
            first, second = await asyncio.wait_for(self.reader.readexactly(2), seconds)
            size = second & 127
            if size == 126:
                size = int.from_bytes(await self.reader.readexactly(2), "big")
            return first & 15, await self.reader.readexactly(size)
        except (asyncio.TimeoutError, asyncio.IncompleteReadError, OSError):
            return None


async def over_sockets(ways):
    """What a peer answers over HTTP and WebSocket."""
    talk = Talk(ways, "mesh")
    node = Node(ways, "mesh")
    node.pace = 0.1
    server = await Server(node).start()
    rows = []

    def add(name, data):
        rows.append((name, talk.steady(data) if isinstance(data, bytes) else data))

    try:
        registration, authorization = talk.protected(talk.registration("pm-a"))
        await post(f"{server.url}{server.invoke}", registration, headers=[("Authorization", authorization)] if authorization else [])
        body, authorization = talk.protected(talk.ask())
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        auth = f"Authorization: {authorization}\r\n" if authorization else ""
        for _ in range(2):
            writer.write(f"POST {server.invoke} HTTP/1.1\r\nHost: x\r\n{auth}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
            try:
                await asyncio.sleep(0.05)
                add("over HTTP", (await asyncio.wait_for(reader.read(65536), 1)).replace(b"\r\n", b"\n"))
            except (asyncio.TimeoutError, OSError):
                add("over HTTP", "silence")
        writer.close()
        found = await post(f"{server.url}{server.invoke}", body, headers=[("Authorization", authorization)] if authorization else [], seconds=2)
        add("posted", found and found[1])
        line = await Line().start(server.port, authorization)

        async def said(name, count=1, seconds=0.3):
            for _ in range(count):
                got = await line.receive(seconds)
                add(name, got and (got[0], talk.steady(got[1])))

        line.send(talk.protected(talk.ask())[0])
        await said("a request", 2)
        line.send(talk.protected(talk.ask("tool-use", {"tool": "sleep", "ms": 800}))[0])
        line.send(talk.protected(talk.ask())[0])
        await said("two at once", 3)
        line.send(talk.protected(talk.ask("pm-none"))[0])
        await said("an error")
        line.send(talk.protected(talk.event({"session_id": "x"}))[0])
        await said("an event")
        line.send(talk.protected(talk.ask(), key="wrong")[0])
        await said("credentials")
        line.send(b"{no json")
        await said("garbage", 2)
        line.send(talk.protected(talk.ask())[0])
        await said("after garbage")
        try:
            other = await asyncio.wait_for(Line().start(server.port), 1)
            other.send(talk.protected(talk.ask(), key="wrong")[0])
            add("another", str(await other.receive())[:60])
        except (OSError, EOFError, asyncio.TimeoutError, asyncio.IncompleteReadError):
            add("another", "refused")
        return rows
    finally:
        server.listener.close()


# --- What is checked --------------------------------------------------------------------------------------------------


def reference(needs, kind):
    if (needs, kind) not in KEPT:
        KEPT[needs, kind] = run(conversation(make_ways(needs), kind) if kind != "socket" else over_sockets(make_ways(needs)))
    return KEPT[needs, kind]


def difference(needs, kind, choice=(), mutant=None):
    """Where the peer differs from the one without the choice or the bug, or None."""
    expected = reference(needs, kind)
    ways = make_ways(choice or needs, None, mutant)
    found = run(conversation(ways, kind) if kind != "socket" else over_sockets(ways))
    for before, after in zip(expected, found):
        if before != after:
            return f"{kind}, {before[0]}: {str(after[-1])[:120]!r}"
    return None if len(expected) == len(found) else f"{kind}: {len(found)} rows, not {len(expected)}"


def needs_of(choice):
    if choice.group in ("carrier", "credential-member", "auth-answer", "auth-order", "auth-health") or choice.group.startswith("jwt-"):
        return ("auth-jwt",)
    if choice.group in ("recipe", "signs", "sign-hex", "unsigned", "signature-code", "no-algorithm"):
        return ("auth-hmac", "replies-signed") if choice.group != "signs" else ("auth-hmac",)
    if choice.name == "malformed-credentials-400":
        return ("auth-jwt-hmac",)
    return ("rate-limited",) if choice.name == "rate-bare-429" else ()


def look_choice(name):
    choice = CHOICES[name]
    if name in UNSEEN:
        return name, True, "timing only"
    kinds = ("socket",) if choice.group in SOCKET_GROUPS else ("mesh", "agent") if choice.kinds == ("agent", "mesh") else choice.kinds
    try:
        found = next(filter(None, (difference(needs_of(choice), k, (*needs_of(choice), name)) for k in kinds)), None)
    except Exception as error:  # a broken peer is a finding here
        return name, False, repr(error)
    return name, bool(found), found or "not visible"


def look_mutant(name):
    entry = MUTANTS[name]
    kinds = ("socket",) if name.startswith("ws-") or name in ("auth-not-over-websocket", "length-too-small") else (entry.kind,)
    try:
        found = next(filter(None, (difference(entry.needs, k, (), name) for k in kinds)), None)
    except Exception as error:
        return name, False, repr(error)
    return name, bool(found), found or "not visible"


SERVED, REFUSED = "served", "refused"
EXPECTED = (
    # What every legal agent and mesh makes of a message: served, refused, or a code.
    (lambda t: t.ask(), SERVED), (lambda t: t.ask("quantum-analysis"), "CAPABILITY_NOT_FOUND"), (lambda t: t.ask("web-search", {}), SERVED),
    (lambda t: {**t.ask(), "protocol": "XYZ/1.0"}, REFUSED), (lambda t: {**t.ask(), "protocol": "AMP/2.0"}, REFUSED), (lambda t: {**t.ask(), "message": None}, REFUSED), (lambda t: t.ask(type="command"), REFUSED),
    (lambda t: t.ask(payload={"parameters": []}), REFUSED), (lambda t: t.ask(parameters={"text": 5}), "INVALID_SCHEMA"), (lambda t: t.ask("tool-use", {"tool": "exhaust"}), "INSUFFICIENT_RESOURCES"),
    (lambda t: t.ask("tool-use", {"tool": "sleep", "ms": 3000}, headers={"timeout_ms": 1000}), "TIMEOUT"), (lambda t: t.context("get", {"context_id": "none"}), "CONTEXT_NOT_FOUND"),
    (lambda t: t.ask(headers={"priority": 9, "routing_hints": {"x": "y"}}) if not t.ways.has("unknown-members-refused") else t.ask(), SERVED), (lambda t: t.ask(payload={"context": {"conversation_history": []}}), SERVED),
)  # fmt: skip


def outcome(reply):
    if isinstance(reply, dict) and isinstance(reply.get("message"), dict):
        payload = reply["message"].get("payload", {})
        if reply["message"].get("type") == "error":
            return payload["error"]["code"]
        return SERVED if payload.get("status") in ("success", "partial") else "failed"
    return REFUSED


async def basics(choice, preset):
    """What one correct peer does that no legal one does."""
    ways, faults = make_ways(choice, preset), []
    for kind in ("agent", "mesh"):
        talk = Talk(ways, kind)
        for sender in ("pm-a", "pm-b"):
            await talk.say("registration", talk.registration(sender, ("pm-x",)))
        for n, (build, expected) in enumerate(EXPECTED):
            if expected == "TIMEOUT" and ways.has("timeout-up-to-requester") or expected == "CONTEXT_NOT_FOUND" and ways.has("no-context-store"):
                continue
            got = outcome(await talk.say(f"row {n}", build(talk)))
            if got != expected and not (expected == REFUSED and got not in (SERVED, "failed")):
                faults.append(f"{kind}: row {n} is {got}, not {expected}")
        if ways.has("no-context-store"):
            continue
        secret = talk.context("create", {"context": {"session_id": "s", "agent_memory": {"pm-a": {"x": "SECRET"}}, "shared_memory": {"k": "SHARED"}}})
        reply = await talk.say("create", secret)
        if outcome(reply) != SERVED:
            faults.append(f"{kind}: create is {outcome(reply)}")
            continue
        name = reply["message"]["payload"]["result"]["context"]["id"]
        for operation, parameters in (("get", {"context_id": name}), ("fork", {"context_id": name}), ("update", {"context_id": name, "context": {"shared_memory": {"k": "SHARED"}}}), ("merge", {"context_ids": [name]})):
            text = json.dumps(await talk.say(operation, talk.context(operation, parameters, "pm-b")))
            if "SECRET" in text or outcome(json.loads(text)) != SERVED or "SHARED" not in text:
                faults.append(f"{kind}: {operation} by another: {text[:200]}")
    talk = Talk(ways, "registry")
    await talk.say("registration", talk.registration("pm-r", ("pm-r1", "pm-r2")))
    for wanted, listed in (("pm-r1", True), ("pm-r2", True), ("pm-r", False)):
        text = json.dumps(await talk.say("discovery", talk.discovery(wanted)))
        if ('"pm-r"' in text) is not listed:
            faults.append(f"registry: {wanted}: {text[:200]}")
    rows = await over_sockets(ways)
    if not any(name == "a request" and row and row[0] == 1 and "response" in row[1] for name, row in rows if isinstance(row, (tuple, list))):
        faults.append(f"socket: {rows[3]}")
    return faults


def look_basics(job):
    choice, preset = job
    name = preset or " ".join(choice) or "the default"
    try:
        faults = run(basics(choice, preset))
    except Exception as error:
        faults = [repr(error)]
    return name, not faults, "; ".join(faults[:3])


def vectors():
    """The vectors of section 7 of the binding."""
    text = '{"destination":{"agent_id":"agent-b","capability":"text-analysis"},"headers":{"correlation_id":"pm-sig-0001","priority":5,"routing_hints":{},"timeout_ms":30000},"id":"pm-sig-0001","payload":{"capability":"text-analysis","parameters":{"text":"Hello mesh"}},"source":{"agent_id":"proofmark-a"},"timestamp":"2025-01-27T10:00:00Z","type":"request"}'
    first, second = json.loads(text), json.loads(text)
    second["payload"]["parameters"]["text"] = "Caf\u00e9 \u20ac"
    token = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJwcm9vZm1hcmstYSIsImFnZW50X2lkIjoicHJvb2ZtYXJrLWEiLCJjYXBhYmlsaXRpZXMiOltdLCJpYXQiOjE3Mzc5NzIwMDAsImV4cCI6NDEwMjQ0NDgwMH0.5HAqUXBykbFJQ8AWpTb0m-NK9VJuYiGcnZQwvTWLbpM"
    late = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJwcm9vZm1hcmstYSIsImFnZW50X2lkIjoicHJvb2ZtYXJrLWEiLCJjYXBhYmlsaXRpZXMiOltdLCJpYXQiOjE3Mzc5NzIwMDAsImV4cCI6MTczNzk3NTYwMH0.QNcoQpnwCeOcXZMdh5kunsZEoX-zOQKxVbKWo1kdVnQ"
    signs = lambda message, recipe: wire.signature(message, KEY, make_ways([recipe]))["value"]
    yield "V1 jcs", signs(first, "recipe-jcs") == "qQdnZ1PvcjjL6aKTIxGRs5vO1kBsc0VCEE4oya5a8nU="
    yield "V1 default", signs(first, "recipe-default") == "oNmwOzkL9EzLGxw08fyuqlm7Jro+jfR2bTs9J25w4iY="
    yield "V2 jcs", signs(second, "recipe-jcs") == "yky87voCsLCkf2QI9ccoDynH9OuOwgfCrU9D3uCpY10="
    yield "V2 compact", signs(second, "recipe-compact") == "LqcX9J1+IpAMsIY+uMcOoh9xAMAEmTDYtDIHekNW5DM="
    yield "V2 default", signs(second, "recipe-default") == "di90M/j5gDkCIkvg2aq7cQX8siLIgiKbZnsqgRTTJJo="
    yield "token", wire.token_problem(token, KEY, 1_800_000_000, "proofmark-a", make_ways()) is None
    yield "late token", wire.token_problem(late, KEY, 1_800_000_000, "proofmark-a", make_ways()) == "expired"
    yield "numbers", [wire.canonical(n) for n in (0.5, 1e21, 1e-7, 1e-6, -0.0, 5e-324)] == ["0.5", "1e+21", "1e-7", "0.000001", "0", "5e-324"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], help="names with this in them; repeatable")
    for part in ("basics", "choices", "mutants"):
        parser.add_argument(f"--{part}", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    every = not (options.basics or options.choices or options.mutants)
    wanted = lambda name: not options.only or any(part in name for part in options.only)
    jobs = []
    if options.basics or every:
        presets = [((), None), *(((), f"{word}:{n}") for word in ("random", "strict") for n in range(1, 13)), ((), "tolerated")]
        jobs += [(look_basics, job) for job in presets if wanted(job[1] or "default")]
    if options.choices or every:
        jobs += [(look_choice, name) for name in CHOICES if name not in defaults() and wanted(name)]
    if options.mutants or every:
        jobs += [(look_mutant, name) for name in MUTANTS if wanted(name)]
    passed = failed = 0
    for name, good in vectors():
        passed, failed = passed + good, failed + (not good)
        if not good:
            print(f"WRONG vector {name}")
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        for job in concurrent.futures.as_completed([pool.submit(function, item) for function, item in jobs]):
            name, good, what = job.result()
            passed, failed = passed + good, failed + (not good)
            if not good or options.verbose:
                print(f"{'ok' if good else 'WRONG'} {name}: {what}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Checks the mesh peers: correct ones accept, refuse and forward as every legal node does; each choice and each bug is visible
in fixed messages (its hook exists), and the node behind a socket says the same as without one.

    python3 peers/mesh_selfcheck.py [--only NAME]... [--basics] [--choices] [--mutants] [--jobs 2] [--verbose]

Last line: `N passed, M failed`. Standard library only.
"""

import argparse
import asyncio
import concurrent.futures
import json as plain
import re
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import mesh_json as json  # noqa: E402
import mesh_minimal  # noqa: E402
from mesh_http import Stream, read_reply  # noqa: E402
from mesh_mutants import MUTANTS  # noqa: E402
from mesh_node import RECEIVER, RELAY, Node, Setup, fault_code  # noqa: E402
from mesh_options import CHOICES, GROUPS, defaults  # noqa: E402
from mesh_scenario import ASSUMED, NEXT, base, block, blocks, messages, raw, with_  # noqa: E402
from mesh_server import Server, arguments, make_ways  # noqa: E402

sys.setrecursionlimit(20_000)
MESSAGES = messages()
CHANGING = re.compile(rb"peer-[0-9a-f]{8}-[0-9a-f-]{27}|20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ(?=\")|127\.0\.0\.1:\d+")


def steady(data):
    """Text without what differs from run to run."""
    return CHANGING.sub(b"#", data)


def without_socket(choice=(), mutant=None, preset=None):
    """What both kinds of node make of each message."""
    ways = make_ways(choice, preset, mutant)
    nodes = [Node(ways, Setup(kind=kind)) for kind in (RECEIVER, RELAY)]
    for name, data in MESSAGES:
        for node in nodes:
            out = node.process(data)
            emitted = [out.copy, out.reply, *(node.fault_tree(f, out.message) for f in out.faults)]
            text = b" ".join(b"-" if tree is None else node.encode(tree) for tree in emitted)
            yield (
                f"{node.setup.kind}: {name}",
                steady(out.outcome.encode() + b" " + text)
                + f" {out.processed} {out.body_processed} {out.ttl_after if out.outcome != 'fault' else ''}".encode(),
            )


# --- With a socket -----------------------------------------------------------------------------------------------------


class NextHop:
    """Takes what a relay forwards, and answers 202."""

    def __init__(self):
        self.arrived = []

    async def start(self):
        self.server = await asyncio.start_server(self.connection, "127.0.0.1", 0)
        self.port = self.server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/next-hop"
        return self

    async def connection(self, reader, writer):
        try:
            stream = Stream(reader)
            while await stream.some():
                head = await stream.until(b"\r\n\r\n", 65536)
                body = b""
                if b"chunked" in head.lower():
                    while True:
                        size = int(await stream.until(b"\r\n", 99), 16)
                        body += await stream.exactly(size)
                        await stream.until(b"\r\n", 99)
                        if size == 0:
                            break
                else:
                    body = await stream.exactly(int(re.search(rb"(?i)content-length: *(\d+)", head)[1]))
                self.arrived.append((head, body))
                await asyncio.sleep(0.03)  # so that a relay that does not wait is visible
                answer = b'{"passed":"on"}' if b'"answer me"' in body else b""
                writer.write(b"HTTP/1.1 202 Accepted\r\nContent-Length: %d\r\n\r\n" % len(answer) + answer)
                await writer.drain()
        except (OSError, EOFError, TypeError):
            pass
        finally:
            writer.close()


def told(**more):
    words = ["--port", "0"]
    options = arguments(words)
    for name, value in more.items():
        setattr(options, name, value)
    return options


async def send(port, path, data, kind="application/amp+json", pause=0.0, method="POST", cut=False):
    """(status, headers, body) of one request, or None if there is no answer."""
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return None
    try:
        head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}\r\n\r\n".encode()
        if pause:
            writer.write(head + data[:40])
            await writer.drain()
            await asyncio.sleep(pause)
            writer.write(data[40:])
        else:
            writer.write(head + data)
        await writer.drain()
        stream = Stream(reader)
        raw_head = await asyncio.wait_for(stream.some(), 5)
        reply = await asyncio.wait_for(read_reply(stream), 5)
        await asyncio.sleep(0)
        ended = "later"
        try:
            ended = "closed" if not await asyncio.wait_for(reader.read(1), 0.005) else "more"
        except asyncio.TimeoutError:
            pass
        return reply.status, raw_head.split(b"\r\n\r\n")[0], reply.body, ended
    except (OSError, EOFError, asyncio.TimeoutError, IndexError):
        return None
    finally:
        writer.close()


def quick(data):
    names = b"\r\n".join(line for line in data.split(b"\r\n") if not line.lower().startswith(b"date"))
    return steady(names)


async def with_socket(choice=(), mutant=None, preset=None, slow=False):
    """The steps of a conversation over sockets."""
    hop = await NextHop().start()
    server = await Server(make_ways(choice, preset, mutant), told(next_hop=hop.url, control=True, chain=3)).start()
    steps = []

    async def step(name, path, data, kind="application/amp+json", pause=0.0, method="POST"):
        hop.arrived.clear()
        began = time.monotonic()
        answer = await send(server.port, path, data, kind, pause, method)
        took = time.monotonic() - began - pause
        early = len(hop.arrived)
        if path != "/amp" or mutant:
            await asyncio.sleep(0.06)
        soon = [(quick(h), steady(b)) for h, b in hop.arrived]
        if path == "/amp/relay" and server.ways.has("answers-before-forwarding-late"):
            await asyncio.sleep(0.4)
        said = None if answer is None else (answer[0], quick(answer[1]), steady(answer[2]), answer[3])
        fast = "slow" if took > 0.12 else "soon" if took > 0.024 else "at once"
        steps.append((name, said, early, soon, [(quick(h), steady(b)) for h, b in hop.arrived], fast))

    try:
        if slow:
            light = with_((f"Envelope/Header/ttl", 2))
            await step("held receiver", "/amp", raw(light), pause=2.1)
            await step("held relay", "/amp/relay", raw(light), pause=2.1)
            return steps
        for name, path, data in (
            ("relay", "/amp/relay", raw(base())),
            ("relay again", "/amp/relay", raw(base())),
            ("receiver", "/amp", raw(base())),
            ("answer me", "/amp/relay", raw(with_(("Envelope/Body/context/ask", "answer me")))),
            ("unicode", "/amp/relay", raw(with_(("Envelope/Body/context/ask", "é\u2028")))),
            ("no traceId", "/amp/relay", raw(with_(("Envelope/Header/traceId", None)))),
            ("two errors", "/amp/relay", raw(with_(("Envelope/Header/traceId", None), ("Envelope/Header/ttl", "x")))),
            ("block", "/amp", raw(with_(blocks(block(must=True))))),
            ("base after a fault", "/amp", raw(with_(("Envelope/Header/messageId", "pm-2")))),
            ("block relay", "/amp/relay", raw(with_(blocks(block(must=True))))),
            ("http role", "/amp/relay", raw(with_(blocks(block(role=hop.url.replace("next-hop", "trap"), relay=True))))),
            ("large", "/amp/relay", raw(with_(("Envelope/Body/context/x", "x" * 20000)))),
            ("chain", "/amp/chain/1", raw(base())),
            ("empty", "/amp", b""),
            ("not json", "/amp", b"{"),
            ("bytes", "/amp", b'{"\xff'),
            ("base after", "/amp", raw(with_(("Envelope/Header/messageId", "pm-3")))),
            ("other", "/other", raw(base())),
        ):  # fmt: skip
            await step(name, path, data)
        await step("as json", "/amp", raw(with_(("Envelope/Header/messageId", "pm-4"))), "application/json; charset=utf-8")
        await step("as octets", "/amp", raw(with_(("Envelope/Header/messageId", "pm-5"))), "application/octet-stream")
        await step("relay as json", "/amp/relay", raw(with_(("Envelope/Header/messageId", "pm-7"))), "application/json; charset=utf-8")
        await step("as ld", "/amp", raw(with_(("Envelope/Header/messageId", "pm-6"))), "application/ld+json")
        await step("with get", "/amp", b"", method="GET")
        hop.arrived.clear()
        many = [raw(with_(("Envelope/Header/messageId", f"many-{n}"), ("Envelope/Header/traceId", f"many-t-{n}"))) for n in range(6)]
        answers = await asyncio.gather(*(send(server.port, "/amp/relay", m) for m in many))
        await asyncio.sleep(0.15)
        ids = sorted(plain.loads(b)["Envelope"]["Header"]["messageId"] if b.startswith(b"{\"E") else "?" for _, b in hop.arrived)
        steps.append(("many", sorted(str(a and a[0]) for a in answers), ids))
        log = await send(server.port, "/control/deliveries", b"", method="GET")
        steps.append(("deliveries", log and [e["messageId"] for e in plain.loads(log[2])]))
        return steps
    finally:
        await server.stop()
        hop.server.close()


def run(coroutine):
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda loop, context: None)
    try:
        return loop.run_until_complete(asyncio.wait_for(coroutine, 60))
    finally:
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()


# --- What is checked ---------------------------------------------------------------------------------------------------

KEPT = {}
# Timing alone: two runs cannot be compared.
UNSEEN = ("slow-at-random",)
# Visible only where a body takes long to arrive.
HELD = ("slow-bodies-408",)


def reference(needs):
    if needs not in KEPT:
        KEPT[needs] = list(without_socket(needs))
    return KEPT[needs]


def plain_steps(steps):
    return [s[:5] for s in steps]


def kept_socket(needs, slow):
    key = ("socket", needs, slow)
    if key not in KEPT:
        for _ in range(5):  # a busy machine may disturb one run
            first, second = run(with_socket(needs, slow=slow)), run(with_socket(needs, slow=slow))
            if first == second:
                break
        KEPT[key] = first
    return KEPT[key]


def difference(needs, choice=(), mutant=None, slow=False):
    """Where the peer differs from the one without the choice or the bug, or None."""
    expected = reference(needs)
    for (name, text), (_, other) in zip(expected, without_socket(choice or needs, mutant)):
        if text != other:
            return f"{name}: {other[:90]!r}"
    for held in ([True] if slow else [False]):
        known = kept_socket(needs, held)
        for attempt in range(2):
            steps = run(with_socket(choice or needs, mutant, slow=held))
            at = next((n for n, (a, b) in enumerate(zip(known, steps)) if a != b), None)
            if at is None:
                break
            if plain_steps([known[at]]) != plain_steps([steps[at]]) or attempt:  # a difference of time only has to repeat
                return f"socket, {known[at][0]}: {str(steps[at][1:])[:90]}"
    return None


# What each choice is looked at with: replies have to be sent before their form can be seen.
def needs_of(choice):
    if choice.group.startswith("reply-"):
        return ("answer-reply",)
    if choice.name.endswith("-closing") or choice.name == "http-1-0":
        return ()
    return ()


def look_choice(name):
    choice = CHOICES[name]
    if name in UNSEEN:
        return name, True, "timing only"
    try:
        found = difference(needs_of(choice), (*needs_of(choice), name), slow=name in HELD)
    except Exception as error:  # a broken peer is a finding here
        return name, False, repr(error)
    return name, bool(found), found or "not visible"


def look_mutant(name):
    entry = MUTANTS[name]
    if entry.side == "library":
        found = [a != b for a, b in zip(reference(entry.needs), without_socket(entry.needs, name))]
        return name, any(found), "library"
    try:
        found = difference(entry.needs, entry.needs, name, entry.slow)
    except Exception as error:  # the bug may have broken the peer altogether
        import traceback

        return name, False, repr(error) + traceback.format_exc()[-300:]
    return name, bool(found), found or "not visible"


EXPECTED = (
    # message, code at the receiver, code at the relay; None is accepted
    ("base", (None,), (None,)),
    ("no traceId", ("amp:Sender",), ("amp:Sender",)),
    ("empty", ("amp:Sender", "amp:VersionMismatch"), ("amp:Sender", "amp:VersionMismatch")),
    ("no Body", ("amp:Sender", "amp:VersionMismatch"), ("amp:Sender", "amp:VersionMismatch")),
    ("no MemoryGram", *(("amp:Sender", "amp:VersionMismatch", "amp:InvalidMemoryGram"),) * 2),
    ("ttl 1", ("amp:TTLExpired", None), ("amp:TTLExpired",)),
    ("ttl 2", (None,), (None,)),
    ("three unknown", ("amp:MustUnderstand",), ("amp:MustUnderstand",)),
    ("task 3", ("amp:Sender",), ("amp:Sender", None)),
    ("refused", ("amp:Receiver",), ("amp:Receiver", None)),
    ("fail then noop", *(("amp:Receiver", "amp:Sender", "peer:BlockFailed"),) * 2),
    ("graph edges/0/weight 2", *(("amp:InvalidMemoryGram", "amp:Sender", None),) * 2),
    ("header extras", (None,), (None,)),
    ("graph edges/0/target 'zz'", (None,), (None,)),
)


AT_SOCKETS = ("fault-way", "answer", "pace", "media", "slow-bodies", "chain-names", "http-form", "http-names", "when", "relay-answer", "forward-media", "forward-form")


def look_basics(job):
    """Whether one correct peer does what each legal node does."""
    choice, preset = job
    faults = []
    try:
        ways = make_ways(choice, preset)
        place = ways.pick("blocks-place")
        for kind, column in ((RECEIVER, 1), (RELAY, 2)):
            node = Node(ways, Setup(kind=kind))
            for row in EXPECTED:
                data = next(d for n, d in MESSAGES if n == row[0])
                if place == "blocks-in-header-blocks":
                    data = data.replace(b'"headers":', b'"headerBlocks":')
                elif place == "blocks-beside-header" and b'"headers":' in data:
                    message = plain.loads(data)
                    message["Envelope"]["headers"] = message["Envelope"]["Header"].pop("headers")
                    data = raw(message)
                if ways.has("duplicate-filter"):
                    ways.memory.clear()
                out = node.process(data)
                code = out.faults[0].code if out.faults else None
                if code not in row[column]:
                    faults.append(f"{kind}: {row[0]} gets {code}")
                if out.faults:
                    found = fault_code(json.read(node.encode(node.fault_tree(out.faults[0], out.message))))
                    if found != code:
                        faults.append(f"{kind}: {row[0]}: the code is found as {found}")
                elif kind == RELAY:
                    copy = plain.loads(node.encode(out.copy))
                    was = plain.loads(data)["Envelope"]["Header"]
                    if copy["Envelope"]["Header"]["ttl"] != was["ttl"] - 1 or copy["Envelope"]["Header"]["messageId"] != was["messageId"]:
                        faults.append(f"{kind}: {row[0]}: a wrong copy")
                    if was["traceId"] not in plain.dumps(copy["Envelope"]["Header"]):
                        faults.append(f"{kind}: {row[0]}: the traceId is lost")
        if not preset and not any(CHOICES[c].group in AT_SOCKETS for c in choice):
            return job, faults
        steps = run(with_socket(choice, preset=preset))
        answered = {s[0]: s for s in steps}
        media = ways.pick("media")
        if not media.startswith("media-json-only"):
            if answered["relay"][1] is None or answered["relay"][1][0] >= 300 or len(answered["relay"][3]) + ("late" in ways.pick("when")) != 1:
                faults.append(f"socket: a relayed message gets {answered['relay']}")
            if answered["receiver"][1][0] >= 300:
                faults.append(f"socket: a delivered message gets {answered['receiver'][1]}")
    except Exception as error:  # a broken peer is a finding here
        import traceback

        faults.append(repr(error) + traceback.format_exc()[-400:])
    return job, faults


def look_minimal():
    """Whether the minimal nodes do what each legal node does."""
    faults = []
    options = argparse.Namespace(blocks=(), next_hop=None)
    for name, at_receiver, at_relay in EXPECTED:
        data = next(d for n, d in MESSAGES if n == name)
        for kind, allowed in ((mesh_minimal.deliver, at_receiver), (mesh_minimal.forward, at_relay)):
            try:
                message = mesh_minimal.parse(data)
                kind(message, options)
                code = None
            except mesh_minimal.Fault as fault:
                code = fault.code
            except (TypeError, ValueError, AttributeError) as error:  # the relay has no next hop here
                code = None if kind is mesh_minimal.forward and "unknown url" in str(error) or "NoneType" in str(error) else repr(error)
            # It understands no block, and knows no task that it would refuse.
            if code not in (*allowed, "amp:MustUnderstand" if name.startswith("fail") else None):
                faults.append(f"{kind.__name__}: {name} gets {code}")
    for text in (b'{"a":[1.50,1e400,"\u00e9",-0.0,12345678901234567890]}',):
        if mesh_minimal.write(mesh_minimal.parse(text)) != text:
            faults.append("numbers are not kept")
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("basics", "choices", "mutants", "verbose"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    every = not (options.basics or options.choices or options.mutants)
    wanted = lambda name: not options.only or any(part in name for part in options.only)
    passed = failed = 0

    def tell(good, text):
        nonlocal passed, failed
        passed, failed = passed + good, failed + (not good)
        if not good or options.verbose:
            print(("ok " if good else "FAILED ") + text, flush=True)

    others = [c.name for c in CHOICES.values() if c.name not in defaults() and wanted(c.name)]
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        if every or options.basics:
            jobs = [((), None), ((), "tolerated")] + [((), f"{w}:{n}") for w in ("random", "strict") for n in range(12)]
            jobs = ([] if options.only else jobs) + [((name,), None) for name in others]
            for job, faults in pool.map(look_basics, jobs, chunksize=4):
                tell(not faults, f"basics {job}: {faults}")
            faults = look_minimal()
            tell(not faults, f"minimal nodes: {faults}")
        if every or options.choices:
            for name, good, text in pool.map(look_choice, others, chunksize=8):
                tell(good, f"choice {name}: {text}")
        if every or options.mutants:
            names = [n for n in MUTANTS if wanted(n)]
            for name, good, text in pool.map(look_mutant, names, chunksize=16):
                tell(good, f"bug {name}: {text}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


assert GROUPS and ASSUMED and NEXT
if __name__ == "__main__":
    sys.exit(main())

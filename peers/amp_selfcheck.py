#!/usr/bin/env python3
"""Checks the AMP peers: every correct server accepts a valid message and refuses a forged one over HTTP, WebSocket and TCP;
every choice and every bug is visible in a fixed conversation (its hook exists); those of `amp_sequence_mutants` in that of
`amp_sequences`. Bugs of `amp_narrow_mutants` show with messages that it does not hold; the sweep shows them.

    python3 peers/amp_selfcheck.py [--quick] [--only NAME]... [--jobs 2] [--basics] [--choices] [--mutants] [--verbose]

Last line: `N passed, M failed`. Needs PyNaCl.
"""

import argparse
import asyncio
import concurrent.futures
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import amp_cbor as cbor  # noqa: E402
from amp_client import Frames, Socket, http, opened  # noqa: E402
from amp_mutants import MUTANTS  # noqa: E402
from amp_narrow_mutants import NARROW  # noqa: E402
from amp_options import CHOICES  # noqa: E402
from amp_scenario import RUNS, World, good_hello, polled  # noqa: E402
from amp_sequence_mutants import SEQUENCES  # noqa: E402
from amp_sequences import RUNS as SEQUENCE_RUNS  # noqa: E402
from amp_server import Server, make_ways  # noqa: E402


RUNS = RUNS | SEQUENCE_RUNS


async def started(choice=(), mutant=None, preset=None, role="agent"):
    server = await Server(make_ways(choice, preset, mutant), role).start()
    return server, World(server)


def replies(world, data):
    """The messages in a body or unit, BATCH unpacked, as (typ, reply_to, ok, body)."""
    out = []
    while data:
        decoder = cbor.Decoder(data)
        try:
            decoder.item()
        except cbor.CborError:
            return out + [None]
        fields = opened(data[: decoder.at], world.key_of, world.alice)
        data = data[decoder.at :]
        if fields is None:
            out.append(None)
        elif fields.get("typ") == 0x16 and isinstance(fields.get("body"), cbor.Map):
            for item in fields["body"].get("items"):
                out += replies(world, item)
        else:
            out.append(fields)
    return out


async def answers_of(world, fields, how):
    """The replies to one message over one transport, and the bare refusal if there was one."""
    raw = cbor.encode(fields)
    if how == "http":
        status, _, body = await http(world.server, "POST", "/amp/v1/messages", raw, seconds=12)
        found = replies(world, body)
        status_poll, _, page = await http(world.server, "GET", "/amp/v1/messages?limit=50", headers={"X-Principal-Did": world.alice.did}, seconds=12)
        if status_poll == 200:
            cursor = ""
            for _ in range(8):
                page = cbor.decode(page)
                for message in page.get("messages"):
                    found += replies(world, message)
                if not page.get("has_more"):
                    break
                cursor = page.get("next_cursor")
                _, _, page = await http(world.server, "GET", f"/amp/v1/messages?limit=50&cursor={cursor}", headers={"X-Principal-Did": world.alice.did})
        return [f for f in found if f is None or f.get("reply_to") == fields["id"]], status >= 400 and not body
    if how == "ws":
        socket = Socket(world.server)
        status, _ = await socket.open()
        if status != 101:
            return [], f"upgrade {status}"
        send, unit = lambda data: socket.frame(2, data), lambda events: [v for k, v in events if k.startswith("message")]
    else:
        socket = Frames(world.server)
        await socket.open()
        await socket.handshake()
        send, unit = lambda data: socket.send(1, data), lambda events: [v for k, v in events if k == 1]
    seconds = 6.0
    send(world.alice.raw(world.to, 0x70, good_hello()))
    hello = []
    deadline = time.monotonic() + seconds
    while not hello and time.monotonic() < deadline:
        hello = unit(await socket.settle(1, 0.5))
    send(raw)
    found, ended = [], False
    while not [f for f in found if f is None or f.get("reply_to") == fields["id"]] and not ended and time.monotonic() < deadline + seconds:
        events = await socket.settle(1, 0.5)
        for data in unit(events):
            found += replies(world, data)
        ended = any(k in ("end", "close", 6) for k, _ in events)
    socket.close()
    return [f for f in found if f is None or f.get("reply_to") == fields["id"]], ended


async def basics(choice=(), preset=None, expects=()):
    """The faults found with one correct server, as texts."""
    server, world = await started(choice, None, preset)
    faults = []
    for how in ("http", "ws", "tcp"):
        good = world.alice.message(world.to, 0x10, {"msg": "proofmark"})
        found, bare = await answers_of(world, good, how)
        kinds = [f and f.get("typ") for f in found]
        if not any(k in (0x03, 0x04, 0x12) for k in kinds) or 0x0F in kinds or bare is True and how == "http":
            faults.append(f"{how}: a good message gets {kinds} {bare}")
        if any(f is None or not f["ok"] for f in found):
            faults.append(f"{how}: a reply that does not verify")
        bad = world.alice.message(world.to, 0x10, {"msg": "proofmark"}, key=world.mallory.keys)
        found, bare = await answers_of(world, bad, how)
        codes = [f and f.get("typ") == 0x0F and f["body"].get("code") for f in found]
        if codes != [1002]:
            faults.append(f"{how}: a forged message gets {codes} {bare}")
    await server.stop()
    return faults


def portless(server, step):
    return tuple(text.replace(str(server.port), "PORT").replace(str(server.tcp_port), "PORT") for text in step)


async def transcript(part, choice=(), mutant=None, role="agent"):
    """All steps of a part."""
    server, world = await started(choice, mutant, None, role)
    steps = []
    try:
        async for step in RUNS[part](world):
            steps.append(portless(server, step))
    finally:
        await server.stop()
    return steps


async def differs(part, reference, choice=(), mutant=None, role="agent"):
    """The first step at which a server differs from the reference, or None; and whether its hook was reached."""
    server, world = await started(choice, mutant, None, role)
    at = 0
    try:
        async for step in RUNS[part](world):
            name, text = portless(server, step)
            if at >= len(reference) or reference[at] != (name, text):
                return (name, reference[at][1] if at < len(reference) else "-", text), server.ways.hits
            at += 1
    except (asyncio.TimeoutError, ConnectionError, asyncio.IncompleteReadError, OSError, AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
        return ("exception", "", repr(error)), server.ways.hits
    finally:
        await server.stop()
    return (None if at == len(reference) else ("end", "", "")), server.ways.hits


def quiet_loop(coroutine):
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda loop, context: None)
    try:
        return loop.run_until_complete(asyncio.wait_for(coroutine, 180))
    finally:
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()


KEPT = {}


def reference_of(part, needs, role):
    key = (part, tuple(sorted(needs)), role)
    if key not in KEPT:
        first = quiet_loop(transcript(part, needs, None, role))
        for _ in range(4):  # a busy machine may disturb one run
            second = quiet_loop(transcript(part, needs, None, role))
            if first == second:
                break
            bad = next(((a[0], a[1], b[1]) for a, b in zip(first, second) if a != b), ("length", len(first), len(second)))
            first = second
        else:
            raise SystemExit(f"two runs of {key} differ at {bad[0]}:\n  {bad[1]}\n  {bad[2]}")
        KEPT[key] = first
    return KEPT[key]


def parts_for(shows, name, role):
    if name in SEQUENCES:
        part = "-relay" if role != "agent" else {"ws": "-ws", "parallel": "-ws", "tcp": "-tcp"}.get(shows, "")
        return ("sequence" + part,)
    if shows == "initiator":
        return ("initiator",)
    if shows == "clock":
        return ("clock",)
    if shows == "tcp" or name.startswith(("tcp-", "goaway")):
        return ("tcp",)
    if shows == "ws" or name.startswith("ws-"):
        return ("ws", "tcp")
    if shows in ("poll", "relay") or role in ("relay", "both"):
        return ("poll", "relay")
    if name.startswith("retry"):
        return ("initiator",)
    order = ["http", "content", "documents", "bytes", "ws", "tcp"]
    if name.startswith(("stream", "document", "cred", "deleg", "batch", "no-schema", "schema")):
        order = ["content", "documents", "http", "bytes", "ws", "tcp"]
    elif name.startswith(("cbor", "utf8", "depth", "wide", "http", "malformed", "size", "media", "transport", "duplic", "refuse")):
        order = ["bytes", "http", "content", "documents", "ws", "tcp"]
    elif name.startswith(("key-", "agreement", "box-", "document", "fragment", "revoked")):
        order = ["documents", "http", "content", "bytes", "ws", "tcp"]
    elif name.startswith(("before", "hello")):
        order = ["http", "ws", "tcp", "content"]
    return tuple(order)


UNSEEN = {"retry-endless": "shows after three minutes"}


def look_mutant(name):
    entry = MUTANTS[name]
    if name in UNSEEN:
        return name, True, UNSEEN[name], None
    role = "both" if entry.role != "agent" else "agent"
    hits = 0
    for part in parts_for(entry.shows, name, role):
        reference = reference_of(part, entry.needs, role)
        found, met = quiet_loop(differs(part, reference, (), name, role))
        hits += met
        if found and met:
            return name, True, f"{part}: {found[0]}", found
    return name, False, f"not visible, its hook was reached {hits} times", None


SLOW = ("slow-300-ms", "slow-1500-ms", "slow-at-random")


def look_choice(name):
    choice = CHOICES[name]
    role = "both" if choice.role == "relay" else "agent"
    parts = list(parts_for("initiator" if choice.role == "initiator" else "any", name, role))
    if name.startswith("poll"):
        parts = ["poll", "bytes"]
        role = "both" if name not in ("poll-absent-404", "poll-offered") else "agent"
    if name in ("http-in-pieces", "tcp-in-pieces", "ws-one-at-a-time", "tcp-one-at-a-time", "documents-not-kept", "error-for-bad-control", "stream-waits-for-chunks", "size-64-mib", "replay-until-expiry") + SLOW:
        return name, True, "timing or internal", None
    if name in ("retry-2003-false", "no-ttl-details"):
        parts, role = ["relay"], "both"
    if name == "replay-received-again" or name == "before-hello-1008":
        pass
    for part in parts:
        reference = reference_of(part, tuple(n for n in choice.needs), role)
        found, _ = quiet_loop(differs(part, reference, (name,), None, role))
        if found:
            return name, True, f"{part}: {found[0]}", found
    return name, False, "not visible", None


def look_basics(job):
    try:
        return job, quiet_loop(basics(*job))
    except Exception as error:  # a broken peer is a finding here
        return job, [repr(error)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="basics of the default and of presets, a tenth of the rest")
    parser.add_argument("--basics", action="store_true")
    parser.add_argument("--choices", action="store_true")
    parser.add_argument("--mutants", action="store_true")
    parser.add_argument("--only", action="append", default=[], help="part of a name; `sequences` for those of amp_sequence_mutants")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    every = not (options.basics or options.choices or options.mutants)
    wanted = lambda name: not options.only or any(part in name or part == "sequences" and name in SEQUENCES for part in options.only)
    passed = failed = 0
    thin = (lambda names: names[::10]) if options.quick else (lambda names: names)
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        if every or options.basics:
            names = [c.name for c in CHOICES.values() if not c.default and not c.disputed and c.role == "agent" and wanted(c.name)]
            jobs = [((), None), ((), "strict"), ((), "tolerated")] + [((), f"random:{n}") for n in range(24)]
            jobs = [] if options.only else jobs
            jobs += [((n,), None) for n in thin(names) if n not in ("without-batch",)]
            for job, faults in pool.map(look_basics, jobs):
                passed, failed = passed + (not faults), failed + bool(faults)
                if faults or options.verbose:
                    print(f"{'FAILED' if faults else 'ok'} basics {job}: {faults}", flush=True)
        if every or options.choices:
            names = thin([c.name for c in CHOICES.values() if not c.default and wanted(c.name)])
            for name, good, text, found in pool.map(look_choice, names):
                passed, failed = passed + good, failed + (not good)
                if not good or options.verbose:
                    print(f"{'ok' if good else 'FAILED'} choice {name}: {text}", flush=True)
        if every or options.mutants:
            names = thin([n for n in MUTANTS if wanted(n) and n not in NARROW])
            for name, good, text, found in pool.map(look_mutant, names, chunksize=4):
                passed, failed = passed + good, failed + (not good)
                if not good or options.verbose:
                    print(f"{'ok' if good else 'FAILED'} bug {name}: {text}", flush=True)
                    if found and options.verbose and options.only:
                        print(f"    {found[1]}\n    {found[2]}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


assert polled
if __name__ == "__main__":
    sys.exit(main())

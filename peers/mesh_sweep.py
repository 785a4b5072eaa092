#!/usr/bin/env python3
"""Runs proofmark against mesh nodes that share no code with it: correct ones with other legal choices, which must not fail, and
ones with a single bug, which must be detected.

    python3 peers/mesh_sweep.py --binary BINARY --suites suites [--random 20] [--singles] [--mutants 40 | --mutants all]
    python3 peers/mesh_sweep.py --binary BINARY --singles --only fault- --mutants 0
    python3 peers/mesh_sweep.py --binary BINARY --random 0 --mutants all --side relay

Correct nodes: no case may have the verdict fail or error, and the run must end with 0 or 3. Nodes with a bug: among the
requirements that the bug breaks one must fail. Nodes with a bug run only the cases of those requirements; `--whole` runs all
cases. Exit 1 for a false positive or an undetected bug. Standard library only.
"""

import argparse
import json
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import sweeping  # noqa: E402

SERVER = [sys.executable, str(HERE / "mesh_server.py")]
MINIMAL = [sys.executable, str(HERE / "mesh_minimal.py")]
ASSUMED = "urn:proofmark:mesh:role:assumed"
CHAIN = 3
# A port that was free when the peer was started may be taken before proofmark listens on it.
OCCUPIED = "Address already in use"
ATTEMPTS = 3


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Peer(sweeping.Peer):
    """A node whose next hop is proofmark: `url`, and the addresses at which proofmark has to listen."""

    def __init__(self, arguments, server=SERVER):
        self.next_hop, self.faults = (f"127.0.0.1:{free_port()}" for _ in range(2))
        # The argument is named in records; ports are not.
        self.named = list(arguments)
        faults = ["--fault-listener", f"http://{self.faults}/faults"] if server is SERVER else []
        super().__init__(server, [*arguments, "--next-hop", f"http://{self.next_hop}/next-hop", *faults])

    @property
    def url(self):
        return self.line.split()[1]


def target_yaml(peer, extra):
    """The target file. Only this function depends on its format. `extra` has the keys that choices and bugs name."""
    validates = extra.get("memorygram", "validates") == "validates"
    features = {
        "declared-blocks": True, "validates-memorygram": validates, "relay-validates-memorygram": validates,
        "delivery-log": "--control" in peer.named, "chain": "--chain" in peer.named,
    }  # fmt: skip
    keys = {"protocol": "agentic-mesh", "url": peer.url, "hosts": {"next-hop": {"listen": peer.next_hop}}, "settings": {}}
    keys["settings"]["refused"] = {"body": {"task": "proofmark-refuse", "expectedOutput": ["none"], "context": {}}}
    # The machine may be busy. What an active intermediary seals hides the message that shows that it has gone on.
    keys["timeouts"] = {"forward": "2s" if extra.get("intermediary") == "active" else "8s", "quiet": "1s"}
    for name, value in extra.items():
        if name == "version_detect":
            keys["settings"]["version"] = {"detect": value}
        elif name in ("echoes", "byoe"):
            features[name] = value
        elif name == "faults":
            keys["hosts"]["faults"] = {"listen": peer.faults}
        elif name in ("kind", "features"):
            keys[name] = value
        elif name not in ("memorygram", "control"):
            keys["settings"][name] = value
    keys["features"] = {**features, **keys.get("features", {})}
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in keys.items() if value)


def check(options, peer, extra, more):
    """(exit code, record or None, errors) of one run."""
    with tempfile.TemporaryDirectory() as out:
        target = Path(out) / "target.yaml"
        target.write_text(target_yaml(peer, extra))
        command = [options.binary, "check", "--target", str(target), "--out", out, "--quiet", "--timeout", options.timeout]
        if options.suites:
            command += ["--suites", options.suites]
        code, record, errors = sweeping.run([*command, *more, *options.argument], out, options.limit)
        if options.keep and record is not None:
            sweeping.keep(record, options.keep, peer.named)
        return code, record, errors


def correct(options, name, arguments, extra, more, server=SERVER, least=20):
    for _ in range(ATTEMPTS):
        with Peer(arguments, server) as peer:
            code, record, errors = check(options, peer, extra, more)
            narrow = any(w in more for w in ("--requirement", "--only"))
            found = sweeping.findings(peer, code, record, errors, "agentic-mesh", narrow, least)
        if record is not None or OCCUPIED not in errors:
            break
    return name, code, found, record["summary"]["cases"] if record else {}


def mutant(options, entry):
    arguments = ["--mutant", entry["name"], *entry["arguments"], "--control", "--chain", str(CHAIN)]
    more = ["--profile", entry["profile"]]
    if not options.whole:
        for requirement in entry["breaks"]:
            more += ["--requirement", requirement]
    started = time.monotonic()
    for _ in range(ATTEMPTS):
        with Peer(arguments) as peer:
            code, record, errors = check(options, peer, entry["target"], more)
        if record is not None or OCCUPIED not in errors:
            break
    took = time.monotonic() - started
    if record is None:
        return entry, False, f"no record, exit {code}: {errors[-300:]}", took
    caught, states, elsewhere = sweeping.outcome(record, "agentic-mesh", entry["breaks"])
    if elsewhere and not caught:
        states += f"; noticed under {', '.join(elsewhere[:6])}"
    return entry, bool(caught), f"exit {code}: {states}", took


def shown(preset):
    command = [*SERVER, "--preset", preset, "--show", "--json"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sweeping.common_arguments(parser, "how many nodes with a bug, without the slow ones, or all")
    parser.add_argument("--side", help="bugs that show there: receiver, relay, library, any; with commas")
    parser.add_argument("--profile", help="bugs of this profile only: lenient or strict")
    parser.add_argument("--whole", action="store_true", help="run all cases, not only those of the requirements that a bug breaks")
    parser.add_argument("--strict", type=int, default=1, help="number of random strict sets, which run under the strict profile")
    parser.add_argument("--minimal", action="store_true", help="the minimal nodes as well")
    parser.add_argument("--argument", action="append", default=[], help="further argument of proofmark check")
    parser.add_argument("--timeout", default="20s")
    parser.add_argument("--limit", type=int, default=300, help="seconds for one run")
    parser.add_argument("--keep", help="folder in which the records are kept")
    options = parser.parse_args()
    tally = sweeping.Tally()
    wanted = lambda name: not options.only or any(part in name for part in options.only)
    more = [word for glob in options.case for word in ("--only", glob)]
    whole = ["--control", "--chain", str(CHAIN)]
    runs = []
    if options.random:
        runs = [("the default choices", [], {}, more)]
        for n in range(options.random):
            preset = f"random:{options.seed + n}"
            said = shown(preset)
            runs.append((f"{preset} ({' '.join(said['choices'])})", ["--preset", preset], said["target"], more))
        for n in range(options.strict):
            preset = f"strict:{options.seed + n}"
            said = shown(preset)
            runs.append((f"{preset} ({' '.join(said['choices'])})", ["--preset", preset], said["target"], [*more, "--profile", "strict"]))
    if options.singles:
        for choice in sweeping.listing(SERVER, "--list-choices"):
            if choice["default"] or not wanted(choice["name"]):
                continue
            words = ["--choice", choice["name"]]
            if choice["group"].startswith("reply-"):
                words += ["--choice", "answer-reply"]
            runs.append((choice["name"], words, choice["target"], more))
            if choice["strict"]:
                runs.append((f"{choice['name']}, strict", words, choice["target"], [*more, "--profile", "strict"]))
    jobs = [(options, name, [*words, *whole], extra, m) for name, words, extra, m in runs]
    if options.minimal:
        for kind in ("receiver", "relay"):
            # They act in no role of their own and understand nothing.
            bare = {"kind": kind, "refused": {"body": None}}
            bare["features"] = {"validates-memorygram": False, "relay-validates-memorygram": False, "declared-blocks": False}
            bare["roles"] = {"assumed": None, "not_assumed": ASSUMED + ":not"}
            jobs.append((options, f"the minimal {kind}", [kind], bare, more, MINIMAL, 10))
    for result in sweeping.in_parallel(options.jobs, correct, jobs):
        tally.server(*result)
    mutants = [m for m in sweeping.listing(SERVER, "--list-mutants") if wanted(m["name"])]
    if options.side:
        mutants = [m for m in mutants if m["side"] in options.side.split(",")]
    else:
        mutants = [m for m in mutants if m["side"] != "library"]  # no endpoint can show it
    if options.profile:
        mutants = [m for m in mutants if m["profile"] == options.profile]
    if options.mutants != "all":  # a sample has to be fast
        mutants = [m for m in mutants if not m["slow"]]
    known = sweeping.survivors(options.survivors)
    jobs = [(options, m) for m in sweeping.sample(mutants, options.mutants, options.seed)]
    for entry, caught, states, took in sweeping.in_parallel(options.jobs, mutant, jobs):
        tally.bug(entry, caught, states, took, known, f"{entry['profile']}, {entry['side']}")
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Runs proofmark against servers that share no code with it: correct ones with every legal choice, which must not
fail, and ones with a single bug, which must be detected.

    python3 peers/sweep.py --binary target/release/proofmark [--random 24] [--singles] [--mutants 40 | --mutants all]
    python3 peers/sweep.py --level L3 --suites suites --random 0 --mutants all       # only bugs of review
    python3 peers/sweep.py --singles --only fact- --mutants 0                        # some choices, one at a time

Correct servers: no case may have the verdict fail or error, whatever the choices. Servers with a bug: among the
requirements that the bug breaks at least one must fail; only the cases that cover these run. `--level` restricts both:
the servers offer only that level, and the bugs are those of that level (commas separate several levels).
Standard library only; servers listen on loopback and are ended.
"""

import argparse
import concurrent.futures
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
SERVER = [sys.executable, str(HERE / "agentic_server.py")]
KEYS = ["--auth", "key-a=pm-actor-a", "--auth", "key-b=pm-actor-b"]


class Peer:
    """A server on a free port, for the duration of a `with` block."""

    def __init__(self, arguments):
        self.arguments = arguments

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        port_file = Path(self.folder.name) / "port"
        command = SERVER + ["--port", "0", "--port-file", str(port_file)] + self.arguments
        # A file, not a pipe: a pipe without a reader blocks the server once it is full.
        self.words = (Path(self.folder.name) / "stderr").open("w+")
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=self.words)
        for _ in range(400):
            if port_file.exists() and port_file.read_text().strip():
                self.url = f"http://127.0.0.1:{port_file.read_text().strip()}"
                return self
            if self.process.poll() is not None:
                raise SystemExit(f"{' '.join(command)}: {self.said()}")
            time.sleep(0.05)
        raise SystemExit(f"{' '.join(command)}: does not start")

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.words.close()
        self.folder.cleanup()

    def said(self):
        """What the server wrote to its standard error: uncaught exceptions."""
        self.words.seek(0)
        return self.words.read()


AUTHENTICATED = ("auth-401", "auth-403", "drafts-private")  # choices that show only if credentials are required


def check(binary, suites, url, more=(), auth=False):
    """The exit code and the record of one run."""
    with tempfile.TemporaryDirectory() as out:
        command = [binary, "check", "--out", out, "--quiet", "--timeout", "20s"]
        environment = dict(os.environ, PEER_KEY_A="key-a", PEER_KEY_B="key-b", PEER_KEY_WRONG="not-a-key")
        if auth:
            target = Path(out) / "target.yaml"
            target.write_text(
                f"protocol: agentic\nurl: {url}\nfeatures: {{ auth: true }}\ncredentials:\n"
                "  a: { env: PEER_KEY_A, prefix: 'Bearer ' }\n  b: { env: PEER_KEY_B, prefix: 'Bearer ' }\n"
                "  wrong: { env: PEER_KEY_WRONG, prefix: 'Bearer ' }\n"
            )
            command += ["--target", str(target)]
        else:
            command += [url, "--protocol", "agentic"]
        if suites:
            command += ["--suites", suites]
        done = subprocess.run(command + list(more), capture_output=True, text=True, env=environment, timeout=600)
        report = Path(out) / "report.json"
        record = json.loads(report.read_text()) if report.exists() else None
        return done.returncode, record, done.stderr


def accusations(record):
    """False positives: the failures that proofmark reports for a correct server."""
    found = []
    for case in record["protocols"][0]["cases"]:
        if case["verdict"] in ("fail", "error"):
            finding = next((f for f in case["findings"] if f["verdict"] == case["verdict"]), None)
            what = (
                f"{finding['requirement']} at {finding['path']}: expected {finding['expected'][:200]}, observed {finding['observed'][:200]}"
                if finding
                else case["because"][:300]
            )
            found.append((case["id"], case["verdict"], what))
    return found


def correct(binary, suites, arguments, more):
    auth = "--auth" in arguments
    with Peer(arguments) as peer:
        code, record, errors = check(binary, suites, peer.url, more, auth)
        said = peer.said()
    if record is None:
        return arguments, code, [("-", "no record", errors[-500:])], {}
    cases = record["summary"]["cases"]
    found = accusations(record)
    if said:
        found.append(("-", "an exception in the server, which has to be fixed first", said[-700:]))
    if code not in (0, 3):
        found = found or [("-", f"exit {code}", record["summary"]["conclusion"])]
    if cases["pass"] < 20 and "--requirement" not in more and "--only" not in more:
        found.append(("-", "almost no case passed", json.dumps(cases)))
    return arguments, code, found, cases


def mutant(binary, suites, entry, timed):
    arguments = ["--mutant", entry["name"], *entry["arguments"]]
    for need in entry["needs"]:
        arguments += ["--choice", need]
    auth = "--auth" in arguments
    if auth:
        arguments = ["--mutant", entry["name"], *KEYS]
    more = ["--profile", entry["profile"]]
    for requirement in entry["breaks"]:
        more += ["--requirement", requirement]
    started = time.monotonic()
    with Peer(arguments) as peer:
        code, record, errors = check(binary, suites, peer.url, more, auth)
    timed[entry["name"]] = time.monotonic() - started
    if record is None:
        return entry, False, f"no record: {errors[-300:]}"
    outcomes = {r["id"]: r for r in record["protocols"][0]["requirements"] if r["id"] in entry["breaks"]}
    caught = sorted(
        i
        for i, r in outcomes.items()
        if r["verdict"] == "fail" or (r["keyword"].startswith("SHOULD") and r["verdict"] == "warn")
    )
    states = ", ".join(f"{i} {r['verdict']}{'/' + r['reason'] if r.get('reason') else ''}" for i, r in outcomes.items())
    return entry, bool(caught), states


def listing(word):
    return json.loads(subprocess.run(SERVER + [word, "--json"], capture_output=True, text=True, check=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="target/release/proofmark")
    parser.add_argument("--suites", help="suites to use instead of the embedded ones")
    parser.add_argument("--random", type=int, default=12, help="number of random sets of choices")
    parser.add_argument("--seed", type=int, default=1, help="first mixture")
    parser.add_argument("--singles", action="store_true", help="each choice alone as well")
    parser.add_argument("--only", action="append", default=[], help="choices or bugs with this in the name; repeatable")
    parser.add_argument("--mutants", default="24", help="how many servers with a bug, or all")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--survivors", help="file with names of known undetected bugs, each with a reason, after 'at times: ' if detection is random"
    )
    parser.add_argument(
        "--level", help="level that the servers offer, and of the bugs; L1 also means L0; L2,L3 means both"
    )
    parser.add_argument("--case", action="append", default=[], help="correct servers: only cases like this; repeatable")
    options = parser.parse_args()
    started = time.monotonic()
    levels = options.level.split(",") if options.level else ["L0", "L1", "L2", "L3"]
    if "L1" in levels:
        levels.append("L0")
    offered = ["--level", max(levels)] if options.level else []
    wanted = lambda name: not options.only or any(part in name for part in options.only)
    more = [word for glob in options.case for word in ("--only", glob)]
    accused = missed = passed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        runs = [[], ["--preset", "strict"], ["--preset", "tolerated"], KEYS]
        runs += [["--preset", f"random:{options.seed + n}"] for n in range(options.random)]
        if options.random == 0:
            runs = []
        if options.singles:
            names = [c["name"] for c in listing("--list-choices") if wanted(c["name"])]
            runs = [["--choice", n] + (KEYS if n in AUTHENTICATED else []) for n in names]
        runs = [(r + offered, more + (["--profile", "strict"] if "strict" in r else [])) for r in runs]
        for arguments, code, found, cases in pool.map(lambda run: correct(options.binary, options.suites, *run), runs):
            name = " ".join(arguments) or "the default choices"
            if found:
                accused += 1
                print(f"FALSE POSITIVE with {name} (exit {code}):")
                for case, verdict, what in found[:12]:
                    print(f"    {verdict} {case}\n        {what}", flush=True)
            else:
                passed += 1
                counts = ", ".join(f"{cases.get(word)} {word}" for word in ("pass", "warn", "inconclusive"))
                print(f"ok {name}: exit {code}, {counts}", flush=True)
        mutants = [m for m in listing("--list-mutants") if m["level"] in levels and wanted(m["name"])]
        if options.mutants != "all":
            random.Random(options.seed).shuffle(mutants)
            mutants = mutants[: int(options.mutants)]
        known = {}
        if options.survivors:
            for line in Path(options.survivors).read_text().splitlines():
                if line.strip() and not line.startswith("#"):
                    name, _, reason = line.partition(":")
                    known[name.strip()] = reason.strip()
        timed = {}
        for entry, caught, states in pool.map(lambda m: mutant(options.binary, options.suites, m, timed), mutants):
            reason = known.get(entry["name"])
            if caught and reason and not reason.startswith("at times: "):
                missed += 1
                print(f"NOW DETECTED: {entry['name']}: remove it from the list of survivors")
            elif caught:
                passed += 1
            elif entry["name"] in known:
                passed += 1
                print(f"undetected as known: {entry['name']}: {known[entry['name']]}")
            else:
                missed += 1
                print(f"UNDETECTED {entry['name']} ({entry['level']}): {entry['about']}\n    {states}", flush=True)
    slowest = max(timed, key=timed.get, default=None)
    if slowest:
        print(f"slowest bug: {slowest}, {timed[slowest]:.1f} s")
    seconds = time.monotonic() - started
    summary = f"{len(runs)} correct servers, {accused} with false positives; {len(mutants)} with a bug, {missed} undetected; {seconds:.0f} s"
    print(f"{summary}: {passed} passed, {accused + missed} failed")
    return 1 if accused or missed else 0


if __name__ == "__main__":
    sys.exit(main())

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
import os
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import sweeping  # noqa: E402

SERVER = [sys.executable, str(HERE / "agentic_server.py")]
KEYS = ["--auth", "key-a=pm-actor-a", "--auth", "key-b=pm-actor-b"]
AUTHENTICATED = ("auth-401", "auth-403", "drafts-private")  # choices that show only if credentials are required


class Peer(sweeping.Peer):
    """An agentic server; `url`."""

    def __init__(self, arguments):
        super().__init__(SERVER, arguments)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.line}"


ENVIRONMENT = {"PEER_KEY_A": "key-a", "PEER_KEY_B": "key-b", "PEER_KEY_WRONG": "not-a-key"}


def target(binary, suites, url, out, auth):
    """The program and the arguments that name the target, without the subcommand."""
    if auth:
        file = Path(out) / "target.yaml"
        file.write_text(
            f"protocol: agentic\nurl: {url}\nfeatures: {{ auth: true }}\ncredentials:\n"
            "  a: { env: PEER_KEY_A, prefix: 'Bearer ' }\n  b: { env: PEER_KEY_B, prefix: 'Bearer ' }\n"
            "  wrong: { env: PEER_KEY_WRONG, prefix: 'Bearer ' }\n"
        )
        words = ["--target", str(file)]
    else:
        words = [url, "--protocol", "agentic"]
    return [binary, *words, *(["--suites", suites] if suites else [])]


def check(binary, suites, url, more=(), auth=False):
    """The exit code and the record of one run."""
    with tempfile.TemporaryDirectory() as out:
        program, *words = target(binary, suites, url, out, auth)
        command = [program, "check", *words, "--out", out, "--quiet", "--timeout", "20s", *more]
        return sweeping.run(command, out, 600, dict(os.environ, **ENVIRONMENT))


def explore(options, url, auth, spellings, findings):
    with tempfile.TemporaryDirectory() as out:
        command = target(options.binary, options.suites, url, out, auth)
        return sweeping.explore(command, out, options.explore, options.seed, spellings, findings, environment=dict(os.environ, **ENVIRONMENT))


def correct(options, number, arguments, more):
    auth = "--auth" in arguments
    with Peer(arguments) as peer:
        if options.explore:
            code, result, errors = explore(options, peer.url, auth, number % 2 == 1, 50)
            found, line = sweeping.explored(peer, code, result, errors)
            return arguments, code, found, line
        code, record, errors = check(options.binary, options.suites, peer.url, more, auth)
        narrow = "--requirement" in more or "--only" in more
        found = sweeping.findings(peer, code, record, errors, "agentic", narrow)
    return arguments, code, found, record["summary"]["cases"] if record else {}


def mutant(options, entry):
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
    caught, states, how = [], "", None
    if not (options.explore and options.explore_alone):
        with Peer(arguments) as peer:
            code, record, errors = check(options.binary, options.suites, peer.url, more, auth)
        if record is None:
            return entry, False, f"no record: {errors[-300:]}", time.monotonic() - started, how
        caught, states, _ = sweeping.outcome(record, "agentic", entry["breaks"])
        how = "suites" if caught else None
    if options.explore and not caught:
        with Peer(arguments) as peer:
            code, result, errors = explore(options, peer.url, auth, True, 1)
        caught, more = sweeping.discovered(result, errors, entry["breaks"])
        states, how = states + more, "exploration" if caught else "neither"
    return entry, bool(caught), states, time.monotonic() - started, how if options.explore else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sweeping.common_arguments(parser, "how many servers with a bug, or all")
    sweeping.exploring_arguments(parser)
    parser.add_argument(
        "--level", help="level that the servers offer, and of the bugs; L1 also means L0; L2,L3 means both"
    )
    options = parser.parse_args()
    tally = sweeping.Tally()
    levels = options.level.split(",") if options.level else ["L0", "L1", "L2", "L3"]
    if "L1" in levels:
        levels.append("L0")
    offered = ["--level", max(levels)] if options.level else []
    wanted = lambda name: not options.only or any(part in name for part in options.only)
    more = [word for glob in options.case for word in ("--only", glob)]
    runs = [[], ["--preset", "strict"], ["--preset", "tolerated"], KEYS]
    runs += [["--preset", f"random:{options.seed + n}"] for n in range(options.random)]
    if options.random == 0:
        runs = []
    if options.singles:
        names = [c["name"] for c in sweeping.listing(SERVER, "--list-choices") if wanted(c["name"])]
        runs = [["--choice", n] + (KEYS if n in AUTHENTICATED else []) for n in names]
    runs = [(r + offered, more + (["--profile", "strict"] if "strict" in r else [])) for r in runs]
    jobs = [(options, number, *run) for number, run in enumerate(runs)]
    for arguments, code, found, cases in sweeping.in_parallel(options.jobs, correct, jobs):
        tally.server(" ".join(arguments) or "the default choices", code, found, cases)
    mutants = [m for m in sweeping.listing(SERVER, "--list-mutants") if m["level"] in levels and wanted(m["name"])]
    mutants = sweeping.of_kinds(mutants, options)
    known = sweeping.survivors(options.survivors)
    jobs = [(options, m) for m in sweeping.sample(mutants, options.mutants, options.seed)]
    for entry, caught, states, took, how in sweeping.in_parallel(options.jobs, mutant, jobs):
        tally.bug(entry, caught, states, took, known, entry["level"], how)
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Runs proofmark against implementations of task-amp that share no code with it: correct ones with other legal choices, which must
not fail, and ones with a single bug, which must be detected.

    python3 peers/task_sweep.py --binary BINARY --suites suites [--random 20] [--singles] [--mutants 40 | --mutants all]
    python3 peers/task_sweep.py --binary BINARY --singles --only lock- --mutants 0
    python3 peers/task_sweep.py --binary BINARY --random 0 --mutants all --side coordinator

Correct servers: each set of choices runs in a form of each kind of target: store, each role alone with the bus, all roles, and each
role at a store that proofmark hosts. No case may have the verdict fail or error, and a run must end with 0 or 3. Servers with a
bug: among the requirements that the bug breaks one must fail; only their cases run, or all with `--whole`. Exit 1 for a false
positive or an undetected bug. Standard library only.
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

SERVER = [sys.executable, str(HERE / "task_server.py")]

# The forms of a target: (kind, roles under test).
FORMS = {
    "bus": ("ssot", ("system",)),
    "coordinator": ("bundle", ("coordinator", "system")),
    "executor": ("bundle", ("executor", "system")),
    "reviewer": ("bundle", ("reviewer", "system")),
    "executor-alone": ("bundle", ("executor",)),
    "all": ("bundle", ("coordinator", "executor", "reviewer", "system")),
    "hosted-coordinator": ("role", ("coordinator",)),
    "hosted-executor": ("role", ("executor",)),
    "hosted-reviewer": ("role", ("reviewer",)),
    "tree": ("tree", ("executor", "reviewer")),
}


# Requirements whose cases make a role write, for bugs in what it writes.
DRIVING = {
    "coordinator": ("TASK-03.2-15", "TASK-03.1-02", "TASK-02.3-04"),
    "executor": ("TASK-01.3-09", "TASK-01.3-03", "TASK-02.2-33"),
    "reviewer": ("TASK-04.1-02", "TASK-03.3-03"),
}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Peer(sweeping.Peer):
    """A server in one form."""

    def __init__(self, form, arguments):
        self.form, (self.kind, self.roles) = form, FORMS[form]
        self.named = [form, *arguments]
        self.hosted = f"127.0.0.1:{free_port()}"
        words = [*arguments, "--roles", ",".join(self.roles)]
        if self.kind == "role":
            words += ["--ssot", f"http://{self.hosted}/api/amp/v1"]
        if self.kind == "tree":
            self.tree = tempfile.TemporaryDirectory()
            words += ["--tree", self.tree.name]
        super().__init__(SERVER, words)

    def __exit__(self, *what):
        super().__exit__(*what)
        if self.kind == "tree":
            self.tree.cleanup()


def target_yaml(options, peer, extra):
    """The target file. Only this function depends on its format. `extra` has the keys that choices and bugs name."""
    keys = {"protocol": "task-amp", "kind": peer.kind, "roles": list(peer.roles), "timeouts": options.windows}
    if peer.kind == "role":
        keys |= {"url": f"http://{peer.hosted}", "hosts": {"ssot": {"listen": peer.hosted}}}
    elif peer.kind == "tree":
        keys["tree"] = {"root": peer.tree.name}
    else:
        keys["url"] = peer.line.split()[1]
        keys |= extra
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in keys.items() if value)


def check(options, peer, extra, more):
    """(exit code, record or None, errors) of one run."""
    with tempfile.TemporaryDirectory() as out:
        target = Path(out) / "target.yaml"
        target.write_text(target_yaml(options, peer, extra))
        command = [options.binary, "check", "--target", str(target), "--out", out, "--quiet", "--timeout", options.timeout]
        if options.suites:
            command += ["--suites", options.suites]
        code, record, errors = sweeping.run([*command, *more, *options.argument], out, options.limit)
        if options.keep and record is not None:
            sweeping.keep(record, options.keep, peer.named)
        return code, record, errors


def correct(options, name, form, arguments, extra, more):
    with Peer(form, arguments) as peer:
        code, record, errors = check(options, peer, extra, more)
        narrow = any(w in more for w in ("--requirement", "--only"))
        found = sweeping.findings(peer, code, record, errors, "task-amp", narrow, 3 if form == "tree" else 10)
    return f"{form}: {name}", code, found, record["summary"]["cases"] if record else {}


def mutant(options, entry):
    """Checks the requirements that a bug breaks; if none fails, with cases that make the role write."""
    started = time.monotonic()
    driving = DRIVING.get(entry["side"].removeprefix("hosted-"), ())
    for requirements in ([()] if options.whole else [entry["breaks"], (*entry["breaks"], *driving)] if driving else [entry["breaks"]]):
        caught, states = attempt(options, entry, requirements)
        if caught:
            break
    return entry, caught, states, time.monotonic() - started


def attempt(options, entry, requirements):
    arguments = ["--mutant", entry["name"]]
    more = ["--profile", entry["profile"]]
    for requirement in requirements:
        more += ["--requirement", requirement]
    with Peer(entry["side"], arguments) as peer:
        code, record, errors = check(options, peer, shown(arguments)["target"], more)
    if record is None:
        return False, f"no record, exit {code}: {errors[-300:]}"
    caught, states, elsewhere = sweeping.outcome(record, "task-amp", entry["breaks"])
    if elsewhere and not caught:
        states += f"; noticed under {', '.join(elsewhere[:6])}"
    return bool(caught), f"exit {code}: {states}"


def shown(arguments):
    command = [*SERVER, *arguments, "--show", "--json"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sweeping.common_arguments(parser, "how many servers with a bug, without the slow ones, or all")
    parser.add_argument("--side", help="bugs that show there, with commas")
    parser.add_argument("--forms", default=",".join(FORMS), help="forms of correct servers, with commas")
    parser.add_argument("--profile", help="bugs of this profile only: lenient or strict")
    parser.add_argument("--whole", action="store_true", help="run all cases, not only those of the requirements that a bug breaks")
    parser.add_argument("--strict", type=int, default=1, help="number of random strict sets, which run under the strict profile")
    parser.add_argument("--argument", action="append", default=[], help="further argument of proofmark check")
    parser.add_argument("--timeout", default="15s")
    parser.add_argument("--limit", type=int, default=300, help="seconds for one run")
    parser.add_argument("--keep", help="folder in which the records are kept")
    parser.add_argument("--patience", type=int, default=6, help="seconds of the window observe, for a slow machine; the others are five times as long")
    options = parser.parse_args()
    options.windows = {"observe": f"{options.patience}s", "work": f"{options.patience * 5}s", "workflow": f"{options.patience * 5}s"}
    tally = sweeping.Tally()
    wanted = lambda name: not options.only or any(part in name for part in options.only)
    more = [word for glob in options.case for word in ("--only", glob)]
    forms = options.forms.split(",")
    sets = []
    if options.random:
        sets = [("the default choices", [], more, forms)]
        for n in range(options.random):
            words = ["--preset", f"random:{options.seed + n}"]
            # One bus, one bundle and one hosted role for each set; all of them by turns.
            turn = [forms[(n * 3 + k) % len(forms)] for k in range(min(3, len(forms)))]
            sets.append((f"random:{options.seed + n}", words, more, turn))
        for n in range(options.strict):
            words = ["--preset", f"strict:{options.seed + n}"]
            sets.append((f"strict:{options.seed + n}", words, [*more, "--profile", "strict"], forms))
    if options.singles:
        where = {"bus": ["bus"], "any": ["all", "coordinator", "executor", "reviewer"]}
        for choice in sweeping.listing(SERVER, "--list-choices"):
            if not choice["default"] and wanted(choice["name"]):
                there = [f for f in where.get(choice["side"], [choice["side"]]) if f in forms]
                sets.append((choice["name"], ["--choice", choice["name"]], more, there))
    jobs = []
    for name, words, arguments, there in sets:
        extra = shown(words)["target"]
        jobs += [(options, name, form, words, extra, arguments) for form in there]
    for result in sweeping.in_parallel(options.jobs, correct, jobs):
        tally.server(*result)
    mutants = [m for m in sweeping.listing(SERVER, "--list-mutants") if wanted(m["name"])]
    if options.side:
        mutants = [m for m in mutants if m["side"] in options.side.split(",")]
    if options.profile:
        mutants = [m for m in mutants if m["profile"] == options.profile]
    if options.mutants != "all":  # a sample has to be fast
        mutants = [m for m in mutants if not m["slow"]]
    known = sweeping.survivors(options.survivors)
    # What a bug leaves out is not waited for so long.
    options.windows = {"observe": "3s", "work": "8s", "workflow": "8s"}
    jobs = [(options, m) for m in sweeping.sample(mutants, options.mutants, options.seed)]
    for entry, caught, states, took in sweeping.in_parallel(options.jobs, mutant, jobs):
        tally.bug(entry, caught, states, took, known, f"{entry['profile']}, {entry['side']}")
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())

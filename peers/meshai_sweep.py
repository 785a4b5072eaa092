#!/usr/bin/env python3
"""Runs proofmark against meshai peers that share no code with it: correct ones with other legal choices, which must not fail,
and ones with a single bug, which must be detected.

    python3 peers/meshai_sweep.py --binary BINARY --suites suites [--random 20] [--singles] [--mutants 40 | --mutants all]
    python3 peers/meshai_sweep.py --binary BINARY --singles --only context- --mutants 0
    python3 peers/meshai_sweep.py --binary BINARY --random 0 --mutants all --kind registry

Correct peers run as agent, registry, mesh and client in turn: no case may have the verdict fail or error, and the run must end
with 0 or 3. Peers with a bug: among the requirements that the bug breaks one must fail. They run only the cases of those
requirements; `--whole` runs all cases. Exit 1 for a false positive or an undetected bug. Standard library only.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import sweeping  # noqa: E402

SERVER = [sys.executable, str(HERE / "meshai_server.py")]
KINDS = ("mesh", "agent", "registry", "client")


class Launched:
    """Stands for a peer that proofmark launches itself."""

    process = type("Process", (), {"poll": staticmethod(lambda: None)})

    def __init__(self, arguments):
        self.named = list(arguments)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def said(self):
        return ""


class Peer(sweeping.Peer):
    """A server of one kind."""

    def __init__(self, arguments, kind):
        self.named = [kind, *arguments]
        super().__init__(SERVER, ["--kind", kind, *arguments])

    @property
    def url(self):
        return self.line.split()[1]


def target_yaml(kind, url, arguments, extra, ws=True):
    """The target file. Only this function depends on its format. `extra` has the keys that choices name."""
    keys = {"protocol": "meshai", "kind": "agent" if kind == "client" else kind}
    features = {}
    settings = {"agent_id": "agent-a"} if kind == "client" else {}
    if kind == "client":
        keys["url"] = "http://127.0.0.1:{port}"
        command = [*SERVER, "--kind", "agent", "--port", "{port}", "--registry", "{host.registry}", "--control", "--token", *arguments]
        keys["launch"] = {"command": command}
        features |= {"client": True, "control": True, "client-token": True, "context": True, "negotiation": True, "delegation": True}
    else:
        keys["url"] = url
        if ws:
            keys["ws"] = url.replace("http://", "ws://") + "/aip/v1/ws"
            features["websocket"] = True
    if kind in ("agent", "mesh"):
        features |= {"context": True, "negotiation": True, "delegation": True}
        settings |= {
            "invalid_parameters": [{}, {"text": 5}],
            "fixture": {"capability": "text-analysis", "parameters": {"text": "proofmark"}, "expect": {"characters": 9, "words": 1}},
            "second": {"capability": "web-search", "parameters": {"query": "proofmark"}}, "echo": {"capability": "tool-use", "parameters": {"tool": "echo"}, "marker_pointer": "/marker"},
            "slow": {"capability": "tool-use", "parameters": {"tool": "sleep"}, "ms_pointer": "/ms"}, "exhaust": {"capability": "tool-use", "parameters": {"tool": "exhaust"}},
        }  # fmt: skip
        # Declared, so that a bug there does not count as an option that is not offered.
        features |= {name: True for name in ("second", "echo", "slow", "exhaust")}
        if kind == "mesh":
            features["routing"] = True
            for name in ("second", "echo", "slow", "exhaust"):
                settings[name]["agent_id"] = "agent-b"
    for name, value in extra.items():
        if name != "features":
            settings[name] = value
    features |= extra.get("features", {})
    if kind == "registry":
        features = {n: v for n, v in features.items() if n not in ("context", "negotiation", "delegation", "slow", "second", "echo", "exhaust", "rate-limit", "enforce_registration", "merging-updates")}
    if kind == "agent":
        features = {n: v for n, v in features.items() if n not in ("enforce_registration", "declared-latency")}
    keys["settings"], keys["features"] = settings, features
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in keys.items() if value)


def check(options, kind, arguments, extra, more):
    """(peer, exit code, record or None, errors) of one run."""
    peer = Launched([kind, *arguments]) if kind == "client" else Peer(arguments, kind)
    with peer, tempfile.TemporaryDirectory() as out:
        target = Path(out) / "target.yaml"
        target.write_text(target_yaml(kind, getattr(peer, "url", None) if kind != "client" else None, arguments, extra))
        command = [options.binary, "check", "--target", str(target), "--out", out, "--quiet", "--timeout", options.timeout]
        if options.suites:
            command += ["--suites", options.suites]
        code, record, errors = sweeping.run([*command, *more, *options.argument], out, options.limit)
        if options.keep and record is not None:
            sweeping.keep(record, options.keep, peer.named)
        narrow = any(w in more for w in ("--requirement", "--only"))
        found = sweeping.findings(peer, code, record, errors, "meshai", narrow)
    return code, record, errors, found


def correct(options, name, kind, arguments, extra, more):
    code, record, _, found = check(options, kind, arguments, extra, more)
    return f"{kind}: {name}", code, found, record["summary"]["cases"] if record else {}


def mutant(options, entry):
    more = ["--profile", entry["profile"]]
    if entry["kind"] == "client" and not options.whole:
        # What a client sends is judged where a case receives it.
        more += ["--only", "meshai/client#*", "--only", "meshai/envelope#*", "--only", "meshai/versions#*"]
    elif not options.whole:
        for requirement in entry["breaks"]:
            more += ["--requirement", requirement]
    started = time.monotonic()
    code, record, errors, _ = check(options, entry["kind"], ["--mutant", entry["name"]], entry["target"], more)
    took = time.monotonic() - started
    if record is None:
        return entry, False, f"no record, exit {code}: {errors[-300:]}", took
    caught, states, elsewhere = sweeping.outcome(record, "meshai", entry["breaks"])
    caught = caught or entry["fatal"] and code != 0
    if elsewhere and not caught:
        states += f"; noticed under {', '.join(elsewhere[:6])}"
    return entry, bool(caught), f"exit {code}: {states}", took


def shown(words):
    return json.loads(subprocess.run([*SERVER, *words, "--show", "--json"], capture_output=True, text=True, check=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sweeping.common_arguments(parser, "how many peers with a bug, without the slow ones, or all")
    parser.add_argument("--kind", help="kinds of target: mesh, agent, registry, client; with commas")
    parser.add_argument("--profile", help="bugs of this profile only: lenient or strict")
    parser.add_argument("--whole", action="store_true", help="run all cases, not only those of the requirements that a bug breaks")
    parser.add_argument("--strict", type=int, default=1, help="number of random strict sets, which run under the strict profile")
    parser.add_argument("--argument", action="append", default=[], help="further argument of proofmark check")
    parser.add_argument("--timeout", default="10s")
    parser.add_argument("--limit", type=int, default=240, help="seconds for one run")
    parser.add_argument("--keep", help="folder in which the records are kept")
    options = parser.parse_args()
    tally = sweeping.Tally()
    wanted = lambda name: not options.only or any(part in name for part in options.only)
    kinds = options.kind.split(",") if options.kind else KINDS
    more = [word for glob in options.case for word in ("--only", glob)]
    runs = []
    if options.random:
        runs += [(f"the default choices{', strict' * strict}", kind, [], {}, [*more, *(["--profile", "strict"] * strict)]) for kind in kinds for strict in (0, 1)]
        for word, count in (("random", options.random), ("strict", options.strict)):
            for n in range(count):
                preset = f"{word}:{options.seed + n}"
                said = shown(["--preset", preset])
                profile = ["--profile", "strict"] if word == "strict" else []
                at = kinds if word == "strict" else [kinds[n % len(kinds)]]
                runs += [(f"{preset} ({' '.join(said['choices'])})", kind, ["--preset", preset], said["target"], [*more, *profile]) for kind in at]
    if options.singles:
        for choice in sweeping.listing(SERVER, "--list-choices"):
            if choice["default"] or not wanted(choice["name"]):
                continue
            words = ["--choice", choice["name"]]
            if choice["group"] in ("carrier", "credential-member", "auth-answer", "auth-order", "auth-health") or choice["group"].startswith("jwt-"):
                words += ["--choice", "auth-jwt"]
            elif choice["group"] in ("recipe", "signs", "sign-hex", "unsigned", "signature-code", "no-algorithm"):
                words += ["--choice", "auth-hmac", "--choice", "replies-signed"]
            elif choice["name"] == "malformed-credentials-400":
                words += ["--choice", "auth-jwt-hmac"]
            elif choice["name"] == "rate-bare-429":
                words += ["--choice", "rate-limited"]
            kind = next((k for k in kinds if k in choice["kinds"]), None)
            if kind:
                target = shown(words)["target"]
                runs.append((choice["name"], kind, words, target, more))
                if choice["strict"]:
                    runs.append((f"{choice['name']}, strict", kind, words, target, [*more, "--profile", "strict"]))
    for result in sweeping.in_parallel(options.jobs, correct, [(options, *run) for run in runs]):
        tally.server(*result)
    mutants = [m for m in sweeping.listing(SERVER, "--list-mutants") if wanted(m["name"]) and m["kind"] in kinds]
    if options.profile:
        mutants = [m for m in mutants if m["profile"] == options.profile]
    if options.mutants != "all":  # a sample has to be fast
        mutants = [m for m in mutants if not m["slow"]]
    mutants = sweeping.sample(mutants, options.mutants, options.seed)
    targets = {needs: shown([w for n in needs for w in ("--choice", n)])["target"] for needs in {tuple(m["needs"]) for m in mutants}}
    known = sweeping.survivors(options.survivors)
    jobs = [(options, {**m, "target": targets[tuple(m["needs"])]}) for m in mutants]
    for entry, caught, states, took in sweeping.in_parallel(options.jobs, mutant, jobs):
        tally.bug(entry, caught, states, took, known, f"{entry['profile']}, {entry['kind']}")
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())

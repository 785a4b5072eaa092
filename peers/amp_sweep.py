#!/usr/bin/env python3
"""Runs proofmark against AMP servers that share no code with it: correct ones with other legal choices, which must not
fail, and ones with a single bug, which must be detected.

    python3 peers/amp_sweep.py --binary BINARY --suites suites [--random 24] [--singles] [--mutants 40 | --mutants all]
    python3 peers/amp_sweep.py --binary BINARY --singles --only replay --mutants 0
    python3 peers/amp_sweep.py --binary BINARY --random 0 --mutants all --shows ws,tcp

Correct servers: no case may have the verdict fail or error, and the run must end with 0 or 3. Servers with a bug: among the
requirements that the bug breaks one must fail; where almost nothing works (`fatal`) any exit code but 0 suffices. Servers with
a bug run only the cases of those requirements, and all cases if none of these shows it; `--whole` always runs all cases, and
`--quick` never. Exit 1 for a false positive or an undetected bug.
"""

import argparse
import hashlib
import http.server
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import amp_keys  # noqa: E402
import sweeping  # noqa: E402

SERVER = [sys.executable, str(HERE / "amp_server.py"), "--fixtures"]
LIBRARY = f"{sys.executable} {HERE / 'amp_library.py'}"

# Libraries behind an adapter: the arguments, the only cases that run, and what must fail (nothing: a correct library).
# A name with `!` is an optional member of a result that is present and wrong.
OPTIONAL = "signer,sig_input,encrypted,body,plaintext,nonce,ciphertext,stage"
LIBRARIES = [
    ("no optional member", "", [], False),
    ("every optional member", f"--also {OPTIONAL}", ["amp-core/vectors/*", "amp-core/decryption*", "amp-core/published*"], False),
    ("a wrong signer", "--also signer!", ["amp-core/vectors/receive-signature*"], True),
    ("a wrong Sig_Input", "--also sig_input!", ["amp-core/vectors/build-*"], True),
    ("a wrong body", "--also body!", ["amp-core/vectors/receive-bodies*"], True),
    ("a wrong word on encryption", "--also encrypted!", ["amp-core/vectors/receive-encryption*", "amp-core/decryption*"], True),
    ("a wrong ciphertext with the message", "--also ciphertext!", ["amp-core/vectors/build-encrypted*"], True),
    ("keys in numeric order", "--mutant key-numeric-order", ["amp-core/vectors/select-key*"], True),
    ("zeros of base58 lost", "--mutant base58-zeros-lost", ["amp-core/vectors/select-key*"], True),
    ("another base64", "--mutant base64url-as-base64", ["amp-core/vectors/select-key*"], True),
    ("a fragment as the end of others", "--mutant fragment-as-suffix", ["amp-core/vectors/select-key*"], True),
    ("the last key listed", "--mutant key-last-listed", ["amp-core/vectors/select-key*", "amp-core/keys-documents*"], True),
    ("no fallback from an empty list", "--mutant key-fallback-only-when-absent", ["amp-core/keys-documents*"], True),
    ("any multicodec", "--mutant codec-unchecked", ["amp-core/vectors/select-key*"], True),
]

# Legal choices that proofmark reported as violations once, with the only cases that run: the name, the choices, the cases.
ENTRIES = [
    ("a forged ACK is dropped", ["bad-control-silent"], ["acknowledgement*", "retries*", "signatures*"]),
    ("a forged ACK gets a bare refusal", ["bad-control-bare"], ["acknowledgement*", "retries*", "signatures*"]),
    ("chunks beyond the end are ignored", ["stream-surplus-ignored", "stream-unknown-silent"], ["stream-failures*"]),
    ("101 and a close without the subprotocol", ["ws-refuses-by-close"], ["binding-ws*"]),
    ("the smaller of both maximum sizes", ["ws-size-effective"], ["binding-ws*", "binding-units*"]),
    ("frames without a type byte", ["tcp-bare-frames"], ["binding-tcp*", "binding-hello*"]),
    ("DID URLs of senders are not resolved", ["fragments-not-resolved"], ["envelope-signature*", "sig-input*", "envelope#*"]),
    ("failures of the application are 5001", ["failures-are-errors"], ["error-senders*", "error-codes*"]),
]


class Peer(sweeping.Peer):
    """A server on free ports, for the duration of a `with` block: `url`, `tcp`, `did`."""

    def __init__(self, arguments):
        super().__init__(SERVER, arguments)

    def __enter__(self):
        super().__enter__()
        words = self.line.split()
        self.url, self.tcp, self.did = words[1], words[3], words[5]
        return self


class Documents(http.server.ThreadingHTTPServer):
    """The documents of proofmark's identities as did:web (binding, section 6), under the address `base`."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), DocumentHandler)
        self.base = f"127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class DocumentHandler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        parts = self.path.split("/")
        if len(parts) != 4 or parts[1] != "amp" or parts[3] != "did.json":
            return self.send_error(404)
        name, did = parts[2], f"did:web:{self.server.base.replace(':', '%3A')}:amp:{parts[2]}"
        secret = hashlib.sha256(b"proofmark/amp-core/agreement/" + name.encode()).digest()
        own = amp_keys.Keys(amp_keys.named(name).seed, secret)
        entry = lambda fragment, kind, code, key: {
            "id": f"{did}#{fragment}", "type": kind, "controller": did, "publicKeyMultibase": amp_keys.multibase(code, key),
        }  # fmt: skip
        signing = entry("key-1", "Ed25519VerificationKey2020", amp_keys.ED, own.public)
        agreement = entry("agreement-1", "X25519KeyAgreementKey2020", amp_keys.X, own.x_public)
        document = {
            "id": did, "verificationMethod": [signing, agreement], "authentication": [signing["id"]],
            "assertionMethod": [signing["id"]], "keyAgreement": [agreement["id"]],
        }  # fmt: skip
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/did+json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def target_yaml(peer, extra):
    """The target file. Only this function depends on its format."""
    keys = {"protocol": "amp-core", "url": peer.url, "tcp": peer.tcp, "level": "full"}
    settings, features = {"did": peer.did}, {"did-documents": True}
    for key, value in extra.items():
        if key == "role":
            features["relay"] = value in ("relay", "both")
        elif key in ("level", "transports", "limits", "features"):
            keys[key] = value
        else:
            settings[key] = value
    keys["settings"] = settings
    keys["features"] = {**features, **keys.get("features", {})}
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in keys.items())


def check(options, peer, extra, more):
    """(exit code, record or None, errors) of one run."""
    with tempfile.TemporaryDirectory() as out:
        target = Path(out) / "target.yaml"
        target.write_text(target_yaml(peer, extra))
        command = [options.binary, "check", "--target", str(target), "--out", out, "--quiet", "--timeout", options.timeout]
        if options.suites:
            command += ["--suites", options.suites]
        code, record, errors = sweeping.run(command + list(more) + list(options.argument), out, options.limit)
        if options.keep and record is not None:
            sweeping.keep(record, options.keep, peer.arguments)
        return code, record, errors


def explore(options, peer, extra, spellings, findings):
    with tempfile.TemporaryDirectory() as out:
        target = Path(out) / "target.yaml"
        target.write_text(target_yaml(peer, extra))
        command = [options.binary, "--target", str(target), *(["--suites", options.suites] if options.suites else [])]
        found = sweeping.explore(command, out, options.explore, options.seed, spellings, findings, options.limit)
        if options.keep:
            sweeping.keep_cases(out, options.keep, peer.arguments)
        return found


def correct(options, name, arguments, extra, more):
    with Peer(arguments) as peer:
        if options.explore:
            code, result, errors = explore(options, peer, extra, "random" in name, 50)
            found, line = sweeping.explored(peer, code, result, errors)
            return name, code, found, line
        code, record, errors = check(options, peer, extra, more)
        narrow = any(w in more for w in ("--requirement", "--only"))
        found = sweeping.findings(peer, code, record, errors, "amp-core", narrow)
    return name, code, found, record["summary"]["cases"] if record else {}


def mutant(options, entry):
    """A bug that the cases of its requirements do not show may be noticed under others, so then all cases run."""
    if options.explore and options.explore_alone:
        return mutant_explored(options, entry, "", 0)
    found = mutant_once(options, entry, options.whole)
    if not (found[1] or options.whole or options.quick):
        found = mutant_once(options, entry, True)
    if not options.explore:
        return *found, None
    return (*found, "suites") if found[1] else mutant_explored(options, *found[0:1], *found[2:4])


def mutant_explored(options, entry, states, took):
    arguments, extra = mutant_at(options, entry)
    started = time.monotonic()
    with Peer(arguments) as peer:
        code, result, errors = explore(options, peer, extra, True, 1)
    caught, more = sweeping.discovered(result, errors, entry["breaks"])
    return entry, bool(caught), states + more, took + time.monotonic() - started, "exploration" if caught else "neither"


def mutant_at(options, entry):
    """The arguments of the server with a bug, and what its target file says besides."""
    arguments = ["--mutant", entry["name"]]
    if entry["role"] != "agent":
        arguments += ["--role", entry["role"]]
    if entry["shows"] in ("initiator", "clock"):
        arguments.append("--control")
    extra = {"features": {"initiator": True}} if entry["shows"] == "initiator" else {}
    for choice in entry["needs"]:
        extra |= options.choices[choice]["target"]
    if entry["claims"]:
        extra["features"] = extra.get("features", {}) | dict.fromkeys(entry["claims"], True)
    if entry["role"] != "agent":
        extra["role"] = "relay"
    return arguments, extra


def mutant_once(options, entry, whole):
    arguments, extra = mutant_at(options, entry)
    more = ["--profile", entry["profile"]]
    if not whole:
        for requirement in entry["breaks"]:
            more += ["--requirement", requirement]
    started = time.monotonic()
    with Peer(arguments) as peer:
        code, record, errors = check(options, peer, extra, more)
    took = time.monotonic() - started
    if record is None:
        return entry, entry["fatal"] and code not in (0, -1), f"no record, exit {code}: {errors[-300:]}", took
    caught, states, elsewhere = sweeping.outcome(record, "amp-core", entry["breaks"])
    if elsewhere and not caught:
        states += f"; noticed under {', '.join(elsewhere[:6])}"
        return entry, True, states, took
    return entry, bool(caught) or (entry["fatal"] and code != 0), f"exit {code}: {states}", took


def library(options, entry):
    """(name, wrong verdicts) of one library."""
    name, arguments, cases, wrong = entry
    with tempfile.TemporaryDirectory() as out:
        command = [options.binary, "check", "--adapter", f"{LIBRARY} {arguments}", "--protocol", "amp-core", "--level", "binding"]
        command += ["--out", out, "--quiet"] + (["--suites", options.suites] if options.suites else [])
        command += [word for case in cases for word in ("--only", case)]
        _, record, errors = sweeping.run(command, out, options.limit)
        if record is None:
            return name, [("-", "no record", errors[-500:])]
    found = sweeping.accusations(record, "amp-core")
    if wrong:
        return name, [] if any(verdict == "fail" for _, verdict, _ in found) else [("-", "undetected", arguments)]
    if record["summary"]["cases"].get("pass", 0) < 20:
        found.append(("-", "hardly anything passed", json.dumps(record["summary"]["cases"])))
    return name, found


def named(value):
    """KEY=VALUE of --set, VALUE as JSON if it is."""
    key, _, text = value.partition("=")
    try:
        return key, json.loads(text)
    except ValueError:
        return key, text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sweeping.common_arguments(parser, "how many servers with a bug, without the slow ones, or all")
    sweeping.exploring_arguments(parser)
    parser.add_argument("--disputed", action="store_true", help="choices too that the register can be read against, and pending ones")
    parser.add_argument("--shows", help="bugs that show there: any, http, ws, tcp, relay, poll, initiator, clock, parallel; with commas")
    parser.add_argument("--profile", help="bugs of this profile only: lenient or strict")
    parser.add_argument("--entries", action="store_true", help="choices that were reported as violations once, with few cases each")
    parser.add_argument("--libraries", action="store_true", help="libraries behind an adapter as well")
    parser.add_argument("--whole", action="store_true", help="run all cases, not only those of the requirements that a bug breaks")
    parser.add_argument("--quick", action="store_true", help="never run all cases for a bug")
    parser.add_argument("--no-slow", action="store_true", help="without the bugs that are visible only after many seconds")
    parser.add_argument("--set", action="append", default=[], help="KEY=VALUE in every target file")
    parser.add_argument("--argument", action="append", default=[], help="further argument of proofmark check")
    parser.add_argument("--timeout", default="20s")
    parser.add_argument("--limit", type=int, default=900, help="seconds for one run")
    parser.add_argument("--keep", help="folder in which the records are kept, and the cases that --explore finds")
    options = parser.parse_args()
    tally = sweeping.Tally()
    wanted = lambda name: not options.only or any(part in name for part in options.only)
    more = [word for glob in options.case for word in ("--only", glob)]
    always = dict(named(v) for v in options.set)
    choices = options.choices = {c["name"]: c for c in sweeping.listing(SERVER, "--list-choices")}
    runs = []
    if options.random:
        runs = [("the default choices", [], {}, more), ("strict", ["--preset", "strict"], {}, more + ["--profile", "strict"])]
        runs = [run for run in runs if wanted(run[0])]
        for n in range(options.random):
            preset = f"random:{options.seed + n}"
            shown = json.loads(subprocess.run(SERVER + ["--preset", preset, "--show", "--json"], capture_output=True, text=True, check=True).stdout)
            # Explored, every second one is a relay too; the cases about relays run at the single choices.
            is_relay = options.explore and n % 2 == 1
            role, extra = (["--role", "both"], {"role": "both"}) if is_relay else ([], {})
            runs.append((f"{preset} ({' '.join(role + shown['choices'])})", ["--preset", preset, *role], {**shown["target"], **extra}, more))
    if options.random or options.singles or options.entries:
        if wanted("proofmark by did:web"):
            web = {"identities": "did:web", "did_web_base": Documents().base}
            # Documents that are fetched would let the messages of a connection overtake each other in the peer, and an end its chunks.
            in_turn = ["--choice", "tcp-one-at-a-time", "--choice", "ws-one-at-a-time"] if options.explore else []
            runs.append(("proofmark by did:web", in_turn, web, ["--only", "amp-core/encryption*", "--only", "amp-core/envelope#*"]))
        # When instructed to send, the peers only POST, for any scheme of the address.
        for name in ("", "to-as-array"):
            words = ["--control"] + (["--choice", name] if name else [])
            if wanted("initiator" + name):
                cases = ["--only", "amp-core/binding-initiator*"]
                runs.append((f"an initiator {name}", words, {"features": {"initiator": True}}, cases))
    if options.singles:
        for choice in choices.values():
            if choice["default"] or not wanted(choice["name"]) or ((choice["disputed"] or choice["pending"]) and not options.disputed):
                continue
            role = ["--role", "both"] if choice["role"] == "relay" else []
            extra = {**choice["target"], **({"role": "relay"} if role else {})}
            if choice["role"] == "initiator":
                role, extra = ["--control"], {**extra, "features": {"initiator": True}}
            mark = " DISPUTED" if choice["disputed"] else " PENDING" if choice["pending"] else ""
            runs.append((choice["name"] + mark, ["--choice", choice["name"], *role], extra, more))
    if options.entries:
        for name, picked, cases in ENTRIES:
            words = [word for choice in picked for word in ("--choice", choice)]
            extra = {key: value for choice in picked for key, value in choices[choice]["target"].items()}
            if wanted(name):
                runs.append((name, words, extra, [word for case in cases for word in ("--only", f"amp-core/{case}")]))
    jobs = [(options, n, a, {**always, **e}, m) for n, a, e, m in runs]
    for result in sweeping.in_parallel(options.jobs, correct, jobs):
        tally.server(*result)
    libraries = [(options, entry) for entry in LIBRARIES if options.libraries and wanted(entry[0])]
    for result in sweeping.in_parallel(options.jobs, library, libraries):
        tally.library(*result)
    # Those that show in a library are rows of LIBRARIES.
    mutants = [m for m in sweeping.listing(SERVER, "--list-mutants") if wanted(m["name"]) and m["shows"] != "library"]
    if options.shows:
        mutants = [m for m in mutants if m["shows"] in options.shows.split(",")]
    mutants = sweeping.of_kinds(mutants, options)
    if options.profile:
        mutants = [m for m in mutants if m["profile"] == options.profile]
    if options.no_slow or options.mutants != "all":  # a sample has to be fast
        mutants = [m for m in mutants if not m["slow"]]
    known = sweeping.survivors(options.survivors)
    jobs = [(options, m) for m in sweeping.sample(mutants, options.mutants, options.seed)]
    for entry, caught, states, took, how in sweeping.in_parallel(options.jobs, mutant, jobs):
        tally.bug(entry, caught, states, took, known, f"{entry['profile']}, {entry['shows']}", how)
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())

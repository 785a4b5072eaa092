#!/usr/bin/env python3
"""Runs proofmark against the smallest implementations that somebody would write: each is granted what it is, and accused of
nothing that it does right.

    python3 peers/minimal.py --binary target/release/proofmark [--suites suites] [--only NAME]

For each target: the exit code, the outcome of the levels, and the requirements that are reported as violated. No case may end
with `error`. Standard library only; the rows of amp-core need PyNaCl and are left out without it.
"""

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent

# Its own paths, wrapper of a note, names of members and name of a count.
OWN_NAMES = """protocol: agentic
url: "http://127.0.0.1:{port}"
second-instance: "http://127.0.0.1:{second}"
level: L2
routes:
  deposit: { method: POST, path: "/spaces/{project}/notes", body: { note: "{package}", by: proofmark } }
  pull-specific: { path: "/notes/{package_id}" }
  pull-latest: { path: "/spaces/{project}/notes", query: { limit: "{limit}" } }
  pull-relevant: { path: "/spaces/{project}/notes", query: { mode: relevant, query: "{query}", limit: "{limit}" } }
  orient: { path: "/spaces/{project}/overview" }
  assert-fact: { path: "/spaces/{project}/statements" }
  query-facts:
    path: "/spaces/{project}/statements"
    query: { subject: "{subject}", relation: "{predicate}", as_of: "{as_of}", include_ended: "{include_ended}", limit: "{limit}" }
  invalidate-fact:
    path: "/spaces/{project}/statements"
    query: { subject: "{subject}", relation: "{predicate}", object: "{object}" }
names:
  package: { content_md: markdown, handoff_note: note_for_next }
  fact: { fact_id: key, predicate: relation, value: object, valid_from: since, valid_to: until }
places:
  count: [/closed]
"""

PLAIN = 'protocol: agentic\nurl: "http://127.0.0.1:{port}"\nsecond-instance: "http://127.0.0.1:{second}"\n'

CORE_ONLY = [
    word
    for part in ("batch", "streams", "documents", "credentials", "delegation", "extension")
    for word in ("--choice", f"without-{part}")
]


class Row:
    """A target: how it is started, the target file, and what the run has to report."""

    def __init__(self, name, command, target="", adapter=False, arguments=(), code=0, grants=(), violated=(), nacl=False):
        self.name, self.command, self.target, self.adapter = name, command, target, adapter
        self.arguments, self.code, self.grants, self.violated, self.nacl = arguments, code, dict(grants), set(violated), nacl


ROWS = [
    Row("agentic: packages and facts", ["agentic_minimal.py"], PLAIN, grants={"L1": "granted", "L2": "granted"}),
    Row("agentic: own names, paths and bodies", ["agentic_minimal.py", "--names"], OWN_NAMES, grants={"L2": "granted"}),
    Row(
        "agentic: plain types only",
        ["agentic_minimal.py", "--plain-types"],
        PLAIN,
        code=1,
        grants={"L1": "refused"},
        # The types, and what has a row for each of them.
        violated=[*(f"AGENTIC-6.3-{number:02}" for number in range(2, 9)), "AGENTIC-4-04", "AGENTIC-5.6-01", "AGENTIC-5.6-02", "AGENTIC-5.6-03"],
    ),
    Row(
        "agentic: keeps its own times",
        ["agentic_minimal.py", "--own-times"],
        PLAIN,
        code=1,
        grants={"L1": "granted", "L2": "refused"},
        violated=["AGENTIC-7.1-14", "AGENTIC-8.6-08"],
    ),
    Row(
        "amp-core: core only, HTTP only, replies in the response",
        ["amp_server.py", "--http-only", *CORE_ONLY],
        'protocol: amp-core\nurl: "http://127.0.0.1:{port}"\nlevel: core\n',
        grants={"core": "granted"},
        nacl=True,
    ),
    Row(
        "amp-core: library without optional members of results",
        ["amp_library.py"],
        adapter=True,
        arguments=["--protocol", "amp-core", "--level", "core"],
        # It lacks operations, so that some demands stay open; it is accused of nothing.
        code=3,
        grants={"core": "undecided"},
        nacl=True,
    ),
]


class Server:
    """A server on a free port, for the duration of a `with` block."""

    def __init__(self, command):
        self.command = [sys.executable, str(HERE / command[0]), *command[1:]]

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        file = Path(self.folder.name) / "port"
        self.words = (Path(self.folder.name) / "stderr").open("w+")
        command = [*self.command, "--port", "0", "--port-file", str(file)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=self.words)
        for _ in range(400):
            said = file.read_text().strip() if file.exists() else ""
            if said:
                # The AMP server writes a whole line.
                self.port = said if said.isdigit() else said.split()[1].rpartition(":")[2]
                return self
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise SystemExit(f"{' '.join(command)} does not start: {self.said()}")

    def said(self):
        self.words.seek(0)
        return self.words.read()[-2000:]

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.words.close()
        self.folder.cleanup()


def run(options, arguments):
    with tempfile.TemporaryDirectory() as out:
        command = [options.binary, "check", *arguments, "--out", out, "--quiet", "--timeout", "20s"]
        command += ["--suites", options.suites] if options.suites else []
        done = subprocess.run(command, capture_output=True, text=True, timeout=900)
        report = Path(out) / "report.json"
        if options.keep and report.exists():
            Path(options.keep).write_bytes(report.read_bytes())
        return done.returncode, json.loads(report.read_text()) if report.exists() else None, done.stderr


def differences(row, code, record, errors):
    """How the run differs from what the target deserves."""
    if record is None:
        return [f"exit {code}, no record: {errors[-500:]}"]
    found = []
    if code != row.code:
        found.append(f"exit {code} instead of {row.code}: {record['summary']['conclusion']}")
    protocol = record["protocols"][0]
    outcomes = {level["level"]: level for level in protocol["levels"]}
    for level, expected in row.grants.items():
        if outcomes[level]["outcome"] != expected:
            because = "; ".join(f"{b['requirement']} {b['verdict']} {b.get('why', '')[:120]}" for b in outcomes[level]["because"][:8])
            found.append(f"{level} is {outcomes[level]['outcome']} instead of {expected}: {because}")
    violated = {entry["id"] for entry in protocol["requirements"] if entry["verdict"] == "fail"}
    found += [f"{requirement} is not reported" for requirement in sorted(row.violated - violated)]
    for requirement in sorted(violated - row.violated):
        cases = [
            (case["id"], finding)
            for case in protocol["cases"]
            for finding in case.get("findings", [])
            if finding["requirement"] == requirement and finding["verdict"] == "fail"
        ]
        case, finding = cases[0] if cases else ("?", {"expected": "?", "observed": "?"})
        found.append(f"accused of {requirement} by {case}: expected {finding['expected'][:160]}, observed {finding['observed'][:160]}")
    found += [f"error: {case['id']}: {case['because'][:200]}" for case in protocol["cases"] if case["verdict"] == "error"]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="target/release/proofmark")
    parser.add_argument("--suites", help="suites to use instead of the embedded ones")
    parser.add_argument("--only", default="", help="rows with this in the name")
    parser.add_argument("--keep", help="copy the last record to this file")
    options = parser.parse_args()
    has_nacl = importlib.util.find_spec("nacl") is not None
    wrong = 0
    for row in ROWS:
        if options.only not in row.name:
            continue
        if row.nacl and not has_nacl:
            print(f"NOT RUN {row.name}: PyNaCl is not installed")
            continue
        if row.adapter:
            command = " ".join([sys.executable, str(HERE / row.command[0]), *row.command[1:]])
            code, record, errors = run(options, ["--adapter", command, *row.arguments])
            said = ""
        else:
            with Server(row.command) as server, Server(row.command) as second, tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "target.yaml"
                file.write_text(row.target.replace("{port}", server.port).replace("{second}", second.port))
                code, record, errors = run(options, ["--target", str(file), *row.arguments])
                said = server.said()
        found = differences(row, code, record, errors)
        if said:
            found.append(f"the target wrote to its standard error: {said[-300:]}")
        wrong += bool(found)
        print(f"{'WRONG' if found else 'ok'} {row.name}: exit {code}", flush=True)
        for line in found[:20]:
            print(f"    {line}", flush=True)
    print(f"{wrong} of {len(ROWS)} targets are not reported as what they are")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

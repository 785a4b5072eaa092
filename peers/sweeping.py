"""What the sweeps of all protocols share: a server for a while, one run of proofmark, its verdicts, known survivors, and the
summary. Standard library only; servers listen on loopback and are ended.
"""

import concurrent.futures
import json
import random
import subprocess
import tempfile
import time
from pathlib import Path


class Peer:
    """A server on free ports, for the duration of a `with` block; `line` is what it wrote to its port file."""

    def __init__(self, server, arguments):
        self.server, self.arguments = server, list(arguments)

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        file = Path(self.folder.name) / "port"
        command = [*self.server, "--port", "0", "--port-file", str(file), *self.arguments]
        # A file, not a pipe: a pipe without a reader blocks the server once it is full.
        self.words = (Path(self.folder.name) / "stderr").open("w+")
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=self.words)
        for _ in range(400):
            if file.exists() and file.read_text().strip():
                self.line = file.read_text().strip()
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


def listing(server, word):
    """The choices or the bugs of a server, as it lists them."""
    return json.loads(subprocess.run([*server, word, "--json"], capture_output=True, text=True, check=True).stdout)


def run(command, out, limit, environment=None):
    """(exit code, record or None, errors) of `command`, which writes its report to the folder `out`; -1 if it does not end."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, env=environment)
    except subprocess.TimeoutExpired:
        return -1, None, f"no end within {limit} s"
    report = Path(out) / "report.json"
    return done.returncode, json.loads(report.read_text()) if report.exists() else None, done.stderr


def explore(command, out, time, seed, spellings, findings, limit=900, environment=None):
    """What `proofmark explore` finds within `time`: (exit code, result or None, errors). `command` has the binary and the target;
    the exploration ends after so many `findings`."""
    words = ["--out", out, "--quiet", "--timeout", "20s", "--for", time, "--seed", str(seed), "--new-ids", "--findings", str(findings)]
    command = [command[0], "explore", *command[1:], *words, *(["--spellings"] if spellings else [])]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, env=environment)
    except subprocess.TimeoutExpired:
        return -1, None, f"no end within {limit} s"
    result = Path(out) / "explore.json"
    return done.returncode, json.loads(result.read_text()) if result.exists() else None, done.stderr


def explored(peer, code, result, errors):
    """What is wrong with an exploration of a correct server, and a line about it."""
    if result is None:
        return [("-", "no result", errors[-500:])], ""
    found = [(f["case"], "found", f"{f['requirement']}: expected {str(f['expected'])[:200]}, observed {str(f['observed'])[:300]}") for f in result["findings"]]
    said = peer.said()
    if peer.process.poll() is not None:
        found.append(("-", "the server ended", said[-500:]))
    elif said:
        found.append(("-", "an exception in the server, which has to be fixed first", said[-700:]))
    if code != 0 and not found:
        found.append(("-", f"exit {code}", f"{result['end']} {errors[-300:]}"))
    reached = sum(1 for count in result["transitions"].values() if count)
    line = f"{result['seconds']:.0f} s, {result['judged']} of {result['sequences']} sequences judged, {result['requests']} requests, {reached} of {len(result['transitions'])} transitions"
    return found, line


def discovered(result, errors, breaks):
    """(requirements of `breaks` or others that an exploration of a server with a bug names, as text)."""
    if result is None:
        return [], f"no result: {errors[-200:]}"
    named = sorted({f["requirement"] for f in result["findings"]})
    other = [name for name in named if name not in breaks]
    return named, f"; explored {result['seconds']:.0f} s, {result['judged']} sequences" + (f", under other requirements: {' '.join(other)}" if other else "")


def keep(record, folder, arguments):
    """Writes a record to a folder, under the arguments of its server."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    name = "-".join(arguments).replace("--", "").replace(":", "-").replace("/", "-")[:120] or "default"
    (Path(folder) / f"{name}.json").write_text(json.dumps(record))


def keep_cases(out, folder, arguments):
    """Copies the cases of the findings of an exploration to a folder, under the arguments of its server."""
    name = "-".join(arguments).replace("--", "").replace(":", "-").replace("/", "-")[:120] or "default"
    for case in Path(out).glob("*.yaml"):
        if case.name != "target.yaml":
            kept = Path(folder) / name
            kept.mkdir(parents=True, exist_ok=True)
            (kept / case.name).write_bytes(case.read_bytes())


def protocol_of(record, slug):
    return next((p for p in record["protocols"] if p["protocol"] == slug), {"cases": [], "requirements": []})


def accusations(record, slug):
    """(case, verdict, what) of each failure that proofmark reports: false positives, for a correct server."""
    found = []
    for case in protocol_of(record, slug)["cases"]:
        if case["verdict"] in ("fail", "error"):
            finding = next((f for f in case.get("findings", []) if f["verdict"] == case["verdict"]), None)
            what = str(case.get("because", ""))[:300]
            if finding:
                place = finding.get("path") or finding.get("at") or ""
                what = f"{finding['requirement']} at {place}: expected {str(finding['expected'])[:200]}, observed {str(finding['observed'])[:300]}"
            found.append((case["id"], case["verdict"], what))
    return found


def findings(peer, code, record, errors, slug, narrow, least=20):
    """What is wrong with the run against a correct server. `narrow`: only some cases ran, so few may have passed."""
    if record is None:
        return [("-", "no record", errors[-500:])]
    found = accusations(record, slug)
    said = peer.said()
    if peer.process.poll() is not None:
        found.append(("-", "the server ended", said[-500:]))
    elif said:
        found.append(("-", "an exception in the server, which has to be fixed first", said[-700:]))
    if code not in (0, 3) and not found:
        found.append(("-", f"exit {code}", str(record["summary"].get("conclusion", errors[-300:]))))
    cases = record["summary"]["cases"]
    if cases.get("pass", 0) < least and not narrow:
        found.append(("-", "hardly anything passed", json.dumps(cases)))
    return found


def outcome(record, slug, breaks):
    """(requirements of `breaks` that failed, their states as text, other requirements that failed)."""
    requirements = protocol_of(record, slug)["requirements"]
    rows = {r["id"]: r for r in requirements if r["id"] in breaks}
    caught = sorted(i for i, r in rows.items() if r["verdict"] == "fail" or (r["keyword"].startswith("SHOULD") and r["verdict"] == "warn"))
    states = ", ".join(f"{i} {r['verdict']}{'/' + r['reason'] if r.get('reason') else ''}" for i, r in sorted(rows.items()))
    return caught, states, sorted({r["id"] for r in requirements if r["verdict"] == "fail"} - set(caught))


def survivors(path):
    """Known undetected bugs, each with its reason."""
    known = {}
    for line in Path(path).read_text().splitlines() if path else ():
        if line.strip() and not line.startswith("#"):
            name, _, reason = line.partition(":")
            known[name.strip()] = reason.strip()
    return known


def sample(mutants, count, seed):
    """`count` of the bugs by chance, or all of them."""
    if count == "all":
        return mutants
    mutants = list(mutants)
    random.Random(seed).shuffle(mutants)
    return mutants[: int(count)]


def of_kinds(mutants, options):
    """The bugs to run. Those with a kind show in sequences, which no case need have, so they run with --kind or --explore alone."""
    if options.kind:
        return [m for m in mutants if m["kind"] in options.kind or "all" in options.kind]
    return mutants if options.explore else [m for m in mutants if not m["kind"]]


def in_parallel(jobs, function, items):
    """The results of `function` for each item, as they come."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for job in concurrent.futures.as_completed([pool.submit(function, *item) for item in items]):
            yield job.result()


class Tally:
    """Prints and counts results."""

    def __init__(self):
        self.started = time.monotonic()
        self.servers = self.bugs = self.accused = self.missed = self.passed = 0
        self.timed = {}
        self.how = {}

    def server(self, name, code, found, cases, counted=True):
        """A correct server, with what is wrong."""
        self.servers += counted
        if found:
            self.accused += 1
            print(f"FALSE POSITIVE with {name} (exit {code}):")
            for case, verdict, what in found[:12]:
                print(f"    {verdict} {case}\n        {what}", flush=True)
            return
        self.passed += 1
        counts = cases if isinstance(cases, str) else ", ".join(f"{cases.get(word)} {word}" for word in ("pass", "warn", "inconclusive"))
        print(f"ok {name}: exit {code}, {counts}", flush=True)

    def library(self, name, found):
        """A library, with its wrong verdicts."""
        self.accused += bool(found)
        self.passed += not found
        print(f"{'WRONG VERDICTS for a library' if found else 'ok library'}: {name}", flush=True)
        for case, verdict, what in found[:12]:
            print(f"    {verdict} {case}\n        {what}", flush=True)

    def bug(self, entry, caught, states, took, known, label, how=None):
        """A server with a bug. Survivors whose reason begins with `at times: ` may be caught. `how`: suites, exploration or neither."""
        self.bugs += 1
        if how:
            self.how.setdefault(how, []).append(entry["name"])
            print(f"{how}: {entry['name']} ({took:.0f} s){states if how == 'exploration' else ''}", flush=True)
        name, reason = entry["name"], known.get(entry["name"])
        self.timed[name] = took
        if caught and reason is not None and not reason.startswith("at times: "):
            self.missed += 1
            print(f"NOW DETECTED: {name}: remove it from the list of survivors")
        elif caught:
            self.passed += 1
        elif reason is not None:
            self.passed += 1
            print(f"undetected as known: {name}: {reason}")
        else:
            self.missed += 1
            print(f"UNDETECTED {name} ({label}): {entry['about']}\n    {states}", flush=True)

    def end(self):
        """The last lines; the exit code."""
        slowest = max(self.timed, key=self.timed.get, default=None)
        if slowest:
            print(f"slowest bug: {slowest}, {self.timed[slowest]:.1f} s")
        for how, names in sorted(self.how.items()):
            print(f"detected by {how}: {len(names)} of {self.bugs}: {' '.join(sorted(names))}")
        seconds = time.monotonic() - self.started
        summary = f"{self.servers} correct servers, {self.accused} with false positives; {self.bugs} with a bug, {self.missed} undetected; {seconds:.0f} s"
        print(f"{summary}: {self.passed} passed, {self.accused + self.missed} failed")
        return 1 if self.accused or self.missed else 0


def common_arguments(parser, mutants, jobs=2):
    """The arguments of every sweep."""
    parser.add_argument("--binary", default="target/release/proofmark")
    parser.add_argument("--suites", help="suites to use instead of the embedded ones")
    parser.add_argument("--random", type=int, default=12, help="number of random sets of choices")
    parser.add_argument("--seed", type=int, default=1, help="first mixture, and which bugs a sample has")
    parser.add_argument("--singles", action="store_true", help="each choice alone as well")
    parser.add_argument("--only", action="append", default=[], help="choices or bugs with this in the name; repeatable")
    parser.add_argument("--mutants", default="24", help=mutants)
    parser.add_argument("--jobs", type=int, default=jobs)
    parser.add_argument(
        "--survivors", help="file with names of known undetected bugs, each with a reason, after 'at times: ' if detection is random"
    )
    parser.add_argument("--case", action="append", default=[], help="correct servers: only cases like this; repeatable")


def exploring_arguments(parser):
    """The arguments of the sweeps of protocols that have a model."""
    parser.add_argument("--explore", metavar="TIME", help="explore correct servers for TIME instead, and bugs that the cases do not detect")
    parser.add_argument("--explore-alone", action="store_true", help="with --explore: bugs are only explored, no case runs")
    parser.add_argument("--kind", action="append", default=[], help="bugs of this kind only, or all that have one; repeatable")

#!/usr/bin/env python3
"""Self-check of the task-amp peer: fixed conversations that every correct server answers in the same way, whatever its choices, and
that every choice and every bug is used somewhere.

    python3 peers/task_selfcheck.py [--random 10] [--only NAME]

Last line: `N passed, M failed`. Standard library only; needs git.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from fnmatch import fnmatchcase
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import sweeping  # noqa: E402
import task_scenario as messages  # noqa: E402
from task_mutants import MUTANTS  # noqa: E402
from task_options import CHOICES, GROUPS  # noqa: E402

SERVER = [sys.executable, str(HERE / "task_server.py")]
CODE = "".join((HERE / f"task_{n}.py").read_text() for n in ("rules", "bus", "roles", "access", "server", "git"))
passed, failed = 0, 0


def check(name, holds, shown=""):
    global passed, failed
    if holds:
        passed += 1
    else:
        failed += 1
        print(f"FAILED {name}: {shown}", flush=True)


def unused():
    """Choices and bugs that no code asks for."""
    words = {w for call in re.findall(r'bug\(((?:f?"[^"]*"(?:,\s*)?)+)\)', CODE) for w in re.findall(r'"([^"]*)"', call)}
    patterns = [re.sub(r"\{[^}]*\}", "*", w) for w in words]
    places = {"envelope", "task_dispatch", "task_result", "review_request", "review_verdict", "escalation", "writer", "branch", "repository"}
    for name, entry in MUTANTS.items():
        used = entry.place or any(fnmatchcase(name, p) for p in patterns)
        used = used or entry.skip and all(s.split(".")[0] in places for s in entry.skip)
        check(f"bug {name}", used, "no code checks it")
    for word in words:
        check(f"code of {word}", "{" in word or word in MUTANTS, "no bug has this name")
    for name, choice in CHOICES.items():
        group = GROUPS[choice.group]
        bare = name.removeprefix("takes-").removeprefix("refuses-")
        levels = f'"{choice.group.removesuffix("-severity")}"' in CODE
        asked = f'"{name}"' in CODE or f'"{bare}"' in CODE or f'pick("{choice.group}")' in CODE or levels
        rest = [c for c in group if c.name != name and f'"{c.name}"' in CODE]
        check(f"choice {name}", asked or len(rest) == len(group) - 1, "no code asks for it")


def bus(words):
    """What every bus does."""
    with sweeping.Peer(SERVER, [*words, "--roles", "system"]) as peer:
        client, name = messages.Client(peer.line.split()[1]), " ".join(words) or "default"
        said = client.submit(messages.dispatch())
        check(f"{name}: stores", 200 <= said < 300 and client.messages() == [messages.dispatch()], said)
        check(f"{name}: refuses another under the id", client.submit(messages.dispatch(description="x")) in (409,))
        check(f"{name}: keeps the first", client.messages() == [messages.dispatch()])
        for what, change in (("version", {"protocol_version": "AMP/2.0"}), ("route", {"to": "reviewer"}), ("time", {"timestamp": "yesterday"})):
            check(f"{name}: refuses a bad {what}", 400 <= client.submit({**messages.dispatch(1), **change}) < 500)
        check(f"{name}: refuses another writer", client.submit(messages.dispatch(2), "reviewer") in (403, 422))
        before = len(client.errors())
        check(f"{name}: refuses what is not JSON", client.call("POST", "/messages", "coordinator", raw=b'{"a": /* */ 1}')[0] == 400)
        check(f"{name}: logs it", len(client.errors()) > before)
        client.advance(290)
        check(f"{name}: reports nothing at 290 s", not client.messages(kind="escalation"))
        client.advance(12)
        found = client.messages(kind="escalation")
        check(f"{name}: reports at 302 s", [m["payload"]["affected_msgs"] for m in found] == [[messages.dispatch()["msg_id"]]], found)
        other = "T-2026-045"
        client.submit(messages.dispatch(3, other))
        check(f"{name}: takes an ACK", client.ack(messages.dispatch(3, other), "executor") == 201)
        client.advance(1700)
        check(f"{name}: keeps quiet after an ACK", not client.messages(other, "escalation"))
        client.advance(102)
        found = client.messages(other, "escalation")
        check(f"{name}: reports silence", [m["payload"]["escalation_type"] for m in found] == ["heartbeat_timeout"], found)
        check(f"{name}: no exception", not peer.said(), peer.said()[-400:])


def coordinator(words):
    """What every coordinator does: rounds of rejections to the lock, and RESUME."""
    with sweeping.Peer(SERVER, [*words, "--roles", "coordinator,system"]) as peer:
        client, name = messages.Client(peer.line.split()[1]), " ".join(words) or "default"
        check(f"{name}: takes a plan", client.call("POST", "/tasks", body={"task_id": messages.TASK, "plan": messages.plan()})[0] == 201)
        check(f"{name}: waits for the approval", not client.messages())
        check(f"{name}: refuses a foreign approval", client.call("POST", f"/tasks/{messages.TASK}/approve", "executor")[0] in (403, 422))
        client.call("POST", f"/tasks/{messages.TASK}/approve")
        counts = []
        for n in range(1, 5):
            found = client.wait(n, kind="task_dispatch")
            if len(found) < n:
                break
            client.ack(found[-1], "executor")
            client.submit(messages.result(found[-1]["payload"]["subtasks"][0]["subtask_id"], n))
            requests = client.wait(n, kind="review_request")
            counts.append(requests[-1]["payload"]["reject_count"] if len(requests) == n else None)
            client.submit(messages.verdict("rejected", n))
        found = client.wait(1, kind="escalation")
        check(f"{name}: counts", counts in ([0, 1, 2], [0, 1, 2, 3]), counts)
        check(f"{name}: locks", [m["payload"]["escalation_type"] for m in found][-1:] == ["hallucination_lock"], found)
        check(f"{name}: stops", len(client.messages(kind="task_dispatch")) == len(counts))
        check(f"{name}: no exception", not peer.said(), peer.said()[-400:])


def everybody(words):
    """The whole loop on a repository."""
    with tempfile.TemporaryDirectory() as repo:
        run = lambda *w: subprocess.run(["git", "-C", repo, "-c", "user.name=t", "-c", "user.email=t@example.invalid", *w], check=True, capture_output=True)
        run("init", "-q", "-b", "main")
        (Path(repo) / "NOTES.txt").write_text("Notes.\n")
        run("add", "NOTES.txt")
        run("commit", "-q", "-m", "Begin")
        run("branch", "feature/work")
        with sweeping.Peer(SERVER, [*words]) as peer:
            client, name = messages.Client(peer.line.split()[1]), " ".join(words) or "default"
            client.call("POST", "/tasks", body={"task_id": messages.TASK, "plan": messages.plan(repo)})
            client.call("POST", f"/tasks/{messages.TASK}/approve")
            client.wait(1, kind="review_verdict", seconds=15)
            kinds = [m["type"] for m in client.messages() if m["type"] != "escalation"]
            check(f"{name}: the whole loop", kinds[:4] == ["task_dispatch", "task_result", "review_request", "review_verdict"], kinds)
            text = subprocess.run(["git", "-C", repo, "show", "feature/work:NOTES.txt"], capture_output=True, text=True, check=True).stdout
            check(f"{name}: the work is done", text.endswith("ok\n"), text)
            check(f"{name}: no exception", not peer.said(), peer.said()[-400:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--random", type=int, default=10)
    parser.add_argument("--only", help="presets with this in the name")
    options = parser.parse_args()
    unused()
    presets = [[], ["--preset", "tolerated"], ["--preset", "strictest"], *(["--preset", f"random:{n}"] for n in range(1, options.random + 1))]
    for words in presets:
        if options.only and options.only not in " ".join(words):
            continue
        for part in (bus, coordinator, everybody):
            part(words)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

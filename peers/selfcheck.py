#!/usr/bin/env python3
"""Check the peer itself: each choice against the specification and the rulings, each mutant for a visible difference.

    python3 peers/selfcheck.py [--only NAME]... [--quick] [--jobs N]

Part 1 starts the server once with each choice, with each preset and with some random ones, and checks the answers that
every legal server gives. Part 2 sends one fixed scenario to the server with and without each choice and each mutant: the answers must
differ, or the choice or mutant has no effect. Part 3 checks the trivial servers. Last line: N passed, M failed.
"""

import argparse
import json
import re
import socket
import subprocess
import sys
import threading
import time
import traceback
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from http.client import HTTPException
from pathlib import Path

from agentic_mutants import MUTANTS
from agentic_options import CHOICES, resolve
from agentic_server import make_server
from peer_client import (
    Client,
    acceptable_hashes,
    count_view,
    fact_view,
    facts_view,
    hash_view,
    hex_of,
    list_view,
    package_view,
    same,
    same_package,
    segment,
    texts,
)

HERE = Path(__file__).resolve().parent
BASE = datetime.now(timezone.utc).replace(microsecond=0) - timedelta(hours=2)


def at(**ago):
    return (BASE - timedelta(**ago)).strftime("%Y-%m-%dT%H:%M:%SZ")


class Running:
    """A server in this process, on its own port."""

    def __init__(self, choices, mutant=None, level="L3", keys=None):
        self.server = make_server(choices, mutant, level, keys)
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=lambda: self.server.serve_forever(poll_interval=0.01), daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class Findings:
    def __init__(self, where):
        self.where = where
        self.passed = 0
        self.failed = []

    def check(self, what, truth, observed=None):
        if truth:
            self.passed += 1
        else:
            self.failed.append(f"{self.where}: {what}: {str(observed)[:300]}")

    def equal(self, what, expected, observed):
        self.check(what, expected == observed, f"expected {expected!r}, observed {observed!r}")


def p_min(identity, project="proj_a", **more):
    return {
        "package_id": identity,
        "project_id": project,
        "relay_version": "0.1",
        "title": f"pm {identity}",
        "status": "complete",
        "package_type": "standard",
        "review_type": "none",
        "created_at": at(),
        "created_by": {"id": "pm-actor-a", "type": "agent"},
        **more,
    }


def p_full(identity, parent, project="proj_a", **more):
    return p_min(
        identity,
        project,
        **{
            "description": "the quick brown fox",
            "tags": ["zeta", "alpha"],
            "decisions_made": ["use byte order", "keep it"],
            "open_questions": ["what is a character?"],
            "handoff_note": "see notes",
            "estimated_next_actor": "human",
            "deliverables": [
                {"path": "docs/a.md", "type": "md", "hash": "sha256:00ff", "size_bytes": 18432, "x-lang": "en"}
            ],
            "parent_package_id": parent,
            "significance": 7,
            "content_md": "# Title",
            "topic": "retrieval",
            "artifact_type": "report",
            "created_by": {
                "id": "pm-actor-a",
                "type": "agent",
                "session_id": "sess_pm_1",
                "git_commit": "9f2c",
                "x-host": {"a": 1},
            },
            "future_field": {"n": 1, "s": "x", "l": [1, None, {}], "t": True},
            "x-trust-score": 0.87,
            "x-list": [],
            **more,
        },
    )


# --- Part 1: answers of every legal server ------------------------------------------------------------------------------


def smoke(port, choices, f):
    """About sixty requests. The asserts are those of the specification under the rulings of the lenient profile."""
    c = Client(port)
    reply = c.ask("GET", "/v1/conformance")
    if reply.status == 200:
        f.equal("11.5-02 protocol_version", "0.1", reply.json["protocol_version"])
        f.check("11.5-03 conformance_level", reply.json["conformance_level"] in ("L0", "L1", "L2", "L3"), reply.body)
        flags = reply.json.get("capabilities", {})
        f.check("11.5-04 capabilities", all(type(v) is bool for v in flags.values()), flags)
    else:
        f.equal("E68 no descriptor", 404, reply.status)
        flags = {}
    for project in ("proj_a", "proj_b"):
        reply = c.ask("POST", "/v1/projects", {"project_id": project, "name": project})
        f.check("E33 project-create", reply.ok or reply.status in (404, 405, 409, 501), reply.status)

    # Deposit and pull
    parent = p_min("pkg_parent", title="parent")
    f.check("8.1 deposit P-min", c.deposit(parent).status in (200, 201))
    full = p_full("pkg_full", "pkg_parent")
    reply = c.deposit(full)
    f.check("E32 deposit status", reply.status in (200, 201), reply.status)
    f.check(
        "9.1-10 Content-Type",
        (reply.header("Content-Type") or "").lower().startswith("application/json"),
        reply.headers,
    )
    returned = package_view(reply.json)
    f.equal("8.1-09 deposit returns the package", None, same_package(returned, full))
    good = acceptable_hashes(full)
    if returned and returned.get("storage_path"):
        good += acceptable_hashes({k: v for k, v in returned.items() if k not in ("content_hash", "contentHash")})
    digest = hash_view(reply, good)
    f.check("6.6-02 hash", digest in good, digest)
    reply = c.pull("pkg_full")
    f.equal("8.2-07 pull", 200, reply.status)
    f.equal("6-05 pull equals deposit", None, same_package(package_view(reply.json), full))
    again = hash_view(reply, good)
    f.check("6.6-10 hash of a later read", again in (None, digest), again)
    backwards = json.dumps(dict(reversed(full.items())), indent=3).encode()
    reply = c.ask("POST", "/v1/projects/proj_a/packages", backwards)
    f.check("11.2-04 identical deposit", reply.status in (200, 201), reply.status)
    f.equal("6.6-10 hash of an identical deposit", digest, hash_view(reply, good))
    for change in ({"description": "the quick brown fix"}, {"tags": ["alpha", "zeta"]}, {"x-trust-score": 0.88}):
        f.equal("11.2-05 other content", 409, c.deposit({**full, **change}).status)
    f.equal("8.1-12 the first one stays", None, same_package(package_view(c.pull("pkg_full").json), full))
    null_hash = acceptable_hashes(
        p_min("pkg_null", topic=None, created_by={"id": "a", "type": "human", "session_id": None})
    )
    reply = c.deposit(p_min("pkg_null", topic=None, created_by={"id": "a", "type": "human", "session_id": None}))
    f.check(
        "6.6-07 hash with nulls",
        reply.json.get("storage_path")
        or package_view(reply.json).get("storage_path")
        or hash_view(reply, null_hash) in null_hash,
        reply.body,
    )

    # Refusals
    missing = lambda r: r.status == 404 or (r.status == 200 and r.body.strip() == b"null")
    for what, edit in (
        ("6.1-22", {"title": "a" * 201}),
        ("6.1-21", {"title": ""}),
        ("6.1-26", {"status": "Complete"}),
        ("6.1-37", {"created_at": "2026-02-30T00:00:00Z"}),
        ("6.1-16", {"relay_version": "9.9"}),
        ("6.2-09", {"created_by": {"id": "a", "type": "bot"}}),
        ("6.3-11", {"package_type": "memo"}),
        ("6.4-18", {"significance": True}),
        ("6.5-01", {"deliverables": [{"type": "md"}]}),
        ("6.1-44", {"title": None}),
        ("6.4-04", {"tags": ["a", 2]}),
    ):
        reply = c.deposit(p_min("pkg_bad", **edit))
        f.equal(f"{what} refused", 400, reply.status)
        f.check(f"{what} nothing stored", missing(c.pull("pkg_bad")))
    for body in (b'{"package_id":', b"", b"[]", b"null", b'"x"', b"7", b'{"a":"\xff"}', b"[" * 5000, b'{"a":NaN}'):
        f.equal("9.1-12 broken body", 400, c.ask("POST", "/v1/projects/proj_a/packages", body).status)
    f.check("E08 lone surrogate", c.ask("POST", "/v1/projects/proj_a/packages", b'{"title":"\\ud800"}').status == 400)
    for size, status in ((200, {200, 201}), (201, {400})):
        f.check("6.1-23 two-byte letters", c.deposit(p_min(f"pkg_two_{size}", title="é" * size)).status in status)
    f.equal("6.1-23 201 emoji", 400, c.deposit(p_min("pkg_emoji", title="😀" * 201)).status)
    deep = p_min("pkg_deep")
    for _ in range(500):
        deep["x-deep"] = {"d": deep["x-deep"]} if "x-deep" in deep else {}
    reply = c.deposit(deep)
    f.check("12.1-01 an unknown member 500 levels deep", reply.status in (200, 201), reply.status)
    f.equal("12.1-01 it comes back", None, same_package(package_view(c.pull("pkg_deep").json), deep))

    # Ids
    for identity in (
        "note 7",
        "release:2026.01",
        "п-7",
        "🚀",
        "a+b",
        "100%41",
        "Case-A",
        "case-a",
        "x" * 256,
        "a;b",
        "e\u0301",
        "é",
    ):
        f.check(
            f"6.1-06 id {identity[:20]}", c.deposit(p_min(identity, title=f"t {identity[:20]}")).status in (200, 201)
        )
    for identity in (
        "note 7",
        "release:2026.01",
        "п-7",
        "🚀",
        "a+b",
        "100%41",
        "Case-A",
        "case-a",
        "x" * 256,
        "a;b",
        "e\u0301",
        "é",
    ):
        reply = c.pull(identity)
        f.check(
            f"6.1-06 pull {identity[:20]}",
            reply.status == 200 and package_view(reply.json)["title"] == f"t {identity[:20]}",
            reply.body[:100],
        )
    for identity in ("pkg_ful", "pkg_%", "pkg_ful_", "nothing"):
        f.check("8.2-10 no patterns", missing(c.pull(identity)))

    # Lists
    hours = [5, 1, 8, 3, 13, 2, 21]
    for n in hours:
        c.deposit(p_min(f"pkg_h{n}", "proj_b", created_at=at(hours=n), title=f"hour {n}"))
    reply = c.deposit(p_min("pkg_fr", "proj_b", created_at=at(hours=1).replace("Z", ".250Z"), title="hour fraction"))
    order = ["pkg_fr"] + [f"pkg_h{n}" for n in sorted(hours)]
    for limit, count in ((1, 1), (3, 3), (None, 5), (50, 8)):
        packages = list_view(c.latest("proj_b", limit).json)
        f.equal(f"8.2-01 latest, limit {limit}", order[:count], [p["package_id"] for p in packages])
    f.check("6-06 unknown members in lists", any(p.get("x-trust-score") == 0.87 for p in listed(c, "proj_a")))
    f.check("E65 odd limit", c.latest("proj_b", "abc").status < 500)
    f.check("E34 unknown project", c.latest("proj_none").status < 500)

    # Search
    reply = c.relevant("proj_a", "quick fox")
    if reply.status == 501:
        f.check("8.2-17 declared", not flags.get("hybrid_search") and not flags.get("semantic_search"), flags)
        f.check("10.2-09 the body names it", any("search" in t.lower() for t in texts(reply.json)), reply.body)
    else:
        f.equal("8.2-11 relevant", 200, reply.status)
        found = list_view(reply.json)
        f.check("8.2-13 best first", found and found[0]["package_id"] == "pkg_full", reply.body[:200])
        f.equal("8.2-12 a package", None, same_package(found[0], full))
        f.equal("8.2-14 own project", 0, len(list_view(c.relevant("proj_b", "quick fox").json)))
        f.check("8.2-15 without query", 400 <= c.ask("GET", "/v1/projects/proj_a/packages?mode=relevant").status < 500)

    # Orient
    reply = c.ask("GET", "/v1/projects/proj_a/orient?window_days=30")
    bundle = reply.json
    f.equal("8.3-01 orient", 200, reply.status)
    f.check(
        "8.3-02 project",
        "proj_a" in (bundle["project"].get("project_id"), bundle["project"].get("id")),
        bundle["project"],
    )
    f.check("8.3-03 recent_packages", all(p["project_id"] == "proj_a" for p in bundle["recent_packages"]), bundle)
    c.ask("POST", "/v1/projects", {"project_id": "proj_o", "name": "o"})
    f.check("8.3 deposit", c.deposit(p_full("pkg_lone", "pkg_parent", "proj_o")).ok)
    lone = c.ask("GET", "/v1/projects/proj_o/orient").json
    f.equal("8.3-04 a lone package", ["pkg_lone"], [p["package_id"] for p in lone["recent_packages"]])
    f.check(
        "8.3-08 open_questions", any("what is a character?" in list(texts(q)) for q in lone["open_questions"]), lone
    )
    f.equal("8.3-09 window_days", 30, bundle["window_days"])
    f.equal("8.3-10 default window", 14, c.ask("GET", "/v1/projects/proj_a/orient").json["window_days"])
    made = datetime.fromisoformat(bundle["generated_at"].replace("Z", "+00:00"))
    f.check(
        "8.3-11 generated_at", abs((made - datetime.now(timezone.utc)).total_seconds()) < 110, bundle["generated_at"]
    )

    facts(c, f)
    review(c, f)
    archive_and_export(c, f)
    for method in ("PUT", "PATCH"):
        f.check("6.6-16 edit", c.ask(method, "/v1/packages/pkg_full", {"title": "edited"}).status < 600)
    f.equal("6.6-16 the package stays", None, same_package(package_view(c.pull("pkg_full").json), full))
    racing(port, f)
    c.close()


def listed(c, project):
    """As many packages of the project as the server lists at once."""
    reply = c.latest(project, 1000)
    return list_view((reply if reply.ok else c.latest(project, 50)).json)


def facts(c, f):
    base = "/v1/projects/proj_a/facts"
    pair = {"subject": "s/1 é", "predicate": "p:q"}
    query = f"subject={segment(pair['subject'])}&predicate={segment(pair['predicate'])}"
    by = {"id": "kim", "type": "human"}
    for n, value in enumerate(("v1", "v2", "v3")):
        body = {
            **pair,
            "value": value,
            "valid_from": at(hours=9 - n),
            "confidence": 0.75,
            "tags": ["b", "a"],
            "asserted_by": by,
        }
        reply = c.ask("POST", base, body)
        f.check("E32 assert", reply.status in (200, 201), reply.status)
        fact = fact_view(reply.json)
        if fact:
            f.check("7.3-04 current", fact.get("valid_to") is None and fact["value"] == value, fact)
            f.check(
                "8.6-08 inputs kept",
                same(fact["asserted_by"], by) and fact["tags"] == ["b", "a"] and fact["confidence"] == 0.75,
                fact,
            )
    for edit in (
        {"confidence": 1.5},
        {"confidence": "0.5"},
        {"value": None},
        {"subject": 5},
        {"valid_from": "last week"},
    ):
        reply = c.ask("POST", base, {**pair, "value": "bad", **edit})
        f.check("E40 bad fact", reply.status in (400, 422), reply.status)
    active = c.ask("GET", "/v1/projects/proj_a/orient").json["active_facts"]
    f.equal("8.3-07 active facts", ["v3"], [x["value"] for x in active if x["subject"] == pair["subject"]])
    reply = c.ask("GET", f"{base}?{query}&include_ended=true")
    queryable = reply.status == 200
    if queryable:
        moment = lambda t: datetime.fromisoformat(t.replace("Z", "+00:00"))
        rows = sorted(facts_view(reply.json), key=lambda x: moment(x["valid_from"]))
        f.equal("7.3-06 chain", ["v1", "v2", "v3"], [x["value"] for x in rows])
        f.check(
            "7.3-02 no gap", all(moment(a["valid_to"]) == moment(b["valid_from"]) for a, b in zip(rows, rows[1:])), rows
        )
        for when, value in (
            (at(hours=8), "v2"),
            (at(hours=8).replace("Z", ".000Z"), "v2"),
            (at(minutes=8 * 60 + 30), "v1"),
            (at(hours=10), None),
        ):
            found = facts_view(c.ask("GET", f"{base}?{query}&as_of={segment(when)}").json)
            f.equal("7.3-11 as_of", [value] if value else [], [x["value"] for x in found])
        f.check("E38 bare date", c.ask("GET", f"{base}?{query}&as_of=2026-01-02").status < 500)
    else:
        f.check("E37 no fact query", reply.status in (404, 405, 501), reply.status)
    f.check("E42 backdated", c.ask("POST", base, {**pair, "value": "old", "valid_from": at(hours=20)}).status < 500)
    current = [
        x for x in c.ask("GET", "/v1/projects/proj_a/orient").json["active_facts"] if x["subject"] == pair["subject"]
    ]
    f.equal("8.6-13 one current fact", 1, len(current))
    number = c.ask("POST", base, {"subject": "n", "predicate": "p", "value": 97.5})
    f.check("E44 number", number.status in (200, 201, 400, 422), number.status)
    f.equal(
        "E44 never a number",
        [],
        [x for x in c.ask("GET", "/v1/projects/proj_a/orient").json["active_facts"] if type(x["value"]) is not str],
    )
    f.check(
        "8.7-04 predicate needed", c.ask("DELETE", f"{base}?subject={segment(pair['subject'])}").status in (400, 422)
    )
    reply = c.ask("DELETE", f"{base}?{query}&object={segment(current[0]['value'])}")
    f.check("8.7-08 count", reply.status == 200 and count_view(reply.json) == 1, reply.body)
    reply = c.ask("DELETE", f"{base}?{query}")
    f.check("E50 none left", reply.status == 404 or count_view(reply.json) == 0, reply.body)
    active = c.ask("GET", "/v1/projects/proj_a/orient").json["active_facts"]
    f.check("7.4-03 gone", not [x for x in active if x["subject"] == pair["subject"]])
    source = {"subject": "src", "predicate": "p", "value": "x", "source_package_id": "pkg_full"}
    c.ask("POST", base, source)
    fact = [x for x in c.ask("GET", "/v1/projects/proj_a/orient").json["active_facts"] if x["subject"] == "src"][0]
    f.check("7.2-12 asserted_by of the source", fact["asserted_by"].get("session_id") == "sess_pm_1", fact)


def review(c, f):
    pull = lambda identity: package_view(c.pull(identity).json)
    draft = p_full("pkg_draft", "pkg_parent", status="draft")
    f.check("5.3-04 draft", c.deposit(draft).status in (200, 201))
    f.check(
        "8.5-03 bad review_type",
        c.ask("POST", "/v1/packages/pkg_draft/flag", {"review_type": "none"}).status in (400, 422),
    )
    reply = c.ask("POST", "/v1/packages/pkg_draft/flag", {"review_type": "agent", "note": "look"})
    f.equal("8.5-06 flag", 200, reply.status)
    flagged = package_view(reply.json)
    f.check("8.5-01 flagged", (flagged["status"], flagged["review_type"]) == ("awaiting_review", "agent"), flagged)
    f.equal("8.5-05 nothing else", None, same_package(flagged, draft, but=("status", "review_type", "x-review-note")))
    bare = {k: v for k, v in flagged.items() if k not in ("content_hash", "contentHash")}
    good = (
        acceptable_hashes(bare)
        + acceptable_hashes({**draft, "status": "awaiting_review", "review_type": "agent"})
        + acceptable_hashes(draft)
    )
    good += acceptable_hashes({**bare, "status": "draft", "review_type": "none"})
    f.check("6.6-17 hash after flag", hash_view(reply, good) in [None, *good], reply.headers)
    f.equal(
        "8.5-07 flag on complete", 400, c.ask("POST", "/v1/packages/pkg_full/flag", {"review_type": "human"}).status
    )
    f.equal("8.5-09 flag on nothing", 404, c.ask("POST", "/v1/packages/pkg_none/flag", {"review_type": "human"}).status)
    move = lambda identity, status: c.ask("PATCH", f"/v1/packages/{identity}/status", {"status": status})
    reply = move("pkg_draft", "draft")
    if reply.status in (404, 405, 501):
        return
    for status in ("draft", "approved", 7):
        f.check("5.3-11 illegal", 400 <= move("pkg_draft", status).status < 500)
    f.check("5.3-10 revision", move("pkg_draft", "revision_requested").status == 200)
    f.check("5.3-14 illegal", 400 <= move("pkg_draft", "draft").status < 500)
    f.equal("5.3-12 flag again", 200, c.ask("POST", "/v1/packages/pkg_draft/flag", {"review_type": "human"}).status)
    filtered = list_view(c.ask("GET", "/v1/projects/proj_a/packages?status=awaiting_review").json or []) or []
    queue = c.ask("GET", "/v1/projects/proj_a/review-queue")
    queue = list_view(queue.json) if queue.status == 200 else None
    if queue:
        f.equal("11.4-04 queue", ["pkg_draft"], [p["package_id"] for p in queue])
    elif all(p["status"] == "awaiting_review" for p in filtered):
        f.check("11.4-04 filter", [p["package_id"] for p in filtered] in (["pkg_draft"], []), len(filtered))
    f.equal("5.3-09 complete", 200, move("pkg_draft", "complete").status)
    before = pull("pkg_draft")
    for status in ("draft", "awaiting_review", "revision_requested"):
        f.check("5.3-18 terminal", 400 <= move("pkg_draft", status).status < 500)
    reply = move("pkg_draft", "complete")
    f.check("5.3-21 complete again", reply.status == 200 or 400 <= reply.status < 500, reply.status)
    f.check("5.3-18 unchanged", same(before, pull("pkg_draft")))


def archive_and_export(c, f):
    before = sorted(p["package_id"] for p in list_view(c.latest("proj_b", 50).json))
    reply = c.ask("POST", "/v1/projects/proj_b/archive")
    if reply.ok:
        reply = c.deposit(p_min("pkg_late", "proj_b"))
        f.check("8.1-14 archived", reply.ok or reply.status == 403, reply.status)
        late = ["pkg_late"] if reply.ok else []
        f.check("5.2-04 restore", c.ask("POST", "/v1/projects/proj_b/restore").ok)
        after = sorted(p["package_id"] for p in list_view(c.latest("proj_b", 50).json))
        f.equal("5.2-05 all there", sorted(before + late), after)
        f.check("5.2-04 deposits again", c.deposit(p_min("pkg_later", "proj_b")).ok)
    else:
        f.equal("E33 no archive", 404, reply.status)
    reply = c.ask("GET", "/v1/projects/proj_a/export")
    if reply.status != 200:
        f.equal("E69 no export", 404, reply.status)
        return
    if reply.body[:1] == b"[":
        records = reply.json
    else:
        records = [json.loads(line) for line in reply.body.decode().split("\n") if line]
    kinds = ("package", "fact", "session", "project", "data")
    records = [next((r[k] for k in kinds if isinstance(r.get(k), dict) and len(r) == 1), r) for r in records]
    exported = {r["package_id"]: r for r in records if "package_id" in r and "title" in r}
    pulled = {p["package_id"]: p for p in listed(c, "proj_a")}
    f.check("10.1-05 every package", set(pulled) <= set(exported), set(pulled) - set(exported))
    # An import under another project tests import without a second server.
    copies = [{**r, "package_id": "copy " + r["package_id"], "project_id": "proj_c"} for r in exported.values()]
    body = "".join(json.dumps(r) + "\n" for r in copies).encode()
    reply = c.ask("POST", "/v1/import", body, headers={"Content-Type": "application/x-ndjson"})
    if reply.status == 404:
        return
    f.check("10.1-07 import", reply.ok, reply.body)
    copied = next(r for r in copies if r["package_id"] == "copy pkg_full")
    f.equal("10.1-08 imported", None, same_package(package_view(c.pull("copy pkg_full").json), copied))
    broken = c.ask("POST", "/v1/import", b'{"package_id":"b"}\n', headers={"Content-Type": "application/x-ndjson"})
    f.check("E97 broken line", 400 <= broken.status < 500, broken.status)


def at_once(port, count, work):
    """Run work(client, index) on that many connections at the same time."""
    barrier = threading.Barrier(count, timeout=30)

    def one(index):
        c = Client(port)
        c.ask("GET", "/v1/conformance")
        barrier.wait()
        try:
            return work(c, index)
        finally:
            c.close()

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))


def racing(port, f):
    replies = at_once(port, 16, lambda c, i: c.deposit(p_min("pkg_race", title=f"racer {i}")))
    winners = [i for i, r in enumerate(replies) if r.ok]
    f.equal("11.2-07 one winner", 1, len(winners))
    f.check("11.2-07 others 409", all(r.ok or r.status == 409 for r in replies), [r.status for r in replies])
    c = Client(port)
    f.equal("11.2-07 the winner is stored", f"racer {winners[0]}", package_view(c.pull("pkg_race").json)["title"])
    replies = at_once(port, 16, lambda c, i: c.deposit(p_min("pkg_race_same")))
    f.check("11.2-06 all succeed", all(r.ok for r in replies), [r.status for r in replies])
    found = [p["package_id"] for p in listed(c, "proj_a")]
    f.equal("11.2-06 listed once", 1, found.count("pkg_race_same"))
    base = "/v1/projects/proj_a/facts"
    replies = at_once(
        port, 16, lambda c, i: c.ask("POST", base, {"subject": "race", "predicate": "p", "value": f"v{i}"})
    )
    f.check("7.3-08 asserts", all(r.ok or r.status in (409, 429, 503) for r in replies), [r.status for r in replies])
    rows = [x for x in c.ask("GET", "/v1/projects/proj_a/orient").json["active_facts"] if x["subject"] == "race"]
    f.equal("7.3-08 one current fact", 1, len(rows))
    reply = c.ask("GET", f"{base}?subject=race&predicate=p&include_ended=true")
    if reply.status == 200:
        f.equal("7.3-08 history", sum(r.ok for r in replies), len(facts_view(reply.json)))
    c.close()


# --- Part 2: visible choices and mutants --------------------------------------------------------------------------------


def scenario(part="all"):
    """Steps (method, path, body, headers) that cover everything, with the same bytes each time.

    `core` leaves out the detailed steps on facts and review, `state` most of the earlier steps. `sequence` has only the steps
    for the bugs of agentic_sequence_mutants.py, which no other part has.
    """
    steps = []
    add = lambda method, path, body=None, headers=None: steps.append((method, path, body, headers))
    json_of = lambda value: json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")

    def deposit(package, project=None, pull=True, headers=None):
        project = project or (package["project_id"] if type(package.get("project_id")) is str else "proj_a")
        add("POST", f"/v1/projects/{segment(project)}/packages", json_of(package), headers)
        if pull and type(package.get("package_id")) is str:
            add("GET", "/v1/packages/" + segment(package["package_id"]))

    if part == "sequence":
        sequence_steps(add, deposit, json_of)
        return steps
    add("GET", "/v1/conformance")
    for project in ("proj_a", "proj_b", "proj_ab", "PROJ_A", "proj_a"):
        add("POST", "/v1/projects", json_of({"project_id": project, "name": project}))
        add("GET", f"/v1/projects/{project}/packages?mode=latest&limit=5")
        add("GET", f"/v1/projects/{project}/orient")
    add("GET", "/v1/projects/proj_a")
    add("GET", "/v1/projects/proj_never/packages?mode=latest&limit=5")
    add("GET", "/v1/projects/proj_never/orient")
    deposit(p_min("pkg_parent", title="parent"))
    full = p_full("pkg_full", "pkg_parent")
    deposit(full)
    prelude = len(steps)
    deposit(
        p_full("pkg_second", "pkg_parent", title="a second child", created_by={"id": "pm-actor-b", "type": "agent"})
    )
    deposit(p_min("pkg_b", "proj_b", title="quick fox in b", open_questions=["b?"]))
    deposit(p_min("pkg_ab", "proj_ab"))
    deposit(p_min("pkg_upper", "PROJ_A"))
    add("GET", "/v1/projects/proj_ab/packages?mode=latest&limit=3")
    add("POST", "/v1/projects/proj_a/packages", json.dumps(dict(reversed(full.items())), indent=2).encode())
    deposit(p_min("pkg_parent", title="parent"))
    deposit({**full, "x-null": None})
    for change in (
        {"description": "other"},
        {"tags": ["alpha", "zeta"]},
        {"x-trust-score": 0.5},
        {"created_by": {"id": "pm-actor-x", "type": "agent"}},
        {"topic": "other", "x-new": 1},
    ):
        deposit({**full, **change})
    # Permitted packages
    with open(HERE.parent / "vectors/agentic/content-hash.json", encoding="utf-8") as vectors:
        tests = [t for g in json.load(vectors)["groups"] for t in g["tests"]]
    for test in tests:
        if test["id"] in ("AC21", "AC84", "AC86", "AC87", "AC89", "AC91", "AC94"):
            package = {**json.loads(test["input"]), "package_id": "pkg_" + test["id"], "project_id": "proj_a"}
            deposit(package)
            add("POST", "/v1/projects/proj_a/packages", json.dumps(package, indent=1).encode())
    odd = p_min(
        "pkg_odd",
        title="  Odd <b>&amp; 'title'  x ",
        description="line\r\ntwo  \\n three\t" + "long " * 80,
        content_md="# a\r\n<script>\n  ",
        handoff_note="zero\0byte \u200d\ufeff end ",
        tags=["B", "a", "B", "x,y"],
        decisions_made=["zz", "aa", "zz"],
        open_questions=["b?", "a?", "b?"],
        significance=2,
        created_at=at(hours=1).replace("Z", ".120000000Z"),
        created_by={"id": "SAM É", "type": "script", "session_id": None, "x": {"constructor": 1, "b": [None, 1]}},
        deliverables=[
            {"path": "z", "type": "md", "size_bytes": 0},
            {"path": "a", "type": "md", "hash": "sha256:00ff", "lines": 3},
            {"path": "b", "type": "md", "hash": "sha256:..."},
            {"path": "/etc/a", "type": "ts", "size_bytes": -1},
        ],
        **{
            "": "empty name",
            "__proto__": {"a": 1},
            "constructor": 2,
            "a.b": 1,
            "snake_case_name": 1,
            "UPPER": 1,
            "x-title": "other",
            "x-status": "draft",
            "9": 1,
            "10": 2,
            "b": 1,
            "B": 2,
            "n_int": 42,
            "n_text": "007",
            "n_frac": 0.123456,
            "n_big": 9007199254740993,
            "n_1e21": 1e21,
            "n_1e7": 1e-7,
            "n_zero": -0.0,
            "n_one": 1.0,
            "time": "2026-01-02T03:04:05Z",
            "true": True,
            "false": False,
            "zero": 0,
            "none": None,
            "text": "",
            "list0": [],
            "list1": ["one"],
            "list2": ["b", "a", None],
            "obj0": {},
            "obj1": {"k": None},
            "obj2": {"a": {"b": {"c": {"d": 1}}}, "z": 0},
            "e\u0301": "e\u0301 \U0001f680 \u2028 / </",
            "x-🔑": 1,
            "x-～": 2,
        },
    )
    deposit(odd)
    deposit(odd)
    deposit(p_min("pkg_new_project", "proj_first_write"))
    add("POST", "/v1/projects/proj_a/packages", b'{"x-spelling": 87e-2,' + json_of(p_min("pkg_spelling"))[1:])
    add("GET", "/v1/packages/pkg_spelling")
    for i, fraction in enumerate(("", ".2", ".25", ".250", ".900", ".123456789", ".1234567", ".1234", ".000")):
        deposit(p_min(f"pkg_t{i}", created_at=at(hours=1).replace("Z", fraction + "Z"), title=f"time {i}"))
    deposit(p_min("pkg_day", created_at=at(hours=20)))
    deposit(p_min("pkg_old", created_at=at(days=20), open_questions=["old?", "older?"], significance=1))
    deposit(p_min("pkg_custom", package_type="x-model-eval", open_questions=["custom?"]))
    deposit(p_min("pkg_handoff", package_type="handoff"))
    deposit(p_min("pkg_note", package_type="analysis", handoff_note="n"))
    deposit(p_min("pkg_sam", created_by={"id": "sam", "type": "human"}))
    deposit(p_min("pkg_sam2", created_by={"id": "sam", "type": "agent", "session_id": "sess_x"}))
    deposit(p_min("pkg_child", parent_package_id="pkg_full", created_by={"id": "x", "type": "agent"}))
    deposit(p_min("pkg_orphan", parent_package_id="pkg_nowhere"))
    deposit(p_min("pkg_draft", status="draft", review_type="human"))
    deposit(p_min("pkg_draft2", status="draft"))
    deposit(p_min("pkg_wait", status="awaiting_review", review_type="agent"))
    deposit(p_min("pkg_revision", status="revision_requested", review_type="agent"))
    deposit(p_min("pkg_zone", created_at=at(hours=1).replace("Z", "+00:00")))
    deposit(p_min("pkg_zone2", created_at=at(hours=1).replace("Z", "+02:00")))
    deposit(p_min("pkg_minor", relay_version="0.2"))
    deposit(p_min("pkg_nulls", description=None, tags=None, topic=None, title="nulls"))
    deposit(p_min("pkg_storage", storage_path="blobs/x.zip"))
    deposit(p_min("pkg_hash", content_hash="sha256:" + "0" * 64))
    add(
        "POST",
        "/v1/projects/proj_a/packages",
        b'{"title":"one","title":"two",'
        + json_of(p_min("pkg_twice", title="three")).replace(b'"title": "three", ', b"")[1:],
    )
    add("GET", "/v1/packages/pkg_twice")
    add("POST", "/v1/projects/proj_a/packages", b"\xef\xbb\xbf" + json_of(p_min("pkg_bom")))
    add("POST", "/v1/projects/proj_a/packages", json.dumps(p_min("pkg_lone", description="\ud800!")).encode())
    add("GET", "/v1/packages/pkg_lone")
    for n in (200, 201, 230):
        deposit(p_min(f"pkg_title{n}", title="a" * n))
        deposit(p_min(f"pkg_title_e{n}", title="é" * n))
    deposit(p_min("pkg_title_emoji", title="😀" * 200))
    deposit(p_min("pkg_title_marks", title="e\u0301" * 150))
    deposit(p_min("pkg_five", significance=5.0))
    # Identities
    for identity in (
        "A",
        "a",
        "note 7",
        "rel:2026.01",
        "п",
        "🚀",
        "a+b",
        "100%41",
        "x" * 100 + "1",
        "x" * 100 + "2",
        "sp",
        "sp ",
        "e\u0301",
        "é",
        "e",
        "a;b",
        "a/b",
        "y" * 200,
        "pre",
    ):
        deposit(p_min(identity, title="id " + identity[-3:]))
    for identity in ("pkg_ful", "pkg_%", "PKG_FULL", "p_g_full", "unknown", "prefix", "sp  "):
        add("GET", "/v1/packages/" + segment(identity))
    # Invalid packages
    required = list(p_min("x"))
    for name in required:
        package = p_min(f"pkg_without_{name}")
        del package[name]
        deposit(package)
        deposit({**p_min(f"pkg_null_{name}"), name: None})
        deposit({**p_min(f"pkg_number_{name}"), name: 42})
        deposit({**p_min(f"pkg_list_{name}"), name: ["x"]})
    bad = {
        "title": [""],
        "status": ["approved", "Complete", ""],
        "package_type": ["memo", "xreport", "x-", "Standard"],
        "review_type": ["script", "Human"],
        "relay_version": ["9.9", 0.1],
        "created_at": [
            "yesterday",
            "2026-01-02",
            "2026-13-01T00:00:00Z",
            "2026-02-30T00:00:00Z",
            "2026-01-02T25:00:00Z",
            1767323045,
        ],
        "created_by": [
            "sam",
            [],
            {"id": "sam"},
            {"type": "agent"},
            {"id": 12, "type": "agent"},
            {"id": "s", "type": "bot"},
            {"id": "s", "type": "agent", "session_id": 9},
        ],
        "description": [1, []],
        "tags": ["a", {"a": 1}, ["a", 2]],
        "decisions_made": ["a", [{"text": "a"}]],
        "open_questions": ["a", [None]],
        "handoff_note": [False, ["a"]],
        "estimated_next_actor": ["script", "Human", 0],
        "deliverables": [
            {},
            "a",
            ["docs/a.md"],
            [{"type": "md"}],
            [{"path": "a"}],
            [{"path": 1, "type": "md"}],
            [{"path": "a", "type": 1}],
            [{"path": "a", "type": "b", "hash": 1}],
            [{"path": "a", "type": "b", "size_bytes": "1"}],
            [{"path": "a", "type": "b", "size_bytes": 1.5}],
        ],
        "parent_package_id": [3, {"package_id": "x"}],
        "significance": ["5", 5.5, True, 0, -1, 11],
        "content_md": [{}, 1],
        "topic": [1, ["r"]],
        "artifact_type": [1, {}],
        "storage_path": [1, ["a"]],
    }
    for name, values in bad.items():
        for i, value in enumerate(values):
            deposit({**p_min(f"pkg_bad_{name}_{i}"), name: value})
            if i == 0:
                deposit(p_min(f"pkg_bad_{name}_{i}"))
    for body in (
        b"{",
        b"",
        b"[]",
        b"null",
        b'"x"',
        b"7",
        b"\xff",
        json_of(p_min("pkg_ff")).replace(b"pm pkg_ff", b"pm \xff"),
        json_of(p_min("pkg_tail")) + b"x",
        json_of(p_min("pkg_nan"))[:-1] + b',"x":NaN}',
        b"[" * 20000,
    ):
        add("POST", "/v1/projects/proj_a/packages", body)
        add("GET", "/v1/packages/pkg_tail")
        add("GET", "/v1/packages/pkg_nan")
    deposit(p_min("pkg_charset"), headers={"Content-Type": "application/json; charset=utf-8"})
    deposit(p_min("pkg_text"), headers={"Content-Type": "text/plain"})
    deposit(p_min("pkg_mis", "proj_b"), project="proj_a")
    add("GET", "/v1/projects/proj_b/packages?mode=latest&limit=50")
    for method in ("PUT", "PATCH"):
        add(method, "/v1/packages/pkg_full", json_of({"title": "edited"}))
        add("GET", "/v1/packages/pkg_full")
    # Reading
    for tail in (
        "mode=latest",
        "mode=latest&limit=1",
        "mode=latest&limit=3",
        "mode=latest&limit=500",
        "mode=latest&limit=60",
        "mode=latest&limit=0",
        "mode=latest&limit=x",
        "limit=2",
        "mode=odd",
    ):
        add("GET", f"/v1/projects/proj_a/packages?{tail}")
        add("GET", f"/v1/projects/proj_b/packages?{tail}")
    for query in ("quick+fox", "time", "child", "parent", "fox&limit=1", "pm&limit=2", "nothingmatches", "", "%D1%84"):
        add("GET", f"/v1/projects/proj_a/packages?mode=relevant&query={query}")
    add("GET", "/v1/projects/proj_a/packages?mode=relevant")
    for tail in ("", "?window_days=1", "?window_days=30", "?window_days=0", "?window_days=x"):
        add("GET", f"/v1/projects/proj_a/orient{tail}")
        add("GET", f"/v1/projects/proj_b/orient{tail}")
    # Facts
    facts_from = len(steps)
    base = "/v1/projects/proj_a/facts"
    fact = {"subject": "s", "predicate": "p", "value": "1"}
    for n, value in enumerate(("1", "2", "3")):
        add("POST", base, json_of({**fact, "value": value, "valid_from": at(hours=9 - n)}))
    add("POST", "/v1/projects/proj_b/facts", json_of({**fact, "value": "b"}))
    add("POST", base, json_of({**fact, "value": "4"}))
    add("GET", "/v1/projects/proj_b/orient")
    for i in range(7):
        add("POST", "/v1/projects/proj_ab/facts", json_of({**fact, "predicate": f"many {i}"}))
    add("GET", "/v1/projects/proj_ab/orient")
    add(
        "POST",
        base,
        json_of(
            {
                **fact,
                "predicate": "q",
                "value": "5",
                "confidence": 0,
                "tags": ["b", "a"],
                "x-origin": "y",
                "asserted_by": {"id": "k", "type": "odd"},
            }
        ),
    )
    add("POST", base, json_of({**fact, "predicate": "r", "value": "5", "source_package_id": "pkg_full"}))
    add("POST", base, json_of({**fact, "predicate": "r", "value": "5"}))
    for i, edit in enumerate(
        (
            {"value": 97.5},
            {"value": ""},
            {"confidence": 2},
            {"subject": 5},
            {"valid_from": "x"},
            {"valid_from": at(hours=20)},
        )
    ):
        add("POST", base, json_of({**fact, "predicate": f"bad{i}" if i < 2 else "p", **edit}))
    add("GET", "/v1/projects/proj_a/orient")
    times = (at(hours=9), at(hours=8), at(hours=8).replace("Z", ".000Z"), at(minutes=510), at(hours=10), "2026-01-02")
    for tail in ("", "&include_ended=true", *(f"&as_of={t}" for t in times)):
        add("GET", f"{base}?subject=s&predicate=p{tail}")
    add("DELETE", f"{base}?subject=s")
    add("DELETE", f"{base}?subject=s&predicate=p&object=9")
    add("DELETE", f"{base}?subject=s&predicate=p")
    add("DELETE", f"{base}?subject=s&predicate=p")
    add("DELETE", f"{base}?subject=none&predicate=p")
    add("GET", f"{base}?subject=s&include_ended=true")
    add("GET", "/v1/projects/proj_a/orient")
    add("GET", "/v1/orchestrate?project=proj_a&focus=fox&snippets=2")
    # Review
    move = lambda identity, status: add("PATCH", f"/v1/packages/{identity}/status", json_of({"status": status}))
    flag = lambda identity, body: add("POST", f"/v1/packages/{identity}/flag", json_of(body))
    deposit({**odd, "package_id": "pkg_flagged", "status": "draft", "significance": 3})
    flag("pkg_flagged", {"review_type": "none"})
    flag("pkg_flagged", {"review_type": "agent", "note": "look"})
    flag("pkg_flagged", {"review_type": "human"})
    deposit({**odd, "package_id": "pkg_flagged", "status": "draft", "significance": 3})
    for status in ("draft", "awaiting_review", "revision_requested", "draft", "complete", "complete", "draft"):
        move("pkg_flagged", status)
        add("GET", "/v1/packages/pkg_flagged")
    for i in range(7):
        deposit(p_min(f"pkg_w{i}", "proj_b", status="awaiting_review", review_type="human"), pull=False)
    move("pkg_w0", "complete")
    move("pkg_draft2", "complete")
    flag("pkg_full", {"review_type": "human"})
    flag("pkg_nowhere", {"review_type": "human"})
    add("GET", "/v1/projects/proj_b/packages?status=awaiting_review&mode=latest&limit=50")
    add("GET", "/v1/projects/proj_b/packages?status=awaiting_review")
    add("GET", "/v1/projects/proj_b/review-queue")
    before = len(steps)
    fact_steps(add, json_of)
    review_steps(add, deposit, json_of, odd)
    state_rounds(add, deposit, json_of)
    after = len(steps)
    rare_steps(add, deposit, json_of)
    add("GET", "/v1/packages/pkg_full", None, {"Accept-Encoding": "gzip"})
    # Projects as a whole
    add("GET", "/v1/projects/proj_a/sessions")
    add("GET", "/v1/projects/proj_a/export")
    add("POST", "/v1/projects/proj_b/archive")
    add("GET", "/v1/projects/proj_b")
    add("GET", "/v1/projects/proj_b/orient")
    add("GET", "/v1/packages/pkg_b")
    deposit(p_min("pkg_archived", "proj_b"))
    add("POST", "/v1/projects/proj_b/restore")
    deposit(p_min("pkg_restored", "proj_b"))
    add("GET", "/v1/projects/proj_b/packages?mode=latest&limit=500")
    add("GET", "/v1/projects/proj_b/orient")
    lines = [
        {"project_id": "proj_i", "name": "i"},
        p_full("pkg_i1", "pkg_full", "proj_i"),
        p_min("pkg_i2", "proj_i", package_type="x-eval"),
    ]
    row = {"project_id": "proj_i", "subject": "s", "predicate": "p", "created_at": at(hours=9), "confidence": 0.75}
    row["tags"] = ["b", "a"]
    spans = ((9, 8), (8, 7), (7, None))
    for n, (start, end) in enumerate(spans):
        times = {"valid_from": at(hours=start), "valid_to": end and at(hours=end)}
        lines.append({**row, **times, "fact_id": f"fact_{n:032x}", "value": str(n), "x-origin": {"n": n}})
    add(
        "POST",
        "/v1/import",
        b"".join(json_of(line) + b"\n" for line in lines),
        {"Content-Type": "application/x-ndjson"},
    )
    add("GET", "/v1/projects/proj_i/packages?mode=latest&limit=5")
    add("GET", "/v1/projects/proj_i/orient")
    add("GET", "/v1/projects/proj_i/facts?subject=s&predicate=p&include_ended=true")
    add("GET", "/v1/projects/proj_i/export")
    add("GET", "/v1/nowhere")
    if part == "core":
        return steps[:before] + steps[after:]
    return steps[:prelude] + steps[facts_from:] if part == "state" else steps


def fact_steps(add, json_of):
    """Facts: permitted asserts, supersession, invalidation, queries."""
    ask = lambda project, tail: add("GET", f"/v1/projects/{project}/facts{tail}")
    pair = lambda subject, predicate: f"?subject={segment(subject)}&predicate={segment(predicate)}"

    def claim(subject, predicate, value, project="proj_f", **more):
        body = {"subject": subject, "predicate": predicate, "value": value, **more}
        add("POST", f"/v1/projects/{project}/facts", json_of({k: v for k, v in body.items() if v is not ...}))

    def end(subject, predicate, tail="", project="proj_f"):
        add("DELETE", f"/v1/projects/{project}/facts{pair(subject, predicate)}{tail}")

    for project in ("proj_f", "proj_g"):
        add("POST", "/v1/projects", json_of({"project_id": project, "name": project}))
        claim("s", "p", "first", project)
        claim("s", "other", "o", project)
        ask(project, pair("s", "p"))
        add("GET", f"/v1/projects/{project}/orient")
    source = p_full("pkg_fs", "pkg_parent", "proj_f", parent_package_id=None, description="about note")
    add("POST", "/v1/projects/proj_f/packages", json_of(source))
    full = {"source_package_id": "pkg_fs", "confidence": 0.75, "tags": ["b", "a"], "valid_from": at(days=10)}
    claim("full", "p", "x", asserted_by={"id": "kim", "type": "human"}, **full)
    claim("full", "q", "x", **full)
    claim("full", "r", "x", **{**full, "source_package_id": "pkg_nowhere"})
    add("GET", "/v1/projects/proj_f/packages?mode=latest&limit=50")
    add("GET", "/v1/packages/pkg_fs")
    claim("note", "p", "x")
    add("POST", "/v1/projects/proj_f/packages", json_of(p_min("pkg_fn", "proj_f", description="a note")))
    ask("proj_f", pair("note", "p"))
    # Names and values
    names = (" S/1 ", "S/1", "a&b=c", "a;b", "a+b", "100%20x", "ä", "e\u0301", "s", "S", "s2", "ab", "a", "x:y", "x")
    for name in names:
        claim(name, "p", f"of {name}")
        claim("s", name, f"of {name}")
    for subject, predicate in (("ab", "c"), ("a", "bc"), ("x", "y:z"), ("x:y", "z"), ("s", "x-p: q"), ("s", "P")):
        claim(subject, predicate, "v")
    for name in names:
        ask("proj_f", pair(name, "p"))
        ask("proj_f", pair("s", name))
    ask("proj_f", pair("ab", "c"))
    ask("proj_f", pair("x", "y:z"))
    ask("proj_f", pair("s", "x-p: q"))
    values = ("007", " 1 ", "1e3", "true", "null", "Red", "red", "97.0", "97", "x" * 5000, "ä<&", "007", "")
    for value in (*values, 97, 97.5, True, ["a"], None, ...):
        claim("values", "p", value)
    ask("proj_f", pair("values", "p") + "&include_ended=true")
    # Members
    for n, more in enumerate(
        (
            {"confidence": 0},
            {"confidence": 0.25},
            {"confidence": 1},
            {"confidence": -0.1},
            {"confidence": 1.01},
            {"confidence": "0.5"},
            {"confidence": None},
            {"tags": "a"},
            {"x-origin": "y"},
            {"asserted_by": {"id": "k", "type": "odd"}},
            {"asserted_by": {"id": "k", "type": "human", "session_id": "s"}},
            {"valid_from": at(hours=1).replace("Z", "+00:00")},
            {"valid_from": at(hours=1).replace("Z", "+02:00")},
            {"valid_from": at(hours=1).replace("Z", ".5Z")},
            {"valid_from": at(days=-30)},
            {"valid_from": 17},
            {"valid_from": "last week"},
            {"valid_from": at()[:10]},
            {"subject": 5},
            {"subject": ...},
            {"predicate": {}},
            {"predicate": ...},
        )
    ):
        body = {"subject": "members", "predicate": f"p{n}", "value": "v", **more}
        add("POST", "/v1/projects/proj_f/facts", json_of({k: v for k, v in body.items() if v is not ...}))
        ask("proj_f", pair("members", f"p{n}") + "&include_ended=true")
    # Chains
    for n, value in enumerate(("v1", "v2", "v1", "v4")):
        more = {"asserted_by": {"id": f"k{n}", "type": "agent"}, "confidence": 0.9 - n / 10}
        claim("chain", "p", value, valid_from=at(hours=9 - n), **more)
        ask("proj_f", pair("chain", "p"))
    claim("chain", "p", "v4", valid_from=at(hours=5))
    claim("chain", "p", "v4", valid_from=at(hours=5), source_package_id="pkg_fs")
    claim("chain", "p", "v5", valid_from=at(hours=5), source_package_id="pkg_fs")
    claim("chain", "p", "bad", valid_from="x")
    claim("chain", "p", "same start", valid_from=at(hours=5))
    claim("chain", "p", "old", valid_from=at(hours=20))
    claim("chain", "p", "g", "proj_g", valid_from=at(hours=5))
    whens = [at(hours=h) for h in (20, 10, 9, 8, 7, 6, 5, 4)] + [
        at(hours=9, seconds=1),
        at(hours=8, seconds=1),
        at(days=-400),
    ]
    whens += [at(hours=8).replace("Z", z) for z in (".000Z", ".5Z", "+00:00", "+02:00")]
    whens += [at(hours=8, seconds=1).replace("Z", ".9995Z"), at()[:10]]
    for tail in ("", "&include_ended=true", "&limit=2", *(f"&as_of={segment(when)}" for when in whens)):
        ask("proj_f", pair("chain", "p") + tail)
    ask("proj_g", pair("chain", "p") + "&include_ended=true")
    # Invalidation
    add("DELETE", f"/v1/projects/proj_f/facts?predicate=p")
    for subject in ("S", "chain", "chain", "nothing"):
        end(subject, "p")
        ask("proj_f", pair(subject, "p"))
        ask("proj_f", pair(subject, "p") + "&include_ended=true")
        ask("proj_f", pair(subject, "p") + f"&as_of={at(hours=4)}")
        ask("proj_f", pair(subject, "p") + f"&as_of={at(days=-400)}")
        ask("proj_g", pair(subject, "p"))
    claim("chain", "p", "again")
    ask("proj_f", pair("chain", "p") + "&include_ended=true")
    end("s", "S/1", "&object=zz")
    end("s", "S/1", "&object=of%20S%2F1")
    for n in range(104):
        claim("page", str(n), "v")
    for tail in ("", "?subject=page", "?subject=s"):
        ask("proj_f", tail)
        ask("proj_f", tail + ("&" if tail else "?") + "include_ended=true&limit=500")
    add("GET", "/v1/projects/proj_f/orient")
    add("GET", "/v1/projects/proj_g/orient")
    add("GET", "/v1/projects/proj_f/export")
    add("POST", "/v1/projects/proj_g/archive")
    claim("s", "p", "archived", "proj_g")
    add("POST", "/v1/projects/proj_g/restore")
    ask("proj_g", pair("s", "p"))


def review_steps(add, deposit, json_of, odd):
    """Every transition from every state, and the list of waiting packages after each."""
    move = lambda identity, status: add("PATCH", f"/v1/packages/{identity}/status", json_of({"status": status}))
    flag = lambda identity, body: add("POST", f"/v1/packages/{identity}/flag", json_of(body))

    def look(identity):
        add("GET", "/v1/packages/" + identity)
        add("GET", "/v1/projects/proj_r/review-queue")
        for tail in ("", "&limit=50", "&mode=latest&limit=50"):
            add("GET", f"/v1/projects/proj_r/packages?status=awaiting_review{tail}")

    ways = {"draft": (), "awaiting_review": ("flag",), "revision_requested": ("flag", "revision_requested")}
    ways["complete"] = ("flag", "complete")
    for kind in ("human", "agent"):
        for old, way in ways.items():
            for new in ("draft", "awaiting_review", "revision_requested", "complete", "flag", "approved", "", 7, 2):
                identity = f"pkg_r_{kind}_{old}_{new}"
                package = {**odd, "package_id": identity, "project_id": "proj_r", "status": "draft", "significance": 3}
                deposit(package, pull=False)
                for step in way:
                    flag(identity, {"review_type": kind}) if step == "flag" else move(identity, step)
                if new == "flag":
                    flag(identity, {"review_type": "agent" if kind == "human" else "human", "note": "see"})
                else:
                    move(identity, new)
                add("GET", "/v1/packages/" + identity)
                deposit(package)
            look(identity)
    for n, by in enumerate(("x", "y")):
        more = {"created_at": at(), "created_by": {"id": by, "type": "agent"}, "package_type": "x-eval"}
        deposit(p_min(f"pkg_rw{n}", "proj_r", status="awaiting_review", review_type="agent", **more))
        move(f"pkg_rw{n}", "complete")
        look(f"pkg_rw{n}")
    old = p_min("pkg_rold", "proj_r", status="awaiting_review", review_type="human", created_at=at(days=40))
    deposit(old)
    look("pkg_rold")
    waiting = p_min("pkg_rv", "proj_r", status="awaiting_review", review_type="human")
    deposit(waiting)
    for status in ("revision_requested", "awaiting_review", "complete", "draft", "complete"):
        move("pkg_rv", status)
        look("pkg_rv")
    deposit(waiting)
    add("GET", "/v1/packages/pkg_rv")
    deposit(p_min("pkg_rs", "proj_r", status="draft"))
    for body in (
        {},
        {"review_type": "script"},
        {"review_type": "human", "note": 5},
        {"review_type": "human", "note": "n"},
    ):
        flag("pkg_rs", body)
        look("pkg_rs")
    for body in ({"review_type": "human"}, {"review_type": "agent"}):
        flag("pkg_rv", body)
        look("pkg_rv")
    flag("pkg_r_none", {"review_type": "human"})
    add("GET", "/v1/orchestrate?project=proj_r")
    add("GET", "/v1/projects/proj_r/packages?mode=latest&limit=50")


def state_rounds(add, deposit, json_of):
    """Later rounds of facts and of review, and values of facts that few tests send."""
    base = "/v1/projects/proj_s/facts"
    claim = lambda subject, value, **more: add(
        "POST", base, json_of({"subject": subject, "predicate": "p", "value": value, **more})
    )

    def look(subject):
        add("GET", f"{base}?subject={subject}&predicate=p&include_ended=true")
        add("GET", "/v1/projects/proj_s/orient")

    add("POST", "/v1/projects", json_of({"project_id": "proj_s", "name": "s"}))
    by = {"id": "nightly", "type": "script", "git_commit": "9f2c1d0"}
    deposit(p_min("pkg_s", "proj_s", created_by=by))
    for n in range(3):
        claim("lives", f"life {n}", tags=["a"], confidence=0.75)
        look("lives")
        add("DELETE", f"{base}?subject=lives&predicate=p")
        look("lives")
    claim("source", "x", source_package_id="pkg_s")
    look("source")
    claim("fractions", "one", valid_from=at(hours=6).replace("Z", ".125Z"))
    claim("fractions", "two", valid_from=at(hours=5).replace("Z", ".625Z"), tags=["b"])
    claim("fractions", "three", valid_from=at(hours=4), confidence=0.5, tags=["c"])
    look("fractions")
    for more in ({"confidence": 2, "tags": ["refused"]}, {"confidence": True}, {"tags": "text"}, {"tags": ["a", 2]}):
        claim("fractions", "four", **more)
        look("fractions")
    for n, text in enumerate(("2025-02-30T00:00:00Z", "2025-02-29T00:00:00Z", "2025-01-02T24:00:00Z")):
        claim(f"times {n}", "x", valid_from=text)
        add("GET", f"{base}?subject=times%20{n}&predicate=p")
    deposit(p_min("PKG_S", "proj_s"))
    by = {"id": "Kim", "type": "human"}
    claim("odd", "x", source_package_id="PKG_S", asserted_by=by, tags=[" B "], confidence=0.9)
    look("odd")
    body = {"subject": "s", "predicate": "e\u0301", "value": "x"}
    add("POST", base, json_of(body))
    claim("early", "x", valid_from="1969-12-31T23:59:59Z")
    look("early")
    add("GET", f"{base}?subject=early&predicate=p&as_of=1969-12-31T23:59:59Z")
    claim("two\nlines", "x")
    for value in ("one", "two"):
        claim("instants", value, valid_from=at(hours=5 if value == "one" else 4))
        add("GET", f"{base}?subject=instants&predicate=p&as_of={at(hours=3)}")
    add("DELETE", f"{base}?subject=instants&predicate=p")
    claim("bare", "after one with members")
    look("bare")
    for _ in range(2):
        add("POST", "/v1/projects/proj_s/archive")
        add("POST", "/v1/projects/proj_s/restore")
        look("fractions")
    line = {"fact_id": "fact_" + "7" * 32, "project_id": "proj_t", "subject": "s", "predicate": "p", "value": "1"}
    line = json_of({**line, "valid_from": at(hours=9), "created_at": at(hours=9)})
    for _ in range(2):
        add("POST", "/v1/import", line + b"\n", {"Content-Type": "application/x-ndjson"})
        add("GET", "/v1/projects/proj_t/facts?subject=s&predicate=p&include_ended=true")
    deposit(p_min("pkg_rounds", "proj_s", status="draft"))
    for n in range(4):
        add("POST", "/v1/packages/pkg_rounds/flag", json_of({"review_type": "agent" if n % 2 else "human"}))
        add("PATCH", "/v1/packages/pkg_rounds/status", json_of({"status": "revision_requested"}))
        add("GET", "/v1/packages/pkg_rounds")
    deposit(p_min("pkg_later", "proj_s"))
    add("PATCH", "/v1/packages/pkg_rounds/status", json_of({"status": "complete"}))
    deposit(p_min("PKG_CASE", "proj_s", status="draft"))
    add("POST", "/v1/packages/pkg_case/flag", json_of({"review_type": "human"}))
    deposit(p_min("pkg_old_draft", "proj_s", status="draft", created_at=at(hours=30)))
    add("POST", "/v1/packages/pkg_old_draft/flag", json_of({"review_type": "human"}))
    for tail in ("packages?mode=latest&limit=50", "orient"):
        add("GET", f"/v1/projects/proj_s/{tail}")
    add("PATCH", "/v1/packages/pkg_old_draft/status", json_of({"status": "complete"}))
    add("GET", "/v1/projects/proj_s/packages?mode=relevant&query=pm")
    add("GET", "/v1/projects/proj_s/packages?mode=latest&limit=50")
    add("GET", "/v1/projects/proj_s/orient")
    add("GET", "/v1/projects/proj_s/export")


def rare_steps(add, deposit, json_of):
    """Values that few tests send, repeats that differ in one member, and spellings of HTTP."""
    add("POST", "/v1/projects", json_of({"project_id": "proj_q", "name": "q"}))
    for n, text in enumerate(
        ("2026-01-02T24:00:00Z", "2026-01-02T03:60:00Z", "2025-02-29T00:00:00Z", "2024-02-29T00:00:00Z")
    ):
        deposit(p_min(f"pkg_q_time{n}", "proj_q", created_at=text))
    deep = ["deep", 1]
    for n in range(20):
        deep = [deep] if n % 3 else {"a": deep}
    inner = {"a": {}, "b": [], "c": 1}
    rare = {"numbers": {"0": "a", "1": "b"}, "big": 10**30, "inner": inner, "deep": deep}
    files = [{"path": "a", "type": "md", "size_bytes": 5_000_000_000}]
    deposit(p_min("pkg_q_rare", "proj_q", **rare, deliverables=files))
    deposit(p_min("pkg_q_empty", "proj_q", topic="", artifact_type="", tags=["", "a"]))
    deposit(p_min("pkg_q_many", "proj_q", tags=[str(n) for n in range(120)]))
    deposit(p_min("pkg_q_bare", "proj_q"))
    deposit(p_min("pkg_q_blank", "proj_q", title=" "))
    for n, more in enumerate(({"tags": ["a", None]}, {"tags": ["a", ["b"]]}, {"deliverables": [{**files[0], "size_bytes": True}]})):
        deposit(p_min(f"pkg_q_bad{n}", "proj_q", **more))
    add("POST", "/v1/projects/proj_q/packages", json_of(p_min("pkg_q_inf", "proj_q"))[:-1] + b',"x":1e400}')
    whole = p_full("pkg_q_full", "pkg_q_bare", "proj_q")
    deposit(whole)
    for change in (
        {"handoff_note": "other"},
        {"topic": "other"},
        {"review_type": "human"},
        {"decisions_made": ["other"], "open_questions": ["refused?"]},
        {"parent_package_id": None},
        {"estimated_next_actor": "agent"},
        {"title": "refused words"},
    ):
        deposit({**whole, **change})
    add("GET", "/v1/projects/proj_q/orient")
    for n in range(60):
        deposit(p_min(f"pkg_q_{n}", "proj_q", title="filler", open_questions=[f"{n}?"], created_at=at(minutes=n)), pull=False)
    words = "größe überlauf"
    deposit(p_min("pkg_q_words", "proj_q", title=words, description="lava " * 4, created_at=at(days=9)))
    deposit(p_min("pkg_q_weak", "proj_q", title="one", description="lava", created_at=at(days=8)))
    for query in ("refused", segment(words), "lava", "lava&limit=1"):
        add("GET", f"/v1/projects/proj_q/packages?mode=relevant&query={query}")
    add("GET", "/v1/projects/proj_q/orient")
    more = [{"path": "b", "type": "md", "lines": 3}] * 2
    deposit(p_min("pkg_q_lines2", "proj_q", deliverables=more, description="語" * 50_000))
    for n, (old, new) in enumerate(((b"MARK", b"\\ud83d\\ude80"), (b"MARK\"", b"MARK\" "))):
        package = json_of(p_min(f"pkg_q_spelled{n}", "proj_q", description="MARK")).replace(old, new)
        add("POST", "/v1/projects/proj_q/packages", package + b"\n" * n)
        add("GET", f"/v1/packages/pkg_q_spelled{n}")
    add("GET", "/v1/packages/pkg_q_bare", None, {"Accept": "text/html, */*"})
    odd = p_min("pkg_q_odd", "proj_odd", title="t" * 150, topic=" t ", artifact_type=" a ", content_md="word " * 4000)
    odd["created_by"] = {"id": " Sam ", "type": "human"}
    more = {"deliverables": [{"path": "docs//a/./b", "type": "md"}], "open_questions": ["q" * 300 + "?"], "x-empty": ""}
    deposit({**odd, **more})
    for tail in ("packages?mode=latest&limit=5", "orient", "export"):
        add("GET", f"/v1/projects/proj_odd/{tail}")
    line = json_of(p_min("pkg_q_large", "proj_odd", content_md="word " * 20_000))
    add("POST", "/v1/import", line + b"\n", {"Content-Type": "application/x-ndjson"})
    for n, text in enumerate(("1969-12-31T23:59:59Z", at(hours=3).replace("Z", ".9Z"), at(hours=3).replace("Z", ".25Z"))):
        deposit(p_min(f"pkg_q_order{n}", "proj_o", created_at=text))
    add("GET", "/v1/projects/proj_o/packages?mode=latest&limit=50")
    for days in (30, 1):
        add("GET", f"/v1/projects/proj_o/orient?window_days={days}")
    deposit(p_min("pkg_q_bare", "proj_o"))
    add("GET", "/v1/orchestrate?project=proj_o")
    deposit(p_min("pkg_q_order3", "proj_o", title="new in the digest"))
    add("GET", "/v1/orchestrate?project=proj_o")
    deposit(p_min("pkg_q_é", "proj_q"))
    add("GET", "/v1/packages/pkg_q_%c3%a9")
    add("HEAD", "/v1/packages/pkg_q_full")
    for media in ('application/json; charset="utf-8"', "Application/JSON"):
        deposit(p_min("pkg_q_media", "proj_q"), headers={"Content-Type": media})
    chunked = json_of(p_min("pkg_q_chunked", "proj_q"))
    chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(chunked), chunked)
    add("POST", "/v1/projects/proj_q/packages", chunked, {"Transfer-Encoding": "chunked"})
    lines = [p_min("pkg_q_draft", "proj_q", status="draft")]
    lines += [p_min("pkg_q_lines", "proj_q", title="one \u2028 two"), p_min("pkg_q_bare", "proj_q", title="overwritten")]
    for line in lines:
        add("POST", "/v1/import", json_of(line) + b"\n", {"Content-Type": "application/x-ndjson"})
        add("GET", "/v1/packages/" + line["package_id"])
    for _ in range(2):
        add("POST", "/v1/projects/proj_q/archive")
        add("POST", "/v1/projects/proj_q/restore")
        add("GET", "/v1/projects/proj_q/packages?mode=latest&limit=50")


def sequence_steps(add, deposit, json_of):
    """Repeats, ties, long lists, effects on other things, spellings, and the same state read in several ways."""
    facts = lambda project, tail="": add("GET", f"/v1/projects/{project}/facts{tail}")
    latest = lambda project, limit=50: add("GET", f"/v1/projects/{project}/packages?mode=latest&limit={limit}")
    orient = lambda project, tail="": add("GET", f"/v1/projects/{project}/orient{tail}")
    move = lambda identity, status: add("PATCH", f"/v1/packages/{identity}/status", json_of({"status": status}))
    flag = lambda identity, kind="human": add("POST", f"/v1/packages/{identity}/flag", json_of({"review_type": kind}))
    take = lambda *lines: add(
        "POST", "/v1/import", b"".join(json_of(x) + b"\n" for x in lines), {"Content-Type": "application/x-ndjson"}
    )

    def claim(project, subject, value, predicate="p", **more):
        body = {"subject": subject, "predicate": predicate, "value": value, **more}
        add("POST", f"/v1/projects/{project}/facts", json_of(body))

    def end(project, subject, predicate="p"):
        add("DELETE", f"/v1/projects/{project}/facts?subject={subject}&predicate={predicate}")

    def look(project, subject, predicate="p", *whens):
        for tail in ("", "&include_ended=true", *(f"&as_of={segment(w)}" for w in whens)):
            facts(project, f"?subject={subject}&predicate={predicate}{tail}")

    # Rounds of a pair
    for n in range(3):
        claim("seq_rounds", "s", "same")
        look("seq_rounds", "s")
        orient("seq_rounds")
        end("seq_rounds", "s")
        look("seq_rounds", "s", "p", at(days=-1))
    add("GET", "/v1/projects/seq_rounds/export")
    for n, value in enumerate(("one", "two", "one")):
        claim("seq_rounds", "back", value, valid_from=at(hours=9 - n))
    look("seq_rounds", "back", "p", at(hours=9), at(hours=8), at(hours=7), at(hours=1))
    facts("seq_rounds", "?subject=back&predicate=p")
    facts("seq_rounds", f"?subject=back&predicate=p&as_of={segment(at(hours=6, minutes=30).replace('Z', '+02:00'))}")
    # Repeats of a deposit
    whole = p_min("seq_whole", "seq_repeats", **{"x-list": [], "x-n": 1})
    for change in ({}, {}, {}, {"title": "other"}, {"title": "other"}, {}, {"x-list": None}, {"x-n": "1"}, {"x-n": 1.0}):
        deposit({**whole, **change})
    deposit({k: v for k, v in whole.items() if k != "x-list"})
    deposit(p_min("seq_repeats", "seq_repeats"))
    deposit(p_min("seq_whole", "seq_elsewhere", title="of another project"))
    latest("seq_elsewhere")
    # Archiving
    for project in ("seq_archive", "seq_neighbour"):
        deposit(p_min(f"pkg_{project}", project))
    for n in range(2):
        add("POST", "/v1/projects/seq_neighbour/archive")
        add("POST", "/v1/projects/seq_archive/archive")
        deposit(p_min(f"seq_meanwhile{n}", "seq_archive"))
        add("POST", "/v1/projects/seq_archive/restore")
        orient("seq_neighbour")
        latest("seq_archive")
    # Import
    row = {"project_id": "seq_import", "predicate": "p", "created_at": at(hours=9), "valid_from": at(hours=9)}
    lines = [p_min("seq_i1", "seq_import", status="awaiting_review", review_type="human")]
    lines += [{**row, "fact_id": f"fact_{n:032x}", "subject": f"i{n}", "value": "v"} for n in range(2)]
    deposit(p_min("seq_i0", "seq_import"))
    take(*lines)
    claim("seq_import", "i0", "later")
    look("seq_import", "i0")
    add("GET", "/v1/projects/seq_import/review-queue")
    latest("seq_import")
    deposit({**lines[0], "title": "other"})
    move("seq_i1", "complete")
    take(*lines[1:])
    look("seq_import", "i0")
    take(lines[0])
    add("GET", "/v1/packages/seq_i1")
    many = [p_min(f"seq_m{n}", "seq_many", created_at=at(minutes=n)) for n in range(110)]
    take(*many)
    add("GET", "/v1/packages/seq_m100")
    add("GET", "/v1/projects/seq_many/export")
    # Review
    deposit(p_min("seq_r", "seq_review", status="draft"))
    for step in ("awaiting_review", "draft", "revision_requested", "awaiting_review", "complete", "draft"):
        flag("seq_r") if step == "awaiting_review" else move("seq_r", step)
        add("GET", "/v1/packages/seq_r")
        add("GET", "/v1/projects/seq_review/review-queue")
        add("GET", "/v1/projects/seq_review/packages?mode=relevant&query=seq_r")
    deposit(p_min("seq_r2", "seq_review", title="pm seq_r again"))
    add("GET", "/v1/projects/seq_review/packages?mode=relevant&query=seq_r")
    # Ties
    for n in range(5):
        deposit(p_min(f"seq_t{n}", "seq_ties", created_at=at(hours=1 + n // 2)))
    for n in range(5, 0, -1):
        latest("seq_ties", n)
    add("GET", "/v1/projects/seq_ties/packages?mode=latest")
    add("GET", "/v1/projects/seq_ties/packages?mode=relevant&query=pm")
    for value in ("one", "two"):
        claim("seq_ties", "tie", value, valid_from=at(hours=5))
    look("seq_ties", "tie", "p", at(hours=5))
    for predicate in ("p", "q"):
        claim("seq_ties", "equal", "v", predicate)
    orient("seq_ties")
    for more in ({"confidence": 0.75, "tags": ["a"]}, {"confidence": 1, "tags": []}):
        claim("seq_ties", "members", str(more), **more)
    claim("seq_ties", "members", "v", "q", tags=["q"])
    look("seq_ties", "members")
    # Long lists
    claim("seq_long", "early", "1")
    for n in range(12):
        claim("seq_long", "chain", str(n), valid_from=at(hours=30 - n))
    look("seq_long", "chain", "p", at(hours=30), at(hours=19))
    for n in range(104):
        claim("seq_long", "filler", str(n))
    end("seq_long", "filler")
    claim("seq_long", "last", "1")
    look("seq_long", "early")
    orient("seq_long")
    claim("seq_long", "early", "2")
    look("seq_long", "early")
    words = [f"{n}?" for n in range(12)]
    deposit(p_min("seq_words", "seq_words", tags=words, open_questions=words, **{"x-list": list(range(12))}))
    orient("seq_words")
    first = p_min("seq_d0", "seq_long", status="draft", created_at=at(days=3))
    deposit(first)
    for n in range(1, 54):
        deposit(p_min(f"seq_d{n}", "seq_long", created_at=at(hours=60 - n)), pull=False)
    latest("seq_long", 3)
    deposit({**first, "title": "other"})
    flag("seq_d0")
    add("GET", "/v1/projects/seq_long/review-queue")
    # Effects on other things
    for n, by in enumerate((("sam", "human"), ("sam", "agent"), ("kim", "human"))):
        by = {"id": by[0], "type": by[1], "session_id": "sess_seq"}
        deposit(p_min(f"seq_u{n}", "seq_other", created_by=by, parent_package_id="seq_u0" if n else None))
        add("GET", "/v1/packages/seq_u0")
    for subject in ("a", "b"):
        claim("seq_other", subject, "v", source_package_id="seq_u0", valid_from=at(days=5))
    end("seq_other", "a")
    look("seq_other", "b")
    add("DELETE", "/v1/projects/seq_other/facts?subject=b")
    look("seq_other", "b")
    claim("seq_other", "c", "v", valid_from=at(days=5))
    orient("seq_other", "?window_days=1")
    look("seq_other", "c", "p", at(days=6))
    look("seq_other", "c")
    # Spellings
    add("DELETE", "/v1/projects/seq_other/facts?predicate=p&subject=c")
    for n, (old, new) in enumerate(
        (
            (b"x-name", b"x-\\u006eame"),
            (b"MARK", b"\\/"),
            (b'"x-name": 1', b'"x-name": 1E2'),
            (b"{", b"\n{"),
        )
    ):
        body = json_of(p_min(f"seq_s{n}", "seq_spelled", description="MARK", **{"x-name": 1})).replace(old, new, 1)
        add("POST", "/v1/projects/seq_spelled/packages", body)
        add("GET", f"/v1/packages/seq_s{n}")
    body = json_of(p_min("seq_headers", "seq_spelled"))
    add("POST", "/v1/projects/seq_spelled/packages", body, {"content-length": str(len(body))})
    add("POST", "/v1/projects/seq_spelled/packages", body, {"Content-Type": "Application/JSON"})
    add("GET", "/v1/packages/%73eq%5Fheaders")


def sequence_races(port):
    """What the races of agentic_sequence_mutants.py break: booleans only."""
    c = Client(port)
    marks = []
    base = "/v1/projects/seq_races/facts"
    claim = lambda c, subject, value: c.ask("POST", base, {"subject": subject, "predicate": "p", "value": value})
    current = lambda subject: facts_view(c.ask("GET", f"{base}?subject={subject}&predicate=p").json)
    claim(c, "other", "v")
    ids = [r.json["fact_id"] for _ in range(4) for r in at_once(port, 8, lambda c, i: claim(c, f"id{i}", str(time.time())))]
    marks.append(len(set(ids)) == len(ids))
    marks.append([len(current(f"first{n}")) for n in range(6) if at_once(port, 4, lambda c, i: claim(c, f"first{n}", str(i)))])

    def lost(n):
        end = lambda c: c.ask("DELETE", f"{base}?subject=nothing&predicate=p")
        at_once(port, 6, lambda c, i: claim(c, f"lost{n}_{i}", "v") if i % 2 else end(c))
        return [len(current(f"lost{n}_{i}")) for i in (1, 3, 5)]

    marks.append([lost(n) for n in range(6)])

    def created(n):
        at_once(port, 6, lambda c, i: c.deposit(p_min(f"seq_c{n}_{i}", f"seq_new{n}")))
        return len(list_view(c.latest(f"seq_new{n}", 50).json))

    marks.append([created(n) for n in range(4)])

    def flagged(n):
        c.deposit(p_min(f"seq_f{n}", "seq_races", status="draft"))
        path = f"/v1/packages/seq_f{n}"

        def one(c, i):
            if i % 2:
                return c.ask("POST", path + "/flag", {"review_type": "human"})
            time.sleep(0.002)
            return c.ask("PATCH", path + "/status", {"status": "complete"})

        at_once(port, 2, one)
        return package_view(c.pull(f"seq_f{n}").json)["status"]

    marks.append(sorted({flagged(n) for n in range(12)}))

    def gap(n):
        c.deposit(p_min(f"seq_g{n}", "seq_races", status="draft"))

        def one(c, i):
            if i == 0:
                return c.ask("PATCH", f"/v1/packages/seq_g{n}/status", {"status": "complete"}).ok
            return all(c.pull(f"seq_g{n}").ok for _ in range(8))

        return all(at_once(port, 3, one))

    marks.append(all([gap(n) for n in range(8)]))
    c.close()
    return marks


TIME = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?")


def normalise(body, sent):
    """Times and ids made by the server, which differ between runs, are replaced; sent ones are kept."""
    now = time.time()

    def each(found):
        text = found.group()
        if text in sent:
            return text
        zone = found.group(2) or b"none"
        moment = (
            datetime.fromisoformat(text.decode().replace("Z", "").replace("+00:00", ""))
            .replace(tzinfo=timezone.utc)
            .timestamp()
        )
        away = round((moment - now) / 60)
        digits = len((found.group(1) or b".")) - 1
        return b"<now%+d %d %s>" % (away, digits, zone)

    body = TIME.sub(each, body)
    body = re.sub(rb"(fact|pkg)_[0-9a-f]{32}", rb"<\1>", body)
    if b'"<pkg>"' in body:
        body = re.sub(rb"[0-9a-fA-F]{64}", b"<hash>", body)
    return re.sub(rb'"generated_at": ?[\d.]+', b'"generated_at": <number>', body)


def ask_facts(port, token, tail=""):
    c = Client(port, token)
    try:
        return c.ask("GET", f"/v1/projects/proj_a/facts?subject=r&predicate=p{tail}")
    finally:
        c.close()


def watched(port, token):
    """The number of current facts that a reader sees during writes."""

    def one(c, i):
        c.token = token
        if i == 0:
            body = {"subject": "w", "predicate": "p"}
            for n in range(25):
                c.ask("POST", "/v1/projects/proj_a/facts", {**body, "value": str(n)})
            return []
        counts = []
        for _ in range(60):
            reply = c.ask("GET", "/v1/projects/proj_a/facts?subject=w&predicate=p")
            counts.append(len(facts_view(reply.json) or []) if reply.ok else -1)
        return counts

    c = Client(port, token)
    c.ask("POST", "/v1/projects/proj_a/facts", {"subject": "w", "predicate": "p", "value": "first"})
    c.close()
    return sorted({n for counts in at_once(port, 3, one) for n in counts})


def raced_moves(port, token):
    """Whether a package took both transitions out of a review."""
    both = False
    for n in range(4):
        c = Client(port, token)
        c.deposit(p_min(f"pkg_rm{n}", status="awaiting_review", review_type="human"))
        c.close()
        states = ("complete", "revision_requested")
        move = lambda c, i: c.ask("PATCH", f"/v1/packages/pkg_rm{n}/status", {"status": states[i % 2]}, token=token)
        kinds = {i % 2 for i, r in enumerate(at_once(port, 4, move)) if r.ok}
        both = both or len(kinds) == 2
    return both


def seen_by_two(port, token):
    """What the first of two connections sees of what the second writes: booleans only."""
    one, two = Client(port, token), Client(port, token)
    fact = {"subject": "two", "predicate": "p", "value": "first"}
    facts = "/v1/projects/proj_two/facts"
    reads = [
        lambda: one.ask("GET", "/v1/projects/proj_two/packages?mode=latest&limit=50").body,
        lambda: one.ask("GET", f"{facts}?subject=two&predicate=p").body,
        lambda: one.ask("GET", f"{facts}?subject=two&predicate=p&include_ended=true").body,
    ]
    one.ask("POST", "/v1/projects", {"project_id": "proj_two", "name": "two"})
    package = p_min("pkg_two", "proj_two")
    one.deposit(package)
    one.ask("POST", facts, fact)
    before = [read() for read in reads]
    repeated = two.deposit(package).ok
    two.deposit(p_min("pkg_two_later", "proj_two"))
    two.ask("POST", facts, {**fact, "value": "second"})
    changed = [read() != old for read, old in zip(reads, before)]
    one.close()
    two.close()
    return [repeated, *changed]


def race_marks(port, token):
    """Properties of parallel requests in any order: booleans only."""
    ask = lambda work: at_once(port, 12, work)
    deposit = lambda c, package: c.deposit(package, token=token)
    different = ask(lambda c, i: deposit(c, p_min("pkg_r1", title=f"r {i}")))
    same_ones = ask(lambda c, i: deposit(c, p_min("pkg_r2")))
    own = []
    for round_ in range(4):
        own += ask(lambda c, i: (f"pkg_r3_{round_}_{i}", deposit(c, p_min(f"pkg_r3_{round_}_{i}"))))
    asserts = []
    for round_ in range(3):
        asserts += ask(
            lambda c, i: c.ask(
                "POST",
                "/v1/projects/proj_a/facts",
                {"subject": "r", "predicate": "p", "value": f"{round_} {i}"},
                token=token,
            )
        )
    rows = facts_view(ask_facts(port, token, "&include_ended=true").json)
    path = "/v1/projects/proj_a/facts?subject=r&predicate=p"
    ended = [r.json for r in ask(lambda c, i: c.ask("DELETE", path, token=token)) if r.ok and r.body]
    seen, moved = watched(port, token), raced_moves(port, token)
    return [
        sum(r.ok for r in asserts) == len(rows) if rows is not None else None,
        sum(type(e) is dict and e.get("count") == 1 for e in ended) > 1,
        seen_by_two(port, token),
        seen,
        moved,
        sum(r.ok for r in different) == 1,
        all(r.ok for r in same_ones),
        all(identity.encode() in r.body for identity, r in own) if own[0][1].body else None,
        sorted({r.status for r in asserts}),
    ]


def trace(choices, mutant=None, level="L3", auth=False, part="all"):
    """The result of the scenario: a list of comparable answers."""
    keys = {"key-a": "owner-a", "key-b": "owner-b"} if auth else None
    token = "key-a" if auth else None
    steps = scenario(part)
    sent = set()
    for _, path, body, _ in steps:
        sent |= {m.group() for m in TIME.finditer((body or b"") + path.encode())}
    out = []
    fastest = 60.0
    with Running(choices, mutant, level, keys) as running:
        c = Client(running.port, token)
        for method, path, body, headers in steps:
            started = time.monotonic()
            try:
                reply = c.ask(method, path, body, headers)
                shown = [(n, v) for n, v in reply.headers if n.lower() not in ("date", "content-length")]
                date = reply.header("Date")
                if date:
                    away = (
                        datetime.strptime(date, "%a, %d %b %Y %H:%M:%S GMT").replace(tzinfo=timezone.utc).timestamp()
                        - time.time()
                    ) / 60
                    shown.append(("date", f"{round(away)} min"))
                text = normalise(reply.body, sent)
                if b'"<pkg>"' in text:  # an id made by the server, so the hash differs each time
                    shown = [(n, "<hash>" if hex_of(v) else v) for n, v in shown]
                out.append((reply.status, reply.version, reply.hops, shown, text))
            except (OSError, HTTPException) as e:
                c.close()
                out.append((type(e).__name__,))
            fastest = min(fastest, time.monotonic() - started)
        if auth:
            c.token = "key-b"
            out.append(c.pull("pkg_draft").status)
            for wrong in ("nobody", None):
                c.token = wrong
                for i, (method, path, body) in enumerate(
                    (
                        ("POST", "/v1/projects/proj_a/packages", p_min(f"pkg_auth_{wrong}")),
                        ("GET", "/v1/packages/pkg_full", None),
                    )
                ):
                    reply = c.ask(method, path, body)
                    out.append((reply.status, normalise(reply.body, sent)))
                c.token = token
                out.append(c.pull(f"pkg_auth_{wrong}").status)
        if part != "sequence":
            out.append(race_marks(running.port, token))
        out.append(["slow"] if fastest > 0.045 else [])
        if part == "sequence" and (mutant is None or MUTANTS[mutant].kind == "race"):
            out += sequence_races(running.port)
        c.close()
    return out


NOISY = {
    "order-shuffled",
    "facts-shuffled",
    "hash-recomputed-per-read",
    "split-writes",
}  # differ between runs, or on the wire only


def base_of(name):
    """(choices, level, auth) of the run that a choice or mutant is compared with."""
    if name in MUTANTS:
        mutant = MUTANTS[name]
        level = "L1" if name == "descriptor-overclaims" else "L3"
        return resolve(mutant.needs), level, bool(mutant.arguments)
    helpers = {
        "archive-204": (),
        "archived-reads-404": (),
        "window-ignored": ("window-filters",),
        "note-in-answer": (),
        "finish-refused": (),
        "projects-must-exist": ("project-create-201",),
        "unknown-project-created": (),
    }
    level = "L0" if CHOICES[name].group == "above-level" else "L3"
    return resolve(helpers.get(name, ())), level, CHOICES[name].group in ("auth-refusal", "draft-readers")


CACHE = {}


def shows(name):
    choices, level, auth = base_of(name)
    part = "all" if name in CHOICES else "state" if MUTANTS[name].level in ("L2", "L3") else "core"
    if name in MUTANTS and MUTANTS[name].kind:
        part = "sequence"
    key = (choices, level, auth, part)
    if key not in CACHE:
        CACHE[key] = trace(*key[:1], None, *key[1:])
    if name in MUTANTS:
        seen = trace(choices, name, *key[1:])
    else:
        group = CHOICES[name].group
        rest = {c for c in choices if CHOICES[c].group != group}
        seen = trace(frozenset(rest | {name}), None, level, auth)
    differences = [i for i, (a, b) in enumerate(zip(CACHE[key], seen)) if a != b]
    return differences, len(seen)


# --- Part 3: trivial servers --------------------------------------------------------------------------------------------


def dumb(kind):
    f = Findings(f"dumb {kind}")
    process = subprocess.Popen(
        [sys.executable, str(HERE / "dumb_server.py"), "--kind", kind], stdout=subprocess.PIPE, text=True
    )
    try:
        port = int(process.stdout.readline().rsplit(":", 1)[1])
        s = socket.create_connection(("127.0.0.1", port), timeout=1.5)
        s.sendall(b'POST /v1/x HTTP/1.1\r\nHost: x\r\nContent-Length: 7\r\n\r\n{"a":1}')
        data, open_end = b"", True
        deadline = time.monotonic() + 2.5
        try:
            while len(data) < 300_000 and time.monotonic() < deadline:
                piece = s.recv(65536)
                if not piece:
                    open_end = False
                    break
                data += piece
                if kind not in ("huge", "slow-drip", "silent", "garbage") and b"\r\n\r\n" in data:
                    head, _, rest = data.partition(b"\r\n\r\n")
                    length = re.search(rb"Content-Length: (\d+)", head)
                    if length and len(rest) >= int(length[1]):
                        break
        except ConnectionResetError:
            open_end = False
        except TimeoutError:
            pass
        s.close()
        head, _, rest = data.partition(b"\r\n\r\n")
        wanted = {
            "silent": data == b"" and open_end,
            "closing": data == b"" and not open_end,
            "empty-object": head.startswith(b"HTTP/1.1 200") and rest == b"{}",
            "always-200": head.startswith(b"HTTP/1.1 200") and rest == b"",
            "always-404": head.startswith(b"HTTP/1.1 404"),
            "always-500": head.startswith(b"HTTP/1.1 500"),
            "echo": head.startswith(b"HTTP/1.1 200") and rest == b'{"a":1}',
            "garbage": data != b"" and not data.startswith(b"HTTP/"),
            "huge": len(data) >= 300_000,
            "slow-drip": 0 < len(data) < 10 and open_end,
            "redirect-loop": re.match(rb"HTTP/1.1 30[278]", head) and b"Location: " in head,
            "null": head.startswith(b"HTTP/1.1 200") and rest == b"null",
            "html": b"text/html" in head and rest.startswith(b"<!doctype html>"),
        }
        f.check("answers as expected", wanted[kind], data[:200])
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    return f


DUMB = "silent closing empty-object always-200 always-404 always-500 echo garbage huge slow-drip redirect-loop null html".split()


# --- Running ------------------------------------------------------------------------------------------------------------


def one_smoke(label, names, preset):
    f = Findings(label)
    try:
        choices = resolve(names, preset)
        with Running(choices) as running:
            smoke(running.port, choices, f)
    except Exception:
        f.failed.append(f"{label}: {traceback.format_exc(limit=-3)}")
    return f


def one_visible(name):
    f = Findings(f"{name} shows")
    try:
        differences, length = shows(name)
        f.check("some answer differs", differences or name in NOISY, f"{length} answers, all the same")
    except Exception:
        f.failed.append(f"{name}: {traceback.format_exc(limit=-3)}")
    return f


def stable(_):
    """Part 2 requires a deterministic scenario."""
    f = Findings("the scenario is deterministic")
    for part in ("all", "sequence"):
        first, second = (trace(resolve([]), part=part) for _ in range(2))
        odd = [(i, a, b) for i, (a, b) in enumerate(zip(first, second)) if a != b]
        f.check(f"two runs agree ({part})", not odd, odd[:1])
    return f


def work(job):
    kind, *arguments = job
    return {"smoke": one_smoke, "visible": one_visible, "dumb": dumb, "stable": stable}[kind](*arguments)


def jobs(only, quick):
    wanted = lambda name: not only or name in only
    out = []
    for preset in ("default", "strict", "tolerated", *(f"random:{i}" for i in range(4 if quick else 40))):
        if wanted(preset):
            out.append(("smoke", f"preset {preset}", [], preset))
    out += [("smoke", name, [name], "default") for name in CHOICES if wanted(name)]
    if not quick:
        if not only:
            out.append(("stable", None))
        out += [("visible", name) for name, c in CHOICES.items() if not c.default and wanted(name)]
        out += [("visible", name) for name in MUTANTS if wanted(name)]
    out += [("dumb", kind) for kind in DUMB if wanted(kind)]
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", help="choice, mutant, preset or kind of dumb server; repeatable")
    parser.add_argument("--quick", action="store_true", help="without part 2, with fewer random presets")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    todo = jobs(arguments.only, arguments.quick)
    if not todo:
        parser.error("nothing to do")
    passed = failed = 0
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for f in pool.map(work, todo):
            passed += f.passed
            failed += len(f.failed)
            for line in f.failed:
                print(line)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())

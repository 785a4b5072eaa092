#!/usr/bin/env python3
"""Make the corpora from suites/ and vectors/ anew: small inputs from which a fuzzer starts.

    python3 fuzz/seed.py

Files that it did not make are left alone; its own start with `seed-`.
"""

import json
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / "fuzz" / "corpus"


def write(target, name, data):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"seed-{name}").write_bytes(data if isinstance(data, bytes) else data.encode())


def vectors(kind):
    for path in sorted((ROOT / "vectors").glob(f"*/{kind}.json")):
        for group in json.loads(path.read_text(encoding="utf-8"))["groups"]:
            for test in group["tests"]:
                data = bytes.fromhex(test["input_hex"]) if "input_hex" in test else test["input"].encode()
                if len(data) <= 512:
                    yield test["id"].lower(), data


# One of each form that cases take; the folder of the suites itself is far larger than a fuzzer likes.
SUITES = {
    "edit": """suite: agentic/fuzz
cases:
  - case: refuses-it
    covers: [A-1]
    for_each: [{ row: title, with: x }, { row: status }]
    let: { p: { base: min, set: { /title: "${repeat 3 é}" } } }
    steps:
      - send: deposit
        with: { package: "${p}" }
        edit: [{ remove: "/${row.row}" }, { stage: encoded, truncate: 5 }]
        expect: [{ at: /status, equals: 400 }]
""",
    "parallel": """suite: agentic/fuzz
about: Races.
cases:
  - case: takes-one
    about: One wins.
    covers: [A-1, A-2]
    needs: [L1]
    reach: [endpoint]
    steps:
      - parallel:
          - { send: deposit, with: { package: { base: min } }, capture: { id: /package/package_id } }
          - { send: describe, as: b, repeat: 3, at-once: true }
      - send: pull-specific
        with: { package_id: "${id}" }
        until: 2s
        expect: [{ at: /status, equals: 200, covers: [A-1] }, { at: /package, exists: true, strict-only: true, covers: [A-2] }]
        expect-all: [{ at: /answers, each: { at: /status, one-of: [200] } }]
      - pause: 10ms
""",
    "request": """suite: agentic/fuzz
cases:
  - case: knows-its-routes
    covers: [A-2]
    steps:
      - request: { method: GET, path: "/v1/${word}/${number 1 5}", headers: { accept: "*/*" } }
        expect:
          - any-of:
              - { reading: not there, at: /status, equals: 404 }
              - { reading: none, tolerated: true, all: [{ at: /body, absent: or-null }] }
""",
    "wrong": "suite: [agentic\ncases: {case: *a, \"x\": !!binary aGk=}\n\t- no\n",
}

EXPECTATIONS = [
    ("/body/items/0", {"at": "/items", "each": [{"at": "/id", "type": "string"}]}, {"items": [{"id": "a"}]}),
    ("/a~1b/~0", {"at": "/a~1b", "ordered": {"by": "/t", "as": "time", "strictly": True}}, {"a/b": [{"t": "2026-01-02T03:04:05Z"}]}),
    ("/-", {"any-of": [{"reading": "x", "equals": 1}, {"reading": "y", "tolerated": True, "not": {"length": {"min": 2}}}]}, [1, 2]),
    ("", {"json-lines": [{"count": {"of": {"at": "/a", "within": {"min": 1}}, "is": {"max": 1}}}]}, "{\"a\":1}\n{\"a\":2}\n"),
    ("/h", {"at": "/h", "sha256-of": {"value": {"a": None}, "prefix": "optional"}}, {"h": "sha256:00"}),
    ("/t", {"at": "/t", "time": {"form": "rfc3339-utc", "from": "2026-01-01T00:00:00Z"}}, {"t": "2026-02-31T25:61:61Z"}),
]

ANSWERS = {
    "deposit": "deposit\n201\ncontent-type: application/json\nx-content-hash: sha256:00\n\n{\"package\":{\"package_id\":\"pkg_1\",\"title\":\"t\"},\"content_hash\":\"00\"}",
    "latest": "pull-latest\n200\ndate: Fri, 02 Jan 2026 03:04:05 GMT\n\n{\"packages\":[{\"package_id\":\"pkg_1\",\"title\":\"t\"}]}",
    "facts": "query-facts\n200\n\n{\"data\":[{\"fact\":{\"fact_id\":\"f\",\"subject\":\"s\"}}]}",
    "export": "export\n200\n\n{\"package\":{\"package_id\":\"pkg_1\"}}\r\n{\"fact_id\":\"f\"}\n\n",
    "error": "deposit\n400\n\n{\"error\":{\"code\":\"invalid\",\"details\":[\"title\"]}}",
    "adapter": "canonicalize adapter\n\n\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"canonical_hex\":\"7b7d\"}}",
    "adapter-list": "pull-latest adapter\n\n\n{\"id\":1,\"result\":{\"packages\":[\"7b7d\",5,\"zz\"]}}",
    "adapter-error": "orient adapter\n\n\n{\"id\":1,\"error\":{\"code\":-32601,\"message\":\"no\"}}",
    "nothing": "describe\n\n\n",
}


def main():
    for old in CORPUS.glob("*/seed-*"):
        old.unlink()
    for name, data in vectors("refused-json"):
        write("json_reader", name, data)
    for name, data in vectors("canonical-json"):
        write("canonical", name, data)
    for name, text in SUITES.items():
        write("suite_parse", name, text)
    for number, (place, expectation, value) in enumerate(EXPECTATIONS):
        write("matcher_path", f"{number}", "\n---\n".join([place, json.dumps(expectation), json.dumps(value)]))
    for name, text in ANSWERS.items():
        write("observe", name, text)


if __name__ == "__main__":
    main()

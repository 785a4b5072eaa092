#!/usr/bin/env python3
"""Rebuild the corpora from suites/ and vectors/: small inputs from which a fuzzer starts.

    python3 fuzz/seed.py

It keeps files that it did not make; its own start with `seed-`.
"""

import hashlib
import json
import re
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


def tests(name):
    """The tests of one vector file, each with the defaults of its group."""
    for group in json.loads((ROOT / "vectors" / f"{name}.json").read_text(encoding="utf-8"))["groups"]:
        for test in group["tests"]:
            yield {**group.get("with", {}), **test}


def picked(name, member, most):
    """Up to the given number of tests of a vector file, evenly spread, by id: the bytes of one member."""
    found = {}
    for test in tests(name):
        if isinstance(test.get(member), str):
            # Duplicate bytes are of no use to a fuzzer.
            found.setdefault(bytes.fromhex(test[member]), test["id"].lower())
    found = [(name, data) for data, name in found.items() if len(data) <= 1024]
    step = max(1, -(-len(found) // most))
    yield from found[::step]


MESSAGES = ["published", "signature", "structure", "encoding", "encryption", "bodies", "time", "types"]


def choices(number):
    """Bytes for a target whose input is choices: always the same."""
    out = b""
    while len(out) < 640:
        out += hashlib.sha256(f"{number}/{len(out)}".encode()).digest()
    return out


def halved(choices, rest):
    """An input of two parts: its first byte is the length of the first one."""
    return bytes([len(choices)]) + choices + rest


def agentic():
    packages = [data for _, data in vectors("content-hash")]
    for number, data in enumerate(packages[:: max(1, len(packages) // 12)]):
        write("agentic_message", f"package-{number}", data)
        write("reference_http", f"package-{number}", halved(bytes([0]) * (number % 8) + choices(number)[:16], data))
    for number in range(24):
        write("agentic_message", f"choices-{number}", choices(number)[:80])
    for name, text in FACTS.items():
        write("agentic_message", name, text)
    for number in range(100):
        name, text = list(REQUESTS.items())[number % len(REQUESTS)]
        write("reference_http", f"{name}-{number}", halved(choices(f"http-{number}")[:60], text.encode()))


def reports():
    for number in range(24):
        text = HOSTILE[number % len(HOSTILE)]
        write("report_render", f"choices-{number}", halved(choices(f"report-{number}")[:255], text.encode()))


def amp_core():
    for name, data in picked("amp-core/deterministic", "cbor", 100):
        write("cbor_decode", name, data)
    for kind in MESSAGES:
        for name, data in picked(f"amp-core/receive-{kind}", "message", 12):
            write("amp_envelope", name, data)
        # As choices: a message and its mutation need some hundreds of bytes.
        for name, data in picked(f"amp-core/receive-{kind}", "message", 3):
            write("sig_verify", name, data * 2)
    for name, data in picked("amp-core/box-open", "ciphertext", 20):
        write("authcrypt_open", name, data + choices(name))
    for number in range(12):
        write("sig_verify", f"choices-{number}", choices(number))
    for name, data in picked("amp-core/frame-decode", "data", 20):
        write("tcp_frames", name, halved(choices(name)[: len(name) * 3], data))
    for test in tests("amp-core/frame-encode"):
        write("tcp_frames", test["id"].lower(), halved(choices(test["id"])[:64], bytes.fromhex(test["frame"])[:200]))
    for name, (head, body) in WS_FRAMES.items():
        write("ws_frames", name, halved(b"", bytes.fromhex(head) + body))
        write("ws_frames", f"{name}-choices", halved(choices(name)[:24], bytes.fromhex(head) + body))


def one_vector():
    """A file with one vector, of each kind."""
    for path in sorted((ROOT / "vectors").glob("*/*.json")):
        head = json.loads(path.read_text(encoding="utf-8"))
        tests = [(len(json.dumps(test)), number, group, test) for number, group in enumerate(head["groups"]) for test in group["tests"]]
        _, _, group, test = min(tests, key=lambda found: found[:2])
        notes = {flag: head["notes"][flag] for flag in test.get("flags", [])}
        one = {**head, "count": 1, "notes": notes, "groups": [{**group, "tests": [test]}]}
        text = json.dumps(one, ensure_ascii=False)
        if len(text) <= 6000:
            write("vector_parse", path.stem, text)
    for number in range(12):
        write("vector_parse", f"choices-{number}", choices(number)[:96])


def templates():
    """Every value of the suites with a template in it, by its function, and those of the manual."""
    found = {}
    for path in sorted((ROOT / "suites").glob("*/*.yaml")):
        for text in re.findall(r'"([^"\n]*\$\{[^"\n]*\}[^"\n]*)"', path.read_text(encoding="utf-8")):
            words = re.search(r"\$\{\s*([a-z_0-9]+)", text)
            if words and len(text) <= 200:
                found.setdefault(words[1], text)
    for name, text in list(sorted(found.items()))[:80]:
        write("template", f"suite-{name}", text)
    for name, text in TEMPLATES.items():
        write("template", name, text)
    for number in range(24):
        write("template", f"choices-{number}", choices(number)[:160])


# One of each form of case; the suites themselves are far too large for a fuzzer.
SUITES = {
    "edit": """suite: agentic/fuzz
cases:
  - case: refuses-it
    covers: [A-1]
    for-each: [{ row: title, with: x }, { row: status }]
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
    runs-on: [endpoint]
    steps:
      - parallel:
          - { send: deposit, with: { package: { base: min } }, capture: { id: /package/package_id } }
          - { send: describe, as: b, repeat: 3, concurrent: true }
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

# Header in hex, and payload: RFC 6455 section 5.7, lengths of all widths, and invalid frames.
WS_FRAMES = {
    "text": ("8105", b"Hello"),
    "masked": ("818537fa213d7f9f4d5158", b""),
    "fragments": ("0103", b"Hel\x80\x02lo"),
    "ping": ("8905", b"Hello"),
    "length-126": ("827e0100", bytes(256)),
    "length-127": ("827f0000000000010000", bytes(64)),
    "longer-than-needed": ("827e0005", b"Hello"),
    "masked-126": ("82fe008001020304", bytes(128)),
    "masked-127": ("82ff000000000001000001020304", bytes(64)),
    "reserved": ("c205", b"Hello"),
    "close": ("880203e8", b""),
    "masked-close": ("888237fa213d3412", b""),
}

TEMPLATES = {
    "escape": "$${a} $${",
    "built": "{ base: p, set: { /a/0: '${hex 4}', /b: [ '${n}', 1 ] }, remove: [ /a ] }",
    "json": "json: '{ \"a\": [\"${word}\", 1e3, null] }'",
    "list": "[ '${number 1 5}', { a: '${time -1h}' }, \"${shift 2026-01-02T03:04:05Z 1d}\" ]",
    "bytes": "${bytes 00ff $id}",
    "slice": "${slice $id 2 4}",
    "wrong": "${ $}",
    "unclosed": "a ${hex 4",
}

TARGETS = {
    "endpoint": """protocol: agentic
url: http://127.0.0.1:8787
level: L1
credentials:
  a: { env: PATH, prefix: "Bearer " }
routes:
  project-create: { method: POST, path: "/api/projects", query: { a: "{project}" } }
places:
  content_hash: "header:X-Content-Hash"
  package: [ /data, /package ]
statuses: { 400: [400, 422] }
limits: { request: 250ms, case: 2m, jobs: 4, body: 1000 }
waivers:
  - case: "agentic/deposit#*"
    reason: the hash comes with version 2
""",
    "peer": """protocol: amp-core
url: https://agent.example.com
tcp: amps://agent.example.com:7411
ws: wss://agent.example.com/amp/v1/ws
second-instance: http://127.0.0.1:1
transports: [http, tcp]
level: core
settings:
  did: did:web:agent.example.com
  did_document: { file: did.json }
  reply: poll
features: { batch: false }
""",
    "adapter": "adapter: [python3, my adapter.py]\nname: mine\nwaivers:\n  - requirement: A-1\n    reason: later\n",
    "wrong": "url: ftp://x\nlevle: L1\ntcp: a:b\ncredentials: { a: { value: s } }\nlimits: { run: 5 }\nstatuses: []\n",
    "json": '{"url": "http://localhost:1", "limits": {"collect-for": "1s", "clock-skew": "5s"}}',
}

FACTS = {
    "fact": '{"fact_id":"f","project_id":"p","subject":"s","predicate":"q","value":"97.0","valid_from":"2026-04-10T12:00:00Z","valid_to":null,"confidence":1.0,"created_at":"2026-04-10T12:00:00.5Z","tags":[]}',
    "fact-wrong": '{"fact_id":"f","project_id":"p","subject":"s","predicate":"q","value":97,"valid_from":"2026-04-31T12:00:00Z","valid_to":"2026-04-09T12:00:00+00:00","confidence":"1","created_at":"2026-04-10"}',
    "no-object": "[1]",
}

REQUESTS = {
    "fact": '{"subject":"s","predicate":"p","value":"v"}',
    "project": '{"project_id":"p","name":"n"}',
    "status": '{"status":"complete"}',
    "import": '{"project_id":"p","name":"n"}\n{"package_id":"a","title":"t"}\n',
    "http": "POST /v1/projects HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{\"a\":\r\n0\r\n\r\n",
    "http-wrong": "GET /v1/conformance HTTP/1.1\r\nhost: a\r\ncontent-length: -1\r\n\r\n",
    "frames": "\x02\x05Hello\x09",
}

# Text that a target may send, and that a report has to show without executing it.
HOSTILE = [
    "</script><img src=x onerror=alert(1)>",
    "\x1b[2J\x1b]0;owned\x07\r\u202e",
    "` `` ``` ]]> --> <!-- {{ 7*7 }}",
    "[x](javascript:alert(1)) https://a.example www.a.example @everyone",
    "\" autofocus onfocus=\"alert(1)",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "plain",
]

LINES = {
    "conversation": """{"jsonrpc":"2.0","id":1,"method":"describe"}
{"jsonrpc":"2.0","id":"b","method":"agentic/canonicalize","params":{"json_hex":"7b2262223a312c2261223a327d"}}
{"jsonrpc":"2.0","method":"agentic/hello"}
{"jsonrpc":"2.0","id":3,"method":"agentic/none","params":[1]}
""",
    "answers": '{"id":0}\r\n{"jsonrpc":"2.0","id":1,"result":{"a":1}}\r\n{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":""}}',
    "no-json": '\n \n{"id":1\n[]\nnull\n{}\n"a"\n{"id":1,"id":2}\n',
    "store": """{"jsonrpc":"2.0","id":1,"method":"agentic/open","params":{}}
{"jsonrpc":"2.0","id":2,"method":"agentic/create_project","params":{"store":"store-1","project_id":"p","name":"n"}}
{"jsonrpc":"2.0","id":[2],"method":"agentic/close","params":{"store":"store-1"}}
""",
}

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


def meshai():
    """Tokens behind their length, and envelopes without a token."""
    tokens = list(tests("meshai/token"))
    for test in tokens[:21:2]:
        write("meshai_message", test["id"].lower(), halved(test["token"].encode(), b""))
    for name in ("signature", "signing"):
        for test in list(tests(f"meshai/{name}"))[:8]:
            write("meshai_message", test["id"].lower(), halved(b"", test["envelope"].encode()))
    # Claims, of which tokens are made: current, expired, for another audience, without an end.
    for name, claims in CLAIMS.items():
        write("meshai_message", f"claims-{name}", halved(b"", json.dumps(claims).encode()))


CLAIMS = {
    "current": {"sub": "a", "agent_id": "a", "exp": 4102444800, "aud": "amp-mesh"},
    "expired": {"sub": "a", "exp": 1737975600},
    "other-audience": {"sub": "a", "exp": 4102444800, "aud": ["another-mesh"]},
    "endless": {"sub": "a", "capabilities": ["admin"]},
}


def task_amp():
    """Messages of every group of the vectors, and choices of payloads."""
    found = {}
    for test in tests("task-amp/messages"):
        found.setdefault(test["id"].split("-")[0], []).append(test)
    for prefix, group in found.items():
        for test in group[:: max(1, len(group) // 12)]:
            write("task_message", test["id"].lower(), test["message"])
    for number in range(48):
        write("task_payload", f"choices-{number}", choices(f"task-{number}")[:40])


def mesh():
    """Messages of the process vectors, to a receiver and through a relay; the first byte says which."""
    for number, test in enumerate(tests("agentic-mesh/process")):
        text = bytes.fromhex(test["message_hex"]) if "message_hex" in test else test["message"].encode()
        if len(text) <= 1024:
            write("mesh_message", test["id"].lower(), bytes([number % 2]) + text)


def main():
    for old in CORPUS.glob("*/seed-*"):
        old.unlink()
    for name, data in vectors("refused-json"):
        write("json_reader", name, data)
    for name, data in vectors("canonical-json"):
        write("canonical", name, data)
    amp_core()
    agentic()
    mesh()
    reports()
    one_vector()
    templates()
    meshai()
    task_amp()
    for name, text in TARGETS.items():
        write("target_parse", name, text)
    for number in range(8):
        write("target_parse", f"choices-{number}", choices(number)[:120])
    for name, text in LINES.items():
        for number in range(3):
            write("adapter_framing", f"{name}-{number}", halved(choices(f"{name}-{number}")[: number * 40], text.encode()))
    for name, text in SUITES.items():
        write("suite_parse", name, text)
    for number, (place, expectation, value) in enumerate(EXPECTATIONS):
        write("matcher_path", f"{number}", "\n---\n".join([place, json.dumps(expectation), json.dumps(value)]))
    for name, text in ANSWERS.items():
        write("observe", name, text)


if __name__ == "__main__":
    main()

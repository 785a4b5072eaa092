"""The fixed messages of the self-check of the mesh peers: each as (name, bytes). Built here, not by the peer."""

import copy
import json

NEXT = "urn:agentic:mesh:role:next"
NONE = "urn:agentic:mesh:role:none"
ULTIMATE = "urn:agentic:mesh:role:ultimateReceiver"
ASSUMED = "urn:proofmark:mesh:role:assumed"
OTHER = "urn:proofmark:mesh:role:assumed:not"
BLOCK = "urn:proofmark:mesh:block:"
UNKNOWN = BLOCK + "unknown:1"
LOCK = "\U0001f510"


def base():
    return {
        "Envelope": {
            "Header": {
                "messageId": "pm-0b5d6a3c-1", "traceId": "pm-trace-7f3a-1c2d", "roles": ["planner", "vendor"], "routingIntent": "direct", "ttl": 8,
            },
            "Body": {"task": "echo", "expectedOutput": ["echo"], "context": {"proofmark": "nonce-1"}},
            "MemoryGram": {
                "nodes": [
                    {"id": "n1", "type": "plan", "metadata": {"importance": 0.5, "decay": 0.1}},
                    {"id": "n2", "type": "issue", "metadata": {"importance": 0.25}},
                ],
                "edges": [{"source": "n1", "target": "n2", "weight": 0.5, "context": "supports"}],
                "mode": "snapshot",
                "encoding": "json",
            },
        }
    }  # fmt: skip


DROP = object()


def with_(*edits):
    """BASE with (path, value) edits; DROP removes, a path that ends in + appends."""
    message = base()
    for path, value in edits:
        parts = path.split("/")
        target = message
        for part in parts[:-1]:
            target = target[int(part)] if isinstance(target, list) else target.setdefault(part, {})
        last = parts[-1]
        if isinstance(target, list):
            target.append(value) if last == "+" else target.__setitem__(int(last), value)
        elif value is DROP:
            target.pop(last, None)
        else:
            target[last] = value
    return message


E, H, B, M = "Envelope", "Envelope/Header", "Envelope/Body", "Envelope/MemoryGram"


def block(kind=UNKNOWN, role=NEXT, must=None, relay=None, content=None, **more):
    out = {"type": kind if kind.startswith("urn") else BLOCK + kind}
    if role is not None:
        out["role"] = role
    if must is not None:
        out["mustUnderstand"] = must
    if relay is not None:
        out["relay"] = relay
    out["content"] = content if content is not None else {"mark": "m"}
    return {**out, **more}


def blocks(*items):
    return (f"{H}/headers", list(items))


def raw(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def messages():
    """(name, bytes) of every message."""
    out = []

    def say(name, *edits):
        out.append((name, raw(with_(*edits))))

    def text(name, data):
        out.append((name, data))

    whole = raw(base())
    say("base")
    say("base again")
    # Text that is not a message
    for name, data in (
        ("empty", b""), ("brace", b"{"), ("cut", whole[:-9]), ("cut by three", whole[:-3]), ("two values", whole + b"{}"), ("xml", b"<Envelope/>"), ("comma", whole[:-1] + b",}"),
        ("comment", b"/* c */" + whole), ("array", b"[]"), ("batch", b"[" + whole + b"]"), ("null", b"null"), ("string", b'"x"'), ("one", b"1"), ("object", b"{}"),
        ("bad utf-8", whole.replace(b"nonce-1", b"nonce\xff")), ("nan", whole.replace(b"0.25", b"NaN")), ("control", whole.replace(b"nonce-1", b"non\x01ce")),
        ("mark", b"\xef\xbb\xbf" + whole), ("space", b"\r\n\t " + whole + b" \n"), ("tabs", whole.replace(b",", b",\t")),
        ("duplicate", whole.replace(b'"ttl":8', b'"ttl":8,"ttl":3')), ("escaped", whole.replace(b"Envelope", b"\\u0045nvelope").replace(b"echo", b"\\u0065cho")),
        ("1e400", whole.replace(b'"nonce-1"', b'1e400')), ("surrogate pair", whole.replace(b"nonce-1", b"\\ud83d\\udd10 \\/ x")),
        ("deep", whole.replace(b'"nonce-1"', b"[" * 64 + b"]" * 64)), ("very deep", whole.replace(b'"nonce-1"', b"[" * 300 + b"]" * 300)), ("far too deep", whole.replace(b'"nonce-1"', b"[" * 1000 + b"]" * 1000)),
        ("numbers", whole.replace(b'"nonce-1"', b"[0,-0,-1,1.0,0.1,1e-7,1.5e300,2147483648,9007199254740991,9007199254740993,12345678901234567890.25,-1e400,0.12345678901]")),
    ):  # fmt: skip
        text(name, data)
    # Structure
    say("no envelope", (E, DROP))
    for value in (None, True, 1, "x", []):
        say(f"envelope {value!r}", (E, value))
    out.append(("flat", raw(base()["Envelope"])))
    for name in ("Header", "Body", "MemoryGram"):
        say(f"no {name}", (f"{E}/{name}", DROP))
        for value in (None, [], "x", 7):
            say(f"{name} {value!r}", (f"{E}/{name}", value))
    for old, new in (("Envelope", "envelope"), ("Header", "header"), ("Body", "body"), ("MemoryGram", "memoryGram"), ("MemoryGram", "MemoryGrams")):
        text(f"respelled {new}", whole.replace(f'"{old}"'.encode(), f'"{new}"'.encode()))
    say("envelope extra", (f"{E}/Extra", {"a": 1}))
    say("top extra", ("Extra", [1, None]))
    turned = base()
    turned["Envelope"] = dict(reversed(turned["Envelope"].items()))
    text("turned", raw(turned))
    # Header
    for name in ("messageId", "traceId", "roles", "routingIntent", "ttl"):
        say(f"no {name}", (f"{H}/{name}", DROP))
        for value in (None, 42, True, [], {}, "5", ["delegate"], ""):
            say(f"{name} {value!r}", (f"{H}/{name}", value))
    say("no traceId, no roles", (f"{H}/traceId", DROP), (f"{H}/roles", DROP))
    for value in ("BYOE", True, [], 1, None, {"type": "BYOE"}, {"type": "BYOE", "kms": "urn:example:key/1"}):
        say(f"encryption {value!r}", (f"{H}/encryption", value))
    for word in ("delegate", "broadcast", "zigzag"):
        say(f"intent {word}", (f"{H}/routingIntent", word))
    say("roles odd", (f"{H}/roles", ["zebra", 7, "zebra", "alpha"]))
    say("header extras", (f"{H}/x", "17"), (f"{H}/y", None), (f"{H}/z", {"a": []}), (f"{H}/w", 1.5))
    say("odd id", (f"{H}/messageId", 'id "quoted" é ' + "x" * 40), (f"{H}/traceId", "Trace É " + "y" * 30))
    for ttl in (0, 1, 2, 3, 10, 30, 100, 300, -1, -2, -9, -(2**31), 2**31 - 1, 2**31, 2**32, 2**53 - 1, 2**53 + 1, 2**64, 1.5, 70000):
        say(f"ttl {ttl}", (f"{H}/ttl", ttl))
    for spelled in (b"5.0", b"1e1", b"1e999999999", b"-0"):
        text(f"ttl {spelled.decode()}", whole.replace(b'"ttl":8', b'"ttl":' + spelled))
    for version in ("1.0", "99.0", "2.0-never", "0.1", 1, 1.0, None, []):
        say(f"version {version!r}", (f"{H}/version", version))
        say("base after a version")
    text("version 1.0 as a number", whole.replace(b'"ttl":8', b'"ttl":8,"version":1.0'))
    say("version elsewhere", (f"{B}/version", "99.0"), (f"{M}/version", "99.0"))
    say("version in metadata", (f"{M}/nodes/0/metadata/version", "99.0"))
    must = block(must=True)
    say("99.0 and more", (f"{H}/version", "99.0"), (f"{H}/traceId", DROP))
    say("99.0 and ttl 0", (f"{H}/version", "99.0"), (f"{H}/ttl", 0))
    say("99.0 and a block", (f"{H}/version", "99.0"), blocks(must))
    say("99.0 and weight 2", (f"{H}/version", "99.0"), (f"{M}/edges/0/weight", 2))
    # Two errors
    say("no Body, ttl 0", (B, DROP), (f"{H}/ttl", 0))
    say("no MemoryGram, block", (M, DROP), blocks(must))
    say("no traceId, ttl 0", (f"{H}/traceId", DROP), (f"{H}/ttl", 0))
    say("no messageId, block", (f"{H}/messageId", DROP), blocks(must))
    say("ttl 1, block", (f"{H}/ttl", 1), blocks(must))
    say("duplicate ids, block", (f"{M}/nodes/1/id", "n1"), blocks(must))
    say("ttl 0, weight 2", (f"{H}/ttl", 0), (f"{M}/edges/0/weight", 2))
    say("no traceId, weight 2", (f"{H}/traceId", DROP), (f"{M}/edges/0/weight", 2))
    say("ttl 0, refused", (f"{H}/ttl", 0), (f"{B}/task", "proofmark-refuse"))
    say("weight 2, refused", (f"{M}/edges/0/weight", 2), (f"{B}/task", "proofmark-refuse"))
    say("block, refused", blocks(must), (f"{B}/task", "proofmark-refuse"))
    say("block, no task", blocks(must), (f"{B}/task", DROP))
    say("all three", (f"{H}/traceId", DROP), (f"{H}/ttl", 0), blocks(must))
    # Blocks
    for role in (NEXT, ASSUMED, ULTIMATE, NONE, OTHER, "urn:example:role:random", None, "next", ""):
        for must_ in (True, False, None):
            for relay in (True, False, None):
                say(f"unknown {role} {must_} {relay}", blocks(block(role=role, must=must_, relay=relay)))
        for kind in ("noop", "reinsert"):
            say(f"{kind} {role}", blocks(block(kind, role, True, True), block(kind, role, False, False, {"n": {"a": [1]}})))
            say(f"{kind} {role} without relay", blocks(block(kind, role, True)))
        say(f"fail {role}", blocks(block("fail", role, True, content={"fail": True})))
        say(f"fail optional {role}", blocks(block("fail", role, False, True, content={"fail": True})))
        say(f"fail not {role}", blocks(block("fail", role, True, content={"fail": False})))
    say("unknown again", blocks(must))
    say("three unknown", blocks(*(block(UNKNOWN + str(n), must=True) for n in range(3))))
    for place in range(3):
        three = [block("noop", must=True), block("noop", must=True)]
        three.insert(place, must)
        say(f"unknown at {place}", blocks(*three))
    for place in (0, 3, 5, 9):
        for role in (NEXT, ASSUMED):
            ten = [block(role=OTHER, content={"n": n}) for n in range(9)]
            ten.insert(place, block(role=role, must=True))
            say(f"unknown at {place} of ten for {role}", blocks(*ten))
    say("fail before unknown", blocks(block("fail", must=True, content={"fail": True}), must))
    say("two fails", blocks(block("fail", must=True, content={"fail": False}), block("fail", must=True, content={"fail": True})))
    say("two fails turned", blocks(block("fail", must=True, content={"fail": True}), block("fail", must=True, content={"fail": False})))
    say("fail then noop", blocks(block("fail", must=True, content={"fail": True}), block("noop", must=True)))
    say("two harmless", blocks(block("fail", must=True, content={"fail": False}), block("fail", must=True, content={"fail": False})))
    say("same type for others first", blocks(block(role=OTHER, must=True), block(role=NEXT, must=True)))
    say("fail beside content", blocks(block("fail", must=True, content={}, fail=True)))
    say("fail extras", blocks(block("fail", must=True, content={"fail": False}, note=1, extra={"a": 1})))
    say("role in Role", blocks({"type": UNKNOWN, "Role": NEXT, "mustUnderstand": True}))
    say("role in actor", blocks({"type": UNKNOWN, "actor": NEXT, "mustUnderstand": True}))
    say("type in name", blocks({"name": BLOCK + "noop", "role": NEXT, "mustUnderstand": True}))
    say("type in Type", blocks({"Type": BLOCK + "noop", "role": NEXT, "mustUnderstand": True}))
    say("no type", blocks({"role": NEXT}))
    say("type 7", blocks({"type": 7, "role": NEXT, "mustUnderstand": True}))
    say("type upper", blocks(block("urn:PROOFMARK:mesh:block:NoOp", must=True)))
    say("fail, no task", blocks(block("fail", must=True, content={"fail": True})), (f"{B}/task", DROP))
    say("flags strings", blocks({"type": UNKNOWN, "role": NEXT, "mustUnderstand": "true", "relay": 1}))
    say("headers object", blocks_at({}))
    say("headers empty", blocks())
    say("headers string element", blocks("x"))
    say("no content", blocks({"type": UNKNOWN, "role": NEXT}))
    say("in headerBlocks", (f"{H}/headerBlocks", [must]))
    say("in headerBlocks, kept", (f"{H}/headerBlocks", [block(role=OTHER), block(relay=True)]))
    say("beside Header", (f"{E}/headers", [must]))
    say("five gone", blocks(block(role=OTHER), block(relay=False), block(role=ASSUMED, relay=False), block(role=NONE), block(), block(role=ULTIMATE), block(role=ASSUMED), block()))
    say("five kept", blocks(*(block(UNKNOWN + str(n), (NEXT, ASSUMED)[n % 2], False, True, {"n": n}) for n in range(5))))
    say("roles three", blocks(block(role=ASSUMED), block("noop", ASSUMED, True), block(role=ASSUMED)))
    say("roles three others", blocks(block(role=OTHER), block("noop", OTHER, True), block(role=OTHER)))
    say("roleless", blocks({"type": UNKNOWN}))
    say("extras kept", blocks(block(role=OTHER, must=False, relay=False, content={"a": {"b": [1]}}, note="x", extra={"y": 1}), block(relay=True, note="x")))
    say("http role", blocks(block(role="http://127.0.0.1:1/trap", relay=True)))
    say("header roles", blocks(block(role=OTHER, must=True)), (f"{H}/roles", [OTHER]))
    say("annotate", blocks(block("annotate", must=True)), (f"{M}/nodes/1/metadata/processedBy", ["urn:x:first"]))
    say("annotate without metadata", blocks(block("annotate", must=True)), (f"{M}/nodes/1", {"id": "n2"}))
    say("augment", blocks(block("augment", must=True)))
    say("augment twice", blocks(block("augment", must=True), block("augment", must=True)))
    say("redact", blocks(block("redact", must=True, content={"member": "secret"})), (f"{B}/context/secret", 1))
    # Bodies
    for name in ("task", "expectedOutput"):
        say(f"no {name}", (f"{B}/{name}", DROP))
        for value in (None, 3, "status", [], {}, [3]):
            say(f"{name} {value!r}", (f"{B}/{name}", value))
    say("no context", (f"{B}/context", DROP), (f"{H}/nonce", "nonce-1"))
    for value in ("x", [], 9, None):
        say(f"context {value!r}", (f"{B}/context", value))
    say("refused", (f"{B}/task", "proofmark-refuse"))
    say("base after refused")
    say("other task", (f"{B}/task", "Execute Q4 launch"))
    say("body extras", (f"{B}/one", 1), (f"{B}/Two", {"a": None}), (f"{B}/three", "x"))
    odd = {
        "": 1, "a.b": 2, "a/b": 3, "a~1b": 4, "$x": 5, "__proto__": {"z": 1}, "constructor": 6, "A": 7, "a": 8, "é": 9, f"draftPlan{LOCK}": {"encryptedFor": "legal", "cipher": "x"},
        "nested": {"x": [1, {"y": None}], "empty": {}, "none": [], "one": [None], "t": True, "f": False, "s": "", "z": "0", "big": 2**40},
    }  # fmt: skip
    say("context odd", (f"{B}/context/odd", odd), *((f"{B}/context/m{i}", v) for i, v in enumerate(odd.values())), *[(f"{B}/context/x.y", 1), (f"{B}/context/$v", 1)])
    say("strings", (f"{B}/context/s", ["\u0001\t\n", 'q"\\', "\u2028", "e\u0301", "é", LOCK, " x ", "<&>", "", "\u0130"]))
    say("arrays", (f"{B}/context/a", [3, 1, 2]), (f"{B}/expectedOutput", ["b", "a", "c"]))
    say("another context", (f"{B}/context", {"left": 1}))
    # MemoryGrams
    for path, values in (
        ("nodes", ({}, "x", 1)), ("edges", ({}, "x", 1)), ("mode", (1, [], "full")), ("encoding", (1, {}, "utf-8")), ("nodes/0/id", (7, None, "N2", "n2")), ("nodes/0/type", (3, [], "zebra")),
        ("nodes/0/metadata", ("x", [])), ("edges/0/source", (1, "zz")), ("edges/0/target", (2, "zz")), ("edges/0/weight", ("0.8", None, True, -0.01, 1.01, 2, -1, 0, 1, 5, 0.125)), ("edges/0/context", (4, {})),
        ("nodes/0/x", (1,)), ("edges/0/x", (1,)), ("x", (1,)), ("nodes/0/metadata/importance", (5,)), ("nodes/0/metadata/decay", ("slow",)), ("nodes/0/metadata/zebra", (None,)), ("edges/0/metadata", ({"seen": 1},)),
    ):  # fmt: skip
        for value in values:
            say(f"graph {path} {value!r}", (f"{M}/{path}", value))
    for path in ("nodes", "edges", "mode", "edges/0/context", "edges/0/weight", "nodes/0/id", "edges/0/source", "nodes/0/metadata"):
        say(f"graph without {path}", (f"{M}/{path}", DROP))
    say("same nodes", (f"{M}/nodes", [{"id": "n1"}, {"id": "n1"}]))
    say("case nodes", (f"{M}/nodes", [{"id": "n1"}, {"id": "N1"}]))
    say("second node wrong", (f"{M}/nodes/1/type", 7))
    say("second edge wrong", (f"{M}/edges/+", {"source": "n1", "target": "n2", "weight": 7}))
    say("parallel edges", (f"{M}/edges/+", {"source": "n2", "target": "n1", "weight": 0.333}), (f"{M}/edges/+", {"source": "n1", "target": "n2", "weight": 0.125}))
    say("graph {}", (M, {}))
    say("graph odd", (M, {"x": 1}))
    say("commands", (f"{M}/nodes/0/metadata", {"ttl": 99, "task": "other"}))
    sealed = {"type": "BYOE"}
    say("sealed", (f"{H}/encryption", sealed), (M, {"cipher": "AAAA", "encryptedFor": "x"}))
    say("sealed text", (f"{H}/encryption", sealed), (M, "AAAA"))
    say("sealed null", (f"{H}/encryption", sealed), (M, None))
    say("processed before", (f"{M}/nodes/0/metadata/processedBy", ["urn:a", "urn:b"]), (f"{M}/nodes/0/metadata/processingTimestamp", "2025-01-01T00:00:00Z"))
    for n in range(6):  # ids of what the node originates
        say("no traceId", (f"{H}/traceId", DROP))
    return out


def blocks_at(value):
    return (f"{H}/headers", value)


assert copy

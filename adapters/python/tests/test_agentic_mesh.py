"""Tests of the agentic-mesh library. Expected values come from the draft and its errata."""

import copy
import json
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import adapter  # noqa: E402
from agentic_mesh import methods, seal, text  # noqa: E402

NEXT = "urn:agentic:mesh:role:next"
NONE = "urn:agentic:mesh:role:none"
ULTIMATE = "urn:agentic:mesh:role:ultimateReceiver"
MINE, OTHER = "urn:x:mine", "urn:x:mine:not"
KNOWN = {name: f"urn:x:{name}" for name in ("noop", "reinsert", "fail", "annotate", "augment", "redact")}
TABLE = methods.table()

BASE = {
    "Envelope": {
        "Header": {"messageId": "m-1", "traceId": "t-1", "roles": ["planner", "vendor"], "routingIntent": "direct", "ttl": 8},
        "Body": {"task": "echo", "expectedOutput": ["echo"], "context": {"proofmark": "n"}},
        "MemoryGram": {
            "nodes": [{"id": "n1", "type": "plan", "metadata": {"importance": 0.5}}, {"id": "n2"}],
            "edges": [{"source": "n1", "target": "elsewhere", "weight": 0.5}],
            "mode": "snapshot",
            "encoding": "json",
        },
    }
}


def node(kind="ultimateReceiver", **more):
    understands = [{"type": type_, "behaviour": name} for name, type_ in KNOWN.items()]
    return {"uri": "urn:x:node:a", "kind": kind, "roles": [MINE], "understands": understands, "memorygram": "validates", **more}


RELAY, RECEIVER = node("intermediary"), node()


def message(**parts):
    """BASE with other members of Header (and `blocks`), Body and MemoryGram; None removes."""
    out = copy.deepcopy(BASE)
    blocks = parts.pop("blocks", None)
    for name, members in parts.items():
        part = out["Envelope"][name]
        for key, value in members.items():
            if value is None:
                part.pop(key, None)
            else:
                part[key] = value
    if blocks is not None:
        out["Envelope"]["Header"]["headers"] = blocks
    return out


def block(name, role=NEXT, must=False, relay=False, **content):
    return {"type": KNOWN.get(name, f"urn:unknown:{name}"), "role": role, "mustUnderstand": must, "relay": relay, "content": content}


def call(method, value=None, **params):
    if value is not None:
        params["message_hex"] = (value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False).encode()).hex()
    return TABLE[f"agentic-mesh/{method}"](params)


def opened(digits):
    return json.loads(bytes.fromhex(digits))


def outcome(value, at=RECEIVER):
    """The code of the fault, or delivered or forwarded."""
    result = call("process", value, node=at)
    if result["outcome"] == "fault":
        assert result["forwarded_hex"] == [] and result["reply_hex"] is None and not result["body_processed"]
        return result["faults"][0]["code"]
    return result["outcome"]


def kept(*blocks):
    """The types of the blocks that a relay passes on."""
    result = call("process", message(blocks=list(blocks)), node=RELAY)
    copied = opened(result["forwarded_hex"][0])["Envelope"]["Header"]["headers"]
    return [b["type"].rpartition(":")[2] for b in copied]


class Text(unittest.TestCase):
    def test_a_value_is_written_as_it_was_read(self):
        line = '{"":-0,"__proto__":[1.0,1e400,12345678901234567890.10,{}],"é\U0001f510":"\\u0001\\"\\\\\\ud800 ","a":[null,true,false,[]]}'
        self.assertEqual(text.write(text.read(line.encode())), line)
        self.assertEqual(text.write(text.read(b' [ "\\u0061\\ud83d\\udd10\\/" , 1E2 ] ')), '["a\U0001f510/",1E2]')

    def test_what_is_not_json_is_refused(self):
        for bad in (
            b"", b"{", b"[1,]", b'{"a":1,}', b"01", b"+1", b".5", b"1.", b"NaN", b"tru", b'"\t"', b'"\\x41"', b"1 2", b'"a', b'"\xff"', b'{"a":1,"\\u0061":2}',
            b"[1}", b'{"a" 1}', b"{1:2}", b"/* */1", b"[" * 2000, b",", b"]", b'{"a":}',
        ):  # fmt: skip
            with self.assertRaises(text.NotJson, msg=bad):
                text.read(bad)

    def test_whole_numbers(self):
        for spelling, value in (("5.0", 5), ("1e1", 10), ("-0", 0), ("1.5", None), ("1e400", None), ("18446744073709551617", 2**64 + 1), ("1e999999999999", None)):
            self.assertEqual(text.Literal(spelling).integer(), value)


class Steps(unittest.TestCase):
    def test_structure(self):
        self.assertEqual(outcome(BASE), "delivered")
        for bad in ({}, [], None, 1, BASE["Envelope"], {"Envelope": None}, {"Envelope": []}, [BASE]):
            for at in (RECEIVER, RELAY):
                self.assertEqual(outcome(json.dumps(bad).encode(), at), "amp:Sender", bad)
        for name in ("Header", "Body", "MemoryGram"):
            for value in (None, [], "x", 1):
                bad = copy.deepcopy(BASE)
                bad["Envelope"][name] = value
                self.assertEqual(outcome(bad, RELAY), "amp:Sender", (name, value))
            bad = copy.deepcopy(BASE)
            bad["Envelope"][name.lower()] = bad["Envelope"].pop(name)
            self.assertEqual(outcome(bad), "amp:Sender", name)

    def test_header_fields(self):
        for name, wrong in (
            ("messageId", (42, True, [], {})), ("traceId", (42, [])), ("roles", ("planner", {}, 3)), ("routingIntent", (1, ["delegate"])), ("ttl", (1.5, "5", True, [], {})),
            ("encryption", ("BYOE", True, [], 1)),
        ):  # fmt: skip
            for at in (RECEIVER, RELAY):
                for value in wrong:
                    self.assertEqual(outcome(message(Header={name: value}), at), "amp:Sender", (name, value))
                if name != "encryption":
                    self.assertEqual(outcome(message(Header={name: None}), at), "amp:Sender", name)
        self.assertEqual(outcome(message(Header={"encryption": {"type": "BYOE"}, "x": [1], "routingIntent": "zigzag"})), "delivered")

    def test_versions(self):
        self.assertEqual(outcome(message(Header={"version": "1.0"})), "delivered")
        for value in ("99.0", "2.0-never", 1.0, []):
            self.assertEqual(outcome(message(Header={"version": value, "traceId": None})), "amp:VersionMismatch")
        self.assertEqual(outcome(message(Body={"version": "99.0"}, MemoryGram={"version": "99.0"})), "delivered")

    def test_ttl(self):
        for ttl in (0, 1, -1, -(2**31)):
            for at in (RECEIVER, RELAY):
                self.assertEqual(outcome(message(Header={"ttl": ttl}), at), "amp:TTLExpired")
        for ttl in (2, 3, 8, 100, 2**31, 2**53 - 1, 2**64):
            result = call("process", message(Header={"ttl": ttl}), node=RELAY)
            self.assertEqual(opened(result["forwarded_hex"][0])["Envelope"]["Header"]["ttl"], ttl - 1)
            self.assertEqual(result["ttl_after"], ttl - 1)

    def test_the_earlier_step_wins(self):
        unknown = [block("u", must=True)]
        for expected, bad in (
            ("amp:Sender", message(Header={"traceId": None, "ttl": 0}, blocks=unknown)),
            ("amp:TTLExpired", message(Header={"ttl": 0}, blocks=unknown)),
            ("amp:MustUnderstand", message(MemoryGram={"nodes": [{"id": "a"}, {"id": "a"}]}, blocks=unknown)),
            ("amp:MustUnderstand", message(Body={"task": None}, blocks=[block("fail", must=True, fail=True), *unknown])),
            ("amp:InvalidMemoryGram", message(Body={"task": "proofmark-refuse"}, MemoryGram={"mode": 1})),
            ("amp:TTLExpired", message(Header={"ttl": 0}, Body={"task": "proofmark-refuse"}, MemoryGram={"mode": 1})),
        ):
            self.assertEqual(outcome(bad), expected)

    def test_bodies(self):
        for name, wrong in (("task", (3, [], {})), ("expectedOutput", ("x", {}, 1)), ("context", ("x", [], 9))):
            for value in wrong:
                self.assertEqual(outcome(message(Body={name: value})), "amp:Sender")
        self.assertEqual(outcome(message(Body={"task": None})), "amp:Sender")
        self.assertEqual(outcome(message(Body={"context": None, "more": [1]})), "delivered")
        self.assertEqual(outcome(message(Body={"task": "proofmark-refuse"})), "amp:Receiver")
        self.assertEqual(outcome(message(Body={"task": "proofmark-refuse"}), RELAY), "forwarded")

    def test_a_reply_has_the_context(self):
        answer = opened(call("process", BASE, node=RECEIVER)["reply_hex"])["Envelope"]
        self.assertEqual(answer["Body"]["context"]["echo"], {"proofmark": "n"})
        self.assertEqual(answer["Header"]["traceId"], "t-1")
        self.assertNotEqual(answer["Header"]["messageId"], "m-1")


class Blocks(unittest.TestCase):
    def test_who_has_to_understand(self):
        for role, receiver, relay in (
            (NEXT, "amp:MustUnderstand", "amp:MustUnderstand"), (MINE, "amp:MustUnderstand", "amp:MustUnderstand"), (ULTIMATE, "amp:MustUnderstand", "forwarded"),
            (NONE, "delivered", "forwarded"), (OTHER, "delivered", "forwarded"),
        ):  # fmt: skip
            for forwardable in (True, False):
                bad = message(blocks=[block("noop", must=True), block("u", role, True, forwardable)])
                self.assertEqual((outcome(bad), outcome(bad, RELAY)), (receiver, relay), role)
            self.assertEqual(outcome(message(blocks=[block("u", role)])), "delivered")

    def test_the_table(self):
        for role in (NEXT, MINE):
            self.assertEqual(kept(block("noop", role, True, True), block("reinsert", role, True), block("u1", role, False, True), block("u2", role)), ["reinsert", "u1"])
        for role in (OTHER, ULTIMATE, NONE):
            blocks = [block("noop", role, True), block("fail", role, True, fail=True), block("u", role, True), block("v", role, False, True)]
            self.assertEqual(kept(*blocks), ["noop", "fail", "u", "v"])
        self.assertEqual(kept({"type": "urn:x:roleless"}), ["roleless"])
        self.assertEqual(kept(*(block(f"u{n}") for n in range(3)), block("v", OTHER)), ["v"])

    def test_failing_blocks(self):
        for first, second in ((True, False), (False, True)):
            bad = message(blocks=[block("fail", must=True, fail=first), block("fail", must=True, fail=second)])
            self.assertEqual(outcome(bad), "amp:Receiver")
        self.assertEqual(outcome(message(blocks=[{**block("fail", must=True, fail=False), "fail": True}])), "delivered")

    def test_one_fault_names_all_types(self):
        fault = call("process", message(blocks=[block("u", must=True), block("v", must=True)]), node=RELAY)["faults"]
        self.assertEqual(len(fault), 1)
        body = opened(fault[0]["message_hex"])["Envelope"]["Body"]
        self.assertEqual(body["fault"]["detail"]["blocks"], ["urn:unknown:u", "urn:unknown:v"])

    def test_targets(self):
        value = message(blocks=[block("u", must=True), block("noop", MINE, True), block("v", OTHER, True), block("w")])
        self.assertEqual(call("target", value, node=RELAY), {"targeted": [0, 1, 3], "mandatory": [0, 1], "not_understood": [0]})

    def test_the_place_can_be_another(self):
        at = node(header_blocks_at="/Envelope/Header/headerBlocks")
        self.assertEqual(outcome(message(Header={"headerBlocks": [block("u", must=True)]}), at), "amp:MustUnderstand")
        self.assertEqual(outcome(message(blocks=[block("u", must=True)]), at), "delivered")
        with self.assertRaises(adapter.Failure) as caught:
            call("process", BASE, node=node(header_blocks_at="none"))
        self.assertEqual(caught.exception.code, -32001)


class Copies(unittest.TestCase):
    def test_everything_else_stays(self):
        raw = json.dumps(message(Header={"x": {"y": [1]}}, Body={"context": {"proofmark": "n"}, "a.b": 1})).encode()
        raw = raw.replace(b'"proofmark": "n"', b'"proofmark":"n","big":12345678901234567890.5,"e":1e400,"none":null,"":[{},[]]')
        result = bytes.fromhex(call("process", raw, node=RELAY)["forwarded_hex"][0])
        for part in (b'"big":12345678901234567890.5', b'"e":1e400', b'"none":null', b'"":[{},[]]', b'"x":{"y":[1]}', b'"a.b":1'):
            self.assertIn(part, result)
        copied, sent = json.loads(result), json.loads(raw)
        header = copied["Envelope"]["Header"]
        self.assertIn("t-1", header["traceId"])
        self.assertNotEqual(header["traceId"], "t-1")
        header.update(ttl=8, traceId="t-1")
        self.assertEqual(copied, sent)

    def test_forward_alone(self):
        value = message(blocks=[block("a", must=True), block("b"), block("c", OTHER), block("d", relay=True)])
        again = json.dumps({"type": "urn:again"}).encode().hex()
        copied = opened(call("forward", value, node=RELAY, processed=[0], reinserted=[{"index": 0, "block_hex": again}])["message_hex"])
        self.assertEqual([b["type"] for b in copied["Envelope"]["Header"]["headers"]], ["urn:again", "urn:unknown:c", "urn:unknown:d"])

    def test_blocks_that_change_the_message(self):
        given = {"nodes": [{"id": "a", "metadata": {"k": 1, "processedBy": ["urn:first"]}}, {"id": "note"}]}
        result = call("process", message(MemoryGram=given, blocks=[block("annotate", must=True)]), node=RELAY)
        first, second = opened(result["forwarded_hex"][0])["Envelope"]["MemoryGram"]["nodes"]
        self.assertEqual((first["metadata"]["processedBy"], first["metadata"]["k"]), (["urn:first", "urn:x:node:a"], 1))
        self.assertEqual(second["metadata"]["processedBy"], ["urn:x:node:a"])
        twice = message(MemoryGram=given, blocks=[block("augment", must=True), block("augment", must=True)])
        nodes = opened(call("process", twice, node=RELAY)["forwarded_hex"][0])["Envelope"]["MemoryGram"]["nodes"]
        self.assertEqual(len({n["id"] for n in nodes}), 4)
        secret = message(Body={"context": {"proofmark": "n", "secret": 1}}, blocks=[block("redact", must=True, member="secret")])
        self.assertEqual(opened(call("process", secret, node=RELAY)["forwarded_hex"][0])["Envelope"]["Body"]["context"], {"proofmark": "n"})

    def test_an_encrypted_memorygram_is_passed_on(self):
        value = message(Header={"encryption": {"type": "BYOE"}}, blocks=[block("annotate", must=True)])
        for sealed in ({"cipher": "x"}, "x", {"nodes": 1}):
            value["Envelope"]["MemoryGram"] = sealed
            result = call("process", value, node=RELAY)
            self.assertEqual(opened(result["forwarded_hex"][0])["Envelope"]["MemoryGram"], sealed)
        value["Envelope"]["MemoryGram"] = None
        self.assertEqual(outcome(value, RELAY), "amp:Sender")


class MemoryGrams(unittest.TestCase):
    def check(self, graph):
        return call("memorygram_check", memorygram_hex=json.dumps(graph).encode().hex())["code"]

    def test_valid(self):
        for graph in (
            {}, {"nodes": [{"id": "a"}, {"id": "A", "x": 1}], "edges": []}, {"edges": [{"source": "a", "target": "b", "weight": w} for w in (0, 1, 0.0, 1.0, 0.5)]},
            {"nodes": [{"id": "", "type": "zebra", "metadata": {"importance": 5, "decay": "slow"}}]}, {"edges": [{"source": "a", "target": "a", "metadata": {}, "x": 1}]},
        ):  # fmt: skip
            self.assertIsNone(self.check(graph), graph)

    def test_invalid(self):
        edge = {"source": "a", "target": "b"}
        for graph in (
            [], None, {"nodes": {}}, {"edges": "x"}, {"mode": 1}, {"encoding": []}, {"nodes": [1]}, {"nodes": [{}]}, {"nodes": [{"id": 7}]}, {"nodes": [{"id": "a"}] * 2},
            {"nodes": [{"id": "a", "type": 3}]}, {"nodes": [{"id": "a", "metadata": []}]}, {"edges": [{"source": "a"}]}, {"edges": [{**edge, "source": 1}]},
            *({"edges": [{**edge, "weight": w}]} for w in ("0.8", None, True, -0.01, 1.01, 2)), {"edges": [{**edge, "context": 4}]},
        ):  # fmt: skip
            self.assertEqual(self.check(graph), "amp:InvalidMemoryGram", graph)

    def test_additions_keep_ids_apart_and_are_marked(self):
        graph = json.dumps({"nodes": [{"id": "a"}]}).encode().hex()
        added = call("memorygram_augment", memorygram_hex=graph, node_uri="urn:x:n", nodes=[{"id": "a"}], edges=[{"source": "a", "target": "b"}])
        result = opened(added["memorygram_hex"])
        self.assertEqual(len({n["id"] for n in result["nodes"]}), 2)
        self.assertEqual(result["nodes"][1]["metadata"]["addedBy"], "urn:x:n")
        self.assertEqual(result["edges"][0]["metadata"]["addedBy"], "urn:x:n")

    def test_a_leaf_is_dropped_alone(self):
        path = {"nodes": [{"id": i} for i in "abcd"], "edges": [{"source": s, "target": t} for s, t in ("ab", "bc", "cd")]}
        left = opened(call("memorygram_filter", memorygram_hex=json.dumps(path).encode().hex(), drop=["d"])["memorygram_hex"])
        self.assertEqual([n["id"] for n in left["nodes"]], ["a", "b", "c"])
        self.assertEqual(len(left["edges"]), 2)


class Others(unittest.TestCase):
    def test_encryption(self):
        value = message(Body={"context": {"draftPlan": "secret words", "z": 1}})
        sealed = bytes.fromhex(call("encrypt_field", value, pointer="/Envelope/Body/context/draftPlan", encrypted_for="legal")["message_hex"])
        self.assertNotIn(b"secret words", sealed)
        context = json.loads(sealed)["Envelope"]["Body"]["context"]
        self.assertEqual(list(context), ["draftPlan\U0001f510", "z"])
        self.assertEqual(context["draftPlan\U0001f510"]["encryptedFor"], "legal")
        self.assertEqual(seal.opened(context["draftPlan\U0001f510"]), "secret words")
        whole = bytes.fromhex(call("encrypt_section", value, encrypted_for="legal")["message_hex"])
        self.assertNotIn(b'"n1"', whole)
        self.assertEqual(outcome(whole, RELAY), "forwarded")
        self.assertEqual(json.loads(whole)["Envelope"]["Header"]["encryption"]["type"], "BYOE")

    def test_faults_are_found_in_many_places(self):
        for value in (
            {"Envelope": {"Body": {"fault": {"code": {"value": "amp:Sender"}}}}}, {"Envelope": {"Body": {"Fault": {"Code": {"Value": "amp:Sender"}}}}}, {"fault": {"code": "amp:Sender"}},
            {"Envelope": {"Body": {"fault": [{"code": "amp:Sender"}]}}}, {"error": {"code": "amp:Sender"}}, {"faultCode": "amp:Sender"}, {"a": [{"theCode": "amp:Sender"}]}, {"error": "amp:Sender"},
        ):  # fmt: skip
            self.assertEqual(call("read_fault", value), {"is_fault": True, "code": "amp:Sender"})
        for value in (BASE, [], b"{", {"statusCode": 200}):
            self.assertEqual(call("read_fault", value), {"is_fault": False, "code": None})

    def test_what_is_built_can_be_processed(self):
        for header in ({}, {"ttl": 3, "messageId": "x"}):
            built = bytes.fromhex(call("build", header=header, blocks=[block("noop", must=True)], node=RECEIVER)["message_hex"])
            self.assertEqual(outcome(built), "delivered")
            made = bytes.fromhex(call("fault", code="amp:Receiver", reason="r", inbound_hex=built.hex(), node=RECEIVER)["message_hex"])
            self.assertEqual(call("read_fault", made)["code"], "amp:Receiver")
            self.assertTrue(call("parse", built, node=RECEIVER)["ok"])

    def test_describe(self):
        told = call("describe", node=node(uri="urn:x:node:b"))
        self.assertEqual(told["node_uri"], "urn:x:node:b")
        self.assertEqual(sorted(TABLE), told["methods"])


if __name__ == "__main__":
    unittest.main()

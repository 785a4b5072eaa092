"""The methods of the adapter, called over its lines as by a harness."""

import json
import subprocess
import sys
import unittest
from pathlib import Path

import amp_core_support as support
from amp_core_support import NOW, amp

ADAPTER = Path(__file__).resolve().parent.parent / "adapter.py"


def keys(name):
    own = support.KEYS[name]
    return {"did": own.did, "ed25519_seed": own.seed.hex(), "x25519_private": own.x25519_private.hex()}


def hexed(value):
    return amp.cbor.encode(value).hex()


class Line:
    """A running adapter."""

    def __init__(self, *options, rest=()):
        command = [sys.executable, *options, str(ADAPTER), *rest]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def ask(self, method, /, **params):
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.communicate(timeout=10)
        return self.process.returncode


class WithoutPyNaCl(unittest.TestCase):
    def test_amp_core_is_not_described(self):
        # -S leaves out site-packages, -I what the environment adds to it.
        start = "import runpy, sys; sys.path.insert(0, sys.argv[2]); runpy.run_path(sys.argv[1], run_name='__main__')"
        line = Line("-I", "-S", "-c", start, rest=[str(ADAPTER.parent)])
        described = line.ask("describe")["result"]
        refused = line.ask("amp-core/describe")["error"]["code"]
        self.assertEqual(line.close(), 0)
        self.assertEqual((described["protocols"], refused), (["agentic", "agentic-mesh", "meshai", "task-amp"], -32601))
        self.assertFalse([name for name in described["operations"] if name.startswith("amp-core")])


@support.needs_nacl
class Methods(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.line = Line()

    @classmethod
    def tearDownClass(cls):
        assert cls.line.close() == 0

    def ask(self, method, /, **params):
        reply = self.line.ask(f"amp-core/{method}", **params)
        self.assertIn("result", reply, reply)
        return reply["result"]

    def code(self, method, **params):
        return self.line.ask(f"amp-core/{method}", **params)["error"]["code"]

    def test_describe(self):
        described = self.line.ask("describe")["result"]
        self.assertEqual(described["protocols"], ["agentic", "agentic-mesh", "meshai", "task-amp", "amp-core"])
        self.assertEqual(sum(name.startswith("amp-core/") for name in described["operations"]), 38)
        own = self.ask("describe")
        self.assertEqual((own["versions"], own["max_clock_skew_ms"]), ([1], 30000))

    def test_no_operation_breaks_on_wrong_params(self):
        operations = self.line.ask("describe")["result"]["operations"]
        nested = []
        for _ in range(300):
            nested = [nested]
        rubbish = (
            {},
            {name: "zz" for name in ("message", "seed", "cbor", "node", "stream", "negotiation", "to", "now", "data")},
            {
                name: {"x": nested}
                for name in ("self", "sender", "headers", "document", "recipient_document", "data", "last")
            },
            {
                "self": keys("bob"),
                "sender": keys("bob"),
                "headers": {"typ": 1, "to": "did:x:y", "ts": 2**70},
                "message": "",
            },
            {"document": {"verificationMethod": 1, "assertionMethod": {}}, "did": "x", "purpose": "signature"},
            {
                "sender": {"did": "did:x:y", "ed25519_seed": "00"},
                "headers": None,
                "random": [],
                "attempt": -1,
                "count": 2**60,
            },
        )
        for name in operations:
            for params in rubbish:
                if name.startswith("amp-core/"):
                    reply = self.line.ask(name, **params)
                    self.assertNotEqual(reply.get("error", {}).get("code"), -32603, (name, params, reply))

    def test_keys_and_signatures(self):
        common = support.PUBLISHED["keys"]
        seed = common["ed25519_seed"]
        self.assertEqual(self.ask("public_key", seed=seed)["public_key"], common["ed25519_public"])
        public = self.ask("x25519_public", private_key=common["sender_private"])["public_key"]
        self.assertEqual(public, common["sender_public"])
        derived = self.ask("x25519_derive", ed25519_seed=support.KEYS["alice"].seed.hex())
        self.assertEqual(derived["private_key"], support.KEYS["alice"].x25519_private.hex())
        sig = self.ask("sign", seed=seed, data="00ff")["sig"]
        self.assertTrue(self.ask("verify", public_key=common["ed25519_public"], data="00ff", sig=sig)["valid"])
        self.assertFalse(self.ask("verify", public_key=common["ed25519_public"], data="00fe", sig=sig)["valid"])
        self.assertFalse(self.ask("verify", public_key=common["ed25519_public"], data="00ff", sig=sig[2:])["valid"])
        self.assertEqual(self.code("sign", seed="00", data=""), -32602)

    def test_encoding_and_sig_input(self):
        self.assertEqual(self.ask("encode_deterministic", cbor="bf616201616102ff")["cbor"], "a2616102616201")
        self.assertEqual(self.ask("encode_deterministic", cbor="a2010101")["code"], 1001)
        vector = support.published("A.4")
        self.assertEqual(self.ask("sig_input", message=vector["message"])["sig_input"], vector["sig_input"])
        headers = {
            "id": vector["message_id"],
            "typ": 3,
            "ts": str(vector["ts"]),
            "ttl": 86400000,
            "reply_to": vector["reply_to"],
        }
        headers.update({"from": support.PUBLISHED["keys"]["bob"], "to": support.PUBLISHED["keys"]["alice"]})
        self.assertEqual(self.ask("sig_input", headers=headers, body=vector["body"])["sig_input"], vector["sig_input"])
        del headers["ttl"]
        self.assertEqual(self.ask("sig_input", headers=headers, body=vector["body"]), {"code": 1001})

    def test_building(self):
        vector, common = support.published("A.2"), support.PUBLISHED["keys"]
        sender = {
            "did": common["alice"],
            "ed25519_seed": common["ed25519_seed"],
            "x25519_private": common["sender_private"],
        }
        headers = {"id": vector["message_id"], "typ": 16, "ts": vector["ts"], "ttl": 86400000, "to": common["bob"]}
        built = self.ask("build_plain", sender=sender, headers=headers)
        self.assertEqual((built["message"], built["sig_input"]), (vector["message"], vector["sig_input"]))
        a6 = support.published("A.6")
        sealed = self.ask(
            "build_encrypted",
            sender=sender,
            recipient_document=support.SPEC_BOB,
            headers={**headers, "id": a6["message_id"], "ts": a6["ts"]},
            body=a6["body"],
            nonce=common["nonce"],
        )
        self.assertEqual(sealed["message"], support.VECTORS["PM-AMP-01"]["message"])
        opened = self.ask(
            "box_open",
            private_key=common["recipient_private"],
            public_key=common["sender_public"],
            nonce=common["nonce"],
            ciphertext=sealed["ciphertext"],
        )
        self.assertEqual(opened, {"plaintext": a6["body"]})
        question = {"sender": sender, "recipient_document": support.SPEC_BOB, "headers": headers}
        self.assertEqual(self.code("build_encrypted", **question, nonce="00" * 12), -32602)
        self.assertEqual(self.ask("build_encrypted", **question)["plaintext"], "f6")

    def test_receive(self):
        for vector in (support.VECTORS["PM-AMP-03"], support.VECTORS["PM-AMP-86"], support.VECTORS["PM-AMP-62"]):
            outcome = self.ask(
                "receive",
                self=keys("bob"),
                message=vector["message"],
                now=vector["now"],
                documents=vector.get("documents", []),
            )
            if "reject" in vector["expect"]:
                self.assertEqual(outcome, {"outcome": "reject", "code": 1002, "stage": "signature"})
            else:
                self.assertEqual((outcome["outcome"], outcome["body"]), ("accept", vector["body"]))
                self.assertEqual(outcome["headers"]["typ"], 16)
                self.assertIn("#", outcome["signer"])
        huge = support.VECTORS["PM-AMP-41"]
        outcome = self.ask("receive", self=keys("bob"), message=huge["message"], now=huge["now"], documents=[])
        self.assertEqual(outcome["headers"]["ttl"], str(2**64 - 1))

    def test_validate_ack(self):
        for name, expected in (
            ("PM-AMP-76", {"valid": True}),
            ("PM-AMP-77", {"valid": False, "code": 1001, "action": "reject"}),
            ("PM-AMP-78", {"valid": True}),
            ("PM-AMP-79", {"valid": False, "code": 1001, "action": "reject"}),
        ):
            vector = support.VECTORS[name]
            question = {"ack": vector["message"], "original": vector["original"], "now": vector["now"], "documents": []}
            answer = self.ask("validate_ack", **question, trusted_relays=vector.get("trusted_relays", []))
            self.assertEqual(answer, expected, name)
        question["ack"] = support.VECTORS["PM-AMP-49"]["message"]
        self.assertEqual(self.ask("validate_ack", **question, trusted_relays=[])["code"], 1001)

    def test_select_key(self):
        document = support.VECTORS["PM-AMP-99"]["documents"][0]
        question = {"document": document, "did": document["id"]}
        self.assertTrue(self.ask("select_key", **question, purpose="agreement")["method"].endswith("#x-10"))
        self.assertTrue(self.ask("select_key", **question, purpose="signature")["method"].endswith("#sig"))
        self.assertEqual(
            self.ask("select_key", document={"id": "did:x:y"}, did="did:x:y", purpose="signature"), {"code": 3001}
        )

    def test_nodes(self):
        opened = {"self": keys("bob"), "documents": [], "trusted_relays": [], "now": NOW, "supported_versions": ["1.0"]}
        node = self.ask("node_open", **opened)["node"]
        message = support.message("alice", "bob", 0x11, {"op": "echo", "data": 1}).hex()
        first = self.ask("node_receive", node=node, message=message, now=NOW, peer="alice")
        again = self.ask("node_receive", node=node, message=message, now=NOW + 1)
        self.assertEqual((first["outcome"]["outcome"], first["effects"], len(first["replies"])), ("accept", 1, 2))
        self.assertEqual(again["outcome"], {"outcome": "cached", "replies": first["replies"]})
        self.assertEqual(again["effects"], 1)
        sent = self.ask(
            "node_send", node=node, to=support.KEYS["alice"].did, typ=16, body="f6", ttl=86400000, now=NOW, encrypt=True
        )
        ticked = self.ask("node_tick", node=node, now=NOW + 12_000)
        self.assertEqual(ticked, {"sent": [sent["message"]], "failed": []})
        self.assertEqual(self.ask("node_close", node=node), {})
        self.assertEqual(self.code("node_tick", node=node, now=NOW), -32001)

    def test_negotiations(self):
        def event(name, data=None):
            return self.ask("negotiation_event", negotiation=one, event=name, data=data)

        one = self.ask("negotiation_open", role="initiator", supported=["1.0"])
        self.assertEqual(one["state"], "UNNEGOTIATED")
        one = one["negotiation"]
        hello = event("send_hello")
        self.assertEqual(
            hello, {"state": "WAIT_ACK", "send": {"typ": 0x70, "v": 1, "body": hexed({"versions": ["1.0"]})}}
        )
        self.assertEqual(event("hello_ack", hexed({"selected": "1.0"})), {"state": "NEGOTIATED"})
        self.assertEqual(event("message", {"v": 1}), {"state": "NEGOTIATED"})
        self.assertEqual(event("message", 2), {"state": "NEGOTIATED", "error": 1004})
        self.assertEqual(event("message", support.message("alice", "bob").hex()), {"state": "NEGOTIATED"})
        self.assertEqual(event("hello", {"versions": ["99.0"]})["send"]["typ"], 0x72)
        self.assertEqual(event("message", 1), {"state": "FAILED", "error": 1004})

    def test_streams(self):
        sender = self.ask(
            "stream_sender_open", stream_id="s", data="00" * 17, chunk_size=8, filename="f", content_type="a/b"
        )
        start, *chunks, end = sender["messages"]
        stream = self.ask("stream_open", sender="did:x:y", start=start["body"])["stream"]
        for count, message in enumerate(reversed(chunks), 1):
            body = amp.cbor.decode(bytes.fromhex(message["body"]))
            answer = self.ask("stream_chunk", stream=stream, index=body.get("index"), data=body.get("data").hex())
            self.assertEqual(answer, {"state": "RECEIVING", "received": count})
        self.assertEqual(
            self.ask("stream_chunk", stream=stream, index="9223372036854775808", data="00"), {"code": 4001}
        )
        digest = amp.cbor.decode(bytes.fromhex(end["body"])).get("hash").hex()
        whole = self.ask("stream_end", stream=stream, hash=digest)
        self.assertEqual(
            (whole["state"], whole["complete"], whole["verified"], whole["data"]), ("DONE", True, True, "00" * 17)
        )
        done = self.ask("stream_sender_event", stream=sender["stream"], event="ack", data=whole["ack"])
        self.assertEqual(done, {"state": "DONE", "failed": False})

    def test_small_ones(self):
        self.assertEqual(self.ask("make_id", ts=0, random="01" * 8), {"ids": ["00" * 8 + "01" * 8]})
        self.assertEqual(len(set(self.ask("make_id", ts=NOW, count=10_000)["ids"])), 10_000)
        self.assertEqual(self.ask("type_info", typ=0x0F), {"name": "ERROR"})
        self.assertEqual(self.ask("type_info", typ=0x0C), {"unknown": True})
        self.assertEqual(self.ask("type_code", name="HELLO"), {"typ": 0x70})
        self.assertEqual(self.ask("type_code", name="hello"), {"unknown": True})
        self.assertEqual(
            self.ask("error_info", code=2003), {"name": "RELAY_REJECTED", "category": "routing", "retry": True}
        )
        self.assertEqual(self.ask("error_info", code=2999), {"unknown": True})
        self.assertEqual(self.ask("major", version="0.30.0"), {"major": 0})
        self.assertEqual(self.ask("major", version="1"), {"undefined": True})
        self.assertEqual(self.ask("select_version", supported=[1], offered=["2.0", "1.0"]), {"selected": "1.0"})
        self.assertEqual(self.ask("select_version", supported=["1.0"], offered=["99.0"]), {"rejected": True})
        self.assertEqual(self.ask("retry_delay", attempt=3, random=0.5), {"wait_ms": 4000})
        self.assertEqual(
            self.ask("retry_delay", attempt=1, random=0, last={"code": 1002, "retry": False}), {"stop": True}
        )
        error = self.ask(
            "error_build", sender=keys("bob"), reply_to="00" * 16, to=support.KEYS["alice"].did, code=1002, now=NOW
        )
        self.assertEqual(support.error_code(bytes.fromhex(error["message"])), 1002)
        self.assertEqual(self.ask("batch_split", body=hexed({"items": [b"x"]})), {"items": ["78"]})
        self.assertEqual(self.ask("batch_split", body=hexed({"items": []})), {"code": 1001})
        self.assertEqual(self.ask("frame_encode", type=1, payload="a1617801"), {"frame": "0000000501a1617801"})
        decoded = self.ask("frame_decode", data="0000000501a161780100")
        self.assertEqual(decoded, {"frames": [{"type": 1, "payload": "a1617801"}], "rest": "00"})
        self.assertEqual(self.ask("frame_decode", data="00000000"), {"code": 1001})
        for entry in support.DATA["wrappers"]:
            answer = self.ask("wrapper_decode", kind="poll", cbor=entry["cbor"])
            self.assertEqual(answer, {"value": entry["cbor"]} if entry["expect"] == "valid" else {"code": 1001})


if __name__ == "__main__":
    unittest.main()

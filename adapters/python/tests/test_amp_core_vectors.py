"""The published vectors of RFC 001 appendix A with the rulings E01 to E06, and those of binding.md section 13."""

import unittest

import amp_core_support as support
from amp_core_support import amp


def context(self_name, vector):
    documents = [support.SPEC_ALICE, support.SPEC_BOB, *vector.get("documents", [])]
    relays = frozenset(vector.get("trusted_relays", []))
    return amp.receive.Context(support.KEYS[self_name], amp.did.Resolver(documents), trusted_relays=relays)


def judge(vector):
    """The result of `receive` for a vector: the decrypted message, or the code of the refusal."""
    where, now, message = context(vector["self"], vector), vector["now"], bytes.fromhex(vector["message"])
    original = vector.get("original")
    try:
        opened = amp.receive.authenticate(where, message, now)
        about = None if original is None else amp.envelope.parse(bytes.fromhex(original))
        amp.receive.accept(where, opened, about, judge_relay="trusted_relays" in vector)
        return opened
    except amp.refusal.Refusal as refusal:
        return refusal.code


@support.needs_nacl
class Published(unittest.TestCase):
    def setUp(self):
        self.common = support.PUBLISHED["keys"]
        self.seed = bytes.fromhex(self.common["ed25519_seed"])

    def test_keys_of_a1(self):
        self.assertEqual(amp.keys.public_key(self.seed).hex(), self.common["ed25519_public"])
        for name in ("recipient", "sender"):
            public = amp.keys.x25519_public(bytes.fromhex(self.common[f"{name}_private"]))
            self.assertEqual(public.hex(), self.common[f"{name}_public"])

    def test_each_message_is_rebuilt_from_its_parts(self):
        for vector in support.PUBLISHED["messages"]:
            with self.subTest(vector["id"]):
                body = bytes.fromhex(vector["body"])
                self.assertTrue(amp.cbor.is_deterministic(body))
                sender, to = self.sides(vector)
                reply_to = bytes.fromhex(vector["reply_to"]) if "reply_to" in vector else None
                headers = amp.seal.headers(
                    support.KEYS[f"spec-{sender}"],
                    vector["typ"],
                    self.common[to],
                    vector["ts"],
                    self.common["ttl"],
                    id=bytes.fromhex(vector["message_id"]),
                    reply_to=reply_to,
                )
                built = amp.seal.plain(support.KEYS[f"spec-{sender}"], headers, body)
                self.assertEqual(built.sig_input.hex(), vector["sig_input"])
                self.assertEqual(amp.keys.sign(self.seed, built.sig_input).hex(), vector["signature"])
                if vector["id"] != "A.6":
                    self.assertEqual(built.message.hex(), vector["message"])

    def sides(self, vector):
        return (vector["from"], "alice" if vector["from"] == "bob" else "bob")

    def test_each_message_is_accepted_in_its_time_only(self):
        for vector in support.PUBLISHED["messages"]:
            if vector["id"] == "A.6":
                continue
            with self.subTest(vector["id"]):
                question = {"self": f"spec-{self.sides(vector)[1]}", "message": vector["message"]}
                opened = judge({**question, "now": vector["ts"] + 10})
                self.assertEqual(opened.plaintext.hex(), vector["body"])
                self.assertEqual(judge({**question, "now": vector["ts"] + self.common["ttl"] + 1}), 1003)

    def test_a6_as_printed_does_not_open(self):  # E01
        vector = support.published("A.6")
        self.assertEqual(judge({"self": "spec-bob", "message": vector["message"], "now": vector["ts"]}), 3001)

    def test_a6_corrected(self):  # E01, PM-AMP-01
        vector, corrected = support.published("A.6"), support.VECTORS["PM-AMP-01"]
        headers = amp.seal.headers(
            support.KEYS["spec-alice"],
            vector["typ"],
            self.common["bob"],
            vector["ts"],
            self.common["ttl"],
            id=bytes.fromhex(vector["message_id"]),
        )
        nonce = bytes.fromhex(self.common["nonce"])
        built = amp.seal.encrypted(
            support.KEYS["spec-alice"], support.SPEC_BOB, headers, bytes.fromhex(vector["body"]), nonce=nonce
        )
        self.assertEqual(built.ciphertext.hex(), "4d9c4b59bcb9d13393f0bdbe31d1693909ec2085626023b533f3f7af")
        self.assertEqual(built.message.hex(), corrected["message"])

    def test_n1_every_bit_of_the_signature_of_a2(self):
        vector = support.published("A.2")
        message = bytes.fromhex(vector["message"])
        at = message.index(bytes.fromhex(vector["signature"]))
        for bit in range(512):
            flipped = support.flip(message, at * 8 + bit).hex()
            self.assertEqual(judge({"self": "spec-bob", "message": flipped, "now": vector["ts"]}), 1002, bit)

    def test_n3_every_byte_of_the_ciphertext(self):  # E02
        vector = support.VECTORS["PM-AMP-01"]
        message = bytes.fromhex(vector["message"])
        at = message.index(bytes.fromhex("4d9c4b59bcb9d133"))
        for bit in range(0, 28 * 8, 8):
            self.assertEqual(judge({**vector, "message": support.flip(message, at * 8 + bit).hex()}), 3001)


@support.needs_nacl
class ProofmarkVectors(unittest.TestCase):
    """The strict reading: `tolerate` is ignored."""

    def test_all(self):
        for vector in support.VECTORS.values():
            if "message" not in vector:
                continue
            with self.subTest(f"{vector['id']} {vector['title']}"):
                outcome = judge(vector)
                if "reject" in vector["expect"]:
                    self.assertIn(outcome, vector["expect"]["reject"])
                    continue
                self.assertIsInstance(outcome, amp.receive.Opened)
                self.assertEqual(outcome.plaintext.hex(), vector["body"])
                covered = amp.sig_input.sig_input(outcome.envelope.headers, outcome.plaintext)
                self.assertEqual(covered.hex(), vector["sig_input"])

    def test_every_kind_of_vector_is_there(self):
        self.assertEqual(len(support.VECTORS), 127)
        self.assertEqual(sum("sequence" in vector for vector in support.VECTORS.values()), 2)

    def test_items_of_the_batch(self):
        vector = support.VECTORS["PM-AMP-82"]
        items = amp.batch.split(judge(vector).body)
        self.assertEqual(len(items), len(vector["items"]))
        for item, expected in zip(items, vector["items"]):
            outcome = judge({**vector, "message": item.hex()})
            if "reject" in expected:
                self.assertIn(outcome, expected["reject"])
            else:
                self.assertIsInstance(outcome, amp.receive.Opened)

    def test_frames(self):
        for entry in support.DATA["frames"]:
            with self.subTest(entry["id"]):
                data = bytes.fromhex(entry["frame"])
                if "payload" not in entry:
                    with self.assertRaises(amp.refusal.Refusal):
                        amp.frame.decode(data)
                    continue
                frames, rest = amp.frame.decode(data)
                self.assertEqual(([frame.payload.hex() for frame in frames], rest), ([entry["payload"]], b""))
                self.assertEqual(amp.frame.encode(frames[0]), data)

    def test_wrappers(self):
        for entry in support.DATA["wrappers"]:
            with self.subTest(entry["id"]):
                data = bytes.fromhex(entry["cbor"])
                if entry["expect"] == "valid":
                    self.assertEqual(amp.cbor.encode(amp.wrapper.decode("poll", data)), data)
                else:
                    with self.assertRaises(amp.refusal.Refusal) as caught:
                        amp.wrapper.decode("poll", data)
                    self.assertEqual(caught.exception.code, 1001)


@support.needs_nacl
class Sequences(unittest.TestCase):
    """PM-AMP-84 and 85, by a node."""

    def run_sequence(self, vector):
        node = support.node(vector["self"])
        outcomes = [node.receive(bytes.fromhex(message), vector["now"]) for message in vector["sequence"]]
        finals = [
            body
            for outcome in outcomes
            for typ, body in map(support.read, outcome.replies)
            if typ == amp.codes.ACK and "stream_id" in body
        ]
        return node, outcomes, finals

    def test_out_of_order_with_a_conflicting_duplicate(self):
        vector = support.VECTORS["PM-AMP-84"]
        node, outcomes, finals = self.run_sequence(vector)
        self.assertEqual([outcome.kind for outcome in outcomes], ["accept"] * len(outcomes))
        self.assertEqual(len(finals), 1)
        self.assertIs(finals[0].get("verified"), True)
        self.assertEqual(finals[0].get("chunks_received"), 3)
        self.assertEqual(node.effects, 1)
        wanted = amp.cbor.Map({"hash": bytes.fromhex(vector["sha256"])})
        self.assertEqual(node.application.document(wanted).type, amp.codes.DOC_SEND)

    def test_a_hash_that_does_not_match(self):
        node, outcomes, finals = self.run_sequence(support.VECTORS["PM-AMP-85"])
        self.assertEqual((finals, node.effects), ([], 0))
        self.assertEqual(outcomes[-1].kind, "reject")
        self.assertEqual(support.read(outcomes[-1].replies[0])[0], amp.codes.ERROR)


if __name__ == "__main__":
    unittest.main()

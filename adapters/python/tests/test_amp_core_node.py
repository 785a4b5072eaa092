"""A node: its state, its answers, its retries."""

import hashlib
import unittest

import amp_core_support as support
from amp_core_support import NOW, amp

ECHO = {"op": "echo", "data": "proofmark"}
DAY = 86_400_000


def answer(sender, original, typ, body, created=NOW, to="bob"):
    """A message in reply to another."""
    return support.message(sender, to, typ, body, created, reply_to=support.parsed(original).id)


@support.needs_nacl
class Answers(unittest.TestCase):
    def test_one_of_each(self):
        document = {
            "content_type": "a/b",
            "filename": "f",
            "size": 1,
            "hash": hashlib.sha256(b"x").digest(),
            "data": b"x",
        }
        for typ, body, types in (
            (0x01, None, [0x02]),
            (0x02, None, []),
            (0x04, {}, []),
            (0x10, {"msg": "x"}, [0x03]),
            (0x11, ECHO, [0x03, 0x12]),
            (0x11, {"op": "fail"}, [0x03, 0x05]),
            (0x11, None, [0x03, 0x05]),
            (0x12, 1, []),
            (0x30, document, [0x03]),
            (0x31, {"doc_id": "none"}, [0x03, 0x05]),
            (0x42, {"format": "jwt_vc", "credential": "x"}, [0x03]),
            (0x52, {"delegation_id": "x"}, [0x03]),
            (0x70, {"versions": ["1.0"]}, [0x71]),
            (0x70, {"versions": ["99.0"]}, [0x72]),
            (0x71, {"selected": "9.0"}, []),
            (0x0C, None, [0x0F]),
            (0x60, None, [0x0F]),
        ):
            message = support.message("alice", "bob", typ, body)
            outcome = support.node().receive(message, NOW)
            self.assertEqual(support.shapes(outcome), types, (typ, body))
            for reply in outcome.replies:
                parsed = support.parsed(reply)
                self.assertEqual(parsed.headers.get("reply_to"), support.parsed(message).id)
                self.assertEqual((parsed.headers.get("to"), parsed.version), (support.KEYS["alice"].did, 1))
                context = amp.receive.Context(support.KEYS["alice"], amp.did.Resolver([]))
                amp.receive.receive(context, reply, NOW)

    def test_an_ack_says_who_and_when(self):
        _, body = support.read(support.node().receive(support.message("alice", "bob"), NOW + 7).replies[0])
        self.assertEqual(body, amp.cbor.Map({"ack_source": "recipient", "received_at": NOW + 7}))
        several = support.message("alice", ["carol", "bob"])
        _, body = support.read(support.node().receive(several, NOW).replies[0])
        self.assertEqual(body.get("ack_target"), support.KEYS["bob"].did)

    def test_errors(self):
        good = support.message("alice", "bob")
        for message, code in (
            (support.flip(good, len(good) * 8 - 700), None),
            (support.message("alice", "carol"), 3001),
            (support.message("alice", "bob", created=NOW - DAY), 1003),
            (support.message("alice", "bob", typ=0x80), 1005),
        ):
            outcome = support.node().receive(message, NOW)
            self.assertEqual(outcome.kind, "reject")
            if code is not None:
                typ, body = support.read(outcome.replies[0])
                self.assertEqual(
                    (typ, body.get("code"), body.get("category"), body.get("retry")), (0x0F, code, *self.row(code))
                )

    def row(self, code):
        info = amp.codes.ERRORS[code]
        return info.category, info.retry

    def test_what_names_nobody_gets_nothing(self):
        for data in (b"", b"\xff", b"\xa0", bytes(100), support.message("alice", "bob")[:-1]):
            outcome = support.node().receive(data, NOW)
            self.assertEqual((outcome.kind, outcome.replies, outcome.refusal.code), ("reject", [], 1001))

    def test_an_error_is_never_answered_by_an_error(self):
        for body in ({"code": 1}, {"code": 1002, "category": "protocol", "message": ""}):
            for created in (NOW, NOW - DAY):
                message = support.message("alice", "bob", 0x0F, body, created)
                self.assertEqual(support.node().receive(message, NOW).replies, [])

    def test_content_goes_back_as_it_came(self):
        outcome = support.node().receive(support.encrypted("alice", "bob", 0x11, ECHO), NOW)
        ack, response = map(support.parsed, outcome.replies)
        self.assertIsNone(ack.sealed)
        self.assertIsNotNone(response.sealed)
        context = amp.receive.Context(support.KEYS["alice"], amp.did.Resolver([]))
        self.assertEqual(
            amp.receive.receive(context, outcome.replies[1], NOW).body, amp.cbor.Map({"data": "proofmark"})
        )

    def test_slow_requests(self):
        node = support.node()
        message = support.message("alice", "bob", 0x11, {"op": "slow", "ms": 500})
        self.assertEqual(support.shapes(node.receive(message, NOW)), [0x03])
        self.assertEqual(node.tick(NOW + 499), ([], []))
        sent, _ = node.tick(NOW + 500)
        self.assertEqual(support.read(sent[0])[0], 0x12)
        self.assertEqual(node.receive(message, NOW + 600).replies[1], sent[0])


@support.needs_nacl
class Memory(unittest.TestCase):
    def test_a_repeat_gets_the_same_bytes_and_runs_once(self):
        node = support.node()
        message = support.message("alice", "bob", 0x11, ECHO)
        first = node.receive(message, NOW)
        for later in (0, 1, 59_999, 60_000):
            again = node.receive(message, NOW + later)
            self.assertEqual((again.kind, again.replies, node.effects), ("cached", first.replies, 1))
        self.assertEqual(node.receive(message, NOW + 60_001).refusal.code, 1003)

    def test_a_message_from_ahead_is_remembered_while_it_is_valid(self):  # E46
        node = support.node()
        message = support.message("alice", "bob", created=NOW + 20_000, ttl=2_000)
        node.receive(message, NOW)
        node.tick(NOW + 21_000)
        self.assertEqual(node.receive(message, NOW + 22_000).kind, "cached")
        self.assertEqual(node.effects, 1)

    def test_the_sender_is_part_of_the_key_and_its_fragment_is_not(self):
        node = support.node()
        id_ = amp.envelope.make_id(NOW)
        did = support.KEYS["alice"].did
        for sender, headers, kind in (
            ("alice", {}, "accept"),
            ("carol", {}, "accept"),
            ("alice", {"from_did": f"{did}#{did[8:]}"}, "cached"),
        ):
            self.assertEqual(node.receive(support.message(sender, "bob", id=id_, **headers), NOW).kind, kind)
        self.assertEqual(node.effects, 2)

    def test_an_id_used_again_for_another_body(self):
        node = support.node()
        id_ = amp.envelope.make_id(NOW)
        first = node.receive(support.message("alice", "bob", body=1, id=id_), NOW)
        second = node.receive(support.message("alice", "bob", body=2, id=id_), NOW)
        self.assertEqual((second.kind, second.replies, node.effects), ("cached", first.replies, 1))

    def test_a_forgery_neither_enters_nor_reads_the_memory(self):
        node = support.node()
        message = support.message("alice", "bob")
        forged = message.replace(support.parsed(message).signature, bytes(64))
        self.assertEqual(node.receive(forged, NOW).refusal.code, 1002)
        self.assertEqual(node.receive(message, NOW).kind, "accept")
        self.assertEqual(node.receive(forged, NOW).refusal.code, 1002)
        self.assertEqual(node.effects, 1)

    def test_counting_does_not_count(self):
        node = support.node()
        node.receive(support.message("alice", "bob"), NOW)
        for _ in range(2):
            outcome = node.receive(support.message("alice", "bob", 0x11, {"op": "count"}), NOW)
            self.assertEqual(support.read(outcome.replies[1])[1].get("count"), 1)


@support.needs_nacl
class Batches(unittest.TestCase):
    def batch(self, *items):
        return support.message("alice", "bob", 0x16, {"items": list(items)})

    def test_items_are_judged_one_by_one(self):
        node = support.node()
        before = support.message("alice", "bob")
        node.receive(before, NOW)
        good = support.message("alice", "bob")
        items = [
            good,
            good.replace(support.parsed(good).signature, bytes(64)),
            support.message("alice", "bob", created=NOW - DAY),
            support.encrypted("carol", "bob"),
            support.message("alice", "bob", typ=0x0D),
            before,
            support.message("alice", "carol"),
            b"rubbish",
        ]
        container = self.batch(*items)
        outcome = node.receive(container, NOW)
        seen = [
            (support.parsed(reply).headers.get("reply_to"), support.error_code(reply))
            for reply in outcome.replies
            if support.parsed(reply).sealed is None
        ]
        ids = [support.parsed(item).id for item in items[:-1]]
        whole = support.parsed(container).id
        expected = [(whole, None), *zip(ids, (None, 1002, 1003, None, 1005, None, 3001)), (whole, 1001)]
        self.assertEqual(seen, expected)
        self.assertEqual(support.read(outcome.replies[-1])[1].get("batch_index"), 7)
        self.assertEqual(node.effects, 3)

    def test_an_error_in_a_batch_is_not_answered(self):
        errors = [support.message("alice", "bob", 0x0F, {}), support.message("alice", "bob", 0x0F, {}, NOW - DAY)]
        outcome = support.node().receive(self.batch(*errors), NOW)
        self.assertEqual(support.shapes(outcome), [0x03])

    def test_a_batch_in_a_batch(self):
        inner = self.batch(support.message("alice", "bob"))
        node = support.node()
        outcome = node.receive(self.batch(inner), NOW)
        self.assertEqual([support.error_code(reply) for reply in outcome.replies], [None, 4001])
        self.assertEqual(node.effects, 0)
        for _ in range(50):
            inner = self.batch(inner)
        self.assertEqual(node.receive(inner, NOW).kind, "accept")

    def test_a_container_that_fails_takes_its_items_with_it(self):
        container = self.batch(support.message("alice", "bob"))
        signature = support.parsed(container).signature
        node = support.node()
        outcome = node.receive(container.replace(signature, bytes(64)), NOW)
        self.assertEqual((outcome.refusal.code, node.effects), (1002, 0))


@support.needs_nacl
class Streams(unittest.TestCase):
    DATA = b"hello proofmark!!"

    def messages(self, stream_id="s", sender="alice"):
        parts = amp.stream.Sender(stream_id, self.DATA, 8, "f", "a/b").messages()
        return [support.message(sender, "bob", typ, body) for typ, body in parts]

    def finals(self, outcome):
        return [body for typ, body in map(support.read, outcome.replies) if typ == 0x03 and "stream_id" in body]

    def test_a_good_stream_has_one_final_ack(self):
        node = support.node()
        start, *chunks, end = self.messages()
        outcomes = [node.receive(message, NOW) for message in (start, *reversed(chunks), end)]
        self.assertEqual([len(self.finals(outcome)) for outcome in outcomes], [0, 0, 0, 0, 1])
        final = self.finals(outcomes[-1])[0]
        self.assertEqual((final.get("verified"), final.get("chunks_received"), node.effects), (True, 3, 1))
        request = support.message("alice", "bob", 0x31, {"hash": hashlib.sha256(self.DATA).digest()})
        self.assertEqual(support.read(node.receive(request, NOW).replies[1])[1].get("data"), self.DATA)

    def test_a_late_chunk(self):
        node = support.node()
        start, first, *chunks, end = self.messages()
        for message in (start, *chunks):
            node.receive(message, NOW)
        self.assertEqual(node.receive(end, NOW).replies, [])
        outcome = node.receive(first, NOW + 1000)
        self.assertEqual(len(self.finals(outcome)), 1)
        final = outcome.replies[1]
        self.assertEqual(support.parsed(final).headers.get("reply_to"), support.parsed(end).id)
        self.assertEqual(node.receive(end, NOW + 2000).replies, [final])

    def test_a_chunk_that_never_comes(self):
        node = support.node()
        start, _, *chunks, end = self.messages()
        for message in (start, *chunks, end):
            node.receive(message, NOW)
        self.assertEqual(node.tick(NOW + 30_000), ([], []))
        sent, failed = node.tick(NOW + 30_001)
        self.assertEqual((support.error_code(sent[0]), failed), (4001, [support.parsed(end).id]))
        self.assertEqual((node.tick(NOW + 90_000), node.effects), (([], []), 0))

    def test_streams_belong_to_their_sender(self):
        node = support.node()
        start, *chunks, end = self.messages()
        node.receive(start, NOW)
        for message in self.messages(sender="carol")[1:]:
            self.assertEqual(node.receive(message, NOW).refusal.code, 4001)
        for message in (*chunks, end):
            self.assertEqual(node.receive(message, NOW).kind, "accept")

    def test_there_is_a_limit(self):
        node = support.node()
        codes = []
        for number in range(17):
            outcome = node.receive(self.messages(f"s{number}")[0], NOW)
            codes.append(outcome.refusal and outcome.refusal.code)
        self.assertEqual(codes, [None] * 16 + [5004])


@support.needs_nacl
class Sending(unittest.TestCase):
    def setUp(self):
        self.node = support.node(relays=[support.KEYS["relay"].did])

    def send(self, typ=0x10, body=b"\xf6", ttl=DAY, now=NOW, **more):
        return self.node.send(support.KEYS["alice"].did, typ, body, ttl, now, **more)

    def copies(self, until, step=250, now=NOW):
        sent, failed = [], []
        for at in range(now, now + until, step):
            messages, ids = self.node.tick(at)
            sent += [(at - now, message) for message in messages]
            failed += ids
        return sent, failed

    def test_five_copies_of_the_same_bytes(self):
        message = self.send()
        sent, failed = self.copies(180_000)
        self.assertEqual([data for _, data in sent], [message] * 4)
        self.assertEqual(failed, [support.parsed(message).id])
        last = 0
        for base, (at, _) in zip((1, 2, 4, 8), sent):
            self.assertGreaterEqual(at - last, 10_000 + base * 500)
            self.assertLessEqual(at - last, 10_250 + base * 1000)
            last = at

    def test_no_copy_after_the_end(self):
        message = self.send(ttl=15_000)
        sent, failed = self.copies(180_000)
        self.assertEqual((len(sent), failed), (1, [support.parsed(message).id]))

    def test_an_ack_ends_it(self):
        for sender, source in (("alice", "recipient"), ("relay", "relay")):
            message = self.send()
            outcome = self.node.receive(answer(sender, message, 0x03, {"ack_source": source, "received_at": NOW}), NOW)
            self.assertEqual((outcome.kind, outcome.replies), ("accept", []))
            self.assertEqual(self.copies(60_000), ([], []))

    def test_an_ack_by_somebody_else_does_not(self):
        for sender, source in (("mallory", "recipient"), ("mallory", "relay")):
            message = self.send()
            forged = answer(sender, message, 0x03, {"ack_source": source, "received_at": NOW})
            self.assertEqual(self.node.receive(forged, NOW).refusal.code, 1001)
            self.assertEqual(self.node.tick(NOW + 11_000)[0], [message])
            self.setUp()

    def test_errors(self):
        def error(code, retry, sender="alice"):
            body = {"code": code, "category": "x", "message": "", "retry": retry}
            message = self.send()
            self.node.receive(answer(sender, message, 0x0F, body), NOW)
            outcome = self.node.tick(NOW + 2_000)
            self.setUp()
            return [len(part) for part in outcome]

        self.assertEqual(error(1002, False), [0, 1])
        self.assertEqual(error(5002, True), [1, 0])
        self.assertEqual(error(1002, False, "mallory"), [0, 0])

    def test_all_recipients_have_to_confirm(self):
        to = [support.KEYS["alice"].did, support.KEYS["carol"].did]
        message = self.node.send(to, 0x10, b"\xf6", DAY, NOW)
        body = {"ack_source": "recipient", "received_at": NOW}
        self.node.receive(answer("alice", message, 0x03, body), NOW)
        self.assertEqual(self.node.tick(NOW + 12_000)[0], [message])
        self.node.receive(answer("carol", message, 0x03, body), NOW + 12_000)
        self.assertEqual(self.node.tick(NOW + 60_000), ([], []))

    def test_encrypted(self):
        message = self.send(body=b"\xa1\x61a\x01", encrypt=True)
        context = amp.receive.Context(support.KEYS["alice"], amp.did.Resolver([]))
        self.assertEqual(amp.receive.receive(context, message, NOW).body.get("a"), 1)
        with self.assertRaises(amp.refusal.Misuse):
            self.node.send([support.KEYS["alice"].did, support.KEYS["carol"].did], 0x10, b"\xf6", 1, NOW, True)

    def test_negotiation_comes_first(self):
        hello = self.send(0x70, amp.cbor.encode({"versions": ["1.0"]}))
        for typ in (0x10, 0x70):
            self.assertRaises(amp.refusal.WrongState, self.send, typ)
        self.node.receive(answer("alice", hello, 0x72, {}), NOW)
        self.assertRaises(amp.refusal.WrongState, self.send)
        hello = self.send(0x70, amp.cbor.encode({"versions": ["1.0"]}))
        self.node.receive(answer("alice", hello, 0x71, {"selected": "1.0"}), NOW)
        self.assertEqual(support.parsed(self.send()).version, 1)

    def test_persistent_channels_ask_for_a_hello(self):
        node = support.node(require_hello=True)
        self.assertEqual(node.receive(support.message("alice", "bob"), NOW).refusal.code, 1004)
        node.receive(support.message("alice", "bob", 0x70, {"versions": ["1.0"]}), NOW)
        self.assertEqual(node.receive(support.message("alice", "bob"), NOW).kind, "accept")


@support.needs_nacl
class Acks(unittest.TestCase):
    """Section 16.1 beyond the vectors."""

    def check(self, sender, body, to=("bob",), documents=(), **headers):
        names = list(to)
        original = support.message("alice", names if len(names) > 1 else names[0])
        headers = {"reply_to": support.parsed(original).id, **headers}
        ack = support.message(sender, "alice", 0x03, {"received_at": NOW, **body}, **headers)
        resolver = amp.did.Resolver(list(documents))
        relays = frozenset([support.KEYS["relay"].did])
        try:
            amp.ack.check(support.parsed(ack), support.parsed(ack).body, support.parsed(original), relays, resolver)
        except amp.refusal.Refusal as refusal:
            return refusal.code
        return None

    def test_who_may_confirm(self):
        recipient, relay = {"ack_source": "recipient"}, {"ack_source": "relay"}
        self.assertIsNone(self.check("bob", recipient))
        self.assertIsNone(self.check("carol", recipient, ("bob", "carol")))
        self.assertEqual(self.check("carol", recipient), 1001)
        self.assertEqual(self.check("relay", recipient), 1001)
        self.assertIsNone(self.check("relay", relay))
        self.assertEqual(self.check("bob", relay), 1001)
        self.assertEqual(self.check("bob", {**recipient, "ack_target": support.KEYS["mallory"].did}), 1001)
        self.assertIsNone(self.check("bob", {**recipient, "ack_target": support.KEYS["bob"].did}))
        self.assertEqual(self.check("bob", recipient, reply_to=bytes(16)), 1001)


if __name__ == "__main__":
    unittest.main()

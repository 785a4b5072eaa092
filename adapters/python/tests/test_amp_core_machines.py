"""Streams, versions, negotiation, retry, frames, wrappers and the registries."""

import hashlib
import itertools
import unittest

import amp_core_support as support
from amp_core_support import amp

DATA = b"proofmark streams"


def code(call, *arguments):
    """The code of the refusal, or None."""
    try:
        call(*arguments)
    except amp.refusal.Refusal as refusal:
        return refusal.code
    return None


def receiver(data=DATA, size=5, **changes):
    _, start = amp.stream.Sender("s", data, size, "f", "a/b").start()
    return amp.stream.Receiver(amp.cbor.Map(list({**dict(start.items()), **changes}.items())))


@support.needs_nacl
class Streams(unittest.TestCase):
    def test_every_order_of_four_chunks(self):
        for order in itertools.permutations(range(4)):
            target = receiver()
            for index in order:
                self.assertFalse(target.chunk(index, DATA[index * 5 : index * 5 + 5]))
            self.assertTrue(target.end(hashlib.sha256(DATA).digest()))
            self.assertEqual((target.data, target.state, target.received), (DATA, "DONE", 4))

    def test_the_first_copy_of_a_chunk_counts(self):
        target = receiver()
        for index in range(4):
            target.chunk(index, DATA[index * 5 : index * 5 + 5])
            target.chunk(index, b"XXXXX")
        self.assertEqual(target.received, 4)
        self.assertTrue(target.end(hashlib.sha256(DATA).digest()))

    def test_a_missing_chunk_is_waited_for(self):
        target = receiver()
        for index in (0, 2, 3):
            target.chunk(index, DATA[index * 5 : index * 5 + 5])
        self.assertFalse(target.end(hashlib.sha256(DATA).digest()))
        self.assertEqual((target.state, target.verified, target.data), ("VERIFY", False, None))
        self.assertTrue(target.chunk(1, DATA[5:10]))
        self.assertEqual((target.state, target.data), ("DONE", DATA))
        self.assertFalse(target.chunk(1, b"late!"))

    def test_a_wrong_hash_rejects_the_whole(self):
        good = hashlib.sha256(DATA).digest()
        lengths = b"".join(len(DATA[at : at + 5]).to_bytes(4, "big") + DATA[at : at + 5] for at in range(0, 17, 5))
        for digest in (bytes(32), good[:31], b"", good + b"\0", hashlib.sha256(lengths).digest()):
            target = receiver()
            for index in range(4):
                target.chunk(index, DATA[index * 5 : index * 5 + 5])
            self.assertEqual(code(target.end, digest), 4001)
            self.assertEqual((target.state, target.verified, target.data), ("DONE", False, None))
            self.assertEqual(code(target.chunk, 0, b"proof"), 4001)

    def test_chunks_that_do_not_fit(self):
        target = receiver()
        for index, data in (
            (4, b"xx"),
            (2**63, b"x"),
            (-1, b"xxxxx"),
            (0, b"xxxx"),
            (0, b"xxxxxx"),
            (3, b"xxxxx"),
            (3, b""),
        ):
            self.assertEqual(code(target.chunk, index, data), 4001, (index, data))
        self.assertEqual(target.received, 0)

    def test_numbers_that_contradict_each_other(self):
        for changes in (
            {"total_chunks": 3},
            {"total_chunks": 5},
            {"chunk_size": 0},
            {"total_size": 21},
            {"total_size": 0},
        ):
            self.assertEqual(self.opened(changes), 4001, changes)
        self.assertEqual(self.opened({"hash_algo": "sha512"}), 4001)
        self.assertEqual(self.opened({"total_size": 2**63, "total_chunks": 1, "chunk_size": 2**63}), 5004)

    def opened(self, changes):
        return code(lambda: receiver(**changes))

    def test_an_empty_stream(self):
        target = receiver(b"")
        self.assertTrue(target.end(hashlib.sha256(b"").digest()))
        self.assertEqual(target.data, b"")

    def test_a_sender_keeps_to_its_order(self):
        sender = amp.stream.Sender("s", DATA, 5, "f", "a/b")
        for call in (lambda: sender.chunk(0), sender.end):
            self.assertRaises(amp.refusal.WrongState, call)
        sender.start()
        self.assertRaises(amp.refusal.WrongState, sender.start)
        self.assertRaises(amp.refusal.Misuse, sender.chunk, 4)
        sender.end()
        for call in (sender.start, lambda: sender.chunk(0), sender.end):
            self.assertRaises(amp.refusal.WrongState, call)

    def test_what_ends_the_wait_of_a_sender(self):
        def ack(**more):
            return amp.cbor.Map({"ack_source": "recipient", "received_at": 1, **more})

        for event, state, failed in (
            (lambda sender: sender.ack(ack(stream_id="s", verified=True)), "DONE", False),
            (lambda sender: sender.ack(ack(stream_id="s", verified=False)), "DONE", True),
            (lambda sender: sender.ack(ack(stream_id="other", verified=True)), "AWAIT_ACK", False),
            (lambda sender: sender.ack(ack()), "AWAIT_ACK", False),
            (lambda sender: sender.error(), "DONE", True),
            (lambda sender: sender.timeout(), "DONE", True),
        ):
            sender = amp.stream.Sender("s", DATA, 5, "f", "a/b")
            self.assertEqual([typ for typ, _ in sender.messages()], [0x13] + [0x14] * 4 + [0x15])
            event(sender)
            self.assertEqual((sender.state, sender.failed), (state, failed))
            if state == "DONE":
                sender.error()
                self.assertEqual(sender.failed, failed)


@support.needs_nacl
class Versions(unittest.TestCase):
    def test_major(self):
        for text, expected in (
            ("1.0", 1),
            ("10.2.3", 10),
            ("0.30.0", 0),
            ("1.0.0-rc.1", 1),
            ("1.0.0+build", 1),
            ("x.1", None),
            ("", None),
            ("1", None),
            ("1.", None),
            (".1", None),
            ("01.0", None),
            ("1.0.0.0", None),
            (" 1.0", None),
            ("1.0\n", None),
            ("-1.0", None),
            ("١.0", None),
            (1, None),
            ("9" * 5000 + ".0", None),
        ):
            self.assertEqual(amp.version.major(text), expected, text)

    def test_selection(self):
        for supported, offered, expected in (
            (["1.0"], ["1.0", "1.0.0"], "1.0"),
            (["1.0"], ["1.0.0", "1.0"], "1.0.0"),
            (["1.0"], ["99.0"], None),
            (["1.0", "2.0"], ["1.0", "2.0"], "2.0"),
            (["1.0"], ["99.0", "1.0", "rubbish", 7], "1.0"),
            ([1], ["1.2", "1.10", "2.0"], "1.10"),
            (["1.0"], ["1.9", "1.0"], "1.0"),
            (["1.0"], ["1.9"], "1.9"),
            (["1.0"], [], None),
            ([], ["1.0"], None),
            ([1], ["1.0.0-rc.1", "1.0.0"], "1.0.0"),
        ):
            self.assertEqual(amp.version.select(supported, offered), expected, (supported, offered))


@support.needs_nacl
class Negotiations(unittest.TestCase):
    def ack(self, selected="1.0"):
        return amp.cbor.Map({"selected": selected})

    def test_two_parties_agree(self):
        one, other = amp.negotiation.Negotiation(["1.0", "2.0"]), amp.negotiation.Negotiation(["1.0"])
        hello = one.send_hello()
        self.assertEqual((hello.type, hello.body.get("versions"), one.state), (0x70, ["2.0", "1.0"], "WAIT_ACK"))
        answer = other.hello(hello.body)
        self.assertEqual((answer.type, answer.body, other.state), (0x71, self.ack(), "NEGOTIATED"))
        one.hello_ack(answer.body)
        self.assertEqual((one.state, one.major, other.major), ("NEGOTIATED", 1, 1))
        for side in (one, other):
            self.assertIsNone(code(side.message, 1))
            self.assertEqual(code(side.message, 2), 1004)

    def test_nothing_in_common(self):
        one, other = amp.negotiation.Negotiation(["99.0"]), amp.negotiation.Negotiation(["1.0"])
        answer = other.hello(one.send_hello().body)
        self.assertEqual((answer.type, other.state), (0x72, "FAILED"))
        one.hello_reject(answer.body)
        self.assertEqual((one.state, code(one.message, 99)), ("FAILED", 1004))
        one.send_hello()
        self.assertEqual(one.state, "WAIT_ACK")

    def test_what_is_out_of_order_changes_nothing(self):
        target = amp.negotiation.Negotiation(["1.0"])
        self.assertEqual(code(target.hello_ack, self.ack()), 1001)
        self.assertEqual(code(target.hello_reject, amp.cbor.Map()), 1001)
        self.assertEqual(code(target.message, 1), 1004)
        self.assertEqual(code(target.hello, amp.cbor.Map({"versions": []})), 1001)
        self.assertEqual(target.state, "UNNEGOTIATED")
        target.send_hello()
        self.assertEqual(code(target.send_hello), 1001)
        self.assertEqual(code(target.message, 1), 1004)
        self.assertEqual(code(target.hello_ack, amp.cbor.Map({"selected": 1})), 1001)
        self.assertEqual(target.state, "WAIT_ACK")
        target.hello_ack(self.ack())
        self.assertEqual(code(target.hello_reject, amp.cbor.Map()), 1001)
        self.assertEqual(target.state, "NEGOTIATED")

    def test_a_version_that_was_not_offered(self):
        target = amp.negotiation.Negotiation(["1.0"])
        target.send_hello()
        self.assertEqual((code(target.hello_ack, self.ack("2.0")), target.state), (1004, "FAILED"))

    def test_hellos_that_cross(self):
        one, other = amp.negotiation.Negotiation(["1.0"]), amp.negotiation.Negotiation(["1.0"])
        from_one, from_other = one.send_hello(), other.send_hello()
        to_other, to_one = one.hello(from_other.body), other.hello(from_one.body)
        one.hello_ack(to_one.body)
        other.hello_ack(to_other.body)
        self.assertEqual((one.state, other.state, one.major, other.major), ("NEGOTIATED", "NEGOTIATED", 1, 1))
        self.assertEqual(code(one.hello_ack, self.ack()), 1001)

    def test_a_second_hello_is_answered(self):
        target = amp.negotiation.Negotiation(["1.0"])
        body = amp.cbor.Map({"versions": ["1.0"]})
        self.assertEqual([target.hello(body).type for _ in range(2)], [0x71, 0x71])


@support.needs_nacl
class Retry(unittest.TestCase):
    def test_the_table(self):
        full = [amp.retry.delay(attempt, 0.5) for attempt in range(1, 6)]
        self.assertEqual(full, [1000, 2000, 4000, 8000, 16000])
        self.assertEqual([amp.retry.delay(attempt, 0) for attempt in range(1, 6)], [500, 1000, 2000, 4000, 8000])
        self.assertEqual(amp.retry.delay(10, 0.5), 60_000)
        self.assertEqual(amp.retry.delay(2**60, 1e300), 60_000)

    def test_errors(self):
        self.assertIsNone(amp.retry.delay(1, 0, 1002, False))
        self.assertIsNone(amp.retry.delay(1, 0, 1002))
        self.assertEqual(amp.retry.delay(1, 0, 5002), 500)
        self.assertEqual(amp.retry.delay(1, 0, 2003, True), 500)
        self.assertIsNone(amp.retry.delay(1, 0, 2003, False))
        self.assertIsNone(amp.retry.delay(1, 0, 1900))

    def test_no_attempt_after_the_end(self):
        self.assertIsNone(amp.retry.delay(1, 0.5, ttl_left=999))
        self.assertEqual(amp.retry.delay(1, 0.5, ttl_left=1000), 1000)
        self.assertIsNone(amp.retry.delay(1, 0, ttl_left=-5))


@support.needs_nacl
class FramesAndWrappers(unittest.TestCase):
    def test_examples_of_the_binding(self):  # 002-A.1 and 002-A.2
        frames, rest = amp.frame.decode(bytes.fromhex("0000000501a1617801"))
        self.assertEqual(([(frame.type, frame.payload.hex()) for frame in frames], rest), ([(1, "a1617801")], b""))
        frames, rest = amp.frame.decode(bytes.fromhex("0000000401a1617801"))
        self.assertEqual((frames[0].payload.hex(), rest), ("a16178", b"\x01"))

    def test_frames_in_pieces(self):
        frames = [amp.frame.Frame(typ, bytes(typ)) for typ in (1, 3, 127)]
        data = b"".join(map(amp.frame.encode, frames))
        for cut in range(len(data)):
            whole, rest = amp.frame.decode(data[:cut])
            self.assertEqual(whole, frames[: len(whole)])
            self.assertEqual(amp.frame.decode(rest + data[cut:])[0], frames[len(whole) :])

    def test_lengths(self):
        self.assertEqual(code(amp.frame.decode, bytes(4)), 1001)
        self.assertEqual(code(amp.frame.decode, b"\xff\xff\xff\xff"), 1001)
        self.assertEqual(code(amp.frame.decode, bytes.fromhex("0000000601"), 4), 1001)
        self.assertIsNone(code(amp.frame.decode, bytes.fromhex("0000000501"), 4))
        self.assertRaises(amp.refusal.Misuse, amp.frame.encode, amp.frame.Frame(256, b""))

    def wrapped(self, kind, **members):
        return code(amp.wrapper.decode, kind, amp.cbor.encode(members))

    def test_wrappers(self):
        poll = {"messages": [b"x"], "next_cursor": "c", "has_more": True}
        forward = {
            "fwd_v": 1,
            "message": b"x",
            "from_did": "did:x:a",
            "recipient_did": "did:x:b",
            "relay_path": ["did:x:r"],
            "hop_limit": 8,
            "upstream_relay": "did:x:r",
            "transfer_mode": "dual",
        }
        webhook = {"message": b"x", "relay": "did:x:r", "sent_at": 1}
        commit = {"commit_v": 1, "commit_receipt": b"x"}
        for kind, members in (("poll", poll), ("forward", forward), ("webhook", webhook), ("commit", commit)):
            self.assertIsNone(self.wrapped(kind, **members), kind)
            self.assertEqual(self.wrapped(kind, **members, more=1), 1001)
            for name in members:
                self.assertEqual(
                    self.wrapped(kind, **{key: value for key, value in members.items() if key != name}), 1001, name
                )
                self.assertEqual(self.wrapped(kind, **{**members, name: 1.5}), 1001, name)
        for version in (0, 2):
            self.assertEqual(self.wrapped("forward", **{**forward, "fwd_v": version}), 1004)
            self.assertEqual(self.wrapped("commit", **{**commit, "commit_v": version}), 1004)
        self.assertEqual(self.wrapped("poll", **{**poll, "next_cursor": None}), 1001)
        self.assertEqual(code(amp.wrapper.decode, "poll", b"\x80"), 1001)
        self.assertEqual(code(amp.wrapper.decode, "poll", amp.cbor.encode(poll) + b"\0"), 1001)


@support.needs_nacl
class Registries(unittest.TestCase):
    def test_sizes_and_samples(self):
        self.assertEqual((len(amp.codes.TYPES), len(amp.codes.ERRORS)), (40, 22))
        self.assertEqual((amp.codes.TYPES[0xF0], amp.codes.NUMBERS["DELEG_QUERY"]), ("EXTENSION", 0x52))
        self.assertEqual(tuple(amp.codes.ERRORS[3005]), ("RATE_LIMITED", "security", True))
        self.assertEqual(
            {code for code, info in amp.codes.ERRORS.items() if info.retry},
            {2001, 2002, 2003, 3005, 5001, 5002, 5003, 5004},
        )

    def test_ids(self):
        for created, text in (
            (0, "00" * 8),
            (1, "00" * 7 + "01"),
            (2**32, "0000000100000000"),
            (1707055200000, "0000018d746b3700"),
        ):
            self.assertEqual(amp.envelope.make_id(created, b"\0" * 8).hex(), text + "00" * 8)
        self.assertEqual(len(set(amp.envelope.make_ids(support.NOW, 10_000))), 10_000)
        self.assertRaises(amp.refusal.Misuse, amp.envelope.make_id, 2**64)


if __name__ == "__main__":
    unittest.main()

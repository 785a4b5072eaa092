"""One message: the codec, the bits that a signature covers, the order of the checks, and the choice of keys."""

import base64
import itertools
import unittest

import amp_core_support as support
from amp_core_support import NOW, amp


def refusal_of(data, name="bob", now=NOW + 1000, documents=()):
    """The refusal of a message, or None."""
    where = amp.receive.Context(support.KEYS[name], amp.did.Resolver(list(documents)))
    try:
        amp.receive.receive(where, data, now)
    except amp.refusal.Refusal as refusal:
        return refusal
    return None


def code_of(data, *rest, **named):
    refusal = refusal_of(data, *rest, **named)
    return None if refusal is None else refusal.code


def edited(data, remove=(), **members):
    """A message with members replaced, not signed again."""
    source = amp.envelope.message_map(data)
    names = {"from_": "from"}
    changes = {names.get(name, name): value for name, value in members.items()}
    kept = [(key, value) for key, value in source.items() if key not in changes and key not in remove]
    return amp.cbor.encode(amp.cbor.Map(kept + list(changes.items())))


@support.needs_nacl
class Codec(unittest.TestCase):
    def test_integers_take_the_smallest_form(self):
        for value, text in (
            (0, "00"),
            (23, "17"),
            (24, "1818"),
            (255, "18ff"),
            (256, "190100"),
            (65535, "19ffff"),
            (65536, "1a00010000"),
            (2**32 - 1, "1affffffff"),
            (2**32, "1b0000000100000000"),
            (2**64 - 1, "1bffffffffffffffff"),
            (-1, "20"),
            (-24, "37"),
            (-25, "3818"),
            (-(2**64), "3bffffffffffffffff"),
        ):
            self.assertEqual(amp.cbor.encode(value).hex(), text)
            self.assertEqual(amp.cbor.decode(bytes.fromhex(text)), value)
        for wide in ("1817", "190017", "1a00000017", "1b0000000000000017"):
            self.assertEqual(amp.cbor.decode(bytes.fromhex(wide)), 23)
            self.assertFalse(amp.cbor.is_deterministic(bytes.fromhex(wide)))

    def test_floats_take_the_shortest_form_and_stay_floats(self):
        for wire, text in (
            ("fb3ff8000000000000", "f93e00"),
            ("fa7fc00001", "f97e00"),
            ("fb7ff0000000000000", "f97c00"),
            ("fb40efffe000000000", "fa477fff00"),
            ("fb3ff199999999999a", "fb3ff199999999999a"),
            ("fb8000000000000000", "f98000"),
            ("fb4000000000000000", "f94000"),
        ):
            self.assertEqual(amp.cbor.encode(amp.cbor.decode(bytes.fromhex(wire))).hex(), text)

    def test_keys_are_sorted_by_their_encoding(self):
        shuffled = amp.cbor.Map([("aa", 1), (100, 2), (-1, 3), ("z", 4), (False, 5), (10, 6)])
        self.assertEqual(amp.cbor.encode(shuffled).hex(), "a60a061864022003617a0462616101f405")

    def test_keys_that_python_takes_for_one_are_several(self):
        mixed = amp.cbor.decode(bytes.fromhex("a3010af93c000bf50c"))
        self.assertEqual((mixed.get(1), mixed.get(1.0), mixed.get(True)), (10, 11, 12))

    def test_values_of_every_kind_come_back(self):
        for text in (
            "f6",
            "f7",
            "f0",
            "f8ff",
            "c11a514b67b0",
            "d9d9f7a0",
            "8183f4f5f6",
            "a1a1010203",
            "4100",
            "60",
            "80",
            "a0",
        ):
            self.assertEqual(amp.cbor.encode(amp.cbor.decode(bytes.fromhex(text))).hex(), text)

    def test_indefinite_lengths_are_read_and_never_written(self):
        for wire, text in (
            ("5f42010243030405ff", "450102030405"),
            ("7f61616162ff", "626162"),
            ("9f0102ff", "820102"),
            ("bf616101ff", "a1616101"),
            ("5fff", "40"),
        ):
            self.assertEqual(amp.cbor.encode(amp.cbor.decode(bytes.fromhex(wire))).hex(), text)

    def test_what_is_not_well_formed_or_not_valid(self):
        for text in (
            "",
            "18",
            "1b00",
            "62ff",
            "61ff",
            "8201",
            "a101",
            "a2010101 02",
            "a2010118 0102",
            "1c",
            "1f",
            "3f",
            "df00",
            "ff",
            "81ff",
            "a1ff00",
            "bf01ff",
            "9f01",
            "5f6161ff",
            "5f5f4100ffff",
            "7f62c3ff",
            "7f61c361a9ff",
            "f800",
            "f818",
            "f81f",
            "fc",
            "fe",
            "0000",
            "9bffffffffffffffff",
            "bbffffffffffffffff",
            "5bffffffffffffffff",
            "7b7fffffffffffffff",
            "81" * 70 + "00",
            "9f" * 100_000,
        ):
            with self.assertRaises(amp.refusal.Refusal, msg=text[:20]) as caught:
                amp.cbor.decode(bytes.fromhex(text.replace(" ", "")))
            self.assertEqual(caught.exception.code, 1001)


@support.needs_nacl
class Tampering(unittest.TestCase):
    def test_every_bit_of_a_signed_message(self):
        """v is the only unsigned member, and no flipped bit of it gives a supported version."""
        message = support.message("alice", "bob", body={"msg": "proofmark"})
        self.assertIsNone(refusal_of(message))
        for bit in range(len(message) * 8):
            flipped = support.flip(message, bit)
            self.assertIn(code_of(flipped), (1001, 1002, 1003, 1004, 3001), f"bit {bit}")

    def test_every_bit_of_an_encrypted_message(self):
        message = support.encrypted("alice", "bob", body={"msg": "secret"})
        self.assertIsNone(refusal_of(message))
        for bit in range(len(message) * 8):
            self.assertIn(code_of(support.flip(message, bit)), (1001, 1002, 1003, 1004, 3001), f"bit {bit}")

    def test_every_truncation(self):
        message = support.message("alice", "bob")
        for length in range(len(message)):
            self.assertEqual(code_of(message[:length]), 1001, length)

    def test_signatures_of_other_sizes(self):
        message = support.message("alice", "bob")
        signature = support.parsed(message).signature
        for changed in (b"", signature[:63], signature + b"\0", signature * 2):
            self.assertEqual(code_of(edited(message, sig=changed)), 1002)

    def test_members_of_enc(self):
        message = support.encrypted("alice", "bob")
        enc = amp.envelope.message_map(message).get("enc")
        for changes in (
            {"alg": "none"},
            {"mode": "anoncrypt"},
            {"nonce": bytes(23)},
            {"ciphertext": "x"},
            {"epk": b""},
        ):
            changed = amp.cbor.Map(list({**dict(enc.items()), **changes}.items()))
            self.assertEqual(code_of(edited(message, enc=changed)), 1001, changes)
        self.assertEqual(
            code_of(edited(message, enc=amp.cbor.Map(list({**dict(enc.items()), "ciphertext": b""}.items())))), 3001
        )

    def test_rotated_keys_still_open(self):  # section 8.9
        own, message = support.KEYS["bob"], support.encrypted("alice", "bob")
        for previous, code in (((), 3001), ((bytes(31) + b"\x42", own.x25519_private), None)):
            rotated = amp.keys.Keys.of(own.did, own.seed, b"\x41" * 32, previous)
            where = amp.receive.Context(rotated, amp.did.Resolver([]))
            try:
                amp.receive.receive(where, message, NOW)
                self.assertIsNone(code)
            except amp.refusal.Refusal as refusal:
                self.assertEqual(refusal.code, code)

    def test_nonces_are_fresh(self):
        built = {support.parsed(support.encrypted("alice", "bob")).sealed.nonce for _ in range(1000)}
        self.assertEqual(len(built), 1000)

    def test_an_empty_plaintext_is_no_cbor(self):
        keys, headers = (
            support.KEYS["alice"],
            amp.seal.headers(support.KEYS["alice"], 0x10, support.KEYS["bob"].did, NOW, 60_000),
        )
        nonce = bytes(24)
        _, recipient = amp.document.agreement_key(support.DOCUMENTS["bob"], NOW)
        members = amp.cbor.Map([("v", 1), *headers.items()])
        members.add("sig", amp.keys.sign(keys.seed, amp.sig_input.sig_input(headers, b"")))
        enc = {"alg": amp.envelope.ALGORITHM, "mode": "authcrypt", "nonce": nonce}
        members.add(
            "enc", amp.cbor.Map({**enc, "ciphertext": amp.keys.box(b"", nonce, recipient, keys.x25519_private)})
        )
        refusal = refusal_of(amp.cbor.encode(members))
        self.assertEqual((refusal.code, refusal.stage), (1001, "plaintext"))


@support.needs_nacl
class Order(unittest.TestCase):
    """E31: of two faults, the one of the earlier step is reported."""

    def test_each_pair_of_faults(self):
        base = support.message("alice", "bob", typ=0x0C)  # the last step: unknown type
        faults = [
            (1001, {"body": None, "enc": None}),
            (1004, {"v": 9}),
            (1003, {"ttl": 0}),
            (3001, {"to": support.KEYS["carol"].did}),
            (3001, {"from_": "did:web:nowhere.example"}),
            (1002, {"sig": bytes(64)}),
        ]
        self.assertEqual(code_of(base), 1005)
        for (code, first), (_, second) in itertools.combinations(faults, 2):
            self.assertEqual(code_of(edited(base, **{**second, **first})), code, (first, second))

    def test_form(self):
        message = support.message("alice", "bob")
        for changes in (
            {"id": "x" * 16},
            {"id": bytes(15)},
            {"typ": "16"},
            {"typ": True},
            {"ts": -1},
            {"ttl": 1.0},
            {"ttl": 2**64 - 1, "ts": "0"},
            {"from_": "alice"},
            {"to": []},
            {"to": [1]},
            {"reply_to": "text"},
            {"thread_id": None},
            {"sig": "text"},
            {"ext": amp.cbor.Map([(1, 2)])},
            {"enc": None},
        ):
            self.assertEqual(code_of(edited(message, **changes)), 1001, changes)
        for name in ("v", "id", "typ", "ts", "ttl", "from", "to", "sig", "body"):
            self.assertEqual(code_of(edited(message, remove=(name,))), 1001, name)
        self.assertIsNone(refusal_of(edited(message, ext=amp.cbor.Map({"verified": True}), trace=1)))

    def test_bodies(self):
        stream = {"stream_id": "s", "content_type": "a/b", "filename": "f", "hash_algo": "sha256"}
        numbers = {"total_size": 5, "total_chunks": 1, "chunk_size": 5}
        for typ, body, code in (
            (0x01, 1, 1001),
            (0x03, {"ack_source": "gateway", "received_at": 1}, 1001),
            (0x03, {"ack_source": "recipient"}, 1001),
            (0x04, None, 4004),
            (0x04, {}, None),
            (0x0F, {"code": 1001, "category": "protocol"}, 1001),
            (0x10, [1.5, {1: 2}], None),
            (0x13, {**stream, **numbers}, None),
            (0x13, {**stream, **numbers, "hash_algo": "md5"}, 4001),
            (0x13, {**stream, **numbers, "total_chunks": 2}, 4001),
            (0x13, {**stream, **numbers, "chunk_size": 0}, 4001),
            (0x13, {**stream, "total_size": 2**40, "total_chunks": 1, "chunk_size": 2**40}, 5004),
            (0x16, [b""], 1001),
            (0x30, {"content_type": "a", "filename": "f", "size": 1, "hash": bytes(32), "data": b"x"}, 4004),
            (0x31, {}, 4001),
            (0x50, {"credential": 1, "expires": "2026-12-31T23:59:59Z"}, None),
            (0x50, {"credential": 1, "expires": "2026-12-31T23:59:59+01:00"}, 4004),
            (0x70, {"versions": []}, 1001),
            (0x70, {"versions": ["1.0"], "agent_info": {"implementation": "x"}}, 1001),
            (0x20, None, 1005),
            (0xF0, None, 1005),
        ):
            self.assertEqual(code_of(support.message("alice", "bob", typ, body)), code, (typ, body))


@support.needs_nacl
class KeyChoice(unittest.TestCase):
    """Section 8.9 with the rulings of E22 and E23."""

    DID = "did:web:fixtures.proofmark.test:agent:many"

    def method(self, name, who, **more):
        key = amp.did.multibase(amp.did.ED25519_PREFIX, amp.keys.public_key(support.KEYS[who].seed))
        return {"id": name, "type": "Multikey", "controller": self.DID, "publicKeyMultibase": key, **more}

    def chosen(self, fragment="", **document):
        try:
            name, key = amp.document.signature_key({"id": self.DID, **document}, self.DID + fragment, NOW)
        except amp.refusal.Refusal as refusal:
            return refusal.code
        for who in ("alice", "bob", "carol"):
            if amp.keys.public_key(support.KEYS[who].seed) == key:
                return who
        return name

    def test_relative_and_absolute_ids_are_compared_alike(self):
        methods = [self.method("#key-2", "alice"), self.method(f"{self.DID}#key-10", "bob")]
        references = [f"{self.DID}#key-2", "#key-10"]
        self.assertEqual(self.chosen(verificationMethod=methods, assertionMethod=references), "bob")

    def test_embedded_methods_count(self):
        self.assertEqual(self.chosen(assertionMethod=[self.method("#b", "alice"), self.method("#a", "carol")]), "carol")
        self.assertEqual(self.chosen("#b", authentication=[self.method("#b", "alice")]), "alice")

    def test_authentication_is_only_the_fallback(self):
        both = {"assertionMethod": [self.method("#z", "alice")], "authentication": [self.method("#a", "bob")]}
        self.assertEqual(self.chosen(**both), "alice")
        curve = {"id": "#y", "type": "JsonWebKey2020", "publicKeyJwk": {"kty": "EC", "crv": "P-256", "x": "A" * 43}}
        self.assertEqual(self.chosen(**{**both, "assertionMethod": [curve]}), "bob")
        self.assertEqual(self.chosen(assertionMethod=[curve]), 3001)

    def test_a_fragment_names_exactly_one(self):
        methods = [self.method("#a", "alice"), self.method("#b", "bob")]
        self.assertEqual(self.chosen("#b", verificationMethod=methods), "bob")
        self.assertEqual(self.chosen("#c", verificationMethod=methods), 3001)
        self.assertEqual(self.chosen("#b", verificationMethod=methods, keyAgreement=["#b"]), 3001)
        self.assertEqual(
            self.chosen("#b", verificationMethod=methods, keyAgreement=["#b"], authentication=["#b"]), "bob"
        )

    def test_revoked_methods(self):
        old = self.method("#a", "alice", revoked="2020-01-01T00:00:00Z")
        later = self.method("#b", "bob", revoked="2100-01-01T00:00:00Z")
        self.assertEqual(self.chosen(assertionMethod=[old, later]), "bob")
        self.assertEqual(self.chosen("#a", assertionMethod=[old, later]), 3001)
        self.assertEqual(self.chosen(assertionMethod=[self.method("#a", "alice", revoked="yes")]), 3001)

    def test_forms_of_a_key(self):
        key = amp.keys.public_key(support.KEYS["carol"].seed)
        raw, text = amp.did.base58_encode(key), base64.urlsafe_b64encode(key).decode().rstrip("=")
        for method in (
            {"type": "Ed25519VerificationKey2018", "publicKeyBase58": raw},
            {"type": "Ed25519VerificationKey2020", "publicKeyMultibase": amp.did.multibase(b"\xed\x01", key)},
            {"type": "JsonWebKey", "publicKeyJwk": {"kty": "OKP", "crv": "Ed25519", "x": text}},
        ):
            self.assertEqual(self.chosen(assertionMethod=[{"id": "#k", **method}]), "carol")
        for method in (
            {"type": "Ed25519VerificationKey2018", "publicKeyBase58": raw + raw},
            {"type": "Ed25519VerificationKey2020", "publicKeyMultibase": amp.did.multibase(b"\xec\x01", key)},
            {"type": "JsonWebKey", "publicKeyJwk": {"kty": "OKP", "crv": "X25519", "x": text}},
            {"type": "JsonWebKey", "publicKeyJwk": {"kty": "OKP", "crv": "Ed25519", "x": text + "="}},
            {"type": "Multikey", "publicKeyMultibase": 7},
            {"type": ["Multikey"]},
        ):
            self.assertEqual(self.chosen(assertionMethod=[{"id": "#k", **method}]), 3001)

    def test_documents_of_any_shape_are_survived(self):
        for document in (
            {"assertionMethod": "x"},
            {"assertionMethod": [None, 1, []]},
            {"verificationMethod": {}},
            {"id": 5},
        ):
            self.assertEqual(self.chosen(**{"id": self.DID, **document}), 3001)

    def test_known_answers_for_did_key(self):
        did = amp.did.key_did(amp.keys.public_key(bytes(32)))
        self.assertEqual(did, "did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp")
        agreement = amp.did.expand_key_did(did)["keyAgreement"][0]["publicKeyMultibase"]
        self.assertEqual(agreement, "z6LShs9GGnqk85isEBzzshkuVWrVKsRp24GnDuHk8QWkARMW")
        self.assertEqual(support.KEYS["alice"].did, "did:key:z6Mkjo1gXcLVm2CxbVPM6d15gij8H3anEdWUFr9iEVNZ3w6r")
        private = "f8132b8ca5d78687b56df38439fae35c53e3bfdbc8dfe66e4005b6d3511fad67"
        self.assertEqual(support.KEYS["alice"].x25519_private.hex(), private)

    def test_the_syntax_of_dids(self):
        for text in (
            "did:web:a.example",
            "did:key:z6Mk",
            "did:web:h%3A80:a:b#k",
            "did:x:a/p?q#f",
            "did:x::a",
            "did:x:-_.",
        ):
            self.assertTrue(amp.did.is_did(text), text)
        for text in (
            "",
            "did:",
            "did:web:",
            "did:WEB:a",
            "web:a",
            "did:web:a b",
            "did:x:a%3",
            "did:x:a#b#c",
            "did:x:a\n",
            5,
            None,
        ):
            self.assertFalse(amp.did.is_did(text), text)


if __name__ == "__main__":
    unittest.main()

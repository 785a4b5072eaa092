"""Tests of the library for behaviour that proofmark does not check, or checks with one value only."""

import math
import random
import struct
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from agentic import jsontext, validate  # noqa: E402
from agentic.canonical import canonicalize, content_hash, number, verify  # noqa: E402
from agentic.errors import FactConflict, InvalidSchema, NotCanonicalizable  # noqa: E402
from agentic.instants import days_before, instant  # noqa: E402
from agentic.store import Store  # noqa: E402

P = {
    "package_id": "pkg_1",
    "project_id": "proj_1",
    "relay_version": "0.1",
    "title": "t",
    "status": "draft",
    "package_type": "standard",
    "review_type": "none",
    "created_at": "2026-01-02T03:04:05Z",
    "created_by": {"id": "a", "type": "agent"},
}


class Text(unittest.TestCase):
    def test_refuses(self):
        for text in (
            b"", b" ", b"{", b"[1,]", b'{"a":1,}', b"{'a':1}", b"01", b"+1", b".5", b"1.", b"1e", b"-", b"NaN", b"Infinity", b"tru",
            b'"\t"', b'"\\x41"', b'"\\u12g4"', b'"\\u 123"', b"1 2", b'"a', b'"\xff"', b"\xef\xbb\xbf1", b'{"a":1,"\\u0061":2}',
            b'"\\ud800"', b'"\\udc00\\ud800"', b'"\\ud800\\u0041"', b'"\xed\xa0\x80"', b"1e400", b"9" * 400, b"\xa01", b"[1}",
            "\u0661".encode(), b"\x0b1",
        ):  # fmt: skip
            with self.assertRaises(NotCanonicalizable, msg=text):
                jsontext.read(text)

    def test_numbers_keep_their_value(self):
        value = jsontext.read(b"[12345678901234567890, 1.0, -0, 1e2, 5e-324, 1e-400]")
        self.assertEqual(jsontext.write(value), "[12345678901234567890,1.0,-0.0,100.0,5e-324,0.0]")

    def test_depth_has_no_limit(self):
        text = b'{"k":[' * 100_000 + b"1" + b"]}" * 100_000
        self.assertEqual(canonicalize(jsontext.read(text)), text)


class Numbers(unittest.TestCase):
    def test_where_the_forms_change(self):
        for value, text in (
            (1e21, "1e+21"), (999999999999999900000.0, "999999999999999900000"), (1e-6, "0.000001"), (1e-7, "1e-7"),
            (123456789012345680000.0, "123456789012345680000"), (-1.5e-9, "-1.5e-9"), (1e23, "1e+23"), (0.1, "0.1"),
            (5e-324, "5e-324"), (1.7976931348623157e308, "1.7976931348623157e+308"), (100, "100"), (-0.0, "0"), (2**53 + 1, "9007199254740992"),
        ):  # fmt: skip
            self.assertEqual(number(value), text)

    def test_any_double_comes_back(self):
        bits = random.Random(1)
        for _ in range(20_000):
            (value,) = struct.unpack("<d", bits.getrandbits(64).to_bytes(8, "little"))
            if math.isfinite(value):
                self.assertEqual(float(number(value)), value)


class Instants(unittest.TestCase):
    def test_calendar(self):
        for text in ("2024-02-29T00:00:00Z", "0000-02-29T00:00:00Z", "2000-02-29T23:59:59.123456789012Z"):
            self.assertIsNotNone(instant(text))
        for text in ("2023-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01",
                     "2026-01-01T00:00:00", "2026-01-01T00:00:00+01:00", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00Z\n"):  # fmt: skip
            self.assertIsNone(instant(text), text)

    def test_order_is_not_that_of_text(self):
        self.assertEqual(instant("2026-01-01T00:00:00Z"), instant("2026-01-01T00:00:00.000Z"))
        self.assertLess(instant("2026-01-01T00:00:00.25Z"), instant("2026-01-01T00:00:00.3Z"))
        self.assertEqual(days_before(instant("2024-03-01T00:00:00Z"), 366), instant("2023-03-01T00:00:00Z"))


class Validation(unittest.TestCase):
    def test_says_where(self):
        wrong = validate.package({**P, "title": "", "deliverables": [{"path": "../x", "type": 1}]})
        self.assertEqual([item["pointer"] for item in wrong], ["/title", "/deliverables/0/path", "/deliverables/0/type"])
        self.assertEqual(validate.package([])[0]["pointer"], "")

    def test_hash_forms(self):
        digits = content_hash(P)[len("sha256:") :]
        self.assertTrue(verify(P, digits.upper()) and verify(P, "SHA256:" + digits))
        self.assertFalse(verify(P, digits[:-1]) or verify(P, "") or verify(P, "é"))


class Facts(unittest.TestCase):
    def setUp(self):
        self.store = Store(now="2026-01-10T00:00:00Z")

    def tell(self, value, valid_from=None):
        inputs = {"project_id": "proj_1", "subject": "s", "predicate": "p", "value": value}
        return self.store.assert_fact({**inputs, **({"valid_from": valid_from} if valid_from else {})})

    def test_a_refused_assertion_changes_nothing(self):
        self.tell("one", "2026-01-05T00:00:00Z")
        with self.assertRaises(FactConflict):
            self.tell("two", "2026-01-04T00:00:00Z")
        with self.assertRaises(InvalidSchema):
            self.tell(2)
        self.assertEqual([row["value"] for row in self.store.query_facts("proj_1", include_ended=True)], ["one"])

    def test_a_fact_that_never_began_has_no_negative_interval(self):
        self.tell("one", "2026-02-01T00:00:00Z")
        self.assertEqual(self.store.invalidate_fact("proj_1", "s", "p"), 1)
        (row,) = self.store.query_facts("proj_1", include_ended=True)
        self.assertEqual(row["valid_to"], row["valid_from"])
        self.tell("two")

    def test_an_import_is_all_or_nothing(self):
        fact = self.tell("one", "2026-01-05T00:00:00Z")
        other = {**fact, "fact_id": "fact_2"}
        data = jsontext.wire({**P, "package_id": "pkg_2"}) + b"\n" + jsontext.wire(other) + b"\n"
        with self.assertRaises(FactConflict):
            self.store.import_(data)
        self.assertIsNone(self.store.pull_specific("pkg_2"))

    def test_an_export_goes_into_an_empty_store_and_comes_out_the_same(self):
        package = {**P, "created_by": {"id": "a", "type": "agent", "session_id": "s"}, "x-n": 1.0, "fact_id": "no fact"}
        self.store.deposit("proj_1", package)
        self.tell("one", "2026-01-05T00:00:00Z")
        self.tell("two")
        data = self.store.export("proj_1")
        copy = Store()
        self.assertEqual(copy.import_(data), {"packages": 1, "facts": 2, "sessions": 1})
        self.assertEqual(copy.import_(data), {"packages": 1, "facts": 2, "sessions": 1})
        self.assertEqual(copy.export("proj_1"), data)


if __name__ == "__main__":
    unittest.main()

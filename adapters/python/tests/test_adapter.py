"""The loop: input that a correct harness never sends."""

import json
import subprocess
import sys
import unittest
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(FOLDER))

import adapter  # noqa: E402


def ask(line, methods=None):
    reply = adapter.answer(methods or {"echo": lambda params: params}, line)
    return None if reply is None else json.loads(reply)


class Lines(unittest.TestCase):
    def code(self, line, identity=None, methods=None):
        reply = ask(line, methods)
        self.assertEqual(reply["id"], identity)
        return reply["error"]["code"]

    def test_a_call_is_answered_under_its_id(self):
        reply = ask(b'{"jsonrpc":"2.0","id":"a","method":"echo","params":{"x":[1]}}\n')
        self.assertEqual(reply, {"jsonrpc": "2.0", "id": "a", "result": {"x": [1]}})

    def test_what_is_no_json_has_no_id(self):
        for line in (b"{", b"\xff", b'{"id":NaN}', b"[" * 200_000, b'{"jsonrpc":"2.0","id":1'):
            self.assertEqual(self.code(line), adapter.PARSE_ERROR)

    def test_what_is_no_request(self):
        self.assertEqual(self.code(b"[]"), adapter.INVALID_REQUEST)
        self.assertEqual(self.code(b'{"id":1,"method":"echo"}'), adapter.INVALID_REQUEST)
        self.assertEqual(self.code(b'{"jsonrpc":"2.0","id":{},"method":"echo"}'), adapter.INVALID_REQUEST)
        self.assertEqual(self.code(b'{"jsonrpc":"2.0","id":1,"method":7}', 1), adapter.INVALID_REQUEST)

    def test_methods_and_params_that_are_not_there(self):
        self.assertEqual(self.code(b'{"jsonrpc":"2.0","id":2,"method":"other"}', 2), adapter.METHOD_NOT_FOUND)
        self.assertEqual(self.code(b'{"jsonrpc":"2.0","id":2,"method":"echo","params":[]}', 2), adapter.INVALID_PARAMS)

    def test_params_of_other_types(self):
        params = {"text": 1, "hex": "abc", "spaced": "ab cd", "count": 0, "true": True, "word": "x"}
        for read, name in (
            (adapter.text, "text"),
            (adapter.text, "absent"),
            (adapter.optional_text, "text"),
            (adapter.unhex, "hex"),
            (adapter.unhex, "spaced"),
            (adapter.optional_count, "count"),
            (adapter.optional_count, "true"),
            (adapter.flag, "word"),
        ):
            with self.assertRaises(adapter.Failure, msg=f"{read.__name__} {name}") as caught:
                read(params, name)
            self.assertEqual(caught.exception.code, adapter.INVALID_PARAMS)

    def test_a_notification_is_not_answered(self):
        self.assertIsNone(ask(b'{"jsonrpc":"2.0","method":"echo"}'))


class Process(unittest.TestCase):
    def run_script(self, script, lines):
        return subprocess.run([sys.executable, "-c", script], input=lines, capture_output=True, cwd=FOLDER, timeout=60)

    def test_prints_and_crashes_of_a_library_do_not_reach_the_answers(self):
        script = (
            "import adapter\n"
            "def bad(params): print('heard'); raise KeyError('x')\n"
            "adapter.serve({'bad': bad, 'good': lambda params: {}})\n"
        )
        call = '{{"jsonrpc":"2.0","id":{},"method":"{}"}}\n'
        done = self.run_script(script, (call.format(1, "bad") + "\n" + call.format(2, "good")).encode())
        self.assertEqual(done.returncode, 0)
        first, second = (json.loads(line) for line in done.stdout.splitlines())
        self.assertEqual((first["id"], first["error"]["code"]), (1, adapter.INTERNAL_ERROR))
        self.assertEqual((second["id"], second["result"]), (2, {}))
        self.assertIn(b"heard", done.stderr)
        self.assertIn(b"Traceback", done.stderr)

    def test_long_lines_and_an_end_without_a_line_feed(self):
        text = "é" * 4_000_000
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "echo", "params": {"text": text}}, ensure_ascii=False)
        done = self.run_script("import adapter; adapter.serve({'echo': lambda params: params})", line.encode("utf-8"))
        self.assertEqual(done.returncode, 0)
        self.assertEqual(json.loads(done.stdout)["result"]["text"], text)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""An adapter for {{protocol}}: JSON-RPC 2.0 on stdin and stdout, one object per line. Python 3.9 or newer.

    proofmark adapter check "python3 adapter.py"
    proofmark check --adapter "python3 adapter.py" --protocol {{protocol}}

Write a function for a method, and enable its line in METHODS. A function takes the params (a dict) and returns the result; to
answer with an error it raises Failure. `proofmark adapter methods --protocol {{protocol}}` prints every method with an example.
"""

import json
import sys
import traceback

NAME = "my library"
VERSION = "0.1.0"


class Failure(Exception):
    """An answer that is an error."""

    def __init__(self, code, message, data=None):
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


def unhex(params, name):
    """The bytes under `name`, written as hex."""
    try:
        return bytes.fromhex(params[name])
    except (KeyError, TypeError, ValueError):
        raise Failure(-32602, f"{name} must be pairs of hex digits") from None


# The methods that the library has. All others are answered with "unsupported".
METHODS = {
{{methods}}}


def describe(_params):
    return {"name": NAME, "version": VERSION, "protocols": ["{{protocol}}"], "operations": list(METHODS)}


def call(request):
    if not isinstance(request, dict) or request.get("jsonrpc") != "2.0" or not isinstance(request.get("method"), str):
        raise Failure(-32600, "not a JSON-RPC 2.0 request")
    method = {"describe": describe, **METHODS}.get(request["method"])
    if method is None:
        raise Failure(-32601, f"unsupported: {request['method']}")
    params = request.get("params", {})
    if not isinstance(params, dict):
        raise Failure(-32602, "params must be an object")
    try:
        return method(params)
    except Failure:
        raise
    except Exception as error:  # whatever the library raises, the next request has to be answered
        traceback.print_exc()
        raise Failure(-32603, f"{type(error).__name__}: {error}") from None


def answer(line):
    """The answer to one line, or None to a notification."""
    try:
        request = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "not JSON"}}
    identity = request.get("id") if isinstance(request, dict) else None
    try:
        reply = {"result": call(request)}
    except Failure as failure:
        reply = {"error": {"code": failure.code, "message": failure.message}}
        if failure.data is not None:
            reply["error"]["data"] = failure.data
    if isinstance(request, dict) and "id" not in request:
        return None
    return {"jsonrpc": "2.0", "id": identity, **reply}


def main():
    answers = sys.stdout.buffer
    sys.stdout = sys.stderr  # output of the library must not mix with the answers
    for line in sys.stdin.buffer:
        reply = answer(line)
        if reply is not None:
            answers.write(json.dumps(reply).encode("ascii") + b"\n")
            answers.flush()


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""JSON-RPC 2.0 on stdin and stdout, one object per line: the part of an adapter that is independent of the protocol.

    proofmark check --adapter "python3 adapters/python/adapter.py" --protocol amp-core

Run as a program it serves every protocol in `protocols`. Other programs import it and pass `serve` a table of
methods. A method takes the params (a dict) and returns the result; to answer with an error it raises `Failure`. Any
other exception is a bug of the library: the caller gets -32603, stderr the traceback.
"""

import binascii
import json
import sys
import traceback

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603


class Failure(Exception):
    """An answer that is an error."""

    def __init__(self, code, message, data=None):
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


# --- Parameters: -32602 if missing or of another type ---------------------------------------------------------------------


def text(params, name):
    """The string under `name`."""
    value = params.get(name)
    if not isinstance(value, str):
        raise Failure(INVALID_PARAMS, f"{name} must be a string")
    return value


def optional_text(params, name):
    """The string under `name`, or None. Null is the same as absent, here and below."""
    return None if params.get(name) is None else text(params, name)


def optional_count(params, name, least=1):
    """The whole number under `name`, or None."""
    value = params.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise Failure(INVALID_PARAMS, f"{name} must be a whole number of at least {least}")
    return value


def flag(params, name):
    """The truth value under `name`, false if absent."""
    value = params.get(name)
    if value is None:
        return False
    if not isinstance(value, bool):
        raise Failure(INVALID_PARAMS, f"{name} must be true or false")
    return value


def unhex(params, name):
    """The bytes under `name`, written as hex digits."""
    try:
        return binascii.unhexlify(text(params, name))
    except ValueError:
        raise Failure(INVALID_PARAMS, f"{name} must be pairs of hex digits") from None


# --- The loop ---------------------------------------------------------------------------------------------------------


def serve(methods):
    """Answer line by line until the input ends."""
    answers = sys.stdout.buffer
    # Output of the library would break the protocol, so it goes to stderr.
    sys.stdout = sys.stderr
    for line in sys.stdin.buffer:
        if not line.strip():
            continue
        reply = answer(methods, line)
        if reply is None:
            continue
        try:
            answers.write(reply)
            answers.flush()  # the other end waits for this line
        except BrokenPipeError:
            return


def answer(methods, line):
    """The bytes that answer one line, or None for a notification."""
    identity, expected = None, True
    try:
        request = _parse(line)
        if not isinstance(request, dict) or request.get("jsonrpc") != "2.0":
            raise Failure(INVALID_REQUEST, "not a JSON-RPC 2.0 request")
        expected = "id" in request
        if isinstance(request.get("id"), (dict, list, bool)):
            raise Failure(INVALID_REQUEST, "the id must be a string or a number")
        identity = request.get("id")
        reply = {"result": _call(methods, request)}
    except Failure as failure:
        error = {"code": failure.code, "message": failure.message}
        if failure.data is not None:
            error["data"] = failure.data
        reply = {"error": error}
    if not expected:
        return None
    # json.dumps writes ASCII only, so no character of an answer can end its line.
    return json.dumps({"jsonrpc": "2.0", "id": identity, **reply}).encode("ascii") + b"\n"


def _parse(line):
    try:
        # Decoded by hand: json.loads would guess at UTF-16 and UTF-32.
        return json.loads(line.decode("utf-8"), parse_constant=_refuse_constant)
    except RecursionError:
        raise Failure(PARSE_ERROR, "nested too deeply") from None
    except ValueError as error:
        raise Failure(PARSE_ERROR, f"not JSON: {error}") from None


def _refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


def _call(methods, request):
    name = request.get("method")
    if not isinstance(name, str):
        raise Failure(INVALID_REQUEST, "the method must be a string")
    params = request.get("params", {})
    if not isinstance(params, dict):
        raise Failure(INVALID_PARAMS, "params must be an object")
    method = methods.get(name)
    if method is None:
        raise Failure(METHOD_NOT_FOUND, f"unsupported: {name}")
    try:
        return method(params)
    except Failure:
        raise
    except Exception as error:  # whatever a library raises, the next request has to be answered
        traceback.print_exc()
        raise Failure(INTERNAL_ERROR, f"{type(error).__name__}: {error}") from None


if __name__ == "__main__":
    # Imported by name, so that all share one module `adapter` and one class `Failure`.
    import adapter
    import protocols

    adapter.serve(protocols.table())

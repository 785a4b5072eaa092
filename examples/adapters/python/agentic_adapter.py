#!/usr/bin/env python3
"""Adapter: lets proofmark ask a library of The Agentic Protocol questions.

It speaks JSON-RPC 2.0, one object a line, on stdin and stdout. To put your own library under test, keep this loop and
change the bodies of the methods. Whatever you print for yourself goes to stderr: stdout belongs to the protocol.

    proofmark check --protocol agentic --adapter "python3 agentic_adapter.py"
"""

import json
import sys
import traceback

import agentic_library as library

NAME, VERSION, LEVEL = "agentic-python-example", "0.1.0", "L1"

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
INVALID_SCHEMA, NOT_CANONICALIZABLE = -32001, -32009


class Refused(Exception):
    """An answer that is an error: a JSON-RPC code, a text, and the name of the error if the protocol has one."""

    def __init__(self, code, message, name=None):
        super().__init__(message)
        self.code = code
        self.message = message
        self.name = name


# --- Parameters -------------------------------------------------------------------------------------------------------


def text(params, name):
    value = params.get(name)
    if not isinstance(value, str):
        raise Refused(INVALID_PARAMS, f"{name} must be a string")
    return value


def raw(params):
    """The bytes under json_hex, exactly as the harness wrote them."""
    try:
        return bytes.fromhex(text(params, "json_hex"))
    except ValueError:
        raise Refused(INVALID_PARAMS, "json_hex must be hex digits") from None


# --- Methods ----------------------------------------------------------------------------------------------------------
# A bad package is an answer (`valid: false`), bad JSON is the error -32009, bad params are -32602.


def describe(params):
    return {
        "name": NAME,
        "version": VERSION,
        "protocols": ["agentic"],
        "level": LEVEL,
        "operations": sorted(METHODS),
    }


def hello(params):
    return {"name": NAME, "version": VERSION, "level": LEVEL, "methods": sorted(METHODS)}


def canonicalize(params):
    return {"canonical_hex": library.canonicalize(library.parse(raw(params))).hex()}


def content_hash(params):
    return {"hash": library.content_hash(library.parse(raw(params)))}


def verify(params):
    return {"match": library.verify(library.parse(raw(params)), text(params, "hash"))}


def validate_package(params):
    errors = library.validate_package(library.parse(raw(params)))
    return {"valid": not errors, "errors": errors}


def validate_fact(params):
    errors = library.validate_fact(library.parse(raw(params)))
    return {"valid": not errors, "errors": errors}


def roundtrip_package(params):
    return {"json_hex": library.Package.from_json(raw(params)).to_json().hex()}


def roundtrip_fact(params):
    return {"json_hex": library.Fact.from_json(raw(params)).to_json().hex()}


def transition_allowed(params):
    return {"allowed": library.transition_allowed(text(params, "from"), text(params, "to"))}


METHODS = {
    "describe": describe,
    "agentic/hello": hello,
    "agentic/canonicalize": canonicalize,
    "agentic/content_hash": content_hash,
    "agentic/verify": verify,
    "agentic/validate_package": validate_package,
    "agentic/validate_fact": validate_fact,
    "agentic/roundtrip_package": roundtrip_package,
    "agentic/roundtrip_fact": roundtrip_fact,
    "agentic/transition_allowed": transition_allowed,
}


# --- The loop ---------------------------------------------------------------------------------------------------------


def answer(line: bytes):
    """The reply to one line, or None for a notification."""
    identity = None
    try:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError) as e:
            raise Refused(PARSE_ERROR, f"not JSON: {e}") from None
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            raise Refused(INVALID_REQUEST, "not a request")
        if "id" not in message:
            return None
        identity = message["id"]
        params = message.get("params", {})
        if not isinstance(params, dict):
            raise Refused(INVALID_PARAMS, "params must be an object")
        method = METHODS.get(message["method"])
        if method is None:
            # Leave out what your library cannot do: the checks that need it are then reported as not claimed.
            raise Refused(METHOD_NOT_FOUND, f"unsupported: {message['method']}")
        try:
            result = method(params)
        except library.NotCanonicalizable as e:
            raise Refused(NOT_CANONICALIZABLE, str(e), "not_canonicalizable") from None
        except library.InvalidSchema as e:
            raise Refused(INVALID_SCHEMA, str(e), "invalid_schema") from None
        except Refused:
            raise
        except Exception as e:  # a bug in the library must not take the adapter down with it
            traceback.print_exc()
            raise Refused(INTERNAL, f"{type(e).__name__}: {e}") from None
        return {"jsonrpc": "2.0", "id": identity, "result": result}
    except Refused as e:
        error = {"code": e.code, "message": e.message}
        if e.name:
            error["data"] = {"code": e.name}
        return {"jsonrpc": "2.0", "id": identity, "error": error}


def main():
    for line in sys.stdin.buffer:
        if not line.strip():
            continue
        reply = answer(line)
        if reply is not None:
            # ensure_ascii keeps every reply on one line of plain ASCII.
            sys.stdout.write(json.dumps(reply) + "\n")
            sys.stdout.flush()  # the harness waits for this line


if __name__ == "__main__":
    main()

"""Vectors of meshai: signatures (HMAC-SHA256) and tokens (JWT, HS256), computed with the standard library of Python.

The canonical forms are written here from RFC 8785 and the binding; nothing is shared with harness or reference.
"""

import base64
import hashlib
import hmac
import json
from datetime import datetime

COMMON = ["id", "about", "covers", "flags", "result", "strict", "errata"]
MEMBERS = {
    "message-signing": ["envelope", "key", "recipe", "size", "base64", "hex"],
    "message-signature": ["envelope", "key", "twin"],
    "token": ["token", "key", "now", "twin"],
}


def jcs(value):
    """RFC 8785 for the values that the vectors use: members sorted by UTF-16 code units, integers, plain strings."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(jcs(name) + ":" + jcs(value[name]) for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(jcs(item) for item in value) + "]"
    if isinstance(value, float):
        raise ValueError("a vector has no fractions")
    return json.dumps(value, ensure_ascii=False)


RECIPES = {
    "jcs": jcs,
    "python-compact": lambda value: json.dumps(value, sort_keys=True, separators=(",", ":")),
    "python-default": lambda value: json.dumps(value, sort_keys=True),
}


def signed_bytes(envelope, recipe):
    message = json.loads(json.dumps(envelope["message"]))
    if isinstance(message.get("headers"), dict):
        message["headers"].pop("signature", None)
    return RECIPES[recipe](message).encode("utf-8")


def digest(key, data):
    return hmac.new(key.encode("utf-8"), data, hashlib.sha256).digest()


def signature_is_valid(envelope, key):
    signature = envelope["message"].get("headers", {}).get("signature")
    if not isinstance(signature, dict) or signature.get("algorithm") != "HMAC-SHA256":
        return False
    value = signature.get("value")
    expected = digest(key, signed_bytes(envelope, "jcs"))
    return value in (base64.b64encode(expected).decode(), expected.hex())


def part(text):
    if "=" in text or not text.replace("-", "").replace("_", "").isalnum():
        raise ValueError(f"not base64url: {text!r}")
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def token_is_valid(token, key, now):
    try:
        header, body, signature = token.split(".")
        head, claims = json.loads(part(header)), json.loads(part(body))
        if not isinstance(head, dict) or head.get("alg") != "HS256" or not isinstance(claims, dict):
            return False
        if not hmac.compare_digest(part(signature), digest(key, f"{header}.{body}".encode())):
            return False
    except ValueError:
        return False
    instant = datetime.fromisoformat(now.replace("Z", "+00:00")).timestamp()
    return instant < claims.get("exp", float("inf")) and claims.get("nbf", 0) <= instant


def check(kind, test):
    if kind == "message-signing":
        data = signed_bytes(json.loads(test["envelope"]), test["recipe"])
        made = digest(test["key"], data)
        computed = {"size": len(data), "base64": base64.b64encode(made).decode(), "hex": made.hex()}
        return [(name, value, test[name]) for name, value in computed.items() if test[name] != value]
    if kind == "message-signature":
        judge = lambda text: signature_is_valid(json.loads(text), test["key"])
        subject = test["envelope"]
    else:
        judge = lambda text: token_is_valid(text, test["key"], test["now"])
        subject = test["token"]
    found = []
    if test["result"] != "acceptable" and judge(subject) != (test["result"] == "valid"):
        found.append(("result", test["result"], "the other"))
    if "strict" in test and judge(subject) != (test["strict"] == "valid"):
        found.append(("strict", test["strict"], "the other"))
    if "twin" in test and not judge(test["twin"]):
        found.append(("twin", "valid", "invalid"))
    return found


def confirm(root, ledger, check_labels):
    catalogue = (root / "suites/meshai/requirements.yaml").read_text(encoding="utf-8")
    register = (root / "suites/meshai/errata.md").read_text(encoding="utf-8")
    kinds, seen = set(), set()
    for path in sorted((root / "vectors/meshai").glob("*.json")):
        file = json.loads(path.read_text(encoding="utf-8"))
        kind, where = file["kind"], f"vectors/meshai/{path.name}"
        kinds.add(kind)
        tests = [{**group.get("with", {}), **test} for group in file["groups"] for test in group["tests"]]
        ledger.judge(where, [("count", file["count"], len(tests))] if file["count"] != len(tests) else [])
        for test in tests:
            findings = check_labels(test, file["notes"], catalogue, register)
            unknown = [name for name in test if name not in COMMON + MEMBERS[kind]]
            findings += [("members", "known ones", unknown)] if unknown else []
            findings += check(kind, test)
            findings += [("id", "each once", test["id"])] if test["id"] in seen else []
            seen.add(test["id"])
            ledger.judge(f"{where}: {test['id']}", findings)
    ledger.judge("vectors/meshai", [("kinds", sorted(MEMBERS), sorted(kinds))] if kinds != set(MEMBERS) else [])

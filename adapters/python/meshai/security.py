"""Signatures and tokens (section 7; E69 to E72)."""

from __future__ import annotations

import base64
import binascii
import copy
import hashlib
import hmac
import json
from datetime import datetime, timezone

from . import text
from .model import is_number

ALGORITHM = "HMAC-SHA256"
AUDIENCE = "amp-mesh"


def signed_bytes(message: dict) -> bytes:
    """The message without its signature; headers that become empty stay (E71)."""
    headers = message.get("headers")
    if isinstance(headers, dict) and "signature" in headers:
        message = {**message, "headers": {name: value for name, value in headers.items() if name != "signature"}}
    return text.canonical(message)


def _digest(message: dict, key: bytes) -> bytes:
    return hmac.new(key, signed_bytes(message), hashlib.sha256).digest()


def sign(envelope: dict, key: bytes) -> dict:
    signed = copy.deepcopy(envelope)
    headers = signed["message"].setdefault("headers", {})
    headers.pop("signature", None)
    value = base64.b64encode(_digest(signed["message"], key)).decode("ascii")
    headers["signature"] = {"algorithm": ALGORITHM, "value": value}
    return signed


def verify(message: dict, key: bytes) -> str | None:
    """Why the signature does not verify, or None. The value is base64, or hexadecimal in lower case (E71)."""
    headers = message.get("headers")
    signature = headers.get("signature") if isinstance(headers, dict) else None
    if not isinstance(signature, dict):
        return "the message has no signature"
    if signature.get("algorithm") != ALGORITHM:
        return "unknown algorithm"
    value = signature.get("value")
    if not isinstance(value, str):
        return "the value is not a text"
    digest = _digest(message, key)
    spellings = (base64.b64encode(digest), binascii.hexlify(digest))
    given = value.encode("utf-8")
    # Both are compared, so that the time says nothing about the digest.
    matches = [hmac.compare_digest(given, spelling) for spelling in spellings]
    return None if any(matches) else "the value is another one"


def same_key(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8"), other.encode("utf-8"))


# --- Tokens: JWT with HS256 (E70) -----------------------------------------------------------------------------------------


def _part(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def _bytes(part: str) -> bytes:
    found = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    if _part(found) != part:  # padding, other characters, or bits beyond the last byte
        raise ValueError("not base64url")
    return found


def make_token(claims: dict, key: bytes) -> str:
    header = {"alg": "HS256", "typ": "JWT"}
    signed = ".".join(_part(json.dumps(part, separators=(",", ":"), ensure_ascii=False).encode("utf-8")) for part in (header, claims))
    return f"{signed}.{_part(hmac.new(key, signed.encode('ascii'), hashlib.sha256).digest())}"


def check_token(token: str, key: bytes, now: datetime) -> tuple[dict | None, str | None]:
    """The claims, or why the token is not valid."""
    try:
        signed, _, signature = token.rpartition(".")
        first, _, second = signed.partition(".")
        header, claims, given = text.read(_bytes(first)), text.read(_bytes(second)), _bytes(signature)
    except ValueError:
        return None, "not a token"
    if not isinstance(header, dict) or not isinstance(claims, dict):
        return None, "not a token"
    if header.get("alg") != "HS256" or "crit" in header:
        return None, "not a token by HS256"
    if not hmac.compare_digest(given, hmac.new(key, signed.encode("ascii"), hashlib.sha256).digest()):
        return None, "the signature is another one"
    seconds = now.astimezone(timezone.utc).timestamp()
    if not is_number(claims.get("exp")) or claims["exp"] <= seconds:
        return None, "expired, or without an end"
    if "nbf" in claims and not (is_number(claims["nbf"]) and claims["nbf"] <= seconds):
        return None, "not valid yet"
    audience = claims.get("aud", AUDIENCE)
    if AUDIENCE not in (audience if isinstance(audience, list) else [audience]):
        return None, "for another audience"
    return claims, None

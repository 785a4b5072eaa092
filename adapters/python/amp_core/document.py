"""DID documents: which key signs and which one encrypts (section 8.9, E22, E23)."""

from __future__ import annotations

import base64
import binascii
import datetime
import time
from typing import Any, Iterator

from . import did as dids
from .refusal import Refusal

ED25519, X25519 = "Ed25519", "X25519"

_RELATIONSHIPS = ("assertionMethod", "authentication", "keyAgreement", "capabilityInvocation", "capabilityDelegation")
_PREFIXES = {ED25519: dids.ED25519_PREFIX, X25519: dids.X25519_PREFIX}
_TYPES = {
    "Ed25519VerificationKey2018": (ED25519, "publicKeyBase58"),
    "Ed25519VerificationKey2020": (ED25519, "publicKeyMultibase"),
    "X25519KeyAgreementKey2019": (X25519, "publicKeyBase58"),
    "X25519KeyAgreementKey2020": (X25519, "publicKeyMultibase"),
    "Multikey": (None, "publicKeyMultibase"),
    "JsonWebKey": (None, "publicKeyJwk"),
    "JsonWebKey2020": (None, "publicKeyJwk"),
}


def key_of(method: Any, curve: str) -> bytes | None:
    """The public key of a verification method, if it is of this curve and in a form of E22."""
    if not isinstance(method, dict) or not isinstance(method.get("type"), str) or method["type"] not in _TYPES:
        return None
    fixed, form = _TYPES[method["type"]]
    if fixed not in (None, curve):
        return None
    value = method.get(form)
    if form == "publicKeyJwk":
        key = _jwk(value, curve)
    elif not isinstance(value, str):
        return None
    elif form == "publicKeyBase58":
        key = dids.base58_decode(value)
    else:
        data = dids.base58_decode(value[1:]) if value.startswith("z") else None
        key = data[2:] if data is not None and data[:2] == _PREFIXES[curve] else None
    return key if key is not None and len(key) == 32 else None


def _jwk(value: Any, curve: str) -> bytes | None:
    if not isinstance(value, dict) or value.get("kty") != "OKP" or value.get("crv") != curve:
        return None
    text = value.get("x")
    if not isinstance(text, str) or len(text) != 43:
        return None
    try:
        return base64.b64decode(text + "=", altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None


def instant(text: Any) -> datetime.datetime | None:
    """The time in an RFC 3339 text, or None."""
    if not isinstance(text, str) or len(text) > 40 or text[10:11] not in ("T", "t"):
        return None
    text = text.upper()
    form = "%Y-%m-%dT%H:%M:%S" + (".%f" if "." in text else "") + "%z"
    try:
        return datetime.datetime.strptime(text, form)
    except ValueError:
        return None


def _active(method: dict, now: int) -> bool:
    """Whether the method is not revoked (E23). An unreadable mark counts as revoked."""
    if "revoked" not in method:
        return True
    revoked = instant(method["revoked"])
    return revoked is not None and revoked.timestamp() * 1000 > now


def _listed(document: dict, name: str) -> list:
    value = document.get(name)
    return value if isinstance(value, list) else []


def _absolute(document: dict, name: Any) -> str | None:
    """The id of a method. Relative ones are made absolute."""
    if not isinstance(name, str):
        return None
    return f"{document.get('id', '')}{name}" if name.startswith("#") else name


def _entries(document: dict, relationship: str) -> Iterator[tuple[str, dict]]:
    """The methods of a relationship, referenced ones and embedded ones, with their ids."""
    methods = {_absolute(document, method.get("id")): method for method in _methods(document)}
    for entry in _listed(document, relationship):
        method = methods.get(entry_id := _absolute(document, entry)) if isinstance(entry, str) else entry
        if isinstance(method, dict):
            name = entry_id if isinstance(entry, str) else _absolute(document, method.get("id"))
            if name is not None:
                yield name, method


def _methods(document: dict) -> list[dict]:
    return [method for method in _listed(document, "verificationMethod") if isinstance(method, dict)]


def _smallest(document: dict, relationship: str, curve: str, now: int) -> tuple[str, bytes] | None:
    """The eligible method of a relationship with the smallest id, byte by byte."""
    eligible: dict[str, bytes] = {}
    for name, method in _entries(document, relationship):
        key = key_of(method, curve)
        if key is not None and _active(method, now):
            eligible.setdefault(name, key)
    # Code points and their UTF-8 bytes have the same order.
    return min(eligible.items(), default=None)


def _exact(document: dict, name: str, now: int) -> tuple[str, bytes] | None:
    """The Ed25519 method with this id. One that is only for key agreement cannot sign (E23)."""
    found, signs, agrees = None, False, False
    for method in _methods(document):
        if _absolute(document, method.get("id")) == name:
            found = found or method
    for relationship in _RELATIONSHIPS:
        for entry, method in _entries(document, relationship):
            if entry == name:
                found = found or method
                signs, agrees = signs or relationship != "keyAgreement", agrees or relationship == "keyAgreement"
    if found is None or (agrees and not signs) or not _active(found, now):
        return None
    key = key_of(found, ED25519)
    return None if key is None else (name, key)


def signature_key(document: dict, did: str, now: int) -> tuple[str, bytes]:
    """The method id and the Ed25519 key that messages from `did` are verified with. 3001 if none exists."""
    fragment = dids.fragment(did)
    if fragment is not None:
        choice = _exact(document, f"{document.get('id', '')}#{fragment}", now)
    else:
        choice = _smallest(document, "assertionMethod", ED25519, now) or _smallest(
            document, "authentication", ED25519, now
        )
    if choice is None:
        raise Refusal(3001, "no eligible signing key", "key")
    return choice


def agreement_key(document: dict, now: int) -> tuple[str, bytes]:
    """The method id and the X25519 key of a party. 3001 if none exists."""
    choice = _smallest(document, "keyAgreement", X25519, now)
    if choice is None:
        raise Refusal(3001, "no eligible key agreement key", "key")
    return choice


def services(document: dict, kind: str) -> Iterator[str]:
    """The endpoints of the services of this type."""
    for service in _listed(document, "service"):
        if isinstance(service, dict):
            types = service.get("type")
            endpoint = service.get("serviceEndpoint")
            if kind in (types if isinstance(types, list) else [types]):
                yield from (
                    url for url in (endpoint if isinstance(endpoint, list) else [endpoint]) if isinstance(url, str)
                )


def wall_clock() -> int:
    """Now, in milliseconds since 1970."""
    return time.time_ns() // 1_000_000

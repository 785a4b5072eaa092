"""DIDs: syntax and comparison (E21), base58btc, did:key, and the resolver for given documents and did:key.

Known answers for did:key are in binding.md section 6.
"""

from __future__ import annotations

import re
from typing import Any

from . import keys

_DID = re.compile(
    r"did:[a-z0-9]+:(?:(?:[A-Za-z0-9._-]|%[0-9A-Fa-f]{2})*:)*(?:[A-Za-z0-9._-]|%[0-9A-Fa-f]{2})+"
    r"(?:/[^?#\s]*)?(?:\?[^#\s]*)?(?:#[^#\s]*)?"
)
_ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_DIGITS = {character: value for value, character in enumerate(_ALPHABET)}

MAX_DID = 2048
ED25519_PREFIX = b"\xed\x01"
X25519_PREFIX = b"\xec\x01"


def is_did(text: Any) -> bool:
    """Whether this is a DID or a DID URL."""
    return isinstance(text, str) and len(text) <= MAX_DID and _DID.fullmatch(text) is not None


def bare(did: str) -> str:
    """The DID without its key fragment: what is compared (E21)."""
    return did.partition("#")[0]


def fragment(did: str) -> str | None:
    """The key fragment, if there is one."""
    _, mark, name = did.partition("#")
    return name if mark else None


def base58_decode(text: str) -> bytes | None:
    """The bytes that `text` encodes, or None. Keys are short, so long input is refused."""
    if len(text) > 128:
        return None
    number = 0
    for character in text:
        if character not in _DIGITS:
            return None
        number = number * 58 + _DIGITS[character]
    zeros = len(text) - len(text.lstrip("1"))
    return bytes(zeros) + number.to_bytes((number.bit_length() + 7) // 8, "big")


def base58_encode(data: bytes) -> str:
    """The base58btc text of `data`."""
    number = int.from_bytes(data, "big")
    text = ""
    while number:
        number, digit = divmod(number, 58)
        text = _ALPHABET[digit] + text
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + text


def multibase(prefix: bytes, key: bytes) -> str:
    """A key with its multicodec prefix as base58btc multibase text."""
    return "z" + base58_encode(prefix + key)


def key_did(public_key: bytes) -> str:
    """The did:key of an Ed25519 public key."""
    return "did:key:" + multibase(ED25519_PREFIX, public_key)


def expand_key_did(did: str) -> dict | None:
    """The document of a did:key, or None if it holds no Ed25519 key."""
    name = did[len("did:key:") :]
    data = base58_decode(name[1:]) if name.startswith("z") else None
    if data is None or data[:2] != ED25519_PREFIX or len(data) != 34:
        return None
    signing = f"{did}#{name}"
    document = {
        "@context": ["https://www.w3.org/ns/did/v1"],
        "id": did,
        "verificationMethod": [
            {"id": signing, "type": "Ed25519VerificationKey2020", "controller": did, "publicKeyMultibase": name}
        ],
        "authentication": [signing],
        "assertionMethod": [signing],
    }
    agreement = keys.x25519_of_ed25519(data[2:])
    if agreement is not None:  # points of small order have no X25519 key
        text = multibase(X25519_PREFIX, agreement)
        method = {"id": f"{did}#{text}", "type": "X25519KeyAgreementKey2020", "controller": did}
        document["keyAgreement"] = [{**method, "publicKeyMultibase": text}]
    return document


class Resolver:
    """Documents by DID. A did:key is always expanded, even if listed: its key is its name."""

    def __init__(self, documents: list):
        self._documents: dict[str, dict] = {}
        for document in documents:
            if isinstance(document, dict) and isinstance(document.get("id"), str):
                self._documents.setdefault(document["id"], document)

    def resolve(self, did: str) -> dict | None:
        """The document of a DID or DID URL, or None."""
        subject = re.split(r"[/?#]", did, maxsplit=1)[0]
        if subject.startswith("did:key:"):
            return expand_key_did(subject)
        return self._documents.get(subject)

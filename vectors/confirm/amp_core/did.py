"""DIDs, DID documents and the choice of a key (RFC 001 section 8.9, rulings E21 to E24)."""

import base64
import re

from . import boxes, ed25519

ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
CODEC = {"ed25519": bytes.fromhex("ed01"), "x25519": bytes.fromhex("ec01")}
CURVE = {"ed25519": "Ed25519", "x25519": "X25519"}
TYPES = {
    "ed25519": {"Ed25519VerificationKey2018", "Ed25519VerificationKey2020"},
    "x25519": {"X25519KeyAgreementKey2019", "X25519KeyAgreementKey2020"},
}
GENERAL_TYPES = {"Multikey", "JsonWebKey", "JsonWebKey2020"}
SYNTAX = re.compile(r"did:[a-z0-9]+:(?:[A-Za-z0-9._:-]|%[0-9A-Fa-f]{2})+(?:/[^?#\s]*)?(?:\?[^#\s]*)?(?:#[^\s]+)?")


def is_did(text):
    return SYNTAX.fullmatch(text) is not None and not text.partition("#")[0].endswith(":")


def bare(did):
    """Without the fragment."""
    return did.partition("#")[0]


def base58(data):
    number = int.from_bytes(data, "big")
    out = ""
    while number:
        number, digit = divmod(number, 58)
        out = ALPHABET[digit] + out
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + out


def base58_bytes(text):
    number = 0
    for character in text:
        number = number * 58 + ALPHABET.index(character)
    body = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return b"\0" * (len(text) - len(text.lstrip("1"))) + body


def multikey(kind, key):
    return "z" + base58(CODEC[kind] + key)


def key_of(method, kind):
    """The 32 bytes of a verification method of that kind, or None."""
    name = method.get("type")
    if name not in TYPES[kind] | GENERAL_TYPES:
        return None
    if "publicKeyMultibase" in method:
        text = method["publicKeyMultibase"]
        data = base58_bytes(text[1:]) if text.startswith("z") else b""
        return data[2:] if data[:2] == CODEC[kind] and len(data) == 34 else None
    if "publicKeyBase58" in method and name in TYPES[kind]:
        data = base58_bytes(method["publicKeyBase58"])
        return data if len(data) == 32 else None
    jwk = method.get("publicKeyJwk", {})
    if jwk.get("kty") == "OKP" and jwk.get("crv") == CURVE[kind]:
        data = base64.urlsafe_b64decode(jwk["x"] + "=" * (-len(jwk["x"]) % 4))
        return data if len(data) == 32 else None
    return None


def absolute(document, method_id):
    return document["id"] + method_id if method_id.startswith("#") else method_id


def methods(document, relationship):
    """Absolute id and method of each entry of a relationship, referenced or embedded."""
    listed = {absolute(document, method["id"]): method for method in document.get("verificationMethod", [])}
    for entry in document.get(relationship, []):
        if isinstance(entry, dict):
            yield absolute(document, entry["id"]), entry
        elif absolute(document, entry) in listed:
            yield absolute(document, entry), listed[absolute(document, entry)]


def eligible(document, relationship, kind):
    found = {}
    for method_id, method in methods(document, relationship):
        key = key_of(method, kind)
        if key is not None and active(method):
            found[method_id] = key
    return found


def active(method):
    """Whether a method is not revoked, or only in the distant future (E23)."""
    return method.get("revoked", "9999") > "2900"


def select(document, did, purpose):
    """Method id and key for a purpose (signature or agreement), or None."""
    if purpose == "agreement":
        found = eligible(document, "keyAgreement", "x25519")
        return min(found.items()) if found else None
    if "#" in did:
        named = {absolute(document, method["id"]): method for method in document.get("verificationMethod", [])}
        named.update(methods(document, "assertionMethod"))
        named.update(methods(document, "authentication"))
        method = named.get(did)
        key = key_of(method, "ed25519") if method and active(method) else None
        return None if key is None else (did, key)
    found = eligible(document, "assertionMethod", "ed25519") or eligible(document, "authentication", "ed25519")
    return min(found.items()) if found else None


def expand(did):
    """The document of a did:key."""
    multibase = bare(did).removeprefix("did:key:")
    signing = base58_bytes(multibase[1:])[2:]
    agreement = multikey("x25519", boxes.bindings.crypto_sign_ed25519_pk_to_curve25519(signing))
    return key_document(bare(did), multibase, agreement)


def key_document(did, multibase, agreement):
    return {
        "@context": ["https://www.w3.org/ns/did/v1"],
        "id": did,
        "verificationMethod": [
            {
                "id": f"{did}#{multibase}",
                "type": "Ed25519VerificationKey2020",
                "controller": did,
                "publicKeyMultibase": multibase,
            }
        ],
        "authentication": [f"{did}#{multibase}"],
        "assertionMethod": [f"{did}#{multibase}"],
        "keyAgreement": [
            {
                "id": f"{did}#{agreement}",
                "type": "X25519KeyAgreementKey2020",
                "controller": did,
                "publicKeyMultibase": agreement,
            }
        ],
    }


def of_seed(seed):
    """The did:key of an Ed25519 seed."""
    return "did:key:" + multikey("ed25519", ed25519.public_key(seed))


def resolve(did, documents):
    """The document of a DID: a given one, or the expansion of a did:key; otherwise None."""
    for document in documents:
        if document.get("id") == bare(did):
            return document
    if bare(did).startswith("did:key:z6Mk"):
        try:
            return expand(did)
        except ValueError:
            return None
    return None

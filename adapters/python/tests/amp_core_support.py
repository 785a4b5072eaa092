"""Shared by the tests of amp-core: the library, if PyNaCl is installed, data, and the identities of binding.md section 6."""

import hashlib
import json
import sys
import types
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

amp = types.SimpleNamespace()
try:
    import nacl.bindings  # noqa: F401
except (ImportError, OSError) as error:
    MISSING = f"PyNaCl is not installed ({error}): amp-core is NOT TESTED"
    print(MISSING, file=sys.stderr)
else:
    MISSING = ""
    import importlib

    for name in (
        "ack batch bodies cbor codes did document envelope frame keys negotiation node receive refusal retry seal "
        "sig_input stream version wrapper"
    ).split():
        setattr(amp, name, importlib.import_module(f"amp_core.{name}"))

needs_nacl = unittest.skipIf(MISSING, MISSING)

DATA = json.loads((HERE / "data" / "amp-core-vectors.json").read_text())
VECTORS = {vector["id"]: vector for vector in DATA["vectors"]}
PUBLISHED = json.loads((HERE / "data" / "amp-core-published.json").read_text())
NOW = 1_760_000_000_000

KEYS, DOCUMENTS = {}, {}
SPEC_ALICE = SPEC_BOB = None


def published(name):
    return next(vector for vector in PUBLISHED["messages"] if vector["id"] == name)


def flip(data, bit):
    """`data` with one bit flipped."""
    changed = bytearray(data)
    changed[bit // 8] ^= 128 >> bit % 8
    return bytes(changed)


def _identities():
    for name in ("alice", "bob", "carol", "mallory", "relay", "target"):
        seed = hashlib.sha256(f"proofmark/amp-core/identity/{name}".encode()).digest()
        did = amp.did.key_did(amp.keys.public_key(seed))
        KEYS[name] = amp.keys.Keys.of(did, seed)
        DOCUMENTS[name] = amp.did.expand_key_did(did)


def _example(name, private, public):
    """A party of appendix A: both have the same signing key (E06)."""
    common = PUBLISHED["keys"]
    did = common[name]
    KEYS[f"spec-{name}"] = amp.keys.Keys.of(did, bytes.fromhex(common["ed25519_seed"]), bytes.fromhex(common[private]))
    signing = amp.did.multibase(amp.did.ED25519_PREFIX, bytes.fromhex(common["ed25519_public"]))
    agreement = amp.did.multibase(amp.did.X25519_PREFIX, bytes.fromhex(common[public]))
    return {
        "id": did,
        "verificationMethod": [
            {"id": "#sign", "type": "Ed25519VerificationKey2020", "controller": did, "publicKeyMultibase": signing},
            {"id": "#agree", "type": "X25519KeyAgreementKey2020", "controller": did, "publicKeyMultibase": agreement},
        ],
        "assertionMethod": ["#sign"],
        "keyAgreement": ["#agree"],
    }


def message(name, to, typ=0x10, body=None, created=NOW, ttl=60_000, **headers):
    """A message from one identity to another; `to` may be a list of names."""
    dids = [KEYS[other].did for other in to] if isinstance(to, list) else KEYS[to].did
    signed = amp.seal.headers(KEYS[name], typ, dids, created, ttl, **headers)
    return amp.seal.plain(KEYS[name], signed, amp.cbor.encode(body)).message


def encrypted(sender, to, typ=0x10, body=None, created=NOW, ttl=60_000):
    signed = amp.seal.headers(KEYS[sender], typ, KEYS[to].did, created, ttl)
    return amp.seal.encrypted(KEYS[sender], DOCUMENTS[to], signed, amp.cbor.encode(body)).message


def node(name="bob", relays=(), documents=(), supported=None, **options):
    resolver = amp.did.Resolver(list(documents))
    return amp.node.Node(KEYS[name], resolver, supported, frozenset(relays), amp.node.Options(**options))


def parsed(data):
    return amp.envelope.parse(data)


def read(data):
    """Type and body of a plain message."""
    envelope = parsed(data)
    return envelope.type, envelope.body


def shapes(outcome):
    """The types of the replies."""
    return [parsed(reply).type for reply in outcome.replies]


def error_code(data):
    typ, body = read(data)
    return body.get("code") if typ == 0x0F else None


if not MISSING:
    _identities()
    SPEC_ALICE = _example("alice", "sender_private", "sender_public")
    SPEC_BOB = _example("bob", "recipient_private", "recipient_public")

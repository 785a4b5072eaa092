"""The fixture documents of the binding, section 6: parties under a host that is never contacted, with keys of known seeds."""

import amp_keys as keys

HOST = "did:web:fixtures.proofmark.test:agent:"
RELATIONS = ("assertionMethod", "authentication", "keyAgreement")

# name: (methods as (kind, fragment, name of the seed), fragments by relation)
PARTIES = {
    "twokeys": ("ed key-2 twokeys-2, ed key-10 twokeys-1, ed key-1 twokeys-3", ("key-2 key-10", "key-1", "")),
    "authonly": ("ed key-1 twokeys-3", ("", "key-1", "")),
    "nokey": ("x agree twokeys-3", ("", "", "agree")),
    "p256first": ("p key-1 -, ed key-2 p256first-1", ("key-1 key-2", "", "")),
    "fragments": (
        "ed key-1 fragments-1, ed auth fragments-2, ed unlisted fragments-3, ed agree-only fragments-4, x x-1 fragments-5",
        ("key-1", "auth", "agree-only x-1"),
    ),
    "embedded": ("ed key-1 embedded-1, x x-1 embedded-2", ("key-1", "key-1", "x-1")),
    "relative": ("ed key-2 relative-2, ed key-1 relative-1, x x-1 relative-3", ("key-2 key-1", "key-1", "x-1")),
    "twoagree": ("ed sig twokeys-1, x x-2 agree-2, x x-10 agree-1", ("sig", "", "x-2 x-10")),
    "notlisted": ("ed sig twokeys-1, x x-1 notlisted-1", ("sig", "", "")),
    "revoked": ("ed key-1 revoked-1, ed key-2 revoked-2", ("key-1 key-2", "key-1 key-2", "")),
    "loworder": ("ed sig twokeys-1, x0 x-0 -", ("sig", "", "x-0")),
    "smallorder": ("ed1 sig -", ("sig", "", "")),
}
# The base point of P-256.
P256 = {
    "kty": "EC", "crv": "P-256", "x": "axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY",
    "y": "T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU",
}  # fmt: skip


def method(did, kind, fragment, seed):
    entry = {"id": f"{did}#{fragment}", "controller": did}
    if kind == "p":
        return entry | {"type": "JsonWebKey2020", "publicKeyJwk": P256}
    if kind in ("x", "x0"):
        public = bytes(32) if kind == "x0" else keys.named(seed).x_public
        return entry | {"type": "X25519KeyAgreementKey2020", "publicKeyMultibase": keys.multibase(keys.X, public)}
    public = b"\1" + bytes(31) if kind == "ed1" else keys.named(seed).public
    return entry | {"type": "Ed25519VerificationKey2020", "publicKeyMultibase": keys.multibase(keys.ED, public)}


def document(name):
    did = HOST + name
    methods = [method(did, *row.split()) for row in PARTIES[name][0].split(", ")]
    found = {"@context": ["https://www.w3.org/ns/did/v1"], "id": did, "verificationMethod": methods}
    for relation, fragments in zip(RELATIONS, PARTIES[name][1]):
        if fragments:
            found[relation] = [f"{did}#{fragment}" for fragment in fragments.split()]
    if name == "revoked":
        methods[0]["revoked"] = "2024-01-01T00:00:00Z"
    elif name == "embedded":
        found["verificationMethod"], rest = [], {m["id"]: m for m in methods}
        for relation in RELATIONS:
            found[relation] = [rest.pop(i, i) for i in found[relation]]
    elif name == "relative":
        for entry in methods:
            entry["id"] = entry["id"].removeprefix(did)
        for relation in RELATIONS:
            found[relation] = [i.removeprefix(did) for i in found[relation]]
    return found


def documents():
    """All of them by DID."""
    return {HOST + name: document(name) for name in PARTIES}

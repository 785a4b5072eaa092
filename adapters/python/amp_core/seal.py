"""Building messages: sign, and then encrypt if requested (sections 8.1, 8.5.1, 8.6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import cbor, document, envelope, keys
from .cbor import Map
from .did import bare
from .envelope import ALGORITHM, MODE
from .keys import Keys
from .refusal import Misuse, Refusal
from .sig_input import sig_input

NULL = b"\xf6"


@dataclass(frozen=True)
class Built:
    """A message, with its parts."""

    message: bytes
    sig_input: bytes
    plaintext: bytes
    nonce: bytes | None = None
    ciphertext: bytes | None = None


def headers(sender: Keys, typ: int, to: Any, created: int, ttl: int, **optional: Any) -> Map:
    """The signed headers of a message. `optional`: id, from_did, reply_to, thread_id; None is absent."""
    given = {
        "id": optional.get("id") or envelope.make_id(created),
        "typ": typ,
        "ts": created,
        "ttl": ttl,
        "from": optional.get("from_did") or sender.did,
        "to": to,
        "reply_to": optional.get("reply_to"),
        "thread_id": optional.get("thread_id"),
    }
    present = Map([(name, value) for name, value in given.items() if value is not None])
    try:
        return envelope.signed_headers(present)
    except Refusal as refusal:
        raise Misuse(refusal.reason) from None


def plain(sender: Keys, signed: Map, body: bytes = NULL, version: int = 1, ext: Map | None = None) -> Built:
    """A plain message. `body` is any encoding of the body; it is signed and sent in deterministic form."""
    value = _value(body)
    encoded = cbor.encode(value)
    members, covered = _signed(sender, signed, encoded, version)
    members.add("body", value)
    if ext is not None:
        members.add("ext", ext)
    return Built(cbor.encode(members), covered, encoded)


def encrypted(
    sender: Keys,
    recipient_document: dict,
    signed: Map,
    body: bytes = NULL,
    version: int = 1,
    nonce: bytes | None = None,
    now: int | None = None,
) -> Built:
    """An `authcrypt` message: the box holds exactly the signed bytes (section 8.6). One recipient only (E26)."""
    if isinstance(signed.get("to"), list) and len(signed.get("to")) != 1:
        raise Misuse("an encrypted message has one recipient")
    try:
        _, recipient = document.agreement_key(recipient_document, document.wall_clock() if now is None else now)
    except Refusal as refusal:
        raise Misuse(refusal.reason) from None
    encoded = cbor.encode(_value(body))
    members, covered = _signed(sender, signed, encoded, version)
    nonce = keys.fresh_nonce() if nonce is None else nonce
    ciphertext = keys.box(encoded, nonce, recipient, sender.x25519_private)
    members.add("enc", Map({"alg": ALGORITHM, "mode": MODE, "nonce": nonce, "ciphertext": ciphertext}))
    return Built(cbor.encode(members), covered, encoded, nonce, ciphertext)


def _signed(sender: Keys, signed: Map, encoded: bytes, version: int) -> tuple[Map, bytes]:
    if bare(signed.get("from")) != bare(sender.did):
        raise Misuse("from is another agent")
    covered = sig_input(signed, encoded)
    members = Map([("v", version), *signed.items()])
    members.add("sig", keys.sign(sender.seed, covered))
    return members, covered


def _value(body: bytes) -> Any:
    try:
        return cbor.decode(body)
    except Refusal as refusal:
        raise Misuse(refusal.reason) from None

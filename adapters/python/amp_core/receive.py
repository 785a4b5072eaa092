"""Receiving: the checks of a message in the strict order of E31, stateless.

The repeat of a message (step 9) needs state and is in `node`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from . import ack, bodies, cbor, codes, document, envelope, keys
from .did import Resolver, bare
from .envelope import Envelope, Sealed
from .keys import Keys
from .refusal import Refusal
from .sig_input import sig_input

MAX_CLOCK_SKEW = 30_000


@dataclass
class Context:
    """The knowledge of a recipient."""

    keys: Keys
    resolver: Resolver
    versions: frozenset[int] = frozenset((1,))
    trusted_relays: frozenset[str] = field(default_factory=frozenset)
    max_skew: int = MAX_CLOCK_SKEW
    types: frozenset[int] = codes.SUPPORTED


@dataclass(frozen=True)
class Opened:
    """A message with a verified sender."""

    envelope: Envelope
    plaintext: bytes  # the bytes under the signature
    body: Any
    signer: str  # the id of the verification method


def receive(context: Context, message: bytes, now: int) -> Opened:
    """The message, or a refusal."""
    opened = authenticate(context, message, now)
    accept(context, opened)
    return opened


def authenticate(context: Context, message: bytes, now: int) -> Opened:
    """Steps 1 to 8: form, version, time, recipient, key, decryption, signature, plaintext."""
    parsed = envelope.parse(message)
    check_version(parsed, context.versions)
    check_time(parsed, now, context.max_skew)
    if bare(context.keys.did) not in parsed.recipients:
        raise Refusal(3001, "not authorised", "recipient")  # E25
    return verify(parsed, context.resolver, now, context.keys)


def check_version(parsed: Envelope, versions: frozenset[int]) -> None:
    """Handshakes always have v 1 (section 13.1), all others a supported version."""
    if parsed.type in codes.HANDSHAKE:
        if parsed.version != 1:
            raise Refusal(1004, "a handshake has v 1", "version")
    elif parsed.version not in versions:
        raise Refusal(1004, f"version {parsed.version} is not supported", "version")


def check_time(parsed: Envelope, now: int, max_skew: int = MAX_CLOCK_SKEW) -> None:
    """Section 8.3. Both boundaries are valid (E28)."""
    if now > parsed.expires:
        raise Refusal(1003, "the message has expired", "time")
    if parsed.created > now + max_skew:
        raise Refusal(1003, "the message is from the future", "time")


def verify(parsed: Envelope, resolver: Resolver, now: int, own: Keys | None) -> Opened:
    """Steps 5 to 8: the key of the sender, the box, the signature, and the body in the box."""
    found = resolver.resolve(parsed.sender)
    if found is None:
        raise Refusal(3001, "the sender cannot be resolved", "key")  # E24
    signer, key = document.signature_key(found, parsed.sender, now)
    # A plain body may have any encoding on the wire; the signature covers the deterministic one (section 8.2, E09).
    plaintext = cbor.encode(parsed.body) if parsed.sealed is None else _open(parsed.sealed, found, now, own)
    if not keys.verify(key, sig_input(parsed.headers, plaintext), parsed.signature):
        raise Refusal(1002, "the signature does not verify", "signature")
    body = parsed.body if parsed.sealed is None else _decoded(plaintext)
    return Opened(parsed, plaintext, body, signer)


def _open(sealed: Sealed, found: dict, now: int, own: Keys | None) -> bytes:
    """The plaintext of the box, with the first of our keys that decrypts it (section 8.9). The bytes are used unchanged."""
    if own is None:
        raise Refusal(3001, "not authorised", "decrypt")
    try:
        _, sender = document.agreement_key(found, now)
    except Refusal:
        raise Refusal(3001, "not authorised", "decrypt") from None
    for private in own.agreement_keys():
        try:
            return keys.box_open(sealed.ciphertext, sealed.nonce, sender, private)
        except Refusal as refusal:
            failure = refusal
    raise failure


def _decoded(plaintext: bytes) -> Any:
    try:
        return cbor.decode(plaintext)
    except Refusal as refusal:
        raise Refusal(1001, refusal.reason, "plaintext") from None


def accept(context: Context, opened: Opened, original: Envelope | None = None, judge_relay: bool = False) -> None:
    """Steps 10 and 11: type and body; with `original` also whether its sender may acknowledge it (section 16.1)."""
    typ = opened.envelope.type
    if typ not in context.types:
        raise Refusal(1005, f"type {typ:#04x} is unknown here", "type")
    bodies.check(typ, opened.body)
    if typ == codes.ACK and (original is not None or judge_relay):
        ack.check(opened.envelope, opened.body, original, context.trusted_relays, context.resolver)

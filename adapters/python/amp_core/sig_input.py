"""Sig_Input: the bytes under a signature (section 8.1)."""

from __future__ import annotations

from . import cbor, envelope
from .cbor import Map
from .refusal import Refusal

CONTEXT = "AMP-v1"


def sig_input(headers: Map, body: bytes) -> bytes:
    """The array of four: context, the reserved empty byte string (E13), the signed headers, and the encoded plaintext body
    as a byte string (E12)."""
    return cbor.encode([CONTEXT, b"", headers, body])


def of_message(message: bytes) -> bytes:
    """Sig_Input of a message with a plaintext body. `v`, `sig`, `enc` and `ext` are not part of it (E14)."""
    members = envelope.message_map(message)
    headers = envelope.signed_headers(members)
    if "body" not in members:
        raise Refusal(1001, "no plaintext body", "form")
    return sig_input(headers, cbor.encode(members.get("body")))

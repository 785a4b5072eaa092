"""Keys and the two primitives that need them: Ed25519 signatures and the NaCl box (sections 3.2, 8.5). All by libsodium.

libsodium refuses S at or above the group order, keys of small order and points that are not canonical (E63), and X25519
results that are zero (E64). Lengths are checked here, so that wrong ones are simply invalid.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

import nacl.bindings as sodium
from nacl.exceptions import CryptoError

from .refusal import Misuse, Refusal

KEY_BYTES, SIGNATURE_BYTES, NONCE_BYTES, TAG_BYTES = 32, 64, 24, 16

# What libsodium's wrapper raises: CryptoError for an invalid input, the others for inputs that it cannot process.
_NO = (CryptoError, TypeError, ValueError, RuntimeError)


def _sized(data: bytes, size: int, what: str) -> bytes:
    if len(data) != size:
        raise Misuse(f"{what} has {size} bytes, not {len(data)}")
    return data


def public_key(seed: bytes) -> bytes:
    """The Ed25519 public key of a seed."""
    return sodium.crypto_sign_seed_keypair(_sized(seed, KEY_BYTES, "a seed"))[0]


def sign(seed: bytes, data: bytes) -> bytes:
    """The Ed25519 signature of `data`."""
    _, secret = sodium.crypto_sign_seed_keypair(_sized(seed, KEY_BYTES, "a seed"))
    return sodium.crypto_sign(data, secret)[:SIGNATURE_BYTES]


def verify(key: bytes, data: bytes, signature: bytes) -> bool:
    """Whether `signature` is one of `data` under the Ed25519 key."""
    if len(key) != KEY_BYTES or len(signature) != SIGNATURE_BYTES:
        return False
    try:
        sodium.crypto_sign_open(signature + data, key)
    except _NO:
        return False
    return True


def x25519_public(private: bytes) -> bytes:
    """The X25519 public key of a private key."""
    return sodium.crypto_scalarmult_base(_sized(private, KEY_BYTES, "a private key"))


def x25519_derive(seed: bytes) -> tuple[bytes, bytes]:
    """The X25519 private and public key derived from an Ed25519 seed (binding.md section 6)."""
    _, secret = sodium.crypto_sign_seed_keypair(_sized(seed, KEY_BYTES, "a seed"))
    private = sodium.crypto_sign_ed25519_sk_to_curve25519(secret)
    return private, x25519_public(private)


def x25519_of_ed25519(key: bytes) -> bytes | None:
    """The X25519 public key derived from an Ed25519 one, or None if it has none."""
    try:
        return sodium.crypto_sign_ed25519_pk_to_curve25519(key)
    except _NO:
        return None


def box(plaintext: bytes, nonce: bytes, recipient: bytes, private: bytes) -> bytes:
    """The NaCl box, tag first."""
    _sized(nonce, NONCE_BYTES, "a nonce")
    try:
        # HSalsa20 over the X25519 result; refuses a key that makes the result zero.
        shared = sodium.crypto_box_beforenm(_sized(recipient, KEY_BYTES, "a public key"), private)
    except _NO as error:
        raise Misuse("these keys cannot encrypt") from error
    return sodium.crypto_box_afternm(plaintext, nonce, shared)


def box_open(ciphertext: bytes, nonce: bytes, sender: bytes, private: bytes) -> bytes:
    """The plaintext. Every failure is the same 3001 (section 15.3, E36)."""
    try:
        shared = sodium.crypto_box_beforenm(sender, private)
        return sodium.crypto_box_open_afternm(ciphertext, nonce, shared)
    except _NO:
        raise Refusal(3001, "not authorised", "decrypt") from None


def fresh_nonce() -> bytes:
    """A random nonce: 24 bytes make repeats negligible (E64)."""
    return secrets.token_bytes(NONCE_BYTES)


@dataclass(frozen=True)
class Keys:
    """The keys with which an agent signs and decrypts."""

    did: str
    seed: bytes
    x25519_private: bytes
    previous: tuple[bytes, ...] = ()  # rotated private X25519 keys, still tried (section 8.9)

    @staticmethod
    def of(did: str, seed: bytes, x25519_private: bytes | None = None, previous: tuple[bytes, ...] = ()) -> Keys:
        """The keys of an agent; a missing X25519 key is derived from the seed."""
        _sized(seed, KEY_BYTES, "a seed")
        private = x25519_derive(seed)[0] if x25519_private is None else x25519_private
        for key in (private, *previous):
            _sized(key, KEY_BYTES, "a private key")
        return Keys(did, seed, private, previous)

    def agreement_keys(self) -> tuple[bytes, ...]:
        """All private X25519 keys, the current one first."""
        return (self.x25519_private, *self.previous)

"""Encryption markers (section Security): a single field, or the MemoryGram as a whole.

The draft names no algorithm. The standard library has no cipher, so this one is a key stream of SHAKE-256 with an HMAC, under
a random key for each recipient that lives as long as the process: an example to replace by a vetted library (BYOE).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os

from . import text
from .model import inside

LOCK = "\U0001f510"  # directly at the end of the name, without a variation selector (E39)
ALGORITHM = "shake256-hmac-sha256"

_keys: dict[str, bytes] = {}


def _sealed(value: object, recipient: str) -> dict:
    key = _keys.setdefault(recipient, os.urandom(32))
    nonce, clear = os.urandom(16), text.encode(value)
    stream = hashlib.shake_256(key + nonce).digest(len(clear))
    secret = bytes(a ^ b for a, b in zip(clear, stream))
    tag = hmac.new(key, nonce + secret, hashlib.sha256).digest()
    return {"encryptedFor": recipient, "alg": ALGORITHM, "ciphertext": base64.urlsafe_b64encode(nonce + secret + tag).decode()}


def opened(sealed: dict) -> object:
    """The value, for the recipient in this process. Raises ValueError if the ciphertext was changed."""
    key = _keys[sealed["encryptedFor"]]
    data = base64.urlsafe_b64decode(sealed["ciphertext"])
    nonce, secret, tag = data[:16], data[16:-32], data[-32:]
    if not hmac.compare_digest(tag, hmac.new(key, nonce + secret, hashlib.sha256).digest()):
        raise ValueError("the ciphertext was changed")
    return text.read(bytes(a ^ b for a, b in zip(secret, hashlib.shake_256(key + nonce).digest(len(secret)))))


def encrypt_field(message: dict, pointer: str, recipient: str) -> None:
    """Replaces the member at `pointer` by a marked one at the same place. Raises KeyError if there is none."""
    parent, _, token = pointer.rpartition("/")
    name = token.replace("~1", "/").replace("~0", "~")
    found, holder = text.pointed(message, parent)
    if not found or not isinstance(holder, dict) or name not in holder:
        raise KeyError(pointer)
    renamed = {(n + LOCK if n == name else n): (_sealed(v, recipient) if n == name else v) for n, v in holder.items()}
    holder.clear()
    holder.update(renamed)


def encrypt_section(message: dict, recipient: str) -> None:
    """Replaces the MemoryGram by its ciphertext, and says so in Header.encryption. Raises KeyError without a MemoryGram."""
    envelope = message["Envelope"]
    envelope["MemoryGram"] = _sealed(envelope["MemoryGram"], recipient)
    before = inside(message, "Header", "encryption")
    envelope["Header"]["encryption"] = {"type": "BYOE", **(before if isinstance(before, dict) else {}), "section": "MemoryGram", "alg": ALGORITHM}

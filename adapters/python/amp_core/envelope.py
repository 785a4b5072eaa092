"""The envelope: its members, their types, and the message id (sections 4.1 and 4.2)."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any, Iterable

from . import cbor
from .cbor import Map
from .did import bare, is_did
from .refusal import Misuse, Refusal

ALGORITHM = "X25519-XSalsa20-Poly1305"
MODE = "authcrypt"
DEFAULT_TTL = 86_400_000
MAX_ID_DRIFT = 1_000
MAX_MESSAGE = 16 << 20  # recommended for agents by 002-3.2

SIGNED = ("id", "typ", "ts", "ttl", "from", "to", "reply_to", "thread_id")
_REQUIRED = ("id", "typ", "ts", "ttl", "from", "to")


@dataclass(frozen=True)
class Sealed:
    """The member `enc`."""

    nonce: bytes
    ciphertext: bytes


@dataclass(frozen=True)
class Envelope:
    """A well-formed message, not checked further."""

    headers: Map  # the signed ones
    version: int
    signature: bytes
    body: Any
    sealed: Sealed | None

    @property
    def id(self) -> bytes:
        """The message id."""
        return self.headers.get("id")

    @property
    def type(self) -> int:
        """The type code."""
        return self.headers.get("typ")

    @property
    def sender(self) -> str:
        """`from` as written, with its fragment."""
        return self.headers.get("from")

    @property
    def created(self) -> int:
        """`ts`."""
        return self.headers.get("ts")

    @property
    def ttl(self) -> int:
        """The lifetime in milliseconds."""
        return self.headers.get("ttl")

    @property
    def expires(self) -> int:
        """The last millisecond in which the message is valid. No overflow: integers have no limit here (E28)."""
        return self.created + self.ttl

    @property
    def recipients(self) -> list[str]:
        """`to` as a list, without fragments."""
        to = self.headers.get("to")
        return [bare(name) for name in ([to] if isinstance(to, str) else to)]


def parse(data: bytes) -> Envelope:
    """The envelope in `data`. Any defect is 1001 (step 1 of E31)."""
    return check(message_map(data))


def message_map(data: bytes) -> Map:
    """The map of a message, with any contents."""
    if len(data) > MAX_MESSAGE:
        raise _malformed("the message is too large")
    message = cbor.decode(data)
    if not isinstance(message, Map):
        raise _malformed("a message is a map")
    return message


def check(message: Map) -> Envelope:
    """The envelope in a map. Unknown members are ignored (E15, E88)."""
    headers = signed_headers(message)
    version, signature = message.get("v"), message.get("sig")
    if not _uint(version):
        raise _malformed("v is an unsigned integer")
    if not isinstance(signature, bytes):
        raise _malformed("sig is a byte string")
    if "ext" in message and not _extension(message.get("ext")):
        raise _malformed("ext is a map with text keys")
    if ("body" in message) == ("enc" in message):
        raise _malformed("exactly one of body and enc is required")  # E17
    sealed = _sealed(message.get("enc")) if "enc" in message else None
    if abs(int.from_bytes(headers.get("id")[:8], "big") - headers.get("ts")) > MAX_ID_DRIFT:
        raise _malformed("the time in id is more than a second from ts")  # section 8.3, E19
    return Envelope(headers, version, signature, message.get("body"), sealed)


def signed_headers(message: Map) -> Map:
    """The headers that a signature covers. Absent members stay absent, because null is different (appendix B)."""
    for name in _REQUIRED:
        if name not in message:
            raise _malformed(f"{name} is missing")
    present = Map([(name, message.get(name)) for name in SIGNED if name in message])
    for name, value in present.items():
        if not _FITS[name](value):
            raise _malformed(f"{name} has another type")
    return present


def _uint(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= cbor.UINT_MAX


def _bytes(value: Any) -> bool:
    return isinstance(value, bytes)


def _recipients(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(is_did(name) for name in value)
    return is_did(value)


_FITS = {
    "id": lambda value: _bytes(value) and len(value) == 16,
    "typ": _uint,
    "ts": _uint,
    "ttl": _uint,
    "from": is_did,
    "to": _recipients,
    "reply_to": _bytes,
    "thread_id": _bytes,
}


def _extension(value: Any) -> bool:
    return isinstance(value, Map) and all(isinstance(key, str) for key in value.keys())


def _sealed(enc: Any) -> Sealed:
    if not isinstance(enc, Map) or len(enc) != 4:
        raise _malformed("enc is a map of four members")
    if enc.get("alg") != ALGORITHM or enc.get("mode") != MODE:
        raise _malformed("enc has one algorithm and one mode")
    nonce, ciphertext = enc.get("nonce"), enc.get("ciphertext")
    if not isinstance(nonce, bytes) or len(nonce) != 24:
        raise _malformed("a nonce has 24 bytes")  # E20
    if not isinstance(ciphertext, bytes):
        raise _malformed("ciphertext is a byte string")
    return Sealed(nonce, ciphertext)


def _malformed(reason: str) -> Refusal:
    return Refusal(1001, reason, "form")


def make_id(created: int, random: bytes | None = None) -> bytes:
    """A message id: the time in big-endian order, and eight random bytes (section 4.2)."""
    if not _uint(created):
        raise Misuse("ts does not fit 64 bits")
    tail = secrets.token_bytes(8) if random is None else random
    if len(tail) != 8:
        raise Misuse("the random part of an id has 8 bytes")
    return created.to_bytes(8, "big") + tail


def make_ids(created: int, count: int) -> Iterable[bytes]:
    """The given number of distinct ids for one millisecond."""
    ids: dict[bytes, None] = {}
    while len(ids) < count:
        ids[make_id(created)] = None
    return ids

"""Shared by the methods of the adapter: params to values of the library, and values to results (binding.md section 10).

Bytes are hex. Unsigned integers may be decimal strings; results use them where JSON numbers lose digits. CBOR values are
the hex of their encoding.
"""

from __future__ import annotations

import itertools
from typing import Any, Callable

import adapter

from . import cbor, document, envelope, receive, seal
from .cbor import Map
from .did import Resolver, bare, is_did
from .keys import Keys
from .refusal import Refusal

UNKNOWN_HANDLE, WRONG_STATE = -32001, -32002

MAX_HANDLES = 4096

Params = dict
Result = dict


# --- Params ---------------------------------------------------------------------------------------------------------------


def wrong(reason: str) -> adapter.Failure:
    return adapter.Failure(adapter.INVALID_PARAMS, reason)


def number(value: Any, name: str) -> int:
    """An unsigned integer, which may be written as a decimal string."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 20:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= cbor.UINT_MAX:
        raise wrong(f"{name} must be an unsigned integer of at most 64 bits")
    return value


def uint(params: Params, name: str) -> int:
    return number(params.get(name), name)


def optional_uint(params: Params, name: str) -> int | None:
    return None if params.get(name) is None else uint(params, name)


def optional_bytes(params: Params, name: str) -> bytes | None:
    return None if params.get(name) is None else adapter.unhex(params, name)


def member(params: Params, name: str, kind: type, what: str) -> Any:
    value = params.get(name)
    if not isinstance(value, kind):
        raise wrong(f"{name} must be {what}")
    return value


def optional_list(params: Params, name: str) -> list:
    return [] if params.get(name) is None else member(params, name, list, "a list")


def keys_of(params: Params, name: str, previous: tuple = ()) -> Keys:
    given = member(params, name, dict, "an object")
    did = adapter.text(given, "did")
    if not is_did(did):
        raise wrong(f"{name}.did must be a DID")
    return Keys.of(did, adapter.unhex(given, "ed25519_seed"), optional_bytes(given, "x25519_private"), previous)


def resolver_of(params: Params) -> Resolver:
    return Resolver(optional_list(params, "documents"))


def relays_of(params: Params) -> frozenset:
    relays = optional_list(params, "trusted_relays")
    if not all(is_did(relay) for relay in relays):
        raise wrong("trusted_relays must hold DIDs")
    return frozenset(map(bare, relays))


def original_of(params: Params) -> envelope.Envelope:
    """The acknowledged message. It is our own, so only its form matters."""
    original = adapter.unhex(params, "original")
    try:
        return envelope.parse(original)
    except Refusal as refusal:
        raise wrong(f"original: {refusal.reason}") from None


def recipients(value: Any) -> Any:
    """`to`: a DID or a list of them."""
    if not is_did(value) and not (isinstance(value, list) and value and all(map(is_did, value))):
        raise wrong("to must be a DID or a list of DIDs")
    return value


def versions_of(params: Params, name: str) -> list:
    versions = member(params, name, list, "a list")
    if not all(isinstance(entry, (str, int)) and not isinstance(entry, bool) for entry in versions):
        raise wrong(f"{name} must hold versions")
    return versions


def body_of(params: Params, name: str = "body") -> bytes:
    """An encoded body; without one it is null (section 8.1)."""
    body = optional_bytes(params, name)
    return seal.NULL if body is None else body


def headers_of(params: Params, sender: Keys) -> tuple[Map, int]:
    """The signed headers of a message to be built, and its v. Absent ones are generated."""
    given = member(params, "headers", dict, "an object")
    id_ = optional_bytes(given, "id")
    created = optional_uint(given, "ts")
    if created is None:
        created = document.wall_clock() if id_ is None else int.from_bytes(id_[:8], "big")
    ttl = optional_uint(given, "ttl")
    if given.get("from") is not None and not is_did(given["from"]):
        raise wrong("from must be a DID")
    signed = seal.headers(
        sender,
        uint(given, "typ"),
        recipients(given.get("to")),
        created,
        envelope.DEFAULT_TTL if ttl is None else ttl,
        id=id_,
        from_did=given.get("from"),
        reply_to=optional_bytes(given, "reply_to"),
        thread_id=optional_bytes(given, "thread_id"),
    )
    v = optional_uint(given, "v")
    return signed, 1 if v is None else v


def value_of(data: Any) -> Any:
    """An encoded value in hex; a JSON object is read as the corresponding map."""
    if isinstance(data, dict):
        return from_json(data)
    if data is None:
        return None
    return cbor.decode(adapter.unhex({"data": data}, "data"))


def from_json(value: Any, depth: int = 0) -> Any:
    if depth > cbor.MAX_DEPTH:
        raise wrong("data is nested too deeply")
    if isinstance(value, dict):
        return Map({name: from_json(entry, depth + 1) for name, entry in value.items()})
    return [from_json(entry, depth + 1) for entry in value] if isinstance(value, list) else value


def decoded(data: bytes, name: str) -> Any:
    try:
        return cbor.decode(data)
    except Refusal as refusal:
        raise wrong(f"{name}: {refusal.reason}") from None


# --- Results --------------------------------------------------------------------------------------------------------------


def exact(value: int) -> Any:
    """An unsigned integer: as a string where JSON numbers lose digits."""
    return value if value < 2**53 else str(value)


def hexed(value: Any) -> str:
    return cbor.encode(value).hex()


def shown(parsed: envelope.Envelope) -> Result:
    """The headers of a message."""
    result: Result = {"v": exact(parsed.version)}
    for name, value in parsed.headers.items():
        result[name] = value.hex() if isinstance(value, bytes) else exact(value) if isinstance(value, int) else value
    return result


def accepted(opened: receive.Opened) -> Result:
    return {
        "outcome": "accept",
        "headers": shown(opened.envelope),
        "body": opened.plaintext.hex(),
        "encrypted": opened.envelope.sealed is not None,
        "signer": opened.signer,
    }


def rejected(refusal: Refusal) -> Result:
    return {"outcome": "reject", "code": refusal.code, "stage": refusal.stage}


def built(message: seal.Built) -> Result:
    result = {"message": message.message.hex(), "sig_input": message.sig_input.hex()}
    if message.nonce is not None and message.ciphertext is not None:
        result["plaintext"] = message.plaintext.hex()
        result["nonce"] = message.nonce.hex()
        result["ciphertext"] = message.ciphertext.hex()
    return result


def or_code(call: Callable[[], Result]) -> Result:
    """The result, or the code of the refusal."""
    try:
        return call()
    except Refusal as refusal:
        return {"code": refusal.code}


def unless_unknown(value: Any, result: Result, otherwise: str = "unknown") -> Result:
    return {otherwise: True} if value is None else result


# --- Handles --------------------------------------------------------------------------------------------------------------


class Handles:
    """Stateful objects, by name."""

    def __init__(self, kind: str, prefix: str):
        self._kind = kind
        self._things: dict[str, Any] = {}
        self._names = (f"{prefix}-{count}" for count in itertools.count(1))

    def add(self, thing: Any) -> str:
        if len(self._things) >= MAX_HANDLES:
            raise adapter.Failure(WRONG_STATE, f"more than {MAX_HANDLES} are open")
        name = next(self._names)
        self._things[name] = thing
        return name

    def get(self, params: Params) -> Any:
        name = adapter.text(params, self._kind)
        if name not in self._things:
            raise adapter.Failure(UNKNOWN_HANDLE, f"unknown {name}")
        return self._things[name]

    def remove(self, params: Params) -> None:
        self.get(params)
        del self._things[params[self._kind]]

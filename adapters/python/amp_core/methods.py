"""The methods of the adapter: params to calls of the library, and answers back to JSON-RPC (binding.md section 10).

This file, `stateful` and `params` are the ones to replace to test your own library.
"""

from __future__ import annotations

import functools
from typing import Callable

import adapter

from . import (
    ack,
    batch,
    bodies,
    cbor,
    codes,
    document,
    envelope,
    frame,
    keys,
    receive,
    retry,
    seal,
    stateful,
    version,
    wrapper,
)
from . import sig_input as signing
from .cbor import Map
from .did import bare
from .params import (
    WRONG_STATE,
    Params,
    Result,
    accepted,
    body_of,
    built,
    decoded,
    headers_of,
    hexed,
    keys_of,
    member,
    number,
    optional_bytes,
    optional_uint,
    or_code,
    original_of,
    recipients,
    rejected,
    relays_of,
    resolver_of,
    uint,
    unless_unknown,
    versions_of,
    wrong,
)
from .refusal import Misuse, Refusal, WrongState
from .stateful import SUPPORTED

NAME, VERSION = "amp-core-python", "0.1.0"
CLAIMS = ["core", "full"]
FEATURES = ["batch", "encryption", "did_documents", "stream", "documents", "credentials"]

MAX_IDS = 100_000


# --- Keys, encoding and signatures ----------------------------------------------------------------------------------------


def describe(params: Params) -> Result:
    return {
        "name": NAME,
        "version": VERSION,
        "claims": CLAIMS,
        "features": FEATURES,
        "versions": sorted(version.majors(SUPPORTED)),
        "max_clock_skew_ms": receive.MAX_CLOCK_SKEW,
    }


def public_key(params: Params) -> Result:
    return {"public_key": keys.public_key(adapter.unhex(params, "seed")).hex()}


def x25519_public(params: Params) -> Result:
    return {"public_key": keys.x25519_public(adapter.unhex(params, "private_key")).hex()}


def x25519_derive(params: Params) -> Result:
    private, public = keys.x25519_derive(adapter.unhex(params, "ed25519_seed"))
    return {"private_key": private.hex(), "public_key": public.hex()}


def encode_deterministic(params: Params) -> Result:
    data = adapter.unhex(params, "cbor")
    return or_code(lambda: {"cbor": hexed(cbor.decode(data))})


def sig_input(params: Params) -> Result:
    if params.get("message") is not None:
        message = adapter.unhex(params, "message")
        return or_code(lambda: {"sig_input": signing.of_message(message).hex()})
    given, body = member(params, "headers", dict, "an object"), body_of(params)
    return or_code(lambda: {"sig_input": signing.sig_input(_raw_headers(given), cbor.encode(cbor.decode(body))).hex()})


def _raw_headers(given: dict) -> Map:
    """The headers as given: missing ones are refused and not generated."""
    members = Map()
    for name in envelope.SIGNED:
        if given.get(name) is not None:
            if name in ("typ", "ts", "ttl"):
                members.add(name, uint(given, name))
            else:
                members.add(name, given[name] if name in ("from", "to") else adapter.unhex(given, name))
    return envelope.signed_headers(members)


def sign(params: Params) -> Result:
    return {"sig": keys.sign(adapter.unhex(params, "seed"), adapter.unhex(params, "data")).hex()}


def verify(params: Params) -> Result:
    key, data, signature = (adapter.unhex(params, name) for name in ("public_key", "data", "sig"))
    return {"valid": keys.verify(key, data, signature)}


def make_id(params: Params) -> Result:
    created, random, count = uint(params, "ts"), optional_bytes(params, "random"), optional_uint(params, "count")
    if random is not None:
        if count not in (None, 1):
            raise wrong("random permits one id only")
        return {"ids": [envelope.make_id(created, random).hex()]}
    if count is not None and count > MAX_IDS:
        raise wrong(f"count must be at most {MAX_IDS}")
    return {"ids": [id_.hex() for id_ in envelope.make_ids(created, 1 if count is None else count)]}


def build_plain(params: Params) -> Result:
    sender = keys_of(params, "sender")
    signed, v = headers_of(params, sender)
    ext = optional_bytes(params, "ext")
    extension = None if ext is None else decoded(ext, "ext")
    if extension is not None and not isinstance(extension, Map):
        raise wrong("ext must be a map")
    return built(seal.plain(sender, signed, body_of(params), v, extension))


def build_encrypted(params: Params) -> Result:
    sender = keys_of(params, "sender")
    recipient = member(params, "recipient_document", dict, "a DID document")
    signed, v = headers_of(params, sender)
    return built(seal.encrypted(sender, recipient, signed, body_of(params), v, optional_bytes(params, "nonce")))


def box_open(params: Params) -> Result:
    private, public, nonce, ciphertext = (
        adapter.unhex(params, name) for name in ("private_key", "public_key", "nonce", "ciphertext")
    )
    if len(private) != keys.KEY_BYTES or len(public) != keys.KEY_BYTES:
        raise wrong("a key has 32 bytes")
    if len(nonce) != keys.NONCE_BYTES:
        return {"code": 1001}
    return or_code(lambda: {"plaintext": keys.box_open(ciphertext, nonce, public, private).hex()})


def select_key(params: Params) -> Result:
    found, did = member(params, "document", dict, "a DID document"), adapter.text(params, "did")
    purpose, now = adapter.text(params, "purpose"), document.wall_clock()
    if purpose not in ("signature", "agreement"):
        raise wrong("purpose must be signature or agreement")

    def choice() -> Result:
        choose = (
            document.signature_key(found, did, now) if purpose == "signature" else document.agreement_key(found, now)
        )
        return {"method": choose[0], "public_key": choose[1].hex()}

    return or_code(choice)


# --- Receiving ------------------------------------------------------------------------------------------------------------


def receive_(params: Params) -> Result:
    context = receive.Context(keys_of(params, "self"), resolver_of(params), trusted_relays=relays_of(params))
    message, now = adapter.unhex(params, "message"), uint(params, "now")
    about = None if params.get("original") is None else original_of(params)
    try:
        opened = receive.authenticate(context, message, now)
        receive.accept(context, opened, about, judge_relay=params.get("trusted_relays") is not None)
        return accepted(opened)
    except Refusal as refusal:
        return rejected(refusal)


def validate_ack(params: Params) -> Result:
    """A single ACK: form, version, time, signature, body, and whether its sender may send it."""
    message, about, now = adapter.unhex(params, "ack"), original_of(params), uint(params, "now")
    resolver, relays = resolver_of(params), relays_of(params)
    try:
        parsed = envelope.parse(message)
        receive.check_version(parsed, version.majors(SUPPORTED))
        receive.check_time(parsed, now)
        if bare(about.sender) not in parsed.recipients:
            raise Refusal(3001, "the ACK is for another recipient", "recipient")
        opened = receive.verify(parsed, resolver, now, None)
        if parsed.type != codes.ACK:
            raise Refusal(1001, "not an ACK", "type")
        bodies.check(codes.ACK, opened.body)
        ack.check(parsed, opened.body, about, relays, resolver)
    except Refusal as refusal:
        return {"valid": False, "code": refusal.code, "action": "reject"}
    return {"valid": True}


# --- Retry, errors, types and versions --------------------------------------------------------------------------------------


def retry_delay(params: Params) -> Result:
    attempt, random, left = uint(params, "attempt"), params.get("random"), params.get("ttl_left_ms")
    if isinstance(random, bool) or not isinstance(random, (int, float)):
        raise wrong("random must be a number")
    if left is not None and (isinstance(left, bool) or not isinstance(left, int)):
        left = number(left, "ttl_left_ms")
    last = {} if params.get("last") is None else member(params, "last", dict, "an object")
    again = last.get("retry")
    if again is not None and not isinstance(again, bool):
        raise wrong("last.retry must be true or false")
    wait = retry.delay(attempt, random, optional_uint(last, "code"), again, left)
    return {"stop": True} if wait is None else {"wait_ms": wait}


def error_info(params: Params) -> Result:
    info = codes.ERRORS.get(uint(params, "code"))
    return {"unknown": True} if info is None else info._asdict()


def error_build(params: Params) -> Result:
    sender, code, now = keys_of(params, "sender"), uint(params, "code"), uint(params, "now")
    details = optional_bytes(params, "details")
    info = codes.ERRORS.get(code)
    try:
        body = bodies.error(
            code, info.name if info else "vendor error", None if details is None else decoded(details, "details")
        )
    except Refusal as refusal:
        raise wrong(refusal.reason) from None
    to = recipients(params.get("to"))
    signed = seal.headers(
        sender, codes.ERROR, to, now, envelope.DEFAULT_TTL, reply_to=adapter.unhex(params, "reply_to")
    )
    return {"message": seal.plain(sender, signed, cbor.encode(body)).message.hex()}


def type_info(params: Params) -> Result:
    name = codes.TYPES.get(uint(params, "typ"))
    return unless_unknown(name, {"name": name})


def type_code(params: Params) -> Result:
    typ = codes.NUMBERS.get(adapter.text(params, "name"))
    return unless_unknown(typ, {"typ": typ})


def major(params: Params) -> Result:
    known = version.major(adapter.text(params, "version"))
    return unless_unknown(known, {"major": known}, otherwise="undefined")


def select_version(params: Params) -> Result:
    supported, offered = versions_of(params, "supported"), member(params, "offered", list, "a list")
    selected = version.select(supported, offered)
    return unless_unknown(selected, {"selected": selected}, otherwise="rejected")


# --- Batches, frames and wrappers --------------------------------------------------------------------------------------


def batch_split(params: Params) -> Result:
    body = adapter.unhex(params, "body")
    return or_code(lambda: {"items": [item.hex() for item in batch.split(cbor.decode(body))]})


def frame_encode(params: Params) -> Result:
    return {"frame": frame.encode(frame.Frame(uint(params, "type"), adapter.unhex(params, "payload"))).hex()}


def frame_decode(params: Params) -> Result:
    data, limit = adapter.unhex(params, "data"), optional_uint(params, "max_size")

    def decode() -> Result:
        frames, rest = frame.decode(data, frame.DEFAULT_MAX if limit is None else limit)
        return {
            "frames": [{"type": entry.type, "payload": entry.payload.hex()} for entry in frames],
            "rest": rest.hex(),
        }

    return or_code(decode)


def wrapper_decode(params: Params) -> Result:
    kind, data = adapter.text(params, "kind"), adapter.unhex(params, "cbor")
    if kind not in wrapper.KINDS:
        raise wrong("kind must be poll, forward, commit or webhook")
    return or_code(lambda: {"value": hexed(wrapper.decode(kind, data))})


# Leave out unsupported methods: they are reported as not claimed. A made-up answer fails.
METHODS: dict[str, Callable[[Params], Result]] = {
    "amp-core/describe": describe,
    "amp-core/public_key": public_key,
    "amp-core/x25519_public": x25519_public,
    "amp-core/x25519_derive": x25519_derive,
    "amp-core/encode_deterministic": encode_deterministic,
    "amp-core/sig_input": sig_input,
    "amp-core/sign": sign,
    "amp-core/verify": verify,
    "amp-core/make_id": make_id,
    "amp-core/build_plain": build_plain,
    "amp-core/build_encrypted": build_encrypted,
    "amp-core/box_open": box_open,
    "amp-core/receive": receive_,
    "amp-core/select_key": select_key,
    "amp-core/node_open": stateful.node_open,
    "amp-core/node_receive": stateful.node_receive,
    "amp-core/node_send": stateful.node_send,
    "amp-core/node_tick": stateful.node_tick,
    "amp-core/node_close": stateful.node_close,
    "amp-core/validate_ack": validate_ack,
    "amp-core/retry_delay": retry_delay,
    "amp-core/error_info": error_info,
    "amp-core/error_build": error_build,
    "amp-core/type_info": type_info,
    "amp-core/type_code": type_code,
    "amp-core/major": major,
    "amp-core/select_version": select_version,
    "amp-core/negotiation_open": stateful.negotiation_open,
    "amp-core/negotiation_event": stateful.negotiation_event,
    "amp-core/stream_open": stateful.stream_open,
    "amp-core/stream_chunk": stateful.stream_chunk,
    "amp-core/stream_end": stateful.stream_end,
    "amp-core/stream_sender_open": stateful.stream_sender_open,
    "amp-core/stream_sender_event": stateful.stream_sender_event,
    "amp-core/batch_split": batch_split,
    "amp-core/frame_encode": frame_encode,
    "amp-core/frame_decode": frame_decode,
    "amp-core/wrapper_decode": wrapper_decode,
}


def _guarded(method: Callable[[Params], Result]) -> Callable[[Params], Result]:
    """The method, with errors of the caller as errors of JSON-RPC."""

    @functools.wraps(method)
    def call(params: Params) -> Result:
        try:
            return method(params)
        except Misuse as misuse:
            raise wrong(str(misuse)) from None
        except WrongState as state:
            raise adapter.Failure(WRONG_STATE, str(state)) from None

    return call


def table() -> dict[str, Callable[[Params], Result]]:
    """The arguments of `adapter.serve`."""
    return {name: _guarded(method) for name, method in METHODS.items()}

"""The stateful methods: nodes, negotiations and streams, each behind a handle (binding.md section 10)."""

from __future__ import annotations

import contextlib
from typing import Any, Callable

import adapter

from . import cbor, document, envelope, negotiation, node, stream
from .cbor import Map
from .params import (
    Handles,
    Params,
    Result,
    accepted,
    body_of,
    hexed,
    keys_of,
    member,
    number,
    optional_list,
    optional_uint,
    or_code,
    recipients,
    rejected,
    relays_of,
    resolver_of,
    uint,
    value_of,
    versions_of,
    wrong,
)
from .refusal import Refusal

SUPPORTED = ["1.0"]


nodes, negotiations = Handles("node", "node"), Handles("negotiation", "negotiation")
streams, senders = Handles("stream", "stream"), Handles("stream", "stream-sender")


# --- Nodes ----------------------------------------------------------------------------------------------------------------


def node_open(params: Params) -> Result:
    options = {} if params.get("options") is None else member(params, "options", dict, "an object")
    optional_uint(params, "now")
    previous = optional_list(options, "previous_x25519_private")
    own = keys_of(params, "self", tuple(adapter.unhex({"key": key}, "key") for key in previous))
    given = {
        "max_skew": optional_uint(options, "max_clock_skew_ms"),
        "ack_timeout": optional_uint(options, "ack_timeout_ms"),
        "stream_timeout": optional_uint(options, "stream_timeout_ms"),
        "require_hello": adapter.flag(options, "require_hello"),
    }
    chosen = node.Options(**{name: value for name, value in given.items() if value is not None})
    supported = versions_of(params, "supported_versions") if params.get("supported_versions") is not None else SUPPORTED
    return {"node": nodes.add(node.Node(own, resolver_of(params), supported, relays_of(params), chosen))}


def node_receive(params: Params) -> Result:
    target = nodes.get(params)
    message, now = adapter.unhex(params, "message"), uint(params, "now")
    outcome = target.receive(message, now, adapter.optional_text(params, "peer"))
    replies = [reply.hex() for reply in outcome.replies]
    if outcome.kind == "reject":
        shown_outcome = rejected(outcome.refusal)
    else:
        shown_outcome = (
            {"outcome": "cached", "replies": replies} if outcome.kind == "cached" else accepted(outcome.opened)
        )
    return {"outcome": shown_outcome, "replies": replies, "effects": target.effects}


def node_send(params: Params) -> Result:
    target = nodes.get(params)
    to, typ, body = recipients(params.get("to")), uint(params, "typ"), body_of(params)
    ttl, now, encrypt = uint(params, "ttl"), uint(params, "now"), adapter.flag(params, "encrypt")
    return {"message": target.send(to, typ, body, ttl, now, encrypt).hex()}


def node_tick(params: Params) -> Result:
    sent, failed = nodes.get(params).tick(uint(params, "now"))
    return {"sent": [message.hex() for message in sent], "failed": [id_.hex() for id_ in failed]}


def node_close(params: Params) -> Result:
    nodes.remove(params)
    return {}


# --- Negotiations ---------------------------------------------------------------------------------------------------------


def negotiation_open(params: Params) -> Result:
    """Both roles begin in the same state: an initiator sends its HELLO on `send_hello`."""
    if adapter.text(params, "role") not in ("initiator", "responder"):
        raise wrong("role must be initiator or responder")
    opened = negotiation.Negotiation(versions_of(params, "supported"))
    return {"negotiation": negotiations.add(opened), "state": opened.state}


def negotiation_event(params: Params) -> Result:
    target, event, data = negotiations.get(params), adapter.text(params, "event"), params.get("data")
    handle = _EVENTS.get(event)
    if handle is None:
        raise wrong("unknown event")
    result: Result = {}
    try:
        sent = handle(target, data)
        if sent is not None:
            result["send"] = {"typ": sent.type, "v": 1, "body": hexed(sent.body)}
    except Refusal as refusal:
        result["error"] = refusal.code
    return {"state": target.state, **result}


def _message_event(target: negotiation.Negotiation, data: Any) -> None:
    """`data` gives the v of the message: the number, an object with it, or the message itself."""
    if isinstance(data, dict):
        data = data.get("v")
    elif isinstance(data, str) and len(data) > 20:
        data = envelope.message_map(adapter.unhex({"data": data}, "data")).get("v")
    target.message(None if data is None else number(data, "v"))


_EVENTS: dict[str, Callable[[negotiation.Negotiation, Any], Any]] = {
    "send_hello": lambda target, data: target.send_hello(),
    "hello": lambda target, data: target.hello(value_of(data)),
    "hello_ack": lambda target, data: target.hello_ack(value_of(data)),
    "hello_reject": lambda target, data: target.hello_reject(Map() if data is None else value_of(data)),
    "message": _message_event,
}


# --- Streams ----------------------------------------------------------------------------------


def stream_open(params: Params) -> Result:
    adapter.text(params, "sender")
    start = adapter.unhex(params, "start")
    return or_code(lambda: {"stream": streams.add(stream.Receiver(cbor.decode(start)))})


def stream_chunk(params: Params) -> Result:
    target, index, data = streams.get(params), uint(params, "index"), adapter.unhex(params, "data")

    def take() -> Result:
        target.chunk(index, data)
        return {"state": target.state, "received": target.received}

    return or_code(take)


def stream_end(params: Params) -> Result:
    target, digest = streams.get(params), adapter.unhex(params, "hash")
    try:
        complete = target.end(digest)
    except Refusal as refusal:
        return {"state": target.state, "complete": False, "verified": False, "code": refusal.code}
    result = {"state": target.state, "complete": complete, "verified": target.verified}
    if complete:
        result["data"], result["ack"] = target.data.hex(), hexed(target.ack(document.wall_clock()))
    return result


def stream_sender_open(params: Params) -> Result:
    names = (adapter.text(params, name) for name in ("filename", "content_type"))
    target = stream.Sender(
        adapter.text(params, "stream_id"), adapter.unhex(params, "data"), uint(params, "chunk_size"), *names
    )
    messages = [{"typ": typ, "body": hexed(body)} for typ, body in target.messages()]
    return {"stream": senders.add(target), "messages": messages}


def stream_sender_event(params: Params) -> Result:
    target, event = senders.get(params), adapter.text(params, "event")
    if event == "ack":
        body = value_of(params.get("data"))
        with contextlib.suppress(Refusal):  # other messages confirm nothing
            target.ack(body)
    elif event == "error":
        target.error()
    elif event == "timeout":
        target.timeout()
    else:
        raise wrong("event must be ack, error or timeout")
    return {"state": target.state, "failed": target.failed}

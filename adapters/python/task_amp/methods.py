"""The methods of the adapter: params to calls of the library, and answers back to JSON-RPC.

Replace this file to test your own library.
"""

from __future__ import annotations

from typing import Callable

import adapter

from . import engines, messages, rules, words

NAME = "task-amp-python"
FAILED, MALFORMED, INVALID, NOT_ADDRESSED = -32000, -32010, -32011, -32012

Params = dict
Result = dict

_engines: dict[str, engines.Engine] = {}


# --- Params -------------------------------------------------------------------------------------------------------------


def _object(params: Params, name: str) -> dict:
    value = params.get(name)
    if not isinstance(value, dict):
        raise adapter.Failure(adapter.INVALID_PARAMS, f"{name} must be an object")
    return value


def _count(params: Params, name: str) -> int:
    value = adapter.optional_count(params, name, 0)
    if value is None:
        raise adapter.Failure(adapter.INVALID_PARAMS, f"{name} is missing")
    return value


def _engine(params: Params) -> engines.Engine:
    found = _engines.get(adapter.text(params, "engine"))
    if found is None:
        raise adapter.Failure(adapter.INVALID_PARAMS, "unknown engine")
    return found


def _validity(errors: list) -> Result:
    return {"valid": not errors, "errors": errors}


def _invalid(error: messages.Invalid) -> adapter.Failure:
    return adapter.Failure(INVALID, str(error), {"errors": error.errors})


# --- Messages -----------------------------------------------------------------------------------------------------------


def info(params: Params) -> Result:
    return {"name": NAME, "version": "0.1.0", "ops": sorted(METHODS), "roles": sorted(engines.ROLES)}


def validate(params: Params) -> Result:
    dispatch, receiver = params.get("dispatch"), adapter.optional_text(params, "receiver")
    if dispatch is not None and rules.errors_of(dispatch):
        raise adapter.Failure(adapter.INVALID_PARAMS, "the dispatch is not valid")
    if "raw_hex" not in params:
        return _validity(rules.errors_of(params.get("message"), dispatch, receiver))
    try:
        message = words.read(adapter.unhex(params, "raw_hex"))
    except words.NotJson:
        return _validity([{"code": "invalid_json", "path": ""}])
    return _validity(rules.errors_of(message, dispatch, receiver))


def validate_payload(params: Params) -> Result:
    return _validity(rules.payload_errors(params.get("type"), params.get("payload")))


def parse_msg_id(params: Params) -> Result:
    parts = words.parts_of(params.get("msg_id"))
    if parts is None:
        raise adapter.Failure(MALFORMED, "not a msg_id")
    return dict(zip(("type", "task_id", "unix_ms"), parts))


def make_msg_id(params: Params) -> Result:
    made = words.msg_id(adapter.text(params, "type"), adapter.text(params, "task_id"), _count(params, "unix_ms"))
    if words.parts_of(made) is None:
        raise adapter.Failure(MALFORMED, "these parts make no msg_id")
    return {"msg_id": made}


def build(params: Params) -> Result:
    type_, sender, addressee, task_id = (adapter.text(params, name) for name in ("type", "from", "to", "task_id"))
    more = {name: params.get(name) for name in ("requires_ack", "ack_timeout_sec", "context_ref")}
    try:
        message = messages.build(type_, sender, addressee, task_id, params.get("payload"), _count(params, "now_ms"), **more)  # type: ignore[arg-type]
    except messages.Invalid as error:
        raise _invalid(error) from None
    return {"message": message, "raw_hex": words.encode(message).hex()}


def check_route(params: Params) -> Result:
    return {"allowed": rules.allowed(params.get("type"), params.get("from"), params.get("to"))}


def ack_required(params: Params) -> Result:
    if params.get("type") not in words.TYPES:
        raise adapter.Failure(adapter.INVALID_PARAMS, "unknown type")
    return {"required": params["type"] in words.WORKING}


def ack_timeout(params: Params) -> Result:
    return {"ack_timeout_sec": words.timeout_of(_object(params, "message"))}


def ack(params: Params) -> Result:
    message = _object(params, "message")
    adapter.text(message, "msg_id")
    try:
        return {"ack": messages.ack(message, adapter.text(params, "actor"), _count(params, "now_ms"))}
    except messages.NotAddressed as error:
        raise adapter.Failure(NOT_ADDRESSED, str(error)) from None


# --- Engines ------------------------------------------------------------------------------------------------------------


def engine_new(params: Params) -> Result:
    role, config = adapter.text(params, "role"), params.get("config") or {}
    if role not in engines.ROLES:
        raise adapter.Failure(adapter.INVALID_PARAMS, f"unknown role {role}")
    heartbeat = config.get("heartbeat_timeout_sec", words.HEARTBEAT)
    if rules.integer(1)(heartbeat):
        raise adapter.Failure(adapter.INVALID_PARAMS, "heartbeat_timeout_sec must be a positive integer")
    name = f"e{engine_new.count}"  # type: ignore[attr-defined]
    engine_new.count += 1  # type: ignore[attr-defined]
    _engines[name] = engines.ROLES[role](_count(params, "now_ms"), heartbeat)
    return {"engine": name}


engine_new.count = 1  # type: ignore[attr-defined]


def engine_feed(params: Params) -> Result:
    try:
        return {"outputs": _engine(params).feed(params.get("event"))}
    except messages.Invalid as error:
        raise _invalid(error) from None
    except engines.BadEvent as error:
        raise adapter.Failure(adapter.INVALID_PARAMS, str(error)) from None


def engine_advance(params: Params) -> Result:
    return {"outputs": _engine(params).advance(_count(params, "ms"))}


def engine_state(params: Params) -> Result:
    engine, task_id = _engine(params), adapter.text(params, "task_id")
    if task_id not in engine.tasks:
        raise adapter.Failure(FAILED, "unknown task", {"kind": "unknown_task"})
    return engine.tasks[task_id].record()


def engine_close(params: Params) -> Result:
    _engine(params)
    del _engines[params["engine"]]
    return {}


METHODS: dict[str, Callable[[Params], Result]] = {
    method.__name__: method
    for method in (
        info,
        validate,
        validate_payload,
        parse_msg_id,
        make_msg_id,
        build,
        check_route,
        ack_required,
        ack_timeout,
        ack,
        engine_new,
        engine_feed,
        engine_advance,
        engine_state,
        engine_close,
    )
}
TABLE: dict[str, Callable[[Params], Result]] = {f"task-amp/{name}": method for name, method in METHODS.items()}


def table() -> dict[str, Callable[[Params], Result]]:
    return dict(TABLE)

"""The methods of the adapter: params to calls of the library, and answers back to JSON-RPC.

Replace this file to test your own library.
"""

from __future__ import annotations

import os
import time
from datetime import timedelta
from typing import Callable

import adapter

from . import client, contexts, declarations, envelope, registry, security, text
from .agent import AGENT_ID, ENDPOINTS, IDENTITY, Agent, Settings
from .model import HTTP_STATUS, INVALID_SCHEMA, TAXONOMY, VERSION, Refusal, instant, is_number

NAME = "meshai-python"
REJECTED, DENIED = -32001, -32003
# What this library declares where it takes part in a mesh.
DECLARED = {
    "id": "text-analysis",
    "version": "1.0",
    "description": "Counts characters and words of a text.",
    "input_schema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    "output_schema": {"type": "object"},
    "constraints": {"max_input_length": 10000, "supported_languages": ["en"], "response_time_ms": 1000},
}
KINDS = ("request", "response", "error", *[kind for kind in envelope.PARTS if kind != "request"])

Params = dict
Result = dict


def _configured() -> Settings:
    """The authentication methods that the environment demands, for a target file with the same keys."""
    key = os.environ.get
    return Settings(api_key=key("MESHAI_API_KEY"), jwt_key=key("MESHAI_JWT_KEY"), hmac_key=key("MESHAI_HMAC_KEY"))


class Library:
    """The state between two calls."""

    def __init__(self, settings: Settings) -> None:
        self.agent, self.calls = Agent(settings), client.Calls()


library = Library(_configured())


# --- Params -------------------------------------------------------------------------------------------------------------


def _object(params: Params, name: str) -> dict:
    value = params.get(name)
    if not isinstance(value, dict):
        raise adapter.Failure(adapter.INVALID_PARAMS, f"{name} must be an object")
    return value


def _list(params: Params, name: str) -> list:
    value = params.get(name)
    if not isinstance(value, list):
        raise adapter.Failure(adapter.INVALID_PARAMS, f"{name} must be an array")
    return value


def _time(params: Params, name: str):
    found = instant(params.get(name))
    if found is None:
        raise adapter.Failure(adapter.INVALID_PARAMS, f"{name} must be an RFC 3339 time")
    return found


def _rejected(refusal: Refusal) -> adapter.Failure:
    return adapter.Failure(DENIED if refusal.denied else REJECTED, refusal.message, refusal.error())


def _refusing(method: Callable[[Params], Result]) -> Callable[[Params], Result]:
    def answer(params: Params) -> Result:
        try:
            return method(params)
        except Refusal as refusal:
            raise _rejected(refusal) from None

    return answer


# --- Methods ------------------------------------------------------------------------------------------------------------


def info(params: Params) -> Result:
    return {
        "name": NAME,
        "version": "0.1.0",
        "roles": ["agent", "registry", "context-store", "client"],
        "protocols": [f"{family}/{VERSION}" for family in ("AMP", "AIP")],
        "transports": ["http"],
        "auth": ["api_key", "jwt", "hmac"],
        "canonical": "jcs",
        "encoding": "base64",
        "features": {"registry": True, "context": True, "negotiation": True, "delegation": True},
        "operations": sorted(TABLE),
    }


def reset(params: Params) -> Result:
    config = params.get("config") or {}
    auth, rate = config.get("auth") or {}, config.get("rate_limit")
    api_key, jwt, hmac = (auth.get(name) or {} for name in ("api_key", "jwt", "hmac"))
    library.__init__(  # type: ignore[misc]
        Settings(
            api_key=api_key.get("value"),
            jwt_key=jwt.get("key"),
            hmac_key=hmac.get("key"),
            signature_required=hmac.get("required") is True,
            enforces_registration=config.get("enforce_registration") is True,
            rate=(rate["requests"], timedelta(milliseconds=rate["window_ms"])) if rate else None,
        )
    )
    if params.get("now") is not None:
        library.agent.set_clock(_time(params, "now"))
    return {}


def set_clock(params: Params) -> Result:
    library.agent.set_clock(_time(params, "now"))
    return {}


def define_capability(params: Params) -> Result:
    library.agent.offer(_object(params, "capability"), _object(params, "behaviour"))
    return {}


def parse(params: Params) -> Result:
    return {"envelope": envelope.read(adapter.unhex(params, "raw"))}


def encode(params: Params) -> Result:
    return {"raw": text.encode(_object(params, "envelope")).hex()}


def build(params: Params) -> Result:
    kind, fields = adapter.text(params, "kind"), dict(_object(params, "fields"))
    if kind not in KINDS:
        raise adapter.Failure(adapter.INVALID_PARAMS, f"unknown kind {kind}")
    if "request_raw" in fields:
        fields["request_raw"] = adapter.unhex(fields, "request_raw")
    return {"raw": text.encode(envelope.build(kind, fields, AGENT_ID, library.agent.now())).hex()}


def handle(params: Params) -> Result:
    answer = library.agent.handle(adapter.unhex(params, "raw"), adapter.optional_text(params, "authorization"))
    return {"raw": None if answer.raw is None else answer.raw.hex(), "http_status": answer.status}


def outbox(params: Params) -> Result:
    return {"sent": [{"to": entry["to"], "raw": entry["raw"].hex()} for entry in library.agent.sent()]}


def _validity(problems: list) -> Result:
    return {"valid": not problems, "problems": problems}


def validate_identity(params: Params) -> Result:
    return _validity(declarations.identity(params.get("agent"), complete=True))


def validate_capability(params: Params) -> Result:
    return _validity(declarations.capability(params.get("capability"), adapter.flag(params, "strict")))


def validate_context(params: Params) -> Result:
    return _validity(declarations.context(params.get("context")))


def taxonomy(params: Params) -> Result:
    return {"groups": TAXONOMY}


def error_codes(params: Params) -> Result:
    return {"codes": list(HTTP_STATUS)}


def match(params: Params) -> Result:
    return {"ids": [entry["agent"]["id"] for entry in registry.found(params.get("query"), _list(params, "agents"))]}


def context(params: Params) -> Result:
    operation = adapter.text(params, "op")
    if operation not in contexts.OPERATIONS:
        raise adapter.Failure(adapter.INVALID_PARAMS, f"unknown operation {operation}")
    return {"context": library.agent.contexts.call(operation, adapter.text(params, "agent_id"), _object(params, "parameters"))}


# --- Signatures and tokens ------------------------------------------------------------------------------------------------


def canonical(params: Params) -> Result:
    return {"bytes": security.signed_bytes(_object(_object(params, "envelope"), "message")).hex()}


def sign(params: Params) -> Result:
    return {"raw": text.encode(security.sign(_loosely(params), adapter.unhex(params, "key"))).hex()}


def verify(params: Params) -> Result:
    reason = security.verify(_loosely(params)["message"], adapter.unhex(params, "key"))
    return {"valid": reason is None, **({"reason": reason} if reason else {})}


def _loosely(params: Params) -> dict:
    """An envelope of which no more is needed than a message: signatures do not depend on the rest."""
    try:
        found = text.read(adapter.unhex(params, "raw"))
    except text.NotJson as error:
        raise Refusal(INVALID_SCHEMA, f"not JSON: {error}") from None
    if not isinstance(found, dict) or not isinstance(found.get("message"), dict):
        raise Refusal(INVALID_SCHEMA, "/message: an object is required")
    return found


def make_jwt(params: Params) -> Result:
    return {"token": security.make_token(_object(params, "claims"), adapter.unhex(params, "key"))}


def check_jwt(params: Params) -> Result:
    now = library.agent.now() if params.get("now") is None else _time(params, "now")
    claims, reason = security.check_token(adapter.text(params, "token"), adapter.unhex(params, "key"), now)
    return {"valid": False, "reason": reason} if claims is None else {"valid": True, "claims": claims}


# --- The client -----------------------------------------------------------------------------------------------------------


def negotiate_version(params: Params) -> Result:
    return {"agreed": envelope.agreed(_list(params, "offered"))}


def participate(params: Params) -> Result:
    requests = _list(params, "requests")
    # The agent signs up under the id that its requests come from (2.1).
    own = next((fields["source"]["agent_id"] for fields in requests if isinstance(fields.get("source"), dict)), AGENT_ID)
    registered = adapter.text(params, "registry_answer") == "success"
    sent = client.participate({**IDENTITY, "id": own}, ENDPOINTS, [DECLARED], registered, requests, library.agent.now())
    return {"sent": [raw.hex() for raw in sent]}


def invoke(params: Params) -> Result:
    delay = params.get("delay_ms") or 0
    if not is_number(delay) or delay < 0:
        raise adapter.Failure(adapter.INVALID_PARAMS, "delay_ms must be a number of milliseconds")
    asked = envelope.build("request", _object(params, "fields"), AGENT_ID, library.agent.now())
    done = client.outcome(asked, adapter.unhex(params, "peer_reply"))
    if adapter.text(params, "mode") == "async":
        return {"handle": library.calls.start(done, delay)}
    time.sleep(delay / 1000)
    return {"outcome": done}


def poll(params: Params) -> Result:
    try:
        done = library.calls.poll(adapter.text(params, "handle"))
    except KeyError:
        raise adapter.Failure(adapter.INVALID_PARAMS, "unknown handle") from None
    return {"done": done is not None, **({"outcome": done} if done is not None else {})}


METHODS: tuple[Callable[[Params], Result], ...] = (
    info,
    reset,
    set_clock,
    define_capability,
    parse,
    encode,
    build,
    handle,
    outbox,
    validate_identity,
    validate_capability,
    validate_context,
    taxonomy,
    error_codes,
    match,
    context,
    canonical,
    sign,
    verify,
    make_jwt,
    check_jwt,
    negotiate_version,
    participate,
    invoke,
    poll,
)
TABLE: dict[str, Callable[[Params], Result]] = {f"meshai/{method.__name__}": _refusing(method) for method in METHODS}


def table() -> dict[str, Callable[[Params], Result]]:
    return dict(TABLE)

"""One agent that is also a registry and a context store: from the bytes of a message to those of its reply."""

from __future__ import annotations

import copy
import difflib
import time
from collections import deque
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Callable

from . import contexts, declarations, envelope, schema, security, text
from .model import (
    AGENT_NOT_FOUND,
    AUTHENTICATION_FAILED,
    CAPABILITY_NOT_FOUND,
    DISCOVERY,
    HTTP_STATUS,
    INSUFFICIENT_RESOURCES,
    RATE_LIMIT_EXCEEDED,
    REGISTRATION,
    REGISTRY,
    TIMEOUT,
    VERSION,
    Refusal,
    instant,
    invalid,
    is_number,
    is_text,
    is_whole,
)
from .registry import Registry

AGENT_ID = "proofmark-meshai-python"
IDENTITY = {"id": AGENT_ID, "name": "MeshAI library in Python", "version": "1.0.0", "framework": "custom", "protocol_version": VERSION}
ENDPOINTS = {"invoke": "http://127.0.0.1:8080/aip/v1/invoke", "health": "http://127.0.0.1:8080/health"}
DEFAULT_TIMEOUT_MS = 30000  # E15
CONTEXT_CAPABILITIES = {f"context-{name}": name for name in contexts.OPERATIONS}  # E47
BEHAVIOURS = ("fixed", "echo", "sleep", "fail", "exhaust")


@dataclass
class Settings:
    """What the owner of the agent decides: the authentication methods in force, and limits."""

    api_key: str | None = None
    jwt_key: str | None = None
    hmac_key: str | None = None
    signature_required: bool = False
    enforces_registration: bool = False
    rate: tuple[int, timedelta] | None = None


@dataclass
class Answer:
    raw: bytes | None
    status: int


@dataclass
class Agent:
    settings: Settings = field(default_factory=Settings)
    sleep: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        self._shift = timedelta()
        self.registry = Registry()
        self.contexts = contexts.Contexts(self.now)
        self._offered: dict[str, tuple[dict, dict]] = {}
        self._calls: dict[str, deque] = {}
        self._sent: list[dict] = []

    # --- The clock, which tests set -----------------------------------------------------------------------------------

    def now(self) -> datetime:
        return datetime.now(timezone.utc) + self._shift

    def set_clock(self, now: datetime) -> None:
        self._shift = now - datetime.now(timezone.utc)

    # --- Capabilities -------------------------------------------------------------------------------------------------

    def offer(self, capability: dict, behaviour: dict) -> None:
        problems = declarations.capability(capability)
        if problems or behaviour.get("kind") not in BEHAVIOURS:
            raise invalid(problems[0]["reason"] if problems else "unknown behaviour", problems[0]["path"] if problems else "/behaviour/kind")
        self._offered[capability["id"]] = copy.deepcopy((capability, behaviour))

    def _entry(self) -> dict:
        return {"agent": IDENTITY, "capabilities": [capability for capability, _ in self._offered.values()], "endpoints": ENDPOINTS}

    def sent(self) -> list[dict]:
        """What was sent since the last call: completion callbacks."""
        out, self._sent = self._sent, []
        return out

    # --- Messages -----------------------------------------------------------------------------------------------------

    def handle(self, raw: bytes, authorization: str | None = None) -> Answer:
        asked: object = None
        try:
            try:
                asked = text.read(raw)
            except text.NotJson as error:
                raise invalid(f"not JSON: {error}") from None
            message = envelope.checked(asked)["message"]
            if message["type"] in ("response", "error"):
                return Answer(None, 202)  # nothing that this agent has asked for
            envelope.check_complete(message)
            self._authenticate(message, authorization)
            sender = message["source"]["agent_id"]
            if message["type"] == "event":
                self._event(sender, message["payload"])
                return Answer(None, 204)
            started = time.monotonic()
            own, payload = self._serve(sender, message)
            taken = int((time.monotonic() - started) * 1000)
            return self._answer(asked, "response", own, payload, 200, {"execution_time_ms": taken})
        except Refusal as refusal:
            status = 403 if refusal.denied else HTTP_STATUS[refusal.code]
            return self._answer(asked, "error", AGENT_ID, {"error": refusal.error()}, status)

    def _answer(self, asked: object, kind: str, own: str, payload: dict, status: int, headers: dict | None = None) -> Answer:
        built = envelope.reply(asked, kind, own, payload, self.now(), headers)
        if self.settings.hmac_key is not None:
            built = security.sign(built, self.settings.hmac_key.encode("utf-8"))
        return Answer(text.encode(built), status)

    def _authenticate(self, message: dict, authorization: str | None) -> None:
        settings = self.settings
        if settings.api_key is not None or settings.jwt_key is not None:
            given = message["headers"].get("authentication") or {}
            tokens = [given[name] for name in ("token", "credentials") if given.get(name) is not None]
            if authorization is not None:
                scheme, _, value = authorization.partition(" ")
                tokens.append(value.strip() if scheme.lower() == "bearer" else None)
            if not tokens:
                raise Refusal(AUTHENTICATION_FAILED, "credentials are required")
            # Wherever a credential stands, it has to be valid (E69).
            for token in tokens:
                self._check_credential(token, message["source"]["agent_id"])
        if settings.hmac_key is not None and (settings.signature_required or message["headers"].get("signature") is not None):
            reason = security.verify(message, settings.hmac_key.encode("utf-8"))
            if reason:
                raise Refusal(AUTHENTICATION_FAILED, f"the signature does not verify: {reason}")

    def _check_credential(self, token: object, sender: str) -> None:
        settings = self.settings
        reason = "not a text"
        if isinstance(token, str):
            if settings.api_key is not None and security.same_key(token, settings.api_key):
                return
            reason = "unknown key"
            if settings.jwt_key is not None:
                claims, why = security.check_token(token, settings.jwt_key.encode("utf-8"), self.now())
                if claims is not None and claims.get("agent_id", claims.get("sub")) == sender:
                    return
                reason = why or "the token is that of another agent"  # E75
        raise Refusal(AUTHENTICATION_FAILED, f"invalid credentials: {reason}")

    def _event(self, sender: str, payload: dict) -> None:
        if not is_text(payload.get("event_type")):
            raise invalid("a non-empty text is required", "/message/payload/event_type")
        if payload["event_type"] == "context_update":  # others are ignored (E27)
            self.contexts.event(sender, payload.get("context"))

    def _serve(self, sender: str, message: dict) -> tuple[str, dict]:
        """The agent that answers, and the payload of its response."""
        destination, payload = message["destination"], message["payload"]
        addressed = destination.get("agent_id")
        if addressed == REGISTRY:
            return REGISTRY, self._registry(destination.get("capability"), payload)
        if addressed not in (None, AGENT_ID):
            raise Refusal(AGENT_NOT_FOUND, f"unknown agent {addressed}")
        if self.settings.enforces_registration and sender not in self.registry:
            raise Refusal(AUTHENTICATION_FAILED, "the sender is not registered", denied=True)
        if "negotiation_type" in payload:
            return AGENT_ID, self._negotiated(payload)
        if "delegation" in payload:
            return AGENT_ID, self._delegated(message)
        return AGENT_ID, self._requested(sender, message)

    def _registry(self, operation: object, payload: dict) -> dict:
        if operation == REGISTRATION:
            return {"status": "success", "result": self.registry.register(payload)}
        if operation == DISCOVERY:
            return {"status": "success", "result": self.registry.discover(payload, [self._entry()])}
        raise self._unknown(operation, [REGISTRATION, DISCOVERY])

    def _unknown(self, name: object, offered: list) -> Refusal:
        near = difflib.get_close_matches(str(name), offered, 1)
        details = {"available_capabilities": sorted(offered), **({"suggestion": f"Try '{near[0]}' instead"} if near else {})}
        return Refusal(CAPABILITY_NOT_FOUND, f"Requested capability '{name}' not found", details)

    # --- Capability requests (section 3.1) ----------------------------------------------------------------------------

    def _requested(self, sender: str, message: dict) -> dict:
        payload = message["payload"]
        # The payload decides; the destination stands in for it where it is silent (E19).
        name = payload["capability"] if payload.get("capability") is not None else message["destination"].get("capability")
        if not is_text(name):
            raise invalid("a non-empty text is required", "/message/payload/capability")
        parameters = payload.get("parameters", {})
        if not isinstance(parameters, dict):
            raise invalid("an object is required", "/message/payload/parameters")
        self._check_context(payload.get("context"))
        self._count(sender)
        if name in CONTEXT_CAPABILITIES:
            return {"status": "success", "result": {"context": self.contexts.call(CONTEXT_CAPABILITIES[name], sender, parameters)}}
        return self._executed(name, parameters, message["headers"].get("timeout_ms") or DEFAULT_TIMEOUT_MS)

    @staticmethod
    def _check_context(given: object) -> None:
        """An open object; an unknown session does not prevent service (E28)."""
        if given is None:
            return
        if not isinstance(given, dict):
            raise invalid("an object", "/message/payload/context")
        if given.get("session_id") is not None and not isinstance(given["session_id"], str):
            raise invalid("a text", "/message/payload/context/session_id")
        if given.get("conversation_history") is not None and not isinstance(given["conversation_history"], list):
            raise invalid("an array", "/message/payload/context/conversation_history")

    def _count(self, sender: str) -> None:
        """The limit is counted for each source (E99)."""
        if self.settings.rate is None:
            return
        most, window = self.settings.rate
        calls, now = self._calls.setdefault(sender, deque()), self.now()
        while calls and calls[0] <= now - window:
            calls.popleft()
        if len(calls) >= most:
            raise Refusal(RATE_LIMIT_EXCEEDED, f"more than {most} requests")
        calls.append(now)

    def _executed(self, name: str, parameters: dict, timeout_ms: float) -> dict:
        if name not in self._offered:
            raise self._unknown(name, [*self._offered, *CONTEXT_CAPABILITIES])
        capability, behaviour = self._offered[name]
        wrong = schema.mismatch(parameters, capability["input_schema"])
        if wrong:
            raise invalid(f"parameters{wrong}", "/message/payload/parameters")
        most = (capability.get("constraints") or {}).get("max_input_length")
        if most is not None and _length(parameters) > most:
            raise invalid(f"longer than {most}", "/message/payload/parameters")  # E85
        kind, result = behaviour["kind"], behaviour.get("result", {})
        if kind == "exhaust":
            raise Refusal(INSUFFICIENT_RESOURCES, "no resources for this request")
        if kind == "fail":
            return {"status": "failed", "result": result}
        if kind == "sleep":
            asked = parameters.get("ms", behaviour.get("ms", 0))
            needed = asked if is_number(asked) and asked >= 0 else 0
            self.sleep(min(needed, timeout_ms) / 1000)
            if needed > timeout_ms:
                raise Refusal(TIMEOUT, f"not done after {timeout_ms} ms")
            return {"status": "success", "result": result or {"slept_ms": needed}}
        return {"status": "success", "result": copy.deepcopy(parameters if kind == "echo" else result)}

    # --- Negotiation and delegation (sections 4.2 and 4.3) --------------------------------------------------------------

    def _negotiated(self, payload: dict) -> dict:
        requirements = payload.get("requirements")
        if payload["negotiation_type"] != "capability_check":
            raise invalid("unknown", "/message/payload/negotiation_type")
        if not isinstance(requirements, dict):
            raise invalid("an object is required", "/message/payload/requirements")
        needed, tokens, deadline = (requirements.get(name) for name in ("capabilities", "estimated_tokens", "deadline"))
        if not isinstance(needed, list) or not all(map(is_text, needed)):
            raise invalid("an array of capability ids is required", "/message/payload/requirements/capabilities")
        if tokens is not None and not (is_whole(tokens) and tokens >= 0):
            raise invalid("a non-negative integer", "/message/payload/requirements/estimated_tokens")
        end = None if deadline is None else instant(deadline)
        if deadline is not None and end is None:
            raise invalid("an RFC 3339 time", "/message/payload/requirements/deadline")
        missing = [name for name in needed if name not in self._offered and name not in CONTEXT_CAPABILITIES]
        reason = f"not offered: {', '.join(missing)}" if missing else "the deadline is over" if end is not None and end <= self.now() else None
        return {"status": "success", "result": {"accepted": reason is None, **({"reason": reason} if reason else {})}}

    def _delegated(self, message: dict) -> dict:
        """Accepts a subtask and reports its completion; the id of the message identifies it (E45, E46)."""
        at, delegation = "/message/payload/delegation", message["payload"]["delegation"]
        subtask = delegation.get("subtask") if isinstance(delegation, dict) else None
        if not isinstance(subtask, dict):
            raise invalid("an object with a subtask is required", at)
        if not is_text(delegation.get("parent_task_id")):
            raise invalid("a non-empty text is required", f"{at}/parent_task_id")
        name, parameters, callback = (subtask.get(part) for part in ("capability", "parameters", "completion_callback"))
        if not is_text(name):
            raise invalid("a non-empty text is required", f"{at}/subtask/capability")
        if not isinstance(parameters, dict):
            raise invalid("an object is required", f"{at}/subtask/parameters")
        if not declarations.is_url(callback):
            raise invalid("an absolute URL is required", f"{at}/subtask/completion_callback")
        if name not in self._offered:
            raise self._unknown(name, list(self._offered))
        metadata = {"parent_task_id": delegation["parent_task_id"]}
        try:
            kind, done = "response", self._executed(name, parameters, message["headers"].get("timeout_ms") or DEFAULT_TIMEOUT_MS)
            done["metadata"] = metadata
        except Refusal as refusal:
            kind, done = "error", {"error": refusal.error(), "metadata": metadata}
        report = envelope.message(kind, {"agent_id": AGENT_ID}, {"agent_id": message["source"]["agent_id"]}, done, self.now())
        report["message"]["headers"]["correlation_id"] = message["id"]
        self._sent.append({"to": callback, "raw": text.encode(report)})
        return {"status": "success", "result": {"accepted": True}}


def _length(value: object) -> int:
    """The characters of all texts in a value."""
    if isinstance(value, dict):
        return sum(map(_length, value.values()))
    if isinstance(value, list):
        return sum(map(_length, value))
    return len(value) if isinstance(value, str) else 0

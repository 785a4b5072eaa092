"""A meshai node: one agent, a registry, or a mesh with both, a router and a context store. It takes a message and returns what
to answer; sockets are elsewhere.
"""

import asyncio
import copy
import json
import random
import re
import time
import urllib.parse
import uuid
from dataclasses import dataclass, field

import meshai_wire as wire
from meshai_contexts import Contexts, Refused, malformed
from meshai_registry import Registry, is_number, is_text

KEY = "proofmark-meshai-hmac-key-32byte"
API_KEY = "peer-key-7F3a"
VERSION = re.compile(r"(AMP|AIP)/(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)")
TYPES = ("request", "response", "event", "error")
MEMBERS = {
    "message": {"id", "type", "timestamp", "source", "destination", "headers", "payload"}, "source": {"agent_id", "session_id"},
    "destination": {"agent_id", "capability"},
    "headers": {"correlation_id", "priority", "timeout_ms", "routing_hints", "execution_time_ms", "authentication", "signature"},
}  # fmt: skip
STATUS = {
    "AGENT_NOT_FOUND": (404, 404), "CAPABILITY_NOT_FOUND": (404, 404), "CONTEXT_NOT_FOUND": (404, 404), "INVALID_SCHEMA": (400, 422),
    "AUTHENTICATION_FAILED": (403, 401), "RATE_LIMIT_EXCEEDED": (429, 429), "TIMEOUT": (504, 408), "INSUFFICIENT_RESOURCES": (503, 503),
    "AUTHORIZATION_FAILED": (403, 403), "AGENT_EXISTS": (409, 409), "CONTEXT_CONFLICT": (409, 409), "AGENT_UNREACHABLE": (502, 502),
}  # fmt: skip
STANDARD = ("AGENT_NOT_FOUND", "CAPABILITY_NOT_FOUND", "AUTHENTICATION_FAILED", "RATE_LIMIT_EXCEEDED", "TIMEOUT", "INVALID_SCHEMA", "CONTEXT_NOT_FOUND", "INSUFFICIENT_RESOURCES")
CONTEXT_OPERATIONS = ("create", "get", "update", "merge", "fork")
TEXT = {"type": "object", "properties": {"text": {"type": "string"}, "language": {"type": "string"}}, "required": ["text"]}
QUESTION = {"type": "object", "properties": {"question": {"type": "string"}}}
TOOL = {"type": "object", "properties": {"tool": {"enum": ["echo", "sleep", "fail", "exhaust"]}, "ms": {"type": "integer", "minimum": 0}}, "required": ["tool"]}
WORDS = {"type": "object", "properties": {"characters": {"type": "integer"}, "words": {"type": "integer"}}, "required": ["characters", "words"]}
MAXIMUM = 10_000


def declaration(name, description, takes, gives=None, latency=1000, **constraints):
    return {
        "id": name, "version": "1.0", "description": description, "input_schema": takes, "output_schema": gives or {"type": "object"},
        "constraints": {"response_time_ms": latency, **constraints},
    }  # fmt: skip


FIRST = (
    declaration("text-analysis", "Counts characters and words.", TEXT, WORDS, max_input_length=MAXIMUM, supported_languages=["en", "es"]),
    declaration("summarization", "Returns the first words.", {"type": "object", "properties": {"text": {"type": "string"}}}),
    declaration("question-answering", "Gives one answer to everything.", QUESTION),
)
SECOND = (
    declaration("data-extraction", "Lists numbers.", {"type": "object"}, latency=2000),
    declaration("web-search", "Returns fixed results.", {"type": "object"}, latency=2500),
    declaration("tool-use", "Repeats, sleeps, fails or lacks resources.", TOOL, latency=3000),
)


@dataclass
class Answer:
    status: int
    body: bytes = b""
    kind: str = ""
    headers: list = field(default_factory=list)
    close: bool = False  # drop the connection
    end: bool = False  # the process stops serving


@dataclass
class Asked:
    """A message with what is known of it."""

    envelope: dict
    message: dict
    began: float
    transport: str = "http"
    authorization: str = ""
    key: str = ""

    def at(self, name):
        value = self.message.get(name)
        return value if isinstance(value, dict) else {}

    @property
    def sender(self):
        name = self.at("source").get("agent_id")
        return name if isinstance(name, str) else "unknown"


class Node:
    def __init__(self, ways, kind="mesh", name=None):
        self.ways, self.kind = ways, kind
        self.skew = 0.0  # of the clock, for tests
        self.pace = 1.0  # of sleeping, for tests
        self.id = name or ("registry" if kind == "registry" else "agent-a")
        self.agents = {}
        if kind == "agent":
            self.agents[self.id] = [*FIRST, *SECOND]
        elif kind == "mesh":
            self.agents = {"agent-a": list(FIRST), "agent-b": list(SECOND)}
        self.registry = Registry(ways) if kind != "agent" else None
        self.contexts = Contexts(ways, self.now)
        self.seen, self.windows, self.tasks = set(), {}, set()
        self.count, self.busy = 0, 0
        self.word = uuid.uuid4().hex[:6]
        self.last = {}  # for bugs that share state between requests
        self.post = None  # a coroutine function (url, bytes) -> (status, bytes) or None
        self.hushed = set()  # senders that a bug no longer serves
        prefix = "ctx." if ways.has("context-names-own") else "context-"
        self.operations = {prefix + n: n for n in CONTEXT_OPERATIONS}
        self.declare()

    def declare(self):
        """Gives the declarations the form of the choices, and lists the own agents in the registry."""
        ways = self.ways
        shapes = {"result-text": {"type": "string"}, "result-list": {"type": "array"}, "result-number": {"type": "integer"}}
        gives = shapes.get(ways.pick("result"), WORDS)
        for name, declared in self.agents.items():
            self.agents[name] = [{**d, "output_schema": gives} if d["id"] == "text-analysis" else d for d in declared]
        if self.registry is None or self.kind != "mesh" or ways.bug("own-agents-unlisted"):
            return
        for name in self.agents:
            self.registry.records.append({"agent": self.identity(name), "capabilities": self.declared(name), "endpoints": {}, "authentication": None})

    def identity(self, name):
        return {"id": name, "name": f"peer {name}", "version": "1.0.0", "framework": "custom", "protocol_version": "1.0"}

    def declared(self, name):
        """The declarations of an agent as others see them."""
        found = copy.deepcopy(self.agents[name])
        if self.ways.has("declares-references"):
            for capability in found:
                capability["input_schema"] = {"$ref": f"#/definitions/{capability['id']}Input"}
                capability["output_schema"] = {"$ref": f"#/definitions/{capability['id']}Output"}
        if self.ways.bug("declared-output-differs"):
            found[0]["output_schema"] = {"type": "object", "required": ["sentiment"]}
        if self.ways.bug("declares-what-it-does-not-serve"):
            found = [c for c in found if c["id"] != "text-analysis"]
        return found

    def now(self):
        return time.time() + self.skew

    def later(self, coroutine):
        task = asyncio.ensure_future(coroutine)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    # --- Replies ------------------------------------------------------------------------------------------------------

    def new_id(self, asked, kind):
        ways = self.ways
        self.count += 1
        request_id = asked.message.get("id") if asked else None
        if ways.bug("reply-id-is-request-id") and request_id:
            return request_id
        if ways.bug("error-id-constant") and kind == "error":
            return "error"
        if ways.bug("error-id-is-request-id") and kind == "error" and request_id:
            return request_id
        if ways.bug("id-constant"):
            return "reply"
        if ways.bug("id-by-second"):
            return f"reply-{int(self.now())}"
        if ways.bug("id-by-millisecond"):
            return f"reply-{int(self.now() * 50)}"
        if ways.bug("id-counter-per-sender") and asked:
            counts = ways.memory.setdefault("counts", {})
            counts[asked.sender] = counts.get(asked.sender, 0) + 1
            return f"reply-{counts[asked.sender]}"
        if ways.bug("id-counter-wraps"):
            return f"reply-{self.count % 3}"
        if ways.bug("id-of-served-requests-alone") and kind == "error":
            self.count -= 1
            return f"reply-{self.count}"
        if ways.bug("id-of-served-requests-alone"):
            return f"reply-{self.count}"
        if ways.bug("id-empty"):
            return ""
        if ways.bug("id-number"):
            return self.count
        if ways.has("id-counter"):
            return f"peer-{self.word}-{self.count}"
        if ways.has("id-long"):
            return f"répliqué {self.word} {self.count} " + "x" * 180
        return str(uuid.uuid4())

    def source_of(self, asked):
        """The agent that answers: the one that was addressed, or the one that has the capability."""
        if asked:
            name = asked.at("destination").get("agent_id")
            if isinstance(name, str) and (name in self.agents or name == "registry" and self.registry or name == self.id):
                return name
            if name is None and (found := self.agent_for(self.wanted(asked))) in self.agents:
                return found
        return self.id

    def wanted(self, asked):
        payload, destination = asked.at("payload"), asked.at("destination")
        name = payload.get("capability")
        return name if is_text(name) else destination.get("capability")

    def agent_for(self, capability):
        """The first agent that has a capability: an own one, or a registered one."""
        for name, declared in self.agents.items():
            if any(c["id"] == capability for c in declared):
                return name
        if capability in self.operations and self.agents:
            return next(iter(self.agents))
        if self.kind == "mesh":
            for record in self.registry.records:
                if any(c["id"] == capability for c in record["capabilities"]) and record["agent"]["id"] not in self.agents:
                    return record["agent"]["id"]
        return None

    def reply(self, asked, kind, payload, source=None):
        """An envelope that answers a message, which may be missing."""
        ways = self.ways
        nulls = ways.has("optional-members-null")
        family, minor = "AMP", 0
        if asked:
            found = VERSION.fullmatch(asked.envelope.get("protocol", "")) if isinstance(asked.envelope.get("protocol"), str) else None
            if found:
                family = found[1]
                if ways.has("speaks-1-1") and found[2] == "1" and kind != "error":
                    minor = min(int(found[3]), 1)
        if not ways.has("identifier-of-request"):
            family = "AMP" if ways.has("identifier-amp") else "AIP"
        protocol = f"{family}/1.{minor}"
        if ways.bug("version-echoed") and asked and isinstance(asked.envelope.get("protocol"), str):
            protocol = asked.envelope["protocol"]
        if ways.bug("reply-version-1-1"):
            protocol = f"{family}/1.1"
        if ways.bug("reply-version-of-the-newest"):
            self.last["minor"] = max(self.last.get("minor", 0), int(found[3]) if asked and found and found[2] == "1" else 0)
            protocol = f"{family}/1.{self.last['minor']}"
        protocol = {"reply-family-lower": protocol.lower(), "reply-version-word": f"{family}/v1", "reply-family-other": "MAP/1.0", "reply-protocol-number": 1.0}.get(ways.name, protocol)
        headers = {}
        correlates = self.correlation(asked, kind)
        if correlates is not None:
            headers["correlation_id"] = correlates
        elif nulls and kind == "response" or kind == "error" and ways.has("errors-null-correlation"):
            headers["correlation_id"] = None
        given = asked.at("headers") if asked else {}
        if not ways.has("headers-correlation-only"):
            headers |= {"priority": 5, "timeout_ms": 30000, "routing_hints": {}}
            if ways.has("headers-of-request"):
                good = {"priority": lambda v: isinstance(v, int) and not isinstance(v, bool), "timeout_ms": lambda v: isinstance(v, int) and v > 0, "routing_hints": lambda v: isinstance(v, dict)}
                headers |= {n: given[n] for n, test in good.items() if n in given and test(given[n])}
        if ways.bug("priority-as-text"):
            headers["priority"] = "5"
        if ways.bug("timeout-as-text"):
            headers["timeout_ms"] = "30000"
        if ways.bug("timeout-zero"):
            headers["timeout_ms"] = 0
        if ways.bug("hints-as-list"):
            headers["routing_hints"] = []
        message = {"id": self.new_id(asked, kind), "type": kind, "timestamp": wire.written(self.now(), ways)}
        if ways.bug("timestamp-copied") and asked:
            message["timestamp"] = asked.message.get("timestamp")
        if ways.bug("timestamp-of-the-start"):
            message["timestamp"] = ways.memory.setdefault("started", message["timestamp"])
        if ways.bug("timestamp-renewed-every-minute"):
            kept = ways.memory.setdefault("renewed", (self.now(), message["timestamp"]))
            if self.now() - kept[0] > 60:
                kept = ways.memory["renewed"] = (self.now(), message["timestamp"])
            message["timestamp"] = kept[1]
        message["source"] = {"agent_id": source or self.source_of(asked)}
        if ways.bug("source-copied") and asked:
            message["source"] = copy.deepcopy(asked.message.get("source"))
        if ways.bug("source-of-the-node"):
            message["source"] = {"agent_id": self.id if self.id != "agent-a" else "node-1"}
        if ways.bug("source-as-text"):
            message["source"] = self.id
        if ways.bug("source-missing-in-errors") and kind == "error":
            del message["source"]
        elif ways.has("session-returned") and asked and isinstance(asked.at("source").get("session_id"), str) and isinstance(message["source"], dict):
            message["source"]["session_id"] = asked.at("source")["session_id"]
        elif nulls and isinstance(message["source"], dict):
            message["source"]["session_id"] = None
        place = self.destination(asked)
        if place is not ... and not (kind == "error" and ways.has("errors-without-destination")):
            message["destination"] = place
        message["headers"] = headers
        if kind == "error" and ways.has("errors-without-headers") and asked and asked.transport == "http":
            del message["headers"]
        if nulls and "headers" in message:
            headers |= {"authentication": None, "signature": None, "tracing": None}
        message["payload"] = payload
        if ways.has("reply-with-extras"):
            message["x_peer"] = {"a": 1}
            headers["x_peer"] = "header"
            if isinstance(message["source"], dict):
                message["source"]["x_peer"] = 1
        envelope = {"protocol": protocol, "message": message}
        if ways.has("reply-with-extras"):
            envelope["x_peer"] = []
        return ways.change("reply", envelope, asked, self)

    def correlation(self, asked, kind):
        ways = self.ways
        if asked is None:
            return None
        own = asked.message.get("id")
        given = asked.at("headers").get("correlation_id")
        value = given if ways.has("correlates-by-header") and is_text(given) else own
        if kind == "error" and asked.transport == "http" and not ways.has("errors-correlate"):
            return None
        if ways.bug("correlation-shared-state"):
            value = self.last.get("correlation", value)
        if ways.bug("correlation-of-the-one-before"):
            value, self.last["before"] = self.last.get("before", value), value
        if ways.bug("correlation-lower-case") and isinstance(value, str):
            value = value.lower()
        if ways.bug("correlation-shortened") and isinstance(value, str):
            value = value[:32]
        if ways.bug("correlation-of-sender"):
            value = asked.sender
        return value if is_text(value) else None

    def destination(self, asked):
        """The destination of a reply; `...` for none."""
        ways = self.ways
        way = ways.pick("reply-destination")
        if ways.bug("destination-not-swapped") and asked:
            return copy.deepcopy(asked.message.get("destination"))
        if ways.bug("destination-of-the-last-requester"):
            name, self.last["requester"] = self.last.get("requester"), asked.sender if asked else None
            return {"agent_id": name} if name else ...
        if asked is None or way == "destination-none":
            return ... if not ways.has("optional-members-null") else None
        if way == "destination-null":
            return None
        if way == "destination-of-nobody":
            return {"agent_id": None}
        if way == "destination-empty":
            return {}
        place = {"agent_id": asked.sender}
        capability = asked.at("destination").get("capability")
        if way == "destination-with-capability" and is_text(capability):
            place["capability"] = capability
        return place

    def error(self, asked, refused):
        """The answer to a message that is refused."""
        ways = self.ways
        code = ways.code(refused.rule, refused.code)
        if refused.bare:
            return Answer(refused.bare)
        if refused.failed:
            return self.answer(200, self.reply(asked, "response", {"status": "failed", "metadata": {"reason": refused.text}}), asked)
        if refused.rule == "denied-success":
            return self.answer(200, self.reply(asked, "response", {"status": "success", "result": {}}), asked)
        details = refused.details
        way = ways.pick("details")
        if way == "details-none":
            details = details if refused.rule == "version" else None
        elif way == "details-other" and not details:
            details = {"reason": refused.rule, "help": ["see", "the", "manual"]}
        elif way == "details-suggestion" and details and "available_capabilities" in details and details["available_capabilities"]:
            details = {**details, "suggestion": f"Try '{details['available_capabilities'][0]}' instead"}
        error = {"code": code, "message": refused.text}
        if details is not None:
            error["details"] = details
        elif way == "details-null" or ways.has("optional-members-null"):
            error["details"] = None
        if ways.bug("error-code-lower"):
            error["code"] = code.lower().replace("_", "-")
        if ways.bug("error-code-camel"):
            error["code"] = code.title().replace("_", "")
        if ways.bug("error-code-number"):
            error["code"] = STATUS.get(code, (400,))[0]
        if ways.bug("error-code-with-prefix"):
            error["code"] = f"AMP.{code}"
        if ways.bug("error-without-message"):
            del error["message"]
        if ways.bug("error-message-empty"):
            error["message"] = ""
        if ways.bug("error-message-object"):
            error["message"] = {"text": refused.text}
        if ways.bug("details-as-list"):
            error["details"] = list((details or {}).items())
        if ways.bug("details-as-text"):
            error["details"] = json.dumps(details or {})
        if ways.bug("suggestion-as-list"):
            error["details"] = {**(details or {}), "suggestion": ["text-analysis"]}
        payload = {"error": error}
        if ways.bug("error-as-string"):
            payload = {"error": refused.text}
        if ways.bug("error-flat"):
            payload = {"error_code": code, "error_message": refused.text}
        if ways.bug("error-with-status-success"):
            payload["status"] = "success"
        if ways.bug("error-beside-payload"):
            payload = {}
        kind = "error"
        if ways.bug("error-as-response") or ways.bug(f"{code}-as-response"):
            kind, payload = "response", {"status": "failed", "error": error}
        if ways.bug("error-as-failed-result"):
            kind, payload = "response", {"status": "failed", "result": error}
        status = self.status_of(code)
        if ways.bug("bare-404-page") and code in ("CAPABILITY_NOT_FOUND", "AGENT_NOT_FOUND"):
            return Answer(404, b"<html><body>Not Found</body></html>", "text/html")
        if ways.bug("bare-500-for-errors"):
            return Answer(500, b"Internal Server Error", "text/plain")
        envelope = self.reply(asked, kind, payload)
        if ways.bug("error-beside-payload"):
            envelope["message"]["error"] = error
        return self.answer(status, envelope, asked)

    def status_of(self, code):
        way = self.ways.pick("error-status").removeprefix("status-")
        if way.isdigit():
            return int(way)
        return STATUS.get(code, (400, 422))[way == "other-mapping"]

    def answer(self, status, envelope, asked=None):
        """An envelope on its way out: signed if the choices say so."""
        ways = self.ways
        message = envelope["message"]
        if "hmac" in ways.pick("auth") and (ways.has("replies-signed")) and isinstance(message.get("headers"), dict):
            message["headers"].pop("signature", None)
            message["headers"]["signature"] = wire.signature(message, KEY, ways, envelope)
            if ways.bug("signed-before-the-last-change"):
                message["headers"]["execution_time_ms"] = 7
        text = wire.write(envelope, ways)
        if ways.bug("reply-with-comment"):
            text = b"// a reply\n" + text
        if ways.bug("reply-twice"):
            text = text + text
        if ways.bug("reply-in-array"):
            text = b"[" + text + b"]"
        if ways.bug("reply-message-only"):
            text = wire.write(message, ways)
        if ways.bug("reply-message-as-text"):
            text = wire.write({**envelope, "message": json.dumps(message)}, ways)
        if ways.bug("reply-latin-1"):
            text = json.dumps(envelope, ensure_ascii=False).encode("latin-1", "replace")
        kind = {"media-json": "application/json", "media-charset": "application/json; charset=utf-8", "media-text": "text/plain", "media-vendor": "application/vnd.amp+json", "media-none": ""}
        return Answer(status, text, kind[ways.pick("reply-media")])

    def success(self, asked, result, status=200, more=None, source=None):
        """A response to a request that was served."""
        ways = self.ways
        word = "partial" if ways.has("status-partial") else "success"
        word = {"status-ok": "ok", "status-upper": word.upper(), "status-completed": "completed", "status-boolean": True}.get(ways.name, word)
        payload = {"status": word}
        if result is not ...:
            payload["result"] = result
        if ways.bug("result-renamed"):
            payload["data"] = payload.pop("result", None)
        if ways.bug("result-beside-payload"):
            payload.pop("result", None)
        if ways.bug("status-missing"):
            del payload["status"]
        if ways.bug("response-with-error"):
            payload["error"] = {"code": "OK", "message": "no error"}
        payload |= more or {}
        way = ways.pick("metadata")
        if way == "metadata-some":
            payload["metadata"] = {"peer": "meshai", "kind": self.kind}
        elif way == "metadata-model":
            payload["metadata"] = {"model_used": "none-1", "tokens_consumed": 3}
        elif way == "metadata-null" or ways.has("optional-members-null"):
            payload["metadata"] = None
        if ways.bug("metadata-as-list"):
            payload["metadata"] = ["model", "none-1"]
        if ways.bug("metadata-model-object"):
            payload["metadata"] = {"model_used": {"name": "none"}, "tokens_consumed": 3}
        if ways.bug("metadata-tokens-as-text"):
            payload["metadata"] = {"tokens_consumed": "3"}
        if ways.bug("metadata-tokens-negative"):
            payload["metadata"] = {"tokens_consumed": -1}
        if ways.bug("metadata-tokens-fraction"):
            payload["metadata"] = {"tokens_consumed": 3.5}
        envelope = self.reply(asked, "request" if ways.bug("response-as-request") else "Response" if ways.bug("response-type-upper") else "response", payload, source)
        if ways.bug("result-beside-payload"):
            envelope["message"]["result"] = result
        if ways.bug("event-after-response"):
            envelope["message"]["type"] = "event"
        headers = envelope["message"].get("headers")
        if isinstance(headers, dict) and not ways.has("execution-time-none"):
            took = (time.monotonic() - asked.began) * 1000
            spent = int(took) // 10 * 10 if ways.has("execution-time-zero") else int(took)
            spent = {
                "execution-time-seconds": round(took / 1000, 3), "execution-time-whole-seconds": int(took / 1000), "execution-time-microseconds": int(took * 1000) + 1500,
                "execution-time-negative": -int(took) - 1, "execution-time-text": str(int(took)), "execution-time-instant": int(self.now() * 1000),
                "execution-time-of-the-uptime": int((self.now() - ways.memory.setdefault("up", self.now() - 9)) * 1000),
            }.get(ways.name, spent)  # fmt: skip
            headers["execution_time_ms"] = spent
        return self.answer(status, envelope, asked)

    # --- Taking a message ---------------------------------------------------------------------------------------------

    async def handle(self, data, authorization="", key="", transport="http"):
        """The answer to the bytes of a message."""
        ways = self.ways
        asked = None
        began = time.monotonic()
        try:
            if ways.has("size-1-mib") and len(data) > 1 << 20:
                return Answer(413)
            if ways.has("size-64-kib") and len(data) > 1 << 16:
                raise Refused("size", "MESSAGE_TOO_LARGE", "the message is too large")
            try:
                envelope = wire.read(data, ways)
            except ValueError as error:
                if ways.bug("crash-on-bad-json"):
                    return Answer(500, b"Traceback (most recent call last):", "text/plain")
                if ways.bug("empty-body-taken") and not data.strip():
                    return Answer(202)
                if ways.bug("bad-json-answered-200"):
                    return Answer(200, b'{"ok":false}', "application/json")
                way = ways.pick("not-json")
                if way == "not-json-bare":
                    return Answer(400)
                if way == "not-json-problem":
                    return Answer(400, b'{"title":"not JSON"}', "application/problem+json")
                raise Refused("not-json", "INVALID_SCHEMA", f"the body is not JSON: {error}") from None
            if isinstance(envelope, list) and envelope and (ways.bug("batch-executed") or ways.bug("batch-executed-and-refused") or ways.bug("array-of-one-executed") and len(envelope) == 1):
                answers = [await self.handle(json.dumps(e).encode(), authorization, key, transport) for e in envelope[:4]]
                if not ways.bug("batch-executed-and-refused"):
                    return answers[0]
            if isinstance(envelope, str) and ways.bug("text-parsed-again"):
                return await self.handle(envelope.encode(), authorization, key, transport)
            if isinstance(envelope, dict) and "message" not in envelope and "type" in envelope and ways.bug("inner-message-accepted"):
                envelope = {"protocol": "AMP/1.0", "message": envelope}
            if isinstance(envelope, dict) and isinstance(envelope.get("message"), dict):
                asked = Asked(envelope, envelope["message"], began, transport, authorization, key)
                self.last["correlation"] = asked.message.get("id")
            if ways.has("auth-before-structure"):
                self.authenticate(asked or Asked({}, {}, began, transport, authorization, key))
            if not isinstance(envelope, dict) and ways.bug("crash-on-non-object"):
                return Answer(500, b"Internal Server Error", "text/plain")
            if isinstance(envelope, dict) and not envelope and ways.bug("empty-object-taken"):
                return Answer(200, b"{}", "application/json")
            if envelope is None and ways.bug("null-taken"):
                return Answer(204)
            self.check_structure(envelope)
            if not ways.has("auth-before-structure"):
                self.authenticate(asked)
            self.check_signature(asked)
            return await self.dispatch(asked)
        except Refused as refused:
            if asked and asked.transport == "http" and refused.rule == "malformed" and ways.bug("crash-on-malformed"):
                return Answer(500, b"", "")
            return self.error(asked, refused)

    def structural(self, rule, what):
        way = self.ways.pick("malformed-code")
        if way == "malformed-bare":
            return Refused(rule, None, what, bare=400)
        return Refused(rule, "VALIDATION_ERROR" if way == "malformed-own" else "INVALID_SCHEMA", what)

    def check_structure(self, envelope):
        ways, bad = self.ways, self.structural
        skip = ways.skips
        if not isinstance(envelope, dict):
            raise bad("object", "a message is an object")
        if "protocol" not in envelope and not skip("protocol"):
            raise bad("protocol", "protocol is missing")
        if not isinstance(envelope.get("protocol", ""), str) and not skip("protocol-type"):
            raise bad("protocol", "protocol is a text")
        message = envelope.get("message")
        if not isinstance(message, dict):
            raise bad("message", "message is an object")
        kind = message.get("type")
        if ways.has("type-any-case") and isinstance(kind, str):
            kind = message["type"] = kind.lower()
        if kind is None and skip("type") or isinstance(kind, str) and kind not in TYPES and skip("type-unknown") or isinstance(kind, int) and skip("type-number"):
            kind = message["type"] = "request"
        if isinstance(kind, str) and skip("type-part") and kind.startswith("request"):
            kind = message["type"] = "request"
        if kind not in TYPES:
            raise bad("type", f"type is one of {', '.join(TYPES)}")
        payload = message.get("payload")
        if not isinstance(payload, dict):
            if not ("payload" not in message and skip("payload")) and not (isinstance(payload, list) and skip("payload-list")) and not (isinstance(payload, str) and skip("payload-text")) and not (payload is None and "payload" in message and skip("payload-null")):
                if ways.bug("payload-not-checked"):
                    raise ZeroDivisionError
                raise bad("payload", "payload is an object")
            source = message.get("destination") if isinstance(message.get("destination"), dict) else {}
            query = {"query": {"capabilities": ["text-analysis"]}} if source.get("capability") == "discovery" else {}
            message["payload"] = {"capability": source.get("capability"), "parameters": {"text": ""}, **query}
        for name in ("id", "timestamp", "source", "destination", "headers"):
            if name not in message and not ways.has(f"no-{name}-taken"):
                raise bad(name, f"{name} is missing")
        if "id" in message and not is_text(message["id"]):
            raise bad("id", "id is a text")
        for name in ("source", "destination", "headers"):
            if not isinstance(message.get(name, {}), dict):
                raise bad(name, f"{name} is an object")
        if "timestamp" in message and wire.instant(message["timestamp"]) is None and not ways.has("any-timestamp-taken"):
            raise bad("timestamp", "timestamp is an RFC 3339 date-time")
        if ways.bug("timestamp-with-z-only") and not str(message.get("timestamp")).endswith("Z"):
            raise bad("timestamp", "timestamp ends with Z")
        source, destination, headers = (message.get(n, {}) for n in ("source", "destination", "headers"))
        if "source" in message and not is_text(source.get("agent_id")) and not ways.has("no-source-taken"):
            raise bad("source", "source.agent_id is a text")
        for place, name in ((source, "session_id"), (destination, "agent_id"), (destination, "capability"), (headers, "correlation_id")):
            if place.get(name) is not None and not isinstance(place[name], str):
                raise bad(name, f"{name} is a text")
        self.check_headers(headers)
        if ways.has("unknown-members-refused"):
            for place, known in (("message", message), ("source", source), ("destination", destination), ("headers", headers)):
                if set(known) - MEMBERS[place]:
                    raise bad("members", f"unknown members in {place}")
        if ways.bug("session-refused") and "session_id" in source:
            raise bad("session", "unknown member session_id")
        if ways.bug("session-required") and "session_id" not in source:
            raise bad("session", "session_id is missing")
        if ways.has("published-limits"):
            names = [(source.get("agent_id"), r"[A-Za-z0-9._-]{1,128}"), (message.get("id"), r"[A-Za-z0-9_-]{1,64}"), (source.get("session_id"), r".{1,64}")]
            if any(isinstance(value, str) and not re.fullmatch(form, value) for value, form in names):
                raise bad("limits", "an id is too long, or has other characters")
        self.check_version(envelope.get("protocol"), source.get("agent_id"))
        sent = wire.instant(message.get("timestamp"))
        if ways.has("stale-refused") and sent is not None and not -60 < self.now() - sent < 60:
            raise bad("stale", "the message is too old, or from the future")
        if ways.bug("stale-after-five-seconds") and sent is not None and self.now() - sent > 5:
            raise bad("stale", "the message is too old")

    def check_headers(self, headers):
        ways, bad = self.ways, self.structural
        priority, timeout, hints = (headers.get(n) for n in ("priority", "timeout_ms", "routing_hints"))
        way = ways.pick("priority")
        if priority is not None and way != "priority-any":
            low, high = (1, 10) if way == "priority-1-to-10" else (0, 9)
            if ways.bug("priority-below-five-refused"):
                low = 5
            if ways.bug("priority-at-most-eight"):
                high = 8
            if not isinstance(priority, int) or isinstance(priority, bool) or not low <= priority <= high:
                raise bad("priority", f"priority is an integer from {low} to {high}")
        if timeout is not None and not ways.has("timeout-any"):
            low, high = (1000, 300_000) if ways.has("timeout-published") else (1, 10**12)
            if not isinstance(timeout, int) or isinstance(timeout, bool) or not low <= timeout <= high:
                raise bad("timeout", "timeout_ms is a positive integer")
        if hints is not None and not isinstance(hints, dict):
            raise bad("hints", "routing_hints is an object")
        if hints and ways.bug("hints-rejected"):
            raise bad("hints", "unknown hint")
        if ways.bug("strict-header-record") and set(headers) - {"correlation_id", "priority", "timeout_ms", "routing_hints"}:
            raise bad("members", "unknown header")
        if ways.pick("auth") == "auth-none" and ways.has("dummy-credentials-refused") and headers.get("authentication") is not None:
            raise bad("authentication", "no credentials are used here")

    def check_version(self, protocol, sender):
        ways = self.ways
        if ways.bug("any-protocol-accepted") or protocol is None or not isinstance(protocol, str):
            return
        versions = ["1.0", "1.1"] if ways.has("speaks-1-1") else ["1.0"]

        def unsupported(rule="version"):
            way = ways.pick("version-code")
            if way == "version-bare":
                return Refused(rule, None, "version", bare=400)
            details = {"supported_versions": versions}
            return Refused(rule, "UNSUPPORTED_VERSION" if way == "version-code-own" else "INVALID_SCHEMA", f"{protocol} is not supported", details)

        served = {"serves-amp-only": ("AMP",), "serves-aip-only": ("AIP",)}.get(ways.pick("identifiers"), ("AMP", "AIP"))
        if ways.bug("protocol-prefix-match") and protocol.startswith(tuple(f"{f}/" for f in served)):
            return
        if ways.bug("protocol-prefix-1") and protocol.startswith(tuple(f"{f}/1" for f in served)):
            return
        if ways.bug("protocol-any-family") and re.fullmatch(r"[A-Z]+/1\.\d+", protocol):
            return
        if ways.bug("protocol-any-case"):
            protocol = protocol.upper()
        if ways.bug("protocol-space-for-slash"):
            protocol = protocol.replace(" ", "/")
        if ways.bug("protocol-empty-taken") and not protocol:
            return
        if ways.bug("protocol-slash-optional"):
            protocol = re.sub(r"^(AMP|AIP)(?=\d)", r"\1/", protocol)
        found = VERSION.fullmatch(protocol)
        if not found or found[1] not in served:
            raise unsupported()
        major, minor = int(found[2]), int(found[3])
        if ways.bug("major-two-downgraded") and major == 2 or ways.bug("major-zero-served") and major == 0:
            return
        if major != 1:
            self.hushed.add(sender)
            raise unsupported()
        if ways.bug("refused-for-good-after-major-two") and sender in self.hushed:
            raise unsupported()
        if minor > 0 and ways.has("minor-refused"):
            raise unsupported()
        if ways.bug("minor-above-nine-crashes") and minor > 9:
            raise ZeroDivisionError

    # --- Credentials --------------------------------------------------------------------------------------------------

    def authenticate(self, asked):
        ways = self.ways
        way = ways.pick("auth")
        if way in ("auth-none", "auth-hmac"):
            return
        given = asked.at("headers").get("authentication")
        given = given if isinstance(given, dict) else {}
        names = ("credentials", "token") if ways.has("credentials-member-first") else ("token", "credentials")
        inside = next((given[n] for n in names if isinstance(given.get(n), str)), None)
        outside = asked.authorization or None
        if outside is not None:
            scheme, _, value = outside.partition(" ")
            good = scheme == "Bearer" if ways.bug("scheme-case-sensitive") else scheme.lower() == "bearer"
            outside = value.strip() if good else ""
        carrier = ways.pick("carrier")
        if carrier == "carrier-header":
            candidates = [outside]
        elif carrier == "carrier-message":
            candidates = [inside]
        elif carrier == "carrier-each":
            candidates = [c for c in (inside, outside) if c is not None] or [None]
        else:
            first, second = (inside, outside) if carrier == "carrier-message-first" else (outside, inside)
            candidates = [first if first is not None else second]
        place = asked.at("destination").get("capability")
        free = {
            "auth-not-for-discovery": place == "discovery", "auth-not-for-registration": place == "registration", "auth-not-for-contexts": place in self.operations,
            "auth-not-for-events": asked.message.get("type") == "event", "auth-not-over-websocket": asked.transport == "ws",
            "auth-not-for-negotiation": "negotiation_type" in asked.at("payload"), "auth-not-for-delegation": "delegation" in asked.at("payload"),
            "auth-not-for-unaddressed": asked.at("destination").get("agent_id") is None,
        }.get(ways.name)  # fmt: skip
        if free:
            return
        for candidate in candidates:
            if candidate is None and ways.bug("auth-optional"):
                continue
            if ways.bug("auth-sessions"):
                # A sender that was right once is known.
                if asked.sender in ways.memory.setdefault("known", set()):
                    continue
            problem = self.credential_problem(candidate, asked, way)
            if problem is None:
                ways.memory.setdefault("known", set()).add(asked.sender)
                continue
            bare = {"auth-bare-401": 401, "auth-bare-403": 403}.get(ways.pick("auth-answer"))
            if problem == "not a token" and ways.has("malformed-credentials-400"):
                bare = 400
            raise Refused("credentials", "AUTHENTICATION_FAILED", f"the credentials are not valid: {problem}", bare=bare)

    def credential_problem(self, given, asked, way):
        ways = self.ways
        if given is None:
            return "missing"
        if way == "auth-api-key":
            key = API_KEY
            if ways.bug("api-key-prefix") and key.startswith(given) or ways.bug("api-key-empty-taken") and not given:
                return None
            if ways.bug("api-key-extended") and given.startswith(key) or ways.bug("api-key-any-case") and given.lower() == key.lower():
                return None
            if ways.bug("api-key-by-length") and len(given) == len(key) or ways.bug("api-key-any") and given:
                return None
            if ways.bug("api-key-first-characters") and given[:8] == key[:8]:
                return None
            return None if given == key else "key"
        return wire.token_problem(given, KEY, self.now(), asked.sender, ways)

    def check_signature(self, asked):
        ways = self.ways
        if "hmac" not in ways.pick("auth"):
            return
        signature = asked.at("headers").get("signature")
        if signature is None:
            if not ways.has("unsigned-refused"):
                return
            problem = "missing"
        else:
            if ways.bug("hmac-not-for-contexts") and asked.at("destination").get("capability") in self.operations:
                return
            if ways.bug("hmac-not-for-events") and asked.message.get("type") == "event":
                return
            if ways.bug("hmac-not-for-registry") and asked.at("destination").get("agent_id") == "registry":
                return
            if wire.signed_well(asked.message, signature, KEY, ways, asked.envelope):
                return
            problem = "wrong"
            algorithm = signature.get("algorithm") if isinstance(signature, dict) else None
            if algorithm != "HMAC-SHA256" and ways.has("malformed-credentials-400"):
                raise Refused("signature", None, "unknown algorithm", bare=400)
        code = "SECURITY_ERROR" if ways.has("signature-own-code") else "AUTHENTICATION_FAILED"
        raise Refused("signature", code, f"the signature is {problem}")

    # --- Dispatch -----------------------------------------------------------------------------------------------------

    async def dispatch(self, asked):
        ways, kind = self.ways, asked.message["type"]
        if ways.has("repeat-refused") and is_text(asked.message.get("id")):
            pair = (asked.sender, asked.message["id"])
            if pair in self.seen:
                raise self.structural("repeat", "a message with this id was taken")
            self.seen.add(pair)
        if kind == "event":
            return self.event(asked)
        if kind in ("response", "error"):
            if ways.has("replies-taken"):
                return Answer(202)
            raise self.structural("unexpected", "no reply is awaited")
        payload, destination = asked.at("payload"), asked.at("destination")
        to, capability = destination.get("agent_id"), destination.get("capability")
        if self.registry is not None and to == "registry" and capability in ("registration", "discovery"):
            return self.registry_operation(asked, capability, payload)
        if ways.has("senders-enforced") and self.kind == "mesh" and self.registry.record(asked.sender) is None:
            if not ways.bug("enforced-for-contexts-only"):
                raise Refused("unregistered", "AUTHENTICATION_FAILED", f"{asked.sender} is not registered")
        if "negotiation_type" in payload and not ways.has("no-negotiation") and self.kind != "registry":
            return self.negotiate(asked, payload)
        if "delegation" in payload and not ways.has("no-delegation") and self.kind != "registry":
            return await self.delegate(asked, payload)
        return await self.request(asked, payload, to, capability)

    def registry_operation(self, asked, capability, payload):
        ways = self.ways
        if capability == "registration":
            record = self.registry.register(payload, asked.sender)
            way = ways.pick("registered-result")
            result = {"agent_id": record["agent"]["id"], "registered": True}
            if way == "registered-result-record":
                result = {n: copy.deepcopy(v) for n, v in record.items() if n != "authentication"}
            elif way != "registered-result-id":
                result = {} if way == "registered-result-empty" else ...
            return self.success(asked, result, 201 if ways.has("served-with-201") else 200)
        if ways.bug("discovery-answered-as-event"):
            return Answer(202)
        found = self.registry.discover(payload)
        if not found and ways.has("no-match-error"):
            raise Refused("no-match", "CAPABILITY_NOT_FOUND", "no agent matches")
        if not found and ways.bug("no-match-agent-error"):
            raise Refused("no-match", "AGENT_NOT_FOUND", "no agent matches")
        if not found and ways.bug("no-match-null"):
            return self.success(asked, {"agents": None})
        agents = [self.registry.entry(r) for r in found]
        if ways.bug("discovery-with-memory"):
            agents = [{**e, "memory": [c.private for c in self.contexts.kept.values()]} if isinstance(e, dict) else e for e in agents]
        if ways.bug("agents-as-map"):
            return self.success(asked, {"agents": {r["agent"]["id"]: e for r, e in zip(found, agents)}})
        way = ways.pick("agents-place")
        if way == "agents-in-payload":
            return self.success(asked, ..., more={"agents": agents})
        return self.success(asked, agents if way == "agents-are-result" else {"agents": agents, "count": len(agents)})

    def unknown_capability(self, name, agent):
        ways = self.ways
        ids = [c["id"] for c in self.agents.get(agent, ())] or [c["id"] for own in self.agents.values() for c in own]
        details = None
        if self.agents and ways.pick("details") in ("details-available", "details-suggestion"):
            details = {"available_capabilities": ids}
        if ways.bug("available-list-echoes"):
            details = {"available_capabilities": [*ids, name]}
        if ways.bug("available-list-empty"):
            details = {"available_capabilities": []}
        if ways.bug("available-list-of-objects"):
            details = {"available_capabilities": [{"id": i} for i in ids]}
        if ways.bug("available-list-as-text"):
            details = {"available_capabilities": ", ".join(ids)}
        if ways.bug("available-list-of-other-agent"):
            details = {"available_capabilities": [c["id"] for c in SECOND]}
        if ways.bug("errors-with-memory"):
            details = {**(details or {}), "contexts": [c.private for c in self.contexts.kept.values()]}
        return Refused("capability", "CAPABILITY_NOT_FOUND", f"there is no capability {name}", details)

    async def request(self, asked, payload, to, named):
        """A capability request."""
        ways = self.ways
        capability = payload.get("capability")
        if ways.bug("destination-capability-executed") and named:
            capability = named
        if capability is None and (ways.has("destination-capability-suffices") or self.kind == "registry"):
            capability = named
        if not is_text(capability):
            if ways.bug("no-capability-is-the-first"):
                capability = "text-analysis"
            else:
                raise self.structural("capability-type", "payload.capability is a text")
        if named is None and ways.bug("destination-capability-required"):
            raise self.structural("destination", "destination.capability is missing")
        if named is not None and named != capability and ways.has("mismatch-refused"):
            raise self.structural("mismatch", "destination and payload name different capabilities")
        parameters = payload.get("parameters")
        if parameters is None and not ways.has("parameters-required"):
            parameters = {}
        self.limit(asked, capability)
        if ways.bug("exhausted-for-good") and asked.sender in self.hushed:
            raise Refused("resources", "INSUFFICIENT_RESOURCES", "resources are exhausted")
        agent = self.address(asked, to, capability)
        if not isinstance(parameters, dict):
            if not (isinstance(parameters, list) and ways.skips("parameters-list")) and not (isinstance(parameters, str) and ways.skips("parameters-text")):
                raise Refused("parameters", "INVALID_SCHEMA", "parameters is an object")
            parameters = {"text": "", "tool": "echo"}
        self.check_context(payload)
        if capability in self.operations and not ways.has("no-context-store") and self.kind != "registry" and agent in self.agents:
            return self.context(asked, self.operations[capability], parameters)
        if agent not in self.agents:
            return await self.forward(asked, agent, capability)
        declared = {c["id"]: c for c in self.agents[agent]}
        if capability not in declared:
            if ways.bug("unknown-capability-fallback"):
                capability = next(iter(declared))
                parameters = {"text": "", **parameters}
            elif ways.bug("capability-by-prefix") and any(d.split("-")[0] == capability.split("-")[0] for d in declared):
                capability = next(d for d in declared if d.split("-")[0] == capability.split("-")[0])
            elif ways.bug("capability-ends-with-analysis") and capability.endswith("-analysis"):
                capability, parameters = "text-analysis", {"text": "", **parameters}
            else:
                raise self.unknown_capability(capability, agent)
        self.check_parameters(declared[capability], parameters)
        result = await self.in_time(asked, self.perform(capability, parameters, asked))
        if result is Refused:
            return self.answer(200, self.reply(asked, "response", {"status": "failed", "metadata": {"reason": "it was asked to fail"}}), asked)
        if ways.bug("context-leaks-into-results") and isinstance(result, dict):
            session = asked.at("payload").get("context", {}).get("session_id")
            result["context"] = [c.private for c in self.contexts.kept.values() if c.session == session]
        if ways.bug("result-of-the-one-before"):
            result, self.last[asked.sender] = self.last.get(asked.sender, result), result
        if ways.bug("result-of-the-first") and capability == "tool-use":
            result = self.last.setdefault("first", result)
        if ways.bug("results-cached-by-capability"):
            result = self.last.setdefault(f"result {capability} {sorted(parameters)}", result)
        if ways.bug("results-cached-by-sender"):
            result = self.last.setdefault(f"result {asked.sender}", result)
        return self.success(asked, result, source=agent if to is None or to == agent else None)

    def address(self, asked, to, capability):
        """The agent that a request is for."""
        ways = self.ways
        if to is None:
            if ways.bug("agent-id-required"):
                raise self.structural("destination", "destination.agent_id is missing")
            if self.kind == "agent":
                return self.id
            if self.kind == "registry":
                raise self.unknown_capability(capability, "registry")
            found = self.agent_for(capability)
            if ways.bug("unaddressed-to-the-last-agent"):
                return "agent-b"
            if found is None:
                raise self.unknown_capability(capability, None)
            return found
        if to in self.agents:
            return to
        if self.kind == "agent":
            if ways.has("foreign-agent-ignored"):
                return self.id
            raise Refused("agent", "AGENT_NOT_FOUND", f"there is no agent {to}")
        if to == "registry":
            raise self.unknown_capability(capability, "registry")
        if self.kind == "mesh" and self.registry.record(to):
            return to
        if ways.bug("unknown-agent-served-by-capability") and self.agent_for(capability):
            return self.agent_for(capability)
        if ways.bug("unknown-agent-is-unknown-capability"):
            raise self.unknown_capability(capability, None)
        raise Refused("agent", "AGENT_NOT_FOUND", f"there is no agent {to}")

    def check_context(self, payload):
        ways = self.ways
        given = payload.get("context")
        if ways.bug("context-required") and given is None:
            raise self.structural("context", "payload.context is missing")
        if given is None or ways.has("context-unchecked"):
            return
        if not isinstance(given, dict):
            raise Refused("inline", "INVALID_SCHEMA", "payload.context is an object")
        if ways.bug("known-context-members-only") and set(given) - {"session_id", "conversation_history"}:
            raise Refused("inline", "INVALID_SCHEMA", "unknown members in payload.context")
        if ways.bug("context-session-required") and "session_id" not in given:
            raise Refused("context", "CONTEXT_NOT_FOUND", "payload.context has no session_id")
        session, history = given.get("session_id"), given.get("conversation_history")
        if session is not None and not isinstance(session, str) or history is not None and not isinstance(history, list):
            raise Refused("inline", "INVALID_SCHEMA", "payload.context has a member of a wrong type")
        if session is not None and ways.has("context-reference"):
            self.contexts.by_session(session, "request")

    def check_parameters(self, declared, parameters):
        ways = self.ways
        if ways.bug("schema-ignored"):
            return
        if ways.bug("schema-checked-once"):
            # Only the first request of a capability is validated.
            if declared["id"] in ways.memory.setdefault("checked", set()):
                return
            ways.memory["checked"].add(declared["id"])
        problem = wire.schema_problem(parameters, declared["input_schema"], ways)
        longest = max((len(v) for v in parameters.values() if isinstance(v, str)), default=0)
        most = declared["constraints"].get("max_input_length")
        if problem is None and most is not None and not ways.has("maximum-not-enforced"):
            if longest > most or ways.bug("maximum-off-by-one") and longest == most:
                problem = "longer than max_input_length"
        if problem is not None:
            if ways.bug("invalid-parameters-failed"):
                raise Refused("denied-success", None, "")
            raise Refused("schema", "INVALID_SCHEMA", f"the parameters do not fit the schema: {problem}")

    def limit(self, asked, capability):
        """Counts a capability request of a source; Refused beyond the limit."""
        ways = self.ways
        if not ways.has("rate-limited") or capability in self.operations:
            return
        now = time.monotonic()
        sender = "all" if ways.bug("rate-of-all-sources") else asked.sender
        window = [t for t in self.windows.get(sender, []) if now - t < 1 or ways.bug("rate-never-recovers")]
        most = 19 if ways.bug("rate-limit-one-less") else 40 if ways.bug("rate-limit-doubled") else 20
        if len(window) >= most and not ways.bug("rate-not-limited"):
            self.windows[sender] = window
            code = "INSUFFICIENT_RESOURCES" if ways.bug("rate-code-resources") else "RATE_LIMIT_EXCEEDED"
            raise Refused("rate", code, "too many requests", bare=429 if ways.has("rate-bare-429") else None)
        self.windows[sender] = [*window, now]

    async def in_time(self, asked, work):
        """The result of a coroutine, or TIMEOUT."""
        ways = self.ways
        given = asked.at("headers").get("timeout_ms")
        limit = given if is_number(given) and given > 0 else 30000
        if ways.bug("timeout-in-seconds"):
            limit *= 1000
        if ways.bug("timeout-fixed-one-second"):
            limit = 1000
        if ways.bug("timeout-at-least-five-seconds"):
            limit = max(limit, 5000)
        if ways.bug("timeout-a-tenth"):
            limit /= 10
        if ways.bug("timeout-ignored") or ways.has("timeout-up-to-requester"):
            return await work
        try:
            return await asyncio.wait_for(work, limit / 1000 * self.pace)
        except asyncio.TimeoutError:
            if ways.has("timeout-late"):
                await asyncio.sleep(0.4 * self.pace)
            if ways.bug("timeout-two-seconds-late"):
                await asyncio.sleep(2 * self.pace)
            if ways.bug("timeout-with-partial-result"):
                return {"partial": True}
            if ways.bug("timeout-without-answer"):
                await asyncio.sleep(30 * self.pace)
            raise Refused("timeout", "TIMEOUT", f"it took longer than {limit} ms") from None

    async def perform(self, capability, parameters, asked):
        """The result of an own capability; `Refused` for one that fails."""
        ways = self.ways
        if ways.bug("parameters-lost"):
            parameters = {n: parameters[n] for n in ("tool", "text") if n in parameters}
        if ways.bug("parameters-of-the-last-request"):
            self.last["parameters"] = parameters
            await asyncio.sleep(0.01 * self.pace)
            parameters = self.last["parameters"]
        if capability == "text-analysis":
            text = parameters.get("text", "")
            text = text if isinstance(text, str) else str(text)
            result = {"characters": len(text), "words": len(text.split())}
            return {"result-text": f"{len(text)} characters", "result-list": [len(text), len(text.split())], "result-number": len(text)}.get(ways.pick("result"), result)
        if capability == "summarization":
            return {"summary": " ".join(str(parameters.get("text", "")).split()[:3])}
        if capability == "question-answering":
            return {"answer": "It depends.", "confidence": 0.5, "sources": []}
        if capability == "data-extraction":
            return {"numbers": re.findall(r"\d+", json.dumps(parameters))}
        if capability == "web-search":
            return {"results": [{"title": "Agents in a mesh", "rank": 1}]}
        tool = parameters["tool"]
        if tool == "echo":
            return {"echo": parameters, "tool": tool}
        if tool == "sleep":
            await asyncio.sleep(parameters.get("ms", 0) / 1000 * self.pace)
            return {"slept": parameters.get("ms", 0)}
        if tool == "exhaust":
            self.hushed.add(asked.sender)
            if ways.bug("exhaust-served"):
                return {"exhausted": True}
            if ways.bug("exhaust-failed"):
                return Refused
            raise Refused("resources", "INSUFFICIENT_RESOURCES", "resources are exhausted")
        return Refused

    # --- Contexts -----------------------------------------------------------------------------------------------------

    def context(self, asked, operation, parameters):
        agent = asked.sender
        if self.ways.bug("context-agent-of-session"):
            agent = self.last.setdefault("owner", agent)
        if self.ways.bug("agent-id-in-parameters-wins"):
            memory = parameters.get("context", {}) if isinstance(parameters.get("context"), dict) else {}
            agent = next(iter(memory.get("agent_memory") or {}), agent)
        if self.ways.bug("agent-ids-compared-without-last"):
            agent = agent[:-1]
        result = getattr(self.contexts, operation)(agent, parameters)
        if self.ways.bug(f"{operation}-result-bare"):
            return self.success(asked, result)
        return self.success(asked, {"context": result})

    def event(self, asked):
        ways = self.ways
        payload = asked.at("payload")
        kind = payload.get("event_type")
        if self.kind == "registry":
            raise self.structural("event", "a registry takes no events")
        try:
            if ways.has("senders-enforced") and self.kind == "mesh" and self.registry.record(asked.sender) is None:
                raise Refused("unregistered", "AUTHENTICATION_FAILED", f"{asked.sender} is not registered")
            if not is_text(kind):
                raise malformed("event_type is a text")
            if kind == "context_update":
                given = payload.get("context")
                if not isinstance(given, dict) and not ways.skips("event-context"):
                    raise malformed("context is an object")
                if isinstance(given, dict) and isinstance(given.get("shared_memory"), list) and ways.skips("event-memory"):
                    given = {**given, "shared_memory": {}}
                if ways.bug("event-answered-with-error"):
                    raise Refused("event", "CAPABILITY_NOT_FOUND", "there is no capability for this")
                if isinstance(given, dict):
                    self.contexts.event(asked.sender, given)
            elif ways.has("unknown-events-refused"):
                raise malformed(f"unknown event {kind}")
        except Refused as refused:
            if refused.rule == "malformed" and ways.has("malformed-event-failed"):
                return self.answer(200, self.reply(asked, "response", {"status": "failed"}), asked)
            if refused.rule == "malformed" and ways.bug("malformed-events-acknowledged"):
                return Answer(202)
            raise
        way = ways.pick("event-answer")
        if ways.bug("events-not-answered"):
            return Answer(500)
        if way == "event-response":
            return self.success(asked, {"taken": True})
        return {
            "event-202": Answer(202), "event-204": Answer(204), "event-200": Answer(200), "event-text": Answer(200, b"ok", "text/plain"),
            "event-object": Answer(202, b'{"taken":true}', "application/json"),
        }[way]  # fmt: skip

    # --- Negotiation and delegation -----------------------------------------------------------------------------------

    def negotiate(self, asked, payload):
        ways = self.ways
        needs = payload.get("requirements")
        if needs is None and ways.skips("requirements"):
            needs = {"capabilities": []}
        if not isinstance(needs, dict):
            raise self.structural("requirements", "requirements is an object")
        wanted = needs.get("capabilities", [])
        if isinstance(wanted, str) and ways.skips("needs-text"):
            wanted = [wanted]
        if not isinstance(wanted, list) or not all(isinstance(w, str) for w in wanted):
            raise self.structural("requirements", "capabilities is a list of texts")
        if ways.bug("negotiation-needs-tokens") and "estimated_tokens" not in needs:
            raise self.structural("requirements", "estimated_tokens")
        if ways.bug("negotiation-needs-deadline") and "deadline" not in needs:
            raise self.structural("requirements", "deadline")
        to = asked.at("destination").get("agent_id")
        names = [to] if to in self.agents else list(self.agents)
        known = {c["id"] for name in names for c in self.agents[name]} | set(self.operations)
        if self.kind == "mesh" and to not in self.agents:
            known |= {c["id"] for r in self.registry.records for c in r["capabilities"]}
        can = all(w in known for w in wanted)
        if ways.bug("negotiation-any"):
            can = any(w in known for w in wanted)
        if ways.bug("negotiation-first-only"):
            can = wanted[:1] == [] or wanted[0] in known
        if ways.bug("negotiation-last-only"):
            can = wanted[-1:] == [] or wanted[-1] in known
        if ways.bug("negotiation-always-yes"):
            can = True
        if ways.bug("negotiation-always-no"):
            can = False
        if ways.bug("negotiation-by-destination"):
            can = asked.at("destination").get("capability") in known
        if ways.bug("negotiation-remembers-yes"):
            can = self.last.get("yes", False) or can
            self.last["yes"] = can
        ends = needs.get("deadline")
        if ends is not None and not ways.has("past-deadline-taken"):
            seconds = wire.instant(ends)
            if seconds is None:
                raise self.structural("requirements", "deadline is an RFC 3339 date-time")
            can = can and seconds > self.now()
        if not can:
            way = ways.pick("declined")
            if way == "declines-by-failed":
                return self.answer(200, self.reply(asked, "response", {"status": "failed"}), asked)
            if way != "declines-by-false":
                raise Refused("declined", "CAPABILITY_NOT_FOUND" if way == "declines-by-capability-error" else "INSUFFICIENT_RESOURCES", "this cannot be done")
        name = {"says-accepted": "accepted", "says-can-execute": "can_execute", "says-available": "available", "says-supported": "supported"}[ways.pick("negotiated")]
        result = {name: can}
        if ways.has("negotiation-with-reason"):
            result |= {"reason": "all capabilities" if can else "not all capabilities", "capabilities": [w for w in wanted if w in known]}
        if ways.bug("negotiation-says-yes-or-no"):
            result[name] = "yes" if can else "no"
        if ways.bug("negotiation-result-boolean"):
            result = can
        return self.success(asked, result)

    async def delegate(self, asked, payload):
        ways = self.ways
        given = payload["delegation"]
        if not isinstance(given, dict):
            if ways.skips("delegation-type"):
                return self.success(asked, {"task_id": "none"})
            raise self.structural("delegation", "delegation is an object")
        parent, subtask = given.get("parent_task_id"), given.get("subtask")
        if not is_text(parent) and not ways.has("no-parent-taken"):
            raise self.structural("delegation", "parent_task_id is a text")
        if subtask is None and ways.skips("subtask"):
            return self.success(asked, {"task_id": parent})
        if not isinstance(subtask, dict):
            raise self.structural("delegation", "subtask is an object")
        capability, parameters = subtask.get("capability"), subtask.get("parameters", {})
        url = subtask.get("completion_callback")
        if capability is None and ways.skips("subtask-capability"):
            capability = asked.at("destination").get("capability")
        if not is_text(capability):
            raise self.structural("delegation", "capability is a text")
        parts = urllib.parse.urlsplit(url) if isinstance(url, str) else None
        callable_ = parts is not None and parts.scheme in ("http", "https") and bool(parts.hostname)
        if url is not None and not callable_ and not ways.has("bad-callback-taken"):
            raise self.structural("delegation", "completion_callback is an absolute URL")
        to = asked.at("destination").get("agent_id")
        agent = to if to in self.agents else self.agent_for(capability) if to is None or self.kind == "mesh" else self.id
        if agent not in self.agents or capability not in (c["id"] for c in self.agents[agent]):
            if ways.bug("unknown-subtask-acknowledged"):
                return self.success(asked, {"task_id": asked.message.get("id")})
            unknown = self.unknown_capability(capability, agent)
            if not ways.has("unknown-subtask-reported-later") or not callable_ or ways.has("acknowledged-with-result"):
                raise unknown
            task = {"url": url, "id": asked.message.get("id"), "parent": parent}
            self.later(self.complete(asked, None, parameters, task, task, callable_, unknown))
            return self.success(asked, {"accepted": True, "task_id": asked.message.get("id")}, 202 if ways.has("acknowledged-202") else 200)
        declared = next(c for c in self.agents[agent] if c["id"] == capability)
        checked_later = ways.has("subtask-checked-later")
        if not isinstance(parameters, dict) and not checked_later:
            raise Refused("schema", "INVALID_SCHEMA", "parameters is an object")
        if not checked_later and not ways.bug("subtask-parameters-unchecked"):
            self.check_parameters(declared, parameters)
        state = self.last if ways.bug("callback-to-last-url") or ways.bug("callback-for-last-task") else {}
        state |= {"url": url, "id": asked.message.get("id"), "parent": parent}
        own = dict(state)
        work = self.complete(asked, declared, parameters, state if ways.bug("callback-to-last-url") else own, state if ways.bug("callback-for-last-task") else own, callable_)
        if ways.has("acknowledged-with-result"):
            await work
            result = await self.outcome(asked, declared, parameters)
            if result is Refused:
                return self.answer(200, self.reply(asked, "response", {"status": "failed", "metadata": {"reason": "it was asked to fail"}}), asked)
            return self.success(asked, result, source=agent)
        if not ways.bug("callback-never"):
            self.later(work)
        else:
            work.close()
        if ways.bug("delegation-acknowledged-as-failed"):
            return self.answer(200, self.reply(asked, "response", {"status": "failed"}), asked)
        if ways.bug("delegation-without-envelope"):
            return Answer(202)
        return self.success(asked, {"accepted": True, "task_id": asked.message.get("id")}, 202 if ways.has("acknowledged-202") else 200, source=agent)

    async def outcome(self, asked, declared, parameters):
        if not isinstance(parameters, dict):
            raise Refused("schema", "INVALID_SCHEMA", "parameters is an object")
        if not self.ways.bug("subtask-parameters-unchecked"):
            self.check_parameters(declared, parameters)
        parameters = {"text": "", **parameters} if declared["id"] == "text-analysis" else parameters
        return await self.perform(declared["id"], parameters, asked)

    async def complete(self, asked, declared, parameters, where, task, callable_, unknown=None):
        """Runs a subtask and calls back. `unknown`: nobody can do it, and the callback says so in a message."""
        ways = self.ways
        if ways.has("callback-late"):
            await asyncio.sleep(1 * self.pace)
        if ways.bug("callback-after-twelve-seconds"):
            await asyncio.sleep(12 * self.pace)
        failed = None
        try:
            if unknown:
                raise unknown
            result = await self.outcome(asked, declared, parameters)
        except Refused as refused:
            failed, result = refused, None
        if unknown and ways.bug("unknown-subtask-reported-as-done"):
            failed, result = None, {}
        if failed and ways.bug("callback-on-success-only"):
            return
        if not callable_ or not where["url"]:
            return
        name, parent = task["id"], task["parent"]
        payload = {"status": "success", "result": result, "metadata": {"parent_task_id": parent}}
        if result is Refused:
            payload = {"status": "failed", "metadata": {"parent_task_id": parent}}
        if failed:
            payload = {"error": {"code": failed.code, "message": failed.text}}
        envelope = self.reply(asked, "error" if failed else "response", payload)
        envelope["message"].setdefault("headers", {})["correlation_id"] = name
        body = {
            "callback-task-only": {"parent_task_id": parent, "outcome": payload}, "callback-id-only": {"task": name, "outcome": payload},
            "callback-nested": {"event": "done", "data": {"task": {"id": name, "parent": [parent]}, "outcome": payload}},
        }.get(ways.pick("callback"), envelope)  # fmt: skip
        if unknown or ways.has("no-parent-taken") and not parent:
            body = envelope
        if ways.bug("callback-without-reference"):
            body = {"status": "success", "result": result if result is not Refused else None}
        if ways.has("callback-list"):
            body = [body]
        data = wire.write(body, ways) if not (isinstance(body, dict) and "message" in body) else self.answer(200, body).body
        if ways.bug("callback-as-form"):
            data = b"task=" + str(name).encode() + b"&parent=" + str(parent).encode()
        url = where["url"]
        if ways.bug("callback-to-the-root"):
            parts = urllib.parse.urlsplit(url)
            url = f"{parts.scheme}://{parts.netloc}/"
        await self.post(url, data, method="PUT" if ways.bug("callback-by-put") else "POST", kind="text/plain" if ways.bug("callback-as-text") else "application/json")

    # --- Routing ------------------------------------------------------------------------------------------------------

    async def forward(self, asked, agent, capability):
        """Sends a request to the endpoint of a registered agent, and returns what it answers."""
        ways = self.ways
        record = self.registry.record(agent)
        if capability not in (c["id"] for c in record["capabilities"]):
            raise self.unknown_capability(capability, agent)
        url = (record["endpoints"] or {}).get("invoke") if isinstance(record["endpoints"], dict) else None
        if ways.bug("forward-to-health"):
            url = record["endpoints"].get("health")
        if ways.bug("forward-to-first-registered"):
            url = next(r["endpoints"].get("invoke") for r in self.registry.records if r["endpoints"])
        if ways.bug("forward-answered-by-the-mesh"):
            return self.success(asked, {"forwarded": True}, source=agent)
        envelope = copy.deepcopy(asked.envelope)
        if ways.bug("forward-without-parameters"):
            envelope["message"]["payload"]["parameters"] = {}
        if ways.bug("forward-readdressed"):
            envelope["message"]["destination"]["agent_id"] = self.id
        if ways.bug("forward-payload-only"):
            envelope = envelope["message"]["payload"]
        started = time.monotonic()
        found = await self.in_time(asked, self.post(url, wire.write(envelope, ways))) if url else None
        took = time.monotonic() - started
        reply = None
        if found is not None:
            try:
                reply = json.loads(found[1])
                kind = reply["message"]["type"]
            except (ValueError, KeyError, TypeError):
                kind = None
        if found is None or reply is None or kind not in ("response", "error"):
            self.registry.called(agent, True, took)
            raise Refused("unreachable", "AGENT_UNREACHABLE", f"{agent} does not answer")
        failed = kind == "error" or reply["message"].get("payload", {}).get("status") == "failed"
        self.registry.called(agent, failed, took)
        if ways.bug("forward-errors-as-success") and failed:
            return self.success(asked, {}, source=agent)
        if ways.has("forward-reply-passed") and "hmac" not in ways.pick("auth"):
            return self.answer(found[0], reply)
        payload = reply["message"].get("payload", {})
        if kind == "error":
            error = payload.get("error") if isinstance(payload.get("error"), dict) else {}
            raise Refused("forwarded", str(error.get("code", "EXECUTION_ERROR")), str(error.get("message", "it failed")))
        if failed:
            return self.answer(200, self.reply(asked, "response", {"status": "failed"}, agent), asked)
        return self.success(asked, payload.get("result", {}), source=agent)

    # --- Health -------------------------------------------------------------------------------------------------------

    def health(self, authorization=""):
        ways = self.ways
        if ways.bug("health-missing"):
            return Answer(404)
        if ways.bug("health-500"):
            return Answer(500, b'{"status":"healthy"}', "application/json")
        if ways.bug("health-redirects"):
            return Answer(302, headers=[("Location", "/status")])
        way = ways.pick("health")
        if way == "health-empty":
            return Answer(204)
        if way == "health-text":
            return Answer(200, b"ok", "text/plain")
        body = {"status": "degraded" if way == "health-degraded" else "healthy"}
        if way != "health-anonymous":
            ids = [c["id"] for own in self.agents.values() for c in own]
            body |= {"agent_id": self.id, "protocol_version": "1.0", "capabilities": ids}
        if ways.bug("health-status-word"):
            body["status"] = "fine"
        return Answer(200, json.dumps(body).encode(), "application/json")

    async def delay(self):
        ways = self.ways
        if ways.has("slow-100-ms"):
            await asyncio.sleep(0.1 * self.pace)
        elif ways.has("slow-at-random"):
            await asyncio.sleep(random.random() * 0.15 * self.pace)

"""Fixed requests for the self-check of the meshai peers: a conversation in which each choice and each bug is visible."""

import asyncio
import base64
import copy
import json
import re
import time

import meshai_wire as wire
from meshai_client import Client
from meshai_http import Request, Server
from meshai_node import API_KEY, KEY, Node
from meshai_options import Ways

CHANGING = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|peer-[0-9a-f]{6}-|répliqu. [0-9a-f]{6}|r\\u00e9pliqu\\u00e9 [0-9a-f]{6}|(?<=\.)\d{3,9}(?=Z|\+)")
FORMS = ("%Y-%m-%dT%H:%M:%S", "%Y-%m-%dt%H:%M:%S", "%Y-%m-%d %H:%M:%S")
PLAIN = Ways()


class Talk:
    """A conversation with one peer of a kind, without sockets; `said` holds what it answered."""

    def __init__(self, ways, kind, names=None):
        self.ways, self.kind = ways, kind
        self.node = Node(ways, kind)
        self.node.pace = 0.02
        self.server = Server(self.node)
        self.node.post = self.post
        self.said, self.count, self.ids = [], 0, {}
        self.registry_down = False
        self.now = time.time()
        self.node.now = lambda: self.now + self.node.skew
        self.node.contexts.now = self.node.now
        self.called = []

    async def post(self, url, data, method="POST", kind="application/json", headers=(), seconds=10):
        """What the peer sends to others."""
        self.called.append((url, method, kind, tuple(headers), self.now, data))
        try:
            message = json.loads(data)["message"]
        except (ValueError, KeyError, TypeError):
            return 200, b"{}"
        fails = "failing" in url
        payload = {"error": {"code": "INSUFFICIENT_RESOURCES", "message": "no"}} if fails else {"status": "success", "result": {"served": url}}
        reply = {"id": "theirs", "type": "error" if fails else "response", "timestamp": "2025-01-27T10:00:00Z", "source": {"agent_id": (message.get("destination") or {}).get("agent_id", "x")}}
        reply |= {"headers": {"correlation_id": message.get("id"), "execution_time_ms": 1}, "payload": payload}
        if "signed" in url:
            reply["headers"]["signature"] = {"algorithm": "HMAC-SHA256", "value": "x"}
        return 200, json.dumps({"protocol": "AMP/1.0", "message": reply}).encode()

    def rows(self):
        """What was said, and then what was sent to others, without what differs from run to run."""
        return [(*row, self.steady(data, now)) for *row, now, data in [*self.said, *(("sent", *row) for row in self.called)]]

    def steady(self, data, now=None):
        """Text without what differs from run to run; UUIDs are numbered in their order."""
        now = self.now if now is None else now
        text = data.decode("utf-8", "replace")

        def numbered(found):
            word = found[0]
            return f"#{self.ids.setdefault(word, len(self.ids))}" if len(word) == 36 else "#"

        for offset in range(-2, 3):
            for form in FORMS:
                text = text.replace(time.strftime(form, time.gmtime(now + offset)), "NOW")
                text = text.replace(time.strftime(form, time.gmtime(now + offset + 19800)), "LATER")
        return re.sub(r"(.)\1{30,}", r"\1\1\1", re.sub(r'"execution_time_ms": ?\d{1,3}(?!\d)', '"execution_time_ms":few', CHANGING.sub(numbered, text)))

    # --- Messages -----------------------------------------------------------------------------------------------------

    def envelope(self, payload, destination=None, sender="pm-a", kind="request", headers=None, **more):
        self.count += 1
        name = f"M{self.count:03}-0123456789-0123456789-0123456789"
        message = {
            "id": name, "type": kind, "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.now)), "source": {"agent_id": sender}, "destination": destination or {},
            "headers": {"correlation_id": f"c-{name}", "priority": 5, "timeout_ms": 30000, "routing_hints": {}, **(headers or {})}, "payload": payload,
        }  # fmt: skip
        message |= more
        family = "AIP" if self.ways.has("serves-aip-only") else "AMP"
        return {"protocol": f"{family}/1.0", "message": message}

    def protected(self, envelope, key=None, sign=True):
        """(bytes, Authorization) with the credentials that the choices ask for."""
        way = self.ways.pick("auth")
        message = envelope.get("message") if isinstance(envelope, dict) else None
        authorization = ""
        if isinstance(message, dict) and isinstance(message.get("headers"), dict) and isinstance(message.get("source"), dict):
            message["headers"].pop("signature", None)
            given = key
            if way == "auth-api-key" and key is None:
                given = API_KEY
            if way.startswith("auth-jwt") and key is None:
                sender = message["source"].get("agent_id")
                given = wire.make_token({"sub": sender, "agent_id": sender, "exp": int(self.now) + 600, "iat": int(self.now), "aud": "amp-mesh"}, KEY)
            if given is not None and key is not False:
                authorization = f"Bearer {given}"
                message["headers"]["authentication"] = {"type": "jwt", "token": given, "credentials": given}
            if "hmac" in way and sign:
                ways = copy.copy(self.ways)
                ways.mutant = ways.name = None
                message["headers"]["signature"] = wire.signature(message, KEY, ways)
        return json.dumps(envelope, ensure_ascii=False).encode("utf-8", "surrogatepass"), authorization

    async def say(self, name, envelope, data=None, key=None, sign=True, alter=None, authorization=None):
        """Posts a message; the answer, as JSON if it is one."""
        body, auth = self.protected(envelope, key, sign)
        if alter:
            told = json.loads(body)
            alter(told)
            body = json.dumps(told).encode()
        if data is not None:
            body = data
        headers = {"content-type": "application/json"}
        if auth or authorization:
            headers["authorization"] = authorization or auth
        return await self.http(name, "POST", self.server.invoke, headers, body)

    async def http(self, name, method, path, headers=None, body=b""):
        place = len(self.said)
        self.said.append(None)  # concurrent requests stand in the order in which they were sent
        answer = await self.server.answer(Request(method, path, headers or {}, body))
        self.said[place] = (name, answer.status, answer.kind, answer.close, len(answer.headers), self.now, answer.body)
        try:
            return json.loads(answer.body)
        except ValueError:
            return None

    # --- Short forms --------------------------------------------------------------------------------------------------

    def ask(self, capability="text-analysis", parameters=None, to=None, **more):
        destination = {"capability": capability}
        if to:
            destination["agent_id"] = to
        payload = {"capability": capability, "parameters": {"text": "one two é"} if parameters is None else parameters}
        payload |= more.pop("payload", {})
        return self.envelope(payload, destination, **more)

    def fine(self, **more):
        """A message that this kind of target serves."""
        if self.kind == "registry":
            return self.envelope({"query": {"capabilities": ["text-analysis"]}}, {"agent_id": "registry", "capability": "discovery"}, **more)
        return self.ask(**more)

    def registration(self, name="pm-peer", capabilities=("pm-x",), path="/peer", **more):
        declared = [{"id": c, "version": "1.0", "description": "d", "input_schema": {"type": "object"}, "output_schema": {"type": "object"}, "constraints": {"response_time_ms": 1000}} for c in capabilities] if isinstance(capabilities, tuple) else capabilities
        agent = {"id": name, "name": "peer", "version": "2.1.0", "framework": "custom", "protocol_version": "1.0"}
        payload = {"agent": agent, "capabilities": declared, "endpoints": {"invoke": f"http://127.0.0.1:9{path}", "health": f"http://127.0.0.1:9{path}/health"}, "authentication": {"type": "bearer", "credentials": "s3cret"}}
        payload |= more
        return self.envelope(payload, {"agent_id": "registry", "capability": "registration"}, sender=name)

    def discovery(self, *wanted, **constraints):
        query = {"capabilities": list(wanted)}
        if constraints:
            query["constraints"] = constraints
        return self.envelope({"query": query}, {"agent_id": "registry", "capability": "discovery"}, sender="pm-q")

    def context(self, operation, parameters, sender="pm-a"):
        prefix = "ctx." if self.ways.has("context-names-own") else "context-"
        return self.ask(prefix + operation, parameters, sender=sender)

    def event(self, context, sender="pm-a", kind="context_update"):
        return self.envelope({"event_type": kind, "context": context}, {}, sender=sender, kind="event")


async def messages(talk):
    """Envelopes in every form."""
    fine = talk.fine
    await talk.http("health", "GET", talk.server.health, {})
    await talk.http("GET", "GET", talk.server.invoke + "?message=" + "%7B%7D", {})
    whole = json.dumps(fine()).encode()
    import urllib.parse

    await talk.http("GET with a message", "GET", talk.server.invoke + "?" + urllib.parse.urlencode({"message": whole}), {})
    await talk.http("GET with a body", "GET", talk.server.invoke, {}, whole)
    await talk.http("PUT", "PUT", talk.server.invoke, {}, whole)
    await talk.http("other path", "POST", "/other", {}, whole)
    await talk.http("charset", "POST", talk.server.invoke, {"content-type": "application/json; charset=utf-8"}, whole)
    for name, data in (
        ("empty", b""), ("blank", b" "), ("cut", whole[:60]), ("unclosed", whole[:-2]), ("two texts", whole + b"{}"), ("bad bytes", whole.replace(b"pm-a", b"pm-\xff")), ("comment", whole.replace(b"{", b"{ // c\n", 1)),
        ("comma", whole.replace(b'"message": {', b'"message": {,')), ("number", b"5"), ("null", b"null"), ("array", b"[]"), ("object", b"{}"), ("text", b'"x"'), ("message in text", json.dumps(whole.decode()).encode()),
        ("byte mark", b"\xef\xbb\xbf" + whole), ("twice", whole.replace(b'"priority": 5', b'"priority": 5, "priority": 6')), ("twice 0", whole.replace(b'"priority": 5', b'"priority": 99, "priority": 5')),
        ("batch", b"[" + whole + b"," + whole + b"]"), ("batch of one", b"[" + whole + b"]"), ("nan", whole.replace(b'"priority": 5', b'"priority": NaN')), ("large", whole.replace(b"pm-a", b"pm-a" + b" " * 70000)),
        ("huge", whole.replace(b"pm-a", b"pm-a" + b" " * (1 << 21))),
    ):  # fmt: skip
        await talk.say(name, fine(), data=data)
    inner = fine()["message"]
    await talk.say("inner", fine(), data=json.dumps(inner).encode())
    for place, values in (
        ("protocol", (None, 1.0, "", "XYZ/1.0", "amp/1.0", "AMP 1.0", "AMP/1", "AMP/1.0.0", "AMP/one", "AMP1.0", "AMP/", "AMP/1.", "AMP/2.0", "AMP/0.9", "AMP/1.1", "AMP/1.99", "AIP/1.0", "AMP/1.0", "AMP/2.0")),
        ("message", (None, [], "request")),
    ):
        for value in values:
            for sender in ("pm-a", "pm-v"):
                await talk.say(f"{place} {value!r}", {**fine(sender=sender), place: value})
        await talk.say(f"after {place}", fine(sender="pm-v"))
        left = fine()
        del left[place]
        await talk.say(f"no {place}", left)
    for place, values in (
        ("type", (None, "command", "request|response", 1, "REQUEST", "response", "error")), ("payload", (None, [], "text")), ("id", (None, 7, "", "x" * 70)), ("timestamp", (None, "yesterday", 1, "2020-01-01T00:00:00Z")),
        ("source", (None, {}, "x", {"agent_id": 7}, {"agent_id": "pm a"}, {"agent_id": "pm-a", "session_id": "s"}, {"agent_id": "pm-a", "x": 1})), ("destination", (None, "x")), ("headers", (None, "x", {})), ("x_extra", (1,)),
    ):  # fmt: skip
        for value in values:
            told = fine()
            told["message"][place] = value
            await talk.say(f"{place} {value!r}", told)
        left = fine()
        left["message"].pop(place, None)
        await talk.say(f"no {place}", left)
    away = time.strftime("%Y-%m-%dT%H:%M:%S+02:00", time.gmtime(talk.now + 7200))
    ago = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(talk.now - 7))
    await talk.say("offset", fine(timestamp=away))
    await talk.say("ago", fine(timestamp=ago))
    for name, values in (("priority", (0, 1, 9, 10, 11, 2.5, "5")), ("timeout_ms", (0, -1, 10, 1000, "fast")), ("routing_hints", ({"x": 1}, [])), ("x_unknown", (1,)), ("execution_time_ms", (0,)), ("authentication", ({"type": "jwt", "token": "e30.e30.e30"},)), ("correlation_id", (7, "c-é"))):
        for value in values:
            await talk.say(f"{name} {value!r}", fine(headers={name: value}))
    same = fine(id="the-same-id")
    await talk.say("same id", same)
    await talk.say("same id", same)
    talk.now += 3
    for n in range(6):
        await talk.say("steady", fine(sender=f"pm-{n % 2}", headers={"priority": 7, "routing_hints": {"a": 1}}))
    both = await asyncio.gather(*(talk.say("at once", fine(sender=f"pm-{n}")) for n in range(3)))
    assert len(both) == 3
    talk.now += 70
    await talk.say("later", fine())


async def requests(talk):
    """Capability requests and errors."""
    ask = talk.ask
    for name, envelope in (
        ("unknown", ask("quantum-analysis")), ("unknown 2", ask("pm-none")), ("text-none", ask("text-none")), ("unknown at a", ask("pm-none", to="agent-a")), ("registry", ask("pm-none", to="registry")),
        ("foreign", ask(to="pm-nobody")), ("agent-a", ask(to="agent-a")), ("agent-b", ask("web-search", {}, to="agent-b")), ("search", ask("web-search", {})), ("qa", ask("question-answering", {})),
        ("summary", ask("summarization", {})), ("extraction", ask("data-extraction", {"a": 1})), ("no parameters", ask(payload={"parameters": None})), ("list", ask(parameters=[])), ("text", ask(parameters="x")),
        ("invalid", ask(parameters={})), ("invalid type", ask(parameters={"text": 5})), ("null", ask(parameters={"text": None})), ("extra", ask(parameters={"text": "x", "more": 1})),
        ("long", ask(parameters={"text": "x" * 10_001})), ("at the limit", ask(parameters={"text": "x" * 10_000})), ("context", ask(payload={"context": {"conversation_history": []}})), ("context text", ask(payload={"context": "x"})),
        ("context session", ask(payload={"context": {"session_id": "none"}})), ("context session 5", ask(payload={"context": {"session_id": 5}})), ("context open", ask(payload={"context": {"parent_task": "x"}})),
        ("payload only", talk.envelope({"capability": "summarization", "parameters": {}}, {"agent_id": "agent-a"})), ("destination only", talk.envelope({"parameters": {"text": "a"}}, {"capability": "text-analysis"})),
        ("mismatch", talk.envelope({"capability": "summarization", "parameters": {"text": "a"}}, {"capability": "text-analysis"})), ("nothing", talk.envelope({}, {})), ("seven", talk.envelope({"capability": 7}, {})),
        ("seven 2", talk.envelope({"capability": 7}, {"capability": "text-analysis"})), ("echo", ask("tool-use", {"tool": "echo", "marker": "m1"})), ("echo 2", ask("tool-use", {"tool": "echo", "marker": "m2"})),
        ("fail", ask("tool-use", {"tool": "fail"})), ("exhaust", ask("tool-use", {"tool": "exhaust"})), ("after exhaustion", ask()), ("exhaust by e", ask("tool-use", {"tool": "exhaust"}, sender="pm-e")), ("after e", ask(sender="pm-e")), ("bad tool", ask("tool-use", {"tool": "x"})),
        ("slow", ask("tool-use", {"tool": "sleep", "ms": 700})), ("too slow", ask("tool-use", {"tool": "sleep", "ms": 3000}, headers={"timeout_ms": 1000})), ("in time", ask("tool-use", {"tool": "sleep", "ms": 1500}, headers={"timeout_ms": 10_000})),
        ("just in time", ask("tool-use", {"tool": "sleep", "ms": 3000}, headers={"timeout_ms": 3500})), ("unicode", ask("tool-use", {"tool": "echo", "t": "é € 😀"})),
    ):  # fmt: skip
        await talk.say(name, envelope)
    await asyncio.gather(*(talk.say("echoes", ask("tool-use", {"tool": "echo", "marker": f"m{n}"}, sender=f"pm-{n}")) for n in range(3)))
    await asyncio.gather(*(talk.say("sleeps", ask("tool-use", {"tool": "sleep", "ms": 800 - 200 * n}, sender=f"pm-{n}", headers={"timeout_ms": 1000})) for n in range(3)))
    for n in range(24):
        await talk.say("many", ask(sender="pm-many"))
    await talk.say("many, another", ask(sender="pm-other"))
    if talk.ways.has("rate-limited"):
        await asyncio.sleep(1.05)
        await talk.say("many, later", ask(sender="pm-many"))
    await talk.say("unknown event", talk.event({}, kind="pm.event"))
    await talk.say("event without type", talk.event({}, kind=None))
    far, past = (time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(talk.now + s)) for s in (3600, -3600))
    for name, needs in (
        ("yes", {"capabilities": ["text-analysis"], "estimated_tokens": 1, "deadline": far}), ("no", {"capabilities": ["pm-none"], "estimated_tokens": 1, "deadline": far}),
        ("half", {"capabilities": ["text-analysis", "pm-none"], "deadline": far, "estimated_tokens": 1}), ("half 2", {"capabilities": ["pm-none", "text-analysis"], "deadline": far, "estimated_tokens": 1}),
        ("past", {"capabilities": ["text-analysis"], "estimated_tokens": 1, "deadline": past}), ("no tokens", {"capabilities": ["text-analysis"], "deadline": far}), ("no deadline", {"capabilities": ["text-analysis"], "estimated_tokens": 1}),
        ("text", {"capabilities": "text-analysis"}), ("none", None),
    ):  # fmt: skip
        payload = {"negotiation_type": "capability_check", "requirements": needs}
        if needs is None:
            del payload["requirements"]
        await talk.say(f"negotiation {name}", talk.envelope(payload, {"capability": "text-analysis"}))

    def delegation(parent="t-1", url="http://127.0.0.1:9/callback/1", capability="text-analysis", parameters=None, **more):
        subtask = {"capability": capability, "parameters": {"text": "a b"} if parameters is None else parameters, "completion_callback": url}
        given = {"parent_task_id": parent, "subtask": subtask} | more
        return talk.envelope({"delegation": {n: v for n, v in given.items() if v != "-"}}, {"capability": "text-analysis"})

    for name, envelope in (
        ("plain", delegation()), ("list", talk.envelope({"delegation": "x"}, {})), ("no parent", delegation(parent="-")), ("no subtask", delegation(subtask="-")), ("no capability", delegation(capability=None)),
        ("unknown", delegation(capability="pm-none")), ("bad url", delegation(url="nowhere")), ("no url", delegation(url=None)), ("bad parameters", delegation(parameters={})), ("fails", delegation(capability="tool-use", parameters={"tool": "fail"})),
        ("slow 1", delegation("t-8", "http://127.0.0.1:9/callback/8", "tool-use", {"tool": "sleep", "ms": 400})), ("slow 2", delegation("t-9", "http://127.0.0.1:9/callback/9", "tool-use", {"tool": "sleep", "ms": 200})),
    ):  # fmt: skip
        await talk.say(f"delegation {name}", envelope)
        if not name.startswith("slow 1"):
            await asyncio.sleep(0.012)
    await asyncio.sleep(0.06 if not talk.ways.bug("callback-after-twelve-seconds") else 0.3)


async def registry(talk):
    """Registration, discovery and routing."""
    register, discover = talk.registration, talk.discovery
    for name, envelope in (
        ("plain", register()), ("no agent", register("pm-0", agent=None)), ("text", register("pm-0", agent="pm-0")), ("no id", register("pm-0", agent={"name": "x", "framework": "custom"})),
        ("seven", register("pm-0", agent={"id": 7, "name": "x", "framework": "custom"})), ("null", register("pm-0", agent={"id": None, "name": "x", "framework": "custom"})), ("empty", register("pm-0", agent={"id": "", "name": "x", "framework": "custom"})),
        ("object", register("pm-0", agent={"id": {"a": 1}, "name": "x", "framework": "custom"})), ("poor", register("pm-1", agent={"id": "pm-1"})), ("other framework", register("pm-0", agent={"id": "pm-0", "name": "x", "framework": "cli"})),
        ("crewai", register("pm-2", agent={"id": "pm-2", "name": "x", "framework": "crewai", "version": "3.1.4"})), ("registry", register("registry")), ("object 2", register("pm-0", capabilities={"id": "c", "version": "1"})), ("text 2", register("pm-0", capabilities="pm-x")),
        ("no list", register("pm-3", capabilities=None)), ("bare", register("pm-4", capabilities=["pm-bare"])), ("no id 2", register("pm-0", capabilities=[{"version": "1.0"}])), ("seven 2", register("pm-0", capabilities=[{"id": 7, "version": "1.0"}])),
        ("no version", register("pm-5", capabilities=[{"id": "pm-nv"}])), ("reference", register("pm-6", capabilities=[{"id": "pm-ref", "version": "1.0", "input_schema": {"$ref": "#/definitions/X"}, "constraints": {"response_time_ms": 1}}])),
        ("no constraints", register("pm-7", capabilities=[{"id": "pm-nc", "version": "1.0"}])), ("constraints", register("pm-8", capabilities=[{"id": "pm-x", "version": "1.0", "constraints": {"max_input_length": 5}}])), ("relative", register("pm-9", endpoints={"invoke": "/invoke"})),
        ("text 3", register("pm-10", endpoints="http://x/")), ("taxonomy", register("pm-11", ("causal-reasoning",))), ("three", register("pm-12", ("pm-x", "pm-y", "pm-z"))), ("longer", register("pm-13", ("pm-x-long",))),
        ("y", register("pm-14", ("pm-y",))), ("failing", register("pm-15", ("pm-f",), "/failing")), ("again", register("pm-12", ("pm-x", "pm-w"))), ("again, others", register("pm-12", authentication=None)),
    ):  # fmt: skip
        await talk.say(f"registration {name}", envelope)
    await talk.say("registration in an array", talk.fine(), data=b"[" + talk.protected(register("pm-array", ("pm-array",)))[0] + b"]")
    other = register("pm-16", ("pm-o",))
    other["message"]["source"]["agent_id"] = "pm-a"
    await talk.say("registration by another", other)
    slow = register("pm-17", ("pm-slow", "pm-x"))
    slow["message"]["payload"]["capabilities"][0]["constraints"]["response_time_ms"] = 9000
    await talk.say("registration slow", slow)
    for name, envelope in (
        ("x", discover("pm-x")), ("x again", discover("pm-x")), ("y", discover("pm-y")), ("x y", discover("pm-x", "pm-y")), ("y x", discover("pm-y", "pm-x")), ("x f", discover("pm-x", "pm-f")), ("none", discover("pm-none")), ("empty", discover()), ("own", discover("text-analysis")),
        ("long", discover("pm-x-long")), ("o", discover("pm-o")), ("array", discover("pm-array")), ("a", discover("pm-a")), ("bare", discover("pm-bare")), ("w", discover("pm-w")), ("taxonomy", discover("causal-reasoning")), ("slow", discover("pm-slow", max_latency_ms=5000)),
        ("slow and x", discover("pm-slow", "pm-x", max_latency_ms=5000)), ("x", discover("pm-x", max_latency_ms=5000)), ("x at", discover("pm-x", max_latency_ms=1000)), ("x below", discover("pm-x", max_latency_ms=999)), ("slow 9", discover("pm-slow", max_latency_ms=9)),
        ("after", discover("pm-x")), ("rate 0", discover("pm-x", min_success_rate=0)), ("rate", discover("pm-x", min_success_rate=0.5)), ("rate 95", discover("pm-x", min_success_rate=95)), ("latency text", discover("pm-x", max_latency_ms="soon")),
        ("after 2", discover("pm-x")),
    ):  # fmt: skip
        await talk.say(f"discovery {name}", envelope)
    for name, query in (("text", "pm-x"), ("list", ["pm-x"]), ("numbers", {"capabilities": [1]}), ("text 2", {"capabilities": "pm-x"}), ("constraints", {"capabilities": ["pm-x"], "constraints": []}), ("empty", {"capabilities": ["pm-x"], "constraints": {}})):
        await talk.say(f"query {name}", talk.envelope({"query": query}, {"agent_id": "registry", "capability": "discovery"}))
    await talk.say("no query", talk.envelope({}, {"agent_id": "registry", "capability": "discovery"}))
    await talk.say("no such", talk.envelope({}, {"agent_id": "registry", "capability": "removal"}))
    for n in range(4):
        await talk.say("forwarded", talk.ask("pm-x", {"marker": n}, to="pm-peer", sender="pm-peer"))
        await talk.say("forwarded to the failing", talk.ask("pm-f", {}, to="pm-15", sender="pm-peer"))
    await talk.say("forwarded, unaddressed", talk.ask("pm-f", {}, sender="pm-peer"))
    await talk.say("not declared", talk.ask("pm-none", {}, to="pm-peer", sender="pm-peer"))
    for name in ("pm-x", "pm-f"):
        for bound in (0, 0.4, 0.5, 1):
            await talk.say(f"rate {bound}", discover(name, min_success_rate=bound))
    for bound in (0.0001, 0, 5000):
        await talk.say("measured", discover("pm-x", max_latency_ms=bound))


async def contexts(talk):
    """The five operations and the event, by three agents."""
    op = talk.context

    def found(reply):
        try:
            return reply["message"]["payload"]["result"]["context"]["id"]
        except (KeyError, TypeError):
            return "none"

    soon = lambda s: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(talk.now + s))
    create = lambda **more: op("create", {"context": {"expires_at": soon(600), **more}})
    content = {"k": "é v", "n": 5, "f": 0.5, "none": None, "list": [3, 1, 2], "empty": "", "deep": {"a": 1, "b": 2}}
    first = found(await talk.say("create", create(session_id="s-1", shared_memory=content)))
    bare = found(await talk.say("create bare", create()))
    await talk.say("create with offset", create(expires_at="2050-01-01T01:30:00.250+01:30"))
    await talk.say("create by the name of the binding", talk.ask("context-create", {"context": {}}))
    await talk.say("create without expiry", op("create", {"context": {"session_id": "s-forever"}}))
    again = found(await talk.say("create again", create(session_id="s-1")))
    await talk.say("create with private", create(session_id="s-p", agent_memory={"pm-a": {"g": "given"}, "pm-b": {"g": "foreign"}}))
    for name, context in (("text", "x"), ("memory list", {"shared_memory": []}), ("expiry", {"expires_at": "tomorrow"}), ("lists", {"access_control": {"read": "pm-a"}}), ("past", {"expires_at": soon(-60), "session_id": "s-past"})):
        await talk.say(f"create {name}", op("create", {"context": context}))
    await talk.say("get past", op("get", {"session_id": "s-past"}))
    await talk.say("get", op("get", {"context_id": first}))
    await talk.say("get bare", op("get", {"context_id": bare}))
    await talk.say("get nothing", op("get", {}))
    talk.now += 2
    await talk.say("get later", op("get", {"context_id": first}))
    await talk.say("get session", op("get", {"session_id": "s-1"}))
    for missing in (("get", {"context_id": "x"}), ("update", {"context_id": "x", "context": {"shared_memory": {"a": 1}}}), ("fork", {"context_id": "x"}), ("merge", {"context_ids": [first, "x"]}), ("merge", {"context_ids": ["x", first]}), ("merge", {"context_ids": []}), ("get", {"context_id": "x"})):
        await talk.say(f"missing {missing[0]}", op(*missing))
    update = lambda name, context, sender="pm-a": op("update", {"context_id": name, "context": context}, sender)
    await talk.say("update", update(first, {"shared_memory": {"k": "w", "new": 1, "list": [9], "deep": {"a": 3}, "n": None}}))
    await talk.say("update 2", update(first, {"shared_memory": {"third": 1}}))
    await talk.say("get", op("get", {"context_id": first}))
    await talk.say("update private", update(first, {"agent_memory": {"pm-a": {"secret": "A"}}}))
    await talk.say("update private again", update(first, {"agent_memory": {"pm-a": {"more": "A2"}}}))
    await talk.say("update of b", update(first, {"agent_memory": {"pm-b": {"secret": "B"}}}, "pm-b"))
    await talk.say("update foreign", update(first, {"agent_memory": {"pm-a": {"secret": "X"}}, "shared_memory": {"z": 1}}, "pm-b"))
    await talk.say("update invalid", update(first, {"shared_memory": []}, "pm-b"))
    await talk.say("update nothing", update(first, {}, "pm-b"))
    await talk.say("update shared", update(first, {"shared_memory": {"y": 2}}))
    for sender in ("pm-a", "pm-b", "pm-c"):
        await talk.say(f"get by {sender}", op("get", {"context_id": first}, sender))
        await talk.say(f"get by session by {sender}", op("get", {"session_id": "s-1"}, sender))
        await talk.say(f"other things by {sender}", talk.ask("pm-none", sender=sender))
        await talk.say(f"request of {sender}", talk.ask(sender=sender, payload={"context": {"session_id": "s-1", "conversation_history": []}}))
        if talk.kind == "mesh":
            await talk.say(f"discovery of {sender}", talk.discovery("text-analysis"))
    for sender in ("pm-b", "pm-a", "pm-c"):
        child = found(await talk.say(f"fork by {sender}", op("fork", {"context_id": first}, sender)))
        await talk.say("get fork", op("get", {"context_id": child}, sender))
        grandchild = found(await talk.say("fork again", op("fork", {"context_id": child}, sender)))
        await talk.say("get grandchild", op("get", {"context_id": grandchild}, "pm-b"))
        await talk.say("update fork", update(child, {"shared_memory": {"k": f"of {sender}"}}, sender))
        await talk.say("get parent", op("get", {"context_id": first}))
        await talk.say("update parent", update(first, {"shared_memory": {"late": sender}}))
        await talk.say("get child", op("get", {"context_id": child}, sender))
        merged = found(await talk.say("merge", op("merge", {"context_ids": [bare, first, again]}, sender)))
        await talk.say("get merged", op("get", {"context_id": merged}, "pm-b"))
        await talk.say("get source", op("get", {"context_id": bare}))
    one = found(await talk.say("create one", create(shared_memory={"k": "one", "o": 1})))
    two = found(await talk.say("create two", create(shared_memory={"k": "two", "t": 1})))
    await talk.say("merge conflict", op("merge", {"context_ids": [one, two]}))
    await talk.say("get one", op("get", {"context_id": one}))
    await talk.say("merge one", op("merge", {"context_ids": [two]}, "pm-b"))
    # Lists
    lists = {"read": ["pm-a", "pm-b"], "write": ["pm-a"]}
    for place in ("creation", "event"):
        shut = found(await talk.say("create shut", create(session_id=f"s-{place}", shared_memory={"k": "shut"}, **({"access_control": lists} if place == "creation" else {}))))
        if place == "event":
            await talk.say("lists by event", talk.event({"id": shut, "session_id": f"s-{place}", "shared_memory": {"e": 1}, "access_control": lists}))
        for sender in ("pm-a", "pm-b", "pm-c", "pm-bx"):
            await talk.say(f"shut get by {sender}", op("get", {"context_id": shut}, sender))
            await talk.say(f"shut get by session by {sender}", op("get", {"session_id": f"s-{place}"}, sender))
            await talk.say(f"shut fork by {sender}", op("fork", {"context_id": shut}, sender))
            await talk.say(f"shut merge by {sender}", op("merge", {"context_ids": [shut, bare]}, sender))
            await talk.say(f"shut merge 2 by {sender}", op("merge", {"context_ids": [bare, shut]}, sender))
            await talk.say(f"shut event by {sender}", talk.event({"id": shut, "session_id": f"s-{place}", "shared_memory": {"k": f"event of {sender}"}}, sender))
            await talk.say(f"shut update by {sender}", update(shut, {"shared_memory": {"k": f"of {sender}"}}, sender))
            await talk.say("shut get", op("get", {"context_id": shut}))
        await talk.say("shut merged", op("get", {"context_id": found(await talk.say("merge shut", op("merge", {"context_ids": [shut, bare]})))}, "pm-c"))
        await talk.say("shut forked", op("get", {"context_id": found(await talk.say("fork shut", op("fork", {"context_id": shut})))}, "pm-c"))
    # Events
    await talk.say("event", talk.event({"id": first, "session_id": "s-1", "shared_memory": {"e1": 1, "e2": []}}))
    await talk.say("get after event", op("get", {"context_id": first}))
    await talk.say("event private", talk.event({"id": first, "session_id": "s-1", "agent_memory": {"pm-a": {"secret": "E"}}}, "pm-b"))
    await talk.say("event by session", talk.event({"session_id": "s-forever", "shared_memory": {"e": 1}}))
    await talk.say("get by session", op("get", {"session_id": "s-forever"}))
    for name, context in (("unknown", {"session_id": "s-unknown", "shared_memory": {"e": 1}}), ("unknown id", {"id": "x", "session_id": "s-unknown2"}), ("text", "x"), ("list", {"id": first, "shared_memory": []}), ("nothing", {})):
        await talk.say(f"event {name}", talk.event(context))
    await talk.say("get unknown", op("get", {"session_id": "s-unknown"}))
    left = talk.event({})
    del left["message"]["payload"]["context"]
    await talk.say("event without context", left)
    await talk.say("get after events", op("get", {"context_id": first}))
    # Expiry
    ends = found(await talk.say("create short", op("create", {"context": {"session_id": "s-short", "expires_at": soon(5), "shared_memory": {"k": "short"}}})))
    ended = found(await talk.say("fork short", op("fork", {"context_id": ends})))
    await talk.say("update short", update(ends, {"shared_memory": {"k": "short 2"}}))
    for wait in (4.5, 1.3, 2, 600, 4000):
        talk.now += wait
        for operation in ("get", "update", "fork", "merge"):
            parameters = {"context_id": ends, "context_ids": [ends], "context": {"shared_memory": {"x": 1}}}
            await talk.say(f"{operation} after {wait}", op(operation, parameters))
        await talk.say(f"get fork after {wait}", op("get", {"context_id": ended}))
        await talk.say(f"get session after {wait}", op("get", {"session_id": "s-short"}))
        await talk.say(f"event after {wait}", talk.event({"id": ends, "shared_memory": {"x": 1}}))
        await talk.say(f"forever after {wait}", op("get", {"session_id": "s-forever"}))


async def security(talk):
    """Credentials and signatures, for the methods in force."""
    way = talk.ways.pick("auth")
    if way == "auth-none":
        return
    fine = talk.fine
    operations = [fine(), talk.ask(to="agent-a"), talk.registration("pm-s", ("pm-s",)), talk.discovery("pm-s"), talk.context("create", {"context": {}}), talk.event({"session_id": "x"})]
    operations += [talk.envelope({"negotiation_type": "capability_check", "requirements": {"capabilities": []}}, {}), talk.envelope({"delegation": {"parent_task_id": "t", "subtask": {"capability": "summarization", "parameters": {}}}}, {})]
    await talk.http("health with credentials", "GET", talk.server.health, {"authorization": f"Bearer {API_KEY}"})
    for sender in ("pm-fresh", "pm-a"):
        for name, key in (("wrong", "wrong"), ("missing", False), ("empty", ""), ("prefix", API_KEY[:-1]), ("longer", API_KEY + "x"), ("case", API_KEY.upper()), ("last", API_KEY[:-1] + "X")):
            await talk.say(f"{name} of {sender}", fine(sender=sender), key=key)
    for n, envelope in enumerate(operations):
        for key in ("wrong", False):
            await talk.say(f"operation {n} {key}", copy.deepcopy(envelope), key=key)
    if way.startswith("auth-jwt"):
        now = int(talk.now)
        claims = {"sub": "pm-a", "agent_id": "pm-a", "iat": now, "exp": now + 600, "aud": "amp-mesh"}
        good = wire.make_token(claims, KEY)
        head, body, sign = good.split(".")
        swapped = ".".join([head, wire.packed(json.dumps({**claims, "capabilities": ["admin"]}).encode()), sign])
        none = wire.packed(b'{"alg":"none"}') + "." + body + "."
        tokens = {
            "expired": wire.make_token({**claims, "iat": now - 720, "exp": now - 120}, KEY), "just": wire.make_token({**claims, "exp": now - 20}, KEY), "endless": wire.make_token({k: v for k, v in claims.items() if k != "exp"}, KEY),
            "foreign": wire.make_token({**claims, "sub": "pm-z", "agent_id": "pm-z"}, KEY), "audience": wire.make_token({**claims, "aud": "x"}, KEY), "key": wire.make_token(claims, "another-key-of-32-bytes-in-length"), "good": good,
            "unsigned": f"{head}.{body}.", "swapped": swapped, "none": none, "two": f"{head}.{body}", "word": "x" * 40,
        }  # fmt: skip
        for name, token in tokens.items():
            await talk.say(f"token {name}", fine(), key=token)
        for scheme in ("bearer", "BEARER"):
            await talk.say(f"scheme {scheme}", fine(), authorization=f"{scheme} {good}")
        await talk.say("header wrong", fine(), authorization="Bearer wrong")

        def mixed(told):
            told["message"]["headers"]["authentication"]["token"] = "wrong"

        def first(told):
            told["message"]["headers"]["authentication"]["credentials"] = "wrong"

        await talk.say("message wrong", fine(), alter=mixed, authorization=f"Bearer {good}")
        await talk.say("credentials wrong", fine(), alter=first, authorization="Basic x")
        await talk.http("only in the message", "POST", talk.server.invoke, {}, talk.protected(fine())[0])
        await talk.http("message wrong alone", "POST", talk.server.invoke, {}, talk.protected(fine(), key="wrong")[0])
    if "hmac" in way:
        echo = lambda **more: talk.ask("tool-use", {"tool": "echo", "text": "é Ab €", "nested": {"zeta": 1, "alpha": [1, {"b": 2}]}}, **more)
        await talk.say("unsigned", echo(), sign=False)
        await talk.say("signed", echo())

        def at(path, value):
            def alter(told):
                *above, last = path.split("/")
                place = told
                for step in above:
                    place = place[step]
                place[last] = value

            return alter

        right = json.loads(talk.protected(echo(id="known"))[0])["message"]["headers"]["signature"]["value"]
        await talk.say("known", echo(id="known"))
        raw = base64.b64decode(right) if len(right) == 44 else bytes.fromhex(right)
        for path, value in (
            ("payload/parameters/text", "x"), ("payload/parameters/nested", {}), ("payload/capability", "summarization"), ("source/agent_id", "pm-z"), ("destination/agent_id", "agent-b"), ("id", "other"), ("timestamp", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(talk.now - 5))),
            ("headers/priority", 6), ("headers/signature/value", "-"), ("headers/signature/value", ""), ("headers/signature/value", None), ("headers/signature/algorithm", "none"), ("headers/signature", {"algorithm": "none", "value": ""}),
            ("headers/signature/algorithm", "HMAC-MD5"), ("headers/signature", {"algorithm": "HMAC-MD5", "value": ""}), ("headers/signature", {"value": right}), ("headers/signature/value", right), ("headers/signature/value", base64.b64encode(raw[:16]).decode()),
        ):  # fmt: skip
            await talk.say(f"altered {path}", echo(sender="pm-h"), alter=at("message/" + path, value))
        for n, envelope in enumerate(operations):
            await talk.say(f"operation {n} altered", copy.deepcopy(envelope), alter=at("message/headers/priority", 7))


async def client(talk):
    """An agent that registers and sends requests."""
    peer = Client(talk.node, "http://127.0.0.1:9/registry", "http://127.0.0.1:8787", "token")
    talk.server.client, talk.server.control = peer, True
    import meshai_client

    meshai_client.post, before = talk.post, meshai_client.post
    try:
        await peer.run()
        for op, more in (
            ("clock", {}), ("nothing", {}), ("request", {"url": "http://127.0.0.1:9/peer", "agent_id": "pm-peer", "capability": "text-analysis", "parameters": {"text": "x"}, "context": {"session_id": "s", "conversation_history": []}}),
            ("request", {"url": "http://127.0.0.1:9/signed", "agent_id": "pm-peer", "capability": "text-analysis"}), ("discover", {"capabilities": ["pm-x"], "constraints": {"max_latency_ms": 5000, "min_success_rate": 0.5}}),
            ("negotiate", {"url": "http://127.0.0.1:9/peer", "capabilities": ["text-analysis"], "estimated_tokens": 10, "deadline": "2030-01-01T00:00:00Z"}), ("delegate", {"url": "http://127.0.0.1:9/peer", "parent_task_id": "t", "capability": "text-analysis"}),
            ("share", {"url": "http://127.0.0.1:9/peer", "context": {"session_id": "s", "shared_memory": {"a": {}, "b": "", "c": []}, "access_control": {"read": ["x"], "write": ["x"]}}}), ("request", {"url": "http://127.0.0.1:9/failing", "capability": "text-analysis"}),
        ):  # fmt: skip
            await talk.http(f"control {op}", "POST", "/aip/v1/control", {}, json.dumps({"op": op, **more}).encode())
    finally:
        meshai_client.post = before


async def conversation(ways, kind, parts=None):
    """Everything that a peer says in the scenario, as (name, …) rows; the last rows are what it sent to others."""
    talk = Talk(ways, "agent" if kind == "client" else kind)
    talk.now = 1_790_000_000.0  # so that instants that are returned as they were sent are the same in each run
    wanted = {"agent": (messages, requests, contexts, security), "registry": (messages, registry, security), "mesh": (messages, requests, registry, contexts, security), "client": (client,)}[kind]
    for part in wanted:
        await part(talk)
    await asyncio.sleep(0.03)
    for task in list(talk.node.tasks):
        task.cancel()
    return talk.rows()

"""An agent as a client: it registers itself, waits for the answer, and sends requests on demand (binding, section 12)."""

import asyncio
import copy
import json
import uuid

from meshai_http import post
from meshai_node import Answer
from meshai_wire import written

TOKEN = "peer-token-5c1e"


class Client:
    def __init__(self, node, registry, base, token=None):
        self.node, self.ways, self.registry, self.base, self.token = node, node.ways, registry, base, token
        self.registered = asyncio.Event()

    def envelope(self, kind, payload, to=None, capability=None):
        ways, node = self.ways, self.node
        name = str(uuid.uuid4())
        headers = {"correlation_id": name}
        if not ways.has("requests-correlation-only"):
            headers |= {"priority": 5, "timeout_ms": 30000, "routing_hints": {}}
        if ways.has("sends-nulls"):
            headers |= {"authentication": None, "signature": None, "tracing": None}
        if ways.bug("client-timeout-as-text"):
            headers["timeout_ms"] = "30000"
        destination = {n: v for n, v in (("agent_id", to), ("capability", capability)) if v is not None or ways.has("sends-nulls")}
        source = {"agent_id": node.id, **({"session_id": None} if ways.has("sends-nulls") else {})}
        message = {"id": name, "type": kind, "timestamp": written(node.now(), ways), "source": source, "destination": destination, "headers": headers, "payload": payload}
        if ways.bug("client-id-constant"):
            message["id"] = "1"
        if ways.bug("client-source-missing"):
            del message["source"]
        if ways.bug("client-source-of-another"):
            message["source"] = {"agent_id": "client"}
        if ways.bug("client-calls-are-events"):
            message["type"] = "event"
        protocol = "AIP/1.0" if ways.has("serves-aip-only") else "AMP/1.0"
        if ways.bug("client-speaks-2-0"):
            protocol = "AMP/2.0"
        return {"protocol": protocol, "message": message}

    async def send(self, url, envelope):
        """The answer as JSON, or None."""
        ways = self.ways
        headers = [("Authorization", f"Bearer {self.token}")] if self.token and not ways.bug("client-without-credentials") else []
        if ways.bug("client-credentials-without-scheme") and headers:
            headers = [("Authorization", self.token)]
        body = json.dumps(envelope["message"] if ways.bug("client-sends-inner-message") else envelope).encode()
        found = await post(url, body, kind="text/plain" if ways.bug("client-sends-text") else "application/json", headers=headers)
        if found is None:
            return None
        try:
            return json.loads(found[1]) if found[1] else {}
        except ValueError:
            return None

    def registration(self):
        ways, node = self.ways, self.node
        agent = node.identity(node.id)
        agent["name"] = "Peer of the mesh"
        if ways.has("registers-other-framework"):
            agent["framework"] = "FastAPI"
        if ways.has("registers-three-members"):
            agent = {n: agent[n] for n in ("id", "name", "framework")}
        declared = copy.deepcopy(node.agents[node.id])
        for capability in declared:
            if ways.has("registers-references"):
                capability |= {"input_schema": {"$ref": "#/definitions/In"}, "output_schema": {"$ref": "#/definitions/Out"}}
            if ways.has("registers-without-description"):
                del capability["description"], capability["constraints"]
        if ways.has("registers-own-ids"):
            declared.append({**declared[0], "id": "peer-own-skill"})
        prefix = self.base
        short = ways.has("path-short")
        endpoints = {"invoke": prefix + ("/invoke" if short else "/aip/v1/invoke"), "health": prefix + ("/healthz" if short else "/health")}
        payload = {"agent": agent, "capabilities": declared, "endpoints": endpoints}
        if ways.has("registers-credentials"):
            payload["authentication"] = {"type": "bearer", "credentials": "peer-credential"}
        elif ways.has("sends-nulls"):
            payload["authentication"] = None
        return ways.change("registration", payload, node)

    async def run(self):
        """Registers, and again until the registry answers."""
        ways = self.ways
        if ways.bug("client-never-registers"):
            self.registered.set()
            return
        if ways.bug("client-registers-late"):
            await self.send(self.registry, self.envelope("request", {"query": {"capabilities": ["web-search"]}}, "registry", "discovery"))
        to = "mesh" if ways.bug("client-registers-at-mesh") else "registry"
        capability = "register" if ways.bug("client-registers-by-register") else "registration"
        for _ in range(50):
            reply = await self.send(self.registry, self.envelope("request", self.registration(), to, capability))
            if reply is not None:
                break
            await asyncio.sleep(0.2)
        self.registered.set()
        if ways.has("registers-twice"):
            await asyncio.sleep(1)
            await self.send(self.registry, self.envelope("request", self.registration(), to, capability))

    async def command(self, data):
        """A control call: the outcome of what it makes the agent send."""
        try:
            told = json.loads(data)
            op = told["op"]
        except (ValueError, KeyError, TypeError):
            return Answer(400)
        outcome = {}
        await asyncio.wait_for(self.registered.wait(), 10)
        if op == "clock":
            outcome = {"now": written(self.node.now(), self.ways)}
        elif op in ("request", "discover", "negotiate", "delegate", "share"):
            url, envelope = self.built(op, told)
            envelope = self.ways.change("call", envelope, op, told)
            reply = await self.send(url, envelope)
            outcome = self.outcome(reply, envelope)
        else:
            return Answer(404)
        return Answer(200, json.dumps({"outcome": outcome}).encode(), "application/json")

    def built(self, op, told):
        ways = self.ways
        url, to = told.get("url", self.registry), told.get("agent_id")
        capability = told.get("capability")
        named = None if ways.has("requests-payload-capability") else capability
        if op == "request":
            payload = {"capability": capability, "parameters": told.get("parameters", {})}
            if "context" in told:
                payload["context"] = told["context"]
            elif ways.has("sends-nulls"):
                payload["context"] = None
            return url, self.envelope("request", payload, to, named)
        if op == "discover":
            query = {"capabilities": told.get("capabilities", [])}
            if told.get("constraints"):
                query["constraints"] = told["constraints"]
            elif ways.has("sends-nulls"):
                query["constraints"] = None
            return self.registry, self.envelope("request", {"query": query}, "registry", "discovery")
        if op == "negotiate":
            needs = {n: told[n] for n in ("capabilities", "estimated_tokens", "deadline") if n in told}
            first = next(iter(told.get("capabilities", [])), None)
            return url, self.envelope("request", {"negotiation_type": "capability_check", "requirements": needs}, to, first)
        if op == "delegate":
            subtask = {"capability": capability, "parameters": told.get("parameters", {}), "completion_callback": f"{self.base}/callback"}
            return url, self.envelope("request", {"delegation": {"parent_task_id": told.get("parent_task_id"), "subtask": subtask}}, to, named)
        return url, self.envelope("event", {"event_type": "context_update", "context": told.get("context", {})}, to)

    def outcome(self, reply, envelope):
        """What a reply amounts to."""
        ways = self.ways
        try:
            message = reply["message"]
            payload = message["payload"]
            headers = message.get("headers") or {}
            if ways.bug("client-refuses-further-headers") and set(headers) - {"correlation_id", "priority", "timeout_ms", "routing_hints"}:
                return {"status": "failed", "error": {"code": "INVALID_SCHEMA"}}
            if ways.bug("client-refuses-signed-replies") and "signature" in headers:
                return {"status": "failed", "error": {"code": "AUTHENTICATION_FAILED"}}
            if headers.get("correlation_id") not in (envelope["message"]["id"], None):
                return {"status": "failed", "error": {"code": "UNRELATED"}}
            if message["type"] == "error":
                return {"status": "failed", "error": payload["error"]}
            return {"status": payload.get("status"), "result": payload.get("result")}
        except (KeyError, TypeError, AttributeError):
            return {"status": "none"}

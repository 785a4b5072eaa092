"""Tests of the meshai library. Expected values come from the specification, its errata and the vectors.

Each operation has a check, and at least one planted bug that the check must catch.
"""

import copy
import json
import sys
import unittest
from datetime import datetime, timedelta, timezone
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import adapter  # noqa: E402
from meshai import agent, client, contexts, declarations, envelope, methods, registry, schema, security, text  # noqa: E402

TABLE = methods.TABLE
VECTORS = Path(__file__).resolve().parents[3] / "vectors" / "meshai"
NOW = "2025-01-27T10:00:00Z"
KEY = "proofmark-meshai-hmac-key-32byte".encode()
CODES = [
    "AGENT_NOT_FOUND",
    "CAPABILITY_NOT_FOUND",
    "AUTHENTICATION_FAILED",
    "RATE_LIMIT_EXCEEDED",
    "TIMEOUT",
    "INVALID_SCHEMA",
    "CONTEXT_NOT_FOUND",
    "INSUFFICIENT_RESOURCES",
]
DECLARATION = {
    "id": "text-analysis",
    "version": "1.0",
    "description": "d",
    "input_schema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    "output_schema": {"type": "object"},
    "constraints": {"response_time_ms": 1000, "max_input_length": 20},
}
IDENTITY = {"id": "a-1", "name": "n", "version": "1.0.0", "framework": "custom", "protocol_version": "1.0"}
REGISTRATION = {
    "agent": IDENTITY,
    "capabilities": [{**DECLARATION, "id": "x"}],
    "endpoints": {"invoke": "http://127.0.0.1:9/i", "health": "http://127.0.0.1:9/h"},
    "authentication": {"type": "bearer", "credentials": "the-secret"},
}


def call(operation, **params):
    return TABLE[f"meshai/{operation}"](params)


def hexed(value):
    return (value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False).encode()).hex()


def opened(digits):
    return json.loads(bytes.fromhex(digits))


class Case(unittest.TestCase):
    """The checks: one for each operation, in terms of what a caller sees."""

    def setUp(self):
        call("reset", now=NOW)
        self.count = 0

    def message(self, payload, sender="a", destination=None, type_="request", protocol="AMP/1.0", **headers):
        self.count += 1
        return {
            "protocol": protocol,
            "message": {
                "id": f"m-{self.count}",
                "type": type_,
                "timestamp": NOW,
                "source": {"agent_id": sender},
                "destination": {} if destination is None else destination,
                "headers": {"correlation_id": f"m-{self.count}", "priority": 5, "timeout_ms": 30000, "routing_hints": {}, **headers},
                "payload": payload,
            },
        }

    def handled(self, message, **params):
        answer = call("handle", raw=hexed(message), **params)
        return answer["http_status"], None if answer["raw"] is None else opened(answer["raw"])

    def code(self, message, **params):
        """The code of the error reply, or None for a response."""
        reply = self.handled(message, **params)[1]["message"]
        return reply["payload"]["error"]["code"] if reply["type"] == "error" else None

    def asked(self, capability="text-analysis", parameters=None, **more):
        return self.message({"capability": capability, "parameters": {"text": "hi"} if parameters is None else parameters}, **more)

    def offer(self, kind="fixed", **behaviour):
        call("define_capability", capability=DECLARATION, behaviour={"kind": kind, **behaviour})

    def context_call(self, op, agent="a", **parameters):
        return call("context", op=op, agent_id=agent, parameters=parameters)["context"]

    def refused(self, code, body):
        with self.assertRaises(adapter.Failure) as caught:
            body()
        self.assertEqual(caught.exception.code, code)
        return caught.exception.data

    # --- Messages -----------------------------------------------------------------------------------------------------

    def check_info(self):
        told = call("info")
        self.assertIn("http", told["transports"])
        self.assertEqual(told["protocols"], ["AMP/1.0", "AIP/1.0"])
        self.assertEqual(told["operations"], sorted(TABLE))

    def check_reset(self):
        self.offer()
        self.assertIsNone(self.code(self.asked()))
        call("reset", config={"auth": {"api_key": {"value": "k"}}, "rate_limit": {"requests": 1, "window_ms": 60000}})
        self.assertEqual(self.code(self.asked()), "AUTHENTICATION_FAILED")
        self.assertEqual(self.code(self.asked(), authorization="Bearer k"), "CAPABILITY_NOT_FOUND")
        self.assertEqual(self.code(self.asked(), authorization="Bearer k"), "RATE_LIMIT_EXCEEDED")

    def check_set_clock(self):
        call("set_clock", now="2030-05-06T07:08:09+02:00")
        built = opened(call("build", kind="request", fields={"capability": "x"})["raw"])
        self.assertEqual(built["message"]["timestamp"][:18], "2030-05-06T05:08:0")
        self.refused(-32602, lambda: call("set_clock", now="yesterday"))

    def check_define_capability(self):
        self.offer(result={"n": 1})
        self.assertEqual(self.handled(self.asked())[1]["message"]["payload"], {"status": "success", "result": {"n": 1}})
        self.offer("echo")
        self.assertEqual(self.handled(self.asked())[1]["message"]["payload"]["result"], {"text": "hi"})
        self.offer("fail")
        self.assertEqual(self.handled(self.asked())[1]["message"]["payload"]["status"], "failed")
        self.offer("exhaust")
        self.assertEqual(self.code(self.asked()), "INSUFFICIENT_RESOURCES")
        self.refused(-32001, lambda: call("define_capability", capability={}, behaviour={"kind": "echo"}))
        waited = []
        methods.library.agent.sleep = waited.append
        self.offer("sleep", ms=3000)
        self.assertEqual(self.code(self.asked(timeout_ms=1000)), "TIMEOUT")
        self.assertIsNone(self.code(self.asked(timeout_ms=3000)))
        self.assertEqual(waited, [1.0, 3.0])

    def check_parse(self):
        sent = self.message({"status": "success", "result": {"é": "😀"}}, type_="response", execution_time_ms=5, x_new={"a": [1.5]})
        self.assertEqual(call("parse", raw=hexed(sent))["envelope"], sent)
        wrong = [b"", b"[]", b"{", b"\xff", b'{"protocol":"AMP/1.0"}', json.dumps({**sent, "protocol": "AMP/2.0"}).encode()]
        wrong += [json.dumps({**sent, "protocol": name}).encode() for name in ("amp/1.0", "XYZ/1.0", "AMP/1", "AMP/1.0.0", "AMP/1.", "AMP1.0", "AMP/01.0")]
        wrong.append(json.dumps(sent).replace('"message"', '"message":1,"message"', 1).encode())
        wrong.append(b'{"protocol":"AMP/1.0",' + b'"x":[' * 3000)
        for raw in wrong:
            with self.subTest(raw=raw[:60]):
                self.assertEqual(self.refused(-32001, lambda: call("parse", raw=hexed(raw)))["code"], "INVALID_SCHEMA")
        self.assertEqual(call("parse", raw=hexed({**sent, "protocol": "AIP/1.7"}))["envelope"]["protocol"], "AIP/1.7")

    def check_encode(self):
        sent = self.message({"é": "😀", "n": [1, 2.5, True, None]})
        self.assertEqual(opened(call("encode", envelope=sent)["raw"]), sent)

    def check_build(self):
        built = opened(call("build", kind="request", fields={"source": {"agent_id": "a"}, "capability": "x", "parameters": {"p": 1}, "context": {"c": 1}})["raw"])
        message = built["message"]
        self.assertEqual((built["protocol"], message["type"], message["source"], message["destination"]), ("AMP/1.0", "request", {"agent_id": "a"}, {"capability": "x"}))
        self.assertEqual(message["payload"], {"capability": "x", "parameters": {"p": 1}, "context": {"c": 1}})
        self.assertEqual(message["headers"], {"correlation_id": message["id"], "priority": 5, "timeout_ms": 30000, "routing_hints": {}})
        self.assertRegex(message["timestamp"], r"^2025-01-27T10:00:\d\dZ$")
        other = opened(call("build", kind="request", fields={"capability": "x"})["raw"])["message"]
        self.assertNotEqual(message["id"], other["id"])
        for kind, destination in (("registration", "registration"), ("discovery", "discovery")):
            found = opened(call("build", kind=kind, fields={"query": {}, "agent": {}})["raw"])["message"]
            self.assertEqual((found["type"], found["destination"]), ("request", {"agent_id": "registry", "capability": destination}))
        event = opened(call("build", kind="context_update", fields={"context": {"session_id": "s"}})["raw"])["message"]
        self.assertEqual((event["type"], event["payload"]), ("event", {"event_type": "context_update", "context": {"session_id": "s"}}))
        asked = self.message({}, sender="asker", protocol="AIP/1.3", correlation_id="track")
        reply = opened(call("build", kind="response", fields={"source": {"agent_id": "me"}, "request_raw": hexed(asked), "result": {"r": 1}})["raw"])
        self.assertEqual(reply["protocol"], "AIP/1.0")
        self.assertEqual(reply["message"]["headers"]["correlation_id"], asked["message"]["id"])
        self.assertEqual((reply["message"]["source"], reply["message"]["destination"]), ({"agent_id": "me"}, {"agent_id": "asker"}))
        self.assertEqual(reply["message"]["payload"], {"status": "success", "result": {"r": 1}})
        error = opened(call("build", kind="error", fields={"request_raw": hexed(asked), "code": "TIMEOUT", "message": "late"})["raw"])
        self.assertEqual((error["message"]["type"], error["message"]["payload"]), ("error", {"error": {"code": "TIMEOUT", "message": "late"}}))
        for kind, part in (("negotiation", {"requirements": {"capabilities": ["x"]}}), ("delegation", {"delegation": {"subtask": {"capability": "x"}}})):
            self.assertEqual(opened(call("build", kind=kind, fields=part)["raw"])["message"]["destination"], {"capability": "x"})
        self.refused(-32602, lambda: call("build", kind="command", fields={}))

    def check_handle(self):
        self.offer("echo")
        status, reply = self.handled(self.asked(protocol="AIP/1.4", sender="asker", correlation_id="t"))
        message = reply["message"]
        self.assertEqual((status, reply["protocol"], message["type"]), (200, "AIP/1.0", "response"))
        self.assertEqual((message["headers"]["correlation_id"], message["destination"]), ("m-1", {"agent_id": "asker"}))
        self.assertNotIn(message["source"]["agent_id"], ("asker", ""))
        self.assertIsInstance(message["headers"]["execution_time_ms"], int)
        self.assertNotEqual(message["id"], "m-1")
        second = self.handled(self.asked())[1]["message"]
        self.assertNotEqual(second["id"], message["id"])
        good = self.asked()
        self.assertIsNone(self.code(good))
        changes = [("/type", None), ("/type", "request|response"), ("/type", "REQUEST"), ("/payload", []), ("/payload", None), ("/id", None), ("/id", 7)]
        changes += [("/timestamp", None), ("/timestamp", "2025-01-27T10:00:00"), ("/timestamp", 1737972000), ("/timestamp", "2025-02-30T10:00:00Z")]
        changes += [("/source", None), ("/source", {}), ("/destination", None), ("/headers", "none"), ("/headers", None)]
        changes += [("/headers/priority", value) for value in (0, 11, 2.5, "high", True)] + [("/headers/timeout_ms", value) for value in (0, -1, "fast")]
        changes += [("/payload/parameters", value) for value in ([], "text", {"text": 5}, {}, {"text": "x" * 21})]
        changes += [("/payload/capability", 7), ("/payload/context", {"session_id": 5}), ("/payload/context", {"conversation_history": "none"})]
        for place, value in changes:
            with self.subTest(place=place, value=value):
                wrong = copy.deepcopy(good)
                *path, name = place.split("/")[1:]
                holder = wrong["message"]
                for step in path:
                    holder = holder[step]
                holder[name] = value
                self.assertEqual(self.code(wrong), "INVALID_SCHEMA")
        self.assertEqual(self.code(self.asked("nothing")), "CAPABILITY_NOT_FOUND")
        details = self.handled(self.asked("text-analysi"))[1]["message"]["payload"]["error"]["details"]
        self.assertIn("text-analysis", details["available_capabilities"])
        self.assertEqual(details["suggestion"], "Try 'text-analysis' instead")
        self.assertEqual(self.code(self.asked(destination={"agent_id": "unknown"})), "AGENT_NOT_FOUND")
        self.assertIsNone(self.code(self.asked(destination={"capability": "other"})))  # the payload decides
        offer = self.handled({**self.asked(), "protocol": "AMP/2.0"})[1]
        self.assertEqual((offer["protocol"], offer["message"]["payload"]["error"]["details"]["supported_versions"]), ("AMP/1.0", ["1.0"]))
        self.assertEqual(self.handled([good, good])[0], 400)
        self.check_registry()
        self.check_events()
        self.check_negotiation()
        self.check_credentials()

    def check_registry(self):
        def register(payload, **more):
            return self.code(self.message(payload, destination={"agent_id": "registry", "capability": "registration"}, **more))

        def discover(query):
            reply = self.handled(self.message({"query": query}, destination={"agent_id": "registry", "capability": "discovery"}))[1]["message"]
            self.assertEqual(reply["source"], {"agent_id": "registry"})
            return reply["payload"]["result"]["agents"]

        self.assertEqual(discover({"capabilities": ["x"]}), [])
        self.assertIsNone(register(REGISTRATION))
        entry = {name: REGISTRATION[name] for name in ("agent", "capabilities", "endpoints")}
        self.assertEqual(discover({"capabilities": ["x"]}), [entry])  # without the credentials
        changed = copy.deepcopy(REGISTRATION)
        changed["agent"]["name"] = "another"
        self.assertIsNone(register(changed))
        self.assertEqual([found["agent"]["name"] for found in discover({"capabilities": ["x"]})], ["another"])
        changed["authentication"]["credentials"] = "guessed"
        self.assertEqual(register(changed), "AUTHENTICATION_FAILED")
        for place, value in (
            (("agent",), "a"),
            (("agent", "id"), ""),
            (("agent", "id"), "registry"),
            (("agent", "name"), 7),
            (("agent", "framework"), "spreadsheets"),
            (("capabilities",), {}),
            (("capabilities",), None),
            (("capabilities", 0), "x"),
            (("capabilities", 0, "version"), None),
            (("endpoints",), "http://127.0.0.1/"),
            (("endpoints", "invoke"), "/invoke"),
            (("endpoints", "invoke"), "ftp://host/"),
        ):
            with self.subTest(place=place, value=value):
                wrong = copy.deepcopy(REGISTRATION)
                holder = wrong
                for step in place[:-1]:
                    holder = holder[step]
                holder[place[-1]] = value
                self.assertEqual(register(wrong), "INVALID_SCHEMA")

    def check_events(self):
        made = self.context_call("create", context={"session_id": "s", "shared_memory": {"k": 1}})

        def event(context, sender="a", **more):
            payload = {"event_type": "context_update", "context": context, **more}
            return self.handled(self.message(payload, sender=sender, type_="event"))

        self.assertEqual(event({"session_id": "s", "shared_memory": {"j": 2}}), (204, None))
        self.assertEqual(self.context_call("get", context_id=made["id"])["shared_memory"], {"k": 1, "j": 2})
        self.assertEqual(event({"session_id": "unknown"})[0], 404)
        self.assertEqual(event("text")[0], 400)
        self.assertEqual(event({"session_id": "s", "shared_memory": []})[0], 400)
        self.assertEqual(event({}, event_type=None)[0], 400)
        self.assertEqual(event({"session_id": "s", "agent_memory": {"a": {"p": 1}}}, sender="b")[0], 403)

    def check_negotiation(self):
        def accepted(*needed, **more):
            payload = {"negotiation_type": "capability_check", "requirements": {"capabilities": list(needed), **more}}
            return self.handled(self.message(payload))[1]["message"]["payload"]["result"]["accepted"]

        self.assertTrue(accepted("text-analysis", estimated_tokens=1, deadline="2025-01-27T11:00:00Z"))
        self.assertFalse(accepted("text-analysis", "other"))
        self.assertFalse(accepted("text-analysis", deadline="2025-01-27T09:00:00Z"))

    def check_credentials(self):
        call("reset", now=NOW, config={"auth": {"jwt": {"key": KEY.decode()}, "hmac": {"key": KEY.decode(), "required": True}}})
        seconds = int(datetime(2025, 1, 27, 10, tzinfo=timezone.utc).timestamp())

        def signed(**claims):
            token = security.make_token({"agent_id": "a", "exp": seconds + 600, **claims}, KEY)
            return opened(call("sign", raw=hexed(self.asked(authentication={"type": "jwt", "token": token})), key=KEY.hex())["raw"])

        self.assertEqual(self.code(signed()), "CAPABILITY_NOT_FOUND")
        self.assertEqual(self.code(signed(exp=seconds - 1)), "AUTHENTICATION_FAILED")
        self.assertEqual(self.code(signed(agent_id="b")), "AUTHENTICATION_FAILED")
        changed, unsigned = signed(), signed()
        changed["message"]["payload"]["parameters"]["text"] = "ho"
        del unsigned["message"]["headers"]["signature"]
        self.assertEqual(self.code(changed), "AUTHENTICATION_FAILED")
        self.assertEqual(self.code(unsigned), "AUTHENTICATION_FAILED")
        reply = self.handled(signed())[1]
        self.assertIsNone(security.verify(reply["message"], KEY))

    def check_outbox(self):
        self.offer(result={"n": 1})
        subtask = {"capability": "text-analysis", "parameters": {"text": "hi"}, "completion_callback": "http://127.0.0.1:9/c"}
        sent = self.message({"delegation": {"parent_task_id": "t-1", "subtask": subtask}}, sender="delegator")
        self.assertIsNone(self.code(sent))
        (entry,) = call("outbox")["sent"]
        message = opened(entry["raw"])["message"]
        self.assertEqual((entry["to"], message["destination"]), ("http://127.0.0.1:9/c", {"agent_id": "delegator"}))
        self.assertEqual(message["headers"]["correlation_id"], sent["message"]["id"])
        self.assertEqual(message["payload"], {"status": "success", "result": {"n": 1}, "metadata": {"parent_task_id": "t-1"}})
        self.assertEqual(call("outbox")["sent"], [])
        for name, value in (("capability", "other"), ("parameters", []), ("completion_callback", "nowhere")):
            wrong = self.message({"delegation": {"parent_task_id": "t-1", "subtask": {**subtask, name: value}}})
            self.assertEqual(self.code(wrong), "CAPABILITY_NOT_FOUND" if name == "capability" else "INVALID_SCHEMA")
        self.assertEqual(call("outbox")["sent"], [])

    # --- Declarations -------------------------------------------------------------------------------------------------

    def check_validate_identity(self):
        self.assertEqual(call("validate_identity", agent=IDENTITY), {"valid": True, "problems": []})
        for change in ({"id": ""}, {"id": 7}, {"name": ""}, {"version": 1}, {"version": "1.0"}, {"framework": "x"}, {"protocol_version": 1.0}, {"protocol_version": "1"}):
            self.assertFalse(call("validate_identity", agent={**IDENTITY, **change})["valid"], change)
        for name in IDENTITY:
            problems = call("validate_identity", agent={key: value for key, value in IDENTITY.items() if key != name})["problems"]
            self.assertEqual([problem["path"] for problem in problems], [f"/agent/{name}"])

    def check_validate_capability(self):
        self.assertTrue(call("validate_capability", capability=DECLARATION, strict=True)["valid"])
        reference = {**DECLARATION, "id": "own", "input_schema": {"$ref": "#/definitions/T"}}
        self.assertTrue(call("validate_capability", capability=reference)["valid"])
        paths = [problem["path"] for problem in call("validate_capability", capability=reference, strict=True)["problems"]]
        self.assertEqual(paths, ["/capability/input_schema", "/capability/id"])
        wrong = [{"id": ""}, {"version": 1.0}, {"version": "one"}, {"description": 1}, {"input_schema": "text"}, {"output_schema": {"type": 5}}, {"constraints": []}]
        wrong += [{"constraints": limits} for limits in ({"max_input_length": -1}, {"max_input_length": 1.5}, {"supported_languages": "en"}, {"response_time_ms": "fast"})]
        for change in wrong:
            self.assertFalse(call("validate_capability", capability={**DECLARATION, **change})["valid"], change)

    def check_validate_context(self):
        good = {"id": "c", "session_id": "s", "created_at": NOW, "expires_at": "2025-01-27T11:00:00Z", "shared_memory": {}, "agent_memory": {}, "lineage": {}}
        self.assertTrue(call("validate_context", context=good)["valid"])
        wrong = [{"id": ""}, {"session_id": 5}, {"created_at": "now"}, {"expires_at": "2025-01-27T09:00:00Z"}, {"shared_memory": []}, {"agent_memory": {"a": 1}}]
        wrong += [{"lineage": []}, {"lineage": {"parent_context": 5}}, {"access_control": {"read": "a"}}, {"shared_memory": {"task_history": {}}}]
        for change in wrong:
            self.assertFalse(call("validate_context", context={**good, **change})["valid"], change)

    def check_taxonomy(self):
        groups = call("taxonomy")["groups"]
        self.assertEqual([len(ids) for ids in groups.values()], [5, 3, 3, 3, 3])
        self.assertEqual(len({name for ids in groups.values() for name in ids}), 17)
        self.assertIn("memory-retrieval", groups["specialized"])

    def check_error_codes(self):
        self.assertEqual(sorted(call("error_codes")["codes"]), sorted(CODES))

    def check_match(self):
        agents = [
            {"agent": {"id": "one"}, "capabilities": [{"id": "x", "constraints": {"response_time_ms": 1000}}, {"id": "y"}]},
            {"agent": {"id": "two"}, "capabilities": [{"id": "x", "constraints": {"response_time_ms": 9000}}]},
            {"agent": {"id": "three"}, "capabilities": [{"id": "x-long"}]},
        ]
        for query, found in (
            ({"capabilities": ["x"]}, ["one", "two"]),
            ({"capabilities": ["x", "y"]}, ["one"]),
            ({"capabilities": ["x"], "constraints": {"max_latency_ms": 1000}}, ["one"]),
            ({"capabilities": ["x"], "constraints": {"max_latency_ms": 999}}, []),
            ({"capabilities": ["x"], "constraints": {"min_success_rate": 0.9}}, ["one", "two"]),
            ({"capabilities": ["z"]}, []),
        ):
            self.assertEqual(call("match", query=query, agents=agents)["ids"], found, query)
        for query in ("text", {"capabilities": [1]}, {"capabilities": "x"}, {"constraints": []}, {"constraints": {"min_success_rate": 95}}, {"constraints": {"max_latency_ms": -1}}):
            self.refused(-32001, lambda: call("match", query=query, agents=agents))
        self.assertEqual(len(registry.found({"constraints": {"min_success_rate": 0.5}}, agents, {"one": 0.4, "two": 0.5})), 2)

    def check_context(self):
        end = "2025-01-27T11:00:00Z"
        made = self.context_call("create", context={"session_id": "s", "expires_at": end, "shared_memory": {"k": {"n": 1}}, "agent_memory": {"a": {"p": 1}}})
        self.assertEqual((made["session_id"], made["expires_at"], made["shared_memory"], made["agent_memory"]), ("s", end, {"k": {"n": 1}}, {"a": {"p": 1}}))
        self.assertEqual(made["lineage"]["root_context"], made["id"])
        one = made["id"]
        self.assertEqual(self.context_call("get", session_id="s")["id"], one)
        self.assertEqual(self.context_call("get", "b", context_id=one)["agent_memory"], {})
        self.context_call("update", "b", context_id=one, context={"shared_memory": {"j": 2}, "agent_memory": {"b": {"q": 1}}})
        seen = self.context_call("get", context_id=one)
        self.assertEqual((seen["shared_memory"], seen["agent_memory"]), ({"k": {"n": 1}, "j": 2}, {"a": {"p": 1}}))
        self.refused(-32003, lambda: self.context_call("update", "b", context_id=one, context={"agent_memory": {"a": {"p": 2}}}))
        child = self.context_call("fork", "b", context_id=one)
        self.assertEqual((child["lineage"], child["agent_memory"]), ({"parent_context": one, "root_context": one}, {"b": {"q": 1}}))
        self.context_call("update", context_id=child["id"], context={"shared_memory": {"k": {"n": 9}}})
        self.assertEqual(self.context_call("get", context_id=one)["shared_memory"]["k"], {"n": 1})
        self.assertEqual(self.context_call("fork", context_id=child["id"])["lineage"], {"parent_context": child["id"], "root_context": one})
        two = self.context_call("create", context={"shared_memory": {"k": "two", "m": 3}, "access_control": {"read": ["a"], "write": ["a"]}})["id"]
        merged = self.context_call("merge", context_ids=[one, two])
        self.assertEqual(merged["shared_memory"], {"k": "two", "j": 2, "m": 3})
        self.assertNotIn(merged["id"], (one, two))
        self.refused(-32003, lambda: self.context_call("get", "b", context_id=merged["id"]))
        for op, parameters in (("get", {"context_id": two}), ("update", {"context_id": two, "context": {}}), ("fork", {"context_id": two}), ("merge", {"context_ids": [one, two]})):
            self.refused(-32003, lambda: self.context_call(op, "b", **parameters))
        for op, parameters in (("get", {"context_id": "none"}), ("update", {"context_id": "none", "context": {}}), ("fork", {"context_id": "none"}), ("merge", {"context_ids": [one, "none"]})):
            self.assertEqual(self.refused(-32001, lambda: self.context_call(op, **parameters))["code"], "CONTEXT_NOT_FOUND")
        for wrong in ({"expires_at": "tomorrow"}, {"shared_memory": []}, {"access_control": {"read": "a"}}):
            self.assertEqual(self.refused(-32001, lambda: self.context_call("create", context=wrong))["code"], "INVALID_SCHEMA")
        call("set_clock", now=end)
        self.assertEqual(self.refused(-32001, lambda: self.context_call("get", context_id=one))["code"], "CONTEXT_NOT_FOUND")

    # --- Signatures and tokens ------------------------------------------------------------------------------------------

    def vectors(self, name):
        return [test for group in json.loads((VECTORS / f"{name}.json").read_text("utf-8"))["groups"] for test in group["tests"]]

    def check_canonical(self):
        given = {"message": {"type": "t", "id": "é\u2028\x07", "headers": {"signature": 1}, "payload": {"ﬀ": 1, "😀": 2, "signature": [1e21, 1e-7, 0.1, -0.0, 5.0, 1e20]}}}
        expected = '{"headers":{},"id":"é\u2028\\u0007","payload":{"signature":[1e+21,1e-7,0.1,0,5,100000000000000000000],"😀":2,"ﬀ":1},"type":"t"}'
        self.assertEqual(bytes.fromhex(call("canonical", envelope=given)["bytes"]).decode(), expected)

    def check_sign(self):
        for vector in self.vectors("signing"):
            if vector["recipe"] == "jcs":
                signed = opened(call("sign", raw=vector["envelope"].encode().hex(), key=vector["key"].encode().hex())["raw"])
                self.assertEqual(signed["message"]["headers"]["signature"], {"algorithm": "HMAC-SHA256", "value": vector["base64"]}, vector["id"])

    def check_verify(self):
        for vector in self.vectors("signature"):
            if vector["result"] != "acceptable":
                answer = call("verify", raw=vector["envelope"].encode().hex(), key=vector["key"].encode().hex())
                self.assertEqual(answer["valid"], vector["result"] == "valid", vector["id"])

    def check_make_jwt(self):
        claims = {"sub": "proofmark-a", "agent_id": "proofmark-a", "capabilities": [], "iat": 1737972000, "exp": 4102444800}
        valid = self.vectors("token")[0]["token"]
        self.assertEqual(call("make_jwt", claims=claims, key=KEY.hex())["token"], valid)

    def check_check_jwt(self):
        for vector in self.vectors("token"):
            if vector["result"] != "acceptable":
                answer = call("check_jwt", token=vector["token"], key=vector["key"].encode().hex(), now=vector["now"])
                self.assertEqual(answer["valid"], vector["result"] == "valid", vector["id"])
        other = security.make_token({"exp": 4102444800, "aud": "others"}, KEY)
        self.assertFalse(call("check_jwt", token=other, key=KEY.hex())["valid"])

    # --- The client ---------------------------------------------------------------------------------------------------

    def check_negotiate_version(self):
        for offered, agreed in ((["1.0"], "1.0"), (["2.0", "1.0"], "1.0"), (["1.3"], "1.0"), (["2.0", "0.9"], None), (["1", "1.0.0", "one", 1], None), ([], None)):
            self.assertEqual(call("negotiate_version", offered=offered)["agreed"], agreed, offered)

    def check_participate(self):
        fields = {"source": {"agent_id": "me"}, "capability": "x", "parameters": {}}
        first, second = (opened(raw)["message"] for raw in call("participate", registry_answer="success", requests=[fields])["sent"])
        self.assertEqual(first["destination"], {"agent_id": "registry", "capability": "registration"})
        self.assertEqual(declarations.registration(first["payload"]), [])
        self.assertEqual((first["source"], first["payload"]["agent"]["id"], second["payload"]["capability"]), ({"agent_id": "me"}, "me", "x"))
        self.assertEqual(len(call("participate", registry_answer="error", requests=[fields])["sent"]), 1)

    def invoked(self, mode="sync", correlation="r-1", type_="response", payload=None, delay=0):
        reply = self.message(payload or {"status": "success", "result": {"n": 1}}, type_=type_, correlation_id=correlation)
        return call("invoke", mode=mode, fields={"id": "r-1", "capability": "x"}, peer_reply=hexed(reply), delay_ms=delay)

    def check_invoke(self):
        self.assertEqual(self.invoked()["outcome"], {"status": "success", "result": {"n": 1}})
        self.assertEqual(self.invoked(payload={"status": "partial", "result": {}})["outcome"]["status"], "partial")
        self.assertEqual(self.invoked(correlation="other")["outcome"]["error"]["code"], "TIMEOUT")
        for code in CODES:
            error = {"code": code, "message": "m", "details": {"d": 1}}
            self.assertEqual(self.invoked(type_="error", payload={"error": error})["outcome"], {"status": "failed", "error": error})
        broken = call("invoke", mode="sync", fields={"capability": "x"}, peer_reply=b"{".hex())["outcome"]
        self.assertEqual(broken["status"], "failed")

    def check_poll(self):
        times = iter([0.0, 0.4, 0.5])
        methods.library.calls = client.Calls(lambda: next(times))
        handle = self.invoked("async", delay=500)["handle"]
        self.assertEqual(call("poll", handle=handle), {"done": False})
        self.assertEqual(call("poll", handle=handle), {"done": True, "outcome": {"status": "success", "result": {"n": 1}}})
        self.refused(-32602, lambda: call("poll", handle="other"))


def result(operation, change):
    """A method whose result differs."""
    real = TABLE[f"meshai/{operation}"]
    return mock.patch.dict(TABLE, {f"meshai/{operation}": lambda params: change(real(params))})


def replaced(holder, name, body):
    return mock.patch.object(holder, name, body)


def without(value, *names):
    return {name: member for name, member in value.items() if name not in names}


def _update(self, agent, context, given):
    context["shared_memory"] = given.get("shared_memory", {})


def _any(query, agents, rates=None):
    return [entry for entry in agents if any(c["id"] in query["capabilities"] for c in entry["capabilities"])]


def _first_wins(self, agent, parameters, real=contexts.Contexts._merge):
    return real(self, agent, {"context_ids": parameters["context_ids"][::-1]})


def _root_is_parent(self, agent, parameters, real=contexts.Contexts._fork):
    child = real(self, agent, parameters)
    child["lineage"]["root_context"] = child["lineage"]["parent_context"]
    return child


def _destination_decides(self, sender, message, real=agent.Agent._requested):
    named = message["destination"].get("capability") or message["payload"].get("capability")
    return real(self, sender, {**message, "payload": {**message["payload"], "capability": named}})


def _unsigned(self, asked, kind, own, payload, status, headers=None):
    return agent.Answer(text.encode(envelope.reply(asked, kind, own, payload, self.now(), headers)), status)


def _takes_over(self, payload):
    self._agents[payload["agent"]["id"]] = payload
    return {}


# One bug or more in each operation.
BUGS = {
    "info": {"no-transport": result("info", lambda told: {**told, "transports": []})},
    "reset": {"keeps-state": mock.patch.dict(TABLE, {"meshai/reset": lambda params: {}})},
    "set_clock": {"ignored": replaced(agent.Agent, "set_clock", lambda self, now: None)},
    "define_capability": {
        "unchecked": replaced(declarations, "capability", lambda *_, **__: []),
        "timeout-ignored": replaced(agent.Agent, "_executed", lambda self, name, parameters, timeout, real=agent.Agent._executed: real(self, name, parameters, 10**9)),
    },
    "parse": {
        "version-unchecked": replaced(envelope, "check_version", lambda protocol: None),
        "repeated-names": replaced(text, "_members", dict),
        "loses-members": result("parse", lambda found: {"envelope": without(found["envelope"], "message")}),
    },
    "encode": {"loses-text": replaced(text, "encode", lambda value: json.dumps(value).encode().replace(b"\\u", b""))},
    "build": {
        "same-id": replaced(envelope.uuid, "uuid4", lambda: "constant"),
        "timestamp-without-zone": replaced(envelope, "stamp", lambda now: now.strftime("%Y-%m-%dT%H:%M:%S")),
        "no-destination": replaced(envelope, "DISCOVERY", None),
    },
    "handle": {
        "incomplete-taken": replaced(envelope, "check_complete", lambda message: None),
        "schema-ignored": replaced(schema, "mismatch", lambda value, schema: None),
        "length-ignored": replaced(agent, "_length", lambda value: 0),
        "credentials-unchecked": replaced(agent.Agent, "_authenticate", lambda *_: None),
        "registration-unchecked": replaced(declarations, "registration", lambda payload: []),
        "anyone-re-registers": replaced(registry.Registry, "register", _takes_over),
        "event-dropped": replaced(agent.Agent, "_event", lambda *_: None),
        "destination-decides": replaced(agent.Agent, "_requested", _destination_decides),
        "version-echoed": replaced(envelope, "VERSION", "1.4"),
        "negotiation-always-yes": replaced(agent.Agent, "_negotiated", lambda *_: {"status": "success", "result": {"accepted": True}}),
        "replies-unsigned": replaced(agent.Agent, "_answer", _unsigned),
    },
    "outbox": {
        "callback-never": replaced(agent.Agent, "sent", lambda self: []),
        "callback-repeated": replaced(agent.Agent, "sent", lambda self: self._sent),
        "url-unchecked": replaced(declarations, "is_url", lambda value: True),
    },
    "validate_identity": {"takes-everything": replaced(declarations, "identity", lambda *_, **__: [])},
    "validate_capability": {
        "schema-unchecked": replaced(schema, "flaw", lambda schema: None),
        "taxonomy-unchecked": replaced(declarations, "STANDARD", {"own", "text-analysis"}),
        "reference-unchecked": replaced(schema, "resolves", lambda schema: True),
    },
    "validate_context": {"takes-everything": replaced(declarations, "context", lambda context: [])},
    "taxonomy": {"an-id-missing": result("taxonomy", lambda told: {"groups": {**told["groups"], "specialized": ["web-search", "tool-use"]}})},
    "error_codes": {"a-code-missing": result("error_codes", lambda told: {"codes": told["codes"][1:]})},
    "match": {
        "any": replaced(registry, "found", _any),
        "latency-ignored": replaced(registry, "_query", lambda query, real=registry._query: (real(query)[0], None, real(query)[2])),
    },
    "context": {
        "private-memory-returned": replaced(contexts.Contexts, "_view", lambda self, context, agent: copy.deepcopy(context)),
        "lists-ignored": replaced(contexts.Contexts, "_may", lambda *_: None),
        "private-memory-writable": replaced(contexts.Contexts, "_check", lambda *_: None),
        "update-replaces": replaced(contexts.Contexts, "_change", _update),
        "merge-first-wins": replaced(contexts.Contexts, "_merge", _first_wins),
        "merge-opens": replaced(contexts, "_common", lambda lists, agent: None),
        "expiry-ignored": replaced(contexts, "instant", lambda text: datetime.now(timezone.utc) + timedelta(days=99999)),
        "fork-shares-memory": replaced(contexts.copy, "deepcopy", lambda value: value),
        "root-is-parent": replaced(contexts.Contexts, "_fork", _root_is_parent),
    },
    "canonical": {
        "ascii-escapes": replaced(text, "_quoted", json.dumps),
        "signature-kept": replaced(security, "signed_bytes", text.canonical),
        "sorted-by-code-points": replaced(text, "canonical", lambda value: json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()),
        "numbers-by-repr": replaced(text, "_number", repr),
    },
    "sign": {"old-signature-hashed": replaced(security, "signed_bytes", lambda message: text.canonical({**message, "headers": {**message["headers"], "signature": None}}))},
    "verify": {
        "algorithm-ignored": replaced(security, "ALGORITHM", mock.ANY),
        "never-checked": replaced(security.hmac, "compare_digest", lambda one, other: True),
    },
    "make_jwt": {"padded": replaced(security, "_part", lambda data: security.base64.urlsafe_b64encode(data).decode())},
    "check_jwt": {
        "expiry-ignored": replaced(security, "check_token", lambda token, key, now, real=security.check_token: real(token, key, now.replace(year=2020))),
        "signature-ignored": replaced(security.hmac, "compare_digest", lambda one, other: True),
        "audience-ignored": replaced(security, "AUDIENCE", "others"),
    },
    "negotiate_version": {"takes-the-first": replaced(envelope, "agreed", lambda offered: offered[0] if offered else None)},
    "participate": {"registers-late": replaced(client, "participate", lambda *given, real=client.participate: real(*given)[::-1])},
    "invoke": {"correlation-ignored": replaced(client, "outcome", lambda asked, reply: {"status": "success", "result": json.loads(reply)["message"]["payload"].get("result")})},
    "poll": {"done-at-once": replaced(client.Calls, "poll", lambda self, handle: self._open[handle][1])},
}


class Operations(Case):
    def test_every_operation_has_a_check_and_a_bug(self):
        names = {name.removeprefix("meshai/") for name in TABLE}
        self.assertEqual(names, {name[6:] for name in dir(Case) if name.startswith("check_")} - {"registry", "events", "negotiation", "credentials"})
        self.assertEqual(names, set(BUGS))


def _passes(operation):
    return lambda self: getattr(self, f"check_{operation}")()


def _catches(operation, bug):
    def test(self):
        outcome = unittest.TestResult()
        with bug:
            Probe(f"check_{operation}").run(outcome)
        self.assertTrue(outcome.failures or outcome.errors, "the planted bug is not caught")

    return test


class Probe(Case):
    """A check outside of the tests, to see it fail."""


for _operation, _bugs in BUGS.items():
    setattr(Operations, f"test_{_operation}", _passes(_operation))
    for _name, _bug in _bugs.items():
        setattr(Operations, f"test_{_operation}_catches_{_name.replace('-', '_')}", _catches(_operation, _bug))


if __name__ == "__main__":
    unittest.main()

"""The registry of a meshai peer: registration (section 4.1) and discovery (section 3.3)."""

import copy
import re

from meshai_contexts import Refused, malformed

FRAMEWORKS = ("langchain", "crewai", "autogen", "custom")
ABSOLUTE = re.compile(r"https?://[^/\s]+(/\S*)?")


def is_text(value):
    return isinstance(value, str) and value != ""


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


class Registry:
    def __init__(self, ways):
        self.ways = ways
        self.records = []  # in the order of registration
        self.calls = {}  # agent id -> [number, failed, seconds in sum]

    def record(self, name):
        return next((r for r in self.records if r["agent"]["id"] == name), None)

    # --- Registration -------------------------------------------------------------------------------------------------

    def check(self, payload):
        """The registration as a record; Refused."""
        ways = self.ways
        skip = ways.skips
        agent = payload.get("agent")
        if not isinstance(agent, dict):
            if not (skip("agent") and agent is None) and not (skip("agent-type") and isinstance(agent, str)):
                raise malformed("a registration has the object agent")
            agent = {"id": agent or "unnamed", "name": "unnamed", "framework": "custom"}
        if not is_text(agent.get("id")):
            name = agent.get("id")
            if not ("id" not in agent and skip("id")) and not (isinstance(name, (int, dict)) and skip("id-type")) and not (name == "" and skip("id-empty")) and not (name is None and "id" in agent and skip("id-null")):
                raise malformed("agent.id is a text")
            agent = {**agent, "id": str(name)}
        if agent["id"] == "registry" and not ways.has("registry-may-register"):
            raise malformed("registry is not the id of an agent")
        if not ways.has("poor-identity-taken"):
            if not is_text(agent.get("name")) or agent.get("framework") not in FRAMEWORKS:
                raise malformed("an identity has a name, and one of the four frameworks")
        if ways.bug("python-frameworks-only") and agent.get("framework") not in ("langchain", "custom"):
            raise malformed("unknown framework")
        capabilities = payload.get("capabilities")
        if capabilities is None and ways.has("no-capabilities-taken"):
            capabilities = []
        if isinstance(capabilities, dict) and skip("capabilities-object"):
            capabilities = [capabilities]
        if isinstance(capabilities, str) and skip("capabilities-text"):
            capabilities = [{"id": capabilities, "version": "1.0"}]
        if capabilities is None and skip("capabilities"):
            capabilities = []
        if not isinstance(capabilities, list):
            raise malformed("capabilities is a list")
        taken = []
        for capability in capabilities:
            if isinstance(capability, str) and capability and ways.has("bare-capabilities-taken"):
                capability = {"id": capability}
            if not isinstance(capability, dict) or not is_text(capability.get("id")):
                if ways.skips("capability-id") and isinstance(capability, dict):
                    continue
                raise malformed("a capability has an id")
            if not ways.has("poor-declarations-taken") and not is_text(capability.get("version")) and not ways.has("bare-capabilities-taken"):
                raise malformed("a capability has a version")
            if ways.bug("ref-schema-refused") and "$ref" in (capability.get("input_schema") or {}):
                raise malformed("the reference does not resolve")
            if ways.bug("ref-schema-crashes") and "$ref" in (capability.get("input_schema") or {}):
                raise ZeroDivisionError
            if ways.bug("constraints-required") and "constraints" not in capability:
                raise malformed("constraints")
            if ways.bug("known-constraints-only") and set(capability.get("constraints") or {}) - {"response_time_ms"}:
                raise malformed("constraints")
            if ways.bug("taxonomy-misses-one") and capability["id"] == "causal-reasoning":
                raise malformed("unknown capability")
            taken.append(capability)
        endpoints = payload.get("endpoints", {})
        if not ways.has("any-endpoints-taken"):
            if not isinstance(endpoints, dict) or not all(isinstance(endpoints[n], str) and ABSOLUTE.fullmatch(endpoints[n]) for n in ("invoke", "health") if n in endpoints):
                raise malformed("endpoints are absolute URLs")
        credentials = payload.get("authentication")
        return {"agent": agent, "capabilities": taken, "endpoints": endpoints, "authentication": credentials}

    def register(self, payload, source):
        """Takes a registration; the record."""
        ways = self.ways
        record = copy.deepcopy(self.check(payload))
        if source != record["agent"]["id"] and not ways.has("registers-others"):
            raise Refused("foreign", "AUTHENTICATION_FAILED", f"{source} is not {record['agent']['id']}")
        if ways.bug("registration-first-capability-only"):
            record["capabilities"] = record["capabilities"][:1]
        if ways.bug("registration-at-most-two-capabilities"):
            record["capabilities"] = record["capabilities"][:2]
        if ways.bug("registration-last-capability-only"):
            record["capabilities"] = record["capabilities"][-1:]
        if ways.bug("registration-not-kept"):
            return record
        if ways.bug("registration-version-defaulted"):
            record["agent"]["version"] = "1.0.0"
        if ways.bug("registration-ids-lower-case"):
            for capability in record["capabilities"]:
                capability["id"] = capability["id"].lower().replace("-", "_")
        name = record["agent"]["id"]
        old = self.record(name)
        if old is None or ways.bug("registration-not-replaced"):
            if ways.bug("registration-forgets-the-one-before") and self.records:
                self.records.pop()
            if ways.bug("one-agent-for-a-capability"):
                ids = {c["id"] for c in record["capabilities"]}
                self.records = [r for r in self.records if not ids & {c["id"] for c in r["capabilities"]}]
            self.records.append(record)
            return record
        if ways.bug("registration-again-forgets"):
            self.records.remove(old)
            return record
        way = ways.pick("second-registration")
        if way == "second-refused" or old["authentication"] != record["authentication"]:
            raise Refused("registered", "AGENT_EXISTS", f"{name} is registered")
        if way == "second-failed":
            raise Refused("registered", None, f"{name} is registered", failed=True)
        if way == "second-extends":
            ids = {c["id"] for c in record["capabilities"]}
            record["capabilities"] += [c for c in old["capabilities"] if c["id"] not in ids]
        if ways.bug("second-listed-under-both-names"):
            record["agent"]["name"] += " (again)"
            self.records.append(record)
            return record
        if way != "second-kept":
            self.records[self.records.index(old)] = record
        return record

    # --- Discovery ----------------------------------------------------------------------------------------------------

    def called(self, name, failed, seconds):
        """Counts a request that was forwarded to an agent."""
        ways = self.ways
        entry = self.calls.setdefault("all" if ways.bug("rate-of-all-agents") else name, [0, 0, 0.0])
        if ways.bug("failures-not-counted") and failed:
            failed = False
        entry[0] += 1
        entry[1] += failed
        entry[2] += seconds

    def calls_of(self, name):
        return self.calls.get("all" if self.ways.bug("rate-of-all-agents") else name)

    def query(self, payload):
        """The checked query: capability ids and constraints."""
        ways = self.ways
        if "query" not in payload and ways.has("no-query-lists-all"):
            return [], {}
        query = payload.get("query")
        if isinstance(query, str) and ways.skips("query-type"):
            return [query], {}
        if not isinstance(query, dict):
            raise malformed("query is an object")
        wanted = query.get("capabilities", [])
        if isinstance(wanted, str) and ways.has("constraints-unchecked"):
            wanted = [wanted]
        if not isinstance(wanted, list):
            raise malformed("capabilities is a list of texts")
        if not all(isinstance(w, str) for w in wanted) and not ways.skips("wanted-types"):
            raise malformed("capabilities is a list of texts")
        if not wanted and ways.has("empty-query-refused"):
            raise malformed("a query names capabilities")
        constraints = query.get("constraints", {})
        if not isinstance(constraints, dict):
            if ways.has("constraints-unchecked"):
                return wanted, {}
            raise malformed("constraints is an object")
        latency, rate = constraints.get("max_latency_ms"), constraints.get("min_success_rate")
        if latency is not None and (not is_number(latency) or latency < 0):
            if not ways.has("constraints-unchecked"):
                raise malformed("max_latency_ms is a number")
            latency = None
        if rate is not None and (not is_number(rate) or not 0 <= rate <= 1):
            if not ways.has("constraints-unchecked"):
                raise malformed("min_success_rate is a number from 0 to 1")
            rate = None
        if ways.bug("empty-constraints-list-nobody") and "constraints" in query and not constraints:
            return ["-"], {}
        if ways.bug("constraints-of-the-last-query"):
            kept = ways.memory.get("constraints", {})
            ways.memory["constraints"] = {n: v for n, v in (("latency", latency), ("rate", rate)) if v is not None} or kept
            latency, rate = latency if latency is not None else kept.get("latency"), rate if rate is not None else kept.get("rate")
        return wanted, {"latency": latency, "rate": rate}

    def discover(self, payload):
        """The records that a query finds."""
        ways = self.ways
        wanted, constraints = self.query(payload)
        if not wanted and (ways.has("empty-query-none")):
            return []
        if ways.bug("discovery-cached"):
            key = tuple(sorted(map(str, wanted)))
            kept = ways.memory.setdefault("queries", {})
            if key in kept and kept[key]:
                return kept[key]
            kept[key] = self.found(wanted, constraints)
            return kept[key]
        return self.found(wanted, constraints)

    def found(self, wanted, constraints):
        ways = self.ways
        matching = [r for r in self.records if self.has_all(r, wanted) and self.fits(r, wanted, constraints)]
        if ways.bug("discovery-lists-one"):
            matching = matching[:1]
        if ways.bug("discovery-newest-only"):
            matching = matching[-1:]
        if ways.bug("discovery-lists-twice"):
            matching = matching + matching
        if ways.has("agents-reversed"):
            matching = list(reversed(matching))
        return matching

    def has_all(self, record, wanted):
        ways = self.ways
        ids = [c["id"] for c in record["capabilities"]]
        if not wanted or ways.bug("discovery-returns-everyone"):
            return True
        if ways.bug("discovery-substring"):
            return all(any(w in i for i in ids) for w in wanted)
        if ways.bug("discovery-prefix"):
            return all(any(i.startswith(w) for i in ids) for w in wanted)
        if ways.bug("discovery-of-first-wanted"):
            wanted = wanted[:1]
        if ways.bug("discovery-of-first-declared"):
            ids = ids[:1]
        if ways.bug("discovery-by-order"):
            return ids[: len(wanted)] == wanted
        if ways.bug("discovery-exact-set"):
            return set(ids) == set(wanted)
        if ways.bug("discovery-unknown-capability-lists-all") and not any(w in (c["id"] for r in self.records for c in r["capabilities"]) for w in wanted):
            return True
        if ways.has("matches-any") or ways.bug("discovery-any"):
            return any(w in ids for w in wanted)
        return all(w in ids for w in wanted)

    def fits(self, record, wanted, constraints):
        """Whether a record satisfies the constraints."""
        ways = self.ways
        latency, rate = constraints.get("latency"), constraints.get("rate")
        calls = self.calls_of(record["agent"]["id"])
        if latency is not None and not ways.bug("latency-ignored"):
            way = ways.pick("latency")
            if way.startswith("latency-measured"):
                times = [calls[2] * 1000 / calls[0]] if calls and calls[0] else []
            else:
                capabilities = [c for c in record["capabilities"] if c["id"] in wanted or not wanted or ways.bug("latency-of-any-capability")]
                times = [(c.get("constraints") or {}).get("response_time_ms") for c in capabilities]
                times = [t for t in times if is_number(t)]
            if ways.bug("latency-of-first-capability"):
                times = [(record["capabilities"][0].get("constraints") or {}).get("response_time_ms", 0)]
            if ways.bug("latency-in-seconds"):
                latency *= 1000
            if ways.bug("latency-excludes-the-faster"):
                return all(t >= latency for t in times)
            if ways.bug("latency-exclusive") and any(t >= latency for t in times):
                return False
            if ways.bug("latency-compared-as-text"):
                return all(str(t) <= str(latency) for t in times)
            if ways.bug("latency-with-tolerance"):
                latency *= 2
            if any(t > latency for t in times) or way.endswith("demanded") and not times:
                return False
        if rate is not None and not ways.bug("rate-ignored"):
            known = (calls[0] - calls[1]) / calls[0] if calls and calls[0] else None
            if known is None:
                if ways.bug("unknown-rate-excluded"):
                    return False
                known = 1 if ways.has("unknown-rate-passes") else 0
            if ways.bug("rate-inverted"):
                known = 1 - known if calls else known
            if ways.bug("rate-exclusive"):
                return known > rate
            return known >= rate
        return True

    def entry(self, record):
        """A record as discovery shows it."""
        ways = self.ways
        agent, capabilities, endpoints = record["agent"], record["capabilities"], record["endpoints"]
        way = ways.pick("agents-form")
        if way == "agents-as-ids":
            return agent["id"]
        if way == "agents-flat":
            entry = {"id": agent["id"], "name": agent.get("name"), "capabilities": [c["id"] for c in capabilities]}
            return {n: v for n, v in entry.items() if v is not None}
        if way == "agents-flat-agent-id":
            return {"agent_id": agent["id"], "endpoints": endpoints}
        entry = {"identity" if way == "agents-as-published" else "agent": agent, "capabilities": capabilities, "endpoints": endpoints}
        if way == "agents-with-extras":
            calls = self.calls_of(agent["id"]) or [0, 0, 0.0]
            entry |= {"status": "healthy", "calls": calls[0], "registered": True}
        if ways.has("credentials-shown") or ways.bug("credentials-shown-to-others"):
            entry["authentication"] = record["authentication"]
        if ways.bug("endpoints-of-the-registry"):
            entry["endpoints"] = {"invoke": "http://127.0.0.1:1/aip/v1/invoke"}
        if ways.bug("entries-name-the-registry"):
            entry["agent"] = {**agent, "id": "registry"}
        return copy.deepcopy(entry)

"""The registry: registration and discovery (sections 3.3 and 4.1)."""

from __future__ import annotations

import copy

from . import declarations
from .model import AUTHENTICATION_FAILED, Refusal, invalid, is_number


def found(query: object, agents: list, rates: dict | None = None) -> list:
    """The entries that a query finds: all of its capabilities (E30), at or below the latency that is declared (E31)."""
    asked, latency, rate = _query(query)
    out = []
    for entry in agents:
        declared = {}
        for capability in entry.get("capabilities") or []:
            declared.setdefault(capability.get("id"), capability)
        if not all(name in declared for name in asked):
            continue
        times = [(declared[name].get("constraints") or {}).get("response_time_ms") for name in asked]
        if latency is not None and any(is_number(time) and time > latency for time in times):
            continue
        known = (rates or {}).get(entry["agent"]["id"])
        # Without calls the rate is unknown, which excludes no agent (E32).
        if rate is not None and known is not None and known < rate:
            continue
        out.append(entry)
    return out


def _query(query: object) -> tuple[list, float | None, float | None]:
    if not isinstance(query, dict):
        raise invalid("an object is required", "/message/payload/query")
    asked = query.get("capabilities", [])
    if not isinstance(asked, list) or any(not isinstance(name, str) for name in asked):
        raise invalid("an array of capability ids", "/message/payload/query/capabilities")
    bounds = query.get("constraints", {})
    if not isinstance(bounds, dict):
        raise invalid("an object", "/message/payload/query/constraints")
    latency, rate = bounds.get("max_latency_ms"), bounds.get("min_success_rate")
    if latency is not None and not (is_number(latency) and latency >= 0):
        raise invalid("a non-negative number", "/message/payload/query/constraints/max_latency_ms")
    if rate is not None and not (is_number(rate) and 0 <= rate <= 1):
        raise invalid("a fraction from 0 to 1", "/message/payload/query/constraints/min_success_rate")
    return asked, latency, rate


class Registry:
    def __init__(self) -> None:
        self._agents: dict[str, dict] = {}
        self._credentials: dict[str, object] = {}

    def __contains__(self, agent: str) -> bool:
        return agent in self._agents

    def register(self, payload: dict) -> dict:
        problems = declarations.registration(payload)
        if problems:
            raise invalid(problems[0]["reason"], f"/message/payload{problems[0]['path']}")
        identity = payload["agent"]["id"]
        credentials = (payload.get("authentication") or {}).get("credentials")
        if identity in self._agents and self._credentials[identity] != credentials:
            raise Refusal(AUTHENTICATION_FAILED, "the id is registered with other credentials", denied=True)
        # The credentials are for the registry alone (E38).
        self._agents[identity] = copy.deepcopy({name: payload[name] for name in ("agent", "capabilities", "endpoints")})
        self._credentials[identity] = credentials
        return {"agent_id": identity, "registered": True}

    def discover(self, payload: dict, others: list) -> dict:
        return {"agents": copy.deepcopy(found(payload.get("query"), [*self._agents.values(), *others]))}

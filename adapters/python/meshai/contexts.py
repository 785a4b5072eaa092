"""Contexts, the five operations on them, and update events (sections 3.4 and 5; E47 to E60)."""

from __future__ import annotations

import copy
import uuid
from datetime import datetime
from typing import Callable

from . import declarations
from .model import AUTHENTICATION_FAILED, CONTEXT_NOT_FOUND, Refusal, instant, invalid, is_text, stamp

OPERATIONS = ("create", "get", "update", "merge", "fork")
SETTABLE = ("shared_memory", "agent_memory", "access_control", "expires_at")


def _denied(reason: str) -> Refusal:
    return Refusal(AUTHENTICATION_FAILED, reason, denied=True)


class Contexts:
    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._stored: dict[str, dict] = {}

    def call(self, operation: str, agent: str, parameters: dict) -> dict:
        """The context that results, as the agent may see it."""
        context = getattr(self, f"_{operation}")(agent, parameters)
        return self._view(context, agent)

    def event(self, agent: str, given: object) -> None:
        """A context update: found by its id, else by its session (E53)."""
        if not isinstance(given, dict):
            raise invalid("an object is required", "/message/payload/context")
        self._change(agent, self._named(given.get("id"), given.get("session_id")), given)

    # --- Operations ---------------------------------------------------------------------------------------------------

    def _create(self, agent: str, parameters: dict) -> dict:
        given = parameters.get("context", {})
        self._check(given, agent)
        return self._store(
            {
                "session_id": given.get("session_id"),
                "expires_at": given.get("expires_at"),
                "shared_memory": given.get("shared_memory") or {},
                "agent_memory": given.get("agent_memory") or {},
                "access_control": given.get("access_control"),
            }
        )

    def _get(self, agent: str, parameters: dict) -> dict:
        context = self._named(parameters.get("context_id"), parameters.get("session_id"))
        self._may(agent, context, "read")
        return context

    def _update(self, agent: str, parameters: dict) -> dict:
        context = self._named(parameters.get("context_id"), None)
        self._change(agent, context, parameters.get("context"))
        return context

    def _merge(self, agent: str, parameters: dict) -> dict:
        ids = parameters.get("context_ids")
        if not isinstance(ids, list) or not ids:
            raise invalid("a list of context ids is required", "/message/payload/parameters/context_ids")
        sources = [self._named(identity, None) for identity in ids]
        for source in sources:
            self._may(agent, source, "read")
        shared, private = {}, {}
        for source in sources:  # the later entry wins (E55)
            shared.update(source["shared_memory"])
            private.update(source["agent_memory"].get(agent, {}))
        sessions = {source["session_id"] for source in sources}
        ends = [source["expires_at"] for source in sources if source["expires_at"]]
        return self._store(
            {
                "session_id": sessions.pop() if len(sessions) == 1 else None,
                # The first end: no source outlives its own in the merged context.
                "expires_at": min(ends, key=instant) if ends else None,  # type: ignore[arg-type]
                "shared_memory": shared,
                "agent_memory": {agent: private} if private else {},
                "access_control": _common([source["access_control"] for source in sources], agent),
            }
        )

    def _fork(self, agent: str, parameters: dict) -> dict:
        parent = self._named(parameters.get("context_id"), None)
        self._may(agent, parent, "read")
        own = parent["agent_memory"].get(agent)
        child = {
            "session_id": parent["session_id"],
            "expires_at": parent["expires_at"],
            "shared_memory": parent["shared_memory"],
            "agent_memory": {agent: own} if own else {},
            "access_control": _common([parent["access_control"]], agent),
        }
        return self._store(child, parent)

    # --- Rules --------------------------------------------------------------------------------------------------------

    def _store(self, content: dict, parent: dict | None = None) -> dict:
        identity = str(uuid.uuid4())
        lineage = {"parent_context": parent["id"] if parent else None, "root_context": parent["lineage"]["root_context"] if parent else identity}
        context = copy.deepcopy({"id": identity, "created_at": stamp(self._clock()), "lineage": lineage, **content})
        self._stored[identity] = context
        return context

    def _named(self, identity: object, session: object) -> dict:
        """The context with this id, else the oldest of this session. An expired one does not exist (E58)."""
        now = self._clock()
        alive = {key: context for key, context in self._stored.items() if not (context["expires_at"] and instant(context["expires_at"]) <= now)}
        self._stored = alive
        if identity is not None and not is_text(identity) or session is not None and not is_text(session):
            raise invalid("an id is a non-empty text", "/message/payload/parameters")
        if identity is None and session is None:
            raise invalid("a context id is required", "/message/payload/parameters")
        found = alive.get(identity) if identity is not None else None  # type: ignore[arg-type]
        if identity is None:
            found = next((context for context in alive.values() if context["session_id"] == session), None)
        if found is None:
            raise Refusal(CONTEXT_NOT_FOUND, "the context does not exist")
        return found

    def _may(self, agent: str, context: dict, operation: str) -> None:
        lists = context["access_control"]
        if lists and operation in lists and agent not in lists[operation]:
            raise _denied(f"{agent} is not on the {operation} list of the context")

    def _check(self, given: object, agent: str) -> None:
        problems = declarations.content(given, "/context")
        if problems:
            raise invalid(problems[0]["reason"], f"/message/payload/parameters{problems[0]['path']}")
        if any(name != agent for name in given.get("agent_memory") or {}):  # type: ignore[attr-defined]
            raise _denied("private state is written by its owner alone")

    def _change(self, agent: str, context: dict, given: object) -> None:
        self._may(agent, context, "write")
        self._check(given, agent)
        change = copy.deepcopy({name: given[name] for name in SETTABLE if given.get(name) is not None})  # type: ignore[index, attr-defined]
        # Named keys are set, the others stay (E54).
        context["shared_memory"].update(change.pop("shared_memory", {}))
        for owner, memory in change.pop("agent_memory", {}).items():
            context["agent_memory"].setdefault(owner, {}).update(memory)
        context.update(change)

    def _view(self, context: dict, agent: str) -> dict:
        """A copy without the private state of others (E52), and without what the agent may not read."""
        seen = {name: value for name, value in context.items() if value is not None}
        own = context["agent_memory"].get(agent)
        seen["agent_memory"] = {agent: own} if own else {}
        lists = context["access_control"]
        if lists and "read" in lists and agent not in lists["read"]:
            seen["shared_memory"] = {}
        return copy.deepcopy(seen)


def _common(lists: list, agent: str) -> dict | None:
    """The access lists of a derived context: its readers are the common readers of all sources, and its creator may write it (E55)."""
    out = {}
    for operation in ("read", "write"):
        given = [entry[operation] for entry in lists if entry and operation in entry]
        if given:
            out[operation] = [name for name in given[0] if all(name in other for other in given)]
    if "write" in out and agent not in out["write"]:
        out["write"].append(agent)
    return out or None

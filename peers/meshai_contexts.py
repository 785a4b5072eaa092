"""The contexts of a meshai peer: the five operations of section 5.2 and the update event of section 3.4."""

import copy
import uuid

from meshai_wire import instant, written


class Refused(Exception):
    """A message that is refused: the rule that it breaks, the code, and what else the error says. `bare`: a status without a
    body. `failed`: a response with the status failed."""

    def __init__(self, rule, code, text, details=None, bare=None, failed=False):
        super().__init__(text)
        self.rule, self.code, self.text, self.details, self.bare, self.failed = rule, code, text, details, bare, failed


def malformed(what):
    return Refused("malformed", "INVALID_SCHEMA", what)


class Context:
    def __init__(self, name, session, created):
        self.id, self.session, self.created = name, session, created
        self.expires = None  # (seconds, text)
        self.own = {}
        self.private = {}
        self.lists = None
        self.parent = self.root = None
        self.view_of = None  # the parent whose later writes show
        self.removed = set()

    @property
    def shared(self):
        if self.view_of is None:
            return self.own
        below = {n: v for n, v in self.view_of.shared.items() if n not in self.removed}
        return {**below, **self.own}


def deep(first, second):
    if isinstance(first, dict) and isinstance(second, dict):
        return {**first, **{n: deep(first.get(n), v) for n, v in second.items()}}
    return second


def patched(first, second):
    if not isinstance(second, dict):
        return second
    result = dict(first) if isinstance(first, dict) else {}
    for name, value in second.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = patched(result.get(name), value)
    return result


class Contexts:
    def __init__(self, ways, now):
        self.ways, self.now = ways, now
        self.kept = {}
        self.count = 0
        self.last_writer = None
        self.coming = []  # (when, what to do): events that take effect later

    # --- Finding ------------------------------------------------------------------------------------------------------

    def expired(self, context):
        ways = self.ways
        if context.expires is None or ways.bug("expiry-ignored"):
            return False
        late = 1.4 if ways.has("expiry-late") else 0
        if ways.bug("expiry-an-hour-late"):
            late = 3600
        if ways.bug("forks-never-expire") and context.parent:
            return False
        return context.expires[0] + late <= self.now()

    def missing(self, what):
        return Refused("context", "CONTEXT_NOT_FOUND", f"there is no context {what}")

    def settle(self):
        """Carries out the events whose time has come."""
        while self.coming and self.coming[0][0] <= self.now():
            self.coming.pop(0)[1]()

    def by_id(self, name, operation):
        ways = self.ways
        self.settle()
        context = self.kept.get(name)
        if context is None:
            raise self.missing(name)
        if self.expired(context):
            if ways.bug("expiry-for-get-only") and operation not in ("get", "event"):
                return context
            if ways.bug("expiry-for-update-only") and operation == "get":
                return context
            if ways.bug("expired-code-timeout"):
                raise Refused("context", "TIMEOUT", "the context has expired")
            if ways.bug("expired-shown-once") and not getattr(context, "said", False):
                context.said = True
                return context
            if not ways.bug("expired-shown-once") and not ways.bug("expiry-for-get-only"):
                del self.kept[name]
            raise self.missing(name)
        return context

    def by_session(self, session, operation):
        self.settle()
        found = [c for c in self.kept.values() if c.session == session]
        if self.ways.bug("expiry-not-by-session"):
            found = found[-1:]
            if found:
                return found[0]
        found = [c for c in found if not self.expired(c)]
        if not found:
            raise self.missing(f"of the session {session}")
        return found[-1]

    def denied(self):
        way = self.ways.pick("denied")
        if way == "denied-bare":
            return Refused("denied", None, "denied", bare=403)
        code = {"denied-not-found": "CONTEXT_NOT_FOUND", "denied-own-code": "AUTHORIZATION_FAILED"}.get(way, "AUTHENTICATION_FAILED")
        return Refused("denied", code, "the context is not yours to use")

    def check(self, context, agent, right, operation):
        """Refuses an agent that the lists do not name for the right `read` or `write`."""
        ways = self.ways
        if context.lists is None:
            return
        if right == "read":
            if ways.bug("read-list-ignored") or ways.bug(f"read-list-ignored-by-{operation}"):
                return
        if right == "write" and (ways.bug("write-list-ignored") or ways.bug("event-bypasses-write-list") and operation == "event"):
            return
        if right == "write" and ways.bug("writers-are-readers"):
            right = "read"
        allowed = context.lists.get(right)
        if allowed is None:
            return
        if ways.bug("lists-by-prefix"):
            if any(agent.startswith(name[:-1]) for name in allowed):
                return
        if ways.bug("first-of-list-only"):
            allowed = allowed[:1]
        if agent not in allowed:
            if ways.bug("denial-shows-the-context"):
                raise Refused("denied", "AUTHENTICATION_FAILED", "denied", details={"context": copy.deepcopy(context.shared)})
            if ways.bug("denial-names-the-values"):
                raise Refused("denied", "AUTHENTICATION_FAILED", f"{agent} may not {right} {context.shared}")
            if ways.bug("denied-answered-with-success"):
                raise Refused("denied-success", None, "")
            raise self.denied()

    # --- Showing ------------------------------------------------------------------------------------------------------

    def shown(self, context, agent, operation):
        ways = self.ways
        shared = copy.deepcopy(context.shared)
        if ways.bug("get-of-second-agent-empty") and operation == "get" and context.owner != agent:
            shared = {}
        if ways.bug("texts-normalised"):
            shared = {n: v.encode("ascii", "ignore").decode() if isinstance(v, str) else v for n, v in shared.items()}
        if ways.bug("numbers-as-texts"):
            shared = {n: str(v) if isinstance(v, (int, float)) and not isinstance(v, bool) else v for n, v in shared.items()}
        if ways.bug("nulls-dropped"):
            shared = without_nulls(shared)
        if ways.bug("empty-values-dropped"):
            shared = {n: v for n, v in shared.items() if v not in ("", [], {})}
        if ways.bug("lists-sorted"):
            shared = {n: sorted(v, key=str) if isinstance(v, list) else v for n, v in shared.items()}
        private = {}
        for name, memory in context.private.items():
            if name == agent:
                private[name] = copy.deepcopy(memory)
            elif ways.bug("private-memory-returned") or ways.bug(f"private-memory-in-{operation}"):
                private[name] = copy.deepcopy(memory)
            elif ways.bug("private-memory-shown-to-forker") and context.parent and agent == context.owner:
                private[name] = copy.deepcopy(memory)
            elif ways.bug("private-keys-shown"):
                private[name] = {key: None for key in memory} if isinstance(memory, dict) else {}
            elif not ways.has("others-removed"):
                private[name] = {"others-empty": {}, "others-null": None, "others-empty-list": []}[ways.pick("others-private")]
        if ways.bug("private-memory-hidden-from-owner"):
            private = {}
        if ways.bug("private-memory-flattened"):
            private = private.get(agent, {})
        if ways.bug("private-memory-of-last-writer") and self.last_writer:
            name, memory = self.last_writer
            if name in context.private:
                private = {name: memory}
        value = {"id": context.id, "session_id": context.session, "created_at": context.created}
        if ways.bug("created-at-of-the-reading"):
            value["created_at"] = written(self.now() + (5 if operation == "get" else 0), ways)
        if context.expires is not None and not ways.bug("expiry-not-shown"):
            value["expires_at"] = context.expires[1]
        elif ways.has("optional-members-null"):
            value["expires_at"] = None
        value["shared_memory"] = shared
        if private or not ways.has("no-private-left-out"):
            value["agent_memory"] = private
        way = ways.pick("lineage")
        if context.parent or way == "lineage-root-itself":
            value["lineage"] = {"parent_context": context.parent, "root_context": context.root}
        elif way == "lineage-no-parent":
            value["lineage"] = {"root_context": context.root}
        elif way == "lineage-empty":
            value["lineage"] = {}
        elif way == "lineage-null":
            value["lineage"] = {"parent_context": None, "root_context": None}
        if context.lists is not None and not ways.has("lists-not-shown"):
            value["access_control"] = copy.deepcopy(context.lists)
        elif ways.has("optional-members-null"):
            value["access_control"] = None
        if value["session_id"] is None and not ways.has("optional-members-null"):
            del value["session_id"]
        if ways.bug("private-memory-in-summary"):
            value["summary"] = str(context.private)
        return ways.change("context", value, context, agent, operation)

    # --- Reading what is given ----------------------------------------------------------------------------------------

    def lists_of(self, given):
        lists = given.get("access_control")
        if lists is None:
            return None
        good = isinstance(lists, dict) and all(
            isinstance(lists[r], list) and all(isinstance(a, str) for a in lists[r]) for r in ("read", "write") if r in lists
        )
        if not good:
            if self.ways.has("malformed-lists-taken"):
                return None
            raise malformed("access_control has the lists read and write")
        return copy.deepcopy(lists)

    def from_events_alone(self):
        """Whether access lists are taken from events only."""
        return self.ways.has("lists-from-events") or self.ways.has("lists-from-events-late")

    def expiry_of(self, given):
        text = given.get("expires_at")
        if text is None:
            return None
        seconds = instant(text)
        if seconds is None:
            if self.ways.has("bad-expiry-ignored"):
                return None
            raise malformed("expires_at is an RFC 3339 date-time")
        if self.ways.bug("expiry-lost"):
            return None
        if self.ways.bug("expiry-zone-lost"):
            seconds += 7200
        return seconds, written(seconds, self.ways) if self.ways.has("instants-normalised") else text

    def given_context(self, parameters):
        given = parameters.get("context", {})
        if not isinstance(given, dict):
            raise malformed("context is an object")
        for name in ("shared_memory", "agent_memory"):
            if not isinstance(given.get(name, {}), dict):
                raise malformed(f"{name} is an object")
        if given.get("session_id") is not None and not isinstance(given["session_id"], str):
            raise malformed("session_id is a text")
        return given

    def name(self, parameters, key="context_id"):
        name = parameters.get(key)
        if not isinstance(name, str) or not name:
            raise malformed(f"{key} is a text")
        return name

    def new(self, session, agent):
        ways = self.ways
        self.count += 1
        name = f"ctx-{self.count}" if ways.has("context-id-text") else str(uuid.uuid4())
        if ways.bug("context-id-of-session") and session:
            name = session
        if ways.bug("context-id-of-agent"):
            name = f"ctx-{agent}"
        if ways.bug("context-id-constant"):
            name = "default"
        context = Context(name, session, written(self.now() - (3600 if ways.bug("created-an-hour-ago") else 0), ways))
        context.root = name
        context.owner = agent
        self.kept[name] = context
        return context

    # --- Operations ---------------------------------------------------------------------------------------------------

    def create(self, agent, parameters):
        ways = self.ways
        given = self.given_context(parameters)
        lists = self.lists_of(given)
        expires = self.expiry_of(given)
        if expires and expires[0] <= self.now() and ways.has("past-expiry-refused"):
            raise malformed("expires_at is in the past")
        if expires and expires[0] <= self.now() and ways.has("past-expiry-failed"):
            raise Refused("past", None, "expires_at is in the past", failed=True)
        if expires is None and ways.has("expires-by-default"):
            expires = (self.now() + 3600, written(self.now() + 3600, ways))
        session = given.get("session_id")
        context = self.new(session, agent)
        context.expires = expires
        context.own = copy.deepcopy(given.get("shared_memory", {}))
        context.first = copy.deepcopy(context.own)
        memory = given.get("agent_memory", {})
        if ways.bug("private-memory-to-shared-at-creation"):
            context.own.update(memory)
        context.private = {n: copy.deepcopy(v) for n, v in memory.items() if n == agent}
        if lists is not None and not self.from_events_alone():
            context.lists = lists
        if ways.bug("past-expiry-lasts") and expires and expires[0] <= self.now():
            context.expires = None
        return self.shown(context, agent, "create")

    def get(self, agent, parameters):
        ways = self.ways
        if "context_id" in parameters or ways.has("sessions-not-searched"):
            name = self.name(parameters)
            if ways.bug("get-invents") and name not in self.kept:
                return {"id": name, "shared_memory": {}, "agent_memory": {}, "created_at": written(self.now(), ways)}
            context = self.by_id(name, "get")
        else:
            context = self.by_session(self.name(parameters, "session_id"), "get-by-session")
            if ways.bug("get-by-session-unchecked"):
                return self.shown(context, agent, "get")
            if ways.bug("private-memory-in-get-by-session"):
                self.check(context, agent, "read", "get")
                return {**self.shown(context, agent, "get"), "agent_memory": copy.deepcopy(context.private)}
        self.check(context, agent, "read", "get")
        return self.shown(context, agent, "get")

    def update(self, agent, parameters):
        ways = self.ways
        name = self.name(parameters)
        if ways.bug("update-upserts") and name not in self.kept:
            context = self.new(None, agent)
            del self.kept[context.id]
            context.id = context.root = name
            self.kept[name] = context
        context = self.by_id(name, "update")
        self.check(context, agent, "write", "update")
        try:
            given = self.given_context(parameters)
            lists, expires = self.lists_of(given), self.expiry_of(given)
        except Refused as refused:
            if ways.bug("private-memory-in-errors"):
                refused.details = {"context": {"shared_memory": context.shared, "agent_memory": context.private}}
            if ways.bug("malformed-update-empties-memory"):
                context.own = {}
            raise
        if ways.bug("update-answered-before-it-is-kept"):
            context = copy.deepcopy(context)
        self.write(context, agent, given, "update-replaces-memory")
        if lists is not None and not self.from_events_alone():
            context.lists = lists
        if expires is not None:
            context.expires = expires
        if ways.bug("update-drops-expiry"):
            context.expires = None
        if ways.bug("update-gives-new-id"):
            del self.kept[context.id]
            context.id = str(uuid.uuid4())
            self.kept[context.id] = context
        return self.shown(context, agent, "update")

    def write(self, context, agent, given, replaces):
        ways = self.ways
        memory = given.get("agent_memory") or {}
        foreign = [n for n in memory if n != agent]
        if foreign and ways.has("foreign-private-refused"):
            raise self.denied()
        new = copy.deepcopy(given.get("shared_memory"))
        if new is not None:
            if ways.bug("update-replaces-second-time") and getattr(context, "updated", False):
                context.own = new
            elif ways.has(replaces) or ways.bug("update-replaces") and replaces.startswith("update"):
                context.removed |= set(context.shared)
                context.own = new
            elif ways.bug("update-of-new-keys-ignored"):
                context.own.update({n: v for n, v in new.items() if n in context.shared})
            elif ways.bug("update-of-known-keys-ignored"):
                context.own.update({n: v for n, v in new.items() if n not in context.shared})
            elif ways.bug("update-first-key-only"):
                context.own.update(dict(list(new.items())[:1]))
            elif ways.has("update-deep"):
                context.own = deep(context.shared if context.view_of else context.own, new)
            elif ways.has("update-patches"):
                context.own = patched(context.own, new)
                context.removed |= {n for n, v in new.items() if v is None}
            else:
                context.own.update(new)
            context.updated = True
        if ways.bug("fork-writes-to-parent") and context.parent in self.kept and new:
            self.kept[context.parent].own.update(new)
        for name, values in memory.items():
            if name != agent and not ways.bug("private-memory-writable"):
                continue
            if ways.bug("private-update-ignored"):
                continue
            if ways.bug("private-update-to-shared"):
                context.own.update(values if isinstance(values, dict) else {})
                continue
            old = context.private.get(name)
            if ways.has("private-replaced") or not isinstance(old, dict) or not isinstance(values, dict):
                context.private[name] = copy.deepcopy(values)
            else:
                context.private[name] = {**old, **copy.deepcopy(values)}
            if ways.bug("one-private-entry"):
                context.private = {name: context.private[name]}
            self.last_writer = (name, context.private[name])
        if ways.bug("private-lost-by-shared-update") and new and not memory:
            context.private = {}
        if ways.bug("shared-lost-by-private-update") and memory and not new:
            context.own = {}

    def merge(self, agent, parameters):
        ways = self.ways
        names = parameters.get("context_ids")
        if not isinstance(names, list) or not names or not all(isinstance(n, str) for n in names):
            raise malformed("context_ids is a list of texts")
        found = []
        for name in names:
            try:
                found.append(self.by_id(name, "merge"))
            except Refused:
                if not (ways.bug("merge-skips-missing") and found) and not (ways.bug("merge-skips-missing-first") and not found):
                    raise
        for place, context in enumerate(found):
            if ways.bug("merge-checks-first-only") and place:
                continue
            if ways.bug("merge-checks-last-only") and place < len(found) - 1:
                continue
            self.check(context, agent, "read", "merge")
        used = found[:2] if ways.bug("merge-first-two-only") else found
        if ways.bug("merge-last-only"):
            used = found[-1:]
        shared = {}
        for context in reversed(used) if ways.has("conflict-first") else used:
            for name, value in context.shared.items():
                if name in shared and shared[name] != value and ways.has("conflict-refused"):
                    raise Refused("conflict", "CONTEXT_CONFLICT", f"two values for {name}")
                if ways.bug("merge-conflict-listed") and name in shared and shared[name] != value:
                    value = [shared[name], value]
                if ways.bug("merge-conflict-null") and name in shared and shared[name] != value:
                    value = None
                if ways.bug("merge-conflict-concatenated") and name in shared and shared[name] != value:
                    value = f"{shared[name]}{value}"
                shared[name] = copy.deepcopy(value)
        into_first = ways.has("merged-into-first")
        result = found[0] if into_first else self.new(found[0].session, agent)
        result.own = {**result.own, **shared}
        if not into_first and not ways.has("merged-without-private"):
            for context in found:
                if agent in context.private:
                    result.private[agent] = copy.deepcopy(context.private[agent])
        if ways.bug("merge-leaks-private"):
            for context in found:
                result.private.update(copy.deepcopy(context.private))
                if agent not in context.private and context.private:
                    result.private[agent] = {k: v for m in context.private.values() for k, v in (m if isinstance(m, dict) else {}).items()}
        if ways.bug("merge-private-to-shared"):
            for context in found:
                for memory in context.private.values():
                    result.own.update(copy.deepcopy(memory))
        ends = [c.expires for c in found if c.expires]
        result.expires = min(ends) if ends else None
        if not into_first:
            lists = [c.lists for c in found if c.lists is not None]
            if lists and not ways.has("merged-without-lists"):
                result.lists = {}
                for right in ("read", "write"):
                    given = [set(lists_[right]) for lists_ in lists if right in lists_]
                    if given:
                        result.lists[right] = sorted(set.intersection(*given) | {agent})
            if ways.has("merged-with-parent"):
                result.parent, result.root = found[0].id, found[0].root
        if ways.bug("merge-changes-sources"):
            for context in found:
                context.own.update(copy.deepcopy(shared))
        if ways.bug("merge-empties-first"):
            found[0].own = {}
        if ways.has("merged-consumes"):
            for context in found:
                self.kept.pop(context.id, None)
        return self.shown(result, agent, "merge")

    def fork(self, agent, parameters):
        ways = self.ways
        parent = self.by_id(self.name(parameters), "fork")
        self.check(parent, agent, "read", "fork")
        if ways.bug("fork-returns-parent"):
            return self.shown(parent, agent, "fork")
        child = self.new(parent.session, agent)
        child.parent = parent.id
        child.root = parent.id if ways.bug("fork-root-is-parent") else child.id if ways.bug("fork-root-is-itself") else parent.root
        if ways.bug("fork-root-is-first-context"):
            child.root = next(iter(self.kept))
        if ways.bug("fork-without-lineage"):
            child.parent, child.root = None, child.id
        if ways.bug("fork-names-itself-as-parent"):
            child.parent = child.id
        if ways.bug("fork-shares-memory"):
            child.own = parent.own
        elif ways.bug("fork-empty"):
            child.own = {}
        elif ways.bug("fork-copies-what-was-created"):
            child.own = copy.deepcopy(getattr(parent, "first", parent.shared))
        elif ways.has("fork-views"):
            child.view_of = parent
        else:
            child.own = copy.deepcopy(parent.shared)
        if ways.bug("fork-moves-parent"):
            del self.kept[parent.id]
        if not ways.has("fork-keeps-none"):
            for name, memory in parent.private.items():
                if name == agent or ways.has("fork-keeps-each"):
                    child.private[name] = copy.deepcopy(memory)
        if ways.bug("fork-leaks-private") and parent.private:
            child.private = copy.deepcopy(parent.private)
            merged = {}
            for memory in parent.private.values():
                merged.update(copy.deepcopy(memory) if isinstance(memory, dict) else {})
            child.private[agent] = merged
        if ways.bug("fork-private-to-shared"):
            for memory in parent.private.values():
                child.own.update(copy.deepcopy(memory))
        if not ways.has("fork-without-lists"):
            child.lists = copy.deepcopy(parent.lists)
        if not ways.has("fork-without-expiry"):
            child.expires = parent.expires
        return self.shown(child, agent, "fork")

    # --- The event ----------------------------------------------------------------------------------------------------

    def event(self, agent, given):
        """Takes a context_update event."""
        ways = self.ways
        given = self.given_context({"context": given})
        if not isinstance(given.get("id", ""), str):
            raise malformed("id is a text")
        lists, expires = self.lists_of(given), self.expiry_of(given)
        name, session = given.get("id"), given.get("session_id")
        try:
            if name is not None:
                context = self.by_id(name, "event")
            elif session is not None:
                context = self.by_session(session, "event")
            else:
                raise malformed("a context has an id or a session_id")
        except Refused as refused:
            if refused.rule != "context":
                raise
            way = ways.pick("unknown-session")
            if way == "unknown-session-ignored" or ways.has("no-context-store") and way == "unknown-session-created":
                return
            if way != "unknown-session-created" or name is not None:
                raise
            context = self.new(session, agent)
            context.expires = expires or (self.now() + 600, written(self.now() + 600, ways))
        if ways.bug("event-dropped"):
            return
        if ways.bug("event-as-owner"):
            agent = context.owner
        try:
            self.check(context, agent, "write", "event")
        except Refused:
            if ways.has("denied-event-ignored"):
                return
            raise
        if ways.has("lists-from-events-late"):

            def late():
                try:
                    self.check(context, agent, "write", "event")  # by the lists that earlier events have brought since
                    self.carry_out(context, agent, given, lists, expires)
                except Refused:
                    pass  # nobody waits for the outcome

            self.coming.append((self.now() + 0.3, late))
        else:
            self.carry_out(context, agent, given, lists, expires)

    def carry_out(self, context, agent, given, lists, expires):
        """Changes a context by an event."""
        ways = self.ways
        if ways.bug("event-kept-in-a-copy"):
            context = copy.deepcopy(context)
        before = dict(context.own)
        self.write(context, agent, given, "event-replaces-memory")
        if ways.bug("event-first-key-only") and given.get("shared_memory"):
            context.own = {**before, **dict(list(given["shared_memory"].items())[:1])}
        if lists is not None and not ways.has("lists-from-creation"):
            context.lists = lists
        if expires is not None:
            context.expires = expires


def without_nulls(value):
    if isinstance(value, dict):
        return {n: without_nulls(v) for n, v in value.items() if v is not None}
    return [without_nulls(v) for v in value if v is not None] if isinstance(value, list) else value

"""The processing model of the Agentic Mesh Protocol for the mesh peers: the nine steps of section 4.7, faults, replies and
the forwarded copy. No sockets and no clock but for time stamps; `Node.process` is a function of the message.

Written from the specification, errata.md and binding.md. Section numbers are those of the draft v0.1.
"""

import base64
import uuid
from dataclasses import dataclass, field

import mesh_graph as graphs
import mesh_json as json
from mesh_json import Number

NEXT = "urn:agentic:mesh:role:next"
NONE = "urn:agentic:mesh:role:none"
ULTIMATE = "urn:agentic:mesh:role:ultimateReceiver"
RECEIVER, RELAY = "ultimateReceiver", "intermediary"
HEADER_FIELDS = (("messageId", str), ("traceId", str), ("roles", list), ("routingIntent", str), ("ttl", Number))
COMPONENTS = ("Header", "Body", "MemoryGram")
BLOCK = "urn:proofmark:mesh:block:"
BEHAVIOURS = ("noop", "reinsert", "fail", "annotate", "augment", "redact")
STANDARD_BLOCKS = {BLOCK + name: name for name in BEHAVIOURS}
ASSUMED = "urn:proofmark:mesh:role:assumed"
# A bug may move a step. The version is checked with the envelope unless a choice says otherwise.
STEPS = ("envelope", "version", "components", "header", "ttl", "blocks", "understand", "graph", "work")


class Fault(Exception):
    """One fault: a code with its prefix, the rule that was broken, a reason, and the block types that were not understood."""

    def __init__(self, code, rule, reason, types=()):
        super().__init__(reason)
        self.code, self.rule, self.reason, self.types = code, rule, reason, list(types)
        self.others = []  # only a bug reports several


@dataclass
class Setup:
    """What a node is told (the node object of section 9 of the binding)."""

    uri: str = "urn:proofmark:mesh:node:target"
    kind: str = RECEIVER
    roles: tuple = (ASSUMED,)
    understands: dict = field(default_factory=lambda: dict(STANDARD_BLOCKS))
    versions: tuple = ("1.0",)
    validates: bool = True
    blocks_at: str = "/Envelope/Header/headers"
    tasks: dict = field(default_factory=lambda: {"proofmark-refuse": "refuse"})

    def acts_in(self):
        return [NEXT, *([ULTIMATE] if self.kind == RECEIVER else []), *self.roles]


@dataclass
class Outcome:
    """What became of a message."""

    outcome: str = "fault"
    faults: list = field(default_factory=list)  # Fault
    copy: object = None  # the tree of the forwarded message
    reply: object = None  # the tree of a reply
    roles: list = field(default_factory=list)
    processed: list = field(default_factory=list)
    body_processed: bool = False
    graph_used: bool = False
    ttl_after: object = None
    message: object = None  # the tree as received
    filtered: bool = False  # a duplicate, answered without processing


def member(message, *names):
    """A value inside the Envelope, or None."""
    value = message.get("Envelope") if isinstance(message, dict) else None
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def encrypted(message):
    """Whether encryption is declared (E85: null counts as absent)."""
    return member(message, "Header", "encryption") is not None


def short_name(uri):
    return uri.rstrip("/").replace("/", ":").rpartition(":")[2] or "peer"


class Node:
    def __init__(self, ways, setup=None):
        self.ways, self.setup = ways, setup or Setup()
        has = ways.has
        self.habits = json.Habits(
            comments=has("comments-read") or ways.bug("comments-needed"),
            duplicates=ways.pick("duplicates").removeprefix("duplicates-").replace("refused", "refuse"),
            mark="refuse" if has("byte-mark-refused") else "accept",
            depth=int(ways.pick("depth").removeprefix("depth-")),
            overflow="refuse" if has("overflow-refused") else "keep",
        )
        self.style = json.Style(
            ascii=has("text-ascii"),
            slashes=has("text-slashes"),
            indent=has("text-indented"),
            order=ways.pick("text-order").removeprefix("order-"),
            numbers=ways.pick("numbers").removeprefix("numbers-"),
            tail="\n" if has("text-newline") else "",
        )
        place = ways.pick("blocks-place")
        if place != "blocks-in-headers":
            self.setup.blocks_at = "/Envelope/Header/headerBlocks" if place == "blocks-in-header-blocks" else "/Envelope/headers"
        if ways.bug("blocks-under-other-name"):
            self.setup.blocks_at = "/Envelope/Header/headerBlocks"
        if has("graph-ignored"):
            self.setup.validates = False

    # --- Faults -------------------------------------------------------------------------------------------------------

    def refuse(self, rule, code, reason, types=()):
        """Refuses the message, unless the bug is that this rule is left out."""
        if not self.ways.skips(rule):
            raise Fault(self.ways.code(rule, code), rule, reason, types)

    # --- The steps ----------------------------------------------------------------------------------------------------

    def process(self, data):
        out = Outcome(roles=self.setup.acts_in())
        ways = self.ways
        try:
            out.message = self.read(ways.change("raw", data, self))
            self.run(out)
        except Fault as fault:
            out.outcome, out.reply = "fault", None
            if not ways.bug("must-understand-after-forward"):
                out.copy = None
            if isinstance(out.message, dict) and self.setup.kind == RELAY and ways.bug("forward-despite-fault"):
                out.copy = json.copy(out.message)
            out.faults = [fault]
        return out

    def read(self, data):
        ways = self.ways
        try:
            return json.read(data, self.habits)
        except RecursionError:
            raise Fault("amp:Sender", "json-depth", "nested too deeply") from None
        except json.NotJson as error:
            if error.bytes_only and ways.has("bad-bytes-bare-400"):
                raise Fault("", "bytes", str(error)) from None
            if error.bytes_only and ways.has("bad-bytes-own-code"):
                raise Fault("peer:BadEncoding", "bad-bytes", str(error)) from None
            code = "amp:VersionMismatch" if ways.has("not-json-version") else "amp:Sender"
            raise Fault(ways.code("not-json", code), "not-json", str(error)) from None

    def run(self, out):
        ways = self.ways
        steps = [s for s in STEPS if s != "version"]
        after = {"version-first": "envelope", "version-after-header": "header", "version-after-blocks": "understand"}
        steps.insert(steps.index(after[ways.pick("version-when")]) + 1, "version")
        graph_after = {"graph-with-structure": "components", "graph-before-ttl": "header"}.get(ways.pick("graph-when"))
        if graph_after:
            steps.remove("graph")
            steps.insert(steps.index(graph_after) + 1, "graph")
        if ways.has("graph-after-body") and self.setup.kind == RECEIVER:
            steps.remove("graph")
        steps = ways.order(steps)
        faults = []
        for step in steps:
            try:
                getattr(self, "step_" + step)(out)
            except Fault as fault:
                if ways.bug("last-error-reported", "all-errors-reported") and step not in ("envelope", "work"):
                    faults.append(fault)
                else:
                    raise
            if faults and step == "graph":
                if ways.bug("last-error-reported"):
                    raise faults[-1]
                faults[0].others = faults[1:]
                raise faults[0]

    def step_envelope(self, out):
        message, ways = out.message, self.ways
        code = "amp:VersionMismatch" if ways.has("no-envelope-version") else "amp:Sender"
        if ways.bug("array-of-messages-taken") and isinstance(message, list) and message and isinstance(message[0], dict):
            message = out.message = message[0]
        message = out.message = ways.change("inbound", message, self)
        if not isinstance(message, dict):
            raise Fault(ways.code("not-an-object", code), "not-an-object", "a message is an object")
        if "Envelope" not in message:
            raise Fault(ways.code("no-envelope", code), "no-envelope", "there is no Envelope")
        if not isinstance(message["Envelope"], dict):
            raise Fault(ways.code("envelope-type", code), "envelope-type", "Envelope is not an object")
        strict = ways.has("envelope-extras-refused") or (ways.has("envelope-extras-refused-by-receiver") and self.setup.kind == RECEIVER)
        allowed = {*COMPONENTS, *(["headers"] if self.setup.blocks_at == "/Envelope/headers" else [])}
        if strict and (set(message) - {"Envelope"} or set(message["Envelope"]) - allowed):
            raise Fault("amp:Sender", "envelope-extras", "unknown members of Envelope")

    def step_version(self, out):
        ways, header = self.ways, member(out.message, "Header")
        if not isinstance(header, dict) or ways.has("version-by-structure"):
            return
        if ways.bug("version-sticky") and ways.memory.pop("mismatch", False):
            raise Fault("amp:VersionMismatch", "version", "after a mismatch")
        if "version" not in header:
            if ways.bug("version-required"):
                raise Fault("amp:VersionMismatch", "version-missing", "no version")
            return
        version = header["version"]
        if not isinstance(version, str):
            if ways.bug("version-number-taken") and isinstance(version, Number) and version.decimal() == 1:
                return
            if not ways.has("version-typed-ignored") and not ways.skips("version-type"):
                code = "amp:Sender" if ways.has("version-typed-sender") else "amp:VersionMismatch"
                raise Fault(ways.code("version-type", code), "version-type", "the version is not a string")
            return
        near = version in ("1", "1.1", "1.0.0", "0.1")
        if version in self.setup.versions or (near and not ways.has("version-near-refused")):
            if ways.bug("version-member-refused"):
                raise Fault("amp:Sender", "version-member", "unknown member version")
            return
        if ways.bug("version-99-only") and version != "99.0":
            return
        if ways.bug("version-compared-as-number") and not version.replace(".", "").isdigit():
            return
        ways.memory["mismatch"] = True
        self.refuse("version", "amp:VersionMismatch", f"version {version} is not supported")

    def step_components(self, out):
        ways, envelope = self.ways, out.message["Envelope"]
        for name in COMPONENTS:
            rule = name.lower()
            if name not in envelope:
                code = "amp:VersionMismatch" if ways.has("no-component-version") else "amp:Sender"
                if name == "MemoryGram" and ways.has("no-graph-own-code"):
                    code = "amp:InvalidMemoryGram"
                self.refuse(f"{rule}-missing", code, f"{name} is missing")
                envelope[name] = {}
                if name == "Header":  # only a bug comes here
                    envelope[name] = {"messageId": new_id(), "traceId": new_id(), "roles": [], "routingIntent": "direct", "ttl": Number(8)}
                if name == "Body":
                    envelope[name] = {"task": "echo", "expectedOutput": []}
            value = envelope[name]
            if isinstance(value, dict):
                continue
            if name == "MemoryGram":
                if encrypted(out.message) and value is not None:
                    continue
                code = "amp:Sender" if ways.has("wrong-graph-sender") else "amp:InvalidMemoryGram"
                if value is None and ways.bug("graph-null-taken"):
                    continue
                if isinstance(value, list) and ways.bug("graph-array-taken"):
                    continue
            else:
                code = "amp:VersionMismatch" if ways.has("wrong-component-version") else "amp:Sender"
                if value is None and ways.bug("body-null-taken") and name == "Body":
                    envelope[name] = {"task": "echo", "expectedOutput": []}
                    continue
                if value is None and ways.bug("header-null-as-empty") and name == "Header":
                    envelope[name] = {"messageId": new_id(), "traceId": new_id(), "roles": [], "routingIntent": "direct", "ttl": Number(8)}
                    continue
                if isinstance(value, list) and not value and ways.bug("empty-array-as-object"):
                    envelope[name] = {"task": "echo", "expectedOutput": []} if name == "Body" else value
                    if name == "Body":
                        continue
            self.refuse(f"{rule}-type", code, f"{name} is not an object")
        if ways.bug("member-order-required") and [n for n in envelope if n in COMPONENTS] != list(COMPONENTS):
            raise Fault("amp:Sender", "order", "components out of order")

    def step_header(self, out):
        ways, header = self.ways, member(out.message, "Header")
        if not isinstance(header, dict):
            return
        for name, kind in HEADER_FIELDS:
            if name not in header:
                self.refuse(f"{name}-missing", "amp:Sender", f"Header.{name} is missing")
                if name == "ttl":
                    continue
                header[name] = {"roles": []}.get(name, "direct" if name == "routingIntent" else new_id())
                continue
            value = header[name]
            if ways.bug("fields-coerced") and isinstance(value, Number) and kind is str:
                continue
            if not isinstance(value, kind):
                if value is None and ways.bug("null-fields-taken") and name != "ttl":
                    continue
                if name == "ttl" and ways.bug("ttl-parsed-from-string") and isinstance(value, str) and value.isdigit():
                    header[name] = Number(value)
                    continue
                if name == "ttl" and ways.bug("ttl-boolean-as-number") and value is True:
                    header[name] = Number(8)
                    continue
                if ways.bug("empty-containers-as-absent") and value in ([], {}) and name in ("traceId", "messageId"):
                    header[name] = new_id()
                    continue
                self.refuse(f"{name}-type", "amp:Sender", f"Header.{name} has the wrong type")
                continue
            if ways.has("empty-strings-refused") and value == "":
                raise Fault("amp:Sender", f"{name}-empty", f"Header.{name} is empty")
            if name == "roles" and ways.has("elements-must-be-strings") and not all(isinstance(r, str) for r in value):
                raise Fault("amp:Sender", "roles-elements", "an element of roles is not a string")
            if name == "roles" and ways.bug("actor-roles-must-be-uris") and not all(isinstance(r, str) and ":" in r for r in value):
                raise Fault("amp:Sender", "roles-uris", "an element of roles is not a URI")
            if name == "roles" and ways.bug("actor-roles-closed-list") and set(map(repr, value)) - {"'planner'", "'vendor'"}:
                raise Fault("amp:Sender", "roles-known", "unknown role")
            if name == "messageId" and ways.bug("message-id-must-be-ascii-word") and not all(c.isalnum() or c in "-_.:" for c in value):
                raise Fault("amp:Sender", "messageId-form", "an odd messageId")
            if name == "messageId" and ways.bug("message-id-at-most-40"):
                if len(value) > 40:
                    raise Fault("amp:Sender", "messageId-long", "a long messageId")
        if "encryption" in header:
            value = header["encryption"]
            if not isinstance(value, dict) and (value is not None or ways.has("encryption-null-refused")):
                self.refuse("encryption-type", "amp:Sender", "encryption is not an object")
            if ways.bug("encryption-members-closed") and isinstance(value, dict) and set(value) - {"type"}:
                raise Fault("amp:Sender", "encryption-members", "unknown member of encryption")
        elif ways.bug("encryption-required"):
            raise Fault("amp:Sender", "encryption-missing", "no encryption")
        intent = header.get("routingIntent")
        known = ("direct", "delegate", "broadcast")
        if intent not in known and isinstance(intent, str):
            if ways.has("intent-sender") or ways.bug("unknown-intent-refused"):
                raise Fault("amp:Sender", "intent", "unknown routingIntent")
            if ways.has("intent-own-code"):
                raise Fault("peer:UnknownIntent", "intent", "unknown routingIntent")
        if ways.bug("broadcast-refused") and intent == "broadcast":
            raise Fault("amp:Sender", "intent", "unknown routingIntent")
        if ways.bug("delegate-refused-by-receiver") and intent == "delegate" and self.setup.kind == RECEIVER:
            raise Fault("amp:Receiver", "intent", "cannot delegate")
        if ways.bug("unknown-header-member-refused"):
            if set(header) - {n for n, _ in HEADER_FIELDS} - {"encryption", "version", "headers"}:
                raise Fault("amp:Sender", "header-members", "unknown member of Header")

    def step_ttl(self, out):
        ways, header = self.ways, member(out.message, "Header")
        if not isinstance(header, dict):
            return
        value = header.get("ttl")
        if not isinstance(value, Number):
            if "ttl" in header:
                self.refuse("ttl-type", "amp:Sender", "Header.ttl has the wrong type")
            return
        whole = value.whole()
        if whole is None:
            if ways.bug("ttl-float-truncated") and abs(float(value.text)) < 1e9:
                whole = int(float(value.text))
            else:
                self.refuse("ttl-fraction", "amp:Sender", "ttl is not an integer")
                return
        if not value.plain and ways.has("ttl-spellings-refused"):
            raise Fault("amp:Sender", "ttl-spelling", "ttl is not written as an integer")
        limit = {"ttl-to-53-bits": 2**53 - 1, "ttl-to-31-bits": 2**31 - 1, "ttl-to-255": 255}.get(ways.pick("ttl-limit"))
        if limit is not None and whole > limit:
            raise Fault("amp:Sender", "ttl-large", "ttl is too large")
        whole = ways.change("ttl", whole, self, out.message)
        lowered = whole - 1
        out.ttl_after = lowered
        if ways.bug("ttl-not-lowered-at-receiver") and self.setup.kind == RECEIVER:
            out.ttl_after = whole
        expired = lowered <= 0
        if ways.bug("ttl-checked-before-decrement"):
            expired = whole <= 0
        if ways.bug("ttl-equals-zero-only"):
            expired = lowered == 0
        if ways.bug("ttl-zero-only") and whole < 0:
            expired = False
        if ways.bug("ttl-expires-at-two"):
            expired = lowered <= 1
        if whole == 1 and self.setup.kind == RECEIVER and (ways.has("ttl-one-delivered") or ways.bug("receiver-delivers-ttl-one")):
            expired = False
        if ways.bug("ttl-absolute"):
            expired = abs(whole) - 1 <= 0
        if not expired:
            return
        rule, code = "ttl-expired", "amp:TTLExpired"
        if whole == 0:
            rule = "ttl-zero"
            code = "amp:Sender" if ways.has("ttl-zero-sender") else code
        elif whole < 0:
            rule = "ttl-negative"
            code = "amp:Sender" if ways.has("ttl-negative-sender") else code
        self.refuse(rule, code, "ttl has run out")

    # --- Header blocks ------------------------------------------------------------------------------------------------

    def place(self, message):
        """(container, name) of the block array, or None."""
        pointer, _, name = self.setup.blocks_at.rpartition("/")
        found, container = json.at(message, pointer)
        return (container, name) if found and isinstance(container, dict) and name in container else None

    def blocks(self, message):
        place = self.place(message)
        value = place[0][place[1]] if place else []
        return value if isinstance(value, list) else []

    def flag(self, block, name):
        ways = self.ways
        if name not in block:
            return ways.bug("must-understand-by-default") if name == "mustUnderstand" else ways.bug("relay-true-by-default")
        value = block[name]
        if ways.has("flags-as-in-soap"):
            return value is True or value in ("true", "1") or (isinstance(value, Number) and value.decimal() == 1)
        return value is True

    def step_blocks(self, out):
        """The shape of the array and of the blocks."""
        ways, place = self.ways, self.place(out.message)
        if place is None:
            if ways.bug("headers-array-required"):
                raise Fault("amp:Sender", "blocks-missing", "no array of header blocks")
            return
        value = place[0][place[1]]
        if not isinstance(value, list):
            if not ways.has("blocks-not-array-ignored"):
                self.refuse("blocks-type", "amp:Sender", "the header blocks are not an array")
            return
        if ways.bug("empty-headers-array-refused") and not value:
            raise Fault("amp:Sender", "blocks-empty", "an empty array of header blocks")
        for block in value:
            if not isinstance(block, dict):
                raise Fault("amp:Sender", "block-type", "a header block is not an object")
            if not isinstance(block.get("type"), str) and not ways.has("typeless-unknown"):
                if not (ways.bug("type-read-from-name") and isinstance(block.get("name", block.get("Type")), str)):
                    code = "amp:MustUnderstand" if ways.has("typeless-must-understand") else "amp:Sender"
                    self.refuse("block-typeless", code, "a header block has no type")
            if ways.has("flags-checked") and not all(isinstance(block.get(n, False), bool) for n in ("mustUnderstand", "relay")):
                raise Fault("amp:Sender", "block-flags", "a flag is not a boolean")
            if ways.bug("block-members-closed") and set(block) - {"type", "role", "mustUnderstand", "relay", "content"}:
                raise Fault("amp:Sender", "block-members", "unknown member of a header block")
            if ways.bug("block-needs-relay") and "relay" not in block:
                raise Fault("amp:Sender", "block-relay", "a header block without relay")
            if ways.bug("block-needs-role") and "role" not in block:
                raise Fault("amp:Sender", "block-role", "a header block without role")
            if ways.bug("closed-role-list") and isinstance(block.get("role"), str):
                if block["role"] not in (*self.setup.acts_in(), NONE, ULTIMATE, NEXT, ASSUMED + ":not"):
                    raise Fault("amp:Sender", "block-role-unknown", "unknown role")
            if ways.bug("block-content-required") and "content" not in block:
                raise Fault("amp:Sender", "block-content", "a header block without content")
        if ways.bug("blocks-of-one-type-refused"):
            types = [b.get("type") for b in value]
            if len(set(types)) < len(types):
                raise Fault("amp:Sender", "blocks-repeated", "two header blocks of one type")
        if ways.bug("at-most-eight-blocks") and len(value) > 8:
            raise Fault("amp:Sender", "blocks-many", "too many header blocks")

    def kind_of(self, block):
        """The behaviour of a block that the node understands, or None."""
        ways, name = self.ways, block.get("type")
        if ways.bug("type-read-from-name") and not isinstance(name, str):
            name = block.get("name", block.get("Type"))
        if not isinstance(name, str):
            return None
        known = self.setup.understands
        if ways.bug("types-ignore-case"):
            known = {k.lower(): v for k, v in known.items()}
            name = name.lower()
        if ways.bug("types-by-prefix"):
            return next((v for k, v in known.items() if name.startswith(k) or name.startswith(k.rpartition(":")[0])), None)
        if ways.bug("unknown-type-learnt"):
            if name not in known and name in ways.memory.setdefault("types", set()):
                return "noop"
            ways.memory["types"].add(name)
        return known.get(name)

    def targeted(self, block, out):
        """Whether the block is for this node (section 4.3)."""
        ways, kind = self.ways, self.setup.kind
        role = block.get("role", block.get("Role") if ways.bug("role-name-ignores-case") else None)
        if role is None and ways.bug("role-read-from-actor"):
            role = block.get("actor")
        if not isinstance(role, str):
            if ways.bug("roleless-is-next"):
                return True
            return kind == RECEIVER and "role" not in block and ways.has("roleless-for-receiver")
        roles = list(out.roles)
        if ways.has("header-roles-act") or ways.bug("header-roles-as-block-roles"):
            roles += [r for r in member(out.message, "Header", "roles") or [] if isinstance(r, str) and r != NONE]
        if ways.bug("next-not-assumed-at-receiver") and kind == RECEIVER or ways.bug("next-not-assumed-at-relay") and kind == RELAY:
            roles.remove(NEXT)
        if ways.bug("next-as-short-word"):
            roles = ["next" if r == NEXT else r for r in roles]
        if ways.bug("none-role-assumed"):
            roles.append(NONE)
        if ways.bug("ultimate-role-at-relay"):
            roles.append(ULTIMATE)
        if ways.bug("ultimate-role-missing") and ULTIMATE in roles:
            roles.remove(ULTIMATE)
        if ways.bug("assumed-role-forgotten"):
            roles = [r for r in roles if r in (NEXT, ULTIMATE)]
        if ways.bug("own-uri-is-a-role"):
            roles.append(ASSUMED + ":not")
        if ways.bug("role-prefix-match"):
            return any(role.startswith(r) for r in roles)
        if ways.bug("role-substring-match"):
            return any(r in role for r in roles)
        if ways.bug("roles-remembered"):
            roles += ways.memory.setdefault("roles", [])
            if role not in (NONE, ULTIMATE):
                ways.memory["roles"] = (ways.memory["roles"] + [role])[-50:]
        if ways.bug("roles-change-while-processing") and ways.memory.get("block-seen") is out:
            roles = [r for r in roles if r in (NEXT, ULTIMATE)]
        return role in roles

    def step_understand(self, out):
        ways, missing, blocks = self.ways, [], self.blocks(out.message)
        ways.memory.pop("block-seen", None)
        looked = blocks
        if ways.bug("must-understand-first-block-only"):
            looked = blocks[:1]
        if ways.bug("must-understand-last-block-only"):
            looked = blocks[-1:]
        if ways.bug("must-understand-first-five"):
            looked = blocks[:5]
        seen = set()
        for block in looked:
            mandatory = self.flag(block, "mustUnderstand") or (ways.bug("unknown-block-always-faults"))
            if ways.bug("same-type-looked-at-once"):
                if repr(block.get("type")) in seen:
                    continue
                seen.add(repr(block.get("type")))
            if ways.bug("must-understand-excused-by-relay") and self.flag(block, "relay"):
                continue
            if ways.bug("receiver-relay-excuse") and self.flag(block, "relay") and self.setup.kind == RECEIVER:
                continue
            if ways.bug("must-understand-next-only") and block.get("role") != NEXT:
                continue
            if ways.bug("must-understand-false-as-true") and "mustUnderstand" in block:
                mandatory = True
            targeted = self.targeted(block, out) or ways.bug("must-understand-any-role")
            if not (mandatory and targeted):
                continue
            if ways.bug("mandatory-always-faults") or self.kind_of(block) is None:
                if ways.bug("relayable-kept-unknown") and block.get("relay") is True and self.setup.kind == RELAY:
                    continue
                missing.append(block)
            elif ways.bug("blocks-processed-one-by-one"):
                self.perform(block, out, None)
            elif ways.bug("one-known-block-satisfies"):
                missing = []
                break
        if missing and ways.bug("must-understand-after-forward") and self.setup.kind == RELAY:
            out.processed = []
            out.copy = self.forwarded(out, set(), {})
        if missing:
            types = [b.get("type") for b in missing if isinstance(b.get("type"), str)]
            self.refuse("must-understand", "amp:MustUnderstand", "a mandatory header block is not understood", types)

    # --- MemoryGram, blocks, body -------------------------------------------------------------------------------------

    def step_graph(self, out):
        ways, graph = self.ways, member(out.message, "MemoryGram")
        if encrypted(out.message):
            if ways.has("encrypted-graph-refused") and self.setup.kind == RELAY and not looks_like_graph(graph):
                raise Fault("amp:InvalidMemoryGram", "graph-encrypted", "the MemoryGram is encrypted")
            if ways.bug("encrypted-graph-refused-as-sender") and not looks_like_graph(graph):
                raise Fault("amp:Sender", "graph-encrypted", "the MemoryGram is encrypted")
            return
        if ways.bug("memorygram-commands-obeyed"):
            self.obey(out, graph)
        if not self.setup.validates or not isinstance(graph, dict):
            return
        found = graphs.problem(graph, ways, ways.has("graph-members-required"), ways.has("graph-ids-optional"))
        if found:
            code = "amp:Sender" if ways.has("graph-sender") else "amp:InvalidMemoryGram"
            self.refuse(found[0], code, found[1])
        out.graph_used = True

    def obey(self, out, graph):
        for node in graphs.objects(graph, "nodes"):
            metadata = node.get("metadata") if isinstance(node.get("metadata"), dict) else {}
            if isinstance(metadata.get("ttl"), Number) and metadata["ttl"].whole():
                out.ttl_after = metadata["ttl"].whole()
            if isinstance(metadata.get("task"), str):
                member(out.message, "Body")["task"] = metadata["task"]

    def step_work(self, out):
        ways = self.ways
        if self.setup.kind == RECEIVER:
            if ways.has("duplicate-filter") and self.filtered(out):
                out.outcome, out.filtered = "delivered", True
                return
            if encrypted(out.message) and (ways.has("byoe-refused") or ways.has("byoe-refused-by-own-code")):
                raise Fault("amp:Receiver" if ways.has("byoe-refused") else "peer:CannotDecrypt", "byoe", "no key for this message")
            if ways.has("body-before-blocks"):
                self.body(out)
                self.work_blocks(out)
            else:
                self.work_blocks(out)
                self.body(out)
            if ways.has("graph-after-body"):
                self.step_graph(out)
            out.outcome, out.body_processed = "delivered", True
            out.reply = self.reply(out)
            return
        if ways.has("relay-checks-body") or ways.bug("relay-knows-echo-only", "body-closed-schema"):
            self.body(out)
        if ways.has("duplicate-filter") and self.filtered(out):
            out.outcome, out.filtered = "forwarded", True
            return
        if ways.has("relay-refuses-byoe") and encrypted(out.message):
            raise Fault("amp:Receiver", "byoe", "no key for this message")
        gone, replaced = self.work_blocks(out)
        out.outcome = "forwarded"
        out.copy = self.forwarded(out, gone, replaced)

    def filtered(self, out):
        seen = self.ways.memory.setdefault("ids", set())
        key = (self.setup.uri, self.setup.kind, member(out.message, "Header", "messageId"))
        known = key in seen
        seen.add(key)
        return known

    def work_blocks(self, out):
        """Processes the targeted blocks; the indices that leave the message, and replacements."""
        ways, gone, replaced, done = self.ways, set(), {}, set()
        blocks = list(enumerate(self.blocks(out.message)))
        if ways.has("blocks-from-the-end"):
            blocks.reverse()
        failed = None
        for index, block in blocks:
            if not self.targeted(block, out):
                if ways.bug("none-blocks-stripped") and block.get("role") == NONE:
                    gone.add(index)
                if ways.bug("ultimate-blocks-stripped") and block.get("role") == ULTIMATE:
                    gone.add(index)
                if ways.bug("relay-needed-for-others") and not self.flag(block, "relay"):
                    gone.add(index)
                if ways.bug("mandatory-blocks-of-others-stripped") and self.flag(block, "mustUnderstand"):
                    gone.add(index)
                if (ways.has("roleless-dropped") or ways.bug("roleless-block-dropped")) and "role" not in block:
                    gone.add(index)
                continue
            ways.memory["block-seen"] = out
            kind, mandatory = self.kind_of(block), self.flag(block, "mustUnderstand")
            if ways.bug("receiver-skips-own-blocks") and self.setup.kind == RECEIVER and block.get("role") == ULTIMATE:
                continue
            if ways.bug("must-understand-ignored") and kind is None and mandatory:
                continue
            if kind is None or (ways.has("optional-blocks-ignored") and not mandatory):
                if not self.flag(block, "relay") or ways.bug("relayable-block-dropped", "unknown-block-called-processed"):
                    gone.add(index)
                if ways.bug("relay-honoured-for-next-only") and block.get("role") != NEXT:
                    gone.add(index)
                if ways.bug("ignored-block-kept"):
                    gone.discard(index)
                if ways.bug("second-ignored-block-kept") and any(blocks[i][0] in gone for i in range(len(blocks)) if blocks[i][0] == index - 1):
                    gone.discard(index)
                continue
            if ways.bug("same-type-once") and block.get("type") in done:
                gone.add(index)
                continue
            done.add(block.get("type"))
            try:
                self.perform(block, out, index)
                failed = None if ways.bug("last-block-decides") else failed
            except Fault as fault:
                if ways.bug("failing-block-swallowed") or (ways.bug("optional-failure-only") and mandatory):
                    pass
                elif ways.bug("last-block-decides"):
                    failed = fault
                else:
                    raise
            out.processed.append(index)
            if ways.bug("processed-block-kept") or (ways.bug("processed-block-kept-if-relay") and self.flag(block, "relay")):
                continue
            if ways.bug("optional-known-block-kept") and not mandatory:
                continue
            if kind != "reinsert" or ways.bug("reinsert-forgotten"):
                gone.add(index)
            elif ways.bug("reinsert-clears-flag"):
                replaced[index] = {**block, "mustUnderstand": False}
            elif ways.bug("reinsert-content-emptied"):
                replaced[index] = {**block, "content": {}}
            elif ways.bug("reinsert-needs-relay") and not self.flag(block, "relay"):
                gone.add(index)
        if failed:
            raise failed
        return gone, replaced

    def perform(self, block, out, index):
        """The behaviours of section 6 of the binding."""
        ways, kind = self.ways, self.kind_of(block)
        if ways.bug("content-read-beside-block"):
            content = block
        else:
            content = block.get("content")
        content = content if isinstance(content, dict) else {}
        if kind == "fail":
            fails = content.get("fail") is True
            if ways.bug("failing-by-presence"):
                fails = "fail" in content
            if ways.bug("failing-never"):
                fails = False
            if ways.bug("failing-remembered"):
                fails = fails or ways.memory.get("failed", 0) > 0
                ways.memory["failed"] = 2 if content.get("fail") is True else ways.memory.get("failed", 0) - 1
            if fails:
                code = "amp:Sender" if ways.has("failing-sender") else "peer:BlockFailed" if ways.has("failing-own-code") else "amp:Receiver"
                self.refuse("block-fails", code, "a header block could not be processed")
        if self.setup.kind != RELAY or index is None:
            return
        graph = member(out.message, "MemoryGram")
        plain = isinstance(graph, dict) and not encrypted(out.message)
        if kind == "annotate" and plain:
            graphs.annotate(graph, self.setup.uri, ways)
        elif kind == "augment" and plain:
            graphs.augment(graph, self.setup.uri, ways)
        elif kind == "redact":
            context = member(out.message, "Body", "context")
            if isinstance(context, dict) and isinstance(content.get("member"), str):
                if not ways.bug("redact-ignored"):
                    context.pop(content["member"], None)
                if ways.bug("redact-clears-context"):
                    context.clear()

    def body(self, out):
        """The required fields (2.2), then the task (4.5)."""
        ways, body = self.ways, out.message["Envelope"].get("Body")
        body = body if isinstance(body, dict) else {}
        for name, kind in (("task", str), ("expectedOutput", list)):
            if name not in body:
                self.refuse(f"{name}-missing", "amp:Sender", f"Body.{name} is missing")
            elif not isinstance(body[name], kind):
                if not (body[name] is None and ways.bug("null-body-fields-taken")):
                    self.refuse(f"{name}-type", "amp:Sender", f"Body.{name} has the wrong type")
        if "context" in body:
            if not isinstance(body["context"], dict) and body["context"] is not None:
                self.refuse("context-type", "amp:Sender", "Body.context is not an object")
            nested = body["context"].values() if isinstance(body["context"], dict) else ()
            if ways.bug("context-flat-only") and any(isinstance(v, (dict, list)) for v in nested):
                raise Fault("amp:Sender", "context-nested", "a nested value in context")
            if ways.bug("context-names-checked") and isinstance(body["context"], dict):
                if not all(name and name.replace("_", "").replace("-", "").isascii() and name.replace("_", "").replace("-", "").isalnum() for name in body["context"]):
                    raise Fault("amp:Sender", "context-names", "an odd name in context")
        elif ways.bug("context-required"):
            raise Fault("amp:Sender", "context-missing", "Body.context is missing")
        if ways.has("empty-strings-refused") and body.get("task") == "":
            raise Fault("amp:Sender", "task-empty", "Body.task is empty")
        if ways.has("elements-must-be-strings") and not all(isinstance(v, str) for v in body.get("expectedOutput", [])):
            raise Fault("amp:Sender", "expectedOutput-elements", "an element of expectedOutput is not a string")
        known = {"task", "expectedOutput", "context"}
        extras = set(body) - known
        if extras and (ways.has("body-extras-refused") and self.setup.kind == RECEIVER or ways.bug("body-closed-schema")):
            raise Fault("amp:Sender", "body-extras", "unknown members of Body")
        task = body.get("task")
        if ways.bug("relay-knows-echo-only") and self.setup.kind == RELAY and task != "echo":
            raise Fault("amp:Receiver", "task-unknown", "unknown task")
        if self.setup.kind == RECEIVER and isinstance(task, str) and self.setup.tasks.get(task) == "refuse":
            ways.memory["task-refused"] = True
            self.refuse("task-refused", "amp:Receiver", "this task is refused")
        if ways.bug("any-task-refused-after-one") and self.setup.kind == RECEIVER:
            if ways.memory.get("task-refused"):
                ways.memory["task-refused"] = False
                raise Fault("amp:Receiver", "task-after", "after a refused task")

    # --- What is emitted ----------------------------------------------------------------------------------------------

    def forwarded(self, out, gone, replaced):
        """The message for the next hop (4.8.2, 4.8.2.1)."""
        ways = self.ways
        message = json.copy(out.message)
        place = self.place(message)
        if place and isinstance(place[0][place[1]], list):
            before = place[0][place[1]]
            if ways.bug("active-relay-skips-rules"):
                gone = set()
            keep = [replaced.get(i, b) for i, b in enumerate(before) if i not in gone]
            if ways.bug("removal-skips-neighbour"):
                keep = [b for i, b in enumerate(before) if not (i in gone and (i - 1 not in gone or (i - 2) in gone))]
            place[0][place[1]] = [self.kept_block(b) for b in keep]
            if ways.has("blocks-reversed"):
                place[0][place[1]].reverse()
            if ways.bug("empty-headers-array-removed") and not place[0][place[1]]:
                del place[0][place[1]]
        self.add_block(message)
        header = member(message, "Header")
        if isinstance(header, dict):
            if out.ttl_after is not None and not ways.bug("active-relay-skips-rules"):
                header["ttl"] = Number(out.ttl_after)
            self.trace(header)
            if ways.has("adds-header-members"):
                header.update(hopCount=Number(1), via=[self.setup.uri], seenBy={"node": self.setup.uri})
        if ways.has("relay-adds-to-body") and isinstance(member(message, "Body"), dict):
            member(message, "Body")["relayNote"] = "seen"
        if ways.has("copies-with-encryption-null") and isinstance(header, dict):
            header.setdefault("encryption", None)
        self.relay_graph(message)
        if ways.has("active-seals") and isinstance(header, dict) and not encrypted(message):
            self.seal(message)
        return ways.change("copy", message, self, out.message)

    def seal(self, message):
        """Puts Body and MemoryGram out of sight (4.8.4). Base64 stands for encryption: nobody opens what is sealed."""
        ways, envelope = self.ways, message["Envelope"]
        sealed = {name: base64.b64encode(json.encode(envelope[name], self.style)).decode() for name in ("Body", "MemoryGram")}
        if not ways.bug("sealed-without-encryption-entry"):
            envelope["Header"]["encryption"] = {"type": "BYOE", "sealedBy": self.setup.uri}
        envelope["Body"] = {"task": "sealed", "expectedOutput": [], "context": {"sealed\U0001f510": {"encryptedFor": ULTIMATE, "data": sealed["Body"]}}}
        envelope["MemoryGram"] = sealed["MemoryGram"]

    def kept_block(self, block):
        ways = self.ways
        if not isinstance(block, dict):
            return block
        if ways.has("drops-false-flags"):
            block = {k: v for k, v in block.items() if not (k in ("mustUnderstand", "relay") and v is False)}
        if ways.has("adds-block-metadata"):
            block = {**block, "handledBy": [self.setup.uri]}
        return ways.change("kept-block", dict(block), self)

    def add_block(self, message):
        way = self.ways.pick("relay-adds-block")
        if way == "adds-no-block":
            return
        block = {"type": "urn:peer:mesh:block:audit", "role": NONE, "mustUnderstand": False, "relay": True, "content": {"node": self.setup.uri}}
        if way == "adds-block-for-receiver":
            block = {"type": "urn:peer:mesh:block:hint", "role": ULTIMATE}
        pointer, _, name = self.setup.blocks_at.rpartition("/")
        found, container = json.at(message, pointer)
        if found and isinstance(container, dict) and isinstance(container.setdefault(name, []), list):
            container[name].insert(0 if way == "adds-block-first" else len(container[name]), block)

    def trace(self, header):
        ways, old = self.ways, header.get("traceId")
        if not isinstance(old, str):
            return
        short = short_name(self.setup.uri)
        way = ways.pick("trace")
        if ways.bug("trace-id-replaced"):
            header["traceId"] = new_id()
        elif ways.bug("trace-id-untouched") or way == "trace-untouched":
            pass
        elif ways.bug("trace-id-cut"):
            header["traceId"] = (f"{short}:" + old)[:24]
        elif ways.bug("trace-id-hashed"):
            header["traceId"] = uuid.uuid5(uuid.NAMESPACE_URL, old).hex
        elif ways.bug("trace-id-lower-case"):
            header["traceId"] = f"{short}/{old.upper()}"
        elif ways.bug("trace-id-of-first-message"):
            header["traceId"] = f"{short}/{ways.memory.setdefault('trace', old)}"
        elif ways.bug("trace-id-spaces-removed"):
            header["traceId"] = f"{short}/{old.replace('-', '')}"
        elif way == "trace-prefixed":
            header["traceId"] = f"hop={short};{old}"
        elif way == "trace-appended":
            header["traceId"] = f"{old};hop={short}"
        elif way == "trace-path":
            header["traceId"] = f"{old}/{self.setup.uri}"
        elif way == "trace-kept-with-hop":
            header["hopTrace"] = f"{old}@{short}"
        elif way == "trace-replaced":
            header["parentTraceId"] = f"{header['parentTraceId']} {old}" if isinstance(header.get("parentTraceId"), str) else old
            header["traceId"] = new_id()
        elif way == "trace-replaced-nested":
            header["traces"] = [*(header["traces"] if isinstance(header.get("traces"), list) else []), {"id": old}]
            header["traceId"] = new_id()

    def relay_graph(self, message):
        ways, graph = self.ways, member(message, "MemoryGram")
        if not isinstance(graph, dict) or encrypted(message):
            return
        nodes, edges = graphs.objects(graph, "nodes"), graphs.objects(graph, "edges")
        way = ways.pick("graph-filter")
        if way != "graph-whole":
            gone = {n["id"] for n in nodes if n.get("type") == "issue" and isinstance(n.get("id"), str)}
            graphs.drop(graph, gone, way == "graph-filtered-dangling")
            nodes, edges = graphs.objects(graph, "nodes"), graphs.objects(graph, "edges")
        way = ways.pick("graph-notes")
        if way == "graph-annotated":
            graphs.annotate(graph, self.setup.uri, ways)
        elif way == "graph-annotated-by-member":
            for item in nodes + edges:
                item["relayedBy"] = self.setup.uri
        elif way == "graph-edges-annotated":
            for edge in edges:
                if isinstance(edge.setdefault("metadata", {}), dict):
                    edge["metadata"]["relayedBy"] = self.setup.uri
        if ways.pick("graph-adds") != "graph-not-augmented":
            graphs.augment(graph, self.setup.uri, ways, ways.pick("graph-adds"))
        if ways.has("adds-graph-member"):
            graph["relayedBy"] = self.setup.uri
        if ways.has("graph-reordered"):
            for name in ("nodes", "edges"):
                if isinstance(graph.get(name), list):
                    graph[name].reverse()

    def header_of(self, request, trace, identity):
        """The Header of a message that this node originates."""
        ways, inbound = self.ways, member(request, "Header") if request is not None else None
        inbound = inbound if isinstance(inbound, dict) else {}
        old = inbound.get("traceId")
        old = old if isinstance(old, str) and old else new_id()
        roles = inbound.get("roles")
        roles = list(roles) if isinstance(roles, list) and all(isinstance(r, str) for r in roles) else []
        traced = {"kept": old, "extended": f"{old};of={short_name(self.setup.uri)}", "new": new_id()}[trace]
        known = inbound.get("messageId")
        if ways.bug("originated-id-constant"):
            fresh = "peer-1"
        elif ways.bug("originated-id-by-second"):
            fresh = f"peer-{graphs.timestamp()}"
        elif ways.bug("originated-id-repeats-after-four"):
            ways.memory["count"] = ways.memory.get("count", 0) + 1
            fresh = f"peer-{ways.memory['count'] % 4}"
        else:
            fresh = new_id()
        header = {
            "messageId": known if identity == "of-request" and isinstance(known, str) else fresh,
            "traceId": traced, "roles": roles, "routingIntent": "direct", "ttl": Number(8),
        }  # fmt: skip
        if ways.has("fault-with-version"):
            header["version"] = "1.0"
        return header

    def reply(self, out):
        """The reply to an accepted message, or None."""
        ways = self.ways
        if not ways.pick("answer").startswith("answer-reply"):
            return None
        inbound = out.message
        header = self.header_of(inbound, ways.pick("reply-trace").removeprefix("reply-trace-"), ways.pick("reply-id").removeprefix("reply-id-"))
        if ways.has("reply-roles-swapped"):
            header["roles"].reverse()
        if ways.has("reply-ttl-one"):
            header["ttl"] = Number(1)
        asked = member(inbound, "Body")
        context = json.copy(asked.get("context")) if isinstance(asked.get("context"), dict) else {}
        body = {"task": "echo-result", "expectedOutput": [], "context": {"echo": context} if ways.has("reply-echoes") else {"result": "done"}}
        graph = {"nodes": [], "edges": [], "mode": "snapshot", "encoding": "json"}
        way = ways.pick("reply-graph")
        if way == "reply-graph-bare":
            graph = {}
        elif way == "reply-graph-returned":
            returned = member(inbound, "MemoryGram")
            graph = json.copy(returned) if isinstance(returned, dict) else graph
        elif way == "reply-graph-own":
            graph["nodes"] = [{"id": "peer-memory", "type": "note", "metadata": {"importance": Number("0.5")}}]
        if ways.has("reply-with-blocks"):
            header["headers"] = [{"type": "urn:peer:mesh:block:receipt", "role": NEXT, "mustUnderstand": False, "content": {"ok": True}}]
        if ways.has("reply-with-extras"):
            header["inReplyTo"] = member(inbound, "Header", "messageId")
            body["elapsedMs"] = Number(1)
        return ways.change("reply", {"Envelope": {"Header": header, "Body": body, "MemoryGram": graph}}, self, inbound)

    def fault_tree(self, fault, request=None, step=None):
        """A fault in the form that the choices say."""
        ways = self.ways
        code = ways.change("code", fault.code, self, fault)
        reasons = [{"text": fault.reason, "lang": "en"}]
        way = ways.pick("fault-reason")
        if way == "reason-many":
            reasons += [{"text": "Fehler", "lang": "de"}, {"text": "erreur", "lang": "fr"}]
        reason = {"reason-list": reasons, "reason-many": reasons, "reason-text": fault.reason, "reason-none": None}[way]
        more = {} if reason is None else {"reason": reason}
        if ways.has("fault-names-node"):
            more["node"] = self.setup.uri
        if ways.has("fault-with-detail"):
            more["detail"] = {"rule": fault.rule, "blocks": fault.types}
        header = self.header_of(request, ways.pick("fault-trace").removeprefix("fault-trace-"), ways.pick("fault-id").removeprefix("fault-id-"))
        if ways.has("fault-header-poor"):
            header = {"messageId": header["messageId"]}
        envelope = {} if ways.has("fault-header-none") else {"Header": header}
        graph = {} if ways.has("fault-without-graph") else {"MemoryGram": {"nodes": [], "edges": [], "mode": "snapshot", "encoding": "json"}}
        nested = {"code": {"value": code}, **more}
        flat = {"code": code, **more}
        upper = {"Code": {"Value": code}, **more}
        bodies = {
            "fault-in-body": {"fault": nested},
            "fault-code-in-body": {"fault": flat},
            "fault-upper-case": {"Fault": upper},
            "fault-mixed-case": {"Fault": flat},
            "fault-in-array": {"fault": [nested]},
        }
        beside = {"fault-in-envelope": {"fault": flat}, "fault-in-envelope-upper": {"Fault": nested}}
        bare = {
            "fault-body-without-envelope": {"Body": {"fault": nested}},
            "fault-bare": {"fault": flat},
            "fault-bare-upper": {"Fault": nested},
            "fault-error-code": {"error": {"code": code, "message": fault.reason}},
            "fault-faultcode": {"faultCode": code, "faultString": fault.reason},
            "fault-code-only": {"code": code, "message": fault.reason},
            "fault-problem": {"type": "about:blank", "title": fault.reason, "status": Number(400), "code": code},
            "fault-deep": {"problem": {"detail": {"ampErrorCode": code}, "text": fault.reason}},
            "fault-error-string": {"error": code, "message": fault.reason},
        }
        place = ways.pick("fault-place")
        if place in bare:
            tree = bare[place]
        elif place in beside:
            tree = {"Envelope": {**envelope, "Body": {}, **beside[place], **graph}}
        else:
            tree = {"Envelope": {**envelope, "Body": bodies[place], **graph}}
        return ways.change("fault", tree, self, fault)

    def encode(self, tree):
        """The bytes of a message that goes out."""
        return self.ways.change("bytes", json.encode(tree, self.style), self)


STANDARD_CODES = frozenset(
    "amp:" + name for name in ("MustUnderstand", "VersionMismatch", "Sender", "Receiver", "TTLExpired", "InvalidMemoryGram")
)
FAULT_PLACES = (
    "/Envelope/Body/fault/code/value /Envelope/Body/fault/code /Envelope/Body/Fault/code/value /Envelope/Body/Fault/code "
    "/Envelope/Body/Fault/Code/Value /Envelope/Body/Fault/Code /Envelope/Fault/code/value /Envelope/Fault/code "
    "/Envelope/fault/code/value /Envelope/fault/code /Body/fault/code/value /Body/fault/code /fault/code/value /fault/code "
    "/Fault/code/value /Fault/code /error/code /faultCode /code"
).split()


def fault_code(tree):
    """The code of a fault that another node made, or None: section 4 of the binding."""
    for pointer in FAULT_PLACES:
        for value in _values(tree, pointer.split("/")[1:]):
            if isinstance(value, str):
                return value
    return _deep_code(tree)


def _values(value, names):
    """The values at a pointer; one that meets an array takes its elements."""
    if isinstance(value, list):
        for item in value:
            yield from _values(item, names)
    elif not names:
        yield value
    elif isinstance(value, dict) and names[0] in value:
        yield from _values(value[names[0]], names[1:])


def _deep_code(value):
    if isinstance(value, dict):
        for name, item in value.items():
            if isinstance(item, str) and item in STANDARD_CODES and ("code" in name.lower() or name.lower() == "error"):
                return item
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        found = _deep_code(item)
        if found:
            return found
    return None


def looks_like_graph(value):
    return isinstance(value, dict) and bool(set(value) & {"nodes", "edges"})


def new_id():
    return f"peer-{uuid.uuid4()}"

"""Typical bugs of mesh nodes, one at a time. Each names the requirements that it breaks, at least one of which has to fail.

A bug is
- a rule that is left out (`skip`), or answered with another code (`codes`, by the beginning of the name of the rule),
- a step that runs at another time (`moved`: the step, and the one that it follows),
- a change to something that comes in or goes out (`place`, `change`),
- or a place in the peer that checks `bug(name)`.

`side`: where it shows (`receiver`, `relay`, `chain` or `any`). `profile`: a lenient run need not detect `strict` ones.
`binding`: it stands under this or nearly this name in section 12 of the binding; the others were made up for the peers.
"""

import copy as copies
import re
import unicodedata
from dataclasses import dataclass, field

import mesh_graph as graphs
import mesh_json as json
from mesh_json import Number
from mesh_node import NEXT, RELAY, member, new_id


@dataclass(frozen=True)
class Mutant:
    name: str
    about: str
    breaks: tuple
    side: str = "any"
    profile: str = "lenient"
    binding: bool = False
    needs: tuple = ()
    skip: tuple = ()
    codes: dict = field(default_factory=dict)
    moved: tuple = ()
    place: str = ""
    change: object = None
    arguments: tuple = ()
    target: dict = field(default_factory=dict)
    slow: bool = False

    def row(self):
        return {
            "name": self.name, "about": self.about, "breaks": list(self.breaks), "side": self.side, "profile": self.profile,
            "binding": self.binding, "needs": list(self.needs), "arguments": list(self.arguments), "target": self.target,
            "slow": self.slow,
        }  # fmt: skip


MUTANTS = {}


def bug(name, about, breaks, **more):
    assert name not in MUTANTS, name
    MUTANTS[name] = Mutant(name, about, tuple("MESH-" + b for b in breaks.split()), **more)


def skip(name, rules, about, breaks, **more):
    bug(name, about, breaks, skip=tuple(rules.split()), **more)


def code(name, rules, wrong, about, breaks, **more):
    bug(name, about, breaks, codes={r: wrong for r in rules.split()}, **more)


def changed(place, name, about, breaks, **more):
    """The function returns the new value, or None for no change."""

    def keep(function):
        bug(name, about, breaks, place=place, change=function, **more)
        return function

    return keep


OLD = {"binding": True}
STRICT = {"profile": "strict"}
AT_RELAY = {"side": "relay"}
AT_RECEIVER = {"side": "receiver"}
REPLY = {"side": "receiver", "needs": ("answer-reply",)}

# --- Structure (section 2) --------------------------------------------------------------------------------------------

@changed("inbound", "envelope-optional", "Takes the components from the top level when Envelope is missing.", "2-01", **OLD)
def _(message, node, _):
    if isinstance(message, dict) and "Envelope" not in message and "Header" in message:
        return {"Envelope": message}


@changed("inbound", "envelope-null-taken", "Takes Envelope null for an empty envelope with defaults.", "2-02", **OLD)
def _(message, node, _):
    if isinstance(message, dict) and message.get("Envelope", 1) is None:
        return {"Envelope": base_of()}


@changed("inbound", "envelope-string-parsed", "Takes an Envelope that is a string or a number for an empty one with defaults.", "2-02")
def _(message, node, _):
    if isinstance(message, dict) and isinstance(message.get("Envelope"), (str, Number)):
        return {"Envelope": base_of()}


@changed("inbound", "component-names-ignore-case", "Matches component names without regard to case.", "2-08", **OLD)
def _(message, node, _):
    names = {n.lower(): n for n in ("Envelope", "Header", "Body", "MemoryGram")}
    if not isinstance(message, dict):
        return None
    outer = {names.get(k.lower(), k): v for k, v in message.items()}
    if isinstance(outer.get("Envelope"), dict):
        outer["Envelope"] = {names.get(k.lower(), k): v for k, v in outer["Envelope"].items()}
    return outer if outer != message else None


@changed("inbound", "memorygrams-taken-for-memorygram", "Takes MemoryGrams as another name of MemoryGram.", "2-08")
def _(message, node, _):
    envelope = message.get("Envelope") if isinstance(message, dict) else None
    if isinstance(envelope, dict) and "MemoryGrams" in envelope:
        return {**message, "Envelope": {**{k: v for k, v in envelope.items() if k != "MemoryGrams"}, "MemoryGram": envelope["MemoryGrams"]}}


def base_of():
    header = {"messageId": new_id(), "traceId": new_id(), "roles": [], "routingIntent": "direct", "ttl": Number(8)}
    return {"Header": header, "Body": {"task": "echo", "expectedOutput": []}, "MemoryGram": {"nodes": [], "edges": []}}


skip("header-missing-defaulted", "header-missing", "Makes up a Header when there is none.", "2-03", **OLD)
skip("body-missing-defaulted", "body-missing", "Processes an empty task when Body is missing.", "2-05", **OLD)
skip("memorygram-optional", "memorygram-missing", "Takes a missing MemoryGram for an empty one.", "2-06 4.7-11", **OLD)
skip("memorygram-any-type", "memorygram-type", "Takes any JSON as MemoryGram.", "2-07", **OLD)
bug("graph-null-taken", "Takes MemoryGram null.", "2-07")
bug("graph-array-taken", "Takes an array as MemoryGram.", "2-07")
skip("body-any-type", "body-type", "Takes a string or an array as Body.", "4.5-02", side="relay", **OLD)
bug("body-null-taken", "Takes Body null for an empty task.", "4.5-02")
bug("header-null-as-empty", "Takes Header null for an empty object and fills in defaults.", "2-04", **OLD)
bug("empty-array-as-object", "Takes an empty array for an empty object, as PHP does.", "4.5-02")
bug("member-order-required", "Expects Header, Body and MemoryGram in this order.", "4.8.2.1-25", **OLD)
bug("array-of-messages-taken", "Takes an array as a batch and processes its first message.", "4.9-12", **OLD)
code("malformed-as-receiver", "not-json not-an-object no-envelope envelope-type", "amp:Receiver", "Input that is not a message is the receiver's error.", "4.9-11 4.9-12 2-01")
code("missing-component-as-receiver", "header-missing body-missing memorygram-missing", "amp:Receiver", "A missing component is the receiver's error.", "2-03 2-05 2-06 4.9-13")
code("graph-fault-for-any-component", "header-missing body-missing", "amp:InvalidMemoryGram", "amp:InvalidMemoryGram for a missing Header or Body.", "2-03 2-05")

# --- Header fields (section 2.1) --------------------------------------------------------------------------------------

skip("message-id-filled-in", "messageId-missing", "Makes up a messageId when there is none.", "2.1-01 4.7-13", **OLD)
skip("message-id-any-type", "messageId-type", "Does not look at the type of messageId.", "2.1-02")
bug("fields-coerced", "Takes numbers where strings are required.", "2.1-02 2.1-05 2.1-12", **OLD)
bug("null-fields-taken", "Takes null for any required header field but ttl.", "2.1-02 2.1-05 2.1-08 2.1-12")
bug("empty-containers-as-absent", "Takes [] and {} for an absent id and makes one up.", "2.1-02 2.1-05")
skip("trace-id-unchecked", "traceId-missing", "Does not look for traceId.", "2.1-04 4.7-13", **OLD)
skip("trace-id-any-type", "traceId-type", "Does not look at the type of traceId.", "2.1-05", **OLD)
skip("roles-unchecked", "roles-missing", "Does not look for roles.", "2.1-07 4.7-13", **OLD)
skip("roles-any-type", "roles-type", "Takes a string, an object or a number as roles.", "2.1-08", **OLD)
bug("actor-roles-must-be-uris", "Refuses planner because it is not a URI.", "2.1-09", **OLD)
bug("actor-roles-closed-list", "Knows planner and vendor only.", "2.1-09", **STRICT)
skip("routing-intent-defaulted", "routingIntent-missing", "Uses direct when routingIntent is missing.", "2.1-11 4.7-13", **OLD)
skip("routing-intent-any-type", "routingIntent-type", "Takes routingIntent of any type.", "2.1-12", **OLD)
skip("ttl-missing-is-endless", "ttl-missing", "A missing ttl means no limit.", "2.1-13 4.7-13", **OLD)
bug("ttl-parsed-from-string", "Takes ttl \"5\".", "2.1-14", **OLD)
bug("ttl-float-truncated", "Takes ttl 1.5 as 1.", "2.1-14", needs=("ttl-one-delivered",), side="receiver", **OLD)
bug("ttl-boolean-as-number", "Takes ttl true for a number.", "2.1-14", **OLD)
skip("ttl-any-type", "ttl-type", "Takes a ttl that is not a number for no limit.", "2.1-14")
skip("encryption-any-type", "encryption-type", "Takes encryption of any type.", "2.1-16", **OLD)
bug("encryption-required", "Refuses messages without encryption.", "2.1-15 4.9-01", **OLD)
bug("encryption-members-closed", "Knows only type in encryption.", "SEC-08")
bug("message-id-must-be-ascii-word", "Refuses a messageId with spaces, quotes or characters beyond ASCII.", "4.8.2-06", **AT_RELAY)
bug("message-id-at-most-40", "Refuses a messageId of more than 40 characters.", "4.8.2-06", **AT_RELAY)
bug("delegate-refused-by-receiver", "The receiver cannot delegate.", "1.6-02 1.5-01", side="receiver")
bug("broadcast-refused", "Takes direct and delegate only.", "1.6-02", **OLD)
bug("unknown-intent-refused", "Knows three routingIntent words.", "EXT-01", profile="strict", **OLD)
bug("unknown-header-member-refused", "Closed schema of Header.", "4.8.2.1-19", **OLD)
code("must-understand-for-missing-fields", "messageId-missing", "amp:MustUnderstand", "amp:MustUnderstand for a missing messageId.", "4.10-02 4.9-13 2.1-01", **OLD)
code("version-mismatch-for-missing-fields", "traceId-missing", "amp:VersionMismatch", "amp:VersionMismatch for a missing traceId.", "4.10-03 4.9-13 2.1-04", **OLD)
code("wrong-types-as-receiver", "messageId-type traceId-type roles-type routingIntent-type ttl-type", "amp:Receiver", "A header field of a wrong type is the receiver's error.", "2.1-02 2.1-08 4.9-13")
code("ttl-type-as-expired", "ttl-type ttl-fraction ttl-missing", "amp:TTLExpired", "amp:TTLExpired for a ttl that is not an integer or not there.", "2.1-13 2.1-14 4.10-06")
code("encryption-type-as-receiver", "encryption-type", "amp:Receiver", "encryption of a wrong type is the receiver's error.", "2.1-16")

# --- Version (section 4.9) --------------------------------------------------------------------------------------------

skip("version-ignored", "version", "Never looks at the version.", "4.9-07 4.9-08", **OLD)
bug("version-99-only", "Knows only that 99.0 is not supported.", "4.9-07")
bug("version-compared-as-number", "Looks only at versions that are numbers.", "4.9-07")
bug("version-required", "A message without version gets amp:VersionMismatch.", "4.9-01", **OLD)
bug("version-member-refused", "Refuses version as an unknown member.", "4.9-02", **OLD)
bug("version-sticky", "Refuses the message after one of another version too.", "4.9-03", **OLD)
bug("version-number-taken", "Takes version 1.0 as a number.", "4.9-09", profile="strict", **OLD)
skip("version-any-type", "version-type", "Ignores a version that is not a string.", "4.9-09", **STRICT)
code("version-as-sender", "version", "amp:Sender", "amp:Sender for an unsupported version.", "4.9-07")
bug("version-checked-last", "Looks at the version after everything else.", "4.9-10", profile="strict", moved=("version", "graph"), **OLD)


@changed("inbound", "version-found-anywhere", "Takes the first member version at any depth.", "4.9-04", **OLD)
def _(message, node, _):
    envelope = message.get("Envelope") if isinstance(message, dict) else None
    header = envelope.get("Header") if isinstance(envelope, dict) else None
    if isinstance(header, dict) and "version" not in header:
        for value in objects_in(envelope):
            if isinstance(value.get("version"), str):
                return {**message, "Envelope": {**envelope, "Header": {**header, "version": value["version"]}}}


@changed("inbound", "version-of-body-taken", "Takes Body.version for the version of the message.", "4.9-04")
def _(message, node, _):
    version, header = member(message, "Body", "version"), member(message, "Header")
    if isinstance(version, str) and isinstance(header, dict) and "version" not in header:
        return {**message, "Envelope": {**message["Envelope"], "Header": {**header, "version": version}}}


def objects_in(value):
    """All objects in a value."""
    if isinstance(value, dict):
        yield value
        for item in value.values():
            yield from objects_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from objects_in(item)


# --- ttl (sections 4.7 step 4, 4.8.2) ---------------------------------------------------------------------------------

bug("ttl-checked-before-decrement", "Tests for zero, then lowers, and forwards a copy with ttl 0.", "4.7-16", side="relay", **OLD)
bug("ttl-expires-at-two", "Refuses ttl 2.", "4.7-20", **OLD)
bug("ttl-equals-zero-only", "Tests the lowered value for equality with zero.", "4.7-18 4.7-19", **OLD)
bug("ttl-zero-only", "Lets a negative ttl through.", "4.7-19")
bug("ttl-absolute", "Takes the absolute value of ttl.", "4.7-19")
skip("ttl-never-checked", "ttl-expired ttl-zero ttl-negative", "Forwards and delivers whatever the ttl.", "4.7-16 4.7-18 4.10-06")
skip("ttl-zero-is-endless", "ttl-zero", "ttl 0 means no limit.", "4.7-18 4.10-06")
bug("ttl-not-lowered-at-receiver", "The receiver leaves ttl alone, and reports it.", "4.7-15", side="library", **OLD)
bug("receiver-delivers-ttl-one", "The receiver delivers ttl 1.", "4.7-17", side="receiver", profile="strict", **OLD)
code("expired-as-sender", "ttl-expired", "amp:Sender", "amp:Sender for ttl 1 at the relay.", "4.7-16 4.10-04 4.10-06", side="relay", **OLD)
code("expired-as-receiver", "ttl-expired ttl-zero", "amp:Receiver", "amp:Receiver for an expired ttl.", "4.7-16 4.7-18 4.10-06")
bug("ttl-checked-after-blocks", "amp:MustUnderstand for an expired message.", "4.7-06 4.7-01", moved=("ttl", "understand"), **OLD)
bug("ttl-checked-before-structure", "amp:TTLExpired for a message without Body or traceId.", "4.7-02 4.7-04", moved=("ttl", "envelope"), **OLD)
bug("ttl-checked-before-header", "amp:TTLExpired for a message without traceId.", "4.7-04 4.7-01", moved=("ttl", "components"))
bug("blocks-checked-before-header", "amp:MustUnderstand before missing header fields.", "4.7-05", moved=("understand", "components"), **OLD)
bug("blocks-checked-before-components", "amp:MustUnderstand before a missing MemoryGram.", "4.7-03", moved=("understand", "envelope"))
bug("memorygram-checked-first", "Validates the MemoryGram before the header.", "4.7-07 4.7-08", profile="strict", moved=("graph", "components"), **OLD)
bug("graph-checked-before-blocks", "Validates the MemoryGram before the blocks are understood.", "4.7-07", profile="strict", moved=("graph", "ttl"))
bug("body-processed-before-blocks", "Processes the body before the blocks are understood.", "4.7-25", side="receiver", moved=("work", "blocks"), **OLD)
bug("body-before-ttl", "Processes the body before it looks at ttl.", "4.7-09", side="receiver", moved=("work", "header"), **OLD)
bug("body-before-memorygram", "Processes the body before it validates the MemoryGram.", "4.7-10", side="receiver", profile="strict", moved=("work", "understand"), **OLD)
bug("last-error-reported", "Collects errors and reports the last one.", "4.7-01 4.7-03 4.7-05", **OLD)


@changed("ttl", "ttl-wraps-at-32-bits", "Keeps ttl in 32 bits and lets it wrap.", "4.7-21 4.7-19", **OLD)
def _(value, node, _):
    wrapped = (value + 2**31) % 2**32 - 2**31
    return wrapped if wrapped != value else None


@changed("ttl", "ttl-capped-at-255", "Lowers any larger ttl to 255.", "4.7-21", **AT_RELAY)
def _(value, node, _):
    return 255 if value > 255 else None


@changed("ttl", "ttl-through-doubles", "Keeps ttl as binary64.", "4.7-21", side="relay", profile="strict")
def _(value, node, _):
    return int(float(value)) if abs(value) > 2**53 and abs(value) < 10**300 else None


@changed("ttl", "ttl-in-16-bits", "Cuts ttl to 16 bits.", "4.7-21")
def _(value, node, _):
    return value % 65536 if value > 65535 else None


@changed("ttl", "ttl-unsigned", "Takes a negative ttl for a large one.", "4.7-19")
def _(value, node, _):
    return value + 2**32 if value < 0 else None


def in_header(change):
    """A change to the Header of the copy."""

    def apply(message, node, inbound):
        header = member(message, "Header")
        if isinstance(header, dict):
            return message if change(header, member(inbound, "Header"), node) is not False else None
        return None

    return apply


def copied(name, about, breaks, change, **more):
    bug(name, about, breaks, place="copy", change=change, **{"side": "relay", **more})


copied("ttl-not-decremented", "Forwards the inbound ttl.", "4.8.2-03", in_header(lambda h, i, n: h.update(ttl=i["ttl"])), **OLD)
copied("ttl-decremented-twice", "Lowers ttl on receipt and again on forwarding.", "4.8.2-03", in_header(lambda h, i, n: h.update(ttl=Number(h["ttl"].whole() - 1))), **OLD)
copied("ttl-incremented", "Counts the hops upwards.", "4.8.2-03", in_header(lambda h, i, n: h.update(ttl=Number(i["ttl"].whole() + 1))))
copied("ttl-reset", "Forwards with a ttl of its own.", "4.8.2-03", in_header(lambda h, i, n: h.update(ttl=Number(16))))
copied("ttl-written-as-float", "Writes the lowered ttl as 7.0.", "2.1-17", in_header(lambda h, i, n: h.update(ttl=Number(f"{h['ttl'].text}.0"))), **OLD)
copied("ttl-written-as-string", "Writes the lowered ttl as a string.", "2.1-17 4.8.2-03", in_header(lambda h, i, n: h.update(ttl=h["ttl"].text)))
copied("ttl-written-with-exponent", "Writes ttl 100 as 9.9e1.", "2.1-17 4.8.2-03", in_header(lambda h, i, n: h.update(ttl=Number(f"{h['ttl'].text[0]}.{h['ttl'].text[1:]}e{len(h['ttl'].text) - 1}")) if len(h["ttl"].text) == 2 else False))
copied("hops-left-beside-ttl", "Writes the lowered value into hopsLeft and leaves ttl.", "4.8.2-03", in_header(lambda h, i, n: h.update(hopsLeft=h["ttl"], ttl=i["ttl"])))

# --- Header blocks (sections 4.2 to 4.4) ------------------------------------------------------------------------------

bug("must-understand-ignored", "Skips blocks of unknown type, mandatory or not.", "4.4-03 4.4-04 4.4-05", skip=("must-understand",), **OLD)
bug("must-understand-first-block-only", "Looks at the first block only.", "4.3-08 4.7-22", **OLD)
bug("must-understand-last-block-only", "Looks at the last block only.", "4.3-08 4.7-22")
bug("must-understand-first-five", "Looks at the first five blocks only.", "4.7-22")
bug("must-understand-next-only", "Finds mandatory blocks for next only.", "4.7-22 4.3-02", **OLD)
bug("must-understand-any-role", "Faults on unknown mandatory blocks for other nodes.", "4.4-06 4.3-03 4.2-05", **OLD)
bug("must-understand-by-default", "Takes an absent mustUnderstand as true.", "4.4-08", **OLD)
bug("must-understand-false-as-true", "Looks only whether mustUnderstand is there.", "4.4-07")
bug("must-understand-excused-by-relay", "relay true turns off the fault.", "4.8.1-07", **OLD)
bug("relayable-kept-unknown", "The relay passes on unknown mandatory blocks that are relayable.", "4.8.1-07", **AT_RELAY)
bug("receiver-relay-excuse", "The receiver does not fault on mandatory blocks with relay true.", "4.8.1-09", side="receiver", **OLD)
bug("mandatory-always-faults", "Faults on every mandatory block.", "4.4-02 4.7-27", **OLD)
bug("unknown-block-always-faults", "Faults on every unknown block for the node.", "4.4-07", **OLD)
bug("one-known-block-satisfies", "One known mandatory block is enough.", "4.3-08")
bug("same-type-looked-at-once", "Looks at the first block of each type only.", "4.4-03 4.4-04", side="any", **STRICT)
code("must-understand-wrong-code", "must-understand", "amp:Sender", "amp:Sender for a block that is not understood.", "4.4-04", **OLD)
code("must-understand-as-receiver", "must-understand", "amp:Receiver", "amp:Receiver for a block that is not understood.", "4.4-04")
code("must-understand-own-code", "must-understand", "peer:NotUnderstood", "A code of its own for a block that is not understood.", "4.4-04")
bug("must-understand-after-forward", "Forwards, then reports amp:MustUnderstand.", "4.7-24 4.7-31", side="relay", **OLD)
bug("blocks-processed-one-by-one", "Processes known blocks before it has looked at all of them.", "4.4-03", **OLD)
bug("unknown-type-learnt", "Understands a block type once it has seen it.", "4.4-03 4.4-04 4.4-05")
bug("types-ignore-case", "Compares block types without regard to case.", "4.3-05 4.4-04")
bug("types-by-prefix", "Understands every type that begins like one of its own.", "4.4-04 4.4-05")
bug("next-not-assumed-at-receiver", "The receiver does not act in next.", "4.2-04", side="receiver", **OLD)
bug("next-not-assumed-at-relay", "The relay does not act in next.", "4.2-03", side="relay", **OLD)
bug("next-as-short-word", "Compares the role with the word next.", "4.2-03 4.2-04", **OLD)
bug("none-role-assumed", "Acts in none.", "4.2-05 4.3-09", **OLD)
bug("ultimate-role-at-relay", "The relay acts in ultimateReceiver.", "4.2-07 4.8.1-17", side="relay", **OLD)
bug("ultimate-role-missing", "The receiver does not act in ultimateReceiver.", "4.2-06", side="receiver", **OLD)
bug("assumed-role-forgotten", "Does not act in its user-defined role.", "4.3-02")
bug("own-uri-is-a-role", "Acts in a role that it was not given.", "4.3-03")
bug("role-prefix-match", "Compares the beginning of a role.", "4.3-03 4.8.1-15", **OLD)
bug("role-substring-match", "Acts in a role that contains one of its own.", "4.3-03 4.8.1-15")
bug("roles-remembered", "Acts in every role that it has seen.", "4.3-03 4.8.1-15 4.2-08 4.2-01")
bug("roles-change-while-processing", "Gives up its user-defined role after the first block.", "4.2-01", side="relay", **OLD)
bug("header-roles-as-block-roles", "Acts in every role that Header.roles names.", "2.1-10", profile="strict", **OLD)
bug("roleless-is-next", "Takes a block without role for one for next.", "4.3-04 4.3-12", side="relay")
bug("role-name-ignores-case", "Reads the member Role.", "4.3-04", side="relay", **OLD)
bug("role-read-from-actor", "Reads the member actor where role is missing.", "4.3-04", side="relay")
bug("type-read-from-name", "Reads the type from name or Type.", "4.3-05", **OLD)
bug("content-read-beside-block", "Reads the parameters from the block instead of its content.", "4.3-06", **OLD)
bug("block-members-closed", "Refuses blocks with unknown members.", "4.8.2.1-24", **OLD)
bug("block-needs-relay", "Refuses blocks without relay.", "4.8.1-10 4.4-08", **OLD)
bug("block-needs-role", "Refuses blocks without role.", "4.3-01")
bug("closed-role-list", "Refuses blocks with roles that it does not know.", "4.2-08 4.3-01", **OLD)
bug("block-content-required", "Refuses blocks without content.", "4.4-08 4.3-01 4.2-08")
bug("blocks-of-one-type-refused", "Refuses two blocks of one type.", "4.7-34 4.3-08")
bug("at-most-eight-blocks", "Refuses more than eight blocks.", "4.7-22")
bug("headers-array-required", "Refuses messages without the array of blocks.", "2.1-15 4-01 4.9-01 4.7-30")
bug("empty-headers-array-refused", "Refuses an empty array of blocks.", "4.8.2.1-06 4.3-08")
skip("blocks-any-type", "blocks-type", "Ignores a value that is not an array.", "4.3-08", **STRICT)
skip("typeless-blocks-ignored", "block-typeless", "Ignores blocks without type.", "4.3-05", **STRICT)
bug("blocks-under-other-name", "Reads and writes blocks in headerBlocks.", "4.8.2.1-17", profile="strict", **OLD)
bug("failing-block-swallowed", "Goes on after a failing block.", "4.7-27 4.7-33 4.7-45", **OLD)
bug("failing-never", "Does not fail a failing block.", "4.7-27 4.7-45 4.7-33")
bug("failing-by-presence", "Fails a block when the member fail is there.", "4.3-06 4.7-27 4.7-33")
bug("failing-remembered", "Fails the blocks after a failing one too.", "4.7-34 4.7-33 4.3-06 4.7-27")
bug("optional-failure-only", "A failing mandatory block is passed over.", "4.7-27 4.7-45")
code("failing-as-must-understand", "block-fails", "amp:MustUnderstand", "amp:MustUnderstand for a failing block.", "4.10-05 4.10-02")
code("internal-failure-as-sender", "block-fails", "amp:Sender", "amp:Sender for a failing block.", "4.10-05", profile="strict", **OLD)
code("failing-as-expired", "block-fails", "amp:TTLExpired", "amp:TTLExpired for a failing block.", "4.10-05 4.10-06")
bug("same-type-once", "Processes the first block of a type only.", "4.7-34", **OLD)
bug("last-block-decides", "The last block overwrites earlier failures.", "4.7-41 4.7-34", **OLD)
bug("receiver-skips-own-blocks", "The receiver does not process blocks for ultimateReceiver.", "4.8.1-16", side="receiver", **OLD)

# --- Forwarding of blocks (section 4.8.1) -----------------------------------------------------------------------------

for _name, _about, _breaks, _more in (
    ("none-blocks-stripped", "Removes blocks for none.", "4.3-11 4.8.1-18", OLD),
    ("ultimate-blocks-stripped", "Removes blocks for ultimateReceiver.", "4.8.1-17 4.8.2.1-13", OLD),
    ("relay-needed-for-others", "Removes blocks for other roles unless relay is true.", "4.8.1-06 4.8.1-15", OLD),
    ("mandatory-blocks-of-others-stripped", "Removes mandatory blocks for other nodes.", "4.3-03 4.8.1-15", {}),
    ("roleless-block-dropped", "Removes blocks without role.", "4.3-12", {**OLD, **STRICT}),
    ("processed-block-kept", "Leaves processed blocks in the copy.", "4.8.1-03 4.8.1-11 4.8.2-07", OLD),
    ("processed-block-kept-if-relay", "Leaves a processed block in when relay is true.", "4.8.1-08", OLD),
    ("optional-known-block-kept", "Leaves known blocks in that are not mandatory.", "4.7-29 4.8.2-07", OLD),
    ("ignored-block-kept", "Leaves ignored blocks in.", "4.8.1-04 4.8.1-12 4.8.2-08", OLD),
    ("second-ignored-block-kept", "Leaves the second of two neighbouring ignored blocks in.", "4.8.2-08", {}),
    ("relayable-block-dropped", "Removes every ignored block.", "4.8.1-05 4.8.1-12 4.8.2-09", OLD),
    ("unknown-block-called-processed", "Counts unknown blocks as processed.", "4.7-32 4.8.1-05", OLD),
    ("relay-honoured-for-next-only", "Removes relayable ignored blocks for its user-defined role.", "4.8.1-14", OLD),
    ("relay-true-by-default", "Takes an absent relay as true.", "4.8.1-10", OLD),
    ("reinsert-forgotten", "Never puts a reinserting block back.", "4.8.1-01 4.8.1-13", OLD),
    ("reinsert-clears-flag", "Puts a reinserting block back without its flag.", "4.8.1-01 4.7-33", {}),
    ("reinsert-content-emptied", "Puts a reinserting block back without its content.", "4.8.1-01 4.7-33", {}),
    ("reinsert-needs-relay", "Puts a reinserting block back only if it is relayable.", "4.8.1-01 4.8.1-11", {}),
    ("removal-skips-neighbour", "Removes blocks while walking the array, and misses neighbours.", "4.8.2-08", OLD),
    ("empty-headers-array-removed", "Removes the array of blocks when it is empty.", "4.8.2.1-01 4.8.2.1-06", {}),
):
    bug(_name, _about, _breaks, side="relay", **_more)


def kept(name, about, breaks, change, **more):
    bug(name, about, breaks, place="kept-block", change=change, side="relay", **more)


FIVE = ("type", "role", "mustUnderstand", "relay", "content")
kept("block-members-rebuilt", "Forwards kept blocks with the five known members.", "4.8.2.1-04", lambda b, n, _: {k: v for k, v in b.items() if k in FIVE} if set(b) - set(FIVE) else None, **OLD)
kept("must-understand-cleared", "Sets mustUnderstand false in kept blocks.", "4.8.2.1-21", lambda b, n, _: {**b, "mustUnderstand": False} if "mustUnderstand" in b else None, **OLD)
kept("relay-cleared", "Sets relay false in kept blocks.", "4.8.2.1-22", lambda b, n, _: {**b, "relay": False} if "relay" in b else None, **OLD)
kept("relay-set", "Sets relay true in kept blocks.", "4.8.2.1-22 4.8.1-06", lambda b, n, _: {**b, "relay": True} if b.get("relay") is False else None)
kept("must-understand-set", "Sets mustUnderstand true in kept blocks.", "4.8.2.1-21 4.8.1-15", lambda b, n, _: {**b, "mustUnderstand": True} if b.get("mustUnderstand") is False else None)
kept("flags-written-as-strings", "Writes flags as strings in kept blocks.", "4.3-07", lambda b, n, _: {k: str(v).lower() if isinstance(v, bool) else v for k, v in b.items()}, **OLD)
kept("flags-written-as-numbers", "Writes flags as 0 and 1 in kept blocks.", "4.3-07 4.8.2.1-21", lambda b, n, _: {k: Number(int(v)) if isinstance(v, bool) else v for k, v in b.items()})
kept("role-dropped-from-kept-blocks", "Leaves role out of kept blocks.", "4.8.2.1-20 4.8.2.1-04", lambda b, n, _: {k: v for k, v in b.items() if k != "role"} if "role" in b else None, **OLD)
kept("role-retargeted", "Retargets kept blocks at next.", "4.8.2.1-20 4.8.1-15", lambda b, n, _: {**b, "role": NEXT} if "role" in b else None)
kept("ultimate-role-dropped", "Leaves the role ultimateReceiver out of kept blocks.", "4.8.2.1-20", lambda b, n, _: {k: v for k, v in b.items() if k != "role"} if str(b.get("role")).endswith("ultimateReceiver") else None)
kept("content-flattened", "Writes nested content as a string.", "4.8.2.1-04", lambda b, n, _: {**b, "content": {k: json.write(v) if isinstance(v, (dict, list)) else v for k, v in b["content"].items()}} if isinstance(b.get("content"), dict) else None)
kept("short-role-written", "Writes the role none in short form.", "4.2-02 4.8.2.1-20", lambda b, n, _: {**b, "role": "none"} if str(b.get("role")).endswith(":none") else None)


def with_blocks(change):
    def apply(message, node, inbound):
        place = node.place(message)
        if place and isinstance(place[0][place[1]], list):
            return message if change(place[0][place[1]], node) is not False else None
        return None

    return apply


def always_blocks(change):
    def apply(message, node, inbound):
        header = member(message, "Header")
        change(header.setdefault("headers", []), node)
        return message

    return apply


copied("added-block-malformed", "Adds an audit block without type.", "4.8.2.1-16", always_blocks(lambda b, n: b.append({"role": NEXT, "content": {}})), **OLD)
copied("added-block-without-flags-type", "Adds a block with flags as strings.", "4.8.2.1-16 4.3-07", always_blocks(lambda b, n: b.append({"type": "urn:peer:audit", "mustUnderstand": "false"})))
copied("added-block-with-short-role", "Adds a block for the role next in short form.", "4.2-02 4.8.2.1-16", always_blocks(lambda b, n: b.append({"type": "urn:peer:audit", "role": "next"})), **OLD)
copied("added-block-as-string", "Adds a block that is a string.", "4.8.2.1-16", always_blocks(lambda b, n: b.append("audit")))
copied("blocks-doubled", "Forwards each kept block twice.", "4.8.2-09 4.8.1-05 4.8.2.1-13", with_blocks(lambda b, n: b.extend(copies.deepcopy(b)) if b else False))
copied("blocks-deduplicated", "Forwards one of several kept blocks of one type.", "4.8.2-09 4.8.2.1-13 4.8.1-06", with_blocks(lambda b, n: b.__setitem__(slice(None), list({repr(x.get("role")): x for x in b}.values())) if len(b) > 1 else False))
copied("at-most-three-blocks-kept", "Forwards at most three blocks.", "4.8.2-09 4.8.2.1-13", with_blocks(lambda b, n: b.__delitem__(slice(3, None)) if len(b) > 3 else False))
copied("blocks-sorted-by-type", "Forwards the blocks sorted by type.", "4.8.2.1-07", with_blocks(lambda b, n: b.sort(key=lambda x: str(x.get("type")), reverse=True) if len(b) > 1 else False), **STRICT)

# --- Copies: ids, header, preservation (sections 4.8.2 and 4.8.2.1) ----------------------------------------------------

copied("message-id-renewed", "Gives the copy a new messageId.", "4.8.2-06", in_header(lambda h, i, n: h.update(messageId=new_id())), **OLD)
copied("message-id-suffixed", "Appends the hop to messageId.", "4.8.2-06", in_header(lambda h, i, n: h.update(messageId=h["messageId"] + "-1")))
copied("message-id-lower-case", "Writes messageId in upper case.", "4.8.2-06", in_header(lambda h, i, n: h.update(messageId=h["messageId"].upper())))
copied("message-id-trimmed", "Keeps only ASCII in messageId.", "4.8.2-06", in_header(lambda h, i, n: h.update(messageId=h["messageId"].encode("ascii", "ignore").decode())))
for _name, _about, _breaks, _more in (
    ("trace-id-replaced", "Gives the copy an unrelated traceId.", "4.8.2-05", OLD),
    ("trace-id-untouched", "Forwards the traceId as it came.", "4.8.2-04", {**OLD, **STRICT}),
    ("trace-id-cut", "Cuts the traceId at 24 characters.", "4.8.2-05", {}),
    ("trace-id-hashed", "Replaces the traceId by a hash of it.", "4.8.2-05", {}),
    ("trace-id-lower-case", "Writes the old traceId in upper case.", "4.8.2-05", {}),
    ("trace-id-spaces-removed", "Removes hyphens from the traceId.", "4.8.2-05", {}),
    ("trace-id-of-first-message", "Keeps the traceId of the first message.", "4.8.2-05", {}),
):
    bug(_name, _about, _breaks, side="relay", **_more)

REQUIRED = ("messageId", "traceId", "roles", "routingIntent", "ttl")
copied("header-rebuilt-from-known-fields", "Drops unknown Header members.", "4.8.2.1-01", in_header(lambda h, i, n: [h.pop(k) for k in set(h) - {*REQUIRED, "encryption", "headers", "version"}]), **OLD)
copied("version-member-dropped", "Drops Header.version.", "4.9-02 4.8.2.1-01", in_header(lambda h, i, n: h.pop("version") if "version" in h else False))
copied("encryption-entry-dropped", "Forwards without the encryption entry.", "4.8.2.1-05 SEC-07 SEC-08 1.5-02", in_header(lambda h, i, n: h.pop("encryption") if "encryption" in h else False), **OLD)
copied("encryption-reduced-to-type", "Keeps only type of the encryption entry.", "SEC-08 4.8.2.1-05", in_header(lambda h, i, n: h.update(encryption={"type": h["encryption"].get("type")}) if isinstance(h.get("encryption"), dict) else False))
copied("encryption-claimed", "Adds an encryption entry of its own.", "2.1-15 4.8.2.1-05", in_header(lambda h, i, n: h.setdefault("encryption", {"type": "none"})))
copied("roles-deduplicated", "Sorts roles and removes repeats.", "4.8.2.1-05 4.8.2.1-07", in_header(lambda h, i, n: h.update(roles=sorted(set(h["roles"]), key=str))), **OLD)
copied("roles-emptied", "Forwards without the roles of the sender.", "4.8.2.1-05", in_header(lambda h, i, n: h.update(roles=[])))
copied("own-role-appended", "Appends a role of its own to roles.", "4.8.2.1-05 1.5-02", in_header(lambda h, i, n: h["roles"].append("relay")))
copied("intent-consumed", "Forwards every message as direct.", "4.8.2.1-05 1.5-02", in_header(lambda h, i, n: h.update(routingIntent="direct")))
copied("trailing-header-string-number", "Turns Header strings of digits into numbers.", "4.8.2.1-01 4.8.2.1-06", in_header(lambda h, i, n: h.update({k: Number(v) for k, v in h.items() if isinstance(v, str) and v.isdigit()})))


def everywhere(change):
    """A change to each value of the copy; the traceId and ttl are changed already."""

    def walk(value):
        value = change(value)
        if isinstance(value, dict):
            return {k: walk(v) for k, v in value.items()}
        if isinstance(value, list):
            return [walk(v) for v in value]
        return value

    return lambda message, node, inbound: walk(message)


def objects(change):
    return everywhere(lambda v: change(v) if isinstance(v, dict) else v)


def strings(change):
    def one(value):
        return change(value) if isinstance(value, str) else value

    return everywhere(lambda v: one(v) if not isinstance(v, dict) else v)


def numbers(change):
    return everywhere(lambda v: change(v) if isinstance(v, Number) else v)


def single(number):
    """The value in a 32-bit float."""
    import struct

    if number.whole() is not None and abs(number.whole()) < 2**24:
        return number
    try:
        return Number(repr(struct.unpack("f", struct.pack("f", float(number.text)))[0]))
    except (OverflowError, struct.error):
        return number


def finite(number, change):
    value = number.decimal()
    return change(value) if value.is_finite() and abs(value.adjusted()) < 300 else number


copied("nulls-dropped", "Leaves null members out.", "4.8.2.1-06", objects(lambda o: {k: v for k, v in o.items() if v is not None}), **OLD)
copied("nulls-become-empty-text", "Writes null as an empty string.", "4.8.2.1-06", everywhere(lambda v: "" if v is None else v))
copied("empty-arrays-dropped", "Leaves empty arrays and objects out.", "4.8.2.1-06", objects(lambda o: {k: v for k, v in o.items() if v not in ([], {})}), **OLD)
copied("empty-strings-dropped", "Leaves empty strings out.", "4.8.2.1-06 4.8.2.1-08", objects(lambda o: {k: v for k, v in o.items() if v != ""}))
copied("empty-objects-as-arrays", "Writes empty objects as empty arrays.", "4.8.2.1-06", everywhere(lambda v: [] if v == {} else v))
copied("one-element-arrays-unwrapped", "Writes an array of one element as that element.", "4.8.2.1-06", objects(lambda o: {k: v[0] if isinstance(v, list) and len(v) == 1 and k not in ("headers", "nodes", "edges", "roles") else v for k, v in o.items()}))
copied("booleans-as-numbers", "Writes true and false as 1 and 0 in the context.", "4.8.2.1-06", lambda m, n, i: in_context(m, everywhere(lambda v: Number(int(v)) if isinstance(v, bool) else v)))
copied("strings-normalised", "Writes strings in composed form.", "4.8.2.1-08", strings(lambda s: unicodedata.normalize("NFC", s)), **OLD)
copied("strings-trimmed", "Trims strings.", "4.8.2.1-08", strings(lambda s: s.strip()))
copied("beyond-the-bmp-replaced", "Replaces characters beyond U+FFFF.", "4.8.2.1-08", strings(lambda s: re.sub("[\U00010000-\U0010ffff]", "\ufffd", s)))
copied("line-separators-replaced", "Writes U+2028 as a line feed.", "4.8.2.1-08", strings(lambda s: s.replace("\u2028", "\n")))
copied("control-characters-dropped", "Drops control characters from strings.", "4.8.2.1-08", strings(lambda s: re.sub("[\x00-\x1f]", "", s)))
copied("strings-html-escaped", "Writes < > & as entities.", "4.8.2.1-08 4.8.2.1-23", strings(lambda s: s.replace("&", "&amp;").replace('"', "&quot;")))
copied("backslashes-doubled", "Escapes a backslash twice.", "4.8.2.1-08", strings(lambda s: s.replace("\\", "\\\\")))
copied("numbers-through-single-precision", "Keeps numbers in 32-bit floats.", "4.8.2.1-09", numbers(single), **OLD)
copied("big-integers-through-doubles", "Loses digits above 2^53.", "4.8.2.1-09", numbers(lambda v: Number(int(float(v.text))) if v.plain and 2**53 < abs(int(v.text)) < 10**300 else v), profile="strict", **OLD)
copied("numbers-in-fixed-point", "Writes numbers with six digits.", "4.8.2.1-09", numbers(lambda v: v if v.plain else finite(v, lambda d: Number(f"{d:.6f}") if d.adjusted() < 30 else v)))
copied("integers-in-32-bits", "Cuts integers to 32 bits.", "4.8.2.1-09", numbers(lambda v: Number((int(v.text) + 2**31) % 2**32 - 2**31) if v.plain and len(v.text) < 30 else v))
copied("numbers-as-strings-when-large", "Writes large integers as strings.", "4.8.2.1-09 4.8.2.1-06", numbers(lambda v: v.text if v.plain and abs(int(v.text)) > 2**31 else v))
copied("infinity-as-null", "Writes 1e400 as null.", "4.8.2.1-09", numbers(lambda v: None if abs(v.decimal()) > 10**308 else v), **STRICT)
copied("names-with-dots-split", "Stores member names as paths.", "4.8.2.1-10", objects(lambda o: split_names(o)), **OLD)
copied("names-lower-case-in-context", "Writes names of the context in lower case.", "4.8.2.1-10 2.2-07", lambda m, n, i: in_context(m, objects(lambda o: {k.lower(): v for k, v in o.items()})))
copied("special-names-dropped", "Drops __proto__ and constructor.", "4.8.2.1-10", objects(lambda o: {k: v for k, v in o.items() if k not in ("__proto__", "constructor")}))
copied("empty-name-dropped", "Drops members with an empty name.", "4.8.2.1-10 2.2-07", objects(lambda o: {k: v for k, v in o.items() if k}))
copied("dollar-names-dropped", "Drops names that begin with a dollar sign, as a document store does.", "4.8.2.1-10", objects(lambda o: {k: v for k, v in o.items() if not k.startswith("$")}))
copied("names-with-slashes-decoded", "Decodes ~1 and ~0 in names.", "4.8.2.1-10", objects(lambda o: {k.replace("~1", "/").replace("~0", "~").replace("~", ""): v for k, v in o.items()}))
copied("lock-character-stripped", "Keeps only ASCII in names.", "SEC-04 4.8.2.1-10", objects(lambda o: {"".join(c for c in k if ord(c) < 128): v for k, v in o.items()}), **OLD)
copied("lock-with-variation-selector", "Writes a variation selector behind the lock character.", "SEC-04", objects(lambda o: {k.replace("\U0001f510", "\U0001f510\ufe0f"): v for k, v in o.items()}))
copied("encrypted-value-opened", "Replaces an encrypted value by a remark.", "SEC-04", objects(lambda o: {k: {"encryptedFor": "relay"} if isinstance(v, dict) and "encryptedFor" in v else v for k, v in o.items()}))
copied("deep-nesting-cut", "Replaces values below depth 32 by null.", "4.8.2.1-11", lambda m, n, i: cut(m, 32), **OLD)
copied("body-key-lowercased", "Writes names of Body in lower case.", "4.8.2.1-23 4.8.2.1-10 2.2-08", lambda m, n, i: body(m, lambda b: {k.lower(): v for k, v in b.items()}), **OLD)
copied("body-stamped", "Adds a member to Body.", "4.8.2.1-12 4.8.2.1-23 4.8-02", lambda m, n, i: body(m, lambda b: {**b, "relayedAt": "now"}), profile="strict", **OLD)
copied("body-rebuilt-from-known-fields", "Forwards task, expectedOutput and context only.", "4.5-03 4.8.2.1-23", lambda m, n, i: body(m, lambda b: {k: v for k, v in b.items() if k in ("task", "expectedOutput", "context")}))
copied("context-added", "Adds an empty context to a body without one.", "2.2-05 4.8.2.1-23", lambda m, n, i: body(m, lambda b: {"context": {}, **b}), **STRICT)
copied("expected-output-sorted", "Sorts expectedOutput.", "4.8.2.1-07", lambda m, n, i: body(m, lambda b: {**b, "expectedOutput": sorted(b["expectedOutput"], key=str, reverse=True)} if isinstance(b.get("expectedOutput"), list) else b))
copied("context-arrays-sorted", "Sorts arrays in the context.", "4.8.2.1-07", lambda m, n, i: in_context(m, everywhere(lambda v: sorted(v, key=lambda x: json.write(x)) if isinstance(v, list) else v)))
copied("context-of-last-message-merged", "Merges the context with that of the message before.", "4.8.2.1-23 4.8.2.1-12", lambda m, n, i: merged(m, n), profile="strict")
copied("envelope-stamped", "Adds a hop list beside Header.", "4.8.2.1-12", lambda m, n, i: {**m, "Envelope": {**m["Envelope"], "Hops": [n.setup.uri]}}, **OLD)
copied("top-level-stamped", "Adds a member beside Envelope.", "4.8.2.1-12", lambda m, n, i: {**m, "$schema": "urn:peer:schema"})
copied("envelope-extras-dropped", "Forwards the three components only.", "4.8.2.1-02", lambda m, n, i: {"Envelope": {k: v for k, v in m["Envelope"].items() if k in ("Header", "Body", "MemoryGram")}}, **OLD)
copied("top-level-extras-dropped", "Drops members beside Envelope.", "4.8.2.1-02", lambda m, n, i: {"Envelope": m["Envelope"]})
copied("forwards-without-envelope", "Forwards the content of Envelope.", "2-09 1.4-01", lambda m, n, i: m["Envelope"], **OLD)
copied("forwards-in-array", "Forwards an array of one message.", "1.4-01 2-09", lambda m, n, i: [m])
copied("forwards-wrapped", "Forwards the message under a member message.", "2-09 1.4-01 4.8.2.1-12", lambda m, n, i: {"message": m})
copied("memorygram-beside-envelope", "Writes the MemoryGram at the top level.", "3.3-02 2-09", lambda m, n, i: {"Envelope": {k: v for k, v in m["Envelope"].items() if k != "MemoryGram"}, "MemoryGram": m["Envelope"]["MemoryGram"]}, **OLD)


def body(message, change):
    value = member(message, "Body")
    if isinstance(value, dict):
        message["Envelope"]["Body"] = change(value)
    return message


def in_context(message, change):
    context = member(message, "Body", "context")
    if isinstance(context, dict):
        message["Envelope"]["Body"]["context"] = change(context, None, None)
    return message


def split_names(o):
    out = {}
    for name, value in o.items():
        head, dot, rest = name.partition(".")
        if dot and head and rest:
            inner = out.get(head) if isinstance(out.get(head), dict) else {}
            out[head] = {**inner, rest: value}
        else:
            out[name] = value
    return out


def cut(value, depth):
    if depth == 0:
        return None if isinstance(value, (dict, list)) else value
    if isinstance(value, dict):
        return {k: cut(v, depth - 1) for k, v in value.items()}
    if isinstance(value, list):
        return [cut(v, depth - 1) for v in value]
    return value


def merged(message, node):
    context = member(message, "Body", "context")
    if isinstance(context, dict):
        before = node.ways.memory.get("context", {})
        node.ways.memory["context"] = dict(context)
        message["Envelope"]["Body"]["context"] = {**before, **context}
    return message


# --- Bodies (section 2.2) ---------------------------------------------------------------------------------------------

skip("task-unchecked", "task-missing", "Processes a body without task.", "2.2-01", side="receiver", **OLD)
skip("task-any-type", "task-type", "Takes a task of any type.", "2.2-02", side="receiver", **OLD)
skip("expected-output-unchecked", "expectedOutput-missing", "Does not look for expectedOutput.", "2.2-03", side="receiver", **OLD)
skip("expected-output-any-type", "expectedOutput-type", "Takes expectedOutput of any type.", "2.2-04", side="receiver", **OLD)
skip("context-any-type", "context-type", "Takes context of any type.", "2.2-06", side="receiver", **OLD)
bug("null-body-fields-taken", "Takes null for task and expectedOutput.", "2.2-02 2.2-04", **AT_RECEIVER)
bug("context-required", "Refuses a body without context.", "2.2-05", side="receiver", **OLD)
bug("context-flat-only", "Refuses nested values in context.", "2.2-07", side="receiver", **OLD)
bug("context-names-checked", "Refuses names in context that are not words.", "2.2-07 SEC-03", side="receiver", **OLD)
bug("body-closed-schema", "The relay refuses unknown Body members.", "4.5-03", side="relay", **OLD)
bug("relay-knows-echo-only", "The relay refuses tasks that it does not know.", "1.5-02 4.7-30", **AT_RELAY)
skip("refused-task-accepted", "task-refused", "Accepts every task.", "4.5-01", **AT_RECEIVER)
code("refused-task-as-expired", "task-refused", "amp:TTLExpired", "amp:TTLExpired for a refused task.", "4.10-06 4.5-01", **AT_RECEIVER)
code("body-faults-as-receiver", "task- expectedOutput- context-type", "amp:Receiver", "amp:Receiver for a malformed body.", "2.2-01 2.2-04 4.9-13", **AT_RECEIVER)
code("body-faults-as-must-understand", "task-missing task-type", "amp:MustUnderstand", "amp:MustUnderstand for a body without task.", "2.2-01 4.10-02", **AT_RECEIVER)
bug("any-task-refused-after-one", "Refuses the message after a refused one too.", "4-02 4.5-01", side="receiver", profile="strict")

# --- MemoryGrams (sections 2.3, 3.1, 3.2) -----------------------------------------------------------------------------

for _name, _rule, _about, _breaks, _more in (
    ("nodes-any-type", "graph-nodes-type", "Does not check that nodes is an array.", "2.3-01", OLD),
    ("edges-any-type", "graph-edges-type", "Does not check that edges is an array.", "2.3-02", OLD),
    ("mode-any-type", "graph-mode-type", "Does not check the type of mode.", "2.3-03", OLD),
    ("encoding-any-type", "graph-encoding-type", "Does not check the type of encoding.", "2.3-04", OLD),
    ("node-id-any-type", "graph-node-id-type", "Takes ids of nodes of any type.", "3.1-01", OLD),
    ("node-id-missing-taken", "graph-node-id-missing", "Takes nodes without id.", "3.1-02", {**OLD, **STRICT}),
    ("duplicate-ids-taken", "graph-duplicate-id", "Does not notice repeated ids.", "3.1-03", OLD),
    ("node-type-unchecked", "graph-node-type", "Takes any JSON as type of a node.", "3.1-04", OLD),
    ("node-metadata-any-type", "graph-node-metadata", "Takes metadata of any type.", "3.1-05", OLD),
    ("edge-source-unchecked", "graph-edge-source", "Takes any JSON as source.", "3.2-01", OLD),
    ("edge-target-unchecked", "graph-edge-target", "Takes any JSON as target.", "3.2-02", OLD),
    ("edge-ends-missing-taken", "graph-edge-source-missing graph-edge-target-missing", "Takes edges without ends.", "3.2-01 3.2-02", STRICT),
    ("weight-any-type", "graph-weight-type", "Takes weights of any type.", "3.2-04", {}),
    ("weight-range-unchecked", "graph-weight-range", "Does not check the range of weights.", "3.2-06 4.10-07", OLD),
    ("edge-context-any-type", "graph-edge-context", "Takes the context of an edge of any type.", "3.2-08", OLD),
):
    skip(_name, _rule, _about, _breaks, **_more)
bug("null-ids-taken", "Takes null as id of a node.", "3.1-01")
bug("node-ids-ignore-case", "Takes ids for equal that differ in case.", "3.1-03")
bug("equal-duplicate-ids-taken", "Takes two nodes with one id.", "3.1-03", skip=("graph-duplicate-id",))
bug("node-ids-unique-for-ever", "Remembers ids of nodes from message to message.", "4-01 4.9-01 4-02 3.1-06 4.6-03 2.3-05")
bug("first-node-checked-only", "Validates the first node only.", "3.1-03")
bug("first-edge-checked-only", "Validates the first edge only.", "3.2-06 3.2-04 4.10-07")
bug("unknown-node-category-refused", "Refuses node types that it does not know.", "4.6-03 3.1-04", **OLD)
bug("metadata-allow-list", "Refuses unknown metadata.", "EXT-02 3.1-06", **OLD)
bug("importance-range-checked", "Refuses importance above 1.", "3.1-06")
bug("decay-must-be-number", "Refuses a decay that is not a number.", "3.1-06")
bug("node-members-closed", "Refuses nodes with unknown members.", "4.8.2.1-27 4.8.2.1-03")
bug("annotated-edge-refused", "Refuses edges with unknown members.", "4.8.2.1-27", **OLD)
bug("weight-parsed-from-string", "Takes weight \"0.8\".", "3.2-04", **OLD)
bug("weight-null-taken", "Takes weight null.", "3.2-04")
bug("weight-one-refused", "Takes the upper bound as excluded.", "3.2-05", **OLD)
bug("weight-zero-refused", "Takes the lower bound as excluded.", "3.2-05")
bug("weight-upper-bound-only", "Takes negative weights.", "3.2-06")
bug("weight-lower-bound-only", "Takes weights above 1.", "3.2-06")
bug("weight-range-in-tenths", "Takes weights from -1 to 10.", "3.2-06")
bug("edge-context-required", "Refuses edges without context.", "3.2-07", **OLD)
bug("dangling-edge-refused", "Refuses edges to unknown nodes.", "3.2-03 1.5-01", **OLD)
bug("dangling-source-refused", "Refuses edges from unknown nodes.", "3.2-03")
bug("parallel-edges-refused", "Refuses two edges between the same nodes.", "4.8.2-10 4.8.3-02")
bug("mode-full-only", "Knows the mode full only.", "2.3-05", **OLD)
bug("encoding-taken-for-charset", "Expects utf-8 as encoding.", "2.3-06", **OLD)
bug("graph-members-all-required", "Refuses a MemoryGram without edges.", "2.3-07", profile="strict", **OLD)
bug("encrypted-graph-refused-as-sender", "amp:Sender for an encrypted MemoryGram.", "SEC-06", **AT_RELAY)
code("memorygram-fault-as-receiver", "graph-", "amp:Receiver", "amp:Receiver for an invalid MemoryGram.", "4.10-07 2.3-01", **OLD)
code("memorygram-fault-as-sender", "graph-", "amp:Sender", "amp:Sender for an invalid MemoryGram.", "4.10-07", **STRICT)
code("missing-graph-as-receiver", "memorygram-missing memorygram-type", "amp:Receiver", "amp:Receiver for a missing MemoryGram.", "2-06 2-07")
bug("memorygram-commands-obeyed", "Takes ttl and task from MemoryGram metadata.", "3.3-03 4.6-01 4.6-07", side="relay", **OLD)

# --- MemoryGrams in copies (section 4.8.3) ----------------------------------------------------------------------------


def graph_copy(name, about, breaks, change, **more):
    def apply(message, node, inbound):
        graph = member(message, "MemoryGram")
        if not isinstance(graph, dict):
            return None
        result = change(graph, message, node)
        if result is False:
            return None
        if isinstance(result, (dict, str, list)):
            message["Envelope"]["MemoryGram"] = result
        return message

    copied(name, about, breaks, apply, **more)


def each(items, change):
    """Applies a change to objects in place."""
    for item in items:
        change(item)


def metadata_of(graph):
    return [i["metadata"] for i in graphs.objects(graph, "nodes") if isinstance(i.get("metadata"), dict)]


def edges_of(graph):
    return graphs.objects(graph, "edges")


def tenths(edge):
    if isinstance(edge.get("weight"), Number):
        edge["weight"] = Number(f"{float(edge['weight'].text):.1f}")


graph_copy("memorygram-emptied", "Forwards an empty MemoryGram.", "4.8.2-10 4.8.3-02 1.5-02", lambda g, m, n: {"nodes": [], "edges": [], "mode": "snapshot", "encoding": "json"}, **OLD)
graph_copy("memorygram-as-string", "Forwards the MemoryGram as a string.", "1.6-03", lambda g, m, n: json.write(g), **OLD)
graph_copy("memorygram-as-base64", "Forwards the MemoryGram in base64.", "1.6-03", lambda g, m, n: __import__("base64").b64encode(json.encode(g)).decode())
graph_copy("memorygram-of-first-message", "Forwards the MemoryGram of the first message.", "4.8.3-02 4.8.2-10 1.5-02", lambda g, m, n: json.copy(n.ways.memory.setdefault("graph", json.copy(g))))
graph_copy("memorygram-null", "Forwards MemoryGram null.", "1.6-03 2-09 4.8.2-10", lambda g, m, n: m["Envelope"].update(MemoryGram=None))
graph_copy("dangling-edge-pruned", "Removes edges to unknown nodes.", "3.2-03 1.5-02", lambda g, m, n: g.update(edges=[e for e in edges_of(g) if {e.get("source"), e.get("target")} <= {x.get("id") for x in graphs.objects(g, "nodes")}]) if "edges" in g else False, **OLD)
graph_copy("weights-rounded", "Writes weights with one digit.", "4.8.2-10", lambda g, m, n: each(edges_of(g), tenths), **OLD)
graph_copy("weights-as-percent", "Writes weights as percentages.", "4.8.2-10", lambda g, m, n: each(edges_of(g), lambda e: e.update(weight=Number(e["weight"].decimal() * 100)) if isinstance(e.get("weight"), Number) else None))
graph_copy("decay-applied-in-transit", "Lowers importance.", "4.8.3-04 3.3-04", lambda g, m, n: each(metadata_of(g), lambda d: d.update(importance=Number("0.1")) if isinstance(d.get("importance"), Number) else None), **OLD)
graph_copy("decay-removed", "Drops decay.", "4.8.3-04 1.5-02", lambda g, m, n: each(metadata_of(g), lambda d: d.pop("decay", None)))
graph_copy("metadata-emptied-if-unknown", "Drops unknown metadata.", "4.8.3-04 3.1-06", lambda g, m, n: each(metadata_of(g), lambda d: [d.pop(k) for k in set(d) - {"importance", "decay", "processedBy", "processingTimestamp"}]))
graph_copy("processed-by-of-others-dropped", "Drops processedBy that came in.", "4.8.3-04", lambda g, m, n: each(metadata_of(g), lambda d: d.pop("processedBy", None)))
graph_copy("processed-by-put-in-front", "Puts its name in front of processedBy.", "4.8.3-04", lambda g, m, n: each(metadata_of(g), lambda d: d["processedBy"].insert(0, n.setup.uri) if isinstance(d.get("processedBy"), list) else None))
graph_copy("processed-by-as-string", "Writes processedBy as one string.", "4.8.3-05", lambda g, m, n: each(metadata_of(g), lambda d: d.update(processedBy=n.setup.uri)), **OLD)
graph_copy("processed-by-with-empty-name", "Writes an empty name into processedBy.", "4.8.3-05", lambda g, m, n: each(metadata_of(g), lambda d: d.update(processedBy=[*(d.get("processedBy") or []), ""])))
graph_copy("processing-time-in-seconds", "Writes processingTimestamp as a number.", "4.8.3-05", lambda g, m, n: each(metadata_of(g), lambda d: d.update(processingTimestamp=Number(1767322800))))
graph_copy("processing-time-without-zone", "Writes processingTimestamp without a zone.", "4.8.3-05", lambda g, m, n: each(metadata_of(g), lambda d: d.update(processingTimestamp="2026-01-02T03:04:05")))
graph_copy("node-ids-prefixed", "Prefixes ids of nodes.", "4.8.2-10", lambda g, m, n: each(graphs.objects(g, "nodes"), lambda x: x.update(id="r:" + x["id"]) if isinstance(x.get("id"), str) else None))
graph_copy("node-types-lower-case", "Writes types of nodes in upper case.", "4.8.2-10", lambda g, m, n: each(graphs.objects(g, "nodes"), lambda x: x.update(type=x["type"].upper()) if isinstance(x.get("type"), str) else None))
graph_copy("edge-direction-normalised", "Sorts the ends of edges.", "4.8.2-10", lambda g, m, n: each(edges_of(g), lambda e: e.update(source=min(e["source"], e["target"]), target=max(e["source"], e["target"])) if isinstance(e.get("source"), str) and isinstance(e.get("target"), str) else None))
graph_copy("parallel-edges-merged", "Forwards one of several edges between the same nodes.", "4.8.2-10 4.8.3-02", lambda g, m, n: g.update(edges=list({(e.get("source"), e.get("target")): e for e in edges_of(g)}.values())) if "edges" in g else False, **STRICT)
graph_copy("memorygram-rebuilt-from-known-fields", "Drops unknown members of nodes and edges.", "4.8.2.1-03", lambda g, m, n: (each(graphs.objects(g, "nodes"), lambda x: [x.pop(k) for k in set(x) - {"id", "type", "metadata"}]), each(edges_of(g), lambda x: [x.pop(k) for k in set(x) - {"source", "target", "weight", "context"}])) and None, **OLD)
graph_copy("memorygram-members-dropped", "Drops unknown members of the MemoryGram itself.", "4.8.2.1-03 SEC-06", lambda g, m, n: [g.pop(k) for k in set(g) - {"nodes", "edges", "mode", "encoding"}] and None)
graph_copy("mode-completed", "Adds mode and encoding where they are missing.", "4.8.2-10 4.8.3-02 SEC-06 4.8.2.1-12", lambda g, m, n: (g.setdefault("mode", "snapshot"), g.setdefault("encoding", "json")) and None, **STRICT)
graph_copy("mode-changed", "Writes mode relayed.", "4.8.2-10", lambda g, m, n: g.update(mode="relayed") if "mode" in g else False)
graph_copy("encrypted-memorygram-emptied", "Replaces an unreadable MemoryGram by an empty graph.", "SEC-06", lambda g, m, n: {"nodes": [], "edges": []} if not set(g) & {"nodes", "edges"} and g else False, **OLD)
graph_copy("encrypted-memorygram-annotated", "Adds a member to an encrypted MemoryGram.", "SEC-06", lambda g, m, n: g.update(seenBy=n.setup.uri) if member(m, "Header", "encryption") is not None else False)
graph_copy("node-added-unmarked", "Adds a node without saying so.", "4.8.3-09", lambda g, m, n: g["nodes"].append({"id": new_id(), "type": "note"}) if isinstance(g.get("nodes"), list) else False)
graph_copy("node-added-with-taken-id", "Adds a node with an id that is taken.", "4.8.3-09 4.8.2-10", lambda g, m, n: g["nodes"].append({"id": g["nodes"][0]["id"], "type": "note", "metadata": {"addedBy": n.setup.uri}}) if graphs.objects(g, "nodes") and isinstance(g["nodes"][0], dict) and "id" in g["nodes"][0] else False)
graph_copy("edge-added-unmarked", "Adds an edge without saying so.", "4.8.3-09", lambda g, m, n: g["edges"].append({"source": "a", "target": "b", "weight": Number("0.1")}) if isinstance(g.get("edges"), list) else False)
bug("addition-unmarked", "The augment block adds nodes and edges without a mark.", "4.8.3-09", side="relay", **OLD)
bug("added-id-constant", "The augment block always uses the same id.", "4.8.3-09", **AT_RELAY)
bug("added-id-taken", "The augment block uses the id of a node that is there.", "4.8.3-09", **AT_RELAY)
bug("added-edge-unmarked", "The augment block marks the node and not the edge.", "4.8.3-09", **AT_RELAY)
bug("annotation-replaces-metadata", "The annotate block replaces the metadata.", "4.8.3-04", side="relay", **OLD)
ACTIVE = {"side": "relay", "needs": ("active-seals",), "target": {"intermediary": "active"}}
bug("active-relay-skips-rules", "An active intermediary that lowers no ttl and removes no blocks.", "4.8.4-01", **ACTIVE, **OLD)
bug("sealed-without-encryption-entry", "An active intermediary that seals the MemoryGram and does not say so.", "1.6-03", **ACTIVE)
bug("hop-named-like-the-one-before", "A hop of a chain writes the URI of the hop before it.", "4.8.3-04", side="chain")
bug("annotation-replaces-list", "The annotate block replaces processedBy.", "4.8.3-04", **AT_RELAY)
bug("annotation-time-in-words", "The annotate block writes a time in words.", "4.8.3-05", **AT_RELAY)
bug("annotation-time-without-zone", "The annotate block writes a time without zone.", "4.8.3-05", **AT_RELAY)
bug("annotates-first-node-only", "The annotate block annotates one node only.", "4.7-33", **AT_RELAY)
bug("redact-ignored", "The redact block leaves the member in place.", "4.7-33 4.8.2.1-23", **AT_RELAY)
bug("redact-clears-context", "The redact block clears the whole context.", "4.8.2.1-23 4.7-33", **AT_RELAY)


@changed("annotation", "annotation-not-a-list", "The annotate block writes a string.", "4.8.3-05", **AT_RELAY)
def _(value, node, _):
    return value[-1]


@changed("annotation", "annotation-in-front", "The annotate block puts its name in front.", "4.8.3-04", **AT_RELAY)
def _(value, node, _):
    return [value[-1], *value[:-1]] if len(value) > 1 else None


# --- Faults (sections 4.7 and 4.10) -----------------------------------------------------------------------------------

code("receiver-code-for-all", "not- no- envelope header body memorygram messageId traceId roles routingIntent ttl must-understand encryption task expectedOutput context version graph", "amp:Receiver", "amp:Receiver for everything.", "4.4-04 4.9-13", **OLD)
code("sender-code-for-all", "ttl-expired must-understand version block-fails", "amp:Sender", "amp:Sender for everything.", "4.4-04 4.10-04")


def codes(name, about, breaks, change, **more):
    bug(name, about, breaks, place="code", change=lambda c, n, f: change(c) if change(c) != c else None, **more)


codes("code-without-prefix", "Codes have no prefix.", "4.10-01", lambda c: c.removeprefix("amp:"), **OLD)
codes("ttl-code-respelled", "amp:TtlExpired.", "4.10-01 4.10-06", lambda c: c.replace("TTLExpired", "TtlExpired"), **OLD)
codes("codes-in-lower-case", "Codes are in lower case.", "4.10-01", str.lower)
codes("codes-with-soap-prefix", "Codes have the prefix env.", "4.10-01", lambda c: c.replace("amp:", "env:"))
codes("codes-with-underscores", "amp:Must_Understand and the like.", "4.10-01", lambda c: c.replace("MustUnderstand", "Must_Understand").replace("VersionMismatch", "Version_Mismatch"))
codes("codes-as-uris", "Codes are URIs.", "4.10-01", lambda c: c.replace("amp:", "urn:agentic:mesh:fault:"))


def fault_of(tree):
    value = member(tree, "Body")
    return value if isinstance(value, dict) and "fault" in value else None


@changed("fault", "must-understand-fault-per-block", "Lists one fault for each block that is not understood.", "4.7-23 4.7-37", **OLD)
def _(tree, node, fault):
    body_of = fault_of(tree)
    if body_of and len(fault.types) > 1:
        body_of["fault"] = [copies.deepcopy(body_of["fault"]) for _ in fault.types]
        return tree


@changed("fault", "all-errors-reported", "Lists a fault for each error.", "4.7-37")
def _(tree, node, fault):
    body_of = fault_of(tree)
    if body_of and fault.others:
        body_of["fault"] = [body_of["fault"], *({**body_of["fault"], "code": f.code} for f in fault.others)]
        return tree


@changed("fault", "fault-also-as-header-block", "Repeats the fault beside Header.", "4.7-37")
def _(tree, node, fault):
    body_of = fault_of(tree)
    if body_of:
        tree["Envelope"]["fault"] = {"code": "amp:Receiver"}
        return tree


@changed("fault", "fault-as-bare-object", "Answers faults without an envelope.", "4.10-09", profile="strict", **OLD)
def _(tree, node, fault):
    return {"fault": {"code": fault.code}}


@changed("fault", "fault-as-text-with-code", "Writes the code into a sentence.", "4.7-35 4.4-04 2.1-01")
def _(tree, node, fault):
    return {"message": f"the code is {fault.code}"}


@changed("fault", "fault-with-numeric-code", "Answers a numeric code.", "4.7-35 4.4-04")
def _(tree, node, fault):
    return {"error": {"code": Number(400 if fault.code == "amp:Sender" else 500)}}


@changed("fault", "fault-header-incomplete", "The Header of a fault lacks ttl.", "2.1-17", **STRICT)
def _(tree, node, fault):
    member(tree, "Header").pop("ttl")
    return tree


@changed("fault", "fault-memorygram-missing", "A fault has no MemoryGram.", "4.10-09 2-09", **STRICT)
def _(tree, node, fault):
    del tree["Envelope"]["MemoryGram"]
    return tree


@changed("fault", "fault-trace-id-new", "A fault has a traceId of its own.", "2.1-06", **STRICT)
def _(tree, node, fault):
    member(tree, "Header")["traceId"] = new_id()
    return tree


bug("originated-id-constant", "All replies and faults have the same messageId.", "2.1-03", **OLD)
bug("originated-id-by-second", "messageIds of replies and faults are times in seconds.", "2.1-03")
bug("originated-id-repeats-after-four", "messageIds of replies and faults come round again.", "2.1-03")

# --- Replies ----------------------------------------------------------------------------------------------------------


def reply(name, about, breaks, change, **more):
    def apply(tree, node, inbound):
        return tree if change(tree, inbound) is not False else None

    bug(name, about, breaks, place="reply", change=apply, **{**REPLY, **more})


reply("reply-without-task", "Replies without task and expectedOutput.", "2.2-08", lambda t, i: (member(t, "Body").pop("task"), member(t, "Body").pop("expectedOutput")), **OLD)
reply("reply-task-null", "Replies with task null.", "2.2-08", lambda t, i: member(t, "Body").update(task=None))
reply("reply-expected-output-object", "Replies with expectedOutput as an object.", "2.2-08", lambda t, i: member(t, "Body").update(expectedOutput={}))
reply("reply-trace-id-new", "Replies have a traceId of their own.", "2.1-06", lambda t, i: member(t, "Header").update(traceId=new_id()), **{**OLD, **STRICT})
reply("reply-id-of-request-taken", "Replies have the messageId of the request.", "2.1-03", lambda t, i: member(t, "Header").update(messageId=member(i, "Header", "messageId")), **STRICT)
reply("reply-without-memorygram", "Replies without MemoryGram.", "2-09 3.3-02", lambda t, i: t["Envelope"].pop("MemoryGram"))
reply("reply-memorygram-outside", "Replies with the MemoryGram beside Envelope.", "3.3-02 2-09", lambda t, i: t.update(MemoryGram=t["Envelope"].pop("MemoryGram")))
reply("reply-memorygram-as-string", "Replies with the MemoryGram as a string.", "1.6-03", lambda t, i: t["Envelope"].update(MemoryGram=json.write(member(t, "MemoryGram"))))
reply("reply-ttl-as-string", "Replies with ttl as a string.", "2.1-17", lambda t, i: member(t, "Header").update(ttl="8"))
reply("reply-ttl-as-float", "Replies with ttl 8.0.", "2.1-17", lambda t, i: member(t, "Header").update(ttl=Number("8.0")))
reply("reply-roles-as-string", "Replies with roles as a string.", "2.1-17", lambda t, i: member(t, "Header").update(roles="planner"))
reply("reply-intent-missing", "Replies without routingIntent.", "2.1-17", lambda t, i: member(t, "Header").pop("routingIntent"))
reply("reply-block-without-type", "Replies with a block without type.", "4.2-02 4.3-07 4.8.2.1-16", lambda t, i: member(t, "Header").update(headers=[{"role": "next", "mustUnderstand": "yes"}]))
reply("echo-empty", "Replies to the task without its result.", "4.5-01 4.7-28", lambda t, i: member(t, "Body").update(context={"echo": {}}), target={"echoes": True}, **OLD)
reply("echo-of-first-message", "Replies with the context of another message.", "4.5-01 4.7-28", lambda t, i: member(t, "Body").update(context={"echo": {"proofmark": "another"}}), target={"echoes": True})

# --- Bytes (References) -----------------------------------------------------------------------------------------------


def emitted(name, about, breaks, change, **more):
    bug(name, about, breaks, place="bytes", change=lambda b, n, _: change(b) if change(b) != b else None, **more)


emitted("byte-order-mark-written", "Writes a byte order mark in front of its messages.", "REF-02", lambda b: b"\xef\xbb\xbf" + b, **OLD)
emitted("utf-16-written", "Writes messages in UTF-16.", "REF-02 REF-01", lambda b: b.decode("utf-8", "surrogatepass").encode("utf-16", "surrogatepass"))
emitted("latin-1-written", "Writes messages in Latin-1.", "REF-02 4.8.2.1-08", lambda b: b.decode("utf-8", "surrogatepass").encode("latin-1", "replace"), **AT_RELAY)
emitted("trailing-comma-written", "Leaves a comma behind the last member.", "REF-01", lambda b: b.rstrip()[:-1] + b",}", **OLD)
emitted("comment-written", "Writes a comment in front of its messages.", "REF-01", lambda b: b"/* peer */" + b)
emitted("nan-written", "Writes NaN into Header.", "REF-01", lambda b: b.replace(b'"routingIntent"', b'"load":NaN,"routingIntent"', 1))
emitted("single-quotes-written", "Writes strings with single quotes.", "REF-01", lambda b: b.replace(b'"Envelope"', b"'Envelope'", 1))
emitted("control-characters-written", "Writes control characters without escapes.", "REF-01 4.8.2.1-08", lambda b: b.replace(b"\\t", b"\t").replace(b"\\n", b"\n").replace(b"\\u0001", b"\x01"), **AT_RELAY)
emitted("ttl-written-twice", "Appends the lowered ttl and leaves the old one.", "REF-03", lambda b: re.sub(rb'("ttl": ?)(\d+)', rb"\1\2,\1\2", b, count=1), **OLD)
emitted("lone-surrogates-written", "Writes characters beyond the BMP as two encoded surrogates.", "REF-02 4.8.2.1-08", lambda b: re.sub(rb"[\xf0-\xf4][\x80-\xbf]{3}", lambda m: m[0].decode().encode("utf-16-be").decode("utf-16-be").encode("utf-16-be").hex().encode() and surrogates(m[0].decode()), b), **AT_RELAY)
emitted("two-messages-written", "Writes each message twice, on two lines.", "1.4-01 REF-01", lambda b: b + b"\n" + b, side="relay")


def surrogates(character):
    raw = character.encode("utf-16-be")
    return b"".join(chr(int.from_bytes(raw[i : i + 2], "big")).encode("utf-8", "surrogatepass") for i in (0, 2))


@changed("raw", "bad-utf8-replaced", "Replaces invalid bytes and goes on.", "4.9-14", **OLD)
def _(data, node, _):
    text = data.decode("utf-8", "replace").encode()
    return text if text != data else None


@changed("raw", "bad-utf8-as-latin-1", "Reads invalid UTF-8 as Latin-1.", "4.9-14")
def _(data, node, _):
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1").encode()


@changed("raw", "truncated-json-completed", "Completes a message that is cut off.", "4.9-11")
def _(data, node, _):
    text = data.decode("utf-8", "replace").rstrip()
    missing = text.count("{") - text.count("}")
    return (text.rstrip(",") + "}" * missing).encode() if 0 < missing < 6 else None


@changed("raw", "first-value-taken", "Reads the first of two values.", "4.9-11")
def _(data, node, _):
    try:
        reader = json.Reader(data.decode("utf-8"), node.habits)
        reader.value(0)
        return reader.text[: reader.at].encode() if reader.peek() else None
    except ValueError:
        return None


@changed("raw", "leading-white-space-refused", "Expects a brace as first byte.", "4.8.2.1-26", **OLD)
def _(data, node, _):
    return b"-" if data[:1] in (b" ", b"\n", b"\r", b"\t") else None


@changed("raw", "carriage-returns-refused", "Refuses carriage returns.", "4.8.2.1-26")
def _(data, node, _):
    return b"-" if b"\r" in data else None


@changed("raw", "tabs-refused", "Refuses tabs.", "4.8.2.1-26")
def _(data, node, _):
    return b"-" if b"\t" in data else None


@changed("raw", "escapes-not-decoded", "Does not decode u-escapes.", "REF-04", **OLD)
def _(data, node, _):
    return re.sub(rb"\\u00", rb"\\\\u00", data) if b"\\u00" in data else None


@changed("raw", "surrogate-pairs-not-joined", "Reads a surrogate pair as two replacement characters.", "REF-04 4.8.2.1-08 SEC-04", **AT_RELAY)
def _(data, node, _):
    return re.sub(rb"(?i)\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}", rb"\\ufffd\\ufffd", data) if b"\\u" in data else None


@changed("raw", "solidus-escape-kept", "Keeps the backslash of an escaped solidus.", "REF-04 4.8.2.1-08", **AT_RELAY)
def _(data, node, _):
    return data.replace(b"\\/", b"\\\\/") if b"\\/" in data else None


skip("relay-skips-validation", "messageId-* traceId-* roles-* routingIntent-* encryption-type", "Checks nothing but ttl.", "4.8.2-02 4.7-13", side="relay", **OLD)
bug("comments-needed", "Reads comments and trailing commas.", "4.9-11", **STRICT)

# --- HTTP, forwarding, concurrency (section 2 and 5 of the binding) ----------------------------------------------------

HTTP = {"side": "any"}
bug("never-forwards", "Answers 202 and forwards nothing.", "4.7-30", side="relay", **OLD)
bug("forwards-every-second", "Forwards every second message only.", "4.7-30 4.8.2-03", side="relay")
bug("forwards-twice", "Forwards again although the next hop answered.", "4.7-30", side="relay", profile="strict", **OLD)
bug("forwards-to-other-path", "Forwards to the root of the next hop.", "4.7-30", side="relay")
bug("forwards-with-put", "Forwards with PUT.", "4.7-30", side="relay")
bug("forwards-by-query", "Forwards the message in the query of a GET.", "4.7-30", side="relay")
bug("forward-despite-fault", "Answers a fault and forwards all the same.", "4.7-31", side="relay", **OLD)
bug("fault-also-to-next-hop", "Sends the fault to the next hop too.", "4.7-37", side="relay", **OLD)
bug("fault-forwarded-instead", "Forwards the fault and answers 202.", "4.7-35 4.7-37 4.7-31", side="relay")
bug("inbound-forwarded-as-is", "Forwards the bytes that came in.", "4.8.2-03 4.8.1-03", side="relay")
bug("role-uri-dialled", "Sends the block to its role when that is an http URL.", "4.2-09", side="relay", **OLD)
bug("type-uri-dialled", "Fetches roles that are http URLs.", "4.2-09", side="relay")
bug("reply-for-relay-fault", "The relay answers a fault with 202 and an empty body.", "4.7-35 4.7-13 4.4-04", side="relay")
bug("faults-without-body", "Answers faults by the status alone.", "4.7-35 4.4-04", **HTTP)
bug("faults-close-the-connection", "Closes the connection instead of a fault.", "4.7-35", **HTTP)
bug("parse-error-as-html", "Answers bad JSON with an HTML page.", "4.9-11 4.7-35", **OLD)
bug("parse-error-accepted", "Answers bad JSON with 202.", "4.9-11 4.7-35")
bug("empty-body-as-ping", "Answers an empty body with 200.", "4.9-11")
bug("two-errors-unhandled", "Answers two errors in one step with an HTML page.", "4.7-38 4.7-39", **OLD)
bug("bad-input-kills-node", "Stops serving after bad JSON.", "4.9-11 4.9-12 4.7-35", **OLD)
bug("length-in-characters", "The Content-Length of copies counts characters.", "4.8.2.1-08 4.8.2.1-10 4.8.2-06", side="relay")
bug("body-at-most-16-kib", "Refuses bodies of more than 16 KiB with 413.", "4.6-07", **HTTP)
bug("reads-once", "Reads only the first part of a body that arrives slowly.", "1.6-01", slow=True)
bug("ttl-as-seconds", "Takes ttl as seconds.", "1.6-01", slow=True, **OLD)
bug("ttl-as-tenths-of-a-second", "Takes ttl as tenths of a second.", "1.6-01 4.7-20", slow=True)
bug("weights-aged-while-held", "Lowers weights by the time that a message waited.", "3.3-04 1.6-01", side="relay", profile="strict", slow=True, **OLD)
bug("hop-trail-required", "The receiver refuses messages that came without an intermediary.", "4-01", side="receiver", **OLD)
bug("concurrent-mix-up", "Concurrent messages share one buffer.", "4.7-30 4.8.2-06 4-02", side="relay")
bug("concurrent-only-one", "Answers 503 while another message is in work.", "4.7-30 4-02 4-01", side="relay")
bug("concurrent-last-wins", "Forwards only the last of concurrent messages.", "4.7-30 4-02", side="relay")
bug("concurrent-some-twice", "Forwards concurrent messages twice.", "4.7-30", side="relay")
bug("duplicate-filter-on-trace-id", "Drops a second message with a known traceId.", "4-02 4.7-30", profile="strict", side="relay")
bug("same-message-refused", "Refuses a message that came before.", "4-02", profile="strict")
bug("state-after-fault", "Refuses the message after a fault.", "4-02 4.9-03 4.9-11", profile="strict")
bug("next-hop-answer-is-a-reply", "Answers amp:Receiver because the next hop answered without a body.", "4.7-30 4.8.1-03 2.1-15", side="relay")
bug("delivery-despite-fault", "Delivers messages that lead to a fault.", "4.4-03 4.7-11 4.7-24 4.9-08", side="receiver", needs=("fault-status-by-code",), target={"control": True})
bug("receiver-forwards-too", "The receiver forwards what it got.", "4.8.1-16", side="receiver")


assert RELAY

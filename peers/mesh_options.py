"""The choices that the rulings on agentic-mesh leave open, and `Ways`, which returns those in force.

A choice belongs to a group; one of each group is in force. A group of one choice is a switch. `strict` says whether the
choice also satisfies the strict profile; `lenient` is the expected result of a lenient run: `pass`, `warn` (tolerated, with
a warning allowed) or `undecided` (a check may stay inconclusive or not claimed). Never `fail`. `side` says where it shows:
`receiver`, `relay` or `any`. `target` is what the target file has to declare, by the keys of section 10 of the binding.
"""

import random
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Choice:
    name: str
    about: str
    errata: tuple
    group: str
    default: bool
    strict: bool
    lenient: str
    side: str
    target: dict = field(default_factory=dict)

    def row(self):
        return {
            "name": self.name, "about": self.about, "errata": list(self.errata), "group": self.group, "default": self.default,
            "strict": self.strict, "lenient": self.lenient, "side": self.side, "target": self.target,
        }  # fmt: skip


CHOICES = {}
GROUPS = {}


def _group(name, errata, *options):
    """Options are (name, about, marks) or (name, about, marks, target). Marks: * default, s not strict, w warning, u
    undecided, r only at the relay, e only at the receiver."""
    for option, about, marks, *target in options:
        lenient = "warn" if "w" in marks else "undecided" if "u" in marks else "pass"
        strict = "s" not in marks and "w" not in marks
        side = "relay" if "r" in marks else "receiver" if "e" in marks else "any"
        choice = Choice(option, about, tuple(errata.split()), name, "*" in marks, strict, lenient, side, *target)
        assert option not in CHOICES, option
        CHOICES[option] = choice
        GROUPS.setdefault(name, []).append(choice)


# --- Faults -----------------------------------------------------------------------------------------------------------

_group(
    "fault-place", "E02",
    ("fault-in-body", "The code is Envelope.Body.fault.code.value.", ""),
    ("fault-code-in-body", "The code is the string Envelope.Body.fault.code.", "*"),
    ("fault-upper-case", "The code is Envelope.Body.Fault.Code.Value, as in SOAP.", ""),
    ("fault-mixed-case", "The code is Envelope.Body.Fault.code.", ""),
    ("fault-in-array", "Envelope.Body.fault is an array of one fault.", "s"),
    ("fault-in-envelope", "The code is Envelope.fault.code, beside Header.", "s"),
    ("fault-in-envelope-upper", "The code is Envelope.Fault.code.value.", "s"),
    ("fault-body-without-envelope", "The code is Body.fault.code.value without an Envelope.", "s"),
    ("fault-bare", "A bare object with fault.code.", "s"),
    ("fault-bare-upper", "A bare object with Fault.code.value.", "s"),
    ("fault-error-code", "A bare object with error.code.", "s"),
    ("fault-faultcode", "A bare object with faultCode and faultString.", "s"),
    ("fault-code-only", "A bare object with code and message.", "s"),
    ("fault-problem", "An RFC 9457 problem with a member code.", "s"),
    ("fault-deep", "The code is problem.detail.ampErrorCode.", "s"),
    ("fault-error-string", "A bare object whose member error is the code.", "s"),
)  # fmt: skip
_group(
    "fault-status", "E03",
    ("fault-status-by-code", "400 for faults of the sender, 500 for the others.", ""),
    ("fault-status-200", "200 for every fault.", "*"),
    ("fault-status-202", "202 for every fault.", ""),
    ("fault-status-400", "400 for every fault.", ""),
    ("fault-status-422", "422 for every fault.", ""),
    ("fault-status-409", "409 for every fault.", ""),
    ("fault-status-500", "500 for every fault.", ""),
    ("fault-status-501", "501 for every fault.", ""),
)  # fmt: skip
_group(
    "fault-media", "E03",
    ("fault-media-amp", "Faults are application/amp+json.", "*"),
    ("fault-media-json", "Faults are application/json; charset=utf-8.", ""),
    ("fault-media-problem", "Faults are application/problem+json.", ""),
    ("fault-media-text", "Faults are text/plain.", ""),
    ("fault-media-none", "Faults have no Content-Type.", ""),
)  # fmt: skip
_group(
    "fault-reason", "E02",
    ("reason-list", "The reason is a list of text and lang.", "*"),
    ("reason-text", "The reason is a string.", ""),
    ("reason-none", "There is no reason.", ""),
    ("reason-many", "The reason is a list in three languages.", ""),
)  # fmt: skip
_group("fault-node", "E52", ("fault-names-node", "Faults name the URI of the node that made them.", ""))
_group("fault-detail", "E02", ("fault-with-detail", "Faults have a detail with the step and the types not understood.", ""))
_group(
    "fault-trace", "E45 E23",
    ("fault-trace-kept", "A fault carries the traceId of the request.", "*"),
    ("fault-trace-extended", "A fault carries the traceId of the request with a suffix.", ""),
    ("fault-trace-new", "A fault carries a traceId of its own.", "s"),
)  # fmt: skip
_group(
    "fault-id", "E24 E45",
    ("fault-id-new", "A fault has a messageId of its own.", "*"),
    ("fault-id-of-request", "A fault carries the messageId of the request.", "s"),
)  # fmt: skip
_group(
    "fault-header", "E45",
    ("fault-header-full", "The Header of a fault has all five fields.", "*"),
    ("fault-header-poor", "The Header of a fault has messageId only.", "s"),
    ("fault-header-none", "A fault has no Header.", "s"),
)  # fmt: skip
_group("fault-graph", "E45", ("fault-without-graph", "A fault has no MemoryGram.", "s"))
_group("fault-version", "E06", ("fault-with-version", "The Header of a fault or reply says version 1.0.", ""))
_group(
    "fault-way", "E45",
    ("fault-by-response", "A fault is the response.", "*"),
    ("fault-by-listener", "A fault that can be tied to its request is posted to the fault listener; the response is 202 without a body.", "", {"faults": "listener"}),
)  # fmt: skip

# --- Answers ----------------------------------------------------------------------------------------------------------

_group(
    "answer", "E70",
    ("answer-202", "An accepted message is answered by 202 without a body.", "*"),
    ("answer-200", "An accepted message is answered by 200 without a body.", ""),
    ("answer-204", "An accepted message is answered by 204.", ""),
    ("answer-201", "An accepted message is answered by 201 without a body.", ""),
    ("answer-text", "An accepted message is answered by 200 and the text ok.", ""),
    ("answer-json", "An accepted message is answered by 200 and an object that is not a message.", ""),
    ("answer-json-status", "An accepted message is answered by 200 and an object with a numeric statusCode.", ""),
    ("answer-reply", "An accepted message is answered by 200 and an AMP message.", ""),
    ("answer-text-as-json", "An accepted message is answered by 200 and ok, which it calls application/json.", ""),
    ("answer-reply-202", "An accepted message is answered by 202 and an AMP message.", ""),
)  # fmt: skip
_group(
    "reply-media", "E03 E70",
    ("reply-media-amp", "Replies are application/amp+json.", "*"),
    ("reply-media-json", "Replies are application/json.", ""),
    ("reply-media-vendor", "Replies are application/vnd.peer.amp+json; version=1.", ""),
    ("reply-media-none", "Replies have no Content-Type.", ""),
)  # fmt: skip
_group(
    "reply-echo", "E70",
    ("reply-echoes", "A reply to the task echo has the context under Body.context.echo.", "*e"),
    ("reply-answers-otherwise", "A reply has a result of its own in Body.", "e"),
)  # fmt: skip
_group(
    "reply-trace", "E23 E24",
    ("reply-trace-kept", "A reply carries the traceId of the request.", "*e"),
    ("reply-trace-extended", "A reply carries the traceId of the request with a prefix.", "e"),
    ("reply-trace-new", "A reply carries a traceId of its own.", "se"),
)  # fmt: skip
_group(
    "reply-id", "E24",
    ("reply-id-new", "A reply has a messageId of its own.", "*e"),
    ("reply-id-of-request", "A reply carries the messageId of the request.", "se"),
)  # fmt: skip
_group(
    "reply-graph", "E11",
    ("reply-graph-empty", "The MemoryGram of a reply has no nodes and no edges.", "*e"),
    ("reply-graph-bare", "The MemoryGram of a reply is an empty object.", "e"),
    ("reply-graph-returned", "The MemoryGram of a reply is that of the request.", "e"),
    ("reply-graph-own", "The MemoryGram of a reply has nodes of the receiver.", "e"),
)  # fmt: skip
_group("reply-blocks", "E35", ("reply-with-blocks", "A reply has a header block of the receiver.", "e"))
_group("reply-extra", "E53", ("reply-with-extras", "A reply has further members in Header and Body.", "e"))
_group("reply-roles", "E43", ("reply-roles-swapped", "A reply has the roles of the request in reverse.", "e"))
_group("reply-ttl", "E21", ("reply-ttl-one", "A reply has ttl 1.", "e"))
_group(
    "pace", "E61 E03",
    ("at-once", "Answers come at once.", "*"),
    ("slow-150-ms", "Each answer takes 150 ms.", ""),
    ("slow-at-random", "Each answer takes up to 200 ms.", ""),
)  # fmt: skip

# --- HTTP and JSON text -----------------------------------------------------------------------------------------------

_group(
    "media", "E03",
    ("media-any", "Any Content-Type is accepted.", "*"),
    ("media-amp-only", "Only application/amp+json is accepted, 415 without a body otherwise.", ""),
    ("media-json-only", "Only application/json is accepted, 415 without a body otherwise.", "", {"content_type": "application/json"}),
    ("media-json-any", "application/json and types that end in +json are accepted, 415 otherwise.", ""),
    ("media-amp-only-400", "Only application/amp+json is accepted, 400 without a body otherwise.", ""),
    ("media-json-only-400", "Only application/json is accepted, 400 without a body otherwise.", ""),
)  # fmt: skip
_group("slow-bodies", "E61 E03", ("slow-bodies-408", "A body that is not there after a second gets 408 without a body, and the connection is closed.", "u"))
_group(
    "http-form", "E03",
    ("http-plain", "Answers have a Content-Length.", "*"),
    ("http-chunked", "Answers are chunked.", ""),
    ("http-closing", "The connection is closed after each answer.", ""),
    ("http-in-pieces", "Answers are sent in small pieces.", ""),
    ("http-1-0", "Answers are HTTP/1.0, ended by the connection.", ""),
)  # fmt: skip
_group("http-names", "E03", ("http-lower-case", "Names of HTTP headers are in lower case, with some of the server's own.", ""))
_group("other-paths", "E03", ("other-paths-json", "Other paths and methods get a JSON object with 404 or 405.", ""))
_group("text-ascii", "E35", ("text-ascii", "Emitted text has u-escapes for everything beyond ASCII.", ""))
_group("text-slashes", "E35", ("text-slashes", "The solidus is escaped in emitted text.", ""))
_group(
    "text-form", "E35",
    ("text-short", "Emitted text has no white space.", "*"),
    ("text-indented", "Emitted text is indented.", ""),
    ("text-newline", "Emitted text ends with a line feed.", ""),
)  # fmt: skip
_group(
    "text-order", "E35",
    ("order-kept", "Members keep their order.", "*"),
    ("order-sorted", "Members are sorted by name.", ""),
    ("order-reversed", "Members are in reverse order.", ""),
)  # fmt: skip
_group(
    "numbers", "E37",
    ("numbers-kept", "Numbers keep their spelling.", "*"),
    ("numbers-shortest", "Numbers are written in another spelling of the same decimal value.", ""),
    ("numbers-binary64", "Numbers are written as binary64 has them.", "s"),
)  # fmt: skip
_group("overflow", "E37", ("overflow-refused", "A number beyond binary64 is refused.", "s"))
_group("byte-mark", "E68", ("byte-mark-refused", "A byte order mark in front of a message is refused.", ""))
_group(
    "duplicates", "E64",
    ("duplicates-refused", "A member name that appears twice is refused.", "*"),
    ("duplicates-first", "The first of two members with one name counts.", ""),
    ("duplicates-last", "The last of two members with one name counts.", ""),
)  # fmt: skip
_group("comments", "E48", ("comments-read", "Comments and trailing commas are read.", "s"))
_group(
    "depth", "E53",
    ("depth-512", "Nesting up to 512 levels is read.", "*"),
    ("depth-100", "Nesting up to 100 levels is read.", ""),
    ("depth-2000", "Nesting up to 2000 levels is read.", ""),
)  # fmt: skip
_group(
    "bad-bytes", "E83",
    ("bad-bytes-as-not-json", "Bytes that are not JSON at all are answered like other text that is not JSON.", "*"),
    ("bad-bytes-bare-400", "Bytes that are not JSON at all are answered by 400 without a fault.", "s"),
    ("bad-bytes-own-code", "Bytes that are not JSON at all get a code of the peer's own.", "s"),
)  # fmt: skip

# --- Structure and header ---------------------------------------------------------------------------------------------

_group(
    "not-json-code", "E08",
    ("not-json-sender", "Text that is not JSON gets amp:Sender.", "*"),
    ("not-json-version", "Text that is not JSON gets amp:VersionMismatch.", "s"),
)  # fmt: skip
_group(
    "no-envelope-code", "E08",
    ("no-envelope-sender", "JSON that is not an envelope gets amp:Sender.", "*"),
    ("no-envelope-version", "JSON that is not an envelope gets amp:VersionMismatch.", "s"),
)  # fmt: skip
_group(
    "no-component-code", "E08",
    ("no-component-sender", "A missing component gets amp:Sender.", "*"),
    ("no-component-version", "A missing component gets amp:VersionMismatch.", "s"),
)  # fmt: skip
_group("wrong-component-code", "E75", ("wrong-component-version", "A Header or Body that is not an object gets amp:VersionMismatch.", "s"))
_group("no-graph-code", "E08 E11", ("no-graph-own-code", "A missing MemoryGram gets amp:InvalidMemoryGram.", "s"))
_group(
    "wrong-graph-code", "E84",
    ("wrong-graph-own-code", "A MemoryGram that is not an object gets amp:InvalidMemoryGram.", "*"),
    ("wrong-graph-sender", "A MemoryGram that is not an object gets amp:Sender.", ""),
)  # fmt: skip
_group(
    "envelope-extras", "E53",
    ("envelope-extras-kept", "Unknown members in and beside Envelope are accepted, and passed on.", "*"),
    ("envelope-extras-refused-by-receiver", "The receiver refuses them with amp:Sender.", ""),
    ("envelope-extras-refused", "Receiver and relay refuse them with amp:Sender.", "s"),
)  # fmt: skip
_group("body-extras", "E53 E79", ("body-extras-refused", "The receiver refuses unknown Body members.", "se"))
_group(
    "version", "E06",
    ("version-by-member", "Header.version says the version; absent means 1.0.", "*"),
    ("version-by-structure", "The structure says the version; Header.version is decoration.", "u", {"version_detect": "structure"}),
)  # fmt: skip
_group("version-near", "E06", ("version-near-refused", "Versions near 1.0 (1, 1.1, 1.0.0, 0.1) are refused.", ""))
_group(
    "version-typed", "E06",
    ("version-typed-mismatch", "A version that is not a string gets amp:VersionMismatch.", "*"),
    ("version-typed-sender", "A version that is not a string gets amp:Sender.", ""),
    ("version-typed-ignored", "A version that is not a string is ignored.", "s"),
)  # fmt: skip
_group(
    "version-when", "E26",
    ("version-first", "The version is checked before the other header fields.", "*"),
    ("version-after-header", "The version is checked after the header fields.", "s"),
    ("version-after-blocks", "The version is checked after ttl and blocks.", "s"),
)  # fmt: skip
_group(
    "ttl-zero", "E20",
    ("ttl-zero-expired", "ttl 0 gets amp:TTLExpired.", "*"),
    ("ttl-zero-sender", "ttl 0 gets amp:Sender.", "s"),
)  # fmt: skip
_group(
    "ttl-negative", "E20",
    ("ttl-negative-sender", "A negative ttl gets amp:Sender.", "*"),
    ("ttl-negative-expired", "A negative ttl gets amp:TTLExpired.", ""),
)  # fmt: skip
_group(
    "ttl-one", "E19",
    ("ttl-one-expires", "The receiver answers ttl 1 with amp:TTLExpired.", "*e"),
    ("ttl-one-delivered", "The receiver delivers ttl 1.", "se"),
)  # fmt: skip
_group("ttl-spelling", "E21", ("ttl-spellings-refused", "ttl 5.0 and 1e1 are refused.", ""))
_group(
    "ttl-limit", "E21",
    ("ttl-unlimited", "ttl has no upper bound.", "*"),
    ("ttl-to-53-bits", "ttl above 2^53-1 is refused with amp:Sender.", ""),
    ("ttl-to-31-bits", "ttl above 2^31-1 is refused with amp:Sender.", ""),
    ("ttl-to-255", "ttl above 255 is refused with amp:Sender.", ""),
)  # fmt: skip
_group("encryption-null", "E85", ("encryption-null-refused", "encryption null is refused.", ""))
_group("byoe", "E41 E76", ("byoe-refused", "The receiver answers declared encryption with amp:Receiver.", "ue"))
_group("relay-byoe", "E41", ("relay-refuses-byoe", "The relay answers declared encryption with amp:Receiver.", "wr"))
_group("byoe-code", "E41 E76", ("byoe-refused-by-own-code", "The receiver answers declared encryption with a code of its own.", "ue"))
_group(
    "intent", "E42",
    ("intent-any", "Any routingIntent is accepted.", "*"),
    ("intent-own-code", "An unknown routingIntent gets a code of the peer's own.", ""),
    ("intent-sender", "An unknown routingIntent gets amp:Sender.", "s"),
)  # fmt: skip
_group("header-roles", "E05", ("header-roles-act", "The node acts in every role that Header.roles names.", "s"))
_group("element-types", "E43", ("elements-must-be-strings", "Elements of roles and expectedOutput must be strings.", ""))
_group("empty-strings", "E44", ("empty-strings-refused", "Empty messageId, traceId, routingIntent and task are refused.", ""))
_group("isolation", "E51", ("duplicate-filter", "A second message with a known messageId is answered and not processed.", "s"))

# --- Blocks -----------------------------------------------------------------------------------------------------------

_group(
    "blocks-place", "E01",
    ("blocks-in-headers", "Blocks are in the array Header.headers.", "*"),
    ("blocks-in-header-blocks", "Blocks are in the array Header.headerBlocks.", "s", {"header_blocks_at": "/Envelope/Header/headerBlocks"}),
    ("blocks-beside-header", "Blocks are in the array Envelope.headers.", "s", {"header_blocks_at": "/Envelope/headers"}),
)  # fmt: skip
_group("blocks-shape", "E01", ("blocks-not-array-ignored", "A value that is not an array in the place of the blocks is ignored.", "s"))
_group(
    "typeless", "E49",
    ("typeless-sender", "A block without type gets amp:Sender.", "*"),
    ("typeless-must-understand", "A block without type gets amp:MustUnderstand.", ""),
    ("typeless-unknown", "A block without type is a block of unknown type.", "s"),
)  # fmt: skip
_group(
    "roleless", "E30",
    ("roleless-for-receiver", "A block without role is for the ultimate receiver.", "*"),
    ("roleless-for-nobody", "A block without role targets nobody.", "e"),
)  # fmt: skip
_group("roleless-relay", "E29", ("roleless-dropped", "The relay drops blocks without role.", "wr"))
_group(
    "flags", "E33",
    ("flags-true-only", "Only true counts as true.", "*"),
    ("flags-as-in-soap", "1 and the strings true and 1 count as true.", ""),
    ("flags-checked", "Flags of another type get amp:Sender.", ""),
)  # fmt: skip
_group("optional-blocks", "E27", ("optional-blocks-ignored", "Known blocks that are not mandatory are ignored.", ""))
_group(
    "failing", "E63",
    ("failing-receiver", "A failing block gets amp:Receiver.", "*"),
    ("failing-sender", "A failing block gets amp:Sender.", "s"),
    ("failing-own-code", "A failing block gets a code of the peer's own.", "s"),
)  # fmt: skip
_group(
    "block-order", "E25",
    ("blocks-in-order", "Blocks are processed in their order.", "*"),
    ("blocks-from-the-end", "Blocks are processed from the last to the first.", ""),
    ("body-before-blocks", "The receiver processes the body before the blocks.", "e"),
)  # fmt: skip

# --- MemoryGram -------------------------------------------------------------------------------------------------------

_group(
    "graph", "E11",
    ("graph-validated", "The content of a MemoryGram is validated.", "*"),
    ("graph-ignored", "The content of a MemoryGram is ignored.", "u", {"memorygram": "ignores"}),
)  # fmt: skip
_group(
    "graph-code", "E11",
    ("graph-own-code", "Invalid content gets amp:InvalidMemoryGram.", "*"),
    ("graph-sender", "Invalid content gets amp:Sender.", "s"),
)  # fmt: skip
_group(
    "graph-when", "E12",
    ("graph-after-blocks", "Content is validated after the blocks were understood.", "*"),
    ("graph-with-structure", "Content is validated with the structure, before everything else.", "s"),
    ("graph-before-ttl", "Content is validated with the header, before ttl.", "s"),
    ("graph-after-body", "The receiver validates content after the body.", "se"),
)  # fmt: skip
_group("graph-members", "E13", ("graph-members-required", "nodes, edges, mode and encoding are required.", "s"))
_group("graph-ids", "E13", ("graph-ids-optional", "id, source and target may be absent.", "s"))

# --- Relay ------------------------------------------------------------------------------------------------------------

_group(
    "when", "E45",
    ("answers-after-forwarding", "The relay answers after the next hop has answered.", "*r"),
    ("answers-before-forwarding", "The relay answers, then forwards.", "r"),
    ("answers-before-forwarding-late", "The relay answers, and forwards 400 ms later.", "r"),
    ("answers-while-forwarding", "The relay answers when the copy is sent, before the next hop has answered.", "r"),
)  # fmt: skip
_group(
    "relay-answer", "E03",
    ("relay-answer-202", "The relay answers 202 without a body.", "*r"),
    ("relay-answer-200-json", "The relay answers 200 and a JSON object.", "r"),
    ("relay-answer-204", "The relay answers 204.", "r"),
    ("relay-answer-202-text-as-json", "The relay answers 202 and OK, which it calls application/json.", "r"),
    ("relay-answer-200-page-as-json", "The relay answers 200 and an HTML page, which it calls application/json.", "r"),
    ("relay-answer-passed-on", "The relay answers what the next hop answered.", "r"),
)  # fmt: skip
_group(
    "trace", "E23 E88",
    ("trace-prefixed", "The relay puts its hop in front of the traceId.", "*r"),
    ("trace-appended", "The relay appends ;hop= and its short name to the traceId.", "r"),
    ("trace-path", "The relay appends its whole URI after a slash.", "r"),
    ("trace-untouched", "The relay leaves the traceId as it is.", "sr"),
    ("trace-kept-with-hop", "The relay leaves the traceId and records its hop in another Header member.", "sr"),
    ("trace-replaced", "The relay sets a new traceId and keeps the old one in Header.parentTraceId.", "sr"),
    ("trace-replaced-nested", "The relay sets a new traceId and keeps the old one in a list in Header.", "sr"),
)  # fmt: skip
_group("copy-encryption", "E85", ("copies-with-encryption-null", "Copies of messages without encryption have encryption null.", "r"))
_group("relay-header", "E35", ("adds-header-members", "The relay adds members to Header.", "r"))
_group(
    "relay-adds-block", "E35",
    ("adds-no-block", "The relay adds no block.", "*r"),
    ("adds-block-last", "The relay adds a block at the end.", "r"),
    ("adds-block-first", "The relay adds a block in front.", "r"),
    ("adds-block-for-receiver", "The relay adds a block for the ultimate receiver.", "r"),
)  # fmt: skip
_group("block-metadata", "E73", ("adds-block-metadata", "The relay adds a member to the blocks that it passes on.", "r"))
_group("false-flags", "E34 E73", ("drops-false-flags", "The relay leaves out flags that are false.", "sr"))
_group("kept-order", "E35", ("blocks-reversed", "Blocks that stay are passed on in reverse order.", "sr"))
_group("relay-body", "E62", ("relay-checks-body", "The relay refuses a body without task or expectedOutput, or with a wrong context.", "r"))
_group("relay-body-adds", "E36", ("relay-adds-to-body", "The relay adds a member to Body.", "sr"))
_group(
    "graph-notes", "E16 E80",
    ("graph-untouched", "The relay does not annotate.", "*r"),
    ("graph-annotated", "The relay appends to processedBy of every node and sets processingTimestamp.", "r"),
    ("graph-annotated-by-member", "The relay adds a member to nodes and edges.", "r"),
    ("graph-edges-annotated", "The relay adds metadata to edges.", "r"),
)  # fmt: skip
_group(
    "graph-adds", "E17",
    ("graph-not-augmented", "The relay adds no node.", "*r"),
    ("graph-augmented", "The relay adds a node and an edge with metadata.addedBy.", "r"),
    ("graph-augmented-origin", "The relay adds a node with a member origin.", "r"),
    ("graph-augmented-by-uri", "The relay adds a node that names the URI of the relay.", "r"),
)  # fmt: skip
_group(
    "graph-filter", "E54 E57",
    ("graph-whole", "The relay removes no node.", "*r"),
    ("graph-filtered", "The relay removes nodes of type issue and their edges.", "wr"),
    ("graph-filtered-dangling", "The relay removes nodes of type issue and leaves their edges.", "wr"),
)  # fmt: skip
_group("graph-order", "E35", ("graph-reordered", "The relay passes nodes and edges on in reverse order.", "sr"))
_group("graph-encrypted", "E40", ("encrypted-graph-refused", "The relay refuses an encrypted MemoryGram with amp:InvalidMemoryGram.", "sr"))
_group("active", "E40 E66", ("active-seals", "The relay seals Body and MemoryGram of what it forwards, as an active intermediary.", "ur", {"intermediary": "active"}))
_group("graph-members-beside", "E87", ("adds-graph-member", "The relay adds a member beside nodes and edges.", "wr"))
_group(
    "forward-media", "E03",
    ("forward-media-amp", "The relay forwards as application/amp+json.", "*r"),
    ("forward-media-json", "The relay forwards as application/json; charset=utf-8.", "r"),
    ("forward-media-kept", "The relay forwards with the Content-Type that it got.", "r"),
    ("forward-media-none", "The relay forwards without Content-Type.", "r"),
)  # fmt: skip
_group(
    "forward-form", "E03",
    ("forward-plain", "The relay forwards with a Content-Length.", "*r"),
    ("forward-chunked", "The relay forwards in chunks.", "r"),
    ("forward-kept-alive", "The relay forwards over one connection that it keeps.", "r"),
    ("forward-with-headers", "The relay adds HTTP headers of its own (Via, Forwarded).", "r"),
    ("forward-expecting", "The relay sends Expect: 100-continue.", "r"),
)  # fmt: skip

# --- Chain ------------------------------------------------------------------------------------------------------------

_group(
    "chain-names", "E04",
    ("chain-names-of-binding", "The hops of a chain have the URIs and roles of the binding.", "*r"),
    ("chain-names-own", "The hops of a chain have other URIs and act in other roles.", "ur"),
)  # fmt: skip

# Choices that do not go together, or that hide others.
CONFLICTS = (
    {"byoe-refused", "byoe-refused-by-own-code"},
    {"graph-ignored", "graph-members-required"},
    {"graph-ignored", "graph-ids-optional"},
    {"graph-ignored", "graph-sender"},
    {"graph-ignored", "graph-with-structure"},
    {"graph-ignored", "graph-before-ttl"},
    {"graph-ignored", "graph-after-body"},
    # Codes of its own are found in certain places only (binding, section 4).
    {"fault-deep", "intent-own-code"},
    {"fault-deep", "failing-own-code"},
    {"fault-deep", "no-graph-own-code"},
    {"fault-deep", "byoe-refused-by-own-code"},
    {"fault-error-string", "intent-own-code"},
    {"fault-error-string", "failing-own-code"},
    {"fault-error-string", "byoe-refused-by-own-code"},
    {"fault-deep", "bad-bytes-own-code"},
    {"fault-error-string", "bad-bytes-own-code"},
    # In a chain a hop would refuse what the one before it wrote.
    {"copies-with-encryption-null", "encryption-null-refused"},
    {"active-seals", "encrypted-graph-refused"},
    {"active-seals", "relay-refuses-byoe"},
    # A fault without a body cannot follow a 204, and without Envelope it has no Header to choose.
    {"fault-by-listener", "relay-answer-passed-on"},
)


def defaults():
    return {c.name for c in CHOICES.values() if c.default}


def chosen(names=(), preset=None):
    """The names in force. Presets: random:SEED, strict (a random strict set, strict:SEED), tolerated (all that are only lenient)."""
    force = defaults()
    word, _, seed = (preset or "").partition(":")
    if word in ("random", "strict"):
        dice = random.Random(f"mesh {word} {seed or 1}")
        for group in GROUPS.values():
            options = [c for c in group if word == "random" or c.strict]
            if len(group) == 1:  # a switch
                if options and dice.random() < 0.3:
                    force = with_choice(force, group[0].name)
            else:
                force = with_choice(force, dice.choice(options).name)
    elif word == "tolerated":
        for group in GROUPS.values():
            tolerated = [c for c in group if not c.strict]
            if tolerated:
                force = with_choice(force, tolerated[0].name)
    elif preset:
        raise SystemExit(f"unknown preset {preset}")
    if preset:
        for pair in CONFLICTS:
            if pair <= force:
                force = without(force, sorted(pair)[-1])
    for name in names:
        if name not in CHOICES:
            raise SystemExit(f"unknown choice {name}")
        force = with_choice(force, name)
    return force


def without(force, name):
    group = GROUPS[CHOICES[name].group]
    return (force - {name}) | {c.name for c in group if c.default}


def with_choice(force, name):
    return (force - {c.name for c in GROUPS[CHOICES[name].group]}) | {name}


class Ways:
    """The choices in force, and the bug, if any."""

    def __init__(self, force=None, mutant=None):
        self.force = defaults() if force is None else force
        self.mutant = mutant
        self.name = mutant.name if mutant else None
        self.hits = 0  # how often the bug had a chance to show
        self.memory = {}  # for bugs that keep what they should not

    def has(self, name):
        assert name in CHOICES, name
        return name in self.force

    def pick(self, group):
        """The choice of a group that is in force."""
        return next(c.name for c in GROUPS[group] if c.name in self.force)

    def bug(self, *names):
        if self.name in names:
            self.hits += 1
            return True
        return False

    def code(self, rule, default):
        """The code for a rule, unless the bug is another one."""
        if self.mutant:
            for prefix, code in self.mutant.codes.items():
                if rule.startswith(prefix):
                    self.hits += 1
                    return code
        return default

    def skips(self, rule):
        """Whether the bug is that this rule is left out."""
        if self.mutant and any(rule == s or (s.endswith("*") and rule.startswith(s[:-1])) for s in self.mutant.skip):
            self.hits += 1
            return True
        return False

    def order(self, steps):
        """The steps in the order of the bug: `moved` is (step, the step that it follows)."""
        if self.mutant and self.mutant.moved:
            step, after = self.mutant.moved
            if step in steps and after in steps:
                steps = [s for s in steps if s != step]
                steps.insert(steps.index(after) + 1, step)
        return steps

    def change(self, place, value, node, message=None):
        """Bugs that alter something that comes in or goes out. The function returns the new value, or None for no change."""
        if self.mutant and self.mutant.place == place:
            changed = self.mutant.change(value, node, message)
            if changed is not None:
                self.hits += 1
                return changed
        return value

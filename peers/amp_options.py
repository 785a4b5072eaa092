"""The choices that the rulings leave open to an AMP endpoint, and those in force.

A choice belongs to a group; one of each group is in force [default: the first]. A group of one choice
is a switch. `strict`: the choice also satisfies the strict profile. `lenient`: the result of a lenient run: pass, warn, or
undecided (a member is absent). Never fail. `disputed`: the register can be read against it; such a choice is never part of a
random set. `pending`: legal, and a known false positive of the harness; in no random set either until that is fixed. `target`: what the target file has to declare. `codes`: the code of a rule, a `*` at the end standing for any rest.
"""

import contextlib
import contextvars
import random
import time
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
    disputed: bool
    pending: bool = False
    codes: dict = field(default_factory=dict)
    target: dict = field(default_factory=dict)
    lacks: tuple = ()
    needs: tuple = ()
    excludes: tuple = ()
    role: str = "agent"

    def row(self):
        return {
            "name": self.name, "about": self.about, "errata": self.errata, "group": self.group, "default": self.default,
            "strict": self.strict, "lenient": self.lenient, "disputed": self.disputed, "pending": self.pending, "target": self.target,
            "needs": self.needs, "excludes": self.excludes, "role": self.role,
        }  # fmt: skip


CHOICES, GROUPS = {}, {}


def _group(group, errata, *options, role="agent"):
    """Options are (name, about, marks, more). Marks: * default, s not strict, w warning, u undecided, d disputed, p pending."""
    for option in options:
        name, about, marks, more = (*option, {})[:4]
        lenient = "warn" if "w" in marks else "undecided" if "u" in marks else "pass"
        assert name not in CHOICES, name
        choice = Choice(
            name, about, tuple(errata.split()), group, "*" in marks, not set(marks) & set("swd"), lenient, "d" in marks,
            "p" in marks, role=role, **more,
        )  # fmt: skip
        CHOICES[name] = choice
        GROUPS.setdefault(group, []).append(choice)


def _switch(errata, name, about, marks="", role="agent", **more):
    _group(name, errata, (name, about, marks, more), role=role)


def _codes(group, errata, rules, default, *codes, marks="", needs=()):
    """One choice for each further code that a rule may have."""
    for code in codes:
        name = f"{group}-{code}"
        _group("code-" + group, errata, (name, f"{group.replace('-', ' ')}: {code} instead of {default}.", marks, {"codes": {r: code for r in rules.split()}, "needs": needs}))


# --- Replies over HTTP --------------------------------------------------------------------------------------------------

# Pending: if every reply waits, thousands of them go through one poll, and answers exceed the time limit.
_group(
    "several-replies",
    "E70",
    ("several-in-batch", "Several replies to one message travel in one BATCH.", "*"),
    ("first-reply-rest-by-poll", "The first reply is the response, the others wait for the poll of their addressee.", "", {"target": {"reply": "poll"}}),
    ("replies-by-poll", "Every reply except ERROR waits for the poll; the status is 202.", "p", {"target": {"reply": "poll"}}),
    ("several-as-sequence", "Several replies are concatenated in the response body.", "d"),
)
_switch("E70", "single-in-batch", "A single reply is wrapped in a BATCH as well.", excludes=("several-as-sequence",))
_switch("E70", "batch-names-request", "The BATCH around replies names the request in reply_to.")
_switch("E32", "errors-by-poll", "An ERROR waits for the poll of the sender; the status is 202.", "d")
_switch("E70 E74", "poll-offered", "Polling is offered, but no message ever waits.")
_group(
    "status",
    "E71",
    ("status-200", "200 with any AMP message, ERROR too.", "*"),
    ("status-by-code", "400, 403, 404, 422, 429 or 503 with an ERROR, by its code.", ""),
    ("status-400-for-errors", "400 with every ERROR.", ""),
    ("status-422-for-errors", "422 with every ERROR.", ""),
    ("status-202-with-body", "202 with any AMP message.", ""),
    ("status-201", "201 with other messages than ERROR.", "w"),
)
_group(
    "no-reply",
    "E73",
    ("no-reply-202", "A message that needs no reply is answered  202 without a body.", "*"),
    ("no-reply-200", "A message that needs no reply is answered  200 without a body.", ""),
    ("no-reply-204", "A message that needs no reply is answered  204.", "w"),
)
_group(
    "malformed",
    "E32 E83",
    ("malformed-bare-400", "400 without a body if the sender is unreadable.", "*"),
    ("malformed-text", "400 with a plain text if the sender is unreadable.", "s"),
    ("malformed-problem-json", "400 with application/problem+json if the sender is unreadable.", "s"),
)
_switch("E83", "no-salvage", "The sender of a malformed message is not read, even if id and from precede the fault.", "d")
_switch("E32 E43", "error-without-id", "A readable sender gets an ERROR without reply_to if the id cannot be read.")
_switch("E32", "unresolved-bare", "A sender that cannot be resolved gets a bare refusal.", "u")
_group(
    "http-connection",
    "E70",
    ("keep-alive", "HTTP/1.1 with Content-Length, the connection stays.", "*"),
    ("close-every-response", "Connection: close with every response.", ""),
    ("close-after-eight", "The connection is closed silently after eight responses.", ""),
    ("http10-close", "HTTP/1.0 without Content-Length; the end of the connection is the end of the body.", ""),
    ("chunked", "Transfer-Encoding chunked with chunk extensions and a trailer.", ""),
)
_group(
    "http-headers",
    "E70 E78",
    ("usual-headers", "Header names in their usual case.", "*"),
    ("lower-case-headers", "Header names in lower case, WebSocket handshake too.", ""),
    ("many-headers", "Cookies, Vary and 4 KiB of padding.", ""),
)
_switch("E78", "media-type-parameters", "Content-Type: Application/CBOR; charset=binary.")
_switch("E70", "no-date", "No Date header; only received_at shows the clock.")
_switch("E70", "no-reason", "Empty reason phrase.")
_switch("E70", "early-hints", "103 Early Hints before the answer to each POST.")
_switch("E70", "http-in-pieces", "Responses are written seven bytes at a time.")
_switch("E70", "transport-version-header", "X-AMP-Transport-Version in responses.")
_group(
    "transport-version",
    "E78",
    ("transport-version-any", "X-AMP-Transport-Version is not checked.", "*s"),
    ("transport-version-400", "Another X-AMP-Transport-Version than 1 is refused with 400.", ""),
    ("transport-version-505", "Another X-AMP-Transport-Version than 1 is refused with 505.", ""),
)
_group(
    "media-type",
    "E78",
    ("media-type-any", "Any media type is read as CBOR.", "*s"),
    ("media-type-415", "Another media type than application/cbor: 415.", ""),
    ("media-type-400", "Another media type than application/cbor: 400.", ""),
)
_group(
    "pace",
    "E42",
    ("at-once", "Answers as soon as possible.", "*"),
    ("slow-300-ms", "Every answer takes 300 ms.", ""),
    ("slow-1500-ms", "Every answer takes 1.5 s.", ""),
    ("slow-at-random", "Answers take up to 400 ms, so that their order on a connection changes.", ""),
)
_group(
    "size",
    "E18 E77",
    ("size-16-mib", "Messages up to 16 MiB.", "*"),
    ("size-1-mib", "Messages up to 1048576 bytes exactly.", ""),
    ("size-64-mib", "Messages up to 64 MiB.", ""),
)

# --- Polling ------------------------------------------------------------------------------------------------------------

_group(
    "poll-page",
    "E74",
    ("poll-as-asked", "Pages of the requested size.", "*"),
    ("poll-pages-of-two", "Pages of two messages at most.", ""),
    ("poll-one-at-a-time", "One message per page.", ""),
)
_switch("E74", "poll-last-cursor-kept", "The last page has a cursor that leads to an empty page.")
_switch("E74", "poll-bad-cursor-first-page", "An unknown cursor gives the first page instead of 400.")
_switch("E74", "poll-nobody-400", "400 instead of 401 for a poll without a principal.")
_switch("E74", "poll-absent-404", "404 instead of 405 where polling is not offered.")

# --- Identity and documents ---------------------------------------------------------------------------------------------

_group(
    "identity",
    "E22",
    ("did-key", "did:key; the X25519 key is the derived one.", "*"),
    ("did-web", "did:web of host and port, document at /.well-known/did.json.", ""),
    ("did-web-path", "did:web with a path.", ""),
    ("did-web-localhost", "did:web of localhost and port.", ""),
)
WEB = {"needs": ("did-web",)}
_group(
    "document-keys",
    "E22",
    ("document-2020", "Ed25519VerificationKey2020 and X25519KeyAgreementKey2020.", "*"),
    ("document-jwk", "JsonWebKey2020.", "", WEB),
    ("document-jsonwebkey", "JsonWebKey.", "", WEB),
    ("document-base58", "The types of 2018 and 2019 with publicKeyBase58.", "", WEB),
    ("document-multikey", "Multikey.", "", WEB),
)
_switch("E22", "document-base64-multibase", "Multikey with base64url multibase (prefix u).", "d", **WEB)
_switch("E23", "document-relative-ids", "Method ids are relative: #key-1.", **WEB)
_switch("E23", "document-embedded", "Methods are in the relationships instead of verificationMethod.", **WEB)
_switch("E23", "document-several-methods", "A P-256 method with a smaller id and an old Ed25519 key with a larger one.", **WEB)
_switch("E23", "document-authentication-only", "No assertionMethod; the key is under authentication.", **WEB, excludes=("document-embedded", "document-several-methods"))
_switch("E44", "document-without-services", "The document has no service.")
_switch("E22", "two-agreement-keys", "Two keyAgreement methods, both of which decrypt.", **WEB)
_switch("E22", "agreement-derived", "The X25519 key of a did:web identity is the derived one.", **WEB)
_switch("E22", "no-encryption", "No keyAgreement; encrypted messages are refused with 3001.", "u", **WEB)
_group(
    "document-form",
    "E22",
    ("document-as-did-json", "application/did+json.", "*"),
    ("document-as-json", "application/json; charset=utf-8.", ""),
    ("document-as-ld", "application/did+ld+json.", ""),
)
_switch("E22", "document-indented", "The document is indented.")
_switch("E22", "no-document", "No document at /.well-known/did.json, as did:key needs none.", excludes=("did-web", "did-web-path", "did-web-localhost"))
_switch("E22", "documents-not-kept", "Documents of senders are fetched for every message.")
_switch("E21 E23", "from-with-fragment", "from of every reply names the method.")
_switch("E21", "reply-to-full-sender", "to of a reply keeps the fragment of the sender.")
_switch("E21", "fragment-in-to-refused", "to with a fragment does not name the target: 3001.", "s")
_switch("E23", "fragment-needs-assertion", "A fragment must be listed under assertionMethod.", "s")
_switch("E23", "fragments-not-resolved", "A from with a fragment cannot be looked up: 3001.", "d")
_switch("E23", "revoked-still-used", "A method marked as revoked is still used.", "s")
_switch("E23", "every-sender-agreement-key", "Boxes of every keyAgreement key of the sender are decrypted.", "s")

# --- Form of sent messages ----------------------------------------------------------------------------------------------

_group(
    "envelope",
    "E09",
    ("out-deterministic", "Deterministic envelope.", "*"),
    ("out-declaration-order", "Envelope keys in the order of the schema.", "s"),
    ("out-reverse-order", "Envelope keys in reverse order.", "s"),
    ("out-indefinite", "Envelope and body in indefinite lengths.", "s"),
    ("out-wide", "Integers in eight bytes.", "s"),
    ("out-unsorted-body", "The body on the wire is unsorted, signed in its sorted form.", "s"),
)
_switch("E07", "out-ext", "Replies have ext.")
_switch("E96", "out-unknown-member", "Replies have a member x-peer.", "s")
_switch("E19", "id-time-half-second-off", "The id is half a second older than ts.", "s")
_switch("E21", "to-as-array", "to of a reply is an array of one.")
_group(
    "out-ttl",
    "E42",
    ("out-ttl-minute", "Replies have a ttl of a minute.", "*"),
    ("out-ttl-day", "Replies have a ttl of 24 hours.", ""),
    ("out-ttl-month", "Replies have a ttl of 30 days.", ""),
    ("out-ttl-short", "Replies have a ttl of five seconds.", ""),
)
_group(
    "encrypted-replies",
    "E26",
    ("encrypted-answered-plain", "Replies are plain.", "*"),
    ("encrypted-answered-encrypted", "Replies to encrypted messages are encrypted.", ""),
    ("replies-always-encrypted", "All replies but ERROR are encrypted if the peer has a key.", ""),
)
_switch("E42", "no-thread-echo", "Replies have no thread_id.", "w")

# --- Reading ------------------------------------------------------------------------------------------------------------

_switch("E15 E88", "refuse-unknown-members", "Unknown envelope members: 1001.")
_group(
    "body-members",
    "E15 E34",
    ("bodies-open", "Unknown members of a body are ignored.", "*s"),
    ("bodies-closed", "Unknown members of a body are refused.", ""),
)
_group(
    "enc-members",
    "E15",
    ("enc-open", "Unknown members of enc are ignored.", "*s"),
    ("enc-closed", "Unknown members of enc: 1001.", ""),
)
_switch("E09", "refuse-indefinite", "Indefinite lengths: 1001.", "s")
_switch("E09", "refuse-wide", "Integers and lengths in a wider form: 1001.", "s")
_switch("E11", "refuse-floats", "Floats: 1001.", "s")
_switch("E11", "refuse-tags", "Tags: 1001.", "s")
_switch("E11", "refuse-simple-values", "Unassigned simple values: 1001.", "s")
_group(
    "depth",
    "E18",
    ("depth-150", "150 levels.", "*"),
    ("depth-64", "66 levels.", ""),
    ("depth-16", "16 levels.", "s"),
)
_group(
    "duplicates",
    "E16",
    ("duplicates-refused", "Duplicate keys: 1001.", "*"),
    ("duplicates-last-win", "The last of duplicate keys counts.", "s"),
    ("duplicates-first-win", "The first of duplicate keys counts.", "s"),
)
_switch("E18", "utf8-unchecked", "Text is not checked for UTF-8.", "s")
_switch("E15", "ext-unchecked", "ext may be anything.", "s")
_switch("E20", "reply-to-size-checked", "reply_to of another length than 16: 1001.")
_switch("E20", "thread-id-not-empty", "An empty thread_id: 1001.")
_switch("E21", "to-syntax-checked", "An entry of to that is not a DID: 1001.")
_switch("E34", "optional-types-unchecked", "Types of optional body members are not checked.", "s")
_group(
    "ping-body",
    "E34 E41",
    ("ping-body-ignored", "The body of PING is not checked.", "*s"),
    ("ping-body-refused", "PING with a body: 1001.", ""),
)
_switch("E09", "decrypted-must-be-sorted", "Decrypted bytes that are not deterministic: 1001.")
_switch("E27", "ttl-zero-lenient", "ttl 0 is accepted up to ten seconds late.")
_switch("E30", "ttl-limited", "A ttl above 400 days: 1003.", "s")
_group(
    "order",
    "E31",
    ("order-of-register", "The strict order.", "*"),
    ("order-signature-first", "Key, box and signature before version, time and recipient.", ""),
    ("order-type-first", "The type before everything else.", "s"),
    ("order-recipient-first", "The recipient first, time last.", ""),
    ("order-reversed", "Recipient, time, version.", ""),
)
_group(
    "for-others",
    "E25",
    ("for-others-3001", "A message for another recipient: 3001.", "*"),
    ("for-others-2001", "A message for another recipient: 2001.", "", {"codes": {"for-others": 2001}}),
    ("for-others-silent", "A message for another recipient is dropped.", ""),
)

# --- Codes that the register tolerates ----------------------------------------------------------------------------------

_codes("missing-v", "E31", "missing-v", 1001, 1004)
_codes("missing-sig", "E31", "missing-sig", 1001, 1002)
_codes("type-v", "E31", "type-v", 1001, 1004)
_codes("type-typ", "E31", "type-typ", 1001, 1005)
_codes("type-ts", "E31", "type-ts", 1001, 1003)
_codes("type-sig", "E31", "type-sig", 1001, 1002)
_codes("sig-size", "E20", "sig-size", 1001, 1002)
_codes("empty-to", "E31", "empty-to", 1001, 3001, 2001)
_codes("enc-shape", "E20", "enc-missing-* enc-type-*", 1001, 3001)
_codes("enc-alg", "E20", "enc-alg", 1001, 3001)
_codes("enc-mode", "E20", "enc-mode", 1001, 3001)
_codes("enc-nonce", "E20", "enc-nonce-size", 1001, 3001)
_codes("enc-without-ttl", "E35", "missing-ttl-beside-enc", 1001, 3001)
_codes("enc-short", "E31", "enc-short", 3001, 1001)
_codes("id-time", "E19", "id-time", 1001, 1003)
_codes("from-unresolved", "E24", "from-unresolved", 3001, 2001, 1002, 1001)
_codes("unknown-fragment", "E24", "unknown-fragment", 3001, 1002)
_codes("expired", "E29", "expired", 1003, 2004, marks="w")
_codes("type-above-255", "E37", "type-above-255", 1005, 1001)
_codes("hello-version", "E52", "hello-version", 1004, 1001)
_codes("version-zero", "E31", "version-zero", 1004, 1001)
_codes("application-schema", "E34", "schema-app schema-app-map", 4001, 1001, 4004)
_codes("protocol-schema", "E34", "schema-protocol schema-protocol-map batch-item-type batch-empty batch-nested", 1001, 4001, 4004)
_codes("hello-schema", "E34 E52", "schema-hello-*", 1001, 4001, 4004)
_codes("stream-error", "E60", "stream-*", 4001, 1001, 4004, 5001, 5004)
_codes("document-selector", "E61", "document-selector", 4001, 4004, 1001)
_codes("document-mismatch", "E61", "document-mismatch", 4001, 4004, 1001, needs=("failures-are-errors",))
_codes("duplicate", "E16", "duplicate-body-key duplicate-key", 1001, 1002, marks="s")
_codes("delegation-garbage", "E89", "delegation-invalid", 3004, 4001, needs=("delegation-garbage-refused",))
_codes("reused-id", "E47", "id-reused", 1001, 1002, 4001)
_codes("before-hello", "E72", "before-hello", 1004, 1001)
_codes("application-failed", "E33", "app-failed", 5001, 4001, 5900, 4900, needs=("failures-are-errors",))
_codes("untrusted-ack", "E04", "ack-not-relay", 1001, 3001, marks="s", needs=("untrusted-ack-refused",))
_codes("contact", "E39 E69", "type-of-companion", 1005, 3003, 4900)

# --- ERROR --------------------------------------------------------------------------------------------------------------

_group(
    "category",
    "E33",
    ("category-lower", "Category in lower case.", "*"),
    ("category-capitalised", "Category with a capital letter.", "s"),
    ("category-upper", "Category in capitals.", "s"),
)
_group(
    "error-text",
    "E33",
    ("error-text-short", "A short message.", "*"),
    ("error-text-empty", "An empty message.", ""),
    ("error-text-code-name", "The name of the code.", ""),
    ("error-text-long", "A message of more than a thousand letters.", ""),
    ("error-text-unicode", "A message with letters of several scripts, markup and control characters.", ""),
)
_group(
    "details",
    "E33",
    ("details-absent", "No details.", "*"),
    ("details-text", "details is text.", ""),
    ("details-map", "details is a map.", ""),
    ("details-null", "details is null.", ""),
    ("details-list", "details is an array of all kinds of values.", ""),
)
_switch("E33", "no-retry", "No retry member.")
_switch("E33", "retry-2003-false", "retry false with 2003.")
_group(
    "bad-control",
    "E32",
    ("bad-control-bare", "A bare refusal of a bad ACK, PROC or ERROR.", "*s"),
    ("error-for-bad-ack", "ERROR for a bad ACK or PROC, a bare refusal of a bad ERROR.", ""),
    ("error-for-bad-control", "ERROR for a bad ACK, PROC or ERROR too.", "s"),
    ("bad-control-silent", "A bad ACK, PROC or ERROR is not answered; 202 over HTTP.", ""),
)
_switch("E32", "error-answers-error", "A valid ERROR is answered by one ERROR.", "s")

# --- Acknowledgement ----------------------------------------------------------------------------------------------------

_group(
    "acknowledgement",
    "E42",
    ("ack-explicit", "ACK, and other answers after it.", "*"),
    ("ack-implicit", "PROC_OK, RESPONSE or PROC_FAIL replace the ACK.", "", {"target": {"ack": "implicit"}}),
    ("ack-with-proc-ok", "ACK and PROC_OK for messages without another answer.", ""),
    ("answer-before-ack", "RESPONSE or DOC_SEND before the ACK.", ""),
)
_group(
    "ack-target",
    "E45",
    ("ack-target-for-several", "ack_target if there are several recipients.", "*"),
    ("ack-target-always", "ack_target in every ACK.", ""),
    ("ack-target-for-arrays", "ack_target if to is an array.", ""),
    ("ack-target-never", "No ack_target.", "w"),
)
_switch("E45", "ack-target-as-addressed", "ack_target as in to, fragment included.", needs=("ack-target-always",))
_group(
    "received-at",
    "E07",
    ("received-now", "The time of receipt.", "*"),
    ("received-half-second-later", "Half a second later than the ACK.", ""),
    ("received-whole-seconds", "Whole seconds, in milliseconds.", ""),
    ("received-earlier", "20 seconds ago.", ""),
)
_switch("E42", "acks-everything", "ACK for ACK, ERROR, PROC and PONG as well.", "s", excludes=("error-answers-error",))
_switch("E42", "responses-not-acked", "RESPONSE gets no ACK.")
_switch("E04", "untrusted-ack-refused", "An ACK of an untrusted relay is refused.")
_group(
    "pong",
    "E41",
    ("pong-alone", "PONG for PING.", "*"),
    ("ack-beside-pong", "ACK, then PONG.", ""),
    ("pong-then-ack", "PONG, then ACK.", ""),
)
_group(
    "request",
    "E40",
    ("request-response", "RESPONSE for REQUEST.", "*"),
    ("request-proc-ok", "PROC_OK for REQUEST.", ""),
    ("request-response-and-proc", "RESPONSE and PROC_OK for REQUEST.", ""),
    ("request-ack-only", "ACK alone for REQUEST.", "w"),
)
_switch("E40", "unknown-op-fails", "A REQUEST with an unknown operation fails.")
_group(
    "failure",
    "E40 E61",
    ("failures-are-proc-fail", "PROC_FAIL for failures of the application.", "*"),
    ("failures-are-errors", "ERROR for failures of the application.", ""),
    ("ack-then-error", "ACK, then ERROR, for failures of the application.", ""),
)
_switch("E34", "proc-ok-details", "PROC_OK has details.", needs=("ack-with-proc-ok",))
_switch("E34", "proc-fail-empty", "PROC_FAIL has an empty map.")

# --- Repeats ------------------------------------------------------------------------------------------------------------

_group(
    "repeat",
    "E47",
    ("replay-identical", "A repeat gets the same bytes.", "*"),
    ("replay-rebuilt", "A repeat gets a new message with the same body.", "s"),
)
_switch("E47", "replay-received-again", "A rebuilt ACK has a new received_at.", "s", needs=("replay-rebuilt",))
_switch("E47", "replay-served-unverified", "A forged repeat gets the cached reply.", "s")
_group(
    "memory",
    "E46",
    ("replay-later-of-both", "Ids are kept until the later of ts + ttl and receipt + ttl.", "*"),
    ("replay-from-receipt", "Ids are kept for ttl from receipt.", "s"),
    ("replay-until-expiry", "Ids are kept until ts + ttl.", ""),
)
_switch("E47", "reused-id-cached", "An id reused for other content gets the cached reply.")
_switch("E21", "replay-key-full-sender", "The fragment of from is part of the key of the cache.", "s")
_switch("E47", "errors-remembered", "ERRORs about the content are cached.")

# --- Negotiation --------------------------------------------------------------------------------------------------------

_group(
    "selection",
    "E51 E91",
    ("select-highest", "The highest supported version that is offered.", "*"),
    ("select-first-offered", "The first supported version that is offered.", ""),
    ("select-last-offered", "The last supported version that is offered.", ""),
    ("select-lowest", "The lowest supported version that is offered.", ""),
    ("select-own-string", "1.0, for any spelling of the offer.", "s"),
)
_switch("E43", "hello-answer-without-reply-to", "HELLO_ACK and HELLO_REJECT without reply_to.", "s")
_switch("E42", "ack-beside-hello-ack", "ACK after HELLO_ACK.")
_group(
    "reject-body",
    "E52",
    ("reject-with-reason", "HELLO_REJECT has a reason.", "*"),
    ("reject-without-reason", "HELLO_REJECT has an empty map.", ""),
    ("reject-null", "HELLO_REJECT has a null body.", "s"),
)
_switch("E52", "hello-empty-rejected", "An empty list of versions: HELLO_REJECT.")
_switch("E52 E85", "hello-version-reject", "HELLO with another v: HELLO_REJECT.")
_switch("E50", "hello-bad-entries-skipped", "Entries that are not versions are skipped.")
_group(
    "second-hello",
    "E53",
    ("second-hello-answered", "A second HELLO on a connection is answered like the first.", "*"),
    ("second-hello-refused", "A second HELLO on a connection: 1001.", ""),
    ("second-hello-ignored", "A second HELLO on a connection gets no answer.", "s"),
)
_group(
    "hello-members",
    "E34",
    ("hello-members-ignored", "agent_info and extensions are not checked.", "*s"),
    ("agent-info-checked", "agent_info without name, and members of HELLO of another type: 1001.", ""),
)
_group(
    "before-hello",
    "E72 E84",
    ("before-hello-error", "ERROR before HELLO, the connection stays.", "*"),
    ("before-hello-error-and-close", "ERROR before HELLO, then close.", ""),
    ("before-hello-closes", "The connection is closed.", "u"),
    ("before-hello-transport-error", "Transport ERROR and close (TCP).", ""),
)
_switch("E72", "before-hello-1008", "WebSocket close 1008 instead of 1002 before HELLO.", needs=("before-hello-closes",))

# --- Unsupported types --------------------------------------------------------------------------------------------------

for _name, _types in (
    ("ping", "PING"),
    ("request", "REQUEST"),
    ("response", "RESPONSE"),
    ("proc", "PROC_OK PROC_FAIL PONG"),
    ("batch", "BATCH"),
    ("streams", "STREAM_START STREAM_DATA STREAM_END"),
    ("documents", "DOC_SEND DOC_REQUEST"),
    ("credentials", "CRED_ISSUE CRED_REQUEST CRED_PRESENT CRED_VERIFY"),
    ("delegation", "DELEG_GRANT DELEG_REVOKE DELEG_QUERY"),
    ("extension", "EXTENSION"),
):
    _full = _name in ("streams", "documents", "credentials", "delegation")  # only in full (E65)
    _switch(
        "E39", "without-" + _name, f"1005 for {_types.replace(' ', ', ')}.", "u",
        lacks=tuple(_types.split()), target={"level": "binding"} if _full else {},
    )  # fmt: skip
_switch("E39 E69", "capabilities-answered", "CAP_QUERY gets CAP_DECLARE, CAP_INVOKE 4002.")

# --- Batch --------------------------------------------------------------------------------------------------------------

_group(
    "batch-container",
    "E55",
    ("batch-container-not-acked", "No ACK for the container.", "*"),
    ("batch-container-acked", "ACK for the container first.", ""),
    ("batch-container-acked-last", "ACK for the container last.", ""),
    ("batch-container-only", "Only the container is acknowledged.", "wd"),
)
_switch("E55", "nested-batch-refused", "A batch in a batch: ERROR.")
_switch("E55", "bad-item-silent", "An item that cannot be decoded is ignored.")
_switch("E55", "no-batch-index", "ERROR for such an item without batch_index.")
_switch("E55", "bad-item-alone", "An item that is not a byte string fails alone.")
_switch("E55", "batch-reverse", "Items are processed from the last to the first.", "w")

# --- Streams, documents, credentials, delegation ------------------------------------------------------------------------

_switch("E56", "stream-plain-acks", "Plain ACKs for STREAM_START and STREAM_DATA.")
_switch("E56", "stream-end-acked-too", "A plain ACK for STREAM_END before the final one.")
_switch("E56", "stream-proc-ok", "PROC_OK after the final ACK.")
_switch("E56", "no-chunks-received", "No chunks_received in the final ACK.")
_switch("E56", "stream-failure-ack", "A failed stream ends in an ACK with verified false.", "s")
_switch("E60", "stream-failure-5001", "A failed stream ends in 5001.", "w")
_switch("E60", "stream-unknown-silent", "Chunks of unknown streams are dropped.")
_switch("E57", "stream-surplus-ignored", "Chunks beyond the count are ignored.")
_switch("E58", "stream-numbers-unchecked", "Contradictions in STREAM_START are found at the end only.", "s")
_switch("E58", "stream-empty-refused", "An empty stream: 4001.")
_switch("E59", "stream-any-hash-name", "hash_algo is not checked.", "s")
_switch("E57", "stream-waits-for-chunks", "STREAM_END waits 0.8 s for late chunks.")
_switch("E61", "documents-unchecked", "Size and hash of DOC_SEND are not compared.", "s")
_switch("E42", "documents-proc-ok", "PROC_OK after the ACK for DOC_SEND.")
_switch("E61", "document-unknown-4004", "4004 for an unknown document.", needs=("failures-are-errors",))
_switch("E42", "credentials-proc-ok", "PROC_OK after the ACK for credentials.")
_switch("E60", "credential-formats-known", "Unknown credential formats: 4004.")
_switch("E42", "delegation-proc-ok", "PROC_OK after the ACK for delegations.")
_switch("E89", "delegation-garbage-refused", "An invalid credential: 3004.")
_switch("E89", "delegation-unknown-refused", "DELEG_REVOKE and DELEG_QUERY of an unknown id: 3004.")
_group(
    "delegation-expiry",
    "E34",
    ("delegation-expiry-any-text", "expires may be any text.", "*s"),
    ("delegation-expiry-checked", "expires that is not a time stamp: 4001.", ""),
)
_group(
    "chunk-sizes",
    "E58",
    ("chunks-of-any-size", "A chunk in the middle may be shorter than announced, as long as the total is right.", "*s"),
    ("chunk-sizes-checked", "A chunk in the middle that is shorter than announced: 4001.", ""),
)
_group(
    "document-size",
    "E61",
    ("documents-any-size", "DOC_SEND of any size is accepted and sent.", "*s"),
    ("documents-inline-limited", "DOC_SEND with more than a mebibyte: 4001.", ""),
)

# --- WebSocket ----------------------------------------------------------------------------------------------------------

_switch("E70", "ws-fragments", "Messages go out in four fragments, one empty, with a ping between.")
_switch("E70", "ws-pings-after-replies", "A ping after every reply.")
_switch("E70", "ws-greets-with-ping", "A ping before anything else.")
_switch("E70", "ws-close-without-code", "The close is answered without a code.")
_switch("E70", "ws-one-at-a-time", "Messages of a connection are processed sequentially.")
_switch("E77", "ws-size-header", "X-AMP-Max-Message-Size in the handshake.")
_switch("E100", "ws-size-effective", "The smaller limit declared at the upgrade is the maximum [default: 1 MiB].", needs=("ws-size-header",))
_switch("E71", "ws-close-after-error", "The connection is closed with 1008 after every ERROR.", "u")
_group(
    "ws-refusal",
    "E72",
    ("ws-refuses-400", "400 without amp.v1.", "*"),
    ("ws-refuses-426", "426 without amp.v1.", ""),
    ("ws-refuses-403", "403 without amp.v1.", ""),
    ("ws-refuses-by-close", "101 without a subprotocol and an immediate close 1002.", ""),
)
_group(
    "ws-text",
    "E72",
    ("ws-text-1003", "Text messages: close 1003.", "*"),
    ("ws-text-1002", "Text messages: close 1002.", "s"),
    ("ws-text-1007", "Text messages: close 1007.", "s"),
    ("ws-text-1008", "Text messages: close 1008.", "s"),
    ("ws-text-error", "Text messages: ERROR 1001.", "s"),
)
_group(
    "ws-malformed",
    "E32",
    ("ws-malformed-1002", "Close 1002 if the sender is unreadable.", "*"),
    ("ws-malformed-1007", "Close 1007 if the sender is unreadable.", ""),
    ("ws-malformed-1008", "Close 1008 if the sender is unreadable.", ""),
    ("ws-malformed-1003", "Close 1003 if the sender is unreadable.", ""),
    ("malformed-error-to-peer", "ERROR 1001 to the peer of the connection, without reply_to, if the sender is unreadable.", ""),
)

# --- TCP ----------------------------------------------------------------------------------------------------------------

_switch(
    "E72", "tcp-bare-frames", "Frames without a type byte: no handshake, and only messages.", "u",
    target={"frames": "bare"}, excludes=("tcp-pings", "tcp-goaway-before-close"),
)  # fmt: skip
_switch("E72", "tcp-in-pieces", "Frames are written three bytes at a time.")
_switch("E72", "tcp-pings", "A PING frame after every message.")
_switch("E72", "tcp-one-at-a-time", "Messages of a connection are processed sequentially.")
_switch("E72", "tcp-handshake-extensions", "The handshake response has extensions.")
_switch("E72", "tcp-refusal-without-text", "A refused handshake without error.", "w")
_switch("E72", "tcp-handshake-two-seconds", "Two seconds for the handshake.", "s")
_switch("E72", "tcp-second-handshake-ignored", "A second handshake is ignored.")
_switch("E72", "tcp-goaway-goes-on", "Service continues after GOAWAY.")
_switch("E72", "tcp-goaway-before-close", "GOAWAY before every close.")
_switch("E71", "tcp-close-after-error", "The connection is closed after every ERROR.", "u")
_group(
    "tcp-errors",
    "E72",
    ("tcp-error-frame", "ERROR frame, then close.", "*"),
    ("tcp-errors-close-only", "Close without an ERROR frame.", "u"),
)
_switch("E72", "tcp-malformed-goes-on", "ERROR frame without close for a malformed message.", excludes=("tcp-errors-close-only", "tcp-bare-frames"))
_group(
    "tcp-unknown-frame",
    "E72",
    ("tcp-unknown-frame-silent", "Unknown frame types are ignored.", "*"),
    ("tcp-unknown-frame-error", "Unknown frame types: ERROR frame.", ""),
    ("tcp-unknown-frame-closes", "Unknown frame types: close.", ""),
)

# --- Relay --------------------------------------------------------------------------------------------------------------

_switch("E90", "relay-adds-ext", "The relay adds to ext.", "s", role="relay")
_switch("E49", "relay-does-not-verify", "The relay does not verify messages that it forwards.", role="relay")
_switch("E49", "relay-keeps-confirmed", "The relay keeps messages after the ACK of the recipient.", role="relay")
_switch("E49", "relay-poll-only", "Connections get only messages that arrive while they are open.", role="relay")
_switch("E30", "relay-ttl-limited", "A ttl above 30 days: 2003.", role="relay")
_switch("E30", "relay-ttl-4001", "A ttl above 30 days: 4001.", role="relay", codes={"relay-ttl": 4001}, needs=("relay-ttl-limited",))
_switch("E29", "relay-expired-2004", "2004 for a message that expired before its arrival.", role="relay", codes={"relay-expired": 2004})
_switch("E24", "relay-stores-unknown", "Messages for DIDs that cannot be resolved are stored.", role="relay")
_switch("E27", "no-ttl-details", "2003 for ttl 0 without details.", "s", role="relay")
_switch("E42", "relay-silent", "The relay sends no ACK.", "u", role="relay")

# --- Initiator ----------------------------------------------------------------------------------------------------------

_switch("E48", "retry-literal-formula", "Waits of 2, 4, 8, 16 s instead of 1, 2, 4, 8 s.", "s", role="initiator")


def chosen(names=(), preset=None, roles=("agent", "initiator")):
    """The set of names in force: the defaults, overridden by a preset, overridden by the named choices."""
    force = {c.name for c in CHOICES.values() if c.default}
    picked = []
    if preset and preset.startswith("random:"):
        dice = random.Random(preset)
        for group in GROUPS.values():
            options = [c for c in group if not c.disputed and not c.pending and c.role in roles]
            if options and not any(c.default for c in group):
                options += [None] * 3  # most switches are off
            choice = dice.choice(options) if options else None
            if choice and not choice.default:
                picked.append(choice.name)
        dice.shuffle(picked)
    elif preset == "strict":
        for group in GROUPS.values():
            if any(c.default and not c.strict for c in group):
                picked += [c.name for c in group if c.strict][:1]
    elif preset == "tolerated":
        for group in GROUPS.values():
            picked += [c.name for c in group if not c.strict and not c.disputed and not c.pending and c.role in roles and not c.default][:1]
    elif preset:
        raise SystemExit(f"unknown preset {preset}")
    for name in picked:
        choice = CHOICES[name]
        asked = [CHOICES[n] for n in choice.needs]
        if any(not n.default and n.name not in force for n in asked) and preset.startswith("random:"):
            if any(c.excludes and n.name in c.excludes for n in asked for c in (CHOICES[f] for f in force)):
                continue
        _take(force, choice, soft=True)
    for name in names:
        if name not in CHOICES:
            raise SystemExit(f"unknown choice {name}")
        _take(force, CHOICES[name], soft=False)
    return force


def _take(force, choice, soft):
    others = {c.name for c in CHOICES.values() if c.name in force and (c.name in choice.excludes or choice.name in c.excludes)}
    if others and soft:
        return
    force -= others
    for need in choice.needs:
        if need not in force and not (need == "did-web" and force & {"did-web-path", "did-web-localhost"}):
            _take(force, CHOICES[need], soft)
    force -= {c.name for c in GROUPS[choice.group]}
    force.add(choice.name)


LACKING = frozenset(
    "CAP_QUERY CAP_DECLARE CAP_INVOKE CAP_RESULT CONTACT_REQUEST CONTACT_RESPONSE CONTACT_REVOKE PRESENCE PRESENCE_QUERY "
    "PRESENCE_SUB PRESENCE_UNSUB PROCESSING PROGRESS INPUT_REQUIRED".split()
)


class Taken:
    """The message that is taken in the current task, its channel, and whether it is an item of a batch."""

    current = contextvars.ContextVar("taken")

    def __init__(self, channel, batch):
        self.channel, self.batch, self.message = channel, batch, None

    @classmethod
    def now(cls):
        return cls.current.get(None) or cls(None, None)

    @property
    def typ(self):
        return getattr(self.message, "typ", None)

    @property
    def encrypted(self):
        return getattr(self.message, "encrypted", False)

    @property
    def fields(self):
        return getattr(self.message, "fields", {})

    def over(self, *kinds):
        return getattr(self.channel, "kind", None) in kinds


class Ways:
    """The choices in force, the bug if there is one, and the clock."""

    def __init__(self, force, mutant=None):
        from amp_message import Refusal

        self.refusal = Refusal
        self.force, self.mutant = frozenset(force), mutant
        self.name = mutant.name if mutant else None
        self.hits = 0
        self.offset_ms, self.frozen_ms = 0, None
        self.trusted_relays = []
        self.exact, self.prefixes = {}, []
        tables = [CHOICES[n].codes for n in sorted(force) if n in CHOICES] + ([mutant.codes] if mutant else [])
        for table in tables:
            for rule, code in table.items():
                if rule.endswith("*"):
                    self.prefixes.append((rule[:-1], code))
                else:
                    self.exact[rule] = code
        self.missing = {t for n in force for t in CHOICES[n].lacks}
        if "capabilities-answered" in force:
            self.missing -= {"CAP_QUERY", "CAP_INVOKE"}
            self.given = {"CAP_QUERY", "CAP_INVOKE"}
        else:
            self.given = set()
        self.sig_active = False
        self.max_size = {"size-1-mib": 1 << 20, "size-64-mib": 64 << 20}.get(
            next((n for n in force if n.startswith("size-")), ""), 16 << 20
        )

    def now(self):
        if self.frozen_ms is not None:
            return self.frozen_ms
        return int(time.time() * 1000) + self.offset_ms

    def has(self, name):
        assert name in CHOICES, name
        return name in self.force

    def bug(self, name):
        if name == self.name:
            self.hits += 1
            return True
        return False

    def code(self, rule, default):
        code = self.exact.get(rule)
        if code is None:
            code = next((c for prefix, c in self.prefixes if rule.startswith(prefix)), default)
        if self.mutant and code in self.mutant.codes.values():
            self.hits += 1
        return code

    def refuse(self, rule, code, details=None):
        """Refuses the message, unless the bug is that this rule is left out."""
        if self.mutant and rule in self.mutant.skip and (self.mutant.where is None or self.mutant.where(Taken.now())):
            self.hits += 1
            return
        raise self.refusal(rule, self.code(rule, code), details)

    def lacks(self, name):
        if self.mutant and name in self.mutant.lacks:
            self.hits += 1
            return True
        return name in self.missing or (name in LACKING and name not in self.given)

    # A bug of Sig_Input concerns what is signed (out), what is verified too (both), or is a second form that is taken (either).

    def sig_bug(self, name):
        if self.mutant and self.mutant.sig == name and self.sig_active:
            self.hits += 1
            return True
        return False

    @contextlib.contextmanager
    def signing(self):
        before, self.sig_active = self.sig_active, bool(self.mutant and self.mutant.side in ("out", "both"))
        try:
            yield
        finally:
            self.sig_active = before

    @contextlib.contextmanager
    def _active(self, value):
        before, self.sig_active = self.sig_active, value
        try:
            yield
        finally:
            self.sig_active = before

    def verifying(self):
        side = self.mutant.side if self.mutant else None
        if side == "either":
            return [self._active(False), self._active(True)]
        return [self._active(side in ("both", "in"))]

    def change(self, place, value, name, node):
        """Bugs that alter something before it goes out."""
        if self.mutant and self.mutant.place == place:
            if self.mutant.change(value, name, node):
                self.hits += 1

    def change_list(self, place, replies):
        if self.mutant and self.mutant.place == place:
            if self.mutant.change(replies, "", None):
                self.hits += 1

"""The choices that the rulings on meshai leave open, and `Ways`, which returns those in force.

A choice belongs to a group; one of each group is in force. A group of one choice is a switch. `strict` says whether the
choice also satisfies the strict profile; `lenient` is the expected result of a lenient run: `pass`, `warn` or `undecided` (a
check may stay inconclusive or not claimed). Never `fail`. `kinds` says where it shows. `target` is what the target file has to
declare: keys of `settings`, and `features` and `level`.
"""

import random
from dataclasses import dataclass, field

KINDS = ("agent", "registry", "mesh", "client")


@dataclass(frozen=True)
class Choice:
    name: str
    about: str
    errata: tuple
    group: str
    default: bool
    strict: bool
    lenient: str
    kinds: tuple
    target: dict = field(default_factory=dict)

    def row(self):
        return {
            "name": self.name, "about": self.about, "errata": list(self.errata), "group": self.group, "default": self.default,
            "strict": self.strict, "lenient": self.lenient, "kinds": list(self.kinds), "target": self.target,
        }  # fmt: skip


CHOICES = {}
GROUPS = {}


def _group(name, errata, *options):
    """Options are (name, about, marks) or (name, about, marks, target). Marks: * default, s not strict, w warning, u
    undecided; where it shows: a agent and mesh, r registry and mesh, c client; without these letters everywhere but at a client."""
    for option, about, marks, *target in options:
        lenient = "warn" if "w" in marks else "undecided" if "u" in marks else "pass"
        strict = "s" not in marks and "w" not in marks
        kinds = ("client",) if "c" in marks else ("agent", "mesh") if "a" in marks else ("registry", "mesh") if "r" in marks else KINDS[:3]
        choice = Choice(option, about, tuple(errata.split()), name, "*" in marks, strict, lenient, kinds, *target)
        assert option not in CHOICES, option
        CHOICES[option] = choice
        GROUPS.setdefault(name, []).append(choice)


# --- The envelope -----------------------------------------------------------------------------------------------------

_group(
    "identifiers", "E01 E104",
    ("serves-both", "AMP/1.0 and AIP/1.0 are served.", "*"),
    ("serves-amp-only", "Only AMP/1.0 is served.", "s"),
    ("serves-aip-only", "Only AIP/1.0 is served.", "s"),
)  # fmt: skip
_group(
    "reply-identifier", "E01",
    ("identifier-of-request", "A reply has the identifier of its request.", "*"),
    ("identifier-amp", "Every reply says AMP/1.0.", "s"),
    ("identifier-aip", "Every reply says AIP/1.0.", "s"),
)  # fmt: skip
_group(
    "reply-destination", "E02 E21 E06",
    ("destination-requester", "A reply is addressed to the requester.", "*"),
    ("destination-with-capability", "The destination of a reply names the capability as well.", ""),
    ("destination-none", "A reply has no destination.", "s"),
    ("destination-null", "The destination of a reply is null.", "s"),
    ("destination-of-nobody", "The agent_id of the destination of a reply is null.", "s"),
    ("destination-empty", "The destination of a reply is an empty object.", "s"),
)  # fmt: skip
_group(
    "reply-headers", "E02 E15",
    ("headers-full", "A reply has correlation_id, priority, timeout_ms and routing_hints.", "*"),
    ("headers-of-request", "A reply repeats priority, timeout_ms and routing_hints of its request.", ""),
    ("headers-correlation-only", "A reply has no header but correlation_id.", "s"),
)  # fmt: skip
_group("nulls", "E06", ("optional-members-null", "Optional members without a value are written as null.", "s"))
_group("reply-session", "E22", ("session-returned", "The source of a reply has the session_id of its request.", ""))
_group("reply-extras", "E07", ("reply-with-extras", "A reply has members that the structure does not show, at each level.", ""))
_group(
    "reply-id", "E10",
    ("id-uuid", "Message ids are UUIDs.", "*"),
    ("id-counter", "Message ids are a word of the process and a number.", ""),
    ("id-long", "Message ids are long texts with characters beyond ASCII.", ""),
)  # fmt: skip
_group(
    "timestamps", "E11",
    ("time-seconds", "Time stamps are whole seconds with Z.", "*"),
    ("time-milliseconds", "Time stamps have milliseconds and Z.", ""),
    ("time-python", "Time stamps have microseconds and +00:00.", "s"),
    ("time-offset", "Time stamps have the offset +05:30.", "s"),
    ("time-nanoseconds", "Time stamps have nine digits of a second and Z.", ""),
    ("time-lower-case", "Time stamps have lower-case t and z.", "s"),
)  # fmt: skip
_group(
    "correlation", "E13",
    ("correlates-by-id", "correlation_id of a reply is the id of the request.", "*"),
    ("correlates-by-header", "correlation_id of a reply is that of the request, or its id.", "s"),
)  # fmt: skip
_group(
    "error-correlation", "E14",
    ("errors-correlate", "Errors carry a correlation_id.", "*"),
    ("errors-uncorrelated", "Errors over HTTP have no correlation_id.", "s"),
    ("errors-without-headers", "Errors over HTTP have no headers.", "s"),
    ("errors-null-correlation", "Errors over HTTP have the correlation_id null.", "s"),
)  # fmt: skip
_group("error-destination", "E21", ("errors-without-destination", "Errors have no destination.", "s"))

_group("lacks-id", "E02", ("no-id-taken", "A request without id is served.", "s"))
_group("lacks-timestamp", "E02", ("no-timestamp-taken", "A request without timestamp is served.", "s"))
_group("lacks-source", "E02", ("no-source-taken", "A request without source is served.", "s"))
_group("lacks-destination", "E02 E20", ("no-destination-taken", "A request without destination is served.", "s"))
_group("lacks-headers", "E02 E15", ("no-headers-taken", "A request without headers is served.", ""))
_group("bad-timestamp", "E11 E100", ("any-timestamp-taken", "A malformed timestamp is not refused.", "s"))
_group(
    "priority", "E16",
    ("priority-1-to-10", "Priorities from 1 to 10 are taken.", "*"),
    ("priority-any", "Any priority is taken.", "s"),
    ("priority-0-to-9", "Priorities from 0 to 9 are taken.", "s"),
)  # fmt: skip
_group(
    "timeout-range", "E17",
    ("timeout-positive", "timeout_ms has to be a positive integer.", "*"),
    ("timeout-published", "timeout_ms has to be 1000 to 300000.", ""),
    ("timeout-any", "Any timeout_ms is taken; what is not a positive number counts as the default.", "s"),
)  # fmt: skip
_group("unknown-members", "E07", ("unknown-members-refused", "Members outside the structure are refused, but for the three of section 3.2 and 7.2.", "s"))
_group("repeated-id", "E09 E96", ("repeat-refused", "A second message with the same id of one source is refused.", ""))
_group("stale", "E12", ("stale-refused", "A message that is older than a minute, or from the future, is refused.", ""))
_group("id-limits", "E10", ("published-limits", "Ids beyond the published lengths and alphabets are refused.", ""))
_group("type-case", "E04", ("type-any-case", "The type is read in any case.", "s"))
_group(
    "minor-version", "E86",
    ("minor-served", "A newer minor version is served, and answered in 1.0.", "*"),
    ("minor-refused", "A newer minor version is refused.", "s"),
    ("speaks-1-1", "1.1 is served and answered in 1.1, as the highest common version.", "s"),
)  # fmt: skip
_group(
    "version-code", "E62 E86",
    ("version-code-schema", "An unsupported version gets INVALID_SCHEMA and the supported ones.", "*"),
    ("version-code-own", "An unsupported version gets UNSUPPORTED_VERSION.", "s"),
    ("version-bare", "An unsupported version gets 400 without a body.", "s"),
)  # fmt: skip
_group(
    "malformed-code", "E65 E62",
    ("malformed-schema", "A malformed message gets INVALID_SCHEMA.", "*"),
    ("malformed-own", "A malformed message gets VALIDATION_ERROR.", "s"),
    ("malformed-bare", "A malformed message gets 400 and a text.", "s"),
)  # fmt: skip
_group(
    "not-json", "E65",
    ("not-json-envelope", "What is not JSON gets an error message.", "*"),
    ("not-json-bare", "What is not JSON gets 400 without a body.", ""),
    ("not-json-problem", "What is not JSON gets 400 and an object that is not a message.", ""),
)  # fmt: skip
_group(
    "duplicates", "E08",
    ("duplicates-last", "The last of two members with one name counts.", "*"),
    ("duplicates-refused", "A member name that appears twice is refused.", ""),
    ("duplicates-first", "The first of two members with one name counts.", ""),
)  # fmt: skip
_group("byte-mark", "E08", ("byte-mark-taken", "A byte order mark before the message is taken.", ""))
_group(
    "size", "E93",
    ("size-any", "Messages of up to 8 MiB are taken.", "*"),
    ("size-1-mib", "Messages beyond 1 MiB get 413 without a body.", ""),
    ("size-64-kib", "Messages beyond 64 KiB get an error message.", ""),
)  # fmt: skip
_group("unexpected-replies", "E26", ("replies-taken", "A response or an error that arrives unasked gets 202 without a body.", ""))

# --- HTTP, WebSocket and JSON text ------------------------------------------------------------------------------------

_group(
    "error-status", "E63",
    ("status-by-code", "Errors have the status of the mapping.", "*"),
    ("status-other-mapping", "As the mapping, with 422, 401, 408 where it names two.", ""),
    ("status-200", "Errors have status 200.", "s"),
    ("status-400", "Errors have status 400.", "s"),
    ("status-500", "Errors have status 500, with an error message.", "s"),
    ("status-409", "Errors have status 409.", "s"),
)  # fmt: skip
_group(
    "reply-media", "E76",
    ("media-json", "Replies are application/json.", "*"),
    ("media-charset", "Replies are application/json; charset=utf-8.", ""),
    ("media-text", "Replies are text/plain.", "s"),
    ("media-vendor", "Replies are application/vnd.amp+json.", "s"),
    ("media-none", "Replies have no Content-Type.", "s"),
)  # fmt: skip
_group(
    "get-invoke", "E76",
    ("get-405", "GET on the invoke path gets 405.", "*"),
    ("get-404", "GET on the invoke path gets 404.", ""),
    ("get-page", "GET on the invoke path gets a page for people.", ""),
    ("get-error", "GET on the invoke path gets an error message.", ""),
    ("get-json", "GET on the invoke path gets an object with a description.", ""),
    ("get-501", "GET and PUT on the invoke path get 501 and a page for people.", ""),
)  # fmt: skip
_group(
    "http-form", "E76",
    ("http-plain", "Answers have a Content-Length.", "*"),
    ("http-chunked", "Answers are chunked.", ""),
    ("http-closing", "The connection is closed after each answer.", ""),
    ("http-in-pieces", "Answers are sent in small pieces.", ""),
    ("http-1-0", "Answers are HTTP/1.0, ended by the connection.", ""),
)  # fmt: skip
_group("http-names", "E76", ("http-lower-case", "Names of HTTP headers are in lower case, with some of the server's own.", ""))
_group("served-201", "E36", ("served-with-201", "A registration gets status 201.", "r"))
_group("text-ascii", "E03", ("text-ascii", "Emitted text has u-escapes for everything beyond ASCII.", ""))
_group(
    "text-form", "E03",
    ("text-short", "Emitted text has no white space.", "*"),
    ("text-indented", "Emitted text is indented.", ""),
    ("text-newline", "Emitted text ends with a line feed.", ""),
)  # fmt: skip
_group(
    "text-order", "E03",
    ("order-kept", "Members of a reply keep their order.", "*"),
    ("order-sorted", "Members of a reply are sorted by name.", ""),
    ("order-reversed", "Members of a reply are in reverse order.", ""),
)  # fmt: skip
_group(
    "invoke-path", "E39",
    ("path-default", "Messages are taken at /aip/v1/invoke.", "*"),
    ("path-short", "Messages are taken at /invoke, and health is at /healthz.", "s", {"invoke_path": "/invoke", "health_path": "/healthz"}),
)  # fmt: skip
_group(
    "health", "E88",
    ("health-status", "The health body is an object with status, agent_id and capabilities.", "*"),
    ("health-degraded", "The health body says degraded, with agent_id.", ""),
    ("health-anonymous", "The health body is an object with status alone.", ""),
    ("health-text", "The health body is the text ok.", "s"),
    ("health-empty", "Health is answered by 204.", "s"),
)  # fmt: skip
_group(
    "pace", "E17",
    ("at-once", "Answers come at once.", "*"),
    ("slow-100-ms", "Each answer takes 100 ms.", ""),
    ("slow-at-random", "Each answer takes up to 150 ms.", ""),
)  # fmt: skip
_group("socket-garbage", "E78", ("socket-closes", "A frame that is not a message closes the WebSocket.", ""))
_group("socket-events", "E26", ("socket-silent", "An event over a WebSocket is not answered.", ""))
_group("socket-order", "E78", ("socket-keep-alive", "The WebSocket sends heartbeat frames between replies.", ""))

# --- Requests and responses -------------------------------------------------------------------------------------------

_group(
    "status", "E24 E98",
    ("status-success", "Served requests have the status success.", "*"),
    ("status-partial", "Served requests have the status partial.", "s"),
)  # fmt: skip
_group(
    "result", "E25",
    ("result-object", "The result of text-analysis is an object.", "*"),
    ("result-text", "The result of text-analysis is a text, as its output schema says.", "sa"),
    ("result-list", "The result of text-analysis is a list.", "sa"),
    ("result-number", "The result of text-analysis is a number.", "sa"),
)  # fmt: skip
_group(
    "metadata", "E25 E06",
    ("metadata-some", "Responses have metadata.", "*"),
    ("metadata-none", "Responses have no metadata.", ""),
    ("metadata-model", "Metadata has model_used and tokens_consumed.", ""),
    ("metadata-null", "Metadata is null.", "s"),
)  # fmt: skip
_group(
    "execution-time", "E07",
    ("execution-time-stated", "Responses state execution_time_ms.", "*"),
    ("execution-time-none", "Responses have no execution_time_ms.", ""),
    ("execution-time-zero", "execution_time_ms is rounded down to tens.", ""),
)  # fmt: skip
_group(
    "mismatch", "E19",
    ("payload-decides", "Where destination and payload name different capabilities, the payload decides.", "*"),
    ("mismatch-refused", "Different capabilities in destination and payload are refused.", ""),
)  # fmt: skip
_group("destination-alone", "E19", ("destination-capability-suffices", "A capability in the destination alone suffices.", "a"))
_group("no-parameters", "E85", ("parameters-required", "A request without parameters is refused.", "a"))
_group(
    "foreign-agent", "E42",
    ("foreign-agent-refused", "An agent refuses what is addressed to another one.", "*a"),
    ("foreign-agent-ignored", "An agent serves what is addressed to another one.", "sa"),
)  # fmt: skip
_group(
    "inline-context", "E28",
    ("context-open", "payload.context is checked for its two known members.", "*a"),
    ("context-unchecked", "payload.context is not looked at.", "sa"),
    ("context-reference", "A session_id in payload.context has to name a stored context.", "sa"),
)  # fmt: skip
_group(
    "details", "E67",
    ("details-available", "CAPABILITY_NOT_FOUND lists what is available.", "*"),
    ("details-suggestion", "CAPABILITY_NOT_FOUND lists what is available and suggests one.", ""),
    ("details-none", "Errors have no details.", ""),
    ("details-null", "Errors have the details null.", "s"),
    ("details-other", "Errors have details of their own.", ""),
)  # fmt: skip
_group("maximum", "E85", ("maximum-not-enforced", "Text beyond max_input_length is served.", "sa"))
_group(
    "timeout", "E17",
    ("timeout-enforced", "A request that takes too long gets TIMEOUT.", "*a"),
    ("timeout-late", "TIMEOUT comes 400 ms late.", "a"),
    ("timeout-up-to-requester", "The requester watches the clock.", "sua", {"features": {"slow": False}}),
)  # fmt: skip
_group("declared", "E84", ("declares-references", "Schemas are declared by references that do not resolve.", "sa"))
_group(
    "event-answer", "E26",
    ("event-202", "An event gets 202 without a body.", "*a"),
    ("event-204", "An event gets 204.", "a"),
    ("event-200", "An event gets 200 without a body.", "a"),
    ("event-text", "An event gets 200 and the text ok.", "a"),
    ("event-object", "An event gets 202 and an object that is not a message.", "a"),
    ("event-response", "An event gets 200 and a response.", "a"),
)  # fmt: skip
_group(
    "unknown-session", "E53 E61",
    ("unknown-session-not-found", "An event about an unknown session gets CONTEXT_NOT_FOUND.", "*a"),
    ("unknown-session-ignored", "An event about an unknown session is accepted.", "a"),
    ("unknown-session-created", "An event about an unknown session creates a context.", "a"),
)  # fmt: skip
_group("unknown-events", "E27", ("unknown-events-refused", "Events of an unknown type are refused.", "a"))
_group("malformed-events", "E26 E65", ("malformed-event-failed", "A malformed event gets a response with status failed.", "sa"))
_group("store", "E47 E61", ("no-context-store", "No contexts are stored.", "ua", {"features": {"context": False}}))

# --- Registry ---------------------------------------------------------------------------------------------------------

_group(
    "second-registration", "E36 E105",
    ("second-replaces", "A second registration with the same credentials replaces the first.", "*r"),
    ("second-refused", "A second registration is refused.", "r"),
    ("second-failed", "A second registration is answered by the status failed.", "r"),
    ("second-extends", "A second registration adds capabilities and replaces the rest.", "r"),
    ("second-kept", "A second registration is answered as the first, and changes nothing.", "r"),
)  # fmt: skip
_group("identity", "E37 E89", ("poor-identity-taken", "A registry demands nothing of an identity but its id.", "sr"))
_group("bare-capabilities", "E82", ("bare-capabilities-taken", "Capabilities given as texts are taken as ids.", "sr"))
_group("no-capabilities", "E37", ("no-capabilities-taken", "A registration without capabilities is taken.", "sr"))
_group("poor-declaration", "E83", ("poor-declarations-taken", "A capability needs no version.", "sr"))
_group("endpoints", "E39", ("any-endpoints-taken", "Endpoints are not looked at.", "sr"))
_group("registry-name", "E41", ("registry-may-register", "An agent may register as registry.", "sr"))
_group("foreign-source", "E38", ("registers-others", "An agent may be registered by another source.", "r"))
_group(
    "registered-result", "E36",
    ("registered-result-id", "The result of a registration names the id.", "*r"),
    ("registered-result-record", "The result of a registration is the record, without credentials.", "r"),
    ("registered-result-empty", "The result of a registration is an empty object.", "r"),
    ("registered-result-none", "The answer to a registration has no result.", "sr"),
)  # fmt: skip
_group(
    "agents-place", "E29",
    ("agents-in-result", "The list of a discovery is payload.result.agents.", "*r"),
    ("agents-in-payload", "The list of a discovery is payload.agents.", "sr"),
    ("agents-are-result", "The list of a discovery is payload.result.", "sr"),
)  # fmt: skip
_group(
    "agents-form", "E29 E91",
    ("agents-as-records", "Entries have agent, capabilities and endpoints.", "*r"),
    ("agents-as-published", "Entries have identity, capabilities and endpoints.", "sr"),
    ("agents-flat", "Entries have id, name and capability ids.", "sr"),
    ("agents-flat-agent-id", "Entries have agent_id and endpoints.", "sr"),
    ("agents-as-ids", "Entries are ids.", "sr"),
    ("agents-with-extras", "Entries have statistics as well.", "r"),
)  # fmt: skip
_group(
    "several", "E30",
    ("matches-all", "Agents with every capability of the query are listed.", "*r"),
    ("matches-any", "Agents with one of the capabilities of the query are listed.", "sr"),
)  # fmt: skip
_group(
    "latency", "E31",
    ("latency-declared", "max_latency_ms is compared with the declared time; agents without one are listed.", "*r"),
    ("latency-declared-demanded", "max_latency_ms is compared with the declared time; agents without one are left out.", "r"),
    ("latency-measured", "max_latency_ms is compared with measured times; agents without one are listed.", "ur", {"features": {"declared-latency": False}}),
    ("latency-measured-demanded", "max_latency_ms is compared with measured times; agents without one are left out.", "ur", {"features": {"declared-latency": False}}),
)  # fmt: skip
_group(
    "unknown-rate", "E32",
    ("unknown-rate-passes", "An unknown success rate passes every bound.", "*r"),
    ("unknown-rate-zero", "An unknown success rate is 0.", "r"),
)  # fmt: skip
_group(
    "no-match", "E33 E102",
    ("no-match-empty", "Where no agent matches, the list is empty.", "*r"),
    ("no-match-error", "Where no agent matches, the answer is CAPABILITY_NOT_FOUND.", "sr"),
)  # fmt: skip
_group(
    "empty-query", "E33",
    ("empty-query-all", "A query without capabilities lists every agent.", "*r"),
    ("empty-query-none", "A query without capabilities lists no agent.", "r"),
    ("empty-query-refused", "A query without capabilities is refused.", "r"),
)  # fmt: skip
_group("no-query", "E33", ("no-query-lists-all", "A discovery without query lists every agent.", "sr"))
_group("poor-constraints", "E33 E32", ("constraints-unchecked", "Constraints of a wrong form or range are ignored.", "sr"))
_group("list-order", "E29", ("agents-reversed", "The newest agents come first.", "r"))
_group("credentials-shown", "E38", ("credentials-shown", "Discovery shows the credentials that agents registered with.", "sr"))
_group(
    "enforced", "E35",
    ("senders-open", "Agents that are not registered are served.", "*a"),
    ("senders-enforced", "Agents that are not registered are refused.", "ua", {"features": {"enforce_registration": True}}),
)  # fmt: skip
_group(
    "forwarding", "E34",
    ("forward-reply-passed", "The reply of a registered agent is passed on as it is.", "*a"),
    ("forward-reply-wrapped", "The reply of a registered agent is put into one of the mesh, in the name of the agent.", "a"),
)  # fmt: skip

# --- Negotiation and delegation ---------------------------------------------------------------------------------------

_group(
    "negotiated", "E43",
    ("says-accepted", "The outcome of a negotiation is accepted.", "*a"),
    ("says-can-execute", "The outcome of a negotiation is can_execute.", "sa"),
    ("says-available", "The outcome of a negotiation is available.", "sa"),
    ("says-supported", "The outcome of a negotiation is supported.", "sa"),
)  # fmt: skip
_group(
    "declined", "E43",
    ("declines-by-false", "What cannot be done is answered by false.", "*a"),
    ("declines-by-failed", "What cannot be done is answered by the status failed.", "sa"),
    ("declines-by-capability-error", "What cannot be done is answered by CAPABILITY_NOT_FOUND.", "sa"),
    ("declines-by-resource-error", "What cannot be done is answered by INSUFFICIENT_RESOURCES.", "sa"),
)  # fmt: skip
_group("deadline", "E43", ("past-deadline-taken", "A deadline in the past is not looked at.", "sa"))
_group("negotiated-more", "E43", ("negotiation-with-reason", "The outcome has a reason and an estimate.", "a"))
_group("negotiation", "E43", ("no-negotiation", "Negotiation is not offered.", "ua", {"features": {"negotiation": False}}))
_group("delegation", "E45", ("no-delegation", "Delegation is not offered.", "ua", {"features": {"delegation": False}}))
_group(
    "acknowledged", "E45",
    ("acknowledged-200", "A delegation is acknowledged by 200.", "*a"),
    ("acknowledged-202", "A delegation is acknowledged by 202.", "a"),
    ("acknowledged-with-result", "A delegation is answered by its result, and called back as well.", "a"),
)  # fmt: skip
_group(
    "callback", "E45",
    ("callback-envelope", "The callback is a message.", "*a"),
    ("callback-task-only", "The callback is an object with the parent task.", "sa"),
    ("callback-id-only", "The callback is an object with the id of the message.", "sa"),
    ("callback-nested", "The callback has both ids, deep in an object.", "sa"),
    ("callback-list", "The callback is an array with a message.", "sa"),
)  # fmt: skip
_group(
    "subtask-parameters", "E45",
    ("subtask-checked-at-once", "Invalid parameters of a subtask are refused at once.", "*a"),
    ("subtask-checked-later", "Invalid parameters of a subtask are reported by the callback.", "a"),
)  # fmt: skip
_group(
    "unknown-subtask", "E45",
    ("unknown-subtask-refused", "A subtask that nobody can do is refused at once.", "*a"),
    ("unknown-subtask-reported-later", "A subtask that nobody can do is acknowledged, and reported by the callback.", "a"),
)  # fmt: skip
_group("no-parent", "E46", ("no-parent-taken", "A delegation without parent task is taken.", "sa"))
_group("no-callback", "E45", ("bad-callback-taken", "A callback that is not a URL is taken, and not called.", "sa"))
_group("callback-pace", "E45", ("callback-late", "Callbacks come a second late.", "a"))

# --- Contexts ---------------------------------------------------------------------------------------------------------

_group(
    "context-names", "E47",
    ("context-names-default", "Context operations have the names of the binding.", "*a"),
    ("context-names-own", "Context operations have other names.", "a", {"context_capabilities": {n: f"ctx.{n}" for n in ("create", "get", "update", "merge", "fork")}}),
)  # fmt: skip
_group(
    "context-ids", "E59",
    ("context-id-uuid", "Context ids are UUIDs.", "*a"),
    ("context-id-text", "Context ids are other texts.", "sa"),
)  # fmt: skip
_group("denied-session", "E47", ("sessions-not-searched", "A context is not found by its session.", "sa"))
_group(
    "lists-from", "E48",
    ("lists-from-anywhere", "Access lists are taken from creation, update and event.", "*a"),
    ("lists-from-creation", "Access lists are taken from creation and update.", "sa"),
    ("lists-from-events", "Access lists are taken from events.", "sa"),
    ("lists-from-events-late", "Access lists are taken from events, which take effect 300 ms after their answer.", "sa"),
)  # fmt: skip
_group("lists-form", "E48", ("malformed-lists-taken", "Access lists of a wrong form are ignored.", "sa"))
_group("lists-shown", "E48", ("lists-not-shown", "Contexts are returned without access_control.", "a"))
_group(
    "denied", "E50",
    ("denied-authentication", "Denied access gets AUTHENTICATION_FAILED.", "*a"),
    ("denied-not-found", "Denied access gets CONTEXT_NOT_FOUND.", "a"),
    ("denied-own-code", "Denied access gets AUTHORIZATION_FAILED.", "a"),
    ("denied-bare", "Denied access gets 403 without a body.", "a"),
)  # fmt: skip
_group(
    "denied-event", "E50",
    ("denied-event-refused", "A denied event is refused.", "*a"),
    ("denied-event-ignored", "A denied event is answered like a permitted one.", "a"),
)  # fmt: skip
_group(
    "others-private", "E52",
    ("others-removed", "Private entries of other agents are removed.", "*a"),
    ("others-empty", "Private entries of other agents are empty objects.", "a"),
    ("others-null", "Private entries of other agents are null.", "a"),
    ("others-empty-list", "Private entries of other agents are empty lists, as PHP writes empty objects.", "a"),
)  # fmt: skip
_group("no-private", "E52 E06", ("no-private-left-out", "agent_memory is left out where it has no entry.", "a"))
_group(
    "foreign-private", "E52",
    ("foreign-private-ignored", "Entries for other agents in an update are ignored.", "*a"),
    ("foreign-private-refused", "An update with entries for other agents is refused.", "a"),
)  # fmt: skip
_group("private-update", "E54", ("private-replaced", "An update replaces the private state of the agent.", "a"))
_group(
    "update", "E54",
    ("update-sets-keys", "An update sets the keys that it names.", "*a"),
    ("update-deep", "An update merges nested objects.", "a"),
    ("update-patches", "An update is a merge patch: null removes.", "a"),
    ("update-replaces-memory", "An update replaces the shared memory.", "ua", {"features": {"merging-updates": False}}),
)  # fmt: skip
_group("event-update", "E54 E95", ("event-replaces-memory", "An event replaces the shared memory.", "sa"))
_group(
    "conflict", "E55",
    ("conflict-last", "Of two values for a key the last wins.", "*a"),
    ("conflict-first", "Of two values for a key the first wins.", "sa"),
    ("conflict-refused", "Two values for a key are refused.", "sa"),
)  # fmt: skip
_group(
    "merged", "E55",
    ("merged-new", "A merge makes a new context and keeps the others.", "*a"),
    ("merged-into-first", "A merge changes the first context.", "sa"),
    ("merged-consumes", "A merge makes a new context and ends the others.", "sa"),
)  # fmt: skip
_group("merged-lists", "E55", ("merged-without-lists", "The result of a merge has no access lists.", "sa"))
_group("merged-lineage", "E57", ("merged-with-parent", "The parent of the result of a merge is the first context.", "a"))
_group("merged-private", "E56 E55", ("merged-without-private", "The result of a merge has no private state.", "a"))
_group(
    "fork", "E56",
    ("fork-copies", "A fork has a copy of the shared memory.", "*a"),
    ("fork-views", "A fork shows later writes to its parent.", "sa"),
)  # fmt: skip
_group(
    "fork-private", "E56",
    ("fork-keeps-own", "A fork has the private state of the agent that forks.", "*a"),
    ("fork-keeps-none", "A fork has no private state.", "a"),
    ("fork-keeps-each", "A fork has the private state of every agent, each for itself.", "a"),
)  # fmt: skip
_group("fork-lists", "E56", ("fork-without-lists", "A fork has no access lists.", "sa"))
_group("fork-expiry", "E56 E58", ("fork-without-expiry", "A fork does not expire.", "a"))
_group(
    "lineage", "E57",
    ("lineage-root-itself", "The root of a new context is itself, its parent null.", "*a"),
    ("lineage-no-parent", "The lineage of a new context has no parent_context.", "a"),
    ("lineage-empty", "The lineage of a new context is empty.", "a"),
    ("lineage-none", "A new context has no lineage.", "sa"),
    ("lineage-null", "Both members of the lineage of a new context are null.", "sa"),
)  # fmt: skip
_group(
    "past-expiry", "E58 E97",
    ("past-expiry-gone", "A context created in the past is gone at once.", "*a"),
    ("past-expiry-refused", "A context created in the past is refused.", "a"),
    ("past-expiry-failed", "A context created in the past is answered by the status failed.", "a"),
)  # fmt: skip
_group(
    "expiry", "E58",
    ("expiry-exact", "A context expires at its instant.", "*a"),
    ("expiry-late", "A context expires 1.4 s after its instant.", "a"),
)  # fmt: skip
_group("no-expiry", "E58", ("expires-by-default", "A context without expires_at gets one an hour ahead.", "a"))
_group("bad-expiry", "E58", ("bad-expiry-ignored", "A malformed expires_at is ignored.", "sa"))
_group(
    "instants", "E11",
    ("instants-as-sent", "expires_at is returned as it was sent.", "*a"),
    ("instants-normalised", "expires_at is returned in the form of time stamps.", "sa"),
)  # fmt: skip

# --- Security ---------------------------------------------------------------------------------------------------------

KEY = "proofmark-meshai-hmac-key-32byte"
_group(
    "auth", "E68",
    ("auth-none", "No credentials are demanded.", "*"),
    ("auth-api-key", "An API key is demanded.", "", {"api_key": {"value": "peer-key-7F3a"}, "features": {"api-key": True}}),
    ("auth-jwt", "A token is demanded.", "", {"jwt": {"key": KEY}, "features": {"jwt": True}}),
    ("auth-hmac", "Signatures are checked.", "", {"hmac": {"key": KEY}, "features": {"hmac": True}}),
    ("auth-jwt-hmac", "A token is demanded, and signatures are checked.", "", {"jwt": {"key": KEY}, "hmac": {"key": KEY}, "features": {"jwt": True, "hmac": True}}),
)  # fmt: skip
_group(
    "carrier", "E69",
    ("carrier-either", "A credential is taken from the HTTP header, or else from the message.", "*"),
    ("carrier-message-first", "A credential is taken from the message, or else from the HTTP header.", ""),
    ("carrier-header", "A credential is taken from the HTTP header.", "s"),
    ("carrier-message", "A credential is taken from the message.", ""),
    ("carrier-each", "Every credential that is there has to be valid.", ""),
)  # fmt: skip
_group("credential-member", "E69", ("credentials-member-first", "Of `token` and `credentials` in the message, the second counts.", ""))
_group(
    "auth-answer", "E63",
    ("auth-error", "A bad credential gets AUTHENTICATION_FAILED.", "*"),
    ("auth-bare-401", "A bad credential gets 401 without a body.", "s"),
    ("auth-bare-403", "A bad credential gets 403 without a body.", "s"),
)  # fmt: skip
_group("malformed-credentials", "E63", ("malformed-credentials-400", "A text that is no token, and a signature of an unknown algorithm, get 400 without a body.", "s"))
_group("auth-order", "E63", ("auth-before-structure", "Credentials are checked before the structure.", ""))
_group("auth-health", "E88", ("health-needs-credentials", "Health demands the credentials as well.", ""))
_group("jwt-subject", "E70 E75", ("any-subject", "A token of another agent is taken.", "s"))
_group("jwt-expiry", "E70", ("endless-tokens", "A token without exp is taken.", "s"))
_group("jwt-leeway", "E70", ("leeway-60", "A token is taken up to 60 s after its end.", ""))
_group("jwt-audience", "E70", ("audience-checked", "The audience of a token has to be amp-mesh.", ""))
_group(
    "recipe", "E71",
    ("recipe-jcs", "Signatures are over RFC 8785.", "*"),
    ("recipe-compact", "Signatures are over compact Python JSON.", "", {"hmac": {"key": KEY, "canonical": "python-compact"}}),
    ("recipe-default", "Signatures are over default Python JSON.", "", {"hmac": {"key": KEY, "canonical": "python-default"}}),
)  # fmt: skip
_group("signs", "E72", ("replies-signed", "Replies are signed.", ""))
_group("sign-hex", "E71", ("signs-in-hex", "Signatures are written in hexadecimal.", "s"))
_group("unsigned", "E72", ("unsigned-refused", "Messages without a signature are refused.", "", {"features": {"open": False}}))
_group(
    "signature-code", "E72",
    ("signature-authentication", "A wrong signature gets AUTHENTICATION_FAILED.", "*"),
    ("signature-own-code", "A wrong signature gets SECURITY_ERROR.", "s"),
)  # fmt: skip
_group("no-algorithm", "E72", ("no-algorithm-taken", "A signature without algorithm is taken for HMAC-SHA256.", "s"))
_group("dummy", "E07", ("dummy-credentials-refused", "Without credentials demanded, authentication in a message is refused.", "s"))
_group("rate", "E66 E99", ("rate-limited", "20 capability requests of a source in a second.", "ua", {"rate_limit": {"requests": 20, "window_ms": 1000}, "features": {"rate-limit": True}}))
_group("rate-answer", "E63", ("rate-bare-429", "Too many requests get 429 without a body.", "sa"))

# --- Client -----------------------------------------------------------------------------------------------------------

_group("client-identity", "E37", ("registers-three-members", "The identity has id, name and framework only.", "sc"))
_group("client-framework", "E89", ("registers-other-framework", "The framework is FastAPI.", "sc"))
_group("client-ids", "E82 E41", ("registers-own-ids", "A capability has an id outside the taxonomy.", "wsc"))
_group("client-schemas", "E84", ("registers-references", "Schemas are references that do not resolve.", "sc"))
_group("client-description", "E83", ("registers-without-description", "Capabilities have no description and no constraints.", "sc"))
_group("client-authentication", "E38", ("registers-credentials", "The registration has credentials.", "c"))
_group("client-nulls", "E06", ("sends-nulls", "Optional members without a value are null in what the client sends.", "sc"))
_group("client-headers", "E15", ("requests-correlation-only", "Requests have no header but correlation_id.", "sc"))
_group("client-again", "E40", ("registers-twice", "The registration is repeated after a second.", "c"))
_group("client-capability", "E19", ("requests-payload-capability", "Requests name the capability in the payload only.", "sc"))

# Sets that no target file can describe, or that leave a choice without an effect.
CONFLICTS = (
    # The cases have the same senders where registration is enforced.
    {"senders-enforced", "rate-limited"},
    # Over WebSocket a token travels in the message alone.
    {"auth-jwt", "carrier-header"},
    {"auth-jwt-hmac", "carrier-header"},
)


def defaults():
    return {c.name for c in CHOICES.values() if c.default}


def with_choice(force, name):
    return (force - {c.name for c in GROUPS[CHOICES[name].group]}) | {name}


def without(force, name):
    group = GROUPS[CHOICES[name].group]
    return (force - {name}) | {c.name for c in group if c.default}


def chosen(names=(), preset=None):
    """The names in force. Presets: random:SEED, strict:SEED, tolerated (the first lenient choice of each group)."""
    force = defaults()
    word, _, seed = (preset or "").partition(":")
    if word in ("random", "strict"):
        dice = random.Random(f"meshai {word} {seed or 1}")
        for group in GROUPS.values():
            options = [c for c in group if word == "random" or c.strict]
            if len(group) == 1:  # a switch
                if options and dice.random() < 0.25:
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


def target_of(force):
    """What a target file has to declare for these choices."""
    target = {}
    security = {"auth-api-key": ("auth",), "auth-jwt": ("auth",), "auth-hmac": ("auth", "recipe"), "auth-jwt-hmac": ("auth", "recipe")}
    auth = next(name for name in force if CHOICES[name].group == "auth")
    for name in sorted(force):
        choice = CHOICES[name]
        if choice.group == "recipe" and choice.group not in security.get(auth, ()) or choice.group == "unsigned" and "hmac" not in auth:
            continue
        for key, value in choice.target.items():
            target[key] = {**target.get(key, {}), **value} if isinstance(value, dict) else value
    if "hmac" in target and "signs-in-hex" in force:
        target["hmac"]["encoding"] = "hex"
    return target


class Ways:
    """The choices in force, and the bug, if any."""

    def __init__(self, force=None, mutant=None):
        self.force = defaults() if force is None else force
        self.mutant = mutant
        self.name = mutant.name if mutant else None
        self.memory = {}  # for bugs that keep what they should not

    def has(self, name):
        assert name in CHOICES, name
        return name in self.force

    def pick(self, group):
        """The choice of a group that is in force."""
        return next(c.name for c in GROUPS[group] if c.name in self.force)

    def bug(self, *names):
        return self.name in names

    def skips(self, rule):
        """Whether the bug is that this rule is left out."""
        return self.mutant is not None and rule in self.mutant.skip

    def code(self, rule, default):
        """The code for a rule, unless the bug is another one."""
        return self.mutant.codes.get(rule, default) if self.mutant else default

    def change(self, place, value, *more):
        """Bugs that alter something that comes in or goes out. The function returns the new value, or None for no change."""
        if self.mutant and self.mutant.place == place:
            changed = self.mutant.change(value, self, *more)
            if changed is not None:
                return changed
        return value

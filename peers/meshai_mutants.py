"""Typical bugs of agents, registries and meshes, one at a time. Each names the requirements that it breaks, at least one of
which has to fail.

A bug is a rule that is left out (`skip`), another code (`codes`, by rule), a change to something that goes out (`place`,
`change`), or a place in the peer that checks `bug(name)`. `kind` is the kind of target at which it shows: `mesh`, `agent`,
`registry` or `client`. `profile`: a lenient run need not detect `strict` ones. `needs`: choices that the bug depends on.
"""

import copy
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Mutant:
    name: str
    about: str
    breaks: tuple
    kind: str = "mesh"
    profile: str = "lenient"
    needs: tuple = ()
    skip: tuple = ()
    codes: dict = field(default_factory=dict)
    place: str = ""
    change: object = None
    slow: bool = False
    fatal: bool = False  # nothing works any more, so that a run cannot accuse: any exit code but 0 counts

    def row(self):
        return {
            "name": self.name, "about": self.about, "breaks": list(self.breaks), "kind": self.kind, "profile": self.profile,
            "needs": list(self.needs), "slow": self.slow, "fatal": self.fatal,
        }  # fmt: skip


MUTANTS = {}


def bug(name, about, breaks, **more):
    assert name not in MUTANTS, name
    MUTANTS[name] = Mutant(name, about, tuple("MESHAI-" + b for b in breaks.split()), **more)


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


STRICT = {"profile": "strict"}
CLIENT = {"kind": "client"}
KEYED = {"needs": ("auth-api-key",)}
TOKEN = {"needs": ("auth-jwt",)}
SIGNED = {"needs": ("auth-hmac",)}
REPLIES_SIGNED = {"needs": ("auth-hmac", "replies-signed")}

# --- Reading a message (sections 2.3, 8.2, 13) ------------------------------------------------------------------------

bug("comments-tolerated", "Reads comments in a body.", "2.3-02")
bug("stray-commas-tolerated", "Reads commas where none belong.", "2.3-02")
bug("truncated-text-completed", "Completes a body that was cut off.", "2.3-02")
bug("crash-on-bad-json", "A body that is not JSON gets a bare 500.", "2.3-02")
bug("bad-json-answered-200", "A body that is not JSON gets 200.", "2.3-02")
bug("empty-body-taken", "An empty body gets 202.", "2.3-02")
bug("bad-utf8-served", "Replaces bytes that are not UTF-8, and serves the rest.", "2.3-02 10.1-01")
bug("text-after-message-ignored", "Reads the first JSON text of a body and ignores the rest.", "2.3-02")
bug("text-parsed-again", "Parses a JSON text that holds a message.", "2.3-02 8.2-06")
bug("crash-on-non-object", "An array or a text as body gets a bare 500.", "2.3-02")
bug("empty-object-taken", "An empty object gets 200 and an empty object.", "2.3-02 2.3-03 10.1-02")
bug("null-taken", "null as body gets 204.", "2.3-02")
bug("batch-executed", "Executes each message of an array.", "13-01")
bug("array-of-one-executed", "Executes the message of an array with one.", "13-01")
bug("batch-executed-and-refused", "Executes the messages of an array, and refuses it.", "13-01", kind="registry")
bug("inner-message-accepted", "Serves a body that is only the inner message.", "8.2-06")
skip("protocol-optional", "protocol", "Serves a message without protocol.", "2.3-03")
skip("protocol-any-type", "protocol-type", "Serves a number as protocol.", "2.3-03")
bug("any-protocol-accepted", "Never looks at protocol.", "2.3-04 11-02 11-06")
bug("protocol-prefix-match", "Takes what begins with the family and a slash.", "11-02 11-06")
bug("protocol-prefix-1", "Takes what begins with the family, a slash and 1.", "11-02")
bug("protocol-any-family", "Takes any family in upper case.", "2.3-04")
bug("protocol-any-case", "Takes the family in any case.", "2.3-04")
bug("protocol-space-for-slash", "Takes a space for the slash.", "2.3-04")
bug("protocol-slash-optional", "Takes a protocol without the slash.", "11-02")
bug("protocol-empty-taken", "Takes an empty protocol.", "2.3-04")
bug("major-two-downgraded", "Serves 2.0 as 1.0.", "11-06 11-05")
bug("major-zero-served", "Serves 0.9 as 1.0.", "11-06 11-05")
bug("refused-for-good-after-major-two", "After a message of another major version its sender is refused.", "11-05 11-06")
bug("minor-above-nine-crashes", "1.99 gets a bare 500.", "11-07")
skip("type-missing-is-request", "type", "Takes a missing type for request.", "2.3-09")
skip("type-unknown-is-request", "type-unknown", "Takes an unknown type for request.", "2.3-11")
skip("type-number-is-request", "type-number", "Takes a number as type for request.", "2.3-11")
skip("type-by-beginning", "type-part", "Compares only the beginning of type.", "2.3-11")
skip("payload-missing-is-empty", "payload", "Takes a missing payload for an empty one.", "2.3-33")
skip("payload-list-taken", "payload-list", "Takes an array as payload for an empty object.", "2.3-34")
skip("payload-text-taken", "payload-text", "Takes a text as payload for an empty object.", "2.3-34")
skip("payload-null-taken", "payload-null", "Takes null as payload for an empty object.", "2.3-34")
bug("payload-not-checked", "A payload that is not an object gets a bare 500.", "2.3-34 10.1-02")
bug("crash-on-malformed", "A malformed operation gets a bare 500.", "4.1-19 2.1-03 2.1-01")
bug("session-refused", "Refuses source.session_id.", "2.3-19")
bug("session-required", "Refuses a source without session_id.", "2.3-19")
bug("timestamp-with-z-only", "Refuses a timestamp with a numeric offset.", "10.1-01")
bug("stale-after-five-seconds", "Refuses a message that is seven seconds old.", "2.3-15")
bug("priority-below-five-refused", "Serves priorities from 5.", "2.3-26")
bug("priority-at-most-eight", "Serves priorities up to 8.", "2.3-26")
bug("hints-rejected", "Refuses routing hints.", "2.3-30")
bug("strict-header-record", "Refuses header members outside the structure block.", "7.2-01", needs=("auth-jwt",))
bug("charset-refused", "Refuses a Content-Type with parameters.", "8.2-03")
bug("get-executes", "Executes a message in the query of a GET.", "8.2-01")
bug("get-body-executes", "Executes a message in the body of a GET.", "8.2-01")
bug("get-crashes", "GET on the invoke path gets a bare 500.", "8.2-01")
bug("put-executes", "Executes a message that is sent by PUT.", "8.2-01")
bug("length-too-small", "Content-Length is two bytes short.", "2.3-01 8.1-01 8.2-04")

# --- Writing a message (section 2.3) ----------------------------------------------------------------------------------

bug("reply-with-comment", "A comment stands before a reply.", "2.3-01 8.2-04")
bug("reply-twice", "A reply stands twice in its body.", "2.3-01 8.2-04")
bug("reply-in-array", "A reply is wrapped in an array.", "2.3-01 8.2-04")
bug("reply-message-only", "A reply is the inner message alone.", "2.3-05 2.3-01 8.2-04 8.1-01")
bug("reply-message-as-text", "message is a text with JSON.", "2.3-05 8.1-01")
bug("reply-latin-1", "A reply with other characters is not UTF-8.", "2.3-01 10.1-01")
bug("version-echoed", "Repeats the protocol of the request.", "11-08 11-06")
bug("reply-version-1-1", "Replies say 1.1 to requests of 1.0.", "11-08")
bug("reply-version-of-the-newest", "Replies say the highest minor version that any request had.", "11-08")
bug("reply-family-lower", "Replies say amp/1.0.", "2.3-04 11-01")
bug("reply-family-other", "Replies say MAP/1.0.", "2.3-04")
bug("reply-version-word", "Replies say AMP/v1.", "11-01")
bug("reply-protocol-number", "protocol of replies is a number.", "2.3-03")
bug("reply-id-is-request-id", "The id of a reply is that of its request.", "2.3-08")
bug("id-constant", "All replies have one id.", "2.3-08")
bug("id-by-second", "Ids are made of the second.", "2.3-08")
bug("id-by-millisecond", "Ids are made of the time in steps of 20 ms.", "2.3-08")
bug("id-counter-per-sender", "Ids count from 1 for each sender.", "2.3-08")
bug("id-counter-wraps", "Ids repeat after three replies.", "2.3-08")
bug("id-of-served-requests-alone", "An error repeats the id of the last response.", "6.1-09 2.3-08")
bug("id-empty", "Ids are empty.", "2.3-07")
bug("id-number", "Ids are numbers.", "2.3-07")
bug("error-id-constant", "All errors have one id.", "6.1-09")
bug("error-id-is-request-id", "The id of an error is that of its request.", "6.1-09 2.3-08")
bug("timestamp-without-zone", "Time stamps have no zone.", "2.3-13")
bug("timestamp-epoch", "Time stamps are seconds since 1970.", "2.3-13")
bug("timestamp-date-only", "Time stamps are dates.", "2.3-13")
bug("timestamp-with-space", "Time stamps have a space for T.", "2.3-13")
bug("timestamp-http-date", "Time stamps are HTTP dates.", "2.3-13")
bug("timestamp-offset-without-colon", "Time stamps end with +0000.", "2.3-13")
bug("timestamp-local-time-with-z", "Time stamps are local time with Z.", "2.3-15")
bug("timestamp-copied", "The timestamp of a reply is that of its request.", "2.3-15")
bug("timestamp-of-the-start", "Replies have the time of the first reply.", "2.3-15")
bug("timestamp-renewed-every-minute", "Replies have a time that is renewed every minute.", "2.3-15")
bug("source-copied", "The source of a reply is the requester.", "2.3-18")
bug("source-of-the-node", "The source of a reply is the process, not the agent.", "2.3-18")
bug("source-as-text", "The source of a reply is a text.", "2.3-16 2.3-17")
bug("source-missing-in-errors", "Errors have no source.", "6.1-09 2.3-16")
bug("destination-not-swapped", "A reply has the destination of its request.", "2.3-21")
bug("destination-of-the-last-requester", "A reply is addressed to the requester before.", "2.3-21")
bug("priority-as-text", "priority of replies is a text.", "2.3-25")
bug("timeout-as-text", "timeout_ms of replies is a text.", "2.3-27")
bug("timeout-zero", "timeout_ms of replies is 0.", "2.3-27")
bug("hints-as-list", "routing_hints of replies is a list.", "2.3-29")
bug("correlation-shared-state", "Replies have the correlation id of the message that came last.", "3.2-03 8.1-03")
bug("correlation-of-the-one-before", "Replies have the correlation id of the request before.", "3.2-03")
bug("correlation-lower-case", "correlation_id is put into lower case.", "3.2-03")
bug("correlation-shortened", "correlation_id is cut to 32 characters.", "3.2-03")
bug("correlation-of-sender", "correlation_id is the id of the sender.", "3.2-03")


@changed("reply", "correlation-missing", "Responses have no correlation_id.", "3.2-02 2.3-24")
def _(envelope, *_):
    envelope["message"].get("headers", {}).pop("correlation_id", None)


@changed("reply", "correlation-own-id", "correlation_id is the id of the reply.", "3.2-03")
def _(envelope, *_):
    envelope["message"]["headers"]["correlation_id"] = envelope["message"]["id"]


@changed("reply", "correlation-at-top", "correlation_id stands directly under message.", "3.2-02")
def _(envelope, *_):
    envelope["message"]["correlation_id"] = envelope["message"]["headers"].pop("correlation_id", None)


@changed("reply", "headers-missing", "Responses have no headers.", "2.3-23 3.2-02")
def _(envelope, *_):
    envelope["message"].pop("headers", None)


@changed("reply", "registry-replies-uncorrelated", "Answers to registration and discovery have no correlation_id.", "4.1-17 3.3-09 2.3-24")
def _(envelope, ways, asked, node):
    if asked and asked.at("destination").get("agent_id") == "registry":
        envelope["message"].get("headers", {}).pop("correlation_id", None)


@changed("reply", "timestamp-missing-in-errors", "Errors have no timestamp.", "6.1-09 2.3-12")
def _(envelope, *_):
    if envelope["message"]["type"] == "error":
        del envelope["message"]["timestamp"]


@changed("reply", "id-missing", "Replies have no id.", "2.3-06")
def _(envelope, *_):
    del envelope["message"]["id"]


@changed("reply", "type-missing", "Replies have no type.", "2.3-09")
def _(envelope, *_):
    del envelope["message"]["type"]


@changed("reply", "protocol-missing", "Replies have no protocol.", "2.3-03")
def _(envelope, *_):
    del envelope["protocol"]


@changed("reply", "payload-as-list", "The payload of errors is a list.", "2.3-34 6.1-09")
def _(envelope, *_):
    if envelope["message"]["type"] == "error":
        envelope["message"]["payload"] = [envelope["message"]["payload"]]


@changed("reply", "destination-as-text", "The destination of replies is a text.", "2.3-20")
def _(envelope, *_):
    envelope["message"]["destination"] = "requester"


@changed("reply", "session-number", "The session_id of replies is a number.", "2.3-19")
def _(envelope, *_):
    if isinstance(envelope["message"].get("source"), dict):
        envelope["message"]["source"]["session_id"] = 17


@changed("reply", "authentication-as-text", "Replies have headers.authentication as a text.", "7.2-01")
def _(envelope, *_):
    envelope["message"]["headers"]["authentication"] = "none"


@changed("reply", "authentication-without-type", "Replies have headers.authentication without type.", "7.2-02", needs=("auth-jwt",))
def _(envelope, *_):
    envelope["message"]["headers"]["authentication"] = {"token": "x"}


@changed("reply", "authentication-token-no-token", "Replies have a jwt that is none.", "7.2-03", needs=("auth-jwt",))
def _(envelope, *_):
    envelope["message"]["headers"]["authentication"] = {"type": "jwt", "token": "peer"}


# --- Requests and responses (sections 3.1, 3.2, 12) -------------------------------------------------------------------

bug("status-ok", "status is ok.", "3.2-07")
bug("status-upper", "status is SUCCESS.", "3.2-07")
bug("status-completed", "status is completed.", "3.2-07")
bug("status-boolean", "status is true.", "3.2-06 3.2-07")
bug("status-missing", "Responses have no status.", "3.2-06 3.2-07")
bug("result-renamed", "The result is payload.data.", "3.2-08")
bug("result-beside-payload", "The result stands beside the payload.", "3.2-08")
bug("response-with-error", "A response has payload.error.", "2.3-35")
bug("response-as-request", "A response has the type request.", "3.2-01")
bug("response-type-upper", "A response has the type Response.", "2.3-10 3.2-01")
bug("event-after-response", "A response has the type event.", "3.2-01 2.3-35")
bug("execution-time-seconds", "execution_time_ms is a fraction of seconds.", "3.2-05")
bug("execution-time-whole-seconds", "execution_time_ms counts whole seconds.", "3.2-05")
bug("execution-time-microseconds", "execution_time_ms counts microseconds.", "3.2-05")
bug("execution-time-negative", "execution_time_ms is negative.", "3.2-05")
bug("execution-time-text", "execution_time_ms is a text.", "3.2-04 3.2-05")
bug("execution-time-instant", "execution_time_ms is an instant.", "3.2-05")
bug("execution-time-of-the-uptime", "execution_time_ms is the time since the start.", "3.2-05")
bug("metadata-as-list", "metadata is a list.", "3.2-10")
bug("metadata-model-object", "metadata.model_used is an object.", "3.2-11")
bug("metadata-tokens-as-text", "metadata.tokens_consumed is a text.", "3.2-12")
bug("metadata-tokens-negative", "metadata.tokens_consumed is negative.", "3.2-12")
bug("metadata-tokens-fraction", "metadata.tokens_consumed is a fraction.", "3.2-12")
bug("context-required", "Refuses a request without payload.context.", "3.1-04 3.1-07")
bug("known-context-members-only", "Refuses other members of payload.context.", "12.2-02")
bug("context-session-required", "payload.context without session_id gets CONTEXT_NOT_FOUND.", "3.1-04")
bug("destination-capability-executed", "Executes the capability of the destination.", "12.2-01 3.1-08", kind="agent", **STRICT)
bug("destination-capability-required", "Refuses a destination without capability.", "12.2-01")
bug("agent-id-required", "Refuses a request that is addressed by capability.", "12.1-01")
bug("unaddressed-to-the-last-agent", "Gives a request without agent id to its last agent.", "12.1-01")
bug("no-capability-is-the-first", "A request without capability executes the first one.", "3.1-02")
skip("parameters-list-taken", "parameters-list", "Takes an array as parameters for none.", "3.1-03")
skip("parameters-text-taken", "parameters-text", "Takes a text as parameters for none.", "3.1-03")
bug("parameters-lost", "Passes only parameters that it knows.", "3.1-09")
bug("parameters-of-the-last-request", "Concurrent requests get the parameters of the last one.", "3.1-09 3.2-03")
bug("result-of-the-one-before", "A sender gets the result of its request before.", "3.1-09 3.1-08")
bug("result-of-the-first", "tool-use always returns its first result.", "3.1-09")
bug("results-cached-by-capability", "Results are cached by capability and names of parameters.", "3.1-09")
bug("results-cached-by-sender", "Results are cached by sender.", "3.1-08 3.1-09")
bug("unknown-capability-fallback", "An unknown capability runs the first one.", "6.2-03")
bug("capability-by-prefix", "Finds a capability by the word before its first dash.", "6.2-03")
bug("capability-ends-with-analysis", "Takes quantum-analysis for text-analysis.", "6.2-03")
bug("declared-output-differs", "The declared output schema does not fit the results.", "2.2-16")
bug("declares-what-it-does-not-serve", "A served capability is not declared.", "10.1-04 2.2-16 2.2-01")
bug("own-agents-unlisted", "The agents of a mesh are declared nowhere.", "10.1-04 2.2-01")

# --- Errors (section 6) -----------------------------------------------------------------------------------------------

bug("error-as-response", "Errors are responses with status failed.", "6.1-01 6.2-03")
bug("error-as-failed-result", "Errors are failed results.", "6.1-01 6.2-03")
for word in ("CAPABILITY_NOT_FOUND", "AGENT_NOT_FOUND", "INVALID_SCHEMA", "TIMEOUT", "INSUFFICIENT_RESOURCES", "CONTEXT_NOT_FOUND"):
    where = {"CAPABILITY_NOT_FOUND": "6.2-03", "AGENT_NOT_FOUND": "6.2-02", "INVALID_SCHEMA": "6.2-08", "TIMEOUT": "6.2-06", "INSUFFICIENT_RESOURCES": "6.2-14", "CONTEXT_NOT_FOUND": "6.2-10"}[word]
    bug(f"{word}-as-response", f"{word} is a response with status failed.", where)
bug("error-as-string", "payload.error is a text.", "6.1-02")
bug("error-flat", "Code and message stand in the payload.", "6.1-02 6.1-03")
bug("error-beside-payload", "The error stands beside the payload.", "6.1-02")
bug("error-with-status-success", "Errors have the status success.", "2.3-35")
bug("error-code-lower", "Codes are in lower case with dashes.", "6.2-03 6.2-01")
bug("error-code-camel", "Codes are in camel case.", "6.2-03 6.2-01")
bug("error-code-number", "Codes are numbers.", "6.1-03")
bug("error-code-with-prefix", "Codes have a prefix.", "6.2-03")
bug("error-without-message", "Errors have no message.", "6.1-04")
bug("error-message-empty", "The message of errors is empty.", "6.1-04")
bug("error-message-object", "The message of errors is an object.", "6.1-04")
bug("details-as-list", "details is a list.", "6.1-05")
bug("details-as-text", "details is a text.", "6.1-05")
bug("suggestion-as-list", "details.suggestion is a list.", "6.1-07")
bug("bare-404-page", "Unknown capabilities and agents get a page with 404.", "6.1-01 6.2-03")
bug("bare-500-for-errors", "Errors are bare 500.", "6.1-01 6.2-03 10.1-02")
bug("available-list-echoes", "available_capabilities contains the missing id.", "6.1-06")
bug("available-list-empty", "available_capabilities is empty.", "6.1-06")
bug("available-list-of-objects", "available_capabilities is a list of objects.", "6.1-06")
bug("available-list-as-text", "available_capabilities is a text.", "6.1-06")
bug("available-list-of-other-agent", "available_capabilities is that of another agent.", "6.1-06")
code("unknown-agent-as-capability", "agent", "CAPABILITY_NOT_FOUND", "An unknown agent gets CAPABILITY_NOT_FOUND.", "6.2-02")
bug("unknown-agent-served-by-capability", "A request to an unknown agent is served by another one.", "6.2-02")
bug("unknown-agent-is-unknown-capability", "An unknown agent is an unknown capability.", "6.2-02")
code("schema-error-own-code", "schema", "INVALID_PARAMETERS", "Parameters against the schema get a code of its own.", "6.2-08")
bug("schema-ignored", "Parameters are not validated.", "6.2-08")
bug("schema-required-only", "Only required members are checked, not types.", "6.2-08")
bug("schema-required-ignored", "Only types are checked, not required members.", "6.2-08")
bug("schema-numbers-as-texts", "A number is taken where a text is declared.", "6.2-08")
bug("schema-checked-once", "Only the first request of a capability is validated.", "6.2-08")
bug("invalid-parameters-failed", "Parameters against the schema get a response.", "6.2-08")
code("timeout-own-code", "timeout", "REQUEST_TIMEOUT", "A timeout gets a code of its own.", "6.2-06")
bug("maximum-off-by-one", "Refuses text of exactly max_input_length.", "2.2-18", **STRICT)
bug("forward-errors-as-success", "An error of a registered agent is passed on as success.", "6.1-01 3.3-15 3.2-07")
bug("timeout-ignored", "Slow requests are served late.", "6.2-06")
bug("timeout-in-seconds", "timeout_ms is read as seconds.", "6.2-06")
bug("timeout-at-least-five-seconds", "A timeout below five seconds counts as five.", "6.2-06")
bug("timeout-two-seconds-late", "TIMEOUT comes two seconds late.", "6.2-06")
bug("timeout-with-partial-result", "A timeout gets a response with an empty result.", "6.2-06")
bug("timeout-without-answer", "A timeout gets no answer.", "6.2-06", slow=True)
bug("timeout-fixed-one-second", "Gives up after a second.", "6.2-07")
bug("timeout-a-tenth", "Gives up after a tenth of timeout_ms.", "6.2-07")
code("exhaust-own-code", "resources", "OVERLOADED", "Missing resources get a code of their own.", "6.2-14")
bug("exhaust-served", "A request that lacks resources is served.", "6.2-14")
bug("exhaust-failed", "Missing resources get a response with status failed.", "6.2-14")
bug("exhausted-for-good", "After missing resources their sender is refused.", "6.2-14")
code("missing-context-own-code", "context", "NOT_FOUND", "A missing context gets a code of its own.", "6.2-10 6.2-11 6.2-12 6.2-13")
RATE = {"needs": ("rate-limited",)}
bug("rate-limit-one-less", "The last request within the limit is refused.", "6.2-05", **RATE)
bug("rate-limit-doubled", "Twice the number of requests is served.", "6.2-05", **RATE)
bug("rate-not-limited", "The rate is not limited.", "6.2-05", **RATE)
bug("rate-never-recovers", "After the limit a source is refused for good.", "6.2-05", **RATE)
bug("rate-code-resources", "Too many requests get INSUFFICIENT_RESOURCES.", "6.2-05", **RATE)
bug("rate-of-all-sources", "The limit counts the requests of all sources together.", "6.2-05", **RATE)

# --- Registration (sections 2.1, 2.2, 4.1) ----------------------------------------------------------------------------

REGISTRY = {"kind": "registry"}
skip("registration-without-agent", "agent", "Takes a registration without agent.", "2.1-01 4.1-19", needs=("registers-others",), **REGISTRY)
skip("agent-as-text", "agent-type", "Takes a text as agent.", "2.1-01 4.1-19", needs=("registers-others",), **REGISTRY)
skip("registration-without-id", "id", "Takes an identity without id.", "2.1-03 4.1-19", needs=("registers-others",), **REGISTRY)
skip("id-of-any-type", "id-type", "Takes numbers and objects as id.", "2.1-04 4.1-19", needs=("registers-others",), **REGISTRY)
skip("id-empty-taken", "id-empty", "Takes an empty id.", "2.1-04 4.1-19", needs=("registers-others",), **REGISTRY)
skip("id-null-taken", "id-null", "Takes null as id.", "2.1-04 4.1-19", needs=("registers-others",), **REGISTRY)
skip("capabilities-as-object", "capabilities-object", "Takes one declaration for a list.", "2.2-03 4.1-19", **REGISTRY)
skip("capabilities-as-text", "capabilities-text", "Takes an id for a list of declarations.", "2.2-03 4.1-19", **REGISTRY)
skip("capability-without-id-skipped", "capability-id", "Skips a declaration without id, and takes the rest.", "2.2-06 4.1-19", **REGISTRY)
bug("python-frameworks-only", "Refuses the framework crewai.", "2.1-13 4.1-17 4.1-18", **REGISTRY)
bug("ref-schema-refused", "Refuses a schema that is a reference.", "2.2-12 4.1-17 4.1-18", **REGISTRY)
bug("ref-schema-crashes", "A schema that is a reference gets a bare 500.", "2.2-12 4.1-17 4.1-18", **REGISTRY)
bug("constraints-required", "Refuses a declaration without constraints.", "2.2-17 4.1-17 4.1-18", **REGISTRY)
bug("known-constraints-only", "Refuses constraints but response_time_ms.", "2.2-17 4.1-17 4.1-18", **REGISTRY)
bug("taxonomy-misses-one", "Does not know causal-reasoning.", "9.4-03", **REGISTRY)
bug("registration-ids-lower-case", "Stores capability ids with underscores.", "4.1-18 9.1-01 9.4-03", **REGISTRY)
bug("registration-first-capability-only", "Keeps the first capability.", "2.2-05 3.3-12", **REGISTRY)
bug("registration-last-capability-only", "Keeps the last capability.", "2.2-05 3.3-12", **REGISTRY)
bug("registration-at-most-two-capabilities", "Keeps two capabilities.", "2.2-05", **REGISTRY)
bug("registration-not-kept", "Answers a registration and forgets it.", "4.1-18", **REGISTRY)
bug("registration-forgets-the-one-before", "A registration replaces the one before, of another agent.", "3.3-10", **REGISTRY)
bug("one-agent-for-a-capability", "A second agent with a capability replaces the first.", "3.3-10", **REGISTRY)
bug("registration-not-replaced", "A second registration adds a second record.", "2.1-02", **REGISTRY)
bug("second-listed-under-both-names", "A second registration adds a record with another name.", "2.1-02", **REGISTRY)
bug("registration-again-forgets", "A second registration removes the agent.", "2.1-02", **REGISTRY)
bug("registration-version-defaulted", "Every agent gets the version 1.0.0.", "2.1-09")
bug("credentials-shown-to-others", "Discovery shows credentials.", "4.1-16", **REGISTRY, **STRICT)
bug("endpoints-of-the-registry", "Discovery shows the endpoint of the registry.", "4.1-13", **REGISTRY, **STRICT)
bug("entries-name-the-registry", "Entries have the id of the registry.", "4.1-18 3.3-10", **REGISTRY)
bug("enforced-for-contexts-only", "Requests of agents that are not registered are served.", "4.1-02", needs=("senders-enforced",), **STRICT)
bug("forward-to-health", "Forwards requests to the health URL.", "2.1-05")
bug("forward-to-first-registered", "Forwards requests to the first registered agent.", "2.1-05 3.3-15")
bug("forward-answered-by-the-mesh", "Answers for a registered agent.", "2.1-05")
bug("forward-without-parameters", "Forwards requests without parameters.", "2.1-05 3.1-09")
bug("forward-readdressed", "Forwards requests addressed to itself.", "2.1-05")
bug("forward-payload-only", "Forwards only the payload.", "2.1-05")

# --- Discovery (section 3.3) ------------------------------------------------------------------------------------------

bug("discovery-substring", "Matches a part of an id.", "3.3-11", **REGISTRY)
bug("discovery-prefix", "Matches the beginning of an id.", "3.3-11", **REGISTRY)
bug("discovery-returns-everyone", "Ignores the query.", "3.3-11 3.3-17 4.1-02", **REGISTRY)
bug("discovery-unknown-capability-lists-all", "A capability that no agent has lists every agent.", "3.3-17 4.1-02 3.3-11", **REGISTRY)
bug("discovery-any", "Matches one of several capabilities.", "3.3-12", **REGISTRY, **STRICT)
bug("discovery-of-first-wanted", "Looks at the first capability of a query.", "3.3-12", **REGISTRY, **STRICT)
bug("discovery-of-first-declared", "Looks at the first capability of an agent.", "2.2-05 3.3-12", **REGISTRY)
bug("discovery-by-order", "Matches the first declared capabilities in their order.", "2.2-05", **REGISTRY)
bug("discovery-exact-set", "Matches agents that have exactly the capabilities.", "2.2-05", **REGISTRY)
bug("discovery-lists-one", "Lists the first match.", "3.3-10", **REGISTRY)
bug("discovery-newest-only", "Lists the last match.", "3.3-10", **REGISTRY)
bug("discovery-lists-twice", "Lists each agent twice.", "2.1-02", **REGISTRY)
bug("discovery-cached", "Repeats the first non-empty answer to a query.", "3.3-10 4.1-18", **REGISTRY)
bug("discovery-answered-as-event", "A discovery gets 202 without a body.", "3.3-09", **REGISTRY)
bug("agents-as-map", "The list is a map.", "3.3-09", **REGISTRY)
bug("no-match-null", "Where no agent matches, the list is null.", "3.3-17", **REGISTRY)
bug("no-match-agent-error", "Where no agent matches, the answer is AGENT_NOT_FOUND.", "3.3-17", **REGISTRY)
bug("latency-ignored", "Ignores max_latency_ms.", "3.3-13", **REGISTRY)
bug("latency-excludes-the-faster", "Keeps the slower agents.", "3.3-13 3.3-14", **REGISTRY)
bug("latency-exclusive", "Drops agents exactly at the bound.", "3.3-14", **REGISTRY)
bug("latency-in-seconds", "Reads max_latency_ms as seconds.", "3.3-13", **REGISTRY)
bug("latency-with-tolerance", "Keeps agents up to twice the bound.", "3.3-13", **REGISTRY)
bug("latency-compared-as-text", "Compares latencies as texts.", "3.3-13 3.3-14", **REGISTRY)
bug("latency-of-first-capability", "Compares the time of the first declared capability.", "3.3-13 3.3-14", **REGISTRY)
bug("latency-of-any-capability", "Drops an agent with a slow capability that was not asked for.", "3.3-14", **REGISTRY)
bug("empty-constraints-list-nobody", "Empty constraints list no agent.", "3.3-06", **REGISTRY)
bug("constraints-of-the-last-query", "Keeps constraints for the next query.", "3.3-06 3.3-10 3.3-14 4.1-18", **REGISTRY)
bug("unknown-rate-excluded", "Drops new agents as soon as min_success_rate is given.", "3.3-16", **REGISTRY)
bug("rate-exclusive", "An unknown rate is 0, and has to be above the bound.", "3.3-16", needs=("unknown-rate-zero",), **REGISTRY)
bug("rate-ignored", "Ignores min_success_rate.", "3.3-15")
bug("rate-inverted", "Keeps the agents that fail.", "3.3-15")
bug("rate-of-all-agents", "Counts one success rate for all agents.", "3.3-15")
bug("failures-not-counted", "Errors of an agent count as success.", "3.3-15")
skip("query-as-text", "query-type", "Takes a text as query.", "3.3-04", **REGISTRY)
skip("wanted-any-type", "wanted-types", "Takes numbers as capabilities.", "3.3-05", **REGISTRY)

# --- Events and contexts (sections 3.4, 5) ----------------------------------------------------------------------------

bug("event-answered-with-error", "A valid event gets CAPABILITY_NOT_FOUND.", "3.4-12")
bug("events-not-answered", "A valid event gets a bare 500.", "3.4-12")
bug("event-dropped", "An event is acknowledged and ignored.", "3.4-13")
bug("event-kept-in-a-copy", "An event changes a copy.", "3.4-13")
bug("event-first-key-only", "An event sets one key.", "3.4-13")
bug("event-as-owner", "An event is taken for one of the creator.", "3.4-17")
bug("malformed-events-acknowledged", "A malformed event gets 202.", "3.4-03 3.4-05", **STRICT)
skip("event-without-context-taken", "event-context", "An event whose context is not an object gets 202.", "3.4-03", **STRICT)
skip("event-list-as-memory", "event-memory", "An event with a list as memory gets 202.", "3.4-05", **STRICT)
bug("event-bypasses-write-list", "Events are not checked against the write list.", "3.4-17")
bug("read-list-ignored", "Every agent reads.", "3.4-15")
bug("read-list-ignored-by-get", "get is not checked against the read list.", "3.4-15")
bug("read-list-ignored-by-merge", "merge is not checked against the read list.", "3.4-15")
bug("read-list-ignored-by-fork", "fork is not checked against the read list.", "3.4-15")
bug("get-by-session-unchecked", "get by session is not checked against the read list.", "3.4-15")
bug("merge-checks-first-only", "merge checks the first context.", "3.4-15")
bug("merge-checks-last-only", "merge checks the last context.", "3.4-15")
bug("write-list-ignored", "Every agent writes.", "3.4-17")
bug("writers-are-readers", "Who may read may write.", "3.4-17")
bug("lists-by-prefix", "Compares agent ids by their beginning.", "3.4-15 3.4-17")
bug("first-of-list-only", "Looks at the first agent of a list.", "3.4-14 3.4-16")
bug("denial-shows-the-context", "The details of a denial show the memory.", "3.4-15")
bug("denial-names-the-values", "The text of a denial shows the memory.", "3.4-15")
bug("denied-answered-with-success", "Denied access gets an empty success.", "3.4-15 3.4-17")
bug("agent-ids-compared-without-last", "The last character of an agent id is lost.", "5.1-14 5.1-13 3.4-15")
bug("private-memory-returned", "Every answer shows the private state of others.", "5.1-14")
for where in ("get", "update", "fork", "errors", "get-by-session"):
    bug(f"private-memory-in-{where}", f"The private state of others shows in {where}.", "5.1-14", needs=("fork-keeps-each",) if where == "fork" else ())
bug("private-keys-shown", "The names of private values of others show.", "5.1-14")
bug("private-memory-in-summary", "A summary shows the private state of others.", "5.1-14")
bug("private-memory-of-last-writer", "Shows the private state of the agent that wrote last.", "5.1-14 5.1-13")
bug("private-memory-shown-to-forker", "A fork shows the private state of others to the agent that forked.", "5.1-14", needs=("fork-keeps-each",))
bug("private-memory-hidden-from-owner", "No private state is returned.", "5.1-13 5.2-06")
bug("private-memory-flattened", "agent_memory is the state itself, without the agent id.", "5.1-13 5.2-06")
bug("private-memory-writable", "An update writes the private state of another agent.", "5.1-15")
bug("private-update-ignored", "Private state is not stored.", "5.1-13 5.2-06")
bug("private-update-to-shared", "Private state goes to the shared memory.", "5.1-14 5.1-13 5.2-06")
bug("private-memory-to-shared-at-creation", "Private state given at creation goes to the shared memory.", "5.1-14")
bug("private-lost-by-shared-update", "An update of shared memory removes private state.", "5.1-13 5.2-06")
bug("shared-lost-by-private-update", "An update of private state empties the shared memory.", "5.2-06")
bug("one-private-entry", "Keeps the private state of one agent.", "5.1-13 5.1-14")
bug("merge-leaks-private", "A merge gives the private state of others to the agent that merges.", "5.1-14")
bug("merge-private-to-shared", "A merge makes private state shared.", "5.1-14")
bug("fork-leaks-private", "A fork gives the private state of others to the agent that forks.", "5.1-14")
bug("fork-private-to-shared", "A fork makes private state shared.", "5.1-14")
bug("errors-with-memory", "CAPABILITY_NOT_FOUND shows private state.", "5.1-14")
bug("discovery-with-memory", "Discovery shows private state.", "5.1-14")
bug("context-leaks-into-results", "Results show the private state of the session.", "5.1-14")
bug("agent-id-in-parameters-wins", "The agent is the first one named in agent_memory.", "5.1-15 5.1-14")
bug("context-agent-of-session", "The first agent that used contexts is taken for every later one.", "5.1-13 5.1-14 3.4-15")
bug("expiry-ignored", "Expired contexts stay.", "5.1-10")
bug("expiry-an-hour-late", "Contexts expire an hour late.", "5.1-10")
bug("expiry-zone-lost", "Contexts expire two hours late.", "5.1-10")
bug("expiry-for-get-only", "Expired contexts can be updated.", "5.1-10")
bug("expiry-for-update-only", "Expired contexts can be read.", "5.1-10")
bug("expired-shown-once", "An expired context is found once more.", "5.1-10")
bug("expired-code-timeout", "An expired context gets TIMEOUT.", "5.1-10")
bug("expiry-not-by-session", "An expired context is found by its session.", "5.1-09 5.1-10")
bug("past-expiry-lasts", "A context created in the past does not expire.", "5.1-09")
bug("forks-never-expire", "The fork of a context that expires does not, though it says so.", "5.1-10")
bug("update-drops-expiry", "An update removes expires_at.", "5.1-07 5.1-10")
bug("expiry-lost", "expires_at is not stored.", "5.1-07 5.1-10")
bug("expiry-not-shown", "expires_at is not returned.", "5.1-07")
bug("created-an-hour-ago", "created_at is an hour ago.", "5.1-06")
bug("created-at-of-the-reading", "created_at is the time of the reading.", "5.1-05")
bug("context-id-of-session", "The session is the id of a context.", "5.2-02 5.2-11 5.2-10")
bug("context-id-of-agent", "An agent has one context.", "5.2-02 5.2-03")
bug("context-id-constant", "There is one context.", "5.2-02 5.2-03")
bug("get-invents", "get of an unknown id returns an empty context.", "6.2-10")
bug("get-of-second-agent-empty", "Others than the creator see no shared memory.", "5.1-12")
bug("texts-normalised", "Texts lose characters beyond ASCII.", "5.2-03")
bug("numbers-as-texts", "Numbers become texts.", "5.2-03")
bug("nulls-dropped", "Null values are lost.", "5.2-03")
bug("empty-values-dropped", "Empty values are lost.", "3.4-07")
bug("lists-sorted", "Lists are sorted.", "3.4-08")
bug("update-replaces", "An update replaces the shared memory.", "5.2-07")
bug("update-replaces-second-time", "The second update replaces the shared memory.", "5.2-07")
bug("update-of-new-keys-ignored", "An update does not add keys.", "5.2-05 3.4-13")
bug("update-of-known-keys-ignored", "An update does not change keys.", "5.2-05")
bug("update-first-key-only", "An update sets one key.", "5.2-05")
bug("update-answered-before-it-is-kept", "An update changes a copy.", "5.2-05")
bug("update-upserts", "An update of an unknown id creates it.", "6.2-11")
bug("update-gives-new-id", "An update gives a new id.", "5.2-05 5.2-07 5.2-06")
bug("malformed-update-empties-memory", "A refused update empties the memory.", "5.2-05")
bug("merge-first-two-only", "A merge drops a third context.", "5.2-08")
bug("merge-last-only", "A merge keeps the last context.", "5.2-08")
bug("merge-skips-missing", "A merge skips contexts that do not exist.", "6.2-12")
bug("merge-skips-missing-first", "A merge skips contexts that do not exist, before one that does.", "6.2-12")
bug("merge-conflict-listed", "Two values for a key become a list.", "5.2-09")
bug("merge-conflict-null", "Two values for a key become null.", "5.2-09")
bug("merge-conflict-concatenated", "Two values for a key become one text.", "5.2-09")
bug("merge-changes-sources", "A merge writes to its sources.", "5.2-10", **STRICT)
bug("merge-empties-first", "A merge empties its first source.", "5.2-10", **STRICT)
bug("fork-returns-parent", "A fork is its parent.", "5.2-11")
bug("fork-moves-parent", "A fork ends its parent.", "5.2-11")
bug("fork-without-lineage", "A fork has the lineage of a new context.", "5.2-12 5.1-17")
bug("fork-names-itself-as-parent", "A fork is its own parent.", "5.2-12 5.1-17")
bug("fork-root-is-parent", "The root of a fork is its parent.", "5.1-18")
bug("fork-root-is-itself", "The root of a fork is itself.", "5.1-18")
bug("fork-root-is-first-context", "The root of a fork is the first context that was created.", "5.1-18")
bug("fork-shares-memory", "A fork and its parent share one memory.", "5.2-14")
bug("fork-writes-to-parent", "A write to a fork goes to its parent as well.", "5.2-14")
bug("fork-empty", "A fork is empty.", "5.2-13")
bug("fork-copies-what-was-created", "A fork has the memory with which its parent was created.", "5.2-13")


@changed("context", "shared-memory-null-when-empty", "An empty shared memory is null.", "5.1-11")
def _(value, *_):
    if not value["shared_memory"]:
        value["shared_memory"] = None


@changed("context", "shared-memory-as-list", "shared_memory is a list of pairs.", "5.1-11 5.2-01")
def _(value, *_):
    value["shared_memory"] = [[n, v] for n, v in value["shared_memory"].items()]


@changed("context", "context-id-renamed", "The id of a context is context_id.", "5.1-02")
def _(value, *_):
    value["context_id"] = value.pop("id")


@changed("context", "session-lost", "session_id is not returned.", "5.1-04")
def _(value, *_):
    value.pop("session_id", None)


@changed("context", "session-null-as-text", "A missing session is the text null.", "5.1-04")
def _(value, *_):
    value["session_id"] = value.get("session_id") or 0


@changed("context", "created-at-missing", "created_at is not returned.", "5.1-05")
def _(value, *_):
    del value["created_at"]


@changed("context", "created-at-epoch", "created_at is a number.", "5.1-06")
def _(value, *_):
    value["created_at"] = 1_700_000_000


@changed("context", "lineage-as-list", "The lineage of a fork is a list.", "5.1-16 5.1-17")
def _(value, ways, context, *_):
    if context.parent:
        value["lineage"] = [context.root, context.parent]


@changed("context", "get-result-without-memory", "get returns no shared memory.", "5.2-03 5.1-11")
def _(value, ways, context, agent, operation):
    if operation == "get":
        value = copy.deepcopy(value)
        value["shared_memory"] = {}
        return value


# --- Negotiation and delegation (sections 4.2, 4.3) -------------------------------------------------------------------

bug("negotiation-always-yes", "Accepts whatever is asked.", "4.2-10")
bug("negotiation-always-no", "Accepts nothing.", "4.2-09")
bug("negotiation-any", "Accepts if one of the capabilities is there.", "4.2-10")
bug("negotiation-first-only", "Looks at the first capability.", "4.2-10")
bug("negotiation-last-only", "Looks at the last capability.", "4.2-10")
bug("negotiation-by-destination", "Looks at the capability of the destination.", "4.2-10")
bug("negotiation-remembers-yes", "Accepts everything after the first yes.", "4.2-10")
bug("negotiation-says-yes-or-no", "The outcome is a word.", "4.2-08")
bug("negotiation-result-boolean", "The result is the outcome.", "4.2-08")
bug("negotiation-needs-tokens", "Refuses a negotiation without estimated_tokens.", "4.2-06")
bug("negotiation-needs-deadline", "Refuses a negotiation without deadline.", "4.2-07")
skip("negotiation-without-requirements", "requirements", "Takes a negotiation without requirements.", "4.2-04")
skip("needs-as-text", "needs-text", "Takes a text as capabilities.", "4.2-05", **STRICT)
skip("delegation-as-text", "delegation-type", "Takes a text as delegation.", "4.3-03")
skip("delegation-without-subtask", "subtask", "Takes a delegation without subtask.", "4.3-05")
skip("subtask-without-capability", "subtask-capability", "Takes the capability of the destination for a subtask without one.", "4.3-06")
bug("subtask-parameters-unchecked", "The parameters of a subtask are not validated.", "4.3-07")
bug("unknown-subtask-acknowledged", "Acknowledges a subtask that it cannot do.", "4.3-12")
bug("unknown-subtask-reported-as-done", "Acknowledges a subtask that it cannot do, and reports that it is done.", "4.3-12", needs=("unknown-subtask-reported-later",))
bug("delegation-acknowledged-as-failed", "The acknowledgement has the status failed.", "4.3-01 4.3-09")
bug("delegation-without-envelope", "The acknowledgement is 202 without a body.", "4.3-01 4.3-09")
bug("callback-on-success-only", "A subtask that does not succeed is not reported.", "4.3-07 4.3-10", needs=("subtask-checked-later",), slow=True)
bug("callback-never", "Acknowledges and never calls back.", "4.3-10", slow=True)
bug("callback-after-twelve-seconds", "Calls back after twelve seconds.", "4.3-10", slow=True)
bug("callback-by-put", "Calls back by PUT.", "4.3-10")
bug("callback-to-the-root", "Calls back at the root of the server.", "4.3-10 4.3-11", slow=True)
bug("callback-as-form", "The callback is a form.", "4.3-10 4.3-11")
bug("callback-as-text", "The callback is text/plain.", "8.2-03")
bug("callback-without-reference", "The callback has only the result.", "4.3-11")
bug("callback-to-last-url", "All open subtasks call back at the URL of the last one.", "4.3-11 4.3-10", slow=True)
bug("callback-for-last-task", "All callbacks name the last task.", "4.3-11")

# --- Credentials and signatures (section 7) ---------------------------------------------------------------------------

bug("auth-optional", "A request without credentials passes.", "7.1-03", **KEYED)
bug("auth-sessions", "A sender that was right once is not checked again.", "7.1-02 7.1-03", **KEYED)
for place in ("discovery", "registration", "contexts", "events", "negotiation", "delegation"):
    bug(f"auth-not-for-{place}", f"Credentials are not checked for {place}.", "7.1-03 7.1-02", **KEYED)
bug("auth-not-for-unaddressed", "Credentials are not checked without an agent id.", "7.1-03 7.1-02", **KEYED)
bug("api-key-prefix", "Compares as many characters as were sent.", "7.1-02", **KEYED)
bug("api-key-empty-taken", "Takes an empty key.", "7.1-02", **KEYED)
bug("api-key-extended", "Takes what begins with the key.", "7.1-02", **KEYED)
bug("api-key-any-case", "Compares keys in any case.", "7.1-02", **KEYED)
bug("api-key-by-length", "Compares the length of keys.", "7.1-02", **KEYED)
bug("api-key-first-characters", "Compares eight characters of keys.", "7.1-02", **KEYED)
bug("api-key-any", "Takes any key.", "7.1-02", **KEYED)
code("auth-own-code", "credentials", "UNAUTHORIZED", "Bad credentials get a code of its own.", "6.2-04", **KEYED)
bug("jwt-expiry-unchecked", "Ignores exp.", "7.1-05", **TOKEN)
bug("jwt-leeway-of-an-hour", "Takes a token for an hour after its end.", "7.1-05", **TOKEN)
bug("jwt-expiry-by-issue", "Takes a token for an hour after its issue.", "7.1-05", **TOKEN)
bug("jwt-alg-none", "Takes the algorithm none.", "7.1-06", **TOKEN)
bug("jwt-not-verified", "Does not look at the signature of a token.", "7.1-06", **TOKEN)
bug("jwt-missing-signature-passes", "Takes a token with an empty signature.", "7.1-06", **TOKEN)
bug("jwt-two-segments-taken", "Takes a token of two segments for an unsigned one.", "7.1-07", needs=("auth-jwt",), skip=("unsigned",))
bug("jwt-header-not-covered", "Checks the signature of a token for a header of its own.", "7.1-06", **TOKEN)
bug("jwt-key-or-default", "Knows a second key, of the documentation.", "7.1-06", **TOKEN)
bug("jwt-first-token-kept", "Tokens of a sender that had a right one are not looked at.", "7.1-05 7.1-06 7.1-07", **TOKEN)
bug("jwt-signatures-remembered", "Takes a signature that it has seen, for other claims.", "7.1-06", **TOKEN)
bug("scheme-case-sensitive", "Takes Bearer in this spelling only.", "8.2-05", **TOKEN)
bug("hmac-never-checked", "Takes any signature.", "7.1-12 7.1-13 7.1-14", **SIGNED)
bug("hmac-payload-only", "Signatures are over the payload.", "7.1-11 7.1-13", **SIGNED, fatal=True)
bug("hmac-top-level-only", "Drops nested members that are not named like top-level ones.", "7.1-11 7.2-10", **SIGNED, fatal=True)
bug("hmac-null-signature-hashed", "Signs with the signature null.", "7.1-11 7.2-10", **SIGNED, fatal=True)
bug("hmac-ascii-escapes", "Escapes other characters before signing.", "7.1-11", **SIGNED)
bug("hmac-ascii-only", "Drops other characters before signing.", "7.1-11", **SIGNED)
bug("hmac-latin-1", "Signs in Latin-1.", "7.1-11", **SIGNED)
bug("hmac-order-as-sent", "Signs members in the order in which they came.", "7.1-11", **SIGNED, fatal=True)
bug("hmac-with-spaces", "Signs with spaces after commas and colons.", "7.1-11", **SIGNED, fatal=True)
bug("hmac-text-lower-case", "Puts the text into lower case before signing.", "7.1-11", **SIGNED, fatal=True)
bug("hmac-covers-protocol", "Signatures are over the envelope.", "7.1-11", **SIGNED, fatal=True)
bug("hmac-key-decoded", "Decodes the key from base64.", "7.1-11", **SIGNED, fatal=True)
bug("hmac-md5", "Uses MD5.", "7.1-11", **SIGNED, fatal=True)
for part in ("headers", "destination", "source", "id", "timestamp", "payload"):
    bug(f"hmac-without-{part}", f"Signatures do not cover {part}.", "7.1-11 7.1-12 7.1-13", fatal=True, **SIGNED)
bug("hmac-algorithm-ignored", "Does not look at the algorithm.", "7.2-07", **SIGNED)
bug("hmac-none-taken", "Takes the algorithm none.", "7.2-07", **SIGNED)
bug("hmac-unknown-algorithm-passes", "An unknown algorithm passes unchecked.", "7.2-07", **SIGNED)
bug("hmac-empty-value-passes", "An empty value passes.", "7.2-08 7.2-07", **SIGNED)
bug("hmac-undecodable-passes", "A value that is not base64 passes.", "7.2-08", **SIGNED)
bug("hmac-truncated-accepted", "Compares as many bytes as were sent.", "7.2-09", **SIGNED)
bug("hmac-first-bytes-compared", "Compares eight bytes of a signature.", "7.1-12 7.2-09", **SIGNED)
bug("hmac-signature-reused", "Takes a signature that it has seen, for another message.", "7.1-12", **SIGNED)
bug("hmac-sender-trusted-after-first", "Signatures of a sender that had a right one are not checked.", "7.1-12 7.1-13 7.1-14", **SIGNED)
bug("hmac-not-for-contexts", "Signatures are not checked for contexts.", "7.1-12 7.1-14", **SIGNED)
bug("hmac-not-for-events", "Signatures are not checked for events.", "7.1-12 7.1-14", **SIGNED)
bug("hmac-not-for-registry", "Signatures are not checked for registration and discovery.", "7.1-12 7.1-14", **SIGNED)
bug("signature-of-hex-text", "Replies are signed with the base64 of the hexadecimal text.", "7.2-09 7.2-10", **REPLIES_SIGNED)
bug("signature-truncated", "Replies have half a signature.", "7.2-09", **REPLIES_SIGNED)
bug("signature-upper-hex", "Replies are signed in upper-case hexadecimal.", "7.2-10 7.2-08 7.2-09", **REPLIES_SIGNED)
bug("signature-algorithm-renamed", "The algorithm of signatures is sha256.", "7.2-06", **REPLIES_SIGNED)
bug("signed-before-the-last-change", "A header is added after signing.", "7.2-10", **REPLIES_SIGNED)

# --- Health and WebSocket (sections 8.1, 10.1) ------------------------------------------------------------------------

bug("health-missing", "Health gets 404.", "10.1-07")
bug("health-500", "Health gets 500.", "10.1-07")
bug("health-status-word", "The status of health is fine.", "10.1-08", **STRICT)
bug("health-redirects", "Health redirects.", "10.1-07")
bug("ws-one-at-a-time", "A second request on a busy connection is lost.", "8.1-03")
bug("ws-first-request-only", "Only the first request on a connection is answered.", "8.1-02")
bug("ws-dies-on-garbage", "A malformed frame ends the server.", "8.1-04", fatal=True)
bug("ws-stuck-after-garbage", "A malformed frame blocks the connection.", "8.1-04")
bug("ws-errors-uncorrelated", "Errors over WebSocket have no correlation_id.", "6.1-08 8.1-03")
bug("ws-correlation-of-the-last", "Replies over WebSocket correlate with the message that came last.", "8.1-03 3.2-03")
bug("ws-binary-replies", "Replies over WebSocket are binary frames.", "8.1-02 8.1-07")
bug("ws-result-differs", "Results over WebSocket have other members.", "8.1-07")
bug("ws-inner-message", "Replies over WebSocket are the inner message.", "8.1-02 8.1-07 2.3-05")
bug("ws-two-messages-in-a-frame", "A frame holds two messages.", "8.1-02 2.3-01 8.1-07")
bug("auth-not-over-websocket", "Credentials are not checked over WebSocket.", "7.1-02 7.1-03", **KEYED)

# --- Client (sections 2.1, 2.2, 3, 4) ---------------------------------------------------------------------------------

bug("client-never-registers", "Does not register.", "4.1-01", **CLIENT)
bug("client-registers-late", "Sends a discovery before its registration.", "4.1-01 4.1-05", **CLIENT)
bug("client-registers-at-mesh", "Registers at the agent mesh.", "4.1-04", **CLIENT)
bug("client-registers-by-register", "Registers with the capability register.", "4.1-05 4.1-01", **CLIENT)
bug("client-source-missing", "Messages have no source.", "2.3-16 2.1-05", **CLIENT)
bug("client-source-of-another", "The source of messages is not the registered id.", "2.1-05", **CLIENT)
bug("client-id-constant", "All messages have one id.", "2.3-08", **CLIENT)
bug("client-speaks-2-0", "Messages say AMP/2.0.", "2.1-16 11-01", **CLIENT)
bug("client-timeout-as-text", "timeout_ms is a text.", "2.3-27", **CLIENT)
bug("client-calls-are-events", "Requests have the type event.", "4.1-03 3.1-01 3.3-01", **CLIENT)
bug("client-sends-inner-message", "Sends the inner message alone.", "8.2-06", **CLIENT)
bug("client-sends-text", "Sends text/plain.", "8.2-03", **CLIENT)
bug("client-refuses-further-headers", "Refuses replies with execution_time_ms.", "2.3-32", **CLIENT)
bug("client-refuses-signed-replies", "Refuses replies with a signature.", "2.3-32", **CLIENT)
bug("client-without-credentials", "Sends no credentials though it has some.", "8.2-05", **CLIENT)
bug("client-credentials-without-scheme", "Sends its token without Bearer.", "8.2-05", **CLIENT)


def registration(name, about, breaks, **more):
    return changed("registration", name, about, breaks, kind="client", **more)


@registration("client-agent-as-text", "The registration has the id as agent.", "2.1-01")
def _(payload, *_):
    payload["agent"] = payload["agent"]["id"]


@registration("client-agent-under-identity", "The identity stands under identity.", "2.1-01")
def _(payload, *_):
    payload["identity"] = payload.pop("agent")


@registration("client-id-missing", "The identity has no id.", "2.1-03")
def _(payload, *_):
    del payload["agent"]["id"]


@registration("client-id-empty", "The id is empty.", "2.1-04 4.1-06")
def _(payload, *_):
    payload["agent"]["id"] = ""


@registration("client-id-of-the-process", "The registered id is not the one of messages.", "2.1-05")
def _(payload, *_):
    payload["agent"]["id"] = "process-1"


@registration("client-name-missing", "The identity has no name.", "2.1-06 4.1-06")
def _(payload, *_):
    del payload["agent"]["name"]


@registration("client-framework-null", "The framework is null.", "2.1-12 4.1-06")
def _(payload, *_):
    payload["agent"]["framework"] = None


@registration("client-version-number", "The version is a number.", "2.1-09 2.1-10")
def _(payload, *_):
    payload["agent"]["version"] = 1


@registration("client-protocol-version-three-parts", "protocol_version has three parts.", "2.1-15")
def _(payload, *_):
    payload["agent"]["protocol_version"] = "1.0.0"


@registration("client-protocol-version-2", "protocol_version is 2.0.", "2.1-15 2.1-16")
def _(payload, *_):
    payload["agent"]["protocol_version"] = "2.0"


@registration("client-capabilities-as-map", "Capabilities are a map.", "2.2-03 4.1-07")
def _(payload, *_):
    payload["capabilities"] = {c["id"]: c for c in payload["capabilities"]}


@registration("client-capabilities-as-ids", "Capabilities are ids.", "2.2-04")
def _(payload, *_):
    payload["capabilities"] = [c["id"] for c in payload["capabilities"]]


@registration("client-capability-without-id", "One capability has no id.", "2.2-06")
def _(payload, *_):
    del payload["capabilities"][-1]["id"]


@registration("client-capability-version-number", "The version of a capability is a number.", "2.2-07")
def _(payload, *_):
    payload["capabilities"][1]["version"] = 1.0


@registration("client-schema-as-text", "A schema is a text with JSON.", "2.2-10")
def _(payload, *_):
    payload["capabilities"][0]["input_schema"] = "{}"


@registration("client-schema-invalid", "A schema has the type text.", "2.2-11 2.2-15")
def _(payload, *_):
    payload["capabilities"][0]["input_schema"] = {"type": "text"}


@registration("client-output-schema-invalid", "An output schema has required as a text.", "2.2-15")
def _(payload, *_):
    payload["capabilities"][0]["output_schema"] = {"type": "object", "required": "words"}


@registration("client-output-schema-missing", "A capability has no output schema.", "2.2-14")
def _(payload, *_):
    del payload["capabilities"][2]["output_schema"]


@registration("client-description-number", "A description is a number.", "2.2-09")
def _(payload, *_):
    payload["capabilities"][0]["description"] = 7


@registration("client-constraints-as-list", "Constraints are a list.", "2.2-17")
def _(payload, *_):
    payload["capabilities"][0]["constraints"] = [payload["capabilities"][0]["constraints"]]


@registration("client-latency-as-text", "response_time_ms is a text.", "2.2-21")
def _(payload, *_):
    payload["capabilities"][0]["constraints"]["response_time_ms"] = "1s"


@registration("client-maximum-as-text", "max_input_length is a text.", "2.2-18")
def _(payload, *_):
    payload["capabilities"][0]["constraints"]["max_input_length"] = "10k"


@registration("client-maximum-negative", "max_input_length is -1 for no limit.", "2.2-18")
def _(payload, *_):
    payload["capabilities"][0]["constraints"]["max_input_length"] = -1


@registration("client-languages-as-text", "supported_languages is a text.", "2.2-19")
def _(payload, *_):
    payload["capabilities"][0]["constraints"]["supported_languages"] = "en"


@registration("client-endpoints-as-text", "endpoints is a URL.", "4.1-08")
def _(payload, *_):
    payload["endpoints"] = payload["endpoints"]["invoke"]


@registration("advertised-invoke-relative", "The advertised invoke URL is a path.", "4.1-09 4.1-10")
def _(payload, *_):
    payload["endpoints"]["invoke"] = "/aip/v1/invoke"


@registration("advertised-invoke-wrong", "The advertised invoke URL is not served.", "4.1-10")
def _(payload, *_):
    payload["endpoints"]["invoke"] += "s"


@registration("advertised-health-wrong", "The advertised health URL is not served.", "4.1-12")
def _(payload, *_):
    payload["endpoints"]["health"] += "z"


@registration("advertised-health-relative", "The advertised health URL is a path.", "4.1-11")
def _(payload, *_):
    payload["endpoints"]["health"] = "/health"


@registration("client-credentials-as-text", "authentication is a text.", "4.1-14")
def _(payload, *_):
    payload["authentication"] = "Bearer x"


@registration("client-credentials-as-object", "credentials is an object.", "4.1-16")
def _(payload, *_):
    payload["authentication"] = {"type": "bearer", "credentials": {"token": "x"}}


@registration("client-authentication-without-type", "authentication has no type.", "4.1-15")
def _(payload, *_):
    payload["authentication"] = {"credentials": "x"}


def call(name, about, breaks, **more):
    return changed("call", name, about, breaks, kind="client", **more)


@call("client-parameters-as-text", "Parameters are a text with JSON.", "3.1-03")
def _(envelope, ways, op, told):
    if op == "request":
        envelope["message"]["payload"]["parameters"] = str(told.get("parameters"))


@call("client-capability-in-method", "The capability stands under method.", "3.1-02")
def _(envelope, ways, op, told):
    if op == "request":
        envelope["message"]["payload"]["method"] = envelope["message"]["payload"].pop("capability")


@call("client-destination-is-itself", "Requests are addressed to the sender.", "2.3-21")
def _(envelope, ways, op, told):
    if op == "request":
        envelope["message"]["destination"]["agent_id"] = envelope["message"]["source"]["agent_id"]


@call("client-destination-capability-differs", "destination.capability is not that of the payload.", "2.3-22 12.1-02")
def _(envelope, ways, op, told):
    if op == "request":
        envelope["message"]["destination"]["capability"] = "invoke"


@call("client-history-as-text", "conversation_history is a text.", "3.1-06")
def _(envelope, ways, op, told):
    if "context" in envelope["message"]["payload"] and op == "request":
        envelope["message"]["payload"]["context"]["conversation_history"] = ""


@call("client-session-lost", "The session of a context is not sent.", "3.1-05 3.4-04")
def _(envelope, ways, op, told):
    envelope["message"]["payload"].get("context", {}).pop("session_id", None)


@call("client-query-as-list", "A query is a list of capabilities.", "3.3-04")
def _(envelope, ways, op, told):
    if op == "discover":
        envelope["message"]["payload"]["query"] = told["capabilities"]


@call("client-query-capability-objects", "Capabilities of a query are objects.", "3.3-05")
def _(envelope, ways, op, told):
    if op == "discover":
        envelope["message"]["payload"]["query"]["capabilities"] = [{"id": c} for c in told["capabilities"]]


@call("client-rate-in-percent", "min_success_rate is a percentage.", "3.3-08")
def _(envelope, ways, op, told):
    if op == "discover":
        envelope["message"]["payload"]["query"]["constraints"]["min_success_rate"] *= 100


@call("client-latency-bound-as-text", "max_latency_ms is a text.", "3.3-07")
def _(envelope, ways, op, told):
    if op == "discover":
        envelope["message"]["payload"]["query"]["constraints"]["max_latency_ms"] = "5000"


@call("client-negotiates-otherwise", "negotiation_type is check.", "4.2-03")
def _(envelope, ways, op, told):
    if op == "negotiate":
        envelope["message"]["payload"]["negotiation_type"] = "check"


@call("client-tokens-as-text", "estimated_tokens is a text.", "4.2-06")
def _(envelope, ways, op, told):
    if op == "negotiate":
        envelope["message"]["payload"]["requirements"]["estimated_tokens"] = "10"


@call("client-deadline-epoch", "A deadline is a number.", "4.2-07")
def _(envelope, ways, op, told):
    if op == "negotiate":
        envelope["message"]["payload"]["requirements"]["deadline"] = 1_900_000_000


@call("client-subtask-is-the-payload", "A delegation has the members of a subtask.", "4.3-05")
def _(envelope, ways, op, told):
    if op == "delegate":
        envelope["message"]["payload"]["delegation"] = envelope["message"]["payload"]["delegation"]["subtask"]


@call("client-parent-missing", "A delegation has no parent task.", "4.3-04")
def _(envelope, ways, op, told):
    if op == "delegate":
        del envelope["message"]["payload"]["delegation"]["parent_task_id"]


@call("client-callback-relative", "completion_callback is a path.", "4.3-08")
def _(envelope, ways, op, told):
    if op == "delegate":
        envelope["message"]["payload"]["delegation"]["subtask"]["completion_callback"] = "/callback"


@call("client-shares-by-request", "A context update is a request.", "3.4-01")
def _(envelope, ways, op, told):
    if op == "share":
        envelope["message"]["type"] = "request"


@call("client-event-type-dotted", "event_type is context.update.", "3.4-02")
def _(envelope, ways, op, told):
    if op == "share":
        envelope["message"]["payload"]["event_type"] = "context.update"


@call("client-lists-as-text", "Access lists are texts.", "3.4-10 3.4-11")
def _(envelope, ways, op, told):
    if op == "share":
        lists = envelope["message"]["payload"]["context"]["access_control"]
        envelope["message"]["payload"]["context"]["access_control"] = {n: ",".join(v) for n, v in lists.items()}


@call("client-drops-empty-memory", "Empty values of shared memory are not sent.", "3.4-06 3.4-07 3.4-08")
def _(envelope, ways, op, told):
    if op == "share":
        memory = envelope["message"]["payload"]["context"]["shared_memory"]
        envelope["message"]["payload"]["context"]["shared_memory"] = {n: v for n, v in memory.items() if v}

//! The keys of files of cases and of manifests.

use crate::edit::EDIT;
use crate::source::{Choice, KeyRow, Kind, Others, Shape};

/// The layouts of all protocols; each protocol supports some of them.
pub(super) const LAYOUTS: &[(&str, &str)] = &[
    ("compact", "JSON: no white space, members in the order written."),
    ("pretty", "JSON: indented."),
    ("reversed", "JSON: members of every object in reverse order, every character escaped."),
    ("deterministic", "CBOR: as in RFC 8949 section 4.2.1."),
    ("as-written", "CBOR: members in the order written, heads as short as possible."),
    ("wide-integers", "CBOR: all integers in eight bytes."),
    ("wide-lengths", "CBOR: all lengths in eight bytes."),
    ("indefinite", "CBOR: strings, arrays and maps of indefinite length."),
    ("length-first", "CBOR: keys in the length-first order of RFC 8949 section 4.2.3."),
    ("text-order", "CBOR: keys in the order of their text."),
];

/// A file of cases.
pub static SUITE: Shape = Shape {
    name: "a suite",
    title: "Suite",
    about: "A file of cases about one area of one protocol.",
    keys: &[
        KeyRow::new("suite", Kind::Pattern(r"^[a-z0-9-]+/[a-z0-9-]+$"), "Its name: `<protocol>/<area>`.", "suite: example/pull")
            .required(),
        KeyRow::new("about", Kind::Text, "The subject of the cases, in one sentence.", "about: Reading packages."),
        KeyRow::new(
            "cases",
            Kind::SomeMaps(&CASE),
            "The cases.",
            "cases: [{ case: answers, covers: X-1, steps: [{ send: describe, expect: [{ at: /status, equals: 200 }] }] }]",
        )
        .required(),
    ],
    ..Shape::PLAIN
};

/// The unit that gets a verdict.
pub(super) static CASE: Shape = Shape {
    name: "a case",
    title: "Case",
    about: "The unit that gets a verdict: steps in order, isolated from every other case.",
    keys: &[
        KeyRow::new(
            "case",
            Kind::Pattern(r"^([a-z0-9]|\$\{row\.[^}]+\})([a-z0-9-]|\$\{row\.[^}]+\})*$"),
            "Its name: what the target does, in the present tense, in lower case with hyphens.",
            "case: rejects-missing-title",
        )
        .required(),
        KeyRow::new(
            "about",
            Kind::Text,
            "Details that the name omits, in one sentence.",
            "about: An empty title is a missing one.",
        ),
        KeyRow::new(
            "covers",
            Kind::Texts,
            "The requirements that it decides: `ID` is the first clause, `ID/2` the second.",
            "covers: [EXAMPLE-6.1-20, EXAMPLE-6.1-21/2]",
        ),
        KeyRow::new(
            "needs",
            Kind::Texts,
            "Features that the target must offer, or levels that it must claim; otherwise the case is skipped.",
            "needs: [facts, L2]",
        ),
        KeyRow::new(
            "runs-on",
            Kind::Texts,
            "The kinds of target of `protocol.yaml`, or the transports, that the case runs on.",
            "runs-on: [endpoint]",
        )
        .default("every kind that has its operations")
        .formerly(&["reach"]),
        KeyRow::new(
            "roles",
            Kind::Texts,
            "The roles that the target must play; otherwise the case is skipped.",
            "roles: [sender]",
        ),
        KeyRow::new("strict-only", Kind::Flag, "Findings count only under `--profile strict`.", "strict-only: true")
            .default("false"),
        KeyRow::new(
            "for-each",
            Kind::SomeMaps(&ROW),
            "A table: one case for each row, with `${row.NAME}` replaced by the member `NAME` of the row.",
            "for-each: [{ row: number, title: 5 }, { row: list, title: [x] }]",
        )
        .formerly(&["for_each"]),
        KeyRow::new(
            "no-setup",
            Kind::Flag,
            "The set-up of the protocol does not run: the case opens its connections itself.",
            "no-setup: true",
        )
        .default("false")
        .formerly(&["without-setup"]),
        KeyRow::new(
            "counts-without-twin",
            Kind::Flag,
            "A failure counts even if the twin was rejected: where accepting a message is itself the proof.",
            "counts-without-twin: true",
        )
        .default("false")
        .formerly(&["stands-alone"]),
        KeyRow::new(
            "counts-without-prerequisites",
            Kind::Flag,
            "It is judged even if the target lacks a prerequisite that it uses: findings of `fuzz` and `explore` are.",
            "counts-without-prerequisites: true",
        )
        .default("false"),
        KeyRow::new(
            "twin-first",
            Kind::Flag,
            "The twin is sent before the case, not after it: where the target may not answer after the case.",
            "twin-first: true",
        )
        .default("false"),
        KeyRow::new(
            "ends-target",
            Kind::Flag,
            "The case stops the target: it runs alone, after all others. At most one case of a protocol does.",
            "ends-target: true",
        )
        .default("false"),
        KeyRow::new(
            "let",
            Kind::Named(&Kind::Value),
            "Names and values, in order, generated again for each run of the case.",
            "let: { p: { base: min }, id: \"pkg_${hex 32}\" }",
        ),
        KeyRow::new(
            "steps",
            Kind::Maps(&STEP),
            "The steps, in order; the case ends at the first expectation that does not hold.",
            "steps: [{ send: describe, expect: [{ at: /status, equals: 200 }] }]",
        )
        .required(),
    ],
    rows: true,
    ..Shape::PLAIN
};

/// One row of a table of cases.
pub(super) static ROW: Shape = Shape {
    name: "a row",
    title: "Row",
    about: "One row of a table of cases. All other members are for the case to use.",
    others: Others::Own,
    keys: &[
        KeyRow::new("row", Kind::Text, "Name of the row; the id of the case ends in it: `case[row]`.", "row: number")
            .required(),
        KeyRow::new(
            "about",
            Kind::Text,
            "What this row shows, instead of the `about` of the case.",
            "about: A title that is a number.",
        ),
        KeyRow::new(
            "covers",
            Kind::Texts,
            "Requirements that it checks, in addition to those of the case.",
            "covers: [EXAMPLE-6.1-21]",
        ),
        KeyRow::new(
            "needs",
            Kind::Texts,
            "Features that it needs, in addition to those of the case.",
            "needs: [facts]",
        ),
        KeyRow::new(
            "roles",
            Kind::Texts,
            "Roles that the target must play, in addition to those of the case.",
            "roles: [sender]",
        ),
        KeyRow::new(
            "strict-only",
            Kind::Flag,
            "Findings of this row count only under `--profile strict`.",
            "strict-only: true",
        )
        .default("false"),
    ],
    ..Shape::PLAIN
};

/// One action and what is expected of its answers.
pub(super) static STEP: Shape = Shape {
    name: "a step",
    title: "Step",
    about: "One action and what is expected of its answers.",
    choice: Choice::OneOf(&["send", "request", "parallel", "pause", "advance", "sweep", "receive"]),
    keys: &[
        KeyRow::new("as", Kind::Text, "The party that proofmark plays; each has its own connections.", "as: b").default("a"),
        KeyRow::new("send", Kind::Text, "Sends a message: an operation of the protocol (`proofmark list --what operations`).", "send: pull"),
        KeyRow::new(
            "request",
            Kind::Map(&REQUEST),
            "Sends an HTTP request that is not an operation of the protocol.",
            "request: { method: DELETE, path: /packages }",
        ),
        KeyRow::new(
            "parallel",
            Kind::Maps(&STEP),
            "Takes these steps concurrently.",
            "parallel: [{ send: describe }, { send: describe, as: b }]",
        ),
        KeyRow::new("pause", Kind::Time, "Waits.", "pause: 250ms"),
        KeyRow::new(
            "advance",
            Kind::Time,
            "Advances the clock of the target, and with it `${time}` and `${ms}`. The case is skipped if the target \
             has no such clock.",
            "advance: 31m",
        ),
        KeyRow::new(
            "receive",
            Kind::Text,
            "Waits for messages that the target sends to this host, which the manifest declares.",
            "receive: callbacks",
        ),
        KeyRow::new("count", Kind::Number, "The number of messages that `receive` waits for; with 0 no message may arrive.", "count: 2").default("1"),
        KeyRow::new("within", Kind::Time, "The timeout of `receive`.", "within: 2s").default("`reply` of the limits"),
        KeyRow::new(
            "where",
            Kind::Maps(&EXPECTATION),
            "What holds for a message that `receive` takes; the others are left to later steps.",
            "where: [{ at: /body/type, equals: result }]",
        ),
        KeyRow::new(
            "fence",
            Kind::Maps(&EXPECTATION),
            "With `count: 0`: what holds for the message that ends the wait, a later one of the case which shows that the target has \
             gone on.",
            "fence: [{ at: /body/type, equals: done }]",
        ),
        KeyRow::new("reply", Kind::Map(&REPLY), "The reply of the host to the messages of `receive`.", "reply: { status: 503 }")
            .default("the reply of the protocol or the manifest"),
        KeyRow::new(
            "correlate",
            Kind::Values,
            "Values of the case by which messages that arrive at a host are assigned to it; claimed before the step runs.",
            "correlate: [\"${id}\"]",
        ),
        KeyRow::new(
            "sweep",
            Kind::Flag,
            "Sends nothing; `assume` selects and `expect` judges every message that the target sent: in the case so far, or in the \
             run if the case has no other steps.",
            "sweep: true",
        )
        .default("false"),
        KeyRow::new("with", Kind::Named(&Kind::Value), "Inputs of the operation.", "with: { package: \"${p}\" }"),
        KeyRow::new(
            "headers",
            Kind::Named(&Kind::Value),
            "Header fields, in addition to those of the operation.",
            "headers: { accept: text/html }",
        ),
        KeyRow::new(
            "edit",
            Kind::Maps(&EDIT),
            "Deliberate defects. The case is sent a second time without them, as its twin, which the target must accept.",
            "edit: [{ remove: /title }]",
        ),
        KeyRow::new("layout", Kind::Word(LAYOUTS), "How the body is encoded.", "layout: reversed")
            .default("`compact` for JSON, `deterministic` for CBOR"),
        KeyRow::new(
            "for",
            Kind::Value,
            "A list: takes the step once for each element, with `${item}` and `${index}` bound.",
            "for: [1, 2, 3]",
        ),
        KeyRow::new("repeat", Kind::Number, "Takes the step this many times, with `${index}` bound.", "repeat: 20"),
        KeyRow::new("concurrent", Kind::Flag, "Takes the repetitions concurrently.", "concurrent: true")
            .default("false")
            .formerly(&["at-once"]),
        KeyRow::new(
            "until",
            Kind::Time,
            "Repeats the step until the expectations hold, for at most this long; the last answer alone is judged.",
            "until: 2s",
        )
        .formerly(&["retry-for"]),
        KeyRow::new(
            "quiet",
            Kind::Time,
            "Repeats the step for this long; the expectations must hold each time.",
            "quiet: 1s",
        )
        .formerly(&["hold-for"]),
        KeyRow::new(
            "collect-for",
            Kind::Time,
            "Over a connection that stays open: collects answers for at least this long.",
            "collect-for: 800ms",
        )
        .formerly(&["settle"]),
        KeyRow::new(
            "no-wait",
            Kind::Flag,
            "Over a connection that stays open: takes the next step at once, which receives the answers.",
            "no-wait: true",
        )
        .default("false")
        .formerly(&["without-waiting"]),
        KeyRow::new(
            "assume",
            Kind::Maps(&EXPECTATION),
            "Preconditions: where one does not hold, the case is inconclusive.",
            "assume: [{ at: /status, equals: 200 }]",
        ),
        KeyRow::new("expect", Kind::Maps(&EXPECTATION), "The expectations on each answer.", "expect: [{ at: /status, equals: 200 }]"),
        KeyRow::new(
            "expect-all",
            Kind::Maps(&EXPECTATION),
            "The expectations on all answers of the step together, under `/answers`.",
            "expect-all: [{ at: /answers, some: { at: /status, equals: 200 } }]",
        ),
        KeyRow::new("capture", Kind::Named(&Kind::Text), "Names for parts of the answer, for later steps.", "capture: { first: /ids/0 }"),
        KeyRow::new(
            "must-answer",
            Kind::Flag,
            "A missing answer is a failure: a timeout, a closed connection, and, in a step without edits, a refused connection.",
            "must-answer: true",
        )
        .default("false"),
        KeyRow::new("optional", Kind::Flag, "Skips the step where its operation is not offered (set-up only).", "optional: true")
            .default("false"),
    ],
    rows: true,
    ..Shape::PLAIN
};

/// The reply of a host.
pub(super) static REPLY: Shape = Shape {
    name: "a reply",
    title: "Reply",
    about: "The reply of a host: an answer, whose body is at most one of `json`, `body`, `text` and `hex`, or `silence`, or `close`.",
    keys: &[
        KeyRow::new("status", Kind::Number, "HTTP status.", "status: 503").default("200"),
        KeyRow::new("headers", Kind::Named(&Kind::Value), "Header fields.", "headers: { retry-after: \"1\" }"),
        KeyRow::new(
            "json",
            Kind::Text,
            "The body as a JSON text, with templates in its strings.",
            "json: '{\"ok\": true}'",
        ),
        KeyRow::new("body", Kind::Value, "The body as a value.", "body: { ok: true }"),
        KeyRow::new("text", Kind::Text, "The body as text, byte for byte.", "text: \"{\""),
        KeyRow::new("hex", Kind::Text, "The body as bytes in hex.", "hex: \"7b7d\""),
        KeyRow::new("silence", Kind::Flag, "Sends nothing and keeps the connection open.", "silence: true")
            .default("false"),
        KeyRow::new("close", Kind::Flag, "Closes the connection without an answer.", "close: true").default("false"),
    ],
    rows: true,
    ..Shape::PLAIN
};

/// A raw HTTP request.
pub(super) static REQUEST: Shape = Shape {
    name: "a request",
    title: "Request",
    about: "An HTTP request. It has at most one body: `json`, `body`, `text` or `hex`.",
    keys: &[
        KeyRow::new("base", Kind::Text, "Name of the base URL in the target file.", "base: admin").default("`url`"),
        KeyRow::new("method", Kind::Text, "HTTP method.", "method: GET").required(),
        KeyRow::new(
            "path",
            Kind::Text,
            "Path and query, from the root of the target's URL.",
            "path: \"/packages?limit=1\"",
        )
        .required(),
        KeyRow::new("headers", Kind::Named(&Kind::Value), "Header fields.", "headers: { accept: text/html }"),
        KeyRow::new(
            "json",
            Kind::Text,
            "The body as a JSON text, with templates in its strings.",
            "json: '{\"limit\": 1.0}'",
        ),
        KeyRow::new("body", Kind::Value, "The body as a value.", "body: { limit: 1 }"),
        KeyRow::new("text", Kind::Text, "The body as text, byte for byte.", "text: \"{\""),
        KeyRow::new("hex", Kind::Text, "The body as bytes in hex.", "hex: \"7b7d\""),
    ],
    rows: true,
    ..Shape::PLAIN
};

/// A place in an answer and one matcher on it.
pub static EXPECTATION: Shape = Shape {
    name: "an expectation",
    title: "Expectation",
    about: "A place in an answer and one matcher on it.",
    others: Others::Listed,
    keys: &[
        KeyRow::new("at", Kind::Text, "The place, as a JSON Pointer into the observation.", "at: /body/items/0")
            .default("the whole observation"),
        KeyRow::new(
            "of",
            Kind::Value,
            "In `expect-all`, the value that is judged instead of the answers: parts of earlier answers that were captured, \
            for example.",
            "of: [\"${first}\", \"${second}\"]",
        ),
        KeyRow::new("covers", Kind::Texts, "The requirements that it decides.", "covers: [EXAMPLE-8.2-07]")
            .default("all that the case covers"),
        KeyRow::new("strict-only", Kind::Flag, "Counts only under `--profile strict`.", "strict-only: true")
            .default("false"),
        KeyRow::new(
            "note",
            Kind::Text,
            "A note for the reader of the finding.",
            "note: The title is 300 characters long.",
        ),
    ],
    rows: true,
    ..Shape::PLAIN
};

/// `protocol.yaml`.
pub static MANIFEST: Shape = Shape {
    name: "a manifest",
    title: "Manifest",
    about: "What all cases of a protocol share.",
    keys: &[
        KeyRow::new("protocol", Kind::Text, "Slug of the protocol.", "protocol: example").required(),
        KeyRow::new(
            "levels",
            Kind::Maps(&LEVEL),
            "The levels, each with those that it includes.",
            "levels: [{ name: L0 }, { name: L1, includes: [L0] }]",
        ),
        KeyRow::new(
            "target-kinds",
            Kind::Maps(&TARGET_KIND),
            "The kinds of target.",
            "target-kinds: [{ kind: endpoint, reached-over: [http], levels: [L1] }]",
        )
        .default("every target can show every level"),
        KeyRow::new(
            "roles-bind",
            Kind::Word(&[
                ("requirements", "A requirement on a role is tested only on targets that play the role."),
                ("cases", "Any target may show a requirement on a role; each case names the roles that it needs."),
            ]),
            "What the roles of a target limit.",
            "roles-bind: cases",
        )
        .default("`requirements`"),
        KeyRow::new("roles", Kind::Maps(&ROLE), "The roles that a target may play.", "roles: [{ role: sender }]")
            .default("every target plays all roles"),
        KeyRow::new(
            "unclaimed-levels",
            Kind::Named(&Kind::Text),
            "For a level, the feature that shows that a target may have it without claiming it. Then the cases of that level run as \
             well, and the report shows whether the level is met.",
            "unclaimed-levels: { L2: asserts-facts }",
        )
        .formerly(&["beyond"]),
        KeyRow::new(
            "transports",
            Kind::Named(&Kind::Text),
            "For an optional transport, the feature that shows that the target offers it.",
            "transports: { tcp: tcp }",
        ),
        KeyRow::new("claims", Kind::Map(&CLAIMS), "How to learn which level a target claims.", "claims: { default: L0 }").required(),
        KeyRow::new(
            "objects",
            Kind::Named(&Kind::Value),
            "Named values that cases build on with `{ base: NAME }`.",
            "objects: { min: { title: A title } }",
        ),
        KeyRow::new(
            "let",
            Kind::Named(&Kind::Value),
            "Bindings that every case has, generated on first use.",
            "let: { project: \"p-${hex 8}\" }",
        ),
        KeyRow::new("setup", Kind::Maps(&SETUP), "What runs before a case.", "setup: [{ steps: [{ send: describe }] }]"),
        KeyRow::new(
            "features",
            Kind::Maps(&FEATURE),
            "Options that a target may offer.",
            "features: [{ feature: search, about: Full-text search., if-missing: not-claimed }]",
        ),
        KeyRow::new(
            "hosts",
            Kind::Maps(&HOST),
            "Peers that proofmark hosts for the target.",
            "hosts: [{ host: callbacks, about: Receives the results of tasks. }]",
        ),
        KeyRow::new(
            "timeouts",
            Kind::Named(&Kind::Map(&TIMEOUT)),
            "Times of the protocol. Steps may use their names instead of a duration, `${timeouts/NAME}` is one in \
            milliseconds, and a target file may change each.",
            "timeouts: { callback: { default: 10s, about: How long a callback may take. } }",
        ),
        KeyRow::new(
            "clock",
            Kind::Maps(&CLOCK),
            "How the clock of a target is advanced, for steps with `advance`; the first that fits the transport is used.",
            "clock: [{ step: { send: turn-clock, with: { advance-ms: \"${advance_ms}\" } } }]",
        ),
        KeyRow::new(
            "fuzz",
            Kind::Map(&FUZZ),
            "What `proofmark fuzz` uses.",
            "fuzz: { operations: { pull: X-1 }, answered: [{ at: /status, exists: true }], accepted: [{ at: /status, equals: 201 }], alive: [{ send: describe }] }",
        ),
    ],
    ..Shape::PLAIN
};

/// A time of the protocol.
pub(super) static TIMEOUT: Shape = Shape {
    name: "a timeout",
    title: "Timeout",
    about: "A time of the protocol.",
    keys: &[
        KeyRow::new("default", Kind::Duration, "The default, which a target file may override.", "default: 10s")
            .required(),
        KeyRow::new("about", Kind::Text, "Its description, in one sentence.", "about: How long a callback may take.")
            .required(),
    ],
    ..Shape::PLAIN
};

/// A way to advance the clock of a target.
pub(super) static CLOCK: Shape = Shape {
    name: "a clock",
    title: "Clock",
    about: "A way to advance the clock of a target.",
    keys: &[
        KeyRow::new("runs-on", Kind::Texts, "The kinds of target or transports that it is for.", "runs-on: endpoint")
            .default("all"),
        KeyRow::new(
            "needs",
            Kind::Texts,
            "Features that show that the target has such a clock.",
            "needs: [test-clock]",
        ),
        KeyRow::new(
            "per-case",
            Kind::Flag,
            "Each case has its own clock. If not, the cases that advance it run after all others, one at a time.",
            "per-case: true",
        )
        .default("false"),
        KeyRow::new(
            "step",
            Kind::Map(&STEP),
            "A step with `send`. `${advance_ms}` is the distance in milliseconds; `${time}` and `${ms}` already \
            include it.",
            "step: { send: turn-clock, with: { advance-ms: \"${advance_ms}\" } }",
        )
        .required(),
    ],
    ..Shape::PLAIN
};

/// The configuration of the fuzzer.
pub(super) static FUZZ: Shape = Shape {
    name: "`fuzz` of a manifest",
    title: "Fuzz",
    about: "How the fuzzer knows whether a target answered a message, accepted it, or failed.",
    keys: &[
        KeyRow::new(
            "operations",
            Kind::Named(&Kind::Text),
            "The operations that are fuzzed, each with the requirement that a target breaks which fails instead of answering.",
            "operations: { pull: EXAMPLE-8.1-01 }",
        )
        .required(),
        KeyRow::new(
            "answered",
            Kind::SomeMaps(&EXPECTATION),
            "What holds for an answer that is not a failure of the target.",
            "answered: [{ at: /status, within: { max: 499 } }]",
        )
        .required(),
        KeyRow::new(
            "accepted",
            Kind::SomeMaps(&EXPECTATION),
            "What holds for an answer that accepts the message.",
            "accepted: [{ at: /status, one-of: [200, 201] }]",
        )
        .required(),
        KeyRow::new("alive", Kind::SomeMaps(&STEP), "Steps that show that the target still answers.", "alive: [{ send: describe }]")
            .required(),
        KeyRow::new(
            "members",
            Kind::Named(&Kind::Plain),
            "Members that a message may have, each with a usual value: the fuzzer adds them to messages without one.",
            "members: { tags: [a] }",
        ),
    ],
    ..Shape::PLAIN
};

/// A level, or conformance profile.
pub(super) static LEVEL: Shape = Shape {
    name: "a level",
    title: "Level",
    about: "A level, or conformance profile: a set of requirements that may include others.",
    keys: &[
        KeyRow::new("name", Kind::Text, "Its name.", "name: L1").required(),
        KeyRow::new("about", Kind::Text, "Its description, in one sentence.", "about: Reads and writes."),
        KeyRow::new("includes", Kind::Texts, "The levels that it includes.", "includes: [L0]"),
    ],
    ..Shape::PLAIN
};

/// A kind of target.
pub(super) static TARGET_KIND: Shape = Shape {
    name: "a kind of target",
    title: "TargetKind",
    about: "A kind of target: which levels it can show, which roles it can play, and how it is reached.",
    keys: &[
        KeyRow::new("kind", Kind::Text, "Its name.", "kind: endpoint").required(),
        KeyRow::new(
            "about",
            Kind::Text,
            "Its description, in one sentence.",
            "about: A server that is reached over a network.",
        ),
        KeyRow::new("reached-over", Kind::Texts, "The transports over which it is reached.", "reached-over: [http]")
            .required(),
        KeyRow::new(
            "levels",
            Kind::Texts,
            "The levels that it can show, with those that they include.",
            "levels: [L1]",
        )
        .required(),
        KeyRow::new("claims", Kind::Texts, "The default levels of a target of this kind.", "claims: [L0]")
            .default("`default` of `claims`"),
        KeyRow::new("roles", Kind::Texts, "The roles that it can play.", "roles: [sender]").default("all"),
    ],
    ..Shape::PLAIN
};

/// A peer that proofmark hosts.
pub(super) static HOST: Shape = Shape {
    name: "a host",
    title: "Host",
    about: "A peer that proofmark hosts, to which the target sends messages.",
    keys: &[
        KeyRow::new("host", Kind::Text, "Its name, in lower-case letters, digits and hyphens.", "host: callbacks")
            .required(),
        KeyRow::new("about", Kind::Text, "Its description, in one sentence.", "about: Receives the results of tasks.")
            .required(),
        KeyRow::new(
            "transports",
            Kind::Texts,
            "The transports over which the target reaches it: `http`, `ws`, `tcp`.",
            "transports: [http]",
        )
        .default("http"),
        KeyRow::new("path", Kind::Text, "Where it is below its address.", "path: /callbacks").default("/"),
        KeyRow::new(
            "correlate",
            Kind::Words(&[
                ("path", "By a key in the path, which is part of the address that the case gives the target."),
                ("keys", "By the keys that the protocol reads from a message."),
                ("bytes", "By a value of the case that occurs in the message."),
            ]),
            "How a message is assigned to its case.",
            "correlate: [path, keys]",
        )
        .default("path"),
        KeyRow::new(
            "values",
            Kind::Values,
            "Values of every case by which messages are assigned to it.",
            "values: [\"${project}\"]",
        ),
        KeyRow::new(
            "shared",
            Kind::Flag,
            "Whether each case that receives at it gets a copy of every message that belongs to no case, also of earlier ones.",
            "shared: true",
        )
        .default("false"),
        KeyRow::new("reply", Kind::Map(&REPLY), "Its default reply.", "reply: { status: 202 }")
            .default("status 200 without a body"),
    ],
    ..Shape::PLAIN
};

/// A role that a target may play.
pub(super) static ROLE: Shape = Shape {
    name: "a role",
    title: "Role",
    about: "A role that a target may play.",
    keys: &[
        KeyRow::new("role", Kind::Text, "Its name, as the catalogue and cases have it.", "role: sender").required(),
        KeyRow::new("about", Kind::Text, "Its description, in one sentence.", "about: Sends messages."),
    ],
    ..Shape::PLAIN
};

/// The source of the levels that a target declares.
pub(super) static CLAIMS: Shape = Shape {
    name: "`claims` of a manifest",
    title: "Claims",
    about: "How to learn which level a target claims.",
    keys: &[
        KeyRow::new(
            "level",
            Kind::Map(&LEVEL_CLAIM),
            "The probe and the place that name the levels.",
            "level: { feature: descriptor, at: /body/level }",
        ),
        KeyRow::new(
            "features",
            Kind::Map(&LEVEL_CLAIM),
            "The probe and the place that list features by name: one without a probe of its own is offered if it is listed.",
            "features: { feature: descriptor, at: /body/features }",
        ),
        KeyRow::new("default", Kind::Texts, "The levels of a target that does not declare any.", "default: L0")
            .required(),
    ],
    ..Shape::PLAIN
};

/// The probe whose answer names the level, and the place in it.
pub(super) static LEVEL_CLAIM: Shape = Shape {
    name: "`level` or `features` of the claims",
    title: "LevelClaim",
    about: "The probe whose answer names the level or the features, and the place in it.",
    keys: &[
        KeyRow::new("feature", Kind::Text, "Name of the feature that is probed.", "feature: descriptor").required(),
        KeyRow::new("at", Kind::Text, "Place in the observation of the last step of its probe.", "at: /body/level")
            .required(),
    ],
    ..Shape::PLAIN
};

/// Steps that run before a case.
pub(super) static SETUP: Shape = Shape {
    name: "a set-up",
    title: "Setup",
    about: "Steps that run before a case, and steps that clean up after it.",
    keys: &[
        KeyRow::new(
            "for-each-binding",
            Kind::Texts,
            "Runs once for each of these bindings that the case uses, with `${it}` bound to its value.",
            "for-each-binding: [project]",
        )
        .default("runs once")
        .formerly(&["uses"]),
        KeyRow::new(
            "for-each-actor",
            Kind::Flag,
            "Runs once for each party that proofmark plays in the case.",
            "for-each-actor: true",
        )
        .default("false")
        .formerly(&["each-actor"]),
        KeyRow::new("needs", Kind::Texts, "Runs only if the target offers these features.", "needs: [create]"),
        KeyRow::new("runs-on", Kind::Texts, "Runs only on these kinds of target or transports.", "runs-on: endpoint")
            .formerly(&["reach"]),
        KeyRow::new("steps", Kind::Maps(&STEP), "The steps.", "steps: [{ send: create }]"),
        KeyRow::new(
            "cleanup",
            Kind::Maps(&STEP),
            "Steps that run after the case, whatever its verdict; they are never judged.",
            "cleanup: [{ send: close }]",
        )
        .formerly(&["after"]),
    ],
    ..Shape::PLAIN
};

/// An option of the protocol.
pub(super) static FEATURE: Shape = Shape {
    name: "a feature",
    title: "Feature",
    about: "An option of the protocol, and how to find out whether a target offers it.",
    keys: &[
        KeyRow::new("feature", Kind::Text, "Its name, for `needs`.", "feature: search").required(),
        KeyRow::new(
            "about",
            Kind::Text,
            "Its description, in one sentence.",
            "about: Full-text search (section 10.2).",
        )
        .required(),
        KeyRow::new(
            "runs-on",
            Kind::Texts,
            "The kinds of target and the transports at which it is looked for; at others it is missing, and not reported.",
            "runs-on: [ws, tcp]",
        )
        .default("all"),
        KeyRow::new(
            "if-missing",
            Kind::Word(&[
                ("not-claimed", "They are skipped: the target may leave the option out."),
                (
                    "inconclusive",
                    "They are inconclusive: the option is required, but the specification does not define how to \
                    reach it.",
                ),
                ("run", "They run, and fail: the specification defines how to reach it."),
            ]),
            "What happens to the cases that need it where the target does not offer it.",
            "if-missing: not-claimed",
        )
        .required()
        .formerly(&["absent"]),
        KeyRow::new(
            "hint",
            Kind::Text,
            "What to configure where it is not found.",
            "hint: Set `routes.search` in the target file.",
        )
        .formerly(&["advice"]),
        KeyRow::new(
            "floor",
            Kind::Texts,
            "The kinds of target on which no case passes unless this is offered.",
            "floor: [endpoint, adapter]",
        ),
        KeyRow::new(
            "floor-of",
            Kind::Texts,
            "The operations whose answers pass only if this is offered. Features with the same list are one group; answers of \
             operations that no group names pass if some group is offered whole.",
            "floor-of: [export]",
        ),
        KeyRow::new(
            "operation",
            Kind::Text,
            "A configured route for this operation makes the feature offered.",
            "operation: export",
        ),
        KeyRow::new(
            "prerequisite-of",
            Kind::Texts,
            "Operations, objects and matchers: if the feature is missing, cases that use one of them, or all that are joined by `+`, are inconclusive.",
            "prerequisite-of: [export, export+import]",
        ),
        KeyRow::new(
            "judged-by",
            Kind::Texts,
            "Patterns of the requirements that are about the prerequisite: they are judged all the same, and charged alone.",
            "judged-by: [\"EXAMPLE-7.1-*\"]",
        ),
        KeyRow::new(
            "probe-first",
            Kind::Flag,
            "Probes it before all others, because the other probes use what its steps capture.",
            "probe-first: true",
        )
        .default("false")
        .formerly(&["first"]),
        KeyRow::new("probe", Kind::Maps(&STEP), "The steps that find out.", "probe: [{ send: describe }]"),
        KeyRow::new(
            "offered",
            Kind::Maps(&EXPECTATION),
            "The target offers it if all of these hold for the last answer.",
            "offered: [{ at: /status, equals: 200 }]",
        ),
        KeyRow::new(
            "missing",
            Kind::Maps(&EXPECTATION),
            "The target does not offer it if all of these hold for the last answer; checked before `offered`.",
            "missing: [{ at: /status, one-of: [404, 405] }]",
        ),
    ],
    ..Shape::PLAIN
};

//! The keys of a target file.

use crate::source::{Choice, KeyRow, Kind, Shape};

/// The whole file.
pub static TARGET: Shape = Shape {
    name: "a target file",
    title: "Target",
    about: "The implementation under test: its addresses, its claims and its configuration.",
    choice: Choice::SomeOf(&["url", "urls", "ws", "tcp", "tree", "adapter"]),
    keys: &[
        KeyRow::new("protocol", Kind::Text, "Slug of the protocol that it implements.", "protocol: example"),
        KeyRow::new("name", Kind::Text, "Its name in reports.", "name: my-server 1.4").default("its URL or command"),
        KeyRow::new("url", Kind::Pattern("^https?://"), "URL of its HTTP endpoint.", "url: http://127.0.0.1:8787"),
        KeyRow::new(
            "urls",
            Kind::Named(&Kind::Pattern("^https?://")),
            "Further base URLs by name, for operations that are not at `url`.",
            "urls: { admin: http://127.0.0.1:8789 }",
        ),
        KeyRow::new(
            "hosts",
            Kind::Named(&Kind::Map(&HOST)),
            "Listen addresses of the peers that proofmark hosts for the target, by name.",
            "hosts: { callbacks: { listen: 127.0.0.1:8931 } }",
        )
        .default("a free port on the loopback interface for each"),
        KeyRow::new("ws", Kind::Pattern("^wss?://"), "URL of its WebSocket endpoint.", "ws: ws://127.0.0.1:8787/ws")
            .default("the protocol's path below `url`"),
        KeyRow::new(
            "tcp",
            Kind::Text,
            "Address of its TCP endpoint: `HOST:PORT`, or a URL with `tcp` or a scheme of the protocol.",
            "tcp: 127.0.0.1:7001",
        ),
        KeyRow::new(
            "tree",
            Kind::Map(&TREE),
            "A directory, or a git work tree, in which the target and proofmark exchange files.",
            "tree: { root: ../state, git: true }",
        ),
        KeyRow::new(
            "transports",
            Kind::Texts,
            "The transports to test: `http`, `ws`, `tcp`, `tree`, `adapter`.",
            "transports: [http, ws]",
        )
        .default("each that has an address"),
        KeyRow::new(
            "settings",
            Kind::Named(&Kind::Plain),
            "Settings that the protocol defines (`proofmark list --what settings`). `{ file: PATH }` is \
             the JSON in a file.",
            "settings: { name: target-1 }",
        ),
        KeyRow::new(
            "second-instance",
            Kind::Pattern("^https?://"),
            "URL of a second instance with separate state: data exported from one instance is imported into the other.",
            "second-instance: http://127.0.0.1:8788",
        ),
        KeyRow::new(
            "adapter",
            Kind::Texts,
            "The program that wraps it as a library: JSON-RPC 2.0 on stdin and stdout, one object per line.",
            "adapter: [python3, adapter.py]",
        ),
        KeyRow::new(
            "launch",
            Kind::Map(&LAUNCH),
            "How proofmark starts the target before a run and stops it afterwards. `{port}` and `{port.NAME}` are free ports, \
             also in the addresses above; `{host.NAME}` is the address of a peer that the run hosts.",
            "launch: { command: [./server, --port, \"{port}\"] }",
        ),
        KeyRow::new(
            "hooks",
            Kind::Map(&HOOKS),
            "Programs that proofmark runs before the cases. Each ends with exit code 0 when it is done.",
            "hooks: { reset: [./reset.sh], load: [./load.sh] }",
        ),
        KeyRow::new(
            "ca",
            Kind::Text,
            "A file with certificates (PEM) of authorities that are trusted in addition to those of the system, relative to the \
             target file. The environment variable SSL_CERT_FILE replaces those of the system.",
            "ca: certs/test-ca.pem",
        ),
        KeyRow::new("level", Kind::Text, "The claimed level.", "level: L1")
            .default("the level that the target declares"),
        KeyRow::new("levels", Kind::Texts, "Further claimed levels.", "levels: [L1, L2]"),
        KeyRow::new("kind", Kind::Texts, "The kind of target, or several kinds.", "kind: endpoint")
            .default("the first kind that is reachable with these addresses"),
        KeyRow::new("roles", Kind::Texts, "The roles that it plays.", "roles: [sender]")
            .default("all that its kind can play"),
        KeyRow::new(
            "features",
            Kind::Named(&Kind::Flag),
            "Features that it has or lacks; overrides the probes (`proofmark list --what features`).",
            "features: { auth: true }",
        )
        .formerly(&["options"]),
        KeyRow::new(
            "credentials",
            Kind::Named(&Kind::Map(&CREDENTIAL)),
            "Credentials of each party (`a`, `b`).",
            "credentials: { a: { env: TOKEN_A, prefix: \"Bearer \" } }",
        ),
        KeyRow::new(
            "routes",
            Kind::Named(&Kind::Map(&ROUTE)),
            "Routes that differ from the protocol's, by operation (`proofmark list --what operations`).",
            "routes: { export: { path: \"/dump/{project}\" } }",
        ),
        KeyRow::new(
            "places",
            Kind::Named(&Kind::Texts),
            "Places in answers that are tried before the protocol's: JSON Pointers, or `header:NAME`.",
            "places: { hash: [/meta/hash, \"header:etag\"] }",
        ),
        KeyRow::new(
            "names",
            Kind::Named(&Kind::Named(&Kind::Text)),
            "Names of members that differ from the protocol's, by kind of object (`proofmark init` lists the kinds): the name of \
             the protocol and that of the target. The names themselves are then not judged.",
            "names: { fact: { predicate: relation, value: object } }",
        ),
        KeyRow::new(
            "statuses",
            Kind::Named(&Kind::Numbers),
            "Status codes that are accepted instead of the specified one.",
            "statuses: { 400: [422] }",
        ),
        KeyRow::new(
            "limits",
            Kind::Map(&LIMITS),
            "Limits on time, size and number.",
            "limits: { request: 30s, jobs: 4 }",
        ),
        KeyRow::new(
            "timeouts",
            Kind::Named(&Kind::Duration),
            "Timeouts of the protocol that differ for this target, by name.",
            "timeouts: { callback: 20s }",
        ),
        KeyRow::new(
            "waivers",
            Kind::Maps(&WAIVER),
            "Known failures of cases and requirements. A stale waiver is reported.",
            "waivers: [{ case: \"example/pull#*\", reason: known bug }]",
        ),
    ],
    ..Shape::PLAIN
};

/// The listen address of a host of proofmark.
pub(super) static HOST: Shape = Shape {
    name: "`hosts` of a target file",
    title: "HostAddress",
    about: "The listen address of a host of proofmark, and its URL for the target.",
    keys: &[
        KeyRow::new("listen", Kind::Text, "IP address and port to bind.", "listen: 127.0.0.1:8931")
            .default("a free port on the loopback interface"),
        KeyRow::new(
            "announce",
            Kind::Text,
            "URL of the host for the target, without the path of the host.",
            "announce: http://test-machine:8931",
        )
        .default("the listen address"),
    ],
    ..Shape::PLAIN
};

/// A header field with a secret.
pub(super) static CREDENTIAL: Shape = Shape {
    name: "a credential",
    title: "Credential",
    about: "A header field whose value comes from the environment or from a file, and is never printed.",
    choice: Choice::OneOf(&["env", "file"]),
    keys: &[
        KeyRow::new("header", Kind::Text, "Name of the header field.", "header: X-Api-Key").default("Authorization"),
        KeyRow::new("env", Kind::Text, "The environment variable that holds the secret.", "env: TOKEN_A"),
        KeyRow::new("file", Kind::Text, "The file that holds the secret.", "file: token-a.txt"),
        KeyRow::new("prefix", Kind::Text, "Text before the secret.", "prefix: \"Bearer \""),
    ],
    ..Shape::PLAIN
};

/// Files that the target and proofmark share.
pub(super) static TREE: Shape = Shape {
    name: "`tree` of a target file",
    title: "Tree",
    about: "Files that the target and proofmark share. Links are not followed.",
    keys: &[
        KeyRow::new("root", Kind::Text, "The directory, relative to the target file.", "root: ../state").required(),
        KeyRow::new(
            "git",
            Kind::Flag,
            "Whether it is a git work tree: each written file is one commit, whose author is the party.",
            "git: true",
        )
        .default("false"),
        KeyRow::new("poll", Kind::Duration, "The interval between two scans.", "poll: 200ms").default("50ms"),
        KeyRow::new(
            "paths",
            Kind::Named(&Kind::Text),
            "Paths that differ from the protocol's, by operation.",
            "paths: { submit: \"messages/{id}.json\" }",
        ),
    ],
    ..Shape::PLAIN
};

/// How a target is started and stopped.
pub(super) static LAUNCH: Shape = Shape {
    name: "`launch`",
    title: "Launch",
    about: "How a target is started, when it is ready, and how it is stopped: in its own process group, by SIGTERM, then SIGKILL.",
    keys: &[
        KeyRow::new(
            "command",
            Kind::Texts,
            "The program and its arguments; it stays in the foreground.",
            "command: [./server, --port, \"{port}\"]",
        )
        .required(),
        KeyRow::new(
            "directory",
            Kind::Text,
            "The working directory, relative to the target file.",
            "directory: ../server",
        )
        .default("the folder of the target file"),
        KeyRow::new(
            "environment",
            Kind::Named(&Kind::ScalarOr(&SECRET)),
            "Environment variables in addition to those of proofmark: text, or `{ env: NAME }` or `{ file: PATH }` for a secret.",
            "environment: { LOG: debug, TOKEN: { env: TOKEN_A } }",
        ),
        KeyRow::new("ready", Kind::Map(&READINESS), "The readiness check.", "ready: { http: /health }")
            .default("its addresses accept connections"),
        KeyRow::new("stop-within", Kind::Duration, "Maximum time from SIGTERM to its exit.", "stop-within: 10s")
            .default("5s"),
    ],
    ..Shape::PLAIN
};

/// Programs that prepare the target.
pub(super) static HOOKS: Shape = Shape {
    name: "`hooks`",
    title: "Hooks",
    about: "Programs with their arguments, run in the folder of the target file. One that fails, or takes longer than two minutes, ends \
            the run with exit code 3.",
    keys: &[
        KeyRow::new(
            "reset",
            Kind::Texts,
            "Empties the store of the target, before a run.",
            "reset: [./reset.sh, --all]",
        ),
        KeyRow::new(
            "load",
            Kind::Texts,
            "Loads the fixture of the protocol, whose file (NDJSON) is the last argument, after `reset`. The feature `fixture` is \
             then present.",
            "load: [./load.sh]",
        ),
    ],
    ..Shape::PLAIN
};

/// A variable whose value is never printed.
pub(super) static SECRET: Shape = Shape {
    name: "a secret variable",
    title: "SecretVariable",
    about: "An environment variable whose value is never printed.",
    choice: Choice::OneOf(&["env", "file"]),
    keys: &[
        KeyRow::new("env", Kind::Text, "The environment variable of proofmark that holds the secret.", "env: TOKEN_A"),
        KeyRow::new("file", Kind::Text, "The file that holds the secret.", "file: token-a.txt"),
    ],
    ..Shape::PLAIN
};

/// The readiness check of a launched target.
pub(super) static READINESS: Shape = Shape {
    name: "`ready` of a launch",
    title: "Readiness",
    about: "The readiness check of a launched target: at most one of `http`, `tcp`, `line` and `delay`.",
    keys: &[
        KeyRow::new(
            "http",
            Kind::Pattern("^/"),
            "A path below its URL that answers with a status below 500.",
            "http: /health",
        ),
        KeyRow::new(
            "tcp",
            Kind::Text,
            "`HOST:PORT`, or a port of 127.0.0.1, that accepts a connection.",
            "tcp: \"{port}\"",
        ),
        KeyRow::new(
            "line",
            Kind::Text,
            "A regular expression that a line of its standard output or standard error matches.",
            "line: listening on",
        ),
        KeyRow::new("delay", Kind::Duration, "A time to wait.", "delay: 2s"),
        KeyRow::new("within", Kind::Duration, "Maximum time to become ready.", "within: 1m").default("30s"),
    ],
    ..Shape::PLAIN
};

/// A route that differs from the specified one.
pub(super) static ROUTE: Shape = Shape {
    name: "a route",
    title: "Route",
    about: "A route of the target; a key that is left out keeps the specified value.",
    keys: &[
        KeyRow::new("base", Kind::Text, "Name of the base URL, one of `urls`.", "base: admin").default("`url`"),
        KeyRow::new("method", Kind::Text, "HTTP method.", "method: POST"),
        KeyRow::new("path", Kind::Text, "Path, with `{input}` for each input.", "path: \"/dump/{project}\""),
        KeyRow::new(
            "query",
            Kind::Named(&Kind::Text),
            "Query parameters, with `{input}` for each input.",
            "query: { max: \"{limit}\" }",
        ),
        KeyRow::new(
            "body",
            Kind::Plain,
            "The body: texts may contain `{input}` for each input, and `{body}` is the body that the protocol specifies. A member \
             whose input is not given is left out.",
            "body: { item: \"{body}\", by: proofmark }",
        ),
        KeyRow::new(
            "headers",
            Kind::Named(&Kind::Text),
            "Header fields besides those of the protocol, with `{input}` for each input.",
            "headers: { x-project: \"{project}\" }",
        ),
    ],
    ..Shape::PLAIN
};

/// Limits on time, size and number.
pub(super) static LIMITS: Shape = Shape {
    name: "limits",
    title: "Limits",
    about: "Limits on time, size and number.",
    keys: &[
        KeyRow::new(
            "request",
            Kind::Duration,
            "Time from the first byte sent to the last byte read of one answer.",
            "request: 30s",
        )
        .default("10s"),
        KeyRow::new(
            "reply",
            Kind::Duration,
            "How long to wait for the first message on a connection without request and response.",
            "reply: 10s",
        )
        .default("5s"),
        KeyRow::new(
            "collect-for",
            Kind::Duration,
            "How long to wait for further answers after one that is not the expected one.",
            "collect-for: 2s",
        )
        .default("1s")
        .formerly(&["settle"]),
        KeyRow::new("case", Kind::Duration, "Time from the first step of a case to its last.", "case: 5m")
            .default("2m"),
        KeyRow::new("run", Kind::Duration, "Time for the whole run.", "run: 30m").default("15m"),
        KeyRow::new("clock-skew", Kind::Duration, "Tolerance for timestamps, in both directions.", "clock-skew: 10s")
            .default("5s"),
        KeyRow::new("body", Kind::Number, "Maximum number of bytes that are read of a body.", "body: 1048576")
            .default("8388608"),
        KeyRow::new(
            "jobs",
            Kind::Number,
            "Number of cases that run concurrently; up to three times as many over connections that stay open, and beside them those that mostly wait. With 1, one case runs at a time.",
            "jobs: 4",
        )
        .default("16"),
    ],
    ..Shape::PLAIN
};

/// A known failure of a case or requirement.
pub(super) static WAIVER: Shape = Shape {
    name: "a waiver",
    title: "Waiver",
    about: "A known failure of a case or requirement, with the reason.",
    choice: Choice::OneOf(&["case", "requirement"]),
    keys: &[
        KeyRow::new("case", Kind::Text, "A pattern of case ids, with `*` and `?`.", "case: \"example/pull#*\""),
        KeyRow::new("requirement", Kind::Text, "The id of a requirement.", "requirement: EXAMPLE-8.2-08"),
        KeyRow::new("reason", Kind::Text, "The reason.", "reason: known bug, fixed in 1.5").required(),
    ],
    ..Shape::PLAIN
};

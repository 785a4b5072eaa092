//! The keys of a baseline.

use crate::source::{KeyRow, Kind, Shape};

/// The whole file.
pub static BASELINE: Shape = Shape {
    name: "a baseline",
    title: "Baseline",
    about: "The known failures of a target, for `check --baseline`.",
    keys: &[
        KeyRow::new(
            "known-failures",
            Kind::Maps(&KNOWN),
            "The known failures.",
            "known-failures: [{ case: \"example/pull#accepts-a-limit\", fingerprint: cause-0a1b2c3d4e5f, kind: bug }]",
        ),
        KeyRow::new(
            "expected-not-run",
            Kind::Texts,
            "Patterns of the cases that may not run. If the key is present, every other selected case must run.",
            "expected-not-run: [\"example/websocket#*\"]",
        )
        .default("any case may not run"),
    ],
    ..Shape::PLAIN
};

/// One known failure.
pub(super) static KNOWN: Shape = Shape {
    name: "a known failure",
    title: "KnownFailure",
    about: "Cases that fail for a known cause. A failure of the same cases for another cause is a new failure.",
    keys: &[
        KeyRow::new(
            "case",
            Kind::Texts,
            "The ids of the cases, or patterns with `*` and `?`.",
            "case: \"example/pull#accepts-a-limit\"",
        )
        .required(),
        KeyRow::new(
            "fingerprint",
            Kind::Pattern("^cause-[0-9a-f]{12}$"),
            "The fingerprint of the cause, as `baseline update` and `compare --format json` print it.",
            "fingerprint: cause-0a1b2c3d4e5f",
        )
        .required(),
        KeyRow::new(
            "kind",
            Kind::Word(&[
                ("bug", "A bug of the target that will be fixed."),
                ("wontfix", "A deviation that the owner of the target keeps."),
                ("disputed", "The owner of the target contests the requirement or the case."),
            ]),
            "What it is.",
            "kind: bug",
        )
        .required(),
        KeyRow::new("cause", Kind::Text, "The cause in words; informational only.", "cause: \"pull: expected 200\""),
        KeyRow::new("owner", Kind::Text, "The owner of the failure.", "owner: alice"),
        KeyRow::new("link", Kind::Text, "Where it is tracked.", "link: https://issues.example.com/12"),
        KeyRow::new(
            "expires",
            Kind::Pattern("^[0-9]{4}-[0-9]{2}-[0-9]{2}$"),
            "The last day on which the entry counts, in UTC. After it the cases are new failures.",
            "expires: 2027-01-31",
        ),
        KeyRow::new("note", Kind::Text, "A note.", "note: fixed in 1.5"),
    ],
    ..Shape::PLAIN
};

//! The keys of a catalogue of requirements.

use crate::source::{KeyRow, Kind, Shape};

/// `requirements.yaml`.
pub static CATALOGUE: Shape = Shape {
    name: "a catalogue",
    title: "Catalogue",
    about: "Every normative statement of one specification.",
    keys: &[
        KeyRow::new("protocol", Kind::Text, "Slug of the protocol.", "protocol: example").required(),
        KeyRow::new("spec", Kind::Text, "Title and version of the specification.", "spec: The Example Protocol, 0.1")
            .required(),
        KeyRow::new("source", Kind::Text, "The file that the catalogue was read from.", "source: protocol.md"),
        KeyRow::new(
            "requirements",
            Kind::SomeMaps(&REQUIREMENT),
            "The requirements, in the order of the specification.",
            "requirements: [{ id: X-1-01, section: \"1\", keyword: MUST, level: L0, role: server, summary: Answers., testable: both }]",
        )
        .required(),
    ],
    ..Shape::PLAIN
};

/// One entry of it.
pub(super) static REQUIREMENT: Shape = Shape {
    name: "a requirement",
    title: "Requirement",
    about: "One normative statement.",
    implies: &[("testable", "no", "why-not")],
    keys: &[
        KeyRow::new("id", Kind::Text, "Its id, which never changes and is never used again.", "id: EXAMPLE-6.1-20")
            .required(),
        KeyRow::new("section", Kind::Text, "Section of the specification, in quotes.", "section: \"6.1\"").required(),
        KeyRow::new(
            "keyword",
            Kind::Word(&[
                ("MUST", "RFC 2119 MUST."),
                ("MUST NOT", "RFC 2119 MUST NOT."),
                ("SHAPE", "Stated by the text without an RFC 2119 word; binds like a MUST."),
                ("SHOULD", "RFC 2119 SHOULD."),
                ("SHOULD NOT", "RFC 2119 SHOULD NOT."),
                ("MAY", "RFC 2119 MAY."),
            ]),
            "How binding it is.",
            "keyword: MUST NOT",
        )
        .required(),
        KeyRow::new("level", Kind::Text, "The lowest level at which it binds.", "level: L1").required(),
        KeyRow::new("role", Kind::Text, "The role that it binds.", "role: server").required(),
        KeyRow::new(
            "actor",
            Kind::Text,
            "The party that it binds in the words of the protocol, where `role` only says which side of an exchange it is.",
            "actor: reviewer",
        ),
        KeyRow::new("summary", Kind::Text, "It in one sentence, in our own words.", "summary: A title is text.")
            .required(),
        KeyRow::new(
            "testable",
            Kind::Word(&[
                ("both", "At an endpoint and at a library."),
                ("endpoint", "Only at an endpoint."),
                ("library", "Only at a library."),
                ("no", "It is not observable; `why-not` gives the reason."),
            ]),
            "Where it is observable.",
            "testable: both",
        )
        .required(),
        KeyRow::new(
            "check",
            Kind::Texts,
            "How it is checked, in words: one text, or a list of clauses, each of which a case can cover (`covers: [ID/2]`).",
            "check: [\"Deposit a number as title; it is rejected.\", \"Deposit a text; it is accepted.\"]",
        ),
        KeyRow::new(
            "why-not",
            Kind::Text,
            "Why it is not testable; required with `testable: no`.",
            "why-not: It binds readers.",
        )
        .formerly(&["why_not"]),
        KeyRow::new("errata", Kind::Texts, "Entries of the errata register that affect it.", "errata: [E04]"),
        KeyRow::new(
            "feature",
            Kind::Text,
            "The optional part of the specification that it belongs to.",
            "feature: streams",
        ),
        KeyRow::new("since", Kind::Text, "The revision of the specification that added it.", "since: \"2\""),
        KeyRow::new("strict-only", Kind::Flag, "Counts only under `--profile strict`.", "strict-only: true")
            .default("false")
            .formerly(&["strict_only"]),
    ],
    ..Shape::PLAIN
};

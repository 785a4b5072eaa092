//! The keys of a file of vectors.

use crate::source::{KeyRow, Kind, Others, Shape};

/// `vectors/<protocol>/<name>.json`.
pub static FILE: Shape = Shape {
    name: "a vector file",
    title: "VectorFile",
    about: "Examples with a declared result, in the style of Wycheproof.",
    keys: &[
        KeyRow::new("schema", Kind::Exactly(1), "Version of the layout of the file.", "schema: 1").default("1"),
        KeyRow::new("kind", Kind::VectorKind, "Kind of the vectors.", "kind: canonical-json").required(),
        KeyRow::new("protocol", Kind::Text, "Slug of the protocol.", "protocol: example").required(),
        KeyRow::new(
            "source",
            Kind::Text,
            "The origin of the vectors: document, section, revision.",
            "source: RFC 8785 section 3.2",
        )
        .required(),
        KeyRow::new(
            "count",
            Kind::Number,
            "The number of vectors in the file, so that a lost one is noticed.",
            "count: 12",
        )
        .required(),
        KeyRow::new(
            "notes",
            Kind::Named(&Kind::Text),
            "The meaning of each flag.",
            "notes: { Numbers: Numbers in exponent form. }",
        ),
        KeyRow::new(
            "groups",
            Kind::SomeMaps(&GROUP),
            "The vectors, in groups.",
            "groups: [{ group: numbers, tests: [{ id: A1, about: Zero., result: valid }] }]",
        )
        .required(),
    ],
    ..Shape::PLAIN
};

/// Vectors about one thing.
pub(super) static GROUP: Shape = Shape {
    name: "a group",
    title: "Group",
    about: "Vectors about one thing.",
    keys: &[
        KeyRow::new("group", Kind::Text, "Name of the group.", "group: numbers").required(),
        KeyRow::new("about", Kind::Text, "What its vectors cover.", "about: Numbers in exponent form."),
        KeyRow::new(
            "with",
            Kind::Map(&SHARED),
            "Default keys for each vector of the group; a vector may override them.",
            "with: {}",
        ),
        KeyRow::new("tests", Kind::Maps(&VECTOR), "The vectors.", "tests: [{ id: A1, about: Zero., result: valid }]")
            .required(),
    ],
    ..Shape::PLAIN
};

/// The keys that all vectors of a group share.
pub(super) static SHARED: Shape = Shape {
    name: "`with` of a group",
    title: "Shared",
    about: "Keys of the kind of vector that all vectors of a group share.",
    others: Others::Listed,
    ..Shape::PLAIN
};

/// One example.
pub(super) static VECTOR: Shape = Shape {
    name: "a vector",
    title: "Vector",
    about: "One example. Its kind adds further keys.",
    others: Others::Listed,
    keys: &[
        KeyRow::new("id", Kind::Text, "Its id: unique in the file, never changed.", "id: N01").required(),
        KeyRow::new("about", Kind::Text, "Its description, in one sentence.", "about: A number in exponent form.")
            .required(),
        KeyRow::new("covers", Kind::Texts, "The requirements that it checks.", "covers: [EXAMPLE-6.6-01]"),
        KeyRow::new("flags", Kind::Texts, "Flags, each explained in `notes`.", "flags: [Numbers]"),
        KeyRow::new("result", Kind::Word(RESULTS), "The behaviour of a correct implementation.", "result: invalid")
            .required(),
        KeyRow::new(
            "strict",
            Kind::Word(RESULTS),
            "For an acceptable vector: the result required in the strict profile.",
            "strict: valid",
        ),
        KeyRow::new("errata", Kind::Texts, "Entries of the errata register that affect it.", "errata: [E02]"),
        KeyRow::new(
            "tolerated",
            Kind::Maps(&TOLERATED),
            "Further readings that the errata tolerate.",
            "tolerated: [{ reading: null members kept, sha256: \"00ff\" }]",
        ),
    ],
    ..Shape::PLAIN
};

/// The results of vectors.
const RESULTS: &[(&str, &str)] = &[
    ("valid", "It accepts it."),
    ("invalid", "It rejects it."),
    ("acceptable", "Both are permitted; `errata` gives the reason."),
];

/// A reading that the errata tolerate.
pub(super) static TOLERATED: Shape = Shape {
    name: "a tolerated reading",
    title: "Tolerated",
    about: "A reading that the errata tolerate.",
    keys: &[
        KeyRow::new("reading", Kind::Text, "The description of the reading.", "reading: null members kept").required(),
        KeyRow::new("sha256", Kind::Text, "Its hash, in hex.", "sha256: \"00ff\"").required(),
        KeyRow::new("errata", Kind::Texts, "Entries of the errata register that tolerate it.", "errata: [E04]"),
    ],
    ..Shape::PLAIN
};

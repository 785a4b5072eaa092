//! The keys of a value that is a changed copy.

use crate::source::{KeyRow, Kind, Shape};

/// `{ base: NAME, set: …, remove: … }`.
pub static BUILT: Shape = Shape {
    name: "a built value",
    title: "Built",
    about: "A copy of a named object of the protocol, or of a binding, with changes.",
    keys: &[
        KeyRow::new("base", Kind::Text, "The object or binding to start from.", "base: min").required(),
        KeyRow::new(
            "set",
            Kind::Named(&Kind::Value),
            "Places, as JSON Pointers, and the values to write there, in order.",
            "set: { /tags: [b, a], /title: \"${word}\" }",
        ),
        KeyRow::new("remove", Kind::Texts, "Places to remove, after setting.", "remove: [/summary]"),
    ],
    rows: true,
    ..Shape::PLAIN
};

//! The keys of an edit.

use crate::source::{Choice, KeyRow, Kind, Shape};

/// One deliberate defect.
pub static EDIT: Shape = Shape {
    name: "an edit",
    title: "Edit",
    about: "One deliberate defect of a message: exactly one change.",
    choice: Choice::OneOf(&[
        "remove",
        "set",
        "rename",
        "duplicate",
        "replace-message",
        "truncate",
        "bytes",
        "replace",
        "flip",
        "insert",
        "cut",
        "overwrite",
        "header",
    ]),
    keys: &[
        KeyRow::new("remove", Kind::Text, "Removes the member or element at this place.", "remove: /title"),
        KeyRow::new("set", Kind::Text, "Writes `to`, or `json`, at this place.", "set: /title"),
        KeyRow::new("rename", Kind::Text, "Gives the member at this place the name `to`.", "rename: /title"),
        KeyRow::new(
            "duplicate",
            Kind::Text,
            "Writes the member at this place a second time, with the value `to` or `json`.",
            "duplicate: /title",
        )
        .formerly(&["repeat"]),
        KeyRow::new("replace-message", Kind::Value, "Sends this value instead of the whole message.", "replace-message: []")
            .formerly(&["whole"]),
        KeyRow::new("truncate", Kind::Number, "Keeps only this many bytes of the body.", "truncate: 10"),
        KeyRow::new(
            "bytes",
            Kind::TextOr(&HEX),
            "Sends these bytes instead of the body. Here and in the other changes of bytes, a text may have expressions.",
            "bytes: { hex: 7b }",
        ),
        KeyRow::new(
            "replace",
            Kind::Text,
            "Replaces the first occurrence of this text in the bytes with the bytes of `to`.",
            "replace: \"0.1\"",
        ),
        KeyRow::new(
            "flip",
            Kind::Number,
            "Inverts one bit of the byte with this index; an index past the end starts again at the first byte.",
            "flip: 7",
        ),
        KeyRow::new("insert", Kind::TextOr(&HEX), "Inserts these bytes before byte `at`.", "insert: { hex: \"00\" }"),
        KeyRow::new("cut", Kind::Number, "Removes this many bytes, from byte `at` on.", "cut: 2"),
        KeyRow::new(
            "overwrite",
            Kind::TextOr(&HEX),
            "Overwrites as many bytes with these, from byte `at` on.",
            "overwrite: { hex: ff }",
        ),
        KeyRow::new(
            "header",
            Kind::Text,
            "Sets this header field to `to`; without `to` the header field is removed.",
            "header: content-type",
        ),
        KeyRow::new(
            "to",
            Kind::Value,
            "The new value for `set`, `rename`, `duplicate`, `replace` and `header`.",
            "to: text/plain",
        ),
        KeyRow::new(
            "json",
            Kind::Text,
            "As `to` for `set` and `duplicate`, written as a JSON text, which keeps the spelling of numbers and the \
            order of members.",
            "json: \"1.0e0\"",
        ),
        KeyRow::new("bit", Kind::Number, "The bit that `flip` inverts, counted from 0.", "bit: 3").default("0"),
        KeyRow::new(
            "at",
            Kind::Number,
            "The byte where `insert`, `cut` and `overwrite` start, counted from 0; for the last two an index past the end \
             starts again at the first byte.",
            "at: 7",
        )
        .default("the end for `insert`, 0 for the others"),
        KeyRow::new(
            "stage",
            Kind::Word(&[
                ("built", "Before the message is signed or encrypted."),
                ("protected", "After it is signed or encrypted, before it is encoded."),
                ("encoded", "On the encoded bytes."),
            ]),
            "When the change is made.",
            "stage: protected",
        )
        .default("`encoded` for changes of bytes, `built` for the others"),
    ],
    rows: true,
    ..Shape::PLAIN
};

/// `{ hex: TEXT }`.
pub(super) static HEX: Shape = Shape {
    name: "bytes in hex",
    title: "Hex",
    about: "Bytes in hex.",
    keys: &[KeyRow::new("hex", Kind::Text, "Two digits for each byte.", "hex: \"00ff\"").required()],
    rows: true,
    ..Shape::PLAIN
};

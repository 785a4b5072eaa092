//! Writes the record as JSON, and reads it back for `rejudge`, `compare` and `report`.

use std::io;

use serde::{Deserialize, Serialize};
use serde_json::ser::{CharEscape, CompactFormatter, Formatter, PrettyFormatter};

use super::printable;
use crate::record::{READABLE, RunRecord, SCHEMA};

/// Levels of a record that are indented: each case, requirement, level and feature is one line, to compare and to search.
const INDENTED: usize = 4;

/// Writes `record` with a line end after the last line.
///
/// Control and invisible characters are written as `\u` escapes, so that the file is safe to print.
///
/// # Errors
///
/// Those of `out`.
pub fn write(record: &RunRecord, out: &mut dyn io::Write) -> io::Result<()> {
    write_indented(record, INDENTED, out)
}

/// Writes any report, indented.
///
/// # Errors
///
/// Those of `out`.
pub fn write_visible(report: &impl Serialize, out: &mut dyn io::Write) -> io::Result<()> {
    write_indented(report, usize::MAX, out)
}

fn write_indented(report: &impl Serialize, indented_to: usize, out: &mut dyn io::Write) -> io::Result<()> {
    let formatter = Visible { indented: PrettyFormatter::default(), depth: 0, indented_to };
    let mut serializer = serde_json::Serializer::with_formatter(&mut *out, formatter);
    report.serialize(&mut serializer)?;
    out.write_all(b"\n")
}

/// Writes a value on one line, with the same escapes.
pub(super) fn write_line(value: &impl Serialize, out: &mut dyn io::Write) -> io::Result<()> {
    let formatter = Visible { indented: PrettyFormatter::default(), depth: 0, indented_to: 0 };
    let mut serializer = serde_json::Serializer::with_formatter(&mut *out, formatter);
    value.serialize(&mut serializer)?;
    out.write_all(b"\n")
}

/// Why bytes are not a record.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Not JSON, or not of the record's shape; the source has line and column.
    #[error("not a record")]
    Malformed(#[source] serde_json::Error),
    /// JSON without the member `schema`.
    #[error("not a record: no member \"schema\"")]
    NoSchema,
    /// A record of another version, or another kind of file.
    #[error("unsupported schema {found:?}: this proofmark reads {SCHEMA:?}")]
    OtherSchema {
        /// The value of `schema`, safe to print.
        found: String,
    },
}

/// Reads a record that [`write()`] wrote.
///
/// # Errors
///
/// [`ReadError::OtherSchema`] is reported before errors of the shape, since a newer record is not malformed.
pub fn read(bytes: &[u8]) -> Result<RunRecord, ReadError> {
    #[derive(Deserialize)]
    struct Head {
        schema: Option<String>,
    }
    let head: Head = serde_json::from_slice(bytes).map_err(ReadError::Malformed)?;
    match head.schema {
        None => Err(ReadError::NoSchema),
        Some(schema) if !READABLE.contains(&schema.as_str()) => {
            Err(ReadError::OtherSchema { found: printable::short(&schema, 60) })
        }
        Some(_) => {
            let mut record: RunRecord = serde_json::from_slice(bytes).map_err(ReadError::Malformed)?;
            let cases = record.protocols.iter_mut().flat_map(|protocol| &mut protocol.cases);
            for case in cases.filter(|case| case.outcomes.is_empty()) {
                case.outcomes = case.plain_outcomes();
            }
            Ok(record)
        }
    }
}

/// [`PrettyFormatter`] for the outer levels, with hidden characters escaped in strings.
struct Visible {
    indented: PrettyFormatter<'static>,
    /// Number of open arrays and objects.
    depth: usize,
    /// Arrays and objects below this depth are on one line.
    indented_to: usize,
}

impl Visible {
    /// Whether what stands in the innermost open array or object has a line of its own.
    fn is_indented(&self) -> bool {
        self.depth <= self.indented_to
    }
}

impl Formatter for Visible {
    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        // Most strings, and the longest of them, hex, have nothing to look for.
        if fragment.bytes().fold(true, |plain, byte| plain & matches!(byte, b' '..=b'~')) {
            return out.write_all(fragment.as_bytes());
        }
        let mut start = 0;
        for (at, c) in fragment.char_indices() {
            if printable::is_hidden(c) {
                out.write_all(&fragment.as_bytes()[start..at])?;
                for unit in c.encode_utf16(&mut [0; 2]) {
                    write!(out, "\\u{unit:04x}")?;
                }
                start = at + c.len_utf8();
            }
        }
        out.write_all(&fragment.as_bytes()[start..])
    }

    fn write_char_escape<W: ?Sized + io::Write>(&mut self, out: &mut W, escape: CharEscape) -> io::Result<()> {
        self.indented.write_char_escape(out, escape)
    }

    fn begin_array<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth += 1;
        if self.is_indented() { self.indented.begin_array(out) } else { CompactFormatter.begin_array(out) }
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        let is_indented = self.is_indented();
        self.depth -= 1;
        if is_indented { self.indented.end_array(out) } else { CompactFormatter.end_array(out) }
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth += 1;
        if self.is_indented() { self.indented.begin_object(out) } else { CompactFormatter.begin_object(out) }
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        let is_indented = self.is_indented();
        self.depth -= 1;
        if is_indented { self.indented.end_object(out) } else { CompactFormatter.end_object(out) }
    }

    fn begin_array_value<W: ?Sized + io::Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if self.is_indented() {
            self.indented.begin_array_value(out, first)
        } else {
            CompactFormatter.begin_array_value(out, first)
        }
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if self.is_indented() {
            self.indented.begin_object_key(out, first)
        } else {
            CompactFormatter.begin_object_key(out, first)
        }
    }

    fn end_array_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        if self.is_indented() { self.indented.end_array_value(out) } else { Ok(()) }
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        if self.is_indented() {
            self.indented.begin_object_value(out)
        } else {
            CompactFormatter.begin_object_value(out)
        }
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        if self.is_indented() { self.indented.end_object_value(out) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_a_record_is_rejected_with_the_reason() {
        let message = |bytes: &[u8]| format!("{:#}", anyhow::Error::from(read(bytes).unwrap_err()));
        assert_eq!(message(b"{}"), "not a record: no member \"schema\"");
        assert_eq!(
            message(br#"{"schema":"proofmark-record/3\u001b"}"#),
            r#"unsupported schema "proofmark-record/3\\u{1b}": this proofmark reads "proofmark-record/2""#
        );
        assert!(message(b"{").starts_with("not a record: EOF while parsing"));
        assert!(message(br#"{"schema":"proofmark-record/1"}"#).contains("missing field"));
    }
}

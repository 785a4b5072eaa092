//! Writes the record as JSON, and reads it back for `rejudge`, `compare` and `report`.

use std::io;

use serde::{Deserialize, Serialize};
use serde_json::ser::{CharEscape, Formatter, PrettyFormatter};

use super::printable;
use crate::record::{RunRecord, SCHEMA};

/// Writes `record` indented, with a line end after the last line.
///
/// Control and invisible characters are written as `\u` escapes, so that the file is safe to print.
///
/// # Errors
///
/// Those of `out`.
pub fn write(record: &RunRecord, out: &mut dyn io::Write) -> io::Result<()> {
    write_visible(record, out)
}

/// Writes any report as [`write()`] does a record.
///
/// # Errors
///
/// Those of `out`.
pub fn write_visible(report: &impl Serialize, out: &mut dyn io::Write) -> io::Result<()> {
    let mut serializer = serde_json::Serializer::with_formatter(&mut *out, Visible::default());
    report.serialize(&mut serializer)?;
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
        Some(schema) if schema != SCHEMA => Err(ReadError::OtherSchema { found: printable::short(&schema, 60) }),
        Some(_) => serde_json::from_slice(bytes).map_err(ReadError::Malformed),
    }
}

/// [`PrettyFormatter`], with hidden characters escaped in strings.
#[derive(Default)]
struct Visible(PrettyFormatter<'static>);

impl Formatter for Visible {
    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
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
        self.0.write_char_escape(out, escape)
    }

    fn begin_array<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_array(out)
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array(out)
    }

    fn begin_array_value<W: ?Sized + io::Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(out, first)
    }

    fn end_array_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array_value(out)
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object(out)
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object(out)
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(out, first)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object_value(out)
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object_value(out)
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
            message(br#"{"schema":"proofmark-record/2\u001b"}"#),
            r#"unsupported schema "proofmark-record/2\\u{1b}": this proofmark reads "proofmark-record/1""#
        );
        assert!(message(b"{").starts_with("not a record: EOF while parsing"));
        assert!(message(br#"{"schema":"proofmark-record/1"}"#).contains("missing field"));
    }
}

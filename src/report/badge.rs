//! Badges: which levels a run granted, as an SVG image and as the JSON that the service shields.io draws.

use std::io;

use serde_json::json;

use super::{json as record_json, printable};
use crate::record::{ProtocolRecord, RunRecord};
use crate::verdict::Grant;

/// Characters of a half of the badge.
const LENGTH: usize = 60;

/// What a badge says.
struct Badge {
    label: String,
    message: String,
    colour: Colour,
}

#[derive(Clone, Copy)]
enum Colour {
    Granted,
    Undecided,
    Refused,
}

impl Colour {
    /// The name that shields.io knows.
    fn name(self) -> &'static str {
        match self {
            Self::Granted => "brightgreen",
            Self::Undecided => "lightgrey",
            Self::Refused => "red",
        }
    }

    /// White text on it can be read.
    fn hex(self) -> &'static str {
        match self {
            Self::Granted => "#2a7d2e",
            Self::Undecided => "#5f6368",
            Self::Refused => "#b3261e",
        }
    }
}

/// Writes the JSON of an endpoint badge of shields.io.
///
/// # Errors
///
/// Those of `out`.
pub(super) fn write_json(record: &RunRecord, out: &mut dyn io::Write) -> io::Result<()> {
    let Badge { label, message, colour } = badge(record);
    let endpoint = json!({ "schemaVersion": 1, "label": label, "message": message, "color": colour.name() });
    record_json::write_visible(&endpoint, out)
}

/// Writes an SVG image.
///
/// # Errors
///
/// Those of `out`.
pub(super) fn write_svg(record: &RunRecord, out: &mut dyn io::Write) -> io::Result<()> {
    let Badge { label, message, colour } = badge(record);
    // Without the font at hand the width of a text is a guess, which `textLength` makes true.
    let width = |text: &str| printable::width(text) * 7 + 12;
    let (left, right) = (width(&label), width(&message));
    let whole = left + right;
    let colour = colour.hex();
    let half = |text: &str, from: usize, width: usize| {
        let (middle, length) = (from + width / 2, width - 12);
        format!(r#"<text x="{middle}" y="14" textLength="{length}">{}</text>"#, escaped(text))
    };
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{whole}\" height=\"20\" role=\"img\" \
         aria-label=\"{label_text}: {message_text}\">\n\
         <title>{label_text}: {message_text}</title>\n\
         <rect width=\"{left}\" height=\"20\" fill=\"#3c4043\"/>\n\
         <rect x=\"{left}\" width=\"{right}\" height=\"20\" fill=\"{colour}\"/>\n\
         <g fill=\"#fff\" text-anchor=\"middle\" font-family=\"Verdana,DejaVu Sans,sans-serif\" font-size=\"11\">\n\
         {one}\n{other}\n</g>\n</svg>",
        label_text = escaped(&label),
        message_text = escaped(&message),
        one = half(&label, 0, left),
        other = half(&message, left, right),
    )
}

fn badge(record: &RunRecord) -> Badge {
    let label = match record.protocols.as_slice() {
        [only] => printable::short(&only.protocol, LENGTH),
        _ => "proofmark".to_owned(),
    };
    let several = record.protocols.len() > 1;
    let said: Vec<String> = record
        .protocols
        .iter()
        .map(|protocol| match several {
            true => format!("{} {}", protocol.protocol, granted(protocol)),
            false => granted(protocol),
        })
        .collect();
    Badge { label, message: printable::short(&said.join(", "), LENGTH), colour: colour(record) }
}

/// The granted levels of a protocol. With waived requirements a level is granted only in part, which is said.
fn granted(protocol: &ProtocolRecord) -> String {
    let named = protocol.levels.iter().filter_map(|level| match level.outcome {
        Grant::Granted => Some(level.level.clone()),
        Grant::GrantedWaived => Some(format!("{} (waived: {})", level.level, level.waived.len())),
        Grant::Refused | Grant::Undecided => None,
    });
    let named: Vec<String> = named.collect();
    match named.is_empty() {
        true => "no level".to_owned(),
        false => named.join(" "),
    }
}

fn colour(record: &RunRecord) -> Colour {
    let claimed = || record.protocols.iter().flat_map(|protocol| &protocol.levels).filter(|level| level.claimed);
    let any = |outcome: Grant| claimed().any(|level| level.outcome == outcome);
    if any(Grant::Refused) || record.summary.exit_code == 1 {
        Colour::Refused
    } else if any(Grant::Undecided) || !any(Grant::Granted) {
        Colour::Undecided
    } else {
        Colour::Granted
    }
}

fn escaped(text: &str) -> String {
    let mut safe = String::new();
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&#38;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

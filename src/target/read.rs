//! Values that several readers of a target file read.

use std::time::Duration;

use crate::source::{Diagnostic, Located, Problems, Span};

/// Reads a duration such as `250ms`.
pub(super) fn read_duration(text: &Located<String>, problems: &mut Problems) -> Option<Duration> {
    let duration = parse_duration(text);
    if duration.is_none() {
        problems
            .note(Diagnostic::new(&text.span, format!("invalid duration `{}`", **text)).hint("such as 250ms, 5s, 2m"));
    }
    duration
}

/// Fetches a secret from a variable of the environment or from a file, one of which is named.
pub(super) fn secret(
    env: Option<Located<String>>,
    file: Option<Located<String>>,
    span: &Span,
    what: &str,
    problems: &mut Problems,
) -> Option<String> {
    let secret = match (env, file) {
        (Some(name), None) => std::env::var(&*name)
            .map_err(|_| Diagnostic::new(&name.span, format!("environment variable `{}` is not set", *name))),
        (None, Some(path)) => std::fs::read_to_string(&*path)
            .map(|text| text.trim_end().to_owned())
            .map_err(|error| Diagnostic::new(&path.span, format!("cannot read `{}`: {error}", *path))),
        _ => Err(Diagnostic::new(span, format!("{what} needs either `env` or `file`"))
            .hint("secrets are not permitted in the target file itself")),
    };
    secret.map_err(|diagnostic| problems.note(diagnostic)).ok()
}

/// Reads `250ms`, `5s`, `2m`.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let split = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(split);
    let number: u64 = number.parse().ok()?;
    match unit {
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "m" => Some(Duration::from_secs(number.checked_mul(60)?)),
        _ => None,
    }
}

//! `adapter check`: the adapter protocol rules.

use std::io::Write;

use super::args::{AdapterCheckOptions, DataFormat};
use super::exit::Failure;
use super::start::runtime;
use crate::adapter_rules::{self, Adapter, Finding, RULES};
use crate::report::printable;
use crate::target;

/// Checks an adapter against the rules.
pub(super) fn check(options: &AdapterCheckOptions) -> Result<u8, Failure> {
    let command = words(&options.command)?;
    let patience = match &options.timeout {
        None => std::time::Duration::from_secs(10),
        Some(text) => target::parse_duration(text)
            .filter(|duration| !duration.is_zero())
            .ok_or_else(|| Failure::Usage(format!("invalid duration `{text}`"), Some("such as 500ms or 10s".into())))?,
    };
    let findings = runtime()?.block_on(adapter_rules::check(&Adapter { command, patience }));
    let broken = findings.iter().filter(|finding| !finding.kept).count();
    let mut out = anstream::stdout();
    match options.format {
        DataFormat::Json => {
            let text = serde_json::to_string_pretty(&findings).map_err(|error| Failure::Internal(error.to_string()))?;
            writeln!(out, "{text}")?;
        }
        DataFormat::Text => print(&findings, &mut out)?,
    }
    Ok(u8::from(broken > 0))
}

fn print(findings: &[Finding], out: &mut dyn Write) -> std::io::Result<()> {
    for finding in findings {
        let word = if finding.kept { "followed" } else { "broken  " };
        writeln!(out, "{word}  {}", finding.name)?;
        if !finding.kept {
            for (what, text) in
                [("expected", finding.rule), ("observed", finding.observed.as_str()), ("hint", finding.advice)]
            {
                for (row, part) in printable::wrap(&printable::short(text, 600), 64).iter().enumerate() {
                    writeln!(out, "          {:<12}{part}", if row == 0 { what } else { "" })?;
                }
            }
        }
    }
    let kept = findings.iter().filter(|finding| finding.kept).count();
    writeln!(out, "\n{kept} of {} rules followed", RULES.len())
}

/// Splits a command into words: whitespace separates words, single and double quotes group them, a backslash escapes
/// the next character.
pub(super) fn words(command: &str) -> Result<Vec<String>, Failure> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = command.chars();
    while let Some(character) = characters.next() {
        match (character, quote) {
            (end, Some(begun)) if end == begun => quote = None,
            ('\\', None | Some('"')) => {
                let next = characters.next().unwrap_or('\\');
                word.get_or_insert_default().push(next);
            }
            (other, Some(_)) => word.get_or_insert_default().push(other),
            ('"' | '\'', None) => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (blank, None) if blank.is_whitespace() => words.extend(word.take()),
            (other, None) => word.get_or_insert_default().push(other),
        }
    }
    if let Some(quote) = quote {
        return Err(Failure::usage(format!("the adapter command has an unclosed {quote}")));
    }
    words.extend(word);
    if words.is_empty() {
        return Err(Failure::usage("the adapter command is empty"));
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_split_as_a_shell_does() {
        let split = |text: &str| words(text).unwrap_or_default();
        assert_eq!(split("python3  a.py --x"), ["python3", "a.py", "--x"]);
        assert_eq!(split(r#"'my program' "a \"b\"" c\ d ''"#), ["my program", "a \"b\"", "c d", ""]);
        assert!(words("'open").is_err());
        assert!(words("  ").is_err());
    }
}

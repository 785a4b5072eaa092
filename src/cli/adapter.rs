//! `adapter check` and `adapter methods`: the adapter protocol rules, what an adapter offers, and what it can offer.

use std::collections::BTreeSet;
use std::io::Write;

use serde_json::json;

use super::args::{AdapterCheckOptions, AdapterMethodsOptions, DataFormat, DataOptions, PageFormat};
use super::data;
use super::exit::Failure;
use super::program::Program;
use super::start::runtime;
use crate::adapter_rules::{self, Adapter, Finding, RULES};
use crate::manual::{self, unlocks::Offer};
use crate::report::printable;
use crate::target;

/// Number of missing methods that are printed without `--verbose`.
const MISSING: usize = 5;

/// Checks an adapter against the rules.
pub(super) fn check(options: &AdapterCheckOptions, program: &Program) -> Result<u8, Failure> {
    let command = words(&options.command)?;
    let patience = match &options.timeout {
        None => std::time::Duration::from_secs(10),
        Some(text) => target::parse_duration(text)
            .filter(|duration| !duration.is_zero())
            .ok_or_else(|| Failure::Usage(format!("invalid duration `{text}`"), Some("such as 500ms or 10s".into())))?,
    };
    let adapter = Adapter { command, patience };
    let runtime = runtime()?;
    let findings = runtime.block_on(adapter_rules::check(&adapter));
    let offers = match runtime.block_on(adapter_rules::described(&adapter)) {
        Ok((protocols, methods)) => {
            let offered: BTreeSet<&str> = methods.iter().map(String::as_str).collect();
            let slugs = protocols.iter().map(|protocol| protocol.slug().to_owned()).collect();
            let known = data::knowledge(&DataOptions { protocol: slugs, ..DataOptions::default() }, program)?;
            known.iter().map(|knowledge| manual::unlocks::offer(knowledge, &offered)).collect()
        }
        Err(_) => Vec::new(), // A rule says why.
    };
    let broken = findings.iter().filter(|finding| !finding.kept).count();
    let mut out = anstream::stdout();
    match options.format {
        DataFormat::Json => {
            let report = json!({ "rules": findings, "offers": offers });
            let text = serde_json::to_string_pretty(&report).map_err(|error| Failure::Internal(error.to_string()))?;
            writeln!(out, "{text}")?;
        }
        DataFormat::Text => {
            print(&findings, &mut out)?;
            for offer in &offers {
                print_offer(offer, options.verbose, &mut out)?;
            }
        }
    }
    Ok(u8::from(broken > 0))
}

/// Prints the methods of adapters.
pub(super) fn methods(options: &AdapterMethodsOptions, program: &Program) -> Result<u8, Failure> {
    let known = data::knowledge(&options.data, program)?;
    let mut out = anstream::stdout();
    match options.format {
        PageFormat::Text => {
            let pages: Vec<_> = known.iter().filter_map(manual::methods::text).collect();
            write!(out, "{}", pages.join("\n"))?;
        }
        PageFormat::Markdown => {
            write!(out, "{}", manual::methods::conventions_page(&known).text)?;
            for page in known.iter().filter_map(manual::methods::page) {
                write!(out, "\n{}", page.text)?;
            }
        }
        PageFormat::Json => {
            let rows: Vec<_> = known.iter().filter_map(manual::methods::data).collect();
            let text = serde_json::to_string_pretty(&rows).map_err(|error| Failure::Internal(error.to_string()))?;
            writeln!(out, "{text}")?;
        }
    }
    Ok(0)
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

/// Prints what an adapter offers of one protocol, and what each method is needed for.
fn print_offer(offer: &Offer, verbose: bool, out: &mut dyn Write) -> std::io::Result<()> {
    let Offer { protocol, unlocked, possible, offered, missing } = offer;
    writeln!(
        out,
        "\n{protocol}: {} of {} methods offered; {} of {} cases can run, which decide {} of {} requirements",
        offered.len(),
        offered.len() + missing.len(),
        unlocked.cases,
        possible.cases,
        unlocked.requirements,
        possible.requirements
    )?;
    let mut rows = |title: &str, rows: &[manual::unlocks::MethodCount]| -> std::io::Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        writeln!(out, "  {title:<40} {:>5}  {:>12}", "cases", "requirements")?;
        for row in rows {
            writeln!(out, "    {:<38} {:>5}  {:>12}", row.method, row.count.cases, row.count.requirements)?;
        }
        Ok(())
    };
    rows("offered, and needed by", offered)?;
    let shown = if verbose { missing.len() } else { missing.len().min(MISSING) };
    rows("not offered, and the only one missing for", &missing[..shown])?;
    if shown < missing.len() {
        writeln!(out, "    and {} more (--verbose)", missing.len() - shown)?;
    }
    Ok(())
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

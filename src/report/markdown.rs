//! A short page in GitHub's Markdown, for a job summary or a pull request.
//!
//! Text from the target appears only in code spans and fenced blocks, where it cannot form a link, mention, image or other
//! markup.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io;

use super::{baseline, cause, printable, view};
use crate::exchange::{Body, Exchange};
use crate::record::{CaseRecord, FeatureState, FindingRecord, LevelRecord, ProtocolRecord, RunRecord};
use crate::verdict::{NotRun, Verdict};

/// Bytes of the whole page: GitHub rejects a job summary above 1 MiB.
const SIZE_LIMIT: usize = 900 * 1000;
/// Bytes after which tables and details stop, so that totals and undecided cases always fit.
const EVIDENCE_LIMIT: usize = 800 * 1000;
/// Bytes after which the table of violations stops, so that some details fit.
const TABLE_LIMIT: usize = 400 * 1000;
/// Cases whose exchanges are shown.
const CASES_IN_DETAIL: usize = 20;
/// Rows of the table of violations; the other violations are in the HTML page.
const VIOLATIONS_SHOWN: usize = 100;
/// Causes of violations shown.
const CAUSES_SHOWN: usize = 10;
/// Exchanges shown of one case.
const EXCHANGES_IN_DETAIL: usize = 8;
/// Characters of one body.
const BODY_LENGTH: usize = 4000;
/// Characters of a value in a table.
const CELL_LENGTH: usize = 300;

/// Writes `record` as Markdown.
///
/// # Errors
///
/// Those of `out`.
pub(super) fn write(record: &RunRecord, out: &mut dyn io::Write) -> io::Result<()> {
    let mut page = Page::default();
    page.head(record);
    // Why hundreds of cases were not judged is said once.
    let unready = view::is_unready(record);
    for protocol in record.protocols.iter().filter(|_| !unready) {
        page.levels(protocol);
    }
    for protocol in &record.protocols {
        page.violation_causes(protocol, &baseline::known(record));
    }
    page.baseline(record);
    page.violations(record);
    page.details(record);
    for protocol in record.protocols.iter().filter(|_| !unready) {
        page.undecided(protocol, &baseline::known(record));
        page.warnings(protocol);
    }
    page.totals(record);
    out.write_all(page.text.as_bytes())
}

#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    /// Adds `block` if the page stays within `limit` bytes, and returns whether it did.
    fn add(&mut self, limit: usize, block: &str) -> bool {
        let fits = self.text.len() + block.len() <= limit;
        if fits {
            self.text.push_str(block);
        }
        fits
    }

    fn head(&mut self, record: &RunRecord) {
        let mut head = format!("# proofmark: {}\n\n", escape(&printable::short(&record.summary.conclusion, 300)));
        let name = code(&printable::short(&record.target.name, CELL_LENGTH));
        let _ = writeln!(
            head,
            "Target {name} ({}), profile {}, seed {}, proofmark {}, {}.\n",
            escape(record.target.kind.name()),
            record.profile.word(),
            record.seed,
            escape(&record.proofmark),
            escape(&record.started_at),
        );
        if let Some(why) = &record.summary.cut_short {
            let _ = writeln!(head, "**Cut short:** {}\n", code(&printable::short(why, CELL_LENGTH)));
        }
        for line in &record.summary.advice {
            let _ = writeln!(head, "{}\n", escape(&printable::short(line, CELL_LENGTH)));
        }
        self.add(SIZE_LIMIT, &head);
    }

    fn levels(&mut self, protocol: &ProtocolRecord) {
        let mut table = format!(
            "## {}: {}\n\n| level | outcome | claimed | blocked by |\n|---|---|---|---|\n",
            escape(&protocol.protocol),
            escape(&printable::short(&protocol.spec, 200)),
        );
        for level in &protocol.levels {
            let _ = writeln!(
                table,
                "| {} | {} | {} | {} |",
                escape(&level.level),
                view::outcome_words(level),
                if level.claimed { "yes" } else { "no" },
                escape(&view::claim_and_blocking(level)),
            );
        }
        table.push('\n');
        self.add(SIZE_LIMIT, &table);
        for level in &protocol.levels {
            self.causes(level);
        }
    }

    /// What keeps a level undecided, and what to do about it.
    fn causes(&mut self, level: &LevelRecord) {
        let causes = view::causes(level);
        if causes.is_empty() {
            return;
        }
        let mut list = format!("<details><summary>{} is undecided</summary>\n\n", escape(&level.level));
        for cause in causes.iter().take(50) {
            let ids: Vec<_> = cause.requirements.iter().take(50).map(|id| code(&printable::short(id, 60))).collect();
            let more = if cause.requirements.len() > ids.len() { ", ..." } else { "" };
            let _ = writeln!(
                list,
                "- {} ({}{more}): {}. To do: {}",
                escape(cause.what),
                ids.join(", "),
                code(&printable::short(cause.why, CELL_LENGTH)),
                escape(&printable::short(cause.advice, CELL_LENGTH)),
            );
        }
        list.push_str("\n</details>\n\n");
        self.add(SIZE_LIMIT, &list);
    }

    /// The causes of the violations, and the first of them as the one to mend first.
    fn violation_causes(&mut self, protocol: &ProtocolRecord, known: &BTreeSet<&str>) {
        let causes = cause::causes(protocol, known);
        if causes.is_empty() {
            return;
        }
        let mut list = format!("## Causes in {}\n\n", escape(&protocol.protocol));
        for (at, cause) in causes.iter().take(CAUSES_SHOWN).enumerate() {
            let first = if at == 0 && causes.len() > 1 { "**fix this first:** " } else { "" };
            let number = cause.extent();
            let requirements = printable::count(cause.requirements.len(), "requirement", "requirements");
            let headline = code(&printable::short(&cause.headline(), CELL_LENGTH));
            let _ = writeln!(list, "{}. {first}{headline} ({number}, {requirements})", at + 1);
        }
        if causes.len() > CAUSES_SHOWN {
            let _ = writeln!(list, "\nand {} more causes", causes.len() - CAUSES_SHOWN);
        }
        list.push('\n');
        self.add(SIZE_LIMIT, &list);
    }

    /// Known failures, and what no longer holds in the baseline.
    fn baseline(&mut self, record: &RunRecord) {
        let Some(heading) = baseline::heading(record) else { return };
        let mut list = format!("## Baseline: {}\n\n", escape(&heading));
        for line in baseline::lines(record) {
            let colon = if line.label.is_empty() { "" } else { ": " };
            let _ = writeln!(list, "- {}{colon}{}", line.label, code(&line.text));
        }
        list.push('\n');
        self.add(SIZE_LIMIT, &list);
    }

    fn violations(&mut self, record: &RunRecord) {
        let rows = violations(record);
        if rows.is_empty() {
            return;
        }
        let head = "## Violations\n\n| requirement | keyword | case | expected | observed |\n|---|---|---|---|---|\n";
        self.add(SIZE_LIMIT, head);
        let mut left_out = 0;
        for (at, row) in rows.iter().enumerate() {
            if at >= VIOLATIONS_SHOWN || left_out > 0 || !self.add(TABLE_LIMIT, &row.table_row()) {
                left_out += 1;
            }
        }
        if left_out > 0 {
            self.add(SIZE_LIMIT, &format!("\n{left_out} more rows are in `report.html`.\n"));
        }
        self.add(SIZE_LIMIT, "\n");
    }

    fn details(&mut self, record: &RunRecord) {
        let failed: Vec<&CaseRecord> = record
            .protocols
            .iter()
            .flat_map(|protocol| &protocol.cases)
            .filter(|case| case.verdict == Verdict::Fail)
            .collect();
        let mut shown = 0;
        for case in failed.iter().take(CASES_IN_DETAIL) {
            if self.add(EVIDENCE_LIMIT, &detail(case)) {
                shown += 1;
            }
        }
        if shown < failed.len() {
            let rest = failed.len() - shown;
            let cases = printable::count(rest, "failed case", "failed cases");
            self.add(SIZE_LIMIT, &format!("The exchanges of {cases} more are in `report.html`.\n\n"));
        }
    }

    fn undecided(&mut self, protocol: &ProtocolRecord, known: &BTreeSet<&str>) {
        let groups = view::undecided(protocol, known);
        if groups.is_empty() {
            return;
        }
        let mut list = format!("## Undecided in {}\n\n", escape(&protocol.protocol));
        for (verdict, reason, cases) in groups.iter().take(50) {
            let number = printable::count(cases.len(), "case", "cases");
            let reason = code(&printable::short(reason, CELL_LENGTH));
            let named: Vec<_> = cases.iter().take(3).map(|case| code(&printable::short(&case.id, 200))).collect();
            let more = if cases.len() > named.len() { ", ..." } else { "" };
            let _ = writeln!(list, "- {verdict}, {number}: {reason} ({}{more})", named.join(", "));
        }
        if groups.len() > 50 {
            let _ = writeln!(list, "- and {} more reasons", groups.len() - 50);
        }
        for feature in protocol.features.iter().take(50) {
            if feature.state != FeatureState::Offered && !feature.advice.is_empty() {
                let advice = printable::short(&feature.advice, CELL_LENGTH);
                let _ =
                    writeln!(list, "- hint for {}: {}", code(&printable::short(&feature.feature, 60)), escape(&advice));
            }
        }
        list.push('\n');
        self.add(SIZE_LIMIT, &list);
    }

    fn warnings(&mut self, protocol: &ProtocolRecord) {
        let groups = view::unmet_requirements(protocol, Verdict::Warn);
        if groups.is_empty() {
            return;
        }
        let number = printable::count(groups.len(), "warning", "warnings");
        let name = escape(&protocol.protocol);
        let mut list = format!("<details><summary>{number} in {name}</summary>\n\n");
        for group in groups.iter().take(200) {
            let summary = group.requirement.map_or("", |r| r.summary.as_str());
            let cases = printable::count(group.cases.len(), "case", "cases");
            let _ = writeln!(list, "- {} ({cases}): {}", code(group.id), escape(&printable::short(summary, 300)));
        }
        list.push_str("\n</details>\n\n");
        self.add(SIZE_LIMIT, &list);
    }

    fn totals(&mut self, record: &RunRecord) {
        let rows = record.summary.cases.rows();
        let words: Vec<_> = rows.iter().map(|(verdict, _)| verdict.word()).collect();
        let numbers: Vec<_> = rows.iter().map(|(_, n)| n.to_string()).collect();
        let mut totals = format!("## Totals\n\n| {} |\n|", words.join(" | "));
        totals.push_str(&"---:|".repeat(rows.len()));
        let _ = writeln!(totals, "\n| {} |\n", numbers.join(" | "));
        for (transport, counts) in view::by_transport(&record.protocols) {
            let _ = writeln!(totals, "- over {}: {counts}", escape(&transport));
        }
        let mut reasons = Vec::new();
        for protocol in &record.protocols {
            for (word, n) in view::not_run(protocol) {
                reasons.push(format!("{n} {word} in {}", escape(&protocol.protocol)));
            }
        }
        if !reasons.is_empty() {
            let _ = writeln!(totals, "Not run: {}.\n", reasons.join(", "));
        }
        if let Some(retried) = view::retried(record) {
            let _ = writeln!(totals, "Retried: {}.\n", escape(&retried));
        }
        let took = printable::duration(record.summary.elapsed_ms);
        let _ =
            writeln!(totals, "{} requests in {took}; exit code {}.", record.summary.requests, record.summary.exit_code);
        self.add(SIZE_LIMIT, &totals);
    }
}

/// One row of the table of violations.
struct Row<'a> {
    requirement: &'a str,
    keyword: &'a str,
    /// What the requirement demands, in a sentence.
    demand: &'a str,
    case: &'a CaseRecord,
    finding: Option<&'a FindingRecord>,
}

impl Row<'_> {
    fn table_row(&self) -> String {
        let cell = |text: &str| code(&printable::short(text, CELL_LENGTH));
        let (expected, observed) = match self.finding {
            Some(finding) => (cell(&finding.expected), cell(&finding.observed)),
            None => (String::new(), cell(&self.case.because)),
        };
        let demand = match self.demand {
            "" => String::new(),
            demand => format!("<br>{}", escape(&printable::short(demand, CELL_LENGTH))),
        };
        format!(
            "| {}{demand} | {} | {} | {expected} | {observed} |\n",
            cell(self.requirement),
            escape(self.keyword),
            cell(&self.case.id),
        )
    }
}

/// One row for each requirement that a case violates, with its first finding.
fn violations(record: &RunRecord) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    let known = baseline::known(record);
    for protocol in &record.protocols {
        for group in view::unmet_requirements(protocol, Verdict::Fail) {
            for (case, findings) in group.cases.into_iter().filter(|(case, _)| !known.contains(case.id.as_str())) {
                rows.push(Row {
                    requirement: group.id,
                    keyword: group.requirement.map_or("", |r| r.keyword.as_str()),
                    demand: group.requirement.map_or("", |r| r.summary.as_str()),
                    case,
                    finding: findings.first().copied(),
                });
            }
        }
    }
    rows
}

fn detail(case: &CaseRecord) -> String {
    let mut text = format!("<details><summary>{}</summary>\n\n", escape(&printable::short(&case.id, 300)));
    let mut say = |label: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(text, "- {label}: {}", code(&printable::short(value, CELL_LENGTH)));
        }
    };
    say("why", &case.because);
    for finding in case.findings.iter().take(EXCHANGES_IN_DETAIL) {
        say("requirement", &finding.requirement);
        say("expected", &finding.expected);
        say("observed", &finding.observed);
        say("defined at", &finding.at);
    }
    for edit in case.edits.iter().take(EXCHANGES_IN_DETAIL) {
        say("edited", &edit.edit);
    }
    say("not run", case.reason.map_or("", NotRun::word));
    text.push('\n');
    for exchange in case.exchanges.iter().take(EXCHANGES_IN_DETAIL) {
        text.push_str(&fenced(&transcript(exchange)));
    }
    if case.exchanges.len() > EXCHANGES_IN_DETAIL {
        let _ = writeln!(text, "and {} more exchanges\n", case.exchanges.len() - EXCHANGES_IN_DETAIL);
    }
    text.push_str("Replay:\n\n");
    text.push_str(&fenced(&printable::line(&case.replay)));
    text.push_str("</details>\n\n");
    text
}

fn transcript(exchange: &Exchange) -> String {
    let mut text = format!("{}\n", view::request_line(exchange));
    push_message(&mut text, &exchange.sent.headers, &exchange.sent.body);
    let _ = writeln!(text, "\n-> {}", view::answer_line(exchange));
    push_message(&mut text, &exchange.received.headers, &exchange.received.body);
    text
}

fn push_message(text: &mut String, headers: &[(String, String)], body: &Body) {
    for (name, value) in headers.iter().take(40) {
        let _ = writeln!(text, "{}: {}", printable::short(name, 100), printable::short(value, 300));
    }
    if body.is_empty() {
        return;
    }
    text.push('\n');
    match body.text() {
        Some(body) => text.push_str(&printable::block(&printable::cut(body, BODY_LENGTH))),
        None => {
            let _ = writeln!(text, "({}, not UTF-8)", printable::size(body.len()));
            text.push_str(&printable::hex_dump(&body.0, 256));
        }
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
}

/// A fenced block with a fence longer than any in `text`.
fn fenced(text: &str) -> String {
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    format!("{fence}text\n{}\n{fence}\n\n", text.trim_end_matches('\n'))
}

/// `text`, one line, as a code span that is also safe in a table.
pub(super) fn code(text: &str) -> String {
    if text.trim().is_empty() {
        return String::new();
    }
    let text = &printable::line(text);
    if text.contains('|') {
        // A table splits at pipes even within a code span, and renderers differ in how they treat a backslash there. Numeric
        // references are never markup.
        return format!("<code>{}</code>", references(text));
    }
    match longest_run(text) {
        0 => format!("`{text}`"),
        run => {
            let fence = "`".repeat(run + 1);
            format!("{fence} {text} {fence}")
        }
    }
}

/// `text` as plain text of the page: escapes markup, links and hidden characters.
pub(super) fn escape(text: &str) -> Cow<'_, str> {
    let text = printable::line(text);
    match text.contains(is_markup) || text.contains("www") {
        true => Cow::Owned(references(&text)),
        false => text,
    }
}

/// `text` with all characters that may be inline markup as numeric references.
fn references(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() * 2);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\n' => escaped.push(' '),
            // A colon may begin an address or an emoji, unless a space follows.
            ':' if rest.peek().is_some_and(|next| *next == ' ' || next.is_ascii_digit()) => {
                escaped.push(':');
            }
            c if is_markup(c) => {
                let _ = write!(escaped, "&#{};", c as u32);
            }
            // GitHub links words that begin with `www.`.
            'w' if escaped.ends_with("ww") => escaped.push_str("&#119;"),
            c => escaped.push(c),
        }
    }
    escaped
}

fn is_markup(c: char) -> bool {
    c == '\n' || (c.is_ascii_punctuation() && !matches!(c, '.' | ',' | '-' | '\'' | '(' | ')' | '/' | ';'))
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_span_outlasts_the_backticks_in_it() {
        assert_eq!(code("plain"), "`plain`");
        assert_eq!(code("a `` b"), "``` a `` b ```");
        assert_eq!(code("a \\| b"), "<code>a &#92;&#124; b</code>");
        assert_eq!(code(" "), "");
    }

    #[test]
    fn a_fence_outlasts_the_fences_in_it() {
        assert_eq!(fenced("````\nx"), "`````text\n````\nx\n`````\n\n");
        assert_eq!(fenced("x\n"), "```text\nx\n```\n\n");
    }

    #[test]
    fn text_contains_no_hidden_characters() {
        let escaped = escape("L1\u{200b}\u{1b}[2J\nx");
        assert!(!escaped.contains(printable::is_hidden), "{escaped:?}");
        assert_eq!(escape("L1 (draft)"), "L1 (draft)");
    }

    #[test]
    fn text_contains_no_markup() {
        assert_eq!(escape("[x](y) <b> @me #1 & *"), "&#91;x&#93;(y) &#60;b&#62; &#64;me &#35;1 &#38; &#42;");
        assert_eq!(escape("The Protocol, version 0.1 (draft)"), "The Protocol, version 0.1 (draft)");
    }
}

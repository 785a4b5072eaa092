//! The terminal summary: only what needs action.
//!
//! Plain ASCII, except for text from the target. No line exceeds the width, except commands and URLs, which must stay
//! copyable.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use self::page::{BOLD, FAINT, PLAIN, Page, clip};
use super::baseline;
use super::cause::{self, Cause};
use super::view::outcome_words;
use super::{printable, view};
use crate::exchange::Exchange;
use crate::record::{
    CaseRecord, FeatureRecord, FeatureState, FindingRecord, LevelRecord, ProtocolRecord, RequirementRecord, RunRecord,
};
use crate::verdict::{Grant, NotRun, Verdict};

mod page;

/// Causes of violations, and reasons of undecided cases, that are shown.
const CAUSES_SHOWN: usize = 10;
/// Requirements named under one cause.
const REQUIREMENTS_NAMED: usize = 6;
/// Requirements named under one cause that keeps a level undecided.
const UNDECIDED_NAMED: usize = 20;
/// Characters of a cause in one line.
const HEADLINE_LENGTH: usize = 160;
/// Findings shown under one case.
const FINDINGS_IN_FULL: usize = 3;
/// Ids listed under one reason.
const IDS_NAMED: usize = 3;
/// Causes shown that keep a level undecided.
const CAUSES_IN_FULL: usize = 12;
/// The same beside violations.
const CAUSES_BESIDE: usize = 3;
/// Hints shown beside violations.
const HINTS_BESIDE: usize = 3;
/// Characters of an expected or observed value.
const VALUE_LENGTH: usize = 320;

/// The style of the terminal summary.
#[derive(Clone, Copy, Debug)]
pub struct TerminalStyle {
    /// Whether to use colour. Colour never adds information.
    pub colour: bool,
    /// Columns, at least 40.
    pub width: usize,
    /// Whether to list all undecided cases and those that did not run.
    pub verbose: bool,
}

impl Default for TerminalStyle {
    fn default() -> Self {
        Self { colour: false, width: 80, verbose: false }
    }
}

/// Writes the terminal summary as a file: 80 columns, no colour.
///
/// # Errors
///
/// Those of `out`.
pub fn write(record: &RunRecord, out: &mut dyn Write) -> io::Result<()> {
    write_terminal(record, out, &TerminalStyle::default())
}

/// Writes the summary of `record` in the given style.
///
/// # Errors
///
/// Those of `out`.
pub fn write_terminal(record: &RunRecord, out: &mut dyn Write, style: &TerminalStyle) -> io::Result<()> {
    let mut page =
        Page { out, colour: style.colour, width: style.width.max(40), verbose: style.verbose, in_block: false };
    page.head(record)?;
    // Why hundreds of cases were not judged is said once, by the result.
    if !view::is_unready(record) || style.verbose {
        let known = baseline::known(record);
        for protocol in &record.protocols {
            page.protocol(protocol, &known)?;
        }
        page.baseline(record)?;
    }
    page.totals(record)
}

fn verdict_style(verdict: Verdict) -> Style {
    let colour = match verdict {
        Verdict::Pass => AnsiColor::Green,
        Verdict::Warn | Verdict::Inconclusive => AnsiColor::Yellow,
        Verdict::Fail | Verdict::Error => AnsiColor::Red,
        Verdict::NotRun => return FAINT,
    };
    colour.on_default()
}

/// The first requirements, and the number of the others.
fn ids(requirements: &[&str], named: usize) -> String {
    let ids = requirements.iter().take(named).map(|id| printable::short(id, 60)).collect::<Vec<_>>().join(", ");
    match requirements.len().saturating_sub(named) {
        0 => ids,
        rest => format!("{ids} and {rest} more"),
    }
}

fn grant_style(grant: Grant) -> Style {
    match grant {
        Grant::Granted => AnsiColor::Green,
        Grant::Refused => AnsiColor::Red,
        Grant::GrantedWaived | Grant::Undecided => AnsiColor::Yellow,
    }
    .on_default()
    .bold()
}

/// The features whose advice helps beside violations: prerequisites of cases that decide nothing, unless the advice only points
/// to the violations. Others that were probed, where violations do not explain `most`, the cases that most often share a reason.
fn hints<'r>(protocol: &'r ProtocolRecord, most: &[&CaseRecord]) -> Vec<&'r FeatureRecord> {
    let is_reason = |feature: &FeatureRecord| {
        !feature.about.is_empty() && most.iter().any(|case| case.because.contains(&feature.about))
    };
    let explained = protocol.features.iter().any(|feature| !feature.explained_by.is_empty() && is_reason(feature));
    let may_help = |feature: &&FeatureRecord| {
        feature.blocks > 0 || !explained && (is_reason(feature) || !feature.exchanges.is_empty())
    };
    let mut hints: Vec<&FeatureRecord> = Vec::new();
    for feature in protocol.features.iter().filter(|feature| has_advice(feature)).filter(may_help) {
        let is_said = hints.iter().any(|said| said.advice == feature.advice);
        if !feature.advice.starts_with("See the findings") && !is_said {
            hints.push(feature);
        }
    }
    hints.sort_by_key(|feature| std::cmp::Reverse(feature.blocks));
    hints.truncate(HINTS_BESIDE);
    hints
}

/// Whether the user can do something about a feature that was not found.
fn has_advice(feature: &FeatureRecord) -> bool {
    feature.state != FeatureState::Offered && !feature.advice.is_empty()
}

impl Page<'_> {
    fn head(&mut self, record: &RunRecord) -> io::Result<()> {
        let target = format!("{} ({})", printable::short(&record.target.name, 300), record.target.kind);
        self.whole(0, "target", 10, &target, BOLD)?;
        let mut how = format!("{}, seed {}", record.profile.word(), record.seed);
        if record.identity_seed != record.seed {
            how.push_str(&format!(", identity seed {}", record.identity_seed));
        }
        self.field(0, "profile", 10, &how, PLAIN)?;
        let asked = &record.asked;
        let mut selection = Vec::new();
        selection.extend(asked.levels.iter().map(|level| format!("level {level}")));
        selection.extend(asked.only.iter().map(|only| format!("only {only}")));
        selection.extend(asked.requirements.iter().map(|id| format!("requirement {id}")));
        selection.extend(asked.shard.iter().map(|shard| format!("shard {shard}")));
        if !selection.is_empty() {
            self.field(0, "selected", 10, &printable::short(&selection.join(", "), 400), PLAIN)?;
        }
        Ok(())
    }

    fn protocol(&mut self, protocol: &ProtocolRecord, known: &BTreeSet<&str>) -> io::Result<()> {
        self.heading(&format!("{}: {}", protocol.protocol, printable::short(&protocol.spec, 200)))?;
        self.levels(&protocol.levels)?;
        let causes = cause::causes(protocol, known);
        let is_short = !causes.is_empty() && !self.verbose;
        self.causes(&protocol.levels, if is_short { CAUSES_BESIDE } else { CAUSES_IN_FULL })?;
        self.violations(protocol, &causes, known)?;
        // After what is violated the rest is counted, not listed.
        if !is_short {
            self.undecided(protocol, known)?;
            self.warnings(protocol)?;
        }
        self.waivers(protocol)?;
        self.strays(protocol)?;
        if is_short {
            self.counted(protocol, known)?;
        }
        self.not_run(protocol)
    }

    /// The undecided cases and the warnings, a line each.
    fn counted(&mut self, protocol: &ProtocolRecord, known: &BTreeSet<&str>) -> io::Result<()> {
        let groups = view::undecided(protocol, known);
        let number: usize = groups.iter().map(|(_, _, cases)| cases.len()).sum();
        if let Some((_, reason, cases)) = groups.iter().max_by_key(|(_, _, cases)| cases.len()) {
            let of_them = if cases.len() < number { format!("{} of them: ", cases.len()) } else { String::new() };
            let text = format!("{}; {of_them}{reason}", printable::count(number, "case", "cases"));
            self.clipped("undecided", &text, verdict_style(Verdict::Inconclusive))?;
        }
        let most = groups.iter().max_by_key(|(_, _, cases)| cases.len()).map_or(&[][..], |(_, _, cases)| cases);
        for feature in hints(protocol, most) {
            self.block()?;
            self.hint(0, 10, feature)?;
        }
        let warned = view::unmet_requirements(protocol, Verdict::Warn);
        if !warned.is_empty() {
            let ids: Vec<&str> = warned.iter().map(|group| group.id).collect();
            let number = printable::count(ids.len(), "requirement", "requirements");
            let text = format!("{number}: {}", self::ids(&ids, REQUIREMENTS_NAMED));
            self.clipped("warnings", &text, verdict_style(Verdict::Warn))?;
        }
        Ok(())
    }

    /// A field of one line, cut if it is longer.
    fn clipped(&mut self, label: &str, text: &str, style: Style) -> io::Result<()> {
        let text = clip(&printable::short(text, VALUE_LENGTH), self.width.saturating_sub(10));
        self.block()?;
        self.whole(0, label, 10, &text, style)
    }

    /// Messages that the target sent to a host and that belong to no case; mostly caused by wrong configuration.
    fn strays(&mut self, protocol: &ProtocolRecord) -> io::Result<()> {
        let strays = view::notable_strays(protocol);
        let Some(first) = strays.first() else { return Ok(()) };
        let count = strays.len() + usize::try_from(protocol.more_strays).unwrap_or(usize::MAX);
        self.heading(&format!("STRAY: {}", printable::count(count, "message at a host", "messages at hosts")))?;
        let hosted = &first.hosted;
        let what = match (hosted.method.as_str(), hosted.path.as_str()) {
            ("", "") => hosted.kind.name().to_owned(),
            ("", path) => format!("{} {path}", hosted.kind.name()),
            (method, path) => format!("{method} {path}"),
        };
        let whose = first
            .case
            .as_ref()
            .map_or_else(|| "belongs to no case".to_owned(), |case| format!("arrived too late for {case}"));
        let text = format!("the first, at host {}: {what}, {whose}", hosted.host);
        self.paragraph(2, &printable::short(&text, 300), PLAIN)
    }

    fn levels(&mut self, levels: &[LevelRecord]) -> io::Result<()> {
        let names = levels.iter().map(|l| printable::width(&l.level)).max().unwrap_or(0);
        let outcomes = levels.iter().map(|level| outcome_words(level).len()).max().unwrap_or(0).max(10);
        for level in levels {
            let name = printable::short(&level.level, 30);
            let outcome = format!("{:outcomes$}", outcome_words(level));
            let outcome = self.paint(grant_style(level.outcome), &outcome);
            let claimed = if level.claimed { "claimed" } else { "not claimed" };
            let lead = names + 2 + outcomes + 1 + 13;
            let why = printable::line(&view::claim_and_blocking(level)).into_owned();
            let why = printable::wrap(&why, self.width.saturating_sub(2 + lead));
            for (row, part) in why.iter().enumerate() {
                let line = match row {
                    0 => format!("  {name:names$}  {outcome} {claimed:12} {part}"),
                    _ => format!("  {:lead$}{part}", ""),
                };
                writeln!(self.out, "{}", line.trim_end())?;
            }
        }
        Ok(())
    }

    /// What keeps claimed levels undecided, and what to do about it. What one level includes is not repeated for the next.
    fn causes(&mut self, levels: &[LevelRecord], shown: usize) -> io::Result<()> {
        let mut seen: Vec<&str> = Vec::new();
        for level in levels {
            let mut causes = view::causes(level);
            for cause in &mut causes {
                cause.requirements.retain(|id| !seen.contains(id));
            }
            // The user knows what was not selected; its number is in the line of the level.
            let is_news = |what: &str| self.verbose || what != NotRun::NotSelected.word();
            causes.retain(|cause| !cause.requirements.is_empty() && is_news(cause.what));
            if causes.is_empty() {
                continue;
            }
            self.heading(&format!("{} IS UNDECIDED", printable::short(&level.level, 30)))?;
            let shown = if self.verbose { causes.len() } else { shown };
            for cause in causes.iter().take(shown) {
                let number = printable::count(cause.requirements.len(), "requirement", "requirements");
                let why = printable::short(cause.why, VALUE_LENGTH);
                let colon = if why.is_empty() { "" } else { ": " };
                self.paragraph(2, &format!("{} ({number}){colon}{why}", cause.what), PLAIN)?;
                if !cause.advice.is_empty() {
                    self.field(4, "to do", 8, &printable::short(cause.advice, VALUE_LENGTH), PLAIN)?;
                }
                let named = if self.verbose { cause.requirements.len() } else { UNDECIDED_NAMED };
                self.paragraph(4, &ids(&cause.requirements, named), FAINT)?;
            }
            if causes.len() > shown {
                self.paragraph(2, &format!("and {} more causes (--verbose)", causes.len() - shown), FAINT)?;
            }
            seen.extend(causes.iter().flat_map(|cause| &cause.requirements));
        }
        Ok(())
    }

    /// The causes, the first with its example whole, the others with the name of theirs; with `--verbose`, all whole, and each
    /// requirement with its cases behind them.
    fn violations(
        &mut self,
        protocol: &ProtocolRecord,
        causes: &[Cause<'_>],
        known: &BTreeSet<&str>,
    ) -> io::Result<()> {
        if causes.is_empty() {
            return Ok(());
        }
        let is_new = |case: &&CaseRecord| case.verdict == Verdict::Fail && !known.contains(case.id.as_str());
        let failed = printable::count(protocol.cases.iter().filter(is_new).count(), "case", "cases");
        let requirements = printable::count(cause::violated(causes).len(), "requirement", "requirements");
        let number = printable::count(causes.len(), "cause", "causes");
        let first = if causes.len() > 1 { "; fix this first:" } else { "" };
        self.heading(&format!("VIOLATED: {requirements} in {failed}, {number}{first}"))?;
        let index = view::requirement_index(protocol);
        for (at, cause) in causes.iter().take(CAUSES_SHOWN).enumerate() {
            let lead = format!("{}. {}", at + 1, printable::short(&cause.headline(), HEADLINE_LENGTH));
            let (case, finding) = cause.example;
            if at > 0 && !self.verbose {
                let example = format!("{} ({})", printable::short(&case.id, 300), cause.extent());
                self.paragraph(2, &clip(&lead, self.width.saturating_sub(2)), verdict_style(Verdict::Fail))?;
                // An id is never cut, so that it can be copied.
                self.whole(5, "", 0, &example, FAINT)?;
                continue;
            }
            if self.verbose {
                self.blank()?;
            }
            self.paragraph(2, &lead, verdict_style(Verdict::Fail).bold())?;
            self.paragraph(4, &format!("{}: {}", cause.extent(), ids(&cause.requirements, REQUIREMENTS_NAMED)), FAINT)?;
            let id = finding.map_or_else(|| case.covers.first().map_or("", String::as_str), |f| f.requirement.as_str());
            self.requirement(id, index.get(id).and_then(|at| protocol.requirements.get(*at)))?;
            self.case(case, &finding.into_iter().collect::<Vec<_>>())?;
        }
        if causes.len() > CAUSES_SHOWN {
            let more = format!("and {} more causes (see report.html)", causes.len() - CAUSES_SHOWN);
            self.paragraph(2, &more, FAINT)?;
        }
        if self.verbose { self.violated_requirements(protocol) } else { Ok(()) }
    }

    fn violated_requirements(&mut self, protocol: &ProtocolRecord) -> io::Result<()> {
        let groups = view::unmet_requirements(protocol, Verdict::Fail);
        self.heading("BY REQUIREMENT")?;
        for group in groups {
            self.blank()?;
            self.requirement(group.id, group.requirement)?;
            for (case, findings) in &group.cases {
                self.case(case, findings)?;
            }
        }
        Ok(())
    }

    fn requirement(&mut self, id: &str, requirement: Option<&RequirementRecord>) -> io::Result<()> {
        let id = if id.is_empty() { "(no requirement named)" } else { id };
        let id = self.paint(verdict_style(Verdict::Fail).bold(), &printable::short(id, 60));
        match requirement {
            None => writeln!(self.out, "  {id}"),
            Some(r) => {
                let place = format!("{}, level {}, section {}", r.keyword, r.level, r.section);
                writeln!(self.out, "  {id}  {}", printable::line(&place))?;
                self.paragraph(2, &printable::short(&r.summary, 600), PLAIN)
            }
        }
    }

    fn case(&mut self, case: &CaseRecord, findings: &[&FindingRecord]) -> io::Result<()> {
        self.whole(4, "", 0, &printable::short(&case.id, 300), BOLD)?;
        for finding in findings.iter().take(FINDINGS_IN_FULL) {
            self.value("expected", &finding.expected, PLAIN)?;
            self.value("observed", printable::first_line(&finding.observed), verdict_style(finding.verdict))?;
            if !finding.note.is_empty() {
                self.value("note", &finding.note, PLAIN)?;
            }
        }
        if findings.is_empty() && !case.because.is_empty() {
            self.value("because", &case.because, PLAIN)?;
        }
        if findings.len() > FINDINGS_IN_FULL {
            let rest = findings.len() - FINDINGS_IN_FULL;
            self.value("", &format!("and {rest} more of this case"), FAINT)?;
        }
        for edit in &case.edits {
            self.value("edited", &edit.edit, PLAIN)?;
        }
        if let Some(exchange) = view::shown_by(case, findings.first().copied()) {
            self.exchange(exchange)?;
        }
        self.whole(6, "replay", 10, &printable::short(&case.replay, 2000), PLAIN)
    }

    fn value(&mut self, label: &str, text: &str, style: Style) -> io::Result<()> {
        self.field(6, label, 10, &printable::short(text, VALUE_LENGTH), style)
    }

    fn exchange(&mut self, exchange: &Exchange) -> io::Result<()> {
        self.whole(6, "request", 10, &view::request_line(exchange), PLAIN)?;
        self.field(6, "answer", 10, &view::answer_line(exchange), PLAIN)?;
        match view::refusal_text(exchange) {
            Some(text) => self.field(6, "", 10, &text, PLAIN),
            None => Ok(()),
        }
    }

    fn undecided(&mut self, protocol: &ProtocolRecord, known: &BTreeSet<&str>) -> io::Result<()> {
        let groups = view::undecided(protocol, known);
        let number: usize = groups.iter().map(|(_, _, cases)| cases.len()).sum();
        if number == 0 {
            return Ok(());
        }
        self.heading(&format!("UNDECIDED: {}", printable::count(number, "case", "cases")))?;
        let shown = if self.verbose { groups.len() } else { CAUSES_SHOWN };
        let rest = groups.len().saturating_sub(shown);
        for (verdict, reason, cases) in groups.into_iter().take(shown) {
            let reason = printable::short(&reason, VALUE_LENGTH);
            let number = printable::count(cases.len(), "case", "cases");
            self.paragraph(2, &format!("{} ({number}): {reason}", verdict.word()), verdict_style(verdict))?;
            let shown = if self.verbose { cases.len() } else { IDS_NAMED };
            for case in cases.iter().take(shown) {
                self.whole(4, "", 0, &printable::short(&case.id, 300), PLAIN)?;
            }
            if cases.len() > shown {
                self.paragraph(4, &format!("and {} more", cases.len() - shown), FAINT)?;
            }
        }
        if rest > 0 {
            self.paragraph(2, &format!("and {rest} more reasons (--verbose)"), FAINT)?;
        }
        for feature in protocol.features.iter().filter(|feature| has_advice(feature)) {
            self.hint(2, 8, feature)?;
        }
        Ok(())
    }

    fn hint(&mut self, indent: usize, column: usize, feature: &FeatureRecord) -> io::Result<()> {
        let label = printable::short(&feature.feature, 30);
        let advice = printable::short(&feature.advice, VALUE_LENGTH);
        self.field(indent, "hint", column, &format!("{label}: {advice}"), PLAIN)
    }

    fn warnings(&mut self, protocol: &ProtocolRecord) -> io::Result<()> {
        let groups = view::unmet_requirements(protocol, Verdict::Warn);
        if groups.is_empty() {
            return Ok(());
        }
        let number = printable::count(groups.len(), "requirement", "requirements");
        self.heading(&format!("WARNINGS: {number}"))?;
        let ids = groups.iter().map(|group| printable::width(&printable::short(group.id, 40))).max().unwrap_or(0);
        for group in groups {
            let keyword = group.requirement.map_or("", |r| r.keyword.as_str());
            let cases = printable::count(group.cases.len(), "case", "cases");
            let lead = format!("{:ids$}  {:10} {cases:9}", printable::short(group.id, 40), printable::line(keyword));
            let summary = group.requirement.map_or("", |r| r.summary.as_str());
            let room = self.width.saturating_sub(printable::width(&lead) + 4);
            let summary = clip(&printable::short(summary, 200), room);
            writeln!(self.out, "{}", format!("  {lead}  {summary}").trim_end())?;
        }
        Ok(())
    }

    /// Waivers are always printed, so that they are not forgotten.
    fn waivers(&mut self, protocol: &ProtocolRecord) -> io::Result<()> {
        let (stale, applied): (Vec<_>, Vec<_>) = protocol.waivers.iter().partition(|w| w.stale.is_some());
        if !stale.is_empty() {
            self.heading(&format!("STALE: {}", printable::count(stale.len(), "waiver", "waivers")))?;
        }
        for waiver in stale {
            let why = waiver.stale.as_deref().unwrap_or_default();
            let what = printable::short(&waiver.what, 120);
            let text = format!("{what}: {} ({})", printable::short(why, 200), printable::short(&waiver.at, 200));
            self.paragraph(2, &text, verdict_style(Verdict::Fail))?;
        }
        if !applied.is_empty() {
            self.heading(&format!("WAIVED: {}", applied.len()))?;
        }
        for waiver in applied {
            let what = printable::short(&waiver.what, 120);
            self.paragraph(2, &format!("{what}: {}", printable::short(&waiver.reason, 200)), PLAIN)?;
        }
        Ok(())
    }

    /// Known failures are always printed, so that they are not forgotten.
    fn baseline(&mut self, record: &RunRecord) -> io::Result<()> {
        let Some(heading) = baseline::heading(record) else { return Ok(()) };
        self.heading(&format!("BASELINE: {heading}"))?;
        for line in baseline::lines(record) {
            let style = match line.label {
                "expired" | "stale" | "not run" => verdict_style(Verdict::Fail),
                _ => PLAIN,
            };
            self.field(2, line.label, 9, &line.text, style)?;
        }
        Ok(())
    }

    fn not_run(&mut self, protocol: &ProtocolRecord) -> io::Result<()> {
        let counts = view::not_run(protocol);
        if counts.is_empty() {
            return Ok(());
        }
        let counts: Vec<_> = counts.iter().map(|(word, n)| format!("{n} {word}")).collect();
        self.block()?;
        self.field(0, "not run", 10, &counts.join(", "), FAINT)?;
        if self.verbose {
            let mut reasons: BTreeMap<(Option<NotRun>, &str), Vec<&str>> = BTreeMap::new();
            for case in protocol.cases.iter().filter(|case| case.verdict == Verdict::NotRun) {
                reasons.entry((case.reason, &case.because)).or_default().push(&case.id);
            }
            for ((reason, because), ids) in reasons {
                let number = printable::count(ids.len(), "case", "cases");
                let colon = if because.is_empty() { "" } else { ": " };
                let why = format!("{number}{colon}{}", printable::short(because, VALUE_LENGTH));
                self.field(2, reason.map_or("", NotRun::word), 16, &why, FAINT)?;
                for id in ids {
                    self.whole(4, "", 0, &printable::short(id, 300), PLAIN)?;
                }
            }
            self.in_block = false;
        }
        Ok(())
    }

    fn totals(&mut self, record: &RunRecord) -> io::Result<()> {
        let summary = &record.summary;
        let rows = summary.cases.rows();
        let total: u64 = rows.iter().map(|(_, n)| n).sum();
        let counts: Vec<_> = rows.iter().filter(|(_, n)| *n > 0).map(|(verdict, n)| format!("{n} {verdict}")).collect();
        let counts = if counts.is_empty() { "none".to_owned() } else { counts.join(", ") };
        self.block()?;
        if let Some(why) = summary.cut_short.as_ref().filter(|_| !view::is_unready(record)) {
            let why = printable::short(why, VALUE_LENGTH);
            self.field(0, "cut short", 10, &why, verdict_style(Verdict::Error))?;
        }
        self.field(0, "cases", 10, &format!("{total}: {counts}"), PLAIN)?;
        let is_listed = self.verbose || summary.cases.fail == 0;
        let transports = if is_listed { view::by_transport(&record.protocols) } else { Vec::new() };
        let width = transports.iter().map(|(transport, _)| transport.len() + 1).max().unwrap_or(0).clamp(8, 24);
        for (transport, counts) in transports {
            self.field(2, &printable::short(&transport, 60), width, &counts, FAINT)?;
        }
        let took = printable::duration(summary.elapsed_ms);
        self.field(0, "requests", 10, &format!("{} in {took}", summary.requests), PLAIN)?;
        if let Some(retried) = view::retried(record) {
            self.field(0, "retried", 10, &printable::short(&retried, VALUE_LENGTH), PLAIN)?;
        }
        let conclusion = format!("{} (exit {})", printable::short(&summary.conclusion, 400), summary.exit_code);
        let verdict = if summary.exit_code == 0 { Verdict::Pass } else { Verdict::Fail };
        self.field(0, "result", 10, &conclusion, verdict_style(verdict).bold())?;
        for line in &summary.advice {
            self.field(0, "", 10, &printable::short(line, VALUE_LENGTH), PLAIN)?;
        }
        Ok(())
    }
}

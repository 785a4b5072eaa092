//! Names the known mistakes that failures come from.

use std::collections::BTreeMap;

use crate::protocol::Failure;
use crate::record::{CaseRecord, FindingRecord, MistakeRecord};
use crate::verdict::Verdict;
use crate::walk::Context;

/// Writes down the mistake behind each failure that shows one, or that one which others show explains. `context_of` is the
/// context of the case at a position.
pub(super) fn name<'c, 'p: 'c>(cases: &mut [CaseRecord], context_of: impl Fn(usize) -> &'c Context<'p>) {
    let failed: Vec<(usize, usize)> = cases
        .iter()
        .enumerate()
        .filter(|(_, case)| case.verdict == Verdict::Fail)
        .flat_map(|(at, case)| case.findings.iter().enumerate().map(move |(finding, record)| (at, finding, record)))
        .filter(|(_, _, finding)| finding.verdict == Verdict::Fail)
        .map(|(at, finding, _)| (at, finding))
        .collect();
    let Some((first, _)) = failed.first() else { return };
    let Some(diagnosis) = context_of(*first).plan.knowledge.protocol.diagnosis() else { return };
    let failures: Vec<Option<Failure<'_>>> =
        failed.iter().map(|(at, finding)| failure(&cases[*at], *finding, context_of(*at))).collect();
    let candidates: Vec<Vec<String>> = failures
        .iter()
        .map(|failure| failure.as_ref().map(|failure| diagnosis.mistakes(failure)).unwrap_or_default())
        .collect();
    let (likeliest, named) = likeliest(&candidates);
    let mistake_of = |(failure, shown): (&Option<Failure<'_>>, Option<&String>)| {
        // One that more failures show comes first, if it explains this one as well.
        let commoner = named.iter().copied().take_while(|mistake| Some(*mistake) != shown);
        let commoner = failure.as_ref().and_then(|failure| {
            let mut commoner = commoner.filter(|mistake| diagnosis.explains(mistake, failure));
            commoner.next()
        });
        Some(MistakeRecord { text: commoner.or(shown)?.clone(), follows: shown.is_none() })
    };
    let mistakes: Vec<Option<MistakeRecord>> = failures.iter().zip(likeliest).map(mistake_of).collect();
    for ((at, finding), mistake) in failed.into_iter().zip(mistakes) {
        cases[at].findings[finding].mistake = mistake;
    }
}

/// A failure with the exchange that shows it; `None` if none does.
fn failure<'a>(case: &'a CaseRecord, finding: usize, context: &'a Context<'_>) -> Option<Failure<'a>> {
    let FindingRecord { path, observed, exchange, .. } = &case.findings[finding];
    let exchange = match exchange {
        Some(at) => case.exchanges.get(*at)?,
        None => case.exchanges.last()?,
    };
    Some(Failure { path, observed, exchange, context: context.observation_context(case.transport) })
}

/// For each failure the one of its candidates that explains most failures, and those mistakes, the one behind most failures
/// first. Of two that explain as many, the likelier one of the first failure.
fn likeliest(candidates: &[Vec<String>]) -> (Vec<Option<&String>>, Vec<&String>) {
    let mut chosen: Vec<Option<&String>> = vec![None; candidates.len()];
    let mut named = Vec::new();
    loop {
        let open = || candidates.iter().zip(&chosen).filter(|(_, chosen)| chosen.is_none()).map(|(all, _)| all);
        let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
        open().flatten().for_each(|candidate| *counts.entry(candidate).or_default() += 1);
        let Some(most) = counts.values().max() else { return (chosen, named) };
        let Some(best) = open().flatten().find(|candidate| counts.get(candidate) == Some(most)) else {
            return (chosen, named);
        };
        for (chosen, all) in chosen.iter_mut().zip(candidates) {
            if chosen.is_none() && all.contains(best) {
                *chosen = Some(best);
            }
        }
        named.push(best);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::Transport::Http;
    use crate::judge::testing::{Run, answered, found, getting, knowledge};

    #[test]
    fn the_mistake_that_explains_most_failures_is_named() {
        let all = [&["a", "b"][..], &["b"], &[], &["c"], &["a", "b"], &["d", "c"]];
        let all: Vec<Vec<String>> = all.map(|names| names.iter().map(ToString::to_string).collect()).into();
        let (chosen, named) = likeliest(&all);
        let chosen: Vec<&str> = chosen.into_iter().map(|name| name.map_or("", String::as_str)).collect();
        assert_eq!(chosen, ["b", "b", "", "c", "b", "c"]);
        assert_eq!(named, ["b", "c"]);
    }

    #[test]
    fn of_two_that_explain_as_many_the_likelier_is_named() {
        let all: Vec<Vec<String>> = vec![vec!["z".to_owned(), "a".to_owned()]; 2];
        assert_eq!(likeliest(&all).1, ["z"]);
    }

    #[test]
    fn failures_name_the_mistake_that_they_show_or_that_a_commoner_one_explains() {
        // What each case shows, what explains it, and the mistake that the record names.
        let rows = [
            ("first", Some("common"), None, Some(("common", false))),
            ("second", Some("common"), None, Some(("common", false))),
            ("third", Some("rare"), None, Some(("rare", false))),
            ("explained", Some("odd"), Some("common"), Some(("common", false))),
            ("follows", None, Some("rare"), Some(("rare", true))),
            ("unknown", None, None, None),
        ];
        let cases: String = rows.iter().map(|(name, ..)| getting(name, "covers: [T-1]")).collect();
        let must = "MUST, level: L0, testable: both";
        let knowledge = knowledge("", &[("T-1", must)], &cases);
        let record = Run::new(&knowledge, &[Http]).judge(|ready| {
            let (_, mistake, explained, _) = rows.iter().find(|(name, ..)| *name == ready.case.name.value)?;
            let mut transcript = answered(ready, 500);
            let fields = [("mistake", mistake), ("explained-by", explained)];
            let fields = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), (*value)?.to_owned())));
            transcript.exchanges[0].received.headers.extend(fields);
            Some(transcript)
        });
        for (name, _, _, expected) in rows {
            let mistake = found(&record, name).findings[0].mistake.as_ref();
            assert_eq!(mistake.map(|mistake| (mistake.text.as_str(), mistake.follows)), expected, "{name}");
        }
    }

    #[test]
    fn a_warning_names_no_mistake() {
        let cases = getting("of-both", "covers: [T-1, T-2]") + &getting("advised", "covers: [T-2]");
        let requirements = [("T-1", "MUST, level: L0, testable: both"), ("T-2", "SHOULD, level: L0, testable: both")];
        let knowledge = knowledge("", &requirements, &cases);
        let record = Run::new(&knowledge, &[Http]).judge(|ready| {
            let mut transcript = answered(ready, 500);
            transcript.exchanges[0].received.headers.push(("mistake".to_owned(), "common".to_owned()));
            Some(transcript)
        });
        let named = |name: &str| {
            let findings = found(&record, name).findings.iter();
            findings.map(|finding| (finding.verdict, finding.mistake.is_some())).collect::<Vec<_>>()
        };
        assert_eq!(named("of-both"), [(Verdict::Fail, true), (Verdict::Warn, false)]);
        assert_eq!(named("advised"), [(Verdict::Warn, false)]);
    }
}

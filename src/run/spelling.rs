//! Runs the cases that failed in other spellings again, to tell on which spelling the failure depends.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::runner::Runner;
use crate::judge::{self, Gate, Swept};
use crate::plan::ReadyCase;
use crate::spelling::{self, CaseSpelling, Kind, Spellings};
use crate::verdict::Verdict;
use crate::walk::{CaseTranscript, Context, Transcript};

/// Number of cases that are looked at, and how long that may take.
const MOST: usize = 100;
const TIME: Duration = Duration::from_secs(60);

/// The number of the first repetition; retries have smaller ones.
const FIRST: u64 = 100;

impl Runner<'_> {
    /// On which spelling the failure of a case depends, in words, by its position in the plan. Cases that fail in the plain
    /// spelling as well are left out: theirs depends on none.
    pub async fn spellings_that_fail(&self, context: &Context<'_>, transcript: &Transcript) -> BTreeMap<usize, String> {
        let begun = Instant::now();
        let mut found = BTreeMap::new();
        let mut known: Vec<Kind> = Vec::new();
        let failed = |index: &usize| {
            let case = transcript.cases.get(*index).and_then(Option::as_ref);
            case.is_some_and(|case| !violated(context, &context.plan.cases[*index], case).is_empty())
        };
        let spelled = context.plan.cases.iter().enumerate().filter(|(_, ready)| ready.spelling.is_some());
        let indices: Vec<usize> = spelled.map(|(index, _)| index).filter(failed).take(MOST).collect();
        for index in indices {
            if begun.elapsed() > TIME {
                break;
            }
            let ready = &context.plan.cases[index];
            let (Some(case), Some(spelling)) = (transcript.cases[index].as_ref(), &ready.spelling) else { continue };
            let requirements = violated(context, ready, case);
            let mut repeats = Repeats { runner: self, context, ready, requirements, count: 0 };
            if repeats.fails(None).await {
                continue;
            }
            found.insert(index, repeats.dependence(spelling, &mut known).await);
        }
        found
    }
}

/// The requirements that a case violated.
fn violated(context: &Context<'_>, ready: &ReadyCase<'_>, case: &CaseTranscript) -> Vec<String> {
    let record = judge::case(context, ready, &Gate::Open, Some(case), &Swept::default(), None);
    let violations = record.findings.into_iter().filter(|found| found.verdict == Verdict::Fail && !found.strict_only);
    violations.map(|found| found.requirement).collect()
}

/// Repetitions of one case, each on new identities.
struct Repeats<'r, 'c> {
    runner: &'r Runner<'r>,
    context: &'c Context<'c>,
    ready: &'c ReadyCase<'c>,
    requirements: Vec<String>,
    count: u64,
}

impl Repeats<'_, '_> {
    /// Whether the case violates one of the same requirements in a spelling.
    async fn fails(&mut self, spelling: Option<CaseSpelling>) -> bool {
        let mut ready = self.ready.clone();
        ready.spelling = spelling;
        let case = self.runner.case_once(self.context, &ready, None, FIRST + self.count).await;
        self.count += 1;
        let violated = violated(self.context, &ready, &case);
        self.runner.released(case.exchanges.iter().chain(&case.twin));
        violated.iter().any(|requirement| self.requirements.contains(requirement))
    }

    /// In words, on which spellings the failure depends. `known` holds the kinds that explained others.
    async fn dependence(&mut self, spelling: &CaseSpelling, known: &mut Vec<Kind>) -> String {
        let CaseSpelling { spellings, key } = spelling;
        let with = |spellings: Spellings| Some(CaseSpelling { spellings, key: key.clone() });
        let others = spellings.kinds.iter().filter(|kind| !known.contains(kind));
        let kinds: Vec<Kind> =
            known.iter().chain(others).copied().filter(|kind| spellings.kinds.contains(kind)).collect();
        // The same messages as before, each without the other kinds.
        for kind in &kinds {
            if self.fails(with(spellings.only([*kind]))).await {
                if !known.contains(kind) {
                    known.push(*kind);
                }
                return format!("only in this spelling: {}", kind.name());
            }
        }
        let mut left = kinds;
        if !self.fails(with(spellings.clone())).await {
            return "it passed when it ran again, both in the plain spelling and in the same one".to_owned();
        }
        for kind in left.clone() {
            let fewer: Vec<Kind> = left.iter().copied().filter(|other| *other != kind).collect();
            if self.fails(with(spellings.only(fewer.iter().copied()))).await {
                left = fewer;
            }
        }
        format!("only in these spellings: {}", spelling::names(left))
    }
}

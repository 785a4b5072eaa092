//! Retries, alone, the cases that failed after waiting.
//!
//! Among many concurrent cases a correct answer can be late because the machine is busy. A case passes if two retries pass;
//! otherwise its first failure stands. A target that loses answers at random can pass so, and the reports name the case.

use std::time::{Duration, Instant};

use super::runner::Runner;
use crate::judge;
use crate::verdict::Verdict;
use crate::walk::{CaseTranscript, Context, Transcript};

/// The shortest time, in milliseconds, of a case whose failure may come from a timeout.
const WAITED_MS: u64 = 400;

/// Number of retries that must pass.
const PASSES: u64 = 2;

/// Number of failed retries after which no other case is retried.
const FAILED_AGAIN: usize = 6;

/// Number of such cases from which on they may have failed because the target had too much to do at once.
const SEVERAL: usize = 3;

/// The longest time that such a target has to finish before the retries.
const REST: Duration = Duration::from_secs(10);

/// Time without a case that passes after which no other case is retried.
const TIME: Duration = Duration::from_secs(30);

/// Time after which no other case is retried, even at a target that passes alone what it fails among others.
const LONGEST: Duration = Duration::from_secs(180);

impl Runner<'_> {
    /// Retries the cases that failed after waiting, the shortest first, and replaces the transcripts of those that pass.
    pub(super) async fn retry(&self, context: &Context<'_>, transcript: &mut Transcript) {
        let ran = transcript.cases.iter().flatten().count();
        if !self.retries || ran < 2 {
            return;
        }
        let waited = |index: &usize| {
            let case = transcript.cases[*index].as_ref();
            let failed = |case| matches!(self.verdict(context, *index, case), Verdict::Fail | Verdict::Error);
            case.is_some_and(|case| case.elapsed_ms >= WAITED_MS && failed(case))
        };
        let mut waited: Vec<usize> = (0..transcript.cases.len()).filter(waited).collect();
        waited.sort_by_key(|index| transcript.cases[*index].as_ref().map(|case| case.elapsed_ms));
        if waited.len() >= SEVERAL {
            // The target may still work on what the concurrent cases left.
            let longest =
                waited.iter().filter_map(|index| transcript.cases[*index].as_ref()).map(|case| case.elapsed_ms);
            let longest = Duration::from_millis(longest.max().unwrap_or_default());
            tokio::time::sleep(REST.min(longest * 2)).await;
        }
        let begun = Instant::now();
        let mut passed_last = begun;
        let mut failed_again = 0;
        for index in waited {
            if failed_again == FAILED_AGAIN || passed_last.elapsed() >= TIME || begun.elapsed() >= LONGEST {
                return;
            }
            if self.passes_alone(context, index, &mut transcript.cases[index]).await {
                passed_last = Instant::now();
            } else {
                failed_again += 1;
            }
        }
    }

    /// Retries one case, and replaces its transcript if all retries pass.
    async fn passes_alone(&self, context: &Context<'_>, index: usize, first: &mut Option<CaseTranscript>) -> bool {
        for retry in 1..=PASSES {
            let mut case = self.case_once(context, &context.plan.cases[index], None, retry).await;
            let passed = matches!(self.verdict(context, index, &case), Verdict::Pass | Verdict::Warn);
            if let Some(first) = first.as_mut().filter(|_| passed && retry == PASSES) {
                std::mem::swap(first, &mut case);
            }
            // What is left in `case` is dropped.
            self.released(case.exchanges.iter().chain(&case.twin));
            if !passed {
                return false;
            }
        }
        true
    }

    fn verdict(&self, context: &Context<'_>, index: usize, case: &CaseTranscript) -> Verdict {
        judge::case_that_ran(context, index, case, &self.walks).verdict
    }
}

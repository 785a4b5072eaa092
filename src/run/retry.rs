//! Cases that failed after a wait in vain are tried again, alone.
//!
//! Among many concurrent cases an answer can come too late because the machine is busy, and the target is not to blame. A case
//! that passes twice alone passes; otherwise its first failure stands.

use std::time::{Duration, Instant};

use super::runner::Runner;
use crate::judge::{self, Gate, Swept};
use crate::verdict::Verdict;
use crate::walk::{CaseTranscript, Context, Transcript};

/// A case that took less has not waited in vain, in milliseconds.
const WAITED_MS: u64 = 400;

/// How often a case must pass alone.
const PASSES: u64 = 2;

/// How many cases may fail again, until the failures are the target's.
const FAILED_AGAIN: usize = 6;

/// How long cases are tried again.
const TIME: Duration = Duration::from_secs(20);

impl Runner<'_> {
    /// Tries the cases again that failed after a wait, the shortest first, and replaces what was recorded of those that pass.
    pub(super) async fn retry(&self, context: &Context<'_>, transcript: &mut Transcript) {
        let ran = transcript.cases.iter().flatten().count();
        if !self.retries || ran < 2 {
            return;
        }
        let waited = |index: &usize| {
            let case = transcript.cases[*index].as_ref();
            let failed = |case| matches!(verdict(context, *index, case), Verdict::Fail | Verdict::Error);
            case.is_some_and(|case| case.elapsed_ms >= WAITED_MS && failed(case))
        };
        let mut waited: Vec<usize> = (0..transcript.cases.len()).filter(waited).collect();
        waited.sort_by_key(|index| transcript.cases[*index].as_ref().map(|case| case.elapsed_ms));
        let begun = Instant::now();
        let mut failed_again = 0;
        for index in waited {
            if failed_again == FAILED_AGAIN || begun.elapsed() >= TIME {
                return;
            }
            let mut last = None;
            for retry in 1..=PASSES {
                let case = self.case_once(context, &context.plan.cases[index], retry).await;
                last = matches!(verdict(context, index, &case), Verdict::Pass | Verdict::Warn).then_some(case);
                if last.is_none() {
                    failed_again += 1;
                    break;
                }
            }
            if last.is_some()
                && let Some(first) = std::mem::replace(&mut transcript.cases[index], last)
            {
                self.released(first.exchanges.iter().chain(&first.twin));
            }
        }
    }
}

fn verdict(context: &Context<'_>, index: usize, case: &CaseTranscript) -> Verdict {
    judge::case(context, &context.plan.cases[index], &Gate::Open, Some(case), &Swept::default(), None).verdict
}

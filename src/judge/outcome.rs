//! What a walk found, written into the record of its case.

use crate::record::CaseRecord;
use crate::verdict::Verdict;
use crate::walk::Judged;

/// Copies the result of a walk to the record of its case.
pub(super) fn write_down(judged: Judged, record: &mut CaseRecord) {
    record.findings = judged.findings;
    record.readings = judged.readings;
    record.edits = judged.edits;
    record.outcomes = judged.outcomes;
    record.because = judged.because;
    record.reason = judged.reason;
    record.verdict = record.outcomes.values().copied().max().unwrap_or(Verdict::NotRun);
}

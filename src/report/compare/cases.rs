//! One case in several records.

use serde::Serialize;

use super::change::Side;
use crate::record::{CaseRecord, RunRecord};
use crate::report::cause::{Reason, reasons};
use crate::verdict::{NotRun, Verdict};

/// A case, and what each record says of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CaseAcross {
    /// Its id.
    pub case: String,
    /// One entry for each record, in the order of the records.
    pub records: Vec<AtTarget>,
}

/// What one record says of a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AtTarget {
    /// The file.
    pub file: String,
    /// The name of the target.
    pub target: String,
    /// The verdict; `None` if the record does not contain the case.
    pub verdict: Option<Verdict>,
    /// Why it did not run, if it did not.
    pub not_run: Option<NotRun>,
    /// Why it failed or was not decided.
    pub causes: Vec<Reason>,
    /// The explanation of the record.
    pub because: String,
}

/// Each case of the records whose id is chosen, in the order in which the records first name them.
pub fn across(records: &[(&str, &RunRecord)], is_chosen: impl Fn(&str) -> bool) -> Vec<CaseAcross> {
    let mut ids: Vec<&str> = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for (_, record) in records {
        let cases = record.protocols.iter().flat_map(|protocol| &protocol.cases);
        ids.extend(cases.map(|case| case.id.as_str()).filter(|id| is_chosen(id) && seen.insert(*id)));
    }
    let indices: Vec<std::collections::BTreeMap<&str, &CaseRecord>> = records
        .iter()
        .map(|(_, record)| {
            let cases = record.protocols.iter().flat_map(|protocol| &protocol.cases);
            cases.map(|case| (case.id.as_str(), case)).filter(|(id, _)| seen.contains(id)).collect()
        })
        .collect();
    let at_target = |position: usize, id: &str| {
        let (file, record) = records[position];
        let found = indices[position].get(id);
        let side = Side::of(file, record);
        AtTarget {
            file: side.file,
            target: side.target,
            verdict: found.map(|case| case.verdict),
            not_run: found.and_then(|case| case.reason),
            causes: found.map(|case| reasons(case)).unwrap_or_default(),
            because: found.map(|case| case.because.clone()).unwrap_or_default(),
        }
    };
    ids.into_iter()
        .map(|id| CaseAcross { case: id.to_owned(), records: (0..records.len()).map(|at| at_target(at, id)).collect() })
        .collect()
}

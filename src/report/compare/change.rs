//! The differences between two records.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::record::{CaseRecord, ProtocolRecord, RunRecord};
use crate::report::cause::{Reason, reasons};
use crate::verdict::{Grant, NotRun, Profile, Verdict};

/// What a case of two records is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Category {
    /// It fails or ends in an error, and did neither before.
    NewFailure,
    /// It fails or ends in an error as before, and for a cause that it did not have before. Also a new failure.
    ChangedCause,
    /// It passed or failed before, and is inconclusive or not run now.
    NoLongerDecided,
    /// It failed or ended in an error before, and passes now.
    Fixed,
    /// It fails or ends in an error as before.
    StillFailing,
    /// The new record does not contain it.
    Vanished,
    /// The old record does not contain it.
    Added,
    /// Its verdict changed in another way.
    OtherChange,
}

impl Category {
    /// Every category, in the order in which reports list them.
    pub const ALL: [Self; 8] = [
        Self::NewFailure,
        Self::ChangedCause,
        Self::NoLongerDecided,
        Self::Fixed,
        Self::StillFailing,
        Self::Vanished,
        Self::Added,
        Self::OtherChange,
    ];

    /// Its name in data.
    pub fn word(self) -> &'static str {
        match self {
            Self::NewFailure => "new-failure",
            Self::ChangedCause => "changed-cause",
            Self::NoLongerDecided => "no-longer-decided",
            Self::Fixed => "fixed",
            Self::StillFailing => "still-failing",
            Self::Vanished => "vanished",
            Self::Added => "added",
            Self::OtherChange => "other-change",
        }
    }

    /// Its heading in reports.
    pub fn title(self) -> &'static str {
        match self {
            Self::NewFailure => "New failures",
            Self::ChangedCause => "Failing for another cause",
            Self::NoLongerDecided => "No longer decided",
            Self::Fixed => "Fixed",
            Self::StillFailing => "Still failing",
            Self::Vanished => "Vanished",
            Self::Added => "Added",
            Self::OtherChange => "Other changes of verdict",
        }
    }

    /// Whether it is a new failure, so that the comparison fails.
    pub fn is_new_failure(self) -> bool {
        matches!(self, Self::NewFailure | Self::ChangedCause)
    }
}

/// One of the two records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Side {
    /// The file.
    pub file: String,
    /// The name of the target.
    pub target: String,
    /// Its kind.
    pub kind: &'static str,
    /// The seed of the run.
    pub seed: u64,
    /// Which findings counted.
    pub profile: Profile,
    /// Start of the run.
    pub started_at: String,
}

impl Side {
    /// The head of a record that was read from `file`.
    pub fn of(file: &str, record: &RunRecord) -> Self {
        Self {
            file: file.to_owned(),
            target: record.target.name.clone(),
            kind: record.target.kind.name(),
            seed: record.seed,
            profile: record.profile,
            started_at: record.started_at.clone(),
        }
    }
}

/// The differences between two records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Comparison {
    /// The old record.
    pub old: Side,
    /// The new record.
    pub new: Side,
    /// Differences between the runs that may explain differences between verdicts, a sentence each.
    pub notes: Vec<String>,
    /// Number of cases by category.
    pub totals: BTreeMap<&'static str, usize>,
    /// Number of cases that the selection of one of the runs left out. They are not compared.
    pub not_selected: usize,
    /// Number of cases with the same verdict, other than those that still fail.
    pub unchanged: usize,
    /// The differences in each protocol of either record.
    pub protocols: Vec<ProtocolComparison>,
    /// Exit code of the comparison: 1 if there is a new failure, else 0.
    pub exit_code: u8,
}

/// The differences in one protocol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProtocolComparison {
    /// Slug.
    pub protocol: String,
    /// Levels with another outcome.
    pub levels: Vec<LevelChange>,
    /// Requirements with another verdict.
    pub requirements: Vec<RequirementChange>,
    /// Cases, in the order of the new record; those that it does not contain come last.
    pub cases: Vec<CaseChange>,
}

/// A level with another outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LevelChange {
    /// Its name.
    pub level: String,
    /// The old outcome, if the old record has the level.
    pub old: Option<Grant>,
    /// The new outcome, if the new record has the level.
    pub new: Option<Grant>,
}

/// A requirement with another verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RequirementChange {
    /// Its id.
    pub requirement: String,
    /// The old verdict, if the old record has the requirement.
    pub old: Option<Verdict>,
    /// The new verdict, if the new record has the requirement.
    pub new: Option<Verdict>,
}

/// A case that changed, or that fails in both records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CaseChange {
    /// Its id.
    pub case: String,
    /// What it is.
    pub category: Category,
    /// The old verdict, if the old record has the case.
    pub old: Option<Verdict>,
    /// The new verdict, if the new record has the case.
    pub new: Option<Verdict>,
    /// Why it failed or was not decided before.
    pub was: Vec<Reason>,
    /// Why it fails or is not decided now.
    pub now: Vec<Reason>,
    /// The command that runs the case again.
    pub replay: String,
}

/// Compares two records, each with the name of its file.
pub fn compare(old: (&str, &RunRecord), new: (&str, &RunRecord)) -> Comparison {
    let (before, after) = (old.1, new.1);
    let mut slugs: Vec<&str> = after.protocols.iter().map(|protocol| protocol.protocol.as_str()).collect();
    let known: BTreeSet<&str> = slugs.iter().copied().collect();
    let vanished = before.protocols.iter().map(|protocol| protocol.protocol.as_str());
    slugs.extend(vanished.filter(|slug| !known.contains(slug)));
    let mut counts = Counts::default();
    let mut notes = notes(before, after);
    let mut protocols = Vec::new();
    for slug in slugs {
        let find = |record: &'_ RunRecord| record.protocols.iter().position(|protocol| protocol.protocol == slug);
        let was = find(before).map(|at| &before.protocols[at]);
        let is = find(after).map(|at| &after.protocols[at]);
        match (was, is) {
            (Some(was), Some(is)) if was.suite_hash != is.suite_hash => {
                notes.push(format!("the runs used different suites for {slug}"));
            }
            (None, Some(_)) => notes.push(format!("the old record does not contain {slug}")),
            (Some(_), None) => notes.push(format!("the new record does not contain {slug}")),
            _ => {}
        }
        protocols.push(compare_protocol(slug, was, is, &mut counts));
    }
    let is_failed = protocols.iter().flat_map(|protocol| &protocol.cases).any(|case| case.category.is_new_failure());
    Comparison {
        old: Side::of(old.0, before),
        new: Side::of(new.0, after),
        notes,
        totals: Category::ALL
            .into_iter()
            .map(|category| (category.word(), counts.categories.get(&category).copied().unwrap_or_default()))
            .collect(),
        not_selected: counts.not_selected,
        unchanged: counts.unchanged,
        protocols,
        exit_code: u8::from(is_failed),
    }
}

/// Differences between the runs that may explain differences between verdicts.
fn notes(before: &RunRecord, after: &RunRecord) -> Vec<String> {
    let mut notes = Vec::new();
    if before.profile != after.profile {
        notes.push(format!("the profile was {}, and is {}", before.profile.word(), after.profile.word()));
    }
    if (before.target.kind, &before.target.name) != (after.target.kind, &after.target.name) {
        notes.push("the targets have different names".to_owned());
    }
    if before.proofmark != after.proofmark {
        notes.push("the records are of different versions of proofmark".to_owned());
    }
    for (name, record) in [("old", before), ("new", after)] {
        if record.summary.cut_short.is_some() {
            notes.push(format!("the {name} run was cut short"));
        }
    }
    notes
}

#[derive(Default)]
struct Counts {
    categories: BTreeMap<Category, usize>,
    not_selected: usize,
    unchanged: usize,
}

fn compare_protocol(
    slug: &str,
    was: Option<&ProtocolRecord>,
    is: Option<&ProtocolRecord>,
    counts: &mut Counts,
) -> ProtocolComparison {
    let levels = pairs(
        was.map_or(&[][..], |protocol| &protocol.levels).iter().map(|level| (level.level.as_str(), level.outcome)),
        is.map_or(&[][..], |protocol| &protocol.levels).iter().map(|level| (level.level.as_str(), level.outcome)),
    );
    let verdicts = |protocol: Option<&ProtocolRecord>| -> Vec<(String, Verdict)> {
        let requirements = protocol.map_or(&[][..], |protocol| &protocol.requirements);
        requirements.iter().map(|requirement| (requirement.id.clone(), requirement.verdict)).collect()
    };
    let (old, new) = (verdicts(was), verdicts(is));
    let requirements = pairs(
        old.iter().map(|(id, verdict)| (id.as_str(), *verdict)),
        new.iter().map(|(id, verdict)| (id.as_str(), *verdict)),
    );
    let cases = pairs(by_id(was), by_id(is));
    let cases = cases.into_iter().filter_map(|(id, was, is)| change(id, was, is, counts)).collect();
    ProtocolComparison {
        protocol: slug.to_owned(),
        levels: levels
            .into_iter()
            .filter(|(_, old, new)| old != new)
            .map(|(level, old, new)| LevelChange { level: level.to_owned(), old, new })
            .collect(),
        requirements: requirements
            .into_iter()
            .filter(|(_, old, new)| old != new)
            .map(|(id, old, new)| RequirementChange { requirement: id.to_owned(), old, new })
            .collect(),
        cases,
    }
}

fn by_id(protocol: Option<&ProtocolRecord>) -> impl Iterator<Item = (&str, &CaseRecord)> {
    protocol.into_iter().flat_map(|protocol| &protocol.cases).map(|case| (case.id.as_str(), case))
}

/// The values of each name in both lists: those of the new list in its order, then those that only the old one has. The
/// first of several entries with one name counts.
fn pairs<'n, T: Clone>(
    old: impl Iterator<Item = (&'n str, T)>,
    new: impl Iterator<Item = (&'n str, T)>,
) -> Vec<(&'n str, Option<T>, Option<T>)> {
    let mut before: BTreeMap<&str, T> = BTreeMap::new();
    let mut order = Vec::new();
    for (name, value) in old {
        before.entry(name).or_insert_with(|| {
            order.push(name);
            value
        });
    }
    let mut seen = BTreeSet::new();
    let mut pairs: Vec<_> = new
        .filter(|(name, _)| seen.insert(*name))
        .map(|(name, value)| (name, before.get(name).cloned(), Some(value)))
        .collect();
    let only_old = order.into_iter().filter(|name| !seen.contains(name));
    pairs.extend(only_old.map(|name| (name, before.get(name).cloned(), None)));
    pairs
}

fn is_failing(case: &CaseRecord) -> bool {
    matches!(case.verdict, Verdict::Fail | Verdict::Error)
}

fn change(id: &str, was: Option<&CaseRecord>, is: Option<&CaseRecord>, counts: &mut Counts) -> Option<CaseChange> {
    let selected = |case: &&CaseRecord| case.reason != Some(NotRun::NotSelected);
    let left_out = was.is_some_and(|case| !selected(&case)) || is.is_some_and(|case| !selected(&case));
    let (was, is) = (was.filter(selected), is.filter(selected));
    let causes = |case: Option<&CaseRecord>| case.map(reasons).unwrap_or_default();
    let decided = |case: &CaseRecord| matches!(case.verdict, Verdict::Pass | Verdict::Warn | Verdict::Fail);
    let category = match (was, is) {
        (Some(was), Some(is)) if is_failing(is) && is_failing(was) => {
            let before = causes(Some(was));
            let is_new = |cause: &Reason| !before.iter().any(|known| known.fingerprint == cause.fingerprint);
            if causes(Some(is)).iter().any(is_new) { Category::ChangedCause } else { Category::StillFailing }
        }
        (_, Some(is)) if is_failing(is) => Category::NewFailure,
        // The selection says nothing about the target.
        (None, _) | (_, None) if left_out => {
            counts.not_selected += 1;
            return None;
        }
        (None, None) => return None,
        (Some(_), None) => Category::Vanished,
        (None, Some(_)) => Category::Added,
        (Some(was), Some(is)) if was.verdict == is.verdict => {
            counts.unchanged += 1;
            return None;
        }
        (Some(was), Some(is)) if (decided(was) || is_failing(was)) && !decided(is) => Category::NoLongerDecided,
        (Some(was), Some(_)) if is_failing(was) => Category::Fixed,
        (Some(_), Some(_)) => Category::OtherChange,
    };
    *counts.categories.entry(category).or_default() += 1;
    Some(CaseChange {
        case: id.to_owned(),
        category,
        old: was.map(|case| case.verdict),
        new: is.map(|case| case.verdict),
        was: causes(was),
        now: causes(is),
        replay: is.map(|case| case.replay.clone()).unwrap_or_default(),
    })
}

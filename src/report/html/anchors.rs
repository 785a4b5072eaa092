//! Fragment ids on the page, and the links to requirements.

use std::collections::{BTreeMap, BTreeSet};

use super::badge::Badge;
use crate::record::{ProtocolRecord, RequirementRecord};
use crate::report::{printable, view};
use crate::verdict::Verdict;

/// A mention of a requirement on the page.
pub(super) struct RequirementLink {
    pub(super) id: String,
    /// Empty if the catalogue has no such entry.
    pub(super) anchor: String,
    pub(super) keyword: String,
    pub(super) level: String,
    pub(super) section: String,
    pub(super) summary: String,
    pub(super) badge: Option<Badge>,
}

/// Number of inconclusive cases of a protocol that have a place on the page. At a target that cannot do much there are
/// thousands, nearly all for the same reason.
const INCONCLUSIVE_LISTED: usize = 1_500;

/// Fragment ids: the original id as far as HTML allows, so that links stay valid in the next run.
pub(super) struct Anchors<'a> {
    /// The id of each case, or the empty string if it has no place on the page, and its verdict.
    pub(super) cases: BTreeMap<&'a str, (String, Verdict)>,
    pub(super) requirements: BTreeMap<&'a str, (String, usize)>,
}

impl<'a> Anchors<'a> {
    pub(super) fn new(protocol: &'a ProtocolRecord, taken: &mut BTreeSet<String>) -> Self {
        let mut fresh = |prefix: &str, id: &str| {
            let kept = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
            let mut name: String = id.chars().map(|c| if kept(c) { c } else { '-' }).take(120).collect();
            name.insert_str(0, prefix);
            while !taken.insert(name.clone()) {
                name.push_str("-again");
            }
            name
        };
        // A case that was not selected has no place on the page.
        let selected = protocol.cases.iter().filter(|case| !view::is_not_selected(case));
        let mut inconclusive = 0;
        let cases = selected.map(|case| {
            inconclusive += usize::from(case.verdict == Verdict::Inconclusive);
            let listed = case.verdict != Verdict::Inconclusive || inconclusive <= INCONCLUSIVE_LISTED;
            let anchor = if listed { fresh("case-", &case.id) } else { String::new() };
            (case.id.as_str(), (anchor, case.verdict))
        });
        let cases = cases.collect();
        let entries = protocol.requirements.iter().enumerate();
        let requirements = entries.map(|(at, r)| (r.id.as_str(), (fresh("req-", &r.id), at))).collect();
        Self { cases, requirements }
    }

    /// The id of a case; empty if it has no place on the page.
    pub(super) fn case(&self, id: &str) -> String {
        self.cases.get(id).map_or(String::new(), |(anchor, _)| anchor.clone())
    }

    pub(super) fn requirement(&self, protocol: &ProtocolRecord, id: &str, verdict: Option<Verdict>) -> RequirementLink {
        let known = self.requirements.get(id);
        let entry = known.and_then(|(_, at)| protocol.requirements.get(*at));
        let text = |of: fn(&RequirementRecord) -> &String, most| {
            entry.map_or(String::new(), |r| printable::short(of(r), most))
        };
        RequirementLink {
            id: printable::short(id, 100),
            anchor: known.map_or(String::new(), |(anchor, _)| anchor.clone()),
            keyword: text(|r| &r.keyword, 20),
            level: text(|r| &r.level, 30),
            section: text(|r| &r.section, 40),
            summary: text(|r| &r.summary, 1000),
            badge: verdict.map(Badge::verdict),
        }
    }
}

//! The filters above requirements and above findings, and what each item says about itself for them.

use std::collections::{BTreeMap, BTreeSet};

use crate::record::{CaseRecord, ProtocolRecord, RequirementRecord, RunRecord};
use crate::report::cause::{self, Cause};
use crate::report::{printable, view};
use crate::verdict::Verdict;

/// Values of one filter: causes and operations of a target that sends something else each time are without number.
const VALUES: usize = 200;
/// Characters of the label of a value.
const LABEL_LENGTH: usize = 70;

/// One group of values, any of which an item may have.
pub(super) struct Filter {
    pub(super) name: &'static str,
    pub(super) values: Vec<FilterValue>,
}

/// One value of a filter.
pub(super) struct FilterValue {
    pub(super) value: String,
    pub(super) label: String,
    /// The items that have it.
    pub(super) number: usize,
}

/// What a finding says about itself.
#[derive(Default)]
pub(super) struct Facets {
    pub(super) operation: String,
    pub(super) level: String,
    /// The keys of its causes, with a space between them.
    pub(super) causes: String,
}

/// The cases of a protocol by cause, and the levels of its requirements.
pub(super) struct Facetted<'a> {
    slug: String,
    by_case: BTreeMap<&'a str, Vec<usize>>,
    levels: BTreeMap<&'a str, &'a str>,
}

impl<'a> Facetted<'a> {
    pub(super) fn new(protocol: &'a ProtocolRecord, causes: &[Cause<'a>]) -> Self {
        let mut by_case: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (number, cause) in causes.iter().take(VALUES).enumerate() {
            for case in &cause.cases {
                by_case.entry(&case.id).or_default().push(number);
            }
        }
        let levels = protocol.requirements.iter().map(|found| (found.id.as_str(), found.level.as_str())).collect();
        Self { slug: printable::short(&protocol.protocol, 60), by_case, levels }
    }

    pub(super) fn of(&self, case: &CaseRecord) -> Facets {
        let telling = cause::telling(case);
        let requirement = telling.map(|finding| &finding.requirement).or(case.covers.first());
        let level = requirement.and_then(|id| self.levels.get(id.as_str())).copied().unwrap_or_default();
        let operation = view::shown_by(case, telling).map_or("", |exchange| exchange.operation.as_str());
        let keys = self.by_case.get(case.id.as_str()).into_iter().flatten().map(|number| key(&self.slug, *number));
        Facets {
            operation: printable::short(operation, 60),
            level: printable::short(level, 30),
            causes: keys.collect::<Vec<_>>().join(" "),
        }
    }
}

/// The key of a cause on the page.
pub(super) fn key(slug: &str, number: usize) -> String {
    let kept = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    format!("{}-{}", slug.chars().map(kept).collect::<String>(), number + 1)
}

/// The filters of findings.
pub(super) fn of_findings(record: &RunRecord, known: &BTreeSet<&str>) -> Vec<Filter> {
    let (mut verdicts, mut operations, mut levels) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let mut causes = Vec::new();
    for protocol in &record.protocols {
        let found = cause::causes(protocol, known);
        let facetted = Facetted::new(protocol, &found);
        let is_finding = |case: &&CaseRecord| !matches!(case.verdict, Verdict::Pass | Verdict::NotRun);
        for case in protocol.cases.iter().filter(is_finding) {
            let facets = facetted.of(case);
            *verdicts.entry(case.verdict.word().to_owned()).or_default() += 1;
            *operations.entry(facets.operation).or_default() += 1;
            *levels.entry(facets.level).or_default() += 1;
        }
        for (number, cause) in found.iter().take(VALUES).enumerate() {
            let of = if record.protocols.len() > 1 { format!("{} ", facetted.slug) } else { String::new() };
            causes.push(FilterValue {
                value: key(&facetted.slug, number),
                label: format!("{of}{}. {}", number + 1, printable::short(&cause.headline(), LABEL_LENGTH)),
                number: cause.cases.len(),
            });
        }
    }
    let listed = |numbers: BTreeMap<String, usize>| {
        let named = numbers.into_iter().filter(|(value, _)| !value.is_empty()).take(VALUES);
        named.map(|(value, number)| FilterValue { label: value.clone(), value, number }).collect::<Vec<_>>()
    };
    let all = [
        Filter { name: "verdict", values: listed(verdicts) },
        Filter { name: "cause", values: causes },
        Filter { name: "operation", values: listed(operations) },
        Filter { name: "level", values: listed(levels) },
    ];
    // A filter with one value divides nothing.
    all.into_iter().filter(|filter| filter.values.len() > 1).collect()
}

/// The filters of requirements.
pub(super) fn of_requirements(record: &RunRecord) -> Vec<Filter> {
    let verdicts = Verdict::ALL.map(Verdict::word);
    let keywords = ["MUST", "MUST NOT", "SHAPE", "SHOULD", "SHOULD NOT", "MAY"];
    let mut filters = vec![
        filter(record, "verdict", &verdicts, |_, r| r.verdict.word().to_owned()),
        filter(record, "keyword", &keywords, |_, r| printable::short(&r.keyword, 20)),
        filter(record, "level", &[], |_, r| printable::short(&r.level, 30)),
        filter(record, "coverage", &["covered", "gap"], |_, r| view::coverage(r).word().to_owned()),
    ];
    if record.protocols.len() > 1 {
        let protocols = filter(record, "protocol", &[], |p, _| printable::short(&p.protocol, 60));
        filters.insert(0, protocols);
    }
    filters
}

/// The values of `of`, with the number of requirements of each: first those in `order`, then the others by name.
fn filter(
    record: &RunRecord,
    name: &'static str,
    order: &[&str],
    of: fn(&ProtocolRecord, &RequirementRecord) -> String,
) -> Filter {
    let mut numbers: BTreeMap<(usize, String), usize> = BTreeMap::new();
    for protocol in &record.protocols {
        for requirement in &protocol.requirements {
            let value = of(protocol, requirement);
            let rank = order.iter().position(|known| *known == value).unwrap_or(order.len());
            *numbers.entry((rank, value)).or_default() += 1;
        }
    }
    let values = numbers.into_iter().map(|((_, value), number)| FilterValue { label: value.clone(), value, number });
    Filter { name, values: values.collect() }
}

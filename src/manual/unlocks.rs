//! What the methods of an adapter are needed for: the cases that call them, and the requirements that these cases decide.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::exchange::{TargetClass, Transport};
use crate::plan::{self, Knowledge, Selection};
use crate::target::Target;
use crate::verdict::NotRun;
use crate::walk::library_methods;

/// A case that can run at a library.
pub struct LibraryCase<'k> {
    /// The methods that the adapter must have for it.
    pub methods: BTreeSet<&'static str>,
    /// The requirements that it decides.
    pub covers: BTreeSet<&'k str>,
}

/// Numbers of cases and of requirements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    /// Cases.
    pub cases: usize,
    /// Requirements.
    pub requirements: usize,
}

/// The cases of a protocol that can run at a library.
pub fn library_cases(knowledge: &Knowledge) -> Vec<LibraryCase<'_>> {
    let mut target = Target::new(TargetClass::Adapter, "an adapter");
    target.adapter = Some(vec!["an adapter".to_owned()]);
    crate::protocol::complete(knowledge.protocol, &mut target);
    let plan = plan::build(knowledge, &target, &Selection::default());
    let at_library = plan.cases.iter().filter(|ready| {
        let unobservable = matches!(ready.skip, Some((NotRun::Unobservable, _)));
        ready.transport == Transport::Adapter && !unobservable
    });
    // The plan lives shorter than the data that it points into.
    let cases = at_library.filter_map(|ready| {
        let methods = library_methods(knowledge, ready.case)?;
        let ids: BTreeSet<_> = ready.covers.iter().map(|id| id.as_str()).collect();
        let requirements = knowledge.catalogue.requirements.iter().map(|requirement| requirement.id.value.as_str());
        Some(LibraryCase { methods, covers: requirements.filter(|id| ids.contains(id)).collect() })
    });
    cases.filter(|case| !case.methods.is_empty()).collect()
}

/// The cases that satisfy a condition.
pub fn count(cases: &[LibraryCase<'_>], is_wanted: impl Fn(&LibraryCase<'_>) -> bool) -> Count {
    let wanted: Vec<_> = cases.iter().filter(|case| is_wanted(case)).collect();
    let requirements: BTreeSet<_> = wanted.iter().flat_map(|case| &case.covers).collect();
    Count { cases: wanted.len(), requirements: requirements.len() }
}

/// The cases and requirements that need each method.
pub fn of_methods(cases: &[LibraryCase<'_>]) -> BTreeMap<&'static str, Count> {
    let methods: BTreeSet<_> = cases.iter().flat_map(|case| case.methods.iter().copied()).collect();
    methods.into_iter().map(|method| (method, count(cases, |case| case.methods.contains(method)))).collect()
}

/// What an adapter with some of the methods of a protocol can be judged by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Offer {
    /// The protocol.
    pub protocol: &'static str,
    /// What can run.
    pub unlocked: Count,
    /// What could run if the adapter had every method.
    pub possible: Count,
    /// The methods that the adapter has, with the cases and requirements that need each.
    pub offered: Vec<MethodCount>,
    /// The methods that it does not have, with the cases for which each is the only one missing; those that add most come first.
    pub missing: Vec<MethodCount>,
}

/// A method, with the cases and requirements that it stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MethodCount {
    /// The method.
    pub method: &'static str,
    /// The cases and requirements.
    #[serde(flatten)]
    pub count: Count,
}

/// What an adapter that offers these methods can be judged by.
pub fn offer(knowledge: &Knowledge, offered: &BTreeSet<&str>) -> Offer {
    let cases = library_cases(knowledge);
    let signatures = knowledge.protocol.library().map_or(&[][..], |library| library.methods);
    let counts = of_methods(&cases);
    let row = |method: &'static str, count: Count| MethodCount { method, count };
    let has = |method: &str| offered.contains(method);
    let alone = |method: &str| {
        count(&cases, |case| {
            let mut missing = case.methods.iter().filter(|name| !has(name));
            missing.next().is_some_and(|first| *first == method) && missing.next().is_none()
        })
    };
    let names = || signatures.iter().map(|signature| signature.method);
    let mut missing: Vec<_> = names().filter(|name| !has(name)).map(|name| row(name, alone(name))).collect();
    missing.sort_by_key(|row| std::cmp::Reverse(row.count.cases));
    Offer {
        protocol: knowledge.protocol.slug(),
        unlocked: count(&cases, |case| case.methods.iter().all(|method| has(method))),
        possible: count(&cases, |_| true),
        offered: names()
            .filter(|name| has(name))
            .map(|name| row(name, counts.get(name).copied().unwrap_or_default()))
            .collect(),
        missing,
    }
}

//! The operations (section 8), the level that each belongs to (section 11), and what this server declares (11.5).

use super::Rules;
use crate::json::{Object, Value};

/// How much of the protocol an implementation has; each level holds those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    L0,
    L1,
    L2,
    L3,
}

impl Level {
    pub(crate) const HIGHEST: Self = Self::L3;

    pub(crate) fn parse(name: &str) -> Option<Self> {
        [Self::L0, Self::L1, Self::L2, Self::L3].into_iter().find(|level| level.name() == name)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::L0 => "L0",
            Self::L1 => "L1",
            Self::L2 => "L2",
            Self::L3 => "L3",
        }
    }
}

/// Everything that can be asked of the server; names as in binding.md section 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    AssertFact,
    Awaiting,
    Deposit,
    Export,
    Flag,
    Import,
    InvalidateFact,
    Orchestrate,
    Orient,
    ProjectArchive,
    ProjectCreate,
    ProjectGet,
    ProjectList,
    ProjectRestore,
    PullLatest,
    PullRelevant,
    PullSpecific,
    QueryFacts,
    Sessions,
    Transition,
}

impl Operation {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::AssertFact => "assert-fact",
            Self::Awaiting => "awaiting",
            Self::Deposit => "deposit",
            Self::Export => "export",
            Self::Flag => "flag",
            Self::Import => "import",
            Self::InvalidateFact => "invalidate-fact",
            Self::Orchestrate => "orchestrate",
            Self::Orient => "orient",
            Self::ProjectArchive => "project-archive",
            Self::ProjectCreate => "project-create",
            Self::ProjectGet => "project-get",
            Self::ProjectList => "project-list",
            Self::ProjectRestore => "project-restore",
            Self::PullLatest => "pull-latest",
            Self::PullRelevant => "pull-relevant",
            Self::PullSpecific => "pull-specific",
            Self::QueryFacts => "query-facts",
            Self::Sessions => "sessions",
            Self::Transition => "transition",
        }
    }

    /// The lowest level that has the operation.
    pub(crate) fn level(self) -> Level {
        match self {
            // 11.1: reading. Orchestrate and search are optional there.
            Self::Export
            | Self::Orchestrate
            | Self::Orient
            | Self::ProjectGet
            | Self::ProjectList
            | Self::PullLatest
            | Self::PullRelevant
            | Self::PullSpecific
            | Self::QueryFacts
            | Self::Sessions => Level::L0,
            // 11.2: deposits, and what brings or hides them.
            Self::Deposit | Self::Import | Self::ProjectArchive | Self::ProjectCreate | Self::ProjectRestore => {
                Level::L1
            }
            // 11.3: mutable state.
            Self::AssertFact | Self::InvalidateFact => Level::L2,
            // 11.4: human checkpoints.
            Self::Awaiting | Self::Flag | Self::Transition => Level::L3,
        }
    }
}

/// 11.5: the conformance descriptor.
pub(crate) fn descriptor(rules: Rules) -> Object {
    let version = if rules.fault.is("descriptor-version-number") {
        crate::json::read(b"0.1").unwrap_or(Value::Null)
    } else {
        "0.1".into()
    };
    // 11.5: the declared level is the one that is implemented.
    let level = if rules.fault.is("descriptor-overclaims") { Level::L3 } else { rules.level };
    let search = rules.search || rules.fault.is("declares-search-without");
    let capabilities = Object::from([
        ("hybrid_search", search.into()),
        // Other, E29: both, as in the example of 11.5.
        ("semantic_search", (search && rules.variant.is_other()).into()),
        ("realtime", false.into()),
        ("blob_storage", false.into()),
    ]);
    // 10.2: each is true or false.
    let capabilities = if rules.fault.is("capabilities-in-words") {
        let word = |value: &Value| if *value == Value::Bool(true) { "yes" } else { "no" };
        capabilities.iter().map(|(name, value)| (name.to_owned(), word(value).into())).collect()
    } else {
        capabilities
    };
    // 11.5: one of four strings.
    let level = if rules.fault.is("descriptor-level-number") { 3.into() } else { level.name().into() };
    let name = Value::from("proofmark-reference");
    let release = Value::from(env!("CARGO_PKG_VERSION"));
    // 11.5: both are strings.
    let names = if rules.fault.is("implementation-in-lists") {
        [("name", Value::List(vec![name])), ("version", Value::List(vec![release]))]
    } else {
        [("name", name), ("version", release)]
    };
    let mut descriptor = Object::from([
        ("protocol_version", version),
        ("conformance_level", level),
        ("capabilities", capabilities.into()),
        ("implementation", Object::from(names).into()),
    ]);
    if rules.fault.is("descriptor-without-version") {
        descriptor.remove("protocol_version");
    }
    if rules.fault.is("descriptor-without-capabilities") {
        descriptor.remove("capabilities");
    }
    descriptor
}

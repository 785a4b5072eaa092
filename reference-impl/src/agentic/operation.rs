//! The operations (section 8), the level that each belongs to (section 11), and what this server declares (11.5).

use super::faults::operation as faults;
use super::level::Level;
use super::rules::Rules;
use crate::fault::planted;
use crate::json::{Object, Value};

/// The operations of the server; names as in binding.md section 3.
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
            // 11.2: deposits, and the operations that import or archive them.
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
    let mut version = Value::from("0.1");
    planted!(rules.fault, "descriptor-version-number", version = faults::version());
    // 11.5: the declared level is the implemented one.
    let level = if rules.fault.is("descriptor-overclaims") { Level::L3 } else { rules.level };
    let search = rules.search || rules.fault.is("declares-search-without");
    let mut capabilities = Object::from([
        ("hybrid_search", search.into()),
        // Other, E29: both, as in the example of 11.5.
        ("semantic_search", (search && rules.variant.is_other()).into()),
        ("realtime", false.into()),
        ("blob_storage", false.into()),
    ]);
    // 10.2: each is true or false.
    planted!(rules.fault, "capabilities-in-words", capabilities = faults::in_words(&capabilities));
    // 11.5: one of four strings.
    let level = if rules.fault.is("descriptor-level-number") { 3.into() } else { level.name().into() };
    // 11.5: both are strings.
    let names = ["proofmark-reference", env!("CARGO_PKG_VERSION")].map(Value::from);
    let listed = rules.fault.is("implementation-in-lists");
    let [name, release] = names.map(|text| if listed { Value::List(vec![text]) } else { text });
    let mut descriptor = Object::from([
        ("protocol_version", version),
        ("conformance_level", level),
        ("capabilities", capabilities.into()),
        ("implementation", Object::from([("name", name), ("version", release)]).into()),
    ]);
    planted!(rules.fault, "descriptor-without-version", descriptor.remove("protocol_version"));
    planted!(rules.fault, "descriptor-without-capabilities", descriptor.remove("capabilities"));
    descriptor
}

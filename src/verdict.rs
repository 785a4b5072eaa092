//! Verdicts: what a case, a requirement or a level came to (DESIGN section 3).
//!
//! Only words live here; how a verdict is reached is `judge`'s business.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What came of a case, and of a requirement over all of its cases.
///
/// The order is the order of severity: the worst of several verdicts is their maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The question was not put; a [`NotRun`] says why.
    NotRun,
    /// What the requirement demands was observed.
    Pass,
    /// A SHOULD or SHOULD NOT was not followed, or a point that only the strict profile counts was not met.
    Warn,
    /// The question was put, and the answer decides nothing.
    Inconclusive,
    /// proofmark could not put the question.
    Error,
    /// A MUST, MUST NOT or SHAPE was violated.
    Fail,
}

impl Verdict {
    /// Every verdict, in the order in which summaries print them.
    pub const ALL: [Self; 6] = [Self::Pass, Self::Warn, Self::Fail, Self::Inconclusive, Self::Error, Self::NotRun];

    /// The word used in data, reports and on the terminal.
    pub fn word(self) -> &'static str {
        match self {
            Self::NotRun => "not-run",
            Self::Pass => "pass",
            Self::Warn => "warn",
            Self::Inconclusive => "inconclusive",
            Self::Error => "error",
            Self::Fail => "fail",
        }
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.word())
    }
}

/// Why a question was not put.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NotRun {
    /// The target honestly does not offer the option, or does not claim the level.
    NotClaimed,
    /// The situation to judge never came up.
    NotExercised,
    /// The selection on the command line leaves it out.
    NotSelected,
    /// This kind of target cannot show it.
    Unobservable,
    /// The owner of the target set it aside, with a reason.
    Waived,
}

impl NotRun {
    /// The word used in data, reports and on the terminal.
    pub fn word(self) -> &'static str {
        match self {
            Self::NotClaimed => "not-claimed",
            Self::NotExercised => "not-exercised",
            Self::NotSelected => "not-selected",
            Self::Unobservable => "unobservable",
            Self::Waived => "waived",
        }
    }
}

impl std::fmt::Display for NotRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.word())
    }
}

/// Whether a level or profile was shown to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Grant {
    /// Each of its demands that this kind of target can show was seen to hold.
    Granted,
    /// At least one of its demands was violated.
    Refused,
    /// Nothing was violated, but at least one demand was not decided.
    Undecided,
}

impl Grant {
    /// The word used in data, reports and on the terminal.
    pub fn word(self) -> &'static str {
        match self {
            Self::Granted => "granted",
            Self::Refused => "refused",
            Self::Undecided => "undecided",
        }
    }
}

/// Which findings count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Every reading that the errata tolerate passes.
    #[default]
    Lenient,
    /// Only the ruling of the errata passes, and a SHOULD counts as a MUST.
    Strict,
}

impl Profile {
    /// The word used in data, reports and on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Lenient => "lenient",
            Self::Strict => "strict",
        }
    }
}

//! Verdicts of cases, requirements and levels (DESIGN section 3).
//!
//! This module only defines the values; `judge` decides them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The verdict of a case, or of a requirement over all of its cases.
///
/// The order is the order of severity: the worst of several verdicts is their maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The case did not run; a [`NotRun`] has the reason.
    NotRun,
    /// The requirement was observed to be met.
    Pass,
    /// A SHOULD or SHOULD NOT was not followed, or a strict-only requirement was not met.
    Warn,
    /// The case ran, and its answers decide neither way.
    Inconclusive,
    /// The case could not be run.
    Error,
    /// A MUST, MUST NOT or SHAPE was violated.
    Fail,
}

impl Verdict {
    /// Every verdict, in the order in which summaries print them.
    pub const ALL: [Self; 6] = [Self::Pass, Self::Warn, Self::Fail, Self::Inconclusive, Self::Error, Self::NotRun];

    /// Its name in data, in reports and on the terminal.
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

/// Why a case did not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NotRun {
    /// The target does not offer the optional feature, or does not claim the level.
    NotClaimed,
    /// The situation to judge never occurred.
    NotExercised,
    /// The selection on the command line excludes it.
    NotSelected,
    /// It is not observable at this kind of target.
    Unobservable,
    /// A waiver in the target file covers it.
    Waived,
}

impl NotRun {
    /// Its name in data, in reports and on the terminal.
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

/// The outcome of a level or conformance profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Grant {
    /// Each of its demands that is observable at this kind of target was met.
    Granted,
    /// The same, except for demands that the owner of the target waived.
    GrantedWaived,
    /// At least one of its demands was violated.
    Refused,
    /// No demand was violated, but at least one was not decided.
    Undecided,
}

impl Grant {
    /// Its name in data, in reports and on the terminal.
    pub fn word(self) -> &'static str {
        match self {
            Self::Granted => "granted",
            Self::GrantedWaived => "granted-waived",
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
    /// Its name in data, in reports and on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Lenient => "lenient",
            Self::Strict => "strict",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written<T: Serialize>(value: T) -> String {
        serde_json::to_value(value).expect("JSON").as_str().expect("a text").to_owned()
    }

    #[test]
    fn reports_use_the_words_of_the_data() {
        for verdict in Verdict::ALL {
            assert_eq!(verdict.word(), written(verdict));
            assert_eq!(verdict.to_string(), verdict.word());
        }
        let reasons =
            [NotRun::NotClaimed, NotRun::NotExercised, NotRun::NotSelected, NotRun::Unobservable, NotRun::Waived];
        for reason in reasons {
            assert_eq!(reason.word(), written(reason));
            assert_eq!(reason.to_string(), reason.word());
        }
        for grant in [Grant::Granted, Grant::GrantedWaived, Grant::Refused, Grant::Undecided] {
            assert_eq!(grant.word(), written(grant));
        }
        for profile in [Profile::Lenient, Profile::Strict] {
            assert_eq!(profile.word(), written(profile));
        }
        assert_eq!(written(NotRun::NotExercised), "not-exercised");
    }

    #[test]
    fn words_line_up_in_columns() {
        assert_eq!(format!("{:<8}|{:>9}|", Verdict::Pass, NotRun::Waived), "pass    |   waived|");
    }
}

//! Verdicts and grants as a word with a symbol.

use crate::verdict::{Grant, Verdict};
/// A verdict or grant as a word with a symbol, so that no information depends on colour alone.
#[derive(Clone, Copy)]
pub(super) struct Badge {
    pub(super) word: &'static str,
    pub(super) shape: &'static str,
}

impl Badge {
    pub(super) fn class(&self) -> String {
        self.word.replace(' ', "-")
    }

    pub(super) fn verdict(verdict: Verdict) -> Self {
        let shape = match verdict {
            Verdict::Pass => "\u{2713}",
            Verdict::Warn => "!",
            Verdict::Fail => "\u{2715}",
            Verdict::Inconclusive => "?",
            Verdict::Error => "\u{25b2}",
            Verdict::NotRun => "\u{2013}",
        };
        Self { word: verdict.word(), shape }
    }

    pub(super) fn grant(grant: Grant) -> Self {
        let shape = match grant {
            Grant::Granted | Grant::GrantedWaived => "\u{2713}",
            Grant::Refused => "\u{2715}",
            Grant::Undecided => "?",
        };
        Self { word: grant.word(), shape }
    }
}

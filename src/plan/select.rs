//! The selection of cases on the command line.

use sha2::{Digest, Sha256};

use super::Knowledge;
use crate::exchange::Transport;
use crate::requirement::RequirementId;
use crate::suite::{CaseId, LevelSet};
use crate::verdict::NotRun;

/// The cases that a run includes.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Patterns of case ids, of which one must match; empty means all.
    pub only: Vec<String>,
    /// Requirement ids, of which a case must cover one; empty means all.
    pub requirements: Vec<RequirementId>,
    /// The levels that must be granted: cases of levels that they do not include are skipped.
    pub levels: Vec<String>,
    /// One of several parts.
    pub shard: Option<Shard>,
}

/// Part `index` (from 1) of `count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which part, from 1.
    pub index: u64,
    /// Of how many.
    pub count: u64,
}

impl std::str::FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once('/').and_then(|(index, count)| Some((index.parse().ok()?, count.parse().ok()?)));
        match parsed {
            Some((index, count)) if 1 <= index && index <= count => Ok(Self { index, count }),
            _ => Err("expected K/N with 1 <= K <= N, such as 2/4".to_owned()),
        }
    }
}

impl Selection {
    /// Why a case is skipped, if it is.
    pub(super) fn leaves_out(
        &self,
        id: &CaseId,
        covers: &[&RequirementId],
        knowledge: &Knowledge,
    ) -> Option<(NotRun, String)> {
        let not_selected = |why: String| Some((NotRun::NotSelected, why));
        if !self.only.is_empty() && !self.only.iter().any(|pattern| glob(pattern, &id.to_string())) {
            return not_selected("no pattern of --only matches it".to_owned());
        }
        if !self.requirements.is_empty() && !self.requirements.iter().any(|wanted| covers.contains(&wanted)) {
            return not_selected("it covers no requirement of --requirement".to_owned());
        }
        let levels = &knowledge.manifest.levels;
        let asked: Vec<LevelSet> = self.levels.iter().filter_map(|name| levels.find(name)).collect();
        // A level of another protocol of the run skips no case of this one.
        if !asked.is_empty() && !covers.is_empty() {
            let asked: LevelSet = asked.into_iter().collect();
            let level_of =
                |id: &&RequirementId| knowledge.catalogue.find(id.as_str()).map(|found| levels.closure(&found.level));
            if !covers.iter().filter_map(level_of).any(|level| asked.includes(level)) {
                return not_selected(format!("it belongs to no level of {}", levels.highest(asked)));
            }
        }
        if let Some(shard) = self.shard {
            // A case is in the same shard at an endpoint and at a library; other transports and the rows of a table are spread.
            let transport = id.transport.filter(|transport| *transport != Transport::Adapter);
            let base = CaseId { transport, ..id.clone() };
            let digest = Sha256::digest(base.to_string().as_bytes());
            let number = digest.iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
            if number % shard.count != shard.index - 1 {
                return not_selected(format!("it is not in shard {}/{}", shard.index, shard.count));
            }
        }
        None
    }
}

/// Whether `pattern` matches all of `text`: `*` matches any characters, `?` matches one; every other character, including
/// brackets, matches itself. A pattern without a row also matches every row of its case.
pub fn glob(pattern: &str, text: &str) -> bool {
    fn matches(pattern: &[char], text: &[char]) -> bool {
        // Greedy matching with one point to go back to: linear for each star.
        let (mut p, mut t, mut star) = (0, 0, None);
        while t < text.len() {
            match pattern.get(p) {
                Some('*') => {
                    star = Some((p, t));
                    p += 1;
                }
                Some(character) if *character == '?' || *character == text[t] => {
                    p += 1;
                    t += 1;
                }
                _ => match star {
                    Some((at, from)) => {
                        star = Some((at, from + 1));
                        p = at + 1;
                        t = from + 1;
                    }
                    None => return false,
                },
            }
        }
        pattern[p..].iter().all(|character| *character == '*')
    }
    let pattern_chars: Vec<char> = pattern.chars().collect();
    let text_chars: Vec<char> = text.chars().collect();
    if matches(&pattern_chars, &text_chars) {
        return true;
    }
    let whole_case = text.split_once('[').map(|(case, _)| case);
    whole_case.is_some_and(|case| matches(&pattern_chars, &case.chars().collect::<Vec<_>>()))
}

#[cfg(test)]
mod tests {
    use super::{Shard, glob};

    #[test]
    fn patterns_match_whole_ids_and_all_rows_of_a_case() {
        assert!(glob("agentic/*", "agentic/deposit#accepts-a-package"));
        assert!(glob("*title*", "agentic/deposit#refuses[no-title]"));
        assert!(glob("agentic/deposit#refuses", "agentic/deposit#refuses[no-title]"));
        assert!(glob("agentic/deposit#refuses[no-title]", "agentic/deposit#refuses[no-title]"));
        assert!(!glob("agentic/deposit#refuses[no-title]", "agentic/deposit#refuses[no-status]"));
        assert!(!glob("deposit", "agentic/deposit#refuses"));
        assert!(glob("a*b*c", "aXbYbZc"));
        assert!(!glob("a?c", "ac"));
    }

    #[test]
    fn a_star_matches_nothing_as_well_as_any_characters() {
        for (pattern, text, expected) in [
            ("a*b", "ab", true),
            ("a*b", "aXXb", true),
            ("a*b", "aXbXb", true),
            ("a*b", "aXbX", false),
            ("ab*", "ab", true),
            ("*ab*", "ab", true),
            ("a**b", "ab", true),
            ("*", "", true),
            ("a*ab", "aab", true),
            ("a*ab", "ab", false),
        ] {
            assert_eq!(glob(pattern, text), expected, "{pattern}, {text}");
        }
    }

    #[test]
    fn a_shard_is_one_of_as_many_as_there_are() {
        let shard = |index, count| Some(Shard { index, count });
        for (text, expected) in [
            ("1/1", shard(1, 1)),
            ("1/4", shard(1, 4)),
            ("4/4", shard(4, 4)),
            ("0/4", None),
            ("5/4", None),
            ("1/0", None),
            ("0/0", None),
            ("-1/4", None),
            ("1", None),
            ("1/4/4", None),
        ] {
            assert_eq!(text.parse::<Shard>().ok(), expected, "{text}");
        }
        let why = "0/4".parse::<Shard>().expect_err("no shard");
        assert_eq!(why, "expected K/N with 1 <= K <= N, such as 2/4");
    }
}

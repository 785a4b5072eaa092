//! Comparison of records: what a target does now that it did not do before, and one case at several targets.

mod cases;
mod change;
mod markdown;
mod text;

pub use cases::{AtTarget, CaseAcross, across};
pub use change::{CaseChange, Category, Comparison, LevelChange, ProtocolComparison, RequirementChange, Side, compare};
pub use markdown::{write as write_markdown, write_cases as write_cases_markdown};
pub use text::{write as write_text, write_cases};

//! The rulings on contradictions and gaps of a specification.

use std::fmt::Write as _;

use super::page::{Page, cell};
use crate::plan::Knowledge;

/// The page of a protocol.
pub fn page(knowledge: &Knowledge) -> Page {
    let slug = knowledge.protocol.slug();
    let mut text = format!(
        "# Errata of {slug}\n\n{}.\n\nWhere the text contradicts itself or is silent, these rulings decide. A reading that a ruling tolerates never \
         fails an implementation; `--profile strict` counts the rulings alone. The whole register, with the reasons, is in \
         `suites/{slug}/errata.md`.\n\n| id | about | ruling | requirements |\n|---|---|---|---|\n",
        knowledge.catalogue.spec.trim_end_matches('.')
    );
    for erratum in &knowledge.errata {
        let bound =
            knowledge.catalogue.requirements.iter().filter(|requirement| requirement.errata.contains(&erratum.id));
        let ids: Vec<_> = bound.map(|requirement| requirement.id.value.as_str()).collect();
        let (first, more) = (ids.iter().take(6).copied().collect::<Vec<_>>().join(", "), ids.len().saturating_sub(6));
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let _ =
            writeln!(text, "| {} | {} | {} | {first}{more} |", erratum.id, cell(&erratum.title), cell(&erratum.ruling));
    }
    Page { file: format!("errata-{slug}.md"), title: format!("Errata of {slug}"), text }
}

//! The operations of a protocol, and what a target of it can declare.

use std::fmt::Write as _;

use super::methods;
use super::page::{Page, cell, code};
use crate::plan::Knowledge;
use crate::protocol::{Operation, Setting};

/// The page of a protocol.
pub fn page(knowledge: &Knowledge) -> Page {
    let (protocol, manifest) = (knowledge.protocol, &knowledge.manifest);
    let slug = protocol.slug();
    let mut text = format!("# Operations of {slug}\n\n{}.\n", knowledge.catalogue.spec.trim_end_matches('.'));
    let names: Vec<_> = manifest.levels.names().map(|name| format!("`{name}`")).collect();
    let _ = writeln!(text, "\nLevels: {}.", names.join(", "));
    let _ = writeln!(text, "\n## Operations\n\nA step of a case sends an operation, with inputs under `with`.\n");
    let _ = writeln!(
        text,
        "| operation | level | inputs | over HTTP | at a library | description |\n|---|---|---|---|---|---|"
    );
    for operation in protocol.operations() {
        let Operation { name, summary, level, .. } = operation;
        let (inputs, route, method) = (inputs(operation), route(operation), method(operation));
        let _ = writeln!(text, "| `{name}` | {level} | {inputs} | {route} | {method} | {} |", cell(summary));
    }
    let _ = writeln!(text, "\nInputs in bold are required. The others have a default, or are omitted.");
    if protocol.library().is_some() {
        let _ =
            writeln!(text, "The types of the methods are on the page [Methods of {slug}]({}).", methods::file(slug));
    }
    if !manifest.kinds.is_empty() {
        let _ = writeln!(text, "\n## Kinds of target\n\n| kind | description |\n|---|---|");
        for kind in &manifest.kinds {
            let _ = writeln!(text, "| `{}` | {} |", kind.name.value, cell(&kind.about));
        }
    }
    if !manifest.features.is_empty() {
        let _ = writeln!(
            text,
            "\n## Features\n\nUnder `features` of a target file.\n\n| feature | description |\n|---|---|"
        );
        for feature in &manifest.features {
            let _ = writeln!(text, "| `{}` | {} |", feature.name.value, cell(&feature.about));
        }
    }
    settings(&mut text, "Settings", "settings", protocol.settings());
    settings(&mut text, "Places", "places", protocol.places());
    Page { file: format!("operations-{slug}.md"), title: format!("Operations of {slug}"), text }
}

fn inputs(operation: &Operation) -> String {
    let name = |input: &crate::protocol::Input| {
        if input.required { format!("**{}**", input.name) } else { input.name.to_owned() }
    };
    operation.inputs.iter().map(name).collect::<Vec<_>>().join(", ")
}

fn route(operation: &Operation) -> String {
    operation.route.as_ref().map_or_else(String::new, |route| code(&format!("{} {}", route.method, route.path)))
}

fn method(operation: &Operation) -> String {
    operation.method.as_ref().map_or_else(String::new, |method| code(method.name))
}

fn settings(text: &mut String, title: &str, key: &str, settings: &[Setting]) {
    if settings.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "\n## {title}\n\nUnder `{key}` of a target file.\n\n| name | description | example |\n|---|---|---|"
    );
    for setting in settings {
        let _ = writeln!(text, "| `{}` | {} | {} |", setting.name, cell(setting.summary), code(setting.example));
    }
}

//! What a case uses: its parties, and the shared bindings that it names.

use std::collections::BTreeSet;

use super::context::Context;
use crate::edit::Edit;
use crate::suite::{Action, Case, HostReplyPlan, RequestBody};
use crate::template::Expr;

/// The parties of a case, each once, in the order of their first step.
pub(super) fn actors(case: &Case) -> Vec<&str> {
    let mut actors: Vec<&str> = Vec::new();
    for step in case.all_steps() {
        let sends = matches!(step.action, Action::Send { .. });
        if sends && !actors.contains(&step.actor.value.as_str()) {
            actors.push(&step.actor.value);
        }
    }
    actors
}

/// The shared bindings that a case uses, by name or as the default of an input.
pub(super) fn uses<'p>(context: &'p Context<'p>, case: &'p Case) -> BTreeSet<&'p str> {
    let manifest = &context.plan.knowledge.manifest;
    let mut names: BTreeSet<&'p str> = BTreeSet::new();
    let mut queue: Vec<&'p Expr> = case.bindings.iter().map(|(_, expr)| expr).collect();
    for step in case.all_steps() {
        queue.extend(&step.over);
        queue.extend(&step.correlate);
        queue.extend(step.expectations().map(|expectation| &expectation.argument));
        match &step.action {
            Action::Send { operation, with, headers, edits, .. } => {
                queue.extend(with.iter().map(|(_, expr)| expr));
                queue.extend(headers.iter().map(|(_, expr)| expr));
                queue.extend(edits.iter().filter_map(Edit::expr));
                if let Some(found) = context.plan.knowledge.protocol.operation(operation) {
                    let given = |name: &str| with.iter().any(|(given, _)| given.value == name);
                    let defaults =
                        found.inputs.iter().filter(|input| !given(input.name)).filter_map(|input| input.default);
                    for name in defaults {
                        if names.insert(name) {
                            queue.extend(manifest.bindings.get(name));
                        }
                    }
                }
            }
            Action::Request { path, headers, body, .. } => {
                queue.push(path);
                queue.extend(headers.iter().map(|(_, expr)| expr));
                if let Some(RequestBody::Value(expr)) = body {
                    queue.push(expr);
                }
            }
            Action::Receive(receive) => queue.extend(receive.reply.iter().flat_map(HostReplyPlan::exprs)),
            Action::Advance { with: own, .. } => {
                queue.extend(own.iter().map(|(_, expr)| expr));
                for way in &manifest.clock {
                    if let Action::Send { with, .. } = &way.step.action {
                        queue.extend(with.iter().map(|(_, expr)| expr));
                    }
                }
            }
            Action::Parallel(_) | Action::Pause(_) | Action::Sweep => {}
        }
    }
    while let Some(expr) = queue.pop() {
        let mut found: Vec<&'p str> = Vec::new();
        expr.visit(&mut |words, _| {
            for word in words {
                let name = word.trim_start_matches('$');
                found.push(name.split('/').next().unwrap_or(name));
            }
        });
        for name in found {
            if names.insert(name) {
                queue.extend(manifest.bindings.get(name).or_else(|| manifest.objects.get(name)));
            }
        }
    }
    names
}

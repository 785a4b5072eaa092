//! What a case uses: its parties, and the shared bindings that it names.

use std::collections::BTreeSet;

use crate::edit::Edit;
use crate::exchange::Transport;
use crate::plan::{Knowledge, operations};
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
pub(super) fn uses<'p>(knowledge: &'p Knowledge, case: &'p Case) -> BTreeSet<&'p str> {
    let manifest = &knowledge.manifest;
    let mut names: BTreeSet<&'p str> = BTreeSet::new();
    let mut queue: Vec<&'p Expr> = case.bindings.iter().map(|(_, expr)| expr).collect();
    for step in case.all_steps() {
        queue.extend(step.over.as_deref());
        queue.extend(&step.correlate);
        queue.extend(step.expectations().map(|expectation| &expectation.argument));
        queue.extend(step.expectations().filter_map(|expectation| expectation.of.as_ref()));
        match &step.action {
            Action::Send { operation, with, headers, edits, .. } => {
                queue.extend(with.iter().map(|(_, expr)| expr));
                queue.extend(headers.iter().map(|(_, expr)| expr));
                queue.extend(edits.iter().filter_map(Edit::expr));
                if let Some(found) = knowledge.protocol.operation(operation) {
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

/// The methods that an adapter must have for a case: those that its steps call, that its set-up calls before, and that show the
/// features that it needs. `None` if a step of the case cannot be sent to a library. Optional steps of a set-up, and a set-up
/// that needs a feature, are not counted, since the case runs without them.
pub fn library_methods(knowledge: &Knowledge, case: &Case) -> Option<BTreeSet<&'static str>> {
    let own = operations(knowledge.protocol, case).into_iter();
    let mut methods: BTreeSet<_> =
        own.map(|operation| operation.method.as_ref().map(|method| method.name)).collect::<Option<_>>()?;
    let used = uses(knowledge, case);
    let for_libraries = |word: &str| word == Transport::Adapter.name();
    for setup in &knowledge.manifest.setup {
        let here = setup.reach.is_empty() || setup.reach.iter().any(|word| for_libraries(&word.value));
        let is_used = setup.uses.is_empty() || setup.uses.iter().any(|binding| used.contains(&*binding.value));
        if case.without_setup || !here || !is_used || !setup.needs.is_empty() {
            continue;
        }
        for step in setup.steps.iter().filter(|step| !step.optional) {
            let Action::Send { operation, .. } = &step.action else { continue };
            let method = knowledge.protocol.operation(operation).and_then(|operation| operation.method.as_ref());
            methods.extend(method.map(|method| method.name));
        }
    }
    let probes = knowledge.probes.iter().filter(|probe| case.needs.iter().any(|need| need.value == probe.name.value));
    for operation in probes.flat_map(|probe| operations(knowledge.protocol, probe)) {
        methods.extend(operation.method.as_ref().map(|method| method.name));
    }
    Some(methods)
}

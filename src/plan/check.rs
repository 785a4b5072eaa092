//! Checks all references: operations, inputs, matchers and their arguments, requirement ids, features, names in templates.

use std::collections::{BTreeMap, BTreeSet};

use super::{Knowledge, compile, lists};
use crate::exchange::Transport;
use crate::matcher::Compiler;
use crate::protocol::Protocol;
use crate::requirement::ClauseId;
use crate::source::{Diagnostic, Located, Problems, Span};
use crate::suggest::nearest;
use crate::suite::{Action, Case, CaseId, Expectation, HostReplyPlan, RequestBody, Step, TimeSpan};
use crate::template::{Expr, FUNCTIONS};

/// Bindings that the engine defines.
const BUILT_IN: &[&str] = &["answer", "item", "index", "it", "actor", "timeouts", "ordinal", "run"];

/// The names of the template functions.
fn functions(protocol: &'static dyn Protocol) -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().chain(protocol.functions()).map(|function| function.name)
}

/// Every mistake in references between files. `read_well` is whether every file could be read completely; if not, a missing
/// definition is not reported.
pub(super) fn check(knowledge: &Knowledge, read_well: bool) -> Vec<Diagnostic> {
    let mut problems = Problems::default();
    let manifest = &knowledge.manifest;
    let slug = knowledge.protocol.slug();
    if manifest.protocol.value != slug && (read_well || !manifest.protocol.value.is_empty()) {
        problems.note(Diagnostic::new(
            &manifest.protocol.span,
            format!("wrong protocol in the manifest: expected `{slug}`"),
        ));
    }
    for requirement in &knowledge.catalogue.requirements {
        known_level(knowledge, &requirement.level, &mut problems);
    }
    for level in &manifest.claims.default {
        known_level(knowledge, level, &mut problems);
    }
    for operation in knowledge.protocol.operations() {
        // An operation without a level belongs to no level.
        if !operation.level.is_empty() && manifest.levels.find(operation.level).is_none() {
            let message =
                format!("the manifest lacks the level `{}` of the operation `{}`", operation.level, operation.name);
            problems.note(Diagnostic::new(&manifest.protocol.span, message));
        }
    }
    for transport in knowledge.protocol.transports() {
        let is_reached = manifest.kinds.iter().any(|kind| kind.reached_over.contains(transport));
        if !manifest.kinds.is_empty() && !is_reached {
            let message = format!("no kind of target is reached over {}", transport.name());
            problems
                .note(Diagnostic::new(&manifest.protocol.span, message).hint("name it under `reached-over` of a kind"));
        }
    }
    // Each protocol defines the names of its settings.
    let provided = knowledge.protocol.target_knowledge().map_or(&[][..], |knowledge| knowledge.known_names());
    let shared: BTreeSet<&str> = manifest.bindings.keys().map(String::as_str).chain(provided.iter().copied()).collect();
    let mut names = Names { knowledge, known: shared.clone() };
    for name in &manifest.binding_names {
        names.add(name, &mut problems);
        if provided.contains(&name.value.as_str()) {
            let message =
                format!("the binding `{}` has no effect: the protocol itself gives that name a value", **name);
            problems.note(Diagnostic::new(&name.span, message).hint("choose another name"));
        }
    }
    for expr in manifest.objects.values().chain(manifest.bindings.values()) {
        names.expr(expr, &mut problems);
    }
    for feature in &manifest.features {
        let mut names = Names { knowledge, known: shared.clone() };
        steps(&feature.steps, &mut names, false, &mut problems);
        for kind in feature.reach.iter().chain(&feature.floor) {
            known_kind(knowledge, kind, &mut problems);
        }
        for name in feature.floor_of.iter().filter(|name| knowledge.protocol.operation(name).is_none()) {
            let known = knowledge.protocol.operations().iter().map(|operation| operation.name);
            let mistake = Diagnostic::new(&name.span, format!("no operation `{}`", **name));
            problems.note(mistake.did_you_mean(nearest(name, known)));
        }
        for expectation in feature.offered.iter().chain(&feature.missing) {
            one_expectation(expectation, &mut names, &mut problems);
        }
    }
    // Every case may use what a set-up captures.
    let mut known = shared;
    for feature in &manifest.features {
        let compiler = Compiler::new(knowledge.protocol.matchers());
        for words in &feature.prerequisite_of {
            let unknown = words.split('+').find(|word| {
                let operation = knowledge.protocol.operation(word).is_some();
                !operation && compiler.find(word).is_none() && !manifest.objects.contains_key(*word)
            });
            if let Some(word) = unknown {
                let message = format!("`{word}` is not an operation, an object or a matcher");
                problems.note(Diagnostic::new(&words.span, message));
            }
        }
    }
    for setup in &manifest.setup {
        let mut names = Names { knowledge, known: known.clone() };
        steps(&setup.steps, &mut names, false, &mut problems);
        steps(&setup.after, &mut names, false, &mut problems);
        known = names.known;
        for binding in &setup.uses {
            let captured =
                setup.steps.iter().flat_map(|step| &step.capture).any(|(name, _)| name.value == binding.value);
            if !captured && !manifest.bindings.contains_key(&binding.value) {
                problems.note(Diagnostic::new(&binding.span, format!("no binding `{}`", **binding)));
            }
        }
        for feature in &setup.needs {
            known_feature(knowledge, feature, &mut problems);
        }
        for kind in &setup.reach {
            known_kind(knowledge, kind, &mut problems);
        }
    }
    for way in &manifest.clock {
        way.reach.iter().for_each(|word| known_kind(knowledge, word, &mut problems));
        way.needs.iter().for_each(|feature| known_feature(knowledge, feature, &mut problems));
        let mut names = Names { knowledge, known: known.clone() };
        names.known.insert("advance_ms");
        one_step(&way.step, &mut names, false, &mut problems);
    }
    if let Some(fuzz) = &manifest.fuzz {
        for (operation, requirement) in &fuzz.operations {
            known_operation(knowledge, operation, &mut problems);
            match ClauseId::parse(requirement) {
                Some(value) => {
                    let id = Located { value, span: requirement.span.clone() };
                    known_requirement(knowledge, &id, &mut problems);
                }
                None => problems.note(Diagnostic::new(&requirement.span, "invalid requirement")),
            }
        }
        let mut names = Names { knowledge, known: known.clone() };
        for expectation in fuzz.answered.iter().chain(&fuzz.accepted) {
            one_expectation(expectation, &mut names, &mut problems);
        }
        steps(&fuzz.alive, &mut names, false, &mut problems);
    }
    let mut names = Names { knowledge, known: known.clone() };
    for host in &manifest.hosts {
        host.values.iter().chain(host.reply.exprs()).for_each(|expr| names.expr(expr, &mut problems));
    }
    let mut ids: BTreeMap<String, &Span> = BTreeMap::new();
    if read_well && knowledge.suites.iter().all(|suite| suite.cases.is_empty()) {
        problems.note(Diagnostic::new(&manifest.protocol.span, format!("no cases found for `{slug}`")));
    }
    for (transport, feature) in &manifest.transports {
        if !Transport::ALL.iter().any(|known| known.name() == transport.value) {
            let names = || Transport::ALL.iter().map(|known| known.name());
            problems.note(
                Diagnostic::new(&transport.span, format!("no transport `{}`", transport.value))
                    .did_you_mean(nearest(transport, names())),
            );
        }
        known_feature(knowledge, feature, &mut problems);
    }
    for (level, feature) in &manifest.beyond {
        known_level(knowledge, level, &mut problems);
        known_feature(knowledge, feature, &mut problems);
    }
    for suite in &knowledge.suites {
        if suite.name.value.split('/').next() != Some(slug) && (read_well || !suite.name.value.is_empty()) {
            problems.note(
                Diagnostic::new(&suite.name.span, format!("the suite `{}` is not of protocol `{slug}`", *suite.name))
                    .hint(format!("the name must start with `{slug}/`")),
            );
        }
    }
    for (suite, case) in knowledge.cases() {
        let id = CaseId::of(suite, case).to_string();
        if let Some(earlier) = ids.get(&id) {
            let message = format!("the case id `{id}` is used twice; first at {}", earlier.place());
            problems.note(Diagnostic::new(&case.name.span, message));
        }
        ids.insert(id, &case.name.span);
        one_case(case, knowledge, &known, &mut problems);
    }
    problems.0
}

/// The names that every case of a protocol may use.
fn shared(knowledge: &Knowledge) -> BTreeSet<&str> {
    let manifest = &knowledge.manifest;
    let provided =
        knowledge.protocol.target_knowledge().map_or(&[][..], |knowledge| knowledge.known_names()).iter().copied();
    let captured = manifest.setup.iter().flat_map(|setup| &setup.steps).flat_map(|step| &step.capture);
    let captured = captured.map(|(name, _)| name.value.as_str());
    manifest.bindings.keys().map(String::as_str).chain(provided).chain(captured).collect()
}

/// The mistakes in one case.
pub(super) fn case(knowledge: &Knowledge, case: &Case) -> Vec<Diagnostic> {
    let mut problems = Problems::default();
    one_case(case, knowledge, &shared(knowledge), &mut problems);
    problems.0
}

fn known_operation(knowledge: &Knowledge, operation: &Located<String>, problems: &mut Problems) {
    if knowledge.protocol.operation(operation).is_none() {
        let names = knowledge.protocol.operations().iter().map(|operation| operation.name);
        problems.note(
            Diagnostic::new(&operation.span, format!("no operation `{}`", **operation))
                .did_you_mean(nearest(operation, names)),
        );
    }
}

fn known_time(knowledge: &Knowledge, time: &Located<TimeSpan>, problems: &mut Problems) {
    let TimeSpan::Named(name) = &time.value else { return };
    let timeouts = &knowledge.manifest.timeouts;
    if !timeouts.contains_key(name) {
        problems.note(
            Diagnostic::new(&time.span, format!("invalid duration `{name}`"))
                .did_you_mean(nearest(name, timeouts.keys().map(String::as_str)))
                .hint("a number with ms, s or m, such as 250ms or 5s; or a name under `timeouts` of the manifest"),
        );
    }
}

fn known_host(knowledge: &Knowledge, host: &Located<String>, problems: &mut Problems) {
    let names = || knowledge.manifest.hosts.iter().map(|host| host.name.value.as_str());
    if !names().any(|known| known == host.value) {
        problems.note(
            Diagnostic::new(&host.span, format!("unknown host `{}`", **host))
                .did_you_mean(nearest(host, names()))
                .hint("the manifest of the protocol declares hosts"),
        );
    }
}

fn known_level(knowledge: &Knowledge, level: &Located<String>, problems: &mut Problems) {
    let levels = &knowledge.manifest.levels;
    if levels.find(level).is_none() {
        problems.note(
            Diagnostic::new(&level.span, format!("no level `{}`", **level))
                .did_you_mean(nearest(level, levels.names())),
        );
    }
}

fn known_feature(knowledge: &Knowledge, feature: &Located<String>, problems: &mut Problems) {
    let manifest = &knowledge.manifest;
    let names = || {
        let features = manifest.features.iter().map(|feature| feature.name.value.as_str());
        features.chain(manifest.levels.names())
    };
    if !names().any(|known| known == feature.value) {
        problems.note(
            Diagnostic::new(&feature.span, format!("no feature or level `{}`", **feature))
                .did_you_mean(nearest(feature, names())),
        );
    }
}

fn one_case(case: &Case, knowledge: &Knowledge, known: &BTreeSet<&str>, problems: &mut Problems) {
    for id in &case.covers {
        known_requirement(knowledge, id, problems);
    }
    for need in &case.needs {
        known_feature(knowledge, need, problems);
    }
    for reach in &case.reach {
        known_kind(knowledge, reach, problems);
    }
    for role in &case.roles {
        known_role(knowledge, role, problems);
    }
    let mut names = Names { knowledge, known: known.clone() };
    for (name, expr) in &case.bindings {
        names.expr(expr, problems);
        names.add(name, problems);
    }
    steps(&case.steps, &mut names, true, problems);
    let decides = |id: &ClauseId| {
        case.all_steps().iter().flat_map(|step| step.expect.iter().chain(&step.expect_all)).any(|expectation| {
            expectation.covers.is_empty() || expectation.covers.iter().any(|found| found.value == *id)
        })
    };
    for id in &case.covers {
        if !decides(id) {
            problems.note(
                Diagnostic::new(&id.span, format!("no expectation of the case decides {}", **id))
                    .hint("a case that cannot fail is vacuous: add an `expect`"),
            );
        }
    }
    for expectation in case.all_steps().iter().flat_map(|step| step.expectations()) {
        for id in &expectation.covers {
            known_requirement(knowledge, id, problems);
            if !case.covers.iter().any(|covered| covered.value == id.value) {
                problems.note(
                    Diagnostic::new(&id.span, format!("the case does not cover {}", **id))
                        .hint("add it to `covers` of the case"),
                );
            }
        }
    }
}

fn known_kind(knowledge: &Knowledge, kind: &Located<String>, problems: &mut Problems) {
    let mut names: Vec<&str> = knowledge.manifest.kinds.iter().map(|kind| kind.name.value.as_str()).collect();
    for name in Transport::ALL.iter().flat_map(|transport| [transport.reaches().name(), transport.name()]) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if !names.contains(&kind.as_str()) {
        problems.note(
            Diagnostic::new(&kind.span, format!("no kind of target and no transport `{}`", **kind))
                .hint(format!("one of {}", names.join(", "))),
        );
    }
}

fn known_role(knowledge: &Knowledge, role: &Located<String>, problems: &mut Problems) {
    let names = || knowledge.manifest.roles.iter().map(|role| role.name.value.as_str());
    if !names().any(|known| known == role.value) {
        problems
            .note(Diagnostic::new(&role.span, format!("no role `{}`", **role)).did_you_mean(nearest(role, names())));
    }
}

fn known_requirement(knowledge: &Knowledge, id: &Located<ClauseId>, problems: &mut Problems) {
    let name = id.requirement.as_str();
    match knowledge.catalogue.find(name) {
        None => {
            let ids = knowledge.catalogue.requirements.iter().map(|requirement| requirement.id.as_str());
            problems.note(
                Diagnostic::new(&id.span, format!("no requirement has the id {name}")).did_you_mean(nearest(name, ids)),
            );
        }
        Some(requirement) if requirement.testable == crate::requirement::Testable::No => {
            let why = requirement.why_not.as_deref().unwrap_or_default();
            problems.note(
                Diagnostic::new(&id.span, format!("{name} cannot be tested"))
                    .hint(format!("the catalogue says: {why}")),
            );
        }
        Some(requirement) if id.clause > requirement.clauses.len().max(1) => {
            let message = match requirement.clauses.len() {
                0 | 1 => format!("{name} has one clause"),
                count => format!("{name} has {count} clauses"),
            };
            problems.note(Diagnostic::new(&id.span, message).hint("`proofmark explain` prints them"));
        }
        Some(_) => {}
    }
}

/// The names that templates may use at a point of a case.
struct Names<'k> {
    knowledge: &'k Knowledge,
    known: BTreeSet<&'k str>,
}

impl<'k> Names<'k> {
    fn add(&mut self, name: &'k Located<String>, problems: &mut Problems) {
        let good = !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
        if !good
            || BUILT_IN.contains(&name.as_str())
            || functions(self.knowledge.protocol).any(|known| known == name.value)
        {
            problems.note(
                Diagnostic::new(&name.span, format!("`{}` cannot be the name of a binding", **name))
                    .hint("use lower-case letters, digits and _; the names of template functions and predefined bindings are reserved"),
            );
        }
        self.known.insert(name);
    }

    fn expr(&mut self, expr: &Expr, problems: &mut Problems) {
        let objects = &self.knowledge.manifest.objects;
        expr.visit(&mut |words, span| {
            let first = words.first().map_or("", String::as_str);
            if let ("host", Some(name)) = (first, words.get(1).filter(|name| !name.starts_with('$'))) {
                known_host(self.knowledge, &Located { value: name.clone(), span: span.clone() }, problems);
            }
            let function = functions(self.knowledge.protocol).any(|known| known == first);
            let references = words.iter().skip(1).filter_map(|word| word.strip_prefix('$'));
            let direct = (!function).then_some(first);
            for name in direct.into_iter().chain(references) {
                let name = name.split('/').next().unwrap_or(name);
                let timeout = words.iter().find_map(|word| word.trim_start_matches('$').strip_prefix("timeouts/"));
                if let Some(timeout) = timeout
                    && !self.knowledge.manifest.timeouts.contains_key(timeout)
                {
                    let known = self.knowledge.manifest.timeouts.keys().map(String::as_str);
                    problems.note(
                        Diagnostic::new(span, format!("no timeout `{timeout}`")).did_you_mean(nearest(timeout, known)),
                    );
                }
                let fine = self.known.contains(name) || BUILT_IN.contains(&name) || objects.contains_key(name);
                if !fine {
                    let known = self.known.iter().map(|known| -> &str { known });
                    let candidates = known.chain(functions(self.knowledge.protocol).map(|known| -> &str { known }));
                    problems.note(
                        Diagnostic::new(span, format!("undefined name `{name}`"))
                            .did_you_mean(nearest(name, candidates.chain(objects.keys().map(String::as_str)))),
                    );
                }
            }
        });
    }
}

fn steps<'k>(list: &'k [Step], names: &mut Names<'k>, in_case: bool, problems: &mut Problems) {
    for step in list {
        one_step(step, names, in_case, problems);
    }
}

fn one_step<'k>(step: &'k Step, names: &mut Names<'k>, in_case: bool, problems: &mut Problems) {
    if let Some(over) = &step.over {
        names.expr(over, problems);
    }
    step.correlate.iter().for_each(|expr| names.expr(expr, problems));
    if in_case && step.optional {
        problems.note(Diagnostic::new(&step.span, "only a set-up step can be `optional`"));
    }
    if step.over.is_some() && (step.until.is_some() || step.quiet.is_some()) {
        problems.note(Diagnostic::new(&step.span, "a step repeats over a list or over time, not both"));
    }
    for time in [&step.until, &step.quiet, &step.settle].into_iter().flatten() {
        known_time(names.knowledge, time, problems);
    }
    if step.until.is_some() && step.expect.is_empty() {
        problems.note(Diagnostic::new(&step.span, "`until` needs expectations to wait for"));
    }
    match &step.action {
        Action::Send { operation, with, headers, edits, layout } => {
            let protocol = names.knowledge.protocol;
            if let Some(word) = layout
                && !protocol.codec().layouts().contains(&word.as_str())
            {
                problems.note(
                    Diagnostic::new(&word.span, format!("no layout `{}`", **word))
                        .hint(format!("one of {}", protocol.codec().layouts().join(", "))),
                );
            }
            match protocol.operation(operation) {
                None => {
                    let known = protocol.operations().iter().map(|operation| operation.name);
                    let nearest = nearest(operation, known.clone());
                    let diagnostic = Diagnostic::new(
                        &operation.span,
                        format!("no operation named `{}` in {}", **operation, protocol.slug()),
                    );
                    problems.note(match nearest {
                        Some(name) => diagnostic.did_you_mean(Some(name)),
                        None => diagnostic.hint(format!("one of {}", known.collect::<Vec<_>>().join(", "))),
                    });
                }
                Some(found) => {
                    for (name, _) in with {
                        if found.input(name).is_none() {
                            let known: Vec<_> = found.inputs.iter().map(|input| input.name).collect();
                            problems.note(
                                Diagnostic::new(&name.span, format!("`{}` has no input `{}`", found.name, **name))
                                    .hint(format!("one of {}", known.join(", "))),
                            );
                        }
                    }
                    for input in found.inputs {
                        let given = with.iter().any(|(name, _)| name.value == input.name);
                        if input.required && !given && !input.default.is_some_and(|name| names.known.contains(name)) {
                            problems.note(Diagnostic::new(
                                &operation.span,
                                format!("`{}` needs `{}`", found.name, input.name),
                            ));
                        }
                    }
                }
            }
            with.iter().for_each(|(_, expr)| names.expr(expr, problems));
            headers.iter().for_each(|(_, expr)| names.expr(expr, problems));
            edits.iter().filter_map(crate::edit::Edit::expr).for_each(|expr| names.expr(expr, problems));
        }
        Action::Request { path, headers, body, .. } => {
            names.expr(path, problems);
            headers.iter().for_each(|(_, expr)| names.expr(expr, problems));
            if let Some(RequestBody::Value(expr)) = body {
                names.expr(expr, problems);
            }
        }
        Action::Parallel(children) => {
            if step.over.is_some() {
                problems.note(Diagnostic::new(
                    &step.span,
                    "concurrent steps cannot repeat as a group: move `for` into each step",
                ));
            }
            // A concurrent step cannot use what the others capture; later steps can.
            let before = names.known.clone();
            let mut after = before.clone();
            for child in children {
                if !matches!(child.action, Action::Send { .. } | Action::Request { .. } | Action::Receive(_)) {
                    problems.note(Diagnostic::new(&child.span, "a step inside `parallel` sends or receives a message"));
                }
                names.known.clone_from(&before);
                one_step(child, names, in_case, problems);
                after.extend(names.known.iter());
            }
            names.known = after;
        }
        Action::Receive(receive) => {
            known_host(names.knowledge, &receive.host, problems);
            receive.within.iter().for_each(|time| known_time(names.knowledge, time, problems));
            if receive.count == 0 && step.expect_all.is_empty() {
                problems.note(
                    Diagnostic::new(&receive.host.span, "a step that waits for no message needs `expect-all`")
                        .hint("such as expect-all: [{ at: /answers, length: 0 }]"),
                );
            }
            receive.reply.iter().flat_map(HostReplyPlan::exprs).for_each(|expr| names.expr(expr, problems));
            for expectation in receive.selects.iter().chain(&receive.fence) {
                one_expectation(expectation, names, problems);
            }
        }
        Action::Pause(time) => known_time(names.knowledge, time, problems),
        Action::Advance { by, with } => {
            known_time(names.knowledge, by, problems);
            let clock = &names.knowledge.manifest.clock;
            if clock.is_empty() {
                problems.note(Diagnostic::new(&step.span, "`advance` needs a `clock` in the manifest"));
            }
            if step.over.is_some() || step.until.is_some() || step.quiet.is_some() {
                problems.note(Diagnostic::new(&step.span, "the clock is advanced once: no `for`, `until` or `quiet`"));
            }
            let operations = clock.iter().filter_map(|way| match &way.step.action {
                Action::Send { operation, .. } => names.knowledge.protocol.operation(operation),
                _ => None,
            });
            let inputs: Vec<&str> = operations.flat_map(|operation| operation.inputs).map(|input| input.name).collect();
            for (name, _) in with {
                if !inputs.contains(&name.as_str()) {
                    problems.note(
                        Diagnostic::new(
                            &name.span,
                            format!("the operation that advances the clock has no input `{}`", **name),
                        )
                        .did_you_mean(nearest(name, inputs.iter().copied())),
                    );
                }
            }
            with.iter().for_each(|(_, expr)| names.expr(expr, problems));
        }
        Action::Sweep => {
            if step.expect.is_empty() {
                problems.note(Diagnostic::new(&step.span, "a sweep needs expectations"));
            }
        }
    }
    for expectations in lists(step) {
        for expectation in expectations {
            one_expectation(expectation, names, problems);
        }
    }
    for expectation in step.assume.iter().chain(&step.expect).filter(|expectation| expectation.of.is_some()) {
        problems.note(Diagnostic::new(&expectation.span, "only an expectation of `expect-all` has `of`"));
    }
    for (name, _) in &step.capture {
        names.add(name, problems);
    }
}

fn one_expectation(expectation: &Expectation, names: &mut Names<'_>, problems: &mut Problems) {
    names.expr(&expectation.argument, problems);
    expectation.of.iter().for_each(|of| names.expr(of, problems));
    let protocol = names.knowledge.protocol;
    let compiler = Compiler::new(protocol.matchers());
    if compiler.find(&expectation.matcher).is_none() {
        let known = compiler.matchers().map(crate::matcher::Matcher::name);
        problems.note(
            Diagnostic::new(&expectation.matcher.span, format!("no matcher named `{}`", *expectation.matcher))
                .did_you_mean(nearest(&expectation.matcher, known)),
        );
        return;
    }
    if let Some(argument) = expectation.argument.constant()
        && let Err(error) = compile(protocol, expectation, argument)
    {
        let span = expectation.node.span_at(&error.path);
        let mut diagnostic =
            Diagnostic::new(&span, format!("the argument of `{}` {}", *expectation.matcher, error.message));
        diagnostic.hint = error.hint;
        problems.note(diagnostic);
    }
}

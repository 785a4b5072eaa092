//! Looking everything up: operations, inputs, matchers and their arguments, requirement ids, features, names in templates.

use std::collections::{BTreeMap, BTreeSet};

use super::{Knowledge, compile, lists};
use crate::exchange::Transport;
use crate::matcher::Compiler;
use crate::protocol::Protocol;
use crate::source::{Diagnostic, Located, Problems, Span};
use crate::suggest::nearest;
use crate::suite::{Action, Case, Expectation, RequestBody, Step};
use crate::template::{Expr, FUNCTIONS};

/// Bindings that the engine makes.
const BUILT_IN: &[&str] = &["answer", "item", "index", "it", "actor"];

/// The names of the functions of templates.
fn functions(protocol: &'static dyn Protocol) -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().chain(protocol.functions()).map(|function| function.name)
}

/// Every mistake that only shows when the files are seen together.
pub(super) fn check(knowledge: &Knowledge) -> Vec<Diagnostic> {
    let mut problems = Problems::default();
    let manifest = &knowledge.manifest;
    let slug = knowledge.protocol.slug();
    if manifest.protocol.value != slug {
        problems.note(Diagnostic::new(&manifest.protocol.span, format!("this is the manifest of `{slug}`")));
    }
    for requirement in &knowledge.catalogue.requirements {
        known_level(knowledge, &requirement.level, &mut problems);
    }
    known_level(knowledge, &manifest.claims.default, &mut problems);
    // What is known of the target, or said of it in its file, every protocol names for itself.
    let told = knowledge.protocol.known_names().iter().copied();
    let shared: BTreeSet<&str> = manifest.bindings.keys().map(String::as_str).chain(told).collect();
    let mut names = Names { knowledge, known: shared.clone() };
    for expr in manifest.objects.values().chain(manifest.bindings.values()) {
        names.expr(expr, &mut problems);
    }
    for feature in &manifest.features {
        let mut names = Names { knowledge, known: shared.clone() };
        steps(&feature.steps, &mut names, false, &mut problems);
        for kind in &feature.floor {
            known_kind(kind, &mut problems);
        }
        for expectation in feature.offered.iter().chain(&feature.missing) {
            one_expectation(expectation, &mut names, &mut problems);
        }
    }
    // What a set-up captures is known to every case that comes after it.
    let mut known = shared;
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
    }
    if let Some(fuzz) = &manifest.fuzz {
        for (operation, requirement) in &fuzz.operations {
            known_operation(knowledge, operation, &mut problems);
            known_requirement(knowledge, requirement, &mut problems);
        }
        let mut names = Names { knowledge, known: known.clone() };
        for expectation in fuzz.answered.iter().chain(&fuzz.accepted) {
            one_expectation(expectation, &mut names, &mut problems);
        }
        steps(&fuzz.alive, &mut names, false, &mut problems);
    }
    let mut ids: BTreeMap<String, &Span> = BTreeMap::new();
    if knowledge.suites.iter().all(|suite| suite.cases.is_empty()) {
        problems.note(Diagnostic::new(&manifest.protocol.span, format!("there is no case for `{slug}`")));
    }
    for (transport, feature) in &manifest.transports {
        known_kind(transport, &mut problems);
        known_feature(knowledge, feature, &mut problems);
    }
    for (level, feature) in &manifest.beyond {
        known_level(knowledge, level, &mut problems);
        known_feature(knowledge, feature, &mut problems);
    }
    for suite in &knowledge.suites {
        if suite.name.value.split('/').next() != Some(slug) {
            problems.note(
                Diagnostic::new(&suite.name.span, format!("the suite `{}` is not of protocol `{slug}`", *suite.name))
                    .hint(format!("its name starts with `{slug}/`")),
            );
        }
    }
    for (suite, case) in knowledge.cases() {
        let id = format!("{}#{}", suite.name.value, case.name.value);
        if let Some(earlier) = ids.get(&id) {
            let message = format!("the case id `{id}` is used twice; first at {}", earlier.place());
            problems.note(Diagnostic::new(&case.name.span, message));
        }
        ids.insert(id, &case.name.span);
        one_case(case, knowledge, &known, &mut problems);
    }
    problems.0
}

/// The names that every case of a protocol knows.
fn shared(knowledge: &Knowledge) -> BTreeSet<&str> {
    let manifest = &knowledge.manifest;
    let told = knowledge.protocol.known_names().iter().copied();
    let captured = manifest.setup.iter().flat_map(|setup| &setup.steps).flat_map(|step| &step.capture);
    let captured = captured.map(|(name, _)| name.value.as_str());
    manifest.bindings.keys().map(String::as_str).chain(told).chain(captured).collect()
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

fn known_level(knowledge: &Knowledge, level: &Located<String>, problems: &mut Problems) {
    let levels = || knowledge.manifest.levels.iter().map(|level| level.value.as_str());
    if !levels().any(|known| known == level.value) {
        problems.note(
            Diagnostic::new(&level.span, format!("no level `{}`", **level)).did_you_mean(nearest(level, levels())),
        );
    }
}

fn known_feature(knowledge: &Knowledge, feature: &Located<String>, problems: &mut Problems) {
    let manifest = &knowledge.manifest;
    let names = || {
        let features = manifest.features.iter().map(|feature| feature.name.value.as_str());
        features.chain(manifest.levels.iter().map(|level| level.value.as_str()))
    };
    if !names().any(|known| known == feature.value) {
        problems.note(
            Diagnostic::new(&feature.span, format!("no feature and no level is called `{}`", **feature))
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
        known_kind(reach, problems);
    }
    let mut names = Names { knowledge, known: known.clone() };
    for (name, expr) in &case.bindings {
        names.expr(expr, problems);
        names.add(name, problems);
    }
    steps(&case.steps, &mut names, true, problems);
    let decides = |id: &str| {
        case.all_steps().iter().flat_map(|step| step.expect.iter().chain(&step.expect_all)).any(|expectation| {
            expectation.requirements.is_empty() || expectation.requirements.iter().any(|found| found.value == id)
        })
    };
    for id in &case.covers {
        if !decides(id) {
            problems.note(
                Diagnostic::new(&id.span, format!("no expectation of the case decides {}", **id))
                    .hint("a case that cannot fail shows nothing: add an `expect`"),
            );
        }
    }
    for expectation in case.all_steps().iter().flat_map(|step| step.expectations()) {
        for id in &expectation.requirements {
            known_requirement(knowledge, id, problems);
            if !case.covers.iter().any(|covered| covered.value == id.value) {
                problems.note(
                    Diagnostic::new(&id.span, format!("the case does not cover {}", **id))
                        .hint("name it under `covers` of the case as well"),
                );
            }
        }
    }
}

fn known_kind(kind: &Located<String>, problems: &mut Problems) {
    if !Transport::ALL.iter().any(|transport| transport.is_meant_by(kind)) {
        problems.note(
            Diagnostic::new(&kind.span, format!("no kind of target and no transport `{}`", **kind))
                .hint("one of endpoint, adapter, http, ws, tcp"),
        );
    }
}

fn known_requirement(knowledge: &Knowledge, id: &Located<String>, problems: &mut Problems) {
    match knowledge.catalogue.find(id) {
        None => {
            let ids = knowledge.catalogue.requirements.iter().map(|requirement| requirement.id.value.as_str());
            problems.note(
                Diagnostic::new(&id.span, format!("no requirement has the id {}", **id)).did_you_mean(nearest(id, ids)),
            );
        }
        Some(requirement) if requirement.testable == crate::requirement::Testable::No => {
            let why = requirement.why_not.as_deref().unwrap_or_default();
            problems.note(
                Diagnostic::new(&id.span, format!("{} cannot be tested", **id))
                    .hint(format!("the catalogue says: {why}")),
            );
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
                    .hint("lower-case letters, digits and _, and no name that templates have already"),
            );
        }
        self.known.insert(name);
    }

    fn expr(&mut self, expr: &Expr, problems: &mut Problems) {
        let objects = &self.knowledge.manifest.objects;
        expr.visit(&mut |words, span| {
            let first = words.first().map_or("", String::as_str);
            let function = functions(self.knowledge.protocol).any(|known| known == first);
            let references = words.iter().skip(1).filter_map(|word| word.strip_prefix('$'));
            let direct = (!function).then_some(first);
            for name in direct.into_iter().chain(references) {
                let name = name.split('/').next().unwrap_or(name);
                let fine = self.known.contains(name) || BUILT_IN.contains(&name) || objects.contains_key(name);
                if !fine {
                    let known = self.known.iter().map(|known| -> &str { known });
                    let candidates = known.chain(functions(self.knowledge.protocol).map(|known| -> &str { known }));
                    problems.note(
                        Diagnostic::new(span, format!("nothing is called `{name}` here"))
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
    if in_case && step.optional {
        problems.note(Diagnostic::new(&step.span, "only a set-up step can be `optional`"));
    }
    if step.over.is_some() && (step.until.is_some() || step.quiet.is_some()) {
        problems.note(Diagnostic::new(&step.span, "a step repeats over a list or over time, not both"));
    }
    if step.until.is_some() && step.expect.is_empty() {
        problems.note(Diagnostic::new(&step.span, "`until` needs expectations to wait for"));
    }
    match &step.action {
        Action::Send { operation, with, headers, edits, layout } => {
            let protocol = names.knowledge.protocol;
            if let Some(word) = layout
                && !protocol.layouts().contains(&word.as_str())
            {
                problems.note(
                    Diagnostic::new(&word.span, format!("no layout `{}`", **word))
                        .hint(format!("one of {}", protocol.layouts().join(", "))),
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
                        None => diagnostic.hint(format!("it has {}", known.collect::<Vec<_>>().join(", "))),
                    });
                }
                Some(found) => {
                    for (name, _) in with {
                        if found.input(name).is_none() {
                            let known: Vec<_> = found.inputs.iter().map(|input| input.name).collect();
                            problems.note(
                                Diagnostic::new(&name.span, format!("`{}` takes no `{}`", found.name, **name))
                                    .hint(format!("it takes {}", known.join(", "))),
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
                problems.note(Diagnostic::new(&step.span, "steps side by side repeat one by one: put `for` into them"));
            }
            // Steps side by side do not see what the others capture; later steps do.
            let before = names.known.clone();
            let mut after = before.clone();
            for child in children {
                names.known.clone_from(&before);
                one_step(child, names, in_case, problems);
                after.extend(names.known.iter());
            }
            names.known = after;
        }
        Action::Pause(_) => {}
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
    for (name, _) in &step.capture {
        names.add(name, problems);
    }
}

fn one_expectation(expectation: &Expectation, names: &mut Names<'_>, problems: &mut Problems) {
    names.expr(&expectation.argument, problems);
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

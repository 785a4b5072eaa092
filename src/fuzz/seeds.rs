//! Seeds: the well-formed messages of the suites. Each case that sends a message without a defect yields one seed: the steps
//! up to the one that sends the message, without expectations.

use std::collections::{BTreeMap, BTreeSet};

use crate::exchange::Transport;
use crate::judge::{Gate, gate};
use crate::matcher::{Compiler, Matcher};
use crate::suite::{Action, Case, Step, written};
use crate::value::Value;
use crate::walk::Context;

/// A message that a target accepts, and the steps before it.
#[derive(Clone, Debug)]
pub(super) struct Seed {
    /// Its case, with the transport.
    pub(super) id: String,
    /// What carries it.
    pub(super) transport: Transport,
    /// The operation of its last step.
    pub(super) operation: String,
    /// Names and their values.
    pub(super) bindings: Value,
    /// Features that the target must offer.
    pub(super) needs: Value,
    /// Steps as a suite writes them; the last one sends the message.
    pub(super) steps: Vec<Value>,
}

/// Seeds by transport, operation and [`kind`]: each of these is drawn with the same probability, however many messages it has.
pub(super) type Seeds = BTreeMap<(String, String), Vec<Vec<Seed>>>;

/// The seeds for a target whose features were probed.
pub(super) fn seeds(context: &Context<'_>) -> Seeds {
    let knowledge = context.plan.knowledge;
    let Some(fuzz) = &knowledge.manifest.fuzz else { return Seeds::new() };
    let mut families: BTreeMap<(String, String), BTreeMap<String, Vec<Seed>>> = BTreeMap::new();
    let mut texts: BTreeMap<String, Value> = BTreeMap::new();
    for suite in &knowledge.suites {
        let source = suite.name.span.source();
        // Vectors are not messages; their data are in JSON files.
        if source.name.ends_with(".yaml") {
            let cases = written(source).unwrap_or_default();
            texts.extend(cases.into_iter().map(|(name, value)| (format!("{}#{name}", suite.name.value), value)));
        }
    }
    let compiler = Compiler::new(knowledge.protocol.matchers());
    for ready in &context.plan.cases {
        let base = ready.id.split('@').next().unwrap_or_default();
        let Some(text) = texts.get(base) else { continue };
        if ready.case.is_sweep()
            || ready.case.without_setup
            || ready.case.ends_target
            || gate(context, ready) != Gate::Open
        {
            continue;
        }
        let needs_refusal = |matcher: &str| compiler.find(matcher).is_some_and(Matcher::needs_refusal);
        let named = |operation: &str| fuzz.operations.iter().any(|(named, _)| named.value == operation);
        let Some(seed) = seed(&ready.id, ready.case, text, ready.transport, &named, &needs_refusal) else { continue };
        let key = (ready.transport.name().to_owned(), seed.operation.clone());
        families.entry(key).or_default().entry(kind(&seed)).or_default().push(seed);
    }
    families.into_iter().map(|(key, families)| (key, families.into_values().collect())).collect()
}

/// The kind of a message, from its case: the members that the case sets, and the small numbers in it, which are mostly codes.
/// Most cases send the same message; kinds make sure that rare ones are chosen too.
fn kind(seed: &Seed) -> String {
    let mut words = BTreeSet::new();
    collect(seed.steps.last().unwrap_or(&Value::Null), &mut words);
    let mut codes = BTreeSet::new();
    collect(&seed.bindings, &mut codes);
    words.extend(codes.into_iter().filter(|word| word.starts_with(|first: char| first.is_ascii_digit())));
    words.into_iter().collect::<Vec<_>>().join(" ")
}

fn collect(value: &Value, words: &mut BTreeSet<String>) {
    match value {
        Value::Map(members) => {
            for (key, value) in members {
                words.extend(key.as_text().map(str::to_owned));
                collect(value, words);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, words)),
        Value::Integer(number) if (0..256).contains(number) => drop(words.insert(number.to_string())),
        _ => {}
    }
}

fn seed(
    id: &str,
    case: &Case,
    text: &Value,
    transport: Transport,
    named: &dyn Fn(&str) -> bool,
    needs_refusal: &dyn Fn(&str) -> bool,
) -> Option<Seed> {
    let is_message = |step: &Step| matches!(&step.action, Action::Send { operation, .. } if named(operation));
    let last = case.steps.iter().rposition(|step| is_message(step) && is_plain(step))?;
    if !case.steps[..=last].iter().all(is_plain) || case.steps[..last].iter().any(Step::has_edits) {
        return None;
    }
    // A message that is invalid without edits shows nothing of the edits of a fuzzer.
    if !case.steps[last].has_edits() && is_to_be_refused(&case.steps[last], needs_refusal) {
        return None;
    }
    let steps = text.member("steps")?.as_array()?.get(..=last)?;
    let bare = |(position, step): (usize, &Value)| {
        let mut step = step.clone();
        if let Value::Map(members) = &mut step {
            let dropped = ["edit", "expect", "expect-all", "assume", "collect-for"];
            members.retain(|(key, _)| !key.as_text().is_some_and(|key| dropped.contains(&key)));
            if position == last {
                members.retain(|(key, _)| key.as_text() != Some("capture"));
            }
        }
        step
    };
    let Action::Send { operation, .. } = &case.steps[last].action else { return None };
    Some(Seed {
        id: id.to_owned(),
        transport,
        operation: operation.value.clone(),
        bindings: text.member("let").cloned().unwrap_or(Value::Map(Vec::new().into())),
        needs: text.member("needs").cloned().unwrap_or(Value::Array(Vec::new().into())),
        steps: steps.iter().enumerate().map(bare).collect(),
    })
}

/// Whether a case needs a status of 400 or more, or a refusal of another form.
fn is_to_be_refused(step: &Step, needs_refusal: &dyn Fn(&str) -> bool) -> bool {
    let is_failure = |value: &Value| value.as_integer().is_some_and(|status| status >= 400);
    if step.expect.iter().any(|one| needs_refusal(&one.matcher)) {
        return true;
    }
    step.assume.iter().chain(&step.expect).filter(|one| one.at.value.to_string() == "/status").any(|one| {
        one.argument.constant().is_some_and(|argument| match one.matcher.as_str() {
            "equals" => is_failure(argument),
            "one-of" => argument.as_array().is_some_and(|all| all.iter().all(is_failure)),
            "within" => argument.member("min").is_some_and(is_failure),
            _ => false,
        })
    })
}

/// Whether a step sends one message and waits for its answer.
fn is_plain(step: &Step) -> bool {
    let once = step.over.is_none() && step.until.is_none() && step.quiet.is_none();
    once && !step.without_waiting && matches!(step.action, Action::Send { .. })
}

//! Oracles: the first evaluation of the answer to an input, before it is confirmed.

use super::Kind;
use crate::exchange::{Ended, Exchange};
use crate::matcher::Outcome;
use crate::plan::compile;
use crate::protocol::Defect;
use crate::suite::Expectation;
use crate::value::Value;
use crate::walk::Context;

/// A suspicion about an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Suspicion {
    /// What the target did.
    pub(super) kind: Kind,
    /// The requirement that it breaks, if it is not the one of the operation.
    pub(super) requirement: Option<&'static str>,
    /// Whether the target was gone before the message, so that the message shows nothing.
    pub(super) is_gone: bool,
    /// A predicate that follows the name of the target in a sentence.
    pub(super) words: String,
}

/// The suspicion that the answer to an edited message raises, if any.
pub(super) fn suspect(context: &Context<'_>, exchange: &Exchange) -> Option<Suspicion> {
    let fuzz = context.plan.knowledge.manifest.fuzz.as_ref()?;
    let protocol = context.plan.knowledge.protocol;
    let seen_in = context.observation_context(exchange.sent.transport);
    let survival = |words: String| Some(Suspicion { kind: Kind::Survival, requirement: None, is_gone: false, words });
    let waits = exchange.sent.transport.is_channel();
    match &exchange.received.ended {
        Ended::Closed(why) if !waits => return survival(format!("drops the connection: {why}")),
        Ended::TimedOut if !waits => return survival("does not answer in time".to_owned()),
        Ended::Unreachable(why) => {
            let found = survival(format!("is unreachable: {why}"));
            return found.map(|found| Suspicion { is_gone: true, ..found });
        }
        _ => {}
    }
    let seen = protocol.observe(exchange, &seen_in);
    if !hold(context, &fuzz.answered, &seen) {
        return survival(format!("answers with an internal error: {}", answer(context, exchange)));
    }
    if hold(context, &fuzz.accepted, &seen) {
        let Defect { requirement, because } = protocol.oracle()?.defect(exchange, &seen_in)?;
        let words = format!("accepts a message that has {because}");
        return Some(Suspicion { kind: Kind::Refusal, requirement: Some(requirement), is_gone: false, words });
    }
    None
}

/// Whether all expectations hold for an observation.
fn hold(context: &Context<'_>, expectations: &[Expectation], seen: &Value) -> bool {
    expectations.iter().all(|expectation| {
        let argument = expectation.argument.constant();
        let check = argument.and_then(|argument| compile(context.plan.knowledge.protocol, expectation, argument).ok());
        check.is_some_and(|check| matches!(check.check(seen), Outcome::Holds(_)))
    })
}

/// The kind of an answer, in a few words: inputs with the same kind of answer have the same words.
pub(super) fn answer(context: &Context<'_>, exchange: &Exchange) -> String {
    let seen_in = context.observation_context(exchange.sent.transport);
    let seen = context.plan.knowledge.protocol.observe(exchange, &seen_in);
    let mut words = Vec::new();
    for name in ["outcome", "status", "code", "refusal"] {
        if let Some(value) = seen.member(name) {
            let text = value.as_text().map_or_else(|| crate::wire::show(value), str::to_owned);
            words.push(format!("{name} {text}"));
        }
    }
    let ended = match &exchange.received.ended {
        Ended::Complete => None,
        Ended::TooLong => Some("too long"),
        Ended::TimedOut => Some("no answer in time"),
        Ended::Closed(_) => Some("closed"),
        Ended::Unreachable(_) | Ended::NotSent(_) => Some("unreachable"),
    };
    words.extend(ended.map(str::to_owned));
    if words.is_empty() { "an answer".to_owned() } else { words.join(", ") }
}

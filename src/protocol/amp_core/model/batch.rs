//! Batches: each item is processed as if it had come alone (section 4.5, E55).

use super::delivery::{is_remembered, those};
use super::expect::{Step, flag, map, no_reply, number, plain, small, some_reply, text};
use super::message::{Kind, LASTING, Message, Standing, bindings, fresh, id, name, party};
use super::state::{AREAS, State};
use crate::protocol::{Choices, Move, Offers, Predicted};
use crate::value::Value;

pub(super) fn propose(state: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    // Some targets answer the container alone, so sequences differ in whether they have batches.
    if !offers.has("batch") || choices.mood() / AREAS.len() % 3 != 1 {
        return None;
    }
    let mut step = vec![("do", text("batch")), ("n", number(state.next))];
    if choices.one_in(3) {
        step.push(("from", number(1)));
    }
    let known = those(state, may_be_item);
    if choices.one_in(2)
        && let Some(known) = choices.pick(&known)
    {
        step.push(("known", number(*known)));
    }
    if choices.one_in(3) {
        step.push(("forged", Value::Bool(true)));
    }
    if choices.one_in(2) {
        step.push(("first", Value::Bool(true)));
    }
    Some(Value::map(step))
}

/// Whether a known message can be an item: its bytes are known.
fn may_be_item(message: &Message) -> bool {
    is_remembered(message) && !message.is_sealed() && message.kind() != Kind::Ping
}

/// A BATCH with a new message, and with a known or a forged one.
pub(super) fn batch(state: &mut State, given: &Move) -> Option<Predicted> {
    let n = small(given, "n");
    if state.messages.contains_key(&n) {
        return None;
    }
    let mut new = Message::new(&map([("from", number(small(given, "from").min(1)))]));
    let container = format!("k{n}");
    let from = party(new.sender());
    let mut made = bindings(&new.given, n);
    let mut items = Vec::new();
    let reply_to = |id: Value| plain("/message/reply_to", "equals", id);
    let is_error = || plain("/name", "equals", text("ERROR"));
    let mut expect = vec![no_reply("AMP-4.5-03", vec![reply_to(id(n)), is_error()])];
    let mut needs = vec!["batch"];
    let mut transition = "batch: a new message";
    if given.member("known").is_some() {
        let m = small(given, "known");
        let known = state.messages.get(&m).filter(|message| may_be_item(message))?;
        needs.extend(known.needs());
        transition = "batch: a known message";
        items.push(text(format!("${{signed $m{m} ${}}}", party(known.sender()))));
        expect.push(no_reply("AMP-4.5-03", vec![reply_to(id(m)), is_error()]));
        if known.kind() == Kind::Count {
            transition = "batch: a known request for the number of requests";
            let same = plain("/body/count", "equals", text(format!("${{c{m}}}")));
            let other = vec![reply_to(id(m)), plain("/body/count", "exists", Value::Bool(true)), map([("not", same)])];
            expect.push(no_reply("AMP-8.4-05", other));
        }
    }
    if flag(given, "forged") {
        if given.member("known").is_none() {
            transition = "batch: a forged message";
        }
        let set = [("/from", text(format!("${{did ${from}}}"))), ("/ttl", number(LASTING))];
        made.push((format!("g{n}"), map([("base", text("base")), ("set", map(set))])));
        items.push(text(format!("${{signed $g{n} mallory}}")));
        let of_forged = || reply_to(text(format!("${{g{n}/id}}")));
        expect.push(no_reply("AMP-4.5-03", vec![of_forged(), map([("not", is_error())])]));
        let is_1002 = plain("/body/code", "equals", number(1002));
        expect.push(no_reply("AMP-4.5-03", vec![of_forged(), map([("not", is_1002)])]));
    }
    let own = text(format!("${{signed ${} ${from}}}", name(n)));
    let place = if flag(given, "first") { 0 } else { items.len() };
    items.insert(place, own);
    let set = map([
        ("/from", text(format!("${{did ${from}}}"))),
        ("/ttl", number(LASTING)),
        ("/typ", number(22)),
        ("/body", map([("items", Value::Array(items.into()))])),
    ]);
    made.push((container.clone(), map([("base", text("base")), ("set", set)])));
    made.push(fresh(&from));
    new.standing = Standing::Taken;
    state.next = state.next.max(n + 1);
    state.messages.insert(n, new);
    state.effects = None;
    // That an item is answered shows that it was processed. Some targets answer the container alone, or one item (E55).
    let assume = vec![some_reply(vec![reply_to(id(n))])];
    let step = Step {
        party: from.clone(),
        operation: "deliver",
        with: vec![("message", text(format!("${{{container}}}"))), ("key", text(format!("${{{from}}}")))],
        assume,
        expect,
        more: vec![("collect-for", text("300ms"))],
        ..Step::default()
    };
    Some(Predicted { transition, needs, bindings: made, steps: vec![step.written()] })
}

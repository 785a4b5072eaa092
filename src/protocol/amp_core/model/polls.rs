//! What a relay offers to those who poll (RFC 002 section 6.2, E74).

use super::expect::{Step, any_of, at, flag, map, no_reply, number, plain, reading, some_reply, text};
use super::message::fresh;
use super::relay::{id, is_relay, reader, reader_name, sender_name};
use super::state::State;
use super::waiting::{Fate, READERS, Waiting};
use crate::protocol::{Choices, Move, Offers, Predicted};
use crate::value::Value;

/// The most pages that are fetched one after the other.
const PAGES: usize = 13;

pub(super) fn propose_poll(state: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    if !is_relay(offers) {
        return None;
    }
    let reader = choices.below(READERS);
    if !is_known(state, reader) {
        return None;
    }
    let mut step = vec![("do", text("poll"))];
    if reader == 1 {
        step.push(("reader", number(1)));
    }
    if choices.one_in(3) && walks(state, reader).is_some() {
        step.push(("pages", Value::Bool(true)));
    }
    Some(Value::map(step))
}

/// Whether something was sent to a reader.
fn is_known(state: &State, reader: usize) -> bool {
    state.many[reader] > 0 || state.queue.values().any(|one| one.to.contains(&reader))
}

/// The number of pages with one message each, where it is certain.
fn walks(state: &State, reader: usize) -> Option<usize> {
    let is_settled = |one: &Waiting| !one.acknowledged.contains(&reader) && one.fate != Fate::Brief;
    let is_certain = !state.busy[reader] && !state.has_copies[reader] && state.queue.values().all(is_settled);
    let count = state.queue.values().filter(|one| one.waits_for(reader)).count() + state.many[reader];
    (is_certain && (1..=PAGES).contains(&count)).then_some(count)
}

/// What waits for a reader is offered, and nothing else.
pub(super) fn poll(state: &mut State, given: &Move) -> Option<Predicted> {
    let reader = reader(given);
    if !is_known(state, reader) {
        return None;
    }
    let name = reader_name(reader);
    if flag(given, "pages") {
        let count = walks(state, reader)?;
        return Some(pages(state, reader, count));
    }
    let expect = offered(state, reader);
    // A relay may take a moment to store what it accepted.
    let more = if expect.is_empty() { Vec::new() } else { vec![("until", text("3s"))] };
    for one in state.queue.values_mut().filter(|one| one.to.contains(&reader)) {
        one.seen.insert(reader);
    }
    let step = Step {
        party: name.clone(),
        operation: "poll",
        with: vec![("principal", text(format!("${{did ${name}}}"))), ("limit", number(50))],
        assume: vec![answered()],
        expect,
        more,
        ..Step::default()
    };
    let is_seen = state.seen[reader];
    state.seen[reader] = true;
    Some(Predicted {
        transition: if is_seen { "poll: again" } else { "poll: the first time" },
        needs: vec!["relay", "poll"],
        bindings: vec![fresh(&name)],
        steps: vec![step.written()],
    })
}

/// The relay answers the poll, or refuses it as malformed, which it is not. Any other status may have reasons of its own.
fn answered() -> Value {
    plain("/status", "one-of", Value::array([200, 400].map(number)))
}

/// Finds a message in a page: its id, and its sender where another one used the id.
fn same(n: usize, one: &Waiting) -> Vec<Value> {
    let mut found = vec![plain("/message/id", "equals", id(n))];
    if one.has_twin {
        found.push(plain("/message/from", "equals", text(format!("${{did ${}}}", sender_name(one.from)))));
    }
    if one.is_disturbed {
        found.push(plain("/body", "equals", text(format!("${{q{n}/body}}"))));
    }
    found
}

fn offered(state: &State, reader: usize) -> Vec<Value> {
    let mut expect = vec![at("AMP-002.6.2-01", "/status", "equals", number(200))];
    let more = || reading("more on further pages", vec![plain("/body/has_more", "equals", Value::Bool(true))]);
    let waiting = || state.queue.iter().filter(|(_, one)| one.waits_for(reader));
    let reason = |one: &Waiting| match one {
        _ if one.has_twin => "AMP-16.2-04",
        _ if one.seen.contains(&reader) => "AMP-16.5-02",
        _ => "AMP-8.3-18",
    };
    for requirement in ["AMP-16.2-04", "AMP-16.5-02", "AMP-8.3-18"] {
        let due = waiting().filter(|(_, one)| reason(one) == requirement);
        let all: Vec<Value> = due.map(|(n, one)| some_reply(same(*n, one))).collect();
        if !all.is_empty() {
            expect.push(any_of(requirement, vec![reading("all that waits", all), more()]));
        }
    }
    let count = waiting().count() + state.many[reader];
    if state.many[reader] > 0 {
        let all = plain("/body/messages", "length", map([("min", number(count))]));
        expect.push(any_of("AMP-8.3-18", vec![reading("all that waits", vec![all]), more()]));
    }
    // Of fewer than two messages it decides nothing, so the step would be repeated until its time is up.
    if count > 1 && !state.has_copies[reader] {
        expect.push(at("AMP-002.6.2-07", "/body/messages", "distinct", Value::map(Vec::<(String, Value)>::new())));
    }
    for (n, one) in &state.queue {
        match one.fate {
            _ if !one.to.contains(&reader) => expect.push(no_reply("AMP-002.6.2-07", same(*n, one))),
            Fate::Expired => expect.push(no_reply("AMP-8.3-19", same(*n, one))),
            Fate::Immediate => expect.push(no_reply("AMP-8.3-09", same(*n, one))),
            // A relay may write into ext (E90), and nothing else.
            Fate::Stored if one.is_disturbed => {}
            Fate::Brief => {}
            Fate::Stored => {
                let mut changed = same(*n, one);
                let whole = plain("/hex", "equals", text(format!("${{hex_of $b{n}}}")));
                changed.extend([map([("not", whole)]), plain("/message/ext", "exists", Value::Bool(false))]);
                expect.push(no_reply("AMP-002.6.2-03", changed));
            }
        }
    }
    expect
}

/// Every message on a page of its own: the cursor of each page leads to the next one, and the pages end.
fn pages(state: &mut State, reader: usize, count: usize) -> Predicted {
    let name = reader_name(reader);
    let walk = state.capture();
    let mut steps = Vec::new();
    for page in 0..count {
        let is_last = page + 1 == count;
        let mut with = vec![("principal", text(format!("${{did ${name}}}"))), ("limit", number(1))];
        if page > 0 {
            with.push(("cursor", text(format!("${{cursor{walk}_{page}}}"))));
        }
        let mut expect = vec![
            at("AMP-002.6.2-01", "/status", "equals", number(200)),
            at("AMP-002.6.2-01", "/body/messages", "length", number(1)),
            at("AMP-002.6.2-04", "/body/has_more", "equals", Value::Bool(!is_last)),
        ];
        let earlier = (0..page).map(|earlier| text(format!("${{page{walk}_{earlier}}}")));
        if page > 0 {
            let repeated = map([("one-of", Value::array(earlier))]);
            expect.push(at("AMP-002.6.2-05", "/body/messages", "none", repeated));
        }
        let mut capture = Vec::new();
        if !is_last {
            expect.push(at("AMP-002.6.2-04", "/body/next_cursor", "type", text("string")));
            capture.push((format!("page{walk}_{page}"), text("/body/messages/0")));
            capture.push((format!("cursor{walk}_{}", page + 1), text("/body/next_cursor")));
        }
        let step = Step {
            party: name.clone(),
            operation: "poll",
            with,
            assume: vec![answered()],
            expect,
            capture,
            more: if page == 0 { vec![("until", text("3s"))] } else { Vec::new() },
        };
        steps.push(step.written());
    }
    for one in state.queue.values_mut().filter(|one| one.to.contains(&reader)) {
        one.seen.insert(reader);
    }
    Predicted { transition: "poll: page by page", needs: vec!["relay", "poll"], bindings: vec![fresh(&name)], steps }
}

/// Every reader polls.
pub(super) fn read_back(state: &State) -> Vec<Move> {
    let known = (0..READERS).filter(|reader| is_known(state, *reader));
    let poll = |reader: usize| map([("do", text("poll")), ("reader", number(reader))]);
    known.map(poll).collect()
}

//! Messages that a relay stores for others, until they acknowledge them (sections 8.3 and 16.5).

use std::collections::BTreeSet;

use super::expect::{Step, any_of, flag, map, no_reply, number, plain, reading, refused, small, text, word};
use super::message::{LASTING, fresh, party};
use super::state::State;
use super::waiting::{Fate, READERS, Sender, Waiting};
use crate::exchange::Transport;
use crate::protocol::{Choices, Move, Offers, Predicted};
use crate::value::Value;

/// The name of a reader.
pub(super) fn reader_name(reader: usize) -> String {
    format!("r{reader}")
}

/// The name of the sender of a stored message.
pub(super) fn sender_name(from: Sender) -> String {
    match from {
        Sender::Party(number) => party(number),
        Sender::Reader(reader) => reader_name(reader),
    }
}

/// The reader of a move.
pub(super) fn reader(step: &Move) -> usize {
    small(step, "reader").min(READERS - 1)
}

/// The ttl of a message that expires soon, in milliseconds.
const BRIEF: i128 = 3_000;

/// Whether messages to others can be stored and fetched over this transport.
pub(super) fn is_relay(offers: &dyn Offers) -> bool {
    offers.transport() == Transport::Http && offers.has("relay") && offers.has("poll")
}

/// The reference to the id of a stored message.
pub(super) fn id(n: usize) -> Value {
    text(format!("${{q{n}/id}}"))
}

/// Types of messages that a relay stores like any other, each with a body (section 4.4).
const TYPES: &[(&str, i128)] =
    &[("ack", 3), ("proc-ok", 4), ("proc-fail", 5), ("error", 15), ("request", 17), ("response", 18)];

fn body(kind: &str) -> Value {
    match kind {
        "ack" => map([("ack_source", text("recipient")), ("received_at", text("${now}"))]),
        "proc-ok" => Value::map(Vec::<(String, Value)>::new()),
        "proc-fail" => map([("error", text("proofmark"))]),
        "error" => temporary_error(),
        "request" => map([("op", text("echo")), ("data", text("proofmark"))]),
        _ => map([("data", text("proofmark"))]),
    }
}

/// The body of an ERROR that allows a retry.
fn temporary_error() -> Value {
    map([
        ("code", number(5004)),
        ("category", text("server")),
        ("message", text("overloaded")),
        ("retry", Value::Bool(true)),
    ])
}

pub(super) fn propose_store(state: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    if !is_relay(offers) {
        return None;
    }
    let mut step = vec![("do", text("store")), ("n", number(state.next_stored))];
    if choices.one_in(3) {
        step.push(("reader", number(1)));
    }
    match choices.below(10) {
        6 => step.push(("body", text("same"))),
        7 => step.push(("fate", text("brief"))),
        0 => step.push(("both", Value::Bool(true))),
        1 => step.push(("fate", text("expired"))),
        2 => step.push(("fate", text("immediate"))),
        3 => step.push(("type", text(choices.pick(TYPES)?.0))),
        5 => step.push(("own", Value::Bool(true))),
        4 => step.push(("size", number(*choices.pick(&[0, 1, 24, 256, 5000, 70_000])?))),
        _ => {}
    }
    let alone: Vec<usize> = state.queue.iter().filter(|(_, one)| one.is_plain()).map(|(n, _)| *n).collect();
    if choices.one_in(3) {
        step.push(("reordered", Value::Bool(true)));
    }
    match choices.pick(&alone).filter(|_| choices.one_in(5)) {
        Some(like) if !step.iter().any(|(name, _)| ["fate", "own"].contains(name)) => {
            step.push(("from", number(usize::from(state.queue[like].from == Sender::Party(0)))));
            step.push(("like", number(*like)));
        }
        _ if choices.one_in(3) => step.push(("from", number(1))),
        _ => {}
    }
    Some(Value::map(step))
}

/// The stored message has the id that was acknowledged before it came.
fn set_id_known_before(bindings: &mut [(String, Value)], n: usize) {
    let name = format!("q{n}");
    if let Some((_, built)) = bindings.iter_mut().find(|(known, _)| *known == name)
        && let Some(mut set) = built.member("set").cloned()
    {
        set.set_member("/id", text(format!("${{ahead{n}}}")));
        built.set_member("set", set);
    }
}

pub(super) fn propose_disturb(state: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    if !is_relay(offers) {
        return None;
    }
    let known: Vec<usize> = state.queue.iter().filter(|(_, one)| one.is_plain()).map(|(n, _)| *n).collect();
    let how = choices.pick(&["forged", "other content"])?;
    Some(map([("do", text("disturb")), ("n", number(*choices.pick(&known)?)), ("how", text(*how))]))
}

/// A forgery of a stored message, or other content under its id: whatever becomes of it, the stored one stays (section 8.3).
pub(super) fn disturb(state: &mut State, given: &Move) -> Option<Predicted> {
    let n = small(given, "n");
    let capture = state.capture();
    let one = state.queue.get_mut(&n).filter(|one| one.is_plain())?;
    one.is_disturbed = true;
    for reader in &one.to {
        // A relay may store it beside the other one.
        state.busy[*reader] = true;
    }
    let mallory = format!("x{capture}");
    let sender = sender_name(one.from);
    let key = if word(given, "how") == Some("forged") { mallory.clone() } else { sender.clone() };
    let other = map([("base", text(format!("q{n}"))), ("set", map([("/body", map([("msg", text("pm disturbed"))]))]))]);
    let step = Step {
        party: sender,
        operation: "submit",
        with: vec![("message", other), ("key", text(format!("${{{key}}}")))],
        assume: vec![plain("/outcome", "type", text("string"))],
        ..Step::default()
    };
    Some(Predicted {
        transition: "store: other content under a known id",
        needs: vec!["relay", "poll"],
        bindings: vec![fresh(&mallory)],
        steps: vec![step.written()],
    })
}

/// A message to one reader or to both is accepted for delivery, or refused if it cannot be kept.
pub(super) fn store(state: &mut State, given: &Move) -> Option<Predicted> {
    let n = small(given, "n");
    if state.queue.contains_key(&n) {
        return None;
    }
    // A reader may send a message to itself.
    let own = flag(given, "own").then(|| reader(given));
    let from = own.map_or(Sender::Party(small(given, "from").min(1)), Sender::Reader);
    let to: BTreeSet<usize> = if flag(given, "both") { (0..READERS).collect() } else { [reader(given)].into() };
    let fate = match word(given, "fate") {
        Some("expired") => Fate::Expired,
        Some("brief") => Fate::Brief,
        Some("immediate") => Fate::Immediate,
        _ => Fate::Stored,
    };
    let has_twin = given.member("like").is_some();
    if has_twin && own.is_some() {
        return None;
    }
    if has_twin {
        let like = state.queue.get_mut(&small(given, "like"))?;
        if fate != Fate::Stored || !like.is_plain() || like.from == from {
            return None;
        }
        like.has_twin = true;
    }
    // That the relay takes messages for the reader at all was seen before.
    let is_served =
        |state: &State| state.queue.values().any(|one| one.fate == Fate::Stored && !one.to.is_disjoint(&to));
    if fate == Fate::Immediate && !is_served(state) {
        return None;
    }
    let sender = sender_name(from);
    let mut bindings = vec![fresh(&sender)];
    bindings.extend(to.iter().map(|reader| fresh(&reader_name(*reader))));
    let dids: Vec<Value> = to.iter().map(|reader| text(format!("${{did $r{reader}}}"))).collect();
    let to_value = if let [only] = dids.as_slice() { only.clone() } else { Value::Array(dids.into()) };
    let mut set = vec![("/from", text(format!("${{did ${sender}}}"))), ("/to", to_value), ("/ttl", number(LASTING))];
    match fate {
        Fate::Stored if has_twin => set.push(("/id", id(small(given, "like")))),
        Fate::Stored => {}
        Fate::Brief => set[2].1 = number(BRIEF),
        Fate::Expired => {
            bindings.push(("long_ago".to_owned(), text("${ms -1h}")));
            set.extend([("/ts", text("${long_ago}")), ("/id", text("${message_id $long_ago}"))]);
            set[2].1 = number(5_000);
        }
        Fate::Immediate => {
            bindings.push(("soon".to_owned(), text("${ms 15s}")));
            set.extend([("/ts", text("${soon}")), ("/id", text("${message_id $soon}"))]);
            set[2].1 = number(0);
        }
    }
    if let Some((kind, typ)) = TYPES.iter().find(|(kind, _)| Some(*kind) == word(given, "type")) {
        set.extend([("/typ", number(*typ)), ("/reply_to", text("${message_id $now}")), ("/body", body(kind))]);
    } else if given.member("size").is_some() {
        set.push(("/body", text(format!("${{random_bytes {}}}", small(given, "size").min(100_000)))));
    }
    if word(given, "body").is_some() && given.member("size").is_none() && given.member("type").is_none() {
        set.push(("/body", map([("msg", text("pm same"))])));
    }
    bindings.push((format!("q{n}"), map([("base", text("base")), ("set", Value::map(set))])));
    if flag(given, "reordered") && given.member("type").is_none() {
        // The first of nine members is the last one, where no encoder writes it.
        bindings.push((format!("p{n}"), text(format!("${{signed $q{n} ${sender}}}"))));
        bindings.push((format!("rest{n}"), text(format!("${{slice $p{n} 4}}"))));
        bindings.push((format!("b{n}"), text(format!("${{bytes a9 $rest{n} 617601}}"))));
    } else {
        bindings.push((format!("b{n}"), text(format!("${{signed $q{n} ${sender}}}"))));
    }
    let answers = plain("/message/reply_to", "equals", id(n));
    let mut expect = vec![not_as_recipient(Some(answers))];
    let mut assume = Vec::new();
    let transition = match fate {
        Fate::Stored => {
            assume.push(plain("/outcome", "not-equals", text("refused")));
            match (to.len(), word(given, "type")) {
                _ if has_twin => "store: an id that another sender used",
                (2.., _) => "store: a message to two readers",
                (_, Some(_)) => "store: a message of another type",
                _ => "store: a message",
            }
        }
        Fate::Expired => "store: an expired message",
        Fate::Brief => "store: a message that expires soon",
        Fate::Immediate => {
            // A sequence may take longer than until the message expires.
            let error = reading("an ERROR", vec![refused(&[2003, 1003, 2004], &[])]);
            let status = plain("/status", "one-of", Value::array([number(429), number(503)]));
            expect.push(any_of("AMP-8.3-11", vec![error, reading("the equivalent HTTP status", vec![status])]));
            "store: a message for immediate delivery"
        }
    };
    if state.ahead.contains(&n) && fate == Fate::Stored && !has_twin {
        set_id_known_before(&mut bindings, n);
    }
    if let Some(reader) = own {
        state.busy[reader] = true;
    }
    state.next_stored = state.next_stored.max(n + 1);
    state.queue.insert(
        n,
        Waiting {
            from,
            to,
            acknowledged: BTreeSet::new(),
            seen: BTreeSet::new(),
            fate,
            pauses: 0,
            has_twin,
            is_disturbed: false,
        },
    );
    let step = Step {
        party: sender,
        operation: "submit",
        with: vec![("message", text(format!("${{b{n}}}")))],
        assume,
        expect,
        ..Step::default()
    };
    Some(Predicted { transition, needs: vec!["relay", "poll"], bindings, steps: vec![step.written()] })
}

/// No ACK of the relay itself says `recipient`, because it stores the message for others. ACKs that other parties sent, even ahead of
/// the message, may be polled with the answer.
fn not_as_recipient(of: Option<Value>) -> Value {
    let of_recipient = plain("/body/ack_source", "equals", text("recipient"));
    let by_relay = plain("/message/from", "matches", text("^${target}(#.*)?$"));
    no_reply("AMP-16.1-17", of.into_iter().chain([of_recipient, by_relay]).collect())
}

pub(super) fn propose_many(_: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    if !is_relay(offers) {
        return None;
    }
    let mut step = vec![("do", text("store many")), ("count", number(*choices.pick(&[11, 12, 25])?))];
    if choices.one_in(3) {
        step.push(("reader", number(1)));
    }
    Some(Value::map(step))
}

/// Many messages to one reader.
pub(super) fn store_many(state: &mut State, given: &Move) -> Option<Predicted> {
    let reader = reader(given);
    let count = small(given, "count").clamp(1, 40);
    state.many[reader] += count;
    let name = reader_name(reader);
    let set = [("/from", text("${did $s0}")), ("/to", text(format!("${{did ${name}}}"))), ("/ttl", number(LASTING))];
    let step = Step {
        party: party(0),
        operation: "submit",
        with: vec![("message", map([("base", text("base")), ("set", map(set))])), ("key", text("${s0}"))],
        assume: vec![plain("/outcome", "not-equals", text("refused"))],
        expect: vec![not_as_recipient(None)],
        more: vec![("repeat", number(count))],
        ..Step::default()
    };
    Some(Predicted {
        transition: "store: more than ten messages",
        needs: vec!["relay", "poll"],
        bindings: vec![fresh("s0"), fresh(&name)],
        steps: vec![step.written()],
    })
}

pub(super) fn propose_acknowledge(state: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    if !is_relay(offers) {
        return None;
    }
    let reader = choices.below(READERS);
    if choices.one_in(8) {
        return Some(map([
            ("do", text("acknowledge ahead")),
            ("n", number(state.next_stored)),
            ("reader", number(reader)),
        ]));
    }
    let gone = |one: &Waiting| one.acknowledged.contains(&reader);
    let again: Vec<usize> = state.queue.iter().filter(|(_, one)| gone(one)).map(|(n, _)| *n).collect();
    if choices.one_in(4)
        && let Some(n) = choices.pick(&again)
    {
        return Some(map([("do", text("acknowledge")), ("n", number(*n)), ("reader", number(reader))]));
    }
    let offered = |one: &Waiting| one.waits_for(reader) && one.seen.contains(&reader);
    let known: Vec<usize> = state.queue.iter().filter(|(_, one)| offered(one)).map(|(n, _)| *n).collect();
    let mut step = vec![("do", text("acknowledge")), ("n", number(*choices.pick(&known)?))];
    if reader == 1 {
        step.push(("reader", number(1)));
    }
    if choices.one_in(2) {
        step.push(("who", text(*choices.pick(&["stranger", "forger", "error"])?)));
    }
    Some(Value::map(step))
}

/// The ACK of a recipient ends the custody for it; that of a stranger, a forged one, and an ERROR that allows a retry do not.
pub(super) fn acknowledge(state: &mut State, given: &Move) -> Option<Predicted> {
    let n = small(given, "n");
    let reader = reader(given);
    let capture = state.capture();
    let one = state.queue.get_mut(&n).filter(|one| one.waits_for(reader) || one.acknowledged.contains(&reader))?;
    if !one.seen.contains(&reader) {
        return None;
    }
    let is_again = one.acknowledged.contains(&reader);
    let name = reader_name(reader);
    let stranger = format!("x{capture}");
    let (transition, from, key, typ, body) = match word(given, "who") {
        Some("stranger") => ("acknowledge: by a stranger", stranger.clone(), stranger.clone(), 3, body("ack")),
        Some("forger") => ("acknowledge: forged", name, stranger.clone(), 3, body("ack")),
        Some("error") => ("acknowledge: an ERROR that allows a retry", name.clone(), name, 15, temporary_error()),
        _ if is_again => ("acknowledge: a second time", name.clone(), name, 3, body("ack")),
        _ => ("acknowledge: by the recipient", name.clone(), name, 3, body("ack")),
    };
    let is_own = typ == 3 && key == reader_name(reader);
    let from_sender = one.from;
    if is_own && one.has_twin {
        // An ACK names the id alone, so a relay may take it for each message that has the id.
        state.queue.values_mut().filter(|one| one.has_twin).for_each(|one| {
            one.acknowledged.insert(reader);
        });
    } else if is_own {
        one.acknowledged.insert(reader);
    }
    let set = [
        ("/from", text(format!("${{did ${from}}}"))),
        ("/to", text(format!("${{did ${}}}", sender_name(from_sender)))),
        ("/ttl", number(LASTING)),
        ("/typ", number(typ)),
        ("/reply_to", id(n)),
        ("/body", body),
    ];
    state.busy[reader] |= key == reader_name(reader);
    let step = Step {
        party: key.clone(),
        operation: "submit",
        with: vec![("message", map([("base", text("base")), ("set", map(set))])), ("key", text(format!("${{{key}}}")))],
        // A relay that refuses the ACK has not been told anything.
        assume: vec![plain("/outcome", "type", text("string"))],
        ..Step::default()
    };
    Some(Predicted {
        transition,
        needs: vec!["relay", "poll"],
        bindings: vec![fresh(&stranger)],
        steps: vec![step.written()],
    })
}

/// A stranger acknowledges a message before it comes, which means nothing.
pub(super) fn acknowledge_ahead(state: &mut State, given: &Move) -> Option<Predicted> {
    let n = small(given, "n");
    if state.queue.contains_key(&n) || !state.ahead.insert(n) {
        return None;
    }
    let stranger = format!("x{}", state.capture());
    let set = [
        ("/from", text(format!("${{did ${stranger}}}"))),
        ("/to", text("${did $s0}")),
        ("/ttl", number(LASTING)),
        ("/typ", number(3)),
        ("/reply_to", text(format!("${{ahead{n}}}"))),
        ("/body", body("ack")),
    ];
    let step = Step {
        party: stranger.clone(),
        operation: "submit",
        with: vec![
            ("message", map([("base", text("base")), ("set", map(set))])),
            ("key", text(format!("${{{stranger}}}"))),
        ],
        assume: vec![plain("/outcome", "type", text("string"))],
        ..Step::default()
    };
    Some(Predicted {
        transition: "acknowledge: before it comes",
        needs: vec!["relay", "poll"],
        bindings: vec![fresh("s0"), fresh(&stranger), (format!("ahead{n}"), text("${message_id $now}"))],
        steps: vec![step.written()],
    })
}

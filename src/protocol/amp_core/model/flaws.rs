//! Messages that are refused, under ids that are new or known (sections 4.1, 8.2, 8.3, 13.1 and 13.4, E31, E47).

use super::delivery::{is_remembered, those, watches, without_effect};
use super::expect::no_reply;
use super::expect::{
    Step, accepted, any_of, covering, map, plain, reading, refused, refused_somehow, small, text, word,
};
use super::message::{Kind, Message, Standing, arguments, bindings, name, party, whole};
use super::state::State;
use crate::protocol::{Choices, Move, Offers, Predicted};
use crate::value::Value;

/// What is wrong with a message.
struct Flaw {
    name: &'static str,
    transition: &'static str,
    /// The transition under an id that is known.
    transition_known: &'static str,
    /// The requirement that it is refused.
    requirement: &'static str,
    /// The requirement that the message itself is accepted afterwards.
    after: &'static str,
    codes: &'static [i128],
    tolerated: &'static [(&'static str, i128)],
    /// Whether it has the id of the message: a flaw of the id or of the time has another one.
    has_its_id: bool,
}

const FLAWS: &[Flaw] = &[
    Flaw {
        name: "forged",
        transition: "refuse: a forgery",
        transition_known: "refuse: a forgery of a known message",
        requirement: "AMP-8.2-06",
        after: "AMP-16.2-05",
        codes: &[1002],
        tolerated: &[],
        has_its_id: true,
    },
    Flaw {
        name: "forged content",
        transition: "refuse: a forgery with other content",
        transition_known: "refuse: a forgery of a known message with other content",
        requirement: "AMP-8.2-06",
        after: "AMP-16.2-05",
        codes: &[1002],
        tolerated: &[],
        has_its_id: true,
    },
    Flaw {
        name: "flipped",
        transition: "refuse: a changed signature",
        transition_known: "refuse: a changed signature of a known message",
        requirement: "AMP-8.2-06",
        after: "AMP-16.2-05",
        codes: &[1002],
        tolerated: &[],
        has_its_id: true,
    },
    Flaw {
        name: "unsigned",
        transition: "refuse: no signature",
        transition_known: "refuse: no signature of a known message",
        requirement: "AMP-4.1-19",
        after: "AMP-16.2-05",
        codes: &[1001],
        tolerated: &[("E20", 1002)],
        has_its_id: true,
    },
    Flaw {
        name: "version",
        transition: "refuse: another version",
        transition_known: "refuse: another version of a known message",
        requirement: "AMP-13.1-06",
        after: "AMP-8.4-06",
        codes: &[1004],
        tolerated: &[],
        has_its_id: true,
    },
    Flaw {
        name: "expired",
        transition: "refuse: an expired message",
        transition_known: "refuse: a known message with an expired ttl",
        requirement: "AMP-8.3-06",
        after: "AMP-8.4-06",
        codes: &[1003],
        tolerated: &[("E29", 2004)],
        has_its_id: true,
    },
    Flaw {
        name: "future",
        transition: "refuse: a message of the future",
        transition_known: "refuse: a message of the future",
        requirement: "AMP-8.3-06",
        after: "AMP-8.4-06",
        codes: &[1003],
        tolerated: &[],
        has_its_id: false,
    },
    Flaw {
        name: "id",
        transition: "refuse: an id of another time",
        transition_known: "refuse: an id of another time",
        requirement: "AMP-8.3-17",
        after: "AMP-8.4-06",
        codes: &[1001, 1003],
        tolerated: &[],
        has_its_id: false,
    },
    Flaw {
        name: "type",
        transition: "refuse: an unknown type",
        transition_known: "refuse: an unknown type",
        requirement: "AMP-13.4-02",
        after: "AMP-8.4-06",
        codes: &[1005],
        tolerated: &[],
        has_its_id: false,
    },
];

pub(super) fn propose(state: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    // A target may close the connection over which such a message comes, so a later one would say nothing.
    if offers.transport().is_channel() {
        return None;
    }
    let flaw = choices.pick(FLAWS)?;
    let known = those(state, |message| fits(flaw, message));
    let mut step = vec![("do", text("flawed"))];
    match choices.pick(&known).filter(|_| choices.one_in(2)) {
        Some(n) => step.extend([("n", Value::Integer(i128::try_from(*n).ok()?)), ("flaw", text(flaw.name))]),
        None => {
            step.extend([("n", Value::Integer(i128::try_from(state.next).ok()?)), ("flaw", text(flaw.name))]);
            let mut more = arguments(offers, choices);
            if flaw.name == "expired" {
                more.retain(|(name, _)| *name != "time");
                more.push(("time", text("hour")));
            }
            more.retain(|(name, value)| *name != "time" || value.as_text() != Some("immediate"));
            if flaw.name == "forged" && offers.has("pings") && choices.one_in(3) {
                more = vec![("kind", text("ping"))];
            }
            step.extend(more);
        }
    }
    if flaw.name == "expired" && choices.one_in(2) {
        step.push(("since", text("seconds")));
    }
    if watches(offers, choices) {
        step.push(("effects", Value::Bool(true)));
    }
    Some(Value::map(step))
}

/// Whether the flaw alone makes the message invalid.
fn fits(flaw: &Flaw, message: &Message) -> bool {
    !message.is_immediate() && (flaw.name != "expired" || message.is_old())
}

/// A flawed message is refused, and leaves nothing behind: neither does it block its id, nor remove it (E47).
pub(super) fn flawed(state: &mut State, given: &Move) -> Option<Predicted> {
    let n = small(given, "n");
    let flaw = FLAWS.iter().find(|flaw| Some(flaw.name) == word(given, "flaw"))?;
    let mut made = Vec::new();
    let is_new = !state.messages.contains_key(&n);
    if is_new && fits(flaw, &Message::new(given)) {
        state.messages.insert(n, Message::new(given));
        state.next = state.next.max(n + 1);
        made = bindings(given, n);
    }
    let effects = without_effect(state, given, flaw.requirement);
    let message = state.messages.get_mut(&n).filter(|message| fits(flaw, message))?;
    let is_known = is_remembered(message) && flaw.has_its_id;
    if message.standing == Standing::Pending && flaw.has_its_id && message.after != Some("AMP-16.2-05") {
        message.after = Some(flaw.after);
    }
    if message.standing == Standing::Pending && message.after.is_none() {
        message.after = Some("AMP-8.4-06");
    }
    let changed = |set: Vec<(&str, Value)>| map([("base", text(name(n))), ("set", Value::map(set))]);
    let mut sign = None;
    let sent = match flaw.name {
        "forged" => {
            sign = Some(map([("with", text("mallory"))]));
            whole(n)
        }
        "forged content" => {
            sign = Some(map([("with", text("mallory"))]));
            let body = match message.kind() {
                Kind::Ping => return None,
                Kind::Message => map([("msg", text("pm forged"))]),
                Kind::Request | Kind::Count => map([("op", text("echo")), ("data", text("pm forged"))]),
            };
            changed(vec![("/body", body)])
        }
        "flipped" => {
            sign = Some(map([("flip", Value::Integer(100))]));
            whole(n)
        }
        "unsigned" => {
            sign = Some(Value::Bool(false));
            whole(n)
        }
        "version" => changed(vec![("/v", Value::Integer(99))]),
        // The message is an hour old.
        "expired" => {
            let ttl = if word(given, "since") == Some("seconds") { 3_590_000 } else { 5_000 };
            changed(vec![("/ttl", Value::Integer(ttl))])
        }
        "future" => {
            made.push(("future".to_owned(), text("${plus $now $max_clock_skew_ms 3600000}")));
            changed(vec![("/ts", text("${future}")), ("/id", text("${message_id $future}"))])
        }
        "id" => {
            made.push(("off".to_owned(), text("${ms -10m}")));
            changed(vec![
                ("/ts", text("${now}")),
                ("/ttl", Value::Integer(3_600_000)),
                ("/id", text("${message_id $off}")),
            ])
        }
        _ => changed(vec![("/typ", Value::Integer(12)), ("/ts", text("${now}")), ("/id", text("${message_id $now}"))]),
    };
    let rightly = refused(flaw.codes, flaw.tolerated);
    let mut expect = if is_known {
        // In which order a target looks up an id and checks a message is open (E31, E47).
        let before = reading("the earlier answer (E47)", vec![accepted()]);
        vec![any_of(flaw.requirement, vec![before, reading("refused", vec![refused_somehow()])])]
    } else {
        vec![covering(flaw.requirement, rightly)]
    };
    if flaw.name == "forged content" {
        let says = plain("/body", "contains-text", Value::array([text("pm forged")]));
        expect.push(no_reply("AMP-8.2-06", vec![plain("/name", "equals", text("RESPONSE")), says]));
    }
    expect.extend(effects);
    let mut with = message.inputs(sent);
    with.extend(sign.map(|sign| ("sign", sign)));
    let step = Step { party: party(message.sender()), operation: "deliver", with, expect, ..Step::default() };
    Some(Predicted {
        transition: if is_known { flaw.transition_known } else { flaw.transition },
        needs: message.needs(),
        bindings: made,
        steps: vec![step.written()],
    })
}

//! Messages of which one member is missing or of another type (sections 4.1 and 13.1): each is refused, and what comes before
//! and after it is not.

use super::expect::{Step, at, covering, flag, map, number, text, word};
use super::message::{LASTING, fresh, party, sender};
use super::state::State;
use crate::exchange::Transport;
use crate::protocol::{Choices, Move, Offers, Predicted};
use crate::value::Value;

/// What is broken.
struct Breakage {
    name: &'static str,
    /// The requirement that such a message is refused.
    requirement: &'static str,
    codes: &'static [i128],
    tolerated: &'static [(&'static str, i128)],
    /// Whether a refusal by the transport suffices: the message does not show whom to answer.
    bare: bool,
    /// The edit: the member, its value (`None`: it is removed), and whether the signature covers the edited message.
    edit: fn() -> (&'static str, Option<Value>, Stage),
}

/// When a message is edited.
#[derive(Clone, Copy)]
enum Stage {
    /// Before it is signed.
    Built,
    /// After it was signed.
    Signed,
}

const BREAKAGES: &[Breakage] = &[
    Breakage {
        name: "no version",
        requirement: "AMP-4.1-05",
        codes: &[1001],
        tolerated: &[("E31", 1004)],
        bare: false,
        edit: || ("/v", None, Stage::Built),
    },
    Breakage {
        name: "version 0",
        requirement: "AMP-13.1-06",
        codes: &[1004],
        tolerated: &[("E31", 1001)],
        bare: false,
        edit: || ("/v", Some(number(0)), Stage::Built),
    },
    Breakage {
        name: "version 257",
        requirement: "AMP-13.1-06",
        codes: &[1004],
        tolerated: &[],
        bare: false,
        edit: || ("/v", Some(number(257)), Stage::Built),
    },
    Breakage {
        name: "no id",
        requirement: "AMP-4.1-07",
        codes: &[1001],
        tolerated: &[],
        bare: true,
        edit: || ("/id", None, Stage::Built),
    },
    Breakage {
        name: "id of 15 bytes",
        requirement: "AMP-4.1-22",
        codes: &[1001],
        tolerated: &[],
        bare: true,
        edit: || ("/id", Some(text("${random_bytes 15}")), Stage::Built),
    },
    Breakage {
        name: "id of 32 bytes",
        requirement: "AMP-4.1-22",
        codes: &[1001],
        tolerated: &[],
        bare: true,
        edit: || ("/id", Some(text("${random_bytes 32}")), Stage::Built),
    },
    Breakage {
        name: "no type",
        requirement: "AMP-4.1-09",
        codes: &[1001],
        tolerated: &[],
        bare: false,
        edit: || ("/typ", None, Stage::Built),
    },
    Breakage {
        name: "name as type",
        requirement: "AMP-4.1-23",
        codes: &[1001],
        tolerated: &[("E31", 1005)],
        bare: false,
        edit: || ("/typ", Some(text("MESSAGE")), Stage::Built),
    },
    Breakage {
        name: "no time",
        requirement: "AMP-4.1-11",
        codes: &[1001],
        tolerated: &[],
        bare: false,
        edit: || ("/ts", None, Stage::Built),
    },
    Breakage {
        name: "text as time",
        requirement: "AMP-4.1-24",
        codes: &[1001],
        tolerated: &[("E31", 1003)],
        bare: false,
        edit: || ("/ts", Some(text("${time}")), Stage::Built),
    },
    Breakage {
        name: "no ttl",
        requirement: "AMP-4.1-13",
        codes: &[1001],
        tolerated: &[],
        bare: false,
        edit: || ("/ttl", None, Stage::Built),
    },
    Breakage {
        name: "text as ttl",
        requirement: "AMP-4.1-26",
        codes: &[1001],
        tolerated: &[],
        bare: false,
        edit: || ("/ttl", Some(text("60000")), Stage::Built),
    },
    Breakage {
        name: "no sender",
        requirement: "AMP-4.1-15",
        codes: &[1001],
        tolerated: &[],
        bare: true,
        edit: || ("/from", None, Stage::Built),
    },
    Breakage {
        name: "name as sender",
        requirement: "AMP-4.1-53",
        codes: &[1001, 1002, 2001, 3001],
        tolerated: &[],
        bare: true,
        edit: || ("/from", Some(text("alice")), Stage::Built),
    },
    Breakage {
        name: "sender without a document",
        requirement: "AMP-4.1-53",
        codes: &[1001, 1002, 2001, 3001],
        tolerated: &[],
        bare: true,
        edit: || ("/from", Some(text("did:example:nobody")), Stage::Built),
    },
    Breakage {
        name: "no recipient",
        requirement: "AMP-4.1-17",
        codes: &[1001],
        tolerated: &[],
        bare: false,
        edit: || ("/to", None, Stage::Built),
    },
    Breakage {
        name: "empty array of recipients",
        requirement: "AMP-4.1-31",
        codes: &[1001],
        tolerated: &[("E25", 3001), ("E25", 2001)],
        bare: false,
        edit: || ("/to", Some(Value::array([])), Stage::Built),
    },
    Breakage {
        name: "number among recipients",
        requirement: "AMP-4.1-29",
        codes: &[1001],
        tolerated: &[],
        bare: false,
        edit: || ("/to", Some(Value::array([text("${target}"), number(7)])), Stage::Built),
    },
    Breakage {
        name: "null as reply_to",
        requirement: "AMP-4.1-34",
        codes: &[1001],
        tolerated: &[],
        bare: false,
        edit: || ("/reply_to", Some(Value::Null), Stage::Built),
    },
    Breakage {
        name: "null as thread",
        requirement: "AMP-4.1-37",
        codes: &[1001],
        tolerated: &[],
        bare: false,
        edit: || ("/thread_id", Some(Value::Null), Stage::Built),
    },
    Breakage {
        name: "hex text as thread",
        requirement: "AMP-4.1-37",
        codes: &[1001],
        tolerated: &[],
        bare: false,
        edit: || ("/thread_id", Some(text("00ff00ff00ff00ff00ff00ff00ff00ff")), Stage::Built),
    },
    Breakage {
        name: "signature of 63 bytes",
        requirement: "AMP-4.1-39",
        codes: &[1001, 1002],
        tolerated: &[],
        bare: false,
        edit: || ("/sig", Some(text("${random_bytes 63}")), Stage::Signed),
    },
    Breakage {
        name: "null as signature",
        requirement: "AMP-4.1-38",
        codes: &[1001],
        tolerated: &[("E20", 1002)],
        bare: false,
        edit: || ("/sig", Some(Value::Null), Stage::Signed),
    },
    Breakage {
        name: "another thread than the signed one",
        requirement: "AMP-8.2-06",
        codes: &[1002],
        tolerated: &[],
        bare: false,
        edit: || ("/thread_id", Some(text("${random_bytes 16}")), Stage::Signed),
    },
    Breakage {
        name: "another ttl than the signed one",
        requirement: "AMP-8.2-06",
        codes: &[1002],
        tolerated: &[],
        bare: false,
        edit: || ("/ttl", Some(number(LASTING + 1)), Stage::Signed),
    },
    Breakage {
        name: "another body than the signed one",
        requirement: "AMP-8.2-06",
        codes: &[1002],
        tolerated: &[],
        bare: false,
        edit: || ("/body", Some(map([("msg", text("pm otherwise"))])), Stage::Signed),
    },
];

pub(super) fn propose(_: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    // A target may close the connection over which such a message comes, so a later one would say nothing.
    if offers.transport().is_channel() {
        return None;
    }
    // A library may drop what it cannot answer.
    let answered = |broken: &&Breakage| !broken.bare || offers.transport() != Transport::Adapter;
    let broken = choices.pick(BREAKAGES).filter(answered)?;
    let mut step = vec![("do", text("broken")), ("what", text(broken.name))];
    if choices.one_in(2) {
        step.push(("from", number(1)));
    }
    if broken.name != "another body than the signed one" && choices.one_in(4) && offers.has("requests") {
        step.push(("request", Value::Bool(true)));
    }
    Some(Value::map(step))
}

/// A broken message is refused, and not processed. The message without the edit is accepted before it.
pub(super) fn broken(state: &mut State, given: &Move) -> Option<Predicted> {
    let broken = BREAKAGES.iter().find(|broken| Some(broken.name) == word(given, "what"))?;
    let from = party(sender(given));
    let is_request = flag(given, "request");
    let (place, value, stage) = (broken.edit)();
    let mut edit = match value {
        Some(value) => map([("set", text(place)), ("to", value)]),
        None => map([("remove", text(place))]),
    };
    edit.set_member("stage", text(if matches!(stage, Stage::Built) { "built" } else { "protected" }));
    let mut how = vec![("codes", Value::array(broken.codes.iter().copied().map(Value::Integer)))];
    let mut errata: Vec<(&str, Value)> = Vec::new();
    for (erratum, _) in broken.tolerated {
        let codes = broken.tolerated.iter().filter(|(known, _)| known == erratum).map(|(_, code)| number(*code));
        if !errata.iter().any(|(known, _)| known == erratum) {
            errata.push((erratum, Value::array(codes)));
        }
    }
    if !errata.is_empty() {
        how.push(("tolerated", Value::map(errata)));
    }
    if broken.bare {
        how.push(("bare", Value::Bool(true)));
    }
    let mut expect = vec![covering(broken.requirement, map([("refused", Value::map(how))]))];
    if is_request {
        expect.push(at(broken.requirement, "/response", "exists", Value::Bool(false)));
    }
    // The message without the edit was processed.
    state.effects = None;
    let base = if is_request { "base_request" } else { "base" };
    let set = [("/from", text(format!("${{did ${from}}}"))), ("/ttl", number(LASTING))];
    let message = map([("base", text(base)), ("set", map(set))]);
    let step = Step {
        party: from.clone(),
        operation: "deliver",
        with: vec![("message", message), ("key", text(format!("${{{from}}}")))],
        expect,
        more: vec![("edit", Value::array([edit]))],
        ..Step::default()
    };
    Some(Predicted {
        transition: "refuse: a broken message",
        needs: if is_request { vec!["requests"] } else { Vec::new() },
        bindings: vec![fresh(&from)],
        steps: vec![step.written()],
    })
}

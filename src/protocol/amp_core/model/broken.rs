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
    edit: Edit,
}

/// An edit: the member, its value (`None`: it is removed), and when.
type Edit = fn() -> (&'static str, Option<Value>, Stage);

impl Breakage {
    const fn new(name: &'static str, requirement: &'static str, codes: &'static [i128], edit: Edit) -> Self {
        Self { name, requirement, codes, tolerated: &[], bare: false, edit }
    }

    /// With further codes, each of an erratum.
    const fn tolerating(mut self, tolerated: &'static [(&'static str, i128)]) -> Self {
        self.tolerated = tolerated;
        self
    }

    /// A refusal by the transport suffices.
    const fn bare(mut self) -> Self {
        self.bare = true;
        self
    }
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
    Breakage::new("no version", "AMP-4.1-05", &[1001], || ("/v", None, Stage::Built)).tolerating(&[("E31", 1004)]),
    Breakage::new("version 0", "AMP-13.1-06", &[1004], || ("/v", Some(number(0)), Stage::Built))
        .tolerating(&[("E31", 1001)]),
    Breakage::new("version 257", "AMP-13.1-06", &[1004], || ("/v", Some(number(257)), Stage::Built)),
    Breakage::new("no id", "AMP-4.1-07", &[1001], || ("/id", None, Stage::Built)).bare(),
    Breakage::new("id of 15 bytes", "AMP-4.1-22", &[1001], || ("/id", Some(text("${random_bytes 15}")), Stage::Built))
        .bare(),
    Breakage::new("id of 32 bytes", "AMP-4.1-22", &[1001], || ("/id", Some(text("${random_bytes 32}")), Stage::Built))
        .bare(),
    Breakage::new("no type", "AMP-4.1-09", &[1001], || ("/typ", None, Stage::Built)),
    Breakage::new("name as type", "AMP-4.1-23", &[1001], || ("/typ", Some(text("MESSAGE")), Stage::Built))
        .tolerating(&[("E31", 1005)]),
    Breakage::new("no time", "AMP-4.1-11", &[1001], || ("/ts", None, Stage::Built)),
    Breakage::new("text as time", "AMP-4.1-24", &[1001], || ("/ts", Some(text("${time}")), Stage::Built))
        .tolerating(&[("E31", 1003)]),
    Breakage::new("no ttl", "AMP-4.1-13", &[1001], || ("/ttl", None, Stage::Built)),
    Breakage::new("text as ttl", "AMP-4.1-26", &[1001], || ("/ttl", Some(text("60000")), Stage::Built)),
    Breakage::new("no sender", "AMP-4.1-15", &[1001], || ("/from", None, Stage::Built)).bare(),
    Breakage::new("name as sender", "AMP-4.1-53", &[1001, 1002, 2001, 3001], || {
        ("/from", Some(text("alice")), Stage::Built)
    })
    .bare(),
    Breakage::new("sender without a document", "AMP-4.1-53", &[1001, 1002, 2001, 3001], || {
        ("/from", Some(text("did:example:unknown")), Stage::Built)
    })
    .bare(),
    Breakage::new("no recipient", "AMP-4.1-17", &[1001], || ("/to", None, Stage::Built)),
    Breakage::new("empty array of recipients", "AMP-4.1-31", &[1001], || ("/to", Some(Value::array([])), Stage::Built))
        .tolerating(&[("E25", 3001), ("E25", 2001)]),
    Breakage::new("number among recipients", "AMP-4.1-29", &[1001], || {
        ("/to", Some(Value::array([text("${target}"), number(7)])), Stage::Built)
    }),
    Breakage::new("null as reply_to", "AMP-4.1-34", &[1001], || ("/reply_to", Some(Value::Null), Stage::Built)),
    Breakage::new("null as thread", "AMP-4.1-37", &[1001], || ("/thread_id", Some(Value::Null), Stage::Built)),
    Breakage::new("hex text as thread", "AMP-4.1-37", &[1001], || {
        ("/thread_id", Some(text("00ff00ff00ff00ff00ff00ff00ff00ff")), Stage::Built)
    }),
    Breakage::new("signature of 63 bytes", "AMP-4.1-39", &[1001, 1002], || {
        ("/sig", Some(text("${random_bytes 63}")), Stage::Signed)
    }),
    Breakage::new("null as signature", "AMP-4.1-38", &[1001], || ("/sig", Some(Value::Null), Stage::Signed))
        .tolerating(&[("E20", 1002)]),
    Breakage::new("another thread than the signed one", "AMP-8.2-06", &[1002], || {
        ("/thread_id", Some(text("${random_bytes 16}")), Stage::Signed)
    }),
    Breakage::new("another ttl than the signed one", "AMP-8.2-06", &[1002], || {
        ("/ttl", Some(number(LASTING + 1)), Stage::Signed)
    }),
    Breakage::new("another body than the signed one", "AMP-8.2-06", &[1002], || {
        ("/body", Some(map([("msg", text("pm otherwise"))])), Stage::Signed)
    }),
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

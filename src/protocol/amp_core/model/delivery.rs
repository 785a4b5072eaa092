//! Messages to the target and their repeats (sections 8.2, 8.3, 8.4, 16.1 and 16.2).

use super::expect::{
    Step, accepted, any_of, at, covering, flag, map, no_reply, plain, reading, refused, small, text, word,
};
use super::message::{Kind, LASTING, Message, Standing, arguments, bindings, fresh, id, name, party, whole};
use super::state::{AREAS, State};
use crate::exchange::Transport;
use crate::protocol::{Choices, Move, Offers, Predicted};
use crate::value::Value;

/// Whether a sequence watches the number of application runs, which libraries alone report.
pub(super) fn watches(offers: &dyn Offers, choices: &dyn Choices) -> bool {
    offers.transport() == Transport::Adapter && choices.mood() / AREAS.len() % 5 != 4
}

/// The messages that meet a condition.
pub(super) fn those(state: &State, condition: impl Fn(&Message) -> bool) -> Vec<usize> {
    state.messages.iter().filter(|(_, message)| condition(message)).map(|(n, _)| *n).collect()
}

/// Whether a repeat of a message has to be answered from the cache: with a ttl of 0 nothing need be remembered (E46).
pub(super) fn is_remembered(message: &Message) -> bool {
    message.standing == Standing::Taken && !message.is_immediate()
}

pub(super) fn propose_send(state: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    let mut step = vec![("do", text("send")), ("n", Value::Integer(i128::try_from(state.next).ok()?))];
    let taken = those(state, |message| is_remembered(message) && word(&message.given, "time").is_none());
    let taken: Vec<usize> = taken.into_iter().filter(|n| !has_twin(state, *n)).collect();
    let mut more = arguments(offers, choices);
    if choices.one_in(6)
        && let Some(like) = choices.pick(&taken)
    {
        // The id of a message of the other sender.
        more.retain(|(name, _)| !matches!(*name, "from" | "time"));
        more.push(("from", Value::Integer(i128::from(state.messages[like].sender() == 0))));
        more.push(("like", Value::Integer(i128::try_from(*like).ok()?)));
    }
    step.extend(more);
    remark(&mut step, offers, choices);
    Some(Value::map(step))
}

/// Adds what is captured of the answer to a new message. Some targets acknowledge by the transport alone, so sequences differ in it.
fn remark(step: &mut Vec<(&'static str, Value)>, offers: &dyn Offers, choices: &mut dyn Choices) {
    if (choices.mood() / AREAS.len()).is_multiple_of(3) && choices.one_in(2) {
        step.push(("keep", Value::Bool(true)));
    }
    if watches(offers, choices) {
        step.push(("effects", Value::Bool(true)));
    }
}

/// Whether two messages have the id of this one.
fn has_twin(state: &State, n: usize) -> bool {
    let is_like = |message: &Message| message.given.member("like").is_some();
    let own = state.messages.get(&n).is_some_and(is_like);
    own || state.messages.values().any(|message| is_like(message) && small(&message.given, "like") == n)
}

/// A new message is accepted.
pub(super) fn send(state: &mut State, given: &Move) -> Option<Predicted> {
    let n = small(given, "n");
    if state.messages.contains_key(&n) {
        return None;
    }
    let message = Message::new(given);
    let transition = match (word(given, "time"), message.kind()) {
        _ if given.member("like").is_some() => {
            // The same id belongs to another message if its sender is another (section 16.2), at the same time.
            let like = state.messages.get(&small(given, "like"))?;
            let differs = like.sender() != message.sender() && is_remembered(like);
            let timeless = |message: &Message| word(&message.given, "time").is_none();
            if !differs || !timeless(like) || !timeless(&message) || has_twin(state, small(given, "like")) {
                return None;
            }
            "send: an id that another sender used"
        }
        (Some("hour" | "minutes"), _) => "send: an old message",
        (Some("ahead"), _) => "send: a message ahead of the clock",
        (Some("immediate"), _) => "send: a message for immediate delivery",
        (_, Kind::Count) => "send: a request for the number of requests",
        (_, Kind::Request) => "send: a request",
        (_, Kind::Ping) => "send: a PING",
        _ if message.is_sealed() => "send: an encrypted message",
        _ if word(given, "to").is_some() => "send: a message to an array of recipients",
        _ => "send: a message",
    };
    state.next = state.next.max(n + 1);
    state.messages.insert(n, message);
    first(state, n, given, transition, bindings(given, n))
}

/// The requirement that a message is accepted.
fn reason(message: &Message) -> &'static str {
    let given = &message.given;
    match word(given, "time") {
        _ if message.after.is_some() => message.after.unwrap_or_default(),
        _ if given.member("like").is_some() => "AMP-16.2-04",
        Some("hour" | "minutes") => "AMP-8.3-03",
        Some("ahead") => "AMP-8.3-14",
        _ if message.kind() == Kind::Ping => "AMP-16.4-06",
        _ if message.is_sealed() => "AMP-8.5-04",
        _ if word(given, "to").is_some() => "AMP-4.1-30",
        _ if given.member("body").is_some() => "AMP-4.1-42",
        _ => "AMP-8.2-05",
    }
}

/// No answer is an ACK of another party in the place of a recipient, or one without a source, and none has an invalid signature.
fn honest(n: usize) -> Vec<Value> {
    let from_target = plain("/message/from", "matches", text("^${target}(#.*)?$"));
    let of_recipient = plain("/body/ack_source", "equals", text("recipient"));
    let answers = plain("/message/reply_to", "equals", id(n));
    let is_ack = plain("/name", "equals", text("ACK"));
    let has_source = plain("/body/ack_source", "one-of", Value::array(["relay", "recipient"].map(text)));
    vec![
        no_reply("AMP-16.1-05", vec![answers.clone(), is_ack, map([("not", has_source)])]),
        no_reply("AMP-16.1-06", vec![answers.clone(), of_recipient, map([("not", from_target)])]),
        no_reply("AMP-2.2-01", vec![answers, plain("/signed/state", "equals", text("invalid"))]),
    ]
}

/// The first valid delivery of a message.
fn first(
    state: &mut State,
    n: usize,
    given: &Move,
    transition: &'static str,
    bindings: Vec<(String, Value)>,
) -> Option<Predicted> {
    let capture = state.capture();
    let message = state.messages.get_mut(&n)?;
    message.standing = Standing::Taken;
    let mut expect = if message.is_immediate() {
        let taken = reading("it is accepted", vec![accepted()]);
        let expired = reading("it has expired (E27)", vec![refused(&[1003], &[("E29", 2004)])]);
        vec![any_of("AMP-8.3-04", vec![taken, expired])]
    } else {
        vec![covering(reason(message), accepted())]
    };
    expect.extend(honest(n));
    let mut captured = Vec::new();
    if message.kind() == Kind::Count && !message.is_immediate() {
        captured.push((format!("c{n}"), text("/response/body/count")));
    }
    message.kept = flag(given, "keep") && message.kind() != Kind::Ping && !message.is_immediate();
    if message.kept {
        captured.push((format!("a{n}"), text("/ack/body")));
    }
    state.effects = None;
    if flag(given, "effects") {
        captured.push((format!("e{capture}"), text("/result/effects")));
        state.effects = Some(capture);
    }
    let step = Step {
        party: party(message.sender()),
        operation: "deliver",
        with: message.inputs(whole(n)),
        expect,
        capture: captured,
        ..Step::default()
    };
    Some(Predicted { transition, needs: message.needs(), bindings, steps: vec![step.written()] })
}

pub(super) fn propose_deliver(state: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    let pending = those(state, |message| message.standing == Standing::Pending);
    let n = *choices.pick(&pending)?;
    let mut step = vec![("do", text("deliver")), ("n", Value::Integer(i128::try_from(n).ok()?))];
    remark(&mut step, offers, choices);
    Some(Value::map(step))
}

/// A message of whose id others were refused is accepted.
pub(super) fn deliver(state: &mut State, given: &Move) -> Option<Predicted> {
    let n = small(given, "n");
    let message = state.messages.get(&n).filter(|message| message.standing == Standing::Pending)?;
    let transition = match message.after {
        Some("AMP-16.2-05") => "deliver: after a forgery of it",
        _ => "deliver: after a refused message of its id",
    };
    first(state, n, given, transition, Vec::new())
}

/// What stays the same at a library when nothing is processed.
pub(super) fn without_effect(state: &State, given: &Move, requirement: &str) -> Vec<Value> {
    let known = state.effects.filter(|_| flag(given, "effects"));
    known
        .map(|known| at(requirement, "/result/effects", "equals", text(format!("${{e{known}}}"))))
        .into_iter()
        .collect()
}

pub(super) fn propose_repeat(state: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    let known = those(state, is_remembered);
    let n = *choices.pick(&known)?;
    let mut step = vec![("do", text("repeat")), ("n", Value::Integer(i128::try_from(n).ok()?))];
    if choices.one_in(4) {
        step.push(("ext", Value::Bool(true)));
    }
    if watches(offers, choices) {
        step.push(("effects", Value::Bool(true)));
    }
    Some(Value::map(step))
}

/// The number of requests in the answer to a repeat, if there is one, is that of the first time.
pub(super) fn same_count(n: usize, requirement: &str) -> Value {
    let same = plain("/response/body/count", "equals", text(format!("${{c{n}}}")));
    let none = plain("/response/body/count", "exists", Value::Bool(false));
    any_of(requirement, vec![reading("the number of the first time", vec![same]), reading("no number", vec![none])])
}

/// A repeat is answered like the first time, and not processed again.
pub(super) fn repeat(state: &mut State, given: &Move) -> Option<Predicted> {
    let n = small(given, "n");
    let message = state.messages.get(&n).filter(|message| is_remembered(message))?;
    // What is not signed may differ between copies that took several paths (E90).
    let has_ext = flag(given, "ext") && !message.is_sealed();
    let transition = match message.kind() {
        _ if has_ext => "repeat: a copy with another ext",
        Kind::Count => "repeat: a request for the number of requests",
        Kind::Request => "repeat: a request",
        Kind::Ping => "repeat: a PING",
        Kind::Message if message.is_sealed() => "repeat: an encrypted message",
        Kind::Message => "repeat: a message",
    };
    let mut expect = Vec::new();
    if !has_ext {
        expect.push(covering("AMP-8.4-04", accepted()));
    }
    expect.extend(honest(n));
    if message.kept && !has_ext {
        let but_for_receipt = map([("base", text(format!("a{n}"))), ("remove", Value::array([text("/received_at")]))]);
        expect.push(at("AMP-16.2-02", "/ack/body", "includes", but_for_receipt));
    }
    if message.kind() == Kind::Count {
        expect.push(same_count(n, if has_ext { "AMP-16.2-04" } else { "AMP-8.4-05" }));
    }
    expect.extend(without_effect(state, given, "AMP-8.4-05"));
    let sent = if has_ext {
        map([("base", text(name(n))), ("set", map([("/ext", map([("note", text("pm copy"))]))]))])
    } else {
        whole(n)
    };
    let step = Step {
        party: party(message.sender()),
        operation: "deliver",
        with: message.inputs(sent),
        expect,
        ..Step::default()
    };
    Some(Predicted { transition, needs: message.needs(), bindings: Vec::new(), steps: vec![step.written()] })
}

pub(super) fn propose_other(state: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    if offers.transport().is_channel() {
        return None;
    }
    let known = those(state, |message| is_remembered(message) && message.kind() != Kind::Ping);
    let n = *choices.pick(&known)?;
    let mut step = vec![("do", text("other")), ("n", Value::Integer(i128::try_from(n).ok()?))];
    let mut changes = vec!["body", "ttl"];
    if offers.has("request-counts") {
        changes.extend(["count", "count"]);
    }
    step.push(("change", text(*choices.pick(&changes)?)));
    if watches(offers, choices) {
        step.push(("effects", Value::Bool(true)));
    }
    Some(Value::map(step))
}

/// Other content under a known id is answered as before, or refused, and never processed (E47).
pub(super) fn other(state: &mut State, given: &Move) -> Option<Predicted> {
    let n = small(given, "n");
    let message = state.messages.get(&n).filter(|message| is_remembered(message) && message.kind() != Kind::Ping)?;
    let mut needs = message.needs();
    let is_request = message.kind() != Kind::Message;
    let count = || map([("op", text("count"))]);
    let (transition, set) = match word(given, "change") {
        Some("count") if message.kind() == Kind::Count => return None,
        Some("count") => {
            needs.push("request-counts");
            (
                "other content: a request for the number of requests",
                vec![("/typ", Value::Integer(17)), ("/body", count())],
            )
        }
        Some("ttl") => ("other content: another ttl", vec![("/ttl", Value::Integer(LASTING + 60_000))]),
        _ if is_request => {
            ("other content: another request", vec![("/body", map([("op", text("echo")), ("data", text("pm other"))]))])
        }
        _ => ("other content: another body", vec![("/body", map([("msg", text("pm other"))]))]),
    };
    let before = reading("the earlier answer", vec![accepted()]);
    let error = reading("an ERROR", vec![refused(&[1001, 1002, 4001], &[])]);
    let mut expect = vec![any_of("AMP-16.2-07", vec![before, error])];
    if message.kind() == Kind::Count {
        expect.push(same_count(n, "AMP-16.2-07"));
    } else {
        expect.push(no_reply("AMP-16.2-07", vec![plain("/body/count", "exists", Value::Bool(true))]));
    }
    let says_other = plain("/body", "contains-text", Value::array([text("pm other")]));
    expect.push(no_reply("AMP-16.2-07", vec![plain("/name", "equals", text("RESPONSE")), says_other]));
    expect.extend(without_effect(state, given, "AMP-16.2-07"));
    let sent = map([("base", text(name(n))), ("set", Value::map(set))]);
    let step = Step {
        party: party(message.sender()),
        operation: "deliver",
        with: message.inputs(sent),
        expect,
        ..Step::default()
    };
    Some(Predicted { transition, needs, bindings: Vec::new(), steps: vec![step.written()] })
}

pub(super) fn propose_elsewhere(_: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    if offers.transport().is_channel() {
        return None;
    }
    let mut step = vec![("do", text("elsewhere"))];
    if choices.one_in(2) && offers.has("requests") {
        step.push(("kind", text("request")));
    }
    if choices.one_in(2) {
        step.push(("to", text(*choices.pick(&["others", "longer"])?)));
    }
    if watches(offers, choices) {
        step.push(("effects", Value::Bool(true)));
    }
    Some(Value::map(step))
}

/// A message that does not name the target is neither acknowledged as its recipient nor processed (E25).
pub(super) fn elsewhere(state: &mut State, given: &Move) -> Option<Predicted> {
    let n = state.capture();
    let is_request = Kind::of(given) == Kind::Request;
    let other = || text("${did $other}");
    let to = match word(given, "to") {
        Some("others") => Value::array([other(), text("${did $another}")]),
        Some("longer") => text("${target}x"),
        _ => other(),
    };
    let this = format!("f{n}");
    let set = [("/from", text("${did $s0}")), ("/ttl", Value::Integer(LASTING)), ("/to", to)];
    let base = if is_request { "base_request" } else { "base" };
    let answers = || plain("/message/reply_to", "equals", text(format!("${{{this}/id}}")));
    let results = Value::array(["PROC_OK", "PROC_FAIL", "RESPONSE", "PONG"].map(text));
    let expect = vec![
        no_reply("AMP-16.1-15", vec![answers(), plain("/body/ack_source", "equals", text("recipient"))]),
        no_reply("AMP-16.1-15", vec![answers(), plain("/name", "one-of", results)]),
    ];
    // Whether a library passes such a message to its application is open, so the number is not known afterwards.
    state.effects = None;
    let step = Step {
        party: party(0),
        operation: "deliver",
        with: vec![("message", text(format!("${{{this}}}"))), ("key", text("${s0}"))],
        expect,
        ..Step::default()
    };
    Some(Predicted {
        transition: "send: a message to other parties",
        needs: if is_request { vec!["requests"] } else { Vec::new() },
        bindings: vec![
            fresh("s0"),
            fresh("other"),
            fresh("another"),
            (this.clone(), map([("base", text(base)), ("set", map(set))])),
        ],
        steps: vec![step.written()],
    })
}

/// Everything is repeated, and what was only refused is delivered.
pub(super) fn read_back(state: &State) -> Vec<Move> {
    let of = |kind: &'static str, n: usize| {
        map([("do", text(kind)), ("n", Value::Integer(i128::try_from(n).unwrap_or_default()))])
    };
    let known = those(state, is_remembered).into_iter().map(|n| of("repeat", n));
    let pending = those(state, |message| message.standing == Standing::Pending).into_iter();
    known.chain(pending.flat_map(|n| [of("deliver", n), of("repeat", n)])).collect()
}

//! Messages to the target: the arguments of their moves, and their bindings.

use super::expect::{flag, literal, map, number, small, text, word};
use crate::protocol::{Choices, Move, Offers};
use crate::value::Value;

/// What a message asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// MESSAGE, which is only acknowledged.
    Message,
    /// REQUEST that the application answers (E40).
    Request,
    /// REQUEST for the number of requests that the application ran (E94).
    Count,
    /// PING (E41).
    Ping,
}

impl Kind {
    /// The kind that a move names [default: a MESSAGE].
    pub(super) fn of(step: &Move) -> Self {
        match word(step, "kind") {
            Some("request") => Self::Request,
            Some("count") => Self::Count,
            Some("ping") => Self::Ping,
            _ => Self::Message,
        }
    }

    /// Features without which it is not answered.
    pub(super) fn needs(self) -> Vec<&'static str> {
        match self {
            Self::Message => Vec::new(),
            Self::Request => vec!["requests"],
            Self::Count => vec!["request-counts"],
            Self::Ping => vec!["pings"],
        }
    }
}

/// What the target has to make of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Nothing under its id was accepted.
    Pending,
    /// It was accepted.
    Taken,
}

/// A message to the target.
#[derive(Clone)]
pub(super) struct Message {
    /// The move that made it.
    pub(super) given: Move,
    pub(super) standing: Standing,
    /// The requirement that it is accepted after messages of its id were refused.
    pub(super) after: Option<&'static str>,
    /// Whether the body of its ACK was captured.
    pub(super) kept: bool,
}

impl Message {
    pub(super) fn new(given: &Move) -> Self {
        Self { given: given.clone(), standing: Standing::Pending, after: None, kept: false }
    }

    pub(super) fn kind(&self) -> Kind {
        Kind::of(&self.given)
    }

    /// The number of its sender: one of two.
    pub(super) fn sender(&self) -> usize {
        sender(&self.given)
    }

    pub(super) fn is_sealed(&self) -> bool {
        is_sealed(&self.given)
    }

    /// Whether its ttl is 0. Nothing has to be remembered of such a message (E46).
    pub(super) fn is_immediate(&self) -> bool {
        word(&self.given, "time") == Some("immediate")
    }

    /// Whether it is an hour old, so that it has expired with a shorter ttl.
    pub(super) fn is_old(&self) -> bool {
        word(&self.given, "time") == Some("hour")
    }

    /// Features without which it is not possible.
    pub(super) fn needs(&self) -> Vec<&'static str> {
        let mut needs = self.kind().needs();
        if self.is_sealed() {
            needs.push("encryption");
        }
        needs
    }

    /// The inputs of a delivery: a message, which is `m` with its number or is based on it, the key and the seal.
    pub(super) fn inputs(&self, sent: Value) -> Vec<(&'static str, Value)> {
        let mut with = vec![("message", sent), ("key", text(format!("${{{}}}", party(self.sender()))))];
        if self.is_sealed() {
            with.push(("seal", Value::Bool(true)));
        }
        with
    }
}

/// The name of a sender.
pub(super) fn party(sender: usize) -> String {
    format!("s{sender}")
}

/// The binding of a party that no other sequence uses.
pub(super) fn fresh(name: &str) -> (String, Value) {
    (name.to_owned(), text("fresh-${hex 16}"))
}

/// The number of the sender of a move.
pub(super) fn sender(step: &Move) -> usize {
    small(step, "from").min(1)
}

/// The name of a message.
pub(super) fn name(n: usize) -> String {
    format!("m{n}")
}

/// The reference to a message.
pub(super) fn whole(n: usize) -> Value {
    text(format!("${{m{n}}}"))
}

/// The reference to the id of a message.
pub(super) fn id(n: usize) -> Value {
    text(format!("${{m{n}/id}}"))
}

/// An encrypted message has one recipient (E26).
fn is_sealed(step: &Move) -> bool {
    flag(step, "seal") && matches!(word(step, "to"), None | Some("only"))
}

/// The ttl of a message that does not expire during a sequence.
pub(super) const LASTING: i128 = 3_600_000;

/// The offset of ts and the ttl for the word of a move.
fn time(step: &Move) -> (Option<&'static str>, i128) {
    match word(step, "time") {
        Some("hour") => (Some("-1h"), 86_400_000),
        Some("minutes") => (Some("-330s"), LASTING),
        Some("ahead") => (Some("5s"), LASTING),
        Some("immediate") => (Some("15s"), 0),
        _ => (None, LASTING),
    }
}

/// The bindings of message `n` and of its sender.
pub(super) fn bindings(step: &Move, n: usize) -> Vec<(String, Value)> {
    let from = party(sender(step));
    let mut found = vec![fresh(&from)];
    let (offset, ttl) = time(step);
    let mut set = vec![("/from", text(format!("${{did ${from}}}"))), ("/ttl", number(ttl))];
    if let Some(offset) = offset {
        found.push((format!("t{n}"), text(format!("${{ms {offset}}}"))));
        set.push(("/ts", text(format!("${{t{n}}}"))));
        set.push(("/id", text(format!("${{message_id $t{n}}}"))));
    } else if step.member("like").is_some() {
        set.push(("/id", id(small(step, "like"))));
    }
    let other = || text("${did $other}");
    let to = match word(step, "to") {
        Some("only") => Some(vec![text("${target}")]),
        Some("first") => Some(vec![text("${target}"), other()]),
        Some("last") => Some(vec![other(), text("${target}")]),
        _ => None,
    };
    if let Some(to) = to {
        found.push(fresh("other"));
        set.push(("/to", Value::array(to)));
    }
    if flag(step, "thread") {
        // Several messages may belong to one thread, in any order of their times.
        match small(step, "length") {
            0 => {
                found.push(("thread".to_owned(), text("${random_bytes 16}")));
                set.push(("/thread_id", text("${thread}")));
            }
            length => set.push(("/thread_id", text(format!("${{random_bytes {}}}", length.min(64))))),
        }
    }
    if flag(step, "reply") {
        set.push(("/reply_to", text("${message_id $now}")));
    }
    // Nothing in ext is trusted (section 8.7).
    match word(step, "ext") {
        Some("short") => set.push(("/ext", map([("override_ttl", number(1))]))),
        Some("long") => set.push(("/ext", map([("override_ttl", number(86_400_000))]))),
        // Names of members of the message in ext are other members.
        Some("shadow") => {
            let shadow = map([
                ("typ", number(18)),
                ("ttl", number(1)),
                ("from", text("did:example:unknown")),
                ("id", text("${random_bytes 16}")),
                ("body", map([("msg", text("pm shadow"))])),
            ]);
            set.push(("/ext", shadow));
        }
        // An unassigned type.
        Some("type") => set.push(("/ext", map([("typ", number(99))]))),
        Some("verified") => set.push(("/ext", map([("verified", Value::Bool(true))]))),
        Some(_) => set.push(("/ext", map([("trace_id", text("proofmark"))]))),
        None => {}
    }
    let base = match Kind::of(step) {
        Kind::Ping => "ping",
        Kind::Request => "base_request",
        Kind::Count => {
            set.push(("/body", map([("op", text("count"))])));
            "base_request"
        }
        Kind::Message => {
            if let Some(body) = step.member("body") {
                set.push(("/body", body.clone()));
            }
            "base"
        }
    };
    found.push((name(n), map([("base", text(base)), ("set", Value::map(set))])));
    found
}

/// A body that MESSAGE may have: any value (section 4.4, E40), without floats, tags and big numbers (E11).
fn body(choices: &mut dyn Choices) -> Value {
    match choices.below(16) {
        10 => Value::Integer((1 << 64) - 1),
        11 => Value::array(
            [23, 24, 255, 256, 65535, 65536, 4_294_967_295, 4_294_967_296, -24, -25, -256, -257, -65537]
                .map(Value::Integer),
        ),
        12 => map([
            ("B", number(1)),
            ("a", number(2)),
            ("A", number(3)),
            ("aa", number(4)),
            ("10", number(5)),
            ("9", number(6)),
        ]),
        13 => map([
            ("e\u{301}", number(1)),
            ("z", number(2)),
            ("\u{ff}", number(3)),
            ("\u{6f22}", number(4)),
            ("zz", number(5)),
        ]),
        14 => map([
            ("a", Value::array([])),
            ("b", map([])),
            ("c", text("")),
            ("d", Value::array([Value::Null])),
            ("e", Value::Null),
        ]),
        15 => (0..9).fold(number(1), |inner, _| map([("a", inner)])),
        0 => Value::Null,
        1 => number(choices.below(1 << 20)),
        2 => Value::Integer(-1),
        3 => Value::Bool(true),
        4 => Value::array([number(1), text("a"), Value::Null]),
        5 => text("${random_bytes 100}"),
        6 => map([("msg", text("${repeat 40000 p}"))]),
        7 => map([("a", map([("b", map([("c", Value::array([map([("d", number(24))])]))]))]))]),
        8 => Value::map(Vec::<(String, Value)>::new()),
        _ => {
            let odd: String = choices.odd_text().chars().filter(|c| *c != '\0').take(80).collect();
            map([("msg", literal(&odd))])
        }
    }
}

/// The arguments of a new message to the target, behind the kind of the move.
pub(super) fn arguments(offers: &dyn Offers, choices: &mut dyn Choices) -> Vec<(&'static str, Value)> {
    let mut found = Vec::new();
    if choices.one_in(4) {
        found.push(("from", number(1)));
    }
    let kinds = [("count", "request-counts"), ("count", "request-counts"), ("request", "requests"), ("ping", "pings")];
    let kind = choices.pick(&kinds).filter(|(_, feature)| offers.has(feature)).filter(|_| choices.one_in(2));
    if let Some((kind, _)) = kind {
        found.push(("kind", text(*kind)));
    } else if choices.one_in(3) {
        found.push(("body", body(choices)));
    }
    let is_plain = !matches!(kind, Some(("ping", _)));
    if choices.one_in(4) && is_plain {
        found.push(("to", text(*choices.pick(&["only", "first", "last"]).unwrap_or(&"only"))));
    } else if choices.one_in(3) && is_plain && offers.has("encryption") {
        found.push(("seal", Value::Bool(true)));
    }
    if choices.one_in(4) {
        found
            .push(("time", text(*choices.pick(&["hour", "hour", "minutes", "ahead", "immediate"]).unwrap_or(&"hour"))));
    }
    if choices.one_in(4) {
        // A thread is named by any bytes (section 4.1.1).
        let length = number(*choices.pick(&[0, 0, 0, 0, 16, 8, 1, 32]).unwrap_or(&16));
        found.extend([("thread", Value::Bool(true)), ("length", length)]);
    }
    if choices.one_in(10) {
        found.push(("reply", Value::Bool(true)));
    }
    if choices.one_in(6) {
        found.push((
            "ext",
            text(*choices.pick(&["trace", "short", "long", "verified", "shadow", "type"]).unwrap_or(&"trace")),
        ));
    }
    found
}

//! Sequences with what the specification and the errata say of their last answers.

use super::expect::{map, number, text, word};
use super::state::State;
use super::{PROPOSALS, TRANSITIONS};
use crate::exchange::Transport;
use crate::protocol::model_testing::Counting;
use crate::protocol::{Choices, Model, ModelState, Move, Offers, Predicted};
use crate::value::Value;
use crate::wire::json;

/// What is predicted of the last of these moves, which are JSON with `;` between them.
fn after(text: &str) -> Option<Predicted> {
    let mut state = State::default();
    let mut last = None;
    for one in text.split(';') {
        let step = json::parse(one.trim().as_bytes()).unwrap_or_else(|_| panic!("{one}"));
        last = state.take(&step);
    }
    last
}

/// The bindings and the steps as compact JSON.
fn written(predicted: &Predicted) -> String {
    let bindings = predicted.bindings.iter().map(|(name, value)| format!("{name} = {}", json::compact(value)));
    bindings.chain(predicted.steps.iter().map(json::compact)).collect::<Vec<_>>().join("\n")
}

/// Moves before, the last move, its transition, and parts of its steps.
type Row<'a> = (&'a [&'a str], &'a str, &'a str, &'a [&'a str]);

fn check(table: &[Row<'_>]) {
    for (before, last, transition, parts) in table {
        let all: Vec<&str> = before.iter().chain([last]).copied().collect();
        let all = all.join(";");
        let predicted = after(&all).unwrap_or_else(|| panic!("{all}"));
        assert_eq!(predicted.transition, *transition, "{all}");
        for part in *parts {
            assert!(written(&predicted).contains(part), "{all}: {part} in {}", written(&predicted));
        }
    }
}

const SEND: &str = r#"{"do":"send"}"#;
const KEPT: &str = r#"{"do":"send","keep":true}"#;
const COUNT: &str = r#"{"do":"send","kind":"count"}"#;
const REPEAT: &str = r#"{"do":"repeat"}"#;
const FORGED: &str = r#"{"do":"flawed","flaw":"forged"}"#;
const DELIVER: &str = r#"{"do":"deliver"}"#;

#[test]
fn a_recipient_answers_as_the_specification_has_it() {
    check(&[
        (&[], SEND, "send: a message", &[r#""accepted":true,"covers":["AMP-8.2-05"]"#]),
        // E27: either way, but ttl 0 is not malformed.
        (
            &[],
            r#"{"do":"send","time":"immediate"}"#,
            "send: a message for immediate delivery",
            &[r#""codes":[1003],"tolerated":{"E29":[2004]}"#, r#""covers":["AMP-8.3-04"]"#],
        ),
        (&[], r#"{"do":"send","time":"hour"}"#, "send: an old message", &["AMP-8.3-03"]),
        // Section 16.2: the sender is a part of the key.
        (
            &[SEND],
            r#"{"do":"send","n":1,"from":1,"like":0}"#,
            "send: an id that another sender used",
            &[r#""accepted":true,"covers":["AMP-16.2-04"]"#],
        ),
        // E47: the body of the answer is the same but for received_at.
        (
            &[KEPT],
            REPEAT,
            "repeat: a message",
            &[r#""at":"/ack/body","includes":{"base":"a0","remove":["/received_at"]}"#],
        ),
        (&[COUNT], REPEAT, "repeat: a request for the number of requests", &[r#""equals":"${c0}""#, "AMP-8.4-05"]),
        // E47: a refused message blocks nothing, and removes nothing.
        (&[FORGED], DELIVER, "deliver: after a forgery of it", &[r#""accepted":true,"covers":["AMP-16.2-05"]"#]),
        (
            &[r#"{"do":"flawed","flaw":"version"}"#],
            DELIVER,
            "deliver: after a refused message of its id",
            &[r#""accepted":true,"covers":["AMP-8.4-06"]"#],
        ),
        (&[COUNT, FORGED], REPEAT, "repeat: a request for the number of requests", &[r#""equals":"${c0}""#]),
        (&[], FORGED, "refuse: a forgery", &[r#""refused":{"codes":[1002]}"#]),
        // E31, E47: whether the id is looked up first is open.
        (&[SEND], FORGED, "refuse: a forgery of a known message", &[r#""reading":"the earlier answer (E47)""#]),
        (
            &[COUNT],
            r#"{"do":"other"}"#,
            "other content: another request",
            &[r#""codes":[1001,1002,4001]"#, r#""equals":"${c0}""#],
        ),
        (
            &[],
            r#"{"do":"elsewhere"}"#,
            "send: a message to other parties",
            &[r#""at":"/body/ack_source","equals":"recipient""#, "AMP-16.1-15"],
        ),
    ]);
    // E46: nothing has to be remembered of a message with ttl 0.
    assert_eq!(after(&format!(r#"{{"do":"send","time":"immediate"}};{REPEAT}"#)), None);
    // A message that is not an hour old does not expire by a shorter ttl.
    assert_eq!(after(r#"{"do":"flawed","flaw":"expired"}"#), None);
    // A sender never uses an id twice (section 8.4).
    let twice = r#"{"do":"send","n":1,"from":1,"like":0};{"do":"send","n":2,"like":1}"#;
    assert_eq!(after(&format!("{SEND};{twice}")), None);
}

#[test]
fn a_library_has_no_effect_of_what_is_not_processed() {
    let send = r#"{"do":"send","effects":true}"#;
    for last in [r#"{"do":"repeat","effects":true}"#, r#"{"do":"flawed","flaw":"forged","effects":true}"#] {
        let predicted = after(&format!("{send};{last}")).expect("a prediction");
        assert!(written(&predicted).contains(r#""at":"/result/effects","equals":"${e0}""#), "{}", written(&predicted));
    }
    // What came in between without a count may have changed it.
    let between = format!(r#"{send};{{"do":"send","n":1}};{{"do":"repeat","effects":true}}"#);
    assert!(!written(&after(&between).expect("a prediction")).contains("effects"));
}

#[test]
fn a_broken_message_is_refused_with_the_codes_of_its_ruling() {
    check(&[
        (
            &[],
            r#"{"do":"broken","what":"no version"}"#,
            "refuse: a broken message",
            &[r#""codes":[1001],"tolerated":{"E31":[1004]}"#, r#""remove":"/v","stage":"built""#, "AMP-4.1-05"],
        ),
        (
            &[],
            r#"{"do":"broken","what":"empty array of recipients"}"#,
            "refuse: a broken message",
            &[r#""tolerated":{"E25":[3001,2001]}"#, r#""set":"/to","to":[]"#],
        ),
        // The message does not show whom to answer.
        (&[], r#"{"do":"broken","what":"no id"}"#, "refuse: a broken message", &[r#""bare":true"#]),
        (
            &[],
            r#"{"do":"broken","what":"another ttl than the signed one"}"#,
            "refuse: a broken message",
            &[r#""stage":"protected""#, r#""codes":[1002]"#],
        ),
    ]);
}

const STORE: &str = r#"{"do":"store"}"#;
const POLL: &str = r#"{"do":"poll"}"#;

#[test]
fn a_relay_keeps_what_the_recipient_has_not_acknowledged() {
    let waits = r#""some":[{"at":"/message/id","equals":"${q0/id}"}]"#;
    check(&[
        (&[STORE], POLL, "poll: the first time", &[waits, "AMP-8.3-18"]),
        (&[STORE, POLL], POLL, "poll: again", &[waits, "AMP-16.5-02"]),
        (&[STORE, POLL, r#"{"do":"acknowledge","who":"stranger"}"#], POLL, "poll: again", &[waits]),
        (&[STORE, POLL, r#"{"do":"acknowledge","who":"forger"}"#], POLL, "poll: again", &[waits]),
        // An ACK that comes twice, before the message, or for another message ends nothing else.
        (
            &[STORE, r#"{"do":"store","n":1}"#, POLL, r#"{"do":"acknowledge","n":1}"#, r#"{"do":"acknowledge","n":1}"#],
            POLL,
            "poll: again",
            &[waits],
        ),
        (&[r#"{"do":"acknowledge ahead"}"#], STORE, "store: a message", &[r#""/id":"${ahead0}""#]),
        (&[r#"{"do":"acknowledge ahead"}"#, STORE], POLL, "poll: the first time", &[waits]),
        // What comes under its id does not take its place.
        (
            &[STORE, r#"{"do":"disturb","how":"other content"}"#],
            POLL,
            "poll: the first time",
            &[r#"{"at":"/message/id","equals":"${q0/id}"},{"at":"/body","equals":"${q0/body}"}"#],
        ),
        (&[r#"{"do":"store","own":true}"#], POLL, "poll: the first time", &[waits]),
        // Of two readers, each acknowledges for itself.
        (
            &[r#"{"do":"store","both":true}"#, POLL, r#"{"do":"acknowledge"}"#],
            r#"{"do":"poll","reader":1}"#,
            "poll: the first time",
            &[waits],
        ),
        (
            &[r#"{"do":"store","fate":"expired"}"#],
            POLL,
            "poll: the first time",
            &[r#""none":[{"at":"/message/id","equals":"${q0/id}"}],"covers":["AMP-8.3-19"]"#],
        ),
        (
            &[STORE, r#"{"do":"store","n":1,"reader":1}"#],
            POLL,
            "poll: the first time",
            &[r#""none":[{"at":"/message/id","equals":"${q1/id}"}],"covers":["AMP-002.6.2-07"]"#],
        ),
        (
            &[STORE, r#"{"do":"store","n":1}"#],
            r#"{"do":"poll","pages":true}"#,
            "poll: page by page",
            &[r#""cursor":"${cursor0_1}""#, r#""none":{"one-of":["${page0_0}"]}"#],
        ),
        (
            &[r#"{"do":"store many","count":12}"#],
            POLL,
            "poll: the first time",
            &[r#""length":{"min":12}"#, r#""reading":"more on further pages""#],
        ),
    ]);
    // Section 16.5: after the ACK it may be gone.
    let acknowledged = after(&format!(r#"{STORE};{POLL};{{"do":"acknowledge"}};{POLL}"#)).expect("a poll");
    assert!(!written(&acknowledged).contains(waits), "{}", written(&acknowledged));
    // An ACK names the id alone: of two messages that have it, both may be gone.
    let twins = format!(r#"{STORE};{{"do":"store","n":1,"from":1,"like":0}};{POLL}"#);
    let both = after(&format!(r#"{twins};{POLL}"#)).expect("a poll");
    assert!(written(&both).contains("AMP-16.2-04"), "{}", written(&both));
    let neither = after(&format!(r#"{twins};{{"do":"acknowledge"}};{POLL}"#)).expect("a poll");
    assert!(!written(&neither).contains("AMP-16.2-04"), "{}", written(&neither));
    // A message that was not offered is not acknowledged.
    assert_eq!(after(&format!(r#"{STORE};{{"do":"acknowledge"}}"#)), None);
}

const BRIEF: &str = r#"{"do":"store","fate":"brief"}"#;
const PAUSE: &str = r#"{"do":"pause"}"#;

#[test]
fn time_passes_while_a_relay_stores() {
    let gone = r#""none":[{"at":"/message/id","equals":"${q0/id}"}],"covers":["AMP-8.3-19"]"#;
    let other = r#""some":[{"at":"/message/id","equals":"${q1/id}"}]"#;
    let second = r#"{"do":"store","n":1}"#;
    check(&[
        (&[BRIEF], PAUSE, "store: time passes", &[r#"{"pause":"3s"}"#]),
        (&[BRIEF, PAUSE, PAUSE], POLL, "poll: the first time", &[gone]),
        (&[BRIEF, PAUSE, r#"{"do":"store again"}"#, PAUSE], POLL, "poll: the first time", &[gone]),
        // What expires takes nothing with it.
        (&[second, BRIEF, PAUSE, PAUSE], POLL, "poll: the first time", &[gone, other]),
        (
            &[BRIEF, second, PAUSE, PAUSE],
            r#"{"do":"poll","pages":true}"#,
            "poll: page by page",
            &[r#""at":"/body/has_more","equals":false"#],
        ),
        (
            &[r#"{"do":"store many","count":11}"#],
            r#"{"do":"poll","pages":true}"#,
            "poll: page by page",
            &["cursor0_10"],
        ),
    ]);
    // Until it has expired for sure, nothing is known of it.
    let unknown = after(&format!("{BRIEF};{PAUSE};{POLL}")).expect("a poll");
    assert!(!written(&unknown).contains("${q0/id}"), "{}", written(&unknown));
    assert_eq!(after(&format!(r#"{BRIEF};{PAUSE};{{"do":"poll","pages":true}}"#)), None);
    assert_eq!(after(&format!("{STORE};{PAUSE}")), None);
}

#[test]
fn messages_that_come_again_or_at_the_same_time_are_kept() {
    let each = [r#"{"at":"/message/id","equals":"${q0/id}"}"#, r#"{"at":"/message/id","equals":"${q1/id}"}"#];
    check(&[
        (&[r#"{"do":"store at once"}"#], POLL, "poll: the first time", &each),
        (&[], r#"{"do":"store at once","poll":true}"#, "store: several messages at once", &[r#"{"parallel":["#]),
        (&[STORE, r#"{"do":"store again"}"#], POLL, "poll: the first time", &each[..1]),
    ]);
    // A relay may keep both copies.
    let copies = after(&format!(r#"{STORE};{{"do":"store","n":1}};{{"do":"store again"}};{POLL}"#)).expect("a poll");
    assert!(!written(&copies).contains("distinct"), "{}", written(&copies));
    assert_eq!(after(&format!(r#"{STORE};{{"do":"store at once"}}"#)), None);
}

const START: &str = r#"{"do":"start","chunks":2}"#;
const FIRST: &str = r#"{"do":"chunk"}"#;
const SECOND: &str = r#"{"do":"chunk","index":1}"#;
const END: &str = r#"{"do":"end"}"#;

#[test]
fn a_stream_is_verified_if_every_chunk_came_and_the_hash_is_right() {
    let verified = r#""some":[{"at":"/body/stream_id","equals":"${sid0}"},{"at":"/body/verified","equals":true}"#;
    let not_verified = r#""none":[{"at":"/body/stream_id","equals":"${sid0}"},{"at":"/body/verified","equals":true}"#;
    check(&[
        (&[START, FIRST, SECOND], END, "stream: the end", &[verified, "AMP-6.3-04"]),
        (
            &[START, FIRST, SECOND],
            END,
            "stream: the end",
            &[r#"{"not":{"at":"/body/chunks_received","equals":2}}],"covers":["AMP-4.4-08"]"#],
        ),
        (&[START, SECOND, FIRST], END, "stream: the end", &[verified, "AMP-6.2-08"]),
        (&[START, FIRST, FIRST, SECOND], END, "stream: the end", &[verified, "AMP-6.2-18"]),
        (&[START, FIRST, r#"{"do":"chunk","bytes":"other"}"#, SECOND], END, "stream: the end", &["AMP-6.2-19"]),
        (&[START, FIRST], END, "stream: the end with a gap", &[not_verified, "AMP-6.2-14"]),
        // E62: a duplicate does not stand in for a missing chunk.
        (&[START, FIRST, FIRST], END, "stream: the end with a gap", &[not_verified, "AMP-6.2-18"]),
        (&[START, FIRST, SECOND], r#"{"do":"end","hash":"wrong"}"#, "stream: a wrong hash", &[not_verified]),
        (&[START, FIRST, SECOND, END], END, "stream: the end again", &[verified, "AMP-16.2-01"]),
        // A forged part is none.
        (&[START, FIRST, SECOND, r#"{"do":"forged part","part":"end"}"#], END, "stream: the end", &[verified]),
        (&[START, FIRST, r#"{"do":"forged part"}"#], END, "stream: the end with a gap", &[not_verified]),
        (&[r#"{"do":"long","chunks":70}"#], END, "stream: the end", &[verified]),
        // E60: the id belongs to the sender.
        (
            &[START],
            r#"{"do":"start","n":1,"from":1,"like":0}"#,
            "stream: an id that another sender used",
            &[r#""stream_id":"${sid0}""#],
        ),
    ]);
    // E56, E57: what follows a failure is open.
    assert_eq!(after(&[START, FIRST, END, SECOND].join(";")), None);
    assert_eq!(after(&[START, FIRST, END, END].join(";")), None);
}

#[test]
fn an_item_of_a_batch_counts_as_if_it_had_come_alone() {
    check(&[
        (&[], r#"{"do":"batch"}"#, "batch: a new message", &[r#""items":["${signed $m0 $s0}"]"#]),
        (
            &[COUNT],
            r#"{"do":"batch","n":1,"known":0,"first":true}"#,
            "batch: a known request for the number of requests",
            &[r#""items":["${signed $m1 $s0}","${signed $m0 $s0}"]"#, r#""not":{"at":"/body/count","equals":"${c0}"}"#],
        ),
        (&[r#"{"do":"batch"}"#], REPEAT, "repeat: a message", &[r#""accepted":true"#]),
        (&[], r#"{"do":"batch","forged":true}"#, "batch: a forged message", &["mallory", r#""equals":1002"#]),
    ]);
}

/// A target that offers everything but a rate limit.
struct Everything(Transport);

impl Offers for Everything {
    fn has(&self, name: &str) -> bool {
        name != "rate-limit"
    }

    fn may_have(&self, name: &str) -> bool {
        self.has(name)
    }

    fn transport(&self) -> Transport {
        self.0
    }
}

#[test]
fn every_transition_can_be_proposed_and_every_prediction_names_its_requirements() {
    let mut reached = std::collections::BTreeSet::new();
    for seed in 0..4000_u64 {
        let mut choices = Counting { number: seed, mood: usize::try_from(seed).unwrap_or(0) };
        let choices: &mut dyn Choices = &mut choices;
        let mut state = super::Sequences.start();
        let transports = [Transport::Http, Transport::Ws, Transport::Tcp, Transport::Adapter];
        let offers = Everything(transports[usize::try_from(seed / 7).unwrap_or(0) % transports.len()]);
        let mut all: Vec<Move> = (0..25)
            .filter_map(|_| {
                let step = state.propose(&offers, choices)?;
                state.take(&step).map(|_| step)
            })
            .collect();
        all.extend(state.read_back(&offers));
        let mut state = State::default();
        for predicted in all.iter().filter_map(|step| state.take(step)) {
            assert!(TRANSITIONS.contains(&predicted.transition), "{}", predicted.transition);
            reached.insert(predicted.transition);
            for step in &predicted.steps {
                let expectations = step.member("expect").and_then(Value::as_array).unwrap_or_default();
                let named =
                    |one: &Value| one.member("covers").and_then(Value::as_array).is_some_and(|ids| ids.len() == 1);
                assert!(expectations.iter().all(named), "{}", predicted.transition);
            }
        }
    }
    let missing: Vec<&&str> = TRANSITIONS.iter().filter(|name| !reached.contains(**name)).collect();
    assert_eq!(missing, Vec::<&&str>::new());
}

#[test]
fn nothing_that_may_close_the_connection_is_sent_over_one() {
    let mut choices = Counting { number: 1, mood: 0 };
    let choices: &mut dyn Choices = &mut choices;
    let mut state = super::Sequences.start();
    for _ in 0..400 {
        let Some(step) = state.propose(&Everything(Transport::Ws), choices) else { continue };
        let kind = word(&step, "do").unwrap_or_default().to_owned();
        assert!(!["flawed", "other", "elsewhere", "hello"].contains(&kind.as_str()), "{kind}");
        state.take(&step);
    }
}

#[test]
fn a_move_without_its_arguments_has_plain_ones() {
    for kind in ["send", "elsewhere", "store", "store many", "store at once", "batch", "start", "hello"] {
        let step = map([("do", text(kind))]);
        assert!(State::default().take(&step).is_some(), "{kind}");
    }
    // What refers to an object that is not there means nothing.
    for kind in ["repeat", "deliver", "other", "acknowledge", "poll", "chunk", "end", "flawed", "pause", "store again"]
    {
        let step = map([("do", text(kind)), ("n", number(3))]);
        assert_eq!(State::default().take(&step), None, "{kind}");
    }
    assert!(PROPOSALS.iter().all(|(_, weight, _)| *weight > 0));
}

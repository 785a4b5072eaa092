//! Streams: chunks in any order, repeated, missing, and of several streams at a time (sections 6.2 and 6.3, E56 to E62).

use std::collections::BTreeMap;

use super::expect::{Step, at, flag, map, no_reply, number, plain, small, text, word};
use super::message::{LASTING, fresh, party, sender};
use super::state::State;
use super::stream::{End, Stream};
use crate::protocol::{Choices, Move, Offers, Predicted};
use crate::value::Value;

/// Bytes of a chunk, and of the last one.
const SIZE: usize = 8;
const LAST: usize = 3;

/// The most chunks of a stream.
const CHUNKS: usize = 4;

/// Chunks of a long stream.
const MANY: usize = 70;

/// Whether streams can be judged at a target.
fn has_streams(offers: &dyn Offers) -> bool {
    offers.has("stream") && offers.has("full")
}

pub(super) fn propose_start(state: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    if !has_streams(offers) {
        return None;
    }
    let mut step =
        vec![("do", text("start")), ("n", number(state.next_stream)), ("chunks", number(1 + choices.below(CHUNKS)))];
    let others: Vec<usize> = state.streams.iter().filter(|(n, one)| one.named == **n).map(|(n, _)| *n).collect();
    match choices.pick(&others).filter(|_| choices.one_in(3)) {
        Some(like) => {
            step.push(("like", number(*like)));
            step.push(("from", number(usize::from(state.streams[like].from == 0))));
        }
        None if choices.one_in(3) => step.push(("from", number(1))),
        None => {}
    }
    seal(&mut step, offers, choices);
    Some(Value::map(step))
}

fn seal(step: &mut Vec<(&'static str, Value)>, offers: &dyn Offers, choices: &mut dyn Choices) {
    if offers.has("encryption") && choices.one_in(5) {
        step.push(("seal", Value::Bool(true)));
    }
}

pub(super) fn propose_long(state: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    let possible = has_streams(offers) && choices.one_in(6) && state.streams.values().all(|one| one.chunks < MANY);
    possible.then(|| map([("do", text("long")), ("n", number(state.next_stream)), ("chunks", number(MANY))]))
}

/// A stream of many chunks, in order. Its end follows like that of others.
pub(super) fn long(state: &mut State, given: &Move) -> Option<Predicted> {
    let n = small(given, "n");
    let chunks = small(given, "chunks").clamp(1, MANY);
    let mut found = start(state, &map([("n", number(n)), ("chunks", number(chunks))]))?;
    for index in 0..chunks {
        found.steps.extend(chunk(state, &map([("n", number(n)), ("index", number(index))]))?.steps);
    }
    found.transition = "stream: many chunks";
    Some(found)
}

pub(super) fn propose_forged(state: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    // A target may close the connection over which a forgery comes.
    if offers.transport().is_channel() {
        return None;
    }
    let open: Vec<usize> = state.streams.iter().filter(|(_, one)| one.end == End::Open).map(|(n, _)| *n).collect();
    let part = choices.pick(&["chunk", "end"])?;
    Some(map([("do", text("forged part")), ("n", number(*choices.pick(&open)?)), ("part", text(*part))]))
}

/// A chunk or the end of a stream with the signature of another party is no part of it (section 8.2).
pub(super) fn forged(state: &mut State, given: &Move) -> Option<Predicted> {
    let n = small(given, "n");
    let stream = state.streams.get(&n).filter(|one| one.end == End::Open)?;
    let is_end = word(given, "part") == Some("end");
    let index = (0..stream.chunks).find(|index| !stream.sent.contains_key(index)).unwrap_or(0);
    let sent = if is_end {
        let hash = text(format!("${{sha256 $all{n}}}"));
        built(stream, 21, map([("stream_id", sid(stream)), ("hash", hash)]))
    } else {
        let body = [("stream_id", sid(stream)), ("index", number(index)), ("data", text("${random_bytes 8}"))];
        built(stream, 20, map(body))
    };
    let mut step = message(stream, given, sent, unconfirmed(stream));
    step.with.push(("sign", map([("with", text("mallory"))])));
    step.more.push(("collect-for", text("300ms")));
    state.effects = None;
    let transition = if is_end { "stream: a forged end" } else { "stream: a forged chunk" };
    Some(Predicted { transition, needs: vec!["stream"], bindings: Vec::new(), steps: vec![step.written()] })
}

/// The reference to the id of a stream.
fn sid(stream: &Stream) -> Value {
    text(format!("${{sid{}}}", stream.named))
}

/// A message of a stream. Only its end has to be answered (E42).
fn message(stream: &Stream, given: &Move, sent: Value, expect: Vec<Value>) -> Step {
    let from = party(stream.from);
    let mut with = vec![("message", sent), ("key", text(format!("${{{from}}}")))];
    if flag(given, "seal") {
        with.push(("seal", Value::Bool(true)));
    }
    Step { party: from, operation: "deliver", with, expect, ..Step::default() }
}

/// The members of a message of a stream.
fn built(stream: &Stream, typ: i128, body: Value) -> Value {
    let from = text(format!("${{did ${}}}", party(stream.from)));
    let set = map([("/from", from), ("/ttl", number(LASTING)), ("/typ", number(typ)), ("/body", body)]);
    map([("base", text("base")), ("set", set)])
}

/// Nothing says that the stream was verified.
fn unverified(stream: &Stream, requirement: &str) -> Value {
    no_reply(
        requirement,
        vec![
            plain("/body/stream_id", "equals", sid(stream)),
            plain("/body/verified", "equals", Value::Bool(true)),
            plain("/message/to", "equals", text(format!("${{did ${}}}", party(stream.from)))),
        ],
    )
}

/// Nothing confirms a stream that has not ended: an ACK with its id comes once, after its end (section 6.3).
fn unconfirmed(stream: &Stream) -> Vec<Value> {
    let own = vec![
        plain("/name", "equals", text("ACK")),
        plain("/body/stream_id", "equals", sid(stream)),
        plain("/message/to", "equals", text(format!("${{did ${}}}", party(stream.from)))),
    ];
    vec![unverified(stream, "AMP-6.2-14"), no_reply("AMP-6.3-06", own)]
}

fn needs(given: &Move) -> Vec<&'static str> {
    if flag(given, "seal") { vec!["stream", "encryption"] } else { vec!["stream"] }
}

/// A stream begins.
pub(super) fn start(state: &mut State, given: &Move) -> Option<Predicted> {
    let n = small(given, "n");
    if state.streams.contains_key(&n) {
        return None;
    }
    let chunks = small(given, "chunks").clamp(1, MANY);
    let from = sender(given);
    let named = if given.member("like").is_some() {
        // The id of a stream belongs to its sender (E60); one sender does not use it twice.
        let like = small(given, "like");
        let of_other = state.streams.get(&like).is_some_and(|one| one.named == like && one.from != from);
        let is_used = state.streams.values().any(|one| one.named == like && one.from == from);
        if !of_other || is_used {
            return None;
        }
        like
    } else {
        n
    };
    let stream = Stream {
        from,
        chunks,
        named,
        sent: BTreeMap::new(),
        last: None,
        in_order: true,
        has_other_bytes: false,
        end: End::Open,
        is_end_sealed: false,
    };
    let mut bindings = vec![fresh(&party(from))];
    if named == n {
        bindings.push((format!("sid{n}"), text("pm-${word 12}")));
    }
    for index in 0..chunks {
        let size = if index + 1 == chunks { LAST } else { SIZE };
        bindings.push((format!("d{n}_{index}"), text(format!("${{random_bytes {size}}}"))));
    }
    let whole: Vec<String> = (0..chunks).map(|index| format!("$d{n}_{index}")).collect();
    bindings.push((format!("all{n}"), text(format!("${{bytes {}}}", whole.join(" ")))));
    let body = map([
        ("stream_id", sid(&stream)),
        ("content_type", text("text/plain")),
        ("filename", text("a.txt")),
        ("total_size", number((chunks - 1) * SIZE + LAST)),
        ("total_chunks", number(chunks)),
        ("chunk_size", number(if chunks == 1 { LAST } else { SIZE })),
        ("hash_algo", text("sha256")),
    ]);
    let mut step = message(&stream, given, built(&stream, 19, body), unconfirmed(&stream));
    step.more.push(("no-wait", Value::Bool(true)));
    let transition = match () {
        () if named != n => "stream: an id that another sender used",
        () if state.streams.values().any(|one| one.end == End::Open) => "stream: a start beside another stream",
        () if state.streams.values().any(|one| one.end == End::Failed) => "stream: a start after a failed stream",
        () => "stream: a start",
    };
    state.next_stream = state.next_stream.max(n + 1);
    state.effects = None;
    state.streams.insert(n, stream);
    Some(Predicted { transition, needs: needs(given), bindings, steps: vec![step.written()] })
}

pub(super) fn propose_chunk(state: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    let open: Vec<usize> = state.streams.iter().filter(|(_, one)| one.end == End::Open).map(|(n, _)| *n).collect();
    let n = *choices.pick(&open)?;
    let stream = &state.streams[&n];
    // A target may close the connection over which such a chunk comes.
    if !offers.transport().is_channel() && choices.one_in(12) {
        return Some(map([("do", text("chunk")), ("n", number(n)), ("surplus", Value::Bool(true))]));
    }
    let missing: Vec<usize> = (0..stream.chunks).filter(|index| !stream.sent.contains_key(index)).collect();
    let known: Vec<usize> = stream.sent.keys().copied().collect();
    let again = choices.one_in(5);
    let index = if again || missing.is_empty() { choices.pick(&known) } else { choices.pick(&missing) };
    let mut step = vec![("do", text("chunk")), ("n", number(n)), ("index", number(*index?))];
    if choices.one_in(2) && stream.sent.contains_key(index?) {
        step.push(("bytes", text("other")));
    }
    seal(&mut step, offers, choices);
    Some(Value::map(step))
}

/// A chunk comes, in any order. The first of two with one index counts (E62).
pub(super) fn chunk(state: &mut State, given: &Move) -> Option<Predicted> {
    let n = small(given, "n");
    let stream = state.streams.get_mut(&n).filter(|one| one.end == End::Open)?;
    if flag(given, "surplus") {
        state.effects = None;
        return Some(surplus(stream, given));
    }
    let index = Some(small(given, "index")).filter(|index| *index < stream.chunks)?;
    let is_known = stream.sent.contains_key(&index);
    let has_other_bytes = is_known && given.member("bytes").is_some();
    let data = if has_other_bytes { text("${random_bytes 8}") } else { text(format!("${{d{n}_{index}}}")) };
    let follows = stream.last.map_or(index == 0, |last| index == last + 1);
    let transition = match () {
        () if has_other_bytes => "stream: a known index with other bytes",
        () if is_known => "stream: a chunk again",
        () if !follows => "stream: a chunk out of order",
        () => "stream: the next chunk",
    };
    // A library may count what it makes of a part of a stream.
    state.effects = None;
    *stream.sent.entry(index).or_default() += 1;
    if !is_known {
        stream.in_order &= follows;
        stream.last = Some(index);
    }
    stream.has_other_bytes |= has_other_bytes;
    let body = map([("stream_id", sid(stream)), ("index", number(index)), ("data", data)]);
    let mut step = message(stream, given, built(stream, 20, body), unconfirmed(stream));
    step.more.push(("no-wait", Value::Bool(true)));
    Some(Predicted { transition, needs: needs(given), bindings: Vec::new(), steps: vec![step.written()] })
}

/// A chunk beyond the announced ones is refused or ignored, and changes nothing (section 6.2).
fn surplus(stream: &Stream, given: &Move) -> Predicted {
    let data = text("${random_bytes 8}");
    let body = map([("stream_id", sid(stream)), ("index", number(stream.chunks)), ("data", data)]);
    let step = message(stream, given, built(stream, 20, body), vec![unverified(stream, "AMP-6.2-12")]);
    Predicted {
        transition: "stream: a chunk beyond the end",
        needs: needs(given),
        bindings: Vec::new(),
        steps: vec![step.written()],
    }
}

pub(super) fn propose_end(state: &State, offers: &dyn Offers, choices: &mut dyn Choices) -> Option<Move> {
    let wants_gap = choices.one_in(4);
    let ready = |one: &Stream| match one.end {
        End::Open => one.is_complete() || wants_gap,
        End::Verified => true,
        End::Failed => false,
    };
    let known: Vec<usize> = state.streams.iter().filter(|(_, one)| ready(one)).map(|(n, _)| *n).collect();
    let n = *choices.pick(&known)?;
    let mut step = vec![("do", text("end")), ("n", number(n))];
    if state.streams[&n].end == End::Open {
        if choices.one_in(6) {
            step.push(("hash", text(*choices.pick(&["wrong", "prefix", "empty"])?)));
        }
        seal(&mut step, offers, choices);
    } else if state.streams[&n].is_end_sealed {
        step.push(("seal", Value::Bool(true)));
    }
    Some(Value::map(step))
}

/// The end of a stream: it is verified if every chunk came and the hash is right, and otherwise not.
pub(super) fn end(state: &mut State, given: &Move) -> Option<Predicted> {
    let n = small(given, "n");
    state.effects = None;
    let stream = state.streams.get_mut(&n)?;
    let verified = vec![
        plain("/body/stream_id", "equals", sid(stream)),
        plain("/body/verified", "equals", Value::Bool(true)),
        plain("/message/reply_to", "equals", text(format!("${{y{n}/id}}"))),
    ];
    let done = |requirement: &str| at(requirement, "/replies", "some", Value::Array(verified.clone().into()));
    let is_wrong = word(given, "hash").is_some();
    let is_repeat = stream.end == End::Verified;
    let (transition, expect) = match stream.end {
        End::Failed => return None,
        End::Verified if is_wrong || flag(given, "seal") != stream.is_end_sealed => return None,
        End::Verified => ("stream: the end again", vec![done("AMP-16.2-01")]),
        End::Open if is_wrong => ("stream: a wrong hash", vec![unverified(stream, "AMP-6.2-15")]),
        End::Open if !stream.is_complete() => {
            let stands_in = stream.sent.values().any(|times| *times > 1);
            let requirement = if stands_in { "AMP-6.2-18" } else { "AMP-6.2-14" };
            ("stream: the end with a gap", vec![unverified(stream, requirement)])
        }
        End::Open => {
            let is_repeated = stream.sent.values().any(|times| *times > 1);
            let requirement = match () {
                () if stream.has_other_bytes => "AMP-6.2-19",
                () if is_repeated => "AMP-6.2-18",
                () if stream.named != n => "AMP-6.2-09",
                () if !stream.in_order => "AMP-6.2-08",
                () => "AMP-6.3-04",
            };
            ("stream: the end", vec![done(requirement)])
        }
    };
    let is_verified = transition == "stream: the end" || is_repeat;
    let mut expect = expect;
    if is_verified {
        let counts = plain("/body/chunks_received", "exists", Value::Bool(true));
        let right = plain("/body/chunks_received", "equals", number(stream.chunks));
        let own = verified.iter().cloned().chain([counts, map([("not", right)])]).collect();
        expect.push(no_reply("AMP-4.4-08", own));
    }
    let is_sealed = flag(given, "seal");
    stream.end = if is_verified { End::Verified } else { End::Failed };
    stream.is_end_sealed = is_sealed;
    let hash = match word(given, "hash") {
        Some("prefix") => text(format!("${{slice $hash{n} 0 31}}")),
        Some("empty") => text("${random_bytes 0}"),
        Some(_) => text("${random_bytes 32}"),
        None => text(format!("${{hash{n}}}")),
    };
    let body = map([("stream_id", sid(stream)), ("hash", hash)]);
    let bindings = if is_repeat {
        Vec::new()
    } else {
        let right = text(format!("${{sha256 $all{n}}}"));
        vec![(format!("hash{n}"), right), (format!("y{n}"), built(stream, 21, body))]
    };
    let mut step = message(stream, given, text(format!("${{y{n}}}")), expect);
    if !is_verified {
        step.more.push(("collect-for", text("300ms")));
    }
    Some(Predicted { transition, needs: needs(given), bindings, steps: vec![step.written()] })
}

/// Every complete stream ends, and every end is repeated.
pub(super) fn read_back(state: &State) -> Vec<Move> {
    let of = |n: &usize| map([("do", text("end")), ("n", number(*n))]);
    let complete = state.streams.iter().filter(|(_, one)| one.end == End::Open && one.is_complete());
    complete.map(|(n, _)| of(n)).collect()
}

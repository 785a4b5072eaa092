//! `amp-frame-decode`, `amp-frame-encode` and `amp-wrapper`: the framing of RFC 002.

use super::common::{self, any_of, at, bytes, expect, library_call, reading, refusals, show_hex};
use crate::protocol::amp_core::frame::{self, Framing};
use crate::value::Value;
use crate::vector::{Kind, LibraryCall, Vector, VectorResult};
use crate::wire::canonical::Form;
use crate::wire::cbor;

/// The maximum message that a reader accepts by default (RFC 002 section 3.2).
const DEFAULT_SIZE: usize = 1 << 20;

/// The frames and the rest that a vector declares.
fn declared(vector: &Vector) -> Result<Vec<Value>, &'static str> {
    let frames = vector.value("frames").and_then(Value::as_array).ok_or("frames")?;
    let count = i128::try_from(frames.len()).map_err(|_| "frames")?;
    let mut all = vec![at("/result/frames", "length", Value::Integer(count))];
    for (index, frame) in frames.iter().enumerate() {
        for name in ["type", "payload"] {
            let value = frame.member(name).ok_or("frames")?.clone();
            all.push(at(&format!("/result/frames/{index}/{name}"), "equals", value));
        }
    }
    all.push(at("/result/rest", "equals", Value::text(vector.text("rest")?)));
    Ok(all)
}

pub(super) struct FrameDecode;

impl Kind for FrameDecode {
    fn name(&self) -> &'static str {
        "amp-frame-decode"
    }

    fn summary(&self) -> &'static str {
        "Bytes of a connection, and the frames and the rest that they are; impossible lengths are refused."
    }

    fn keys(&self) -> &'static [&'static str] {
        &["data", "max_size", "frames", "rest", "also_refused", "twin"]
    }

    fn library_call(&self, vector: &Vector) -> Result<LibraryCall, &'static str> {
        let refused = vector.result == VectorResult::Invalid;
        let good = if refused { Vec::new() } else { declared(vector)? };
        let expect = if vector.value("also_refused") == Some(&Value::Bool(true)) {
            let mut readings = vec![reading("as ruled", false, good)];
            readings.extend(refusals(vector));
            vec![any_of(readings, false)]
        } else {
            expect(vector, good, refusals(vector))
        };
        let whole = |twin: &Vector| {
            let frames = twin.value("frames").and_then(Value::as_array).map_or(0, <[Value]>::len);
            vec![("/result/frames", "length", Value::Integer(i128::try_from(frames).unwrap_or_default()))]
        };
        library_call(vector, "frame-decode", &["data", "max_size"], expect, whole)
    }

    fn confirm(&self, vector: &Vector, _: Option<Form>) -> Result<(), String> {
        let size = vector.value("max_size").and_then(Value::as_integer);
        let size = size.map_or(Ok(DEFAULT_SIZE), usize::try_from).map_err(|error| error.to_string())?;
        match (frame::decode(&bytes(vector, "data")?, Framing::Typed, size), vector.value("frames")) {
            (Ok((frames, rest)), Some(wanted)) => {
                let made = frames.iter().map(|frame| {
                    let payload = Value::text(show_hex(&frame.payload));
                    Value::map([("type", Value::Integer(i128::from(frame.kind))), ("payload", payload)])
                });
                let made = Value::Array(made.collect());
                common::must(made.same_as(wanted), &format!("frames {}", crate::wire::show(&made)))?;
                common::same(vector, "rest", &rest)
            }
            (Ok(_), None) => Err("frames".to_owned()),
            (Err(error), Some(_)) => Err(error.to_string()),
            (Err(_), None) => Ok(()),
        }
    }
}

pub(super) struct FrameEncode;

impl Kind for FrameEncode {
    fn name(&self) -> &'static str {
        "amp-frame-encode"
    }

    fn summary(&self) -> &'static str {
        "A frame type and a payload, and the frame."
    }

    fn keys(&self) -> &'static [&'static str] {
        &["type", "payload", "frame"]
    }

    fn library_call(&self, vector: &Vector) -> Result<LibraryCall, &'static str> {
        Ok(LibraryCall {
            operation: "frame-encode",
            with: common::inputs(vector, &["type", "payload"]),
            expect: vec![("/result/frame", "equals", Value::text(vector.text("frame")?), false)],
            twin: None,
        })
    }

    fn confirm(&self, vector: &Vector, _: Option<Form>) -> Result<(), String> {
        let kind = vector.value("type").and_then(Value::as_integer).and_then(|kind| u8::try_from(kind).ok());
        let frame = frame::encode(kind.ok_or("no type")?, &bytes(vector, "payload")?, Framing::Typed);
        common::same(vector, "frame", &frame)
    }
}

pub(super) struct Wrapper;

impl Kind for Wrapper {
    fn name(&self) -> &'static str {
        "amp-wrapper"
    }

    fn summary(&self) -> &'static str {
        "A wrapper of RFC 002, taken or refused by its schema."
    }

    fn keys(&self) -> &'static [&'static str] {
        &["wrapper", "cbor", "codes", "tolerate", "twin"]
    }

    fn library_call(&self, vector: &Vector) -> Result<LibraryCall, &'static str> {
        let taken = || at("/result/value", "exists", Value::Bool(true));
        let expect = expect(vector, vec![taken()], refusals(vector));
        let assume = |_: &Vector| vec![("/result/value", "exists", Value::Bool(true))];
        let mut call = library_call(vector, "wrapper-decode", &["wrapper", "cbor"], expect, assume)?;
        // The operation calls it `kind`, which is already a key of vectors.
        let inputs = call.with.iter_mut().chain(call.twin.iter_mut().flat_map(|twin| &mut twin.with));
        inputs.filter(|(name, _)| *name == "wrapper").for_each(|(name, _)| *name = "kind");
        Ok(call)
    }

    fn confirm(&self, vector: &Vector, _: Option<Form>) -> Result<(), String> {
        let fits =
            cbor::parse(&bytes(vector, "cbor")?).is_ok_and(|value| fits(&value, vector.text("wrapper").unwrap_or("")));
        let valid = common::requires_rejection(vector);
        common::must(fits != valid, if fits { "a valid wrapper" } else { "a wrapper that violates its schema" })
    }
}

/// The type of a member of a wrapper.
type Shape = fn(&Value) -> bool;

/// Whether a wrapper is a closed map of the members of its schema (RFC 002 sections 6.2, 6.3, 6.5 and 6.6).
fn fits(value: &Value, kind: &str) -> bool {
    let is_bytes: Shape = |value| matches!(value, Value::Bytes(_));
    let is_text: Shape = |value| matches!(value, Value::Text(_));
    let is_unsigned: Shape = |value| matches!(value, Value::Integer(0..));
    let is_one: Shape = |value| matches!(value, Value::Integer(1));
    let schema: &[(&str, Shape)] = match kind {
        "poll" => &[
            ("messages", |value| {
                value.as_array().is_some_and(|list| list.iter().all(|item| matches!(item, Value::Bytes(_))))
            }),
            ("next_cursor", |value| matches!(value, Value::Text(_) | Value::Null)),
            ("has_more", |value| matches!(value, Value::Bool(_))),
        ],
        "webhook" => &[("message", is_bytes), ("relay", is_text), ("sent_at", is_unsigned)],
        "forward" => &[
            ("fwd_v", is_one),
            ("message", is_bytes),
            ("from_did", is_text),
            ("recipient_did", is_text),
            ("relay_path", |value| {
                value.as_array().is_some_and(|list| list.iter().all(|item| item.as_text().is_some()))
            }),
            ("hop_limit", is_unsigned),
            ("upstream_relay", is_text),
            ("transfer_mode", |value| matches!(value.as_text(), Some("single" | "dual"))),
        ],
        "commit" => &[("commit_v", is_one), ("commit_receipt", is_bytes)],
        _ => return false,
    };
    let form = |name: &Value| schema.iter().find(|(known, _)| name.as_text() == Some(known)).map(|(_, form)| form);
    let members = value.as_map().unwrap_or_default();
    members.len() == schema.len()
        && schema.iter().all(|(name, _)| value.member(name).is_some())
        && members.iter().all(|(name, value)| form(name).is_some_and(|form| form(value)))
}

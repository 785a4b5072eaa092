//! Faults of forwarding: what a relay changes although section 4.8.2.1, rule 1, has it preserved. One row for each.

use crate::agentic_mesh::memorygram;
use crate::agentic_mesh::message::{BODY, ENVELOPE, HEADER, MEMORYGRAM, Message};
use crate::agentic_mesh::node::Node;
use crate::agentic_mesh::pointer;
use crate::agentic_mesh::rules::Rules;
use crate::json::{Number, Object, Value};

/// What is done to a message that is forwarded.
type Change = (&'static str, &'static [fn(&mut Message, &Node)]);

#[rustfmt::skip]
const CHANGES: &[Change] = &[
    // The structure (2, 3.3).
    ("forwards-without-envelope", &[|message, _| if let Some(Value::Object(inner)) = message.0.remove(ENVELOPE) {
        message.0 = inner;
    }]),
    ("memorygram-beside-envelope", &[|message, _| if let Some(graph) = message.envelope_mut().and_then(|envelope| envelope.remove(MEMORYGRAM)) {
        message.0.set(MEMORYGRAM, graph);
    }]),
    ("envelope-extras-dropped", &[|message, _| {
        message.0.retain(|name, _| name == ENVELOPE);
        if let Some(envelope) = message.envelope_mut() {
            envelope.retain(|name, _| [HEADER, BODY, MEMORYGRAM].contains(&name));
        }
    }]),
    ("envelope-stamped", &[|message, node| if let Some(envelope) = message.envelope_mut() {
        envelope.set("hops", Value::List(vec![node.uri.as_str().into()]));
    }]),
    // The header (4.8.2, 4.8.2.1).
    ("header-rebuilt-from-known-fields", &[|message, _| if let Some(header) = message.header_mut() {
        let known = ["messageId", "traceId", "roles", "routingIntent", "ttl", "encryption", "headers"];
        header.retain(|name, _| known.contains(&name));
    }]),
    ("encryption-entry-dropped", &[|message, _| if let Some(header) = message.header_mut() {
        header.remove("encryption");
    }]),
    ("roles-deduplicated", &[|message, _| if let Some(Value::List(roles)) = message.header_mut().and_then(|header| header.get_mut("roles")) {
        roles.sort_by_key(Value::write);
        roles.dedup();
    }]),
    ("short-role-written", &[|message, _| add_block(message, Object::from([("type", "trace".into()), ("role", "next".into())]))]),
    ("added-block-malformed", &[|message, _| add_block(message, Object::from([("content", Object::new().into())]))]),
    ("message-id-cut", &[|message, _| if let Some(header) = message.header_mut() && let Some(id) = header.text("messageId").map(|id| first(id, 255)) {
        header.set("messageId", id);
    }]),
    ("broadcast-passed-on-as-delegate", &[|message, _| if let Some(header) = message.header_mut() && header.text("routingIntent") == Some("broadcast") {
        header.set("routingIntent", "delegate");
    }]),
    // The body (4.8.2.1, rule 10).
    ("body-stamped", &[|message, node| if let Some(body) = message.body_mut() {
        body.set("relayedBy", node.uri.as_str());
    }]),
    ("body-key-lowercased", &[|message, _| if let Some(body) = message.component_mut(BODY) {
        rename(body, &|name| name.to_lowercase());
    }]),
    ("trace-id-replaced-in-body", &[|message, _| {
        let trace = message.header().and_then(|header| header.text("traceId")).map(str::to_owned);
        let Some(trace) = trace else { return };
        let Some((inbound, _)) = trace.rsplit_once(";hop=") else { return };
        let Some(Value::Object(body)) = message.component_mut(BODY) else { return };
        each(body, &|value| if let Value::Text(text) = value {
            *text = text.replace(inbound, &trace);
        });
    }]),
    // Values of every kind (4.8.2.1, rule 1).
    ("nulls-dropped", &[|message, _| prune(&mut message.0, &|value| *value == Value::Null)]),
    ("nulls-dropped-in-blocks", &[|message, _| if let Some(Value::List(blocks)) = message.header_mut().and_then(|header| header.get_mut("headers")) {
        blocks.iter_mut().filter_map(Value::as_object_mut).for_each(|block| prune(block, &|value| *value == Value::Null));
    }]),
    ("nulls-dropped-in-records", &[|message, _| {
        let bare: &dyn Fn(&mut Object) = &|record| record.retain(|_, value| *value != Value::Null);
        for_each(message, "nodes", bare);
        for_each(message, "edges", bare);
    }]),
    ("integers-of-32-bits-in-metadata", &[|message, _| for_each(message, "nodes", &|node| if let Some(Value::Object(metadata)) = node.get_mut("metadata") {
        each(metadata, &|value| if let Value::Number(number) = value && let Some(whole) = number.as_integer() {
            #[expect(clippy::cast_possible_truncation, reason = "this is the mistake")]
            let half = whole as i32;
            *number = i64::from(half).into();
        });
    })]),
    ("roles-trimmed", &[|message, _| if let Some(Value::List(roles)) = message.header_mut().and_then(|header| header.get_mut("roles")) {
        roles.iter_mut().for_each(|role| if let Value::Text(text) = role {
            *text = text.trim().to_lowercase();
        });
    }]),
    ("nulls-dropped-in-encryption", &[|message, _| if let Some(Value::Object(entry)) = message.header_mut().and_then(|header| header.get_mut("encryption")) {
        prune(entry, &|value| *value == Value::Null);
    }]),
    ("empty-arrays-dropped", &[|message, _| prune(&mut message.0, &|value| match value {
        Value::List(items) => items.is_empty(),
        Value::Object(object) => object.is_empty(),
        _ => false,
    })]),
    ("strings-normalised", &[|message, _| each(&mut message.0, &|value| if let Value::Text(text) = value {
        *text = composed(text);
    })]),
    ("times-written-in-utc", &[|message, _| each(&mut message.0, &|value| if let Value::Text(text) = value && let Ok(time) = chrono::DateTime::parse_from_rfc3339(text) {
        *text = time.to_utc().to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
    })]),
    ("long-texts-cut", &[|message, _| each(&mut message.0, &|value| if let Value::Text(text) = value {
        *text = first(text, 4096);
    })]),
    ("numbers-through-single-precision", &[|message, _| each(&mut message.0, &|value| if let Value::Number(number) = value {
        #[expect(clippy::cast_possible_truncation, reason = "this is the mistake")]
        let single = number.as_f64() as f32;
        *number = Number::spelled(&format!("{single}")).unwrap_or_else(|| 0.into());
    })]),
    ("big-integers-through-doubles", &[|message, _| each(&mut message.0, &|value| if let Value::Number(number) = value {
        let double = number.as_f64();
        let large = double.abs() > 9_007_199_254_740_992.0 && double.is_finite();
        *number = Number::spelled(&format!("{double}")).filter(|_| large).unwrap_or_else(|| number.clone());
    })]),
    ("names-with-dots-split", &[|message, _| split_names(&mut message.0)]),
    ("deep-nesting-cut", &[|message, _| each_part(&mut message.0, &|value| cut(value, 32))]),
    ("lock-character-stripped", &[|message, _| {
        let mut top = Value::Object(std::mem::take(&mut message.0));
        rename(&mut top, &|name| name.chars().filter(char::is_ascii).collect());
        if let Value::Object(object) = top {
            message.0 = object;
        }
    }]),
    // The MemoryGram (4.8.3).
    ("memorygram-emptied", &[|message, _| if let Some(envelope) = message.envelope_mut() {
        envelope.set(MEMORYGRAM, memorygram::empty());
    }]),
    ("encrypted-memorygram-emptied", &[|message, _| if message.is_encrypted() && let Some(envelope) = message.envelope_mut() {
        envelope.set(MEMORYGRAM, memorygram::empty());
    }]),
    ("memorygram-as-string", &[|message, _| if let Some(graph) = message.component_mut(MEMORYGRAM) {
        *graph = Value::Text(graph.write());
    }]),
    ("memorygram-rebuilt-from-known-fields", &[|message, _| {
        for_each(message, "nodes", &|node| node.retain(|name, _| ["id", "type", "metadata"].contains(&name)));
        for_each(message, "edges", &|edge| edge.retain(|name, _| ["source", "target", "weight", "context"].contains(&name)));
        if let Some(Value::Object(graph)) = message.component_mut(MEMORYGRAM) {
            graph.retain(|name, _| ["nodes", "edges", "mode", "encoding"].contains(&name));
        }
    }]),
    ("dangling-edge-pruned", &[|message, _| prune_dangling(message)]),
    ("weights-rounded", &[|message, _| for_each(message, "edges", &|edge| scale(edge, "weight", &|weight| (weight * 10.0).round() / 10.0))]),
    ("decay-applied-in-transit", &[|message, _| for_each(message, "nodes", &|node| if let Some(Value::Object(metadata)) = node.get_mut("metadata") {
        scale(metadata, "importance", &|importance| importance * 0.9);
    })]),
];

/// Changes a message that is forwarded, if a fault that does so is planted.
pub(in crate::agentic_mesh) fn spoil(message: &mut Message, node: &Node, rules: &Rules) {
    for (_, changes) in CHANGES.iter().filter(|(name, _)| rules.fault.is(name)) {
        changes.iter().for_each(|change| change(message, node));
    }
    // 3.3: the numbers of a message in transit are not recalculated.
    let held = rules.held.as_secs_f64();
    if held >= 1.0 && rules.fault.is("weights-aged-while-held") {
        for_each(message, "edges", &|edge| scale(edge, "weight", &|weight| weight / (1.0 + held)));
    }
}

fn add_block(message: &mut Message, added: Object) {
    let Some(header) = message.header_mut() else { return };
    match header.get_mut("headers") {
        Some(Value::List(items)) => items.push(added.into()),
        _ => header.set("headers", Value::List(vec![added.into()])),
    }
}

/// The first letters of a text.
fn first(text: &str, letters: usize) -> String {
    text.chars().take(letters).collect()
}

/// `redacts-at-any-depth`: removes the member of this name from every object below.
pub(in crate::agentic_mesh) fn redact(object: &mut Object, name: &str) {
    each_part(object, &|value| {
        if let Value::Object(inner) = value {
            inner.remove(name);
            redact(inner, name);
        }
    });
}

/// Every value below an object.
fn each(object: &mut Object, change: &dyn Fn(&mut Value)) {
    object.retain(|_, value| {
        visit(value, change);
        true
    });
}

fn visit(value: &mut Value, change: &dyn Fn(&mut Value)) {
    match value {
        Value::List(items) => items.iter_mut().for_each(|item| visit(item, change)),
        Value::Object(object) => each(object, change),
        _ => change(value), // a value without parts
    }
}

/// Removes members whose value `gone` describes.
fn prune(object: &mut Object, gone: &dyn Fn(&Value) -> bool) {
    object.retain(|_, value| {
        within(value, gone);
        !gone(value)
    });
    fn within(value: &mut Value, gone: &dyn Fn(&Value) -> bool) {
        match value {
            Value::List(items) => items.iter_mut().for_each(|item| within(item, gone)),
            Value::Object(object) => prune(object, gone),
            _ => {} // a value without parts
        }
    }
}

fn rename(value: &mut Value, to: &dyn Fn(&str) -> String) {
    match value {
        Value::List(items) => items.iter_mut().for_each(|item| rename(item, to)),
        Value::Object(object) => {
            each_part(object, &|value| rename(value, to));
            *object = object.iter().map(|(name, value)| (to(name), value.clone())).collect();
        }
        _ => {} // a value without names
    }
}

fn each_part(object: &mut Object, change: &dyn Fn(&mut Value)) {
    object.retain(|_, value| {
        change(value);
        true
    });
}

/// Letters with a combining accent behind them as one letter, for the accents that a composed form needs most.
fn composed(text: &str) -> String {
    const PAIRS: [(&str, &str); 10] = [
        ("e\u{301}", "\u{e9}"),
        ("E\u{301}", "\u{c9}"),
        ("a\u{301}", "\u{e1}"),
        ("o\u{301}", "\u{f3}"),
        ("a\u{308}", "\u{e4}"),
        ("o\u{308}", "\u{f6}"),
        ("u\u{308}", "\u{fc}"),
        ("n\u{303}", "\u{f1}"),
        ("a\u{30a}", "\u{e5}"),
        ("A\u{30a}", "\u{c5}"),
    ];
    PAIRS.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// A member `a.b` becomes `a` with a member `b`.
fn split_names(object: &mut Object) {
    each_part(object, &|value| match value {
        Value::Object(object) => split_names(object),
        Value::List(items) => items.iter_mut().filter_map(Value::as_object_mut).for_each(split_names),
        _ => {} // a value without names
    });
    let split = |(name, value): (&str, &Value)| match name.split_once('.').filter(|(first, _)| !first.is_empty()) {
        Some((first, rest)) => (first.to_owned(), Object::from([(rest, value.clone())]).into()),
        None => (name.to_owned(), value.clone()),
    };
    *object = object.iter().map(split).collect();
}

/// Values below a depth become null.
fn cut(value: &mut Value, depth: usize) {
    match value {
        Value::List(_) | Value::Object(_) if depth == 0 => *value = Value::Null,
        Value::List(items) => items.iter_mut().for_each(|item| cut(item, depth - 1)),
        Value::Object(object) => each_part(object, &|value| cut(value, depth - 1)),
        _ => {} // a value without parts
    }
}

fn for_each(message: &mut Message, list: &str, change: &dyn Fn(&mut Object)) {
    let place = format!("/{ENVELOPE}/{MEMORYGRAM}/{list}");
    if let Some(Value::List(items)) = pointer::get_mut(&mut message.0, &place) {
        items.iter_mut().filter_map(Value::as_object_mut).for_each(change);
    }
}

fn scale(object: &mut Object, name: &str, change: &dyn Fn(f64) -> f64) {
    let Some(number) = object.get(name).and_then(Value::as_number).map(Number::as_f64) else { return };
    if let Some(changed) = Number::spelled(&change(number).to_string()) {
        object.set(name, changed);
    }
}

fn prune_dangling(message: &mut Message) {
    let Some(Value::Object(graph)) = message.component_mut(MEMORYGRAM) else { return };
    let nodes = graph.get("nodes").and_then(Value::as_list).unwrap_or_default();
    let id = |node: &Value| node.as_object()?.text("id").map(str::to_owned);
    let ids: Vec<String> = nodes.iter().filter_map(id).collect();
    let there = |edge: &Value, end: &str| {
        let end = edge.as_object().and_then(|edge| edge.text(end)).unwrap_or_default();
        ids.iter().any(|id| id == end)
    };
    if let Some(Value::List(edges)) = graph.get_mut("edges") {
        edges.retain(|edge| there(edge, "source") && there(edge, "target"));
    }
}

//! Messages on the page: an exchange with headers and body, limited in size, with marked places.

use serde_json::Value;

use super::pretty::{self, Chunk, Mark};
use crate::exchange::{Arrival, Body, Exchange, Outgoing};
use crate::report::diff::{self, Difference};
use crate::report::{printable, view};
use crate::wire::cbor;

/// Bytes of a body that are shown.
const BODY_LIMIT: usize = 16 * 1024;
/// Bytes of a body that is not text; a hex dump is almost five times as large.
const DUMP_LIMIT: usize = 2 * 1024;
/// Maximum number of unsolicited messages that are shown.
const ARRIVALS_SHOWN: usize = 12;
/// Bytes above which two bodies are not compared member by member.
const COMPARE_LIMIT: usize = 512 * 1024;
/// Header fields shown of one message.
const HEADERS_SHOWN: usize = 60;
/// Characters of one header value.
const HEADER_LENGTH: usize = 800;
/// Size of the markup around a message, for the budget.
const MARKUP: usize = 900;

/// The remaining bytes that exchanges may add to the page.
pub(super) struct Budget(pub(super) usize);

/// Places of an answer that findings refer to.
#[derive(Default)]
pub(super) struct Looked {
    pub(super) status: bool,
    pub(super) headers: Vec<String>,
    pub(super) body: Vec<Mark>,
}

impl Looked {
    /// Adds `path`, a JSON Pointer into an observation. Paths into other views than the answer itself are not marked.
    pub(super) fn add(&mut self, path: &str) {
        let Some(mut tokens) = diff::tokens(path) else {
            return;
        };
        if tokens.is_empty() {
            return;
        }
        let rest = tokens.split_off(1);
        match tokens.first().map(String::as_str) {
            Some("status") => self.status = true,
            Some("headers") => self.headers.extend(rest.into_iter().take(1)),
            Some("body") => self.body.push(Mark { path: rest, class: "mismatch" }),
            _ => {}
        }
    }
}

/// One exchange, with that of the twin if there is one.
pub(super) struct ExchangeView {
    /// `Step 1: send as author`.
    pub(super) title: String,
    pub(super) answer: String,
    /// `None` if the budget was exceeded.
    pub(super) sides: Option<Sides>,
    pub(super) request: String,
}

pub(super) struct Sides {
    pub(super) sent: MessageView,
    pub(super) received: MessageView,
    pub(super) twin: Option<(MessageView, MessageView)>,
    /// The differences from the twin's message.
    pub(super) differences: Vec<DifferenceView>,
}

pub(super) struct MessageView {
    pub(super) label: &'static str,
    pub(super) start: String,
    pub(super) start_marked: bool,
    pub(super) headers: Vec<HeaderView>,
    pub(super) body: Vec<Chunk>,
    /// A note on the body: its size and form.
    pub(super) note: String,
    /// The body as it was sent, if it is shown in another form.
    pub(super) raw: String,
}

pub(super) struct HeaderView {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) marked: bool,
}

pub(super) struct DifferenceView {
    pub(super) place: String,
    pub(super) class: &'static str,
    pub(super) twin: String,
    pub(super) this: String,
}

/// Renders `exchange` and `twin`, as far as `budget` allows.
pub(super) fn exchange(
    exchange: &Exchange,
    twin: Option<&Exchange>,
    looked: &Looked,
    edits: &[String],
    budget: &mut Budget,
) -> ExchangeView {
    let mut title = format!(
        "Step {}: {} as {}",
        exchange.step + 1,
        printable::short(&exchange.operation, 80),
        printable::short(&exchange.actor, 80),
    );
    if exchange.round > 0 {
        title.push_str(&format!(", repetition {}", exchange.round));
    }
    let mut view =
        ExchangeView { title, answer: view::answer_line(exchange), request: view::request_line(exchange), sides: None };
    if budget.0 == 0 {
        return view;
    }
    let compared = twin.map(|twin| Compared::new(&twin.sent, &exchange.sent, edits));
    let (this_marks, twin_marks) = match &compared {
        Some(compared) => (compared.marks(true), compared.marks(false)),
        None => (Vec::new(), Vec::new()),
    };
    let sides = Sides {
        sent: sent(exchange, &this_marks, "sent"),
        received: received(exchange, looked, "received"),
        twin: twin
            .map(|twin| (sent(twin, &twin_marks, "twin, sent"), received(twin, &Looked::default(), "twin, received"))),
        differences: compared.map(|compared| compared.rows).unwrap_or_default(),
    };
    let mut weight = sides.sent.weight() + sides.received.weight();
    if let Some((sent, received)) = &sides.twin {
        weight += sent.weight() + received.weight();
    }
    // The first exchange that does not fit uses up the budget, so that no later exchange is shown out of order.
    match budget.0.checked_sub(weight) {
        Some(rest) => {
            budget.0 = rest;
            view.sides = Some(sides);
        }
        None => budget.0 = 0,
    }
    view
}

impl MessageView {
    fn weight(&self) -> usize {
        let headers: usize = self.headers.iter().map(|h| h.name.len() + h.value.len() + 60).sum();
        let body: usize = self.body.iter().map(|chunk| chunk.text.len() + 30).sum();
        MARKUP + headers + body + self.raw.len()
    }
}

fn sent(exchange: &Exchange, marks: &[Mark], label: &'static str) -> MessageView {
    let sent = &exchange.sent;
    let (body, note, raw) = body(&sent.body, marks);
    MessageView {
        label,
        start: view::request_line(exchange),
        start_marked: false,
        headers: headers(&sent.headers, &[]),
        body,
        note,
        raw,
    }
}

fn received(exchange: &Exchange, looked: &Looked, label: &'static str) -> MessageView {
    let received = &exchange.received;
    let (mut body, mut note, raw) = body(&received.body, &looked.body);
    if !received.arrived.is_empty() {
        if received.body.is_empty() {
            note.clear();
        }
        body.extend(arrivals(&received.arrived));
    }
    MessageView {
        label,
        start: view::outcome(received),
        start_marked: looked.status,
        headers: headers(&received.headers, &looked.headers),
        body,
        note,
        raw,
    }
}

/// The unsolicited messages, in order.
fn arrivals(arrived: &[Arrival]) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    for arrival in arrived.iter().take(ARRIVALS_SHOWN) {
        let code = arrival.code.map(|code| format!(" {code}")).unwrap_or_default();
        let size = printable::size(arrival.body.len());
        let kind = arrival.kind.name();
        chunks.push(Chunk { class: "", text: format!("{kind}{code}, {size}, after {} ms\n", arrival.at_ms) });
        let (mut drawn, _, _) = body(&arrival.body, &[]);
        chunks.append(&mut drawn);
        chunks.push(Chunk { class: "", text: "\n".to_owned() });
    }
    if arrived.len() > ARRIVALS_SHOWN {
        let rest = arrived.len() - ARRIVALS_SHOWN;
        chunks.push(Chunk { class: "", text: format!("{rest} more\n") });
    }
    chunks
}

fn headers(fields: &[(String, String)], looked: &[String]) -> Vec<HeaderView> {
    let marked = |name: &str| looked.iter().any(|looked| looked.eq_ignore_ascii_case(name));
    let mut views: Vec<HeaderView> = fields
        .iter()
        .take(HEADERS_SHOWN)
        .map(|(name, value)| HeaderView {
            name: printable::short(name, 200),
            value: printable::short(value, HEADER_LENGTH),
            marked: marked(name),
        })
        .collect();
    if fields.len() > HEADERS_SHOWN {
        let rest = fields.len() - HEADERS_SHOWN;
        views.push(HeaderView { name: "...".to_owned(), value: format!("{rest} more fields"), marked: false });
    }
    for name in looked {
        if !fields.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) {
            views.push(HeaderView { name: printable::short(name, 200), value: "missing".to_owned(), marked: true });
        }
    }
    views
}

/// The lines of `body`, a note on them, and the raw text if it differs.
fn body(body: &Body, marks: &[Mark]) -> (Vec<Chunk>, String, String) {
    if body.is_empty() {
        return (Vec::new(), "no body".to_owned(), String::new());
    }
    let size = printable::size(body.len());
    let plain = |text: String| vec![Chunk { class: "", text }];
    // Binary is usually CBOR, which is more readable in diagnostic notation than in hex.
    let item = (body.text().is_none() || body.0.first().is_some_and(|first| *first >= 0x80))
        .then(|| cbor::read_prefix(&body.0, cbor::Limits::default()).ok())
        .flatten();
    if let Some((document, rest)) = item
        && document.value.as_map().is_some()
        && rest.is_empty()
    {
        let drawn = cbor::diagnostic_with(&body.0, cbor::Notation { limit: BODY_LIMIT, ..cbor::Notation::PRETTY });
        let dump = printable::hex_dump(&body.0, DUMP_LIMIT);
        return (
            plain(printable::block(&drawn).into_owned()),
            format!("{size}, CBOR, shown in diagnostic notation"),
            dump,
        );
    }
    let Some(text) = body.text() else {
        let dump = printable::hex_dump(&body.0, DUMP_LIMIT);
        let cut = if body.len() > DUMP_LIMIT { ", the first 2 KiB shown" } else { "" };
        return (plain(dump), format!("{size}, not UTF-8{cut}"), String::new());
    };
    let front = printable::block(&text[..text.floor_char_boundary(BODY_LIMIT)]).into_owned();
    let front_cut = if text.len() > BODY_LIMIT { ", the first 16 KiB shown" } else { "" };
    match pretty::pretty(text, marks, BODY_LIMIT) {
        None => (plain(front), format!("{size}, not JSON{front_cut}"), String::new()),
        Some(pretty) => {
            let cut = if pretty.cut { ", the first 16 KiB shown" } else { "" };
            let same = pretty.chunks.iter().map(|c| c.text.as_str()).collect::<String>().trim_end() == front.trim_end();
            let raw = if same { String::new() } else { front };
            (pretty.chunks, format!("{size}, JSON, shown indented{cut}"), raw)
        }
    }
}

/// The differences of a message from its twin.
struct Compared {
    rows: Vec<DifferenceView>,
    /// Path of each difference of the bodies, whether this message has it, and whether the twin has it.
    places: Vec<(Vec<String>, bool, bool)>,
}

impl Compared {
    fn new(twin: &Outgoing, this: &Outgoing, edits: &[String]) -> Self {
        let mut compared = Self { rows: Vec::new(), places: Vec::new() };
        compared.text("method", &twin.method, &this.method);
        compared.text("URL", &twin.url, &this.url);
        compared.headers(twin, this);
        if twin.body != this.body {
            compared.bodies(&twin.body, &this.body, edits);
        }
        compared
    }

    fn text(&mut self, place: &str, twin: &str, this: &str) {
        if twin != this {
            self.row(place.to_owned(), Some(twin), Some(this));
        }
    }

    fn row(&mut self, place: String, twin: Option<&str>, this: Option<&str>) {
        let shown = |side: Option<&str>| side.map_or("missing".to_owned(), |text| printable::short(text, 300));
        self.rows.push(DifferenceView {
            place,
            class: class(this.is_some(), twin.is_some()),
            twin: shown(twin),
            this: shown(this),
        });
    }

    fn headers(&mut self, twin: &Outgoing, this: &Outgoing) {
        let value = |message: &Outgoing, name: &str| {
            let values = message.headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
            let values: Vec<&str> = values.map(|(_, value)| value.as_str()).collect();
            (!values.is_empty()).then(|| values.join(", "))
        };
        let mut done: Vec<&str> = Vec::new();
        for (name, _) in twin.headers.iter().chain(&this.headers).take(2 * HEADERS_SHOWN) {
            if done.iter().any(|known| known.eq_ignore_ascii_case(name)) {
                continue;
            }
            done.push(name);
            let (twin, this) = (value(twin, name), value(this, name));
            if twin != this {
                let place = format!("header {}", printable::short(name, 100));
                self.row(place, twin.as_deref(), this.as_deref());
            }
        }
    }

    fn bodies(&mut self, twin: &Body, this: &Body, edits: &[String]) {
        let parse = |body: &Body| -> Option<Value> {
            let small = body.len() <= COMPARE_LIMIT;
            small.then(|| serde_json::from_slice(&body.0).ok()).flatten()
        };
        let (Some(twin_value), Some(this_value)) = (parse(twin), parse(this)) else {
            return self.bytes(twin, this);
        };
        let mut found = diff::diff(&twin_value, &this_value);
        if found.list.is_empty() {
            // The values are equal but the bytes differ: repeated members, number forms, white space or escapes.
            return self.bytes(twin, this);
        }
        // Edited places come first; generated ids and times differ too, but matter less.
        let named = |d: &Difference<'_>| edits.iter().any(|edit| edit.contains(&diff::pointer(&d.path)));
        found.list.sort_by_key(|d| !named(d));
        for difference in &found.list {
            let text = |value: Option<&Value>| value.map(Value::to_string);
            let place = format!("body {}", printable::short(&diff::pointer(&difference.path), 200));
            self.row(place, text(difference.before).as_deref(), text(difference.after).as_deref());
            let sides = (difference.after.is_some(), difference.before.is_some());
            self.places.push((difference.path.clone(), sides.0, sides.1));
        }
        if found.more {
            self.row("body".to_owned(), Some("more differences"), Some("more differences"));
        }
    }

    fn bytes(&mut self, twin: &Body, this: &Body) {
        let at = twin.0.iter().zip(this.0.iter()).take_while(|(a, b)| a == b).count();
        let shown = |body: &Body| {
            let from = at.saturating_sub(16).min(body.len());
            let part = &body.0[from..(at + 48).min(body.len())];
            format!("{}: ... {}", printable::size(body.len()), String::from_utf8_lossy(part))
        };
        self.row(format!("body, from byte {at}"), Some(&shown(twin)), Some(&shown(this)));
    }

    /// The marks of this message, or of the twin.
    fn marks(&self, this_side: bool) -> Vec<Mark> {
        let mut marks = Vec::new();
        for (path, in_this, in_twin) in &self.places {
            // The twin has no such member.
            if this_side || *in_twin {
                marks.push(Mark { path: path.clone(), class: class(*in_this, *in_twin) });
            }
        }
        marks
    }
}

fn class(in_this: bool, in_twin: bool) -> &'static str {
    match (in_this, in_twin) {
        (true, false) => "added",
        (false, _) => "removed",
        (true, true) => "changed",
    }
}

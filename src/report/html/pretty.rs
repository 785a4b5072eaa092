//! A JSON text, indented, with marked places.
//!
//! Works on the text, not on parsed values, so that numbers, escapes and repeated members stay as they were sent.

use serde::de::IgnoredAny;
use serde_json::Value;

use crate::report::{diff, printable};

/// Deeper levels are not indented further, since the page would grow with the square of the depth.
const INDENT_LIMIT: usize = 24;
/// Characters of one line.
const LINE_LENGTH: usize = 2000;

/// A place to mark.
#[derive(Clone, Debug)]
pub(super) struct Mark {
    /// The reference tokens of its JSON Pointer.
    pub(super) path: Vec<String>,
    /// `mismatch`, `added`, `removed` or `changed`.
    pub(super) class: &'static str,
}

/// Lines with the same mark, each with its line end.
#[derive(Debug, PartialEq)]
pub(super) struct Chunk {
    /// The class of their mark, or the empty string.
    pub(super) class: &'static str,
    /// The lines, safe to print.
    pub(super) text: String,
}

/// An indented text.
pub(super) struct Pretty {
    /// Its lines in order.
    pub(super) chunks: Vec<Chunk>,
    /// Whether it was cut off.
    pub(super) cut: bool,
}

/// Indents `text`, or `None` if it is not JSON. Stops after about `limit` bytes; later marked places follow one by one.
pub(super) fn pretty(text: &str, marks: &[Mark], limit: usize) -> Option<Pretty> {
    serde_json::from_str::<IgnoredAny>(text).ok()?;
    // If the nesting is too deep to parse, only the lines about missing members are lost.
    let value: Option<Value> = match marks.is_empty() {
        true => None,
        false => serde_json::from_str(text).ok(),
    };
    let mut printer = Printer {
        marks: place(marks, value.as_ref()),
        path: Vec::new(),
        frames: Vec::new(),
        chunks: Vec::new(),
        line: String::new(),
        class: "",
        room: limit,
        full: false,
    };
    printer.walk(text);
    printer.flush();
    if printer.full {
        printer.marks_beyond(value.as_ref());
    }
    Some(Pretty { chunks: printer.chunks, cut: printer.full })
}

struct Placed {
    path: Vec<String>,
    class: &'static str,
    /// Number of tokens up to the container that lacks the next one, if the place does not exist.
    absent_from: Option<usize>,
    seen: bool,
}

/// Looks up each mark: a missing place is shown in the innermost existing container.
fn place(marks: &[Mark], value: Option<&Value>) -> Vec<Placed> {
    let mut placed = Vec::new();
    for mark in marks.iter().filter(|mark| !mark.path.is_empty()) {
        let mut inner = value;
        let mut found = 0;
        for token in &mark.path {
            inner = match inner {
                Some(Value::Object(members)) => members.get(token),
                Some(Value::Array(elements)) => token.parse().ok().and_then(|at: usize| elements.get(at)),
                _ => None,
            };
            if inner.is_none() {
                break;
            }
            found += 1;
        }
        let absent = value.is_some() && found < mark.path.len();
        let container = value.and_then(|value| value.pointer(&diff::pointer(&mark.path[..found])));
        let holds = matches!(container, Some(Value::Object(_) | Value::Array(_)));
        placed.push(Placed {
            // A scalar has no members, so the scalar itself is marked.
            path: if absent && !holds { mark.path[..found].to_vec() } else { mark.path.clone() },
            class: mark.class,
            absent_from: (absent && holds).then_some(found),
            seen: false,
        });
    }
    placed
}

struct Frame {
    object: bool,
    key_next: bool,
    items: usize,
}

struct Printer {
    marks: Vec<Placed>,
    path: Vec<String>,
    frames: Vec<Frame>,
    chunks: Vec<Chunk>,
    line: String,
    class: &'static str,
    room: usize,
    full: bool,
}

impl Printer {
    /// `text` must be valid JSON: every token ends and brackets are balanced.
    fn walk(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() && !self.full {
            let start = at;
            at += 1;
            match bytes[start] {
                b' ' | b'\t' | b'\n' | b'\r' => {}
                open @ (b'{' | b'[') => {
                    self.value();
                    self.line.push(char::from(open));
                    self.frames.push(Frame { object: open == b'{', key_next: true, items: 0 });
                }
                close @ (b'}' | b']') => self.close(char::from(close)),
                b',' => {
                    self.line.push(',');
                    self.path.pop();
                    if let Some(frame) = self.frames.last_mut() {
                        frame.key_next = true;
                    }
                }
                b':' => {
                    self.line.push_str(": ");
                    if let Some(frame) = self.frames.last_mut() {
                        frame.key_next = false;
                    }
                }
                b'"' => {
                    while at < bytes.len() && bytes[at] != b'"' {
                        at += if bytes[at] == b'\\' { 2 } else { 1 };
                    }
                    at = (at + 1).min(bytes.len());
                    self.string(&text[start..at]);
                }
                _ => {
                    while at < bytes.len() && !b",]} \t\r\n".contains(&bytes[at]) {
                        at += 1;
                    }
                    self.value();
                    self.line.push_str(&text[start..at]);
                }
            }
        }
    }

    fn string(&mut self, token: &str) {
        match self.frames.last_mut() {
            Some(frame) if frame.object && frame.key_next => {
                frame.items += 1;
                let name = serde_json::from_str(token).unwrap_or_else(|_| token.to_owned());
                self.path.push(name);
                self.new_line();
            }
            _ => self.value(),
        }
        self.line.push_str(&printable::cut(token, LINE_LENGTH));
    }

    /// Begins a line for an element; a member's value stays on the line of its name.
    fn value(&mut self) {
        if let Some(frame) = self.frames.last_mut()
            && !frame.object
        {
            self.path.push(frame.items.to_string());
            frame.items += 1;
            self.new_line();
        }
    }

    fn close(&mut self, bracket: char) {
        let items = self.frames.last().map_or(0, |frame| frame.items);
        if items > 0 {
            self.path.pop();
        }
        let absent = self.absent();
        for (class, token) in &absent {
            self.new_line();
            self.class = class;
            self.line.push_str(&format!("{token}: missing"));
        }
        self.frames.pop();
        if items > 0 || !absent.is_empty() {
            self.new_line();
        }
        self.line.push(bracket);
    }

    /// The missing members of the container that ends here, with the class of each mark.
    fn absent(&mut self) -> Vec<(&'static str, String)> {
        let mut absent = Vec::new();
        for mark in &mut self.marks {
            if let Some(found) = mark.absent_from
                && mark.path[..found] == self.path[..]
            {
                mark.seen = true;
                absent.push((mark.class, format!("{:?}", mark.path[found])));
            }
        }
        absent
    }

    fn new_line(&mut self) {
        self.flush();
        self.line.push_str(&"  ".repeat(self.frames.len().min(INDENT_LIMIT)));
        self.class = "";
        for mark in &mut self.marks {
            if mark.absent_from.is_none() && self.path.starts_with(&mark.path) {
                mark.seen = true;
                self.class = mark.class;
                break;
            }
        }
    }

    fn flush(&mut self) {
        if self.line.is_empty() {
            return;
        }
        let line = printable::line(&self.line);
        self.full = self.full || line.len() > self.room;
        self.room = self.room.saturating_sub(line.len());
        match self.chunks.last_mut() {
            Some(chunk) if chunk.class == self.class => chunk.text.push_str(&line),
            _ => self.chunks.push(Chunk { class: self.class, text: line.into_owned() }),
        }
        if let Some(chunk) = self.chunks.last_mut() {
            chunk.text.push('\n');
        }
        self.line.clear();
    }

    fn marks_beyond(&mut self, value: Option<&Value>) {
        self.chunks.push(Chunk { class: "", text: "...\n".to_owned() });
        for mark in self.marks.iter().filter(|mark| !mark.seen).take(20) {
            let pointer = diff::pointer(&mark.path);
            let text = match value.and_then(|value| value.pointer(&pointer)) {
                Some(value) => printable::short(&value.to_string(), 400),
                None => "missing".to_owned(),
            };
            let text = format!("{}: {text}\n", printable::short(&pointer, 400));
            self.chunks.push(Chunk { class: mark.class, text });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(text: &str, pointers: &[&str], limit: usize) -> String {
        let marks: Vec<Mark> =
            pointers.iter().map(|p| Mark { path: diff::tokens(p).unwrap(), class: "mismatch" }).collect();
        let pretty = pretty(text, &marks, limit).unwrap();
        let sign = |chunk: &Chunk| if chunk.class.is_empty() { " " } else { "!" };
        let lines = pretty.chunks.iter().flat_map(|c| c.text.lines().map(move |l| (sign(c), l)));
        lines.map(|(sign, line)| format!("{sign}{line}\n")).collect()
    }

    #[test]
    fn tokens_stay_as_they_were_sent() {
        let text = r#"{"a":1.0,"a":1e400,"b":["\u0041",{}, [ ]],"c":null}"#;
        assert_eq!(
            marked(text, &[], 9999),
            " {\n   \"a\": 1.0,\n   \"a\": 1e400,\n   \"b\": [\n     \"\\u0041\",\n     {},\n     []\n   ],\n   \"c\": null\n }\n"
        );
        assert_eq!(marked("3", &[], 99), " 3\n");
        assert!(pretty("{", &[], 99).is_none());
    }

    #[test]
    fn a_marked_member_is_marked_with_everything_in_it() {
        assert_eq!(
            marked(r#"{"a":{"b":[1,2]},"c":3}"#, &["/a/b"], 999),
            " {\n   \"a\": {\n!    \"b\": [\n!      1,\n!      2\n!    ]\n   },\n   \"c\": 3\n }\n"
        );
    }

    #[test]
    fn a_missing_member_is_shown_at_its_place() {
        assert_eq!(marked(r#"{"a":{}}"#, &["/a/b/c"], 999), " {\n   \"a\": {\n!    \"b\": missing\n   }\n }\n");
        assert_eq!(marked(r#"{"a":1}"#, &["/a/b"], 999), " {\n!  \"a\": 1\n }\n");
    }

    #[test]
    fn a_cut_text_still_shows_marked_places() {
        let text = format!("[{}\"last\"]", "0,".repeat(1000));
        let shown = marked(&text, &["/1000"], 50);
        assert!(shown.ends_with(" ...\n!/1000: \"last\"\n"), "{shown}");
        assert!(shown.len() < 200);
    }

    #[test]
    fn depth_costs_neither_stack_nor_space() {
        let deep = 100_000;
        let text = format!("{}{}", "[".repeat(deep), "]".repeat(deep));
        assert!(pretty(&text, &[], 16_000).unwrap().cut);
    }
}

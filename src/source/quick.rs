//! Reading the YAML of which suites consist, directly from the events of the parser.
//!
//! serde-saphyr reads all of YAML, and most of its time goes into telling serde the place of each word. This reader knows only
//! what hardly any document goes beyond, and leaves every other document, and every mistake, to it: both give the same tree.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use granit_parser::{Event, Parser, ScalarStyle};

use super::{Key, Node, Source, Span, Yaml};
use crate::wire::json;

/// Levels of lists and maps.
const DEPTH: usize = 64;

/// Nodes behind aliases, counted at each use: a few lines can stand for millions.
const BEHIND_ALIASES: usize = 100_000;

/// The document, unless serde-saphyr has to read it.
pub(super) fn read(source: &Arc<Source>) -> Option<Node> {
    let options = granit_parser::options! { emit_comments: false };
    let events = Parser::new_from_str_with_options(&source.text, options);
    let mut reader = Reader { source, events, anchors: HashMap::new(), behind_aliases: 0 };
    let begins = |event: Event<'_>| matches!(event, Event::StreamStart | Event::DocumentStart(false, None));
    for _ in 0..2 {
        begins(reader.next()?.0).then_some(())?;
    }
    let (event, span) = reader.next()?;
    let root = reader.node(event, span, 0)?;
    let ends = [reader.next()?.0, reader.next()?.0];
    (ends == [Event::DocumentEnd, Event::StreamEnd]).then_some(root)
}

/// Members of a map whose names are compared one by one.
const FEW: usize = 16;

struct Reader<'s> {
    source: &'s Arc<Source>,
    events: Parser<'s, granit_parser::StrInput<'s>>,
    anchors: HashMap<usize, Node>,
    behind_aliases: usize,
}

impl<'s> Reader<'s> {
    fn next(&mut self) -> Option<(Event<'s>, Span)> {
        let (event, span) = self.events.next()?.ok()?;
        let range = span.byte_range()?;
        // At least one byte, for the caret under an empty node.
        Some((event, Span::new(self.source, range.start, range.end.max(range.start + 1))))
    }

    fn node(&mut self, event: Event<'s>, span: Span, depth: usize) -> Option<Node> {
        if depth > DEPTH {
            return None;
        }
        let (anchor, value) = match event {
            Event::Scalar(text, style, anchor, None) => {
                let value = match style {
                    ScalarStyle::Plain => plain(&text)?,
                    _ => Yaml::Text(text.into_owned()),
                };
                (anchor, value)
            }
            Event::SequenceStart(_, anchor, None) => (anchor, self.sequence(depth)?),
            Event::MappingStart(_, anchor, None) => (anchor, self.map(depth)?),
            Event::Alias(anchor) => {
                let mut node = self.anchors.get(&anchor)?.clone();
                self.behind_aliases += place_at(&mut node, &span);
                return (self.behind_aliases <= BEHIND_ALIASES).then_some(node);
            }
            _ => return None,
        };
        let node = Node { value, span };
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Some(node)
    }

    fn sequence(&mut self, depth: usize) -> Option<Yaml> {
        let mut items = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::SequenceEnd {
                return Some(Yaml::Sequence(items));
            }
            items.push(self.node(event, span, depth + 1)?);
        }
    }

    fn map(&mut self, depth: usize) -> Option<Yaml> {
        let mut members: Vec<(Key, Node)> = Vec::new();
        let mut names = HashSet::new();
        loop {
            let (event, span) = self.next()?;
            let name = match event {
                Event::MappingEnd => return Some(Yaml::Map(members)),
                Event::Scalar(name, ScalarStyle::Plain, 0, None) => match plain(&name)? {
                    Yaml::Text(name) if name != "<<" => name,
                    _ => return None,
                },
                Event::Scalar(name, _, 0, None) => name.into_owned(),
                _ => return None,
            };
            // Most maps are short.
            let is_known = match members.len() {
                0..=FEW => members.iter().any(|(key, _)| key.name == name),
                _ => {
                    names.extend(members.iter().skip(names.len()).map(|(key, _)| key.name.clone()));
                    names.contains(&name)
                }
            };
            if is_known {
                return None;
            }
            let (event, of_value) = self.next()?;
            let value = self.node(event, of_value, depth + 1)?;
            members.push((Key { name, span }, value));
        }
    }
}

/// A scalar without quotes, if there is no doubt what it is.
fn plain(text: &str) -> Option<Yaml> {
    match text {
        "" | "~" | "null" => return Some(Yaml::Null),
        "true" => return Some(Yaml::Bool(true)),
        "false" => return Some(Yaml::Bool(false)),
        _ => {}
    }
    let is_text = || Some(Yaml::Text(text.to_owned()));
    if !text.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first)) {
        let is_odd = ["null", "true", "false"].iter().any(|word| text.eq_ignore_ascii_case(word));
        return if is_odd { None } else { is_text() };
    }
    let float = text.parse::<f64>();
    match json::parse(text.as_bytes()) {
        Ok(number) if number.is_number() => float.is_ok_and(f64::is_finite).then_some(Yaml::Number(number)),
        _ => {
            // Numbers in the notations of YAML that JSON lacks.
            let digits = text.trim_start_matches(['+', '-']).to_ascii_lowercase();
            let in_radix = ["0x", "0o", "0b"].iter().find_map(|radix| digits.strip_prefix(radix));
            let all = |text: &str, is_digit: fn(&u8) -> bool| text.bytes().all(|byte| byte == b'_' || is_digit(&byte));
            let is_odd = float.is_ok()
                || [".inf", ".nan"].contains(&digits.as_str())
                || in_radix.is_some_and(|rest| all(rest, u8::is_ascii_hexdigit))
                || all(&digits, u8::is_ascii_digit);
            if is_odd { None } else { is_text() }
        }
    }
}

/// Gives a node and all in it one place, and counts them.
fn place_at(node: &mut Node, span: &Span) -> usize {
    node.span = span.clone();
    1 + match &mut node.value {
        Yaml::Sequence(items) => items.iter_mut().map(|item| place_at(item, span)).sum::<usize>(),
        Yaml::Map(members) => members
            .iter_mut()
            .map(|(key, value)| {
                key.span = span.clone();
                place_at(value, span)
            })
            .sum(),
        _ => 0,
    }
}

//! Reading YAML: a document to a tree whose nodes have places.

use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

use super::{Diagnostic, Key, Node, Source, Span, Yaml, quick};
use crate::wire::json;

/// Reads one YAML document.
///
/// # Errors
///
/// The first syntax error, or every number that is not in JSON notation.
pub fn parse(source: &Arc<Source>) -> Result<Node, Vec<Diagnostic>> {
    quick::read(source).map_or_else(|| parse_all(source), Ok)
}

/// Reads one YAML document with whatever YAML has in it.
fn parse_all(source: &Arc<Source>) -> Result<Node, Vec<Diagnostic>> {
    let options = serde_saphyr::options! { with_snippet: false, strict_booleans: true };
    let raw: Spanned<Raw> = serde_saphyr::from_str_with_options(&source.text, options).map_err(|error| {
        let span = error.location().map_or_else(
            || Span::file(source),
            |location| match location.span().byte_offset() {
                Some(start) => span_of(source, start, 1),
                None => at_line_column(source, location.line(), location.column()),
            },
        );
        let message = one_line(&error.without_snippet().to_string());
        // The limits of the library, in its words.
        let mistake = match message.strip_prefix("budget breached: ") {
            Some(limit) => Diagnostic::new(&span, format!("the file goes beyond what is read ({limit})"))
                .hint("split it into several files, with fewer levels and aliases"),
            None => Diagnostic::new(&span, message),
        };
        vec![mistake]
    })?;
    let mut problems = Vec::new();
    let node = convert(source, raw, &mut problems);
    if problems.is_empty() { Ok(node) } else { Err(problems) }
}

/// The message without the place that the parser adds; the diagnostic shows it better.
fn one_line(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    let line = line.strip_prefix("error: ").unwrap_or(line);
    let line = line.split(" at line ").next().unwrap_or(line);
    line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ':' || c == ' ').to_owned()
}

fn span_of(source: &Arc<Source>, start: u64, length: u64) -> Span {
    let start = usize::try_from(start).unwrap_or(usize::MAX);
    let length = usize::try_from(length).unwrap_or(0);
    Span::new(source, start, start.saturating_add(length))
}

fn at_line_column(source: &Arc<Source>, line: u64, column: u64) -> Span {
    let line = usize::try_from(line).unwrap_or(1).max(1);
    let column = usize::try_from(column).unwrap_or(1).max(1);
    let start: usize = source.text.split_inclusive('\n').take(line - 1).map(str::len).sum();
    let in_line =
        source.text.get(start..).unwrap_or_default().chars().take(column - 1).map(char::len_utf8).sum::<usize>();
    Span::new(source, start + in_line, start + in_line + 1)
}

fn convert(source: &Arc<Source>, raw: Spanned<Raw>, problems: &mut Vec<Diagnostic>) -> Node {
    let location = raw.referenced.span();
    let span = match (location.byte_offset(), location.byte_len()) {
        (Some(start), Some(length)) => span_of(source, start, length.max(1)),
        _ => at_line_column(source, raw.referenced.line(), raw.referenced.column()),
    };
    let value = match raw.value {
        Raw::Null => Yaml::Null,
        Raw::Bool(flag) => Yaml::Bool(flag),
        Raw::Number => {
            // YAML has more notations than JSON (017, 1_000, .5, .inf); only the common ones are accepted, so that
            // the number sent is the number written.
            // For an alias, this is the place of its anchor.
            let defined = raw.defined.span();
            let there = match (defined.byte_offset(), defined.byte_len()) {
                (Some(start), Some(length)) => span_of(source, start, length.max(1)),
                _ => span.clone(),
            };
            let written = there.text().trim();
            match json::parse(written.as_bytes()) {
                Ok(number) if number.is_number() => Yaml::Number(number),
                _ => {
                    problems.push(
                        Diagnostic::new(&span, format!("the number {written} is not in JSON notation"))
                            .hint("if it is text, write it in quotes"),
                    );
                    Yaml::Null
                }
            }
        }
        Raw::Text(text) => Yaml::Text(text),
        Raw::Sequence(items) => Yaml::Sequence(items.into_iter().map(|item| convert(source, item, problems)).collect()),
        Raw::Map(members) => Yaml::Map(
            members
                .into_iter()
                .map(|(key, value)| {
                    let location = key.referenced.span();
                    let span = match (location.byte_offset(), location.byte_len()) {
                        (Some(start), Some(length)) => span_of(source, start, length.max(1)),
                        _ => at_line_column(source, key.referenced.line(), key.referenced.column()),
                    };
                    (Key { name: key.value, span }, convert(source, value, problems))
                })
                .collect(),
        ),
    };
    Node { value, span }
}

enum Raw {
    Null,
    Bool(bool),
    Number,
    Text(String),
    Sequence(Vec<Spanned<Self>>),
    Map(Vec<(Spanned<String>, Spanned<Self>)>),
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a YAML node")
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_none<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Raw, D::Error> {
        Raw::deserialize(deserializer)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Raw, E> {
        Ok(Raw::Bool(flag))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Raw, E> {
        Ok(Raw::Number)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Raw, E> {
        Ok(Raw::Number)
    }

    fn visit_i128<E>(self, _: i128) -> Result<Raw, E> {
        Ok(Raw::Number)
    }

    fn visit_u128<E>(self, _: u128) -> Result<Raw, E> {
        Ok(Raw::Number)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Raw, E> {
        Ok(Raw::Number)
    }

    fn visit_str<E>(self, text: &str) -> Result<Raw, E> {
        Ok(Raw::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Raw, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Raw::Sequence(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Raw, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = access.next_entry()? {
            members.push(member);
        }
        Ok(Raw::Map(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Value;

    fn source(text: &str) -> Arc<Source> {
        Arc::new(Source { name: "t.yaml".into(), text: text.to_owned().into() })
    }

    #[test]
    fn a_number_behind_an_alias_is_read_at_its_anchor() {
        let text = "a: &row { n: 0.90, list: [1, 2] }\nb: *row\n";
        let source = Arc::new(Source { name: "x.yaml".into(), text: text.into() });
        let node = parse(&source).expect("no mistake");
        assert_eq!(node.member("b").map(Node::to_value), node.member("a").map(Node::to_value));
    }

    /// Both readers read `text`, and give the same tree; or the quick one leaves it to the other.
    fn is_read_alike(name: &str, text: &str) -> bool {
        let source = Arc::new(Source { name: name.into(), text: text.to_owned().into() });
        let quick = quick::read(&source);
        if let Some(quick) = &quick {
            let all = parse_all(&source);
            assert_eq!(Ok(quick), all.as_ref().map_err(|found| found.len()), "{name}: {text}");
        }
        quick.is_some()
    }

    #[test]
    fn every_suite_is_read_quickly_and_as_all_yaml_is() {
        let suites = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../suites");
        let folders = std::fs::read_dir(suites).unwrap().flatten().map(|entry| entry.path());
        let files =
            folders.filter(|path| path.is_dir()).flat_map(|folder| std::fs::read_dir(folder).unwrap().flatten());
        let mut files: Vec<_> =
            files.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|ext| ext == "yaml")).collect();
        files.sort();
        assert!(files.len() > 50);
        for path in files {
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(is_read_alike(&path.display().to_string(), &text), "{} is not read quickly", path.display());
        }
    }

    #[test]
    fn what_the_quick_reader_takes_it_reads_as_all_yaml_is_read() {
        let scalars = "a ~ null Null NULL nUll true True false FALSE yes no on off 0 -0 00 017 1_000 0x1f 0o17 0b1 +1 -1 .5 -.5 5. \
            .inf -.inf .nan inf -inf nan infinity 1e3 1E+3 1e400 -1e400 5.0 5.00 1.5.2 2026-01-01 12:30:00 5s 0s 1h -x +x .x ..  - 1- \
            0.1 00.1 99999999999999999999999999999999999999999999 0007f 7f -7f 1e 1e+ 0x0c-to 004_d4.txt 000102a 0b12 0xzz 0x_1f -0x1f 0o9 1__0 1_ ./x +_ -.nan +.inf 0X1F 'quoted' \"5\" \"a\\nb\" << !!str !x ? @x `x` %x x:y";
        let mut taken = 0;
        for scalar in scalars.split_whitespace() {
            for document in [
                format!("a: {scalar}\n"),
                format!("- {scalar}\n"),
                format!("{{ k: {scalar}, l: [{scalar}] }}\n"),
                format!("{scalar}: 1\n"),
                scalar.to_owned(),
            ] {
                taken += usize::from(is_read_alike("t.yaml", &document));
            }
        }
        assert!(taken > 100, "{taken}");
        for document in [
            "",
            "\n",
            "# only\n",
            "---\na: 1\n",
            "a: 1\n---\nb: 2\n",
            "a: 1\n...\n",
            "%YAML 1.2\n---\na: 1\n",
            "a: 1\na: 2\n",
            "a:\n  b:\n",
            "a: |\n  x\n  y\nb: >\n  z\n  w\n",
            "a: |-\n  x\nb: |+\n  y\n\n",
            "a: &x 5\nb: *x\n",
            "a: &x { k: [1, é] }\nb: *x\nc: [*x, *x]\n",
            "a: &x [1]\nb: { c: &y { d: *x } }\ne: *y\n",
            "a: *x\n",
            "<<: { a: 1 }\nb: 2\n",
            "a: &x [*x]\n",
            "? a\n: 1\n",
            "? [a]\n: 1\n",
            "[a]: 1\n",
            "a: [1, 2\nb: 3\n",
            "a: 'x\n",
            "\ta: 1\n",
            "a:\tb\n",
            "a: b: c\n",
            "é: ü\n\"ö\": 'ß'\n",
            "\u{feff}a: 1\n",
            "a: \"\\ud83d\\ude00\"\n",
            "- - a\n  - b\n-\n  - c\n",
            "a:\n- b\n- c\n",
            "{}",
            "[]",
            "a: {}\nb: []\n",
            "a: ''\n",
            "a: \"x\n  y\"\n",
            "&a x",
            "a: ! x\n",
            "a: !!int 5\n",
        ] {
            is_read_alike("t.yaml", document);
        }
        let many = |last: &str| (0..40).map(|number| format!("k{number}: {number}\n")).collect::<String>() + last;
        assert!(is_read_alike("t.yaml", &many("")) && is_read_alike("t.yaml", &many("k40: 1\n")));
        for repeated in ["k0: 1\n", "k17: 1\n", "k39: 1\n"] {
            assert!(!is_read_alike("t.yaml", &many(repeated)), "{repeated}");
        }
        let deep = format!("{}1{}", "[".repeat(80), "]".repeat(80));
        assert!(!is_read_alike("t.yaml", &deep));
        let mut bomb = "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n".to_owned();
        for (name, of) in ["b", "c", "d", "e", "f", "g"].into_iter().zip(["a", "b", "c", "d", "e", "f"]) {
            bomb.push_str(&format!("{name}: &{name} [{}]\n", [format!("*{of}").as_str(); 10].join(", ")));
        }
        assert!(!is_read_alike("t.yaml", &bomb), "an alias multiplies what it stands for");
        let refused = parse(&source(&bomb)).unwrap_err();
        assert!(refused[0].message.starts_with("the file goes beyond what is read (") && refused[0].hint.is_some());
    }

    #[test]
    fn every_node_has_a_place() {
        let text = "cases:\n  - case: é-x\n    covers: [A, B]\n    n: 5.0\n    t: 'q'\n";
        let node = parse(&source(text)).unwrap();
        let cases = node.member("cases").unwrap();
        let Yaml::Sequence(items) = &cases.value else { panic!() };
        let case = items[0].member("case").unwrap();
        assert_eq!((case.span.place().as_str(), case.span.text()), ("t.yaml:2:11", "é-x"));
        let covers = items[0].member("covers").unwrap();
        let Yaml::Sequence(ids) = &covers.value else { panic!() };
        assert_eq!((ids[1].span.place().as_str(), ids[1].span.text()), ("t.yaml:3:17", "B"));
        assert_eq!(items[0].member("n").unwrap().value, Yaml::Number(Value::Decimal("5.0".into())));
        assert_eq!(items[0].member("t").unwrap().value, Yaml::Text("q".into()));
        assert_eq!(items[0].span.line_column().0, 2);
    }

    #[test]
    fn numbers_outside_json_notation_are_rejected() {
        for number in ["017", "1_000", "0x1f", ".5", ".inf", "+1"] {
            let Err(problems) = parse(&source(&format!("n: {number}\n"))) else { panic!("{number} was read") };
            assert_eq!(problems[0].span.place(), "t.yaml:1:4", "{number}");
        }
    }

    #[test]
    fn words_stay_text_and_repeated_keys_are_rejected() {
        let node = parse(&source("a: no\nb: yes\nc: ~\nd: 1e400x\ne: on\n")).unwrap();
        assert_eq!(node.member("a").unwrap().value, Yaml::Text("no".into()));
        assert_eq!(node.member("e").unwrap().value, Yaml::Text("on".into()));
        assert_eq!(node.member("c").unwrap().value, Yaml::Null);
        let problems = parse(&source("a: 1\nb: 2\na: 3\n")).unwrap_err();
        assert_eq!(problems[0].span.line_column(), (3, 1), "{problems:?}");
    }

    #[test]
    fn a_syntax_error_has_a_place() {
        let problems = parse(&source("a: [1, 2\nb: 3\n")).unwrap_err();
        assert!(problems[0].span.line_column().0 >= 1, "{problems:?}");
    }
}

//! Reports of a record with hostile texts in it: no format passes markup or a control character through, and formats for
//! programs are well formed.
//!
//! The input is choices for the record (see `generate::halves`), and a text that is in many places of it.

use std::collections::BTreeSet;

use proofmark::protocol::report_formats;
use proofmark::record::RunRecord;
use proofmark::report::json;
use proofmark::report::text::{TerminalStyle, write_terminal};
use pulldown_cmark::{Event, Options, Parser, Tag};
use quick_xml::XmlVersion;
use quick_xml::events::Event as Xml;

use crate::generate;
use crate::record::Author;

/// Checks one input.
///
/// # Panics
///
/// If a format cannot be written, passes hostile text through, or is not well formed.
pub fn run(data: &[u8]) {
    let (mut u, text) = generate::halves(data);
    let text = String::from_utf8_lossy(text);
    // A stream that ends early gives no record.
    let Ok(record) = (Author { u: &mut u, text: &text }).record() else { return };
    for format in report_formats() {
        let mut out = Vec::new();
        (format.write)(&record, &mut out).unwrap_or_else(|error| panic!("{}: {error}", format.name));
        let page = String::from_utf8(out).unwrap_or_else(|error| panic!("{}: {error}", format.name));
        assert!(page.ends_with('\n'), "{} ends within a line", format.name);
        visible(format.name, &page);
        match format.name {
            "html" => html(&page),
            "junit" => junit(&page),
            "markdown" => markdown(&page),
            "json" => read_back(&page, &record),
            "interop" | "sarif" | "badge-json" => {
                drop(serde_json::from_str::<serde_json::Value>(&page).expect("it is JSON"))
            }
            "badge-svg" => svg(&page),
            "text" => {}
            other => panic!("nothing is known of {other}: say here what must not get through"),
        }
    }
    for colour in [false, true] {
        terminal(&record, colour);
    }
}

/// Whether a character acts on a reader instead of being seen.
fn acts(c: char) -> bool {
    let reorders = matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    (c.is_control() && c != '\n' && c != '\t')
        || reorders
        || matches!(c, '\u{feff}' | '\u{2028}' | '\u{2029}' | '\u{e0041}')
}

fn visible(name: &str, page: &str) {
    if let Some((at, found)) = page.char_indices().find(|(_, c)| acts(*c)) {
        let before: String = page[..at].chars().rev().take(40).collect::<Vec<_>>().into_iter().rev().collect();
        panic!("{name} lets {found:?} through behind {before:?}");
    }
}

/// Terminal output: colours, and no other control sequences.
fn terminal(record: &RunRecord, colour: bool) {
    let mut out = Vec::new();
    let style = TerminalStyle { colour, width: 60, verbose: true };
    write_terminal(record, &mut out, &style).expect("a vector takes everything");
    let mut rest = String::from_utf8(out).expect("it is UTF-8");
    while let Some(at) = rest.find("\u{1b}[") {
        let end = rest[at + 2..].find(|c: char| !c.is_ascii_digit() && c != ';').map_or(rest.len(), |end| at + 2 + end);
        assert!(colour && rest[end..].starts_with('m'), "an escape that is not a colour: {:?}", &rest[at..]);
        rest.replace_range(at..=end, "");
    }
    visible("the terminal", &rest);
}

fn read_back(page: &str, record: &RunRecord) {
    let read = json::read(page.as_bytes()).unwrap_or_else(|error| panic!("{error}: {page}"));
    assert_eq!(read, *record);
}

/// Elements of the page, which are those of its template.
#[rustfmt::skip]
const ELEMENTS: &[&str] = &[
    "a", "b", "blockquote", "body", "button", "caption", "code", "dd", "details", "div", "dl", "dt", "fieldset", "footer",
    "form", "h1", "h2", "h3", "h4", "h5", "head", "header", "html", "input", "label", "legend", "li", "main", "mark", "meta",
    "nav", "ol", "option", "output", "p", "pre", "rect", "script", "section", "select", "span", "style", "summary", "svg", "table", "tbody", "td", "th",
    "thead", "title", "tr", "ul", "wbr",
];

/// Attributes of the page. None of them runs a script.
#[rustfmt::skip]
const ATTRIBUTES: &[&str] = &[
    "aria-hidden", "aria-label", "aria-labelledby", "autocomplete", "charset", "class", "content", "for", "height",
    "hidden", "href", "http-equiv", "id", "lang", "name", "open", "placeholder", "preserveAspectRatio", "role",
    "scope", "spellcheck", "tabindex", "title", "type", "value", "viewBox", "width", "x", "y",
];

/// Walks the tags of the page.
fn html(page: &str) {
    let mut rest =
        page.strip_prefix("<!doctype html>").or(page.strip_prefix("<!DOCTYPE html>")).expect("a page of HTML");
    let (mut scripts, mut ids) = (0, BTreeSet::new());
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        let closing = rest.starts_with('/');
        rest = rest.strip_prefix('/').unwrap_or(rest);
        let name = word(&mut rest);
        let around = || rest.chars().take(60).collect::<String>();
        assert!(ELEMENTS.contains(&name), "<{name} {:?}", around());
        let around = around();
        while !rest.starts_with('>') {
            rest = rest.trim_start_matches([' ', '\n', '/']);
            if rest.starts_with('>') {
                break;
            }
            let attribute = word(&mut rest);
            let known = ATTRIBUTES.contains(&attribute) || attribute.starts_with("data-");
            assert!(known && !closing, "{attribute:?} in <{name} {around:?}");
            let Some(value) = rest.strip_prefix('=') else { continue };
            let value = value.strip_prefix('"').unwrap_or_else(|| panic!("a bare value in <{name} {around:?}"));
            let end = value.find('"').unwrap_or_else(|| panic!("an open value in <{name} {around:?}"));
            assert!(attribute != "href" || value.starts_with('#'), "a link away from the page: {:?}", &value[..end]);
            assert!(attribute != "id" || ids.insert(value[..end].to_owned()), "the id {:?} twice", &value[..end]);
            rest = &value[end + 1..];
        }
        if !closing && (name == "script" || name == "style") {
            scripts += 1;
            // These hold no text of the record.
            let end = rest.find("</").unwrap_or_else(|| panic!("an open <{name}"));
            rest = &rest[end..];
            assert!(rest.starts_with("</script>") || rest.starts_with("</style>"), "{:?}", &rest[..rest.len().min(60)]);
        }
    }
    assert_eq!(scripts, 2, "one script and one style");
}

fn word<'p>(rest: &mut &'p str) -> &'p str {
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(rest.len());
    let (word, behind) = rest.split_at(end);
    *rest = behind;
    word
}

/// Reads the XML with another library than the one that wrote it.
fn junit(page: &str) {
    const ELEMENTS: &[&[u8]] = &[
        b"error",
        b"failure",
        b"properties",
        b"property",
        b"skipped",
        b"system-err",
        b"system-out",
        b"testcase",
        b"testsuite",
        b"testsuites",
    ];
    xml(page, ELEMENTS);
}

/// An image may run scripts and load files, so it has drawing elements only.
fn svg(page: &str) {
    xml(page, &[b"g", b"rect", b"svg", b"text", b"title"]);
}

/// Reads XML that has these elements only.
fn xml(page: &str, elements: &[&[u8]]) {
    // XML 1.0 section 2.2: these cannot be written, escaped or not.
    let outside = |c: char| matches!(c, '\u{fffe}' | '\u{ffff}') || (c < ' ' && !matches!(c, '\n' | '\r' | '\t'));
    let check = |text: &str| assert!(!text.contains(outside), "{text:?} is not XML");
    let mut reader = quick_xml::Reader::from_str(page);
    loop {
        match reader.read_event().unwrap_or_else(|error| panic!("{error}: {page}")) {
            Xml::Eof => return,
            Xml::Start(tag) | Xml::Empty(tag) => {
                assert!(elements.contains(&tag.name().as_ref()), "<{}", String::from_utf8_lossy(tag.name().as_ref()));
                for attribute in tag.attributes() {
                    let attribute = attribute.unwrap_or_else(|error| panic!("{error}: {page}"));
                    check(
                        &attribute
                            .normalized_value(XmlVersion::Implicit1_0)
                            .unwrap_or_else(|error| panic!("{error}: {page}")),
                    );
                }
            }
            Xml::Text(text) => check(&text.decode().unwrap_or_else(|error| panic!("{error}: {page}"))),
            Xml::GeneralRef(name) => {
                let character = name.resolve_char_ref().unwrap_or_else(|error| panic!("{error}: {page}"));
                check(&character.map(String::from).unwrap_or_default());
            }
            Xml::End(_) | Xml::Decl(_) => {}
            other => panic!("{other:?} in {page}"),
        }
    }
}

/// Reads the Markdown with another library: it has no links, and its HTML is of the few kinds that the
/// format writes.
fn markdown(page: &str) {
    let kinds = ["<code>", "</code>", "<br>", "<details>", "</details>", "<summary>", "</summary>", "<b>", "</b>"];
    for event in Parser::new_ext(page, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH) {
        match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                panic!("a link to {dest_url:?} in {page}");
            }
            Event::Html(html) | Event::InlineHtml(html) => {
                let mut rest = html.trim();
                while let Some(at) = rest.find('<') {
                    let kind = kinds.iter().find(|kind| rest[at..].starts_with(**kind));
                    let kind = kind.unwrap_or_else(|| panic!("{html:?} in {page}"));
                    rest = &rest[at + kind.len()..];
                }
            }
            _ => {}
        }
    }
}

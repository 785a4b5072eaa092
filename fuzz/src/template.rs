//! Templates: any text is rendered or refused, the same way each time, and a template of known parts renders to their
//! values.
//!
//! The input is used three times: as a template, as an expression in YAML, and as the choices for a template of texts
//! and calls with a known result.

use std::collections::BTreeMap;

use arbitrary::{Result, Unstructured};
use proofmark::protocol;
use proofmark::source::{self, Problems};
use proofmark::template::{Clock, Expr, RenderError, Scope, Seed, Template, format_time, parse_time};
use proofmark::value::Value;
use proofmark::wire::{canonical, json, show};

use crate::{generate, mistakes, reference};

/// The present time of every template: whole seconds, as runs have it.
const CLOCK: Clock = Clock(1_767_323_045_000_000_000);

/// The maximum bytes of one call.
const LARGEST: usize = 64 << 20;

/// Digits of a number. A suite may request millions of bytes, and often: that is slow, but not wrong.
const DIGITS: usize = 5;

/// Checks one input.
///
/// # Panics
///
/// If a text renders in two ways, to a huge result, or to another value than that of its parts.
pub fn run(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        escaped(&generate::printable(text));
        if text.split(|c: char| !c.is_ascii_digit()).all(|digits| digits.len() <= DIGITS) {
            any(&json::compact(&Value::text(text)));
            any(text);
        }
    }
    // A stream that ends early gives no template.
    let _ = made(&mut Unstructured::new(data));
}

/// A text stands for itself once its `${` are written `$${`.
fn escaped(text: &str) {
    let written = text.replace("${", "$${");
    let template = Template::parse(&written);
    assert!(template.is_ok(), "{template:?}: {written:?}");
    let rendered = render(&json::compact(&Value::text(written)));
    assert_eq!(rendered, Some(Ok(Value::text(text))));
}

/// An expression, twice.
fn any(yaml: &str) {
    let first = render(yaml);
    if let Some(Ok(value)) = &first {
        let calls = yaml.matches("${").count() + 1;
        assert!(weight(value) <= calls * LARGEST, "{} bytes of {yaml}", weight(value));
        let _ = show(value);
    }
    // NaN is not equal to itself.
    assert_eq!(format!("{first:?}").len(), format!("{:?}", render(yaml)).len(), "{yaml}");
}

/// The value of an expression, written as YAML; `None` if it is invalid.
fn render(yaml: &str) -> Option<std::result::Result<Value, RenderError>> {
    let mut problems = Problems::default();
    let node = mistakes::none(source::parse(&mistakes::source("suites/amp-core/fuzz.yaml", yaml)))?;
    let expr = Expr::read(&node, &mut problems);
    let expr = mistakes::none(problems.check(expr))?;
    expr.visit(&mut |words, _| assert!(!words.is_empty(), "a call without a name in {yaml}"));
    let constant = expr.constant().cloned();
    let (objects, lazy) = (BTreeMap::new(), BTreeMap::new());
    let functions = protocol::find("amp-core").expect("it is implemented").functions();
    let mut scope = Scope::new(&objects, &lazy, Seed::new(1), CLOCK).with(functions, CLOCK);
    scope.bind("id", Value::Bytes(vec![7; 16]));
    scope.bind("n", Value::Integer(41));
    scope.bind("p", Value::map([("a", Value::Array(vec![Value::text("b")].into()))]));
    let rendered = scope.render(&expr, "it");
    if let Some(constant) = constant {
        assert_eq!(format!("{rendered:?}"), format!("{:?}", Ok::<_, RenderError>(constant)), "{yaml}");
    }
    Some(rendered)
}

fn weight(value: &Value) -> usize {
    match value {
        Value::Text(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Map(members) => members.iter().map(|(key, value)| weight(key) + weight(value)).sum(),
        Value::Tag(_, content) => weight(content),
        _ => 1,
    }
}

/// The expected result of a call.
enum Gives {
    /// This value.
    This(Value),
    /// A text of the given number of these characters.
    Some(usize, &'static str),
    /// A whole number from the first to the second.
    Between(u64, u64),
}

fn made(u: &mut Unstructured<'_>) -> Result<()> {
    let (call, gives) = call(u)?;
    let yaml = json::compact(&Value::text(format!("${{{call}}}")));
    let rendered = render(&yaml).and_then(std::result::Result::ok).unwrap_or_else(|| panic!("{call} is refused"));
    let fits = match &gives {
        Gives::This(value) => rendered == *value,
        Gives::Some(count, letters) => rendered
            .as_text()
            .is_some_and(|text| text.len() == *count && text.chars().all(|letter| letters.contains(letter))),
        Gives::Between(low, high) => {
            rendered.as_integer().is_some_and(|number| (i128::from(*low)..=i128::from(*high)).contains(&number))
        }
    };
    assert!(fits, "{call} gives {rendered:?}");
    // Within a text, a call is replaced by the text of its value.
    if let Gives::This(Value::Text(value)) = gives {
        let (before, behind) = (generate::printable(u.arbitrary()?), generate::printable(u.arbitrary()?));
        // A text that ends with a dollar would make one escape of it and the call.
        let before = before.trim_end_matches('$');
        let around = format!("{}${{{call}}}{}", before.replace("${", "$${"), behind.replace("${", "$${"));
        let rendered = render(&json::compact(&Value::text(around.clone())));
        assert_eq!(rendered, Some(Ok(Value::text(format!("{before}{value}{behind}")))), "{around}");
    }
    Ok(())
}

/// A call of a function, and its expected result.
fn call(u: &mut Unstructured<'_>) -> Result<(String, Gives)> {
    let length = u.int_in_range(0..=40)?;
    let bytes = u.bytes(length)?.to_vec();
    // Without bytes the argument would be missing.
    let bytes = if bytes.is_empty() { vec![0] } else { bytes };
    let hex = reference::hex(&bytes);
    let (a, b): (u32, u32) = (u.arbitrary()?, u.arbitrary()?);
    let seconds = i128::from(u.int_in_range(-400_000_000_i64..=400_000_000)?);
    let small = usize::try_from(a % 100).unwrap_or(0);
    let text = |text: String| Gives::This(Value::text(text));
    let number = |number: i128| Gives::This(Value::Integer(number));
    let instant = |from: i128| format_time(from + seconds * 1_000_000_000);
    Ok(match u.int_in_range(0..=17)? {
        0 => (format!("hex {small}"), Gives::Some(small, "0123456789abcdef")),
        1 => (format!("word {small}"), Gives::Some(small, "bcdfghjklmnpqrstvwxz")),
        2 => {
            let (low, high) = (u64::from(a.min(b) % 1_000_000), u64::from(a.max(b) % 1_000_000));
            (format!("number {} {}", low.min(high), low.max(high)), Gives::Between(low.min(high), low.max(high)))
        }
        3 => (format!("time {seconds}s"), text(format!("{}Z", instant(CLOCK.0)))),
        4 => (format!("second {seconds}s"), text(instant(CLOCK.0))),
        5 => (format!("day {seconds}s"), text(instant(CLOCK.0)[..10].to_owned())),
        6 => {
            let time = "2026-01-02T03:04:05Z";
            (format!("shift {time} {seconds}s"), text(format!("{}Z", instant(parse_time(time).expect("a time")))))
        }
        7 => (format!("ms {seconds}s"), number(CLOCK.0 / 1_000_000 + seconds * 1000)),
        8 => (format!("plus {a} {seconds} $n"), number(i128::from(a) + seconds + 41)),
        9 => (format!("quotient {seconds} {}", b.max(1)), number(seconds.div_euclid(i128::from(b.max(1))))),
        10 => (format!("float {a}"), Gives::This(Value::Float(f64::from(a)))),
        11 => (format!("bytes {hex} $id"), Gives::This(Value::Bytes([&bytes[..], &[7; 16]].concat()))),
        12 => {
            let (low, high) = (small.min(bytes.len()), bytes.len());
            (format!("slice {hex} {low} {high}"), Gives::This(Value::Bytes(bytes[low..high].to_vec())))
        }
        13 => (format!("filled {small} {:02x}", bytes[0]), Gives::This(Value::Bytes(vec![bytes[0]; small]))),
        14 => (format!("hex_of {}", hex.to_uppercase()), text(hex)),
        15 => {
            let digest = data_encoding::HEXLOWER.decode(canonical::sha256_of(&bytes).as_bytes()).expect("hex");
            (format!("sha256 {hex}"), Gives::This(Value::Bytes(digest)))
        }
        16 => (format!("repeat {small} é{a}"), text(format!("é{a}").repeat(small))),
        _ => ("p/a/0".to_owned(), text("b".to_owned())),
    })
}

//! Appendix A: the canonical text of a JSON value, the input of content hashes.
//!
//! Members whose value is null are omitted at every depth (E04); the others are sorted by the UTF-8 bytes of
//! their decoded names (E05); numbers are printed as ECMAScript prints the double (E07); strings carry only the
//! escapes they need (E06); no white space; arrays as they are.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::faults::canonical as faults;
use super::rules::Rules;
use crate::fault::planted;
use crate::json::{Number, Object, Value, push_character};

/// The canonical form of `value`. `source` is the text it was read from, which must not affect the result.
pub(crate) fn canonical(value: &Value, source: &[u8], rules: Rules) -> String {
    form(source, rules, |writer| writer.value(value, 0))
}

/// The canonical form of an object, as [`canonical`].
pub(crate) fn canonical_object(object: &Object, source: &[u8], rules: Rules) -> String {
    form(source, rules, |writer| writer.object(object, 0))
}

fn form(source: &[u8], rules: Rules, write: impl FnOnce(&mut Writer)) -> String {
    let mut writer = Writer { out: String::new(), rules, spellings: HashMap::new() };
    // A: escapes are decoded first, so the spelling of the input has no effect.
    planted!(rules.fault, "canonical-keeps-input-escapes", writer.spellings = faults::escaped_strings(source));
    // A: UTF-8 without a byte order mark.
    planted!(rules.fault, "canonical-bom", writer.out.push('\u{feff}'));
    write(&mut writer);
    planted!(rules.fault, "canonical-trailing-newline", writer.out.push('\n'));
    writer.out
}

struct Writer {
    out: String,
    rules: Rules,
    spellings: HashMap<String, String>,
}

impl Writer {
    fn value(&mut self, value: &Value, depth: usize) {
        match value {
            Value::Null => self.out.push_str("null"),
            Value::Bool(bool) => self.out.push_str(if *bool { "true" } else { "false" }),
            Value::Number(number) => self.number(number),
            Value::Text(text) => self.text(text),
            Value::List(items) => self.list(items, depth),
            Value::Object(object) => self.object(object, depth),
        }
    }

    fn list(&mut self, items: &[Value], depth: usize) {
        let mut items: Vec<&Value> = items.iter().collect();
        // A: an element is not a member.
        planted!(self.rules.fault, "canonical-drops-null-elements", items.retain(|item| **item != Value::Null));
        // Other, E04: a null element is left out like a null member.
        if self.rules.variant.is_other() {
            items.retain(|item| **item != Value::Null);
        }
        // A: the order of an array is part of its value; a null element is not a member and stays.
        planted!(self.rules.fault, "canonical-sorts-arrays", faults::sort_texts(&mut items));
        self.out.push('[');
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                self.separator(',');
            }
            self.value(item, depth + 1);
        }
        self.out.push(']');
    }

    fn object(&mut self, object: &Object, depth: usize) {
        let mut members: Vec<(&str, &Value)> = object.iter().filter(|(_, value)| self.keeps(value, depth)).collect();
        if depth == 0 || !self.rules.fault.is("canonical-top-level-sort") {
            members.sort_by(|(left, _), (right, _)| self.order(left, right));
        }
        self.out.push('{');
        for (index, (name, value)) in members.into_iter().enumerate() {
            if index > 0 {
                self.separator(',');
            }
            self.text(name);
            self.separator(':');
            self.value(value, depth + 1);
        }
        self.out.push('}');
    }

    /// A, 6.6: null members are left out; empty strings, empty arrays, empty objects, zero and false are not.
    fn keeps(&self, value: &Value, depth: usize) -> bool {
        planted!(self.rules.fault, "canonical-keeps-null", return true);
        planted!(self.rules.fault, "canonical-drops-falsy", faults::is_falsy(value) => return false);
        planted!(self.rules.fault, "canonical-drops-emptied-object", faults::is_emptied(value) => return false);
        // Other, E04: only the members of the outermost object are fields.
        let kept = self.rules.variant.is_other() && depth > 0;
        kept || !matches!(value, Value::Null)
    }

    /// A: ascending by unsigned bytes of the UTF-8 names; not by locale, number, case or UTF-16 unit.
    fn order(&self, left: &str, right: &str) -> Ordering {
        planted!(self.rules.fault, "canonical-unsorted", return Ordering::Equal);
        planted!(self.rules.fault, "canonical-case-insensitive-sort", return faults::without_case(left, right));
        planted!(self.rules.fault, "canonical-utf16-sort", return left.encode_utf16().cmp(right.encode_utf16()));
        planted!(self.rules.fault, "canonical-numeric-sort", return faults::numbers_first(left, right));
        // Other, E05: as a library for RFC 8785 sorts.
        if self.rules.variant.is_other() {
            return left.encode_utf16().cmp(right.encode_utf16());
        }
        left.as_bytes().cmp(right.as_bytes())
    }

    /// A: RFC 8785 numbers, which are those of ECMAScript; negative zero is 0.
    fn number(&mut self, number: &Number) {
        let (double, fault) = (number.as_f64(), self.rules.fault);
        planted!(fault, "canonical-language-floats", return self.push(&faults::as_a_language_prints(number)));
        planted!(fault, "canonical-negative-zero", faults::is_negative_zero(double) => return self.push("-0"));
        // A: the double that it denotes.
        planted!(fault, "canonical-keeps-digits", faults::is_long(double) => return self.push(number.spelling()));
        // Other, E07: an integer keeps its digits, however many there are.
        let is_digits = || number.spelling().bytes().all(|byte| byte == b'-' || byte.is_ascii_digit());
        if self.rules.variant.is_other() && double != 0.0 && is_digits() {
            return self.out.push_str(number.spelling());
        }
        self.out.push_str(ryu_js::Buffer::new().format_finite(double));
    }

    /// A: quote, reverse solidus and controls below U+0020 in their shortest escape; all else raw, not normalised.
    fn text(&mut self, text: &str) {
        let text = super::faults::intake::normalised(text, self.rules.fault);
        // A: white space inside a string is part of it.
        let text = if self.rules.fault.is("canonical-trims-strings") { text.trim().to_owned().into() } else { text };
        self.out.push('"');
        match self.spellings.get(text.as_ref()) {
            Some(spelling) => self.out.push_str(spelling),
            None => text.chars().for_each(|character| self.character(character)),
        }
        self.out.push('"');
    }

    fn push(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn character(&mut self, character: char) {
        let fault = self.rules.fault;
        planted!(fault, "canonical-ascii-only", escape in faults::as_ascii(character) => return self.push(&escape));
        planted!(fault, "canonical-escapes-solidus", character == '/' => return self.push("\\/"));
        planted!(fault, "canonical-html-escapes", escape in faults::of_html(character) => return self.push(&escape));
        // A: a quote, a reverse solidus and controls, each in its shortest escape, in small digits.
        planted!(fault, "canonical-long-escapes", escape in faults::of_quote(character) => return self.push(&escape));
        planted!(fault, "canonical-long-controls", long in faults::of_control(character) => return self.push(&long));
        planted!(fault, "canonical-upper-hex", escape in faults::in_capitals(character) => return self.push(&escape));
        planted!(fault, "canonical-raw-controls", character < ' ' => return self.out.push(character));
        // Other, E06: the long escape for every control character, with upper-case digits.
        if self.rules.variant.is_other() && character < ' ' {
            return self.push(&format!("\\u{:04X}", u32::from(character)));
        }
        push_character(&mut self.out, character);
    }

    /// A: no white space between tokens.
    fn separator(&mut self, separator: char) {
        self.out.push(separator);
        planted!(self.rules.fault, "canonical-spaces", self.out.push(' '));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agentic::fault::FAULTS;
    use crate::fault::Planted;

    fn form(text: &str) -> String {
        faulty(text, Rules::plain())
    }

    fn faulty(text: &str, rules: Rules) -> String {
        canonical(&crate::json::read(text.as_bytes()).expect("valid JSON"), text.as_bytes(), rules)
    }

    #[test]
    fn names_are_sorted_by_bytes_at_every_depth() {
        assert_eq!(
            form(r#"{"b":1,"a":2,"B":3,"_":4,"-":5,"10":6,"9":7,"aa":8,"":9,"a-b":10,"a.b":11}"#),
            r#"{"":9,"-":5,"10":6,"9":7,"B":3,"_":4,"a":2,"a-b":10,"a.b":11,"aa":8,"b":1}"#
        );
        assert_eq!(form(r#"{ "z":{"y":2,"x":1}, "a":[{"d":4,"c":3}] }"#), r#"{"a":[{"c":3,"d":4}],"z":{"x":1,"y":2}}"#);
        assert_eq!(
            form(r#"{"\ud83d\udd11":1,"\uff5e":2,"\ue000":6}"#),
            "{\"\u{e000}\":6,\"\u{ff5e}\":2,\"\u{1f511}\":1}"
        );
    }

    #[test]
    fn null_members_go_and_null_elements_stay() {
        assert_eq!(
            form(r#"{"a":null,"b":{"c":null},"d":[{"e":null,"f":1},{"g":null}],"h":"null","i":[null,1,[null]]}"#),
            r#"{"b":{},"d":[{"f":1},{}],"h":"null","i":[null,1,[null]]}"#
        );
    }

    #[test]
    fn numbers_are_printed_as_ecmascript_prints_doubles() {
        let numbers = "[0,-0,-0.0,1.0,1.50,100e-2,1E2,0.30000000000000004,0.000001,0.0000001,1.25e-7,100000000000000000000,\
                       1e21,1.5e300,5e-324,9007199254740993,12345678901234567890]";
        let expected = "[0,0,0,1,1.5,1,100,0.30000000000000004,0.000001,1e-7,1.25e-7,100000000000000000000,\
                        1e+21,1.5e+300,5e-324,9007199254740992,12345678901234567000]";
        assert_eq!(form(numbers), expected);
    }

    #[test]
    fn strings_carry_only_the_escapes_they_need() {
        assert_eq!(form(r#""say \"hi\" \\ \/ / \u0022 \u005c \u002f""#), r#""say \"hi\" \\ / / \" \\ /""#);
        assert_eq!(
            form(r#""\u0000\u0007\b\u000b\f\n\r\t\u001F\u007f""#),
            "\"\\u0000\\u0007\\b\\u000b\\f\\n\\r\\t\\u001f\u{7f}\""
        );
        assert_eq!(form(r#""\u00e9\u2028\ud83d\ude80<&>e\u0301""#), "\"\u{e9}\u{2028}\u{1f680}<&>e\u{301}\"");
    }

    #[test]
    fn each_planted_fault_changes_the_form() {
        let text = r#"{"b":{"z":1,"a":[1.0,1e-7,1e20,-0.0,""]},"B":"<é\/\u000a>","9":{"n":null},"10":["b","a"],
                      "11":[null,9007199254740993," pad ","\"\\\u001f"],
                      "\ud83d\udd11":0,"\uff5e":1,"e\u0301":"e\u0301"}"#;
        let names = FAULTS.iter().map(|fault| fault.name).filter(|name| name.starts_with("canonical-"));
        for name in names.chain(["normalises-unicode"]) {
            let fault = Planted::find(name, &[FAULTS]).expect("the name is in the table");
            let rules = Rules { fault, ..Rules::plain() };
            assert_ne!(faulty(text, rules), form(text), "{name} has no effect");
        }
    }
}

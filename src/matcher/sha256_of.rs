//! `sha256-of`: the hash of a value's canonical JSON.

use super::argument::{Members, flag, members, word};
use super::{ArgumentError, Check, Compiler, Matcher, Outcome, show};
use crate::value::Value;
use crate::wire::canonical::{self, Form, NullMembers, Order};

/// Holds if the text is the SHA-256 of the canonical form of a value.
pub(super) struct Sha256Of;

impl Matcher for Sha256Of {
    fn name(&self) -> &'static str {
        "sha256-of"
    }

    fn summary(&self) -> &'static str {
        "The value is the SHA-256, in lower-case hex, of the canonical JSON of `value`. `form` is jcs (RFC 8785) \
         [default: jcs], or a map of what differs from it; `prefix` sets whether `sha256:` stands \
         before the digits: none, optional or required."
    }

    fn example(&self) -> &'static str {
        "{ at: /body/hash, sha256-of: { value: { a: 1, b: null }, form: { null-members: drop-everywhere, order: utf8 }, \
         prefix: optional } }"
    }

    fn compile(&self, argument: &Value, _: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError> {
        let members = members(argument, &["value", "form", "prefix"])?;
        let form = members.read("form", read_form)?.unwrap_or(Form::JCS);
        let prefix = members
            .read("prefix", |prefix| {
                word(prefix, &[("none", Prefix::None), ("optional", Prefix::Optional), ("required", Prefix::Required)])
            })?
            .unwrap_or(Prefix::None);
        let digits = members.require("value", |value| Ok(canonical::sha256(value, form)))?;
        Ok(Box::new(Digest { digits, prefix }))
    }
}

/// Reads `jcs`, or a map of the fields of [`Form`] that differ from it.
fn read_form(argument: &Value) -> Result<Form, ArgumentError> {
    const JCS: [(&str, Form); 1] = [("jcs", Form::JCS)];
    if argument.as_map().is_none() {
        return word(argument, &JCS);
    }
    const KEYS: [&str; 8] = [
        "base",
        "null-members",
        "drop-null-elements",
        "order",
        "keep-integer-digits",
        "long-controls",
        "upper-hex",
        "spaces",
    ];
    const NULL_MEMBERS: [(&str, NullMembers); 3] = [
        ("keep", NullMembers::Keep),
        ("drop-at-top", NullMembers::DropAtTop),
        ("drop-everywhere", NullMembers::DropEverywhere),
    ];
    const ORDERS: [(&str, Order); 5] = [
        ("utf8", Order::Utf8),
        ("utf16", Order::Utf16),
        ("as-written", Order::AsWritten),
        ("reversed", Order::Reversed),
        ("top-only", Order::TopOnly),
    ];
    let fields = members(argument, &KEYS)?;
    let base = fields.read("base", |name| word(name, &JCS))?.unwrap_or(Form::JCS);
    Ok(Form {
        null_members: fields.read("null-members", |name| word(name, &NULL_MEMBERS))?.unwrap_or(base.null_members),
        drop_null_elements: flag_or(fields, "drop-null-elements", base.drop_null_elements)?,
        order: fields.read("order", |name| word(name, &ORDERS))?.unwrap_or(base.order),
        keep_integer_digits: flag_or(fields, "keep-integer-digits", base.keep_integer_digits)?,
        long_controls: flag_or(fields, "long-controls", base.long_controls)?,
        upper_hex: flag_or(fields, "upper-hex", base.upper_hex)?,
        spaces: flag_or(fields, "spaces", base.spaces)?,
    })
}

fn flag_or(fields: Members<'_>, name: &str, base: bool) -> Result<bool, ArgumentError> {
    Ok(fields.read(name, flag)?.unwrap_or(base))
}

#[derive(Clone, Copy)]
enum Prefix {
    None,
    Optional,
    Required,
}

struct Digest {
    digits: String,
    prefix: Prefix,
}

impl Check for Digest {
    fn check(&self, observed: Option<&Value>) -> Outcome {
        let text = observed.and_then(Value::as_text).unwrap_or_default();
        let bare = text == self.digits;
        let prefixed = text.strip_prefix("sha256:") == Some(self.digits.as_str());
        let prefixed_digits = show(&Value::text(format!("sha256:{}", self.digits)));
        let digits = show(&Value::text(self.digits.as_str()));
        let (holds, expected) = match self.prefix {
            Prefix::None => (bare, digits),
            Prefix::Optional => (bare || prefixed, format!("{digits} or {prefixed_digits}")),
            Prefix::Required => (prefixed, prefixed_digits),
        };
        if holds { Outcome::HOLDS } else { Outcome::mismatch(expected, observed) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{look_at_nothing, mismatch, refusal};
    use super::*;

    /// SHA-256 of `{"a":1}`, computed with another tool.
    const A1: &str = "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862";

    fn holds(written: &str, observed: &str) -> bool {
        super::super::testing::holds(written, &format!("\"{observed}\""))
    }

    #[test]
    fn the_hash_is_of_the_canonical_form() {
        assert!(holds(r#"{"sha256-of":{"value":{"a":1.0}}}"#, A1));
        assert!(holds(r#"{"sha256-of":{"value":{"a":1},"form":"jcs"}}"#, A1));
        let dropping = r#"{"sha256-of":{"value":{"b":null,"a":1},"form":{"base":"jcs","null-members":"drop-at-top"}}}"#;
        assert!(holds(dropping, A1));
        assert!(!holds(r#"{"sha256-of":{"value":{"b":null,"a":1}}}"#, A1));
    }

    #[test]
    fn the_prefix_is_required_optional_or_forbidden() {
        let with = |prefix: &str| format!(r#"{{"sha256-of":{{"value":{{"a":1}},"prefix":"{prefix}"}}}}"#);
        let prefixed = format!("sha256:{A1}");
        for (prefix, bare, long) in [("none", true, false), ("optional", true, true), ("required", false, true)] {
            assert_eq!((holds(&with(prefix), A1), holds(&with(prefix), &prefixed)), (bare, long), "{prefix}");
        }
    }

    #[test]
    fn another_text_is_a_mismatch_and_so_do_capitals() {
        let written = r#"{"at":"/h","sha256-of":{"value":{"a":1}}}"#;
        let expected = format!("\"{A1}\"");
        assert_eq!(mismatch(written, r#"{"h":"00"}"#), ["/h", &expected, "\"00\""]);
        assert!(!holds(r#"{"sha256-of":{"value":{"a":1}}}"#, &A1.to_uppercase()));
        assert!(matches!(look_at_nothing(written), Outcome::Mismatch(_)));
    }

    #[test]
    fn unknown_fields_of_a_form_are_rejected() {
        assert_eq!(refusal(r#"{"sha256-of":{"form":"jcs"}}"#)[1], "needs the key `value`");
        assert_eq!(
            refusal(r#"{"sha256-of":{"value":1,"form":{"order":"utf-8"}}}"#),
            [
                "/sha256-of/form/order",
                "needs utf8, utf16, as-written, reversed or top-only, not \"utf-8\"",
                "did you mean `utf8`?"
            ]
        );
        assert_eq!(refusal(r#"{"sha256-of":{"value":1,"form":{"upper-hexx":true}}}"#)[2], "did you mean `upper-hex`?");
        assert_eq!(refusal(r#"{"sha256-of":{"value":1,"prefix":true}}"#)[0], "/sha256-of/prefix");
    }

    #[test]
    fn each_field_of_a_form_changes_the_text_that_is_hashed() {
        for (value, field, text) in [
            ("[1,null]", "drop-null-elements", "[1]"),
            ("9007199254740993", "keep-integer-digits", "9007199254740993"),
            (r#""\n""#, "long-controls", r#""\u000a""#),
            (r#""\u001f""#, "upper-hex", r#""\u001F""#),
            (r#"{"a":[1,2]}"#, "spaces", r#"{"a": [1, 2]}"#),
        ] {
            let with = |flag: bool| format!(r#"{{"sha256-of":{{"value":{value},"form":{{"{field}":{flag}}}}}}}"#);
            let hash = canonical::sha256_of(text.as_bytes());
            assert_eq!((holds(&with(true), &hash), holds(&with(false), &hash)), (true, false), "{field}");
        }
    }
}

//! The content hash (section 6.6, appendix A; E02 to E07, E09, E86, E90): its possible places and values.

use crate::exchange::Exchange;
use crate::matcher::{ArgumentError, Check, Compiler, Matcher, Outcome, Reading, show};
use crate::target::{Target, renamed};
use crate::value::{Path, Value};
use crate::wire::canonical::{Form, NullMembers, Order, sha256};

use super::package::defaults;

/// The canonical form as ruled: E04 reading a, E05 reading a, E06 reading a, E07 reading a.
pub(super) const RULED: Form = Form {
    null_members: NullMembers::DropEverywhere,
    drop_null_elements: false,
    order: Order::Utf8,
    keep_integer_digits: false,
    long_controls: false,
    upper_hex: false,
    spaces: false,
};

/// The possible places of a hash in an answer: `named` is the value at a place with a known name, `others` are all
/// other strings outside the package and all header values.
pub(super) fn candidates(body: &Value, exchange: &Exchange, target: &Target) -> Value {
    let headers = &exchange.received.headers;
    let header = |name: &str| {
        let found = headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| Value::text(value))
    };
    let configured = target.places("content_hash").iter().find_map(|place| match place.strip_prefix("header:") {
        Some(name) => header(name),
        None => Path::parse(place).ok().and_then(|path| path.resolve(body).cloned()),
    });
    let named = configured
        .or_else(|| {
            let names = ["content_hash", "contentHash", "hash", "package_hash"];
            names.iter().find_map(|name| body.member(name).filter(|value| value.as_text().is_some()).cloned())
        })
        .or_else(|| {
            // Reading b of E02: an extra member of the returned package, at any place of the package.
            let data = body.member("data");
            let packages = [body.member("package"), data, data.and_then(|data| data.member("package"))];
            packages.into_iter().flatten().find_map(|package| {
                let names = ["content_hash", "contentHash"];
                names.iter().find_map(|name| package.member(name).filter(|value| value.as_text().is_some()).cloned())
            })
        })
        .or_else(|| header("x-content-hash"));
    let mut others = Vec::new();
    if let Some(members) = body.as_map() {
        let flat = body.member("package_id").is_some();
        for (key, value) in members {
            let inside_package = flat || matches!(key.as_text(), Some("package" | "data"));
            if !inside_package || flat && matches!(key.as_text(), Some("etag" | "digest" | "sha256" | "checksum")) {
                texts(value, &mut others);
            }
        }
        // An answer that wraps package and hash together under `data` has its named hash in there.
        if named.is_none()
            && let Some(data) = body.member("data")
        {
            for name in ["content_hash", "contentHash", "hash"] {
                others.extend(data.member(name).cloned());
            }
        }
    }
    for (_, value) in headers {
        let bare = value.strip_prefix("W/").unwrap_or(value).trim_matches('"');
        others.push(Value::text(bare));
    }
    let mut view = vec![(Value::text("others"), Value::Array(others.into()))];
    if let Some(named) = named {
        view.push((Value::text("named"), named));
    }
    Value::Map(view.into())
}

fn texts(value: &Value, found: &mut Vec<Value>) {
    match value {
        Value::Text(_) => found.push(value.clone()),
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Map(members) => members.iter().for_each(|(_, member)| texts(member, found)),
        _ => {}
    }
}

/// Holds if the answer carries the content hash of the package given.
pub(super) struct ContentHash;

impl Matcher for ContentHash {
    fn name(&self) -> &'static str {
        "content-hash"
    }

    fn summary(&self) -> &'static str {
        "The answer carries the content hash of the package given, in any place and spelling that the errata allow. With \
         `{ of: PACKAGE, if-there: true }` an answer without a hash is ignored."
    }

    fn example(&self) -> &'static str {
        "{ content-hash: '${p}' }"
    }

    fn compile(&self, argument: &Value, _: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError> {
        let (package, if_there) = match argument.member("of") {
            Some(package) => (package, argument.member("if-there") == Some(&Value::Bool(true))),
            None => (argument, false),
        };
        if package.as_map().is_none() {
            return Err(ArgumentError::new(format!("is a package, not {}", show(package))));
        }
        Ok(Box::new(HashOf { package: package.clone(), if_there }))
    }
}

struct HashOf {
    package: Value,
    if_there: bool,
}

impl Check for HashOf {
    fn check(&self, observed: Option<&Value>) -> Outcome {
        let expected = format!("sha256:{}", sha256(&self.package, RULED));
        let hash = observed.and_then(|root| root.member("hash"));
        let returned = observed.and_then(|root| root.member("package"));
        // A target with its own names hashes what it was sent, which has them.
        let own = observed
            .and_then(|root| root.member("own_names"))
            .map(|names| renamed(self.package.clone(), |name| names.member(name).and_then(Value::as_text)));
        let recognise = |text: &str| {
            let by_own = || recognise(text, own.as_ref()?, returned);
            recognise(text, &self.package, returned).or_else(by_own)
        };
        let named = hash.and_then(|hash| hash.member("named")).and_then(Value::as_text);
        if let Some(named) = named {
            return match recognise(named) {
                Some(readings) => Outcome::Holds(readings),
                None => Outcome::mismatch(expected, Some(&Value::text(named))),
            };
        }
        let others = hash.and_then(|hash| hash.member("others")).and_then(Value::as_array).unwrap_or_default();
        let found =
            others.iter().filter_map(Value::as_text).filter(|text| digest_of(text).is_some()).find_map(recognise);
        match found {
            Some(readings) => Outcome::Holds(readings),
            None if self.if_there => Outcome::Vacuous("the answer carries no content hash".to_owned()),
            None => Outcome::mismatch(format!("{expected} somewhere in the answer"), None),
        }
    }
}

/// The digest that a text spells, in lower-case hex, and whether base64 was used (E03).
fn digest_of(text: &str) -> Option<(String, bool)> {
    let bare = match text.get(..7) {
        Some(prefix) if prefix.eq_ignore_ascii_case("sha256:") || prefix.eq_ignore_ascii_case("sha256-") => &text[7..],
        _ => text,
    };
    if bare.len() == 64 && bare.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Some((bare.to_ascii_lowercase(), false));
    }
    let unpadded = bare.trim_end_matches('=');
    let bytes = data_encoding::BASE64_NOPAD
        .decode(unpadded.as_bytes())
        .or_else(|_| data_encoding::BASE64URL_NOPAD.decode(unpadded.as_bytes()))
        .ok()
        .filter(|bytes| bytes.len() == 32)?;
    Some((data_encoding::HEXLOWER.encode(&bytes), true))
}

/// The readings under which `text` is the hash of the package, if any.
fn recognise(text: &str, package: &Value, returned: Option<&Value>) -> Option<Vec<Reading>> {
    let (digest, base64) = digest_of(text)?;
    let mut readings =
        if digest == sha256(package, RULED) { Vec::new() } else { deviations(&digest, package, returned)? };
    if base64 {
        readings.push(Reading { reading: "the hash is written in base64 (E03)".into(), tolerated: true });
    }
    Some(readings)
}

/// The combination of tolerated readings (E86) whose hash is `digest`.
fn deviations(digest: &str, package: &Value, returned: Option<&Value>) -> Option<Vec<Reading>> {
    const NAMES: [&str; 6] = [
        "only nulls at the top are dropped (E04)",
        "null elements of arrays are dropped (E04)",
        "names are ordered by UTF-16 code units (E05)",
        "integers keep their digits (E07)",
        "every control character is a u-escape (E06)",
        "hex digits of escapes are capitals (E06)",
    ];
    let mut objects: Vec<(Value, Option<&str>)> =
        vec![(package.clone(), None), (with_defaults(package), Some("defaults are filled in before hashing (E09)"))];
    if let Some(path) = returned.and_then(|returned| returned.member("storage_path"))
        && package.member("storage_path").is_none()
    {
        for (mut object, name) in objects.clone() {
            object.set_member("storage_path", path.clone());
            objects.push((object, Some(name.unwrap_or("the added storage_path is hashed (E90)"))));
        }
    }
    for (object, extra) in &objects {
        for bits in 0..1_u32 << NAMES.len() {
            let on = |index: usize| bits >> index & 1 == 1;
            let form = Form {
                null_members: if on(0) { NullMembers::DropAtTop } else { NullMembers::DropEverywhere },
                drop_null_elements: on(1),
                order: if on(2) { Order::Utf16 } else { Order::Utf8 },
                keep_integer_digits: on(3),
                long_controls: on(4),
                upper_hex: on(5),
                spaces: false,
            };
            if sha256(object, form) == digest {
                let named = NAMES.iter().enumerate().filter(|(index, _)| on(*index)).map(|(_, name)| *name);
                return Some(
                    named
                        .chain(*extra)
                        .map(|reading| Reading { reading: reading.to_owned(), tolerated: true })
                        .collect(),
                );
            }
        }
    }
    None
}

fn with_defaults(package: &Value) -> Value {
    let mut filled = package.clone();
    for (name, default) in defaults() {
        if filled.member(name).is_none_or(|value| *value == Value::Null) {
            filled.set_member(name, default);
        }
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::json::parse;

    /// The example of section 6.7; both hashes are the errata register's, computed by two other implementations.
    const EXAMPLE: &str = r#"{"package_id": "pkg_1a2b3c4d5e6f7a8b9c0d1e2f3a4b5c6d","project_id": "proj_dev_relay","relay_version": "0.1","title": "Shipped archive/de-archive","status": "complete","package_type": "milestone","review_type": "none","created_at": "2026-04-18T20:00:00Z","created_by": { "id": "jordan", "type": "human", "session_id": null },"tags": ["archive", "cli"],"decisions_made": ["Soft archive via archived_at timestamp"],"open_questions": [],"handoff_note": "Migration 009 applied, dashboard filter works."}"#;

    fn check(answer: &str) -> Outcome {
        let package = parse(EXAMPLE.as_bytes()).unwrap();
        let check = ContentHash.compile(&package, &Compiler::new(&[])).unwrap();
        check.check(Some(&parse(answer.as_bytes()).unwrap()))
    }

    #[test]
    fn the_ruled_hash_holds_in_every_hex_spelling() {
        for text in [
            "0efe5d06aaaaf2dc735b3f9ce7cfc1a0f7cd715491ab61d991f57be1d4c0db33",
            "sha256:0efe5d06aaaaf2dc735b3f9ce7cfc1a0f7cd715491ab61d991f57be1d4c0db33",
            "0EFE5D06AAAAF2DC735B3F9CE7CFC1A0F7CD715491AB61D991F57BE1D4C0DB33",
        ] {
            assert_eq!(check(&format!(r#"{{"hash":{{"named":"{text}"}}}}"#)), Outcome::HOLDS);
            assert_eq!(check(&format!(r#"{{"hash":{{"others":["x","{text}"]}}}}"#)), Outcome::HOLDS);
        }
    }

    #[test]
    fn a_tolerated_reading_is_named() {
        let answer = r#"{"hash":{"named":"958ea163b45f7b9245cbe258aecac2fbaebfcbf37aaff3d7b6b9a04044c31f38"}}"#;
        let Outcome::Holds(readings) = check(answer) else { panic!() };
        assert_eq!(readings.len(), 1);
        assert!(readings[0].tolerated && readings[0].reading.contains("E04"));
    }

    #[test]
    fn a_wrong_or_missing_hash_is_a_mismatch() {
        let zeros = "0".repeat(64);
        assert!(matches!(check(&format!(r#"{{"hash":{{"named":"{zeros}"}}}}"#)), Outcome::Mismatch(_)));
        assert!(matches!(check(r#"{"hash":{"others":["abc"]}}"#), Outcome::Mismatch(_)));
        assert!(matches!(check("{}"), Outcome::Mismatch(_)));
    }
}

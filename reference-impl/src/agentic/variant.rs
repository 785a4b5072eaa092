//! The other reading of each erratum: what [`Variant::Other`] does where [`Variant::Own`] keeps to the ruling.
//!
//! Both are correct. A check that passes one and fails the other tests a taste, not the specification; so the other
//! variant must pass every check. Each choice is marked in the source by `// Other, Enn:`.
//!
//! | ruling | the own variant | the other one |
//! |---|---|---|
//! | E02 | hash next to the package in an envelope | a member of the package as returned, in a pull by id the header `ETag` |
//! | E03 | `sha256:` and 64 lower-case digits | 64 digits in capitals |
//! | E04 | null members go at every depth, null elements stay | null members go at the top only, null elements go |
//! | E05 | names sorted by UTF-8 bytes | by UTF-16 units |
//! | E06 | short escapes first, small digits | `\u00XX` for each control, in capitals |
//! | E07 | every number is a double | integers keep their digits |
//! | E08 | duplicate names and lone surrogates are refused | the last one counts, U+FFFD |
//! | E09 | the package is hashed as submitted | defaults are filled in first, shown and hashed |
//! | E11 | the hash is renewed by a transition | it stays that of the deposit |
//! | E15 | a move from a state to itself is refused | it has no effect; flag updates review_type |
//! | E16 | an illegal move is 400 | on the route for transitions 409, under a name of its own |
//! | E17 | a deposit may be in revision_requested | rejected: 422 |
//! | E18 | review_type stays after the review | it becomes none |
//! | E19 | `status=awaiting_review` filters | it is ignored; the list is `/review-queue` |
//! | E21 | identical means the same hash, now or at the deposit | the same JSON value as the package now; null is not absent |
//! | E23 | any string is a package_id | not an empty one, or one with a slash |
//! | E24 | a missing package_id is 400 | the server makes one |
//! | E25 | a missing package_type is 400 | it is standard |
//! | E26 | an unknown id is 404 | 200 and null |
//! | E27 | `search_not_supported` | `not_implemented`, with the capability |
//! | E29 | one search flag is set; without search relevant is 501 | both flags are set; without search words are found nevertheless, undeclared |
//! | E30 | `{"error": {"code", "message"}}` | `{"error": "<code>", "detail"}` |
//! | E31 | a rejected actor gets 403 | 401 |
//! | E32 | 201 for what was created | 200 |
//! | E33 | a project has its `project_id` under that name, in an envelope | `id`, bare |
//! | E34 | an unknown project is 404 for reads | it is empty |
//! | E35 | path and package must name one project | the package decides |
//! | E36 | an archived project rejects writes | it accepts them |
//! | E38 | `as_of` may be a bare date | rejected |
//! | E39 | current means without an end | valid now |
//! | E40, E91 | an assertion answers with the fact, a bad one gets 400 | with an empty body; 422 |
//! | E41 | asserting the current value again supersedes it | it has no effect |
//! | E42 | a backdated assertion is 409 | it is inserted at its place in the history |
//! | E44 | a number is not a value | its text is the value |
//! | E45 | asserted_by is absent without a source package; a malformed one is refused | the caller; taken |
//! | E46 | other members of an assertion are kept | they are not |
//! | E48 | null means an absent optional member | not for one whose default is another value: 400 |
//! | E49 | `object` limits an invalidation | it is ignored |
//! | E50, E92 | `{"invalidated": n}`, 0 for no match | the only integer of the answer; 404 for no match |
//! | E51 | recent packages are those inside the window, questions are strings | the newest regardless of the window; objects |
//! | E52 | a window outside its range is 400 | the nearest one inside |
//! | E53 | members of a digest are named as in the text | otherwise |
//! | E55 | drafts are listed | they are found by id only |
//! | E56 | a character is a code point | a unit of UTF-16 |
//! | E57 | UTC is `Z` | or `+00:00` |
//! | E58 | times of facts are returned as spelled | with nine digits of fraction |
//! | E59 | relay_version is 0.1 | or any 0.x |
//! | E61, E62 | hash, path and size of a deliverable are checked | their types only |
//! | E64 | 5.0 is an integer | it is not |
//! | E65 | a limit outside 1 to 200 is 400; of equal times the later deposit comes first | the nearest limit; the earlier one |
//! | E66 | `{"packages": [..]}`, `{"facts": [..]}` | `items`, `results` with packages in envelopes, a bare array, `data` |
//! | E67 | `application/json` | with a charset |
//! | E69 | a record of an export is the line | the line wraps it |
//! | E70 | no storage_path is added | one is |
//! | E72 | the note of a flag is next to the package | in an x- member |
//! | E73 | flag with another review_type is 400 | 422 |
//! | E78 | a parent need not exist | it must: 422 |
//! | E79 | orient shows every current fact | those of a confidence from 0.5 |
//! | E85 | draft and revision_requested may go to complete | rejected |
//! In addition, every JSON text that it sends has its members in reverse order, spaces, and unnecessary escapes;
//! envelopes have extra members and answers have extra
//! headers.
//!
//! Excluded are readings that leave nothing to check: no facts route (E37), no transition route (E14), no descriptor
//! (E68), no hash in a pull (E02), no verification (E74).

use super::rules::Rules;
use crate::fault::planted;
use crate::instant::Instant;
use crate::json::{self, Object, ReadError, ReadErrorKind, Value};

/// The minimum confidence of a fact in a bundle (E79).
const SURE: f64 = 0.5;

impl Rules {
    /// The JSON of a request.
    pub(crate) fn read(self, text: &[u8]) -> Result<Value, ReadError> {
        super::careless::read(self.fault, text);
        let value = self.read_value(text)?;
        super::careless::look(self.fault, &value);
        Ok(value)
    }

    fn read_value(self, text: &[u8]) -> Result<Value, ReadError> {
        // A, 9.1: exactly one value, without ambiguous members.
        planted!(self.fault, "reads-first-value", value in first_value(text) => return Ok(value));
        planted!(self.fault, "reads-unknown-escapes", value in unknown_escapes(text) => return Ok(value));
        planted!(self.fault, "reads-ambiguous-json", return json::read_leniently(text));
        // Other, E08: as most libraries read.
        if self.variant.is_other() { json::read_leniently(text) } else { json::read(text) }
    }

    /// The point in time that `text` denotes in RFC 3339.
    pub(crate) fn instant(self, text: &str) -> Option<Instant> {
        // Other, E57: an offset of zero is UTC too.
        let zero = ["+00:00", "-00:00"].iter().find_map(|zero| text.strip_suffix(zero));
        match zero.filter(|_| self.variant.is_other()) {
            Some(time) => Instant::parse(&format!("{time}Z")),
            None => Instant::parse(text),
        }
    }

    /// An instant as this server writes it into a fact.
    pub(crate) fn spelled(self, instant: Instant) -> String {
        // Other, E58.
        if self.variant.is_other() { instant.key() } else { instant.to_string() }
    }

    /// A content hash as sent in an answer.
    pub(crate) fn spelled_hash(self, hash: &str) -> String {
        // Other, E03.
        let bare = hash.strip_prefix("sha256:").filter(|_| self.variant.is_other());
        bare.map_or_else(|| hash.to_owned(), str::to_ascii_uppercase)
    }

    /// The text of an object in an answer.
    pub(crate) fn text(self, object: &Object) -> String {
        if self.variant.is_other() { object.write_otherwise() } else { object.write() }
    }

    /// A project as it is shown.
    pub(crate) fn shown_project(self, record: Object) -> Object {
        // Other, E33: the id of a project is called id.
        if !self.variant.is_other() {
            return record;
        }
        record
            .iter()
            .map(|(name, value)| (if name == "project_id" { "id" } else { name }.to_owned(), value.clone()))
            .collect()
    }

    /// Whether a current fact belongs in a bundle.
    pub(crate) fn is_shown(self, fact: &Object) -> bool {
        // Other, E79: uncertain facts are omitted.
        let confidence = fact.get("confidence").and_then(Value::as_number).map_or(1.0, json::Number::as_f64);
        !self.variant.is_other() || confidence >= SURE
    }
}

/// The value at the start, ignoring the rest.
fn first_value(text: &[u8]) -> Option<Value> {
    match json::read(text) {
        Err(ReadError { at, kind: ReadErrorKind::Trailing }) => json::read(&text[..at]).ok(),
        _ => None, // no data after a value
    }
}

/// The value of a text with escapes that JSON does not have, each read as the character after it.
fn unknown_escapes(text: &[u8]) -> Option<Value> {
    let mut known = Vec::with_capacity(text.len());
    let mut rest = text.iter().copied().peekable();
    while let Some(byte) = rest.next() {
        match rest.peek().filter(|_| byte == b'\\').copied() {
            None => known.push(byte),
            Some(escaped) if b"\"\\/bfnrtu".contains(&escaped) => {
                known.extend([byte, escaped]);
                rest.next();
            }
            Some(_) => {}
        }
    }
    json::read(&known).ok().filter(|_| known.len() < text.len())
}

/// Whether two values are equal JSON, ignoring the order of members and the spelling of numbers (E21).
pub(crate) fn is_same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.as_f64() == right.as_f64(),
        (Value::List(left), Value::List(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| is_same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            let same = |(name, value): (&str, &Value)| right.get(name).is_some_and(|other| is_same(value, other));
            left.len() == right.len() && left.iter().all(same)
        }
        _ => left == right, // scalars, and values of two kinds
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn another_text_is_the_same_value() {
        let text = r#"{"b":[],"a":[1.50,null,{"\u00e9":"\ud83d\ude80/\n","c":{}}],"t":true}"#;
        let value = json::read(text.as_bytes()).expect("valid JSON");
        let other = value.write_otherwise();
        assert_ne!(other, value.write());
        assert!(other.is_ascii() && !other.contains('\n'));
        assert!(is_same(&json::read(other.as_bytes()).expect("valid JSON"), &value));
        assert!(!is_same(&value, &Value::Null));
    }

    /// The rulings that the rows of the table name, and those that the source behind `Other, ` does.
    #[test]
    fn the_table_and_the_source_name_the_same_rulings() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/agentic");
        let table = include_str!("variant.rs").lines().filter_map(|line| line.strip_prefix("//! | E"));
        let rows: BTreeSet<String> = table.flat_map(|row| rulings(&row[..row.find('|').unwrap_or(0)])).collect();
        let planted: BTreeSet<String> = comments(&folder).iter().flat_map(|comment| rulings(comment)).collect();
        assert_eq!(rows, planted);
    }

    fn rulings(text: &str) -> Vec<String> {
        let words = text.split([' ', ',', ':', '.']).map(|word| word.trim_start_matches('E'));
        words.filter(|word| word.len() == 2 && word.bytes().all(|b| b.is_ascii_digit())).map(str::to_owned).collect()
    }

    fn comments(folder: &Path) -> Vec<String> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(folder).expect("readable") {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                found.extend(comments(&path));
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("readable");
            let lines = text.lines().filter_map(|line| line.split_once("// Other, "));
            found.extend(lines.map(|(_, comment)| comment.split([':', '.']).next().unwrap_or_default().to_owned()));
        }
        found
    }
}

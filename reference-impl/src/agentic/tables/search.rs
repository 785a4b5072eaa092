//! Full text search (8.2 relevant): whole words by BM25, and titles by trigrams for parts of words.
//!
//! Both are FTS5 tables. The score of a package is the sum of the two; the word score weighs more.

use rusqlite::Connection;

use crate::agentic::refusal::Refusal;
use crate::json::{Object, Value};

/// Maximum number of words of a query; enough for a sentence, few enough for the query planner.
const WORD_LIMIT: usize = 64;

/// Maximum number of characters of the tags that are indexed by trigrams, which are expensive for long texts.
const TRIGRAM_LIMIT: usize = 2000;

/// Adds the package of row `serial` to the index.
pub(crate) fn insert(db: &Connection, serial: i64, package: &Object) -> Result<(), Refusal> {
    let text = |name| package.text(name).unwrap_or_default();
    let list = |name| texts(package, name).collect::<Vec<_>>().join("\n");
    let mut words = db.prepare_cached(
        "INSERT INTO package_words (rowid, title, description, decisions, questions, note, content, tags)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    words.execute((
        serial,
        text("title"),
        text("description"),
        list("decisions_made"),
        list("open_questions"),
        text("handoff_note"),
        text("content_md"),
        list("tags"),
    ))?;
    let mut titles = db.prepare_cached("INSERT INTO package_titles (rowid, title, tags) VALUES (?, ?, ?)")?;
    let tags: String = list("tags").chars().take(TRIGRAM_LIMIT).collect();
    titles.execute((serial, text("title"), tags))?;
    Ok(())
}

/// A query that FTS5 reads as "any of these words", for any characters; `None` without words.
pub(crate) fn any_word(query: &str) -> Option<String> {
    // Inside double quotes only the double quote is special; NUL would end the expression.
    let words = query.split(|character: char| character.is_whitespace() || character.is_control());
    let mut quoted: Vec<String> = Vec::new();
    for word in words.filter(|word| word.chars().any(char::is_alphanumeric)) {
        let word = format!("\"{}\"", word.replace('"', "\"\""));
        if !quoted.contains(&word) && quoted.len() < WORD_LIMIT {
            quoted.push(word);
        }
    }
    (!quoted.is_empty()).then(|| quoted.join(" OR "))
}

/// The condition of a package query that selects what matches the expression `?1`, the best first.
///
/// `scope` limits it further; its values start at `?2`.
pub(crate) fn condition(scope: &str, order: &str) -> String {
    // bm25 is smaller the better; a title counts four times, tags twice.
    format!(
        "JOIN (SELECT rowid AS found, sum(score) AS score FROM (
             SELECT rowid, bm25(package_words, 4.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0) AS score
             FROM package_words WHERE package_words MATCH ?1
             UNION ALL
             SELECT rowid, 0.2 * bm25(package_titles) AS score
             FROM package_titles WHERE package_titles MATCH ?1
         ) GROUP BY rowid) ON found = serial
         {scope} ORDER BY {order}"
    )
}

/// The texts of the array called `name`.
pub(crate) fn texts<'a>(package: &'a Object, name: &str) -> impl Iterator<Item = &'a str> {
    package.get(name).and_then(Value::as_list).unwrap_or_default().iter().filter_map(Value::as_text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_query_is_a_valid_expression() {
        let db = Connection::open_in_memory().expect("memory");
        db.execute_batch(super::super::SCHEMA.sql).expect("a valid schema");
        let long = "word ".repeat(10_000);
        for query in [
            "a",
            "\"",
            "a\"b",
            "NEAR(a b)",
            "a AND",
            "title:a",
            "a*",
            "^a",
            "-a",
            "(",
            "a\0b",
            "é漢字 🚀",
            "* * *",
            "",
            "a OR OR b",
            "{title}: x",
            "col : \"x\" + 1",
            "''; DROP TABLE packages; --",
            long.as_str(),
        ] {
            let Some(expression) = any_word(query) else {
                continue;
            };
            let sql = format!("SELECT serial FROM packages {}", condition("", "score"));
            let mut statement = db.prepare(&sql).expect("a valid statement");
            let rows = statement.query_map([&expression], |row| row.get::<_, i64>(0)).expect("bound");
            assert!(rows.collect::<Result<Vec<_>, _>>().is_ok(), "{query:?} became {expression}");
        }
    }
}

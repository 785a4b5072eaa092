//! The scripted judgement of the Reviewer: it reads the diff that a request names, and compares it with the result.
//!
//! Hints decide; without them a diff that changes nothing, or other files than the result names, or that leaves marks of
//! unfinished work, is rejected. A direct fix is reported only: the branch is the Executor's.

use super::hint;
use super::repository::Repository;
use crate::json::{Object, Value};
use crate::task_amp::message::Message;
use crate::task_amp::roles::{Judgement, issue};

/// Texts in added lines that no finished work has.
const MARKS: [&str; 6] = ["<<<<<<<", ">>>>>>>", "FIXME", "BUG", "DEFECT", "TODO"];

/// Misspelt words, which a reviewer may mend (spec 04.3, Direct Fix Scope).
const TYPOS: [&str; 8] = ["teh", "recieve", "occured", "seperate", "adress", "lien", "wrod", "chnage"];

/// The largest diff file that is read.
const DIFF_LIMIT: u64 = 1024 * 1024;

/// Judges a request on the dispatch and the result that it names.
#[must_use]
pub(crate) fn judge(request: &Message, dispatch: Option<&Message>, result: Option<&Message>) -> Judgement {
    let hint = hint::of(request, "ci_status");
    let mut judgement = match hint.and_then(|hint| hint.text("decision")) {
        Some(decision @ ("approved" | "approved_with_fix" | "rejected")) => hinted(decision),
        _ => of_diff(&diff(request, dispatch, result), result),
    };
    judgement.confidence = hint::number(hint, "confidence").or(judgement.confidence);
    judgement
}

fn hinted(decision: &str) -> Judgement {
    let rejected = decision == "rejected";
    let issues =
        if rejected { vec![issue("critical", "the work does not do what the dispatch asks for")] } else { vec![] };
    Judgement {
        decision: decision.to_owned(),
        confidence: Some(0.95),
        issues,
        direct_fixes: if decision == "approved_with_fix" { vec![fix("NOTES.txt")] } else { vec![] },
        evidence: "read the diff".to_owned(),
    }
}

fn fix(file: &str) -> Object {
    Object::from([
        ("file", file.into()),
        ("change_type", "typo".into()),
        ("diff_lines", 1.into()),
        ("description", "one word".into()),
    ])
}

/// The diff of a request: the file that it names, or else the commit of the result. `None` if neither can be read.
fn diff(request: &Message, dispatch: Option<&Message>, result: Option<&Message>) -> Option<String> {
    let path = std::path::Path::new(request.text("diff_url"));
    let small = std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() <= DIFF_LIMIT);
    if let Some(text) = std::fs::read(path).ok().filter(|_| small) {
        return Some(String::from_utf8_lossy(&text).into_owned());
    }
    let commit =
        result?.payload().text("commit_hash").filter(|hash| hash.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    let text = Repository::at(dispatch?.text("repo")).diff(&format!("{commit}^"), commit);
    (!text.is_empty()).then_some(text)
}

fn of_diff(diff: &Option<String>, result: Option<&Message>) -> Judgement {
    let rejected = |severity, reason: &str| Judgement {
        decision: "rejected".to_owned(),
        confidence: Some(0.95),
        issues: vec![issue(severity, reason)],
        direct_fixes: Vec::new(),
        evidence: reason.to_owned(),
    };
    let approved = |evidence: &str| Judgement {
        decision: "approved".to_owned(),
        confidence: Some(0.9),
        evidence: evidence.to_owned(),
        ..Judgement::default()
    };
    let Some(diff) = diff else {
        return approved("the self-assessment of the executor; the diff is not on this machine");
    };
    let added: Vec<&str> =
        diff.lines().filter(|line| line.starts_with('+') && !line.starts_with("+++")).map(|line| &line[1..]).collect();
    let removed = diff.lines().filter(|line| line.starts_with('-') && !line.starts_with("---")).count();
    if added.is_empty() && removed == 0 {
        return rejected("critical", "the diff changes nothing");
    }
    if added.iter().any(|line| MARKS.iter().any(|mark| line.contains(mark))) {
        return rejected("critical", "the diff has marks of unfinished work");
    }
    let files: Vec<&str> = diff.lines().filter_map(|line| line.strip_prefix("+++ b/")).collect();
    let summary = result.and_then(|result| result.payload().get("diff_summary")).and_then(Value::as_object);
    let named = summary.and_then(|summary| summary.get("files_changed")).and_then(Value::as_list).unwrap_or_default();
    let unnamed = files.iter().find(|file| !named.iter().any(|named| named.as_text() == Some(file)));
    if let Some(file) = unnamed.filter(|_| !named.is_empty()) {
        return rejected("major", &format!("the diff changes {file}, which the result does not name"));
    }
    let misspelt = |line: &&str| line.split(|c: char| !c.is_alphanumeric()).any(|word| TYPOS.contains(&word));
    if added.iter().any(misspelt) {
        return Judgement {
            decision: "approved_with_fix".to_owned(),
            direct_fixes: vec![fix(files.first().copied().unwrap_or("NOTES.txt"))],
            ..approved("one misspelt word")
        };
    }
    approved("the diff does what the result says")
}

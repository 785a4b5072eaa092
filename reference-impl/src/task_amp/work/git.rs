//! The scripted work of the Executor: it appends a line to a file of the repository, on the branch of the dispatch.
//!
//! It understands one instruction, "Append the line LINE to FILE", and takes any other for "Append the line ok to NOTES.txt".

use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use super::hint;
use super::repository::Repository;
use crate::fault::planted;
use crate::json::{Object, Value};
use crate::task_amp::message::Message;
use crate::task_amp::roles::Done;
use crate::task_amp::rules::Rules;
use crate::task_amp::time;

/// How long after its result a branch is changed by the fault `late-commit`.
const LATE: Duration = Duration::from_millis(400);

/// One dispatch at a time: several may name the same repository.
static TURN: LazyLock<Mutex<()>> = LazyLock::new(Mutex::default);

/// Carries a dispatch out; one entry for each subtask, in order.
#[must_use]
pub(crate) fn carry_out(rules: Rules, dispatch: &Message, now: i64) -> Vec<Done> {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let subtasks = dispatch.list("subtasks").iter().filter_map(Value::as_object);
    let done = subtasks.map(|subtask| {
        let id = subtask.text("subtask_id").unwrap_or_default();
        let instruction = subtask.text("description").unwrap_or_default();
        let order = Order { rules, dispatch, id, instruction, now };
        order.carry_out().unwrap_or_else(|reason| order.without_change("failed", vec![reason]))
    });
    done.collect()
}

/// One subtask.
struct Order<'d> {
    rules: Rules,
    dispatch: &'d Message,
    id: &'d str,
    instruction: &'d str,
    now: i64,
}

impl Order<'_> {
    fn carry_out(&self) -> Result<Done, String> {
        let hint = hint::of(self.dispatch, "tech_constraints");
        let outcome = hint.and_then(|hint| hint.text("outcome"));
        let outcome = outcome.filter(|word| ["complete", "partial", "failed"].contains(word)).unwrap_or("complete");
        let reasons = || vec![format!("{}: {outcome}, as the dispatch asks for", self.id)];
        let blockers = if outcome == "complete" { Vec::new() } else { reasons() };
        let commits = match hint.and_then(|hint| hint.get("commit")) {
            Some(Value::Bool(commits)) => *commits,
            _ => outcome == "complete",
        };
        let repository = Repository::at(self.dispatch.text("repo"));
        let (file, line) = self.change();
        // 01: what is forbidden is not done (E31).
        let named = |action: &&str| action.to_ascii_lowercase().contains(&file.to_ascii_lowercase());
        if let Some(action) = self.dispatch.texts("forbidden_actions").iter().find(|action| named(action)) {
            return Ok(self.without_change("failed", vec![format!("forbidden: {action}")]));
        }
        let unusable = !std::path::Path::new(self.dispatch.text("repo")).join(".git").exists();
        if !commits || unusable {
            let mut done = self.without_change(outcome, blockers);
            done.criteria_met = self.dispatch.texts("acceptance_criteria").iter().map(|_| None).collect();
            return Ok(done);
        }
        let branch = self.dispatch.text("branch");
        if !repository.is_branch_name(branch) {
            return Err(format!("`{branch}` is not the name of a branch"));
        }
        let mark = format!("{} {}", self.dispatch.id, self.id);
        // After a restart the work may be there already.
        let (commit, base) = match repository.marked(branch, &mark) {
            Some(found) => found,
            None => {
                let base = repository.head(branch).map_or_else(|| repository.start(), Ok)?;
                let text = appended(&repository.file(&base, &file), &line);
                let why = format!("{}\n\n{mark}", self.instruction);
                (repository.commit(branch, &base, &file, &text, &why)?, base)
            }
        };
        // 02.3, No Auto-Merge.
        planted!(self.rules.fault, "auto-merge", repository.advance("main", &commit)?);
        let change = repository.change(&base, &commit);
        let criteria = self.dispatch.texts("acceptance_criteria");
        let criteria_met =
            criteria.iter().map(|criterion| judge(&repository, &commit, &change.files, &file, criterion));
        Ok(Done {
            subtask: self.id.to_owned(),
            status: outcome.to_owned(),
            criteria_met: criteria_met.collect(),
            log: vec![self.entry("append", &file, "one line")],
            files_changed: change.files,
            lines_added: change.added,
            lines_removed: change.removed,
            commit: Some(commit),
            blockers,
        })
    }

    fn without_change(&self, outcome: &str, blockers: Vec<String>) -> Done {
        let log = vec![self.entry("stop", "", "nothing was changed")];
        Done { subtask: self.id.to_owned(), status: outcome.to_owned(), log, blockers, ..Done::default() }
    }

    fn entry(&self, action: &str, file: &str, detail: &str) -> Object {
        Object::from([
            ("timestamp", time::format(self.rules, self.now).into()),
            ("action", action.into()),
            ("file", file.into()),
            ("detail", detail.into()),
        ])
    }

    /// The file and the line of the instruction.
    fn change(&self) -> (String, String) {
        let told = [self.instruction, self.dispatch.text("description")].into_iter().find_map(instructed);
        told.unwrap_or_else(|| ("NOTES.txt".to_owned(), "ok".to_owned()))
    }
}

/// The file and the line of "Append the line LINE to FILE".
fn instructed(text: &str) -> Option<(String, String)> {
    let (_, rest) = text.split_once("ppend the line ")?;
    let (line, file) = rest.rsplit_once(" to ")?;
    let file = file.trim().trim_end_matches('.');
    let plain = !file.is_empty() && !file.starts_with('/') && !file.split('/').any(|part| part == "..");
    let plain = plain && !file.contains(char::is_whitespace) && !line.contains('\n');
    plain.then(|| (file.to_owned(), line.trim_matches(['`', '"', '\'']).to_owned()))
}

fn appended(text: &str, line: &str) -> String {
    let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{text}{gap}{line}\n")
}

/// Whether a criterion is met; `None` if the executor cannot tell (spec 02.3, Self Assessment).
fn judge(repository: &Repository, commit: &str, changed: &[String], file: &str, criterion: &str) -> Option<bool> {
    if let Some((path, line)) = criterion.split_once(" ends with the line ") {
        return Some(repository.file(commit, path).lines().last() == Some(line.trim_end_matches('.')));
    }
    let alone = criterion.trim_end_matches('.').eq_ignore_ascii_case("no other file changes");
    alone.then(|| changed.iter().all(|path| path == file))
}

/// After the result was sent: nothing (spec 02.3, No Auto-Merge).
pub(crate) fn afterwards(rules: Rules, dispatch: &Message) {
    // 02.3: the branch stays as it is.
    planted!(rules.fault, "late-commit", once_more(dispatch));
}

/// `late-commit`: commits another line.
fn once_more(dispatch: &Message) {
    std::thread::sleep(LATE);
    let repository = Repository::at(dispatch.text("repo"));
    let branch = dispatch.text("branch");
    if let Some(head) = repository.head(branch) {
        let text = appended(&repository.file(&head, "NOTES.txt"), "and one more");
        repository.commit(branch, &head, "NOTES.txt", &text, "Tidy up").ok();
    }
}

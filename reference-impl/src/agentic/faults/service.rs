//! Faults of the order of steps on the store: methods of [`Service`].

use std::time::Duration;

use rusqlite::Connection;

use crate::agentic::assert::{compose, read_input, superseded};
use crate::agentic::deposit::{self, Deposited};
use crate::agentic::fact::{Fact, assertion_problems};
use crate::agentic::intake::{self, Submission};
use crate::agentic::operation::Operation;
use crate::agentic::package;
use crate::agentic::refusal::{Problem, Refusal};
use crate::agentic::rules::Rules;
use crate::agentic::service::Service;
use crate::agentic::session;
use crate::agentic::tables::{facts, packages, projects, texts};
use crate::fault::Planted;
use crate::instant::Instant;
use crate::json::Object;

impl Service {
    /// `duplicate-race`: Checks for the id, then inserts, without a lock or unique key.
    pub(in crate::agentic) async fn deposit_racing(&self, submission: Submission) -> Result<Deposited, Refusal> {
        let id = submission.package_id.clone();
        let free = self.read(Operation::Deposit, move |db, rules, _| deposit_race::look(db, rules, &id)).await?;
        tokio::time::sleep(Duration::from_millis(30)).await;
        if free {
            return self
                .write(Operation::Deposit, move |db, _, now| {
                    projects::find_or_create(db, &submission.project_id, now)?;
                    deposit_race::insert(db, submission)
                })
                .await;
        }
        return self.write(Operation::Deposit, |db, rules, now| deposit::deposit(db, rules, submission, now)).await;
    }

    /// `answers-before-storing`: Answers a deposit a moment before it is stored.
    pub(in crate::agentic) fn deposit_later(&self, submission: Submission) -> Deposited {
        let (service, package) = (self.clone(), submission.clone().into());
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(120)).await;
            let late = |db: &_, rules, now| deposit::deposit(db, rules, submission, now).map(drop);
            service.write(Operation::Deposit, late).await.ok(); // not awaited by the client
        });
        Deposited { package, created: true }
    }

    /// `stored-in-two-steps`: Stores the required members first and the others in a second transaction.
    pub(in crate::agentic) async fn deposit_in_halves(
        &self,
        submission: Submission,
        project_id: &str,
    ) -> Result<Deposited, Refusal> {
        let mut half = submission.object.clone();
        half.retain(|name, _| package::CORE_MEMBERS[..9].contains(&name));
        let half = intake::admit(self.rules, half, None);
        let (whole, half) = (submission, Submission { project_id: project_id.to_owned(), ..half });
        self.write(Operation::Deposit, |db, rules, now| deposit::deposit(db, rules, half, now)).await?;
        tokio::time::sleep(Duration::from_millis(20)).await;
        self.write(Operation::Deposit, |db, _, _| {
            packages::rewrite(db, &whole.package_id, &whole.object, &whole.hash)?;
            Ok(Deposited { package: whole.into(), created: true })
        })
        .await
    }

    /// `move-leaves-a-gap`: Takes a package away for some milliseconds before its status changes.
    pub(in crate::agentic) async fn take_away(&self, package_id: &str) -> Result<(), Refusal> {
        let (here, away) = (package_id.to_owned(), format!("{package_id} away"));
        let (gone, back) = (away.clone(), here.clone());
        self.write(Operation::Transition, move |db, _, _| rename(db, &here, &away)).await?;
        tokio::time::sleep(Duration::from_millis(30)).await;
        self.write(Operation::Transition, move |db, _, _| rename(db, &gone, &back)).await
    }

    /// `refusal-leaves-the-queue`: Takes a package off the review list when it refuses a request about it.
    pub(in crate::agentic) async fn leave_queue(&self, package_id: &str) -> Result<(), Refusal> {
        self.touch(package_id, "UPDATE packages SET status = '' WHERE package_id = ?1 AND ?2 IS NOT NULL").await
    }

    /// `refusal-moves-to-top`: Lists a package before the others after it has refused a request about it.
    pub(in crate::agentic) async fn move_to_top(&self, package_id: &str) -> Result<(), Refusal> {
        self.touch(package_id, "UPDATE packages SET created_at = ?2 WHERE package_id = ?1").await
    }

    async fn touch(&self, package_id: &str, statement: &'static str) -> Result<(), Refusal> {
        let package_id = package_id.to_owned();
        let touch =
            move |db: &Connection, _, now: Instant| Ok(db.execute(statement, [package_id, now.key()]).map(drop)?);
        self.write(Operation::PullSpecific, touch).await
    }

    /// `supersede-before-validate`: Ends the old fact, then finds the new one invalid and answers 400.
    pub(in crate::agentic) async fn end_unseen(&self, project_id: &str, body: &[u8]) {
        let (project_id, body) = (project_id.to_owned(), body.to_vec());
        let ended = self
            .write(Operation::AssertFact, move |db, rules, now| end_unseen(db, rules, &project_id, &body, now))
            .await;
        ended.ok(); // an unreadable body ends no fact
    }

    /// `source-checked-last`: Ends the current fact, then refuses the new one because its source package is unknown.
    pub(in crate::agentic) async fn end_for_unknown_source(&self, project_id: &str, body: &[u8]) -> Option<Refusal> {
        let source = match crate::json::read(body) {
            Ok(crate::json::Value::Object(input)) => input.text("source_package_id")?.to_owned(),
            _ => return None,
        };
        let known = self.write(Operation::AssertFact, move |db, rules, _| packages::find(db, rules, &source)).await;
        if !matches!(known, Ok(None)) {
            return None;
        }
        self.end_unseen(project_id, body).await;
        Some(vec![Problem::new("/source_package_id", "must be known")].into())
    }

    /// `store-then-validate`: Inserts first and validates afterwards; the 400 leaves the row behind.
    pub(in crate::agentic) async fn store_unseen(&self, body: &[u8]) -> Result<(), Refusal> {
        let Ok(crate::json::Value::Object(object)) = crate::json::read(body) else {
            return Ok(());
        };
        let submission = intake::admit(self.rules, object, Some(body));
        let stored =
            self.write(Operation::Deposit, |db, rules, now| deposit::deposit(db, rules, submission, now)).await;
        stored.map(drop).or(Ok(()))
    }

    /// `session-before-validate`: Enters a package in its session before it is known whether the deposit is accepted.
    pub(in crate::agentic) async fn enter_unseen(&self, body: &[u8]) -> Result<(), Refusal> {
        let Ok(crate::json::Value::Object(object)) = crate::json::read(body) else {
            return Ok(());
        };
        let submission = intake::admit(self.rules, object, Some(body));
        let enter = move |db: &Connection, rules, now| {
            projects::find_or_create(db, &submission.project_id, now)?;
            let known = packages::find(db, rules, &submission.package_id)?;
            if known.is_some_and(|known| known.object == submission.object) {
                return Ok(());
            }
            session::enter(db, rules, &submission, now)
        };
        self.write(Operation::Deposit, enter).await
    }

    /// `archived-stores-refused`: Stores the package that it refuses because its project is archived.
    pub(in crate::agentic) async fn deposit_anyway(&self, submission: Submission) -> Result<Deposited, Refusal> {
        let kept = submission.clone();
        let answer =
            self.write(Operation::Deposit, |db, rules, now| deposit::deposit(db, rules, submission, now)).await;
        let store = move |db: &Connection, _, now| {
            if projects::find_or_create(db, &kept.project_id, now)?.archived {
                packages::insert(db, &kept)?;
            }
            Ok(())
        };
        self.write(Operation::Deposit, store).await?;
        answer
    }

    /// `supersede-race`: Reads, ends and inserts in separate transactions.
    pub(in crate::agentic) async fn assert_in_steps(
        &self,
        project_id: String,
        body: Vec<u8>,
    ) -> Result<Object, Refusal> {
        let look = move |db: &Connection, rules, now| assert_race::look(db, rules, &project_id, &body, now);
        let (fact, old) = self.write(Operation::AssertFact, look).await?;
        tokio::time::sleep(Duration::from_millis(10)).await;
        let ending = fact.clone();
        self.write(Operation::AssertFact, move |db, _, _| assert_race::end(db, &ending, old)).await?;
        tokio::time::sleep(Duration::from_millis(10)).await;
        self.write(Operation::AssertFact, |db, _, _| assert_race::insert(db, fact)).await
    }
}

/// Ends the facts that an assertion would supersede, before it is validated.
fn end_unseen(db: &Connection, rules: Rules, project_id: &str, body: &[u8], now: Instant) -> Result<(), Refusal> {
    let input = read_input(body, project_id, rules)?;
    let pair = [project_id, input.text("subject").unwrap_or_default(), input.text("predicate").unwrap_or_default()];
    for old in facts::select(db, &superseded(Planted::NONE), texts(&pair))? {
        facts::end(db, old, &now.to_string(), now)?;
    }
    Ok(())
}

/// Lets a package be found by another id.
fn rename(db: &Connection, package_id: &str, other: &str) -> Result<(), Refusal> {
    db.execute("UPDATE packages SET package_id = ? WHERE package_id = ?", [other, package_id])?;
    Ok(())
}

/// The deposit of a server without a transaction: looks, and some time later inserts.
mod deposit_race {
    use super::{Connection, Deposited, Refusal, Rules, Submission, packages};

    /// Whether the id is free.
    pub(super) fn look(db: &Connection, rules: Rules, package_id: &str) -> Result<bool, Refusal> {
        Ok(packages::find(db, rules, package_id)?.is_none())
    }

    /// Inserts without a second check and without the unique key.
    pub(super) fn insert(db: &Connection, submission: Submission) -> Result<Deposited, Refusal> {
        db.execute_batch("DROP INDEX IF EXISTS package_by_id")?;
        packages::insert(db, &submission)?;
        Ok(Deposited { package: submission.into(), created: true })
    }
}

/// The assertion of a server without a transaction: finds, ends and inserts in three steps.
mod assert_race {
    use super::{Connection, Fact, Instant, Object, Planted, Refusal, Rules};
    use super::{assertion_problems, compose, facts, projects, read_input, superseded, texts};

    /// Finds the facts to end, and composes their successor.
    pub(super) fn look(
        db: &Connection,
        rules: Rules,
        project_id: &str,
        body: &[u8],
        now: Instant,
    ) -> Result<(Fact, Vec<Object>), Refusal> {
        let input = read_input(body, project_id, rules)?;
        let problems = assertion_problems(&input, rules);
        if !problems.is_empty() {
            return Err(problems.into());
        }
        projects::find_or_create(db, project_id, now)?;
        let fact = compose(db, rules, project_id, &input, None, now)?;
        let pair = [project_id, fact.member("subject"), fact.member("predicate")];
        let old = facts::select(db, &superseded(Planted::NONE), texts(&pair))?;
        Ok((fact, old))
    }

    /// Ends the found facts, ignoring later changes.
    pub(super) fn end(db: &Connection, fact: &Fact, old: Vec<Object>) -> Result<(), Refusal> {
        old.into_iter().try_for_each(|old| facts::end(db, old, fact.member("valid_from"), fact.valid_from))
    }

    /// Inserts the new fact without the unique key.
    pub(super) fn insert(db: &Connection, fact: Fact) -> Result<Object, Refusal> {
        db.execute_batch("DROP INDEX IF EXISTS current_fact")?;
        facts::insert(db, &fact)?;
        Ok(fact.object)
    }
}

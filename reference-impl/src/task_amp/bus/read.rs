//! Questions about what is stored.

use std::time::Duration;

use super::core::{Bus, Failure};
use crate::json::{self, Object, Value};
use crate::task_amp::log::{self, Filter, Row, What};
use crate::task_amp::rules::Rules;
use crate::task_amp::time;

/// Rows of a list, and where the next list begins.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    pub(crate) items: Vec<Value>,
    pub(crate) next: i64,
}

impl Bus {
    /// The record of a message (binding.md, section 3).
    pub(crate) async fn message(&self, id: String) -> Result<Option<Object>, Failure> {
        let rules = self.rules();
        let found = self.store.read(move |db| log::message(db, &id)).await;
        let row = found.map_err(|error| Failure(error.to_string()))?.map_err(|error| Failure(error.to_string()))?;
        Ok(row.map(|row| shown(rules, What::Message, &row)))
    }

    /// Rows of one sort.
    pub(crate) async fn list(&self, what: What, filter: Filter) -> Result<Page, Failure> {
        let (rules, after) = (self.rules(), filter.after);
        let found = self.store.read(move |db| log::list(db, what, &filter)).await;
        let rows = found.map_err(|error| Failure(error.to_string()))?.map_err(|error| Failure(error.to_string()))?;
        let next = rows.last().map_or(after, |row| row.seq);
        Ok(Page { items: rows.iter().map(|row| shown(rules, what, row).into()).collect(), next })
    }

    /// The same, but waits until there is something to list.
    pub(crate) async fn wait(&self, what: What, filter: Filter, span: Duration) -> Result<Page, Failure> {
        let mut changes = self.changed.subscribe();
        let search = async {
            loop {
                changes.borrow_and_update();
                let page = self.list(what, filter.clone()).await?;
                if !page.items.is_empty() || changes.changed().await.is_err() {
                    return Ok(page);
                }
            }
        };
        match tokio::time::timeout(span, search).await {
            Ok(page) => page,
            Err(_) => self.list(what, filter.clone()).await,
        }
    }

    /// The place of the last row that this process wrote.
    #[must_use]
    pub(crate) fn last(&self) -> i64 {
        *self.changed.borrow()
    }
}

/// A row as it is shown.
fn shown(rules: Rules, what: What, row: &Row) -> Object {
    let body = json::read(row.body.as_bytes()).unwrap_or(Value::Null);
    if what == What::Message {
        return Object::from([
            ("seq", row.seq.into()),
            ("stored_at", time::format(rules, row.at).into()),
            ("written_by", row.actor.clone().into()),
            ("message", body),
        ]);
    }
    let mut object = Object::from([("seq", row.seq.into())]);
    for (name, value) in body.as_object().into_iter().flat_map(Object::iter).filter(|(name, _)| *name != "seq") {
        object.set(name, value.clone());
    }
    object
}

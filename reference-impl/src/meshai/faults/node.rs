//! Faults of a whole server, and what they remember.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rusqlite::Connection;

use crate::fault::Planted;
use crate::json::{Object, Value};
use crate::meshai::message::Message;
use crate::meshai::origin::Origin;
use crate::meshai::refusal::Refusal;
use crate::meshai::store::contexts;

/// The state of faults.
#[derive(Debug, Default)]
pub(in crate::meshai) struct Slips {
    /// `correlation-shared-state`: that of the last request.
    correlation: Mutex<Option<String>>,
    /// `id-counter-per-connection`: the replies on each connection.
    counters: Mutex<HashMap<usize, i64>>,
    /// `callback-to-last-url`: the last callback.
    callback: Mutex<Option<String>>,
    /// `refused-callback-stops-service`: whether one was refused.
    stopped: AtomicBool,
}

impl Slips {
    /// `correlation-shared-state`: Keeps the correlation of this request where that of all requests is kept.
    pub(in crate::meshai) async fn remember(&self, origin: &Origin) {
        *self.correlation.lock().unwrap_or_else(PoisonError::into_inner) = origin.id.clone();
        // Other requests arrive meanwhile.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }

    /// Spoils a reply with what was remembered.
    pub(in crate::meshai) fn spoil(&self, body: Option<&mut Object>, connection: usize, fault: Planted) {
        let Some(message) = body.and_then(|body| body.get_mut("message")).and_then(Value::as_object_mut) else {
            return;
        };
        if fault.is("id-counter-per-connection") {
            let mut counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
            let counter = counters.entry(connection).or_default();
            *counter += 1;
            message.set("id", format!("message-{counter}"));
        }
        if fault.is("correlation-shared-state")
            && let Some(headers) = message.get_mut("headers").and_then(Value::as_object_mut)
            && let Some(last) = &*self.correlation.lock().unwrap_or_else(PoisonError::into_inner)
        {
            headers.set("correlation_id", last.as_str());
        }
    }

    /// `callback-to-last-url`: Keeps a callback for all delegations.
    pub(in crate::meshai) fn keep_callback(&self, url: Option<&str>) {
        *self.callback.lock().unwrap_or_else(PoisonError::into_inner) = url.map(str::to_owned);
    }

    /// `refused-callback-stops-service`: Serves nothing from now on.
    pub(in crate::meshai) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Whether nothing is served any more.
    pub(in crate::meshai) fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// The callback that was kept last.
    pub(in crate::meshai) fn last_callback(&self) -> Option<String> {
        self.callback.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// `discovery-shows-contexts`, `health-shows-contexts`: Every context with all its memory.
pub(in crate::meshai) fn contexts(db: &Connection) -> Result<Vec<Value>, Refusal> {
    let mut shown = Vec::new();
    for context in contexts::all(db)?.into_iter().take(200) {
        let private = contexts::everyones(db, &context.id)?;
        let private: Object = private.into_iter().map(|(agent, memory)| (agent, memory.into())).collect();
        let members =
            [("id", context.id.into()), ("shared_memory", context.shared.into()), ("agent_memory", private.into())];
        shown.push(Object::from(members).into());
    }
    Ok(shown)
}

/// `destination-capability-executed`: The capability of the destination.
pub(in crate::meshai) fn swap(message: &mut Message) {
    match &message.wanted {
        Some(wanted) => message.payload.set("capability", wanted.as_str()),
        None => drop(message.payload.remove("capability")),
    }
}

/// `deadline-with-offset-late`: Whether a time has a numeric offset.
pub(in crate::meshai) fn has_offset(time: Option<&str>) -> bool {
    time.is_some_and(|time| !time.ends_with(['Z', 'z']))
}

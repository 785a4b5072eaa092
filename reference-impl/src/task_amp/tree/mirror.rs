//! The loop that hands new files to the bus, and writes what the bus has stored into files.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use tokio::sync::watch;

use super::folder::Found;
use super::place::Place;
use crate::json::{self, Object, Value};
use crate::task_amp::bus::{Body, Bus, Call};
use crate::task_amp::log::{Filter, What};
use crate::task_amp::message_id;
use crate::task_amp::role::Role;

/// How many rows are written at once.
const BATCH: i64 = 500;

/// A tree and the bus behind it.
#[derive(Debug)]
pub(crate) struct Mirror {
    bus: Bus,
    place: Place,
    /// The places up to which the rows of each sort were written.
    written: HashMap<&'static str, i64>,
    tasks: HashMap<String, String>,
}

/// Opens the tree at `root`, in the form of files or of a repository; what is there already belongs to the past, and nobody acts
/// on it again.
///
/// # Errors
///
/// Of the file system, or of git.
pub(crate) async fn open(bus: Bus, root: &Path, git: bool) -> io::Result<Mirror> {
    let place = Place::open(root, git)?;
    let mut mirror = Mirror { bus, place, written: HashMap::new(), tasks: HashMap::new() };
    mirror.recall().await;
    Ok(mirror)
}

/// Keeps both the same until `stop` says so.
pub(crate) async fn run(mut mirror: Mirror, stop: watch::Sender<bool>) {
    let mut stopped = stop.subscribe();
    loop {
        tokio::select! {
            () = ended(&mut stopped) => return,
            () = tokio::time::sleep(mirror.place.poll()) => {}
        }
        mirror.take().await;
        mirror.show().await.ok(); // tried again at the next turn
    }
}

fn object(bytes: &[u8]) -> Option<Object> {
    match json::read(bytes) {
        Ok(Value::Object(object)) => Some(object),
        _ => None, // not an object
    }
}

impl Mirror {
    /// Reads what was written before this process was started.
    async fn recall(&mut self) {
        let row = |found: Found| {
            let ack = found.name.starts_with("ssot/acks/");
            let what = if ack { What::Ack } else { What::Message };
            let past = ack || found.name.starts_with("ssot/messages/");
            object(&found.bytes).filter(|_| past).map(|object| (what, object))
        };
        let rows: Vec<(What, Object)> = self.place.added().into_iter().filter_map(row).collect();
        let (messages, acks) = rows.into_iter().partition::<Vec<_>, _>(|(what, _)| *what == What::Message);
        // The store is shut otherwise.
        self.bus.recall(messages.into_iter().chain(acks).collect()).await.ok();
    }

    /// Hands new files to the bus: inputs of the admin first, ACKs last.
    async fn take(&mut self) {
        let added = self.place.added();
        let of = |folder: &str| added.iter().filter(move |found| found.name.starts_with(folder)).collect::<Vec<_>>();
        for found in of("ssot/control/pending/") {
            let done = match object(&found.bytes).and_then(call) {
                Some(call) => matches!(self.bus.call(Some(Role::Admin), call).await, Ok((200..=299, _))),
                None => false,
            };
            self.place.settle(found, if done { "done" } else { "failed" });
        }
        for found in of("ssot/messages/").into_iter().chain(of("inbox/")) {
            self.submit(found).await;
        }
        for found in of("ssot/acks/") {
            let Some(mut record) = object(&found.bytes) else { continue };
            let named = found.stem().rsplit_once('.').and_then(|(id, role)| Some((id.to_owned(), Role::parse(role)?)));
            let Some((id, role)) = named else { continue };
            if record.text("msg_id").is_none() {
                record.set("msg_id", id.as_str());
            }
            self.bus.ack(Some(role), id, record).await.ok(); // one that does not count has no effect
        }
    }

    /// Submits a file in the name of its writer: the one that the file names, else the author of the commit, else the sender.
    async fn submit(&mut self, found: &Found) {
        let mut text = found.bytes.clone();
        let mut named = None;
        let mut from = None;
        if let Some(mut object) = object(&found.bytes) {
            named = object.remove("written_by").as_ref().and_then(Value::as_text).map(str::to_owned);
            if named.is_some() {
                text = object.write().into_bytes();
            }
            from = object.text("from").map(str::to_owned);
        }
        let acting = [named, found.author.clone(), from].into_iter().flatten().find_map(|name| Role::parse(&name));
        let body = Body::read(self.bus.rules(), &text);
        self.bus.submit(acting, body).await.ok(); // the answer is in the tree
    }

    /// Rows that are not in the tree yet.
    async fn new_rows(&mut self, what: What) -> Vec<Object> {
        let after = self.written.get(what.name()).copied().unwrap_or(0);
        let filter = Filter { after, limit: BATCH, ..Filter::default() };
        let Ok(page) = self.bus.list(what, filter).await else { return Vec::new() };
        self.written.insert(what.name(), page.next);
        page.items.into_iter().filter_map(|item| item.as_object().cloned()).collect()
    }

    /// Writes what the bus has stored.
    async fn show(&mut self) -> io::Result<()> {
        for record in self.new_rows(What::Message).await {
            let Some(message) = record.get("message").and_then(Value::as_object) else { continue };
            let (task, id) = (message.text("task_id").unwrap_or_default(), message.text("msg_id").unwrap_or_default());
            let name = format!("{id}.json");
            let author = record.text("written_by").unwrap_or("system");
            self.place.write(&["ssot/messages", task, &name], &message.write(), true, author)?;
        }
        for mut ack in self.new_rows(What::Ack).await {
            ack.remove("seq");
            let first = |names: &[&str]| names.iter().find_map(|name| ack.text(name)).unwrap_or_default().to_owned();
            let (id, actor) = (first(&["msg_id", "ack_of"]), first(&["actor", "by"]));
            let task = ack.text("task_id").map(str::to_owned);
            let task = task.or_else(|| Some(message_id::parse(self.bus.rules(), &id)?.task.to_owned()));
            let name = format!("{id}.{actor}.json");
            self.place.write(&["ssot/acks", &task.unwrap_or_default(), &name], &ack.write(), true, &actor)?;
        }
        for error in self.new_rows(What::Error).await {
            self.place.append("ssot/errors/errors.jsonl", &error.write())?;
        }
        for line in self.new_rows(What::Audit).await {
            self.place.append("audit/events.jsonl", &line.write())?;
        }
        for task in self.bus.tasks(None) {
            let Some(id) = task.text("task_id").or(task.text("id")).map(str::to_owned) else { continue };
            let text = task.write();
            if self.tasks.get(&id) != Some(&text) {
                self.place.write(&["ssot/tasks", &format!("{id}.json")], &text, false, "system")?;
                self.tasks.insert(id, text);
            }
        }
        Ok(())
    }
}

/// A control input: a body of section 7 with the task, by its members or by `op`.
fn call(mut object: Object) -> Option<Call> {
    let task = object.text("task_id")?.to_owned();
    let op = object.text("op").map(str::to_owned);
    let inner = object.get("body").and_then(Value::as_object).cloned();
    object.remove("task_id");
    object.remove("op");
    let mut body = inner.unwrap_or(object);
    let what = match op.as_deref() {
        Some("plan") => What::Plan,
        Some("approve") => What::Approval,
        Some("control") => What::Control,
        Some("ci") => What::Ci,
        Some(_) => return None,
        None if body.get("plan").is_some() => What::Plan,
        None if body.get("control_type").is_some() => What::Control,
        None if body.get("xcode_cloud").is_some() || body.get("codex_review").is_some() => What::Ci,
        None => What::Approval,
    };
    if let Some(Value::Object(plan)) = body.get("plan").filter(|_| what == What::Plan).cloned() {
        body = plan;
    }
    Some(Call { what, task, body })
}

/// Returns when the process is to end.
async fn ended(stopped: &mut watch::Receiver<bool>) {
    stopped.wait_for(|stop| *stop).await.ok(); // also if the sender was dropped
}

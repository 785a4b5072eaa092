//! The loop of a role: what is new for it, what became of its tasks, what it answers.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};

use super::client::Client;
use crate::instant;
use crate::json::{Number, Object, Value};
use crate::task_amp::ack::Ack;
use crate::task_amp::engine::Engine;
use crate::task_amp::ledger::Instruction;
use crate::task_amp::message::Shared;
use crate::task_amp::role::{Kind, Role};
use crate::task_amp::roles::{Event, LogEntry, Output, Settings};
use crate::task_amp::rules::Rules;
use crate::task_amp::{time, work};

/// How a role process is set up.
#[derive(Debug, Clone)]
pub(crate) struct Order {
    pub(crate) rules: Rules,
    pub(crate) role: Role,
    /// Where the store is.
    pub(crate) url: String,
    pub(crate) prefix: String,
    pub(crate) token: Option<String>,
    pub(crate) poll: Duration,
    pub(crate) settings: Settings,
    pub(crate) heartbeat_sec: Option<i64>,
    pub(crate) clock: instant::Clock,
}

/// What was last seen of a task record.
#[derive(Debug, Default)]
struct Seen {
    suspended: bool,
    planned: bool,
    approved: bool,
    ci: Option<Value>,
    controls: usize,
}

struct Process {
    order: Order,
    client: Arc<Client>,
    engine: Engine,
    /// The place of the last message for this role, and of the last ACK.
    messages: i64,
    acks: i64,
    /// Places of records that were handled: a later one with the same id is another delivery.
    handled: HashSet<i64>,
    /// Messages that this role acknowledged before it was started.
    answered: HashSet<String>,
    seen: HashMap<String, Seen>,
    /// What became ready during a suspension.
    held: Vec<(String, Event)>,
    finished: mpsc::UnboundedSender<Event>,
}

fn list<'v>(answer: &'v Value, name: &str) -> &'v [Value] {
    answer.as_object().and_then(|answer| answer.get(name)).and_then(Value::as_list).unwrap_or_default()
}

fn integer(object: &Object, name: &str) -> Option<i64> {
    object.get(name).and_then(Value::as_number).and_then(Number::as_integer)
}

/// Works until `stop` says so. A store that cannot be reached is tried again.
///
/// # Errors
///
/// The URL of the store cannot be used.
pub(crate) async fn run(order: Order, stop: watch::Sender<bool>) -> io::Result<()> {
    let client = Arc::new(Client::new(&order.url, &order.prefix, order.role, order.token.clone())?);
    let (finished, mut done) = mpsc::unbounded_channel();
    let now = order.clock.now().unix_milliseconds();
    let engine = Engine::new(order.rules, order.role, now, order.settings.clone(), order.heartbeat_sec);
    let mut process = Process {
        client,
        engine,
        messages: 0,
        acks: 0,
        handled: HashSet::new(),
        answered: HashSet::new(),
        seen: HashMap::new(),
        held: Vec::new(),
        finished,
        order,
    };
    let mut stopped = stop.subscribe();
    let mut started = false;
    loop {
        tokio::select! {
            () = ended(&mut stopped) => return Ok(()),
            Some(event) = done.recv() => process.finish(event).await,
            () = tokio::time::sleep(process.order.poll) => {
                if !started {
                    started = process.recall().await.is_ok();
                } else {
                    process.look().await.ok(); // tried again at the next turn
                }
            }
        }
    }
}

impl Process {
    /// What this role did before it was started.
    async fn recall(&mut self) -> io::Result<()> {
        self.time().await;
        let (_, answer) = self.client.get("/acks?after=0").await?;
        let mine = list(&answer, "acks").iter().filter_map(Value::as_object).filter_map(|ack| Ack::read(ack, None));
        self.answered.extend(mine.filter(|ack| ack.actor == self.order.role).map(|ack| ack.message));
        self.look().await?;
        let role = self.order.role;
        let open = self.engine.ledger.tasks.values().filter(|task| task.assigned_at(role).is_some());
        let kind = if role == Role::Executor { Kind::Dispatch } else { Kind::Request };
        let open = open.filter_map(|task| task.last(kind)).map(|entry| entry.message.clone());
        let open: Vec<Shared> = open.filter(|message| self.answered.contains(&message.id)).collect();
        for message in open {
            self.start(message);
        }
        Ok(())
    }

    /// The present time: that of the store if it has a clock for tests, else of the machine.
    async fn time(&mut self) -> i64 {
        let hosted = self.client.get("/_test/clock").await;
        let hosted = hosted.ok().filter(|(status, _)| *status == 200).and_then(|(_, answer)| {
            let answer = answer.as_object()?;
            integer(answer, "now_ms").or_else(|| time::parse(self.order.rules, answer.text("now")?))
        });
        hosted.unwrap_or_else(|| self.order.clock.now().unix_milliseconds())
    }

    /// One turn.
    async fn look(&mut self) -> io::Result<()> {
        let now = self.time().await;
        let role = self.order.role.name();
        let (status, answer) = self.client.get(&format!("/messages?to={role}&after={}", self.messages)).await?;
        if status != 200 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let records: Vec<Object> =
            list(&answer, "messages").iter().filter_map(|record| record.as_object().cloned()).collect();
        // Read after the messages: what was suspended before a message came is known when it is looked at.
        let (_, tasks) = self.client.get("/tasks").await?;
        self.engine.now = self.engine.now.max(now);
        for task in list(&tasks, "tasks").iter().filter_map(Value::as_object) {
            self.task(task).await;
        }
        if self.order.role == Role::Coordinator {
            self.acknowledged().await?;
        }
        for record in records {
            let seq = integer(&record, "seq").unwrap_or(self.messages + 1);
            self.messages = self.messages.max(seq);
            if self.handled.insert(seq) {
                self.message(seq, record.get("message").unwrap_or(&Value::Null)).await;
            }
        }
        let outputs = self.engine.advance(now);
        self.perform(outputs).await;
        Ok(())
    }

    /// The thread of the task comes first, so that references can be followed.
    async fn message(&mut self, seq: i64, message: &Value) {
        let task = message.as_object().and_then(|message| message.text("task_id")).unwrap_or_default().to_owned();
        if crate::task_amp::message_id::is_task_id(self.order.rules, &task) {
            self.thread(&task, seq).await;
        }
        let id = message.as_object().and_then(|message| message.text("msg_id")).unwrap_or_default();
        if self.answered.contains(id) {
            return self.engine.learn(message);
        }
        let outputs = self.engine.receive(message);
        self.perform(outputs).await;
    }

    /// Learns the messages of a task that were stored before place `seq`.
    async fn thread(&mut self, task: &str, seq: i64) {
        let Ok((200, answer)) = self.client.get(&format!("/messages?task_id={task}&after=0")).await else { return };
        for record in list(&answer, "messages").iter().filter_map(Value::as_object) {
            let message = record.get("message").unwrap_or(&Value::Null);
            let mine = message.as_object().and_then(|message| message.text("to")) == Some(self.order.role.name());
            if !mine && integer(record, "seq").is_none_or(|place| place < seq) {
                self.engine.learn(message);
            }
        }
    }

    /// What changed in a task record.
    async fn task(&mut self, record: &Object) {
        let Some(task) = record.text("task_id").or_else(|| record.text("id")).map(str::to_owned) else { return };
        let seen = self.seen.entry(task.clone()).or_default();
        let is_on = |name| record.get(name) == Some(&Value::Bool(true));
        let suspended = is_on("suspended");
        let controls = record.get("controls").and_then(Value::as_list).unwrap_or_default();
        let new: Vec<&Object> = controls.iter().skip(seen.controls).filter_map(Value::as_object).collect();
        let resumed = new.iter().rev().find(|control| control.text("control_type") == Some("RESUME"));
        let payload = resumed.and_then(|control| control.get("payload")).and_then(Value::as_object);
        let cancelled = payload.and_then(|payload| payload.text("instruction")) == Some("cancel");
        let resumed = resumed.is_some() || (seen.suspended && !suspended);
        let plan = record.get("plan").and_then(Value::as_object).filter(|_| !seen.planned).cloned();
        let planned = seen.planned || plan.is_some();
        let approved = planned && !seen.approved && is_on("plan_approved");
        let ci = record.present("ci").filter(|ci| seen.ci.as_ref() != Some(ci)).cloned();
        *seen = Seen {
            suspended,
            planned,
            approved: seen.approved || approved,
            ci: ci.clone().or(seen.ci.take()),
            controls: controls.len().max(seen.controls),
        };
        let mut outputs = Vec::new();
        if suspended && !resumed && !self.engine.ledger.task(&task).is_some_and(|task| task.suspended) {
            outputs.extend(self.engine.instructed(&task, Instruction::Stop));
        }
        if let Some(plan) = plan {
            outputs.extend(self.engine.planned(&task, &plan));
        }
        if approved {
            outputs.extend(self.engine.approved(&task));
        }
        if let Some(Value::Object(status)) = ci {
            outputs.extend(self.engine.ci(&task, &status));
        }
        if resumed && !suspended {
            let instruction = if cancelled { Instruction::Cancel } else { Instruction::Continue };
            let held = std::mem::take(&mut self.held);
            let (mine, others): (Vec<_>, Vec<_>) = held.into_iter().partition(|(held, _)| *held == task);
            self.held = others;
            outputs.extend(self.engine.instructed(&task, instruction));
            for (_, event) in mine.into_iter().filter(|_| !cancelled) {
                outputs.extend(self.engine.decide(&event));
            }
        }
        self.perform(outputs).await;
    }

    /// New ACKs, for the one that waits for them.
    async fn acknowledged(&mut self) -> io::Result<()> {
        let (status, answer) = self.client.get(&format!("/acks?after={}", self.acks)).await?;
        if status != 200 {
            return Ok(());
        }
        for record in list(&answer, "acks").iter().filter_map(Value::as_object) {
            self.acks = self.acks.max(integer(record, "seq").unwrap_or(self.acks));
            if let Some(ack) = Ack::read(record, None).filter(|ack| ack.actor != self.order.role) {
                let outputs = self.engine.acked(&ack);
                self.perform(outputs).await;
            }
        }
        let next = answer.as_object().and_then(|answer| integer(answer, "next"));
        self.acks = self.acks.max(next.unwrap_or(0));
        Ok(())
    }

    /// Work or a review is done.
    async fn finish(&mut self, event: Event) {
        let task = match &event {
            Event::Worked(message, _) | Event::Reviewed(message, _) => message.task.clone(),
            _ => return, // nothing else is work
        };
        // What was suspended meanwhile must be known before a result is sent (05, Critical = Suspend All).
        self.look().await.ok();
        if self.engine.is_halted(&task) {
            self.held.push((task, event));
            return;
        }
        let outputs = self.engine.decide(&event);
        self.perform(outputs).await;
    }

    /// Writes what the role decided into the store.
    async fn perform(&mut self, outputs: Vec<Output>) {
        for output in outputs {
            // A write that fails is not repeated: the store says why in its own log.
            match output {
                Output::Message(message) => {
                    self.client.post("/messages", message.object.write()).await.ok();
                }
                Output::Ack(ack) => {
                    let id = message_of(&ack);
                    self.client.post(&format!("/messages/{id}/acks"), ack.record.write()).await.ok();
                }
                Output::Error(entry) => {
                    let body = shown(self.order.rules, self.engine.now, &entry);
                    self.client.post("/errors", body.write()).await.ok();
                }
                Output::Work(message) | Output::Review(message) => self.start(message),
            }
        }
    }

    /// Starts the work of a dispatch, or the review of a request.
    fn start(&self, message: Shared) {
        let (rules, now, finished) = (self.order.rules, self.engine.now, self.finished.clone());
        let named = |name| self.engine.ledger.message(message.text(name)).cloned();
        let (dispatch, result) = (named("original_dispatch_ref"), named("task_result_ref"));
        tokio::task::spawn_blocking(move || {
            if message.kind == Kind::Request {
                let judgement = work::review::judge(&message, dispatch.as_deref(), result.as_deref());
                return finished.send(Event::Reviewed(message, judgement)).unwrap_or_default();
            }
            let done = work::git::carry_out(rules, &message, now);
            let order = message.clone();
            finished.send(Event::Worked(message, done)).unwrap_or_default();
            work::git::afterwards(rules, &order);
        });
    }
}

/// The path segment of an ACK: the message, as the ACK names it.
fn message_of(ack: &Ack) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    let encode = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    ack.message.bytes().map(encode).collect()
}

/// An entry of the error log (binding.md, section 5).
fn shown(rules: Rules, now: i64, entry: &LogEntry) -> Object {
    Object::from([
        ("ts", time::format(rules, now).into()),
        ("receiver", entry.receiver.map(Role::name).into()),
        ("code", entry.problem.code.name().into()),
        ("path", entry.problem.path.as_str().into()),
        ("detail", entry.problem.message.as_str().into()),
        ("msg_id", entry.message.clone().into()),
        ("task_id", entry.task.clone().into()),
    ])
}

/// Returns when the process is to end.
async fn ended(stopped: &mut watch::Receiver<bool>) {
    stopped.wait_for(|stop| *stop).await.ok(); // also if the sender was dropped
}

//! A server: its nodes, and what it does with a message beyond processing it: forwarding it, answering, and the logs.

use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use rusqlite::Connection;

use super::code::Code;
use super::failure::{About, Failure};
use super::message::Message;
use super::net::client;
use super::node::{Kind, Node};
use super::process::{self, Report};
use super::rules::Rules;
use super::store::{self, Fault, SCHEMA};
use super::{faults, originate};
use crate::config::ServeError;
use crate::fault::planted;
use crate::json::{self, Object, Value};
use crate::store::{Database, Store};

/// Maximum size of a message in bytes (binding.md, 11).
pub(super) const MESSAGE_LIMIT: usize = 4 * 1024 * 1024;

/// The nodes at the addresses of a server.
#[derive(Debug, Clone)]
pub(crate) struct Nodes {
    /// The ultimate receiver, if the server is one.
    pub(crate) receiver: Option<Node>,
    /// The intermediary, if it is one.
    pub(crate) relay: Option<Node>,
    /// 4.8.2: where the intermediary, or the last one of the chain, sends messages. Broadcast goes to all of them.
    pub(crate) next_hops: Vec<String>,
}

/// The address that a message was sent to, which decides about the node (4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Receiver,
    Relay,
    /// A hop of the chain, counted from 1 (binding.md, 8).
    Chain(usize),
}

/// The answer to a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Empty without a reply.
    pub(crate) body: String,
    /// Whether the body is an AMP message. Otherwise it is a page.
    pub(crate) is_message: bool,
}

impl Answer {
    fn accepted() -> Self {
        Self { status: 202, body: String::new(), is_message: true }
    }

    fn message(status: u16, body: String) -> Self {
        Self { status, body, is_message: true }
    }
}

/// A server; clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Service(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    rules: Rules,
    /// The nodes as the settings have them.
    start: Nodes,
    /// The nodes as they are now.
    nodes: RwLock<Nodes>,
    chain: Vec<Node>,
    /// Whether a request may name the next hop.
    next_hop_header: bool,
    /// Whether the control interface is there.
    control: bool,
    store: Store,
}

/// What the settings say besides the nodes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options {
    pub(crate) next_hop_header: bool,
    pub(crate) control: bool,
}

impl Service {
    /// Opens the store; nodes that were configured over the control interface are as they were left.
    ///
    /// # Errors
    ///
    /// [`ServeError`] if the database cannot be used.
    pub(crate) async fn open(
        database: &Database,
        rules: Rules,
        start: Nodes,
        chain: Vec<Node>,
        options: Options,
    ) -> Result<Self, ServeError> {
        let store = Store::open(database, SCHEMA)?;
        let Options { next_hop_header, control } = options;
        let nodes = RwLock::new(start.clone());
        let service = Self(Arc::new(Inner { rules, start, nodes, chain, next_hop_header, control, store }));
        for kind in Kind::ALL {
            if let Ok(Some(kept)) = service.read(move |db| store::node(db, kind)).await {
                service.apply(kind, &kept).ok(); // it was valid when it was kept
            }
        }
        Ok(service)
    }

    pub(crate) fn rules(&self) -> &Rules {
        &self.0.rules
    }

    pub(super) fn has_control(&self) -> bool {
        self.0.control
    }

    /// Whether there is a node at this address.
    pub(super) fn has(&self, place: Place) -> bool {
        self.node(place).is_some()
    }

    pub(crate) async fn close(&self) {
        self.0.store.close().await;
    }

    /// The nodes as they are now.
    pub(super) fn nodes(&self) -> Nodes {
        self.0.nodes.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn node(&self, place: Place) -> Option<Node> {
        match place {
            Place::Receiver => self.nodes().receiver,
            Place::Relay => self.nodes().relay,
            Place::Chain(hop) => self.0.chain.get(hop.checked_sub(1)?).cloned(),
        }
    }

    /// Reads from the store. A failure of the store is a text.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, String> {
        let done = self.0.store.read(work).await.map_err(|error| error.to_string())?;
        done.map_err(|error| error.to_string())
    }

    /// Writes to the store.
    pub(super) async fn write(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<()> + Send + 'static,
    ) -> Result<(), String> {
        let done = self.0.store.write(work).await.map_err(|error| error.to_string())?;
        done.map_err(|error| error.to_string())
    }

    /// Sets a node up by a node object; members that it leaves out are as in the settings (binding.md, 5.2).
    ///
    /// # Errors
    ///
    /// A sentence about the first invalid member.
    pub(super) fn apply(&self, kind: Kind, object: &Object) -> Result<(), String> {
        let mut nodes = self.0.nodes.write().unwrap_or_else(PoisonError::into_inner);
        let start = &self.0.start;
        let (place, first) = match kind {
            Kind::UltimateReceiver => (&mut nodes.receiver, &start.receiver),
            Kind::Intermediary => (&mut nodes.relay, &start.relay),
        };
        let first = first.clone().ok_or_else(|| format!("this server is not an {}", kind.name()))?;
        let node = Node { kind, ..first.with(object)? };
        let hops = next_hops(object)?;
        *place = Some(node);
        if kind == Kind::Intermediary {
            nodes.next_hops = hops.unwrap_or_else(|| start.next_hops.clone());
        }
        Ok(())
    }

    /// Restores the nodes of the settings.
    pub(super) fn restore(&self) {
        *self.0.nodes.write().unwrap_or_else(PoisonError::into_inner) = self.0.start.clone();
    }

    /// Processes a message that was sent to an address, forwards it, and makes the answer. `named` is the next hop that the
    /// request names.
    pub(crate) fn receive(
        &self,
        place: Place,
        text: Bytes,
        named: Option<String>,
        rules: Rules,
    ) -> Pin<Box<dyn Future<Output = Answer> + Send + '_>> {
        Box::pin(async move {
            let Some(node) = self.node(place) else { return Answer::message(404, String::new()) };
            let mut report = if text.len() > MESSAGE_LIMIT {
                Report { faults: vec![Failure::sender("the message is larger than 4 MiB")], ..Report::default() }
            } else {
                process::process(&text, &node, &rules)
            };
            // 4: no state between messages.
            // Other, E51: a node may filter repeats.
            let filters = rules.is_other() || rules.fault.is("duplicate-filter");
            if filters && is_repeat(&report, place, &node, &rules) {
                return Answer::accepted();
            }
            let trace = report.message.as_ref().and_then(|message| message.header_text("traceId"));
            planted!(rules.fault, "trace-id-filter", faults::state::knows_trace(trace, &node, &rules) => return Answer::accepted());
            let named = named.filter(|url| self.0.next_hop_header && client::is_local(url));
            if let Some(delivery) = report.delivery.clone().filter(|_| report.faults.is_empty()) {
                let time = rules.clock.now().with_milliseconds();
                if let Err(error) = self.write(move |db| store::log_delivery(db, &delivery, &time)).await {
                    report.faults.push(Failure::new(Code::Receiver, error));
                }
            }
            // 4.2: a role name does not route.
            planted!(rules.fault, "role-uri-dialled", faults::answers::dial(report.message.as_ref()));
            self.log(&report, &node, &rules).await;
            if report.faults.is_empty() && !report.copies.is_empty() {
                return self.forward(place, report, named, node, rules).await;
            }
            for copy in std::mem::take(&mut report.copies) {
                self.send(place, None, copy, named.clone(), &rules).await.ok(); // only planted faults come here
            }
            answer(&report, &node, &rules)
        })
    }

    /// 4.7, step 9: sends the message on. The answer is that of the next hop: its fault goes back unchanged (binding.md, 8).
    async fn forward(&self, place: Place, report: Report, named: Option<String>, node: Node, rules: Rules) -> Answer {
        // Other, E03: the answer does not wait for the next hop.
        if rules.is_other() && place == Place::Relay {
            let service = self.clone();
            tokio::spawn(async move { service.deliver(place, report, named, node, rules).await });
            return Answer::accepted();
        }
        self.deliver(place, report, named, node, rules).await
    }

    /// Sends each copy to each next hop, and makes an answer of theirs.
    fn deliver(
        &self,
        place: Place,
        report: Report,
        named: Option<String>,
        node: Node,
        rules: Rules,
    ) -> Pin<Box<dyn Future<Output = Answer> + Send + '_>> {
        Box::pin(async move {
            let mut answers = Vec::new();
            // 1.6, binding.md 11: broadcast goes to each next hop, any other intent to the first one.
            let inside = matches!(place, Place::Chain(number) if number < self.0.chain.len());
            let hops = if report.broadcast && !inside { self.nodes().next_hops.len().max(1) } else { 1 };
            for copy in &report.copies {
                for hop in 0..hops {
                    answers.push(self.send(place, Some(hop), copy.clone(), named.clone(), &rules).await);
                }
            }
            let failed = answers.iter().find_map(|answer| answer.as_ref().err().cloned());
            if let Some(reason) = failed {
                // 4.10: the node encountered an error while it processed a valid message.
                let report = Report { faults: vec![Failure::new(Code::Receiver, reason)], ..report };
                self.log(&report, &node, &rules).await;
                return answer(&report, &node, &rules);
            }
            let answers: Vec<Answer> = answers.into_iter().flatten().collect();
            let fault = answers.iter().find(|answer| answer.status >= 300);
            fault.or(answers.first()).cloned().unwrap_or_else(Answer::accepted)
        })
    }

    /// Sends one copy to a next hop; its reply or its fault. `hop` counts the configured next hops from 0.
    async fn send(
        &self,
        place: Place,
        hop: Option<usize>,
        copy: String,
        named: Option<String>,
        rules: &Rules,
    ) -> Result<Answer, String> {
        if let Place::Chain(number) = place
            && number < self.0.chain.len()
        {
            return Ok(self.receive(Place::Chain(number + 1), copy.into(), named, rules.clone()).await);
        }
        let configured = self.nodes().next_hops.get(hop.unwrap_or_default()).cloned();
        let url = named.or(configured).ok_or("no next hop is configured")?;
        let (status, body) = client::post(&url, copy).await.map_err(|error| format!("the next hop: {error}"))?;
        let message = match json::read_exactly(body.as_bytes(), 512) {
            Ok(Value::Object(object)) => Some(Message(object)),
            _ => None, // an empty body, or not a message
        };
        let is_fault = message.as_ref().is_some_and(|message| originate::code_of(message).is_some());
        let is_reply = message.as_ref().is_some_and(|message| message.envelope().is_some());
        match status {
            _ if is_fault => Ok(Answer::message(if status < 300 { 500 } else { status }, body)),
            200..=299 if is_reply => Ok(Answer::message(200, body)),
            200..=299 => Ok(Answer::accepted()),
            _ => Err(format!("the next hop answered {status}")),
        }
    }

    /// Writes the faults of a message to the fault log.
    async fn log(&self, report: &Report, node: &Node, rules: &Rules) {
        let message_id = report.message.as_ref().and_then(|message| message.header_text("messageId"));
        for failure in &report.faults {
            let fault = Fault {
                message_id: message_id.map(str::to_owned),
                code: failure.code.name().to_owned(),
                reason: failure.reasons.join("; "),
                hop: node.uri.clone(),
            };
            let time = rules.clock.now().with_milliseconds();
            self.write(move |db| store::log_fault(db, &fault, &time)).await.ok(); // the fault itself matters more
        }
    }
}

/// The next hops that a node object names.
fn next_hops(object: &Object) -> Result<Option<Vec<String>>, String> {
    let expected = || "next_hop: expected a URL, next_hops: an array of URLs".to_owned();
    if let Some(hop) = object.present("next_hop") {
        return Ok(Some(vec![hop.as_text().ok_or_else(expected)?.to_owned()]));
    }
    let Some(hops) = object.present("next_hops") else { return Ok(None) };
    let hops = hops.as_list().ok_or_else(expected)?;
    let hops: Option<Vec<String>> = hops.iter().map(|hop| hop.as_text().map(str::to_owned)).collect();
    hops.map(Some).ok_or_else(expected)
}

fn is_repeat(report: &Report, place: Place, node: &Node, rules: &Rules) -> bool {
    let id = report.message.as_ref().and_then(|message| message.header_text("messageId"));
    id.is_some_and(|id| rules.memory.is_repeat(&format!("{place:?} {}", node.uri), id))
}

/// The answer of a node that forwards nothing: its fault, its reply, or neither.
fn answer(report: &Report, node: &Node, rules: &Rules) -> Answer {
    let Some(failure) = report.faults.first() else {
        return report.reply.clone().map_or_else(Answer::accepted, |reply| Answer::message(200, reply));
    };
    let page = || Answer { status: 500, body: faults::answers::PAGE.to_owned(), is_message: false };
    // 4.9: malformations draw a fault; 4.7: whatever errors apply.
    planted!(rules.fault, "parse-error-as-html", failure.about == About::Syntax => return page());
    planted!(rules.fault, "two-errors-unhandled", failure.reasons.len() > 1 => return page());
    // Other, E83: bytes that are not text are refused without a fault.
    if rules.is_other() && failure.about == About::Encoding {
        return Answer::message(400, String::new());
    }
    Answer::message(failure.code.status(), originate::fault(&report.faults, report.message.as_ref(), node, rules))
}

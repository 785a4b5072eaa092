//! The Agent Message Protocol for task dispatch, result, review, verdict and escalation, version 1.0.
//!
//! JSON messages between roles (Admin, Coordinator, Executor, Reviewer, system) and a single source of truth that keeps them. The
//! specification has no transport; `binding.md` defines the HTTP interface, the files and the adapter methods. Special features: a
//! refusal counts only beside its entry in the error log, most rules bind both the sender (the sweep over all messages that the
//! target wrote, `sweep`) and the receiver, and for a target that is one role proofmark hosts the store (`store`).

mod defect;
mod functions;
mod id;
mod members;
mod methods;
mod operations;
mod payloads;
mod rules;
mod store;
mod sweep;
mod vectors;
mod view;

use std::time::Duration;

use super::{
    Codec, Defect, Hosting, Json, Kin, Library, Mailbox, ObservationContext, Operation, Oracle, Page, Protocol,
    Readiness, Resident, Setting, Starter, TargetKnowledge,
};
use crate::exchange::{ChannelAction, Encoded, Exchange, TargetClass, Transport};
use crate::target::Target;
use crate::template::Function;
use crate::value::Value;
use crate::vector::Kind;
use crate::wire::json;

/// Configurable places of values (binding, section 10).
const PLACES: &[Setting] = &[
    Setting {
        name: "message",
        summary: "The envelope in a record of a stored message.",
        words: &[],
        example: "[/envelope]",
    },
    Setting {
        name: "written_by",
        summary: "The writer in a record of a stored message.",
        words: &[],
        example: "[/meta/author]",
    },
    Setting {
        name: "seq",
        summary: "The sequence number in a record of a stored message.",
        words: &[],
        example: "[/meta/seq]",
    },
    Setting {
        name: "stored_at",
        summary: "The time of storing in a record of a stored message.",
        words: &[],
        example: "[/meta/stored_at]",
    },
];

/// The host that is the store of a target of the kind `role`.
const STORE: &str = "ssot";

/// How long a role of the reference may take.
const SCRIPTED: Duration = Duration::from_secs(8);

/// How long it is watched that a role of the reference does nothing: what it does, it does at once.
const SCRIPTED_WATCH: Duration = Duration::from_secs(1);

const JSON: Json = Json { canonical_form: None };

/// The Agent Message Protocol.
pub struct TaskAmp;

/// Why every reading of the errata refuses the bytes of a message; `None` if some reading accepts them.
#[must_use]
pub fn defect(message: &[u8]) -> Option<String> {
    defect::of("submit", message).map(|found| format!("{} ({})", found.because, found.requirement))
}

impl Protocol for TaskAmp {
    fn slug(&self) -> &'static str {
        "task-amp"
    }

    fn operations(&self) -> &'static [Operation] {
        operations::OPERATIONS
    }

    fn library(&self) -> Option<&'static Library> {
        Some(&methods::LIBRARY)
    }

    fn functions(&self) -> &'static [Function] {
        functions::FUNCTIONS
    }

    fn vector_kinds(&self) -> &'static [&'static dyn Kind] {
        &[&vectors::Validation]
    }

    fn places(&self) -> &'static [Setting] {
        PLACES
    }

    fn transports(&self) -> &'static [Transport] {
        &[Transport::Http, Transport::Tree, Transport::Adapter]
    }

    fn starter(&self) -> Option<Starter> {
        Some(Starter { input: "message", name: "d", object: "dispatch" })
    }

    fn observe(&self, exchange: &Exchange, context: &ObservationContext<'_>) -> Value {
        view::observe(exchange, context)
    }

    fn accepted(&self, operation: &Operation, seen: &Value) -> bool {
        match seen.member("verdict").and_then(Value::as_text) {
            Some("accepted" | "handed-on") => true,
            Some(_) => false,
            None => {
                let status = seen.member("status").and_then(Value::as_integer);
                status.and_then(|status| u16::try_from(status).ok()).is_some_and(|status| operation.accepts(status))
            }
        }
    }

    /// What proofmark does with a repository of its own says nothing about the target.
    fn readiness(&self, exchange: &Exchange) -> Readiness {
        let asks = |operation: &Operation| operation.route.is_some() || operation.method.is_some();
        if self.operation(&exchange.operation).is_some_and(asks) { Readiness::ByStatus } else { Readiness::Silent }
    }

    fn emitted(&self, exchange: &Exchange, context: &ObservationContext<'_>) -> Vec<Value> {
        sweep::emitted(exchange, context)
    }

    fn codec(&self) -> &dyn Codec {
        self
    }

    fn mailbox(&self) -> Option<&dyn Mailbox> {
        Some(self)
    }

    fn target_knowledge(&self) -> Option<&dyn TargetKnowledge> {
        Some(self)
    }

    fn hosting(&self) -> Option<&dyn Hosting> {
        Some(self)
    }

    fn oracle(&self) -> Option<&dyn Oracle> {
        Some(self)
    }
}

impl Codec for TaskAmp {
    fn layouts(&self) -> &'static [&'static str] {
        JSON.layouts()
    }

    /// JSON. Bytes in place of a message are sent unchanged.
    fn encode(&self, body: &Value, layout: &str) -> Vec<u8> {
        if let Value::Bytes(bytes) = body {
            return bytes.clone();
        }
        JSON.encode(body, layout)
    }

    fn decode(&self, bytes: &[u8]) -> Option<Value> {
        JSON.decode(bytes)
    }

    fn is_beyond_limits(&self, bytes: &[u8]) -> bool {
        JSON.is_beyond_limits(bytes)
    }
}

impl Mailbox for TaskAmp {
    /// The error log is read behind what earlier cases have read, so that each entry is transferred once.
    fn owner(&self, message: &Exchange, _: &ObservationContext<'_>) -> Option<String> {
        (message.operation == "submit").then(|| "errors".to_owned())
    }

    /// A refusal counts only with its entry in the error log (binding, section 5).
    fn fetch(&self, exchange: &Exchange, context: &ObservationContext<'_>, behind: Option<&str>) -> Option<Encoded> {
        let status = exchange.received.status.unwrap_or(0);
        if !(400..500).contains(&status) && !view::is_handed_on(exchange, context.target) {
            return None;
        }
        let operation = self.operation("list-errors")?;
        let route = operation.route.as_ref()?;
        let own = context.target.routes.get(operation.name).and_then(|own| own.path.clone());
        let path = own.unwrap_or_else(|| route.path.to_owned());
        // The credentials of a party go with its own role.
        let own = context.target.credentials.contains_key(&exchange.actor);
        let role = if own { exchange.actor.as_str() } else { "admin" };
        Some(Encoded {
            transport: Transport::Http,
            action: ChannelAction::Message,
            base: None,
            operation: operation.name.to_owned(),
            method: route.method.to_owned(),
            path: match behind {
                _ if path.contains("{after}") => path.replace("{after}", behind.unwrap_or("0")),
                Some(cursor) if path.contains('?') => format!("{path}&after={cursor}"),
                Some(cursor) => format!("{path}?after={cursor}"),
                None => path,
            },
            headers: vec![
                ("accept".to_owned(), "application/json".to_owned()),
                ("x-amp-role".to_owned(), role.to_owned()),
            ],
            body: Vec::new(),
            params: Vec::new(),
            payload: None,
            spelling: None,
        })
    }

    /// An engine that works in turns hands out nothing with an event: its next turn is an advance by no time at all.
    fn withheld(&self, exchange: &Exchange) -> Option<Encoded> {
        if exchange.operation != "engine-feed" {
            return None;
        }
        let answer = json::parse(&exchange.received.body.0).ok()?;
        let outputs = view::listed(answer.member("result")?.member("outputs")?)?;
        let call = json::parse(&exchange.sent.body.0).ok()?;
        let engine = call.member("params")?.member("engine")?.clone();
        outputs.is_empty().then(|| Encoded {
            transport: Transport::Adapter,
            action: ChannelAction::Message,
            base: None,
            operation: "engine-advance".to_owned(),
            method: "task-amp/engine_advance".to_owned(),
            path: String::new(),
            headers: Vec::new(),
            body: Vec::new(),
            params: vec![("engine".to_owned(), engine), ("ms".to_owned(), Value::from(0_u64))],
            payload: None,
            spelling: None,
        })
    }

    fn page(&self, fetched: &[u8]) -> Option<Page> {
        /// A page with so many entries is probably not the last one.
        const FULL: usize = 50;
        let body = json::parse(fetched).ok()?;
        let entries = view::entries(&body)?;
        let last = entries.last().and_then(|entry| entry.member("seq"));
        let cursor = body.member("next").and_then(Value::as_integer).filter(|next| *next > 0);
        let cursor = cursor.or_else(|| last.and_then(Value::as_integer))?;
        Some(Page { cursor: cursor.to_string(), more: entries.len() >= FULL })
    }
}

impl TargetKnowledge for TaskAmp {
    /// The harness plays the roles that the target does not play; `free-ROLE` says so for each (E87).
    fn complete(&self, target: &mut Target) {
        // Scripted roles answer at once; the defaults leave time for roles behind a model.
        if target.class == TargetClass::Reference {
            for name in ["workflow", "work"] {
                target.timeouts.entry(name.to_owned()).or_insert(SCRIPTED);
            }
            target.timeouts.entry("watch".to_owned()).or_insert(SCRIPTED_WATCH);
        }
        let played: Vec<String> = sweep::roles(target).into_iter().map(str::to_owned).collect();
        for role in ["coordinator", "executor", "reviewer", "system"] {
            let name = format!("free-{role}");
            let is_played = played.iter().any(|known| known == role);
            target.options.entry(name).or_insert(!is_played);
            if !is_played {
                for feature in ["works", "names-context"] {
                    target.options.entry(format!("{role}-{feature}")).or_insert(false);
                }
            }
        }
    }
}

impl Hosting for TaskAmp {
    fn resident(&self, host: &str, target: &Target) -> Option<Box<dyn Resident>> {
        (host == STORE).then(|| Box::new(store::Store::new(&sweep::roles(target))) as Box<dyn Resident>)
    }

    fn stands_in_for(&self, target: &Target) -> Option<&'static str> {
        target.kinds.iter().any(|kind| kind == "role").then_some(STORE)
    }
}

impl Oracle for TaskAmp {
    fn defect(&self, exchange: &Exchange, _: &ObservationContext<'_>) -> Option<Defect> {
        let operation = self.operation(&exchange.operation)?;
        defect::of(operation.name, &super::payload(operation, exchange)?)
    }

    fn kin(&self) -> &'static [Kin] {
        defect::KIN
    }
}

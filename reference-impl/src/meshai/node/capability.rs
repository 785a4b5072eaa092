//! Requests to the agents of this server: capability requests (3.1), negotiation (4.2), context operations (5.2).

use std::time::Duration;

use rusqlite::Connection;

use super::routing::Receiver;
use super::{Arrival, Node, Outcome, store};
use crate::fault::planted;
use crate::json::{Object, Value};
use crate::meshai::agents::{Agent, Capability, Ended};
use crate::meshai::codes::Code;
use crate::meshai::context::{self, Asking, Operation};
use crate::meshai::faults::node as faults;
use crate::meshai::message::Message;
use crate::meshai::refusal::Refusal;
use crate::meshai::reply::Served;
use crate::meshai::{careless, shapes, time};

impl Node {
    /// Carries a request out, here or at a registered agent.
    pub(super) async fn request(
        &self,
        envelope: &Object,
        mut message: Message,
        arrival: &Arrival,
    ) -> Result<Outcome, Refusal> {
        let rules = self.rules();
        // 3.1, E19: the payload decides what is executed.
        planted!(rules.fault, "destination-capability-executed", faults::swap(&mut message));
        let negotiates = message.payload.present("negotiation_type").is_some();
        let delegates = message.payload.present("delegation").is_some();
        let operation =
            message.wanted.as_deref().is_some_and(|wanted| wanted == "registration" || wanted == "discovery");
        let operates = operation && message.payload.present("capability").is_none();
        if !(negotiates || delegates || operates) {
            self.within_rate(&message.source).await?;
        }
        let agent = match self.receiver(&message).await? {
            Receiver::Registry => return self.registry(&message).await,
            Receiver::Registered(agent) => return self.forward(envelope, &message, &agent, arrival).await,
            Receiver::Own(agent) => agent,
        };
        let features = self.settings().features;
        if negotiates && features.negotiation {
            return negotiate(&agent, &message, self).map(|served| Outcome::Served(Box::new(served)));
        }
        if delegates && features.delegation {
            return self.delegate(&agent, &message).await.map(|served| Outcome::Served(Box::new(served)));
        }
        self.invoke(&agent, &message).await.map(|served| Outcome::Served(Box::new(served)))
    }

    /// 6.2, E99: capability requests of each source are counted.
    async fn within_rate(&self, source: &str) -> Result<(), Refusal> {
        let Some((most, window)) = self.settings().rate else { return Ok(()) };
        let rules = self.rules();
        // 6.2: so many are served.
        let most = if rules.fault.is("rate-limit-off-by-one") { most - 1 } else { most };
        let most = if rules.fault.is("rate-limit-doubled") { 2 * most } else { most };
        // 6.2: and again after the window.
        let window = if rules.fault.is("rate-limit-for-ever") { window * 100_000 } else { window };
        let (source, now) = (source.to_owned(), self.now().unix_milliseconds());
        let taken = self.write(move |db| Ok(store::rates::take(db, &source, now, now - window, most)?)).await?;
        planted!(rules.fault, "rate-limit-crashes", !taken => return Err(Refusal::crash("too busy")));
        let code =
            if rules.fault.is("rate-limit-other-code") { Code::InsufficientResources } else { Code::RateLimitExceeded };
        if taken { Ok(()) } else { Err(Refusal::new(code, "too many requests")) }
    }

    /// 3.1: a capability request.
    async fn invoke(&self, agent: &Agent, message: &Message) -> Result<Served, Refusal> {
        let rules = self.rules();
        let payload = &message.payload;
        check_context(payload, rules)?;
        let named = match payload.present("capability") {
            Some(Value::Text(named)) if !named.is_empty() => Some(named.as_str()),
            // Other, E19: the destination names it as well.
            None if rules.is_other() => message.wanted.as_deref(),
            Some(_) if rules.fault.is("capability-type-unchecked") => Some("text-analysis"),
            None if rules.fault.is("capability-optional") => Some("text-analysis"),
            _ => None, // missing, or of a wrong type
        };
        let named =
            named.ok_or_else(|| Refusal::schema("/message/payload/capability", "capability must be a string"))?;
        let parameters = match payload.present("parameters") {
            None => Object::new(),
            Some(Value::Object(parameters)) => parameters.clone(),
            // 3.1: an object.
            Some(_) if rules.fault.is("parameters-type-unchecked") => Object::from([("text", "".into())]),
            Some(_) => return Err(Refusal::schema("/message/payload/parameters", "parameters must be an object")),
        };
        careless::parameters(rules.fault, &parameters);
        if let Some(operation) = Operation::of(named).filter(|_| self.settings().features.context) {
            return self.operate(agent, operation, parameters, &message.source).await;
        }
        let capability = self.capability(agent, named)?;
        capability.check(&parameters, rules)?;
        let limit = limit(message.timeout_ms, rules);
        let work = capability.run(&parameters, rules);
        // 6.2: from receipt, the request has as long as it says.
        let ended = match tokio::time::timeout(limit, work).await {
            Ok(ended) => ended?,
            Err(_) if rules.fault.is("timeout-as-failed") => Ended::Failed(Object::new().into()),
            Err(_) => {
                return Err(Refusal::new(Code::Timeout, format!("{named} took longer than {} ms", message.timeout_ms)));
            }
        };
        let (status, result) = match ended {
            Ended::Success(result) => ("success", result),
            Ended::Failed(result) => ("failed", result),
        };
        let metadata = Object::from([("model_used", "none".into()), ("tokens_consumed", 0.into())]);
        Ok(Served { status, metadata: Some(metadata), ..Served::new(&agent.id, result) })
    }

    /// The capability of an agent, by its exact id.
    pub(super) fn capability<'a>(&self, agent: &'a Agent, named: &str) -> Result<&'a Capability, Refusal> {
        let rules = self.rules();
        let found = agent.capability(named).or_else(|| {
            // 6.2: no capability stands for another.
            let first = rules.fault.is("unknown-capability-fallback");
            agent.capabilities.first().filter(|_| first)
        });
        found.map(AsRef::as_ref).ok_or_else(|| {
            let mut available = agent.ids();
            // 6.1: what is offered, and not what is missing.
            planted!(rules.fault, "available-list-echoes", available.push(named.into()));
            planted!(rules.fault, "available-list-empty", available.clear());
            let other = rules.fault.is("capability-not-found-as-invalid");
            let code = if other { Code::InvalidSchema } else { Code::CapabilityNotFound };
            let refusal = Refusal::new(code, format!("{} does not offer {named}", agent.id));
            planted!(rules.fault, "capability-not-found-crashes", return Refusal::crash("no handler"));
            let suggestion = available.first().and_then(Value::as_text).map(|first| format!("try {first}"));
            let suggestion: Value =
                if rules.fault.is("suggestion-as-list") { Vec::new().into() } else { suggestion.into() };
            let refusal = refusal.with("suggestion", suggestion);
            planted!(rules.fault, "available-list-as-text", return refusal.with("available_capabilities", "all"));
            refusal.with("available_capabilities", available)
        })
    }

    /// 5.2: a context operation.
    async fn operate(
        &self,
        agent: &Agent,
        operation: Operation,
        parameters: Object,
        source: &str,
    ) -> Result<Served, Refusal> {
        let shown = self.context(operation, parameters, source).await?;
        let name = if self.rules().fault.is("context-renamed") { "ctx" } else { "context" };
        Ok(Served::new(&agent.id, Object::from([(name, shown.into())])))
    }

    /// The same without a message.
    pub(crate) async fn context(
        &self,
        operation: Operation,
        parameters: Object,
        source: &str,
    ) -> Result<Object, Refusal> {
        let (source, now, rules) = (source.to_owned(), self.now(), self.rules());
        let work =
            move |db: &Connection| context::operate(db, operation, &parameters, Asking { agent: &source, now, rules });
        self.write(work).await
    }
}

/// 3.1, E28: the context of a request is an open object with two known members.
fn check_context(payload: &Object, rules: super::Rules) -> Result<(), Refusal> {
    let at = "/message/payload/context";
    // 3.1: a request needs no context.
    planted!(rules.fault, "context-required", payload.present("context").is_none() => return Err(Refusal::schema(at, "context is required")));
    let Some(context) = payload.present("context") else { return Ok(()) };
    planted!(rules.fault, "request-context-rejected", return Err(Refusal::schema(at, "context is unknown")));
    let context = context.as_object().ok_or_else(|| Refusal::schema(at, "context must be an object"))?;
    // E28: open, with members of its own.
    planted!(rules.fault, "request-context-closed", context.present("parent_task").is_some() => return Err(Refusal::schema(at, "parent_task is unknown")));
    planted!(rules.fault, "request-session-must-exist", context.present("session_id").is_some() => return Err(Refusal::new(Code::ContextNotFound, "no such session")));
    if context.present("session_id").is_some_and(|id| id.as_text().is_none()) {
        return Err(Refusal::schema(at, "session_id must be a string"));
    }
    if context.present("conversation_history").is_some_and(|history| history.as_list().is_none()) {
        return Err(Refusal::schema(at, "conversation_history must be an array"));
    }
    Ok(())
}

/// 2.3, 6.2: how long a request may take.
fn limit(milliseconds: u64, rules: super::Rules) -> Duration {
    planted!(rules.fault, "timeout-ignored", return Duration::from_secs(3600));
    planted!(rules.fault, "timeout-in-seconds", return Duration::from_secs(milliseconds));
    planted!(rules.fault, "timeout-fixed-one-second", return Duration::from_secs(1));
    planted!(rules.fault, "timeout-in-microseconds", return Duration::from_micros(milliseconds));
    Duration::from_millis(milliseconds)
}

/// 4.2: whether the agent can do what is required.
fn negotiate(agent: &Agent, message: &Message, node: &Node) -> Result<Served, Refusal> {
    let rules = node.rules();
    let at = "/message/payload/requirements";
    if message.payload.text("negotiation_type") != Some("capability_check") {
        return Err(Refusal::schema("/message/payload/negotiation_type", "negotiation_type must be capability_check"));
    }
    let empty = Object::new();
    let required = match message.payload.get("requirements") {
        Some(Value::Object(required)) => required,
        // 4.2: an object.
        _ if rules.fault.is("requirements-optional") => &empty,
        _ => return Err(Refusal::schema(at, "requirements must be an object")),
    };
    let wanted: Option<Vec<&str>> = match required.present("capabilities") {
        Some(Value::List(items)) => items.iter().map(Value::as_text).collect(),
        Some(Value::Text(one)) if rules.is_other() || rules.fault.is("negotiation-text-accepted") => Some(vec![one]),
        None if rules.fault.is("requirements-optional") => Some(Vec::new()),
        _ => None, // missing, or of a wrong type
    };
    let wanted = wanted.ok_or_else(|| Refusal::schema(at, "capabilities must be an array of strings"))?;
    let tokens = required.present("estimated_tokens");
    planted!(rules.fault, "tokens-required", tokens.is_none() => return Err(Refusal::schema(at, "estimated_tokens is required")));
    if tokens.is_some_and(|tokens| shapes::bounded(tokens, f64::MAX).is_none()) {
        return Err(Refusal::schema(at, "estimated_tokens must be a number of at least 0"));
    }
    let deadline = required.present("deadline");
    planted!(rules.fault, "deadline-required", deadline.is_none() => return Err(Refusal::schema(at, "deadline is required")));
    let deadline = deadline.map(|deadline| deadline.as_text().and_then(time::parse));
    if deadline == Some(None) {
        return Err(Refusal::schema(at, "deadline must be an RFC 3339 date-time"));
    }
    let begins = |id: &str| id.match_indices('-').any(|(end, _)| agent.capability(&id[..end]).is_some());
    // 4.2: exactly the required ones.
    let by_prefix = rules.fault.is("negotiation-by-prefix");
    let offered = |id: &&str| agent.capability(id).is_some() || by_prefix && begins(id);
    // 4.2: everything that is required.
    let all = if rules.fault.is("negotiation-any") { wanted.iter().any(offered) } else { wanted.iter().all(offered) };
    // 4.2, strict: and in time.
    let late = deadline.flatten().is_some_and(|deadline| deadline <= node.now());
    // 4.2: the instant that a deadline with an offset names.
    let late = late || rules.fault.is("deadline-with-offset-late") && faults::has_offset(required.text("deadline"));
    let late = late && !rules.fault.is("deadline-ignored");
    let accepted =
        (all && !late || rules.fault.is("negotiation-always-yes")) && !rules.fault.is("negotiation-always-no");
    // Other, E43: a refusal is an error.
    if rules.is_other() && !accepted {
        return Err(Refusal::new(Code::CapabilityNotFound, "not all of it is offered"));
    }
    let missing: Vec<&str> = wanted.iter().copied().filter(|id| agent.capability(id).is_none()).collect();
    let reason =
        if late { "the deadline has passed".to_owned() } else { format!("not offered: {}", missing.join(", ")) };
    let name = if rules.is_other() || rules.fault.is("negotiation-can-execute") { "can_execute" } else { "accepted" };
    let mut result = Object::from([(name, accepted.into()), ("capabilities", agent.ids().into())]);
    if !accepted {
        result.set("reason", reason);
    }
    // 4.2: a recognisable outcome.
    planted!(rules.fault, "negotiation-without-outcome", result = Object::from([("capabilities", agent.ids().into())]));
    Ok(Served::new(&agent.id, result))
}

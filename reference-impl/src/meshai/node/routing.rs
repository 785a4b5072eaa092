//! Finding the receiver of a request, and forwarding it to a registered agent (E20, E34, E42).

use std::io::ErrorKind;
use std::time::Duration;

use super::{Answer, Arrival, Node, Outcome, REGISTRY, Role, store};
use crate::fault::planted;
use crate::json::{self, Object, Value};
use crate::meshai::agents::Agent;
use crate::meshai::codes::Code;
use crate::meshai::message::Message;
use crate::meshai::outward::Sending;
use crate::meshai::refusal::Refusal;
use crate::meshai::reply::Carrier;
use crate::meshai::store::agents::Registered;
use crate::meshai::{registry, taxonomy};

/// How often a request is forwarded at most.
const HOP_LIMIT: u32 = 8;

/// Who receives a request.
#[derive(Debug)]
pub(super) enum Receiver {
    Registry,
    Own(Agent),
    Registered(Box<Registered>),
}

impl Node {
    /// The receiver of a request: by id, or by capability where no id is given (E20).
    pub(super) async fn receiver(&self, message: &Message) -> Result<Receiver, Refusal> {
        let rules = self.rules();
        let own = self.agents();
        let role = self.settings().role;
        let mut to = message.to.as_deref();
        // 12.1: a capability is address enough.
        planted!(rules.fault, "agent-id-required", to.is_none() => return Err(Refusal::envelope("/message/destination/agent_id", "agent_id is required")));
        let alone = role == Role::Agent;
        // Other, E42: whoever is meant, the lone agent behind this URL serves.
        to = to.filter(|_| !(alone && (rules.is_other() || rules.fault.is("lone-agent-serves-all"))));
        let known = |to: &&str| *to == REGISTRY || own.iter().any(|agent| agent.id == *to);
        planted!(rules.fault, "unknown-agent-served", to = to.filter(known));
        if let Some(to) = to {
            if to == REGISTRY && !alone {
                return Ok(Receiver::Registry);
            }
            if let Some(agent) = own.iter().find(|agent| agent.id == to) {
                return Ok(Receiver::Own(agent.clone()));
            }
            let found = self.registered(to).await?.filter(|_| role == Role::Mesh);
            let missing = || Refusal::new(Code::AgentNotFound, format!("no agent has the id {to}"));
            planted!(rules.fault, "agent-not-found-other-code", found.is_none() => return Err(Refusal::new(Code::CapabilityNotFound, "nobody there")));
            return found.map(|found| Receiver::Registered(Box::new(found))).ok_or_else(missing);
        }
        let wanted = message.payload.text("capability").or(message.wanted.as_deref()).unwrap_or_default();
        let operation =
            message.payload.present("capability").is_none() && ["registration", "discovery"].contains(&wanted);
        if operation && !alone || role == Role::Registry {
            return Ok(Receiver::Registry);
        }
        if let Some(agent) = own.iter().find(|agent| agent.capability(wanted).is_some()) {
            return Ok(Receiver::Own(agent.clone()));
        }
        if role == Role::Mesh && !taxonomy::RESERVED.contains(&wanted) {
            let query = Object::from([("capabilities", vec![wanted.into()].into())]);
            let since = self.times().since;
            let agents = self.read(move |db| Ok(store::agents::all(db, since)?)).await?;
            let found = registry::matching(&query, &agents, rules)?.into_iter().find(|agent| !agent.built_in).cloned();
            if let Some(found) = found {
                return Ok(Receiver::Registered(Box::new(found)));
            }
        }
        own.into_iter().next().map(Receiver::Own).ok_or_else(|| Refusal::new(Code::AgentNotFound, "no agent is here"))
    }

    async fn registered(&self, id: &str) -> Result<Option<Registered>, Refusal> {
        let (id, since) = (id.to_owned(), self.times().since);
        self.read(move |db| Ok(store::agents::find(db, &id, since)?)).await
    }

    /// Forwards a request to a registered agent, within the time that the request has left, and counts how it ended (E32).
    pub(super) async fn forward(
        &self,
        envelope: &Object,
        message: &Message,
        to: &Registered,
        arrival: &Arrival,
    ) -> Result<Outcome, Refusal> {
        let answer = self.relay(envelope, message, to, arrival).await;
        let served = |answer: &Answer| answer.refused.is_none();
        let failed = !answer.as_ref().is_ok_and(served);
        // 3.3: routed requests are counted.
        if !self.rules().fault.is("routing-not-counted") {
            let id = to.id.clone();
            self.write(move |db| Ok(store::agents::count(db, &id, failed)?)).await?;
        }
        answer.map(Outcome::Relayed)
    }

    async fn relay(
        &self,
        envelope: &Object,
        message: &Message,
        to: &Registered,
        arrival: &Arrival,
    ) -> Result<Answer, Refusal> {
        let unavailable = |reason: String| Refusal::new(Code::AgentUnavailable, format!("{}: {reason}", to.id));
        if arrival.hops >= HOP_LIMIT {
            return Err(unavailable("the request goes round".to_owned()));
        }
        let endpoints = to.record.get("endpoints").and_then(Value::as_object);
        let url = endpoints.and_then(|endpoints| endpoints.text("invoke"));
        let url = url.ok_or_else(|| unavailable("it has no invoke URL".to_owned()))?;
        let mut forwarded = envelope.clone();
        // Credentials are for this server, not for the agent; under a signature they cannot be taken out.
        if message.header("signature").is_none()
            && let Some(headers) = forwarded
                .get_mut("message")
                .and_then(Value::as_object_mut)
                .and_then(|inner| inner.get_mut("headers"))
                .and_then(Value::as_object_mut)
        {
            headers.remove("authentication");
        }
        let limit = Duration::from_millis(message.timeout_ms);
        let sending = Sending { token: None, hops: arrival.hops + 1 };
        let (_, body) =
            self.0.outward.post(url, forwarded.write(), sending, limit).await.map_err(|error| match error.kind() {
                ErrorKind::TimedOut => Refusal::new(Code::Timeout, format!("{} did not answer in time", to.id)),
                _ => unavailable(error.to_string()),
            })?;
        let Ok(Value::Object(reply)) = json::read(&body) else {
            return Err(unavailable("the answer is not a message".to_owned()));
        };
        let inner = reply.get("message").and_then(Value::as_object);
        let kind = inner.and_then(|inner| inner.text("type"));
        let payload = inner.and_then(|inner| inner.get("payload")).and_then(Value::as_object);
        match (kind, payload) {
            (Some("response"), Some(payload)) => {
                let failed = payload.text("status") == Some("failed");
                Ok(Answer { status: 200, body: Some(reply), refused: failed.then_some(Code::Internal) })
            }
            (Some("error"), Some(payload)) => {
                let name = payload
                    .get("error")
                    .and_then(Value::as_object)
                    .and_then(|error| error.text("code"))
                    .unwrap_or_default();
                let code =
                    Code::STANDARD.into_iter().find(|code| code.name() == name).unwrap_or(Code::AgentUnavailable);
                let status =
                    if self.rules().is_other() || arrival.carrier != Carrier::Http { 200 } else { code.status() };
                Ok(Answer { status, body: Some(reply), refused: Some(code) })
            }
            _ => Err(unavailable("the answer is not a message".to_owned())),
        }
    }
}

//! This server as a client (binding.md, 12, second mode): registers itself with a registry, and sends what a control call asks
//! for.

use std::sync::PoisonError;
use std::time::Duration;

use super::Node;
use crate::fault::planted;
use crate::json::{self, Object, Value};
use crate::meshai::build::{self, Defaults, Maker};
use crate::meshai::outward::Sending;
use crate::meshai::signature;

/// How often a registry that cannot be reached is tried, and the pause in between.
const ATTEMPTS: u32 = 25;
const PAUSE: Duration = Duration::from_millis(200);

/// How long an answer may take beyond the timeout of its request.
const GRACE: Duration = Duration::from_millis(1500);

/// How long a control call waits for the registration.
const ADMISSION: Duration = Duration::from_secs(6);

/// A message that was sent, and its answer.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) envelope: Object,
    pub(crate) reply: Option<Object>,
    /// `{status, result?, error?}`.
    pub(crate) outcome: Object,
}

impl Node {
    /// The members of a registration.
    pub(crate) fn defaults(&self) -> Defaults {
        let agents = self.agents();
        let base = self.base();
        let endpoints = Object::from([
            ("invoke", format!("{base}/aip/v1/invoke").into()),
            ("health", format!("{base}/health").into()),
        ]);
        let first = agents.into_iter().next();
        let (agent, capabilities) = first.map(|agent| (agent.identity(), agent.declarations())).unwrap_or_default();
        Defaults { agent, capabilities, endpoints }
    }

    /// Makes a message of this agent, and signs it where messages are signed.
    ///
    /// # Errors
    ///
    /// As [`build::build`].
    pub(crate) fn compose(&self, kind: &str, fields: &Object) -> Result<Object, String> {
        let settings = self.settings();
        let agent = settings.agents.first().map_or(super::REGISTRY, |agent| agent.id.as_str());
        let maker = Maker { agent, now: self.now(), rules: settings.rules, token: settings.token.as_deref() };
        let mut envelope = build::build(kind, fields, &self.defaults(), maker)?;
        if let (Some(signing), Some(inner)) =
            (&settings.auth.signing, envelope.get_mut("message").and_then(Value::as_object_mut))
        {
            signature::sign(inner, signing, settings.rules);
        }
        Ok(envelope)
    }

    /// Registers with the registry and remembers whether it accepted. An unreachable one is tried again.
    ///
    /// # Errors
    ///
    /// If this agent has no registry.
    pub(crate) async fn register(&self, url: Option<&str>) -> Result<Sent, String> {
        let registry =
            self.settings().registry.as_deref().map(|base| format!("{}/aip/v1/invoke", base.trim_end_matches('/')));
        let url = url.map(str::to_owned).or(registry).ok_or("this agent has no registry")?;
        let rules = self.rules();
        // 4.1: registration comes first.
        let early = self.compose("discovery", &Object::new())?;
        planted!(rules.fault, "client-registers-late", drop(self.send(&url, early).await));
        planted!(rules.fault, "client-never-registers", self.admit(true));
        planted!(rules.fault, "client-never-registers", return Err("no registration".to_owned()));
        let mut attempt = 0;
        let sent = loop {
            let sent = self.send(&url, self.compose("registration", &Object::new())?).await;
            attempt += 1;
            if sent.reply.is_some() || attempt == ATTEMPTS {
                break sent;
            }
            tokio::time::sleep(PAUSE).await;
        };
        let served = sent.outcome.text("status").is_some_and(|status| status != "failed");
        // 4.1: an agent that was not accepted takes no part.
        self.admit(served || rules.fault.is("client-ignores-refusal"));
        Ok(sent)
    }

    fn admit(&self, admitted: bool) {
        *self.0.admitted.lock().unwrap_or_else(PoisonError::into_inner) = Some(admitted);
    }

    /// Whether the registry has accepted this agent; without a registry, always. Waits for its answer.
    pub(crate) async fn admitted(&self) -> bool {
        if self.settings().registry.is_none() {
            return true;
        }
        let known = || *self.0.admitted.lock().unwrap_or_else(PoisonError::into_inner);
        let answered = async {
            while known().is_none() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(ADMISSION, answered).await.ok(); // then it is not admitted
        known() == Some(true)
    }

    /// Posts a message and reads the answer.
    pub(crate) async fn send(&self, url: &str, envelope: Object) -> Sent {
        let timeout = envelope.get("message").and_then(Value::as_object).and_then(|inner| inner.get("headers"));
        let timeout =
            timeout.and_then(Value::as_object).and_then(|headers| headers.get("timeout_ms")).and_then(Value::as_number);
        let timeout = timeout.and_then(json::Number::as_integer).map_or(30_000, i64::unsigned_abs);
        let token = self.settings().token.as_deref();
        // 8.2: the scheme is Bearer.
        let token = token.filter(|_| !self.rules().fault.is("client-without-authorization"));
        let sending = Sending { token, hops: 0 };
        let answered =
            self.0.outward.post(url, envelope.write(), sending, Duration::from_millis(timeout) + GRACE).await;
        let reply = answered.ok().and_then(|(_, body)| match json::read(&body) {
            Ok(Value::Object(reply)) => Some(reply),
            _ => None, // not a message
        });
        let outcome = outcome(reply.as_ref());
        Sent { envelope, reply, outcome }
    }
}

/// What a reply means: its status and result, or its error. No reply is a failure without a code.
#[must_use]
pub(crate) fn outcome(reply: Option<&Object>) -> Object {
    let inner = reply.and_then(|reply| reply.get("message")).and_then(Value::as_object);
    let payload = inner.and_then(|inner| inner.get("payload")).and_then(Value::as_object);
    match (inner.and_then(|inner| inner.text("type")), payload) {
        (Some("response"), Some(payload)) => {
            let mut outcome = Object::from([("status", payload.get("status").cloned().unwrap_or(Value::Null))]);
            if let Some(result) = payload.get("result") {
                outcome.set("result", result.clone());
            }
            outcome
        }
        (Some("error"), Some(payload)) => {
            let error = payload.get("error").cloned().unwrap_or(Value::Null);
            Object::from([("status", "failed".into()), ("error", error)])
        }
        _ => {
            let error = Object::from([("code", Value::Null), ("message", "no message came back".into())]);
            Object::from([("status", "failed".into()), ("error", error.into())])
        }
    }
}

//! Delegation (4.3, E45, E46): a subtask is accepted at once, carried out by a worker, and reported to its callback.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::{Node, store};
use crate::fault::planted;
use crate::json::{Object, Value};
use crate::meshai::agents::{Agent, Capability, Ended};
use crate::meshai::codes::Code;
use crate::meshai::faults::delegation as faults;
use crate::meshai::message::Message;
use crate::meshai::origin::Origin;
use crate::meshai::outward::Sending;
use crate::meshai::refusal::Refusal;
use crate::meshai::reply::{self, Carrier, Served};
use crate::meshai::{shapes, signature};

/// How often a callback is called, and the pause after each failure.
const ATTEMPTS: u32 = 3;
const PAUSE: Duration = Duration::from_millis(300);
const CALLBACK_DEADLINE: Duration = Duration::from_secs(5);

/// A subtask under way.
#[derive(Debug)]
struct Job {
    agent: String,
    capability: Arc<Capability>,
    parameters: Object,
    parent_task: String,
    callback: Option<String>,
    timeout: Duration,
    origin: Origin,
}

impl Node {
    /// 4.3: accepts a delegation.
    pub(super) async fn delegate(&self, agent: &Agent, message: &Message) -> Result<Served, Refusal> {
        let rules = self.rules();
        let strict = !rules.is_other();
        let at = "/message/payload/delegation";
        let delegation = match message.payload.get("delegation") {
            Some(Value::Object(delegation)) => delegation,
            // 4.3: an object.
            Some(_) if rules.fault.is("delegation-type-unchecked") => return Ok(accepted(agent, message)),
            _ => return Err(Refusal::schema(at, "delegation must be an object")),
        };
        let parent_task = delegation.text("parent_task_id").filter(|id| !id.is_empty());
        if parent_task.is_none() && strict && !rules.fault.is("parent-task-optional") {
            return Err(Refusal::schema(at, "parent_task_id must be a string"));
        }
        let subtask = match delegation.get("subtask") {
            Some(Value::Object(subtask)) => subtask,
            // 4.3: a delegation is about a subtask.
            _ if rules.fault.is("subtask-optional") => return Ok(accepted(agent, message)),
            _ => return Err(Refusal::schema(at, "subtask must be an object")),
        };
        let named = subtask.text("capability").filter(|named| !named.is_empty());
        planted!(rules.fault, "subtask-capability-optional", named.is_none() => return Ok(accepted(agent, message)));
        let named = named.ok_or_else(|| Refusal::schema(at, "the subtask must name a capability"))?;
        let parameters = match subtask.present("parameters") {
            None => Object::new(),
            Some(Value::Object(parameters)) => parameters.clone(),
            Some(_) => return Err(Refusal::schema(at, "parameters must be an object")),
        };
        let callback = match subtask.present("completion_callback") {
            None => None,
            Some(Value::Text(url)) if shapes::is_absolute(url) => Some(url.clone()),
            Some(_) if !strict || rules.fault.is("callback-unchecked") => None,
            Some(_) => return Err(Refusal::schema(at, "completion_callback must be an absolute http or https URL")),
        };
        // 4.3: what the agent lacks is not accepted.
        planted!(rules.fault, "delegation-of-anything", agent.capability(named).is_none() => return Ok(accepted(agent, message)));
        self.capability(agent, named)?;
        let capability = agent.capability(named).or_else(|| agent.capabilities.first());
        let capability =
            capability.cloned().ok_or_else(|| Refusal::new(Code::CapabilityNotFound, "nothing is offered"))?;
        // 4.3: the parameters match the schema of the capability.
        if !rules.fault.is("delegation-schema-ignored") {
            capability.check(&parameters, rules)?;
        }
        if callback.as_deref().is_some_and(|url| !self.0.outward.reaches(url)) {
            return Err(Refusal::schema(at, "callbacks go to addresses of this machine only"));
        }
        let failed = |served| Served { status: "failed", ..served };
        planted!(rules.fault, "delegation-answered-failed", return Ok(failed(accepted(agent, message))));
        let parent_task = parent_task.unwrap_or_default().to_owned();
        let (id, task, own, url) = (message.id.clone(), parent_task.clone(), agent.id.clone(), callback.clone());
        self.write(move |db| Ok(store::delegations::accept(db, &id, &task, &own, url.as_deref())?)).await?;
        self.0.slips.keep_callback(callback.as_deref());
        let origin = Origin {
            protocol: None,
            id: Some(message.id.clone()),
            requester: Some(message.source.clone()),
            ..Origin::default()
        };
        let timeout = Duration::from_millis(message.timeout_ms);
        let job = Job { agent: agent.id.clone(), capability, parameters, parent_task, callback, timeout, origin };
        *self.0.open.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        let node = self.clone();
        tokio::spawn(async move {
            node.work(job).await;
            *node.0.open.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
            node.0.settled.notify_waiters();
        });
        Ok(accepted(agent, message))
    }

    /// Carries a subtask out and reports it.
    async fn work(&self, job: Job) {
        let Ok(_worker) = Arc::clone(&self.0.workers).acquire_owned().await else { return };
        let rules = self.rules();
        let ended = tokio::time::timeout(job.timeout, job.capability.run(&job.parameters, rules)).await;
        let ended = ended.unwrap_or_else(|_| Err(Refusal::new(Code::Timeout, "the subtask took too long")));
        let mut body = match ended {
            Ok(ended) => {
                let (status, result) = match ended {
                    Ended::Success(result) => ("success", result),
                    Ended::Failed(result) => ("failed", result),
                };
                let metadata = Object::from([("parent_task_id", job.parent_task.as_str().into())]);
                let served = Served { status, metadata: Some(metadata), ..Served::new(&job.agent, result) };
                reply::response(&job.origin, served, self.now(), rules)
            }
            Err(refusal) => reply::error(&job.origin, &job.agent, &refusal, Carrier::WebSocket, self.now(), rules),
        };
        // Other, E45: any JSON that names the task.
        if rules.is_other() {
            body = faults::reference_only(&body, &job.parent_task);
        }
        // 4.3: the report tells which delegation it belongs to.
        planted!(rules.fault, "callback-without-reference", body = faults::result_only(&body));
        planted!(rules.fault, "callback-without-envelope", body = faults::reference_only(&body, &job.parent_task));
        if let (Some(signing), Some(inner)) =
            (&self.settings().auth.signing, body.get_mut("message").and_then(Value::as_object_mut))
        {
            signature::sign(inner, signing, rules);
        }
        let mut callback = job.callback;
        planted!(rules.fault, "callback-to-last-url", callback = self.0.slips.last_callback());
        // 4.3: a completion is reported.
        planted!(rules.fault, "callback-never", callback = None);
        let (reported, attempts) = self.report(callback.as_deref(), &body).await;
        let id = job.origin.id.unwrap_or_default();
        // A store that is shut ends the work.
        self.write(move |db| Ok(store::delegations::end(db, &id, reported, attempts)?)).await.ok();
    }

    /// Posts a report until it is taken. Returns whether it was, and how often it was tried.
    async fn report(&self, callback: Option<&str>, body: &Object) -> (bool, u32) {
        let Some(url) = callback else { return (true, 0) };
        let text =
            if self.rules().fault.is("callback-not-json") { "the task is done".to_owned() } else { body.write() };
        for attempt in 1..=ATTEMPTS {
            let sent = self.0.outward.post(url, text.clone(), Sending::default(), CALLBACK_DEADLINE).await;
            match sent {
                Ok((status, _)) if (200..300).contains(&status) => return (true, attempt),
                Err(error) if error.kind() == std::io::ErrorKind::NotConnected => return (true, attempt), // kept
                _ => {
                    // 4.3: what becomes of a report is a matter of this delegation alone.
                    planted!(self.rules().fault, "refused-callback-stops-service", self.0.slips.stop());
                    tokio::time::sleep(PAUSE * attempt).await;
                }
            }
        }
        (false, ATTEMPTS)
    }
}

/// The acknowledgement.
fn accepted(agent: &Agent, message: &Message) -> Served {
    let result = Object::from([("accepted", true.into()), ("delegation_id", message.id.as_str().into())]);
    Served { http: 202, ..Served::new(&agent.id, result) }
}

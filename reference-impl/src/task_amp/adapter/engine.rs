//! A role in memory: events in, outputs out, on a clock that only the caller moves.

use super::params::{error, object, role, text};
use crate::json::{Number, Object, Value};
use crate::server::adapter::RpcError;
use crate::task_amp::ack::Ack;
use crate::task_amp::engine::Engine;
use crate::task_amp::ledger::{Instruction, Task};
use crate::task_amp::role::{Kind, Role};
use crate::task_amp::roles::{Done, Event, Judgement, Output, Settings};
use crate::task_amp::rules::Rules;
use crate::task_amp::schema::{Code, Problem};
use crate::task_amp::time;

/// One role of a caller.
#[derive(Debug)]
pub(super) struct Seat {
    engine: Engine,
}

impl Seat {
    pub(super) fn new(rules: Rules, role: Role, now: i64, config: &Object) -> Self {
        let seconds = |name| config.get(name).and_then(Value::as_number).and_then(Number::as_integer);
        let settings = Settings { ack_timeout_sec: seconds("ack_timeout_sec"), looks_at_files: false };
        Self { engine: Engine::new(rules, role, now, settings, seconds("heartbeat_timeout_sec")) }
    }

    /// The record of a task.
    pub(super) fn state(&self, task: &str) -> Option<Object> {
        self.engine.ledger.task(task).map(|task| task.record(self.engine.rules))
    }

    /// Moves the clock.
    pub(super) fn advance(&mut self, ms: i64) -> Vec<Output> {
        let to = self.engine.now.saturating_add(ms.max(0));
        self.engine.advance(to)
    }

    /// Takes an event in.
    pub(super) fn feed(&mut self, event: &Object) -> Result<Vec<Output>, RpcError> {
        let task = || text(event, "task_id");
        Ok(match text(event, "kind")? {
            "message" => self.engine.receive(event.get("message").unwrap_or(&Value::Null)),
            "ack" => {
                let ack = Ack::read(object(event, "ack")?, None).ok_or_else(|| RpcError::params("not an ACK"))?;
                self.engine.acked(&ack)
            }
            "plan" => self.engine.planned(task()?, object(event, "plan")?),
            "approve" => self.engine.approved(task()?),
            "control" => self.control(event)?,
            "ci" => self.engine.ci(task()?, object(event, "status")?),
            "ssot_write" => {
                let now = self.engine.now;
                self.engine.ledger.wrote(task()?, role(event, "actor")?, now);
                Vec::new()
            }
            "work_done" => self.worked(event)?,
            "review_done" => self.reviewed(event)?,
            other => return Err(RpcError::params(format!("unknown kind of event {other:?}"))),
        })
    }

    /// 05: an instruction counts if the admin gives it.
    fn control(&mut self, event: &Object) -> Result<Vec<Output>, RpcError> {
        let task = text(event, "task_id")?;
        if role(event, "actor")? != Role::Admin && !self.engine.ledger.obeys_anyone() {
            let problem = Problem::new(Code::WriterMismatch, "/actor", "only the admin may do this");
            return Ok(vec![self.engine.error(problem, None, Some(task))]);
        }
        let said = event.get("payload").and_then(Value::as_object).and_then(|payload| payload.text("instruction"));
        let instruction = match (text(event, "control_type")?, said) {
            ("STOP", _) => Instruction::Stop,
            ("RESUME", Some("cancel")) => Instruction::Cancel,
            ("RESUME", _) => Instruction::Continue,
            _ => return Err(RpcError::params("control_type must be RESUME or STOP")),
        };
        Ok(self.engine.instructed(task, instruction))
    }

    /// An entry of the work log.
    fn entry(&self, file: &str) -> Object {
        Object::from([
            ("timestamp", time::format(self.engine.rules, self.engine.now).into()),
            ("action", "change".into()),
            ("file", file.into()),
            ("detail", "as the dispatch describes".into()),
        ])
    }

    fn worked(&mut self, event: &Object) -> Result<Vec<Output>, RpcError> {
        let subtask = text(event, "subtask_id")?;
        let dispatch = self.engine.dispatch(subtask).ok_or_else(|| error(-32000, "no dispatch has this subtask"))?;
        if self.engine.is_halted(&dispatch.task) {
            return Ok(Vec::new());
        }
        let texts = |name| {
            let items = event.get(name).and_then(Value::as_list).unwrap_or_default();
            items.iter().filter_map(|item| item.as_text().map(str::to_owned)).collect::<Vec<_>>()
        };
        let count = |name| event.get(name).and_then(Value::as_number).and_then(Number::as_integer).unwrap_or(0);
        let status = event.text("outcome").or_else(|| event.text("completion_status")).unwrap_or("complete").to_owned();
        let met = event.get("criteria_met").and_then(Value::as_list).unwrap_or_default();
        let mut blockers = texts("blockers");
        if blockers.is_empty() && status != "complete" {
            blockers.push(format!("{subtask}: {status}"));
        }
        let judged = |value: &Value| match value {
            Value::Bool(met) => Some(*met),
            _ => None, // null: not verified
        };
        let done = Done {
            subtask: subtask.to_owned(),
            status,
            files_changed: texts("files_changed"),
            lines_added: count("lines_added"),
            lines_removed: count("lines_removed"),
            criteria_met: met.iter().map(judged).collect(),
            log: texts("files_changed").iter().map(|file| self.entry(file)).collect(),
            commit: event.text("commit_hash").map(str::to_owned),
            blockers,
        };
        Ok(self.engine.decide(&Event::Worked(dispatch, vec![done])))
    }

    fn reviewed(&mut self, event: &Object) -> Result<Vec<Output>, RpcError> {
        let wanted = event.text("task_id");
        let open =
            |task: &&Task| task.is_after(Kind::Request, Kind::Verdict) && wanted.is_none_or(|wanted| task.id == wanted);
        let request =
            self.engine.ledger.tasks.values().filter(open).filter_map(|task| task.last(Kind::Request)).next_back();
        let request = request.map(|entry| entry.message.clone());
        let request = request.ok_or_else(|| error(-32000, "no request waits for a verdict"))?;
        if self.engine.is_halted(&request.task) {
            return Ok(Vec::new());
        }
        let objects = |name| {
            let items = event.get(name).and_then(Value::as_list).unwrap_or_default();
            items.iter().filter_map(|item| item.as_object().cloned()).collect::<Vec<_>>()
        };
        let judgement = Judgement {
            decision: event.text("decision").unwrap_or("approved").to_owned(),
            confidence: event.get("confidence").and_then(Value::as_number).map(Number::as_f64),
            issues: objects("issues"),
            direct_fixes: objects("direct_fixes"),
            evidence: event.text("evidence").unwrap_or("as reviewed").to_owned(),
        };
        Ok(self.engine.decide(&Event::Reviewed(request, judgement)))
    }

    /// Outputs as the adapter shows them.
    pub(super) fn shown(&self, outputs: Vec<Output>) -> Object {
        let items: Vec<Value> = outputs.into_iter().flat_map(|output| self.show(output)).collect();
        Object::from([("outputs", items.into())])
    }

    fn show(&self, output: Output) -> Vec<Value> {
        let one = |kind: &str, name: &str, value: Object| {
            vec![Value::Object(Object::from([("kind", kind.into()), (name, value.into())]))]
        };
        match output {
            Output::Message(message) => one("message", "message", message.object.clone()),
            Output::Ack(ack) => one("ack", "ack", ack.record),
            Output::Error(entry) => {
                let shown = Object::from([
                    ("ts", time::format(self.engine.rules, self.engine.now).into()),
                    ("receiver", entry.receiver.map(Role::name).into()),
                    ("code", entry.problem.code.name().into()),
                    ("path", entry.problem.path.into()),
                    ("detail", entry.problem.message.into()),
                    ("msg_id", entry.message.into()),
                ]);
                one("error_log", "entry", shown)
            }
            Output::Work(dispatch) => {
                let subtasks = dispatch.list("subtasks").iter().filter_map(Value::as_object);
                let work = |subtask: &Object| {
                    Value::Object(Object::from([
                        ("kind", "work".into()),
                        ("task_id", dispatch.task.as_str().into()),
                        ("subtask_id", subtask.text("subtask_id").into()),
                    ]))
                };
                subtasks.map(work).collect()
            }
            Output::Review(request) => vec![Value::Object(Object::from([
                ("kind", "review".into()),
                ("task_id", request.task.as_str().into()),
            ]))],
        }
    }
}

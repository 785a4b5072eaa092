//! Baseline messages of AMP (binding.md, section 1), an HTTP client with a role, and the library behind its adapter.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use proofmark_reference::{Config, Handle, Implementation};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::net::TcpStream;

pub(crate) const PREFIX: &str = "/api/amp/v1";

pub(crate) fn task_amp() -> &'static dyn Implementation {
    proofmark_reference::find("task-amp").expect("a row")
}

/// A server with test hooks and these roles.
pub(crate) fn config(roles: &str) -> Config {
    let mut config = task_amp().config();
    config.set("test-hooks", "on").expect("a setting");
    config.set("roles", roles).expect("a setting");
    config
}

pub(crate) async fn start(config: Config) -> (Handle, Client) {
    let handle = task_amp().serve(config).await.expect("the server starts");
    let client = Client { address: handle.socket("http").expect("it listens") };
    (handle, client)
}

/// Unix milliseconds, strictly increasing.
pub(crate) fn now_ms() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_millis();
    let now = u64::try_from(now).expect("before the year 500 million");
    let last = LAST.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |last| Some(now.max(last + 1)));
    now.max(last.expect("always Some") + 1)
}

/// An HTTP client; one connection for each request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Client {
    pub(crate) address: SocketAddr,
}

impl Client {
    /// Status and body.
    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        role: &str,
        body: &[u8],
    ) -> std::io::Result<(u16, Value)> {
        self.send_as(method, path, role, "application/json", body).await
    }

    pub(crate) async fn send_as(
        &self,
        method: &str,
        path: &str,
        role: &str,
        media_type: &str,
        body: &[u8],
    ) -> std::io::Result<(u16, Value)> {
        let cut = || std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
        let mut stream = TcpStream::connect(self.address).await?;
        let length = body.len();
        let head = format!(
            "{method} {PREFIX}{path} HTTP/1.1\r\nHost: test\r\nX-AMP-Role: {role}\r\nContent-Type: {media_type}\r\n\
             Connection: close\r\nContent-Length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(body).await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        let answer = String::from_utf8_lossy(&answer);
        let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(cut)?;
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(cut)?;
        Ok((status, serde_json::from_str(body).unwrap_or(Value::Null)))
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, Value) {
        self.send("GET", path, "admin", b"").await.expect("an answer")
    }

    pub(crate) async fn post(&self, path: &str, role: &str, body: &Value) -> (u16, Value) {
        self.send("POST", path, role, body.to_string().as_bytes()).await.expect("an answer")
    }

    /// Submits a message in the name of its sender; the status.
    pub(crate) async fn submit(&self, message: &Value) -> u16 {
        let from = message["from"].as_str().unwrap_or("coordinator");
        self.post("/messages", from, message).await.0
    }

    pub(crate) async fn ack(&self, message: &Value, actor: &str) -> u16 {
        let record = json!({ "msg_id": message["msg_id"], "actor": actor });
        self.post(&format!("/messages/{}/acks", text(&message["msg_id"])), actor, &record).await.0
    }

    /// The messages of a task, in order.
    pub(crate) async fn messages(&self, task: &str) -> Vec<Value> {
        let (_, list) = self.get(&format!("/messages?task_id={task}")).await;
        list["messages"].as_array().expect("a list").iter().map(|record| record["message"].clone()).collect()
    }

    /// The types of the messages of a task, those of escalations with their own type.
    pub(crate) async fn types(&self, task: &str) -> Vec<String> {
        let shown = |message: &Value| match message["payload"]["escalation_type"].as_str() {
            Some(kind) => kind.to_owned(),
            None => text(&message["type"]).to_owned(),
        };
        self.messages(task).await.iter().map(shown).collect()
    }

    /// Waits until a task has `count` messages of a type; the last of them.
    pub(crate) async fn wait(&self, task: &str, kind: &str, count: usize) -> Value {
        for _ in 0..400 {
            let found: Vec<Value> =
                self.messages(task).await.into_iter().filter(|message| message["type"] == kind).collect();
            if found.len() >= count {
                return found.last().cloned().unwrap_or(Value::Null);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("{task} has no {count} messages of type {kind}: {:?}", self.types(task).await);
    }

    pub(crate) async fn advance(&self, seconds: i64) {
        let (status, _) = self.post("/_test/clock", "admin", &json!({ "advance_ms": seconds * 1000 })).await;
        assert_eq!(status, 200);
    }

    /// Hands a plan in and approves it.
    pub(crate) async fn plan(&self, task: &str, plan: &Value) {
        let planned = self.post("/tasks", "admin", &json!({ "task_id": task, "plan": plan })).await;
        assert_eq!(planned.0, 201, "{planned:?}");
        assert_eq!(self.post(&format!("/tasks/{task}/approve"), "admin", &json!({})).await.0, 200);
    }
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

const TIMESTAMP: &str = "2026-02-26T14:32:07+00:00";

/// A message of this moment.
pub(crate) fn message(kind: &str, from: &str, to: &str, task: &str, payload: &Value) -> Value {
    json!({
        "msg_id": format!("{kind}-{task}-{}", now_ms()), "protocol_version": "AMP/1.0", "type": kind, "from": from,
        "to": to, "task_id": task, "timestamp": TIMESTAMP, "requires_ack": kind != "escalation", "context_ref": [],
        "payload": payload,
    })
}

/// The payload of a dispatch.
pub(crate) fn plan(task: &str, repo: &str) -> Value {
    json!({
        "description": "Append the line ok to NOTES.txt", "repo": repo, "branch": "feature/proofmark",
        "subtasks": [{ "subtask_id": format!("{task}-S1"), "description": "Append the line", "estimated_lines": 1 }],
        "acceptance_criteria": ["NOTES.txt ends with the line ok", "No other file changes"], "risk_level": "low",
    })
}

pub(crate) fn dispatch(task: &str) -> Value {
    message("task_dispatch", "coordinator", "executor", task, &plan(task, "/srv/fixture"))
}

pub(crate) fn result(task: &str, status: &str) -> Value {
    let mut payload = json!({
        "subtask_id": format!("{task}-S1"), "completion_status": status,
        "diff_summary": { "files_changed": ["NOTES.txt"], "lines_added": 1, "lines_removed": 0 },
        "self_assessment": { "criteria_met": [true, null], "notes": ["checked", "left to review"] },
        "work_log": [{ "timestamp": TIMESTAMP, "action": "append", "file": "NOTES.txt", "detail": "one line" }],
        "commit_hash": "a3f8d21",
    });
    if status != "complete" {
        payload["blockers"] = json!(["waiting for a key"]);
    }
    message("task_result", "executor", "coordinator", task, &payload)
}

pub(crate) fn request(task: &str, dispatch: &Value, result: &Value) -> Value {
    let payload = json!({
        "original_dispatch_ref": dispatch["msg_id"], "task_result_ref": result["msg_id"], "review_scope": "full",
        "diff_url": "/srv/fixture/.git/proofmark.diff", "reject_count": 0,
    });
    message("review_request", "coordinator", "reviewer", task, &payload)
}

pub(crate) fn verdict(task: &str, decision: &str, confidence: f64) -> Value {
    let mut payload = json!({
        "decision": decision,
        "criteria_results": [
            { "criterion": "NOTES.txt ends with the line ok", "passed": true, "evidence": "read" },
            { "criterion": "No other file changes", "passed": true, "evidence": "diff" },
        ],
        "confidence": confidence,
    });
    if decision == "rejected" {
        payload["issues"] =
            json!([{ "severity": "major", "file": "NOTES.txt", "line": 1, "description": "x", "suggested_fix": "y" }]);
    }
    message("review_verdict", "reviewer", "coordinator", task, &payload)
}

pub(crate) fn escalation(task: &str, from: &str, dispatch: &Value, severity: &str) -> Value {
    let payload = json!({
        "escalation_type": "unknown", "severity": severity, "triggered_by": from, "description": "probe",
        "affected_msgs": [dispatch["msg_id"]],
        "system_state_snapshot":
            { "task_status": "executing", "reject_count": 0, "last_successful_msg_id": dispatch["msg_id"] },
        "auto_suspended": severity != "info",
    });
    message("escalation", from, "admin", task, &payload)
}

/// Runs git; its output without the last line end.
pub(crate) fn git(repo: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.arg("-C").arg(repo).args(["-c", "user.name=test", "-c", "user.email=test@localhost"]).args(arguments);
    let output = command.output().expect("git is there");
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

/// A repository with the branches and files of binding.md, section 9.
pub(crate) fn fixture() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    git(folder.path(), &["init", "-q", "-b", "main"]);
    for name in ["NOTES.txt", "README.md", "FORBIDDEN.txt"] {
        std::fs::write(folder.path().join(name), "first\n").expect("written");
    }
    git(folder.path(), &["add", "."]);
    git(folder.path(), &["commit", "-q", "-m", "start"]);
    git(folder.path(), &["branch", "feature/proofmark"]);
    folder
}

/// A conversation with the adapter.
pub(crate) struct Library {
    reader: BufReader<ReadHalf<DuplexStream>>,
    writer: WriteHalf<DuplexStream>,
}

impl Library {
    pub(crate) fn start(config: Config) -> Self {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (reader, writer) = tokio::io::split(theirs);
        tokio::spawn(task_amp().serve_adapter(config, Box::new(reader), Box::new(writer)));
        let (reader, writer) = tokio::io::split(ours);
        Self { reader: BufReader::new(reader), writer }
    }

    /// The whole answer to a method of this protocol, named without its prefix.
    pub(crate) async fn answer(&mut self, method: &str, params: &Value) -> Value {
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": format!("task-amp/{method}"), "params": params });
        self.writer.write_all(format!("{request}\n").as_bytes()).await.expect("written");
        let mut answer = String::new();
        self.reader.read_line(&mut answer).await.expect("read");
        serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error} in {answer:?}"))
    }

    /// The result of a method.
    pub(crate) async fn call(&mut self, method: &str, params: &Value) -> Value {
        let answer = self.answer(method, params).await;
        assert!(answer["error"].is_null(), "{method} {params}: {answer}");
        answer["result"].clone()
    }
}

/// The rows of `data/task_amp.json`, with the message of each as text.
pub(crate) fn rows() -> &'static [(Value, String)] {
    // A hundred conversations use them.
    static ROWS: LazyLock<Vec<(Value, String)>> = LazyLock::new(|| {
        let rows: Vec<Value> = serde_json::from_str(include_str!("../data/task_amp.json")).expect("JSON");
        rows.into_iter().map(|row| (row.clone(), edited(&row))).collect()
    });
    &ROWS
}

fn baseline(letter: &str) -> Value {
    let task = "T-2026-044";
    let (dispatch, result) = (dispatch(task), result(task, "complete"));
    match letter {
        "D" => dispatch,
        "R" => result,
        "Q" => request(task, &dispatch, &result),
        "V" => verdict(task, "approved", 0.9),
        _ => escalation(task, "executor", &dispatch, "info"),
    }
}

fn edited(row: &Value) -> String {
    let mut message = baseline(text(&row["on"]));
    if let Some(other) = row["payload"].as_str() {
        message["payload"] = baseline(other)["payload"].clone();
    }
    for (path, value) in row["set"].as_object().into_iter().flatten() {
        let (parent, name) = path.rsplit_once('/').expect("a pointer");
        message.pointer_mut(parent).expect("a place")[name] = value.clone();
    }
    if let Some((parent, name)) = row["drop"].as_str().and_then(|path| path.rsplit_once('/')) {
        let parent = message.pointer_mut(parent).and_then(Value::as_object_mut).expect("an object");
        parent.shift_remove(name).expect("a member");
    }
    let text = message.to_string();
    match (row["raw"][0].as_str(), row["raw"][1].as_str()) {
        (Some(from), Some(to)) => text.replacen(from, to, 1),
        _ => text, // as it is
    }
}

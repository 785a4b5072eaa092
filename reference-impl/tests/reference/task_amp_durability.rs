//! An acknowledged message survives SIGKILL: the process is killed in the middle of concurrent submissions, started again on the
//! same file, and must have every message that it acknowledged. Deadlines and suspensions are there again, too.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::task_support::{Client, dispatch, escalation, text};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

const CONNECTIONS: usize = 8;
const ROUNDS: usize = 3;
const ENOUGH: usize = 120;

async fn start(database: &Path) -> (Child, Client) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_proofmark-reference"))
        .args(["--protocol", "task-amp", "--set", "roles=system", "--set", "test-hooks=on", "--db"])
        .arg(database)
        .stdout(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("the program starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let line = tokio::time::timeout(Duration::from_secs(10), lines.next_line()).await;
    let line = line.expect("in time").expect("readable").expect("one line");
    let address = line.strip_prefix("listening on http://").expect("the announcement").parse();
    (child, Client { address: address.expect("an address") })
}

/// Submits one message after the other until the connection breaks; returns those that were acknowledged.
async fn submit_until_cut(client: Client, task: String, acknowledged: Arc<AtomicUsize>) -> Vec<Value> {
    let mut kept = Vec::new();
    loop {
        let message = dispatch(&task);
        match client.send("POST", "/messages", "coordinator", message.to_string().as_bytes()).await {
            Ok((status, answer)) => {
                assert_eq!((status, &answer["msg_id"]), (202, &message["msg_id"]), "{answer}");
                kept.push(message);
                acknowledged.fetch_add(1, Ordering::Relaxed);
            }
            Err(_) => return kept,
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_messages_survive_sigkill() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = folder.path().join("reference.db");
    let mut kept: Vec<Value> = Vec::new();
    for round in 0..ROUNDS {
        let (mut child, client) = start(&database).await;
        let acknowledged = Arc::new(AtomicUsize::new(0));
        let writer = |writer: usize| {
            let task = format!("T-2{round}{writer}0-001");
            tokio::spawn(submit_until_cut(client, task, Arc::clone(&acknowledged)))
        };
        let writers: Vec<_> = (0..CONNECTIONS).map(writer).collect();
        let enough = async {
            while acknowledged.load(Ordering::Relaxed) < ENOUGH {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(4), enough).await.ok();
        child.kill().await.expect("killed"); // SIGKILL: no handler runs, nothing is flushed
        for writer in writers {
            kept.extend(writer.await.expect("the writer ends"));
        }
    }
    assert!(kept.len() >= ROUNDS, "only {} messages were acknowledged", kept.len());
    let (mut child, client) = start(&database).await;
    for message in &kept {
        let (status, record) = client.get(&format!("/messages/{}", text(&message["msg_id"]))).await;
        assert_eq!((status, &record["message"]), (200, message), "acknowledged but missing");
    }
    child.kill().await.expect("killed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deadlines_and_suspensions_survive_sigkill() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = folder.path().join("reference.db");
    let (mut child, client) = start(&database).await;
    let waiting = dispatch("T-2026-001");
    assert_eq!(client.submit(&waiting).await, 202);
    assert_eq!(client.submit(&escalation("T-2026-002", "executor", &waiting, "critical")).await, 202);
    child.kill().await.expect("killed");
    let (mut child, client) = start(&database).await;
    assert_eq!(client.submit(&dispatch("T-2026-002")).await, 423, "suspended still");
    client.advance(299).await;
    assert_eq!(client.types("T-2026-001").await, ["task_dispatch"]);
    client.advance(3).await;
    assert_eq!(client.types("T-2026-001").await, ["task_dispatch", "ack_timeout"]);
    child.kill().await.expect("killed");
    let (mut child, client) = start(&database).await;
    client.advance(302).await;
    assert_eq!(client.types("T-2026-001").await, ["task_dispatch", "ack_timeout"], "reported once");
    child.kill().await.expect("killed");
}

//! An acknowledged deposit survives SIGKILL: the process is killed in the middle of concurrent deposits, started again
//! on the same file, and must have every package that it acknowledged, byte for byte.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::support::{Client, minimal};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

const CONNECTIONS: usize = 8;
const ROUNDS: usize = 3;
const ENOUGH: usize = 150;

async fn start(database: &Path) -> (Child, SocketAddr) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_proofmark-reference"))
        .arg("--db")
        .arg(database)
        .stdout(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("the program starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let line = tokio::time::timeout(Duration::from_secs(5), lines.next_line()).await;
    let line = line.expect("in time").expect("readable").expect("one line");
    let address = line.strip_prefix("listening on http://").expect("the announcement").parse();
    (child, address.expect("an address"))
}

/// Deposits one package after the other until the connection breaks; returns those that were acknowledged.
async fn deposit_until_cut(
    address: SocketAddr,
    round: usize,
    writer: usize,
    acknowledged: Arc<AtomicUsize>,
) -> Vec<(String, String)> {
    let mut client = Client::connect(address).await.expect("the server listens");
    let mut kept = Vec::new();
    for number in 0.. {
        let id = format!("{round}-{writer}-{number}");
        let body = minimal("proj", &id).to_string();
        match client.send("POST", "/v1/projects/proj/packages", body.as_bytes()).await {
            Ok(answer) => {
                assert_eq!(answer.status, 201, "{answer:?}");
                kept.push((id, body));
                acknowledged.fetch_add(1, Ordering::Relaxed);
            }
            Err(_) => break,
        }
    }
    kept
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_deposits_survive_sigkill() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = folder.path().join("reference.db");
    let mut kept: Vec<(String, String)> = Vec::new();
    for round in 0..ROUNDS {
        let (mut child, address) = start(&database).await;
        let acknowledged = Arc::new(AtomicUsize::new(0));
        let writers: Vec<_> = (0..CONNECTIONS)
            .map(|writer| tokio::spawn(deposit_until_cut(address, round, writer, Arc::clone(&acknowledged))))
            .collect();
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
    assert!(kept.len() >= ROUNDS, "only {} deposits were acknowledged", kept.len());

    let (mut child, address) = start(&database).await;
    let mut client = Client::connect(address).await.expect("the server listens");
    for (id, body) in &kept {
        let answer = client.get(&format!("/v1/packages/{id}")).await;
        assert_eq!(answer.status, 200, "{id} was acknowledged but is missing: {answer:?}");
        let package = answer.body.strip_prefix("{\"package\":").and_then(|rest| rest.split_once(",\"content_hash\":"));
        assert_eq!(package.map(|(package, _)| package), Some(body.as_str()));
    }
    // An unacknowledged package is stored completely or not at all.
    let export = client.get("/v1/projects/proj/export").await;
    let packages = export.body.lines().filter(|line| line.contains("\"package_id\""));
    let extra = packages.clone().filter(|line| !kept.iter().any(|(_, body)| body == line)).count();
    assert!(extra <= ROUNDS * CONNECTIONS, "{extra} packages without an acknowledgement");
    assert_eq!(packages.count(), kept.len() + extra);
    child.kill().await.expect("killed");
}

//! Libraries behind JSON-RPC 2.0 on stdin and stdout, one object a line (DESIGN section 4).
//!
//! The adapter is as little trusted as a server: lines are bounded, calls have a time limit, ids must match, and a
//! process that ends is started again for the next call. Its standard error goes to ours and is never judged.

use std::pin::Pin;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use tokio::io::{AsyncBufRead, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::Mutex;

use super::Delivery;
use super::group::{Group, separate};
use super::lines::{Read, next_line};
use crate::exchange::{Body, Encoded, Ended, Incoming, Outgoing, Transport};
use crate::target::Limits;
use crate::value::Value;
use crate::wire::json;

/// Maximum number of unrelated lines skipped before an answer.
const STRAY_LINES: usize = 1_000;

/// A library behind an adapter.
pub struct Adapter {
    start: Start,
    running: Mutex<Option<Running>>,
    /// How often a running adapter was restarted, which loses its state.
    lost: AtomicU64,
}

/// The standard input and output of a started adapter.
pub type Pipes = (Box<dyn AsyncWrite + Send + Unpin>, Box<dyn AsyncRead + Send + Unpin>);

enum Start {
    Command(Vec<String>),
    InProcess(Box<dyn Fn() -> Pipes + Send + Sync>),
}

struct Running {
    input: Box<dyn AsyncWrite + Send + Unpin>,
    output: Pin<Box<dyn AsyncBufRead + Send>>,
    next_id: u64,
    child: Option<(Child, Group)>,
}

impl Adapter {
    /// An adapter that is a program of its own.
    pub fn command(command: Vec<String>) -> Self {
        Self { start: Start::Command(command), running: Mutex::new(None), lost: AtomicU64::new(0) }
    }

    /// An adapter inside this process: `start` gives both ends of a new one.
    pub fn in_process(start: impl Fn() -> Pipes + Send + Sync + 'static) -> Self {
        Self { start: Start::InProcess(Box::new(start)), running: Mutex::new(None), lost: AtomicU64::new(0) }
    }

    /// Makes a call and reads its answer. Calls are made one at a time: an adapter need not be more than a loop.
    pub async fn carry(&self, message: Encoded, limits: &Limits) -> Delivery {
        let mut running = self.running.lock().await;
        let begun = Instant::now();
        let id = running.as_ref().map_or(1, |running| running.next_id);
        let mut params = message.params;
        if let Some(name) = message.payload {
            params.push((name, Value::text(data_encoding::HEXLOWER.encode(&message.body))));
        }
        let request = Value::map([
            ("jsonrpc", Value::text("2.0")),
            ("id", Value::from(id)),
            ("method", Value::text(&message.method)),
            ("params", Value::map(params)),
        ]);
        let mut line = json::compact(&request).into_bytes();
        let outgoing = Outgoing {
            transport: Transport::Adapter,
            method: message.method,
            url: String::new(),
            headers: Vec::new(),
            body: Body::from(line.clone()),
        };
        line.push(b'\n');
        let mut incoming = Incoming::nothing(Ended::Complete);
        if running.is_none() {
            match self.launch() {
                Ok(started) => *running = Some(started),
                Err(error) => {
                    incoming.ended = Ended::Unreachable(error);
                    return Delivery { sent: outgoing, received: incoming, begun };
                }
            }
        }
        let Some(process) = running.as_mut() else { return Delivery { sent: outgoing, received: incoming, begun } };
        process.next_id += 1;
        let deadline = tokio::time::Instant::now() + limits.request;
        incoming.ended = call(process, &line, id, limits.body, deadline, incoming.body.to_mut()).await;
        if incoming.ended != Ended::Complete {
            // After a timeout or an invalid line, the next answer cannot be assigned to a call.
            if let Some(Running { child: Some((child, _)), .. }) = running.as_mut() {
                let _ = child.start_kill();
            }
            *running = None;
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
        Delivery { sent: outgoing, received: incoming, begun }
    }

    /// How often a running adapter was given up, with everything that it held.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    fn launch(&self) -> Result<Running, String> {
        match &self.start {
            Start::InProcess(start) => {
                let (input, output) = start();
                Ok(Running { input, output: Box::pin(BufReader::new(output)), next_id: 1, child: None })
            }
            Start::Command(words) => {
                let (program, arguments) = words.split_first().ok_or("the adapter command is empty")?;
                let mut command = Command::new(program);
                command
                    .args(arguments)
                    .stdin(Stdio::piped())
                    .stdout(Stdio::piped())
                    .stderr(Stdio::inherit())
                    .kill_on_drop(true);
                separate(command.as_std_mut());
                let mut child = command.spawn().map_err(|error| format!("cannot start `{program}`: {error}"))?;
                let group = Group::of(&child);
                let input = child.stdin.take().ok_or("the adapter has no standard input")?;
                let output = child.stdout.take().ok_or("the adapter has no standard output")?;
                Ok(Running {
                    input: Box::new(input),
                    output: Box::pin(BufReader::new(output)),
                    next_id: 1,
                    child: Some((child, group)),
                })
            }
        }
    }

    /// Ends the adapter and its child processes.
    pub async fn close(&self) {
        if let Some(Running { input, child: Some((mut child, group)), .. }) = self.running.lock().await.take() {
            // A closed standard input is the signal to end; an adapter that ignores it is killed.
            drop(input);
            let ended = tokio::time::timeout(std::time::Duration::from_secs(2), child.wait()).await;
            if ended.is_err() {
                group.kill(&child);
                let _ = child.kill().await;
            }
        }
    }
}

async fn call(
    process: &mut Running,
    line: &[u8],
    id: u64,
    limit: usize,
    deadline: tokio::time::Instant,
    answer: &mut Vec<u8>,
) -> Ended {
    let write = async {
        process.input.write_all(line).await?;
        process.input.flush().await
    };
    match tokio::time::timeout_at(deadline, write).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => return Ended::Closed(format!("the adapter does not read: {error}")),
        Err(_) => return Ended::TimedOut,
    }
    for _ in 0..STRAY_LINES {
        match next_line(&mut process.output, limit, deadline, answer).await {
            Read::Line => {}
            Read::End => return Ended::Closed("the adapter ended".to_owned()),
            Read::Failed(how) => return Ended::Closed(how),
            Read::TooLong => return Ended::TooLong,
            Read::Timeout => return Ended::TimedOut,
        }
        let Ok(value) = json::parse(answer) else {
            return Ended::Closed("the adapter wrote a line that is not JSON".to_owned());
        };
        if value.member("id").and_then(Value::as_integer) == Some(i128::from(id)) {
            return Ended::Complete;
        }
    }
    Ended::Closed("the adapter wrote only lines that do not answer the request".to_owned())
}

//! JSON-RPC on a pair of pipes, from both ends: the adapter of the reference answers each request line, in order, and
//! the harness reads the line that answers its request, in whatever pieces the bytes arrive.
//!
//! The input is a few choices (see `generate::halves`) and a stream, the output of the other end. Lines of well-formed
//! requests and answers are inserted.

use std::time::Duration;

use arbitrary::{Result, Unstructured};
use proofmark::exchange::{ChannelAction, Encoded, Ended, Transport};
use proofmark::target::Limits;
use proofmark::transport::adapter::{Adapter, Pipes};
use proofmark::value::Value;
use proofmark::wire::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::runtime::Runtime;

use crate::generate;

/// The number of unrelated lines that the harness skips before it gives up.
const STRAY_LINES: usize = 1000;

/// Checks one input.
///
/// # Panics
///
/// If the reference answers another number of lines, in another order or form, or differently for other
/// pieces; or if the harness reads another line than the first that answers it.
pub fn run(data: &[u8]) {
    let (mut u, stream) = generate::halves(data);
    let stream = between(&mut u, stream).unwrap_or_else(|_| stream.to_vec());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    answers(&runtime, &mut u, &stream);
    takes(&runtime, &mut u, &stream);
}

/// The stream with lines in it that are requests or answers.
fn between(u: &mut Unstructured<'_>, stream: &[u8]) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut rest = stream;
    for _ in 0..u.int_in_range(0..=4)? {
        let (front, behind) = rest.split_at(u.int_in_range(0..=rest.len().min(64))?);
        out.extend_from_slice(front);
        rest = behind;
        let line = match u.int_in_range(0..=6)? {
            0 => r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            1 => r#"{"id":2,"error":{"code":-32601,"message":"no"}}"#,
            2 => r#"{"jsonrpc":"2.0","id":"a","method":"describe"}"#,
            3 => r#"{"jsonrpc":"2.0","method":"describe"}"#,
            4 => r#"{"jsonrpc":"2.0","id":null,"method":"none","params":[]}"#,
            5 => r#"{"id":1.0}"#,
            _ => "",
        };
        out.extend_from_slice(line.as_bytes());
        out.push(b'\n');
    }
    out.extend_from_slice(rest);
    Ok(out)
}

/// The expected answers of the reference to a stream of lines.
fn answers(runtime: &Runtime, u: &mut Unstructured<'_>, stream: &[u8]) {
    let asked = [stream, b"\n{\"jsonrpc\":\"2.0\",\"id\":\"last\",\"method\":\"agentic/hello\"}\n"].concat();
    let said = runtime.block_on(hear(&[&asked]));
    let pieces = generate::pieces(u, &asked);
    let shown = || String::from_utf8_lossy(&asked).into_owned();
    assert_eq!(runtime.block_on(hear(&pieces)), said, "in pieces: {}", shown());
    let mut lines = said.split_inclusive(|byte| *byte == b'\n');
    for line in asked.split(|byte| *byte == b'\n') {
        let Some(id) = asks(line) else { continue };
        let answer = lines.next().unwrap_or_else(|| panic!("no answer to {}", String::from_utf8_lossy(line)));
        assert_eq!(answer.last(), Some(&b'\n'), "half a line: {}", String::from_utf8_lossy(answer));
        let answer = json::parse(answer).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(answer)));
        let member = |name| answer.member(name);
        let form = member("jsonrpc").and_then(Value::as_text) == Some("2.0")
            && member("result").is_some() != member("error").is_some()
            && member("id").is_some_and(|given| given.same_as(&id));
        assert!(form, "{answer:?} to {}", String::from_utf8_lossy(line));
    }
    assert_eq!(lines.next(), None, "an answer to nothing: {}", shown());
}

/// The id of the answer to a line; `None` for a line without an answer.
fn asks(line: &[u8]) -> Option<Value> {
    if line.iter().all(u8::is_ascii_whitespace) {
        return None;
    }
    match json::read(line) {
        // The reference refuses JSON that is not I-JSON.
        Ok(document) if document.oddities.is_empty() => match &document.value {
            Value::Map(_) => document.value.member("id").cloned(),
            _ => Some(Value::Null),
        },
        _ => Some(Value::Null),
    }
}

/// All output of the adapter of the reference for these pieces and the end of the input.
async fn hear(pieces: &[&[u8]]) -> Vec<u8> {
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let (read, write) = tokio::io::split(theirs);
    let (mut hear, mut say) = tokio::io::split(ours);
    let agentic = crate::reference::implementation("agentic");
    let serve = agentic.serve_adapter(agentic.config(), Box::new(read), Box::new(write));
    let talk = async move {
        for piece in pieces {
            say.write_all(piece).await.expect("it reads");
            tokio::task::yield_now().await;
        }
        say.shutdown().await.expect("it can be closed");
    };
    let mut said = Vec::new();
    let listen = async {
        hear.read_to_end(&mut said).await.expect("it writes");
    };
    let (served, (), ()) = tokio::join!(serve, talk, listen);
    served.expect("pipes in memory do not fail");
    said
}

/// The result of the harness for a stream instead of the answers of an adapter.
fn takes(runtime: &Runtime, u: &mut Unstructured<'_>, stream: &[u8]) {
    let limit = *u.choose(&[1 << 20, 32]).unwrap_or(&(1 << 20));
    let pieces: Vec<Vec<u8>> = generate::pieces(u, stream).into_iter().map(<[u8]>::to_vec).collect();
    let mut rest = stream;
    runtime.block_on(async {
        let adapter = Adapter::in_process(move || said(pieces.clone()));
        let limits = Limits { body: limit, request: Duration::from_secs(60), ..Limits::default() };
        for id in 1..=2 {
            let carried = adapter.carry(message(), &limits).await.received;
            let (ended, body) = wanted(&mut rest, id, limit);
            let shown = || String::from_utf8_lossy(stream).into_owned();
            assert_eq!(kind(&carried.ended), kind(&ended), "call {id}, lines of {limit}: {}", shown());
            if ended != Ended::Complete {
                assert_eq!(adapter.lost(), 1);
                return; // the next call starts another one
            }
            assert_eq!(carried.body.0.as_slice(), body, "call {id}: {}", shown());
        }
    });
}

fn kind(ended: &Ended) -> &'static str {
    match ended {
        Ended::Complete => "complete",
        Ended::TooLong => "too long",
        Ended::TimedOut => "timed out",
        Ended::Closed(_) => "closed",
        Ended::Unreachable(_) | Ended::NotSent(_) => "unreachable",
    }
}

/// The expected result of waiting for the answer `id`: the first line with that id, after other JSON only.
fn wanted<'s>(rest: &mut &'s [u8], id: i128, limit: usize) -> (Ended, &'s [u8]) {
    for _ in 0..STRAY_LINES {
        if rest.is_empty() {
            break;
        }
        let length = rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |end| end + 1);
        let (line, behind) = rest.split_at(length);
        *rest = behind;
        if line.len() > limit {
            return (Ended::TooLong, &[]);
        }
        let end = line.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |last| last + 1);
        // Without a line end nothing is removed.
        let line = if line.ends_with(b"\n") { &line[..end] } else { line };
        let Ok(value) = json::parse(line) else { break };
        if value.member("id").and_then(Value::as_integer) == Some(id) {
            return (Ended::Complete, line);
        }
    }
    (Ended::Closed(String::new()), &[])
}

fn message() -> Encoded {
    Encoded {
        transport: Transport::Adapter,
        action: ChannelAction::Message,
        base: None,
        operation: "describe".to_owned(),
        method: "describe".to_owned(),
        path: String::new(),
        headers: Vec::new(),
        body: Vec::new(),
        params: Vec::new(),
        payload: None,
        spelling: None,
    }
}

/// Pipes whose other end writes these pieces and closes, and accepts all input.
fn said(pieces: Vec<Vec<u8>>) -> Pipes {
    let (input, mut sink) = tokio::io::duplex(1 << 16);
    let (mut source, output): (DuplexStream, DuplexStream) = tokio::io::duplex(1 << 16);
    tokio::spawn(async move {
        let mut heard = Vec::new();
        sink.read_to_end(&mut heard).await.ok(); // until the harness is done
    });
    tokio::spawn(async move {
        for piece in pieces {
            if source.write_all(&piece).await.is_err() {
                return; // the harness is done
            }
            tokio::task::yield_now().await;
        }
    });
    (Box::new(input), Box::new(output))
}

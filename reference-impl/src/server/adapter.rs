//! The library adapter: JSON-RPC 2.0, one object a line, on any pair of pipes.
//!
//! Requests are answered sequentially, in order. An invalid request gets an error and the loop continues;
//! it ends with the input.

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};

use crate::json::{self, Object, Value};

/// The longest line that is taken: room for a package of the largest size in hexadecimal.
const LINE_LIMIT: u64 = 16 * 1024 * 1024;

/// A refused call.
#[derive(Debug, Clone)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    pub(crate) message: String,
    pub(crate) data: Option<Object>,
}

impl RpcError {
    pub(crate) fn params(message: impl Into<String>) -> Self {
        Self { code: -32602, message: message.into(), data: None }
    }

    pub(crate) fn no_method(method: &str) -> Self {
        Self { code: -32601, message: format!("unknown method {method:?}"), data: None }
    }

    fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }
}

/// A protocol whose functions can be called by name.
pub(crate) trait Library: Send {
    fn call(&mut self, method: &str, params: &Object) -> impl Future<Output = Result<Object, RpcError>> + Send;
}

/// Answers every request of `reader` on `writer` until the input ends.
pub(crate) async fn serve<L, R, W>(mut library: L, reader: R, mut writer: W) -> std::io::Result<()>
where
    L: Library,
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send,
{
    let mut reader = BufReader::new(reader);
    loop {
        let mut line = Vec::new();
        let read = (&mut reader).take(LINE_LIMIT).read_until(b'\n', &mut line).await?;
        if read == 0 {
            return Ok(());
        }
        if line.last() != Some(&b'\n') && line.len() as u64 == LINE_LIMIT {
            skip_line(&mut reader).await?;
            line = b"the line is too long".to_vec();
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        if let Some(answer) = answer(&mut library, &line).await {
            writer.write_all(format!("{}\n", answer.write()).as_bytes()).await?;
            writer.flush().await?;
        }
    }
}

async fn skip_line<R: AsyncRead + Unpin>(reader: &mut BufReader<R>) -> std::io::Result<()> {
    loop {
        let buffered = reader.fill_buf().await?;
        let (taken, done) = match buffered.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (buffered.len(), buffered.is_empty()),
        };
        reader.consume(taken);
        if done {
            return Ok(());
        }
    }
}

/// The answer to one line; `None` for a notification.
async fn answer<L: Library>(library: &mut L, line: &[u8]) -> Option<Object> {
    let request = match json::read(line) {
        Ok(Value::Object(request)) => request,
        Ok(_) => {
            return Some(envelope(Value::Null, Err(RpcError::new(-32600, "a request is a JSON object"))));
        }
        Err(error) => {
            return Some(envelope(Value::Null, Err(RpcError::new(-32700, error.to_string()))));
        }
    };
    let id = request.get("id").cloned();
    let empty = Object::new();
    let outcome = match (request.text("jsonrpc"), request.text("method"), request.get("params")) {
        (Some("2.0"), Some(method), None | Some(Value::Null)) => library.call(method, &empty).await,
        (Some("2.0"), Some(method), Some(Value::Object(params))) => library.call(method, params).await,
        (Some("2.0"), Some(_), Some(_)) => Err(RpcError::params("params must be an object")),
        _ => Err(RpcError::new(-32600, "not a JSON-RPC 2.0 request")), // version or method is missing
    };
    id.map(|id| envelope(id, outcome))
}

fn envelope(id: Value, outcome: Result<Object, RpcError>) -> Object {
    let mut answer = Object::from([("jsonrpc", "2.0".into()), ("id", id)]);
    match outcome {
        Ok(result) => answer.set("result", result),
        Err(RpcError { code, message, data }) => {
            let mut error = Object::from([("code", code.into()), ("message", message.into())]);
            if let Some(data) = data {
                error.set("data", data);
            }
            answer.set("error", error);
        }
    }
    answer
}

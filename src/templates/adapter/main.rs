//! An adapter for {{protocol}}: JSON-RPC 2.0 on stdin and stdout, one object per line. Rust 1.85 or newer.
//!
//!     cargo build --release
//!     proofmark adapter check target/release/adapter
//!     proofmark check --adapter target/release/adapter --protocol {{protocol}}
//!
//! Write a function for a method, and enable its line in `METHODS`. A function takes the params, an object, and returns the result;
//! to answer with an error it returns a `Failure`. `proofmark adapter methods --protocol {{protocol}}` prints every method with an
//! example.

mod json;

use std::io::{BufRead, Write};

use json::Json;

const NAME: &str = "my library";
const VERSION: &str = "0.1.0";

/// An answer that is an error.
struct Failure {
    code: i64,
    message: String,
}

impl Failure {
    fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

type Method = fn(&Json) -> Result<Json, Failure>;

/// The methods that the library has. All others are answered with "unsupported".
const METHODS: &[(&str, Method)] = &[
{{methods}}];

fn describe() -> Json {
    let operations = METHODS.iter().map(|(name, _)| Json::text(*name)).collect();
    Json::object([
        ("name", Json::text(NAME)),
        ("version", Json::text(VERSION)),
        ("protocols", Json::Array(vec![Json::text("{{protocol}}")])),
        ("operations", Json::Array(operations)),
    ])
}

fn call(request: &Json) -> Result<Json, Failure> {
    let (version, method) = (request.get("jsonrpc").and_then(Json::as_str), request.get("method").and_then(Json::as_str));
    let (Some("2.0"), Some(name)) = (version, method) else {
        return Err(Failure::new(-32600, "not a JSON-RPC 2.0 request"));
    };
    let empty = Json::object([]);
    let params = request.get("params").unwrap_or(&empty);
    let found = METHODS.iter().find(|(known, _)| *known == name);
    if found.is_none() && name != "describe" {
        return Err(Failure::new(-32601, format!("unsupported: {name}")));
    }
    if !matches!(params, Json::Object(_)) {
        return Err(Failure::new(-32602, "params must be an object"));
    }
    found.map_or_else(|| Ok(describe()), |(_, method)| method(params))
}

/// The answer to one line, or `None` to a notification.
fn answer(line: &[u8]) -> Option<Json> {
    let request = std::str::from_utf8(line).ok().and_then(Json::parse);
    let (id, reply) = match &request {
        None => (Json::Null, Err(Failure::new(-32700, "not JSON"))),
        Some(request) => {
            let id = request.get("id").cloned();
            let reply = call(request);
            if id.is_none() && matches!(request, Json::Object(_)) {
                return None;
            }
            (id.unwrap_or(Json::Null), reply)
        }
    };
    let (name, value) = match reply {
        Ok(result) => ("result", result),
        Err(failure) => {
            let error = [("code", Json::Number(failure.code.to_string())), ("message", Json::text(failure.message))];
            ("error", Json::object(error))
        }
    };
    Some(Json::object([("jsonrpc", Json::text("2.0")), ("id", id), (name, value)]))
}

fn main() -> std::io::Result<()> {
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        if let Some(reply) = answer(line.trim_ascii()) {
            writeln!(output, "{reply}")?;
            output.flush()?;
        }
        line.clear();
    }
    Ok(())
}

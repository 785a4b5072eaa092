//! The reference implementation as a library, asked through its adapter: the only door it has.

use std::cell::RefCell;

use data_encoding::HEXLOWER;
use reference_impl::{Config, Protocol};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::runtime::Runtime;

struct Library {
    runtime: Runtime,
    write: WriteHalf<DuplexStream>,
    read: BufReader<ReadHalf<DuplexStream>>,
}

thread_local! {
    static LIBRARY: RefCell<Option<Library>> = const { RefCell::new(None) };
}

impl Library {
    fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (read, write) = tokio::io::split(theirs);
        runtime.spawn(reference_impl::serve_adapter(Config::new(Protocol::Agentic), read, write));
        let (read, write) = tokio::io::split(ours);
        Self { runtime, write, read: BufReader::new(read) }
    }

    fn call(&mut self, method: &str, json: &[u8]) -> serde_json::Value {
        let request = serde_json::json!({
            "jsonrpc": "2.0", "id": 1, "method": method, "params": { "json_hex": HEXLOWER.encode(json) },
        });
        let line = format!("{request}\n");
        let mut answer = String::new();
        self.runtime.block_on(async {
            self.write.write_all(line.as_bytes()).await.expect("the adapter reads");
            self.read.read_line(&mut answer).await.expect("the adapter answers");
        });
        serde_json::from_str(&answer).expect("the adapter answers in JSON")
    }
}

/// The canonical form of a JSON text as the reference has it, or why it refuses the text.
pub(crate) fn canonical(json: &[u8]) -> Result<String, String> {
    LIBRARY.with_borrow_mut(|library| {
        let answer = library.get_or_insert_with(Library::start).call("agentic/canonicalize", json);
        match answer.pointer("/result/canonical_hex").and_then(serde_json::Value::as_str) {
            Some(hex) => {
                let bytes = HEXLOWER.decode(hex.as_bytes()).expect("lower-case hex");
                Ok(String::from_utf8(bytes).expect("a canonical form is UTF-8"))
            }
            None => Err(answer.get("error").expect("a result or an error").to_string()),
        }
    })
}

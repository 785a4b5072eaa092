//! The library adapter of amp-core on a pair of pipes in this process.

use proofmark_reference::Config;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};

/// A conversation with the adapter.
pub(crate) struct Library {
    reader: BufReader<ReadHalf<DuplexStream>>,
    writer: WriteHalf<DuplexStream>,
}

impl Library {
    pub(crate) fn start(config: Config) -> Self {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (reader, writer) = tokio::io::split(theirs);
        let amp_core = proofmark_reference::find("amp-core").expect("a row");
        tokio::spawn(amp_core.serve_adapter(config, Box::new(reader), Box::new(writer)));
        let (reader, writer) = tokio::io::split(ours);
        Self { reader: BufReader::new(reader), writer }
    }

    /// The whole answer to a method of this protocol.
    pub(crate) async fn answer(&mut self, method: &str, params: &Value) -> Value {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.writer.write_all(format!("{request}\n").as_bytes()).await.expect("written");
        let mut answer = String::new();
        self.reader.read_line(&mut answer).await.expect("read");
        serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error} in {answer:?}"))
    }

    /// The result of a method of this protocol, named without its prefix.
    pub(crate) async fn call(&mut self, method: &str, params: &Value) -> Value {
        let answer = self.answer(&format!("amp-core/{method}"), params).await;
        assert!(answer["error"].is_null(), "{method} {params}: {answer}");
        answer["result"].clone()
    }
}

/// The configuration of a library without a fault.
pub(crate) fn library_config() -> Config {
    proofmark_reference::find("amp-core").expect("a row").config()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(bytes)
}

//! The reference implementation as a library, called through its adapter, its only interface.

use std::cell::RefCell;
use std::thread::LocalKey;

use data_encoding::HEXLOWER;
use proofmark_reference::{Config, Variant};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::runtime::Runtime;

/// The capacity of a pipe: far more than any request of an input.
const PIPE: usize = 1 << 20;

struct Library {
    runtime: Runtime,
    write: WriteHalf<DuplexStream>,
    read: BufReader<ReadHalf<DuplexStream>>,
}

thread_local! {
    static AGENTIC: RefCell<Library> = RefCell::new(Library::start("agentic"));
    static AMP: RefCell<Library> = RefCell::new(Library::start("amp-core"));
    static MESH: RefCell<Library> = RefCell::new(Library::start("agentic-mesh"));
    static MESHAI: RefCell<Library> = RefCell::new(Library::start("meshai"));
    static TASK: RefCell<Library> = RefCell::new(Library::start("task-amp"));
    static TASK_OTHER: RefCell<Library> = RefCell::new(Library::read("task-amp", Variant::Other));
}

/// The readings of the errata that the reference has.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reading {
    /// The strict ones.
    Own,
    /// Every other one that is tolerated.
    Other,
}

impl Reading {
    /// Both.
    pub(crate) const ALL: [Self; 2] = [Self::Own, Self::Other];
}

impl Library {
    fn start(slug: &str) -> Self {
        Self::read(slug, Variant::Own)
    }

    fn read(slug: &str, variant: Variant) -> Self {
        let implementation = implementation(slug);
        let config = Config { variant, ..implementation.config() };
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let (ours, theirs) = tokio::io::duplex(PIPE);
        let (read, write) = tokio::io::split(theirs);
        runtime.spawn(implementation.serve_adapter(config, Box::new(read), Box::new(write)));
        let (read, write) = tokio::io::split(ours);
        Self { runtime, write, read: BufReader::new(read) }
    }

    fn call(&mut self, method: &str, params: &Value) -> Value {
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let line = format!("{request}\n");
        let mut answer = String::new();
        self.runtime.block_on(async {
            self.write.write_all(line.as_bytes()).await.expect("the adapter reads");
            self.read.read_line(&mut answer).await.expect("the adapter answers");
        });
        serde_json::from_str(&answer).expect("the adapter answers in JSON")
    }
}

/// The reference implementation of a protocol.
///
/// # Panics
///
/// If the protocol has none.
pub(crate) fn implementation(slug: &str) -> &'static dyn proofmark_reference::Implementation {
    proofmark_reference::find(slug).expect("a reference implementation")
}

/// The result of a call to the reference, or its error.
fn call(library: &'static LocalKey<RefCell<Library>>, method: &str, params: &Value) -> Result<Value, Value> {
    let mut answer = library.with_borrow_mut(|library| library.call(method, params));
    match answer.get_mut("result") {
        Some(result) => Ok(result.take()),
        None => Err(answer.get("error").expect("a result or an error").clone()),
    }
}

/// Calls a method of agentic. An error is an answer there.
pub(crate) fn agentic(method: &str, params: &Value) -> Result<Value, Value> {
    call(&AGENTIC, &format!("agentic/{method}"), params)
}

/// Calls a method of agentic-mesh. An error is an answer there.
pub(crate) fn mesh(method: &str, params: &Value) -> Result<Value, Value> {
    call(&MESH, &format!("agentic-mesh/{method}"), params)
}

/// Calls a method of meshai. An error is an answer there.
pub(crate) fn meshai(method: &str, params: &Value) -> Result<Value, Value> {
    call(&MESHAI, &format!("meshai/{method}"), params)
}

/// Calls a method of task-amp, in one reading. An error is an answer there.
pub(crate) fn task(reading: Reading, method: &str, params: &Value) -> Result<Value, Value> {
    let library = match reading {
        Reading::Own => &TASK,
        Reading::Other => &TASK_OTHER,
    };
    call(library, &format!("task-amp/{method}"), params)
}

/// Calls a method of amp-core.
///
/// # Panics
///
/// If the parameters are rejected: the target that builds them always builds them well-formed.
pub(crate) fn amp(method: &str, params: &Value) -> Value {
    call(&AMP, &format!("amp-core/{method}"), params)
        .unwrap_or_else(|error| panic!("{method} refuses its parameters: {error} for {params}"))
}

/// The canonical form of a JSON text by the reference, or its reason to refuse the text.
pub(crate) fn canonical(json: &[u8]) -> Result<String, String> {
    match agentic("canonicalize", &json!({ "json_hex": hex(json) })) {
        Ok(result) => Ok(String::from_utf8(bytes(&result, "canonical_hex")).expect("a canonical form is UTF-8")),
        Err(error) => Err(error.to_string()),
    }
}

/// Bytes in the form of parameters.
pub(crate) fn hex(bytes: &[u8]) -> String {
    HEXLOWER.encode(bytes)
}

/// The bytes of a member of a result.
///
/// # Panics
///
/// If the member is missing.
pub(crate) fn bytes(result: &Value, name: &str) -> Vec<u8> {
    let digits = result.get(name).and_then(Value::as_str).unwrap_or_else(|| panic!("no {name} in {result}"));
    HEXLOWER.decode(digits.as_bytes()).expect("lower-case hex")
}

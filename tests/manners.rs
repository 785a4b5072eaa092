//! Manners of correct targets that make work for who asks them: none of them is an accusation, and none keeps a case from
//! being judged. The reference is behind a connection that has the manner.

#[path = "support/reference.rs"]
mod reference;

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use reference::{Reference, forward};
use serde_json::Value;

/// The DID of the reference, from which its document follows without a question to anybody.
const DID: &str = "did:key:z6MkpkwHZkknwudMEYhR1tXdi4f3fLPe5oSnT6Kpme6c8F3o";

/// The member `typ` of an ERROR, in CBOR (RFC 001, 4.4).
const ERROR: &[u8] = b"\x63typ\x0f";

/// Reads the next unit of what a server says: the head of an HTTP answer, a WebSocket frame or a frame of RFC 002.
type Unit = fn(&mut TcpStream, first: bool) -> std::io::Result<Vec<u8>>;

fn exactly(from: &mut TcpStream, count: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; count];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// A frame over TCP (RFC 002, 4.2).
fn tcp_frame(from: &mut TcpStream, _first: bool) -> std::io::Result<Vec<u8>> {
    let mut bytes = exactly(from, 4)?;
    let length = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    bytes.extend(exactly(from, length as usize)?);
    Ok(bytes)
}

/// The answer to the handshake, and then a frame without a mask (RFC 6455, 5.2).
fn ws_frame(from: &mut TcpStream, first: bool) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if first {
        while !bytes.ends_with(b"\r\n\r\n") {
            bytes.extend(exactly(from, 1)?);
        }
        return Ok(bytes);
    }
    bytes.extend(exactly(from, 2)?);
    let length = match bytes[1] {
        126 => {
            bytes.extend(exactly(from, 2)?);
            u64::from(u16::from_be_bytes([bytes[2], bytes[3]]))
        }
        127 => {
            bytes.extend(exactly(from, 8)?);
            bytes[2..10].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
        }
        short => u64::from(short),
    };
    bytes.extend(exactly(from, usize::try_from(length).expect("the reference sends short messages"))?);
    Ok(bytes)
}

/// Passes everything on, and ends the connection behind each ERROR of the server.
fn closing_behind_errors(near: &TcpStream, behind: SocketAddr, unit: Unit) -> std::io::Result<()> {
    let mut far = TcpStream::connect(behind)?;
    let (mut from, mut to) = (near.try_clone()?, far.try_clone()?);
    thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    });
    let mut first = true;
    while let Ok(bytes) = unit(&mut far, first) {
        first = false;
        let mut near = near;
        near.write_all(&bytes)?;
        if bytes.windows(ERROR.len()).any(|window| window == ERROR) {
            break;
        }
    }
    far.shutdown(Shutdown::Both).ok(); // it may be gone already
    near.shutdown(Shutdown::Both)
}

/// Listens, and treats each connection as `manner` says, which is told its number.
fn listen(manner: impl Fn(TcpStream, usize) -> std::io::Result<()> + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        let count = AtomicUsize::new(0);
        thread::scope(|scope| {
            for peer in listener.incoming().flatten() {
                let number = count.fetch_add(1, Ordering::Relaxed);
                let manner = &manner;
                // An error is the other side going away, which is its right.
                scope.spawn(move || manner(peer, number).ok());
            }
        });
    });
    address
}

/// How often each verdict is in the report of a run over some suites.
struct Verdicts(Vec<(String, String)>);

impl Verdicts {
    fn of(reach: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let limits = "{ request: 5s, reply: 5s, settle: 100ms }";
        let target = format!("protocol: amp-core\n{reach}\nlimits: {limits}\nsettings: {{ did: \"{DID}\" }}\n");
        std::fs::write(at("target.yaml"), target).expect("a file");
        std::fs::create_dir_all(at("suites/amp-core")).expect("a folder");
        for name in
            ["protocol", "requirements", "basics", "error-codes", "idempotency", "replay", "versions", "negotiation"]
        {
            let name = format!("{name}.yaml");
            let from = format!("{}/suites/amp-core/{name}", env!("CARGO_MANIFEST_DIR"));
            std::fs::copy(from, at("suites/amp-core").join(name)).expect("a copy");
        }
        let ran = Command::new(env!("CARGO_BIN_EXE_proofmark"))
            .args(["check", "--quiet", "--seed", "7", "--level", "core", "--target"])
            .arg(at("target.yaml"))
            .arg("--suites")
            .arg(at("suites"))
            .arg("--out")
            .arg(at("out"))
            .stdin(Stdio::null())
            .output()
            .expect("it runs");
        let report = std::fs::read(at("out/report.json")).unwrap_or_default();
        let report: Value = serde_json::from_slice(&report).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
        let cases = report["protocols"][0]["cases"].as_array().unwrap_or_else(|| panic!("cases: {ran:?}")).iter();
        let text = |case: &Value, name: &str| case[name].as_str().unwrap_or_default().to_owned();
        Self(cases.map(|case| (text(case, "verdict"), text(case, "id"))).collect())
    }

    fn with(&self, verdict: &str) -> Vec<&str> {
        self.0.iter().filter(|(given, _)| given == verdict).map(|(_, id)| id.as_str()).collect()
    }

    /// Nobody is accused, and what can be judged was.
    fn are_fine(&self) {
        let none: Vec<&str> = Vec::new();
        assert_eq!(self.with("fail"), none);
        assert_eq!(self.with("error"), none);
        let passed = self.with("pass").len();
        assert!(passed > 50, "{passed} pass: {:?}", self.0);
    }
}

#[test]
fn tcp_may_end_behind_each_error() {
    let reference = Reference::start().expect("a reference");
    let behind = reference.tcp;
    let address = listen(move |near, _| closing_behind_errors(&near, behind, tcp_frame));
    Verdicts::of(&format!("tcp: amp://{address}\ntransports: [tcp]")).are_fine();
}

#[test]
fn websocket_may_end_behind_each_error() {
    let reference = Reference::start().expect("a reference");
    let behind = reference.http;
    let address = listen(move |near, _| closing_behind_errors(&near, behind, ws_frame));
    Verdicts::of(&format!("ws: ws://{address}/amp/v1/ws\ntransports: [ws]")).are_fine();
}

#[test]
fn a_connection_that_is_cut_off_before_a_word_is_no_refusal() {
    let reference = Reference::start().expect("a reference");
    let behind = reference.tcp;
    let address = listen(move |mut near, number| {
        if number > 10 && number.is_multiple_of(5) {
            // What was sent is read, so that the end is no reset.
            let _ = near.read(&mut [0; 4096])?;
            return near.shutdown(Shutdown::Both);
        }
        forward(near, behind)
    });
    let verdicts = Verdicts::of(&format!("tcp: amp://{address}\ntransports: [tcp]"));
    let none: Vec<&str> = Vec::new();
    assert_eq!(verdicts.with("fail"), none);
    assert!(!verdicts.with("error").is_empty(), "nothing was cut off");
    assert!(!verdicts.with("pass").is_empty(), "nothing was judged");
}

//! Correct targets that behave unusually: proofmark reports no violation, and every case is still judged. The reference runs
//! behind a connection that shows the behaviour.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use libtest_mimic::Trial;
use proofmark::value::Value as Message;
use proofmark::wire::cbor;
use serde_json::Value;

use crate::support::http::request;
use crate::support::reference::{Reference, forward};

pub(crate) fn trials() -> Vec<Trial> {
    crate::trials![
        tcp_may_end_after_each_error,
        websocket_may_end_after_each_error,
        an_answer_may_reach_another_connection_of_its_party,
        a_websocket_is_kept_alive_while_an_answer_is_prepared,
        tcp_is_kept_alive_while_an_answer_is_prepared,
        an_answer_to_an_earlier_message_does_not_end_the_wait,
        an_error_about_an_earlier_message_is_not_judged_by_the_last_one,
        answers_may_be_fetched,
        all_but_the_first_answer_may_be_fetched,
        a_connection_dropped_before_an_answer_is_not_a_rejection,
        a_message_that_expired_after_slow_answers_is_not_a_finding,
        a_message_that_expired_on_its_way_is_not_a_finding,
    ]
}

/// The DID of the reference. Its document follows from the DID without a request.
const DID: &str = "did:key:z6MkpkwHZkknwudMEYhR1tXdi4f3fLPe5oSnT6Kpme6c8F3o";

/// The member `typ` of an ERROR, in CBOR (RFC 001, 4.4).
const ERROR: &[u8] = b"\x63typ\x0f";

/// The name of the member `reply_to`, in CBOR.
const REPLY_TO: &[u8] = b"\x68reply_to";

/// Reads the next unit that a server sends: the head of an HTTP answer, a WebSocket frame or a frame of RFC 002.
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

/// A connection to the server behind, to which everything of the near side is forwarded.
fn connected(near: &TcpStream, behind: SocketAddr) -> std::io::Result<TcpStream> {
    let far = TcpStream::connect(behind)?;
    let (mut from, mut to) = (near.try_clone()?, far.try_clone()?);
    thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    });
    Ok(far)
}

/// Forwards everything, and ends the connection after each ERROR of the server.
fn closing_behind_errors(near: &TcpStream, behind: SocketAddr, unit: Unit) -> std::io::Result<()> {
    let mut far = connected(near, behind)?;
    let mut first = true;
    while let Ok(bytes) = unit(&mut far, first) {
        first = false;
        let mut near = near;
        near.write_all(&bytes)?;
        if bytes.windows(ERROR.len()).any(|window| window == ERROR) {
            break;
        }
    }
    far.shutdown(Shutdown::Both).ok(); // it may already be closed
    near.shutdown(Shutdown::Both)
}

/// Answers that were sent over some connection, each with the number of that connection.
type Heard = Mutex<Vec<(usize, Vec<u8>)>>;

/// Forwards everything. Behind each answer of the server it sends one from another connection.
fn sharing_answers(
    near: &TcpStream,
    behind: SocketAddr,
    unit: Unit,
    number: usize,
    heard: &Heard,
) -> std::io::Result<()> {
    let mut far = connected(near, behind)?;
    let mut first = true;
    while let Ok(bytes) = unit(&mut far, first) {
        first = false;
        let mut near = near;
        near.write_all(&bytes)?;
        if bytes.windows(REPLY_TO.len()).any(|window| window == REPLY_TO) {
            let mut heard = heard.lock().expect("no thread panics");
            let other = heard.iter().position(|(connection, _)| *connection != number);
            if let Some((_, other)) = other.map(|at| heard.swap_remove(at)) {
                near.write_all(&other)?;
            }
            heard.push((number, bytes));
        }
    }
    near.shutdown(Shutdown::Both)
}

/// Forwards everything, and each ERROR once more, behind the next answer.
fn repeating_errors(near: &TcpStream, behind: SocketAddr, unit: Unit) -> std::io::Result<()> {
    let mut far = connected(near, behind)?;
    let (mut first, mut kept): (bool, Option<Vec<u8>>) = (true, None);
    while let Ok(bytes) = unit(&mut far, first) {
        first = false;
        let mut near = near;
        near.write_all(&bytes)?;
        if let Some(kept) = kept.take() {
            near.write_all(&kept)?;
        }
        kept = bytes.windows(ERROR.len()).any(|window| window == ERROR).then_some(bytes);
    }
    near.shutdown(Shutdown::Both)
}

/// Forwards everything. Before each answer of the server it sends another message, built by `instead` from the last
/// message, and continues a while later.
fn dawdling(
    near: &TcpStream,
    behind: SocketAddr,
    unit: Unit,
    instead: impl Fn(&[u8]) -> Vec<u8>,
) -> std::io::Result<()> {
    let mut far = TcpStream::connect(behind)?;
    let (mut from, mut to) = (near.try_clone()?, far.try_clone()?);
    let sent = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&sent);
    thread::spawn(move || {
        let mut buffer = [0; 65536];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            count.fetch_add(1, Ordering::Relaxed);
            if to.write_all(&buffer[..length]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    });
    let (mut last, mut answered): (Option<Vec<u8>>, usize) = (None, 0);
    while let Ok(bytes) = unit(&mut far, last.is_none()) {
        let mut near = near;
        if let Some(last) = last.as_ref().filter(|_| sent.load(Ordering::Relaxed) > answered) {
            near.write_all(&instead(last))?;
            thread::sleep(Duration::from_millis(800));
        }
        answered = sent.load(Ordering::Relaxed);
        near.write_all(&bytes)?;
        last = Some(bytes);
    }
    near.shutdown(Shutdown::Both)
}

/// Listens, and handles each connection with `behaviour`, which gets the number of the connection.
fn listen(behaviour: impl Fn(TcpStream, usize) -> std::io::Result<()> + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        let count = AtomicUsize::new(0);
        thread::scope(|scope| {
            for peer in listener.incoming().flatten() {
                let number = count.fetch_add(1, Ordering::Relaxed);
                let behaviour = &behaviour;
                // An error is the other side going away, which is its right.
                scope.spawn(move || behaviour(peer, number).ok());
            }
        });
    });
    address
}

/// The messages that an HTTP endpoint keeps for polling (RFC 002, 6.2), by the DID of the recipient.
#[derive(Default)]
struct Mailboxes(Mutex<HashMap<String, Vec<Message>>>);

impl Mailboxes {
    /// Forwards each request. Of the answers to a message, all but the first `at_once` wait until they are fetched; an accepted
    /// message is answered with `taken`, a successful status.
    fn keep(&self, mut near: TcpStream, behind: SocketAddr, at_once: usize, taken: u16) -> std::io::Result<()> {
        while let Some((head, body)) = request(&mut near) {
            let answer = match head.strip_prefix("GET /amp/v1/messages") {
                Some(rest) => plain(200, &self.page(rest)),
                None => self.without_what_waits(pass(&head, &body, behind)?, &head, at_once, taken),
            };
            near.write_all(&answer)?;
        }
        Ok(())
    }

    fn without_what_waits(&self, answer: Vec<u8>, head: &str, at_once: usize, taken: u16) -> Vec<u8> {
        let end = answer.windows(4).position(|window| window == b"\r\n\r\n").expect("a head") + 4;
        let good = answer.starts_with(b"HTTP/1.1 200") && head.starts_with("POST /amp/v1/messages");
        let Some(message) = cbor::parse(&answer[end..]).ok().filter(|_| good) else { return answer };
        let items = message.member("body").and_then(|body| body.member("items"));
        let mut answers = match items.and_then(Message::as_array) {
            Some(items) => items.to_vec(),
            None => vec![Message::Bytes(answer[end..].to_vec())],
        };
        let to = message.member("to").and_then(Message::as_text).expect("a recipient").to_owned();
        let waits = answers.split_off(at_once.min(answers.len()));
        self.0.lock().expect("no thread panics").entry(to).or_default().extend(waits);
        let body = match answers.first() {
            Some(Message::Bytes(first)) => first.clone(),
            _ => Vec::new(),
        };
        plain(taken, &body)
    }

    /// Twenty of the waiting messages, after the requested cursor.
    fn page(&self, request: &str) -> Vec<u8> {
        let after = |name: &str| {
            let (_, rest) = request.split_once(name)?;
            rest.split(['&', ' ', '\r']).next()
        };
        let owner = after("x-principal-did: ").expect("the request names its sender");
        let behind = after("cursor=").map_or(0, |cursor| cursor.parse().expect("a cursor of ours"));
        let mailboxes = self.0.lock().expect("no thread panics");
        let waiting = mailboxes.get(owner).map_or(&[][..], |all| all.get(behind..).unwrap_or_default());
        let page: Vec<Message> = waiting.iter().take(20).cloned().collect();
        let next = Message::text((behind + page.len()).to_string());
        let more = Message::Bool(waiting.len() > page.len());
        cbor::write(&Message::map([
            ("messages", Message::Array(page.into())),
            ("has_more", more),
            ("next_cursor", next),
        ]))
    }
}

/// An answer over a connection that stays open.
fn plain(status: u16, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status} x\r\ncontent-type: application/cbor\r\ncontent-length: {length}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

/// The answer of the server behind to a request.
fn pass(head: &str, body: &[u8], behind: SocketAddr) -> std::io::Result<Vec<u8>> {
    let mut far = TcpStream::connect(behind)?;
    let fields = head.trim_end();
    far.write_all(format!("{fields}\r\nconnection: close\r\n\r\n").as_bytes())?;
    far.write_all(body)?;
    let mut answer = Vec::new();
    far.read_to_end(&mut answer)?;
    Ok(answer)
}

/// The second message is built when the case begins, and sent after the answer to the first.
const LATE: &str = r#"
suite: amp-core/late
cases:
  - case: takes-what-lives-two-seconds
    covers: [AMP-16.1-01]
    let: { message: { base: base, set: { /ttl: 2000 } } }
    steps:
      - send: deliver
        with: { message: { base: base }, key: "${actor}" }
        assume: [{ accepted: true }]
      - send: deliver
        with: { message: "${message}", key: "${actor}" }
        expect: [{ accepted: true }]
"#;

/// Cases that run concurrently, each of which has one answer to expect.
const ONE_ANSWER: &str = r#"
suite: amp-core/late
cases:
  - case: gets-its-own-answer-alone
    covers: [AMP-16.1-01]
    for-each: [{ row: a }, { row: b }, { row: c }, { row: d }, { row: e }, { row: f }]
    steps:
      - send: deliver
        collect-for: 800ms
        with: { message: { base: base }, key: "${actor}" }
        expect: [{ at: /replies, length: 1 }]
"#;

/// The verdict of each case of a run over some suites, and what was found, as the record has it.
struct Verdicts(Vec<(String, String)>, String);

impl Verdicts {
    fn of(reach: &str) -> Self {
        Self::with_cases(reach, "")
    }

    /// Those of a run over these suites.
    fn over(reach: &str, suites: &[&str]) -> Self {
        Self::run(reach, "", suites)
    }

    /// The same with additional cases; if there are any, only they run.
    fn with_cases(reach: &str, cases: &str) -> Self {
        let suites = ["acknowledgement", "basics", "error-codes", "idempotency", "replay", "versions", "negotiation"];
        Self::run(reach, cases, &suites)
    }

    fn run(reach: &str, cases: &str, suites: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let limits = "{ request: 5s, reply: 5s, collect-for: 300ms }";
        let target = format!("protocol: amp-core\n{reach}\nlimits: {limits}\nsettings: {{ did: \"{DID}\" }}\n");
        std::fs::write(at("target.yaml"), target).expect("a file");
        std::fs::create_dir_all(at("suites/amp-core")).expect("a folder");
        for name in [&["protocol", "requirements"], suites].concat() {
            let name = format!("{name}.yaml");
            let from = format!("{}/suites/amp-core/{name}", env!("CARGO_MANIFEST_DIR"));
            std::fs::copy(from, at("suites/amp-core").join(name)).expect("a copy");
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_proofmark"));
        command.arg("check");
        if !cases.is_empty() {
            std::fs::write(at("cases.yaml"), cases).expect("a file");
            command.args(["--only", "amp-core/late#*", "--cases"]).arg(at("cases.yaml"));
        }
        let ran = command
            .args(["--quiet", "--seed", "7", "--level", "core", "--target"])
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
        let (mut verdicts, mut found) = (Vec::new(), String::new());
        for case in cases {
            verdicts.push((text(case, "verdict"), text(case, "id")));
            let findings = case["findings"].as_array().is_some_and(|findings| !findings.is_empty());
            if findings || case["verdict"] == "error" {
                let _ = writeln!(found, "{}: {} {}", case["id"], case["findings"], case["because"]);
            }
        }
        Self(verdicts, found)
    }

    fn with(&self, verdict: &str) -> Vec<&str> {
        self.0.iter().filter(|(given, _)| given == verdict).map(|(_, id)| id.as_str()).collect()
    }

    /// No case fails, and the cases were judged.
    fn no_case_fails(&self) {
        self.no_case_fails_but("");
    }

    /// The same, except for one case that cannot tell this behaviour from a fault.
    fn no_case_fails_but(&self, one: &str) {
        let none: Vec<&str> = Vec::new();
        let failing: Vec<&str> = self.with("fail").into_iter().filter(|id| *id != one).collect();
        assert_eq!(failing, none, "{}", self.1);
        assert_eq!(self.with("error"), none, "{}", self.1);
        let passed = self.with("pass").len();
        assert!(passed > 50, "{passed} pass: {:?}", self.0);
    }
}

fn tcp_may_end_after_each_error() {
    let reference = Reference::start().expect("a reference");
    let behind = reference.tcp;
    let address = listen(move |near, _| closing_behind_errors(&near, behind, tcp_frame));
    Verdicts::of(&format!("tcp: amp://{address}\ntransports: [tcp]")).no_case_fails();
}

fn websocket_may_end_after_each_error() {
    let reference = Reference::start().expect("a reference");
    let behind = reference.http;
    let address = listen(move |near, _| closing_behind_errors(&near, behind, ws_frame));
    Verdicts::of(&format!("ws: ws://{address}/amp/v1/ws\ntransports: [ws]")).no_case_fails();
}

/// A target may send to any connection of a party, and all cases have the same parties.
fn an_answer_may_reach_another_connection_of_its_party() {
    let reference = Reference::start().expect("a reference");
    let behind = reference.http;
    let heard: Arc<Heard> = Arc::default();
    let address = listen(move |near, number| sharing_answers(&near, behind, ws_frame, number, &heard));
    let reach = format!("ws: ws://{address}/amp/v1/ws\ntransports: [ws]");
    let run = Verdicts::with_cases(&reach, ONE_ANSWER);
    assert_eq!(run.with("pass").len(), 6, "{:?}\n{}", run.with("fail"), run.1);
    Verdicts::of(&reach).no_case_fails();
}

fn a_websocket_is_kept_alive_while_an_answer_is_prepared() {
    let reference = Reference::start().expect("a reference");
    let behind = reference.http;
    let ping = |_: &[u8]| b"\x89\x05hello".to_vec();
    let address = listen(move |near, _| dawdling(&near, behind, ws_frame, ping));
    Verdicts::of(&format!("ws: ws://{address}/amp/v1/ws\ntransports: [ws]")).no_case_fails();
}

fn tcp_is_kept_alive_while_an_answer_is_prepared() {
    let reference = Reference::start().expect("a reference");
    let behind = reference.tcp;
    let ping = |_: &[u8]| b"\x00\x00\x00\x05\x03ping".to_vec();
    let address = listen(move |near, _| dawdling(&near, behind, tcp_frame, ping));
    Verdicts::of(&format!("tcp: amp://{address}\ntransports: [tcp]")).no_case_fails();
}

fn an_answer_to_an_earlier_message_does_not_end_the_wait() {
    let reference = Reference::start().expect("a reference");
    let behind = reference.tcp;
    let receipt = |last: &[u8]| last.windows(5).any(|window| window == b"\x63typ\x03" || window == b"\x63typ\x04");
    let again = move |last: &[u8]| if receipt(last) { last.to_vec() } else { Vec::new() };
    let address = listen(move |near, _| dawdling(&near, behind, tcp_frame, again));
    Verdicts::of(&format!("tcp: amp://{address}\ntransports: [tcp]"))
        .no_case_fails_but("amp-core/replay#accepts-same-id-from-two-senders");
}

fn an_error_about_an_earlier_message_is_not_judged_by_the_last_one() {
    let reference = Reference::start().expect("a reference");
    let behind = reference.tcp;
    let address = listen(move |near, _| repeating_errors(&near, behind, tcp_frame));
    let reach = format!("tcp: amp://{address}\ntransports: [tcp]\nfeatures: {{ batch: true }}");
    let suites = ["batch", "bodies", "companions", "encryption", "errors", "negotiation", "streams", "types"];
    let of_senders = ["bodies-of-senders", "encryption-senders", "envelope-senders", "error-senders"];
    Verdicts::over(&reach, &[&suites[..], &of_senders].concat()).no_case_fails();
}

fn answers_may_be_fetched() {
    let reference = Reference::start().expect("a reference");
    let behind = reference.http;
    let mailboxes = Mailboxes::default();
    let address = listen(move |near, _| mailboxes.keep(near, behind, 0, 202));
    Verdicts::of(&format!("url: http://{address}\ntransports: [http]")).no_case_fails();
}

fn all_but_the_first_answer_may_be_fetched() {
    let reference = Reference::start().expect("a reference");
    let behind = reference.http;
    let mailboxes = Mailboxes::default();
    let address = listen(move |near, _| mailboxes.keep(near, behind, 1, 201));
    Verdicts::of(&format!("url: http://{address}\ntransports: [http]")).no_case_fails();
}

fn a_connection_dropped_before_an_answer_is_not_a_rejection() {
    let reference = Reference::start().expect("a reference");
    let behind = reference.tcp;
    let address = listen(move |mut near, number| {
        if number > 10 && number.is_multiple_of(5) {
            // Reads the request first, so that the end is not a reset.
            let _ = near.read(&mut [0; 4096])?;
            return near.shutdown(Shutdown::Both);
        }
        forward(near, behind)
    });
    let verdicts = Verdicts::of(&format!("tcp: amp://{address}\ntransports: [tcp]"));
    let none: Vec<&str> = Vec::new();
    assert_eq!(verdicts.with("fail"), none, "{}", verdicts.1);
    assert!(!verdicts.with("error").is_empty(), "no answer was cut off");
    assert!(!verdicts.with("pass").is_empty(), "no case was judged");
}

fn a_message_that_expired_after_slow_answers_is_not_a_finding() {
    let reference = Reference::start().expect("a reference");
    let behind = reference.http;
    let case = "amp-core/late#takes-what-lives-two-seconds";
    let in_time = Verdicts::with_cases(&format!("url: http://{behind}\ntransports: [http]"), LATE);
    assert_eq!(in_time.with("pass"), [case]);
    let address = listen(move |mut near, _| {
        while let Some((head, body)) = request(&mut near) {
            if head.starts_with("POST") {
                thread::sleep(Duration::from_millis(2500));
            }
            near.write_all(&pass(&head, &body, behind)?)?;
        }
        Ok(())
    });
    let late = Verdicts::with_cases(&format!("url: http://{address}\ntransports: [http]"), LATE);
    assert_eq!(late.with("inconclusive"), [case]);
}

fn a_message_that_expired_on_its_way_is_not_a_finding() {
    let reference = Reference::start().expect("a reference");
    let behind = reference.http;
    let address = listen(move |mut near, _| {
        while let Some((head, body)) = request(&mut near) {
            // The ttl of the second message, 2000 ms: only this one is held up, and it was sent in time.
            if body.windows(7).any(|window| window == b"\x63ttl\x19\x07\xd0") {
                thread::sleep(Duration::from_millis(2500));
            }
            near.write_all(&pass(&head, &body, behind)?)?;
        }
        Ok(())
    });
    let late = Verdicts::with_cases(&format!("url: http://{address}\ntransports: [http]"), LATE);
    assert_eq!(late.with("inconclusive"), ["amp-core/late#takes-what-lives-two-seconds"], "{}", late.1);
}

//! Peers that are slow, half-open, declare wrong lengths, flood, or break a handshake: over each transport a run against them
//! ends within its deadline, with a verdict other than "conformant", and in bounded memory.
//!
//! Each behaviour is tested twice: with a peer that is hostile from the start, and with one that serves the first connections as
//! the reference does and then turns hostile, so that it affects cases and not only the probes.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::reference::{Reference, forward};
use libtest_mimic::{Failed, Trial};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

/// The longest that the run may take: its own deadline of 12 s, and more than twice that for a busy machine.
const DEADLINE: Duration = Duration::from_secs(40);

/// The most memory that proofmark may use at any time, in KiB. A run against a correct peer takes a third of it.
const MEMORY: u64 = 300 << 10;

/// The longest life of a hostile connection: longer than any run.
const LONGEST: Duration = Duration::from_secs(90);

/// The DID of the reference. Its document follows from the DID without a request.
const DID: &str = "did:key:z6MkpkwHZkknwudMEYhR1tXdi4f3fLPe5oSnT6Kpme6c8F3o";

type Behaviour = fn(&mut TcpStream) -> std::io::Result<()>;

/// A hostile behaviour, and the transports to which it applies.
struct Kind {
    name: &'static str,
    over: &'static [&'static str],
    behaviour: Behaviour,
}

const ALL: &[&str] = &["http", "ws", "tcp"];

const KINDS: &[Kind] = &[
    Kind { name: "silent", over: ALL, behaviour: |peer| swallow(peer) },
    Kind { name: "deaf", over: ALL, behaviour: |_| nap(LONGEST) },
    Kind { name: "gone-at-once", over: ALL, behaviour: |_| Ok(()) },
    Kind { name: "half-open", over: ALL, behaviour: half_open },
    Kind { name: "noise", over: ALL, behaviour: |peer| flood(peer, b"", &[0xff; 4096]) },
    Kind { name: "zeros", over: ALL, behaviour: |peer| flood(peer, b"", &[0; 4096]) },
    Kind {
        name: "dripping-status-line",
        over: &["http", "ws"],
        behaviour: |peer| drip(peer, b"HTTP/1.1 200 OKOKOKOKOK"),
    },
    Kind { name: "endless-header", over: &["http", "ws"], behaviour: endless_header },
    Kind { name: "endless-headers", over: &["http", "ws"], behaviour: endless_headers },
    Kind { name: "endless-provisional", over: &["http", "ws"], behaviour: endless_provisional },
    Kind { name: "redirects-to-itself", over: &["http", "ws"], behaviour: |peer| answer(peer, REDIRECT) },
    Kind {
        name: "body-of-a-petabyte",
        over: &["http"],
        behaviour: |peer| after_request(peer, PETABYTE, &[0xa0; 4096]),
    },
    Kind { name: "body-that-stalls", over: &["http"], behaviour: |peer| answer(peer, STALLED) },
    Kind { name: "body-that-drips", over: &["http"], behaviour: dripping_body },
    Kind { name: "chunk-of-all-ones", over: &["http"], behaviour: |peer| after_request(peer, CHUNK, &[0xa0; 4096]) },
    Kind {
        name: "chunks-without-end",
        over: &["http"],
        behaviour: |peer| after_request(peer, CHUNKED, b"1\r\n\xa0\r\n"),
    },
    Kind { name: "deep-body", over: &["http"], behaviour: |peer| body(peer, &[0x81; 100_000]) },
    Kind { name: "body-that-declares-an-array", over: &["http"], behaviour: |peer| body(peer, &declared(0x9b)) },
    Kind { name: "body-that-declares-bytes", over: &["http"], behaviour: |peer| body(peer, &declared(0x5b)) },
    Kind {
        name: "wrong-accept",
        over: &["ws"],
        behaviour: |peer| handshake(peer, "amp.v1", "AAAAAAAAAAAAAAAAAAAAAAAAAAA="),
    },
    Kind { name: "no-subprotocol", over: &["ws"], behaviour: |peer| open(peer, "").and_then(|()| swallow(peer)) },
    Kind {
        name: "other-subprotocol",
        over: &["ws"],
        behaviour: |peer| open(peer, "amp.v2").and_then(|()| swallow(peer)),
    },
    Kind { name: "upgraded-and-silent", over: &["ws"], behaviour: |peer| frames(peer, b"", b"") },
    Kind { name: "frame-of-exabytes", over: &["ws"], behaviour: |peer| frames(peer, EXABYTES, &[0xa0; 4096]) },
    Kind {
        name: "fragments-without-end",
        over: &["ws"],
        behaviour: |peer| frames(peer, b"\x02\x01\xa0", b"\x00\x01\xa0"),
    },
    Kind { name: "pings-without-end", over: &["ws"], behaviour: |peer| frames(peer, b"", b"\x89\x00") },
    Kind { name: "masked-frames", over: &["ws"], behaviour: |peer| frames(peer, b"", b"\x82\x81\x01\x02\x03\x04\xa1") },
    Kind { name: "text-frames", over: &["ws"], behaviour: |peer| frames(peer, b"", b"\x81\x02hi") },
    Kind { name: "reserved-bits", over: &["ws"], behaviour: |peer| frames(peer, b"", b"\xf2\x01\xa0") },
    Kind {
        name: "frame-of-four-gigabytes",
        over: &["tcp"],
        behaviour: |peer| flood(peer, &[0xff, 0xff, 0xff, 0xff, 2], &[0xa0; 4096]),
    },
    Kind { name: "frames-of-nothing", over: &["tcp"], behaviour: |peer| flood(peer, b"", &[0, 0, 0, 0]) },
    Kind {
        name: "frames-of-an-unknown-type",
        over: &["tcp"],
        behaviour: |peer| flood(peer, b"", &[0, 0, 0, 2, 9, 0xa0]),
    },
    Kind { name: "frame-that-stalls", over: &["tcp"], behaviour: |peer| send_only(peer, &[0, 0, 0, 50, 2, 0xa1]) },
    Kind { name: "frame-that-drips", over: &["tcp"], behaviour: |peer| drip(peer, &[0, 0, 1, 0, 2, 0xa1]) },
    Kind { name: "deep-handshake", over: &["tcp"], behaviour: |peer| send_only(peer, &deep_frame()) },
    Kind { name: "handshake-of-another-version", over: &["tcp"], behaviour: |peer| send_only(peer, OTHER_VERSION) },
    Kind { name: "goes-away-at-once", over: &["tcp"], behaviour: |peer| send_only(peer, GOAWAY) },
    Kind { name: "pings-for-ever", over: &["tcp"], behaviour: |peer| flood(peer, SHAKEN, &[0, 0, 0, 1, 3]) },
    Kind { name: "shakes-hands-and-is-silent", over: &["tcp"], behaviour: |peer| send_only(peer, SHAKEN) },
];

/// Answers that are small on the wire and large in memory, or that take long to read. They come over HTTP to cases of `agentic`.
const JSON_KINDS: &[Kind] = &[
    Kind { name: "json-of-many-levels", over: AGENTIC, behaviour: |peer| texts(peer, &"[".repeat(200_000)) },
    Kind {
        name: "json-of-many-objects",
        over: AGENTIC,
        behaviour: |peer| texts(peer, &format!("{}1{}", r#"{"a":"#.repeat(200_000), "}".repeat(200_000))),
    },
    Kind {
        name: "number-of-many-digits",
        over: AGENTIC,
        behaviour: |peer| texts(peer, &format!("{{\"a\":{}}}", "9".repeat(2_000_000))),
    },
    Kind { name: "object-of-many-members", over: AGENTIC, behaviour: |peer| texts(peer, &many_members()) },
    Kind {
        name: "list-of-many-items",
        over: AGENTIC,
        behaviour: |peer| texts(peer, &format!("[{}{{}}]", r#"{"id":"a"},"#.repeat(500_000))),
    },
    Kind {
        name: "text-of-controls",
        over: AGENTIC,
        behaviour: |peer| texts(peer, &format!("{{\"a\":\"{}\"}}", "\\u0001".repeat(1_000_000))),
    },
];

const AGENTIC: &[&str] = &["agentic"];

/// Messages of CBOR that are valid, and large in memory.
const CBOR_KINDS: &[Kind] = &[
    Kind { name: "map-of-many-members", over: &["http"], behaviour: |peer| body(peer, &many_keys()) },
    Kind { name: "map-of-many-members-in-frames", over: &["ws"], behaviour: |peer| messages(peer, &many_keys()) },
    Kind { name: "map-of-many-members-in-messages", over: &["tcp"], behaviour: |peer| typed(peer, &many_keys()) },
    Kind { name: "array-of-empty-arrays", over: &["http"], behaviour: |peer| body(peer, &many_arrays()) },
    Kind { name: "array-of-empty-arrays-in-frames", over: &["ws"], behaviour: |peer| messages(peer, &many_arrays()) },
    Kind { name: "array-of-empty-arrays-in-messages", over: &["tcp"], behaviour: |peer| typed(peer, &many_arrays()) },
    // The innermost key is a zero in two bytes, so the keys around it are written again: if twice at each level, 2^100 times.
    Kind { name: "maps-as-keys-of-maps", over: &["http"], behaviour: |peer| body(peer, &keys_of_keys(&[0x18, 0])) },
    Kind {
        name: "maps-as-keys-of-maps-in-frames",
        over: &["ws"],
        behaviour: |peer| answers(peer, &keys_of_keys(&[0x18, 0])),
    },
    Kind {
        name: "maps-as-keys-of-maps-in-messages",
        over: &["tcp"],
        behaviour: |peer| typed(peer, &keys_of_keys(&[0x18, 0])),
    },
    Kind {
        name: "maps-as-keys-around-many-members",
        over: &["http"],
        behaviour: |peer| body(peer, &keys_of_keys(&many_keys())),
    },
];

const REDIRECT: &[u8] = b"HTTP/1.1 307 Temporary Redirect\r\nLocation: /amp/v1/messages\r\nContent-Length: 0\r\n\r\n";
const PETABYTE: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: application/cbor\r\nContent-Length: 1000000000000000\r\n\r\n";
const STALLED: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: application/cbor\r\nContent-Length: 10\r\n\r\n\xa1\x61";
const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: application/cbor\r\nTransfer-Encoding: chunked\r\n\r\n";
const CHUNK: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: application/cbor\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n";
/// A binary message of nearly 2^63 bytes.
const EXABYTES: &[u8] = b"\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xff";
/// Frame type 2 with `{"version": 1}`.
const SHAKEN: &[u8] = b"\x00\x00\x00\x0b\x02\xa1\x67version\x01";
/// The same with version 200.
const OTHER_VERSION: &[u8] = b"\x00\x00\x00\x0c\x02\xa1\x67version\x18\xc8";
/// Frame type 5 with `{"reason": 0}`.
const GOAWAY: &[u8] = b"\x00\x00\x00\x0a\x05\xa1\x66reason\x00";

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for kind in KINDS.iter().chain(CBOR_KINDS).chain(JSON_KINDS) {
        for over in kind.over {
            // Far fewer connections are tame than a run needs. Over HTTP each party has its own, and on a busy machine no more.
            let few = if *over == "http" { 1 } else { 12 };
            for (when, tame) in [("always", 0), ("later", few)] {
                // The reference that is tame first serves amp-core; and once is enough for what takes a second of a processor.
                if tame > 0 && (*over == "agentic" || CBOR_KINDS.iter().any(|large| large.name == kind.name)) {
                    continue;
                }
                let name = format!("hostile::{over}::{}::{when}", kind.name);
                trials.push(Trial::test(name, move || judged(kind, over, tame)));
            }
        }
    }
    trials
}

/// Checks a peer whose connections are tame up to the given number, and hostile from there on.
fn judged(kind: &'static Kind, over: &str, tame: usize) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let reference = (tame > 0).then(Reference::start).transpose()?;
    let behind = reference.as_ref().map(|reference| if over == "tcp" { reference.tcp } else { reference.http });
    let address = listen(kind.behaviour, tame, behind)?;
    let (protocol, suite) = if over == "agentic" { ("agentic", "deposit") } else { ("amp-core", "basics") };
    let reach = match over {
        "agentic" => format!("url: http://{address}"),
        "http" => format!("url: http://{address}\ntransports: [http]"),
        "ws" => format!("ws: ws://{address}/amp/v1/ws\ntransports: [ws]"),
        _ => format!("tcp: amp://{address}\ntransports: [tcp]"),
    };
    let limits = "{ request: 1s, reply: 1s, collect-for: 200ms, case: 8s, run: 12s }";
    let settings = if over == "agentic" { "level: L1" } else { "level: core" };
    let did = if over == "agentic" { String::new() } else { format!("settings: {{ did: \"{DID}\" }}\n") };
    let target = format!("protocol: {protocol}\n{reach}\n{settings}\nlimits: {limits}\n{did}");
    let file = folder.path().join("target.yaml");
    std::fs::write(&file, target)?;
    // Reading all suites would take longer than running these cases.
    let suites = folder.path().join("suites");
    std::fs::create_dir_all(suites.join(protocol))?;
    for name in ["protocol", "requirements", suite] {
        let from = concat!(env!("CARGO_MANIFEST_DIR"), "/suites");
        std::fs::copy(format!("{from}/{protocol}/{name}.yaml"), suites.join(protocol).join(format!("{name}.yaml")))?;
    }

    let mut run = Command::new(env!("CARGO_BIN_EXE_proofmark"))
        .args(["check", "--only", &format!("{protocol}/{suite}#*"), "--target"])
        .arg(&file)
        .arg("--suites")
        .arg(&suites)
        .arg("--out")
        .arg(folder.path().join("out"))
        .stdin(Stdio::null())
        .stdout(std::fs::File::create(folder.path().join("stdout"))?)
        .stderr(std::fs::File::create(folder.path().join("stderr"))?)
        .spawn()?;
    let begun = Instant::now();
    let mut most = 0;
    let status = loop {
        most = most.max(resident(run.id()));
        if let Some(status) = run.try_wait()? {
            break status;
        }
        if begun.elapsed() > DEADLINE {
            run.kill()?;
            run.wait()?;
            return Err(format!("no verdict after {DEADLINE:?}").into());
        }
        thread::sleep(Duration::from_millis(20));
    };
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap_or_default();
    let output = read("stdout") + &read("stderr");
    // 1: a violation; 3: undecided. Never 0, and never a panic (101) or a signal.
    if !matches!(status.code(), Some(1 | 3)) || output.contains("panicked") {
        return Err(format!("{status}\n{output}").into());
    }
    if most > MEMORY {
        return Err(format!("{most} KiB of memory").into());
    }
    Ok(())
}

/// The peak memory of a process so far, in KiB; 0 if the system does not report it, and before the process is proofmark: until
/// then it has the memory of this program.
fn resident(process: u32) -> u64 {
    let program = |process: &str| std::fs::read_link(format!("/proc/{process}/exe")).ok();
    if program(&process.to_string()) == program("self") {
        return 0;
    }
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()).and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Starts the hostile peer; it lives until the test program ends.
fn listen(behaviour: Behaviour, tame: usize, behind: Option<SocketAddr>) -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let count = Arc::new(AtomicUsize::new(0));
    thread::spawn(move || {
        for peer in listener.incoming().flatten() {
            let number = count.fetch_add(1, Ordering::Relaxed);
            thread::spawn(move || {
                let mut peer = peer;
                // An error here means that the other side closed the connection, which it may.
                let _ = match behind {
                    Some(behind) if number < tame => forward(peer, behind),
                    _ => behaviour(&mut peer),
                };
            });
        }
    });
    Ok(address)
}

#[expect(clippy::unnecessary_wraps, reason = "a behaviour may fail")]
fn nap(duration: Duration) -> std::io::Result<()> {
    thread::sleep(duration);
    Ok(())
}

/// Reads to the end of the stream.
fn swallow(peer: &mut TcpStream) -> std::io::Result<()> {
    let mut bytes = [0; 4096];
    while peer.read(&mut bytes)? > 0 {}
    Ok(())
}

fn half_open(peer: &mut TcpStream) -> std::io::Result<()> {
    peer.shutdown(Shutdown::Write)?;
    swallow(peer)
}

/// Sends only these bytes, and keeps the connection open.
fn send_only(peer: &mut TcpStream, bytes: &[u8]) -> std::io::Result<()> {
    peer.write_all(bytes)?;
    swallow(peer)
}

/// Sends `first` once and `then` as long as the other side reads, without reading.
fn flood(peer: &mut TcpStream, first: &[u8], then: &[u8]) -> std::io::Result<()> {
    let begun = Instant::now();
    peer.write_all(first)?;
    let many = then.repeat(16_384 / then.len().max(1) + 1);
    while begun.elapsed() < LONGEST {
        peer.write_all(&many)?;
        // More than a run reads, without using the processor that the other tests need.
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Sends a byte at a time, the last one for ever.
fn drip(peer: &mut TcpStream, bytes: &[u8]) -> std::io::Result<()> {
    let begun = Instant::now();
    let mut at = 0;
    while begun.elapsed() < LONGEST {
        peer.write_all(&bytes[at..=at])?;
        at = (at + 1).min(bytes.len() - 1);
        thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// Reads the head of a request and returns it.
fn request(peer: &mut TcpStream) -> std::io::Result<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if peer.read(&mut byte)? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        head.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

fn answer(peer: &mut TcpStream, bytes: &[u8]) -> std::io::Result<()> {
    request(peer)?;
    send_only(peer, bytes)
}

fn after_request(peer: &mut TcpStream, first: &[u8], then: &[u8]) -> std::io::Result<()> {
    request(peer)?;
    flood(peer, first, then)
}

fn body(peer: &mut TcpStream, body: &[u8]) -> std::io::Result<()> {
    let length = body.len();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: application/cbor\r\nContent-Length: {length}\r\n\r\n");
    answer(peer, &[head.as_bytes(), body].concat())
}

/// Answers every request with the same text.
fn texts(peer: &mut TcpStream, text: &str) -> std::io::Result<()> {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n", text.len());
    loop {
        request(peer)?; // a body before it counts as part of it
        peer.write_all(head.as_bytes())?;
        peer.write_all(text.as_bytes())?;
    }
}

fn many_members() -> String {
    let members: Vec<String> = (0..300_000).map(|number| format!("\"m{number}\":{number}")).collect();
    format!("{{{}}}", members.join(","))
}

/// A map of 300,000 numbers.
fn many_keys() -> Vec<u8> {
    let mut map = vec![0xba];
    map.extend(300_000_u32.to_be_bytes());
    (0..300_000_u32).for_each(|key| map.extend([&[0x1a][..], &key.to_be_bytes(), &[0]].concat()));
    map
}

/// A map whose key is a map whose key is a map, a hundred times, around an innermost key.
fn keys_of_keys(innermost: &[u8]) -> Vec<u8> {
    [&[0xa1; 100][..], innermost, &[0; 100]].concat()
}

fn many_arrays() -> Vec<u8> {
    let mut array = vec![0x9a];
    array.extend(500_000_u32.to_be_bytes());
    array.resize(500_005, 0x80);
    array
}

/// The same binary message of WebSocket again and again.
fn messages(peer: &mut TcpStream, message: &[u8]) -> std::io::Result<()> {
    let head = [&[0x82, 0x7f][..], &(message.len() as u64).to_be_bytes()].concat();
    frames(peer, b"", &[&head, message].concat())
}

/// The same binary message of WebSocket after each piece of what comes.
fn answers(peer: &mut TcpStream, message: &[u8]) -> std::io::Result<()> {
    let frame = [&[0x82, 0x7e][..], &u16::try_from(message.len()).unwrap_or(u16::MAX).to_be_bytes(), message].concat();
    open(peer, "amp.v1")?;
    let mut bytes = [0; 4096];
    while peer.read(&mut bytes)? > 0 {
        peer.write_all(&frame)?;
    }
    Ok(())
}

/// A handshake, and then the same message in a frame again and again.
fn typed(peer: &mut TcpStream, message: &[u8]) -> std::io::Result<()> {
    let length = u32::try_from(message.len() + 1).unwrap_or(u32::MAX).to_be_bytes();
    flood(peer, SHAKEN, &[&length[..], &[1], message].concat())
}

fn dripping_body(peer: &mut TcpStream) -> std::io::Result<()> {
    request(peer)?;
    peer.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: application/cbor\r\nContent-Length: 100000\r\n\r\n")?;
    drip(peer, &[0xa1, 0x61])
}

fn endless_header(peer: &mut TcpStream) -> std::io::Result<()> {
    after_request(peer, b"HTTP/1.1 200 OK\r\nX-Long: ", b"aaaaaaaaaaaaaaaa")
}

fn endless_headers(peer: &mut TcpStream) -> std::io::Result<()> {
    after_request(peer, b"HTTP/1.1 200 OK\r\n", b"X-Another: one\r\n")
}

fn endless_provisional(peer: &mut TcpStream) -> std::io::Result<()> {
    after_request(peer, b"", b"HTTP/1.1 103 Early Hints\r\n\r\n")
}

/// A head of CBOR that declares 2^63 - 1 elements or bytes, with three behind it.
fn declared(initial: u8) -> Vec<u8> {
    [&[initial, 0x7f][..], &[0xff; 7], &[0xa0; 3]].concat()
}

fn deep_frame() -> Vec<u8> {
    let depth = 100_000_u32;
    let mut frame = (depth + 1).to_be_bytes().to_vec();
    frame.push(2);
    frame.extend(std::iter::repeat_n(0x81, depth as usize));
    frame
}

/// Answers an upgrade with this value of `Sec-WebSocket-Accept`, and is silent.
fn handshake(peer: &mut TcpStream, subprotocol: &str, accept: &str) -> std::io::Result<()> {
    request(peer)?;
    upgraded(peer, subprotocol, accept)?;
    swallow(peer)
}

fn upgraded(peer: &mut TcpStream, subprotocol: &str, accept: &str) -> std::io::Result<()> {
    let chosen =
        if subprotocol.is_empty() { String::new() } else { format!("Sec-WebSocket-Protocol: {subprotocol}\r\n") };
    let head = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n";
    peer.write_all(format!("{head}Sec-WebSocket-Accept: {accept}\r\n{chosen}\r\n").as_bytes())
}

/// Takes an upgrade as RFC 6455 has it.
fn open(peer: &mut TcpStream, subprotocol: &str) -> std::io::Result<()> {
    let head = request(peer)?;
    let key = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("sec-websocket-key").then(|| value.trim().to_owned())
    });
    upgraded(peer, subprotocol, &derive_accept_key(key.unwrap_or_default().as_bytes()))
}

/// Accepts an upgrade, sends `first`, and then `again` forever, unless it is empty.
fn frames(peer: &mut TcpStream, first: &[u8], again: &[u8]) -> std::io::Result<()> {
    open(peer, "amp.v1")?;
    if again.is_empty() { send_only(peer, first) } else { flood(peer, first, again) }
}

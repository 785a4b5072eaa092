//! Runs against a small target that sends messages to hosts: a relay that receives orders with messages and addresses.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use url::Url;

use super::{Runner, Silent};
use crate::bundle::Bundle;
use crate::exchange::{Encoded, Ended, Exchange, HostArrival, HostReply, Incoming};
use crate::judge;
use crate::plan::{self, Knowledge, Plan, Selection};
use crate::protocol::{
    self, BodyPlan, Channel as ChannelRules, Hosting, Input, ObservationContext, Operation, Protocol, Route, base_view,
};
use crate::record::{CaseRecord, ProtocolRecord};
use crate::target::{ChannelProfile, Target, WsMessages, WsProfile};
use crate::template::Clock;
use crate::transport::Connections;
use crate::transport::channel::{Bounds, Channel, Received, WireItem};
use crate::transport::listener::{Answer, Inbound, Reply};
use crate::transport::listener::{Documents, Listener, Settings};
use crate::transport::socket::Address;
use crate::transport::tcp::{Framing, TcpChannel};
use crate::transport::ws::{self, Upgrade};
use crate::value::Value;
use crate::verdict::{Profile, Verdict};
use crate::walk::{Context, Facts, Features, Transcript};
use crate::wire::json;

/// The protocol of the tests: one operation orders the target to send messages. With `text`, WebSocket messages are text.
struct Toy {
    text: bool,
}

static BINARY: Toy = Toy { text: false };
static TEXT: Toy = Toy { text: true };

static OPERATIONS: &[Operation] = &[
    Operation {
        name: "tell",
        summary: "Orders the target to send messages.",
        level: "",
        inputs: &[Input { name: "orders", required: true, default: None }],
        route: Some(Route {
            base: None,
            method: "POST",
            path: "/tell",
            query: &[],
            headers: &[],
            body: BodyPlan::Input("orders"),
            summons: false,
        }),
        channel: None,
        tree: None,
        method: None,
        accepted: &[(200, 299)],
    },
    Operation {
        name: "elsewhere",
        summary: "Requests a name at another base URL.",
        level: "",
        inputs: &[],
        route: Some(Route {
            base: Some("second-home"),
            method: "GET",
            path: "/name",
            query: &[],
            headers: &[],
            body: BodyPlan::None,
            summons: false,
        }),
        channel: None,
        tree: None,
        method: None,
        accepted: &[(200, 299)],
    },
];

impl Protocol for Toy {
    fn slug(&self) -> &'static str {
        "toy"
    }

    fn operations(&self) -> &'static [Operation] {
        OPERATIONS
    }

    fn observe(&self, exchange: &Exchange, context: &ObservationContext<'_>) -> Value {
        base_view(exchange, context.target, context.clock)
    }

    fn channel(&self) -> Option<&dyn ChannelRules> {
        Some(self)
    }

    fn hosting(&self) -> Option<&dyn Hosting> {
        Some(self)
    }
}

impl ChannelRules for Toy {
    fn profile(&self, _: &Target) -> ChannelProfile {
        let messages = if self.text { WsMessages::Text } else { WsMessages::Binary };
        ChannelProfile { ws: WsProfile { messages, ..WsProfile::default() }, ..ChannelProfile::default() }
    }
}

impl Hosting for Toy {
    fn keys(&self, arrival: &HostArrival) -> Vec<String> {
        let body = json::parse(&arrival.body).ok();
        let key = body.as_ref().and_then(|body| body.member("answers")).and_then(Value::as_text);
        key.map(str::to_owned).into_iter().collect()
    }

    fn claims(&self, message: &Encoded) -> Vec<String> {
        let body = json::parse(&message.body).ok();
        let key = body.as_ref().and_then(|body| body.member("key")).and_then(Value::as_text);
        key.map(str::to_owned).into_iter().collect()
    }

    /// The host `registry` counts, for each case, how often it was called.
    fn reply(&self, arrival: &HostArrival, state: &mut Value) -> Option<HostReply> {
        if arrival.hosted.host != "registry" {
            return None;
        }
        let count = state.as_integer().unwrap_or(0) + 1;
        *state = Value::Integer(count);
        let body = json::compact(&Value::map([("count", Value::Integer(count))])).into_bytes();
        Some(HostReply::Message { status: 201, headers: Vec::new(), body })
    }
}

const MANIFEST: &str = "
protocol: toy
levels: [{ name: L0 }]
claims: { default: L0 }
let: { nonce: 'nonce-${hex 24}' }
hosts:
  - { host: path, about: by the token in the path, path: /in, transports: [http, ws] }
  - { host: keys, about: by a key, correlate: [keys], reply: { status: 202 } }
  - { host: bytes, about: by bytes, correlate: [bytes], values: ['${nonce}'], transports: [tcp, ws, http], reply: { status: 202 } }
  - { host: registry, about: the protocol makes its replies }
features:
  - { feature: common, about: the baseline, if-missing: run, floor: [endpoint], probe: [{ request: { method: GET, path: /common } }], offered: [{ at: /status, equals: 200 }] }
  - { feature: one, about: an option, if-missing: not-claimed, probe: [{ request: { method: GET, path: /one } }], offered: [{ at: /status, equals: 200 }] }
  - { feature: two, about: another option, if-missing: not-claimed, probe: [{ request: { method: GET, path: /two } }], offered: [{ at: /status, equals: 200 }] }
";

const CATALOGUE: &str = "
protocol: toy
spec: s
requirements:
  - { id: TOY-1, section: '1', keyword: MUST, level: L0, role: server, summary: s, testable: endpoint, check: c }
";

/// A feature that shows how long a reaction takes, and the times of the steps that wait for one.
const WORKS: &str = "
  - feature: works
    about: it does what it takes
    if-missing: not-claimed
    probe:
      - { request: { method: POST, path: /work/probe } }
      - { request: { method: GET, path: /done/probe }, until: slowly, expect: [{ at: /status, equals: 200 }] }
    offered: [{ at: /status, equals: 200 }]
timeouts:
  patience: { default: 1s, about: how long a reaction may take }
  slowly: { default: 5s, about: how long the first reaction may take }
";

fn knowledge(protocol: &'static Toy, cases: &str) -> Knowledge {
    knowledge_with(protocol, MANIFEST, cases)
}

fn knowledge_with(protocol: &'static Toy, manifest: &str, cases: &str) -> Knowledge {
    let suite = format!("suite: toy/area\ncases:\n{cases}");
    let files = [
        ("suites/toy/protocol.yaml", manifest),
        ("suites/toy/requirements.yaml", CATALOGUE),
        ("suites/toy/area.yaml", suite.as_str()),
    ];
    plan::load(protocol, &Bundle::new(&files)).unwrap_or_else(|error| panic!("{error:?}"))
}

/// How long the target works on what it takes at `/work/ID`, one after the other, until `/done/ID` is there.
const WORK: Duration = Duration::from_millis(300);

/// The target.
struct Relay {
    url: Url,
    /// Requested paths, with the number of requests.
    requested: Arc<Mutex<BTreeMap<String, usize>>>,
    task: tokio::task::AbortHandle,
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Relay {
    async fn start() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let settings = Settings { connections: 1_024, ..Settings::default() };
        let mut listener = Listener::start(settings, Documents::default(), Instant::now()).await.expect("a listener");
        let url = Url::parse(&format!("http://{}", listener.http())).expect("a URL");
        let requested: Arc<Mutex<BTreeMap<String, usize>>> = Arc::default();
        let counts = Arc::clone(&requested);
        let queue: Arc<tokio::sync::Mutex<()>> = Arc::default();
        let done: Arc<Mutex<BTreeSet<String>>> = Arc::default();
        let client = reqwest::Client::builder().no_proxy().tls_certs_only([]).build().expect("a client");
        let task = tokio::spawn(async move {
            loop {
                let far = tokio::time::Instant::now() + Duration::from_secs(600);
                let Some(Inbound::Request(request)) = listener.next(far).await else { continue };
                let client = client.clone();
                let (queue, done) = (Arc::clone(&queue), Arc::clone(&done));
                let path = match &request.arrival.kind {
                    crate::transport::channel::ArrivalKind::HttpRequest { target, .. } => target.clone(),
                    _ => String::new(),
                };
                let count = {
                    let mut counts = counts.lock().expect("no panic");
                    let count = counts.entry(path.clone()).or_default();
                    *count += 1;
                    *count
                };
                tokio::spawn(async move {
                    if path == "/deaf" || path == "/deaf-at-first" && count == 1 || path == "/deaf-twice" && count != 2
                    {
                        tokio::time::sleep(Duration::from_secs(60)).await;
                    }
                    if let Some(work) = path.strip_prefix("/work/").map(str::to_owned) {
                        // Taken at once, and done after everything that was taken before.
                        tokio::spawn(async move {
                            let _turn = queue.lock().await;
                            tokio::time::sleep(WORK).await;
                            done.lock().expect("no panic").insert(work);
                        });
                    } else if let Some(work) = path.strip_prefix("/done/") {
                        let is_done = done.lock().expect("no panic").contains(work);
                        let status = if is_done { 200 } else { 404 };
                        let _ = request.answer(Answer::Reply(Reply { status, headers: Vec::new(), body: Vec::new() }));
                        return;
                    }
                    let body = match json::parse(&request.arrival.body) {
                        Ok(orders) if path == "/tell" => follow(&client, &orders).await,
                        _ => json::compact(&Value::text(&path)).into_bytes(),
                    };
                    let _ = request.answer(Answer::Reply(Reply { status: 200, headers: Vec::new(), body }));
                });
            }
        });
        Self { url, requested, task: task.abort_handle() }
    }

    fn requests(&self, path: &str) -> usize {
        self.requested.lock().expect("no panic").get(path).copied().unwrap_or(0)
    }
}

/// Executes orders: sends each message to `to`, after `after` milliseconds, `copies` times. With `wait` it answers with the
/// replies after it has received them, otherwise immediately.
async fn follow(client: &reqwest::Client, orders: &Value) -> Vec<u8> {
    let number = |name: &str, default| {
        orders.member(name).and_then(Value::as_integer).and_then(|number| u64::try_from(number).ok()).unwrap_or(default)
    };
    let to = orders.member("to").and_then(Value::as_text).unwrap_or_default().to_owned();
    let (after, copies) = (number("after", 0), number("copies", 1));
    let messages: Vec<Value> = orders.member("messages").and_then(Value::as_array).unwrap_or_default().to_vec();
    let client = client.clone();
    let work = async move {
        tokio::time::sleep(Duration::from_millis(after)).await;
        let mut replies = Vec::new();
        for message in messages {
            for _ in 0..copies {
                replies.push(send(&client, &to, json::compact(&message).into_bytes()).await);
            }
        }
        replies
    };
    if orders.member("wait") == Some(&Value::Bool(true)) {
        json::compact(&Value::Array(work.await.into())).into_bytes()
    } else {
        tokio::spawn(work);
        b"[]".to_vec()
    }
}

async fn send(client: &reqwest::Client, to: &str, body: Vec<u8>) -> Value {
    let url = Url::parse(to).expect("a URL");
    let deadline = tokio::time::Instant::now() + Duration::from_secs(10);
    let now = Instant::now();
    let reply = match url.scheme() {
        "http" => {
            let Ok(answer) = client.post(url).body(body).send().await else { return Value::text("closed") };
            answer.bytes().await.expect("a body").to_vec()
        }
        "ws" => {
            let address = Address::of(&url).expect("an address");
            let upgrade = Upgrade { target: url.path().to_owned(), key: [1; 16], ..Upgrade::default() };
            let (_, channel) = ws::open(&address, None, &upgrade, Bounds::default(), now, deadline).await;
            let mut channel = channel.expect("a WebSocket");
            channel.send(WireItem::WsBinary(body), deadline).await.expect("a message");
            match channel.receive(deadline).await {
                Received::Arrived(arrival) => {
                    let kind = format!("{:?}", arrival.kind);
                    return Value::Array(vec![Value::text(kind), json::parse(&arrival.body).expect("JSON")].into());
                }
                other => panic!("{other:?}"),
            }
        }
        _ => {
            let address: SocketAddr = url.as_str().trim_start_matches("tcp://").parse().expect("an address");
            let address = Address { host: address.ip().to_string(), port: address.port(), tls: false };
            let opened = TcpChannel::connect(&address, None, Framing::Bare, Bounds::default(), now, deadline).await;
            let mut channel = opened.expect("a connection");
            channel.send(WireItem::TcpBare(body), deadline).await.expect("a message");
            match channel.receive(deadline).await {
                Received::Arrived(arrival) => arrival.body,
                other => panic!("{other:?}"),
            }
        }
    };
    json::parse(&reply).unwrap_or(Value::Null)
}

struct Ran {
    record: ProtocolRecord,
    again: ProtocolRecord,
    relay: Relay,
}

impl Ran {
    fn case(&self, name: &str) -> &CaseRecord {
        let id = format!("toy/area#{name}");
        self.record.cases.iter().find(|case| case.id == id).unwrap_or_else(|| panic!("no {id}"))
    }

    fn verdicts(record: &ProtocolRecord) -> Vec<(&str, Verdict, &str)> {
        record.cases.iter().map(|case| (case.id.as_str(), case.verdict, case.because.as_str())).collect()
    }
}

/// Runs the cases, judges them, and judges them again from the record.
async fn run(knowledge: &Knowledge, selection: &Selection, change: impl FnOnce(&mut Target)) -> Ran {
    run_and(knowledge, selection, change, |_| ()).await
}

/// As [`run`], with something else received than was.
async fn run_and(
    knowledge: &Knowledge,
    selection: &Selection,
    change: impl FnOnce(&mut Target),
    received: impl FnOnce(&mut Transcript),
) -> Ran {
    let relay = Relay::start().await;
    let mut target = Target::endpoint(relay.url.clone());
    target.urls.insert("second-home".to_owned(), relay.url.clone());
    protocol::complete(knowledge.protocol, &mut target);
    change(&mut target);
    let plan = plan::build(knowledge, &target, selection);
    let facts = Facts { seed: 7, identity_seed: 7, clock: Clock(0), profile: Profile::Lenient };
    let connections = Connections::new(&target).expect("connections");
    let runner = Runner::new(&connections, &target.limits, Instant::now());
    let (_keep, cancelled) = watch::channel(false);
    let mut transcript = runner.run_all(&plan, facts, cancelled, &Silent).await;
    assert_eq!(transcript.cut_short, None);
    received(&mut transcript);
    let record = judged(&plan, facts, &transcript);
    let stored = serde_json::to_string(&record).expect("a record is JSON");
    let stored: ProtocolRecord = serde_json::from_str(&stored).expect("a record");
    let cases = transcript.cases.iter().zip(&stored.cases).map(|(case, record)| {
        let mut case = case.clone()?;
        (case.exchanges, case.twin) = (record.exchanges.clone(), record.twin.clone());
        Some(case)
    });
    let cases = cases.collect();
    let again =
        Transcript { cases, hosts: stored.hosts, strays: stored.strays, more_strays: stored.more_strays, ..transcript };
    let again = judged(&plan, facts, &again);
    Ran { record, again, relay }
}

fn judged(plan: &Plan<'_>, facts: Facts, transcript: &Transcript) -> ProtocolRecord {
    let features = Features::read(plan, facts, transcript);
    judge::protocol(&Context { plan, facts, features }, transcript)
}

#[tokio::test(flavor = "multi_thread")]
async fn each_of_many_concurrent_cases_receives_its_own_message() {
    // Each case waits for its own message. The messages arrive in another order than requested, some of them twice, mixed with
    // messages that belong to no case.
    static DRAWN: AtomicUsize = AtomicUsize::new(11);
    let mut cases = String::new();
    for number in 0..200 {
        let (host, url) =
            [("path", "${host path http}"), ("keys", "${host keys}"), ("bytes", "${host bytes http}")][number % 3];
        let after = DRAWN.fetch_add(7_919, Ordering::Relaxed) % 400;
        let copies = if number % 5 == 0 { 2 } else { 1 };
        let stray = if number % 10 == 0 {
            "      - { send: tell, with: { orders: { to: '${host keys}', messages: [{ answers: unknown }] } } }\n"
        } else {
            ""
        };
        cases.push_str(&format!(
            "  - case: number-{number}\n    covers: [TOY-1]\n    let: {{ key: 'key-${{hex 16}}' }}\n    steps:\n{stray}      \
             - {{ send: tell, with: {{ orders: {{ key: '${{key}}', to: '{url}', after: {after}, copies: {copies}, messages: [{{ \
             number: {number}, answers: '${{key}}', nonce: '${{nonce}}' }}] }} }} }}\n      - {{ receive: {host}, within: 10s, count: \
             {copies}, expect: [{{ at: /body/number, equals: {number} }}, {{ at: /body/answers, equals: '${{key}}' }}, {{ at: /kind, \
             equals: http }}] }}\n",
        ));
    }
    let knowledge = knowledge(&BINARY, &cases);
    let begun = Instant::now();
    let ran = run(&knowledge, &Selection::default(), |target| target.limits.jobs = 200).await;
    let failed: Vec<_> =
        Ran::verdicts(&ran.record).into_iter().filter(|(_, verdict, _)| *verdict != Verdict::Pass).collect();
    assert!(failed.is_empty(), "{failed:?}");
    assert_eq!(ran.record.cases.len(), 200);
    assert_eq!(ran.record.strays.len(), 20, "{:?}", ran.record.strays);
    assert!(ran.record.strays.iter().all(|stray| stray.hosted.host == "keys" && stray.case.is_none()));
    assert_eq!(Ran::verdicts(&ran.again), Ran::verdicts(&ran.record));
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_host_replies_over_each_transport_while_the_target_waits() {
    let case = |host: &str, transport: &str, kind: &str, seen: &str| {
        format!(
            "  - case: over-{transport}\n    covers: [TOY-1]\n    steps:\n      - send: tell\n        with: {{ orders: {{ to: '${{host \
             {host} {transport}}}', wait: true, messages: [{{ nonce: '${{nonce}}' }}] }} }}\n        expect: [{{ at: {seen}, equals: \
             '${{nonce}}' }}]\n      - receive: {host}\n        where: [{{ at: /kind, equals: {kind} }}]\n        reply: {{ json: '{{\"again\": \
             \"${{answer/body/nonce}}\"}}' }}\n        expect: [{{ at: /body/nonce, equals: '${{nonce}}' }}, {{ at: /reply/body/again, \
             equals: '${{nonce}}' }}]\n"
        )
    };
    let http = case("path", "http", "http", "/body/0/again");
    let tcp = case("bytes", "tcp", "tcp-frame", "/body/0/again");
    let ws = case("path", "ws", "ws-binary", "/body/0/1/again");
    let knowledge_binary = knowledge(&BINARY, &format!("{http}{ws}{tcp}"));
    let binary = run(&knowledge_binary, &Selection::default(), |_| {}).await;
    let text = run(&knowledge(&TEXT, &ws), &Selection::default(), |_| {}).await;
    for ran in [&binary, &text] {
        let verdicts = Ran::verdicts(&ran.record);
        assert!(verdicts.iter().all(|(_, verdict, _)| *verdict == Verdict::Pass), "{:#?}", ran.record.cases);
        assert_eq!(Ran::verdicts(&ran.again), verdicts);
        assert!(ran.record.strays.is_empty(), "{:?}", ran.record.strays);
    }
    let kind = |ran: &Ran| {
        let answer = json::parse(&ran.case("over-ws").exchanges[0].received.body.0).expect("JSON");
        answer.as_array().expect("a list")[0].as_array().expect("a list")[0].as_text().expect("a kind").to_owned()
    };
    assert_eq!((kind(&binary).as_str(), kind(&text).as_str()), ("WsBinary", "WsText"));
    let steps: Vec<_> = text.case("over-ws").exchanges.iter().map(|exchange| exchange.step).collect();
    assert_eq!(steps, [0, 1], "the step does not receive the WebSocket upgrade request");
}

#[tokio::test]
async fn messages_that_arrive_or_do_not_arrive_are_judged() {
    let tell = "- { send: tell, with: { orders: { to: '${host path}', messages: [{ is: first }] } } }";
    let fence = "- { send: tell, with: { orders: { to: '${host path}', messages: [{ is: fence }] } } }";
    let none =
        "receive: path, count: 0, where: [{ at: /body/is, equals: first }], expect-all: [{ at: /answers, length: 0 }]";
    let at_fence = "fence: [{ at: /body/is, equals: fence }], within: 5s";
    let cases = [
        ("arrives", format!("{tell}, {{ receive: path, expect: [{{ at: /body/is, equals: first }}] }}"), Verdict::Pass),
        ("mismatch", format!("{tell}, {{ receive: path, expect: [{{ at: /body/is, equals: last }}] }}"), Verdict::Fail),
        ("missing", "- { receive: path, within: 100ms, expect: [{ at: /body/is, equals: first }] }".into(), Verdict::Fail),
        (
            "missing-precondition",
            format!("- {{ receive: path, within: 100ms, capture: {{ is: /body/is }} }}, {{ receive: path, {none} }}")
                .replace("receive: path, receive", "receive"),
            Verdict::Inconclusive,
        ),
        (
            "one-of-two",
            format!("{tell}, {{ receive: path, count: 2, within: 300ms, expect: [{{ at: /body/is, equals: first }}] }}"),
            Verdict::Fail,
        ),
        ("none-in-the-window", format!("{fence}, {{ {none}, within: 200ms }}"), Verdict::Pass),
        ("one-in-the-window", format!("{tell}, {{ {none}, within: 200ms }}"), Verdict::Fail),
        ("none-before-the-fence", format!("{fence}, {{ {none}, {at_fence} }}"), Verdict::Pass),
        ("one-before-the-fence", format!("{tell}, {{ pause: 50ms }}, {fence}, {{ {none}, {at_fence} }}"), Verdict::Fail),
        ("without-the-fence", format!("- {{ {none}, {at_fence} }}").replace("5s", "200ms"), Verdict::Inconclusive),
        (
            "in-any-order",
            format!(
                "{fence}, {tell}, {{ receive: path, where: [{{ at: /body/is, equals: first }}], expect: [{{ at: /body/is, equals: first \
                 }}] }}, {{ receive: path, expect: [{{ at: /body/is, equals: fence }}] }}"
            ),
            Verdict::Pass,
        ),
        (
            "beside-a-send",
            "- { parallel: [{ receive: path, expect: [{ at: /body/is, equals: first }] }, { send: tell, with: { orders: { to: '${host \
             path}', wait: true, messages: [{ is: first }] } } }] }"
                .into(),
            Verdict::Pass,
        ),
        (
            "protocol-replies",
            "- { send: tell, with: { orders: { to: '${host registry}', wait: true, copies: 3, messages: [{ is: first }] } }, expect: [{ \
             at: /body/2/count, equals: 3 }] }, { receive: registry, count: 3, expect: [{ at: /reply/status, equals: 201 }] }"
                .into(),
            Verdict::Pass,
        ),
        (
            "closes",
            "- { send: tell, with: { orders: { to: '${host path}', wait: true, messages: [{ is: first }] } }, expect: [{ at: /body/0, \
             equals: closed }] }, { receive: path, reply: { close: true }, expect: [{ at: /body/is, equals: first }] }"
                .into(),
            Verdict::Pass,
        ),
        (
            "claimed-by-a-step",
            "- { send: tell, correlate: [claimed-value], with: { orders: { to: '${host bytes http}', messages: [{ is: claimed-value }] } } \
             }, { receive: bytes, expect: [{ at: /body/is, equals: claimed-value }] }"
                .into(),
            Verdict::Pass,
        ),
        (
            "at-another-base-url",
            "- { send: elsewhere, expect: [{ at: /body, equals: /name }] }".into(),
            Verdict::Pass,
        ),
    ];
    let mut text = String::new();
    for (name, steps, _) in &cases {
        let steps = steps.trim_start_matches("- ").replace("- {", "{");
        text.push_str(&format!("  - {{ case: {name}, covers: [TOY-1], steps: [{steps}] }}\n"));
    }
    let knowledge = knowledge(&BINARY, &text);
    let ran = run(&knowledge, &Selection::default(), |_| {}).await;
    for (name, _, verdict) in &cases {
        let case = ran.case(name);
        assert_eq!(case.verdict, *verdict, "{name}: {case:#?}");
    }
    let finding = &ran.case("missing").findings[0];
    assert_eq!((finding.expected.as_str(), finding.observed.as_str()), ("a message at the host path", "no message"));
    assert_eq!(ran.case("one-of-two").findings[0].observed, "1 of 2");
    assert!(ran.case("without-the-fence").because.contains("the fence did not arrive"));
    assert_eq!(Ran::verdicts(&ran.again), Ran::verdicts(&ran.record));
    assert_eq!(ran.again.cases, ran.record.cases, "judging the record again gives the same verdicts");
}

#[tokio::test]
async fn a_late_message_is_a_stray_of_its_case() {
    let cases = "  - { case: early, covers: [TOY-1], steps: [{ send: tell, with: { orders: { to: '${host path}', after: 300, messages: [{ \
                 is: late }] } }, expect: [{ at: /status, equals: 200 }] }] }
  - { case: slow, covers: [TOY-1], steps: [{ pause: 600ms }, { request: { method: GET, path: /x }, expect: [{ at: /status, equals: 200 }] }] }
";
    let ran = run(&knowledge(&BINARY, cases), &Selection::default(), |_| {}).await;
    let [stray] = ran.record.strays.as_slice() else { panic!("{:?}", ran.record.strays) };
    assert_eq!((stray.case.as_deref(), stray.hosted.host.as_str()), (Some("toy/area#early"), "path"));
    assert!(stray.body.text().is_some_and(|text| text.contains("late")));
}

#[tokio::test]
async fn a_host_listens_and_is_announced_as_configured() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let cases = "  - { case: announced, covers: [TOY-1], steps: [{ send: tell, with: { orders: { to: '${host path}', messages: [{ is: first }] } } }, \
                 { receive: path, expect: [{ at: /headers/host, matches: '^localhost:' }] }] }\n";
    let ran = run(&knowledge(&BINARY, cases), &Selection::default(), |target| {
        let announce = Some(format!("http://localhost:{}", free.port()));
        target.hosts.insert("path".to_owned(), crate::target::HostAddress { listen: Some(free), announce });
    })
    .await;
    assert_eq!(ran.case("announced").verdict, Verdict::Pass, "{:#?}", ran.case("announced"));
    assert_eq!(ran.record.hosts["path"]["http"], format!("http://localhost:{}/in", free.port()));
}

#[tokio::test]
async fn only_features_that_the_selected_cases_need_are_probed() {
    let cases = "  - { case: needs-one, covers: [TOY-1], needs: [one], steps: [{ request: { method: GET, path: /x }, expect: [{ at: /status, equals: 200 }] }] }
  - { case: needs-two, covers: [TOY-1], needs: [two], steps: [{ request: { method: GET, path: /y }, expect: [{ at: /status, equals: 200 }] }] }
";
    let knowledge = knowledge(&BINARY, cases);
    let all = run(&knowledge, &Selection::default(), |_| {}).await;
    assert_eq!(["/common", "/one", "/two"].map(|path| all.relay.requests(path)), [1, 1, 1]);
    let one = Selection { only: vec!["*needs-one".to_owned()], ..Selection::default() };
    let one = run(&knowledge, &one, |_| {}).await;
    assert_eq!(["/common", "/one", "/two", "/x", "/y"].map(|path| one.relay.requests(path)), [1, 1, 0, 1, 0]);
    assert_eq!((one.case("needs-one").verdict, one.case("needs-two").verdict), (Verdict::Pass, Verdict::NotRun));
    let probed: Vec<_> = one.record.features.iter().map(|feature| feature.feature.as_str()).collect();
    assert_eq!(probed, ["common", "one"]);
    assert_eq!(Ran::verdicts(&one.again), Ran::verdicts(&one.record));
    let by_requirement = Selection { requirements: vec!["TOY-1".into()], ..Selection::default() };
    let by_requirement = run(&knowledge, &by_requirement, |_| {}).await;
    assert_eq!(by_requirement.relay.requests("/two"), 1);
}

#[test]
fn unknown_hosts_and_misplaced_keys_are_mistakes() {
    let load = |cases: &str| {
        let suite = format!("suite: toy/area\ncases:\n{cases}");
        let files = [
            ("suites/toy/protocol.yaml", MANIFEST),
            ("suites/toy/requirements.yaml", CATALOGUE),
            ("suites/toy/area.yaml", suite.as_str()),
        ];
        match plan::load(&BINARY, &Bundle::new(&files)) {
            Err(plan::LoadError::Mistakes(mistakes)) => mistakes.iter().map(ToString::to_string).collect::<String>(),
            _ => String::new(),
        }
    };
    for (steps, wanted) in [
        ("[{ receive: pathh, expect: [{ at: /body, equals: 1 }] }]", "unknown host `pathh`"),
        (
            "[{ send: tell, with: { orders: '${host nowhere}' }, expect: [{ at: /status, equals: 1 }] }]",
            "unknown host `nowhere`",
        ),
        ("[{ receive: path, count: 0, expect: [{ at: /body, equals: 1 }] }]", "needs `expect-all`"),
        (
            "[{ pause: 1s, within: 2s }, { receive: path, expect: [{ at: /x, equals: 1 }] }]",
            "`within` belongs to a step with `receive`",
        ),
        (
            "[{ request: { method: GET, path: /x }, expect: [{ of: '${answer/status}', equals: 200 }] }]",
            "only an expectation of `expect-all` has `of`",
        ),
        ("[{ receive: path, reply: { status: 7 }, expect: [{ at: /x, equals: 1 }] }]", "invalid status 7"),
        (
            "[{ receive: path, reply: { status: 200, close: true }, expect: [{ at: /x, equals: 1 }] }]",
            "an answer, `silence` or `close`",
        ),
    ] {
        let mistakes = load(&format!("  - {{ case: c, covers: [TOY-1], steps: {steps} }}\n"));
        assert!(mistakes.contains(wanted), "{steps}: {mistakes}");
    }
}

#[tokio::test]
async fn a_host_that_cannot_listen_ends_the_run_with_its_name() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let knowledge = knowledge(
        &BINARY,
        "  - { case: c, covers: [TOY-1], steps: [{ request: { method: GET, path: /x }, expect: [{ at: /status, equals: 200 }] }] }\n",
    );
    let mut target = Target::endpoint(Url::parse("http://127.0.0.1:1").expect("a URL"));
    let listen = Some(taken.local_addr().expect("an address"));
    target.hosts.insert("registry".to_owned(), crate::target::HostAddress { listen, announce: None });
    let why = super::start_hosts(&knowledge, &target, Instant::now()).await.err().expect("a failure");
    assert!(why.starts_with("cannot bind a listener for the host `registry`"), "{why}");
    target.hosts = BTreeMap::from([("registri".to_owned(), crate::target::HostAddress::default())]);
    let why = super::start_hosts(&knowledge, &target, Instant::now()).await.err().expect("a failure");
    assert!(why.contains("unknown host `registri`"), "{why}");
}

#[tokio::test]
async fn an_answer_that_was_cut_decides_nothing() {
    let long = "request: { method: GET, path: /a/path/that/is/longer/than/the/limit }";
    let cases = [
        // Both would be decided by what was read: the second would pass.
        ("finds", format!("steps: [{{ {long}, expect: [{{ at: /body, type: string }}] }}]")),
        ("lacks", format!("steps: [{{ {long}, expect: [{{ at: /body, not: {{ equals: /other }} }}] }}]")),
        ("status", format!("steps: [{{ {long}, expect: [{{ at: /status, equals: 200 }}] }}]")),
        ("ended", format!("steps: [{{ {long}, expect: [{{ at: /ended, equals: too-long }}] }}]")),
        ("short", "steps: [{ request: { method: GET, path: /ok }, expect: [{ at: /body, equals: /ok }] }]".to_owned()),
    ];
    let cases: String =
        cases.iter().map(|(name, steps)| format!("  - {{ case: {name}, covers: TOY-1, {steps} }}\n")).collect();
    let knowledge = knowledge(&BINARY, &cases);
    let ran = run(&knowledge, &Selection::default(), |target| target.limits.body = 24).await;
    for name in ["finds", "lacks", "status"] {
        let case = ran.case(name);
        assert_eq!(case.verdict, Verdict::Inconclusive, "{name}: {}", case.because);
        assert!(case.because.contains("longer than 24 bytes and was cut"), "{name}: {}", case.because);
        assert!(case.findings.is_empty(), "{name}: {:?}", case.findings);
    }
    assert_eq!(ran.case("ended").verdict, Verdict::Pass);
    assert_eq!(ran.case("short").verdict, Verdict::Pass);
    assert_eq!(Ran::verdicts(&ran.record), Ran::verdicts(&ran.again));
}

#[tokio::test]
async fn a_case_that_ends_for_lack_of_time_was_put_if_something_was_answered() {
    let get =
        |path| format!("{{ request: {{ method: GET, path: {path} }}, expect: [{{ at: /status, equals: 200 }}] }}");
    let cases = format!(
        "  - {{ case: answered, covers: TOY-1, steps: [{}, {{ pause: 5s }}, {}] }}\n  - {{ case: deaf, covers: TOY-1, steps: [{}] }}\n",
        get("/ok"),
        get("/ok"),
        get("/deaf"),
    );
    let knowledge = knowledge(&BINARY, &cases);
    let ran = run(&knowledge, &Selection::default(), |target| target.limits.case = Duration::from_millis(500)).await;
    for (name, verdict) in [("answered", Verdict::Inconclusive), ("deaf", Verdict::Error)] {
        let case = ran.case(name);
        assert_eq!(case.verdict, verdict, "{name}: {}", case.because);
        assert!(case.because.contains("the case took longer than 500ms"), "{name}: {}", case.because);
    }
    assert_eq!(Ran::verdicts(&ran.record), Ran::verdicts(&ran.again));
}

#[tokio::test]
async fn a_message_that_was_not_sent_decides_nothing() {
    let step =
        |more| format!("{{ request: {{ method: GET, path: /ok }}, expect: [{{ at: /status, equals: 200 }}]{more} }}");
    let case = |name, more| format!("  - {{ case: {name}, covers: TOY-1, steps: [{}, {}] }}\n", step(""), step(more));
    let cases = case("may", "") + &case("must", ", must-answer: true");
    let knowledge = knowledge(&BINARY, &cases);
    let not_sent = |transcript: &mut Transcript| {
        for case in transcript.cases.iter_mut().flatten() {
            case.exchanges[1].received = Incoming::nothing(Ended::NotSent("the peer closed the connection".to_owned()));
        }
    };
    let ran = run_and(&knowledge, &Selection::default(), |_| (), not_sent).await;
    for name in ["may", "must"] {
        let case = ran.case(name);
        assert_eq!(case.verdict, Verdict::Inconclusive, "{name}: {}", case.because);
        assert!(case.because.contains("the message was not sent"), "{name}: {}", case.because);
    }
    assert_eq!(Ran::verdicts(&ran.record), Ran::verdicts(&ran.again));
}

#[tokio::test]
async fn a_case_that_waited_in_vain_among_others_passes_only_if_it_passes_twice_alone() {
    let cases = "
  - { case: common, covers: [TOY-1], steps: [{ request: { method: GET, path: /other }, expect: [{ at: /status, equals: 200 }] }] }
  - { case: wrong, covers: [TOY-1], steps: [{ request: { method: GET, path: /wrong }, expect: [{ at: /status, equals: 201 }] }] }
  - { case: at-first, covers: [TOY-1], steps: [{ request: { method: GET, path: /deaf-at-first }, expect: [{ at: /status, equals: 200 }] }] }
  - { case: twice, covers: [TOY-1], steps: [{ request: { method: GET, path: /deaf-twice }, expect: [{ at: /status, equals: 200 }] }] }
  - { case: always, covers: [TOY-1], steps: [{ request: { method: GET, path: /deaf }, expect: [{ at: /status, equals: 200 }] }] }
";
    let knowledge = knowledge(&BINARY, cases);
    let ran = run(&knowledge, &Selection::default(), |target| target.limits.request = Duration::from_millis(600)).await;
    assert_eq!(Ran::verdicts(&ran.record), Ran::verdicts(&ran.again), "as recorded");
    let found = |name: &str| (ran.case(name).verdict, ran.case(name).retry);
    assert_eq!(found("common"), (Verdict::Pass, 0));
    assert_eq!((found("wrong"), ran.relay.requests("/wrong")), ((Verdict::Fail, 0), 1), "it waited for nothing");
    assert_eq!((found("at-first"), ran.relay.requests("/deaf-at-first")), ((Verdict::Pass, 2), 3));
    assert_eq!((found("twice"), ran.relay.requests("/deaf-twice")), ((Verdict::Error, 0), 3), "it passed once");
    assert_eq!((found("always"), ran.relay.requests("/deaf")), ((Verdict::Error, 0), 2));
}

#[tokio::test]
async fn each_attempt_of_a_step_that_repeats_until_something_shows_has_a_new_message() {
    let cases = "
  - { case: polls, covers: [TOY-1], steps: [{ request: { method: GET, path: '/poll/${hex 24}' }, until: 400ms, expect: [{ at: /status, equals: 201 }] }] }
";
    let knowledge = knowledge(&BINARY, cases);
    let ran = run(&knowledge, &Selection::default(), |_| ()).await;
    assert_eq!(ran.case("polls").verdict, Verdict::Fail);
    let requested = ran.relay.requested.lock().expect("no panic").clone();
    let polls: Vec<usize> = requested.iter().filter(|(path, _)| path.starts_with("/poll/")).map(|(_, n)| *n).collect();
    assert!(polls.len() > 1 && polls.iter().all(|times| *times == 1), "{requested:?}");
    assert_eq!(Ran::verdicts(&ran.record), Ran::verdicts(&ran.again));
}

#[tokio::test]
async fn captured_answers_are_judged_together() {
    let case = |name: &str, last: &str| {
        format!(
            "  - case: {name}
    covers: [TOY-1]
    steps:
      - parallel:
          - {{ request: {{ method: GET, path: /a }}, expect: [{{ exists: true }}], capture: {{ first: /body }} }}
          - {{ request: {{ method: GET, path: /b }}, expect: [{{ exists: true }}], capture: {{ other: '' }} }}
      - request: {{ method: GET, path: {last} }}
        expect: [{{ exists: true }}]
        expect-all:
          - of: ['${{first}}', '${{other}}', '${{answer/answers/0}}']
            fits-one:
              - {{ reading: never, all: [{{ at: /0, equals: /a }}, {{ at: /1/body, equals: /a }}] }}
              - {{ reading: each, all: [{{ at: /0, equals: /a }}, {{ at: /1/body, equals: /b }}, {{ at: /2/body, equals: /c }}] }}
"
        )
    };
    let knowledge = knowledge(&BINARY, &(case("right", "/c") + &case("wrong", "/d")));
    let ran = run(&knowledge, &Selection::default(), |_| ()).await;
    assert_eq!(ran.case("right").verdict, Verdict::Pass, "{}", ran.case("right").because);
    let wrong = ran.case("wrong");
    assert_eq!(wrong.verdict, Verdict::Fail, "{}", wrong.because);
    assert!(wrong.findings[0].expected.contains("the nearest needs \"/c\" (each)"), "{:?}", wrong.findings);
    assert_eq!(Ran::verdicts(&ran.record), Ran::verdicts(&ran.again));
}

/// Runs cases that need work at the target, so many at once.
async fn run_work(jobs: usize) -> Ran {
    let mut cases = String::new();
    for number in 0..8 {
        cases.push_str(&format!(
            "  - {{ case: work-{number}, covers: [TOY-1], needs: [works], let: {{ id: '${{hex 16}}' }}, steps: [{{ request: {{ method: POST, path: \
             '/work/${{id}}' }} }}, {{ request: {{ method: GET, path: '/done/${{id}}' }}, until: patience, expect: [{{ at: /status, equals: 200 }}] }}] \
             }}\n"
        ));
    }
    let knowledge = knowledge_with(&BINARY, &format!("{}{WORKS}", MANIFEST.trim_end()), &cases);
    run(&knowledge, &Selection::default(), |target| target.limits.jobs = jobs).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_works_on_one_message_after_the_other_has_time_for_each_alone() {
    let ran = run_work(16).await;
    for case in &ran.record.cases {
        assert_eq!(case.verdict, Verdict::Pass, "{}: {}", case.id, case.because);
    }
    let retried = ran.record.cases.iter().filter(|case| case.retry > 0).count();
    assert!(retried >= 4, "only three of eight have their turn in time, but {retried} were retried");
    assert_eq!(Ran::verdicts(&ran.record), Ran::verdicts(&ran.again));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_job_is_one_case_at_a_time() {
    let ran = run_work(1).await;
    for case in &ran.record.cases {
        assert_eq!((case.verdict, case.retry), (Verdict::Pass, 0), "{}: {}", case.id, case.because);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_edit_the_same_message_share_their_twin() {
    let table = |word: &str| {
        format!(
            "  - {{ case: table, covers: [TOY-1], for-each: [{{ row: a, edit: [{{ set: /x, to: 1 }}] }}, {{ row: b, edit: [{{ set: /x, to: 2 }}] }}, \
             {{ row: c, edit: [{{ set: /x, to: 3 }}] }}], steps: [{{ send: tell, with: {{ orders: {{ messages: [], word: '{word}' }} }}, edit: \
             '${{row.edit}}', expect: [{{ at: /status, equals: 200 }}] }}] }}\n"
        )
    };
    for (word, requests, shared) in [("${hex 8}", 4, 2), ("${row.row}", 6, 0)] {
        let knowledge = knowledge(&BINARY, &table(word));
        let ran = run(&knowledge, &Selection::default(), |_| ()).await;
        assert_eq!(ran.relay.requested.lock().expect("no panic")["/tell"], requests, "{word}");
        let sender = |case: &&CaseRecord| case.twin_of.is_empty();
        let senders: Vec<_> = ran.record.cases.iter().filter(sender).collect();
        assert_eq!(ran.record.cases.len() - senders.len(), shared, "{word}");
        for case in &ran.record.cases {
            assert_eq!((case.verdict, case.twin.len()), (Verdict::Pass, 1), "{}: {}", case.id, case.because);
            let same = senders.iter().any(|sender| sender.id == case.twin_of && sender.twin == case.twin);
            assert!(case.twin_of.is_empty() || same, "{}", case.id);
        }
        assert_eq!(Ran::verdicts(&ran.record), Ran::verdicts(&ran.again));
    }
}

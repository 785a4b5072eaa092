//! The AMP node over its three transports: replies, restart, and what broken peers cost.

use crate::amp_support::*;
use ciborium::Value;
use futures_util::{SinkExt, StreamExt};
use proofmark_reference::{Config, Database};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::{Duration, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

#[tokio::test]
async fn http_answers_by_type_and_refuses_by_code() {
    let handle = start(config()).await;
    let (alice, me, address) = (Party::named("alice"), did(&handle).to_owned(), address(&handle));
    assert_eq!(me, "did:key:z6MkpkwHZkknwudMEYhR1tXdi4f3fLPe5oSnT6Kpme6c8F3o");
    let base = alice.message(&me, MESSAGE, text_body("hello"));
    let (status, replies) = post(address, &base.bytes).await;
    assert_eq!((status, replies.len(), replies[0].typ(), replies[0].reply_to()), (200, 1, ACK, base.id.clone()));
    // 16.2: the same bytes get the same bytes.
    let again = http(address, "POST", "/amp/v1/messages", "Content-Type: application/cbor\r\n", &base.bytes).await;
    assert_eq!(again, (200, encoded(&replies[0].0)));
    let request = alice.message(&me, REQUEST, echo("x"));
    let (status, replies) = post(address, &request.bytes).await;
    assert_eq!((status, replies[0].typ(), replies[1].typ()), (200, ACK, RESPONSE));
    assert_eq!(replies[1].body("data").and_then(Value::as_text), Some("x"));
    let hello_ack = post(address, &alice.message(&me, HELLO, hello()).bytes).await.1;
    assert_eq!(hello_ack[0].typ(), HELLO_ACK);
    let mut forged = alice.message(&me, MESSAGE, text_body("hello")).bytes;
    let at = forged.windows(5).position(|window| window == b"hello").expect("the body");
    forged[at] ^= 1;
    let (status, replies) = post(address, &forged).await;
    assert_eq!((status, replies[0].code()), (400, 1002));
    let (status, replies) = post(address, &alice.message(&me, 0x0c, Value::Null).bytes).await;
    assert_eq!((status, replies[0].code()), (400, 1005));
    let (status, replies) = post(address, &alice.message(&Party::named("carol").did, MESSAGE, Value::Null).bytes).await;
    assert_eq!((status, replies[0].code()), (403, 3001));
    assert_eq!(post(address, b"").await.0, 400);
    assert_eq!(post(address, &vec![0x61; 4 * 1024 * 1024 + 1]).await.0, 413);
    assert_eq!(http(address, "POST", "/amp/v1/nothing", "", b"").await.0, 404);
    assert_eq!(http(address, "GET", "/amp/v1/health", "", b"").await.0, 200);
    let (_, document) = http(address, "GET", "/.well-known/did.json", "", b"").await;
    let document: serde_json::Value = serde_json::from_slice(&document).expect("JSON");
    assert_eq!(
        (document["id"].as_str(), document["keyAgreement"].as_array().map(Vec::len)),
        (Some(me.as_str()), Some(1))
    );
    handle.stop().await;
}

#[tokio::test]
async fn a_batch_is_answered_item_by_item() {
    let handle = start(config()).await;
    let (alice, me) = (Party::named("alice"), did(&handle).to_owned());
    let good = [alice.message(&me, MESSAGE, text_body("1")), Party::named("bob").message(&me, MESSAGE, text_body("2"))];
    let items =
        vec![Value::Bytes(good[0].bytes.clone()), Value::Bytes(vec![0xff, 0x00]), Value::Bytes(good[1].bytes.clone())];
    let batch = alice.message(&me, BATCH, map(vec![("items", Value::Array(items))]));
    let (status, replies) = post(address(&handle), &batch.bytes).await;
    let shown: Vec<_> = replies.iter().map(|reply| (reply.typ(), reply.reply_to())).collect();
    assert_eq!(status, 200);
    assert_eq!(shown, [(ACK, good[0].id.clone()), (ERROR, batch.id), (ACK, good[1].id.clone())]);
    assert_eq!(replies[1].body("batch_index").map(number), Some(1));
}

#[tokio::test]
async fn websocket_requires_amp_v1_hello_and_binary() {
    let handle = start(config()).await;
    let (alice, me) = (Party::named("alice"), did(&handle).to_owned());
    assert!(tokio_tungstenite::connect_async(ws_url(&handle)).await.is_err(), "without a subprotocol");
    let mut request = ws_url(&handle).into_client_request().expect("a URL");
    request.headers_mut().insert("sec-websocket-protocol", "chat, amp.v1".parse().expect("a header"));
    let (mut socket, response) = tokio_tungstenite::connect_async(request).await.expect("upgraded");
    assert_eq!(response.headers()["sec-websocket-protocol"], "amp.v1");
    let early = alice.message(&me, MESSAGE, text_body("early"));
    for (sent, typ) in [
        (&early, ERROR),
        (&alice.message(&me, HELLO, hello()), HELLO_ACK),
        (&early, ACK),
        (&alice.message(&me, MESSAGE, text_body(&"x".repeat(1_000_000))), ACK),
    ] {
        socket.send(Message::Binary(sent.bytes.clone().into())).await.expect("sent");
        let reply = timeout(PATIENCE, socket.next()).await.expect("in time").expect("open").expect("a message");
        let reply = Got::read(&reply.into_data());
        assert_eq!((reply.typ(), reply.reply_to()), (typ, sent.id.clone()));
    }
    socket.send(Message::Text("{}".into())).await.expect("sent");
    let close = timeout(PATIENCE, socket.next()).await.expect("in time").expect("open").expect("a message");
    assert!(matches!(close, Message::Close(Some(frame)) if u16::from(frame.code) == 1003));
}

#[tokio::test]
async fn websocket_closes_with_1009_on_too_much() {
    let handle = start(config()).await;
    for size in [4 * 1024 * 1024 + 1, 6 * 1024 * 1024] {
        let mut request = ws_url(&handle).into_client_request().expect("a URL");
        request.headers_mut().insert("sec-websocket-protocol", "amp.v1".parse().expect("a header"));
        let (mut socket, _) = tokio_tungstenite::connect_async(request).await.expect("upgraded");
        socket.send(Message::Binary(vec![0; size].into())).await.ok();
        let close = timeout(PATIENCE, socket.next()).await.expect("in time");
        assert!(
            matches!(&close, Some(Ok(Message::Close(Some(frame)))) if u16::from(frame.code) == 1009)
                || (size > 5 * 1024 * 1024 && matches!(close, Some(Err(_)) | None)),
            "{size}: {close:?}"
        );
    }
}

#[tokio::test]
async fn tcp_handshake_frames_and_messages() {
    let handle = start(config()).await;
    let (alice, me) = (Party::named("alice"), did(&handle).to_owned());
    let mut frames = Frames::open(&handle, &alice).await;
    frames.send(3, b"ping").await;
    assert_eq!(frames.receive().await, Some((4, b"ping".to_vec())));
    let base = alice.message(&me, MESSAGE, text_body("hello"));
    let ack = frames.exchange(&base.bytes).await;
    assert_eq!((ack.typ(), ack.reply_to()), (ACK, base.id));
    // A slow answer arrives on the same connection.
    let slow = map(vec![("op", "slow".into()), ("ms", 100.into()), ("data", 7.into())]);
    let request = alice.message(&me, REQUEST, slow);
    assert_eq!(frames.exchange(&request.bytes).await.typ(), ACK);
    let response = frames.message().await;
    assert_eq!(
        (response.typ(), response.reply_to(), response.body("data").map(number)),
        (RESPONSE, request.id, Some(7))
    );
    // An invalid message gets an ERROR frame, and the connection stays open.
    frames.send(1, b"\xa1").await;
    assert_eq!(frames.receive().await.map(|(kind, _)| kind), Some(6));
    frames.send(3, b"").await;
    assert_eq!(frames.receive().await, Some((4, Vec::new())));
    frames.send(0x7f, b"").await;
    assert_eq!(frames.receive().await.map(|(kind, _)| kind), Some(6));
    assert_eq!(frames.receive().await, None);
    // A handshake of another version is refused, and so is a message instead of one.
    let mut frames = Frames::connect(&handle).await;
    frames.send(2, &encoded(&map(vec![("version", 99.into()), ("max_msg_size", 1_048_576.into())]))).await;
    let (kind, payload) = frames.receive().await.expect("a response");
    let response: Value = ciborium::from_reader(&payload[..]).expect("CBOR");
    assert_eq!((kind, member(&response, "accepted").and_then(Value::as_bool)), (2, Some(false)));
    assert_eq!(frames.receive().await, None);
    let mut frames = Frames::connect(&handle).await;
    frames.send(1, &alice.message(&me, MESSAGE, text_body("hello")).bytes).await;
    assert_eq!(frames.receive().await.map(|(kind, _)| kind), Some(6));
    assert_eq!(frames.receive().await, None);
}

#[tokio::test]
async fn tcp_peers_with_large_declarations_or_partial_frames_are_harmless() {
    let handle = start(config()).await;
    let alice = Party::named("alice");
    let mut half_open = Vec::new();
    for _ in 0..100 {
        let mut frames = Frames::connect(&handle).await;
        frames.0.write_all(&[0, 0, 0x0f, 0xff, 2, 0xa1]).await.expect("written");
        half_open.push(frames);
    }
    for length in [[0u8; 4], [0xff; 4], [0, 0x50, 0, 0]] {
        let mut frames = Frames::open(&handle, &alice).await;
        frames.0.write_all(&[&length[..], &[1]].concat()).await.expect("written");
        assert_eq!(frames.receive().await.map(|(kind, _)| kind), Some(6));
        assert_eq!(frames.receive().await, None);
    }
    let me = did(&handle).to_owned();
    assert_eq!(post(address(&handle), &alice.message(&me, MESSAGE, Value::Null).bytes).await.0, 200);
}

fn relay_config(path: Option<&std::path::Path>) -> Config {
    let database = path.map_or(Database::Memory, |path| Database::File(path.to_owned()));
    set(Config { database, ..config() }, &[("role", "relay")])
}

#[tokio::test]
async fn a_restart_keeps_replies_and_queue() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("amp.db");
    let (alice, bob) = (Party::named("alice"), Party::named("bob"));
    let handle = start(relay_config(Some(&path))).await;
    let me = did(&handle).to_owned();
    let own = alice.message(&me, MESSAGE, text_body("for the relay"));
    let first = post(address(&handle), &own.bytes).await.1;
    let message = alice.message(&bob.did, MESSAGE, text_body("for bob"));
    let (status, replies) = post(address(&handle), &message.bytes).await;
    assert_eq!((status, replies[0].typ(), replies[0].text("from")), (200, ACK, me.clone()));
    assert_eq!(replies[0].body("ack_source").and_then(Value::as_text), Some("relay"));
    handle.stop().await;

    let handle = start(relay_config(Some(&path))).await;
    let address = address(&handle);
    assert_eq!(post(address, &own.bytes).await.1[0].0, first[0].0);
    for _ in 0..2 {
        assert_eq!(poll(address, &bob, "").await, (vec![message.bytes.clone()], None, false));
    }
    let body = map(vec![("ack_source", "recipient".into()), ("received_at", now().into())]);
    let ack = bob.message_with(&alice.did, ACK, body, now(), 60_000, Some(&message.id));
    let (status, replies) = post(address, &ack.bytes).await;
    assert!(status == 202 && replies.is_empty());
    assert_eq!(poll(address, &bob, "").await.0, Vec::<Vec<u8>>::new());
    assert_eq!(poll(address, &alice, "").await.0, vec![ack.bytes]);
    handle.stop().await;
}

#[tokio::test]
async fn a_relay_pages_expires_and_delivers_at_once() {
    let handle = start(relay_config(None)).await;
    let (alice, bob, address) = (Party::named("alice"), Party::named("bob"), address(&handle));
    let messages: Vec<Vec<u8>> =
        (0..5).map(|n| alice.message(&bob.did, MESSAGE, text_body(&format!("{n}"))).bytes).collect();
    for message in &messages {
        assert_eq!(post(address, message).await.0, 200);
    }
    let short = alice.message_with(&bob.did, MESSAGE, text_body("short"), now(), 300, None);
    assert_eq!(post(address, &short.bytes).await.0, 200);
    tokio::time::sleep(Duration::from_millis(400)).await;
    let (mut all, mut query, mut more) = (Vec::new(), "?limit=2".to_owned(), true);
    while more {
        let (page, cursor, has_more) = poll(address, &bob, &query).await;
        all.extend(page);
        assert_eq!(cursor.is_some(), has_more);
        query = format!("?limit=2&cursor={}", cursor.unwrap_or_default());
        more = has_more;
    }
    assert_eq!(all, messages);
    let header = format!("X-Principal-Did: {}\r\n", bob.did);
    assert_eq!(http(address, "GET", "/amp/v1/messages?cursor=x", &header, b"").await.0, 400);
    // 8.3: a message with ttl 0 is delivered to connected recipients only.
    let at_once = || alice.message_with(&bob.did, MESSAGE, text_body("now"), now() + 5000, 0, None);
    let (status, replies) = post(address, &at_once().bytes).await;
    assert_eq!((status, replies[0].code()), (503, 2003));
    let mut frames = Frames::open(&handle, &bob).await;
    for message in &messages {
        assert_eq!(frames.receive().await, Some((1, message.clone())));
    }
    let message = at_once();
    assert_eq!(post(address, &message.bytes).await.0, 200);
    assert_eq!(frames.receive().await, Some((1, message.bytes)));
    let live = alice.message(&bob.did, MESSAGE, text_body("live"));
    assert_eq!(post(address, &live.bytes).await.0, 200);
    assert_eq!(frames.receive().await, Some((1, live.bytes)));
}

#[tokio::test]
async fn sending_is_repeated_until_it_is_confirmed() {
    let handle = start(set(config(), &[("ack-timeout", "50ms")])).await;
    let (bob, peer) = (Party::named("bob"), TcpListener::bind("127.0.0.1:0").await.expect("a port"));
    let url = format!("http://{}", peer.local_addr().expect("an address"));
    let request =
        json!({ "op": "send", "to": bob.did, "url": url, "typ": "MESSAGE", "body": { "n": 1 }, "ttl": 60000 });
    let sent = control(address(&handle), &request).await;
    let mut copies = Vec::new();
    for copy in 0..2 {
        let (mut stream, _) = timeout(PATIENCE, peer.accept()).await.expect("in time").expect("a connection");
        let mut bytes = Vec::new();
        let body = loop {
            stream.read_buf(&mut bytes).await.expect("read");
            let text = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
            let length =
                text.split("content-length: ").nth(1).and_then(|rest| rest.split('\r').next()?.parse::<usize>().ok());
            let end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
            if let (Some(length), Some(end)) = (length, end)
                && bytes.len() == end + 4 + length
            {
                assert!(text.starts_with("post /amp/v1/messages http/1.1"));
                break bytes[end + 4..].to_vec();
            }
        };
        let got = Got::read(&body);
        let ack = map(vec![("ack_source", "recipient".into()), ("received_at", now().into())]);
        let id = got.get("id").and_then(Value::as_bytes).expect("an id").clone();
        let ack = bob.message_with(did(&handle), ACK, ack, now(), 60_000, Some(&id));
        let body = if copy == 0 { Vec::new() } else { ack.bytes };
        let head =
            format!("HTTP/1.1 200 OK\r\nContent-Type: application/cbor\r\nContent-Length: {}\r\n\r\n", body.len());
        stream.write_all(&[head.as_bytes(), &body].concat()).await.expect("written");
        copies.push(got.0);
    }
    assert_eq!(copies[0], copies[1]);
    let state = json!({ "op": "outbound", "id": sent["id"] });
    timeout(PATIENCE, async {
        while control(address(&handle), &state).await["state"] != "confirmed" {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
    .expect("confirmed in time");
    assert!(timeout(Duration::from_millis(1500), peer.accept()).await.is_err(), "no copy after the ACK");
}

#[tokio::test]
async fn a_message_is_sent_to_another_node_by_every_transport() {
    let (from, to) = (start(config()).await, start(set(config(), &[("seed", &"07".repeat(32))])).await);
    let urls = ["http", "ws", "tcp"].map(|name| to.url(name).expect("it listens"));
    for (url, encrypt) in urls.iter().flat_map(|url| [(url, false), (url, true)]) {
        let request = json!({ "op": "send", "to": did(&to), "url": url, "body": [1, "x"], "encrypt": encrypt });
        let sent = control(address(&from), &request).await;
        let state = json!({ "op": "outbound", "id": sent["id"] });
        let confirmed = timeout(PATIENCE, async {
            while control(address(&from), &state).await["state"] != "confirmed" {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
        confirmed.await.unwrap_or_else(|_| panic!("{url} {encrypt}"));
    }
}

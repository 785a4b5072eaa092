//! Sessions at small peers: how long answers are waited for, and what a closed connection means.

use std::future::Future;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::*;

/// A peer with frames of four bytes of length and a body, which runs `behaviour` on its only connection.
async fn peer<F>(behaviour: impl FnOnce(TcpStream) -> F + Send + 'static) -> Dial
where
    F: Future<Output = ()> + Send,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.expect("a connection");
        behaviour(stream).await;
    });
    Dial { tcp: Some(Address { host: "127.0.0.1".to_owned(), port, tls: false }), ..Dial::default() }
}

async fn read(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let length = stream.read_u32().await.ok()?;
    let mut body = vec![0; length as usize];
    stream.read_exact(&mut body).await.ok()?;
    Some(body)
}

async fn write(stream: &mut TcpStream, body: &[u8]) {
    let frame = [&(body.len() as u32).to_be_bytes()[..], body].concat();
    stream.write_all(&frame).await.expect("a write");
}

/// Answers each message with its body, one after the other.
async fn one_at_a_time(mut stream: TcpStream, each: Duration) {
    while let Some(body) = read(&mut stream).await {
        tokio::time::sleep(each).await;
        write(&mut stream, &body).await;
    }
}

fn limits() -> Limits {
    Limits { reply: Duration::from_millis(900), settle: Duration::from_millis(40), ..Limits::default() }
}

fn message(body: &str) -> Encoded {
    Encoded {
        transport: Transport::Tcp,
        action: ChannelAction::Message,
        base: None,
        operation: String::new(),
        method: String::new(),
        path: String::new(),
        headers: Vec::new(),
        body: body.into(),
        params: Vec::new(),
        payload: None,
        spelling: None,
    }
}

/// Sends a message; with `wait`, until an arrival equals it.
async fn tell(session: &Session, dial: &Dial, body: &str, wait: bool) -> Incoming {
    let own = |sent: &Outgoing, arrival: &Arrival| arrival.body == sent.body;
    let wait = Wait {
        none: !wait,
        fail_fast: false,
        at_least: Duration::ZERO,
        unrelated: &|sent, arrival| !own(sent, arrival),
        enough: &mut |sent, received| received.arrived.iter().any(|arrival| own(sent, arrival)),
    };
    session.carry(dial, "a", message(body), &limits(), wait).await.received
}

fn bodies(received: &Incoming) -> Vec<&[u8]> {
    received.arrived.iter().map(|arrival| arrival.body.0.as_slice()).collect()
}

#[tokio::test]
async fn an_answer_may_take_as_long_as_the_messages_before_it_together() {
    let dial = peer(|stream| one_at_a_time(stream, Duration::from_millis(300))).await;
    let session = Session::default();
    assert_eq!(bodies(&tell(&session, &dial, "first", true).await), [b"first"]);
    for body in ["second", "third", "fourth"] {
        tell(&session, &dial, body, false).await;
    }
    let received = tell(&session, &dial, "fifth", true).await;
    assert_eq!(bodies(&received).last(), Some(&&b"fifth"[..]), "1.2 s after it was sent");
}

#[tokio::test]
async fn what_arrives_at_once_does_not_shorten_the_wait_for_a_slow_peer() {
    // It answers late, and acknowledges the second message at once.
    let dial = peer(|mut stream| async move {
        for acknowledges in [false, true] {
            let Some(body) = read(&mut stream).await else { return };
            if acknowledges {
                write(&mut stream, b"ACK").await;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
            write(&mut stream, &body).await;
        }
    })
    .await;
    let session = Session::default();
    tell(&session, &dial, "first", true).await;
    let wait = Wait {
        none: false,
        fail_fast: false,
        at_least: Duration::ZERO,
        // The ACK is taken for a part of the answer.
        unrelated: &|_, _| false,
        enough: &mut |sent, received| received.arrived.iter().any(|arrival| arrival.body == sent.body),
    };
    let received = session.carry(&dial, "a", message("second"), &limits(), wait).await.received;
    assert_eq!(bodies(&received), [b"ACK".as_slice(), b"second"]);
}

#[tokio::test]
async fn a_message_after_a_closed_connection_was_not_sent_only_if_an_answer_came_before() {
    let closes = |answer: bool| {
        peer(move |mut stream| async move {
            let body = read(&mut stream).await.unwrap_or_default();
            if answer {
                write(&mut stream, &body).await;
            }
        })
    };
    for (answer, not_sent) in [(true, true), (false, false)] {
        let (dial, session) = (closes(answer).await, Session::default());
        tell(&session, &dial, "refused", true).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        let first = tell(&session, &dial, "next", true).await.ended;
        // The end of the connection may be noticed only by the next message.
        let next = tell(&session, &dial, "last", true).await.ended;
        assert_eq!(matches!(next, Ended::NotSent(_)), not_sent, "{first:?}, {next:?}");
    }
}

#[tokio::test]
async fn equal_messages_are_kept_once() {
    let dial = peer(|mut stream| async move {
        let body = read(&mut stream).await.unwrap_or_default();
        for answer in [b"another", b"another", &body[..]] {
            write(&mut stream, answer).await;
        }
    })
    .await;
    let received = tell(&Session::default(), &dial, "message", true).await;
    assert_eq!(bodies(&received), [&b"another"[..], b"another", b"message"]);
    assert!(Arc::ptr_eq(&received.arrived[0].body.0, &received.arrived[1].body.0));
    assert_eq!(dial.collected.load(Ordering::Relaxed), 0, "nothing is collected any more");
}

#[tokio::test]
async fn an_answer_is_cut_if_all_that_are_collected_are_too_large_together() {
    let dial = peer(|stream| one_at_a_time(stream, Duration::ZERO)).await;
    let session = Session::default();
    dial.collected.store(COLLECTED - 5, Ordering::Relaxed);
    assert_eq!(tell(&session, &dial, "fits", true).await.ended, Ended::Complete);
    assert_eq!(tell(&session, &dial, "too much", true).await.ended, Ended::TooLong);
    assert!(matches!(tell(&session, &dial, "next", true).await.ended, Ended::NotSent(_)), "not owed an answer");
    assert_eq!(dial.collected.load(Ordering::Relaxed), COLLECTED - 5);
}

//! The server as a server: bad input, levels, keys, configuration, starting and stopping.

use crate::support::{Client, address, agentic, config, full, minimal, set, start, with};
use serde_json::json;

#[tokio::test]
async fn broken_bodies_get_a_json_400_and_the_server_lives_on() {
    let (_server, mut client) = start(config()).await;
    let deep = "[".repeat(100_000);
    let twice = minimal("j", "p").to_string().replace("\"title\"", "\"title\":\"a\",\"title\"");
    let lone = minimal("j", "p").to_string().replace("Title", "\\ud800");
    let bodies: [&[u8]; 9] = [
        b"",
        b"{",
        b"[]",
        b"\"x\"",
        b"\xff\xfe",
        b"\xef\xbb\xbf{}",
        deep.as_bytes(),
        twice.as_bytes(),
        lone.as_bytes(),
    ];
    for path in ["/v1/projects/j/packages", "/v1/projects/j/facts", "/v1/projects", "/v1/packages/p/flag"] {
        for body in bodies {
            let answer = client.send("POST", path, body).await.expect("an answer");
            assert_eq!((answer.status, answer.code().as_str()), (400, "invalid_schema"), "{path} {answer:?}");
        }
    }
    assert_eq!(client.get("/v1/conformance").await.status, 200);
}

#[tokio::test]
async fn levels_answer_501_above_themselves() {
    let fact = json!({ "subject": "s", "predicate": "p", "value": "v" });
    for (level, deposit, assert, flag) in
        [("L0", 501, 501, 501), ("L1", 201, 501, 501), ("L2", 201, 201, 501), ("L3", 201, 201, 404)]
    {
        let (_server, mut client) = start(proofmark_reference::Config { level: Some(level.into()), ..config() }).await;
        assert_eq!(client.get("/v1/conformance").await.json()["conformance_level"], level);
        assert_eq!(client.deposit(&minimal("proj", "a")).await.status, deposit);
        let asserted = client.post("/v1/projects/proj/facts", &fact).await;
        assert_eq!(asserted.status, assert);
        if assert == 501 {
            assert_eq!(
                (asserted.code().as_str(), &asserted.json()["error"]["capability"]),
                ("not_implemented", &json!("assert-fact"))
            );
        }
        assert_eq!(client.post("/v1/packages/none/flag", &json!({ "review_type": "human" })).await.status, flag);
    }
}

#[tokio::test]
async fn keys_are_required_and_do_not_change_attribution() {
    let (_server, mut client) = start(set(config(), &[("auth", "key-a=anna")])).await;
    for headers in ["", "Authorization: Bearer wrong\r\n", "Authorization: key-a\r\n"] {
        headers.clone_into(&mut client.headers);
        let refused = client.deposit(&minimal("proj", "a")).await;
        assert_eq!((refused.status, refused.code().as_str()), (403, "unauthorized"));
        assert_eq!(client.get("/v1/conformance").await.status, 200);
    }
    "Authorization: Bearer key-a\r\n".clone_into(&mut client.headers);
    assert_eq!(client.get("/v1/packages/a").await.status, 404);
    let answer = client.deposit(&minimal("proj", "a")).await;
    assert_eq!((answer.status, &answer.json()["package"]["created_by"]["id"]), (201, &json!("pm-actor-a")));
}

#[tokio::test]
async fn errors_of_the_transport_are_json_too() {
    let (server, mut client) = start(config()).await;
    for (method, path, status, code) in [
        ("GET", "/nowhere", 404, "route_not_found"),
        ("GET", "/v1/packages/a/b/c", 404, "route_not_found"),
        ("PUT", "/v1/packages/a", 405, "method_not_allowed"),
        ("PATCH", "/v1/packages/a", 405, "method_not_allowed"),
        ("POST", "/v1/conformance", 405, "method_not_allowed"),
        ("GET", "/v1/packages/%ff", 400, "invalid_parameter"),
        ("GET", "/v1/projects/p/packages?query=%f", 400, "invalid_parameter"),
    ] {
        let answer = client.send(method, path, b"").await.expect("an answer");
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{method} {path}");
        assert!(answer.head.contains("content-type: application/json"));
        assert_eq!(answer.head.contains("allow: "), status == 405);
    }
    let mut padded = minimal("proj", "a").to_string().into_bytes();
    padded.resize(4 * 1024 * 1024 + 1, b' ');
    let path = "/v1/projects/proj/packages";
    let large = client.send("POST", path, &padded).await.expect("an answer");
    assert_eq!((large.status, large.code().as_str()), (413, "body_too_large"));
    padded.pop();
    assert_eq!(client.send("POST", path, &padded).await.expect("an answer").status, 201);
    padded.resize(5 * 1024 * 1024, b'\n');
    assert_eq!(client.send("POST", "/v1/import", &padded).await.expect("an answer").status, 200);
    let mut bare = Client::connect(address(&server)).await.expect("the server listens");
    let hostless = bare.raw(b"GET /v1/conformance HTTP/1.1\r\n\r\n").await.expect("an answer");
    assert_eq!((hostless.status, hostless.code().as_str()), (400, "missing_host"));
}

#[tokio::test]
async fn racing_deposits_of_one_id_have_one_winner() {
    let (server, mut client) = start(config()).await;
    for same in [true, false] {
        let id = format!("race-{same}");
        let racers: Vec<_> = (0..16)
            .map(|number| {
                let title = if same { "one".to_owned() } else { format!("title {number}") };
                let package = with(minimal("proj", &id), &json!({ "title": title }));
                let address = address(&server);
                tokio::spawn(async move {
                    let mut client = Client::connect(address).await.expect("the server listens");
                    client.deposit(&package).await.status
                })
            })
            .collect();
        let mut statuses = Vec::new();
        for racer in racers {
            statuses.push(racer.await.expect("an answer"));
        }
        let count = |status: u16| statuses.iter().filter(|known| **known == status).count();
        assert_eq!(count(201), 1, "{statuses:?}");
        assert_eq!(if same { count(200) } else { count(409) }, 15, "{statuses:?}");
    }
    assert_eq!(client.get("/v1/projects/proj/packages?mode=latest&limit=9").await.ids().len(), 2);
}

#[tokio::test]
async fn a_server_can_be_stopped_and_started_on_its_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = proofmark_reference::Database::File(folder.path().join("a.db"));
    let config = proofmark_reference::Config { database: file, ..config() };
    let (server, mut client) = start(config.clone()).await;
    client.deposit(&minimal("proj", "a")).await;
    server.stop().await;
    assert!(client.send("GET", "/v1/packages/a", b"").await.is_err());
    let (_server, mut client) = start(config).await;
    assert_eq!(client.get("/v1/packages/a").await.status, 200);
}

#[tokio::test]
async fn an_invalid_configuration_is_reported() {
    use proofmark_reference::{Config, ServeError};
    let serve = |config| agentic().serve(config);
    let fault = serve(Config { fault: Some("hash-mising".into()), ..config() }).await;
    assert!(fault.is_err_and(|error| { error.to_string().contains("the nearest is \"hash-missing\"") }));
    assert!(matches!(serve(Config { level: Some("L4".into()), ..config() }).await, Err(ServeError::Level { .. })));
    assert!(matches!(serve(Config { clock: Some("noon".into()), ..config() }).await, Err(ServeError::Clock(_))));
    let (server, _client) = start(config()).await;
    let taken = serve(Config { listen: address(&server), ..config() }).await;
    assert!(matches!(taken, Err(ServeError::Listen { .. })));
    let folder = tempfile::tempdir().expect("a folder");
    let database = proofmark_reference::Database::File(folder.path().to_owned());
    assert!(matches!(serve(Config { database, ..config() }).await, Err(ServeError::Database(_))));
}

#[tokio::test]
async fn nesting_up_to_the_limit_is_kept_and_beyond_it_refused() {
    let (_server, mut client) = start(config()).await;
    for (id, levels, status) in [("deep", 511, 201), ("deeper", 512, 400)] {
        let nested = "[{\"k\":".repeat(levels / 2) + &"[".repeat(levels % 2) + &"]".repeat(levels % 2);
        let nested = if levels % 2 == 0 { nested + "1" } else { nested } + &"}]".repeat(levels / 2);
        let body = minimal("proj", id).to_string().replacen('{', &format!("{{\"x-deep\":{nested},"), 1);
        assert_eq!(client.post_text("/v1/projects/proj/packages", &body).await.status, status);
        assert_eq!(client.get(&format!("/v1/packages/{id}")).await.body.contains(&nested), status == 201);
    }
    let export = client.get("/v1/projects/proj/export").await;
    let (_server, mut target) = start(config()).await;
    assert_eq!(target.post_text("/v1/import", &export.body).await.status, 200);
    let wrapped = export.body.lines().nth(1).map(|line| format!("{{\"package\":{line}}}")).expect("a package");
    assert_eq!(target.post_text("/v1/import", &wrapped).await.status, 200);
    assert_eq!(target.get("/v1/packages/deep").await.status, 200);
}

#[tokio::test]
async fn no_mutation_of_a_request_breaks_the_server() {
    let (_server, mut client) = start(config()).await;
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut random = |below: usize| {
        // xorshift64: the same sequence in every run.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below as u64).expect("small")
    };
    const PIECES: [&[u8]; 14] =
        [b"\"", b"\\", b"{", b"}", b"[", b"]", b",", b":", b"null", b"1e999", b"-0", b"\\u0000", b"\\ud800", b"\xff"];
    for round in 0..1500 {
        let mut body = full("proj", &format!("mutant-{round}")).to_string().into_bytes();
        for _ in 0..=random(3) {
            let at = random(body.len());
            match random(3) {
                0 => drop(body.splice(at..at, PIECES[random(PIECES.len())].iter().copied())),
                1 => drop(
                    body.splice(at..(at + random(8)).min(body.len()), PIECES[random(PIECES.len())].iter().copied()),
                ),
                _ => body[at] = u8::try_from(random(256)).expect("a byte"),
            }
        }
        for path in ["/v1/projects/proj/packages", "/v1/projects/proj/facts", "/v1/import"] {
            let answer = client.send("POST", path, &body).await.expect("an answer");
            assert!(
                [200, 201, 400, 409].contains(&answer.status),
                "{answer:?} to {:?}",
                String::from_utf8_lossy(&body)
            );
        }
    }
    assert_eq!(client.get("/v1/conformance").await.status, 200);
}

//! Packages, projects and bundles over a real socket; one test per thing that a client relies on.

#[path = "support/mod.rs"]
mod support;

use serde_json::{Value, json};
use support::{config, encode, full, minimal, start, with};

#[tokio::test]
async fn a_deposit_comes_back_as_it_was_sent_with_its_hash_beside_it() {
    let (_server, mut client) = start(config()).await;
    let package = full("proj", "pkg_full");
    let answer = client.deposit(&package).await;
    assert_eq!(answer.status, 201);
    assert_eq!(answer.json()["package"], package);
    let pulled = client.get("/v1/packages/pkg_full").await;
    assert_eq!((pulled.status, pulled.json()), (200, answer.json()));
    assert!(answer.json()["content_hash"].as_str().is_some_and(|hash| hash.starts_with("sha256:") && hash.len() == 71));
    assert!(answer.head.contains("content-type: application/json"));
}

#[tokio::test]
async fn member_order_and_number_spelling_are_kept_and_do_not_matter() {
    let (_server, mut client) = start(config()).await;
    let body = r#"{"x-n":1.50,"title":"t","package_id":"p","project_id":"j","relay_version":"0.1","status":"complete","package_type":"standard","review_type":"none","created_at":"2026-01-02T03:04:05.120Z","created_by":{"type":"agent","id":"a"},"x-m":-0.0}"#;
    let first = client.post_text("/v1/projects/j/packages", body).await;
    assert_eq!(first.status, 201);
    assert!(first.body.contains(body));
    let respelled = body.replace("1.50", "15e-1").replace("-0.0", "0").replace(',', " ,\n ");
    let second = client.post_text("/v1/projects/j/packages", &respelled).await;
    assert_eq!((second.status, second.body), (200, first.body));
    let with_null = body.replace("\"x-m\"", "\"topic\":null,\"x-m\"");
    assert_eq!(client.post_text("/v1/projects/j/packages", &with_null).await.status, 200);
    let other = client.post_text("/v1/projects/j/packages", &body.replace("\"t\"", "\"u\"")).await;
    assert_eq!((other.status, other.code().as_str()), (409, "duplicate_package_id"));
}

#[tokio::test]
async fn a_refused_deposit_names_the_member_and_stores_nothing() {
    let (_server, mut client) = start(config()).await;
    for (members, pointer) in [
        (json!({ "title": "" }), "/title"),
        (json!({ "title": "x".repeat(201) }), "/title"),
        (json!({ "package_id": null }), "/package_id"),
        (json!({ "package_type": null }), "/package_type"),
        (json!({ "package_type": "memo" }), "/package_type"),
        (json!({ "relay_version": 0.1 }), "/relay_version"),
        (json!({ "created_at": "2026-02-30T00:00:00Z" }), "/created_at"),
        (json!({ "created_at": "2026-01-02T03:04:05+02:00" }), "/created_at"),
        (json!({ "created_by": { "id": "a", "type": "bot" } }), "/created_by/type"),
        (json!({ "significance": 11 }), "/significance"),
        (json!({ "project_id": "elsewhere" }), "/project_id"),
        (json!({ "deliverables": [{ "path": "../a", "type": "md" }] }), "/deliverables/0/path"),
    ] {
        let package = with(minimal("proj", "bad"), &members);
        let answer = client.post("/v1/projects/proj/packages", &package).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "invalid_schema"), "{members}");
        assert_eq!(answer.json()["error"]["pointer"], pointer);
        assert_eq!(client.get("/v1/packages/bad").await.status, 404);
    }
}

#[tokio::test]
<<<<<<< HEAD
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
=======
>>>>>>> wt-ref
async fn ids_may_hold_any_character() {
    let (_server, mut client) = start(config()).await;
    for id in
        ["a", "note 7", "release:2026.01", "a/b?c#d", "%2F", "Ключ", "🚀", "...", "", "Case-A", "case-a", "nul\u{0}"]
    {
        assert_eq!(client.deposit(&minimal("пр/1", id)).await.status, 201, "{id:?}");
        let pulled = client.get(&format!("/v1/packages/{}", encode(id))).await;
        assert_eq!(pulled.json()["package"]["package_id"], id);
    }
    assert_eq!(client.get("/v1/packages/not%25").await.status, 404);
    assert_eq!(client.get(&format!("/v1/projects/{}/packages?limit=200", encode("пр/1"))).await.ids().len(), 12);
}

#[tokio::test]
async fn latest_is_ordered_by_time_and_limited() {
    let (_server, mut client) = start(config()).await;
    for (id, created_at) in [
        ("plain", "2026-01-02T03:04:05Z"),
        ("newest", "2026-01-02T03:04:05.900Z"),
        ("oldest", "2025-12-31T23:59:59Z"),
        ("middle", "2026-01-02T03:04:05.250Z"),
        ("d", "2025-01-01T00:00:00Z"),
        ("e", "2024-01-01T00:00:00Z"),
    ] {
        client.deposit(&with(minimal("proj", id), &json!({ "created_at": created_at }))).await;
    }
    let list = |query: &str| format!("/v1/projects/proj/packages?mode=latest{query}");
    assert_eq!(client.get(&list("")).await.ids(), ["newest", "middle", "plain", "oldest", "d"]);
    assert_eq!(client.get(&list("&limit=1")).await.ids(), ["newest"]);
    assert_eq!(client.get(&list("&limit=200")).await.ids().len(), 6);
    for limit in ["0", "201", "-1", "x", "1.5", ""] {
        let answer = client.get(&list(&format!("&limit={limit}"))).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "invalid_parameter"));
    }
    assert_eq!(client.get("/v1/projects/proj/packages?mode=newest").await.status, 400);
}

#[tokio::test]
async fn projects_are_created_listed_and_archived() {
    let (_server, mut client) = start(config()).await;
    assert_eq!(client.get("/v1/projects/proj/packages?mode=latest").await.code(), "project_not_found");
    assert_eq!(client.post("/v1/projects", &json!({ "project_id": "proj", "name": "A" })).await.status, 201);
    assert_eq!(client.post("/v1/projects", &json!({ "project_id": "proj" })).await.status, 409);
    assert!(client.get("/v1/projects/proj/packages?mode=latest").await.ids().is_empty());
    client.deposit(&minimal("proj", "one")).await;
    let archived = client.post_text("/v1/projects/proj/archive", "").await.json();
    assert!(archived["project"]["archived_at"].is_string());
    let refused = client.deposit(&minimal("proj", "two")).await;
    assert_eq!((refused.status, refused.code().as_str()), (403, "project_archived"));
    assert_eq!(client.get("/v1/packages/one").await.status, 200);
    let restored = client.post_text("/v1/projects/proj/restore", "").await.json();
    assert_eq!(restored["project"]["archived_at"], Value::Null);
    assert_eq!(client.deposit(&minimal("proj", "two")).await.status, 201);
    assert_eq!(client.get("/v1/projects").await.json()["projects"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn relevant_finds_ranks_and_stays_inside_the_project() {
    let (_server, mut client) = start(config()).await;
    let texts = [
        ("a", "proj", "Garden notes", "zebra once"),
        ("b", "proj", "Zebra zebra migration", "the zebra moved, zebra again"),
        ("c", "proj", "Something else", "nothing"),
        ("d", "other", "Zebra", "zebra"),
    ];
    for (id, project, title, description) in texts {
        client.deposit(&with(minimal(project, id), &json!({ "title": title, "description": description }))).await;
    }
    let find = |query: &str| format!("/v1/projects/proj/packages?mode=relevant&query={}", encode(query));
    assert_eq!(client.get(&find("zebra")).await.ids(), ["b", "a"]);
    assert_eq!(client.get(&format!("{}&limit=1", find("zebra"))).await.ids(), ["b"]);
    assert_eq!(client.get(&find("igratio")).await.ids(), ["b"]);
    assert_eq!(client.get("/v1/projects/proj/packages?mode=relevant").await.status, 400);
    for hostile in
        ["\"", "a\"b*", "NEAR(zebra, 2)", "title:x AND", "(((", "^ - +", "\u{0}", "'; DROP TABLE packages", ""]
    {
        assert_eq!(client.get(&find(hostile)).await.status, 200, "{hostile:?}");
    }
}

#[tokio::test]
async fn without_search_relevant_names_the_missing_capability() {
    let (_server, mut client) = start(reference_impl::Config { search: false, ..config() }).await;
    client.deposit(&minimal("proj", "a")).await;
    let answer = client.get("/v1/projects/proj/packages?mode=relevant&query=a").await;
    assert_eq!((answer.status, answer.code().as_str()), (501, "search_not_supported"));
    assert_eq!(answer.json()["error"]["capability"], "hybrid_search");
    assert_eq!(client.get("/v1/conformance").await.json()["capabilities"]["hybrid_search"], false);
    assert_eq!(client.get("/v1/orchestrate?project=proj&focus=a").await.status, 501);
    assert_eq!(client.get("/v1/orchestrate?project=proj").await.status, 200);
}

#[tokio::test]
async fn orient_bundles_what_is_recent_and_current() {
    let now = "2026-01-20T00:00:00Z".to_owned();
    let (_server, mut client) = start(reference_impl::Config { now: Some(now.clone()), ..config() }).await;
    for (id, created_at, question) in
        [("new", "2026-01-18T00:00:00Z", "why?"), ("old", "2025-12-31T00:00:00Z", "when?")]
    {
        let members = json!({ "created_at": created_at, "open_questions": [question, "who?"], "x-a": 1 });
        client.deposit(&with(minimal("proj", id), &members)).await;
    }
    let bundle = client.get("/v1/projects/proj/orient").await.json();
    assert_eq!(bundle["recent_packages"].as_array().map(Vec::len), Some(1));
    assert_eq!(bundle["recent_packages"][0]["x-a"], 1);
    assert_eq!(bundle["open_questions"], json!(["why?", "who?"]));
    assert_eq!((&bundle["window_days"], &bundle["generated_at"]), (&json!(14), &json!(now)));
    assert_eq!(bundle["project"]["project_id"], "proj");
    let wide = client.get("/v1/projects/proj/orient?window_days=30").await.json();
    assert_eq!(wide["recent_packages"].as_array().map(Vec::len), Some(2));
    for days in ["0", "-1", "1.5", "99999999999999999999"] {
        assert_eq!(client.get(&format!("/v1/projects/proj/orient?window_days={days}")).await.status, 400);
    }
}

#[tokio::test]
async fn a_digest_leaves_drafts_out() {
    let (_server, mut client) =
        start(reference_impl::Config { now: Some("2026-01-20T00:00:00Z".into()), ..config() }).await;
    for (id, status) in [("finished", "complete"), ("unfinished", "draft")] {
        let members = json!({ "status": status, "title": format!("marker {id}"), "open_questions": [id],
            "created_at": "2026-01-19T00:00:00Z" });
        client.deposit(&with(minimal("proj", id), &members)).await;
    }
    client.deposit(&minimal("other", "elsewhere")).await;
    let digest = client.get("/v1/orchestrate?project=proj&focus=marker&snippets=1").await;
    assert!(digest.body.contains("marker finished") && !digest.body.contains("unfinished"));
    assert_eq!(digest.json()["snippets"].as_array().map(Vec::len), Some(1));
    let global = client.get("/v1/orchestrate").await.json();
    assert_eq!(global["project_counts"].as_array().map(Vec::len), Some(2));
}
<<<<<<< HEAD

#[tokio::test]
async fn an_export_restores_everything_elsewhere() {
    let (_server, mut source) = start(config()).await;
    source.deposit(&full("proj", "pkg_full")).await;
    source.deposit(&minimal("proj", "a/b")).await;
    for (value, from) in [("1", "2026-01-01T00:00:00Z"), ("2", "2026-01-02T00:00:00.5Z")] {
        let fact = json!({ "subject": "s", "predicate": "p", "value": value, "valid_from": from, "tags": ["b", "a"], "x-origin": 1 });
        assert_eq!(source.post("/v1/projects/proj/facts", &fact).await.status, 201);
    }
    let session = json!({ "session_id": "s1", "project_id": "proj", "actor_id": "a", "actor_type": "agent",
        "callsign": null, "started_at": "2026-01-01T00:00:00Z", "ended_at": null, "packages_deposited": ["a/b"] });
    assert_eq!(source.post("/v1/import", &session).await.json()["sessions"], 1);
    let export = source.get("/v1/projects/proj/export").await;
    assert!(export.head.contains("application/x-ndjson"));
    assert_eq!(export.body.lines().count(), 6);

    let (_server, mut target) = start(config()).await;
    let taken = target.post_text("/v1/import", &export.body).await;
    assert_eq!(taken.json(), json!({ "projects": 1, "packages": 2, "facts": 2, "sessions": 1 }));
    assert_eq!(target.post_text("/v1/import", &export.body).await.json(), taken.json());
    for path in [
        "/v1/packages/pkg_full",
        "/v1/packages/a%2Fb",
        "/v1/projects/proj/facts?include_ended=true",
        "/v1/projects/proj",
        "/v1/projects/proj/packages?limit=9",
        "/v1/projects/proj/sessions",
        "/v1/projects/proj/export",
    ] {
        assert_eq!(target.get(path).await.body, source.get(path).await.body, "{path}");
    }
}

#[tokio::test]
async fn an_import_takes_all_or_nothing() {
    let (_server, mut client) = start(config()).await;
    let good = minimal("proj", "good").to_string();
    for bad in [
        with(minimal("proj", "bad"), &json!({ "title": "" })).to_string(),
        "{\"fact_id\":\"f\"}".to_owned(),
        "{\"fact\":{\"subject\":\"s\"}}".to_owned(),
        "{\"session_id\":\"s\",\"started_at\":\"x\"}".to_owned(),
        "[1]".to_owned(),
        "{".to_owned(),
    ] {
        let answer = client.post_text("/v1/import", &format!("{good}\n\n{bad}\n")).await;
        assert_eq!(answer.status, 400, "{bad}");
        assert!(
            answer.json()["error"]["message"].as_str().is_some_and(|message| message.contains("line 3")),
            "{answer:?}"
        );
        assert_eq!(client.get("/v1/packages/good").await.status, 404);
    }
    let wrapped = format!("{{\"data\":{good}}}\r\n{{\"id\":\"proj\",\"name\":\"Late\"}}");
    assert_eq!(client.post_text("/v1/import", &wrapped).await.status, 200);
    assert_eq!(client.get("/v1/projects/proj").await.json()["project"]["name"], "Late");
    let clash = with(minimal("proj", "good"), &json!({ "title": "other" })).to_string();
    assert_eq!(client.post_text("/v1/import", &clash).await.status, 409);
}

#[tokio::test]
async fn levels_answer_501_above_themselves() {
    let fact = json!({ "subject": "s", "predicate": "p", "value": "v" });
    for (level, deposit, assert, flag) in
        [("L0", 501, 501, 501), ("L1", 201, 501, 501), ("L2", 201, 201, 501), ("L3", 201, 201, 404)]
    {
        let (_server, mut client) = start(reference_impl::Config { level: Some(level.into()), ..config() }).await;
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
async fn a_read_only_server_gets_its_data_from_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("fixture.ndjson");
    std::fs::write(&path, format!("{}\n{{\"project_id\":\"empty\"}}\n", minimal("proj", "a"))).expect("written");
    let loaded = reference_impl::Config { level: Some("L0".into()), load: Some(path.clone()), ..config() };
    let (_server, mut client) = start(loaded.clone()).await;
    assert_eq!(client.get("/v1/projects/proj/packages?mode=latest").await.ids(), ["a"]);
    assert!(client.get("/v1/projects/empty/packages?mode=latest").await.ids().is_empty());
    std::fs::write(&path, "{}").expect("written");
    assert!(matches!(reference_impl::serve(loaded).await, Err(reference_impl::ServeError::Load { .. })));
}

#[tokio::test]
async fn keys_are_asked_for_and_attribution_stays_with_the_package() {
    let auth = vec![("key-a".to_owned(), "anna".to_owned())];
    let (_server, mut client) = start(reference_impl::Config { auth, ..config() }).await;
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
    let large = client.send("POST", "/v1/import", &vec![b' '; 4 * 1024 * 1024 + 1]).await.expect("an answer");
    assert_eq!((large.status, large.code().as_str()), (413, "body_too_large"));
    let mut bare = Client::connect(server.address()).await.expect("the server listens");
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
                let address = server.address();
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
    let file = reference_impl::Database::File(folder.path().join("a.db"));
    let config = reference_impl::Config { database: file, ..config() };
    let (server, mut client) = start(config.clone()).await;
    client.deposit(&minimal("proj", "a")).await;
    server.stop().await;
    assert!(client.send("GET", "/v1/packages/a", b"").await.is_err());
    let (_server, mut client) = start(config).await;
    assert_eq!(client.get("/v1/packages/a").await.status, 200);
}

#[tokio::test]
async fn a_bad_configuration_says_what_is_wrong() {
    use reference_impl::{Config, ServeError, serve};
    let fault = serve(Config { fault: Some("hash-mising".into()), ..config() }).await;
    assert!(fault.is_err_and(|error| { error.to_string().contains("the nearest is \"hash-missing\"") }));
    assert!(matches!(serve(Config { level: Some("L4".into()), ..config() }).await, Err(ServeError::Level(_))));
    assert!(matches!(serve(Config { now: Some("noon".into()), ..config() }).await, Err(ServeError::Now(_))));
    let (server, _client) = start(config()).await;
    let taken = serve(Config { listen: server.address(), ..config() }).await;
    assert!(matches!(taken, Err(ServeError::Listen { .. })));
    let folder = tempfile::tempdir().expect("a folder");
    let database = reference_impl::Database::File(folder.path().to_owned());
    assert!(matches!(serve(Config { database, ..config() }).await, Err(ServeError::Database(_))));
}
=======
>>>>>>> wt-ref

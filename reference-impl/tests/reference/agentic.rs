//! Packages, projects and bundles over a real socket; one test per thing that a client relies on.

use crate::support::{config, encode, full, minimal, set, start, with};
use serde_json::{Value, json};

#[tokio::test]
async fn a_deposit_is_returned_unchanged_with_its_hash_next_to_it() {
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
async fn a_rejected_deposit_names_the_member_and_is_not_stored() {
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
    let (_server, mut client) = start(set(config(), &[("search", "off")])).await;
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
    let (_server, mut client) = start(proofmark_reference::Config { clock: Some(now.clone()), ..config() }).await;
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
        start(proofmark_reference::Config { clock: Some("2026-01-20T00:00:00Z".into()), ..config() }).await;
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

//! Export, import and loading: records are transferred between servers unchanged.

use crate::support::{agentic, config, full, minimal, set, start, with};
use serde_json::json;

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
async fn an_import_is_atomic() {
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
async fn a_read_only_server_gets_its_data_from_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("fixture.ndjson");
    std::fs::write(&path, format!("{}\n{{\"project_id\":\"empty\"}}\n", minimal("proj", "a"))).expect("written");
    let loaded = proofmark_reference::Config { level: Some("L0".into()), ..config() };
    let loaded = set(loaded, &[("load", path.to_str().expect("UTF-8"))]);
    let (_server, mut client) = start(loaded.clone()).await;
    assert_eq!(client.get("/v1/projects/proj/packages?mode=latest").await.ids(), ["a"]);
    assert!(client.get("/v1/projects/empty/packages?mode=latest").await.ids().is_empty());
    std::fs::write(&path, "{}").expect("written");
    let error = agentic().serve(loaded).await.expect_err("a record is refused").to_string();
    assert!(error.starts_with("setting `load`: ") && error.contains("fixture.ndjson"), "{error}");
}

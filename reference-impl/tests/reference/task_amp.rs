//! The library of task-amp: what is valid, by hand from the catalogue and the errata, for both variants; and the engines.

use crate::task_support::{
    Library, dispatch, escalation, now_ms, plan, request, result, rows, task_amp, text, verdict,
};
use proofmark_reference::{Config, Variant};
use serde_json::{Value, json};

fn library(variant: Variant) -> Library {
    Library::start(Config { variant, ..task_amp().config() })
}

#[tokio::test]
async fn each_message_of_the_table_is_judged_as_it_says() {
    for variant in Variant::ALL {
        let mut library = library(variant);
        let mut wrong = Vec::new();
        for (row, message) in rows() {
            let expected = if variant.is_other() { row.get("other").unwrap_or(&row["own"]) } else { &row["own"] };
            let raw = data_encoding::HEXLOWER.encode(message.as_bytes());
            let found = library.call("validate", &json!({ "raw_hex": raw })).await;
            if found["valid"] != *expected
                || found["valid"] == json!(!found["errors"].as_array().expect("a list").is_empty())
            {
                wrong.push(format!("{row}: {found}"));
            }
        }
        assert!(wrong.is_empty(), "{variant:?}: {wrong:#?}");
    }
}

#[tokio::test]
async fn what_is_not_a_json_object_is_invalid() {
    let mut library = library(Variant::Own);
    let deep = format!("{}{}", "[".repeat(65), "]".repeat(65));
    for raw in ["", "{", "[]", "\"x\"", "{} // a comment", "{/* x */}", "{\"a\":1,\"a\":1}", &deep] {
        let hex = data_encoding::HEXLOWER.encode(raw.as_bytes());
        assert_eq!(library.call("validate", &json!({ "raw_hex": hex })).await["valid"], false, "{raw}");
    }
}

#[tokio::test]
async fn the_functions_answer_as_the_binding_says() {
    let mut library = library(Variant::Own);
    let id = "task_dispatch-T-2026-044-1740576727001";
    let parts = json!({ "type": "task_dispatch", "task_id": "T-2026-044", "unix_ms": 1_740_576_727_001_u64 });
    assert_eq!(library.call("parse_msg_id", &json!({ "msg_id": id })).await, parts);
    assert_eq!(library.call("make_msg_id", &parts).await["msg_id"], id);
    assert_eq!(
        library.answer("parse_msg_id", &json!({ "msg_id": "task_dispatch-T-2026-044-001" })).await["error"]["code"],
        -32010
    );
    for (kind, seconds) in
        [("D", json!(300)), ("R", json!(120)), ("Q", json!(600)), ("V", json!(60)), ("X", Value::Null)]
    {
        let (d, r) = (dispatch("T-2026-044"), result("T-2026-044", "complete"));
        let mut message = match kind {
            "D" => d,
            "R" => r,
            "Q" => request("T-2026-044", &d, &r),
            "V" => verdict("T-2026-044", "approved", 0.9),
            _ => escalation("T-2026-044", "executor", &d, "info"),
        };
        assert_eq!(
            library.call("ack_timeout", &json!({ "message": message })).await["ack_timeout_sec"],
            seconds,
            "{kind}"
        );
        let required = library.call("ack_required", &json!({ "type": message["type"] })).await;
        assert_eq!(required["required"], kind != "X");
        message["ack_timeout_sec"] = json!(7);
        let own = if kind == "X" { Value::Null } else { json!(7) };
        assert_eq!(library.call("ack_timeout", &json!({ "message": message })).await["ack_timeout_sec"], own, "{kind}");
        let foreign = json!({ "message": message, "actor": "system", "now_ms": 1 });
        assert_eq!(library.answer("ack", &foreign).await["error"]["code"], -32012);
        let ack = library.call("ack", &json!({ "message": message, "actor": message["to"], "now_ms": 1 })).await;
        assert_eq!(ack["ack"]["msg_id"], message["msg_id"]);
        let built = json!({
            "type": message["type"], "from": message["from"], "to": message["to"], "task_id": "T-2026-044",
            "payload": message["payload"], "now_ms": 1_740_576_727_001_u64,
        });
        let built = library.call("build", &built).await;
        assert_eq!(library.call("validate", &json!({ "message": built["message"] })).await["valid"], true, "{kind}");
    }
    let bad = json!({ "type": "task_dispatch", "from": "coordinator", "to": "executor", "task_id": "T-2026-044", "payload": {}, "now_ms": 1 });
    assert_eq!(library.answer("build", &bad).await["error"]["code"], -32011);
    assert_eq!(library.answer("nonsense", &json!({})).await["error"]["code"], -32601);
    assert_eq!(library.answer("parse_msg_id", &json!({})).await["error"]["code"], -32602);
    let short = json!({ "message": result("T-2026-044", "complete"), "dispatch": { "acceptance_criteria": ["one"],
        "subtasks": [{ "subtask_id": "T-2026-044-S1" }] } });
    assert_eq!(library.call("validate", &short).await["valid"], false, "two answers to one criterion");
}

/// An engine of one role.
async fn engine(library: &mut Library, role: &str) -> Value {
    library.call("engine_new", &json!({ "role": role, "now_ms": now_ms(), "config": {} })).await["engine"].clone()
}

/// The outputs of an event: kinds, with the type of messages and of escalations.
async fn feed(library: &mut Library, engine: &Value, event: &Value) -> Vec<String> {
    let outputs = library.call("engine_feed", &json!({ "engine": engine, "event": event })).await;
    shown(&outputs)
}

fn shown(outputs: &Value) -> Vec<String> {
    let one = |output: &Value| match (&output["message"]["payload"]["escalation_type"], &output["message"]["type"]) {
        (Value::String(kind), _) | (Value::Null, Value::String(kind)) => kind.clone(),
        _ => text(&output["kind"]).to_owned(),
    };
    outputs["outputs"].as_array().expect("a list").iter().map(one).collect()
}

fn received(message: &Value) -> Value {
    json!({ "kind": "message", "message": message })
}

#[tokio::test]
async fn an_executor_acknowledges_works_and_reports() {
    let (mut library, task) = (library(Variant::Own), "T-2026-044");
    let executor = engine(&mut library, "executor").await;
    let message = dispatch(task);
    assert_eq!(feed(&mut library, &executor, &received(&message)).await, ["ack", "work"]);
    assert_eq!(feed(&mut library, &executor, &received(&message)).await, [""; 0], "acted on once");
    let done = json!({ "kind": "work_done", "subtask_id": format!("{task}-S1"), "outcome": "complete" });
    assert_eq!(feed(&mut library, &executor, &done).await, ["task_result"]);
    let mut forbidden = dispatch("T-2026-045");
    forbidden["payload"]["branch"] = json!("main");
    assert_eq!(feed(&mut library, &executor, &received(&forbidden)).await, ["error_log", "branch_violation"]);
    let mut broken = dispatch("T-2026-046");
    broken["payload"]["acceptance_criteria"] = json!([]);
    assert_eq!(feed(&mut library, &executor, &received(&broken)).await, ["error_log"]);
    let stop = escalation("T-2026-047", "system", &message, "critical");
    assert_eq!(feed(&mut library, &executor, &received(&stop)).await, [""; 0]);
    assert_eq!(feed(&mut library, &executor, &received(&dispatch("T-2026-047"))).await, [""; 0], "suspended");
    let resume = |actor: &str| json!({ "kind": "control", "actor": actor, "task_id": "T-2026-047", "control_type": "RESUME", "payload": {} });
    assert_eq!(feed(&mut library, &executor, &resume("coordinator")).await, ["error_log"]);
    assert_eq!(feed(&mut library, &executor, &resume("admin")).await, ["ack", "work"]);
}

#[tokio::test]
async fn a_coordinator_counts_rejects_and_locks_at_the_fourth() {
    let (mut library, task) = (library(Variant::Own), "T-2026-044");
    let coordinator = engine(&mut library, "coordinator").await;
    let plan = json!({ "kind": "plan", "task_id": task, "plan": plan(task, "/srv/fixture") });
    assert_eq!(feed(&mut library, &coordinator, &plan).await, [""; 0]);
    assert_eq!(
        feed(&mut library, &coordinator, &json!({ "kind": "approve", "task_id": task })).await,
        ["task_dispatch"]
    );
    for round in 1..=4 {
        let event = received(&result(task, "complete"));
        let outputs = library.call("engine_feed", &json!({ "engine": coordinator, "event": event })).await;
        assert_eq!(shown(&outputs), ["ack", "review_request"]);
        let payload = &outputs["outputs"][1]["message"]["payload"];
        assert_eq!(payload["reject_count"], round - 1);
        let warned = text(&payload["coordinator_notes"]).contains("Lock is approaching");
        assert_eq!(warned, round >= 3, "{payload}");
        let low = round == 1;
        let verdict = verdict(task, "rejected", if low { 0.79 } else { 0.8 });
        let outputs = feed(&mut library, &coordinator, &received(&verdict)).await;
        match round {
            1 => assert_eq!(outputs, ["ack", "unknown", "task_dispatch"]),
            2 | 3 => assert_eq!(outputs, ["ack", "task_dispatch"]),
            _ => assert_eq!(outputs, ["ack", "hallucination_lock"]),
        }
    }
    assert_eq!(feed(&mut library, &coordinator, &received(&result(task, "complete"))).await, [""; 0], "locked");
    let state = library.call("engine_state", &json!({ "engine": coordinator, "task_id": task })).await;
    assert_eq!(
        (&state["status"], &state["reject_count"], &state["suspended"]),
        (&json!("locked"), &json!(4), &json!(true))
    );
}

#[tokio::test]
async fn deadlines_are_those_of_the_types_and_are_reported_once() {
    let (mut library, task) = (library(Variant::Own), "T-2026-044");
    let system = engine(&mut library, "system").await;
    let (d, r) = (dispatch(task), result(task, "complete"));
    let all = [d.clone(), r.clone(), request(task, &d, &r), verdict(task, "approved", 0.9)];
    for message in &all {
        feed(&mut library, &system, &received(message)).await;
    }
    let foreign = json!({ "kind": "ack", "ack": { "msg_id": d["msg_id"], "actor": "reviewer" } });
    feed(&mut library, &system, &foreign).await;
    let mut clock = 0;
    for (at, reports) in [(59, 0), (61, 1), (119, 0), (121, 1), (299, 0), (301, 1), (599, 0), (601, 1), (1700, 0)] {
        let outputs = library.call("engine_advance", &json!({ "engine": system, "ms": (at - clock) * 1000 })).await;
        assert_eq!(shown(&outputs), vec!["ack_timeout"; reports], "at {at} s");
        clock = at;
    }
}

#[tokio::test]
async fn a_silent_agent_is_reported_after_thirty_minutes_from_its_last_write() {
    let (mut library, task) = (library(Variant::Own), "T-2026-044");
    let system = engine(&mut library, "system").await;
    let message = dispatch(task);
    feed(&mut library, &system, &received(&message)).await;
    feed(&mut library, &system, &json!({ "kind": "ack", "ack": { "msg_id": message["msg_id"], "actor": "executor" } }))
        .await;
    let advance = |minutes: i64| json!({ "engine": system, "ms": minutes * 60_000 });
    assert_eq!(shown(&library.call("engine_advance", &advance(29)).await), [""; 0]);
    feed(&mut library, &system, &json!({ "kind": "ssot_write", "actor": "executor", "task_id": task })).await;
    assert_eq!(shown(&library.call("engine_advance", &advance(16)).await), [""; 0]);
    assert_eq!(shown(&library.call("engine_advance", &advance(15)).await), ["heartbeat_timeout"]);
    assert_eq!(shown(&library.call("engine_advance", &advance(90)).await), [""; 0], "once");
}

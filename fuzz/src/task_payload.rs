//! The conditional rules of the payloads of task-amp: a table of what the rulings say, the harness, and the reference in both
//! readings.
//!
//! The bytes choose a type and the members on which a rule of that type depends; everything else is a valid message.

use arbitrary::{Result, Unstructured};
use proofmark::protocol::task_amp;
use serde_json::{Value, json};

use crate::reference::{self, Reading};

/// What the rulings say of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ruling {
    /// Every reading accepts it.
    Valid,
    /// Readings differ.
    Free,
    /// Every reading refuses it; the branch rule may be kept by an escalation instead, so the harness is silent about it (E26).
    Reported,
    /// Every reading refuses it.
    Invalid,
}

use Ruling::{Free, Invalid, Reported, Valid};

/// Checks one input.
///
/// # Panics
///
/// If the harness or a reading of the reference contradicts the table.
pub fn run(data: &[u8]) {
    // Without choices left there is nothing new to check.
    let Ok((message, ruling)) = message(&mut Unstructured::new(data)) else { return };
    let text = message.to_string();
    let defect = task_amp::defect(text.as_bytes());
    assert_eq!(defect.is_some(), ruling == Invalid, "{ruling:?}, but the harness finds {defect:?}: {text}");
    for reading in Reading::ALL {
        let params = json!({ "raw_hex": reference::hex(text.as_bytes()) });
        let judged = reference::task(reading, "validate", &params);
        let valid = judged.as_ref().is_ok_and(|judged| judged["valid"] == true);
        let fits = match ruling {
            Valid => valid,
            Free => judged.is_ok(),
            Reported | Invalid => !valid,
        };
        assert!(fits, "{ruling:?}, but the reference ({reading:?}) answers {judged:?}: {text}");
    }
}

/// One of the rows.
fn pick<'r>(u: &mut Unstructured<'_>, rows: &'r [(Value, Ruling)]) -> Result<&'r (Value, Ruling)> {
    u.choose(rows)
}

/// The stricter of two rulings on one message: a defect decides, and a choice of readings comes before acceptance.
fn both(left: Ruling, right: Ruling) -> Ruling {
    [Invalid, Reported, Free].into_iter().find(|ruling| left == *ruling || right == *ruling).unwrap_or(Valid)
}

/// Sets a member; the text `-` leaves it out.
fn set(payload: &mut Value, name: &str, value: &Value) {
    let members = payload.as_object_mut().expect("a payload is an object");
    match value.as_str() {
        Some("-") => drop(members.remove(name)),
        _ => drop(members.insert(name.to_owned(), value.clone())),
    }
}

fn message(u: &mut Unstructured<'_>) -> Result<(Value, Ruling)> {
    let (kind, from, to, payload, ruling) = match u.int_in_range(0..=4)? {
        0 => dispatch(u)?,
        1 => result(u)?,
        2 => request(u)?,
        3 => verdict(u)?,
        _ => escalation(u)?,
    };
    let message = json!({
        "msg_id": format!("{kind}-T-2026-044-1740576727001"),
        "protocol_version": "AMP/1.0",
        "type": kind,
        "from": from,
        "to": to,
        "task_id": "T-2026-044",
        "timestamp": "2026-02-26T14:32:07+00:00",
        "requires_ack": kind != "escalation",
        "context_ref": [],
        "payload": payload,
    });
    Ok((message, ruling))
}

type Made = (&'static str, &'static str, &'static str, Value, Ruling);

/// 01.2 and 01.3: the branch, the criteria, the risk.
fn dispatch(u: &mut Unstructured<'_>) -> Result<Made> {
    let mut payload = json!({
        "description": "Append the line ok to NOTES.txt",
        "repo": "/srv/fixture",
        "branch": "feature/x",
        "subtasks": [{ "subtask_id": "T-2026-044-S1", "description": "Append", "estimated_lines": 1 }],
        "acceptance_criteria": ["NOTES.txt ends with the line ok"],
        "risk_level": "low",
    });
    let branches = [
        (json!("feature/x"), Valid),
        (json!("main-fix"), Valid),
        (json!("feature/main"), Valid),
        (json!("main"), Reported),
        (json!("master"), Reported),
        (json!("Main"), Free),
        (json!(7), Invalid),
        (json!("-"), Invalid),
    ];
    let criteria = [
        (json!(["one"]), Valid),
        (json!(["one", "two"]), Valid),
        (json!([]), Invalid),
        (json!(["one", 2]), Invalid),
        (json!("one"), Invalid),
        (json!("-"), Invalid),
    ];
    let risks = [
        (json!("low"), Valid),
        (json!("medium"), Valid),
        (json!("high"), Valid),
        (json!("High"), Invalid),
        (json!("critical"), Invalid),
        (Value::Null, Invalid),
    ];
    let ruling =
        members(u, &mut payload, &[("branch", &branches), ("acceptance_criteria", &criteria), ("risk_level", &risks)])?;
    Ok(("task_dispatch", "coordinator", "executor", payload, ruling))
}

/// Chooses a row for each member.
fn members(u: &mut Unstructured<'_>, payload: &mut Value, tables: &[(&str, &[(Value, Ruling)])]) -> Result<Ruling> {
    let mut ruling = Valid;
    for (name, rows) in tables {
        let (value, own) = pick(u, rows)?;
        set(payload, name, value);
        ruling = both(ruling, *own);
    }
    Ok(ruling)
}

/// 02.2 and 02.3: blockers depend on the status (E36, E73).
fn result(u: &mut Unstructured<'_>) -> Result<Made> {
    let mut payload = json!({
        "subtask_id": "T-2026-044-S1",
        "diff_summary": { "files_changed": ["NOTES.txt"], "lines_added": 1, "lines_removed": 0 },
        "self_assessment": { "criteria_met": [true, null], "notes": ["checked", "left to review"] },
        "work_log": [],
    });
    let complete = u.arbitrary()?;
    let status = if complete { "complete" } else { *u.choose(&["partial", "failed"])? };
    payload["completion_status"] = json!(status);
    let of = |open: Ruling, done: Ruling| if complete { done } else { open };
    let blockers = [
        (json!("-"), of(Invalid, Valid)),
        // Null for an optional member is free (E72); for a required one it is as missing (E07).
        (Value::Null, of(Invalid, Free)),
        (json!([]), of(Free, Valid)),
        (json!(["waiting for a key"]), Valid),
        (json!([7]), Invalid),
        (json!("waiting"), Invalid),
        (json!({}), Invalid),
    ];
    let hashes = [
        (json!("-"), Valid),
        (json!("a3f8d21"), Valid),
        (json!("0123456789abcdef0123456789abcdef01234567"), Valid),
        (json!("a3f"), Free),
        (json!("no hash"), Invalid),
        (json!(""), Invalid),
        (json!(5), Invalid),
    ];
    let ruling = members(u, &mut payload, &[("blockers", &blockers), ("commit_hash", &hashes)])?;
    Ok(("task_result", "executor", "coordinator", payload, ruling))
}

/// 03.2: references, scope and count.
fn request(u: &mut Unstructured<'_>) -> Result<Made> {
    let mut payload = json!({
        "original_dispatch_ref": "task_dispatch-T-2026-044-1740576727000",
        "task_result_ref": "task_result-T-2026-044-1740576727000",
        "diff_url": "/srv/fixture/.git/x.diff",
    });
    let scopes =
        [(json!("full"), Valid), (json!("incremental"), Valid), (json!("FULL"), Invalid), (json!("-"), Invalid)];
    let counts = [
        (json!(0), Valid),
        (json!(3), Valid),
        (json!(-1), Free),
        (json!(1.0), Free),
        (json!(0.5), Invalid),
        (json!("0"), Invalid),
        (json!(true), Invalid),
        (Value::Null, Invalid),
    ];
    let notes = [(json!("-"), Valid), (json!("lock warning"), Valid), (json!(1), Invalid), (Value::Null, Free)];
    let ci = [
        (json!("-"), Valid),
        (json!({ "xcode_cloud": "passed" }), Valid),
        (json!([]), Invalid),
        (json!("ok"), Invalid),
    ];
    let tables: [(&str, &[(Value, Ruling)]); 4] =
        [("review_scope", &scopes), ("reject_count", &counts), ("coordinator_notes", &notes), ("ci_status", &ci)];
    let ruling = members(u, &mut payload, &tables)?;
    Ok(("review_request", "coordinator", "reviewer", payload, ruling))
}

/// 04.2 and 04.3: issues and repairs depend on the decision (E49 to E53, E83).
fn verdict(u: &mut Unstructured<'_>) -> Result<Made> {
    let mut payload = json!({
        "criteria_results": [{ "criterion": "NOTES.txt ends with the line ok", "passed": true, "evidence": "read" }],
    });
    let decision = *u.choose(&["approved", "approved_with_fix", "rejected"])?;
    payload["decision"] = json!(decision);
    let (rejects, repairs) = (decision == "rejected", decision == "approved_with_fix");
    let issue = |severity: &str| json!([{ "severity": severity, "file": "NOTES.txt", "line": 1, "description": "d", "suggested_fix": "s" }]);
    let blocking = if decision == "approved" { Free } else { Valid };
    let of = |other: Ruling| if rejects { Invalid } else { other };
    let issues = [
        (json!("-"), of(Valid)),
        (Value::Null, of(Free)),
        (json!([]), of(Valid)),
        (issue("minor"), if rejects { Free } else { Valid }),
        (issue("major"), if repairs { Free } else { blocking }),
        (issue("critical"), if repairs { Free } else { blocking }),
        (issue("warning"), Invalid),
        (json!([{ "severity": "major" }]), Invalid),
        (json!("none"), Invalid),
    ];
    let fix = |kind: &str, lines: i64| json!([{ "file": "NOTES.txt", "change_type": kind, "diff_lines": lines }]);
    // With another decision they are judged under strict only (E83).
    let judged = |ruling: Ruling| if repairs { ruling } else { Free };
    let fixes = [
        (json!("-"), if repairs { Invalid } else { Valid }),
        (Value::Null, judged(Invalid)),
        (json!([]), Free),
        (fix("typo", 1), judged(Valid)),
        (fix("import", 4), judged(Valid)),
        (fix("import_order", 4), judged(Valid)),
        (fix("whitespace", 0), Free),
        (fix("lint", 5), judged(Invalid)),
        (fix("refactor", 1), judged(Invalid)),
        (json!([{ "file": "NOTES.txt" }]), judged(Invalid)),
        (json!("typo"), judged(Invalid)),
    ];
    let shares = [
        (json!(0), Valid),
        (json!(1), Valid),
        (json!(0.79), Valid),
        (json!(1.01), Invalid),
        (json!(-0.1), Invalid),
        (json!(95), Invalid),
        (json!("high"), Invalid),
        (json!("-"), Invalid),
    ];
    let ruling = members(u, &mut payload, &[("issues", &issues), ("direct_fixes", &fixes), ("confidence", &shares)])?;
    Ok(("review_verdict", "reviewer", "coordinator", payload, ruling))
}

/// 05.2 and 05.3: a critical escalation suspends (E56).
fn escalation(u: &mut Unstructured<'_>) -> Result<Made> {
    let mut payload = json!({
        "escalation_type": "unknown",
        "triggered_by": "executor",
        "description": "probe",
        "affected_msgs": ["task_dispatch-T-2026-044-1740576727000"],
    });
    let severity = *u.choose(&["critical", "warning", "info", "major", "Critical"])?;
    payload["severity"] = json!(severity);
    let suspended = match severity {
        "critical" => [(json!(true), Valid), (json!(false), Invalid), (json!("true"), Invalid), (json!("-"), Invalid)],
        "warning" => [(json!(true), Valid), (json!(false), Free), (json!(1), Invalid), (Value::Null, Invalid)],
        "info" => [(json!(true), Free), (json!(false), Valid), (json!(0), Invalid), (json!("-"), Invalid)],
        // Not a severity of an escalation.
        _ => [(json!(true), Invalid), (json!(false), Invalid), (json!([]), Invalid), (json!("-"), Invalid)],
    };
    let state =
        |count: Value| json!({ "task_status": "executing", "reject_count": count, "last_successful_msg_id": null });
    let snapshots = [
        (state(json!(0)), Valid),
        (state(json!(2)), Valid),
        (state(json!("0")), Invalid),
        (json!({ "task_status": "executing" }), Invalid),
        (json!("executing"), Invalid),
        (Value::Null, Invalid),
    ];
    let actions = [(json!("-"), Valid), (json!(["wait"]), Valid), (json!("wait"), Invalid), (json!([1]), Invalid)];
    let tables: [(&str, &[(Value, Ruling)]); 3] =
        [("auto_suspended", &suspended), ("system_state_snapshot", &snapshots), ("suggested_actions", &actions)];
    let ruling = members(u, &mut payload, &tables)?;
    Ok(("escalation", "executor", "admin", payload, ruling))
}

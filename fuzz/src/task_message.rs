//! Messages of task-amp: harness and reference judge the same bytes, and no reader panics.
//!
//! The input is the text of a message.

use proofmark::protocol::task_amp;
use serde_json::{Value, json};

use crate::reference::{self, Reading};

/// Checks one input.
///
/// # Panics
///
/// If the reference, in either reading, accepts a message that the harness says every reading refuses, if it takes bytes and their
/// value for different messages, or if it reads other parts from a msg_id than the message has.
pub fn run(data: &[u8]) {
    let defect = task_amp::defect(data);
    for reading in Reading::ALL {
        let judged = reference::task(reading, "validate", &json!({ "raw_hex": reference::hex(data) }))
            .unwrap_or_else(|error| panic!("invalid input is a result, not an error: {error}"));
        let valid = judged["valid"] == true;
        let errors = judged["errors"].as_array().map_or(0, Vec::len);
        assert_eq!(valid, errors == 0, "{judged}");
        if let Some(because) = &defect {
            assert!(!valid, "the reference ({reading:?}) accepts {because}: {:?}", String::from_utf8_lossy(data));
        }
        if valid {
            look_at_value(reading, data);
        }
    }
}

/// What must hold for an accepted message.
fn look_at_value(reading: Reading, data: &[u8]) {
    // A number beyond a double is JSON as well, but no value here.
    let Ok(message) = serde_json::from_slice::<Value>(data) else { return };
    let judged = reference::task(reading, "validate", &json!({ "message": message }));
    assert!(judged.is_ok_and(|judged| judged["valid"] == true), "the value is refused: {message}");
    let parts = reference::task(reading, "parse_msg_id", &json!({ "msg_id": message["msg_id"] }));
    let parts = parts.unwrap_or_else(|error| panic!("{error} for the msg_id of {message}"));
    assert_eq!(parts["type"], message["type"], "{message}");
    assert_eq!(parts["task_id"], message["task_id"], "{message}");
    let payload = json!({ "type": message["type"], "payload": message["payload"] });
    let judged = reference::task(reading, "validate_payload", &payload);
    assert!(judged.is_ok_and(|judged| judged["valid"] == true), "the payload alone is refused: {message}");
}

//! Faults of making requests and events.

use crate::fault::Planted;
use crate::instant::Instant;
use crate::json::{Object, Value};

/// Writes a member as the text of its JSON.
pub(in crate::meshai) fn as_text(payload: &mut Object, name: &str) {
    if let Some(value) = payload.get_mut(name) {
        *value = Value::Text(value.write());
    }
}

/// Gives a member another name.
pub(in crate::meshai) fn rename(payload: &mut Object, from: &str, to: &str) {
    if let Some(value) = payload.remove(from) {
        payload.set(to, value);
    }
}

/// `client-capability-renamed`: Calls the capability name.
pub(in crate::meshai) fn rename_capability(payload: &mut Object) {
    rename(payload, "capability", "name");
}

/// The object under a member, in the place of the whole.
pub(in crate::meshai) fn inner(payload: &Object, name: &str) -> Object {
    payload.get(name).and_then(Value::as_object).cloned().unwrap_or_default()
}

/// The members of a member beside the others.
pub(in crate::meshai) fn lift(payload: &Object, name: &str) -> Object {
    let mut lifted = payload.clone();
    lifted.remove(name);
    inner(payload, name).iter().for_each(|(name, value)| lifted.set(name, value.clone()));
    lifted
}

/// Faults of a registration.
pub(in crate::meshai) fn registration(payload: &mut Object, fault: Planted) {
    let object = |payload: &mut Object, name: &str, change: &dyn Fn(&mut Object)| {
        if let Some(part) = payload.get_mut(name).and_then(Value::as_object_mut) {
            change(part);
        }
    };
    if fault.is("identity-renamed") {
        rename(payload, "agent", "identity");
    }
    if fault.is("identity-without-name") {
        object(payload, "agent", &|agent| drop(agent.remove("name")));
    }
    if fault.is("identity-without-framework") {
        object(payload, "agent", &|agent| drop(agent.remove("framework")));
    }
    if fault.is("identity-version-number") {
        object(payload, "agent", &|agent| agent.set("version", 1));
    }
    if fault.is("identity-without-version") {
        object(payload, "agent", &|agent| drop(agent.remove("version")));
    }
    if fault.is("identity-protocol-with-family") {
        object(payload, "agent", &|agent| agent.set("protocol_version", "AMP/1.0"));
    }
    if fault.is("identity-protocol-two") {
        object(payload, "agent", &|agent| agent.set("protocol_version", "2.0"));
    }
    if fault.is("identity-other-id") {
        object(payload, "agent", &|agent| agent.set("id", "another-agent"));
    }
    if fault.is("declares-an-object") {
        let items = payload.remove("capabilities");
        payload.set("capabilities", Object::from([("items", items.unwrap_or(Value::Null))]));
    }
    if fault.is("advertised-health-wrong") {
        object(payload, "endpoints", &|endpoints| {
            let wrong = endpoints.text("health").map(|url| format!("{url}-check")).unwrap_or_default();
            endpoints.set("health", wrong);
        });
    }
    if fault.is("advertised-invoke-relative") {
        object(payload, "endpoints", &|endpoints| endpoints.set("invoke", "/invoke"));
    }
    if fault.is("advertised-invoke-wrong") {
        object(payload, "endpoints", &|endpoints| {
            let wrong = endpoints.text("invoke").map(|url| format!("{url}/now")).unwrap_or_default();
            endpoints.set("invoke", wrong);
        });
    }
    if fault.is("credentials-as-object") {
        object(payload, "authentication", &|given| given.set("credentials", Object::new()));
    }
    if let Some(Value::List(items)) = payload.get_mut("capabilities") {
        for item in items.iter_mut().filter_map(Value::as_object_mut) {
            if fault.is("declares-version-number") {
                item.set("version", 1);
            }
            if fault.is("declares-schema-text") {
                item.set("input_schema", "object");
            }
            if fault.is("declares-bad-schema") {
                item.set("input_schema", Object::from([("type", 5.into())]));
            }
            if fault.is("declares-without-output") {
                item.remove("output_schema");
            }
            if fault.is("declares-bad-output") {
                item.set("output_schema", Object::from([("required", "all".into())]));
            }
            if fault.is("declares-negative-time") {
                item.set("constraints", Object::from([("response_time_ms", (-1).into())]));
            }
            if fault.is("declares-language-text") {
                item.set("constraints", Object::from([("supported_languages", "en".into())]));
            }
            if fault.is("declares-length-text") {
                item.set("constraints", Object::from([("max_input_length", "10000".into())]));
            }
            if fault.is("declares-constraint-list") {
                item.set("constraints", Vec::new());
            }
            if fault.is("declares-id-number") {
                item.set("id", 7);
            }
            if fault.is("declares-description-list") {
                item.set("description", Vec::new());
            }
        }
        if fault.is("declares-nothing") {
            items.clear();
        }
    }
}

/// Faults of a delegation.
pub(in crate::meshai) fn delegation(payload: &mut Object, fault: Planted) {
    let Some(delegation) = payload.get_mut("delegation").and_then(Value::as_object_mut) else { return };
    if fault.is("client-task-id-number") {
        delegation.set("parent_task_id", 7);
    }
    if fault.is("client-subtask-as-text") {
        as_text(delegation, "subtask");
    }
    let Some(subtask) = delegation.get_mut("subtask").and_then(Value::as_object_mut) else { return };
    if fault.is("client-callback-relative") {
        subtask.set("completion_callback", "/callback");
    }
    if fault.is("client-subtask-parameters-as-list") {
        subtask.set("parameters", Vec::new());
    }
    if fault.is("client-subtask-without-capability") {
        subtask.remove("capability");
    }
    if fault.is("client-delegation-as-text") {
        as_text(payload, "delegation");
    }
}

/// Faults of an event.
pub(in crate::meshai) fn event(payload: &mut Object, fault: Planted) {
    if fault.is("client-event-type") {
        payload.set("event_type", "context.update");
    }
    if fault.is("client-event-context-as-text") {
        as_text(payload, "context");
    }
    let Some(context) = payload.get_mut("context").and_then(Value::as_object_mut) else { return };
    if fault.is("client-event-without-session") {
        context.remove("session_id");
    }
    if fault.is("client-memory-as-list") {
        context.set("shared_memory", Vec::new());
    }
    if fault.is("client-lists-as-text") && context.get("access_control").is_some() {
        context.set("access_control", Object::from([("read", "all".into()), ("write", "all".into())]));
    }
}

/// Faults of every message that starts an exchange.
pub(in crate::meshai) fn message(message: &mut Object, now: Instant, fault: Planted) {
    if fault.is("client-timestamp-epoch") {
        message.set("timestamp", now.unix_milliseconds() / 1000);
    }
    if fault.is("client-id-number") {
        message.set("id", 17);
    }
    if fault.is("client-type-missing") {
        message.remove("type");
    }
    if fault.is("client-source-missing") {
        message.remove("source");
    }
    let Some(headers) = message.get_mut("headers").and_then(Value::as_object_mut) else { return };
    if fault.is("client-priority-text") {
        headers.set("priority", "5");
    }
    if fault.is("client-timeout-negative") {
        headers.set("timeout_ms", -1);
    }
    if fault.is("client-hints-as-list") {
        headers.set("routing_hints", Vec::new());
    }
    if let Some(given) = headers.get_mut("authentication").and_then(Value::as_object_mut) {
        if fault.is("client-token-renamed") {
            rename(given, "token", "key");
            given.remove("credentials");
        }
        if fault.is("client-authentication-without-type") {
            given.remove("type");
        }
    }
}

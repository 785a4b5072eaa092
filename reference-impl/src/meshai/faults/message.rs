//! Faults of receiving messages.

use crate::json::{self, Object, Value};

/// `comments-tolerated`: Reads JSON with comments and trailing commas.
pub(in crate::meshai) fn read_with_comments(bytes: &[u8]) -> Option<Object> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (mut plain, mut rest, mut quoted) = (String::new(), text.chars().peekable(), false);
    while let Some(c) = rest.next() {
        match (c, rest.peek()) {
            ('\\', Some(_)) if quoted => {
                plain.push(c);
                plain.extend(rest.next());
            }
            ('"', _) => {
                quoted = !quoted;
                plain.push(c);
            }
            ('/', Some('/')) if !quoted => while rest.next_if(|c| *c != '\n').is_some() {},
            ('/', Some('*')) if !quoted => {
                rest.next();
                let mut last = ' ';
                for c in rest.by_ref() {
                    if (last, c) == ('*', '/') {
                        break;
                    }
                    last = c;
                }
            }
            _ => plain.push(c),
        }
    }
    let compact = plain.replace(",}", "}").replace(",]", "]").replace(", }", "}").replace(", ]", "]");
    match json::read(compact.as_bytes()).ok()? {
        Value::Object(object) => Some(object),
        _ => None, // another kind
    }
}

/// `truncated-is-empty`: Takes what cannot be read for the fixture request, as a server that ignores its input does.
pub(in crate::meshai) fn completed(_: &[u8]) -> Object {
    let text = "{\"protocol\":\"AMP/1.0\",\"message\":{\"id\":\"unread\",\"type\":\"request\",\
                \"timestamp\":\"2025-01-27T10:00:00Z\",\"source\":{\"agent_id\":\"unread\"},\"destination\":{},\"headers\":{},\
                \"payload\":{\"capability\":\"text-analysis\",\"parameters\":{\"text\":\"\"}}}}";
    match json::read(text.as_bytes()) {
        Ok(Value::Object(object)) => object,
        _ => Object::new(), // the text above is an object
    }
}

/// `inner-message-accepted`: Takes an inner message for a whole envelope.
pub(in crate::meshai) fn wrap(envelope: &mut Object) {
    if envelope.get("message").is_none() && envelope.get("type").is_some() && envelope.get("payload").is_some() {
        let inner = std::mem::take(envelope);
        *envelope = Object::from([("protocol", "AMP/1.0".into()), ("message", inner.into())]);
    }
}

/// `strict-header-record`: The first header that the structure block does not show.
pub(in crate::meshai) fn undeclared(headers: &Object) -> Option<&str> {
    let declared = ["correlation_id", "priority", "timeout_ms", "routing_hints"];
    headers.iter().map(|(name, _)| name).find(|name| !declared.contains(name))
}

/// `batch-executed`: The elements of a body that is an array.
pub(in crate::meshai) fn batch(bytes: &[u8]) -> Option<Vec<Value>> {
    match json::read(bytes) {
        Ok(Value::List(items)) if !items.is_empty() => Some(items),
        _ => None, // not a batch
    }
}

/// `payload-optional`, `null-payload-accepted`: The request that the destination alone stands for.
pub(in crate::meshai) fn assumed(wanted: Option<&str>) -> Object {
    let parameters = Object::from([("text", "".into())]);
    match wanted {
        Some("discovery") => Object::from([("query", Object::new().into())]),
        Some(wanted) => Object::from([("capability", wanted.into()), ("parameters", parameters.into())]),
        None => Object::new(),
    }
}

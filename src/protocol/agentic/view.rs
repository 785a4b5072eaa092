//! Finding values wherever a target places them: the views of packages, lists, hashes and errors that the errata allow (E02,
//! E30, E33, E66, E69). The first matching form wins; places in the target file take precedence.

use crate::exchange::{Exchange, Transport};
use crate::protocol::base_view;
use crate::target::Target;
use crate::template::Clock;
use crate::value::{Path, Value};
use crate::wire::json;

/// Members that carry a response's own data and do not belong to a package (E02, reading b).
const METADATA: &[&str] = &["content_hash", "contentHash"];

/// The parts of a digest whose places a target file may name.
const DIGEST: &[&str] = &["facts", "open_questions", "snippets", "summary", "counts"];

/// Adds to the general observation:
///
/// | place | holds |
/// |---|---|
/// | `/package` | the package of a successful answer |
/// | `/packages`, `/ids` | the packages of a list or of an orientation bundle, and their ids |
/// | `/fact` | the fact of a successful answer |
/// | `/facts` | the facts of a list or of an orientation bundle |
/// | `/count` | the number of ended facts (E50) |
/// | `/sessions` | the sessions of a list |
/// | `/records` | the records of an export, unwrapped |
/// | `/project` | the project, its id under `project_id` |
/// | `/hash` | the possible places of a content hash: see [`super::hash`] |
/// | `/error_names` | every string in the body of an unsuccessful answer |
/// | `/secure` | whether an endpoint is reached by TLS, or does not leave this machine |
pub(super) fn observe(exchange: &Exchange, target: &Target, clock: Clock) -> Value {
    let mut view = base_view(exchange, target, clock);
    if exchange.sent.transport == Transport::Adapter {
        adapter_answer(exchange, &mut view);
    }
    if let (Transport::Http, Some(url)) = (exchange.sent.transport, &target.url) {
        view.set_member("secure", Value::Bool(is_secure(url)));
    }
    let status = view.member("status").and_then(Value::as_integer).unwrap_or(0);
    let success = (200..300).contains(&status);
    let body = view.member("body").cloned();
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            view.set_member(name, value);
        }
    };
    let Some(body) = body else {
        if success && exchange.operation == "export" {
            put("records", exchange.received.body.text().and_then(|text| records(text, target)));
        }
        return view;
    };
    if !success {
        let mut names = Vec::new();
        strings(&body, &mut names);
        put("error_names", Some(Value::Array(names.into())));
        return view;
    }
    let package = find(&body, target, "package")
        .or_else(|| marked(&body, "package", "package_id"))
        .map(|value| strip(&value, target));
    put("hash", Some(super::hash::candidates(&body, exchange, target)));
    // The hash of a package under the names of the target.
    put(
        "own_names",
        target
            .names
            .own
            .get("package")
            .filter(|_| exchange.sent.transport == Transport::Http)
            .map(|names| Value::map(names.iter().map(|(wire, own)| (wire.as_str(), Value::text(own))))),
    );
    put("package", package);
    let packages = find(&body, target, "packages")
        .or_else(|| list(&body, &["recent_packages", "packages", "items", "results", "data"], "title"))
        .and_then(|list| list.as_array().map(<[Value]>::to_vec));
    if let Some(packages) = packages {
        let packages: Vec<Value> = packages
            .iter()
            .map(|item| strip(item.member("package").filter(|inner| inner.as_map().is_some()).unwrap_or(item), target))
            .collect();
        let ids = packages.iter().map(|package| package.member("package_id").cloned().unwrap_or(Value::Null)).collect();
        put("ids", Some(Value::Array(ids)));
        put("packages", Some(Value::Array(packages.into())));
    }
    put("fact", find(&body, target, "fact").or_else(|| marked(&body, "fact", "fact_id")));
    if exchange.operation == "invalidate-fact" {
        put("count", find(&body, target, "count").or_else(|| count(&body)));
    }
    let facts = find(&body, target, "facts")
        .or_else(|| list(&body, &["active_facts", "facts", "items", "results", "data"], "subject"))
        .and_then(|list| list.as_array().map(<[Value]>::to_vec));
    put("facts", facts.map(|facts| Value::Array(facts.iter().map(|item| unwrap(item, "fact").clone()).collect())));
    if exchange.operation == "list-sessions" {
        let sessions = list(&body, &["sessions", "items", "results", "data"], "session_id");
        put("sessions", sessions.filter(|list| list.as_array().is_some()));
    }
    if exchange.operation == "export" {
        let text = exchange.received.body.text();
        let found = match (&body, exchange.sent.transport) {
            (Value::Array(items), _) => {
                Some(Value::Array(items.iter().map(|item| unwrap_record(item, target)).collect()))
            }
            (_, Transport::Http) => text.and_then(|text| records(text, target)),
            (_, _) => body
                .member("ndjson_hex")
                .and_then(Value::as_text)
                .and_then(|hex| data_encoding::HEXLOWER_PERMISSIVE.decode(hex.as_bytes()).ok())
                .and_then(|bytes| String::from_utf8(bytes).ok())
                .and_then(|text| records(&text, target)),
        };
        put("records", found);
    }
    put("project", project(&body));
    if exchange.operation == "orchestrate" {
        view.set_member("body", digest(&body, target));
    }
    view
}

/// Whether the connection protects confidentiality and integrity against third parties (section 9.3).
fn is_secure(url: &url::Url) -> bool {
    let loopback = match url.host() {
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    };
    loopback || url.scheme() == "https"
}

/// The answer of an adapter in the form of an HTTP answer: errors as their status (binding, section 12), JSON in hex as
/// the JSON that it is.
fn adapter_answer(exchange: &Exchange, view: &mut Value) {
    const CODES: &[(i128, i128)] = &[
        (-32001, 400),
        (-32002, 409),
        (-32003, 403),
        (-32004, 403),
        (-32005, 404),
        (-32006, 501),
        (-32007, 400),
        (-32008, 500),
        (-32009, 400),
        (-32010, 409),
        (-32601, 501),
        (-32602, 400),
        (-32700, 400),
    ];
    let Ok(answer) = json::parse(&exchange.received.body.0) else { return };
    if let Some(error) = answer.member("error").filter(|error| **error != Value::Null) {
        let code = error.member("code").and_then(Value::as_integer).unwrap_or(0);
        let status = CODES.iter().find(|(known, _)| *known == code).map_or(500, |(_, status)| *status);
        view.set_member("status", Value::Integer(status));
        view.set_member("code", Value::Integer(code));
        view.set_member("body", error.clone());
        return;
    }
    let Some(result) = answer.member("result") else { return };
    view.set_member("status", Value::Integer(200));
    view.set_member("result", result.clone());
    let decode = |value: &Value| {
        let bytes = data_encoding::HEXLOWER_PERMISSIVE.decode(value.as_text()?.as_bytes()).ok()?;
        json::parse(&bytes).ok()
    };
    let body = match exchange.operation.as_str() {
        "orient" | "orchestrate" => result.member("bundle_hex").and_then(decode),
        "pull-latest" | "pull-relevant" | "awaiting" => decode_list(result, "packages", decode),
        "query-facts" => decode_list(result, "facts", decode),
        "list-sessions" => decode_list(result, "sessions", decode),
        "assert-fact" => result.member("fact_hex").and_then(decode).map(|fact| Value::map([("fact", fact)])),
        "deposit" | "pull-specific" | "flag" | "transition" => {
            let package = result.member("package_hex").and_then(decode).unwrap_or(Value::Null);
            let hash = result.member("hash").cloned().unwrap_or(Value::Null);
            if package == Value::Null && exchange.operation == "pull-specific" {
                view.set_member("status", Value::Integer(404));
            }
            Some(Value::map([("package", package), ("content_hash", hash)]))
        }
        "canonicalize" => {
            let hex = result.member("canonical_hex").and_then(Value::as_text);
            let bytes = hex.and_then(|hex| data_encoding::HEXLOWER_PERMISSIVE.decode(hex.as_bytes()).ok());
            let digest = bytes.as_deref().map(crate::wire::canonical::sha256_of);
            bytes.map(|bytes| {
                Value::map([
                    ("canonical", Value::text(String::from_utf8_lossy(&bytes).into_owned())),
                    ("bytes", Value::from(bytes.len() as u64)),
                    ("sha256", Value::text(digest.unwrap_or_default())),
                ])
            })
        }
        // The greeting of a library is the descriptor of an endpoint under another name.
        "describe" => result
            .member("level")
            .map(|level| Value::map([("conformance_level", level.clone()), ("implementation", result.clone())])),
        "roundtrip-package" | "roundtrip-fact" => result.member("json_hex").and_then(decode),
        _ => None,
    };
    view.set_member("body", body.unwrap_or_else(|| result.clone()));
}

fn decode_list(result: &Value, name: &str, decode: impl Fn(&Value) -> Option<Value>) -> Option<Value> {
    let items = result.member(name)?.as_array()?;
    let decoded = items.iter().map(|item| decode(item).unwrap_or(Value::Null)).collect();
    Some(Value::map([(name, Value::Array(decoded))]))
}

/// The value at the first configured place that exists.
fn find(body: &Value, target: &Target, what: &str) -> Option<Value> {
    target.places(what).iter().filter_map(|place| Path::parse(place).ok()).find_map(|path| path.resolve(body).cloned())
}

/// A digest with its parts under the names of the reference, where the target file says their places.
fn digest(body: &Value, target: &Target) -> Value {
    let mut named = body.clone();
    for part in DIGEST {
        if let Some(value) = find(body, target, &format!("digest_{part}")) {
            named.set_member(part, value);
        }
    }
    named
}

/// The one object of an answer that has `mark`: under its name, bare, or under `data`.
fn marked(body: &Value, name: &str, mark: &str) -> Option<Value> {
    let has_mark = |value: &&Value| value.member(mark).is_some();
    body.member(name)
        .filter(has_mark)
        .or_else(|| Some(body).filter(has_mark))
        .or_else(|| body.member("data").filter(has_mark))
        .or_else(|| body.member("data").and_then(|data| data.member(name)).filter(has_mark))
        .cloned()
}

/// The count: the whole answer, the member with a known name, or the only integer of the answer (E50).
fn count(body: &Value) -> Option<Value> {
    if body.as_integer().is_some() {
        return Some(body.clone());
    }
    // A list of the ended facts may have one of these names as well.
    let number = |value: &&Value| value.as_integer().is_some();
    let named = ["invalidated", "count", "invalidated_count"].iter().find_map(|name| body.member(name).filter(number));
    if let Some(named) = named {
        return Some(named.clone());
    }
    let mut numbers = body.as_map()?.iter().filter(|(_, value)| value.as_integer().is_some());
    let only = numbers.next()?;
    numbers.next().is_none().then(|| only.1.clone())
}

/// The list of an answer. `data` and its like hold lists of either kind, so their elements decide whether it is this one.
fn list(body: &Value, names: &[&str], mark: &str) -> Option<Value> {
    let of_the_kind = |list: &&Value| match list.as_array() {
        None => false,
        Some(items) => items.iter().all(|item| {
            let inner = item.member("package").or_else(|| item.member("fact")).unwrap_or(item);
            inner.member(mark).is_some() || !foreign(inner, mark)
        }),
    };
    Some(body)
        .filter(of_the_kind)
        .or_else(|| {
            let own = names.iter().take(2).find_map(|name| body.member(name).filter(|list| list.as_array().is_some()));
            own.or_else(|| names.iter().skip(2).find_map(|name| body.member(name).filter(of_the_kind)))
        })
        .cloned()
}

/// Whether an element plainly belongs to a list of another kind.
fn foreign(item: &Value, mark: &str) -> bool {
    ["title", "subject", "session_id"].iter().any(|other| *other != mark && item.member(other).is_some())
}

fn unwrap<'v>(item: &'v Value, name: &str) -> &'v Value {
    item.member(name).filter(|inner| inner.as_map().is_some()).unwrap_or(item)
}

/// The package without the members that the response adds.
fn strip(package: &Value, target: &Target) -> Value {
    let Some(members) = package.as_map() else { return package.clone() };
    let configured = target.places("metadata");
    let own =
        |name: &str| METADATA.contains(&name) || configured.iter().any(|place| place.trim_start_matches('/') == name);
    Value::Map(members.iter().filter(|(key, _)| !key.as_text().is_some_and(own)).cloned().collect())
}

fn strings(value: &Value, found: &mut Vec<Value>) {
    match value {
        Value::Text(_) => found.push(value.clone()),
        Value::Array(items) => items.iter().for_each(|item| strings(item, found)),
        Value::Map(members) => members.iter().for_each(|(_, member)| strings(member, found)),
        _ => {}
    }
}

fn project(body: &Value) -> Option<Value> {
    let project = body.member("project").filter(|inner| inner.as_map().is_some()).unwrap_or(body);
    let id = project.member("project_id").or_else(|| project.member("id"))?.clone();
    let archived = project.member("archived_at").cloned().unwrap_or(Value::Null);
    Some(Value::map([("project_id", id), ("archived_at", archived)]))
}

/// The records of an NDJSON text, or `None` if a line is not a JSON object.
fn records(text: &str, target: &Target) -> Option<Value> {
    let lines = text.split('\n').map(|line| line.trim_end_matches('\r')).filter(|line| !line.trim().is_empty());
    let items: Option<Vec<Value>> =
        lines.map(|line| json::parse(line.as_bytes()).ok().filter(|value| value.as_map().is_some())).collect();
    Some(Value::Array(items?.iter().map(|item| unwrap_record(item, target)).collect()))
}

/// A record and its kind (E69, E97): a line may wrap it. A package is without the members that the target adds.
fn unwrap_record(item: &Value, target: &Target) -> Value {
    let inner = ["package", "fact", "session", "project", "data"]
        .iter()
        .find_map(|name| item.member(name).filter(|inner| inner.as_map().is_some()))
        .unwrap_or(item);
    let kind = if inner.member("fact_id").is_some() {
        "fact"
    } else if inner.member("package_id").is_some() {
        "package"
    } else if inner.member("session_id").is_some() && inner.member("started_at").is_some() {
        "session"
    } else {
        "project"
    };
    let inner = if kind == "package" { strip(inner, target) } else { inner.clone() };
    Value::map([("kind", Value::text(kind)), ("record", inner)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::TargetClass;

    #[test]
    fn a_count_is_a_number_and_not_the_list_of_ended_facts() {
        let count = |text: &[u8]| super::count(&json::parse(text).expect("JSON")).and_then(|count| count.as_integer());
        assert_eq!(count(br#"{"invalidated":[{"fact_id":"f"}],"count":1}"#), Some(1));
        assert_eq!(count(br#"{"ok":true,"ended":2}"#), Some(2));
        assert_eq!(count(br#"{"invalidated":"1"}"#), None);
    }

    #[test]
    fn an_exported_package_is_without_the_members_that_the_target_adds() {
        let mut target = Target::new(TargetClass::Endpoint, "t");
        target.places.insert("metadata".to_owned(), vec!["/received_by".to_owned()]);
        let found = records(r#"{"package":{"package_id":"p","title":"t","received_by":"x"}}"#, &target);
        let record = found.as_ref().and_then(|list| list.as_array()?.first()?.member("record"));
        let expected = json::parse(br#"{"package_id":"p","title":"t"}"#).expect("JSON");
        assert!(record.is_some_and(|record| record.same_as(&expected)));
    }

    #[test]
    fn the_parts_of_a_digest_are_found_at_their_configured_places() {
        let mut target = Target::new(TargetClass::Endpoint, "t");
        target.places.insert("digest_snippets".to_owned(), vec!["/missing".to_owned(), "/parts/excerpts".to_owned()]);
        let body = json::parse(br#"{"parts":{"excerpts":["a"]},"facts":[]}"#).expect("JSON");
        let seen = digest(&body, &target);
        assert!(seen.member("snippets").is_some_and(|list| list.same_as(&Value::Array(vec![Value::text("a")].into()))));
        assert!(seen.member("facts").is_some() && seen.member("parts").is_some());
    }
}

//! What is known of a target: its settings, the defaults of the binding, and what the first probes found.

use super::operations;
use crate::exchange::Transport;
use crate::protocol::Known;
use crate::target::{Credential, RouteOverride, Target};
use crate::value::Value;

/// The key of tokens and signatures of a target that is declared to use them, and has no other key in its file: the one of
/// the vectors (binding, section 7).
const TEST_KEY: &str = "proofmark-meshai-hmac-key-32byte";

/// The rate limit of a target that is declared to have one, without numbers.
const RATE_LIMIT: (i128, i128) = (5, 1_000);

/// The names that [`known`] gives values to.
pub(super) const NAMES: &[&str] = &[
    "protocol_id",
    "family",
    "other_protocol_id",
    "target_id",
    "registry_id",
    "asked",
    "fixture",
    "second",
    "echo",
    "slow",
    "exhaust",
    "invalid_parameters",
    "rate_limit",
    "context_destination",
    "context_create",
    "context_get",
    "context_update",
    "context_merge",
    "context_fork",
    "api_key",
    "jwt_key",
    "hmac_key",
];

/// Fills in the levels of a target that its options show beyond those of its kind (binding, section 2).
pub(super) fn complete(target: &mut Target) {
    // A null says what the absence of the setting says (binding, section 10).
    target.settings.retain(|_, value| *value != Value::Null);
    for value in target.settings.values_mut() {
        if let Value::Map(members) = value {
            members.retain(|(_, value)| *value != Value::Null);
        }
    }
    if setting_text(target, "api_key", "value").is_some() || target.options.get("api-key") == Some(&true) {
        let stated = stated(target);
        // Known to the transports, so that it never enters a record. A key is one of the target, not of a party.
        let shared = target.credentials.entry(crate::target::EVERY_PARTY.to_owned()).or_default();
        if let Some(key) = stated.key.filter(|_| shared.is_empty()) {
            let value = format!("{} {key}", stated.scheme).trim_start().to_owned();
            shared.push(Credential { header: stated.header, value });
        }
    }
    // The kinds say what is judged: the adapter of a target of other kinds is not.
    if !target.kinds.is_empty() && !target.kinds.iter().any(|kind| kind == "library") && target.url.is_some() {
        target.transports.get_or_insert_with(|| vec![Transport::Http, Transport::Ws]);
    }
    // A fixture that is described is offered: one that does not work is reported, not skipped.
    for name in ["second", "echo", "slow", "exhaust"] {
        if target.setting(name).is_some() {
            target.options.entry(name.to_owned()).or_insert(true);
        }
    }
    for (setting, option) in [("invalid_parameters", "checks-parameters"), ("fixture", "has-fixture")] {
        if target.setting(setting).is_some() {
            target.options.entry(option.to_owned()).or_insert(true);
        }
    }
    // Only where the target file says so (E72).
    let required = target.setting("hmac").and_then(|hmac| hmac.member("required")).cloned();
    if let Some(Value::Bool(required)) = required {
        target.options.entry("required-signatures".to_owned()).or_insert(required);
    }
    // Only requesters may watch the time (E17).
    let enforced = target.setting("slow").and_then(|slow| slow.member("enforced"));
    if enforced == Some(&Value::Bool(false)) {
        target.options.entry("enforced-timeouts".to_owned()).or_insert(false);
    }
    if target.levels.is_empty() {
        let offers = |name: &str| target.options.get(name) == Some(&true);
        let secured = ["api-key", "jwt", "hmac", "mtls"].iter().any(|name| offers(name))
            || ["api_key", "jwt", "hmac"].iter().any(|name| target.setting(name).is_some());
        let kinds: Vec<&str> = target.kinds.iter().map(String::as_str).collect();
        let serves = |kind: &str| kinds.contains(&kind);
        let mut levels = match (serves("registry"), serves("mesh"), serves("library")) {
            (_, true, _) => vec!["agent", "registry", "binding"],
            (true, ..) => vec!["registry", "binding"],
            // A library shows every level; without another kind the manifest says so.
            (_, _, true) => Vec::new(),
            _ => vec!["agent", "binding"],
        };
        let more = [
            ("registry", offers("client")),
            ("context", offers("context")),
            ("security", secured || serves("library")),
        ];
        if more.iter().any(|(_, shown)| *shown) && !levels.is_empty() {
            levels.extend(
                more.iter()
                    .filter(|(level, shown)| *shown && !levels.contains(level))
                    .map(|(level, _)| *level)
                    .collect::<Vec<_>>(),
            );
            target.levels = levels.into_iter().map(str::to_owned).collect();
        }
    }
}

/// How requests state the API key of a target.
pub(super) struct Stated {
    /// Name of the header field, in small letters.
    pub header: String,
    /// The word before the key; empty for none.
    pub scheme: String,
    /// The key, if the target file has one.
    pub key: Option<String>,
}

/// How requests state the API key: by the setting `api_key`, otherwise as the credentials of the target file do (E69).
pub(super) fn stated(target: &Target) -> Stated {
    let word = |name: &str| setting_text(target, "api_key", name);
    let given = target.credentials_of("a").first().filter(|_| word("value").is_none());
    let (usual_scheme, key) = match given {
        Some(credential) => credential.value.split_once(' ').unwrap_or(("", &credential.value)),
        None => ("Bearer", ""),
    };
    let usual_header = given.map_or("authorization", |credential| &credential.header);
    let header = word("header").unwrap_or_else(|| usual_header.to_owned()).to_ascii_lowercase();
    let usual_scheme = if given.is_none() && header != "authorization" { "" } else { usual_scheme };
    let scheme = word("scheme").unwrap_or_else(|| usual_scheme.to_owned());
    Stated { header, scheme, key: word("value").or_else(|| given.map(|_| key.trim().to_owned())) }
}

/// The secret of a method of authentication, if the target uses it: `api-key`, `jwt` or `hmac`.
pub(super) fn secret(target: &Target, method: &str) -> Option<String> {
    let declared = target.options.get(method).copied();
    if declared == Some(false) {
        return None;
    }
    match method {
        "api-key" => stated(target).key,
        name => setting_text(target, name, "key").or_else(|| (declared == Some(true)).then(|| TEST_KEY.to_owned())),
    }
}

fn setting_text(target: &Target, name: &str, member: &str) -> Option<String> {
    target.setting(name)?.member(member)?.as_text().map(str::to_owned)
}

/// The route of an operation, if the target file sets its path.
pub(super) fn route(operation: &str, target: &Target) -> Option<RouteOverride> {
    let path = |names: &[&str]| names.iter().find_map(|name| target.setting(name).and_then(Value::as_text));
    let own = match operation {
        "health" => path(&["health_path"]),
        "register" | "discover" => path(&["registry_path", "invoke_path"]),
        "context" | "context-event" => path(&["context_path", "invoke_path"]),
        "control" => None,
        _ => path(&["invoke_path"]),
    }?;
    (own != operations::INVOKE).then(|| RouteOverride { path: Some(own.to_owned()), ..RouteOverride::default() })
}

/// The known values of a target, before and after the first probes.
pub(super) fn known(target: &Target, transport: Transport, captured: &Known) -> Known {
    let mut known = Known::new();
    let mut put = |name: &str, value: Value| {
        known.insert(name.to_owned(), value);
    };
    let library = transport == Transport::Adapter;
    let word = |name: &str| target.setting(name).and_then(Value::as_text).map(str::to_owned);
    let id = word("protocol_id").unwrap_or_else(|| {
        let served = |name: &str| captured.get(name).and_then(Value::as_text) == Some("served");
        let other = served("aip_outcome") && !served("amp_outcome");
        if other { "AIP/1.0" } else { "AMP/1.0" }.to_owned()
    });
    let family = id.split('/').next().unwrap_or("AMP").to_owned();
    put("other_protocol_id", Value::text(if family == "AIP" { "AMP/1.0" } else { "AIP/1.0" }));
    put("family", Value::text(family));
    put("protocol_id", Value::text(id));
    let found = captured.get("health_agent_id").and_then(Value::as_text).filter(|id| !id.is_empty());
    let own = word("agent_id").or_else(|| found.map(str::to_owned));
    // The health body of a registry names the registry itself.
    let registry = word("registry_id").unwrap_or_else(|| "registry".to_owned());
    let own = own.filter(|id| !library && *id != registry);
    put("target_id", own.clone().map_or(Value::Null, Value::text));
    let registry_id = registry.clone();
    put("registry_id", Value::text(registry));
    let context_agent = word("context_agent_id").or_else(|| own.clone());
    put("context_destination", destination(context_agent.as_deref(), None));
    let described = |name: &str| target.setting(name).filter(|value| value.as_map().is_some()).cloned();
    let main = described("fixture").unwrap_or_else(usual);
    for (name, of_library) in FIXTURES {
        // Beside an endpoint, a library is given its own capabilities: the target file describes those of the endpoint.
        let given = described(name).filter(|_| !library || target.url.is_none());
        // What a capability of an endpoint does is not guessed: without a description its fixture is the usual request (E17, E66).
        let base = given.unwrap_or_else(|| if library { of_library() } else { main.clone() });
        put(name, with_destination(base, own.as_deref()));
    }
    put("fixture", with_destination(main, own.as_deref()));
    put("asked", asked(target, library, own.as_deref(), &registry_id));
    let fallback = Value::array([Value::map::<&str>([])]);
    put("invalid_parameters", target.setting("invalid_parameters").cloned().unwrap_or(fallback));
    let limit = target.setting("rate_limit");
    let number = |name: &str, usual: i128| {
        let found = limit.and_then(|limit| limit.member(name)).and_then(Value::as_integer).filter(|number| *number > 0);
        Value::Integer(found.unwrap_or(usual))
    };
    put(
        "rate_limit",
        Value::map([("requests", number("requests", RATE_LIMIT.0)), ("window_ms", number("window_ms", RATE_LIMIT.1))]),
    );
    let ids = target.setting("context_capabilities");
    for operation in ["create", "get", "update", "merge", "fork"] {
        let own = ids.and_then(|ids| ids.member(operation)).and_then(Value::as_text);
        put(
            &format!("context_{operation}"),
            Value::text(own.map_or_else(|| format!("context-{operation}"), str::to_owned)),
        );
    }
    for (name, method) in [("api_key", "api-key"), ("jwt_key", "jwt"), ("hmac_key", "hmac")] {
        // A library gets the key of each call.
        let key = secret(target, method).or_else(|| (library && method != "api-key").then(|| TEST_KEY.to_owned()));
        put(name, key.map_or(Value::Null, Value::text));
    }
    known
}

/// The request that cases about messages send: that of the fixture, or at a registry a discovery query.
fn asked(target: &Target, library: bool, own: Option<&str>, registry_id: &str) -> Value {
    let is = |kind: &str| target.kinds.iter().any(|known| known == kind);
    if is("registry") && !is("mesh") && !library {
        let query = Value::map([("capabilities", Value::array([Value::text("text-analysis")]))]);
        return Value::map([
            ("destination", destination(Some(registry_id), Some("discovery"))),
            ("payload", Value::map([("query", query)])),
        ]);
    }
    let given = target.setting("fixture").filter(|value| value.as_map().is_some()).cloned();
    let fixture = with_destination(given.unwrap_or_else(usual), own);
    let member = |name: &str| fixture.member(name).cloned().unwrap_or(Value::Null);
    Value::map([
        ("destination", member("destination")),
        ("payload", Value::map([("capability", member("capability")), ("parameters", member("parameters"))])),
    ])
}

/// The request that a library is given for a fixture.
type OfLibrary = fn() -> Value;

/// The further fixtures, each with the one that a library is given (binding, section 11).
const FIXTURES: &[(&str, OfLibrary)] = &[
    ("second", || fixture("web-search", Value::map([("query", Value::text("proofmark"))]))),
    ("echo", || fixture("pm-echo", Value::map::<&str>([]))),
    ("slow", || fixture("pm-sleep", Value::map::<&str>([]))),
    ("exhaust", || fixture("pm-exhaust", Value::map::<&str>([]))),
];

/// The request of a target whose file does not describe one (E81).
fn usual() -> Value {
    fixture("text-analysis", Value::map([("text", Value::text("proofmark"))]))
}

fn fixture(capability: &str, parameters: Value) -> Value {
    Value::map([("capability", Value::text(capability)), ("parameters", parameters)])
}

/// A fixture with its destination and the other members that cases use.
fn with_destination(mut fixture: Value, target: Option<&str>) -> Value {
    let text = |name: &str| fixture.member(name).and_then(Value::as_text).map(str::to_owned);
    let agent = text("agent_id").or_else(|| target.map(str::to_owned));
    let destination = destination(agent.as_deref(), text("capability").as_deref());
    fixture.set_member("destination", destination);
    for (name, usual) in [("parameters", Value::map::<&str>([])), ("expect", Value::map::<&str>([]))] {
        if fixture.member(name).is_none() {
            fixture.set_member(name, usual);
        }
    }
    fixture
}

fn destination(agent: Option<&str>, capability: Option<&str>) -> Value {
    let members = [("agent_id", agent), ("capability", capability)];
    Value::map(members.into_iter().filter_map(|(name, text)| Some((name, Value::text(text?)))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(header: &str, value: &str) -> Target {
        let mut target = Target::endpoint("http://127.0.0.1:1".parse().expect("a URL"));
        target
            .credentials
            .insert("a".to_owned(), vec![Credential { header: header.to_owned(), value: value.to_owned() }]);
        target.options.insert("api-key".to_owned(), true);
        target
    }

    #[test]
    fn a_key_is_stated_as_the_credentials_state_it() {
        for (header, value, scheme) in [
            ("X-API-Key", "k3y", ""),
            ("Authorization", "Bearer k3y", "Bearer"),
            ("authorization", "ApiKey k3y", "ApiKey"),
        ] {
            let mut target = target(header, value);
            complete(&mut target);
            let stated = stated(&target);
            assert_eq!(stated.header, header.to_ascii_lowercase());
            assert_eq!((stated.scheme.as_str(), stated.key.as_deref()), (scheme, Some("k3y")), "{value}");
            // A party without a key of its own sends that of `a`.
            assert_eq!(target.credentials_of("c").first().map(|key| key.value.as_str()), Some(value));
        }
    }

    #[test]
    fn a_null_setting_is_one_that_was_left_out() {
        let mut target = Target::endpoint("http://127.0.0.1:1".parse().expect("a URL"));
        let fixture = Value::map([("capability", Value::text("x")), ("expect", Value::Null)]);
        for (name, value) in [("second", Value::Null), ("hmac", Value::Null), ("fixture", fixture)] {
            target.settings.insert(name.to_owned(), value);
        }
        complete(&mut target);
        assert_eq!(target.options.get("second"), None);
        assert_eq!(target.setting("fixture").and_then(|fixture| fixture.member("expect")), None);
        assert!(target.levels.is_empty(), "no security is claimed");
    }
}

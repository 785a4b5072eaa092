//! The registry: registration (4.1) and discovery (3.3), as functions of database, rules, input and time.

use rusqlite::Connection;
use subtle::ConstantTimeEq;

use super::codes::Code;
use super::faults::registry as faults;
use super::refusal::Refusal;
use super::rules::Rules;
use super::store::agents::{self, Registered};
use super::{ids, shapes};
use crate::fault::planted;
use crate::json::{Object, Value};

/// Milliseconds since 1970: the present time, and the earliest renewal of a lease that counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    pub(crate) now: i64,
    pub(crate) since: i64,
}

/// 4.1: enters an agent, or replaces its entry if the credentials are the same (E36, E105).
///
/// # Errors
///
/// An invalid registration, or an id that belongs to another agent.
pub(crate) fn register(db: &Connection, rules: Rules, payload: &Object, times: Times) -> Result<Object, Refusal> {
    // 4.1: what is refused has no effect.
    planted!(rules.fault, "registration-stored-before-check", faults::store_anyway(db, payload, times.now));
    planted!(rules.fault, "registration-removed-before-check", faults::remove_anyway(db, payload));
    let agent = checked(payload, rules)?;
    agents::sweep(db, times.since)?;
    let id = agent.id.clone();
    let known = agents::find(db, &id, times.since)?;
    if let Some(known) = known {
        // Other, E36: an id is taken once.
        let same = known.credentials.as_bytes().ct_eq(agent.credentials.as_bytes());
        // E36: a refused registration changes nothing.
        planted!(rules.fault, "refused-registration-counts", !bool::from(same) => faults::store_anyway(db, payload, times.now));
        if known.built_in || rules.is_other() || !bool::from(same) {
            return Err(Refusal::credentials(format!("the id {id} is taken")));
        }
    }
    // 2.1: an id stands for one agent.
    let key = if rules.fault.is("registration-not-replaced") { format!("{id}\0{}", ids::fresh()) } else { id.clone() };
    planted!(rules.fault, "registration-not-stored", return Ok(faults::registered(&id)));
    agents::put(db, &key, &agent, times.now)?;
    Ok(Object::from([("agent_id", id.into()), ("registered", true.into())]))
}

/// The entry that a payload describes.
fn checked(payload: &Object, rules: Rules) -> Result<Registered, Refusal> {
    let blame = |problem: &super::schema::Problem| {
        Refusal::schema(&format!("/message/payload{}", problem.path), format!("{} {}", problem.path, problem.reason))
    };
    // 2.1: the identity is an object.
    let unnamed = || rules.fault.is("registration-unchecked").then(Object::new);
    let identity = payload.get("agent").and_then(Value::as_object).cloned().or_else(unnamed);
    let mut identity = identity.ok_or_else(|| Refusal::schema("/message/payload/agent", "agent must be an object"))?;
    if let Some(problem) = shapes::identity(&identity, rules).first() {
        return Err(blame(problem));
    }
    let id = identity.text("id").map_or_else(ids::fresh, str::to_owned);
    identity.set("id", id.as_str());
    let mut declared = match payload.get("capabilities") {
        Some(Value::List(items)) => items.clone(),
        None if rules.fault.is("capabilities-optional") => Vec::new(),
        // 2.2: an array.
        Some(other) if rules.fault.is("capabilities-unchecked") => faults::as_declarations(other),
        _ => return Err(Refusal::schema("/message/payload/capabilities", "capabilities must be an array")),
    };
    planted!(rules.fault, "bare-capability-ids", declared = faults::from_texts(declared));
    for (index, item) in declared.iter().enumerate() {
        let at = format!("/capabilities/{index}");
        let item = item.as_object().ok_or_else(|| Refusal::schema(&at, "a capability must be an object"))?;
        if let Some(problem) = shapes::capability(item, false, &at, rules).first() {
            return Err(blame(problem));
        }
    }
    // 2.2: each of the capabilities counts.
    planted!(rules.fault, "registration-first-capability-only", declared.truncate(1));
    planted!(rules.fault, "registration-last-capability-lost", declared.len() > 2 => drop(declared.pop()));
    // 3.3: an id is as it was declared.
    planted!(rules.fault, "capability-ids-lowered", faults::lower(&mut declared));
    let endpoints = match payload.get("endpoints") {
        Some(Value::Object(endpoints)) => endpoints.clone(),
        _ if rules.is_other() || rules.fault.is("endpoints-optional") => Object::new(),
        _ => return Err(Refusal::schema("/message/payload/endpoints", "endpoints must be an object")),
    };
    if let Some(problem) = shapes::endpoints(&endpoints, rules).first()
        && !rules.fault.is("endpoints-optional")
    {
        return Err(blame(problem));
    }
    let credentials = match payload.present("authentication") {
        None => String::new(),
        // 4.1: registrations with credentials are accepted.
        Some(_) if rules.fault.is("authentication-rejected") => return Err(Refusal::schema("", "unknown")),
        Some(Value::Object(given)) if given.text("type").is_some_and(|kind| !kind.is_empty()) => {
            given.text("credentials").unwrap_or_default().to_owned()
        }
        Some(_) => return Err(Refusal::schema("/message/payload/authentication", "authentication must have a type")),
    };
    // A discovery entry has the registered identity.
    planted!(rules.fault, "discovery-version-changed", identity.set("version", "9.9.9"));
    let mut record =
        Object::from([("agent", identity.into()), ("capabilities", declared.into()), ("endpoints", endpoints.into())]);
    // E38: credentials are for the registry alone.
    planted!(rules.fault, "credentials-leaked", record.set("authentication", payload.get("authentication").cloned()));
    Ok(Registered { id, record, credentials, built_in: false, total: 0, failed: 0 })
}

/// 3.3: the entries that match a query.
///
/// # Errors
///
/// An invalid query; in the other variant also that nobody matches.
pub(crate) fn discover(db: &Connection, rules: Rules, payload: &Object, times: Times) -> Result<Vec<Object>, Refusal> {
    let query = match payload.get("query") {
        Some(Value::Object(query)) => query.clone(),
        None if rules.is_other() || rules.fault.is("query-optional") => Object::new(),
        // 3.3: an object.
        Some(_) if rules.fault.is("query-unchecked") => Object::new(),
        _ => return Err(Refusal::schema("/message/payload/query", "query must be an object")),
    };
    agents::sweep(db, times.since)?;
    let agents = agents::all(db, times.since)?;
    let mut found = matching(&query, &agents, rules)?;
    // 3.3: all of them.
    planted!(rules.fault, "discovery-latest-only", found = found.pop().into_iter().collect());
    planted!(rules.fault, "discovery-first-only", found.truncate(1));
    // E33: nobody is a valid answer. Other, E102: or an error.
    if found.is_empty() && (rules.is_other() || rules.fault.is("discovery-error-on-nobody")) {
        return Err(Refusal::new(Code::CapabilityNotFound, "no agent matches"));
    }
    Ok(found.into_iter().map(|agent| agent.record.clone()).collect())
}

/// 3.3: the agents that match a query: all capabilities (E30), the declared latency of each (E31), the measured success rate
/// (E32).
///
/// # Errors
///
/// An invalid query.
pub(crate) fn matching<'a>(
    query: &Object,
    agents: &'a [Registered],
    rules: Rules,
) -> Result<Vec<&'a Registered>, Refusal> {
    let wrong = |name: &str, reason: &str| {
        Refusal::schema(&format!("/message/payload/query/{name}"), format!("{name} {reason}"))
    };
    let wanted: Vec<&str> = match query.present("capabilities") {
        None => Vec::new(),
        Some(Value::Text(one)) if rules.is_other() || rules.fault.is("query-text-accepted") => vec![one],
        Some(Value::List(items)) if rules.fault.is("query-numbers-accepted") => faults::only_texts(items),
        Some(Value::List(items)) => {
            let texts = items.iter().map(Value::as_text).collect::<Option<Vec<&str>>>();
            texts.ok_or_else(|| wrong("capabilities", "must be an array of strings"))?
        }
        Some(_) => return Err(wrong("capabilities", "must be an array")),
    };
    let empty = Object::new();
    let constraints = match query.present("constraints") {
        None => &empty,
        Some(Value::Object(constraints)) => constraints,
        Some(_) if rules.is_other() || rules.fault.is("constraints-unchecked") => &empty,
        Some(_) => return Err(wrong("constraints", "must be an object")),
    };
    // E33: no constraint excludes nobody.
    planted!(rules.fault, "empty-constraints-match-nobody", query.get("constraints").is_some() && constraints.is_empty() => return Ok(Vec::new()));
    let bound = |name: &str, most: f64| match constraints.present(name) {
        None => Ok(None),
        Some(value) => match shapes::bounded(value, most) {
            None if rules.is_other() || rules.fault.is("bounds-unchecked") => Ok(None),
            None => Err(wrong(&format!("constraints/{name}"), "is out of range")),
            some => Ok(some),
        },
    };
    let latency = bound("max_latency_ms", f64::MAX)?;
    let rate = bound("min_success_rate", 1.0)?;
    // 3.3: each constraint counts.
    let latency = latency.filter(|_| !(rate.is_some() && rules.fault.is("latency-ignored-beside-rate")));
    let fits = |agent: &&Registered| {
        planted!(rules.fault, "discovery-returns-everyone", return true);
        has(agent, &wanted, rules) && quick(agent, &wanted, latency, rules) && reliable(agent, rate, rules)
    };
    Ok(agents.iter().filter(fits).collect())
}

/// The declared capabilities of an entry.
fn declared(agent: &Registered) -> impl Iterator<Item = &Object> {
    let items = agent.record.get("capabilities").and_then(Value::as_list).unwrap_or_default();
    items.iter().filter_map(Value::as_object)
}

/// E30: every wanted capability, by its exact id.
fn has(agent: &Registered, wanted: &[&str], rules: Rules) -> bool {
    let one = |id: &&str| {
        let same = |known: &str| {
            // 3.3: exact ids.
            planted!(rules.fault, "discovery-substring", return known.contains(id));
            planted!(rules.fault, "discovery-prefix", return known.starts_with(id));
            known == *id
        };
        declared(agent).any(|capability| capability.text("id").is_some_and(same))
    };
    // Other, E30: any of them.
    let any = rules.is_other() || rules.fault.is("discovery-any");
    wanted.is_empty() || if any { wanted.iter().any(one) } else { wanted.iter().all(one) }
}

/// E31: the declared response time of each wanted capability is at most the bound; an undeclared one passes.
fn quick(agent: &Registered, wanted: &[&str], bound: Option<f64>, rules: Rules) -> bool {
    let Some(bound) = bound.filter(|_| !rules.fault.is("latency-ignored")) else { return true };
    // 3.3: a bound of 0 is one.
    planted!(rules.fault, "latency-zero-ignored", bound == 0.0 => return true);
    let time = |capability: &Object| {
        let constraints = capability.get("constraints")?.as_object()?;
        constraints.present("response_time_ms")?.as_number().map(crate::json::Number::as_f64)
    };
    let relevant = declared(agent).filter(|capability| capability.text("id").is_some_and(|id| wanted.contains(&id)));
    relevant.filter_map(time).all(|time| {
        // 3.3: at most the bound.
        planted!(rules.fault, "latency-bound-of-32-bits", bound > f64::from(i32::MAX) => return false);
        planted!(rules.fault, "latency-bound-whole-only", bound.fract() != 0.0 => return false);
        planted!(rules.fault, "latency-inverted", return time > bound);
        planted!(rules.fault, "latency-exclusive", return time < bound);
        planted!(rules.fault, "declared-zero-excluded", time == 0.0 => return false);
        planted!(rules.fault, "latency-in-seconds", return time <= bound * 1000.0);
        time <= bound
    })
}

/// E32: the share of routed requests that succeeded is at least the bound; an unknown share passes.
fn reliable(agent: &Registered, bound: Option<f64>, rules: Rules) -> bool {
    let Some(bound) = bound.filter(|_| !rules.fault.is("success-rate-ignored")) else { return true };
    if agent.total == 0 {
        // E32: a bound of 0 leaves nobody out.
        return !rules.fault.is("unknown-rate-is-zero");
    }
    #[expect(clippy::cast_precision_loss, reason = "counters of requests are far below 2^53")]
    let rate = (agent.total - agent.failed) as f64 / agent.total as f64;
    planted!(rules.fault, "success-rate-inverted", return 1.0 - rate >= bound);
    planted!(rules.fault, "success-rate-any", return rate > 0.0);
    planted!(rules.fault, "success-rate-perfect", return agent.failed == 0);
    rate >= bound
}

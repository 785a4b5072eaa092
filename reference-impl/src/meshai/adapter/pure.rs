//! Functions whose answer depends on nothing but their parameters.

use super::params::{bytes, hex, object, rejected, text};
use crate::fault::planted;
use crate::instant::Instant;
use crate::json::{Object, Value};
use crate::meshai::canonical::Recipe;
use crate::meshai::codes::Code;
use crate::meshai::faults::reply as faults;
use crate::meshai::keyed::{Encoding, Signing};
use crate::meshai::rules::Rules;
use crate::meshai::schema::Problem;
use crate::meshai::store::agents::Registered;
use crate::meshai::{jwt, message, registry, shapes, signature, taxonomy, time, version};
use crate::server::adapter::RpcError;

/// The answer to a call; `None` if the method is not one of these.
pub(super) fn call(name: &str, params: &Object, now: Instant, rules: Rules) -> Result<Option<Object>, RpcError> {
    let result = match name {
        "parse" => {
            let envelope =
                message::parse(&bytes(params, "raw")?, rules).map_err(|refusal| rejected(&refusal, rules))?;
            message::check(&envelope, rules).map_err(|refusal| rejected(&refusal, rules))?;
            let protocol = envelope.text("protocol").unwrap_or_default();
            version::check(protocol, rules).map_err(|refusal| rejected(&refusal, rules))?;
            let mut envelope = envelope;
            // 10.2: nothing is lost.
            planted!(rules.fault, "parse-drops-unknown", faults::known_only(&mut envelope));
            planted!(rules.fault, "parse-drops-headers", faults::without_headers(&mut envelope));
            Object::from([("envelope", envelope.into())])
        }
        "encode" => {
            let envelope = object(params, "envelope")?;
            let text = if rules.is_other() { envelope.write_otherwise() } else { envelope.write() };
            let ascii = || text.replace(|c: char| !c.is_ascii(), "?");
            let text = if rules.fault.is("encode-ascii-only") { ascii() } else { text };
            Object::from([("raw", hex(text.as_bytes()))])
        }
        "validate_identity" => verdict(&shapes::identity(object(params, "agent")?, rules)),
        "validate_capability" => {
            let strict = params.get("strict") == Some(&Value::Bool(true));
            let strict = strict && !rules.fault.is("taxonomy-open");
            verdict(&shapes::capability(object(params, "capability")?, strict, "", rules))
        }
        "validate_context" => {
            let context = object(params, "context")?;
            let mut problems = shapes::context(context, rules);
            // 5.1: the id and the times of a whole context.
            if context.present("id").is_none() && !rules.fault.is("context-id-optional") {
                problems.push(Problem::new("/context/id", "must be a string that is not empty"));
            }
            if !shapes::expires_later(context) && !rules.fault.is("expiry-order-unchecked") {
                problems.push(Problem::new("/context/expires_at", "must be later than created_at"));
            }
            verdict(&problems)
        }
        "taxonomy" => {
            let groups = taxonomy::GROUPS.iter().map(|(group, ids)| {
                let ids =
                    ids.iter().filter(|id| !(rules.fault.is("taxonomy-incomplete") && **id == "memory-retrieval"));
                let ids: Vec<Value> = ids.map(|id| (*id).into()).collect();
                ((*group).to_owned(), ids.into())
            });
            let groups: Object = groups.collect();
            Object::from([("groups", groups.into())])
        }
        "error_codes" => {
            let mut codes: Vec<Value> = Code::STANDARD.iter().map(|code| code.name().into()).collect();
            // 6.2: eight codes.
            planted!(rules.fault, "error-code-missing", drop(codes.pop()));
            Object::from([("codes", codes.into())])
        }
        "match" => matched(params, rules)?,
        "canonical" => {
            let covered = signature::signed_bytes(inner(object(params, "envelope")?)?, Recipe::Jcs, rules);
            Object::from([("bytes", hex(&covered))])
        }
        "sign" => {
            let mut envelope = read(params, rules)?;
            let signing = signing(params)?;
            if let Some(inner) = envelope.get_mut("message").and_then(Value::as_object_mut) {
                signature::sign(inner, &signing, rules);
            }
            Object::from([("raw", hex(envelope.write().as_bytes()))])
        }
        "verify" => {
            let envelope = read(params, rules)?;
            outcome(signature::verify(inner(&envelope)?, &signing(params)?, rules).map(|()| Object::new()))
        }
        "make_jwt" => {
            let token = jwt::make(object(params, "claims")?, &bytes(params, "key")?);
            Object::from([("token", token.into())])
        }
        "check_jwt" => {
            let at = match params.present("now") {
                None => now,
                Some(at) => {
                    at.as_text().and_then(time::parse).ok_or_else(|| RpcError::params("now must be RFC 3339"))?
                }
            };
            let checked = jwt::check(text(params, "token")?, &bytes(params, "key")?, at, rules);
            outcome(checked.map(|claims| Object::from([("claims", claims.into())])))
        }
        "negotiate_version" => {
            let offered =
                version::offers(params).ok_or_else(|| RpcError::params("offered must be an array of strings"))?;
            Object::from([("agreed", version::negotiate(&offered, rules).into())])
        }
        _ => return Ok(None),
    };
    Ok(Some(result))
}

/// The message in `raw`.
fn read(params: &Object, rules: Rules) -> Result<Object, RpcError> {
    message::parse(&bytes(params, "raw")?, rules).map_err(|refusal| rejected(&refusal, rules))
}

fn inner(envelope: &Object) -> Result<&Object, RpcError> {
    let inner = envelope.get("message").and_then(Value::as_object);
    inner.ok_or_else(|| RpcError::params("the envelope has no message"))
}

fn signing(params: &Object) -> Result<Signing, RpcError> {
    Ok(Signing { key: bytes(params, "key")?, recipe: Recipe::Jcs, encoding: Encoding::Base64, required: true })
}

fn outcome(checked: Result<Object, String>) -> Object {
    match checked {
        Ok(mut more) => {
            more.set("valid", true);
            more
        }
        Err(reason) => Object::from([("valid", false.into()), ("reason", reason.into())]),
    }
}

fn verdict(problems: &[Problem]) -> Object {
    let shown = |problem: &Problem| {
        let (path, reason) = (problem.path.as_str().into(), problem.reason.as_str().into());
        Object::from([("path", path), ("reason", reason)]).into()
    };
    let shown: Vec<Value> = problems.iter().map(shown).collect();
    Object::from([("valid", problems.is_empty().into()), ("problems", shown.into())])
}

/// 3.3 as a function of a query and agents.
fn matched(params: &Object, rules: Rules) -> Result<Object, RpcError> {
    let query = object(params, "query")?;
    let agents = params.get("agents").and_then(Value::as_list).unwrap_or_default();
    let registered = |entry: &Value| {
        let record = entry.as_object()?.clone();
        let id = record.get("agent")?.as_object()?.text("id")?.to_owned();
        Some(Registered { id, record, credentials: String::new(), built_in: false, total: 0, failed: 0 })
    };
    let agents = agents.iter().map(registered).collect::<Option<Vec<Registered>>>();
    let agents = agents.ok_or_else(|| RpcError::params("each of agents must have agent.id"))?;
    let found = registry::matching(query, &agents, rules).map_err(|refusal| rejected(&refusal, rules))?;
    let ids: Vec<Value> = found.iter().map(|agent| agent.id.as_str().into()).collect();
    Ok(Object::from([("ids", ids.into())]))
}

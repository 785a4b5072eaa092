//! Authentication (7.1, 7.2, E69 to E75): who may send, by API key, token and signature.

use subtle::ConstantTimeEq;

use super::keyed::Signing;
use super::message::Message;
use super::refusal::{Cause, Refusal};
use super::rules::Rules;
use super::{faults, jwt, signature};
use crate::fault::planted;
use crate::instant::Instant;
use crate::json::{Object, Value};

/// The methods in force. A request needs a key or a token if there are any, and a signature if they are required.
#[derive(Debug, Clone, Default)]
pub(crate) struct Auth {
    pub(crate) api_keys: Vec<String>,
    pub(crate) jwt_key: Option<Vec<u8>>,
    pub(crate) signing: Option<Signing>,
}

/// Credentials beside the message: the headers of the HTTP request or of the upgrade.
#[derive(Debug, Clone, Default)]
pub(crate) struct Presented {
    /// `Authorization`.
    pub(crate) authorization: Option<String>,
    /// `X-API-Key`, the other place of published clients.
    pub(crate) api_key: Option<String>,
}

impl Auth {
    /// Whether a key or a token is needed.
    #[must_use]
    pub(crate) fn wants_credentials(&self) -> bool {
        !self.api_keys.is_empty() || self.jwt_key.is_some()
    }

    /// Checks the credentials and the signature of a message.
    ///
    /// # Errors
    ///
    /// AUTHENTICATION_FAILED.
    pub(crate) fn admit(
        &self,
        message: &Message,
        presented: &Presented,
        now: Instant,
        rules: Rules,
    ) -> Result<(), Refusal> {
        if self.wants_credentials() {
            let values = values(message, presented, rules)?;
            // 7.1: without credentials there is no access.
            planted!(rules.fault, "auth-optional", values.is_empty() => return Ok(()));
            planted!(rules.fault, "auth-missing-crashes", values.is_empty() => return Err(Refusal::crash("no credentials")));
            if values.is_empty() {
                return Err(Refusal::credentials("credentials are required"));
            }
            // E69: each of them, wherever it stands.
            for value in values {
                self.check(&value, &message.source, now, rules)?;
            }
        }
        match &self.signing {
            Some(signing) => admit_signature(message, signing, rules),
            None => Ok(()),
        }
    }

    /// Checks one key or token.
    fn check(&self, value: &str, source: &str, now: Instant, rules: Rules) -> Result<(), Refusal> {
        let key = self.api_keys.iter().any(|key| same(key, value, rules));
        let Some(jwt_key) = self.jwt_key.as_deref().filter(|_| !key) else {
            return if key { Ok(()) } else { Err(failed("the key is unknown", rules)) };
        };
        planted!(rules.fault, "jwt-crash-on-garbage", value.split('.').count() != 3 => return Err(Refusal::crash("no token")));
        let claims = jwt::check(value, jwt_key, now, rules).map_err(|reason| failed(&reason, rules))?;
        let names = ["sub", "agent_id"].iter().filter_map(|name| claims.text(name)).all(|name| name == source);
        // E75, strict: a token is for one agent. Other: nothing binds them.
        if !names && !rules.is_other() {
            return Err(failed("the token is for another agent", rules));
        }
        Ok(())
    }
}

/// Whether a value is the key, in constant time.
fn same(key: &str, value: &str, rules: Rules) -> bool {
    // 7.1: the whole key, exactly.
    planted!(rules.fault, "api-key-prefix", return key.starts_with(value) && !value.is_empty());
    planted!(rules.fault, "api-key-longer-accepted", value.starts_with(key) => return true);
    planted!(rules.fault, "api-key-case-folded", return key.eq_ignore_ascii_case(value));
    planted!(rules.fault, "api-key-empty-accepted", value.is_empty() => return true);
    planted!(rules.fault, "api-key-last-letter-ignored", value.len() == key.len() => return value[..value.len() - 1] == key[..key.len() - 1]);
    planted!(rules.fault, "api-key-any", return true);
    bool::from(key.as_bytes().ct_eq(value.as_bytes()))
}

fn failed(reason: &str, rules: Rules) -> Refusal {
    let refusal = Refusal::credentials(reason);
    // 6.2: invalid credentials have a code of their own.
    planted!(rules.fault, "auth-failure-other-code", return Refusal::schema("", reason));
    refusal
}

/// The credentials of a request: `Authorization: Bearer`, `X-API-Key`, and `headers.authentication` (E69).
fn values(message: &Message, presented: &Presented, rules: Rules) -> Result<Vec<String>, Refusal> {
    let mut values = Vec::new();
    if let Some(header) = &presented.authorization {
        let (scheme, value) = header.split_once(' ').unwrap_or((header, ""));
        // 8.2: the scheme in any case.
        let exact = scheme == "Bearer" || !rules.fault.is("bearer-case-sensitive");
        let bearer = exact && scheme.eq_ignore_ascii_case("bearer");
        if !bearer {
            return Err(Refusal::credentials("the scheme must be Bearer"));
        }
        values.push(value.trim().to_owned());
    }
    values.extend(presented.api_key.clone());
    let inside = message.header("authentication").and_then(Value::as_object);
    // Other, E69: credentials travel in HTTP headers.
    let inside =
        inside.filter(|_| !rules.fault.is("message-token-ignored") && (!rules.is_other() || values.is_empty()));
    if let Some(inside) = inside {
        let given: Vec<&Value> = ["token", "credentials"].iter().filter_map(|name| inside.present(name)).collect();
        // E69: a message that claims credentials shows them.
        let texts = given.into_iter().map(|value| value.as_text().map(str::to_owned));
        let texts =
            texts.collect::<Option<Vec<String>>>().ok_or_else(|| Refusal::credentials("a credential is a string"))?;
        values.extend(texts);
    }
    values.dedup();
    Ok(values)
}

/// E72: a signature that is there must be valid; a missing one is refused only where signatures are required.
fn admit_signature(message: &Message, signing: &Signing, rules: Rules) -> Result<(), Refusal> {
    let signed = message
        .inner
        .get("headers")
        .and_then(Value::as_object)
        .is_some_and(|headers| headers.present("signature").is_some());
    if !signed {
        let missing = signing.required;
        // E72: where signatures are required.
        planted!(rules.fault, "hmac-unsigned-accepted", return Ok(()));
        planted!(rules.fault, "hmac-null-accepted", faults::signature::is_null(&message.inner) => return Ok(()));
        return if missing { Err(Refusal::credentials("a signature is required")) } else { Ok(()) };
    }
    signature::verify(&message.inner, signing, rules).map_err(|reason| {
        let refusal = Refusal::credentials(format!("the signature is not valid: {reason}"));
        planted!(rules.fault, "hmac-failure-crashes", return Refusal::crash("the signature is not valid"));
        Refusal { cause: Cause::Signature, ..refusal }
    })
}

/// Credentials for a message that this server sends as a client (7.2, 8.2).
#[must_use]
pub(crate) fn of_client(token: &str) -> Object {
    let kind = if token.split('.').count() == 3 { "jwt" } else { "api_key" };
    Object::from([("type", kind.into()), ("token", token.into()), ("credentials", token.into())])
}

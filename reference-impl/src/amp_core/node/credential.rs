//! Credentials of delegations, and chains of them (RFC 005, 4 and 6).

use data_encoding::BASE64URL_NOPAD;

use super::super::capability::Capability;
use super::super::codes::Code;
use super::super::did;
use super::super::document::Resolve;
use super::super::rules::Rules;
use super::cose;
use crate::cbor::Cbor;
use crate::json::{self, Object, Value};

/// The longest chain that is looked at (RFC 005, 2.2 demands three).
const DEPTH_LIMIT: usize = 8;

/// The scope of a credential, by dimension: capabilities, actions, resources. `None` is everything (RFC 005, 6.2).
type Scope = [Option<Vec<String>>; 3];

const DIMENSIONS: [&str; 3] = ["capabilities", "actions", "resources"];

/// One link: its delegator signed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Credential {
    pub(super) id: String,
    pub(super) delegator: String,
    delegate: String,
    scope: Scope,
    allow_subdelegation: bool,
    max_chain_depth: Option<u64>,
}

/// What a valid chain gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chain {
    /// Whose authority it passes on.
    pub(super) delegator: String,
    /// Delegator and id of each link, for the revocations.
    pub(super) links: Vec<(String, String)>,
    scope: Scope,
}

impl Chain {
    /// Whether the chain is about a capability: by its name or its id.
    pub(super) fn covers(&self, capability: &Capability) -> bool {
        let id = capability.id();
        let [capabilities, ..] = &self.scope;
        capabilities.as_ref().is_none_or(|list| list.iter().any(|one| one == capability.name || *one == id))
    }
}

/// Reads and verifies a credential (RFC 005, 4.4) for the verifier `me` at `now`.
///
/// # Errors
///
/// 1004 for another version, 3004 for everything else.
pub(super) fn read(
    envelope: &Cbor,
    me: &str,
    documents: &dyn Resolve,
    now: u64,
    rules: Rules,
) -> Result<Credential, Code> {
    let refused = Code::DelegationInvalid;
    if envelope.get("format").and_then(Cbor::as_text) != Some("cose_sign1") {
        return Err(refused);
    }
    let bytes = envelope.get("credential").and_then(Cbor::as_bytes).ok_or(refused)?;
    let payload = cose::verify(bytes, "delegator", documents, now, rules).map_err(|_| refused)?;
    let text = |name: &str| payload.get(name).and_then(Cbor::as_text).filter(|text| !text.is_empty());
    if payload.get("cred_v").and_then(Cbor::as_unsigned).ok_or(refused)? != 1 {
        return Err(Code::UnsupportedVersion);
    }
    let party = |name: &str| text(name).filter(|text| did::is_did(text)).map(str::to_owned).ok_or(refused);
    let scope = scope(payload.get("scope").ok_or(refused)?).ok_or(refused)?;
    let validity = payload.get("validity").ok_or(refused)?;
    let time = |name: &str| validity.get(name).and_then(Cbor::as_unsigned);
    let (issued_at, expires_at) = (time("issued_at").ok_or(refused)?, time("expires_at").ok_or(refused)?);
    let not_before = time("not_before").unwrap_or(issued_at);
    // 4.3.
    if !(not_before..expires_at).contains(&now) {
        return Err(refused);
    }
    let audience = payload.get("aud").map(|list| list.as_array().ok_or(refused)).transpose()?;
    let is_me = |party: &Cbor| party.as_text().is_some_and(|party| did::is_same(party, me));
    if audience.is_some_and(|list| !list.iter().any(is_me)) {
        return Err(refused);
    }
    let max_chain_depth = payload.get("max_chain_depth").map(|depth| depth.as_unsigned().ok_or(refused)).transpose()?;
    if max_chain_depth == Some(0) {
        return Err(refused);
    }
    Ok(Credential {
        id: text("delegation_id").ok_or(refused)?.to_owned(),
        delegator: party("delegator")?,
        delegate: party("delegate")?,
        scope,
        allow_subdelegation: payload.get("allow_subdelegation").and_then(Cbor::as_bool) == Some(true),
        max_chain_depth,
    })
}

/// 4.2: exact selectors in at least one dimension. Constraints are not understood here, so they fail closed.
fn scope(scope: &Cbor) -> Option<Scope> {
    if scope.get("constraints").is_some_and(|constraints| constraints.as_map().is_none_or(|map| !map.is_empty())) {
        return None;
    }
    let mut found = Scope::default();
    for (place, name) in found.iter_mut().zip(DIMENSIONS) {
        let Some(list) = scope.get(name) else { continue };
        let exact = |one: &Cbor| one.as_text().filter(|one| !one.contains(['*', '!', '?'])).map(str::to_owned);
        let list: Vec<String> = list.as_array()?.iter().map(exact).collect::<Option<_>>()?;
        *place = Some(list).filter(|list| !list.is_empty());
        place.as_ref()?;
    }
    found.iter().any(Option::is_some).then_some(found)
}

/// Verifies the evidence of `caller` (RFC 005, 6.1), but for revocations, which the node keeps.
///
/// # Errors
///
/// 3001 if the chain ends at another party, else as [`read`].
pub(super) fn chain(
    evidence: &Cbor,
    caller: &str,
    me: &str,
    documents: &dyn Resolve,
    now: u64,
    rules: Rules,
) -> Result<Chain, Code> {
    let refused = Code::DelegationInvalid;
    let envelopes = evidence.get("chain").and_then(Cbor::as_array).ok_or(refused)?;
    if envelopes.len() > DEPTH_LIMIT {
        return Err(refused);
    }
    let links = envelopes.iter().map(|envelope| read(envelope, me, documents, now, rules));
    let links: Vec<Credential> = links.collect::<Result<_, _>>()?;
    let (Some(first), Some(last)) = (links.first(), links.last()) else { return Err(refused) };
    let mut scope = first.scope.clone();
    for (index, link) in links.iter().enumerate().skip(1) {
        let before = &links[index - 1];
        if !before.allow_subdelegation || !did::is_same(&before.delegate, &link.delegator) {
            return Err(refused);
        }
        narrow(&mut scope, &link.scope).ok_or(refused)?;
    }
    let too_deep = |(index, link): (usize, &Credential)| {
        let below = u64::try_from(links.len() - index - 1).unwrap_or(u64::MAX);
        link.max_chain_depth.is_some_and(|depth| below > depth)
    };
    if links.iter().enumerate().any(too_deep) {
        return Err(refused);
    }
    // 6.2: the caller is the last delegate.
    if !did::is_same(&last.delegate, caller) {
        return Err(Code::Unauthorized);
    }
    let delegator = first.delegator.clone();
    let links = links.into_iter().map(|link| (link.delegator, link.id)).collect();
    Ok(Chain { delegator, links, scope })
}

/// 6.2: a link may only narrow the scope.
fn narrow(scope: &mut Scope, link: &Scope) -> Option<()> {
    for (effective, narrower) in scope.iter_mut().zip(link) {
        let Some(narrower) = narrower else { continue };
        let within = effective.as_ref().is_none_or(|list| narrower.iter().all(|one| list.contains(one)));
        *effective = within.then(|| narrower.clone());
        effective.as_ref()?;
    }
    Some(())
}

/// Whether `credential` has the form of a JSON Web Token that is not over: the credential of a grant may be anything
/// (4.4), and tokens are common. Its signature is that of a party whose keys are not known here, so it is kept but gives no
/// authority.
pub(super) fn is_token(credential: &str, now: u64) -> bool {
    let object = |part: &str| -> Option<Object> {
        let text = BASE64URL_NOPAD.decode(part.as_bytes()).ok()?;
        match json::read(&text) {
            Ok(Value::Object(object)) => Some(object),
            _ => None, // not a JSON object
        }
    };
    let parts: Vec<&str> = credential.split('.').collect();
    let [header, claims, signature] = parts[..] else { return false };
    let (Some(_), Some(claims)) = (object(header), object(claims)) else { return false };
    let second = |name: &str| claims.get(name).and_then(Value::as_number).and_then(json::Number::as_integer);
    let now = i64::try_from(now / 1000).unwrap_or(i64::MAX);
    let current = second("exp").is_none_or(|exp| now < exp) && second("nbf").is_none_or(|nbf| nbf <= now);
    current && !signature.is_empty()
}

#[cfg(test)]
mod tests {
    use super::super::super::capability::Wanted;
    use super::super::super::document::Documents;
    use super::super::super::keys::Identity;
    use super::*;

    const NOW: u64 = 1_760_000_000_000;

    fn party(number: u8) -> Identity {
        Identity::of_seed([number; 32])
    }

    fn texts(list: &[&str]) -> Cbor {
        Cbor::Array(list.iter().map(|one| Cbor::from(*one)).collect())
    }

    /// A credential of `from` for `to` with these capabilities, changed by `change`.
    fn link(from: u8, to: u8, capabilities: &[&str], change: impl FnOnce(&mut Cbor)) -> Cbor {
        let (from, to) = (party(from), party(to));
        let validity = Cbor::map([("issued_at", (NOW - 1000).into()), ("expires_at", (NOW + 1000).into())]);
        let mut payload = Cbor::map([
            ("cred_v", 1.into()),
            ("delegation_id", "d-1".into()),
            ("delegator", from.did.as_str().into()),
            ("delegate", to.did.as_str().into()),
            ("scope", Cbor::map([("capabilities", texts(capabilities))])),
            ("validity", validity),
            ("allow_subdelegation", true.into()),
        ]);
        change(&mut payload);
        let kid = format!("{}#{}", from.did, from.did.trim_start_matches("did:key:"));
        Cbor::map([("format", "cose_sign1".into()), ("credential", cose::sign(&from, &kid, &payload).into())])
    }

    fn judged(links: Vec<Cbor>, caller: u8) -> Result<(String, bool), u64> {
        let evidence = Cbor::map([("chain", Cbor::Array(links))]);
        let (caller, me) = (party(caller), party(9));
        let found = chain(&evidence, &caller.did, &me.did, &Documents::default(), NOW, Rules::PLAIN);
        let body = Cbor::map([("id", "proofmark.delegated:1.0.0".into()), ("params", Cbor::Null)]);
        let capability = Wanted::of_invocation(&body).expect("well-formed").named()[0];
        found.map(|chain| (chain.delegator.clone(), chain.covers(capability))).map_err(Code::number)
    }

    #[test]
    fn a_chain_passes_authority_on() {
        let name = "proofmark.delegated";
        let same = |_: &mut Cbor| {};
        assert_eq!(judged(vec![link(1, 2, &[name], same)], 2), Ok((party(1).did, true)));
        assert_eq!(
            judged(vec![link(1, 2, &["a", name], same), link(2, 3, &[name], same)], 3),
            Ok((party(1).did, true))
        );
        assert_eq!(judged(vec![link(1, 2, &["org.agentries.echo"], same)], 2), Ok((party(1).did, false)));
        assert_eq!(judged(vec![link(1, 2, &[name], same)], 3), Err(3001));
        assert_eq!(judged(vec![link(1, 2, &["a"], same), link(2, 3, &[name], same)], 3), Err(3004));
        assert_eq!(judged(vec![link(1, 2, &[name], same), link(4, 3, &[name], same)], 3), Err(3004));
        assert_eq!(judged(vec![], 3), Err(3004));
    }

    #[test]
    fn a_credential_that_breaks_a_rule_is_invalid() {
        let judge = |change: fn(&mut Cbor)| judged(vec![link(1, 2, &["proofmark.delegated"], change)], 2);
        let expired = |payload: &mut Cbor| {
            payload.set("validity", Cbor::map([("issued_at", 1.into()), ("expires_at", 2.into())]));
        };
        assert_eq!(judge(expired), Err(3004));
        assert_eq!(judge(|payload| payload.set("delegator", party(5).did.as_str().into())), Err(3004));
        assert_eq!(judge(|payload| payload.set("cred_v", 2.into())), Err(1004));
        assert_eq!(judge(|payload| payload.set("scope", Cbor::map([]))), Err(3004));
        assert_eq!(judge(|payload| payload.set("scope", Cbor::map([("capabilities", texts(&["*"]))]))), Err(3004));
        assert_eq!(judge(|payload| payload.set("aud", texts(&["did:web:x.example"]))), Err(3004));
        let once = |payload: &mut Cbor| payload.set("allow_subdelegation", false.into());
        let name = "proofmark.delegated";
        assert_eq!(judged(vec![link(1, 2, &[name], once), link(2, 3, &[name], |_| {})], 3), Err(3004));
    }

    #[test]
    fn a_token_has_three_parts_and_is_not_over() {
        let token = |claims: &str| format!("e30.{}.x", BASE64URL_NOPAD.encode(claims.as_bytes()));
        assert!(is_token("e30.e30.x", NOW) && is_token(&token(r#"{"exp":9999999999}"#), NOW));
        for bad in ["proofmark word", "", "e30.e30", "e30.e30.", "x.e30.x", &token(r#"{"exp":1}"#), &token("[]")] {
            assert!(!is_token(bad, NOW), "{bad}");
        }
    }
}

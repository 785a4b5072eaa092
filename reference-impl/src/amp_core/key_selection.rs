//! Which key of a document counts (8.9, E23).

use super::codes::Code;
use super::did::{self, PublicKey};
use super::document::{Document, Method};
use super::faults::key_selection as faults;
use super::keys::x25519_public_of;
use super::rules::Rules;
use crate::fault::planted;

/// A key and the method that it is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Selected {
    /// The absolute id of the method.
    pub(crate) method: String,
    /// The public key.
    pub(crate) public_key: [u8; 32],
}

/// The key that a signature of `did` is verified with; `now` is in milliseconds since the Unix epoch.
///
/// # Errors
///
/// 3001 if the document has no eligible key, and another code where an erratum tolerates one.
pub(crate) fn signature_key(document: &Document, did: &str, now: u64, rules: Rules) -> Result<Selected, Code> {
    // 8.9: a fragment selects exactly one method.
    if did::fragment(did).is_some() && !rules.fault.is("key-fragment-ignored") {
        return named_key(document, did, now, rules);
    }
    let eligible = |ids: &[String]| -> Vec<Selected> {
        ids.iter().filter_map(|id| ed25519(document.method(id)?, now, rules)).collect()
    };
    // 8.9: a bare DID selects its assertion methods, or without any the authentication methods.
    let chosen = |keys: Vec<Selected>| smallest(keys, rules).ok_or_else(|| no_key(rules));
    planted!(rules.fault, "key-first-in-document", return first_in_document(document, now, rules));
    let authentication = || eligible(&document.authentication);
    planted!(rules.fault, "key-authentication-first", !authentication().is_empty() => return chosen(authentication()));
    let mut keys = eligible(&document.assertion);
    planted!(rules.fault, "key-relations-merged", keys.extend(authentication()));
    if keys.is_empty() && !rules.fault.is("key-no-fallback") {
        keys = authentication();
    }
    chosen(keys)
}

/// The first signing key of a document, which is not the specified one.
fn first_in_document(document: &Document, now: u64, rules: Rules) -> Result<Selected, Code> {
    document.methods.iter().find_map(|method| ed25519(method, now, rules)).ok_or_else(|| no_key(rules))
}

/// 8.9, E23 (4): the method that the fragment names, unless it is there for key agreement only.
fn named_key(document: &Document, did: &str, now: u64, rules: Rules) -> Result<Selected, Code> {
    let id = format!("{}#{}", did::bare(did), did::fragment(did).unwrap_or_default());
    let listed = |ids: &[String]| ids.contains(&id);
    let signs = listed(&document.assertion) || listed(&document.authentication);
    // Other, E24: a fragment without a method is an invalid signature.
    let unnamed = if rules.is_other() { Code::InvalidSignature } else { no_key(rules) };
    let method = document.method(&id).ok_or(unnamed)?;
    // 8.9: exactly the method with this id.
    let method =
        if rules.fault.is("key-fragment-suffix") { faults::ending(document, did).unwrap_or(method) } else { method };
    // Other, E23: the relationship must list it.
    if if rules.is_other() { !signs } else { listed(&document.agreement) && !signs } {
        return Err(no_key(rules));
    }
    ed25519(method, now, rules).ok_or_else(|| no_key(rules))
}

/// The key that a box is made with (8.5.1, 8.9).
///
/// # Errors
///
/// 3001 if the document has no eligible key.
pub(crate) fn agreement_key(document: &Document, now: u64, rules: Rules) -> Result<Selected, Code> {
    smallest(agreement_keys(document, now, rules), rules).ok_or(Code::Unauthorized)
}

/// Every key that a box may be made with.
#[must_use]
pub(crate) fn agreement_keys(document: &Document, now: u64, rules: Rules) -> Vec<Selected> {
    // 8.9: agreement keys are those of keyAgreement, never derived from the signing key.
    planted!(rules.fault, "box-derives-key-from-did", return derived_keys(document, now, rules));
    planted!(rules.fault, "box-key-outside-relation", return all_x25519(document, now, rules));
    document.agreement.iter().filter_map(|id| x25519(document.method(id)?, now, rules)).collect()
}

/// The agreement key derived from the signing key, which must not be used.
fn derived_keys(document: &Document, now: u64, rules: Rules) -> Vec<Selected> {
    let derived = |key: Selected| Some(Selected { public_key: x25519_public_of(&key.public_key)?, ..key });
    signature_key(document, &document.id, now, rules).ok().and_then(derived).into_iter().collect()
}

/// Every agreement key, also of methods that no relation lists.
fn all_x25519(document: &Document, now: u64, rules: Rules) -> Vec<Selected> {
    document.methods.iter().filter_map(|method| x25519(method, now, rules)).collect()
}

fn ed25519(method: &Method, now: u64, rules: Rules) -> Option<Selected> {
    match method.key? {
        PublicKey::Ed25519(public_key) => active(method, public_key, now, rules),
        PublicKey::X25519(_) => None, // cannot sign
    }
}

fn x25519(method: &Method, now: u64, rules: Rules) -> Option<Selected> {
    match method.key? {
        PublicKey::X25519(public_key) => active(method, public_key, now, rules),
        PublicKey::Ed25519(_) => None, // not for key agreement
    }
}

/// E23 (1): every method is active unless it was revoked before `now`.
fn active(method: &Method, public_key: [u8; 32], now: u64, rules: Rules) -> Option<Selected> {
    let revoked =
        method.revoked.is_some_and(|revoked| revoked.unix_milliseconds() <= i64::try_from(now).unwrap_or(i64::MAX));
    let revoked = revoked || (method.revoked.is_some() && rules.fault.is("key-revoked-ahead"));
    let active = !revoked || rules.is_other() || rules.fault.is("key-revoked-used"); // Other, E23: always
    active.then(|| Selected { method: method.id.clone(), public_key })
}

/// 8.9: the lexicographically smallest method id, byte by byte (E23).
fn smallest(mut keys: Vec<Selected>, rules: Rules) -> Option<Selected> {
    planted!(rules.fault, "key-document-order", return keys.into_iter().next());
    keys.sort_by(|left, right| left.method.cmp(&right.method));
    planted!(rules.fault, "key-numeric-order", keys.sort_by_key(|key| faults::number(&key.method)));
    planted!(rules.fault, "key-largest-id", keys.reverse());
    keys.into_iter().next()
}

/// 8.9: no eligible signing key is 3001.
fn no_key(rules: Rules) -> Code {
    if rules.fault.is("key-missing-as-1002") { Code::InvalidSignature } else { Code::Unauthorized }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_760_000_000_000;

    /// A document of `did:x:a` with these methods (relative id, whether for signing, time of revocation).
    fn document(methods: &[(&str, bool, Option<&str>)], relations: &str) -> Document {
        let methods: Vec<String> = methods
            .iter()
            .enumerate()
            .map(|(index, (id, signs, revoked))| {
                let byte = u8::try_from(index + 1).expect("few methods");
                let key = if *signs { PublicKey::Ed25519([byte; 32]) } else { PublicKey::X25519([byte; 32]) };
                let revoked = revoked.map_or_else(String::new, |at| format!(r#","revoked":"{at}""#));
                format!(r##"{{"id":"#{id}","type":"Multikey","publicKeyMultibase":"{}"{revoked}}}"##, key.multibase())
            })
            .collect();
        let text = format!(r#"{{"id":"did:x:a","verificationMethod":[{}],{relations}}}"#, methods.join(","));
        let json = crate::json::read(text.as_bytes()).expect("JSON");
        Document::read(json.as_object().expect("an object"), Rules::PLAIN).expect("a document")
    }

    fn method(selected: Result<Selected, Code>) -> Result<String, u64> {
        selected.map(|key| key.method.replace("did:x:a#", "")).map_err(Code::number)
    }

    #[test]
    fn a_bare_did_means_the_smallest_assertion_method() {
        let methods = [("key-2", true, None), ("key-10", true, None), ("key-1", true, None), ("x-0", false, None)];
        let select =
            |relations: &str, did: &str| method(signature_key(&document(&methods, relations), did, NOW, Rules::PLAIN));
        let both = r##""assertionMethod":["#x-0","#key-2","#key-10"],"authentication":["#key-1"]"##;
        assert_eq!(select(both, "did:x:a"), Ok("key-10".into()));
        assert_eq!(
            select(r##""assertionMethod":["#x-0"],"authentication":["#key-1"]"##, "did:x:a"),
            Ok("key-1".into())
        );
        assert_eq!(select(r##""keyAgreement":["#key-1"]"##, "did:x:a"), Err(3001));
        assert_eq!(select(both, "did:x:a#key-2"), Ok("key-2".into()));
        assert_eq!((select(both, "did:x:a#none"), select(both, "did:x:a#x-0")), (Err(3001), Err(3001)));
        let agreement_only = r##""assertionMethod":["#key-1"],"keyAgreement":["#key-2"]"##;
        assert_eq!(select(agreement_only, "did:x:a#key-2"), Err(3001));
        assert_eq!(select(agreement_only, "did:x:a#key-10"), Ok("key-10".into()));
    }

    #[test]
    fn revoked_methods_do_not_count() {
        let methods = [("a", true, Some("2020-01-01T00:00:00Z")), ("b", true, Some("2099-01-01T00:00:00Z"))];
        let document = document(&methods, r##""assertionMethod":["#a","#b"]"##);
        assert_eq!(method(signature_key(&document, "did:x:a", NOW, Rules::PLAIN)), Ok("b".into()));
        assert_eq!(method(signature_key(&document, "did:x:a#a", NOW, Rules::PLAIN)), Err(3001));
    }

    #[test]
    fn agreement_keys_are_those_of_key_agreement() {
        let methods = [("x-2", false, None), ("x-10", false, None), ("x-1", false, None), ("s", true, None)];
        let document = document(&methods, r##""keyAgreement":["#x-2","#x-10","#s"]"##);
        assert_eq!(method(agreement_key(&document, NOW, Rules::PLAIN)), Ok("x-10".into()));
        assert_eq!(agreement_keys(&document, NOW, Rules::PLAIN).len(), 2);
    }
}

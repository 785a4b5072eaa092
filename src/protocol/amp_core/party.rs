//! Parties: the identities that proofmark uses, the target, and the documents of both.

use std::cell::RefCell;
use std::sync::Arc;

use super::document::{self, DidDocument};
use super::identity::Identity;
use super::key_selection::Purpose;
use super::memo::Memo;
use super::{did, fixtures};
use crate::exchange::Transport;
use crate::protocol::{Known, ObservationContext};
use crate::target::Target;
use crate::value::Value;

/// The identity of a party of a case. `a`, the default party of steps, is alice.
pub(super) fn identity(name: &str, target: &Target) -> Identity {
    let name = if name == "a" { "alice" } else { name };
    if let Some(fixture) = fixture(name) {
        return fixture;
    }
    at_base(name, web_base(target))
}

/// Where the documents of proofmark's identities are published, if the target looks them up by did:web.
fn web_base(target: &Target) -> Option<&str> {
    let by_web = target.setting("identities").and_then(Value::as_text) == Some("did:web");
    target.setting("did_web_base").and_then(Value::as_text).filter(|_| by_web)
}

/// The identity of a name that no fixture has: did:web below `base`, did:key without one.
pub(super) fn at_base(name: &str, base: Option<&str>) -> Identity {
    base.map_or_else(|| Identity::named(name), |host| Identity::web(host, name))
}

/// The identity of a fixture document: `NAME`, which signs with the key that the rulings select, or `NAME/FRAGMENT`.
pub(super) fn fixture(name: &str) -> Option<Identity> {
    static KNOWN: Memo<String, Option<Identity>> = Memo::new();
    KNOWN.get(name.to_owned(), || build_fixture(name))
}

fn build_fixture(name: &str) -> Option<Identity> {
    let (name, fragment) = name.split_once('/').map_or((name, None), |(name, fragment)| (name, Some(fragment)));
    let fixture = fixtures::fixture(name)?;
    let read = document::read(&fixture.document).ok()?;
    let chosen = |purpose| read.select(&fixture.did, purpose, 0).chosen.ok().map(|chosen| chosen.method);
    let secret = |method: Option<String>| {
        let fragment = method?.rsplit_once('#').map(|(_, fragment)| fragment.to_owned())?;
        fixture.key(&fragment)?.secret
    };
    let signing = match fragment {
        Some(fragment) => fixture.key(fragment)?.secret,
        None => secret(chosen(Purpose::Signature)),
    };
    // Where a document lacks a key, the identity has one of its own, which cannot be looked up.
    let own = Identity::named(name);
    let signing = signing.unwrap_or(*own.seed());
    let agreement = secret(chosen(Purpose::Agreement)).unwrap_or(*own.agreement_private());
    Some(Identity::with_keys(name, fixture.did.clone(), signing, agreement))
}

/// The known values of the target, before and after its document was fetched.
pub(super) fn known(target: &Target, transport: Transport, captured: &Known) -> Known {
    let mut known = Known::new();
    let own = Identity::named("target");
    let configured = target.setting("did").and_then(Value::as_text);
    let document = if transport == Transport::Adapter {
        Some(own.document(None))
    } else {
        // The target file first, then the DID itself, then the document that the target publishes.
        let given = target.setting("did_document").filter(|value| value.as_map().is_some()).cloned();
        given
            .or_else(|| configured.and_then(|name| document::expand(name).ok()))
            .or_else(|| captured.get("found_document").filter(|value| value.as_map().is_some()).cloned())
    };
    let published = document.as_ref().and_then(|document| document.member("id")).and_then(Value::as_text);
    let name = match transport {
        Transport::Adapter => own.did().to_owned(),
        // A DID without owner: an unknown target cannot be addressed, and its probes report this.
        _ => configured.or(published).unwrap_or("did:web:unknown.invalid").to_owned(),
    };
    known.insert("target".to_owned(), Value::text(name));
    known.insert("target_document".to_owned(), document.unwrap_or(Value::Null));
    known.insert("self_keys".to_owned(), keys(&own));
    known.insert("identity_base".to_owned(), web_base(target).map_or(Value::Null, Value::text));
    let extra: Vec<Value> = fixtures::all().into_iter().map(|fixture| fixture.document).collect();
    known.insert("documents".to_owned(), Value::Array(extra.into()));
    let relays = target.setting("trusted_relays").cloned();
    let relays = relays.unwrap_or_else(|| Value::array([Value::text(Identity::named("relay").did())]));
    known.insert("trusted_relays".to_owned(), relays);
    // The target file first, then what a library says of itself.
    let described = |name: &str| captured.get("description").and_then(|said| said.member(name)).cloned();
    let setting = |name: &str, default: Value| target.setting(name).cloned().unwrap_or(default);
    let skew = described("max_clock_skew_ms").filter(|skew| skew.as_integer().is_some());
    let majors = described("versions").filter(|list| {
        list.as_array().is_some_and(|list| !list.is_empty() && list.iter().all(|major| major.as_integer().is_some()))
    });
    let echo = Value::map([("op", Value::text("echo")), ("data", Value::text("proofmark"))]);
    known.insert("probe_request".to_owned(), setting("probe_request", echo));
    let slow = Value::map([("op", Value::text("slow")), ("ms", Value::Integer(60_000))]);
    known.insert("slow_request".to_owned(), setting("slow_request", slow));
    let unavailable = Value::map([("op", Value::text("archive"))]);
    known.insert("unavailable_request".to_owned(), setting("unavailable_request", unavailable));
    known.insert("capability".to_owned(), setting("capability", Value::text("org.agentries.echo")));
    let versions = Value::array([Value::text("1.0"), Value::text("1.0.0")]);
    known.insert("hello_versions".to_owned(), setting("hello_versions", versions));
    known.insert("max_clock_skew_ms".to_owned(), setting("max_clock_skew_ms", skew.unwrap_or(Value::Integer(30_000))));
    known.insert("max_message".to_owned(), setting("max_message", Value::Integer(1 << 20)));
    let methods = known.get("target_document").and_then(|document| document::read(document).ok());
    let method = methods.and_then(|found| found.select(&found.id, Purpose::Signature, 0).chosen.ok());
    let key_id = method.map_or(Value::Null, |chosen| Value::text(chosen.method));
    known.insert("target_key_id".to_owned(), key_id);
    known.insert("majors".to_owned(), setting("versions", majors.unwrap_or_else(|| Value::array([Value::Integer(1)]))));
    known
}

/// The names that [`known`] gives values to.
pub(super) const KNOWN: &[&str] = &[
    "target",
    "target_document",
    "self_keys",
    "identity_base",
    "documents",
    "trusted_relays",
    "probe_request",
    "slow_request",
    "unavailable_request",
    "capability",
    "hello_versions",
    "majors",
    "max_clock_skew_ms",
    "max_message",
    "target_key_id",
];

/// The `keys` object of the adapter protocol.
pub(super) fn keys(identity: &Identity) -> Value {
    let hex = |bytes: &[u8]| Value::text(data_encoding::HEXLOWER.encode(bytes));
    Value::map([
        ("did", Value::text(identity.did())),
        ("ed25519_seed", hex(identity.seed())),
        ("x25519_private", hex(identity.agreement_private())),
    ])
}

/// The DID of the target, without fragment.
pub(super) fn target_did<'s>(context: &ObservationContext<'s>) -> &'s str {
    context.known.get("target").and_then(Value::as_text).unwrap_or_default()
}

/// The document in a value. A run mostly has one document of its target, and reads it for each message: the last one is kept.
fn document_in(value: &Value) -> Option<Arc<DidDocument>> {
    thread_local! {
        static LAST: RefCell<Option<(Value, Option<Arc<DidDocument>>)>> = const { RefCell::new(None) };
    }
    LAST.with_borrow_mut(|last| match last {
        Some((known, found)) if known.is_copy_of(value) || known == value => found.clone(),
        _ => {
            let found = document::read(value).ok().map(Arc::new);
            *last = Some((value.clone(), found.clone()));
            found
        }
    })
}

/// The document of a party, if proofmark has it without a request.
pub(super) fn document_of(party: &str, context: &ObservationContext<'_>) -> Option<Arc<DidDocument>> {
    let bare = did::without_fragment(party);
    if bare == did::without_fragment(target_did(context))
        && let Some(found) = context.known.get("target_document").and_then(document_in)
    {
        return Some(found);
    }
    static KNOWN: Memo<String, Option<Arc<DidDocument>>> = Memo::new();
    let public = KNOWN.get(bare.to_owned(), || {
        let expanded = document::expand(bare).ok();
        let fixture =
            || fixtures::all().into_iter().find(|fixture| fixture.did == bare).map(|fixture| fixture.document);
        expanded.or_else(fixture).and_then(|found| document::read(&found).ok()).map(Arc::new)
    });
    if public.is_some() {
        return public;
    }
    // An identity of ours under did:web: its name is the last part.
    let name = bare.rsplit(':').next()?;
    let ours = identity(name, context.target);
    (ours.did() == bare).then(|| document::read(&ours.document(None)).ok()).flatten().map(Arc::new)
}

/// Whether the document of the target is known and has a key to verify what it signs with, and one to encrypt for it.
pub(super) fn keys_of_target(context: &ObservationContext<'_>) -> (bool, bool) {
    let Some(document) = document_of(target_did(context), context) else { return (false, false) };
    let has = |purpose| document.select(&document.id, purpose, now_ms(context)).chosen.is_ok();
    (has(Purpose::Signature), has(Purpose::Agreement))
}

/// The public key-agreement keys of the target, the one selected by the rulings first.
pub(super) fn target_agreements(context: &ObservationContext<'_>) -> Vec<[u8; 32]> {
    let Some(document) = document_of(target_did(context), context) else { return Vec::new() };
    let selection = document.select(&document.id, Purpose::Agreement, now_ms(context));
    selection.chosen.into_iter().chain(selection.others).map(|candidate| candidate.public_key).collect()
}

/// The current time in milliseconds, for comparison with the times of a document.
pub(super) fn now_ms(context: &ObservationContext<'_>) -> i64 {
    i64::try_from(context.clock.0 / 1_000_000).unwrap_or(i64::MAX)
}

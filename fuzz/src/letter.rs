//! Messages of amp-core: well-formed and signed ones from the choices of an input, and their expected parts.
//!
//! [`signed`] repeats the signed content independently, so that a header which the harness forgot to sign is detected.

use arbitrary::{Result, Unstructured};
use proofmark::protocol::amp_core::identity::Identity;
use proofmark::protocol::amp_core::{codes, did, message, message_id, sig_input, sign};
use proofmark::value::Value;
use proofmark::wire::cbor;
use serde_json::{Value as Json, json};

use crate::{generate, reference};

/// The sender.
pub(crate) const SENDERS: [&str; 3] = ["alice", "carol", "mallory"];

/// The members of an envelope that its signature is over, besides the body (RFC 001 section 8.1).
const SIGNED: [&str; 8] = ["id", "typ", "ts", "ttl", "from", "to", "reply_to", "thread_id"];

/// The recipient.
pub(crate) fn recipient() -> Identity {
    Identity::named("bob")
}

/// A message for [`recipient`], complete except for a signature, and its sender.
pub(crate) fn unsigned(u: &mut Unstructured<'_>) -> Result<(Value, Identity)> {
    let sender = Identity::named(u.choose(&SENDERS)?);
    let ts: u64 = if u.arbitrary()? { 1_767_323_045_000 } else { u.int_in_range(0..=u64::MAX - 1)? };
    // Section 4.2 permits a difference of one second for the time in the id.
    let in_id = ts.saturating_add(u.int_in_range(0..=1000)?);
    let typ = if u.arbitrary()? { u.choose(codes::TYPES)?.0 } else { u.arbitrary()? };
    let bob = Value::text(recipient().did());
    let to = match u.int_in_range(0..=3)? {
        0 => Value::Array(vec![bob].into()),
        1 => Value::Array(vec![Value::text("did:web:example.com"), bob].into()),
        _ => bob,
    };
    let mut members = vec![
        ("v", Value::Integer(1)),
        ("id", Value::Bytes(message_id::new(in_id, u.arbitrary()?).to_vec())),
        ("typ", Value::from(typ)),
        ("ts", Value::from(ts)),
        ("ttl", Value::from(u.arbitrary::<u64>()?)),
        ("from", Value::text(if u.ratio(1, 4)? { sender.signing_method() } else { sender.did() })),
        ("to", to),
    ];
    if u.arbitrary()? {
        members.push(("reply_to", Value::Bytes(u.arbitrary::<[u8; 16]>()?.to_vec())));
    }
    if u.arbitrary()? {
        members.push(("thread_id", Value::Bytes(u.arbitrary()?)));
    }
    if u.ratio(1, 4)? {
        members.push(("ext", Value::map([("note", generate::cbor(u)?)])));
    }
    if u.ratio(1, 8)? {
        members.push(("x-unknown", generate::cbor(u)?));
    }
    members.push(("body", generate::cbor(u)?));
    Ok((Value::map(members), sender))
}

/// A signed message, and its sender.
pub(crate) fn plain(u: &mut Unstructured<'_>) -> Result<(Value, Identity)> {
    let (mut envelope, sender) = unsigned(u)?;
    message::sign_plain(&mut envelope, &sender);
    Ok((envelope, sender))
}

/// The signed content of an unencrypted message, as one value; `None` if it is ambiguous because of a duplicate
/// name.
pub(crate) fn signed(envelope: &Value) -> Option<Vec<u8>> {
    let members = envelope.as_map()?;
    let mut parts = Vec::new();
    for name in SIGNED.into_iter().chain(["body"]) {
        let mut found = members.iter().filter(|(key, _)| key.as_text() == Some(name)).map(|(_, value)| value);
        parts.push(match (found.next(), found.next()) {
            (None, _) => Value::Array(Vec::new().into()),
            (Some(value), None) => Value::Array(vec![value.clone()].into()),
            (Some(_), Some(_)) => return None,
        });
    }
    Some(cbor::write(&Value::Array(parts.into())))
}

/// Whether the harness reads the bytes as a message with a valid signature of its sender, a `did:key`.
pub(crate) fn verifies(bytes: &[u8]) -> bool {
    let Ok(material) = sig_input::Material::read(bytes, None) else { return false };
    let from = material.envelope().member("from").and_then(Value::as_text).map(did::without_fragment);
    let key = from.and_then(|from| did::key_of(from).ok()).map(|(_, key)| key);
    let (Some(key), Some(signature)) = (key, material.signature()) else { return false };
    // A duplicate member is ambiguous.
    let meant = signed(material.envelope()).is_some() && material.missing().is_empty();
    meant && sign::verify_strict(&key, &material.sig_input(), signature)
}

/// The result of the reference for a message, at the time of sending.
#[derive(Debug)]
pub(crate) struct Received(Json);

impl Received {
    /// Passes the bytes to the reference, which is [`recipient`].
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let ts = cbor::parse(bytes).ok().and_then(|map| map.member("ts")?.as_integer());
        let now = ts.and_then(|ts| u64::try_from(ts).ok()).unwrap_or(0);
        let me = recipient();
        let keys = json!({ "did": me.did(), "ed25519_seed": reference::hex(me.seed()) });
        let message = reference::hex(bytes);
        Self(reference::amp("receive", &json!({ "self": keys, "now": now.to_string(), "message": message })))
    }

    fn member(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Json::as_str)
    }

    /// Whether every rule is satisfied.
    pub(crate) fn accepted(&self) -> bool {
        self.member("outcome") == Some("accept")
    }

    /// The step at which it was refused, or `None`.
    pub(crate) fn stage(&self) -> &str {
        self.member("stage").unwrap_or("")
    }

    /// Whether its signature was verified, even if a later check failed.
    pub(crate) fn verified(&self) -> bool {
        self.accepted() || ["body", "type", "schema"].contains(&self.stage())
    }

    /// The body bytes of an accepted message.
    pub(crate) fn body(&self) -> Option<Vec<u8>> {
        self.accepted().then(|| reference::bytes(&self.0, "body"))
    }

    /// A header of an accepted message: bytes in hexadecimal, numbers in decimal.
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        match self.0.get("headers")?.get(name)? {
            Json::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        }
    }
}

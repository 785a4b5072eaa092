//! Signs and seals outgoing messages (sections 8.1, 8.5 and 8.6): correctly, or incorrectly where a case requests it.

use sha2::{Digest, Sha256};

use super::identity::Identity;
use super::sig_input::Material;
use super::{alternatives, did, message, party, seal, sig_input};
use crate::protocol::{Inputs, ObservationContext};
use crate::target::{Credential, Target};
use crate::value::Value;
use crate::wire::cbor;

/// Signs a message, sealing it first if the inputs request it. A message that is not a map, or already has a signature,
/// is left unchanged.
///
/// # Errors
///
/// The reason, if the inputs are contradictory.
pub(super) fn protected(
    mut message: Value,
    inputs: &Inputs,
    context: &ObservationContext<'_>,
) -> Result<Value, String> {
    if message.as_map().is_none() {
        return Ok(message);
    }
    let name = |value: &Value| value.as_text().map(str::to_owned);
    let actor = inputs.get("key").and_then(name).unwrap_or_else(|| "alice".to_owned());
    let sender = party::identity(&actor, context.target);
    let body = message.member("body").map(cbor::write);
    let mut signed = body.unwrap_or_default();
    if let Some(how) = inputs.get("seal")
        && *how != Value::Bool(false)
    {
        signed = sealed(&mut message, &sender, how, context)?;
    }
    let sign = inputs.get("sign");
    if sign == Some(&Value::Bool(false)) || message.member("sig").is_some() {
        return Ok(message);
    }
    known_keys(sign, &["as", "over", "with", "input", "flip"], "sign")?;
    let option = |name: &str| sign.and_then(|sign| sign.member(name));
    if let Some(Value::Bytes(bytes)) = option("over") {
        signed.clone_from(bytes);
    }
    let signer = match option("with").and_then(Value::as_text) {
        Some(name) => party::identity(name, context.target),
        None => sender,
    };
    let input = match (option("as").and_then(Value::as_text), option("input")) {
        (Some(wrong), _) => otherwise(&message, &signed, wrong)?,
        (None, Some(Value::Bytes(bytes))) => bytes.clone(),
        (None, Some(structure)) => cbor::write(structure),
        (None, None) => sig_input::encode(&message, &signed),
    };
    let mut signature = signer.sign(&input).to_vec();
    if let Some(bit) = option("flip").and_then(Value::as_integer) {
        let bit = usize::try_from(bit).map_err(|_| format!("a signature has no bit {bit}"))?;
        let byte = signature.get_mut(bit / 8).ok_or_else(|| format!("a signature has no bit {bit}"))?;
        *byte ^= 1 << (bit % 8);
    }
    message.set_member("sig", Value::Bytes(signature));
    Ok(message)
}

/// A transport handshake with the token of the party that makes it, where the owner of the target gave it one and the case
/// does not specify anything else (RFC 002 section 4.4).
pub(super) fn with_token(mut handshake: Value, inputs: &Inputs, target: &Target) -> Value {
    let credentials = inputs.get("who").and_then(Value::as_text).map(|who| target.credentials_of(who));
    let token = credentials.into_iter().flatten().find_map(Credential::token);
    if let Some(token) = token
        && handshake.as_map().is_some()
        && handshake.member("token").is_none()
    {
        handshake.set_member("token", Value::Bytes(token.as_bytes().to_vec()));
    }
    handshake
}

/// Rejects unknown keys: with a misspelled key, a case would test something other than intended.
fn known_keys(options: Option<&Value>, known: &[&str], what: &str) -> Result<(), String> {
    let members = options.and_then(Value::as_map).unwrap_or_default();
    let unknown = members.iter().find(|(key, _)| !key.as_text().is_some_and(|key| known.contains(&key)));
    match unknown {
        Some((key, _)) => Err(format!("`{what}` takes {}, not {}", known.join(", "), crate::wire::show(key))),
        None => Ok(()),
    }
}

/// Short names for wrong ways to compute Sig_Input; [`alternatives`] describes them.
const WRONG: &[(&str, &str)] = &[
    ("protected-integer", "the integer 1 as protected header"),
    ("struct-order", "the headers in the order of the schema, unsorted"),
    ("text-order", "the headers sorted by raw key text"),
    ("length-first", "all maps in length-first key order"),
    ("with-v", "v among the signed headers"),
    ("with-ext", "ext among the signed headers"),
    ("without-thread-id", "thread_id left out"),
    ("without-reply-to", "reply_to left out"),
    ("null-for-thread-id", "null for the absent thread_id"),
    ("null-for-reply-to", "null for the absent reply_to"),
    ("body-inline", "the body as a CBOR value, not as a byte string"),
    ("to-flattened", "the single element of to as a plain string"),
    ("to-sorted", "the recipients sorted"),
    ("wide-integers", "every integer in eight bytes"),
    ("no-protected", "no protected header"),
];

/// A Sig_Input with the mistake of this name or description.
fn otherwise(message: &Value, body: &[u8], wrong: &str) -> Result<Vec<u8>, String> {
    let words = WRONG.iter().find(|(name, _)| *name == wrong).map_or(wrong, |(_, words)| words);
    let plaintext = message.member("enc").map(|_| body.to_vec());
    let material = Material::of(message.clone(), plaintext);
    alternatives::with(&material, words).ok_or_else(|| {
        let known = alternatives::words();
        match known.iter().any(|known| known == words) {
            true => format!("`{wrong}` makes no difference for this message"),
            false => format!("unknown mistake `{wrong}` of Sig_Input; known ones: {}", known.join("; ")),
        }
    })
}

/// Encrypts the body into `enc`. Returns the plaintext, which is signed.
fn sealed(
    message: &mut Value,
    sender: &Identity,
    how: &Value,
    context: &ObservationContext<'_>,
) -> Result<Vec<u8>, String> {
    let known = [
        "plaintext",
        "to",
        "key",
        "eligible",
        "from",
        "nonce",
        "variant",
        "ciphertext",
        "flip",
        "alg",
        "mode",
        "epk",
        "extra",
    ];
    known_keys(Some(how), &known, "seal")?;
    let body = message.member("body").cloned().unwrap_or(Value::Null);
    let plaintext = match how.member("plaintext") {
        Some(Value::Bytes(bytes)) => bytes.clone(),
        Some(other) => cbor::write(other),
        None => cbor::write(&body),
    };
    let recipient = match how.member("to").and_then(Value::as_text) {
        Some(name) => party::identity(name, context.target).agreement_public(),
        None => match how.member("key") {
            Some(Value::Bytes(key)) => key.as_slice().try_into().map_err(|_| "a public key has 32 bytes".to_owned())?,
            _ => {
                let position = how.member("eligible").and_then(Value::as_integer).unwrap_or(0);
                let keys = party::target_agreements(context);
                let found = usize::try_from(position).ok().and_then(|position| keys.get(position).copied());
                found.ok_or("the document of the target has no suitable key for key agreement")?
            }
        },
    };
    let from = match how.member("from").and_then(Value::as_text) {
        Some(name) => party::identity(name, context.target),
        None => sender.clone(),
    };
    let nonce = match how.member("nonce") {
        Some(Value::Bytes(bytes)) => bytes.clone(),
        // One nonce for each message, and the same for the same message, so that a run can be repeated.
        _ => Sha256::digest(cbor::write(message))[..seal::NONCE_LENGTH].to_vec(),
    };
    let used: [u8; 24] = std::array::from_fn(|index| nonce.get(index).copied().unwrap_or_default());
    let mut ciphertext = match how.member("variant").and_then(Value::as_text) {
        None => seal::seal(from.agreement_private(), &recipient, &used, &plaintext),
        Some("tag-last") => seal::tag_last(&seal::seal(from.agreement_private(), &recipient, &used, &plaintext)),
        Some(other) => return Err(format!("unknown way to seal `{other}`")),
    };
    if let Some(Value::Bytes(bytes)) = how.member("ciphertext") {
        ciphertext.clone_from(bytes);
    }
    if let Some(at) = how.member("flip").and_then(Value::as_integer) {
        let found = usize::try_from(at).ok().and_then(|at| ciphertext.get_mut(at));
        *found.ok_or_else(|| format!("the ciphertext has no byte {at}"))? ^= 1;
    }
    let text = |name: &str, usual: &str| how.member(name).cloned().unwrap_or_else(|| Value::text(usual));
    let mut enc = Value::map([
        ("alg", text("alg", "X25519-XSalsa20-Poly1305")),
        ("mode", text("mode", "authcrypt")),
        ("nonce", Value::Bytes(nonce)),
        ("ciphertext", Value::Bytes(ciphertext)),
    ]);
    for (name, value) in how.member("extra").and_then(Value::as_map).unwrap_or_default() {
        name.as_text().into_iter().for_each(|name| enc.set_member(name, value.clone()));
    }
    if let Some(value) = how.member("epk") {
        enc.set_member("epk", value.clone());
    }
    if let Value::Map(members) = message {
        members.retain(|(key, _)| key.as_text() != Some("body"));
    }
    message.set_member("enc", enc);
    Ok(plaintext)
}

/// Signs a message of the target again, if the target is the identity of that name, whose keys are public.
pub(super) fn again(message: &mut Value) {
    let target = Identity::named("target");
    let from = message.member("from").and_then(Value::as_text);
    if message.member("sig").is_none() || !from.is_some_and(|from| did::same_party(from, target.did())) {
        return;
    }
    let body = match message.member("enc") {
        None => message.member("body").map(cbor::write),
        // A box opens with either of the keys that made it.
        Some(enc) => opened(message, enc, &target),
    };
    if let Some(body) = body {
        message::sign_over(message, &body, &target);
    }
}

fn opened(message: &Value, enc: &Value, sender: &Identity) -> Option<Vec<u8>> {
    let Some(Value::Bytes(nonce)) = enc.member("nonce") else { return None };
    let Some(Value::Bytes(ciphertext)) = enc.member("ciphertext") else { return None };
    let to = message.member("to")?.as_text()?;
    let document = super::document::read(&super::document::expand(did::without_fragment(to)).ok()?).ok()?;
    let recipient = document.select(to, super::key_selection::Purpose::Agreement, 0).chosen.ok()?;
    seal::open(sender.agreement_private(), &recipient.public_key, nonce, ciphertext).ok()
}

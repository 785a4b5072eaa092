//! Reads a received message: its content, its signature, and its encoding.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use sha2::{Digest, Sha256};

use super::identity::Identity;
use super::key_selection::Purpose;
use super::memo::Memo;
use super::sig_input::Material;
use super::{codes, did, explain, message_id, party, seal, sig_input, sign};
use crate::protocol::ObservationContext;
use crate::value::Value;
use crate::wire::cbor::{self, Limits};

/// Maximum number of reported oddities of an encoding.
const ODDITIES: usize = 16;

/// The types of section 4.3 that a case may look for.
pub(super) mod typ {
    pub(crate) const PONG: i128 = 0x02;
    pub(crate) const ACK: i128 = 0x03;
    pub(crate) const PROC_OK: i128 = 0x04;
    pub(crate) const PROC_FAIL: i128 = 0x05;
    pub(crate) const ERROR: i128 = 0x0f;
    pub(crate) const RESPONSE: i128 = 0x12;
    pub(crate) const BATCH: i128 = 0x16;
    pub(crate) const HELLO: i128 = 0x70;
    pub(crate) const HELLO_ACK: i128 = 0x71;
    pub(crate) const HELLO_REJECT: i128 = 0x72;
}

/// A message as expectations see it; `None` for bytes that are not a CBOR map.
///
/// | place | holds |
/// |---|---|
/// | `/message` | the map as it was received |
/// | `/name` | the name of its type |
/// | `/body` | its body, decrypted if it was encrypted to one of proofmark's identities |
/// | `/id_time` | the time in its id, in milliseconds since 1970 |
/// | `/encrypted`, `/plaintext` | whether it has `enc`, and what that holds, if it can be opened |
/// | `/signed/state` | `valid`, `invalid`, `missing`, `sealed` (for another party) or `unresolved` |
/// | `/signed/because` | why it is not valid: the expected Sig_Input, and the input that was signed, if found |
/// | `/wire/deterministic`, `/wire/oddities`, `/wire/size` | its encoding |
/// | `/channel` | how it arrived: `response`, `ws`, `tcp`, `polled`, `called-back` or `result` |
/// | `/hex` | its bytes |
pub(super) fn read(bytes: &[u8], channel: &str, context: &ObservationContext<'_>) -> Option<Value> {
    let document = cbor::read(bytes, Limits::default()).ok()?;
    let message = document.value.clone();
    message.as_map()?;
    let typ = message.member("typ").and_then(Value::as_integer).unwrap_or(-1);
    let name = u64::try_from(typ).ok().and_then(codes::type_name).unwrap_or("unknown");
    let opened = message.member("enc").map(|enc| open(&message, enc, context));
    let body_bytes = match &opened {
        Some(opened) => opened.clone(),
        None => message.member("body").map(cbor::write),
    };
    let body = match &opened {
        Some(bytes) => bytes.as_deref().and_then(|bytes| cbor::parse(bytes).ok()),
        None => message.member("body").cloned(),
    };
    let oddities = document.oddities.iter().take(ODDITIES).map(|oddity| Value::text(oddity.to_string())).collect();
    let is_encrypted = opened.is_some();
    let mut view = vec![
        ("name", Value::text(name)),
        ("encrypted", Value::Bool(is_encrypted)),
        ("signed", signature(&message, body_bytes.as_deref(), bytes, context)),
        (
            "wire",
            Value::map([
                ("deterministic", Value::Bool(document.is_deterministic())),
                ("oddities", Value::Array(oddities)),
                ("size", Value::from(bytes.len() as u64)),
            ]),
        ),
        ("channel", Value::text(channel)),
        ("hex", Value::text(data_encoding::HEXLOWER.encode(bytes))),
    ];
    view.extend(body.map(|body| ("body", body)));
    view.extend(opened.flatten().map(|bytes| ("plaintext", Value::Bytes(bytes))));
    let time = message.member("id").and_then(|id| match id {
        Value::Bytes(id) => message_id::time(id),
        _ => None,
    });
    view.extend(time.map(|time| ("id_time", Value::from(time))));
    view.push(("message", message));
    Some(Value::map(view))
}

/// Opens `enc` with the key of the identity that the message is for.
pub(super) fn open(message: &Value, enc: &Value, context: &ObservationContext<'_>) -> Option<Vec<u8>> {
    let bytes = |name: &str| match enc.member(name) {
        Some(Value::Bytes(bytes)) => Some(bytes.as_slice()),
        _ => None,
    };
    let from = message.member("from").and_then(Value::as_text)?;
    let document = party::document_of(from, context)?;
    let sender = document.select(from, Purpose::Agreement, party::now_ms(context)).chosen.ok()?;
    let to = match message.member("to")? {
        Value::Text(one) => vec![one.as_str()],
        Value::Array(several) => several.iter().filter_map(Value::as_text).collect(),
        _ => Vec::new(),
    };
    // Any party of a case may be the recipient, including one that no other case uses.
    let names = super::identity::NAMES.iter().chain(&super::fixtures::NAMES);
    let ours = names.map(|name| party::identity(name, context.target));
    let ours = ours.chain(to.iter().filter_map(|to| Identity::requested(did::without_fragment(to))));
    let ours = ours.filter(|identity| to.iter().any(|to| did::same_party(to, identity.did())));
    static OPENED: Memo<[u8; 32], Option<Vec<u8>>> = Memo::new();
    let mut opened = ours.filter_map(|identity| {
        let (nonce, ciphertext) = (bytes("nonce")?, bytes("ciphertext")?);
        let question = Sha256::new().chain_update(identity.agreement_private()).chain_update(sender.public_key);
        let question = question.chain_update(nonce).chain_update(ciphertext).finalize();
        let private = identity.agreement_private();
        OPENED.get(question.into(), || seal::open(private, &sender.public_key, nonce, ciphertext).ok())
    });
    opened.next()
}

fn signature(message: &Value, body: Option<&[u8]>, wire: &[u8], context: &ObservationContext<'_>) -> Value {
    let state = |state: &str, because: String| {
        let mut members = vec![("state", Value::text(state))];
        if !because.is_empty() {
            members.push(("because", Value::text(because)));
        }
        Value::map(members)
    };
    let Some(Value::Bytes(signature)) = message.member("sig") else {
        return state("missing", "the message has no `sig`, or `sig` is not a byte string".to_owned());
    };
    let Some(from) = message.member("from").and_then(Value::as_text) else {
        return state("unresolved", "the message has no `from`".to_owned());
    };
    let Some(document) = party::document_of(from, context) else {
        return state("unresolved", format!("no document of {from} is known"));
    };
    let Some(body) = body else {
        return state("sealed", "the body is encrypted for another party".to_owned());
    };
    let selection = document.select(from, Purpose::Signature, party::now_ms(context));
    let chosen = match selection.chosen {
        Ok(chosen) => chosen,
        Err(why) => return state("unresolved", format!("the document of {from} has no suitable key: {why}")),
    };
    static VERIFIED: Memo<[u8; 32], bool> = Memo::new();
    let input = sig_input::encode(message, body);
    let question =
        Sha256::new().chain_update(chosen.public_key).chain_update(signature).chain_update(&input).finalize();
    if VERIFIED.get(question.into(), || sign::verify_strict(&chosen.public_key, &input, signature)) {
        return state("valid", String::new());
    }
    let plaintext = message.member("enc").map(|_| body.to_vec());
    let others: Vec<_> = selection.others.into_iter().map(|other| (other.method, other.public_key)).collect();
    let because = EXPLAINED.text(wire, || {
        let material = Material::read(wire, plaintext.clone()).ok()?;
        let explanation = explain::explain(&material, &chosen.public_key, &others);
        Some((explanation.details(), explanation.matched.is_some()))
    });
    state("invalid", because)
}

/// Explanations of signatures that do not verify. Finding the signed input takes thousands of attempts, and a target
/// that signs one message wrongly signs all of them so.
struct Explained {
    /// The texts by message, and the number of unsuccessful searches.
    known: Mutex<(BTreeMap<[u8; 32], String>, usize)>,
}

/// Maximum number of unsuccessful searches, each of which is exhaustive.
const FRUITLESS: usize = 24;

static EXPLAINED: Explained = Explained { known: Mutex::new((BTreeMap::new(), 0)) };

impl Explained {
    fn text(&self, message: &[u8], work_out: impl FnOnce() -> Option<(String, bool)>) -> String {
        let key: [u8; 32] = Sha256::digest(message).into();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (texts, fruitless) = &mut *known;
        if let Some(text) = texts.get(&key) {
            return text.clone();
        }
        if *fruitless >= FRUITLESS {
            return explain::UNSEARCHED.to_owned();
        }
        let (text, found) = work_out().unwrap_or_else(|| (explain::UNSEARCHED.to_owned(), false));
        if !found {
            *fruitless += 1;
        }
        texts.insert(key, text.clone());
        text
    }
}

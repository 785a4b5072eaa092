//! From bytes to a [`Message`] and back (4.1): the members of the schema and their types.

use std::ops::Range;

use super::careless;
use super::codes::Code;
use super::did;
use super::faults::map as faults;
use super::message::{ALGORITHM, Content, Headers, MODE, Message, To};
use super::message_id;
use super::rules::Rules;
use super::seal::NONCE_LENGTH;
use crate::cbor::{self, Cbor, Form, Limits, ReadErrorKind};
use crate::fault::planted;

/// Why bytes are not a message: the error code, and the reason for debugging.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Malformed {
    /// 1001, or what an erratum tolerates instead.
    pub(crate) code: Code,
    /// The reason.
    pub(crate) reason: &'static str,
}

impl Malformed {
    fn new(reason: &'static str) -> Self {
        Self { code: Code::InvalidMessage, reason }
    }
}

/// The readable parts of bytes that may not be a message (E32): the sender and the id, for an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Peek {
    /// `from`, if it is a DID.
    pub(crate) from: Option<String>,
    /// `id`, if it has 16 bytes.
    pub(crate) id: Option<Vec<u8>>,
    /// `typ`, if it is an unsigned integer.
    pub(crate) typ: Option<u64>,
}

/// Reads sender, id and type, ignoring other errors.
#[must_use]
pub(crate) fn peek(bytes: &[u8]) -> Peek {
    let Ok((item, _)) = cbor::read_first(bytes, Limits::default()) else {
        return Peek::default();
    };
    let value = item.value;
    let from = value.get("from").and_then(Cbor::as_text).filter(|from| did::is_did(from));
    let id = value.get("id").and_then(Cbor::as_bytes).filter(|id| id.len() == message_id::LENGTH);
    Peek {
        from: from.map(str::to_owned),
        id: id.map(<[u8]>::to_vec),
        typ: value.get("typ").and_then(Cbor::as_unsigned),
    }
}

/// Reads exactly one message.
///
/// # Errors
///
/// [`Malformed`]: step 1 of E31, except the rule on the time inside the id.
pub(crate) fn parse(bytes: &[u8], rules: Rules) -> Result<Message, Malformed> {
    let item = read(bytes, rules)?;
    accept_form(item.form, rules)?;
    let Cbor::Map(pairs) = item.value else {
        return Err(Malformed::new("not a map"));
    };
    let pairs = pairs.into_iter().map(|(key, value)| (key, settled(value, item.form))).collect();
    let mut members = Members { pairs, spans: item.spans, rules };
    let headers = headers(&mut members)?;
    let sig = members.bytes("sig")?.ok_or(Malformed::new("sig is missing"))?;
    // E20: Ed25519 makes 64 bytes.
    if sig.len() != 64 {
        // Other, E20: a signature of another length does not verify.
        let code = if rules.is_other() { Code::InvalidSignature } else { Code::InvalidMessage };
        return Err(Malformed { code, reason: "sig does not have 64 bytes" });
    }
    let content = content(&mut members, bytes)?;
    let ext = members.take("ext").map(|(ext, _)| ext);
    if ext.as_ref().is_some_and(|ext| !is_text_map(ext)) {
        return Err(Malformed::new("ext is not a map with text keys"));
    }
    // Other, E88: the schema is closed.
    if rules.is_other() && !members.pairs.is_empty() {
        return Err(Malformed::new("unknown members"));
    }
    Ok(Message { headers, content, sig, ext, unknown: members.pairs, form: item.form })
}

fn read(bytes: &[u8], rules: Rules) -> Result<cbor::Item, Malformed> {
    // 4.1, 15.3: the message is exactly one item.
    let first = || cbor::read_first(bytes, Limits::default()).map(|(item, _)| item);
    planted!(rules.fault, "cbor-trailing-ignored", return first().map_err(|_| Malformed::new("no CBOR")));
    let limits = Limits {
        // E18: eight levels must do.
        depth: if rules.fault.is("cbor-depth-limit-low") { 6 } else { Limits::default().depth },
        // 15.3: a length is not room until the bytes are there.
        trust_lengths: rules.fault.is("cbor-length-allocated"),
    };
    careless::read(rules.fault, bytes);
    let item = cbor::read(bytes, limits).map_err(|error| match error.kind {
        ReadErrorKind::Memory => Malformed { code: Code::InternalError, reason: "out of memory" },
        _ => Malformed::new("not one well-formed CBOR item"), // everything else
    })?;
    careless::look(rules.fault, &item.value, 0);
    careless::take_apart(rules.fault, &item.value);
    Ok(item)
}

/// E09, E16: any well-formed, unambiguous encoding of the envelope is accepted.
fn accept_form(form: Form, rules: Rules) -> Result<(), Malformed> {
    // 8.1, rule 3: a repeated key has two meanings. Other, E16: the last one counts.
    if form.repeated_key && !rules.fault.is("cbor-duplicate-last-wins") && !rules.is_other() {
        return Err(Malformed::new("a key occurs twice"));
    }
    // Other, E09: a strict decoder rejects indefinite lengths and overlong numbers.
    let strict = rules.is_other() && (form.indefinite || form.wide);
    // E09: the order of keys in the envelope is free, and the body is sorted before verification.
    if strict || (rules.fault.is("cbor-unsorted-refused") && form.unsorted) {
        return Err(Malformed::new("not in deterministic encoding"));
    }
    let refused = || Err(Malformed { code: Code::InvalidSignature, reason: "indefinite length" });
    planted!(rules.fault, "cbor-indefinite-refused", form.indefinite => return refused());
    Ok(())
}

/// The value of a member where repeated keys are taken at all: of two the last.
fn settled(value: Cbor, form: Form) -> Cbor {
    if form.repeated_key { value.without_repeats() } else { value }
}

/// The members of a map that were not read yet.
struct Members {
    pairs: Vec<(Cbor, Cbor)>,
    spans: Vec<Range<usize>>,
    rules: Rules,
}

impl Members {
    fn is_null(&self, name: &str) -> bool {
        self.pairs.iter().any(|(key, value)| key.as_text() == Some(name) && *value == Cbor::Null)
    }

    fn has(&self, name: &str) -> bool {
        self.pairs.iter().any(|(key, _)| key.as_text() == Some(name))
    }

    /// The member called `name` and its place on the wire; of repeated ones the last.
    fn take(&mut self, name: &str) -> Option<(Cbor, Range<usize>)> {
        let mut taken = None;
        while let Some(at) = self.pairs.iter().position(|(key, _)| key.as_text() == Some(name)) {
            let span = if at < self.spans.len() { self.spans.remove(at) } else { 0..0 };
            taken = Some((self.pairs.remove(at).1, span));
        }
        taken
    }

    fn unsigned(&mut self, name: &'static str) -> Result<Option<u64>, Malformed> {
        let wrong = Malformed::new(name); // the name is sufficient
        self.take(name).map(|(value, _)| value.as_unsigned().ok_or(wrong)).transpose()
    }

    fn bytes(&mut self, name: &'static str) -> Result<Option<Vec<u8>>, Malformed> {
        let Some((value, _)) = self.take(name) else {
            return Ok(None);
        };
        match value {
            Cbor::Bytes(bytes) => Ok(Some(bytes)),
            // 4.1: id and sig are byte strings, not text.
            Cbor::Text(text) if self.rules.fault.is("cbor-text-and-bytes-mixed") => hex_bytes(&text, name),
            _ => Err(Malformed::new(name)), // of another type
        }
    }
}

/// The bytes of a text in hexadecimal, which the protocol does not have.
fn hex_bytes(text: &str, name: &'static str) -> Result<Option<Vec<u8>>, Malformed> {
    let bytes = data_encoding::HEXLOWER_PERMISSIVE.decode(text.as_bytes());
    bytes.map(Some).map_err(|_| Malformed::new(name))
}

fn headers(members: &mut Members) -> Result<Headers, Malformed> {
    let rules = members.rules;
    let missing = |name| Malformed::new(name);
    let v = members.unsigned("v")?.ok_or(missing("v is missing"))?;
    let id = members.bytes("id")?.ok_or(missing("id is missing"))?;
    // 4.2: 16 bytes.
    if id.len() != message_id::LENGTH && !rules.fault.is("id-length-unchecked") {
        return Err(Malformed::new("id does not have 16 bytes"));
    }
    let mut typ = members.unsigned("typ")?.ok_or(missing("typ is missing"))?;
    // 4.3: typ is an unsigned integer of any size; an unknown type must not be truncated to its last byte. Other, E37:
    // it is one byte.
    if rules.is_other() && typ > 0xff {
        return Err(Malformed::new("typ is above 0xff"));
    }
    planted!(rules.fault, "type-one-byte", typ &= 0xff);
    let ts = members.unsigned("ts")?.ok_or(missing("ts is missing"))?;
    // 4.1, 8.3: ttl is required; 24 hours is a default for senders, not an assumption of recipients.
    let default = rules.fault.is("ttl-default-filled").then_some(86_400_000);
    let ttl = members.unsigned("ttl")?.or(default).ok_or(missing("ttl is missing"))?;
    let from = members.take("from").ok_or(missing("from is missing"))?.0;
    let from = a_did(&from, rules).ok_or(Malformed::new("from is not a DID"))?;
    let to = match members.take("to").ok_or(missing("to is missing"))?.0 {
        // 4.1: at least one recipient.
        Cbor::Array(dids) if dids.is_empty() && !rules.fault.is("to-empty-accepted") => None,
        Cbor::Array(dids) => dids.iter().map(|did| a_did(did, rules)).collect::<Option<_>>().map(To::Many),
        single => a_did(&single, rules).map(To::One),
    };
    let to = to.ok_or(Malformed::new("to is neither a DID nor an array of them"))?;
    let reply_to = optional_bytes(members, "reply_to")?;
    // E20: an answer references a message, and ids have 16 bytes. Other, E20: any value.
    if reply_to.as_ref().is_some_and(|id| id.len() != message_id::LENGTH) && !rules.is_other() {
        return Err(Malformed::new("reply_to does not have 16 bytes"));
    }
    let thread_id = optional_bytes(members, "thread_id")?;
    // Other, E20: an empty thread_id is invalid.
    if rules.is_other() && thread_id.as_ref().is_some_and(Vec::is_empty) {
        return Err(Malformed::new("thread_id is empty"));
    }
    // E20: a thread may have any name.
    let odd = thread_id.as_ref().is_some_and(|id| id.len() != message_id::LENGTH);
    planted!(rules.fault, "thread-id-sixteen-bytes", odd => return Err(Malformed::new("thread_id does not have 16 bytes")));
    Ok(Headers { v, id, typ, ts, ttl, from, to, reply_to, thread_id })
}

/// 4.1: optional members are absent or of their type; null is neither.
fn optional_bytes(members: &mut Members, name: &'static str) -> Result<Option<Vec<u8>>, Malformed> {
    planted!(members.rules.fault, "null-means-absent", members.is_null(name) => drop(members.take(name)));
    members.bytes(name)
}

/// 2.1, E21: a party is named by a DID.
fn a_did(value: &Cbor, rules: Rules) -> Option<String> {
    let text = value.as_text()?;
    (did::is_did(text) || rules.fault.is("did-syntax-unchecked")).then(|| text.to_owned())
}

fn is_text_map(value: &Cbor) -> bool {
    value.as_map().is_some_and(|pairs| pairs.iter().all(|(key, _)| key.as_text().is_some()))
}

/// 4.1, E17: exactly one of body and enc. A null body is a body, also next to enc.
fn content(members: &mut Members, bytes: &[u8]) -> Result<Content, Malformed> {
    let rules = members.rules;
    if members.has("body") && members.has("enc") {
        match () {
            () if rules.fault.is("enc-wins-over-body") => drop(members.take("body")),
            () if rules.fault.is("body-wins-over-enc") => drop(members.take("enc")),
            () => return Err(Malformed::new("body and enc are both there")),
        }
    }
    if let Some((body, span)) = members.take("body") {
        return Ok(Content::Plain { body, wire: bytes[span].to_vec() });
    }
    match members.take("enc") {
        Some((enc, _)) => sealed(enc, rules),
        // 4.1: without payload the body is null, not absent.
        None if rules.fault.is("body-absent-is-null") => Ok(Content::Plain { body: Cbor::Null, wire: vec![0xf6] }),
        None => Err(Malformed::new("body and enc are both missing")),
    }
}

/// 4.1: the encrypted payload.
fn sealed(enc: Cbor, rules: Rules) -> Result<Content, Malformed> {
    let Cbor::Map(pairs) = enc else {
        return Err(Malformed::new("enc is not a map"));
    };
    let mut members = Members { pairs, spans: Vec::new(), rules };
    let is = |member: Option<(Cbor, Range<usize>)>, text: &str| {
        member.is_some_and(|(value, _)| value.as_text() == Some(text))
    };
    // 4.1: one algorithm and one mode.
    if !is(members.take("alg"), ALGORITHM) && !rules.fault.is("enc-alg-unchecked") {
        return Err(Malformed::new("enc.alg"));
    }
    if !is(members.take("mode"), MODE) && !rules.fault.is("enc-mode-unchecked") {
        return Err(Malformed::new("enc.mode"));
    }
    let nonce = members.bytes("nonce")?.ok_or(Malformed::new("enc.nonce is missing"))?;
    // E20: the cipher requires 24 bytes. Other, E20: decryption with a wrong nonce fails.
    if nonce.len() != NONCE_LENGTH {
        let code = if rules.is_other() { Code::Unauthorized } else { Code::InvalidMessage };
        return Err(Malformed { code, reason: "enc.nonce does not have 24 bytes" });
    }
    let ciphertext = members.bytes("ciphertext")?.ok_or(Malformed::new("enc.ciphertext is missing"))?;
    // 8.5.1: no profile of this version has epk. Other, E15: other members of enc are ignored.
    if !members.pairs.is_empty() && !rules.is_other() && !rules.fault.is("enc-epk-ignored") {
        return Err(Malformed::new("enc has unknown members"));
    }
    Ok(Content::Sealed { nonce, ciphertext })
}

/// The bytes of a message: the deterministic encoding of all that it has.
#[must_use]
pub(crate) fn encode(message: &Message, rules: Rules) -> Vec<u8> {
    let Headers { v, id, typ, ts, ttl, from, to, reply_to, thread_id } = &message.headers;
    let mut map = Cbor::map([
        ("v", (*v).into()),
        ("id", id.as_slice().into()),
        ("typ", (*typ).into()),
        ("ts", (*ts).into()),
        ("ttl", (*ttl).into()),
        ("from", from.as_str().into()),
        ("to", to.cbor()),
        ("sig", message.sig.as_slice().into()),
    ]);
    for (name, value) in [("reply_to", reply_to), ("thread_id", thread_id)] {
        if let Some(value) = value {
            map.set(name, value.as_slice().into());
        }
    }
    match &message.content {
        Content::Plain { body, .. } => map.set("body", body.clone()),
        Content::Sealed { nonce, ciphertext } => map.set("enc", enc(nonce, ciphertext, rules)),
    }
    if let Some(ext) = &message.ext {
        map.set("ext", ext.clone());
    }
    // 4.1: a member that is not needed is left out, and is not null.
    planted!(rules.fault, "ext-null-sent", message.ext.is_none() => map.set("ext", Cbor::Null));
    // 8.7: ext is not signed, so nothing in it gives authority.
    planted!(rules.fault, "ext-carries-token", map.set("ext", Cbor::map([("token", "proofmark".into())])));
    let mut bytes = cbor::encode(&map);
    // 2.4: one item and nothing else.
    planted!(rules.fault, "message-ends-with-line-feed", bytes.push(b'\n'));
    bytes
}

/// 4.1: only alg, mode, nonce and ciphertext.
fn enc(nonce: &[u8], ciphertext: &[u8], rules: Rules) -> Cbor {
    let mut enc = Cbor::map([
        ("alg", ALGORITHM.into()),
        ("mode", MODE.into()),
        ("nonce", nonce.into()),
        ("ciphertext", ciphertext.into()),
    ]);
    // 4.1: the mode is always there, though there is only one.
    planted!(rules.fault, "enc-mode-omitted", faults::remove(&mut enc, "mode"));
    enc
}

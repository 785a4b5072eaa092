//! Plausible mistakes in the computation of Sig_Input.
//!
//! If a signature does not verify, its implementer knows that something differs, but not what. A table has one
//! difference from section 8.1 that implementers make in each row; the signature is tried against each of them, and
//! against pairs and some triples, until one fits (see [`super::explain`]).

use std::collections::HashSet;

use sha2::{Digest as _, Sha256, Sha512};

use super::sig_input::{self, CONTEXT, Material};
use super::tweaks::{Body, LIKELY, Named, Tweak, Whole, tweaks};
use crate::value::Value;
use crate::wire::cbor::{self, Order, Style, Width};
use crate::wire::json;

/// A mistake of an implementation, and the resulting bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alternative {
    /// The differences, each of them fit to follow the word "with".
    pub differences: Vec<String>,
    /// Other differences that result in the same bytes for this message, each fit to follow the word "with".
    pub also: Vec<String>,
    /// The bytes that would be signed so.
    pub bytes: Vec<u8>,
}

/// The construction that tweaks change.
#[derive(Clone)]
struct Recipe<'m> {
    material: &'m Material,
    context: Option<Value>,
    protected: Option<Value>,
    headers: Vec<(Value, Value)>,
    shape: Shape,
    style: Style,
    body: Body,
    body_style: Option<Style>,
    whole: Whole,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Map,
    Bytes,
    Array,
}

/// All single alternatives that differ from the right Sig_Input and from each other, the likeliest first.
pub fn alternatives(material: &Material) -> Vec<Alternative> {
    let mut search = Search::new(material);
    tweaks().iter().filter_map(|tweak| search.attempt(&[tweak])).collect()
}

/// The bytes with one difference, by its description; `None` if it is unknown or has no effect on this message.
pub fn with(material: &Material, difference: &str) -> Option<Vec<u8>> {
    let tweaks = tweaks();
    let tweak = tweaks.iter().find(|tweak| tweak.words == difference)?;
    Search::new(material).render(&[tweak]).filter(|bytes| *bytes != material.sig_input())
}

/// The bytes with the differences that `words` names, several joined as in an [`Alternative`]; `None` if they name none, or
/// have no effect on this message.
pub(super) fn with_all(material: &Material, words: &str) -> Option<Vec<u8>> {
    let tweaks = tweaks();
    let mut by_length: Vec<&Named> = tweaks.iter().collect();
    // A description may be part of a longer one.
    by_length.sort_by_key(|tweak| std::cmp::Reverse(tweak.words.len()));
    let mut rest = words.to_owned();
    let mut named = Vec::new();
    for tweak in by_length {
        if rest.contains(&tweak.words) {
            rest = rest.replacen(&tweak.words, "", 1);
            named.push(tweak);
        }
    }
    // Those without effect on this message may not be applicable to it.
    let search = Search::new(material);
    named.retain(|tweak| search.render(&[tweak]).is_some());
    search.render(&named).filter(|bytes| *bytes != material.sig_input())
}

/// The descriptions of all differences.
pub fn words() -> Vec<String> {
    tweaks().into_iter().map(|tweak| tweak.words).collect()
}

/// The first alternative that `fits`, tried by ones, then by twos, then by threes of the likeliest; at most
/// [`ATTEMPTS`] different ones are tried. Where the body of an encrypted message is not known, by ones only.
pub fn find(material: &Material, mut fits: impl FnMut(&[u8]) -> bool) -> Option<Alternative> {
    let mut search = Search::new(material);
    let tweaks = tweaks();
    let likely = &tweaks[..LIKELY.min(tweaks.len())];
    let ones = tweaks.iter().map(|one| vec![one]);
    let twos = likely.iter().enumerate().flat_map(|(at, one)| tweaks[at + 1..].iter().map(move |two| vec![one, two]));
    let threes = likely.iter().enumerate().flat_map(|(at, one)| {
        likely
            .iter()
            .enumerate()
            .skip(at + 1)
            .flat_map(move |(next, two)| likely[next + 1..].iter().map(move |three| vec![one, two, three]))
    });
    let several = if material.is_closed() { 0 } else { usize::MAX };
    for combination in ones.chain(twos.take(several)).chain(threes.take(several)) {
        if search.seen.len() > ATTEMPTS {
            return None;
        }
        let found = search.attempt(&combination).filter(|alternative| fits(&alternative.bytes));
        if let Some(mut found) = found {
            let words = |tweak: &Named| tweak.words.clone();
            found.also = tweaks
                .iter()
                .filter(|tweak| search.render(&[tweak]).as_deref() == Some(&found.bytes))
                .map(words)
                .filter(|words| found.differences != [words.as_str()])
                .collect();
            return Some(found);
        }
    }
    None
}

/// Different byte strings that [`find`] tries at most.
pub const ATTEMPTS: usize = 6000;

struct Search<'m> {
    base: Recipe<'m>,
    seen: HashSet<[u8; 32]>,
}

impl<'m> Search<'m> {
    fn new(material: &'m Material) -> Self {
        let right = Sha256::digest(material.sig_input()).into();
        Self { base: Recipe::new(material), seen: HashSet::from([right]) }
    }

    /// The bytes with these tweaks; `None` if two change the same part, or one is not applicable to this message.
    fn render(&self, tweaks: &[&Named]) -> Option<Vec<u8>> {
        let clash = |at: usize| tweaks[at + 1..].iter().any(|other| other.part == tweaks[at].part);
        if (0..tweaks.len()).any(clash) {
            return None;
        }
        let mut recipe = self.base.clone();
        tweaks.iter().for_each(|tweak| recipe.apply(&tweak.tweak));
        recipe.render()
    }

    /// The alternative of these tweaks, unless its bytes were seen before.
    fn attempt(&mut self, tweaks: &[&Named]) -> Option<Alternative> {
        let bytes = self.render(tweaks)?;
        let differences = tweaks.iter().map(|tweak| tweak.words.clone()).collect();
        let new = self.seen.insert(Sha256::digest(&bytes).into());
        new.then(|| Alternative { differences, also: Vec::new(), bytes })
    }
}

impl<'m> Recipe<'m> {
    fn new(material: &'m Material) -> Self {
        Self {
            material,
            context: Some(Value::text(CONTEXT)),
            protected: Some(Value::Bytes(Vec::new())),
            headers: sig_input::headers(material.envelope()),
            shape: Shape::Map,
            style: Style::default(),
            body: Body::Right,
            body_style: None,
            whole: Whole::Right,
        }
    }

    fn apply(&mut self, tweak: &Tweak) {
        let envelope = self.material.envelope();
        let position =
            |headers: &[(Value, Value)], name: &str| headers.iter().position(|(key, _)| key.as_text() == Some(name));
        match tweak {
            Tweak::Context(context) => self.context.clone_from(context),
            Tweak::Protected(protected) => self.protected.clone_from(protected),
            Tweak::Add(name) => {
                let added = envelope.member(name).map(|value| (Value::text(*name), value.clone()));
                // Ahead of the others: `v` is the first member of the schema.
                self.headers.splice(0..0, added);
            }
            Tweak::Drop(name) => self.headers.retain(|(key, _)| key.as_text() != Some(name)),
            Tweak::NullFor(name) => {
                if position(&self.headers, name).is_none() {
                    self.headers.push((Value::text(*name), Value::Null));
                }
            }
            Tweak::Map(name, change) => {
                if let Some(at) = position(&self.headers, name)
                    && let Some(changed) = change(&self.headers[at].1)
                {
                    self.headers[at].1 = changed;
                }
            }
            Tweak::HeadersAsBytes => self.shape = Shape::Bytes,
            Tweak::HeadersAsArray => self.shape = Shape::Array,
            Tweak::SchemaOrder => self.style.order = Order::AsWritten,
            Tweak::EnvelopeOrder => {
                let members = envelope.as_map().unwrap_or_default();
                let place = |key: &Value| members.iter().position(|(name, _)| name == key).unwrap_or(usize::MAX);
                self.headers.sort_by_key(|(key, _)| place(key));
                self.style.order = Order::AsWritten;
            }
            Tweak::Headers(order) => self.style.order = *order,
            Tweak::Everywhere(order) => {
                self.style.order = *order;
                self.body_style.get_or_insert_default().order = *order;
            }
            Tweak::WideIntegers => {
                self.style.integers = Width::Eight;
                self.body_style.get_or_insert_default().integers = Width::Eight;
            }
            Tweak::WideLengths => {
                self.style.lengths = Width::Eight;
                self.body_style.get_or_insert_default().lengths = Width::Eight;
            }
            Tweak::Indefinite => {
                self.style.indefinite = true;
                self.body_style.get_or_insert_default().indefinite = true;
            }
            Tweak::BodyStyle(style) => self.body_style = Some(*style),
            Tweak::Body(body) => self.body = *body,
            Tweak::Whole(whole) => self.whole = *whole,
        }
    }

    /// The bytes of the body in its style; decrypted bytes are unchanged unless a style is given.
    fn body_bytes(&self) -> Vec<u8> {
        match (self.body_style, self.material.body()) {
            (Some(style), Some(body)) => cbor::write_styled(&body, style),
            _ => self.material.body_bytes(),
        }
    }

    /// The last element; the outer `None` if this body form does not apply, the inner one without a last element.
    fn body(&self) -> Option<Option<Value>> {
        let value = || self.material.body().unwrap_or(Value::Null);
        let enc = |name: &str| self.material.envelope().member("enc").and_then(|enc| enc.member(name)).cloned();
        Some(Some(match self.body {
            Body::Right => Value::Bytes(self.body_bytes()),
            Body::Inline => value(),
            Body::Wire => Value::Bytes(self.material.wire_body()?.to_vec()),
            Body::Reencoded => Value::Bytes(cbor::write(&self.material.body()?)),
            Body::LastWins => Value::Bytes(cbor::write(&last_wins(value()))),
            Body::WholeFloats => Value::Bytes(cbor::write(&whole_floats(value()))),
            Body::Twice => Value::Bytes(cbor::write(&Value::Bytes(self.body_bytes()))),
            Body::Tag24 => Value::Tag(24, Box::new(Value::Bytes(self.body_bytes()))),
            Body::Sha256 => Value::Bytes(Sha256::digest(self.body_bytes()).to_vec()),
            Body::Hex => Value::text(data_encoding::HEXLOWER.encode(&self.body_bytes())),
            Body::Json => Value::Bytes(json::compact(&value()).into_bytes()),
            Body::JsonText => Value::text(json::compact(&value())),
            Body::Empty => Value::Bytes(Vec::new()),
            Body::Null => Value::Bytes(vec![0xf6]),
            Body::InlineNull => Value::Null,
            Body::Absent => return Some(None),
            Body::Ciphertext => enc("ciphertext")?,
            Body::Enc => Value::Bytes(cbor::write(self.material.envelope().member("enc")?)),
        }))
    }

    fn render(&self) -> Option<Vec<u8>> {
        let headers = match self.shape {
            Shape::Map => Value::Map(self.headers.clone().into()),
            Shape::Bytes => Value::Bytes(cbor::write_styled(&Value::Map(self.headers.clone().into()), self.style)),
            Shape::Array => Value::Array(self.headers.iter().map(|(_, value)| value.clone()).collect()),
        };
        let body = self.body()?;
        let without_sig = || {
            let members = self.material.envelope().as_map().unwrap_or_default().iter();
            Value::Map(members.filter(|(key, _)| key.as_text() != Some("sig")).cloned().collect())
        };
        let parts: Vec<Value> =
            [self.context.clone(), self.protected.clone(), Some(headers.clone()), body].into_iter().flatten().collect();
        let array = || cbor::write_styled(&Value::Array(parts.clone().into()), self.style);
        Some(match self.whole {
            Whole::Right => array(),
            Whole::Sequence => parts.iter().flat_map(|part| cbor::write_styled(part, self.style)).collect(),
            Whole::Sha256 => Sha256::digest(array()).to_vec(),
            Whole::Sha512 => Sha512::digest(array()).to_vec(),
            Whole::Bytes => cbor::write(&Value::Bytes(array())),
            Whole::Hex => data_encoding::HEXLOWER.encode(&array()).into_bytes(),
            Whole::BodyOnly => self.body_bytes(),
            Whole::HeadersOnly => cbor::write_styled(&headers, self.style),
            Whole::Envelope => cbor::write_styled(&without_sig(), self.style),
            Whole::EnvelopeAsWritten => {
                cbor::write_styled(&without_sig(), Style { order: Order::AsWritten, ..self.style })
            }
        })
    }
}

/// A value in which the last of equal keys is kept, at the place of the first.
fn last_wins(value: Value) -> Value {
    match value {
        Value::Map(members) => {
            let mut kept: Vec<(Value, Value)> = Vec::new();
            for (key, value) in members {
                let value = last_wins(value);
                match kept.iter_mut().find(|(known, _)| *known == key) {
                    Some((_, old)) => *old = value,
                    None => kept.push((key, value)),
                }
            }
            Value::Map(kept.into())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(last_wins).collect()),
        other => other,
    }
}

/// A value in which floats without a fraction are integers.
fn whole_floats(value: Value) -> Value {
    match value {
        Value::Float(_) => value.as_integer().map_or(value, Value::Integer),
        Value::Array(items) => Value::Array(items.into_iter().map(whole_floats).collect()),
        Value::Map(members) => {
            Value::Map(members.into_iter().map(|(key, value)| (whole_floats(key), whole_floats(value))).collect())
        }
        Value::Tag(number, inner) => Value::Tag(number, Box::new(whole_floats(*inner))),
        other => other,
    }
}

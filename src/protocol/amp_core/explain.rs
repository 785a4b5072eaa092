//! Explains why a signature does not verify, for its implementer.

use std::iter;

use super::alternatives::{self, Alternative};
use super::sig_input::Material;
use super::sign::{self, Flaw};
use crate::wire::cbor::{self, Notation};

/// How an explanation begins that names the structure that was signed.
const DIFFERS: &str = "the signature is over another structure than section 8.1 has: with ";
/// How it goes on with other differences that result in the same bytes.
const SAME: &str = " (here the same as: ";
const BETWEEN_SAME: &str = "; ";
/// The titles of what was expected and what was signed.
const EXPECTED: &str = "Sig_Input as section 8.1 has it";
const SIGNED: &str = "signed input";
/// An explanation that names nothing.
const UNEXPLAINED: &str = "the signature is over other bytes, or by another key, and no usual mistake explains it";
/// What is said of a signature that is not explained at all, since too many others were not.
pub(super) const UNSEARCHED: &str = "the signature does not verify over the Sig_Input of section 8.1";

/// The diagnosis of a signature.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// Whether it verifies over the right Sig_Input under the right key, by the plain rules of RFC 8032. Repeated keys in
    /// the body enter as they stand: see the oddities of the message for rule 3 of section 8.1.
    pub verifies: bool,
    /// Defects of the signature or the key; [`Flaw::Mismatch`] alone means that both are well-formed.
    pub flaws: Vec<Flaw>,
    /// The members that the message lacks for a Sig_Input.
    pub missing: Vec<&'static str>,
    /// Whether the body is encrypted and was not opened; `expected` then has a null body and proves nothing.
    pub closed: bool,
    /// The Sig_Input that should have been signed.
    pub expected: Vec<u8>,
    /// The bytes that were signed instead, if found.
    pub matched: Option<Match>,
}

/// Another structure or key that the signature does verify with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// How what was signed differs from Sig_Input, each fit to follow the word "with"; empty if only the key differs.
    pub differences: Vec<String>,
    /// Other single differences that result in the same bytes for this message.
    pub also: Vec<String>,
    /// The name of the other key; `None` for the correct key.
    pub key: Option<String>,
    /// The bytes that were signed.
    pub signed: Vec<u8>,
}

/// Explains the signature of a message.
///
/// `others` are keys, with names, that the signature may have been made with by mistake: that of the recipient, other
/// methods of the same document. They are tried with the right Sig_Input only.
pub fn explain(material: &Material, public_key: &[u8; 32], others: &[(String, [u8; 32])]) -> Explanation {
    let expected = material.sig_input();
    let signature = material.signature().unwrap_or_default();
    let verifies = sign::verify(public_key, &expected, signature);
    let flaws = sign::flaws(public_key, &expected, signature);
    let matched = if verifies || signature.len() != sign::SIGNATURE_LENGTH {
        None
    } else {
        search(material, public_key, others, &expected, signature)
    };
    Explanation { verifies, flaws, missing: material.missing(), closed: material.is_closed(), expected, matched }
}

fn search(
    material: &Material,
    public_key: &[u8; 32],
    others: &[(String, [u8; 32])],
    expected: &[u8],
    signature: &[u8],
) -> Option<Match> {
    if let Some((name, _)) = others.iter().find(|(_, key)| sign::verify(key, expected, signature)) {
        let (differences, also) = Default::default();
        return Some(Match { differences, also, key: Some(name.clone()), signed: expected.to_vec() });
    }
    // Under a key of small order anything may verify, so a match would be meaningless.
    if sign::flaws(public_key, expected, signature).iter().any(|flaw| !matches!(flaw, Flaw::Mismatch)) {
        return None;
    }
    let found = alternatives::find(material, |bytes| sign::verify(public_key, bytes, signature));
    found.map(|Alternative { differences, also, bytes }| Match { differences, also, key: None, signed: bytes })
}

impl Explanation {
    /// One sentence.
    pub fn summary(&self) -> String {
        if self.verifies {
            return "the signature verifies".to_owned();
        }
        match &self.matched {
            Some(Match { key: Some(name), .. }) => format!("the signature was made with another key: {name}"),
            Some(Match { differences, also, .. }) => {
                let with = differences.join(" and ");
                let same = if also.is_empty() { String::new() } else { format!("{SAME}{})", also.join(BETWEEN_SAME)) };
                format!("{DIFFERS}{with}{same}")
            }
            None if self.closed => "the body was not opened, so the signature cannot be checked".to_owned(),
            None if self.flaws == [Flaw::Mismatch] => UNEXPLAINED.to_owned(),
            None => {
                let flaws: Vec<String> = self.flaws.iter().map(ToString::to_string).collect();
                format!("invalid signature: {}", flaws.join(", "))
            }
        }
    }

    /// Several lines: the sentence, the Sig_Input that is wanted, and the one that was signed if it was found, each in
    /// hex and in diagnostic notation.
    pub fn details(&self) -> String {
        let mut text = self.summary();
        if !self.missing.is_empty() {
            text.push_str(&format!("\nthe message lacks {}", self.missing.join(", ")));
        }
        let mut show = |title: &str, bytes: &[u8]| {
            text.push_str(&format!(
                "\n{title}:\n{}\n{}",
                bounded_hex(bytes),
                cbor::diagnostic_with(bytes, Notation::PRETTY)
            ));
        };
        show(EXPECTED, &self.expected);
        if let Some(matched) = self.matched.as_ref().filter(|matched| !matched.differences.is_empty()) {
            show(SIGNED, &matched.signed);
        }
        text
    }
}

/// The differences each of which alone explains the bytes that were signed, the likeliest first.
pub(super) fn candidates(differences: &[String], also: &[String]) -> Vec<String> {
    iter::once(differences.join(" and ")).chain(also.iter().cloned()).collect()
}

/// The [`candidates`] in a text of [`Explanation::details`]; empty if it names none.
pub(super) fn differences_in(details: &str) -> Vec<String> {
    let Some(named) = details.lines().next().and_then(|line| line.strip_prefix(DIFFERS)) else { return Vec::new() };
    match named.strip_suffix(')').and_then(|named| named.split_once(SAME)) {
        Some((with, also)) => iter::once(with).chain(also.split(BETWEEN_SAME)).map(str::to_owned).collect(),
        None => vec![named.to_owned()],
    }
}

/// The Sig_Input that is wanted, and the one that was signed, in such a text; `None` if it shows only one, or not whole.
pub(super) fn inputs_in(details: &str) -> Option<(Vec<u8>, Vec<u8>)> {
    let after = |title: &str| {
        let mut lines = details.lines().skip_while(|line| line.strip_suffix(':') != Some(title));
        data_encoding::HEXLOWER.decode(lines.nth(1)?.as_bytes()).ok()
    };
    Some((after(EXPECTED)?, after(SIGNED)?))
}

/// Whether such a text says that a signature is over bytes that no difference explains.
pub(super) fn is_unexplained(details: &str) -> bool {
    [UNEXPLAINED, UNSEARCHED].iter().any(|text| details.starts_with(text))
}

fn bounded_hex(bytes: &[u8]) -> String {
    const SHOWN: usize = 2048;
    match bytes.len().checked_sub(SHOWN) {
        None | Some(0) => data_encoding::HEXLOWER.encode(bytes),
        Some(more) => format!("{}… {more} more bytes", data_encoding::HEXLOWER.encode(&bytes[..SHOWN])),
    }
}

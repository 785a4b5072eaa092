//! Which key of a document counts: RFC 001 section 8.9 and erratum E23.
//!
//! [`DidDocument::select`] gives the key that the rulings name, and the others that some other reading of the text could
//! have chosen.

use super::document::{DidDocument, Method, Relationship};
use super::multikey::KeyKind;

/// The purpose of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To verify what this `from` has signed; a fragment in it names the method.
    Signature,
    /// To seal for the party, or to open its boxes.
    Agreement,
}

/// A key that some reading of section 8.9 may choose.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The absolute id of its method.
    pub method: String,
    /// The key.
    pub public_key: [u8; 32],
    /// The reading that selects it; empty for the key that the rulings select.
    pub reading: &'static str,
}

/// The result of a selection.
#[derive(Clone, Debug, PartialEq)]
pub struct Selection {
    /// The key that the rulings select, or why it is missing (error 3001).
    pub chosen: Result<Candidate, NoKey>,
    /// Other keys that a different reading could select, the likeliest first, each method once.
    pub others: Vec<Candidate>,
}

/// Why no key is eligible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoKey {
    /// The fragment names no method of the document; 1002 is tolerated then (erratum E24).
    #[error("the fragment does not name a method of the document")]
    NoSuchMethod,
    /// The fragment names a method that cannot be used for this.
    #[error("the method that the fragment names is not eligible: {0}")]
    NotEligible(String),
    /// No method that is listed for the purpose has a usable key.
    #[error("no active {0} method is listed under {1}")]
    None(&'static str, &'static str),
}

impl DidDocument {
    /// Chooses the key of `party`, a DID with or without fragment, at `now` (milliseconds since 1970).
    ///
    /// Key agreement ignores the fragment (section 8.9).
    pub fn select(&self, party: &str, purpose: Purpose, now: i64) -> Selection {
        let mut selection = match (purpose, party.split_once('#')) {
            (Purpose::Agreement, _) => self.agreement(now),
            (Purpose::Signature, None) => self.signature(now),
            (Purpose::Signature, Some((_, fragment))) => self.by_fragment(fragment, now),
        };
        let chosen = selection.chosen.as_ref().ok().map(|chosen| chosen.method.clone());
        let mut seen: Vec<String> = chosen.into_iter().collect();
        selection.others.retain(|other| {
            let new = !seen.contains(&other.method);
            seen.push(other.method.clone());
            new
        });
        selection
    }

    /// Eligible methods in byte order of their absolute ids.
    fn eligible(&self, kind: KeyKind, keep: impl Fn(&Method) -> bool, reading: &'static str) -> Vec<Candidate> {
        let mut found: Vec<Candidate> = self
            .methods
            .iter()
            .filter(|method| keep(method))
            .filter_map(|method| Some(Candidate { method: method.id.clone(), public_key: method.key(kind)?, reading }))
            .collect();
        found.sort_by(|left, right| left.method.cmp(&right.method));
        found
    }

    fn signature(&self, now: i64) -> Selection {
        use Relationship::{Assertion, Authentication};
        let of = |relationship: Relationship, active: bool, reading| {
            let keep = move |method: &Method| method.is_for(relationship) && method.is_active(now) == active;
            self.eligible(KeyKind::Ed25519, keep, reading)
        };
        let mut ranked = of(Assertion, true, "");
        ranked.extend(of(Authentication, true, ""));
        let first = if ranked.is_empty() { None } else { Some(ranked.remove(0)) };
        let mut others = of(Assertion, true, "another assertionMethod than the smallest id");
        others.extend(of(Authentication, true, "authentication although assertionMethod has a key"));
        others.extend(of(Assertion, false, "a revoked assertionMethod"));
        others.extend(of(Authentication, false, "a revoked authentication method"));
        others.extend(self.eligible(KeyKind::Ed25519, |_| true, "a method that is listed for neither"));
        Selection { chosen: first.ok_or(NoKey::None("Ed25519", "assertionMethod or authentication")), others }
    }

    fn by_fragment(&self, fragment: &str, now: i64) -> Selection {
        let wanted = format!("{}#{fragment}", self.id);
        // A method that is only under keyAgreement is not for signatures (erratum E23).
        let only_agreement = |method: &Method| method.listed == [Relationship::KeyAgreement];
        let chosen = match self.methods.iter().find(|method| method.id == wanted) {
            None => Err(NoKey::NoSuchMethod),
            Some(method) if only_agreement(method) => {
                Err(NoKey::NotEligible("it is listed under keyAgreement only".to_owned()))
            }
            Some(method) if !method.is_active(now) => Err(NoKey::NotEligible("it was revoked".to_owned())),
            Some(method) => match &method.key {
                Ok((KeyKind::Ed25519, public_key)) => {
                    Ok(Candidate { method: method.id.clone(), public_key: *public_key, reading: "" })
                }
                Ok((kind, _)) => Err(NoKey::NotEligible(format!("its key is {}", kind.name()))),
                Err(fault) => Err(NoKey::NotEligible(fault.to_string())),
            },
        };
        let mut others =
            self.eligible(KeyKind::Ed25519, |method| method.id == wanted, "the method although not eligible");
        others.extend(self.eligible(KeyKind::Ed25519, |_| true, "another method than the fragment names"));
        Selection { chosen, others }
    }

    fn agreement(&self, now: i64) -> Selection {
        let of = |active: bool, reading| {
            let keep =
                move |method: &Method| method.is_for(Relationship::KeyAgreement) && method.is_active(now) == active;
            self.eligible(KeyKind::X25519, keep, reading)
        };
        let chosen = of(true, "").into_iter().next().ok_or(NoKey::None("X25519", "keyAgreement"));
        let mut others = of(true, "another keyAgreement method than the smallest id");
        others.extend(of(false, "a revoked keyAgreement method"));
        others.extend(self.eligible(KeyKind::X25519, |_| true, "a method that is not listed under keyAgreement"));
        Selection { chosen, others }
    }
}

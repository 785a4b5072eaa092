//! Delegations (7, 4.6; RFC 005): grants, revocations, and the evidence of an invocation.

use rusqlite::Connection;
use sha2::{Digest, Sha256};

use super::super::codes::{Code, typ};
use super::super::did;
use super::super::receive::Authentic;
use super::super::store::kept;
use super::companions::Contact;
use super::credential::{self, Chain};
use super::replies::Cause;
use super::{Answer, Node};
use crate::cbor::Cbor;

/// The kinds of entries that are kept.
const GRANT: &str = "delegation";
const REVOCATION: &str = "revocation";

impl Node {
    /// 4.6: whether the body of another type than CAP_INVOKE has evidence of a delegation.
    pub(super) fn has_stray_evidence(&self, message: &Authentic) -> bool {
        self.rules().companions
            && message.headers.typ != typ::CAP_INVOKE
            && message.body.get("delegation").is_some()
            && !self.rules().fault.is("delegation-in-message-ignored")
    }

    /// Whether a party has authority over the guarded capabilities: the node itself and its active contacts.
    pub(super) fn has_authority(&self, party: &str) -> bool {
        self.is_me(party) || self.0.settings.companions.contact(party) == Some(Contact::Active)
    }

    /// 7.1; RFC 005, 5.1: keeps a grant whose credential is valid.
    pub(super) fn grant(&self, db: &Connection, message: &Authentic, now: u64) -> rusqlite::Result<Answer> {
        let sender = did::without_fragment(&message.headers.from);
        let verified = match message.body.get("credential") {
            Some(Cbor::Text(token)) if credential::is_token(token, now) => Ok(String::new()),
            Some(envelope @ Cbor::Map(_)) => {
                let documents = self.documents();
                let found = credential::read(envelope, self.did(), documents.as_ref(), now, self.rules());
                // RFC 005, 2.2: the issuer is the delegator.
                let own = |found: &credential::Credential| did::is_same(&found.delegator, sender);
                found.and_then(|found| if own(&found) { Ok(found.id) } else { Err(Code::Unauthorized) })
            }
            _ => Err(Code::DelegationInvalid),
        };
        // 7.1: an invalid credential is 3004.
        let lenient = self.rules().fault.is("delegation-invalid-accepted");
        match verified {
            Err(code) if !lenient => Ok(self.denied(message, code, now)),
            verified => {
                let hash = Sha256::digest(&message.body_bytes);
                self.keep(db, message, GRANT, &hash, &verified.unwrap_or_default(), now)
            }
        }
    }

    /// 7.1; RFC 005, 5.2: a grant is revoked by its delegator. A contact may revoke in advance, since messages may overtake
    /// each other.
    pub(super) fn revoke(
        &self,
        db: &Connection,
        message: &Authentic,
        name: &str,
        now: u64,
    ) -> rusqlite::Result<Answer> {
        let sender = did::without_fragment(&message.headers.from);
        let authorised = kept::is_from(db, GRANT, sender, name)? || self.has_authority(sender);
        // 7.1: others are unauthorised.
        if !authorised && !self.rules().fault.is("revocation-by-anyone") {
            return Ok(self.denied(message, Code::Unauthorized, now));
        }
        self.keep(db, message, REVOCATION, &Sha256::digest(&message.body_bytes), name, now)
    }

    /// RFC 005, 6.1: the evidence of an invocation by `caller`.
    pub(super) fn evidence(
        &self,
        db: &Connection,
        evidence: &Cbor,
        caller: &str,
        now: u64,
    ) -> rusqlite::Result<Result<Chain, Code>> {
        let documents = self.documents();
        let chain = credential::chain(evidence, caller, self.did(), documents.as_ref(), now, self.rules());
        let Ok(chain) = chain else { return Ok(chain) };
        for (delegator, id) in &chain.links {
            // 6.3: a delegator revokes its own links only.
            if kept::is_from(db, REVOCATION, did::without_fragment(delegator), id)? {
                return Ok(Err(Code::DelegationInvalid));
            }
        }
        Ok(Ok(chain))
    }

    fn denied(&self, message: &Authentic, code: Code, now: u64) -> Answer {
        Answer::refused(self.voice(now), Cause::of(&message.headers), &code.into())
    }
}

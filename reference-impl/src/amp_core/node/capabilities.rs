//! Capability messages (5; RFC 004): declarations and invocations.

use rusqlite::Connection;

use super::super::capability::{Capability, Wanted};
use super::super::codes::{Code, typ};
use super::super::did;
use super::super::receive::Authentic;
use super::super::store::kept;
use super::replies::Cause;
use super::{Answer, Node};
use crate::cbor::Cbor;

impl Node {
    /// RFC 004, 6: the descriptors that a query selects.
    pub(super) fn declare(&self, message: &Authentic, now: u64) -> Answer {
        let found = Wanted::of_query(&message.body).and_then(|wanted| {
            let offered = wanted.named();
            // RFC 004, 6.1: never an empty declaration.
            let named = if offered.is_empty() { Err(Code::CapabilityNotFound) } else { Ok(wanted.in_range(&offered)) };
            named.and_then(|found| if found.is_empty() { Err(Code::VersionMismatch) } else { Ok(found) })
        });
        match found {
            Ok(found) => {
                let descriptors = found.into_iter().map(Capability::descriptor).collect();
                let body = Cbor::map([("capabilities", Cbor::Array(descriptors))]);
                self.confirmed(message, vec![(typ::CAP_DECLARE, body)], now)
            }
            Err(code) => Answer::refused(self.voice(now), Cause::of(&message.headers), &code.into()),
        }
    }

    /// RFC 004, 7: the result of an invocation, or why it is not carried out.
    pub(super) fn invoke(&self, db: &Connection, message: &Authentic, now: u64) -> rusqlite::Result<Answer> {
        match self.permitted(db, message, now)? {
            Ok((params, acts_for)) => {
                kept::count(db, kept::RUNS)?;
                let result = Cbor::map([("params", params), ("acts_for", acts_for.as_str().into())]);
                let body = Cbor::map([("status", "success".into()), ("result", result)]);
                Ok(self.confirmed(message, vec![(typ::CAP_RESULT, body)], now))
            }
            Err(code) => Ok(Answer::refused(self.voice(now), Cause::of(&message.headers), &code.into())),
        }
    }

    /// The checks of an invocation in the order of RFC 004, 7.2; the parameters, and the party with the authority.
    fn permitted(
        &self,
        db: &Connection,
        message: &Authentic,
        now: u64,
    ) -> rusqlite::Result<Result<(Cbor, String), Code>> {
        let fault = self.rules().fault;
        let wanted = match Wanted::of_invocation(&message.body) {
            Ok(wanted) => wanted,
            Err(code) => return Ok(Err(code)),
        };
        // 4.6: evidence in ext is refused, whatever else it is beside.
        let outside = message.ext.as_ref().is_some_and(|ext| ext.get("delegation").is_some());
        // 4.6: and it never gives authority.
        let believed = outside && fault.is("delegation-in-ext-trusted");
        if outside && !believed && !fault.is("delegation-in-ext-ignored") {
            return Ok(Err(Code::DelegationInvalid));
        }
        let mut chain = None;
        if let Some(evidence) = message.body.get("delegation") {
            match self.evidence(db, evidence, &message.headers.from, now)? {
                Ok(found) => chain = Some(found),
                Err(code) => return Ok(Err(code)),
            }
        }
        let offered = wanted.named();
        let Some(first) = offered.first() else {
            // 15.3: an unknown capability is no failure of the node.
            let failed = fault.is("capability-unknown-as-5001");
            return Ok(Err(if failed { Code::InternalError } else { Code::CapabilityNotFound }));
        };
        let acts_for = match &chain {
            Some(chain) => chain.delegator.clone(),
            None => did::without_fragment(&message.headers.from).to_owned(),
        };
        // RFC 004, 7.2 (5): a guarded capability is for parties with authority.
        if first.guarded && !self.has_authority(&acts_for) && !believed {
            return Ok(Err(Code::Unauthorized));
        }
        // 15.3: only a version that is offered is carried out.
        let any = fault.is("capability-version-ignored").then_some(*first);
        let Some(selected) = wanted.selected(&offered).or(any) else { return Ok(Err(Code::VersionMismatch)) };
        // RFC 005, 6.1 (9): and only what the chain is about.
        if chain.is_some_and(|chain| !chain.covers(selected)) {
            return Ok(Err(Code::DelegationInvalid));
        }
        let params = message.body.get("params").cloned().unwrap_or(Cbor::Null);
        // The schema of every capability here is an object.
        if params.as_map().is_none() {
            return Ok(Err(Code::SchemaViolation));
        }
        Ok(Ok((params, acts_for)))
    }
}

//! Time (4.2, 8.3): the limits on the age of a message, on future times, and on the time in its id.

use super::codes::Code;
use super::message::{Headers, Message};
use super::message_id;
use super::rejection::{Rejection, Stage};
use super::rules::Rules;
use crate::cbor::Cbor;
use crate::fault::planted;

/// How far ts may be in the future (8.3): 30 seconds.
pub(crate) const MAX_CLOCK_SKEW_MS: u64 = 30_000;

/// The tolerance between the time in the id and ts (4.2, 8.3): one second.
const ID_TOLERANCE_MS: u64 = 1000;

/// 4.2, 8.3: the time inside the id is ts, give or take a second.
///
/// # Errors
///
/// [`Rejection`] with 1001.
pub(crate) fn check_id(headers: &Headers, rules: Rules) -> Result<(), Rejection> {
    let Some(time) = message_id::time(&headers.id) else {
        return Ok(()); // only where the length of ids is unchecked
    };
    let apart = headers.ts.abs_diff(time);
    // 8.3: exactly one second is still a match.
    let tolerance = if rules.fault.is("id-second-exclusive") { ID_TOLERANCE_MS - 1 } else { ID_TOLERANCE_MS };
    // E19: either half of the second counts.
    let late_only = rules.fault.is("id-time-checked-one-way") && time <= headers.ts;
    if apart <= tolerance || late_only || rules.fault.is("id-time-unchecked") {
        return Ok(());
    }
    // Other, E19: a matter of time.
    let code = if rules.is_other() { Code::InvalidTimestamp } else { Code::InvalidMessage };
    Err(Rejection::new(code, Stage::Envelope, "id and ts are more than a second apart"))
}

/// 8.3: not expired, and not from the future.
///
/// # Errors
///
/// [`Rejection`] with 1003.
pub(crate) fn check(message: &Message, now: u64, rules: Rules) -> Result<(), Rejection> {
    let headers = &message.headers;
    let fault = rules.fault;
    let mut ttl = headers.ttl;
    // 4.1: ttl is in milliseconds.
    planted!(fault, "ttl-in-seconds", ttl = ttl.saturating_mul(1000));
    // 8.3: a lifetime may be long, and offline recipients need it.
    planted!(fault, "ttl-capped-at-one-hour", ttl = ttl.min(3_600_000));
    // 8.7: ext does not affect the lifetime.
    let named = || message.ext.as_ref().and_then(|ext| ext.get("override_ttl")).and_then(Cbor::as_unsigned);
    planted!(fault, "ext-ttl-honoured", named in named() => ttl = named);
    // 8.3, E28: the sum does not wrap.
    let expiry =
        if fault.is("time-overflow-wraps") { headers.ts.wrapping_add(ttl) } else { headers.ts.saturating_add(ttl) };
    // Other, E28: an expiry beyond 64 bits is invalid.
    if rules.is_other() && headers.ts.checked_add(ttl).is_none() {
        return Err(Rejection::new(Code::InvalidTimestamp, Stage::Time, "ts + ttl does not fit"));
    }
    // 8.3: a message expires after its last millisecond.
    let expired = if fault.is("time-expiry-inclusive") { now >= expiry } else { now > expiry };
    // 8.3: the former limit of five minutes no longer exists.
    let stale = fault.is("time-five-minute-window") && now.saturating_sub(headers.ts) > 300_000;
    // 8.3: expiry has no tolerance.
    let tolerated = fault.is("time-expiry-tolerant") && now <= expiry.saturating_add(MAX_CLOCK_SKEW_MS);
    // Other, E27: an immediate message is not late while the clocks may differ.
    let immediate = rules.is_other() && ttl == 0 && now <= headers.ts.saturating_add(MAX_CLOCK_SKEW_MS);
    // 8.3: a ttl of zero is a ttl.
    let for_ever = headers.ttl == 0 && fault.is("ttl-zero-never-expires");
    if (expired || stale) && !tolerated && !immediate && !for_ever && !fault.is("time-expiry-unchecked") {
        // Other, E29: 2004 has the same meaning.
        let code = if rules.is_other() { Code::TtlExpired } else { Code::InvalidTimestamp };
        return Err(Rejection::new(code, Stage::Time, "expired"));
    }
    // 8.3: ts may be up to 30 seconds ahead, and not more.
    let limit = now.saturating_add(MAX_CLOCK_SKEW_MS);
    let early = match () {
        () if fault.is("time-skew-inclusive") => headers.ts >= limit,
        () if fault.is("time-no-skew") => headers.ts > now,
        () => headers.ts > limit,
    };
    if early && !fault.is("time-future-unchecked") {
        return Err(Rejection::new(Code::InvalidTimestamp, Stage::Time, "from the future"));
    }
    Ok(())
}

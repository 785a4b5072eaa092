//! What every protocol sees of an exchange, before it adds its own reading.

use chrono::DateTime;

use crate::exchange::{Ended, Exchange, Transport};
use crate::target::Target;
use crate::template::{Clock, format_time};
use crate::value::Value;
use crate::wire::json;

/// The observation of an exchange as far as no protocol is needed for it:
///
/// | place | holds |
/// |---|---|
/// | `/status` | status code, as the protocol names it where the target has aliases; for an adapter 200 for a result |
/// | `/headers/<name>` | header field, name in lower case, the first of several |
/// | `/media-type` | media type of the body, in lower case, without parameters |
/// | `/body` | the body as a value, if it is JSON |
/// | `/text` | the body as text, if it is UTF-8 |
/// | `/size` | bytes of the body |
/// | `/ended` | `complete`, `too-long`, `timed-out`, `closed` or `unreachable` |
/// | `/elapsed_ms` | milliseconds from the first byte sent to the last byte read |
/// | `/span/from`, `/span/to` | when the target can have made its answer, RFC 3339, clock skew included |
/// | `/sent` | the body that was sent, as a value, if it was JSON |
pub fn base(exchange: &Exchange, target: &Target, clock: Clock) -> Value {
    let received = &exchange.received;
    let mut view: Vec<(Value, Value)> = Vec::new();
    let mut put = |name: &str, value: Value| view.push((Value::text(name), value));
    if let Some(status) = received.status {
        put("status", Value::Integer(i128::from(target.status(status))));
    }
    let mut headers: Vec<(Value, Value)> = Vec::new();
    for (name, value) in &received.headers {
        let name = Value::text(name.to_ascii_lowercase());
        if !headers.iter().any(|(earlier, _)| *earlier == name) {
            headers.push((name, Value::text(value)));
        }
    }
    put("headers", Value::Map(headers));
    if let Some(media_type) = received.header("content-type") {
        let bare = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        put("media-type", Value::Text(bare));
    }
    if exchange.sent.transport == Transport::Http {
        if received.ended == Ended::Complete
            && let Ok(body) = json::parse(&received.body.0)
        {
            put("body", body);
        }
        if let Ok(sent) = json::parse(&exchange.sent.body.0) {
            put("sent", sent);
        }
    }
    if let Some(text) = received.body.text() {
        put("text", Value::text(text));
    }
    put("size", Value::from(received.body.len() as u64));
    let ended = match received.ended {
        Ended::Complete => "complete",
        Ended::TooLong => "too-long",
        Ended::TimedOut => "timed-out",
        Ended::Closed(_) => "closed",
        Ended::Unreachable(_) => "unreachable",
    };
    put("ended", Value::text(ended));
    put("elapsed_ms", Value::from(exchange.elapsed_ms));
    put("span", span(exchange, target, clock));
    Value::Map(view)
}

/// From just before the first byte was sent to just after the last was read, widened by the clock skew, and shifted by
/// the difference that the Date header shows if that is more than a second.
fn span(exchange: &Exchange, target: &Target, clock: Clock) -> Value {
    const MILLISECOND: i128 = 1_000_000;
    let sent = clock.0 + i128::from(exchange.started_ms) * MILLISECOND;
    let read = sent + i128::from(exchange.elapsed_ms) * MILLISECOND;
    let offset = exchange
        .received
        .header("date")
        .and_then(|date| DateTime::parse_from_rfc2822(date).ok())
        .map(|date| i128::from(date.timestamp()) * 1_000_000_000 - read)
        .filter(|offset| offset.abs() > 2_000 * MILLISECOND)
        .unwrap_or(0);
    let skew = i128::try_from(target.limits.clock_skew.as_nanos()).unwrap_or(0);
    let show = |instant: i128| {
        let fraction = instant.rem_euclid(1_000_000_000) / MILLISECOND;
        Value::Text(format!("{}.{fraction:03}Z", format_time(instant)))
    };
    Value::map([("from", show(sent + offset - skew)), ("to", show(read + offset + skew + 1_000 * MILLISECOND))])
}

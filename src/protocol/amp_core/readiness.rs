//! Whether an endpoint of AMP can be judged at all, from what its probes received.

use crate::exchange::{Arrival, ArrivalKind, Exchange, Transport};
use crate::protocol::Probed;
use crate::target::Target;
use crate::value::Value;
use crate::wire::{cbor, json};

/// The types of frames (RFC 002 section 4.3).
const FRAME_TYPES: std::ops::RangeInclusive<u16> = 1..=6;

/// Why no case can be judged, in three sentences: what was observed, what it means, what to do.
pub(super) fn not_ready(target: &Target, probes: &[Probed]) -> Option<[String; 3]> {
    without_did(target, probes).or_else(|| other_frames(target, probes))
}

/// No message can be addressed to a target whose DID is unknown.
fn without_did(target: &Target, probes: &[Probed]) -> Option<[String; 3]> {
    let is_configured = target.setting("did").is_some() || target.setting("did_document").is_some();
    let is_endpoint = probes.iter().any(|(transport, _)| *transport != Transport::Adapter);
    if is_configured || !is_endpoint {
        return None;
    }
    let mut fetched = probes.iter().flat_map(|(_, exchanges)| exchanges).filter(|one| one.operation == "document");
    let names_itself = |exchange: &Exchange| {
        let document = json::parse(&exchange.received.body.0).ok()?;
        document.member("id").and_then(Value::as_text).map(str::to_owned)
    };
    if fetched.any(|exchange| names_itself(exchange).is_some()) {
        return None;
    }
    let observed = match target.url {
        Some(_) => "the target publishes no DID document under /.well-known/did.json",
        None => "no DID document can be fetched: the target has no `url`",
    };
    Some([
        observed.to_owned(),
        "the DID of the target is unknown, so that no message can be addressed to it".to_owned(),
        "give `settings: { did: ... }` in the target file, and `did_document` unless it is a did:key".to_owned(),
    ])
}

/// Frames with a type byte are read as frames without one, or the reverse.
fn other_frames(target: &Target, probes: &[Probed]) -> Option<[String; 3]> {
    let exchanges = probes.iter().filter(|(transport, _)| *transport == Transport::Tcp).flat_map(|(_, all)| all);
    let frames: Vec<&Arrival> = exchanges
        .flat_map(|exchange| &exchange.received.arrived)
        .filter(|arrival| arrival.kind == ArrivalKind::TcpFrame)
        .collect();
    if frames.is_empty() {
        return None;
    }
    let is_map = |bytes: &[u8]| cbor::parse(bytes).is_ok_and(|value| value.as_map().is_some());
    let is_bare = target.setting("frames").and_then(Value::as_text) == Some("bare");
    let differs = |frame: &&Arrival| match (is_bare, frame.code, frame.body.0.as_slice()) {
        // The type is the first byte of a map.
        (false, Some(code), rest) => {
            let first = u8::try_from(code).unwrap_or_default();
            !FRAME_TYPES.contains(&code) && is_map(&[&[first], rest].concat())
        }
        // The first byte is a type.
        (true, _, [first, rest @ ..]) => {
            FRAME_TYPES.contains(&u16::from(*first)) && !is_map(&frame.body.0) && is_map(rest)
        }
        _ => false,
    };
    if !frames.iter().all(differs) {
        return None;
    }
    let (observed, other) = match is_bare {
        false => ("every frame over TCP begins with a message and has no type byte", "bare"),
        true => ("every frame over TCP begins with a type byte", "typed"),
    };
    let used = if is_bare { "bare" } else { "typed" };
    Some([
        observed.to_owned(),
        format!("the target uses other frames than `frames: {used}`, so that no message can be read"),
        format!("set `settings: {{ frames: {other} }}` in the target file"),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::{Body, Ended, Incoming, Outgoing, TargetClass};

    fn probes(frames: &[(Option<u16>, &[u8])]) -> Vec<Probed> {
        let mut received = Incoming::nothing(Ended::Complete);
        received.arrived = frames
            .iter()
            .map(|(code, body)| Arrival {
                kind: ArrivalKind::TcpFrame,
                code: *code,
                body: Body::from(body.to_vec()),
                at_ms: 0,
                host: String::new(),
            })
            .collect();
        let sent = Outgoing {
            transport: Transport::Tcp,
            method: String::new(),
            url: String::new(),
            headers: Vec::new(),
            body: Body::default(),
        };
        let exchange = Exchange {
            step: 0,
            round: 0,
            actor: String::new(),
            operation: "submit".to_owned(),
            sent,
            received,
            started_ms: 0,
            elapsed_ms: 0,
            clock_ms: 0,
            hosted: None,
        };
        vec![(Transport::Tcp, vec![exchange])]
    }

    fn target(frames: &str) -> Target {
        let mut target = Target::new(TargetClass::Endpoint, "t");
        target.settings.insert("frames".to_owned(), Value::text(frames));
        target.settings.insert("did".to_owned(), Value::text("did:web:x.example"));
        target
    }

    fn advice(frames: &str, arrived: &[(Option<u16>, &[u8])]) -> Option<String> {
        not_ready(&target(frames), &probes(arrived)).map(|[_, _, advice]| advice)
    }

    #[test]
    fn frames_of_the_other_kind_are_recognised() {
        // A map with one member, in a frame without a type: its first byte is taken for the type.
        let bare = advice("typed", &[(Some(0xa1), &[0x61, 0x76, 0x01])]);
        assert!(bare.is_some_and(|advice| advice.contains("frames: bare")));
        // An ERROR frame read as a message.
        let typed = advice("bare", &[(None, &[0x06, 0xa1, 0x61, 0x76, 0x01])]);
        assert!(typed.is_some_and(|advice| advice.contains("frames: typed")));
    }

    #[test]
    fn invalid_frames_are_left_to_the_cases() {
        assert_eq!(advice("typed", &[(Some(0x7f), &[0x00])]), None);
        assert_eq!(advice("typed", &[(Some(0x01), &[0xff]), (Some(0xa1), &[0x61, 0x76, 0x01])]), None);
        assert_eq!(advice("bare", &[(None, &[0xa1, 0x61, 0x76, 0x01])]), None);
        assert_eq!(advice("bare", &[]), None);
    }
}

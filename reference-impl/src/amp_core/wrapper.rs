//! What carries messages over HTTP besides themselves (RFC 002, 6.2, 6.3, 6.5, 6.6): closed maps around the bytes of a
//! message.

use super::codes::Code;
use super::did;
use super::envelope;
use super::rules::Rules;
use crate::cbor::{self, Cbor, Limits};

/// Which wrapper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wrapper {
    /// The answer to polling (6.2).
    Poll,
    /// A message from relay to relay (6.5).
    Forward,
    /// A report that custody passed on (6.6).
    Commit,
    /// A message for a webhook (6.3).
    Webhook,
}

/// The type of a member.
#[derive(Clone, Copy)]
enum Kind {
    Bool,
    Bytes,
    BytesList,
    Cursor,
    Did,
    DidList,
    Mode,
    One,
    Unsigned,
}

impl Kind {
    fn fits(self, value: &Cbor) -> bool {
        let all = |fits: fn(&Cbor) -> bool| value.as_array().is_some_and(|items| items.iter().all(fits));
        let is_did = |value: &Cbor| value.as_text().is_some_and(did::is_did);
        match self {
            Self::Bool => value.as_bool().is_some(),
            Self::Bytes => value.as_bytes().is_some(),
            Self::BytesList => all(|item| item.as_bytes().is_some()),
            Self::Cursor => *value == Cbor::Null || value.as_text().is_some(),
            Self::Did => is_did(value),
            Self::DidList => all(is_did),
            Self::Mode => matches!(value.as_text(), Some("single" | "dual")),
            Self::One => *value == Cbor::Unsigned(1),
            Self::Unsigned => value.as_unsigned().is_some(),
        }
    }
}

impl Wrapper {
    /// The wrapper of a name in the adapter protocol.
    #[must_use]
    pub(crate) fn parse(word: &str) -> Option<Self> {
        match word {
            "poll" => Some(Self::Poll),
            "forward" => Some(Self::Forward),
            "commit" => Some(Self::Commit),
            "webhook" => Some(Self::Webhook),
            _ => None, // no wrapper
        }
    }

    fn schema(self) -> &'static [(&'static str, Kind)] {
        match self {
            Self::Poll => &[("messages", Kind::BytesList), ("next_cursor", Kind::Cursor), ("has_more", Kind::Bool)],
            Self::Webhook => &[("message", Kind::Bytes), ("relay", Kind::Did), ("sent_at", Kind::Unsigned)],
            Self::Commit => &[("commit_v", Kind::One), ("commit_receipt", Kind::Bytes)],
            Self::Forward => &[
                ("fwd_v", Kind::One),
                ("message", Kind::Bytes),
                ("from_did", Kind::Did),
                ("recipient_did", Kind::Did),
                ("relay_path", Kind::DidList),
                ("hop_limit", Kind::Unsigned),
                ("upstream_relay", Kind::Did),
                ("transfer_mode", Kind::Mode),
            ],
        }
    }

    /// Reads a wrapper: exactly the members of its schema, consistent with the message.
    ///
    /// # Errors
    ///
    /// 1004 for another version of the wrapper, 1001 for everything else.
    pub(crate) fn decode(self, bytes: &[u8], rules: Rules) -> Result<Cbor, Code> {
        let item = cbor::read(bytes, Limits::default()).map_err(|_| Code::InvalidMessage)?;
        let pairs = item.value.as_map().ok_or(Code::InvalidMessage)?;
        let schema = self.schema();
        for (name, kind) in schema {
            let value = item.value.get(name);
            // RFC 002, 6.5 and 6.6: another version is another wrapper.
            let other_version = matches!(kind, Kind::One) && value.and_then(Cbor::as_unsigned).is_some();
            // RFC 002, A.4: every member is there, and of its type.
            let good = match value {
                None => rules.fault.is("wrapper-missing-member-accepted"),
                Some(value) => kind.fits(value) || rules.fault.is("wrapper-types-unchecked"),
            };
            if !good {
                return Err(if other_version { Code::UnsupportedVersion } else { Code::InvalidMessage });
            }
        }
        // RFC 002, 6.2: and no other.
        let known = |key: &Cbor| schema.iter().any(|(name, _)| key.as_text() == Some(name));
        if item.form.repeated_key || !pairs.iter().all(|(key, _)| known(key)) {
            return Err(Code::InvalidMessage);
        }
        // RFC 002, 6.2: more pages need a cursor.
        let more = item.value.get("has_more") == Some(&Cbor::Bool(true));
        if more && item.value.get("next_cursor") == Some(&Cbor::Null) {
            return Err(Code::InvalidMessage);
        }
        if self == Self::Forward {
            consistent(&item.value, rules)?;
        }
        Ok(item.value)
    }
}

/// RFC 002, 6.5: sender and recipient are those of the message.
fn consistent(wrapper: &Cbor, rules: Rules) -> Result<(), Code> {
    let text = |name| wrapper.get(name).and_then(Cbor::as_text).unwrap_or_default();
    let message = wrapper.get("message").and_then(Cbor::as_bytes).unwrap_or_default();
    let message = envelope::parse(message, rules).map_err(|malformed| malformed.code)?;
    let from = did::is_same(&message.headers.from, text("from_did"));
    let recipient = text("recipient_did");
    let to = message.headers.to.all().iter().any(|to| did::is_same(to, recipient));
    if from && to { Ok(()) } else { Err(Code::InvalidMessage) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::amp_core::build;
    use crate::amp_core::keys::Identity;
    use crate::amp_core::message::{Headers, To};

    #[test]
    fn a_forward_wrapper_is_consistent_with_its_message() {
        let (alice, bob) = (Identity::of_seed([1; 32]), Identity::of_seed([2; 32]));
        let headers = Headers::new(&alice, To::One(bob.did.clone()), 0x10, 1, 1, Rules::PLAIN);
        let message = build::plain(&alice, headers, Cbor::Null, None, Rules::PLAIN).message;
        let good = Cbor::map([
            ("fwd_v", 1.into()),
            ("message", message.into()),
            ("from_did", alice.did.as_str().into()),
            ("recipient_did", bob.did.as_str().into()),
            ("relay_path", Cbor::Array(Vec::new())),
            ("hop_limit", 8.into()),
            ("upstream_relay", "did:x:r".into()),
            ("transfer_mode", "dual".into()),
        ]);
        let decode = |wrapper: &Cbor| Wrapper::Forward.decode(&cbor::encode(wrapper), Rules::PLAIN).map(drop);
        let with = |name: &str, value: Cbor| {
            let mut wrapper = good.clone();
            wrapper.set(name, value);
            decode(&wrapper)
        };
        assert_eq!((decode(&good), with("fwd_v", 2.into())), (Ok(()), Err(Code::UnsupportedVersion)));
        for (name, value) in [
            ("fwd_v", "1".into()),
            ("from_did", bob.did.as_str().into()),
            ("recipient_did", alice.did.as_str().into()),
            ("transfer_mode", "triple".into()),
            ("message", Cbor::Bytes(vec![0; 32])),
            ("x", Cbor::Null),
        ] {
            assert_eq!(with(name, value), Err(Code::InvalidMessage), "{name}");
        }
        for (name, _) in good.as_map().expect("a map") {
            let pairs = good.as_map().expect("a map").iter().filter(|(key, _)| key != name).cloned();
            assert_eq!(decode(&Cbor::Map(pairs.collect())), Err(Code::InvalidMessage), "{name:?}");
        }
    }

    #[test]
    fn other_wrappers() {
        let decode = |wrapper: Wrapper, value: &Cbor| wrapper.decode(&cbor::encode(value), Rules::PLAIN).map(drop);
        let poll = |cursor: Cbor, more: bool| {
            let messages = Cbor::Array(Vec::new());
            decode(
                Wrapper::Poll,
                &Cbor::map([("messages", messages), ("next_cursor", cursor), ("has_more", more.into())]),
            )
        };
        assert_eq!((poll(Cbor::Null, false), poll("c".into(), true)), (Ok(()), Ok(())));
        assert_eq!(
            (poll(Cbor::Null, true), poll(1.into(), false)),
            (Err(Code::InvalidMessage), Err(Code::InvalidMessage))
        );
        let commit = |version: u64| Cbor::map([("commit_v", version.into()), ("commit_receipt", Cbor::Bytes(vec![]))]);
        assert_eq!(decode(Wrapper::Commit, &commit(1)), Ok(()));
        assert_eq!(decode(Wrapper::Commit, &commit(2)), Err(Code::UnsupportedVersion));
        let webhook = Cbor::map([("message", Cbor::Bytes(vec![])), ("relay", "did:x:r".into()), ("sent_at", 1.into())]);
        assert_eq!(decode(Wrapper::Webhook, &webhook), Ok(()));
        assert_eq!((Wrapper::parse("poll"), Wrapper::parse("push")), (Some(Wrapper::Poll), None));
    }
}

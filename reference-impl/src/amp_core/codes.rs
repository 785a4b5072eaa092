//! The codes of the protocol: message types (4.3) and errors (15.2, 15.3).

/// Message types (4.3), by the names of the table there.
pub(crate) mod typ {
    pub(crate) const PING: u64 = 0x01;
    pub(crate) const PONG: u64 = 0x02;
    pub(crate) const ACK: u64 = 0x03;
    pub(crate) const PROC_OK: u64 = 0x04;
    pub(crate) const PROC_FAIL: u64 = 0x05;
    pub(crate) const CONTACT_REQUEST: u64 = 0x06;
    pub(crate) const CONTACT_RESPONSE: u64 = 0x07;
    pub(crate) const CONTACT_REVOKE: u64 = 0x08;
    pub(crate) const PROCESSING: u64 = 0x09;
    pub(crate) const INPUT_REQUIRED: u64 = 0x0b;
    pub(crate) const ERROR: u64 = 0x0f;
    pub(crate) const MESSAGE: u64 = 0x10;
    pub(crate) const REQUEST: u64 = 0x11;
    pub(crate) const RESPONSE: u64 = 0x12;
    pub(crate) const STREAM_START: u64 = 0x13;
    pub(crate) const STREAM_DATA: u64 = 0x14;
    pub(crate) const STREAM_END: u64 = 0x15;
    pub(crate) const BATCH: u64 = 0x16;
    pub(crate) const CAP_QUERY: u64 = 0x20;
    pub(crate) const CAP_DECLARE: u64 = 0x21;
    pub(crate) const CAP_INVOKE: u64 = 0x22;
    pub(crate) const CAP_RESULT: u64 = 0x23;
    pub(crate) const DOC_SEND: u64 = 0x30;
    pub(crate) const DOC_REQUEST: u64 = 0x31;
    pub(crate) const CRED_ISSUE: u64 = 0x40;
    pub(crate) const CRED_REQUEST: u64 = 0x41;
    pub(crate) const CRED_PRESENT: u64 = 0x42;
    pub(crate) const CRED_VERIFY: u64 = 0x43;
    pub(crate) const DELEG_GRANT: u64 = 0x50;
    pub(crate) const DELEG_REVOKE: u64 = 0x51;
    pub(crate) const DELEG_QUERY: u64 = 0x52;
    pub(crate) const HELLO: u64 = 0x70;
    pub(crate) const HELLO_ACK: u64 = 0x71;
    pub(crate) const HELLO_REJECT: u64 = 0x72;
}

/// Every assigned type (4.3), and whether this implementation handles it: the bodies and semantics of the others are in
/// companion documents, so they get 1005 (1.5, E39).
const TYPES: [(u64, &str, bool); 40] = [
    (0x01, "PING", true),
    (0x02, "PONG", true),
    (0x03, "ACK", true),
    (0x04, "PROC_OK", true),
    (0x05, "PROC_FAIL", true),
    (0x06, "CONTACT_REQUEST", false),
    (0x07, "CONTACT_RESPONSE", false),
    (0x08, "CONTACT_REVOKE", false),
    (0x09, "PROCESSING", false),
    (0x0a, "PROGRESS", false),
    (0x0b, "INPUT_REQUIRED", false),
    (0x0f, "ERROR", true),
    (0x10, "MESSAGE", true),
    (0x11, "REQUEST", true),
    (0x12, "RESPONSE", true),
    (0x13, "STREAM_START", true),
    (0x14, "STREAM_DATA", true),
    (0x15, "STREAM_END", true),
    (0x16, "BATCH", true),
    (0x20, "CAP_QUERY", false),
    (0x21, "CAP_DECLARE", false),
    (0x22, "CAP_INVOKE", false),
    (0x23, "CAP_RESULT", false),
    (0x30, "DOC_SEND", true),
    (0x31, "DOC_REQUEST", true),
    (0x40, "CRED_ISSUE", true),
    (0x41, "CRED_REQUEST", true),
    (0x42, "CRED_PRESENT", true),
    (0x43, "CRED_VERIFY", true),
    (0x50, "DELEG_GRANT", true),
    (0x51, "DELEG_REVOKE", true),
    (0x52, "DELEG_QUERY", true),
    (0x60, "PRESENCE", false),
    (0x61, "PRESENCE_QUERY", false),
    (0x62, "PRESENCE_SUB", false),
    (0x63, "PRESENCE_UNSUB", false),
    (0x70, "HELLO", true),
    (0x71, "HELLO_ACK", true),
    (0x72, "HELLO_REJECT", true),
    (0xf0, "EXTENSION", false),
];

/// The name of a type; `None` if the code is not assigned (E37).
#[must_use]
pub(crate) fn type_name(code: u64) -> Option<&'static str> {
    TYPES.iter().find(|(known, _, _)| *known == code).map(|(_, name, _)| *name)
}

/// The code of the type called `name`.
#[must_use]
pub(crate) fn type_code(name: &str) -> Option<u64> {
    TYPES.iter().find(|(_, known, _)| *known == name).map(|(code, _, _)| *code)
}

/// Whether messages of this type are handled here.
#[must_use]
pub(crate) fn is_handled(code: u64) -> bool {
    TYPES.iter().any(|(known, _, handled)| *known == code && *handled)
}

/// Whether a companion document defines the type, and a node handles it that is told to: contact (RFC 008), provisional
/// answers (RFC 006), capabilities (RFC 004).
#[must_use]
pub(crate) fn is_of_companion(code: u64) -> bool {
    matches!(code, typ::CONTACT_REQUEST..=typ::INPUT_REQUIRED | typ::CAP_QUERY..=typ::CAP_RESULT)
}

/// Whether this is one of the three types of the handshake (13.2).
#[must_use]
pub(crate) fn is_handshake(code: u64) -> bool {
    (typ::HELLO..=typ::HELLO_REJECT).contains(&code)
}

/// A standard error (15.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[rustfmt::skip]
pub(crate) enum Code {
    InvalidMessage, InvalidSignature, InvalidTimestamp, UnsupportedVersion, UnknownType,
    RecipientNotFound, EndpointUnreachable, RelayRejected, TtlExpired,
    Unauthorized, ContactRequired, ContactDenied, DelegationInvalid, RateLimited,
    BadRequest, CapabilityNotFound, VersionMismatch, SchemaViolation,
    InternalError, Unavailable, Timeout, Overloaded,
}

/// Number, name, and whether a retry may help.
const ERRORS: [(Code, u64, &str, bool); 22] = [
    (Code::InvalidMessage, 1001, "INVALID_MESSAGE", false),
    (Code::InvalidSignature, 1002, "INVALID_SIGNATURE", false),
    (Code::InvalidTimestamp, 1003, "INVALID_TIMESTAMP", false),
    (Code::UnsupportedVersion, 1004, "UNSUPPORTED_VERSION", false),
    (Code::UnknownType, 1005, "UNKNOWN_TYPE", false),
    (Code::RecipientNotFound, 2001, "RECIPIENT_NOT_FOUND", true),
    (Code::EndpointUnreachable, 2002, "ENDPOINT_UNREACHABLE", true),
    (Code::RelayRejected, 2003, "RELAY_REJECTED", true),
    (Code::TtlExpired, 2004, "TTL_EXPIRED", false),
    (Code::Unauthorized, 3001, "UNAUTHORIZED", false),
    (Code::ContactRequired, 3002, "CONTACT_REQUIRED", false),
    (Code::ContactDenied, 3003, "CONTACT_DENIED", false),
    (Code::DelegationInvalid, 3004, "DELEGATION_INVALID", false),
    (Code::RateLimited, 3005, "RATE_LIMITED", true),
    (Code::BadRequest, 4001, "BAD_REQUEST", false),
    (Code::CapabilityNotFound, 4002, "CAPABILITY_NOT_FOUND", false),
    (Code::VersionMismatch, 4003, "VERSION_MISMATCH", false),
    (Code::SchemaViolation, 4004, "SCHEMA_VIOLATION", false),
    (Code::InternalError, 5001, "INTERNAL_ERROR", true),
    (Code::Unavailable, 5002, "UNAVAILABLE", true),
    (Code::Timeout, 5003, "TIMEOUT", true),
    (Code::Overloaded, 5004, "OVERLOADED", true),
];

impl Code {
    fn row(self) -> (Self, u64, &'static str, bool) {
        ERRORS[self as usize] // a test holds the order of the table against that of the variants
    }

    /// The number.
    #[must_use]
    pub(crate) fn number(self) -> u64 {
        self.row().1
    }

    /// The name in the table of 15.3.
    #[must_use]
    pub(crate) fn name(self) -> &'static str {
        self.row().2
    }

    /// Whether sending the same message again may help.
    #[must_use]
    pub(crate) fn retry(self) -> bool {
        self.row().3
    }

    /// The error with this number.
    #[must_use]
    pub(crate) fn from_number(number: u64) -> Option<Self> {
        ERRORS.iter().find(|(_, known, _, _)| *known == number).map(|(code, ..)| *code)
    }
}

/// The category of any error number (15.2, E33): by its first digit.
#[must_use]
pub(crate) fn category(number: u64) -> Option<&'static str> {
    match number {
        1000..=1999 => Some("protocol"),
        2000..=2999 => Some("routing"),
        3000..=3999 => Some("security"),
        4000..=4999 => Some("client"),
        5000..=5999 => Some("server"),
        _ => None, // no range of 15.2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_in_order() {
        for (index, (code, number, name, _)) in ERRORS.into_iter().enumerate() {
            assert_eq!((code as usize, code.number(), code.name()), (index, number, name));
            assert_eq!(Code::from_number(number), Some(code));
            assert!(category(number).is_some());
        }
        assert!(TYPES.is_sorted_by_key(|(code, _, _)| *code));
        assert_eq!((type_name(0x16), type_code("BATCH")), (Some("BATCH"), Some(typ::BATCH)));
        assert_eq!((type_name(u64::MAX), type_code(""), Code::from_number(1000)), (None, None, None));
        for unassigned in [0x00, 0x0c, 0x17, 0x80, 0xf1, 0x110] {
            assert_eq!((type_name(unassigned), is_handled(unassigned)), (None, false));
        }
    }
}

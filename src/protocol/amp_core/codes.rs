//! The registries: message types (RFC 001 section 4.3) and error codes (sections 15.2 and 15.3).

/// Every assigned message type and its name.
pub const TYPES: &[(u64, &str)] = &[
    (0x01, "PING"),
    (0x02, "PONG"),
    (0x03, "ACK"),
    (0x04, "PROC_OK"),
    (0x05, "PROC_FAIL"),
    (0x06, "CONTACT_REQUEST"),
    (0x07, "CONTACT_RESPONSE"),
    (0x08, "CONTACT_REVOKE"),
    (0x09, "PROCESSING"),
    (0x0a, "PROGRESS"),
    (0x0b, "INPUT_REQUIRED"),
    (0x0f, "ERROR"),
    (0x10, "MESSAGE"),
    (0x11, "REQUEST"),
    (0x12, "RESPONSE"),
    (0x13, "STREAM_START"),
    (0x14, "STREAM_DATA"),
    (0x15, "STREAM_END"),
    (0x16, "BATCH"),
    (0x20, "CAP_QUERY"),
    (0x21, "CAP_DECLARE"),
    (0x22, "CAP_INVOKE"),
    (0x23, "CAP_RESULT"),
    (0x30, "DOC_SEND"),
    (0x31, "DOC_REQUEST"),
    (0x40, "CRED_ISSUE"),
    (0x41, "CRED_REQUEST"),
    (0x42, "CRED_PRESENT"),
    (0x43, "CRED_VERIFY"),
    (0x50, "DELEG_GRANT"),
    (0x51, "DELEG_REVOKE"),
    (0x52, "DELEG_QUERY"),
    (0x60, "PRESENCE"),
    (0x61, "PRESENCE_QUERY"),
    (0x62, "PRESENCE_SUB"),
    (0x63, "PRESENCE_UNSUB"),
    (0x70, "HELLO"),
    (0x71, "HELLO_ACK"),
    (0x72, "HELLO_REJECT"),
    (0xf0, "EXTENSION"),
];

/// The name of an assigned message type.
pub fn type_name(code: u64) -> Option<&'static str> {
    TYPES.iter().find(|(assigned, _)| *assigned == code).map(|(_, name)| *name)
}

/// The code of a message type by name.
pub fn type_code(name: &str) -> Option<u64> {
    TYPES.iter().find(|(_, assigned)| *assigned == name).map(|(code, _)| *code)
}

/// A message type for readers: its name and code in hex, or the code alone.
pub fn type_words(code: u64) -> String {
    type_name(code).map_or_else(|| format!("0x{code:02X}"), |name| format!("{name} (0x{code:02X})"))
}

/// The range of RFC 001 section 4.3 that a code falls into.
pub fn type_range(code: u64) -> &'static str {
    match code {
        0x00..=0x0f => "CONTROL",
        0x10..=0x1f => "MESSAGE",
        0x20..=0x2f => "CAPABILITY",
        0x30..=0x3f => "DOCUMENT",
        0x40..=0x4f => "CREDENTIAL",
        0x50..=0x5f => "DELEGATION",
        0x60..=0x6f => "PRESENCE",
        0x70..=0x7f => "HANDSHAKE",
        0xf0..=0xff => "EXTENSION",
        _ => "unassigned",
    }
}

/// One row of RFC 001 section 15.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorCode {
    /// The code.
    pub code: u64,
    /// Its name.
    pub name: &'static str,
    /// Whether the same message may be sent again.
    pub retry: bool,
    /// Whether the opposite is accepted as well (erratum E33 for 2003).
    pub retry_free: bool,
}

impl ErrorCode {
    /// The category by the first digit, in small letters (section 15.2, erratum E33).
    pub fn category(self) -> &'static str {
        category(self.code).unwrap_or_default()
    }
}

/// Every row of section 15.3.
pub const ERRORS: &[ErrorCode] = &[
    row(1001, "INVALID_MESSAGE", false),
    row(1002, "INVALID_SIGNATURE", false),
    row(1003, "INVALID_TIMESTAMP", false),
    row(1004, "UNSUPPORTED_VERSION", false),
    row(1005, "UNKNOWN_TYPE", false),
    row(2001, "RECIPIENT_NOT_FOUND", true),
    row(2002, "ENDPOINT_UNREACHABLE", true),
    ErrorCode { retry_free: true, ..row(2003, "RELAY_REJECTED", true) },
    row(2004, "TTL_EXPIRED", false),
    row(3001, "UNAUTHORIZED", false),
    row(3002, "CONTACT_REQUIRED", false),
    row(3003, "CONTACT_DENIED", false),
    row(3004, "DELEGATION_INVALID", false),
    row(3005, "RATE_LIMITED", true),
    row(4001, "BAD_REQUEST", false),
    row(4002, "CAPABILITY_NOT_FOUND", false),
    row(4003, "VERSION_MISMATCH", false),
    row(4004, "SCHEMA_VIOLATION", false),
    row(5001, "INTERNAL_ERROR", true),
    row(5002, "UNAVAILABLE", true),
    row(5003, "TIMEOUT", true),
    row(5004, "OVERLOADED", true),
];

const fn row(code: u64, name: &'static str, retry: bool) -> ErrorCode {
    ErrorCode { code, name, retry, retry_free: false }
}

/// The row of an error code.
pub fn error(code: u64) -> Option<ErrorCode> {
    ERRORS.iter().copied().find(|row| row.code == code)
}

/// An error code for readers: the number and its name.
pub fn error_words(code: u64) -> String {
    error(code).map_or_else(|| code.to_string(), |row| format!("{code} {}", row.name))
}

/// The category of a code by its first digit (section 15.2); `None` outside 1000 to 5999.
pub fn category(code: u64) -> Option<&'static str> {
    match code {
        1000..=1999 => Some("protocol"),
        2000..=2999 => Some("routing"),
        3000..=3999 => Some("security"),
        4000..=4999 => Some("client"),
        5000..=5999 => Some("server"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_registries_are_sorted_and_invertible() {
        assert!(TYPES.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert!(ERRORS.windows(2).all(|pair| pair[0].code < pair[1].code));
        for (code, name) in TYPES {
            assert_eq!((type_name(*code), type_code(name)), (Some(*name), Some(*code)));
        }
        assert_eq!((TYPES.len(), ERRORS.len()), (40, 22));
        // Erratum E37: what section 4.3 does not assign is unknown.
        for code in [0x00, 0x0c, 0x0e, 0x17, 0x24, 0x32, 0x44, 0x53, 0x64, 0x73, 0x80, 0xef, 0xf1, 0xff, 0x110] {
            assert_eq!(type_name(code), None, "{code:x}");
        }
        assert_eq!(type_code("NOTHING"), None);
        assert_eq!((type_words(0x10), type_words(0x110)), ("MESSAGE (0x10)".into(), "0x110".into()));
    }

    #[test]
    fn errors_have_a_category_and_retry() {
        assert_eq!(error(2003).map(|row| (row.category(), row.retry, row.retry_free)), Some(("routing", true, true)));
        assert_eq!(
            error(1002).map(|row| (row.category(), row.retry, row.retry_free)),
            Some(("protocol", false, false))
        );
        let retried: Vec<u64> = ERRORS.iter().filter(|row| row.retry).map(|row| row.code).collect();
        assert_eq!(retried, [2001, 2002, 2003, 3005, 5001, 5002, 5003, 5004]);
        assert_eq!((error(1006), category(999), category(6000)), (None, None, None));
        assert_eq!(error_words(3001), "3001 UNAUTHORIZED");
    }
}

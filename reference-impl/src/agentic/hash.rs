//! Section 6.6: the content hash, which is SHA-256 over the canonical form of the current package.
//!
//! It is stored next to the package, never inside it. Written as `sha256:` and 64 lower-case hexadecimal digits (E03).

use std::borrow::Cow;

use sha2::{Digest, Sha256};

use super::canonical::canonical_object;
use super::faults::hash as faults;
use super::package::CORE_MEMBERS;
use super::rules::Rules;
use crate::fault::{Planted, planted};
use crate::json::Object;

const PREFIX: &str = "sha256:";

/// The content hash of `package`, which was read from `source`.
pub(crate) fn content_hash(package: &Object, source: &[u8], rules: Rules) -> String {
    let form = canonical_object(&hashed(package, rules), source, rules);
    // 6.6: over the canonical form, not over the received bytes.
    let digest =
        if rules.fault.is("hash-over-raw-body") { Sha256::digest(source) } else { Sha256::digest(form.as_bytes()) };
    let length = if rules.fault.is("hash-wrong-algorithm") { 16 } else { digest.len() };
    format!("{PREFIX}{}", hex(&digest[..length]))
}

/// The hashed members: all, including unknown ones (6.6) and those of `created_by` (5.4), with no default added or
/// removed (E09).
fn hashed(package: &Object, rules: Rules) -> Cow<'_, Object> {
    if rules.fault == Planted::NONE {
        return Cow::Borrowed(package);
    }
    let mut hashed = package.clone();
    planted!(rules.fault, "hash-known-members-only", hashed.retain(|name, _| CORE_MEMBERS.contains(&name)));
    planted!(rules.fault, "hash-known-nested-only", faults::only_known_nested(&mut hashed));
    planted!(rules.fault, "hash-includes-itself", hashed.set("content_hash", ""));
    planted!(rules.fault, "hash-ignores-attribution", hashed.remove("created_by"));
    planted!(rules.fault, "hash-without-session", faults::remove_session(&mut hashed));
    faults::ignore_members(rules.fault, &mut hashed);
    planted!(rules.fault, "hash-fills-defaults", faults::fill_defaults(&mut hashed));
    planted!(rules.fault, "hash-strips-defaults", faults::strip_defaults(&mut hashed));
    Cow::Owned(hashed)
}

/// Whether `claimed` is the content hash of `package`; the algorithm prefix may be absent, letters of either case.
pub(crate) fn verify(package: &Object, source: &[u8], claimed: &str, rules: Rules) -> bool {
    // 6.6: verification compares with a freshly computed hash.
    planted!(rules.fault, "verify-says-yes", return true);
    let claimed = claimed.to_ascii_lowercase();
    let computed = content_hash(package, source, rules);
    claimed.strip_prefix(PREFIX).unwrap_or(&claimed) == computed.strip_prefix(PREFIX).unwrap_or(&computed)
}

/// `bytes` in lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Value;

    fn package(text: &str) -> Object {
        match crate::json::read(text.as_bytes()) {
            Ok(Value::Object(package)) => package,
            other => panic!("not an object: {other:?}"),
        }
    }

    const EXAMPLE: &str = r#"{
      "package_id": "pkg_1a2b3c4d5e6f7a8b9c0d1e2f3a4b5c6d", "project_id": "proj_dev_relay", "relay_version": "0.1",
      "title": "Shipped archive/de-archive", "status": "complete", "package_type": "milestone", "review_type": "none",
      "created_at": "2026-04-18T20:00:00Z", "created_by": { "id": "jordan", "type": "human", "session_id": null },
      "tags": ["archive", "cli"], "decisions_made": ["Soft archive via archived_at timestamp"], "open_questions": [],
      "handoff_note": "Migration 009 applied, dashboard filter works."
    }"#;

    #[test]
    fn the_example_of_section_6_7_has_its_hash() {
        let hash = content_hash(&package(EXAMPLE), EXAMPLE.as_bytes(), Rules::plain());
        assert_eq!(hash, "sha256:0efe5d06aaaaf2dc735b3f9ce7cfc1a0f7cd715491ab61d991f57be1d4c0db33");
        assert!(verify(&package(EXAMPLE), b"", &hash.to_uppercase(), Rules::plain()));
        assert!(verify(&package(EXAMPLE), b"", &hash[7..], Rules::plain()));
        assert!(!verify(&package(EXAMPLE), b"", &"0".repeat(64), Rules::plain()));
    }

    #[test]
    fn the_empty_object_has_the_hash_of_two_braces() {
        let hash = content_hash(&Object::new(), b"", Rules::plain());
        assert_eq!(hash, "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
    }
}

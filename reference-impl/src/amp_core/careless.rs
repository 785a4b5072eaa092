//! Mistakes of careless parsers and of signature paths, which no case of the suites checks: the fuzzer must find them.
//!
//! Planted by name, as all faults; those that accept forgeries are in their place in the code, those that panic are
//! here.

use super::codes::typ;
use super::message::{Content, Headers};
use super::rules::Rules;
use crate::cbor::Cbor;
use crate::fault::{Fault, Needs, Planted};

/// The table.
#[rustfmt::skip]
pub(crate) const FAULTS: &[Fault] = &[
    Fault { name: "cbor-simple-panics", level: "core", needs: Needs::Nothing, breaks: &["AMP-3.4-01"],
        summary: "Panics on an unknown simple value." },
    Fault { name: "cbor-bignum-panics", level: "core", needs: Needs::Nothing, breaks: &["AMP-3.4-01"],
        summary: "Copies a big number into eight bytes." },
    Fault { name: "cbor-nan-panics", level: "core", needs: Needs::Nothing, breaks: &["AMP-3.4-01"],
        summary: "Panics on a NaN." },
    Fault { name: "cbor-deep-panics", level: "core", needs: Needs::Nothing, breaks: &["AMP-3.4-01"],
        summary: "Fails at more than 50 levels, as a recursive reader without a bound does." },
    Fault { name: "cbor-empty-chunks-panics", level: "core", needs: Needs::Nothing, breaks: &["AMP-3.4-01"],
        summary: "Panics on a string of indefinite length without chunks." },
    Fault { name: "cbor-null-key-panics", level: "core", needs: Needs::Nothing, breaks: &["AMP-3.4-01"],
        summary: "Fails at a map with a key that is null." },
    Fault { name: "cbor-list-blows-up", level: "core", needs: Needs::Nothing, breaks: &["AMP-3.4-01"],
        summary: "Compares each item of an array with each other one, again and again." },
    Fault { name: "cbor-cut-letter-panics", level: "core", needs: Needs::Nothing, breaks: &["AMP-3.4-01"],
        summary: "Cuts strings at byte 63 for a log, also within a character." },
    Fault { name: "expiry-overflows", level: "core", needs: Needs::Nothing, breaks: &["AMP-3.4-01"],
        summary: "Adds ttl to ts without looking whether the sum fits." },
    Fault { name: "did-key-cut-panics", level: "core", needs: Needs::Nothing, breaks: &["AMP-3.4-01"],
        summary: "Panics on a did:key without bytes after its prefix." },
    Fault { name: "did-without-method-panics", level: "core", needs: Needs::Nothing, breaks: &["AMP-3.4-01"],
        summary: "Panics on a DID that is only a fragment." },
    Fault { name: "box-short-panics", level: "core", needs: Needs::Nothing, breaks: &["AMP-3.4-01"],
        summary: "Takes the tag off a ciphertext that is shorter than one." },
    Fault { name: "verify-skipped-for-an-empty-thread", level: "core", needs: Needs::Nothing, breaks: &["AMP-8.2-06"],
        summary: "Does not verify a message whose thread_id is empty." },
    Fault { name: "verify-skipped-for-one-type", level: "core", needs: Needs::Nothing, breaks: &["AMP-8.2-06"],
        summary: "Does not verify a CRED_VERIFY." },
    Fault { name: "verify-skipped-behind-a-box", level: "core", needs: Needs::Nothing, breaks: &["AMP-8.2-06"],
        summary: "Does not verify an encrypted message whose ttl is odd." },
    Fault { name: "verify-looks-through-tags", level: "core", needs: Needs::Nothing, breaks: &["AMP-8.2-06"],
        summary: "Takes the tags off a body before it verifies it." },
];

/// Fails as the planted mistake does, if these bytes make it show.
pub(crate) fn read(fault: Planted, bytes: &[u8]) {
    if fault.is("cbor-empty-chunks-panics") {
        let empty = bytes.windows(2).any(|two| two == [0x5f, 0xff] || two == [0x7f, 0xff]);
        assert!(!empty, "the string has no chunks");
    }
}

/// The same for decoded values.
pub(crate) fn look(fault: Planted, value: &Cbor, depth: usize) {
    assert!(!(fault.is("cbor-deep-panics") && depth > 50), "the stack is at its end");
    match value {
        Cbor::Simple(_) => assert!(!fault.is("cbor-simple-panics"), "unknown simple value"),
        Cbor::Float(float) => assert!(!(fault.is("cbor-nan-panics") && float.is_nan()), "no number to compare with"),
        Cbor::Tag(number, content) => {
            let long = matches!(&**content, Cbor::Bytes(bytes) if bytes.len() > 8) && matches!(number, 2 | 3);
            assert!(!(fault.is("cbor-bignum-panics") && long), "the big number does not fit");
            look(fault, content, depth + 1);
        }
        Cbor::Text(text) => {
            let cut = fault.is("cbor-cut-letter-panics") && text.len() > 63 && !text.is_char_boundary(63);
            assert!(!cut, "no string ends there");
        }
        Cbor::Array(items) => {
            if fault.is("cbor-list-blows-up") && items.len() >= 1000 {
                let work =
                    (0..items.len() * items.len() * 5_000).fold(0_usize, |sum, step| std::hint::black_box(sum ^ step));
                std::hint::black_box(work);
            }
            items.iter().for_each(|item| look(fault, item, depth + 1));
        }
        Cbor::Map(pairs) => {
            for (key, value) in pairs {
                assert!(!(fault.is("cbor-null-key-panics") && *key == Cbor::Null), "a key without a name");
                look(fault, value, depth + 1);
            }
        }
        Cbor::Unsigned(_) | Cbor::Negative(_) | Cbor::Bytes(_) | Cbor::Bool(_) | Cbor::Null => {}
    }
}

/// The same for the fields of a message.
pub(crate) fn take_apart(fault: Planted, value: &Cbor) {
    let number = |name: &str| value.get(name).and_then(Cbor::as_unsigned).unwrap_or_default();
    if fault.is("expiry-overflows") {
        assert!(number("ts").checked_add(number("ttl")).is_some(), "the sum does not fit");
    }
    for party in ["from", "to"].iter().filter_map(|name| value.get(name).and_then(Cbor::as_text)) {
        let cut = party.strip_prefix("did:key:z").is_some_and(|key| key.len() < 4);
        assert!(!(fault.is("did-key-cut-panics") && cut), "no bytes after the prefix");
        assert!(!(fault.is("did-without-method-panics") && party.starts_with('#')), "the DID has no method");
    }
    if fault.is("box-short-panics") {
        let ciphertext = value.get("enc").and_then(|enc| enc.get("ciphertext")).and_then(Cbor::as_bytes);
        assert!(ciphertext.is_none_or(|bytes| bytes.len() >= 16), "the ciphertext has no tag");
    }
}

/// Whether a planted fault accepts a message whose signature does not verify.
pub(crate) fn is_let_through(headers: &Headers, content: &Content, rules: Rules) -> bool {
    let fault = rules.fault;
    let sealed = matches!(content, Content::Sealed { .. });
    let empty = headers.thread_id.as_ref().is_some_and(Vec::is_empty);
    let tagged = matches!(content, Content::Plain { body: Cbor::Tag(..), .. });
    (empty && fault.is("verify-skipped-for-an-empty-thread"))
        || (headers.typ == typ::CRED_VERIFY && fault.is("verify-skipped-for-one-type"))
        || (sealed && headers.ttl % 2 == 1 && fault.is("verify-skipped-behind-a-box"))
        // A body that was wrapped in transit equals the signed one after unwrapping.
        || (tagged && fault.is("verify-looks-through-tags"))
}

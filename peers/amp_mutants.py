"""Typical bugs of real AMP implementations, one at a time.

Each names the requirements that it breaks. A bug is
- a rule that is left out (`skip`), possibly for some messages only (`where`), or answered with another code (`codes`),
- another form of the signed bytes (`sig`, on the `side` out, either or both),
- a change to sent messages (`place`, `change`),
- a type that is reported as unknown (`lacks`),
- or a place in the server that checks `bug(name)`.

`shows`: where it is visible (any, http, ws, tcp, relay, poll, initiator, clock, parallel). `fatal`: almost nothing works, so a
harness may stop before its first case; a run with any exit code but 0 has detected it. `kind`: see `amp_sequence_mutants`.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Mutant:
    name: str
    about: str
    breaks: tuple
    shows: str = "any"
    profile: str = "lenient"
    needs: tuple = ()
    claims: tuple = ()  # features that the target file claims
    role: str = "agent"
    skip: tuple = ()
    codes: dict = field(default_factory=dict)
    lacks: tuple = ()
    sig: str = ""
    side: str = ""
    place: str = ""
    change: object = None
    fatal: bool = False
    slow: bool = False
    where: object = None  # for which message, as `Taken`, a rule of `skip` is left out
    kind: str = ""  # of the bugs of `amp_sequence_mutants`

    def row(self):
        return {
            "name": self.name, "about": self.about, "breaks": self.breaks, "shows": self.shows, "profile": self.profile,
            "needs": self.needs, "claims": self.claims, "role": self.role, "fatal": self.fatal, "slow": self.slow,
            "kind": self.kind,
        }  # fmt: skip


MUTANTS = {}


def bug(name, about, breaks, **more):
    assert name not in MUTANTS, name
    MUTANTS[name] = Mutant(name, about, tuple("AMP-" + b for b in breaks.split()), **more)


def skip(name, rules, about, breaks, **more):
    bug(name, about, breaks, skip=tuple(rules.split()), **more)


def code(name, rules, number, about, breaks, **more):
    bug(name, about, breaks, codes={r: number for r in rules.split()}, **more)


def changed(place, name, about, breaks, **more):
    """A change to a sent message; the function returns whether it changed anything."""

    def keep(function):
        bug(name, about, breaks, place=place, change=function, **more)
        return function

    return keep


def signed(name, about, breaks, sides="out either", **more):
    """One bug in the signed bytes gives several servers."""
    words = {
        "out": ("signs", "sent messages are signed in this form"),
        "either": ("takes", "signatures over this form are accepted as well"),
        "both": ("knows", "signs and verifies only this form"),
        "in": ("wants", "only signatures over this form are accepted"),
    }
    for side in sides.split():
        word, text = words[side]
        out = " 2.2-01 3.2-01" if side == "out" else ""
        bug(f"{word}-{name}", f"{about}: {text}.", breaks + out, sig=name, side=side, fatal=side in ("both", "in"), **more)


# --- Sig_Input ----------------------------------------------------------------------------------------------------------

signed("sig-protected-integer", "The integer 1 in place of the empty byte string", "8.1-09", "out either both")
signed("sig-protected-map", "An encoded empty map in place of the empty byte string", "8.1-09")
signed("sig-protected-null", "null in place of the empty byte string", "8.1-09")
signed("sig-context-v2", "Another context string", "8.1-08")
signed("sig-context-lower", "The context string in lower case", "8.1-08")
signed("sig-raw-text-order", "Signed headers sorted by key text", "8.1-01", "out both")
signed("sig-declaration-order", "Signed headers in the order of declaration", "8.1-01 8.1-06", "out both")
signed("sig-length-first-order", "Body keys sorted length-first", "8.1-01 8.2-13", "in either")
signed("body-text-order", "Body keys sorted by their text", "8.1-01 8.2-13", "in either")
signed("body-utf16-order", "Body keys sorted by their UTF-16", "8.1-01 8.2-13", "in either")
signed("body-case-order", "Body keys sorted without regard to case", "8.1-01 8.2-13", "in either")
signed("body-length-only-order", "Body keys sorted by their length only", "8.1-01 8.2-13", "in either")
signed("body-as-given", "The body unchanged, not re-encoded", "8.2-03 4.1-70 8.2-12", "in either")
signed("sig-wide-integers", "All integers in eight bytes", "8.1-02", "out both")
signed("body-wide-integers", "Integers of the body in eight bytes", "8.1-02", "out both")
signed("sig-null-for-absent", "null for absent reply_to and thread_id", "8.1-17 8.1-18", "out either")
signed("sig-flatten-single-to", "An array of one recipient as text", "8.1-16 4.1-30", "either in")
signed("sig-array-always-to", "A single recipient as an array", "8.1-16 8.1-01", "out")
signed("sig-first-recipient-only", "The first of several recipients", "8.1-16 4.1-59", "in either")
signed("sig-sort-recipients", "Recipients in sorted order", "8.1-16", "in either")
signed("sig-bare-from", "from without its fragment", "8.1-15 4.1-52", "in")
signed("sig-lowercase-dids", "from in lower case", "8.1-15", "out")
signed("sig-includes-v", "v among the signed headers", "8.1-19")
signed("sig-includes-ext", "ext among the signed headers", "4.1-72 8.7-01 8.1-19", "in")
signed("sig-ts-in-seconds", "ts in seconds", "8.1-13", "out")
signed("sig-id-as-hex", "The id as text", "8.1-11", "out")
signed("sig-headers-array", "The values of the headers in an array", "8.1-10")
signed("sig-body-inline", "The body as a value", "8.1-20")
signed("sig-three-elements", "No second element", "8.1-07")
signed("sig-over-sha256", "The SHA-256 of the bytes", "8.1-21")
signed("body-null-empty", "No bytes for a null body", "8.1-27", "out")
for _name, _req in (
    ("id", "8.1-11 4.1-54"),
    ("typ", "8.1-12 4.1-55"),
    ("ts", "8.1-13 4.1-56"),
    ("ttl", "8.1-14 4.1-57"),
    ("from", "8.1-15 4.1-58"),
    ("to", "8.1-16 4.1-59"),
    ("reply-to", "8.1-17 4.1-60"),
    ("thread-id", "8.1-18 4.1-61 4.1.1-06"),
):
    signed(f"sig-skip-{_name}", f"{_name} is not among the signed headers", _req + " 8.2-04", "either out" if _name != "thread-id" else "either")
signed("sig-skip-thread-id", "thread_id is not among the signed headers", "8.1-18 4.1-61 4.1.1-06", "in")
signed("sig-skip-reply-to", "reply_to is not among the signed headers", "8.1-17 4.1-60", "in")
bug("sig-over-wire-body", "Verifies the wire bytes of the body.", "4.1-70 8.2-03 8.1-02 8.1-05")
bug("sig-reencode-decrypted", "Re-encodes the decrypted body before it verifies.", "8.2-09 4.1-71 8.6-07")
bug("sig-over-ciphertext-accepted", "Signatures over the ciphertext are accepted as well.", "3.2-03 4.1-63")
bug("sig-accepts-malleated", "Accepts S + L.", "8.1-23")
bug("sig-first-half-only", "The last byte of a signature is not compared completely.", "A.7-01 8.2-06 8.2-16")
bug("sig-zero-accepted", "A signature of 64 zero bytes passes as a placeholder.", "8.2-06")
bug("float-becomes-integer", "Integral floats of a body become integers.", "8.1-28", profile="strict")
bug("float-not-shortest", "Floats are not brought to their shortest form.", "8.1-28", profile="strict")

# A library of another language changes values when reading, so that the body is encoded to other bytes.
for _name, _about, _req in (
    ("reads-integers-as-doubles", "Integers above 53 bits lose their last digits.", "4.1-42 8.1-02"),
    ("reads-integers-as-signed-64", "Integers of 64 bits become negative.", "4.1-42 8.1-02"),
    ("reads-integers-as-signed-32", "Integers are cut to 32 bits.", "4.1-42 8.1-02"),
    ("reads-negatives-off-by-one", "Negative integers are read as one more.", "4.1-42 8.1-02"),
    ("reads-booleans-as-integers", "true and false become 1 and 0.", "4.1-42"),
    ("reads-ascii-bytes-as-text", "Byte strings of ASCII become text.", "4.1-42"),
    ("reads-null-as-empty-text", "null becomes empty text.", "4.1-42 4.1-65"),
    ("reads-text-in-normal-form", "Text is brought to normal form C.", "4.1-42"),
    ("reads-text-without-spaces-at-its-ends", "Text is trimmed.", "4.1-42"),
    ("reads-text-by-characters", "Text is cut at as many bytes as it has characters.", "4.1-42"),
    ("reads-keys-of-digits-as-integers", "Text keys of digits become integers.", "4.1-42 8.1-01"),
    ("reads-integer-keys-as-text", "Integer keys become text.", "4.1-42 8.1-01"),
    ("reads-empty-arrays-as-maps", "Empty arrays become empty maps.", "4.1-42"),
    ("reads-empty-maps-as-arrays", "Empty maps become empty arrays.", "4.1-42"),
    ("drops-null-members", "Members that are null are dropped.", "4.1-42"),
    ("keeps-large-maps-unsorted", "Maps of more than 23 members are not sorted.", "8.1-01 8.2-03 8.2-13 4.1-70"),
    ("keeps-inner-maps-unsorted", "Only the outermost map is sorted.", "8.1-01 8.2-03 8.2-13 4.1-70"),
):
    bug(_name, _about, _req)

# --- Keys ---------------------------------------------------------------------------------------------------------------

bug("verify-with-own-key", "Verifies with the key of the recipient.", "8.2-01 3.2-02", fatal=True)
bug("key-from-ext", "Takes the key from ext.public_key.", "3.2-02")
bug("key-fragment-ignored", "Drops the fragment of from.", "8.9-02")
bug("key-of-any-curve", "A fragment may name an X25519 method.", "8.9-06")
bug("key-listed-for-agreement", "A fragment may name an Ed25519 method that is listed for key agreement only.", "8.9-06")
bug("key-unknown-fragment-falls-back", "An unknown fragment falls back to the default key.", "8.9-06")
bug("key-authentication-first", "Prefers authentication over assertionMethod.", "8.9-04")
bug("key-no-fallback", "No fallback to authentication.", "8.9-04")
bug("key-both-relationships", "Selects the smallest id of assertionMethod and authentication together.", "8.9-04 8.2-02")
bug("key-first-in-document", "Takes the first Ed25519 method of the document.", "8.9-03")
bug("key-first-listed", "Takes the first method under assertionMethod.", "8.9-03")
bug("key-last-listed", "Takes the last method under assertionMethod.", "8.9-03 8.2-02", shows="library")
bug("key-numeric-order", "Sorts key-2 before key-10.", "8.9-03")
bug("key-smallest-of-any-type", "Selects the smallest method, of any type.", "8.9-05")
bug("key-no-embedded", "Does not know embedded methods.", "8.9-01")
bug("key-fallback-only-when-absent", "Falls back only if assertionMethod is absent.", "8.9-01", shows="library")
bug("key-relative-ids-unknown", "Does not know relative method ids.", "8.9-01")
bug("verify-any-method", "Accepts any Ed25519 method of the document.", "8.9-02 8.9-03 8.2-02")
bug("from-unresolved-accepted", "A sender without an available document is trusted.", "4.1-53 2.2-03")
code("key-missing-as-1002", "no-key", 1002, "1002 if the sender has no eligible key.", "8.9-06")
bug("box-derives-key-from-did", "Derives X25519 from Ed25519 instead of reading keyAgreement.", "8.9-08 8.9-09 8.5.1-11")
bug("agreement-unlisted-used", "Uses X25519 methods outside keyAgreement.", "8.9-08")
bug("agreement-last", "Takes the largest keyAgreement id.", "8.9-09 8.5.1-05")
bug("box-every-key-in-document", "Decrypts boxes of every key of the sender.", "8.9-09", profile="strict")
bug("box-own-first-key-only", "Decrypts with the first of its own keys only.", "8.9-10", needs=("two-agreement-keys",))
bug("document-agreement-prefix-missing", "Its X25519 key lacks the multicodec prefix.", "8.5.2-06 2.2-02", needs=("did-web",))
bug("signs-with-seed-of-agreement", "Signs with another key than the one it publishes.", "2.2-01 3.2-01 16.1-08", fatal=True)

# --- Verification left out ----------------------------------------------------------------------------------------------

skip("verify-skipped", "signature", "Does not verify at all.", "8.2-06 8.2-16 2.2-03")
bug("verify-skipped-when-encrypted", "Treats successful decryption as a signature.", "8.6-13 8.5.1-14 8.2-07")
bug("verify-skipped-for-control", "Does not verify control types and HELLO.", "8.2-18")
bug("verify-skipped-for-hello", "Does not verify HELLO.", "8.2-18")
bug("verify-skipped-for-ping", "Does not verify PING.", "8.2-18")
bug("verify-skipped-for-streams", "Does not verify streams.", "8.2-06 8.2-18")
bug("verify-skipped-for-documents", "Does not verify documents, credentials and delegations.", "8.2-06 8.2-18 3.2-02")
bug("verify-skipped-for-null-body", "Does not verify messages with a null body.", "8.2-06 8.2-18 8.1-27")
bug("verify-skipped-for-self", "Trusts messages from itself.", "8.2-01")
bug("verify-skipped-for-batch-items", "Items of a batch are covered by the signature of the container.", "4.5-02 4.5-03")
bug("verify-once-per-peer", "A peer that was verified once is trusted.", "8.2-06 8.2-16 2.2-03")
bug("verify-http-header-trusted", "X-Forwarded-For and X-AMP-Relay count as verification.", "8.1-35")
bug("ext-verified-trusted", "Believes ext.verified.", "8.7-07 8.7-03")
bug("body-used-before-verify", "The message is processed and never verified.", "8.2-06 8.2-16", fatal=True)
bug("acks-before-checking", "Sends the ACK before anything is checked.", "8.2-06 2.2-03")

# --- Encryption ---------------------------------------------------------------------------------------------------------

bug("box-ephemeral-sender", "Encrypts with a fresh key and expects epk.", "8.5.1-10 4.1-50 3.2-05 2.2-02", needs=("encrypted-answered-encrypted",))
bug("box-epk-accepted", "Boxes of an ephemeral key are decrypted too.", "3.2-05")
bug("box-no-hsalsa", "Encrypts with the raw X25519 result.", "8.5.1-09 8.6-01", needs=("encrypted-answered-encrypted",))
bug("box-tag-last", "The tag is after the ciphertext.", "8.5.2-05 8.5.1-09 2.2-02")
bug("box-tag-either-end", "The tag may be at either end.", "8.5.2-05")
bug("box-tag-unchecked", "The tag is not compared.", "8.6-11 8.6-18 A.7-03 8.8-03")
bug("box-constant-nonce", "One nonce for all messages.", "4.1-75 8.5.2-07", needs=("encrypted-answered-encrypted",))
bug("box-nonce-from-id", "The nonce is the id and eight zero bytes.", "4.1-75", profile="strict", needs=("encrypted-answered-encrypted",))
bug("box-encrypts-other-serialisation", "Encrypts an unsorted form.", "4.1-68 8.6-04", needs=("encrypted-answered-encrypted",))
bug("enc-signs-ciphertext", "Signs the ciphertext.", "8.6-02 4.1-63 8.6-01", needs=("encrypted-answered-encrypted",))
bug("enc-keeps-null-body", "Sends body null with enc.", "4.1-67 4.1-03 8.6-03", needs=("encrypted-answered-encrypted",))
bug("enc-alg-lower-out", "Writes alg in lower case.", "4.1-48", needs=("encrypted-answered-encrypted",))
bug("enc-mode-missing-out", "Leaves mode out.", "4.1-44 8.5.1-01", needs=("encrypted-answered-encrypted",))
bug("enc-nonce-12-out", "Writes a nonce of 12 bytes.", "4.1-74 8.5.2-03", needs=("encrypted-answered-encrypted",))
bug("enc-nonce-prefixed-out", "Puts the nonce before the ciphertext as well.", "8.5.2-05 8.6-01", needs=("encrypted-answered-encrypted",))
bug("enc-alg-any-case", "alg in any case.", "4.1-48")
bug("enc-mode-any-case", "mode in any case.", "4.1-49")
skip("enc-alg-unchecked", "enc-alg", "alg is not checked.", "8.5.2-01 8.6-16 4.1-48")
skip("enc-mode-unchecked", "enc-mode", "mode is not checked.", "8.5.2-02 8.6-16 4.1-49 8.5.1-01")
skip("enc-alg-optional", "enc-missing-alg enc-alg", "alg may be absent.", "4.1-43")
skip("enc-mode-optional", "enc-missing-mode enc-mode", "mode may be absent.", "4.1-44")
bug("enc-nonce-longer-cut", "A nonce that is too long is truncated.", "8.5.2-04 8.6-17")
skip("enc-nonce-padded", "enc-nonce-size", "A nonce of another size is truncated or padded.", "8.5.2-04 8.6-17")
code("enc-nonce-as-5001", "enc-nonce-size", 5001, "5001 for a nonce of another size.", "8.5.2-04 8.6-17")
code("enc-short-as-5001", "enc-short", 5001, "5001 for a short ciphertext.", "8.5.2-08")
code("decrypt-failure-as-1002", "decrypt enc-short", 1002, "1002 for a box that cannot be decrypted.", "8.6-11 8.8-03 A.7-03")
code("decrypt-failure-as-1001", "decrypt", 1001, "1001 for a box that cannot be decrypted.", "8.6-11 A.7-03")
code("decrypt-failure-as-5001", "decrypt", 5001, "5001 for a box that cannot be decrypted.", "8.6-11 8.8-03")
code("decrypt-failure-as-vendor", "decrypt", 3901, "A vendor code for a box that cannot be decrypted.", "15.3-53")
skip("decrypt-failure-ignored", "decrypt signature", "A box that cannot be decrypted counts as a null body.", "8.6-08 8.2-11 8.6-11")
bug("decrypt-crashes", "An exception if a box cannot be decrypted.", "8.6-09 002.6.4-09", shows="http")
bug("decrypt-oracle-details", "3001 names the failing step in details.", "8.8-04", profile="strict")
skip("body-cut-accepted", "body-not-cbor", "Decrypted bytes that are not CBOR count as null.", "8.6-14 8.2-11")
code("body-cut-as-1002", "body-not-cbor", 1002, "1002 for decrypted bytes that are not CBOR.", "8.6-14")
code("body-cut-as-3001", "body-not-cbor", 3001, "3001 for decrypted bytes that are not CBOR.", "8.6-14")
skip("body-trailing-accepted", "body-trailing", "Decrypted bytes may continue after the item.", "8.6-15")
code("enc-signature-as-3001", "signature", 3001, "3001 for a wrong signature.", "8.2-16 8.6-13 8.5.1-14 15.3-03")

# --- CBOR ---------------------------------------------------------------------------------------------------------------

skip("cbor-trailing-ignored", "trailing", "Accepts bytes after the message.", "15.3-47 002.6.1-05")
bug("cbor-length-allocated", "Allocates a declared length.", "15.3-50", shows="http")
bug("cbor-duplicate-last-wins", "Keeps the last of duplicate keys.", "8.1-37 8.1-33", profile="strict")
bug("cbor-duplicate-first-wins", "Keeps the first of duplicate keys.", "8.1-37 8.1-33", profile="strict")
skip("duplicate-keys-kept", "duplicate-body-key duplicate-key", "Duplicate keys are signed and accepted unchanged.", "8.1-04")
bug("utf8-replaced", "Replaces bytes that are not UTF-8.", "15.3-49", profile="strict")
bug("depth-six", "Refuses more than six levels.", "4.1-42")
bug("depth-unlimited", "Recurses without limit.", "15.3-51", profile="strict")
bug("wide-crashes", "An exception for integers in a wider form.", "8.1-02 4.1-70 002.6.4-09", shows="http")
bug("keys-ignore-case", "Keys of the envelope in any case.", "4.1-05 8.2-15", profile="strict")
bug("integer-keys-read", "Reads integer keys as well.", "4.1-02")
code("malformed-as-5001", "missing-* type-*", 5001, "5001 for malformed messages.", "8.2-15 15.3-01 15.3-37")
code("malformed-as-4001", "missing-*", 4001, "4001 for missing members.", "8.2-15")

# --- Envelope -----------------------------------------------------------------------------------------------------------

for _name, _req in (
    ("v", "4.1-05"), ("id", "4.1-07"), ("typ", "4.1-09"), ("ts", "4.1-11"), ("ttl", "4.1-13"), ("to", "4.1-17"), ("from", "4.1-15"),
):  # fmt: skip
    extra = {
        "id": " id-size id-time type-id", "ts": " id-time", "to": " for-others type-to",
        "from": " from-syntax from-unresolved no-key signature",
    }.get(_name, "")  # fmt: skip
    skip(f"missing-{_name}-filled", f"missing-{_name}{extra}", f"A default for a missing {_name}.", f"{_req} 8.2-15")
skip("missing-sig-accepted", "missing-sig sig-size signature type-sig", "A message without sig is accepted as unsigned.", "4.1-19 8.2-15", fatal=True)
bug("ttl-default-filled", "24 hours if ttl is missing.", "4.1-13 8.2-15")
for _name, _req, _extra in (
    ("v", "4.1-20", ""),
    ("typ", "4.1-23", ""),
    ("ts", "4.1-24", ""),
    ("ttl", "4.1-26", ""),
    ("id", "4.1-21", ""),
    ("sig", "4.1-38", ""),
    ("from", "4.1-28", " from-syntax from-unresolved"),
    ("to", "4.1-29", " for-others"),
    ("reply_to", "4.1-33", ""),
    ("thread_id", "4.1-37", ""),
):
    skip(f"type-of-{_name.replace('_', '-')}-bent", f"type-{_name}{_extra}", f"{_name} of another type is coerced.", _req)
code("type-errors-as-1002", "type-*", 1002, "1002 for members of another type.", "4.1-21 4.1-26 4.1-33")
code("id-type-as-1003", "type-id id-size", 1003, "1003 for an id of another type or size.", "4.1-21 4.1-22", needs=("error-without-id",))
skip("id-size-cut", "id-size id-time", "An id of another size is truncated or padded.", "4.1-22")
bug("id-any-size", "Accepts ids of any length.", "4.1-22", skip=("id-size", "id-time"))
skip("sig-size-cut", "sig-size", "A longer signature is truncated.", "8.1-22 4.1-39")
skip("null-references-absent", "null-reply_to null-thread_id", "null counts as absent in reply_to and thread_id.", "4.1-34")
bug("null-reference-signed", "null is a value of reply_to.", "4.1-34", skip=("null-reply_to", "null-thread_id"))
skip("empty-to-broadcast", "empty-to for-others", "An empty to is a broadcast.", "4.1-31")
bug("to-array-refused", "Knows text only in to.", "4.1-30")
bug("to-first-only", "Checks the first recipient only.", "4.5-03 16.1-09 8.1-16")
bug("to-last-only", "Checks the last recipient only.", "16.1-09 8.1-16")
bug("to-fragment-refused", "to with a fragment names another recipient.", "4.1-52", profile="strict")
bug("to-prefix-match", "A prefix of its DID is enough.", "16.1-15", profile="strict")
bug("to-ignore-case", "Compares DIDs in any case.", "16.1-15", profile="strict")
skip("ack-for-others", "for-others", "Acknowledges messages for other recipients.", "16.1-15 16.1-06")
skip("from-syntax-unchecked", "from-syntax from-unresolved", "from may be any text.", "4.1-53")
code("from-unresolved-as-5001", "from-unresolved", 5001, "5001 for a sender that cannot be resolved.", "4.1-53")
code("for-others-as-1001", "for-others", 1001, "1001 for a message to another recipient.", "16.1-15")
skip("body-absent-is-null", "body-or-enc", "A missing body is null.", "4.1-64")
skip("body-wins-over-enc", "body-and-enc", "body is used if both are present.", "4.1-66")
bug("enc-wins-over-body", "enc is used if both are present.", "4.1-66", skip=("body-and-enc",))
bug("body-null-beside-enc", "body null with enc counts as absent.", "4.1-66", profile="strict")
bug("null-enc-is-absent", "enc null counts as absent.", "4.1-47")
code("body-and-enc-as-4001", "body-and-enc", 4001, "4001 for body and enc.", "4.1-66")
skip("enc-any-type", "type-enc enc-missing-alg enc-missing-mode enc-missing-nonce enc-missing-ciphertext enc-alg enc-mode enc-nonce-size enc-short", "enc of another type is an empty enc.", "4.1-47")
bug("ext-refused", "ext is refused.", "4.1-40 8.7-08 4.1-72")
bug("unknown-member-changes-type", "An unknown member makes the type unknown.", "4.1-51", profile="strict")
bug("thread-id-16-only", "thread_id must have 16 bytes.", "4.1-37 4.1.1-01")
bug("thread-id-must-be-utf8", "thread_id must be UTF-8.", "4.1.1-01")
bug("message-body-must-be-map", "MESSAGE requires a map.", "4.1-42")
bug("message-null-body-refused", "MESSAGE requires a body.", "4.1-42 4.1-65")
bug("message-false-is-absent", "false, 0 and empty values count as no body.", "4.1-42")
bug("message-integer-keys-crash", "An exception for integer keys in a body.", "4.1-42", shows="http")

# --- Time and ids -------------------------------------------------------------------------------------------------------

bug("ttl-in-seconds", "Reads ttl as seconds.", "4.1-27 8.3-01")
bug("time-five-minute-window", "Refuses messages older than five minutes.", "8.3-03")
bug("time-expiry-inclusive", "Refuses when now equals ts + ttl.", "8.3-01", shows="clock")
bug("time-skew-inclusive", "Refuses a ts exactly 30 s ahead.", "8.3-02", shows="clock")
bug("time-overflow-wraps", "ts + ttl wraps at 64 bits.", "8.3-05", profile="strict")
bug("time-overflow-signed", "ttl is a signed 32-bit number.", "8.3-05 8.3-03", profile="strict")
bug("time-ttl-from-receipt", "ttl counts from receipt.", "8.3-06 4.2-08 A.7-02")
bug("time-skew-on-expiry", "The skew counts for expiry too.", "8.3-06 4.2-08 8.3-01")
bug("time-skew-five-seconds", "A skew of five seconds.", "8.3-14 4.2-09 8.3-02")
bug("time-skew-one-minute", "A skew of a minute.", "8.3-14 8.3-02 4.2-09")
bug("time-expiry-grace-five-seconds", "Five seconds of grace after expiry.", "8.3-01 8.3-06 4.2-08")
bug("time-skew-five-minutes", "A skew of five minutes.", "8.3-14 4.2-09 8.3-06")
bug("time-skew-seconds-as-ms", "A skew of 30 ms.", "8.3-02 8.3-04 4.2-09")
skip("time-future-unchecked", "future", "Accepts any future ts.", "8.3-02 4.2-09 8.3-06")
skip("time-expiry-unchecked", "expired", "Accepts expired messages.", "8.3-01 8.3-06 A.7-02 4.2-08")
code("expired-as-1001", "expired", 1001, "1001 for expired messages.", "8.3-06 15.3-05")
code("expired-as-4001", "expired future", 4001, "4001 for times.", "8.3-06 15.3-05")
code("future-as-1001", "future", 1001, "1001 for the future.", "8.3-06 15.3-05")
code("future-as-1002", "future", 1002, "1002 for the future.", "8.3-06")
bug("ext-ttl-honoured", "Takes the lifetime from ext.override_ttl.", "8.7-06")
bug("ttl-capped-at-hour", "Limits the ttl to an hour.", "8.3-03", slow=False)
bug("ttl-zero-refused", "ttl 0 is malformed.", "8.3-04")
bug("ttl-zero-means-default", "ttl 0 means 24 hours.", "8.3-04", profile="strict")
bug("ttl-minimum-ten-seconds", "A ttl below ten seconds is refused.", "8.3-04")
bug("ttl-maximum-day", "A ttl of 24 hours is refused.", "8.3-03")
skip("id-time-unchecked", "id-time", "Does not compare the time in the id with ts.", "8.3-17 4.2-07")
bug("id-second-exclusive", "Refuses a difference of one second.", "8.3-16 4.2-07")
bug("id-must-equal", "Refuses any difference.", "8.3-16 4.2-07")
bug("id-time-one-sided", "An id older than ts passes.", "8.3-17 4.2-07")
bug("id-time-other-side", "An id newer than ts passes.", "8.3-17 4.2-07")
bug("id-time-in-whole-seconds", "The times are compared in whole seconds.", "8.3-17 4.2-07")
bug("id-time-low-32-bits", "The low 32 bits of the times are compared.", "8.3-17 4.2-07")
bug("id-time-one-minute", "A minute between id and ts passes.", "8.3-17 4.2-07")
bug("id-read-little-endian", "Reads the time in the id little-endian.", "8.3-16 4.2-07", fatal=True)
code("id-time-as-4001", "id-time", 4001, "4001 for an id that does not match ts.", "8.3-17")
bug("id-little-endian", "Writes the time in the id little-endian.", "4.2-02 4.2-01")
bug("id-counter-tail", "Fills the id tail with a counter.", "4.2-04")
bug("id-tail-32-bits", "Fills half the id tail.", "4.2-04")
bug("id-tail-constant", "Fills the id tail with a constant.", "4.2-04")
bug("id-tail-seeded", "Seeds its generator with a constant.", "4.2-04")
bug("id-time-in-seconds", "Seconds in the id.", "4.2-01 8.3-15 B-04")
bug("id-time-two-seconds-off", "The id is two seconds older than ts.", "4.2-01 8.3-15 4.2-03")
bug("id-time-zero", "No time in the id.", "4.2-01 8.3-15")
bug("id-time-microseconds", "Microseconds in the id.", "4.2-01 8.3-15")
bug("id-random", "A random id.", "4.2-01 8.3-15 4.2-02")
bug("id-swapped", "The time after the random half.", "4.2-01 8.3-15 4.2-02")
bug("ts-in-seconds", "Writes ts in seconds.", "4.1-25")
bug("ts-local-zone", "Writes ts in local time.", "4.1-25")
bug("ts-microseconds", "Writes ts in microseconds.", "4.1-25")

# --- Types and versions -------------------------------------------------------------------------------------------------

bug("type-unknown-dropped", "Ignores unknown types.", "1.5-06 13.4-02")
code("type-unknown-as-1001", "type", 1001, "1001 for unknown types.", "15.3-09 4.3-43 A.7-04")
code("type-unknown-as-4001", "type type-above-255 type-of-companion", 4001, "4001 for unknown types.", "15.3-09 4.3-43 13.4-02")
code("type-unknown-as-4002", "type", 4002, "4002 for unknown types.", "15.3-09 4.3-47")
skip("type-unknown-acked", "type type-above-255", "Acknowledges unknown types.", "1.5-06 4.3-43 13.4-02 15.3-09")
bug("type-unknown-as-message", "Treats unknown types as MESSAGE.", "1.5-06 4.3-43 13.4-02")
bug("type-vendor-as-message", "Treats 0xF1 to 0xFF as MESSAGE.", "4.3-51 17.2-03")
bug("type-reserved-acked", "Treats reserved codes below 0x80 as MESSAGE.", "4.3-42 4.3-43 4.3-44 4.3-45")
bug("type-one-byte", "Cuts typ to one byte.", "13.4-02")
bug("type-high-bit-ignored", "Cuts typ to seven bits.", "13.4-02 17.2-02")
bug("type-message-unknown", "Does not know MESSAGE.", "4.3-14", lacks=("MESSAGE",), fatal=True)
bug("type-hello-unknown", "Does not know HELLO.", "1.5-03 4.3-38", lacks=("HELLO",))
bug("type-stream-end-unknown", "Forgot STREAM_END.", "2.4-03", lacks=("STREAM_END",))
bug("type-cred-verify-unknown", "Forgot CRED_VERIFY.", "4.3-30", lacks=("CRED_VERIFY",), profile="strict")
bug("type-deleg-query-unknown", "Forgot DELEG_QUERY.", "4.3-33", lacks=("DELEG_QUERY",), profile="strict")
bug("type-ack-unknown", "Does not know ACK.", "16.5-03 15.3-35", lacks=("ACK",), profile="strict")
bug("type-error-unknown", "Does not know ERROR.", "15.1-05", lacks=("ERROR",), profile="strict")
skip("version-unchecked", "version version-zero", "Accepts any v.", "13.1-06 15.3-07 13.1-09")
code("version-as-1001", "version", 1001, "1001 for another v.", "13.1-06 15.3-07 13.1-09")
code("version-as-1005", "version", 1005, "1005 for another v.", "13.1-06 15.3-07")
code("version-as-4003", "version", 4003, "4003 for another v.", "13.1-06 15.3-07")
bug("version-zero-accepted", "Accepts v 0.", "13.1-06")
bug("version-two-accepted", "Accepts v 2.", "13.1-06 13.1-09")
bug("version-low-byte", "Cuts v to one byte.", "13.1-06", profile="strict")
bug("version-32-bits", "Cuts v to 32 bits.", "13.1-06")

# --- HELLO --------------------------------------------------------------------------------------------------------------

bug("hello-accepts-anything", "HELLO_ACK for 99.0.", "13.5-04 4.3-40")
bug("hello-selects-own", "Selects a version that was not offered.", "13.5-06")
bug("hello-selects-zero", "Selects 0.30.0.", "13.5-06")
bug("hello-reject-as-error", "1004 instead of HELLO_REJECT.", "13.5-04 4.3-40")
bug("hello-reject-silent", "No answer instead of HELLO_REJECT.", "13.5-04 4.3-40")
bug("hello-ignored", "HELLO is not answered.", "1.5-03 4.3-39")
bug("hello-once-per-peer", "The second HELLO of a peer is not answered.", "4.4-59 13.5-10")
bug("hello-major-prefix", "Takes 10.0 and 1x.0 for major 1.", "13.5-04", profile="strict")
bug("hello-lexicographic-maximum", "Takes the largest text that is offered.", "13.5-02")
bug("hello-first-only", "Checks the first version only.", "13.5-02")
bug("hello-last-only", "Checks the last version only.", "13.5-02")
bug("hello-exact-version-only", "Knows 1.0.0 only.", "13.5-02 4.4-59")
bug("hello-three-parts-only", "Requires three parts.", "13.5-02 4.4-59")
bug("hello-two-parts-only", "Requires two parts.", "13.5-02", profile="strict")
bug("hello-all-must-be-known", "All offered versions must be known.", "13.5-02")
bug("hello-extensions-required", "Wants extensions.", "4.4-59 13.4-03")
bug("hello-extensions-known-only", "Refuses unknown extensions.", "13.3-02 4.4-59")
bug("hello-agent-info-required", "Wants agent_info.", "4.4-60")
skip("hello-versions-optional", "schema-hello-versions schema-hello-map", "1.0 if versions is missing.", "4.4-56")
skip("hello-empty-accepted", "schema-hello-empty", "1.0 if versions is empty.", "4.4-57")
skip("hello-entries-any-type", "schema-hello-entry", "Entries are turned into text.", "4.4-58", profile="strict")
bug("hello-ack-array", "selected is an array.", "4.4-63", place="selected", change=lambda b, n, s: b.update(selected=[b["selected"]]) or True)
bug("hello-ack-number", "selected is a number.", "4.4-63", place="selected", change=lambda b, n, s: b.update(selected=1) or True)
bug("hello-ack-major-only", "selected is the major version.", "4.4-63 13.5-06", profile="strict", place="selected", change=lambda b, n, s: b.update(selected="1") or True)
bug("hello-ack-renamed", "HELLO_ACK has version instead of selected.", "4.4-63", place="selected", change=lambda b, n, s: b.update(version=b.pop("selected")) or True)
bug("reject-reason-number", "reason is a number.", "4.4-64", place="reject", change=lambda b, n, s: isinstance(b, dict) and not b.update(reason=1004))
skip("hello-version-unchecked", "hello-version", "HELLO with any v.", "13.1-02", profile="strict")
code("hello-version-as-1005", "hello-version", 1005, "1005 for HELLO with another v.", "13.1-02", profile="strict")
bug("hello-reject-negotiates", "Serves a peer whose HELLO it rejected.", "13.5-04 002.3.3-02", shows="ws", profile="strict")
bug("hello-ack-unsolicited-adopted", "An unsolicited HELLO_ACK negotiates.", "002.3.3-02 13.5-09", shows="ws", profile="strict")
bug("hello-reject-unsolicited-obeyed", "An unsolicited HELLO_REJECT ends the negotiation.", "13.5-09", shows="ws", profile="strict")
bug("ws-hello-not-required", "WebSocket: accepts messages before HELLO.", "002.3.3-02 002.A.7-01", shows="ws")
bug("tcp-hello-not-required", "TCP: accepts messages before HELLO.", "002.3.3-02 002.A.7-01", shows="tcp")
bug("ping-before-hello", "Answers PING before HELLO.", "002.3.3-01 002.3.3-02", shows="ws", profile="strict")
bug("before-hello-ignored", "Does not answer messages before HELLO.", "002.3.3-02 002.A.7-01", shows="ws")
code("before-hello-as-5001", "before-hello", 5001, "5001 before HELLO.", "002.A.7-03", shows="ws")
skip("hello-not-required", "before-hello", "Accepts messages before HELLO.", "002.3.3-02 002.A.7-01", shows="ws")

# --- Replay -------------------------------------------------------------------------------------------------------------

bug("replay-not-remembered", "Processes repeats again.", "16.2-01 8.4-05")
bug("replay-requests-only", "Remembers requests only.", "16.2-02 8.4-04", profile="strict")
bug("replay-messages-only", "Does not remember requests.", "16.2-01 8.4-05")
bug("replay-encrypted-not-remembered", "Does not remember encrypted messages.", "16.2-01", profile="strict")
bug("replay-key-id-only", "The key of the cache is the id.", "16.2-04")
bug("replay-key-id-tail", "The key of the cache is the random half of the id.", "16.2-04 8.4-06", profile="strict")
bug("replay-key-id-time", "The key of the cache is the time in the id.", "8.4-06 16.2-07", profile="strict")
bug("replay-key-sender-only", "Every message of a sender is a repeat.", "8.4-06", fatal=True)
bug("replay-key-body", "The key of the cache is the body.", "8.4-06 16.2-07")
bug("replay-key-with-type", "The key of the cache includes the type.", "16.2-07")
bug("replay-key-wire-bytes", "The key of the cache is the message.", "16.2-07")
bug("replay-key-connection", "The cache belongs to the connection.", "002.8.3-03 16.2-01", shows="any")
bug("replay-key-transport", "Each transport has its own cache.", "002.8.3-03", shows="ws")
bug("replay-cache-before-verify", "Stores the id before the signature is checked.", "16.2-05")
bug("replay-errors-kept-before-verify", "A refused message leaves an entry.", "16.2-05")
bug("replay-forgets-early", "Forgets after one second.", "16.5-04 B-06", slow=True)
bug("replay-forgets-after-ten-seconds", "Forgets after ten seconds.", "16.5-04 B-06", slow=True)
bug("replay-remembers-sixteen", "Remembers 16 ids.", "16.5-04 B-06", profile="strict")
bug("replay-race", "Two copies at the same time are processed twice.", "16.2-01 002.8.3-03", shows="parallel", profile="strict")
bug("replay-dropped", "Does not answer a repeat.", "8.4-02 8.4-04 16.2-01 16.2-02")
bug("replay-refused", "Refuses a repeat.", "8.4-04 16.2-01 16.2-02")
bug("replay-acks-only", "Only acknowledges a repeat.", "16.2-01 8.4-04")
bug("replay-other-content-processed", "Processes other content under a used id.", "16.2-07")
bug("replay-processed-before-schema", "Counts requests that it then refuses.", "8.4-05", profile="strict")

# --- ERROR --------------------------------------------------------------------------------------------------------------


def on_error_body(name, about, breaks, change, **more):
    bug(name, about, breaks, place="error", change=lambda b, n, s: bool(change(b) or True), **more)


def only_errors(change):
    def run(draft, name, node):
        if name != "ERROR":
            return False
        change(draft)
        return True

    return run


bug("error-unsigned", "ERROR without a signature.", "2.2-01 15.1-01", place="signed", change=only_errors(lambda d: d.pop("sig")))
bug("error-signature-empty", "ERROR with an empty signature.", "2.2-01 4.1-39", place="signed", change=only_errors(lambda d: d.update(sig=b"")))
bug("error-without-reply-to", "ERROR without reply_to.", "15.1-02", place="draft", change=only_errors(lambda d: d.pop("reply_to", None)))
bug("error-reply-to-thread", "reply_to of ERROR is the thread.", "15.1-02 4.1.1-02", place="draft", change=only_errors(lambda d: d.update(reply_to=d.get("thread_id", b"\0" * 16))))
bug("error-reply-to-text", "reply_to of ERROR is hex text.", "15.1-02 4.1-35", place="draft", change=only_errors(lambda d: d.update(reply_to=d.get("reply_to", b"").hex())))
bug("error-reuses-id", "ERROR has the id of the refused message.", "15.1-04", place="draft", change=only_errors(lambda d: d.update(id=d.get("reply_to", d["id"]))))
bug("error-without-ttl", "ERROR without ttl.", "8.3-07 4.1-12 15.1-04", place="signed", change=only_errors(lambda d: d.pop("ttl")))
bug("error-from-unknown", "ERROR from a name that is not a DID.", "2.1-01 15.1-03", place="draft", change=only_errors(lambda d: d.update({"from": "server"})))
bug("error-to-itself", "ERROR to itself.", "15.1-03", place="draft", change=only_errors(lambda d: d.update(to=d["from"])))
bug("error-without-to", "ERROR without to.", "4.1-16 15.1-01", place="draft", change=only_errors(lambda d: d.pop("to")))
bug("error-as-proc-fail", "PROC_FAIL instead of ERROR.", "1.5-04 4.3-13 8.2-16", place="draft", change=only_errors(lambda d: d.update(typ=0x05, body={"error": d["body"]})))
bug("error-as-response", "RESPONSE instead of ERROR.", "1.5-04 4.3-13", place="draft", change=only_errors(lambda d: d.update(typ=0x12)))
bug("errors-never-sent", "No ERROR is ever sent.", "1.5-04 8.2-14")
on_error_body("error-category-swapped", "client for 1xxx codes.", "15.2-01", lambda b: b.update(category="client"))
on_error_body("error-category-missing", "No category.", "4.4-13 15.1-01", lambda b: b.pop("category"))
on_error_body("error-category-number", "category is a number.", "4.4-13", lambda b: b.update(category=b["code"] // 1000))
on_error_body("error-category-error", "error for every category.", "15.2-01 15.2-03", lambda b: b.update(category="error"))
on_error_body("error-3001-as-client", "client for 3001 only.", "15.2-03", lambda b: b.update(category="client" if b["code"] == 3001 else b["category"]))
on_error_body("error-security-as-protocol", "protocol for 3xxx codes.", "15.2-03", lambda b: b.update(category="protocol"))
on_error_body("error-retry-inverted", "retry true on 1002.", "15.3-04 15.3-02", lambda b: b.update(retry=not b.get("retry", False)))
on_error_body("error-retry-always", "retry true on everything.", "15.3-02 15.3-04 15.3-06 15.3-20", lambda b: b.update(retry=True))
on_error_body("error-retry-number", "retry is 0 or 1.", "4.4-16", lambda b: b.update(retry=int(b.get("retry", False))))
on_error_body("error-retry-text", "retry is text.", "4.4-16", lambda b: b.update(retry="no"))
on_error_body("error-retry-null", "retry is null.", "4.4-16", lambda b: b.update(retry=None))
on_error_body("error-code-text", "code is text.", "4.4-12 15.1-01", lambda b: b.update(code=str(b["code"])))
on_error_body("error-code-float", "code is a float.", "4.4-12", lambda b: b.update(code=float(b["code"])))
on_error_body("error-code-negative", "code is negative.", "4.4-12", lambda b: b.update(code=-b["code"]))
on_error_body("error-code-name", "code is the name.", "4.4-12", lambda b: b.update(code=b["message"]))
on_error_body("error-code-missing", "No code.", "4.4-12 15.1-01", lambda b: b.pop("code"))
on_error_body("error-code-renamed", "error_code instead of code.", "4.4-12 15.1-01", lambda b: b.update(error_code=b.pop("code")))
on_error_body("error-code-always-1001", "1001 for everything.", "8.2-16 15.3-05 15.3-07 15.3-09", lambda b: b.update(code=1001, category="protocol"))
on_error_body("error-code-always-5001", "5001 for everything.", "8.2-16 15.3-05 15.3-07 15.3-09 15.3-37", lambda b: b.update(code=5001, category="server", retry=True))
on_error_body("error-code-outside-table", "4010 and the like.", "17.2-04 15.3-54", lambda b: b.update(code=b["code"] + 10))
on_error_body("error-message-missing", "No message.", "4.4-14 15.1-01", lambda b: b.pop("message"))
on_error_body("error-message-bytes", "message is a byte string.", "4.4-14", lambda b: b.update(message=b["message"].encode()))
on_error_body("error-message-null", "message is null.", "4.4-14", lambda b: b.update(message=None))
on_error_body("error-body-nested", "The body is under error.", "4.4-12 15.1-01", lambda b: [b.update(error=dict(b)), [b.pop(k) for k in list(b) if k != "error"]])
on_error_body("error-batch-index-always", "batch_index -1 without a batch.", "4.4-17", lambda b: b.setdefault("batch_index", -1))
bug("error-body-text", "The body of ERROR is text.", "15.1-01 4.4-12", place="draft", change=only_errors(lambda d: d.update(body="refused")))
bug("error-answers-error-forever", "Answers each ERROR with an ERROR.", "15.1-05", profile="strict")
bug("control-answered-by-error", "Answers ACK, PROC and ERROR with an ERROR.", "15.1-05 16.1-14", profile="strict")
code("signature-as-1001", "signature", 1001, "1001 for a wrong signature.", "8.2-16 15.3-03")
code("signature-as-4001", "signature", 4001, "4001 for a wrong signature.", "8.2-16 15.3-03 A.7-01")
code("signature-as-5001", "signature", 5001, "5001 for a wrong signature.", "8.2-16 15.3-03")
code("missing-as-1002", "missing-*", 1002, "1002 for missing members.", "8.2-15 4.1-13")
code("missing-as-4004", "missing-*", 4004, "4004 for missing members.", "8.2-15 4.1-13")

# --- Envelope of sent messages ------------------------------------------------------------------------------------------

ANSWERS = ("ACK", "PONG", "PROC_OK", "PROC_FAIL", "RESPONSE", "HELLO_ACK", "HELLO_REJECT", "ERROR", "BATCH", "DOC_SEND")


def every(change, names=ANSWERS):
    def run(draft, name, node):
        if name not in names:
            return False
        change(draft)
        return True

    return run


for _name, _req in (("v", "4.1-04"), ("id", "4.1-06"), ("typ", "4.1-08"), ("ts", "4.1-10"), ("ttl", "4.1-12"), ("from", "4.1-14"), ("to", "4.1-16"), ("sig", "4.1-18")):
    bug(f"out-without-{_name}", f"Messages go out without {_name}.", f"{_req} 4.1-73", place="signed", fatal=True, change=every(lambda d, n=_name: d.pop(n, None)))
bug("out-v-text", "v is text.", "13.1-01 4.1-04", place="draft", change=every(lambda d: d.update(v="1.0")))
bug("out-v-zero", "v is 0.", "13.1-01 13.1-05", place="draft", change=every(lambda d: d.update(v=0)))
bug("hello-ack-with-selected-v", "HELLO_ACK with v 2.", "13.1-02", place="draft", change=every(lambda d: d.update(v=2), ("HELLO_ACK", "HELLO_REJECT")))
bug("out-id-text", "id is hex text.", "4.1-06 4.1-22", place="draft", change=every(lambda d: d.update(id=d["id"].hex())))
bug("out-id-8-bytes", "id has eight bytes.", "4.1-22 4.2-01", place="draft", change=every(lambda d: d.update(id=d["id"][:8])))
bug("out-typ-name", "typ is the name of the type.", "4.1-08", place="draft", change=lambda d, n, s: bool(n) and not d.update(typ=n))
bug("out-ts-float", "ts is a float.", "4.1-10", place="draft", change=every(lambda d: d.update(ts=float(d["ts"]))))
bug("out-ttl-float", "ttl is a float.", "4.1-12", place="draft", change=every(lambda d: d.update(ttl=float(d["ttl"]))))
bug("out-ttl-null", "ttl is null.", "4.1-12", place="draft", change=every(lambda d: d.update(ttl=None)))
bug("out-ttl-text", "ttl is text.", "4.1-12", place="draft", change=every(lambda d: d.update(ttl="60000")))
bug("out-from-url", "from is a URL.", "2.1-01 4.1-14", place="draft", change=every(lambda d: d.update({"from": "http://127.0.0.1/peer"})))
bug("out-to-empty", "to is an empty array.", "4.1-16 2.1-01", place="draft", change=every(lambda d: d.update(to=[])))
bug("out-to-bytes", "to is a byte string.", "4.1-16", place="draft", change=every(lambda d: d.update(to=d["to"].encode() if isinstance(d["to"], str) else d["to"])))
bug("out-reply-to-null", "reply_to null instead of absent.", "4.1-35", place="draft", change=every(lambda d: d.setdefault("reply_to", None), ("HELLO_ACK", "BATCH")), needs=("single-in-batch",))
bug("out-reply-to-text", "reply_to is hex text.", "4.1-35 16.1-13", place="draft", change=every(lambda d: "reply_to" in d and d.update(reply_to=d["reply_to"].hex())))
bug("out-reply-to-cut", "reply_to has eight bytes.", "4.1-35 16.1-13", place="draft", change=every(lambda d: "reply_to" in d and d.update(reply_to=d["reply_to"][:8])))
bug("out-reply-to-own-id", "reply_to is its own id.", "4.1-35 16.1-13", place="draft", change=every(lambda d: "reply_to" in d and d.update(reply_to=d["id"])))
bug("out-thread-as-reply-to", "thread_id is the id of the request.", "4.1.1-02", place="draft", change=every(lambda d: "reply_to" in d and d.update(thread_id=d["reply_to"])), profile="lenient")
bug("out-thread-cut", "thread_id is cut at a zero byte.", "4.1.1-05 4.1.1-04", place="draft", change=every(lambda d: "thread_id" in d and d.update(thread_id=d["thread_id"].split(b"\0")[0] + b"\0")))
bug("out-thread-utf8", "thread_id is turned into UTF-8.", "4.1.1-05 4.1.1-04", place="draft", change=every(lambda d: "thread_id" in d and d.update(thread_id=d["thread_id"].decode("utf-8", "replace").encode())))
bug("out-sig-hex", "sig is hex text.", "4.1-18 4.1-39", place="signed", change=every(lambda d: d.update(sig=d["sig"].hex())))
bug("out-sig-base64", "sig is base64 text.", "4.1-18 4.1-39", place="signed", change=every(lambda d: d.update(sig=__import__("base64").b64encode(d["sig"]).decode())))
bug("out-sig-with-message", "sig is the signed message.", "4.1-39", place="signed", change=every(lambda d: d.update(sig=d["sig"] + b"\0" * 32)))
bug("out-sig-zero", "sig is 64 zero bytes.", "2.2-01 3.2-01", place="signed", change=every(lambda d: d.update(sig=bytes(64))))
bug("out-sig-wrong-once", "ts is renewed after signing.", "2.2-01 3.2-01", place="signed", change=every(lambda d: d.update(ts=d["ts"] + 1)))
bug("out-body-absent", "A null body is left out.", "4.1-03 4.4-02 B-02", place="signed", change=every(lambda d: d.get("body", 0) is None and d.pop("body", 0), ("PONG",)))
bug("out-body-bytes", "The body is a byte string that holds CBOR.", "4.4-03 15.1-01", place="draft", change=every(lambda d: d.update(body=__import__("amp_cbor").encode(d["body"]))))
bug("out-body-json", "The body is JSON text.", "4.4-03 15.1-01", place="draft", change=every(lambda d: isinstance(d["body"], dict) and d.update(body=__import__("json").dumps(d["body"], default=str))))
bug("out-both-body-and-enc", "enc null with body.", "4.1-03 4.1-73", place="signed", change=every(lambda d: d.update(enc=None)))
bug("out-ext-permissions", "ext.permissions in sent messages.", "8.7-04", profile="strict", place="draft", change=every(lambda d: d.update(ext={"permissions": ["*"]})))
bug("out-envelope-array", "Messages are arrays.", "2.4-01 4.1-01", fatal=True)
bug("out-integer-keys", "Integer keys.", "4.1-02", fatal=True)
bug("out-trailing-newline", "A line end after each message.", "002.3.2-01 2.4-01")
bug("out-tagged", "Messages carry the tag of self-described CBOR.", "2.4-01 4.1-01")
bug("out-typ-reserved", "ACK goes out as 0x0C.", "17.2-01 4.3-04", place="draft", change=every(lambda d: d.update(typ=0x0C), ("ACK",)))

# --- ACK, PROC, PONG, RESPONSE ------------------------------------------------------------------------------------------


def on_ack(name, about, breaks, change, **more):
    bug(name, about, breaks, place="ack", change=lambda b, n, s: bool(change(b) or True), **more)


on_ack("ack-says-relay", "An agent sends ack_source relay.", "16.1-07", lambda b: b.update(ack_source="relay"))
on_ack("ack-source-capital", "Recipient with a capital.", "4.4-04", lambda b: b.update(ack_source="Recipient"))
on_ack("ack-source-agent", "ack_source agent.", "4.4-04", lambda b: b.update(ack_source="agent"))
on_ack("ack-source-missing", "No ack_source.", "16.1-05 4.4-03 2.3-03", lambda b: b.pop("ack_source"))
on_ack("ack-source-renamed", "source instead of ack_source.", "16.1-05 4.4-03", lambda b: b.update(source=b.pop("ack_source")))
on_ack("ack-source-number", "ack_source 1.", "4.4-04", lambda b: b.update(ack_source=1))
on_ack("ack-time-in-seconds", "received_at in seconds.", "4.4-05", lambda b: b.update(received_at=b["received_at"] // 1000))
on_ack("ack-time-missing", "No received_at.", "4.4-05", lambda b: b.pop("received_at"))
on_ack("ack-time-text", "received_at is text.", "4.4-05", lambda b: b.update(received_at="2026-01-01T00:00:00Z"))
on_ack("ack-time-float", "received_at is a float.", "4.4-05", lambda b: b.update(received_at=float(b["received_at"])))
on_ack("ack-time-zero", "received_at 0.", "4.4-05", lambda b: b.update(received_at=0))
on_ack("ack-time-hour-off", "received_at in local time.", "4.4-05", lambda b: b.update(received_at=b["received_at"] + 3_600_000))
on_ack("ack-target-bytes", "ack_target is a byte string.", "4.4-06", lambda b: b.update(ack_target=b"did:key:z"))
on_ack("ack-target-array", "ack_target is an array.", "4.4-06", lambda b: b.update(ack_target=["did:key:z"]))
on_ack("ack-target-null", "ack_target null.", "4.4-06", lambda b: b.setdefault("ack_target", None))
on_ack("ack-target-name", "ack_target is a name.", "4.4-06", lambda b: b.update(ack_target="peer"))
on_ack("ack-target-other", "ack_target is another party.", "16.1-09 4.4-06", lambda b: b.update(ack_target="did:key:z6Mkh4RrL9X4Tei6wX1sFShnH5AT44Xuet6WutGojDAhDs7S"))
on_ack("ack-verified-null", "verified null in every ACK.", "4.4-09", lambda b: b.setdefault("verified", None))
on_ack("ack-verified-text", "verified is text.", "4.4-09", lambda b: b.update(verified="true"))
on_ack("ack-stream-id-null", "stream_id null in every ACK.", "4.4-07", lambda b: b.setdefault("stream_id", None))
bug("ack-body-null", "ACK with a null body.", "4.4-03 16.1-05", place="draft", change=every(lambda d: d.update(body=None), ("ACK",)))
bug("ack-body-text", "ACK with a text body.", "4.4-03 16.1-05", place="draft", change=every(lambda d: d.update(body="ok"), ("ACK",)))
bug("ack-unsigned", "ACK without a signature.", "16.1-08 2.2-01", place="signed", change=every(lambda d: d.pop("sig"), ("ACK",)))
bug("ack-signed-empty", "ACK with a signature of zero bytes.", "16.1-08 2.2-01", place="signed", change=every(lambda d: d.update(sig=bytes(64)), ("ACK",)))
bug("ack-without-reply-to", "ACK without reply_to.", "16.1-13 4.1-35", place="draft", change=every(lambda d: d.pop("reply_to", None), ("ACK",)))
bug("ack-reply-to-thread", "reply_to of ACK is the thread.", "4.1.1-02", place="draft", change=every(lambda d: "thread_id" in d and d.update(reply_to=d["thread_id"]), ("ACK",)))
bug("ack-as-proc-ok", "PROC_OK instead of ACK.", "1.5-05 16.1-01 4.3-04", place="draft", change=every(lambda d: d.update(typ=0x04, body={}), ("ACK",)))
bug("ack-from-recipient", "ACK in the name of the sender.", "16.1-06 16.1-08", place="draft", change=every(lambda d: d.update({"from": d["to"]}), ("ACK",)))
bug("ack-id-of-request", "ACK has the id of the request.", "8.4-01 4.2-04", place="draft", change=every(lambda d: d.update(id=d.get("reply_to", d["id"])), ("ACK",)))
bug("no-ack", "No ACK.", "16.1-01 1.5-05 2.3-01")
bug("ack-after-processing-only", "ACK after PROC_OK.", "16.1-02 16.1-01", needs=("request-proc-ok",))
bug("ack-twice-with-other-content", "Two ACKs for each message.", "16.1-01", profile="strict")
bug("proc-fail-as-ok", "PROC_OK for a failure.", "16.1-03")
bug("proc-null-body", "PROC_OK and PROC_FAIL with a null body.", "4.4-10 4.4-11", place="draft", needs=("request-proc-ok",), change=every(lambda d: d.update(body=None), ("PROC_OK", "PROC_FAIL")))
bug("proc-text-body", "PROC_FAIL with a text body.", "4.4-11", place="draft", change=every(lambda d: d.update(body="failed"), ("PROC_FAIL",)))
bug("proc-without-reply-to", "PROC without reply_to.", "16.1-02 2.3-02", place="draft", needs=("request-proc-ok",), change=every(lambda d: d.pop("reply_to", None), ("PROC_OK", "PROC_FAIL")))
bug("proc-unsigned", "PROC without a signature.", "2.2-01", place="signed", needs=("request-proc-ok",), change=every(lambda d: d.pop("sig"), ("PROC_OK", "PROC_FAIL")))
bug("response-unsigned", "RESPONSE without a signature.", "2.2-01", place="signed", change=every(lambda d: d.pop("sig"), ("RESPONSE",)))
bug("response-without-reply-to", "RESPONSE without reply_to.", "16.5-06", place="draft", profile="strict", change=every(lambda d: d.pop("reply_to", None), ("RESPONSE",)))
bug("response-echoes-request-type", "REQUEST in place of RESPONSE.", "16.5-06 2.3-02", profile="strict")
bug("response-dropped-ack-lost", "REQUEST is not answered at all.", "2.3-01 2.3-02 16.2-01")
bug("pong-echoes-body", "PONG has a body.", "4.4-02")
bug("pong-map-body", "PONG has an empty map.", "4.4-02")
bug("pong-is-ping", "PING for PING.", "4.3-03 16.4-06")
bug("pong-without-reply-to", "PONG without reply_to.", "16.4-06", place="draft", change=every(lambda d: d.pop("reply_to", None), ("PONG",)))
bug("pong-unsigned", "PONG without a signature.", "2.2-01", place="signed", change=every(lambda d: d.pop("sig"), ("PONG",)))
bug("pong-signature-over-nothing", "PONG signed over no bytes.", "2.2-01 8.1-27 4.1-65", place="signed", change=every(lambda d: d.update(sig=d["sig"][::-1]), ("PONG",)))
bug("ping-acked-only", "ACK instead of PONG.", "16.4-06 4.3-02")
bug("ping-ignored", "No PONG.", "16.4-06 4.3-02")
bug("pong-only-once", "The first PING only.", "16.4-06 4.3-03", profile="strict")

# --- Batch --------------------------------------------------------------------------------------------------------------

bug("batch-all-or-nothing", "One bad item fails the whole batch.", "4.5-03")
bug("batch-first-item-only", "Only the first item.", "4.5-03 2.4-02")
bug("batch-last-item-lost", "The last item is lost.", "4.5-03 2.4-02")
bug("batch-eight-items", "Items beyond the eighth are lost.", "4.5-03")
bug("batch-stops-at-error", "Stops at the first bad item.", "4.5-03")
bug("batch-replies-name-container", "Replies name the container.", "4.5-06 4.5-03")
bug("batch-errors-dropped", "Bad items get no ERROR.", "4.5-03")
bug("batch-acked-not-processed", "The container is acknowledged, the items are lost.", "2.4-02 4.5-03 4.3-20")
bug("batch-index-from-one", "batch_index counts from one.", "4.4-67 4.5-08")
skip("batch-empty-acked", "batch-empty", "An empty batch is accepted.", "4.4-66", profile="strict")
skip("batch-items-any-type", "batch-item-type schema-batch-items schema-protocol-map", "Items of other types are ignored.", "4.4-65 4.5-01", profile="strict")

# --- Streams ------------------------------------------------------------------------------------------------------------

bug("stream-hash-arrival-order", "Hashes chunks in the order of arrival.", "6.2-09 6.2-08")
bug("stream-order-demanded", "Refuses chunks out of order.", "6.2-08")
bug("stream-text-order", "Orders chunks by the text of their index.", "6.2-08 6.2-01", profile="strict")
bug("stream-hash-with-lengths", "Hashes lengths before the chunks.", "6.2-11 6.2-01 6.3-04")
bug("stream-hash-over-cbor", "Hashes the encoded chunks.", "6.2-10 6.2-01 6.3-04")
bug("stream-padded-to-chunks", "Pads the last chunk.", "6.2-06 6.2-01")
bug("stream-hash-sha512", "Hashes with SHA-512.", "6.2-01 6.3-04")
bug("stream-hash-of-hashes", "Hashes the hashes of the chunks.", "6.2-01 6.3-04")
bug("stream-ends-early", "Confirms although a chunk is missing.", "6.2-14 6.2-04")
bug("stream-count-unchecked", "Checks the hash only.", "6.2-04", profile="strict")
bug("stream-size-unchecked", "total_size is not compared.", "6.2-05", profile="strict")
bug("stream-hash-unchecked", "Does not compare the hash.", "6.2-15 6.2-16")
bug("stream-hash-prefix", "A prefix of the hash is enough.", "6.2-15")
bug("stream-hash-first-bytes", "Compares eight bytes of the hash.", "6.2-15", profile="strict")
bug("stream-duplicate-overwrites", "A second chunk replaces the first.", "6.2-19")
bug("stream-duplicate-refused", "A duplicate chunk is an error and the stream is lost.", "6.2-18", profile="strict")
bug("stream-duplicate-counted", "A duplicate chunk counts.", "6.2-18 4.4-08")
bug("stream-duplicate-appended", "A duplicate chunk is appended.", "6.2-18 6.2-19")
bug("stream-index-wraps", "An index beyond the end wraps.", "6.2-12", profile="strict")
skip("stream-index-unchecked", "stream-index", "A chunk beyond the count is stored.", "6.2-12 6.2-04")
bug("stream-index-eight-bits", "The index of a chunk is cut to one byte.", "6.2-12 6.2-04")
bug("stream-id-any-case", "stream_id in any case.", "6.2-09 6.2-01")
bug("stream-id-trimmed", "stream_id without the spaces at its ends.", "6.2-09 6.2-01")
bug("stream-index-from-one", "Counts chunks from one.", "6.2-02 6.2-01")
bug("stream-last-chunk-lost", "The last chunk is lost.", "6.2-01 6.3-04")
bug("stream-many-final-acks", "An ACK with stream_id for every chunk.", "6.3-06")
bug("stream-progress-acks", "ACK with stream_id and verified false for every chunk.", "6.3-06")
bug("stream-start-final-ack", "ACK with stream_id for STREAM_START.", "6.3-06")
bug("stream-final-ack-twice", "Two final ACKs.", "6.3-06")
bug("stream-no-final-ack", "The final ACK has no stream_id.", "6.3-04 6.2-21")
bug("stream-failure-silent", "Sends no answer when a stream fails.", "6.2-16 6.2-10", profile="strict")
bug("stream-failure-plain-ack", "A plain ACK when a stream fails.", "6.2-16", profile="strict")
bug("stream-failure-error-and-true", "verified true in every case.", "6.2-15 6.2-14")
bug("stream-open-after-end", "Chunks count after the end.", "6.3-03", profile="strict")
bug("stream-scope-global", "stream_id is not kept per sender.", "6.3-03", profile="strict")
skip("stream-unknown-acked", "stream-unknown", "Acknowledges chunks of unknown streams, and their end as verified.", "6.3-03")
skip("stream-large-accepted", "stream-too-large", "Any total_size.", "6.2-20", profile="strict")
skip("stream-numbers-accepted", "stream-numbers", "Contradictory numbers are accepted.", "6.2-04 6.2-05", profile="strict")
for _name, _about, _req, _value in (
    ("verified-number", "verified is 1.", "4.4-09", lambda b: b.update(verified=int(b["verified"]))),
    ("verified-missing", "No verified in the final ACK.", "6.2-21 6.3-04", lambda b: b.pop("verified")),
    ("count-text", "chunks_received is text.", "4.4-08", lambda b: b.update(chunks_received="3")),
    ("count-off-by-one", "chunks_received is the last index.", "4.4-08 6.2-21", lambda b: b.update(chunks_received=max(0, b.get("chunks_received", 1) - 1))),
    ("count-bytes", "chunks_received is the number of bytes.", "4.4-08", lambda b: b.update(chunks_received=b.get("chunks_received", 1) * 8)),
    ("id-bytes", "stream_id is a byte string.", "4.4-07 6.3-04", lambda b: b.update(stream_id=b["stream_id"].encode())),
    ("id-upper", "stream_id in capitals.", "4.4-07 6.3-04", lambda b: b.update(stream_id=b["stream_id"].upper())),
    ("verified-false", "verified false for a valid stream.", "6.2-01 6.3-04", lambda b: b.update(verified=False)),
):
    bug(f"stream-ack-{_name}", _about, _req, place="final", change=lambda b, n, s, f=_value: bool(f(b) or True))
bug("stream-ack-without-reply-to", "The final ACK has no reply_to.", "6.3-04", place="draft", profile="strict", change=every(lambda d: "stream_id" in (d["body"] or {}) and d.pop("reply_to", None), ("ACK",)))
for _typ, _members in (
    ("STREAM_START", "stream_id:4.4-27 content_type:4.4-28 filename:4.4-29 total_size:4.4-30 total_chunks:4.4-31 chunk_size:4.4-32 hash_algo:4.4-33"),
    ("STREAM_DATA", "stream_id:4.4-34 index:4.4-35 data:4.4-36"),
    ("STREAM_END", "stream_id:4.4-37 hash:4.4-38"),
    ("DOC_SEND", "content_type:4.4-18 filename:4.4-19 size:4.4-20 hash:4.4-21 data:4.4-22"),
    ("CRED_ISSUE", "format:4.4-39 credential:4.4-40"),
    ("CRED_REQUEST", "format:4.4-42"),
    ("CRED_PRESENT", "format:4.4-45 credential:4.4-46"),
    ("CRED_VERIFY", "format:4.4-48 credential:4.4-49"),
    ("DELEG_GRANT", "credential:4.4-50"),
    ("DELEG_REVOKE", "delegation_id:4.4-53"),
    ("DELEG_QUERY", "delegation_id:4.4-54"),
):
    for _pair in _members.split():
        _member, _req = _pair.split(":")
        _rule = f"schema-{_typ.lower().replace('_', '-')}-{_member.replace('_', '-')}"
        _more = {
            "size": " document-mismatch", "hash": " document-mismatch stream-failed", "data": " document-mismatch",
            "total_size": " stream-numbers", "total_chunks": " stream-numbers", "chunk_size": " stream-numbers",
            "hash_algo": " stream-hash-name", "delegation_id": " delegation-id-empty", "stream_id": " stream-unknown",
        }.get(_member, "")  # fmt: skip
        skip(f"no-{_rule}", _rule + _more, f"{_member} of {_typ} is not checked.", _req, needs=("documents-unchecked",) if _typ == "DOC_SEND" else ())
for _typ, _member, _req in (
    ("DOC_REQUEST", "doc-id", "4.4-23"),
    ("DOC_REQUEST", "hash", "4.4-24"),
    ("DOC_REQUEST", "accept", "4.4-25"),
    ("CRED_ISSUE", "purpose", "4.4-41"),
    ("CRED_PRESENT", "purpose", "4.4-47"),
    ("DELEG_GRANT", "expires", "4.4-52"),
):
    _rule = f"schema-{_typ.lower().replace('_', '-')}-{_member}"
    skip(f"no-{_rule}", _rule, f"{_member} of {_typ} is not checked.", _req, profile="strict")
code("schema-as-1002", "schema-app schema-protocol schema-*", 1002, "1002 for bodies that do not match their schema.", "4.4-27 4.4-34 4.4-18")
code("schema-as-5001", "schema-app schema-protocol schema-*", 5001, "5001 for bodies that do not match their schema.", "4.4-27 4.4-34 4.4-18 15.3-37")
code("schema-as-1005", "schema-app schema-*", 1005, "1005 for bodies that do not match their schema.", "4.4-27 4.4-18", profile="strict")
skip("ack-schema-unchecked", "schema-ack-ack-source schema-ack-received-at schema-ack-ack-target schema-protocol-map", "ACKs are not checked.", "15.3-35")

# --- Documents, credentials, delegation ---------------------------------------------------------------------------------

skip("document-selector-optional", "document-selector", "DOC_REQUEST needs no selector.", "4.4-26 15.3-29")
bug("document-both-selectors", "DOC_REQUEST needs both selectors.", "4.4-23 4.4-24 4.4-26")
bug("document-id-required", "DOC_REQUEST needs doc_id.", "4.4-23 4.4-26")
bug("document-accept-required", "DOC_REQUEST needs accept.", "4.4-25")
bug("document-unknown-silent", "Does not answer for an unknown document.", "4.4-23 4.4-26 2.3-01")
bug("document-unknown-as-http-404", "4040 for an unknown document.", "17.2-04 15.3-54")
bug("document-mismatch-accepted", "Size and hash are not compared.", "6.1-02 6.1-03", profile="strict")
bug("document-hash-as-hex-compared", "Compares the hash with hex text.", "6.1-01 6.1-02")
bug("document-type-list", "Knows two media types only.", "2.7-02", profile="strict")
bug("document-empty-refused", "Refuses an empty document.", "6.1-01", profile="strict")
bug("document-hash-over-cbor", "The hash of a document it sends is over the encoded data.", "6.1-02", profile="strict")
bug("document-size-in-text", "The size of a document it sends is text.", "6.1-03", profile="strict")
bug("document-hash-hex", "The hash of a document it sends is hex text.", "6.1-02", profile="strict")
bug("credential-must-be-map", "Refuses credentials that are not maps.", "7-01 2.7-03", profile="strict")
bug("credential-purpose-required", "purpose is required.", "4.4-41 4.4-44 4.4-47")
bug("delegation-scope-required", "scope is required.", "4.4-51")
bug("delegation-ext-decides", "ext decides about a grant.", "7.1-03", claims=("delegation-rules",))
skip("delegation-id-empty-accepted", "delegation-id-empty", "An empty delegation_id is fine.", "7.1-02", needs=("delegation-proc-ok",), claims=("delegation-rules",))
skip("delegation-credential-optional", "schema-deleg-grant-credential", "A grant needs no credential.", "7.1-01 4.4-50", needs=("delegation-proc-ok",))

# --- HTTP ---------------------------------------------------------------------------------------------------------------

HTTP = {"shows": "http"}
bug("http-bare-202-for-bad", "202 for everything, bad messages are dropped.", "002.6.1-06 8.2-14", **HTTP)
bug("http-bare-400-for-bad", "400 without ERROR for every bad message.", "8.2-14 1.5-04", **HTTP)
bug("http-500-for-bad", "500 for every bad message.", "002.6.4-09", **HTTP)
bug("http-500-with-error", "500 with every ERROR.", "002.6.4-09", **HTTP)
bug("http-reencodes-json-error", "Errors are JSON.", "1.5-04 2.4-01 8.2-14", **HTTP)
bug("http-malformed-202", "202 for rubbish.", "002.6.4-03 002.6.1-05 15.3-45", **HTTP)
bug("http-malformed-500", "500 for rubbish.", "002.6.4-03 002.6.4-09", **HTTP)
bug("http-malformed-closes", "The connection is closed after random bytes.", "002.6.4-03", **HTTP)
bug("http-empty-202", "202 for an empty body.", "15.3-45 002.6.1-05", **HTTP)
bug("http-204-for-all", "204 for everything.", "2.3-01 16.1-01", fatal=True, **HTTP)
bug("http-302", "Redirects accepted messages.", "002.6.1-07", **HTTP)
bug("http-any-version-path", "Serves /amp/v2/messages.", "002.6.1-01", **HTTP)
bug("http-any-path", "Serves every path.", "002.6.4-06", **HTTP)
bug("http-unknown-path-202", "202 for every path.", "002.6.4-06", **HTTP)
bug("http-content-type-exact", "Wants application/cbor; charset=binary.", "002.6.1-02", fatal=True, **HTTP)
bug("http-transport-version-required", "Wants X-AMP-Transport-Version.", "002.6.1-04", profile="strict", **HTTP)
bug("http-json-accepted", "202 for JSON.", "2.4-01", **HTTP)
bug("size-limit-too-small", "Refuses messages above 512 KiB.", "002.3.2-05")
bug("http-body-64k", "Refuses bodies above 64 KiB.", "002.3.2-05 002.6.2-07", **HTTP)
bug("http-relay-header-changes-outcome", "X-Forwarded-For is refused.", "8.1-35", **HTTP)
bug("http-first-message-of-body", "Takes the first of several messages in a body.", "002.6.1-05 15.3-47", **HTTP)
bug("http-first-reply-only", "Loses all replies but the first.", "4.5-03 2.4-02", **HTTP)
bug("http-last-reply-only", "Loses all replies but the last.", "4.5-03 16.1-01", **HTTP)
bug("http-replies-in-array", "Several replies are in an array.", "002.3.2-01 2.4-01 002.3.2-02", **HTTP)
bug("http-batch-items-as-maps", "Items of the BATCH are maps.", "4.4-65 4.5-01", **HTTP)
bug("http-batch-body-array", "The body of the BATCH is an array.", "4.5-01", **HTTP)
bug("http-batch-unsigned", "The BATCH has no signature.", "2.2-01 4.5-02", place="signed", change=every(lambda d: d.pop("sig"), ("BATCH",)), **HTTP)
bug("http-media-type-case", "415 for Application/CBOR.", "002.6.1-02", profile="strict", **HTTP)
bug("http-octet-stream", "application/octet-stream.", "002.6.1-03", **HTTP)
bug("http-json-media-type", "CBOR under application/json.", "002.6.1-03", **HTTP)
bug("http-base64-body", "The body is base64.", "2.4-01 002.6.4-01 002.3.2-01", fatal=True, **HTTP)
bug("http-hex-body", "The body is hex text.", "2.4-01 002.6.4-01 002.3.2-01", fatal=True, **HTTP)
bug("http-length-prefixed-body", "The body has a length before it.", "2.4-01 002.3.2-01", fatal=True, **HTTP)
bug("http-body-cut", "The last byte of the body is missing.", "2.4-01 002.3.2-01", fatal=True, **HTTP)
bug("answers-after-eight-seconds", "Every answer takes eight seconds.", "16.4-01", profile="strict", slow=True, fatal=True)


def replies_of(place):
    def twice(replies, n, s):
        replies.extend(replies[:1])
        return bool(replies)

    def reverse(replies, n, s):
        replies.reverse()
        return len(replies) > 1

    bug(f"{place}-replies-twice", f"{place}: the first reply comes twice.", "16.1-01", place=f"{place}-replies", change=twice, shows=place, profile="strict")
    bug(f"{place}-replies-reversed", f"{place}: replies in reverse order.", "16.1-02", place=f"{place}-replies", change=reverse, shows=place, needs=("request-proc-ok",))


for _place in ("http", "ws", "tcp"):
    replies_of(_place)

# --- Polling ------------------------------------------------------------------------------------------------------------

POLL = {"shows": "poll", "role": "both"}
bug("poll-limit-off-by-one", "A page holds one message more than requested.", "002.6.2-01", **POLL)
bug("poll-limit-ignored", "limit is ignored.", "002.6.2-01", **POLL)
bug("poll-cursor-ignored", "cursor is ignored.", "002.6.2-01 002.6.2-05", **POLL)
bug("poll-cursor-stuck", "The cursor does not advance.", "002.6.2-05 002.6.2-01", **POLL)
bug("poll-skips-one", "A message is lost between pages.", "002.6.2-07 002.6.2-01", **POLL)
bug("poll-repeats-last", "The last message of a page comes again.", "002.6.2-01 002.6.2-05", profile="strict", **POLL)
bug("poll-newest-first", "The newest come first, so the walk loses the others.", "002.6.2-01 002.6.2-07", **POLL)
bug("poll-has-more-always-false", "has_more is always false.", "002.6.2-01", **POLL)
bug("poll-has-more-when-full", "has_more is true for a full page without a further one.", "002.6.2-04", profile="strict", **POLL)
bug("poll-more-without-cursor", "has_more true with next_cursor null.", "002.6.2-04", **POLL)
bug("poll-has-more-integer", "has_more is 0 or 1.", "002.6.2-02", **POLL)
bug("poll-cursor-integer", "next_cursor is a number.", "002.6.2-02", **POLL)
bug("poll-without-has-more", "No has_more.", "002.6.2-02", **POLL)
bug("poll-without-next-cursor", "No next_cursor.", "002.6.2-02", **POLL)
bug("poll-extra-member", "A further member count.", "002.6.2-02", **POLL)
bug("poll-messages-as-maps", "Messages are maps.", "002.6.2-02 002.6.2-03", **POLL)
bug("poll-hex-messages", "Messages are hex text.", "002.6.2-02 002.6.2-03", **POLL)
bug("poll-messages-cut", "Messages are truncated at 64 KiB.", "002.6.2-07", **POLL)
bug("poll-bare-array", "The answer is the array of messages.", "002.6.2-02", **POLL)
bug("poll-json", "The answer is JSON.", "002.6.2-02 002.2.2-06", **POLL)
bug("poll-empty-204", "204 if no message waits.", "002.6.2-02 002.2.2-06", **POLL)
bug("poll-everybodys-messages", "Everybody gets everybody's messages.", "002.6.2-01 002.6.2-07", profile="strict", **POLL)
bug("poll-one-box", "Everybody polls the same box.", "002.6.2-01", profile="strict", **POLL)

# --- Relay --------------------------------------------------------------------------------------------------------------

RELAY = {"shows": "relay", "role": "both"}
bug("relay-reencodes", "Decodes and re-encodes in transit.", "002.2-02 002.6.2-03 8.3-20", **RELAY)
bug("relay-drops-ext", "Drops ext.", "002.2-02 002.6.2-03", profile="strict", **RELAY)
bug("relay-drops-thread", "Drops thread_id.", "4.1.1-05 002.2-02", **RELAY)
bug("relay-extends-ttl", "Extends ttl.", "8.3-20", **RELAY)
bug("relay-restamps", "Renews ts.", "8.3-20 002.2-02", **RELAY)
bug("relay-first-recipient-only", "Serves the first recipient only.", "002.2-02", profile="strict", **RELAY)
bug("relay-never-pushes", "Connections never get anything at once.", "8.3-10", **RELAY)
bug("relay-stores-ttl-zero", "Queues ttl 0 for the absent.", "8.3-09 8.3-11", **RELAY)
bug("relay-drops-ttl-zero-silently", "Drops ttl 0 for the absent and acknowledges it.", "8.3-11", **RELAY)
code("relay-ttl-zero-as-1003", "ttl-zero-offline", 1003, "1003 for ttl 0 to the absent.", "8.3-11 15.3-15", **RELAY)
code("relay-ttl-zero-as-2001", "ttl-zero-offline", 2001, "2001 for ttl 0 to the absent.", "8.3-11 15.3-15", **RELAY)
bug("relay-delivers-expired", "Offers messages after ts + ttl.", "8.3-19", slow=True, **RELAY)
bug("relay-ttl-in-seconds", "Keeps messages for ttl seconds.", "8.3-19", slow=True, **RELAY)
bug("relay-forgets-after-ten-seconds", "Forgets messages after ten seconds.", "8.3-18", slow=True, **RELAY)
bug("relay-stores-nothing", "Forwards and stores nothing.", "8.3-18 002.2.2-06 16.5-02", slow=True, **RELAY)
bug("relay-acks-as-recipient", "Says recipient in its own ACK.", "16.1-17 16.1-06", **RELAY)
bug("relay-drops-after-poll", "Forgets messages that were polled once.", "16.5-02", **RELAY)
bug("relay-forgets-when-pushed", "Forgets messages that were written to a connection.", "16.5-02", profile="strict", **RELAY)
bug("relay-verifies-encrypted", "1002 for messages that it cannot decrypt.", "8.6-19", **RELAY)
skip("relay-accepts-expired", "relay-expired", "Accepts expired messages.", "15.3-17", **RELAY)
code("relay-unknown-as-5001", "recipient-unknown", 5001, "5001 for a DID that cannot be resolved.", "15.3-11", **RELAY)
bug("relay-ack-without-reply-to", "The ACK of the relay has no reply_to.", "16.1-13 002.3.4-02", place="draft", profile="strict", change=every(lambda d: d.pop("reply_to", None), ("ACK",)), **RELAY)
bug("relay-ack-unsigned", "The ACK of the relay is unsigned.", "002.3.4-02 16.1-08", place="signed", change=every(lambda d: d.pop("sig"), ("ACK",)), **RELAY)
skip("relay-forwards-forgeries", "signature", "Forwards messages that do not verify, its own included.", "8.2-06", **RELAY)

# --- WebSocket ----------------------------------------------------------------------------------------------------------

WS = {"shows": "ws"}
bug("ws-subprotocol-ignored", "Serves clients without amp.v1.", "002.5.1-04 002.A.3-01", **WS)
bug("ws-subprotocol-prefix", "Serves clients with a subprotocol that begins with amp.v1.", "002.5.1-04", **WS)
bug("ws-subprotocol-optional", "Serves clients without a subprotocol.", "002.5.1-04 002.A.3-01", **WS)
bug("ws-subprotocol-first-only", "amp.v1 must be the first on the list.", "002.5.1-03", **WS)
bug("ws-subprotocol-single-only", "amp.v1 must be the only subprotocol.", "002.5.1-03", **WS)
bug("ws-subprotocol-not-named", "The answer names no subprotocol.", "002.5.1-03 002.A.3-01", fatal=True, **WS)
bug("ws-subprotocol-echoed", "The answer names the first that was offered.", "002.5.1-03", **WS)
bug("ws-subprotocol-upper", "The answer names AMP.V1.", "002.5.1-03 002.A.3-01", fatal=True, **WS)
bug("ws-size-header-text", "The size header is not a number.", "002.5.3-01", profile="strict", **WS)
bug("ws-text-accepted", "Processes text messages.", "002.5.2-02", **WS)
bug("ws-text-ignored", "Ignores text messages.", "002.5.2-02", **WS)
bug("ws-text-replies", "Replies are text messages.", "002.5.2-01 002.3.2-01", fatal=True, **WS)
bug("ws-fragments-refused", "Refuses fragments.", "002.5.2-03", **WS)
bug("ws-fragments-taken-alone", "Treats the first fragment as the message.", "002.5.2-03", **WS)
bug("ws-joined-messages-split", "Processes joined messages.", "002.5.2-04 15.3-47", profile="strict", **WS)
bug("ws-ping-ignored", "No pong.", "002.5.3-02", **WS)
bug("ws-pong-empty", "The pong is empty.", "002.5.3-02", **WS)
bug("ws-close-unanswered", "The close is not answered.", "002.5.4-01", **WS)
bug("ws-close-answered-1011", "The close is answered with 1011.", "002.5.4-01 002.5.4-06", **WS)
bug("ws-malformed-1011", "1011 for rubbish.", "002.5.4-06", **WS)
bug("ws-malformed-ignored", "Ignores rubbish.", "15.3-45 002.3.2-03", **WS)
bug("ws-empty-ignored", "Ignores empty messages.", "15.3-45", **WS)
bug("ws-drops-without-close", "Drops the connection without a close.", "002.5.4-03", profile="strict", **WS)
bug("ws-unmasked-accepted", "Takes unmasked frames.", "002.5.4-02", profile="strict", **WS)
bug("ws-control-frames-any-size", "Takes control frames in fragments and of any size.", "002.5.4-02", profile="strict", **WS)
bug("ws-maximum-not-kept", "Accepts more than it declares at the upgrade.", "002.5.4-05 002.A.5-01", needs=("ws-size-header", "size-1-mib"), **WS)
bug("ws-sends-any-size", "Sends more than the limit of the other side.", "002.5.3-01", profile="strict", **WS)
bug("ws-reserved-opcode-ignored", "Ignores reserved opcodes.", "002.5.4-02", profile="strict", **WS)
bug("ws-greets-with-message", "Sends PING before HELLO.", "002.3.3-01", **WS)
for _kind in ("ws", "tcp"):
    _name = {"ws": "WebSocket", "tcp": "TCP"}[_kind]
    bug(f"{_kind}-replies-joined", f"{_name}: several replies in one unit.", "002.3.2-01 002.3.2-02 002.5.2-01", shows=_kind)
    bug(f"{_kind}-first-reply-only", f"{_name}: all replies but the first are lost.", "2.4-02 2.3-02 16.4-06", shows=_kind, profile="strict")
    bug(f"{_kind}-replies-lost", f"{_name}: no replies.", "002.4.3-01" if _kind == "tcp" else "002.5.2-01", shows=_kind, fatal=True)
    bug(f"{_kind}-errors-lost", f"{_name}: no ERRORs.", "8.2-14 002.3.3-02", shows=_kind, profile="strict")
    bug(f"{_kind}-dies-after-error", f"{_name}: the connection is reset after an ERROR.", "8.2-14 002.5.2-01", shows=_kind, profile="strict")
    bug(f"{_kind}-one-message-only", f"{_name}: the connection is closed after the first message.", "2.3-05 002.4.3-01", shows=_kind)

# --- TCP ----------------------------------------------------------------------------------------------------------------

TCP = {"shows": "tcp"}
FATAL = {"shows": "tcp", "fatal": True}
bug("tcp-length-without-type", "Counts the payload only.", "002.4.2-02 002.4.2-01", **FATAL)
bug("tcp-length-with-header", "Counts the length as well.", "002.4.2-02 002.4.2-01", **FATAL)
bug("tcp-length-little-endian", "Little-endian length.", "002.4.2-01", **FATAL)
bug("tcp-length-16-bits", "A length of two bytes.", "002.4.2-01", **FATAL)
bug("tcp-type-byte-missing", "No type byte.", "002.4.2-01", **FATAL)
bug("tcp-length-excludes-type-in", "Reads lengths that do not count the type byte.", "002.4.2-02", **FATAL)
bug("tcp-zero-length-ignored", "Ignores length 0.", "002.4.2-03", **TCP)
bug("tcp-agreed-maximum-ignored", "Accepts messages above the maximum of the handshake.", "002.4.2-04 002.A.5-01 002.8.1-02", **TCP)
bug("tcp-length-awaited", "Waits for a length beyond the maximum.", "002.4.2-04", **TCP)
bug("tcp-messages-as-handshake", "Messages go out as type 2.", "002.4.3-01", **FATAL)
bug("tcp-messages-as-type-7", "Messages go out as type 7.", "002.4.3-01", **FATAL)
bug("tcp-errors-ignored", "Faults of framing are ignored.", "002.4.2-03 002.4.2-04 002.3.1-01", **TCP)
bug("tcp-malformed-ignored", "Ignores rubbish.", "002.3.2-03 15.3-45", **TCP)
bug("tcp-closes-by-reset", "Ends connections with a reset.", "002.3.1-03", **TCP)
bug("tcp-server-speaks-first", "Speaks before the handshake.", "002.3.1-01 002.4.4-04", **TCP)
bug("tcp-handshake-not-required", "Takes messages before the handshake.", "002.3.1-01", needs=(), skip=("before-hello",), **TCP)
bug("tcp-handshake-in-any-frame", "Takes a handshake in type 1.", "002.4.3-02", **TCP)
bug("tcp-handshake-fields-unchecked", "Needs neither version nor max_msg_size.", "002.4.4-01", **TCP)
bug("tcp-handshake-any-version", "Takes any version.", "002.3.1-03 002.4.4-05", **TCP)
bug("tcp-handshake-did-required", "Wants did.", "002.4.4-01", **TCP)
bug("tcp-handshake-closed-map", "Refuses optional members.", "002.4.4-01", **TCP)
bug("tcp-handshake-silent", "Does not answer the handshake.", "002.4.4-04 002.4.3-02", **FATAL)
bug("tcp-handshake-as-message", "Answers the handshake in type 1.", "002.4.3-02 002.4.4-04", **FATAL)
bug("tcp-handshake-json", "Answers the handshake in JSON.", "002.4.3-02 002.4.4-02", **FATAL)
bug("tcp-refused-stays-open", "Stays open after a refused handshake.", "002.4.4-05 002.3.1-03", **TCP)
bug("tcp-ping-ignored", "No PONG frame.", "002.4.3-03 002.4.3-04", **TCP)
bug("tcp-ping-long-refused", "Refuses long PING frames.", "002.4.3-03", **TCP)
bug("tcp-ping-as-text", "The bytes of a PING frame pass through a text.", "002.4.3-04", **TCP)
bug("tcp-handshake-version-one-byte", "The version of a handshake is cut to one byte.", "002.3.1-03 002.4.4-05", **TCP)
bug("tcp-handshake-version-32-bits", "The version of a handshake is cut to 32 bits.", "002.3.1-03 002.4.4-05", **TCP)
bug("tcp-pong-empty", "The PONG frame is empty.", "002.4.3-04", **TCP)
bug("tcp-pong-altered", "The PONG frame is reversed.", "002.4.3-04", **TCP)
bug("tcp-pong-as-ping", "PING frame for PING frame.", "002.4.3-04", **TCP)
bug("tcp-goaway-refused", "ERROR frame for GOAWAY.", "002.4.3-05", **TCP)
bug("tcp-goaway-crashes", "Reset for GOAWAY.", "002.4.5-01", profile="strict", **TCP)
bug("tcp-unknown-frame-as-message", "Takes unknown frame types for messages.", "002.4.3-07", profile="strict", **TCP)
bug("goaway-text-reason", "reason of GOAWAY is text.", "002.4.5-01 002.4.3-05", **TCP)
bug("goaway-not-cbor", "GOAWAY is not CBOR.", "002.4.3-05", **TCP)
for _name, _about, _req, _change in (
    ("accepted-integer", "accepted is 1.", "002.4.4-02", lambda b: b.update(accepted=int(b["accepted"]))),
    ("accepted-missing", "No accepted.", "002.4.4-02", lambda b: b.pop("accepted")),
    ("version-text", "version is text.", "002.4.4-02", lambda b: b.update(version="1")),
    ("version-missing", "No version.", "002.4.4-02", lambda b: b.pop("version")),
    ("size-missing", "No max_msg_size.", "002.4.4-02", lambda b: b.pop("max_msg_size")),
    ("size-text", "max_msg_size is text.", "002.4.4-02", lambda b: b.update(max_msg_size="16M")),
    ("extensions-map", "extensions is a map.", "002.4.4-02", lambda b: b.update(extensions={})),
    ("error-null", "error null in every response.", "002.4.4-02", lambda b: b.setdefault("error", None)),
):
    bug(f"tcp-handshake-{_name}", _about, _req, place="handshake", change=lambda b, n, s, f=_change: bool(f(b) or True), **TCP)
for _name, _about, _change in (
    ("code-text", "code of ERROR frames is text.", lambda b: b.update(code=str(b["code"]))),
    ("message-missing", "ERROR frames have no message.", lambda b: b.pop("message")),
    ("msg-id-text", "msg_id of ERROR frames is text.", lambda b: b.update(msg_id="none")),
    ("code-5001", "5001 in every ERROR frame.", lambda b: b.update(code=5001)),
):
    bug(f"tcp-error-{_name}", _about, "002.4.5-02 002.4.3-06" if "5001" not in _name else "002.8.1-01", place="frame-error", change=lambda b, n, s, f=_change: bool(f(b) or True), **TCP)

# --- Initiator ----------------------------------------------------------------------------------------------------------

INITIATOR = {"shows": "initiator", "slow": True}
bug("retry-with-new-id", "A new id for each attempt.", "16.3-07", **INITIATOR)
bug("retry-with-new-signature-time", "A new ts for each attempt, unsigned.", "16.3-07", **INITIATOR)
bug("retry-after-permanent-error", "Goes on after retry false.", "16.3-01", **INITIATOR)
bug("retry-never-after-error", "Stops after retry true.", "16.3-02", **INITIATOR)
bug("retry-never", "Sends once only.", "16.3-02 16.5-01 16.1-16", **INITIATOR)
bug("retry-once", "Sends twice only.", "16.5-01", **INITIATOR)
bug("retry-endless", "Goes on for ever.", "16.3-08", **INITIATOR)
bug("retry-without-jitter", "Always waits the full time.", "16.3-06", **INITIATOR)
bug("retry-without-wait", "Does not wait.", "16.3-03", **INITIATOR)
bug("retry-constant-wait", "Always waits 0.7 s.", "16.3-04 16.3-08", **INITIATOR)
bug("retry-first-after-ten-seconds", "Waits ten times as long.", "16.3-03", **INITIATOR)
bug("retry-after-expiry", "Goes on after ts + ttl.", "16.3-09", shows="initiator", slow=True, profile="strict")
bug("retry-after-confirmation", "Goes on after the ACK.", "16.5-01 16.3-01", **INITIATOR)
bug("retry-202-confirms", "Takes 202 for an ACK.", "16.5-01 16.1-16", **INITIATOR)
bug("initiator-wrong-path", "Posts to /messages.", "002.2.2-01", **INITIATOR)
bug("initiator-json-type", "Posts application/json.", "002.2.2-01", shows="initiator", slow=True, profile="strict")
skip("ack-of-stranger-counts", "ack-not-recipient", "An ACK of a stranger confirms.", "16.1-10", shows="initiator", slow=True)
skip("ack-forged-counts", "signature", "A forged ACK confirms.", "16.1-11", shows="initiator", slow=True)


def hellos(change):
    return lambda b, n, s: bool(change(b) or True)


bug("hello-out-versions-text", "HELLO of its own has versions as text.", "13.1-03", place="hello", change=hellos(lambda b: b.update(versions="1.0")), **INITIATOR)
bug("hello-out-version-number", "HELLO of its own offers numbers.", "13.1-03", place="hello", change=hellos(lambda b: b.update(versions=[1])), **INITIATOR)
bug("hello-out-info-without-name", "HELLO of its own has agent_info without name.", "4.4-61", place="hello", shows="initiator", slow=True, profile="strict", change=hellos(lambda b: b.update(agent_info={"implementation": "peer"})))
bug("hello-out-implementation-map", "HELLO of its own has implementation as a map.", "4.4-62", place="hello", change=hellos(lambda b: b["agent_info"].update(implementation={})), **INITIATOR)


import amp_narrow_mutants  # noqa: E402, F401
import amp_sequence_mutants  # noqa: E402, F401

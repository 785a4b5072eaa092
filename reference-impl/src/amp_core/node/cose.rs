//! Signed maps: the receipts between relays (RFC 003, 4.1 to 4.4) and the credentials of delegations (RFC 005, 4.4).
//! Both are COSE_Sign1 with EdDSA over a deterministic map that names its signer.

use super::super::codes::Code;
use super::super::did;
use super::super::document::Resolve;
use super::super::key_selection::signature_key;
use super::super::keys::Identity;
use super::super::rules::Rules;
use super::super::signature;
use crate::cbor::{self, Cbor, Limits};

/// Labels of RFC 9052, 3.1.
const ALG: u64 = 1;
const KID: u64 = 4;

/// The tag of a COSE_Sign1 (RFC 9052, 2); it may be left out.
const TAG: u64 = 18;

/// EdDSA is -8, and -1 - 7 is that.
const EDDSA: Cbor = Cbor::Negative(7);

fn signed(protected: &[u8], payload: &[u8]) -> Vec<u8> {
    // RFC 9052, 4.4.
    let structure = [Cbor::from("Signature1"), protected.into(), Cbor::Bytes(Vec::new()), payload.into()];
    cbor::encode(&Cbor::Array(structure.to_vec()))
}

/// Signs `payload`; `kid` is the verification method.
pub(super) fn sign(me: &Identity, kid: &str, payload: &Cbor) -> Vec<u8> {
    let header = Cbor::Map(vec![(ALG.into(), EDDSA), (KID.into(), kid.as_bytes().into())]);
    let (protected, payload) = (cbor::encode(&header), cbor::encode(payload));
    let sig = signature::sign(me, &signed(&protected, &payload));
    let parts = vec![protected.into(), Cbor::Map(Vec::new()), payload.into(), sig.into()];
    cbor::encode(&Cbor::Tag(TAG, Box::new(Cbor::Array(parts))))
}

/// The payload of a signed map, if the party that its member `signer` names signed it.
///
/// # Errors
///
/// 3001 for everything that does not verify.
pub(super) fn verify(
    bytes: &[u8],
    signer: &str,
    documents: &dyn Resolve,
    now: u64,
    rules: Rules,
) -> Result<Cbor, Code> {
    let refused = Code::Unauthorized;
    let read = |bytes: &[u8]| cbor::read(bytes, Limits::default()).map(|item| item.value).map_err(|_| refused);
    let parts = match read(bytes)? {
        Cbor::Tag(TAG, parts) => *parts,
        untagged => untagged,
    };
    let [protected, _, payload, sig] = parts.as_array().ok_or(refused)? else { return Err(refused) };
    let bytes = |part: &Cbor| part.as_bytes().map(<[u8]>::to_vec).ok_or(refused);
    let (protected, payload, sig) = (bytes(protected)?, bytes(payload)?, bytes(sig)?);
    let header = read(&protected)?;
    let labelled = |label: u64| {
        let pairs = header.as_map().unwrap_or_default();
        pairs.iter().find(|(key, _)| key.as_unsigned() == Some(label)).map(|(_, value)| value.clone())
    };
    if labelled(ALG) != Some(EDDSA) {
        return Err(refused);
    }
    let content = read(&payload)?;
    let signer = content.get(signer).and_then(Cbor::as_text).ok_or(refused)?;
    // RFC 002, 6.6: an unsigned receipt is not trusted.
    let kid = match labelled(KID) {
        Some(Cbor::Bytes(kid)) => String::from_utf8(kid).map_err(|_| refused)?,
        Some(Cbor::Text(kid)) => kid,
        _ => return Err(refused), // the profile requires one
    };
    // RFC 003, 4.1; RFC 005, 4.4: the key is one of the signer.
    if did::bare(&kid) != did::bare(signer) {
        return Err(refused);
    }
    let document = documents.resolve(signer).ok_or(refused)?;
    let key = signature_key(&document, &kid, now, rules)?;
    let good = signature::verify(&key.public_key, &signed(&protected, &payload), &sig, rules);
    if good { Ok(content) } else { Err(refused) }
}

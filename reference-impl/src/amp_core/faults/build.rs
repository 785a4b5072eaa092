//! Faults of building messages.

use crate::amp_core::keys::x25519_public;
use crate::amp_core::message_id;
use crate::cbor;

/// `box-ephemeral-sender`: Encrypts with a fresh key and sends epk.
pub(in crate::amp_core) fn new_private_key() -> [u8; 32] {
    let mut private = [0; 32];
    message_id::random_bytes(&mut private);
    private
}

fn with_epk(message: &[u8], public_key: &[u8; 32]) -> Vec<u8> {
    let Ok(item) = cbor::read(message, cbor::Limits::default()) else {
        return message.to_vec();
    };
    let mut map = item.value;
    if let Some(mut enc) = map.get("enc").cloned() {
        enc.set("epk", public_key.as_slice().into());
        map.set("enc", enc);
    }
    cbor::encode(&map)
}

/// The message with the public key of an ephemeral sender next to its ciphertext, if any.
pub(in crate::amp_core) fn with_public_key_of(message: Vec<u8>, ephemeral: Option<[u8; 32]>) -> Vec<u8> {
    match ephemeral {
        Some(private) => with_epk(&message, &x25519_public(&private)),
        None => message,
    }
}

/// `box-body-indefinite`: A map in the encoding of indefinite length.
pub(in crate::amp_core) fn without_length(map: Vec<u8>) -> Vec<u8> {
    match map.split_first() {
        Some((0xa0..=0xb7, members)) => [&[0xbf], members, &[0xff]].concat(),
        _ => map,
    }
}

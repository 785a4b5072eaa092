"""X25519 and the NaCl box, by libsodium.

libsodium refuses the public keys that make the shared secret zero; HSalsa20 is implemented here, so that the content of such a
box can be computed nevertheless (E64).
"""

from nacl import bindings, exceptions

P = 2**255 - 19

# The encodings of the u-coordinates of low order, below and at or above the prime (see RFC 7748 section 6.1).
LOW_ORDER_U = [
    0,
    1,
    325606250916557431795983626356110631294008115727848805560023387167927233504,
    39382357235489614581723060781553021112529911719440698176882885853963445705823,
    P - 1,
    P,
    P + 1,
]


class Closed(Exception):
    """The box cannot be decrypted."""


def public_key(private_key):
    return bindings.crypto_scalarmult_base(private_key)


def from_seed(seed):
    """Private and public X25519 key of an Ed25519 seed, as of a did:key."""
    public, secret = bindings.crypto_sign_seed_keypair(seed)
    return bindings.crypto_sign_ed25519_sk_to_curve25519(secret), bindings.crypto_sign_ed25519_pk_to_curve25519(public)


def low_order(public):
    return int.from_bytes(public, "little") % (1 << 255) in LOW_ORDER_U


def hsalsa20(key, block):
    """Bernstein's HSalsa20: the key of a box from a shared secret and 16 zero bytes."""
    words = [int.from_bytes(data, "little") for data in (b"expa", b"nd 3", b"2-by", b"te k")]
    key = [int.from_bytes(key[at : at + 4], "little") for at in range(0, 32, 4)]
    block = [int.from_bytes(block[at : at + 4], "little") for at in range(0, 16, 4)]
    x = [words[0], *key[:4], words[1], *block, words[2], *key[4:], words[3]]
    columns = ((0, 4, 8, 12), (5, 9, 13, 1), (10, 14, 2, 6), (15, 3, 7, 11))
    rows = ((0, 1, 2, 3), (5, 6, 7, 4), (10, 11, 8, 9), (15, 12, 13, 14))
    for _ in range(10):
        for a, b, c, d in columns + rows:
            for to, one, two, shift in ((b, a, d, 7), (c, b, a, 9), (d, c, b, 13), (a, d, c, 18)):
                total = x[one] + x[two] & 0xFFFFFFFF
                x[to] ^= (total << shift | total >> 32 - shift) & 0xFFFFFFFF
    return b"".join(x[at].to_bytes(4, "little") for at in (0, 5, 10, 15, 6, 7, 8, 9))


def box_key(private_key, public):
    """The key that both sides derive, low order or not."""
    if low_order(public):
        return hsalsa20(bytes(32), bytes(16))
    key = bindings.crypto_box_beforenm(public, private_key)
    assert key == hsalsa20(bindings.crypto_scalarmult(private_key, public), bytes(16))
    return key


def seal(private_key, public, nonce, plaintext):
    return bindings.crypto_box_afternm(plaintext, nonce, box_key(private_key, public))


def open_lenient(private_key, public, nonce, ciphertext):
    """The plaintext, for a public key of any order."""
    if len(nonce) != 24 or len(ciphertext) < 16:
        raise Closed("nonce or ciphertext of a wrong length")
    try:
        return bindings.crypto_box_open_afternm(ciphertext, nonce, box_key(private_key, public))
    except exceptions.CryptoError:
        raise Closed("the tag does not match") from None


def open_box(private_key, public, nonce, ciphertext):
    """The plaintext; keys of low order are refused."""
    if low_order(public):
        raise Closed("a public key of low order")
    return open_lenient(private_key, public, nonce, ciphertext)

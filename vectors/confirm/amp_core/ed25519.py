"""Ed25519 on the curve itself (RFC 8032), to report details of a signature that libsodium does not.

libsodium answers yes or no and refuses more than RFC 8032 does. `facts` gives the reasons: canonical or not, small order or not,
and which of the two permitted equations holds. Slow, and only for vectors: nothing here is constant time.
"""

import hashlib

from nacl import bindings, exceptions

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
SQRT_M1 = pow(2, (P - 1) // 4, P)

NEUTRAL = (0, 1, 1, 0)


def add(a, b):
    """Points in extended coordinates X, Y, Z, T."""
    left = (a[1] - a[0]) * (b[1] - b[0]) % P
    right = (a[1] + a[0]) * (b[1] + b[0]) % P
    c = 2 * a[3] * b[3] * D % P
    d = 2 * a[2] * b[2] % P
    e, f, g, h = right - left, d - c, d + c, right + left
    return (e * f % P, g * h % P, f * g % P, e * h % P)


def times(number, point):
    out = NEUTRAL
    while number:
        if number & 1:
            out = add(out, point)
        point = add(point, point)
        number >>= 1
    return out


def negative(point):
    return (-point[0] % P, point[1], point[2], -point[3] % P)


def same(a, b):
    return (a[0] * b[2] - b[0] * a[2]) % P == 0 and (a[1] * b[2] - b[1] * a[2]) % P == 0


def point_bytes(point):
    inverse = pow(point[2], P - 2, P)
    x, y = point[0] * inverse % P, point[1] * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def point_of(data):
    """The point and whether its encoding is canonical; (None, False) if the bytes are not a point."""
    number = int.from_bytes(data, "little")
    sign, y = number >> 255, number & (1 << 255) - 1
    canonical = y < P
    y %= P
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * SQRT_M1 % P
    if (x * x - square) % P:
        return None, False
    if x == 0 and sign:
        canonical = False
    if x & 1 != sign:
        x = -x % P
    return (x, y, 1, x * y % P), canonical


BASE = point_of((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))[0]


def scalar(data):
    return int.from_bytes(hashlib.sha512(data).digest(), "little") % L


def small(point):
    return same(times(8, point), NEUTRAL)


def facts(public_key, data, sig):
    """The properties of a signature, or None if a length is wrong or a point is invalid."""
    if len(public_key) != 32 or len(sig) != 64:
        return None
    a, a_canonical = point_of(public_key)
    r, r_canonical = point_of(sig[:32])
    if a is None or r is None:
        return None
    s = int.from_bytes(sig[32:], "little")
    left = times(s, BASE)

    def holds(r_hashed, a_hashed, cofactor):
        right = add(r, times(scalar(r_hashed + a_hashed + data), a))
        return same(times(cofactor, left), times(cofactor, right))

    spellings = [(x, y) for x in (sig[:32], point_bytes(r)) for y in (public_key, point_bytes(a))]
    return {
        "s_canonical": s < L,
        "a_canonical": a_canonical,
        "r_canonical": r_canonical,
        "a_small": small(a),
        "r_small": small(r),
        "a_pure": same(times(L, a), NEUTRAL),
        "cofactorless": holds(sig[:32], public_key, 1),
        "cofactored": holds(sig[:32], public_key, 8),
        # The same, for verifiers that bring the points into canonical form before they hash them.
        "reduced": any(holds(x, y, 8) for x, y in spellings),
    }


def libsodium(public_key, data, sig):
    """libsodium's answer; a wrong length, which the binding does not check, is invalid."""
    if len(public_key) != 32 or len(sig) != 64:
        return False
    try:
        bindings.crypto_sign_open(sig + data, public_key)
    except exceptions.CryptoError:
        return False
    return True


def judge(public_key, data, sig):
    """The expected (result, strict) of a vector, by E63 and RFC 8032 section 5.1.7.

    valid: every conforming verifier accepts. invalid: every one refuses. acceptable: permitted either way; strict tells whether
    the strict profile requires a refusal.
    """
    found = facts(public_key, data, sig)
    if found is None or not found["s_canonical"] or not found["reduced"]:
        return "invalid", None
    if found["a_small"] or not found["a_canonical"] or not found["r_canonical"]:
        return "acceptable", "invalid"
    if found["r_small"] or not found["a_pure"] or not found["cofactorless"]:
        return "acceptable", None
    return "valid", None


def public_key(seed):
    return bindings.crypto_sign_seed_keypair(seed)[0]


def sign(seed, data):
    return bindings.crypto_sign(data, bindings.crypto_sign_seed_keypair(seed)[1])[:64]

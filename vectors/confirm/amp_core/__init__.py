"""A second implementation of the functions that `vectors/amp-core` tests.

Written from RFC 001 v0.30, RFC 002 v0.15, RFC 8032, RFC 8949 and the rulings of `suites/amp-core/errata.md`. It shares
no code with the harness, the reference or the adapters. Primitives come from libsodium (PyNaCl), a second reading of
CBOR from cbor2. It reads strictly: where the register tolerates a behaviour, this is the behaviour of the ruling.
"""

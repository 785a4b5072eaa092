"""AMP core as a library: RFC 001 Agent Messaging Protocol v0.30, and the frames and wrappers of RFC 002 v0.15.

Written from the specification. Section numbers in this package are those of RFC 001 unless they begin with 002, E-numbers
those of suites/amp-core/errata.md. Where the register leaves a choice, the package implements the strict reading.

Nothing is imported here, so that a program can look at the package without PyNaCl.
"""

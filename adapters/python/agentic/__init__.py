"""The Agentic Protocol v0.1 as a library: canonical form, content hash, validation, and a store in memory.

Written from the specification. Section numbers in this package are those of the specification, E-numbers those of
suites/agentic/errata.md.
"""

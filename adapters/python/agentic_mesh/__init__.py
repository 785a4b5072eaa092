"""The Agentic Mesh Protocol, draft v0.1, as a library: receiver, intermediary, and the pieces that they are made of.

Written from the specification. Section numbers in this package are those of the draft, E-numbers those of
suites/agentic-mesh/errata.md. Where the register leaves a choice, the package implements the strict reading.
"""

"""The Agent Message Protocol, AMP v1.0 (task dispatch, result, review, verdict, escalation), as a library.

Written from the specification. Section numbers in this package are those of the document, E-numbers those of
suites/task-amp/errata.md. Where the register leaves a choice, the package implements the strict reading.
"""

"""The Agent Mesh Protocol (MeshAI) v1.0 as a library: agent, registry, context store and client.

Written from the specification. Section numbers in this package are counted as in E23, E-numbers are those of
suites/meshai/errata.md. Where the register leaves a choice, the package implements the strict reading.
"""

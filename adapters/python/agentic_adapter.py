#!/usr/bin/env python3
"""Puts the library in `agentic/` behind an adapter.

    proofmark check --adapter "python3 adapters/python/agentic_adapter.py" --protocol agentic
"""

import adapter
from agentic import methods

if __name__ == "__main__":
    adapter.serve(methods.table())

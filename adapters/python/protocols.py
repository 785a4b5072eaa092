"""The protocols behind `adapter.py`: one table of methods, and one common description."""

import sys

from agentic import methods as agentic
from agentic_mesh import methods as agentic_mesh
from meshai import methods as meshai
from task_amp import methods as task_amp

NAME, VERSION = "proofmark-python", "0.1.0"


def table():
    """The methods of every available protocol. Without PyNaCl, amp-core is left out."""
    protocols = ["agentic", "agentic-mesh", "meshai", "task-amp"]
    methods = {**agentic.table(), **agentic_mesh.table(), **meshai.table(), **task_amp.table()}
    try:
        import nacl.bindings  # noqa: F401
    except (ImportError, OSError) as error:
        print(f"amp-core is not served, it needs PyNaCl: {error}", file=sys.stderr)
    else:
        from amp_core import methods as amp_core

        protocols.append("amp-core")
        methods.update(amp_core.table())

    def describe(params):
        return {"name": NAME, "version": VERSION, "protocols": protocols, "operations": sorted(methods)}

    methods["describe"] = describe
    return methods

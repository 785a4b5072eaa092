"""Confirm the vectors of this repository with independent implementations.

Nothing here is shared with the harness or with the reference implementation.

    python3 vectors/confirm [--root DIR] [--protocol SLUG]      confirm every file, exit 0 or 1
    python3 vectors/confirm --compute < a.json                  print the computed members of a vector with this input
    python3 vectors/confirm --compute --package < a.json        the same for content-hash.json
    python3 vectors/confirm --compute --kind amp-ed25519-sign < a.json   the same for a kind of amp-core

Python 3.11. `agentic`, `agentic-mesh`, `meshai` and `task-amp` need the standard library only, `amp-core` needs `pip install cbor2 pynacl` as well.
"""

import argparse
import json
import sys
from pathlib import Path

import agentic
import agentic_mesh
import meshai
import task_amp


def amp_core():
    """The module that confirms amp-core, or None with a hint if a package is missing."""
    try:
        from amp_core import vectors
    except ModuleNotFoundError as e:
        print(f"vectors/amp-core: not confirmed, Python has no module {e.name}; install it: pip install cbor2 pynacl")
        return None
    return vectors


def confirm(root, protocol):
    ledger = agentic.Ledger()
    if protocol in (None, "agentic"):
        agentic.confirm(root, ledger)
    if protocol in (None, "amp-core"):
        module = amp_core()
        if module is None:
            ledger.failed += 1
        else:
            module.confirm(root, ledger, agentic.read_plain, agentic.check_labels)
    if protocol in (None, "agentic-mesh"):
        agentic_mesh.confirm(root, ledger, agentic.check_labels)
    if protocol in (None, "meshai"):
        meshai.confirm(root, ledger, agentic.check_labels)
    if protocol in (None, "task-amp"):
        task_amp.confirm(root, ledger, agentic.read_plain, agentic.check_labels)
    print(f"{ledger.passed} passed, {ledger.failed} failed")
    return 0 if ledger.failed == 0 and ledger.passed > 0 else 1


def compute_amp_core(kind):
    module = amp_core()
    if module is None:
        return 1
    if kind not in module.KINDS:
        print(f"unknown kind {kind}; one of {', '.join(module.KINDS)}", file=sys.stderr)
        return 1
    try:
        print(json.dumps(module.compute(kind, agentic.read_plain(sys.stdin.buffer.read())), indent=2))
    except (KeyError, ValueError, TypeError) as e:
        print(f"invalid inputs for {kind}: {type(e).__name__}: {e}", file=sys.stderr)
        return 1
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2], help="the repository")
    parser.add_argument("--compute", action="store_true", help="print the members of a vector for the JSON on stdin")
    parser.add_argument("--package", action="store_true", help="with --compute: the input is a package")
    parser.add_argument("--kind", help="with --compute: a kind of amp-core")
    parser.add_argument("--protocol", choices=["agentic", "agentic-mesh", "amp-core", "meshai", "task-amp"], help="only this protocol")
    arguments = parser.parse_args()
    sys.setrecursionlimit(10_000)
    try:
        if arguments.compute:
            return agentic.compute(arguments.package) if arguments.kind is None else compute_amp_core(arguments.kind)
        return confirm(arguments.root, arguments.protocol)
    except (OSError, agentic.NotJson) as e:
        print(f"confirm: {e}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())

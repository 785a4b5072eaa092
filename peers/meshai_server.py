#!/usr/bin/env python3
"""An independent implementation of the Agent Mesh Protocol (MeshAI) v1.0: one agent, a registry, or a mesh with both, a router
and a context store, with a switch for each choice that the rulings leave open. Standard library only.

    python3 peers/meshai_server.py --port 0 [--kind agent|registry|mesh] [--choice NAME]... [--preset random:7]
    python3 peers/meshai_server.py --mutant NAME
    python3 peers/meshai_server.py --kind agent --port 8787 --registry http://127.0.0.1:8931/registry --control

POST /aip/v1/invoke takes messages, GET /health tells the state, and /aip/v1/ws is a WebSocket. With `--registry` the agent
registers itself there first; with `--control` POST /aip/v1/control makes it send requests (section 12 of the binding).
"""

import argparse
import asyncio
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from meshai_client import TOKEN, Client  # noqa: E402
from meshai_http import Server  # noqa: E402
from meshai_mutants import MUTANTS  # noqa: E402
from meshai_node import Node  # noqa: E402
from meshai_options import CHOICES, Ways, chosen, defaults, target_of  # noqa: E402


def make_ways(choice=(), preset=None, mutant=None):
    if mutant is not None and mutant not in MUTANTS:
        raise SystemExit(f"unknown bug {mutant}")
    entry = MUTANTS.get(mutant)
    return Ways(chosen([*choice, *(entry.needs if entry else ())], preset), entry)


def listing(rows, as_json):
    if as_json:
        return print(json.dumps(rows, indent=1))
    for row in rows:
        print(f"{row['name']}: {row['about']} ({', '.join(row.get('breaks') or row.get('errata'))})")


def arguments(words=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--port-file", help="the line `listening URL` is written to this file")
    parser.add_argument("--kind", choices=("agent", "registry", "mesh"), default="mesh")
    parser.add_argument("--agent-id")
    parser.add_argument("--registry", help="URL at which the agent registers itself")
    parser.add_argument("--token", action="store_true", help="own requests carry a bearer token")
    parser.add_argument("--control", action="store_true")
    parser.add_argument("--choice", action="append", default=[])
    parser.add_argument("--preset", help="random:SEED, strict:SEED or tolerated")
    parser.add_argument("--mutant")
    parser.add_argument("--list-choices", action="store_true")
    parser.add_argument("--list-mutants", action="store_true")
    parser.add_argument("--show", action="store_true", help="the choices that differ from the default, and what a target file has to declare")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(words)


async def main():
    options = arguments()
    sys.setrecursionlimit(10_000)
    if options.list_choices:
        return listing([c.row() for c in CHOICES.values()], options.json)
    if options.list_mutants:
        return listing([m.row() for m in MUTANTS.values()], options.json)
    ways = make_ways(options.choice, options.preset, options.mutant)
    if options.show:
        return print(json.dumps({"choices": sorted(ways.force - defaults()), "target": target_of(ways.force)}))
    node = Node(ways, options.kind, options.agent_id)
    server = await Server(node).start(options.host, options.port)
    server.control = options.control
    if options.registry:
        server.client = Client(node, options.registry, server.url, TOKEN if options.token else None)
        node.later(server.client.run())
    line = f"listening {server.url}"
    print(line, flush=True)
    if options.port_file:
        Path(options.port_file + ".new").write_text(line + "\n")
        os.replace(options.port_file + ".new", options.port_file)
    try:
        await server.listener.serve_forever()
    except asyncio.CancelledError:
        pass
    await asyncio.Event().wait()  # a bug may have closed the listener; the process stays


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        pass

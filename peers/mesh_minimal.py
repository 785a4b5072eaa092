#!/usr/bin/env python3
"""A node of the Agentic Mesh Protocol with only what the draft demands, as a newcomer would write it in an afternoon: the
json module, http.server, one kind of node per process, no control, no logs, no replies, no MemoryGram processing.

    python3 peers/mesh_minimal.py receiver --port 0
    python3 peers/mesh_minimal.py relay --port 0 --next-hop http://127.0.0.1:8931/next-hop

It understands no header block but (`--blocks`) noop, and acts in no role of its own. Both leave things out that are optional,
so a run must say "not claimed" for them, and still grant the levels that this kind of node can show.
"""

import argparse
import http.server
import json
import os
import sys
import urllib.error
import urllib.request
import uuid
from pathlib import Path

NEXT = "urn:agentic:mesh:role:next"
RECEIVER = "urn:agentic:mesh:role:ultimateReceiver"
FIELDS = {"messageId": str, "traceId": str, "roles": list, "routingIntent": str, "ttl": int}


class Fault(Exception):
    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


def sender(text):
    return Fault("amp:Sender", text)


def object_in(holder, name):
    if not isinstance(holder, dict) or not isinstance(holder.get(name), dict):
        raise sender(f"{name} is not an object")
    return holder[name]


def unique(pairs):
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a name twice")
    return members


def refuse(word):
    raise ValueError(word)


class Decimal:
    """A number with a fraction, as it is spelled; the json module would round it."""

    def __init__(self, text):
        self.text = text


def parse(data):
    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=unique, parse_constant=refuse, parse_float=Decimal)
    except (ValueError, RecursionError) as error:
        raise sender(f"not JSON: {error}") from None


def write(value):
    """The json module cannot write numbers as they were spelled, so they are marked and put back."""
    marks = {}

    def marked(item):
        if isinstance(item, Decimal):
            mark = f"number-{uuid.uuid4()}"
            marks[f'"{mark}"'] = item.text
            return mark
        if isinstance(item, dict):
            return {name: marked(member) for name, member in item.items()}
        return [marked(member) for member in item] if isinstance(item, list) else item

    text = json.dumps(marked(value), separators=(",", ":"))
    for mark, number in marks.items():
        text = text.replace(mark, number)
    return text.encode()


def process(message, roles, known):
    """The steps that both kinds share; the blocks and their place stay in `message`."""
    envelope = object_in(message, "Envelope")
    if isinstance(envelope.get("Header"), dict) and envelope["Header"].get("version", "1.0") != "1.0":
        raise Fault("amp:VersionMismatch", "only version 1.0")
    header = object_in(envelope, "Header")
    object_in(envelope, "Body")
    if header.get("encryption") is None or envelope.get("MemoryGram") is None:
        object_in(envelope, "MemoryGram")
    for name, kind in FIELDS.items():
        if not isinstance(header.get(name), kind) or isinstance(header.get(name), bool):
            raise sender(f"{name} is missing or wrong")
    if not isinstance(header.get("encryption"), (dict, type(None))):
        raise sender("encryption is not an object")
    header["ttl"] -= 1
    if header["ttl"] <= 0:
        raise Fault("amp:TTLExpired", "ttl has run out")
    blocks = header.get("headers", [])
    if not isinstance(blocks, list) or not all(isinstance(b, dict) and isinstance(b.get("type"), str) for b in blocks):
        raise sender("headers is not an array of blocks")
    mine = [b for b in blocks if b.get("role", RECEIVER) in roles]
    if any(b.get("mustUnderstand") is True and b["type"] not in known for b in mine):
        raise Fault("amp:MustUnderstand", "a block is not understood")
    return header, envelope["Body"], mine


def deliver(message, options):
    header, body, _ = process(message, (NEXT, RECEIVER), options.blocks)
    if not isinstance(body.get("task"), str) or not isinstance(body.get("expectedOutput"), list):
        raise sender("task or expectedOutput is missing or wrong")
    if not isinstance(body.get("context"), (dict, type(None))):
        raise sender("context is not an object")


def forward(message, options):
    header, _, mine = process(message, (NEXT,), options.blocks)
    if "headers" in header:
        gone = [id(b) for b in mine if b["type"] in options.blocks or b.get("relay") is not True]
        header["headers"] = [b for b in header["headers"] if id(b) not in gone]
    header["traceId"] += ".relay"
    request = urllib.request.Request(options.next_hop, write(message), {"Content-Type": "application/amp+json"}, method="POST")
    try:
        urllib.request.urlopen(request, timeout=10).read()
    except urllib.error.HTTPError:
        pass
    except OSError as error:
        raise Fault("amp:Receiver", f"the next hop cannot be reached: {error}") from None


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        options = self.server.options
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path != ("/amp" if options.kind == "receiver" else "/amp/relay"):
            return self.reply(404)
        message = None
        try:
            message = parse(data)
            (deliver if options.kind == "receiver" else forward)(message, options)
        except Fault as fault:
            return self.reply(400, fault_message(fault, message))
        self.reply(202)

    def reply(self, status, body=b""):
        self.send_response(status)
        if body:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def fault_message(fault, message):
    header = {"messageId": str(uuid.uuid4()), "traceId": str(uuid.uuid4()), "roles": [], "routingIntent": "direct", "ttl": 1}
    inbound = message["Envelope"].get("Header") if isinstance(message, dict) and isinstance(message.get("Envelope"), dict) else None
    if isinstance(inbound, dict) and isinstance(inbound.get("traceId"), str):
        header["traceId"] = inbound["traceId"]
    body = {"fault": {"code": {"value": fault.code}, "reason": str(fault)}}
    return json.dumps({"Envelope": {"Header": header, "Body": body, "MemoryGram": {}}}).encode()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=("receiver", "relay"))
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--port-file")
    parser.add_argument("--next-hop", default=os.environ.get("MESH_NEXT_HOP"))
    parser.add_argument("--blocks", action="store_true", help="understand the noop block of the harness")
    options = parser.parse_args()
    sys.set_int_max_str_digits(5000)
    options.blocks = ("urn:proofmark:mesh:block:noop",) if options.blocks else ()
    http.server.ThreadingHTTPServer.request_queue_size = 128
    server = http.server.ThreadingHTTPServer(("127.0.0.1", options.port), Handler)
    server.options = options
    line = f"listening http://127.0.0.1:{server.server_address[1]}"
    print(line, flush=True)
    if options.port_file:
        Path(options.port_file + ".new").write_text(line + "\n")
        os.replace(options.port_file + ".new", options.port_file)
    server.serve_forever()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass

#!/usr/bin/env python3
"""A second, independent implementation of AMP (RFC 001 v0.30, RFC 002 v0.15) with a switch for each legal
choice and for each of a list of bugs.

    python3 peers/amp_server.py --port 0 --tcp-port 0 [--choice NAME]... [--preset random:7] [--mutant NAME]
                                      [--role agent|relay|both] [--control] [--token TOKEN=DID]... [--port-file FILE]
    python3 peers/amp_server.py --list-choices --json        # also --list-mutants

Prints one line: `listening http://127.0.0.1:PORT tcp 127.0.0.1:PORT did DID`. Needs PyNaCl.
"""

import argparse
import asyncio
import hashlib
import json
import logging
import os
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import amp_cbor as cbor  # noqa: E402
import amp_keys as keys  # noqa: E402
from amp_fixtures import documents as fixture_documents
from amp_http import Answer, HttpFace  # noqa: E402
from amp_mutants import MUTANTS  # noqa: E402
from amp_node import Node  # noqa: E402
from amp_options import CHOICES, Ways, chosen  # noqa: E402
from amp_sockets import Tcp, upgrade  # noqa: E402
from amp_message import CODES, TYPES, is_uint  # noqa: E402

SEED = hashlib.sha256(b"amp peer").digest()
OTHER_AGREEMENT = hashlib.sha256(b"amp peer agreement").digest()
ROTATED = hashlib.sha256(b"amp peer rotated agreement").digest()


def jwk(curve, key):
    return {"kty": "OKP", "crv": curve, "x": keys.base64url(key)}


def own_document(ways, own, did, base):
    """The DID document in one of the forms of E22 and E23, and the fragment of the signing method."""
    w = ways
    signing = keys.multibase(keys.ED, own.public)
    agreement = keys.multibase(keys.X, own.x_public)
    sign_name, agree_name = (signing, agreement) if did.startswith("did:key:") else ("key-1", "agree-1")
    prefix = "" if w.has("document-relative-ids") else did
    method = {"id": f"{prefix}#{sign_name}", "type": "Ed25519VerificationKey2020", "controller": did}
    box = {"id": f"{prefix}#{agree_name}", "type": "X25519KeyAgreementKey2020", "controller": did}
    if w.has("document-jwk"):
        method |= {"type": "JsonWebKey2020", "publicKeyJwk": jwk("Ed25519", own.public)}
        box |= {"type": "JsonWebKey2020", "publicKeyJwk": jwk("X25519", own.x_public)}
    elif w.has("document-jsonwebkey"):
        method |= {"type": "JsonWebKey", "publicKeyJwk": jwk("Ed25519", own.public)}
        box |= {"type": "JsonWebKey", "publicKeyJwk": jwk("X25519", own.x_public)}
    elif w.has("document-base58"):
        method |= {"type": "Ed25519VerificationKey2018", "publicKeyBase58": keys.base58(own.public)}
        box |= {"type": "X25519KeyAgreementKey2019", "publicKeyBase58": keys.base58(own.x_public)}
    elif w.has("document-multikey"):
        method |= {"type": "Multikey", "publicKeyMultibase": signing}
        box |= {"type": "Multikey", "publicKeyMultibase": agreement}
    elif w.has("document-base64-multibase"):
        method |= {"type": "Multikey", "publicKeyMultibase": "u" + keys.base64url(keys.ED + own.public)}
        box |= {"type": "Multikey", "publicKeyMultibase": "u" + keys.base64url(keys.X + own.x_public)}
    else:
        method["publicKeyMultibase"] = signing
        box["publicKeyMultibase"] = agreement
    listed, boxes = [method], [box]
    if w.has("document-several-methods"):
        other = keys.Keys(hashlib.sha256(b"amp peer other").digest())
        listed.append({"id": f"{prefix}#zz-old", "type": "Ed25519VerificationKey2020", "controller": did, "publicKeyMultibase": keys.multibase(keys.ED, other.public)})
        listed.insert(0, {"id": f"{prefix}#aa-p256", "type": "Multikey", "controller": did, "publicKeyMultibase": keys.multibase(keys.P256, b"\2" + other.public)})
    if w.has("two-agreement-keys"):
        public = keys.bindings.crypto_scalarmult_base(ROTATED)
        boxes.append({"id": f"{prefix}#zz-agree", "type": "X25519KeyAgreementKey2020", "controller": did, "publicKeyMultibase": keys.multibase(keys.X, public)})
    if w.bug("document-agreement-prefix-missing"):
        box |= {"type": "X25519KeyAgreementKey2020", "publicKeyMultibase": "z" + keys.base58(own.x_public)}
    document = {"@context": ["https://www.w3.org/ns/did/v1"], "id": did}
    reference = lambda m: m["id"]
    if w.has("document-embedded"):
        document["assertionMethod"] = listed
        document["authentication"] = [reference(method)]
        document["keyAgreement"] = boxes
    else:
        document["verificationMethod"] = listed + boxes
        document["authentication"] = [reference(method)]
        if not w.has("document-authentication-only"):
            document["assertionMethod"] = [reference(m) for m in listed]
        document["keyAgreement"] = [reference(m) for m in boxes]
    if w.has("no-encryption"):
        document.pop("keyAgreement", None)
        document["verificationMethod"] = [m for m in document.get("verificationMethod", []) if m not in boxes]
    if not w.has("document-without-services"):
        document["service"] = [{"id": did + "#amp", "type": "AgentMessaging", "serviceEndpoint": base}]
    return document, sign_name


class Server:
    http_only = False

    def __init__(self, ways, role="agent", control=False, tokens=None):
        self.ways, self.role, self.control_allowed, self.tokens = ways, role, control, tokens or {}
        self.seed = SEED
        self.servers, self.tasks = [], set()

    @property
    def polled(self):
        w = self.ways
        asked = ("first-reply-rest-by-poll", "replies-by-poll", "errors-by-poll", "poll-offered")
        return self.role != "agent" or any(w.has(name) for name in asked)

    async def start(self, port=0, tcp_port=0, host="127.0.0.1"):
        w = self.ways
        http = await asyncio.start_server(self.http_connection, host, port, limit=65536)
        tcp = await asyncio.start_server(self.tcp_connection, host, tcp_port, limit=65536)
        self.servers = [http, tcp]
        self.port, self.tcp_port = http.sockets[0].getsockname()[1], tcp.sockets[0].getsockname()[1]
        self.url = f"http://{host}:{self.port}"
        if self.http_only:
            tcp.close()
        agreement = OTHER_AGREEMENT if not w.has("agreement-derived") and not self.by_key else None
        own = keys.Keys(self.seed, agreement)
        self.document_path = "/.well-known/did.json"
        did = own.did_key
        if w.has("did-web"):
            did = f"did:web:{host}%3A{self.port}"
        elif w.has("did-web-path"):
            did, self.document_path = f"did:web:{host}%3A{self.port}:agents:peer", "/agents/peer/did.json"
        elif w.has("did-web-localhost"):
            did = f"did:web:localhost%3A{self.port}"
        document, fragment = own_document(w, own, did, self.url)
        self.did = did
        self.node = Node(w, own, did, document, self.role)
        self.node.method_fragment = fragment
        if w.has("two-agreement-keys"):
            self.node.agreement_secrets.append(ROTATED)
        self.http = HttpFace(self.node, w, self)
        return self

    @property
    def by_key(self):
        return not any(self.ways.has(n) for n in ("did-web", "did-web-path", "did-web-localhost"))

    def line(self):
        return f"listening {self.url} tcp 127.0.0.1:{self.tcp_port} did {self.did}"

    async def http_connection(self, reader, writer):
        await self.http.serve(reader, writer)

    async def tcp_connection(self, reader, writer):
        await Tcp(self, reader, writer).run()

    async def websocket(self, request, reader, writer):
        await upgrade(self, request, reader, writer)

    async def pause(self):
        """The duration of an answer."""
        w = self.ways
        if w.has("slow-300-ms"):
            await asyncio.sleep(0.3)
        elif w.has("slow-1500-ms"):
            await asyncio.sleep(1.5)
        elif w.has("slow-at-random"):
            await asyncio.sleep(random.random() * 0.4)
        elif w.bug("answers-after-eight-seconds"):
            await asyncio.sleep(8)

    async def stop(self):
        for server in self.servers:
            server.close()

    # --- control ------------------------------------------------------------------------------------------------------

    async def control(self, request):
        try:
            order = json.loads(request.body)
            op = order["op"]
        except (ValueError, KeyError, TypeError):
            return Answer(400)
        w, node = self.ways, self.node
        if op == "clock":
            w.offset_ms = int(order.get("offset_ms", w.offset_ms))
            w.frozen_ms = order.get("freeze_ms")
            return self.json({"now": w.now()})
        if op == "documents":
            documents = order.get("documents", {})
            node.resolver.preloaded.update(documents if isinstance(documents, dict) else {d["id"]: d for d in documents})
            return self.json({"documents": len(node.resolver.preloaded)})
        if op == "trusted_relays":
            w.trusted_relays = list(order.get("dids", []))
            return self.json({})
        if op == "send":
            message_id = await self.send(order)
            return self.json({"id": message_id.hex()})
        if op == "stop":
            asyncio.get_running_loop().call_later(0.1, os._exit, 0)
            return self.json({})
        return Answer(400)

    def json(self, value):
        return Answer(200, json.dumps(value).encode(), "application/json")

    async def send(self, order):
        """An outbound message with the retries of section 16.3, by HTTP POST."""
        node, w = self.node, self.ways
        typ = order.get("typ", 0x10)
        typ = TYPES.get(typ, typ) if isinstance(typ, str) else typ
        body = cbor.decode(bytes.fromhex(order["body_hex"])) if "body_hex" in order else order.get("body")
        if typ == TYPES["HELLO"] and body is None:
            body = {"versions": ["1.0"], "agent_info": {"name": "peer"}}
            w.change("hello", body, "HELLO", node)
        ttl = order.get("ttl")
        raw = await node.build(typ, body, order["to"], ttl=ttl if is_uint(ttl) else 86_400_000, encrypt=bool(order.get("encrypt")))
        message = cbor.decode(raw)
        to = message.get("to")
        state = {"to": [to] if isinstance(to, str) else to, "confirmed": False, "error": None}
        node.sent[message.get("id")] = state
        task = asyncio.get_running_loop().create_task(self.deliver(order["url"], raw, message, state, typ, body, order))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return message.get("id")

    async def deliver(self, url, raw, message, state, typ, body, order):
        node, w = self.node, self.ways
        expires = message.get("ts") + message.get("ttl")
        attempts = 2 if w.bug("retry-once") else 40 if w.bug("retry-endless") else 1 if w.bug("retry-never") else 5
        for attempt in range(1, attempts + 1):
            if w.bug("retry-with-new-id") and attempt > 1:
                raw = await node.build(typ, body, order["to"], encrypt=bool(order.get("encrypt")))
            elif w.bug("retry-with-new-signature-time") and attempt > 1:
                fields = dict(message.pairs)
                fields["ts"] = w.now()
                raw = cbor.encode(fields)
            await self.post(url, raw, state)
            if state["confirmed"] and not w.bug("retry-after-confirmation"):
                return
            if state["error"] is not None:
                code, retry = state["error"]
                retry = CODES.get(code, ("", False))[1] if retry is None else retry
                if not retry and not w.bug("retry-after-permanent-error"):
                    return
                if retry and w.bug("retry-never-after-error"):
                    return
                state["error"] = None
            base = min(1.0 * 2 ** (attempt - 1), 60.0)
            if w.has("retry-literal-formula"):
                base = min(1.0 * 2**attempt, 60.0)
            wait = base * (0.5 + random.random() / 2)
            if w.bug("retry-without-jitter"):
                wait = base
            elif w.bug("retry-without-wait"):
                wait = 0.05
            elif w.bug("retry-constant-wait"):
                wait = 0.7
            elif w.bug("retry-first-after-ten-seconds"):
                wait = 10 * base
            await asyncio.sleep(wait)
            if state["confirmed"] and not w.bug("retry-after-confirmation"):
                return
            if w.now() > expires and not w.bug("retry-after-expiry"):
                return

    async def post(self, url, raw, state):
        """One POST; answers in the response are processed like any message."""
        w = self.ways
        scheme, _, rest = url.partition("://")
        authority, _, path = rest.partition("/")
        host, _, port = authority.partition(":")
        path = "/" + path if path else "/amp/v1/messages"
        if w.bug("initiator-wrong-path"):
            path = "/messages"

        async def run():
            reader, writer = await asyncio.open_connection(host, int(port or 80))
            try:
                media = "application/json" if w.bug("initiator-json-type") else "application/cbor"
                headers = f"POST {path} HTTP/1.1\r\nHost: {authority}\r\nContent-Type: {media}\r\nAccept: application/cbor\r\n"
                headers += f"X-AMP-Transport-Version: 1\r\nConnection: close\r\nContent-Length: {len(raw)}\r\n\r\n"
                writer.write(headers.encode() + raw)
                answer = b""
                while len(answer) < 2 * 1024 * 1024:
                    part = await reader.read(65536)
                    if not part:
                        break
                    answer += part
                return answer
            finally:
                writer.close()

        try:
            answer = await asyncio.wait_for(run(), 5)
        except (OSError, asyncio.TimeoutError):
            return
        head, _, body = answer.partition(b"\r\n\r\n")
        if w.bug("retry-202-confirms") and b" 202" in head[:15]:
            state["confirmed"] = True
        if body and b"chunked" not in head.lower():
            from amp_node import Channel

            await self.node.take(body, Channel())


def arguments(words=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--tcp-port", type=int, default=0)
    parser.add_argument("--http-only", action="store_true", help="neither WebSocket nor TCP")
    parser.add_argument("--port-file", help="the line is written to this file as well")
    parser.add_argument("--choice", action="append", default=[])
    parser.add_argument("--preset", help="random:SEED, strict, or tolerated")
    parser.add_argument("--mutant")
    parser.add_argument("--role", choices=("agent", "relay", "both"), default="agent")
    parser.add_argument("--control", action="store_true", help="POST /amp/v1/control is there")
    parser.add_argument("--token", action="append", default=[], help="TOKEN=DID")
    parser.add_argument("--trusted-relay", action="append", default=[])
    parser.add_argument("--document", action="append", default=[], help="JSON file of a DID document, or of several by DID")
    parser.add_argument("--fixtures", action="store_true", help="the fixture documents of the binding are known")
    parser.add_argument("--list-choices", action="store_true")
    parser.add_argument("--list-mutants", action="store_true")
    parser.add_argument("--show", action="store_true", help="the choices that a preset makes, and the settings for a target file")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(words)


def listing(rows, as_json):
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    for row in rows:
        print(f"{row['name']}: {row['about']} ({', '.join(row.get('breaks') or row.get('errata'))})")


async def main():
    options = arguments()
    if options.list_choices:
        return listing([c.row() for c in CHOICES.values()], options.json)
    if options.list_mutants:
        return listing([m.row() for m in MUTANTS.values()], options.json)
    ways = make_ways(options.choice, options.preset, options.mutant)
    if options.show:
        picked = sorted(ways.force - chosen())
        target = {k: v for name in picked for k, v in CHOICES[name].target.items()}
        return print(json.dumps({"choices": picked, "target": target}))
    ways.trusted_relays = options.trusted_relay
    role = options.role
    if options.mutant and MUTANTS[options.mutant].role != "agent" and role == "agent":
        role = "both"
    Server.http_only = options.http_only
    server = await Server(ways, role, options.control, dict(t.split("=", 1) for t in options.token)).start(options.port, options.tcp_port)
    for file in options.document:
        content = json.loads(Path(file).read_text())
        server.node.resolver.preloaded.update({content["id"]: content} if "id" in content else content)
    if options.fixtures:
        server.node.resolver.preloaded.update(fixture_documents())
    print(server.line(), flush=True)
    if options.port_file:
        Path(options.port_file + ".new").write_text(server.line() + "\n")
        os.replace(options.port_file + ".new", options.port_file)
    await asyncio.gather(*(s.serve_forever() for s in server.servers if s.is_serving()))


def make_ways(choice=(), preset=None, mutant=None):
    if mutant is not None and mutant not in MUTANTS:
        raise SystemExit(f"unknown bug {mutant}")
    entry = MUTANTS.get(mutant)
    names = list(choice) + list(entry.needs if entry else ())
    return Ways(chosen(names, preset), entry)


if __name__ == "__main__":
    try:
        # Its only warning is that the other side has closed a connection that is still written to.
        logging.getLogger("asyncio").setLevel(logging.ERROR)
        asyncio.run(main())
    except KeyboardInterrupt:
        pass

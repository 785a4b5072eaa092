#!/usr/bin/env python3
"""A small AMP library behind an adapter, as a third party would wrap one: the modules of the peers, and results that hold
only the required members. `receive` answers with only an outcome, a build with only the message.

    proofmark check --adapter "python3 peers/amp_library.py" --protocol amp-core --level core
    python3 peers/amp_library.py --mutant key-numeric-order                # one of the bugs of amp_mutants.py
    python3 peers/amp_library.py --also signer,sig_input                  # adds optional members; `signer!` gives a wrong one
"""

import argparse
import asyncio
import json
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import amp_cbor as cbor  # noqa: E402
import amp_keys as keys  # noqa: E402
from amp_message import (  # noqa: E402
    ALG, CATEGORIES, CODES, MODE, NAMES, TYPES, Refusal, canonical, read, sig_input, wire,
)  # fmt: skip
from amp_node import Channel, Node  # noqa: E402
from amp_server import make_ways  # noqa: E402

SIGNED = ("id", "typ", "ts", "ttl", "from", "to", "reply_to", "thread_id")


def of(kind):
    return lambda value: isinstance(value, kind) and not (kind is int and isinstance(value, bool))


def each(fits):
    return lambda value: isinstance(value, list) and all(fits(item) for item in value)


# The members of each wrapper of RFC 002, sections 6.2, 6.3, 6.5 and 6.6.
WRAPPERS = {
    "poll": {
        "messages": each(of(bytes)), "next_cursor": lambda v: v is None or isinstance(v, str), "has_more": of(bool),
    },
    "webhook": {"message": of(bytes), "relay": of(str), "sent_at": lambda v: of(int)(v) and v >= 0},
    "forward": {
        "fwd_v": lambda v: of(int)(v) and v == 1, "message": of(bytes), "from_did": of(str), "recipient_did": of(str),
        "relay_path": each(of(str)), "hop_limit": lambda v: of(int)(v) and v > 0, "upstream_relay": of(str),
        "transfer_mode": lambda v: v in ("single", "dual"),
    },
    "commit": {"commit_v": lambda v: of(int)(v) and v == 1, "commit_receipt": of(bytes)},
}  # fmt: skip


class Unoffered(Exception):
    """A method that the library does not have."""


class BadParameters(Exception):
    """Parameters that a method cannot use."""


def unhex(params, name):
    try:
        return bytes.fromhex(params[name])
    except (KeyError, TypeError, ValueError):
        raise BadParameters(name) from None


def number(value):
    return int(value) if isinstance(value, str) and value.isdigit() else value


class Library:
    def __init__(self, ways, also):
        self.ways, self.also = ways, also

    def more(self, result, **optional):
        """The result with the requested optional members. `name!` gives a wrong one."""
        for name, value in optional.items():
            if name in self.also:
                result[name] = value
            elif name + "!" in self.also:
                result[name] = (not value) if isinstance(value, bool) else {} if isinstance(value, dict) else "00" + value
        return result

    def value(self, params, name):
        """The CBOR value under a name; keys that occur twice are refused."""
        decoder = cbor.Decoder(unhex(params, name))
        value = decoder.item()
        if decoder.at != len(decoder.data) or "duplicate" in decoder.notes:
            raise cbor.CborError("one value without duplicate keys is required")
        return value

    # --- keys and encoding --------------------------------------------------------------------------------------------

    def public_key(self, params):
        return {"public_key": keys.Keys(unhex(params, "seed")).public.hex()}

    def x25519_derive(self, params):
        own = keys.Keys(unhex(params, "ed25519_seed"))
        return {"private_key": own.x_secret.hex(), "public_key": own.x_public.hex()}

    def x25519_public(self, params):
        return {"public_key": keys.bindings.crypto_scalarmult_base(unhex(params, "private_key")).hex()}

    def sign(self, params):
        return {"sig": keys.Keys(unhex(params, "seed")).sign(unhex(params, "data")).hex()}

    def verify(self, params):
        public, sig = unhex(params, "public_key"), unhex(params, "sig")
        return {"valid": len(public) == 32 and len(sig) == 64 and keys.verify(public, unhex(params, "data"), sig)}

    def encode_deterministic(self, params):
        with self.ways.signing():
            return {"cbor": canonical(self.value(params, "cbor"), self.ways).hex()}

    def sig_input(self, params):
        if params.get("message") is not None:
            message = read(unhex(params, "message"), self.ways)
            if message.encrypted:
                raise Unoffered
            fields, body = message.fields, message.body
        else:
            fields = self.fields(params["headers"])
            body = self.value(params, "body") if params.get("body") is not None else None
        with self.ways.signing():
            return {"sig_input": sig_input(fields, canonical(body, self.ways), self.ways).hex()}

    # --- building -----------------------------------------------------------------------------------------------------

    def fields(self, headers):
        fields = {}
        for name in SIGNED:
            if headers.get(name) is None:
                continue
            value = headers[name]
            fields[name] = bytes.fromhex(value) if name in ("id", "reply_to", "thread_id") else number(value)
            if name in ("from", "to"):
                fields[name] = value
        return fields

    def draft(self, params):
        sender = params["sender"]
        private = sender.get("x25519_private")
        own = keys.Keys(unhex(sender, "ed25519_seed"), bytes.fromhex(private) if private else None)
        fields = self.fields({"from": sender["did"], **params["headers"]})
        fields = {"v": number(params["headers"].get("v", 1)), **fields}
        fields.setdefault("ts", int(time.time() * 1000))
        fields.setdefault("id", fields["ts"].to_bytes(8, "big") + os.urandom(8))
        body = self.value(params, "body") if params.get("body") is not None else None
        with self.ways.signing():
            body_bytes = canonical(body, self.ways)
            signed = sig_input(fields, body_bytes, self.ways)
        fields["sig"] = own.sign(signed)
        return own, fields, body, body_bytes, signed

    def build_plain(self, params):
        _, fields, body, _, signed = self.draft(params)
        fields["body"] = body
        if params.get("ext") is not None:
            fields["ext"] = cbor.decode(unhex(params, "ext"))
        return self.more({"message": wire(fields, self.ways).hex()}, sig_input=signed.hex())

    def build_encrypted(self, params):
        own, fields, _, plain, signed = self.draft(params)
        found = keys.agreement_keys(params["recipient_document"], self.ways)
        nonce = unhex(params, "nonce") if params.get("nonce") is not None else keys.bindings.randombytes(24)
        if not found or len(nonce) != 24:
            return {"code": 1001}
        try:
            sealed = keys.seal(plain, nonce, found[0], own.x_secret)
        except RuntimeError:
            return {"code": 3001}
        fields["enc"] = {"alg": ALG, "mode": MODE, "nonce": nonce, "ciphertext": sealed}
        made = {"message": wire(fields, self.ways).hex()}
        return self.more(made, sig_input=signed.hex(), plaintext=plain.hex(), nonce=nonce.hex(), ciphertext=sealed.hex())

    def box_open(self, params):
        nonce = unhex(params, "nonce")
        if len(nonce) != 24:
            return {"code": 1001}
        plain = keys.unseal(unhex(params, "ciphertext"), nonce, unhex(params, "public_key"), unhex(params, "private_key"))
        return {"code": 3001} if plain is None else {"plaintext": plain.hex()}

    # --- receiving ----------------------------------------------------------------------------------------------------

    def receive(self, params):
        me = params["self"]
        private = me.get("x25519_private")
        own = keys.Keys(unhex(me, "ed25519_seed"), bytes.fromhex(private) if private else None)
        documents = {document["id"]: document for document in params.get("documents") or []}
        did = keys.bare(me["did"])
        document = documents.get(did) or keys.key_document(did) or {"id": did, "keyAgreement": [{"id": "#own"}]}
        ways = self.ways
        ways.frozen_ms, ways.trusted_relays = number(params["now"]), params.get("trusted_relays") or []
        node = Node(ways, own, did, document)
        node.resolver.preloaded.update(documents)
        if params.get("original") is not None:
            original = cbor.decode(unhex(params, "original"))
            to = original.get("to")
            state = {"to": [to] if isinstance(to, str) else to, "confirmed": False, "error": None}
            node.sent[original.get("id")] = state
        message = unhex(params, "message")

        async def take():
            """All checks of a single message, without processing it."""
            taken = read(message, ways)
            taken.batch = None
            await node.check(taken)
            node.step_type(taken)
            node.schema(taken, NAMES[taken.typ])
            if taken.typ == TYPES["ACK"]:
                await node.on_ack(taken, Channel())
            elif taken.typ == TYPES["BATCH"]:
                taken.channel = Channel()
                await node.on_batch(taken, taken.channel)  # its items are checked, and dropped with the node
            return taken

        try:
            taken = asyncio.run(take())
        except Refusal as refusal:
            return self.more({"outcome": "reject", "code": refusal.code}, stage=refusal.rule)
        result = self.more({"outcome": "accept"}, signer=taken.sender, encrypted=taken.encrypted)
        if not taken.encrypted:
            self.more(result, body=cbor.encode(taken.body).hex())
        return result

    def select_key(self, params):
        document, ways = params["document"], self.ways
        if params["purpose"] == "signature":
            key, rule = keys.signing_key(document, params["did"], ways)
            return {"public_key": key.hex()} if rule is None else {"code": 3001}
        found = keys.agreement_keys(document, ways)
        return {"public_key": found[0].hex()} if found else {"code": 3001}

    # --- tables -------------------------------------------------------------------------------------------------------

    def error_info(self, params):
        code = number(params["code"])
        if code not in CODES:
            return {"unknown": True}
        name, retry = CODES[code]
        return {"name": name, "category": CATEGORIES[code // 1000], "retry": retry}

    def type_info(self, params):
        name = NAMES.get(number(params["typ"]))
        return {"unknown": True} if name is None else {"name": name}

    def type_code(self, params):
        typ = TYPES.get(params["name"])
        return {"unknown": True} if typ is None else {"typ": typ}


    # --- RFC 002 ------------------------------------------------------------------------------------------------------

    def wrapper_decode(self, params):
        """Also checks the messages of a wrapper, and refuses one that no relay may forward (E99)."""
        whole = unhex(params, "cbor")
        wrapper = self.value(params, "cbor")
        members = WRAPPERS.get(params["kind"])
        if members is None or not isinstance(wrapper, cbor.Map) or set(wrapper.keys()) != set(members):
            return {"code": 1001}
        if not all(fits(wrapper.get(name)) for name, fits in members.items()):
            return {"code": 1001}
        held = wrapper.get("messages") or [m for m in [wrapper.get("message")] if m is not None]
        for message in held:
            read(message, self.ways)
        return {"value": whole.hex()}


METHODS = (
    "public_key", "x25519_derive", "x25519_public", "sign", "verify", "encode_deterministic", "sig_input", "build_plain",
    "build_encrypted", "box_open", "receive", "select_key", "error_info", "type_info", "type_code",
    "wrapper_decode",
)  # fmt: skip


def answer(library, request):
    family, _, name = request.get("method", "").partition("/")
    try:
        if family != "amp-core" or name not in METHODS:
            raise Unoffered
        return {"result": getattr(library, name)(request.get("params") or {})}
    except Unoffered:
        return {"error": {"code": -32601, "message": "not offered"}}
    except Refusal as refusal:
        return {"result": {"code": refusal.code}}
    except cbor.CborError:
        return {"result": {"code": 1001}}
    except (BadParameters, KeyError) as error:
        return {"error": {"code": -32602, "message": f"bad parameters: {error}"}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutant")
    parser.add_argument("--choice", action="append", default=[])
    parser.add_argument("--also", default="", help="optional members of results, with commas")
    options = parser.parse_args()
    library = Library(make_ways(options.choice, None, options.mutant), options.also.split(","))
    out = sys.stdout
    sys.stdout = sys.stderr
    for line in sys.stdin:
        if line.strip():
            request = json.loads(line)
            reply = {"jsonrpc": "2.0", "id": request.get("id"), **answer(library, request)}
            out.write(json.dumps(reply) + "\n")
            out.flush()


if __name__ == "__main__":
    main()

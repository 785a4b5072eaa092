"""A library of AMP that can do one thing: it writes maps of text and small integers in deterministic CBOR.

Everything else is unsupported, so the cases about receiving messages cannot say anything of it.
"""

import json
import sys


def head(major, number):
    for bits, size in ((24, 0), (1 << 8, 1), (1 << 16, 2), (1 << 32, 4), (1 << 64, 8)):
        if number < bits:
            first = number if size == 0 else 23 + size.bit_length()
            return bytes([major << 5 | first]) + (number.to_bytes(size, "big") if size else b"")
    raise ValueError(number)


def read(data):
    """The deterministic encoding of the first item of `data`, and what follows the item."""
    major, info, rest = data[0] >> 5, data[0] & 31, data[1:]
    if major == 7 or info > 27:
        raise ValueError(info)
    size = 0 if info < 24 else 1 << info - 24
    number, rest = (int.from_bytes(rest[:size], "big") if size else info), rest[size:]
    if major in (0, 1):
        return head(major, number), rest
    if major in (2, 3):
        return head(major, number) + rest[:number], rest[number:]
    items = []
    for _ in range(number if major == 4 else 1 if major == 6 else 2 * number):
        item, rest = read(rest)
        items.append(item)
    if major == 5:
        items = [item for pair in sorted(zip(items[::2], items[1::2])) for item in pair]
    return head(major, number) + b"".join(items), rest


for line in sys.stdin:
    call = json.loads(line)
    reply = {"jsonrpc": "2.0", "id": call.get("id")}
    method = call["method"].split("/")[-1]
    try:
        if method == "describe":
            operations = ["amp-core/describe", "amp-core/encode_deterministic"]
            reply["result"] = {"name": "one function", "version": "1", "protocols": ["amp-core"], "operations": operations}
            reply["result"]["claims"] = ["core"]
        elif method == "encode_deterministic":
            encoded, rest = read(bytes.fromhex(call["params"]["cbor"]))
            reply["result"] = {"cbor": encoded.hex()} if not rest else {}
        else:
            reply["error"] = {"code": -32601, "message": "unsupported"}
    except (ValueError, IndexError):
        reply["error"] = {"code": -32001, "message": "not read"}
    print(json.dumps(reply), flush=True)

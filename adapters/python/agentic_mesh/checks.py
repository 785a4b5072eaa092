"""Steps 1, 3 and 4 of section 4.7: structure, version, Header, ttl; and the required fields of Body (2.2)."""

from __future__ import annotations

from . import text
from .model import SENDER, TTL_EXPIRED, VERSION_MISMATCH, Fault, Node, is_encrypted
from .text import Literal

HEADER_FIELDS = {"messageId": str, "traceId": str, "roles": list, "routingIntent": str, "ttl": Literal}


def parsed(data: bytes) -> object:
    """Input that is not JSON is a malformation (4.9)."""
    try:
        return text.read(data)
    except text.NotJson as error:
        raise Fault(SENDER, str(error)) from None


def check_structure(message: object, node: Node) -> dict:
    """The Envelope with its version and its three components (2, 4.9). The version decides first (E26)."""
    if not isinstance(message, dict):
        raise Fault(SENDER, "a message is a JSON object")
    envelope = message.get("Envelope")
    if not isinstance(envelope, dict):
        raise Fault(SENDER, "Envelope is missing or not an object")
    header = envelope.get("Header")
    if isinstance(header, dict) and "version" in header and header["version"] not in node.versions:
        raise Fault(VERSION_MISMATCH, "the version of the envelope is not supported")
    for name in ("Header", "Body", "MemoryGram"):
        if name not in envelope:
            raise Fault(SENDER, f"{name} is missing")
    for name in ("Header", "Body"):
        if not isinstance(envelope[name], dict):
            raise Fault(SENDER, f"{name} is not an object")
    graph = envelope["MemoryGram"]
    if not isinstance(graph, dict) and (graph is None or not is_encrypted(message)):
        raise Fault(SENDER, "MemoryGram is not an object")
    return envelope


def check_header(header: dict) -> None:
    """The required fields (2.1), for every kind of node (E62)."""
    for name, kind in HEADER_FIELDS.items():
        if name not in header:
            raise Fault(SENDER, f"Header.{name} is missing")
        if not isinstance(header[name], kind):
            raise Fault(SENDER, f"Header.{name} has the wrong type")
    if header["ttl"].integer() is None:
        raise Fault(SENDER, "Header.ttl is not an integer")
    if not isinstance(header.get("encryption"), (dict, type(None))):
        raise Fault(SENDER, "Header.encryption is not an object")


def lowered_ttl(header: dict) -> int:
    """Step 4: one less."""
    return header["ttl"].integer() - 1


def check_ttl(lowered: int) -> None:
    """What is zero or less now has expired, at the ultimate receiver too (E19, E20)."""
    if lowered <= 0:
        raise Fault(TTL_EXPIRED, "ttl has run out")


def check_body(body: dict) -> None:
    for name, kind in (("task", str), ("expectedOutput", list)):
        if name not in body:
            raise Fault(SENDER, f"Body.{name} is missing")
        if not isinstance(body[name], kind):
            raise Fault(SENDER, f"Body.{name} has the wrong type")
    if not isinstance(body.get("context"), (dict, type(None))):
        raise Fault(SENDER, "Body.context is not an object")

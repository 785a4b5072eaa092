"""Nodes, faults and the names that the draft defines (sections 4.1, 4.2 and 4.10)."""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass, field

NEXT = "urn:agentic:mesh:role:next"
NONE = "urn:agentic:mesh:role:none"
ULTIMATE_RECEIVER = "urn:agentic:mesh:role:ultimateReceiver"

MUST_UNDERSTAND = "amp:MustUnderstand"
VERSION_MISMATCH = "amp:VersionMismatch"
SENDER = "amp:Sender"
RECEIVER = "amp:Receiver"
TTL_EXPIRED = "amp:TTLExpired"
INVALID_MEMORYGRAM = "amp:InvalidMemoryGram"
CODES = frozenset((MUST_UNDERSTAND, VERSION_MISMATCH, SENDER, RECEIVER, TTL_EXPIRED, INVALID_MEMORYGRAM))

BEHAVIOURS = ("noop", "reinsert", "fail", "annotate", "augment", "redact")
BLOCKS_AT = "/Envelope/Header/headers"
CODE_AT = "/Envelope/Body/fault/code/value"
URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+")


class Fault(Exception):
    """The one fault that a message leads to."""

    def __init__(self, code: str, reason: str, not_understood: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.code, self.reason, self.not_understood = code, reason, not_understood


class CannotSetUp(ValueError):
    """A node object that this library cannot take on."""


@dataclass(frozen=True)
class Node:
    """What a node is told at installation (4.2)."""

    uri: str = "urn:proofmark:mesh:node:python"
    intermediary: bool = False
    extra_roles: tuple[str, ...] = ()
    understands: dict[str, str] = field(default_factory=dict)  # type of a block -> behaviour
    versions: tuple[str, ...] = ("1.0",)
    validates: bool = True
    blocks_at: str = BLOCKS_AT
    tasks: dict[str, str] = field(default_factory=lambda: {"echo": "accept", "proofmark-refuse": "refuse"})

    @property
    def roles(self) -> list[str]:
        """All roles that the node acts in. They stay the same while it processes a message (4.2)."""
        return [NEXT, *([] if self.intermediary else [ULTIMATE_RECEIVER]), *(r for r in self.extra_roles if r != NONE)]

    @property
    def short_name(self) -> str:
        return re.split(r"[:/]", self.uri.rstrip(":/"))[-1] or "node"

    @classmethod
    def told(cls, given: dict) -> Node:
        """The node of a node object."""
        kind = given.get("kind", "ultimateReceiver")
        if kind not in ("ultimateReceiver", "intermediary"):
            raise CannotSetUp(f"unknown kind {kind!r}")
        known = {}
        for block in given.get("understands") or []:
            if block.get("behaviour") not in BEHAVIOURS:
                raise CannotSetUp(f"unknown behaviour {block.get('behaviour')!r}")
            known[block["type"]] = block["behaviour"]
        place = given.get("header_blocks_at") or BLOCKS_AT
        if not place.startswith("/Envelope/"):
            raise CannotSetUp(f"header blocks cannot be at {place!r}")
        versions = tuple(given.get("versions") or ("1.0",))
        if "1.0" not in versions:
            raise CannotSetUp("only version 1.0 is implemented")
        uri = given.get("uri", cls.uri)
        if not isinstance(uri, str) or not URI.fullmatch(uri):
            raise CannotSetUp(f"{uri!r} is not a URI")
        return cls(
            uri=uri,
            intermediary=kind == "intermediary",
            extra_roles=tuple(given.get("roles") or ()),
            understands=known,
            versions=("1.0",),
            validates=given.get("memorygram", "validates") == "validates",
            blocks_at=place,
            tasks=dict(given["tasks"]) if "tasks" in given else {"echo": "accept", "proofmark-refuse": "refuse"},
        )


def new_id() -> str:
    """A globally unique identifier (2.1)."""
    return str(uuid.uuid4())


def inside(message: object, *names: str) -> object:
    """The member of Envelope on this path, or None."""
    value = message.get("Envelope") if isinstance(message, dict) else None
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def is_encrypted(message: object) -> bool:
    """Whether the Header declares encryption. null is the same as absent (E85)."""
    return inside(message, "Header", "encryption") is not None

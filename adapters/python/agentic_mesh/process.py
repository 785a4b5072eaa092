"""The processing model of section 4.7: nine steps in order, and one fault at most."""

from __future__ import annotations

from dataclasses import dataclass, field

from . import blocks as header_blocks
from . import checks, emit, memorygram
from .model import RECEIVER, Fault, Node, is_encrypted


@dataclass
class Outcome:
    """What a node did with a message."""

    roles: list[str]
    outcome: str = "fault"
    fault: Fault | None = None
    message: object = None  # as it came in, if it was JSON
    forwarded: dict | None = None
    reply: dict | None = None
    processed: list[int] = field(default_factory=list)
    body_processed: bool = False
    memorygram_used: bool = False
    ttl_after: int | None = None


def process(data: bytes, node: Node) -> Outcome:
    out = Outcome(node.roles)
    try:
        out.message = checks.parsed(data)
        _steps(out, node)
    except Fault as fault:
        out.fault = fault
    return out


def _steps(out: Outcome, node: Node) -> None:
    message = out.message
    envelope = checks.check_structure(message, node)  # 1; 2 is Node.roles
    header = envelope["Header"]
    checks.check_header(header)  # 3
    out.ttl_after = checks.lowered_ttl(header)  # 4
    checks.check_ttl(out.ttl_after)
    blocks = header_blocks.listed(message, node)  # 5
    header_blocks.check_understood(blocks, node)  # 6
    if node.validates and not is_encrypted(message):  # 7
        memorygram.check(envelope["MemoryGram"])
        out.memorygram_used = True
    out.processed, reinserted = header_blocks.process(blocks, node, message)  # 8
    if node.intermediary:
        out.forwarded = emit.forwarded(message, node, set(out.processed), reinserted)  # 9
        out.outcome = "forwarded"
        return
    body = envelope["Body"]
    checks.check_body(body)
    if node.tasks.get(body["task"]) == "refuse":
        raise Fault(RECEIVER, "this task is refused")
    out.body_processed, out.outcome = True, "delivered"
    if body["task"] == "echo":
        out.reply = emit.reply(message)

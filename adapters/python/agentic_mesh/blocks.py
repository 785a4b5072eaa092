"""Header blocks: place, targeting, understanding, processing (sections 4.3, 4.4 and 4.8.1)."""

from __future__ import annotations

from dataclasses import dataclass

from . import memorygram, text
from .model import MUST_UNDERSTAND, RECEIVER, SENDER, ULTIMATE_RECEIVER, Fault, Node, inside, is_encrypted


@dataclass(frozen=True)
class Block:
    """One header block as the rules see it. Absent flags are false (E31), an absent role is ultimateReceiver (E30)."""

    index: int
    members: dict
    type: str
    role: str
    mandatory: bool
    relayable: bool


def slot(message: object, node: Node) -> tuple[dict, str] | None:
    """The object that holds the array, and the name of the array in it."""
    parent, _, name = node.blocks_at.rpartition("/")
    found, holder = text.pointed(message, parent)
    return (holder, name) if found and isinstance(holder, dict) and name in holder else None


def listed(message: object, node: Node) -> list[Block]:
    """All blocks. What is not an array of objects with a type each is malformed (4.3)."""
    place = slot(message, node)
    if place is None:
        return []
    values = place[0][place[1]]
    if not isinstance(values, list):
        raise Fault(SENDER, "the header blocks are not an array")
    blocks = []
    for index, value in enumerate(values):
        if not isinstance(value, dict) or not isinstance(value.get("type"), str):
            raise Fault(SENDER, f"header block {index} is not an object with a type")
        role = value.get("role", ULTIMATE_RECEIVER)
        if not isinstance(role, str):
            raise Fault(SENDER, f"the role of header block {index} is not a string")
        blocks.append(Block(index, value, value["type"], role, value.get("mustUnderstand") is True, value.get("relay") is True))
    return blocks


def is_targeted(block: Block, node: Node) -> bool:
    """Roles are compared exactly (E60). A node never acts in none, whatever it was told."""
    return block.role in node.roles


def not_understood(blocks: list[Block], node: Node) -> list[Block]:
    """Step 5: the mandatory blocks for this node that it does not understand."""
    return [b for b in blocks if b.mandatory and is_targeted(b, node) and b.type not in node.understands]


def check_understood(blocks: list[Block], node: Node) -> None:
    """Step 6, with one fault for all of them."""
    missing = not_understood(blocks, node)
    if missing:
        types = tuple(dict.fromkeys(b.type for b in missing))
        raise Fault(MUST_UNDERSTAND, "a mandatory header block is not understood", types)


def process(blocks: list[Block], node: Node, message: dict) -> tuple[list[int], dict[int, dict]]:
    """Step 8 for the blocks that the node understands: their indices, and those that are put back."""
    processed, reinserted = [], {}
    for block in blocks:
        behaviour = node.understands.get(block.type)
        if behaviour is None or not is_targeted(block, node):
            continue
        _perform(behaviour, block, node, message)
        processed.append(block.index)
        if behaviour == "reinsert":
            reinserted[block.index] = block.members
    return processed, reinserted


def _perform(behaviour: str, block: Block, node: Node, message: dict) -> None:
    content = block.members.get("content")
    content = content if isinstance(content, dict) else {}
    if behaviour == "fail" and content.get("fail") is True:
        raise Fault(RECEIVER, "the header block could not be processed")
    if not node.intermediary:
        return
    graph = inside(message, "MemoryGram")
    readable = isinstance(graph, dict) and not is_encrypted(message)
    if behaviour == "annotate" and readable:
        memorygram.annotate(graph, node.uri)
    elif behaviour == "augment" and readable:
        name = memorygram.free_id(graph, "note")
        known = memorygram.ids(graph)
        edges = [{"source": known[0], "target": name, "context": "noted in transit"}] if known else []
        memorygram.augment(graph, node.uri, [{"id": name, "type": "note"}], edges)
    elif behaviour == "redact":
        context = inside(message, "Body", "context")
        if isinstance(context, dict) and isinstance(content.get("member"), str):
            context.pop(content["member"], None)


def stays(block: Block, node: Node, processed: set[int]) -> bool:
    """The table of 4.8.1 without its column for reinsertion."""
    if not is_targeted(block, node):
        return True
    return block.index not in processed and block.relayable

"""Batches: messages in a message (section 4.5)."""

from __future__ import annotations

from typing import Any

from . import bodies, codes


def split(body: Any) -> list[bytes]:
    """The items of a batch body, in order. Their contents are checked one by one elsewhere."""
    bodies.check(codes.BATCH, body)
    return body.get("items")

"""Refusals: why a message, a body or a value is not accepted, as a code of section 15.3."""

from __future__ import annotations


class Refusal(Exception):
    """A message is refused with `code`; `stage` is the step in the order of E31."""

    def __init__(self, code: int, reason: str, stage: str = ""):
        super().__init__(reason)
        self.code = code
        self.reason = reason
        self.stage = stage


class Misuse(Exception):
    """The caller of the library requests an impossible message, such as one with a nonce of 12 bytes."""


class WrongState(Exception):
    """The operation is not possible now, such as sending to a peer that refused every version."""

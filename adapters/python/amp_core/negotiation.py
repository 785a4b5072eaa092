"""The version negotiation with one peer (section 13.5, E52, E53)."""

from __future__ import annotations

from typing import Any, NamedTuple

from . import bodies, codes, version
from .cbor import Map
from .refusal import Refusal

UNNEGOTIATED, WAIT_ACK, NEGOTIATED, FAILED = "UNNEGOTIATED", "WAIT_ACK", "NEGOTIATED", "FAILED"


class Handshake(NamedTuple):
    """A handshake message to be sent. Its v is always 1."""

    type: int
    body: Map


class Negotiation:
    """One peer. A refused event changes nothing, with one exception: an answer to our HELLO that selects a version that was
    not offered ends in FAILED."""

    def __init__(self, supported: list):
        self.supported = list(supported)
        self.state = UNNEGOTIATED
        self.selected: str | None = None
        self._crossed = False  # we answered a HELLO while ours was in transit; its answer is pending

    def send_hello(self) -> Handshake:
        """Open a negotiation. Only one is active at a time."""
        if self.state == WAIT_ACK:
            raise Refusal(1001, "a negotiation is in progress", "negotiation")
        self.state, self.selected, self._crossed = WAIT_ACK, None, False
        return Handshake(codes.HELLO, Map({"versions": version.names(self.supported)}))

    def hello(self, body: Any) -> Handshake:
        """Every HELLO is answered, also a repeated one and one that crosses ours."""
        bodies.check(codes.HELLO, body)
        self._crossed = self.state == WAIT_ACK
        self.selected = version.select(self.supported, body.get("versions"))
        if self.selected is None:
            self.state = FAILED
            return Handshake(codes.HELLO_REJECT, Map({"reason": "no common version"}))
        self.state = NEGOTIATED
        return Handshake(codes.HELLO_ACK, Map({"selected": self.selected}))

    def hello_ack(self, body: Any) -> None:
        """The answer to our HELLO."""
        if self._settled(codes.HELLO_ACK, body):
            return
        selected = body.get("selected")
        if version.major(selected) not in version.majors(self.supported):
            self.state = FAILED
            raise Refusal(1004, "the selected version was not offered", "negotiation")
        self.state, self.selected = NEGOTIATED, selected

    def hello_reject(self, body: Any) -> None:
        """The peer has no version in common with us."""
        if not self._settled(codes.HELLO_REJECT, body):
            self.state, self.selected = FAILED, None

    def _settled(self, typ: int, body: Any) -> bool:
        """Whether the answer is obsolete, because the HELLOs crossed and ours was answered first."""
        bodies.check(typ, body)
        if self.state != WAIT_ACK and not self._crossed:
            raise Refusal(1001, "no HELLO is pending", "negotiation")
        crossed, self._crossed = self._crossed, False
        return crossed

    def message(self, v: int | None) -> None:
        """Any other message, sent or received. After negotiation v is the major of the selected version."""
        if self.state != NEGOTIATED:
            raise Refusal(1004, "no version has been agreed", "negotiation")
        if v is not None and v != self.major:
            raise Refusal(1004, f"version {self.major} has been agreed", "negotiation")

    @property
    def major(self) -> int | None:
        """The agreed major version, or None."""
        return version.major(self.selected)

"""Sent and unconfirmed messages (sections 16.3 to 16.5)."""

from __future__ import annotations

import random
from dataclasses import dataclass

from . import codes, retry

ACK_TIMEOUT, PING_TIMEOUT = 10_000, 5_000  # section 16.4

# Answers and receipts are not answered themselves.
UNCONFIRMED = frozenset(
    (codes.ACK, codes.PONG, codes.PROC_OK, codes.PROC_FAIL, codes.ERROR, codes.HELLO_ACK, codes.HELLO_REJECT)
)


@dataclass
class Outbound:
    """A message that waits for its confirmation."""

    message: bytes
    pending: set[str]  # recipients that have not confirmed yet
    expires: int
    timeout: int
    copies: int = 1
    due: int = 0  # when the next copy is sent, unless the message has expired by then (E48)


class Outbox:
    """Messages by id. The same bytes are sent again, hence the same id (section 16.3)."""

    def __init__(self, ack_timeout: int = ACK_TIMEOUT):
        self._ack_timeout = ack_timeout
        self._messages: dict[bytes, Outbound] = {}
        self._failed: list[bytes] = []

    def __len__(self) -> int:
        return len(self._messages)

    def add(self, id_: bytes, typ: int, message: bytes, recipients: list[str], expires: int, now: int) -> None:
        """Keep a message until it is confirmed or expires."""
        if typ in UNCONFIRMED:
            return
        timeout = min(PING_TIMEOUT, self._ack_timeout) if typ == codes.PING else self._ack_timeout
        outbound = Outbound(message, set(recipients), expires, timeout)
        self._messages[id_] = outbound
        self._schedule(outbound, now, timeout)

    def original(self, id_: bytes | None) -> bytes | None:
        """The message with this id, while it waits."""
        outbound = self._messages.get(id_) if id_ is not None else None
        return None if outbound is None else outbound.message

    def confirm(self, id_: bytes | None, sender: str, relay: bool = False) -> None:
        """A recipient, or the relay for all of them, has the message."""
        if id_ is None or id_ not in self._messages:
            return
        outbound = self._messages[id_]
        outbound.pending.discard(sender)
        if relay or not outbound.pending:
            del self._messages[id_]

    def error(self, id_: bytes | None, sender: str, trusted: bool, code: int, again: bool | None, now: int) -> None:
        """An ERROR for a message. One from another party changes nothing: otherwise any party could stop our retries."""
        if id_ is None or id_ not in self._messages:
            return
        outbound = self._messages[id_]
        if not (trusted or sender in outbound.pending):
            return
        if retry.delay(1, 0, code, again) is None:
            self._fail(id_)
        else:
            self._schedule(outbound, now, 0)

    def tick(self, now: int) -> tuple[list[bytes], list[bytes]]:
        """The copies that are due, and the ids given up since the last call."""
        sent = []
        for id_, outbound in list(self._messages.items()):
            if now > outbound.expires:
                self._fail(id_)
            elif now >= outbound.due:
                if outbound.copies >= retry.MAX_ATTEMPTS:
                    self._fail(id_)
                    continue
                outbound.copies += 1
                sent.append(outbound.message)
                self._schedule(outbound, now, outbound.timeout)
        failed, self._failed = self._failed, []
        return sent, failed

    def _schedule(self, outbound: Outbound, now: int, timeout: int) -> None:
        wait = retry.delay(outbound.copies, random.SystemRandom().uniform(0, 0.5))
        outbound.due = now + timeout + (wait or 0)

    def _fail(self, id_: bytes) -> None:
        del self._messages[id_]
        self._failed.append(id_)

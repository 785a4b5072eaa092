"""A node: a stateful recipient and sender (sections 8.4, 13.5, 16).

It has no clock and no network: the caller passes the time and received messages, and sends the output.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable

from . import batch, bodies, cbor, codes, envelope, receive, seal, stream
from .application import Answer, Application
from .cbor import Map
from .did import Resolver, bare, is_did
from .envelope import DEFAULT_TTL, Envelope
from .incoming import STREAM_TIMEOUT, Incoming, Streams
from .keys import Keys
from .negotiation import FAILED, NEGOTIATED, WAIT_ACK, Negotiation
from .outbox import ACK_TIMEOUT, Outbox
from .receive import Context, Opened
from .refusal import Misuse, Refusal, WrongState
from .version import majors

MAX_SEEN, MAX_PEERS, MAX_OUTBOUND = 100_000, 4_096, 10_000


@dataclass(frozen=True)
class Options:
    """Settings of a deployment."""

    max_skew: int = receive.MAX_CLOCK_SKEW
    ack_timeout: int = ACK_TIMEOUT
    stream_timeout: int = STREAM_TIMEOUT
    require_hello: bool = False  # persistent channels require a HELLO first (002-3.3)


@dataclass
class Outcome:
    """The outcome of a message: accept, reject or cached."""

    kind: str
    opened: Opened | None = None
    refusal: Refusal | None = None
    replies: list[bytes] = field(default_factory=list)


@dataclass
class Seen:
    """A processed message: its replies, and how long a repeat may still be valid."""

    expires: int
    replies: list[bytes]


@dataclass(frozen=True)
class Later:
    """A reply that is due at some time, for the message with this key."""

    due: int
    key: tuple
    message: bytes


class Node:
    """An agent. `supported` holds versions or bare majors."""

    def __init__(
        self,
        keys: Keys,
        resolver: Resolver,
        supported: list | None = None,
        trusted_relays: frozenset[str] = frozenset(),
        options: Options = Options(),
    ):
        self.keys = keys
        self.options = options
        self.application = Application()
        self._supported = list(supported or ["1.0"])
        versions = majors(self._supported)
        if not versions:
            raise Misuse("a node supports at least one version")
        self._context = Context(keys, resolver, versions, trusted_relays, options.max_skew)
        self._seen: dict[tuple, Seen] = {}
        self._negotiations: dict[str, Negotiation] = {}
        self._outbox = Outbox(options.ack_timeout)
        self._streams = Streams(options.stream_timeout)
        self._later: list[Later] = []

    @property
    def effects(self) -> int:
        """How often the application ran."""
        return self.application.runs

    # --- In -------------------------------------------------------------------------------------------------------------

    def receive(self, message: bytes, now: int, peer: str | None = None) -> Outcome:
        """Process a message received over the connection `peer`, if connections matter."""
        return self._receive(message, now, peer, in_batch=False)

    def _receive(self, message: bytes, now: int, peer: str | None, in_batch: bool) -> Outcome:
        try:
            opened = receive.authenticate(self._context, message, now)
        except Refusal as refusal:
            return Outcome("reject", refusal=refusal, replies=self._unread(message, refusal, now, peer))
        # Only verified messages may read the cache, and only processed ones are stored (E47).
        key = (bare(opened.envelope.sender), opened.envelope.id)
        seen = self._seen.get(key)
        if seen is not None and now <= seen.expires:
            return Outcome("cached", opened, replies=list(seen.replies))
        turn = _Turn(self, opened, key, now, peer)
        try:
            self._check_agreed(turn)
            self._room(now)
            original = self._outbox.original(turn.headers.get("reply_to"))
            receive.accept(
                self._context, opened, None if original is None else envelope.parse(original), judge_relay=True
            )
            if in_batch and opened.envelope.type == codes.BATCH:
                raise Refusal(4001, "a batch in a batch", "batch")  # E55
            replies = self._handlers.get(opened.envelope.type, Node._take)(self, turn)
        except Refusal as refusal:
            answers = [] if opened.envelope.type == codes.ERROR else [turn.error(refusal)]  # E32
            return Outcome("reject", refusal=refusal, replies=answers)
        # A message with ts ahead of our clock stays valid for longer than its ttl (E46).
        self._seen[key] = Seen(max(opened.envelope.expires, now + opened.envelope.ttl), replies)
        return Outcome("accept", opened, replies=list(replies))

    def _room(self, now: int) -> None:
        if len(self._seen) >= MAX_SEEN:
            self._forget(now)
            if len(self._seen) >= MAX_SEEN:
                raise Refusal(5004, "the cache of processed messages is full", "cache")

    def _forget(self, now: int) -> None:
        for key in [key for key, seen in self._seen.items() if now > seen.expires]:
            del self._seen[key]

    def _check_agreed(self, turn: _Turn) -> None:
        """After negotiation there is one version (section 13.5)."""
        parsed = turn.opened.envelope
        if parsed.type in codes.HANDSHAKE:
            return
        known = self._negotiation(turn.peer, turn.sender)
        if self.options.require_hello or (known is not None and known.state == NEGOTIATED):
            (known or Negotiation(self._supported)).message(parsed.version)

    def _unread(self, message: bytes, refusal: Refusal, now: int, peer: str | None) -> list[bytes]:
        """The ERROR for a message refused before its sender was verified, if it names a party to answer (E32, E83)."""
        try:
            members = envelope.message_map(message)
        except Refusal:
            return []
        sender, id_ = members.get("from"), members.get("id")
        if not is_did(sender) or not isinstance(id_, bytes) or len(id_) != 16 or members.get("typ") == codes.ERROR:
            return []
        return [self._build(bare(sender), codes.ERROR, bodies.error(refusal.code, refusal.reason), now, id_, peer)]

    # --- One type after the other ----------------------------------------------------------------------------------------

    def _take(self, turn: _Turn) -> list[bytes]:
        """MESSAGE, CRED_* and DELEG_*: delivered, counted, acknowledged."""
        self.application.take()
        return [turn.ack()]

    def _request(self, turn: _Turn) -> list[bytes]:
        return [turn.ack(), *self._answered(turn, self.application.request(turn.opened.body))]

    def _answered(self, turn: _Turn, answer: Answer) -> list[bytes]:
        message = turn.reply(answer.type, answer.body, private=True)
        if answer.after == 0:
            return [message]
        self._later.append(Later(turn.now + answer.after, turn.key, message))
        return []

    def _document(self, turn: _Turn) -> list[bytes]:
        body = turn.opened.body
        self.application.keep(body.get("content_type"), body.get("filename"), body.get("data"))
        return [turn.ack()]

    def _document_request(self, turn: _Turn) -> list[bytes]:
        return [turn.ack(), *self._answered(turn, self.application.document(turn.opened.body))]

    def _ping(self, turn: _Turn) -> list[bytes]:
        return [turn.reply(codes.PONG, None)]

    def _ack(self, turn: _Turn) -> list[bytes]:
        relay = turn.opened.body.get("ack_source") == "relay"
        self._outbox.confirm(turn.headers.get("reply_to"), turn.sender, relay)
        return []

    def _receipt(self, turn: _Turn) -> list[bytes]:
        """PONG, PROC_OK, PROC_FAIL and RESPONSE show that the message arrived."""
        self._outbox.confirm(turn.headers.get("reply_to"), turn.sender)
        return []

    def _error(self, turn: _Turn) -> list[bytes]:
        body = turn.opened.body
        trusted = turn.sender in self._context.trusted_relays
        id_ = turn.headers.get("reply_to")
        self._outbox.error(id_, turn.sender, trusted, body.get("code"), body.get("retry"), turn.now)
        return []

    def _hello(self, turn: _Turn) -> list[bytes]:
        answer = self._negotiate(turn.peer, turn.sender).hello(turn.opened.body)
        return [turn.reply(answer.type, answer.body)]

    def _hello_answer(self, turn: _Turn) -> list[bytes]:
        """Unsolicited answers change nothing, and need no answer (E53, E73)."""
        known = self._negotiation(turn.peer, turn.sender)
        self._outbox.confirm(turn.headers.get("reply_to"), turn.sender)
        if known is not None and known.state == WAIT_ACK:
            accepted = turn.opened.envelope.type == codes.HELLO_ACK
            (known.hello_ack if accepted else known.hello_reject)(turn.opened.body)
        return []

    def _stream_start(self, turn: _Turn) -> list[bytes]:
        self._streams.start(turn.sender, turn, turn.opened.body, turn.now)
        return [turn.ack()]

    def _stream_data(self, turn: _Turn) -> list[bytes]:
        body = turn.opened.body
        entry = self._streams.find(turn.sender, body, turn.now)
        waiting = entry.receiver.state == stream.VERIFY
        try:
            whole = entry.receiver.chunk(body.get("index"), body.get("data"))
            return [turn.ack(), *(self._whole(entry, turn.now) if whole else [])]
        except Refusal as refusal:
            if not waiting or entry.receiver.state != stream.DONE:
                raise
            # The chunk was the last one and the hash is wrong: the ERROR is for STREAM_END.
            return [turn.ack(), self._remember(entry, entry.end.error(refusal, turn.now))]

    def _stream_end(self, turn: _Turn) -> list[bytes]:
        entry = self._streams.find(turn.sender, turn.opened.body, turn.now)
        whole = entry.receiver.end(turn.opened.body.get("hash"))
        entry.end = turn
        return self._whole(entry, turn.now) if whole else []

    def _whole(self, entry: Incoming, now: int) -> list[bytes]:
        """The one final ACK (section 6.3)."""
        start = entry.start.opened.body
        self.application.keep(start.get("content_type"), start.get("filename"), entry.receiver.data or b"")
        entry.receiver.data = None
        return [self._remember(entry, entry.end.reply(codes.ACK, entry.receiver.ack(now), now=now))]

    def _remember(self, entry: Incoming, message: bytes) -> bytes:
        """An answer that a repeat of STREAM_END gets as well."""
        seen = self._seen.get(entry.end.key)
        if seen is not None:
            seen.replies.append(message)
        return message

    def _batch(self, turn: _Turn) -> list[bytes]:
        """Each item like a single message, in order (section 4.5)."""
        replies = [turn.ack()]
        for index, item in enumerate(batch.split(turn.opened.body)):
            outcome = self._receive(item, turn.now, turn.peer, in_batch=True)
            replies += outcome.replies
            if outcome.refusal is not None and not outcome.replies and not _is_error(item):
                replies.append(turn.error(outcome.refusal, batch_index=index))
        return replies

    _handlers: dict[int, Callable[[Node, _Turn], list[bytes]]] = {
        codes.PING: _ping,
        codes.PONG: _receipt,
        codes.ACK: _ack,
        codes.PROC_OK: _receipt,
        codes.PROC_FAIL: _receipt,
        codes.ERROR: _error,
        codes.REQUEST: _request,
        codes.RESPONSE: _receipt,
        codes.STREAM_START: _stream_start,
        codes.STREAM_DATA: _stream_data,
        codes.STREAM_END: _stream_end,
        codes.BATCH: _batch,
        codes.DOC_SEND: _document,
        codes.DOC_REQUEST: _document_request,
        codes.HELLO: _hello,
        codes.HELLO_ACK: _hello_answer,
        codes.HELLO_REJECT: _hello_answer,
    }

    # --- Out ------------------------------------------------------------------------------------------------------------

    def send(self, to: Any, typ: int, body: bytes, ttl: int, now: int, encrypt: bool = False) -> bytes:
        """Build a message, and keep it until it is confirmed or expires (section 16.5)."""
        recipients = [bare(name) for name in ([to] if isinstance(to, str) else to)]
        if len(self._outbox) >= MAX_OUTBOUND:
            raise WrongState("too many unconfirmed messages")
        version = self._version_to(recipients, typ)
        signed = seal.headers(self.keys, typ, to, now, ttl)
        if encrypt:
            document = self._context.resolver.resolve(recipients[0])
            if document is None:
                raise Misuse("the recipient cannot be resolved")
            message = seal.encrypted(self.keys, document, signed, body, version, now=now).message
        else:
            message = seal.plain(self.keys, signed, body, version).message
        if typ == codes.HELLO:
            for name in recipients:
                self._negotiate(None, name).send_hello()
        self._outbox.add(signed.get("id"), typ, message, recipients, now + ttl, now)
        return message

    def _version_to(self, recipients: list[str], typ: int) -> int:
        """The v of a message. None for a peer that has not answered our HELLO, or without a common version."""
        if typ in codes.HANDSHAKE:
            if typ == codes.HELLO and any(self._state(name) == WAIT_ACK for name in recipients):
                raise WrongState("a negotiation with this peer is in progress")
            return 1
        agreed = set()
        for name in recipients:
            state = self._state(name)
            if state in (WAIT_ACK, FAILED) or (self.options.require_hello and state != NEGOTIATED):
                raise WrongState("no version has been agreed with this peer")
            agreed.add(self._major(None, name))
        if len(agreed) > 1:
            raise WrongState("the recipients speak different versions")
        return agreed.pop()

    def tick(self, now: int) -> tuple[list[bytes], list[bytes]]:
        """Advance the time: the messages to be sent, and the ids that were given up."""
        sent, failed = self._outbox.tick(now)
        for later in [later for later in self._later if now >= later.due]:
            self._later.remove(later)
            sent.append(later.message)
            if later.key in self._seen:
                self._seen[later.key].replies.append(later.message)
        for entry in self._streams.late(now):
            last = entry.end or entry.start
            error = last.error(Refusal(4001, "chunks are missing", "stream"), now)
            sent.append(self._remember(entry, error) if entry.end else error)
            failed.append(last.opened.envelope.id)
        self._forget(now)
        return sent, failed

    # --- Help -----------------------------------------------------------------------------------------------------------

    def _negotiation(self, peer: str | None, sender: str) -> Negotiation | None:
        """The negotiation over this connection, or else with this agent."""
        found = self._negotiations.get(peer) if peer is not None else None
        return found or self._negotiations.get(sender)

    def _negotiate(self, peer: str | None, sender: str) -> Negotiation:
        """The same; a new one if none exists."""
        found = self._negotiation(peer, sender)
        if found is None:
            if len(self._negotiations) >= MAX_PEERS:
                del self._negotiations[next(iter(self._negotiations))]
            found = self._negotiations[sender if peer is None else peer] = Negotiation(self._supported)
        return found

    def _state(self, name: str) -> str | None:
        known = self._negotiation(None, name)
        return None if known is None else known.state

    def _major(self, peer: str | None, name: str) -> int:
        known = self._negotiation(peer, name)
        if known is not None and known.major is not None:
            return known.major
        return 1 if 1 in self._context.versions else max(self._context.versions)

    def _build(
        self, to: str, typ: int, body: Any, now: int, reply_to: bytes, peer: str | None, document: Any = None
    ) -> bytes:
        version = 1 if typ in codes.HANDSHAKE else self._major(peer, to)
        signed = seal.headers(self.keys, typ, to, now, DEFAULT_TTL, reply_to=reply_to)
        if document is not None:
            return seal.encrypted(self.keys, document, signed, cbor.encode(body), version, now=now).message
        return seal.plain(self.keys, signed, cbor.encode(body), version).message


class _Turn:
    """A message in progress, and afterwards if its answer comes later."""

    def __init__(self, node: Node, opened: Opened, key: tuple, now: int, peer: str | None):
        self._node = node
        self.opened = opened
        self.key = key
        self.now = now
        self.peer = peer

    @property
    def headers(self) -> Map:
        """The signed headers."""
        return self.opened.envelope.headers

    @property
    def sender(self) -> str:
        """The sender, without a fragment."""
        return self.key[0]

    def reply(self, typ: int, body: Any, now: int | None = None, private: bool = False) -> bytes:
        """A message to the sender. Content (`private`) is encrypted if the message was."""
        parsed: Envelope = self.opened.envelope
        document = None
        if private and parsed.sealed is not None:
            document = self._node._context.resolver.resolve(parsed.sender)
        return self._node._build(
            self.sender, typ, body, self.now if now is None else now, parsed.id, self.peer, document
        )

    def ack(self) -> bytes:
        """The ACK by the recipient, which names it if there are several (section 16.1)."""
        several = isinstance(self.headers.get("to"), list)
        return self.reply(codes.ACK, bodies.ack(self.now, ack_target=bare(self._node.keys.did) if several else None))

    def error(self, refusal: Refusal, now: int | None = None, batch_index: int | None = None) -> bytes:
        """The ERROR for this message."""
        return self.reply(codes.ERROR, bodies.error(refusal.code, refusal.reason, batch_index=batch_index), now)


def _is_error(item: bytes) -> bool:
    """Whether an item is an ERROR, which is never answered by another."""
    try:
        return envelope.message_map(item).get("typ") == codes.ERROR
    except Refusal:
        return False

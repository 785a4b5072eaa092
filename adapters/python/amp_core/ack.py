"""Acknowledgements: permitted senders and contents (section 16.1)."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

from . import document
from .cbor import Map
from .did import Resolver, bare
from .envelope import Envelope
from .refusal import Refusal


def check(
    ack: Envelope, body: Map, original: Envelope | None, trusted_relays: frozenset[str], resolver: Resolver
) -> None:
    """Refuse an ACK that does not match `original`, or whose sender has another role. The signature is verified already."""
    sender = bare(ack.sender)
    if original is not None:
        if ack.headers.get("reply_to") != original.id:
            raise _unfit("the ACK is for another message")
        target = body.get("ack_target")
        if target is not None and bare(target) not in original.recipients:
            raise _unfit("ack_target is not a recipient")  # E45
    if body.get("ack_source") == "recipient":
        if original is not None and sender not in original.recipients:
            raise _unfit("the ACK is not from a recipient")
    elif sender not in trusted_relays and not _listed(sender, ack, original, resolver):
        raise _unfit("the relay is not trusted")  # E04


def _listed(relay: str, ack: Envelope, original: Envelope | None, resolver: Resolver) -> bool:
    """Whether a party of the message lists the relay as a service, by its DID or by the host of its did:web (E44)."""
    host = unquote(relay.split(":")[2]) if relay.startswith("did:web:") else None
    parties = [original.sender, *original.recipients] if original else ack.recipients
    for party in parties:
        found = resolver.resolve(party)
        for endpoint in document.services(found, "AgentMessagingRelay") if found else ():
            if endpoint == relay or (host is not None and _host(endpoint) == host):
                return True
    return False


def _host(url: str) -> str | None:
    try:
        return urlsplit(url).netloc or None
    except ValueError:
        return None


def _unfit(reason: str) -> Refusal:
    return Refusal(1001, reason, "ack")

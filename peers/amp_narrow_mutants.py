"""Bugs of AMP implementations that show with few messages only: a rule that is left out for one type, one transport or one form of a
message, and state that a refused or repeated message changes. Each is a row of `MUTANTS` like those of `amp_mutants`.
"""

from amp_message import HELLOS, TYPES
from amp_mutants import MUTANTS, RELAY, bug, skip


KNOWN = set(MUTANTS)  # those of `amp_mutants`


def narrow(name, rules, where, about, breaks, **more):
    skip(name, rules, about, breaks, where=where, **more)


def typed(*names):
    numbers = [TYPES[name] for name in names]
    return lambda taken: taken.typ in numbers


# --- signatures ---------------------------------------------------------------------------------------------------------

VERIFIES = "8.2-06 8.2-16 8.2-18 2.2-03 4.5-02"
narrow("verify-skipped-over-ws", "signature", lambda t: t.over("ws"), "Does not verify over WebSocket.", VERIFIES, shows="ws")
narrow("verify-skipped-over-tcp", "signature", lambda t: t.over("tcp"), "Does not verify over TCP.", VERIFIES, shows="tcp")
narrow("verify-skipped-for-array-to", "signature", lambda t: isinstance(t.fields.get("to"), list), "Does not verify messages with to as an array.", VERIFIES)
narrow("verify-skipped-for-replies", "signature", lambda t: "reply_to" in t.fields, "Does not verify messages with a reply_to.", VERIFIES)
narrow("verify-skipped-in-threads", "signature", lambda t: "thread_id" in t.fields, "Does not verify messages with a thread_id.", VERIFIES)
narrow("verify-skipped-with-ext", "signature", lambda t: t.message.ext is not None, "Does not verify messages with ext.", VERIFIES)
narrow("verify-skipped-for-batch", "signature", typed("BATCH"), "Does not verify the container of a batch.", VERIFIES)
narrow("verify-skipped-for-request", "signature", typed("REQUEST"), "Does not verify requests.", VERIFIES)
narrow("verify-skipped-for-extension", "signature", typed("EXTENSION"), "Does not verify extension messages.", VERIFIES)
narrow("verify-skipped-for-unknown-types", "signature", lambda t: t.typ not in TYPES.values(), "Does not verify messages of unknown types.", "3.4-01", profile="strict")
narrow("verify-skipped-for-encrypted-items", "signature", lambda t: t.batch and t.encrypted, "Does not verify encrypted items of a batch.", VERIFIES + " 4.5-03 8.6-13")
narrow("verify-skipped-for-encrypted-requests", "signature", lambda t: t.encrypted and t.typ == TYPES["REQUEST"], "Does not verify encrypted requests.", VERIFIES + " 8.6-13 8.6-08")
narrow("verify-skipped-for-large-bodies", "signature", lambda t: len(t.message.raw) > 65536, "Does not verify messages above 64 KiB.", VERIFIES)
narrow("verify-skipped-for-ttl-zero", "signature", lambda t: t.message.ttl == 0, "Does not verify messages with ttl 0.", VERIFIES + " 8.3-04")

# --- time, version, recipient -------------------------------------------------------------------------------------------

EXPIRES = "8.3-01 8.3-06 4.2-08 4.5-03"
narrow("expiry-skipped-for-encrypted", "expired", lambda t: t.encrypted, "Accepts expired messages that are encrypted.", EXPIRES)
narrow("expiry-skipped-for-items", "expired", lambda t: t.batch, "Accepts expired items of a batch.", EXPIRES)
narrow("expiry-skipped-for-batch", "expired", typed("BATCH"), "Accepts expired batches.", EXPIRES)
narrow("expiry-skipped-for-ping", "expired", typed("PING"), "Answers expired PINGs.", EXPIRES)
narrow("expiry-skipped-for-hello", "expired", lambda t: t.typ in HELLOS, "Answers expired HELLOs.", EXPIRES)
narrow("expiry-skipped-for-request", "expired", typed("REQUEST"), "Runs expired requests.", EXPIRES)
narrow("expiry-skipped-over-ws", "expired", lambda t: t.over("ws"), "Accepts expired messages over WebSocket.", EXPIRES, shows="ws")
narrow("expiry-skipped-over-tcp", "expired", lambda t: t.over("tcp"), "Accepts expired messages over TCP.", EXPIRES, shows="tcp")
FUTURE = "8.3-02 8.3-06 4.2-09 4.5-03"
narrow("future-skipped-for-encrypted", "future", lambda t: t.encrypted, "Accepts encrypted messages from the future.", FUTURE)
narrow("future-skipped-for-items", "future", lambda t: t.batch, "Accepts items of a batch from the future.", FUTURE)
narrow("future-skipped-for-ping", "future", typed("PING"), "Answers PINGs from the future.", FUTURE)
narrow("future-skipped-for-hello", "future", lambda t: t.typ in HELLOS, "Answers HELLOs from the future.", FUTURE)
narrow("future-skipped-for-request", "future", typed("REQUEST"), "Runs requests from the future.", FUTURE)
narrow("future-skipped-over-ws", "future", lambda t: t.over("ws"), "Accepts the future over WebSocket.", FUTURE, shows="ws")
IDS = "8.3-17 4.2-07 4.5-03"
narrow("id-time-skipped-for-encrypted", "id-time", lambda t: t.encrypted, "Does not compare id and ts of encrypted messages.", IDS)
narrow("id-time-skipped-for-items", "id-time", lambda t: t.batch, "Does not compare id and ts of items of a batch.", IDS)
narrow("id-time-skipped-for-hello", "id-time", lambda t: t.typ in HELLOS, "Does not compare id and ts of HELLO.", IDS)
narrow("id-time-skipped-for-ping", "id-time", typed("PING"), "Does not compare id and ts of PING.", IDS)
narrow("id-time-skipped-for-request", "id-time", typed("REQUEST"), "Does not compare id and ts of requests.", IDS)
narrow("id-time-skipped-over-ws", "id-time", lambda t: t.over("ws"), "Does not compare id and ts over WebSocket.", IDS, shows="ws")
VERSION = "13.1-06 15.3-07 4.5-03"
narrow("version-skipped-for-items", "version", lambda t: t.batch, "Accepts any version in a batch.", VERSION)
narrow("version-skipped-for-batch", "version", typed("BATCH"), "Accepts any version of a batch.", VERSION)
narrow("version-skipped-for-ping", "version", typed("PING"), "Accepts any version of PING.", VERSION)
narrow("version-skipped-for-encrypted", "version", lambda t: t.encrypted, "Accepts any version of encrypted messages.", VERSION)
narrow("version-skipped-over-ws", "version", lambda t: t.over("ws"), "Accepts any version over WebSocket.", VERSION + " 13.5-08", shows="ws")
narrow("version-skipped-over-tcp", "version", lambda t: t.over("tcp"), "Accepts any version over TCP.", VERSION + " 13.5-08", shows="tcp")
OTHERS = "16.1-15 16.1-06 4.5-03"
narrow("for-others-skipped-for-encrypted", "for-others", lambda t: t.encrypted, "Acknowledges encrypted messages for others that it can decrypt.", OTHERS)
narrow("for-others-skipped-for-items", "for-others", lambda t: t.batch, "Acknowledges items for others.", OTHERS)
narrow("for-others-skipped-for-arrays", "for-others", lambda t: isinstance(t.fields.get("to"), list), "Acknowledges messages for several others.", OTHERS)
narrow("for-others-skipped-for-ping", "for-others", typed("PING"), "Answers PINGs for others.", OTHERS)
narrow("for-others-skipped-for-hello", "for-others", lambda t: t.typ in HELLOS, "Answers HELLOs for others.", OTHERS)
narrow("for-others-skipped-for-request", "for-others", typed("REQUEST"), "Runs requests for others.", OTHERS)
narrow("for-others-skipped-over-ws", "for-others", lambda t: t.over("ws"), "Acknowledges messages for others over WebSocket.", OTHERS, shows="ws")

# --- forms --------------------------------------------------------------------------------------------------------------

narrow("missing-ttl-in-items", "missing-ttl", lambda t: t.batch, "Items of a batch may lack ttl.", "4.1-13 8.2-15 4.5-03")
narrow("body-absent-in-hello", "body-or-enc", lambda t: t.typ in HELLOS, "HELLO may lack its body.", "4.4-56 4.1-64")
narrow("body-absent-in-ping", "body-or-enc", typed("PING"), "PING may lack its body.", "4.1-64 4.4-01")
narrow("body-absent-in-items", "body-or-enc", lambda t: t.batch, "Items of a batch may lack a body.", "4.1-64 4.5-03")
narrow("trailing-ignored-in-items", "trailing", lambda t: t.batch, "Ignores bytes after an item of a batch.", "4.5-02 4.5-03 15.3-47")
narrow("trailing-ignored-over-ws", "trailing", lambda t: t.over("ws"), "Ignores bytes after a message over WebSocket.", "15.3-47 002.3.2-01", shows="ws")
narrow("trailing-ignored-over-tcp", "trailing", lambda t: t.over("tcp"), "Ignores bytes after a message in a frame.", "15.3-47 002.3.2-01", shows="tcp")
narrow("type-skipped-for-items", "type", lambda t: t.batch, "Accepts unknown types in a batch.", "4.5-03 13.4-02 4.3-43")
narrow("type-skipped-for-encrypted", "type", lambda t: t.encrypted, "Accepts unknown types of encrypted messages.", "13.4-02 4.3-43 15.3-09")
narrow("type-skipped-over-ws", "type", lambda t: t.over("ws"), "Accepts unknown types over WebSocket.", "13.4-02 4.3-43 15.3-09", shows="ws")
for _name in ("v", "typ", "ts", "ttl"):
    bug(f"bool-as-{_name}", f"A boolean is a number in {_name}.", {"v": "4.1-20", "typ": "4.1-23", "ts": "4.1-24", "ttl": "4.1-26"}[_name])
bug("bool-in-bodies", "A boolean is a number in bodies.", "4.4-20 4.4-30 4.4-31 4.4-32 4.4-35")
bug("enc-refused-in-items", "Refuses encrypted items of a batch.", "4.5-03")
bug("enc-refused-for-control", "Refuses encrypted PING, HELLO and ACK.", "4.1-03", profile="strict")
bug("enc-refused-for-batch", "Refuses encrypted batches.", "4.1-03", profile="strict")
bug("enc-headers-unsigned", "The signature of an encrypted message may leave reply_to and thread_id out.", "8.1-17 8.1-18 4.1-60 4.1-61 4.1.1-06")
bug("batch-forty-items", "Items beyond the fortieth are lost.", "4.5-03")
bug("batch-large-items-lost", "Items above 32 KiB are lost.", "4.5-03")
bug("batch-replies-to-container-sender", "Replies to items go to the sender of the container.", "4.5-10 15.1-03 4.5-03")
bug("batch-same-sender-only", "Items of other senders than that of the container are refused.", "4.5-10 4.5-03")

# --- state --------------------------------------------------------------------------------------------------------------

ONCE = "8.4-05 16.2-01 8.4-04"
bug("replay-third-copy-processed", "The third copy of a message is processed again.", ONCE)
bug("replay-items-not-remembered", "Items of a batch are not remembered.", ONCE + " 4.5-03")
bug("replay-large-not-remembered", "Messages above 32 KiB are not remembered.", ONCE)
bug("replay-threads-not-remembered", "Messages with a thread_id are not remembered.", ONCE)
bug("replay-arrays-not-remembered", "Messages with to as an array are not remembered.", ONCE)
bug("replay-null-not-remembered", "Messages with a null body are not remembered.", "8.4-04", profile="strict")
bug("replay-old-not-remembered", "Messages older than a minute are not remembered.", ONCE)
bug("replay-forgery-clears", "A forged message with a known id clears its entry.", ONCE + " 16.2-05 16.2-06")
bug("replay-other-content-clears", "Other content under a known id clears its entry.", ONCE + " 16.2-07")
bug("replay-hello-clears", "A HELLO clears the entries of its sender.", ONCE + " 002.8.3-03", shows="ws")
bug("hello-forged-negotiates", "A forged HELLO opens the connection.", "8.2-18 002.3.3-02", shows="ws")
bug("hello-refused-negotiates", "A HELLO with an invalid body opens the connection.", "002.3.3-02 8.2-18", shows="ws", profile="strict")
bug("hello-hundred-versions", "A HELLO with more than sixteen versions is rejected.", "13.5-02")
bug("key-cached-by-bare-did", "The key of a DID URL is used for every key of that DID afterwards.", "8.9-02 8.9-03 8.9-01")
bug("received-at-is-ts", "received_at is the ts of the message.", "4.4-05")
bug("reply-ts-is-request-ts", "Replies have the ts of what they answer.", "4.1-25 15.1-04")
bug("reply-ids-count-milliseconds", "Ids of replies in one millisecond differ in one byte.", "4.2-04", profile="strict")
bug("ack-target-is-first", "ack_target is the first recipient.", "16.1-09")
bug("relay-ack-clears-all-boxes", "The ACK of one recipient removes the message for all.", "16.5-02 8.3-18", **RELAY)
bug("relay-ack-of-stranger-clears", "An ACK of anyone removes the message.", "16.5-02 16.1-06", **RELAY)
bug("relay-forged-ack-clears", "A forged ACK removes the message.", "16.5-02 16.1-11", **RELAY)
bug("relay-error-clears", "Any message that names it removes the message.", "16.5-02", **RELAY)
bug("relay-box-of-ten", "Keeps ten messages for each recipient.", "8.3-18 002.6.2-07 002.6.2-01", **RELAY)
bug("relay-same-id-lost", "Keeps one message of several senders that use one id.", "8.3-18 16.2-04 16.5-02", **RELAY)
bug("relay-repeat-stored-twice", "Stores a repeat again.", "16.2-01 8.4-05 002.6.2-01", **RELAY)
bug("relay-encrypted-not-stored", "Does not keep encrypted messages.", "8.6-19 8.3-18", **RELAY)
bug("relay-control-not-stored", "Does not keep ACK, PROC and ERROR.", "8.3-18 002.6.2-01 16.5-02", **RELAY)

# --- streams, keys, connections -----------------------------------------------------------------------------------------

bug("replay-streams-not-remembered", "Messages of streams are not remembered.", "16.2-01")
bug("stream-encrypted-chunk-lost", "Encrypted chunks are lost.", "6.2-08 6.3-04 6.2-01 8.5.1-09")
bug("stream-failed-poisons", "After a failed stream every further one of the sender fails.", "6.2-16 6.3-04 6.2-15")
bug("stream-refused-chunk-counted", "A chunk beyond the end is refused, and counted.", "6.2-12 4.4-08 6.2-04")
bug("stream-chunk-in-batch-lost", "Chunks that come as items of a batch are lost.", "4.5-03 6.3-04")
bug("stream-per-connection", "A stream is known on its connection only.", "6.3-04", shows="ws", profile="strict")
bug("stream-forged-chunk-kept", "The data of a forged chunk is stored.", "6.2-19")
bug("ws-empty-fragment-refused", "Refuses empty fragments.", "002.5.2-03", shows="ws")
bug("ws-maximum-of-each-fragment", "The maximum holds for each fragment.", "002.5.4-05 002.A.5-01", needs=("ws-size-header", "size-1-mib"), shows="ws")
bug("base58-zeros-lost", "Zero bytes at the start of base58 are lost.", "8.2-02 8.9-03", shows="library")
bug("base64url-as-base64", "Reads base64 with + and / instead of - and _.", "8.2-02 8.9-03", shows="library")
bug("fragment-as-suffix", "A fragment names every method whose id ends with it.", "8.9-02 8.9-01", shows="library")
bug("codec-unchecked", "Reads the 32 bytes after any multicodec as Ed25519.", "8.9-05 8.9-06", shows="library")
bug("errors-once-per-connection", "Only the first invalid message of a connection is answered.", "8.2-14 15.1-01", shows="ws")
bug("thread-echo-32-bytes", "Cuts thread_id in replies at 32 bytes.", "4.1.1-05 4.1.1-04")

# --- parties that were there before, and the second round ---------------------------------------------------------------

bug("hello-known-peer-accepted", "A party that negotiated once gets HELLO_ACK for every HELLO.", "13.5-04 13.5-06")
bug("hello-rejected-peer-remembered", "A party that was rejected once is rejected for ever.", "13.5-02", profile="strict")
bug("error-to-peer-of-connection", "An ERROR goes to the party that sent HELLO.", "15.1-03", shows="ws", profile="strict")
bug("enc-large-refused", "Refuses encrypted messages above 64 KiB.", "4.1-03 002.3.2-05")
bug("poll-cursor-counts", "A cursor is a number of messages, so that it moves when one before it is removed.", "002.6.2-05 002.6.2-07", **RELAY)
bug("relay-pushes-once", "Only the first message for a connection is pushed.", "8.3-10", **RELAY)
bug("relay-ttl-zero-once", "After one ttl 0 message for an absent recipient the next ones are stored.", "8.3-09 8.3-11", **RELAY)
for _name, _type in (("doc-send", "DOC_SEND"),):
    narrow(f"expiry-skipped-for-{_name}", "expired", typed(_type), f"Accepts expired messages of type {_type}.", "8.3-01")
    narrow(f"for-others-skipped-for-{_name}", "for-others", typed(_type), f"Takes messages of type {_type} for others.", "16.1-15")
    narrow(f"version-skipped-for-{_name}", "version", typed(_type), f"Accepts any version of {_type}.", "13.1-06")
bug("text-with-nul-refused", "Refuses text with U+0000.", "4.1-42")
bug("enc-body-must-be-map", "An encrypted body must be a map or null.", "4.1-42")
bug("hello-name-ascii-only", "Refuses agent names beyond ASCII.", "4.4-60")
bug("relay-keeps-fragment-of-recipient", "A recipient with a key fragment is another recipient.", "8.3-18", profile="strict", **RELAY)

NARROW = set(MUTANTS) - KNOWN

"""Bugs of AMP implementations that show only in a sequence of messages. Each is a row of `MUTANTS` like those of `amp_mutants`, with
its `kind`:

- second-round: the second or third time of something: a repeat after a refusal, a second poll, a stream that is started again,
- coincidence: two things are equal or lie exactly at a limit: one id of two senders, one id time, equal bodies,
- long-list: from the 11th, 33rd or 65th element on,
- untouched: an effect on something that the message does not name: another copy, queue, channel or stream,
- race: a check and its use with a few milliseconds between them; `shows: parallel`,
- spelling: another legal form of the same thing: chunks, fragments, pieces of frames, ext, percent-encoding,
- index: state that is kept in one place and not in another: for each transport, connection, sender or container.

`amp_sequences` is the conversation of the self-check in which each of them is visible.
"""

from amp_mutants import MUTANTS, RELAY, bug

BEFORE = set(MUTANTS)
WS, TCP = {"shows": "ws"}, {"shows": "tcp"}
HTTP, PARALLEL = {"shows": "http"}, {"shows": "parallel"}
ONCE = "8.4-05 16.2-01"
CUSTODY = "8.3-18 16.5-02"

SECOND_ROUND, COINCIDENCE, LONG_LIST, UNTOUCHED, RACE, SPELLING, INDEX = (
    {"kind": k} for k in ("second-round", "coincidence", "long-list", "untouched", "race", "spelling", "index")
)

# --- recipient: repeats -------------------------------------------------------------------------------------------------

bug("replay-other-content-replaces", "Other content under a known id is refused, and then known in place of the first.", "8.4-04 16.2-01 16.2-02", **SECOND_ROUND)
bug("replay-second-forgery-blocks", "The second forgery of a message leaves an entry, so that the true message is not processed.", "16.2-05 8.2-05", **SECOND_ROUND)
bug("replay-after-forgery-not-remembered", "A message that was forged before it arrived is not remembered.", ONCE, **SECOND_ROUND)
bug("replay-last-replies-of-sender", "A repeat gets the replies to the latest message of its sender.", "8.4-04 16.2-01 16.2-02", **INDEX)
bug("replay-batch-apart", "Items of a batch and single messages have a cache each.", ONCE + " 4.5-03", **INDEX)
bug("replay-cleared-on-close", "The end of a connection clears the entries of its party.", ONCE + " 002.8.3-03", **INDEX, **WS)
bug("replay-cleared-when-full", "The cache is cleared when it holds 64 entries.", ONCE + " 16.5-04", **LONG_LIST)
bug("replay-ext-apart", "The same message with another ext is processed again.", ONCE, **SPELLING)
bug("replay-reencrypted-processed", "The same message that is encrypted again is processed again.", ONCE, **SPELLING)
bug("replay-ahead-not-remembered", "Messages dated ahead are not remembered.", ONCE, **INDEX)
bug("replay-lock-per-connection", "Two copies at the same time on two persistent connections are processed twice.", ONCE + " 002.8.3-03", **RACE, **PARALLEL)

# --- recipient: batch ---------------------------------------------------------------------------------------------------

bug("batch-equal-items-processed", "Two equal items of one batch are both processed.", ONCE + " 4.5-03", **COINCIDENCE)
bug("batch-same-id-merged", "Of the items of several senders that use one id only the first is processed.", "4.5-03 16.2-04", **COINCIDENCE)
bug("batch-index-as-id", "Items are remembered by sender and position, so that the second batch is refused.", "4.5-03 8.4-06", **SECOND_ROUND)
bug("batch-item-after-bad-lost", "The item after a refused one is lost.", "4.5-03", **UNTOUCHED)
bug("batch-forged-item-remembered", "A forged item leaves an entry, so that the true message is not processed.", "16.2-05 4.5-03", **INDEX)

# --- recipient: streams -------------------------------------------------------------------------------------------------

bug("stream-restart-keeps-chunks", "A stream that is started again has the chunks of the first time.", "6.2-14 6.2-04", **SECOND_ROUND)
bug("stream-count-of-sender", "chunks_received counts the earlier streams of the sender too.", "4.4-08", **INDEX)
bug("stream-end-closes-others", "The end of a stream closes all streams of its sender.", "6.3-04", **UNTOUCHED)
bug("stream-forged-end-closes", "A forged end closes the stream.", "8.2-06 6.3-04", **UNTOUCHED)
bug("stream-equal-chunks-merged", "A chunk with the bytes of an earlier one is taken for a duplicate.", "6.3-04 6.2-01", **COINCIDENCE)
bug("stream-sixty-fifth-chunk-lost", "The map of received chunks has 64 bits, so the 65th chunk is taken for a duplicate.", "6.3-04 6.2-01", **LONG_LIST)
bug("stream-chunks-overwritten", "Of two chunks at the same time one is lost.", "6.3-04 6.2-01", **RACE, **PARALLEL)

# --- recipient: state of a party or a connection ------------------------------------------------------------------------

bug("thread-of-first-kept", "Replies carry the thread_id of the first thread of their recipient.", "4.1.1-04 4.1.1-05", **SECOND_ROUND)
bug("thread-times-must-rise", "A message that is older than the latest of its thread is refused.", "8.3-01 4.1.1-01 8.2-05", **SECOND_ROUND)
bug("hello-repeated-version-rejected", "A HELLO that offers one version twice is rejected.", "13.5-02", **COINCIDENCE)
bug("hello-known-party-excused", "A party that negotiated once needs no HELLO on a further connection.", "002.3.3-02 002.A.7-01", **INDEX, **WS)
bug("refused-version-ends-negotiation", "A message with another v ends the negotiation of its connection.", "13.5-03 8.2-05", **UNTOUCHED, **WS)
bug("replies-name-latest", "Replies name the latest message of the connection, not the one they answer.", "16.1-13 2.3-05", **RACE, **WS)

# --- recipient: transports ----------------------------------------------------------------------------------------------

bug("ext-shadows-typ", "A member typ of ext replaces that of the message.", "4.1-72 8.7-02", **SPELLING)
bug("ws-ping-drops-fragments", "A ping between fragments drops those before it.", "002.5.2-03", **SPELLING, **WS)
bug("ws-thirty-third-fragment-refused", "Refuses a message of more than 32 fragments.", "002.5.2-03", **LONG_LIST, **WS)
bug("ws-fragments-shared", "All connections collect their fragments in one list.", "002.5.2-03", **INDEX, **WS)
bug("ws-busy-drops", "A message that arrives while another of its connection is processed is dropped.", "2.3-05", **RACE, **WS)
bug("tcp-short-read-taken", "Takes what one read returns for the whole frame.", "002.4.2-01 002.4.3-01 002.3.2-05", **SPELLING, **TCP)
bug("tcp-second-frame-dropped", "Of frames that arrive together only the first is read.", "002.4.2-01 002.4.3-01 2.3-05", **SPELLING, **TCP)
bug("tcp-maximum-shared", "The maximum of the latest handshake holds for all connections.", "002.3.2-05", **INDEX, **TCP)
bug("http-first-chunk-only", "Of a chunked body only the first chunk is read.", "002.6.1-01 8.2-05", **SPELLING, **HTTP)
bug("http-chunk-extension-refused", "Refuses chunk extensions.", "002.6.1-01 8.2-05", **SPELLING, **HTTP)
bug("http-chunked-end-unread", "Does not read the line after the last chunk, so the next request of the connection fails.", "002.6.1-01 8.2-05", **SECOND_ROUND, **HTTP)
bug("http-length-two-cases", "Knows Content-Length and content-length, and no other case.", "002.6.1-01 8.2-05", **SPELLING, **HTTP)

# --- relay: custody -----------------------------------------------------------------------------------------------------

bug("relay-equal-times-replaced", "Of two messages of a sender with one id time only the second is kept.", CUSTODY, **COINCIDENCE, **RELAY)
bug("relay-stored-by-id", "Stores by id, so that a message of another sender replaces the stored one.", CUSTODY + " 002.2-02", **COINCIDENCE, **RELAY)
bug("relay-equal-bodies-merged", "Of two messages of a sender with equal bodies only the first is kept.", CUSTODY, **COINCIDENCE, **RELAY)
bug("relay-to-sender-dropped", "A message that its sender addresses to itself is not kept.", CUSTODY, **COINCIDENCE, **RELAY)
bug("relay-thirty-third-lost", "Acknowledges a message when 32 wait for the recipient, and does not keep it.", CUSTODY + " 002.6.2-01", **LONG_LIST, **RELAY)
bug("relay-items-not-stored", "Does not keep items of a batch that are for others.", "4.5-03 8.3-18", **INDEX, **RELAY)
bug("relay-group-copy-once", "When one recipient of several polls a message, the others lose it.", CUSTODY, **UNTOUCHED, **RELAY)
bug("relay-pushed-copy-for-all", "When one recipient of several gets a message at once, the next ones do not.", CUSTODY, **UNTOUCHED, **RELAY)
bug("relay-forgery-removes", "A forgery removes the stored message with its id.", CUSTODY, **UNTOUCHED, **RELAY)
bug("relay-reused-id-replaces", "Other content under a used id replaces the stored message.", CUSTODY, **SECOND_ROUND, **RELAY)
bug("relay-repeat-renews-custody", "A repeat is kept for a whole ttl from then on.", "8.3-19", **SECOND_ROUND, **RELAY)
bug("relay-purge-head-only", "Expired messages behind one that lives are still offered.", "8.3-19", **COINCIDENCE, **RELAY)
bug("relay-purge-drops-before", "Removes with an expired message all that came before it.", CUSTODY, **UNTOUCHED, **RELAY)
bug("relay-box-overwritten", "Of two messages that arrive at the same time for one recipient one is lost.", CUSTODY, **RACE, **RELAY)

# --- relay: acknowledgement ---------------------------------------------------------------------------------------------

bug("relay-ack-same-millisecond", "An ACK removes all messages of the same id time.", CUSTODY, **COINCIDENCE, **RELAY)
bug("relay-ack-cumulative", "An ACK removes the earlier messages of the recipient too.", CUSTODY, **UNTOUCHED, **RELAY)
bug("relay-second-ack-pops", "An ACK for a message that is not kept any more removes the oldest one that waits.", CUSTODY, **SECOND_ROUND, **RELAY)
bug("relay-unmatched-ack-poisons", "A message is not kept if anyone acknowledged its id before it arrived.", CUSTODY, **UNTOUCHED, **RELAY)

# --- relay: polling -----------------------------------------------------------------------------------------------------

bug("poll-cursor-as-text", "Compares cursors as text, so that 10 comes before 9.", "002.6.2-05 002.6.2-01", **LONG_LIST, **RELAY)
bug("poll-one-left-unsaid", "has_more is false when exactly one message is left.", "002.6.2-01 002.6.2-04", **COINCIDENCE, **RELAY)
bug("poll-cursor-acknowledges", "A poll with a cursor removes what came before it.", "16.5-02", **UNTOUCHED, **RELAY)
bug("poll-cursor-of-removed", "The walk ends when the message of the cursor was acknowledged.", "002.6.2-01 002.6.2-04", **SECOND_ROUND, **RELAY)
bug("poll-page-before-expiry", "Expired messages count for the page, and a page of them ends the walk.", "002.6.2-01 002.6.2-04", **COINCIDENCE, **RELAY)
bug("poll-query-undecoded", "Does not decode the query.", "002.6.2-01", **SPELLING, **RELAY)
bug("http-principal-of-first-request", "All polls of a connection are for the party of its first request.", "002.6.2-01 16.5-02", profile="strict", **INDEX, **RELAY)
bug("relay-poll-drops-arrivals", "A message that arrives during a poll of its recipient is lost.", CUSTODY, **RACE, **RELAY)

# --- relay: connections -------------------------------------------------------------------------------------------------

bug("relay-backlog-cleared-on-connect", "What waits is forgotten when the recipient connects.", "16.5-02", **UNTOUCHED, **RELAY)
bug("relay-online-after-close", "A recipient that was connected once counts as connected.", "8.3-11", **SECOND_ROUND, **RELAY)
bug("relay-close-unregisters-all", "When one of two connections of a recipient ends, it counts as not connected.", "8.3-10", **UNTOUCHED, **RELAY)
bug("relay-tcp-not-online", "Recipients that are connected over TCP count as not connected.", "8.3-10", **INDEX, **RELAY)

SEQUENCES = set(MUTANTS) - BEFORE

//! The methods of a library behind an adapter, with their types (binding, section 10).

use crate::protocol::{Library, NamedShape, Signature};

const fn method(method: &'static str, params: &'static str, result: &'static str, note: &'static str) -> Signature {
    Signature { method, params, result, varies: false, note }
}

const fn varies(method: &'static str, params: &'static str, result: &'static str, note: &'static str) -> Signature {
    Signature { method, params, result, varies: true, note }
}

/// Everything that an author of an adapter has to know.
#[rustfmt::skip]
pub(super) const LIBRARY: Library = Library {
    conventions: "A CBOR value travels as its encoding, in hex: these bytes reach your library as they are, also if they are not \
        valid CBOR or not in deterministic encoding. Times are milliseconds since 1970. An unsigned integer above 2^53 - 1 is a decimal string, \
        and a string is accepted wherever the type says `Uint`. `code` is an error code of section 15.3.\n\n\
        A refusal of a message is a result with a `code`, not an error of JSON-RPC. The library needs no clock and no network: \
        `now` and the DID documents come with each call. Each `documents` replaces what earlier calls gave.",
    types: &[
        NamedShape { name: "Uint", shape: "integer | string", about: "An unsigned integer, as a number or as a decimal string." },
        NamedShape { name: "Keys", shape: "{ did: string, ed25519_seed: hex, x25519_private?: hex }", about: "The identity of a party. If `x25519_private` is absent, the key follows from the seed, as `amp-core/x25519_derive` computes it." },
        NamedShape { name: "Headers", shape: "{ v?: any, id?: hex, typ?: Uint, ts?: Uint, ttl?: Uint, from?: any, to?: any, reply_to?: hex, thread_id?: hex }", about: "Members of a message. The library fills in `v`, `id`, `ts` and `from` if they are absent; `to` is a string or a list of strings." },
        NamedShape { name: "Document", shape: "object", about: "A DID document, as JSON." },
        NamedShape { name: "Accepted", shape: "{ outcome: \"accept\", headers?: Headers, body?: hex, encrypted?: boolean, signer?: string }", about: "The message is accepted. `body` is the decrypted body as CBOR, `signer` the id of the key that verified the signature." },
        NamedShape { name: "Rejected", shape: "{ outcome: \"reject\", code: integer, stage?: string }", about: "The message is refused. `stage` is a word of your own for the check that failed." },
        NamedShape { name: "Cached", shape: "{ outcome: \"cached\", replies: hex[] }", about: "A repeated message; the replies are those to the first one." },
        NamedShape { name: "Typed", shape: "{ typ: integer, body: hex }", about: "A message that is to be sent: its type and its body." },
    ],
    methods: &[
        method("amp-core/describe", "{}", "{ name: string, version: string, claims: string[], features: string[], versions: any[], max_clock_skew_ms: integer }", "`claims` are levels (`core`, `full`), `features` the words of `proofmark list --protocol amp-core --what features`."),
        method("amp-core/public_key", "{ seed: hex }", "{ public_key: hex }", "Ed25519: seeds and public keys have 32 bytes, signatures 64."),
        method("amp-core/x25519_public", "{ private_key: hex }", "{ public_key: hex }", ""),
        method("amp-core/x25519_derive", "{ ed25519_seed: hex }", "{ private_key: hex, public_key: hex }", "The private key is returned clamped."),
        method("amp-core/encode_deterministic", "{ cbor: hex }", "{ cbor: hex } | { code: integer }", "The input is any CBOR. `code` stands for bytes that are not one item, and for a map that has a key twice. Several baseline checks need this method."),
        method("amp-core/sig_input", "{ message: hex } | { headers: Headers, body?: hex }", "{ sig_input: hex } | { code: integer }", "With `headers`, `body` is the body as CBOR [default: null]."),
        method("amp-core/sign", "{ seed: hex, data: hex }", "{ sig: hex }", ""),
        method("amp-core/verify", "{ public_key: hex, data: hex, sig: hex }", "{ valid: boolean }", "A key or signature of another length may be the error -32602."),
        varies("amp-core/make_id", "{ ts: Uint, random?: hex, count?: integer }", "{ ids: hex[] }", "A message id has 16 bytes. `random` is its random part, 8 bytes; without it the library draws one for each id. `count` is the number of ids [default: 1]."),
        method("amp-core/build_plain", "{ sender: Keys, headers: Headers, body?: hex, ext?: hex }", "{ message: hex, sig_input?: hex }", "`ext` is a CBOR map."),
        varies("amp-core/build_encrypted", "{ sender: Keys, recipient_document: Document, headers: Headers, body?: hex, nonce?: hex }", "{ message: hex, sig_input?: hex, plaintext?: hex, nonce?: hex, ciphertext?: hex } | { code: integer }", ""),
        method("amp-core/box_open", "{ private_key: hex, public_key: hex, nonce: hex, ciphertext: hex }", "{ plaintext: hex } | { code: integer }", ""),
        method("amp-core/receive", "{ self: Keys, message: hex, now: Uint, documents: Document[], trusted_relays?: string[], original?: hex }", "Accepted | Rejected", "Keeps nothing from call to call. `original` is the message that this one answers."),
        method("amp-core/select_key", "{ document: Document, did: string, purpose: \"signature\" | \"agreement\" }", "{ public_key: hex, method?: string } | { code: integer }", ""),
        method("amp-core/node_open", "{ self: Keys, documents: Document[], trusted_relays: string[], now: Uint, supported_versions: string[], options?: object }", "{ node: string }", "`options` may hold `max_clock_skew_ms`, `ack_timeout_ms`, `stream_timeout_ms`, `require_hello` (boolean) and `previous_x25519_private` (list of hex)."),
        varies("amp-core/node_receive", "{ node: string, message: hex, now: Uint, peer?: string }", "{ outcome: Accepted | Rejected | Cached, replies: hex[], effects: integer }", "`effects` counts how often the application of the node has run so far."),
        varies("amp-core/node_send", "{ node: string, to: string | string[], typ: integer, body?: hex, ttl: integer, now: Uint, encrypt?: boolean }", "{ message: hex }", ""),
        varies("amp-core/node_tick", "{ node: string, now: Uint }", "{ sent: hex[], failed: hex[] }", "`sent` are the messages that are sent again, `failed` the ids of those that are given up."),
        method("amp-core/node_close", "{ node: string }", "{}", ""),
        method("amp-core/validate_ack", "{ ack: hex, original: hex, documents: Document[], trusted_relays: string[], now: Uint }", "{ valid: true } | { valid: false, code: integer, action: string }", ""),
        method("amp-core/retry_delay", "{ attempt: integer, random?: number, last?: { code: integer, retry?: boolean }, ttl_left_ms?: integer }", "{ wait_ms: integer } | { stop: true }", "`attempt` counts from 1. `random` is the jitter, 0 to 0.5. `last` is the error that was received last; without `retry` its code decides, by the tables of section 15.3. The attempts stop if the wait is longer than `ttl_left_ms`."),
        method("amp-core/error_info", "{ code: integer }", "{ name: string, category: string, retry: boolean } | { unknown: true }", ""),
        varies("amp-core/error_build", "{ sender: Keys, reply_to: hex, to: string, code: integer, now: Uint, details?: hex }", "{ message: hex }", ""),
        method("amp-core/type_info", "{ typ: integer }", "{ name: string } | { unknown: true }", "Names are spelled as in section 4.3, such as `PROC_OK`."),
        method("amp-core/type_code", "{ name: string }", "{ typ: integer } | { unknown: true }", ""),
        method("amp-core/major", "{ version: string }", "{ major: integer } | { undefined: true }", ""),
        method("amp-core/select_version", "{ supported: string[], offered: string[] }", "{ selected: string } | { rejected: true }", ""),
        method("amp-core/negotiation_open", "{ role: \"initiator\" | \"responder\", supported: string[] }", "{ negotiation: string, state: string, send?: any }", "`state` is a state of section 13.5."),
        method("amp-core/negotiation_event", "{ negotiation: string, event: \"send_hello\" | \"hello\" | \"hello_ack\" | \"hello_reject\" | \"message\", data?: hex }", "{ state: string, send?: { typ: integer, v: any, body: hex }, error?: integer }", "`data` is the body that arrives; with the event `message` it is the `v` of the message."),
        method("amp-core/stream_open", "{ sender: string, start: hex }", "{ stream: string } | { code: integer }", ""),
        method("amp-core/stream_chunk", "{ stream: string, index: integer, data: hex }", "{ state: string, received: integer } | { code: integer }", "`received` counts the chunks that are there."),
        varies("amp-core/stream_end", "{ stream: string, hash: any }", "{ state: string, complete: boolean, verified: boolean, data?: hex, ack?: hex, code?: integer } | { code: integer }", "`ack` is the body of the ACK that is sent."),
        method("amp-core/stream_sender_open", "{ stream_id: string, data: hex, chunk_size: integer, filename: string, content_type: string }", "{ stream: string, messages: Typed[] }", ""),
        method("amp-core/stream_sender_event", "{ stream: string, event: \"ack\" | \"error\" | \"timeout\", data?: hex }", "{ state: string, failed: boolean }", ""),
        method("amp-core/batch_split", "{ body: hex }", "{ items: hex[] } | { code: integer }", ""),
        method("amp-core/frame_encode", "{ type: integer, payload: hex }", "{ frame: hex }", ""),
        method("amp-core/frame_decode", "{ data: hex, max_size?: integer }", "{ frames: { type: integer, payload: hex }[], rest: hex } | { code: integer }", "`max_size` is the largest payload [default: 16 MiB]; a larger one is refused as soon as its length is known. `rest` is the beginning of a frame that is not complete yet."),
        method("amp-core/wrapper_decode", "{ kind: \"poll\" | \"forward\" | \"commit\" | \"webhook\", cbor: hex }", "{ value: hex } | { code: integer }", ""),
    ],
    errors: &[
        (-32001, "unknown handle: a node, negotiation or stream that was not opened or is closed"),
        (-32002, "the action is not possible in this state"),
        (-32603, "the library failed; counts as a crash"),
    ],
    minimal: &["amp-core/describe", "amp-core/sig_input", "amp-core/sign", "amp-core/build_plain", "amp-core/build_encrypted", "amp-core/receive"],
    minimal_because: "These decide most requirements of sections 4 and 8 and of appendix A.",
    conversation: include_str!("examples.jsonl"),
};

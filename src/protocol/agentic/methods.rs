//! The methods of a library behind an adapter, with their types (binding, section 12).

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
    conventions: "`json_hex` is the UTF-8 text of one JSON value, in hex, exactly as proofmark wrote it: parse these bytes with your library, \
        not with the JSON reader of the adapter, since duplicate names, spellings of numbers and invalid UTF-8 are part of the test. \
        Packages, facts, bundles and sessions in results are JSON texts in hex as well.\n\n\
        Each case works in a store of its own, which `agentic/open` makes. `now` is an RFC 3339 timestamp; without it the store \
        uses the clock of the machine.\n\n\
        An invalid package given to `agentic/validate_package` is a result, `{ \"valid\": false, … }`; text that is not JSON is the \
        error -32009.",
    types: &[
        NamedShape { name: "Problem", shape: "{ pointer: string, reason: string }", about: "A violation: a JSON Pointer to its place, and a reason for people." },
        NamedShape { name: "Status", shape: "string", about: "A review status of the specification, such as `awaiting_review`." },
    ],
    methods: &[
        method("agentic/hello", "{}", "{ name: string, version: string, level: string, methods: string[] }", "`level` is the highest level that the library claims: `L0` to `L3`."),
        method("agentic/canonicalize", "{ json_hex: hex }", "{ canonical_hex: hex }", ""),
        method("agentic/content_hash", "{ json_hex: hex }", "{ hash: string }", "64 hexadecimal digits; a prefix such as `sha256:` is allowed."),
        method("agentic/verify", "{ json_hex: hex, hash: string }", "{ match: boolean }", ""),
        method("agentic/validate_package", "{ json_hex: hex }", "{ valid: boolean, errors: Problem[] }", ""),
        method("agentic/validate_fact", "{ json_hex: hex }", "{ valid: boolean, errors: Problem[] }", ""),
        method("agentic/roundtrip_package", "{ json_hex: hex }", "{ json_hex: hex }", "The package after it was read into the type of the library and written again."),
        method("agentic/roundtrip_fact", "{ json_hex: hex }", "{ json_hex: hex }", ""),
        method("agentic/transition_allowed", "{ from: Status, to: Status }", "{ allowed: boolean }", ""),
        method("agentic/open", "{ now?: string }", "{ store: string }", "An empty store; its name is yours to choose."),
        method("agentic/close", "{ store: string }", "{}", ""),
        method("agentic/set_now", "{ store: string, now: string }", "{}", ""),
        method("agentic/create_project", "{ store: string, project_id: string, name?: string }", "{}", ""),
        method("agentic/archive_project", "{ store: string, project_id: string }", "{ archived_at: string }", ""),
        method("agentic/restore_project", "{ store: string, project_id: string }", "{ archived_at: null }", ""),
        method("agentic/deposit", "{ store: string, project_id: string, json_hex: hex }", "{ package_hex: hex, hash: string, created: boolean }", "`created` is false if the package was there before."),
        method("agentic/pull_latest", "{ store: string, project_id: string, limit?: integer }", "{ packages: hex[] }", ""),
        method("agentic/pull_specific", "{ store: string, package_id: string }", "{ package_hex: hex | null, hash: string | null }", "`package_hex` is null if the package is unknown."),
        method("agentic/pull_relevant", "{ store: string, project_id: string, query: string, limit?: integer }", "{ packages: hex[] }", ""),
        method("agentic/orient", "{ store: string, project_id: string, window_days?: integer }", "{ bundle_hex: hex }", ""),
        method("agentic/orchestrate", "{ store: string, project_id?: string, focus?: string, snippets?: integer }", "{ bundle_hex: hex }", ""),
        varies("agentic/assert_fact", "{ store: string, json_hex: hex }", "{ fact_hex: hex }", "`json_hex` holds the inputs of the specification, `project_id` included."),
        method("agentic/invalidate_fact", "{ store: string, project_id: string, subject: string, predicate: string, object?: any }", "{ count: integer }", ""),
        varies("agentic/query_facts", "{ store: string, project_id: string, subject?: string, predicate?: string, as_of?: string, include_ended?: boolean }", "{ facts: hex[] }", ""),
        method("agentic/flag_for_review", "{ store: string, package_id: string, review_type: string, note?: string }", "{ package_hex: hex, hash: string }", ""),
        method("agentic/transition", "{ store: string, package_id: string, status: Status }", "{ package_hex: hex, hash: string }", ""),
        method("agentic/awaiting_review", "{ store: string, project_id: string }", "{ packages: hex[] }", ""),
        method("agentic/export", "{ store: string, project_id: string }", "{ ndjson_hex: hex }", ""),
        method("agentic/import", "{ store: string, ndjson_hex: hex }", "{ packages: integer, facts: integer, sessions: integer, projects?: integer }", "Each is the number of objects that were imported."),
        method("agentic/tamper", "{ store: string, package_id: string, json_hex: hex }", "{}", "Replaces the stored package and not its stored hash, so that proofmark can see whether the hash is verified on read."),
        method("agentic/list_sessions", "{ store: string, project_id: string }", "{ sessions: hex[] }", ""),
    ],
    errors: &[
        (-32001, "`invalid_schema`"),
        (-32002, "`duplicate_package_id`"),
        (-32003, "`project_archived`"),
        (-32004, "`unauthorized`"),
        (-32005, "`package_not_found`"),
        (-32006, "`search_not_supported` or `not_implemented`"),
        (-32007, "`invalid_transition`"),
        (-32008, "`hash_mismatch`, found when a package is read"),
        (-32009, "`not_canonicalizable`: the input is not JSON, or not I-JSON"),
        (-32010, "`fact_conflict`: an assertion is refused, for example because it is dated back"),
    ],
    minimal: &["agentic/hello", "agentic/canonicalize", "agentic/content_hash", "agentic/verify", "agentic/validate_package",
        "agentic/validate_fact", "agentic/roundtrip_package", "agentic/roundtrip_fact"],
    minimal_because: "A library without storage has these, and is judged by them alone. `data.code` of an error holds the name of the error.",
    conversation: include_str!("examples.jsonl"),
};

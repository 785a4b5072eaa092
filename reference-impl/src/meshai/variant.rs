//! The other reading of each erratum: what [`Variant::Other`](crate::Variant::Other) does where
//! [`Variant::Own`](crate::Variant::Own) keeps to the ruling.
//!
//! Both are correct. A check that passes one and fails the other tests a taste, not the specification; so the other
//! variant must pass every check of the lenient profile. Each choice is marked in the source by `// Other, Enn:`.
//!
//! | ruling | the own variant | the other one |
//! |---|---|---|
//! | E01 | both names are served, and replies mirror the request | only `AIP/1.0` is served and sent |
//! | E02 | requests need every member of the structure block; replies have them all | they need `protocol`, `message`, `type` and `payload`; replies have no destination |
//! | E06 | no member is null | absent members of replies are null |
//! | E11 | timestamps end in `Z` | in `+00:00`, with microseconds |
//! | E13 | `correlation_id` of a reply is the id of the request | its tracking id |
//! | E14 | errors are correlated | not over HTTP |
//! | E15 | replies have all headers | only the correlation |
//! | E16, E17 | priorities from 1 to 10, positive timeouts | any |
//! | E19 | the payload names the capability | if it does not, the destination does |
//! | E24 | success | partial |
//! | E26 | an event gets a response | 204 |
//! | E29 | the list is `result.agents` | the result is the list, with `identity` |
//! | E30 | all capabilities | any |
//! | E33 | nobody matches: an empty list | `CAPABILITY_NOT_FOUND` |
//! | E36 | the same credentials replace a registration | an id is taken once |
//! | E37, E41, E89 | all members of an identity, a closed list of frameworks, `registry` is reserved | id, name and framework |
//! | E42 | a lone agent refuses messages for others | it serves them |
//! | E43 | `accepted` | `can_execute`; a refusal is `CAPABILITY_NOT_FOUND` |
//! | E45 | the report is an envelope | an object with `parent_task_id` |
//! | E47 | a context is found by its session as well | only by its id |
//! | E50 | a denied access is `AUTHENTICATION_FAILED` | `CONTEXT_NOT_FOUND` |
//! | E52 | writing private memory of others is refused | ignored |
//! | E54 | an event sets the named keys | it replaces the memory |
//! | E55 | the later value wins | the first |
//! | E57 | a context without parent is its own root | it has no lineage |
//! | E58, E97 | a past expiry is refused | the context is gone at once |
//! | E59 | context ids are UUIDs | not |
//! | E63 | the status matches the code | 200; credentials and bodies that are not JSON are refused by a bare status |
//! | E65 | malformed messages are `INVALID_SCHEMA` | `INVALID_MESSAGE` |
//! | E69 | credentials in the message count always | only without those of HTTP |
//! | E70, E75 | tokens expire at once and are for one agent | after a minute, if ever, and for any |
//! | E71 | base64 | hexadecimal |
//! | E72 | a bad signature is `AUTHENTICATION_FAILED` | `INVALID_SIGNATURE` |
//! | E85 | `max_input_length` is enforced | it is a promise of the caller |
//! | E86 | newer MINOR versions are served | refused |
//! | E88 | health is a JSON object | a text |

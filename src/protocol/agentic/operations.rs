//! The operations of section 8 and their routes of section 9.1, and what E14, E33, E37, E69 and E71 add to make the
//! rest of the protocol reachable.

use super::super::{BodyPlan, Input, Method, Operation, Param, Route};

const PROJECT: Input = Input { name: "project", required: false, default: Some("project") };
const STORE: Input = Input { name: "store", required: false, default: Some("store") };
const LIMIT: Input = optional("limit");

const fn optional(name: &'static str) -> Input {
    Input { name, required: false, default: None }
}

const fn required(name: &'static str) -> Input {
    Input { name, required: true, default: None }
}

const fn get(path: &'static str, query: &'static [(&'static str, &'static str)]) -> Option<Route> {
    Some(Route { method: "GET", path, query, body: BodyPlan::None })
}

const OK: &[(u16, u16)] = &[(200, 200)];
const OK_OR_CREATED: &[(u16, u16)] = &[(200, 201)];
const ANY_SUCCESS: &[(u16, u16)] = &[(200, 299)];

/// Every operation.
pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        name: "describe",
        summary: "Reads the conformance descriptor (section 11.5).",
        level: "L0",
        inputs: &[],
        route: get("/v1/conformance", &[]),
        method: Some(Method { name: "agentic/hello", params: &[] }),
        accepted: OK,
    },
    Operation {
        name: "pull-latest",
        summary: "Lists the newest packages of a project (section 8.2).",
        level: "L0",
        inputs: &[PROJECT, LIMIT, STORE],
        route: get("/v1/projects/{project}/packages", &[("mode", "latest"), ("limit", "{limit}")]),
        method: Some(Method {
            name: "agentic/pull_latest",
            params: &[
                ("store", Param::Input("store")),
                ("project_id", Param::Input("project")),
                ("limit", Param::Input("limit")),
            ],
        }),
        accepted: OK,
    },
    Operation {
        name: "pull-specific",
        summary: "Reads one package by its id (section 8.2).",
        level: "L0",
        inputs: &[required("package_id"), STORE],
        route: get("/v1/packages/{package_id}", &[]),
        method: Some(Method {
            name: "agentic/pull_specific",
            params: &[("store", Param::Input("store")), ("package_id", Param::Input("package_id"))],
        }),
        accepted: OK,
    },
    Operation {
        name: "pull-relevant",
        summary: "Lists the packages of a project that are related to a query (section 8.2).",
        level: "L0",
        inputs: &[PROJECT, optional("query"), LIMIT, STORE],
        route: get(
            "/v1/projects/{project}/packages",
            &[("mode", "relevant"), ("query", "{query}"), ("limit", "{limit}")],
        ),
        method: Some(Method {
            name: "agentic/pull_relevant",
            params: &[
                ("store", Param::Input("store")),
                ("project_id", Param::Input("project")),
                ("query", Param::Input("query")),
                ("limit", Param::Input("limit")),
            ],
        }),
        accepted: OK,
    },
    Operation {
        name: "orient",
        summary: "Reads the bundle for a new session (section 8.3).",
        level: "L0",
        inputs: &[PROJECT, optional("window_days"), STORE],
        route: get("/v1/projects/{project}/orient", &[("window_days", "{window_days}")]),
        method: Some(Method {
            name: "agentic/orient",
            params: &[
                ("store", Param::Input("store")),
                ("project_id", Param::Input("project")),
                ("window_days", Param::Input("window_days")),
            ],
        }),
        accepted: OK,
    },
    Operation {
        name: "orchestrate",
        summary: "Reads a digest across packages (section 8.4). No level demands it.",
        level: "",
        inputs: &[optional("project"), optional("focus"), optional("snippets"), STORE],
        route: get("/v1/orchestrate", &[("project", "{project}"), ("focus", "{focus}"), ("snippets", "{snippets}")]),
        method: Some(Method {
            name: "agentic/orchestrate",
            params: &[
                ("store", Param::Input("store")),
                ("project_id", Param::Input("project")),
                ("focus", Param::Input("focus")),
                ("snippets", Param::Input("snippets")),
            ],
        }),
        accepted: OK,
    },
    Operation {
        name: "deposit",
        summary: "Writes a new package (section 8.1).",
        level: "L1",
        inputs: &[PROJECT, required("package"), STORE],
        route: Some(Route {
            method: "POST",
            path: "/v1/projects/{project}/packages",
            query: &[],
            body: BodyPlan::Input("package"),
        }),
        method: Some(Method {
            name: "agentic/deposit",
            params: &[
                ("store", Param::Input("store")),
                ("project_id", Param::Input("project")),
                ("json_hex", Param::JsonHex("package")),
            ],
        }),
        accepted: OK_OR_CREATED,
    },
    Operation {
        name: "query-facts",
        summary: "Lists facts of a project (E37).",
        level: "L0",
        inputs: &[
            PROJECT,
            optional("subject"),
            optional("predicate"),
            optional("as_of"),
            optional("include_ended"),
            LIMIT,
            STORE,
        ],
        route: get(
            "/v1/projects/{project}/facts",
            &[
                ("subject", "{subject}"),
                ("predicate", "{predicate}"),
                ("as_of", "{as_of}"),
                ("include_ended", "{include_ended}"),
                ("limit", "{limit}"),
            ],
        ),
        method: Some(Method {
            name: "agentic/query_facts",
            params: &[
                ("store", Param::Input("store")),
                ("project_id", Param::Input("project")),
                ("subject", Param::Input("subject")),
                ("predicate", Param::Input("predicate")),
                ("as_of", Param::Input("as_of")),
                ("include_ended", Param::Input("include_ended")),
            ],
        }),
        accepted: OK,
    },
    Operation {
        name: "assert-fact",
        summary: "Asserts a fact, which supersedes the current one of its subject and predicate (section 8.6).",
        level: "L2",
        inputs: &[PROJECT, required("fact"), STORE],
        route: Some(Route {
            method: "POST",
            path: "/v1/projects/{project}/facts",
            query: &[],
            body: BodyPlan::Input("fact"),
        }),
        method: Some(Method {
            name: "agentic/assert_fact",
            params: &[
                ("store", Param::Input("store")),
                ("json_hex", Param::JsonHexWith { input: "fact", member: "project_id", value: "project" }),
            ],
        }),
        accepted: OK_OR_CREATED,
    },
    Operation {
        name: "invalidate-fact",
        summary: "Ends the current facts of a subject and predicate (section 8.7).",
        level: "L2",
        inputs: &[PROJECT, optional("subject"), optional("predicate"), optional("object"), STORE],
        route: Some(Route {
            method: "DELETE",
            path: "/v1/projects/{project}/facts",
            query: &[("subject", "{subject}"), ("predicate", "{predicate}"), ("object", "{object}")],
            body: BodyPlan::None,
        }),
        method: Some(Method {
            name: "agentic/invalidate_fact",
            params: &[
                ("store", Param::Input("store")),
                ("project_id", Param::Input("project")),
                ("subject", Param::Input("subject")),
                ("predicate", Param::Input("predicate")),
                ("object", Param::Input("object")),
            ],
        }),
        accepted: OK,
    },
    Operation {
        name: "flag",
        summary: "Asks for the review of a package (section 8.5).",
        level: "L3",
        inputs: &[required("package_id"), optional("review_type"), optional("note"), STORE],
        route: Some(Route {
            method: "POST",
            path: "/v1/packages/{package_id}/flag",
            query: &[],
            body: BodyPlan::Object(&[("review_type", "review_type"), ("note", "note")]),
        }),
        method: Some(Method {
            name: "agentic/flag_for_review",
            params: &[
                ("store", Param::Input("store")),
                ("package_id", Param::Input("package_id")),
                ("review_type", Param::Input("review_type")),
                ("note", Param::Input("note")),
            ],
        }),
        accepted: OK,
    },
    Operation {
        name: "transition",
        summary: "Asks for another status of a package, as a reviewer decides (section 5.3, E14).",
        level: "L3",
        inputs: &[required("package_id"), optional("status"), STORE],
        route: Some(Route {
            method: "PATCH",
            path: "/v1/packages/{package_id}/status",
            query: &[],
            body: BodyPlan::Object(&[("status", "status")]),
        }),
        method: Some(Method {
            name: "agentic/transition",
            params: &[
                ("store", Param::Input("store")),
                ("package_id", Param::Input("package_id")),
                ("status", Param::Input("status")),
            ],
        }),
        accepted: OK,
    },
    Operation {
        name: "awaiting",
        summary: "Lists the packages of a project that await review, by their status (section 11.4, E19).",
        level: "L3",
        inputs: &[PROJECT, LIMIT, STORE],
        route: get("/v1/projects/{project}/packages", &[("status", "awaiting_review"), ("limit", "{limit}")]),
        method: Some(Method {
            name: "agentic/awaiting_review",
            params: &[("store", Param::Input("store")), ("project_id", Param::Input("project"))],
        }),
        accepted: OK,
    },
    Operation {
        name: "review-queue",
        summary: "Lists the packages that await review, where there is a list of them (E19).",
        level: "L3",
        inputs: &[PROJECT, LIMIT],
        route: get("/v1/projects/{project}/review-queue", &[("limit", "{limit}")]),
        method: None,
        accepted: OK,
    },
    Operation {
        name: "project-create",
        summary: "Makes a project (E33).",
        level: "L1",
        inputs: &[PROJECT, optional("name"), STORE],
        route: Some(Route {
            method: "POST",
            path: "/v1/projects",
            query: &[],
            body: BodyPlan::Object(&[("project_id", "project"), ("name", "name")]),
        }),
        method: Some(Method {
            name: "agentic/create_project",
            params: &[
                ("store", Param::Input("store")),
                ("project_id", Param::Input("project")),
                ("name", Param::Input("name")),
            ],
        }),
        // 409 says that the project is there, which is all that is wanted.
        accepted: &[(200, 299), (409, 409)],
    },
    Operation {
        name: "project-get",
        summary: "Reads a project (E33).",
        level: "L0",
        inputs: &[PROJECT],
        route: get("/v1/projects/{project}", &[]),
        method: None,
        accepted: ANY_SUCCESS,
    },
    Operation {
        name: "project-archive",
        summary: "Archives a project (E33).",
        level: "L1",
        inputs: &[PROJECT, STORE],
        route: Some(Route { method: "POST", path: "/v1/projects/{project}/archive", query: &[], body: BodyPlan::None }),
        method: Some(Method {
            name: "agentic/archive_project",
            params: &[("store", Param::Input("store")), ("project_id", Param::Input("project"))],
        }),
        accepted: ANY_SUCCESS,
    },
    Operation {
        name: "project-restore",
        summary: "Restores an archived project (E33).",
        level: "L1",
        inputs: &[PROJECT, STORE],
        route: Some(Route { method: "POST", path: "/v1/projects/{project}/restore", query: &[], body: BodyPlan::None }),
        method: Some(Method {
            name: "agentic/restore_project",
            params: &[("store", Param::Input("store")), ("project_id", Param::Input("project"))],
        }),
        accepted: ANY_SUCCESS,
    },
    Operation {
        name: "export",
        summary: "Writes a project to the wire formats, as NDJSON (E69).",
        level: "L0",
        inputs: &[PROJECT, STORE],
        route: get("/v1/projects/{project}/export", &[]),
        method: Some(Method {
            name: "agentic/export",
            params: &[("store", Param::Input("store")), ("project_id", Param::Input("project"))],
        }),
        accepted: ANY_SUCCESS,
    },
    Operation {
        name: "import",
        summary: "Reads the wire formats back, as NDJSON (E69).",
        level: "L1",
        inputs: &[required("records"), STORE],
        route: Some(Route {
            method: "POST",
            path: "/v1/import",
            query: &[],
            body: BodyPlan::Text("records", "application/x-ndjson"),
        }),
        method: Some(Method {
            name: "agentic/import",
            params: &[("store", Param::Input("store")), ("ndjson_hex", Param::TextHex("records"))],
        }),
        accepted: ANY_SUCCESS,
    },
    Operation {
        name: "list-sessions",
        summary: "Lists the sessions of a project (E71).",
        level: "L0",
        inputs: &[PROJECT, STORE],
        route: get("/v1/projects/{project}/sessions", &[]),
        method: Some(Method {
            name: "agentic/list_sessions",
            params: &[("store", Param::Input("store")), ("project_id", Param::Input("project"))],
        }),
        accepted: OK,
    },
    Operation {
        name: "open",
        summary: "Opens an empty store of a library.",
        level: "",
        inputs: &[optional("now")],
        route: None,
        method: Some(Method { name: "agentic/open", params: &[("now", Param::Input("now"))] }),
        accepted: OK,
    },
    Operation {
        name: "close",
        summary: "Closes a store of a library.",
        level: "",
        inputs: &[STORE],
        route: None,
        method: Some(Method { name: "agentic/close", params: &[("store", Param::Input("store"))] }),
        accepted: OK,
    },
    Operation {
        name: "set-now",
        summary: "Sets the clock of a store of a library.",
        level: "",
        inputs: &[required("now"), STORE],
        route: None,
        method: Some(Method {
            name: "agentic/set_now",
            params: &[("store", Param::Input("store")), ("now", Param::Input("now"))],
        }),
        accepted: OK,
    },
    Operation {
        name: "canonicalize",
        summary: "Writes a JSON text in canonical form (appendix A).",
        level: "",
        inputs: &[required("json")],
        route: None,
        method: Some(Method { name: "agentic/canonicalize", params: &[("json_hex", Param::TextHex("json"))] }),
        accepted: OK,
    },
    Operation {
        name: "content-hash",
        summary: "Computes the content hash of a package (section 6.6).",
        level: "",
        inputs: &[required("json")],
        route: None,
        method: Some(Method { name: "agentic/content_hash", params: &[("json_hex", Param::TextHex("json"))] }),
        accepted: OK,
    },
    Operation {
        name: "verify",
        summary: "Compares a package with a hash (section 6.6).",
        level: "",
        inputs: &[required("package"), required("hash")],
        route: None,
        method: Some(Method {
            name: "agentic/verify",
            params: &[("json_hex", Param::JsonHex("package")), ("hash", Param::Input("hash"))],
        }),
        accepted: OK,
    },
    Operation {
        name: "validate-package",
        summary: "Checks a package against section 6.",
        level: "",
        inputs: &[required("package")],
        route: None,
        method: Some(Method { name: "agentic/validate_package", params: &[("json_hex", Param::JsonHex("package"))] }),
        accepted: OK,
    },
    Operation {
        name: "validate-fact",
        summary: "Checks a fact against section 7.",
        level: "",
        inputs: &[required("fact")],
        route: None,
        method: Some(Method { name: "agentic/validate_fact", params: &[("json_hex", Param::JsonHex("fact"))] }),
        accepted: OK,
    },
    Operation {
        name: "transition-allowed",
        summary: "Says whether a package may go from one status to another (section 5.3).",
        level: "",
        inputs: &[required("from"), required("to")],
        route: None,
        method: Some(Method {
            name: "agentic/transition_allowed",
            params: &[("from", Param::Input("from")), ("to", Param::Input("to"))],
        }),
        accepted: OK,
    },
    Operation {
        name: "roundtrip-package",
        summary: "Parses a package into the library's own type and writes it again.",
        level: "",
        inputs: &[required("package")],
        route: None,
        method: Some(Method { name: "agentic/roundtrip_package", params: &[("json_hex", Param::JsonHex("package"))] }),
        accepted: OK,
    },
    Operation {
        name: "roundtrip-fact",
        summary: "Parses a fact into the library's own type and writes it again.",
        level: "",
        inputs: &[required("fact")],
        route: None,
        method: Some(Method { name: "agentic/roundtrip_fact", params: &[("json_hex", Param::JsonHex("fact"))] }),
        accepted: OK,
    },
    Operation {
        name: "tamper",
        summary: "Replaces a stored package and leaves its stored hash alone (E74).",
        level: "",
        inputs: &[required("package_id"), required("package"), STORE],
        route: None,
        method: Some(Method {
            name: "agentic/tamper",
            params: &[
                ("store", Param::Input("store")),
                ("package_id", Param::Input("package_id")),
                ("json_hex", Param::JsonHex("package")),
            ],
        }),
        accepted: OK,
    },
];

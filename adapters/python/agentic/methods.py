"""The methods of the adapter: params to calls of the library, answers and refusals back to JSON-RPC.

Replace this file to test your own library.
"""

import functools
import itertools

import adapter

from . import canonical, errors, jsontext, validate
from .instants import instant
from .store import Store, parse_record, transition_allowed

NAME, VERSION, LEVEL = "agentic-python", "0.1.0", "L3"

# The JSON-RPC code of each refusal. The name of section 8 is sent with the number.
CODES = {
    errors.InvalidSchema: -32001,
    errors.DuplicatePackageId: -32002,
    errors.ProjectArchived: -32003,
    errors.NotFound: -32005,
    errors.InvalidTransition: -32007,
    errors.HashMismatch: -32008,
    errors.NotCanonicalizable: -32009,
    errors.FactConflict: -32010,
}

stores = {}
store_names = (f"store-{number}" for number in itertools.count(1))


# --- Params and results -------------------------------------------------------------------------------------------------


def json_of(params):
    """The value in json_hex. The library parses the bytes, so that its parser is tested."""
    return jsontext.read(adapter.unhex(params, "json_hex"))


def store_of(params):
    name = adapter.text(params, "store")
    if name not in stores:
        raise adapter.Failure(adapter.INVALID_PARAMS, f"unknown store {name}")
    return stores[name]


def time_of(params, name):
    value = adapter.optional_text(params, name)
    if value is not None and instant(value) is None:
        raise adapter.Failure(adapter.INVALID_PARAMS, f"{name} must be an RFC 3339 time that ends in Z")
    return value


def hexed(value):
    return jsontext.wire(value).hex()


def with_hash(stored):
    return {"package_hex": hexed(stored.package), "hash": stored.hash}


def listed(name, values):
    return {name: [hexed(value) for value in values]}


def verdict(wrong):
    return {"valid": not wrong, "errors": wrong}


# --- Functions ----------------------------------------------------------------------------------------------------------


def describe(params):
    return {"name": NAME, "version": VERSION, "protocols": ["agentic"], "operations": sorted(METHODS)}


def hello(params):
    return {"name": NAME, "version": VERSION, "level": LEVEL, "methods": sorted(METHODS)}


def canonicalize(params):
    return {"canonical_hex": canonical.canonicalize(json_of(params)).hex()}


def content_hash(params):
    return {"hash": canonical.content_hash(json_of(params))}


def verify(params):
    return {"match": canonical.verify(json_of(params), adapter.text(params, "hash"))}


def validate_package(params):
    return verdict(validate.package(json_of(params)))


def validate_fact(params):
    return verdict(validate.fact(json_of(params)))


def roundtrip_package(params):
    return {"json_hex": hexed(parse_record(adapter.unhex(params, "json_hex"), validate.package))}


def roundtrip_fact(params):
    return {"json_hex": hexed(parse_record(adapter.unhex(params, "json_hex"), validate.fact))}


def allowed(params):
    return {"allowed": transition_allowed(adapter.text(params, "from"), adapter.text(params, "to"))}


# --- The store ----------------------------------------------------------------------------------------------------------


def open_(params):
    now = time_of(params, "now")
    name = next(store_names)
    stores[name] = Store(now)
    return {"store": name}


def close(params):
    store_of(params)
    del stores[params["store"]]
    return {}


def set_now(params):
    now = time_of(params, "now")
    if now is None:
        raise adapter.Failure(adapter.INVALID_PARAMS, "now must be a string")
    store_of(params).clock.fixed = now
    return {}


def create_project(params):
    name = adapter.optional_text(params, "name")
    store_of(params).create_project(adapter.text(params, "project_id"), {} if name is None else {"name": name})
    return {}


def archive_project(params):
    return {"archived_at": store_of(params).archive_project(adapter.text(params, "project_id"))}


def restore_project(params):
    store_of(params).restore_project(adapter.text(params, "project_id"))
    return {"archived_at": None}


def deposit(params):
    stored, created = store_of(params).deposit(adapter.text(params, "project_id"), json_of(params))
    return {**with_hash(stored), "created": created}


def pull_latest(params):
    limit = adapter.optional_count(params, "limit")
    return listed("packages", store_of(params).pull_latest(adapter.text(params, "project_id"), limit))


def pull_specific(params):
    stored = store_of(params).pull_specific(adapter.text(params, "package_id"))
    return {"package_hex": None, "hash": None} if stored is None else with_hash(stored)


def pull_relevant(params):
    store, project_id = store_of(params), adapter.text(params, "project_id")
    query, limit = adapter.text(params, "query"), adapter.optional_count(params, "limit")
    return listed("packages", store.pull_relevant(project_id, query, limit))


def orient(params):
    days = adapter.optional_count(params, "window_days")
    return {"bundle_hex": hexed(store_of(params).orient(adapter.text(params, "project_id"), days))}


def orchestrate(params):
    project_id, focus = adapter.optional_text(params, "project_id"), adapter.optional_text(params, "focus")
    snippets = adapter.optional_count(params, "snippets", least=0)
    return {"bundle_hex": hexed(store_of(params).orchestrate(project_id, focus, snippets))}


def assert_fact(params):
    return {"fact_hex": hexed(store_of(params).assert_fact(json_of(params)))}


def invalidate_fact(params):
    subject, predicate = adapter.text(params, "subject"), adapter.text(params, "predicate")
    value = adapter.optional_text(params, "object")  # E49
    project_id = adapter.text(params, "project_id")
    return {"count": store_of(params).invalidate_fact(project_id, subject, predicate, value)}


def query_facts(params):
    facts = store_of(params).query_facts(
        adapter.text(params, "project_id"),
        subject=adapter.optional_text(params, "subject"),
        predicate=adapter.optional_text(params, "predicate"),
        as_of=time_of(params, "as_of"),
        include_ended=adapter.flag(params, "include_ended"),
    )
    return listed("facts", facts)


def flag_for_review(params):
    adapter.optional_text(params, "note")
    return with_hash(store_of(params).flag_for_review(adapter.text(params, "package_id"), params.get("review_type")))


def transition(params):
    return with_hash(store_of(params).transition(adapter.text(params, "package_id"), params.get("status")))


def awaiting_review(params):
    return listed("packages", store_of(params).awaiting_review(adapter.text(params, "project_id")))


def export(params):
    return {"ndjson_hex": store_of(params).export(adapter.text(params, "project_id")).hex()}


def import_(params):
    return store_of(params).import_(adapter.unhex(params, "ndjson_hex"))


def tamper(params):
    store_of(params).tamper(adapter.text(params, "package_id"), json_of(params))
    return {}


def list_sessions(params):
    return listed("sessions", store_of(params).list_sessions(adapter.text(params, "project_id")))


# Leave out unsupported methods: they are reported as not claimed. A made-up answer fails.
METHODS = {
    "describe": describe,
    "agentic/hello": hello,
    "agentic/canonicalize": canonicalize,
    "agentic/content_hash": content_hash,
    "agentic/verify": verify,
    "agentic/validate_package": validate_package,
    "agentic/validate_fact": validate_fact,
    "agentic/roundtrip_package": roundtrip_package,
    "agentic/roundtrip_fact": roundtrip_fact,
    "agentic/transition_allowed": allowed,
    "agentic/open": open_,
    "agentic/close": close,
    "agentic/set_now": set_now,
    "agentic/create_project": create_project,
    "agentic/archive_project": archive_project,
    "agentic/restore_project": restore_project,
    "agentic/deposit": deposit,
    "agentic/pull_latest": pull_latest,
    "agentic/pull_specific": pull_specific,
    "agentic/pull_relevant": pull_relevant,
    "agentic/orient": orient,
    "agentic/orchestrate": orchestrate,
    "agentic/assert_fact": assert_fact,
    "agentic/invalidate_fact": invalidate_fact,
    "agentic/query_facts": query_facts,
    "agentic/flag_for_review": flag_for_review,
    "agentic/transition": transition,
    "agentic/awaiting_review": awaiting_review,
    "agentic/export": export,
    "agentic/import": import_,
    "agentic/tamper": tamper,
    "agentic/list_sessions": list_sessions,
}


def _refusing(method):
    """The method, with the refusals of the library as errors of JSON-RPC."""

    @functools.wraps(method)
    def call(params):
        try:
            return method(params)
        except errors.Refusal as refusal:
            data = {"code": refusal.code}
            if refusal.pointer is not None:
                data["pointer"] = refusal.pointer
            raise adapter.Failure(CODES[type(refusal)], str(refusal), data) from None

    return call


def table():
    """The arguments of `adapter.serve`."""
    return {name: _refusing(method) for name, method in METHODS.items()}

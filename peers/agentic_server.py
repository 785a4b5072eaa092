#!/usr/bin/env python3
"""A second implementation of The Agentic Protocol v0.1 over HTTP, to find false positives of the harness.

It is correct, with any selected legal choices: where a ruling permits two behaviours, its default is not that of the
reference implementation. It can also have one selected bug.

    python3 peers/agentic_server.py --port 0 --port-file FILE [--choice NAME]... [--preset NAME] [--level L2]
    python3 peers/agentic_server.py --mutant NAME --port-file FILE
    python3 peers/agentic_server.py --list-choices | --list-mutants [--json]

Python 3.11, standard library only.
"""

import argparse
import gzip
import json
import os
import random
import re
import socket
import sys
import threading
import time
import traceback
from email.utils import formatdate
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote, unquote_plus, unquote_to_bytes

from agentic_mutants import MUTANTS
from agentic_options import CHOICES, resolve
from agentic_rules import JsonReader, Refusal, invalid
from agentic_store import Options, Store

MAX_BODY = 64 << 20
LEVELS = ("L0", "L1", "L2", "L3")


class Raw(str):
    """JSON text that is sent unchanged."""


class Answer:
    def __init__(self, status, body=None, headers=(), media="application/json", empty=False):
        self.status = status
        self.body = body
        self.headers = list(headers)
        self.media = media
        self.empty = empty  # no body


# --- JSON out ---------------------------------------------------------------------------------------------------------


def encode_json(o, value):
    """A body in the selected style."""
    if o.has("json-pretty"):
        return _encode(value, lambda v: json.dumps(v, indent=1, ensure_ascii=False)) + "\n"
    if o.has("json-ascii"):
        text = _encode(value, json.dumps)
        if len(text) > 1_000_000:  # too slow
            return text
        return re.sub(
            r"\\\\|\\u[0-9a-f]{4}", lambda f: f.group() if f.group() == "\\\\" else "\\u" + f.group()[2:].upper(), text
        )
    return _encode(value, lambda v: json.dumps(v, ensure_ascii=False, separators=(",", ":")))


def _encode(value, plain):
    if not _has_raw(value, 3):
        return plain(value)
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, list):
        return "[" + ", ".join(_encode(v, plain) for v in value) + "]"
    return "{" + ", ".join(plain(k) + ": " + _encode(v, plain) for k, v in value.items()) + "}"


def _has_raw(value, depth):
    if isinstance(value, Raw):
        return True
    if depth == 0:
        return False
    if isinstance(value, list):
        return any(_has_raw(v, depth - 1) for v in value)
    if isinstance(value, dict):
        return any(_has_raw(v, depth - 1) for v in value.values())
    return False


def reordered(value, order):
    if isinstance(value, dict):
        return {k: reordered(value[k], order) for k in order(list(value))}
    if isinstance(value, list):
        return [reordered(v, order) for v in value]
    return value


# --- The service: operations on one side, wire shapes on the other -----------------------------------------------------


class Service:
    def __init__(self, options, level, keys):
        self.o = options
        self.level = LEVELS.index(level)
        self.keys = keys
        self.store = Store(options)
        self.reader = JsonReader(options)
        self.requests = 0
        self.busy = 0
        self.last_error = None
        self.last_deposit = None
        self.count_lock = threading.Lock()

    # --- Shapes -------------------------------------------------------------------------------------------------------

    def verbatim(self, package):
        """The deposited text, if it still matches the package."""
        if package.raw is None:
            return None

        def pairs(members):
            out = dict(members)
            if len(out) != len(members):
                raise ValueError("repeated member")
            return out

        try:
            text = package.raw.removeprefix(b"\xef\xbb\xbf").decode("utf-8")
            if json.loads(text, object_pairs_hook=pairs) == package.value:
                return Raw(text)
        except (ValueError, RecursionError):
            pass
        return None

    def package_value(self, package, where, flat_hash=None):
        o = self.o
        if o.has("bytes-verbatim") and flat_hash is None and o.mutant is None:
            text = self.verbatim(package)
            if text is not None:
                return text
        value = self.store.show(package, where)
        if flat_hash is not None:
            value = {**value, **flat_hash}
        if o.has("order-sorted"):
            return reordered(value, sorted)
        if o.has("order-reversed"):
            return reordered(value, lambda names: names[::-1])
        if o.has("order-shuffled"):
            return reordered(value, lambda names: random.sample(names, len(names)))
        return value

    def package_answer(self, status, package, where, connection):
        o = self.o
        headers, beside, flat = [], {}, None
        if (where == "deposit" or o.has("hash-everywhere")) and not o.bug("hash-missing"):
            text = self.store.hash_text(package)
            if o.bug("hash-of-previous-deposit") and where == "deposit":
                text, connection["hash"] = connection.get("hash", text), text
            place = o.one(
                "hash-in-header",
                "hash-in-envelope",
                "hash-in-other-header",
                "hash-in-etag",
                "hash-in-weak-etag",
                "hash-as-contenthash",
                "hash-as-hash",
                "hash-as-package-hash",
                "hash-elsewhere",
                "hash-flat",
                "hash-flat-camel",
                "hash-flat-in-envelope",
            )
            if place == "hash-in-header":
                headers.append(("X-Content-Hash", text))
            elif place == "hash-in-other-header":
                headers.append(("X-Relay-Digest", text))
            elif place == "hash-in-etag":
                headers.append(("ETag", f'"{text}"'))
            elif place == "hash-in-weak-etag":
                headers.append(("ETag", f'W/"{text}"'))
            elif place == "hash-in-envelope":
                beside = {"content_hash": text}
            elif place == "hash-as-contenthash":
                beside = {"contentHash": text}
            elif place == "hash-as-hash":
                beside = {"hash": text}
            elif place == "hash-as-package-hash":
                beside = {"package_hash": text}
            elif place == "hash-elsewhere":
                beside = {"meta": {"digest": {"algorithm": "sha-256", "value": text}}}
            elif place in ("hash-flat", "hash-flat-in-envelope"):
                flat = {"content_hash": text}
            else:
                flat = {"contentHash": text}
            # A deposited member with that name belongs to the package: the hash is then outside of it.
            if flat and next(iter(flat)) in package.value:
                beside, flat = flat, None
        value = self.package_value(package, where, flat)
        if o.has("note-in-answer") and package.note is not None:
            headers.append(("X-Review-Note", json.dumps(package.note)))
        if o.has("note-beside") and package.note is not None and flat is None:
            beside = {**beside, "review": {"note": package.note, "requested_by": None}}
        if o.has("package-under-data"):
            value = {"data": value, **beside}
        elif o.has("package-with-success"):
            value = {"success": True, "data": value, "message": None, "meta": {"version": 1}, **beside}
        elif beside or o.has("package-under-package"):
            value = {"package": value, **beside}
        if o.bug("double-encoded"):
            value = json.dumps(value)
        if o.bug("deposit-returns-id-only") and where == "deposit":
            value = {"package_id": package.value["package_id"]}
        if o.bug("deposit-returns-nothing") and where == "deposit":
            return Answer(status, empty=True)
        return Answer(status, value, headers)

    def in_list(self, name, items):
        """A list in the view in force; `name` is packages or facts."""
        o = self.o
        kind = "list" if name == "packages" else "facts"
        if o.bug("latest-empty-null") and not items:
            items = None
        if o.has(f"{kind}-bare"):
            return items
        if o.has(f"{kind}-items"):
            return {"items": items, "total": len(items or []), "next": None}
        if o.has(f"{kind}-paged"):
            count = len(items or [])
            return {"total": count, "offset": 0, "has_more": False, "next_cursor": None, name: items}
        if o.has(f"{kind}-with-meta"):
            return {"data": items, "meta": {"count": len(items or [])}, "links": {"self": "/", "next": None}}
        if o.has(f"{kind}-results"):
            return {"results": items}
        if o.has(f"{kind}-data"):
            return {"data": items}
        return {name: items}

    def packages_answer(self, packages, queue=False):
        values = [self.package_value(x, "list") for x in packages]
        if queue and self.o.has("awaiting-queue-notes"):
            values = [{"package": v, "note": x.note, "place": i} for i, (v, x) in enumerate(zip(values, packages))]
        elif self.o.has("elements-wrapped"):
            values = [{"package": v} for v in values]
        media = "text/json" if self.o.bug("lists-as-text-json") else "application/json"
        return Answer(200, self.in_list("packages", values), media=media)

    def relevant_answer(self, found):
        o = self.o
        if o.bug("relevant-returns-chunks"):
            values = [
                {"package_id": x.value["package_id"], "text": x.value["title"], "similarity": s} for s, x in found
            ]
        elif o.bug("relevant-returns-summaries"):
            values = [{"package_id": x.value["package_id"], "title": x.value["title"], "score": s} for s, x in found]
        elif o.has("relevant-scored"):
            values = [{"package": self.package_value(x, "list"), "score": s / (s + 1)} for s, x in found]
        elif o.has("elements-wrapped"):
            values = [{"package": self.package_value(x, "list")} for s, x in found]
        else:
            values = [self.package_value(x, "list") for s, x in found]
        return Answer(200, self.in_list("packages", values))

    def facts_answer(self, facts):
        if not facts and self.o.bug("facts-empty-404"):
            raise Refusal(404, "fact_not_found", "no fact matches")
        if not facts and self.o.bug("facts-empty-null"):
            facts = None
        if self.o.has("facts-wrapped"):
            return Answer(200, {"facts": [{"fact": f} for f in facts]})
        return Answer(200, self.in_list("facts", facts))

    def fact_answer(self, project, fact, ended):
        o = self.o
        if o.bug("assert-202"):
            return Answer(202, self.store.show_fact(fact))
        if o.has("assert-empty"):
            return Answer(200, empty=True)
        if o.has("assert-ack"):
            return Answer(200, {"ok": True})
        place = [("Location", f"/v1/projects/{quote(project, safe='')}/facts/{fact['fact_id']}")]
        if o.has("assert-201-empty"):
            return Answer(201, empty=True, headers=place)
        value = self.store.show_fact(fact)
        if o.has("assert-201-beside"):
            return Answer(201, {"superseded": [self.store.show_fact(f) for f in ended], "fact": value})
        if o.has("assert-201-location"):
            return Answer(201, value, headers=place)
        if o.has("fact-under-fact"):
            value = {"fact": value}
        elif o.has("fact-under-data"):
            value = {"data": value}
        return Answer(201 if o.has("assert-201") else 200, value)

    def count_answer(self, facts):
        """The number of ended facts, or the value of a mutant."""
        o = self.o
        count = len(facts) if type(facts) is list else facts
        if o.bug("invalidate-204"):
            return Answer(204, empty=True)
        if o.bug("invalidate-no-count"):
            return Answer(200, {"ok": True})
        if o.has("count-bare"):
            return Answer(200, count)
        if o.has("count-among-numbers"):
            return Answer(200, {"status": 200, "elapsed_ms": 3, "count": count})
        if o.has("count-with-facts"):
            shown = [self.store.show_fact(f) for f in facts] if type(facts) is list else []
            return Answer(200, {"facts": shown, "invalidated": count})
        name = {
            "count-count": "count",
            "count-invalidated": "invalidated",
            "count-invalidated-count": "invalidated_count",
            "count-only-integer": "facts_ended",
        }[o.one("count-count", "count-invalidated", "count-invalidated-count", "count-only-integer")]
        return Answer(200, {name: count, "at": self.store.now_text()})

    def error_answer(self, refusal):
        o = self.o
        status = refusal.status
        if status == 400 and refusal.code == "invalid_schema":
            if o.bug("validation-422"):
                status = 422
            if o.bug("validation-200"):
                status = 200
            if o.bug("validation-500"):
                status = 500
        more = {}
        if refusal.pointer is not None:
            more["pointer"] = refusal.pointer
        if refusal.capability is not None:
            more["capability"] = refusal.capability
        headers = [("WWW-Authenticate", "Bearer")] if status == 401 else []
        media = "application/json"
        if o.has("error-nested"):
            body = {"error": {"code": refusal.code, "message": refusal.message, **more}}
        elif o.has("error-code"):
            body = {"error": refusal.code, "message": refusal.message, **more}
        elif o.has("error-text"):
            text = refusal.message + (f" ({refusal.capability} is missing)" if refusal.capability else "")
            body = {"error": text}
        elif o.has("error-detail"):
            place = ["body", *(refusal.pointer or "").split("/")[1:]]
            text = refusal.message + (f" ({refusal.capability} is missing)" if refusal.capability else "")
            body = {"detail": [{"loc": place, "msg": text, "type": "value_error"}]}
        elif o.has("error-problem") or o.has("error-problem-as-json"):
            media = "application/problem+json" if o.has("error-problem") else media
            body = {
                "type": "about:blank",
                "title": HTTPStatus(status).phrase,
                "status": status,
                "detail": refusal.message,
                "code": refusal.code,
                **more,
            }
        elif o.has("error-spring"):
            phrase = refusal.capability or HTTPStatus(status).phrase
            body = {"timestamp": self.store.now_text(), "status": status, "error": phrase, "path": "/v1"}
        elif o.has("error-nest"):
            text = refusal.message + (f" ({refusal.capability} is missing)" if refusal.capability else "")
            body = {"statusCode": status, "message": [text], "error": HTTPStatus(status).phrase}
        elif o.has("error-errors"):
            body = {"errors": [{"code": refusal.code, "detail": refusal.message, "source": more}]}
        elif o.has("error-empty") and status != 501:
            return Answer(status, headers=headers, empty=True)
        else:
            body = {"code": refusal.code, "message": refusal.message, **more}
        if o.bug("error-body-of-last-error"):
            body, self.last_error = (self.last_error or body), body
        return Answer(status, body, headers, media)

    # --- Descriptor ---------------------------------------------------------------------------------------------------

    def descriptor(self):
        o = self.o
        if o.has("descriptor-absent"):
            raise Refusal(404, "not_found", "unknown resource")
        hybrid, semantic = self.search_flags()
        capabilities = {"hybrid_search": hybrid, "semantic_search": semantic, "realtime": False, "blob_storage": False}
        if o.has("search-undeclared-on") or o.has("search-undeclared-off"):
            del capabilities["hybrid_search"], capabilities["semantic_search"]
        body = {
            "protocol_version": "0.1",
            "conformance_level": LEVELS[self.level],
            "capabilities": capabilities,
            "implementation": {"name": "agentic-peer", "version": "0.1.0"},
        }
        if o.has("descriptor-more"):
            body["capabilities"]["x-fulltext"] = True
            body["documentation"] = "https://example.org/peer"
            body["x-region"] = "test"
        if o.has("descriptor-no-capabilities"):
            del body["capabilities"]
        if o.has("descriptor-no-implementation"):
            del body["implementation"]
        for bug, name, value in (
            ("descriptor-version-number", "protocol_version", 0.1),
            ("descriptor-version-v", "protocol_version", "v0.1"),
            ("descriptor-level-number", "conformance_level", self.level),
            ("descriptor-level-wide", "conformance_level", "L4"),
            ("descriptor-overclaims", "conformance_level", "L3"),
        ):
            if o.bug(bug):
                body[name] = value
        if o.bug("descriptor-version-missing"):
            del body["protocol_version"]
        if o.bug("descriptor-flags-as-text"):
            body["capabilities"] = {k: str(v).lower() for k, v in body["capabilities"].items()}
        if o.bug("descriptor-capabilities-list"):
            body["capabilities"] = [k for k, v in body["capabilities"].items() if v]
        return Answer(200, body)

    def search_flags(self):
        o = self.o
        if o.has("search-semantic"):
            return False, True
        if o.has("search-hybrid"):
            return True, False
        if o.has("search-both"):
            return True, True
        return False, False

    def searches(self):
        return not any(self.o.has(c) for c in ("search-off-named", "search-off-short", "search-undeclared-off"))

    # --- Requests -----------------------------------------------------------------------------------------------------

    def needs(self, level):
        if self.level < level:
            status = int(self.o.one("above-level-404", "above-level-405", "above-level-501")[-3:])
            raise Refusal(status, "not_implemented", "this level does not offer the operation")

    def number(self, query, name, default, low, high, clamp):
        text = query.get(name)
        if text is None:
            return default
        try:
            value = int(text)
        except ValueError:
            value = None
        if value is not None and low <= value <= high:
            return value
        if not clamp:
            raise Refusal(400, "invalid_request", f"{name} must be a number from {low} to {high}")
        return default if value is None else min(max(value, low), high)

    def limit(self, query, default):
        o = self.o
        high = 50 if o.has("limit-max-50") or o.has("limit-max-50-400") else 1000
        return self.number(query, "limit", default, 1, high, o.has("limit-clamped") or o.has("limit-max-50"))

    def authorize(self, request):
        """The actor of the credentials, or None if none are required."""
        o = self.o
        if not self.keys or request.segments[1:] == ["conformance"]:
            return None
        scheme, _, token = (request.headers.get("Authorization") or "").partition(" ")
        actor = self.keys.get(token.strip()) if scheme.lower() == "bearer" else None
        if o.bug("auth-any-token") and token:
            actor = "anybody"
        if o.bug("auth-writes-open") and request.method == "POST":
            actor = actor or "anybody"
        if actor is None:
            status = 404 if o.bug("auth-404") else 403 if o.has("auth-403") else 401
            refusal = Refusal(status, "unauthorized", "missing or wrong credentials")
            if o.bug("auth-checked-after-store") and request.method == "POST":
                try:
                    self.route(request, None)
                except Refusal:
                    pass
            raise refusal
        return actor

    def object_body(self, request):
        value = self.reader.read(request.body)
        if type(value) is not dict:
            if self.o.bug("non-object-500"):
                raise RuntimeError("the body has no members")
            raise invalid("the body must be an object", "")
        return value

    def handle(self, request):
        o = self.o
        with self.count_lock:
            self.requests += 1
            self.busy += 1
        try:
            if o.bug("server-error-once-in-20") and self.requests % 20 == 0:
                raise RuntimeError("out of connections")
            if request.malformed:
                raise Refusal(400, "invalid_request", request.malformed)
            if o.bug("accept-list-406") and "," in (request.headers.get("Accept") or ""):
                raise Refusal(406, "not_acceptable", "one type, please")
            actor = self.authorize(request)
            answer = self.route(request, actor)
        except Refusal as e:
            answer = self.error_answer(e)
        except Exception:
            if o.mutant is None:
                traceback.print_exc()
            answer = Answer(500, {"code": "internal_error", "message": "something went wrong"})
        finally:
            with self.count_lock:
                self.busy -= 1
        return answer

    def route(self, request, actor):
        method, path = request.method, request.segments
        if request.body and method in ("POST", "PUT", "PATCH"):
            self.check_media(request)
        if path[:1] != ["v1"]:
            raise Refusal(404, "not_found", "unknown resource")
        match path[1:]:
            case ["conformance"] if method == "GET":
                return self.descriptor()
            case ["projects"] if method == "POST":
                return self.create_project(request)
            case ["projects", project] if method == "GET":
                return self.get_project(project)
            case ["projects", project, "packages"] if method == "GET":
                return self.list_packages(request, project)
            case ["projects", project, "packages"] if method == "POST":
                return self.deposit(request, project, actor)
            case ["projects", project, "orient"] if method == "GET":
                return self.orient(request, project)
            case ["projects", project, "facts"] if method in ("GET", "POST", "DELETE"):
                return self.facts(request, project, actor)
            case ["projects", project, "archive" | "restore" as verb] if method == "POST":
                return self.archive(project, verb)
            case ["projects", project, "export"] if method == "GET":
                return self.export(project)
            case ["projects", project, "sessions"] if method == "GET" and self.o.has("sessions-listed"):
                return Answer(200, {"sessions": self.store.sessions(project)})
            case ["projects", project, "review-queue"] if method == "GET" and self.has_queue():
                self.needs(3)
                empty = self.o.has("awaiting-filter-empty")
                return self.packages_answer([] if empty else self.store.awaiting(project), queue=True)
            case ["packages", package]:
                return self.package(request, package, actor)
            case ["packages", package, "flag"] if method == "POST":
                return self.flag(request, package)
            case ["packages", package, "status"] if method == "PATCH":
                return self.transition(request, package)
            case ["orchestrate"] if method == "GET":
                return self.orchestrate(request)
            case ["import"] if method == "POST" and not self.o.has("import-absent"):
                return self.load(request)
        raise Refusal(404, "not_found", "unknown resource")

    def has_queue(self):
        names = (
            "awaiting-queue",
            "awaiting-both",
            "awaiting-filter-empty",
            "awaiting-queue-notes",
            "awaiting-queue-400",
        )
        return any(self.o.has(n) for n in names)

    def check_media(self, request):
        media = (request.headers.get("Content-Type") or "application/json").partition(";")
        if self.o.bug("charset-refused") and media[1]:
            raise Refusal(415, "unsupported_media_type", "parameters are not supported")
        if self.o.bug("quoted-charset-refused") and '"' in media[2]:
            raise Refusal(415, "unsupported_media_type", "the charset is unknown")
        if self.o.bug("media-type-in-capitals-refused") and media[0] != media[0].lower():
            raise Refusal(415, "unsupported_media_type", "the body must be application/json")
        name = media[0].strip().lower()
        known = ("application/json", "application/x-ndjson", "application/problem+json")
        if self.o.has("media-415") and name not in known:
            raise Refusal(415, "unsupported_media_type", "the body must be application/json")

    def create_project(self, request):
        choice = self.o.one(
            "project-create-404",
            "project-create-405",
            "project-create-501",
            "project-create-200",
            "project-create-201",
            "project-create-409",
        )
        if choice in ("project-create-404", "project-create-405", "project-create-501"):
            raise Refusal(int(choice[-3:]), "not_found", "projects are created by the first write")
        self.needs(1)
        return Answer(
            200 if choice == "project-create-200" else 201, self.store.create_project(self.object_body(request))
        )

    def get_project(self, identity):
        if self.o.has("project-get-404"):
            raise Refusal(404, "not_found", "unknown resource")
        with self.store.lock:
            project = self.store.projects.get(identity)
            if project is None:
                raise Refusal(404, "project_not_found", "unknown project")
            value = self.store.show_project(project)
        return Answer(200, {"project": value} if self.o.has("project-get-enveloped") else value)

    def archive(self, identity, verb):
        if self.o.has("archive-absent"):
            raise Refusal(404, "not_found", "unknown resource")
        self.needs(1)
        value = self.store.archive(identity, restore=verb == "restore")
        return Answer(204, empty=True) if self.o.has("archive-204") else Answer(200, value)

    def deposit(self, request, project, actor):
        o = self.o
        self.needs(1)
        body = self.object_body(request)
        if o.bug("latest-of-connection"):
            request.connection.clear()
        if o.bug("duplicate-per-connection"):
            mine, identity = request.connection.setdefault("mine", set()), str(body.get("package_id"))
            if self.store.find(identity) is not None and identity not in mine:
                raise Refusal(409, "duplicate_package_id", "the id is taken by another package")
            mine.add(identity)
        package, fresh = self.store.deposit(project, body, request.body, actor, request.connection)
        status = 200
        if o.has("deposit-201-always") or (o.has("deposit-201-new") and fresh):
            status = 201
        if o.bug("deposit-202"):
            status = 202
        if o.bug("deposit-returns-204"):
            return Answer(204, empty=True)
        answer = self.package_answer(status, package, "deposit", request.connection)
        if o.has("location-header"):
            place = "/v1/packages/" + quote(str(package.value["package_id"]), safe="")
            answer.headers += [("Location", place), ("Link", f'<{place}/flag>; rel="flag"')]
        if o.bug("answers-of-neighbours"):
            last, self.last_deposit = self.last_deposit, answer
            if last is not None and self.busy > 1 and random.random() < 0.5:
                return last
        return answer

    def list_packages(self, request, project):
        o, query = self.o, request.query
        if o.bug("project-of-connection"):
            project = request.connection.setdefault("project", project)
        mode = query.get("mode")
        if query.get("status") is not None and self.level >= 3:
            if o.has("awaiting-queue-400"):
                raise Refusal(400, "invalid_request", "status is not a parameter")
            said = o.has("awaiting-filter-mode") and mode == "latest"
            names = ("awaiting-filter", "awaiting-both", "awaiting-filter-empty", "awaiting-filter-limited")
            if query["status"] == "awaiting_review" and (said or any(o.has(n) for n in names)):
                waiting = self.store.awaiting(project)
                if o.has("awaiting-filter-limited"):
                    count, waiting = len(waiting), waiting[: self.limit(query, 5)]
                    values = [self.package_value(x, "list") for x in waiting]
                    return Answer(200, {"packages": values, "total": count, "has_more": count > len(waiting)})
                return self.packages_answer(waiting)
        if mode == "relevant":
            return self.relevant(request, project)
        if mode != "latest" and o.has("mode-required"):
            raise Refusal(400, "invalid_request", "mode must be latest or relevant")
        default = 20 if o.bug("latest-default-20") else 10 if o.bug("latest-default-10") else 5
        if o.bug("limit-becomes-default"):
            default = self.store.remembered.get(("limit", project), default)
        limit = self.limit(query, default)
        if o.bug("limit-becomes-default"):
            self.store.remembered[("limit", project)] = limit
        packages = self.store.latest(project, limit, "limit" in query)
        if o.bug("latest-of-connection"):
            packages = request.connection.setdefault(("latest", project, limit), packages)
        if o.bug("empty-project-cached") and not self.store.remembered.setdefault(("listed", project), packages):
            packages = []
        return self.packages_answer(packages)

    def relevant(self, request, project):
        o, query = self.o, request.query
        if o.bug("search-declared-without"):
            raise Refusal(501, "not_implemented", "search is not supported", capability="semantic_search")
        if not self.searches():
            if o.bug("search-missing-400"):
                raise Refusal(400, "search_not_supported", "search is not supported")
            if o.bug("search-missing-404"):
                raise Refusal(404, "search_not_supported", "search is not supported")
            if o.bug("search-missing-empty-list"):
                return self.packages_answer([])
            if o.bug("search-missing-empty-body"):
                return Answer(501, empty=True)
            if o.bug("search-missing-unnamed"):
                return Answer(501, {"code": "not_implemented", "message": "this mode is not available"})
            if o.has("search-off-short"):
                raise Refusal(501, "search_not_supported", "relevant is not supported; search is off")
            raise Refusal(501, "not_implemented", "search is not supported", capability="semantic_search")
        text = query.get("query")
        if not text:
            if o.bug("relevant-without-query"):
                return self.packages_answer(self.store.latest(project, 1000, True))
            if o.bug("relevant-missing-query-500"):
                raise RuntimeError("query is None")
            raise Refusal(400, "invalid_request", "query is required")
        limit = self.limit(query, 10)
        found = self.store.relevant(project, text, limit)
        if o.bug("search-cached"):
            found = self.store.remembered.setdefault(("search", project, text, limit), found)
        return self.relevant_answer(found)

    def orient(self, request, project):
        o = self.o
        if o.bug("descriptor-overclaims"):
            raise Refusal(501, "not_implemented", "orient is not available")
        default = 7 if o.bug("orient-default-7") else 14
        days = self.number(request.query, "window_days", default, 1, 3650, o.has("window-clamped"))
        bundle = self.store.orient(project, days)
        if type(bundle) is dict and type(bundle.get("recent_packages")) is list:
            order = sorted if o.has("order-sorted") else list
            bundle["recent_packages"] = [reordered(p, order) for p in bundle["recent_packages"]]
        return Answer(200, bundle)

    def orchestrate(self, request):
        choice = self.o.one(
            "orchestrate-404", "orchestrate-405", "orchestrate-501", "orchestrate-named", "orchestrate-own-names"
        )
        if choice[-3:].isdigit():
            raise Refusal(int(choice[-3:]), "not_implemented", "orchestrate is not offered", capability="orchestrate")
        query = request.query
        snippets = self.number(query, "snippets", 25, 0, 1000, True)
        return Answer(200, self.store.orchestrate(query.get("project"), query.get("focus"), snippets))

    def facts(self, request, project, actor):
        o = self.o
        if request.method == "GET":
            if not o.has("facts-query") and not o.has("facts-query-pair"):
                status = int(o.one("facts-query-404", "facts-query-405", "facts-query-501")[-3:])
                raise Refusal(status, "not_found", "facts cannot be queried")
            if o.has("facts-query-pair") and not {"subject", "predicate"} <= set(request.query):
                raise Refusal(400, "invalid_request", "subject and predicate are required")
            asked = (project, *sorted(request.query.items()))
            kept = request.connection if o.bug("facts-of-connection") else {}
            kept = self.store.remembered if o.bug("facts-cached") else kept
            if o.bug("history-of-connection") and "include_ended" in request.query:
                kept = request.connection
            if o.bug("history-outlives-invalidation") and "include_ended" in request.query:
                kept = self.store.remembered.setdefault("histories", {})
            if o.bug("as-of-sticks") and "include_ended" not in request.query:
                request.query = {**request.connection, **request.query}
                request.connection.update({n: v for n, v in request.query.items() if n == "as_of"})
            facts = kept.get(asked)
            if facts is None:
                facts = kept[asked] = self.store.query_facts(project, request.query)
            if "limit" in request.query or o.has("facts-page-100"):
                facts = facts[: self.number(request.query, "limit", 100, 1, 100000, True)]
            return self.facts_answer(facts)
        self.needs(2)
        if o.bug("facts-of-connection") or o.bug("history-of-connection"):
            request.connection.clear()
        if request.method == "POST":
            self.store.remembered.pop("histories", None)
            fact, ended = self.store.assert_fact(project, self.object_body(request), actor)
            return self.fact_answer(project, fact, ended)
        query = request.query
        if o.bug("invalidate-subject-first") and next(iter(query), None) != "subject":
            raise Refusal(400, "invalid_request", "the query is subject=...&predicate=...")
        return self.count_answer(
            self.store.invalidate(project, query.get("subject"), query.get("predicate"), query.get("object"))
        )

    def package(self, request, identity, actor):
        o = self.o
        if request.method == "GET":
            package = self.store.find(identity)
            if package is not None and package.value["status"] == "draft":
                foreign = package.owner is not None and package.owner != actor
                if o.bug("draft-hidden-from-owner") or (foreign and o.has("drafts-private")):
                    package = None
            if package is None or (package.project in self.hidden_projects()):
                return self.missing_package()
            if o.bug("pull-outlives-move"):
                package = self.store.remembered.setdefault(("pulled", package.order), self.store.twin(package))
            return self.package_answer(200, package, "pull", request.connection)
        if request.method in ("PUT", "PATCH"):
            if o.bug("put-edits-package") or o.bug("patch-edits-package"):
                if o.mutant.startswith(request.method.lower()):
                    package = self.store.edit(identity, self.object_body(request), request.method == "PUT")
                    return self.package_answer(200, package, "pull", request.connection)
            status = int(o.one("edit-405", "edit-404", "edit-501", "edit-400")[-3:])
            raise Refusal(status, "not_implemented", "packages cannot be changed")
        raise Refusal(405, "method_not_allowed", "packages are read with GET")

    def hidden_projects(self):
        if not self.o.has("archived-reads-404"):
            return ()
        with self.store.lock:
            return {p.id for p in self.store.projects.values() if p.archived_at}

    def missing_package(self):
        o = self.o
        if o.bug("missing-package-empty-200"):
            return Answer(200, {})
        if o.bug("missing-package-204"):
            return Answer(204, empty=True)
        if o.bug("missing-package-500"):
            raise RuntimeError("no row")
        if o.bug("missing-package-400"):
            raise Refusal(400, "package_not_found", "unknown package")
        if o.bug("missing-package-error-200"):
            return Answer(200, {"error": "package_not_found"})
        if o.bug("missing-package-html"):
            return Answer(404, Raw("<html><title>404 Not Found</title></html>"), media="text/html; charset=utf-8")
        if o.has("unknown-package-null"):
            return Answer(200, None)
        raise Refusal(404, "package_not_found", "unknown package")

    def flag(self, request, identity):
        self.needs(3)
        if self.o.bug("descriptor-overclaims"):
            raise Refusal(501, "not_implemented", "flag is not available")
        body = self.object_body(request)
        if self.o.bug("flag-missing-id-200") and self.store.find(identity) is None:
            return Answer(200, {})
        if self.o.bug("flag-missing-id-500") and self.store.find(identity) is None:
            raise RuntimeError("no row")
        package = self.store.flag(identity, body)
        if self.o.bug("flag-204"):
            return Answer(204, empty=True)
        if self.o.bug("flag-empty-answer"):
            return Answer(200, empty=True)
        if self.o.bug("flag-answers-status-only"):
            return Answer(200, {n: package.value[n] for n in ("package_id", "status", "review_type")})
        return self.package_answer(202 if self.o.bug("flag-202") else 200, package, "flag", request.connection)

    def transition(self, request, identity):
        if not self.o.has("status-route-here"):
            status = int(self.o.one("status-route-404", "status-route-405", "status-route-501")[-3:])
            raise Refusal(status, "not_found", "unknown resource")
        self.needs(3)
        package = self.store.transition(identity, self.object_body(request))
        if self.o.has("move-empty"):
            return Answer(200, empty=True)
        if self.o.has("move-ack"):
            return Answer(200, {"ok": True, "status": package.value["status"]})
        if self.o.has("move-hash"):
            return Answer(200, {"content_hash": self.store.hash_text(package)})
        return self.package_answer(200, package, "flag", request.connection)

    def export(self, project):
        o = self.o
        if o.has("export-absent"):
            raise Refusal(404, "not_found", "unknown resource")
        records = []
        for kind, value in self.store.export(project):
            if o.has("export-wrapped"):
                value = {kind: value}
            elif o.has("export-data"):
                value = {"data": value}
            records.append(value)
        if o.has("export-array"):
            return Answer(200, records)
        if o.bug("export-csv"):
            lines = [",".join(str(v) for v in r.values()) for r in records]
        elif o.bug("export-raw-newline"):
            lines = [json.dumps(r, indent=2, ensure_ascii=False) for r in records]
        else:
            lines = [json.dumps(r, ensure_ascii=False) for r in records]
        end = "\r\n" if o.has("export-crlf") else "\n"
        text = "".join(line + end for line in lines)
        if o.has("export-no-last-newline"):
            text = text.removesuffix(end)
        media = "application/jsonl" if o.has("export-jsonl") else "application/x-ndjson"
        headers = []
        if o.has("export-ndjson-charset"):
            media += "; charset=utf-8"
            headers = [("Content-Disposition", 'attachment; filename="project.ndjson"')]
        return Answer(200, Raw(text), headers, media)

    def load(self, request):
        self.needs(1)
        counts = self.store.load(self.records(request.body))
        if self.o.has("import-204"):
            return Answer(204, empty=True)
        return Answer(201 if self.o.has("import-201") else 200, counts)

    def records(self, data):
        """Lines of NDJSON, or a JSON array."""
        if data.lstrip()[:1] == b"[":
            return self.reader.read(data)
        if self.o.bug("import-splits-at-line-separators"):
            data = "\n".join(data.decode().splitlines()).encode()
        lines = [line for line in data.split(b"\n") if line.strip()]
        if self.o.bug("import-line-limit") and max(map(len, lines), default=0) > 65536:
            raise Refusal(413, "too_large", "a line is too long")
        return [self.reader.read(line) for line in lines]


# --- HTTP -------------------------------------------------------------------------------------------------------------


class Request:
    __slots__ = ("method", "segments", "query", "headers", "body", "connection", "malformed")


def split_target(o, target, base=""):
    """(segments, query, defect)."""
    if target.startswith("http://"):
        target = "/" + target[7:].partition("/")[2]
    raw, _, query_text = target.partition("?")
    if base:
        if not raw.startswith(base + "/"):
            return ["nowhere"], {}, None
        raw = raw[len(base) :]
    if o.has("redirect-get") and raw.startswith("/moved/"):
        raw = raw[6:]
    try:
        if o.has("slash-ids-404"):
            segments = unquote_to_bytes(raw).decode("utf-8").split("/")[1:]
        else:
            segments = [decode_segment(o, s) for s in raw.split("/")[1:]]
        query = {}
        if o.mutant is not None and o.mutant.startswith("query-"):
            return segments, spoiled_query(o, query_text), None
        for pair in query_text.split("&"):
            if pair:
                name, _, value = pair.partition("=")
                query.setdefault(unquote_plus(name, errors="strict"), unquote_plus(value, errors="strict"))
        return segments, query, None
    except UnicodeDecodeError:
        return ["v1"], {}, "the target is not UTF-8"


def spoiled_query(o, text):
    """The query as read by mutants."""
    if o.bug("query-decoded-before-split"):
        text = unquote_plus(text)
    query = {}
    for pair in text.split("&"):
        name, _, value = pair.partition("=")
        if o.bug("query-plus-decoded-late"):
            value = unquote_to_bytes(value).decode("utf-8", "replace").replace("+", " ")
        elif not o.bug("query-not-decoded"):
            value = unquote_plus(value, encoding="latin-1" if o.bug("query-as-latin1") else "utf-8")
        if o.bug("query-decoded-twice"):
            value = unquote_plus(value)
        if o.bug("query-cut-at-semicolon"):
            value = value.partition(";")[0]
        if o.bug("query-in-lower-case"):
            value = value.lower()
        if o.bug("query-trimmed"):
            value = value.strip()
        query.setdefault(name, value)
    return query


def decode_segment(o, text):
    if o.mutant is None or not o.mutant.startswith("id-"):
        return unquote_to_bytes(text).decode("utf-8") if "%" in text else text
    if o.bug("id-not-decoded"):
        return text
    if o.bug("id-letters-not-decoded"):
        text = re.sub("%(?=[46][1-9A-Fa-f]|[57][0-9Aa]|3[0-9]|2[DEde]|5[Ff]|7[Ee])", "%25", text)
    if o.bug("id-lower-hex-not-decoded"):
        text = re.sub("%(?![0-9A-F]{2})", "%25", text)
    if o.bug("id-plus-as-space"):
        text = text.replace("+", " ")
    if o.bug("id-semicolon-cut"):
        text = re.sub("%3[Bb].*|;.*", "", text)
    encoding = "latin-1" if o.bug("id-decoded-as-latin1") else "utf-8"
    text = unquote_to_bytes(text).decode(encoding)
    if o.bug("id-decoded-twice"):
        text = unquote_to_bytes(text).decode("utf-8", "replace")
    if o.bug("id-format-suffix-cut"):
        text = re.sub(r"\.[^.]*$", "", text)
    if o.bug("id-colon-is-verb"):
        text = text.partition(":")[0]
    return text


class Handler(BaseHTTPRequestHandler):
    disable_nagle_algorithm = True
    timeout = 300
    service = None  # set by make_server
    base_path = ""
    server_version = "agentic-peer/0.1"

    def setup(self):
        super().setup()
        self.kept = {}  # state of mutants per connection
        if self.service.o.has("framing-http10"):
            self.protocol_version = "HTTP/1.0"
        else:
            self.protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def read_body(self):
        chunked = "chunked" in (self.headers.get("Transfer-Encoding") or "").lower()
        if chunked and self.service.o.bug("chunked-body-unread"):
            self.close_connection = True
            return b""
        if chunked:
            pieces = []
            while True:
                size = int(self.rfile.readline(1024).partition(b";")[0], 16)
                if size == 0:
                    while self.rfile.readline(65536).strip():
                        pass
                    return b"".join(pieces)
                pieces.append(self.rfile.read(size))
                self.rfile.readline(8)
                if sum(map(len, pieces)) > MAX_BODY:
                    raise ValueError("the body is too large")
        if self.service.o.bug("header-names-compared") and "content-length" in self.headers.keys():
            self.close_connection = True
            return b""
        length = int(self.headers.get("Content-Length") or 0)
        if not 0 <= length <= MAX_BODY:
            raise ValueError("the body is too large")
        body = self.rfile.read(length)
        if len(body) < length:
            raise ConnectionError("the body ends early")
        return body

    def serve(self):
        service, o = self.service, self.service.o
        request = Request()
        request.method = "GET" if self.command == "HEAD" and not o.bug("head-unknown") else self.command
        request.headers = self.headers
        request.connection = self.kept
        request.segments, request.query, request.malformed = split_target(o, self.path, self.base_path)
        try:
            request.body = self.read_body()
        except ValueError as e:
            request.body, request.malformed = b"", str(e)
            self.close_connection = True
        base = self.base_path
        moves = (
            self.command == "GET" and self.path.startswith(base + "/") and not self.path.startswith(base + "/moved/")
        )
        if o.has("redirect-get") and moves:
            answer = Answer(307, empty=True, headers=[("Location", base + "/moved" + self.path[len(base) :])])
        else:
            answer = service.handle(request)
        if o.has("slow-answers"):
            time.sleep(0.05)
        self.reply(answer)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = serve

    def send_error(self, code, message=None, explain=None):
        """A refusal by the HTTP layer, for example of an unknown method."""
        self.close_connection = True
        refusal = Refusal(int(code), "invalid_request", message or HTTPStatus(code).phrase)
        self.reply(self.service.error_answer(refusal))

    def content_type(self, answer, error):
        o = self.service.o
        media = answer.media
        if o.bug("text-html-always"):
            return "text/html"
        if error and o.bug("text-plain-errors"):
            return "text/plain"
        if o.bug("no-content-type") or (error and o.bug("errors-without-type")):
            return None
        if media.startswith("application/json"):
            if o.has("type-charset"):
                return "application/json; charset=utf-8"
            if o.has("type-odd"):
                return 'Application/JSON ; Charset="UTF-8"'
        return media

    def reply(self, answer):
        o = self.service.o
        error = answer.status >= 400
        if o.has("connection-close") or (error and o.has("close-after-error")):
            self.close_connection = True
        headers = [("Server", self.server_version)]
        if not o.has("no-date"):
            headers.append(("Date", formatdate(time.time() + self.service.store.skew, usegmt=True)))
        headers += answer.headers
        if answer.empty:
            data = b""
        else:
            text = (
                str(answer.body)
                if isinstance(answer.body, Raw) and answer.media != "application/json"
                else encode_json(o, answer.body)
            )
            data = text.encode("latin-1", "replace") if o.bug("bodies-in-latin1") else text.encode("utf-8")
            kind = self.content_type(answer, error)
            if kind:
                headers.append(("Content-Type", kind))
        if o.has("extra-headers"):
            headers += EXTRA_HEADERS
        if o.has("entity-tag-counter") and not any(n == "ETag" for n, _ in headers):
            headers.append(("ETag", f'W/"{len(data):x}-17"'))
        sent = getattr(self, "headers", None)
        if data and o.has("gzip-answers") and sent and "gzip" in (sent.get("Accept-Encoding") or ""):
            data = gzip.compress(data, mtime=0)
            headers += [("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding")]
        chunked = False
        http10 = self.request_version != "HTTP/1.1" or o.has("framing-http10")
        if answer.status == 204:
            pass
        elif (o.has("framing-chunked") or o.has("framing-chunked-tiny")) and data and not http10:
            headers.append(("Transfer-Encoding", "chunked"))
            chunked = True
        elif o.has("framing-http10"):
            self.close_connection = True
        elif o.bug("length-in-characters") and data:
            length = len(data.decode("utf-8"))
            if length != len(data):
                self.close_connection = True
            data = data[:length]
            headers.append(("Content-Length", str(length)))
        else:
            headers.append(("Content-Length", str(len(data))))
        if self.close_connection:
            headers.append(("Connection", "close"))
        if o.has("headers-lower"):
            headers = [(name.lower(), value) for name, value in headers]
        elif o.has("headers-upper"):
            headers = [(name.upper(), value) for name, value in headers]
        try:
            phrase = HTTPStatus(answer.status).phrase
        except ValueError:
            phrase = "Other"
        version = "HTTP/1.0" if o.has("framing-http10") else "HTTP/1.1"
        head = f"{version} {answer.status} {phrase}\r\n" + "".join(f"{n}: {v}\r\n" for n, v in headers) + "\r\n"
        if getattr(self, "command", "") == "HEAD":
            data = b""
        elif chunked:
            data = self.chunks(data)
        self.transmit(head.encode("latin-1", "replace") + data)

    def chunks(self, data):
        # Clients limit the extensions of one body: 16 KiB is common, and RFC 9112, 7.1.1 tells servers to keep them short.
        tiny = self.service.o.has("framing-chunked-tiny") and len(data) < 12_000
        size = 7 if tiny else 4096
        extension = b";part=x" if tiny else b""
        out = []
        for i in range(0, len(data), size):
            piece = data[i : i + size]
            out.append(f"{len(piece):x}".encode() + extension + b"\r\n" + piece + b"\r\n")
        return b"".join(out) + b"0\r\n\r\n"

    def transmit(self, data):
        try:
            if self.service.o.has("split-writes"):
                cuts = [0, 3, 17, *range(40, min(len(data), 400), 60), len(data)]
                cuts = sorted({min(c, len(data)) for c in cuts})
                for start, end in zip(cuts, cuts[1:]):
                    self.wfile.write(data[start:end])
                    time.sleep(0.0005)
            else:
                self.wfile.write(data)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def handle(self):
        try:
            super().handle()
        except (ConnectionError, TimeoutError, socket.timeout):
            self.close_connection = True


EXTRA_HEADERS = [(f"X-Extra-{i}", "value " * (i % 3 + 1) + str(i)) for i in range(16)] + [
    ("Set-Cookie", "session=abc; Path=/; HttpOnly"),
    ("Set-Cookie", "theme=dark"),
    ("Vary", "Accept, Accept-Encoding"),
    ("Cache-Control", "no-store"),
    ("Strict-Transport-Security", "max-age=1"),
]


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512
    allow_reuse_address = True

    def handle_error(self, request, client_address):
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def make_server(choices, mutant=None, level="L3", keys=None, host="127.0.0.1", port=0, base_path=""):
    """A server that is bound and listens; the caller runs serve_forever."""
    sys.setrecursionlimit(12_000)
    threading.stack_size(64 << 20)
    service = Service(Options(choices, mutant), level, keys or {})
    handler = type("BoundHandler", (Handler,), {"service": service, "base_path": base_path.rstrip("/")})
    return Server((host, port), handler)


# --- Program ----------------------------------------------------------------------------------------------------------


def list_choices(as_json):
    if as_json:
        rows = [
            {
                "name": c.name,
                "group": c.group,
                "about": c.about,
                "errata": list(c.errata),
                "default": c.default,
                "strict": c.strict,
                "lenient": c.lenient,
            }
            for c in CHOICES.values()
        ]
        print(json.dumps(rows, indent=1))
        return
    for c in CHOICES.values():
        marks = (
            ("default" if c.default else "")
            + ("" if c.strict else " not-strict")
            + ("" if c.lenient == "pass" else " " + c.lenient)
        )
        print(f"{c.name:32} {' '.join(c.errata):14} {marks.strip():20} {c.about}")


def list_mutants(as_json):
    if as_json:
        rows = [
            {
                "name": m.name,
                "about": m.about,
                "breaks": list(m.breaks),
                "level": m.level,
                "profile": m.profile,
                "needs": list(m.needs),
                "arguments": list(m.arguments),
                "kind": m.kind,
            }
            for m in MUTANTS.values()
        ]
        print(json.dumps(rows, indent=1))
        return
    for m in MUTANTS.values():
        print(f"{m.name:34} {m.level} {m.about} [{' '.join(m.breaks)}]")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--port-file", help="the port is written here once the server listens")
    parser.add_argument("--base-path", default="", help="serve below this path, for example /relay")
    parser.add_argument("--choice", action="append", default=[], help="repeatable")
    parser.add_argument("--preset", default="default", help="default, strict, tolerated or random:SEED")
    parser.add_argument("--mutant", choices=sorted(MUTANTS), metavar="NAME")
    parser.add_argument("--level", choices=LEVELS, default="L3")
    parser.add_argument(
        "--auth", action="append", default=[], metavar="KEY=ACTOR", help="require a bearer token; repeatable"
    )
    parser.add_argument("--load", help="NDJSON to read before the start")
    parser.add_argument("--list-choices", action="store_true")
    parser.add_argument("--list-mutants", action="store_true")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if arguments.list_choices:
        return list_choices(arguments.json)
    if arguments.list_mutants:
        return list_mutants(arguments.json)
    needs = list(MUTANTS[arguments.mutant].needs) if arguments.mutant else []
    try:
        given = {CHOICES[c].group for c in arguments.choice if c in CHOICES}
        choices = resolve(arguments.choice + [n for n in needs if CHOICES[n].group not in given], arguments.preset)
    except ValueError as e:
        parser.error(str(e))
    keys = dict(pair.split("=", 1) for pair in arguments.auth)
    server = make_server(
        choices, arguments.mutant, arguments.level, keys, arguments.host, arguments.port, arguments.base_path
    )
    if arguments.load:
        service = server.RequestHandlerClass.service
        with open(arguments.load, "rb") as f:
            service.store.load(service.records(f.read()))
    port = server.server_address[1]
    if arguments.port_file:
        with open(arguments.port_file + ".tmp", "w") as f:
            f.write(f"{port}\n")
        os.replace(arguments.port_file + ".tmp", arguments.port_file)
    print(f"http://{arguments.host}:{port}{arguments.base_path.rstrip('/')}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""A small agentic store, as somebody writes it who needs packages, facts and a backup and nothing else: projects begin with their
first package or fact, and there are no reviews, no search, no sessions and no digest. Everything is in memory. Standard library only; it shares no
code with the other peers.

    python3 peers/agentic_minimal.py --port 0 --port-file port.txt
    python3 peers/agentic_minimal.py --names            # own names of members, routes and request bodies, and no descriptor
    python3 peers/agentic_minimal.py --plain-types      # knows only the package type standard (and x- ones)
    python3 peers/agentic_minimal.py --own-times        # keeps the time of the assertion instead of the given one
"""

import argparse
import datetime
import hashlib
import http.server
import itertools
import json
import re
import threading
import urllib.parse

REQUIRED = ("package_id", "project_id", "relay_version", "title", "status", "package_type", "review_type", "created_at", "created_by")
STATUSES = ("draft", "awaiting_review", "revision_requested", "complete")
TYPES = ("standard", "milestone", "decision", "handoff", "auto_deposit", "analysis", "question", "orchestrator_report")
REVIEWS = ("none", "human", "agent")
ACTORS = ("agent", "human", "script")
TIME = re.compile(r"^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$")

# Where this store differs in its names: (name in the specification, own name).
PACKAGE_NAMES = {"content_md": "markdown", "handoff_note": "note_for_next"}
FACT_NAMES = {"fact_id": "key", "predicate": "relation", "value": "object", "valid_from": "since", "valid_to": "until"}


class Refused(Exception):
    def __init__(self, status, code, text):
        super().__init__(text)
        self.status, self.code = status, code


def instant(text):
    """A time as a number that can be compared; raises Refused for what is not RFC 3339."""
    if not isinstance(text, str) or not TIME.match(text):
        raise Refused(400, "invalid_schema", f"{text!r} is not a time")
    main, fraction = re.match(r"^(.{19})(\.\d+)?", text).groups()
    zone = text[19 + len(fraction or "") :]
    zone = "+00:00" if zone in ("Z", "z") else zone
    try:
        moment = datetime.datetime.fromisoformat(main.upper() + zone)
    except ValueError:
        raise Refused(400, "invalid_schema", f"{text!r} is not a time") from None
    return int(moment.timestamp()) + float(fraction or 0)


def is_utc(text):
    return text.endswith(("Z", "z", "+00:00", "-00:00"))


def now():
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def number(value):
    """A number as ECMAScript writes it (RFC 8785, section 3.2.2.3)."""
    if isinstance(value, int):
        value = float(value) if abs(value) >= 1 << 53 else value
        if isinstance(value, int):
            return str(value)
    if value == int(value) and abs(value) < 1e21:
        return str(int(value))
    digits, _, exponent = repr(value).partition("e")
    whole, power = digits.removesuffix(".0"), int(exponent or 0)
    sign, bare = ("-", whole[1:]) if whole.startswith("-") else ("", whole)
    if not exponent:
        if not bare.startswith("0.000000"):
            return whole
        # Python writes small numbers without an exponent a little longer than ECMAScript does.
        figures = bare[2:].lstrip("0")
        power, bare = -(len(bare) - 2 - len(figures)) - 1, figures[0] + ("." + figures[1:] if figures[1:] else "")
    elif -7 < power < 0:
        return sign + "0." + "0" * (-power - 1) + bare.replace(".", "")
    return f"{sign}{bare}e{'+' if power > 0 else '-'}{abs(power)}"


def canonical(value):
    """The text that is hashed: no null members, names sorted, no spaces."""
    if value is None or value is True or value is False:
        return json.dumps(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, (int, float)):
        return number(value)
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    kept = sorted((name, inner) for name, inner in value.items() if inner is not None)
    return "{" + ",".join(f"{canonical(name)}:{canonical(inner)}" for name, inner in kept) + "}"


def content_hash(package):
    return "sha256:" + hashlib.sha256(canonical(package).encode()).hexdigest()


def expect(holds, what):
    if not holds:
        raise Refused(400, "invalid_schema", what)


def text(value, what, least=0, most=None):
    expect(isinstance(value, str) and len(value) >= least and (most is None or len(value) <= most), what)


def texts(value, what):
    expect(isinstance(value, list) and all(isinstance(item, str) for item in value), what)


def actor(value, what):
    expect(isinstance(value, dict), what)
    text(value.get("id"), f"{what}/id", least=1)
    expect(value.get("type") in ACTORS, f"{what}/type")
    expect(value.get("session_id") is None or isinstance(value["session_id"], str), f"{what}/session_id")


def no_duplicates(pairs):
    names = [name for name, _ in pairs]
    expect(len(names) == len(set(names)), "a member occurs twice")
    return dict(pairs)


class Store:
    def __init__(self, options):
        self.options = options
        self.lock = threading.RLock()
        self.packages = {}  # id -> (project, package, hash, number)
        self.facts = []  # (project, fact)
        self.archived = {}  # project -> time
        self.numbers = itertools.count(1)

    # --- packages

    def validate(self, package):
        expect(isinstance(package, dict), "a package is an object")
        for name in REQUIRED:
            expect(package.get(name) is not None, f"{name} is missing")
        for name in ("package_id", "project_id", "relay_version"):
            text(package[name], name, least=1)
        expect(package["relay_version"] == "0.1", "relay_version")
        text(package["title"], "title", least=1, most=200)
        expect(package["status"] in STATUSES, "status")
        known = ("standard",) if self.options.plain_types else TYPES
        kind = package["package_type"]
        expect(isinstance(kind, str) and (kind in known or kind.startswith("x-")), "package_type")
        expect(package["review_type"] in REVIEWS, "review_type")
        instant(package["created_at"])
        expect(is_utc(package["created_at"]), "created_at is not UTC")
        actor(package["created_by"], "created_by")
        for name in ("description", "handoff_note", "content_md", "topic", "artifact_type", "parent_package_id", "storage_path"):
            expect(package.get(name) is None or isinstance(package[name], str), name)
        for name in ("tags", "decisions_made", "open_questions"):
            if package.get(name) is not None:
                texts(package[name], name)
        expect(package.get("estimated_next_actor") in (None, "agent", "human"), "estimated_next_actor")
        significance = package.get("significance")
        expect(significance is None or (type(significance) in (int, float) and significance == int(significance) and 1 <= significance <= 10), "significance")
        deliverables = package.get("deliverables")
        expect(deliverables is None or isinstance(deliverables, list), "deliverables")
        for item in deliverables or []:
            expect(isinstance(item, dict), "deliverables")
            text(item.get("path"), "deliverables/path", least=1)
            text(item.get("type"), "deliverables/type", least=1)
            expect(item.get("hash") is None or isinstance(item["hash"], str), "deliverables/hash")
            size = item.get("size_bytes")
            expect(size is None or (type(size) in (int, float) and size == int(size) and size >= 0), "deliverables/size_bytes")

    def deposit(self, project, package):
        expect(isinstance(package, dict), "a package is an object")
        if package.get("package_id") is None:
            # An id of its own, where the sender has none.
            package = {**package, "package_id": f"pkg_{hashlib.md5(str(next(self.numbers)).encode()).hexdigest()}"}
        self.validate(package)
        expect(package["project_id"] == project, "project_id differs from the path")
        with self.lock:
            digest = content_hash(package)
            stored = self.packages.get(package["package_id"])
            if stored and stored[2] != digest:
                raise Refused(409, "duplicate_package_id", "another package has this id")
            self.packages.setdefault(package["package_id"], (project, package, digest, next(self.numbers)))
        return self.packages[package["package_id"]]

    def package(self, package_id):
        with self.lock:
            if package_id not in self.packages:
                raise Refused(404, "package_not_found", "no such package")
            return self.packages[package_id]

    def latest(self, project):
        with self.lock:
            own = [entry for entry in self.packages.values() if entry[0] == project]
        return sorted(own, key=lambda entry: (instant(entry[1]["created_at"]), entry[3]), reverse=True)

    def project(self, project):
        return {"project_id": project, "name": project, "archived_at": self.archived.get(project)}

    # --- backup

    def export(self, project):
        with self.lock:
            packages = [package for owner, package, _, _ in self.packages.values() if owner == project]
            return [self.project(project), *packages, *map(dict, self.known(project))]

    def restore(self, records):
        counts = {"packages": 0, "facts": 0}
        with self.lock:
            for record in records:
                if "fact_id" in record:
                    for name in ("fact_id", "project_id", "subject", "predicate", "value"):
                        text(record.get(name), name, least=1)
                    for name in ("valid_from", "created_at"):
                        instant(record.get(name))
                    if record.get("valid_to") is not None:
                        instant(record["valid_to"])
                    self.confidence(record)
                    if all(fact["fact_id"] != record["fact_id"] for _, fact in self.facts):
                        self.facts.append((record["project_id"], {"valid_to": None, **record}))
                    counts["facts"] += 1
                elif "package_id" in record:
                    self.deposit(record.get("project_id"), record)
                    counts["packages"] += 1
                elif record.get("archived_at") and record.get("project_id"):
                    self.archived[record["project_id"]] = record["archived_at"]
        return counts

    # --- facts

    def known(self, project):
        return [fact for owner, fact in self.facts if owner == project]

    def confidence(self, given):
        value = given.get("confidence")
        expect(value is None or type(value) in (int, float) and 0 <= value <= 1, "confidence")

    def assert_fact(self, project, given):
        expect(isinstance(given, dict), "a fact is an object")
        for name in ("subject", "predicate", "value"):
            text(given.get(name), name, least=1)
        expect(given.get("project_id") in (None, project), "project_id differs from the path")
        self.confidence(given)
        if given.get("tags") is not None:
            texts(given["tags"], "tags")
        if given.get("asserted_by") is not None:
            actor(given["asserted_by"], "asserted_by")
        source = given.get("source_package_id")
        expect(source is None or isinstance(source, str), "source_package_id")
        asked = given.get("valid_from")
        if asked:
            instant(asked)
            expect(is_utc(asked), "valid_from is not UTC")
        with self.lock:
            # Read under the lock, so that of two concurrent assertions the later one has the later time.
            present = now()
            start = present if self.options.own_times or not asked else asked
            if source in self.packages and given.get("asserted_by") is None:
                given = {**given, "asserted_by": self.packages[source][1]["created_by"]}
            pair = (given["subject"], given["predicate"])
            current = [f for f in self.known(project) if (f["subject"], f["predicate"]) == pair and f["valid_to"] is None]
            for fact in current:
                expect(instant(fact["valid_from"]) <= instant(start), "valid_from is before the current fact")
            for fact in current:
                fact["valid_to"] = start
            fact = {
                "fact_id": f"f-{next(self.numbers)}",
                "project_id": project,
                "subject": given["subject"],
                "predicate": given["predicate"],
                "value": given["value"],
                "valid_from": start,
                "valid_to": None,
                "created_at": present,
            }
            fact |= {
                name: given[name]
                for name in given
                if name not in fact and given[name] is not None
            }
            self.facts.append((project, fact))
            return dict(fact)

    def invalidate(self, project, subject, predicate, value):
        text(subject, "subject", least=1)
        text(predicate, "predicate", least=1)
        ended = 0
        with self.lock:
            for fact in self.known(project):
                same = (fact["subject"], fact["predicate"]) == (subject, predicate) and value in (None, fact["value"])
                if same and fact["valid_to"] is None:
                    fact["valid_to"] = max(now(), fact["valid_from"], key=instant)
                    ended += 1
        return ended

    def query(self, project, subject, predicate, as_of, ended, limit):
        moment = instant(as_of) if as_of else None
        with self.lock:
            found = [dict(fact) for fact in self.known(project)]
        found = [f for f in found if subject in (None, f["subject"]) and predicate in (None, f["predicate"])]
        if moment is not None:
            within = lambda f: instant(f["valid_from"]) <= moment and (f["valid_to"] is None or moment < instant(f["valid_to"]))
            found = [f for f in found if within(f)]
        elif not ended:
            found = [f for f in found if f["valid_to"] is None]
        found.sort(key=lambda f: instant(f["valid_from"]))
        return found[:limit] if limit else found

    def orient(self, project, days):
        since = instant(now()) - days * 86400
        latest = self.latest(project)
        return {
            "project": self.project(project),
            "window_days": days,
            "generated_at": now(),
            "active_facts": self.query(project, None, None, None, False, None),
            "recent_packages": [p for _, p, _, _ in latest if instant(p["created_at"]) >= since],
            "open_questions": [question for _, package, _, _ in latest for question in package.get("open_questions") or []],
        }


def renamed(value, names):
    return {names.get(name, name): inner for name, inner in value.items()} if isinstance(value, dict) else value


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    store: Store
    options: argparse.Namespace

    def log_message(self, *_):
        pass

    def answer(self, status, body, headers=()):
        is_text = isinstance(body, str)  # lines of a backup
        data = body.encode() if is_text else json.dumps(body, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/x-ndjson" if is_text else "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def handle_one(self, method):
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        url = urllib.parse.urlsplit(self.path)
        parts = [urllib.parse.unquote(part) for part in url.path.split("/")[1:]]
        query = {name: values[0] for name, values in urllib.parse.parse_qs(url.query, keep_blank_values=True).items()}
        try:
            status, out, *headers = self.route(method, parts, query, body)
        except Refused as refused:
            status, out, headers = refused.status, {"error": {"code": refused.code, "message": str(refused)}}, []
        self.answer(status, out, *headers)

    def do_GET(self):
        self.handle_one("GET")

    def do_POST(self):
        self.handle_one("POST")

    def do_DELETE(self):
        self.handle_one("DELETE")

    def read(self, body):
        try:
            value = json.loads(body.decode(), object_pairs_hook=no_duplicates, parse_constant=lambda word: expect(False, word))
            canonical(value).encode()  # lone surrogates and numbers beyond all bounds
            return value
        except (ValueError, OverflowError, RecursionError):
            raise Refused(400, "invalid_schema", "not JSON") from None

    def shown(self, package):
        return renamed(package, PACKAGE_NAMES) if self.options.names else package

    def shown_fact(self, fact):
        return renamed(fact, FACT_NAMES) if self.options.names else fact

    def limit(self, query, usual):
        words = query.get("limit")
        if words is None:
            return usual
        expect(re.fullmatch(r"\d{1,6}", words) and int(words) > 0, "limit")
        return int(words)

    def route(self, method, parts, query, body):
        store, names = self.store, self.options.names
        own = {ours: theirs for theirs, ours in PACKAGE_NAMES.items()}
        own_fact = {ours: theirs for theirs, ours in FACT_NAMES.items()}
        if names:
            # Its own paths: /spaces/NAME/notes, /notes/ID, /spaces/NAME/statements, /spaces/NAME/overview.
            words = {"spaces": "projects", "notes": "packages", "statements": "facts", "overview": "orient"}
            if parts[0] != "v1":
                parts = ["v1", *[words.get(part, part) if index % 2 == 0 else part for index, part in enumerate(parts)]]
        match (method, *parts):
            case ("POST", "v1", "projects", project, "packages"):
                sent = self.read(body)
                if names:
                    expect(isinstance(sent, dict) and sent.get("by") == "proofmark", "the wrapper of a note")
                    sent = sent.get("note")
                if project in store.archived:
                    raise Refused(403, "project_archived", "the project is archived")
                _, stored, digest, _ = store.deposit(project, renamed(sent, own) if names else sent)
                return 200, {"package": self.shown(stored), "content_hash": digest}
            case ("GET", "v1", "packages", package_id):
                _, package, digest, _ = store.package(package_id)
                return 200, {"package": self.shown(package), "content_hash": digest}
            case ("GET", "v1", "projects", project, "packages"):
                mode = query.get("mode", "latest")
                if mode == "relevant":
                    raise Refused(501, "search_not_supported", "hybrid_search: there is no search")
                expect(mode == "latest", "mode")
                found = store.latest(project)[: self.limit(query, 5)]
                return 200, {"packages": [self.shown(package) for _, package, _, _ in found]}
            case ("GET", "v1", "projects", project, "orient"):
                days = query.get("window_days", "14")
                expect(re.fullmatch(r"\d{1,5}", days), "window_days")
                bundle = store.orient(project, int(days))
                bundle["active_facts"] = [self.shown_fact(fact) for fact in bundle["active_facts"]]
                bundle["recent_packages"] = [self.shown(package) for package in bundle["recent_packages"]]
                return 200, bundle
            case ("POST", "v1", "projects", project, "facts"):
                given = self.read(body)
                fact = store.assert_fact(project, renamed(given, own_fact) if names else given)
                return 200, {"fact": self.shown_fact(fact)}
            case ("DELETE", "v1", "projects", project, "facts"):
                relation, value = ("relation", "object") if names else ("predicate", "object")
                count = store.invalidate(project, query.get("subject"), query.get(relation), query.get(value))
                return 200, {"closed": count} if names else {"count": count}
            case ("GET", "v1", "projects", project, "facts"):
                relation = "relation" if names else "predicate"
                found = store.query(
                    project, query.get("subject"), query.get(relation), query.get("as_of"),
                    query.get("include_ended") == "true", self.limit(query, None),
                )  # fmt: skip
                return 200, {"facts": [self.shown_fact(fact) for fact in found]}
            case ("GET", "v1", "projects", project):
                return 200, {"project": store.project(project)}
            case ("POST", "v1", "projects", project, "archive"):
                store.archived.setdefault(project, now())
                return 200, {"project": store.project(project)}
            case ("POST", "v1", "projects", project, "restore"):
                store.archived.pop(project, None)
                return 200, {"project": store.project(project)}
            case ("GET", "v1", "projects", project, "export"):
                lines = [json.dumps(record, ensure_ascii=False) for record in store.export(project)]
                return 200, "".join(line + "\n" for line in lines)
            case ("POST", "v1", "import"):
                lines = [line for line in body.decode("utf-8", "replace").split("\n") if line.strip()]
                return 200, store.restore([self.read(line.encode()) for line in lines])
            case ("GET", "v1", "conformance") if not names:
                return 200, {
                    "protocol_version": "0.1",
                    "conformance_level": "L2",
                    "capabilities": {"hybrid_search": False, "semantic_search": False, "realtime": False, "blob_storage": False},
                    "implementation": {"name": "small store", "version": "1"},
                }
        raise Refused(404, "not_found", "no such path")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=8787)
    parser.add_argument("--port-file")
    parser.add_argument("--names", action="store_true")
    parser.add_argument("--plain-types", action="store_true")
    parser.add_argument("--own-times", action="store_true")
    options = parser.parse_args()
    Handler.store, Handler.options = Store(options), options
    http.server.ThreadingHTTPServer.request_queue_size = 128
    server = http.server.ThreadingHTTPServer(("127.0.0.1", options.port), Handler)
    if options.port_file:
        with open(options.port_file, "w") as file:
            file.write(str(server.server_address[1]))
    server.serve_forever()


if __name__ == "__main__":
    main()

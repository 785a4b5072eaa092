"""A small HTTP client and the views of the binding, for the self-check. It shares no code with the server."""

import base64
import http.client
import json
import sys
from pathlib import Path
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "vectors/confirm"))
import agentic as confirm  # noqa: E402  the canonical form of the vector confirmation

NULLABLE = {"estimated_next_actor", "parent_package_id", "topic", "artifact_type", "storage_path"}
DEFAULTS = {
    "description": "",
    "tags": [],
    "decisions_made": [],
    "open_questions": [],
    "handoff_note": "",
    "deliverables": [],
    "significance": 5,
    "content_md": "",
    **{name: None for name in NULLABLE},
}


class Reply:
    def __init__(self, status, headers, body, version):
        self.status = status
        self.version = version
        self.headers = headers
        self.body = body
        self.hops = 0  # redirects that were followed

    @property
    def ok(self):
        return 200 <= self.status < 300

    @property
    def json(self):
        return json.loads(self.body) if self.body else None

    def header(self, name):
        return next((v for n, v in self.headers if n.lower() == name.lower()), None)


class Client:
    """One connection, kept alive as long as the server keeps it."""

    def __init__(self, port, token=None):
        self.http = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        self.token = token

    def ask(self, method, path, body=None, headers=None, token=None):
        headers = dict(headers or {})
        headers.setdefault("Accept", "application/json")
        if token or self.token:
            headers.setdefault("Authorization", f"Bearer {token or self.token}")
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode("utf-8")
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        for hops in range(5):
            self.http.request(method, path, body, headers)
            response = self.http.getresponse()
            reply = Reply(response.status, response.getheaders(), response.read(), response.version)
            if response.will_close:
                self.http.close()
            if response.status in (301, 302, 307, 308) and method == "GET":
                path = reply.header("Location")
                continue
            reply.hops = hops
            return reply
        raise AssertionError("a redirect loop")

    def close(self):
        self.http.close()

    def deposit(self, package, project=None, **more):
        return self.ask("POST", f"/v1/projects/{segment(project or package['project_id'])}/packages", package, **more)

    def pull(self, identity):
        return self.ask("GET", f"/v1/packages/{segment(identity)}")

    def latest(self, project, limit=None):
        tail = "" if limit is None else f"&limit={limit}"
        return self.ask("GET", f"/v1/projects/{segment(project)}/packages?mode=latest{tail}")

    def relevant(self, project, query, limit=None):
        tail = "" if limit is None else f"&limit={limit}"
        return self.ask("GET", f"/v1/projects/{segment(project)}/packages?mode=relevant&query={segment(query)}{tail}")


def segment(text):
    return quote(text, safe="")


# --- Views (binding, section 4) ---------------------------------------------------------------------------------------


def package_view(value, key="package", identity="package_id"):
    if isinstance(value, dict):
        for candidate in (value.get(key), value, value.get("data")):
            if isinstance(candidate, dict) and identity in candidate:
                return candidate
    return None


def list_view(value, key="packages", element="package"):
    if isinstance(value, dict):
        value = next((value[n] for n in (key, "items", "results", "data") if isinstance(value.get(n), list)), None)
    if not isinstance(value, list):
        return None
    return [v[element] if isinstance(v, dict) and isinstance(v.get(element), dict) else v for v in value]


def fact_view(value):
    return package_view(value, "fact", "fact_id")


def facts_view(value):
    return list_view(value, "facts", "fact")


def count_view(value):
    if type(value) is int:
        return value
    for name in ("invalidated", "count", "invalidated_count"):
        if type(value.get(name)) is int:
            return value[name]
    integers = [v for v in value.values() if type(v) is int]
    assert len(integers) == 1, value
    return integers[0]


def texts(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for v in value:
            yield from texts(v)
    elif isinstance(value, dict):
        for v in value.values():
            yield from texts(v)


def hex_of(text):
    """The hash in a text, as lower-case hex, or None."""
    text = text.strip().removeprefix("W/").strip('"')
    bare = text.lower().removeprefix("sha256:")
    if len(bare) == 64 and all(c in "0123456789abcdef" for c in bare):
        return bare
    try:
        raw = base64.b64decode(text, validate=True)
        return raw.hex() if len(raw) == 32 else None
    except ValueError:
        return None


def hash_view(reply, acceptable):
    """The hash of an answer: a named candidate if present, else any matching text or header, else None."""
    value = reply.json
    if isinstance(value, dict):
        for name in ("content_hash", "contentHash", "hash", "package_hash"):
            if isinstance(value.get(name), str) and hex_of(value[name]):
                return hex_of(value[name])
    if reply.header("X-Content-Hash"):
        return hex_of(reply.header("X-Content-Hash"))
    package = package_view(value)
    for name in ("content_hash", "contentHash"):  # reading b of E02, here in an envelope
        if package is not value and hex_of(str(package.get(name))) in acceptable:
            return hex_of(package[name])
    outside = {k: v for k, v in value.items() if v is not package} if package is not value else {}
    for text in [*texts(outside), *(v for _, v in reply.headers)]:
        if hex_of(text) in acceptable:
            return hex_of(text)
    return None


def acceptable_hashes(package):
    """The hash of the ruling and every combination of tolerated readings."""
    value, _ = confirm.read(json.dumps(package).encode("utf-8"))
    hashes = [confirm.sha256(confirm.canonical(value))]
    return hashes + [t["sha256"] for t in confirm.tolerated(value, confirm.PACKAGE_READINGS)]


def same(a, b):
    """Equality of JSON values: member order is free, null equals absent, numbers by value."""
    if isinstance(a, dict) and isinstance(b, dict):
        names = {k for k in a if a[k] is not None} | {k for k in b if b[k] is not None}
        return all(k in a and k in b and same(a[k], b[k]) for k in names)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, bool) or isinstance(b, bool) or a is None or b is None:
        return a is b
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return float(a) == float(b)
    return type(a) is type(b) and a == b


def same_package(returned, deposited, but=()):
    """The comparison `same-package` of the binding in lenient mode. Returns the first difference or None."""
    if not isinstance(returned, dict):
        return f"no package: {returned!r}"
    for name in sorted({*returned, *deposited} - set(but)):
        mine, theirs = deposited.get(name), returned.get(name)
        if name in ("content_hash", "contentHash") and name not in deposited:
            continue
        if name == "storage_path" and mine is None and isinstance(theirs, (str, type(None))):
            continue
        if name in DEFAULTS and mine is None and (theirs is None or same(theirs, DEFAULTS[name])):
            continue
        if not same(mine, theirs):
            return f"{name}: deposited {mine!r}, returned {theirs!r}"
    return None

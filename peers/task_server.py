#!/usr/bin/env python3
"""An independent implementation of the Agent Message Protocol AMP v1.0 (task dispatch, result, review, verdict, escalation).

    python3 peers/task_server.py --port 0 --roles coordinator,executor,reviewer,system
    python3 peers/task_server.py --roles executor --ssot http://127.0.0.1:8931     # one role; proofmark hosts the store
    python3 peers/task_server.py --roles executor,reviewer --tree DIR
    python3 peers/task_server.py --choice lock-at-3 --preset random:7
    python3 peers/task_server.py --mutant conflict-replaces

Bus, store and roles in one process, HTTP as in sections 3 and 7 of the binding, with the test hooks. Standard library only.
"""

import argparse
import json
import os
import sys
import threading
import time
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parent))

import task_access as accesses  # noqa: E402
import task_rules as rules  # noqa: E402
from task_bus import HEARTBEAT_SEC, Bus, iso  # noqa: E402
from task_mutants import MUTANTS  # noqa: E402
from task_options import CHOICES, Ways, chosen, defaults  # noqa: E402
from task_roles import ROLES  # noqa: E402

PREFIX = "/api/amp/v1"
LIMIT = 4 << 20


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.serve("GET")

    def do_POST(self):
        self.serve("POST")

    def do_PUT(self):
        self.serve("PUT")

    do_DELETE = do_PATCH = do_PUT

    def serve(self, method):
        length = int(self.headers.get("Content-Length") or 0)
        if length > LIMIT:
            self.close_connection = True
            return self.answer(413, {"detail": "too large"})
        self.body = self.chunks() if "chunked" in self.headers.get("Transfer-Encoding", "") else self.rfile.read(length)
        try:
            status, value, *kind = self.route(method)
        except Exception:
            if not self.server.ways.mutant:
                traceback.print_exc()
            status, value, kind = 500, {"detail": "internal error"}, []
        self.answer(status, value, *kind)

    def chunks(self):
        parts = []
        while True:
            size = int(self.rfile.readline().split(b";")[0], 16)
            data = self.rfile.read(size)
            self.rfile.readline()
            if not size:
                return b"".join(parts)
            parts.append(data)

    def answer(self, status, value, kind="application/json"):
        ways = self.server.ways
        data = b""
        if value is not None:
            form = ways.pick("json-form")
            if form == "json-indented":
                data = json.dumps(value, indent=2, ensure_ascii=False).encode("utf-8", "surrogatepass")
            elif form == "json-sorted-ascii":
                data = json.dumps(value, sort_keys=True).encode()
            else:
                data = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")
        self.send_response(status)
        if data:
            self.send_header("Content-Type", kind)
        if ways.has("transfer-close"):
            self.send_header("Connection", "close")
            self.close_connection = True
        if ways.has("transfer-chunked") and data:
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            half = len(data) // 2
            for part in filter(None, (data[:half], data[half:])):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            self.wfile.write(b"0\r\n\r\n")
        else:
            if status != 204:
                self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
        self.wfile.flush()

    # --- Routes -----------------------------------------------------------------------------------------------------

    def route(self, method):
        url = urlsplit(self.path)
        path = url.path.removeprefix(PREFIX)
        self.query = {k: v[-1] for k, v in parse_qs(url.query, keep_blank_values=True).items()}
        self.role = self.headers.get("X-AMP-Role", "")
        parts = [unquote(p) for p in path.split("/") if p]
        bus, ways = self.server.bus, self.server.ways
        if parts[:1] == ["_test"]:
            at_root = not url.path.startswith(PREFIX)
            if at_root != ways.has("hooks-at-root"):
                return 404, {"detail": "not found"}
            return self.hook(method, parts[1:])
        if not url.path.startswith(PREFIX):
            return 404, {"detail": "not found"}
        match method, parts:
            case "POST", ["messages"]:
                return self.submit()
            case "GET", ["messages"]:
                return self.messages()
            case "GET", ["messages", msg_id]:
                with bus.lock:
                    record = bus.record(msg_id)
                    if record and ways.bug("lookup-by-newest") and bus.records:
                        record = bus.records[-1]
                    return (200, self.shown(record)) if record else (404, {"detail": "unknown message"})
            case "POST", ["messages", msg_id, "acks"]:
                return self.ack(msg_id)
            case "GET", ["messages", msg_id, "acks"]:
                with bus.lock:
                    if bus.record(msg_id) is None:
                        return 404, {"detail": "unknown message"}
                    return 200, self.listed("acks", [a for a in bus.acks if a["msg_id"] == msg_id], bus.shown_ack)
            case "GET", ["acks"]:
                with bus.lock:
                    task = self.query.get("task_id") or None
                    return 200, self.listed("acks", [a for a in bus.acks if task in (None, a["task_id"])], bus.shown_ack)
            case "GET", ["errors"]:
                return self.errors()
            case "POST", ["errors"]:
                value = rules.read(self.body)
                bus.log(self.role, "", "", "", value.get("msg_id"), None)
                return 201, {"accepted": True}
            case "GET", ["tasks"]:
                with bus.lock:
                    return 200, {"tasks": [bus.shown_task(t) for t in bus.tasks.values()]}
            case "GET", ["tasks", task_id]:
                with bus.lock:
                    task = bus.tasks.get(task_id)
                    if not task or ways.bug("no-task-records"):
                        return 404, {"detail": "unknown task"}
                    return 200, bus.shown_task(task)
            case "POST", ["tasks", *_]:
                return self.instruct(parts[1:])
            case "GET", ["meta"] if not ways.has("without-meta"):
                return 200, {"protocol": "AMP/1.0", "roles": list(bus.roles), "test_hooks": True, "heartbeat_timeout_sec": HEARTBEAT_SEC}
        return 404, {"detail": "not found"}

    def submit(self):
        bus, ways = self.server.bus, self.server.ways
        kind = self.headers.get("Content-Type", "application/json").split(";")[0].strip().lower()
        if kind != "application/json":
            with bus.lock:
                bus.log("bus", "invalid_json", "", f"Content-Type {kind}", None, self.body)
            return 415, {"detail": "application/json is wanted"}
        status, what = bus.submit(self.role, self.body)
        if status < 300:
            if status == 202:
                status = int(ways.pick("stored-status").removeprefix("stored-"))
            duplicate = isinstance(what, dict) and what.get("duplicate")
            form = ways.pick("stored-body")
            if form == "stored-empty" and not duplicate:
                return status, None
            body = {"accepted": True}
            if form == "stored-full":
                body |= {"msg_id": what.get("msg_id"), "seq": len(bus.records), "stored_at": iso(bus.now(), ways)}
            return status, body | ({"duplicate": True} if duplicate else {})
        if ways.bug("refusals-as-200"):
            return 200, {"accepted": False}
        if ways.bug("refusals-as-500"):
            return 500, {"detail": "error"}
        form = ways.pick("refused-body")
        if form == "refused-empty":
            return status, None
        if form == "refused-list":
            return status, {"accepted": False, "errors": [{"code": c, "path": p, "message": t} for _, c, p, t in what]}
        text = "; ".join(f"{p or '/'}: {t}" for _, _, p, t in what)
        if form == "refused-problem":
            return status, {"type": "about:blank", "title": "refused", "status": status, "detail": text}, "application/problem+json"
        return status, {"detail": text}

    def shown(self, record):
        ways = self.server.ways
        message = ways.change("shown", record["message"], record)
        if ways.has("record-bare"):
            return message
        if ways.has("record-other"):
            return {"seq": record["seq"], "at": record["stored_at"], "by": record["written_by"], "envelope": message}
        return {"seq": record["seq"], "stored_at": record["stored_at"], "written_by": record["written_by"], "message": message}

    def number(self, name):
        """A number of the query, or None. Raises ValueError."""
        text = self.query.get(name)
        return None if text in (None, "") else int(text)

    def listed(self, name, items, shown):
        """A list behind the cursor."""
        try:
            after = self.number("after") or 0
        except ValueError:
            after = 1 << 60
        items = [i for i in items if i["seq"] > after]
        body = {name: [shown(i) for i in items]}
        if self.server.ways.has("list-next"):
            body["next"] = items[-1]["seq"] if items else after
        return body

    def messages(self):
        bus, ways = self.server.bus, self.server.ways
        try:
            after, limit, wait = self.number("after") or 0, self.number("limit"), self.number("wait_ms") or 0
        except ValueError:
            return (400, {"detail": "bad filter"}) if ways.has("bad-filter-400") else (200, {"messages": [], "next": 0})
        wanted = {n: self.query[n] for n in ("task_id", "type", "from", "to") if self.query.get(n)}
        if ways.bug("list-ignores-task"):
            wanted.pop("task_id", None)
        if ways.bug("admin-list-empty") and wanted.get("to") == "admin":
            wanted["to"] = "nobody"
        if ways.bug("admin-sees-critical-only") and wanted.get("to") == "admin":
            wanted["severe"] = True
        ends = time.monotonic() + min(wait, 20_000) / 1000
        with bus.lock:
            while True:
                found = [r for r in bus.records if r["seq"] > after and self.asked(r["message"], wanted)]
                left = ends - time.monotonic()
                if found or left <= 0:
                    break
                bus.changed.wait(left)
            if ways.bug("list-at-most-3"):
                found = found[:3]
            found = found[:limit] if limit else found
            body = {"messages": [self.shown(r) for r in found]}
            if ways.has("list-next"):
                body["next"] = found[-1]["seq"] if found else after
            return 200, body

    @staticmethod
    def asked(message, wanted):
        if wanted.get("severe") and message.get("payload", {}).get("severity") != "critical":
            return False
        return all(message.get(n) == v for n, v in wanted.items() if n != "severe")

    def errors(self):
        bus, ways = self.server.bus, self.server.ways
        with bus.lock:
            if ways.bug("log-always-empty"):
                return 200, {"errors": [], "next": 0}
            return 200, self.listed("errors", bus.errors, lambda e: e)

    def ack(self, msg_id):
        try:
            record = rules.read(self.body)
        except ValueError:
            return 422, {"detail": "not JSON"}
        status, made = self.server.bus.ack(self.role, msg_id, record)
        return status, {"accepted": True} if made is not None and status < 300 else {"detail": "not acknowledged"}

    def instruct(self, parts):
        bus, ways = self.server.bus, self.server.ways
        control = parts[1:] == ["controls"]
        if self.role != "admin" and not (control and (ways.bug("resume-by-anyone") or ways.bug("resume-by-coordinator") and self.role == "coordinator" or ways.bug("resume-by-system") and self.role == "system")):
            if not (ways.bug("approval-by-anyone") and parts[1:] == ["approve"]):
                return int(ways.pick("control-actor").removeprefix("control-actor-")), {"detail": "for the Admin"}
        try:
            body = rules.read(self.body) if self.body.strip() else None
        except ValueError:
            return 400, {"detail": "not JSON"}
        match parts:
            case []:
                status = bus.plan(body)
            case [task_id, "approve"]:
                status = bus.approve(task_id)
            case [task_id, "controls"]:
                status = bus.control(task_id, body)
            case [task_id, "ci"]:
                status = bus.ci(task_id, body)
            case _:
                status = 404
        return status, None if status == 204 else {"accepted": status < 300}

    def hook(self, method, parts):
        bus = self.server.bus
        if parts == ["clock"] and method == "POST":
            body = rules.read(self.body)
            with bus.lock:
                if "set" in body:
                    bus.clock.ahead_ms += int(rules.instant(body["set"]).timestamp() * 1000) - bus.now()
                else:
                    bus.clock.ahead_ms += int(body.get("advance_ms", 0))
                bus.tick()
                bus.touch()
        elif parts == ["reset"] and method == "POST":
            with bus.lock:
                for kept in (bus.records, bus.by_id, bus.acks, bus.errors, bus.tasks, bus.timers):
                    kept.clear()
            return 200, {}
        elif parts != ["clock"]:
            return 404, {"detail": "not found"}
        return 200, {"now": iso(bus.now(), bus.ways), "now_ms": bus.now()}


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address, ways, roles):
        super().__init__(address, Handler)
        self.ways, self.bus = ways, Bus(ways, roles)
        for name in roles:
            if name in ROLES:
                ROLES[name](ways, accesses.Local(self.bus)).start()
        threading.Thread(target=self.timers, daemon=True).start()

    def timers(self):
        while True:
            time.sleep(0.05)
            try:
                self.bus.tick()
            except Exception:
                traceback.print_exc()

    def handle_error(self, *_):
        if not isinstance(sys.exc_info()[1], (ConnectionError, TimeoutError)):
            traceback.print_exc()


# --- The command line ---------------------------------------------------------------------------------------------------


def arguments(words=None):
    env = os.environ.get
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--port-file", help="the line `listening URL` is written to this file")
    parser.add_argument("--roles", default=env("AMP_ROLE", "coordinator,executor,reviewer,system"), help="active roles, with commas")
    parser.add_argument("--ssot", default=env("AMP_SSOT_URL"), help="act as one role at the store of this URL; nothing is served")
    parser.add_argument("--tree", help="act as roles in this directory; nothing is served")
    parser.add_argument("--choice", action="append", default=[])
    parser.add_argument("--preset", help="random:SEED, strict, strict:SEED, strictest or tolerated")
    parser.add_argument("--mutant")
    parser.add_argument("--list-choices", action="store_true")
    parser.add_argument("--list-mutants", action="store_true")
    parser.add_argument("--show", action="store_true", help="the choices that differ from the default, and what a target file has to declare")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(words)


def make_ways(choice=(), preset=None, mutant=None):
    if mutant is not None and mutant not in MUTANTS:
        raise SystemExit(f"unknown bug {mutant}")
    entry = MUTANTS.get(mutant)
    if entry and entry.profile == "strict" and not preset:
        preset = "strictest"
    return Ways(chosen([*choice, *(entry.needs if entry else ())], preset), entry)


def listing(rows, as_json):
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    for row in rows:
        print(f"{row['name']}: {row['about']} ({', '.join(row.get('breaks') or row.get('errata'))})")


def main():
    options = arguments()
    if options.list_choices:
        return listing([c.row() for c in CHOICES.values()], options.json)
    if options.list_mutants:
        return listing([m.row() for m in MUTANTS.values()], options.json)
    ways = make_ways(options.choice, options.preset, options.mutant)
    if options.show:
        target = {k: v for name in sorted(ways.force) for k, v in CHOICES[name].target.items()}
        return print(json.dumps({"choices": sorted(ways.force - defaults()), "target": target}))
    roles = [r for r in options.roles.split(",") if r]
    if options.ssot or options.tree:
        for role in roles:
            access = accesses.Tree(ways, options.tree, int(os.environ.get("AMP_POLL_MS", 50))) if options.tree else accesses.Remote(ways, options.ssot, role, os.environ.get("AMP_TOKEN"), int(os.environ.get("AMP_POLL_MS", 50)))
            ROLES[role](ways, access).start()
        line = f"acting as {','.join(roles)}"
    else:
        server = Server((options.host, options.port), ways, roles)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        line = f"listening http://{options.host}:{server.server_address[1]}"
    print(line, flush=True)
    if options.port_file:
        Path(options.port_file + ".new").write_text(line + "\n")
        os.replace(options.port_file + ".new", options.port_file)
    threading.Event().wait()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass

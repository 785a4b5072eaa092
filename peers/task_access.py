"""How a role reaches the store: in the same process, over HTTP at a store that proofmark hosts, or in a tree of files."""

import hashlib
import http.client
import json
import os
import threading
import time
from pathlib import Path
from urllib.parse import quote, urlsplit

import task_rules as rules
from task_bus import iso


class Local:
    """The bus of the same process. It has checked what it hands on."""

    unchecked = False

    def __init__(self, bus):
        self.bus, self.cursor = bus, {}

    def version(self):
        return self.bus.version

    def wait(self, version, most):
        with self.bus.lock:
            if self.bus.version == version:
                self.bus.changed.wait(most)

    def now(self):
        return self.bus.now()

    def inbox(self, role):
        with self.bus.lock:
            if self.bus.ways.bug("resend-handled-again") or role == "coordinator" and self.bus.ways.bug("verdict-counted-again"):
                self.cursor[role] = max(0, self.cursor.get(role, 0) - 1)
            new = self.bus.records[self.cursor.get(role, 0):]
            self.cursor[role] = len(self.bus.records)
            return [(r["message"], None) for r in new if r["message"].get("to") == role]

    def record(self, msg_id):
        with self.bus.lock:
            return self.bus.record(msg_id)

    def first_dispatch(self, task):
        with self.bus.lock:
            found = self.bus.dispatches(task)
            return found[0] if found else None

    def task(self, task_id):
        with self.bus.lock:
            t = self.bus.task_of(task_id)
            return {"suspended": t.suspended, "cancelled": t.instruction == "cancel", "resumes": t.resumes, "status": t.status, "rejects": t.rejects, "last": t.last}

    def plans(self):
        with self.bus.lock:
            return [(t.task_id, t.plan, t.approved) for t in self.bus.tasks.values() if t.plan is not None]

    def ci(self, task_id):
        with self.bus.lock:
            return self.bus.task_of(task_id).ci

    def acked(self, msg_id, role):
        with self.bus.lock:
            return any(a["msg_id"] == msg_id and a["actor"] == role for a in self.bus.acks)

    def new_id(self, kind, task, _):
        with self.bus.lock:
            return self.bus.new_id(kind, task)

    def submit(self, role, message):
        """What a role of this process writes is not checked again, so that its bugs show."""
        with self.bus.lock:
            task = self.bus.tasks.get(message["task_id"])
            if task and task.suspended and message["type"] != "escalation" and not self.bus.ways.bug("lock-without-stop", "carries-out-its-suggestion", f"{role}-ignores-suspension", f"{role}-never-halts", "suspension-ignored-by-bus"):
                return False
            self.bus.store(role, message)
            return True

    def ack(self, role, msg_id, record):
        ways = self.bus.ways
        with self.bus.lock:
            if record["msg_id"] != msg_id:
                self.bus.acks.append({**record, "seq": len(self.bus.acks) + 1})
            elif ways.bug("ack-as-system"):
                self.bus.acks.append({**record, "actor": "system", "seq": len(self.bus.acks) + 1})
            else:
                self.bus.ack(role, msg_id, record)

    def log(self, role, found, message, body):
        _, code, path, text = found
        with self.bus.lock:
            self.bus.log(role, code, path, text, message.get("msg_id") if isinstance(message, dict) else None, body)


class Away:
    """What the two accesses to other stores share: nothing was checked, and ids are made here."""

    unchecked = True

    def __init__(self, ways):
        self.ways = ways
        self.lock = threading.Lock()

    def new_id(self, kind, task, last):
        ways, ms = self.ways, self.now()
        with self.lock:
            if ways.bug("msg-id-in-seconds"):
                return f"{kind}-{task}-{ms // 1000}"
            ms = max(ms, last.get((kind, task), 0) + 1)
            last[kind, task] = ms
            return f"{kind}-{task}-{ms}"

    def entry(self, role, found, message):
        """An entry of the error log. The bytes of a message are not known here."""
        _, code, path, text = found
        msg_id = message.get("msg_id") if isinstance(message, dict) else None
        digest = hashlib.sha256(json.dumps(message).encode()).hexdigest()
        form = self.ways.pick("log-form")
        named = msg_id if isinstance(msg_id, str) else None
        if form == "log-text":
            return {"ts": iso(self.now(), self.ways), "detail": f"{role} refused {named or digest}: {text}"}
        if form == "log-time":
            return {"ts": iso(self.now(), self.ways), "receiver": role, "reason": code}
        entry = {"ts": iso(self.now(), self.ways), "receiver": role, "msg_id": named}
        if form == "log-full":
            entry |= {"code": code, "path": path, "detail": text, "body_sha256": digest}
        return entry

    def has_task(self, task):
        return True

    def dispatches(self, task):
        return [m for m in self.messages(task) if m.get("type") == "task_dispatch" and not rules.problems(m, self.ways)]

    def requests(self, task):
        return [m for m in self.messages(task) if m.get("type") == "review_request"]

    def first_dispatch(self, task):
        found = self.dispatches(task)
        return found[0] if found else None


class Remote(Away):
    """A store behind the HTTP calls of the binding."""

    def __init__(self, ways, url, role, token=None, poll_ms=50):
        super().__init__(ways)
        parts = urlsplit(url)
        self.host, self.path = parts.netloc, parts.path.rstrip("/")
        if not self.path.endswith("/api/amp/v1"):
            self.path += "/api/amp/v1"
        self.role, self.token, self.poll = role, token, poll_ms / 1000
        self.cursor, self.ahead_ms, self.known = 0, 0, {}
        self.link = None

    def call(self, method, path, body=None, role=None):
        """(status, body); (0, None) if nothing answers."""
        headers = {"X-AMP-Role": role or self.role, "Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        data = None if body is None else json.dumps(body).encode()
        with self.lock:
            for _ in range(2):
                try:
                    if self.link is None:
                        self.link = http.client.HTTPConnection(self.host, timeout=10)
                    self.link.request(method, self.path + path, data, headers)
                    answer = self.link.getresponse()
                    text = answer.read()
                    return answer.status, json.loads(text) if text.strip() else None
                except (OSError, http.client.HTTPException, ValueError):
                    self.link = None
        return 0, None

    def version(self):
        return None

    def wait(self, *_):
        time.sleep(self.poll)
        _, body = self.call("GET", "/_test/clock")
        if isinstance(body, dict) and isinstance(body.get("now_ms"), int):
            self.ahead_ms = body["now_ms"] - int(time.time() * 1000)
            self.ahead_ms = 0 if abs(self.ahead_ms) < 1000 else self.ahead_ms

    def now(self):
        return int(time.time() * 1000) + self.ahead_ms

    def inbox(self, role):
        again = self.ways.bug("resend-handled-again")
        status, body = self.call("GET", f"/messages?to={role}&after={max(0, self.cursor - again)}")
        if status != 200 or not isinstance(body, dict):
            return []
        found = body.get("messages") or []
        for record in found:
            self.cursor = max(self.cursor, record.get("seq") or 0)
        return [(r["message"], None) for r in found]

    def messages(self, task):
        _, body = self.call("GET", f"/messages?task_id={quote(str(task))}")
        return [r["message"] for r in (body or {}).get("messages") or []]

    def record(self, msg_id):
        status, body = self.call("GET", f"/messages/{quote(str(msg_id), safe='')}")
        return body if status == 200 else None

    def task(self, task_id):
        status, body = self.call("GET", f"/tasks/{quote(str(task_id), safe='')}")
        record = body if status == 200 and isinstance(body, dict) else {}
        return shown(record)

    def plans(self):
        _, body = self.call("GET", "/tasks")
        tasks = (body or {}).get("tasks") or []
        return [(t["task_id"], t["plan"], t.get("plan_approved") is True) for t in tasks if isinstance(t.get("plan"), dict)]

    def ci(self, task_id):
        _, body = self.call("GET", f"/tasks/{task_id}")
        return (body or {}).get("ci")

    def acked(self, msg_id, role):
        _, body = self.call("GET", f"/messages/{msg_id}/acks")
        return any(a.get("actor") == role for a in (body or {}).get("acks") or [])

    def submit(self, role, message):
        status, _ = self.call("POST", "/messages", message, role)
        return status not in (0, 423)

    def ack(self, role, msg_id, record):
        self.call("POST", f"/messages/{quote(str(msg_id), safe='')}/acks", record, role)

    def log(self, role, found, message, body):
        self.call("POST", "/errors", self.entry(role, found, message))


def shown(record):
    """A task record of another store."""
    controls = [c for c in record.get("controls") or [] if isinstance(c, dict)]
    resumes = [c for c in controls if c.get("control_type") == "RESUME"]
    last = (resumes[-1].get("payload") or {}).get("instruction") if resumes else None
    return {
        "suspended": record.get("suspended") is True, "cancelled": last == "cancel", "resumes": len(resumes),
        "status": record.get("status") or "unknown", "rejects": record.get("reject_count") or 0, "last": record.get("last_successful_msg_id"),
    }  # fmt: skip


class Tree(Away):
    """A directory as in section 4 of the binding."""

    def __init__(self, ways, root, poll_ms=50):
        super().__init__(ways)
        self.root, self.poll = Path(root), poll_ms / 1000
        for folder in ("ssot/tasks", "ssot/messages", "ssot/acks", "ssot/errors", "ssot/control/pending", "inbox", "audit"):
            (self.root / folder).mkdir(parents=True, exist_ok=True)
        self.done, self.at = set(), {}

    def version(self):
        return None

    def wait(self, *_):
        time.sleep(self.poll)

    def now(self):
        return int(time.time() * 1000)

    def read(self, path):
        """(message, bytes) of a file; the message is None if it is not JSON."""
        try:
            data = path.read_bytes()
        except OSError:
            return None, b""
        try:
            return rules.read(data), data
        except ValueError:
            return None, data

    def write(self, path, value):
        path.parent.mkdir(parents=True, exist_ok=True)
        there = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.new")
        there.write_text(json.dumps(value))
        os.replace(there, path)

    def inbox(self, role):
        found = []
        files = [p for p in self.root.glob("ssot/messages/*/*.json") if not p.name.startswith(".")]
        files += [p for p in self.root.glob(f"inbox/{role}/*.json") if not p.name.startswith(".")]
        for path in sorted((p for p in files if (role, p) not in self.done), key=lambda p: p.stat().st_mtime_ns):
            message, data = self.read(path)
            if not data:
                continue
            self.done.add((role, path))
            own = path.parent.parent == self.root / "inbox"
            if own or isinstance(message, dict) and message.get("to") == role:
                found.append((message, data))
        return found

    def messages(self, task):
        found = [self.read(p)[0] for p in self.root.glob(f"ssot/messages/{task}/*.json") if not p.name.startswith(".")]
        return [m for m in found if isinstance(m, dict)]

    def record(self, msg_id):
        for path in self.root.glob(f"ssot/messages/*/{msg_id}.json"):
            message, _ = self.read(path)
            if isinstance(message, dict):
                return {"message": message}
        return None

    def task(self, task_id):
        record, _ = self.read(self.root / f"ssot/tasks/{task_id}.json")
        record = dict(record) if isinstance(record, dict) else {}
        halts = [m for m in self.messages(task_id) if m.get("type") == "escalation" and (m.get("payload") or {}).get("severity") == "critical"]
        record["suspended"] = record.get("suspended") is True or bool(halts)
        return shown(record)

    def plans(self):
        return []

    def ci(self, task_id):
        return None

    def acked(self, msg_id, role):
        return any(self.root.glob(f"ssot/acks/*/{msg_id}.{role}.json"))

    def submit(self, role, message):
        self.write(self.root / f"ssot/messages/{message['task_id']}/{message['msg_id']}.json", message)
        self.keep_task(message)
        return True

    def keep_task(self, message):
        path = self.root / f"ssot/tasks/{message['task_id']}.json"
        if not path.exists():
            stamp = iso(self.now(), self.ways)
            self.write(path, {"task_id": message["task_id"], "status": "executing", "reject_count": 0, "suspended": False, "created_at": stamp, "updated_at": stamp})

    def ack(self, role, msg_id, record):
        self.write(self.root / f"ssot/acks/{record['task_id']}/{msg_id}.{role}.json", record)
        self.keep_task(record)

    def log(self, role, found, message, body):
        entry = self.entry(role, found, message)
        if body is not None:
            entry["body_sha256"] = hashlib.sha256(body).hexdigest()
        with self.lock, (self.root / "ssot/errors/errors.jsonl").open("a") as out:
            out.write(json.dumps(entry) + "\n")



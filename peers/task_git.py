"""What the Executor does with a git repository."""

import os
import subprocess
from pathlib import Path
from typing import NamedTuple

ENVIRONMENT = {
    **os.environ, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_TERMINAL_PROMPT": "0",
    "GIT_AUTHOR_NAME": "executor", "GIT_AUTHOR_EMAIL": "executor@example.invalid",
    "GIT_COMMITTER_NAME": "executor", "GIT_COMMITTER_EMAIL": "executor@example.invalid",
}  # fmt: skip


class Change(NamedTuple):
    files: list
    added: int
    removed: int
    commit: str


def git(repo, *words, data=None, extra=None):
    """The output of a command; None if it fails."""
    done = subprocess.run(["git", "-C", repo, *words], input=data, capture_output=True, env={**ENVIRONMENT, **(extra or {})}, timeout=20)
    return done.stdout if done.returncode == 0 else None


def is_repository(repo):
    return os.path.isabs(repo) and os.path.exists(os.path.join(repo, ".git"))


def head(repo, branch):
    name = branch if branch == "HEAD" else f"refs/heads/{branch}"
    found = git(repo, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    return found.decode().strip() if found else None


def move(repo, branch, commit):
    git(repo, "update-ref", f"refs/heads/{branch}", commit)


def append(repo, branch, file, line, subject, in_work_tree):
    """Appends a line to a file of a branch and commits it. Returns the change, or None."""
    base = head(repo, branch) or head(repo, "HEAD")
    if base is None:
        return None
    if in_work_tree:
        if git(repo, "checkout", "--quiet", "-B", branch, base) is None:
            return None
        with (Path(repo) / file).open("a") as out:
            out.write(line + "\n")
        if git(repo, "add", "--", file) is None or git(repo, "commit", "--quiet", "--no-verify", "-m", subject or "Work") is None:
            return None
    else:
        text = git(repo, "cat-file", "blob", f"{base}:{file}") or b""
        blob = git(repo, "hash-object", "-w", "--stdin", data=text + line.encode() + b"\n")
        if blob is None:
            return None
        index = {"GIT_INDEX_FILE": os.path.join(repo, ".git", "task-peer-index")}
        git(repo, "read-tree", base, extra=index)
        git(repo, "update-index", "--add", "--cacheinfo", f"100644,{blob.decode().strip()},{file}", extra=index)
        tree = git(repo, "write-tree", extra=index)
        os.remove(index["GIT_INDEX_FILE"])
        commit = git(repo, "commit-tree", tree.decode().strip(), "-p", base, data=(subject or "Work").encode())
        git(repo, "update-ref", f"refs/heads/{branch}", commit.decode().strip())
    return since(repo, base, branch, None)


def since(repo, base, branch, change):
    """What changed on the branch since `base`."""
    now = head(repo, branch)
    base = base or head(repo, "HEAD")
    if now is None or now == base:
        return change
    listed = git(repo, "diff", "--numstat", "-z", base, now) if base else None
    if listed is None:
        return change  # the repository is gone: the case has ended
    files, added, removed = [], 0, 0
    for row in listed.decode().split("\0"):
        if row:
            plus, minus, name = row.split("\t", 2)
            files.append(name)
            added += int(plus) if plus.isdigit() else 0
            removed += int(minus) if minus.isdigit() else 0
    return Change(files, added, removed, now)


def scratch(repo):
    (Path(repo) / "scratch.txt").write_text("still here\n")

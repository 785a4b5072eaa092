#!/usr/bin/env python3
"""A trivial or hostile server. No case of a harness may pass against it, and every run against it has to end.

    python3 peers/dumb_server.py --kind KIND [--port 0] [--port-file FILE]

Raw sockets, one thread per connection. Python 3.11, standard library only.
"""

import argparse
import os
import random
import socket
import threading
import time

HTML = b"<!doctype html><title>It works!</title><h1>It works!</h1>"


def read_request(f):
    """(first line, body) of the next request, or None at the end."""
    line = f.readline(65536)
    if not line.strip():
        return None
    length, chunked = 0, False
    while True:
        header = f.readline(65536)
        if not header.strip():
            break
        name, _, value = header.partition(b":")
        if name.strip().lower() == b"content-length" and value.strip().isdigit():
            length = int(value)
        if name.strip().lower() == b"transfer-encoding" and b"chunked" in value.lower():
            chunked = True
    if not chunked:
        return line, f.read(length)
    body = b""
    while True:
        size = int(f.readline(1024).partition(b";")[0] or b"0", 16)
        piece = f.read(size)
        f.readline(8)
        if size == 0:
            return line, body
        body += piece


def answer(status, body=b"", media=b"application/json", more=b""):
    head = b"HTTP/1.1 " + status + b"\r\n" + more
    if body:
        head += b"Content-Type: " + media + b"\r\n"
    return head + b"Content-Length: " + str(len(body)).encode() + b"\r\n\r\n" + body


def reply(kind, line, body):
    if kind == "empty-object":
        return answer(b"200 OK", b"{}")
    if kind == "null":
        return answer(b"200 OK", b"null")
    if kind == "always-200":
        return answer(b"200 OK")
    if kind == "always-404":
        return answer(b"404 Not Found", b'{"error":{"code":"not_found","message":"no"}}')
    if kind == "always-500":
        return answer(b"500 Internal Server Error", b'{"error":{"code":"internal","message":"no"}}')
    if kind == "echo":
        return answer(b"200 OK", body)
    if kind == "html":
        return answer(b"200 OK", HTML, b"text/html; charset=utf-8")
    if kind == "redirect-loop":
        target = line.split(b" ")[1] if line.count(b" ") >= 2 else b"/"
        path = target.partition(b"?")[0]
        number = int(path.rpartition(b"/loop")[2] or 0) if path.rpartition(b"/loop")[2].isdigit() else 0
        return answer(b"307 Temporary Redirect", more=b"Location: /loop" + str(number + 1).encode() + b"\r\n")
    raise ValueError(kind)


def converse(kind, s):
    if kind == "closing":
        return
    if kind == "silent":
        while s.recv(65536):
            pass
        return
    with s.makefile("rb") as f:
        talk(kind, s, f)


def talk(kind, s, f):
    while True:
        request = read_request(f)
        if request is None:
            return
        if kind == "garbage":
            dice = random.Random(7)
            s.sendall(bytes(dice.randrange(256) for _ in range(2000)) + b"\r\n\r\n")
            return
        if kind == "huge":
            s.sendall(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n[\r\n"
            )
            block = b'"' + b"x" * 65532 + b'",'
            while True:
                s.sendall(f"{len(block):x}\r\n".encode() + block + b"\r\n")
        if kind == "slow-drip":
            for byte in answer(b"200 OK", b"{" + b" " * 100_000 + b"}"):
                s.sendall(bytes([byte]))
                time.sleep(1)
            return
        s.sendall(reply(kind, *request))


def serve(kind, s):
    try:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        converse(kind, s)
    except (OSError, ValueError):
        pass
    finally:
        s.close()


KINDS = (
    "silent",
    "closing",
    "empty-object",
    "always-200",
    "always-404",
    "always-500",
    "echo",
    "garbage",
    "huge",
    "slow-drip",
    "redirect-loop",
    "null",
    "html",
)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=KINDS, required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--port-file", help="the port is written here once the server listens")
    arguments = parser.parse_args()
    listener = socket.create_server((arguments.host, arguments.port), backlog=512)
    port = listener.getsockname()[1]
    if arguments.port_file:
        with open(arguments.port_file + ".tmp", "w") as f:
            f.write(f"{port}\n")
        os.replace(arguments.port_file + ".tmp", arguments.port_file)
    print(f"http://{arguments.host}:{port}", flush=True)
    try:
        while True:
            s, _ = listener.accept()
            threading.Thread(target=serve, args=(arguments.kind, s), daemon=True).start()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()

"""Checks that a target can be identified by its did:key alone, and by a DID document in a file.

    python3 .ci/amp_identities.py PROOFMARK
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.request

CASE = "amp-core/basics#accepts-*message"  # plaintext and encrypted


def check(program, folder, name, settings):
    """Runs the cases against the target with these settings."""
    path = os.path.join(folder, f"{name}.yaml")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"protocol": "amp-core", **settings}, file)
    command = [program, "check", "--target", path, "--only", CASE, "--quiet", "--out", os.path.join(folder, name)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    with open(os.path.join(folder, name, "report.json"), encoding="utf-8") as file:
        cases = json.load(file)["summary"]["cases"]
    good = done.returncode in (0, 3) and cases["pass"] > 0 and cases["fail"] == cases["error"] == cases["inconclusive"] == 0
    print(f"{name}: {cases['pass']} pass, exit {done.returncode}" + ("" if good else f": WRONG\n{done.stdout}{done.stderr}"))
    return good


def served(program, *options):
    """Starts the reference; returns it with its URL and its address for frames over TCP."""
    command = [program, "serve", "--protocol", "amp-core", "--listen", "127.0.0.1:0", *options]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    line = server.stdout.readline()
    return server, re.search(r"http://\S+", line).group(), re.search(r"amp://\S+", line).group()


def main():
    program = sys.argv[1]
    good = []
    with tempfile.TemporaryDirectory() as folder:
        server, url, tcp = served(program)
        try:
            did = document(url)["id"]
            assert did.startswith("did:key:")
            # Only frames over TCP: there is no server for a document.
            good.append(check(program, folder, "did-key-alone", {"tcp": tcp, "settings": {"did": did}}))
        finally:
            server.kill()
            server.wait()
        # A did:web whose host does not exist, and whose listed key agreement key is not the derived one.
        server, url, tcp = served(program, "--set", "did=did:web:agent.proofmark.invalid")
        try:
            found = document(url)
            assert found["id"] == "did:web:agent.proofmark.invalid"
            with open(os.path.join(folder, "did.json"), "w", encoding="utf-8") as out:
                json.dump(found, out)
            settings = {"did": found["id"], "did_document": {"file": "did.json"}}
            good.append(check(program, folder, "did-web-and-file", {"tcp": tcp, "settings": settings}))
            good.append(check(program, folder, "did-web-and-url", {"tcp": tcp, "url": url, "settings": {"did_document": f"{url}/.well-known/did.json"}}))
        finally:
            server.kill()
            server.wait()
    return 0 if all(good) else 1


def document(url):
    """The DID document that a target publishes."""
    with urllib.request.urlopen(f"{url}/.well-known/did.json", timeout=10) as response:
        return json.load(response)


if __name__ == "__main__":
    sys.exit(main())

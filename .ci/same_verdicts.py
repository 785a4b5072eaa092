#!/usr/bin/env python3
"""Compare the verdicts of two records, case by case, for the cases that both ran against an endpoint.

    python3 .ci/same_verdicts.py EMBEDDED/report.json ENDPOINT/report.json

The first may also hold a library's cases. Exit 0 if there are cases and every verdict is the same.
"""

import json
import sys


def cases(path):
    """Every case by id, except those that this kind of target cannot run."""
    with open(path, encoding="utf-8") as file:
        record = json.load(file)
    found = {}
    for protocol in record["protocols"]:
        for case in protocol["cases"]:
            if case.get("reason") != "unobservable":
                found[case["id"]] = case
    return found


def asked_over_http(case):
    return case["transport"] == "http" and case["verdict"] != "not-run"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    embedded, endpoint = cases(sys.argv[1]), cases(sys.argv[2])
    wrong = []
    for name, case in endpoint.items():
        other = embedded.get(name, {}).get("verdict", "no verdict")
        if other != case["verdict"]:
            wrong.append(f"{name}: {case['verdict']} as an endpoint, {other} embedded")
    wrong += [f"{name}: not run against the endpoint" for name, case in embedded.items()
              if asked_over_http(case) and name not in endpoint]
    for line in wrong:
        print(line)
    print(f"{len(endpoint)} cases of an endpoint, {len(wrong)} with another verdict")
    sys.exit(1 if wrong or not endpoint else 0)


if __name__ == "__main__":
    main()

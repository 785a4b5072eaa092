#!/usr/bin/env python3
"""How long a live campaign takes to find each mistake of a careless parser that is planted in the reference.

    cargo build --release && python3 fuzz/planted.py [--for 60s] [--seeds 1,2,3,4,5] [--program target/release/proofmark] [NAME...]

Writes fuzz/PLANTED.md, if no name is given. A campaign ends with its first finding; its time is that of the whole program,
confirming and making the finding small included.
"""

import argparse
import pathlib
import re
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLES = {
    "agentic": ROOT / "reference-impl/src/agentic/careless.rs",
    "amp-core": ROOT / "reference-impl/src/amp_core/careless.rs",
}


def mistakes():
    """Protocol, name and summary of each planted mistake."""
    for protocol, path in TABLES.items():
        for name, summary in re.findall(r'Fault \{ name: "([^"]+)".*?summary: "(.*?)" \}', path.read_text(), re.S):
            yield protocol, name, summary.replace("\\\\", "\\")


def campaign(program, protocol, name, seconds, seed):
    """Seconds until the first finding, or None."""
    with tempfile.TemporaryDirectory() as folder:
        words = [program, "fuzz", "--reference", "--fault", name, "--protocol", protocol, "--for", seconds, "--seed", str(seed)]
        words += ["--findings", "1", "--out", folder, "--quiet"]
        if "blows-up" in name:
            # To be slow is no failure before the time limit of an answer.
            words += ["--timeout", "2s"]
            # Few at a time, or what one keeps busy keeps the others waiting.
            words += ["--jobs", "8"]
        begun = time.monotonic()
        code = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode
        return time.monotonic() - begun if code == 1 else None


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--for", dest="seconds", default="60s")
    options.add_argument("--seeds", default="1,2,3,4,5")
    options.add_argument("--program", default=str(ROOT / "target/release/proofmark"))
    options.add_argument("names", nargs="*")
    options = options.parse_args()
    seeds = [int(seed) for seed in options.seeds.split(",")]
    rows, found, always = [], 0, 0
    for protocol, name, summary in mistakes():
        if options.names and name not in options.names:
            continue
        times = [campaign(options.program, protocol, name, options.seconds, seed) for seed in seeds]
        shown = ["–" if spent is None else f"{spent:.1f}" for spent in times]
        found += sum(spent is not None for spent in times)
        always += all(spent is not None for spent in times)
        rows.append(f"| {protocol} | `{name}` | {summary} | " + " | ".join(shown) + " |")
        print(rows[-1], flush=True)
    if options.names:
        return
    head = "| protocol | mistake | what it does | " + " | ".join(f"seed {seed}" for seed in seeds) + " |"
    text = [
        "# Planted mistakes of careless parsers",
        "",
        f"Seconds until a campaign of at most {options.seconds} (`proofmark fuzz --reference --fault NAME --findings 1`) ended with",
        "its first finding, on a machine of two cores; a dash where it found nothing. Mistakes that blow up were looked for with",
        "`--timeout 2s --jobs 8`; where that took more than a minute, the finding was there in time, and confirming it and making",
        "it small took the rest. Made by `python3 fuzz/planted.py`.",
        "",
        f"{found} of {len(rows) * len(seeds)} campaigns found what was planted; {always} of {len(rows)} mistakes were found with every seed.",
        "",
        head,
        "|---|---|---|" + "--:|" * len(seeds),
        *rows,
    ]
    (ROOT / "fuzz/PLANTED.md").write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()

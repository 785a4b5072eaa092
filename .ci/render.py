#!/usr/bin/env python3
"""Render HTML reports in a headless browser at 400 and 1400 pixels.

    python3 .ci/render.py BROWSER REPORT.HTML...

A report fails if its page is wider than the window, if its script fails, or if it is almost empty.
"""

import html
import re
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

WIDTHS = (400, 1400)
HEIGHT = 2000

# A frame, because browsers have a minimum window size. It measures its content and reports the size in its title.
FRAME = """<!doctype html><meta charset="utf-8"><style>body {{ margin: 0 }} iframe {{ border: 0; display: block }}</style>
<iframe id="frame" src="{report}" width="{width}" height="{height}"></iframe>
<script>
  const frame = document.getElementById("frame");
  frame.onload = () => {{
    const inside = frame.contentDocument.documentElement;
    document.title = `width ${{inside.scrollWidth}} of ${{inside.clientWidth}}, text ${{frame.contentDocument.body.innerText.length}}`;
  }};
</script>
"""


def browse(browser, profile, *options):
    words = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
             "--allow-file-access-from-files", "--virtual-time-budget=5000", f"--user-data-dir={profile}", *options]
    return subprocess.run(words, capture_output=True, text=True, timeout=120)


def rows(png):
    """The number of different pixel rows of a picture, as filtered."""
    data, at, width, depth = b"", 8, 0, 0
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at:at + 8])
        body = png[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, _, bits, colour = struct.unpack(">IIBB", body[:10])
            depth = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour] * bits // 8
        if kind == b"IDAT":
            data += body
        at += 12 + length
    pixels = zlib.decompress(data)
    stride = width * depth + 1
    return len({pixels[start:start + stride] for start in range(0, len(pixels), stride)})


def check(browser, report, width):
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        page = Path(folder) / "frame.html"
        page.write_text(FRAME.format(report=html.escape(report.resolve().as_uri()), width=width, height=HEIGHT))
        shot = Path(folder) / "shot.png"
        size = f"--window-size={max(width, 800)},{HEIGHT}"
        seen = browse(browser, f"{folder}/a", size, "--dump-dom", page.as_uri())
        found = re.search(r"<title>width (\d+) of (\d+), text (\d+)</title>", seen.stdout)
        if not found:
            return f"the page does not load: {seen.stderr.strip()[-300:]}"
        inside, window, text = map(int, found.groups())
        browse(browser, f"{folder}/b", size, f"--screenshot={shot}", page.as_uri())
        different = rows(shot.read_bytes()) if shot.exists() else 0
        print(f"{report.parent.name}/{report.name} at {width}: page {inside} of {window} pixels, {text} letters, "
              f"{different} different rows")
        if inside > window or window > width:
            return f"the page is {inside} pixels wide in a window of {window}"
        if text < 200 or different < 50:
            return "the page is almost empty"
    return None


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    bad = 0
    for report in map(Path, sys.argv[2:]):
        for width in WIDTHS:
            wrong = check(sys.argv[1], report, width)
            if wrong:
                bad += 1
                print(f"{report} at {width}: {wrong}")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()

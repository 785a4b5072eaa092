"""When to send again (section 16.3, E48)."""

from __future__ import annotations

from . import codes

BASE, MAX_BACKOFF = 1_000, 60_000
MAX_ATTEMPTS = 5


def delay(
    attempt: int, random: float, code: int | None = None, retry: bool | None = None, ttl_left: int | None = None
) -> int | None:
    """Milliseconds before retry number `attempt`, which counts from 1; None to stop. `random` is from 0 to 0.5.

    `code` and `retry` are those of a received ERROR."""
    if retry is False or (code is not None and retry is None and not codes.retryable(code)):
        return None
    # 2**16 seconds are far beyond the cap.
    base = min(BASE * 2 ** min(max(attempt - 1, 0), 16), MAX_BACKOFF)
    wait = int(base * (0.5 + min(max(random, 0.0), 0.5)))
    return None if ttl_left is not None and wait > ttl_left else wait

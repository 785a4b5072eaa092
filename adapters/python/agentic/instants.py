"""Times: RFC 3339 in UTC, of any precision, compared as instants and never rewritten (E57, E58)."""

import re
import time
from datetime import datetime, timezone

_FORM = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?Z")
_MONTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
DAY = 86_400


def instant(text):
    """A sortable value, or None if the text is not a time: whole seconds and the digits of the fraction."""
    found = _FORM.fullmatch(text)
    if not found:
        return None
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not 1 <= month <= 12 or hour > 23 or minute > 59 or second > 59:
        return None
    if not 1 <= day <= _MONTHS[month - 1] + (leap and month == 2):
        return None
    before = year - 1
    days = year * 365 + before // 4 - before // 100 + before // 400
    days += sum(_MONTHS[: month - 1]) + (leap and month > 2) + day
    # Digits after the point compare as text without their trailing zeros.
    return days * DAY + hour * 3600 + minute * 60 + second, (found.group(7) or "").rstrip("0")


def days_before(then, days):
    """The instant the given number of days earlier."""
    seconds, fraction = then
    return seconds - days * DAY, fraction


class Clock:
    """The present time: that of this machine, or the one that was set."""

    def __init__(self, fixed=None):
        self.fixed = fixed

    def now(self):
        if self.fixed is not None:
            return self.fixed
        seconds, rest = divmod(time.time_ns(), 1_000_000_000)
        whole = datetime.fromtimestamp(seconds, timezone.utc)
        return f"{whole:%Y-%m-%dT%H:%M:%S}.{rest // 1000:06d}Z"

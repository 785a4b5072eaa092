"""Versions and their selection (section 13, E50, E51, E91)."""

from __future__ import annotations

import re
from typing import Any, Iterable

_NUMBER = r"(0|[1-9][0-9]{0,8})"
_VERSION = re.compile(rf"{_NUMBER}\.{_NUMBER}(?:\.{_NUMBER}(-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?)?")


def parts(version: Any) -> tuple[int, int, int, bool] | None:
    """Major, minor, patch, and whether it is a release; two parts are equivalent to three. None if it is not a version."""
    match = _VERSION.fullmatch(version) if isinstance(version, str) and len(version) <= 256 else None
    if match is None:
        return None
    return int(match[1]), int(match[2]), int(match[3] or 0), match[4] is None


def _rank(version: Any) -> tuple[int, int, int, bool]:
    return parts(version) or (-1, 0, 0, False)


def major(version: Any) -> int | None:
    """The number before the first dot, or None if it is not a version."""
    known = parts(version)
    return None if known is None else known[0]


def majors(supported: Iterable[Any]) -> frozenset[int]:
    """The major versions in a list of versions and bare majors."""
    found = (entry if isinstance(entry, int) else major(entry) for entry in supported)
    return frozenset(number for number in found if number is not None)


def select(supported: Iterable[Any], offered: Iterable[Any]) -> str | None:
    """The highest offered version that is supported, as offered; without one, the highest of a supported major.
    None without a match. Entries that are not versions are ignored."""
    supported = list(supported)
    known = majors(supported)
    exact = {parts(entry) for entry in supported if isinstance(entry, str)}
    candidates = [version for version in offered if major(version) in known]
    return max([version for version in candidates if parts(version) in exact] or candidates, key=_rank, default=None)


def names(supported: Iterable[Any]) -> list[str]:
    """The versions to offer, the preferred one first."""
    texts = [f"{entry}.0" if isinstance(entry, int) else entry for entry in supported]
    return sorted((text for text in texts if parts(text)), key=_rank, reverse=True)

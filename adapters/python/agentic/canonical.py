"""Canonical form and content hash (section 6.6 and appendix A)."""

import hashlib
import hmac
import re

from . import jsontext


def canonicalize(value):
    """The canonical bytes of a value."""
    return jsontext.write(value, members=_members, number=number).encode("utf-8")


def _members(value):
    """Null members are left out at every depth (E04); names are in the order of their UTF-8 bytes (E05)."""
    kept = [member for member in value.items() if member[1] is not None]
    return sorted(kept, key=lambda member: member[0].encode("utf-8"))


def number(value):
    """A number as ECMAScript prints the nearest double (RFC 8785, section 3.2.2.3; E07)."""
    value = float(value)
    if value == 0:
        return "0"  # negative zero too
    # repr gives the shortest digits that read back as the double, as ECMAScript does. Only the place of the point differs.
    sign, digits, point = _split(repr(value))
    count = len(digits)
    if count <= point <= 21:
        text = digits + "0" * (point - count)
    elif 0 < point <= 21:
        text = digits[:point] + "." + digits[point:]
    elif -6 < point <= 0:
        text = "0." + "0" * -point + digits
    else:
        fraction = "." + digits[1:] if count > 1 else ""
        text = f"{digits[0]}{fraction}e{point - 1:+d}"
    return sign + text


_REPR = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))?(?:e([+-][0-9]+))?")


def _split(text):
    """Sign, digits without zeros around them, and the power of ten of the point: the value is 0.digits * 10**point."""
    sign, whole, fraction, exponent = _REPR.fullmatch(text).groups(default="")
    digits = whole + fraction
    point = len(whole) + int(exponent or 0)
    point -= len(digits) - len(digits.lstrip("0"))
    return sign, digits.strip("0"), point


def content_hash(package):
    """SHA-256 over the canonical form of the unchanged package: no default is filled in (E09)."""
    return "sha256:" + hashlib.sha256(canonicalize(package)).hexdigest()


def verify(package, claimed):
    """Whether `claimed` is the hash of the package. It may lack the prefix and have capitals (E03)."""
    digits = claimed.lower()
    if digits.startswith("sha256:"):
        digits = digits[len("sha256:") :]
    return hmac.compare_digest(("sha256:" + digits).encode("utf-8"), content_hash(package).encode("utf-8"))

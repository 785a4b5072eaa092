"""JSON text to values and back, and the canonical form that signatures are over (RFC 8259, RFC 8785)."""

from __future__ import annotations

import json
import math


class NotJson(ValueError):
    """Bytes that are not one JSON text in UTF-8 (E03, E08)."""


def _members(pairs: list) -> dict:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise NotJson("a member name is repeated")
    return members


def _constant(name: str) -> None:
    raise NotJson(f"{name} is not JSON")


def _fraction(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise NotJson("a number is out of range")
    return value


def read(data: bytes) -> object:
    try:
        value = json.loads(data.decode("utf-8"), object_pairs_hook=_members, parse_constant=_constant, parse_float=_fraction)
        encode(value)  # fails on a lone surrogate
        return value
    except RecursionError:
        raise NotJson("nested too deeply") from None
    except ValueError as error:
        raise NotJson(str(error)) from None


def encode(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8")


def canonical(value: object) -> bytes:
    """RFC 8785: members sorted by UTF-16 code units, numbers as ECMAScript writes them."""
    return _canonical(value).encode("utf-8")


def _canonical(value: object) -> str:
    if isinstance(value, dict):
        members = sorted(value.items(), key=lambda member: member[0].encode("utf-16-be"))
        return "{" + ",".join(f"{_quoted(name)}:{_canonical(member)}" for name, member in members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_canonical(item) for item in value) + "]"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    return _number(float(value))  # type: ignore[arg-type]


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _number(value: float) -> str:
    """Number::toString of ECMAScript; the shortest digits are those of `repr`."""
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    # The value is 0.DIGITS times ten to the power of `point`.
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    count = len(digits)
    if count <= point <= 21:
        return sign + digits + "0" * (point - count)
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    power = f"e{'+' if point > 0 else '-'}{abs(point - 1)}"
    return sign + digits[0] + ("." + digits[1:] if count > 1 else "") + power

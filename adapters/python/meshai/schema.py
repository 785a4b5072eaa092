"""JSON Schema, as far as declarations of capabilities need it (section 2.2, E84): dialect 2020-12, `definitions` accepted."""

from __future__ import annotations

import re

from .model import is_number, is_whole

TYPES = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "number": is_number,
    "integer": is_whole,
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}
MAX_DEPTH = 64

# Keywords by the form of their value.
ONE = ("not", "additionalProperties", "items", "contains", "propertyNames", "if", "then", "else")
SEVERAL = ("allOf", "anyOf", "oneOf", "prefixItems")
NAMED = ("properties", "patternProperties", "definitions", "$defs", "dependentSchemas")
COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")


def flaw(schema: object, depth: int = 0) -> str | None:
    """Why this is not a schema, or None."""
    if isinstance(schema, bool):
        return None
    if not isinstance(schema, dict):
        return "a schema is an object or a boolean"
    if depth > MAX_DEPTH:
        return "nested too deeply"
    types = schema.get("type", [])
    types = types if isinstance(types, list) else [types]
    if any(not isinstance(name, str) or name not in TYPES for name in types):
        return "`type` names a type of JSON"
    if "$ref" in schema and not isinstance(schema["$ref"], str):
        return "`$ref` is a text"
    required = schema.get("required", [])
    if not isinstance(required, list) or any(not isinstance(name, str) for name in required):
        return "`required` is a list of names"
    if not isinstance(schema.get("enum", []), list):
        return "`enum` is a list"
    if "pattern" in schema and _compiled(schema["pattern"]) is None:
        return "`pattern` is a regular expression"
    if any(name in schema and not (is_whole(schema[name]) and schema[name] >= 0) for name in COUNTS):
        return "a count is a non-negative integer"
    if any(name in schema and not is_number(schema[name]) for name in BOUNDS):
        return "a bound is a number"
    if any(name in schema and not isinstance(schema[name], list) for name in SEVERAL):
        return "a list of schemas is an array"
    if any(name in schema and not isinstance(schema[name], dict) for name in NAMED):
        return "named schemas are an object"
    inner = [schema[name] for name in ONE if name in schema]
    inner += [part for name in SEVERAL for part in schema.get(name, [])]
    inner += [part for name in NAMED for part in schema.get(name, {}).values()]
    return next((found for found in (flaw(part, depth + 1) for part in inner) if found), None)


def _compiled(pattern: object) -> re.Pattern | None:
    try:
        return re.compile(pattern) if isinstance(pattern, str) else None
    except (re.error, RecursionError, OverflowError):
        return None


class Unresolved(Exception):
    """A `$ref` that points outside the schema: nothing can be checked (E84)."""


def resolves(schema: object) -> bool:
    """Whether each `$ref` points inside the schema."""
    pending, left = [schema], 10_000
    while pending and left:
        part, left = pending.pop(), left - 1
        if isinstance(part, dict):
            if isinstance(part.get("$ref"), str):
                try:
                    _target(part["$ref"], schema)
                except Unresolved:
                    return False
            pending.extend(part.values())
        elif isinstance(part, list):
            pending.extend(part)
    return True


def mismatch(value: object, schema: object) -> str | None:
    """The place and the reason of the first mismatch, or None. A schema that does not resolve matches everything."""
    try:
        return _mismatch(value, schema, schema, "", 0)
    except Unresolved:
        return None


def _target(reference: str, root: object) -> object:
    if reference != "#" and not reference.startswith("#/"):
        raise Unresolved(reference)
    found = root
    for token in reference.split("/")[1:]:
        token = token.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict) and token in found:
            found = found[token]
        elif isinstance(found, list) and token.isdigit() and int(token) < len(found):
            found = found[int(token)]
        else:
            raise Unresolved(reference)
    return found


def _mismatch(value: object, schema: object, root: object, at: str, depth: int) -> str | None:
    if schema is False:
        return f"{at or '/'} is not allowed"
    if not isinstance(schema, dict):
        return None
    if depth > MAX_DEPTH:
        raise Unresolved("a reference without end")

    def inner(value: object, schema: object, at: str = at) -> str | None:
        return _mismatch(value, schema, root, at, depth + 1)

    if isinstance(schema.get("$ref"), str):
        found = inner(value, _target(schema["$ref"], root))
        if found:
            return found
    types = schema.get("type", [])
    types = types if isinstance(types, list) else [types]
    if types and not any(TYPES[name](value) for name in types):
        return f"{at or '/'} is not of type {' or '.join(types)}"
    if "enum" in schema and not any(same(value, item) for item in schema["enum"]):
        return f"{at or '/'} is not a listed value"
    if "const" in schema and not same(value, schema["const"]):
        return f"{at or '/'} is not the required value"
    if any(inner(value, part) for part in schema.get("allOf", [])):
        return f"{at or '/'} does not match `allOf`"
    if "anyOf" in schema and all(inner(value, part) for part in schema["anyOf"]):
        return f"{at or '/'} does not match `anyOf`"
    if "oneOf" in schema and sum(not inner(value, part) for part in schema["oneOf"]) != 1:
        return f"{at or '/'} does not match `oneOf`"
    if "not" in schema and not inner(value, schema["not"]):
        return f"{at or '/'} matches `not`"
    if isinstance(value, str):
        return _text(value, schema, at)
    if is_number(value):
        return _bounds(value, schema, at)  # type: ignore[arg-type]
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            return f"{at or '/'} has a wrong number of items"
        first = schema.get("prefixItems", [])
        parts = [*first, *[schema.get("items", True)] * max(0, len(value) - len(first))]
        return next((f for f in (inner(v, s, f"{at}/{i}") for i, (v, s) in enumerate(zip(value, parts))) if f), None)
    if isinstance(value, dict):
        missing = [name for name in schema.get("required", []) if name not in value]
        if missing:
            return f"{at}/{missing[0]} is missing"
        if not schema.get("minProperties", 0) <= len(value) <= schema.get("maxProperties", len(value)):
            return f"{at or '/'} has a wrong number of members"
        for name, member in value.items():
            matching = [part for pattern, part in schema.get("patternProperties", {}).items() if re.search(pattern, name)]
            if name in schema.get("properties", {}):
                matching.append(schema["properties"][name])
            for part in matching or [schema.get("additionalProperties", True)]:
                found = inner(member, part, f"{at}/{name}")
                if found:
                    return found
    return None


def _text(value: str, schema: dict, at: str) -> str | None:
    if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)):
        return f"{at or '/'} has a wrong length"
    pattern = _compiled(schema["pattern"]) if "pattern" in schema else None
    return f"{at or '/'} does not match the pattern" if pattern and not pattern.search(value) else None


def _bounds(value: float, schema: dict, at: str) -> str | None:
    low, high = schema.get("minimum", value), schema.get("maximum", value)
    outside = not low <= value <= high
    outside = outside or ("exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"])
    outside = outside or ("exclusiveMaximum" in schema and value >= schema["exclusiveMaximum"])
    return f"{at or '/'} is out of bounds" if outside else None


def same(one: object, other: object) -> bool:
    """Equality of JSON values: true is not 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(member, other[name]) for name, member in one.items())
    return one == other

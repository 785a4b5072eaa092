"""JSON text, canonical forms, signatures, tokens, instants and schemas of the meshai peers."""

import base64
import binascii
import hashlib
import hmac
import json
import math
import re
from datetime import datetime, timedelta, timezone

INSTANT = re.compile(r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(\.\d+)?([Zz]|[+-]\d\d:\d\d)")
TOKEN = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*")


# --- JSON -------------------------------------------------------------------------------------------------------------


def read(data, ways):
    """The JSON value of a body; ValueError if it is not one JSON text in UTF-8."""
    if data.startswith(b"\xef\xbb\xbf") and ways.has("byte-mark-taken"):
        data = data[3:]
    text = data.decode("utf-8", "replace" if ways.bug("bad-utf8-served") else "strict")
    if ways.bug("comments-tolerated"):
        text = re.sub(r"//[^\n\"]*\n|/\*.*?\*/", "", text)
    if ways.bug("stray-commas-tolerated"):
        text = re.sub(r"([{\[]),", r"\1", re.sub(r",([}\]])", r"\1", text))
    if ways.bug("truncated-text-completed"):
        text = completed(text)
    way = ways.pick("duplicates")

    def members(pairs):
        names = [name for name, _ in pairs]
        if way == "duplicates-refused" and len(set(names)) < len(names):
            raise ValueError("a member name appears twice")
        return dict(reversed(pairs)) if way == "duplicates-first" else dict(pairs)

    try:
        if ways.bug("text-after-message-ignored"):
            return json.JSONDecoder(object_pairs_hook=members).raw_decode(text.lstrip())[0]
        return json.loads(text, object_pairs_hook=members, parse_constant=refused, parse_float=finite)
    except RecursionError:
        raise ValueError("too deep") from None


def completed(text):
    """The text with the quotes and brackets that are missing at its end."""
    stack, inside, escaped = [], False, False
    for letter in text:
        if inside:
            inside = escaped or letter != '"'
            escaped = letter == "\\" and not escaped
        elif letter == '"':
            inside = True
        elif letter in "{[":
            stack.append("}" if letter == "{" else "]")
        elif letter in "}]" and stack:
            stack.pop()
    return text + ('"' if inside else "") + "".join(reversed(stack))


def refused(word):
    raise ValueError(f"{word} is not JSON")


def finite(text):
    number = float(text)
    if math.isinf(number):
        raise ValueError("a number beyond binary64")
    return number


def write(value, ways):
    """The text of a message, in the form of the choices."""
    if ways.has("order-sorted") or ways.has("order-reversed"):
        value = ordered(value, ways.has("order-reversed"))
    form = ways.pick("text-form")
    marks = (", ", ": ") if form == "text-indented" else (",", ":")
    text = json.dumps(value, ensure_ascii=ways.has("text-ascii"), separators=marks, indent=2 if form == "text-indented" else None)
    if form == "text-newline":
        text += "\n"
    return text.encode("utf-8", "surrogatepass" if ways.has("text-ascii") else "replace")


def ordered(value, reverse):
    """The envelope with its members in another order; what was given by a caller keeps its own."""
    if not isinstance(value, dict):
        return value
    names = list(reversed(value)) if reverse else sorted(value)
    return {name: ordered(value[name], reverse) if name in ("message", "source", "headers", "destination", "payload", "error") else value[name] for name in names}


def number_text(number):
    """A number as ECMAScript writes it (RFC 8785)."""
    if isinstance(number, int):
        return str(number)
    if number == int(number) and abs(number) < 1e21:
        return str(int(number))
    text = repr(number)
    mantissa, _, exponent = text.partition("e")
    if not exponent:
        return text
    power = int(exponent)
    if -7 < power < 0:
        digits = mantissa.replace(".", "").lstrip("-")
        return ("-" if number < 0 else "") + "0." + "0" * (-power - 1) + digits
    return f"{mantissa}e{'+' if power > 0 else '-'}{abs(power)}"


def canonical(value):
    """RFC 8785: members sorted by UTF-16 code units, no white space, shortest escapes."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(f"{json.dumps(n, ensure_ascii=False)}:{canonical(value[n])}" for n in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, (int, float)):
        return number_text(value)
    return json.dumps(value, ensure_ascii=False)


# --- Signatures -------------------------------------------------------------------------------------------------------


def filtered(value, names):
    """What a serialisation with a list of member names leaves of a value."""
    if isinstance(value, dict):
        return {n: filtered(v, names) for n, v in value.items() if n in names}
    return [filtered(v, names) for v in value] if isinstance(value, list) else value


def signed_bytes(message, ways, envelope=None):
    """What a signature is over: the message without its signature."""
    headers = message.get("headers")
    message = dict(message)
    if isinstance(headers, dict):
        message["headers"] = {n: v for n, v in headers.items() if n != "signature"}
        if ways.bug("hmac-null-signature-hashed"):
            message["headers"]["signature"] = None
    for name in ("headers", "destination", "source", "id", "timestamp", "payload"):
        if ways.bug(f"hmac-without-{name}"):
            message.pop(name, None)
    if ways.bug("hmac-top-level-only"):
        message = filtered(message, set(message))
    if ways.bug("hmac-payload-only"):
        message = message.get("payload")
    if ways.bug("hmac-covers-protocol"):
        message = {"protocol": (envelope or {}).get("protocol"), "message": message}
    recipe = ways.pick("recipe")
    if ways.bug("hmac-order-as-sent"):
        return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
    if ways.bug("hmac-with-spaces"):
        return json.dumps(message, ensure_ascii=False, sort_keys=True).encode()
    if recipe == "recipe-jcs" and not ways.bug("hmac-ascii-escapes"):
        text = canonical(message)
        if ways.bug("hmac-ascii-only"):
            return text.encode("ascii", "ignore")
        if ways.bug("hmac-latin-1"):
            return text.encode("latin-1", "replace")
        if ways.bug("hmac-text-lower-case"):
            text = text.lower()
        return text.encode("utf-8", "surrogatepass")
    marks = (", ", ": ") if recipe == "recipe-default" else (",", ":")
    return json.dumps(message, sort_keys=True, separators=marks).encode()


def digest(message, key, ways, envelope=None):
    if ways.bug("hmac-key-decoded"):
        key = base64.urlsafe_b64decode(key + "=" * (-len(key) % 4))
    else:
        key = key.encode()
    return hmac.new(key, signed_bytes(message, ways, envelope), hashlib.md5 if ways.bug("hmac-md5") else hashlib.sha256).digest()


def signature(message, key, ways, envelope=None):
    """The header member `signature` for a message."""
    value = digest(message, key, ways, envelope)
    if ways.bug("signature-of-hex-text"):
        value = value.hex().encode()
    if ways.bug("signature-truncated"):
        value = value[:16]
    text = value.hex() if ways.has("signs-in-hex") else base64.b64encode(value).decode()
    if ways.bug("signature-upper-hex"):
        text = value.hex().upper()
    return {"algorithm": "sha256" if ways.bug("signature-algorithm-renamed") else "HMAC-SHA256", "value": text}


def signature_bytes(text, ways):
    """The bytes of a signature value in base64 or lower-case hexadecimal; ValueError."""
    if not isinstance(text, str):
        raise ValueError("not a text")
    if re.fullmatch(r"[0-9a-f]{64}", text):
        return bytes.fromhex(text)
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None


def signed_well(message, signature, key, ways, envelope=None):
    """Whether a signature that is there is right."""
    if ways.bug("hmac-never-checked"):
        return True
    if not isinstance(signature, dict):
        return False
    algorithm = signature.get("algorithm", "HMAC-SHA256" if ways.has("no-algorithm-taken") else None)
    if algorithm != "HMAC-SHA256" and not ways.bug("hmac-algorithm-ignored"):
        if ways.bug("hmac-none-taken") and algorithm == "none":
            return True
        return ways.bug("hmac-unknown-algorithm-passes") and algorithm not in ("none", None)
    value = signature.get("value")
    if ways.bug("hmac-empty-value-passes") and not value:
        return True
    try:
        given = signature_bytes(value, ways)
    except ValueError:
        return ways.bug("hmac-undecodable-passes")
    right = digest(message, key, ways, envelope)
    if ways.bug("hmac-truncated-accepted") and given and right.startswith(given):
        return True
    if ways.bug("hmac-first-bytes-compared"):
        return given[:8] == right[:8] and len(given) == 32
    if ways.bug("hmac-signature-reused"):
        # Remembers values that were right, for any message.
        known = ways.memory.setdefault("signatures", set())
        if given in known:
            return True
        if given == right:
            known.add(given)
    if ways.bug("hmac-sender-trusted-after-first"):
        known = ways.memory.setdefault("senders", set())
        sender = (message.get("source") or {}).get("agent_id")
        if sender in known:
            return True
        if given == right:
            known.add(sender)
    return hmac.compare_digest(given, right)


# --- Tokens -----------------------------------------------------------------------------------------------------------


def part(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def packed(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def make_token(claims, key):
    head = packed(b'{"alg":"HS256","typ":"JWT"}') + "." + packed(json.dumps(claims).encode())
    return head + "." + packed(hmac.new(key.encode(), head.encode(), hashlib.sha256).digest())


def token_problem(token, key, now, sender, ways):
    """What is wrong with a token, or None."""
    if ways.bug("jwt-first-token-kept"):
        # Once a token of a sender was right, later ones are not looked at.
        if sender in ways.memory.setdefault("tokens", set()):
            return None
    if not isinstance(token, str) or not TOKEN.fullmatch(token):
        if not (ways.bug("jwt-two-segments-taken") and isinstance(token, str) and token.count(".") == 1):
            return "not a token"
        token += "."
    head, body, sign = token.split(".")
    try:
        header, claims = json.loads(part(head)), json.loads(part(body))
    except (ValueError, RecursionError):
        return "not a token"
    if not isinstance(header, dict) or not isinstance(claims, dict):
        return "not a token"
    right = packed(hmac.new(key.encode(), f"{head}.{body}".encode(), hashlib.sha256).digest())
    if ways.bug("jwt-header-not-covered"):
        head = packed(b'{"alg":"HS256","typ":"JWT"}')
        right = packed(hmac.new(key.encode(), f"{head}.{body}".encode(), hashlib.sha256).digest())
    if header.get("alg") == "none" and ways.bug("jwt-alg-none"):
        pass
    elif header.get("alg") != "HS256":
        return "algorithm"
    elif ways.bug("jwt-not-verified"):
        pass
    elif (ways.bug("jwt-missing-signature-passes") or ways.skips("unsigned") and token.endswith(".")) and not sign:
        pass
    elif ways.bug("jwt-signatures-remembered") and sign in ways.memory.setdefault("signs", set()):
        pass
    elif not hmac.compare_digest(sign.encode(), right.encode()):
        if not (ways.bug("jwt-key-or-default") and sign == packed(hmac.new(b"another-key-of-32-bytes-in-length", f"{head}.{body}".encode(), hashlib.sha256).digest())):
            return "signature"
    if ways.bug("jwt-signatures-remembered"):
        ways.memory.setdefault("signs", set()).add(sign)
    leeway = 60 if ways.has("leeway-60") else 3600 if ways.bug("jwt-leeway-of-an-hour") else 0
    ends = claims.get("exp")
    if ways.bug("jwt-expiry-by-issue"):
        ends = claims.get("iat", 0) + 3600
    if ways.bug("jwt-expiry-unchecked"):
        pass
    elif not isinstance(ends, (int, float)) or isinstance(ends, bool):
        if ends is not None or not ways.has("endless-tokens"):
            return "expiry"
    elif ends + leeway < now:
        return "expired"
    if ways.has("audience-checked") and claims.get("aud") != "amp-mesh":
        return "audience"
    if not ways.has("any-subject") and (claims.get("sub", sender) != sender or claims.get("agent_id", sender) != sender):
        return "another agent"
    if ways.bug("jwt-first-token-kept"):
        ways.memory["tokens"].add(sender)
    return None


# --- Instants ---------------------------------------------------------------------------------------------------------


def instant(text):
    """The seconds since 1970 of an RFC 3339 date-time, or None."""
    found = INSTANT.fullmatch(text) if isinstance(text, str) else None
    if not found:
        return None
    *numbers, fraction, zone = found.groups()
    try:
        second = min(int(numbers[5]), 59)  # a leap second
        moment = datetime(*map(int, numbers[:5]), second, tzinfo=timezone.utc)
    except ValueError:
        return None
    if zone not in "Zz":
        hours, minutes = int(zone[1:3]), int(zone[4:])
        if hours > 23 or minutes > 59:
            return None
        shift = timedelta(hours=hours, minutes=minutes)
        moment -= shift if zone[0] == "+" else -shift
    return moment.timestamp() + float(fraction or 0)


def written(seconds, ways):
    """An instant in the form of the choices."""
    moment = datetime.fromtimestamp(seconds, timezone.utc)
    plain = moment.strftime("%Y-%m-%dT%H:%M:%S")
    if ways.bug("timestamp-without-zone"):
        return plain
    if ways.bug("timestamp-epoch"):
        return int(seconds)
    if ways.bug("timestamp-date-only"):
        return plain[:10]
    if ways.bug("timestamp-with-space"):
        return plain.replace("T", " ") + "Z"
    if ways.bug("timestamp-http-date"):
        return moment.strftime("%a, %d %b %Y %H:%M:%S GMT")
    if ways.bug("timestamp-local-time-with-z"):
        return (moment + timedelta(hours=2)).strftime("%Y-%m-%dT%H:%M:%SZ")
    if ways.bug("timestamp-offset-without-colon"):
        return plain + "+0000"
    way = ways.pick("timestamps")
    if way == "time-milliseconds":
        return f"{plain}.{moment.microsecond // 1000:03}Z"
    if way == "time-python":
        return f"{plain}.{moment.microsecond:06}+00:00"
    if way == "time-nanoseconds":
        return f"{plain}.{moment.microsecond:06}000Z"
    if way == "time-offset":
        return (moment + timedelta(hours=5, minutes=30)).strftime("%Y-%m-%dT%H:%M:%S+05:30")
    return plain.lower() + "z" if way == "time-lower-case" else plain + "Z"


# --- Schemas ----------------------------------------------------------------------------------------------------------

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def is_type(value, name):
    if name in ("integer", "number"):
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return number and (name == "number" or value == int(value))
    return isinstance(value, TYPES[name])


def schema_problem(value, schema, ways, at=""):
    """Where a value does not fit a schema, or None. The keywords are those that the capabilities of this peer use."""
    kind = schema.get("type")
    if kind and not is_type(value, kind) and not (at and ways.bug("schema-required-only")):
        if not (ways.bug("schema-numbers-as-texts") and kind == "string" and is_type(value, "number")):
            return at or "/"
    if "enum" in schema and value not in schema["enum"]:
        return at or "/"
    if isinstance(value, str) and len(value) < schema.get("minLength", 0):
        return at or "/"
    if is_type(value, "number") and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        return at or "/"
    if isinstance(value, dict):
        for name in schema.get("required", ()):
            if name not in value and not ways.bug("schema-required-ignored"):
                return f"{at}/{name}"
        for name, inner in schema.get("properties", {}).items():
            if name in value:
                found = schema_problem(value[name], inner, ways, f"{at}/{name}")
                if found:
                    return found
    return None

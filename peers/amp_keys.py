"""DIDs, DID documents and keys: did:key, did:web, the key selection of section 8.9 (E22, E23), Ed25519 and NaCl box by PyNaCl."""

import asyncio
import base64
import hashlib
import json
import re
import ssl
import time
import urllib.parse

from nacl import bindings
from nacl.exceptions import CryptoError

ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
DID = re.compile(r"did:[a-z0-9]+:[A-Za-z0-9._:%-]*[A-Za-z0-9._%-](/[^?#]*)?(\?[^#]*)?(#.*)?\Z")
ORDER = 2**252 + 27742317777372353535851937790883648493
MAX_DOCUMENT = 64 * 1024


def base58(data):
    number, text = int.from_bytes(data, "big"), ""
    while number:
        number, rest = divmod(number, 58)
        text = ALPHABET[rest] + text
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + text


WAYS = None  # of the server of this process


def has_bug(name):
    return WAYS is not None and WAYS.bug(name)


def unbase58(text):
    number = 0
    for letter in text:
        number = number * 58 + ALPHABET.index(letter)
    zeros = len(text) - len(text.lstrip("1"))
    if zeros and has_bug("base58-zeros-lost"):
        zeros = 0
    return b"\0" * zeros + number.to_bytes((number.bit_length() + 7) // 8, "big")


def unbase64url(text):
    if set(text) & set("-_") and has_bug("base64url-as-base64"):
        raise ValueError("not base64")
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def is_did(text):
    return isinstance(text, str) and len(text) <= 2048 and bool(DID.match(text))


def bare(did):
    """Without the fragment (E21)."""
    return did.split("#", 1)[0]


def ed_to_x(public):
    return bindings.crypto_sign_ed25519_pk_to_curve25519(public)


def multibase(code, key):
    return "z" + base58(code + key)


ED, X, P256 = b"\xed\x01", b"\xec\x01", b"\x80\x24"


class Keys:
    """An Ed25519 key and an X25519 key."""

    def __init__(self, seed, agreement=None):
        self.seed = seed
        self.public, self.secret = bindings.crypto_sign_seed_keypair(seed)
        self.x_secret = agreement or bindings.crypto_sign_ed25519_sk_to_curve25519(self.secret)
        self.x_public = bindings.crypto_scalarmult_base(self.x_secret)

    @property
    def did_key(self):
        return "did:key:" + multibase(ED, self.public)

    def sign(self, data):
        return bindings.crypto_sign(data, self.secret)[:64]


def named(name):
    """A test identity of the binding, section 6."""
    return Keys(hashlib.sha256(b"proofmark/amp-core/identity/" + name.encode()).digest())


def verify(public, data, signature, malleable=False):
    if malleable:
        scalar = int.from_bytes(signature[32:], "little") % ORDER
        signature = signature[:32] + scalar.to_bytes(32, "little")
    try:
        bindings.crypto_sign_open(signature + data, public)
        return True
    except (CryptoError, ValueError, TypeError):
        return False


def box_key(public, secret):
    """The key that two parties share; a RuntimeError for a key of low order, with which every party would share it."""
    return bindings.crypto_box_beforenm(public, secret)


def seal(plain, nonce, public, secret):
    return bindings.crypto_box_afternm(plain, nonce, box_key(public, secret))


def unseal(sealed, nonce, public, secret):
    """The plaintext, or None."""
    try:
        return bindings.crypto_box_open_afternm(sealed, nonce, box_key(public, secret))
    except (CryptoError, ValueError, TypeError, RuntimeError):
        return None


def method_key(method):
    """("ed" or "x" or None, bytes) of a verification method in any of the forms of E22."""
    if not isinstance(method, dict):
        return None, b""
    kind = method.get("type")
    try:
        if "publicKeyMultibase" in method:
            text = method["publicKeyMultibase"]
            raw = unbase58(text[1:]) if text[:1] == "z" else unbase64url(text[1:]) if text[:1] == "u" else b""
            if raw[:2] not in (ED, X) and len(raw) >= 34 and has_bug("codec-unchecked"):
                return "ed", raw[2:34]
            if raw[:2] in (ED, X) and len(raw) == 34:
                return ("ed" if raw[:2] == ED else "x"), raw[2:]
            return None, b""
        if "publicKeyJwk" in method:
            jwk = method["publicKeyJwk"]
            curve = {"Ed25519": "ed", "X25519": "x"}.get(jwk.get("crv"))
            raw = unbase64url(jwk.get("x", ""))
            return (curve, raw) if curve and jwk.get("kty") == "OKP" and len(raw) == 32 else (None, b"")
        if "publicKeyBase58" in method:
            raw = unbase58(method["publicKeyBase58"])
            curve = {"Ed25519VerificationKey2018": "ed", "X25519KeyAgreementKey2019": "x"}.get(kind)
            return (curve, raw) if curve and len(raw) == 32 else (None, b"")
    except (ValueError, AttributeError, TypeError):
        pass
    return None, b""


def absolute(did, name):
    return did + name if isinstance(name, str) and name.startswith("#") else name


def methods(document, relationship=None):
    """[(absolute id, method)] of the document, or of one relationship, embedded ones included."""
    did = document.get("id", "")
    listed = [m for m in document.get("verificationMethod", []) if isinstance(m, dict)]
    known = [(absolute(did, m.get("id")), m) for m in listed]
    if relationship is None:
        embedded = []
        for name in ("assertionMethod", "authentication"):
            embedded += [(absolute(did, m.get("id")), m) for m in document.get(name, []) if isinstance(m, dict)]
        return known + embedded
    found = []
    for entry in document.get(relationship, []):
        if isinstance(entry, dict):
            found.append((absolute(did, entry.get("id")), entry))
        else:
            name = absolute(did, entry)
            found += [(i, m) for i, m in known if i == name]
    return found


def revoked(method):
    when = method.get("revoked")
    if not isinstance(when, str):
        return False
    try:
        return time.strptime(when[:19], "%Y-%m-%dT%H:%M:%S") < time.gmtime()
    except ValueError:
        return True


def numeric(name):
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def only_for_agreement(document, name, ways):
    """Whether a method is listed for key agreement only, so that it cannot sign (E23)."""
    listed = [r for r in ("assertionMethod", "authentication", "keyAgreement") if name in [n for n, _ in methods(document, r)]]
    return listed == ["keyAgreement"] and not ways.bug("key-listed-for-agreement")


def signing_key(document, sender, ways):
    """The public key of section 8.9, or (None, rule)."""
    did, _, fragment = sender.partition("#")
    if fragment and ways.has("fragments-not-resolved"):
        return None, "from-unresolved"
    if fragment and not ways.bug("key-fragment-ignored"):
        for name, method in methods(document):
            if name == sender or name.endswith(fragment) and ways.bug("fragment-as-suffix"):
                kind, key = method_key(method)
                if ways.bug("key-of-any-curve") and kind == "x":
                    return key, None
                if revoked(method) and not ways.has("revoked-still-used"):
                    continue
                if ways.has("fragment-needs-assertion") and name not in [n for n, _ in methods(document, "assertionMethod")]:
                    continue
                if kind == "ed" and not only_for_agreement(document, name, ways):
                    return key, None
        if ways.bug("key-unknown-fragment-falls-back"):
            return signing_key(document, did, ways)
        named_methods = [name for name, _ in methods(document) + methods(document, "keyAgreement")]
        return None, "no-key" if sender in named_methods else "unknown-fragment"
    order = ("assertionMethod", "authentication")
    if ways.bug("key-authentication-first"):
        order = ("authentication", "assertionMethod")
    if ways.bug("key-no-fallback"):
        order = ("assertionMethod",)
    if ways.bug("key-both-relationships"):
        found = methods(document, "assertionMethod") + methods(document, "authentication")
        order = ()
    elif ways.bug("key-first-in-document"):
        found = methods(document)[:]
        order = ()
    else:
        found = []
    for relationship in order:
        found = methods(document, relationship)
        if ways.bug("key-no-embedded"):
            found = [(i, m) for i, m in found if i in [absolute(document.get("id"), r) for r in document.get(relationship, []) if isinstance(r, str)]]
        if ways.bug("key-fallback-only-when-absent"):
            if relationship in document:
                break
        if [1 for _, m in found if method_key(m)[0] == "ed"]:
            break
    if ways.bug("key-smallest-of-any-type"):
        found = sorted(found, key=lambda f: f[0])[:1]
    eligible = [(i, method_key(m)[1]) for i, m in found if method_key(m)[0] == "ed" and (not revoked(m) or ways.has("revoked-still-used"))]
    if ways.bug("key-relative-ids-unknown"):
        eligible = [(i, k) for i, k in eligible if not any(m.get("id", "").startswith("#") for n, m in found if n == i)]
    if not eligible:
        return None, "no-key"
    if ways.bug("key-first-in-document") or ways.bug("key-first-listed"):
        return eligible[0][1], None
    if ways.bug("key-last-listed"):
        return eligible[-1][1], None
    if ways.bug("key-numeric-order"):
        return min(eligible, key=lambda e: numeric(e[0]))[1], None
    return min(eligible, key=lambda e: e[0])[1], None


def agreement_keys(document, ways):
    """The X25519 keys under keyAgreement, smallest method id first."""
    if ways.bug("box-derives-key-from-did"):
        found = [(i, m) for i, m in methods(document) if method_key(m)[0] == "ed"]
        return [ed_to_x(method_key(m)[1]) for _, m in found[:1]]
    found = methods(document, "keyAgreement")
    if ways.bug("agreement-unlisted-used"):
        found = methods(document)
    found = sorted((i, method_key(m)[1]) for i, m in found if method_key(m)[0] == "x")
    if ways.bug("agreement-last"):
        found.reverse()
    return [k for _, k in found]


def key_document(did):
    """The document of a did:key, or None."""
    text = did[len("did:key:") :]
    try:
        raw = unbase58(text[1:]) if text[:1] == "z" else b""
    except ValueError:
        return None
    if raw[:2] != ED or len(raw) != 34:
        return None
    try:
        x = multibase(X, ed_to_x(raw[2:]))
    except (RuntimeError, ValueError, CryptoError):
        x = None
    method = {"id": f"{did}#{text}", "type": "Ed25519VerificationKey2020", "controller": did, "publicKeyMultibase": text}
    document = {"id": did, "verificationMethod": [method], "authentication": [method["id"]], "assertionMethod": [method["id"]]}
    if x:
        agreement = {"id": f"{did}#{x}", "type": "X25519KeyAgreementKey2020", "controller": did, "publicKeyMultibase": x}
        document["keyAgreement"] = [agreement]
    return document


def web_url(did):
    parts = [urllib.parse.unquote(p) for p in did[len("did:web:") :].split(":")]
    host = parts[0].split(":")[0]
    scheme = "http" if host in ("localhost", "127.0.0.1", "[::1]") or host.startswith("127.") else "https"
    path = "/" + "/".join(parts[1:]) + "/did.json" if parts[1:] else "/.well-known/did.json"
    return scheme, parts[0], path


async def fetch(scheme, authority, path, seconds=3.0):
    """The body of a GET, bounded in time and size; no redirects."""
    host, _, port = authority.partition(":")
    port = int(port or (443 if scheme == "https" else 80))
    tls = ssl.create_default_context() if scheme == "https" else None

    async def run():
        reader, writer = await asyncio.open_connection(host, port, ssl=tls)
        try:
            request = f"GET {path} HTTP/1.0\r\nHost: {authority}\r\nAccept: application/did+json, application/json\r\n\r\n"
            writer.write(request.encode())
            answer = b""
            while len(answer) < MAX_DOCUMENT:
                part = await reader.read(8192)
                if not part:
                    break
                answer += part
            return answer
        finally:
            writer.close()

    answer = await asyncio.wait_for(run(), seconds)
    headers, _, body = answer.partition(b"\r\n\r\n")
    if b" 200" not in headers.split(b"\r\n", 1)[0]:
        raise ValueError("no document")
    if b"transfer-encoding: chunked" in headers.lower():
        whole, rest = b"", body
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            count = int(size.split(b";")[0], 16)
            if not count:
                break
            whole, rest = whole + rest[:count], rest[count + 2 :]
        body = whole
    return body


class Resolver:
    def __init__(self, ways):
        self.ways, self.preloaded, self.cache = ways, {}, {}

    async def resolve(self, did):
        """The document, or None."""
        did = bare(did)
        if did in self.preloaded:
            return self.preloaded[did]
        if did.startswith("did:key:"):
            return key_document(did)
        if not did.startswith("did:web:"):
            return None
        kept = self.cache.get(did)
        if kept and time.monotonic() - kept[0] < (0.0 if self.ways.has("documents-not-kept") else 30.0):
            return kept[1]
        try:
            document = json.loads(await fetch(*web_url(did)))
            if not isinstance(document, dict) or document.get("id") != did:
                document = None
        except (OSError, ValueError, asyncio.TimeoutError, UnicodeError):
            document = None
        if len(self.cache) > 1000:
            self.cache.clear()
        self.cache[did] = (time.monotonic(), document)
        return document

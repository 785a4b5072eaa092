"""Confirm the vectors of `vectors/amp-core` with the implementation in this folder.

`__main__.py` above calls this; it needs cbor2 and PyNaCl. Each kind has one function that computes, from the inputs of a vector,
the members that answer it. What a vector permits (codes, tolerated codes, result) is written by hand from the text and
the errata register; here only the answer of a strict implementation is compared with it.
"""

import re

from . import boxes, cbor, did, ed25519, framing, message, registry

HEADER = ["schema", "kind", "protocol", "source", "count", "notes", "groups"]
GENERAL = ["id", "about", "covers", "flags", "result", "strict", "errata"]
RESULTS = ("valid", "invalid", "acceptable")


def raw(text):
    """Bytes of lower-case hex."""
    if not isinstance(text, str) or re.fullmatch(r"(?:[0-9a-f]{2})*", text) is None:
        raise ValueError(f"not lower-case hex: {text!r}")
    return bytes.fromhex(text)


# --------------------------------------------------------------------------------------------------------------------
# One function a kind: the members that answer the inputs of a vector. `None` as a value: the member has to be absent.
# --------------------------------------------------------------------------------------------------------------------


def receive(test):
    original = test.get("original")
    outcome, found = message.receive(
        test["self"],
        raw(test["message"]),
        int(test["now"]),
        test["documents"],
        test.get("trusted_relays", ()),
        None if original is None else raw(original),
    )
    if outcome == "accept":
        names = ("body", "body_wire", "encrypted", "signer") + (("headers",) if "headers" in test else ())
        return {"outcome": outcome} | {name: found[name] for name in names}
    return {"outcome": outcome, "body": None, "body_wire": None, "encrypted": None, "signer": None}


def deterministic(test):
    try:
        item = cbor.read(raw(test["cbor"]))
    except cbor.Refused:
        return {"deterministic": None, "also": None, "accepted": False}
    try:
        return {"deterministic": cbor.write(item).hex(), "accepted": True}
    except cbor.Duplicate:
        return {"deterministic": None, "accepted": False}


def sig_input(test):
    if "message" in test:
        item = cbor.read(raw(test["message"]))
        return {"sig_input": message.sig_input(item, cbor.write(item.get("body"))).hex()}
    body = cbor.write(cbor.read(raw(test["body"])))
    return {"sig_input": message.sig_input(message.header_items(test["headers"]), body).hex()}


def verify(test):
    key, data, sig = (raw(test[name]) for name in ("public_key", "data", "sig"))
    result, strict = ed25519.judge(key, data, sig)
    accepted = ed25519.libsodium(key, data, sig)
    # libsodium is strict: it accepts what is valid and refuses what is or may be invalid.
    if (result == "valid" and not accepted) or ("invalid" in (result, strict) and accepted):
        raise ValueError(f"libsodium answers {accepted}")
    return {"result": result, "strict": strict}


def sign(test):
    return {"sig": ed25519.sign(raw(test["seed"]), raw(test["data"])).hex()}


def public_key(test):
    secret = raw(test["secret"])
    if test["derive"] == "x25519-from-ed25519":
        private, public = boxes.from_seed(secret)
        return {"private_key": private.hex(), "public_key": public.hex()}
    derive = {"ed25519": ed25519.public_key, "x25519": boxes.public_key}[test["derive"]]
    return {"private_key": None, "public_key": derive(secret).hex()}


def box_open(test):
    values = [raw(test[name]) for name in ("private_key", "public_key", "nonce", "ciphertext")]
    try:
        return {"plaintext": boxes.open_box(*values).hex(), "accepted": True}
    except boxes.Closed:
        return {"plaintext": None, "accepted": False}


def built(sealed):
    return {"message": sealed.hex(), "entries": [entry.hex() for entry in message.entries(sealed)]}


def build_plain(test):
    body = cbor.write(cbor.read(raw(test["body"]))) if "body" in test else message.null_body()
    ext = raw(test["ext"]) if "ext" in test else None
    sealed, signed = message.build(test["sender"], test["headers"], body, ext=ext)
    return {"sig_input": signed.hex()} | built(sealed)


def build_encrypted(test):
    document, nonce = test["recipient_document"], raw(test["nonce"])
    if len(nonce) != 24:
        return {"sig_input": None, "plaintext": None, "ciphertext": None, "message": None, "accepted": False}
    body = cbor.write(cbor.read(raw(test["body"]))) if "body" in test else message.null_body()
    recipient = did.select(document, document["id"], "agreement")[1]
    ciphertext = boxes.seal(raw(test["sender"]["x25519_private"]), recipient, nonce, body)
    sealed, signed = message.build(test["sender"], test["headers"], body, enc=(nonce, ciphertext))
    texts = {"sig_input": signed.hex(), "plaintext": body.hex(), "ciphertext": ciphertext.hex(), "accepted": True}
    return texts | built(sealed)


def select_key(test):
    chosen = did.select(test["document"], test["did"], test["purpose"])
    if chosen is None:
        return {"method": None, "public_key": None, "accepted": False}
    return {"method": chosen[0], "public_key": chosen[1].hex(), "accepted": True}


def frame_decode(test):
    try:
        frames, rest = framing.decode(raw(test["data"]), test.get("max_size", framing.DEFAULT_MAX_SIZE))
    except framing.BadFrame:
        return {"frames": None, "rest": None, "accepted": False}
    return {"frames": frames, "rest": rest.hex(), "accepted": True}


def frame_encode(test):
    return {"frame": framing.encode(test["type"], raw(test["payload"])).hex()}


def wrapper(test):
    code = framing.wrapper(test["wrapper"], raw(test["cbor"]))
    return {"accepted": code is None} | ({} if code is None else {"outcome": code})


def type_table(test):
    if test["ask"] == "name":
        name = registry.TYPES.get(test["typ"])
        return {"name": name, "accepted": name is not None}
    codes = {name: code for code, name in registry.TYPES.items()}
    return {"typ": codes.get(test["name"]), "accepted": test["name"] in codes}


def error_code(test):
    found = registry.error_info(test["code"])
    return {name: found.get(name) for name in ("name", "category", "retry")} | {"accepted": "name" in found}


def version(test):
    if test["ask"] == "major":
        major = registry.major(test["version"])
        return {"major": major, "accepted": major is not None}
    found = registry.selectable(test["supported"], test["offered"])
    return {"selected": found or None, "accepted": bool(found)}


def make_id(test):
    if "random" not in test:
        return {"ids": None}
    return {"ids": [registry.make_id(int(test["ts"]), raw(test["random"])).hex()]}


# Kind: its own members, and the function that answers.
KINDS = {
    "amp-receive": (
        "message self now documents trusted_relays original outcomes tolerate headers body body_wire encrypted signer twin",
        receive,
    ),
    "amp-deterministic": ("cbor deterministic also", deterministic),
    "amp-sig-input": ("message headers body sig_input refusal", sig_input),
    "amp-ed25519-verify": ("public_key data sig", verify),
    "amp-ed25519-sign": ("seed data sig", sign),
    "amp-public-key": ("derive secret private_key public_key", public_key),
    "amp-box-open": ("private_key public_key nonce ciphertext plaintext codes tolerate twin", box_open),
    "amp-build-plain": ("sender headers body ext sig_input message entries", build_plain),
    "amp-build-encrypted": (
        "sender recipient_document headers body nonce sig_input plaintext ciphertext message entries twin",
        build_encrypted,
    ),
    "amp-select-key": ("document did purpose method written public_key codes tolerate twin", select_key),
    "amp-frame-decode": ("data max_size frames rest also_refused twin", frame_decode),
    "amp-frame-encode": ("type payload frame", frame_encode),
    "amp-wrapper": ("wrapper cbor codes tolerate twin", wrapper),
    "amp-type": ("ask typ name twin", type_table),
    "amp-error-code": ("code name category retry twin", error_code),
    "amp-version": ("ask version major supported offered selected twin", version),
    "amp-id": ("ts random count ids", make_id),
}
# Kinds whose vectors may be refusals: the twin shows that the same target also accepts.
TWINNED = {kind for kind, (members, _) in KINDS.items() if "twin" in members.split()}
CBOR_MEMBERS = ("message", "original", "cbor", "body", "ext")


# --------------------------------------------------------------------------------------------------------------------
# Checks
# --------------------------------------------------------------------------------------------------------------------


def compare(test, answer):
    """The members of an answer against those of the vector."""
    found = []
    for name, wanted in answer.items():
        if name in ("outcome", "accepted"):
            continue
        if wanted is None and test.get("ask") in ("name", "code") and name in ("typ", "name"):
            continue  # An unknown code or name is an input and has no answer.
        if test.get(name) != wanted:
            found.append((name, "absent" if wanted is None else wanted, test.get(name)))
    return found


def check_permitted(test, answer):
    """Whether the answer of a strict implementation is the expected one, and matches the result word."""
    result, strict = test["result"], test.get("strict")
    found = []
    if result not in RESULTS or (strict is not None and (result != "acceptable" or strict not in RESULTS[:2])):
        found.append(("result, strict", "valid, invalid, or acceptable with strict valid or invalid", (result, strict)))
    if result == "acceptable" and not test.get("errata"):
        found.append(("errata", "the entry that makes it acceptable", "none"))
    if "outcomes" in test:
        outcomes, tolerated = test["outcomes"], test.get("tolerate", [])
        accepts, refuses = "accept" in outcomes, any(outcome != "accept" for outcome in outcomes)
        wanted = "valid" if not refuses else "invalid" if not accepts else "acceptable"
        if (strict or result) != wanted:
            found.append(("result", wanted, (result, strict)))
        if answer["outcome"] not in outcomes:
            found.append(("outcome", f"one of {outcomes}", answer["outcome"]))
        if set(outcomes) & set(tolerated) or (strict and tolerated):
            found.append(("tolerate", "no answer that outcomes or the lenient profile permit already", tolerated))
    elif "accepted" in answer:
        said = {"valid": True, "invalid": False}.get(strict or result)
        if said is not None and said != answer["accepted"]:
            found.append(("result", "valid" if answer["accepted"] else "invalid", (result, strict)))
        if "outcome" in answer and answer["outcome"] not in test.get("codes", []):
            found.append(("codes", answer["outcome"], test.get("codes")))
        if ("codes" in test or "tolerate" in test) and answer["accepted"]:
            found.append(("codes", "none for an accepted vector", test.get("codes")))
    return found


def check_twin(kind, test, answers):
    """A refusal needs a twin that is accepted; it inherits the members that it leaves out."""
    said = test.get("strict", test["result"])
    permits = test.get("outcomes", [])
    if kind not in TWINNED or said != "invalid" or "accept" in permits:
        return []
    if "twin" not in test:
        return [("twin", "a vector that is accepted", "none")]
    twin = {name: value for name, value in test.items() if name not in ("outcomes", "codes", "twin")} | test["twin"]
    answer = answers(twin)
    if answer.get("outcome", "accept") != "accept" or not answer.get("accepted", True):
        return [("twin", "accepted", answer)]
    return [(f"twin: {what}", wanted, seen) for what, wanted, seen in compare(twin, answer) if what in test["twin"]]


def check_cbor2(test):
    """cbor2 reads the same values in every CBOR input."""
    found = []
    for name in CBOR_MEMBERS:
        if isinstance(test.get(name), str):
            try:
                other = cbor.differs(raw(test[name]))
            except cbor.Refused:
                continue
            if other is not None:
                found.append((f"{name}, read by cbor2", "the same", other))
    return found


def check_members(kind, test):
    members = KINDS[kind][0].split()
    unknown = [name for name in test if name not in GENERAL + members]
    missing = [name for name in ("id", "about", "covers", "flags", "result") if name not in test]
    found = [("unknown members", members, unknown)] if unknown else []
    return found + ([("members missing", GENERAL, missing)] if missing else [])


def check_test(kind, test):
    found = check_members(kind, test)
    if found:
        return found
    answers = KINDS[kind][1]
    try:
        answer = answers(test)
        found = compare(test, answer) + check_permitted(test, answer)
        return found + check_twin(kind, test, answers) + check_cbor2(test)
    except (KeyError, ValueError, TypeError, AttributeError, cbor.Refused, cbor.Duplicate) as e:
        return [("vector", "inputs of its kind", f"{type(e).__name__}: {e}")]


def check_header(name, file):
    if list(file) != HEADER:
        return [("members", HEADER, list(file))]
    tests = [test for group in file["groups"] for test in group.get("tests", [])]
    found = []
    for what, wanted in (("schema", 1), ("protocol", "amp-core"), ("count", len(tests))):
        if file[what] != wanted:
            found.append((what, wanted, file[what]))
    stem = name.removesuffix(".json")
    if file["kind"] not in KINDS or not (f"amp-{stem}" == file["kind"] or f"amp-{stem}".startswith(file["kind"] + "-")):
        found.append(("kind", "amp- and the beginning of the file name, one of " + ", ".join(KINDS), file["kind"]))
    for group in file["groups"]:
        wanted = ["group", "about", "with", "tests"] if "with" in group else ["group", "about", "tests"]
        if list(group) != wanted or not group["about"] or not group["tests"]:
            found.append(("group", wanted, list(group)))
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", group.get("group", "")):
            found.append(("group", "a kebab-case name", group.get("group")))
    names = [group.get("group") for group in file["groups"]]
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        found.append(("group names", "each once", twice))
    unused = sorted(set(file["notes"]) - {flag for test in tests for flag in test.get("flags", [])})
    if unused:
        found.append(("notes", "only flags that some test has", unused))
    return found


def tests_of(file):
    """The vectors of a file, each with the default members of its group."""
    for group in file["groups"]:
        for test in group["tests"]:
            yield {**group.get("with", {}), **test}


def files_of(folder, read_json, ledger):
    """The files of the folder with a valid header; defects of the others are recorded."""
    for path in sorted(folder.glob("*.json")):
        where = f"vectors/amp-core/{path.name}"
        try:
            file = read_json(path.read_bytes())
        except ValueError as e:
            ledger.judge(where, [("file", "I-JSON", str(e))])
            continue
        findings = check_header(path.name, file)
        ledger.judge(where, findings)
        if not findings:
            yield where, file


def confirm(root, ledger, read_json, check_labels):
    """Judge every vector of the folder."""
    catalogue = (root / "suites/amp-core/requirements.yaml").read_text(encoding="utf-8")
    register = (root / "suites/amp-core/errata.md").read_text(encoding="utf-8")
    seen, kinds = {}, set()
    for where, file in files_of(root / "vectors/amp-core", read_json, ledger):
        kinds.add(file["kind"])
        for test in tests_of(file):
            findings = check_test(file["kind"], test)
            findings += check_labels(test, file["notes"], catalogue, register)
            if seen.setdefault(test.get("id"), where) != where or (where, test.get("id")) in seen:
                findings.append(("id", "each once in the folder", f"also in {seen[test.get('id')]}"))
            seen[(where, test.get("id"))] = where
            ledger.judge(f"{where}: {test.get('id')}", findings)
    ledger.judge("vectors/amp-core", [("kinds", sorted(KINDS), sorted(kinds))] if kinds != set(KINDS) else [])


def compute(kind, test):
    """The expected members of a vector of this kind for these inputs."""
    return {name: value for name, value in KINDS[kind][1](test).items() if value is not None}

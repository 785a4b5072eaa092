"""The choices that the rulings leave open, and those in force.

A choice belongs to a group; one of each group is in force. A group of one choice is a switch. `strict` says whether the
choice also satisfies the strict profile; `lenient` is the expected result of a lenient run: `pass`, `warn` (tolerated, with
a warning allowed) or `undecided` (a member is absent, so a check may stay inconclusive or not claimed). Never `fail`.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Choice:
    name: str
    about: str
    errata: tuple
    group: str
    default: bool
    strict: bool
    lenient: str


CHOICES = {}
GROUPS = {}


def _group(name, errata, *options):
    """Options are (name, about, marks). Marks: * default, s not strict, w warning, u undecided."""
    for option, about, marks in options:
        lenient = "warn" if "w" in marks else "undecided" if "u" in marks else "pass"
        strict = "s" not in marks and "w" not in marks
        choice = Choice(option, about, tuple(errata.split()), name, "*" in marks, strict, lenient)
        assert option not in CHOICES, option
        CHOICES[option] = choice
        GROUPS.setdefault(name, []).append(choice)


# --- Content hash -----------------------------------------------------------------------------------------------------

_group(
    "hash-place",
    "E02",
    ("hash-in-header", "The hash is in the header X-Content-Hash, the body is the package.", "*"),
    ("hash-in-envelope", "The body holds package and content_hash.", ""),
    ("hash-in-other-header", "The hash is in a header of the server, X-Relay-Digest.", ""),
    ("hash-in-etag", "The hash is the entity tag, in quotes.", ""),
    ("hash-in-weak-etag", "The hash is a weak entity tag, W/ and quotes.", ""),
    ("hash-as-contenthash", "The envelope calls the hash contentHash.", ""),
    ("hash-as-hash", "The envelope calls the hash hash.", ""),
    ("hash-as-package-hash", "The envelope calls the hash package_hash.", ""),
    ("hash-elsewhere", "The hash is a string deep in the envelope, under meta.digest.value.", ""),
    ("hash-flat", "content_hash is a further member of the returned package.", ""),
    ("hash-flat-camel", "contentHash is a further member of the returned package.", ""),
    ("hash-flat-in-envelope", "content_hash is a further member of the package, which is in an envelope.", ""),
)
_group(
    "hash-when",
    "E02",
    ("hash-everywhere", "Pull, flag and transition carry the hash as well.", "*"),
    ("hash-only-on-deposit", "Only answers to deposit carry the hash, identical deposits included.", "u"),
)
_group(
    "hash-spelling",
    "E03",
    ("hash-bare", "64 lower-case hex digits without prefix.", "*s"),
    ("hash-prefixed", "sha256: and 64 lower-case hex digits.", ""),
    ("hash-upper", "64 upper-case hex digits.", "s"),
    ("hash-prefixed-upper", "sha256: and 64 upper-case hex digits.", "s"),
    ("hash-base64", "Base64 of the 32 bytes.", "w"),
)
for _name, _about, _erratum in (
    ("reading-top-nulls", "The hashed form keeps null members of nested objects.", "E04"),
    ("reading-null-elements", "The hashed form drops null elements of arrays.", "E04"),
    ("reading-utf16-order", "The hashed form sorts names by UTF-16 code units.", "E05"),
    ("reading-u-escapes", "The hashed form writes every control character as a u-escape.", "E06"),
    ("reading-upper-hex", "The hashed form writes u-escapes with upper-case digits.", "E06"),
    ("reading-exact-integers", "The hashed form keeps the digits of integers beyond two to the power of 53.", "E07"),
    ("reading-defaults", "Defaults are filled in before hashing.", "E09"),
):
    _group(_name, _erratum + " E86", (_name, _about, "w"))
_group(
    "hash-after-move",
    "E11",
    ("hash-recomputed", "After a transition the hash is that of the changed package.", "*"),
    ("hash-kept", "After a transition the hash of the deposit is kept.", "w"),
)

# --- Shapes of answers ------------------------------------------------------------------------------------------------

_group(
    "deposit-status",
    "E32",
    ("deposit-200", "Deposit answers 200.", "*"),
    ("deposit-201-new", "Deposit answers 201 for a new package, 200 for an identical one.", ""),
    ("deposit-201-always", "Deposit answers 201 for an identical package as well.", ""),
)
_group(
    "package-view",
    "E02 E66",
    ("package-bare", "A single package is the body itself.", "*"),
    ("package-under-package", "A single package is under package.", ""),
    ("package-under-data", "A single package is under data.", ""),
    ("package-with-success", "A single package is under data, with success, message and meta.", ""),
)
_group(
    "list-view",
    "E66",
    ("list-bare", "A list of packages is a bare array.", "*"),
    ("list-packages", "A list of packages is under packages.", ""),
    ("list-items", "A list of packages is under items, with a total.", ""),
    ("list-results", "A list of packages is under results.", ""),
    ("list-data", "A list of packages is under data.", ""),
    ("list-paged", "A list of packages is under packages, with total, offset, has_more and next_cursor.", ""),
    ("list-with-meta", "A list of packages is under data, with meta and links.", ""),
)
_group("list-elements", "E66", ("elements-wrapped", "Elements of lists are objects with package.", ""))
_group(
    "relevant-elements",
    "E66",
    ("relevant-scored", "Search results are objects with package and score.", "*"),
    ("relevant-bare", "Search results are packages.", ""),
)
_group(
    "fact-view",
    "E40",
    ("fact-bare", "A single fact is the body itself.", "*"),
    ("fact-under-fact", "A single fact is under fact.", ""),
    ("fact-under-data", "A single fact is under data.", ""),
)
_group(
    "facts-view",
    "E37",
    ("facts-bare", "A list of facts is a bare array.", "*"),
    ("facts-facts", "A list of facts is under facts.", ""),
    ("facts-items", "A list of facts is under items.", ""),
    ("facts-results", "A list of facts is under results.", ""),
    ("facts-data", "A list of facts is under data.", ""),
    ("facts-wrapped", "Facts are under facts, each an object with fact.", ""),
    ("facts-paged", "Facts are under facts, with total, offset, has_more and next_cursor.", ""),
    ("facts-with-meta", "Facts are under data, with meta and links.", ""),
)
_group(
    "error-body",
    "E30 E67",
    ("error-flat", "Errors are code and message at the top.", "*"),
    ("error-nested", "Errors are code and message under error.", ""),
    ("error-code", "error is the name of the error.", ""),
    ("error-text", "error is prose, no name anywhere.", "w"),
    ("error-detail", "Errors are a list of places and texts under detail, no name.", "w"),
    ("error-problem", "Errors are application/problem+json.", "w"),
    ("error-problem-as-json", "Errors have the members of problem+json, sent as application/json.", ""),
    ("error-empty", "Errors have no body, except for a missing capability.", "w"),
    ("error-spring", "Errors have timestamp, status, error and path, as Spring writes them; no name.", "w"),
    ("error-nest", "Errors have statusCode, error and an array of messages, as Nest writes them; no name.", "w"),
    ("error-errors", "Errors are an array under errors, each with code, detail and source.", ""),
)
_group(
    "member-order",
    "binding-4",
    ("order-sorted", "Returned packages have their members sorted.", "*"),
    ("order-kept", "Returned packages keep the order of their members.", ""),
    ("order-reversed", "Returned packages have their members reversed, at every depth.", ""),
    ("order-shuffled", "Returned packages have their members in another order each time.", ""),
    (
        "bytes-verbatim",
        "Returned packages are the deposited text, spaces and number spellings included.",
        "",
    ),
)
_group(
    "nulls",
    "E48",
    ("nulls-dropped", "Null members are left out of returned packages.", "*"),
    ("nulls-kept", "Null members come back as null.", ""),
)
_group(
    "defaults",
    "E09",
    ("defaults-shown", "Returned packages show the defaults of absent members.", "*s"),
    ("defaults-hidden", "Returned packages have no member that was not deposited.", ""),
    ("defaults-in-lists", "Lists and orient show the defaults of absent members, pull by id does not.", "s"),
)
_group(
    "storage-path",
    "E70 E90",
    ("storage-path-untouched", "storage_path is as deposited.", "*"),
    ("storage-path-added", "A package without storage_path is given one; the hash is that of the deposit.", "w"),
    ("storage-path-hashed", "A package without storage_path is given one, and the hash covers it.", "w"),
    ("storage-path-rewritten", "A submitted storage_path is replaced by the location on the server.", "w"),
)
_group(
    "integers",
    "E07",
    ("integers-exact", "Large integers come back digit for digit.", "*"),
    ("integers-as-doubles", "Large integers come back as doubles.", ""),
)

# --- Projects ---------------------------------------------------------------------------------------------------------

_group(
    "project-create",
    "E33",
    ("project-create-404", "No route creates projects; the first write does: 404.", "*"),
    ("project-create-405", "No route creates projects: 405.", ""),
    ("project-create-501", "No route creates projects: 501.", ""),
    ("project-create-201", "POST /v1/projects creates a project: 201, also for an existing one.", ""),
    ("project-create-200", "POST /v1/projects creates a project: 200.", ""),
    ("project-create-409", "POST /v1/projects creates a project: 201, and 409 for an existing one.", ""),
)
_group(
    "project-needed",
    "E33 E34",
    ("projects-must-exist", "Writes to a project that was never created are refused with 404.", ""),
)
_group(
    "project-get",
    "E33",
    ("project-get-404", "No route reads a project; orient shows it.", "*"),
    ("project-get-200", "GET /v1/projects/{id} answers.", ""),
    ("project-get-enveloped", "GET /v1/projects/{id} answers with project in an envelope.", ""),
)
_group(
    "project-id-name",
    "E33",
    ("project-id-as-id", "A project object calls its id id.", "*"),
    ("project-id-as-project-id", "A project object calls its id project_id.", ""),
)
_group(
    "unknown-project",
    "E34",
    ("unknown-project-empty", "Reads of an unknown project give empty results.", "*"),
    ("unknown-project-404", "Reads of an unknown project give 404.", ""),
    ("unknown-project-created", "Reads of an unknown project create it.", ""),
)
_group(
    "archive",
    "E33 E36",
    ("archive-open", "An archived project still accepts deposits.", "*"),
    ("archive-403", "An archived project refuses deposits with 403.", ""),
    ("archive-absent", "No route archives projects.", "u"),
)
_group(
    "archived-reads", "E36", ("archived-reads-404", "Reads of an archived project give 404 until it is restored.", "")
)
_group("archive-answer", "E33", ("archive-204", "Archive and restore answer 204.", ""))
_group(
    "path-and-body",
    "E35",
    ("mismatch-body-wins", "If path and body name two projects, the package goes to that of the body.", "*s"),
    (
        "mismatch-path-wins",
        "If they name two, the package goes to that of the path and is returned with that project_id.",
        "s",
    ),
    ("mismatch-400", "If they name two projects the deposit is refused with 400.", ""),
    ("mismatch-409", "If they name two projects the deposit is refused with 409.", "s"),
    ("mismatch-422", "If they name two projects the deposit is refused with 422.", "s"),
)
_group(
    "id-scope",
    "E22",
    ("id-per-project", "package_id is unique within its project.", "*"),
    ("id-global", "package_id is unique over all projects; a second use is 409.", "s"),
)

# --- What a deposit may hold ------------------------------------------------------------------------------------------

_group(
    "id-missing",
    "E24",
    ("id-assigned", "A package without package_id is given one.", "*s"),
    ("id-required", "A package without package_id is refused.", ""),
)
_group(
    "type-missing",
    "E25",
    ("type-defaulted", "A package without package_type is returned as standard.", "*s"),
    ("type-required", "A package without package_type is refused.", ""),
)
_group(
    "null-optional",
    "E48",
    ("null-optional-accepted", "null for an optional string or array counts as absent.", "*"),
    ("null-optional-refused", "null for an optional string or array is refused.", ""),
)
_group(
    "zone",
    "E57 E88",
    ("zero-offset-accepted", "created_at may end in +00:00 and comes back so.", "*"),
    ("zero-offset-refused", "created_at must end in Z.", ""),
    ("any-offset-accepted", "created_at may have any offset and comes back so.", "w"),
)
_group(
    "integer-spelling",
    "E64",
    ("integer-by-value", "5.0 is an integer.", "*"),
    ("integer-by-spelling", "5.0 is not an integer and is refused.", ""),
)
_group(
    "revision-deposit",
    "E17",
    ("revision-deposit-400", "A deposit in state revision_requested is refused with 400.", "*"),
    ("revision-deposit-422", "A deposit in state revision_requested is refused with 422.", ""),
    ("revision-deposit-accepted", "A deposit in state revision_requested is accepted.", ""),
)
_group(
    "parent",
    "E78",
    ("parent-unknown-400", "A parent_package_id that names no package is refused with 400.", "*"),
    ("parent-unknown-404", "A parent_package_id that names no package is refused with 404.", ""),
    ("parent-unknown-422", "A parent_package_id that names no package is refused with 422.", ""),
    ("parent-unknown-accepted", "A parent_package_id that names no package is accepted.", ""),
)
_group(
    "duplicate-members",
    "E08",
    ("duplicate-members-last", "Of duplicate members the last counts.", "*s"),
    ("duplicate-members-first", "Of duplicate members the first counts.", "s"),
    ("duplicate-members-refused", "Duplicate members are refused with 400.", ""),
)
_group(
    "surrogates",
    "E08",
    ("surrogates-replaced", "Unpaired surrogates become U+FFFD.", "*s"),
    ("surrogates-refused", "Unpaired surrogates are refused with 400.", ""),
)
_group(
    "bom",
    "E08",
    ("bom-accepted", "A byte order mark before the body is skipped.", "*s"),
    ("bom-refused", "A byte order mark before the body is refused with 400.", ""),
)
_group(
    "title-length",
    "E56",
    ("title-utf16", "The title limit counts UTF-16 units.", "*s"),
    ("title-code-points", "The title limit counts code points.", ""),
    ("title-graphemes", "The title limit does not count combining marks and joiners.", "s"),
)
_group(
    "version",
    "E59",
    ("version-exact", "relay_version must be 0.1.", "*"),
    ("version-minor", "relay_version may be 0.1, 0.1.x or 0.2.", "s"),
)
_group(
    "deliverables",
    "E61 E62",
    ("deliverables-loose", "Deliverable hashes are opaque strings, paths and sizes are not looked at.", "*s"),
    ("deliverables-tight", "Deliverable hashes must be well-formed, paths relative or URLs, sizes not negative.", ""),
)
_group(
    "slash",
    "E23",
    ("slash-ids", "An id with a slash can be deposited and pulled.", "*"),
    ("slash-ids-404", "Paths are decoded before they are split, so an id with a slash is not found.", "s"),
)
_group(
    "media-type",
    "E67",
    ("media-any", "The media type of requests is not looked at.", "*"),
    ("media-415", "A request body of another media type is refused with 415.", ""),
)
_group(
    "identical",
    "E21",
    ("same-by-hash", "Deposits are identical if their hashes are.", "*"),
    ("same-by-value", "Deposits are identical if their JSON values are: null is not absent.", "s"),
)
_group(
    "redeposit-after-move",
    "E21",
    ("redeposit-after-move-409", "The original body after a transition is a clash.", "*"),
    ("redeposit-after-move-ok", "The original body after a transition is identical content.", ""),
)
_group(
    "edit",
    "6.6-16",
    ("edit-405", "PUT and PATCH on a package answer 405.", "*"),
    ("edit-404", "PUT and PATCH on a package answer 404.", ""),
    ("edit-501", "PUT and PATCH on a package answer 501.", ""),
    ("edit-400", "PUT and PATCH on a package answer 400.", ""),
)

# --- Reading ----------------------------------------------------------------------------------------------------------

_group(
    "unknown-package",
    "E26",
    ("unknown-package-404", "An unknown id gives 404.", "*"),
    ("unknown-package-null", "An unknown id gives 200 and null.", "w"),
)
_group(
    "limits",
    "E65",
    ("limit-clamped", "Limits out of range are clamped, other values than numbers are ignored.", "*"),
    ("limit-400", "Limits out of range, and other values than numbers, are refused with 400.", ""),
    ("limit-max-50", "Limits above 50 mean 50.", ""),
    ("limit-max-50-400", "Limits above 50 are refused with 400.", ""),
)
_group(
    "mode",
    "E65",
    ("mode-optional", "A missing or unknown mode means latest.", "*"),
    ("mode-required", "A missing or unknown mode is refused with 400.", ""),
)
_group(
    "ties",
    "E65",
    ("ties-oldest-first", "Packages of one instant come in order of arrival.", "*"),
    ("ties-newest-first", "Packages of one instant come in reverse order of arrival.", ""),
)
_group(
    "drafts",
    "E55",
    ("drafts-unlisted", "Drafts are found by id only.", "*"),
    ("drafts-listed", "Drafts are listed like other packages.", ""),
)
_group(
    "draft-readers",
    "E55",
    ("drafts-private", "A draft is found by the actor that deposited it alone, where actors are known.", ""),
)
_group(
    "search",
    "E27 E29",
    ("search-semantic", "semantic_search alone is declared; relevant works.", "*"),
    ("search-hybrid", "hybrid_search alone is declared; relevant works.", ""),
    ("search-both", "Both search flags are declared; relevant works.", ""),
    ("search-off-named", "No search: 501 not_implemented, the capability is named.", ""),
    ("search-off-short", "No search: 501 search_not_supported, no capability is named.", "s"),
    ("search-keyword", "Both search flags are false, yet relevant works.", "w"),
    ("search-undeclared-on", "The descriptor has no search flags; relevant works.", "w"),
    ("search-undeclared-off", "The descriptor has no search flags; relevant answers 501.", "w"),
)
_group(
    "orient-questions",
    "E51",
    ("questions-as-objects", "open_questions of orient are objects with question and package_id.", "*"),
    ("questions-as-strings", "open_questions of orient are strings.", ""),
    ("questions-as-groups", "open_questions of orient are one object per package with an array of texts.", ""),
)
_group(
    "orient-window",
    "E51",
    ("window-ignored", "recent_packages of orient are the newest, regardless of the window.", "*s"),
    ("window-filters", "recent_packages of orient are those inside the window.", ""),
)
_group("orient-recent", "E51", ("orient-recent-five", "recent_packages of orient are five at most.", ""))
_group(
    "window-edge",
    "E52",
    ("window-clamped", "A window out of range is clamped, one that is not a number becomes 14.", "*"),
    ("window-400", "A window out of range, or not a number, is refused with 400.", ""),
)
_group(
    "orchestrate",
    "E53",
    ("orchestrate-404", "orchestrate is not offered: 404.", "*u"),
    ("orchestrate-405", "orchestrate is not offered: 405.", "u"),
    ("orchestrate-501", "orchestrate is not offered: 501.", "u"),
    ("orchestrate-named", "orchestrate is offered, members named as in the binding.", ""),
    ("orchestrate-own-names", "orchestrate is offered, with names of its own.", ""),
)
_group(
    "descriptor",
    "E68",
    ("descriptor-more", "The descriptor has further members and capabilities.", "*"),
    ("descriptor-exact", "The descriptor is exactly that of the example.", ""),
    ("descriptor-absent", "No descriptor.", "w"),
    ("descriptor-no-capabilities", "The descriptor has no capabilities.", "w"),
    ("descriptor-no-implementation", "The descriptor does not name the implementation.", "w"),
)
_group(
    "above-level",
    "E37 E75",
    ("above-level-404", "Operations above the level answer 404.", "*"),
    ("above-level-405", "Operations above the level answer 405.", ""),
    ("above-level-501", "Operations above the level answer 501.", ""),
)
_group(
    "export",
    "E69",
    ("export-wrapped", "Export wraps each record under its kind.", "*"),
    ("export-plain", "Export writes bare records.", ""),
    ("export-data", "Export wraps each record under data.", ""),
    ("export-array", "Export is a JSON array.", ""),
    ("export-absent", "No export route.", "u"),
)
_group(
    "export-lines",
    "E67 E69",
    ("export-newline", "Each line of an export ends in a newline.", "*"),
    ("export-crlf", "Lines of an export end in carriage return and line feed.", ""),
    ("export-no-last-newline", "The last line of an export has no newline.", ""),
    ("export-facts-first", "An export has the facts before the packages.", ""),
)
_group(
    "export-type",
    "E67",
    ("export-ndjson", "Export is application/x-ndjson.", "*"),
    ("export-ndjson-charset", "Export is application/x-ndjson with a charset, as an attachment.", ""),
    ("export-jsonl", "Export is application/jsonl.", ""),
)
_group(
    "import",
    "E69",
    ("import-204", "Import answers 204.", "*"),
    ("import-200", "Import answers 200 and counts.", ""),
    ("import-201", "Import answers 201 and counts.", ""),
    ("import-absent", "No import route.", "u"),
)
_group(
    "sessions",
    "E71",
    ("sessions-absent", "No sessions.", "*u"),
    ("sessions-listed", "Sessions are listed, one for each session_id seen.", ""),
)
_group(
    "auth-refusal",
    "E31",
    ("auth-401", "Missing or wrong credentials give 401.", "*s"),
    ("auth-403", "Missing or wrong credentials give 403.", ""),
)

# --- Facts ------------------------------------------------------------------------------------------------------------

_group(
    "fact-query",
    "E37",
    ("facts-query", "Facts can be queried.", "*"),
    ("facts-query-pair", "A query has to name subject and predicate; without it is refused with 400.", ""),
    ("facts-query-404", "No fact query: 404.", "u"),
    ("facts-query-405", "No fact query: 405.", "u"),
    ("facts-query-501", "No fact query: 501.", "u"),
)
_group(
    "facts-order",
    "E37",
    ("facts-newest-first", "Facts are listed newest valid_from first.", "*"),
    ("facts-oldest-first", "Facts are listed oldest valid_from first.", ""),
    ("facts-shuffled", "Facts are listed in another order each time.", ""),
)
_group("facts-page", "E37", ("facts-page-100", "Without limit a query lists a hundred facts at most.", ""))
_group(
    "assert-answer",
    "E32 E40 E91",
    ("assert-200", "An assert answers 200 and the fact.", "*"),
    ("assert-201", "An assert answers 201 and the fact.", ""),
    ("assert-201-location", "An assert answers 201, the fact and a Location.", ""),
    ("assert-201-beside", "An assert answers 201 and the fact under fact, with the superseded fact.", ""),
    ("assert-empty", "An assert answers 200 without a body.", ""),
    ("assert-201-empty", "An assert answers 201 and a Location, without a body.", ""),
    ("assert-ack", "An assert answers 200 and only ok.", "s"),
)
_group(
    "assert-refusal",
    "E40",
    ("assert-422", "Bad fact input is refused with 422.", "*s"),
    ("assert-400", "Bad fact input is refused with 400.", ""),
)
_group(
    "count",
    "E50",
    ("count-count", "The count is under count.", "*"),
    ("count-invalidated", "The count is under invalidated.", ""),
    ("count-invalidated-count", "The count is under invalidated_count.", ""),
    ("count-bare", "The count is the body.", ""),
    ("count-only-integer", "The count is the only integer of the body, under a name of its own.", ""),
    ("count-among-numbers", "The count is under count, after other integers.", ""),
    ("count-with-facts", "The count is under invalidated, with the ended facts.", ""),
)
_group(
    "none-ended",
    "E50 E92",
    ("none-ended-zero", "Invalidating nothing answers 200 and 0.", "*"),
    ("none-ended-404", "Invalidating nothing answers 404.", "w"),
)
_group(
    "number-value",
    "E44",
    ("number-value-text", "A JSON number as value is stored as its text.", "*"),
    ("number-value-double", "A JSON number as value is stored as the text of a double: 97 becomes 97.0.", ""),
    ("number-value-refused", "A JSON number as value is refused.", ""),
)
_group(
    "empty-value",
    "7.1-11",
    ("empty-value-accepted", "The empty string is a value.", ""),
    ("empty-value-refused", "The empty string is refused as value.", "*"),
)
_group(
    "reassert",
    "E41 E94",
    ("reassert-noop", "Asserting the current value again changes nothing.", "*s"),
    ("reassert-supersedes", "Asserting the current value again supersedes.", ""),
)
_group(
    "backdated",
    "E42",
    ("backdated-400", "An assert before the current fact is refused with 400.", "*"),
    ("backdated-409", "An assert before the current fact is refused with 409.", ""),
    ("backdated-422", "An assert before the current fact is refused with 422.", ""),
    ("backdated-history", "An assert before the current fact becomes history, the current fact stays.", ""),
    ("backdated-literal", "An assert before the current fact ends it before it began.", "s"),
)
_group(
    "object",
    "E49",
    ("object-ignored", "The object parameter of invalidation is ignored.", "*s"),
    ("object-honoured", "The object parameter of invalidation limits it.", ""),
)
_group(
    "low-confidence",
    "E79 E84",
    ("low-confidence-hidden", "Facts with a confidence below 0.5 are not listed as current.", "*"),
    ("low-confidence-listed", "Facts are listed regardless of their confidence.", ""),
    ("low-confidence-never", "No query returns facts with a confidence below 0.5, not even for the past or for all.", ""),
)
_group(
    "asserted-by-default",
    "E45",
    ("asserted-by-caller", "Without source package asserted_by names the caller.", "*"),
    ("asserted-by-absent", "Without source package, asserted_by is absent.", ""),
)
_group(
    "asserted-by-shape",
    "E45 E95",
    ("asserted-by-loose", "asserted_by may be any object.", "*s"),
    ("asserted-by-tight", "A malformed asserted_by is refused.", ""),
)
_group(
    "asserted-by-session",
    "E45 E48",
    ("asserted-by-null-session", "An asserted_by without session_id is shown with null.", ""),
)
_group(
    "source-unknown",
    "E45",
    ("source-unknown-400", "A source_package_id that names no package of the project is refused with 400.", "*"),
    ("source-unknown-404", "A source_package_id that names no package of the project is refused with 404.", ""),
    ("source-unknown-409", "A source_package_id that names no package of the project is refused with 409.", ""),
    ("source-unknown-accepted", "A source_package_id that names no package is accepted.", ""),
)
_group(
    "fact-times",
    "E58",
    ("fact-times-padded", "Times of facts are printed with six digits.", "*s"),
    ("fact-times-millis", "Times of facts have three digits.", "s"),
    ("fact-times-nanos", "Times of facts are printed with nine digits.", "s"),
    ("fact-times-zeros-cut", "Times of facts are printed without trailing zeros, as Go does.", "s"),
    ("fact-times-offset", "Times of facts are printed with six digits and +00:00, as Python does.", "s"),
    ("fact-times-verbatim", "Times of facts are printed as they came.", ""),
)
_group(
    "fact-zone",
    "E57",
    ("fact-zone-zero", "valid_from may end in +00:00.", "*"),
    ("fact-zone-z", "valid_from must end in Z.", ""),
    ("fact-zone-any", "valid_from may have any offset and is turned to UTC.", "s"),
)
_group("fact-clock", "E43", ("fact-clock-twice", "created_at is read off the clock after valid_from.", ""))
_group(
    "future",
    "E39",
    ("future-accepted", "valid_from may lie in the future, the fact is current at once.", "*"),
    ("future-refused", "A valid_from in the future is refused.", "s"),
    ("future-not-yet", "A fact whose valid_from lies in the future is not listed as current yet.", "s"),
)
_group(
    "fact-id",
    "7.1-03",
    ("fact-id-hex", "fact_id is fact_ and 32 hex digits.", "*"),
    ("fact-id-uuid", "fact_id is a UUID.", "w"),
    ("fact-id-serial", "fact_id is the text of a serial number.", "w"),
)
_group(
    "fact-nulls",
    "E48",
    ("fact-nulls-absent", "Null members of facts are left out, valid_to too.", "*"),
    ("fact-valid-to-null", "Null members of facts are left out, but for valid_to.", ""),
    ("fact-nulls-shown", "Null members of facts are shown.", ""),
)
_group(
    "fact-defaults",
    "7.2",
    ("fact-defaults-hidden", "Facts show confidence and tags only if they were given.", "*"),
    ("fact-defaults-shown", "Facts show the defaults of confidence and tags.", ""),
    ("fact-defaults-omitted", "Facts leave out a confidence of 1 and empty tags, given or not.", "w"),
)
_group(
    "fact-body",
    "E46 E48",
    ("fact-body-open", "An assert may have further members and null for optional ones.", "*"),
    ("fact-body-closed", "An assert with an unknown member is refused.", "s"),
    ("fact-body-no-nulls", "An assert with null for an optional input is refused.", ""),
)
_group(
    "archived-facts",
    "E36",
    ("archived-facts-403", "An archived project refuses asserts and invalidations with 403.", ""),
)
_group(
    "server-times",
    "E57",
    ("times-z", "Times that the server makes end in Z.", "*"),
    ("times-offset", "Times that the server makes end in +00:00.", ""),
    ("times-whole-seconds", "Times that the server makes have no fraction.", ""),
)
_group(
    "fact-extras",
    "E46",
    ("fact-x-dropped", "x- members of an assert are not kept.", "*s"),
    ("fact-x-kept", "x- members of an assert are kept.", ""),
)
_group(
    "as-of-date",
    "E38",
    ("as-of-date-midnight", "A bare date in as_of is midnight.", "*"),
    ("as-of-date-refused", "A bare date in as_of is refused.", ""),
)
_group(
    "as-of-zone",
    "E38 E57",
    ("as-of-any-zone", "as_of may have any offset.", "*"),
    ("as-of-z", "as_of must end in Z.", ""),
)
_group(
    "contention",
    "E78",
    ("contention-409", "Of racing asserts the losers are refused with 409.", ""),
    ("contention-429", "Of racing asserts the losers are refused with 429.", ""),
    ("contention-503", "Of racing asserts the losers are refused with 503.", ""),
)

# --- Review -----------------------------------------------------------------------------------------------------------

_group(
    "status-route",
    "E14",
    ("status-route-here", "PATCH /v1/packages/{id}/status changes the status of a package.", "*"),
    ("status-route-404", "No status route: 404.", "u"),
    ("status-route-405", "No status route: 405.", "u"),
    ("status-route-501", "No status route: 501.", "u"),
)
_group(
    "self-move",
    "E15",
    ("self-move-ok", "A transition to the same state answers 200 and changes nothing.", "*s"),
    ("self-move-refused", "A transition to the same state is refused.", ""),
    ("self-move-complete", "Only complete may be requested again; it answers 200 and changes nothing.", "s"),
    ("self-move-not-complete", "A transition to the same state answers 200, except for complete, which is refused.", "s"),
)
_group(
    "move-answer",
    "E14",
    ("move-package", "A transition answers the package.", "*"),
    ("move-empty", "A transition answers 200 without a body.", ""),
    ("move-ack", "A transition answers 200 and only the new status.", ""),
    ("move-hash", "A transition answers 200 and only the hash.", ""),
)
_group(
    "move-to-review",
    "E77",
    ("move-to-review-ok", "The status route also moves into awaiting_review.", "*"),
    ("move-to-review-refused", "The status route refuses awaiting_review, which only a flag sets.", "w"),
)
_group(
    "unknown-status",
    "E16",
    ("unknown-status-422", "A status outside the four is refused with 422.", "*"),
    ("unknown-status-400", "A status outside the four is refused with 400.", ""),
    ("unknown-status-409", "A status outside the four is refused with 409.", ""),
)
_group(
    "reflag",
    "E15",
    ("reflag-updates", "Flagging a waiting package sets the new review_type.", "*"),
    ("reflag-refused", "Flagging a waiting package is refused with 400.", ""),
    ("reflag-409", "Flagging a waiting package is refused with 409.", ""),
)
_group(
    "illegal-move",
    "E16",
    ("illegal-move-409", "An illegal transition is refused with 409.", "*s"),
    ("illegal-move-400", "An illegal transition is refused with 400.", ""),
    ("illegal-move-422", "An illegal transition is refused with 422.", "s"),
    ("illegal-move-403", "An illegal transition is refused with 403.", "s"),
    ("illegal-move-412", "An illegal transition is refused with 412.", "s"),
)
_group(
    "finish",
    "E77 E85",
    ("finish-allowed", "draft and revision_requested may go to complete.", "*"),
    ("finish-refused", "draft and revision_requested may not go to complete.", "w"),
    ("finish-draft-refused", "draft may not go to complete, revision_requested may.", "w"),
    ("finish-revision-refused", "revision_requested may not go to complete, draft may.", "w"),
)
_group(
    "review-reset",
    "E18",
    ("review-type-stays", "After a review review_type stays.", "*"),
    ("review-type-reset", "After an approval review_type becomes none.", "w"),
    ("review-type-reset-both", "After every review, review_type becomes none.", "w"),
)
_group(
    "note",
    "E72",
    ("note-dropped", "The note of a flag is not kept.", "*"),
    ("note-as-x-member", "The note of a flag becomes x-review-note.", "w"),
    ("note-in-answer", "The note of a flag is shown in a header of the answer.", ""),
    ("note-beside", "The note of a flag is shown with the package, if the hash is not part of the package.", ""),
)
_group(
    "flag-refusal",
    "E73",
    ("flag-422", "A flag with a bad review_type is refused with 422.", "*"),
    ("flag-400", "A flag with a bad review_type is refused with 400.", ""),
)
_group(
    "awaiting",
    "E19 E93",
    ("awaiting-queue", "Waiting packages are listed by /review-queue; status= is ignored.", "*"),
    ("awaiting-filter", "Waiting packages are listed by status=; /review-queue does not exist.", ""),
    ("awaiting-both", "Waiting packages are listed by status= and by /review-queue.", ""),
    ("awaiting-filter-empty", "status= lists them; /review-queue has another purpose and is always empty.", ""),
    ("awaiting-queue-notes", "/review-queue lists objects with package, note and place; status= is ignored.", ""),
    ("awaiting-queue-400", "/review-queue lists them; status= on the list is refused with 400.", ""),
    ("awaiting-filter-limited", "status= lists them, five unless limit is larger, with a total.", ""),
    ("awaiting-filter-mode", "status= lists them only together with mode=latest.", "u"),
    ("awaiting-none", "No list of waiting packages.", "u"),
)

# --- Transport --------------------------------------------------------------------------------------------------------

_group("connection", "E81", ("connection-close", "Each answer closes the connection.", ""))
_group("close-after-error", "E81", ("close-after-error", "Each refusal closes the connection.", ""))
_group(
    "framing",
    "E81",
    ("framing-length", "Bodies have a Content-Length.", "*"),
    ("framing-chunked", "Bodies are sent chunked.", ""),
    ("framing-chunked-tiny", "Bodies are sent in chunks of a few bytes, with an extension.", ""),
    ("framing-http10", "Answers are HTTP/1.0, their end is that of the connection.", ""),
)
_group(
    "header-case",
    "E81",
    ("headers-title", "Header names are in title case.", "*"),
    ("headers-lower", "Header names are in lower case.", ""),
    ("headers-upper", "Header names are in upper case.", ""),
)
_group("pace", "E81", ("slow-answers", "Each answer waits 50 ms.", ""))
_group("writes", "E81", ("split-writes", "Answers leave in pieces of a few bytes.", ""))
_group(
    "content-type",
    "E67",
    ("type-charset", "Content-Type has a charset.", "*"),
    ("type-plain", "Content-Type is application/json.", ""),
    ("type-odd", "Content-Type is spelled with capitals, quotes and a space.", ""),
)
_group(
    "location",
    "E32",
    ("location-header", "Deposits answer with a Location and a Link.", ""),
)
_group("entity-tag", "E02", ("entity-tag-counter", "Every answer has an ETag that is not a hash.", ""))
_group("compression", "E81", ("gzip-answers", "Bodies are compressed if the client accepts it.", ""))
_group("extra-headers", "E81", ("extra-headers", "Answers have twenty further headers, cookies included.", ""))
_group(
    "json-style",
    "E67",
    ("json-pretty", "Bodies are indented and end in a newline.", "*"),
    ("json-compact", "Bodies have no white space.", ""),
    ("json-ascii", "Bodies have every non-ASCII character escaped, with upper-case digits.", ""),
)
_group("redirect", "E81", ("redirect-get", "GET requests are redirected with 307 to another path.", ""))
_group(
    "clock",
    "E43",
    ("clock-ahead", "The clock of the server, Date included, is 100 seconds ahead.", ""),
    ("clock-behind", "The clock of the server, Date included, is 100 seconds behind.", ""),
    ("no-date", "Answers have no Date.", ""),
)

IMPLIED = {
    # A server that wants projects first has to have a way to make them.
    "projects-must-exist": ("project-create", ("project-create-201", "project-create-200", "project-create-409")),
    # A hash over nulls or digits that are not given back would not survive export and import (10.1-08).
    "reading-top-nulls": ("nulls", ("nulls-kept",)),
    "reading-exact-integers": ("integers", ("integers-exact",)),
    # A flat answer has no envelope (binding, section 4).
    "hash-flat": ("package-view", ("package-bare",)),
    "hash-flat-camel": ("package-view", ("package-bare",)),
    "hash-flat-in-envelope": ("package-view", ("package-under-package", "package-under-data")),
    # E90 accepts the hash of the deposited or of the returned package, so nothing else may be added to the latter.
    "storage-path-hashed": ("defaults", ("defaults-hidden",)),
}


def resolve(names, preset="default"):
    """The set of choices in force."""
    if preset == "default":
        active = {c.group: c.name for c in CHOICES.values() if c.default}
    elif preset == "strict":
        active = {}
        for group, options in GROUPS.items():
            fit = [c for c in options if c.strict and c.lenient == "pass"]
            defaults = [c for c in fit if c.default]
            if len(options) > 1 and fit:
                active[group] = (defaults or fit)[0].name
    elif preset == "tolerated":
        active = {c.group: c.name for c in CHOICES.values() if c.default}
        for group, options in GROUPS.items():
            odd = [c for c in options if c.lenient != "undecided" and (not c.strict or c.lenient == "warn")]
            if odd:
                active[group] = odd[-1].name
    elif preset.startswith("random:"):
        import random

        dice = random.Random(preset)
        active = {}
        for group, options in GROUPS.items():
            pool = list(options) if len(options) > 1 and any(c.default for c in options) else [None] * 3 + options
            picked = dice.choice(pool)
            if picked is not None:
                active[group] = picked.name
    else:
        raise ValueError(f"unknown preset {preset}")
    given = {}
    for name in names:
        choice = CHOICES.get(name)
        if choice is None:
            raise ValueError(f"unknown choice {name}")
        if given.get(choice.group, name) != name:
            raise ValueError(f"{name} and {given[choice.group]} exclude each other")
        given[choice.group] = active[choice.group] = name
    for name, (group, fit) in IMPLIED.items():
        if name in active.values() and active.get(group) not in fit:
            active[group] = fit[0]
    return frozenset(active.values())

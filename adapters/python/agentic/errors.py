"""What the library answers with when it does not do what it was asked to."""


class Refusal(Exception):
    """An error that the protocol has a name for, or nearly so (section 8)."""

    code = ""

    def __init__(self, message, pointer=None, code=None):
        super().__init__(message)
        self.pointer = pointer
        if code is not None:
            self.code = code


class InvalidSchema(Refusal):
    """The input is JSON, but not what sections 6 and 7 describe."""

    code = "invalid_schema"


class DuplicatePackageId(Refusal):
    """The id belongs to a package with other content (sections 8.1 and 11.2)."""

    code = "duplicate_package_id"


class ProjectArchived(Refusal):
    """Archived projects take no deposits here (sections 5.2 and 8.1)."""

    code = "project_archived"


class NotFound(Refusal):
    """There is no such package, or no such project."""

    code = "package_not_found"


class InvalidTransition(Refusal):
    """The table of section 5.3 does not have this move."""

    code = "invalid_transition"


class HashMismatch(Refusal):
    """The stored package is not the one that its hash was computed over (section 6.6)."""

    code = "hash_mismatch"


class NotCanonicalizable(Refusal):
    """The input is not JSON, or not I-JSON (E08)."""

    code = "not_canonicalizable"


class FactConflict(Refusal):
    """The assertion would leave two facts that hold at one time (section 7.3)."""

    code = "fact_conflict"

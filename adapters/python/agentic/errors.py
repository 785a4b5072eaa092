"""The errors of the library."""


class Refusal(Exception):
    """An error with a name of section 8, or a similar one."""

    code = ""

    def __init__(self, message, pointer=None, code=None):
        super().__init__(message)
        self.pointer = pointer
        if code is not None:
            self.code = code


class InvalidSchema(Refusal):
    """The input is JSON, but does not conform to sections 6 and 7."""

    code = "invalid_schema"


class DuplicatePackageId(Refusal):
    """The id belongs to a package with other content (sections 8.1 and 11.2)."""

    code = "duplicate_package_id"


class ProjectArchived(Refusal):
    """Archived projects accept no deposits here (sections 5.2 and 8.1)."""

    code = "project_archived"


class NotFound(Refusal):
    """The package or the project does not exist."""

    code = "package_not_found"


class InvalidTransition(Refusal):
    """The table of section 5.3 does not have this transition."""

    code = "invalid_transition"


class HashMismatch(Refusal):
    """The stored package does not match its hash (section 6.6)."""

    code = "hash_mismatch"


class NotCanonicalizable(Refusal):
    """The input is not JSON, or not I-JSON (E08)."""

    code = "not_canonicalizable"


class FactConflict(Refusal):
    """The assertion would leave two facts that are valid at one time (section 7.3)."""

    code = "fact_conflict"

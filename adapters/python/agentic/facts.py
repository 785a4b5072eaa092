"""Facts over time (section 7): one value of a subject and predicate is current, earlier ones are kept."""

import secrets

from .canonical import canonicalize
from .errors import FactConflict
from .instants import instant

# Set by the store; these members are ignored in the input of assert_fact (section 8.6).
ASSIGNED = ("fact_id", "created_at", "valid_to")


class Timeline:
    """The facts of one project, ended ones included. Rows are never removed, and only their ends ever change."""

    def __init__(self, clock):
        self.clock = clock
        self.rows = {}  # fact_id to row, in order of arrival
        self.pairs = {}  # (subject, predicate) to the ids of its rows

    def _add(self, row):
        self.rows[row["fact_id"]] = row
        self.pairs.setdefault((row["subject"], row["predicate"]), []).append(row["fact_id"])

    def of(self, subject, predicate):
        return [self.rows[fact_id] for fact_id in self.pairs.get((subject, predicate), ())]

    def current(self):
        return [row for row in self.rows.values() if is_current(row)]

    def assert_(self, inputs, source_author):
        """Section 7.3: end the current fact where the new one begins. Everything is checked before anything changes."""
        now = self.clock.now()
        row = {
            "fact_id": f"fact_{secrets.token_hex(16)}",
            **{name: value for name, value in inputs.items() if _is_kept(name, value)},
            "valid_to": None,
            "created_at": now,
        }
        row.setdefault("valid_from", now)
        if "asserted_by" not in row and source_author is not None:
            row["asserted_by"] = source_author  # section 7.2
        start = instant(row["valid_from"])
        current = None
        for other in self.of(row["subject"], row["predicate"]):
            if is_current(other):
                current = other
                if start < instant(other["valid_from"]):
                    raise FactConflict("the current fact begins later", "/valid_from")
            elif instant(other["valid_from"]) < instant(other["valid_to"]) and start < instant(other["valid_to"]):
                raise FactConflict("an ended fact was valid at that time", "/valid_from")
        if current is not None:
            current["valid_to"] = row["valid_from"]
        self._add(row)
        return row

    def invalidate(self, subject, predicate, value=None):
        """Section 7.4: end the current facts now, and return their number."""
        now = self.clock.now()
        ended = 0
        for row in self.of(subject, predicate):
            if is_current(row) and value in (None, row["value"]):
                # A fact with a later start was never valid.
                row["valid_to"] = max(now, row["valid_from"], key=instant)
                ended += 1
        return ended

    def query(self, subject=None, predicate=None, as_of=None, include_ended=False):
        """Current facts, those of an instant, or all, oldest first."""
        rows = [
            row
            for row in self.rows.values()
            if subject in (None, row["subject"]) and predicate in (None, row["predicate"])
        ]
        if as_of is not None:
            rows = [row for row in rows if holds_at(row, instant(as_of))]
        elif not include_ended:
            rows = [row for row in rows if is_current(row)]
        return sorted(rows, key=lambda row: instant(row["valid_from"]))

    def refuse_import(self, rows):
        """Raise if these facts of a backup conflict with the stored ones."""
        present = dict(self.rows)
        for row in rows:
            if canonicalize(present.setdefault(row["fact_id"], row)) != canonicalize(row):
                raise FactConflict(f"another fact {row['fact_id']} exists", "/fact_id")
        pairs = [(row["subject"], row["predicate"]) for row in present.values() if is_current(row)]
        if len(set(pairs)) < len(pairs):
            raise FactConflict("two facts of one subject and predicate would be current", "/valid_to")

    def take(self, rows):
        """Facts of a backup keep their ids and times (section 10.1)."""
        for row in rows:
            if row["fact_id"] not in self.rows:
                self._add(dict(row))


def _is_kept(name, value):
    return value is not None and name not in ASSIGNED


def is_current(row):
    """Section 7.3: a fact with an end is not current, even before that end (E39)."""
    return row.get("valid_to") is None


def holds_at(row, then):
    """The interval includes its beginning and excludes its end (section 7.3)."""
    return instant(row["valid_from"]) <= then and (is_current(row) or then < instant(row["valid_to"]))

"""Sessions (section 5.5): started by the first package that names one, or read from a backup."""

import hashlib

_ADJECTIVES = "amber bold calm coral dusty early gentle green humble keen lunar misty noble quiet rapid silver".split()
_NOUNS = "badger beacon comet crane delta falcon glacier harbor heron lantern maple otter raven river sparrow willow".split()


def callsign(session_id):
    """Two words, always the same for the same session."""
    digest = hashlib.sha256(session_id.encode("utf-8")).digest()
    return f"{_ADJECTIVES[digest[0] % len(_ADJECTIVES)]}-{_NOUNS[digest[1] % len(_NOUNS)]}"


class Sessions:
    """The sessions of one project."""

    def __init__(self, clock):
        self.clock = clock
        self.by_id = {}

    def all(self):
        return list(self.by_id.values())

    def note(self, package):
        """A package was deposited. A session belongs to one actor; packages of other actors are not in it."""
        actor = package["created_by"]
        session_id = actor.get("session_id")
        if session_id is None:
            return
        session = self.by_id.setdefault(
            session_id,
            {
                "session_id": session_id,
                "project_id": package["project_id"],
                "actor_id": actor["id"],
                "actor_type": actor["type"],
                "callsign": callsign(session_id),
                "started_at": self.clock.now(),
                "ended_at": None,
                "packages_deposited": [],
            },
        )
        if (session["actor_id"], session["actor_type"]) == (actor["id"], actor["type"]):
            session["packages_deposited"].append(package["package_id"])

    def take(self, session):
        """A session of a backup replaces one started here under its id."""
        self.by_id[session["session_id"]] = session

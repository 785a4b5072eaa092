"""Search by words: BM25 over the texts of packages (mode relevant, section 8.2)."""

import math
import re

_WORD = re.compile(r"\w+")
_TEXTS = ("title", "description", "handoff_note", "content_md", "topic")
_LISTS = ("tags", "decisions_made", "open_questions")


def words(text):
    return _WORD.findall(text.casefold())


def passages(package):
    """The texts of a package; the title counts twice."""
    yield package["title"]
    for name in _TEXTS:
        if package.get(name):
            yield package[name]
    for name in _LISTS:
        yield from package.get(name) or ()


def rank(packages, query):
    """Pairs of score and package for packages with a word of the query, best first."""
    wanted = set(words(query))
    documents = [(words(" ".join(passages(package))), package) for package in packages]
    average = sum(len(document) for document, _ in documents) / max(len(documents), 1)
    rarity = {}
    for word in wanted:
        having = sum(word in document for document, _ in documents)
        rarity[word] = math.log(1 + (len(documents) - having + 0.5) / (having + 0.5))
    found = []
    for document, package in documents:
        score = 0.0
        for word in wanted:
            times = document.count(word)
            score += rarity[word] * times * 2.2 / (times + 1.2 * (0.25 + 0.75 * len(document) / max(average, 1)))
        if score > 0:
            found.append((score, package))
    # Sorting is stable: equal matches stay in order of arrival.
    found.sort(key=lambda match: -match[0])
    return found

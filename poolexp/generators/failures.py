"""What kinds of failures a generator met: a few words for each, however many there were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

MOST_KINDS = 20
"""So many kinds are told apart; all further ones are counted together."""

MOST_CHARACTERS = 200
_OTHERS = "others"


@dataclass(slots=True)
class Failures:
    """Counts failures by the type of their exception, and keeps the first message of each type.

    An outcome says that a request failed, not how. A mistake in an experiment, or in the generator
    itself, must not hide behind it.
    """

    counts: dict[str, int] = field(default_factory=dict)
    messages: dict[str, str] = field(default_factory=dict)

    def note(self, error: BaseException) -> None:
        """Count one failure."""
        kind = type(error).__name__
        if kind not in self.counts and len(self.counts) >= MOST_KINDS:
            kind = _OTHERS
        if kind not in self.counts:
            self.messages[kind] = str(error)[:MOST_CHARACTERS]
        self.counts[kind] = self.counts.get(kind, 0) + 1

    def document(self) -> list[dict[str, Any]]:
        """All kinds, the most frequent first, for the manifest."""
        kinds = sorted(self.counts, key=lambda kind: -self.counts[kind])
        return [
            {"kind": kind, "message": self.messages[kind], "count": self.counts[kind]}
            for kind in kinds
        ]


def together(documents: Sequence[Sequence[dict[str, Any]]]) -> list[dict[str, Any]]:
    """What several generator processes met: counts added up, the first message of each kind."""
    all_of_them = Failures()
    for entry in (entry for document in documents for entry in document):
        kind = entry["kind"]
        all_of_them.messages.setdefault(kind, entry["message"])
        all_of_them.counts[kind] = all_of_them.counts.get(kind, 0) + entry["count"]
    return all_of_them.document()

"""Federates from which nothing comes: who waits for them is told why, since when, and until when that may last."""

from __future__ import annotations

from typing import Any

from weft.model.records import absence_words


class Absence:
    """Of one federate, as its host sees it.  Times are of the node's clock."""

    def __init__(self, why: str, since: float, until: float) -> None:
        self.why = why  # LOST or SILENT
        self.since = since
        self.until = until

    def data(self, now: float) -> dict[str, Any]:
        return {
            "why": self.why,
            "seconds": round(max(0.0, now - self.since), 1),
            "left": round(max(0.0, self.until - now), 1),
        }

    def words(self, now: float) -> str:
        told = self.data(now)
        return absence_words(self.why, told["seconds"], told["left"])

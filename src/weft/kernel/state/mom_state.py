"""What the MOM tells about, and what it is to report (`mom.mom`)."""

from __future__ import annotations

from weft.kernel.state.traffic import Traffic
from weft.model.handles import (
    FederateHandle,
    InteractionClassHandle,
    ObjectClassHandle,
    TransportationTypeHandle,
)

Counts = dict[tuple[ObjectClassHandle | InteractionClassHandle, TransportationTypeHandle], int]
"""By class and transportation."""


class Tally:
    """What a federate has done and what was done to it, for the MOM; true at the federate's own node.

    Messages are counted once each, at their recipients, and entered here when those are forgotten or somebody
    asks (`Federation.count_up`): the way of a message costs one addition more, however many hear it.
    """

    def __init__(self) -> None:
        self.updates = 0
        self.updates_sent: Counts = {}
        self.reflections_received: Counts = {}
        self.interactions_sent: Counts = {}
        self.interactions_received: Counts = {}
        self.directed_sent: Counts = {}
        self.directed_received: Counts = {}
        # Of instances that are gone by now; for the others, `Instance.updated` and `reflected` say it.
        self.updated: dict[ObjectClassHandle, int] = {}
        self.reflected: dict[ObjectClassHandle, int] = {}
        self.registered = 0
        self.deleted = 0
        self.discovered = 0
        self.removed = 0

    def add_messages(self, other: Tally) -> None:
        """The messages of another one, too."""
        self.updates += other.updates
        _add_all(self.updates_sent, other.updates_sent)
        _add_all(self.reflections_received, other.reflections_received)
        _add_all(self.interactions_sent, other.interactions_sent)
        _add_all(self.interactions_received, other.interactions_received)
        _add_all(self.directed_sent, other.directed_sent)
        _add_all(self.directed_received, other.directed_received)


def _add_all(counts: Counts, more: Counts) -> None:
    for (kind, transportation), count in more.items():
        add(counts, kind, transportation, count)


def add(
    counts: Counts,
    kind: ObjectClassHandle | InteractionClassHandle,
    transportation: TransportationTypeHandle,
    count: int = 1,
) -> None:
    key = (kind, transportation)
    counts[key] = counts.get(key, 0) + count


class MomState:
    """Of a federation, at one node."""

    def __init__(self) -> None:
        self.reports = ""  # where this node keeps files of service reports; empty: nowhere
        self.due: dict[FederateHandle, float] = {}  # when it next reports on whom here
        # Messages of members that have left this node, so that sums over all members never fall (`survey.survey`).
        self.former_tally = Tally()
        self.former_traffic = Traffic()

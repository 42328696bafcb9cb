"""A save or a restore that is under way, as every node holds it.  `federation.save` and `federation.restore` have the services.

Both *pause* the federates: until it is over, their calls are refused and callbacks for them are held (`node.pausing`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weft.kernel.state.parcels import Caller
from weft.model.enums import RestoreFailureReason, SaveFailureReason, SaveStatus
from weft.model.handles import FederateHandle
from weft.model.time import LogicalTime
from weft.ordering.galt import Bound

if TYPE_CHECKING:
    from weft.kernel.state.federation import Federation


class AskedSave:
    """A save at a logical time that all nodes are asked about (`federation.timed_saves`)."""

    def __init__(self, label: str, time: LogicalTime, federate: FederateHandle, caller: Caller) -> None:
        self.label = label
        self.time = time
        self.federate = federate
        self.caller = caller  # waits for the answer
        self.version = 1  # at the home: it is answered when all nodes have seen this (`time.galt_exchange`)


class Saving:
    """A save that federates were told to make."""

    def __init__(self, label: str, time: LogicalTime | None) -> None:
        self.label = label
        self.time = time
        self.status: dict[FederateHandle, SaveStatus] = {}
        self.failure: SaveFailureReason | None = None
        # The number of the command after which all had begun: from there on nothing is sent.
        self.point = 0
        # At each node: which other nodes have said that nothing more of theirs is under way to here.
        self.marks: dict[str, None] = {}
        self.shared = False
        # At the home: what the nodes add to the save.
        self.shares: dict[str, Any] = {}
        self.writing = False  # it has gone to the home's host


class Restoring:
    """A restore, from its request on; `data` is there once it has begun."""

    def __init__(self, label: str, requester: FederateHandle) -> None:
        self.label = label
        self.requester = requester
        self.fetching = False
        self.data: Any = None
        self.handles: dict[FederateHandle, FederateHandle] = {}  # now -> after the restore
        self.done: dict[FederateHandle, None] = {}
        self.failure: RestoreFailureReason | None = None


class SaveState:
    """Save and restore of a federation (`federation.save`, `federation.restore`)."""

    def __init__(self) -> None:
        self.saving: Saving | None = None
        # A save at a logical time (`federation.timed_saves`): asked for, accepted, and what follows for everybody's time.
        self.asked: list[AskedSave] = []
        self.scheduled: tuple[str, LogicalTime] | None = None
        self.limit: Bound | None = None
        self.last: tuple[str, LogicalTime | None] = ("", None)
        self.restoring: Restoring | None = None
        self.successor: Federation | None = None  # what the federation is restored to
        self.renamed: tuple[str, dict[FederateHandle, FederateHandle]] = ("", {})  # execution before, handles

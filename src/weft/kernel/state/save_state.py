"""A save or a restore that is under way, as every node holds it.  `federation.save` and `federation.restore` have the services.

Both *pause* the federates: until it is over, their calls are refused and callbacks for them are held (`node.pausing`).

A `Halt` is another matter: the operator has stopped logical time (`federation.operator`), and nothing else.
"""

from __future__ import annotations

from typing import Any

from weft.kernel.state.parcels import Caller
from weft.model.enums import RestoreFailureReason, SaveFailureReason, SaveStatus
from weft.model.handles import FederateHandle
from weft.model.time import LogicalTime
from weft.ordering.galt import Bound


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


class Halt:
    """The operator has paused logical time: nobody is granted more than what the *gate* lets through."""

    def __init__(self, since: float, by: str) -> None:
        self.since = since  # by this node's clock
        self.by = by
        self.gate: Any = None  # the last time that was let through; None: none was since the pause
        self.steps = 0  # that the operator has asked for and that have let nothing through yet
        self.round = 0  # the command that has opened the gate; each lets every flush through once
        self.counted = True  # somebody was granted the time of the gate, so that it counts as a step
        # At the home: whoever may have been granted it, and the version that all nodes must have seen before the first step.
        self.hopefuls: dict[FederateHandle, None] = {}
        self.version = 1

    def lets(self, time: Any) -> bool:
        return self.gate is not None and bool(time <= self.gate)

    def limit(self) -> Bound | None:
        """Nothing beyond it is delivered or granted; None: nothing is at all."""
        return None if self.gate is None else (self.gate, 1)

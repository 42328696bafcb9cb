"""Parcels: what nodes of one federation say to one another.

Control is sequenced by the federation's home node.  A federate's node sends a `Request` to the home (having asked
the directory node where that is, if need be); the home decides, and either refuses with an `Answer` or numbers the
command and sends it as a `Commit` to every node that has members.  All of them carry it out, so all hold the same
state; the node where the call was made also answers its federate.  A node that gets its first member is sent a
`Welcome` with the state of the federation after everything committed so far.

Data goes straight from node to node, as `Data` or `Inform`, for one execution of the federation: what is left of an
earlier one of the same name is dropped.  Each says after which commit it was sent, and waits at
the receiver until that commit has arrived: an update never overtakes the registration of its object.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from weft.kernel.state.messages import Message
from weft.kernel.state.time_state import Report, View
from weft.model.handles import FederateHandle
from weft.model.time import TimeValue


class Caller(NamedTuple):
    """Who made a call: the node, and the session and call number there."""

    node: str
    session: int
    number: int


class Invocation(NamedTuple):
    """A service that a federate invokes.  `caller` is None where nobody waits for the end, `federate` of one that joins."""

    caller: Caller | None
    federate: FederateHandle | None
    service: str
    arguments: tuple[Any, ...]


class Request(NamedTuple):
    """`caller` is None where nobody waits for the end: a federate was lost."""

    federation: str
    caller: Caller | None
    federate: FederateHandle | None
    service: str
    arguments: tuple[Any, ...]
    execution: str = ""  # in which the federate has that handle


class Commit(NamedTuple):
    federation: str
    sequence: int
    caller: Caller | None
    federate: FederateHandle | None
    service: str
    arguments: tuple[Any, ...]

    def invocation(self) -> Invocation:
        return Invocation(self.caller, self.federate, self.service, self.arguments)


class Answer(NamedTuple):
    """The end of a request that changes nothing at the caller's node; `error` None means it succeeded."""

    caller: Caller
    value: Any
    error: Exception | None
    callbacks: tuple[tuple[str, tuple[object, ...]], ...] = ()


class Welcome(NamedTuple):
    federation: str
    execution: str
    home: str
    sequence: int
    data: Any  # a snapshot (`federation.snapshot`)


class Claim(NamedTuple):
    """To the directory: may this node become the home of that name?  Nobody waits (`caller` None) where it is already."""

    federation: str
    time_implementation: str
    caller: Caller | None


class Locate(NamedTuple):
    """To the directory: where is the home of that federation?  The answer's value is a node, or None."""

    federation: str
    caller: Caller


class Release(NamedTuple):
    """To the directory: the federation is gone; the answer says that its name is free."""

    federation: str
    caller: Caller


class Data:
    """A message for the members at the receiving node that want it; sent late (`services.timed_changes`), for one alone.

    Neither this nor `Ordered` is a tuple as the others are: there are many, and compiled a class is made and read faster.
    """

    def __init__(
        self,
        federation: str,
        execution: str,
        after: int,
        message: Message,
        only: FederateHandle | None = None,
    ) -> None:
        self.federation = federation
        self.execution = execution
        self.after = after
        self.message = message
        self.only = only

    def fields(self) -> tuple[object, ...]:
        return (self.federation, self.execution, self.after, self.message, self.only)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Data) and self.fields() == other.fields()

    def __hash__(self) -> int:
        return hash((self.federation, self.execution, self.after))

    def __repr__(self) -> str:
        return f"Data{self.fields()!r}"


class Ordered:
    """A message in causal, total or priority order."""

    def __init__(
        self,
        federation: str,
        execution: str,
        after: int,
        message: Message,
        tag: bytes,
        to: tuple[int, ...] = (),
        forwarded: bool = False,
    ) -> None:
        self.federation = federation
        self.execution = execution
        self.after = after
        self.message = message
        # Of causal order; none in priority order.
        self.tag = tag
        # On the way to the sequencer: for whom it is.
        self.to = to
        # Passed on at the end of a view, by a node that got it, for a sender that is gone.
        self.forwarded = forwarded

    def fields(self) -> tuple[object, ...]:
        """In the order in which they are given."""
        return (
            self.federation,
            self.execution,
            self.after,
            self.message,
            self.tag,
            self.to,
            self.forwarded,
        )

    def copy(self) -> Ordered:
        return Ordered(
            self.federation,
            self.execution,
            self.after,
            self.message,
            self.tag,
            self.to,
            self.forwarded,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ordered) and self.fields() == other.fields()

    def __hash__(self) -> int:
        return hash((self.federation, self.execution, self.after, self.tag))

    def __repr__(self) -> str:
        return f"Ordered{self.fields()!r}"


class Inform(NamedTuple):
    """A callback for one member at the receiving node."""

    federation: str
    execution: str
    after: int
    federate: FederateHandle
    method: str
    arguments: tuple[Any, ...]


class Mark(NamedTuple):
    """Of a save: nothing that was sent before command `after`, at which all had begun to save, is under way behind this."""

    federation: str
    execution: str
    after: int


class Share(NamedTuple):
    """To the home: what the sender's node alone knows of its members, by their numbers, for the save of that point."""

    federation: str
    execution: str
    point: int
    data: dict[int, Any]


class TimeReport(NamedTuple):
    """To the home: what members of the sender's node ask for and promise (`time.galt_exchange`)."""

    federation: str
    execution: str
    after: int
    seen: int  # the last version of a TimeBound
    reports: tuple[Report, ...]
    announced: tuple[
        tuple[str, TimeValue], ...
    ]  # the smallest time stamp sent to each node since the report before


class TimeBound(NamedTuple):
    """From the home: how far logical time may go (`time.galt_exchange`)."""

    federation: str
    execution: str
    after: int
    version: int
    view: View
    behind: bytes  # reports of those whom the others wait for (`time.report_codec`); few ever ask
    answer: bool  # it wants a report
    past: int | float | None = (
        None  # nothing is sent or changed before that time any more; None: that is not known
    )


class Retraction(NamedTuple):
    """A message in time stamp order is taken back."""

    federation: str
    execution: str
    after: int
    handle: bytes


class Settled(NamedTuple):
    """A change of a region or subscription as of a logical time has been carried out, and what it led to was sent before this."""

    federation: str
    execution: str
    after: int
    federate: FederateHandle  # whose change
    number: int  # of its call


class Hello(NamedTuple):
    """To all nodes, first of all that a process of a node says: it has begun, and these federations have their home there.

    Each of `homes` is name, execution and logical time implementation.  Whatever else the one before knew is gone.
    """

    homes: tuple[tuple[str, str, str], ...]


class Left(NamedTuple):
    """The sender took the receiver for gone.  What it knew of federations at home there it has dropped, its members with it."""

    why: str


class Dissolve(NamedTuple):
    """The federation is over.  The directory says so to a home whose name was given away; the home to all nodes with members."""

    federation: str
    execution: str
    why: str


class Unable(NamedTuple):
    """To the home: by an error of its own the sender has lost what it knew of the federation, and its members with it."""

    federation: str
    execution: str
    why: str


Early = Data | Ordered | Inform | Mark | TimeReport | TimeBound | Retraction | Settled
"""What may come before the commit that it was sent after."""

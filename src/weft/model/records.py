"""Small value records that services take or give."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from weft.model.enums import AdditionalSettingsResultCode, OrderType, RestoreStatus
from weft.model.errors import InvalidCredentials
from weft.model.handles import FederateHandle, Handle, MessageRetractionHandle
from weft.model.time import LogicalTime

PLAIN_PASSWORD = "HLAplainTextPassword"


@dataclass(frozen=True, slots=True)
class Source:
    """A text handed to Weft together with the name by which its errors will be reported."""

    name: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class RtiConfiguration:
    """Where and how to connect; an empty address means the node inside this process."""

    configuration_name: str = ""
    rti_address: str = ""
    additional_settings: str = ""


@dataclass(frozen=True, slots=True)
class ConfigurationResult:
    configuration_used: bool = False
    address_used: bool = False
    additional_settings_result: AdditionalSettingsResultCode = AdditionalSettingsResultCode.SETTINGS_IGNORED
    message: str = ""


@dataclass(frozen=True, slots=True)
class Credentials:
    """By which a federate shows a server who it is: a type, and what that type says.  Without any, nobody in particular."""

    type: str = "HLAnoCredentials"
    data: bytes = field(default=b"", repr=False)

    @classmethod
    def password(cls, user: str, password: str) -> Credentials:
        """Of type HLAplainTextPassword, for a server with a password file: an HLAunicodeString "user:password"."""
        if not user or ":" in user:
            raise InvalidCredentials(f"the name of a user is not empty and has no colon, unlike {user!r}")
        try:
            text = f"{user}:{password}".encode("utf-16-be")
        except UnicodeEncodeError:
            raise InvalidCredentials(f"the password of {user!r} is no text") from None
        return cls(PLAIN_PASSWORD, (len(text) // 2).to_bytes(4, "big") + text)


class FederationExecutionInformation(NamedTuple):
    federation_execution_name: str
    logical_time_implementation_name: str


class FederationExecutionMemberInformation(NamedTuple):
    federate_name: str
    federate_type: str


class RangeBounds(NamedTuple):
    lower: int
    upper: int


class MessageRetractionReturn(NamedTuple):
    retraction_handle_is_valid: bool
    handle: MessageRetractionHandle | None


class LateAnswer:
    """The answer to a call that nobody waits for, once it has come, for whoever still wants it."""

    def __init__(self) -> None:
        self.answer = b""

    def put(self, answer: bytes) -> None:
        self.answer = answer

    def has_come(self) -> bool:
        return bool(self.answer)


class LateRetractionReturn(MessageRetractionReturn):
    """Of a message that was sent without waiting for its answer: who looks at it waits for that."""

    _ask: Callable[[], MessageRetractionReturn]
    _found: MessageRetractionReturn | None

    @classmethod
    def of(cls, ask: Callable[[], MessageRetractionReturn]) -> LateRetractionReturn:
        made = cls(False, None)
        made._ask = ask
        made._found = None
        return made

    def _wait(self) -> MessageRetractionReturn:
        if self._found is None:
            self._found = self._ask()
        return self._found

    @property
    def retraction_handle_is_valid(self) -> bool:
        return self._wait()[0]

    @property
    def handle(self) -> MessageRetractionHandle | None:
        return self._wait()[1]

    def __iter__(self) -> Iterator[bool | MessageRetractionHandle | None]:
        return iter(self._wait())

    def __getitem__(self, index: Any) -> Any:
        return self._wait()[index]

    def __eq__(self, other: object) -> bool:
        return self._wait() == other

    def __hash__(self) -> int:
        return hash(self._wait())

    def __repr__(self) -> str:
        return repr(self._wait())


class TimeQueryReturn(NamedTuple):
    time_is_valid: bool
    time: LogicalTime | None


class FederateRestoreStatus(NamedTuple):
    pre_restore_handle: FederateHandle
    post_restore_handle: FederateHandle
    restore_status: RestoreStatus


PAUSED_BY = "the {} (paused)"
"""Who holds up a federation that is paused."""


LOST = "lost"
SILENT = "silent"


def absence_words(why: str, seconds: float, left: float) -> str:
    """What is told of a federate from which nothing comes: for how long, and for how long that may last."""
    if why == LOST:
        return f"lost its connection {seconds:g} s ago and resigns in {left:g} s unless it comes back"
    return f"is connected but has said nothing for {seconds:g} s; it may do so for {left:g} s more"


class Blocker(NamedTuple):
    """A federate that others wait for: it may still send at its time and lookahead.  Times are plain numbers."""

    federate: str
    node: str
    state: str  # "granted": it has not asked to advance; else what it asks for (TAR, TARA, NMR, NMRA)
    time: float
    requested: float | None
    lookahead: float
    absence: str = ""  # nothing comes from it: why, for how long, and for how long that may last

    def __str__(self) -> str:
        asks = (
            "has not asked to advance"
            if self.requested is None
            else f"asks for {self.requested} ({self.state})"
        )
        away = f"; it {self.absence}" if self.absence else ""
        return (
            f"{self.federate!r} at node {self.node!r}, at {self.time} with lookahead {self.lookahead}, "
            f"{asks}{away}"
        )


class Settling(NamedTuple):
    """A change of a region or subscription as of a logical time that not all nodes have carried out yet."""

    time: float
    nodes: tuple[str, ...]  # that have not; none: nor has the home given it its place

    def __str__(self) -> str:
        whom = ", ".join([f"node {node!r}" for node in self.nodes]) or "the home"
        return f"its change as of {self.time}, which {whom} has still to carry out"


class Blocking(NamedTuple):
    """What holds up a federate that waits for a time advance (no part of the standard)."""

    federate: str
    state: str
    time: float
    requested: float | None  # None: it does not wait
    seconds: float  # for so long
    galt: float | None
    blocked_by: tuple[Blocker, ...]
    save: str = ""  # it is held for the federation save of that label
    settling: tuple[Settling, ...] = ()  # changes of its own that it also waits for
    paused: str = ""  # who has paused the federation, if that holds it: "operator"

    def __str__(self) -> str:
        if self.requested is None:
            return f"{self.federate!r} is granted {self.time} and waits for nobody"
        waits = f"{self.federate!r} waits for {self.requested} ({self.state}) since {self.seconds} s"
        if self.save:
            return f"{waits}, because of the federation save {self.save!r}"
        operator = [PAUSED_BY.format(self.paused)] if self.paused else []
        reasons = [*operator, *map(str, self.settling), *map(str, self.blocked_by)]
        return (
            f"{waits}, because of {'; '.join(reasons)}" if reasons else f"{waits}: no federate regulates time"
        )


def blocking_from(data: dict[str, Any]) -> Blocking:
    """From plain data, as it comes from a node."""
    others = tuple(Blocker(**one) for one in data["blocked_by"])
    settling = tuple(Settling(time, tuple(nodes)) for time, nodes in data.get("settling", ()))
    return Blocking(**{**data, "blocked_by": others, "settling": settling})


class DeadlineMiss(NamedTuple):
    """A callback that a federate had not dealt with in time (no part of the standard)."""

    class_name: str  # in full; of a group the class of the message whose deadline it was
    sender: str  # the name of the federate that sent the message; empty if it has left, and for timeouts
    deadline: float  # seconds, from when the callback was issued
    late: float  # by how many seconds, so far
    taken: bool  # it was dealt with, too late; else it is still waiting or under way
    misses: int  # of this federate and class since it joined, this one included

    def __str__(self) -> str:
        state = "was dealt with" if self.taken else "is not dealt with yet,"
        whom = f" of {self.sender!r}" if self.sender else ""
        return f"{self.class_name}{whom} {state} {self.late:.6g} s after its deadline of {self.deadline:g} s"


class CorrelatedEvent(NamedTuple):
    """One of the events of a group (no part of the standard)."""

    method: str
    """`receive_interaction`, `reflect_attribute_values`, `receive_directed_interaction`, or `timeout`."""
    class_handle: Handle | None
    """At which class it is received, or the object is known; None for a timeout."""
    arguments: tuple[Any, ...]
    """As that callback has them; of a timeout when it was due, its seconds, and how many periods were missed before."""
    order: OrderType | None = None
    """The order it was delivered in, as far as the node knows it."""

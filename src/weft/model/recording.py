"""What a node tells of a federation that is recorded, in words that neither the kernel nor the recorder owns.

Most of what happens is like something before: the same class with the same parameters from the same federate to the same others.
What is alike is a *shape*: one or more rows, as far as they do not change.  The kernel has a shape learnt once and then enters
only its number and what is different each time.
"""

from __future__ import annotations

from abc import abstractmethod
from types import TracebackType
from typing import Any, Final, Protocol

Pattern = tuple[tuple[str, object], ...]
"""What rows of a shape have in common: columns and values, lists as tuples.  Only hashable values."""

EACH: Final = "each"
"""In place of a column, last in a pattern: patterns that differ.  It stands for as many rows, each with one of these besides.

Messages from everybody to everybody have as many deliveries as there are pairs; so a delivery costs a shape no more than a
reference to what its receiver's rows have in common.
"""

NO_OBJECT = -1


def rows_in(patterns: tuple[Pattern, ...]) -> int:
    """How many rows a shape is."""
    count = 0
    for pattern in patterns:
        column, value = pattern[-1]
        count += len(value) if column == EACH and isinstance(value, tuple) else 1
    return count


def spread(patterns: tuple[Pattern, ...]) -> list[dict[str, Any]]:
    """The rows of a shape, one by one."""
    return [dict(row) for pattern in patterns for row in _rows_of(pattern)]


def _rows_of(pattern: Pattern) -> list[Pattern]:
    column, value = pattern[-1]
    if column != EACH or not isinstance(value, tuple):
        return [pattern]
    return [one + pattern[:-1] for one in value]


class ChannelEntry(Protocol):
    """What an event channel has noticed."""

    @property
    def kind(self) -> str: ...
    @property
    def mono_ns(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def operation(self) -> str: ...
    @property
    def priority(self) -> int | None: ...
    @property
    def sub_priority(self) -> int | None: ...
    @property
    def deadline_ns(self) -> int: ...
    @property
    def queue(self) -> int: ...
    @property
    def detail(self) -> str: ...


class Recorder:
    """Takes what happens in one federation at one node (`weft.recorder.Book`)."""

    def __init__(self) -> None:
        self.shapes: dict[object, int] = {}  # by what the kernel knows them by
        self.first = 0  # shapes below are forgotten, and have to be learnt again
        # Rows, or more, that an error of the recorder's own has cost, since somebody last asked.
        self.failed = 0
        self.failure: Exception | None = None  # the first of these errors

    def fail(self, error: Exception) -> None:
        """An error in what was to be recorded: that costs rows, never the call or the callback that they are about."""
        self.failed += 1
        if self.failure is None:
            self.failure = error

    @abstractmethod
    def next_shape(self) -> int:
        """The number that the next shape gets; a recorder that follows this one begins there, as numbers are remembered."""

    def __enter__(self) -> Recorder:
        """What is recorded inside may fail (`fail`)."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, Exception):
            return False
        self.fail(error)
        return True

    @abstractmethod
    def learn(self, key: object, rows: tuple[Pattern, ...]) -> int:
        """The number of a shape that is to be known by that key."""

    @abstractmethod
    def enter(self, shape: int, now: float, message: int, instance: int, values: object, tag: bytes) -> None:
        """It has happened once more: `message` 0, `instance` NO_OBJECT, `values` None for nothing.

        Of several rows, only the first has the values, and what is added.
        """

    @abstractmethod
    def add(
        self,
        cause_source: int,
        cause: int,
        time: int | float | None,
        control: int,
        more: dict[str, object] | None,
    ) -> None:
        """What most entries do not have, once, of the one made last: 0 and None for nothing."""

    @abstractmethod
    def enter_packed(self, shape: int, now: float, message: int, instance: int, fields: bytes) -> None:
        """The same for what is passed on as it came from the wire: `fields` are class or instance, values and tag."""

    @abstractmethod
    def carried_out(self, command: int) -> None:
        """From now on the node knows what the command of that number has changed (`Federation.sequence`)."""

    @abstractmethod
    def happened(self, happening: ChannelEntry) -> None:
        """An event channel has noticed something (its `record`); may come from any thread, and late."""

    @abstractmethod
    def took_part(self, node: str) -> None:
        """That node has members."""

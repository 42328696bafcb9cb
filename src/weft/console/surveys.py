"""What nodes tell of themselves: surveys and pictures as types, and parts of what has come as JSON.

The types are what docs/reference/survey.md says, as far as texts and screens show it.  Everything may be absent, unless it is
`Required`.
What comes from another node is read by the functions below: what is not of the expected kind counts as absent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Required, TypedDict

from weft.model.json_types import Json

Facts = Mapping[str, Json]
"""What is told of something, by name."""


def section(facts: Facts, name: str) -> Facts:
    """Return the object of that name; an empty one where there is none."""
    found = facts.get(name)
    return found if isinstance(found, Mapping) else {}


def objects(facts: Facts, name: str) -> Iterator[tuple[str, Facts]]:
    """Yield the objects inside the object of that name."""
    for key, value in section(facts, name).items():
        if isinstance(value, Mapping):
            yield key, value


def listed(facts: Facts, name: str) -> Iterator[Facts]:
    """Yield the objects of the list of that name."""
    for value in _list(facts, name):
        if isinstance(value, Mapping):
            yield value


def texts(facts: Facts, name: str) -> list[str]:
    """Return the texts of the list of that name."""
    return [value for value in _list(facts, name) if isinstance(value, str)]


def number(facts: Facts, name: str) -> float | None:
    """Return the number of that name; None where there is none."""
    found = facts.get(name)
    return found if isinstance(found, int | float) and not isinstance(found, bool) else None


def _list(facts: Facts, name: str) -> Sequence[Json]:
    found = facts.get(name)
    return found if isinstance(found, list | tuple) else ()


class ServerFacts(TypedDict, total=False):
    address: str
    sessions: int
    slow: int
    messages: int
    messages_rate: float
    bytes_in: int
    bytes_out: int
    cpu: float
    cpu_seconds: float
    resident_bytes: int


class LinkFacts(TypedDict, total=False):
    up: bool
    why: str
    since: float


class FabricFacts(TypedDict, total=False):
    links: dict[str, LinkFacts]
    unreachable: dict[str, str]


class RecordingFacts(TypedDict, total=False):
    on: bool
    directory: str
    runs: dict[str, str]
    rows: int
    dropped: int


class LastCallback(TypedDict):
    name: str
    ago: float


class AbsenceFacts(TypedDict):
    """Of a federate from which nothing comes."""

    why: str
    seconds: float
    left: float


class FederateFacts(TypedDict, total=False):
    name: str  # in rows of tables; elsewhere facts stand under it
    handle: int
    type: str
    node: str
    state: str
    regulating: bool
    constrained: bool
    time: str | float
    lookahead: str | float
    galt: str | float
    asks: str
    requested: str | float
    blocked_by: list[str]
    seconds: float
    queued: int
    deadlines: int
    misses: dict[str, int]
    calls_rate: float
    last_callback: LastCallback
    backlog_bytes: int
    slow: bool
    absence: AbsenceFacts


class PauseFacts(TypedDict, total=False):
    """How a federation's time is paused (docs/how-to/steering.md)."""

    by: str
    since: float
    steps: int
    at: str | float
    waits_for: list[str]


class SaveFacts(TypedDict, total=False):
    """A save or a restore that is under way."""

    label: str
    state: str
    waits_for: list[str]


class PointFacts(TypedDict, total=False):
    """A synchronization point."""

    waits_for: list[str]
    achieved: list[str]


class GainFacts(TypedDict):
    """How often a message arrives at other nodes, before and after a change of partitions."""

    messages: int
    before: float
    after: float
    gain: float


class AdaptationFacts(TypedDict, total=False):
    """Of the strategy AdaptivePartitioned."""

    changes: Required[int]
    state: str
    predicted: GainFacts
    obtained: GainFacts


class FederationFacts(TypedDict, total=False):
    federates: Required[dict[str, FederateFacts]]
    home: str
    instances: int
    strategy: str
    strategy_fault: str
    adaptation: AdaptationFacts
    time_type: str
    paused: PauseFacts
    save: SaveFacts
    restore: SaveFacts
    synchronization: dict[str, PointFacts]


class NodeFacts(TypedDict, total=False):
    state: Required[str]
    name: str  # in rows of tables
    address: str
    why: str
    age: float
    version: str
    wall: float
    server: ServerFacts
    fabric: FabricFacts
    recording: RecordingFacts


class SurveyPicture(TypedDict):
    """What is known of all nodes."""

    nodes: dict[str, NodeFacts]
    federations: dict[str, FederationFacts]

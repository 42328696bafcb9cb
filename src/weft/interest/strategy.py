"""What a strategy of data distribution is, and which ones there are: Weft's own, and those of other packages (S2-4, S2-23).

A package brings a strategy by an entry point of the group `weft.ddm_strategies`.  The name of the entry point is what a RID file
asks for; it stands for a class, or any callable, that takes the spaces and the settings and returns a `Strategy`:

    [project.entry-points."weft.ddm_strategies"]
    Stripes = "my_package:Stripes"

Names are read in any case.  Weft's own are never replaced.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Final, Protocol

from weft.interest.regions import Region
from weft.interest.spaces import Space
from weft.model.errors import SettingsError

SIMPLE: Final = "Simple"
SPACE: Final = "StaticSpacePartitioned"
GRID: Final = "StaticGridPartitioned"
EXACT: Final = "Exact"
ADAPTIVE: Final = "AdaptivePartitioned"
STRATEGIES: Final = (SIMPLE, SPACE, GRID, EXACT, ADAPTIVE)
"""Weft's own."""

GROUP: Final = "weft.ddm_strategies"
HOW_TO_INSTALL: Final = (
    "a strategy of another package is found when that package is installed beside Weft, at every node, and has an entry point "
    f"of that name in the group {GROUP}"
)

DEFAULT_CHANNEL: Final = 0
Channels = frozenset[int]

NO_CHANNELS: Channels = frozenset()
DEFAULT_CHANNELS: Channels = frozenset((DEFAULT_CHANNEL,))


class Strategy(Protocol):
    """What a strategy must offer; `weft.prove.check_strategy` says whether one does.

    It answers the same whenever and wherever it is asked: all nodes of a federation have one, and none asks another.
    """

    name: str
    partitions: int
    """Pieces that the spaces are divided into."""
    channels: int
    """Data channels in use, numbered from 1."""
    matches_at_sender: bool
    """Must the sender compare regions as well, and leave out who listens but does not overlap?"""

    def update_channels(self, space: Space | None, region: Region) -> Channels:
        """Where an update with that region is sent, once on each, and where a subscriber with it listens, besides channel 0."""


def strategy_names() -> tuple[str, ...]:
    """All that a RID file may ask for here: Weft's own first, then those of other packages."""
    return (*STRATEGIES, *sorted(set(_others()) - set(STRATEGIES)))


def known_strategy(name: str) -> str | None:
    """The name as it is spelled, if there is such a strategy."""
    for known in STRATEGIES:
        if known.lower() == name.lower():
            return known
    return next((known for known in _others() if known.lower() == name.lower()), None)


def origin(name: str) -> str:
    """The package, with its version, that brings a strategy; nothing of Weft's own, and of one that is not there."""
    return "" if name in STRATEGIES else ", ".join(_package(point) for point in _others().get(name, ()))


def load_strategy(name: str) -> object:
    """What the entry point of that name stands for."""
    points = _others().get(name, [])
    if not points:
        raise SettingsError(
            f"there is no strategy {name!r} here; there are {', '.join(strategy_names())}; {HOW_TO_INSTALL}"
        )
    if len(points) > 1:
        raise SettingsError(f"strategy {name!r} is brought by {origin(name)}: uninstall all but one of them")
    try:
        return points[0].load()
    except Exception as error:
        raise SettingsError(
            f"strategy {name!r} of {_package(points[0])} cannot be loaded from {points[0].value}: {error!r}; "
            "mend that package, or choose another StrategyToUse"
        ) from error


def _others() -> dict[str, list[EntryPoint]]:
    """By name; a package that is found twice on the way is one."""
    found: dict[str, dict[tuple[str, str], EntryPoint]] = {}
    for point in entry_points(group=GROUP):
        found.setdefault(point.name, {}).setdefault((_package(point), point.value), point)
    return {name: list(points.values()) for name, points in found.items()}


def _package(point: EntryPoint) -> str:
    return "an unnamed package" if point.dist is None else f"{point.dist.name} {point.dist.version}"

"""Advice on how data distribution is set up, from the object model and the settings alone (S2-19).

What it says follows from three facts: traffic is segmented by space before anything else, a region is sent once for every
partition it passes through, and what shares a channel is heard by all who listen to it.  Whether a finer grid pays depends
on how a federation moves, which no file says: measure it, and start with one partition.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from weft.fom import PRIVILEGE_TO_DELETE
from weft.interest.ddm_settings import EXACT, GRID, MULTICAST, SIMPLE, DdmSettings
from weft.interest.spaces import Space, Spaces
from weft.interest.strategies import StaticGridPartitioned, make_strategy
from weft.interest.strategy import ADAPTIVE

MANY_COPIES = 8  # an update without regions is sent so many times: worth saying
FEW = 3  # names shown of a long list


class Advice(NamedTuple):
    """`rule` is a short name that stays; `place` says where, if the thing has a place in a file."""

    rule: str
    text: str
    place: str = ""

    def __str__(self) -> str:
        return f"{self.place}: {self.text} [{self.rule}]" if self.place else f"{self.text} [{self.rule}]"


def advise(spaces: Spaces, settings: DdmSettings) -> list[Advice]:
    """All that is worth saying, what concerns the object model first."""
    return [*_on_spaces(spaces), *_on_strategy(spaces, settings), *_on_network(spaces, settings)]


def _on_spaces(spaces: Spaces) -> Iterator[Advice]:
    users: dict[int, list[str]] = {space.number: [] for space in spaces.all}
    without: list[str] = []
    for name, space, _ in spaces.users():
        if space is not None:
            users[space.number].append(name)
        elif _carries_data(spaces, name):
            without.append(name)
    if not spaces.all:
        text = "no routing space at all: everything travels on channel 0, which every federate hears"
        yield Advice("no-spaces", f"{text}; give attributes and interactions a space each")
    elif without:
        text = f"{_some(without)} without a space: sent on channel 0, which every federate hears"
        yield Advice("no-space", text)
    for space in spaces.all:
        found = users[space.number]
        owners = sorted({_owner(spaces, name) for name in found})
        if not found:
            yield Advice("unused-space", f"nothing travels in space {space.name}", space.place)
        elif len(owners) > 1:
            text = f"space {space.name} is shared by {_some(owners)}: who subscribes to one hears all of them"
            yield Advice(
                "shared-space", f"{text}; use one space for each class, or for each attribute", space.place
            )


def _on_strategy(spaces: Spaces, settings: DdmSettings) -> Iterator[Advice]:
    if settings.strategy == SIMPLE:
        text = "Simple sends everything to everybody; it is for debugging and for comparison"
        yield Advice("simple", f"{text}. Start with {GRID} and one partition")
    if settings.strategy == EXACT:
        text = "Exact makes every move of a region known to all senders; with many moving regions compare it with a grid"
        yield Advice("exact", text)
    if settings.strategy == ADAPTIVE and settings.best_effort != MULTICAST:
        text = f"{ADAPTIVE} pays where channels are few, as multicast groups are; over links Exact sends nothing unwanted"
        yield Advice("adaptive", f"{text}. Set BestEffortChannelType UDPmulticast, or compare it with Exact")
    if settings.strategy != GRID:
        return
    made = make_strategy(spaces, settings)
    assert isinstance(made, StaticGridPartitioned)
    if made.partitions > settings.max_channels:
        text = f"{made.partitions} partitions share {settings.max_channels} channels, so unrelated ones are heard together"
        yield Advice("channels-reused", f"{text}; use fewer partitions or raise MaxNumberOfDataChannelsToUse")
    for space in spaces.all:
        yield from _on_grid(space, made.grids[space.number].counts, made.grids[space.number].count)


def _on_grid(space: Space, counts: tuple[int, ...], count: int) -> Iterator[Advice]:
    for dimension, partitions in zip(space.dimensions, counts, strict=True):
        if partitions > dimension.size:
            text = f"dimension {dimension.name} of space {space.name} has {dimension.size} numbers"
            yield Advice(
                "empty-partitions",
                f"{text} and {partitions} partitions, of which some stay empty",
                space.place,
            )
    if count >= MANY_COPIES:
        text = (
            f"an update without regions in space {space.name} is sent {count} times, once for each partition"
        )
        yield Advice("fine-grid", f"{text}; finer is not better: compare with fewer partitions", space.place)


def _on_network(spaces: Spaces, settings: DdmSettings) -> Iterator[Advice]:
    if settings.reliable == MULTICAST:
        text = "ReliableChannelType UDPmulticast loses messages when the network does; Weft keeps reliable data on TCP"
        yield Advice("reliable-multicast", text)
    groups = int(settings.max_address) - int(settings.base_address) + 1
    channels = make_strategy(spaces, settings).channels + 1  # and channel 0
    if settings.best_effort == MULTICAST and groups < channels:
        text = f"{channels} channels share {groups} multicast groups, so unrelated ones are heard together"
        yield Advice("groups-reused", f"{text}; widen MulticastOptions")
    for unknown in settings.unknown:
        place, _, name = unknown.rpartition(": ")
        yield Advice("unknown-setting", f"{name} means nothing here and is ignored", place)


def _carries_data(spaces: Spaces, name: str) -> bool:
    """Not the token of ownership, and not an interaction class that only holds others together."""
    if name.endswith(f".{PRIVILEGE_TO_DELETE}"):
        return False
    interaction = spaces.model.interaction_classes.get(name)
    return interaction is None or (interaction.parent is not None and not interaction.scaffold)


def _owner(spaces: Spaces, name: str) -> str:
    """The class that stands behind a name of `users`."""
    return name if name in spaces.model.interaction_classes else name.rpartition(".")[0]


def _some(names: list[str]) -> str:
    shown = ", ".join(name.partition(".")[2] or name for name in names[:FEW])
    return f"{shown} and {len(names) - FEW} more" if len(names) > FEW else shown

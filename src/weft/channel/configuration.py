"""What a channel is made of (S3-12): a stream of modules between the proxies of suppliers and those of consumers.

    full             filtering → correlation → dispatching
    no dispatching   filtering → correlation                  pushes run in the supplier's call
    no correlation   filtering → dispatching                  every event of a registration is pushed alone, as it comes
    broadcast        nothing                                  every consumer gets every event (S3-19)

Timeouts stay in all of them.  A configuration changes what a registration means, and nothing else, so it is written as that:
the dependency that a registration amounts to.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from weft.channel.event import ANY
from weft.channel.qos import AllOf, AnyOf, Deadline, Dependency, Interval, On, Publication, leaves
from weft.channel.scheduling.rt_info import After, AfterAll, AfterAny, Every, RtInfo, Trigger
from weft.model.errors import ScheduleError

if TYPE_CHECKING:
    from weft.channel.channel import EventChannel


@dataclass(frozen=True, slots=True)
class Configuration:
    filtering: bool = True
    correlation: bool = True
    dispatching: bool = True

    def modules(self) -> tuple[str, ...]:
        """In the order in which an event passes them."""
        present = {
            "filtering": self.filtering,
            "correlation": self.correlation,
            "dispatching": self.dispatching,
        }
        return ("supplier proxies", *(name for name, there in present.items() if there), "consumer proxies")

    def meaning(self, dependency: Dependency) -> Dependency:
        """What a registration amounts to.  Its timeouts stay, and in their order."""
        if self.filtering and self.correlation:
            return dependency
        parts: tuple[Dependency, ...] = tuple(leaves(dependency))
        if not self.filtering:
            timeouts = tuple(part for part in parts if isinstance(part, Interval | Deadline))
            events = next((part for part in parts if isinstance(part, On)), On())
            parts = (On(ANY, ANY, events.rt_info), *timeouts)
        return parts[0] if len(parts) == 1 else AnyOf(parts)


FULL = Configuration()
NO_DISPATCHING = Configuration(dispatching=False)
NO_CORRELATION = Configuration(correlation=False)
BROADCAST = Configuration(filtering=False, correlation=False, dispatching=False)


# The configuration run (S3-10): all connect as they will in earnest, and the channel tells who triggers whom


def recorded(channel: EventChannel, infos: Iterable[RtInfo]) -> list[RtInfo]:
    """The operations, with the dependencies that the connections of a channel imply added to their own.

    A publication and a leaf of a registration that name an RT_Info make one operation trigger another.  All operations named in
    an all_of are triggered by the whole group.  A deadline triggers nothing: it runs when others do not.  Registrations of one
    consumer that overlap count each, which is on the safe side."""
    return connected(channel, infos, None)


class Candidate(NamedTuple):
    """Who asks to be connected, as a consumer or a supplier."""

    name: str
    rt_info: str
    registrations: tuple[Dependency, ...]
    publications: tuple[Publication, ...]

    def rt_infos(self) -> set[str]:
        named = {leaf.rt_info or self.rt_info for one in self.registrations for leaf in leaves(one)}
        named |= {one.rt_info for one in self.publications}
        return {name for name in named if name}


def candidates(channel: EventChannel) -> list[Candidate]:
    """All who are connected."""
    consumers = [Candidate(one.name, one.rt_info, tuple(one.asked()), ()) for one in channel.consumers()]
    return consumers + [Candidate(one.name, "", (), one.publications()) for one in channel.suppliers()]


def connected(channel: EventChannel, infos: Iterable[RtInfo], more: Candidate | None) -> list[RtInfo]:
    """As `recorded`, with one more who asks to be connected."""
    known = {info.name: info for info in infos}
    found = {name: list(info.dependencies) for name, info in known.items()}
    meaning = channel.configuration.meaning
    everybody = candidates(channel) + ([] if more is None else [more])
    offered = [one for who in everybody for one in who.publications if one.rt_info]
    for one in offered:
        _require(one.rt_info, known, "a publication")
    for who in everybody:
        for dependency in who.registrations:
            for name, trigger in _triggers(meaning(dependency), who.rt_info, offered):
                _require(name, known, who.name)
                found[name].append(trigger)
    return [replace(info, dependencies=tuple(found[name])) for name, info in known.items()]


def _require(name: str, known: dict[str, RtInfo], who: str) -> None:
    if name not in known:
        raise ScheduleError(f"{who} names the operation {name}, of which there is no RT_Info")


def _triggers(dependency: Dependency, default: str, offered: list[Publication]) -> list[tuple[str, Trigger]]:
    if isinstance(dependency, AnyOf):
        return [pair for part in dependency.parts for pair in _triggers(part, default, offered)]
    if isinstance(dependency, AllOf):
        inner = [_triggers(part, default, offered) for part in dependency.parts]
        groups = tuple(AfterAny(tuple(trigger for _, trigger in part)) for part in inner if part)
        whole = groups[0] if len(groups) == 1 else AfterAll(groups)
        names = dict.fromkeys(name for part in inner for name, _ in part)
        return [(name, whole) for name in names] if groups else []
    name = dependency.rt_info or default
    if not name or isinstance(dependency, Deadline):
        return []
    if isinstance(dependency, Interval):
        return [(name, Every(dependency.seconds))]
    return [(name, After(one.rt_info)) for one in offered if _fits(dependency, one)]


def _fits(dependency: On, publication: Publication) -> bool:
    return (ANY in (dependency.source, publication.source) or dependency.source == publication.source) and (
        ANY in (dependency.type, publication.type) or dependency.type == publication.type
    )

"""The configuration run (S3-10): all connect as they will in earnest, and the channel tells who triggers whom."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from weft.channel.channel import EventChannel
from weft.channel.event import ANY
from weft.channel.qos import AllOf, AnyOf, Deadline, Dependency, Interval, On, Publication
from weft.channel.scheduling.rt_info import After, AfterAll, AfterAny, Every, RtInfo, Trigger
from weft.model.errors import ScheduleError


def recorded(channel: EventChannel, infos: Iterable[RtInfo]) -> list[RtInfo]:
    """The operations, with the dependencies that the connections of a channel imply added to their own.

    A publication and a leaf of a registration that name an RT_Info make one operation trigger another.  All operations named in
    an all_of are triggered by the whole group.  A deadline triggers nothing: it runs when others do not.  Registrations of one
    consumer that overlap count each, which is on the safe side."""
    known = {info.name: info for info in infos}
    found = {name: list(info.dependencies) for name, info in known.items()}
    meaning = channel.configuration.meaning
    offered = [one for supplier in channel.suppliers() for one in supplier.publications() if one.rt_info]
    for one in offered:
        _require(one.rt_info, known, "a publication")
    for consumer in channel.consumers():
        for dependency in consumer.asked():
            for name, trigger in _triggers(meaning(dependency), consumer.rt_info, offered):
                _require(name, known, consumer.name)
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

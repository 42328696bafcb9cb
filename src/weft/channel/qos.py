"""What suppliers publish and what consumers depend on (S3-3), as frozen data.

    on(POSITION, RADAR)                                        one event
    all_of(on(POSITION), on(SPEED))                            both, in one push
    any_of(all_of(on(POSITION), on(SPEED)), deadline(0.5))     both, or a warning that they did not come in time
    interval(0.025)                                            a timeout, 40 times a second

Each of `on`, `interval` and `deadline` may name the operation of the schedule (its RT_Info) that a push on its behalf runs as.
Several registrations of one consumer are a disjunction.  What makes no sense is refused here, when it is written down.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from weft.channel.event import ANY, FIRST_TYPE
from weft.model.errors import ChannelError

DEEPEST = 64  # groups within groups


@dataclass(frozen=True, slots=True)
class On:
    """An event of a type from a source; ANY is 0."""

    type: int = ANY
    source: int = ANY
    rt_info: str = ""


@dataclass(frozen=True, slots=True)
class Interval:
    """A timeout every so many seconds."""

    seconds: float
    rt_info: str = ""


@dataclass(frozen=True, slots=True)
class Deadline:
    """A timeout so many seconds after the registration began to wait, unless it fires before."""

    seconds: float
    rt_info: str = ""


@dataclass(frozen=True, slots=True)
class AllOf:
    parts: tuple[Dependency, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    parts: tuple[Dependency, ...]


Leaf = On | Interval | Deadline
Dependency = On | Interval | Deadline | AllOf | AnyOf


def on(type: int = ANY, source: int = ANY, rt_info: str = "") -> On:
    """Events of a type, of a source, of both, or all there are."""
    return On(_type(type), _source(source), rt_info)


def interval(seconds: float, rt_info: str = "") -> Interval:
    """A timeout every `seconds`: a dependency that arrives periodically."""
    return Interval(_duration("an interval", seconds), rt_info)


def deadline(seconds: float, rt_info: str = "") -> Deadline:
    """A watchdog: a timeout if the registration it stands in has not fired within `seconds`."""
    return Deadline(_duration("a deadline", seconds), rt_info)


def all_of(*parts: Dependency) -> AllOf:
    """A conjunction: one push with all the events once every part has arrived."""
    return AllOf(_parts("all_of", parts))


def any_of(*parts: Dependency) -> AnyOf:
    """A disjunction: a push whenever one of the parts has arrived."""
    return AnyOf(_parts("any_of", parts))


@dataclass(frozen=True, slots=True)
class Publication:
    """What a supplier pushes; 0 for a source or a type means that it may be any.  `rt_info`: the operation that pushes it."""

    source: int = ANY
    type: int = ANY
    rt_info: str = ""


@dataclass(frozen=True, slots=True)
class SupplierQos:
    """`name` is what errors and reports call the supplier.

    best_effort: on their way to other channels its events may be lost; where hosts have datagrams, they go by these."""

    publications: tuple[Publication, ...]
    name: str = ""
    is_gateway: bool = False
    best_effort: bool = False


@dataclass(frozen=True, slots=True)
class ConsumerQos:
    """`name` is what errors and reports call the consumer.

    rt_info: the operation of the schedule for leaves that name none.
    is_gateway: what it wants is wanted elsewhere, so other gateways do not ask for it on this channel's behalf.
    clear_all: as TAO does it, any push to the consumer clears all its registrations, not only the group that fired.
    """

    registrations: tuple[Dependency, ...]
    name: str = ""
    rt_info: str = ""
    is_gateway: bool = False
    clear_all: bool = False


def publishes(
    *pairs: tuple[int, int], name: str = "", rt_info: str = "", best_effort: bool = False
) -> SupplierQos:
    """QoS of a supplier from its (source, type) pairs."""
    if not pairs:
        raise ChannelError(
            f"supplier {name or 'without a name'} publishes nothing; name its (source, type) pairs"
        )
    return SupplierQos(
        tuple(Publication(_source(source), _type(type), rt_info) for source, type in pairs),
        name,
        best_effort=best_effort,
    )


def depends(
    *registrations: Dependency, name: str = "", rt_info: str = "", clear_all: bool = False
) -> ConsumerQos:
    """QoS of a consumer from its registrations."""
    return ConsumerQos(tuple(registrations), name, rt_info, clear_all=clear_all)


def leaves(dependency: Dependency) -> Iterator[Leaf]:
    """From left to right."""
    if isinstance(dependency, AllOf | AnyOf):
        for part in dependency.parts:
            yield from leaves(part)
    else:
        yield dependency


def check_publication(publication: Publication) -> None:
    _source(publication.source)
    _type(publication.type)


def check(dependency: Dependency, depth: int = 0) -> None:
    """Refuses what was put together by hand and could not have come from the functions above."""
    if depth > DEEPEST:
        raise ChannelError(f"groups within groups more than {DEEPEST} deep; write the dependency flatter")
    if isinstance(dependency, AllOf | AnyOf):
        _parts("all_of" if isinstance(dependency, AllOf) else "any_of", dependency.parts)
        for part in dependency.parts:
            check(part, depth + 1)
    elif isinstance(dependency, On):
        _type(dependency.type)
        _source(dependency.source)
    elif isinstance(dependency, Interval | Deadline):
        _duration("an interval" if isinstance(dependency, Interval) else "a deadline", dependency.seconds)
    else:
        raise ChannelError(
            f"{dependency!r} is no dependency; use on, all_of, any_of, interval or deadline of weft.channel"
        )


def _parts(word: str, parts: tuple[Dependency, ...]) -> tuple[Dependency, ...]:
    if not parts:
        raise ChannelError(f"{word}() is empty and could never fire; name what it waits for")
    for part in parts:
        if not isinstance(part, On | Interval | Deadline | AllOf | AnyOf):
            raise ChannelError(
                f"{word}({part!r}): {part!r} is no dependency; write on(type, source), for example"
            )
    return parts


def _type(type: int) -> int:
    if not _is_whole(type) or type < 0:
        raise ChannelError(
            f"an event type is a whole number from {FIRST_TYPE} up, or 0 for any, not {type!r}"
        )
    if 0 < type < FIRST_TYPE:
        raise ChannelError(
            f"the event type {type} is a designator of the channel; types of events begin at {FIRST_TYPE}"
        )
    return type


def _source(source: int) -> int:
    if not _is_whole(source) or source < 0:
        raise ChannelError(f"a source is a whole number from 1 up, or 0 for any, not {source!r}")
    return source


def _is_whole(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool)


def _duration(word: str, seconds: float) -> float:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise ChannelError(f"{word} is a number of seconds, not {seconds!r}")
    if not math.isfinite(seconds) or seconds <= 0:
        raise ChannelError(f"{word} must be longer than 0 seconds, not {seconds!r}")
    return float(seconds)

"""What a federate waits for in groups: dependencies of `weft.channel` whose leaves are interactions and updates.

all_of(heard("Fire"), heard("Tank", "Position", sender="north"))
any_of(all_of(heard("Fire"), heard("Hit")), deadline(0.5))
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from weft.channel import Dependency
from weft.channel.qos import AllOf, AnyOf, Deadline, Interval, On
from weft.fom.classes import HLAclass
from weft.model.errors import RTIinternalError
from weft.model.handles import AttributeHandle, InteractionClassHandle, ObjectClassHandle


@dataclass(frozen=True, slots=True)
class Heard(On):
    """An interaction of a class, or an update of objects of a class, or of a class below it."""

    what: str | InteractionClassHandle | ObjectClassHandle = ""
    attributes: tuple[str | AttributeHandle, ...] = ()
    sender: str = ""


def heard(
    what: str | type[HLAclass] | InteractionClassHandle | ObjectClassHandle,
    *attributes: str | AttributeHandle,
    sender: str = "",
) -> Heard:
    """An interaction, or an update of an object, by its class: a name, a class of Python or a handle.

    `attributes`: only updates with at least one of them.  `sender`: only of the federate with that name.
    """
    if not what:
        raise RTIinternalError("heard() names no class; say what is to be heard")
    name = what.HLA_NAME if isinstance(what, type) else what
    return Heard(what=name, attributes=attributes, sender=sender)


Resolve = Callable[[Heard], tuple[InteractionClassHandle | ObjectClassHandle, list[AttributeHandle]]]


def plain(dependency: Dependency, resolve: Resolve) -> list[object]:
    """As the RTI is asked for it (`weft.kernel.qos.correlation`)."""
    if isinstance(dependency, AllOf | AnyOf):
        word = "all" if isinstance(dependency, AllOf) else "any"
        return [word, *[plain(part, resolve) for part in dependency.parts]]
    if isinstance(dependency, Interval):
        return ["interval", dependency.seconds]
    if isinstance(dependency, Deadline):
        return ["deadline", dependency.seconds]
    if not isinstance(dependency, Heard):
        raise RTIinternalError(
            f"{dependency!r} is nothing that a federate hears; use heard(class), and all_of, any_of, interval and deadline of "
            "weft.channel"
        )
    kind, attributes = resolve(dependency)
    word = "interaction" if isinstance(kind, InteractionClassHandle) else "object"
    return ["on", word, kind.number, [one.number for one in attributes], dependency.sender]


def resolved(dependency: Dependency, resolve: Resolve) -> Dependency:
    """The same, with handles in place of names."""
    if isinstance(dependency, AllOf | AnyOf):
        parts = tuple(resolved(part, resolve) for part in dependency.parts)
        return AllOf(parts) if isinstance(dependency, AllOf) else AnyOf(parts)
    if not isinstance(dependency, Heard):
        return dependency
    kind, attributes = resolve(dependency)
    return Heard(what=kind, attributes=tuple(attributes), sender=dependency.sender)


def leaves(dependency: Dependency) -> Iterator[Heard]:
    if isinstance(dependency, AllOf | AnyOf):
        for part in dependency.parts:
            yield from leaves(part)
    elif isinstance(dependency, Heard):
        yield dependency

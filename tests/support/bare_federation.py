"""A federation of the small object model with members, and no node around it: for functions of the kernel by themselves."""

from __future__ import annotations

from collections.abc import Iterable

from support.small_fom import INTERACTION_ROOT, ROOT, fom
from weft.fom.catalog import InteractionClassEntry, ObjectClassEntry
from weft.kernel.federation.founding import found
from weft.kernel.federation.membership import join
from weft.kernel.node.service_table import SERVICES
from weft.kernel.services import time_management
from weft.kernel.state.effects import Callback
from weft.kernel.state.federation import Federation, Member
from weft.kernel.state.step import Step
from weft.kernel.state.turn import Turn
from weft.kernel.time import galt_exchange
from weft.model.handles import AttributeHandle
from weft.model.records import Source

HERE = "here"


def bare(
    *nodes: str, time: str = "HLAinteger64Time", more: tuple[Source, ...] = ()
) -> tuple[Federation, list[Member]]:
    """A member for each of the nodes, where it lives; they have the names A, B, …  `more`: further modules."""
    federation = found("range", "range/1", HERE, ((fom(), *more), None, time, None))
    step = step_of(federation, federation.rti)
    members = [
        join(step, node, number, "kind", chr(ord("A") + number), None) for number, node in enumerate(nodes)
    ]
    return federation, members


def step_of(federation: Federation, member: Member, now: float = 0.0) -> Step:
    return Step(Turn(HERE, now), federation, member)


def carry_out(step: Step) -> None:
    """The commands that this turn asks for, as a home does that is alone; who may begin to take part in time begins."""
    turn, federation = step.turn, step.federation
    rti = Step(turn, federation, federation.rti)
    while turn.orders is not None or turn.begins:
        turn.begins = False
        for _, member, command, arguments in turn.take_orders() or ():
            SERVICES[command].function(Step(turn, federation, member), *arguments)
        galt_exchange.publish(rti)
        regulates = galt_exchange.ready_to_regulate(federation)
        while regulates is not None:
            handle, time, exclusive = regulates
            time_management.time_regulation_begun(rti, handle.number, time, exclusive)
            regulates = galt_exchange.ready_to_regulate(federation)
        waits = time_management.ready_to_be_constrained(federation)
        while waits is not None:
            time_management.time_constrained_begun(rti, waits.number)
            waits = time_management.ready_to_be_constrained(federation)


def told(step: Step, member: Member) -> list[tuple[str, tuple[object, ...]]]:
    """The callbacks to that member in this turn: methods and arguments."""
    return [
        (one.method, one.arguments)
        for one in step.effects
        if isinstance(one, Callback) and one.session == member.session
    ]


def object_class(federation: Federation, name: str) -> ObjectClassEntry:
    return federation.catalog.object_class_names[f"{ROOT}.{name}"]


def interaction_class(federation: Federation, name: str) -> InteractionClassEntry:
    return federation.catalog.interaction_class_names[f"{INTERACTION_ROOT}.{name}"]


def attributes(entry: ObjectClassEntry, names: Iterable[str]) -> list[AttributeHandle]:
    return [entry.names[name] for name in names]

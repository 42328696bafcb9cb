"""To all members here that get a message, at once where nobody has to wait (`message.deliver_in_time`)."""

from __future__ import annotations

from typing import Any

from weft.fom.catalog import InteractionClassEntry
from weft.kernel.message import deliver_in_time, update_rates
from weft.kernel.state.effects import Callback
from weft.kernel.state.federation import Audience, Instance, Leg, Member, Route
from weft.kernel.state.step import Step
from weft.kernel.state.turn import Turn
from weft.model.enums import OrderType
from weft.model.handles import (
    AttributeHandle,
    InteractionClassHandle,
    ParameterHandle,
    TransportationTypeHandle,
)
from weft.model.packed import PackedValues


def hear(
    step: Step,
    sender: Member,
    audience: Audience,
    sent_class: InteractionClassHandle,
    values: dict[ParameterHandle, bytes] | PackedValues,
    tag: bytes,
    transportation: TransportationTypeHandle,
    stamp: tuple[Any, ...],
) -> None:
    turn = step.turn
    if audience.holding or (stamp and stamp[1] is OrderType.TIMESTAMP):
        deliver_in_time.hear_in_time(step, sender, audience, sent_class, values, tag, transportation, stamp)
        return
    if isinstance(values, PackedValues):
        _hear_packed(turn, sender, audience, sent_class, values, tag, transportation, stamp)
        return
    effects = step.effects
    producer = sender.handle
    number = turn.number
    for received, member in audience.ears:
        if received.handle is sent_class or received.handle == sent_class:
            kept = dict(values)
        else:
            kept = {handle: value for handle, value in values.items() if handle in received.parameters}
        arguments: tuple[Any, ...] = (received.handle, kept, tag, transportation, producer, None)
        effects.append(
            Callback(member.session, "receive_interaction", arguments + stamp if stamp else arguments, number)
        )


def _hear_packed(
    turn: Turn,
    sender: Member,
    audience: Audience,
    sent_class: InteractionClassHandle,
    values: PackedValues,
    tag: bytes,
    transportation: TransportationTypeHandle,
    stamp: tuple[Any, ...],
) -> None:
    """Packed values cannot be changed, so all who hear the same class share one tuple, and the host encodes it once."""
    effects = turn.effects
    heard: InteractionClassEntry | None = None
    arguments: tuple[Any, ...] = ()
    for received, member in audience.ears:
        if received is not heard:
            heard = received
            kept = values if received.handle == sent_class else values.subset(received.parameters)
            arguments = (received.handle, kept, tag, transportation, sender.handle, None, *stamp)
        effects.append(Callback(member.session, "receive_interaction", arguments, turn.number))


def reflect(
    step: Step,
    instance: Instance,
    route: Route,
    sender: Member,
    values: dict[AttributeHandle, bytes] | PackedValues,
    tag: bytes,
    stamp: tuple[Any, ...],
) -> None:
    """To the members here."""
    if stamp and stamp[1] is OrderType.TIMESTAMP:
        deliver_in_time.reflect_in_time(
            step, instance, route.legs + route.paced, sender, values, tag, stamp, route.where
        )
        return
    if route.holding:
        deliver_in_time.reflect_in_time(step, instance, route.legs, sender, values, tag, stamp)
    elif route.legs:
        _reflect_each(step.turn, instance, route, sender, values, tag, stamp)
    if route.paced:
        update_rates.pace(step, instance, route.paced, sender, values, tag, stamp)


def _reflect_each(
    turn: Turn,
    instance: Instance,
    route: Route,
    sender: Member,
    values: dict[AttributeHandle, bytes] | PackedValues,
    tag: bytes,
    stamp: tuple[Any, ...],
) -> None:
    if isinstance(values, PackedValues):
        _reflect_packed(turn, instance, route, sender, values, tag, stamp)
        return
    effects = turn.effects
    producer = sender.handle
    number = turn.number
    for leg in route.legs:
        wanted = leg.attributes
        kept = dict(values) if wanted is None else {handle: values[handle] for handle in wanted}
        arguments: tuple[Any, ...] = (instance.handle, kept, tag, leg.transportation, producer, None)
        effects.append(
            Callback(
                leg.member.session,
                "reflect_attribute_values",
                arguments + stamp if stamp else arguments,
                number,
            )
        )


def _reflect_packed(
    turn: Turn,
    instance: Instance,
    route: Route,
    sender: Member,
    values: PackedValues,
    tag: bytes,
    stamp: tuple[Any, ...],
) -> None:
    """As with interactions, receivers of the same attributes share one tuple."""
    effects = turn.effects
    last: Leg | None = None
    arguments: tuple[Any, ...] = ()
    for leg in route.legs:
        if last is None or leg.attributes != last.attributes or leg.transportation != last.transportation:
            kept = values if leg.attributes is None else values.subset(leg.attributes)
            arguments = (instance.handle, kept, tag, leg.transportation, sender.handle, None, *stamp)
            last = leg
        effects.append(Callback(leg.member.session, "reflect_attribute_values", arguments, turn.number))

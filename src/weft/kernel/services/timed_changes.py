"""Changes of regions and subscriptions as of a logical time (docs/explanation/ddm-sync.md): how a federate makes one,
and what it leads to.

A federate that regulates time may say from when on a region, or a subscription, is to be what; no earlier
than it could send a message.  That is a command like the change without a time.  If the federation has it so
(SynchronizedDeclarations Regulating), what such a federate calls without a time counts as of the earliest that it could name.

At the federate's node, when it is made: the federate is *held*, not granted that time or a later one, until further notice.
At each node, when it is carried out:

    lists       the distribution lists of the node's topics are what they would be, had it come first of all
    queue       what waits for the federate and is not wanted any more, as of its time, is dropped (at its own node)
    late sends  what is in the node's log and is wanted now is sent, to that federate alone
    Settled     the node says so to the federate's node, behind the late sends, by the causal class

When all nodes have, the federate is no longer held.  So it never gets anything of its past: a late send is not below the time of
the change, and the federate has not been granted that time.  Nor is there anything to take back: what it was given is below the
time that it was held at, and the change makes no difference there.

A change without a time holds from when it is carried out, for all times; what it makes the federate not want any more and
waits for it already comes all the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from weft.interest.ddm_settings import SYNCHRONIZED, TIMED
from weft.interest.timed import How, Kind, TimedDeclarations, What
from weft.kernel.ddm import matching_at_time
from weft.kernel.message import deliver_as_of, pipeline
from weft.kernel.recording import order_rows
from weft.kernel.state.effects import Transmit
from weft.kernel.state.federation import Federation, Member
from weft.kernel.state.messages import Interaction, Update, attributes_of
from weft.kernel.state.parcels import Data, Settled
from weft.kernel.state.step import Step
from weft.kernel.state.time_state import GRANTED, NMR, NMRA, bound_of
from weft.kernel.state.topics import NEVER, Change, Condition, LoggedMessage, Topic
from weft.kernel.time import galt_exchange, grants, stamps
from weft.model.as_of import INTEREST, TIMED_SERVICES
from weft.model.deliveries import (
    DeliveredInteraction,
    Delivery,
    ParameterValues,
    Reflection,
    message_number,
)
from weft.model.errors import InvalidLogicalTime, TimeRegulationIsNotEnabled
from weft.model.handles import (
    AttributeHandle,
    InteractionClassHandle,
    ObjectClassHandle,
    RegionHandle,
)
from weft.model.packed import PackedValues
from weft.model.time import HLAfloat64Time, HLAinteger64Time, TimeValue
from weft.ordering.stamped import Stamped

As = tuple[TimeValue, int, TimeValue | None] | None
"""As of when: the time, the number of the call, and what is past for everybody, as the federate's node knows it."""

Subscription = tuple[ObjectClassHandle | InteractionClassHandle, AttributeHandle | None, RegionHandle | None]
"""The class, the attribute (None: an interaction class) and the region (None: without)."""


# --- at the federate's node ---------------------------------------------------------------------------------------


def prepare(
    federation: Federation, member: Member, service: str, number: int, arguments: tuple[object, ...]
) -> tuple[object, ...]:
    """The arguments of the command; if it has a time, and is about what it receives, the federate is held from now on."""
    form = TIMED_SERVICES[service]
    value = _as_of(federation, member, service, arguments)
    if value is None:
        return arguments[: form.place]
    if service in INTEREST:
        member.timing.changes[number] = Change(value)
        federation.distribution.changing[member.handle] = None
    return *form.completed(arguments[: form.place]), (value, number, federation.clock.horizon.past)


def _as_of(
    federation: Federation, member: Member, service: str, arguments: tuple[object, ...]
) -> TimeValue | None:
    """The time that a call names, or counts as of; None: it is without."""
    place = TIMED_SERVICES[service].place
    time = arguments[place] if len(arguments) > place else None
    if time is None:
        # What it publishes is the same as of the earliest time at which it could send as it is at once.
        plain = not federation.channels.synchronized or service not in INTEREST
        return None if plain or not member.timing.regulating else _earliest(federation, member)
    if not isinstance(time, (HLAinteger64Time, HLAfloat64Time)):
        raise InvalidLogicalTime(f"federation {federation.name!r} uses {federation.time.name}, got {time!r}")
    value = stamps.time_value(federation, time)
    if not member.timing.regulating:
        raise TimeRegulationIsNotEnabled(
            f"{member!r} is not time-regulating: only what it promises says that nothing changes before a time; "
            f"call enable_time_regulation first, or {service} without a time"
        )
    what = "change regions and subscriptions" if service in INTEREST else "change publications"
    stamps.require_promised(member, value, what)
    return value


def _earliest(federation: Federation, member: Member) -> TimeValue | None:
    """Its time plus lookahead, and no earlier than for its call before; None: the call counts at once.

    While it asks for a time it may change what it has not been given yet: what comes late is still before its grant.  While it
    asks for the next message it may not: others rely on when it is granted at the earliest, and what comes late would be sooner.
    """
    timing = member.timing
    if timing.mode in (NMR, NMRA):
        return None
    bound = timing.promise()
    if timing.constrained and timing.mode != GRANTED:
        asked_at = bound_of(timing.time, timing.lookahead, timing.exclusive, timing.floor)
        bound = max(asked_at, timing.reached)
    time, exclusive = bound
    if exclusive:
        time = time + 1 if stamps.is_integer(federation) else math.nextafter(time, math.inf)
    # Regulating anew it may promise less than it did, and the later call must not be undone by the earlier one.
    if timing.declared is not None and timing.declared > time:
        time = timing.declared
    timing.declared = time
    return time if time <= federation.time.final else None


def require_logged(step: Step, name: str, placed: bool, timed: As) -> None:
    """What was sent before a change is kept for it where there are dimensions, and else only if the federation has it so."""
    if timed is not None and not placed and not step.federation.channels.as_of:
        raise InvalidLogicalTime(
            f"{step.member!r} cannot subscribe to {name} as of {timed[0]}, only at once: what has no dimensions goes by logical "
            f"time in a federation with synchronized declarations; create it at a node whose settings have ddm.declarations "
            f'= "{TIMED.lower()}", or whose RID file has ({SYNCHRONIZED} {TIMED})'
        )


def require_tbound(federation: Federation, member: Member, timed: As) -> None:
    """At the home: without a log a change must not concern what may have been sent."""
    ahead = federation.channels.tbound
    if timed is None or not ahead or federation.clock.timetable is None:
        return
    least = (galt_exchange.past(federation) or 0) + ahead
    if timed[0] < least:
        raise InvalidLogicalTime(
            f"{member!r} may change regions and subscriptions as of {least} or later, not of {timed[0]}: messages may have "
            f"been sent up to then, {ahead:g} ahead of what is past for everybody (TboundAhead of the RID file)"
        )


def refused(step: Step, number: int) -> None:
    """It has not come about."""
    if number in step.member.timing.changes:
        _release(step, step.member, number)


def settled(step: Step, sender: str, parcel: Settled) -> None:
    """Another node has carried a change of a member here out."""
    member = step.federation.members.get(parcel.federate)
    change = None if member is None else member.timing.changes.get(parcel.number)
    if member is not None and change is not None and change.nodes is not None:
        change.nodes.pop(sender, None)
        if not change.nodes:
            _release(step, member, parcel.number)


def left(step: Step) -> None:
    """A member has gone: nobody waits for nodes without members."""
    federation = step.federation
    still = {member.node for member in federation.members.values()}
    for handle in list(federation.distribution.changing):
        member = federation.members[handle]
        for number, change in list(member.timing.changes.items()):
            if change.nodes is not None:
                change.nodes = {node: None for node in change.nodes if node in still}
                if not change.nodes:
                    _release(step, member, number)


def _release(step: Step, member: Member, number: int) -> None:
    timing = member.timing
    del timing.changes[number]
    if not timing.changes:
        step.federation.distribution.changing.pop(member.handle, None)
    if timing.mode != GRANTED:
        if timing.mode in (NMR, NMRA):
            grants.changed(step, member)
        grants.check(step, member)
        if step.federation.home == step.node:
            grants.settle(step)


# --- at each node -------------------------------------------------------------------------------------------------


def write(
    step: Step,
    declared: TimedDeclarations[Kind, What, How],
    kind: Kind,
    before: dict[tuple[What, RegionHandle | None], How | None],
    how: How | None,
    timed: As,
) -> TimeValue | None:
    """As of a time, or for all times; until when it holds.  `before`: what is subscribed, and how that was declared last."""
    if timed is None:
        declared.forget(kind, before)
        return None
    require_tbound(step.federation, step.member, timed)
    step.federation.ddm.timed = True
    if timed[2] is not None:
        step.member.declared.reclaim((timed[2], 0))
    for key, was in before.items():
        declared.write(kind, key, timed[0], was, how)
    histories = declared.of.get(kind, {})
    return until([histories[key].following(timed[0]) for key in before])


def until(following: Sequence[tuple[TimeValue, object] | None]) -> TimeValue | None:
    """When the last of them changes again; None: one does not."""
    times = [after[0] for after in following if after is not None]
    return max(times) if times and len(times) == len(following) else None


def subscribed(
    step: Step, changed: list[Subscription], until: TimeValue | None, timed: As, wholly: bool
) -> None:
    """These subscriptions have changed: as of a time until another, or without (`wholly`: see `carried_out`)."""
    if timed is None:
        untimed(step, changed)
    else:
        carried_out(step, changed, until, timed, wholly)


def untimed(step: Step, changed: list[Subscription]) -> None:
    """These subscriptions have changed, or their regions, without a time."""
    if changed:
        redeclared(step)
        _enter(step.federation, step.member, changed)


def redeclared(step: Step) -> None:
    """It has changed something without a time: what waits for it and is now not wanted comes all the same."""
    federation = step.federation
    member = step.member
    timing = member.timing
    if not federation.ddm.timed:
        timing.untimed += 1  # nobody has asked anything as of a time: all that waits stays
        return
    for logged in federation.distribution.log.values():
        # What was under way to it by then it may not have got; its node knows what it has.
        logged.forget(member.handle)
    if member.node == step.node:
        for message in timing.queue.conditional():
            if message.condition.untimed == timing.untimed:
                still = _still(federation, member, message)
                if still is not message.content:
                    message.condition = _keeping(message, still)


def _keeping(message: Stamped, still: Delivery | None) -> Condition:
    """All of it stays, though the federate wants only so much of it now."""
    condition: Condition = message.condition
    content = message.content
    if not isinstance(still, Reflection) or not isinstance(content, Reflection):
        return condition._replace(untimed=NEVER)
    wanted = _attributes(still)
    kept = frozenset([attribute for attribute in _attributes(content) if attribute not in wanted])
    return condition._replace(kept=condition.kept | kept)


def _enter(
    federation: Federation, member: Member, changed: list[Subscription]
) -> list[tuple[Topic, frozenset[int] | None]]:
    """Into the lists here: the topics, and the cells in which something may have changed (None: in all)."""
    found: list[tuple[Topic, frozenset[int] | None]] = []
    for topic in list(federation.distribution.topics.values()):
        cells: frozenset[int] = frozenset()
        everywhere = False
        for kind, what, handle in changed:
            if deliver_as_of.concerns(federation, topic, kind, what):
                if handle is None:
                    everywhere = True
                else:
                    region = federation.ddm.regions[handle]
                    cells |= deliver_as_of.enter(federation, topic, member, kind, what, region)
        if everywhere or cells:
            federation.distribution.counts.lists += len(cells)
            found.append((topic, None if everywhere else cells))
    return found


def carried_out(
    step: Step,
    changed: list[Subscription],
    until: TimeValue | None,
    timed: tuple[TimeValue, int, TimeValue | None],
    wholly: bool,
) -> None:
    """As of a time, and until another: `wholly` if anything may have changed there, not only in the cells of the regions."""
    federation = step.federation
    member = step.member
    time, number, _ = timed
    federation.distribution.counts.changes += 1
    if member.node == step.node:
        _sift(step, time, until)
    late: dict[LoggedMessage, None] = {}
    for topic, cells in _enter(federation, member, changed):
        late.update(dict.fromkeys(topic.between(None if wholly else cells, time, until)))
    for logged in sorted(late, key=lambda logged: (logged.time, bytes(logged.retraction))):
        if logged.message.sender != member.handle:
            _make_good(step, logged)
    if member.node == step.node:
        change = member.timing.changes.get(number)
        if change is not None:
            change.nodes = {m.node: None for m in federation.members.values() if m.node != step.node}
            if not change.nodes:
                _release(step, member, number)
    elif any(other.node == step.node for other in federation.members.values()):
        parcel = Settled(
            federation.name, federation.execution, federation.sequence + 1, member.handle, number
        )
        step.effects.append(Transmit(member.node, parcel))


# --- what waits for the federate ------------------------------------------------------------------------------------


def _sift(step: Step, time: TimeValue, until: TimeValue | None) -> None:
    federation = step.federation
    member = step.member
    timing = member.timing
    dropped = 0
    for message in timing.queue.conditional():
        stamp = message.key[0]
        fresh = message.condition.untimed == timing.untimed
        if fresh and stamp >= time and (until is None or stamp < until):
            content = _still(federation, member, message)
            if content is None:
                timing.queue.drop(message)
                order_rows.unwanted(step, member, message)
                dropped += 1
            else:
                message.content = content
    federation.distribution.counts.dropped += dropped
    if dropped and timing.mode in (NMR, NMRA):
        step.turn.queued = True


def _still(federation: Federation, member: Member, message: Stamped) -> Delivery | None:
    """What of it the federate wants now; None: nothing."""
    content = message.content
    condition: Condition = message.condition
    if isinstance(content, DeliveredInteraction):
        assert condition.sent_class is not None
        classes = federation.catalog.interaction_classes
        entry = classes[condition.sent_class]
        received = matching_at_time.hears(federation, member, entry, condition.at, message.key[0])
        if received is None or received.handle == content.interaction_class:
            return None if received is None else content
        if received not in classes[content.interaction_class].lineage:
            return None  # of a class below: its sender's node sends all of it
        sent = content.values
        kept: ParameterValues
        if isinstance(sent, PackedValues):
            kept = sent.subset(received.parameters)
        else:
            kept = {parameter: value for parameter, value in sent.items() if parameter in received.parameters}
        made = content.copied()
        made.values = kept
        made.interaction_class = received.handle
        return made
    assert isinstance(content, Reflection)
    instance = federation.instances.get(content.instance)
    if instance is None:
        return content
    attributes = _attributes(content)
    wanted = matching_at_time.wanted(
        federation, member, instance, attributes, condition.where, message.key[0]
    )
    if condition.kept:
        wanted = [attribute for attribute in attributes if attribute in condition.kept or attribute in wanted]
    if not wanted:
        return None
    if len(wanted) == len(attributes):
        return content
    part = content.copied()
    part.values = attributes_of(content.values, tuple(wanted))
    return part


def _attributes(reflection: Reflection) -> list[AttributeHandle]:
    values = reflection.values
    return values.handles if isinstance(values, PackedValues) else list(values)


# --- late sends -----------------------------------------------------------------------------------------------------


def _make_good(step: Step, logged: LoggedMessage) -> None:
    """A message in the log here: does the member want it now, and has it not had it?"""
    federation = step.federation
    member = step.member
    message = logged.message
    if isinstance(message, Interaction):
        classes = federation.catalog.interaction_classes
        entry = classes[message.interaction_class]
        received = matching_at_time.hears(federation, member, entry, message.at, logged.time)
        had = logged.classes.pop(member.handle, None)
        if received is not None:
            logged.classes[member.handle] = received.handle
            if had is None or received not in classes[had].lineage:
                _send_late(step, logged, message)
        return
    instance = federation.instances.get(message.instance)
    if instance is None or instance.condemned is not None:
        order_rows.of_no_instance(step, member, message, message_number(logged.retraction), logged.time)
        return
    sent = message.attributes()
    wanted = matching_at_time.wanted(federation, member, instance, sent, message.where, logged.time)
    before = logged.attributes.pop(member.handle, {})
    if wanted:
        logged.attributes[member.handle] = dict.fromkeys(wanted)
        missing = [attribute for attribute in wanted if attribute not in before]
        if missing:
            _send_late(step, logged, message.part(tuple(missing)))


def _send_late(step: Step, logged: LoggedMessage, message: Interaction | Update) -> None:
    federation = step.federation
    member = step.member
    federation.distribution.counts.late += 1
    if member.node == step.node:
        pipeline.arrive(step, message, member.handle)
        return
    after = federation.sequence + 1  # the command that is being carried out
    data = Data(federation.name, federation.execution, after, message, member.handle)
    step.effects.append(Transmit(member.node, data))
    stamps.announced(federation, step.node, (member.node,), logged.time)
    sender = federation.members.get(message.sender)
    found = None if sender is None else sender.timing.retractable.get(logged.retraction)
    if sender is not None and found is not None and member.node not in found.nodes:
        sender.timing.retractable[logged.retraction] = found._replace(nodes=(*found.nodes, member.node))

"""Causal, total and priority order in the way of a message (S0-1 … S0-6, S0-16; docs/ordering.md).

`message.pipeline` asks here, once a message is validated, whether it has one of these orders; if so, it goes on from here.

    order       that of the call; else of the instance's attribute or, for interactions, of the sender; else of the object model.
                An update of attributes with several orders is as many messages.
    to whom     exactly the federates that will get it, at all nodes: declarations are known everywhere.  If the receiver has the
                last word (Delay Subscription Evaluation), all federates there; one that turns out not to want it has it
                delivered all the same, without a callback.  So has one that unsubscribed meanwhile, or named an update rate.
    causal      the sender's process stamps it.  Federates here are handed it by their own processes, other nodes get one parcel
                each, with the tag cut down to what its federates look at; often that is the same for all, and written once.
    total       the same, but to the sequencer at the home, which sends it on as a message of its own.
    priority    as in receive order; the callbacks say how urgent they are, and whoever holds them for the federate sorts.

A message that waits is looked at again by interest when it is delivered, not when it arrives.  An instance that was deleted in
causal order is kept as a ghost until those who know it are told, so that what was said before is still heard before.

Delivered means handed to the federate's host.  A federate that sends before it has taken a callback is held to have known of it:
order is then kept more strictly than it can tell.

Whom a message is for, and at which nodes they are, is found once for all that are alike (`Way`).

Reliable whatever the transportation says: a message that might not come would stop all that depend on it.  Messages of the RTI
itself (the MOM) are in receive order.
"""

from __future__ import annotations

from collections import deque
from functools import cache
from typing import Any

from weft._build import mypyc_attr
from weft.fom.catalog import InteractionClassEntry
from weft.kernel.ddm import matching
from weft.kernel.message import deliver_held, directed, pipeline, recipients, update_rates
from weft.kernel.recording import message_rows, order_rows
from weft.kernel.state import overrides
from weft.kernel.state.callback_queue import MESSAGES
from weft.kernel.state.effects import LEAST_URGENT, Callback, Cast, Notice, Transmit, UrgentCallback
from weft.kernel.state.federation import Federation, Instance, Member, add
from weft.kernel.state.order_state import KEPT, SEQUENCER, Ghost, Orders, Process, Way
from weft.kernel.state.parcels import Data, Ordered, unshared
from weft.kernel.state.region_state import Extents, Where
from weft.kernel.state.step import Step
from weft.kernel.state.turn import Turn
from weft.model.enums import OrderType
from weft.model.errors import InvalidOrderType, OrderingError
from weft.model.handles import AttributeHandle, FederateHandle, InteractionClassHandle
from weft.ordering import Mses, Tag, TaggedMessage, decode_tag, encode_tags

ORDERS_USED = "orders_used"
"""The command that says: messages of such orders are sent, though the object model names none."""


def is_plain(order: OrderType) -> bool:
    """Receive and time stamp order have no business here."""
    return order is OrderType.RECEIVE or order is OrderType.TIMESTAMP


def _named(order: object) -> OrderType:
    """The order of a call."""
    if not isinstance(order, OrderType):
        raise InvalidOrderType(f"{order!r} is no order type; use one of OrderType")
    return order


def orders_used(step: Step) -> None:
    step.federation.ordered = True


@mypyc_attr(allow_interpreted_subclasses=True)
class Causal(Orders):
    # --- from a federate here ---------------------------------------------------------------------------------

    def sends(
        self,
        step: Step,
        entry: InteractionClassEntry,
        values: Any,
        tag: bytes,
        stamp: tuple[Any, ...],
        order: OrderType | None,
        at: Extents | None = None,
    ) -> bool:
        """False: in receive order, so `message.pipeline` goes on with it."""
        turn = step.turn
        federation = step.federation
        member = step.member
        asked = overrides.interaction_order(member, entry) if order is None else _named(order)
        if is_plain(asked) or member is federation.rti:
            return False
        if asked is OrderType.PRIORITY:
            before = len(step.effects)
            time = stamp[0] if stamp else None
            turn.urgent = True
            pipeline.send_interaction(step, entry.handle, values, tag, time, OrderType.RECEIVE, at)
            turn.urgent = False
            hurry(turn, before, entry.priority)
            return True
        transportation = member.interaction_transportations.get(entry.handle) or entry.transportation
        add(member.tally.interactions_sent, entry.handle, transportation)
        self._refresh(federation)
        key = (entry.handle, member.handle)
        way = self.ways.get(key) if at is None else None
        if way is None:
            way = self._way(turn, _hearers(step, member, entry, at))
            way.managed = recipients.audience_of(step, member, entry.handle).managed
            if at is None:
                self.ways[key] = way
        arguments: tuple[Any, ...] = (entry.handle, unshared(values), tag, transportation, stamp)
        if at is not None:
            arguments = (*arguments[:4], matching.boxes(at), stamp)
        self._send(step, "send_interaction", arguments, way, asked)
        if way.managed:
            plain = dict(values) if isinstance(values, dict) else values.unpack()
            step.tell_rti("receive_interaction", (entry.handle, plain, member.handle))
        return True

    def _refresh(self, federation: Federation) -> None:
        """Before ways or places are used."""
        if self.generation != federation.generation:
            self.generation = federation.generation
            self.ways.clear()
            self.places = [""] * (federation.federates_joined + 1)
            self.places[SEQUENCER] = federation.home
            for member in federation.members.values():
                self.places[member.handle.number] = member.node

    def _way(self, turn: Turn, to: list[int]) -> Way:
        return Way(to, turn.node, self.places)

    def updates(
        self,
        step: Step,
        instance: Instance,
        values: Any,
        tag: bytes,
        stamp: tuple[Any, ...],
        order: OrderType | None,
    ) -> bool:
        turn = step.turn
        federation = step.federation
        member = step.member
        sent: list[Any] = list(values) if isinstance(values, dict) else values.handles
        parts = _parts(instance, sent, order)
        self._refresh(federation)
        if member is federation.rti or all(is_plain(asked) for asked, _ in parts):
            return False
        time = stamp[0] if stamp else None
        for (asked, priority), attributes in parts.items():
            part = values if len(attributes) == len(sent) else update_rates.part_of(values, tuple(attributes))
            if is_plain(asked) or asked is OrderType.PRIORITY:
                before = len(step.effects)
                plain = OrderType.RECEIVE if asked is OrderType.PRIORITY else asked
                turn.urgent = asked is OrderType.PRIORITY
                pipeline.update_attribute_values(step, instance.handle, part, tag, time, plain)
                turn.urgent = False
                if asked is OrderType.PRIORITY:
                    hurry(turn, before, priority)
                continue
            for transportation in dict.fromkeys(
                [overrides.transportation_of(instance, a) for a in attributes]
            ):
                add(member.tally.updates_sent, instance.entry.handle, transportation)
            member.tally.updates += 1
            instance.updated |= member.bit
            where = matching.part_of(matching.where_is(federation, instance), attributes)
            key = (instance.knowledge, member.handle, *attributes)
            way = self.ways.get(key) if where is None else None
            if way is None:
                to = _reflectors(step, member, instance, attributes, where)
                way = self._way(turn, to)
                if where is None:
                    self.ways[key] = way
            arguments: tuple[Any, ...] = (instance.handle, unshared(part), tag, stamp)
            if where is not None:
                arguments = (*arguments[:3], matching.carried(where), stamp)
            self._send(step, "update_attribute_values", arguments, way, asked)
        return True

    def directs(self, step: Step, arguments: tuple[Any, ...], order: OrderType | None) -> bool:
        turn = step.turn
        federation = step.federation
        member = step.member
        interaction_class: InteractionClassHandle = arguments[0]
        entry = federation.catalog.interaction_classes[interaction_class]
        asked = overrides.interaction_order(member, entry) if order is None else _named(order)
        if is_plain(asked):
            return False
        instance = federation.instances[arguments[1]]
        if asked is OrderType.PRIORITY:
            before = len(step.effects)
            turn.urgent = True
            directed.direct(step, instance, entry, arguments)
            turn.urgent = False
            hurry(turn, before, entry.priority)
            return True
        delayed = federation.switch("delaySubscriptionEvaluation")
        to = [
            other.handle.number
            for other in federation.members.values()
            if other is not member
            and (
                (
                    instance.knowledge.mask & other.bit
                    and directed.directed_to(instance, entry, other) is not None
                )
                or (delayed and other.node != step.node)
            )
        ]
        self._refresh(federation)
        way = self._way(turn, sorted(to))
        self._send(step, "send_directed_interaction", arguments, way, asked)
        return True

    def deletes(
        self,
        step: Step,
        instance: Instance,
        tag: bytes,
        stamp: tuple[Any, ...],
        order: OrderType | None,
    ) -> bool:
        """A command, carried out at all nodes: the sender's sends the message, the others keep the ghost for it."""
        federation = step.federation
        member = step.member
        privilege = federation.catalog.privilege
        asked = overrides.attribute_order(instance, privilege) if order is None else _named(order)
        if is_plain(asked) or asked is OrderType.PRIORITY or member is federation.rti:
            return False
        federation.ordered = True
        others = list(federation.seated(instance.knowledge.mask & ~member.bit & ~federation.rti.bit))
        waiting = {other.handle.number: None for other in others if other.node == step.node}
        arguments = (instance.handle, tag, member.handle, *stamp)
        if waiting:
            kept = Instance(
                instance.handle,
                instance.name,
                instance.entry,
                instance.owners,
                instance.knowledge,
                instance.producer,
            )
            self.ghosts[instance.handle] = Ghost(kept, arguments, waiting, self.view)
        if member.node == step.node:
            self._refresh(federation)
            way = self._way(step.turn, sorted([other.handle.number for other in others]))
            # After this very command: the receiver has carried it out, too.
            self._send(step, "delete_object_instance", arguments, way, asked, 1)
        return True

    # --- stamping and posting ---------------------------------------------------------------------------------

    def _send(
        self,
        step: Step,
        service: str,
        arguments: tuple[Any, ...],
        way: Way,
        order: OrderType,
        ahead: int = 0,
    ) -> None:
        federation = step.federation
        member = step.member
        if not way.to:
            return
        if not federation.ordered:
            federation.ordered = True
            step.tell_rti(ORDERS_USED, ())
        after = federation.sequence + ahead
        number = message_rows.next_number(step)
        message = Ordered(
            federation.name,
            federation.execution,
            after,
            member.handle,
            service,
            arguments,
            b"",
            number=number,
        )
        process = self._process(step, member.handle.number)
        if process is not None and order is OrderType.TOTAL:
            message.to = tuple(way.to)
            self._post(step, process, self._way(step.turn, [SEQUENCER]), message)
        elif process is not None:
            self._post(step, process, way, message)

    def _post(self, step: Step, process: Process, way: Way, message: Ordered) -> None:
        sending = process.sending
        sending.joined(way.to[-1])
        tag = sending.send(way.to)
        self.counts.messages += 1
        control = self._post_away(step.turn, way, message, tag) if way.nodes else 0
        if step.federation.recorder is not None and process.number != SEQUENCER:
            self._record(step, process, way, message, tag, control)
        for number in way.here:
            self._admit(step, number, TaggedMessage(message, tag))

    def _record(
        self,
        step: Step,
        process: Process,
        way: Way,
        message: Ordered,
        tag: Tag,
        control: int,
    ) -> None:
        federation = step.federation
        sender = federation.members.get(process.handle)
        if federation.recorder is not None and sender is not None:
            total = bool(message.to)
            to = list(message.to) if total else way.to
            order_rows.ordered(step, federation.recorder, message, sender, tag, to, total, control)

    def _post_away(self, turn: Turn, way: Way, message: Ordered, tag: Tag) -> int:
        """A parcel for each other node; where the tag is the same, it is one parcel, which the host writes once.

        Returns how many bytes of tags are written.
        """
        counts = self.counts
        before = counts.tag_bytes
        tags = encode_tags(tag, way.groups)
        last = message.tag = tags[0]
        parcel = message
        for at in range(len(tags)):
            if tags[at] is not last:
                parcel = message.copy()
                last = parcel.tag = tags[at]
            counts.tag_bytes += len(last)
            turn.effects.append(Transmit(way.nodes[at], parcel))
        counts.tags += len(tags)
        counts.pairs += tag.pairs_for(way.groups)
        return counts.tag_bytes - before

    def _process(self, step: Step, number: int) -> Process | None:
        """Of a federate here, or the sequencer at the home; made when it is first needed."""
        federation = step.federation
        found = self.processes.get(number)
        if found is None and self._place(federation, number) == step.node:
            known = federation.federates_joined + 1
            found = self.processes[number] = Process(number, known, self.settled, self.view)
        return found

    def _place(self, federation: Federation, number: int) -> str:
        """The node of a process; empty if it is gone, or not known here yet."""
        self._refresh(federation)
        return self.places[number] if number < len(self.places) else ""

    # --- from another node ------------------------------------------------------------------------------------

    def arrive(self, step: Step, sender: str, parcel: Ordered) -> None:
        turn = step.turn
        federation = step.federation
        if not parcel.tag:
            before = len(step.effects)
            turn.urgent = True
            pipeline.arrive(step, parcel.plain())
            turn.urgent = False
            hurry(turn, before, parcel.priority)
            return
        try:
            tag = decode_tag(parcel.tag)
        except OrderingError as error:
            step.effects.append(Notice(f"node {sender!r} sent a message without a proper tag: {error}"))
            return
        federation.ordered = True
        if federation.recorder is not None and parcel.service:
            order_rows.waits(step, federation.recorder, "arrive", None, parcel, tag, sender)
        self._refresh(federation)
        places, known = self.places, len(self.places)
        forwarded = parcel.forwarded
        elsewhere = False
        for number in tag.destinations:
            node = places[number] if number < known else ""
            if node == step.node:
                self._admit(step, number, TaggedMessage(parcel, tag), forwarded)
            elif node:
                elsewhere = True
        if elsewhere and not forwarded and tag.view == self.view:
            kept = self.recent.get(tag.source)
            if kept is None:
                kept = self.recent[tag.source] = deque(maxlen=KEPT)
            kept.append(parcel)

    def _admit(self, step: Step, number: int, message: TaggedMessage, forwarded: bool = False) -> None:
        process = self._process(step, number)
        tag = message.tag
        if process is None or tag is None:
            return
        current = process.current
        if tag.view < current.view:
            self.counts.stale += 1
        elif tag.view > current.view:
            process.later.append(message)
        else:
            if forwarded:
                message.tag = _held_back(tag, number)
            ready = current.admit(message)
            if not ready and step.federation.recorder is not None:
                self._record_wait(step, process, "hold", message)
            for released in ready:
                self._deliver(step, process, released)

    def _record_wait(self, step: Step, process: Process, kind: str, message: TaggedMessage) -> None:
        federation = step.federation
        member = federation.members.get(process.handle)
        said = message.payload
        if federation.recorder is not None and member is not None and isinstance(said, Ordered):
            order_rows.waits(step, federation.recorder, kind, member, said, message.tag)

    # --- to a federate here -----------------------------------------------------------------------------------

    def _deliver(self, step: Step, process: Process, message: TaggedMessage) -> None:
        turn = step.turn
        federation = step.federation
        self.counts.delivered += 1
        said = message.payload
        assert isinstance(said, Ordered)
        if process.number == SEQUENCER:
            to = [number for number in said.to if self._place(federation, number)]
            if to:
                passed = said.copy()
                passed.to, passed.after = (), max(said.after, federation.sequence)
                self._post(step, process, self._way(turn, to), passed)
            return
        member = federation.members.get(process.handle)
        if member is not None:
            turn.number = said.number
            if federation.recorder is None or not said.service:
                self._hand(step, member, said)
                return
            self._record_wait(step, process, "release", message)
            before = len(step.effects) + len(member.timing.held)
            self._hand(step, member, said)
            paced = federation.paces is not None and said.service == "update_attribute_values"
            if len(step.effects) + len(member.timing.held) == before and not paced:
                self._record_wait(step, process, "filter", message)

    def _hand(self, step: Step, member: Member, said: Ordered) -> None:
        arguments = said.arguments
        if said.service == "send_interaction":
            deliver_held.hand_interaction(step, member, said.sender, arguments)
            return
        if not said.service:
            return
        at = 1 if said.service == "send_directed_interaction" else 0
        ghost = self.ghosts.get(arguments[at])
        if said.service == "delete_object_instance":
            if ghost is not None:
                self._removed(step, member, ghost)
            return
        instance = step.federation.instances.get(arguments[at])
        gone = ghost is not None and member.handle.number in ghost.waiting
        if ghost is not None and gone:
            instance = ghost.instance
        if instance is None:
            return
        if at:
            deliver_held.hand_directed(step, member, instance, said.sender, arguments)
        else:
            deliver_held.hand_update(step, member, instance, said.sender, arguments, gone)

    def _removed(self, step: Step, member: Member, ghost: Ghost) -> None:
        if member.handle.number in ghost.waiting:
            del ghost.waiting[member.handle.number]
            step.callback(member, "remove_object_instance", ghost.arguments, step.turn.number)
            if not ghost.waiting:
                del self.ghosts[ghost.instance.handle]

    # --- membership and views (message.causal_views) -------------------------------------------------------------

    def left(self, step: Step, federate: FederateHandle) -> None:
        """It has resigned, by itself or not: nothing more is for it."""
        number = federate.number
        gone = self.processes.pop(number, None)
        if gone is not None:
            self.retire(gone.current)
        for process in self.processes.values():
            process.current.resigned(number)
            if process.sending is not process.current:
                process.sending.resigned(number)
        for handle, ghost in list(self.ghosts.items()):
            ghost.waiting.pop(number, None)
            if not ghost.waiting:
                del self.ghosts[handle]

    def end_view(self, step: Step) -> None:
        """From now on messages are sent in the next view; what may be missing elsewhere of those who are gone is passed on."""
        federation = step.federation
        self.view += 1
        self.asked = False
        known = federation.federates_joined + 1
        for process in self.processes.values():
            process.sending = Mses(process.number, known, self.view)
        for source, parcels in self.recent.items():
            if source == SEQUENCER or not _node_of(federation, source):
                for parcel in parcels:
                    self._forward(step, parcel)
        self.recent.clear()

    def _forward(self, step: Step, parcel: Ordered) -> None:
        """The tag is cut down to what was for here; the receivers keep it back until the view ends, and then know its place."""
        federation = step.federation
        nodes = {_node_of(federation, number) for number in decode_tag(parcel.tag).destinations}
        passed = parcel.copy()
        passed.after, passed.forwarded = federation.sequence + 1, True
        for node in sorted(nodes - {"", step.node}):
            step.effects.append(Transmit(node, passed))

    def begin_view(self, step: Step) -> None:
        """All that could come of the views before has come: what still waits, waits for what is lost, and is released."""
        federation = step.federation
        ended = range(self.settled, self.view)
        self.settled = self.view
        self.counts.views += len(ended)
        for process in list(self.processes.values()):
            self._end_views(step, process, ended)
        for ghost in list(self.ghosts.values()):
            if ghost.view < self.view:  # the message that was to say so is lost
                for number in list(ghost.waiting):
                    self._removed(step, federation.members[_handle(number)], ghost)
        for process in list(self.processes.values()):
            later, process.later = process.later, []
            for message in later:
                self._admit(step, process.number, message)

    def _end_views(self, step: Step, process: Process, ended: range) -> None:
        """The first of them is that in which messages were delivered; of the others all messages have waited until now."""
        federation = step.federation
        for view in ended:
            current = process.current
            if view > ended[0]:
                current = Mses(process.number, federation.federates_joined + 1, view)
                process.current = current
                early = [m for m in process.later if m.tag is not None and m.tag.view == view]
                process.later = [m for m in process.later if m not in early]
                for message in early:
                    for released in current.admit(message):
                        self._deliver(step, process, released)
            for released in current.crashed([]):
                self._deliver(step, process, released)
            self.retire(current)
        process.current = process.sending


# --- to whom --------------------------------------------------------------------------------------------------


def _hearers(
    step: Step,
    sender: Member,
    entry: InteractionClassEntry,
    at: Extents | None = None,
) -> list[int]:
    federation = step.federation
    delayed = federation.switch("delaySubscriptionEvaluation")
    return sorted(
        member.handle.number
        for member in federation.members.values()
        if member is not sender
        and (
            matching.hears(federation, member, entry, at) is not None
            or (delayed and member.node != step.node)
        )
    )


def _reflectors(
    step: Step,
    sender: Member,
    instance: Instance,
    attributes: list[AttributeHandle],
    where: Where | None,
) -> list[int]:
    federation = step.federation
    delayed = federation.switch("delaySubscriptionEvaluation")
    found = {m.handle.number for m in federation.members.values() if delayed and m.node != step.node}
    for known, mask in instance.knowledge.masks.items():
        for member in federation.seated(mask):
            subscribed = matching.wishes(federation, member, known, where)
            if subscribed and any(attribute in subscribed for attribute in attributes):
                found.add(member.handle.number)
    return sorted(found - {sender.handle.number, SEQUENCER})


def _parts(
    instance: Instance, sent: list[Any], order: OrderType | None
) -> dict[tuple[OrderType, int], list[Any]]:
    """The attributes of an update by their order; those in priority order also by how urgent they are."""
    parts: dict[tuple[OrderType, int], list[Any]] = {}
    for handle in sent:
        asked = overrides.attribute_order(instance, handle) if order is None else _named(order)
        priority = instance.entry.attributes[handle].priority if asked is OrderType.PRIORITY else 0
        parts.setdefault((asked, priority), []).append(handle)
    return parts


_handle = cache(FederateHandle.of)  # made once: every message asks for those of its receivers


def _node_of(federation: Federation, number: int) -> str:
    """Where the process is; empty if it is gone."""
    if number == SEQUENCER:
        return federation.home
    member = federation.members.get(_handle(number))
    return "" if member is None else member.node


def _held_back(tag: Tag, number: int) -> Tag:
    """A forwarded message's row is missing; it waits for itself, which only the end of the view will end."""
    rows = tag.rows[:]
    rows += [[] for _ in range(len(rows), number + 1)]
    rows[number] = [tag.source, tag.number()]
    return Tag(tag.view, tag.source, tag.time, tag.destinations, rows)


# --- priority -------------------------------------------------------------------------------------------------


def hurry(turn: Turn, before: int, priority: int) -> None:
    """The effects since then are those of a message in priority order."""
    effects = turn.effects
    for at in range(before, len(effects)):
        effect = effects[at]
        if isinstance(effect, UrgentCallback):
            effect.order = OrderType.PRIORITY
            if effect.priority == LEAST_URGENT:  # the receiver has said nothing of its own about it
                effect.priority = priority
        elif isinstance(effect, Callback) and effect.method in MESSAGES:
            effects[at] = UrgentCallback(
                effect.session, effect.method, effect.arguments, priority, number=effect.number
            )
        elif isinstance(effect, Transmit) and isinstance(effect.parcel, Data):
            urgent = _hurried(effect.parcel, priority)
            effects[at] = Transmit(effect.node, urgent, effect.reliable)
        elif isinstance(effect, Cast) and isinstance(effect.parcel, Data):
            urgent = _hurried(effect.parcel, priority)
            effects[at] = Cast(effect.nodes, effect.groups, urgent)


def _hurried(message: Data, priority: int) -> Ordered:
    federation, execution, after, sender, service, arguments, number = message
    return Ordered(
        federation, execution, after, sender, service, arguments, b"", priority=priority, number=number
    )

"""Causal, total and priority order in the way of a message (S0-1 … S0-6, S0-16; docs/explanation/ordering.md).

`message.pipeline` asks here, once a message is validated, whether it has causal or total order; if so, it goes on from here.

    order       that of the call; else of the instance's attribute or, for interactions, of the sender; else of the object model.
                An update of attributes with several orders is as many messages.
    to whom     exactly the federates that will get it, at all nodes: declarations are known everywhere.  If the receiver has the
                last word (Delay Subscription Evaluation), all federates there; one that turns out not to want it has it
                delivered all the same, without a callback.  So has one that unsubscribed meanwhile, or named an update rate.
    causal      the sender's process stamps it.  Federates here are handed it by their own processes, other nodes get one parcel
                each, with the tag cut down to what its federates look at; often that is the same for all, and written once.
    total       the same, but to the sequencer at the home, which sends it on as a message of its own.
    priority    as in receive order (`message.pipeline`); the callbacks say how urgent they are, and whoever holds them for the
                federate sorts.

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
from typing import Final

from weft._build import mypyc_attr
from weft.fom.catalog import InteractionClassEntry
from weft.kernel.ddm import matching
from weft.kernel.ddm.recipient import directed_to
from weft.kernel.message import deliver, recipients
from weft.kernel.message.recipients import DELAYED
from weft.kernel.recording import message_rows, order_rows
from weft.kernel.state import overrides
from weft.kernel.state.effects import Notice, Transmit
from weft.kernel.state.federation import Federation, Instance, Member
from weft.kernel.state.messages import Deletion, DirectedInteraction, Interaction, Message, Nothing, Update
from weft.kernel.state.mom_state import add
from weft.kernel.state.order_state import KEPT, SEQUENCER, Ghost, OrderState, Process, Way
from weft.kernel.state.parcels import Ordered
from weft.kernel.state.step import Step
from weft.model.enums import OrderType
from weft.model.errors import OrderingError
from weft.model.handles import AttributeHandle, FederateHandle
from weft.model.packed import PackedValues
from weft.ordering import Mses, Tag, TaggedMessage, decode_tag, encode_tags

ORDERS_USED = "orders_used"

# Kept at hand: a member of an enumeration is slow to look up, and these are asked for with each message.
_RECEIVE: Final = OrderType.RECEIVE
_TIMESTAMP: Final = OrderType.TIMESTAMP
_CAUSAL: Final = OrderType.CAUSAL
_TOTAL: Final = OrderType.TOTAL
"""The command that says: messages of such orders are sent, though the object model names none."""


def is_plain(order: OrderType) -> bool:
    """Receive and time stamp order have no business here."""
    return order is _RECEIVE or order is _TIMESTAMP


def orders_used(step: Step) -> None:
    step.federation.ordered = True


@mypyc_attr(allow_interpreted_subclasses=True)
class CausalOrder(OrderState):
    """May have subclasses that are not compiled: so can the tests put defects into the source of one."""

    # --- from a federate here ---------------------------------------------------------------------------------

    def takes(self, step: Step, order: OrderType) -> bool:
        """Does a message in that order go on from here?  Those of the RTI itself do not."""
        return (order is _CAUSAL or order is _TOTAL) and step.member is not step.federation.rti

    def divides(
        self, step: Step, instance: Instance, sent: list[AttributeHandle], given: OrderType | None
    ) -> bool:
        """Has an update of these attributes an order of Weft's own, or several?"""
        if step.member is step.federation.rti:
            return False
        if given is not None:
            return not is_plain(given)
        return not all(is_plain(overrides.attribute_order(instance, handle)) for handle in sent)

    def parts(
        self, instance: Instance, sent: list[AttributeHandle], given: OrderType | None
    ) -> dict[tuple[OrderType, int], list[AttributeHandle]]:
        """The attributes of an update by their order; those in priority order also by how urgent they are."""
        parts: dict[tuple[OrderType, int], list[AttributeHandle]] = {}
        for handle in sent:
            asked = overrides.attribute_order(instance, handle) if given is None else given
            priority = instance.entry.attributes[handle].priority if asked is OrderType.PRIORITY else 0
            parts.setdefault((asked, priority), []).append(handle)
        return parts

    def send_interaction(
        self, step: Step, message: Interaction, entry: InteractionClassEntry, order: OrderType
    ) -> None:
        federation = step.federation
        member = step.member
        add(member.tally.interactions_sent, entry.handle, message.transportation)
        self._refresh(federation)
        key = (entry.handle, member.handle)
        way = self.ways.get(key) if message.at is None else None
        if way is None:
            way = self._way(step, _hearers(step, entry, message))
            way.managed = recipients.is_managed(entry)
            if message.at is None:
                self.ways[key] = way
        self._send(step, message, way, order)
        if way.managed:
            values = message.values
            plain = values.unpack() if isinstance(values, PackedValues) else dict(values)
            step.tell_rti("receive_interaction", (entry.handle, plain, member.handle))

    def _refresh(self, federation: Federation) -> None:
        """Before ways or places are used."""
        if self.generation != federation.generation:
            self.generation = federation.generation
            self.ways.clear()
            self.places = [""] * (federation.membership.joined + 1)
            self.places[SEQUENCER] = federation.home
            for member in federation.members.values():
                self.places[member.handle.number] = member.node

    def _way(self, step: Step, to: list[int]) -> Way:
        return Way(to, step.node, self.places)

    def send_update(self, step: Step, message: Update, instance: Instance, order: OrderType) -> None:
        federation = step.federation
        member = step.member
        self._refresh(federation)
        attributes = message.attributes()
        for transportation in dict.fromkeys([overrides.transportation_of(instance, a) for a in attributes]):
            add(member.tally.updates_sent, instance.entry.handle, transportation)
        member.tally.updates += 1
        instance.updated |= member.bit
        message.where = matching.part_of(matching.where_is(federation, instance), attributes)
        key = (instance.knowledge, member.handle, *attributes)
        way = self.ways.get(key) if message.where is None else None
        if way is None:
            way = self._way(step, _reflectors(step, instance, message))
            if message.where is None:
                self.ways[key] = way
        self._send(step, message, way, order)

    def send_directed(
        self,
        step: Step,
        message: DirectedInteraction,
        instance: Instance,
        entry: InteractionClassEntry,
        order: OrderType,
    ) -> None:
        federation = step.federation
        add(step.member.tally.directed_sent, entry.handle, message.transportation)
        delayed = federation.switch(DELAYED)
        to = [
            other.handle.number
            for other in federation.members.values()
            if other is not step.member
            and (
                (instance.knowledge.mask & other.bit and directed_to(instance, entry, other) is not None)
                or (delayed and other.node != step.node)
            )
        ]
        self._refresh(federation)
        self._send(step, message, self._way(step, sorted(to)), order)

    def deletes(self, step: Step, message: Deletion, instance: Instance, order: OrderType | None) -> bool:
        """A command, carried out at all nodes: the sender's sends the message, the others keep the ghost for it.

        False: it has another order.
        """
        federation = step.federation
        member = step.member
        privilege = federation.catalog.privilege
        asked = overrides.attribute_order(instance, privilege) if order is None else overrides.named(order)
        if not self.takes(step, asked):
            return False
        federation.ordered = True
        others = list(federation.seated(instance.knowledge.mask & ~member.bit & ~federation.rti.bit))
        waiting = {other.handle.number: None for other in others if other.node == step.node}
        if waiting:
            kept = Instance(
                instance.handle,
                instance.name,
                instance.entry,
                instance.owners,
                instance.knowledge,
                instance.producer,
            )
            self.ghosts[instance.handle] = Ghost(kept, message, waiting, self.view)
        if member.node == step.node:
            self._refresh(federation)
            way = self._way(step, sorted([other.handle.number for other in others]))
            # After this very command: the receiver has carried it out, too.
            self._send(step, message, way, asked, 1)
        return True

    # --- stamping and posting ---------------------------------------------------------------------------------

    def _send(self, step: Step, message: Message, way: Way, order: OrderType, ahead: int = 0) -> None:
        if not way.to:
            return
        federation = step.federation
        if not federation.ordered:
            federation.ordered = True
            step.tell_rti(ORDERS_USED, ())
        message.own()
        message.number = message_rows.next_number(step)
        parcel = Ordered(federation.name, federation.execution, federation.sequence + ahead, message, b"")
        process = self._process(step, step.member.handle.number)
        if process is not None and order is _TOTAL:
            parcel.to = tuple(way.to)
            self._post(step, process, self._way(step, [SEQUENCER]), parcel)
        elif process is not None:
            self._post(step, process, way, parcel)

    def _post(self, step: Step, process: Process, way: Way, parcel: Ordered) -> None:
        sending = process.sending
        sending.joined(way.to[-1])
        tag = sending.send(way.to)
        self.counts.messages += 1
        control = self._post_away(step, way, parcel, tag) if way.nodes else 0
        if step.federation.recorder is not None and process.number != SEQUENCER:
            self._record(step, process, way, parcel, tag, control)
        for number in way.here:
            self._admit(step, number, TaggedMessage(parcel, tag))

    def _record(
        self, step: Step, process: Process, way: Way, parcel: Ordered, tag: Tag, control: int
    ) -> None:
        recorder = step.federation.recorder
        sender = step.federation.members.get(process.handle)
        if recorder is not None and sender is not None:
            total = bool(parcel.to)
            to = list(parcel.to) if total else way.to
            order_rows.ordered(step, recorder, parcel.message, sender, tag, to, total, control)

    def _post_away(self, step: Step, way: Way, first: Ordered, tag: Tag) -> int:
        """A parcel for each other node; where the tag is the same, it is one parcel, which the host writes once.

        Returns how many bytes of tags are written.
        """
        counts = self.counts
        before = counts.tag_bytes
        tags = encode_tags(tag, way.groups)
        last = first.tag = tags[0]
        parcel = first
        for at in range(len(tags)):
            if tags[at] is not last:
                parcel = first.copy()
                last = parcel.tag = tags[at]
            counts.tag_bytes += len(last)
            step.effects.append(Transmit(way.nodes[at], parcel))
        counts.tags += len(tags)
        counts.pairs += tag.pairs_for(way.groups)
        return counts.tag_bytes - before

    def _process(self, step: Step, number: int) -> Process | None:
        """Of a federate here, or the sequencer at the home; made when it is first needed."""
        found = self.processes.get(number)
        if found is None and self._place(step.federation, number) == step.node:
            known = step.federation.membership.joined + 1
            found = self.processes[number] = Process(number, known, self.settled, self.view)
        return found

    def _place(self, federation: Federation, number: int) -> str:
        """The node of a process; empty if it is gone, or not known here yet."""
        self._refresh(federation)
        return self.places[number] if number < len(self.places) else ""

    # --- from another node ------------------------------------------------------------------------------------

    def arrive(self, step: Step, sender: str, parcel: Ordered) -> None:
        """One with a tag; `sender`: the node that it comes from."""
        federation = step.federation
        try:
            tag = decode_tag(parcel.tag)
        except OrderingError as error:
            step.effects.append(Notice(f"node {sender!r} sent a message without a proper tag: {error}"))
            return
        federation.ordered = True
        if federation.recorder is not None and not isinstance(parcel.message, Nothing):
            order_rows.waits(step, federation.recorder, "arrive", None, parcel.message, tag, sender)
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

    def _admit(self, step: Step, number: int, stamped: TaggedMessage, forwarded: bool = False) -> None:
        process = self._process(step, number)
        tag = stamped.tag
        if process is None or tag is None:
            return
        current = process.current
        if tag.view < current.view:
            self.counts.stale += 1
        elif tag.view > current.view:
            process.later.append(stamped)
        else:
            if forwarded:
                stamped.tag = _held_back(tag, number)
            ready = current.admit(stamped)
            if not ready and step.federation.recorder is not None:
                self._record_wait(step, process, "hold", stamped)
            for released in ready:
                self._deliver(step, process, released)

    def _record_wait(self, step: Step, process: Process, kind: str, stamped: TaggedMessage) -> None:
        recorder = step.federation.recorder
        member = step.federation.members.get(process.handle)
        parcel = stamped.payload
        if recorder is not None and member is not None and isinstance(parcel, Ordered):
            order_rows.waits(step, recorder, kind, member, parcel.message, stamped.tag)

    # --- to a federate here -----------------------------------------------------------------------------------

    def _deliver(self, step: Step, process: Process, stamped: TaggedMessage) -> None:
        self.counts.delivered += 1
        federation = step.federation
        parcel = stamped.payload
        assert isinstance(parcel, Ordered)
        if process.number == SEQUENCER:
            to = [number for number in parcel.to if self._place(federation, number)]
            if to:
                passed = parcel.copy()
                passed.to, passed.after = (), max(parcel.after, federation.sequence)
                self._post(step, process, self._way(step, to), passed)
            return
        member = federation.members.get(process.handle)
        message = parcel.message
        if member is None or isinstance(message, Nothing):
            return
        if federation.recorder is None:
            self._hand(step, member, message)
            return
        self._record_wait(step, process, "release", stamped)
        before = len(step.effects) + len(member.timing.held)
        self._hand(step, member, message)
        paced = federation.paces is not None and isinstance(message, Update)
        if len(step.effects) + len(member.timing.held) == before and not paced:
            self._record_wait(step, process, "filter", stamped)

    def _hand(self, step: Step, member: Member, message: Message) -> None:
        about = message.object_instance()
        ghost = None if about is None else self.ghosts.get(about)
        if isinstance(message, Deletion):
            if ghost is not None:
                self._removed(step, member, ghost, message.number)
            return
        gone = ghost is not None and member.handle.number in ghost.waiting
        instance = ghost.instance if ghost is not None and gone else None
        deliver.to_member(step, member, message, _CAUSAL, instance)

    def _removed(self, step: Step, member: Member, ghost: Ghost, number: int = 0) -> None:
        if member.handle.number in ghost.waiting:
            del ghost.waiting[member.handle.number]
            step.remove(member, ghost.message.removal(), number)
            if not ghost.waiting:
                del self.ghosts[ghost.instance.handle]

    # --- membership and views (message.causal_views) -------------------------------------------------------------

    def left(self, federate: FederateHandle) -> None:
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
        known = federation.membership.joined + 1
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
        ended = range(self.settled, self.view)
        self.settled = self.view
        self.counts.views += len(ended)
        for process in list(self.processes.values()):
            self._end_views(step, process, ended)
        for ghost in list(self.ghosts.values()):
            if ghost.view < self.view:  # the message that was to say so is lost
                for number in list(ghost.waiting):
                    self._removed(step, step.federation.members[_handle(number)], ghost)
        for process in list(self.processes.values()):
            later, process.later = process.later, []
            for stamped in later:
                self._admit(step, process.number, stamped)

    def _end_views(self, step: Step, process: Process, ended: range) -> None:
        """The first of them is that in which messages were delivered; of the others all messages have waited until now."""
        for view in ended:
            current = process.current
            if view > ended[0]:
                current = Mses(process.number, step.federation.membership.joined + 1, view)
                process.current = current
                early = [m for m in process.later if m.tag is not None and m.tag.view == view]
                process.later = [m for m in process.later if m not in early]
                for stamped in early:
                    for released in current.admit(stamped):
                        self._deliver(step, process, released)
            for released in current.crashed([]):
                self._deliver(step, process, released)
            self.retire(current)
        process.current = process.sending


# --- to whom --------------------------------------------------------------------------------------------------


def _hearers(step: Step, entry: InteractionClassEntry, message: Interaction) -> list[int]:
    federation = step.federation
    delayed = federation.switch(DELAYED)
    return sorted(
        member.handle.number
        for member in federation.members.values()
        if member is not step.member
        and (
            matching.hears(federation, member, entry, message.at) is not None
            or (delayed and member.node != step.node)
        )
    )


def _reflectors(step: Step, instance: Instance, message: Update) -> list[int]:
    federation = step.federation
    delayed = federation.switch(DELAYED)
    attributes = message.attributes()
    found = {m.handle.number for m in federation.members.values() if delayed and m.node != step.node}
    for known, mask in instance.knowledge.masks.items():
        for member in federation.seated(mask):
            subscribed = matching.wishes(federation, member, known, message.where)
            if subscribed and any(attribute in subscribed for attribute in attributes):
                found.add(member.handle.number)
    return sorted(found - {step.member.handle.number, SEQUENCER})


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

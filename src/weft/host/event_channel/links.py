"""Event channels of several nodes, joined over the links of the fabric (S3-13, S3-21).

A federated channel has a name, and at each node that takes part an event channel of its own, called as the node is.  Between two
nodes there is a gateway at each end (`weft.channel.gateway`); what they say goes by the reliable class, as parcels of a port of
its own, and the events of suppliers that say so by best effort: datagrams, where they fit.  So numbers, acknowledgement, resume,
TLS, heartbeats and the loss of a node are those of the links; there is no other connection.  Unless told otherwise a node's
channel is joined to those of all nodes that it shares a domain with.

How two ends begin.  Each end has an *epoch*, a number that is higher each time it begins anew: when the channel is opened, and
when the other node was lost or the way to it broken, with what was on it.  It greets the other end with it.  Who is greeted in an
epoch that it has not heard of answers, unless the greeting was an answer to its own, and opens a gateway; what the end had before
is void.  Each message has the tag of its sender's epoch, so nothing of an earlier one is taken for one of this.  An end that has
no channel of that name hears nothing; it will greet when it has.

A router that has no channel of a name it hears makes one without consumers, a *relay*, and joins it to all its neighbours: so
events cross it, and only those that somebody beyond wants.

Not for several threads at once, like the channels themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from weft.channel import NO_DISPATCHING, Border, Event, EventChannel, Gateway, News
from weft.host.carrier import Carrier, Port, ServiceClass
from weft.host.event_channel.datagrams import DatagramCount
from weft.host.event_channel.parcels import (
    DATAGRAM,
    EVENT,
    GREET,
    LEAVE,
    NEWS,
    REFUSE,
    TAGS,
    about_channel,
    event_head,
    head,
    news_body,
    read_event,
    read_greeting,
    read_news,
    read_refusal,
)
from weft.host.event_channel.values import MOST, ValueReader, ValueRefused, write_value
from weft.host.files.cbor import decode, encode
from weft.model.errors import ChannelError, FabricError
from weft.model.log_text import ERROR, LogText

RELAYS = 1024  # channels of other nodes that a router passes on
_BOOT = "events/boot"  # under this key the journal has the last epoch that may have been used
_PLAIN = "None, bool, int, float, str, bytes, and tuples, lists and dicts of these"


class ChannelSide:
    """This end of the link to the channel of another node."""

    def __init__(self, node: str, epoch: int) -> None:
        self.node = node
        self.epoch = epoch
        self.heard = 0  # the other end's epoch that the gateway is for
        self.newest = 0  # … and the last one that was heard at all
        self.gateway: Gateway | None = None
        self.discarded = 0  # events for which there was no room
        self.datagrams = 0  # best-effort events sent in this epoch
        self.came = DatagramCount()  # those of the other end in its epoch
        self.lost_before = 0  # … in earlier ones
        self.told = 0  # losses that the log knows of
        self.is_crowded = False
        self.refusal = ""

    @property
    def tag(self) -> int:
        return self.epoch % TAGS

    @property
    def lost(self) -> int:
        """Best-effort events of the other end that have not come."""
        return self.lost_before + self.came.lost


class Joined:
    """A channel of this node, and its links to those of the same name at others."""

    def __init__(
        self, name: str, channel: EventChannel, sides: dict[str, ChannelSide], is_relay: bool, rt_info: str
    ) -> None:
        self.name = name
        self.channel = channel
        self.border = Border(channel)
        self.sides = sides
        self.is_relay = is_relay
        self.rt_info = rt_info
        self.settled: Callable[[], object] = channel.run_pending  # called when something has come
        self.refused: ChannelError | None = None  # the last payload that could not leave
        self.is_deaf = False  # it is being closed: events still leave, and none come

    def linked(self) -> tuple[str, ...]:
        """The nodes to whose channels there is a link just now."""
        return tuple(node for node, side in self.sides.items() if side.gateway is not None)


class ChannelLinks:
    """All federated channels of a node: the resident of Port.EVENTS."""

    def __init__(
        self,
        carrier: Carrier,
        neighbours: Iterable[str],
        is_router: bool,
        clock: Callable[[], int],
        report: Callable[[str], None],
        has_room: Callable[[str], bool] = lambda node: True,
    ) -> None:
        """`clock`: a number that is higher in each process of this node than in those before, as far as one can tell.
        `has_room`: does that node take what is sent to it?"""
        self.joined: dict[str, Joined] = {}
        self._carrier = carrier
        self._neighbours = tuple(neighbours)
        self._is_router = is_router
        self._clock = clock
        self._report = report
        self.has_room = has_room
        self._numbers = {node: number for number, node in enumerate(carrier.nodes)}
        self._tags: dict[tuple[str, int], tuple[Joined, ChannelSide]] = {}
        self.gathered = 0  # bytes handed to the carrier since somebody last saw to it that they leave
        self._epoch = 0
        self._reserved = 0
        self._came: tuple[str, int, int] = ("", 0, 0)  # the event that came last, …
        self._came_payload = b""  # … and its payload as it came
        self._left: tuple[str, int, int, int] = ("", 0, 0, 0)  # … that left last, with its time to live
        self._left_body = b""

    # --- channels of this node --------------------------------------------------------------------------------------

    def next_epoch(self) -> int:
        """Higher than all before, in this process and in earlier ones; also for the boot of a channel."""
        if not self._epoch:
            kept = self._carrier.kept(_BOOT).get(_BOOT)
            self._epoch = max(self._clock(), 0 if kept is None else int(decode(kept)))
        self._epoch += 1
        if self._epoch >= self._reserved:
            self._reserved = self._epoch + 1000
            self._carrier.keep(_BOOT, encode(self._reserved))
        return self._epoch

    def join(
        self,
        name: str,
        channel: EventChannel,
        now: float,
        peers: Iterable[str] | None = None,
        rt_info: str = "",
    ) -> Joined:
        """Join a channel, called as this node is, to those of the federated channel `name` at `peers`: the neighbours, unless
        said otherwise.  They have to name this node, too.  What leaves is dispatched as the RT_Info says."""
        before = self.joined.get(name)
        if before is not None and not before.is_relay:
            raise ChannelError(f"node {self._carrier.name} has a channel {name!r} already; close it first")
        chosen = self._neighbours if peers is None else tuple(dict.fromkeys(peers))
        for node in chosen:
            self._check_peer(name, node)
        if before is not None:
            self.leave(before, now)
        return self._join(name, channel, chosen, False, rt_info)

    def _join(
        self, name: str, channel: EventChannel, peers: tuple[str, ...], is_relay: bool, rt_info: str = ""
    ) -> Joined:
        sides = {node: ChannelSide(node, self.next_epoch()) for node in peers}
        joined = Joined(name, channel, sides, is_relay, rt_info)
        self.joined[name] = joined
        for side in sides.values():
            self._greet(joined, side, 0)
        return joined

    def _check_peer(self, name: str, node: str) -> None:
        own = self._carrier.name
        if node not in self._numbers:
            raise ChannelError(
                f"channel {name!r} of {own}: there is no node {node!r}; there are {', '.join(self._carrier.nodes)}"
            )
        if node == own:
            raise ChannelError(f"channel {name!r} of {own} cannot be linked to itself")

    def leave(self, joined: Joined, now: float) -> None:
        """The other ends are told; the channel itself lives on, without links."""
        if self.joined.get(joined.name) is not joined:
            return
        del self.joined[joined.name]
        for side in joined.sides.values():
            if side.gateway is not None:
                self._carrier.send(side.node, Port.EVENTS, ServiceClass.RELIABLE, head(LEAVE, side.tag))
            self._close(joined, side, now)
        joined.border.shut(now)

    # --- as a resident ----------------------------------------------------------------------------------------------

    def received(self, sender: str, payload: bytes, now: float) -> None:
        try:
            self._take(sender, ValueReader(payload), now)
        except ValueRefused as error:
            text = f"node {sender} sent what no event channel sends, and it is dropped: {error}"
            self._report(LogText(text, "unreadable", ERROR, peer=sender))

    def lost(self, node: str, why: str, now: float) -> None:
        for joined, side in self._sides(node):
            if side.gateway is not None:
                self.tell(joined, f"{node} is gone: {why}; what was wanted there is withdrawn")
            self._anew(joined, side, now)

    def found(self, node: str, restarted: bool, now: float) -> None:
        for joined, side in self._sides(node):
            if side.gateway is not None:
                what = f"{node} was started again" if restarted else f"the way to {node} was broken"
                self.tell(joined, f"{what}: events on their way there may be lost")
            if restarted:
                side.newest = 0  # whatever its clock says
            self._anew(joined, side, now)
            self._greet(joined, side, 0)

    def _sides(self, node: str) -> list[tuple[Joined, ChannelSide]]:
        return [(one, one.sides[node]) for one in self.joined.values() if node in one.sides]

    def tell(self, joined: Joined, text: str) -> None:
        if not joined.is_relay:
            self._report(LogText(f"channel {joined.name}: {text}", "channel", channel=joined.name))

    def _take(self, sender: str, reader: ValueReader, now: float) -> None:
        kind = reader.take(1)[0]
        if kind == GREET:
            self._greeted(sender, *read_greeting(reader), now)
            return
        if kind == REFUSE:
            self._refused(sender, *read_refusal(reader))
            return
        found = self._tags.get((sender, reader.number()))
        if found is None:
            return  # of an earlier epoch, or for a channel that was closed here
        joined, side = found
        gateway = side.gateway
        if gateway is None:
            return
        if kind == EVENT:
            if not joined.is_deaf:
                gateway.receive(self._event(reader, sender, False), now)
        elif kind == DATAGRAM:
            number = reader.number()
            event = self._event(reader, sender, True)
            if side.came.is_new(number) and not joined.is_deaf:
                gateway.receive(event, now)
            self._tell_lost(joined, side)
        elif kind == NEWS:
            gateway.receive(read_news(reader, self._carrier.nodes), now)
        elif kind == LEAVE:
            self.tell(joined, f"it was closed at {sender}")
            self._close(joined, side, now)
        else:
            raise ValueRefused(f"kind {kind}; use the same Weft on all nodes")
        joined.settled()

    def _tell_lost(self, joined: Joined, side: ChannelSide) -> None:
        """The first, and then whenever there are twice as many."""
        gone = side.lost_before + side.came.gone
        if gone > 2 * side.told:
            side.told = gone
            self.tell(joined, f"{gone} best-effort events from {side.node} were lost on the way")

    def _event(self, reader: ValueReader, sender: str, best_effort: bool) -> Event:
        event = read_event(reader, self._carrier.nodes, sender, best_effort)
        begin = reader.at
        event.payload = reader.value()
        if reader.at != len(reader.data):
            raise ValueRefused("an event with something behind it")
        self._came = (event.origin, event.boot, event.number)
        self._came_payload = reader.data[begin:]
        return event

    # --- the two ends -----------------------------------------------------------------------------------------------

    def _greet(self, joined: Joined, side: ChannelSide, answers: int) -> None:
        greeting = about_channel(GREET, joined.name, side.epoch, answers)
        self._carrier.send(side.node, Port.EVENTS, ServiceClass.RELIABLE, greeting)

    def _greeted(self, sender: str, name: str, epoch: int, answers: int, now: float) -> None:
        """`answers`: the epoch of this end that it answers; 0: none."""
        joined = self.joined.get(name)
        if joined is None:
            relays = sum(one.is_relay for one in self.joined.values())
            if not self._is_router or sender not in self._neighbours or relays >= RELAYS:
                return
            channel = EventChannel(self._carrier.name, NO_DISPATCHING, boot=self.next_epoch())
            joined = self._join(name, channel, self._neighbours, is_relay=True)
        side = joined.sides.get(sender)
        if side is None:
            why = f"{self._carrier.name} does not name {sender} among the nodes that its channel is linked to"
            refusal = about_channel(REFUSE, name, why)
            self._carrier.send(sender, Port.EVENTS, ServiceClass.RELIABLE, refusal)
        elif epoch >= side.newest and epoch != side.heard:
            self._open(joined, side, epoch, answers, now)
            joined.settled()

    def _open(self, joined: Joined, side: ChannelSide, epoch: int, answers: int, now: float) -> None:
        """The answer goes first, so that the other end is open when the news come."""
        self._close(joined, side, now)
        side.heard = side.newest = epoch
        side.datagrams = 0  # the other end begins to count with this one
        side.lost_before += side.came.lost
        side.came = DatagramCount()
        side.refusal = ""
        self._tags[side.node, epoch % TAGS] = (joined, side)
        if answers != side.epoch:
            self._greet(joined, side, epoch)
        side.gateway = joined.border.open(
            side.node, lambda message: self._transmit(joined, side, message), now, joined.rt_info
        )
        self.tell(joined, f"link to {side.node}: up")

    def _anew(self, joined: Joined, side: ChannelSide, now: float) -> None:
        self._close(joined, side, now)
        side.epoch = self.next_epoch()
        side.datagrams = 0

    def _close(self, joined: Joined, side: ChannelSide, now: float) -> None:
        if side.gateway is not None:
            gateway, side.gateway = side.gateway, None
            joined.border.close(gateway, now)
        self._tags.pop((side.node, side.heard % TAGS), None)
        side.heard = 0

    def _refused(self, sender: str, name: str, why: str) -> None:
        joined = self.joined.get(name)
        side = None if joined is None else joined.sides.get(sender)
        if joined is not None and side is not None and side.refusal != why:
            side.refusal = why
            self.tell(joined, f"no link to {sender}: {why}")

    # --- what leaves ------------------------------------------------------------------------------------------------

    def _transmit(self, joined: Joined, side: ChannelSide, message: News | Event) -> None:
        kind = ServiceClass.RELIABLE
        if isinstance(message, News):
            payload = head(NEWS, side.tag) + news_body(message, self._numbers)
        elif not self._is_room(joined, side):
            return
        elif message.best_effort:
            body = self._body(joined, message)
            side.datagrams += 1
            payload = head(DATAGRAM, side.tag, side.datagrams) + body
            kind = ServiceClass.BEST_EFFORT
        else:
            payload = head(EVENT, side.tag) + self._body(joined, message)
        self.gathered += len(payload)
        try:
            self._carrier.send(side.node, Port.EVENTS, kind, payload)
        except FabricError as error:
            joined.refused = ChannelError(f"an event could not leave for {side.node}: {error}")
            raise joined.refused from error

    def _is_room(self, joined: Joined, side: ChannelSide) -> bool:
        """A node that does not take its events loses them, lest the link be cut, on which others depend."""
        room = self.has_room(side.node)
        if not room:
            side.discarded += 1
        if side.is_crowded == room:
            side.is_crowded = not room
            if room:
                self.tell(joined, f"{side.node} takes events again; {side.discarded} in all were discarded")
            else:
                self.tell(joined, f"{side.node} does not take its events; they are discarded until it does")
        return room

    def _body(self, joined: Joined, event: Event) -> bytes:
        """The same to all neighbours; and the payload of an event that is passed on goes as it came."""
        key = (event.origin, event.boot, event.number, event.ttl)
        if key == self._left:
            return self._left_body
        if self._came == (event.origin, event.boot, event.number):
            payload = self._came_payload
        else:
            payload = self._payload(joined, event)
        body = event_head(event, self._numbers) + payload
        self._left, self._left_body = key, body
        return body

    def _payload(self, joined: Joined, event: Event) -> bytes:
        out = bytearray()
        try:
            for word, number in (("type", event.type), ("source", event.source), ("ttl", event.ttl)):
                if type(number) is not int or number > MOST:
                    raise ValueRefused(f"{word} {number!r}")
            if type(event.created) not in (int, float):
                raise ValueRefused(f"created {event.created!r}")
            write_value(out, event.payload)
        except ValueRefused as error:
            joined.refused = ChannelError(
                f"{_suppliers_of(joined.channel, event)} pushed an event of type {event.type} from source {event.source} that "
                f"cannot go to other nodes: it has {error}; there may be {_PLAIN}"
            )
            raise joined.refused from error
        return bytes(out)


def _suppliers_of(channel: EventChannel, event: Event) -> str:
    """Who may have pushed it, by name."""
    names = []
    for supplier in [one for one in channel.suppliers() if not one.is_gateway]:
        published = [(one.source, one.type) for one in supplier.publications()]
        if any(source in (0, event.source) and kind in (0, event.type) for source, kind in published):
            names.append(supplier.name)
    return " or ".join(names) or "a supplier that has disconnected"

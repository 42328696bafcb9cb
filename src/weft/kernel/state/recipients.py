"""Who gets messages that are alike: the answer to the interest question, found once and kept (`message.recipients`)."""

from __future__ import annotations

from weft.kernel.state.federation import Member
from weft.kernel.state.messages import Recipient
from weft.kernel.state.mom_state import add
from weft.kernel.state.traffic import Footprint
from weft.model.handles import (
    AttributeHandle,
    InteractionClassHandle,
    ObjectClassHandle,
    ParameterHandle,
    TransportationTypeHandle,
)

Items = tuple[ParameterHandle, ...] | tuple[AttributeHandle, ...]


class Post:
    """What goes to members at other nodes: these attributes, or all that there is."""

    def __init__(
        self,
        nodes: tuple[str, ...],
        attributes: tuple[AttributeHandle, ...] | None,
        reliable: bool,
        groups: tuple[str, ...] = (),
    ) -> None:
        self.nodes = nodes
        # None: all that were sent.
        self.attributes = attributes
        self.reliable = reliable
        # Multicast groups, if it may go that way.
        self.groups = groups


class Recipients:
    """Of messages that are alike: interactions of one class, or updates of the same attributes, by one sender.

    They are counted here, one addition for each however many get it, and entered in the tallies of the MOM when somebody asks or
    the answer is forgotten (`Federation.count_up`).
    """

    def __init__(
        self,
        sender: Member,
        kind: InteractionClassHandle | ObjectClassHandle,
        transportations: list[TransportationTypeHandle],
        directed: bool = False,
    ) -> None:
        self.sender = sender
        # The class of the interactions, or of the instance that is updated.
        self.kind = kind
        self.transportations = transportations
        self.directed = directed
        self.here: list[Recipient] = []
        # Members here that named an update rate for some of the attributes (`message.update_rates`).
        self.paced: list[Recipient] = []
        self.posts: list[Post] = []
        # All who get it, wherever they are; None: that is asked when it is delivered.
        self.destinations: list[Member] | None = None
        # The seats of those here.
        self.reached = 0
        # Somebody here is time-constrained, has QoS or is told of regions: it may not be handed to all at once.
        self.holding = False
        # The RTI itself acts on it.
        self.managed = False
        # What it does to the counts of the network.
        self.footprint: Footprint | None = None
        # Messages that went this way and are not in any tally yet.
        self.count = 0
        # Found once for all that are alike, and among the `Federation.kept_recipients`; else for this message alone.
        self.kept = False
        # In the recorder's book (`recording.message_rows`): the shape of the usual messages with these items, and all others.
        self.items: Items = ()
        self.shape = -1
        self.shapes: dict[tuple[Items, bool, str], int] = {}

    def settle(self) -> Recipients:
        """All who get it here are known."""
        for recipient in self.here:
            self.reached |= recipient.member.bit
            if recipient.member.holds or recipient.regions is not None:
                self.holding = True
        return self

    def nodes(self) -> tuple[str, ...]:
        """The other nodes that it goes to."""
        return tuple([node for post in self.posts for node in post.nodes])

    def count_up(self) -> None:
        """Enter in the tallies what was counted."""
        count = self.count
        self.count = 0
        if self.footprint is not None:
            self.footprint.count(count)
        tally = self.sender.tally
        if isinstance(self.kind, ObjectClassHandle):
            tally.updates += count
            counts = tally.updates_sent
        else:
            counts = tally.directed_sent if self.directed else tally.interactions_sent
        for transportation in self.transportations:
            add(counts, self.kind, transportation, count)
        for recipient in self.here:
            way = recipient.transportation
            count_received(
                recipient.member,
                self.kind,
                self.transportations[0] if way is None else way,
                count,
                self.directed,
            )


def count_received(
    member: Member,
    kind: InteractionClassHandle | ObjectClassHandle,
    transportation: TransportationTypeHandle,
    count: int = 1,
    directed: bool = False,
) -> None:
    """A member has got so many messages of that class."""
    tally = member.tally
    if isinstance(kind, ObjectClassHandle):
        add(tally.reflections_received, kind, transportation, count)
    else:
        add(tally.directed_received if directed else tally.interactions_received, kind, transportation, count)

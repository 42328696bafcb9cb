"""What both orders of the middleware have in common: the stamp of a message, and one member's side of the order.

`group` orders without knowing whom a message reaches, `tables` by the destinations in each message (MSES).  Who belongs to the
group, and what members tell one another, is the same for both: `weft.federate.causal.party`.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Iterable
from typing import Final

from weft.ordering.message import NOTHING

KEPT: Final = 256  # stamps of each source that are remembered in case it crashes


class MemberStamp:
    """What a message carries.  A `part` is one of perhaps several, and its note says that all have come."""

    __slots__ = ("number", "part", "source")

    def __init__(self, source: bytes, number: int, part: bool) -> None:
        self.source = source
        self.number = number
        self.part = part


class MemberCounts:
    """What has come to a member."""

    def __init__(self) -> None:
        self.delivered = 0
        self.noted = 0  # messages that were not for this member
        self.waited = 0
        self.held_most = 0
        # Came after they were given up: best effort, paced, or of a member that left as this one came.
        self.late = 0
        self.refused = 0  # of members that are gone, after what they may have caused


class BlockedMessage:
    """A message that has come, or its note, or both."""

    __slots__ = ("arrival", "closed", "in_turn", "payloads", "stamp", "told")

    def __init__(self, arrival: int, stamp: MemberStamp) -> None:
        self.in_turn = False  # what was sent before it has come, if it is for us
        self.arrival = arrival
        self.stamp = stamp
        self.payloads: list[object] = []
        self.closed = not stamp.part
        self.told = False  # a part of it was delivered; others follow at once

    def copy(self) -> BlockedMessage:
        made = BlockedMessage(self.arrival, self.stamp)
        made.payloads, made.closed, made.told = list(self.payloads), self.closed, self.told
        made.in_turn = self.in_turn
        return made


class MemberOrder(metaclass=ABCMeta):
    """One member's side.  What methods return may be delivered now, in that order."""

    def __init__(self, own: bytes) -> None:
        self.own = own
        self.lost: set[bytes] = set()  # what has not come of them will not
        self.absent: set[bytes] = set()  # gone before anything of them was heard here
        self.held = 0  # payloads
        self.counts = MemberCounts()

    @abstractmethod
    def sent(self) -> int:
        """The number of the last message, of which others are told who join or wait."""

    @abstractmethod
    def stamp(self, part: bool = False, destinations: list[int] = NOTHING) -> MemberStamp:
        """Of the next message of our own."""

    @abstractmethod
    def unstamp(self, stamp: MemberStamp) -> None:
        """The last message was not sent after all."""

    @abstractmethod
    def arrive(self, stamp: MemberStamp, payload: object, in_turn: bool = True) -> list[object]:
        """`in_turn`: it has not overtaken what its source sent before, as a deletion may."""

    @abstractmethod
    def note(self, stamp: MemberStamp) -> list[object]:
        """The message was sent, and if it has not come it will not."""

    def needs(self, source: bytes, number: int) -> bool:
        """Would the note of this message say anything new?"""
        return True

    @abstractmethod
    def hear(self, source: bytes, number: int, known: int) -> list[object]:
        """It has sent so many messages, and their notes; all of them that come to us have come.

        `known`: how often it has heard that we want more; -1: it does not know of us.
        """

    @abstractmethod
    def has_met(self, source: bytes) -> bool:
        """Has it told us how much it has sent?  Then what it sent since is waited for."""

    def want_more(self) -> int:
        """We begin to want something: who has not heard of it does not count us among its destinations.  How often now?"""
        return 0

    def wanted(self) -> int:
        return 0

    def left(self, source: bytes, number: int) -> list[object]:
        """It resigned after so many messages."""
        return []

    def to_ask(self) -> list[bytes]:
        """Of whom it must be known what they have sent and whether they know of us, so that what waits can go on."""
        return []

    def overdue(self) -> list[bytes]:
        """Of whom a note may be kept that is waited for here, while nothing comes."""
        return []

    @abstractmethod
    def strangers(self) -> list[bytes]:
        """Those who are waited for and may not know of us."""

    @abstractmethod
    def past(self, source: bytes) -> list[MemberStamp]:
        """Of its last messages that are here, the stamps: what others need if it crashes."""

    @abstractmethod
    def lose(self, source: bytes, past: Iterable[MemberStamp] = ()) -> list[object]:
        """A member crashed.  What has not come of it is not waited for any more, and not taken if it comes.

        `past`: what all others know of it.  A lost message stands for what lies before it, so that has to come first here, too.
        """

    @abstractmethod
    def dismiss(self, source: bytes, past: Iterable[MemberStamp] = ()) -> list[object]:
        """A member went that may not have known of us: what may still come of it is not waited for, but taken if it can be."""

    @abstractmethod
    def give_up(self) -> list[object]:
        """Nothing more will come at all: everything that is held, in causal order."""

    @abstractmethod
    def anew(self, own: bytes) -> MemberOrder:
        """The same member after it has resigned and was not let go: after all it did before."""

    @abstractmethod
    def copy(self) -> MemberOrder:
        """As it is now, with what it holds."""

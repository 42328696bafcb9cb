"""Who is in the causal group, and what members owe one another: one member's side of the protocol, without the RTI.

What each does when something happens to it:

    joins         HELLO to all; they answer HERE, and so does the newcomer when it has heard of all.  HERE says how many messages
                  there were, and whom the sender knows: for those, it begins there
    sends         the message, then its note (NOTES).  If all members are sure to get the message, notes are kept and said
                  together: every KEPT_NOTES messages, or when somebody turns out not to be sure (HELLO, UNWANT)
    resigns       BYE, with its last number.  It travels as the deletion of an object, so that it comes before the RTI says that
                  the federate is gone, and then whoever waits for its messages knows that they are still coming
    hears that a federate is gone, without BYE    it crashed: LOST to all, with the stamps of what came of it.  What
                  comes later of it is refused; when all members have said LOST, nothing of it is waited for any more
    waits for somebody it has never heard of      WHO; whoever knows says ABOUT
    waits for somebody it knows                   ASK; that one says NOTES and SAID.  By tables at once, else when nothing comes
    subscribes    WANT.  Those who name destinations count how often a member began to want more, and tell it in HERE and SAID

The order itself is that of `weft.ordering.group`, or by destinations that of `weft.ordering.tables`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from weft.federate.causal.notices import (
    ABOUT,
    ALSO,
    ASK,
    BYE,
    GONE,
    HELLO,
    HERE,
    LOST,
    NOTES,
    PRESENT,
    SAID,
    UNKNOWN,
    UNWANT,
    WANT,
    WHO,
    GroupNotice,
)
from weft.model.handles import FederateHandle
from weft.ordering.member import MemberOrder, MemberStamp

KEPT_NOTES: Final = 64


class Peer:
    """Another member.  `federate`: by what handle messages of it are known here."""

    def __init__(self, federate: FederateHandle) -> None:
        self.federate = federate
        self.wants: set[str] = set()
        self.greeted = False  # it has said HELLO or HERE
        self.told = False  # it knows that we know it
        self.present = True
        self.reported = False  # the MOM has said what it subscribes to
        self.epoch = 0  # how often it began to want more, as far as we have heard
        self.left = -1  # how many messages there were when it said BYE

    def is_declared(self) -> bool:
        """Do we know what it wants?"""
        return self.greeted or self.reported

    def copy(self) -> Peer:
        made = Peer(self.federate)
        made.wants = set(self.wants)
        made.greeted, made.told, made.present = self.greeted, self.told, self.present
        made.reported, made.epoch, made.left = self.reported, self.epoch, self.left
        return made


class Losing:
    """A crash about which not all have spoken."""

    def __init__(self, awaited: set[bytes]) -> None:
        self.awaited = awaited
        self.past: dict[int, MemberStamp] = {}

    def copy(self) -> Losing:
        made = Losing(set(self.awaited))
        made.past = dict(self.past)
        return made


class Party:
    """`tell` sends a notice to all members; `has_departed`: a federate that we have just heard of is gone already.

    None: it is gone, and may have been before we came.
    """

    def __init__(
        self,
        group: MemberOrder,
        tell: Callable[[GroupNotice], None],
        has_departed: Callable[[FederateHandle], bool | None],
    ) -> None:
        self.own = group.own
        self.group = group
        self.unanswered = False  # some may not know yet that we know them
        self.version = 0  # changes with who is here and what they want
        self.peers: dict[bytes, Peer] = {}
        self.wants: set[str] = set()  # our own
        self.company = 0  # how many others there are, whether we have heard of them or not
        self._fresh: list[bytes] = []  # members we have just heard of
        self.tell = tell
        self.has_departed = has_departed
        self._bound: dict[FederateHandle, bytes] = {}  # the identity a federate has now
        self._unsaid: list[MemberStamp] = []
        self._asked: set[bytes] = set()  # somebody wants to know about them
        # About strangers: who knows that they are gone, or nothing.
        self._answers: dict[bytes, dict[bytes, GroupNotice]] = {}
        self._losing: dict[bytes, Losing] = {}
        self._spoken: dict[bytes, set[bytes]] = {}  # of whose crash we have told whom

    def anew(self, own: bytes) -> Party:
        """The same member after it was not let go."""
        made = self.copy()
        made.own = own
        made.group = self.group.anew(own)
        return made

    # Our own doings

    def greet(self, kind: int = HELLO) -> None:
        """After the notes of all messages that are counted in it."""
        self.say_notes()
        number, epoch = self.group.sent(), self.group.wanted()
        wants = () if kind == SAID else tuple(sorted(self.wants))
        self.tell(GroupNotice(self.own, kind, number, wants, others=self._known(), epoch=epoch))

    def _known(self) -> tuple[tuple[bytes, int], ...]:
        """Those whom this is said to know that we know them."""
        known: list[tuple[bytes, int]] = []
        for one, peer in self.peers.items():
            if peer.present:
                peer.told = True
                known.append((one, peer.epoch))
        self.unanswered = False
        return tuple(sorted(known))

    def sent(self, stamp: MemberStamp, sure: bool) -> None:
        """`sure`: everybody who wants messages of this kind gets this one."""
        self._unsaid.append(stamp)
        if not sure or len(self._unsaid) >= KEPT_NOTES:
            self.say_notes()

    def say_notes(self) -> None:
        if self._unsaid:
            stamps, self._unsaid = tuple(self._unsaid), []
            self.tell(GroupNotice(self.own, NOTES, stamps=stamps))

    @property
    def unsaid(self) -> int:
        return len(self._unsaid)

    def farewell(self) -> GroupNotice:
        """What the tag of the deletion says."""
        self.greet(SAID)  # behind all messages, which the deletion may overtake
        answered = tuple((one, self.peers[one].epoch) for one in sorted(self._others()))
        return GroupNotice(self.own, BYE, self.group.sent(), others=answered, epoch=self.group.wanted())

    def want(self, name: str) -> None:
        self.want_all([name])

    def want_all(self, names: Iterable[str]) -> None:
        new = tuple(name for name in names if name not in self.wants)
        if new:
            self.wants.update(new)
            self.tell(GroupNotice(self.own, WANT, names=new, epoch=self.group.want_more()))

    def unwant(self, name: str) -> None:
        self.unwant_all([name])

    def unwant_all(self, names: Iterable[str]) -> None:
        old = tuple(name for name in names if name in self.wants)
        if old:
            self.wants.difference_update(old)
            self.tell(GroupNotice(self.own, UNWANT, names=old, epoch=self.group.wanted()))

    def all_want(self, lineage: list[str]) -> bool:
        """Do all others want this class or one above it?"""
        return all(not peer.present or not peer.wants.isdisjoint(lineage) for peer in self.peers.values())

    # Messages of others

    def is_from(self, stamp: MemberStamp, federate: FederateHandle) -> bool:
        """Is this a stamp of the federate that sent it?  One without the middleware may repeat a tag that it has seen."""
        peer = self.peers.get(stamp.source)
        if peer is not None:
            return peer.federate == federate
        if federate in self._bound or stamp.source == self.own:
            return False
        self._meet(stamp.source, federate)
        return True

    def _meet(self, identity: bytes, federate: FederateHandle) -> Peer:
        peer = self.peers.get(identity)
        if peer is None:
            peer = self.peers[identity] = Peer(federate)
            peer.present = not self._is_over(identity)
            self._fresh.append(identity)
            self.unanswered = self.unanswered or peer.present
            self.version += 1
        if peer.present:
            self._bound[federate] = identity
        return peer

    def _is_over(self, identity: bytes) -> bool:
        """Others have said that it is gone, perhaps before we had heard of it."""
        return identity in self._spoken or identity in self.group.absent or identity in self.group.lost

    def _settle(self) -> list[object]:
        """Whom we have just heard of may be gone already; and whom we have not heard of we ask for."""
        released: list[object] = []
        while self._fresh:
            identity = self._fresh.pop()
            gone = self.has_departed(self.peers[identity].federate)
            if gone is True or (gone is None and self.group.has_met(identity)):
                released += self.lose(identity)
            elif gone is None:
                released += self._part_with(identity)
        if self.group.held:
            self._ask(one for one in self.group.strangers() if one not in self._answers)
            for one in self.group.to_ask():
                self.tell(GroupNotice(self.own, ASK, subject=one))
        return released

    def ask_overdue(self) -> None:
        """Nothing comes, and something is held: perhaps for a message whose note its sender keeps."""
        for one in self.group.overdue():
            peer = self.peers.get(one)
            if peer is not None and peer.present:
                self.tell(GroupNotice(self.own, ASK, subject=one))

    def _ask(self, strangers: Iterable[bytes]) -> None:
        for stranger in strangers:
            self._answers.setdefault(stranger, {})
            self.tell(GroupNotice(self.own, WHO, subject=stranger))

    def meet(self, identity: bytes, federate: FederateHandle) -> list[object]:
        """The RTI has told us of a member."""
        self._meet(identity, federate)
        return self._settle()

    def reported(self, federate: FederateHandle, names: Iterable[str]) -> None:
        """The MOM has told us what a member subscribes to."""
        peer = self.peers.get(self._bound.get(federate, b""))
        if peer is not None and not peer.greeted:
            peer.wants.update(names)
            peer.reported = True
            self.version += 1

    @property
    def all_greeted(self) -> bool:
        return all(peer.greeted or not peer.present for peer in self.peers.values())

    def knows(self, federate: FederateHandle) -> bool:
        """Is it a member?"""
        return federate in self._bound

    def arrive(self, stamp: MemberStamp, payload: object, in_turn: bool = True) -> list[object]:
        if stamp.source in self._losing:
            self.group.counts.refused += 1
            return []
        released = self.group.arrive(stamp, payload, in_turn)
        if self._fresh or self.group.held:
            released += self._settle()
        return released

    def refuses(self, stamp: MemberStamp) -> bool:
        return stamp.source in self._losing or stamp.source in self.group.lost

    # Notices of others

    def hear(self, notice: GroupNotice, federate: FederateHandle) -> list[object]:
        """What may be delivered now."""
        if notice.sender == self.own:
            return []
        released = self._act(notice, federate)
        return released + self._settle()

    def _act(self, notice: GroupNotice, federate: FederateHandle) -> list[object]:
        """The one that comes most, first."""
        kind = notice.kind
        if kind == NOTES:
            return self._notes(notice)
        if kind in (HELLO, HERE):
            released = self._here(notice, federate)
            if kind == HELLO:
                self.greet(HERE)
            return released
        if kind in (WANT, UNWANT):
            return self._declared(notice)
        if kind == SAID:
            return self._said(notice)
        if kind in (LOST, ALSO):
            return self._lost(notice)
        if kind == ABOUT:
            return self._about(notice)
        return self._spoken_to(notice, federate)

    def _spoken_to(self, notice: GroupNotice, federate: FederateHandle) -> list[object]:
        if notice.kind == BYE:
            return self._bye(notice, federate)
        self._meet(notice.sender, federate)
        if notice.kind == WHO:
            self._who(notice)
        elif notice.subject == self.own:  # ASK
            self.greet(SAID)
        return []

    def _here(self, notice: GroupNotice, federate: FederateHandle) -> list[object]:
        released: list[object] = []
        before = self._bound.get(federate)
        if before is not None and before != notice.sender and self.peers[before].present:
            # A federate that began anew without a word, after a restore in another process.
            released += self._part_with(before)
            released += self.group.lose(before)
        peer = self._meet(notice.sender, federate)
        if not peer.present and 0 <= peer.left < notice.number and not self._is_over(notice.sender):
            peer.present, peer.left = True, -1  # it was not let go, and goes on
            self._bound[federate] = notice.sender
            peer.told, self.unanswered = False, True
        if not peer.present:
            return released
        if not peer.greeted:
            self._ask(self.group.strangers())  # it may know those that nobody else does
        peer.federate = federate
        peer.greeted = True
        peer.wants = set(notice.names)
        peer.epoch = notice.epoch
        self.version += 1
        if len(self._others()) >= self.company and self.unanswered:
            self.greet(HERE)  # once, when we know all others
        return released + self._said(notice)

    def _said(self, notice: GroupNotice) -> list[object]:
        """Also of one that has said BYE: its last word, behind all its messages.  Not of one that is gone without."""
        peer = self.peers.get(notice.sender)
        if peer is None or (not peer.present and peer.left < 0):
            return []
        known = -1
        for one, epoch in notice.others:
            if one == self.own:
                known = epoch
        return self.group.hear(notice.sender, notice.number, known)

    def _notes(self, notice: GroupNotice) -> list[object]:
        released: list[object] = []
        if notice.sender in self._losing:
            return released
        for stamp in notice.stamps:
            if stamp.source == notice.sender:
                released += self.group.note(stamp)
        return released

    def _declared(self, notice: GroupNotice) -> list[object]:
        """Of messages that it was sure to get when they were sent, some may not have reached one that unsubscribes."""
        peer = self.peers.get(notice.sender)
        if peer is not None:
            self.version += 1
            if notice.kind == WANT:
                peer.wants.update(notice.names)
                peer.epoch = notice.epoch
            else:
                peer.wants.difference_update(notice.names)
        if notice.kind == UNWANT:
            self.say_notes()
        return []

    def _bye(self, notice: GroupNotice, federate: FederateHandle) -> list[object]:
        """If it has answered us, all it has sent since is still coming; if not, the others are asked about it."""
        self._meet(notice.sender, federate).left = notice.number
        self._fresh.clear()
        return self._part_with(notice.sender) + self.group.left(notice.sender, notice.number)

    def _who(self, notice: GroupNotice) -> None:
        if notice.subject == self.own:
            self.greet(HERE)
            return
        peer = self.peers.get(notice.subject)
        known = UNKNOWN if peer is None else PRESENT if peer.present else GONE
        if peer is None and self._is_over(notice.subject):
            known = GONE
        self._asked.add(notice.subject)
        self._speak_about(notice.subject, known)

    def _speak_about(self, identity: bytes, known: int) -> None:
        past = tuple(self.group.past(identity)) if known == GONE else ()
        self.tell(GroupNotice(self.own, ABOUT, known, subject=identity, stamps=past))

    def _about(self, notice: GroupNotice) -> list[object]:
        answers = self._answers.get(notice.subject)
        if answers is None:
            return []
        if notice.number == PRESENT:
            answers.pop(notice.sender, None)
        else:
            answers[notice.sender] = notice
        return self._forget_strangers()

    def _lost(self, notice: GroupNotice) -> list[object]:
        if notice.subject == self.own:
            return []
        released = self.lose(notice.subject)
        # Also if it had resigned as it should: whoever does not know that waits for our word.
        if notice.sender in self._spoken.get(notice.subject, set()):
            pass
        elif notice.subject not in self._spoken:
            self._speak_of(notice.subject, LOST)
        elif notice.kind == LOST:
            self._speak_of(notice.subject, ALSO)
        losing = self._losing.get(notice.subject)
        if losing is None:
            return released
        losing.past.update((stamp.number, stamp) for stamp in notice.stamps if stamp.source == notice.subject)
        losing.awaited.discard(notice.sender)
        return released + self._finish()

    # Those who go

    def missing(self, is_gone: Callable[[FederateHandle], bool]) -> list[object]:
        """Of those who are here, some are gone without a word."""
        released: list[object] = []
        for identity, peer in list(self.peers.items()):
            if peer.present and is_gone(peer.federate):
                released += self.lose(identity)
        return released

    def lose(self, identity: bytes) -> list[object]:
        """It went without a word."""
        peer = self.peers.get(identity)
        if identity in self._spoken or (peer is not None and not peer.present):
            return []
        self._losing[identity] = Losing(self._others(identity))
        self._speak_of(identity, LOST)
        return self._part_with(identity)

    def _others(self, identity: bytes = b"") -> set[bytes]:
        """The members we have spoken with, without this one."""
        return {one for one, peer in self.peers.items() if peer.present and peer.greeted and one != identity}

    def _speak_of(self, identity: bytes, kind: int) -> None:
        """All who hear of a crash wait for the word of all others."""
        self._spoken[identity] = self._others(identity)
        past = tuple(self.group.past(identity))
        self.tell(GroupNotice(self.own, kind, subject=identity, stamps=past))

    def _part_with(self, identity: bytes) -> list[object]:
        peer = self.peers.get(identity)
        if peer is not None:
            peer.present = False
            self.version += 1
            if self._bound.get(peer.federate) == identity:
                del self._bound[peer.federate]
        if identity in self._asked:
            self._speak_about(identity, GONE)
        for losing in self._losing.values():
            losing.awaited.discard(identity)
        return self._finish() + self._forget_strangers()

    def _finish(self) -> list[object]:
        released: list[object] = []
        for identity, losing in list(self._losing.items()):
            if not losing.awaited:
                del self._losing[identity]
                released += self.group.lose(identity, losing.past.values())
        return released

    def _forget_strangers(self) -> list[object]:
        """All have said of somebody that it is gone, or that they do not know it: what they have of it is all there is."""
        here = self._others()
        if len(here) < self.company:
            return []
        released: list[object] = []
        for stranger in self.group.strangers():
            answers, peer = self._answers.get(stranger, {}), self.peers.get(stranger)
            gone = peer is None or not peer.present or any(one.number == GONE for one in answers.values())
            if gone and here <= answers.keys():
                past = {stamp.number: stamp for answer in answers.values() for stamp in answer.stamps}
                released += self.group.dismiss(stranger, past.values())
                if peer is not None and peer.present:
                    released += self._part_with(stranger)  # others have heard its farewell
        return released

    def met(self, company: int) -> list[object]:
        """So many others are there now."""
        self.company = company
        return self._forget_strangers()

    # Saving

    def copy(self) -> Party:
        made = Party(self.group.copy(), self.tell, self.has_departed)
        made.company, made.version = self.company, self.version + 1
        made.peers = {identity: peer.copy() for identity, peer in self.peers.items()}
        made.wants, made._unsaid, made.unanswered = set(self.wants), list(self._unsaid), True
        made._bound, made._asked = dict(self._bound), set(self._asked)
        made._answers = {one: dict(answers) for one, answers in self._answers.items()}
        made._spoken = {one: set(others) for one, others in self._spoken.items()}
        made._losing = {one: losing.copy() for one, losing in self._losing.items()}
        return made

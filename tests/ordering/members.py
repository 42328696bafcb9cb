"""Members with destinations from tables, on the worst network and RTI that keep what the middleware asks for.

Between each two members messages and notices keep their order; any channel may be as slow as you like.  The RTI knows at
once who subscribes to what, while the members hear of it late; and it filters, as regions do.  A deletion (the last word of
who resigns) and the news of a crash overtake.
"""

from __future__ import annotations

import random
from collections import deque
from typing import Any

from ordering.middleware import Oracle
from weft.federate.causal.notices import ASK, NOTES, GroupNotice, read_notice, write_notice
from weft.federate.causal.party import Party
from weft.model.handles import FederateHandle
from weft.ordering.group_tags import split_tag, write_stamp, write_text_stamp
from weft.ordering.tables import CausalTables, TableStamp, identity_of

CLASSES = ("A", "B", "C")
NO_NOTES, NO_ASKING, NO_ROWS, SURE = "no notes", "nobody asks", "no rows", "all count as knowing what we want"
START = 4
MOST = 8


class Member:
    def __init__(self, model: Model, number: int) -> None:
        self.model = model
        self.number = number
        self.truth: set[str] = set()  # what it subscribes to at the RTI
        self.gone: set[int] = set()  # who is gone, as the MOM has told it
        self.raw: list[bytes] = []
        self.before: set[bytes] = (
            set()
        )  # what it knew of when it subscribed to something, and need not get any more
        group = CausalTables(identity_of(number))
        self.party = Party(group, self.tell, lambda one: one.number in self.gone)

    def tell(self, notice: GroupNotice) -> None:
        data = write_notice(notice, True)
        self.model.post(self.number, "notice", data)

    def send(self, name: str, tag: bytes) -> None:
        model, party = self.model, self.party
        wanting = [one for one, peer in party.peers.items() if peer.present and _may_want(peer, name)]
        stamp = party.group.stamp(False, sorted(int.from_bytes(one, "big") for one in wanting))
        model.oracle.sent(self.number, tag)
        data = (write_text_stamp if model.random.random() < 0.3 else write_stamp)(stamp) + tag
        filtered = model.random.random() < model.filters
        for other in model.here():
            if name in other.truth and other is not self and (not filtered or model.random.random() < 0.5):
                model.channels[self.number, other.number].append(("message", data))
        party.sent(stamp, model.random.random() < 0.8)

    def hear(self, what: str, sender: int, data: Any) -> None:
        party, federate = self.party, FederateHandle.of(sender)
        released: list[object] = []
        if what == "message":
            stamp, tag = split_tag(data)
            assert stamp is not None
            assert party.is_from(stamp, federate)
            if self.model.defect == NO_ROWS and isinstance(stamp, TableStamp):
                stamp.tag.rows = [[] for _ in stamp.tag.rows]
            self.raw.append(tag)
            released = party.arrive(stamp, tag)
        elif what == "notice":
            notice = read_notice(data, True)
            lost = {NO_NOTES: NOTES, NO_ASKING: ASK}.get(self.model.defect)
            released = [] if notice.kind == lost else party.hear(notice, federate)
        elif what == "gone":
            self.gone.add(sender)
            released = party.missing(lambda one: one == federate)
        released += party.met(len(self.model.here()) - 1)
        for got in released:
            assert isinstance(got, bytes)
            self.model.oracle.receives(self.number, got)
            if self.model.random.random() < self.model.answers:
                self.model.say(self)

    def be_sure(self) -> None:
        if self.model.defect == SURE:
            for other in range(len(self.model.members)):
                self.party.group.hear(identity_of(other), 0, 1 << 20)


def _may_want(peer: Any, name: str) -> bool:
    return not peer.is_declared() or name in peer.wants


class Model:
    def __init__(self, seed: int, filters: float = 0.2, defect: str = "") -> None:
        self.random = random.Random(seed)
        self.defect = defect
        self.filters = filters
        self.answers = 0.3
        self.oracle = Oracle()
        self.members: dict[int, Member] = {}
        self.present: set[int] = set()
        self.crashed: set[int] = set()
        self.hasty: set[tuple[int, int]] = set()  # resigned before it had heard of the other
        self.messages = 0
        self.channels: dict[tuple[int, int], deque[tuple[str, Any]]] = {}
        self.speed: dict[tuple[int, int], float] = {}
        self.news: dict[tuple[int, int], deque[tuple[str, Any]]] = {}  # what overtakes
        for _ in range(START):
            self.join()

    def here(self) -> list[Member]:
        return [self.members[number] for number in sorted(self.present)]

    def join(self) -> None:
        number = len(self.members)
        member = Member(self, number)
        self.members[number] = member
        self.present.add(number)
        self.oracle.joined(number)
        for other in range(number):
            for key in ((other, number), (number, other)):
                self.channels[key], self.news[key] = deque(), deque()
                self.speed[key] = self.random.choice((1.0, 1.0, 0.02))
        member.party.greet()
        for one in self.here():
            one.be_sure()
        for name in CLASSES:
            if self.random.random() < 0.5:
                self.declare(member, name)

    def post(self, sender: int, what: str, data: bytes) -> None:
        for other in self.here():
            if other.number != sender:
                self.channels[sender, other.number].append((what, data))

    def say(self, member: Member) -> None:
        self.messages += 1
        member.send(self.random.choice(CLASSES), b"%d m%d" % (member.number, self.messages))

    def declare(self, member: Member, name: str) -> None:
        if name in member.truth:
            member.truth.discard(name)
            member.party.unwant(name)
        else:
            member.party.want(name)
            member.before |= self.oracle.known[member.number]
            member.truth.add(name)
            member.be_sure()

    def resign(self, member: Member) -> None:
        farewell = member.party.farewell()
        bye = write_notice(farewell, True)
        self.present.discard(member.number)
        known = {one for one, _ in farewell.others}
        for other in self.here():
            if identity_of(other.number) not in known:
                self.hasty.add((member.number, other.number))
            self.news[member.number, other.number].append(("notice", bye))

    def crash(self, member: Member) -> None:
        """Of what it has sent each gets a beginning."""
        self.present.discard(member.number)
        self.crashed.add(member.number)
        for other in self.here():
            channel = self.channels[member.number, other.number]
            for _ in range(self.random.randint(0, len(channel))):
                channel.pop()
            self.news[member.number, other.number].append(("gone", None))

    def step(self, changes: tuple[str, ...]) -> None:
        draw = self.random
        member = draw.choice(self.here())
        what = draw.choice(("send", "send", "send", "send", *changes))
        for _ in range(draw.choice((1, 4, 10, 20))):
            self.deliver_one()
        if what == "send":
            self.say(member)
        elif what == "declare":
            self.declare(member, draw.choice(CLASSES))
        elif what == "join" and len(self.members) < MOST and draw.random() < 0.3:
            self.join()
        elif what == "resign" and len(self.present) > 2 and draw.random() < 0.3:
            self.resign(member)
        elif what == "crash" and len(self.present) > 2 and draw.random() < 0.3:
            self.crash(member)

    def deliver_one(self) -> bool:
        full = [
            (key, queue)
            for queues in (self.channels, self.news)
            for key, queue in queues.items()
            if queue and key[1] in self.present
        ]
        if not full:
            return False
        weights = [self.speed[key] for key, _ in full]
        (sender, to), queue = self.random.choices(full, weights)[0]
        if self.random.random() < 0.02:
            self.speed[sender, to] = self.random.choice((1.0, 0.02))
        self.members[to].hear(queue[0][0], sender, queue.popleft()[1])
        return True

    def run(self, steps: int, changes: tuple[str, ...]) -> None:
        for _ in range(steps):
            self.step(changes)
        self.answers = 0.0
        while self.deliver_one():
            pass

    def faults(self) -> list[str]:
        """Violations, what is stuck, what is lost."""
        found = list(self.oracle.faults)
        for member in self.here():
            group = member.party.group
            if group.held:
                found.append(f"stuck: {group.held} messages at {member.number}")
            for tag in set(member.raw) - set(self.oracle.got[member.number]):
                source = int(tag.split()[0])
                excused = source in self.crashed or (source, member.number) in self.hasty
                if not excused and tag not in member.before:
                    found.append(f"lost: {tag!r} at {member.number}")
        return found

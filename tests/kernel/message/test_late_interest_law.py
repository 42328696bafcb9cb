"""Delay Subscription Evaluation (10.53) for messages in time stamp order, by law: random federates subscribe and unsubscribe.

heard       only while subscribed, each message once, in order between two flushes
not heard   after a grant, a message up to that time was heard, unless the federate was not subscribed at some moment since
            it asked; then it is never heard again
next        who asks for the next message is granted the time of one that it has heard, or what it asked for
"""

from __future__ import annotations

from random import Random

import pytest

from support.small_fom import fom
from support.timed_federation import EVENT, REQUESTS, Timed

FEDERATES = 3
MODEL = fom("delaySubscriptionEvaluation")


class One:
    def __init__(self) -> None:
        self.time = 0
        self.asked = ("", 0)
        self.subscribed = True
        self.always = True  # subscribed all the time since it asked
        self.heard: list[bytes] = []
        self.just: list[int] = []
        self.over: set[bytes] = set()  # what may not be heard any more


class Law:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.f = Timed(FEDERATES, model=MODEL)
        self.f.all_timed(1)
        self.ones = [One() for _ in range(FEDERATES)]
        self.sent: dict[bytes, tuple[int, int]] = {}  # sender, time
        self.event = self.f.interaction(EVENT)

    def step(self) -> None:
        i = self.random.randrange(FEDERATES)
        one = self.ones[i]
        choice = self.random.random()
        if choice < 0.3:
            self.turn_over(i)
        elif one.asked[0]:
            return
        elif choice < 0.6:
            tag = b"%d" % len(self.sent)
            time = one.time + 1 + self.random.choice((0, 0, 1, 3))
            self.sent[tag] = (i, time)
            self.f.stamp(i, time, tag)
        else:
            one.asked = (self.random.choice(list(REQUESTS)), one.time + self.random.choice((0, 1, 2, 5)))
            one.always, one.just = one.subscribed, []
            self.f.ask(i, *one.asked)
        self.listen()

    def turn_over(self, i: int) -> None:
        one, rti = self.ones[i], self.f.rti[i]
        one.subscribed = not one.subscribed
        one.always = one.always and one.subscribed
        (rti.subscribe_interaction_class if one.subscribed else rti.unsubscribe_interaction_class)(self.event)

    def listen(self) -> None:
        for i, one in enumerate(self.ones):
            for told in self.f.told(i):
                if isinstance(told, tuple) and isinstance(told[0], bytes):
                    tag, time, order = told
                    assert one.subscribed
                    assert order == "TIMESTAMP"
                    assert tag not in one.heard
                    assert tag not in one.over
                    one.heard.append(tag)
                    one.just.append(time)
                else:
                    self.granted(i, one, told if isinstance(told, int) else told[1])

    def granted(self, i: int, one: One, time: int) -> None:
        kind, asked = one.asked
        for tag, (sender, stamp) in self.sent.items():
            due = kind == "FQR" or stamp <= time  # at one node, all that were sent are there
            if sender != i and due and tag not in one.heard:
                assert not one.always or tag in one.over, f"{tag!r} at {stamp} is missing at {time}"
                one.over.add(tag)
        if kind in ("NMR", "NMRA"):
            assert time == asked or time in one.just
        one.time, one.asked = time, ("", 0)


@pytest.mark.parametrize("seed", range(25))
def test_who_gets_a_message_is_found_when_its_time_comes(seed: int) -> None:
    law = Law(seed)
    for _ in range(250):
        law.step()
    assert any(one.over for one in law.ones)
    assert any(one.heard for one in law.ones)

"""Total order by way of a sequencer, and causal order as a stage (S0-1)."""

from __future__ import annotations

import heapq
from random import Random
from typing import Any

import pytest

from ordering.orders import CausalOrder, Sequenced, Sequencer
from weft.model.errors import OrderingError
from weft.ordering import Mses, TaggedMessage


def test_causal_order_releases_each_message_once_and_none_that_is_filtered() -> None:
    order, sender = CausalOrder(Mses(1, 2)), Mses(0, 2)
    messages = [TaggedMessage(number, sender.send([1]), filtered=number % 3 == 0) for number in range(10)]
    Random(1).shuffle(messages)
    released = [one for message in messages for one in order.admit(message)]
    assert sorted(released, key=id) == sorted((one for one in messages if not one.filtered), key=id)


class Home:
    """Federates that send some messages straight and some by way of the sequencer, with delays that keep no order."""

    def __init__(self, seed: int, sequenced: bool = True) -> None:
        self.random = Random(seed)
        self.sequenced = sequenced
        self.size = self.random.randint(2, 6)
        self.orders = [CausalOrder(Mses(number, self.size + 1)) for number in range(self.size)]
        self.sequencer = Sequencer(Mses(self.size, self.size + 1))
        self.queue: list[tuple[float, int, int, TaggedMessage]] = []
        self.now = 0.0
        self.planned = 0
        self.total: list[bool] = []
        self.past: list[int] = []
        self.addressed = [0] * self.size
        self.seen = [0] * self.size  # the causal past of each
        self.got: list[list[int]] = [[] for _ in range(self.size)]
        self.faults: list[str] = []

    def run(self) -> list[str]:
        for _ in range(40):
            self._speak(self.random.randrange(self.size))
            self._arrive(2)
        self._arrive(len(self.queue) + 10_000)
        for one, addressed in enumerate(self.addressed):
            if addressed.bit_count() != len(self.got[one]):
                self.faults.append("stuck")
        self._compare()
        return self.faults

    def _transmit(self, to: list[int], message: TaggedMessage) -> None:
        for one in to:
            self.planned += 1
            arrival = self.now + min(self.random.paretovariate(1.1), 100)
            heapq.heappush(self.queue, (arrival, self.planned, one, message))

    def _speak(self, source: int) -> None:
        others = [one for one in range(self.size) if one != source]
        wanted = sorted(self.random.sample(others, self.random.randint(1, len(others))))
        name, total = len(self.past), self.random.random() < 0.5
        self.past.append(self.seen[source])
        self.total.append(total)
        self.seen[source] |= 1 << name
        for one in wanted:
            self.addressed[one] |= 1 << name
        if total and self.sequenced:
            tag = self.orders[source].stamp([self.size])
            self._transmit([self.size], TaggedMessage(Sequenced(wanted, name), tag))
        else:
            self._transmit(wanted, TaggedMessage(name, self.orders[source].stamp(wanted)))

    def _arrive(self, count: int) -> None:
        while self.queue and count:
            count -= 1
            self.now, _, to, message = heapq.heappop(self.queue)
            if to == self.size:
                for one in self.sequencer.admit(message):
                    assert one.tag is not None
                    self._transmit(one.tag.destinations, one)
            else:
                for one in self.orders[to].admit(message):
                    self._deliver(to, one.payload)

    def _deliver(self, to: int, name: Any) -> None:
        """Before a total message come all its causes; before a causal one its causal causes."""
        delivered = sum(1 << one for one in self.got[to])
        missing = self.past[name] & self.addressed[to] & ~delivered
        if not self.total[name]:
            missing &= sum(1 << one for one, total in enumerate(self.total) if not total)
        if missing:
            self.faults.append("unsafe")
        self.got[to].append(name)
        self.seen[to] |= self.past[name] | 1 << name
        if len(self.past) < 120 and self.random.random() < 0.4:
            self._speak(to)

    def _compare(self) -> None:
        """Any two agree on the order of the total messages that both got."""
        totals = [[name for name in got if self.total[name]] for got in self.got]
        for one in totals:
            for other in totals:
                if [name for name in one if name in other] != [name for name in other if name in one]:
                    self.faults.append("not the same order")


def test_total_order_is_the_same_for_all_and_causal() -> None:
    assert [fault for seed in range(60) for fault in Home(seed).run()] == []


def test_causal_order_alone_is_not_total() -> None:
    """The check above can fail."""
    assert {fault for seed in range(10) for fault in Home(seed, sequenced=False).run()} == {
        "not the same order"
    }


@pytest.mark.soak
def test_total_order_in_thousands_of_runs() -> None:
    assert [fault for seed in range(3000) for fault in Home(seed).run()] == []


def test_the_sequencer_leaves_out_who_is_gone() -> None:
    """And passes on what a crashed process had sent."""
    sender, other, home = Mses(0, 4), Mses(1, 4), Sequencer(Mses(3, 4))
    home.process.resigned(2)
    lost = other.send([3])
    first = home.admit(TaggedMessage(Sequenced([1, 2], "first"), sender.send([3])))
    assert [one.tag.destinations for one in first if one.tag] == [[1]]
    assert home.admit(TaggedMessage(Sequenced([0], "second"), other.send([3]))) == []
    assert lost.number() == 1
    passed = home.crashed([1])
    assert [(one.payload, one.tag.view) for one in passed if one.tag] == [("second", 1)]
    sender.crashed([1])
    assert home.admit(TaggedMessage(Sequenced([1, 2], "to nobody"), sender.send([3]))) == []


def test_the_sequencer_has_to_know_whom_a_message_is_for() -> None:
    with pytest.raises(OrderingError, match="does not say whom it is for"):
        Sequencer(Mses(1, 2)).admit(TaggedMessage("bare", Mses(0, 2).send([1])))

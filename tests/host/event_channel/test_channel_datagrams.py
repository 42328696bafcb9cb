"""Best-effort events between channels: datagrams beside the reliable links, with their losses counted and told (S3-13, S3-21)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channel.test_gateways import TOPOLOGIES, A, B
from host.event_channel.test_channel_process import Ear, Mouth, opened
from host.in_process.test_own_node import file
from support.joined_event_channels import NAME, FabricFederation
from support.server_in_thread import WAIT, eventually
from weft.channel import Event, EventChannel, LocalLinks, on
from weft.host.carrier import ServiceClass
from weft.host.event_channel.datagrams import DatagramCount
from weft.host.in_process.event_channel import ProcessChannel
from weft.host.links.links import Links
from weft.host.simulated.fabric import SimulatedCarrier

__all__ = ["file"]  # a fixture


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 40)), max_size=150))
def test_counts_are_those_of_a_list(fates: list[tuple[bool, bool, int]]) -> None:
    """S3-21: each event lost or not, repeated or not, and late by some places: each is new once, and what is missing below the
    highest number is what has not come."""
    under_way = [(number + late, number) for number, (lost, _, late) in enumerate(fates, 1) if not lost]
    under_way += [
        (number + late + 3, number)
        for number, (lost, twice, late) in enumerate(fates, 1)
        if twice and not lost
    ]
    count = DatagramCount()
    had: set[int] = set()
    for _, number in sorted(under_way):
        assert count.is_new(number) == (number not in had)
        had.add(number)
        assert count.lost == max(had) - len(had)
        assert count.gone <= count.lost


def test_a_long_gap_is_counted_and_not_remembered() -> None:
    count = DatagramCount()
    assert count.is_new(1)
    assert count.is_new(10**9)
    assert count.lost == 10**9 - 2
    assert not count.is_new(2)
    assert len(count._missing) <= 64


class Sent:
    """How much each class of service carried."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.by: dict[ServiceClass, int] = dict.fromkeys(ServiceClass, 0)
        send = SimulatedCarrier.send

        def counted(
            carrier: SimulatedCarrier, node: str, port: Any, kind: ServiceClass, payload: bytes
        ) -> bool:
            self.by[kind] += 1
            return send(carrier, node, port, kind, payload)

        monkeypatch.setattr(SimulatedCarrier, "send", counted)


@pytest.mark.parametrize("name", TOPOLOGIES)
@pytest.mark.parametrize("seed", range(2))
def test_best_effort_events_may_be_lost_and_reliable_ones_never(
    name: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S3-13: over links that lose a fifth of what they carry, in any topology; nobody gets anything twice."""
    federation = FabricFederation(5, TOPOLOGIES[name], seed=seed)
    for place in range(5):
        federation.consume(place, [(0, A), (0, B)])
    federation.settle()
    sent = Sent(monkeypatch)
    quick = federation.channels[0].supply((1, A), name="quick", best_effort=True)
    sure = federation.channels[0].supply((1, B), name="sure")
    count = 120
    for number in range(count):
        quick.push(Event(A, 1, ("quick", number)), federation.network.clock.now)
        sure.push(Event(B, 1, ("sure", number)), federation.network.clock.now)
        if number == 0:
            assert sent.by[ServiceClass.BEST_EFFORT] == sent.by[ServiceClass.RELIABLE] > 0
        federation.network.run_until(lambda: False, federation.network.clock.now + 0.01)
    federation.settle()
    everything: list[tuple[int, list[Any]]] = [
        (place, list(got)) for place, _, _, got in federation.consumers
    ]
    for place, got in everything:
        assert len(set(got)) == len(got)
        assert [one for one in got if one[0] == "sure"] == [("sure", number) for number in range(count)]
        fast = [one for one in got if one[0] == "quick"]
        assert set(fast) <= {("quick", number) for number in range(count)}
        assert place != 0 or len(fast) == count
    assert sum(len(got) for _, got in everything) < 5 * 2 * count


def test_losses_are_counted_and_told() -> None:
    """S3-21: at the node where they did not come; what arrived and what is missing are what was sent up to the last."""
    federation = FabricFederation(2, [(1, 0)], seed=3)
    federation.consume(1, [(0, A)])
    federation.settle()
    quick = federation.channels[0].supply((1, A), best_effort=True)
    for number in range(300):
        quick.push(Event(A, 1, number), federation.network.clock.now)
        federation.network.run_until(lambda: False, federation.network.clock.now + 0.01)
    federation.settle()
    ((_, _, _, got),) = federation.consumers
    side = federation.nodes["c1"].joined[NAME].sides["c0"]
    assert side.lost == max(got) + 1 - len(got) > 0
    reports = [
        one for one in federation.reports["c1"] if "best-effort events from c0 were lost on the way" in one
    ]
    assert 1 <= len(reports) < 10


def test_counting_begins_anew_with_the_link() -> None:
    """S3-13: a node that was cut off, and one that was started again, are not charged with what was sent meanwhile."""
    federation = FabricFederation(2, [(1, 0)], seed=5)
    federation.consume(1, [(0, A)])
    federation.settle()
    quick = federation.channels[0].supply((1, A), best_effort=True)
    for _ in range(50):
        quick.push(Event(A, 1), federation.network.clock.now)
    federation.settle()
    before = federation.nodes["c1"].joined[NAME].sides["c0"].lost
    federation.cut((1, 0))
    for _ in range(50):
        quick.push(Event(A, 1), federation.network.clock.now)
    federation.join((1, 0))
    federation.settle()
    for _ in range(3):
        quick.push(Event(A, 1), federation.network.clock.now)
    federation.settle()
    assert federation.nodes["c1"].joined[NAME].sides["c0"].lost <= before + 3


def test_channels_of_one_process_lose_nothing() -> None:
    """S3-13: LocalLinks have no datagrams."""
    one, other = EventChannel("one"), EventChannel("other")
    links = LocalLinks()
    links.join(one, other, 0.0)
    got: list[Any] = []
    other.consume(lambda events: got.extend(event.payload for event in events), on(A), now=0.0)
    links.deliver(0.0)
    supplier = one.supply((1, A), best_effort=True)
    for number in range(5):
        supplier.push(Event(A, 1, number), now=0.0)
    one.run_pending()
    links.deliver(0.0)
    other.run_pending()
    assert got == list(range(5))


def test_over_real_datagrams(file: Path) -> None:
    """S3-13: two nodes.  A datagram may be lost, so small ones are pushed until one has come."""
    _push_small_and_large(file)


@pytest.mark.plants
def test_what_fits_into_a_datagram_goes_by_one(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S3-13: and what does not takes the reliable way."""
    went: list[tuple[int, bool]] = []
    send = Links.send_datagram

    def noted(links: Any, link: Any, body: bytes) -> bool:
        went.append((len(body), send(links, link, body)))
        return went[-1][1]

    monkeypatch.setattr(Links, "send_datagram", noted)
    _push_small_and_large(file)
    assert [by_datagram for size, by_datagram in went if size > 100_000] == [False]
    small = [by_datagram for size, by_datagram in went if size < 1000]
    assert small
    assert all(small)


def _push_small_and_large(file: Path) -> None:
    with opened(file, "S1") as one, opened(file, "S2") as two:
        mouth, ear = Mouth(one), Ear(two)
        mouth.waits()
        supplier = one.supply((1, A), name="quick", best_effort=True)
        large = "x" * 100_000
        supplier.push(Event(A, 1, large))
        assert two.wait(WAIT, until=lambda: large in ear.got)
        assert eventually(lambda: _pushed(supplier, two, ear))
        mouth.say("sure")
        assert two.wait(WAIT, until=lambda: "sure" in ear.got)


def _pushed(supplier: Any, two: ProcessChannel, ear: Ear) -> bool:
    supplier.push(Event(A, 1, "small"))
    return two.wait(1.0, until=lambda: "small" in ear.got)

"""A change of domains while messages are under way: kills at every step, against the brute-force checker (S1-20)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import pytest

from fabric.network import CLEAR, STORM, Checker, Host, Network, Weather
from fabric.topologies import FIGURE_2, some
from weft.fabric import Channel, Topology, plan
from weft.fabric.change import ChangeOver, carried_over, check_change
from weft.fabric.journal import Saved
from weft.model.errors import FabricError

RUNS = 120
LONG_STORM = replace(STORM, heals_at=500.0)  # also after the change
RUNNING, FINISHING, CHANGED = "running", "finishing", "changed"


class ChangingNetwork(Network):
    """Every host runs under the old domains, is started again with the new file at a time of its own, and finishes first.

    Packets of one epoch do not arrive in another: their links are not the same.
    """

    def __init__(
        self, old: Topology, new: Topology, seed: int, weather: Weather = CLEAR, change: Any = ChangeOver,
        at_once: bool = False, messages: int = 60,
    ) -> None:  # fmt: skip
        super().__init__(old, seed, weather, messages, several=0.3 if seed % 2 else 0.0, spread=300.0)
        self.old, self.new = old, new
        self.change = change
        self.epochs = [RUNNING] * len(self.hosts)
        self.knows: list[Any] = [None] * len(self.hosts)
        self.killed_in: dict[str, int] = dict.fromkeys((RUNNING, FINISHING, CHANGED), 0)
        self.unacknowledged = self.inboxes = self.sent_after = (
            0  # what was there at the change, and was sent after it
        )
        together = self.random.uniform(20, 120)
        for host in self.hosts:
            when = together if at_once else self.random.uniform(10, 140)
            self._after(when, partial(self._give_new_file, host))
        self._after(1.0, self._tell_all)

    # Epochs

    def _give_new_file(self, host: Host) -> None:
        """It is stopped, at whatever it is, and started with the new file."""
        self.epochs[host.number] = FINISHING
        self.unacknowledged += len(host.journal.out) + len(host.journal.waiting)
        if host.channel is not None:
            self._crash(host)

    def _start(self, host: Host) -> None:
        at = host.number
        if self.epochs[at] == CHANGED:
            host.channel = self.channel_class(self.new, at, host.journal)
        else:
            host.channel = self.channel_class(self.old, at, host.journal)
            self.knows[at] = self.change(self.old, at) if self.epochs[at] == FINISHING else None
        host.past = host.saved_past
        self._stimulus(host, lambda: [host.channel.reconnected(peer) for peer in self._near(host)])

    def _near(self, host: Host) -> list[int]:
        topology = self.new if self.epochs[host.number] == CHANGED else self.old
        return [topology.numbers[peer] for peer in topology.neighbours(topology.servers[host.number])]

    def _crash(self, host: Host) -> None:
        self.killed_in[self.epochs[host.number]] += 1
        super()._crash(host)

    def _speak(self, host: Host) -> None:
        if self.epochs[host.number] != FINISHING:
            self.sent_after += self.epochs[host.number] == CHANGED
            super()._speak(host)

    def _stimulus(self, host: Host, act: Callable[[], Any]) -> None:
        if host.channel is None:
            return
        if self.epochs[host.number] != FINISHING:
            super()._stimulus(host, act)
            return
        act()
        self._commit(host)  # nothing is handed over; what came is in the inbox
        self._look_whether_finished(host)

    def _look_whether_finished(self, host: Host) -> None:
        if host.channel is None or not self.knows[host.number].is_finished([host.channel]):
            return
        if self._stormy(self.weather.crash * 5):
            self._crash(host)  # before the transaction …
            return
        host.journal = carried_over(host.journal, self.old, self.new)
        self.inboxes += len(host.journal.inbox)
        self.epochs[host.number] = CHANGED
        if self._stormy(self.weather.crash * 5):
            self._crash(host)  # … and behind it
            return
        self._count(host)
        host.life += 1
        host.commit_planned = False
        host.staged.clear()
        self._start(host)

    # What hosts tell one another of it

    def _tell_all(self) -> None:
        for host in self.hosts:
            if host.channel is not None and self.epochs[host.number] == FINISHING:
                knows = self.knows[host.number]
                done = knows.done([host.channel])
                for peer in knows.neighbours:
                    self._carry(host.number, peer, partial(self._hear, host.number, done))
        if any(epoch != CHANGED for epoch in self.epochs):
            self._after(10.0, self._tell_all)

    def _hear(self, sender: int, done: list[int], host: Host) -> None:
        epoch = self.epochs[host.number]
        if epoch == FINISHING:
            self.knows[host.number].told(sender, done)
        elif epoch == CHANGED:
            self._carry(host.number, sender, partial(self._hear_left, host.number))

    def _hear_left(self, sender: int, host: Host) -> None:
        if self.epochs[host.number] == FINISHING:
            self.knows[host.number].left(sender)

    # Links

    def _retry(self) -> None:
        for host in self.hosts:
            self._stimulus(host, lambda: None)
            for peer in self._near(host):
                if host.channel is not None and host.channel.backlog(peer):
                    self._stimulus(host, partial(host.channel.reconnected, peer))
        if self._busy() or self.now < self.weather.heals_at:
            self._after(30.0, self._retry)

    def _carry(self, sender: int, receiver: int, act: Callable[[Host], Any]) -> None:
        """Packets and acknowledgements reach only who is in the same domains; what is said of the change reaches all."""
        if getattr(act, "func", None) in (self._hear, self._hear_left):
            super()._carry(sender, receiver, act)
            return
        changed = self.epochs[sender] == CHANGED

        def unless_other(host: Host) -> None:
            if (self.epochs[host.number] == CHANGED) == changed:
                act(host)

        super()._carry(sender, receiver, unless_other)

    def _finish(self) -> None:
        self.checker.finish()
        late = [self.old.servers[at] for at, epoch in enumerate(self.epochs) if epoch != CHANGED]
        if late:
            self.checker.faults.append(f"{', '.join(late)} did not change over")


def other(old: Topology, seed: int) -> Topology:
    """Other domains over the same servers, which stand in another order."""
    random = Random(seed)
    count = len(old.servers)
    shape = random.choice(("flat", "bus", "daisy", "tree"))
    made = plan(count, shape)
    names = list(old.servers)
    random.shuffle(names)
    called = dict(zip(made.servers, names, strict=True))
    domains = {name: tuple(called[one] for one in members) for name, members in made.domains.items()}
    return Topology(old.servers, domains)


def run(seed: int, weather: Weather, **others: Any) -> tuple[ChangingNetwork, Checker]:
    old = some(seed)
    network = ChangingNetwork(old, other(old, seed), seed, weather, at_once=seed % 3 == 0, **others)
    return network, network.run()


@pytest.mark.parametrize("share", range(4))
@pytest.mark.parametrize("weather", [CLEAR, LONG_STORM], ids=["clear", "storm"])
def test_nothing_is_lost_doubled_or_out_of_order_over_a_change(weather: Weather, share: int) -> None:
    """S1-20: any forest to any other, servers one by one or at once, killed at any step."""
    for seed in range(share, RUNS, 4):
        network, checker = run(seed, weather)
        assert not checker.faults, f"seed {seed}: {checker.faults[:5]}"
        assert checker.deliveries
        assert set(network.epochs) == {CHANGED}


def test_messages_are_under_way_at_the_change_and_servers_are_killed_at_every_step() -> None:
    """The test above would mean little otherwise."""
    killed = dict.fromkeys((RUNNING, FINISHING, CHANGED), 0)
    unacknowledged = inboxes = after = 0
    for seed in range(25):
        network, _ = run(seed, LONG_STORM)
        for epoch, count in network.killed_in.items():
            killed[epoch] += count
        unacknowledged += network.unacknowledged
        inboxes += network.inboxes
        after += network.sent_after
    assert all(count > 20 for count in killed.values()), killed
    assert min(unacknowledged, inboxes, after) > 50


class _NotHisOwnOut(ChangeOver):
    """Defect: done although what it has sent is not acknowledged."""

    def _is_sent(self, state: Any) -> bool:
        return True


class _NotTheOthers(ChangeOver):
    """Defect: done with a domain although something may still come to be passed on into it."""

    def done(self, channels: Collection[Channel]) -> list[int]:
        return [
            domain
            for domain in self._others
            if all(self._is_sent(channel.states[domain]) for channel in channels)
        ]


class _AtOnce(ChangeOver):
    """Defect: leaves when it has itself nothing left."""

    def is_finished(self, channels: Collection[Channel]) -> bool:
        return all(self._is_sent(state) for channel in channels for state in channel.states.values())


@pytest.mark.parametrize("defect", [_NotHisOwnOut, _NotTheOthers, _AtOnce])
def test_each_condition_is_needed(defect: type[ChangeOver]) -> None:
    """S1-20: with any of them left out, runs lose messages or never end, and the checker sees it."""

    def fails(seed: int) -> bool:
        try:
            return bool(run(seed, LONG_STORM, change=defect)[1].faults)
        except (FabricError, KeyError):
            return True  # a packet of domains that are no more

    assert any(fails(seed) for seed in range(60))


def test_what_it_waits_for_is_named() -> None:
    """Figure 2, step by step: a leaf is done at once, a router when those behind it are."""
    number = FIGURE_2.numbers
    leaf, router = ChangeOver(FIGURE_2, number["S5"]), ChangeOver(FIGURE_2, number["S4"])
    at_leaf, at_router = Channel(FIGURE_2, number["S5"]), Channel(FIGURE_2, number["S4"])
    of = {name: at for at, name in enumerate(FIGURE_2.domains)}
    assert leaf.done([at_leaf]) == [of["B"]]
    assert not leaf.is_finished([at_leaf])
    assert leaf.waited_for() == ["S4"]
    assert router.done([at_router]) == []
    router.told(number["S5"], [of["B"]])
    assert router.done([at_router]) == [of["E"]]
    assert router.waited_for() == ["S1"]
    router.left(number["S1"])
    assert router.done([at_router]) == [of["B"], of["E"]]
    assert router.is_finished([at_router])
    at_router.send([number["S5"]], b"late")
    assert not router.is_finished([at_router])
    router.left(number["S5"])
    assert router.is_finished([at_router])


def test_what_is_kept_and_what_is_refused() -> None:
    old = Topology(("a", "b", "c"), {"A": ("a", "b", "c")})
    new = Topology(("c", "a", "b"), {"X": ("c", "a"), "Y": ("a", "b")})
    saved = Saved(old.fingerprint)
    saved.clocks[0] = 7
    saved.inbox = {4: (0, b"of a"), 6: (2, b"of c")}
    kept = carried_over(saved, old, new)
    assert kept.inbox == {4: (1, b"of a"), 6: (0, b"of c")}
    assert (kept.fingerprint, kept.clocks) == (new.fingerprint, {})
    fewer = Topology(("a", "b"), {"A": ("a", "b")})
    with pytest.raises(FabricError, match="lacks c, still in domains of the old; first keep c"):
        check_change(old, fewer)
    alone = Topology(("a", "b", "c"), {"A": ("a", "b")})
    check_change(old, alone)
    check_change(alone, fewer)
    with pytest.raises(FabricError, match="messages of c are still to be reacted to"):
        carried_over(saved, alone, fewer)

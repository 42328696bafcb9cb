"""A tiny network of causal channels with faults, from a seed, and the brute-force checker of what it did.

Hosts drive real channels as the head of weft/fabric/channel.py says: stimuli, deliveries, commit, transmit and acknowledge.
Links delay (heavy-tailed, so they reorder), lose and repeat; links are cut and healed; hosts crash before a commit, after it but
before transmission, and in the middle of transmission, and start again from what they had committed.  At the end all heals.

The checker knows every message's causal past (a bit mask of message numbers) from the agents' own view, not from any clock.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

from weft.fabric.channel import Channel
from weft.fabric.journal import Saved
from weft.fabric.stamps import decode_packet, encode_packet
from weft.fabric.topology import Topology

RETRY = 30.0
CALM_RETRIES = 60  # after healing; whoever has not got through by then is stuck


@dataclass(frozen=True)
class Weather:
    """How bad the network is until it heals."""

    loss: float = 0.0
    repeat: float = 0.0
    crash: float = 0.0  # at each commit
    cuts: int = 0
    lazy: float = 0.0  # that a host commits later, with more than one stimulus
    heals_at: float = 150.0
    deaths: int = 0  # hosts that crash for good
    patience: float = 0.0  # so long after a neighbour cannot be reached it is given up; 0: never


CLEAR = Weather()
STORM = Weather(loss=0.15, repeat=0.1, crash=0.04, cuts=3, lazy=0.4)
LOSSES = Weather(loss=0.15, repeat=0.1, crash=0.03, cuts=5, lazy=0.4, deaths=2, patience=15.0)


class Outages:
    """Who was lost to whom, and when: what a message may be delivered without (see weft/fabric/channel.py).

    A message need not be waited for by a server whose neighbour, from which it was to come, was lost to it at some time since it
    was sent; nor by servers farther along its way, to which others are sent on without it.
    """

    def __init__(self, topology: Topology) -> None:
        self.now = 0
        self.sent_at: dict[int, int] = {}
        self.ended: dict[tuple[int, int], int] = {}  # (who, of whom): when it was last lost; inf while it is
        number = topology.numbers
        self.hops = {
            (number[one], number[other]): [
                (number[hop.sender], number[hop.receiver]) for hop in topology.route(one, other)
            ]
            for one in topology.servers
            for other in topology.next_hops(one)
        }

    def sent(self, message: int) -> None:
        self.now += 1
        self.sent_at[message] = self.now

    def told(self, lost: bool, who: int, of: int) -> None:
        self.now += 1
        if lost:
            self.ended[who, of] = 1 << 60
        elif (who, of) in self.ended:
            self.ended[who, of] = min(self.now, self.ended[who, of])

    def restarted(self, who: int) -> None:
        """It knows of nobody who is lost."""
        for one, of in list(self.ended):
            if one == who:
                self.told(False, one, of)

    def excused(self, origin: int, message: int, server: int) -> bool:
        return any(
            self.ended.get((receiver, sender), 0) > self.sent_at[message]
            for sender, receiver in self.hops.get((origin, server), ())
        )

    def must_arrive(self, alive: list[bool], origin: int, server: int) -> bool:
        """All on its way live in the end."""
        on_the_way = {server, origin, *(one for hop in self.hops.get((origin, server), ()) for one in hop)}
        return all(alive[one] for one in on_the_way)


class Checker:
    """Global causal order, exactly once and nothing stuck, by brute force over all messages."""

    def __init__(self, servers: int) -> None:
        self.past: dict[int, int] = {}
        self.origin: dict[int, int] = {}
        self.excused = 0  # messages that came before one of their causes because of a lost server
        self.addressed = [0] * servers
        self.delivered = [0] * servers
        self.deliveries = 0
        self.faults: list[str] = []

    def sent(self, message: int, destinations: Iterable[int], past: int, origin: int) -> None:
        self.past[message] = past
        self.origin[message] = origin
        for server in destinations:
            self.addressed[server] |= 1 << message

    def got(self, server: int, message: int, excused: Callable[[int, int, int], bool] | None = None) -> None:
        """`excused`: need a message of that origin, to that server, not be waited for?  Those of one origin always must."""
        self.deliveries += 1
        if self.delivered[server] >> message & 1:
            self.faults.append(f"{server} got {message} twice")
        missing = self.past[message] & self.addressed[server] & ~self.delivered[server]
        if missing and excused is not None:
            origin = self.origin[message]
            kept = [
                one
                for one in _bits(missing)
                if self.origin[one] == origin or not excused(self.origin[one], one, server)
            ]
            self.excused += len(kept) < missing.bit_count()
            missing = sum(1 << one for one in kept)
        if missing:
            self.faults.append(f"{server} got {message} before {missing.bit_length() - 1}, its cause")
        if not self.addressed[server] >> message & 1:
            self.faults.append(f"{server} got {message}, which is not for it")
        self.delivered[server] |= 1 << message

    def finish(self, must_arrive: Callable[[int, int], bool] = lambda message, server: True) -> None:
        for server, addressed in enumerate(self.addressed):
            left = [one for one in _bits(addressed & ~self.delivered[server]) if must_arrive(one, server)]
            if left:
                self.faults.append(f"{len(left)} messages are stuck on their way to {server}")


def _bits(mask: int) -> list[int]:
    return [at for at in range(mask.bit_length()) if mask >> at & 1]


class Host:
    """A server with an agent whose state is its causal past; `staged` is what the next commit makes true."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.channel: Any = None  # None while it is down
        self.journal = Saved()
        self.past = self.saved_past = 0
        self.staged: list[Callable[[], None]] = []
        self.dead = False
        self.life = 0  # counts restarts: what was planned in an earlier life is void
        self.commit_planned = False


class Network:
    def __init__(
        self,
        topology: Topology,
        seed: int,
        weather: Weather = CLEAR,
        messages: int = 60,
        several: float = 0.0,  # the share of messages with several destinations
        reply: float = 0.7,
        channel_class: Any = Channel,
        spread: float = 60.0,  # the time over which the first messages are sent
    ) -> None:
        self.topology = topology
        self.random = Random(seed)
        self.weather = weather
        self.left = messages
        self.several = several
        self.reply = reply
        self.spread = spread
        self.channel_class = channel_class
        self.hosts = [Host(number) for number in range(len(topology.servers))]
        self.checker = Checker(len(self.hosts))
        self.outages = Outages(topology)
        self.away: dict[tuple[int, int], float] = {}  # who does not reach which neighbour, and since when
        self.given_up: set[tuple[int, int]] = set()
        self.unwaited = 0
        self.cut: set[frozenset[int]] = set()
        self.pasts: dict[int, int] = {}  # the causal past of every message ever sent, committed or not
        self.now = 0.0
        self.queue: list[tuple[float, int, Callable[[], None]]] = []
        self.planned = self.next_message = self.restarts = 0
        self.entries = self.stamps = 0
        self.neighbours = [
            [topology.numbers[peer] for peer in topology.neighbours(name)] for name in topology.servers
        ]

    # The run

    def run(self) -> Checker:
        for host in self.hosts:
            self._start(host)
        for _ in range(max(1, self.left // 3)):
            host = self.random.choice(self.hosts)
            self._after(
                self.random.uniform(0, self.spread),
                partial(self._stimulus, host, partial(self._speak, host)),
            )
        for _ in range(self.weather.cuts):
            self._after(self.random.uniform(0, 90), self._cut)
        for _ in range(self.weather.deaths):
            self._after(self.random.uniform(0, 90), self._die)
        if self.weather.patience:
            self._after(1.0, self._look)
        self._after(RETRY, self._retry)
        calm = 0
        while self.queue and calm < CALM_RETRIES:
            self.now, _, action = heapq.heappop(self.queue)
            if self.now > self.weather.heals_at:
                self.cut.clear()
                calm = int((self.now - self.weather.heals_at) / RETRY)
            action()
        for host in self.hosts:
            self._count(host)
        self._finish()
        return self.checker

    def _finish(self) -> None:
        alive = [not host.dead for host in self.hosts]
        self.checker.finish(
            lambda message, server: self.outages.must_arrive(alive, self.checker.origin[message], server)
        )
        left = sum(host.channel.waiting() for host in self.hosts if host.channel is not None)
        if left:
            self.checker.faults.append(f"{left} packets wait for what will not come")

    def _stormy(self, chance: float) -> bool:
        return chance > 0 and self.now < self.weather.heals_at and self.random.random() < chance

    def _after(self, delay: float, action: Callable[[], None]) -> None:
        self.planned += 1
        heapq.heappush(self.queue, (self.now + delay, self.planned, action))

    def _cut(self) -> None:
        one = self.random.randrange(len(self.hosts))
        if self.neighbours[one]:
            link = frozenset((one, self.random.choice(self.neighbours[one])))
            self.cut.add(link)
            self._after(self.random.uniform(10, 60), lambda: self.cut.discard(link))

    def _die(self) -> None:
        host = self.random.choice(self.hosts)
        if sum(not one.dead for one in self.hosts) > 2:
            host.dead = True
            if host.channel is not None:
                self._crash(host)

    def _look(self) -> None:
        """Neighbours that a host has not reached for too long are lost to it; those that it reaches are found."""
        for host in self.hosts:
            for peer in self.neighbours[host.number] if host.channel is not None else ():
                key = (host.number, peer)
                if self.hosts[peer].channel is not None and frozenset(key) not in self.cut:
                    self.away.pop(key, None)
                    if key in self.given_up:
                        self.given_up.discard(key)
                        self._tell(host, False, peer)
                elif self.now - self.away.setdefault(key, self.now) >= self.weather.patience:
                    if key not in self.given_up:
                        self.given_up.add(key)
                        self._tell(host, True, peer)
        if self._busy() or self.now < self.weather.heals_at + 100 + self.weather.patience:
            self._after(1.0, self._look)

    def _tell(self, host: Host, lost: bool, peer: int) -> None:
        """That a server is lost counts from the moment that its host hears of it."""
        self.outages.told(lost, host.number, peer)
        channel = host.channel
        self._stimulus(host, partial(channel.lost if lost else channel.found, peer))

    def _retry(self) -> None:
        """Hosts send again what is not acknowledged; ends when nobody has anything left."""
        for host in self.hosts:
            self._stimulus(host, lambda: None)
            for peer in self.neighbours[host.number]:
                if host.channel is not None and host.channel.backlog(peer) and not self.hosts[peer].dead:
                    self._stimulus(host, partial(host.channel.reconnected, peer))
        if self._busy() or self.now < self.weather.heals_at:
            self._after(RETRY, self._retry)

    def _busy(self) -> bool:
        """Is there anything to happen but that neighbours are looked at?"""
        return len(self.queue) > (self.weather.patience > 0)

    # Hosts

    def _start(self, host: Host) -> None:
        host.channel = self.channel_class(self.topology, host.number, host.journal)
        host.past = host.saved_past
        self._stimulus(
            host, lambda: [host.channel.reconnected(peer) for peer in self.neighbours[host.number]]
        )

    def _stimulus(self, host: Host, act: Callable[[], Any]) -> None:
        if host.channel is None:
            return
        act()
        if not self._stormy(self.weather.lazy / 2):  # else they stay in the inbox, perhaps over a crash
            while deliveries := host.channel.take_deliveries():  # an agent may write to itself
                for delivery in deliveries:
                    self._react(host, delivery)
        if not self._stormy(self.weather.lazy):
            self._commit(host)
        elif not host.commit_planned:
            host.commit_planned = True
            life = host.life
            self._after(self.random.uniform(0, 5), lambda: self._commit(host) if host.life == life else None)

    def _react(self, host: Host, delivery: Any) -> None:
        message = int.from_bytes(delivery.payload, "big")
        host.staged.append(lambda: self.checker.got(host.number, message, self.outages.excused))
        host.past |= self.pasts[message]
        host.past |= 1 << message
        host.channel.consumed(delivery.number)
        if self.random.random() < self.reply:
            self._speak(host)

    def _speak(self, host: Host) -> None:
        if self.left <= 0:
            return
        self.left -= 1
        message, self.next_message = self.next_message, self.next_message + 1
        count = self.random.randint(2, 4) if self.random.random() < self.several else 1
        destinations = sorted({self.random.randrange(len(self.hosts)) for _ in range(count)})
        past = host.past
        self.pasts[message] = past
        self.outages.sent(message)
        host.staged.append(lambda: self.checker.sent(message, destinations, past, host.number))
        host.past |= 1 << message
        host.channel.send(destinations, message.to_bytes(4, "big"))

    def _commit(self, host: Host) -> None:
        host.commit_planned = False
        if self._stormy(self.weather.crash):
            self._crash(host)
            return
        batch = host.channel.take_batch()
        host.journal.apply(batch.changes)
        host.saved_past = host.past
        for happened in host.staged:
            happened()
        host.staged.clear()
        crash = self._stormy(self.weather.crash)
        for one in batch.transmit:
            if crash and self.random.random() < 0.5:
                break
            self._transmit(host.number, one.peer, encode_packet(one.packet))
        if crash:
            self._crash(host)
            return
        for ack in batch.acknowledge:
            self._acknowledge(host.number, ack.peer, ack.domain, ack.number)

    def _crash(self, host: Host) -> None:
        self._count(host)
        self.restarts += 1
        host.channel = None
        host.life += 1
        host.commit_planned = False
        host.staged.clear()
        self._forget(host)
        if not host.dead:
            self._after(self.random.uniform(1, 40), lambda: None if host.dead else self._start(host))

    def _forget(self, host: Host) -> None:
        """Its next process does not know whom it had given up."""
        for peer in self.neighbours[host.number]:
            self.away.pop((host.number, peer), None)
            self.given_up.discard((host.number, peer))
        self.outages.restarted(host.number)

    def _count(self, host: Host) -> None:
        if host.channel is not None:
            self.unwaited += host.channel.counts.unwaited
            self.entries += host.channel.counts.stamp_entries
            self.stamps += host.channel.counts.stamped

    # Links

    def _transmit(self, sender: int, receiver: int, data: bytes) -> None:
        self._carry(sender, receiver, lambda host: host.channel.receive(sender, decode_packet(data)))

    def _acknowledge(self, sender: int, receiver: int, domain: int, number: int) -> None:
        self._carry(sender, receiver, lambda host: host.channel.acknowledged(sender, domain, number))

    def _carry(self, sender: int, receiver: int, act: Callable[[Host], Any]) -> None:
        copies = 2 if self._stormy(self.weather.repeat) else 1
        for _ in range(copies):
            if self._stormy(self.weather.loss) or frozenset((sender, receiver)) in self.cut:
                continue
            delay = 0.5 + self.random.paretovariate(1.1)
            host = self.hosts[receiver]
            self._after(min(delay, 60.0), partial(self._stimulus, host, partial(act, host)))

"""A tiny network of causal processes, from a seed: delays with heavy tails, repeats, and members that come and go.

Every step is checked against the oracle (safe, exact, smallest rows; live at the end) and against the plain algorithm.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

from ordering.membership import forwards
from ordering.oracle import Oracle, bits
from ordering.reference import Plain, PlainTag
from weft.ordering import (
    Mses,
    Tag,
    TaggedMessage,
    decode_tag,
    encode_tag,
    encode_tags,
)
from weft.ordering.text_tags import encode_text, read_text

PATTERNS = ("unicast", "groups of three", "publish and subscribe", "broadcast", "mixed")


class Site:
    """A process with the plain one beside it."""

    def __init__(self, number: int, process: Any, known: set[int]) -> None:
        self.number = number
        self.process = process
        self.plain = Plain(number)
        self.known = known  # whom it may address
        self.arrived: set[int] = set()
        self.here = True


class Network:
    def __init__(
        self,
        seed: int,
        size: int = 0,
        pattern: str = "",
        messages: int = 60,
        changes: int = 0,  # joins, resignations and crashes
        mses: Any = Mses,
        plain: bool = True,
        rows: bool = True,  # compare them with the smallest
        delay: float = 1.0,
        tail: float = 1.1,
        reply: float = 0.4,
        wire: bool = True,  # tags are written and read
    ) -> None:
        self.random = Random(seed)
        self.size = size or self.random.randint(2, 8)
        self.pattern = pattern or PATTERNS[seed % len(PATTERNS)]
        self.messages, self.changes, self.mses = messages, changes, mses
        self.check_plain, self.check_rows = plain, rows
        self.delay, self.tail, self.reply, self.wire = delay, tail, reply, wire
        self.oracle = Oracle()
        self.tags: list[tuple[Tag, PlainTag]] = []
        self.sites: list[Site] = []
        self.under_way: dict[int, tuple[int, int]] = {}  # token: to whom, message
        self.queue: list[tuple[float, int, Callable[[], None]]] = []
        self.now = 0.0
        self.planned = self.view = 0
        self.quiet = False  # nobody sends while a view ends
        self.topics = [self._subscribers() for _ in range(self.size)]
        self.needless = self.not_smallest = self.repeats = 0

    @property
    def faults(self) -> list[str]:
        return self.oracle.faults

    def run(self) -> Network:
        for _ in range(self.size):
            self._join()
        for _ in range(self.messages):
            self._after(self.random.uniform(0, self.messages / self.size), self._speak_somewhere)
        for _ in range(self.changes):
            change = self.random.choice([self._join, self._resign, self._crash, self._crash])
            self._after(self.random.uniform(0, self.messages / self.size), change)
        while self.queue:
            self.now, _, action = heapq.heappop(self.queue)
            action()
        for site in self._present():
            left = self.oracle.addressed[site.number] & ~self.oracle.delivered[site.number]
            if left or site.process.held:
                self.faults.append(f"stuck: {bits(left)} on the way to {site.number}")
        return self

    def _after(self, delay: float, action: Callable[[], None]) -> None:
        self.planned += 1
        heapq.heappush(self.queue, (self.now + delay, self.planned, action))

    def _present(self) -> list[Site]:
        return [site for site in self.sites if site.here]

    # Sending

    def _speak_somewhere(self) -> None:
        present = self._present()
        if present:
            self._speak(self.random.choice(present))

    def _subscribers(self) -> list[int]:
        return self.random.sample(range(self.size), min(self.size, self.random.randint(2, 6)))

    def _choose(self, site: Site) -> list[int]:
        pattern = self.pattern if self.pattern != "mixed" else self.random.choice(PATTERNS[:4])
        others = site.known - {site.number}
        if pattern == "broadcast" or not others:
            return sorted(others)
        if pattern == "unicast":
            return [self.random.choice(sorted(others))]
        if pattern == "groups of three":
            return sorted(self.random.sample(sorted(others), min(3, len(others))))
        late = {number for number in others if number >= self.size and self.random.random() < 0.4}
        return sorted(late | set(self.random.choice(self.topics)) & others)

    def _speak(self, site: Site) -> None:
        destinations = self._choose(site)
        if destinations and not self.quiet:
            name = self._send(site, destinations)
            for to in destinations:
                self._transmit(to, name, self.delay * min(self.random.paretovariate(self.tail), 200.0))
                if self.random.random() < 0.03:
                    self._transmit(to, name, self.delay * self.random.uniform(1, 300))

    def _send(self, site: Site, destinations: list[int]) -> int:
        tag = site.process.send(destinations)
        self.tags.append((tag, site.plain.send(destinations)))
        name = self.oracle.sent(site.number, tag.number(), destinations, tag.view)
        self._check_state(site)
        return name

    def _transmit(self, to: int, name: int, delay: float) -> None:
        self.planned += 1
        token = self.planned
        self.under_way[token] = (to, name)
        self._after(delay, partial(self._arrive, token))

    # Receiving

    def _arrive(self, token: int) -> None:
        to, name = self.under_way.pop(token, (-1, 0))
        if to >= 0:
            self._receive(self.sites[to], name)

    def _on_the_wire(self, tag: Tag, to: int) -> Tag:
        """A tag as one recipient reads it, in one of the forms it may have been written in."""
        form = self.random.randrange(6) if self.wire else 0
        if form == 0:
            return tag
        if form == 5:
            groups = [[k] for k in tag.destinations]
            return decode_tag(encode_tags(tag, groups)[tag.destinations.index(to)])
        if form < 3:
            return decode_tag(encode_tag(tag, to if form == 1 else -1))
        return read_text(encode_text(tag, b"&", to if form == 3 else -1))[0]

    def _receive(self, site: Site, name: int) -> None:
        if not site.here:
            return
        tag, plain = self.tags[name]
        known = name in site.arrived
        site.arrived.add(name)
        self.repeats += known
        message = TaggedMessage(
            name, self._on_the_wire(tag, site.number), filtered=self.random.random() < 0.1
        )
        early = tag.view > site.process.view
        released = [one.payload for one in site.process.admit(message)]
        if self.check_plain and not early and self.oracle.source[name] not in site.plain.crashes:
            assert site.plain.admit(name, plain) == released
        self._got(site, released)
        if (
            not self.quiet
            and released
            and self.random.random() < self.reply
            and len(self.tags) < 2 * self.messages
        ):
            self._speak(site)

    def _got(self, site: Site, released: list[Any]) -> None:
        for name in released:
            self.oracle.got(site.number, name)
        self._check_state(site)
        for held in site.process.held.values():
            ending = site.process.view < self.view  # some wait for what is void
            if not ending and not self.oracle.missing(site.number, held.message.payload):
                self.needless += 1
                self.faults.append(f"needless: {held.message.payload} waits at {site.number} for nothing")

    def _check_state(self, site: Site) -> None:
        if not self.check_plain and not self.check_rows:
            return
        process = site.process
        rows = [set(zip(row[::2], row[1::2], strict=True)) for row in process.rows]
        if self.check_plain:
            assert list(process.time) == [site.plain.time[k] for k in range(len(process.time))]
            assert rows == [set(site.plain.rows[k]) for k in range(len(rows))]
        if self.check_rows and process.view == self.view:  # in between, what is void is still known
            for other in self._present():
                k = other.number
                if k < len(rows) and rows[k] != self.oracle.minimal_row(site.number, k, process.view):
                    self.not_smallest += 1

    # Members

    def _tell(self, process: int, news: Callable[[Site], None]) -> None:
        """The others hear of it, each at its own time."""
        for site in self.sites:
            if site.number != process:
                self._after(self.random.uniform(0, 3), partial(news, site))

    def _join(self) -> None:
        number = len(self.sites)
        known = {site.number for site in self._present()} | {number}
        self.oracle.joined(number)
        self.sites.append(Site(number, self.mses(number, number + 1, self.view), known))
        if number < self.size:
            for site in self.sites:
                self._heard_join(number, site)
        else:
            self._tell(number, partial(self._heard_join, number))

    def _heard_join(self, number: int, site: Site) -> None:
        site.process.joined(number)
        if self.sites[number].here:
            site.known.add(number)

    def _resign(self) -> None:
        present = self._present()
        if len(present) > 2:
            gone = self.random.choice(present)
            gone.here = False
            self._tell(gone.number, partial(self._heard_resign, gone.number))

    def _heard_resign(self, number: int, site: Site) -> None:
        site.known.discard(number)
        site.process.resigned(number)
        site.plain.resigned(number)

    def _crash(self) -> None:
        present = self._present()
        if len(present) > 2:
            gone = self.random.choice(present)
            gone.here = False
            self.quiet = True
            self._lose(gone.number)
            self._flush(gone.number)
            self._forward(gone.number)
            self.quiet = False
            self._end_view(gone.number)

    def _lose(self, crashed: int) -> None:
        """Of what it had under way most is lost, some still comes in time, and some too late."""
        for token, (_, name) in list(self.under_way.items()):
            if self.oracle.source[name] == crashed:
                chance = self.random.random()
                if chance < 0.6:
                    del self.under_way[token]
                elif chance < 0.8:
                    self._arrive(token)

    def _flush(self, crashed: int) -> None:
        tokens = [token for token, (_, name) in self.under_way.items() if self.oracle.source[name] != crashed]
        self.random.shuffle(tokens)
        for token in tokens:
            self._arrive(token)

    def _forward(self, crashed: int) -> None:
        ours = [
            n for n, s in enumerate(self.oracle.source) if s == crashed and self.oracle.views[n] == self.view
        ]
        named = {(crashed, self.oracle.numbers[name]): name for name in ours}
        holdings = {
            site.number: {
                key: self.tags[name][0].destinations for key, name in named.items() if name in site.arrived
            }
            for site in self._present()
        }
        for one in forwards(holdings, [crashed]):
            self._receive(self.sites[one.to], named[one.source, one.number])
        for key, name in named.items():
            if not any(key in held for held in holdings.values()):
                self.oracle.void(name)

    def _end_view(self, crashed: int) -> None:
        self.view += 1
        survivors = self._present()
        self.random.shuffle(survivors)
        for site in survivors:
            site.known.discard(crashed)
        for site in survivors:
            released = [one.payload for one in site.process.crashed([crashed])]
            old = [name for name in released if self.oracle.views[name] < self.view]
            assert not self.check_plain or set(old) == site.plain.crashed(crashed)
            for name in released[len(old) :]:
                site.plain.admit(name, self.tags[name][1])
            self._got(site, released)
            if self.random.random() < 0.5:
                self._speak_at_once(site, survivors)

    def _speak_at_once(self, site: Site, survivors: list[Site]) -> None:
        """Into the view that others may not have begun."""
        wanted = sorted(
            {other.number for other in survivors if self.random.random() < 0.5} & site.known - {site.number}
        )
        if wanted:
            name = self._send(site, wanted)
            for to in wanted:
                self._receive(self.sites[to], name)

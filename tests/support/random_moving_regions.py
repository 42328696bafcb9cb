"""Random timed federates whose regions change as of a logical time, and what each must hear: computed from definitions only.

A federate writes down what it says of its regions and subscriptions, with the time as of which it says it.  A message with time
stamp s is for it if, for one of its regions, the last of what was written with a time up to s (of equal times the last call)
overlaps where the message was sent.  Whatever the order of calls, it hears exactly those, each once, in the order of their times
and none of its past (`support.random_timed_federates` checks the latter).  Nothing of the RTI is used but what it returned
and called back.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from support.random_timed_federates import NAME, Run, Timed, check_order
from support.small_fom import DIMENSION, LANES
from support.timed_federation import EVENT, REQUESTS
from weft import OrderType
from weft.host import NodeHost
from weft.model.errors import InvalidLogicalTime
from weft.model.records import RangeBounds

Bounds = tuple[int, int]


def overlap(one: Bounds, other: Bounds) -> bool:
    return one[0] < other[1] and other[0] < one[1]


class Moving(Timed):
    """Two regions to listen in, which move and come and go, and two to send by, which move too."""

    run: MovingRun

    def join(self, fom: Any) -> None:
        self.rti.join_federation_execution(self.name, "test", NAME)
        self.event = self.rti.get_interaction_class_handle(EVENT)
        self.rti.publish_interaction_class(self.event)
        self.rti.change_interaction_order_type(self.event, OrderType.TIMESTAMP)
        self.factory = self.rti.get_time_factory()
        self.lane = self.rti.get_dimension_handle(DIMENSION)
        self.ears = [self._region((0, 1)) for _ in range(2)]
        self.mouths = [self._region((0, LANES)) for _ in range(2)]
        # (time, bounds) of each region, and (time, whether it is subscribed), in the order of the calls
        self.places: dict[Any, list[tuple[int, Bounds]]] = {r: [(-1, (0, 1))] for r in self.ears}
        self.places.update({r: [(-1, (0, LANES))] for r in self.mouths})
        self.wishes: dict[Any, list[tuple[int, bool]]] = {r: [(-1, False)] for r in self.ears}
        self.now: set[int] = (
            set()
        )  # times as of which it changed something while it was there, with zero lookahead
        self.joined = True

    def _region(self, bounds: Bounds) -> Any:
        made = self.rti.create_region({self.lane})
        self.rti.set_range_bounds(made, self.lane, RangeBounds(*bounds))
        self.rti.commit_region_modifications({made})
        return made

    # --- what it may do -----------------------------------------------------------------------------------------

    def act(self, random: Random) -> None:
        self.evoke()
        if not self.joined or self.waits:
            return
        if not self.regulating:
            self.regulate(random)
        elif not self.constrained:
            self.constrain(random)
        else:
            choices = [self.send] * 6 + [self.ask] * 4 + [self.move] * 3 + [self.listen] * 2
            if self.retractable:
                choices.append(self.retract)
            if random.random() < 0.1:
                choices = [self.relook]
            random.choice(choices)(random)
        self.evoke()

    def ask(self, random: Random) -> None:
        self.request(random.choice(self.run.services), self.time + random.choice((0, 1, 1, 2, 3, 8)))

    def _least(self) -> int:
        lookahead = int(self.rti.query_lookahead().value)
        return self.time + (lookahead or 1)  # with none, the time itself may be over

    def move(self, random: Random) -> None:
        """One or several regions, as of one time."""
        chosen = random.sample([*self.ears, *self.mouths], random.choice((1, 1, 2)))
        time = self._least() + random.choice((-1, 0, 0, 1, 2, 5, 9))
        bounds = {}
        for region in chosen:
            lower = random.randrange(LANES)
            bounds[region] = (lower, min(LANES, lower + random.choice((2, 5, 9))))
            self.rti.set_range_bounds(region, self.lane, RangeBounds(*bounds[region]))
        if self._as_of(time, lambda at: self.rti.commit_region_modifications(set(chosen), time=at)):
            for region in chosen:
                self.places[region].append((time, bounds[region]))

    def listen(self, random: Random) -> None:
        """Subscribe or unsubscribe."""
        region = random.choice(self.ears)
        time = self._least() + random.choice((-1, 0, 0, 1, 3, 7))
        begin = random.random() < 0.7
        call: Any = self.rti.unsubscribe_interaction_class_with_regions
        if begin:
            call = self.rti.subscribe_interaction_class_with_regions
        if self._as_of(time, lambda at: call(self.event, {region}, time=at)):
            self.wishes[region].append((time, begin))

    def _as_of(self, time: int, call: Callable[[Any], None]) -> bool:
        least = self._least()
        try:
            call(self.factory.make_time(max(0, time)))
        except InvalidLogicalTime:
            assert time < least
            return False
        if time == self.time:
            self.now.add(time)
        return True

    def send(self, random: Random) -> None:
        time = self._least() + random.choice((0, 0, 1, 2, 5, 9))
        self.sent += 1
        tag = f"{self.name}/{self.sent}/{self.run.era}".encode()
        at = self.factory.make_time(time)
        where: Bounds | None = None
        if random.random() < 0.85:
            mouth = random.choice(self.mouths)
            where = as_of(self.places[mouth], time)
            returned = self.rti.send_interaction_with_regions(self.event, {}, {mouth}, tag, at)
        else:
            returned = self.rti.send_interaction(self.event, {}, tag, at)
        assert returned is not None
        self.retractable[self.sent] = returned.handle
        self.run.sends[self.name, self.sent] = (time, where)
        self.history.append(("sent", time, self.sent, True))

    # --- what it must hear ----------------------------------------------------------------------------------------

    def wants(self, time: int, where: Bounds | None) -> bool:
        for region in self.ears:
            if as_of(self.wishes[region], time):
                place = as_of(self.places[region], time)
                if where is None or overlap(place, where):
                    return True
        return False


def as_of(written: list[tuple[int, Any]], time: int) -> Any:
    """The last that was written up to that time."""
    best = max(at for at, _ in written if at <= time)
    return [value for at, value in written if at == best][-1]


class MovingRun(Run):
    federate = Moving

    def __init__(
        self,
        seed: int,
        sites: list[NodeHost],
        fom: Any,
        late: int = 0,
        settle: Callable[[], None] = lambda: None,
        saves: bool = False,
        stays: bool = False,
        lossy: bool = False,
        flushes: bool = False,
    ) -> None:
        """Saves are not among what these do."""
        self.sends: dict[tuple[str, int], tuple[int, Bounds | None]] = {}
        self.services = [name for name in REQUESTS if flushes or name != "FQR"]
        super().__init__(seed, sites, fom, late, settle, False, stays, lossy)

    def step(self) -> None:
        one = self.random.choice(self.federates)
        if not one.joined and not one.history and self.random.random() < 0.1:
            one.join(self.fom)
        else:
            one.act(self.random)


def check(run: MovingRun) -> int:
    """Returns how many messages were heard."""
    total = 0
    for one in run.federates:
        assert isinstance(one, Moving)
        if not one.joined:
            continue
        heard = check_order(run.seed, one)
        total += len(heard)
        early = flushed(one)
        for key, (time, where) in run.sends.items():
            if key[0] == one.name or key in run.retracted:
                assert key[0] != one.name or key not in heard
            elif time <= one.time:
                wanted = one.constrained and one.wants(time, where)
                what = f"seed {run.seed}: {one.name}, {key} at {time} in {where}"
                assert key in heard or not wanted, f"{what} was lost"
                # Granted an "available" time, it may have heard some of that time before it changed something as of it.
                excused = key in early or time in one.now
                assert key not in heard or wanted or excused, f"{what} was not wanted"
    return total


def flushed(one: Timed) -> set[tuple[str, int]]:
    """What it had flushed out of its queue before it was certain."""
    found: set[tuple[str, int]] = set()
    flushing = False
    for entry in one.history:
        if entry[0] == "asks":
            flushing = entry[1] == "FQR"
        elif entry[0] == "heard" and flushing:
            found.add((entry[2], entry[3]))
    return found

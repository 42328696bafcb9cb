"""Random timed federates that declare as of a logical time, also what has no dimensions, and what each must hear.

As `support.random_moving_regions`, with an interaction class and one below it, and an object class, none of which has
dimensions; and the class that has, subscribed to without regions too.  A federate writes down what it says and as of
when.  What it must hear follows from that alone: an interaction at the nearest class that it had subscribed to as of the
time stamp, of an update those attributes.  In a federation whose declarations are synchronized (`plainly`) it leaves the time out
now and then, and the call counts as of its time plus lookahead.  What it publishes it says as of a time, too, and may send
exactly what it publishes as of the time stamp.
"""

from __future__ import annotations

from random import Random
from typing import Any

from support.random_moving_regions import Bounds, Moving, MovingRun, as_of, flushed
from support.random_timed_federates import check_order
from support.small_fom import LANES, fom
from support.timed_federation import REQUESTS
from weft import Source
from weft.host import NodeHost
from weft.model.errors import InteractionClassNotPublished, InvalidLogicalTime
from weft.model.records import RangeBounds

SIGNAL, FLARE, BEACON = "Signal", "Signal.Flare", "Beacon"
LIGHT, SOUND = "Light", "Sound"

_ATTRIBUTE = (
    "<attribute><name>{}</name><dataType>HLAASCIIstring</dataType><updateType>Conditional</updateType>"
    "<updateCondition>on change</updateCondition><ownership>DivestAcquire</ownership>"
    "<sharing>PublishSubscribe</sharing><transportation>HLAreliable</transportation><order>TimeStamp</order></attribute>"
)
_OBJECTS = (
    f"<objectClass><name>{BEACON}</name><sharing>PublishSubscribe</sharing>"
    f"{_ATTRIBUTE.format(LIGHT)}{_ATTRIBUTE.format(SOUND)}</objectClass>"
)
_HOW = (
    "<sharing>PublishSubscribe</sharing><transportation>HLAreliable</transportation><order>TimeStamp</order>"
)
_INTERACTIONS = (
    f"<interactionClass><name>Signal</name>{_HOW}"
    f"<interactionClass><name>Flare</name>{_HOW}</interactionClass></interactionClass>"
)


def plain_fom() -> Source:
    """The small object model, with classes that have no dimensions."""
    text = fom().data.decode()
    text = text.replace("</objectClass></objects>", f"{_OBJECTS}</objectClass></objects>")
    text = text.replace(
        "</interactionClass></interactions>", f"{_INTERACTIONS}</interactionClass></interactions>"
    )
    return Source("plain", text.encode())


class Declaring(Moving):
    run: DeclaringRun

    def join(self, fom: Any) -> None:
        super().join(fom)
        rti = self.rti
        self.signals = {name: rti.get_interaction_class_handle(name) for name in (SIGNAL, FLARE)}
        self.beacon = rti.get_object_class_handle(BEACON)
        self.lamps = {name: rti.get_attribute_handle(self.beacon, name) for name in (LIGHT, SOUND)}
        for signal in self.signals.values():
            rti.publish_interaction_class(signal)
        rti.publish_object_class_attributes(self.beacon, set(self.lamps.values()))
        self.mine = rti.register_object_instance(self.beacon)
        # (time, whether), in the order of the calls: of what it subscribes to without regions, and of what it publishes.
        names = (SIGNAL, FLARE, LIGHT, SOUND, "event")
        self.plain: dict[str, list[tuple[int, bool]]] = {name: [(-1, False)] for name in names}
        self.published: dict[str, list[tuple[int, bool]]] = {name: [(-1, True)] for name in (SIGNAL, FLARE)}
        self.got: dict[tuple[str, int], Any] = {}  # at which class, or which attributes

    def hear(self, method: str, arguments: tuple[Any, ...]) -> None:
        if method in ("receive_interaction", "reflect_attribute_values"):
            sender, number, _ = arguments[2].decode().split("/")
            if method == "reflect_attribute_values":
                known = {handle: name for name, handle in self.lamps.items()}
                values = frozenset(known[handle] for handle in arguments[1])
                before = self.got.get((sender, int(number)), frozenset())
                self.got[sender, int(number)] = before | values
                if before and not before & values and (sender, int(number)) in flushed(self):
                    # Some of it was flushed out before the rest was wanted: another message, as far as the order goes.
                    self.history.append(("heard", arguments[6].value, sender, int(number) + 0.5, True))
                    return
            else:
                name = self.rti.get_interaction_class_name(arguments[0])
                self.got[sender, int(number)] = name.removeprefix("HLAinteractionRoot.")
            method = "receive_interaction"  # it is written down alike
        super().hear(method, arguments)

    # --- what it may do -----------------------------------------------------------------------------------------

    def act(self, random: Random) -> None:
        if self.run.hasty and self.joined and self.waits in REQUESTS and random.random() < 0.5:
            self.hurry(random)
        elif self.joined and not self.waits and self.regulating and self.constrained:
            self.evoke()
            chance = random.random()
            if chance < 0.2:
                self.declare(random)
            elif chance < 0.4:
                self.signal(random)
            elif chance < 0.5 and self.run.publishes:
                self.publish(random)
            else:
                super().act(random)
            self.evoke()
        else:
            super().act(random)

    def hurry(self, random: Random) -> None:
        """Declare something while it asks for time."""
        signal = self.signals[random.choice((SIGNAL, FLARE))]
        lamps = {self.lamps[random.choice((LIGHT, SOUND))]}
        what = random.randrange(4)
        if what == 0:
            self.rti.subscribe_interaction_class(signal)
        elif what == 1:
            self.rti.unsubscribe_interaction_class(signal)
        elif what == 2:
            self.rti.subscribe_object_class_attributes(self.beacon, lamps)
        else:
            self.rti.unsubscribe_object_class(self.beacon)
        self.evoke()

    def regulate(self, random: Random) -> None:
        if not self.run.plainly:
            super().regulate(random)
            return
        self.lookahead = random.choice((1, 2, 5))
        self.waits = "regulation"
        self.rti.enable_time_regulation(self.factory.make_interval(self.lookahead))

    def relook(self, random: Random) -> None:
        low = 1 if self.run.plainly else 0  # with none, when a plain call counts depends on what was granted
        self.rti.modify_lookahead(self.factory.make_interval(random.choice((low, 1, 2, 5))))

    def _when(self, random: Random) -> tuple[int, dict[str, Any]]:
        """As of when; without saying so, perhaps."""
        if self.run.plainly and random.random() < 0.7:
            return self._least(), {}
        time = self._least() + random.choice((-1, 0, 0, 1, 3, 7))
        return time, {"time": self.factory.make_time(max(0, time))}

    def _try(self, as_of_time: int, call: Any, *arguments: Any, **more: Any) -> bool:
        least = self._least()
        try:
            call(*arguments, **more)
        except InvalidLogicalTime:
            assert as_of_time < least
            return False
        if as_of_time == self.time:
            self.now.add(as_of_time)
        return True

    def declare(self, random: Random) -> None:
        """Subscribe or unsubscribe, without regions."""
        time, more = self._when(random)
        begin = random.random() < 0.6
        kind = random.choice(("beacon", SIGNAL, FLARE, "event"))
        rti = self.rti
        if kind != "beacon":
            call: Any = rti.unsubscribe_interaction_class
            if begin:
                passively, actively = (
                    rti.subscribe_interaction_class_passively,
                    rti.subscribe_interaction_class,
                )
                call = random.choice((passively, actively))
            handle = self.event if kind == "event" else self.signals[kind]
            if self._try(time, call, handle, **more):
                self.plain[kind].append((time, begin))
            return
        names = random.choice(((LIGHT,), (SOUND,), (LIGHT, SOUND)))
        handles = {self.lamps[name] for name in names}
        if begin:
            done = self._try(time, rti.subscribe_object_class_attributes, self.beacon, handles, **more)
        elif random.random() < 0.5:
            done = self._try(time, rti.unsubscribe_object_class_attributes, self.beacon, handles, **more)
        else:
            names = (LIGHT, SOUND)
            done = self._try(time, rti.unsubscribe_object_class, self.beacon, **more)
        for name in names if done else ():
            self.plain[name].append((time, begin))

    def move(self, random: Random) -> None:
        if not self.run.plainly or random.random() < 0.3:
            super().move(random)
            return
        region = random.choice([*self.ears, *self.mouths])
        lower = random.randrange(LANES)
        bounds: Bounds = (lower, min(LANES, lower + random.choice((2, 5, 9))))
        self.rti.set_range_bounds(region, self.lane, RangeBounds(*bounds))
        self.rti.commit_region_modifications({region})
        self.places[region].append((self._least(), bounds))

    def publish(self, random: Random) -> None:
        """Interactions only: what it owns it loses when it no longer publishes it."""
        name = random.choice((SIGNAL, FLARE))
        begin = random.random() < 0.7
        time = self._least() + random.choice((0, 0, 1, 3))
        call = self.rti.publish_interaction_class if begin else self.rti.unpublish_interaction_class
        call(self.signals[name], time=self.factory.make_time(time))
        self.published[name].append((time, begin))

    def signal(self, random: Random) -> None:
        """Send what has no dimensions."""
        time = self._least() + random.choice((0, 0, 1, 2, 5, 9))
        at = self.factory.make_time(time)
        self.sent += 1
        tag = f"{self.name}/{self.sent}/{self.run.era}".encode()
        what: Any
        if random.random() < 0.5:
            what = random.choice((SIGNAL, FLARE))
            may = as_of(self.published[what], time)
            try:
                returned = self.rti.send_interaction(self.signals[what], {}, tag, at)
            except InteractionClassNotPublished:
                assert not may, f"seed {self.run.seed}: {self.name} publishes {what} as of {time}"
                self.sent -= 1
                return
            assert may, f"seed {self.run.seed}: {self.name} does not publish {what} as of {time}"
        else:
            what = frozenset(random.choice(((LIGHT,), (SOUND,), (LIGHT, SOUND))))
            values = {self.lamps[name]: b"on" for name in what}
            returned = self.rti.update_attribute_values(self.mine, values, tag, at)
        assert returned is not None
        self.retractable[self.sent] = returned.handle
        self.run.signals[self.name, self.sent] = (time, what)
        self.history.append(("sent", time, self.sent, True))

    # --- what it must hear ----------------------------------------------------------------------------------------

    def wants(self, time: int, where: Bounds | None) -> bool:
        return as_of(self.plain["event"], time) or super().wants(time, where)

    def expects(self, time: int, what: Any) -> Any:
        """At which class, or which attributes; nothing: it does not want it."""
        if isinstance(what, frozenset):
            return frozenset(name for name in what if as_of(self.plain[name], time))
        lineage = (FLARE, SIGNAL) if what == FLARE else (SIGNAL,)
        return next((name for name in lineage if as_of(self.plain[name], time)), None)


class DeclaringRun(MovingRun):
    federate = Declaring

    def __init__(
        self,
        seed: int,
        sites: list[NodeHost],
        fom: Any = None,
        late: int = 0,
        settle: Any = lambda: None,
        saves: bool = False,
        stays: bool = False,
        lossy: bool = False,
        flushes: bool = False,
        plainly: bool = False,
        hasty: bool = False,
    ) -> None:
        """`hasty`: they also declare while they ask for time, and when that counts depends on how far they have come.

        `lossy`: a call may fail and be carried out all the same, so what it publishes stays."""
        self.signals: dict[tuple[str, int], tuple[int, Any]] = {}
        self.plainly, self.publishes, self.hasty = plainly, not lossy, hasty
        super().__init__(seed, sites, plain_fom(), late, settle, False, stays, lossy, flushes)


def check_declared(run: DeclaringRun) -> int:
    """What has no dimensions; `random_moving_regions.check` is for the rest.  Returns how much of it was heard."""
    total = 0
    for one in run.federates:
        assert isinstance(one, Declaring)
        if not one.joined:
            continue
        heard = check_order(run.seed, one)
        early = flushed(one)
        for key, (time, what) in run.signals.items():
            if key[0] == one.name or key in run.retracted or time > one.time:
                assert key[0] != one.name or key not in heard
                continue
            expected = one.expects(time, what) if one.constrained else None
            told = f"seed {run.seed}: {one.name}, {what} of {key} at {time}"
            if key in early or time in one.now:
                assert not expected or key in heard, f"{told} was lost"
                continue
            got = one.got.get(key) or None
            assert got == (expected or None), f"{told}: expected {expected}, got {got}"
            total += bool(got)
    return total

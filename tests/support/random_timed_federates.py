"""Random timed federates, and what must hold of what they hear: the brute-force oracle of time management.

A run is driven by one random generator: at each step some federate does something it may do, and the network runs on a little.
Everything that a federate does and hears is written down in the order in which it happens to it.  The checks use nothing of
the RTI's own time management, only these logs:

    order         between two flushes a constrained federate hears messages in the order of (time, sender, number), and none that
                  belongs before its logical time
    grants        are what was asked for (TAR, TARA), or no later and at the time of what was just heard (NMR, NMRA)
    complete      a message that was sent to a constrained federate, and not retracted, is heard before the federate is granted
                  more than its time, and once
    end           when all ask for the same late time, all get it

With saves in it, an attribute changes hands, too; `support.random_timed_saves` and `clockwork_owners` say what must hold of that.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

from support import random_timed_owners
from support.random_timed_saves import Pause
from support.recording_ambassador import Recorder
from support.timed_federation import EVENT, REQUESTS
from weft import CallbackModel, OrderType, ResignAction, RTIambassador
from weft.host import NodeHost
from weft.model.errors import (
    InvalidLogicalTime,
    MessageCanNoLongerBeRetracted,
    NotConnected,
    RestoreInProgress,
    RTIexception,
    SaveInProgress,
)

NAME = "clockwork"
EXCLUSIVE = ("TAR", "NMR")


class Sent(NamedTuple):
    sender: str
    number: int
    time: int
    receivers: tuple[str, ...]
    stamped: bool
    era: int  # how often the federation had been restored


class Timed:
    """One federate."""

    def __init__(self, run: Run, name: str, site: NodeHost) -> None:
        self.run = run
        self.name = name
        self.log = Recorder()
        self.rti = RTIambassador(site)
        self.rti.connect(self.log, CallbackModel.EVOKED)
        self.joined = False
        self.regulating = self.constrained = False
        self.waits = ""  # the service that is under way
        self.asked = 0
        self.time = 0
        self.lookahead = 0
        self.sent = 0
        self.history: list[tuple[Any, ...]] = []
        self.retractable: dict[int, Any] = {}
        self.eras: dict[tuple[str, int], int] = {}  # of what it has heard
        self.pause = Pause(self)
        self.thing: Any = None  # what changes hands (`support.random_timed_owners`)
        self.owns = self.sought = False

    def join(self, fom: Any) -> None:
        self.rti.join_federation_execution(self.name, "test", NAME)
        self.event = self.rti.get_interaction_class_handle(EVENT)
        self.rti.publish_interaction_class(self.event)
        self.rti.subscribe_interaction_class(self.event)
        self.rti.change_interaction_order_type(self.event, OrderType.TIMESTAMP)
        self.factory: Any = self.rti.get_time_factory()
        self.joined = True
        if self.run.saves:
            random_timed_owners.begin(self, self is self.run.federates[0])

    def evoke(self) -> None:
        try:
            while self.rti.evoke_callback(0.0):
                pass
        except NotConnected:
            self.joined = False
        for method, arguments in self.log.take():
            self.hear(method, arguments)

    def hear(self, method: str, arguments: tuple[Any, ...]) -> None:
        if method == "receive_interaction":
            sender, number, era = arguments[2].decode().split("/")
            self.eras[sender, int(number)] = int(era)
            stamped = arguments[8] is OrderType.TIMESTAMP
            self.history.append(("heard", arguments[6].value, sender, int(number), stamped))
        elif method == "time_advance_grant":
            self.granted(arguments[0].value, self.waits)
        elif method == "flush_queue_grant":
            self.history.append(("flushed", arguments[0].value, arguments[1].value))
            self.granted(arguments[0].value, "FQR")
        elif method == "time_regulation_enabled":
            self.waits, self.regulating, self.time = "", True, arguments[0].value
            self.history.append(("regulates", self.time, self.lookahead))
        elif method == "time_constrained_enabled":
            self.waits, self.constrained = "", True
            self.history.append(("constrained", self.time))
        elif method in ("connection_lost", "federate_resigned"):
            self.joined = False
            self.history.append(("left",))
        elif method == "request_retraction":
            self.history.append(("retract", bytes(arguments[0])))
        else:
            self.pause.hear(method, arguments)
            random_timed_owners.hear(self, method, arguments)

    def granted(self, time: int, service: str) -> None:
        self.history.append(("granted", time, service, self.asked))
        self.waits, self.time = "", time

    # --- what it may do -----------------------------------------------------------------------------------------

    def act(self, random: Random) -> None:
        self.evoke()
        if self.joined and self.pause.state:
            self.pause.go_on(random)
        if not self.joined or self.pause.state:
            return
        if self.run.saves and random.random() < 0.03:
            self.pause.request(random)
            return
        if self.run.saves and random.random() < 0.1:
            random_timed_owners.move(self, random)
            return
        if self.waits:
            return
        regulated = any(one.joined and one.regulating for one in self.run.federates)
        choices = ["send"] * 4 + ["ask"] * (4 if regulated else 0)  # without any, nobody advances
        if not self.regulating:
            choices += ["regulate"] * 3
        if not self.constrained:
            choices += ["constrain"] * 3
        if self.retractable:
            choices.append("retract")
        if self.regulating:
            choices.append("relook")
        if random.random() < 0.02:
            others = [one for one in self.run.federates if one.joined and one.regulating and one is not self]
            choices = ["unregulate" if self.regulating and others else "send"]
        getattr(self, random.choice(choices))(random)
        self.evoke()

    def ask(self, random: Random) -> None:
        self.request(random.choice(list(REQUESTS)), self.time + random.choice((0, 1, 1, 2, 3, 8)))

    def request(self, service: str, time: int) -> None:
        self.waits, self.asked = service, time
        self.history.append(("asks", service, time))
        getattr(self.rti, REQUESTS[service])(self.factory.make_time(time))

    def send(self, random: Random) -> None:
        least = self.time
        if self.regulating:
            lookahead = int(self.rti.query_lookahead().value)
            least += lookahead or 1  # with none, the time itself may be over
        time = least + random.choice((-1, 0, 0, 1, 2, 5))
        self.sent += 1
        receivers = tuple(other.name for other in self.run.federates if other.joined and other is not self)
        tag = f"{self.name}/{self.sent}/{self.run.era}".encode()
        try:
            returned = self.rti.send_interaction(self.event, {}, tag, self.factory.make_time(max(0, time)))
        except InvalidLogicalTime:
            assert self.regulating
            assert time < least
            self.sent -= 1
            return
        time = max(0, time)
        assert returned is not None
        assert returned.retraction_handle_is_valid == self.regulating
        if self.regulating:
            self.retractable[self.sent] = returned.handle
        self.run.messages[self.name, self.sent] = Sent(
            self.name, self.sent, time, receivers, self.regulating, self.run.era
        )
        self.history.append(("sent", time, self.sent, self.regulating))

    def retract(self, random: Random) -> None:
        number = random.choice(list(self.retractable))
        try:
            self.rti.retract(self.retractable.pop(number))
        except MessageCanNoLongerBeRetracted:
            return
        self.run.retracted.add((self.name, number))

    def relook(self, random: Random) -> None:
        self.rti.modify_lookahead(self.factory.make_interval(random.choice((0, 1, 2, 5))))

    def regulate(self, random: Random) -> None:
        self.lookahead = random.choice((0, 1, 2, 5))
        self.waits = "regulation"
        self.rti.enable_time_regulation(self.factory.make_interval(self.lookahead))

    def constrain(self, random: Random) -> None:
        self.waits = "constrained"
        self.rti.enable_time_constrained()

    def unregulate(self, random: Random) -> None:
        self.rti.disable_time_regulation()
        self.regulating = False
        self.retractable.clear()

    def leave(self) -> None:
        self.rti.resign_federation_execution(ResignAction.CANCEL_THEN_DELETE_THEN_DIVEST)
        self.joined = False
        self.history.append(("left",))


class Run:
    federate = Timed

    def __init__(
        self,
        seed: int,
        sites: list[NodeHost],
        fom: Any,
        late: int = 1,
        settle: Callable[[], None] = lambda: None,
        saves: bool = False,
        stays: bool = False,
        lossy: bool = False,
    ) -> None:
        """`saves`: the federation is saved now and then; `stays`: nobody leaves; `lossy`: nodes may crash."""
        self.settle = settle
        self.saves, self.stays, self.lossy = saves, stays, lossy
        self.era = 0
        self.random = Random(seed)
        self.seed = seed
        self.fom = fom
        self.messages: dict[tuple[str, int], Sent] = {}
        self.retracted: set[tuple[str, int]] = set()
        self.federates = [self.federate(self, f"f{i}", site) for i, site in enumerate(sites)]
        self.federates[0].rti.create_federation_execution(NAME, [fom], "HLAinteger64Time")
        for one in self.federates[: len(sites) - late]:
            one.join(fom)
        settle()

    def step(self) -> None:
        random = self.random
        one = random.choice(self.federates)
        if not one.joined and not one.history and random.random() < 0.1:
            one.join(self.fom)
            self.settle()  # from here on the others know that it is to get everything
        elif (
            one.joined
            and not self.stays
            and not one.pause.state
            and len([f for f in self.federates if f.joined and f.regulating]) > 2
            and random.random() < 0.004
        ):
            one.leave()
        else:
            one.act(random)

    def somebody_went(self, network: Any) -> None:
        """Nodes may have gone: federates that were there are no members any more, and take no callbacks."""
        for one in self.federates:
            try:
                one.evoke()
                if one.joined:
                    one.rti.query_logical_time()
            except (SaveInProgress, RestoreInProgress):
                pass  # it is there, and may not ask just now
            except RTIexception:
                one.joined = False

    def finish(self) -> None:
        """All ask for the same late time and get it."""
        end = max(one.time + one.asked for one in self.federates) + 1000
        if not any(one.joined and one.regulating for one in self.federates):
            free = [one for one in self.federates if one.joined and not one.waits and not one.pause.state]
            if not free:
                return  # all are constrained, and who regulated has gone: they wait as they should
            free[0].regulate(self.random)
        for _ in range(200):
            self.settle()
            for one in self.federates:
                one.evoke()
            present = [one for one in self.federates if one.joined]
            if all(one.time == end and not one.waits and not one.pause.state for one in present):
                return
            for one in present:
                if one.pause.state:
                    one.pause.go_on(self.random)
                elif not one.waits and one.time < end:
                    one.request("TAR", end)
        stuck = [f"{o.name} waits for {o.waits} {o.asked} at {o.time}" for o in self.federates if o.joined]
        raise AssertionError(f"seed {self.seed}: {'; '.join(stuck)}")


# --- checks -----------------------------------------------------------------------------------------------------


def check(run: Run) -> None:
    for one in run.federates:
        check_one(run, one)
    if run.saves:
        random_timed_owners.check(run)


def check_one(run: Run, one: Timed) -> None:
    check_complete(run, one, check_order(run.seed, one))


def check_order(seed: int, one: Timed) -> set[tuple[str, int]]:
    """All but completeness; what it has heard."""
    where = f"seed {seed}, {one.name}"
    time, exclusive, constrained = 0, False, False
    last: tuple[Any, ...] = (-1,)
    heard: set[tuple[str, int]] = set()
    just: list[int] = []
    for entry in one.history:
        kind = entry[0]
        if kind == "constrained":
            constrained = True
        elif kind == "asks":
            just = []
        elif kind == "heard":
            _, stamp, sender, number, stamped = entry
            assert (sender, number) not in heard, f"{where}: {sender}/{number} twice"
            heard.add((sender, number))
            if stamped:
                assert constrained, where
                assert stamp > time or (stamp == time and not exclusive), f"{where}: {entry} at {time}"
                key = (stamp, sender, number)
                assert key > last or stamp == time, f"{where}: {key} after {last}"
                last = key
                just.append(stamp)
        elif kind == "flushed":
            last = (-1,)
        elif kind in ("granted", "regulates"):
            assert entry[1] >= time, f"{where}: back from {time} to {entry[1]}"
            if kind == "granted":
                check_grant(where, entry, just)
            if entry[1] > time:
                exclusive = False
            time = entry[1]
            exclusive = exclusive or (kind == "granted" and constrained and entry[2] in EXCLUSIVE)
    return heard


def check_grant(where: str, entry: tuple[Any, ...], just: list[int]) -> None:
    _, time, service, asked = entry
    if service in ("TAR", "TARA"):
        assert time == asked, f"{where}: {entry}"
    elif service in ("NMR", "NMRA"):
        assert time == asked or (time < asked and just and just[-1] == time), (
            f"{where}: {entry}, heard {just}"
        )
    assert service == "FQR" or all(stamp <= time for stamp in just), f"{where}: {entry}, heard {just}"


def check_complete(run: Run, one: Timed, heard: set[tuple[str, int]]) -> None:
    """It got everything it was sent, and in time: what is heard later than it should is an error of order, above."""
    left = ("left",) in one.history
    for key, message in run.messages.items():
        if (
            one.name in message.receivers
            and key not in run.retracted
            and not left
            and message.time <= one.time
        ):
            assert key in heard, f"seed {run.seed}: {one.name} never got {message}"
            assert one.eras[key] == message.era, f"seed {run.seed}: {one.name} got {message} of another time"

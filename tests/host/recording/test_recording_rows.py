"""Rows of what does not arrive, of cells, of causes behind a server: against what federates know themselves (issue 8, item 1)."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from itertools import count, product
from pathlib import Path
from typing import Any

import pytest

import weft
from host.server.test_lanes import FOM
from support import small_fom as model
from support.memory_recordings import MemoryRecordings
from support.recording_ambassador import Recorder
from support.server_in_thread import serving
from support.simulated_federates import NAME, Seat, handles
from support.strategy_federates import DIMENSIONS, REGIONS, SPACES, SPAN, places, rid
from weft.host.causes import AnsweredCauses, Causes, NamedCauses
from weft.host.recording.runs import find_runs, open_run
from weft.host.simulated.simulated import LinkProfile, SimulatedNetwork
from weft.wire.codec.packed import fields_of
from weft.wire.session.frames import LAST_NUMBER

KIND = "Vehicle.GroundVehicle"
ATTRIBUTES = ("Position", "Name", "Speed", "Crew")  # of both transportations
RATES = model.extra_module(
    "<updateRates><updateRate><name>Slow</name><rate>2.0</rate></updateRate>"
    "<updateRate><name>Fast</name><rate>20.0</rate></updateRate></updateRates>"
)


class Sent:
    """A sender at S1 and three ears at two nodes; every update has a value of its own."""

    def __init__(self, seed: int, **profile: float) -> None:
        self.random = random.Random(seed)
        self.network = SimulatedNetwork(["S1", "S2"], seed, LinkProfile(**profile))
        self.memory = MemoryRecordings()
        for name in ("S1", "S2"):
            self.network.node(name).record(self.memory, 0.0)
        self.sender = Seat(self.network.at("S1"), "sender")
        self.ears = [Seat(self.network.at(node), f"ear {i}") for i, node in enumerate(("S1", "S2", "S2"))]
        self.sender.call("create_federation_execution", NAME, (model.fom(), RATES), None, "")
        self.numbers = [seat.join().number for seat in (self.sender, *self.ears)]
        self.sender.publish(KIND, *ATTRIBUTES)
        self.names = {handle: name for name, handle in handles().attributes.items()}
        self.object = self.sender.register(KIND)
        self._values = count(1)

    def want(self, ear: int, rate: str, *names: str) -> None:
        seat = self.ears[ear]
        seat.call(
            "subscribe_object_class_attributes", handles().classes[KIND], handles().set_of(*names), rate
        )

    def pause(self, seconds: float) -> None:
        self.network.run_until(lambda: False, self.network.clock.now + seconds)

    def update(self, *names: str) -> None:
        self.sender.update(self.object, b"%d" % next(self._values), *names)

    def heard(self) -> Counter[tuple[int, bytes, str]]:
        """Federate, value, attribute: as the federates have it."""
        return Counter(
            (number, value, self.names[attribute])
            for number, ear in zip(self.numbers[1:], self.ears, strict=True)
            for _, arguments in ear.heard("reflect_attribute_values")
            for attribute, value in arguments[1].items()
        )


def _of(rows: list[dict[str, Any]], *kinds: str) -> Counter[tuple[int, bytes, str]]:
    """Federate, value, attribute: as rows of these kinds have it."""
    values = {
        (row["source"], row["message"]): row["tag"] for row in rows if row["kind"] == "send" and row["source"]
    }
    return Counter(
        (row["federate"], values[row["source"], row["message"]], item)
        for row in rows
        if row["kind"] in kinds and (row.get("source"), row.get("message")) in values
        for item in row["items"]
    )


@pytest.mark.parametrize("seed", range(3))
def test_what_an_update_rate_keeps_back_has_rows(seed: int) -> None:
    """Each value for each subscriber is delivered, was replaced by a newer one, or was given up: once, and never two of these."""
    made = Sent(seed)
    chance = made.random
    wanted: list[set[str]] = [set(), set(), set()]
    due: Counter[tuple[int, bytes, str]] = Counter()
    for step in range(120):
        if step % 30 == 0:
            for ear in range(3):
                if step and chance.random() < 0.4:
                    made.ears[ear].call("unsubscribe_object_class", handles().classes[KIND])
                    wanted[ear] = set()
                else:
                    names = chance.sample(ATTRIBUTES, chance.randint(1, 4))
                    made.want(ear, chance.choice(["Slow", "Fast", ""]), *names)
                    wanted[ear] |= set(names)
            made.pause(0.01)
        names = chance.sample(ATTRIBUTES, chance.randint(1, 4))
        made.update(*names)
        value = b"%d" % (step + 1)
        due.update(
            (made.numbers[ear + 1], value, name) for ear in range(3) for name in names if name in wanted[ear]
        )
        made.pause(chance.choice([0.01, 0.01, 0.06, 0.3]))
    made.pause(5.0)
    heard = made.heard()
    rows = made.memory.take()
    assert _of(rows, "deliver") == heard
    ended = _of(rows, "filter", "drop")
    assert not heard & ended
    assert heard + ended == due
    filtered = [row for row in rows if row["kind"] == "filter"]
    assert filtered
    assert {row["rate"] for row in filtered} <= {2.0, 20.0}
    assert {row["detail"] for row in filtered} == {"rate: a newer value came first"}


def _leaves(made: Sent) -> None:
    for ear in made.ears:
        ear.resign()


def _forgets(made: Sent) -> None:
    for ear in made.ears:
        ear.call("local_delete_object_instance", made.object)


def _is_deleted(made: Sent) -> None:
    made.sender.call("delete_object_instance", made.object, b"")


def _is_acquired(made: Sent) -> None:
    """By one of them, who gets nothing more of its own attributes."""
    heir, names = made.ears[2], handles().set_of(*ATTRIBUTES)
    made.sender.call("unconditional_attribute_ownership_divestiture", made.object, names, b"")
    heir.publish(KIND, *ATTRIBUTES)
    heir.call("attribute_ownership_acquisition_if_available", made.object, names, b"")


@pytest.mark.parametrize(
    ("happens", "why", "ears"),
    [
        (_leaves, "rate: it resigned while it waited", 3),
        (_forgets, "rate: it deleted the instance locally while it waited", 3),
        (_is_deleted, "rate: the instance was removed while it waited", 3),
        (_is_acquired, "rate: it acquired the attribute while it waited", 1),
    ],
)
def test_what_waits_for_an_update_rate_and_is_never_due_is_given_up(
    happens: Callable[[Sent], None], why: str, ears: int
) -> None:
    """Else it would seem lost."""
    made = Sent(7)
    for ear in range(3):
        made.want(ear, "Slow", *ATTRIBUTES)
    made.pause(0.1)
    made.update(*ATTRIBUTES)
    made.pause(0.1)
    made.update("Name", "Speed")
    made.pause(0.1)
    happens(made)
    made.pause(5.0)
    rows = made.memory.take()
    ended = [row for row in rows if row["kind"] == "drop"]
    assert {row["detail"] for row in ended} == {why}
    expected = Counter(
        (number, b"2", name) for number in made.numbers[4 - ears :] for name in ("Name", "Speed")
    )
    assert _of(rows, "drop") == expected


@pytest.mark.parametrize("seed", range(3))
def test_a_best_effort_message_that_is_lost_has_a_row(seed: int) -> None:
    """Where its loss can be seen: each is delivered at the other node, or was dropped on the way there."""
    made = Sent(seed, loss=0.3)
    for ear in range(3):
        made.want(ear, "", *ATTRIBUTES)
    made.network.settle()
    before = made.network.parcels_lost
    for _ in range(60):
        made.update(*made.random.sample(ATTRIBUTES, made.random.randint(1, 4)))
    made.network.settle()
    heard = made.heard()
    rows = made.memory.take()
    assert _of(rows, "deliver") == heard
    drops = [row for row in rows if row["kind"] == "drop"]
    assert len(drops) == made.network.parcels_lost - before > 0
    assert {(row["node"], row["link"], row["transport"]) for row in drops} == {("S1", "S2", "best-effort")}
    sends = {row["message"]: row for row in rows if row["kind"] == "send" and row["source"]}
    gone = Counter((row["message"], item) for row in drops for item in row["items"])
    for federate in made.numbers[2:]:  # those at the other node
        got = Counter(
            (row["message"], item)
            for row in rows
            if row["kind"] == "deliver" and row["federate"] == federate
            for item in row["items"]
        )
        assert got + gone == Counter((number, item) for number, row in sends.items() for item in row["items"])


@pytest.mark.parametrize("partitions", [1, 2, 3])
def test_channels_and_cells_are_those_of_the_grid(partitions: int) -> None:
    """By brute force: the partitions that a box meets, numbered through all spaces; channels are those the node counted."""
    network, (_, _, sender) = places(rid("StaticGridPartitioned", partitions))
    memory = MemoryRecordings()
    for name in ("S1", "S2", "S3"):
        network.node(name).record(memory, 0.0)
    first = {"1D": 1, "2D": 1 + partitions, "3D": 1 + partitions + partitions**2}
    size = -(-SPAN // partitions)
    for label, (attribute, region) in enumerate(
        [
            ("A.x", "R1D-1"),
            ("A.x", "R1D-2"),
            ("A.x", "R1D-3"),
            ("B.x", "R2D-1"),
            ("B.y", "R2D-2"),
            ("B.x", "R2D-3"),
        ]
    ):
        sender.register_at(str(label), attribute, sender.regions(REGIONS[region]))
        network.settle()
        memory.take()
        before = {channel: counts["sent"] for channel, counts in sender.traffic().items()}
        sender.tell(str(label), attribute)
        network.settle()
        after = {channel: counts["sent"] for channel, counts in sender.traffic().items()}
        (row,) = [row for row in memory.take() if row["kind"] == "send" and row["source"]]
        assert row["channels"] == sorted(c for c in after if after[c] > before.get(c, 0))
        axes = DIMENSIONS[SPACES[attribute]]
        touched = {
            first[SPACES[attribute]] + sum(place * partitions**axis for axis, place in enumerate(spot))
            for box in REGIONS[region]
            for spot in product(range(partitions), repeat=len(axes))
            if all(
                box[name][0] < (place + 1) * size and box[name][1] > place * size
                for name, place in zip(axes, spot, strict=True)
            )
        }
        assert set(row["cells"]) == touched


# --- causes ---------------------------------------------------------------------------------------------------


class Client:
    """The other end, which knows what it handles: callbacks come at any time, are taken in turn, and answered."""

    def __init__(self, seed: int, causes: Causes, early: bool, start: int) -> None:
        self.random = random.Random(seed)
        self.causes = causes
        self.early = early  # it answers when it has read, and names what it handles
        self.sent = start  # the number of the server's last frame
        self.under_way: list[tuple[int, int, int]] = []
        self.read: list[tuple[int, int, int]] = []
        self.handling: tuple[int, int, int] | None = None
        self.received = start

    def step(self) -> None:
        what = self.random.random()
        if what < 0.35:
            self.sent = (self.sent + self.random.randint(1, 3)) & LAST_NUMBER  # answers to calls lie between
            message = (self.random.randint(1, 5), self.random.randint(1, 99)) if what < 0.3 else (0, 0)
            self.under_way.append((self.sent, *message))
            self.causes.put(self.sent, *message)
        elif what < 0.6 and self.under_way:
            one = self.under_way.pop(0)
            self.received = one[0]
            self.read.append(one)
            if self.early:
                self.causes.answered(one[0], False)
        elif what < 0.8 and self.read and self.handling is None:
            self.handling = self.read.pop(0)
        elif self.handling is not None and what > 0.9:
            if not self.early:
                self.causes.answered(self.handling[0], False)
            self.handling = None
        elif self.handling is not None:
            if self.early:
                self.causes.answered(self.handling[0], False)
            assert self.causes.cause(self.received) == self.handling[1:]
        elif self.early or not self.read:
            assert self.causes.cause(self.received) == (0, 0)
        else:  # documented: who calls while something waits to be taken is thought to handle it
            assert self.causes.cause(self.received) == self.read[0][1:]


@pytest.mark.parametrize("early", [True, False], ids=["named", "answered"])
@pytest.mark.parametrize("start", [0, LAST_NUMBER - 20])
def test_a_server_knows_what_a_client_handles(early: bool, start: int) -> None:
    """Also where the numbers of frames begin again."""
    for seed in range(20):
        client = Client(seed, NamedCauses() if early else AnsweredCauses(), early, start)
        for _ in range(300):
            client.step()


def test_a_cause_too_long_ago_is_none() -> None:
    causes = NamedCauses()
    causes.put(1, 2, 3)
    causes.answered(1, False)
    for frame in range(2, 6000):
        causes.put(frame, 4, frame)
        causes.answered(frame, False)
    causes.answered(1, False)
    assert causes.cause(5999) == (0, 0)


@pytest.mark.parametrize("seed", range(2))
def test_causes_behind_a_server_are_those_of_the_federates(seed: int, tmp_path: Path) -> None:
    """Federates send within callbacks and between them, while others wait to be taken, by lanes and by the kernel's long way."""
    fom = tmp_path / "lanes.xml"
    fom.write_text(FOM)
    chance = random.Random(seed)
    caused: dict[bytes, bytes] = {}  # tag -> the tag of the message in whose callback it was sent
    tags = count(1)
    with serving(record=str(tmp_path / "runs")) as running:
        logs = [Recorder() for _ in range(3)]
        rtis = [weft.RTIambassador() for _ in logs]
        for i, (rti, log) in enumerate(zip(rtis, logs, strict=True)):
            rti.connect(log, weft.CallbackModel.EVOKED, running.address())
            if i == 0:
                rti.create_federation_execution("causes", str(fom))
            rti.join_federation_execution(f"F{i}", "kind", "causes")
        fire = rtis[0].get_interaction_class_handle("HLAinteractionRoot.Fire")
        both = [rtis[0].get_parameter_handle(fire, name) for name in "PQ"]

        def send(i: int, cause: bytes) -> None:
            tag = b"%d" % next(tags)
            caused[tag] = cause
            values = dict.fromkeys(chance.sample(both, chance.randint(0, 2)), b"x" * 40)
            if chance.random() < 0.3:
                order = {"order": weft.OrderType.CAUSAL}  # takes no lane
                rtis[i].send_interaction(fire, values, tag, **order)  # type: ignore[arg-type]
            else:
                rtis[i].send_interaction(fire, values, tag)

        for i, rti in enumerate(rtis):
            rti.publish_interaction_class(fire)
            rti.subscribe_interaction_class(fire)

            def hear(*arguments: Any, i: int = i) -> None:
                if len(caused) < 150 and chance.random() < 0.4:
                    for _ in range(chance.randint(1, 2)):
                        send(i, arguments[2])

            logs[i].on["receive_interaction"] = hear
        for _ in range(40):
            send(chance.randrange(3), b"")
            for rti in rtis:
                rti.get_order_type("HLAreceive")  # what was on its way has come
                if chance.random() < 0.7:
                    rti.evoke_callback(0.0)
        for rti in rtis * 3:
            rti.get_order_type("HLAreceive")
            while rti.evoke_callback(0.0):
                pass
        for rti in rtis:
            rti.resign_federation_execution(weft.ResignAction.CANCEL_THEN_DELETE_THEN_DIVEST)
            rti.disconnect()
    (path,) = find_runs(tmp_path / "runs")
    sends = [row for row in open_run(path).read().to_pylist() if row["kind"] == "send" and row["source"]]
    tag_of = {}
    for row in sends:
        tag_of[row["source"], row["message"]] = row["tag"] or fields_of(row["packed"])[1]
    assert set(tag_of.values()) == set(caused)
    found = {
        tag_of[row["source"], row["message"]]: tag_of.get((row["cause_source"], row["cause"]), b"")
        for row in sends
    }
    assert found == caused
    assert sum(1 for cause in caused.values() if cause) > 20

"""Update rates (clauses 5.8, 6.11, 10.11): no subscriber is handed more than it asked for, and none misses the newest value.

On a virtual clock; the model below says by brute force what each subscriber must hear, and when.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from support import small_fom as model
from support.simulated_federates import NAME, Seat, handles
from weft import CallbackModel, EmbeddedNode, FederateAmbassador, RTIambassador
from weft.host.simulated.simulated import LinkProfile, SimulatedNetwork
from weft.kernel import Callback
from weft.model.deliveries import Reflection

RATES = {"Slow": 0.5, "Medium": 3.0, "Fast": 20.0}
SLOWER = model.extra_module(
    "<updateRates>"
    + "".join(f"<updateRate><name>{r}</name><rate>{hertz}</rate></updateRate>" for r, hertz in RATES.items())
    + "</updateRates>"
)
CLASS = "Vehicle.GroundVehicle"
ATTRIBUTES = ("Position", "Name", "Speed", "Crew")  # of both transportations

Heard = list[tuple[float, bytes]]
"""When a value was handed over, and which."""


class Watched(Seat):
    """A seat that notes when each value of each instance's attributes comes."""

    def __init__(self, network: SimulatedNetwork, node: str, name: str) -> None:
        super().__init__(network.at(node), name)
        self.values: dict[tuple[Any, str], Heard] = {}
        self.callbacks: list[tuple[float, Any]] = []
        names = {handle: name for name, handle in handles().attributes.items()}
        connection: Any = self.connection
        inbox = connection.inbox

        def wake() -> None:
            effect = inbox._arrived[-1]
            if isinstance(effect, Callback) and isinstance(effect.delivery, Reflection):
                now = network.clock.now
                self.callbacks.append((now, effect.arguments))
                assert isinstance(effect.delivery.values, dict)
                for attribute, value in effect.delivery.values.items():
                    key = (effect.delivery.instance, names[attribute])
                    self.values.setdefault(key, []).append((now, value))

        inbox.asleep, inbox.wake = True, wake

    def want(self, rate: str, *names: str, cls: str = CLASS) -> None:
        self.call("subscribe_object_class_attributes", handles().classes[cls], handles().set_of(*names), rate)


class Range:
    """A sender at the first node and watched subscribers at the nodes named."""

    def __init__(self, *nodes: str, seed: int = 1, **profile: float) -> None:
        names = list(dict.fromkeys(("S1", *nodes)))
        self.network = SimulatedNetwork(names, seed, LinkProfile(**profile))
        self.sender = Watched(self.network, "S1", "sender")
        self.ears = [Watched(self.network, node, f"ear {i}") for i, node in enumerate(nodes)]
        self.sender.call("create_federation_execution", NAME, (model.fom(), SLOWER), None, "")
        for seat in (self.sender, *self.ears):
            seat.join()
        self.sender.publish(CLASS, *ATTRIBUTES)
        self.network.settle()

    def until(self, when: float) -> None:
        self.network.run_until(lambda: False, when)

    @property
    def now(self) -> float:
        return self.network.clock.now

    def update(self, instance: Any, value: bytes, *names: str) -> None:
        self.sender.update(instance, value, *names)


def expected(sent: Heard, rate: str) -> Heard:
    """The model: what comes too soon waits, the newest of what waits comes when its time has come."""
    if not rate:
        return sent
    interval = 1.0 / RATES[rate]
    out: Heard = []
    waiting: bytes | None = None
    for when, value in [*sent, (float("inf"), b"")]:
        if waiting is not None and out[-1][0] + interval <= when:
            out.append((out[-1][0] + interval, waiting))
            waiting = None
        if when == float("inf"):
            break
        if not out or when >= out[-1][0] + interval:
            out.append((when, value))
        else:
            waiting = value
    return out


def within_rate(heard: Heard, rate: str) -> bool:
    """No window, however placed, has more values than the rate allows."""
    times = [when for when, _ in heard]
    return all(
        j - i <= (times[j] - times[i]) * RATES[rate] + 1e-6
        for i in range(len(times))
        for j in range(i + 1, len(times))
    )


def run(field: Range, seed: int, turns: int) -> tuple[dict[tuple[Any, str], Heard], list[dict[str, str]]]:
    """Random rates for each subscriber and attribute, then random updates at random times.  What was sent, and the rates."""
    draw = random.Random(seed)
    wishes = [{name: draw.choice(("", *RATES)) for name in ATTRIBUTES} for _ in field.ears]
    for ear, wish in zip(field.ears, wishes, strict=True):
        for name, rate in wish.items():
            ear.want(rate, name)
    field.network.settle()
    instances = [field.sender.register(CLASS) for _ in range(2)]
    field.network.settle()
    sent: dict[tuple[Any, str], Heard] = {}
    for number in range(turns):
        field.until(field.now + draw.expovariate(draw.choice((0.3, 5.0, 200.0))))
        names = draw.sample(ATTRIBUTES, draw.randint(1, len(ATTRIBUTES)))
        instance = draw.choice(instances)
        value = str(number).encode()
        for name in names:
            sent.setdefault((instance, name), []).append((field.now, value))
        field.update(instance, value, *names)
    field.network.settle()
    return sent, wishes


@pytest.mark.parametrize("seed", range(12))
def test_each_subscriber_hears_what_the_model_says(seed: int) -> None:
    """For every subscriber, instance and attribute: the very values, at the very times."""
    field = Range("S1", "S1", "S1")
    sent, wishes = run(field, seed, 120)
    for ear, wish in zip(field.ears, wishes, strict=True):
        for key, values in sent.items():
            rate = wish[key[1]]
            assert ear.values[key] == expected(values, rate), f"seed {seed}, {key}, {rate!r}"
            assert not rate or within_rate(ear.values[key], rate)


@pytest.mark.parametrize("seed", range(8))
def test_rates_hold_across_a_mesh(seed: int) -> None:
    """Over links with delay: within the rate, in order, and the newest comes last."""
    field = Range("S1", "S2", "S3", seed=seed, delay=0.02)
    sent, wishes = run(field, seed, 80)
    for ear, wish in zip(field.ears, wishes, strict=True):
        for key, values in sent.items():
            rate = wish[key[1]]
            heard = [value for _, value in ear.values[key]]
            assert heard[-1] == values[-1][1]
            assert heard == sorted(heard, key=int)
            if rate:
                assert within_rate(ear.values[key], rate)
            else:
                assert heard == [value for _, value in values]


def test_rates_hold_while_they_change() -> None:
    """Subscribing anew with another rate, or none, goes on from what was handed over."""
    field = Range("S1")
    (ear,) = field.ears
    ear.want("Slow", "Position")
    thing = field.sender.register(CLASS)
    key = (thing, "Position")
    started = field.now
    field.update(thing, b"1", "Position")
    field.update(thing, b"2", "Position")
    ear.want("Medium", "Position")  # due a third of a second after the first
    field.until(started + 0.2)
    assert ear.values[key] == [(started, b"1")]
    field.until(started + 0.4)
    assert ear.values[key][1:] == [(started + 1 / 3.0, b"2")]
    field.update(thing, b"3", "Position")
    ear.want("", "Position")  # nothing to wait for any more
    assert ear.values[key][-1] == (field.now, b"3")
    field.update(thing, b"4", "Position")
    assert ear.values[key][-1] == (field.now, b"4")
    assert field.network.node("S1").next_tick() is None


def test_what_waits_is_given_up_with_the_wish() -> None:
    """Unsubscribed, forgotten, removed or resigned: nothing comes afterwards, and no alarm is left."""
    for leave in ("unsubscribe", "local delete", "remove", "resign", "own"):
        field = Range("S1")
        (ear,) = field.ears
        ear.want("Slow", "Position")
        thing = field.sender.register(CLASS)
        field.update(thing, b"1", "Position")
        field.update(thing, b"2", "Position")
        position = handles().set_of("Position")
        if leave == "unsubscribe":
            ear.call("unsubscribe_object_class_attributes", handles().classes[CLASS], position)
        elif leave == "local delete":
            ear.call("local_delete_object_instance", thing)
        elif leave == "remove":
            field.sender.call("delete_object_instance", thing, b"")
        elif leave == "resign":
            ear.resign()
        else:
            ear.publish(CLASS, "Position")
            field.sender.call("unconditional_attribute_ownership_divestiture", thing, position, b"")
            ear.call("attribute_ownership_acquisition_if_available", thing, position, b"")
        field.network.settle()
        assert [value for _, value in ear.values[thing, "Position"]] == [b"1"], leave
        assert field.network.node("S1").next_tick() is None, leave


def test_attributes_that_are_due_together_come_together() -> None:
    """One callback for each transportation, whatever the rates; what waited comes with the tag of its own update."""
    field = Range("S1")
    (ear,) = field.ears
    ear.want("Slow", "Position")
    ear.want("", "Speed")
    thing = field.sender.register(CLASS)
    started = field.now
    for value in (b"1", b"2", b"3"):
        field.update(thing, value, "Position", "Speed")
    field.network.settle()
    position, speed = (handles().attributes[name] for name in ("Position", "Speed"))
    assert [(when, args[1], args[2]) for when, args in ear.callbacks] == [
        (started, {position: b"1", speed: b"1"}, b"1"),
        (started, {speed: b"2"}, b"2"),
        (started, {speed: b"3"}, b"3"),
        (started + 2.0, {position: b"3"}, b"3"),
    ]


def test_only_what_was_handed_over_is_counted() -> None:
    """MOM: reflections are those that the federate got."""
    field = Range("S1")
    (ear,) = field.ears
    ear.want("Slow", "Position")
    thing = field.sender.register(CLASS)
    for value in (b"1", b"2", b"3", b"4"):
        field.update(thing, value, "Position")
    field.network.settle()
    federation = field.network.node("S1").federations[NAME]
    federation.count_up()
    sender, heard = (member.tally for member in federation.members.values())
    assert sum(heard.reflections_received.values()) == 2
    assert sender.updates == 4


# --- the embedded node, by the real clock ------------------------------------------------------------------------


class Values(FederateAmbassador):
    def __init__(self) -> None:
        self.heard: Heard = []

    def reflect_attribute_values(self, *arguments: Any) -> None:
        self.heard += [(0.0, value) for value in arguments[1].values()]


@pytest.mark.parametrize("style", ["wait", "poll one", "poll many", "immediate"])
def test_the_newest_value_comes_however_a_federate_takes_its_callbacks(style: str) -> None:
    """Waiting, polling without waiting, or with a thread: the embedded node has no thread of its own to see to it."""
    node = EmbeddedNode()
    ears = Values()
    sender, receiver = RTIambassador(node), RTIambassador(node)
    sender.connect(FederateAmbassador(), CallbackModel.EVOKED)
    receiver.connect(ears, CallbackModel.IMMEDIATE if style == "immediate" else CallbackModel.EVOKED)
    sender.create_federation_execution(NAME, [model.fom(), SLOWER])
    for rti in (sender, receiver):
        rti.join_federation_execution("test", NAME)
    cls = sender.get_object_class_handle(CLASS)
    position = sender.get_attribute_handle(cls, "Position")
    sender.publish_object_class_attributes(cls, {position})
    receiver.subscribe_object_class_attributes(cls, {position}, "Fast")
    thing = sender.register_object_instance(cls)
    for number in range(50):
        sender.update_attribute_values(thing, {position: b"%d" % number}, b"")
    deadline = receiver.connection.now() + 20.0
    while (not ears.heard or ears.heard[-1][1] != b"49") and receiver.connection.now() < deadline:
        if style == "wait":
            receiver.evoke_callback(20.0)
        elif style == "poll one":
            receiver.evoke_callback(0.0)
        elif style == "poll many":
            receiver.evoke_multiple_callbacks(0.0, 0.0)
    assert ears.heard[0][1] == b"0"
    assert ears.heard[-1][1] == b"49"
    assert len(ears.heard) < 50
    for rti in (receiver, sender):
        rti.leave()

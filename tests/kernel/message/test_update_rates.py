"""Update rates (clauses 5.8, 6.11) against a page that knows, of each attribute, when it was handed over and what waits."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from support.bare_federation import HERE, bare, object_class, step_of
from support.small_fom import extra_module
from weft.kernel.message import pipeline, update_rates
from weft.kernel.services import declaration, object_management
from weft.kernel.state.effects import Alarm, Callback
from weft.kernel.state.step import Step
from weft.model.deliveries import Reflection

INTERVAL = 4.0
SLOW = extra_module(
    f"<updateRates><updateRate><name>Slow</name><rate>{1 / INTERVAL}</rate></updateRate></updateRates>"
)
NAMES = ("Position", "Name", "HLAprivilegeToDeleteObject")
Handed = tuple[float, str, bytes]


class Paced:
    """One subscriber, one instance.  What comes too soon waits, and the newest replaces what waits."""

    def __init__(self) -> None:
        self.last: dict[str, float] = {}
        self.waits: dict[str, bytes] = {}
        self.handed: list[Handed] = []

    def until(self, now: float) -> None:
        for name in list(self.waits):
            due = self.last[name] + INTERVAL
            if due <= now:
                self.last[name] = due
                self.handed.append((due, name, self.waits.pop(name)))

    def update(self, now: float, names: frozenset[str], value: bytes) -> None:
        for name in names:
            if name in self.last and now < self.last[name] + INTERVAL:
                self.waits[name] = value
            else:
                self.last[name] = now
                self.handed.append((now, name, value))


def handed(step: Step, names: dict[object, str]) -> list[Handed]:
    found: list[Handed] = []
    for one in step.effects:
        if isinstance(one, Callback) and isinstance(one.delivery, Reflection):
            values = one.delivery.values
            assert isinstance(values, dict)
            found += [(step.now, names[attribute], value) for attribute, value in values.items()]
    return found


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 0.5, 1.0, 5.0]), st.frozensets(st.sampled_from(NAMES), min_size=1)),
        min_size=4,
        max_size=16,
    ),
    st.booleans(),
)
def test_nothing_comes_sooner_and_the_newest_comes(
    updates: list[tuple[float, frozenset[str]]], gives_up: bool
) -> None:
    """For each attribute by itself; an alarm is set by the time something is due; who unsubscribes gets no more of it."""
    federation, (sender, receiver) = bare(HERE, HERE, more=(SLOW,))
    vehicle = object_class(federation, "Vehicle")
    handles = {name: vehicle.names[name] for name in NAMES}
    names: dict[object, str] = {handle: name for name, handle in handles.items()}
    declaration.publish_object_class_attributes(step_of(federation, sender), vehicle.handle, handles.values())
    hearing = step_of(federation, receiver)
    declaration.subscribe_object_class_attributes(hearing, vehicle.handle, handles.values(), "Slow")
    instance = object_management.register_object_instance(step_of(federation, sender), vehicle.handle)
    model, found, now, alarms = Paced(), [], 0.0, list[float]()

    def let_pass(until: float) -> None:
        due = update_rates.next_due(federation)
        while due is not None and due <= until:
            assert due in alarms, "the host was not asked to look then"
            step = step_of(federation, federation.rti, due)
            update_rates.release(step)
            found.extend(handed(step, names))
            alarms.extend(one.when for one in step.effects if isinstance(one, Alarm))
            due = update_rates.next_due(federation)
        model.until(until)

    for number, (later, chosen) in enumerate(updates):
        now += later
        let_pass(now)
        value = bytes([number])
        step = step_of(federation, sender, now)
        pipeline.update_attribute_values(step, instance, {handles[n]: value for n in chosen}, b"")
        found.extend(handed(step, names))
        alarms.extend(one.when for one in step.effects if isinstance(one, Alarm))
        model.update(now, chosen, value)
    if gives_up:
        step = step_of(federation, receiver, now)
        declaration.unsubscribe_object_class_attributes(step, vehicle.handle, [handles["Name"]])
        found.extend(handed(step, names))
        alarms.extend(one.when for one in step.effects if isinstance(one, Alarm))
        model.waits.pop("Name", None)
    let_pass(now + 10 * INTERVAL)
    assert sorted(found) == sorted(model.handed)
    assert update_rates.next_due(federation) is None

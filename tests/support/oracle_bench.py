"""The bench: makes each call at the real RTI and at the oracle, and compares.

Exceptions are compared at once.  Callbacks are compared when they are evoked: what a federate hears must be what the calls
since led to, call by call in the order of the calls; the callbacks of one call may come in any order, but that an instance is
discovered before anything else is said of it, and that a registered synchronization point is confirmed before it is announced.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from support import small_fom as model
from support.federation import NAME, Federation
from support.oracle import Oracle, Refused
from support.recording_ambassador import Call
from weft import ResignAction
from weft.host.simulated.simulated import LinkProfile, SimulatedNetwork
from weft.kernel.mom.mom_objects import FIRST
from weft.kernel.state.federation import Federation as State
from weft.model.errors import RTIexception
from weft.model.handles import (
    AttributeHandle,
    FederateHandle,
    Handle,
    InteractionClassHandle,
    ObjectClassHandle,
    ObjectInstanceHandle,
    ParameterHandle,
    TransportationTypeHandle,
)

NOWHERE = 9999
NOTHING = ObjectInstanceHandle.of(NOWHERE)
NOBODY = FederateHandle.of(NOWHERE)
SWITCHES = {
    "registrations": "object_class_relevance_advisory",
    "interactions": "interaction_relevance_advisory",
    "updates": "attribute_relevance_advisory",
    "scope": "attribute_scope_advisory",
}


def about_mom(arguments: tuple[Any, ...]) -> bool:
    """Is it about an instance of the RTI's own?  The oracle knows nothing of the MOM."""
    first = arguments[0] if arguments else None
    return isinstance(first, ObjectInstanceHandle) and first.number >= FIRST


class Bench:
    """With several nodes, federates sit at them in turn, and every call is followed by peace on the network."""

    def __init__(
        self,
        seats: int,
        advisories: bool = False,
        auto_provide: bool = False,
        nodes: int = 1,
        known_class: bool = False,
    ) -> None:
        wide = {"autoProvide": auto_provide, "advisoriesUseKnownClass": known_class}
        switches = (*(model.ADVISORIES if advisories else ()), *(name for name, on in wide.items() if on))
        fom = model.fom(*switches)
        self.network: SimulatedNetwork | None = None
        self.nodes = [f"S{number}" for number in range(1, nodes + 1)]
        if nodes == 1:
            self.real = Federation(seats, 1, fom)
        else:
            network = self.network = SimulatedNetwork(self.nodes, 1, LinkProfile(delay=0.01, jitter=0.02))
            sites = [network.at(self.nodes[seat % nodes]) for seat in range(seats)]
            self.real = Federation(seats, 1, fom, nodes=sites)
        self.oracle = Oracle(auto_provide, tuple(SWITCHES) if advisories else (), known_class)
        self.oracle.join(0, self.real.handle(0))
        self.expected: list[list[Counter[Call]]] = [[] for _ in range(seats)]
        self.instances: list[ObjectInstanceHandle] = []
        self.federates: list[FederateHandle] = [self.real.handle(0)]
        self._look_up()

    def _look_up(self) -> None:
        """Names to handles and back; "?" is a handle that nobody gave."""
        rti = self.real.rti[0]
        self.classes = {name: rti.get_object_class_handle(name) for name in (model.ROOT, *model.OBJECTS)}
        self.attributes = {
            name: rti.get_attribute_handle(self.classes[cls], name)
            for cls in self.classes
            for name in model.attributes_of(cls)
        }
        names = (model.INTERACTION_ROOT, *model.INTERACTIONS)
        self.interactions = {name: rti.get_interaction_class_handle(name) for name in names}
        self.parameters = {
            name: rti.get_parameter_handle(self.interactions[cls], name)
            for cls in self.interactions
            for name in model.parameters_of(cls)
        }
        ways = (model.RELIABLE, model.BEST_EFFORT)
        self.ways = {name: rti.get_transportation_type_handle(name) for name in ways}
        self.names: dict[tuple[type[Handle], Handle], str] = {
            (type(handle), handle): name
            for table in (self.classes, self.attributes, self.interactions, self.parameters, self.ways)
            for name, handle in table.items()
        }
        self.classes["?"] = ObjectClassHandle.of(NOWHERE)
        self.attributes["?"] = AttributeHandle.of(NOWHERE)
        self.interactions["?"] = InteractionClassHandle.of(NOWHERE)
        self.parameters["?"] = ParameterHandle.of(NOWHERE)
        self.ways["?"] = TransportationTypeHandle.of(NOWHERE)

    def kernels(self) -> list[State]:
        """The federation as every node holds it that has members of it, its home first."""
        if self.network is None:
            return [self.real.node._node.federations[NAME]]
        held = [self.network.node(name).federations.get(NAME) for name in self.nodes]
        return [state for state in held if state is not None]

    def readable(self, value: Any) -> Any:
        """A callback's argument with names for handles, and hashable."""
        if isinstance(value, Handle):
            return self.names.get((type(value), value), value)
        if isinstance(value, dict):
            return frozenset((self.readable(key), item) for key, item in value.items())
        if isinstance(value, (set, frozenset)):
            return frozenset(self.readable(item) for item in value)
        return value

    # --- comparing --------------------------------------------------------------------------------------------

    def both(self, real: Callable[[], Any], predict: Callable[[Any], Any]) -> None:
        """`predict` gets what the real call returned, None if it was refused."""
        result: Any = None
        raised: RTIexception | None = None
        try:
            result = real()
        except RTIexception as error:
            raised = error
        if self.network is not None:
            self.network.settle()
        callbacks: Any = ()
        faults: set[str] = set()
        try:
            callbacks = predict(result)
        except Refused as refused:
            faults = refused.names
        assert bool(faults) == (raised is not None), (
            f"refused with {raised!r}, expected one of {faults or 'none'}"
        )
        assert raised is None or type(raised).__name__ in faults, f"{raised!r} instead of one of {faults}"
        for seat in range(len(self.expected)):
            mine: Counter[Call] = Counter((method, args) for who, method, args in callbacks if who == seat)
            if mine:
                self.expected[seat].append(mine)

    def evoke(self, seat: int) -> None:
        taken = [(method, args) for method, args in self.real.take(seat) if not about_mom(args)]
        heard = [(method, self.readable_all(args)) for method, args in taken]
        groups, self.expected[seat] = self.expected[seat], []
        for group in groups:
            part, heard = heard[: group.total()], heard[group.total() :]
            assert Counter(part) == group, (
                f"federate {seat} heard {part}; missing {group - Counter(part)}, too much {Counter(part) - group}"
            )
            _check_order(part)
        assert not heard, f"federate {seat} also heard {heard}"

    def readable_all(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(self.readable(argument) for argument in arguments)

    def evoke_all(self) -> None:
        for seat in range(len(self.expected)):
            self.evoke(seat)

    # --- calls ------------------------------------------------------------------------------------------------

    def set_of(self, names: set[str]) -> set[AttributeHandle]:
        return {self.attributes[name] for name in names}

    def do(self, operation: str, seat: int, *args: Any) -> None:
        getattr(self, f"do_{operation}")(seat, self.real.rti[seat], *args)

    def do_join(self, seat: int, rti: Any) -> None:
        self.evoke(seat)

        def real() -> Any:
            handle = rti.join_federation_execution(f"federate {seat}", "test", "range")
            self.federates.append(handle)
            return handle

        self.both(real, lambda handle: self.oracle.join(seat, handle))

    def do_resign(self, seat: int, rti: Any, action: ResignAction) -> None:
        self.evoke(seat)
        self.both(lambda: rti.resign_federation_execution(action), lambda _: self.oracle.resign(seat, action))

    def do_register(self, seat: int, rti: Any, cls: str, name: str | None) -> None:
        def real() -> Any:
            handle = rti.register_object_instance(self.classes[cls], name)
            assert handle not in self.instances
            self.instances.append(handle)
            return handle

        def predict(handle: Any) -> Any:
            given = "" if handle is None else rti.get_object_instance_name(handle)
            return self.oracle.register(seat, cls, name, handle, given)

        self.both(real, predict)

    def do_register_point(self, seat: int, rti: Any, label: str, tag: bytes, chosen: Any) -> None:
        self.both(
            lambda: rti.register_federation_synchronization_point(label, tag, chosen),
            lambda _: self.oracle.register_point(seat, label, tag, chosen and sorted(chosen)),
        )

    def do_set_switch(self, seat: int, rti: Any, name: str, value: bool) -> None:
        self.both(
            lambda: getattr(rti, f"set_{SWITCHES[name]}_switch")(value),
            lambda _: self.oracle.set_switch(seat, name, value),
        )

    def do_divest_if_wanted(self, seat: int, rti: Any, target: Any, names: set[str], tag: bytes) -> None:
        self.both(
            lambda: rti.attribute_ownership_divestiture_if_wanted(target, self.set_of(names), tag),
            lambda given: self.oracle.divest_if_wanted(
                seat, target, names, tag, given and self.readable(given)
            ),
        )

    def do_is_owned(self, seat: int, rti: Any, target: Any, name: str) -> None:
        self.both(
            lambda: rti.is_attribute_owned_by_federate(target, self.attributes[name]),
            lambda answer: self.oracle.is_owned(seat, target, name, answer),
        )

    def do_evoke(self, seat: int, rti: Any) -> None:
        self.evoke(seat)

    def simple(self, seat: int, operation: str, real: Callable[[], Any], *args: Any) -> None:
        self.both(real, lambda _: getattr(self.oracle, operation)(seat, *args))


def _check_order(calls: list[Call]) -> None:
    methods = [method for method, _ in calls]
    for position, (method, arguments) in enumerate(calls):
        if method == "discover_object_instance":
            instance = arguments[0]
            assert all(instance not in args for _, args in calls[:position]), "spoken of before discovery"
        if method == "announce_synchronization_point":
            confirmed = "synchronization_point_registration_succeeded"
            assert confirmed not in methods[position:], "announced before it was confirmed"

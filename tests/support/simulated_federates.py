"""Federates at the nodes of a simulated network, for tests.

A `Seat` is a bare connection: calls are made by the kernel's names of services and arguments, and callbacks are kept as
they come.  That makes a run at an embedded node and a run over a mesh comparable call by call.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from support import small_fom as model
from weft import CallbackModel, EmbeddedNode, FederateAmbassador, ResignAction, RTIambassador, Source
from weft.host import Connection, NodeHost
from weft.host.effects import PendingCall
from weft.host.simulated.simulated import LinkProfile, SimulatedConnection, SimulatedNetwork
from weft.kernel.mom.mom_objects import FIRST
from weft.kernel.state.federation import Instance
from weft.model.errors import RTIexception
from weft.model.handles import (
    AttributeHandle,
    InteractionClassHandle,
    ObjectClassHandle,
    ObjectInstanceHandle,
    ParameterHandle,
)

NAME = "range"
FOM = model.fom()
DELETE = ResignAction.CANCEL_THEN_DELETE_THEN_DIVEST

Heard = tuple[str, tuple[Any, ...]]


class Handles:
    """Names to handles; they are the same at every node and in every federation of this object model."""

    def __init__(self) -> None:
        rti = RTIambassador(EmbeddedNode())
        rti.connect(FederateAmbassador(), CallbackModel.EVOKED)
        rti.create_federation_execution(NAME, [FOM])
        rti.join_federation_execution("handles", NAME)
        self.classes: dict[str, ObjectClassHandle] = {
            name: rti.get_object_class_handle(name) for name in model.OBJECTS
        }
        self.attributes: dict[str, AttributeHandle] = {
            name: rti.get_attribute_handle(handle, name)
            for cls, handle in self.classes.items()
            for name in model.attributes_of(cls)
        }
        self.interactions: dict[str, InteractionClassHandle] = {
            name: rti.get_interaction_class_handle(name) for name in model.INTERACTIONS
        }
        self.parameters: dict[str, ParameterHandle] = {
            name: rti.get_parameter_handle(handle, name)
            for cls, handle in self.interactions.items()
            for name in model.parameters_of(cls)
        }
        self.lane = rti.get_dimension_handle(model.DIMENSION)

    def set_of(self, *names: str) -> frozenset[AttributeHandle]:
        return frozenset(self.attributes[name] for name in names)


@cache
def handles() -> Handles:
    return Handles()


def mesh(nodes: int = 3, seed: int = 1, **profile: float) -> SimulatedNetwork:
    """Nodes S1 (the directory), S2, …"""
    return SimulatedNetwork([f"S{n}" for n in range(1, nodes + 1)], seed, LinkProfile(**profile))


class Seat:
    """A federate without an ambassador: its connection, and every callback with the time at which it was taken."""

    def __init__(self, host: NodeHost, name: str) -> None:
        self.name = name
        self.connection: Connection = host.connect()
        self.trace: list[tuple[float, Heard]] = []

    def call(self, service: str, *arguments: Any) -> Any:
        return self.connection.call(service, arguments)

    def begin(self, service: str, *arguments: Any) -> PendingCall:
        assert isinstance(self.connection, SimulatedConnection)
        return self.connection.begin(service, arguments)

    def heard(self, *methods: str) -> list[Heard]:
        """The callbacks since the last time, or only these of them."""
        taken = []
        while (callback := self.connection.take()) is not None:
            taken.append((callback.method, callback.arguments))
        self.trace += [(self.connection.now(), one) for one in taken]
        return [one for one in taken if not methods or one[0] in methods]

    # --- short ways -------------------------------------------------------------------------------------------

    def create(self, federation: str = NAME, fom: Source = FOM) -> None:
        self.call("create_federation_execution", federation, (fom,), None, "")

    def join(self, federation: str = NAME, *modules: Source) -> Any:
        return self.call("join_federation_execution", federation, "test", self.name, modules)[0]

    def resign(self, action: ResignAction = DELETE) -> None:
        self.call("resign_federation_execution", action)

    def destroy(self, federation: str = NAME) -> None:
        self.call("destroy_federation_execution", federation)

    def publish(self, cls: str, *names: str) -> None:
        self.call("publish_object_class_attributes", handles().classes[cls], handles().set_of(*names))

    def subscribe(self, cls: str, *names: str) -> None:
        self.call("subscribe_object_class_attributes", handles().classes[cls], handles().set_of(*names))

    def publish_interaction(self, cls: str) -> None:
        self.call("publish_interaction_class", handles().interactions[cls])

    def subscribe_interaction(self, cls: str) -> None:
        self.call("subscribe_interaction_class", handles().interactions[cls])

    def register(self, cls: str, *name: str) -> Any:
        return self.call("register_object_instance", handles().classes[cls], *name)

    def update(self, instance: Any, value: bytes, *names: str) -> None:
        values = {handles().attributes[name]: value for name in names}
        self.call("update_attribute_values", instance, values, value)

    def send(self, cls: str, tag: bytes) -> None:
        self.call("send_interaction", handles().interactions[cls], {}, tag)

    def members(self, federation: str = NAME) -> set[str]:
        """Ask who is in a federation; empty if there is none."""
        self.call("list_federation_execution_members", federation)
        (method, arguments) = self.heard()[-1]
        if method == "report_federation_execution_does_not_exist":
            return set()
        return {member.federate_name for member in arguments[1]}

    def federations(self) -> set[str]:
        self.call("list_federation_executions")
        return {one.federation_execution_name for one in self.heard()[-1][1][0]}

    def tags(self, method: str) -> list[bytes]:
        """The tags of the interactions or updates heard since the last time."""
        return [
            arguments[1 if method == "remove_object_instance" else 2] for _, arguments in self.heard(method)
        ]


def seats(network: SimulatedNetwork, *nodes: str) -> list[Seat]:
    """One federate at each of these nodes, called after its place: f1, f2, …"""
    return [Seat(network.at(node), f"f{number}") for number, node in enumerate(nodes, 1)]


def federation(network: SimulatedNetwork, *nodes: str, fom: Source = FOM) -> list[Seat]:
    """The federates have all joined; the home is the first one's node."""
    made = seats(network, *nodes)
    made[0].create(fom=fom)
    for seat in made:
        seat.join()
    network.settle()
    return made


def instances(network: SimulatedNetwork, node: str) -> dict[ObjectInstanceHandle, Instance]:
    """What federates have registered, as that node holds it; without the instances of the MOM."""
    found = network.node(node).federations[NAME].instances
    return {handle: instance for handle, instance in found.items() if handle.number < FIRST}


def outcome(call: Callable[[], Any]) -> Any:
    """What a call returns, or the HLA exception it raises; any other exception is a defect."""
    try:
        return call()
    except RTIexception as error:
        return type(error).__name__, str(error)

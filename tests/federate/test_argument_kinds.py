"""A value of the wrong kind is refused by the same exception wherever the RTI is: in this process, or at a server.

IEEE 1516.1-2025 lists for each service what it raises; an argument of another kind is one that is not defined, not known or not
valid, and where nothing of that is listed RTIinternalError.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import weft
from support.federation import new_directory
from support.node_processes import write_file
from support.raw_client import CONNECT, Raw, create, field, handle, interaction_class, join, publish
from support.server_in_thread import serving
from support.small_fom import fom
from weft import CallbackModel, EmbeddedNode, FederateAmbassador, ResignAction, RTIambassador
from weft.fabric import Topology
from weft.federate.refusals import FACTORIES, SERVICES, errors_of
from weft.federate.services import kinds
from weft.model import errors
from weft.model.enums import CallbackModel as AnyEnum
from weft.model.enums import OrderType, ServiceGroup
from weft.model.handles import DimensionHandle, Handle, ObjectClassHandle, RegionHandle
from weft.model.records import RangeBounds
from weft.model.time import (
    HLAfloat64Interval,
    HLAfloat64Time,
    HLAinteger64Interval,
    HLAinteger64Time,
)

TANK = "Vehicle.GroundVehicle.Tank"
TIMES = "HLAinteger64Time"
WORLDS = ["embedded", "own node", "server"]
# Where the federate goes, or what it needs nobody for.
_ASIDE = {"connect", "disconnect", "leave", "get_hla_version", "get_time_factory", "enable_callbacks"} | {
    "disable_callbacks",
    "query_status",
    "query_survey",
    "steer",
    "correlate",
    "correlate_singly",
    "cancel_correlation",
}


class World:
    """A federate with one of everything: what each parameter may be, by its name."""

    def __init__(self, rti: RTIambassador) -> None:
        self.rti = rti
        rti.create_federation_execution("F", fom(), TIMES)
        me = rti.join_federation_execution("f", "kind", "F")
        vehicle = rti.get_object_class_handle(TANK)
        name = rti.get_attribute_handle(vehicle, "Name")
        fire = rti.get_interaction_class_handle("Event.Fire")
        parameter = rti.get_parameter_handle(fire, "Who")
        rti.publish_object_class_attributes(vehicle, {name})
        rti.publish_interaction_class(fire)
        tank = rti.register_object_instance(vehicle)
        dimension = min(rti.get_available_dimensions_for_object_class(vehicle))
        region = rti.create_region({dimension})
        rti.set_range_bounds(region, dimension, RangeBounds(0, 10))
        rti.commit_region_modifications({region})
        rti.enable_time_regulation(HLAinteger64Interval(1))
        while rti.evoke_callback(0.0):
            pass
        self.sound: dict[str, Any] = {
            "federation_name": "F",
            "fom_modules": fom(),
            "mim_module": "mim.xml",
            "logical_time_implementation_name": TIMES,
            "federate_name": "f",
            "synchronization_point_label": "point",
            "label": "label",
            "synchronization_set": {me},
            "successfully": True,
            "user_supplied_tag": b"",
            "time": HLAinteger64Time(50),
            "lookahead": HLAinteger64Interval(1),
            "order": OrderType.RECEIVE,
            "order_type": OrderType.RECEIVE,
            "order_type_name": "Receive",
            "object_class": vehicle,
            "object_class_name": TANK,
            "class_handle": vehicle,
            "attributes": {name},
            "desired_attributes": {name},
            "confirmed_attributes": {name},
            "attribute": name,
            "attribute_name": "Name",
            "attribute_values": {name: b"x"},
            "interaction_class": fire,
            "interaction_class_name": "Event.Fire",
            "interaction_classes": {fire},
            "parameter": parameter,
            "parameter_name": "Who",
            "parameter_values": {parameter: b"x"},
            "object_instance": tank,
            "object_instance_name": "tank 1",
            "object_instance_names": {"tank 2"},
            "target": tank,
            "federate": me,
            "dimension": dimension,
            "dimension_name": rti.get_dimension_name(dimension),
            "dimensions": {dimension},
            "region": region,
            "regions": {region},
            "range_bounds": RangeBounds(0, 10),
            "attributes_and_regions": [({name}, {region})],
            "transportation_type": rti.get_transportation_type_handle("HLAreliable"),
            "transportation_type_name": "HLAreliable",
            "update_rate_designator": "",
            "service_group": ServiceGroup.TIME_MANAGEMENT,
            "resign_action": ResignAction.NO_ACTION,
            "retraction": weft.model.handles.MessageRetractionHandle(b"x" * 12),
            "value": True,
            "seconds": 1.0,
            "urgency": 1,
            "deadline": 0.0,
            "approximate_minimum_time_in_seconds": 0.0,
            "approximate_maximum_time_in_seconds": 0.0,
        }


_UNHASHABLE: list[Any] = [[]]
WRONG: dict[str, Any] = {
    "None": None,
    "number": 7,
    "below zero": -1,
    "fraction": 0.5,
    "truth": False,
    "text": "nonsense",
    "bytes": b"nonsense",
    "byte array": bytearray(b"nonsense"),
    "class handle": ObjectClassHandle.of(1),
    "dimension handle": DimensionHandle.of(1),
    "handle of another federation": RegionHandle.of(4000),
    "strange handle": Handle(b"strange"),
    "enumeration": AnyEnum.EVOKED,
    "order": OrderType.TIMESTAMP,
    "action": ResignAction.NO_ACTION,
    "float time": HLAfloat64Time(3.0),
    "integer time": HLAinteger64Time(60),
    "float interval": HLAfloat64Interval(1.0),
    "integer interval": HLAinteger64Interval(1),
    "empty tuple": (),
    "list": [1],
    "unhashable": _UNHASHABLE,
    "dict": {"a": "b"},
    "dict of handles": {ObjectClassHandle.of(1): b"x"},
    "dict of numbers": {ObjectClassHandle.of(1): 1},
    "set": {1},
    "set of handles": {ObjectClassHandle.of(1)},
    "pairs": [({1}, {2})],
    "pair": [(1, 2, 3)],
    "bounds": (10, 0),
    "object": object(),
    "class": ObjectClassHandle,
}


@contextlib.contextmanager
def world(kind: str, folder: Path) -> Iterator[World]:
    rti = RTIambassador(EmbeddedNode(save_directory=new_directory()) if kind == "embedded" else None)
    with contextlib.ExitStack() as stack:
        address = ""
        if kind == "own node":
            file = write_file(folder, Topology(("S1",), {"A": ("S1",)}))
            address = f"mesh://S1@{file}"
            stack.callback(weft.stop_node)
        elif kind != "embedded":
            server = stack.enter_context(serving())
            address = server.address()
        rti.connect(FederateAmbassador(), CallbackModel.EVOKED, address)
        try:
            yield World(rti)
        finally:
            rti._lose_connection()


_LAST = (
    "unpublish",
    "unsubscribe",
    "unconditional",
    "local_delete",
    "delete",
    "request_federation",
    "resign",
)


def services() -> list[str]:
    """Those that take something away come last."""
    found = [name for name in SERVICES if name not in _ASIDE | FACTORIES]
    return sorted(found, key=lambda name: [name.startswith(one) for one in _LAST])


def outcome(call: Callable[[], Any]) -> str:
    """The class of what it raises, if anything."""
    try:
        call()
    except Exception as error:
        return type(error).__name__ if str(error) else "an error without a word"
    return "accepted"


def outcomes(here: World) -> dict[tuple[str, str, str], str]:
    found = {}
    for service in services():
        method = getattr(here.rti, service)
        parameters = inspect.signature(getattr(RTIambassador, service)).parameters
        if service == "join_federation_execution":
            wanted = ["federate_name", "federate_type", "federation_name", "additional_fom_modules"]
            sound = dict(zip(wanted, ["g", "kind", "F", ()], strict=True))
        else:
            wanted = [name for name in parameters if name != "self"]
            sound = {name: here.sound[name] for name in wanted}
            for name in wanted:  # what may be left out is, but for what is looked at
                if parameters[name].default is not inspect.Parameter.empty:
                    del sound[name]
        for name in wanted:
            for what, value in WRONG.items():
                if (name == "label" and what == "text") or (
                    "in_seconds" in name and what in ("number", "fraction")
                ):
                    continue  # sound, and lasts
                given = {**sound, name: value}
                found[service, name, what] = outcome(lambda g=given, m=method: m(**g))  # type: ignore[misc]
    return found


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str, str], str]:
    with world("embedded", tmp_path_factory.mktemp("embedded")) as here:
        return outcomes(here)


@pytest.mark.parametrize("kind", WORLDS[1:])
def test_a_wrong_kind_is_refused_alike_everywhere(
    kind: str,
    embedded: dict[tuple[str, str, str], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every service, every parameter, every wrong kind: the same class of exception as by an embedded node."""
    monkeypatch.setenv("WEFT_SERVE_RUN_DIRECTORY", str(tmp_path / "runs"))
    with world(kind, tmp_path) as here:
        found = outcomes(here)
    differences = {key: (embedded[key], other) for key, other in found.items() if other != embedded[key]}
    assert differences == {}


def test_a_wrong_kind_is_refused_by_what_the_standard_lists(
    embedded: dict[tuple[str, str, str], str],
) -> None:
    """Or by what is there for times and orders of Weft's own arguments; never by an error of Python's."""
    own = {"InvalidLogicalTime", "InvalidOrderType", "InvalidLookahead", "accepted"}
    others = {key: raised for key, raised in embedded.items() if raised not in {*errors_of(key[0]), *own}}
    assert others == {}


def test_each_service_that_goes_to_the_node_has_its_kinds() -> None:
    """A service that was forgotten in the table would be looked at by nobody."""
    text = "".join(
        inspect.getsource(module)
        for module in (
            weft.federate.ambassador,
            weft.federate.services.federation,
            weft.federate.services.declaration,
            weft.federate.services.object,
            weft.federate.services.ownership,
            weft.federate.services.time,
            weft.federate.services.data_distribution,
            weft.federate.services.support,
        )
    )
    without = {"query_status", "survey", "steer"}
    for service in services():
        if f'"{service}", ()' in text or f'_call("{service}"' not in text:
            continue
        assert service in kinds.SERVICES or service in without, service


# --- logical time -------------------------------------------------------------------------------------------------

TIMED: dict[str, Callable[[World, Any], Any]] = {
    "time_advance_request": lambda w, t: w.rti.time_advance_request(t),
    "time_advance_request_available": lambda w, t: w.rti.time_advance_request_available(t),
    "next_message_request": lambda w, t: w.rti.next_message_request(t),
    "next_message_request_available": lambda w, t: w.rti.next_message_request_available(t),
    "flush_queue_request": lambda w, t: w.rti.flush_queue_request(t),
    "request_federation_save": lambda w, t: w.rti.request_federation_save("s", t),
    "update": lambda w, t: w.rti.update_attribute_values(
        w.sound["object_instance"], w.sound["attribute_values"], b"", t
    ),
    "send": lambda w, t: w.rti.send_interaction(
        w.sound["interaction_class"], w.sound["parameter_values"], b"", t
    ),
    "delete": lambda w, t: w.rti.delete_object_instance(w.sound["object_instance"], b"", t),
    "commit": lambda w, t: w.rti.commit_region_modifications(w.sound["regions"], time=t),
}


@pytest.mark.parametrize("settings", ["", "FedPro.asyncUpdates=true"])
def test_a_time_of_another_kind_is_refused_at_the_call(settings: str) -> None:
    """Clause 8.8 and all others with a time: 3.0 in an integer federation is not 4613937818241073152, waited for or not."""
    with serving() as server:
        rti = RTIambassador()
        rti.connect(
            FederateAmbassador(),
            CallbackModel.EVOKED,
            weft.RtiConfiguration("", server.address(), settings),
        )
        here = World(rti)
        for call in TIMED.values():
            with pytest.raises(errors.InvalidLogicalTime, match="HLAinteger64Time"):
                call(here, HLAfloat64Time(3.0))
        for lookahead in (rti.enable_time_regulation, rti.modify_lookahead):
            with pytest.raises(errors.InvalidLookahead, match="HLAinteger64Interval"):
                lookahead(HLAfloat64Interval(1.0))
        assert rti.query_logical_time() == HLAinteger64Time(0)
        rti._lose_connection()


BAD_TIMES = [b"", b"1234567", b"123456789", b"\xff" * 8, b"\x80" + bytes(7)]


@pytest.mark.parametrize("times", [TIMES, "HLAfloat64Time"])
def test_time_bytes_that_are_no_time_are_refused_by_the_server(times: str) -> None:
    """Whoever sends them: of another length, below the first time, or no number; InvalidLogicalTime or InvalidLookahead."""
    bad = [one for one in BAD_TIMES if times == TIMES or one != b"\x80" + bytes(7)]  # as a float that is zero
    with serving() as server, Raw(server.ports["tcp"]) as raw:
        raw.greet()
        raw.call(CONNECT)
        raw.call(create("F", times))
        raw.call(join("F"))
        kind = raw.call(interaction_class("Fire"))[-4:]
        raw.call(publish(kind))
        for time in bad:
            encoded = field(1, time) if time else b""
            for number in (93, 94, 95, 96, 97):
                assert b"InvalidLogicalTime" in raw.call(field(number, field(1, encoded))), (number, time)
            timed = field(65, field(1, handle(kind)), field(2, b""), field(3, b""), field(4, encoded))
            assert b"InvalidLogicalTime" in raw.call(timed), time
            assert b"InvalidLookahead" in raw.call(field(89, field(1, encoded))), time

"""Calls and callbacks through the codec: what the ambassador says at one end comes out at the other.

The calls are those of the real RTIambassador, all its methods driven over a connection that only writes down what it is asked.
"""

from __future__ import annotations

import inspect
import itertools
import re
import typing
from collections.abc import Iterator, Mapping, Sequence, Set
from enum import Enum
from types import UnionType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.federate import FederateAmbassador, RTIambassador
from weft.federate.awaited import Awaited
from weft.kernel import INTERNAL, SERVICES
from weft.model import enums, errors, handles
from weft.model.records import (
    ConfigurationResult,
    Credentials,
    FederateRestoreStatus,
    FederationExecutionInformation,
    FederationExecutionMemberInformation,
    MessageRetractionReturn,
    RangeBounds,
    RtiConfiguration,
    Source,
    TimeQueryReturn,
)
from weft.model.time import (
    HLAfloat64Interval,
    HLAfloat64Time,
    HLAinteger64Interval,
    HLAinteger64Time,
    time_factory,
)
from weft.wire import CALLBACK_SUCCEEDED, CompressedModule, ModuleUrl, ServiceCodec, WireError
from weft.wire.codec.callbacks import callback_forms
from weft.wire.codec.calls import call_forms
from weft.wire.codec.schema import HLA4_EXCEPTIONS, schema
from weft.wire.own import extensions

CODEC = ServiceCodec(time_factory("HLAinteger64Time"))
FEDERATE = handles.FederateHandle.of(1)
ATTRIBUTE = handles.AttributeHandle.of(1)
BOUNDS = RangeBounds(2, 300)
MODULES = (Source("a.xml", b"<a/>"), Source("b.xml", b""))


# --- sample values by type ------------------------------------------------------------------------------------


def samples(kind: Any) -> list[Any]:
    """One or more values of a type as the ambassadors annotate it."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, UnionType):
        return [value for one in arguments if one is not type(None) for value in samples(one)]
    if origin is tuple:
        return [tuple(samples(one)[0] for one in arguments)]
    if origin is not None and issubclass(origin, Mapping):
        return [{samples(arguments[0])[0]: b"value"}, {}]
    if origin is not None and issubclass(origin, Set):
        return [frozenset(samples(arguments[0])), frozenset()]
    if origin is not None and issubclass(origin, Sequence):
        return [list(samples(arguments[0])), []]
    if kind in SAMPLES:
        return SAMPLES[kind]
    if issubclass(kind, handles.Handle):
        return [kind.of(1)]
    assert issubclass(kind, Enum)
    return list(kind)


SAMPLES: dict[Any, list[Any]] = {
    HLAinteger64Time: [HLAinteger64Time(7)],
    HLAfloat64Time: [],  # a federation has one representation
    HLAinteger64Interval: [HLAinteger64Interval(0)],
    HLAfloat64Interval: [],
    float: [],  # stands for a time, and is one before it is encoded
    str: ["name", ""],
    bytes: [b"tag", b""],
    bool: [True, False],
    RangeBounds: [BOUNDS],
    FederationExecutionInformation: [FederationExecutionInformation("F", "HLAfloat64Time")],
    FederationExecutionMemberInformation: [FederationExecutionMemberInformation("f", "")],
    FederateRestoreStatus: [
        FederateRestoreStatus(FEDERATE, handles.FederateHandle.of(2), enums.RestoreStatus.FEDERATE_RESTORING)
    ],
}
# What the annotations do not tell: regions are conveyed by value, and these two may really be None.
CONVEYED = frozenset({frozenset({(handles.DimensionHandle.of(1), BOUNDS)})})
PARAMETERS: dict[str, list[Any]] = {
    "optional_sent_regions": [None, frozenset(), CONVEYED],
    "optional_retraction": [handles.MessageRetractionHandle.of(1), None],
}


def argument_lists(function: Any) -> Iterator[tuple[Any, ...]]:
    """Arguments to try: every sample once, optional parameters present and absent."""
    hints = typing.get_type_hints(function)
    parameters = [p for p in inspect.signature(function).parameters.values() if p.name != "self"]
    parameters = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]  # Weft's own: see test_own_fields
    required = sum(p.default is p.empty for p in parameters)
    pools = [PARAMETERS.get(p.name) or samples(hints[p.name]) for p in parameters]
    for length in range(required, len(parameters) + 1):
        for row in range(max(map(len, pools), default=1)):
            yield tuple(pool[row % len(pool)] for pool in pools[:length])


# --- calls ----------------------------------------------------------------------------------------------------


class Notebook:
    """A connection that writes down what it is asked."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []

    def call(self, service: str, arguments: tuple[Any, ...]) -> Any:
        self.calls.append((service, arguments))
        return handles.FederateHandle.of(1), "HLAinteger64Time"

    def forget_federation(self) -> None:
        """There is nothing to forget."""


OWN = sorted(extensions.SERVICES)
"""Weft's own services, which go another way (`test_extensions`)."""


def ambassador_calls() -> list[tuple[str, tuple[Any, ...]]]:
    """What the ambassador asks of the RTI in all its methods."""
    rti = RTIambassador()
    notebook = Notebook()
    rti._connection = typing.cast(Any, notebook)
    rti.join_federation_execution("type", "F")  # from here on there is a kind of logical time
    for name, method in inspect.getmembers(RTIambassador, inspect.isfunction):
        special = name in ("connect", "disconnect", *OWN) or "federation_execution" in name
        asks = re.search(r"\._(call\w*|ask\w*|send_\w+|advance|acquire)\(", inspect.getsource(method))
        if asks and not name.startswith("_") and not special:
            for arguments in argument_lists(method):
                try:
                    method(rti, *arguments)
                except errors.RTIinternalError as error:
                    if "the RTI answered" not in str(error):  # the notebook answers all alike
                        raise
                rti._awaited = Awaited()  # as if it had been told
    for modules, time in itertools.product((MODULES, MODULES[:1], ()), ("", "HLAinteger64Time")):
        rti.create_federation_execution("F", modules, time)
        rti.create_federation_execution_with_mim("F", modules, MODULES[0], time)
    for modules in (MODULES, ()):
        rti.join_federation_execution("type", "F", modules)
        rti.join_federation_execution("name", "type", "F", modules)
    rti.destroy_federation_execution("F")
    rti.list_federation_executions()
    rti.list_federation_execution_members("F")
    for action in enums.ResignAction:
        rti.resign_federation_execution(action)
    return [call for call in notebook.calls if call[0] not in OWN]


CALLS = ambassador_calls()
CONFIGURATION = RtiConfiguration("name", "", "API.version=IEEE 1516-2010\nx=y")
CONNECTS: list[tuple[str, tuple[Any, ...]]] = [
    *(
        ("connect", row)
        for row in itertools.product((None, CONFIGURATION), (None, Credentials("type", b"secret")))
    ),
    ("disconnect", ()),
]


def test_every_call_of_the_ambassador_arrives_as_it_was_made() -> None:
    used = set()
    for service, arguments in CALLS + CONNECTS:
        number, payload = CODEC.encode_call(service, arguments)
        if service == "synchronization_point_achieved" and len(arguments) == 1:
            arguments = (*arguments, True)  # the wire has no form without it
        call = CODEC.decode_call(payload)
        assert (call.number, call.service, call.arguments) == (number, service, arguments)
        assert [type(one) for one in call.arguments] == [type(one) for one in arguments]
        used.add(number)
    assert used == set(range(1, 179)), "a call that the ambassador never makes"


def test_the_services_are_those_of_the_kernel() -> None:
    """Every service the wire can carry is one the kernel knows, now or some day; and the other way round."""
    others = {
        "connect", "disconnect", "create_federation_execution", "destroy_federation_execution",
        "list_federation_executions", "list_federation_execution_members", "join_federation_execution",
    }  # fmt: skip
    assert set(call_forms().by_service) == (set(SERVICES) | others) - INTERNAL - set(OWN)


def test_a_form_is_chosen_by_the_arguments_that_are_there() -> None:
    def number(service: str, *arguments: Any) -> int:
        return CODEC.encode_call(service, arguments)[0]

    one, several, mim = MODULES[:1], MODULES, MODULES[1]
    create = "create_federation_execution"
    assert [number(create, "F", one, None, ""), number(create, "F", one, None, "HLAfloat64Time")] == [6, 7]
    assert [number(create, "F", several, None, ""), number(create, "F", (), None, "HLAfloat64Time")] == [8, 9]
    assert [number(create, "F", one, mim, ""), number(create, "F", several, mim, "HLAfloat64Time")] == [
        10,
        11,
    ]
    join = "join_federation_execution"
    assert [number(join, "F", "t", None, ()), number(join, "F", "t", None, one)] == [15, 16]
    assert [number(join, "F", "t", "n", ()), number(join, "F", "t", "n", one)] == [17, 18]
    update = "request_attribute_value_update"
    both = handles.ObjectInstanceHandle.of(1), handles.ObjectClassHandle.of(1)
    assert [schema().calls[number(update, target, {ATTRIBUTE}, b"") - 1] for target in both] == [
        "RequestInstanceAttributeValueUpdate", "RequestClassAttributeValueUpdate",
    ]  # fmt: skip


def test_modules_that_are_still_packed_or_elsewhere_arrive_as_such() -> None:
    modules = (CompressedModule(b"PK"), ModuleUrl("http://x"), MODULES[0])
    arguments = ("F", modules, ModuleUrl("mim.xml"), "")
    assert (
        CODEC.decode_call(CODEC.encode_call("create_federation_execution", arguments)[1]).arguments
        == arguments
    )


RESULTS: dict[str, list[Any]] = {
    "": [None],
    "JoinResult": [(handles.FederateHandle.of(1), "HLAinteger64Time")],
    "ConfigurationResult": [
        ConfigurationResult(), ConfigurationResult(True, True, enums.AdditionalSettingsResultCode(2), "hi")
    ],
    "MessageRetractionReturn": [
        MessageRetractionReturn(False, None), MessageRetractionReturn(True, handles.MessageRetractionHandle.of(1))
    ],
    "TimeQueryReturn": [TimeQueryReturn(False, None), TimeQueryReturn(True, HLAinteger64Time(9))],
    "LogicalTime": [HLAinteger64Time(0)],
    "LogicalTimeInterval": [HLAinteger64Interval(1)],
    "AttributeHandleSet": [frozenset(), frozenset({ATTRIBUTE})],
    "DimensionHandleSet": [frozenset(), frozenset({handles.DimensionHandle.of(1)})],
    "RangeBounds": [BOUNDS, RangeBounds(0, 0)],
    "string": ["name"],
    "bool": [True, False],
    "uint32": [0, 4_000_000_000],
    "double": [0.0, 2.5],
}  # fmt: skip


def results(call: str) -> list[Any]:
    message = schema().messages[f"{call}Response"]
    kind = message[0].type if message else ""
    return RESULTS[kind] if kind in RESULTS else samples(getattr(handles, kind, None) or getattr(enums, kind))


def test_every_result_arrives_as_it_was_given() -> None:
    for number, call in enumerate(schema().calls, 1):
        for value in results(call):
            payload = CODEC.encode_response(number, value)
            assert payload[0] | (payload[1] << 7 if payload[0] & 0x80 else 0) != 0
            got = CODEC.decode_response(number, payload)
            assert (got, type(got)) == (value, type(value))


def test_results_are_present_even_when_empty() -> None:
    """FEDPRO section 4: the member of the oneof, and a result that is a message, must be there."""
    by_name = {name: number for number, name in enumerate(schema().calls, 1)}
    assert CODEC.encode_response(13) == bytes.fromhex("72 00")
    divested = CODEC.encode_response(by_name["AttributeOwnershipDivestitureIfWanted"], frozenset())
    assert divested[2:] == bytes.fromhex("02 0a 00")
    query = CODEC.encode_response(by_name["QueryGALT"], TimeQueryReturn(False, None))
    assert query[-8:] == bytes(8), "the C++ client decodes the time even when it is not valid"
    assert CODEC.encode_response(by_name["SendInteractionWithTime"], MessageRetractionReturn(False, None))[
        2:
    ] == (bytes.fromhex("02 0a 00"))
    with pytest.raises(WireError, match=r"GetFederateNameResponse.result"):
        CODEC.encode_response(by_name["GetFederateName"], None)
    with pytest.raises(WireError, match="DisconnectResponse"):
        CODEC.encode_response(by_name["Disconnect"], 1)


# --- exceptions -----------------------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(name=st.sampled_from(sorted(vars(errors))), details=st.text(max_size=20))
def test_an_exception_is_raised_at_the_caller(name: str, details: str) -> None:
    kind = errors.rti_exception(name) if name in HLA4_EXCEPTIONS else errors.RTIinternalError
    with pytest.raises(kind) as raised:
        CODEC.decode_response(64, CODEC.encode_exception(name, details))
    assert str(raised.value) == (details if kind.__name__ == name else f"{name}: {details}")


def test_details_that_are_no_text_do_not_hide_the_exception() -> None:
    with pytest.raises(errors.CouldNotOpenFOM, match=r"\?"):
        CODEC.decode_response(6, CODEC.encode_exception("CouldNotOpenFOM", "\udcff"))


def test_a_client_of_2010_is_told_names_it_knows() -> None:
    """Those of the C++ client; the Java client translates two of them itself, and either may be the one unknown."""
    evolved = ServiceCodec(evolved=True)
    assert evolved.encode_exception("CouldNotOpenFOM", "x") == _exception("CouldNotOpenFOM", "x")
    evolved.java = True
    assert evolved.encode_exception("ErrorReadingFOM", "x") == _exception("ErrorReadingFOM", "x")
    evolved.java = False
    unknown_there = {
        "CouldNotOpenFOM": "CouldNotOpenFDD", "ErrorReadingFOM": "ErrorReadingFDD",
        "InconsistentFOM": "InconsistentFDD", "InvalidFOM": "ErrorReadingFDD", "InvalidMIM": "ErrorReadingMIM",
        "InvalidCredentials": "ConnectionFailed", "Unauthorized": "RTIinternalError",
        "InvalidObjectInstanceHandle": "ObjectInstanceNotKnown",
        "InvalidTransportationTypeHandle": "InvalidTransportationType",
        "ReportServiceInvocationsAreSubscribed": "RTIinternalError",
    }  # fmt: skip
    for name, told in unknown_there.items():
        assert evolved.encode_exception(name, "x") == _exception(told, f"{name}: x")
        assert CODEC.encode_exception(name, "x") == _exception(name, "x")
    assert evolved.encode_exception("NameNotFound", "x") == _exception("NameNotFound", "x")
    assert evolved.encode_exception("CouldNotOpenFDD", "x") == _exception("CouldNotOpenFDD", "x")
    assert CODEC.encode_exception("CouldNotOpenFDD", "x") == _exception(
        "RTIinternalError", "CouldNotOpenFDD: x"
    )


def _exception(name: str, details: str) -> bytes:
    content = bytes([0x0A, len(name)]) + name.encode() + bytes([0x12, len(details)]) + details.encode()
    return bytes([0x0A, len(content)]) + content


# --- callbacks ------------------------------------------------------------------------------------------------


def callbacks() -> Iterator[tuple[str, tuple[Any, ...]]]:
    for name, method in inspect.getmembers(FederateAmbassador, inspect.isfunction):
        if name in extensions.CALLBACKS:
            continue  # Weft's own
        forms = callback_forms().by_service[name]
        for arguments in argument_lists(method):
            if any(form.fits(arguments) for form in forms):  # a time comes with all that goes with it
                yield name, arguments


def test_every_callback_arrives_as_it_was_made() -> None:
    used = set()
    for method, arguments in callbacks():
        payload = CODEC.encode_callback(method, arguments)
        assert CODEC.decode_callback(payload) == (method, arguments)
        used.add(payload[0] >> 3 if payload[0] < 0x80 else (payload[0] & 0x7F | payload[1] << 7) >> 3)
    assert used == set(range(1, 63)), "a callback that is never made"


def test_acknowledgements() -> None:
    assert CODEC.decode_callback_response(CALLBACK_SUCCEEDED) is None
    failed = CODEC.encode_callback_failure("FederateInternalError", "ouch")
    assert CODEC.decode_callback_response(failed) == ("FederateInternalError", "ouch")


# --- what was recorded with the real C++ client (FEDPRO section 7) ----------------------------------------------


def test_recorded_connect() -> None:
    payload = bytes.fromhex("1a 02 0a 00")
    assert CODEC.decode_call(payload) == (3, "connect", (RtiConfiguration(), None))
    assert CODEC.encode_call("connect", (RtiConfiguration(), None)) == (3, payload)
    assert CODEC.decode_response(3, bytes.fromhex("22 00")) == ConfigurationResult()


def test_recorded_join() -> None:
    payload = bytes.fromhex(
        "82 01 1d  0a 05 70 72 6f 62 65  12 12 4e 6f 20 73 75 63 68 20 66 65 64 65 72 61 74 69 6f 6e  1a 00"
    )
    join = "join_federation_execution"
    assert CODEC.decode_call(payload) == (16, join, ("No such federation", "probe", None, ()))
    result = (handles.FederateHandle(b"\0\0\0\1"), "HLAinteger64Time")
    response = bytes.fromhex(
        "8a 01 1c  0a 1a  0a 06 0a 04 00 00 00 01  12 10 48 4c 41 69 6e 74 65 67 65 72 36 34 54 69 6d 65"
    )
    assert CODEC.encode_response(16, result) == response
    assert CODEC.decode_response(16, response) == result


def test_recorded_destroy_and_its_exception() -> None:
    payload = bytes.fromhex("62 0d 0a 0b 50 72 6f 62 65 2d 32 36 36 33 36")
    assert CODEC.encode_call("destroy_federation_execution", ("Probe-26636",)) == (12, payload)
    assert CODEC.decode_call(payload) == (12, "destroy_federation_execution", ("Probe-26636",))
    response = bytes.fromhex(
        "0a 25  0a 1f 46 65 64 65 72 61 74 69 6f 6e 45 78 65 63 75 74 69 6f 6e 44 6f 65 73 4e 6f 74 45 78 69 73 74"
        "12 02 6e 6f"
    )
    assert CODEC.encode_exception("FederationExecutionDoesNotExist", "no") == response
    with pytest.raises(errors.FederationExecutionDoesNotExist, match=r"^no$"):
        CODEC.decode_response(12, response)


def test_recorded_report_of_federation_executions() -> None:
    payload = bytes.fromhex("12 17  0a 15  0a 13  0a 01 46  12 0e 48 4c 41 66 6c 6f 61 74 36 34 54 69 6d 65")
    arguments = (frozenset({FederationExecutionInformation("F", "HLAfloat64Time")}),)
    assert CODEC.encode_callback("report_federation_executions", arguments) == payload
    assert CODEC.decode_callback(payload) == ("report_federation_executions", arguments)


def test_recorded_disconnect() -> None:
    assert CODEC.encode_call("disconnect", ()) == (5, bytes.fromhex("2a 00"))
    assert CODEC.decode_call(bytes.fromhex("2a 00")) == (5, "disconnect", ())
    assert CODEC.encode_response(5) == bytes.fromhex("32 00")

"""Federates of the 2010 edition (HLA Evolved): what they meet where the editions differ.

Their clients speak the protocol of HLA 4, and say so in the settings they connect with.  What they cannot read they drop, or
stop at; so each of these was seen to fail with a client, and is held here by the bytes.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from support.foreign_client import Foreign
from support.server_in_thread import serving
from weft import HLAinteger64Interval, HLAinteger64Time, Source
from weft.cli.data import object_model
from weft.host.settings import ServeSettings
from weft.wire.codec.values import CompressedModule, ModuleUrl

# An object model of the 2010 edition; STATE is that of its switch.
SWITCHED = """<?xml version="1.0" encoding="utf-8"?>
<objectModel xmlns="http://standards.ieee.org/IEEE1516-2010">
  <modelIdentification><name>Switched</name><type>FOM</type><version>1</version></modelIdentification>
  <objects><objectClass><name>HLAobjectRoot</name><objectClass><name>Tank</name><sharing>PublishSubscribe</sharing>
    <attribute><name>Fuel</name><dataType>HLAinteger32BE</dataType><updateType>Static</updateType>
      <ownership>DivestAcquire</ownership><sharing>PublishSubscribe</sharing>
      <transportation>HLAreliable</transportation><order>Receive</order></attribute>
  </objectClass></objectClass></objects>
  <switches><conveyProducingFederate isEnabled="STATE"/></switches>
</objectModel>
"""


def _federation(*federates: Foreign, time: str = "HLAinteger64Time") -> None:
    federates[0].call("create_federation_execution", "F", (object_model("range.xml"),), None, time)
    for number, federate in enumerate(federates):
        federate.join("F", f"f{number}")


def test_a_flush_ends_with_a_time_advance_grant() -> None:
    """1516.1-2010, 8.12: Flush Queue Request is completed by Time Advance Grant; Flush Queue Grant is of 2025."""
    with serving() as running:
        old, new = Foreign(running.ports["tcp"]), Foreign(running.ports["tcp"], settings="")
        _federation(old, new)
        for federate in (old, new):
            federate.call("enable_time_regulation", HLAinteger64Interval(1))
            federate.expect("time_regulation_enabled")
            federate.call("flush_queue_request", HLAinteger64Time(5))
        assert old.expect("time_advance_grant") == (HLAinteger64Time(5),)
        assert new.expect("flush_queue_grant") == (HLAinteger64Time(5), HLAinteger64Time(5))
        old.call("time_advance_request", HLAinteger64Time(6))
        assert old.expect("time_advance_grant") == (HLAinteger64Time(6),)


def test_who_is_only_constrained_is_granted_though_nobody_regulates() -> None:
    """1516.1-2010, 8.8: without a regulating federate GALT holds nobody back; 2025 asks a switch, which is off."""
    with serving() as running:
        new, old = Foreign(running.ports["tcp"], settings=""), Foreign(running.ports["tcp"])
        _federation(new, old)
        for federate in (new, old):
            federate.call("enable_time_constrained")
            federate.expect("time_constrained_enabled")
            federate.call("time_advance_request", HLAinteger64Time(5))
        assert old.expect("time_advance_grant") == (HLAinteger64Time(5),)
        new.call("query_galt")
        assert not new.waiting


@pytest.mark.parametrize("conveys", [False, True])
def test_discovery_without_the_producing_federate_unless_it_is_to_be_conveyed(conveys: bool) -> None:
    """1516.1-2010, 6.9: the producing federate comes with discovery if Convey Producing Federate is on; 2025 always has it.

    A client invokes the shorter of its federate's two callbacks only if no producing federate came.
    """
    with serving() as running:
        old, new = Foreign(running.ports["tcp"]), Foreign(running.ports["tcp"], settings="")
        fom = Source("Switch.xml", SWITCHED.replace("STATE", str(conveys).lower()).encode())
        old.call("create_federation_execution", "F", (fom,), None, "HLAinteger64Time")
        producer = new.join("F", "new")
        old.join("F", "old")
        tank = new.call("get_object_class_handle", "Tank")
        fuel = new.call("get_attribute_handle", tank, "Fuel")
        for federate in (old, new):
            federate.call("subscribe_object_class_attributes", tank, frozenset([fuel]))
        for federate, other in ((old, new), (new, old)):
            federate.call("publish_object_class_attributes", tank, frozenset([fuel]))
            made = federate.call("register_object_instance", tank)
            found, kind, _, who = other.expect("discover_object_instance")
            assert (found, kind) == (made, tank)
            assert bool(who) is (conveys or other is new)
            if other is old and conveys:
                assert who == producer


def test_being_resigned_by_another_is_not_told() -> None:
    """Federate Resigned is of 2025; an older client stops at a callback that it does not know."""
    with serving() as running:
        old, new = Foreign(running.ports["tcp"]), Foreign(running.ports["tcp"], settings="")
        _federation(old, new)
        victim = old.call("get_federate_handle", "f0")
        service = "HLAmanager.HLAfederate.HLAservice.HLAresignFederationExecution"
        resign = new.call("get_interaction_class_handle", service)
        who, how = (new.call("get_parameter_handle", resign, n) for n in ("HLAfederate", "HLAresignAction"))
        new.call("publish_interaction_class", resign)
        new.call("send_interaction", resign, {who: bytes(victim), how: b"\0\0\0\5"}, b"")
        assert old.refused("query_logical_time")[0] == "FederateNotExecutionMember"
        assert not old.waiting


def _zipped(text: bytes) -> CompressedModule:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("Bad.xml", text)
    return CompressedModule(made.getvalue())


NO_XML = b"<objectModel><objects>" + b" " * 2000
# One module says that Tank has an attribute Fuel, the other that it is a number of another kind.
OTHER = SWITCHED.replace("HLAinteger32BE", "HLAinteger64BE").encode()


@pytest.mark.parametrize(
    ("modules", "cpp", "java"),
    [
        ([NO_XML], "ErrorReadingFDD", "ErrorReadingFOM"),
        ([SWITCHED.replace("STATE", "false").encode(), OTHER], "InconsistentFDD", "InconsistentFDD"),
        ([b""], "CouldNotOpenFDD", "CouldNotOpenFOM"),
    ],
)
def test_exceptions_have_the_names_that_the_client_knows(modules: list[bytes], cpp: str, java: str) -> None:
    """Two clients of 2010, two sets of names: of an unknown one the federate gets RTIinternalError.

    The one in Java sends larger modules compressed and addresses with their scheme, the one in C++ as they are.
    """
    with serving() as running:
        for compressed, expected in ((False, cpp), (True, java)):
            federate = Foreign(running.ports["tcp"])
            sent: list[Source | CompressedModule | ModuleUrl] = []
            for text in modules:
                if not text:
                    sent.append(ModuleUrl("jar:file:/f.jar!/Bad.xml" if compressed else "Bad.xml"))
                else:
                    sent.append(_zipped(text) if compressed else Source("Bad.xml", text))
            name, _ = federate.refused(
                "create_federation_execution", "F", tuple(sent), None, "HLAinteger64Time"
            )
            assert name == expected


_ADJUST = "HLAmanager.HLAfederate.HLAadjust"
_REPORT = "HLAmanager.HLAfederate.HLAreport"


@pytest.mark.parametrize("creator", ["old", "new"])
@pytest.mark.parametrize("what", ["Service", "Exception"])
def test_reports_are_turned_on_with_the_interactions_of_2010(creator: str, what: str) -> None:
    """1516.1-2010, 11.4.2: HLAsetServiceReporting and HLAsetExceptionReporting; 2025 has them as parameters of HLAsetSwitches."""
    report = {"Service": "HLAreportServiceInvocation", "Exception": "HLAreportException"}[what]
    with serving() as running:
        old, new = Foreign(running.ports["tcp"]), Foreign(running.ports["tcp"], settings="")
        _federation(*((old, new) if creator == "old" else (new, old)))
        subject = new.call("get_federate_handle", "f1" if creator == "old" else "f0")
        told = old.call("get_interaction_class_handle", f"{_REPORT}.{report}")
        old.call("subscribe_interaction_class", told)
        adjust = old.call("get_interaction_class_handle", f"{_ADJUST}.HLAset{what}Reporting")
        who, state = (
            old.call("get_parameter_handle", adjust, n) for n in ("HLAfederate", "HLAreportingState")
        )
        old.call("publish_interaction_class", adjust)
        for on in (True, False):
            old.call("send_interaction", adjust, {who: subject.encode(), state: bytes([0, 0, 0, on])}, b"")
            if what == "Service":
                new.call("query_logical_time")
            else:
                new.refused("get_object_class_handle", "There is none")
            if on:
                kind, values, *_ = old.expect("receive_interaction")
                assert kind == told
                assert values[old.call("get_parameter_handle", told, "HLAfederate")] == b"\0\0\0\4" + subject
        old.call("query_logical_time")
        assert not old.waiting


def test_a_client_that_is_known_keeps_its_names() -> None:
    """An address with a scheme might be either's; a large module as it is was the C++ client's, and one that is packed Java's."""
    with serving() as running:
        for shown, expected in (
            (Source("a.xml", NO_XML), "CouldNotOpenFDD"),
            (_zipped(NO_XML), "CouldNotOpenFOM"),
        ):
            federate = Foreign(running.ports["tcp"])
            for module in (shown, ModuleUrl("http://h/a.xml")):
                name, _ = federate.refused("create_federation_execution", "F", (module,), None, "")
            assert name == expected


def test_it_is_granted_alone_after_a_restore_too(tmp_path: Path) -> None:
    """What a federate of 2010 is granted by is a part of its state, and of the federation's save (4.19)."""
    with serving(serve=ServeSettings(save_directory=str(tmp_path))) as running:
        old = Foreign(running.ports["tcp"])
        _federation(old)
        old.call("enable_time_constrained")
        old.expect("time_constrained_enabled")
        old.call("request_federation_save", "here")
        old.expect("initiate_federate_save")
        old.call("federate_save_begun")
        old.call("federate_save_complete")
        old.expect("federation_saved")
        for time in (5, 7):
            old.call("time_advance_request", HLAinteger64Time(time))
            assert old.expect("time_advance_grant") == (HLAinteger64Time(time),)
            if time == 5:
                old.call("request_federation_restore", "here")
                for method in (
                    "request_federation_restore_succeeded",
                    "federation_restore_begun",
                    "initiate_federate_restore",
                ):
                    old.expect(method)
                old.call("federate_restore_complete")
                old.expect("federation_restored")
                assert old.call("query_logical_time") == HLAinteger64Time(0)

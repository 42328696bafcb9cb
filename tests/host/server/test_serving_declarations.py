"""Synchronized declarations at a server (S4-21): for clients that make none but the standard's calls, as an unmodified one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from support.random_declarations import SIGNAL, plain_fom
from support.recording_ambassador import Recorder
from support.server_in_thread import WAIT, serving
from weft import CallbackModel, RTIambassador, RtiConfiguration
from weft.host.settings import MeshDdmSettings


def until(rti: RTIambassador, condition: Callable[[], bool]) -> None:
    for _ in range(int(WAIT / 0.1)):
        if condition():
            return
        rti.evoke_callback(0.1)
    raise AssertionError("it has not come")


def timed(rti: RTIambassador, log: Recorder) -> None:
    rti.enable_time_regulation(rti.get_time_factory().make_interval(2))
    rti.enable_time_constrained()
    until(rti, lambda: bool(log.of("time_constrained_enabled")) and bool(log.of("time_regulation_enabled")))


def heard(declarations: str) -> list[Any]:
    """One sends ahead of the other, which subscribes at 5; what that one hears up to 20."""
    with serving(ddm=MeshDdmSettings(declarations=declarations)) as running:
        logs = [Recorder(), Recorder()]
        red, blue = RTIambassador(), RTIambassador()
        for rti, log in zip((red, blue), logs, strict=True):
            rti.connect(log, CallbackModel.EVOKED, RtiConfiguration("", running.address()))
        red.create_federation_execution("F", [plain_fom()], "HLAinteger64Time")
        for rti, log in zip((red, blue), logs, strict=True):
            rti.join_federation_execution("test", "F")
            timed(rti, log)
        signal = red.get_interaction_class_handle(SIGNAL)
        red.publish_interaction_class(signal)
        at = red.get_time_factory().make_time
        for time in (4, 7, 12):
            red.send_interaction(signal, {}, b"%d" % time, at(time))

        def advance(time: int) -> None:
            for rti in (red, blue):
                rti.time_advance_request(at(time))
            for rti, log in zip((red, blue), logs, strict=True):
                until(rti, lambda log=log: log.of("time_advance_grant")[-1:] == [(at(time),)])  # type: ignore[misc]

        advance(5)
        blue.subscribe_interaction_class(signal)  # 5 and a lookahead of 2
        red.send_interaction(signal, {}, b"8", at(8))
        advance(8)
        blue.unsubscribe_interaction_class(signal)  # as of 10
        red.send_interaction(signal, {}, b"10", at(10))
        advance(20)
        found = [int(arguments[2]) for arguments in logs[1].of("receive_interaction")]
        for rti in (blue, red):
            rti.leave()
    return found


def test_plain_calls_of_a_client_count_as_of_its_time_plus_lookahead() -> None:
    """By wall clock what was sent before is lost, and what is sent before the end is not wanted comes or not by chance."""
    assert heard("regulating") == [7, 8]
    assert heard("") == [8]

"""When callbacks run (clauses 4.2, 10.57 to 10.60): the two models, threads, errors, and what a callback may do."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from support.federation import NAME, Federation, federation, refused
from support.placement import Placement
from support.recording_ambassador import Recorder
from support.refusals import TANK, tank, within
from support.small_fom import fom
from weft import CallbackModel, RTIambassador
from weft.model.errors import CallNotAllowedFromWithinCallback, NotConnected

IMMEDIATE = CallbackModel.IMMEDIATE


def test_evoked_callbacks_run_one_at_a_time_in_the_callers_thread(placement: Placement) -> None:
    """Clause 10.57: one callback for each call, in order; the answer says whether more are waiting."""
    with federation(1, placement=placement) as f:
        threads: list[int] = []
        f.log[0].on["object_instance_name_reservation_succeeded"] = lambda name: threads.append(
            threading.get_ident()
        )
        for name in ("a", "b"):
            f.rti[0].reserve_object_instance_name(name)
        assert f.log[0].calls == []
        assert f.rti[0].evoke_callback(0.0) is True
        assert f.rti[0].evoke_callback(0.0) is False
        assert f.rti[0].evoke_callback(0.0) is False
        assert [args for _, args in f.log[0].calls] == [("a",), ("b",)]
        assert threads == [threading.get_ident()] * 2


def test_evoke_multiple_callbacks_runs_all_that_fit(placement: Placement) -> None:
    """Clause 10.58: up to the maximum while there are any; with no time at all, one."""
    with federation(1, placement=placement) as f:
        for name in "abcd":
            f.rti[0].reserve_object_instance_name(name)
        assert f.rti[0].evoke_multiple_callbacks(0.0, 0.0) is True
        assert len(f.log[0].calls) == 1
        assert f.rti[0].evoke_multiple_callbacks(0.0, 30.0) is False
        assert len(f.log[0].calls) == 4


def test_a_waiting_federate_is_woken(placement: Placement) -> None:
    """Clause 10.57: a callback that arrives while one waits is run at once, not after the whole minimum time."""
    with federation(2, placement=placement) as f:
        sender = threading.Thread(target=f.rti[1].register_federation_synchronization_point, args=("go", b""))
        sender.start()
        f.rti[0].evoke_callback(60.0)  # the test's own time limit is shorter than two of these
        sender.join()
        assert f.log[0].count("announce_synchronization_point") == 1


def test_a_callback_that_raises_when_evoked(placement: Placement) -> None:
    """The error comes out of the call that evoked it; the callbacks after it are still delivered."""
    with federation(1, placement=placement) as f:
        f.log[0].on["object_instance_name_reservation_succeeded"] = {"a": 1}.__getitem__
        for name in ("a", "b", "a"):
            f.rti[0].reserve_object_instance_name(name)
        f.rti[0].evoke_callback(0.0)
        with pytest.raises(KeyError):
            f.rti[0].evoke_callback(0.0)
        f.rti[0].evoke_callback(0.0)
        assert f.log[0].calls[-1] == ("object_instance_name_reservation_failed", ("a",))
        with refused(NotConnected):  # and one may evoke again: the callback has ended
            RTIambassador(f.node).evoke_callback(0.0)


def test_a_callback_may_call_the_rti(placement: Placement) -> None:
    """All but connecting, joining, resigning and evoking may be done inside a callback."""
    with federation(2, placement=placement) as f:
        f.log[1].on["discover_object_instance"] = lambda instance, *_: f.rti[
            1
        ].request_attribute_value_update(instance, f.attributes("Vehicle", "Position"), b"please")
        f.log[0].on["provide_attribute_value_update"] = lambda instance, *_: f.update(
            0, instance, TANK, "Position"
        )
        tank(f)
        f.drain(1)
        f.drain(0)
        assert f.heard(1) == ["discover_object_instance", "reflect_attribute_values"]


@pytest.mark.parametrize("service", ["connect", "disconnect", "join", "resign", "evoke", "evoke multiple"])
def test_what_a_callback_may_not_call(service: str, placement: Placement) -> None:
    """Clauses 4.2, 4.3, 4.11, 4.12, 10.57, 10.58: these would wait for the very callback that calls them."""
    with federation(1, placement=placement) as f:
        calls: dict[str, Any] = {
            "connect": lambda: f.rti[0].connect(Recorder(), CallbackModel.EVOKED),
            "disconnect": f.rti[0].disconnect,
            "join": lambda: f.join(0),
            "resign": lambda: f.resign(0),
            "evoke": lambda: f.rti[0].evoke_callback(0.0),
            "evoke multiple": lambda: f.rti[0].evoke_multiple_callbacks(0.0, 0.0),
        }
        with refused(CallNotAllowedFromWithinCallback):
            within(f, calls[service])
        f.resign(0)  # after the callback it is allowed again


def test_disabled_callbacks_wait(placement: Placement) -> None:
    """Clauses 10.59 and 10.60: nothing is run and nothing is lost."""
    with federation(1, placement=placement) as f:
        f.rti[0].disable_callbacks()
        f.rti[0].reserve_object_instance_name("a")
        assert f.rti[0].evoke_callback(0.0) is False
        assert f.rti[0].evoke_multiple_callbacks(0.0, 0.0) is False
        assert f.log[0].calls == []
        f.rti[0].enable_callbacks()
        f.rti[0].evoke_callback(0.0)
        assert f.log[0].count("object_instance_name_reservation_succeeded") == 1


# --- immediate ----------------------------------------------------------------------------------------------------


@pytest.mark.one_node
def test_immediate_callbacks_run_in_a_thread_of_their_own(placement: Placement) -> None:
    """Clause 4.2: without evoking, in order, one at a time, never in the thread that made the call."""
    with federation(2, callbacks=IMMEDIATE, placement=placement) as f:
        threads: set[int] = set()
        f.log[1].on["receive_interaction"] = lambda *_: threads.add(threading.get_ident())
        f.rti[0].publish_interaction_class(f.interaction("Event"))
        f.rti[1].subscribe_interaction_class(f.interaction("Event"))
        for number in range(50):
            f.send(0, "Event", "When", tag=b"%d" % number)
        f.log[1].wait_for("receive_interaction", 50)
        assert [args[2] for args in f.log[1].of("receive_interaction")] == [b"%d" % n for n in range(50)]
        assert len(threads) == 1
        assert threading.get_ident() not in threads


def test_immediate_callbacks_can_be_disabled(placement: Placement) -> None:
    """Clauses 10.59 and 10.60, in the IMMEDIATE model: what is held back comes when enabled."""
    with federation(1, callbacks=IMMEDIATE, placement=placement) as f:
        f.rti[0].disable_callbacks()
        f.rti[0].reserve_object_instance_name("a")
        f.rti[0].enable_callbacks()
        f.log[0].wait_for("object_instance_name_reservation_succeeded")


def test_an_immediate_callback_that_raises(monkeypatch: pytest.MonkeyPatch, placement: Placement) -> None:
    """It is reported to threading.excepthook, and the next callback follows."""
    seen: list[type[BaseException]] = []
    monkeypatch.setattr(threading, "excepthook", lambda args: seen.append(args.exc_type))
    with federation(1, callbacks=IMMEDIATE, placement=placement) as f:
        f.log[0].on["object_instance_name_reservation_succeeded"] = {"b": 1}.__getitem__
        f.rti[0].reserve_object_instance_name("a")
        f.rti[0].reserve_object_instance_name("b")
        f.log[0].wait_for("object_instance_name_reservation_succeeded", 2)
    assert seen == [KeyError]


def test_an_immediate_callback_may_not_resign(placement: Placement) -> None:
    """Clause 4.12: the other threads of the federate may, while a callback runs."""
    with federation(1, callbacks=IMMEDIATE, placement=placement) as f:
        caught: list[type[BaseException]] = []

        def resign(label: str) -> None:
            try:
                f.resign(0)
            except CallNotAllowedFromWithinCallback as error:
                caught.append(type(error))

        f.log[0].on["synchronization_point_registration_succeeded"] = resign
        f.rti[0].register_federation_synchronization_point("go", b"")
        f.log[0].wait_for("announce_synchronization_point")
        assert caught == [CallNotAllowedFromWithinCallback]
        f.resign(0)


def test_disconnecting_ends_the_callback_thread(placement: Placement) -> None:
    """Clause 4.3: no thread is left, and the ambassador can connect again."""

    def callback_threads() -> int:
        return sum(thread.name == "weft callbacks" for thread in threading.enumerate())

    assert callback_threads() == 0
    f = Federation(1, callbacks=IMMEDIATE, placement=placement)
    assert callback_threads() == 1
    f.resign(0)
    f.rti[0].disconnect()
    assert callback_threads() == 0
    f.rti[0].connect(f.log[0], CallbackModel.EVOKED)
    f.join(0)
    f.close()


# --- many threads -------------------------------------------------------------------------------------------------


@pytest.mark.one_node
@pytest.mark.parametrize("model", list(CallbackModel))
def test_federates_may_call_from_many_threads_at_once(model: CallbackModel, placement: Placement) -> None:
    """Nothing is lost and each sender's messages stay in order, however the threads interleave."""
    count, senders = 200, 4
    with federation(senders + 1, callbacks=model, placement=placement) as f:
        event = f.interaction("Event")
        listener = senders
        f.rti[listener].subscribe_interaction_class(event)
        f.subscribe(listener, "Vehicle", "Name")
        start = threading.Barrier(senders)
        errors: list[BaseException] = []

        def work(i: int) -> None:
            try:
                start.wait(240)
                f.rti[i].publish_interaction_class(event)
                f.publish(i, TANK, "Name")
                for number in range(count):
                    f.rti[i].send_interaction(event, {}, b"%d" % number)
                    if number % 20 == 0:
                        f.update(i, f.register(i, TANK), TANK, "Name")
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(senders)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert errors == []
        if model is CallbackModel.EVOKED:
            f.drain(listener)
        f.log[listener].wait_for("receive_interaction", count * senders)
        f.log[listener].wait_for("reflect_attribute_values", count // 20 * senders)
        for i in range(senders):
            heard = [a[2] for a in f.log[listener].of("receive_interaction") if a[4] == f.handle(i)]
            assert heard == [b"%d" % number for number in range(count)]
        found = [args[0] for args in f.log[listener].of("discover_object_instance")]
        assert len(found) == len(set(found)) == count // 20 * senders


def test_ambassadors_without_a_host_meet_in_the_process() -> None:
    """Clause 4.2: with no address given, all ambassadors of a process share one node."""
    rtis = [RTIambassador(), RTIambassador()]
    for rti in rtis:
        rti.connect(Recorder(), CallbackModel.EVOKED)
    name = f"{NAME} of {__name__}"
    rtis[0].create_federation_execution(name, [fom()])
    try:
        rtis[1].join_federation_execution("test", name)
    finally:
        rtis[1]._lose_connection()
        rtis[0].destroy_federation_execution(name)
        rtis[0].disconnect()

"""The operator's own call: pause, step, resume, resign; also with federates on three nodes (issue 9, "Steer")."""

from __future__ import annotations

from typing import Any

import pytest

from support.federation import NAME, refused
from support.placement import Placement
from support.saves import LABEL, begin_restore
from support.timed_federation import GRANT, Timed, short
from weft.model.errors import (
    FederateNotExecutionMember,
    FederationExecutionDoesNotExist,
    NameNotFound,
    NotConnected,
    RTIinternalError,
)

TS = "TIMESTAMP"
RO = "RECEIVE"


def steer(f: Timed, action: str, target: Any = None, by: int = 0) -> dict[str, Any]:
    return f.rti[by].steer(action, NAME, target)


def told(f: Timed) -> list[list[Any]]:
    return [f.told(i) for i in range(len(f.rti))]


@pytest.mark.parametrize("kind", ["TAR", "TARA", "NMR", "NMRA", "FQR"])
def test_nothing_is_granted_while_it_is_paused(kind: str, placement: Placement) -> None:
    """Of any kind; all who asked are granted with resume, and have lost nothing."""
    f = Timed(2, placement=placement)
    f.all_timed(2)
    facts = steer(f, "pause", by=1)["paused"]
    assert facts["by"] == "operator"
    assert facts["steps"] == 0
    f.stamp(1, 3, b"a message")
    f.ask(1, "TAR", 4)
    f.ask(0, kind, 4)
    assert told(f) == [[], []]
    assert "paused" not in steer(f, "resume")
    first, second = told(f)
    assert second in ([4], [])  # with FQR federate 0 stays where it may still send
    assert first[0] == (b"a message", 3, TS)
    assert first[-1] == {"TAR": 4, "TARA": 4, "NMR": 3, "NMRA": 3, "FQR": ("flushed", 3, 3)}[kind]


def test_who_is_not_constrained_is_not_granted_either(placement: Placement) -> None:
    f = Timed(2, placement=placement)
    f.regulate(0)
    f.quiet()
    steer(f, "pause")
    f.ask(0, "TAR", 7)
    f.ask(1, "TAR", 9)  # it takes no part in time at all
    assert told(f) == [[], []]
    steer(f, "step")
    assert told(f) == [[7], []]
    steer(f, "resume")
    assert told(f) == [[], [9]]


def test_all_but_time_goes_on(placement: Placement) -> None:
    """Messages in receive order, synchronization points, and who begins to regulate or to be constrained."""
    f = Timed(3, placement=placement)
    f.regulate(0)
    f.quiet()
    steer(f, "pause")
    f.rti[0].register_federation_synchronization_point("there", b"")
    assert all("announce_synchronization_point" in f.heard(i) for i in range(3))
    f.rti[1].send_interaction(f.interaction("Event.Hit"), {}, b"now")
    assert f.told(0) == [b"now"]
    f.regulate(1, 3)
    f.constrain(2)
    assert f.told(1) == [("regulation", 0)]
    assert f.told(2) == [b"now", ("constrained", 0)]


def test_a_step_is_the_next_logical_time_of_all(placement: Placement) -> None:
    """Lookaheads differ: the least time that anybody can be granted, and all who may have it do."""
    f = Timed(3, placement=placement)
    for i, lookahead in enumerate((1, 5, 100)):
        f.regulate(i, lookahead)
        f.constrain(i)
    f.quiet()
    steer(f, "pause")
    for i, time in enumerate((4, 2, 2)):
        f.ask(i, "TAR", time)
    assert told(f) == [[], [], []]
    assert steer(f, "step", by=2)["paused"]["steps"] == 1
    # Federate 0 promises 5, so both may have 2; its own time is not yet.
    assert told(f) == [[], [2], [2]]
    f.ask(1, "NMR", 9)
    f.ask(2, "TAR", 3)
    steer(f, "step")
    assert told(f) == [[], [], [3]]
    f.ask(2, "TAR", 50)
    steer(f, "step")
    assert told(f) == [[4], [], []]
    steer(f, "resume")
    f.ask(0, "TAR", 60)
    assert told(f) == [[], [9], []]


def test_a_step_waits_for_who_has_not_asked_and_says_for_whom(placement: Placement) -> None:
    f = Timed(2, placement=placement)
    f.all_timed(50)
    steer(f, "pause")
    f.ask(0, "TAR", 9)
    answer = steer(f, "step")
    assert answer["paused"]["waits_for"] == ["federate 1"]
    assert told(f) == [[], []]
    f.ask(1, "TAR", 7)
    assert told(f) == [[], [7]]
    f.ask(1, "TAR", 8)
    assert told(f) == [[], []]


def test_steps_are_counted_and_a_pause_takes_back_those_to_come(placement: Placement) -> None:
    f = Timed(2, placement=placement)
    f.all_timed(1)
    steer(f, "pause")
    steer(f, "step", 3)
    for time in (1, 2, 3, 4):
        for i in range(2):
            f.ask(i, "TAR", time)
        assert told(f) == ([[time], [time]] if time < 4 else [[], []])
    steer(f, "step", 5)
    assert told(f) == [[4], [4]]
    steer(f, "pause")
    for i in range(2):
        f.ask(i, "TAR", 5)
    assert told(f) == [[], []]


def test_all_grants_of_one_time_are_one_step(placement: Placement) -> None:
    """With a lookahead of zero a time is granted again and again (TARA, NMRA), while federates answer each other."""
    f = Timed(2, placement=placement)
    f.all_timed(0)
    steer(f, "pause")
    f.ask(0, "TARA", 5)
    f.ask(1, "NMRA", 5)
    steer(f, "step")
    assert told(f) == [[5], [5]]
    f.stamp(0, 5, b"question")
    f.ask(0, "TARA", 5)
    f.ask(1, "NMRA", 9)
    assert told(f) == [[5], [(b"question", 5, TS), 5]]
    f.stamp(1, 5, b"answer")
    f.ask(1, "TAR", 5)
    f.ask(0, "TAR", 5)
    assert told(f) == [[(b"answer", 5, TS), 5], [5]]
    f.ask(0, "TAR", 6)
    f.ask(1, "TAR", 6)
    assert told(f) == [[], []]
    steer(f, "step")
    assert told(f) == [[6], [6]]


def test_a_flush_is_let_through_once_a_step_and_no_further_than_it(placement: Placement) -> None:
    f = Timed(2, placement=placement)
    f.all_timed(1)
    steer(f, "pause")
    f.stamp(1, 8, b"late")
    f.ask(1, "TAR", 3)
    f.ask(0, "FQR", 20)
    assert told(f) == [[], []]
    steer(f, "step")
    assert told(f) == [[(b"late", 8, TS), ("flushed", 4, 8)], [3]]
    f.ask(0, "FQR", 20)
    assert f.told(0) == []
    steer(f, "resume")
    assert len(f.told(0)) == 1


def test_who_is_blocked_by_the_operator_is_told_so(placement: Placement) -> None:
    """By query_blocking and the status; and by whom else, if that one blocks, too."""
    f = Timed(2, placement=placement)
    f.all_timed(1)
    steer(f, "pause")
    f.ask(0, "TAR", 1)
    blocking = f.rti[0].query_blocking()
    assert blocking.paused == "operator"
    assert "because of the operator (paused); 'federate 1'" in str(blocking)
    f.ask(1, "TAR", 1)
    blocking = f.rti[0].query_blocking()
    assert str(blocking).endswith("because of the operator (paused)")
    own = [
        one
        for status in f.rti[0].query_status()
        for one in status["federates"]
        if one["name"] == "federate 0"
    ]
    assert own[0]["blocked_by"] == ["the operator (paused)"]
    steer(f, "resume")
    assert short(f.take(0, GRANT)[0]) == 1
    assert f.rti[0].query_blocking().paused == ""


@pytest.mark.one_node
@pytest.mark.parametrize("kind", ["TAR", "FQR"])
def test_who_has_patience_hears_of_the_operator(kind: str, placement: Placement) -> None:
    f = Timed(2, placement=placement)
    f.all_timed(1)
    steer(f, "pause")
    f.rti[0].set_time_advance_patience(0.001)
    f.ask(0, kind, 1)
    reminded: list[Any] = []
    while not reminded:
        f.rti[0].evoke_callback(0.01)
        reminded = [arguments for method, arguments in f.log[0].take() if method == "time_advance_blocked"]
    assert reminded[0][0].paused == "operator"
    assert f"waits for 1 ({kind})" in str(reminded[0][0])


def test_who_joins_a_paused_federation_is_paused(placement: Placement) -> None:
    f = Timed(3, joined=2, placement=placement)
    f.all_timed(1)
    steer(f, "pause")
    f.join(2)
    f.take_part(2)
    f.regulate(2)
    f.constrain(2)
    f.quiet()
    for i in range(3):
        f.ask(i, "TAR", 1)
    assert told(f) == [[], [], []]
    steer(f, "step", by=2)
    assert told(f) == [[1], [1], [1]]


def test_a_paused_federation_outlives_its_federates(placement: Placement) -> None:
    """Who resigns is not waited for; who comes after all have gone is paused, and resume works."""
    f = Timed(2, placement=placement)
    f.all_timed(1)
    steer(f, "pause")
    steer(f, "step")
    f.ask(0, "TAR", 3)
    assert told(f) == [[], []]
    f.resign(1)
    assert f.told(0) == [3]
    f.resign(0)
    f.join(1)
    f.take_part(1)
    f.regulate(1)
    f.quiet()
    f.ask(1, "TAR", 5)
    assert f.told(1) == []
    f.rti[0].steer("resume", NAME)
    assert f.told(1) == [5]
    steer(f, "resume")  # also if it is not paused
    f.resign(1)
    f.rti[0].destroy_federation_execution(NAME)
    with refused(FederationExecutionDoesNotExist):
        steer(f, "resume")


def test_a_resigned_federate_is_treated_as_lost_and_may_come_back(placement: Placement) -> None:
    """Its directive applies, nobody waits for it any more, it learns why, and may join again."""
    f = Timed(3, placement=placement)
    f.all_timed(1)
    f.publish(1, "Vehicle", "Position")
    f.subscribe(0, "Vehicle", "Position")
    f.rti[1].register_object_instance(f.object_class("Vehicle"))
    f.quiet()
    f.ask(0, "TAR", 1)
    f.ask(2, "TAR", 1)
    assert told(f) == [[], [], []]
    steer(f, "resign", "federate 1", by=2)
    assert "remove_object_instance" in f.heard(0)
    assert f.told(2) == [1]
    heard = f.take(1, "federate_resigned")
    assert heard == [("federate_resigned", ("resigned by the operator",))]
    with pytest.raises(FederateNotExecutionMember, match="resigned by the operator"):
        f.rti[1].query_logical_time()
    f.join(1)
    assert f.rti[1].query_logical_time().value == 0


def test_a_resigned_federate_may_disconnect(placement: Placement) -> None:
    """Clause 4.13: it is no member any more, and nobody asks it to resign first."""
    f = Timed(2, placement=placement)
    f.all_timed(1)
    steer(f, "resign", "federate 1")
    assert f.take(1, "federate_resigned")
    f.rti[1].disconnect()
    with pytest.raises(NotConnected):
        f.rti[1].query_logical_time()


def test_what_cannot_be_done_is_said(placement: Placement) -> None:
    f = Timed(1, placement=placement)
    for wrong, text in [
        (("stop", NAME), "there are pause, resume, step, resign"),
        (("step", NAME, 0), "the number of steps"),
        (("step", NAME, True), "the number of steps"),
        (("step", NAME, "2"), "the number of steps"),
        (("step", NAME), "is not paused"),
        (("resign", NAME), "the name of a federate"),
        (("pause", 7), "the name of a federation"),
    ]:
        with pytest.raises(RTIinternalError, match=text):
            f.rti[0].steer(*wrong)  # type: ignore[arg-type]
    with pytest.raises(NameNotFound, match="no federate 'nobody'; it has 'federate 0'"):
        steer(f, "resign", "nobody")
    with refused(FederationExecutionDoesNotExist):
        f.rti[0].steer("pause", "nowhere")
    assert "paused" not in f.rti[0].query_status()[0]


# --- save and restore -----------------------------------------------------------------------------------------


def complete(f: Timed) -> None:
    for i in sorted(f.present):
        f.rti[i].federate_save_begun()
    for i in sorted(f.present):
        f.rti[i].federate_save_complete()


def test_a_paused_federation_is_saved_and_stays_paused_when_it_is_restored(placement: Placement) -> None:
    """The pause is no part of the save; what is restored in a pause is paused, whatever steps had let through."""
    f = Timed(2, placement=placement)
    f.all_timed(1)
    steer(f, "pause")
    for i in range(2):
        f.ask(i, "TAR", 1)
    f.rti[0].request_federation_save(LABEL)
    f.drain()
    complete(f)
    assert "federation_saved" in f.heard(0)
    f.quiet()
    steer(f, "step")
    assert told(f) == [[1], [1]]
    begin_restore(f)
    for i in range(2):
        f.rti[i].federate_restore_complete()
    assert told(f) == [[], []]
    steer(f, "step")
    assert told(f) == [[1], [1]]
    steer(f, "resume")
    begin_restore(f)
    for i in range(2):
        f.rti[i].federate_restore_complete()
    assert told(f) == [[1], [1]]  # it was saved in a pause, and is not paused now


def test_a_save_at_a_logical_time_comes_with_its_step(placement: Placement) -> None:
    f = Timed(2, placement=placement)
    f.all_timed(1)
    f.rti[0].request_federation_save(LABEL, f.time(5))
    steer(f, "pause")
    f.stamp(0, 5, b"before")
    for i in range(2):
        f.ask(i, "TAR", 9)
    assert all("initiate_federate_save" not in f.heard(i) for i in range(2))
    steer(f, "step", 2)
    heard = [call for call in f.take(1) if short(call) is not None or call[0] == "initiate_federate_save"]
    assert [call[0] for call in heard] == ["receive_interaction", "initiate_federate_save"]
    f.drain()
    complete(f)
    assert [9 in f.told(i) for i in range(2)] == [True, True]

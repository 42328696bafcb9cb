"""A federation save at a logical time, also with federates on three nodes (clauses 4.19, 4.20; docs/explanation/time.md)."""

from __future__ import annotations

import pytest

from support.federation import refused
from support.placement import Placement
from support.saves import LABEL, begin_restore
from support.timed_federation import HEARD, Timed, short
from weft.model.errors import (
    FederateUnableToUseTime,
    LogicalTimeAlreadyPassed,
    SaveInProgress,
    SaveNotInProgress,
)

TS = "TIMESTAMP"
TOLD = "save"


def request(f: Timed, i: int, time: int, label: str = LABEL) -> None:
    f.rti[i].request_federation_save(label, f.time(time))


def heard(f: Timed, i: int) -> list[object]:
    """As `Timed.told`, and what it hears of saves."""
    found: list[object] = []
    for call in f.take(i):
        if call[0] == "initiate_federate_save":
            found.append((TOLD, *[getattr(one, "value", one) for one in call[1]]))
        elif call[0].startswith("federation_"):
            found.append(call[0])
        elif short(call) is not None:
            found.append(short(call))
    return found


def complete(f: Timed) -> None:
    for i in sorted(f.present):
        f.rti[i].federate_save_begun()
    for i in sorted(f.present):
        f.rti[i].federate_save_complete()


def test_all_are_told_when_the_last_one_wants_to_go_beyond_the_time(placement: Placement) -> None:
    """Each has all messages up to the time and none later; the grant comes when the federation is saved."""
    f = Timed(3, placement=placement)
    f.regulate(0)
    for i in (1, 2):
        f.regulate(i)
        f.constrain(i)
    f.quiet()
    request(f, 0, 10)
    for time in (3, 10, 11, 20):
        f.stamp(0, time, b"%d" % time)
    f.ask(0, "TAR", 30)
    f.ask(1, "TAR", 20)
    f.ask(2, "TAR", 10)
    assert heard(f, 1) == [(b"3", 3, TS), (b"10", 10, TS)]
    assert heard(f, 2) == [(b"3", 3, TS), (b"10", 10, TS), 10]
    assert heard(f, 0) == [30]
    f.ask(2, "NMR", 20)
    for i in range(3):
        assert heard(f, i) == [(TOLD, LABEL, 10)]
    complete(f)
    assert heard(f, 0) == ["federation_saved"]
    assert heard(f, 1) == ["federation_saved", (b"11", 11, TS)]  # federate 2 might send at 12
    assert heard(f, 2) == ["federation_saved", (b"11", 11, TS), 11]


@pytest.mark.parametrize("kind", ["TAR", "TARA", "NMR", "NMRA", "FQR"])
def test_every_way_to_advance_stops_at_the_save(kind: str, placement: Placement) -> None:
    f = Timed(2, placement=placement)
    f.all_timed(1)
    f.stamp(1, 5, b"before")
    request(f, 0, 10)
    f.ask(1, "TAR", 10)
    f.ask(0, kind, 20)
    first = heard(f, 0)
    assert first[0] == (b"before", 5, TS)
    if kind in ("NMR", "NMRA", "FQR"):
        f.ask(0, kind, 20)  # it was granted the time of that message
    assert heard(f, 0) == []
    assert heard(f, 1) == [10]
    f.stamp(1, 12, b"after")
    f.ask(1, "TAR", 20)
    assert heard(f, 0) == heard(f, 1) == [(TOLD, LABEL, 10)]
    complete(f)
    got = heard(f, 0)
    assert got[:2] == ["federation_saved", (b"after", 12, TS)]
    assert len(got) == 3  # and the grant


def test_with_nobody_constrained_it_begins_at_once(placement: Placement) -> None:
    f = Timed(2, placement=placement)
    f.regulate(0)
    f.quiet()
    request(f, 0, 10)
    assert heard(f, 0) == heard(f, 1) == [(TOLD, LABEL, 10)]


def test_who_may_not_ask(placement: Placement) -> None:
    f = Timed(3, placement=placement)
    with refused(FederateUnableToUseTime):
        request(f, 0, 10)
    f.regulate(0)
    f.regulate(1)
    f.constrain(1)
    f.quiet()
    with refused(LogicalTimeAlreadyPassed):
        request(f, 2, 1)  # does not regulate: later than its GALT
    with refused(LogicalTimeAlreadyPassed):
        request(f, 0, 0)  # regulates: later than its time
    f.ask(0, "TAR", 10)
    f.ask(1, "TAR", 5)
    assert heard(f, 1) == [5]
    with refused(LogicalTimeAlreadyPassed):
        request(f, 1, 5)
    f.ask(1, "TAR", 7)
    assert heard(f, 1) == [7]


@pytest.mark.parametrize("time", [6, 7, 8])
def test_it_is_too_late_for_a_time_that_another_has_been_granted(time: int, placement: Placement) -> None:
    """The requester is at 0 with a large lookahead; only the other's node knows how far it has come."""
    f = Timed(3, placement=placement)
    f.regulate(0, 20)
    f.constrain(1)
    f.quiet()
    f.ask(1, "TAR", 7)
    assert heard(f, 1) == [7]
    if time <= 7:
        with refused(LogicalTimeAlreadyPassed):
            request(f, 0, time)
        f.ask(1, "TAR", 15)
        assert heard(f, 1) == [15]
    else:
        request(f, 0, time)
        f.ask(1, "TAR", 15)
        assert heard(f, 1) == [(TOLD, LABEL, 8)]


def test_it_is_too_late_for_a_time_up_to_which_messages_have_come(placement: Placement) -> None:
    f = Timed(2, placement=placement)
    f.regulate(0, 1)
    f.constrain(1)
    f.quiet()
    f.stamp(0, 5, b"early")
    f.ask(1, "TAR", 20)
    f.ask(0, "TAR", 9)
    assert heard(f, 1) == [(b"early", 5, TS)]
    with refused(LogicalTimeAlreadyPassed):
        request(f, 0, 9)
    request(f, 0, 10)


def test_a_new_request_replaces_the_one_that_waits(placement: Placement) -> None:
    f = Timed(2, placement=placement)
    f.all_timed(1)
    request(f, 0, 10, "first")
    request(f, 1, 20, "second")
    for i in (0, 1):
        f.ask(i, "TAR", 15)
    assert heard(f, 0) == heard(f, 1) == [15]
    for i in (0, 1):
        f.ask(i, "TAR", 25)
    assert heard(f, 0) == heard(f, 1) == [(TOLD, "second", 20)]


def test_a_later_request_lets_go_who_was_held(placement: Placement) -> None:
    f = Timed(2, placement=placement)
    f.all_timed(1)
    request(f, 0, 10, "first")
    f.ask(0, "TAR", 15)
    f.ask(1, "TAR", 10)
    assert heard(f, 0) == []
    request(f, 1, 30, "second")
    f.ask(1, "TAR", 20)
    assert (heard(f, 0), heard(f, 1)) == ([15], [10])


def test_a_plain_request_replaces_it_too(placement: Placement) -> None:
    f = Timed(2, placement=placement)
    f.all_timed(1)
    request(f, 0, 10)
    with refused(SaveNotInProgress):
        f.rti[0].abort_federation_save()
    f.rti[1].request_federation_save("now")
    assert heard(f, 0) == heard(f, 1) == [(TOLD, "now")]
    with refused(SaveInProgress):
        request(f, 1, 20)
    complete(f)
    for i in (0, 1):
        f.ask(i, "TAR", 15)
    assert heard(f, 0) == heard(f, 1) == ["federation_saved", 15]


@pytest.mark.parametrize("crash", [False, True])
def test_it_outlives_who_asked_for_it(crash: bool, placement: Placement) -> None:
    f = Timed(3, placement=placement)
    f.all_timed(1)
    request(f, 2, 10)
    f.ask(0, "TAR", 15)
    f.ask(1, "TAR", 15)
    assert heard(f, 0) == []
    if crash:
        f.rti[2]._lose_connection()
    else:
        f.resign(2)
    assert heard(f, 0)[-1:] == heard(f, 1)[-1:] == [(TOLD, LABEL, 10)]


def test_who_is_constrained_later_is_waited_for_as_well(placement: Placement) -> None:
    f = Timed(3, placement=placement)
    f.regulate(0)
    f.constrain(1)
    f.quiet()
    request(f, 0, 10)
    f.constrain(2)
    f.ask(1, "TAR", 20)
    f.ask(0, "TAR", 20)
    assert heard(f, 1) == []
    f.rti[2].disable_time_constrained()
    assert heard(f, 1) == [(TOLD, LABEL, 10)]


def test_who_wants_to_be_constrained_and_is_ahead_waits_for_the_end_of_the_save(placement: Placement) -> None:
    f = Timed(2, placement=placement)
    f.regulate(0)
    f.constrain(0)
    f.quiet()
    f.ask(1, "TAR", 50)
    f.constrain(1)
    assert heard(f, 1) == [50]
    request(f, 0, 10)
    f.ask(0, "TAR", 60)
    assert heard(f, 0) == [(TOLD, LABEL, 10)]
    assert heard(f, 1) == [(TOLD, LABEL, 10)]
    complete(f)
    assert heard(f, 0) == ["federation_saved", 60]
    assert heard(f, 1) == ["federation_saved", ("constrained", 50)]


def test_who_is_held_can_ask_why(placement: Placement) -> None:
    f = Timed(2, placement=placement)
    f.all_timed(1)
    request(f, 0, 10)
    f.ask(0, "TAR", 15)
    assert f.rti[0].query_blocking().save == ""
    f.ask(1, "TAR", 10)
    blocking = f.rti[0].query_blocking()
    assert blocking.save == LABEL
    assert str(blocking).endswith(f"because of the federation save {LABEL!r}")


def test_the_restored_federation_goes_on_from_the_time_of_the_save(placement: Placement) -> None:
    """Times, what waits, what may be taken back: as it was between the save time and what comes after."""
    f = Timed(2, placement=placement)
    f.all_timed(1)
    f.stamp(1, 12, b"twelve")
    gone = f.stamp(1, 13, b"thirteen")
    f.stamp(1, 14, b"fourteen")
    request(f, 0, 10)
    for i in (0, 1):
        f.ask(i, "TAR", 12)
    f.quiet()
    complete(f)
    assert heard(f, 0) == ["federation_saved", (b"twelve", 12, TS), 12]
    f.ask(0, "TAR", 20)
    f.ask(1, "TAR", 20)
    assert heard(f, 0) == [(b"thirteen", 13, TS), (b"fourteen", 14, TS), 20]
    begin_restore(f)
    f.quiet()
    for i in (0, 1):
        f.rti[i].federate_restore_complete()
    assert heard(f, 0) == ["federation_restored", (b"twelve", 12, TS), 12]
    assert heard(f, 1) == ["federation_restored", 12]
    assert gone is not None
    f.rti[1].retract(gone)
    for i in (0, 1):
        f.ask(i, "TAR", 20)
    assert heard(f, 0) == [(b"fourteen", 14, TS), 20]
    assert HEARD not in f.heard(1)

"""Red and blue tanks at scale: by wall clock updates are lost, synchronized none is (S4-2, S4-12, S4-13, S4-19)."""

from __future__ import annotations

import pytest

from interest.tanks import Counts, Run, Scenario

NETWORKS = range(1, 5)


def run(**options: int | float | bool) -> Run:
    return Run(Scenario(**options)).run()  # type: ignore[arg-type]


def check_networks(networks: range, **options: int | float | bool) -> None:
    for network in networks:
        found = run(network=network, **options)
        assert found.given() == found.world.wanted(found.scenario)
        assert found.counts.past == 0
        assert found.counts.late > 0


def test_synchronized_everybody_is_given_all_it_should_on_any_network() -> None:
    """S4-13: none lost, none in the past, and the same in every seed."""
    check_networks(NETWORKS)


def test_synchronized_with_the_smallest_lookahead() -> None:
    check_networks(NETWORKS, lookahead=1)


def test_synchronized_on_a_slow_network() -> None:
    check_networks(range(1, 3), delay=20.0, steps=15, lookahead=3)


@pytest.mark.soak
def test_synchronized_with_many_tanks_on_many_networks() -> None:
    check_networks(range(1, 4), tanks=16, steps=20)
    check_networks(range(1, 60), lookahead=4)


def test_by_wall_clock_updates_are_lost() -> None:
    """Figure 3, repeated: on every network, and not the same ones."""
    found = [run(network=network, synchronized=False) for network in NETWORKS]
    assert all(one.lost() > 0 for one in found)
    assert len({str(one.given()) for one in found}) > 1


def test_who_changes_a_region_has_to_wait_for_the_answers() -> None:
    """S4-12: without that, late sends come into the past."""
    found = [run(network=network, lookahead=1, holds=False) for network in NETWORKS]
    assert sum(one.counts.past for one in found) > 0
    assert sum(one.lost() for one in found) > 0


def test_time_has_to_wait_for_everybody() -> None:
    """S4-13, figure 5: where only those in sight count, updates come into the past."""
    found = [run(network=network, holds=False, everybody=False, steps=15) for network in NETWORKS]
    assert sum(one.counts.past for one in found) > 0


def counted(name: str, values: tuple[int, ...]) -> list[Counts]:
    return [run(**{name: value, "steps": 40}).counts for value in values]


def test_what_lookahead_changes() -> None:
    """S4-19: with more of it the log is longer, and nobody waits for its own changes any more."""
    small, middle, large = counted("lookahead", (1, 4, 16))
    assert small.log < middle.log < large.log
    assert small.duration > middle.duration > large.duration
    assert large.held < small.held


def test_what_the_size_of_cells_changes() -> None:
    """S4-19: smaller cells, fewer updates that the receiver throws away."""
    one, some, many = counted("cells", (1, 5, 20))
    assert one.sent + one.late > some.sent + some.late > many.sent + many.late
    assert one.extra > some.extra > many.extra
    assert one.retractions == 0  # nobody ever leaves the only cell

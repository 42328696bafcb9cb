"""`weft papers 001`: what is concluded follows from what was measured (S1-15, S1-19, S1-20)."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.drawing import Graphic
from weft.fabric import Channel, Topology, plan
from weft.host.carrier import Port
from weft.host.mesh.journal import Journal
from weft_benchmarks import domains
from weft_benchmarks.papers import paper_001
from weft_benchmarks.papers.figures import Chapter, Effort
from weft_benchmarks.testbed.hosts import Host, NoHosts, several_hosts
from weft_benchmarks.testbed.journal_pages import JournalPages

Growth = Callable[[str, int], float]
PAGE = 4096 + 24


def as_the_paper_says(shape: str, size: int) -> float:
    return 100 + (size**2 if shape == "flat" else size / 10 + (shape == "tree"))


def the_reverse(shape: str, size: int) -> float:
    return 100 + (size if shape == "flat" else size**2 - (shape == "tree"))


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Chapter]:
    """The chapter, had everything grown like this."""

    def run(growth: Growth, hosts: bool = True) -> Chapter:
        def trips(size: int, shape: str, *_: object) -> dict[str, Any]:
            names = (
                "local_quarter_us",
                "remote_quarter_us",
                "broadcast_quarter_us",
                "stamp_entries_per_packet",
            )
            return {name: growth(shape, size) for name in names}

        def counts(size: int, shape: str, **_: object) -> dict[str, Any]:
            names = ("stamp_entries_per_message", "stamp_bytes_per_message", "clock_bytes_per_node",
                     "clock_disk_bytes_per_message", "other_disk_bytes_per_message")  # fmt: skip
            return {name: growth(shape, size) for name in names}

        @contextlib.contextmanager
        def made(count: int) -> Iterator[list[Host]]:
            if not hosts:
                raise NoHosts("it is not allowed")
            yield [Host(str(at), "") for at in range(count)]

        monkeypatch.setattr(domains, "measure_round_trips", trips)
        monkeypatch.setattr(domains, "simulate", counts)
        monkeypatch.setattr(paper_001, "several_hosts", made)
        return paper_001.run(Effort(True, lambda what, share: None))

    return run


@pytest.mark.parametrize(("growth", "holds"), [(as_the_paper_says, True), (the_reverse, False)])
def test_a_claim_holds_if_and_only_if_the_numbers_say_so(
    measured: Callable[..., Chapter], growth: Growth, holds: bool
) -> None:
    chapter = measured(growth)
    assert [figure.number for figure in chapter.figures] == ["2", "8", "9", "10", "11", "12", "", ""]
    claims = [claim for figure in chapter.figures[1:] for claim in figure.claims]
    assert len(claims) == 14
    assert {claim.holds for claim in claims} == {holds}


def test_what_could_not_be_run_is_said_and_not_made_up(measured: Callable[..., Chapter]) -> None:
    """S1-19: figure 9 needs ten hosts; without them it is empty, with the reason."""
    [nine] = [figure for figure in measured(as_the_paper_says, hosts=False).figures if figure.number == "9"]
    assert not nine.shows
    assert [claim.holds for claim in nine.claims] == [None]
    assert "it is not allowed" in nine.claims[0].because


def test_times_on_no_curve_are_not_judged(measured: Callable[..., Chapter]) -> None:
    chapter = measured(lambda shape, size: 1000.0 if size == 8 else 100.0 + size * 5)
    eight = next(figure for figure in chapter.figures if figure.number == "8")
    assert {claim.holds for claim in eight.claims} == {None}
    assert "no curve fits" in eight.claims[0].because


def test_progress_goes_from_beginning_to_end(
    monkeypatch: pytest.MonkeyPatch, measured: Callable[..., Chapter]
) -> None:
    measured(as_the_paper_says)
    shares: list[float] = []
    paper_001.run(Effort(False, lambda what, share: shares.append(share)))
    assert shares == sorted(shares)
    assert shares[0] == 0
    assert 0.9 < shares[-1] <= 1


@given(st.integers(50, 300), st.floats(0.01, 10), st.floats(0, 1000))
@settings(max_examples=30, deadline=None)
def test_the_exponent_is_found_again(hundredths: int, a: float, b: float) -> None:
    power = hundredths / 100
    found = domains.fit_power([(n, a * n**power + b) for n in (4, 9, 16, 36, 64)])
    assert found["power"] == pytest.approx(power, abs=0.011)
    assert found["r2"] == pytest.approx(1.0, abs=1e-6)


def test_what_does_not_grow_has_no_exponent() -> None:
    assert domains.fit_power([(1, 5.0), (2, 4.0), (3, 3.0)])["a"] == pytest.approx(0.0, abs=1e-9)


# --- the disk ---------------------------------------------------------------------------------------------------------


def test_pages_are_counted_by_their_tables(tmp_path: Path) -> None:
    """S1-19: whole pages, as they went to the disk; of the clock only those of its tables."""
    topology = plan(3, "flat")
    journal = Journal(tmp_path / "S1.journal", "S1", topology.fingerprint)
    pages = JournalPages(journal)
    assert pages.written() == {"clock": 0, "other": 0}
    journal.commit({}, {"agent/a": b"state"})
    assert pages.written() == {"clock": 0, "other": PAGE}
    channel = Channel(topology, 0)
    channel.send([1], b"x")
    journal.commit({Port.AGENTS: channel.take_batch().changes})
    # clocks, told and cells; and the queue of what is to be acknowledged.
    assert pages.written() == {"clock": 3 * PAGE, "other": 2 * PAGE}
    journal.close()


def test_real_journals_are_measured() -> None:
    found = domains.simulate(4, "bus", durable=True, on_disk=20)
    assert found["clock_disk_bytes_per_message"] > 3 * PAGE
    assert found["other_disk_bytes_per_message"] >= PAGE


# --- hosts and pictures -----------------------------------------------------------------------------------------------


def test_hosts_reach_one_another_and_leave_nothing_behind() -> None:
    """S1-19: as network namespaces; skipped where these cannot be made."""
    try:
        with several_hosts(2) as hosts:
            one, other = hosts
            command = ["ip", "netns", "exec", one.namespace, "ip", "route", "get", other.address]
            said = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
            assert "dev eth0" in said
            row = domains.measure_round_trips(3, "flat", 2, 1, hosts)
            assert row["remote_us"] > 0
    except NoHosts as error:
        pytest.skip(str(error))
    listed = subprocess.run(
        ["ip", "netns", "list"], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    assert one.namespace not in listed


def test_domains_are_drawn_whole(measured: Callable[..., Chapter]) -> None:
    """S1-13: every server and domain once, a line for each membership, nothing upon another."""
    from weft.drawing import Box, Dot, Stroke
    from weft.fabric.picture import domain_picture

    alone = Topology(("a", "b", "c"), {"A": ("a", "b")})
    for topology in (alone, *(plan(size, shape) for size in (2, 16, 40) for shape in paper_001.SHAPES)):
        picture = domain_picture(topology, "x")
        dots = [shape for shape in picture.shapes if isinstance(shape, Dot)]
        boxes = [shape for shape in picture.shapes if isinstance(shape, Box)]
        lines = [shape for shape in picture.shapes if isinstance(shape, Stroke)]
        assert (len(dots), len(boxes)) == (len(topology.servers), len(topology.domains))
        assert len(lines) == sum(len(members) for members in topology.domains.values())
        places = [(round(dot.x), round(dot.y)) for dot in dots]
        assert len(set(places)) == len(places)
        assert all(0 < dot.x < picture.width and 0 < dot.y < picture.height for dot in dots)
    ten = next(figure for figure in measured(as_the_paper_says).figures if figure.number == "10")
    assert sum(isinstance(one, Graphic) for one in ten.shows) == 3

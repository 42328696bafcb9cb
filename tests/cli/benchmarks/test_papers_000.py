"""`weft papers 000`: what is concluded follows from what was measured (S0-22, S0-25)."""

from __future__ import annotations

import argparse
import json
from contextlib import nullcontext
from pathlib import Path

import pytest

from weft_benchmarks import steps
from weft_benchmarks.papers import command, paper_000
from weft_benchmarks.papers.figures import Effort
from weft_benchmarks.testbed.hosts import Host

SECONDS = {"RO": 1.0, "CO": 1.01, "CO-middleware": 1.05, "CO-tables": 1.06}


def _as_the_paper_says(
    scenario: str, order: str, federates: int, *_: object, **__: object
) -> dict[str, float]:
    return {"seconds": SECONDS.get(order, 1.5 + federates * 0.1), "early_hits": 2.0 * (order == "RO")}


def _the_reverse(scenario: str, order: str, federates: int, *_: object, **__: object) -> dict[str, float]:
    seconds = 1.0 if order == "TSO" else 3.0 if order == "CO-tables" else 2.0 - federates * 0.1
    return {"seconds": seconds, "early_hits": 1.0}


@pytest.mark.parametrize(("measured", "holds"), [(_as_the_paper_says, True), (_the_reverse, False)])
def test_a_claim_holds_if_and_only_if_the_numbers_say_so(
    monkeypatch: pytest.MonkeyPatch, measured: object, holds: bool
) -> None:
    monkeypatch.setattr(paper_000, "run_steps", measured)
    chapter = paper_000.run(Effort(True, lambda what, share: None))
    assert [figure.number for figure in chapter.figures] == ["4.1", "4.2", "4.3", "4.4", "4.5"]
    claims = [claim for figure in chapter.figures for claim in figure.claims]
    assert {claim.holds for claim in claims} == {holds}


def test_the_page_has_every_figure_and_the_file_beside_it_every_number(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(paper_000, "run_steps", _as_the_paper_says)
    assert (
        command.run(argparse.Namespace(papers=["000"], quick=True, namespaces=False, out=str(tmp_path))) == 0
    )
    page = (tmp_path / "papers.html").read_text()
    for number in ("4.1", "4.2", "4.3", "4.4", "4.5"):
        assert f"<h3>{number}: " in page
    assert page.count("<svg") == 5
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    data = json.loads((tmp_path / "papers.json").read_text())
    first = data["papers"][0]["figures"][0]["shows"][0]["series"][0]
    assert first["name"] == "RO"
    assert first["points"][0] == [2, 1.0, 1.0, 1.0]
    said = capsys.readouterr()
    assert "papers.html" in said.out
    shares = [int(line.split("%")[0]) for line in said.err.splitlines() if "%" in line]
    assert shares == sorted(shares)


def test_each_federate_in_a_namespace_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """S0-25: as many of the hosts as there are federates, in turn."""
    hosts = [Host(f"h{number}", f"10.0.0.{number}") for number in range(7)]
    given: list[tuple[int, list[Host]]] = []

    def measured(
        scenario: str, order: str, federates: int, *_: object, **more: list[Host]
    ) -> dict[str, float]:
        given.append((federates, more["hosts"]))
        return _as_the_paper_says(scenario, order, federates)

    monkeypatch.setattr(paper_000, "run_steps", measured)
    monkeypatch.setattr(paper_000, "several_hosts", lambda count: nullcontext(hosts[:count]))
    chapter = paper_000.run(Effort(True, lambda what, share: None, apart=True))
    assert given
    assert all(used == hosts[:federates] for federates, used in given)
    assert "namespace" in str(chapter.settings["each federate"])


def test_namespaces_that_cannot_be_had_are_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    given = argparse.Namespace(papers=["000"], quick=True, namespaces=True, out=str(tmp_path))
    assert command.run(given) == 1
    assert "--namespaces: there is no command ip" in capsys.readouterr().err


def test_progress_goes_from_beginning_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paper_000, "run_steps", _as_the_paper_says)
    shares: list[float] = []
    paper_000.run(Effort(True, lambda what, share: shares.append(share)))
    assert shares == sorted(shares)
    assert shares[0] == 0
    assert 0.9 < shares[-1] <= 1


def test_the_sleep_is_added_to_each_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """S0-24: however long the rest of a step has taken."""
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)
    federate = steps.SteppingFederate.__new__(steps.SteppingFederate)
    federate.plan = steps.Plan("", "", 0, 2, 3, 10.0, "loose", "RO")
    for _ in range(3):
        federate.pause()
    assert slept == [0.01] * 3

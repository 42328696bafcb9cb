"""`weft domains`: the commands, their help, and the examples in it."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from fabric.topologies import CYCLIC, FIGURE_2
from weft.cli import main
from weft.fabric import Topology, parse_domains, plan, write_domains
from weft.model.records import Source

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def figure_2(tmp_path: Path) -> str:
    path = tmp_path / "figure2.toml"
    path.write_text(write_domains(FIGURE_2))
    return str(path)


def domains(*arguments: str) -> int:
    return main(["domains", *arguments])


def test_check_accepts_figure_2(figure_2: str, capsys: Capture) -> None:
    """S1-11."""
    assert domains("check", figure_2) == 0
    assert capsys.readouterr().out == "8 servers in 5 domains keep causal order\nrouters: S1, S3, S4, S6\n"
    assert domains("check", figure_2, "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["routers"] == ["S1", "S3", "S4", "S6"]
    assert (report["servers"], report["domains"], report["errors"]) == (8, 5, 0)


@pytest.mark.parametrize("name", CYCLIC)
def test_check_refuses_a_cycle_and_says_how_to_repair_it(name: str, tmp_path: Path, capsys: Capture) -> None:
    """S1-9, S1-10: exit code 1, file and line on standard error."""
    path = tmp_path / "cyclic.toml"
    path.write_text(write_domains(CYCLIC[name]))
    assert domains("check", str(path)) == 1
    shown = capsys.readouterr()
    assert not shown.out
    assert shown.err.startswith(f"weft: {path}:")
    assert "cycle" in shown.err
    assert "the smallest repair of the file: " in shown.err
    for action in (["route", str(path), "p", "q"], ["cost", str(path)]):
        assert domains(*action) == 2
        assert "cycle" in capsys.readouterr().err
    assert domains("check", str(path), "--json") == 1
    assert "cycle" in json.loads(capsys.readouterr().out)["errorTexts"][0]


def test_check_warns_of_what_cannot_be_reached(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "split.toml"
    path.write_text(write_domains(Topology(("a", "b", "c", "d"), {"A": ("a", "b"), "B": ("c", "d")})))
    assert domains("check", str(path)) == 0
    assert f"warning: {path}:4: c, d cannot be reached from a" in capsys.readouterr().out
    assert domains("route", str(path), "a", "d") == 2
    assert capsys.readouterr().err == "weft: a cannot reach d: no chain of domains joins them\n"


def test_a_file_that_cannot_be_read(tmp_path: Path, capsys: Capture) -> None:
    for action in (["check"], ["cost"]):
        assert domains(*action, str(tmp_path / "none.toml")) == 2
        assert "none.toml: cannot be read: No such file" in capsys.readouterr().err


def test_route(figure_2: str, capsys: Capture) -> None:
    """S1-11: for people and for programs."""
    assert domains("route", figure_2, "S5", "S8") == 0
    assert capsys.readouterr().out == "S5 -(B)-> S4 -(E)-> S1 -(A)-> S3 -(D)-> S6 -(C)-> S8\n"
    assert domains("route", figure_2, "S1", "S8", "--json") == 0
    hops = [["S1", "A", "S3"], ["S3", "D", "S6"], ["S6", "C", "S8"]]
    assert json.loads(capsys.readouterr().out) == {"hops": hops}
    assert domains("route", figure_2, "S1", "S1", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"hops": []}
    assert domains("route", figure_2, "S1", "S9") == 2
    assert "there is no server 'S9'" in capsys.readouterr().err


@pytest.mark.parametrize("topology", ["flat", "bus", "daisy", "tree"])
def test_plan_writes_what_check_accepts(topology: str, tmp_path: Path, capsys: Capture) -> None:
    """S1-13."""
    path = tmp_path / "plan.toml"
    assert domains("plan", "--servers", "23", "--topology", topology, "--output", str(path)) == 0
    assert parse_domains(Source("plan", path.read_bytes())).topology == plan(23, topology)
    assert domains("check", str(path)) == 0
    capsys.readouterr()
    assert domains("plan", "--servers", "23", "--topology", topology) == 0
    assert capsys.readouterr().out == path.read_text()


def test_plan_says_what_it_cannot_do(tmp_path: Path, capsys: Capture) -> None:
    assert domains("plan", "--servers", "9", "--topology", "tree", "--domain-size", "2") == 2
    assert capsys.readouterr().err == "weft: the domain size of a tree is at least 3, not 2\n"
    assert domains("plan", "--servers", "9", "--topology", "bus", "-o", str(tmp_path)) == 2
    assert "cannot be written" in capsys.readouterr().err
    assert domains("plan", "--servers", "60000", "--topology", "bus") == 2
    assert "more ports than one machine has" in capsys.readouterr().err


def test_cost(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """S1-14: a bus of 144 costs 3n at most; read from standard input."""
    text = write_domains(plan(144, "bus")).encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert domains("cost", "-", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["worstCost"], report["flatCost"], report["largestClock"]) == (432, 20736, 288)
    assert len(report["worst"]) == 3
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert domains("cost", "-") == 0
    assert "cost of a message, most     432\n" in capsys.readouterr().out


def test_draw(figure_2: str, tmp_path: Path, capsys: Capture) -> None:
    """S1-11: every server and domain by name, in a picture that stands alone."""
    out = tmp_path / "domains.svg"
    assert domains("draw", figure_2, "--out", str(out)) == 0
    picture = out.read_text()
    for name in (*FIGURE_2.servers, *FIGURE_2.domains):
        assert f">{name}</text>" in picture
    assert "<style>" in picture
    assert domains("draw", figure_2) == 0
    assert capsys.readouterr().out == picture

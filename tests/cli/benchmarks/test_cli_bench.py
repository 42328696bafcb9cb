"""`weft bench`: that it measures what it says, and how it shows it.  The figures themselves are not tested."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from weft import _build
from weft.cli import bench as command
from weft.cli import main
from weft_benchmarks import embedded, runner
from weft_benchmarks.commands import embedded as bench

MACHINE = {"cores": 2, "load_average": 0.5, "python": "3.11.4"}
JOINED = {"ambassador_us": 2.0, "join_us": 5.0, "join_typed_us": 8.0}
INTERACTIONS = {"one_to_one_us": 5.0, "one_to_seven_us": 11.0, "further_receiver_us": 1.0, "floor_us": 0.5}
OBJECTS = {
    "few_us": 2.0,
    "many_us": 2.5,
    "growth": 12.0,
    "floor_us": 0.5,
    "bytes_per_object": 1500.0,
    "bytes_total": 1e7,
}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"TURNS": 20, "FEDERATES": 4, "FEW": 10, "MANY": 60}.items():
        monkeypatch.setattr(embedded, name, value)


@pytest.mark.usefixtures("small")
def test_interactions_are_measured() -> None:
    """One to one, one to seven, each further receiver, and the floor in the same run."""
    found = embedded.interactions()
    assert set(found) == set(INTERACTIONS)
    assert all(found[name] > 0 for name in ("one_to_one_us", "one_to_seven_us", "floor_us"))
    assert found["further_receiver_us"] == pytest.approx(
        (found["one_to_seven_us"] - found["one_to_one_us"]) / 6
    )


@pytest.mark.usefixtures("small")
def test_the_easy_way_is_measured() -> None:
    """By name and by a dataclass, beside the ambassador of the same run (issue 22)."""
    found = embedded.joined()
    assert set(found) == set(JOINED)
    assert all(value > 0 for value in found.values())


@pytest.mark.usefixtures("small")
def test_discoveries_are_measured() -> None:
    """Every federate discovers every object, few and many."""
    found = embedded.discoveries()
    assert set(found) == {"few_us", "many_us", "growth", "floor_us"}


@pytest.mark.usefixtures("small")
def test_memory_is_measured() -> None:
    """Bytes of each object, over the difference of two populations."""
    found = embedded.memory()
    assert set(found) == {"bytes_per_object", "bytes_total"}
    assert 100 < found["bytes_per_object"] < 100_000


@pytest.mark.usefixtures("small")
def test_a_measurement_of_something_broken_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A benchmark whose messages do not arrive measures nothing, and says so."""
    monkeypatch.setattr(embedded.Counter, "receive_interaction", lambda self, *arguments: None)
    with pytest.raises(RuntimeError, match="should be one number above 0"):
        embedded.interactions()
    monkeypatch.setattr(embedded.Counter, "discover_object_instance", lambda self, *arguments: None)
    with pytest.raises(RuntimeError, match="not every federate discovered"):
        embedded.discoveries()


@pytest.mark.parametrize("build", [runner.COMPILED, runner.PURE])
def test_a_child_runs_the_build_it_is_asked_for(build: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """WEFT_PURE decides in the child, whatever it is here."""
    built = any((Path(str(command.__file__)).parents[1] / "kernel").rglob("*.so"))
    for here in ("1", ""):
        monkeypatch.setenv("WEFT_PURE", here)
        found = runner.measure_there("weft_benchmarks.runner:nothing", build)
        assert found == {"compiled": built and build == runner.COMPILED}


def test_a_child_that_fails_says_why() -> None:
    """The error of the child comes through."""
    with pytest.raises(RuntimeError, match=r"(?s)embedded:nowhere \(pure\) failed.*ImportError"):
        runner.measure_there("weft_benchmarks.embedded:nowhere", runner.PURE)


def test_a_measurement_prints_one_line_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    """What the child says to the parent."""
    runner.measure_here(lambda: {"figure": 1.5})
    assert json.loads(capsys.readouterr().out) == {"compiled": _build.is_compiled(), "figure": 1.5}


def test_rounds_alternate_and_the_median_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every function and build has its turn in every round; one odd figure does not count."""
    turns: list[tuple[str, str]] = []
    figures = {"compiled": iter([1.0, 9.0, 2.0]), "pure": iter([4.0, 5.0, 60.0])}

    def there(function: str, build: str) -> dict[str, Any]:
        turns.append((function, build))
        return {"compiled": build == "compiled", "us": next(figures[build])}

    monkeypatch.setattr(runner, "measure_there", there)
    found = runner.alternate(["m:f"], ["compiled", "pure"], 3)
    assert turns == [("m:f", "compiled"), ("m:f", "pure")] * 3
    assert found["m:f", "compiled"]["us"] == 2.0
    assert found["m:f", "pure"]["us"] == 5.0


def test_cpu_per_turn_counts_turns() -> None:
    """One batch to warm up, then so many of so many turns."""
    count = []
    assert runner.cpu_per_turn(lambda: count.append(1), 10, batches=3) >= 0
    assert len(count) == 2 + 3 * 10


def _canned(function: str) -> dict[str, float]:
    figures = {"interactions": INTERACTIONS, "joined": JOINED}.get(function.rpartition(":")[2], OBJECTS)
    return {"compiled": 1.0, **figures}


@pytest.fixture
def canned(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The children answer at once; the list holds how many rounds were asked for."""
    rounds: list[int] = []

    def alternate(
        functions: list[str], builds: list[str], repeats: int
    ) -> dict[tuple[str, str], dict[str, float]]:
        rounds.append(repeats)
        return {(function, build): _canned(function) for function in functions for build in builds}

    monkeypatch.setattr(bench, "alternate", alternate)
    monkeypatch.setattr(bench, "load", lambda: dict(MACHINE))
    monkeypatch.setattr(bench, "can_run_compiled", lambda: True)
    return rounds


def test_the_shape_of_the_json(canned: list[int], capsys: pytest.CaptureFixture[str]) -> None:
    """Both builds, figures and ratios to the floor, the machine before and after."""
    assert main(["bench", "embedded", "--repeats", "3", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["benchmark"] == "embedded"
    assert said["machine"] == {**MACHINE, "load_average_after": 0.5}
    assert [row["build"] for row in said["interactions"]] == ["compiled", "pure"]
    assert said["interactions"][0]["ratio"] == {
        "one_to_one": 10.0,
        "one_to_seven": 22.0,
        "further_receiver": 2.0,
        "floor": 1.0,
    }
    assert [(row["build"], row["join_us"]) for row in said["join"]] == [("compiled", 5.0), ("pure", 5.0)]
    assert [row["bytes_per_object"] for row in said["objects"]] == [1500.0, 1500.0]
    assert said["objects"][0]["federates"] == 100
    assert canned == [3, 1, 1]


def test_without_objects(canned: list[int], capsys: pytest.CaptureFixture[str]) -> None:
    """`--no-objects` leaves them out, in JSON and in text."""
    assert main(["bench", "embedded", "--repeats", "1", "--no-objects", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["objects"] == []
    assert main(["bench", "embedded", "--repeats", "1", "--no-objects"]) == 0
    assert "bytes/object" not in capsys.readouterr().out
    assert canned == [1, 1]


@pytest.mark.usefixtures("canned")
def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    """Figures, their multiples of the floor, and the aims below them."""
    assert main(["bench", "embedded"]) == 0
    said = capsys.readouterr().out
    assert "2 cores, load 0.50 before and 0.50 after, Python 3.11.4" in said
    assert "5.00 (10×)" in said
    assert "11.00 (22×)" in said
    lines = said.splitlines()
    assert [line.split()[0] for line in lines if line.startswith(("compiled", "pure", "aim"))] == [
        "compiled",
        "pure",
        "aim",
    ] * 3
    assert "5.00 (2.5×)" in said
    assert "1500" in said
    assert "12.0×" in said


def test_without_a_compiler_only_pure_python_runs(canned: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the modules are not compiled there is nothing to compare with."""
    monkeypatch.setattr(bench, "can_run_compiled", lambda: False)
    found = bench.measure_embedded(1, objects=True)
    assert [row["build"] for row in found["interactions"]] == ["pure"]
    assert [row["build"] for row in found["objects"]] == ["pure"]
    assert canned


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """No benchmarks are installed, and none are on the path."""
    monkeypatch.setattr(command, "find_spec", lambda name: None)
    monkeypatch.setattr(sys, "path", [])


@pytest.mark.usefixtures("elsewhere")
def test_benchmarks_of_a_checkout_are_found(tmp_path: Path) -> None:
    """An editable install does not bring them: they are looked for beside `src`."""
    assert not command.find_benchmarks(tmp_path)
    package = tmp_path / "weft_benchmarks"
    package.mkdir()
    (package / "__init__.py").touch()
    assert command.find_benchmarks(tmp_path)
    assert sys.path == [str(tmp_path)]


def test_the_benchmarks_of_this_checkout_are_found(elsewhere: None) -> None:
    """Where they are looked for is where they are."""
    assert command.find_benchmarks()


@pytest.mark.usefixtures("elsewhere")
def test_without_benchmarks_the_command_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line, and no traceback."""
    monkeypatch.setattr(command, "find_benchmarks", lambda: False)
    assert main(["bench", "embedded", "--json"]) == 2
    assert "the benchmarks are not installed" in capsys.readouterr().err


def test_children_find_the_benchmarks_of_a_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside what PYTHONPATH says already; a build chooses WEFT_PURE, without one it is as here."""
    folder = str(Path(str(embedded.__file__)).parents[1])
    monkeypatch.setenv("PYTHONPATH", "here")
    monkeypatch.setenv("WEFT_PURE", "1")
    assert runner.environment()["PYTHONPATH"].split(os.pathsep) == [folder, "here"]
    assert runner.environment()["WEFT_PURE"] == "1"
    assert "WEFT_PURE" not in runner.environment(runner.COMPILED)
    monkeypatch.setattr(runner, "_FOLDER", Path("/lib/site-packages"))
    assert runner.environment(runner.PURE)["PYTHONPATH"] == "here"

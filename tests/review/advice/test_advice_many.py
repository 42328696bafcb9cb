"""Issue 21, 8: advice from many runs: the best of all candidates for all of them together, as brute force finds it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from review.test_tune import OLD, channel_rows
from support.random_recorded_rows import FED, OMT, Story, brute_counts, spaces_of, write_run
from weft.channel import parse_schedule
from weft.cli.analyse.tune_many import chosen_runs, lines
from weft.fabric import parse_domains
from weft.fom import parse_rid
from weft.host.storage import place_of
from weft.interest.ddm_settings import DdmSettings, read_ddm_settings
from weft.model.errors import WeftError
from weft.model.records import Source
from weft.review.advice import domains as advice_domains
from weft.review.advice.advice import Inputs, command_graph
from weft.review.advice.domains import NodeTraffic, topology_cost
from weft.review.advice.many.choosing import TOTAL, WORST
from weft.review.advice.many.runs import summed_up
from weft.review.advice.rid import SLACK, Tried, best, write_rid
from weft.review.errors import ReviewError
from weft.review.many.finding import look
from weft.review.many.tuning import TunedMany, tune_many
from weft.review.tune import tune

SPACES = spaces_of(FED)


def story_rows(number: int) -> list[dict[str, Any]]:
    """As the runs of this module have them: sends by channels only, so that brute force need not know orders."""
    return Story(number, FED, steps=50 + 30 * number).rows


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Five runs, two of which had another RID file than the others; the last dispatched operations."""
    top = tmp_path_factory.mktemp("night")
    made = []
    for number in range(5):
        old = OLD if number < 2 else DdmSettings(strategy="StaticSpacePartitioned")
        rid = Source("old.rid", write_rid(old, SPACES).encode())
        more = channel_rows("S2") if number == 4 else []
        made.append(write_run(top / f"run-{number}", story_rows(number) + more, FED, rid))
    return made


def tuned(runs: list[Path], out: Path, **more: Any) -> TunedMany:
    return tune_many([look(place_of(run)) for run in runs], out, **more)


def brute_cost(number: int, setting: DdmSettings) -> int:
    return sum(brute_counts(story_rows(number), SPACES, setting)["copies"].values())


@pytest.mark.parametrize("how", [TOTAL, WORST])
def test_the_grid_is_the_best_of_all_candidates(runs: list[Path], tmp_path: Path, how: str) -> None:
    """Costs by the strategies themselves, message by message; less effort is preferred by a hundredth, as for one run."""
    grid = tuned(runs, tmp_path, how=how).advice.grid
    assert grid is not None
    sums: list[int] = []
    for one in grid.tried:
        mine = [brute_cost(number, one.tried.setting) for number in range(5)]
        assert list(one.costs.values()) == mine
        assert one.spread.total == sum(mine)
        assert (one.spread.least, one.spread.most) == (min(mine), max(mine))
        sums.append(sum(mine) if how == TOTAL else max(mine))
    least, most = min(sums), max(sums)
    brute = [
        Tried(one.tried.setting, {"copies": cost}, one.tried.partitions)
        for one, cost in zip(grid.tried, sums, strict=True)
    ]
    assert grid.new.tried.setting == best(brute).setting
    chosen = sums[[one is grid.new for one in grid.tried].index(True)]
    assert chosen <= least + SLACK * (most - least)


def test_which_runs_it_is_bad_for(runs: list[Path], tmp_path: Path) -> None:
    """Those that would cost more than with what they had; the recorded costs are those of each run's own setting."""
    grid = tuned(runs, tmp_path).advice.grid
    assert grid is not None
    had = [brute_cost(n, OLD if n < 2 else DdmSettings(strategy="StaticSpacePartitioned")) for n in range(5)]
    assert list(grid.recorded.costs.values()) == had
    assert any(one.bad_for for one in grid.tried)
    for one in grid.tried:
        assert list(one.bad_for) == [n for n in range(5) if one.costs[n] > had[n]]


def test_domains_cost_least_in_all(runs: list[Path], tmp_path: Path) -> None:
    """Of all trees of three servers."""
    domains = tuned(runs, tmp_path).advice.domains
    assert domains is not None
    servers = domains.new.servers
    each = []
    for run in runs:
        told, _ = summed_up(place_of(run), Inputs())
        commands = command_graph(told.summary.commands, told.given.home, servers)
        pairs = {
            pair: told.summary.messages.get(pair, 0) + commands.get(pair, 0)
            for pair in {*told.summary.messages, *commands}
        }
        each.append(NodeTraffic.of(servers, pairs))
    by_tree = [
        sum(topology_cost(one, advice_domains.as_topology(servers, tree)) for one in each)
        for tree in advice_domains.all_trees(len(servers))
    ]
    assert domains.spread("new").total == min(by_tree)
    worst = tuned(runs, tmp_path, how=WORST).advice.domains
    assert worst is not None
    assert worst.spread("new").most <= domains.spread("new").most


def test_files_are_loaded_and_told(runs: list[Path], tmp_path: Path) -> None:
    found = tuned(runs, tmp_path)
    sources = {name: Source(str(path), path.read_bytes()) for name, path in found.files.items()}
    assert set(sources) == {"weft.rid", "domains.toml", "schedule.toml"}
    grid = found.advice.grid
    assert grid is not None
    assert (
        read_ddm_settings(parse_rid(sources["weft.rid"]), SPACES).strategy == grid.new.tried.setting.strategy
    )
    assert parse_domains(sources["domains.toml"]).topology.servers == ("S1", "S2", "S3")
    assert parse_schedule(sources["schedule.toml"]).operations
    told = json.loads(json.dumps(found.as_data()))
    assert told["advice"]["grid"]["runs"]["run-3"]["new"] == grid.new.costs[3]
    text = "\n".join(lines(found))
    for word in ("5 runs, ", "chosen by the total", "what each run had", "median", "schedule: ", "wrote "):
        assert word in text


def test_runs_that_differ_are_left_out(runs: list[Path], tmp_path: Path) -> None:
    """Another object model, no rows, rows that nobody can read: each is named with its reason, and changes nothing."""
    other = write_run(tmp_path / "other", Story(3, OMT, steps=50).rows, OMT)
    empty = Path(shutil.copytree(runs[0], tmp_path / "empty"))
    shutil.rmtree(empty / "rows")
    found = tuned([*runs, other, empty], tmp_path / "out")
    alone = tuned(runs, tmp_path / "alone")
    assert {Path(run).name for run in found.advice.left_out} == {"other", "empty"}
    assert "another object model, unlike the 5 runs" in found.advice.left_out[str(other)]
    assert found.as_data()["advice"] == alone.as_data()["advice"]
    with pytest.raises(ReviewError, match=r"no run to advise on: .*the run is empty"):
        tuned([empty], tmp_path / "none")


@pytest.mark.xdist_group("spark")
@pytest.mark.timeout(600)
def test_of_one_run_it_is_the_advice_of_one(spark: Any, runs: list[Path], tmp_path: Path) -> None:
    """By total and by worst; and many runs give on Spark what they give in one process, files and replay included."""
    run = runs[4]
    one = tune(run, tmp_path / "one", session=spark)
    assert one.advice.grid is not None
    assert one.advice.domains is not None
    for how in (TOTAL, WORST):
        many = tuned([run], tmp_path / how, how=how).advice
        assert many.grid is not None
        assert many.domains is not None
        assert many.schedule is not None
        assert many.grid.new.tried.setting == one.advice.grid.new.setting
        assert [dict(c.totals) for c in many.grid.tried] == [dict(c.totals) for c in one.advice.grid.tried]
        assert many.grid.recorded.totals == dict(one.advice.grid.old.totals)
        assert (many.domains.new, many.domains.old) == (one.advice.domains.new, one.advice.domains.old)
        assert {name: sum(by.values()) for name, by in many.domains.costs.items()} == one.advice.domains.costs
        assert many.schedule.plan == one.advice.schedule.plan  # type: ignore[union-attr]
    here, there = (
        tuned(runs, tmp_path / "here"),
        tuned(runs, tmp_path / "there", session=spark, replay=2, messages=400),
    )
    assert here.advice.data() == there.advice.data()
    assert {name: path.read_text() for name, path in here.files.items()} == {
        name: path.read_text() for name, path in there.files.items()
    }
    assert len(there.replay) == 2
    for told in there.replay.values():
        grid: Any = told["grid"]
        assert grid["new"]["predicted"] == grid["new"]["obtained"]


def test_names_that_are_nothing(tmp_path: Path) -> None:
    with pytest.raises(WeftError, match="no such run or folder, and no lake at"):
        list(chosen_runs(["Range"], str(tmp_path / "lake")))

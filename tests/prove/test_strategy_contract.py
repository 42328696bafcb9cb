"""The test kit of strategies, and strategies of other packages that are found by it and by federations (S2-4, S2-23)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from prove import broken_strategies
from weft.interest import STRATEGIES
from weft.prove import StrategyContractBroken, check_strategy

SRC = Path(__file__).resolve().parents[2] / "src"


@pytest.mark.parametrize("name", STRATEGIES)
def test_our_own_keep_the_contract(name: str) -> None:
    """S2-4, S2-6 … S2-8, S2-23."""
    check_strategy(name)


def test_a_good_one_of_somebody_else_keeps_it() -> None:
    """S2-23."""
    check_strategy(broken_strategies.Stripes)


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (broken_strategies.ForgetsTheEnd, "overlapping regions have no channel in common"),
        (broken_strategies.OneExtent, "overlapping regions have no channel in common"),
        (broken_strategies.NoDefault, "overlapping regions have no channel in common"),
        (broken_strategies.TooMany, "channel 8 is none of 0 to 7"),
        (broken_strategies.SaysNothing, "returned no channel"),
        (broken_strategies.SaysNonsense, "must return a frozenset of channels"),
        (broken_strategies.Raises, "raised ZeroDivisionError"),
        (broken_strategies.CountsCalls, "says something else"),
        (broken_strategies.Hashes, "two processes say different things"),
        (broken_strategies.Negative, "partitions must be a whole number"),
        (broken_strategies.Unsure, "matches_at_sender must be True or False"),
    ],
)
def test_what_is_broken_is_found(broken: type[broken_strategies.Stripes], words: str) -> None:
    """S2-23: the kit finds each, says which strategy, and what it was asked."""
    with pytest.raises(StrategyContractBroken, match=words) as found:
        check_strategy(broken)
    assert str(found.value).startswith(f"strategy {broken.__name__}: ")


# --- a package of somebody else ------------------------------------------------------------------------------------------

MODULE = '''
from weft.interest import DdmSettings, Region, Space, Spaces


class Halves:
    """The first dimension of each space, in two."""

    name = "Halves"
    matches_at_sender = False
    partitions = channels = 2

    def __init__(self, spaces: Spaces, settings: DdmSettings) -> None:
        self.share = float(settings.options.get("share", "0.5"))

    def update_channels(self, space: Space | None, region: Region) -> frozenset[int]:
        if not region.extents:
            return frozenset()
        if space is None or not space.dimensions:
            return frozenset({0})
        along = space.dimensions[0]
        middle = int(along.size * self.share)
        found = set()
        for extent in region.extents:
            lower, upper = space.bounds(extent, along)
            if lower < middle:
                found.add(1)
            if upper > middle:
                found.add(2)
        return frozenset(found)


def broken(spaces: Spaces, settings: DdmSettings) -> Halves:
    raise RuntimeError("no disk")
'''

THEIR_TEST = """
from weft.prove import check_strategy

def test_halves():
    check_strategy("Halves", options={"share": "0.3"})
"""


def install(folder: Path, package: str = "their-halves") -> Path:
    """As pip would: a module, and beside it what the package says of itself."""
    folder.mkdir(exist_ok=True)
    (folder / "their_halves.py").write_text(MODULE)
    about = folder / f"{package.replace('-', '_')}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[weft.ddm_strategies]\nHalves = their_halves:Halves\nDiskless = their_halves:broken\nGone = their_halves:gone\n"
    )
    return folder


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"PYTHONPATH": f"{SRC}:{folder}", "PATH": "", "WEFT_PURE": "1"}
    return subprocess.run(
        [sys.executable, *arguments], env=environment, cwd=folder, capture_output=True, text=True, check=False
    )


def test_a_package_tests_its_own_strategy_in_three_lines(tmp_path: Path) -> None:
    """S2-23: installed, found by its name, tested by its authors with pytest."""
    folder = install(tmp_path / "site")
    (tmp_path / "test_halves.py").write_text(THEIR_TEST)
    done = run(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path / "test_halves.py"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


def test_a_rid_file_names_it(tmp_path: Path) -> None:
    """S2-4, S2-23: like those that come with Weft, in any case, with options of its own."""
    folder = install(tmp_path / "site")
    (folder / "x.fed").write_text(
        "(FED (Federation x) (FEDversion v1.3) (spaces (space G (dimension x)))"
        "(objects (class ObjectRoot (class T (attribute p reliable receive G)))) (interactions))"
    )
    (folder / "x.rid").write_text(
        "(RTI (DataDistribution (StrategyToUse halves) (HalvesStrategyOptions (Share 0.25))))"
    )
    done = run(
        folder, "-m", "weft", "ddm", "map", "--fed", "x.fed", "--rid", "x.rid", "--region", "low=G:x=0..0x3fffffff",
        "--region", "high=G:x=0x40000000..0x40000001",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].startswith("Halves: 2 partitions on 2 channels")
    assert done.stdout.splitlines()[-2:] == ["region low: channels 1", "region high: channels 2"]
    lint = run(folder, "-m", "weft", "ddm", "lint", "--fed", "x.fed", "--rid", "x.rid")
    assert "means nothing" not in lint.stdout, lint.stdout


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("Thirds", "AdaptivePartitioned, Diskless, Gone, Halves, not 'Thirds'; a strategy of another package is found when"),
        ("Diskless", "strategy 'Diskless' of their-halves 1.0 cannot begin: RuntimeError('no disk'); mend that package, or"),
        ("Gone", "strategy 'Gone' of their-halves 1.0 cannot be loaded from their_halves:gone: "),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_said(asked: str, words: str, tmp_path: Path) -> None:
    """Which one, of which package, and what to do."""
    folder = install(tmp_path / "site")
    (folder / "x.fed").write_text("(FED (Federation x) (FEDversion v1.3) (objects (class ObjectRoot)))")
    (folder / "x.rid").write_text(f"(RTI (DataDistribution (StrategyToUse {asked})))")
    done = run(folder, "-m", "weft", "ddm", "map", "--fed", "x.fed", "--rid", "x.rid")
    assert done.returncode
    assert words in done.stderr


def test_two_packages_that_bring_one_name(tmp_path: Path) -> None:
    """Neither is taken by chance."""
    folder = install(tmp_path / "site")
    other = install(tmp_path / "other", "other-halves")
    (folder / "x.fed").write_text("(FED (Federation x) (FEDversion v1.3) (objects (class ObjectRoot)))")
    (folder / "x.rid").write_text("(RTI (DataDistribution (StrategyToUse Halves)))")
    (other / "sitecustomize.py").write_text(f"import sys; sys.path.append({str(folder)!r})")
    done = run(
        other, "-m", "weft", "ddm", "map", "--fed", str(folder / "x.fed"), "--rid", str(folder / "x.rid")
    )
    assert done.returncode
    assert (
        "strategy 'Halves' is brought by other-halves 1.0, their-halves 1.0: uninstall all but one"
        in done.stderr
    )

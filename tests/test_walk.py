"""What documents say of the source is true: the files, modules and functions they name are there, and the walks of docs/design.md
are what happens (support/message_hops.py watches real messages)."""

from __future__ import annotations

import ast
import importlib
import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from support import documents

ROOT = documents.ROOT
SOURCE = ROOT / "src" / "weft"
PAGES = ["CONTRIBUTING.md", *documents.documents()]
PACKAGES = "|".join(sorted(one.name for one in SOURCE.iterdir() if (one / "__init__.py").exists()))
HEADS = {
    "embedded": "### In one process",
    "server": "### Through a server",
    "mesh": "### Over a mesh",
    "recorded": "## Follow one recorded row",
}
_QUOTED = re.compile(r"`([^`\n]+)`")
_PATH = re.compile(rf"(?:src/weft/|src/)?(?:{PACKAGES}|tests|docs|requirements)/[\w./*-]+")
_MODULE = re.compile(rf"weft\.(?:{PACKAGES})(?:\.\w+)*")


class Stop(NamedTuple):
    file: str
    function: str
    first_only: bool


def _section(head: str) -> str:
    """The text below a heading, up to the next."""
    text = (ROOT / "docs" / "design.md").read_text()
    assert text.count(f"\n{head}\n") == 1, head
    return re.split(r"^##", text.partition(f"\n{head}\n")[2], maxsplit=1, flags=re.M)[0]


def _walk(world: str) -> list[Stop]:
    """The rows of a table: the file, its functions, and * for what is done for the first message only."""
    rows = re.findall(r"^\| `([\w/]+\.py)` \| (`[^|]+`) \| (.*) \|$", _section(HEADS[world]), re.M)
    return [
        Stop(file, name, what.startswith("* "))
        for file, names, what in rows
        for name in _QUOTED.findall(names)
    ]


@cache
def _defined(file: Path) -> set[str]:
    """Classes and functions of a source file, methods behind their class."""
    found = set()
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
            found |= {f"{node.name}.{one.name}" for one in node.body if isinstance(one, kinds)}
    return found


@pytest.mark.parametrize("world", HEADS)
def test_what_a_walk_names_is_there(world: str) -> None:
    stops = _walk(world)
    assert len(stops) > 10
    for stop in stops:
        assert (SOURCE / stop.file).is_file(), f"the walk {world!r} names {stop.file}"
        assert stop.function in _defined(SOURCE / stop.file), (
            f"the walk {world!r} names {stop.function} of {stop.file}"
        )


def test_names_in_the_text_between_are_there() -> None:
    """In sentences a file is followed by its function: `kernel/node/node.py`, `Node.call`."""
    text = "".join(_section(head) for head in HEADS.values())
    named = re.findall(r"(?<!\| )`([\w/]+\.py)`, `([\w.]+)`", text)
    assert named
    for file, function in named:
        assert function in _defined(SOURCE / file), f"{function} of {file}"


@pytest.mark.parametrize("world", ["embedded", "server", "mesh"])
def test_a_walk_says_how_long_it_is(world: str) -> None:
    (row,) = re.findall(rf"^\| {world} \|" + r" (\d+) \|" * 4, _section("## Follow one interaction"), re.M)
    stops = _walk(world)
    usual = [stop for stop in stops if not stop.first_only]
    assert [int(one) for one in row] == [
        count for some in (stops, usual) for count in (len(some), len({stop.file for stop in some}))
    ]


@pytest.mark.parametrize("world", HEADS)
def test_a_message_takes_the_walk(world: str) -> None:
    """A real one: the first passes all stops in their order, the next all but those that are for the first only."""
    paths = (ROOT / "tests", ROOT / "src")
    done = subprocess.run(
        [sys.executable, "-m", "support.message_hops", world, "--json"],
        env={**os.environ, "WEFT_PURE": "1", "PYTHONPATH": os.pathsep.join(map(str, paths))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    first, next_one = ([tuple(hop) for hop in hops] for hops in json.loads(done.stdout))
    stops = _walk(world)
    _is_passed(stops, first)
    _is_passed([stop for stop in stops if not stop.first_only], next_one)
    if world != "recorded":
        again = {(stop.file, stop.function) for stop in stops if stop.first_only} & set(next_one)
        assert not again, f"done for the second message, too: {again}"
    if world == "embedded":  # the same in every run: there is no other thread
        told = re.findall(r"(\d+) in (\d+) files", _section("## Follow one interaction"))[:2]
        entered = [set(first), set(next_one)]
        assert [tuple(map(int, one)) for one in told] == [
            (len(one), len({file for file, _ in one})) for one in entered
        ]


def _is_passed(stops: list[Stop], hops: list[tuple[str, ...]]) -> None:
    at = 0
    for stop in stops:
        hop = (stop.file, stop.function)
        assert hop in hops, f"{hop} is not called"
        assert hop in hops[at:], f"{hop} is called, but not after {hops[at - 1]}"
        at = hops.index(hop, at) + 1


@pytest.mark.parametrize("page", PAGES)
def test_paths_and_modules_that_a_page_names_are_there(page: str) -> None:
    for quoted in _QUOTED.findall((ROOT / page).read_text()):
        if _PATH.fullmatch(quoted):
            bases = (ROOT, ROOT / "src", SOURCE)
            assert any(any(base.glob(quoted.rstrip("/"))) for base in bases), f"{page} names {quoted}"
        elif _MODULE.fullmatch(quoted):
            assert _is_found(quoted), f"{page} names {quoted}"


def _is_found(dotted: str) -> bool:
    """A module, or what one has: `weft.review.judge`."""
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for name in parts[length:]:
            if not hasattr(found, name):
                return False
            found = getattr(found, name)
        return True
    return False


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/design.md"])
def test_source_files_that_are_named_alone_are_there(page: str) -> None:
    """`recipients.py`, where its folder was named before."""
    known = {one.name for folder in ("src", "tests") for one in (ROOT / folder).rglob("*.py")}
    named = {one for one in _QUOTED.findall((ROOT / page).read_text()) if re.fullmatch(r"\w+\.py", one)}
    assert named <= known | {"setup.py", "conf.py"}, f"{page} names {named - known}"


def test_the_examples_of_contributing_are_of_this_source() -> None:
    """What a numbered step names is in one of the files, or in a file of one of the folders, that the step names."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    steps = re.findall(r"^\d+\. (.*?)(?=^\d+\. |^#|\n\n)", text.partition("## Example")[2], re.M | re.S)
    assert len(steps) > 12
    for step in steps:
        quoted = _QUOTED.findall(step)
        named = [SOURCE / one for one in quoted if "/" in one and not one.startswith(("tests/", "docs/"))]
        files = [file for one in named for file in (one.glob("*.py") if one.is_dir() else [one])]
        words = {word for file in files for word in re.findall(r"\w+", file.read_text())}
        wanted = {
            re.sub(r"\(.*", "", one).rpartition(".")[2]
            for one in quoted
            if re.fullmatch(r"[\w.]+(\(.*\))?", one)
        }
        assert not files or wanted <= words, f"{step}: {wanted - words}"


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "README.md"])
def test_make_targets_that_a_page_names_exist(page: str) -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.M))
    named = set(re.findall(r"(?:^|`)make (\w+)", (ROOT / page).read_text(), re.M))
    assert named
    assert named <= targets

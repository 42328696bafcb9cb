"""One contract for every place: this machine, a store of objects (S3), and what only fsspec knows."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.object_store import credentials, object_store
from weft.host.storage import Place, StorageError, place_of


@pytest.fixture(scope="module")
def store_address() -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch, object_store() as store:
        for name, value in credentials().items():
            patch.setenv(name, value)
        yield store.address("lake/some runs")


@pytest.fixture(params=["local", "s3", "memory"])
def top(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    if request.param == "local":
        yield place_of(tmp_path / "Ränge a")
        return
    address = (
        cast("str", request.getfixturevalue("store_address")) if request.param == "s3" else "memory://a/b"
    )
    place = place_of(address)
    yield place
    place.remove()


def test_what_is_written_is_there(top: Place) -> None:
    """A file is written whole, replaced whole, and read whole; a folder is there as long as a file is below it."""
    file = top / "rows" / "node=Käfer" / "a b+c%20.parquet"
    assert not file.is_file()
    assert not top.is_folder()
    assert top.entries() == []
    file.write(b"one")
    file.write(b"another")
    assert file.read() == b"another"
    with file.open_file() as opened:
        opened.seek(2)
        assert opened.read() == b"other"
    assert file.is_file()
    assert not file.is_folder()
    assert file.parent.is_folder()
    assert file.entry().bytes == 7
    assert [(one.place, one.is_folder) for one in top.entries()] == [(top / "rows", True)]
    assert [one.place for one in top.files()] == [file]
    assert file.below(top) == "rows/node=Käfer/a b+c%20.parquet"


def test_what_is_removed_is_gone(top: Place) -> None:
    """A file, or all that is below a folder; what was not there is no error."""
    for name in ("a/1", "a/2", "b/c/3"):
        (top / name).write(b"")
    (top / "a" / "1").remove()
    (top / "b").remove()
    (top / "nothing").remove()
    assert [one.place for one in top.files()] == [top / "a" / "2"]
    with pytest.raises(FileNotFoundError):
        (top / "a" / "1").read()
    with pytest.raises(FileNotFoundError):
        (top / "a" / "1").entry()


def test_a_place_is_a_value(top: Place) -> None:
    """By its address, and as it goes to another process, it is the same place."""
    file = top / "x" / "y=1" / "ü ?#"
    for again in (place_of(file.address), pickle.loads(pickle.dumps(file)), place_of(file)):
        assert again == file
        assert hash(again) == hash(file)
    assert (file.name, file.parent.name, file.with_name("z").parent) == ("ü ?#", "y=1", file.parent)


@given(st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=20))
def test_any_name_keeps(name: str) -> None:
    """What an address says is what it was made of, whatever letters a name has."""
    if name in (".", ".."):
        return
    file = Place("/runs", "s3://lake", "region=x") / name / "end"
    again = Place(*pickle.loads(pickle.dumps(file.__reduce__()[1])))
    assert again == file
    assert again.parent.name == name


def test_relative_paths_become_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks run in other folders."""
    monkeypatch.chdir(tmp_path)
    assert place_of("runs/a").local == tmp_path / "runs" / "a"
    assert place_of(f"file://{tmp_path}/x%20y").local == tmp_path / "x y"


def test_what_nobody_can_open_is_told() -> None:
    """The address, why, and what to do; no password."""
    with pytest.raises(StorageError, match=r"neither Arrow .* nor fsspec .* 'nothere'"):
        place_of("nothere://user:secret@host/x")
    assert "secret" not in str(Place("/x", "s3://key:secret@lake"))

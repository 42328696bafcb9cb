"""Save files: whole or refused, and nowhere but in their directory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.host.files.saves import MAGIC, MemorySaves, SaveDirectory, SaveError, Saves, pack, safe_name

DATA = {"version": 1, "names": ["a", "b"], "bytes": b"\x00\xff"}
NAMES = [
    "..",
    "../../etc/passwd",
    "/etc/passwd",
    "a/b",
    "a\\b",
    "",
    ".",
    "nul\0",
    "C:evil",
    "~root",
    "x" * 5000,
    "Ω≈ç",
    "\ud800",
    "-rf",
    " ",
]


@pytest.fixture(params=[SaveDirectory, MemorySaves])
def saves(request: pytest.FixtureRequest, tmp_path: Path) -> Saves:
    """Every keeper of saves passes the same tests."""
    found: Saves = SaveDirectory(tmp_path) if request.param is SaveDirectory else MemorySaves()
    return found


def test_what_is_written_is_read(saves: Saves) -> None:
    """The last under a label, apart from other labels and federations."""
    saves.write("Range", "noon", {"old": 1})
    saves.write("Range", "noon", DATA)
    saves.write("Range", "dusk", {})
    saves.write("range", "noon", {"other": 2})
    assert saves.read("Range", "noon") == DATA
    assert saves.read("range", "noon") == {"other": 2}


def test_what_is_not_there_is_refused(saves: Saves) -> None:
    saves.write("Range", "noon", DATA)
    for federation, label in (("Range", "Noon"), ("Rang", "noon"), ("Rangenoon", "")):
        with pytest.raises(SaveError, match="there is no save"):
            saves.read(federation, label)


@pytest.mark.parametrize("name", NAMES)
def test_no_name_leads_out_of_the_directory(tmp_path: Path, name: str) -> None:
    """Names come from the network: whatever they say, the file is two levels below the directory of saves."""
    directory = tmp_path / "saves"
    kept = SaveDirectory(directory)
    kept.write(name, name, DATA)
    assert kept.read(name, name) == DATA
    made = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path.parent.parent for path in made] == [directory]


@settings(max_examples=200)
@given(st.text(), st.text())
def test_different_names_have_different_files(one: str, other: str) -> None:
    """Also where a file system does not tell upper case from lower."""
    assert (safe_name(one).lower() == safe_name(other).lower()) == (one == other)
    assert len(safe_name(one)) < 64


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda whole: whole[:-1], "torn"),
        (lambda whole: whole[:20], "torn"),
        (lambda whole: whole + b"x", "torn"),
        (lambda whole: whole[:-1] + bytes([whole[-1] ^ 1]), "checksum"),
        (lambda whole: whole[:60] + bytes([whole[60] ^ 1]) + whole[61:], "checksum"),
        (lambda whole: b"", "no save of Weft"),
        (lambda whole: b"PK\3\4" + whole, "no save of Weft"),
        (lambda whole: MAGIC + b"\0\0\0\2" + whole[12:], "version 2"),
        (lambda whole: pack("Range", "dusk", DATA), "the save 'dusk'"),
    ],
)
def test_a_torn_or_alien_file_is_refused_by_name(tmp_path: Path, change: Any, says: str) -> None:
    """Never a part of a save, never another's: the message names the file."""
    kept = SaveDirectory(tmp_path)
    kept.write("Range", "noon", DATA)
    path = kept.path("Range", "noon")
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(SaveError, match=says) as caught:
        kept.read("Range", "noon")
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_save_that_cannot_be_written_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """A full disk, a crash before the rename: there is the old save or the new one, and nothing else."""
    kept = SaveDirectory(tmp_path)
    kept.write("Range", "noon", DATA)

    def fail(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(SaveError, match="No space left"):
        kept.write("Range", "noon", {"new": 1})
    monkeypatch.undo()
    assert kept.read("Range", "noon") == DATA
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 1


def test_there_is_a_limit_for_each_federation(tmp_path: Path) -> None:
    """A federate cannot fill the disk with labels; a label that is there may be saved again."""
    kept = SaveDirectory(tmp_path, most=2)
    for label in ("one", "two", "one"):
        kept.write("Range", label, DATA)
    with pytest.raises(SaveError, match=r"limits\.saves"):
        kept.write("Range", "three", DATA)
    kept.write("Harbour", "three", DATA)


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(SaveError, match="file"):
        SaveDirectory(tmp_path / "file").write("Range", "noon", DATA)

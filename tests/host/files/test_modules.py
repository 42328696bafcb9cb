"""Reading object models from disk: what a user may name, and what is said when it cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft import Source, load_fom
from weft.cli.data import object_model
from weft.host import read_source, read_sources
from weft.host.files import modules
from weft.model.errors import CouldNotOpenFOM

RANGE = object_model("range.xml")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "my range (1).xml"
    made.write_bytes(RANGE.data)
    return made


def test_a_path_in_any_form(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A string, a path, a relative path, a file: address with its spaces escaped or not."""
    monkeypatch.chdir(path.parent)
    for designator in (path, str(path), path.name, path.as_uri(), f"file://{path}", f"FILE:{path}"):
        found = read_source(designator)
        assert found.data == RANGE.data
        assert found.name == str(designator), "errors will speak of it as the user did"
    assert "%20" in path.as_uri()


def test_a_source_is_taken_as_it_is() -> None:
    """A `Source` brings its text along."""
    assert read_source(RANGE) is RANGE


def test_one_or_several(path: Path) -> None:
    """`read_sources` takes one designator or any number of them."""
    assert read_sources(str(path))[0].data == RANGE.data
    assert read_sources(path) == read_sources([path])
    assert read_sources(RANGE) == (RANGE,)
    assert [source.name for source in read_sources(one for one in (RANGE, path))] == ["range.xml", str(path)]
    assert read_sources([]) == ()


def test_a_file_of_a_strange_name(tmp_path: Path) -> None:
    """What only looks like an address is a path."""
    for name in ("http.xml", "a:b.xml", "[x", "50%25.xml"):
        strange = tmp_path / name
        strange.write_bytes(b"text")
        assert read_source(str(strange)).data == b"text"


def test_a_name_like_an_address_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative path with a colon in it."""
    monkeypatch.chdir(tmp_path)
    Path("http:model.xml").write_bytes(b"text")
    assert read_source("http:model.xml").data == b"text"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nowhere.xml", "nowhere.xml: No such file or directory"),
        ("file:///nowhere/at%20all.xml", "file:///nowhere/at%20all.xml: No such file or directory"),
        ("http://example.com/fom.xml", "read from files, not from the network"),
        ("HTTPS://example.com/fom.xml", "read from files, not from the network"),
        ("ftp://example.com/fom.xml", "read from files, not from the network"),
        ("bad\0name.xml", "is no path"),
        ("file://[x", "is no path"),
        ("", "Is a directory"),
    ],
)
def test_what_cannot_be_read_says_why(name: str, said: str) -> None:
    """CouldNotOpenFOM with the name as it was given, and the reason."""
    with pytest.raises(CouldNotOpenFOM) as caught:
        read_source(name)
    assert said in str(caught.value)


def test_a_directory_is_no_object_model(tmp_path: Path) -> None:
    """CouldNotOpenFOM, not a traceback."""
    with pytest.raises(CouldNotOpenFOM, match="Is a directory"):
        read_source(tmp_path)


def test_a_file_that_is_too_large(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is larger than any object model is not read to its end, if it has one."""
    monkeypatch.setattr(modules, "MAX_SIZE", len(RANGE.data) - 1)
    for endless in (path, Path("/dev/zero")):
        with pytest.raises(CouldNotOpenFOM, match="larger than"):
            read_source(endless)


def test_a_file_just_small_enough(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit itself is allowed."""
    monkeypatch.setattr(modules, "MAX_SIZE", len(RANGE.data))
    assert read_source(path).data == RANGE.data


def test_an_object_model_from_files(path: Path) -> None:
    """`load_fom` merges what it reads with the standard MIM."""
    model = load_fom(path)
    assert "HLAobjectRoot.Vehicle.Tank" in model.object_classes
    assert "HLAobjectRoot.HLAmanager.HLAfederate" in model.object_classes
    assert model.decode("VehicleState", model.encode("VehicleState", "Damaged")) == "Damaged"
    assert load_fom(Source("x", RANGE.data)).object_classes.keys() == model.object_classes.keys()

"""Object models that a federate only names: from a folder of the server's, by the last name in the address, or not at all.

The addresses are those that clients in Java and C++ send when they could not read a file themselves (4.5 leaves open what a
designator of a module may be).
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support.foreign_client import Foreign
from support.server_in_thread import serving
from weft.cli.data import object_model
from weft.host.server.unpacking import NoModule, from_directory, plain_name
from weft.host.settings import ServeSettings
from weft.model.errors import SettingsError
from weft.wire.codec.values import ModuleUrl

ADDRESSES = [
    "jar:file:/home/me/my%20federate.jar!/foms/range.xml",
    "jar:nested:/app.jar/!BOOT-INF/lib/foms.jar!/range.xml",
    "http://example.org/foms/range.xml?version=2#top",
    "file:/not/here/range.xml",
    "C:\\foms\\range.xml",
    "foms/range.xml",
    "range.xml",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "secret.xml").write_text("secret")
    made = tmp_path / "modules"
    (made / "below").mkdir(parents=True)
    (made / "range.xml").write_bytes(object_model("range.xml").data)
    (made / "below" / "deep.xml").write_text("deep")
    (made / "out.xml").symlink_to(tmp_path / "secret.xml")
    (made / "inside.xml").symlink_to(made / "range.xml")
    (made / ".hidden").write_text("hidden")
    return made


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_federation_is_created_with_a_module_of_the_server(folder: Path, address: str) -> None:
    with serving(serve=ServeSettings(module_directory=str(folder))) as running:
        federate = Foreign(running.ports["tcp"])
        federate.call("create_federation_execution", "F", (ModuleUrl(address),), None, "HLAinteger64Time")
        federate.join("F", "it")
        assert federate.call("get_interaction_class_handle", "Fire")


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("jar:file:/a.jar!/ships.xml", "there is no module 'ships.xml' in the folder of the server"),
        ("http://example.org/", "there is no module ''"),
        ("deep.xml", "'deep.xml'"),
        ("below/deep.xml", "'deep.xml'"),
        ("../secret.xml", "'secret.xml'"),
        ("out.xml", "'out.xml'"),
        ("..", "''"),
        (".hidden", "''"),
        ("http://h/..%2Fsecret.xml", "''"),
        ("http://h/x%2F..%2F..%2Fsecret.xml", "''"),
        ("below", "'below'"),
    ],
)
def test_nothing_else_is_read(folder: Path, address: str, told: str) -> None:
    """Neither what is below the folder or beside it, nor what a link leads out of it to."""
    with pytest.raises(NoModule) as refused:
        from_directory(str(folder), address, 1 << 20)
    assert told in str(refused.value)
    assert str(refused.value).endswith("(serve.module_directory), which has inside.xml, range.xml")


@given(st.one_of(st.text(), st.text(alphabet="./\\%2Ff!:secret.xml#?")))
@example("http://h/..%5c..%5csecret.xml")
@example("\0")
def test_a_plain_name_leads_nowhere_but_into_the_folder(address: str) -> None:
    name = plain_name(address)
    assert name == "" or (Path("/folder") / name).parent == Path("/folder")
    assert not {"/", "\\"} & set(name)
    assert not name.startswith(".")


def test_a_link_within_the_folder_is_followed(folder: Path) -> None:
    """As where a cluster's configuration is mounted."""
    assert from_directory(str(folder), "inside.xml", 1 << 20).data == object_model("range.xml").data


def test_no_more_is_read_than_counts(folder: Path) -> None:
    """What is longer than all modules of a call may be is refused by its length, which one byte more shows."""
    assert len(from_directory(str(folder), "range.xml", 10).data) == 11
    with serving(serve=ServeSettings(module_directory=str(folder)), module_bytes=100) as running:
        federate = Foreign(running.ports["tcp"], settings="")
        name, text = federate.refused("create_federation_execution", "F", (ModuleUrl("range.xml"),), None, "")
        assert name == "ErrorReadingFOM"
        assert "limits.module_bytes allows 100" in text


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("jar:file:/a.jar!/ships.xml", "what is in a jar only its own federate can read"),
        ("https://example.org/ships.xml", "a server fetches nothing"),
        ("ships.xml", "the federate could not read this file where it runs"),
        ("file:/tmp/ships.xml", "the federate could not read this file where it runs"),
        ("C:\\ships.xml", "the federate could not read this file where it runs"),
    ],
)
def test_without_a_folder_the_reason_is_true(address: str, told: str) -> None:
    with serving() as running:
        federate = Foreign(running.ports["tcp"], settings="")
        name, text = federate.refused("create_federation_execution", "F", (ModuleUrl(address),), None, "")
        assert name == "CouldNotOpenFOM"
        assert text.startswith(f"{address}: ")
        assert told in text
        assert ("--modules DIR" in text) is (told != "the federate could not read this file where it runs")
        fom = (object_model("range.xml"),)
        name, _ = federate.refused("create_federation_execution", "F", fom, ModuleUrl(address), "")
        assert name == "CouldNotOpenMIM"


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"serve\.module_directory is '.*none'; there is no such folder"):
        ServeSettings(module_directory=str(tmp_path / "none"))

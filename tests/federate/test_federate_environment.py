"""`weft.join()` in a process that `weft run` has started: what is not said comes from the environment (issue 22, item 7)."""

from __future__ import annotations

import os

import pytest

import weft
from weft.cli.data import object_model
from weft.errors import SettingsError
from weft.federate.entering import Invitation, invitation

NOTHING = Invitation("", "", "", None, "", "")
ENVIRONMENT = {
    "WEFT_ADDRESS": "127.0.0.1:15164",
    "WEFT_FEDERATION": "Range",
    "WEFT_FEDERATE": "tug-1",
    "WEFT_FEDERATE_TYPE": "tug",
    "WEFT_FOM": os.pathsep.join(["/a.xml", "/b.xml"]),
    "WEFT_TIME": "integer64",
}


def test_everything_may_come_from_the_environment() -> None:
    found = invitation(NOTHING, None, ENVIRONMENT)
    assert found == Invitation("Range", "tug-1", "tug", ["/a.xml", "/b.xml"], "integer64", "127.0.0.1:15164")


def test_what_is_said_wins() -> None:
    """A federation that is named takes only the address: name, type, object models and time are of the other one."""
    told = NOTHING._replace(name="mine", kind="k", fom="c.xml", time=0.1, rti="other:1")
    found = invitation(told, "other:1", ENVIRONMENT)
    assert found == Invitation("Range", "mine", "k", "c.xml", 0.1, "other:1")
    told = NOTHING._replace(federation="Harbour", fom="c.xml")
    assert invitation(told, None, ENVIRONMENT) == told._replace(rti="127.0.0.1:15164")
    assert invitation(told, None, {}) == told


def test_what_is_missing_is_told() -> None:
    with pytest.raises(SettingsError, match=r"needs the federation's name; .* `weft run FILE`"):
        invitation(NOTHING, None, {})
    with pytest.raises(SettingsError, match=r"weft.join\('Range'\) needs fom="):
        invitation(NOTHING._replace(federation="Range"), None, ENVIRONMENT)
    with pytest.raises(SettingsError, match=r"neither the environment .* has object models"):
        invitation(NOTHING, None, {"WEFT_FEDERATION": "Range"})


def test_a_node_of_this_process_is_where_it_joins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also below `weft run`; and without `rti` the address is that of the environment."""
    monkeypatch.setenv("WEFT_ADDRESS", "127.0.0.1:1")
    fom = object_model("range.xml")
    with weft.join("Range", "gunner", fom=fom, host=weft.EmbeddedNode()) as gunner:
        assert gunner.rti.get_federate_name(gunner.rti.get_federate_handle("gunner")) == "gunner"
    with weft.join("Range", "gunner", fom=fom, rti=""):
        pass
    with pytest.raises(weft.errors.ConnectionFailed, match=r"127\.0\.0\.1:1"):
        weft.join("Range", "gunner", fom=fom, wait=0).join()

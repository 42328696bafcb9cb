"""Names that are empty, endless or cannot be shown are refused, wherever the RTI is; all others are taken as they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import weft
from federate.test_argument_kinds import WORLDS, World, world
from weft import CallbackModel, FederateAmbassador, RTIambassador
from weft.model.errors import IllegalName, RTIexception, RTIinternalError
from weft.model.names import LONGEST, fault_of
from weft.model.time import HLAinteger64Time

ABSURD = [
    "",
    "x" * 100_000,
    "x" * (LONGEST + 1),
    "a\nb",
    "\0",
    "a\x7fb",
    "tab\t",
    "line\u2028",
    "\x1b[31mred",
]
SOUND = ["a", "x" * LONGEST, "with blanks", "Größe", "名前", "🛩", "a/b\\c:d", "..", "%00"]

NAMED: dict[str, tuple[type[RTIexception], Callable[[World, str], Any]]] = {
    "federation": (RTIinternalError, lambda w, name: w.rti.create_federation_execution(name, ())),
    "object": (IllegalName, lambda w, name: w.rti.reserve_object_instance_name(name)),
    "objects": (IllegalName, lambda w, name: w.rti.reserve_multiple_object_instance_names({"fine", name})),
    "point": (RTIinternalError, lambda w, name: w.rti.register_federation_synchronization_point(name, b"")),
    "save": (RTIinternalError, lambda w, name: w.rti.request_federation_save(name)),
    "save at a time": (
        RTIinternalError,
        lambda w, name: w.rti.request_federation_save(name, HLAinteger64Time(9)),
    ),
    "restore": (RTIinternalError, lambda w, name: w.rti.request_federation_restore(name)),
}


@pytest.mark.parametrize("kind", WORLDS)
def test_absurd_names_are_refused(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clauses 4.5, 4.14, 4.19, 4.27 and 6.2: with IllegalName where it is listed; nothing is named so."""
    monkeypatch.setenv("WEFT_SERVE_RUN_DIRECTORY", str(tmp_path / "runs"))
    with world(kind, tmp_path) as here:
        for name in ABSURD:
            for what, (error, call) in NAMED.items():
                with pytest.raises(RTIexception) as caught:
                    call(here, name)
                assert type(caught.value) is error, (what, name[:20])
                assert len(str(caught.value)) < 300
                assert str(caught.value).isprintable()
        here.rti.reserve_object_instance_name("fine")  # not reserved together with an absurd one
        for name in SOUND:
            here.rti.reserve_object_instance_name(name)
            here.rti.register_federation_synchronization_point(name, b"")
            here.rti.create_federation_execution(name, ())


@pytest.mark.parametrize("name", ABSURD)
def test_federates_have_no_absurd_names(name: str) -> None:
    """Clause 4.11: neither the name nor the type."""
    node = weft.EmbeddedNode()
    rti = RTIambassador(node)
    rti.connect(FederateAmbassador(), CallbackModel.EVOKED)
    rti.create_federation_execution("F", ())
    with pytest.raises(RTIinternalError):
        rti.join_federation_execution(name, "kind", "F")
    if name:
        with pytest.raises(RTIinternalError):
            rti.join_federation_execution("name", name, "F")
    rti.join_federation_execution("name", "", "F")
    rti._lose_connection()


def test_what_is_wrong_is_said() -> None:
    assert fault_of("") == "it is empty"
    assert fault_of("x" * 2000) == f"it has 2000 characters, and a name has {LONGEST} at most"
    assert fault_of("a\nb") == "character 2 is '\\n', which cannot be shown"

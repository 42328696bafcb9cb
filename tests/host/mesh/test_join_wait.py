"""`weft.join(wait=)` on a mesh: the order in which its nodes are started, for the first time or again, does not matter."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import weft
from support.node_processes import write_file
from support.own_node_process import OwnProcess
from weft.cli.data import object_model
from weft.fabric import Topology
from weft.host.mesh.node import read_domains
from weft.model.errors import ConnectionFailed, RTIinternalError

PAIR = Topology(("S1", "S2"), {"A": ("S1", "S2")})
RANGE = object_model("range.xml")
BOUND = 240.0  # seconds; nothing here takes that long unless it hangs


class Heard(logging.Handler):
    """Is somebody waiting?"""

    def __init__(self) -> None:
        super().__init__()
        self.waits = threading.Event()
        self.text = ""

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage().startswith("waiting"):
            self.text = record.getMessage()
            self.waits.set()


@pytest.fixture
def heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Heard]:
    monkeypatch.setenv("WEFT_SERVE_RUN_DIRECTORY", str(tmp_path / "runs"))
    monkeypatch.setenv("WEFT_FABRIC_RETRY_SECONDS", "0.02")
    monkeypatch.setenv("WEFT_FABRIC_RETRY_MOST_SECONDS", "0.1")
    monkeypatch.setenv("WEFT_FABRIC_LOST_SECONDS", "0.5")
    made = Heard()
    logging.getLogger("weft").addHandler(made)
    yield made
    logging.getLogger("weft").removeHandler(made)
    weft.stop_node()


class Joining:
    """A federate that joins in a thread of its own."""

    def __init__(self, address: str, wait: float = BOUND) -> None:
        self.found: list[str | Exception] = []
        self._thread = threading.Thread(target=self._join, args=(address, wait), daemon=True)
        self._thread.start()

    def _join(self, address: str, wait: float) -> None:
        try:
            with weft.join("Range", "one", fom=RANGE, rti=address, wait=wait) as one:
                self.found.append(one.name)
        except Exception as error:
            self.found.append(error)

    def ends(self) -> str | Exception:
        self._thread.join(BOUND)
        assert not self._thread.is_alive(), "it hangs"
        (found,) = self.found
        return found


def test_a_node_that_is_started_again_waits_for_the_others(tmp_path: Path, heard: Heard) -> None:
    """It has a journal, and takes the directory for gone after `fabric.lost_seconds`; `wait` is longer."""
    file = write_file(tmp_path, PAIR)
    here = f"mesh://S2@{file}"
    with OwnProcess(f"mesh://S1@{file}", "S1") as first:
        first.says("ready")
        assert Joining(here).ends() == "one"
        weft.stop_node(here)
        first.tell("end")
        assert first.process.wait(BOUND) == 0
    refused = Joining(here, wait=0.0).ends()
    assert isinstance(refused, RTIinternalError)
    assert "'S1' went away" in str(refused)
    weft.stop_node(here)
    joining = Joining(here)
    assert heard.waits.wait(BOUND)
    assert "'S1' went away" in heard.text, "it says who is waited for"
    with OwnProcess(f"mesh://S1@{file}", "S1") as again:
        again.says("ready")
        assert joining.ends() == "one"


def test_a_node_waits_for_the_process_that_was_it_before(tmp_path: Path, heard: Heard) -> None:
    """Its address is in use until that has ended."""
    file = write_file(tmp_path, PAIR)
    domains, _ = read_domains(str(file))
    host, port = domains.addresses["S1"].split(":")
    with socket.socket() as before:
        before.bind((host, int(port)))
        before.listen()
        refused = Joining(f"mesh://S1@{file}", wait=0.0).ends()
        assert isinstance(refused, ConnectionFailed)
        assert "the address of S1" in str(refused)
        joining = Joining(f"mesh://S1@{file}")
        assert heard.waits.wait(BOUND)
        assert "the address of S1" in heard.text
    assert joining.ends() == "one"

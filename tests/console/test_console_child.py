"""`weft serve`, `weft run` and `weft console` with a console, as users run them (issue 9, console)."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import weft
from support.console_in_thread import WAIT
from support.console_process import Command, command
from support.json_schema_check import faults
from support.node_processes import write_file
from weft.cli import main
from weft.cli.data import object_model
from weft.cli.operate.console import console_for, reachable
from weft.console import child
from weft.console.child import check, guard_of, listen
from weft.fabric import Topology
from weft.host.settings import ConsoleSettings, Settings, load_settings
from weft.model.errors import SettingsError


def eventually(condition: Callable[[], Any], what: str) -> None:
    deadline = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def test_a_console_that_dies_is_reported_and_nobody_else_is_concerned(tmp_path: Path) -> None:
    with command(tmp_path, "serve", "--port", "0", "--no-record") as server:
        assert server.url.startswith("http://127.0.0.1:")
        assert server.looking != server.url
        address = server.address()
        federate = weft.RTIambassador()
        federate.connect(weft.FederateAmbassador(), weft.CallbackModel.EVOKED, address)
        federate.create_federation_execution("Range", [object_model("range.xml")])
        federate.join_federation_execution("one", "test", "Range")
        federate.publish_interaction_class(federate.get_interaction_class_handle("Fire"))
        picture, described = server.picture(), server.get("/api/openapi.json")
        assert faults(picture, described["components"]["schemas"]["Picture"], described) == []
        assert picture["federations"]["Range"]["federates"]["one"]["type"] == "test"
        assert picture["federations"]["Range"]["classes"]["HLAinteractionRoot.Fire"]["publishers"] == ["one"]
        assert picture["nodes"]["server"]["server"]["sessions"] == 2
        assert picture["nodes"]["server"]["state"] == "up"
        assert picture["nodes"]["server"]["address"] == address
        assert picture["console"]["may_steer"] is True
        (pid,) = server.consoles()
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: "the console has ended" in server.errors.read_text(), "reported")
        with command(tmp_path, "console", address) as another:
            assert another.picture()["nodes"]["server"]["state"] == "up"
            another.process.send_signal(signal.SIGINT)
            assert another.process.wait(WAIT) == 130
        federate.resign_federation_execution(weft.ResignAction.NO_ACTION)
        federate.disconnect()
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(WAIT) == 0
    log = "".join(path.read_text() for path in tmp_path.glob("runs/server/*/*.log"))
    log += server.errors.read_text()
    for url in (server.url, server.looking):
        assert url.partition("token=")[2] not in log


def test_a_mesh_has_one_console_for_all_nodes_and_a_killed_one_is_down(tmp_path: Path) -> None:
    topology = Topology(("S1", "S2"), {"A": ("S1", "S2")})
    write_file(tmp_path, topology)
    arguments = (
        "run",
        "domains.toml",
        "--settings",
        "settings.toml",
        "--no-journal",
        "--no-record",
        "--plain",
    )
    with command(tmp_path, *arguments) as mesh:

        def states() -> dict[str, str]:
            return {name: one["state"] for name, one in mesh.picture()["nodes"].items()}

        assert set(states()) == {"S1", "S2"}
        eventually(lambda: states() == {"S1": "up", "S2": "up"}, "both answer")
        pids = dict(re.findall(r"(S\d): \w+ \(process (\d+)\)", "".join(_lines(mesh, "S2: running"))))
        os.kill(int(pids["S1"]), signal.SIGKILL)
        eventually(lambda: states() == {"S1": "down", "S2": "up"}, "seen")
        eventually(lambda: "died (SIGKILL)" in mesh.picture()["nodes"]["S1"]["why"], "why")
        (pid,) = mesh.consoles()
        mesh.process.kill()
        eventually(lambda: not Path(f"/proc/{pid}").exists(), "the console ends with whoever started it")


def _lines(mesh: Command, until: str) -> list[str]:
    mesh.find(f"({until})")
    return mesh.said


# --- what is refused, and said ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings, said",
    [
        (ConsoleSettings(host="0.0.0.0"), "--console-insecure"),
        (ConsoleSettings(host="10.0.0.1"), "console.cert and console.key"),
        (ConsoleSettings(cert="c"), "both, or neither"),
        (ConsoleSettings(cert="nowhere", key="nowhere"), "nowhere"),
    ],
)
def test_off_this_machine_only_with_tls_or_where_it_is_said(settings: ConsoleSettings, said: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(said)):
        check(settings)
    check(ConsoleSettings(host="0.0.0.0", insecure=True))
    check(ConsoleSettings(host="localhost"))


def test_settings_of_the_console() -> None:
    flags = {"console.on": None, "console.port": 5}
    found = load_settings(flags, {"WEFT_CONSOLE_ON": "0"}, '[console]\nhost = "::1"\nport = 4\n').console
    assert (found.on, found.host, found.port) == (False, "::1", 5)
    with pytest.raises(SettingsError, match=r"console\.port"):
        ConsoleSettings(port=70_000)


def test_a_port_that_is_taken_is_said(tmp_path: Path) -> None:
    with listen(ConsoleSettings()) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SettingsError, match=f"cannot listen on 127.0.0.1:{port}.*--console-port"):
            listen(ConsoleSettings(port=port))
        guard = guard_of(ConsoleSettings(names="Lab.example, other"), taken)
        assert guard.names == {"lab.example", "other"}


def test_without_the_extra_the_greeting_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(child, "NEEDS", ("starlette", "no_such_package"))
    console, said = console_for(Settings(), print, tmp_path / "log")
    assert console is None
    assert "pip install 'weft-rti[console]'" in said[0]
    assert main(["console", "127.0.0.1"]) == 2
    assert console_for(Settings(console=ConsoleSettings(on=False)), print, tmp_path / "log") == (None, ())


def test_a_server_that_listens_everywhere_is_reached_here() -> None:
    assert reachable([("tcp", "0.0.0.0", 5)]) == "127.0.0.1:5"
    assert reachable([("tcp", "::", 5)]) == "[::1]:5"
    assert reachable([("tcp", "10.0.0.1", 5), ("tls", "10.0.0.1", 6)]) == "10.0.0.1:5"


def test_a_key_that_cannot_be_read_is_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["console", "127.0.0.1", "--key", str(tmp_path / "none")]) == 2
    assert "--operator-key" in capsys.readouterr().err

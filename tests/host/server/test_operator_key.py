"""Who may steer a federation of a server: whoever can read its operator key (issue 9, "Steer"; docs/how-to/steering.md)."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from support.recording_ambassador import Recorder
from support.server_in_thread import Running, serving
from support.small_fom import fom
from weft import CallbackModel, Credentials, HLAfloat64Time, ResignAction, RTIambassador, RtiConfiguration
from weft.host.addresses import is_local
from weft.host.conventions import OPERATOR
from weft.host.server.guard import OPERATOR_KEY, OperatorKey, hash_password, read_password_file
from weft.host.server.server import Server
from weft.host.settings import ServeSettings, Settings
from weft.model.errors import InvalidCredentials, NotConnected, SettingsError, Unauthorized

NAME = "Steered"
PASSWORD = "HLAplainTextPassword"


def key_of(directory: Path) -> bytes:
    return (directory / OPERATOR_KEY).read_bytes().strip()


@contextmanager
def connected(running: Running, credentials: Credentials | None = None) -> Iterator[Any]:
    rti, log = RTIambassador(), Recorder()
    rti.connect(log, CallbackModel.EVOKED, RtiConfiguration(rti_address=running.address()), credentials)
    try:
        yield SimpleNamespace(rti=rti, log=log)
    finally:
        rti.leave()


@contextmanager
def member(running: Running, credentials: Credentials | None = None) -> Iterator[Any]:
    with connected(running, credentials) as one:
        one.rti.create_federation_execution(NAME, [fom()])
        one.rti.join_federation_execution("culprit", "test", NAME)
        yield one


def operator(directory: Path) -> Credentials:
    return Credentials(OPERATOR, key_of(directory))


def test_the_key_is_for_the_owner_of_the_run_directory(tmp_path: Path) -> None:
    """Each start makes another; nobody else can read it, and it is gone with the server."""
    with serving(run_directory=str(tmp_path)) as running:
        path = tmp_path / OPERATOR_KEY
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        first = key_of(tmp_path)
        assert len(first) >= 32
        with connected(running, operator(tmp_path)) as one, member(running):
            assert one.rti.steer("pause", NAME)["paused"]["by"] == "operator"
    assert not path.exists()
    path.write_text("left behind")
    path.chmod(0o666)
    with serving(run_directory=str(tmp_path)):
        assert key_of(tmp_path) not in (first, b"left behind")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_operator_steers_over_the_wire(tmp_path: Path) -> None:
    """Pause, step, resume and resign, while the federate hears of it; the server's log has each."""
    with serving(run_directory=str(tmp_path)) as running, member(running) as one:
        with connected(running, operator(tmp_path)) as boss:
            boss.rti.steer("pause", NAME)
            one.rti.time_advance_request(HLAfloat64Time(5.0))
            assert "the operator (paused)" in str(one.rti.query_blocking())
            (status,) = boss.rti.query_status()
            assert status["paused"]["steps"] == 0
            boss.rti.steer("step", NAME, 2)
            boss.rti.steer("resume", NAME)
            while not one.log.of("time_advance_grant"):
                one.rti.evoke_callback(1.0)
            boss.rti.steer("resign", NAME, "culprit")
            while not one.log.of("federate_resigned"):
                one.rti.evoke_callback(1.0)
            assert one.log.of("federate_resigned") == [("resigned by the operator",)]
            one.rti.join_federation_execution("culprit", "test", NAME)
            one.rti.resign_federation_execution(ResignAction.NO_ACTION)
        said = "\n".join(running.reports)
        for text in ("paused by", "asks for 2 steps", "resumed by", "resigns 'culprit'"):
            assert f"federation {NAME!r}: " in said
            assert text in said


@pytest.mark.parametrize("wrong", ["wrong", "", "another", "prefix", "longer", "password"])
def test_a_wrong_key_opens_nothing(wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Attacks: a guess, none, the key of another server, a part of it, more than it, a password."""
    monkeypatch.setenv("FEDPRO_CLIENT_SETTINGS", "connect.clearTextPassword=true")
    mine, other = tmp_path / "mine", tmp_path / "other"
    with serving(run_directory=str(mine)) as running, serving(run_directory=str(other)), member(running):
        key = key_of(mine)
        data = {
            "wrong": b"0" * len(key),
            "": b"",
            "another": key_of(other),
            "prefix": key[:-1],
            "longer": key + b"0",
            "password": key,
        }[wrong]
        kind = PASSWORD if wrong == "password" else OPERATOR
        rti = RTIambassador()
        configuration = RtiConfiguration(rti_address=running.address())
        with pytest.raises(InvalidCredentials) as caught:
            rti.connect(Recorder(), CallbackModel.EVOKED, configuration, Credentials(kind, data))
        assert key.decode() not in str(caught.value)
        if kind == OPERATOR:
            assert str(mine / OPERATOR_KEY) in str(caught.value)
        with pytest.raises(NotConnected):
            rti.steer("pause", NAME)
        assert running.ask(lambda server: server.board.node.federations[NAME].clock.halt) is None


def test_a_federate_cannot_steer(tmp_path: Path) -> None:
    """Neither joined nor not; the text says what to do.  Nor after an operator's connection was refused in the same session."""
    with serving(run_directory=str(tmp_path)) as running, member(running) as one:
        for action in ("pause", "resume", "step", "resign"):
            with pytest.raises(Unauthorized) as caught:
                one.rti.steer(action, NAME, "culprit" if action == "resign" else None)
            assert OPERATOR in str(caught.value)
            assert str(tmp_path / OPERATOR_KEY) in str(caught.value)
        with connected(running) as stranger, pytest.raises(Unauthorized):
            stranger.rti.steer("pause", NAME)
        assert running.ask(lambda server: server.board.node.federations[NAME].clock.halt) is None
        assert running.ask(lambda server: len(server.board.node.federations[NAME].members)) == 1


def test_a_password_protected_server_knows_its_operator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key comes before the guard; a user with a password is no operator; without either nobody gets in."""
    users = f'[users.ada]\npassword = "{hash_password("secret")}"'
    monkeypatch.setenv("FEDPRO_CLIENT_SETTINGS", "connect.clearTextPassword=true")
    guard = read_password_file(users, "users.toml", clear_text_allowed=True)
    text = "ada:secret".encode("utf-16-be")
    ada = Credentials(PASSWORD, (len(text) // 2).to_bytes(4, "big") + text)
    with serving(guard, run_directory=str(tmp_path)) as running, member(running, ada) as one:
        with pytest.raises(Unauthorized):
            one.rti.steer("pause", NAME)
        with pytest.raises(InvalidCredentials), connected(running):
            pass
        with connected(running, operator(tmp_path)) as boss:
            assert boss.rti.query_status()[0]["federation"] == NAME
            assert "paused" in boss.rti.steer("pause", NAME)


def test_a_server_without_a_run_directory_has_no_operator() -> None:
    with serving() as running, member(running) as one:
        with pytest.raises(Unauthorized, match="no run directory"):
            one.rti.steer("pause", NAME)
        with pytest.raises(InvalidCredentials), connected(running, Credentials(OPERATOR, b"")):
            pass


def test_the_key_is_not_taken_where_others_can_read_it(tmp_path: Path) -> None:
    key = OperatorKey(str(tmp_path))
    key.keep()
    right = Credentials(OPERATOR, key_of(tmp_path))
    key.admit(right, secure=True)
    with pytest.raises(InvalidCredentials, match="without TLS"):
        key.admit(right, secure=False)
    for peer, local in [
        (("127.0.0.1", 1), True), (("127.9.9.9", 1), True), (("::1", 1, 0, 0), True), (("fe80::1%eth0", 1), False),
        (("192.0.2.1", 1), False), (None, False), ("", False), (("nonsense", 1), False), (("::ffff:127.0.0.1", 1), True),
    ]:  # fmt: skip
        assert is_local(peer) is local, peer


def test_a_run_directory_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match=r"serve\.run_directory"):
        OperatorKey(str(tmp_path / "file")).keep()


def test_a_server_that_cannot_start_leaves_no_key_behind(tmp_path: Path) -> None:
    with serving() as running:
        settings = replace(Settings(), serve=replace(ServeSettings(), port=running.ports["tcp"]))
        with pytest.raises(SettingsError, match="cannot listen"):
            asyncio.run(Server(settings, print, run_directory=str(tmp_path)).start())
    assert not (tmp_path / OPERATOR_KEY).exists()

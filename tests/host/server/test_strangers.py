"""What strangers can take: places, time of the event loop, guesses, passwords on the wire, and files on the disk."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.server.test_serving import CLEAR
from support import raw_client
from support.raw_client import Raw, connected, frame
from support.server_in_thread import WAIT, Talker, eventually, serving
from weft import CallbackModel, Credentials, FederateAmbassador, RTIambassador, RtiConfiguration
from weft.host.client.streams import Stream
from weft.host.conventions import OPERATOR
from weft.host.files.private import make_private
from weft.host.files.saves import SaveDirectory
from weft.host.mesh.journal import Journal
from weft.host.server import admission as admission_module
from weft.host.server.admission import Admission, Penalties
from weft.host.server.guard import Guard
from weft.model.errors import ConnectionFailed, InvalidCredentials
from weft.wire.codec.codec import ServiceCodec

ALICE = Credentials.password("alice", "a long secret")


# --- places -----------------------------------------------------------------------------------------------------


def test_strangers_who_connect_and_drop_leave_no_sessions() -> None:
    """Sessions without a joined federate are not kept as others are, and of one address only so many."""
    with serving(unjoined=5, reconnect_seconds=0.4) as running:
        port = running.ports["tcp"]
        federate = Talker(running.address())
        most = 0
        for _ in range(40):
            connected(port).close()
            most = max(most, running.ask(lambda server: len(server.sessions)))
        assert most <= 6
        assert eventually(lambda: running.ask(lambda server: len(server.sessions)) == 1)
        for _ in range(20):
            with Raw(port) as stranger:
                stranger.send(frame(1, 0, 0, raw_client.NONE, raw_client.ints(1)))
                assert stranger.receive().payload == raw_client.ints(0)
        # Nobody has connected in these: they end with their connection.
        assert eventually(lambda: running.ask(lambda server: len(server.sessions)) == 1)
        federate.leave()


def test_a_place_that_somebody_lost_is_given_to_the_next_and_one_in_use_is_not() -> None:
    """limits.unjoined: out of resources (2), until one of them is free."""
    with serving(unjoined=2) as running:
        port = running.ports["tcp"]
        federates = [Talker(running.address()) for _ in range(4)]  # they have joined: they take no such place
        first, second = connected(port), connected(port)
        with Raw(port) as third:
            third.send(frame(1, 0, 0, raw_client.NONE, raw_client.ints(1)))
            assert third.receive().payload == raw_client.ints(2)
        assert any("limits.unjoined" in line for line in running.reports)
        gone = first.session
        first.close()
        assert eventually(lambda: running.ask(lambda server: server.sessions[gone].line) is None)
        third = connected(port)
        assert running.ask(lambda server: gone in server.sessions) is False
        assert third.call(raw_client.LIST)[:1] == second.call(raw_client.LIST)[:1]
        for federate in federates:
            federate.leave()


def test_an_address_has_few_connections_that_say_nothing() -> None:
    """limits.half_open: the next is closed at once; those who have connected do not count."""
    with serving(half_open=3) as running:
        port = running.ports["tcp"]
        known = [connected(port) for _ in range(5)]
        silent = [Raw(port) for _ in range(3)]
        fourth = Raw(port)
        assert fourth.is_closed()
        assert any("limits.half_open" in line for line in running.reports)
        assert known[0].call(raw_client.LIST)
        silent[0].close()
        assert eventually(lambda: _may_greet(port))
        for one in [*silent, fourth, *known]:
            one.close()


def _may_greet(port: int) -> bool:
    try:
        with Raw(port) as client:
            client.send(frame(1, 0, 0, raw_client.NONE, raw_client.ints(1)))
            return client.receive().payload == raw_client.ints(0)
    except (ConnectionError, raw_client.Closed):
        return False


# --- who connects is found out beside the loop --------------------------------------------------------------------


class Slow(Guard):
    """Takes its time, for whoever is not known."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.go_on = threading.Event()

    def admit(self, credentials: Credentials, secure: bool) -> str:
        if credentials.type == ALICE.type:
            self.asked.set()
            assert self.go_on.wait(WAIT)
            raise InvalidCredentials("nobody knows you")
        return "known"


def test_federates_do_not_wait_while_a_password_is_checked() -> None:
    """Before, the hash ran in the event loop; the one who connects is answered all the same."""
    guard = Slow()
    with serving(guard) as running:
        one, two = Talker(running.address()), Talker(running.address())
        refused: list[str] = []

        def guess() -> None:
            try:
                where = RtiConfiguration("", running.address(), CLEAR)
                RTIambassador().connect(FederateAmbassador(), CallbackModel.EVOKED, where, ALICE)
            except InvalidCredentials as error:
                refused.append(str(error))

        thread = threading.Thread(target=guess)
        thread.start()
        assert guard.asked.wait(WAIT)
        one.say(b"meanwhile")
        assert two.listen(1) == [b"meanwhile"]
        assert not refused
        guard.go_on.set()
        thread.join(WAIT)
        assert refused == ["nobody knows you"]
        one.leave()
        two.leave()


def test_who_leaves_while_it_is_checked_leaves_nothing_behind() -> None:
    guard = Slow()
    with serving(guard, reconnect_seconds=0.2) as running:
        client = Raw(running.ports["tcp"]).greet()
        client.send(client.request(ServiceCodec().encode_call("connect", (RtiConfiguration(), ALICE))[1]))
        assert guard.asked.wait(WAIT)
        client.close()
        assert eventually(lambda: running.ask(lambda server: len(server.sessions)) == 0)
        guard.go_on.set()
        talker = Talker(running.address())
        assert not any("internal error" in line for line in running.reports)
        talker.leave()


@given(st.lists(st.tuples(st.floats(0.0, 100.0), st.booleans()), max_size=40))
def test_each_failure_doubles_the_wait_up_to_a_bound(steps: list[tuple[float, bool]]) -> None:
    """Against a count by hand; who has not failed lately does not wait."""
    penalties, now, count, last = Penalties(30.0), 0.0, 0, -1e9
    for step, fails in steps:
        now += step * 10
        if now - last > 600.0:
            count = 0
        expected = 0.0 if count < 3 else max(0.0, last + min(30.0, 0.25 * 2 ** (count - 3)) - now)
        assert penalties.wait("10.0.0.1", now) == pytest.approx(expected)
        assert penalties.wait("10.0.0.2", now) == 0
        if fails:
            penalties.failed("10.0.0.1", now)
            count, last = count + 1, now


def test_what_is_remembered_of_guessers_is_bounded() -> None:
    penalties = Penalties(30.0)
    for number in range(10_000):
        penalties.failed(f"{number}", float(number) / 1000)
    assert len(penalties._failures) == 4096


class Counting(Guard):
    def __init__(self) -> None:
        self.checked = 0
        self.abreast = 0
        self.most = 0

    def admit(self, credentials: Credentials, secure: bool) -> str:
        self.checked += 1
        raise InvalidCredentials("wrong")


def test_guesses_of_one_address_are_slowed_down_and_those_of_others_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However many it makes at once: a few are checked, few wait, the rest is refused unchecked."""
    monkeypatch.setattr(admission_module, "_FIRST", 3600.0)
    monkeypatch.setattr(admission_module, "_NAME", 0.0)
    guard = Counting()
    answers: list[str] = []
    reports: list[str] = []

    async def main() -> None:
        admission = Admission(guard, reports.append)
        for _ in range(50):
            admission.ask("10.0.0.1", ALICE, True, lambda who, error: answers.append(str(error)))
        await until(lambda: guard.checked >= 8)
        await until(lambda: not admission._running)
        for _ in range(50):
            admission.ask("10.0.0.1", ALICE, True, lambda who, error: answers.append(str(error)))
        await until(lambda: sum("too many attempts" in text for text in answers) >= 46)
        checked = guard.checked
        assert checked <= 8 + 3  # what was under way before three had failed
        other: list[str] = []
        admission.ask("10.0.0.2", ALICE, True, lambda who, error: other.append(str(error)))
        await until(lambda: other)
        assert (other, guard.checked) == (["wrong"], checked + 1)
        admission.close()

    asyncio.run(main())
    assert any("failure 4, the next attempt waits 30 s" in line for line in reports)


async def until(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(WAIT):
        while not condition():
            await asyncio.sleep(0.001)


# --- secrets on the wire ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["tcp", "ws"])
def test_a_password_is_not_sent_where_others_can_read_it(scheme: str) -> None:
    """Not even to this machine, and before anything is opened; the error says the setting."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.0)
        where = RtiConfiguration("", f"{scheme}://127.0.0.1:{listener.getsockname()[1]}")
        with pytest.raises(ConnectionFailed, match=r"tls://.*FedPro\.connect\.clearTextPassword=true"):
            RTIambassador().connect(FederateAmbassador(), CallbackModel.EVOKED, where, ALICE)
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_an_operator_key_is_not_sent_where_others_can_read_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """To this machine it is; to another one only over TLS.  The server refused it, but it had been sent."""
    monkeypatch.setattr(Stream, "local", False)
    with serving() as running:
        key = Credentials(OPERATOR, b"key")
        with pytest.raises(ConnectionFailed, match="the operator key was not sent"):
            RTIambassador().connect(FederateAmbassador(), CallbackModel.EVOKED, running.address(), key)
        assert not running.ask(lambda server: [one for one in server.sessions.values() if one.calls_made])


# --- files ------------------------------------------------------------------------------------------------------


def modes(below: Path) -> dict[str, int]:
    return {str(one.relative_to(below)): stat.S_IMODE(one.stat().st_mode) for one in below.rglob("*")}


def test_what_is_recorded_and_kept_is_for_its_owner_only(tmp_path: Path) -> None:
    """Run directories are 700 and recorded files 600, whatever the umask; what was there before stays as it is."""
    umask = os.umask(0)
    try:
        (tmp_path / "shared").mkdir(0o755)
        runs = tmp_path / "shared" / "runs"
        with serving(record=str(runs), run_directory=str(runs / "server" / "one")) as running:
            talker = Talker(running.address())
            talker.say(b"secret")
            talker.leave()
        SaveDirectory(runs / "saves").write("F", "noon", {"a": 1})
        Journal(runs / "journal" / "S1.db", "S1", "print").close()
    finally:
        os.umask(umask)
    found = modes(tmp_path)
    assert found.pop("shared") == 0o755
    folders = {name for name in found if (tmp_path / name).is_dir()}
    assert {found[name] for name in folders} == {0o700}
    assert {mode for name, mode in found.items() if name not in folders} == {0o600}
    assert any(name.endswith(".parquet") for name in found)
    assert any(name.endswith(".weftsave") for name in found)
    assert any(name.endswith("S1.db") for name in found)


def test_folders_above_are_private_too(tmp_path: Path) -> None:
    make_private(tmp_path / "a" / "b" / "c")
    make_private(tmp_path / "a" / "b" / "c")
    assert modes(tmp_path) == dict.fromkeys(["a", "a/b", "a/b/c"], 0o700)
    with pytest.raises(FileExistsError):
        make_private(tmp_path / "a", exist_ok=False)

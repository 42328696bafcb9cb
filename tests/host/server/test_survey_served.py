"""The survey of a server, over its socket: sessions, bytes, callbacks, who is slow or lost, and the recording (issue 9)."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from support.server_in_thread import Talker, eventually, serving
from support.surveys import asked
from weft import (
    CallbackModel,
    FederateAmbassador,
    HLAfloat64Time,
    RTIambassador,
    RtiConfiguration,
)

FIRE = "HLAinteractionRoot.Fire"


def watcher(address: str) -> RTIambassador:
    """As a console is: connected, and not joined."""
    rti = RTIambassador()
    rti.connect(FederateAmbassador(), CallbackModel.EVOKED, RtiConfiguration(rti_address=address))
    return rti


def federates(rti: RTIambassador) -> dict[str, Any]:
    found: dict[str, Any] = asked(rti, "federates")["federations"]["F"]["federates"]
    return found


@pytest.mark.parametrize("settings", ["", "asyncUpdates=true"], ids=["answered", "gathered"])
def test_what_a_server_says_is_what_its_clients_did(settings: str) -> None:
    """Messages by a lane and messages with a turn of the kernel each are counted alike."""
    with serving() as running:
        first, second = Talker(running.address(), settings), Talker(running.address(), settings)
        looks = watcher(running.address())
        before, begun = asked(looks), federates(looks)
        for number in range(50):
            first.say(b"%d" % number)
        assert len(second.listen(50)) == 50
        assert eventually(lambda: asked(looks)["server"]["messages"] - before["server"]["messages"] == 50)
        after, found = asked(looks), federates(looks)
        speaker, hearer = list(found)
        assert found[speaker]["calls"] - begun[speaker]["calls"] == 50
        assert found[hearer]["callbacks"] - begun[hearer]["callbacks"] == 50
        assert found[speaker]["callbacks"] == begun[speaker]["callbacks"]
        # Each has at least the 24 bytes of a frame's head.
        assert found[speaker]["bytes_in"] - begun[speaker]["bytes_in"] > 50 * 24
        assert found[hearer]["bytes_out"] - begun[hearer]["bytes_out"] > 50 * 24
        assert after["server"]["bytes_in"] >= found[speaker]["bytes_in"] + found[hearer]["bytes_in"]
        assert after["server"]["bytes_out"] >= found[speaker]["bytes_out"] + found[hearer]["bytes_out"]
        assert found[hearer]["last_callback"]["name"] == "receiveInteraction"
        assert 0 <= found[hearer]["last_callback"]["ago"] <= after["now"] - before["now"] + 1
        assert "last_callback" not in found[speaker]
        (classes,) = [one["classes"] for one in after["federations"].values()]
        assert (classes[FIRE]["sent"], classes[FIRE]["received"]) == (50, 50)
        server = after["server"]
        assert (server["sessions"], server["slow"], server["address"]) == (3, 0, running.address())
        assert server["cpu_seconds"] > 0
        assert server["resident_bytes"] > 1 << 20
        assert {one["address"].rpartition(":")[0] for one in found.values()} == {"127.0.0.1"}
        assert abs(after["wall"] - time.time()) < 60
        assert "fabric" not in after
        assert after["recording"] == {"on": False}
        looks.disconnect()
        first.leave()
        second.leave()


def test_callbacks_of_weft_s_own_have_names_too() -> None:
    with serving() as running:
        fast, slow = Talker(running.address()), Talker(running.address())
        for one in (fast, slow):
            one.take_part_in_time()
        fast.rti.set_time_advance_patience(0.01)
        fast.rti.time_advance_request(HLAfloat64Time(5.0))

        def last() -> str:
            return str(federates(fast.rti)[next(iter(federates(fast.rti)))]["last_callback"]["name"])

        assert eventually(lambda: last() == "timeAdvanceBlocked")
        waits, blocks = federates(slow.rti).values()
        assert (waits["asks"], waits["requested"], waits["galt"]) == ("TAR", 5.0, 1.0)
        assert waits["blocked_by"] == [list(federates(slow.rti))[1]]
        assert waits["seconds"] >= 0.01
        assert "asks" not in blocks
        for one in (fast, slow):
            one.rti.leave()


def test_who_does_not_read_is_slow() -> None:
    with serving(slow_bytes=100_000, queue_bytes=1 << 30) as running:
        speaker, deaf = Talker(running.address()), Talker(running.address())
        speaker.rti.unsubscribe_interaction_class(speaker.fire)
        for _ in range(100):
            speaker.say(bytes(200_000))
            one = federates(speaker.rti)
            if any("slow" in facts for facts in one.values()):
                break
        quick, slow = one.values()
        assert "slow" not in quick
        assert slow["slow"] is True
        assert slow["backlog_bytes"] > 100_000
        assert slow["waiting"] > 0
        assert asked(speaker.rti, "server")["server"]["slow"] == 1
        for talker in (deaf, speaker):
            talker.rti._lose_connection()


def test_who_has_lost_its_connection_is_lost_until_it_resumes() -> None:
    with serving() as running:
        talker = Talker(running.address())
        looks = watcher(running.address())
        assert [one["state"] for one in federates(looks).values()] == ["joined"]
        served = min(running.server.sessions.values(), key=lambda one: one.number)
        running.ask(lambda server: served.line.abandon_session())  # type: ignore[union-attr]
        assert eventually(lambda: [one["state"] for one in federates(looks).values()] == ["lost"])
        (lost,) = federates(looks).values()
        assert "address" not in lost
        talker.say(b"back")  # the client resumes
        assert eventually(lambda: [one["state"] for one in federates(looks).values()] == ["joined"])
        looks.disconnect()
        talker.leave()


def test_where_a_run_is_recorded(tmp_path: Path) -> None:
    with serving(record=str(tmp_path)) as running:
        talker = Talker(running.address())
        talker.say(b"one")
        assert eventually(lambda: asked(talker.rti, "recording")["recording"]["runs"])
        found = asked(talker.rti, "recording")["recording"]
        assert (found["on"], found["directory"], found["dropped"]) == (True, str(tmp_path), 0)
        assert list(found["runs"]) == ["F"]
        assert (tmp_path / found["runs"]["F"] / "run.json").is_file()
        assert eventually(lambda: asked(talker.rti, "recording")["recording"]["rows"] >= 5)
        talker.leave()

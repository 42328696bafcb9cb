"""Federates in processes that are nodes themselves: real links, a router that computes, kills, ends and Ctrl-C."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import weft
from support.federate_process import Process
from support.node_processes import write_file
from support.own_node_process import OwnProcess
from support.server_in_thread import WAIT, Listener, Talker
from weft.fabric import Topology

PAIR = Topology(("S1", "S2"), {"A": ("S1", "S2")})
CHAIN = Topology(("S1", "S2", "S3"), {"A": ("S1", "S2"), "B": ("S2", "S3")})


class Watcher(Listener):
    def __init__(self) -> None:
        super().__init__()
        self.discovered: list[Any] = []
        self.removed: list[Any] = []

    def discover_object_instance(self, instance: Any, *rest: Any) -> None:
        self.discovered.append(instance)

    def remove_object_instance(self, instance: Any, *rest: Any) -> None:
        self.removed.append(instance)


pytestmark = pytest.mark.usefixtures("settings")


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This process is S1 in some of the tests; the others inherit the settings."""
    monkeypatch.setenv("WEFT_SERVE_RUN_DIRECTORY", str(tmp_path / "runs"))
    monkeypatch.setenv("WEFT_FABRIC_RETRY_SECONDS", "0.02")
    monkeypatch.setenv("WEFT_FABRIC_RETRY_MOST_SECONDS", "0.1")
    yield
    weft.stop_node()


def members(stack: ExitStack, file: Path, *servers: str) -> list[Process]:
    found = [stack.enter_context(OwnProcess(f"mesh://{server}@{file}", server)) for server in servers]
    for member in found:
        member.says("ready")
    return found


def test_two_processes_talk(tmp_path: Path) -> None:
    """Round trips, then bursts in both directions at once: all arrive, in order."""
    file = write_file(tmp_path, PAIR)
    with ExitStack() as stack:
        one, two = members(stack, file, "S1", "S2")
        two.tell("echo 300")
        one.tell("ping 300")
        assert one.says("pinged")[1] == 0
        assert two.says("echoed") == 0
        for member in (one, two):
            member.tell("say 20000")
            member.tell("hear 20300")
        for member in (one, two):
            assert member.says("heard") == [20300, 0]


def test_a_router_that_computes_goes_on_routing(tmp_path: Path) -> None:
    """S2 runs a loop in Python without a call; messages between S1 and S3 pass through it meanwhile."""
    file = write_file(tmp_path, CHAIN)
    with ExitStack() as stack:
        one, two, three = members(stack, file, "S1", "S2", "S3")
        two.tell("compute")
        assert two.says("computing")
        three.tell("echo 20")
        one.tell("ping 20")
        assert one.says("pinged")[1] == 0  # and S2 still computes: it ends with the next line it is told
        two.tell("hear 40")
        assert two.says("computed") > 0
        assert two.says("heard") == [40, 0]


def _watch(file: Path) -> tuple[Talker, Watcher]:
    """This process is S1, the home, and watches tanks."""
    ears = Watcher()
    here = Talker(f"mesh://S1@{file}", ears=ears)
    kind = here.rti.get_object_class_handle("Vehicle.Tank")
    here.rti.subscribe_object_class_attributes(kind, {here.rti.get_attribute_handle(kind, "Position")})
    return here, ears


@pytest.mark.parametrize("how", ["killed", "interrupted", "ended"])
def test_the_others_are_told_when_a_process_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """However it ends, its objects go by its directive.  One that is killed is missed; the others say so before they go."""
    monkeypatch.setenv("WEFT_FABRIC_LOST_SECONDS", "1" if how == "killed" else "60")
    file = write_file(tmp_path, PAIR)
    here, ears = _watch(file)
    with OwnProcess(f"mesh://S2@{file}", "S2") as there:
        there.says("ready")
        there.tell("own")
        while not ears.discovered:
            here.rti.evoke_callback(WAIT)
        if how == "killed":
            there.kill()
        elif how == "interrupted":
            there.tell("wait")
            there.says("waits")
            there.process.send_signal(signal.SIGINT)
            assert there.process.wait(WAIT) in (-signal.SIGINT, 130, 1)
        else:
            there.tell("end")
            assert there.process.wait(WAIT) == 0
        while not ears.removed:
            here.rti.evoke_callback(WAIT)
    assert ears.removed == ears.discovered
    here.leave()


@pytest.mark.parametrize("how", ["end", "kill"])
def test_a_home_that_ends_right_after_a_synchronization(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Clause 4.4: who calls meanwhile has lost the connection, as the call and the callback say; the RTI has made no error."""
    monkeypatch.setenv("WEFT_FABRIC_LOST_SECONDS", "60" if how == "end" else "6")
    file = write_file(tmp_path, PAIR)
    with OwnProcess(f"mesh://S1@{file}", "S1") as home:
        home.says("ready")
        here = Talker(f"mesh://S2@{file}")
        here.rti.register_federation_synchronization_point("over", b"")
        home.tell("achieve over")
        here.rti.synchronization_point_achieved("over")
        home.tell("end")
        if how == "kill":
            home.says("synchronized")
            home.kill()
        with pytest.raises((weft.errors.NotConnected, weft.errors.FederateNotExecutionMember)):
            _call_on(here)
        while not here.ears.lost:
            here.rti.evoke_callback(WAIT)
        assert "'S1'" in here.ears.lost[0]
        with pytest.raises(weft.errors.NotConnected):
            here.rti.subscribe_interaction_class(here.fire)


def _call_on(here: Talker) -> None:
    """Calls that the home answers, one after the other."""
    for turn in range(1_000_000):
        if turn % 2:
            here.rti.subscribe_interaction_class(here.fire)
        else:
            here.rti.unsubscribe_interaction_class(here.fire)

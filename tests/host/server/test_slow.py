"""A federate that stops reading: reported in the log, in the MOM and in its own callback queue, then dropped by its
setting; the others lose nothing and do not wait.  Readers are processes, really stopped."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from host.server.test_killed import Observer
from support.federate_process import OWN_QUEUE, STAMP, Process
from support.raw_client import connected, create, frame, join, join_named
from support.server_in_thread import Listener, Running, Talker, eventually, serving
from weft.host.server.server import Server
from weft.host.server.session import Served

SIZE = 20_000


class Shooter(Talker):
    """Sends numbered messages, as `support.federate_process` hears them."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self.rti.unsubscribe_interaction_class(self.fire)
        self.number = 0

    def shoot(self, count: int) -> int:
        """Send so many; the number of all that were sent."""
        for _ in range(count):
            self.say(STAMP.pack(self.number, 0) + bytes(SIZE))
            self.number += 1
        return self.number

    def end(self) -> None:
        self.rti.send_interaction(self.fire, {self.target: b""}, b"end")


@contextmanager
def seven(address: str, watch: str = "watch") -> Iterator[list[Process]]:
    """Six listeners, and one that is going to be stopped."""
    with ExitStack() as stack:
        names = [f"listener {n}" for n in range(6)]
        made = [stack.enter_context(Process("listen", address, name)) for name in names]
        made.append(stack.enter_context(Process("listen", address, "sleeper", *filter(None, [watch]))))
        for process in made:
            process.says("ready")
        yield made


def reported(running: Running, what: str) -> bool:
    return any(what in line for line in running.reports)


def test_one_that_stays_stopped_is_dropped_and_nobody_else_notices() -> None:
    """Until the limit hits: the others hear everything, and of the loss; the one that wakes up hears why it is out."""
    with serving(slow_bytes=500_000, queue_bytes=2_000_000) as running:
        shooter, observer = Shooter(running.address()), Observer(running.address())
        with seven(running.address(), "") as processes:
            *fine, sleeper = processes
            shooter.shoot(50)
            sleeper.stop()
            assert eventually(lambda: shooter.shoot(20) and reported(running, "is dropped"))
            assert reported(running, "('F') is slow")
            shooter.shoot(50)
            shooter.end()
            for process in fine:
                done = process.says("done")
                assert (done["heard"], done["wrong"], done["lost"]) == (shooter.number, 0, [])
            assert observer.sees(lambda w: w.reports)
            assert "sleeper" in observer.witness.reports[0]
            assert any("unread (limits.queue_bytes)" in said for said in observer.witness.reports[0])
            sleeper.go_on()
            done = sleeper.says("done")
            assert ["not enough buffered messages" in why for why in done["lost"]] == [True]
            assert done["wrong"] == 0
            assert done["heard"] < shooter.number
        observer.leave()
        shooter.leave()


class Queues(Listener):
    """Watches HLAROlength of all federates."""

    def __init__(self) -> None:
        super().__init__()
        self.lengths: list[int] = []

    def reflect_attribute_values(self, *arguments: object) -> None:
        values: dict[object, bytes] = arguments[1]  # type: ignore[assignment]
        self.lengths += [int.from_bytes(value, "big") for value in values.values()]


class Told:
    """What the server says of a federate, with how much waited for it then: bytes unread, messages not acknowledged."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.events: list[tuple[str, int, int]] = []
        report = Server._report_of

        def noted(server: Server, served: Served, text: str, event: str, *rest: str) -> None:
            if event in ("federate-slow", "federate-caught-up"):
                self.events.append((event, served.unread, served.wire.unacknowledged))
            report(server, served, text, event, *rest)

        monkeypatch.setattr(Server, "_report_of", noted)


def all_told(watcher: Talker, lengths: list[int], count: int) -> bool:
    watcher.rti.evoke_callback(0.01)
    return len(lengths) >= count


def test_one_that_goes_on_in_time_loses_nothing_and_knows_that_it_was_slow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """HLAROlength is sent to all who watch it, itself too, when it has become slow and when it has caught up: what waits then."""
    told = Told(monkeypatch)
    with serving(slow_bytes=500_000) as running:
        shooter = Shooter(running.address())
        watcher = Talker(running.address(), ears=Queues())
        watcher.rti.unsubscribe_interaction_class(watcher.fire)
        kind = watcher.rti.get_object_class_handle(OWN_QUEUE)
        watcher.rti.subscribe_object_class_attributes(
            kind, {watcher.rti.get_attribute_handle(kind, "HLAROlength")}
        )
        with Process("listen", running.address(), "sleeper", "watch") as sleeper:
            sleeper.says("ready")
            watcher.ears.lengths.clear()  # type: ignore[attr-defined]
            shooter.shoot(50)
            sleeper.stop()
            assert eventually(lambda: shooter.shoot(20) and reported(running, "is slow"))
            shooter.shoot(100)
            sleeper.go_on()
            assert eventually(lambda: reported(running, "has caught up"))
            shooter.end()
            done = sleeper.says("done")
            assert (done["heard"], done["wrong"], done["lost"]) == (shooter.number, 0, [])
            assert max(done["waiting"]) >= 500_000 // SIZE, "it was told how many messages waited for it"
            lengths: list[int] = watcher.ears.lengths  # type: ignore[attr-defined]
            assert eventually(lambda: all_told(watcher, lengths, len(told.events)))
            assert lengths == [waiting for _, _, waiting in told.events]
            # It may become slow again while it catches up.  How much the system's buffers hold by then is their own affair.
            for place, (event, unread, waiting) in enumerate(told.events):
                assert event == ("federate-caught-up" if place % 2 else "federate-slow")
                assert unread == 0 if place % 2 else unread > 500_000
                assert waiting * SIZE >= unread - SIZE
        watcher.leave()
        shooter.leave()


def test_a_name_cannot_forge_a_line_of_the_log() -> None:
    """Not even by a client that lets every name pass: names with a line break are refused, and no line of the log has one."""
    with serving(slow_bytes=100_000) as running:
        name = "F\n12:00:00 all is well"
        with connected(running.ports["tcp"]) as raw:
            assert b"cannot be the name of a federation execution" in raw.call(create(name))
            assert b"FederationExecutionDoesNotExist" in raw.call(join(name))
            raw.call(create("F"))
            assert b"cannot be the name of a federate" in raw.call(join_named("F", name))
            raw.send(frame(99, 1, raw.session, payload=name.encode()))  # no such kind: the session is over
            assert raw.is_closed()
        talker, deaf = (Talker(running.address(), federation="F") for _ in range(2))
        for _ in range(200):
            talker.say(bytes(60_000))
        assert reported(running, "is slow")
        assert reported(running, "broke the protocol")
        assert all("\n" not in line for line in running.reports)
        deaf.rti.leave()
        talker.leave()


@pytest.mark.soak
def test_the_others_hear_everything_at_a_pace_while_one_is_stopped(tmp_path: Path) -> None:
    """Seven listeners, a sender and a server, all processes; one is stopped for 10 s, twice.  All hear everything, and the p99 of
    the others' delay, stopped and undisturbed, is printed."""
    with _served_alone(tmp_path) as address, Process("send", address, "200", str(SIZE)) as sender:
        sender.says("ready")
        with seven(address) as processes:
            *fine, sleeper = processes
            for part, seconds in (("quiet", 5), ("stopped", 10), ("catching up", 3)) * 2:
                if part == "stopped":
                    sleeper.stop()
                sender.tell(f"{part}={seconds}")
                sent = sender.says("sent")
                sleeper.go_on()
            sender.tell("end")
            found = [process.says("done") for process in processes]
        for done in found:
            assert (done["heard"], done["wrong"], done["lost"]) == (sent, 0, [])
        assert max(found[-1]["waiting"]) > 100
        ratios = [done["p99"]["stopped"] / done["p99"]["quiet"] for done in found[: len(fine)]]
        worst = max(done["p99"]["stopped"] for done in found[: len(fine)])
        print(f"worst p99 {worst * 1e3:.2f} ms, ratios {[round(r, 2) for r in ratios]}")


@contextmanager
def _served_alone(folder: Path) -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "weft.cli", "serve", "--port", "0", "--no-record"], cwd=folder, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    assert process.stdout is not None
    try:
        for line in process.stdout:
            found = re.match(r"\s+tcp\s+(\S+:\d+)", line)
            if found:
                yield found[1]
                break
    finally:
        process.terminate()
        process.wait(240)
        process.stdout.close()

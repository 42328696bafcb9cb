"""Issue 7, item 7, through a server: Weft's own client sorts, for others the server does (docs/explanation/urgency.md)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support import raw_client
from support.raw_client import CALLBACK, CALLBACK_ANSWER, frame, ints
from support.server_in_thread import WAIT, Running, eventually, serving
from support.small_fom import fom
from weft import (
    CallbackModel,
    FederateAmbassador,
    ResignAction,
    RTIambassador,
    RtiConfiguration,
    heard,
)
from weft.channel import RtInfo, all_of, any_of, deadline, plan, write_schedule
from weft.cli.observe.status import lines
from weft.host.files.schedules import read_schedule
from weft.host.server.server import Server
from weft.host.settings import ChannelSettings, Settings, load_settings
from weft.model.errors import ScheduleError, SettingsError
from weft.model.records import CorrelatedEvent, DeadlineMiss

CLASSES = ("Event", "Command")
ANSWERED = b"\x0a\x00"


class Ears(FederateAmbassador):
    def __init__(self) -> None:
        self.tags: list[bytes] = []
        self.groups: list[tuple[CorrelatedEvent, ...]] = []
        self.misses: list[DeadlineMiss] = []

    def receive_interaction(self, *arguments: Any) -> None:
        self.tags.append(arguments[2])

    def receive_correlation(self, number: int, events: tuple[CorrelatedEvent, ...]) -> None:
        self.groups.append(events)

    def deadline_missed(self, miss: DeadlineMiss) -> None:
        self.misses.append(miss)


def joined(running: Running, ears: FederateAmbassador, name: str) -> RTIambassador:
    rti = RTIambassador()
    rti.connect(ears, CallbackModel.EVOKED, RtiConfiguration(rti_address=running.address("tcp")))
    if name == "sender":
        rti.create_federation_execution("F", [fom()])
    rti.join_federation_execution(name, "test", "F")
    return rti


@pytest.fixture
def pair() -> Iterator[Any]:
    with serving() as running:
        ears = Ears()
        sender, receiver = joined(running, FederateAmbassador(), "sender"), joined(running, ears, "receiver")
        words = {name: sender.get_interaction_class_handle(name) for name in CLASSES}
        for handle in words.values():
            sender.publish_interaction_class(handle)
            receiver.subscribe_interaction_class(handle)
        yield running, sender, receiver, ears, words
        for rti in (sender, receiver):
            rti.leave()


def until(rti: RTIambassador, done: Any) -> None:
    """Take callbacks until it holds; the server answers in far less than this."""
    end = rti.connection.now() + WAIT
    while not done():
        assert rti.connection.now() < end
        rti.evoke_callback(0.5)


def test_the_client_takes_the_most_urgent_of_what_has_come(pair: Any) -> None:
    """Also of what is still in its socket: it looks before it takes."""
    _, sender, receiver, ears, words = pair
    receiver.set_class_qos(words["Command"], urgency=0)
    for number in range(5):
        sender.send_interaction(words["Event"], {}, b"%d" % number)
    sender.send_interaction(words["Command"], {}, b"now")
    sender.query_status()  # all that went before has gone out to the receiver by now
    receiver.query_status()
    until(receiver, lambda: len(ears.tags) == 6)
    assert ears.tags == [b"now", b"0", b"1", b"2", b"3", b"4"]


def test_deadlines_count_until_the_federate_is_done(pair: Any) -> None:
    """The client answers such a callback when it is over; the server tells of misses, and the status shows them."""
    _, sender, receiver, ears, words = pair
    receiver.set_class_qos(words["Command"], deadline=1e-9)
    receiver.set_class_qos(words["Event"], deadline=1000.0)
    sender.send_interaction(words["Event"], {}, b"in time")
    sender.send_interaction(words["Command"], {}, b"late")
    until(receiver, lambda: ears.misses and len(ears.tags) == 2)
    (miss,) = ears.misses
    assert (miss.class_name, miss.sender, miss.misses) == ("HLAinteractionRoot.Command", "sender", 1)
    assert "Command of 'sender'" in str(miss)
    assert eventually(lambda: receiver.query_qos()["open"] == 0)
    shown = "\n".join(lines(sender.query_status()))
    assert "missed 1 of 2 deadlines (1 Command)" in shown
    receiver.resign_federation_execution(ResignAction.NO_ACTION)
    receiver.join_federation_execution("again", "test", "F")
    assert receiver.query_qos()["handed"] == 0


def test_groups_come_through_the_server(pair: Any) -> None:
    """With all that a message has, and with timeouts by the server's clock."""
    _, sender, receiver, ears, words = pair
    text = sender.get_parameter_handle(words["Command"], "Text")
    receiver.correlate(all_of(heard(words["Event"]), heard(words["Command"], sender="sender")))
    receiver.correlate(any_of(heard(words["Event"]), deadline(0.01)))
    until(receiver, lambda: ears.groups)
    ((timeout,),) = ears.groups
    assert (timeout.method, timeout.arguments[1:]) == ("timeout", (0.01, 0))
    ears.groups.clear()
    sender.send_interaction(words["Command"], {text: b"go"}, b"c")
    sender.send_interaction(words["Event"], {}, b"e")
    until(receiver, lambda: len(ears.groups) == 2)
    both = max(ears.groups, key=len)
    assert [(e.class_handle, e.arguments[1], e.arguments[2]) for e in both] == [
        (words["Command"], {text: b"go"}, b"c"),
        (words["Event"], {}, b"e"),
    ]
    assert ears.tags == []


# --- clients in other languages -----------------------------------------------------------------------------------


class Foreign:
    """Takes callbacks as they come, as the clients in C++ and Java do, and answers each when it likes."""

    def __init__(self, port: int, name: str) -> None:
        self.raw = raw_client.connected(port)
        assert self.raw.call(raw_client.join_named("F", name))[:2] == b"\x92\x01"
        for kind in CLASSES:
            self.raw.call(raw_client.subscribe(self.raw.ask(raw_client.interaction_class(kind))))

    def taken(self) -> tuple[int, bytes]:
        """Number and tag of the next callback."""
        found = self.raw.callback()
        assert found.kind == CALLBACK
        at = found.payload.index(b"\x1a")
        return found.number, found.payload[at + 2 : at + 2 + found.payload[at + 1]]

    def answer(self, number: int) -> None:
        one = self.raw
        one.number += 1
        payload = ints(number) + ANSWERED
        one.send(frame(CALLBACK_ANSWER, one.number, one.session, one.last, payload))


def schedule(folder: Path, *operations: str) -> str:
    made = plan([RtInfo(name, worst=1e-4, period=0.01 * (n + 1)) for n, name in enumerate(operations)])
    file = folder / "schedule.toml"
    file.write_text(write_schedule(made))
    return str(file)


def served(running: Running) -> Any:
    return next(s for s in running.server.sessions.values() if s.backlog is not None)


def test_the_server_sorts_for_clients_that_do_not(tmp_path: Path) -> None:
    """By the schedule file, without a line of code in the federate; only so many callbacks are under way."""
    file = schedule(tmp_path, "slow:Command", "Event")
    with serving(channel=ChannelSettings(schedule=file, window=2)) as running:
        sender = joined(running, FederateAmbassador(), "sender")
        words = {name: sender.get_interaction_class_handle(name) for name in CLASSES}
        for handle in words.values():
            sender.publish_interaction_class(handle)
        slow = Foreign(running.ports["tcp"], "slow")
        for number in range(6):
            sender.send_interaction(words["Event"], {}, b"e%d" % number)
        sender.send_interaction(words["Command"], {}, b"c")
        first, second = slow.taken(), slow.taken()
        assert [first[1], second[1]] == [b"e0", b"e1"]
        assert eventually(lambda: running.ask(lambda s: served(running).backlog.waiting) == 5)
        slow.answer(first[0])
        third = slow.taken()
        assert third[1] == b"c"
        slow.answer(third[0])  # it takes them in order: the one before is over, too
        assert [slow.taken()[1] for _ in range(2)] == [b"e2", b"e3"]
        assert running.ask(lambda s: len(served(running).backlog.sent)) == 2
        slow.raw.close()
        sender.leave()


def test_a_federate_that_never_answers_is_dropped(tmp_path: Path) -> None:
    """What waits to be sorted counts as unread."""
    file = schedule(tmp_path, "Event")
    limits: dict[str, Any] = {"queue_bytes": 100_000, "slow_bytes": 50_000}
    with serving(channel=ChannelSettings(schedule=file), **limits) as running:
        sender = joined(running, FederateAmbassador(), "sender")
        event = sender.get_interaction_class_handle("Event")
        sender.publish_interaction_class(event)
        slow = Foreign(running.ports["tcp"], "slow")
        for _ in range(200):
            sender.send_interaction(event, {}, bytes(1000))
        assert eventually(lambda: any("limits.queue_bytes" in line for line in running.reports))
        assert any("is slow" in line for line in running.reports)
        slow.raw.close()
        sender.leave()


def test_deadlines_by_the_schedule(tmp_path: Path) -> None:
    """A foreign federate gets no callback that it does not know; its misses are counted all the same."""
    file = schedule(tmp_path, "Event")
    with serving(channel=ChannelSettings(schedule=file, deadlines=True, window=1)) as running:
        sender = joined(running, FederateAmbassador(), "sender")
        event = sender.get_interaction_class_handle("Event")
        sender.publish_interaction_class(event)
        slow = Foreign(running.ports["tcp"], "slow")
        sender.send_interaction(event, {}, b"1")
        number, _ = slow.taken()

        def missed() -> Any:
            (federation,) = sender.query_status()
            return next(f for f in federation["federates"] if f["name"] == "slow").get("misses")

        assert eventually(lambda: missed() == {"HLAinteractionRoot.Event": 1})  # while it still has it
        slow.answer(number)
        sender.send_interaction(event, {}, b"2")
        assert slow.taken()[1] == b"2"
        slow.raw.close()
        sender.leave()


def test_settings_name_the_schedule(tmp_path: Path) -> None:
    assert load_settings(
        {"channel.schedule": "a.toml"}, {"WEFT_CHANNEL_WINDOW": "4"}
    ).channel == ChannelSettings("a.toml", window=4)
    with pytest.raises(SettingsError, match="at least 1"):
        load_settings({}, {"WEFT_CHANNEL_WINDOW": "0"})
    with pytest.raises(SettingsError, match=r"nowhere\.toml"):
        read_schedule(tmp_path / "nowhere.toml")
    wrong = tmp_path / "wrong.toml"
    wrong.write_text("policy = 7\n")
    with pytest.raises(ScheduleError, match=r"wrong\.toml:1"):
        Server(Settings(channel=ChannelSettings(str(wrong))), print)

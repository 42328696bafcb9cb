"""The recorded exchanges of FEDPRO.md go into a running server over TCP, and the right bytes come out.

Masked, because they are the server's own choice: the session id; handles (only that they are the same wherever they stand for
the same thing); the text of an exception.  Where a recording begins in the middle of a session, calls with one answer
each lead up to it, as they must have done there.
"""

from __future__ import annotations

import pytest

from support import raw_client, recorded_exchanges
from support.raw_client import Closed, Raw, field, frame, handle
from support.server_in_thread import Running, eventually, serving

IDS = (recorded_exchanges.FIRST, recorded_exchanges.SECOND, recorded_exchanges.THIRD)


class Transcript:
    """A connection on which recorded bytes are sent and expected, with this server's session id in place of the recorded."""

    def __init__(self, running: Running, client: Raw | None = None, session: int = 0) -> None:
        self.client = client or Raw(running.ports["tcp"])
        self.session = session

    def send(self, text: str) -> None:
        self.client.send(self._with_our_id(bytes.fromhex(text)))

    def expect(self, text: str) -> None:
        assert self.client.receive().data.hex(" ", 4) == self._with_our_id(bytes.fromhex(text)).hex(" ", 4)

    def start(self) -> Transcript:
        """The new session; its id is the only thing that may differ from the recording."""
        self.send(recorded_exchanges.NEW_SESSION)
        data = self.client.receive().data
        self.session = int.from_bytes(data[8:16], "big")
        assert self.session not in (0, *IDS)
        assert data == self._with_our_id(bytes.fromhex(recorded_exchanges.NEW_STATUS))
        return self

    def call(self, number: int, payload: bytes, last: int) -> bytes:
        """A call that the recording does not show; the payload of its answer, whose frame has to be right."""
        self.client.send(frame(20, number, self.session, last, payload))
        return self.answer(number)

    def answer(self, number: int) -> bytes:
        found = self.client.receive()
        expected = frame(21, number, self.session, number, raw_client.ints(number))
        assert found.data[4:28] == expected[4:]
        assert found.size == len(found.data)
        return found.payload

    def fill(self, start: int, end: int) -> None:
        """Calls from `start` up to `end`, without it: each is answered once and causes nothing else."""
        for number in range(start, end):
            answer = self.call(number, raw_client.destroy("there is none"), number - 1)
            assert b"FederationExecutionDoesNotExist" in answer

    def _with_our_id(self, data: bytes) -> bytes:
        made = data
        for known in IDS:
            made = made.replace(known.to_bytes(8, "big"), self.session.to_bytes(8, "big"))
        return made


def test_connect_join_and_an_exception() -> None:
    """The first session of the recording, from NEW_SESSION to call 0x4c."""
    with serving() as running:
        talk = Transcript(running).start()
        talk.send(recorded_exchanges.CONNECT)
        answer = talk.answer(1)
        assert (
            answer[:1] == bytes.fromhex(recorded_exchanges.CONNECT_ANSWER)[28:29]
        )  # ours has a ConfigurationResult in it
        assert talk.call(2, raw_client.create("No such federation", "HLAinteger64Time"), 1) == field(10)
        talk.fill(3, 4)
        talk.send(recorded_exchanges.JOIN)
        joined = bytes.fromhex(recorded_exchanges.JOIN_ANSWER)
        found = talk.client.receive().data
        at = joined.index(b"\0\0\0\x01\x12\x10")  # the federate's handle
        assert len(found) == len(joined)
        masked = found[:at] + joined[at : at + 4] + found[at + 4 :]
        assert masked == talk._with_our_id(joined)
        for number in range(5, 0x4B):
            talk.call(number, raw_client.interaction_class("Fire"), number - 1)
        assert talk.call(0x4B, field(19, b"\x08\x05"), 0x4A) == field(20)
        talk.send(recorded_exchanges.DESTROY)
        answer = talk.answer(0x4C)
        name = field(1, "FederationExecutionDoesNotExist")
        assert answer[2:].startswith(name)
        assert answer == field(1, name, field(2, answer[2 + len(name) + 2 :]))  # with a text of our own


def test_heartbeat_disconnect_and_termination() -> None:
    """The second session of the recording."""
    with serving() as running:
        talk = Transcript(running).start()
        talk.call(1, raw_client.CONNECT, raw_client.NONE)
        talk.fill(2, 7)
        talk.send(recorded_exchanges.HEARTBEAT)
        talk.expect(recorded_exchanges.HEARTBEAT_RESPONSE)
        for number in range(8, 0x25):
            talk.call(number, raw_client.destroy("there is none"), number - 1)
        talk.send(recorded_exchanges.DISCONNECT)
        talk.expect(recorded_exchanges.DISCONNECT_ANSWER)
        talk.send(recorded_exchanges.TERMINATE)
        talk.expect(recorded_exchanges.TERMINATED)
        with pytest.raises(Closed):
            talk.client.receive()


@pytest.mark.parametrize("is_read", [True, False])
def test_callback_and_resume(is_read: bool) -> None:
    """The third: answer 6 and callback 7 are lost with the connection, and come again unchanged on the next one."""
    with serving() as running:
        talk = Transcript(running).start()
        talk.call(1, raw_client.CONNECT, raw_client.NONE)
        assert talk.call(2, raw_client.create("F"), 1) == field(10)
        talk.fill(3, 6)
        talk.client.send(frame(20, 6, talk.session, 5, raw_client.LIST))
        if is_read:
            talk.expect(recorded_exchanges.REPLAY_6)
            talk.expect(recorded_exchanges.REPLAY_7)
        else:
            served = running.ask(lambda server: server.sessions[talk.session])
            assert eventually(lambda: served.wire.last_received == 6)
        talk.client.close()
        again = Transcript(running, session=talk.session)
        again.send(recorded_exchanges.RESUME)
        again.expect(recorded_exchanges.RESUME_STATUS)
        again.expect(recorded_exchanges.REPLAY_6)
        again.expect(recorded_exchanges.REPLAY_7)
        again.send(recorded_exchanges.CALLBACK_ANSWER)
        # The server's 8 was the status, and the client's 7 the answer to the callback.
        again.client.send(frame(20, 8, again.session, 7, raw_client.destroy("F")))
        found = again.client.receive()
        assert found.data == frame(21, 9, again.session, 8, raw_client.ints(8) + field(13))
        assert (
            running.ask(lambda server: served_history(server, talk.session)) == 1
        )  # 7 has been acknowledged


def served_history(server: object, session: int) -> int:
    return int(server.sessions[session].wire.unacknowledged)  # type: ignore[attr-defined]


def test_from_connect_to_resign() -> None:
    """Two federates, all in one transcript: every answer and callback in full, but for handles."""
    with serving() as running:
        one, two = Transcript(running).start(), Transcript(running).start()
        for talk in (one, two):
            talk.send(recorded_exchanges.CONNECT)
            talk.answer(1)
        assert one.call(2, raw_client.create("Range", "HLAfloat64Time"), 1) == field(10)
        assert two.call(2, raw_client.create("Range"), 1).startswith(b"\x0a")
        handles = []
        for talk in (one, two):
            joined = talk.call(3, raw_client.join("Range"), 2)
            handles.append(joined[9:13])
            federate = field(1, handle(handles[-1]))
            assert joined == field(16, field(1, federate, field(2, "HLAfloat64Time")))
        assert handles[0] != handles[1]
        fires = [talk.call(4, raw_client.interaction_class("Fire"), 3)[-4:] for talk in (one, two)]
        assert fires[0] == fires[1]
        fire = fires[0]
        targets = [talk.call(5, raw_client.parameter(fire, "Target"), 4) for talk in (one, two)]
        assert targets[0] == targets[1] == field(138, field(1, handle(targets[0][-4:])))
        target = targets[0][-4:]
        assert one.call(6, raw_client.publish(fire), 5) == field(39)
        assert two.call(6, raw_client.subscribe(fire), 5) == field(50)
        assert one.call(7, raw_client.send(fire, target, b"shot", b"tag"), 6) == field(65)
        heard = two.client.receive()
        reliable = heard.payload[heard.payload.index(b"\x1a\x03tag") + 9 :][:4]
        values = field(1, field(1, handle(target)), field(2, b"shot"))
        callback = field(
            33,
            field(1, handle(fire)),
            field(2, values),
            field(3, b"tag"),
            field(4, handle(reliable)),
            field(5, handle(handles[0])),
        )
        assert heard.data == frame(22, 7, two.session, 6, callback)
        two.client.send(frame(23, 7, two.session, 7, raw_client.ints(7) + bytes.fromhex("0a00")))
        two.client.send(frame(20, 8, two.session, 7, field(19, b"\x08\x05")))
        assert two.client.receive().data == frame(21, 8, two.session, 8, raw_client.ints(8) + field(20))
        assert one.call(8, field(19, b"\x08\x05"), 7) == field(20)
        assert one.call(9, raw_client.destroy("Range"), 8) == field(13)
        for talk, number in ((one, 10), (two, 9)):
            assert talk.call(number, raw_client.DISCONNECT, number - 1) == bytes.fromhex("3200")
            talk.client.send(frame(5, number + 1, talk.session, number))
            ended = talk.client.receive()
            assert ended.data == frame(6, number + 1, talk.session, number)
            assert talk.client.is_closed()
        assert running.ask(lambda server: (len(server.sessions), len(server.board.node.federations))) == (
            0,
            0,
        )

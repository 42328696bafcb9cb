"""Clients that take liberties with the session where what they mean is clear; one public client in Python takes both of these."""

from __future__ import annotations

from support.raw_client import (
    CALL,
    CALLBACK,
    CALLBACK_ANSWER,
    CONNECT,
    LIST,
    RESPONSE,
    Frame,
    Raw,
    create,
    field,
    frame,
    ints,
    join,
)
from support.server_in_thread import serving

SAVE, SAVE_BEGUN, SAVE_COMPLETE, QUERY_TIME = 23, 25, 26, 101


class Lenient:
    """Says in its first frame that it has received 0, counts what it sends by what it receives, and answers a callback with
    nothing but a header, which has the callback's number."""

    def __init__(self, port: int) -> None:
        self.raw = Raw(port)
        self.raw.send(frame(1, 0, 0, 0, ints(1)))
        self.last = 0
        self.number = 0
        status = self.take()
        assert (status.kind, status.payload) == (2, ints(0))
        self.raw.session = status.session

    def take(self) -> Frame:
        """The next frame; it waits for the number after the last, and takes no other for an answer."""
        found = self.raw.receive()
        assert found.number == self.last + 1
        self.last = found.number
        self.number += 1
        return found

    def call(self, payload: bytes) -> Frame:
        self.raw.send(frame(CALL, self.number, self.raw.session, self.last, payload))
        return self.take()


def test_numbers_go_on_from_what_the_client_says_it_has_received() -> None:
    with serving() as running:
        client = Lenient(running.ports["tcp"])
        for number in (1, 2, 3):
            answer = client.call(CONNECT if number == 1 else create(f"F{number}"))
            assert (answer.kind, answer.number, answer.answers) == (RESPONSE, number + 1, number)


def test_an_answer_to_a_callback_may_leave_out_its_number() -> None:
    """It has that of the callback in its header, and none in the client's own sequence: the next call may have the same."""
    with serving() as running:
        client = Lenient(running.ports["tcp"])
        client.call(CONNECT)
        client.call(create("F"))
        for _ in range(3):
            assert client.call(LIST).payload == field(14)
            callback = client.take()
            assert callback.kind == CALLBACK
            for content in (b"", b"\x0a\x00"):
                answer = frame(CALLBACK_ANSWER, callback.number, client.raw.session, client.last, content)
                client.raw.send(answer)
            client.number = callback.number  # the very number of the answer
        assert client.call(create("G")).payload == field(10)


def test_a_save_goes_on_when_the_federate_has_taken_its_callback() -> None:
    """4.21: a federate that was told to save is paused from when it takes that callback, which only its answer shows."""
    with serving() as running:
        client = Lenient(running.ports["tcp"])
        client.call(CONNECT)
        client.call(create("F"))
        client.call(join("F"))
        client.call(field(SAVE, field(1, "label")))
        begin = client.take()
        assert begin.kind == CALLBACK
        client.raw.send(frame(CALLBACK_ANSWER, begin.number, client.raw.session, client.last))
        assert field(1, "SaveInProgress") in client.call(field(QUERY_TIME)).payload
        assert client.call(field(SAVE_BEGUN)).payload == field(SAVE_BEGUN + 1)
        assert client.call(field(SAVE_COMPLETE)).payload == field(SAVE_COMPLETE + 1)
        assert client.take().kind == CALLBACK

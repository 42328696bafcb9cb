"""The process that runs the consumers of one preemption priority, one push after another.

Whatever a consumer does to it, the channel goes on: what it raises is sent back, and if the process ends, another takes its
place.  A supplier that a consumer uses here sends its events to the channel (see `realtime`).
"""

from __future__ import annotations

import gc
import pickle
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Iterator

from weft.channel import MORE, Event, Events
from weft.host.dispatch import messages

Consumers = dict[int, Callable[[Events], object]]


class Worker:
    def __init__(self, end: socket.socket, consumers: Consumers) -> None:
        self._end = end
        self._consumers = consumers

    def push(self, supplier: int, event: Event) -> None:
        """An event for the channel, from a consumer that runs here."""
        self._end.sendall(messages.packed(messages.PUSH, (supplier, event, time.monotonic())))

    def run(self) -> None:
        """Until the channel has gone."""
        frames = messages.Frames()
        while data := self._end.recv(262_144):
            for kind, body in frames.feed(data):
                if kind == messages.CONSUMER:
                    number, consumer = pickle.loads(body)
                    self._consumers[number] = consumer
                else:
                    self._end.sendall(self._carry_out(body))

    def _carry_out(self, body: bytes) -> bytes:
        begin = time.monotonic()
        used = time.process_time()
        error = b""
        try:
            number, events = pickle.loads(body)
            complete(self._consumers[number], events)
        except Exception as raised:
            error = portable(raised)
        end = time.monotonic()
        return messages.done(begin, end, time.process_time() - used, error)


_here: list[Worker] = []  # in a worker process: itself


def current() -> Worker | None:
    """The worker in whose process this runs; None in the channel's own."""
    return _here[0] if _here else None


def serve(end: socket.socket, consumers: Consumers) -> None:
    """All that a worker process does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the channel ends its workers, in order
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    gc.freeze()
    worker = Worker(end, consumers)
    _here[:] = [worker]
    try:
        worker.run()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def complete(push: Callable[[Events], object], events: Events) -> None:
    """To the end, in steps or not: here others interrupt without being asked."""
    answer = push(events)
    while answer is MORE:
        answer = push(events)
    if isinstance(answer, Iterator):
        for _ in answer:
            pass


def portable(error: Exception) -> bytes:
    """As it was if it survives the way, otherwise what it said; with where it came from."""
    where = "".join(traceback.format_exception(error))
    error.add_note(f"in the process of its priority:\n{where}")
    try:
        data = pickle.dumps(error)
        pickle.loads(data)
        return data
    except Exception:
        return pickle.dumps(RuntimeError(repr(error)))

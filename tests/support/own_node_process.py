"""A federate whose process is a node of the fabric, and does what it is told on its input.

python -m support.own_node_process ADDRESS NAME

say N           send Fire N times, numbered
hear N          until N messages have come in all; says how many, and how many were out of order
echo N          answer N messages with one each
ping N          send and wait for the answer, N times; says the time it took
compute         a loop in Python that makes no call, until the next line comes
own             register a Tank
achieve LABEL   a synchronization point, once it is announced; until all have
wait            evoke callbacks without end
end             end without a word to the RTI
"""

from __future__ import annotations

import select
import sys
import time
from typing import Any

from support.federate_process import Process, say
from support.server_in_thread import Listener, Talker
from weft import ResignAction


class OwnProcess(Process):
    module = "support.own_node_process"


class Ears(Listener):
    """Messages are numbered by each sender."""

    def __init__(self) -> None:
        super().__init__()
        self.next: dict[bytes, int] = {}
        self.count = 0
        self.wrong = 0
        self.announced: list[str] = []
        self.synchronized: list[str] = []

    def announce_synchronization_point(self, label: str, *rest: Any) -> None:
        self.announced.append(label)

    def federation_synchronized(self, label: str, *rest: Any) -> None:
        self.synchronized.append(label)

    def receive_interaction(self, *arguments: Any) -> None:
        sender, _, number = next(iter(arguments[1].values())).partition(b":")
        self.wrong += int(number) != self.next.get(sender, 0)
        self.next[sender] = int(number) + 1
        self.count += 1


class Member:
    def __init__(self, address: str, name: str) -> None:
        self.ears = Ears()
        self.talker = Talker(address, ears=self.ears)
        self.name = name.encode()
        self.sent = 0

    def say(self, count: str) -> None:
        for _ in range(int(count)):
            self.talker.say(b"%s:%d" % (self.name, self.sent))
            self.sent += 1
        say(said=self.sent)

    def _until(self, count: int) -> None:
        while self.ears.count < count:
            self.talker.rti.evoke_callback(60.0)

    def hear(self, count: str) -> None:
        self._until(int(count))
        say(heard=[self.ears.count, self.ears.wrong])

    def echo(self, count: str) -> None:
        for _ in range(int(count)):
            self._until(self.ears.count + 1)
            self.talker.say(b"%s:%d" % (self.name, self.sent))
            self.sent += 1
        say(echoed=self.ears.wrong)

    def ping(self, count: str) -> None:
        before = time.monotonic()
        for _ in range(int(count)):
            self.talker.say(b"%s:%d" % (self.name, self.sent))
            self.sent += 1
            self._until(self.ears.count + 1)
        say(pinged=[time.monotonic() - before, self.ears.wrong])

    def compute(self) -> None:
        say(computing=True)
        turns = 0
        look = time.monotonic()
        while True:
            turns += 1
            if time.monotonic() - look > 0.2:  # seldom: to look is a call that lets other threads go on
                if select.select([sys.stdin], [], [], 0)[0]:
                    break
                look = time.monotonic()
        say(computed=turns)

    def own(self) -> None:
        rti = self.talker.rti
        kind = rti.get_object_class_handle("Vehicle.Tank")
        rti.publish_object_class_attributes(kind, {rti.get_attribute_handle(kind, "Position")})
        rti.set_automatic_resign_directive(ResignAction.DELETE_OBJECTS)
        rti.register_object_instance(kind)
        say(owns=True)

    def achieve(self, label: str) -> None:
        while label not in self.ears.announced:
            self.talker.rti.evoke_callback(60.0)
        self.talker.rti.synchronization_point_achieved(label)
        while label not in self.ears.synchronized:
            self.talker.rti.evoke_callback(60.0)
        say(synchronized=label)

    def wait(self) -> None:
        say(waits=True)
        while True:
            self.talker.rti.evoke_callback(60.0)


def main(address: str, name: str) -> None:
    member = Member(address, name)
    say(ready=name)
    while line := sys.stdin.readline():
        what, *arguments = line.split()
        if what == "end":
            return
        getattr(member, what)(*arguments)


if __name__ == "__main__":
    main(*sys.argv[1:])

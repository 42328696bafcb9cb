"""A federate in a process of its own that owns an object, and an attribute of another's, until it is killed."""

from __future__ import annotations

import signal
import sys
from dataclasses import dataclass

import weft
from support.federate_process import Process, say


@dataclass
class Hail(weft.HLAinteractionRoot, dimensions={"East": 10}):
    Words: str


@dataclass
class Ship(weft.HLAobjectRoot, dimensions={"East": 10}, directed=[Hail]):
    Position: float = 0.0
    Knots: float = 0.0


HARBOUR = weft.fom_from(Ship)


class OwningProcess(Process):
    module = "support.owning_process"


def own(address: str) -> None:
    with weft.join("Harbour", "pilot", fom=HARBOUR, rti=address) as pilot:
        pilot.subscribe(Ship)
        pilot.run_until(lambda: "Bollard" in pilot.objects("Ship"), 120)
        bollard = pilot.objects("Ship")["Bollard"]
        pilot.register(Ship(5.0), "Heron")
        pilot.acquire(bollard, "Knots")
        pilot.run_until(lambda: pilot.owns(bollard, "Knots"), 120)
        say(ready=True)
        signal.pause()


if __name__ == "__main__":
    own(sys.argv[1])

"""Which functions of Weft one interaction passes through: the program behind the walks of docs/design.md.

    WEFT_PURE=1 PYTHONPATH=tests python -m support.message_hops embedded|server|mesh|recorded [--json]

Two federates are in one process, with all that is between them, so one list holds all calls in their order: those for the first
message, and those for one like it.  Constructors, comprehensions and lambdas are left out.  It takes pure Python: compiled
functions cannot be watched.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import weft
from support.node_processes import write_file
from support.server_in_thread import serving
from weft.cli.data import object_model
from weft.fabric import Topology
from weft.review import judge

Hop = tuple[str, str]
SOURCE = f"{Path(weft.__file__).parent}{os.sep}"
PAIR = Topology(("S1", "S2"), {"A": ("S1", "S2")})
WAIT = 1.0


class Watch:
    """Notes every call of a function of Weft, in all threads that begin after it."""

    def __init__(self) -> None:
        self.on = False
        self.seen: list[Hop] = []
        threading.setprofile(self._called)
        sys.setprofile(self._called)

    def _called(self, frame: FrameType, event: str, argument: Any) -> None:
        if self.on and event == "call" and frame.f_code.co_filename.startswith(SOURCE):
            name = frame.f_code.co_qualname
            if "<" not in name and not name.endswith("__"):
                self.seen.append((frame.f_code.co_filename.removeprefix(SOURCE), name))

    @contextlib.contextmanager
    def watching(self) -> Iterator[list[Hop]]:
        self.seen = []
        self.on = True
        try:
            yield self.seen
        finally:
            self.on = False


class Listener(weft.FederateAmbassador):
    heard = 0

    def receive_interaction(self, *arguments: Any) -> None:
        self.heard += 1


def traced(watch: Watch, sender: str, receiver: str) -> list[list[Hop]]:
    """The calls for the first interaction, and for the second."""
    ears = Listener()
    talker, listener = weft.RTIambassador(), weft.RTIambassador()
    for rti, ambassador, address in ((talker, weft.FederateAmbassador(), sender), (listener, ears, receiver)):
        if address:
            rti.connect(ambassador, weft.CallbackModel.EVOKED, address)
        else:
            rti.connect(ambassador, weft.CallbackModel.EVOKED)
    talker.create_federation_execution("Walk", object_model("range.xml"))
    talker.join_federation_execution("talker", "talker", "Walk")
    listener.join_federation_execution("listener", "listener", "Walk")
    fire = talker.get_interaction_class_handle("Fire")
    values = {talker.get_parameter_handle(fire, "Round"): bytes(4)}
    talker.publish_interaction_class(fire)
    listener.subscribe_interaction_class(fire)
    found = []
    for expected in (1, 2):
        with watch.watching() as seen:
            talker.send_interaction(fire, values, b"")
            while ears.heard < expected:
                listener.evoke_callback(WAIT)
        found.append(seen)
    for rti in (listener, talker):
        rti.resign_federation_execution(weft.ResignAction.NO_ACTION)
        rti.disconnect()
    return found


def embedded(watch: Watch, folder: Path) -> list[list[Hop]]:
    return traced(watch, "", "")


def server(watch: Watch, folder: Path) -> list[list[Hop]]:
    with serving() as running:
        return traced(watch, running.address(), running.address())


def mesh(watch: Watch, folder: Path) -> list[list[Hop]]:
    file = write_file(folder, PAIR)
    try:
        return traced(watch, f"mesh://S1@{file}", f"mesh://S2@{file}")
    finally:
        weft.stop_node()


def recorded(watch: Watch, folder: Path) -> list[list[Hop]]:
    """From the send to the audit; the file is written in this process, where it can be watched."""
    sys.executable = ""
    weft.record(folder / "runs")
    found = traced(watch, "", "")
    with watch.watching() as seen:
        weft.stop_recording()
        (verdict,) = judge((folder / "runs" / "Walk").glob("2*"))
    assert verdict.clean, verdict
    return [one + seen for one in found]


WORLDS = {one.__name__: one for one in (embedded, server, mesh, recorded)}


def main(world: str, *options: str) -> None:
    os.environ["WEFT_FABRIC_RETRY_SECONDS"] = "0.02"
    watch = Watch()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        found = WORLDS[world](watch, Path(folder))
    if options == ("--json",):
        print(json.dumps(found))
        return
    for which, hops in zip(("the first message", "one like it"), found, strict=True):
        functions, files = len(set(hops)), len({file for file, _ in hops})
        print(f"{world}, {which}: {functions} functions in {files} files")
        print("".join(f"    {file} {name}\n" for file, name in hops))


if __name__ == "__main__":
    main(*sys.argv[1:])

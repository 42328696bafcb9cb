"""A node that records and is killed: it tells what it has sent, and how many rows are in files."""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path

from support.federation import Federation
from support.server_in_thread import eventually
from weft.host.recording.recording import NodeRecordings
from weft.host.recording.writers import ProcessWriter

SENT = 60


def record(words: list[str]) -> int:
    """FOLDER, and with a seed: the process that makes files is killed now and then."""
    folder, *seed = words
    dice = random.Random(seed[0]) if seed else None
    made = Federation(2)
    made.rti[0].publish_interaction_class(made.interaction("Event"))
    made.rti[1].subscribe_interaction_class(made.interaction("Event"))
    writer = ProcessWriter()
    recordings = NodeRecordings(Path(folder), _say, made.node._guarded, interval=3600.0, writer=writer)
    made.node._node.record(recordings, 0.0)
    kill_at = 0
    for number in range(SENT):
        if number % 6 == 0:
            made.node._guarded(recordings.collect)
            assert eventually(lambda: not recordings.facts()["queue_bytes"])
            _say(f"kept {recordings.facts()['rows']}")
            kill_at = number + dice.randrange(18) if dice is not None else -1
        made.send(0, "Event", tag=str(number).encode())
        _say(f"sent {number}")
        if number == kill_at and writer._process is not None:
            made.node._guarded(recordings.collect)
            os.kill(writer._process.pid, signal.SIGKILL)
    made.node._guarded(recordings.collect)
    made.node._node.stop_recording()
    recordings.close()
    made.close()
    return 0


def _say(text: str) -> None:
    print(text, flush=True)

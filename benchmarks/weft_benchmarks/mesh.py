"""Messages between two processes that are nodes of a fabric themselves, over loopback; no server between.

* Round trip: one federate sends an interaction of 64 bytes, another answers with one; both pinned to one core, and free to use
  all.  Beside it the same two federates at a server, in the same run.  Floor: two ends in C through a C relay.
* Throughput, one to one, with the CPU of the sender and of the receiver per message.

The federates are those of `weft bench fedpro`, with a "mesh://…" address in place of a port.
"""

from __future__ import annotations

import json
import socket
import statistics
from pathlib import Path

from weft_benchmarks import fedpro
from weft_benchmarks.runner import say

_FILE = '[servers]\nS1 = "127.0.0.1:{}"\nS2 = "127.0.0.1:{}"\n\n[domains]\nA = ["S1", "S2"]\n'


def measure(build: str, folder: str) -> dict[str, float]:
    """All figures of one build."""
    figures: dict[str, float] = {}
    for name, pinned in (("", True), ("_cores", False)):
        say(f"{build}: round trip{', on all cores' if name else ''}")
        first, second = places(folder)
        taken = fedpro.round_trips(build, second, first, pinned=pinned)
        figures[f"round_trip{name}_us"] = statistics.median(taken)
        figures[f"round_trip{name}_p99_us"] = fedpro.percentile(taken, 99)
        with fedpro.server(build, folder, pinned=pinned) as (_, port):
            figures[f"server_round_trip{name}_us"] = statistics.median(
                fedpro.round_trips(build, port, pinned=pinned)
            )
    say(f"{build}: one to one")
    figures.update(_throughput(build, folder))
    return figures


def _throughput(build: str, folder: str) -> dict[str, float]:
    turns = fedpro.MESSAGES[build]
    first, second = places(folder)
    ear = fedpro.role(build, "receive", first, turns)
    fedpro.ready(ear)
    sender = fedpro.role(build, "send", second, turns, "async")
    heard = json.loads(fedpro.output(ear))
    said = json.loads(fedpro.output(sender))
    return {
        "one_to_one_per_s": heard["rate"],
        "one_to_one_sender_us": said["cpu_us"],
        "one_to_one_receiver_us": heard["cpu_us"],
    }


def places(folder: str) -> tuple[str, str]:
    """Two servers of a new domains file, with ports that nobody uses just now; the first has the directory."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    place = Path(folder) / f"mesh-{ports[0]}"
    place.mkdir()
    file = place / "domains.toml"
    file.write_text(_FILE.format(*ports))
    return f"mesh://S1@{file}", f"mesh://S2@{file}"

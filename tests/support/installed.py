"""Is the Weft that is installed whole?  A federation in one process, one through a server, one over a mesh of two nodes.

It imports nothing but Weft and needs nothing of the repository, so wheels are tried with it: by cibuildwheel, and by
tests/test_packages.py.  Arguments: which of these (default all).
"""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import weft
from weft._build import is_compiled
from weft.cli.data import object_model

PATIENCE = 120.0
PYTHON = [
    sys.executable,
    *(["-S"] if sys.flags.no_site else []),
]  # for processes that are to have no more than this one


def gun(rti: str) -> None:
    """Its shot reaches the other process, and the hit that comes back is of that round."""
    hits: list[object] = []
    with weft.join("trial", "gun", fom=object_model("range.xml"), rti=rti, wait=PATIENCE) as federate:
        federate.on_interaction("Hit")(lambda hit: hits.append(hit["Round"]))
        federate.synchronize("ready", PATIENCE, federates=2)
        federate.send("Fire", Target="target", Round=7)
        assert federate.run_until(lambda: hits, PATIENCE), "no hit came"
        assert hits == [7], hits
        federate.synchronize("seen", PATIENCE)


def target(rti: str) -> None:
    with weft.join("trial", "target", fom=object_model("range.xml"), rti=rti, wait=PATIENCE) as federate:
        federate.on_interaction("Fire")(
            lambda shot: federate.send("Hit", Target="target", Round=shot["Round"])
        )
        federate.synchronize("ready", PATIENCE, federates=2)
        federate.synchronize("seen", PATIENCE)


def in_one_process() -> None:
    node, shots = weft.EmbeddedNode("trial"), []
    fom = object_model("range.xml")
    with (
        weft.join("trial", "one", fom=fom, host=node) as one,
        weft.join("trial", "two", fom=fom, host=node) as two,
    ):
        two.on_interaction("Fire")(lambda shot: shots.append(shot["Round"]))
        one.send("Fire", Target="two", Round=7)
        assert two.run_until(lambda: shots, PATIENCE), "no shot came"
        assert shots == [7], shots


@contextlib.contextmanager
def serving(folder: str) -> Iterator[str]:
    command = [*PYTHON, "-m", "weft", "serve", "--port", "0", "--no-record", "--no-console"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            assert "serves" in server.stdout.readline()
            yield server.stdout.readline().split()[1]
        finally:
            server.send_signal(signal.SIGINT)
            assert server.wait(PATIENCE) == 0


def through_a_server() -> None:
    with tempfile.TemporaryDirectory() as folder, serving(folder) as address:
        with_target(address, address)


def over_a_mesh() -> None:
    ports = []
    for _ in range(2):
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            ports.append(one.getsockname()[1])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pair.toml"
        places = "".join(f'{name} = "127.0.0.1:{port}"\n' for name, port in zip("AB", ports, strict=True))
        file.write_text(f'[servers]\n{places}[domains]\nD = ["A", "B"]\n')
        with_target(f"mesh://A@{file}", f"mesh://B@{file}")


def with_target(ours: str, theirs: str) -> None:
    with subprocess.Popen([*PYTHON, __file__, "--target", theirs]) as other:
        gun(ours)
        assert other.wait(PATIENCE) == 0


TRIALS = {"process": in_one_process, "server": through_a_server, "mesh": over_a_mesh}

if __name__ == "__main__":
    if sys.argv[1:2] == ["--target"]:
        target(sys.argv[2])
        sys.exit()
    print(f"weft {weft.__version__} in {Path(weft.__file__).parent}")
    print("compiled" if is_compiled() else "pure Python", "on", sys.version.split()[0])
    for name in sys.argv[1:] or TRIALS:
        TRIALS[name]()
        print(f"works: {name}", flush=True)

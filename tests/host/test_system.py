"""Issue 22, item 8: what Linux alone has stands behind `weft.host.system`, and its portable form does the same."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from weft.host import system
from weft.host.client.settings import ClientSettings
from weft.host.client.streams import Stream
from weft.host.dispatch import Preemptive
from weft.host.files import locks
from weft.model.errors import ChannelError

NAMES = [name for name in vars(system) if name.isupper() and name not in ("PORTABLE", "_LINUX", "_POSIX")]

FORCED = """
import os, sys
import weft
from weft.host import system
from support import installed
assert not [name for name in sys.argv[1:] if getattr(system, name)]
from weft.host.loop.drive_loop import Selector
import selectors
assert issubclass(Selector, selectors.SelectSelector)
installed.over_a_mesh()
node = weft.EmbeddedNode("recorded")
recordings = node.record("runs")
with weft.join("r", "one", fom=installed.object_model("range.xml"), host=node) as one:
    one.publish("Fire")
    one.send("Fire", Target="two", Round=7)
node.stop_recording()
(folder,) = recordings.folders
from weft.host.recording.runs import open_run
print(open_run(folder).rows > 0, recordings.dropped)
"""


def test_a_mesh_and_a_recording_without_what_linux_alone_has(tmp_path: Path) -> None:
    """Two processes with loops that know no epoll and sockets without naps of their own; rows go to the writer by a pipe."""
    root = Path(__file__).resolve().parents[2]
    path = os.pathsep.join([str(root / "tests"), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", FORCED, *NAMES],
        cwd=tmp_path, env={**os.environ, "WEFT_PORTABLE": "1", "PYTHONPATH": path},
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == "True 0\n"


def test_all_are_named_where_they_are_decided() -> None:
    """Each constant has its row, with its portable form."""
    rows = re.findall(r"^    ([A-Z_]+)  ", system.__doc__ or "", re.M)
    assert rows == NAMES


@pytest.fixture(params=[True, False], ids=["system", "portable"])
def naps(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param and not system.SOCKET_NAPS:
        pytest.skip("this system has none")
    monkeypatch.setattr(system, "SOCKET_NAPS", request.param)


@pytest.mark.usefixtures("naps")
def test_a_stream_in_both_forms() -> None:
    """Nothing yet is None, at once and after a nap; what came is what was sent; a peer that closed is b""."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        stream = Stream(ClientSettings(host="127.0.0.1", port=server.getsockname()[1], silence=0.5))
        peer, _ = server.accept()
        with peer:
            assert stream.plain, "another thread may send meanwhile"
            assert stream.receive(0) is None
            assert stream.receive(0.01) is None
            assert stream.receive(5.0) is None, "a nap, and no longer"
            peer.sendall(b"a word")
            assert stream.wait(60.0)
            assert stream.receive(0) == b"a word"
            peer.sendall(b"another")
            assert stream.receive(60.0) == b"another"
            stream.send([b"an", b" answer"])
            assert peer.recv(100) == b"an answer"
            with pytest.raises(TimeoutError, match="takes nothing"):
                stream.send([bytes(64 << 20)])
        while stream.receive(60.0):
            pass
        assert stream.receive(0) == b""
        stream.socket.close()


@pytest.mark.parametrize("by_the_system", [True, False], ids=["system", "portable"])
def test_locks_in_both_forms(by_the_system: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several share; who wants it alone gets it when none of them is left, and one at a time."""
    if by_the_system and not system.FILE_LOCKS:
        pytest.skip("this system has none")
    monkeypatch.setattr(system, "FILE_LOCKS", by_the_system)
    path = tmp_path / "lock"

    def free() -> bool:
        with locks.claimed(path) as mine:
            if mine:
                with locks.claimed(path) as again:
                    assert not again
            return mine

    assert free()
    first, second = locks.share(path), locks.share(path)
    assert first is not None
    assert second is not None
    assert not free()
    first.close()
    assert not free()
    second.close()
    assert free()


@pytest.mark.parametrize("by_the_system", [True, False], ids=["system", "portable"])
def test_locks_go_with_their_process(
    by_the_system: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However it ends: here it is killed."""
    if by_the_system and not system.FILE_LOCKS:
        pytest.skip("this system has none")
    monkeypatch.setattr(system, "FILE_LOCKS", by_the_system)
    code = (
        "import sys; from pathlib import Path; from weft.host.files import locks\n"
        "held = locks.share(Path(sys.argv[1])); print('held', flush=True); sys.stdin.read()"
    )
    path = tmp_path / "lock"
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "WEFT_PORTABLE": "" if by_the_system else "1",
    }
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        with locks.claimed(path) as mine:
            assert not mine
        other.kill()
        other.wait()
    with locks.claimed(path) as mine:
        assert mine


def test_where_workers_cannot_be_forked_the_dispatcher_says_what_to_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(system, "FORKED_WORKERS", False)
    with pytest.raises(ChannelError, match="OneThread, ThreadPools or ThreadPerConsumer"):
        Preemptive().start([])

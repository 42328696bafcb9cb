"""A node that stops takes nothing from a neighbour that has not read all of it yet."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from weft.host.links.lines import READ, LinkLine
from weft.host.pulse import GONE

SIZE = 8 << 20


class Holder:
    """What a line needs of `Links`."""

    def __init__(self) -> None:
        self.buffer = bytearray(READ)
        self.patience = GONE

    def opened(self, line: LinkLine) -> None:
        pass

    def received(self, line: LinkLine, data: bytes) -> None:
        pass

    def closed(self, line: LinkLine) -> None:
        pass


async def _read_late(leave: str) -> int:
    """How much of it a neighbour reads that has sent something which the line has not read, and reads late."""
    loop = asyncio.get_running_loop()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        holder: Any = Holder()
        link: Any = object()
        made: Any = lambda: LinkLine(holder, link, None)
        _, line = await loop.create_connection(made, *listener.getsockname())
        accepted, _ = await loop.sock_accept(listener)
    total = 0
    with accepted:
        line._transport.pause_reading()
        await loop.sock_sendall(accepted, bytes(100_000))
        line.send([bytes(SIZE)])
        getattr(line, leave)()
        try:
            while data := await asyncio.wait_for(loop.sock_recv(accepted, 1 << 16), 10):
                total += len(data)
        except ConnectionResetError:
            pass
    await asyncio.wait_for(line.closed, 10)
    return total


def main() -> None:
    print(asyncio.run(_read_late(sys.argv[1])))


@pytest.mark.parametrize("leave", ["finish", "close"])
def test_what_was_sent_is_read_to_its_end(leave: str) -> None:
    """Closing at once would lose the rest.  In a process of pure Python, where a line takes anything for its links."""
    tests = Path(__file__).parent.parent.parent
    done = subprocess.run(
        [sys.executable, "-c", "from host.links.test_link_farewell import main; main()", leave],
        env={**os.environ, "WEFT_PURE": "1", "PYTHONPATH": str(tests)},
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )
    assert (int(done.stdout) == SIZE) == (leave == "finish")

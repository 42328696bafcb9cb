"""The console's process.

`python -m weft.console` reads a line of JSON, how it is to listen, from its input; then a line for each change of a node, until
the input ends: whoever started it is gone, and so is the console.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import TextIO

import uvicorn

from weft.console.app import RunningConsole, application
from weft.console.child import ConsoleStart
from weft.console.connections import uvicorn_config

NICE = 5  # nodes of this machine come first
LAST_SECONDS = 3.0  # after the end of the input, until the process ends whatever hangs


def serve(
    start: ConsoleStart, listening: socket.socket, news: Iterator[str] | None, report: Callable[[str], None]
) -> None:
    """Until the news end, or a signal."""
    console = RunningConsole(start.guard(), start.recordings, report)
    for node in start.nodes:
        console.told(node)
    server = server_of(console, start.cert, start.key)

    async def main() -> None:
        if news is not None:
            loop = asyncio.get_running_loop()
            listener = threading.Thread(
                target=_listen, args=(news, console, server, loop, report), daemon=True
            )
            listener.start()
        await server.serve([listening])

    asyncio.run(main())


def server_of(console: RunningConsole, cert: str = "", key: str = "") -> uvicorn.Server:
    return uvicorn.Server(uvicorn_config(application(console), cert, key))


def _listen(
    news: Iterator[str],
    console: RunningConsole,
    server: uvicorn.Server,
    loop: asyncio.AbstractEventLoop,
    report: Callable[[str], None],
) -> None:
    for line in news:
        try:
            said = json.loads(line)
            loop.call_soon_threadsafe(console.told, said)
        except (ValueError, RuntimeError) as error:
            report(f"what was told of a node cannot be used: {error}")
    server.should_exit = True
    time.sleep(LAST_SECONDS)
    os._exit(0)


def report_to(stream: TextIO | None = None) -> Callable[[str], None]:
    def report(text: str) -> None:
        print(f"{time.strftime('%H:%M:%S')} {text}", file=stream or sys.stderr, flush=True)

    return report


def main() -> int:
    first = sys.stdin.readline()
    if not first:
        return 0
    start = ConsoleStart(**json.loads(first))
    with contextlib.suppress(OSError, AttributeError):
        os.nice(NICE)
    listening = (
        socket.socket(fileno=start.fd) if start.fd >= 0 else socket.create_server((start.host, start.port))
    )
    serve(start, listening, iter(sys.stdin), report_to())
    return 0

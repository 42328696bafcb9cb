"""What happens in a run, as facts for its course: from the logs of nodes and programs, from files and ports, and from what
nodes say of federates of other machines."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from weft.cli.operate.run_logs import Followed
from weft.cli.operate.run_nodes import Child
from weft.cli.operate.running.observing import FederationObserver, Observed
from weft.cli.operate.running.places import called
from weft.cli.operate.running.plan import FILE, JOINED, LOG, PORT, SYNCHRONIZED, StartCondition
from weft.cli.operate.running.view import RunView, entry_of

_LOOK = 0.2  # seconds from one look at a port, or at another machine, to the next
_LEAVES = ("federate-resigned", "federate-gone", "federate-dropped")


class Happenings(NamedTuple):
    """What has happened since the last look."""

    facts: list[StartCondition]
    left: list[str]  # federates


class RunWatch:
    """Of one run; asked again and again."""

    def __init__(self, federation: str, conditions: Iterable[StartCondition], view: RunView) -> None:
        wanted = set(conditions)
        self._federation = federation
        self._view = view
        self._files = {one for one in wanted if one.kind == FILE}
        self._ports = {one for one in wanted if one.kind == PORT}
        self._patterns: dict[str, list[StartCondition]] = {}
        for one in wanted:
            if one.kind == LOG:
                self._patterns.setdefault(one.what, []).append(one)
        self._nodes: list[Followed] = []
        self._programs: list[Followed] = []
        self._found = Happenings([], [])
        self._tasks: list[asyncio.Task[None]] = []
        self.is_reached = True
        """Does the server of another machine answer, if it is asked?"""
        self.why_unreached = ""

    def begin(self, children: Sequence[Child], program_logs: Mapping[str, Path], address: str) -> None:
        """`address`: of a server on another machine, which is asked; empty: there is none."""
        self._nodes = [Followed(called(child.name), child.log) for child in children]
        self._programs = [Followed(name, log) for name, log in program_logs.items()]
        self._tasks = [asyncio.ensure_future(self._watch_port(one)) for one in self._ports]
        if address:
            self.is_reached = False
            self.ask(address)

    def ask(self, address: str) -> None:
        self._tasks.append(asyncio.ensure_future(self._watch_node(address)))

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def look(self, last: bool = False) -> Happenings:
        """Shows what has been said, too.  `last`: all have ended, so a line without an end is one."""
        for followed in self._nodes:
            for line in followed.lines(last):
                entry = entry_of(line)
                self._view.node_line(followed.name, line, entry)
                if entry is not None and entry.get("federation") == self._federation:
                    self._take(
                        str(entry["event"]), str(entry.get("federate", "")), str(entry.get("label", ""))
                    )
        for followed in self._programs:
            for line in followed.lines(last):
                self._view.line(followed.name, line)
                self._match(followed.name, line)
        for one in [one for one in self._files if Path(one.what).exists()]:
            self._files.discard(one)
            self._found.facts.append(one)
        found, self._found = self._found, Happenings([], [])
        return found

    def _take(self, event: str, federate: str, label: str) -> None:
        if event == "federate-joined":
            self._found.facts.append(StartCondition(JOINED, federate))
        elif event == "synchronized":
            self._found.facts.append(StartCondition(SYNCHRONIZED, label))
        elif event in _LEAVES:
            self._found.left.append(federate)

    def _match(self, name: str, line: str) -> None:
        waiting = self._patterns.get(name, [])
        for one in [one for one in waiting if re.search(one.pattern, line)]:
            waiting.remove(one)
            self._found.facts.append(one)

    async def _watch_port(self, condition: StartCondition) -> None:
        host, _, port = condition.what.rpartition(":")
        while True:
            with contextlib.suppress(OSError, TimeoutError):
                _, writer = await asyncio.wait_for(asyncio.open_connection(host.strip("[]"), int(port)), 5.0)
                writer.close()
                self._found.facts.append(condition)
                return
            await asyncio.sleep(_LOOK)

    async def _watch_node(self, address: str) -> None:
        """A point that was pending and is not any more has been reached, unless the federation is gone with it."""
        observer = FederationObserver(address, self._federation)
        before = Observed(frozenset(), frozenset())
        try:
            while True:
                now = await _asked(observer)
                self.why_unreached = observer.why
                if now is not None:
                    self.is_reached = True
                    self._found.facts.extend(
                        StartCondition(JOINED, name) for name in now.members - before.members
                    )
                    if now.members:
                        reached = before.points - now.points
                        self._found.facts.extend(StartCondition(SYNCHRONIZED, label) for label in reached)
                    self._found.left.extend(before.members - now.members)
                    before = now
                await asyncio.sleep(_LOOK)
        finally:
            observer.close()


async def _asked(observer: FederationObserver) -> Observed | None:
    """In a thread, which has let go of the observer when this is over, also when it is cancelled."""
    asking = asyncio.get_running_loop().run_in_executor(None, observer.ask)
    try:
        return await asyncio.shield(asking)
    except asyncio.CancelledError:
        await asyncio.wait([asking])
        raise

"""How `weft run` shows its nodes: a table that lives, or lines."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol

from weft.cli.operate.run_nodes import Child

if TYPE_CHECKING:
    from rich.table import Table

COLUMNS = (
    "node", "pid", "state", "links", "in/s", "out/s", "stamp", "backlog", "restarts", "federates at",
)  # fmt: skip
SUMMARY_SECONDS = 10.0


def cells(child: Child) -> list[str]:
    """One row of the table."""
    status = child.status
    if not status:
        return [child.name, str(child.pid or ""), child.state, "", "", "", "", "", str(child.restarts), ""]
    stamps = status["stamp_bytes"] / status["packets"] if status["packets"] else 0.0
    return [
        child.name,
        str(child.pid),
        child.state,
        f"{status['links']}/{status['neighbours']}",
        f"{child.rates.get('received', 0.0):,.0f}",
        f"{child.rates.get('sent', 0.0):,.0f}",
        f"{stamps:.1f}",
        f"{status['backlog']:,}",
        str(child.restarts),
        str(status["federates"]),
    ]


class Shown(Protocol):
    def show(self, children: list[Child]) -> None: ...

    def close(self) -> None: ...


class PlainLines:
    """A line for each change of a node's state, and one for all now and then."""

    def __init__(self) -> None:
        self._states: dict[str, str] = {}
        self._summary_at = time.monotonic()

    def close(self) -> None:
        """What was printed stays."""

    def show(self, children: list[Child]) -> None:
        for child in children:
            if self._states.get(child.name) != child.state:
                self._states[child.name] = child.state
                where = child.status.get("federates", "")
                joins = f", federates join at {where}" if where and child.state == "running" else ""
                process = f" (process {child.pid})" if child.pid else ""
                print(f"{child.name}: {child.state}{process}{joins}", flush=True)
        now = time.monotonic()
        if now - self._summary_at >= SUMMARY_SECONDS:
            self._summary_at = now
            rate = sum(child.rates.get("received", 0.0) for child in children)
            backlog = sum(child.status.get("backlog", 0) for child in children)
            running = sum(child.state == "running" for child in children)
            print(
                f"{running} of {len(children)} run, {rate:,.0f} messages/s, backlog {backlog:,}", flush=True
            )


class LiveTable:
    """With rich, which is imported only here."""

    def __init__(self, title: str) -> None:
        from rich.live import Live

        self._title = title
        self._live = Live(refresh_per_second=4)

    def show(self, children: list[Child]) -> None:
        self._live.start()  # which it may have been already
        self._live.update(table(self._title, children))

    def close(self) -> None:
        self._live.stop()


def table(title: str, children: list[Child]) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    made = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for at, column in enumerate(COLUMNS):
        made.add_column(column, justify="right" if 3 <= at <= 8 else "left", no_wrap=True)
    for child in children:
        style = {"running": "green", "stopped": "dim"}.get(child.state, "yellow")
        row = cells(child)
        made.add_row(*row[:2], f"[{style}]{row[2]}[/]", *row[3:])
    return made

"""Figures 8 and 9 of paper 003: one central channel against federated channels (S3-22).

Two boards, each a process with a supplier and consumers.  Some part of the events is for the supplier's own board, the rest for
the other one.

* Central: the channel is on board A.  B's supplier pushes to it over the link, and what B's consumers want comes over the link.
  Of B there are two bare ends, "pushes" and "centre", which neither filter nor know of one another.
* Federated: each board has a channel, joined by gateways, which follow what is wanted.

Counted are the events that cross the link, and measured the time from push to consumer.  Both boards push at the same period;
their clocks are one, the system's.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from weft.channel import NO_DISPATCHING, Event, Events, on
from weft.drawing import Box, Chart, ChartPoint, Graphic, Series, Stroke, Text
from weft.host.dispatch.hosted import RealTimeSupplier
from weft.host.in_process.event_channel import ProcessChannel
from weft.host.in_process.mesh_nodes import open_channel
from weft_benchmarks.channel_remote import PATIENCE, process
from weft_benchmarks.mesh import places
from weft_benchmarks.papers.events.latency import LeastMostMean
from weft_benchmarks.papers.figures import Claim, Figure, Table

CENTRAL, FEDERATED = "central", "federated"
PERIOD = 0.002
WARM = 5
USUAL = 0.9  # so many consumers are on the board of their supplier, where one looks at a single case
_FLOWS = {"A to A": 16, "A to B": 17, "B to A": 18, "B to B": 19}


class BoardsOutcome(NamedTuple):
    """Of both boards together.  `share`: of the events for the supplier's own board.  Latencies in microseconds, by flow."""

    layout: str
    share: float
    pushed: int
    crossed: dict[str, int]  # by the board that sent them
    latencies: dict[str, list[float]]

    @property
    def messages(self) -> float:
        """For each event."""
        return sum(self.crossed.values()) / self.pushed

    def mean(self, *flows: str) -> float:
        taken = [value for flow in flows or self.latencies for value in self.latencies[flow]]
        return sum(taken) / len(taken) if taken else 0.0


# --- in the process of a board ------------------------------------------------------------------------------------


class Board:
    def __init__(self, name: str, address: str, layout: str) -> None:
        self.name = name
        self.latencies: dict[str, list[float]] = {}
        other = "B" if name == "A" else "A"
        self._own, self._away = f"{name} to {name}", f"{name} to {other}"
        self._here = _open(CENTRAL if layout == CENTRAL else FEDERATED, address)
        self._channels = [self._here]
        pushed_on = self._here
        wanted = [(self._here, self._away)]
        if layout == CENTRAL:
            pushes = _open("pushes", address)
            self._channels.append(pushes)
            if name == "A":
                self._forward(pushes)
                wanted.append((self._here, "B to B"))
            else:
                pushed_on = pushes
                wanted = [(pushes, self._own), (pushes, self._away)]
        self._wanted = wanted
        for flow in (self._own, f"{other} to {name}"):
            self._consume(flow)
        self._suppliers = {
            flow: pushed_on.supply((1, _FLOWS[flow]), name=flow) for flow in (self._own, self._away)
        }

    def _consume(self, flow: str) -> None:
        taken = self.latencies.setdefault(flow, [])

        def push(events: Events) -> None:
            now = time.monotonic_ns()
            taken.extend((now - event.payload) / 1000 for event in events)

        self._here.consume(push, on(_FLOWS[flow]), name=flow)

    def _forward(self, pushes: ProcessChannel) -> None:
        """What B pushes is pushed here, where the channel is."""
        for flow in ("B to A", "B to B"):
            proxy = self._here.supply((1, _FLOWS[flow]), name=flow)

            def push(events: Events, proxy: RealTimeSupplier = proxy) -> None:
                for event in events:
                    proxy.push(Event(event.type, event.source, event.payload))

            pushes.consume(push, on(_FLOWS[flow]), name=flow)

    def ready(self) -> bool:
        """Once all is wanted beyond the link that this board sends over it."""
        return self._here.wait(PATIENCE, until=lambda: all(self._is_wanted(*one) for one in self._wanted))

    def _is_wanted(self, channel: ProcessChannel, flow: str) -> bool:
        return any((0, _FLOWS[flow]) in gateway.counts for gateway in channel.gateways())

    def crossed(self) -> int:
        return sum(gateway.sent for channel in self._channels for gateway in channel.gateways())

    def run(self, share: float, events: int) -> None:
        """Until all events for this board are here."""
        for number in range(events):
            flow = self._own if is_own(number, share) else self._away
            self._suppliers[flow].push(Event(_FLOWS[flow], 1, time.monotonic_ns()))
            self._here.wait(PERIOD)
        if not self._here.wait(PATIENCE, until=lambda: sum(map(len, self.latencies.values())) >= events):
            raise RuntimeError(f"board {self.name} has not got all of its events")


def is_own(number: int, share: float) -> bool:
    """Is this one of the events for the supplier's own board?  They are spread evenly."""
    return int((number + 1) * share + 1e-9) > int(number * share + 1e-9)


def _open(name: str, address: str) -> ProcessChannel:
    return open_channel(name, address, configuration=NO_DISPATCHING, additional_settings="Weft.journal=none")


def main(name: str, address: str, layout: str, share: str, events: str) -> None:
    board = Board(name, address, layout)
    if not board.ready():
        raise RuntimeError(f"board {name}: the other board is not there")
    print("ready", flush=True)
    sys.stdin.readline()
    board.run(float(share), int(events))
    print("done", flush=True)
    sys.stdin.readline()  # what this board passes on for the other one counts, too, until that is done
    print(json.dumps([board.crossed(), board.latencies]), flush=True)
    sys.stdin.readline()  # the link stays while the other board needs it


# --- what is asked for --------------------------------------------------------------------------------------------


def boards(folder: str, layout: str, share: float, events: int) -> BoardsOutcome:
    outcome = BoardsOutcome(layout, share, 2 * events, {}, {})
    with contextlib.ExitStack() as stack:
        running = {
            name: stack.enter_context(
                process(__name__, "", name, address, layout, str(share), str(events), pinned=False, fifo=True)
            )
            for name, address in zip("AB", places(folder), strict=True)
        }
        for _ in ("ready", "done"):
            for name, board in running.items():
                _line(name, board)
            for board in running.values():
                assert board.stdin is not None
                board.stdin.write("\n")
                board.stdin.flush()
        for name, board in running.items():
            crossed, latencies = json.loads(_line(name, board))
            outcome.crossed[name] = crossed
            outcome.latencies.update({flow: taken[WARM:] or taken for flow, taken in latencies.items()})
    return outcome


def _line(name: str, board: subprocess.Popen[str]) -> str:
    assert board.stdout is not None
    said = board.stdout.readline()
    if not said:
        raise RuntimeError(f"board {name} failed:\n{board.communicate()[1]}")
    return said


# --- what comes out -----------------------------------------------------------------------------------------------


def figure_8(found: Sequence[BoardsOutcome]) -> Figure:
    shares = sorted({one.share for one in found})
    usual = min(shares, key=lambda share: abs(share - USUAL))
    return Figure(
        "8 and 9",
        "one central channel against federated channels",
        [
            *(_picture(_of(found, layout, usual)) for layout in (CENTRAL, FEDERATED)),
            _chart(found, "events over the link", "for each push", lambda one: one.messages),
            _chart(found, "latency, mean of all events", "µs", lambda one: one.mean()),
            _table([_of(found, layout, usual) for layout in (CENTRAL, FEDERATED)]),
        ],
        [saves_traffic(found), costs_in_common_case(found), nothing_for_the_own(found)],
        notes=[
            (
                f"Two real processes and one link over loopback; {found[0].pushed // 2:,} events from each board, one each "
                f"{PERIOD * 1000:g} ms. Pictures and table: {usual:.0%} of events are for the supplier's own board."
            ),
            (
                "Central: the channel is on board A. Of an event with several consumers on B one copy goes there, where CORBA "
                "would send one to each: the central channel is shown better than it was."
            ),
        ],
    )


def _all(found: Sequence[BoardsOutcome], layout: str) -> list[BoardsOutcome]:
    return sorted((one for one in found if one.layout == layout), key=lambda one: one.share)


def _of(found: Sequence[BoardsOutcome], layout: str, share: float) -> BoardsOutcome:
    return next(one for one in found if (one.layout, one.share) == (layout, share))


def _pairs(found: Sequence[BoardsOutcome]) -> list[tuple[BoardsOutcome, BoardsOutcome]]:
    return list(zip(_all(found, CENTRAL), _all(found, FEDERATED), strict=True))


def _chart(
    found: Sequence[BoardsOutcome], title: str, y: str, value: Callable[[BoardsOutcome], float]
) -> Chart:
    series = [
        Series(
            layout,
            [ChartPoint(one.share * 100, value(one), value(one), value(one)) for one in _all(found, layout)],
        )
        for layout in (CENTRAL, FEDERATED)
    ]
    return Chart(title, "events for the supplier's own board, %", y, series)


def _picture(one: BoardsOutcome) -> Graphic:
    """Boards, and how many events went over the link."""
    central = one.layout == CENTRAL
    name = "figure 8: one central channel" if central else "figure 9: federated channels with gateways"
    picture = Graphic(640, 116, f"{name}; {one.pushed:,} events pushed")
    for board, x in (("A", 8.0), ("B", 422.0)):
        has_none = central and board == "B"
        picture.add(
            Box(x, 8, 210, 100, "frame", 0.06, round=6),
            Text(x + 105, 28, f"board {board}", anchor="middle", bold=True),
            Box(
                x + 20,
                40,
                170,
                26,
                "frame" if has_none else "s0",
                0.0 if has_none else 0.2,
                dashed=has_none,
                round=4,
            ),
            Text(x + 105, 57, "no channel" if has_none else "event channel", anchor="middle"),
            Text(x + 105, 92, "supplier, consumers", "muted", "middle"),
        )
    for sender, way in (("A", ((222.0, 46.0), (416.0, 46.0))), ("B", ((418.0, 84.0), (224.0, 84.0)))):
        picture.add(
            Stroke(way, "s1", 2.0, arrow=True),
            Text(320, way[0][1] - 8, f"{one.crossed[sender]:,} events", "s1", "middle", bold=True),
        )
    return picture


def _table(found: Sequence[BoardsOutcome]) -> Table:
    rows = []
    for one in found:
        for flow in _FLOWS:
            taken = one.latencies[flow]
            if taken:
                spread = LeastMostMean(min(taken), max(taken), sum(taken) / len(taken))
                rows.append([one.layout, flow, *(f"{value:,.0f}" for value in spread)])
    return Table(["channel", "from board to board", "min, µs", "max", "avg"], rows)


def saves_traffic(found: Sequence[BoardsOutcome]) -> Claim:
    pairs = [pair for pair in _pairs(found) if pair[0].share > 0]
    told = "; ".join(
        f"{central.messages:.2f} and {federated.messages:.2f} at {central.share:.0%} own"
        for central, federated in pairs
    )
    return Claim(
        "federated channels save remote messages, since consumers usually are on the board of their supplier",
        all(federated.messages < central.messages for central, federated in pairs),
        f"messages for each event, central and federated: {told}",
    )


def costs_in_common_case(found: Sequence[BoardsOutcome]) -> Claim:
    pairs = [pair for pair in _pairs(found) if pair[0].share > 0]
    central, federated = (
        [pair[place].mean("B to B") for pair in pairs if pair[place].latencies["B to B"]] for place in (0, 1)
    )
    return Claim(
        "a central channel on another board costs extra latency in the common case",
        min(central) > max(federated),
        f"B to B: {min(central):,.0f} µs or more with a central channel, {max(federated):,.0f} µs or less with federated ones",
    )


def nothing_for_the_own(found: Sequence[BoardsOutcome]) -> Claim:
    federated = _all(found, FEDERATED)
    wrong = [
        one for one in federated
        if sum(one.crossed.values()) != sum(2 * (not is_own(n, one.share)) for n in range(one.pushed // 2))
    ]  # fmt: skip
    return Claim(
        "remote communication is used only from a remote supplier to a local consumer",
        not wrong,
        "what crossed the link is what was for the other board, event by event"
        if not wrong
        else f"more or less crossed the link at {', '.join(f'{one.share:.0%}' for one in wrong)}",
    )


if __name__ == "__main__":
    main(*sys.argv[1:])

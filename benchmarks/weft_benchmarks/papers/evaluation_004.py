"""What the runs of paper 004 come out as: figures, tables and claims, all from counts (S4-17, S4-19, S4-20, S4-22, S4-23)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from weft.drawing import Chart, ChartPoint, Series
from weft_benchmarks.papers.figures import Claim, Figure, Table, mean_of
from weft_benchmarks.papers.tanks import LOGICAL, WALL, WALL_NOW, Found

MODES: Final = (WALL_NOW, WALL, LOGICAL)
PLAYERS: Final = 100_000
BROADCAST: Final = 375e6
"""Bits a second for each platform, as the paper quotes it for so many players."""

Runs = dict[tuple[str, float], list[Found]]
"""By mode and by what is varied: one for each network."""
Number = Callable[[Found], float]


def _share(found: Found, count: int) -> float:
    return 100 * count / max(1, found.wanted)


def _line(name: str, runs: Runs, mode: str, values: Sequence[float], of: Number) -> Series:
    return Series(name, [mean_of(value, [of(one) for one in runs[mode, value]]) for value in values])


def _of(runs: Runs, *modes: str) -> list[Found]:
    return [one for (mode, _), many in runs.items() for one in many if mode in modes]


def _sum(some: Iterable[Found], of: Callable[[Found], int]) -> int:
    return sum(of(one) for one in some)


def _span(some: Iterable[Found], of: Number) -> str:
    known = sorted(of(one) for one in some)
    return f"{known[0]:.0f}" if known[0] == known[-1] else f"{known[0]:.0f} to {known[-1]:.0f}"


def _outcomes(some: Iterable[Found]) -> int:
    return len({one.digest for one in some})


# --- logical against wall clock ---------------------------------------------------------------------------------------


def errors(runs: Runs, lookaheads: Sequence[float]) -> Figure:
    def chart(title: str, of: Number) -> Chart:
        return Chart(
            title, "lookahead", "% of wanted", [_line(mode, runs, mode, lookaheads, of) for mode in MODES]
        )

    charts = [
        chart("messages lost", lambda one: _share(one, one.lost)),
        chart("messages received that should not have been", lambda one: _share(one, one.wrong)),
    ]
    note = (
        "“Said late” is a federate that changes its region when it is there; “wall clock” says it as early as the lookahead "
        "allows, which is the best that can be had without a time."
    )
    claims = [*_by_clock(_of(runs, WALL, WALL_NOW)), _in_time(_of(runs, LOGICAL))]
    return Figure("section 3", "lost and wrongly received, against lookahead", charts, claims, notes=[note])


def _by_clock(some: list[Found]) -> list[Claim]:
    lost, wanted = _span(some, lambda one: one.lost), _span(some, lambda one: one.wanted)
    wrong = _span(some, lambda one: one.wrong)
    return [
        Claim(
            "by wall clock, federates do not receive messages that they should",
            all(one.lost for one in some),
            f"{lost} lost in a run, of {wanted} wanted",
        ),
        Claim(
            "or they receive messages that they should not",
            all(one.wrong for one in some),
            f"{wrong} wrongly received in a run",
        ),
    ]


def _in_time(some: list[Found]) -> Claim:
    lost, wrong, past = (_sum(some, of) for of in (lambda x: x.lost, lambda x: x.wrong, lambda x: x.past))
    wanted = _sum(some, lambda one: one.wanted)
    return Claim(
        "synchronized, a federate receives all it is interested in and no other, none of them in its past",
        lost + wrong + past == 0,
        f"{wanted} wanted in {len(some)} runs: {lost} lost, {wrong} wrong, {past} in the past",
    )


_WORK_NOTES: Final = (
    (
        "A retraction is a message that waited for its receiver and came not to be wanted; the receiver's node drops it, and "
        "nobody is told. The log is cut when enough has come together to pay for that, so it is longer than it must be."
    ),
    "A change as of a time costs more messages than a plain one: each node says that it has carried it out.",
)


def work(runs: Runs, lookaheads: Sequence[float]) -> Figure:
    def line(name: str, of: Number, mode: str = LOGICAL) -> Series:
        return _line(name, runs, mode, lookaheads, of)

    late = line("late sends", lambda one: 100 * one.late / one.sent)
    retracted = line("retractions", lambda one: 100 * one.retracted / one.sent)
    log = line("log", lambda one: one.log)
    messages = [line(mode, lambda one: one.messages / one.sent, mode) for mode in (WALL, LOGICAL)]
    charts = [
        Chart("late sends and retractions", "lookahead", "of 100 updates", [late, retracted]),
        Chart("the most entries in the log of a node", "lookahead", "updates", [log]),
        Chart("messages of all kinds between nodes, for each update", "lookahead", "messages", messages),
    ]
    claims = _work_claims(_of(runs, LOGICAL))
    return Figure("section 7", "what it takes, against lookahead", charts, claims, notes=_WORK_NOTES)


def _work_claims(some: list[Found]) -> list[Claim]:
    late, sent = _sum(some, lambda one: one.late), _sum(some, lambda one: one.sent)
    of = _span(some, lambda one: one.sent)
    return [
        Claim(
            "the log is needed: updates are sent late",
            late > 0,
            f"{late} late sends, of {sent} updates in all",
        ),
        Claim(
            "memory is reclaimed: the log does not hold the whole run",
            all(one.log < one.sent for one in some),
            f"at most {max(one.log for one in some)} entries, of {of} updates in a run",
        ),
    ]


# --- cells ------------------------------------------------------------------------------------------------------------

_CELL_NOTES: Final = (
    (
        "“By cells alone” is what the paper sends, and the receiver drops what it does not want. Weft asks those whom the "
        "cells name whether they want it exactly, at the sender's node, and so sends the same with any cells."
    ),
    "Some that is sent is not received: it was retracted, or is later than the end of the run.",
)


def by_cells(found: Sequence[tuple[int, Found]], nodes: int) -> Figure:
    """By the number of cells in each dimension."""

    def line(name: str, of: Number) -> Series:
        return Series(name, [ChartPoint(count, of(one), of(one), of(one)) for count, one in found])

    sends = [
        line("by cells alone", lambda one: one.asked / one.sent),
        line("sent by Weft", _copies),
        line("wanted", lambda one: one.wanted / one.sent),
    ]
    lists = line("lists", lambda one: _lists(one, nodes))
    x = "cells in each dimension"
    charts = [
        Chart("federates that an update is sent to", x, "federates", sends, log_x=True),
        Chart(
            "lists that a change of a region touches, at a node", x, "lists", [lists], log_x=True, log_y=True
        ),
    ]
    claims = _cell_claims(found)
    return Figure("section 5", "messages, against the size of cells", charts, claims, notes=_CELL_NOTES)


def _cell_claims(found: Sequence[tuple[int, Found]]) -> list[Claim]:
    runs = [one for _, one in found]
    most, least = (one.asked - one.at_once for one in (runs[0], runs[-1]))
    finest = found[-1][0]
    return [
        Claim(
            "smaller cells mean fewer messages that nobody wants",
            least < most,
            f"by cells alone {most} more than wanted with one cell, {least} with {finest} × {finest}",
        ),
        Claim(
            "cells change what is sent, not what is received",
            _outcomes(runs) == 1 and all(one.lost + one.wrong == 0 for one in runs),
            f"{_outcomes(runs)} outcome of {len(runs)} runs with different cells",
        ),
    ]


_UNEQUAL_HEADS: Final = (
    "cells", "by cells", "sent", "lists touched", "datagrams, groups", "nodes reached, groups", "nodes, one by one",
)  # fmt: skip
_UNEQUAL_NOTES: Final = (
    "Three of four tanks stay in a corner, a quarter of the side wide. All numbers are for one update.",
    (
        "Groups are worked out from the lists of the running kernels, not sent: messages in time stamp order go by causal "
        "channels, which lose nothing, and IP multicast would."
    ),
)


def unequal(crowded: Sequence[tuple[str, Found]], apart: Found, nodes: int) -> Figure:
    """One cell, equal ones, fitted ones, and smaller equal ones; and, for groups, tanks that are spread out."""
    rows = [_cells_row(name, one, nodes) for name, one in crowded]
    rows.append(_cells_row("8 × 8, tanks spread out", apart, nodes))
    equal, fitted = crowded[1][1], crowded[2][1]
    outcomes = _outcomes(one for _, one in crowded)
    some = [one for _, one in crowded]
    claims = [
        Claim(
            "cells need not be of one size",
            fitted.asked < equal.asked and outcomes == 1,
            f"as many cells, smaller where the tanks are: {fitted.asked} instead of {equal.asked} by cells alone, and "
            f"{outcomes} outcome with all cells",
        ),
        Claim(
            "a multicast group has all who are on its list at a time that is not past, and receivers filter",
            all(one.group_copies >= one.node_copies for one in (*some, apart)),
            f"{fitted.group_copies} copies by groups reach the {fitted.node_copies} nodes that want one, and others",
        ),
    ]
    table = Table(_UNEQUAL_HEADS, rows)
    title = "cells of unequal size, and groups"
    return Figure("sections 5 and 6.3", title, [table], claims, notes=_UNEQUAL_NOTES)


def _cells_row(name: str, one: Found, nodes: int) -> list[str]:
    per_update = (one.casts, one.group_copies, one.node_copies + one.late)
    return [
        name,
        f"{one.asked / one.sent:.2f}",
        f"{_copies(one):.2f}",
        f"{_lists(one, nodes):.0f}",
        *[f"{number / one.sent:.2f}" for number in per_update],
    ]


def _lists(one: Found, nodes: int) -> float:
    return one.lists / max(1, one.changes) / nodes


# --- again and again --------------------------------------------------------------------------------------------------


_REPEATED_HEADS: Final = (
    "regions change by", "runs", "different outcomes", "lost", "wrong", "messages for an update", "bytes", "time",
)  # fmt: skip
_REPEATED_NOTES: Final = (
    "An outcome is all that all federates were given, in its order, with their grants.",
    "Messages and bytes of all kinds between nodes; the time that all runs took on the simulated network, by wall clock 1.",
)


def repeated(runs: Runs, delays: Sequence[float]) -> Figure:
    clock, logical = _of(runs, WALL), _of(runs, LOGICAL)
    rows = [_repeated_row(mode, some, clock) for mode, some in ((WALL, clock), (LOGICAL, logical))]
    lines = [
        _line("lost, wall clock", runs, WALL, delays, lambda one: _share(one, one.lost)),
        _line("wrong, wall clock", runs, WALL, delays, lambda one: _share(one, one.wrong)),
        _line("both, logical time", runs, LOGICAL, delays, lambda one: _share(one, one.lost + one.wrong)),
    ]
    title = "lost and wrongly received, against the delay of the network"
    chart = Chart(title, "delay of a link, in steps", "% of wanted", lines, log_x=True)
    claims = [
        Claim(
            "by wall clock, executions cannot be repeated",
            _outcomes(clock) > 1,
            f"the same federates, {len(clock)} networks: {_outcomes(clock)} different outcomes",
        ),
        Claim(
            "as of a logical time, they can",
            _outcomes(logical) == 1,
            f"{len(logical)} networks: {_outcomes(logical)} outcome",
        ),
    ]
    table = Table(_REPEATED_HEADS, rows)
    return Figure(
        "section 1", "the same run again, with other delays", [table, chart], claims, notes=_REPEATED_NOTES
    )


def _repeated_row(mode: str, some: list[Found], clock: list[Found]) -> list[str]:
    lost, wrong = _span(some, lambda one: one.lost), _span(some, lambda one: one.wrong)
    updates = _sum(some, lambda one: one.sent)
    messages, size = _sum(some, lambda one: one.messages), _sum(some, lambda one: one.bytes_)
    took = sum(one.seconds for one in some) / sum(one.seconds for one in clock)
    each = [f"{messages / updates:.1f}", f"{size / updates:.0f}", f"{took:.2f}"]
    return [mode, str(len(some)), str(_outcomes(some)), lost, wrong, *each]


# --- scale ------------------------------------------------------------------------------------------------------------

_SCALE_HEADS: Final = (
    "players", "moves in one of", "broadcast copies", "copies of an update", "control, to each node",
)  # fmt: skip
_SCALE_NOTES: Final = (
    (
        "As many players for the same area, each at a node of its own. Computed from the counted messages: a player sends "
        "375 Mbit/s ÷ 100,000 = 3.75 kbit/s, and a control message is taken to be as long as an update. Control is news of "
        "regions, the answers to it, and time."
    ),
    (
        "Where it does not come out: nodes keep regions as replicas, so the news of a region that moves goes to all of them. "
        "Regions that stay put cost little; what is left then is time management. Nobody has run 100,000 nodes."
    ),
)


def scale(found: dict[tuple[int, int], Found]) -> Figure:
    """By players, and in one of how many steps each moves."""
    rows = [
        [str(count), str(rests), str(count - 1), f"{_copies(one):.2f}", f"{_news(one, count):.2f}"]
        for (count, rests), one in found.items()
    ]
    most = max(count for count, _ in found)
    data = _copies(found[most, 1]) * BROADCAST / (PLAYERS - 1)
    news = {rests: _news(found[most, rests], most) for count, rests in found if count == most}
    tables = [Table(_SCALE_HEADS, rows), _computed(data, news)]
    claims = _scale_claims(most, _copies(found[most, 1]), data, news[1])
    return Figure("section 1, scale", "messages for each player", tables, claims, notes=_SCALE_NOTES)


def _computed(data: float, news: dict[int, float]) -> Table:
    rows = [
        ["broadcast (the paper)", f"{BROADCAST / 1e6:.0f}\u00a0Mbit/s", "grows with the players"],
        ["updates, by interest", f"{data / 1e3:.1f}\u00a0kbit/s", "does not"],
    ]
    for rests, each in news.items():
        name = f"control, moving in one of {rests} steps"
        rows.append([name, f"{each * BROADCAST / 1e6:.0f}\u00a0Mbit/s", "grows with the players"])
    return Table([f"what would reach each of {PLAYERS:,} players", "", ""], rows)


def _scale_claims(players: int, copies: float, data: float, news: float) -> list[Claim]:
    return [
        Claim(
            "an update goes only to those that need it, so messages do not grow with the square of the players",
            copies < (players - 1) / 4,
            f"{copies:.2f} copies of an update with {players} players, where broadcast has {players - 1}",
        ),
        Claim(
            "sending only to those in need avoids the 375 Mbit/s that broadcast takes for each of 100,000 players",
            data + news * BROADCAST < BROADCAST,
            f"updates {data / 1e3:.1f} kbit/s; but {news:.1f} control messages to each node for each update of anybody, if "
            "every player is a node and its region moves with every update",
        ),
    ]


def _copies(one: Found) -> float:
    return (one.at_once + one.late) / one.sent


def _news(one: Found, nodes: int) -> float:
    """Messages to a node, for each update of anybody, that are not updates."""
    return (one.messages - one.node_copies - one.late) / one.sent / nodes

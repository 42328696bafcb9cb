"""A picture (`terminal.facts`) as lines of text: pure, for any width, with styles that a terminal may show.

Names come from the network and may hold anything, so nothing goes to a terminal that is not printable.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from weft.cli.terminal.cells import cell_len, set_cell_size
from weft.cli.terminal.facts import NOBODY, BlockingFederate, blocks, wall_of
from weft.console.surveys import FederateFacts, FederationFacts, NodeFacts, SurveyPicture
from weft.model.records import absence_words

GAP = 2
WIDTH = 100
Row = TypeVar("Row")
Span = tuple[str, str]  # a text and its style, as rich calls it; "" for none


@dataclass
class ScreenLine:
    spans: list[Span] = field(default_factory=list)
    subject: tuple[str, str] = ("", "")  # the federation and federate that the line is about

    @property
    def text(self) -> str:
        return "".join(text for text, _ in self.spans).rstrip()


def line(text: str, style: str = "") -> ScreenLine:
    return ScreenLine([(text, style)])


def terminal_width() -> int:
    """Where there is no terminal that says, a usual one."""
    return shutil.get_terminal_size((WIDTH, 24)).columns if sys.stdout.isatty() else WIDTH


def clean(value: object) -> str:
    return "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in str(value))


def fit(text: str, width: int, right: bool = False) -> str:
    """In exactly so many cells, with an ellipsis where something is left out."""
    size = cell_len(text)
    if size > width:
        return set_cell_size(text, max(0, width - 1)) + "…" if width > 0 else ""
    return " " * (width - size) + text if right else text + " " * (width - size)


@dataclass(frozen=True)
class ScreenColumn(Generic[Row]):
    title: str
    value: Callable[[Row], str]
    weight: int  # the lowest goes first where there is no room
    right: bool = False
    style: str = ""
    least: int = 0  # how narrow it may be made; 0: not at all, it is left out rather


def table(
    columns: Sequence[ScreenColumn[Row]], rows: Sequence[tuple[Row, str, tuple[str, str]]], width: int
) -> list[ScreenLine]:
    """A head and a line for each row (facts, style, subject): columns that are empty, or do not fit, are left out."""
    cells = [[clean(column.value(facts)) for column in columns] for facts, _, _ in rows]
    kept = [at for at in range(len(columns)) if any(row[at] for row in cells)]
    wide = {at: max([cell_len(columns[at].title), *(cell_len(row[at]) for row in cells)]) for at in kept}
    least = {at: min(wide[at], columns[at].least or wide[at]) for at in kept}
    while len(kept) > 1 and _total(kept, least) > width:
        kept.remove(min(kept, key=lambda at: columns[at].weight))
    while _total(kept, wide) > width:
        widest = max(kept, key=lambda at: (wide[at] - least[at], wide[at]))
        if wide[widest] == 1:
            break
        wide[widest] -= 1
    lines = [ScreenLine([(_row([columns[at].title for at in kept], kept, wide, columns), "bold")])]
    for (_, style, subject), row in zip(rows, cells, strict=True):
        spans: list[Span] = []
        for place, at in enumerate(kept):
            gap = " " * GAP if place else ""
            spans.append((gap + fit(row[at], wide[at], columns[at].right), columns[at].style or style))
        lines.append(ScreenLine(spans, subject))
    return lines


def _total(kept: Sequence[int], wide: dict[int, int]) -> int:
    return sum(wide[at] for at in kept) + GAP * (len(kept) - 1)


def _row(
    texts: Sequence[str], kept: Sequence[int], wide: dict[int, int], columns: Sequence[ScreenColumn[Row]]
) -> str:
    parts = [fit(text, wide[at], columns[at].right) for text, at in zip(texts, kept, strict=True)]
    return (" " * GAP).join(parts)


# Words


def amount(number: float) -> str:
    """Bytes as a person says them."""
    for unit in ("B", "KB", "MB", "GB"):
        if abs(number) < 1000 or unit == "GB":
            return f"{number:,.0f} {unit}" if unit == "B" else f"{number:,.1f} {unit}"
        number /= 1000
    raise AssertionError


def lasting(seconds: float) -> str:
    """A time span in as few words as tell it apart from others."""
    if seconds < 100:
        return f"{seconds:.1f} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def names(found: Sequence[str], most: int = 4) -> str:
    shown = ", ".join(clean(name) for name in found[:most])
    return shown if len(found) <= most else f"{shown} and {len(found) - most} more"


def plural(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def headline(picture: SurveyPicture) -> str:
    """Who blocks whom and since when, in one sentence."""
    down = [name for name, node in picture["nodes"].items() if node["state"] == "down"]
    lost = f"  Down: {names(down)}." if down else ""
    found = blocks(picture)
    if not found:
        paused = [name for name, one in picture["federations"].items() if "paused" in one]
        if paused:
            return f"Nobody waits, and {names(paused)} is paused by the operator.{lost}"
        return f"Nobody waits.{lost}"
    first = found[0]
    more = len({block.federation for block in found}) - 1
    elsewhere = f"  Somebody waits in {plural(more, 'other federation')} too." if more else ""
    blocker = picture["federations"][first.federation]["federates"].get(first.blocker)
    away = f"  {clean(first.blocker)} {absence_of(blocker)}." if blocker and "absence" in blocker else ""
    return f"{sentence(first, wall_of(picture))}{away}{elsewhere}{lost}"


def sentence(block: BlockingFederate, wall: float = 0.0) -> str:
    others = len(block.blocked) - 1
    whom = clean(block.blocked[0]) + (f" and {plural(others, 'other')}" if others else "")
    since = ""
    if wall and block.seconds:
        since = f" since {time.strftime('%H:%M:%S', time.localtime(wall - block.seconds))}"
    long = f" ({lasting(block.seconds)})" if block.seconds else ""
    return (
        f"{clean(block.federation)}: {clean(block.blocker)} blocks {whom}{since}{long}; "
        f"{clean(block.blocked[0])} asked for {clean(block.requested)} by {clean(block.asks)}."
    )


# Nodes


def node_lines(picture: SurveyPicture, width: int) -> list[ScreenLine]:
    rows: list[tuple[NodeFacts, str, tuple[str, str]]] = [
        (
            {**node, "name": name},
            {"up": "green", "starting": "yellow"}.get(node["state"], "bold red"),
            ("", ""),
        )
        for name, node in picture["nodes"].items()
    ]
    return table(_NODE_COLUMNS, rows, width) if rows else []


def _server(key: str, show: Callable[[float], str]) -> Callable[[NodeFacts], str]:
    def text(node: NodeFacts) -> str:
        value = node["server"].get(key) if "server" in node else None
        return show(value) if isinstance(value, int | float) else ""

    return text


def _links(node: NodeFacts) -> str:
    links = node["fabric"].get("links") if "fabric" in node else None
    return f"{sum(bool(one.get('up')) for one in links.values())}/{len(links)}" if links else ""


_NODE_COLUMNS: tuple[ScreenColumn[NodeFacts], ...] = (
    ScreenColumn("node", lambda node: node["name"], 9, least=8),
    ScreenColumn("state", lambda node: node["state"], 10),
    ScreenColumn("address", lambda node: node.get("address", ""), 5),
    ScreenColumn("sessions", _server("sessions", str), 4, True),
    ScreenColumn("messages", _server("messages", "{:,}".format), 3, True),
    ScreenColumn("msg/s", _server("messages_rate", "{:,.0f}".format), 7, True),
    ScreenColumn("cpu", _server("cpu", "{:.0%}".format), 6, True),
    ScreenColumn("memory", _server("resident_bytes", amount), 5, True),
    ScreenColumn("links", _links, 6, True),
    ScreenColumn("version", lambda node: node.get("version", ""), 1),
    ScreenColumn("note", lambda node: node.get("why", ""), 8, least=30),
)


# Federations


def _plain(key: str) -> Callable[[FederateFacts], str]:
    return lambda one: "" if one.get(key) is None else str(one.get(key))


def _count(key: str) -> Callable[[FederateFacts], str]:
    def text(one: FederateFacts) -> str:
        value = one.get(key)
        return f"{value:,.0f}" if isinstance(value, int | float) and value else ""

    return text


def _role(one: FederateFacts) -> str:
    return "".join(mark for mark, key in (("R", "regulating"), ("C", "constrained")) if one.get(key)) or "-"


def _waits(one: FederateFacts) -> str:
    if not one.get("asks"):
        return ""
    long = f" {lasting(float(one['seconds']))}" if "seconds" in one else ""
    return f"for {one.get('requested', '?')} {one['asks']}{long}"


def _blocked_by(one: FederateFacts) -> str:
    if not one.get("asks"):
        return ""
    return names(one.get("blocked_by") or [NOBODY])


def notes(one: FederateFacts) -> str:
    found = []
    if one.get("state", "joined") != "joined":
        found.append(str(one["state"]))
    if one.get("slow"):
        found.append("slow")
    if one.get("deadlines"):
        misses = one.get("misses", {})
        by_class = ", ".join(f"{count} {name.rpartition('.')[2]}" for name, count in misses.items())
        missed = f"missed {sum(misses.values())} of {one['deadlines']} deadlines"
        found.append(f"{missed} ({by_class})" if by_class else missed)
    return ", ".join(found)


def _last(one: FederateFacts) -> str:
    last = one.get("last_callback")
    return f"{lasting(float(last['ago']))} ago: {last['name']}" if last else ""


_FEDERATE_COLUMNS: tuple[ScreenColumn[FederateFacts], ...] = (
    ScreenColumn("federate", lambda one: one["name"], 20, least=8),
    ScreenColumn("type", _plain("type"), 2, least=6),
    ScreenColumn("node", _plain("node"), 8, least=6),
    ScreenColumn("R/C", _role, 6),
    ScreenColumn("time", _plain("time"), 18, True),
    ScreenColumn("lookahead", lambda one: _plain("lookahead")(one) if one.get("regulating") else "", 7, True),
    ScreenColumn("GALT", _plain("galt"), 5, True),
    ScreenColumn("waits", _waits, 17, style="yellow", least=20),
    ScreenColumn("blocked by", _blocked_by, 19, style="red", least=10),
    ScreenColumn("queued", _count("queued"), 9, True),
    ScreenColumn(
        "unread", lambda one: amount(one["backlog_bytes"]) if one.get("backlog_bytes") else "", 10, True
    ),
    ScreenColumn("calls/s", _count("calls_rate"), 4, True),
    ScreenColumn("last callback", _last, 1, least=10),
    ScreenColumn("notes", notes, 16, style="magenta", least=24),
)


def federation_head(name: str, federation: FederationFacts) -> str:
    parts = [
        plural(len(federation["federates"]), "federate"),
        plural(federation.get("instances", 0), "instance"),
        f"home {clean(federation.get('home', '?'))}",
    ]
    parts += [clean(federation[key]) for key in ("strategy", "time_type") if federation.get(key)]
    return f"{clean(name)}: {', '.join(parts)}"


def federation_lines(
    name: str, federation: FederationFacts, width: int, federates: Sequence[str] = ()
) -> list[ScreenLine]:
    """A head, the federates (in the order given), and what else is under way."""
    lines = [line(federation_head(name, federation), "bold cyan")]
    lines += [line(f"  {text}") for text in state_texts(federation)]
    rows: list[tuple[FederateFacts, str, tuple[str, str]]] = []
    for who in federates or sorted(federation["federates"]):
        one = federation["federates"][who]
        style = "bold red" if one.get("state") == "lost" else "yellow" if one.get("slow") else ""
        rows.append(({**one, "name": who}, style, (name, who)))
    shown = table(_FEDERATE_COLUMNS, rows, width - 2) if rows else []
    return lines + [ScreenLine([("  ", ""), *made.spans], made.subject) for made in shown]


def absence_of(one: FederateFacts) -> str:
    """Of a federate from which nothing comes."""
    told = one["absence"]
    return absence_words(str(told["why"]), float(told["seconds"]), float(told["left"]))


def strategy_texts(federation: FederationFacts) -> list[str]:
    """What the strategy of data distribution did wrong; how its partitions changed, and what that was to save and saved."""
    found = []
    if federation.get("strategy_fault"):
        found.append(clean(federation["strategy_fault"]))
    adaptation = federation.get("adaptation")
    if adaptation and "predicted" in adaptation:
        promised = adaptation["predicted"]
        text = f"partitions changed {plural(adaptation['changes'], 'time')}"
        text += f"; predicted {promised['before']:.2f} to {promised['after']:.2f} copies a message"
        if "obtained" in adaptation:
            text += f", obtained {adaptation['obtained']['after']:.2f}"
        found.append(
            text if adaptation.get("state") == "steady" else f"{text} ({clean(adaptation['state'])})"
        )
    return found


def state_texts(federation: FederationFacts) -> list[str]:
    """Pause, save, restore, federates that are away, synchronization points and partitions, a sentence for each."""
    found = strategy_texts(federation)
    paused = federation.get("paused")
    if paused:
        steps = f", {plural(paused['steps'], 'step')} still allowed" if paused.get("steps") else ""
        since = f" since {lasting(float(paused['since']))}" if "since" in paused else ""
        found.append(f"paused by {clean(paused.get('by', 'the operator'))}{since}{steps}")
    for key, under_way in (("save", federation.get("save")), ("restore", federation.get("restore"))):
        if under_way is not None:
            waits = under_way.get("waits_for") or []
            what = f"{key} {clean(under_way.get('label', ''))!r}: {clean(under_way.get('state', ''))}"
            found.append(f"{what}, waits for {names(waits)}" if waits else what)
    for who, one in sorted(federation["federates"].items()):
        if "absence" in one:
            found.append(f"{clean(who)} {absence_of(one)}")
    for label, point in sorted(federation.get("synchronization", {}).items()):
        waits = point.get("waits_for") or []
        achieved = point.get("achieved") or []
        what = f"synchronization point {clean(label)!r}: waits for {names(waits) if waits else 'nobody'}"
        found.append(f"{what}; achieved by {names(achieved)}" if achieved else what)
    return found


def recording_texts(picture: SurveyPicture) -> list[str]:
    found = []
    silent = [
        name
        for name, node in picture["nodes"].items()
        if not node.get("recording", {"on": True}).get("on", True)
    ]
    if silent:
        found.append(f"not recorded at {names(silent)}")
    for name, node in picture["nodes"].items():
        recording = node.get("recording")
        if not recording or name in silent:
            continue
        dropped = f", {recording['dropped']:,} dropped" if recording.get("dropped") else ""
        rows = plural(recording.get("rows", 0), "row")
        runs = recording.get("runs") or {}
        which = (
            f": {names([f'{federation} as {run}' for federation, run in runs.items()], 3)}" if runs else ""
        )
        found.append(
            f"{clean(name)} records below {clean(recording.get('directory', '?'))}{which} ({rows}{dropped})"
        )
    return found


def status_lines(picture: SurveyPicture, width: int) -> list[ScreenLine]:
    """All of `weft status`."""
    lines = [line(headline(picture), "bold")]
    lines += node_lines(picture, width)
    if not picture["federations"]:
        lines.append(line("no federations"))
    for name, federation in picture["federations"].items():
        lines += [line(""), *federation_lines(name, federation, width)]
    recording = recording_texts(picture)
    if recording:
        lines += [line(""), *[line(text, "dim") for text in recording]]
    return lines

"""What may be wrong with the data of a run, and what its reader has told of it already."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from weft.host.recording.listing import GAP as GAP
from weft.host.recording.listing import NOTE as NOTE
from weft.host.recording.listing import WRONG as WRONG
from weft.host.recording.listing import node_of
from weft.host.recording.run import Run

CLOCK, FIGURE = "clock", "figure"
"""Times are not to be trusted; and nothing is wrong: it says how well something is known."""
MOSTLY = 0.5  # of the rows: if so many are missing, nothing can be said


class Doubt(NamedTuple):
    check: str
    subject: str
    """The file, the node, or the run."""
    severity: str
    text: str
    nodes: frozenset[str] = frozenset()
    figures: tuple[tuple[str, int | float], ...] = ()

    def as_data(self) -> dict[str, object]:
        """For machines: a row of what was found."""
        return {
            "check": self.check,
            "subject": self.subject,
            "severity": self.severity,
            "text": self.text,
            "nodes": sorted(self.nodes),
            "figures": dict(self.figures),
        }


def known(run: Run) -> Iterator[Doubt]:
    """What is to be known of a run before anything that is found in it."""
    lost = run.dropped / max(1, run.dropped + run.rows)
    if run.dropped:
        text = (
            f"{run.dropped} rows were dropped when the run was recorded; what seems missing may be among them"
        )
        of = frozenset(name for name, node in run.nodes.items() if node.get("dropped"))
        figures = (("dropped", run.dropped), ("rows", run.rows))
        yield Doubt("dropped rows", str(run.path), GAP, text, of, figures)
    if lost >= MOSTLY:
        text = f"{lost:.0%} of all rows were dropped: what is left says nothing of the run"
        yield Doubt("dropped rows", str(run.path), GAP, text, figures=(("share", round(lost, 4)),))
    yield from _troubles(run)
    running = sorted(name for name, node in run.nodes.items() if node.get("ended_ns") is None)
    if running:
        text = f"{', '.join(running)}: still writing, or crashed; what is not there yet is not held against the run"
        yield Doubt("not closed", str(run.path), NOTE, text, frozenset(running))


def _troubles(run: Run) -> Iterator[Doubt]:
    torn = {text: place for place, text in run.unread.items()}
    there = set(run.nodes) | {file.node for file in run.files}
    absent = sorted(
        {name for node in run.nodes.values() for name in node.get("others", ()) if name not in there}
    )
    for text in run.troubles:
        node = next((name for name in absent if text.startswith(f"nothing of node {name!r} is here")), None)
        if text in torn:
            place = torn[text]
            yield Doubt("torn file", str(place), GAP, text, frozenset({node_of(place)}))
        elif node is not None:
            yield Doubt("absent node", node, GAP, text, frozenset({node}))
        else:
            yield Doubt("run", str(run.path), NOTE, text)


def damaged(path: str, node: str, why: str) -> Doubt:
    text = f"{path} is corrupt, and is not read: {why}"
    return Doubt("corrupt file", path, GAP, text, frozenset({node}))


def altered(path: str, node: str, why: str) -> Doubt:
    text = f"{path} is not as it was written: {why}; what hangs on node {node!r} is unsure"
    return Doubt("checksum", path, WRONG, text, frozenset({node}))

"""Traffic as tables with bars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from weft.recorder.timeline import page_text
from weft.review.advice.told import GridData
from weft.review.report.evidence import Evidence
from weft.review.report.traffic import ShownTraffic

MOST_SHOWN = 40


def traffic_html(evidence: Evidence) -> Iterator[str]:
    if not evidence.classes:
        yield "<p>No message was sent.</p>"
        return
    yield "<h3>By class</h3>"
    yield '<p class="legend"><span class="key way"><i></i>sent</span><span class="key got"><i></i>delivered</span></p>'
    yield from _table("class", evidence.classes, True)
    if evidence.channels:
        yield "<h3>By channel of data distribution</h3>"
        yield from _table("channel", evidence.channels, False)


def _table(what: str, rows: Sequence[ShownTraffic], delivered: bool) -> Iterator[str]:
    """Deliveries are known of classes only."""
    shown = rows[:MOST_SHOWN]
    most = max((max(row.messages, row.deliveries) for row in shown), default=0) or 1
    more = ("delivered", "unwanted") if delivered else ()
    heads = (what, *(("order",) if delivered else ()), "", "messages", *more, "bytes of values", "of control")
    yield _opened(heads)
    for row in shown:
        bars = _bar([(row.messages, "a")], most) + (_bar([(row.deliveries, "b")], most) if delivered else "")
        order = f"<td>{page_text(row.order)}</td>" if delivered else ""
        counts = (
            row.messages,
            *((row.deliveries, row.filtered) if delivered else ()),
            row.payload,
            row.control,
        )
        yield (
            f'<tr><td>{page_text(row.name)}</td>{order}<td class="cell">{bars}</td>'
            + "".join(f'<td class="n">{count:,}</td>' for count in counts)
            + "</tr>"
        )
    yield "</tbody></table></div>"
    if len(rows) > len(shown):
        yield f"<p>{len(rows) - len(shown):,} more with less traffic are not shown.</p>"


def _opened(heads: Sequence[str]) -> str:
    """The column of the bars has no head, and numbers follow it."""
    numbers = heads.index("")
    kinds = ["" if place <= numbers else ' class="n"' for place in range(len(heads))]
    cells = "".join(f"<th{kind}>{head}</th>" for kind, head in zip(kinds, heads, strict=True))
    return f'<div class="scroll"><table class="bars"><thead><tr>{cells}</tr></thead><tbody>'


def _bar(parts: Sequence[tuple[float, str]], most: float) -> str:
    spans = "".join(
        f'<span class="{kind}" style="width:{100 * size / most:.2f}%"></span>' for size, kind in parts if size
    )
    return f'<div class="track" aria-hidden="true">{spans}</div>'


def grid_html(grid: GridData) -> Iterator[str]:
    """What the recorded messages would be under each strategy and size of the grid."""
    yield "<h3>By strategy and size of the grid</h3>"
    if "tried" not in grid:
        yield f"<p>Not known: {page_text(grid.get('none_because', 'advice was left out of this review'))}.</p>"
        return
    yield '<p class="legend"><span class="key way"><i></i>wanted</span><span class="key late"><i></i>unwanted</span></p>'
    once = {row["setting"]: row for row in [grid["old"], *grid["tried"]]}
    most = max((row["received"] for row in once.values()), default=0) or 1
    heads = ("strategy", "", "messages between nodes", "receptions wanted", "unwanted")
    yield _opened(heads)
    for row in list(once.values())[:MOST_SHOWN]:
        new, old = row["setting"] == grid["new"]["setting"], row["setting"] == grid["old"]["setting"]
        marks = [word for word, is_it in (("as recorded", old), ("advised", new)) if is_it]
        told = row["setting"] + (f" ({', '.join(marks)})" if marks else "")
        bar = _bar([(row["wanted"], "a"), (row["unwanted"], "c")], most)
        counts = (row["copies"], row["wanted"], row["unwanted"])
        kind = ' class="chosen"' if new else ""
        cells = "".join(f'<td class="n">{count:,}</td>' for count in counts)
        yield f'<tr{kind}><td>{page_text(told)}</td><td class="cell">{bar}</td>{cells}</tr>'
    yield "</tbody></table></div>"

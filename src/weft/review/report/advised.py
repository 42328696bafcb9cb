"""Advice, each with what it is predicted to gain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from weft.recorder.timeline import Table, html_table, page_text
from weft.review.advice.told import AdviceData, DomainsData, GridData, NoAdvice, OrderData, ScheduleData

MOST = 60


def advice_html(advice: AdviceData) -> Iterator[str]:
    if not advice:
        yield "<p>Advice was left out of this review (--no-advice).</p>"
        return
    yield (
        "<p><code>weft tune RUN</code> writes these as files that the runtime loads; <code>--replay</code> checks what they "
        "are predicted to gain.</p>"
    )
    grid, domains, schedule = advice.get("grid"), advice.get("domains"), advice.get("schedule")
    orders = advice.get("orders", [])
    yield from _section("grid", grid, _grid(grid or {}))
    yield from _section("domains", domains, _domains(domains or {}))
    yield from _section("schedule", schedule, _schedule(schedule or {}))
    if isinstance(orders, list):
        yield from _section("orders", {}, _orders(orders), True)
    else:
        yield from _section("orders", orders, iter(()))


def _section(name: str, told: NoAdvice | None, body: Iterator[str], there: bool = False) -> Iterator[str]:
    yield f'<section class="advice" aria-label="advice on {name}"><h3>{name}</h3>'
    if told and "none_because" in told:
        yield f"<p>None: {page_text(told['none_because'])}.</p>"
    elif told or there:
        yield from body
    else:
        yield "<p>None.</p>"
    yield "</section>"


def _gain(text: str) -> str:
    return f'<p class="gain">{page_text(text)}</p>'


def _less(old: float, new: float) -> str:
    return f"{(old - new) / old:.0%} less" if old and new < old else "nothing to gain"


def _grid(advice: GridData) -> Iterator[str]:
    old, new = advice["old"], advice["new"]
    yield _gain(
        f"{new['setting']}: {old['copies']:,} → {new['copies']:,} messages between nodes, "
        f"{old['unwanted']:,} → {new['unwanted']:,} unwanted receptions ({_less(old['received'], new['received'])})"
    )
    yield f"<p>Recorded with {page_text(old['setting'])}. File: <code>{page_text(advice['file'])}</code>.</p>"


def _domains(advice: DomainsData) -> Iterator[str]:
    costs = advice["costs"]
    yield _gain(
        f"cost of the recorded traffic {costs['old']:,} → {costs['new']:,} ({_less(costs['old'], costs['new'])})"
    )
    yield f"<p>{advice['messages']:,} messages and {advice['commands']:,} commands between {advice['servers']:,} servers.</p>"
    if advice.get("kept_because"):
        yield f"<p>As it was: {page_text(advice['kept_because'])}.</p>"
    else:
        members = tuple((name, ", ".join(those)) for name, those in list(advice["domains"].items())[:MOST])
        yield from html_table(Table("", ("domain", "servers"), members, 2, frozenset()))
    ready = ", ".join(f"{name} {costs[name]:,}" for name in ("flat", "bus", "daisy", "tree") if name in costs)
    yield f"<p>Ready-made topologies would cost: {page_text(ready)}.</p>"


def _schedule(advice: ScheduleData) -> Iterator[str]:
    late, planned = advice["late_as_recorded"], advice["late_as_planned"]
    missed = f"{advice['misses_recorded']:,} deadlines were missed; " if "misses_recorded" in advice else ""
    instead = (
        f"; use the dispatcher {advice['dispatcher']}, which interrupts" if advice.get("dispatcher") else ""
    )
    yield _gain(
        f"{missed}{late:,} operations could be late as recorded, {planned:,} as planned; "
        f"{advice['utilisation']:.0%} of a processor{instead}"
    )
    rows = tuple(
        (
            str(row["name"]), str(row["priority"]), "" if row["old_priority"] is None else str(row["old_priority"]),
            f"{1 / row['period_s']:.1f}" if row["period_s"] else "", f"{row['worst_s'] * 1e3:.3f}",
            _ms(row["response_s"]), _ms(row["old_response_s"]), f"{row['misses_recorded']:,}",
        )
        for row in advice["operations"][:MOST]
    )  # fmt: skip
    header = ("operation", "priority", "was", "Hz", "worst ms", "response ms", "was", "misses")
    yield from html_table(Table("", header, rows, 1, frozenset()))


def _ms(seconds: float | None) -> str:
    return "late" if seconds is None else f"{seconds * 1e3:.3f}"


def _orders(rows: Sequence[OrderData]) -> Iterator[str]:
    if not rows:
        yield "<p>Every class has receive order already.</p>"
        return
    saved = sum(row["saved_bytes"] for row in rows if row["could_use_RO"])
    could = sum(row["could_use_RO"] for row in rows)
    yield _gain(
        f"{could:,} of {len(rows):,} classes could use receive order, saving {saved:,} bytes of control"
    )
    told = tuple(
        (
            str(row["class"]), str(row["order"]), "could use RO" if row["could_use_RO"] else f"needs {row['order']}",
            "; ".join(f"{pair['cause']} before {pair['effect']}" for pair in row["pairs"][:3]),
            f"{row['messages']:,}", f"{row['control_bytes_per_message']:.1f}", f"{row['held']:,}", f"{row['held_ms']:.2f}",
        )
        for row in rows[:MOST]
    )  # fmt: skip
    header = ("class", "order", "advice", "because of", "messages", "control bytes each", "held", "ms each")
    yield from html_table(Table("", header, told, 4, frozenset()))

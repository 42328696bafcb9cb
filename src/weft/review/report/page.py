"""The report as one HTML file: no address of anything outside, a style for light and dark, inline SVG and a small script.

What is most important comes first: what is missing from the record, then verdicts, then violations.  All that comes from the
rows is escaped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from weft.recorder.timeline import SCRIPT as TIME_LINE_SCRIPT
from weft.recorder.timeline import (
    TIPS,
    Table,
    endings,
    extent,
    html_parts,
    html_table,
    lanes,
    page_style,
    page_text,
    picture,
)
from weft.recorder.timeline.page import html_document
from weft.review.advice.told import GridData
from weft.review.kernels.records import Violation
from weft.review.report import drawing
from weft.review.report.advised import advice_html
from weft.review.report.evidence import MOST_DRAWN, Evidence, ShownTraffic
from weft.review.report.texts import SCRIPT, STYLE
from weft.review.report.witness import draw

if TYPE_CHECKING:
    from weft.review.audits.context import Result
    from weft.review.review import Review

QUESTIONS = {
    "causal": "did anybody get an effect before its cause?",
    "time": "deliveries in time stamp order, none in the past; no grant too early",
    "interest": "did every message reach exactly those who had subscribed?",
    "delivery": "every reliable message exactly once",
    "deadlines": "was everything done in time?",
}
FEDERATES = ("federate", "source", "after_source", "by")
MOST_CONSUMERS = 100
MOST_SHOWN = 40  # classes, channels, strategies


def html_report(found: Review) -> str:
    evidence = found.evidence or Evidence()
    title = f"Review of {evidence.federation or Path(found.run).parent.name}, {Path(found.run).name}"
    time_line = list(_time_line(evidence))
    script = f"{TIME_LINE_SCRIPT if time_line else ''}{TIPS}{SCRIPT}"
    body = [
        *_summary(found, evidence),
        "<main>",
        *_violations(found, evidence),
        *_consumers(found),
        *(
            time_line
            or ['<h2 id="time-line">Time line</h2>', "<p>Nothing was pushed or dispatched in this run.</p>"]
        ),
        '<h2 id="traffic">Traffic</h2>',
        *_traffic(evidence),
        *_grid(found.advice.get("grid", {})),
        '<h2 id="advice">Advice</h2>',
        *advice_html(found.advice),
        "</main>",
        *_footer(found, evidence),
    ]
    return html_document(title, f"{page_style()}{STYLE}", body, script)


def counted(violations: int) -> str:
    return f"{violations:,} violation{'' if violations == 1 else 's'}"


# Summary


def _summary(found: Review, evidence: Evidence) -> Iterator[str]:
    if found.notes:
        yield '<ul class="note-list" role="note">'
        yield from (f"<li>{page_text(note)}</li>" for note in found.notes)
        yield "</ul>"
    verdict = f"{counted(found.violations)}." if found.violations else "Nothing is violated."
    if found.status == "inconclusive":
        verdict = (
            "Inconclusive: nothing is violated as far as can be told, but not everything could be judged."
        )
    yield f'<p class="{"sub bad" if found.status != "ok" else "sub"}">{verdict}</p>'
    federates = ", ".join(sorted(one.name or "?" for one in evidence.federates.values())[:30])
    more = f" and {len(evidence.federates) - 30} more" if len(evidence.federates) > 30 else ""
    facts = {
        "run": found.run,
        "recorded": evidence.started,
        "rows": f"{found.rows:,}, {found.dropped_rows:,} dropped when they were recorded",
        "nodes": ", ".join(evidence.nodes[:30]) + (" …" if len(evidence.nodes) > 30 else ""),
        "federates": federates + more,
        "reviewed": evidence.made,
    }
    yield '<dl class="facts">'
    yield from (f"<dt>{name}</dt><dd>{page_text(text)}</dd>" for name, text in facts.items() if text)
    yield "</dl>"
    yield '<ul class="cards">'
    for name, result in found.audits.items():
        yield f"<li>{_card(name, result)}</li>"
    for name, why in found.failures.items():
        yield (
            f'<li><a class="unsure" href="#violations"><b>{name}</b><span class="verdict">? failed</span>'
            f"<small>{page_text(why)}</small></a></li>"
        )
    yield "</ul>"
    yield '<nav aria-label="parts of the report">'
    for place, text in (
        ("violations", "Violations"),
        ("time-line", "Time line"),
        ("traffic", "Traffic"),
        ("advice", "Advice"),
    ):
        yield f'<a href="#{place}">{text}</a>'
    yield "</nav>"


def _card(name: str, result: Result) -> str:
    kind, verdict = "", "✓ ok"
    if result.violations:
        kind, verdict = "wrong", f"✕ {counted(result.violations)}"
    elif result.unsure:
        kind, verdict = "unsure", f"? {result.unsure:,} unsure"
    target = f"audit-{name}" if result.violations else "violations"
    unsure = f", {result.unsure:,} unsure" if result.unsure and result.violations else ""
    return (
        f'<a class="{kind}" href="#{target}"><b>{name}</b><span class="verdict">{verdict}{unsure}</span>'
        f"<small>{QUESTIONS.get(name, '')}</small></a>"
    )


# Violations


def _violations(found: Review, evidence: Evidence) -> Iterator[str]:
    yield '<h2 id="violations">Violations</h2>'
    wrong = {name: result for name, result in found.audits.items() if result.witnesses}
    if not found.violations:
        yield "<p>None was found.</p>"
        return
    if wrong:
        yield '<p class="legend" aria-label="colours of the diagrams">'
        yield from (f'<span class="key {tone}"><i></i>{text}</span>' for tone, text in drawing.LEGEND)
        yield "</p>"
        yield (
            '<p class="hint">□ sends, ○ gets (numbered in the order of delivery), △ is granted time. Time goes from left to '
            "right, in order and not to scale. A message has the name of its class and its number among all of its sender. "
            "Point at a mark, or choose a diagram and use the arrow keys.</p>"
        )
    for name, result in found.audits.items():
        if result.violations:
            yield from _audit(name, result, evidence)


def _audit(name: str, result: Result, evidence: Evidence) -> Iterator[str]:
    yield f'<section id="audit-{name}" aria-label="{name}"><h3>{name}: {counted(result.violations)}</h3>'
    diagrams = [
        draw(name, witness, evidence.near.get((name, number), ()), evidence.federates)
        for number, witness in enumerate(result.witnesses[:MOST_DRAWN])
    ]
    yield '<div class="scroll"><table class="found"><thead><tr><th>diagram</th><th>what</th><th>witness</th></tr></thead><tbody>'
    for number, witness in enumerate(result.witnesses):
        place = f"{name}-{number + 1}"
        drawn = number < len(diagrams)
        link = f'<a href="#{place}">{name} {number + 1}</a>' if drawn else f"{name} {number + 1}, not drawn"
        title = diagrams[number].title if drawn else str(witness.get("what", ""))
        yield f"<tr><td>{link}</td><td>{page_text(title)}</td><td>{page_text(_words(witness, evidence))}</td></tr>"
    yield "</tbody></table></div>"
    hidden = result.violations - len(result.witnesses)
    if hidden > 0:
        yield f"<p>… and {hidden:,} more, counted and not shown (--witnesses N shows more).</p>"
    for number, diagram in enumerate(diagrams):
        place = f"{name}-{number + 1}"
        opened = ' open="open"' if number == 0 else ""
        yield (
            f'<details class="witness" id="{place}"{opened}><summary id="{place}-title"><b>{name} {number + 1}</b> '
            f'{page_text(diagram.title)}</summary><div class="inside"><div class="scroll">'
        )
        if diagram.points:
            yield from drawing.SpaceTimePicture(diagram).lines(f"{place}-title")
        yield "</div>"
        yield from (f"<p>{page_text(note)}</p>" for note in diagram.notes)
        yield '<details><summary>the same in words</summary><ol class="words">'
        yield from (f"<li>{page_text(words)}</li>" for words in diagram.words)
        yield "</ol></details></div></details>"
    yield "</section>"


def _words(witness: Violation, evidence: Evidence) -> str:
    told = []
    for name, value in witness.items():
        known = evidence.federates.get(value) if name in FEDERATES and isinstance(value, int) else None
        told.append(f"{name} {value}{f' ({known.name})' if known is not None and known.name else ''}")
    return ", ".join(told)


# Deadlines and the time line


def _consumers(found: Review) -> Iterator[str]:
    result = found.audits.get("deadlines")
    consumers = result.figures.get("consumers", []) if result is not None else []
    if not consumers:
        return
    worst = sorted(consumers, key=lambda one: -one["misses"])[:MOST_CONSUMERS]
    rows, bad = [], set()
    for place, one in enumerate(worst):
        laxity = one["laxity_ms"] or {}
        figures = (
            "" if laxity.get(name) is None else f"{laxity[name]:,.3f}"
            for name in ("min", "p1", "p50", "p99", "max")
        )
        used = "" if one["utilisation"] is None else f"{one['utilisation']:.1%}"
        priority = "" if one["priority"] is None else str(one["priority"])
        counts = (f"{one['events']:,}", f"{one['misses']:,}")
        rows.append((str(one["name"] or ""), str(one["node"]), priority, *counts, *figures, used))
        if one["misses"]:
            bad.add((place, 4))
    header = (
        "consumer",
        "node",
        "priority",
        "events",
        "misses",
        "laxity ms: min",
        "1 %",
        "median",
        "99 %",
        "max",
        "used",
    )
    yield from html_table(Table("Consumers, over the whole run", header, tuple(rows), 2, frozenset(bad)))
    if len(consumers) > len(worst):
        yield f"<p>{len(consumers) - len(worst):,} more consumers with no more misses are not listed.</p>"


def _time_line(evidence: Evidence) -> Iterator[str]:
    found = lanes(evidence.time_line)
    whole = extent(found)
    if whole is None:
        return
    notes = [
        f"node {one.node} could not keep {one.dropped:,} rows"
        for one in endings(evidence.time_line)
        if one.dropped
    ]
    made = picture("Time line", found, whole, whole.begin, notes)
    yield '<section id="time-line" aria-label="time line"><h2>Time line of suppliers and consumers</h2>'
    yield from html_parts(made)
    yield "<ul>"
    yield from (f"<li>{page_text(note)}</li>" for note in made.notes)
    yield "</ul></section>"


# Traffic, as tables with bars


def _traffic(evidence: Evidence) -> Iterator[str]:
    if not evidence.classes:
        yield "<p>No message was sent.</p>"
        return
    yield "<h3>By class</h3>"
    yield '<p class="legend"><span class="key way"><i></i>sent</span><span class="key got"><i></i>delivered</span></p>'
    yield from _traffic_table("class", evidence.classes, True)
    if evidence.channels:
        yield "<h3>By channel of data distribution</h3>"
        yield from _traffic_table("channel", evidence.channels, False)


def _traffic_table(what: str, rows: Sequence[ShownTraffic], delivered: bool) -> Iterator[str]:
    """Deliveries are known of classes only."""
    shown = rows[:MOST_SHOWN]
    most = max((max(row.messages, row.deliveries) for row in shown), default=0) or 1
    more = ("delivered", "unwanted") if delivered else ()
    order = ("order",) if delivered else ()
    yield _bars_head((what, *order, "", "messages", *more, "bytes of values", "of control"))
    for row in shown:
        bars = _bar([(row.messages, "a")], most) + (_bar([(row.deliveries, "b")], most) if delivered else "")
        name = page_text(row.name) + (f"</td><td>{page_text(row.order)}" if delivered else "")
        got = (row.deliveries, row.filtered) if delivered else ()
        yield _bars_row("", name, bars, (row.messages, *got, row.payload, row.control))
    yield "</tbody></table></div>"
    if len(rows) > len(shown):
        yield f"<p>{len(rows) - len(shown):,} more with less traffic are not shown.</p>"


def _bars_head(heads: Sequence[str]) -> str:
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


def _bars_row(kind: str, name: str, bars: str, counts: Sequence[int]) -> str:
    cells = "".join(f'<td class="n">{count:,}</td>' for count in counts)
    return f'<tr{kind}><td>{name}</td><td class="cell">{bars}</td>{cells}</tr>'


def _grid(grid: GridData) -> Iterator[str]:
    """What the recorded messages would be under each strategy and size of the grid."""
    yield "<h3>By strategy and size of the grid</h3>"
    if "tried" not in grid:
        yield f"<p>Not known: {page_text(grid.get('none_because', 'advice was left out of this review'))}.</p>"
        return
    yield '<p class="legend"><span class="key way"><i></i>wanted</span><span class="key late"><i></i>unwanted</span></p>'
    once = {row["setting"]: row for row in [grid["old"], *grid["tried"]]}
    most = max((row["received"] for row in once.values()), default=0) or 1
    heads = ("strategy", "", "messages between nodes", "receptions wanted", "unwanted")
    yield _bars_head(heads)
    for row in list(once.values())[:MOST_SHOWN]:
        new, old = row["setting"] == grid["new"]["setting"], row["setting"] == grid["old"]["setting"]
        marks = [word for word, is_it in (("as recorded", old), ("advised", new)) if is_it]
        told = row["setting"] + (f" ({', '.join(marks)})" if marks else "")
        bar = _bar([(row["wanted"], "a"), (row["unwanted"], "c")], most)
        kind = ' class="chosen"' if new else ""
        yield _bars_row(kind, page_text(told), bar, (row["copies"], row["wanted"], row["unwanted"]))
    yield "</tbody></table></div>"


# The end


def _footer(found: Review, evidence: Evidence) -> Iterator[str]:
    yield "<footer>"
    if evidence.notes:
        yield "<p>What this report leaves out:</p><ul>"
        yield from (f"<li>{page_text(note)}</li>" for note in evidence.notes)
        yield "</ul>"
    took = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in found.seconds.items())
    yield f"<p>Made by <code>weft review</code>; the same for machines: <code>--json</code>. Took: {took or 'not measured'}.</p>"
    yield "</footer>"

"""Comparisons and trends as pages that stand alone, in the style of the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from weft.drawing import Chart, ChartPoint, Graphic, Series, line_chart, style, svg
from weft.recorder.timeline import TIPS, Table, html_table, page_style, page_text
from weft.recorder.timeline.page import html_document
from weft.review.compare.comparing import Comparison, RunDifference
from weft.review.compare.figures import Subject
from weft.review.compare.told import certainty, change, day_and_time, figure, side, verdict
from weft.review.compare.trending import ONCE, Trend, TrendEvent, TrendLine
from weft.review.report.texts import STYLE

MOST_CHARTS = 60
BESIDE = (
    "figure{display:inline-block;margin:10px 12px 10px 0}figure svg{width:590px;max-width:100%;height:auto}"
)


def comparison_page(found: Comparison) -> str:
    body = [
        f'<p class="{"sub bad" if found.worse else "sub"}">{page_text(verdict(found))}.</p>',
        *_notes(found.notes),
        '<dl class="facts">',
        *_facts({"before": side(found.before), "after": side(found.after), "compared by": found.by}),
        "</dl><main>",
        "<h2>What differs</h2>",
        *(_differences(found.differences) if found.differences else ["<p>Nothing, by more than noise.</p>"]),
        "</main>",
    ]
    return html_document(
        f"{', '.join(sorted({run.federation for run in found.after}))}: before and after",
        f"{page_style()}{STYLE}",
        body,
        TIPS,
    )


def _notes(notes: Sequence[str]) -> Iterator[str]:
    if notes:
        yield '<ul class="note-list" role="note">'
        yield from (f"<li>{page_text(note)}</li>" for note in notes)
        yield "</ul>"


def _facts(facts: dict[str, str]) -> Iterator[str]:
    yield from (f"<dt>{name}</dt><dd>{page_text(text)}</dd>" for name, text in facts.items())


def _differences(differences: Sequence[RunDifference]) -> Iterator[str]:
    rows = [
        (
            one.verdict,
            one.subject.kind,
            str(one.subject),
            figure(one.before, one.subject.unit),
            figure(one.after, one.subject.unit),
            _percent(one),
            one.why or certainty(one.contrast, one.subject.unit),
        )
        for one in differences
    ]
    heads = ("verdict", "kind", "what", "before", "after", "change", "how sure")
    yield from html_table(Table("", heads, tuple(rows), len(heads), frozenset()))


def trend_page(found: Trend) -> str:
    worse = f"{len(found.worse)} changes for the worse" if found.worse else "Nothing changes for the worse"
    told = {one.subject for one in found.events}
    lines = sorted(found.lines, key=lambda line: line.subject not in told)
    body = [
        f'<p class="{"sub bad" if found.worse else "sub"}">{worse}, in {len(found.runs)} runs.</p>',
        '<dl class="facts">',
        *_facts({"runs": side(found.runs), "figures": str(len(found.lines))}),
        "</dl><main>",
        "<h2>What changes</h2>",
        *(_events(found.events) if found.events else ["<p>Nothing, by more than noise.</p>"]),
        "<h2>Figures, run after run</h2>",
        *(
            _chart(line, [one for one in found.events if one.subject == line.subject])
            for line in lines[:MOST_CHARTS]
        ),
        *_left_out(len(lines) - MOST_CHARTS),
        "</main>",
    ]
    return html_document(f"{found.federation}: trend", f"{page_style()}{style()}{STYLE}{BESIDE}", body, TIPS)


def _left_out(many: int) -> Iterator[str]:
    if many > 0:
        yield f"<p>{many} more, in which nothing changes, are left out.</p>"


def _events(events: Sequence[TrendEvent]) -> Iterator[str]:
    rows = [
        (
            one.verdict,
            one.subject.kind,
            str(one.subject),
            change(one.before, one.after, one.subject.unit),
            "only in this run" if one.what == ONCE else "since this run",
            f"{day_and_time(one.run)}, {one.run.run}",
        )
        for one in events
    ]
    heads = ("verdict", "kind", "what", "change", "when", "run")
    yield from html_table(Table("", heads, tuple(rows), len(heads), frozenset()))


def _chart(line: TrendLine, events: Sequence[TrendEvent]) -> str:
    """Runs by their number, from the oldest."""
    places = {run.key: number for number, run in enumerate(line.runs, 1)}
    points = [ChartPoint(number, value, value, value) for number, value in enumerate(line.values.tolist(), 1)]
    marks = [points[places[one.run.key] - 1] for one in events]
    series = [Series(line.subject.measure, points)]
    if marks:
        series.append(Series("changes", marks, dashed=True))
    title = f"{line.subject.what}: {line.subject.measure}"
    made: Graphic = line_chart(Chart(title, "run", _axis(line.subject), series))
    return f"<figure><figcaption>{page_text(title)}</figcaption>{svg(made)}</figure>"


def _axis(subject: Subject) -> str:
    return subject.unit or subject.measure


def _percent(one: RunDifference) -> str:
    return f"{one.after / one.before - 1:+.0%}" if one.before else ""

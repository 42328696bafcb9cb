"""The page of `weft papers`: one file, without scripts, for light and dark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from weft.drawing import style, svg
from weft.model.json_types import JsonObject
from weft_benchmarks.papers.figures import Chapter, Claim, Figure, Table, picture_of

_STYLE = """
body{margin:0 auto;max-width:1180px;padding:0 20px 60px;font:16px/1.5 system-ui,sans-serif}
body{background:var(--back);color:var(--text)}
h1{margin:28px 0 4px}h2{margin:44px 0 4px;border-top:1px solid var(--grid);padding-top:26px}h3{margin:34px 0 6px}
a{color:var(--s0)}.muted,.note,figcaption{color:var(--muted)}nav a{margin-right:18px}
.figure{display:grid;grid-template-columns:minmax(0,660px) minmax(260px,1fr);gap:8px 30px;align-items:start}
@media (max-width:900px){.figure{grid-template-columns:minmax(0,1fr)}}
figure{margin:0}.wide{overflow-x:auto}
.claim{margin:0 0 14px;padding:2px 0 2px 14px;border-left:4px solid var(--frame)}
.claim.holds{border-color:var(--good)}.claim.fails{border-color:var(--bad)}
.claim p{margin:2px 0}.verdict{font-weight:600}.holds .verdict{color:var(--good)}.fails .verdict{color:var(--bad)}
table{border-collapse:collapse;font-size:14px;font-variant-numeric:tabular-nums}
th,td{padding:3px 12px 3px 0;text-align:right;border-bottom:1px solid var(--grid)}
th{color:var(--muted);font-weight:500}th:first-child,td:first-child{text-align:left}
dl{display:grid;grid-template-columns:max-content 1fr;gap:0 14px;font-size:14px}dt{color:var(--muted)}dd{margin:0}
"""


def page(chapters: Sequence[Chapter], machine: JsonObject) -> str:
    return "\n".join(_lines(chapters, machine))


def _lines(chapters: Sequence[Chapter], machine: JsonObject) -> Iterator[str]:
    yield '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width,initial-scale=1">'
    yield f"<title>Weft: the papers' figures</title><style>{style()}{_STYLE}</style></head><body>"
    claims = [claim for chapter in chapters for figure in chapter.figures for claim in figure.claims]
    held = sum(claim.holds is True for claim in claims)
    judged = sum(claim.holds is not None for claim in claims)
    yield "<h1>The papers' figures, run on Weft</h1>"
    yield f"<p>{held} of {judged} claims come out here as the papers make them. Whiskers: smallest and largest run.</p>"
    yield "<nav>" + "".join(
        f'<a href="#p{chapter.paper}">{chapter.paper}: {escape(chapter.title)}</a><br>'
        for chapter in chapters
    )
    yield "</nav>"
    yield _facts(machine)
    for chapter in chapters:
        yield f'<h2 id="p{chapter.paper}">{chapter.paper}: {escape(chapter.title)}</h2><p>{escape(chapter.about)}</p>'
        yield _facts(chapter.settings)
        for figure in chapter.figures:
            yield from _figure(figure)
    yield "</body></html>"


def _facts(facts: JsonObject) -> str:
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(str(value))}</dd>" for name, value in facts.items())
    return f"<dl>{rows}</dl>"


def _figure(figure: Figure) -> Iterator[str]:
    number = f"{escape(figure.number)}: " if figure.number else "Beyond the paper: "
    yield f'<h3>{number}{escape(figure.title)}</h3><div class="figure"><div>'
    for shown in figure.shows:
        if isinstance(shown, Table):
            yield f'<div class="wide">{_table(shown)}</div>'
        else:
            picture = picture_of(shown)
            yield f'<figure class="wide">{svg(picture)}<figcaption>{escape(picture.title)}</figcaption></figure>'
    yield "</div><div>"
    for claim in figure.claims:
        yield _claim(claim)
    if figure.printed is not None:
        yield f'<p class="muted">Printed in the paper:</p><div class="wide">{_table(figure.printed)}</div>'
    for note in figure.notes:
        yield f'<p class="note">{escape(note)}</p>'
    yield "</div></div>"


def _claim(claim: Claim) -> str:
    kind, verdict = {
        True: ("holds", "Comes out here"),
        False: ("fails", "Does not come out here"),
        None: ("open", "Not judged"),
    }[claim.holds]
    return (
        f'<div class="claim {kind}"><p>The paper: {escape(claim.says)}</p>'
        f'<p><span class="verdict">{verdict}:</span> {escape(claim.because)}</p></div>'
    )


def _table(table: Table) -> str:
    heads = "".join(f"<th>{escape(head)}</th>" for head in table.heads)
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows
    )
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"

"""Rows at random: everything may be missing, come twice or contradict."""

from __future__ import annotations

from hypothesis import strategies as st

from weft.recorder.timeline import Row

_KINDS = ("push", "dispatch", "dispatch", "dispatch", "done", "done", "done", "miss", "overrun", "drop")


@st.composite
def random_rows(draw: st.DrawFn) -> list[Row]:
    row = st.tuples(
        st.sampled_from(_KINDS),
        st.integers(0, 30),
        st.sampled_from(["consumer", "<b>&\"'", "\x01"]),
        st.sampled_from(["", "elsewhere"]),
        st.sampled_from(["", "fuse", "log"]),
        st.sampled_from([None, 0, 3]),
        st.one_of(st.none(), st.integers(1, 40)),
    )
    drawn = draw(st.lists(row, min_size=1, max_size=25))
    return [
        Row(kind, at, name, node, number, operation, priority, 0, deadline)
        for number, (kind, at, name, node, operation, priority, deadline) in enumerate(drawn, 1)
    ]


def run_of(name: str, begin: int, end: int | None, deadline: int | None, priority: int = 0) -> list[Row]:
    """The rows of one activation; without an end, only its dispatch."""
    rows = [Row("dispatch", begin, name, priority=priority, deadline_ns=deadline)]
    if end is not None:
        rows.append(Row("done", end, name, priority=priority, deadline_ns=deadline))
        if deadline is not None and end > deadline:
            rows.append(Row("miss", end, name, priority=priority, deadline_ns=deadline))
    return rows

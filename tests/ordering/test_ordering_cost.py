"""The cost of causal order is what docs/explanation/ordering.md says, and near what the algorithm's description found (S0-17)."""

from __future__ import annotations

from pathlib import Path

import pytest

from ordering.cost import cost, table

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "ordering.md"


@pytest.mark.parametrize(
    "pattern, found",
    [("unicast", 4.6), ("groups of three", 9.0), ("publish and subscribe", 10.3), ("broadcast", 12.3)],
)
def test_pairs_in_a_tag_of_eight_processes(pattern: str, found: float) -> None:
    """Of 64 that a full matrix has.  The patterns are ours in detail, so near is enough."""
    assert 0.6 * found < cost(8, pattern).pairs < 1.5 * found


def test_a_broadcast_for_one_recipient_is_small() -> None:
    """1.8 pairs instead of 12.3."""
    assert 1.2 < cost(8, "broadcast").pairs_each < 2.6


def test_the_table_of_eight_is_that_of_the_document() -> None:
    assert table((8,)) in DOCUMENT.read_text()


@pytest.mark.soak
def test_the_whole_table_is_that_of_the_document() -> None:
    assert table((8, 32)) in DOCUMENT.read_text()

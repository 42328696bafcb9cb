"""What causal order costs: pairs and bytes of tags for sizes of federation and patterns of destinations.

Every process sends once in a unit of time on average; delays are a tenth of that, with a heavy tail.  The first third of each run
is left out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ordering.network import PATTERNS, Network
from weft.ordering import Mses, Tag, encode_tag


class Cost(NamedTuple):
    """Means: of pairs in a tag for all, and for one recipient; of bytes the same."""

    pairs: float
    pairs_each: float
    bytes: float
    bytes_each: float


def steady(size: int, pattern: str, mses: Any = Mses, each: int = 60) -> Network:
    return Network(
        1,
        size,
        pattern,
        size * each,
        mses=mses,
        plain=False,
        rows=False,
        delay=0.1,
        tail=1.5,
        reply=0.0,
        wire=False,
    ).run()


def settled_tags(network: Network) -> list[Tag]:
    return [tag for tag, _ in network.tags[len(network.tags) // 3 :]]


def pairs(tag: Tag) -> int:
    """How many it carries to all."""
    return sum(map(len, tag.rows)) // 2


def mean_pairs(network: Network) -> float:
    tags = settled_tags(network)
    return sum(map(pairs, tags)) / len(tags)


def cost(size: int, pattern: str, each: int = 60) -> Cost:
    network = steady(size, pattern, each=each)
    assert network.faults == []
    tags = settled_tags(network)
    recipients = [(tag, to) for tag in tags for to in tag.destinations]
    some = recipients[:: max(1, len(recipients) // 2000)]
    return Cost(
        mean_pairs(network),
        sum(tag.pairs_for([[to]]) for tag, to in some) / len(some),
        sum(len(encode_tag(tag)) for tag in tags) / len(tags),
        sum(len(encode_tag(tag, to)) for tag, to in some) / len(some),
    )


def table(sizes: tuple[int, ...]) -> str:
    """As in docs/explanation/ordering.md."""
    lines = []
    for size in sizes:
        for pattern in PATTERNS[:4]:
            found = cost(size, pattern, each=60 if size < 30 else 20)
            pairs, size_in_bytes = (
                f"{found.pairs:.1f} | {found.pairs_each:.1f}",
                f"{found.bytes:.0f} | {found.bytes_each:.0f}",
            )
            lines.append(f"| {size} | {pattern} | {pairs} | {size_in_bytes} |")
    return "\n".join(lines)

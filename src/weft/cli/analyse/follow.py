"""`weft review RUN --follow`: what is found, a line each, as it comes."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from weft.cli.analyse.review import witness_text

if TYPE_CHECKING:
    from weft.review import Review


def followed(arguments: argparse.Namespace, say: Callable[[str], None], whole: dict[str, bool]) -> Review:
    """`whole`: what the review at the end is to have."""
    from weft.review import follow

    def tell(findings: Sequence[Mapping[str, object]]) -> None:
        if sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        lines = as_json(findings) if arguments.json else as_lines(findings, arguments.witnesses)
        print("\n".join(lines), flush=True)

    return follow(arguments.run, arguments.master, say, tell, arguments.witnesses, arguments.orders, **whole)


def as_json(findings: Sequence[Mapping[str, object]]) -> list[str]:
    return [json.dumps(finding) for finding in findings]


def as_lines(findings: Sequence[Mapping[str, object]], most: int) -> list[str]:
    """Of each audit at most so many at once, and how many more there are."""
    now = time.strftime("%H:%M:%S")
    lines = []
    for audit in dict.fromkeys(finding["audit"] for finding in findings):
        mine = [finding for finding in findings if finding["audit"] == audit]
        for finding in mine[:most]:
            told = {name: value for name, value in finding.items() if name != "audit"}
            lines.append(f"{now} {audit:<10} {witness_text(told)}")
        if len(mine) > most:
            lines.append(f"{now} {audit:<10} … and {len(mine) - most:,} more")
    return lines

"""The parts of `weft bench`, a module each: flags, and tables of what was measured."""

from __future__ import annotations

import argparse

from weft_benchmarks.commands import (
    channel,
    console,
    crowd,
    ddm,
    domains,
    embedded,
    fedpro,
    mesh,
    orders,
    record,
    review,
    stopped,
    tso,
)


def register(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the benchmarks, in the order of the help."""
    kinds_of = (
        embedded,
        fedpro,
        ddm,
        channel,
        console,
        stopped,
        crowd,
        domains,
        mesh,
        orders,
        record,
        review,
        tso,
    )
    for one in kinds_of:
        one.register(kinds)

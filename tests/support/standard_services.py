"""The standard's services as facts: the tables in `tests/data/services`, one for each service group (clauses 4 to 10)."""

from __future__ import annotations

import csv
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

DATA = Path(__file__).parents[1] / "data"
SERVICES = DATA / "services"
_ACRONYMS = {"MIM": "Mim", "GALT": "Galt", "LITS": "Lits", "HLAv": "HlaV", "DDM": "Ddm", "RTI": "Rti"}


class Service(NamedTuple):
    """One form of a service: a service with several forms has several rows."""

    clause: str
    callback: bool
    name: str
    parameters: tuple[tuple[str, str], ...]  # name, type
    result: str  # empty: none
    exceptions: frozenset[str]


@cache
def standard(part: str) -> tuple[Service, ...]:
    """The `services` or the `callbacks`, in the order of their clauses."""
    return tuple(
        service
        for path in sorted(SERVICES.glob("*.csv"))
        for service in _table(path)
        if service.callback == (part == "callbacks")
    )


def _table(path: Path) -> list[Service]:
    with path.open(newline="") as rows:
        return [
            Service(
                row["clause"],
                {"call": False, "callback": True}[row["kind"]],
                row["name"],
                tuple(_pair(one) for one in row["parameters"].split()),
                row["result"],
                frozenset(row["exceptions"].split()),
            )
            for row in csv.DictReader(rows, strict=True)
        ]


def _pair(text: str) -> tuple[str, str]:
    name, _, kind = text.partition(":")
    return name, kind


def snake(name: str) -> str:
    for acronym, plain in _ACRONYMS.items():
        name = name.replace(acronym, plain)
    return re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()

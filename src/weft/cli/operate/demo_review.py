"""The end of `weft demo`: a review of the flights that it has just recorded, with a report for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from weft.cli.analyse.review import write_report
from weft.cli.analyse.run_reviews import keep_result
from weft.cli.arguments import say
from weft.cli.operate.demo_nodes import ORDERS
from weft.console import runs
from weft.model.errors import WeftError

if TYPE_CHECKING:
    from weft.review import Review

REPORT = f"{runs.FOLDER}/{runs.REPORT}"  # where the console looks for it, too
LATER = "weft review {folder} --html {report}"


def review_flights(folders: Mapping[str, Path], tell: Callable[[str], None] = print) -> int:
    """0 if receive order has what was planted and causal order has nothing; where Spark does not run, that is said, and 0."""
    tell("\nWas it right?  A review of both flights, on Spark; to start it takes about ten seconds.")
    try:
        found = _reviewed(folders)
    except WeftError as error:
        tell(f"The review did not run: {error}")
        tell("All else is well, and what was recorded stays.  When that is mended:")
        for folder in folders.values():
            tell(f"    {LATER.format(folder=folder, report=folder / REPORT)}")
        return 0
    right = True
    for order, one in found.items():
        for line in _lines(order, one):
            tell(line)
        right &= _as_planted(order, one)
    if not right:
        tell("That is not what this demo was made to show: please report it, with the folders of both runs.")
    tell("\nThe reports, with a picture of every violation; open them in a browser:")
    for order, folder in folders.items():
        tell(f"    {_title(order)}: {folder / REPORT}")
    return 0 if right else 1


def _reviewed(folders: Mapping[str, Path]) -> dict[str, Review]:
    """All in one session; reports are written beside the rows."""
    from weft.review import review
    from weft.review.spark import session as sessions

    say("starting Spark")
    found = {}
    with sessions.spark_session(sessions.Profile()) as spark:
        for order, folder in folders.items():
            say(f"{_title(order)}:\n")
            found[order] = review(folder, say=say, session=spark, evidence=True)
            keep_result(folder, found[order].as_data())
            write_report(folder / REPORT, found[order])
    return found


def _title(order: str) -> str:
    return f"{ORDERS[order].lower()} order"


def _lines(order: str, one: Review) -> list[str]:
    causal = one.audits["causal"]
    others = [
        f"{name} {result.violations}"
        for name, result in one.audits.items()
        if name != "causal" and result.violations
    ]
    rest = f"; other audits: {', '.join(others)}" if others else "; the other audits find nothing"
    if not causal.violations:
        return [f"{_title(order).capitalize()}: the causal audit finds no violation{rest}."]
    lines = [f"{_title(order).capitalize()}: the causal audit finds {causal.violations} violations{rest}."]
    federates = one.evidence.federates if one.evidence is not None else {}
    names = {number: federate.name for number, federate in federates.items()}
    return lines + [f"    {_witness(witness, names)}" for witness in causal.witnesses[:3]]


def _witness(witness: Mapping[str, object], names: Mapping[int, str]) -> str:
    def who(name: str) -> str:
        number = witness[name]
        return (names.get(number) if isinstance(number, int) else None) or f"federate {witness[name]}"

    late, other = (str(witness.get(name, "message")).rpartition(".")[2] for name in ("class", "after_class"))
    return (
        f"{who('federate')} got {other} (message {witness['after']} of {who('after_source')}) before "
        f"{late} (message {witness['message']} of {who('source')}), which had led to it"
    )


def _as_planted(order: str, one: Review) -> bool:
    """Receive order lets the observer see hits before shots, and nothing else is wrong; causal order does not."""
    planted = order == "RO"
    return (
        bool(one.audits["causal"].violations) == planted and one.violations == one.audits["causal"].violations
    )

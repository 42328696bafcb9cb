"""The examples at the end of every `--help`: two or more for each command, all of which work (a test runs them).

They speak of files that a person has: `harbour.xml` (docs/tutorials/federate.md), `my.fed`, `my.rid`, a federation file
`harbour.toml` (docs/how-to/run-file.md), a `domains.toml` of `weft domains plan`, an `operations.toml`
(docs/explanation/channel.md) and the `schedule.toml` that `weft schedule plan` makes of it, recorded runs below `runs`, and a
server at the usual port.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

QUICK: Final = "quick"
SERVES: Final = "serves"
"""Runs until somebody stops it."""
LIVE: Final = "live"
"""Asks a running server."""
STEERS: Final = "steers"
"""Steers the federation Range of a running server."""
ATTACHES: Final = "attaches"
"""Asks a running server until somebody stops it."""
LONG: Final = "long"
"""Takes more than a second or two, or needs Spark: in the long tests."""
MEASURES: Final = "measures"
"""A benchmark of minutes: the long tests see it begin, and stop it."""


@dataclass(frozen=True)
class Example:
    command: str
    kind: str = QUICK


def _examples(*commands: str, kind: str = QUICK) -> tuple[Example, ...]:
    return tuple(Example(command, kind) for command in commands)


def _bench(name: str, whole: str, short: str) -> tuple[Example, ...]:
    return (
        Example(f"weft bench {name} {whole}".strip(), MEASURES),
        Example(f"weft bench {name} {short}", LONG),
    )


_LAST = '"$(weft runs --last)"'
_BUS = "weft domains plan --servers 16 --topology bus"

EXAMPLES: Final[dict[str, tuple[Example, ...]]] = {
    "weft": (Example("weft doctor"), Example("weft demo", LONG), Example("weft serve", SERVES)),
    "weft demo": (Example("weft demo", LONG), Example("weft demo --steps 20 --step-ms 1 --no-review")),
    "weft serve": _examples("weft serve", "weft serve --host 127.0.0.1 --log json --no-record", kind=SERVES),
    "weft run": _examples(
        "weft run domains.toml --seconds 5",
        "weft run domains.toml --plain --no-journal --no-record --seconds 2",
        "weft run domains.toml --log json --seconds 2 2> nodes.jsonl",
        kind=LONG,
    )
    + _examples("weft run harbour.toml --check"),
    "weft runs": _examples("weft runs", "weft runs runs --json"),
    "weft runs upload": _examples("weft runs upload runs copies", f"weft runs upload {_LAST} copies"),
    "weft runs compact": _examples("weft runs compact runs", f"weft runs compact {_LAST}"),
    "weft export": _examples(
        f"weft export {_LAST}", f"weft export {_LAST} --out tables", "weft export runs --out all"
    ),
    "weft review": _examples(
        f"weft review {_LAST}",
        f"weft review {_LAST} --html review.html --no-advice",
        "weft review runs",
        "weft review runs --json --lake results",
        kind=LONG,
    ),
    "weft sql": (
        Example("weft sql"),
        Example('weft sql "select * from worst_latency order by p99_ms desc limit 10"', LONG),
        Example('weft sql "select run, status from run" --json', LONG),
    ),
    "weft compare": _examples(
        "weft compare Range/first:1 Range/last:1",
        "weft compare Range/first:1 Range/last:1 --percent 20 --html compare.html --fail-on never",
        kind=LONG,
    ),
    "weft trend": _examples("weft trend Range/last:100", "weft trend Range --html trend.html --fail-on never", kind=LONG),
    "weft lake": _examples("weft lake compact", "weft lake compact --grace 5", kind=LONG),
    "weft lake compact": _examples("weft lake compact", "weft lake compact --grace 5", kind=LONG),
    "weft tune": _examples(
        f"weft tune {_LAST}",
        f"weft tune {_LAST} --out tuned --force --replay",
        "weft tune runs --out tuned --by worst",
        kind=LONG,
    ),
    "weft package": _examples(
        "weft package", "weft package --follow --out following.tar.gz", kind=LONG
    ),
    "weft journal": _examples(
        "weft journal runs/journal/S1.journal", "weft journal runs/journal/S1.journal --json"
    ),
    "weft passwd": _examples(
        "echo secret | weft passwd alice", "echo secret | weft passwd bob >> users.toml"
    ),
    "weft domains": _examples(f"{_BUS} -o domains.toml", "weft domains check domains.toml"),
    "weft domains check": _examples("weft domains check domains.toml", f"{_BUS} | weft domains check -"),
    "weft domains route": _examples(
        "weft domains route domains.toml S2 S7", "weft domains route domains.toml S2 S7 --json"
    ),
    "weft domains plan": _examples(
        f"{_BUS} --out domains.toml",
        "weft domains plan --servers 31 --topology tree --domain-size 4",
        "weft domains plan --traffic traffic.csv --latency latency.csv --out domains.toml",
    ),
    "weft domains draw": _examples(
        "weft domains draw domains.toml --out domains.svg", f"{_BUS} | weft domains draw - > bus.svg"
    ),
    "weft domains cost": _examples("weft domains cost domains.toml", f"{_BUS} | weft domains cost - --json"),
    "weft ddm": _examples(
        "weft ddm map --fed my.fed --rid my.rid", "weft ddm lint --fed my.fed --rid my.rid"
    ),
    "weft ddm map": _examples(
        "weft ddm map --fed my.fed --rid my.rid --region 'R=Ground:x=0..0xff,y=0..9;x=0x80000000..0x90000000'",
        "weft ddm map --fom a.xml --fom b.xml --region 'R=X+Y:X=0..100' --json",
    ),
    "weft ddm draw": _examples(
        "weft ddm draw my.fed my.rid --region 'R=Ground:x=0..0xff,y=0..9' --out ddm.svg",
        "weft ddm draw --example 2 --strategy all --out figure-2.html",
    ),
    "weft ddm compare": (
        Example("weft ddm compare --simulated --grid 2,4 --steps 5"),
        Example("weft ddm compare --workload moving --best-effort UDPmulticast --federates 3 --json", LONG),
    ),
    "weft ddm match": _examples(
        "weft ddm match updates.csv subscriptions.csv",
        "weft ddm match updates.parquet subscriptions.parquet --closed --out pairs.parquet",
    )
    + _examples(
        "weft ddm match updates.parquet subscriptions.parquet --out pairs --master 'local[2]'", kind=LONG
    ),
    "weft ddm lint": _examples("weft ddm lint --fed my.fed", "weft ddm lint --fom my.xml --rid my.rid --json"),
    "weft schedule": _examples(
        "weft schedule plan operations.toml -o schedule.toml", "weft schedule check schedule.toml"
    ),
    "weft schedule plan": _examples(
        "weft schedule plan operations.toml --out schedule.toml",
        "weft schedule plan operations.toml --policy maximum-urgency-first --dispatcher one-thread",
    ),
    "weft schedule check": _examples(
        "weft schedule check schedule.toml", "weft schedule check operations.toml --dispatcher preemptive --json"
    ),
    "weft schedule graph": _examples(
        "weft schedule graph schedule.toml", "weft schedule graph operations.toml --out graph.html"
    ),
    "weft schedule explain": _examples(
        "weft schedule explain schedule.toml fuse", "weft schedule explain operations.toml log --json"
    ),
    "weft fom": _examples("weft fom check harbour.xml", "weft fom show Tug harbour.xml"),
    "weft fom check": _examples("weft fom check harbour.xml", "weft fom check harbour.xml --mim --json"),
    "weft fom merge": _examples(
        "weft fom merge a.xml b.xml -o merged.xml", "weft fom merge harbour.xml --mim --out whole.xml"
    ),
    "weft fom show": _examples("weft fom show Tug harbour.xml", "weft fom show HLAinteractionRoot.Warning harbour.xml"),
    "weft fom write": _examples(
        "weft fom write ships.py --out ships.xml", "weft fom write ships --name Harbour"
    ),
    "weft fom gen": _examples(
        "weft fom gen harbour.xml", "weft fom gen harbour.xml --module harbour --out harbour.py"
    ),
    "weft services": _examples("weft services", "weft services --json"),
    "weft errors": _examples("weft errors NameNotFound", "weft errors retract"),
    "weft prove": (
        Example("weft prove --seeds 2 --calls 40 --world server"),
        Example("weft prove --seeds 20 --fom harbour.xml", LONG),
        Example("weft prove 127.0.0.1:15164 --seeds 1 --calls 30", LIVE),
    ),
    "weft status": _examples(
        "weft status", "weft status 127.0.0.1:15164 localhost:15164 --check --patience 30", kind=LIVE
    ),
    "weft top": _examples("weft top", "weft top 127.0.0.1:15164 localhost:15164", kind=LIVE),
    "weft steer": _examples(
        "weft steer pause Range", "weft steer step Range 10", "weft steer resume Range", kind=STEERS
    ),
    "weft console": _examples(
        "weft console 127.0.0.1:15164", "weft console localhost --runs runs", kind=ATTACHES
    ),
    "weft timeline": _examples(
        f"weft timeline {_LAST}", f"weft timeline {_LAST} --from 0 --to 2 --json --out part.html"
    ),
    "weft papers": (Example("weft papers", MEASURES), Example("weft papers 000 --quick", MEASURES)),
    "weft bench": (
        Example("weft bench embedded", MEASURES), Example("weft bench fedpro --repeats 1", MEASURES)
    ),
    "weft bench embedded": _bench("embedded", "", "--repeats 1 --no-objects --json"),
    "weft bench fedpro": _bench("fedpro", "", "--repeats 1 --json"),
    "weft bench ddm": _bench("ddm", "--part moves", "--part matching --boxes 10000 --repeats 1"),
    "weft bench channel": _bench("channel", "--part periodic", "--part push --repeats 1 --json"),
    "weft bench console": _bench("console", "", "--repeats 1 --json"),
    "weft bench crowd": _bench("crowd", "--federates 1000 --record", "--federates 10 --no-pure --json"),
    "weft bench domains": _bench(
        "domains", "--servers 16 --simulated 144", "--servers 0 --simulated 64 --repeats 1"
    ),
    "weft bench mesh": _bench("mesh", "", "--repeats 1 --json"),
    "weft bench orders": _bench(
        "orders", "--federates 2 --repeats 1", "--federates 2 --steps 50 --step-ms 1 --repeats 1"
    ),
    "weft bench record": _bench("record", "--repeats 1", "--no-pure --repeats 1 --json"),
    "weft bench review": _bench("review", "--rows 100000", "--rows 10000 --no-skew --no-duckdb --json"),
    "weft bench stopped": _bench("stopped", "", "--no-pure --federates 1 --repeats 1 --json"),
    "weft bench tso": _bench("tso", "--no-growth", "--federates 2 --steps 100 --no-growth --repeats 1"),
    "weft doctor": _examples("weft doctor", "weft doctor --json"),
    "weft completion": _examples("weft completion bash", "weft completion zsh > _weft"),
}  # fmt: skip


class HelpFormatter(argparse.HelpFormatter):
    """Text of several lines stays as it is, so that examples can be copied; one line is wrapped as usual."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if "\n" in text:
            return "".join(indent + line for line in text.splitlines(keepends=True))
        return super()._fill_text(text, width, indent)


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The parser and all below it."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from parsers(below)


def add_examples(parser: argparse.ArgumentParser) -> None:
    for one in parsers(parser):
        one.formatter_class = HelpFormatter
        shown = EXAMPLES.get(one.prog, ())
        if shown:
            one.epilog = "\n".join(["examples:", *(f"  {example.command}" for example in shown)])

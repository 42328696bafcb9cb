"""Issue 21, 2: the data is looked at before it is judged: corrupt files, checksums, counts, clocks."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from review.simulation import Simulation, number, write
from support.manifests import list_anew
from weft.host.recording.manifest import FOLDER
from weft.host.recording.row_files import RowFile, read_rows
from weft.host.storage import place_of
from weft.recorder import VERSION
from weft.review import Review, judge
from weft.review.audits.context import Context
from weft.review.audits.survey import clock_samples
from weft.review.quality import CLOCK, FIGURE, GAP, WRONG, Doubt, clocks
from weft.review.review import run_audits, verify
from weft.review.spark import checking
from weft.review.spark.reading import open_for_review
from weft.review.spark.tasks import RunPart

SECOND = 10**9


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Some hundred small files of two nodes."""
    rows = number(Simulation(3, steps=400).rows)
    return list_anew(write(tmp_path / "run", rows, rows_per_file=6))


def reviewed(run: Path, checksums: bool = False) -> Review:
    context = Context(None, open_for_review(run), None)
    if checksums:
        verify(context, lambda text: None)
    return run_audits(context, lambda text: None)


def spoilt(path: Path, column: str) -> None:
    """A byte of a page of that column is another one; the footer is whole."""
    metadata = pq.read_metadata(path)
    names = [metadata.schema.column(place).path.partition(".")[0] for place in range(metadata.num_columns)]
    chunk = metadata.row_group(0).column(names.index(column))
    data = bytearray(path.read_bytes())
    begin = chunk.dictionary_page_offset or chunk.data_page_offset
    for at in range(begin, begin + chunk.total_compressed_size):
        data[at] ^= 0x5A
    path.write_bytes(bytes(data))


@pytest.mark.parametrize("column", ["kind", "items"])
def test_all_corrupt_files_are_found_by_one_pass(
    run: Path, monkeypatch: pytest.MonkeyPatch, column: str
) -> None:
    """Fifty of them, in a column that the survey reads or in one that only an audit does: all are named, none is judged."""
    bad = sorted((run / "rows").glob("*/*.parquet"))[3:53]
    assert len(bad) == 50
    for path in bad:
        spoilt(path, column)
    passes = []
    whole = checking.unreadable

    def counted(session: None, parts: list[RunPart]) -> list[checking.BadFile]:
        passes.append(1)
        return whole(session, parts)

    monkeypatch.setattr(checking, "unreadable", counted)
    found = reviewed(run)
    assert passes == [1]
    told = {doubt.subject for doubt in found.doubts if doubt.check == "corrupt file"}
    assert told == {str(path) for path in bad}
    assert found.violations == 0
    assert found.status == "inconclusive"


def test_pages_are_held_against_their_checksums(tmp_path: Path) -> None:
    """A byte of a page that is not compressed: all would be read, and one value would be wrong."""
    path = tmp_path / "1-000001.parquet"
    table = pa.table({"seq": pa.array(range(1, 1000), pa.int64())})
    pq.write_table(table, path, compression="none", use_dictionary=False, write_page_checksum=True)
    data = bytearray(path.read_bytes())
    data[data.index((500).to_bytes(8, "little"))] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(OSError, match="CRC"):
        read_rows(RowFile(place_of(path), "A", 999, VERSION), ["seq"])


def test_checksums_name_files_whose_bytes_are_others(run: Path) -> None:
    """`--verify`: also where all can be read; what hangs on the node is unsure.  Without it nobody notices."""
    path = sorted((run / "rows").glob("*/*.parquet"))[5]
    data = path.read_bytes()
    assert data.count(b"parquet-cpp-arrow") == 1
    path.write_bytes(data.replace(b"parquet-cpp-arrow", b"parquet-cpp-ARROW"))
    assert not [doubt for doubt in reviewed(run).doubts if doubt.severity != FIGURE]
    (doubt,) = [one for one in reviewed(run, checksums=True).doubts if one.severity != FIGURE]
    assert (doubt.check, doubt.subject, doubt.severity) == ("checksum", str(path), WRONG)
    assert doubt.nodes == {"node 0"}
    assert str(path) in doubt.text


def test_checksums_of_a_whole_run_agree(run: Path) -> None:
    assert reviewed(run, checksums=True).doubts == reviewed(run).doubts


def test_what_a_process_counted_at_its_end_must_agree(run: Path) -> None:
    """A line of a manifest is gone: its file is found, and looked into, and that is said."""
    path = sorted((run / FOLDER).iterdir())[0]
    lines = path.read_text().splitlines()
    gone = json.loads(lines.pop(4))
    path.write_text("\n".join(lines) + "\n")
    found = reviewed(run)
    by_check = {doubt.check: doubt for doubt in found.doubts if doubt.severity != FIGURE}
    assert set(by_check) == {"counts", "unlisted file"}
    assert by_check["counts"].severity == GAP
    figures = dict(by_check["counts"].figures)
    assert figures["rows_told"] - figures["rows"] == gone["rows"]
    assert by_check["unlisted file"].subject == str(run / gone["file"])
    assert found.rows == figures["rows_told"] + sum(
        line["rows"]
        for line in map(json.loads, sorted((run / FOLDER).iterdir())[1].read_text().splitlines()[1:-1])
    )


def test_a_process_that_did_not_end_in_order_is_named(run: Path) -> None:
    """An earlier one, of which its node's description says no more; it is no gap."""
    list_anew(run, closed=False)
    (verdict,) = judge([run])
    assert sum("did not end in order, says its manifest" in note for note in verdict.notes) == 2
    assert not verdict.findings


def test_what_was_found_is_data(run: Path) -> None:
    """For tables: check, subject, severity, text, nodes, figures."""
    sorted((run / "rows").glob("*/*.parquet"))[7].unlink()
    told = json.loads(json.dumps(reviewed(run).as_data()))["data"]
    (missing,) = [row for row in told if row["severity"] == GAP]
    assert (missing["check"], missing["nodes"], missing["figures"]) == ("missing file", ["node 0"], {})
    assert all(set(row) == set(missing) for row in told)


# Clocks


@dataclass
class Node:
    node: str
    sent_at: dict[str, int]
    arrived_at: dict[str, int]


def exchanged(chance: random.Random, offset: int, drift: float, slow: int) -> list[Node]:
    """Messages both ways in a minute between A, whose clock is right, and B, whose clock is ahead by so much and gains."""
    a, b = Node("A", {}, {}), Node("B", {}, {})
    for message in range(400):
        at = chance.randrange(60 * SECOND)
        there = at + chance.randrange(slow)

        def seen(when: int, of: Node) -> int:
            return when if of is a else when + offset + int(drift * when)

        sender, receiver = (a, b) if message % 2 else (b, a)
        sender.sent_at[str(message)] = seen(at, sender)
        receiver.arrived_at[str(message)] = seen(there, receiver)
    return [a, b]


def of(doubts: list[Doubt], check: str) -> Doubt | None:
    return next((doubt for doubt in doubts if doubt.check == check), None)


@pytest.mark.parametrize("seed", range(30))
def test_a_clock_is_as_far_off_as_the_width_says(seed: int) -> None:
    """Whatever it takes a message to arrive: the true offset lies within half the width of what is found."""
    chance = random.Random(seed)
    offset = chance.choice([0, chance.randrange(-5 * SECOND, 5 * SECOND)])
    shifts, doubts = clocks(exchanged(chance, offset, 0.0, chance.choice([1000, SECOND // 10])), "A")
    told = of(doubts, "clock")
    assert told is not None
    figures = dict(told.figures)
    assert abs(figures["ahead_ns"] - offset) <= figures["width_ns"] / 2 + 1
    assert of(doubts, "clock drift") is None
    assert (told.severity == CLOCK) == bool(shifts)
    if shifts:
        assert shifts == {"B": -figures["ahead_ns"]}
        assert abs(offset) > SECOND // 4


@pytest.mark.parametrize("seed", range(10))
def test_a_clock_that_drifts_is_named(seed: int) -> None:
    """Three seconds in a minute: by windows of the run."""
    chance = random.Random(seed)
    _, doubts = clocks(exchanged(chance, 0, 0.05, SECOND // 20), "A")
    told = of(doubts, "clock drift")
    assert told is not None
    assert told.severity == CLOCK
    assert abs(dict(told.figures)["drift_ns_per_s"] - 0.05 * SECOND) < 0.01 * SECOND


def test_messages_by_which_clocks_are_compared_lie_all_over_a_run() -> None:
    """Of a run of whatever length: some of the last eighth, which is where a drift is seen best; and few."""
    numbers = np.arange(1, 1 << 20)
    chosen = numbers[clock_samples(numbers)]
    assert chosen[:64].tolist() == [*range(1, 65)]
    for most in (65, 100, 1000, 4000, 5000, 100_000, len(numbers)):
        mine = chosen[chosen <= most]
        assert np.count_nonzero(mine > most * 7 // 8) >= 7
        assert len(mine) < 64 * (most.bit_length() - 4) + most / 4096

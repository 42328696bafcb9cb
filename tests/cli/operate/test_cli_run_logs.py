"""`weft run --log`: the lines of all nodes in one stream (docs/how-to/logs.md; issue 9, item 3)."""

from __future__ import annotations

import io
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.cli.operate.run_logs import NodeLogs
from weft.cli.operate.run_nodes import Child

LINES = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n"), min_size=1), max_size=8)


def child(folder: Path, name: str) -> Child:
    return Child(name, [], folder / f"{name}.log")


@settings(max_examples=60)
@given(first=LINES, second=LINES, cuts=st.lists(st.integers(0, 400), max_size=6))
def test_each_line_once_whole_and_in_order(first: list[str], second: list[str], cuts: list[int]) -> None:
    """However the files grow between two looks, also within a character; a last line needs no end."""
    with tempfile.TemporaryDirectory() as name:
        children = [child(Path(name), "S1"), child(Path(name), "S2")]
        out = io.StringIO(newline="")
        logs = NodeLogs(children, "text", out)
        logs.show()  # nobody has written anything
        said = ["\n".join(lines).encode() for lines in (first, second)]
        for cut in [*sorted(cuts), 1 << 30]:
            for one, data in zip(children, said, strict=True):
                one.log.write_bytes(data[:cut])
            logs.show()
        logs.show(last=True)
        shown = out.getvalue().split("\n")
        for one, lines in zip(children, (first, second), strict=True):
            own = f"{one.name}: "
            assert [line.removeprefix(own) for line in shown if line.startswith(own)] == lines


def test_in_json_all_is_json(tmp_path: Path) -> None:
    """What a node says, what is not of its log, what `weft run` has to say itself, and whose death it was."""
    node = child(tmp_path, "S1")
    node.log.write_text('{"node": "S1", "event": "stopped"}\nTraceback (most recent call last):\n')
    node.failure = "died (SIGKILL)"
    out = io.StringIO()
    logs = NodeLogs([node], "json", out)
    logs.show(last=True)
    logs.say("the console has ended")
    logs.failed(node)
    told = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [(one["node"], one["event"]) for one in told] == [
        ("S1", "stopped"), ("S1", "other"), ("run", "other"), ("run", "node-died"),
    ]  # fmt: skip
    assert told[1]["text"].startswith("Traceback")
    assert (told[3]["level"], told[3]["peer"], told[3]["file"]) == ("error", "S1", str(node.log))


def test_without_the_option_the_files_alone_have_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    node = child(tmp_path, "S1")
    node.log.write_text("10:00:00 link up\n")
    node.failure = "died (exit code 1)"
    logs = NodeLogs([node], None)
    logs.show(last=True)
    logs.failed(node)
    assert (
        capsys.readouterr().err
        == f"weft: node S1 died (exit code 1); {node.log} ends with:\n    10:00:00 link up\n"
    )

"""`weft schedule`: the commands, on the schedule of an aircraft (S3-10, S3-23)."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest

from weft.channel import EARLIEST_DEADLINE_FIRST, MAXIMUM_URGENCY_FIRST, parse_schedule
from weft.channel.scheduling.graph import schedule_graph
from weft.cli import main
from weft.drawing import Box
from weft.model.records import Source

Capture = pytest.CaptureFixture[str]
OPERATIONS = """
[operations.radar]
worst = 0.002
period = 0.025

[operations.ins]
worst = 0.001
period = 0.05

[operations.fuse]
worst = 0.006
after = [{all = ["radar", "ins"]}]

[operations.log]
worst = 0.03
period = 0.1
after = ["fuse", "radar"]
"""


@pytest.fixture
def draft(tmp_path: Path) -> str:
    path = tmp_path / "operations.toml"
    path.write_text(OPERATIONS)
    return str(path)


def schedule(*arguments: str) -> int:
    return main(["schedule", *arguments])


def test_plan_writes_a_schedule_that_servers_and_channels_take(draft: str, capsys: Capture) -> None:
    """S3-10: the priorities of the policy; what is printed can be read again."""
    assert schedule("plan", draft) == 0
    shown = capsys.readouterr()
    made = parse_schedule(Source("s.toml", shown.out.encode()))
    assert [(one.info.name, one.priority, one.sub_priority) for one in made.operations] == [
        ("radar", 0, 0), ("ins", 1, 0), ("fuse", 1, 1), ("log", 2, 0),
    ]  # fmt: skip
    assert shown.err == "rate monotonic, preemptive: 52.0% of the processor, all deadlines are met\n"


@pytest.mark.parametrize("command", ["plan", "check", "graph"])
def test_of_nothing_nothing_is_said(command: str, tmp_path: Path, capsys: Capture) -> None:
    """S3-10: a file without operations is a mistake, not a schedule that holds."""
    path = tmp_path / "empty.toml"
    path.write_text("")
    assert schedule(command, str(path)) == 2
    assert "empty.toml: there are no operations in it" in capsys.readouterr().err


@pytest.mark.parametrize("policy", [EARLIEST_DEADLINE_FIRST, MAXIMUM_URGENCY_FIRST])
def test_plan_by_another_policy_to_a_file(policy: str, draft: str, tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "schedule.toml"
    assert (
        schedule(
            "plan", draft, "--policy", policy.replace(" ", "-"), "--dispatcher", "one-thread", "-o", str(out)
        )
        == 0
    )
    made = parse_schedule(Source(str(out), out.read_bytes()))
    assert (made.policy, made.preemptive) == (policy, False)
    assert capsys.readouterr().out.startswith(f"{policy}, one-thread: 52.0% of the processor, ")


def test_check_says_who_is_late_for_which_dispatcher(draft: str, capsys: Capture) -> None:
    """S3-10: exit code 1 where a deadline can be missed; the same schedule meets all where consumers are interrupted."""
    assert schedule("check", draft) == 0
    assert "response times (Joseph and Pandya), for a dispatcher which interrupts" in capsys.readouterr().out
    for dispatcher in ("one-thread", "cooperative"):
        assert schedule("check", draft, "--dispatcher", dispatcher) == 1
        shown = capsys.readouterr().out
        assert re.search(r"^radar +0\.0 +25 ms +2 ms +8\.0% +- +too late$", shown, re.M)
        assert shown.endswith("1 of 4 operations can miss deadlines: radar\n")
    assert schedule("check", draft, "--dispatcher", "threads", "--json") == 1
    report = json.loads(capsys.readouterr().out)
    assert report["analysis"] == "busy periods: an upper bound, for threads in any order"
    found = {one["name"]: one["meetsDeadline"] for one in report["operations"]}
    assert found == {"radar": False, "ins": True, "fuse": True, "log": True}


def test_check_judges_the_priorities_of_the_file(
    draft: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever wrote them: here the slowest was made the most urgent, by hand."""
    schedule("plan", draft)
    text = capsys.readouterr().out.replace("priority = 2\n", "priority = 9\n")
    text = text.replace("priority = 0\nsub_priority = 0\nresponse = 0.002", "priority = 10\nsub_priority = 0")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert schedule("check", "-") == 1
    assert "can miss deadlines: radar" in capsys.readouterr().out


def test_deadlines_first_has_no_response_times_but_a_verdict(draft: str, capsys: Capture) -> None:
    schedule("plan", draft, "--policy", "earliest-deadline-first", "-o", draft)
    capsys.readouterr()
    assert schedule("check", draft) == 0
    assert "processor demand (Baruah, George)" in capsys.readouterr().out
    assert schedule("check", draft, "--dispatcher", "one-thread") == 1
    assert capsys.readouterr().out.endswith("can miss deadlines: log\n")
    assert schedule("explain", draft, "log", "--dispatcher", "one-thread") == 0
    assert "deadlines can be missed on its account: it runs 30 ms" in capsys.readouterr().out


def test_explain_says_who_interferes_and_how_much(draft: str, capsys: Capture) -> None:
    """S3-10: the parts add up to the response time."""
    assert schedule("explain", draft, "log") == 0
    shown = capsys.readouterr().out
    assert "priority 2: 10 Hz; 2 rates are faster" in shown
    assert "ends within 41 ms; 100 ms are allowed" in shown
    assert "4 ms  2 × radar" in shown
    assert schedule("explain", draft, "radar", "--dispatcher", "one-thread", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["delay"]["blocker"] == "log"
    parts = found["delay"]["own"] + found["delay"]["blocked"]
    parts += sum(one["seconds"] for one in found["delay"]["interferences"])
    assert parts == pytest.approx(found["delay"]["response"]) == pytest.approx(0.032)
    assert "only 25 ms are allowed" in found["verdict"]
    assert schedule("explain", draft, "lgo") == 2
    assert "the schedule has no operation lgo; did you mean log?" in capsys.readouterr().err


def test_graph_draws_all_operations_and_arrows(draft: str, tmp_path: Path, capsys: Capture) -> None:
    """S3-23, figure 14: a box for each operation, an arrow for each dependency, conjunctions meet in one dot."""
    for name in ("graph.svg", "graph.html"):
        out = tmp_path / name
        assert schedule("graph", draft, "--out", str(out)) == 0
        assert capsys.readouterr().out == (
            f"{out}: rate monotonic, preemptive: 52.0% of the processor, all deadlines are met\n"
        )
        text = out.read_text()
        for words in (
            "radar triggers log",
            "fuse triggers log",
            "all of these together",
            "1.1 · every 50 ms",
        ):
            assert words in text
    assert schedule("graph", draft, "--out", str(tmp_path / "graph.png")) == 2
    assert "a picture is .svg and a page is .html" in capsys.readouterr().err


def test_no_two_boxes_of_a_graph_overlap(draft: str, capsys: Capture) -> None:
    schedule("plan", draft)
    picture = schedule_graph(parse_schedule(Source("s", capsys.readouterr().out.encode())))
    boxes = [one for one in picture.shapes if isinstance(one, Box) and one.tone != "back"]
    assert len(boxes) == 4
    for at, one in enumerate(boxes):
        assert one.x + one.width <= picture.width
        assert one.y + one.height <= picture.height
        for other in boxes[at + 1 :]:
            apart = abs(one.x - other.x) >= one.width or abs(one.y - other.y) >= one.height
            assert apart


def test_what_is_wrong_is_said_with_the_line(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "operations.toml"
    path.write_text('[operations.a]\nperiod = 0.1\nafter = ["b"]\n')
    assert schedule("plan", str(path)) == 2
    assert capsys.readouterr().err.startswith(f"weft: {path}:3: operation a runs after b")
    assert schedule("check", str(tmp_path / "none.toml")) == 2
    assert "none.toml: cannot be read: No such file" in capsys.readouterr().err

"""The `weft` command itself: exit codes, and one line for an error."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import weft
from weft import cli
from weft.cli import COMMANDS, main
from weft.model.errors import SettingsError

COMMAND = f"{sys.executable} -m weft.cli"


def exit_code(call: Callable[[], Any]) -> Any:
    with pytest.raises(SystemExit) as caught:
        call()
    return caught.value.code


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    """`weft --version`."""
    assert exit_code(lambda: main(["--version"])) == 0
    assert capsys.readouterr().out == f"weft {weft.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["fly"], "invalid choice: 'fly'"),
        (["--vers", "doctor"], "--vers"),
        (["doctor", "--jason"], "--jason"),
        (["bench"], "required"),
        (["bench", "embedded", "--repeats", "0"], "0 is less than 1"),
        (["demo", "--fire-every", "0"], "0 is less than 1"),
        (["demo", "--steps", "-1"], "-1 is less than 0"),
        (["demo", "--step-ms", "-0.5"], "not a number of at least 0"),
        (["demo", "--step-ms", "nan"], "not a number of at least 0"),
        (["demo", "--steps", "many"], "invalid"),
    ],
)
def test_wrong_usage_ends_with_2(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What argparse refuses: usage, one line that says what is wrong, exit code 2."""
    assert exit_code(lambda: main(arguments)) == 2
    shown = capsys.readouterr()
    assert not shown.out
    assert shown.err.startswith("usage: weft")
    assert said in shown.err.splitlines()[-1]


def test_no_command_shows_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    shown = capsys.readouterr()
    assert not shown.out
    for name in COMMANDS:
        assert re.search(rf"^    {name}\b", shown.err, re.M)


@pytest.mark.parametrize(
    "arguments", [["--help"], ["demo", "--help"], ["doctor", "--help"], ["bench", "embedded", "--help"]]
)
def test_every_command_has_help(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """`--help` ends with 0 and says how to call it."""
    assert exit_code(lambda: main(arguments)) == 0
    assert capsys.readouterr().out.startswith("usage: weft")


def _command_that_raises(error: BaseException) -> Any:
    class Parser:
        def __init__(self, only: str) -> None:
            pass

        def parse_args(self, arguments: Any) -> Any:
            return self

        def func(self, chosen: Any) -> int:
            raise error

    return Parser


def test_an_error_of_weft_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`WeftError`: its message on stderr, exit code 2, no traceback."""
    monkeypatch.setattr(
        cli, "parser", _command_that_raises(SettingsError("grid.toml: cells must be above 0"))
    )
    assert main(["doctor"]) == 2
    shown = capsys.readouterr()
    assert shown.err == "weft: grid.toml: cells must be above 0\n"
    assert not shown.out


def test_an_interrupt(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Control-C: one line, exit code 130."""
    monkeypatch.setattr(cli, "parser", _command_that_raises(KeyboardInterrupt()))
    assert main(["doctor"]) == 130
    assert capsys.readouterr().err == "weft: interrupted\n"


def test_a_defect_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any other exception keeps its traceback."""
    monkeypatch.setattr(cli, "parser", _command_that_raises(ZeroDivisionError()))
    with pytest.raises(ZeroDivisionError):
        main(["doctor"])


@pytest.mark.parametrize("command", ["doctor", "demo --steps 40 --step-ms 0 --fire-every 1"])
def test_a_reader_that_has_had_enough(command: str) -> None:
    """`weft … | head -1`: no complaint, exit code 141 as a shell would say of SIGPIPE, or 0 if all was written before."""
    done = subprocess.run(
        ["bash", "-c", f"{COMMAND} {command} | head -1; echo ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.stderr == ""
    first, code = done.stdout.splitlines()
    assert first
    assert code in ("0", "141")

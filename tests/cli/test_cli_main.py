"""The `weft` command itself: exit codes, and one line for an error."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import weft
from support.documents import free_port
from support.server_in_thread import serving
from weft import cli
from weft.cli import COMMANDS, main, parser
from weft.cli.examples import parsers
from weft.host.server.guard import hash_password, read_password_file
from weft.model.errors import SettingsError, WeftError

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
        (["fly"], "there is no command `weft fly`; `weft --help` lists all"),
        (["runss"], "there is no command `weft runss`; did you mean `weft runs`? "),
        (["fom", "chek"], "there is no command `weft fom chek`; did you mean `weft fom check`? "),
        (["run", "domains.toml", "--secnds", "3"], "--secnds 3; did you mean --seconds?"),
        (["steer", "paus", "Range"], "did you mean pause?"),
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
    assert shown.err.splitlines()[-1].startswith("weft: ")


def test_no_command_shows_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    shown = capsys.readouterr()
    assert not shown.out
    for name in COMMANDS:
        assert re.search(rf"^    {name}\b", shown.err, re.M)


@pytest.mark.parametrize("one", list(parsers(parser())), ids=lambda one: one.prog.replace(" ", "-"))
def test_every_command_has_help(one: argparse.ArgumentParser, capsys: pytest.CaptureFixture[str]) -> None:
    """`--help` ends with 0, says how to call it, then in a sentence what it does, and what each argument is."""
    assert exit_code(lambda: main([*one.prog.split()[1:], "--help"])) == 0
    usage, sentence, *_ = capsys.readouterr().out.split("\n\n")
    assert usage.startswith(f"usage: {one.prog}")
    assert re.match(r"[`A-Z].*[a-z]", sentence)
    assert (one.description or "").rstrip().endswith(".")
    for action in one._actions:
        shown = action.help or ""
        if shown != argparse.SUPPRESS and not isinstance(action, argparse._SubParsersAction):
            assert re.search(r"\w", re.sub(r"\(.*?\)", "", shown.replace("%(default)s", ""))), (
                f"{one.prog} {action.dest} says nothing"
            )


def test_a_flag_means_one_thing_everywhere() -> None:
    """What takes a file in one command takes no number in another, and nothing has two names."""
    takes: dict[str, set[str]] = {}
    for one in parsers(parser()):
        for action in one._actions:
            for name in action.option_strings:
                if action.help != argparse.SUPPRESS:
                    takes.setdefault(name, set()).add(str(action.metavar or action.nargs))
    assert takes["--operator-key"] == takes["--cert-key"] == {"FILE"}
    assert takes["--server"] == {"HOST[:PORT]"}
    assert not {"--key", "--output", "--decoded", "--address"} & set(takes)


@pytest.mark.parametrize("command", ["status", "top", "console", "steer"])
def test_who_asks_where_nobody_serves_is_told_what_to_do(
    command: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mere "Connection refused" leaves a newcomer with nothing to do."""
    monkeypatch.chdir(tmp_path)
    Path("operator.key").write_text("key")
    more = ["pause", "Range", "--operator-key", "operator.key"] if command == "steer" else []
    assert main([command, *more, "--server", f"127.0.0.1:{free_port()}"]) == 2
    said = capsys.readouterr()
    assert not said.out
    assert "Connection refused" in said.err
    assert "`weft serve`" in said.err
    assert "15164" in said.err
    assert len(said.err.splitlines()) == 1


def test_who_asks_a_server_with_passwords_is_told_what_to_give(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`weft status` and `weft console` say which flags would open the door."""
    users = f'[users.alice]\npassword = "{hash_password("secret")}"\n'
    with serving(read_password_file(users, "users.toml")) as server:
        for command, flags in (
            ("status", "--password NAME:PASSWORD, or --operator-key"),
            ("console", "--operator-key"),
        ):
            assert main([command, server.address()]) == 2
            assert f"(give {flags} with the operator.key of its run directory)" in capsys.readouterr().err


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


def test_what_a_ctrl_c_has_ended_is_interrupted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Spark says of a job that was cancelled that it failed, while the interruption is under way."""

    def review(arguments: object) -> int:
        try:
            raise KeyboardInterrupt
        finally:
            try:
                raise OSError("an error occurred while calling getResult")
            except OSError as error:
                raise WeftError("workers cannot run the review") from error

    chosen = SimpleNamespace(func=review)
    monkeypatch.setattr(cli, "parser", lambda only: SimpleNamespace(parse_args=lambda words: chosen))
    assert cli.main(["review", "a-run"]) == 130
    assert capsys.readouterr().err == "weft: interrupted\n"

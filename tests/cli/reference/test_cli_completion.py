"""`weft completion`: the scripts complete commands, flags and choices, in real shells (issue 9, 2)."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from weft.cli import main, parser
from weft.cli.reference.completion import SHELLS, commands_of, script

PROBE = """
source {script}
probe() {{ COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _weft; local IFS='|'; echo "${{COMPREPLY[*]}}"; }}
"""


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scripts")
    for shell in SHELLS:
        (folder / shell).write_text(script(shell, parser()))
    return folder


def bash(scripts: Path, *lines: list[str], folder: Path | None = None) -> list[list[str]]:
    """What bash completes for each command line; its last word is the one that is being typed."""
    calls = "\n".join("probe " + " ".join(f"'{word}'" for word in words) for words in lines)
    done = subprocess.run(
        ["bash", "--norc", "-c", PROBE.format(script=scripts / "bash") + calls],
        capture_output=True, text=True, check=True, timeout=240, cwd=folder or scripts,
    )  # fmt: skip
    assert done.stderr == ""
    return [sorted(found.split("|")) if found else [] for found in done.stdout.split("\n")[:-1]]


def test_bash_completes_every_command_and_flag(scripts: Path) -> None:
    """The law: whatever the parsers know is completed, at its place and nowhere else."""
    commands = commands_of(parser())
    lines, expected = [], []
    for command in commands:
        words = command.where.split()
        lines.append([*words, "-"])
        expected.append({name for flag in command.flags for name in flag.names})
        if not command.path:
            lines.append([*words, ""])
            expected.append({*command.commands, *command.choices})
        for flag in command.flags:
            if flag.choices:
                lines.append([*words, flag.names[-1], ""])
                expected.append(set(flag.choices))
    assert [set(found) for found in bash(scripts, *lines)] == expected
    assert len(commands) > 30


def test_bash_completes_beginnings(scripts: Path, tmp_path: Path) -> None:
    (tmp_path / "harbour one.xml").touch()
    (tmp_path / "harbour").mkdir()
    found = bash(
        scripts,
        ["weft", "se"],
        ["weft", "bench", "em"],
        ["weft", "serve", "--lo"],
        ["weft", "serve", "--log", "j"],
        ["weft", "serve", "--log", "=", "j"],
        ["weft", "--version", "do"],
        ["weft", "completion", ""],
        ["weft", "serve", "--port", ""],
        ["weft", "nonsense", "x"],
        ["weft", "fom", "check", "har"],
        folder=tmp_path,
    )
    assert found == [
        ["serve", "services"],
        ["embedded"],
        ["--log"],
        ["json"],
        ["json"],
        ["doctor", "domains"],
        ["bash", "fish", "zsh"],
        [],
        [],
        ["harbour", "harbour one.xml"],
    ]


def test_the_commands_print_them(capsys: pytest.CaptureFixture[str]) -> None:
    for shell in SHELLS:
        assert main(["completion", shell]) == 0
        assert capsys.readouterr().out == script(shell, parser())


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")
def test_zsh_completes(scripts: Path) -> None:
    """With the functions of zsh's completion replaced by ones that print what they are given."""
    probe = """
    compdef() { : }
    _describe() { local -a shown; shown=("${(@P)2}"); print -r -- ${shown%%:*} }
    compadd() { shift; print -r -- $@ }
    _files() { print files }
    _message() { print nothing }
    source ./zsh
    probe() { words=("$@"); CURRENT=$#; PREFIX="$words[CURRENT]"; _weft }
    probe weft ''
    probe weft bench channel --part ''
    probe weft serve -
    probe weft fom check ''
    probe weft serve --port ''
    """
    done = subprocess.run(
        ["zsh", "-f", "-c", probe], capture_output=True, text=True, check=True, timeout=240, cwd=scripts
    )
    commands, parts, flags, files, nothing = done.stdout.splitlines()
    assert {"serve", "status", "top"} <= set(commands.split())
    assert "push" in parts.split()
    assert {"--log", "--port"} <= set(flags.split())
    assert (files, nothing) == ("files", "nothing")


@pytest.mark.skipif(not shutil.which("fish"), reason="fish is not installed")
def test_fish_completes(scripts: Path) -> None:
    def complete(line: str) -> set[str]:
        probe = f"source ./fish; complete -C '{line}'"
        done = subprocess.run(
            ["fish", "--no-config", "-c", probe],
            capture_output=True,
            text=True,
            check=True,
            timeout=240,
            cwd=scripts,
        )
        return {found.partition("\t")[0] for found in done.stdout.splitlines()}

    assert {"serve", "status", "top"} <= complete("weft ")
    assert "push" in complete("weft bench channel --part ")
    assert {"--log", "--port"} <= complete("weft serve --")
    assert complete("weft completion ") == set(SHELLS)

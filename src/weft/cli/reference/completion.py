"""`weft completion bash|zsh|fish`: a script that completes commands, flags and their choices, generated from the parsers."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from typing import Final

from weft.cli.arguments import Commands

SHELLS: Final = ("bash", "zsh", "fish")
_FILES: Final = ("FILE", "DIR", "RUN", "UPDATES", "SUBSCRIPTIONS")
"""Metavars of what is a path."""
_PATHS: Final = ("--cert", "--cert-key", "--settings", "--password-file", "--save-dir", "--journal")


def register(commands: Commands) -> None:
    parser = commands.add_parser(
        "completion",
        help="print a script with which a shell completes weft commands",
        description="Print a script with which a shell completes weft's commands, flags and choices. "
        'bash: put  eval "$(weft completion bash)"  into ~/.bashrc; zsh: save it as _weft in a folder of fpath; '
        "fish: save it as ~/.config/fish/completions/weft.fish.",
    )
    parser.add_argument("shell", choices=SHELLS, help="for which shell")
    parser.set_defaults(func=run)


def run(arguments: argparse.Namespace) -> int:
    from weft.cli import parser

    print(script(arguments.shell, parser()), end="")
    return 0


@dataclass
class Flag:
    names: list[str]
    help: str
    takes: bool  # a value
    choices: list[str] = field(default_factory=list)
    path: bool = False


@dataclass
class Command:
    where: str  # "weft bench"
    commands: dict[str, str] = field(default_factory=dict)  # with what their help says
    flags: list[Flag] = field(default_factory=list)
    choices: list[str] = field(default_factory=list)  # of its positional arguments
    path: bool = False  # does it take files?


def commands_of(parser: argparse.ArgumentParser) -> list[Command]:
    """All commands, the outermost first."""
    found = Command(parser.prog)
    below: list[Command] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: _plain(choice.help or "") for choice in action._choices_actions}
            found.commands.update({name: helps.get(name, "") for name in action.choices})
            for one in action.choices.values():
                below += commands_of(one)
        elif action.option_strings:
            choices = [str(choice) for choice in action.choices or ()]
            path = _is_path(action) or any(name in _PATHS for name in action.option_strings)
            found.flags.append(
                Flag(list(action.option_strings), _plain(action.help or ""), action.nargs != 0, choices, path)
            )
        else:
            found.choices += [str(choice) for choice in action.choices or ()]
            found.path = found.path or _is_path(action)
    _put_below(found, below)
    return [found, *below]


def _put_below(found: Command, below: list[Command]) -> None:
    """Commands of two words belong to the one that is the first of them."""
    for name in [one for one in found.commands if " " in one]:
        first, _, second = name.partition(" ")
        for one in below:
            if one.where == f"{found.where} {first}":
                one.commands[second] = found.commands[name]
        del found.commands[name]


def _is_path(action: argparse.Action) -> bool:
    return isinstance(action.metavar, str) and action.metavar in _FILES


def _plain(text: str) -> str:
    """A help text in one line, without what a shell would take for something else."""
    text = text.partition(" (default")[0].partition("; ")[0]
    return "".join(one for one in " ".join(text.split()) if one not in "'\"`$\\[]%{}:")


def script(shell: str, parser: argparse.ArgumentParser) -> str:
    made = {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](commands_of(parser))
    return made + "\n"


def _values(commands: list[Command]) -> tuple[dict[str, list[str]], list[str], list[str]]:
    """Places right after a flag: those with choices, those where a path comes, and those where nothing is known."""
    chosen: dict[str, list[str]] = {}
    paths: list[str] = []
    unknown: list[str] = []
    for command in commands:
        for flag in command.flags:
            for name in flag.names if flag.takes else ():
                place = f"{command.where} {name}"
                if flag.choices:
                    chosen[place] = flag.choices
                else:
                    (paths if flag.path else unknown).append(place)
    return chosen, paths, unknown


def _pattern(places: list[str]) -> str:
    return "|".join(f'"{place}"' for place in places)


def _bash(commands: list[Command]) -> str:
    chosen, paths, unknown = _values(commands)
    inner = _pattern([command.where for command in commands[1:]])  # places that are one step further in
    lines = [
        "# bash completion for weft",
        "_weft() {",
        "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} at=weft i found=",
        "  COMPREPLY=()",
        "  if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi",
        "  for ((i = 1; i < COMP_CWORD; i++)); do",
        '    case "$at ${COMP_WORDS[i]}" in',
        f'      {inner}) at="$at ${{COMP_WORDS[i]}}";;',
        "    esac",
        "  done",
        '  case "$at $prev" in',
    ]
    lines += [f'    "{place}") found="{" ".join(choices)}";;' for place, choices in chosen.items()]
    lines += [
        f"    {_pattern(paths)}) _weft_files; return;;",
        f"    {_pattern(unknown)}) return;;",
        "  esac",
        "  if [[ -z $found ]]; then",
        '    case "$at" in',
    ]
    for command in commands:
        flags = " ".join(name for flag in command.flags for name in flag.names)
        words = " ".join([*command.commands, *command.choices])
        files = "; [[ $cur == -* ]] || { _weft_files; return; }" if command.path else ""
        lines.append(
            f'      "{command.where}") if [[ $cur == -* ]]; then found="{flags}"; else found="{words}"; fi{files};;'
        )
    lines += [
        "    esac",
        "  fi",
        "  local IFS=$' \\t\\n'",
        '  COMPREPLY=($(compgen -W "$found" -- "$cur"))',
        "}",
        "_weft_files() {",
        "  local IFS=$'\\n'",
        '  COMPREPLY=($(compgen -f -- "$cur"))',
        "  compopt -o filenames 2>/dev/null",
        "}",
        "complete -F _weft weft",
    ]
    return "\n".join(lines)


def _described(name: str, text: str) -> str:
    return f"'{name}:{text}'" if text else f"'{name}'"


def _zsh(commands: list[Command]) -> str:
    chosen, paths, unknown = _values(commands)
    inner = _pattern([command.where for command in commands[1:]])  # places that are one step further in
    lines = [
        "#compdef weft",
        "_weft() {",
        "  local at=weft i",
        "  local -a found",
        "  for ((i = 2; i < CURRENT; i++)); do",
        '    case "$at ${words[i]}" in',
        f'      ({inner}) at="$at ${{words[i]}}";;',
        "    esac",
        "  done",
        '  case "$at ${words[CURRENT-1]}" in',
    ]
    lines += [
        f'    ("{place}") compadd -- {" ".join(choices)}; return;;' for place, choices in chosen.items()
    ]
    lines += [
        f"    ({_pattern(paths)}) _files; return;;",
        f"    ({_pattern(unknown)}) _message value; return;;",
        "  esac",
        '  if [[ "$PREFIX" == -* ]]; then',
        '    case "$at" in',
    ]
    for command in commands:
        flags = " ".join(_described(name, flag.help) for flag in command.flags for name in flag.names)
        lines.append(f'      ("{command.where}") found=({flags});;')
    lines += ["    esac", "  else", '    case "$at" in']
    for command in commands:
        named = [_described(name, text) for name, text in command.commands.items()]
        words = " ".join([*named, *[f"'{choice}'" for choice in command.choices]])
        files = " _files; return" if command.path else f" found=({words})"
        lines.append(f'      ("{command.where}"){files};;')
    lines += [
        "    esac",
        "  fi",
        "  (( $#found )) && _describe weft found",
        "}",
        'if [[ "$funcstack[1]" == _weft ]]; then _weft "$@"; else compdef _weft weft; fi',
    ]
    return "\n".join(lines)


def _fish(commands: list[Command]) -> str:
    lines = [
        "# fish completion for weft",
        "function __weft_at",
        "  set -l at weft",
        "  for word in (commandline -opc)[2..-1]",
        '    switch "$at $word"',
        f"      case {' '.join(chr(39) + command.where + chr(39) for command in commands[1:])}",
        '        set at "$at $word"',
        "    end",
        "  end",
        '  test "$at" = "$argv[1]"',
        "end",
        "complete -c weft -f",
    ]
    for command in commands:
        here = f"complete -c weft -n \"__weft_at '{command.where}'\""
        for name, text in command.commands.items():
            lines.append(f"{here} -a {name} -d '{text}'")
        if command.choices:
            lines.append(f"{here} -a '{' '.join(command.choices)}'")
        if command.path:
            lines.append(f"{here} -F")
        for flag in command.flags:
            names = " ".join(
                f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.names
            )
            value = ""
            if flag.takes:
                value = (
                    f" -x -a '{' '.join(flag.choices)}'" if flag.choices else " -r -F" if flag.path else " -x"
                )
            lines.append(f"{here} {names}{value} -d '{flag.help}'")
    return "\n".join(lines)

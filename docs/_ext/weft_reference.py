"""Reference pages made from the code itself: commands, settings, rows.  Each function gives Markdown."""

from __future__ import annotations

import argparse
import ast
import inspect
import io
import tokenize
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from typing import Any

from weft import cli
from weft.host import settings
from weft.host.client import settings as client_settings
from weft.recorder import schema
from weft.review.lake import schema as lake
from weft.review.query.views import VIEWS


def _cell(text: str) -> str:
    """In a table a bar would end the cell, and an angle bracket begin a tag."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


# Commands


def commands() -> str:
    """Every command of `weft` with its options, from the parser that reads them."""
    return "".join(_command(parser, about) for parser, about in walk(cli.parser()))


def walk(parser: argparse.ArgumentParser, about: str = "") -> Iterator[tuple[argparse.ArgumentParser, str]]:
    """The parser and all below it, each with the words by which the one above it lists it."""
    yield parser, about
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            told = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, below in action.choices.items():
                yield from walk(below, told.get(name, ""))


def _command(parser: argparse.ArgumentParser, about: str) -> str:
    level = "#" * min(4, 1 + len(parser.prog.split()))
    formatter = argparse.HelpFormatter(parser.prog, width=100)
    formatter.add_usage(parser.usage, parser._actions, parser._mutually_exclusive_groups)
    text = [f"\n{level} {parser.prog}\n\n"] if parser.prog != "weft" else ["\n## weft\n\n"]
    told = parser.description or about
    if told:
        text.append(f"{_cell(told[0].upper() + told[1:])}\n\n")
    text.append(f"```text\n{formatter.format_help().strip()}\n```\n")
    rows = [(_names(one), _help(formatter, one)) for one in parser._actions if _listed(one)]
    if rows:
        text.append("\n| argument | |\n|---|---|\n")
        text.extend(f"| {names} | {_cell(help)} |\n" for names, help in rows)
    if parser.epilog:
        text.append(f"\n```text\n{parser.epilog.strip()}\n```\n")
    return "".join(text)


def _listed(action: argparse.Action) -> bool:
    hidden = action.help == argparse.SUPPRESS or isinstance(action, argparse._HelpAction)
    return not hidden and not isinstance(action, argparse._SubParsersAction)


def _names(action: argparse.Action) -> str:
    shown = action.metavar or (action.dest.upper() if action.option_strings else action.dest)
    if action.choices is not None and action.metavar is None:
        shown = "{" + ",".join(map(str, action.choices)) + "}"
    value = shown if isinstance(shown, str) else " ".join(shown)
    if not action.option_strings:
        return f"`{value}`"
    takes = "" if action.nargs == 0 else f" {value}"
    return ", ".join(f"`{name}{takes}`" for name in action.option_strings).replace("|", "\\|")


def _help(formatter: argparse.HelpFormatter, action: argparse.Action) -> str:
    return formatter._expand_help(action) if action.help else ""


# Settings


def all_settings() -> str:
    """Every setting of a node: its place, the environment variable, the default and what it means."""
    text = []
    for section, kind in settings._SECTIONS.items():
        text.append(f"\n### \\[{section}\\]\n\n")
        text.append("| setting | environment | default | |\n|---|---|---|---|\n")
        said = comments(kind)
        for one in fields(kind):
            place = f"{section}.{one.name}"
            variable = f"WEFT_{section}_{one.name}".upper()
            text.append(f"| `{place}` | `{variable}` | {_default(one)} | {_cell(said[one.name])} |\n")
    return "".join(text)


def all_client_settings() -> str:
    """What a federate may say of its connection: key, default, meaning."""
    kind = client_settings.ClientSettings
    said, defaults = comments(kind), {one.name: one for one in fields(kind)}
    text = ["\n| setting | default | |\n|---|---|---|\n"]
    for key, (name, _) in client_settings._KEYS.items():
        text.append(f"| `{key}` | {_default(defaults[name])} | {_cell(said[name])} |\n")
    return "".join(text)


def comments(kind: type) -> dict[str, str]:
    """What the source says beside each field of a dataclass: the comments on the lines of its definition."""
    source = inspect.getsource(kind)
    told = {
        token.start[0]: token.string.lstrip("# ")
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }
    found = {}
    for line in ast.parse(source).body[0].body:  # type: ignore[attr-defined]
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
            lines = range(line.lineno, (line.end_lineno or line.lineno) + 1)
            found[line.target.id] = " ".join(told[number] for number in lines if number in told)
    return found


def _default(one: Any) -> str:
    value = one.default
    if isinstance(value, bool):
        return "true" if value else "false"
    if value == "":
        return "none"
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20)):
        if type(value) is int and one.name.endswith("bytes") and value % size == 0:
            return f"{value} ({value // size} {unit})"
    return f"{value:g}" if isinstance(value, float) else str(value)


# Rows


def all_rows() -> str:
    """The columns and kinds of a recording."""
    text = [f"\n## Columns\n\nVersion {schema.VERSION}.\n\n| column | type | meaning |\n|---|---|---|\n"]
    text.extend(f"| `{one.name}` | {_cell(one.type)} | {_cell(one.meaning)} |\n" for one in schema.COLUMNS)
    text.append("\n## Kinds\n\n| kind | meaning |\n|---|---|\n")
    text.extend(f"| `{kind}` | {_cell(meaning)} |\n" for kind, meaning in schema.KINDS.items())
    return "".join(text)


# The lake


def all_lake_tables() -> str:
    """The tables of the lake of results, and the views over them."""
    text = [
        f"\n## Tables\n\nVersion {lake.LAKE_VERSION}. Every table begins with these columns:\n\n",
        _columns(lake.KEY),
    ]
    text += [
        f"\n### {table.name}\n\nA row is {_cell(table.a_row)}.\n\n{_columns(table.own)}"
        for table in lake.TABLES.values()
    ]
    text.append("\n## Views\n\n| view | question |\n|---|---|\n")
    text.extend(f"| `{view.name}` | {_cell(view.question)} |\n" for view in VIEWS)
    return "".join(text)


def _columns(columns: Iterable[lake.TableColumn]) -> str:
    rows = (f"| `{one.name}` | {one.type} | {one.unit} | {_cell(one.meaning)} |\n" for one in columns)
    return "| column | type | unit | meaning |\n|---|---|---|---|\n" + "".join(rows)


PAGES: dict[str, Callable[[], str]] = {
    "commands": commands,
    "settings": all_settings,
    "client_settings": all_client_settings,
    "rows": all_rows,
    "lake": all_lake_tables,
}

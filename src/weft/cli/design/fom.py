"""`weft fom`: check, merge, show object models, and generate typed classes from them."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path

from weft.cli.arguments import add_out
from weft.fom import (
    MAX_SIZE,
    EnumeratedType,
    Findings,
    Module,
    ObjectModel,
    Problem,
    examine,
    parse_module,
    standard_mim,
    write_omt,
)
from weft.model.errors import ObjectModelError, SettingsError
from weft.model.records import Source

COUNTS = (
    "objectClasses",
    "attributes",
    "interactionClasses",
    "parameters",
    "dimensions",
    "dataTypes",
    "enumerators",
    "modules",
)
CLOSE_NAMES = 5


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("fom", help="check, merge and show object models (FED, OMT XML)")
    actions = parser.add_subparsers(dest="fom_command", metavar="COMMAND", required=True)

    check = actions.add_parser("check", help="count what the files define and list what is wrong with them")
    _files(check)
    _mim(check)
    check.add_argument(
        "--part",
        action="store_true",
        help="the files are parts of a model: what others define may be missing",
    )
    check.add_argument("--json", action="store_true", help="print one JSON object")
    check.set_defaults(func=run_check)

    merge = actions.add_parser("merge", help="write the merge of the files as one OMT XML file of 2025")
    _files(merge)
    _mim(merge)
    _output(merge)
    merge.set_defaults(func=run_merge)

    show = actions.add_parser("show", help="show a class with all it inherits")
    show.add_argument(
        "class_name", metavar="CLASS", help="the name of the class; its end is enough if it is unique"
    )
    _files(show)
    show.set_defaults(func=run_show)

    gen = actions.add_parser("gen", help="generate typed Python dataclasses")
    _files(gen)
    _output(gen)
    gen.add_argument("--module", default="", metavar="NAME", help="the name of the generated module")
    gen.set_defaults(func=run_gen)


def _files(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="OMT XML or FED files, merged in this order")


def _mim(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--mim", action="store_true", help="include the standard MIM")


def _output(parser: argparse.ArgumentParser) -> None:
    add_out(parser, "FILE", "the file to write; standard output if left out")


# Reading


def load(files: Iterable[str]) -> list[Module]:
    """All files, parsed; the first that cannot be read ends it."""
    return [parse_module(_source(name)) for name in files]


def _source(name: str) -> Source:
    try:
        with Path(name).open("rb") as file:
            return Source(name, file.read(MAX_SIZE + 1))
    except OSError as error:
        raise SettingsError(f"{name}: cannot be read: {error.strerror or error}") from None


def _examine(args: argparse.Namespace, mim: bool) -> Findings:
    modules = load(args.files)
    return examine([standard_mim(), *modules] if mim else modules)


def _accepted(args: argparse.Namespace, mim: bool) -> ObjectModel | None:
    """The merged model, or None after saying on standard error all that is in its way."""
    findings = _examine(args, mim)
    _complain(findings.errors)
    return None if findings.errors else findings.model


def _complain(errors: Sequence[ObjectModelError]) -> None:
    for error in errors:
        print(f"weft: {error}", file=sys.stderr)


# check


def run_check(args: argparse.Namespace) -> int:
    try:
        findings = _examine(args, args.mim)
        if not findings.errors and not args.part:
            findings = _as_created(args, findings)
    except ObjectModelError as error:
        findings = Findings(ObjectModel(), (error,))
    model, errors = findings.model, findings.errors
    if args.json:
        print(json.dumps(_report(model, errors), indent=2))
    elif model.modules:
        _print_check(model, errors)
    if not args.json:
        _complain(errors)
    return 1 if errors else 0


def _as_created(args: argparse.Namespace, findings: Findings) -> Findings:
    """With what Create Federation Execution would refuse the same files for: what is used has to be defined, too."""
    errors = examine(load(args.files), complete=True).errors
    hint = "; give the files that define it as well, or --part"
    told = [type(error)(error.message + hint, error.place) for error in errors]
    return Findings(findings.model, tuple(told))


def count(model: ObjectModel) -> dict[str, int]:
    """What the model defines; attributes and parameters only where they are declared."""
    enumerated = (item for item in model.data_types.values() if isinstance(item, EnumeratedType))
    numbers = (
        len(model.object_classes),
        sum(len(item.attributes) for item in model.object_classes.values()),
        len(model.interaction_classes),
        sum(len(item.parameters) for item in model.interaction_classes.values()),
        len(model.dimensions),
        len(model.data_types),
        sum(len(item.enumerators) for item in enumerated),
        len(model.modules),
    )
    return dict(zip(COUNTS, numbers, strict=True))


def _report(model: ObjectModel, errors: Sequence[ObjectModelError]) -> dict[str, object]:
    return {
        **count(model),
        "notes": len(_of(model, "note")),
        "warnings": len(_of(model, "warning")),
        "errors": len(errors),
        "noteTexts": [str(problem) for problem in _of(model, "note")],
        "warningTexts": [str(problem) for problem in _of(model, "warning")],
        "errorTexts": [str(error) for error in errors],
    }


def _print_check(model: ObjectModel, errors: Sequence[ObjectModelError]) -> None:
    found = {f"{severity}s": len(_of(model, severity)) for severity in ("note", "warning")}
    numbers = count(model) | found | {"errors": len(errors)}
    digits = max(len(str(number)) for number in numbers.values())
    for key, number in numbers.items():
        print(f"{_words(key):<20}{number:>{digits}}")
    for file, problems in _by_file(model.warnings).items():
        print(f"\n{file}")
        for problem in problems:
            print(f"  {problem.place}: {problem.severity}: {problem.message}")


def _of(model: ObjectModel, severity: str) -> list[Problem]:
    return [problem for problem in model.warnings if problem.severity == severity]


def _words(key: str) -> str:
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in key)


def _by_file(problems: Iterable[Problem]) -> dict[str, list[Problem]]:
    found: dict[str, list[Problem]] = {}
    for problem in problems:
        found.setdefault(problem.place.rpartition(":")[0] or problem.place, []).append(problem)
    return found


# merge and gen


def run_merge(args: argparse.Namespace) -> int:
    model = _accepted(args, args.mim)
    return 2 if model is None else _write(write_omt(model).decode(), args.out)


def run_gen(args: argparse.Namespace) -> int:
    from weft.fom.codegen import generate

    model = _accepted(args, mim=True)
    if model is None:
        return 2
    name = args.module or (Path(args.out).stem if args.out else "fom")
    return _write(generate(model, name), args.out)


def _write(text: str, output: str | None) -> int:
    if output is None:
        sys.stdout.write(text)
        return 0
    try:
        Path(output).write_text(text, encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"{output}: cannot be written: {error.strerror or error}") from error
    return 0


# show


def run_show(args: argparse.Namespace) -> int:
    model = _accepted(args, mim=True)
    if model is None:
        return 2
    names = find_class(model, args.class_name)
    if len(names) != 1:
        raise SettingsError(_not_one(model, args.class_name, names))
    _show(model, names[0])
    return 0


def find_class(model: ObjectModel, wanted: str) -> list[str]:
    """The class of this name, or all whose qualified name ends with it."""
    every = [*model.object_classes, *model.interaction_classes]
    if wanted in every:
        return [wanted]
    return [name for name in every if name.endswith(f".{wanted}")]


def _not_one(model: ObjectModel, wanted: str, found: list[str]) -> str:
    if found:
        return f"{wanted!r} may be one of {', '.join(found)}"
    every = [*model.object_classes, *model.interaction_classes]
    by_end = {name.rpartition(".")[2].lower(): name for name in reversed(every)}
    close = get_close_matches(wanted.rpartition(".")[2].lower(), by_end, CLOSE_NAMES)
    hint = f"; did you mean {', '.join(by_end[end] for end in close)}?" if close else ""
    return f"no class is called {wanted!r}{hint}"


def _show(model: ObjectModel, name: str) -> None:
    if name in model.object_classes:
        _show_object_class(model, name)
    else:
        _show_interaction_class(model, name)


def _show_object_class(model: ObjectModel, name: str) -> None:
    item = model.object_classes[name]
    print(f"object class {name}  ({item.place})")
    rows = [("attribute", "type", "order", "transportation", "dimensions", "from")]
    for owner in reversed(tuple(model.object_lineage(name))):
        for own in owner.attributes:
            dimensions = _list(model.attribute_dimensions(name, own.name))
            rows.append(
                (own.name, own.data_type or "-", own.order, own.transportation, dimensions, _last(owner.name))
            )
    _table(rows)
    directed = [target for owner in model.object_lineage(name) for target in owner.directed_interactions]
    if directed:
        print(f"directed interactions: {', '.join(directed)}")
    _subclasses(child.name for child in model.object_classes.values() if child.parent == name)


def _show_interaction_class(model: ObjectModel, name: str) -> None:
    item = model.interaction_classes[name]
    print(f"interaction class {name}  ({item.place})")
    print(f"order {item.order}, transportation {item.transportation}, ", end="")
    print(f"dimensions {_list(model.interaction_dimensions(name))}")
    rows = [("parameter", "type", "from")]
    for owner in reversed(tuple(model.interaction_lineage(name))):
        rows.extend((own.name, own.data_type or "-", _last(owner.name)) for own in owner.parameters)
    _table(rows)
    _subclasses(child.name for child in model.interaction_classes.values() if child.parent == name)


def _subclasses(names: Iterable[str]) -> None:
    found = [_last(name) for name in names]
    if found:
        print(f"subclasses: {', '.join(found)}")


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _list(names: Sequence[str]) -> str:
    return ", ".join(names) or "-"


def _table(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  " + "  ".join(cells).rstrip())

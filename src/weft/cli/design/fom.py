"""`weft fom`: check, merge, show object models; typed classes from them, and them from typed classes."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from importlib import invalidate_caches
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from weft.cli.arguments import Commands, add_command, add_out, complain, write_text
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


def register(commands: Commands) -> None:
    parser = commands.add_parser("fom", help="check, merge and show object models (FED, OMT XML)")
    actions = parser.add_subparsers(dest="fom_command", metavar="COMMAND", required=True)

    check = add_command(
        actions, "check", run_check, "count what the files define and list what is wrong with them"
    )
    _files(check)
    _mim(check)
    check.add_argument(
        "--part",
        action="store_true",
        help="the files are parts of a model: what others define may be missing",
    )
    check.add_argument("--json", action="store_true", help="print one JSON object")

    merge = add_command(
        actions, "merge", run_merge, "write the merge of the files as one OMT XML file of 2025"
    )
    _files(merge)
    _mim(merge)
    _output(merge)

    show = add_command(actions, "show", run_show, "show a class with all it inherits")
    show.add_argument(
        "class_name", metavar="CLASS", help="the name of the class; its end is enough if it is unique"
    )
    _files(show)

    gen = add_command(actions, "gen", run_gen, "generate typed Python dataclasses")
    _files(gen)
    _output(gen)
    gen.add_argument("--module", default="", metavar="NAME", help="the name of the generated module")

    write = add_command(
        actions, "write", run_write, "write the dataclasses of a Python module as OMT XML of 2025"
    )
    write.add_argument(
        "module", metavar="MODULE", help="the module, by its name or its file; importing it runs it"
    )
    _output(write)
    write.add_argument("--name", default="", metavar="NAME", help="the name of the object model")


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
    complain(findings.errors)
    return None if findings.errors else findings.model


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
    else:
        if model.modules:
            _print_check(model, errors)
        complain(errors)
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
    by_file: dict[str, list[Problem]] = {}
    for problem in model.warnings:
        by_file.setdefault(problem.place.rpartition(":")[0] or problem.place, []).append(problem)
    for file, problems in by_file.items():
        print(f"\n{file}")
        for problem in problems:
            print(f"  {problem.place}: {problem.severity}: {problem.message}")


def _of(model: ObjectModel, severity: str) -> list[Problem]:
    return [problem for problem in model.warnings if problem.severity == severity]


def _words(key: str) -> str:
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in key)


# merge and gen


def run_merge(args: argparse.Namespace) -> int:
    model = _accepted(args, args.mim)
    if model is None:
        return 2
    write_text(write_omt(model).decode(), args.out)
    return 0


def run_gen(args: argparse.Namespace) -> int:
    from weft.fom.codegen import generate

    model = _accepted(args, mim=True)
    if model is None:
        return 2
    name = args.module or (Path(args.out).stem if args.out else "fom")
    write_text(generate(model, name), args.out)
    return 0


def run_write(args: argparse.Namespace) -> int:
    from weft.fom.classes import fom_from

    with _imported(args.module) as module:
        text = fom_from(module, name=args.name).data.decode()
    write_text(text, args.out)
    return 0


@contextmanager
def _imported(name: str) -> Iterator[ModuleType]:
    """A module by its name, looked for from here, or by its file; it is known as long as the block lasts."""
    path, before = Path(name), list(sys.path)
    if path.suffix == ".py" and not path.exists():
        raise SettingsError(f"{name}: there is no such file")
    sys.path.insert(0, str(path.parent.resolve()) if path.suffix == ".py" else "")
    known = path.stem if path.suffix == ".py" else name
    former = sys.modules.pop(known, None)
    try:
        yield _import(name, known, path if path.suffix == ".py" else None)
    finally:
        sys.path[:] = before
        sys.modules.pop(known, None)
        if former is not None:
            sys.modules[known] = former


def _import(name: str, known: str, path: Path | None) -> ModuleType:
    spec = None
    invalidate_caches()  # the module may just have been written
    with suppress(ModuleNotFoundError, ValueError):
        spec = spec_from_file_location(known, path) if path is not None else find_spec(known)
    if spec is None or spec.loader is None:
        raise SettingsError(f"{name}: there is no such module; give its name, or its file with .py")
    module = sys.modules[known] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise SettingsError(f"{name} cannot be imported: {type(error).__name__}: {error}") from error
    return module


# show


def run_show(args: argparse.Namespace) -> int:
    model = _accepted(args, mim=True)
    if model is None:
        return 2
    name = _find_class(model, args.class_name)
    if name in model.object_classes:
        _show_object_class(model, name)
    else:
        _show_interaction_class(model, name)
    return 0


def _find_class(model: ObjectModel, wanted: str) -> str:
    """The class of this name, or the only one whose qualified name ends with it."""
    every = [*model.object_classes, *model.interaction_classes]
    found = [wanted] if wanted in every else [name for name in every if name.endswith(f".{wanted}")]
    if len(found) == 1:
        return found[0]
    if found:
        raise SettingsError(f"{wanted!r} may be one of {', '.join(found)}")
    by_end = {name.rpartition(".")[2].lower(): name for name in reversed(every)}
    close = get_close_matches(wanted.rpartition(".")[2].lower(), by_end, CLOSE_NAMES)
    hint = f"; did you mean {', '.join(by_end[end] for end in close)}?" if close else ""
    raise SettingsError(f"no class is called {wanted!r}{hint}")


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

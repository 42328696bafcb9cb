"""The figures of the house: how large packages, folders and functions are, and what should become less.

`make check` prints them and holds them to the ceilings below.  A ceiling only goes down: who betters a figure lowers it.
`python tests/support/house.py --names` also tells what stands behind the figures.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
LONG = 60
"""Lines of a function that count as too many."""

SHOWN = 20
"""Places or names that a complaint tells."""

LARGEST = "modules in the largest folder"
P90 = "lines of a function, p90"
LONGEST = "lines of the longest function"
ABOVE = f"functions above {LONG} lines"
ANY = "lines with Any"
DOUBLED = "class names of more than one class"
DOUBLED_PRIVATE = "the same, private names"
GLOSSARY = "words of the glossary"

CEILINGS: dict[str, dict[str, int]] = {
    "src": {LARGEST: 20, P90: 19, LONGEST: 60, ABOVE: 0, ANY: 304, DOUBLED: 0, DOUBLED_PRIVATE: 0},
    "benchmarks": {LARGEST: 20, P90: 21, LONGEST: 57, ABOVE: 0, ANY: 182, DOUBLED: 0, DOUBLED_PRIVATE: 0},
    "docs": {GLOSSARY: 60},
}


class Package(NamedTuple):
    """What there is of one package."""

    files: int
    lines: int
    any_lines: int


class Figure(NamedTuple):
    """A figure, and what stands behind it: places in the source, or names."""

    value: int
    behind: list[str]


class _Function(NamedTuple):
    lines: int
    place: str


def modules(root: Path) -> list[Path]:
    return sorted(one for one in root.rglob("*.py") if "__pycache__" not in one.parts)


def packages(root: Path) -> dict[str, Package]:
    """Return the packages of a folder, by name: what lies at the top counts as `(top)`."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in modules(root):
        inner = path.relative_to(root).parts
        found[inner[0] if len(inner) > 1 else "(top)"].append(path.read_text())
    return {
        name: Package(len(texts), sum(map(_lines, texts)), sum(len(_any_lines(text)) for text in texts))
        for name, texts in sorted(found.items())
    }


def figures(root: Path) -> dict[str, Figure]:
    """Return the figures of all Python files below a folder."""
    folders: dict[str, int] = defaultdict(int)
    functions: list[_Function] = []
    with_any: list[str] = []
    classes: dict[str, list[str]] = defaultdict(list)
    for path in modules(root):
        text, where = path.read_text(), str(path.relative_to(root))
        if path.name not in ("__init__.py", "__main__.py"):
            folders[str(path.parent.relative_to(root))] += 1
        with_any += [f"{where}:{number}" for number in _any_lines(text)]
        tree = ast.parse(text)
        functions += _functions(tree, where)
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                classes[node.name].append(where)
    lengths = sorted(one.lines for one in functions) or [0]
    ordered = sorted(functions, reverse=True)
    shown = [f"{one.place} ({one.lines} lines)" for one in ordered]
    largest = max(folders, key=lambda name: folders[name], default="")
    doubled = {name: places for name, places in sorted(classes.items()) if len(places) > 1}
    above = sum(length > LONG for length in lengths)
    return {
        LARGEST: Figure(folders.get(largest, 0), [largest]),
        P90: Figure(lengths[len(lengths) * 9 // 10], []),
        LONGEST: Figure(lengths[-1], shown[:1]),
        ABOVE: Figure(above, shown[:above]),
        ANY: Figure(len(with_any), with_any),
        DOUBLED: _of_names({name: places for name, places in doubled.items() if name[0] != "_"}),
        DOUBLED_PRIVATE: _of_names({name: places for name, places in doubled.items() if name[0] == "_"}),
    }


def glossary(page: Path) -> Figure:
    """Return how many words a page explains, in tables of two columns."""
    rows = re.findall(r"^\| (?!word )([^|]+) \|", page.read_text(), re.M)
    return Figure(len(rows), rows)


def complaints(found: dict[str, dict[str, Figure]], ceilings: dict[str, dict[str, int]]) -> list[str]:
    """Return a text for each figure that is above its ceiling, or has none."""
    said = []
    for part, its_figures in found.items():
        for name, figure in its_figures.items():
            ceiling = ceilings.get(part, {}).get(name)
            if ceiling is None:
                said.append(f"{part}: {name}: {figure.value}, and no ceiling is set")
            elif figure.value > ceiling:
                behind = "".join(f"\n    {one}" for one in figure.behind[:SHOWN])
                if len(figure.behind) > SHOWN:
                    behind += f"\n    … and {len(figure.behind) - SHOWN:,} more (--names has all)"
                said.append(f"{part}: {name}: {figure.value}, the ceiling is {ceiling}{behind}")
    return said


def table(found: dict[str, dict[str, Figure]], ceilings: dict[str, dict[str, int]]) -> Iterator[str]:
    for part, its_figures in found.items():
        yield f"\n{part:<40}{'figure':>10}{'ceiling':>10}"
        for name, figure in its_figures.items():
            yield f"{name:<40}{figure.value:>10,}{ceilings.get(part, {}).get(name, '-'):>10}"


def package_table(found: dict[str, Package]) -> Iterator[str]:
    yield f"{'package':<20}{'files':>10}{'lines':>10}{'Any':>10}"
    total = Package(*map(sum, zip(*found.values(), strict=True))) if found else Package(0, 0, 0)
    for name, one in [*found.items(), ("together", total)]:
        yield f"{name:<20}{one.files:>10,}{one.lines:>10,}{one.any_lines:>10,}"


def main(root: Path = ROOT, names: bool = False) -> int:
    """Print all; returns 1 if a figure is above its ceiling."""
    for name, folder in (
        ("src", root / "src" / "weft"),
        ("benchmarks", root / "benchmarks" / "weft_benchmarks"),
    ):
        print(f"{name}:", *package_table(packages(folder)), "", sep="\n")
    found = {name: figures(root / name) for name in ("src", "benchmarks")}
    found["docs"] = {GLOSSARY: glossary(root / "docs" / "glossary.md")}
    print(*table(found, CEILINGS), sep="\n")
    if names:
        for part, its_figures in found.items():
            for name, figure in its_figures.items():
                print(f"\n{part}: {name}", *figure.behind, sep="\n    ")
    said = complaints(found, CEILINGS)
    for one in said:
        print(f"house: {one}", file=sys.stderr)
    if said:
        print("house: better the source; ceilings are in tests/support/house.py", file=sys.stderr)
    return 1 if said else 0


def _lines(text: str) -> int:
    return len(text.splitlines())


def _any_lines(text: str) -> list[int]:
    return [number for number, line in enumerate(text.splitlines(), 1) if re.search(r"\bAny\b", line)]


def _functions(tree: ast.Module, where: str) -> Iterator[_Function]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
            yield _Function(node.end_lineno - node.lineno + 1, f"{where}:{node.lineno} {node.name}")


def _of_names(doubled: dict[str, list[str]]) -> Figure:
    return Figure(len(doubled), [f"{name}: {', '.join(places)}" for name, places in doubled.items()])


if __name__ == "__main__":
    sys.exit(main(names="--names" in sys.argv[1:]))

"""Defects put into the real source of the channel, one at a time.

A mutant is the whole package read anew from its sources under another name, with one piece of text replaced.  The piece has to be
there, exactly once: when the source moves on, the mutant must too.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

SOURCE = Path(__file__).resolve().parents[2] / "src" / "weft" / "channel"

# name: module, what stands there, what the mutant has instead
CORRELATION = {
    "the last is kept": ("correlation", "if kept[node.place] is None:", "if True:"),
    "a conjunction fires with any part": ("correlation", "        if self.missing:\n", "        if False:\n"),
    "a fired group is not cleared": ("correlation", "        self.open()\n        return found", "        return found"),
    "a disjunction takes the first that fires": (
        "correlation", "found = got if found is None else found + got", "return got",
    ),
    "firing clears the whole tree": ("proxies", "        if self.clears:\n", "        if True:\n"),
    "firing clears the nested groups": (
        "correlation", "        self.open()\n        return found", "        self.clear()\n        return found",
    ),
    "events are in the order of the parts": (
        "correlation", "for arrival in sorted(arrivals, key=_BY_NUMBER):", "for arrival in arrivals:",
    ),
    "an event of two registrations comes twice": (
        "correlation", "if not found or found[len(found) - 1].number != arrival.number:", "if True:",
    ),
    "only the first registration sees an event": (
        "proxies", "for place in range(len(target.steps)):", "for place in range(1):",
    ),
}  # fmt: skip

FILTERING = {
    "subscriptions to any source are forgotten": ("subscriptions", "for asked in (source, ANY):", "for asked in (source,):"),
    "routes are never stale": (
        "subscriptions", "                route.fresh = False\n        elif", "                pass\n        elif",
    ),
    "a change for any type spares the routes": (
        "subscriptions", "_stale(self._routes.get(source))", "pass",
    ),
    "a change for any source spares the routes": ("subscriptions", "_stale(self._by_type.get(type))", "pass"),
    "who has gone is still served": ("proxies", "                elif registration.active:\n", "                else:\n"),
}  # fmt: skip

MUTANTS = {**CORRELATION, **FILTERING}


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of one mutant, by the name of its package."""

    def __init__(self, package: str, module: str, old: str, new: str) -> None:
        self.package, self.module, self.old, self.new = package, module, old, new

    def find_spec(
        self, name: str, path: object, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name == self.package or name.startswith(f"{self.package}."):
            return importlib.util.spec_from_loader(
                name, self, is_package=self._source(name).name == "__init__.py"
            )
        return None

    def _source(self, name: str) -> Path:
        place = SOURCE.joinpath(*name.removeprefix(self.package).split("."))
        return place / "__init__.py" if place.is_dir() else place.with_suffix(".py")

    def exec_module(self, module: ModuleType) -> None:
        short = module.__name__.rpartition(".")[2]
        text = self._source(module.__name__).read_text()
        if short == self.module:
            assert text.count(self.old) == 1, f"{self.old!r} is {text.count(self.old)} times in {short}.py"
            text = text.replace(self.old, self.new)
        exec(compile(text.replace("weft.channel", self.package), f"{short}.py", "exec"), module.__dict__)


def load(name: str) -> ModuleType:
    """The package with one defect; without a name, with none."""
    number = sorted(MUTANTS).index(name) if name else len(MUTANTS)
    package = f"channel_mutant_{number}"
    finder = _Finder(package, *MUTANTS.get(name, ("", "", "")))
    sys.meta_path.insert(0, finder)
    try:
        return importlib.import_module(package)
    finally:
        sys.meta_path.remove(finder)
        for known in [one for one in sys.modules if one.split(".")[0] == package]:
            del sys.modules[known]

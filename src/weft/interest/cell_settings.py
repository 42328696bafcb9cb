"""Into which cells dimensions are cut for regions as of a logical time (S4-3, S4-22): the CellOptions form of a RID file.

    (DataDistribution (Options
      (CellOptions
        (NumCells 100)
        (DimensionOptions (X (NumCells 20)) (Y (CellBounds 10 20 50))))))

NumCells is for all dimensions of an attribute or interaction class together, about; a dimension may have a number of its own, or
the places where its cells begin, which then need not be of one size: Y has the cells [0, 10), [10, 20), [20, 50) and from 50 on.
Dimensions are called as the object model calls them, those of a FED file with their space (Ground.x).

Cells decide who is asked whether it wants a message, never who gets it (docs/explanation/ddm-sync.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from weft.fom import Rid
from weft.interest.cells import CellAxis
from weft.interest.spaces import Spaces
from weft.model.errors import SettingsError

CELLS = 64
MAX_CELLS = 1 << 16  # of one space: a region without bounds is on the lists of all of them

Cut = int | tuple[int, ...]
"""How many cells of one size, or where each but the first begins."""


@dataclass(frozen=True, slots=True)
class CellSettings:
    total: int = CELLS
    # By name of the dimension, in lower case.
    dimensions: Mapping[str, Cut] = field(default_factory=dict)

    def axes(self, dimensions: Sequence[tuple[str, int, int]]) -> list[CellAxis]:
        """Of what has these dimensions: the name of each, its number, and its upper bound."""
        cuts = self._cuts([name for name, _, _ in dimensions])
        return [
            CellAxis(str(number), 0, upper, min(cut, upper) if isinstance(cut, int) else cut)
            for (_, number, upper), cut in zip(dimensions, cuts, strict=True)
        ]

    def _cuts(self, names: Sequence[str]) -> list[Cut]:
        each = 1 if self.total == 1 or not names else max(2, round(self.total ** (1 / len(names))))
        return [self.dimensions.get(name.lower(), each) for name in names]

    def count(self, names: Sequence[str]) -> int:
        """How many cells there are at most."""
        return prod([cut if isinstance(cut, int) else len(cut) + 1 for cut in self._cuts(names)])


def read_cell_settings(forms: Sequence[Rid], spaces: Spaces) -> CellSettings:
    """`forms`: all that are called CellOptions."""
    if not forms:
        return CellSettings()
    form = forms[0]
    if len(forms) > 1:
        raise _error(forms[1], f"stands here a second time, after {form.place}")
    _only(form, ("NumCells", "DimensionOptions"))
    total = form.child("NumCells")
    found = CellSettings(CELLS if total is None else _number(total), _dimensions(form, spaces))
    for space in spaces.all:
        names = [_full_name(spaces, dimension.number) for dimension in space.dimensions]
        if found.count(names) > MAX_CELLS:
            text = f"cuts {space.name} into {found.count(names)} cells, and {MAX_CELLS} are the most; take larger ones"
            raise _error(form, text)
    return found


def write_cell_settings(settings: CellSettings) -> list[str]:
    """As `read_cell_settings` takes it; nothing where nothing is special."""
    if settings == CellSettings():
        return []
    own = [
        f"({name} (NumCells {cut}))"
        if isinstance(cut, int)
        else f"({name} (CellBounds {' '.join(map(str, cut))}))"
        for name, cut in settings.dimensions.items()
    ]
    options = f" (DimensionOptions {' '.join(own)})" if own else ""
    return [f"(CellOptions (NumCells {settings.total}){options})"]


def _full_name(spaces: Spaces, number: int) -> str:
    return list(spaces.model.dimensions)[number - 1]


def _dimensions(form: Rid, spaces: Spaces) -> dict[str, Cut]:
    known = {name.lower(): dimension for name, dimension in spaces.model.dimensions.items()}
    found: dict[str, Cut] = {}
    for options in form.all("DimensionOptions"):
        for named in options.children:
            dimension = known.get(named.name.lower())
            if dimension is None:
                ours = [_full_name(spaces, one.number) for space in spaces.all for one in space.dimensions]
                names = ", ".join(dict.fromkeys(ours)) or "none"
                raise _error(named, f"knows no dimension {named.name!r}; there are: {names}")
            if named.name.lower() in found:
                raise _error(named, f"has {named.name} a second time")
            found[named.name.lower()] = _cut(named, dimension.upper_bound)
    return found


def _cut(named: Rid, upper: int) -> Cut:
    _only(named, ("NumCells", "CellBounds"))
    number, bounds = named.child("NumCells"), named.child("CellBounds")
    if number is not None and bounds is None:
        return _number(number)
    if bounds is None or number is not None:
        raise _error(named, f"of {named.name} needs either (NumCells N) or (CellBounds B …)")
    values = tuple([_whole(bounds, text) for text in bounds.values])
    if (
        bounds.children
        or not values
        or not all(a < b for a, b in zip((0, *values), (*values, upper), strict=True))
    ):
        text = f"CellBounds of {named.name} must be whole numbers above 0 and below {upper}, each above the one before"
        raise _error(bounds, f"{text}, not {' '.join(bounds.values) or 'nothing'}")
    if len(values) >= MAX_CELLS:
        raise _error(
            bounds, f"CellBounds of {named.name} has {len(values) + 1} cells, and {MAX_CELLS} are the most"
        )
    return values


def _number(form: Rid) -> int:
    value = _whole(form, form.values[0]) if len(form.values) == 1 and not form.children else -1
    if not 1 <= value <= MAX_CELLS:
        shown = " ".join(form.values) or "nothing"
        raise _error(form, f"NumCells must be a whole number from 1 to {MAX_CELLS}, not {shown!r}")
    return value


def _whole(form: Rid, text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        return -1  # which is nowhere allowed


def _only(form: Rid, names: Iterable[str]) -> None:
    """What means nothing is refused here, not passed over: cells would silently be others than was meant."""
    allowed = [name.lower() for name in names]
    for child in form.children:
        if child.name.lower() not in allowed:
            raise _error(child, f"knows no {child.name!r}; there are: {', '.join(names)}")
        if [one.name.lower() for one in form.children].count(child.name.lower()) > 1:
            raise _error(child, f"has {child.name} twice")


def _error(form: Rid, message: str) -> SettingsError:
    return SettingsError(f"{form.place}: CellOptions {message}")

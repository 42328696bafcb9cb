"""Object models of our own in files, by name: `tests/data/foms`."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from weft import Source
from weft.fom import ObjectModel, merge, parse_module

FOMS = Path(__file__).parents[1] / "data" / "foms"
MODELS: dict[str, tuple[str, ...]] = {
    "range": (
        "range/range-1-basics.xml",
        "range/range-2-enumerations.xml",
        "range/range-3-things.xml",
        "range/range-4-throws.xml",
        "range/range-5-switches.xml",
    ),
    "harbour": (
        "harbour/harbour_1_types.xml",
        "harbour/harbour_2_ships.xml",
        "harbour/harbour_3_office2.xml",
        "harbour/harbour_4_switches.xml",
    ),
    "bakery": ("bakery/bakery.xml", "bakery/bakery-goods.xml", "bakery/bakery-cakes.xml"),
    "bakery as SOM": ("bakery/bakery-som.xml",),
    "orchard": ("orchard/orchard.xml", "orchard/orchard-more.xml"),
}
"""The files that belong together."""


@cache
def object_model(name: str) -> ObjectModel:
    files = (FOMS / file for file in MODELS[name])
    return merge(parse_module(Source(path.name, path.read_bytes())) for path in files)

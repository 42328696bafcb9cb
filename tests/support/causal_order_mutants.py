"""Defects put into the real source of causal order in the kernel, one at a time: causal.py read anew with one line replaced.

The source is run as it stands, above the compiled modules where there are any; the compiled module itself is not touched.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

from weft.kernel.federation import founding
from weft.kernel.message.causal_order import CausalOrder

SOURCE = Path(__file__).resolve().parents[2] / "src" / "weft" / "kernel" / "message" / "causal_order.py"

HEARD = "parcel.message.interaction_class in federation.members[FederateHandle.of(number)].declared.receives"

# name: what stands there, once, and what the mutant has instead
MUTANTS = {
    "the rows are not carried": (
        "tags = encode_tags(tag, way.groups)",
        "tags = encode_tags(Tag(tag.view, tag.source, tag.time, tag.destinations, [[] for _ in tag.rows]), way.groups)",
    ),
    "all nodes get the tag of the first": ("if tags[at] is not last:", "if False:"),
    "ways outlive what they were found from": ("            self.ways.clear()\n", "            pass\n"),
    "total order goes straight": ("is not None and order is _TOTAL:", "is None:"),
    "a filtered message does not count": (
        "            if node == step.node:\n                self._admit(",
        f"            if node == step.node and {HEARD}:\n                self._admit(",
    ),
    "views in between are forgotten": ("            if view > ended[0]:\n", "            if False:\n"),
    "what waits at the end of a view is dropped": (
        "            for released in current.crashed([]):\n",
        "            for released in ():\n",
    ),
    "messages of the next view are not kept": (
        "            process.later.append(stamped)\n        else:",
        "            pass\n        else:",
    ),
    "processes outlive their view": ("        process.current = process.sending\n", "        process.current.view = self.view\n"),
    "ghosts are not kept": ("            self.ghosts[instance.handle] = Ghost(", "            Ghost("),
    "a lost removal is not told": ("            if ghost.view < self.view:", "            if False:"),
    "nothing is passed on for the lost": ("self._forward(step, parcel)\n", "pass\n"),
}  # fmt: skip


@contextmanager
def mutated(name: str) -> Iterator[None]:
    """Without a name it is the source as it stands: the control."""
    source = SOURCE.read_text(encoding="utf-8")
    before, after = MUTANTS.get(name, ("", ""))
    assert not name or source.count(before) == 1, f"the mutant {name!r} has lost its place"
    made: dict[str, Any] = {"__name__": "weft.kernel.message.causal_mutant", "__file__": str(SOURCE)}
    exec(compile(source.replace(before, after), str(SOURCE), "exec"), made)
    # A federation takes the compiled class only, and what is derived from it.
    methods = {one: what for one, what in vars(made["CausalOrder"]).items() if isinstance(what, FunctionType)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(founding, "CausalOrder", type("CausalOrder", (CausalOrder,), methods))
        yield

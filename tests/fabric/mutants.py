"""Defects put into the real source of the channel, one at a time.

A mutant is the channel's modules read anew from their sources with one line replaced.  The line has to be there, exactly once:
when the source moves on, the mutant must too.  The compiled modules are not touched.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

SOURCE = Path(__file__).resolve().parents[2] / "src" / "weft" / "fabric"
MODULES = ("clock", "domain_state", "server_routes", "channel")  # what is mutated, and what comes between

# name: module, what stands there, what the mutant has instead
MUTANTS = {
    # the four of the printed algorithm
    "told before the stamp is made": ("clock", "since = self.told[peer]", "since = self.now"),
    "all states start at the same value": ("clock", "self.told = [0] * size", "self.told = [1] * size"),
    "the source of a change is not noted": (
        "clock", "self._set(cell, values[index], peer)", "self._set(cell, values[index], self.source[cell])",
    ),
    "without the own entry": (
        "channel", "arrived = self._read(state, peer, packet)",
        """arrived = self._read(state, peer, packet)
        packet.number = state.clock.received[sender] + 1 + len(state.waiting[sender])""",
    ),
    # and what else the channel must not do
    "a multicast is a series of sends": (
        "channel", "self._spread(self.own, wanted, payload)",
        "[self._spread(self.own, [one], payload) for one in wanted]",
    ),
    "no check of the column": ("clock", "if values[index] > value[rows[index] * size + own]:", "if False:"),
    "duplicates are delivered": ("clock", "return DUPLICATE if number <= delivered else WAIT", "return DELIVER"),
    "what waited is not looked at again": (
        "channel", "            self._deliver(state, arrived)\n            self._release(state)\n",
        "            self._deliver(state, arrived)\n",
    ),
    "the clock is not saved": ("channel", "        if not clock.unsaved:\n", "        if True:\n"),
    "what waits is not saved": (
        "channel", "self._changes.waiting[state.domain, sender, packet.number] = packet", "pass",
    ),
    "unacknowledged packets are not sent again": (
        "channel", "for packet in state.out[place].values():", "for packet in ():",
    ),
    # … about servers that are lost
    "what waits for a lost server waits for ever": (
        "channel", "progress = self._release_without_lost(state)", "pass",
    ),
    "what waits when a server is lost is not looked at": (
        "channel", "                self._release(state)\n\n    def found", "\n    def found",
    ),
    "a server that was lost is never waited for again": (
        "channel", "                state.lost[place] = False\n", "",
    ),
    "what comes late from a lost server is taken for repeated": (
        "clock", "delivered = self.received[peer]", "delivered = self.value[peer * self.size + self.own]",
    ),
    "what is missing of a lost server is not saved": (
        "channel", "changes.missing.append((domain, peer, clock.missing(peer)))", "pass",
    ),
    "nobody is waited for while one is lost": (
        "clock", "if values[index] > value[row * size + own] and not lost[row]:", "if False:",
    ),
}  # fmt: skip
LOST = list(MUTANTS)[-6:]


def load(name: str) -> Any:
    """The Channel class of a mutant; without a name, of none: the control."""
    module, old, new = MUTANTS.get(name, ("", "", ""))
    made: dict[str, ModuleType] = {}
    for one in MODULES:
        text = (SOURCE / f"{one}.py").read_text()
        if one == module:
            assert text.count(old) == 1, f"{name}: {old!r} stands {text.count(old)} times in {one}.py"
            text = text.replace(old, new)
        for earlier in made:
            text = text.replace(f"from weft.fabric.{earlier} import", f"from mutant_{earlier} import")
        spec = importlib.util.spec_from_loader(f"mutant_{one}", loader=None)
        assert spec is not None
        made[one] = importlib.util.module_from_spec(spec)
        sys.modules[f"mutant_{one}"] = made[one]
        exec(compile(text, f"{one}.py, {name}", "exec"), made[one].__dict__)
    for one in MODULES:
        del sys.modules[f"mutant_{one}"]
    return made["channel"].Channel

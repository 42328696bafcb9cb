"""Defects put into the real source of the causal process, one at a time.

A mutant is mses.py read anew with one line replaced.  The line has to be there, exactly once: when the source moves on, the
mutant must too.  The compiled module is not touched.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

SOURCE = Path(__file__).resolve().parents[2] / "src" / "weft" / "ordering" / "mses.py"

RECEIVE, SEND, FIRST, SECOND, THIRD = "receive order", "no step 3 of sending", "no (i)", "no (ii)", "no (iii)"
UNION = "(iii) is a union"

# name: what stands there, what the mutant has instead
MUTANTS = {
    RECEIVE: ("if time[source] < row[at + 1]:", "if False:"),
    SEND: ("            rows[k] = mine\n", "            pass\n"),
    FIRST: ("                rows[k] = after\n", "                pass\n"),
    SECOND: ("                rows[k] = newer(rows[k], time)\n", "                pass\n"),
    THIRD: ("rows[k] = merge(rows[k], theirs[k] if k < known else NOTHING, time, self.time)", "pass"),
    UNION: ("k < known else NOTHING, time, self.time)", "k < known else NOTHING, [], [])"),
    "duplicates are delivered": ("if number <= self.time[source] or ", "if False and "),
    "a repeat of what waits is delivered": (" or (self.held and number << PLACES | source in self.named):", ":"),
    "what comes is handed out unseen": ("self._missing(tag.row(self.own), 0) >= 0:", "False:"),
    "who had waited is left to wait": ("        if self.ready:\n            self._take_all(released)\n", ""),
    "all destinations are left with one row": ("if rows[k] is not before:", "if before is NOTHING:"),
    "nobody is woken": ("                    self._wake(place)\n", "                    pass\n"),
    "no view change at a crash": ("        for held in left:\n", "        for held in ():\n"),
    "what waits at a crash comes as it arrived": ("return sum(held.tag.time), held.arrival", "return 0, held.arrival"),
    "rows outlive a crash": ("        self.rows = [NOTHING] * len(self.rows)\n", "        pass\n"),
    "messages of the next view are delivered in this one": ("if tag.view > self.view:", "if False:"),
    "late messages of the crashed are delivered": (
        "        if self.state[source] == CRASHED:\n            self.counts.refused += 1\n            return None\n",
        "        if self.state[source] == CRASHED:\n            tag.view = self.view\n",
    ),
}  # fmt: skip
ALWAYS = (RECEIVE, SEND, FIRST, THIRD)  # whoever comes and goes
SAFE = (SECOND, UNION)


def load(name: str) -> Any:
    """The Mses class of a mutant; without a name, of none: the control."""
    old, new = MUTANTS.get(name, ("", ""))
    text = SOURCE.read_text()
    if name:
        assert text.count(old) == 1, f"{name}: {old!r} stands {text.count(old)} times"
        text = text.replace(old, new)
    module: dict[str, Any] = {"__name__": f"mutant: {name}"}
    exec(compile(text, f"mses.py, {name}", "exec"), module)
    return module["Mses"]

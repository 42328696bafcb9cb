"""The port between a script and where it runs: a world.

A world is somewhere that federates can connect to.  `rest` is what makes worlds comparable: when it returns, all that
calls so far have led to has come to the connections of those it is for.  It must not guess by the clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from weft.federate import RTIambassador
from weft.model.errors import RTIexception
from weft.model.records import RtiConfiguration


class World(Protocol):
    declarations: str
    """Which go by logical time in federations that are created here (`ddm.declarations`); set before `start`."""

    @property
    def name(self) -> str: ...

    @property
    def one_place(self) -> bool:
        """Are all federates at one node?"""
        ...

    def start(self) -> None: ...

    def ambassador(self, federate: int) -> RTIambassador:
        """One that is not connected yet."""
        ...

    def configuration(self, federate: int) -> RtiConfiguration | None:
        """What it connects with."""
        ...

    def rest(self, federates: Sequence[RTIambassador]) -> list[RTIexception]:
        """Until everything has come to whom it is for; what was refused meanwhile of calls nobody waited for."""
        ...

    def log(self) -> list[str]:
        """What the world has reported since it was asked last."""
        ...

    @property
    def runs(self) -> Path | None:
        """Below which folder runs are recorded; they are whole once the world has stopped."""
        ...

    def stop(self) -> None: ...

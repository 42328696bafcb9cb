"""What a node has to say to whoever runs it: a text that also says what it is about.

It is a `str`, so that whatever takes texts takes it; logs in JSON (`weft.host.log`) have more of it than its words.
"""

from __future__ import annotations

from typing import Final, Self

INFO: Final = "info"
WARNING: Final = "warning"
ERROR: Final = "error"
OTHER: Final = "other"
"""The event of a plain text."""


class LogText(str):
    """`event` is a word that stays the same whatever the text says; `about` names federation, federate, peer, …, where known."""

    __slots__ = ("about", "event", "level")
    event: str
    level: str
    about: dict[str, str]

    def __new__(cls, text: str, event: str = OTHER, level: str = INFO, **about: str) -> Self:
        made = super().__new__(cls, text)
        made.event = event
        made.level = level
        made.about = {name: value for name, value in about.items() if value}
        return made

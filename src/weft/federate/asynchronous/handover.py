"""Callbacks go from the thread in which the RTI calls back to the event loop, in their order.

So all that a federate knows changes in the loop's thread alone, handlers run there, and nobody has to look again and again.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from weft.federate.callbacks import FederateAmbassador


class Handover(FederateAmbassador):
    """Is called by the RTI; `wake` is called after each callback, with what went wrong in it."""

    def __init__(
        self,
        ears: FederateAmbassador,
        loop: asyncio.AbstractEventLoop,
        wake: Callable[[BaseException | None], None],
    ) -> None:
        self._ears = ears
        self._loop = loop
        self._wake = wake
        self.ended = False  # the federate leaves: what is still under way is not heard

    def _hand_over(self, name: str, arguments: tuple[object, ...]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody listens any more
            self._loop.call_soon_threadsafe(self._call, name, arguments)

    def _call(self, name: str, arguments: tuple[object, ...]) -> None:
        if self.ended:
            return
        try:
            getattr(self._ears, name)(*arguments)
        except Exception as error:
            self._wake(error)
        else:
            self._wake(None)


def _handing(name: str) -> Callable[..., None]:
    def hand_over(self: Handover, *arguments: object) -> None:
        self._hand_over(name, arguments)

    return hand_over


for _name in dir(FederateAmbassador):
    if not _name.startswith("_"):
        setattr(Handover, _name, _handing(_name))

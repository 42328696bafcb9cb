"""What goes to pages: the newest picture, at most twice a second each, as the difference to what that page has.

A page that does not read is not queued for: it gets the newest picture when it has taken what it was sent, however many it
missed. What pages that look at the same need is made once.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable

from weft.console.patches import difference
from weft.console.picture import Look, view
from weft.console.surveys import section
from weft.model.json_types import Json, JsonObject

Key = tuple[Look, bool]

INTERVAL = 0.5  # seconds between two updates of a page
MOST = 64
SEND_SECONDS = 30.0  # a page that takes longer to read one update is let go
LARGE = 64 << 10  # beyond, it is looked whether the whole picture is shorter than what has changed


def json_text(value: Json) -> str:
    """Without anything that a browser could take for markup, wherever it may end up."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


class ShownPicture:
    """A picture that is being shown; `number` tells it from others."""

    def __init__(self, number: int, picture: JsonObject) -> None:
        self.number = number
        self._picture = picture
        self._views: dict[Key, JsonObject] = {}
        self._texts: dict[Key, str] = {}
        self._patches: dict[tuple[Key, int, Key], str] = {}

    def view(self, key: Key) -> JsonObject:
        if key not in self._views:
            look, may_steer = key
            shown = view(self._picture, look)
            self._views[key] = {**shown, "console": {**section(shown, "console"), "may_steer": may_steer}}
        return self._views[key]

    def full(self, key: Key) -> str:
        if key not in self._texts:
            self._texts[key] = json_text(self.view(key))
        return self._texts[key]

    def patch(self, since: ShownPicture, before: Key, key: Key) -> str:
        """ "{}" if nothing has changed."""
        found = self._patches.get((before, since.number, key))
        if found is None:
            found = json_text(difference(since.view(before), self.view(key)))
            self._patches[before, since.number, key] = found
        return found


class Page:
    """One page: what it looks at, and what it has."""

    def __init__(self, may_steer: bool) -> None:
        self.look = Look()
        self._may_steer = may_steer
        self._newest: ShownPicture | None = None
        self._has: tuple[ShownPicture, Key] | None = None
        self._sent = 0
        self._fresh = asyncio.Event()

    def offer(self, publication: ShownPicture) -> None:
        self._newest = publication
        self._fresh.set()

    def looks_at(self, look: Look) -> None:
        self.look = look
        if self._newest is not None:
            self._fresh.set()

    def message(self) -> str:
        """What brings the page to the newest picture; a patch may be empty, and says that the console is there."""
        assert self._newest is not None
        key = (self.look, self._may_steer)
        self._sent += 1
        text = self._message(self._newest, key)
        self._has = (self._newest, key)
        return text

    def _message(self, newest: ShownPicture, key: Key) -> str:
        if self._has is not None:
            patch = newest.patch(self._has[0], self._has[1], key)
            if len(patch) < LARGE or len(patch) < len(newest.full(key)):
                return f'{{"type":"delta","seq":{self._sent},"patch":{patch}}}'
        return f'{{"type":"full","seq":{self._sent},"picture":{newest.full(key)}}}'

    async def show(self, send: Callable[[str], Awaitable[None]]) -> None:
        """Until the page is gone, or takes too long (TimeoutError)."""
        loop = asyncio.get_running_loop()
        while True:
            await self._fresh.wait()
            self._fresh.clear()
            began = loop.time()
            await asyncio.wait_for(send(self.message()), SEND_SECONDS)
            await asyncio.sleep(max(0.0, began + INTERVAL - loop.time()))

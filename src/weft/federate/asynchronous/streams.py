"""What comes, one after the other: `async for update in federate.updates("Ship")`."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncIterator, Callable
from typing import Generic, TypeVar

T = TypeVar("T")
Table = dict[str, list[Callable[..., object]]]


class _End:
    """Nothing comes any more; perhaps for this reason."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


class AsyncStream(AsyncIterator[T], Generic[T]):
    """Begins when it is made, so nothing is missed; ends with the federate's stay, or when nobody holds it any more."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[T | _End] = asyncio.Queue()
        self._ended = False

    def __aiter__(self) -> AsyncStream[T]:
        return self

    async def __anext__(self) -> T:
        if self._ended and self._queue.empty():
            raise StopAsyncIteration
        found = await self._queue.get()
        if isinstance(found, _End):
            if found.error is not None:
                raise found.error
            raise StopAsyncIteration
        return found

    def put(self, one: T) -> None:
        self._queue.put_nowait(one)

    def end(self, error: BaseException | None = None) -> None:
        if not self._ended:
            self._ended = True
            self._queue.put_nowait(_End(error))


def handler_of(stream: AsyncStream[T], made: Callable[..., T]) -> Callable[..., None]:
    """Does not hold the stream: whoever leaves the loop over it has let go of it."""
    held = weakref.ref(stream)

    def hear(*what: object) -> None:
        found = held()
        if found is not None:
            found.put(made(*what))

    return hear


def forget_with(stream: AsyncStream[T], table: Table, full: str, handler: Callable[..., object]) -> None:
    """The handler goes when the stream goes."""
    handlers = table.get(full, [])

    def forget() -> None:
        if handler in handlers:
            handlers.remove(handler)

    weakref.finalize(stream, forget)

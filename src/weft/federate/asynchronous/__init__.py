"""A `Federate` for asyncio: callbacks are handed to the event loop, and what waits is awaited."""

from weft.federate.asynchronous.federate import AsyncFederate
from weft.federate.asynchronous.streams import AsyncStream

__all__ = ["AsyncFederate", "AsyncStream"]

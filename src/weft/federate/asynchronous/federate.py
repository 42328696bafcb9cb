"""The asyncio way to write a federate.

    async with weft.join_async("Harbour", "tugboat", fom="harbour.xml", time=0.5) as tugboat:
        bollard = tugboat.register("Tug", "Bollard")
        async for t in tugboat.steps(0.5, until=10):
            bollard.update(Knots=8.0, time=t + 0.5)

What does not wait for others is as in `Federate`, and is not awaited: sending, registering, subscribing, handlers.  What waits is
awaited.  Handlers run in the event loop; an exception in one comes out where something is awaited next.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Iterable
from types import TracebackType
from typing import Self, TypeVar, overload

from weft.federate.asynchronous.handover import Handover
from weft.federate.asynchronous.streams import AsyncStream, forget_with, handler_of
from weft.federate.clock import Number, due_steps
from weft.federate.federate import Federate
from weft.federate.meeting import Who
from weft.federate.objects.ownership import SomeObject
from weft.federate.regions import Where
from weft.federate.things import ReceivedInteraction, ReceivedUpdate, RemoteObject
from weft.fom.classes import HLAinteractionRoot, HLAobjectRoot
from weft.host import Designator, NodeHost
from weft.model.enums import CallbackModel
from weft.model.errors import FederateNotExecutionMember, NotConnected, RTIexception
from weft.model.records import Credentials, RtiConfiguration
from weft.model.time import AnyTime

R = TypeVar("R")
I = TypeVar("I", bound=HLAinteractionRoot)  # noqa: E741
O = TypeVar("O", bound=HLAobjectRoot)  # noqa: E741
_LOOK = 5.0  # seconds after which it is asked whether what is waited for was refused


class AsyncFederate:
    """A federate of one federation, for an `async with` block; its arguments are those of `Federate`.

    `federate` is the `Federate` below; its methods that wait would hold up the event loop.
    """

    def __init__(
        self,
        federation: str = "",
        name: str | None = None,
        *,
        fom: Designator | Iterable[Designator] | None = None,
        kind: str | None = None,
        time: str | Number = "",
        lookahead: Number | None = None,
        regulating: bool | None = None,
        constrained: bool | None = None,
        rti: str | RtiConfiguration | None = None,
        user: str = "",
        password: str = "",
        credentials: Credentials | None = None,
        host: NodeHost | None = None,
        causal: bool = False,
        wait: float = 10.0,
    ) -> None:
        self.federate = federate = Federate(
            federation, name, fom=fom, kind=kind, time=time, lookahead=lookahead, regulating=regulating,
            constrained=constrained, callbacks=CallbackModel.IMMEDIATE, rti=rti, user=user, password=password,
            credentials=credentials, host=host, causal=causal, wait=wait,
        )  # fmt: skip
        self._handover: Handover | None = None
        self._waiting: set[asyncio.Future[None]] = set()
        self._failures: list[BaseException] = []
        self._streams: weakref.WeakSet[AsyncStream[object]] = weakref.WeakSet()
        self.rti, self.objects, self.undecoded = federate.rti, federate.objects, federate.undecoded
        self.publish, self.send, self.register = federate.publish, federate.send, federate.register
        self.update, self.registered, self.retract = federate.update, federate.registered, federate.retract
        self.subscribe, self.region, self.moving = federate.subscribe, federate.region, federate.moving
        self.on_interaction, self.on_update = federate.on_interaction, federate.on_update
        self.on_discovery, self.on_removal = federate.on_discovery, federate.on_removal
        self.on_undecoded, self.on_blocked, self.on_miss = (
            federate.on_undecoded, federate.on_blocked, federate.on_miss,
        )  # fmt: skip
        self.qos, self.correlate, self.uncorrelate = federate.qos, federate.correlate, federate.uncorrelate
        self.acquire, self.offer, self.divest = federate.acquire, federate.offer, federate.divest
        self.release, self.deny, self.owns = federate.release, federate.deny, federate.owns
        self.on_acquired, self.on_unavailable = federate.on_acquired, federate.on_unavailable
        self.on_requested, self.on_released = federate.on_requested, federate.on_released
        self.on_offered, self.on_request, self.on_directed = (
            federate.on_offered, federate.on_request, federate.on_directed,
        )  # fmt: skip
        self.on_save, self.on_restore, self.recall = federate.on_save, federate.on_restore, federate.recall

    @property
    def name(self) -> str:
        return self.federate.name

    @property
    def federation(self) -> str:
        return self.federate.federation

    @property
    def now(self) -> Number:
        """The logical time that this federate was granted last."""
        return self.federate.now

    @property
    def earliest(self) -> Number:
        """The earliest time of a message that is sent now."""
        return self.federate.earliest

    @property
    def paused(self) -> bool:
        """Is the federation being saved or restored?"""
        return self.federate.paused

    # --- joining and leaving ----------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        await self.join()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self.resign()
        except (NotConnected, FederateNotExecutionMember):
            pass  # the RTI has ended, or has resigned this federate: it is out already
        except RTIexception:
            if error is None:
                raise
        if error is None:
            self._raise_failure()

    async def join(self) -> None:
        """As `Federate.join`; if it is cancelled the federate has not joined."""
        federate = self.federate
        handover = Handover(federate._ears, asyncio.get_running_loop(), self._wake)
        self._handover = federate._hearing = handover
        self._failures.clear()
        joining = self._begin(federate.join)
        try:
            await asyncio.shield(joining)
        except asyncio.CancelledError:
            if await self._give_up(joining):
                await self.resign()
            raise

    async def resign(self) -> None:
        """As `Federate.resign`; streams end.  Whoever is cancelled meanwhile has left all the same."""
        if self._handover is not None:
            self._handover.ended = True
        try:
            await self._finished(self._begin(self.federate.resign))
        finally:
            for stream in list(self._streams):
                stream.end()
            self._wake(None)

    # --- what comes -------------------------------------------------------------------------------------------

    @overload
    def updates(
        self, name: str, *attributes: str, rate: str = "", where: Where | None = None
    ) -> AsyncStream[ReceivedUpdate]: ...
    @overload
    def updates(
        self, name: type[O], *attributes: str, rate: str = "", where: Where | None = None
    ) -> AsyncStream[tuple[O, ReceivedUpdate]]: ...

    def updates(
        self, name: str | type[O], *attributes: str, rate: str = "", where: Where | None = None
    ) -> AsyncStream[ReceivedUpdate] | AsyncStream[tuple[O, ReceivedUpdate]]:
        """New values of objects of a class, for `async for`: a `weft.Update` each; of a class of Python one of it, and that."""
        federate = self.federate
        table, full = federate._reflects, federate._vocabulary.object_class(name)
        if isinstance(name, str):
            plain: AsyncStream[ReceivedUpdate] = AsyncStream()
            heard = handler_of(plain, _second)
            federate.on_update(name, *attributes, rate=rate, where=where)(heard)
            return self._kept(plain, table, full)
        stream: AsyncStream[tuple[O, ReceivedUpdate]] = AsyncStream()
        federate.on_update(name, *attributes, rate=rate, where=where)(handler_of(stream, _both))
        return self._kept(stream, table, full)

    @overload
    def interactions(self, name: str, *, where: Where | None = None) -> AsyncStream[ReceivedInteraction]: ...
    @overload
    def interactions(
        self, name: type[I], *, where: Where | None = None
    ) -> AsyncStream[tuple[I, ReceivedInteraction]]: ...

    def interactions(
        self, name: str | type[I], *, where: Where | None = None
    ) -> AsyncStream[ReceivedInteraction] | AsyncStream[tuple[I, ReceivedInteraction]]:
        """Interactions of a class, for `async for`; of a class of Python one of it, and the `weft.Interaction`."""
        federate = self.federate
        table, full = federate._hears, federate._vocabulary.interaction_class(name)
        if isinstance(name, str):
            plain: AsyncStream[ReceivedInteraction] = AsyncStream()
            federate.on_interaction(name, where=where)(handler_of(plain, _first))
            return self._kept(plain, table, full)
        stream: AsyncStream[tuple[I, ReceivedInteraction]] = AsyncStream()
        federate.on_interaction(name, where=where)(handler_of(stream, _both))
        return self._kept(stream, table, full)

    def _kept(
        self, stream: AsyncStream[R], table: dict[str, list[Callable[..., object]]], full: str
    ) -> AsyncStream[R]:
        """The handler was the last to be added; its subscription stays, for others may need it."""
        forget_with(stream, table, full, table[full][-1])
        self._streams.add(stream)  # type: ignore[arg-type]
        return stream

    # --- logical time -----------------------------------------------------------------------------------------

    async def steps(
        self, step: Number, until: Number = math.inf, pace: float | None = None
    ) -> AsyncIterator[Number]:
        """Go through logical time: `async for t in federate.steps(0.1, until=10)`; see `Federate.steps`."""
        clock = self.federate._clock
        loop = asyncio.get_running_loop()
        begun = loop.time()
        for time, after in due_steps(self.now, step, until, pace):
            if after is not None:
                clock.behind = max(0.0, loop.time() - begun - after)
                await asyncio.sleep(max(0.0, begun + after - loop.time()))
            yield await self.advance(time)

    async def advance(self, to: AnyTime, *, available: bool = False) -> Number:
        """Wait until the federation has come to that time; returns the time (Time Advance Request)."""
        rti = self.rti
        ask = rti.time_advance_request_available if available else rti.time_advance_request
        return await self._granted(ask, to)

    async def next_message(self, until: AnyTime = math.inf, *, available: bool = False) -> Number:
        """Wait until the time of the next message, or that one if none comes (Next Message Request)."""
        rti = self.rti
        ask = rti.next_message_request_available if available else rti.next_message_request
        return await self._granted(ask, until)

    async def flush(self, until: AnyTime = math.inf) -> Number:
        """Take all messages there are, also those of later times (Flush Queue Request)."""
        return await self._granted(self.rti.flush_queue_request, until)

    def request(self, to: AnyTime) -> None:
        """Ask for that time and do not wait; `wait` does."""
        self.federate.request(to)

    async def wait(self) -> Number:
        """Until the time that was asked for is granted; returns it.  Who was cancelled here may wait again."""
        clock = self.federate._clock
        while not await self.run_until(lambda: clock._over is not None or clock._requested is None, _LOOK):
            clock.look()
        if clock._over is not None:
            raise clock._over
        return clock.now

    async def _granted(self, ask: Callable[[AnyTime], None], to: AnyTime) -> Number:
        self.federate._clock.request(ask, to)
        return await self.wait()

    # --- letting things happen --------------------------------------------------------------------------------

    async def run_until(self, condition: Callable[[], object], seconds: float = 10.0) -> bool:
        """Until the condition holds, at most so long; says whether it holds.  It is asked after each callback."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while True:
            self._raise_failure()
            if condition():
                return True
            changed = loop.create_future()
            self._waiting.add(changed)
            try:
                async with asyncio.timeout_at(deadline):
                    await changed
            except TimeoutError:
                return bool(condition())
            finally:
                self._waiting.discard(changed)

    async def wait_for(self, federates: Who, seconds: float = 60.0) -> None:
        """Until so many federates have joined, or those of these names."""
        await self._threaded(lambda: self.federate.wait_for(federates, seconds))

    async def synchronize(self, label: str, seconds: float = 60.0, *, federates: Who | None = None) -> bool:
        """Meet all other federates at a synchronization point; see `Federate.synchronize`."""
        return await self._threaded(lambda: self.federate.synchronize(label, seconds, federates=federates))

    async def save(self, label: str, seconds: float | None = None, *, time: AnyTime | None = None) -> bool:
        """Save the federation; see `Federate.save`."""
        return await self._threaded(lambda: self.federate.save(label, seconds, time=time))

    async def restore(self, label: str, seconds: float = 60.0) -> bool:
        """Bring the federation back to a save; see `Federate.restore`."""
        return await self._threaded(lambda: self.federate.restore(label, seconds))

    async def owners(self, one: SomeObject | RemoteObject, seconds: float = 10.0) -> dict[str, str]:
        """Ask the RTI who owns each attribute."""
        return await self._threaded(lambda: self.federate.owners(one, seconds))

    # --- waiting ----------------------------------------------------------------------------------------------

    def _wake(self, failure: BaseException | None) -> None:
        if failure is not None:
            self._failures.append(failure)
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)
        if failure is not None or self.federate._clock._over is not None:
            for stream in list(self._streams):
                stream.end(failure)

    def _raise_failure(self) -> None:
        """What went wrong in a handler; once."""
        if self._failures:
            raise self._failures.pop(0)

    async def _threaded(self, wait: Callable[[], R]) -> R:
        """What waits for several things, in a thread; cancelled, it ends there, too."""
        waiting = self._begin(wait)
        try:
            found = await asyncio.shield(waiting)
        except asyncio.CancelledError:
            await self._give_up(waiting)
            raise
        self._raise_failure()
        return found

    def _begin(self, work: Callable[[], R]) -> asyncio.Future[R]:
        """In a thread of its own: of those of the loop's pool all might wait for each other."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[R] = loop.create_future()

        def run() -> None:
            try:
                result = work()
            except BaseException as error:
                tell(done.set_exception, error)
            else:
                tell(done.set_result, result)

        def tell(how: Callable[..., None], what: object) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(how, what)

        threading.Thread(target=run, name=f"weft-{self.federate.name}-waits", daemon=True).start()
        return done

    async def _give_up(self, waiting: asyncio.Future[R]) -> bool:
        """Says whether it was done before."""
        federate = self.federate
        federate._abandon(True)
        try:
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await self._finished(waiting)
        finally:
            federate._abandon(False)
        return waiting.done() and not waiting.cancelled() and waiting.exception() is None

    async def _finished(self, waiting: asyncio.Future[R]) -> R:
        """To its end, however often it is cancelled meanwhile."""
        cancelled = False
        while not waiting.done():
            try:
                await asyncio.shield(waiting)
            except asyncio.CancelledError:
                cancelled = True
            except Exception:
                break
        if cancelled:
            raise asyncio.CancelledError
        return waiting.result()


join_async = AsyncFederate
"""As it reads in an `async with` block."""


def _first(one: R, *rest: object) -> R:
    return one


def _second(_: object, one: ReceivedUpdate) -> ReceivedUpdate:
    return one


def _both(one: O, other: R) -> tuple[O, R]:
    return one, other

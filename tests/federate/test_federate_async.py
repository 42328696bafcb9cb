"""`weft.join_async`: the same federate for asyncio; what is cancelled or fails leaves nothing behind."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

import weft
from support.server_in_thread import eventually, free_port, serving
from weft import AsyncFederate, EmbeddedNode
from weft.model.errors import FederationExecutionDoesNotExist, NotConnected, NotInTime, RTIexception

from .test_federate_join import Reporter


@dataclass
class Ship(weft.HLAobjectRoot):
    Position: float
    Knots: float = 0.0


@dataclass
class Hail(weft.HLAinteractionRoot):
    Words: str


HARBOUR = weft.fom_from(Ship, Hail)
Join = Callable[..., AsyncFederate]


@pytest.fixture(params=["embedded", "server", "causal"])
def join(request: pytest.FixtureRequest) -> Iterator[Join]:
    """Afterwards the federation is gone, and no thread is left."""
    before = set(threading.enumerate())
    with contextlib.ExitStack() as stack:
        where: dict[str, Any] = {"host": EmbeddedNode(), "causal": request.param == "causal"}
        if request.param == "server":
            where = {"rti": stack.enter_context(serving()).address()}

        def joined(name: str, **more: Any) -> AsyncFederate:
            return weft.join_async("Harbour", name, fom=HARBOUR, **where, **more)

        yield joined
        assert federation_is_gone(where)
    assert eventually(lambda: not [one for one in set(threading.enumerate()) - before if one.is_alive()])


def federation_is_gone(where: dict[str, Any]) -> bool:
    rti, ears = weft.RTIambassador(where.get("host")), Reporter()
    rti.connect(ears, weft.CallbackModel.EVOKED, where.get("rti"))
    with pytest.raises(FederationExecutionDoesNotExist):
        rti.destroy_federation_execution("Harbour")
    rti.disconnect()
    return True


def run(main: Coroutine[Any, Any, None]) -> None:
    asyncio.run(main)


def test_federates_step_together_in_one_loop(join: Join) -> None:
    """Each in a task of its own: what is sent for a time has come when that time has."""
    seen: list[tuple[float, float | None]] = []

    async def sail() -> None:
        async with join("tug", time=0.5) as tug:
            await tug.wait_for(2)
            ship = Ship(0.0)
            tug.register(ship, "Bollard")
            await tug.synchronize("ready", federates=2)
            async for t in tug.steps(0.5, until=2):
                ship.Position = t
                tug.update(ship, time=t + 0.5)

    async def watch() -> None:
        async with join("light", time=0.5) as light:

            @light.on_update(Ship)
            def moved(ship: Ship, update: weft.Update) -> None:
                seen.append((ship.Position, update.time))

            await light.wait_for(2)
            await light.synchronize("ready", federates=2)
            times = [t async for t in light.steps(0.5, until=2)]
            assert times == [0.5, 1.0, 1.5, 2.0]
            assert light.now == 2.0

    async def main() -> None:
        await asyncio.gather(sail(), watch())

    run(main())
    assert [one for one in seen if one[1] is not None] == [(0.5, 1.0), (1.0, 1.5), (1.5, 2.0)]


def test_updates_and_interactions_come_in_a_loop(join: Join) -> None:
    async def main() -> None:
        async with join("light") as light, join("tug") as tug:
            updates, hails = light.updates("Ship"), light.interactions(Hail)
            ships = light.updates(Ship, "Position", "Knots")
            bollard = tug.register(Ship(1.0, 2.0), "Bollard")
            bollard.update(Knots=3.0)
            tug.send(Hail("ahoy"))
            found = [await anext(updates), await anext(updates)]
            assert [dict(one) for one in found] == [{"Position": 1.0, "Knots": 2.0}, {"Knots": 3.0}]
            assert [one.name for one in found] == ["Bollard", "Bollard"]
            async for ship, update in ships:
                if update.get("Knots") == 3.0:
                    assert ship == Ship(1.0, 3.0)
                    break
            async for hail, message in hails:
                assert (hail, message.sender) == (Hail("ahoy"), "tug")
                break
            table = light.federate._reflects["HLAobjectRoot.Ship"]
            assert len(table) == 2
            del updates, ships
            assert table == []  # who lets go of a stream has no handler any more
            await light.resign()
            async for _ in hails:
                raise AssertionError("a stream ends with the stay")
            await light.join()

    run(main())


def test_who_is_cancelled_may_wait_again(join: Join) -> None:
    async def main() -> None:
        async with join("tug", time=1) as tug, join("light", time=1) as light:
            waiting = asyncio.create_task(light.advance(5))
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert not light._waiting
            tug.request(5)
            assert await light.wait() == 5
            assert await tug.wait() == 5

    run(main())


def test_who_is_cancelled_in_the_block_has_left(join: Join) -> None:
    async def block(joined: asyncio.Event) -> None:
        async with join("light", time=1) as light:
            joined.set()
            await light.advance(5)

    async def main() -> None:
        async with join("tug", time=1) as tug:
            joined = asyncio.Event()
            task = asyncio.create_task(block(joined))
            await joined.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await tug.advance(7) == 7  # nobody holds it up any more

    run(main())


@pytest.mark.parametrize("how", ["wait_for", "synchronize"])
def test_a_wait_for_others_that_is_cancelled_ends(join: Join, how: str) -> None:
    async def main() -> None:
        async with join("light") as light:
            waiting = asyncio.create_task(
                light.wait_for(5) if how == "wait_for" else light.synchronize("never", federates=["nobody"])
            )
            await light.run_until(lambda: light.federate._meeting.members is not None)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert await light.synchronize("alone")
            with pytest.raises(NotInTime, match="nobody has not joined"):
                await light.wait_for(["nobody"], 0.01)

    run(main())


def test_an_exception_in_a_handler_comes_out_where_something_is_awaited(join: Join) -> None:
    async def main() -> None:
        entered = asyncio.Event()
        async with join("light") as light, join("tug") as tug:

            @light.on_interaction("Hail")
            def heard(hail: weft.Interaction) -> None:
                if hail["Words"] == "two":
                    entered.set()
                raise ValueError(hail["Words"])

            tug.send(Hail("one"))
            with pytest.raises(ValueError, match="one"):
                await light.run_until(lambda: False)
            tug.send(Hail("two"))
            await entered.wait()

    with pytest.raises(ValueError, match="two"):  # at the latest at the end of the block
        run(main())


def test_many_wait_for_each_other_in_one_process() -> None:
    host = EmbeddedNode()

    async def one(number: int) -> None:
        async with weft.join_async("Harbour", f"f{number}", fom=HARBOUR, host=host) as federate:
            await federate.synchronize("ready", federates=12)

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(12):
                group.create_task(one(number))

    run(main())


def test_nothing_is_looked_at_while_nothing_comes() -> None:
    """No busy loop: the condition is asked once, and again after each callback."""
    host = EmbeddedNode()

    async def main() -> None:
        async with (
            weft.join_async("Harbour", "light", fom=HARBOUR, host=host) as light,
            weft.join_async("Harbour", "tug", fom=HARBOUR, host=host) as tug,
        ):
            heard: list[str] = []
            looks = 0

            def done() -> bool:
                nonlocal looks
                looks += 1
                return len(heard) == 3

            light.on_interaction("Hail")(lambda hail: heard.append(hail["Words"]))
            waiting = asyncio.create_task(light.run_until(done, 60))
            for word in "abc":
                tug.send("Hail", Words=word)
                await asyncio.sleep(0.02)
            assert await waiting
            assert looks <= 4

    run(main())


def test_save_and_restore_and_ownership() -> None:
    host = EmbeddedNode()

    async def main() -> None:
        async with (
            weft.join_async("Harbour", "light", fom=HARBOUR, host=host) as light,
            weft.join_async("Harbour", "tug", fom=HARBOUR, host=host) as tug,
        ):
            light.subscribe(Ship)
            bollard = tug.register(Ship(1.0), "Bollard")
            assert await light.run_until(lambda: light.objects(Ship))
            assert await tug.save("noon")
            assert await tug.restore("noon")
            assert (await light.owners(light.objects("Ship")["Bollard"]))["Knots"] == "tug"
            tug.on_requested(Ship)(lambda ship, attributes: tug.release(ship, *attributes))
            light.acquire(light.objects("Ship")["Bollard"], "Knots")
            assert await light.run_until(lambda: light.owns(light.objects("Ship")["Bollard"], "Knots"))
            assert not tug.owns(bollard, "Knots")

    run(main())


def test_the_server_ends() -> None:
    """Whoever waits is told, streams end, and the block is left without further ado."""
    with contextlib.ExitStack() as stack:
        address = stack.enter_context(serving()).address()
        rti = weft.RtiConfiguration("", address, "FED_TIMEOUT_RECONNECT=0.2")

        async def main() -> None:
            async with (
                weft.join_async("Harbour", "tug", fom=HARBOUR, rti=rti, time=1),
                weft.join_async("Harbour", "light", fom=HARBOUR, rti=rti, time=1) as light,
            ):
                hails = light.interactions("Hail")
                waiting = asyncio.create_task(light.advance(5))
                await asyncio.to_thread(stack.close)
                with pytest.raises((NotConnected, RTIexception)):
                    await waiting
                assert [hail async for hail in hails] == []

        run(main())


def test_joining_a_server_that_is_not_there_may_be_cancelled() -> None:
    before = set(threading.enumerate())

    async def main() -> None:
        light = weft.join_async("Harbour", "light", fom=HARBOUR, rti=f"127.0.0.1:{free_port()}", wait=600)
        joining = asyncio.create_task(light.join())
        await asyncio.sleep(0.01)
        joining.cancel()
        with pytest.raises(asyncio.CancelledError):
            await joining

    run(main())
    left = set(threading.enumerate()) - before
    for thread in left:  # one that was asked to end, and does not sleep until then
        thread.join(60)
    assert not [thread for thread in left if thread.is_alive()]

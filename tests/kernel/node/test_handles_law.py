"""What the kernel keeps for a handle is a handle, whatever way it came in; so a federation can be written down at any time.

Bytes are equal to the handle that they stand for, so code that keeps the bytes it has read works until somebody asks what they
are: a save (IEEE 1516.1-2025, 4.19 to 4.23), or the snapshot that a node's first member begins with.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from support.mesh_of_servers import serving_mesh
from support.server_in_thread import Running, eventually, serving
from support.traffic_of_every_kind import World
from weft.host.parcels.codec import decode_parcel, encode_parcel
from weft.kernel.federation.snapshot import restored, snapshot
from weft.kernel.state.federation import Federation
from weft.kernel.state.parcels import Welcome
from weft.model.handles import AttributeHandle, Handle, MessageRetractionHandle, ParameterHandle
from weft.model.packed import PackedValues
from weft.wire.codec.known_handles import HandleCache

pytestmark = pytest.mark.over_nodes

_SKIPPED = (type, str, int, float, bool, type(None))


def misfits(found: object) -> list[str]:
    """Where in these things plain bytes stand for a handle, or a handle has the class of another kind."""
    wrong: list[str] = []
    seen: set[int] = set()
    todo: list[tuple[str, Any]] = [("", found)]
    while todo:
        where, one = todo.pop()
        if isinstance(one, Handle):
            own = MessageRetractionHandle if len(one) == 12 else type(one)
            if type(one) is not own or (len(one) == 4 and one[0] >> 4 != type(one).kind):
                wrong.append(f"{where}: {one!r} of bytes {bytes(one).hex()}")
            continue
        if isinstance(one, bytes):
            if len(one) in (4, 12):  # values and tags of these tests are shorter or longer
                wrong.append(f"{where}: {one.hex()}")
            continue
        if isinstance(one, _SKIPPED) or callable(one) or id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, dict):
            for key, value in one.items():
                todo.append((f"{where} key", key))
                if not (isinstance(key, (ParameterHandle, AttributeHandle)) and isinstance(value, bytes)):
                    todo.append((f"{where}[{key!r}]", value))
        elif isinstance(one, (list, tuple, set, frozenset)):
            todo += [(f"{where}[{number}]", item) for number, item in enumerate(one)]
        elif isinstance(one, PackedValues):
            todo += [(f"{where}.handles", handle) for handle in one.handles]
            todo += [(f"{where}.unpack()", one.unpack())]
        elif type(one).__module__.startswith("weft."):
            names = list(getattr(one, "__dict__", {}))
            for kind in type(one).__mro__:
                names += [n for n in getattr(kind, "__slots__", ()) if not n.startswith("__")]
            todo += [(f"{where}.{name}", getattr(one, name, None)) for name in names]
    return wrong


def held_to_the_law(federation: Federation) -> None:
    """All of its state, but for the object model; and it can be written down, sent and read."""
    model, federation.catalog.model = federation.catalog.model, None  # type: ignore[assignment]
    try:
        wrong = misfits(federation)
    finally:
        federation.catalog.model = model
    assert not wrong, wrong[:10]
    data = snapshot(federation, 0.0)
    parcel = Welcome(federation.name, federation.execution, "S1", federation.sequence, data)
    _, again = decode_parcel(encode_parcel(parcel, 1))
    assert not misfits(restored(again.data).kept_recipients)


@contextlib.contextmanager
def one_server() -> Iterator[list[Running]]:
    with serving() as server:
        yield [server]


@contextlib.contextmanager
def two_nodes() -> Iterator[list[Running]]:
    with serving_mesh() as nodes:
        yield list(nodes.values())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("place", [one_server, two_nodes])
def test_all_that_a_federation_keeps_for_a_handle_is_one(place: Any, seed: int) -> None:
    """4.19 to 4.23, and what handles are (6.1, 10.1): also after messages that no federate's own process has decoded."""
    with place() as servers:
        world = World([server.address() for server in servers], seed)
        world.join(0)
        world.do_send(0, world.rtis[0])  # before anybody else has come, from there or from elsewhere
        world.join(1)
        world.join(2)
        world.do_register(0, world.rtis[0])
        world.do_regions(0, world.rtis[0])

        def judge(server: Any) -> None:
            for federation in server.board.node.federations.values():
                held_to_the_law(federation)

        for number in range(150):
            world.step()
            if number % 10 == 9:
                world.take()
                for server in servers:
                    server.ask(judge)
        assert eventually(world.has_reflected)
        assert not misfits([arguments for _, arguments in world.heard])
        assert not world.internal
        for server in servers:
            assert not [line for line in server.reports if "internal" in line]
        world.leave()


@pytest.mark.parametrize("place", [one_server, two_nodes])
def test_a_save_after_one_interaction_succeeds(place: Any) -> None:
    """4.19 Request Federation Save to 4.23 Federation Saved, at the home and over nodes, after traffic."""
    with place() as servers:
        world = World([server.address() for server in servers], 0)
        world.join(0)
        world.do_send(0, world.rtis[0])
        world.do_send_in_time(0, world.rtis[0])
        world.join(1)
        for who in (0, 1):
            world.do_send(who, world.rtis[who])
        world.rtis[0].request_federation_save("noon")
        for who in (0, 1):
            world.until(who, "initiate_federate_save")
            world.rtis[who].federate_save_begun()
        for who in (0, 1):
            world.rtis[who].federate_save_complete()
        for who in (0, 1):
            world.until(who, "federation_saved")
        world.leave()


def test_long_handles_are_not_kept() -> None:
    """What a peer makes up may be as long as a frame: such handles are made, and not remembered."""
    cache = HandleCache(ParameterHandle)
    assert cache.get(b"\1\2\3\4") is cache.get(b"\1\2\3\4")
    assert cache.get(b"x" * 1000) == ParameterHandle(b"x" * 1000)
    assert cache.get(b"x" * 1000) is not cache.get(b"x" * 1000)

"""Two switchboards whose nodes are joined: served federates of different nodes in one federation, values as they came."""

from __future__ import annotations

from collections import deque
from typing import Any

from support.simulated_federates import FOM, NAME, handles
from weft.host.carrier import Port, Resident, ServiceClass
from weft.host.mesh.federations import meshed_node
from weft.host.parcels.codec import decode_parcel
from weft.host.server.guard import OpenGuard
from weft.host.server.serving import Switchboard
from weft.host.server.session import Served
from weft.host.server.unpacking import ModuleLimits
from weft.kernel import Effect
from weft.kernel.state.messages import Interaction
from weft.kernel.state.parcels import Data
from weft.model.records import Credentials, RtiConfiguration
from weft.wire.codec.codec import ServiceCodec
from weft.wire.codec.packed import WireValues
from weft.wire.session.client import ClientSession
from weft.wire.session.frames import CALL_RESPONSE
from weft.wire.session.greeting import Greeting
from weft.wire.session.server import ServerSession

NODES = ("A", "B")


class PairCarrier:
    """One of two carriers; what one sends waits in the queue of the other."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.nodes = NODES
        self.queue: deque[tuple[ServiceClass, bytes]] = deque()
        self.table: dict[str, bytes] = {}
        self.other: PairCarrier | None = None
        self.resident: Resident | None = None

    def settle(self, port: Port, resident: Resident) -> None:
        assert port is Port.FEDERATIONS
        self.resident = resident

    def send(self, node: str, port: Port, kind: ServiceClass, payload: bytes) -> bool:
        assert self.other is not None
        assert node == self.other.name
        self.other.queue.append((kind, payload))
        return True

    def cast(self, nodes: tuple[str, ...], groups: tuple[str, ...], port: Port, payload: bytes) -> None:
        for node in nodes:
            self.send(node, port, ServiceClass.BEST_EFFORT, payload)

    def listen(self, groups: frozenset[str]) -> None:
        pass

    def keep(self, key: str, value: bytes | None) -> None:
        if value is None:
            self.table.pop(key, None)
        else:
            self.table[key] = value

    def kept(self, prefix: str) -> dict[str, bytes]:
        return {key: self.table[key] for key in sorted(self.table) if key.startswith(prefix)}


class MemoryLine:
    secure = False
    local = True
    address = "memory"

    def __init__(self) -> None:
        self.data = b""

    def send(self, parts: list[bytes]) -> int:
        self.data += b"".join(parts)
        return 0

    def queued(self) -> int:
        return 0

    def acknowledge_soon(self) -> None:
        pass

    def close(self) -> None:
        pass


class Site:
    """A node with its switchboard, as a server has them."""

    def __init__(self, name: str) -> None:
        self.carrier = PairCarrier(name)
        self.reports: list[str] = []
        self.meshed = meshed_node(self.carrier, self._perform)
        limits = ModuleLimits(1 << 20, 10, 10)
        self.board = Switchboard(
            self.meshed.node, OpenGuard(), limits, self.reports.append, 0, lambda _: None, meshed=self.meshed
        )

    def _perform(self, effects: list[Effect], now: float) -> None:
        self.board.perform(effects)


class Pair:
    def __init__(self) -> None:
        self.sites = [Site(name) for name in NODES]
        one, two = (site.carrier for site in self.sites)
        one.other, two.other = two, one
        self.passed: list[tuple[ServiceClass, bytes]] = []
        for site in self.sites:
            site.meshed.recover(0.0)
        self.settle()

    def settle(self) -> None:
        while any(site.carrier.queue for site in self.sites):
            for site, other in zip(self.sites, self.sites[::-1], strict=True):
                while site.carrier.queue:
                    kind, payload = site.carrier.queue.popleft()
                    self.passed.append((kind, payload))
                    assert site.carrier.resident is not None
                    site.carrier.resident.received(other.carrier.name, payload, 0.0)
        for site in self.sites:
            site.board.flush(0.0)


class Client:
    """A federate over the Federate Protocol, without a socket."""

    def __init__(self, pair: Pair, site: Site, number: int) -> None:
        self.pair = pair
        self.site = site
        self.wire = ClientSession(0.0)
        self.codec = ServiceCodec()
        self.line = MemoryLine()
        self.callbacks: list[tuple[str, tuple[Any, ...]]] = []
        self.answer: Any = None
        greeting = Greeting()
        assert greeting.feed(b"".join(self.wire.take_outgoing(0.0)))
        session = ServerSession(number, 0.0)
        session.accept(greeting, 0.0)
        self.line.send(session.take_outgoing(0.0))
        self.served = Served(session, self.line, number)
        self.hear()
        self.call("connect", RtiConfiguration(), Credentials())

    def call(self, service: str, *arguments: Any) -> Any:
        number, payload = self.codec.encode_call(service, arguments)
        self.wire.send_call_request(payload)
        self.site.board.received(self.served, b"".join(self.wire.take_outgoing(0.0)), 0.0)
        self.pair.settle()
        self.site.board.flush(0.0)
        self.answer = None
        self.hear()
        assert self.answer is not None, f"{service} was not answered"
        return self.codec.decode_response(number, self.answer)

    def hear(self) -> None:
        data, self.line.data = self.line.data, b""
        self.wire.feed(data, 0.0)
        while self.wire.next():
            payload = bytes(self.wire.frame.payload)
            if self.wire.frame.type == CALL_RESPONSE:
                self.answer = payload
            else:
                self.callbacks.append(self.codec.decode_callback(payload))


def test_served_federates_of_two_nodes() -> None:
    """They meet in one federation; an interaction goes as packed values, undecoded, and is heard as it was sent."""
    pair = Pair()
    home = pair.sites[0]
    founder = home.board.node.open_session()
    home.board.perform(
        home.board.node.call(founder, 1, "create_federation_execution", (NAME, (FOM,), None, ""), 0.0)
    )
    clients = [Client(pair, site, number) for number, site in enumerate(pair.sites, 1)]
    for number, client in enumerate(clients, 1):
        client.call("join_federation_execution", NAME, "test", f"f{number}", ())
    here, there = clients
    halt = handles().interactions["Command.Halt"]
    here.call("subscribe_interaction_class", halt)
    there.call("publish_interaction_class", halt)
    pair.passed.clear()
    there.call("send_interaction", halt, {}, b"now")
    here.hear()
    ((method, arguments),) = here.callbacks
    assert method == "receive_interaction"
    assert (arguments[0], arguments[2]) == (halt, b"now")
    ((kind, payload),) = pair.passed
    assert kind is ServiceClass.RELIABLE
    _, parcel = decode_parcel(payload)
    assert isinstance(parcel, Data)
    assert isinstance(parcel.message, Interaction)
    assert isinstance(parcel.message.values, WireValues)
    assert not any(site.reports for site in pair.sites)


def test_commands_go_by_the_causal_class_and_are_kept() -> None:
    """What makes up a federation at home here is in the carrier's journal as soon as it is decided."""
    pair = Pair()
    home = pair.sites[0]
    founder = home.board.node.open_session()
    home.board.perform(
        home.board.node.call(founder, 1, "create_federation_execution", (NAME, (FOM,), None, ""), 0.0)
    )
    client = Client(pair, pair.sites[1], 1)
    client.call("join_federation_execution", NAME, "test", "f1", ())
    assert {kind for kind, _ in pair.passed} == {ServiceClass.CAUSAL}
    assert f"federation/{NAME}/state" in home.carrier.table
    assert f"federation/{NAME}/{1:016d}" in home.carrier.table
    assert f"name/{NAME}" in home.carrier.table

"""Links between nodes: who is let in, what becomes of messages when connections break, how queues are bounded."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from support.meshes_in_one_loop import LOOPS, QUICK, Meshes, run, until
from support.node_processes import loopback
from weft.fabric import Certificate, Domains, Topology
from weft.host.carrier import Port, ServiceClass
from weft.host.links.links import split_address

PAIR = Topology(("S1", "S2"), {"A": ("S1", "S2")})
CHAIN = Topology(("S1", "S2", "S3"), {"A": ("S1", "S2"), "B": ("S2", "S3")})
RELIABLE, BEST_EFFORT, CAUSAL = ServiceClass.RELIABLE, ServiceClass.BEST_EFFORT, ServiceClass.CAUSAL
GUESTS = Port.FEDERATIONS


def test_three_classes_over_a_router(tmp_path: Path) -> None:
    """Each class reaches a node two hops away, from the node that sent it, and datagrams are used for best effort."""

    async def work() -> None:
        meshes = Meshes(loopback(CHAIN), tmp_path)
        await meshes.start()
        await meshes.whole()
        assert set(meshes.guests["S1"].news) == {("found", "S2", False), ("found", "S3", False)}
        for number in range(100):
            meshes.meshes["S1"].send("S3", GUESTS, RELIABLE, b"r%d" % number)
            meshes.meshes["S1"].send("S3", GUESTS, CAUSAL, b"c%d" % number)
            meshes.meshes["S1"].send("S3", GUESTS, BEST_EFFORT, b"b%d" % number)
        heard = meshes.guests["S3"].heard
        await until(
            lambda: sum(one[1:2] != b"" and one[:1] in b"rc" for _, one in heard) == 200, "200 arrive"
        )
        assert {sender for sender, _ in heard} == {"S1"}
        for kind in (b"r", b"c"):
            assert [one for _, one in heard if one[:1] == kind] == [kind + b"%d" % n for n in range(100)]
        await until(lambda: any(one[:1] == b"b" for _, one in heard), "datagrams arrive")
        meshes.meshes["S1"].send("S3", GUESTS, BEST_EFFORT, b"x" * 5000)
        await until(
            lambda: b"x" * 5000 in meshes.guests["S3"].said(), "what fits no datagram goes over the link"
        )
        await meshes.stop()

    run(work())


def test_broken_connections_lose_and_repeat_nothing(tmp_path: Path) -> None:
    """Reconnect, resume, replay: reliable messages arrive once and in order, and nobody is told of a loss."""

    async def work() -> None:
        meshes = Meshes(loopback(CHAIN), tmp_path, replace(QUICK, lost_seconds=20.0))
        await meshes.start()
        await meshes.whole()
        for number in range(600):
            meshes.meshes["S1"].send("S3", GUESTS, RELIABLE, b"%d" % number)
            meshes.meshes["S3"].send("S1", GUESTS, RELIABLE, b"%d" % number)
            if number % 50 == 20:
                for link in meshes.meshes["S2"].links.links.values():
                    if link.line is not None:
                        link.line.abort()
            await asyncio.sleep(0)
        for name in ("S1", "S3"):
            guest = meshes.guests[name]
            await until(lambda: len(guest.heard) >= 600, "all arrive")  # noqa: B023
            assert guest.said() == [b"%d" % number for number in range(600)]
            assert [news for news in guest.news if news[0] == "lost"] == []
        await meshes.stop()

    run(work())


def test_a_node_that_is_gone_is_lost_and_one_that_comes_back_is_found(tmp_path: Path) -> None:
    """After `lost_seconds` without a way; with the word that its process is another one; also beyond a router."""

    async def work() -> None:
        meshes = Meshes(loopback(CHAIN), tmp_path)
        await meshes.start()
        await meshes.whole()
        await meshes.crash("S3")
        for name in ("S1", "S2"):
            guest = meshes.guests[name]
            await until(lambda: guest.news[-1][:2] == ("lost", "S3"), f"{name} knows that S3 is lost")  # noqa: B023
        meshes.meshes["S1"].send("S3", GUESTS, RELIABLE, b"lost with the node")
        meshes.meshes["S1"].send("S3", GUESTS, CAUSAL, b"waits for the node")
        await meshes.start("S3")
        await meshes.whole()
        for name in ("S1", "S2"):
            assert meshes.guests[name].news[-1] == ("found", "S3", True)
        await until(lambda: bool(meshes.guests["S3"].heard), "what waited arrives")
        assert meshes.guests["S3"].said() == [b"waits for the node"]
        await meshes.stop()

    run(work())


def test_a_restart_that_is_quicker_than_the_loss_is_told_as_such(tmp_path: Path) -> None:
    """The node was never lost: causal messages wait for it, so that calls to a home that comes back are answered."""

    async def work() -> None:
        meshes = Meshes(loopback(CHAIN), tmp_path, replace(QUICK, lost_seconds=20.0))
        await meshes.start()
        await meshes.whole()
        for name in ("S1", "S3"):
            await meshes.crash(name)
            await meshes.start(name)
            await meshes.whole()
            other = meshes.guests["S3" if name == "S1" else "S1"]
            await until(lambda: other.news[-1] == ("found", name, True), f"{name} was restarted")  # noqa: B023
            assert [news for news in other.news if news[0] == "lost"] == []
        await meshes.stop()

    run(work())


def test_a_node_that_stops_says_so(tmp_path: Path) -> None:
    async def work() -> None:
        meshes = Meshes(loopback(PAIR), tmp_path, replace(QUICK, lost_seconds=60.0))
        await meshes.start()
        await meshes.whole()
        await meshes.meshes.pop("S2").stop()
        await until(lambda: meshes.guests["S1"].news[-1][0] == "lost", "S2 is lost")
        assert "it was stopped" in meshes.guests["S1"].news[-1][2]
        await meshes.stop()

    run(work())


@pytest.mark.parametrize("slow", ["S1", "S2"])
def test_a_neighbour_that_does_not_read_is_cut_and_not_waited_for(tmp_path: Path, slow: str) -> None:
    """Bounded queues: over `queue_bytes` the link is cut, the residents know, and the memory is free again."""

    async def work() -> None:
        meshes = Meshes(loopback(PAIR), tmp_path, replace(QUICK, lost_seconds=4.0))
        await meshes.start()
        await meshes.whole()
        quick = "S2" if slow == "S1" else "S1"
        line = next(iter(meshes.meshes[slow].links.links.values())).line
        assert line is not None
        assert line._transport is not None
        line._transport.pause_reading()
        sender = meshes.meshes[quick]
        link = next(iter(sender.links.links.values()))
        guest = meshes.guests[quick]
        most = 0
        while ("lost", slow) not in [news[:2] for news in guest.news]:
            sender.send(slow, GUESTS, RELIABLE, bytes(60_000))
            await asyncio.sleep(0)
            if link.session is not None:
                most = max(most, link.session.unacknowledged_bytes)
        assert most < 3 * QUICK.queue_bytes
        assert "fabric.queue_bytes" in "\n".join(meshes.logs[quick])
        await until(lambda: guest.news[-1] == ("found", slow, False), "it is found again")
        sender.send(slow, GUESTS, RELIABLE, b"after")
        await until(lambda: b"after" in meshes.guests[slow].said(), "the next message arrives")
        await meshes.stop()

    run(work())


def test_causal_packets_wait_in_the_channel_and_not_in_the_link(tmp_path: Path) -> None:
    """A neighbour that does not read holds up at most a window; when it reads again all arrive, in order."""

    async def work() -> None:
        meshes = Meshes(loopback(PAIR), tmp_path, replace(QUICK, lost_seconds=30.0, queue_bytes=64 << 20))
        await meshes.start()
        await meshes.whole()
        line = next(iter(meshes.meshes["S2"].links.links.values())).line
        assert line is not None
        assert line._transport is not None
        line._transport.pause_reading()
        link = next(iter(meshes.meshes["S1"].links.links.values()))
        for number in range(300):
            meshes.meshes["S1"].send("S2", GUESTS, CAUSAL, b"%06d" % number + bytes(50_000))
        await until(lambda: link.waiting > 150, "most wait")
        assert link.session is not None
        assert link.session.unacknowledged_bytes < 6 << 20
        line._transport.resume_reading()
        await until(lambda: len(meshes.guests["S2"].heard) == 300, "all arrive")
        assert [one[:6] for one in meshes.guests["S2"].said()] == [b"%06d" % number for number in range(300)]
        await meshes.stop()

    run(work())


STRANGERS: list[tuple[str, Callable[[Domains], Domains], str]] = [
    (
        "unknown",
        lambda d: Domains(
            Topology(("S0", "S2"), {"A": ("S0", "S2")}), {"S0": "127.0.0.1:1", "S2": d.addresses["S2"]}
        ),
        "there is no server 'S0' in the domains file of S2",
    ),
    (
        "other domains",
        lambda d: replace(d, topology=Topology(("S1", "S2", "S3"), {"A": ("S1", "S2", "S3")})),
        "the domains of 'S1' and S2 differ; give both the same domains file",
    ),
]


@pytest.mark.parametrize("what, other, why", STRANGERS, ids=[one[0] for one in STRANGERS])
def test_strangers_are_refused(
    tmp_path: Path, what: str, other: Callable[[Domains], Domains], why: str
) -> None:
    """Both sides log who was refused and what to do."""

    async def work() -> None:
        domains = loopback(CHAIN)
        meshes = Meshes(domains, tmp_path)
        await meshes.start("S2")
        strange = other(domains)
        name = strange.topology.servers[0]
        if name == "S0":
            strange.addresses["S0"] = domains.addresses["S1"]
        await meshes.start(name, domains=strange)
        await until(lambda: any(why in line for line in meshes.logs["S2"]), "S2 refuses")
        await until(lambda: any(why in line for line in meshes.logs[name]), "the other knows why")
        assert not any(link.up for mesh in meshes.meshes.values() for link in mesh.links.links.values())
        await meshes.stop()

    run(work())


def test_garbage_is_refused_and_harms_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that speaks anything else, or nothing for long, is closed, and reported."""
    monkeypatch.setattr("weft.host.links.links.GREETING_SECONDS", 0.2)

    async def work() -> None:
        domains = loopback(PAIR)
        meshes = Meshes(domains, tmp_path)
        await meshes.start()
        await meshes.whole()
        for garbage in (b"GET / HTTP/1.1\r\n\r\n", b"\x00" * 100, b"\xff" * 1000):
            reader, writer = await asyncio.open_connection(*split_address(domains.addresses["S2"]))
            writer.write(garbage)
            assert await reader.read() == b""
            writer.close()
        meshes.meshes["S1"].send("S2", GUESTS, CAUSAL, b"still here")
        await until(lambda: bool(meshes.guests["S2"].heard), "it arrives")
        assert sum("a connection from 127.0.0.1" in line for line in meshes.logs["S2"]) == 3
        await meshes.stop()

    run(work())


# --- certificates -------------------------------------------------------------------------------------------------


def _openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


def _authority(folder: Path, name: str) -> None:
    _openssl(
        folder, *["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"],
        "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem",
    )  # fmt: skip


def _certificate(folder: Path, file: str, server: str, authority: str = "ca") -> None:
    _openssl(
        folder, *["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"],
        "-subj", f"/CN={server}", "-keyout", f"{file}.key", "-out", f"{file}.csr",
    )  # fmt: skip
    _openssl(
        folder, *f"x509 -req -days 2 -in {file}.csr -CA {authority}.pem -CAkey {authority}.key".split(),
        "-CAcreateserial", "-out", f"{file}.pem",
    )  # fmt: skip


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificates")
    for authority in ("ca", "other"):
        _authority(folder, authority)
    for server in ("S1", "S2", "S3", "S9"):
        _certificate(folder, server, server)
    _certificate(folder, "forged", "S1", "other")
    return folder


def _secure(topology: Topology, **files: str) -> Domains:
    shown = {server: files.get(server, server) for server in topology.servers}
    return replace(
        loopback(topology),
        ca="ca.pem",
        certificates={server: Certificate(f"{file}.pem", f"{file}.key") for server, file in shown.items()},
    )


@pytest.mark.parametrize("loop", LOOPS)
def test_links_with_certificates(tmp_path: Path, certificates: Path, loop: str) -> None:
    """TLS 1.3 both ways; best effort goes the same way, since datagrams would be clear text."""

    async def work() -> None:
        meshes = Meshes(_secure(CHAIN), tmp_path, certificates=certificates)
        await meshes.start()
        await meshes.whole()
        line = next(iter(meshes.meshes["S1"].links.links.values())).line
        assert line is not None
        assert line._tls is not None
        assert line._tls._object.version() == "TLSv1.3"
        assert meshes.meshes["S1"].links._datagrams is None
        for kind in (RELIABLE, BEST_EFFORT, CAUSAL):
            meshes.meshes["S1"].send("S3", GUESTS, kind, kind.name.encode())
        await until(lambda: len(meshes.guests["S3"].heard) == 3, "all three arrive")
        line.abort()
        meshes.meshes["S1"].send("S3", GUESTS, RELIABLE, b"resumed")
        await until(lambda: b"resumed" in meshes.guests["S3"].said(), "the session is resumed")
        await meshes.stop()

    run(work(), loop)


REFUSED = [
    ("S9", "its certificate is of S9, and not of S1; check [certificates]"),
    ("forged", "servers need a certificate from the authority in [certificates]"),
]


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("file, why", REFUSED)
def test_a_peer_with_another_certificate_is_refused(
    tmp_path: Path, certificates: Path, file: str, why: str, loop: str
) -> None:
    """One of another server of the same authority, and one that another authority made."""

    async def work() -> None:
        domains = _secure(PAIR)
        meshes = Meshes(domains, tmp_path, certificates=certificates)
        await meshes.start("S2")
        shown = {**domains.certificates, "S1": Certificate(f"{file}.pem", f"{file}.key")}
        await meshes.start("S1", domains=replace(domains, certificates=shown))
        await until(lambda: any(why in line for line in meshes.logs["S2"]), "S2 refuses")
        own = "is this node's certificate from the authority" if file == "forged" else why
        await until(lambda: any(own in line for line in meshes.logs["S1"]), "S1 knows why")
        assert not any(link.up for mesh in meshes.meshes.values() for link in mesh.links.links.values())
        await meshes.stop()

    run(work(), loop)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_listener_with_another_certificate_is_refused(
    tmp_path: Path, certificates: Path, loop: str
) -> None:
    """Who dials looks, too."""

    async def work() -> None:
        domains = _secure(PAIR)
        meshes = Meshes(domains, tmp_path, certificates=certificates)
        shown = {**domains.certificates, "S2": Certificate("S9.pem", "S9.key")}
        await meshes.start("S2", domains=replace(domains, certificates=shown))
        await meshes.start("S1")
        why = "shows a certificate of S9, and not of S2"
        await until(lambda: any(why in line for line in meshes.logs["S1"]), "S1 refuses")
        await meshes.stop()

    run(work(), loop)


@pytest.mark.parametrize("loop", LOOPS)
def test_clear_text_to_a_node_with_certificates_is_refused(
    tmp_path: Path, certificates: Path, loop: str
) -> None:
    async def work() -> None:
        domains = _secure(PAIR)
        meshes = Meshes(domains, tmp_path, certificates=certificates)
        await meshes.start("S2")
        await meshes.start("S1", domains=replace(domains, ca="", certificates={}))
        why = "servers need a certificate from the authority"
        await until(lambda: any(why in line for line in meshes.logs["S2"]), "S2 refuses")
        await meshes.stop()

    run(work(), loop)


@pytest.mark.parametrize("loop", LOOPS)
def test_whoever_shows_no_certificate_is_closed(
    tmp_path: Path, certificates: Path, loop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that says nothing, one that speaks no TLS, one that goes away in the middle: closed and reported, others unharmed."""
    monkeypatch.setattr("weft.host.links.links.GREETING_SECONDS", 0.2)

    async def work() -> None:
        domains = _secure(PAIR)
        meshes = Meshes(domains, tmp_path, certificates=certificates)
        await meshes.start()
        await meshes.whole()
        where = split_address(domains.addresses["S2"])
        log = meshes.logs["S2"]
        for said, why in ((b"", "no handshake within 0.2 s"), (b"GET / HTTP/1.1\r\n\r\n", "HTTP_REQUEST")):
            reader, writer = await asyncio.open_connection(*where)
            writer.write(said)
            await reader.read()  # an alert perhaps, then the end
            assert any("was refused" in line and why in line for line in log), log
            writer.close()
        _, writer = await asyncio.open_connection(*where)
        writer.write(b"\x16\x03\x01")  # the beginning of a handshake
        writer.close()
        await until(lambda: "it was closed; servers need" in log[-1], "it is reported")
        meshes.meshes["S1"].send("S2", GUESTS, CAUSAL, b"still here")
        await until(lambda: bool(meshes.guests["S2"].heard), "it arrives")
        await meshes.stop()

    run(work(), loop)


@pytest.mark.parametrize("loop", LOOPS)
def test_too_many_strangers_do_not_keep_neighbours_out(
    tmp_path: Path, certificates: Path, loop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of connections without a certificate so many are kept and no more; large messages pass in both directions after."""
    monkeypatch.setattr("weft.host.links.links.STRANGERS", 3)
    monkeypatch.setattr("weft.host.links.links.GREETING_SECONDS", 0.3)

    async def work() -> None:
        domains = _secure(PAIR)
        meshes = Meshes(domains, tmp_path, certificates=certificates)
        await meshes.start("S2")
        where = split_address(domains.addresses["S2"])
        crowd = [await asyncio.open_connection(*where) for _ in range(5)]
        await until(
            lambda: sum("too many connections" in line for line in meshes.logs["S2"]) == 2,
            "two are turned away",
        )
        await meshes.start("S1")
        await meshes.whole()
        big = bytes(range(256)) * 2000
        meshes.meshes["S1"].send("S2", GUESTS, RELIABLE, big)
        meshes.meshes["S2"].send("S1", GUESTS, RELIABLE, big)
        for name in ("S1", "S2"):
            await until(lambda: meshes.guests[name].said() == [big], "it arrives as it was")  # noqa: B023
        for _, writer in crowd:
            writer.close()
        await meshes.stop()

    run(work(), loop)

"""Hostile sessions: what a true client once sent, mutated."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable

from support import raw_client
from support.raw_client import Closed, Raw
from weft.wire.session.websocket import BINARY, wrap

HANDSHAKE = (
    b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
FEDERATE, TANK = b"a true federate", b"a true tank"  # names in a recording
Mutation = Callable[[random.Random, list[bytes]], None]


def frames_of(data: bytes) -> list[bytes]:
    found = []
    while data:
        size = int.from_bytes(data[:4], "big")
        found.append(data[:size])
        data = data[size:]
    return found


def with_session(frame: bytes, session: int) -> bytes:
    """With this session's id, and with names that only this session uses, or few would get to join."""
    name = f"{session:016x}".encode()
    payload = frame[24:].replace(FEDERATE, name[: len(FEDERATE)]).replace(TANK, name[-len(TANK) :])
    return frame[:8] + session.to_bytes(8, "big") + frame[16:24] + payload


# --- mutations ------------------------------------------------------------------------------------------------


def _pick(rng: random.Random, frames: list[bytes]) -> int:
    return rng.randrange(len(frames))


def flip(rng: random.Random, frames: list[bytes]) -> None:
    at = _pick(rng, frames)
    data = bytearray(frames[at])
    for _ in range(rng.choice((1, 1, 2, 8))):
        if data:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    frames[at] = bytes(data)


def flip_payload(rng: random.Random, frames: list[bytes]) -> None:
    """The header stays true, so the services get to see it."""
    at = _pick(rng, frames)
    data = bytearray(frames[at])
    for _ in range(rng.choice((1, 1, 2, 8))):
        if len(data) > 24:
            data[rng.randrange(24, min(len(data), 200))] = rng.choice(
                (0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256))
            )
    frames[at] = bytes(data)


def cut(rng: random.Random, frames: list[bytes]) -> None:
    at = _pick(rng, frames)
    frames[at] = frames[at][: rng.randrange(len(frames[at]) + 1)]


def cut_payload(rng: random.Random, frames: list[bytes]) -> None:
    """A frame that is whole, with a message that is not."""
    at = _pick(rng, frames)
    frame = frames[at]
    if len(frame) > 24:
        frame = frame[: rng.randrange(24, len(frame))]
        frames[at] = len(frame).to_bytes(4, "big") + frame[4:]


def splice(rng: random.Random, frames: list[bytes]) -> None:
    one, two = frames[_pick(rng, frames)], frames[_pick(rng, frames)]
    payload = one[24 : rng.randrange(24, len(one) + 1)] if len(one) >= 24 else b""
    payload += two[rng.randrange(len(two) + 1) :]
    at = _pick(rng, frames)
    frames[at] = (24 + len(payload)).to_bytes(4, "big") + frames[at][4:24] + payload


def repeat(rng: random.Random, frames: list[bytes]) -> None:
    at = _pick(rng, frames)
    frames[at:at] = [frames[at]] * rng.choice((1, 2, 50))


def shuffle(rng: random.Random, frames: list[bytes]) -> None:
    rng.shuffle(frames)


def lie_about_size(rng: random.Random, frames: list[bytes]) -> None:
    at = _pick(rng, frames)
    size = len(frames[at])
    lie = rng.choice((0, 1, 23, 24, size - 1, size + 1, size + 1000, 1 << 20, 2**31 - 1, 2**31, 2**32 - 1))
    frames[at] = struct.pack(">I", max(0, lie)) + frames[at][4:]


def _number(rng: random.Random) -> bytes:
    return struct.pack(
        ">i", rng.choice((0, 1, 5, -1, raw_client.NONE, 2**30, 2**31 - 1, rng.randrange(2**31)))
    )


def lie_about_number(rng: random.Random, frames: list[bytes]) -> None:
    at = _pick(rng, frames)
    frames[at] = frames[at][:4] + _number(rng) + frames[at][8:]


def lie_about_acknowledgement(rng: random.Random, frames: list[bytes]) -> None:
    at = _pick(rng, frames)
    frames[at] = frames[at][:16] + _number(rng) + frames[at][20:]


def lie_about_type(rng: random.Random, frames: list[bytes]) -> None:
    at = _pick(rng, frames)
    frames[at] = frames[at][:20] + struct.pack(">i", rng.choice((*range(25), -1, 255))) + frames[at][24:]


def random_call(rng: random.Random, frames: list[bytes]) -> None:
    """Any of the 178 services, with any content."""
    content = rng.randbytes(rng.choice((0, 1, 4, 30)))
    call = raw_client.field(rng.randrange(1, 182), content)
    at = _pick(rng, frames)
    frames[at] = (24 + len(call)).to_bytes(4, "big") + frames[at][4:20] + struct.pack(">i", 20) + call


def handles(rng: random.Random, frames: list[bytes]) -> None:
    """Handles of other things than it was given."""
    at = _pick(rng, frames)
    data = frames[at]
    place = data.find(b"\x0a\x04\0", 24)
    if place >= 0:
        number = rng.choice((0, 1, 2, 3, 1 << 27, (1 << 27) + 1, 2**32 - 1))
        frames[at] = data[: place + 2] + struct.pack(">I", number) + data[place + 6 :]


def noise(rng: random.Random, frames: list[bytes]) -> None:
    frames.insert(_pick(rng, frames), rng.randbytes(rng.randrange(1, 300)))


MUTATIONS: tuple[Mutation, ...] = (
    flip, flip_payload, cut, cut_payload, splice, repeat, shuffle, lie_about_size, lie_about_number,
    lie_about_acknowledgement, lie_about_type, random_call, random_call, handles, handles, noise,
)  # fmt: skip


# --- attacks --------------------------------------------------------------------------------------------------


def attack(rng: random.Random, ports: dict[str, int], recording: list[bytes]) -> int:
    """One hostile session; its id, for others to try."""
    kind = rng.random()
    if kind < 0.05:
        with Raw(ports["tcp"]) as stranger:
            _send(stranger, rng.randbytes(rng.randrange(1, 400)))
        return 0
    if kind < 0.15:
        return _web_attack(rng, ports["ws"], recording)
    with Raw(ports["tcp"]) as client:
        client.greet()
        _send(client, b"".join(_mutated(rng, recording, client.session)))
        _after(rng, client)
        session = client.session
    if rng.random() < 0.1:
        _resume(rng, ports["tcp"], session, recording)
    return session


def _mutated(rng: random.Random, recording: list[bytes], session: int) -> list[bytes]:
    """The beginning of the recording, most of it true, and then mutations of all that follows."""
    true = rng.choice((0, 1, 3, 3, rng.randrange(len(recording))))
    rest = recording[true : true + rng.randrange(1, 40)]
    frames = [with_session(one, session) for one in rest] or [b"x"]
    for _ in range(rng.choice((1, 1, 2, 3, 6))):
        rng.choice(MUTATIONS)(rng, frames)
    return [with_session(one, session) for one in recording[:true]] + frames


def _send(client: Raw, data: bytes) -> None:
    client.socket.settimeout(5.0)
    try:
        client.send(data)
    except OSError:  # the server has had enough, which is its right
        return


def _after(rng: random.Random, client: Raw) -> None:
    """Read a little, or all there is for a moment, or nothing; the connection is closed in any case."""
    client.socket.settimeout(rng.choice((0.001, 0.001, 0.02)))
    try:
        for _ in range(rng.choice((0, 1, 5, 50))):
            client.receive()
    except (Closed, OSError, struct.error):
        return


def _resume(rng: random.Random, port: int, session: int, recording: list[bytes]) -> None:
    with Raw(port) as again:
        last, oldest = (struct.unpack(">i", _number(rng))[0] for _ in range(2))
        _send(again, raw_client.frame(10, raw_client.NONE, session, last, raw_client.ints(last, oldest)))
        _send(again, b"".join(_mutated(rng, recording, session)))
        _after(rng, again)


def _web_attack(rng: random.Random, port: int, recording: list[bytes]) -> int:
    frames = [raw_client.frame(1, 0, 0, raw_client.NONE, raw_client.ints(1)), *_mutated(rng, recording, 0)]
    messages = [wrap(one, rng.choice((BINARY, BINARY, BINARY, rng.randrange(16))), b"mask") for one in frames]
    rng.choice((flip, cut, repeat, noise))(rng, messages)
    with Raw(port) as client:
        _send(client, HANDSHAKE + b"".join(messages))
        _after(rng, client)
    return 0

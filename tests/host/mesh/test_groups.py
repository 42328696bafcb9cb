"""Multicast groups as channels (S2-5, S2-14): in a network of the test's own, never on that of the machine."""

from __future__ import annotations

import json
from ipaddress import IPv4Address

from hypothesis import given
from hypothesis import strategies as st

from support.network_namespace import run_apart
from weft.host.mesh.multicast import REMEMBERED, Groups, GroupSettings, _Heard
from weft.interest import DdmSettings

PROGRAM = """
import asyncio, json, socket
from weft.host.mesh.multicast import Groups, GroupSettings, GROUP_BYTES

async def main():
    settings = GroupSettings(9400, "127.0.0.1")
    heard = {number: [] for number in range(3)}
    said = []
    def hear(number):
        return lambda sender, message: heard[number].append((sender, message.decode()))

    made = [Groups(settings, b"the mesh", n, 1, hear(n), said.append) for n in range(3)]
    made.append(Groups(settings, b"another mesh", 1, 1, lambda s, m: None, said.append))
    for groups in made:
        groups.start(asyncio.get_running_loop())
    made[0].listen(["239.0.0.1"])
    made[1].listen(["239.0.0.1", "239.0.0.2", "239.0.0.3"])
    made[2].listen(["239.0.0.2"])

    async def until(reached):
        async with asyncio.timeout(240):
            while not reached():
                await asyncio.sleep(0.001)

    assert made[0].cast(["239.0.0.2", "239.0.0.3"], b"to two channels")
    made[3].cast(["239.0.0.2"], b"from another mesh")
    raw = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    raw.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
    raw.sendto(b"short", ("239.0.0.2", 9400))
    made[2].cast(["239.0.0.1"], b"to the first")
    made[0].cast(["239.0.0.9"], b"to nobody")
    made[0].cast(["239.0.0.2"], b"last")
    assert not made[0].cast(["239.0.0.2"], bytes(GROUP_BYTES))
    await until(lambda: (0, "last") in heard[1] and (0, "last") in heard[2] and len(heard[0]) == 1)
    made[2].listen(["239.0.0.3"])
    made[0].cast(["239.0.0.2"], b"to who is left")
    made[0].cast(["239.0.0.3"], b"to the new one")
    await until(lambda: len(heard[1]) == 5 and (0, "to the new one") in heard[2])
    many = ["239.0.1.%d" % n for n in range(1, 65)]
    made[0].listen(many)
    made[1].cast(many, b"on all")
    await until(lambda: len(heard[0]) == 2)
    for groups in made:
        groups.stop()
    print(json.dumps({"heard": heard, "said": said}))

asyncio.run(main())
"""


def test_a_group_is_heard_by_those_who_listen_and_once() -> None:
    """S2-5, S2-14: what is sent on several channels reaches each listener once, and others not at all; 64 groups at once."""
    result = json.loads(run_apart(PROGRAM))
    assert {number: sorted(heard) for number, heard in result["heard"].items()} == {
        "0": [[1, "on all"], [2, "to the first"]],
        "1": [
            [0, "last"],
            [0, "to the new one"],
            [0, "to two channels"],
            [0, "to who is left"],
            [2, "to the first"],
        ],
        "2": [[0, "last"], [0, "to the new one"], [0, "to two channels"]],
    }
    assert result["said"] == []


def test_what_is_remembered_of_a_sender() -> None:
    """Copies that come late are still copies."""
    heard = _Heard(1)
    assert all(heard.take(n) for n in range(1, 5 * REMEMBERED))
    assert not any(heard.take(n) for n in range(1, 5 * REMEMBERED))
    assert len(heard._taken) <= 2 * REMEMBERED + 1


@given(st.permutations(range(50)))
def test_in_any_order_each_once(numbers: list[int]) -> None:
    heard = _Heard(1)
    assert [n for n in [*numbers, *numbers] if heard.take(n)] == numbers


def test_addresses_of_channels() -> None:
    """S2-9: MulticastOptions.BaseAddress and MaxAddress; beyond the last the first again."""
    settings = DdmSettings(base_address=IPv4Address("239.0.0.255"), max_address=IPv4Address("239.0.1.1"))
    assert [str(settings.group(n)) for n in range(4)] == [
        "239.0.0.255",
        "239.0.1.0",
        "239.0.1.1",
        "239.0.0.255",
    ]


def test_nothing_is_sent_before_it_is_started() -> None:
    groups = Groups(GroupSettings(9400, "127.0.0.1"), b"", 0, 1, lambda *_: None, lambda _: None)
    assert not groups.cast(["239.0.0.1"], b"")
    groups.stop()

"""Two machines and the network between them, as namespaces of this one: a cable that can be pulled.

    a  ──────  between  ──────  b

What is between passes packets on, or, once the cable is pulled, lets them vanish: nobody is told, no connection is closed.
Where it is unplugged at b itself, the system of b knows that its link is down; no connection is closed either.
Sockets and processes that are made inside `at("a")` are on that machine.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import subprocess
from collections.abc import Iterator

import pytest

_NETWORK = 0x40000000  # CLONE_NEWNET


class Cable:
    ADDRESSES = {"a": "10.91.1.2", "b": "10.91.2.2"}

    def __init__(self) -> None:
        self._names = {place: f"weft-{os.getpid()}-{place}" for place in ("a", "b", "between")}
        try:
            for name in self._names.values():
                _ip("netns", "add", name)
                _ip("-n", name, "link", "set", "lo", "up")
            for number, place in enumerate(("a", "b"), 1):
                here, way = self._names[place], self._names["between"]
                _ip("link", "add", f"way{number}", "netns", way, "type", "veth",
                    "peer", "name", "eth0", "netns", here)  # fmt: skip
                for name, device, end in ((way, f"way{number}", 1), (here, "eth0", 2)):
                    _ip("-n", name, "address", "add", f"10.91.{number}.{end}/24", "dev", device)
                    _ip("-n", name, "link", "set", device, "up")
                _ip("-n", here, "route", "add", "default", "via", f"10.91.{number}.1")
            self.plug_in()
        except BaseException:
            self.close()
            raise

    def pull(self) -> None:
        self._forward(False)

    def unplug(self) -> None:
        """At b: its link has no carrier any more."""
        _ip("-n", self._names["between"], "link", "set", "way2", "down")

    def plug_in(self) -> None:
        self._forward(True)

    def _forward(self, on: bool) -> None:
        with self._inside("between"), open("/proc/sys/net/ipv4/ip_forward", "w") as switch:
            switch.write(str(int(on)))

    def at(self, place: str) -> contextlib.AbstractContextManager[None]:
        """What this thread makes meanwhile is there, and so are threads and processes that it starts."""
        return self._inside(place)

    @contextlib.contextmanager
    def _inside(self, place: str) -> Iterator[None]:
        before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        there = os.open(f"/run/netns/{self._names[place]}", os.O_RDONLY)
        try:
            _enter(there)
            yield
        finally:
            _enter(before)
            os.close(there)
            os.close(before)

    def close(self) -> None:
        for name in self._names.values():
            with contextlib.suppress(subprocess.CalledProcessError):
                _ip("netns", "del", name)


def _enter(namespace: int) -> None:
    if ctypes.CDLL(None, use_errno=True).setns(namespace, _NETWORK):
        raise OSError(ctypes.get_errno(), "setns")


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, timeout=60)


@contextlib.contextmanager
def cable() -> Iterator[Cable]:
    """Skips where namespaces of the network cannot be made: they need root, or the right to be it."""
    if shutil.which("ip") is None:
        pytest.skip("there is no command `ip` to make network namespaces with")
    try:
        made = Cable()
    except (subprocess.CalledProcessError, OSError) as error:
        pytest.skip(f"network namespaces are not allowed here: {error}")
    try:
        yield made
    finally:
        made.close()

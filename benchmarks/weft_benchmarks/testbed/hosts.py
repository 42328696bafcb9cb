"""Several hosts on this one: network namespaces with an address each, joined by a bridge.

    host 0 ── veth ──┐
    host 1 ── veth ──┼── bridge, in a namespace of its own
    …                │

They need root, or the right to be it.  What cannot be made is said, and never made up.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from typing import NamedTuple


class Host(NamedTuple):
    """A network namespace that stands for a host, and its address."""

    namespace: str
    address: str


class NoHosts(Exception):
    """Why there are none."""


@contextlib.contextmanager
def several_hosts(count: int) -> Iterator[list[Host]]:
    """Raises NoHosts where namespaces of the network cannot be made."""
    if shutil.which("ip") is None:
        raise NoHosts("there is no command ip (iproute2) to make network namespaces with")
    prefix = f"weft-{os.getpid()}"
    between = f"{prefix}-bridge"
    hosts = [Host(f"{prefix}-{at}", f"10.92.0.{at + 1}") for at in range(count)]
    names = [between, *(host.namespace for host in hosts)]
    try:
        try:
            _join(between, hosts)
        except (subprocess.CalledProcessError, OSError) as error:
            said = getattr(error, "stderr", b"") or str(error).encode()
            raise NoHosts(f"network namespaces cannot be made here: {said.decode().strip()}") from error
        yield hosts
    finally:
        for name in names:
            with contextlib.suppress(subprocess.CalledProcessError, OSError):
                _ip("netns", "del", name)


def _join(between: str, hosts: list[Host]) -> None:
    _ip("netns", "add", between)
    _ip("-n", between, "link", "add", "bridge0", "type", "bridge")
    _ip("-n", between, "link", "set", "bridge0", "up")
    for number, host in enumerate(hosts):
        _ip("netns", "add", host.namespace)
        _ip("-n", host.namespace, "link", "set", "lo", "up")
        _ip("link", "add", f"port{number}", "netns", between, "type", "veth",
            "peer", "name", "eth0", "netns", host.namespace)  # fmt: skip
        _ip("-n", between, "link", "set", f"port{number}", "master", "bridge0")
        _ip("-n", between, "link", "set", f"port{number}", "up")
        _ip("-n", host.namespace, "address", "add", f"{host.address}/24", "dev", "eth0")
        _ip("-n", host.namespace, "link", "set", "eth0", "up")


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, timeout=60)


def addresses(count: int, hosts: Sequence[Host]) -> list[str]:
    """Ports of this machine that are free just now, or those of hosts that nobody else uses."""
    if hosts:
        return [f"{hosts[at % len(hosts)].address}:{9001 + at}" for at in range(count)]
    probes = [socket.socket() for _ in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return [f"127.0.0.1:{port}" for port in ports]

"""Datagrams to groups of nodes: IP multicast, one address for each channel of data distribution management
(docs/explanation/ddm.md).

An option.  One datagram then reaches all nodes that listen to a channel; without it each of them gets one of its own.  A message
on several channels is sent to each of their groups, and whoever listens to more than one of them takes it once: all copies have
the same number.

    datagram    8 bytes  what the domains file is recognized by, so that another mesh on the same addresses is not heard
                2 bytes  the sender's number in it
                4 bytes  which process of the sender: its boot
                8 bytes  the number of the message, of those of that process
                the rest is the message

There is no secrecy and no proof of origin, as there is none for datagrams to single nodes: not for links with certificates.

Each group has a socket of its own, bound to its address.  One socket for all would hear every group that any process of this
machine has joined, and may be in twenty groups only, unless the machine's settings are changed.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hashlib
import secrets
import socket
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from weft.fabric import Topology
from weft.model.errors import SettingsError
from weft.model.log_text import WARNING, LogText

_HEADER = struct.Struct(">8sHIQ")
GROUP_BYTES = 1200  # the longest datagram: what passes any network in one piece
REMEMBERED = 4096  # messages of one sender that a copy may come behind
_READS = 64  # datagrams of one group before others have their turn


@dataclass(frozen=True)
class GroupSettings:
    port: int
    interface: str  # the address of the network interface to send and listen on
    hops: int = 1  # routers that a datagram may pass, and one


class Casting:
    """A node's part in multicast: begun when a federation first asks for it, and done without where it cannot be."""

    def __init__(
        self,
        settings: GroupSettings,
        topology: Topology,
        node: str,
        secret: bool,
        deliver: Callable[[int, bytes], None],
        report: Callable[[str], None],
    ) -> None:
        """`secret`: links have certificates, so nothing may go in clear text."""
        fingerprint = hashlib.sha256(topology.fingerprint.encode()).digest()
        own, boot = topology.numbers[node], secrets.randbits(32)
        self._groups = Groups(settings, fingerprint, own, boot, deliver, report)
        self._secret = secret
        self._report = report
        self._begun = False
        self._refused = False

    def _is_ready(self, loop: asyncio.AbstractEventLoop | None) -> bool:
        if self._begun or self._refused or loop is None:
            return self._begun
        try:
            if self._secret:
                raise SettingsError("links have certificates, and multicast would be clear text")
            self._groups.start(loop)
            self._begun = True
        except SettingsError as error:
            self._refused = True
            text = f"no multicast, datagrams go to each node by itself: {error}"
            self._report(LogText(text, "multicast-off", WARNING))
        return self._begun

    def listen(self, groups: frozenset[str], loop: asyncio.AbstractEventLoop | None) -> None:
        if (groups or self._begun) and self._is_ready(loop):
            self._groups.listen(groups)

    def cast(self, groups: tuple[str, ...], body: bytes, loop: asyncio.AbstractEventLoop | None) -> bool:
        """False if it has to go another way."""
        return self._is_ready(loop) and self._groups.cast(groups, body)

    def sent(self) -> tuple[int, int]:
        """Datagrams to groups, and their bytes."""
        return self._groups.datagrams, self._groups.bytes

    def stop(self) -> None:
        self._groups.stop()


class _Heard:
    """The messages of one sender that were taken: a window that moves on."""

    def __init__(self, boot: int) -> None:
        self.boot = boot
        self._highest = 0
        self._taken: set[int] = set()

    def take(self, number: int) -> bool:
        """Is it new?  One that is older than all that is remembered is held to be a copy."""
        if number in self._taken or number + REMEMBERED <= self._highest:
            return False
        self._taken.add(number)
        if number > self._highest:
            self._highest = number
            if len(self._taken) > 2 * REMEMBERED:
                self._taken = {one for one in self._taken if one + REMEMBERED > number}
        return True


class Groups:
    """Join and leave groups as `listen` says, send by `cast`; what comes is given to `deliver`, with the sender's number."""

    def __init__(
        self,
        settings: GroupSettings,
        fingerprint: bytes,
        own: int,
        boot: int,
        deliver: Callable[[int, bytes], None],
        report: Callable[[str], None],
    ) -> None:
        self._settings = settings
        self._fingerprint = fingerprint[:8].ljust(8, b"\0")
        self._own = own
        self._boot = boot & 0xFFFFFFFF
        self._deliver = deliver
        self._report = report
        self._number = 0
        self.datagrams = 0  # sent, one for each group
        self.bytes = 0
        self._heard: dict[int, _Heard] = {}
        self._listening: dict[str, socket.socket] = {}
        self._sending: socket.socket | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._refused: set[str] = set()

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            out.setblocking(False)
            out.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, self._settings.hops)
            out.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 1)  # other nodes of this machine
            out.setsockopt(
                socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(self._settings.interface)
            )
        except OSError as error:
            out.close()
            raise SettingsError(
                f"ddm.multicast_interface is {self._settings.interface!r}, and nothing can be sent there: "
                f"{error.strerror or error}; name the address of one of this machine's network interfaces"
            ) from error
        self._sending = out

    def stop(self) -> None:
        self.listen(())
        if self._sending is not None:
            self._sending.close()
            self._sending = None

    # --- out --------------------------------------------------------------------------------------------------

    def cast(self, groups: Iterable[str], message: bytes) -> bool:
        """To all who listen to one of the groups; False if it does not fit, and has to go another way."""
        if self._sending is None or len(message) + _HEADER.size > GROUP_BYTES:
            return False
        self._number += 1
        data = _HEADER.pack(self._fingerprint, self._own, self._boot, self._number) + message
        for group in groups:
            # A full buffer, or no way out at the moment: best effort.
            with contextlib.suppress(OSError):
                self._sending.sendto(data, (group, self._settings.port))
                self.datagrams += 1
                self.bytes += len(data)
        return True

    # --- in ---------------------------------------------------------------------------------------------------

    def listen(self, groups: Iterable[str]) -> None:
        """To these groups, and no others."""
        wanted = set(groups)
        for group in [one for one in self._listening if one not in wanted]:
            self._close(group)
        for group in sorted(wanted - self._listening.keys()):
            self._open(group)

    def listening(self) -> list[str]:
        return sorted(self._listening)

    def _open(self, group: str) -> None:
        assert self._loop is not None
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            made.setblocking(False)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if hasattr(socket, "SO_REUSEPORT"):
                made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            made.bind((group, self._settings.port))
            member = socket.inet_aton(group) + socket.inet_aton(self._settings.interface)
            made.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, member)
        except OSError as error:
            made.close()
            if group not in self._refused:
                self._refused.add(group)
                text = (
                    f"cannot listen to the group {group}:{self._settings.port} on {self._settings.interface}: "
                    f"{error.strerror or error}; best-effort messages of its channels do not come"
                )
                self._report(LogText(text, "group-refused", WARNING, group=group))
            return
        self._refused.discard(group)
        self._listening[group] = made
        self._loop.add_reader(made.fileno(), self._read, made)

    def _close(self, group: str) -> None:
        made = self._listening.pop(group)
        if self._loop is not None:
            self._loop.remove_reader(made.fileno())
        made.close()  # which leaves the group

    def _read(self, made: socket.socket) -> None:
        for _ in range(_READS):
            try:
                data = made.recv(65536)
            except OSError as error:
                if error.errno not in (errno.EAGAIN, errno.EWOULDBLOCK, errno.EINTR):
                    text = f"a group could not be read: {error.strerror or error}"
                    self._report(LogText(text, "group-unreadable", WARNING))
                return
            self._take(data)

    def _take(self, data: bytes) -> None:
        if len(data) < _HEADER.size:
            return
        fingerprint, sender, boot, number = _HEADER.unpack_from(data)
        if fingerprint != self._fingerprint or sender == self._own:
            return
        heard = self._heard.get(sender)
        if heard is None or heard.boot != boot:
            heard = self._heard[sender] = _Heard(boot)
        if heard.take(number):
            self._deliver(sender, data[_HEADER.size :])

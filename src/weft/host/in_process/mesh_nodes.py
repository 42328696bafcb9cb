"""The nodes of the fabric inside this process, by the address that makes this process one of them; and the way in to event
channels that are joined over such a node to those of other processes.

    mesh://S3@path/to/domains.toml      this process is server S3 of that domains file

Additional settings of `connect`, one for each line or separated by commas:

    Weft.journal=DIR        where the node's journal is (runs/journal); `none`: keep nothing
    Weft.settings=FILE      a settings file as that of `weft serve`: [fabric], and of [serve] run_directory and save_directory

The environment (WEFT_FABRIC_LOST_SECONDS …) is stronger than the settings file.  All who name the same server of the same file
share its node.  It runs until `stop_node`, or the end of the process.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import socket
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from weft.host.client.settings import pairs
from weft.host.settings import load_settings
from weft.model.errors import ConnectionFailed, FabricError, SettingsError
from weft.model.records import RtiConfiguration

if TYPE_CHECKING:
    from weft.channel import ChannelObserver, Configuration, Dispatcher, Record
    from weft.channel.protocols import Scheduler
    from weft.host.in_process.event_channel import ProcessChannel
    from weft.host.in_process.mesh_node import OwnNode

SCHEME = "mesh:"
NO_JOURNAL = "none"
_PATIENCE = 5.0  # seconds for a node to stop when the process ends


@dataclass(frozen=True)
class Role:
    """Which node this process is to be, and how."""

    server: str
    file: Path  # the domains file
    journal: str = ""
    settings: str = ""

    @property
    def key(self) -> tuple[str, str]:
        return str(self.file.resolve()), self.server


_nodes: dict[tuple[str, str], tuple[Role, OwnNode]] = {}
_lock = threading.Lock()


def role_of(configuration: RtiConfiguration) -> Role | None:
    """None if the address is not of this kind."""
    address = configuration.rti_address
    if not address.startswith(SCHEME):
        return None
    found = re.fullmatch(r"mesh:(?://)?([^@/]+)@(.+)", address)
    if found is None:
        raise ConnectionFailed(
            f"{address!r} is no server of a domains file; write mesh://SERVER@path/to/domains.toml"
        )
    given = dict(pairs(configuration.additional_settings))
    journal, settings = given.pop("Weft.journal", ""), given.pop("Weft.settings", "")
    if given:
        raise ConnectionFailed(
            f"the additional settings: there is no setting {next(iter(given))!r} for a node of this process; "
            "there are Weft.journal, Weft.settings"
        )
    return Role(found[1], Path(found[2]), journal, settings)


def own_node(role: Role, environment: Mapping[str, str] = os.environ) -> OwnNode:
    """The node; it is started if nobody has.  ConnectionFailed says what is in the way."""
    with _lock:
        found = _nodes.get(role.key)
        if found is not None and found[1].failure:
            _nodes.pop(role.key)[1].stop()
            found = None
        if found is None:
            try:
                found = role, _start(role, environment)
            except (SettingsError, FabricError) as error:
                raise ConnectionFailed(f"mesh://{role.server}@{role.file}: {error}") from error
            _nodes[role.key] = found
        elif (found[0].journal, found[0].settings) != (role.journal, role.settings):
            raise ConnectionFailed(
                f"this process is {role.server} of {role.file} already, with other settings; give the same, or stop it first "
                "(weft.stop_node)"
            )
        return found[1]


def _start(role: Role, environment: Mapping[str, str]) -> OwnNode:
    # Only here: event loop, TLS and SQLite are not for federates that use a server, or nothing but this process.
    from weft.host.in_process.mesh_node import OwnNode
    from weft.host.links.links import split_address
    from weft.host.mesh.node import read_domains

    domains, folder = read_domains(str(role.file))
    if role.server not in domains.topology.numbers:
        known = ", ".join(domains.topology.servers)
        raise SettingsError(f"there is no server {role.server!r} in it; there are {known}")
    text = ""
    if role.settings:
        try:
            text = Path(role.settings).read_text()
        except OSError as error:
            raise SettingsError(f"{role.settings}: {error.strerror or error}") from error
    settings = load_settings({}, environment, text, role.settings)
    _check_address(role.server, *split_address(domains.addresses[role.server]))
    journal = None
    if role.journal != NO_JOURNAL:
        home = Path(role.journal or Path(settings.serve.run_directory) / "journal")
        journal = home / f"{role.server}.journal"
    node = OwnNode(domains, role.server, settings, journal, folder)
    node.start()
    return node


def _check_address(server: str, host: str, port: int) -> None:
    """Before the journal is opened: who runs already says so by its address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise SettingsError(
                f"{host}:{port}, the address of {server} in the domains file, cannot be used ({error.strerror or error}): "
                f"if another process is {server} already, stop it or name a server of its own for this one"
            ) from error


def stop_node(address: str = "") -> None:
    """Stop the node of this process that was connected to by this address ("mesh://…"); without one, all of them.

    Federates that are still joined there resign by their automatic resign directives and get `connection_lost`; the other nodes
    are told.  Nothing happens if there is none.
    """
    role = role_of(RtiConfiguration(rti_address=address)) if address else None
    if address and role is None:
        raise ConnectionFailed(f"{address!r} is no node of this process; those begin with {SCHEME}//")
    with _lock:
        keys = list(_nodes) if role is None else [role.key]
        for key in keys:
            found = _nodes.pop(key, None)
            if found is not None:
                found[1].stop(_PATIENCE)


def open_channel(
    name: str,
    address: str,
    *,
    configuration: Configuration | None = None,
    dispatcher: Dispatcher | None = None,
    schedule: Scheduler | None = None,
    observer: ChannelObserver | None = None,
    peers: Iterable[str] | None = None,
    rt_info: str = "",
    record: Record | None = None,
    additional_settings: str = "",
) -> ProcessChannel:
    """An event channel, joined to those of the same name in other processes (docs/explanation/channel.md).

    `address`: which node this process is, "mesh://SERVER@path/to/domains.toml"; the node is started if nobody has.
    `peers`: to the channels of which nodes this one is linked, and they to it; unless given, of all that share a domain with it.
    `dispatcher`: one of `weft.channel`, or, to have consumers in threads or processes of their own, one of `weft.host.dispatch`:
    OneThread, ThreadPools, ThreadPerConsumer, Preemptive.  With such a one use the channel as a context, or call `start`.
    `rt_info`: how urgently what leaves is dispatched, where it is: with threads or processes it leaves at once.
    `record`: is told of every push, dispatch and end.  The other arguments are those of `EventChannel`, and
    `additional_settings` those of a federate that connects to such an address.
    """
    # Only here, as in `_start`.
    from weft.channel import FULL
    from weft.host.in_process.event_channel import ProcessChannel

    role = role_of(RtiConfiguration(rti_address=address, additional_settings=additional_settings))
    if role is None:
        raise ConnectionFailed(
            f"{address!r} is no server of a domains file, and channel {name!r} needs one to be joined to others; "
            "write mesh://SERVER@path/to/domains.toml, or use weft.channel.EventChannel in this process alone"
        )
    return ProcessChannel(
        name, own_node(role), configuration or FULL, dispatcher, schedule, observer, peers, rt_info, record
    )


def _at_exit() -> None:
    with contextlib.suppress(Exception):  # the process ends in any case
        stop_node()


def _forked() -> None:
    """A child has neither the threads nor the links, and must not hold them open or touch what it shares with its parent."""
    global _lock
    _lock = threading.Lock()
    for _, node in _nodes.values():
        node.drive.loop.abandon()
    _nodes.clear()


atexit.register(_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)

"""Event channels of this process that are joined to those of other processes: the way in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from weft.host.in_process.mesh_nodes import own_node, role_of
from weft.model.errors import ConnectionFailed
from weft.model.records import RtiConfiguration

if TYPE_CHECKING:
    from weft.channel import ChannelObserver, Configuration, Dispatcher, Record, Schedule
    from weft.host.in_process.event_channel import ProcessChannel


def open_channel(
    name: str,
    address: str,
    *,
    configuration: Configuration | None = None,
    dispatcher: Dispatcher | None = None,
    schedule: Schedule | None = None,
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
    OneThread, ThreadPerConsumer, Preemptive.  With such a one use the channel as a context, or call `start`.
    `rt_info`: how urgently what leaves is dispatched, where it is: with threads or processes it leaves at once.
    `record`: is told of every push, dispatch and end.  The other arguments are those of `EventChannel`, and
    `additional_settings` those of a federate that connects to such an address.
    """
    # Only here: event loop, TLS and SQLite are not for federates that use a server, or nothing but this process.
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

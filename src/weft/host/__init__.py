"""Does what the kernel decided: the embedded node, the simulated network, files."""

from weft.host.connection import Connection, NodeHost
from weft.host.embedded import EmbeddedConnection, EmbeddedNode, record, shared_node, stop_recording
from weft.host.modules import Designator, load_fom, read_source, read_sources
from weft.host.own_channels import open_channel
from weft.host.own_nodes import stop_node

__all__ = [
    "Connection",
    "Designator",
    "EmbeddedConnection",
    "EmbeddedNode",
    "NodeHost",
    "load_fom",
    "open_channel",
    "read_source",
    "read_sources",
    "record",
    "shared_node",
    "stop_node",
    "stop_recording",
]

"""Does what the kernel decided: the embedded node, the simulated network, files."""

from weft.host.connection import Connection, NodeHost
from weft.host.files.modules import Designator, load_fom, read_source, read_sources
from weft.host.in_process.embedded import (
    EmbeddedConnection,
    EmbeddedNode,
    record,
    shared_node,
    stop_recording,
)
from weft.host.in_process.mesh_nodes import open_channel, stop_node
from weft.host.run_file import FederationRun, run_file

__all__ = [
    "Connection",
    "Designator",
    "EmbeddedConnection",
    "EmbeddedNode",
    "FederationRun",
    "NodeHost",
    "load_fom",
    "open_channel",
    "read_source",
    "read_sources",
    "record",
    "run_file",
    "shared_node",
    "stop_node",
    "stop_recording",
]

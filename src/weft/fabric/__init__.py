"""By which way: servers in domains of causality, routes between them, and the causal channel of each server.

Read `channel` first if you drive one from a host, `forest` for what makes a topology right, `clock` for the algorithm.  Pure:
takes texts and packets, gives findings and batches, and never reads a file or a clock.
"""

from weft.fabric.channel import Channel
from weft.fabric.clock import MatrixClock
from weft.fabric.domain_state import (
    Acknowledgement,
    Batch,
    CausalDelivery,
    FabricCounts,
    Portion,
    Transmission,
)
from weft.fabric.domains_file import (
    AgentPlace,
    Certificate,
    Domains,
    DomainsFindings,
    examine_domains,
    parse_domains,
)
from weft.fabric.forest import Fault, Repair, faults, parts, shortest_cycle, smallest_repair
from weft.fabric.journal import Beyond, Changes, Saved
from weft.fabric.plans import TOPOLOGIES, plan, write_domains
from weft.fabric.release import ReleaseRule, kept_back, kept_names
from weft.fabric.stamps import MatrixStamp, Packet, decode_packet, decode_stamp, encode_packet, encode_stamp
from weft.fabric.topology import Cost, Hop, Topology, cost

__all__ = [
    "TOPOLOGIES",
    "Acknowledgement",
    "AgentPlace",
    "Batch",
    "Beyond",
    "CausalDelivery",
    "Certificate",
    "Changes",
    "Channel",
    "Cost",
    "Domains",
    "DomainsFindings",
    "FabricCounts",
    "Fault",
    "Hop",
    "MatrixClock",
    "MatrixStamp",
    "Packet",
    "Portion",
    "ReleaseRule",
    "Repair",
    "Saved",
    "Topology",
    "Transmission",
    "cost",
    "decode_packet",
    "decode_stamp",
    "encode_packet",
    "encode_stamp",
    "examine_domains",
    "faults",
    "kept_back",
    "kept_names",
    "parse_domains",
    "parts",
    "plan",
    "shortest_cycle",
    "smallest_repair",
    "write_domains",
]

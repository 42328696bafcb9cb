"""A survey's facts of data distribution: dimensions, committed regions, the partitions of the strategy, and channels."""

from __future__ import annotations

from typing import Final

from weft.interest import Extent
from weft.kernel.state.federation import Federation
from weft.kernel.state.region_state import OwnedRegion
from weft.kernel.state.traffic import ChannelCounts, Traffic
from weft.model.handles import InteractionClassHandle
from weft.model.json_types import JsonObject

MOST: Final = 2000
"""Regions that are told; how many more there are is told, too."""


def regions(federation: Federation) -> JsonObject:
    """Those that have been committed: nobody but their owner knows of others."""
    entries = federation.catalog.dimensions.values()
    named = {entry.handle.number: entry.name for entry in entries}
    committed = [(one, one.extent) for one in federation.ddm.regions.values() if one.extent is not None]
    mim = federation.catalog.model.mim
    own = {} if mim is None else mim.dimensions
    used = {number for _, extent in committed for number in extent.dimensions}
    table: dict[str, JsonObject] = {}
    found: JsonObject = {
        "dimensions": {
            entry.name: entry.upper_bound
            for entry in entries
            if entry.name not in own or entry.handle.number in used
        },
        "regions": table,
    }
    for region, extent in committed[:MOST]:
        _add(table, federation, region, extent, named)
    if len(committed) > MOST:
        found["regions_left_off"] = len(committed) - MOST
    cells = federation.channels.partitions(federation)
    if cells:
        found["cells"] = {named[number]: bounds for number, bounds in cells.items()}
    return found


def _add(
    table: dict[str, JsonObject],
    federation: Federation,
    region: OwnedRegion,
    extent: Extent,
    named: dict[int, str],
) -> None:
    owner = federation.members.get(region.owner)
    if owner is None:
        return
    catalog = federation.catalog
    placed = [federation.instances.get(handle) for handle in region.instances]
    table[f"{owner.name}/{region.handle.number}"] = {
        "owner": owner.name,
        "node": owner.node,
        "ranges": {named[number]: list(bounds) for number, bounds in extent.ranges().items()},
        "publishes": sorted({instance.entry.name for instance in placed if instance is not None}),
        "subscribes": sorted(
            catalog.interaction_classes[handle].name
            if isinstance(handle, InteractionClassHandle)
            else catalog.object_classes[handle].name
            for handle in owner.declared.used_at(region.handle)
        ),
    }


def strategy(federation: Federation) -> JsonObject:
    """Its name; of one that adapts how it changed, of one that did something wrong what it was."""
    found: JsonObject = {"strategy": federation.channels.name}
    if federation.channels.adapting is not None:
        found["adaptation"] = federation.channels.adapting.facts()
    if federation.channels.fault():
        found["strategy_fault"] = federation.channels.fault()
    return found


def channels(federation: Federation, node: str) -> dict[str, dict[str, int]]:
    """What crossed the network, of all federates that live or have lived here; `ddm.channels` says what is counted."""
    total = Traffic()
    total.add(federation.mom.former_traffic)
    for member in federation.members.values():
        if member.node == node:
            total.add(member.traffic)
    return {str(channel): _channel(counts) for channel, counts in sorted(total.channels.items())}


def _channel(counts: ChannelCounts) -> dict[str, int]:
    return {
        "sent": counts.sent,
        "copies": counts.copies,
        "received": counts.received,
        "wanted": counts.wanted,
        "filtered_at_sender": counts.filtered_sender,
        "filtered_at_receiver": counts.filtered_receiver,
    }

"""What a node says of the event channels that are joined to others over it (docs/explanation/channel.md), and of their
consumers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.model.json_types import JsonObject

if TYPE_CHECKING:
    from weft.channel.proxies import ProxyPushSupplier
    from weft.host.event_channel.links import ChannelLinks, Joined


def channel_facts(links: ChannelLinks) -> dict[str, JsonObject]:
    return {name: _joined(joined) for name, joined in links.joined.items()}


def _joined(joined: Joined) -> JsonObject:
    found: dict[str, JsonObject] = {}
    for consumer in joined.channel.consumers():
        if not consumer.is_gateway:
            name = consumer.name
            found[name if name not in found else f"{name} ({consumer.number})"] = _consumer(consumer)
    return {
        "linked": list(joined.linked()),
        "relays": joined.is_relay,
        "queue": joined.channel.pending(),
        "discarded": sum(side.discarded for side in joined.sides.values()),
        "consumers": found,
    }


def _consumer(consumer: ProxyPushSupplier) -> JsonObject:
    return {
        "suspended": consumer.suspended,
        "handed": consumer.pushes,
        "missed": consumer.misses,
        "overran": consumer.overruns,
        "failed": consumer.failures,
        "discarded": consumer.discards,
    }

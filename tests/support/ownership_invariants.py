"""What holds of owners and transfers in the kernel after every command, and is the same at every node."""

from __future__ import annotations

from typing import Any

from weft.kernel.state.federation import Federation, Instance


def check_transfers(kernels: list[Federation]) -> None:
    for federation in kernels:
        for instance in federation.instances.values():
            _check(federation, instance)
        assert transfers(federation) == transfers(kernels[0]), "the nodes differ"


def _check(federation: Federation, instance: Instance) -> None:
    for attribute, owner in instance.owners.items():
        assert owner is federation.rti or federation.members.get(owner.handle) is owner, (
            "the owner has resigned"
        )
        known_class = federation.known_class(owner, instance)
        assert known_class is not None, "the owner does not know what it owns"
        assert attribute in owner.declared.published[known_class], "the owner does not publish what it owns"
    under_way = instance.transfers
    if under_way is None:
        return
    assert under_way.offered or under_way.wanted, "nothing is under way, and yet it is kept"
    for attribute, bids in under_way.wanted.items():
        assert bids, "an empty list of bids is kept"
        assert attribute in instance.owners, "nobody owns it, and yet somebody has to wait for it"
        for handle, bid in bids.items():
            bidder = federation.members[handle]
            assert instance.owners[attribute] is not bidder, "the owner bids for what it owns"
            known_class = federation.known_class(bidder, instance)
            assert known_class is not None, "the bidder does not know what it bids for"
            assert attribute in bidder.declared.published[known_class], "the bidder does not publish it"
            assert bid.lasting or attribute in under_way.offered, "a passing bid for what is not offered"


def transfers(federation: Federation) -> list[tuple[Any, ...]]:
    """Owners and transfers, orders included."""
    return [
        (
            instance.handle,
            [(attribute, owner.handle) for attribute, owner in instance.owners.items()],
            [] if instance.transfers is None else list(instance.transfers.offered.items()),
            []
            if instance.transfers is None
            else [(attribute, list(bids.items())) for attribute, bids in instance.transfers.wanted.items()],
            None
            if instance.overrides is None
            else (instance.overrides.transportations, instance.overrides.orders),
        )
        for instance in federation.instances.values()
    ]

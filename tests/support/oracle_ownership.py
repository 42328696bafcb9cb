"""The oracle's services of ownership management.  The rules are in `support.oracle_transfers`."""

from __future__ import annotations

from typing import Any

from support.oracle_state import Declaring, Out, Thing, Who, refuse_if
from support.oracle_transfers import Bid, bids_for, settled, unavailable
from support.small_fom import attributes_of


class Owning(Declaring):
    """Each service returns the callbacks (seat, method, arguments) it leads to, or raises `Refused`."""

    def mine(self, seat: int, handle: Any, names: set[str], **faults: Any) -> tuple[Who, Thing]:
        """Me and the instance, of which I own these attributes; each fault is a question asked of one of them."""
        me = self.me(seat)
        thing, at = self.known(me, handle)
        there = names & set(attributes_of(at))
        refuse_if(
            AttributeNotDefined=there != names,
            AttributeNotOwned=any(thing.owners.get(a) is not me for a in there),
            **{fault: any(holds(thing, a) for a in there) for fault, holds in faults.items()},
        )
        return me, thing

    def divest(self, seat: int, handle: Any, names: set[str], tag: bytes) -> Out:
        me, thing = self.mine(seat, handle, names)
        self.given_up(thing, names, tag)
        return self.advised(settled(self), me)

    def negotiate(self, seat: int, handle: Any, names: set[str], tag: bytes) -> Out:
        _, thing = self.mine(
            seat, handle, names, AttributeAlreadyBeingDivested=lambda thing, a: a in thing.offers
        )
        thing.offers.update(dict.fromkeys(names, tag))
        return self.advised([])

    def cancel_divestiture(self, seat: int, handle: Any, names: set[str]) -> Out:
        _, thing = self.mine(
            seat, handle, names, AttributeDivestitureWasNotRequested=lambda thing, a: a not in thing.offers
        )
        for name in names:
            del thing.offers[name]
        return self.advised(settled(self))

    def confirm(self, seat: int, handle: Any, names: set[str], tag: bytes) -> Out:
        _, thing = self.mine(
            seat,
            handle,
            names,
            AttributeDivestitureWasNotRequested=lambda thing, a: a not in thing.offers,
            NoAcquisitionPending=lambda thing, a: a in thing.offers and not bids_for(thing, a),
        )
        return self.handed_over(thing, names, tag)

    def handed_over(self, thing: Thing, names: set[str], tag: bytes) -> Out:
        """To those who want them; the owner would keep the rest."""
        for name in names:
            if bids_for(thing, name):
                del thing.owners[name]
        return self.advised(settled(self, tag))

    def divest_if_wanted(self, seat: int, handle: Any, names: set[str], tag: bytes, given: Any) -> Out:
        """`given` is what the RTI says was wanted, None if it refused."""
        _, thing = self.mine(seat, handle, names)
        assert {a for a in names if bids_for(thing, a)} == given
        return self.handed_over(thing, names, tag)

    def deny(self, seat: int, handle: Any, names: set[str], tag: bytes) -> Out:
        _, thing = self.mine(seat, handle, names)
        denied = [bid for bid in thing.bids if bid.lasting and bid.name in names]
        thing.bids = [bid for bid in thing.bids if bid not in denied]
        return self.advised(unavailable(thing, denied, tag), *(bid.who for bid in denied))

    def acquire(self, seat: int, handle: Any, names: set[str], tag: bytes, lasting: bool) -> Out:
        me = self.me(seat)
        thing, at = self.known(me, handle)
        there = names & set(attributes_of(at))
        published = me.published.get(at, set())
        bids = {bid.name: bid for bid in thing.bids if bid.who is me}
        refuse_if(
            AttributeNotDefined=there != names,
            ObjectClassNotPublished=not published,
            AttributeNotPublished=bool(published and there - published),
            FederateOwnsAttributes=any(thing.owners.get(a) is me for a in there),
            AttributeAlreadyBeingAcquired=not lasting and any(a in bids and bids[a].lasting for a in names),
        )
        for name in sorted(names):
            if name not in bids:
                thing.bids.append(Bid(me, name, tag, lasting))
            elif lasting and not bids[name].lasting:
                thing.bids[thing.bids.index(bids[name])] = Bid(me, name, tag, True)
        return self.advised(settled(self))

    def cancel_acquisition(self, seat: int, handle: Any, names: set[str]) -> Out:
        me = self.me(seat)
        thing, at = self.known(me, handle)
        there = names & set(attributes_of(at))
        cancelled = [bid for bid in thing.bids if bid.who is me and bid.lasting and bid.name in names]
        refuse_if(
            AttributeNotDefined=there != names,
            AttributeAlreadyOwned=any(thing.owners.get(a) is me for a in there),
            AttributeAcquisitionWasNotRequested=any(
                thing.owners.get(a) is not me and a not in [bid.name for bid in cancelled] for a in there
            ),
        )
        thing.bids = [bid for bid in thing.bids if bid not in cancelled]
        method = "confirm_attribute_ownership_acquisition_cancellation"
        return self.advised([(seat, method, (handle, frozenset(names)))] if names else [], me)

    def query_ownership(self, seat: int, handle: Any, names: set[str]) -> Out:
        me = self.me(seat)
        thing, at = self.known(me, handle)
        refuse_if(AttributeNotDefined=bool(names - set(attributes_of(at))))
        out: Out = []
        for owner in {thing.owners.get(name) for name in names}:
            owned = frozenset(name for name in names if thing.owners.get(name) is owner)
            if owner is None:
                out.append((seat, "attribute_is_not_owned", (handle, owned)))
            else:
                out.append((seat, "inform_attribute_ownership", (handle, owned, owner.handle)))
        return out

    def is_owned(self, seat: int, handle: Any, name: str, answer: Any) -> Out:
        """`answer` is what the RTI says, None if it refused."""
        me = self.me(seat)
        thing, at = self.known(me, handle)
        refuse_if(AttributeNotDefined=name not in attributes_of(at))
        assert answer == (thing.owners.get(name) is me)
        return []

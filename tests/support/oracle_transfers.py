"""The oracle's rules for ownership.  See `support.oracle`.

An instance keeps, for its attributes, *offers* (a new owner is sought, with that tag: the owner negotiates, or the attribute
was given up and has none) and *bids*, in the order they were made, lasting ones and passing ones.

* An attribute that nobody owns goes to its first bidder.  Then it is no longer offered; its transportation is the new owner's
  default, and who does not know the instance may discover it.
* A passing bid for an attribute that is owned and not offered ends: unavailable.
* An owner is asked to release an attribute by each lasting bidder while it does not offer it, and to confirm while it offers it
  and there is a bid (with the tag of the first).
* Whoever knows the instance, publishes the attribute at its known class and does not own it is asked to assume it while it
  is offered and there is no bid.  Who just gave it up, cancelled or was denied is not asked at once.

The last two are of one kind: there is a set of questions that stand, worked out anew after every call, and those that did not
stand before are asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from support.oracle_state import Declaring as Oracle
    from support.oracle_state import Out, Thing, Who


class Bid(NamedTuple):
    who: Who
    name: str
    tag: bytes
    lasting: bool


Question = tuple[Any, ...]  # method, whom, instance, because of whom, tag; and the attribute at the end


def bids_for(thing: Thing, name: str) -> list[Bid]:
    return [bid for bid in thing.bids if bid.name == name]


def settled(oracle: Oracle, tag: bytes | None = None) -> Out:
    """Attributes go to their bidders, with that tag or the bidder's own; what cannot be had is said so."""
    out: Out = []
    for thing in oracle.things.values():
        granted: dict[tuple[Who, bytes], set[str]] = {}
        for bid in list(thing.bids):
            if bid in thing.bids and bid.name not in thing.owners:
                thing.bids.remove(bid)
                thing.offers.pop(bid.name, None)
                thing.owners[bid.name] = bid.who
                own_way = bid.who.defaults.get(thing.known[bid.who], {}).get(bid.name)
                thing.transportations.pop(bid.name, None)
                thing.transportations |= {bid.name: own_way} if own_way else {}
                granted.setdefault((bid.who, bid.tag if tag is None else tag), set()).add(bid.name)
        out += callbacks(thing, granted, "attribute_ownership_acquisition_notification")
        ended = [
            b for b in thing.bids if not b.lasting and b.name in thing.owners and b.name not in thing.offers
        ]
        thing.bids = [bid for bid in thing.bids if bid not in ended]
        out += unavailable(thing, ended)
        if granted:
            for who in oracle.who.values():
                out += [] if who in thing.known else oracle.discovery(who, thing)
    return out


def unavailable(thing: Thing, bids: list[Bid], tag: bytes | None = None) -> Out:
    told: dict[tuple[Who, bytes], set[str]] = {}
    for bid in bids:
        told.setdefault((bid.who, bid.tag if tag is None else tag), set()).add(bid.name)
    return callbacks(thing, told, "attribute_ownership_unavailable")


def callbacks(thing: Thing, told: dict[tuple[Who, bytes], set[str]], method: str) -> Out:
    return [(who.seat, method, (thing.handle, frozenset(names), tag)) for (who, tag), names in told.items()]


def questions(oracle: Oracle) -> set[Question]:
    standing: set[Question] = set()
    for thing in oracle.things.values():
        for name in {*thing.offers, *(bid.name for bid in thing.bids)}:
            owner = thing.owners.get(name)
            bids = bids_for(thing, name)
            if name not in thing.offers:
                for bid in bids:
                    standing.add(("release", owner, thing.handle, bid.who, bid.tag, name))
            elif bids:
                standing.add(("confirm", owner, thing.handle, bids[0].who, bids[0].tag, name))
            else:
                for who, at in thing.known.items():
                    if who is not owner and name in who.published.get(at, ()):
                        standing.add(("assume", who, thing.handle, owner, thing.offers[name], name))
    return standing


METHODS = {
    "release": "request_attribute_ownership_release",
    "confirm": "request_divestiture_confirmation",
    "assume": "request_attribute_ownership_assumption",
}


def news(oracle: Oracle, silent: list[Who]) -> Out:
    """The questions that are new, but those to assume to the silent."""
    standing = questions(oracle)
    before, oracle.asked = oracle.asked, standing
    # That another bidder is now the first does not ask the owner to confirm anew.
    confirming = {(q[1], q[2], q[5]) for q in before if q[0] == "confirm"}
    grouped: dict[Question, set[str]] = {}
    for question in standing - before:
        kind, whom, handle, _, _, name = question
        again = kind == "confirm" and (whom, handle, name) in confirming
        if not again and not (kind == "assume" and whom in silent):
            grouped.setdefault(question[:-1], set()).add(name)
    return [
        (whom.seat, METHODS[kind], (handle, frozenset(names), tag))
        for (kind, whom, handle, _, tag), names in grouped.items()
    ]

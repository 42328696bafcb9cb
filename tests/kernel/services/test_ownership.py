"""Ownership of one attribute among three (clause 7), against the rules that `ownership_transfers` begins with."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from support.bare_federation import HERE, bare, object_class, step_of, told
from support.ownership_invariants import check_transfers
from weft.kernel.services import declaration, object_management, ownership
from weft.kernel.state.federation import Federation, Member
from weft.model.errors import (
    AttributeAcquisitionWasNotRequested,
    AttributeAlreadyBeingAcquired,
    AttributeAlreadyBeingDivested,
    AttributeAlreadyOwned,
    AttributeDivestitureWasNotRequested,
    AttributeNotOwned,
    FederateOwnsAttributes,
    NoAcquisitionPending,
    RTIexception,
)
from weft.model.handles import ObjectInstanceHandle

SERVICES = {
    "divest": ownership.unconditional_attribute_ownership_divestiture,
    "negotiate": ownership.negotiated_attribute_ownership_divestiture,
    "confirm": ownership.confirm_divestiture,
    "give if wanted": ownership.attribute_ownership_divestiture_if_wanted,
    "deny": ownership.attribute_ownership_release_denied,
    "acquire": ownership.attribute_ownership_acquisition,
    "acquire if available": ownership.attribute_ownership_acquisition_if_available,
}
WITHOUT_TAG = {
    "keep": ownership.cancel_negotiated_attribute_ownership_divestiture,
    "cancel": ownership.cancel_attribute_ownership_acquisition,
}
CALLS = [(call, who) for call in (*SERVICES, *WITHOUT_TAG) for who in range(3)]


class Attribute:
    """Who owns it, whether a new owner is sought, and the bids in their order; True: until granted, denied or cancelled."""

    def __init__(self) -> None:
        self.owner: int | None = 0
        self.offered = False
        self.bids: dict[int, bool] = {}

    def refusal(self, call: str, who: int) -> type[RTIexception] | None:
        if call == "cancel":
            if self.owner == who:
                return AttributeAlreadyOwned
            return None if self.bids.get(who) else AttributeAcquisitionWasNotRequested
        if call.startswith("acquire"):
            if self.owner == who:
                return FederateOwnsAttributes
            again = call == "acquire if available" and self.bids.get(who)
            return AttributeAlreadyBeingAcquired if again else None
        if self.owner != who:
            return AttributeNotOwned
        if call == "negotiate" and self.offered:
            return AttributeAlreadyBeingDivested
        if call in ("keep", "confirm") and not self.offered:
            return AttributeDivestitureWasNotRequested
        return NoAcquisitionPending if call == "confirm" and not self.bids else None

    def called(self, call: str, who: int) -> None:
        """It was not refused."""
        if call == "divest":
            self.owner, self.offered = None, True
            self._grant()
        elif call == "negotiate":
            self.offered = True
        elif call == "keep":
            self._keep()
        elif call in ("confirm", "give if wanted"):
            self._grant()
        elif call == "deny":
            self.bids = {bidder: lasting for bidder, lasting in self.bids.items() if not lasting}
        elif call == "cancel":
            del self.bids[who]
        elif who not in self.bids or call == "acquire":
            if call == "acquire" or self.owner is None or self.offered:
                self.bids[who] = call == "acquire"
            if self.owner is None:
                self._grant()

    def _grant(self) -> None:
        """To the first that wants it."""
        if self.bids:
            self.owner = next(iter(self.bids))
            del self.bids[self.owner]
            self._keep()

    def _keep(self) -> None:
        """It is not offered any more: bids for what is available end."""
        self.offered = False
        self.bids = {bidder: True for bidder, lasting in self.bids.items() if lasting}


def registered() -> tuple[Federation, list[Member], ObjectInstanceHandle]:
    """A vehicle of the first; all know it, and publish its position."""
    federation, members = bare(HERE, HERE, HERE)
    entry = object_class(federation, "Vehicle")
    for member in members:
        step = step_of(federation, member)
        declaration.publish_object_class_attributes(step, entry.handle, [entry.names["Position"]])
        declaration.subscribe_object_class_attributes(step, entry.handle, [entry.names["Position"]])
    handle = object_management.register_object_instance(step_of(federation, members[0]), entry.handle)
    return federation, members, handle


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 26), st.booleans()), min_size=10, max_size=40))
def test_an_attribute_changes_hands_by_the_rules(choices: list[tuple[int, bool]]) -> None:
    """Clauses 7.2 to 7.19: what is refused, who owns it then, who still waits; a new owner is told so, and nobody else."""
    federation, members, handle = registered()
    instance = federation.instances[handle]
    attribute = instance.entry.names["Position"]
    model = Attribute()
    for number, allowed in choices:
        among = [one for one in CALLS if model.refusal(*one) is None] if allowed else CALLS
        call, who = among[number % len(among)]
        step = step_of(federation, members[who])
        expected, before = model.refusal(call, who), model.owner
        found: type[RTIexception] | None = None
        try:
            if call in WITHOUT_TAG:
                WITHOUT_TAG[call](step, handle, [attribute])
            else:
                SERVICES[call](step, handle, [attribute], b"tag")
        except RTIexception as error:
            found = type(error)
            assert not step.effects
        assert found is expected, (call, who)
        if expected is None:
            model.called(call, who)
        owner = instance.owners.get(attribute)
        under_way = instance.transfers
        assert (None if owner is None else members.index(owner)) == model.owner
        assert (under_way is not None and attribute in under_way.offered) == model.offered
        bids = {} if under_way is None else under_way.wanted.get(attribute, {})
        assert [(federation.members[bidder], bid.lasting) for bidder, bid in bids.items()] == [
            (members[bidder], lasting) for bidder, lasting in model.bids.items()
        ]
        check_transfers([federation])
        for at, member in enumerate(members):
            methods = [method for method, _ in told(step, member)]
            gained = at == model.owner != before
            assert methods.count("attribute_ownership_acquisition_notification") == gained
            mine = ownership.is_attribute_owned_by_federate(step_of(federation, member), handle, attribute)
            assert mine == (at == model.owner)

"""Laws of ownership (clause 7), whatever the calls; Hypothesis chooses them and shrinks what fails."""

from __future__ import annotations

from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.oracle_bench import Bench
from support.oracle_calls import perform
from support.oracle_operations import SEATS, Chooser
from support.oracle_runs import TRADE, TRADING
from support.ownership_invariants import check_transfers
from support.small_fom import attributes_of
from weft import ResignAction

LAWS = settings(
    max_examples=40,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
CHANCE = st.randoms(use_true_random=False)


def traded(bench: Bench, chance: Random, steps: int) -> None:
    for operation in TRADING:
        perform(bench, *operation)
    for _ in range(steps):
        perform(bench, *Chooser(bench, chance).operation(*TRADE))
        check_transfers(bench.kernels())


@LAWS
@given(chance=CHANCE, steps=st.integers(1, 40))
def test_an_attribute_has_one_owner_who_publishes_it(chance: Random, steps: int) -> None:
    """Clause 7.1: owners and bidders are joined, know the instance and publish the attribute; nothing is kept for nobody."""
    bench = Bench(SEATS)
    traded(bench, chance, steps)
    bench.real.close()


@LAWS
@given(chance=CHANCE, steps=st.integers(1, 40))
def test_what_all_federates_are_told_adds_up_to_one_owner(chance: Random, steps: int) -> None:
    """Clauses 7.17 to 7.19: every federate that knows an instance is told the same owner, and that owner says so too."""
    bench = Bench(SEATS)
    traded(bench, chance, steps)
    bench.evoke_all()
    for thing in bench.oracle.things.values():
        for name in thing.owners:
            attribute = bench.attributes[name]
            claims = [
                who.handle
                for who in thing.known
                if name in attributes_of(thing.known[who])
                and bench.real.rti[who.seat].is_attribute_owned_by_federate(thing.handle, attribute)
            ]
            assert claims == [thing.owners[name].handle]
    bench.real.close()


@LAWS
@given(chance=CHANCE, steps=st.integers(1, 40))
def test_when_all_resign_nothing_is_left_under_way(chance: Random, steps: int) -> None:
    """Clause 4.12: the last to resign leaves no bid behind, and nobody owns what stays."""
    bench = Bench(SEATS)
    traded(bench, chance, steps)
    for seat in list(bench.oracle.who):
        perform(bench, "resign", seat, ResignAction.CANCEL_THEN_DELETE_THEN_DIVEST)
        check_transfers(bench.kernels())
    state = bench.kernels()[0]
    for instance in state.instances.values():
        assert all(owner is state.rti for owner in instance.owners.values())
        assert instance.transfers is None or not instance.transfers.wanted
    bench.real.close()

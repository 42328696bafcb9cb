"""Crashes: of a node with members, of a home, of the directory; at any moment."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.federation_digest import check_agreement, running
from support.overlapping_calls import Driver
from support.random_kernel_calls import Draw, draws, script
from support.simulated_federates import NAME, Seat, federation, instances, mesh, outcome, seats
from support.small_fom import fom
from weft import CallbackModel, FederateAmbassador, ResignAction, RTIambassador
from weft.model.errors import FederateNotExecutionMember, NotConnected, RTIinternalError
from weft.model.handles import FederateHandle

NODES = ("S1", "S2", "S3", "S4")


@pytest.mark.parametrize(
    ("directive", "removed"),
    [
        ("DeleteObjects", True),
        ("DeleteObjectsThenDivest", True),
        ("CancelThenDeleteThenDivest", True),
        ("UnconditionallyDivestAttributes", False),
        ("NoAction", False),
    ],
)
def test_members_of_a_crashed_node_resign_by_their_directive(directive: str, removed: bool) -> None:
    """Clause 4.4: the automatic resign directive says whether the objects of a lost federate are deleted or left."""
    network = mesh()
    one, two, three = federation(network, "S1", "S2", "S3", fom=fom(resign=directive))
    two.publish("Building", "Height")
    one.subscribe("Building", "Height")
    three.subscribe("Building", "Height")
    instance = two.register("Building")
    network.settle()
    assert one.heard()
    assert three.heard()
    network.crash("S2")
    network.settle()
    assert one.members() == three.members() == {"f1", "f3"}
    for seat in (one, three):
        told = [arguments for _, (method, arguments) in seat.trace if method == "remove_object_instance"]
        assert told == ([(instance, b"", FederateHandle.of(2))] if removed else [])
    left = instances(network, "S3")
    assert list(left) == ([] if removed else [instance])
    assert all(not each.owners for each in left.values())
    check_agreement(network, *NODES[:3])


def test_a_point_that_waits_for_a_crashed_member_is_reached() -> None:
    """Clause 4.18: who has resigned, however, is waited for no longer."""
    network = mesh()
    one, two, three = federation(network, "S1", "S2", "S3")
    one.call("register_federation_synchronization_point", "ready", b"")
    one.call("synchronization_point_achieved", "ready")
    network.settle()
    three.call("synchronization_point_achieved", "ready")
    network.settle()
    assert not one.heard("federation_synchronized")
    network.crash("S2")
    network.settle()
    assert one.heard("federation_synchronized") == three.heard("federation_synchronized")
    assert [call for _, call in one.trace][-1][0] == "federation_synchronized"
    assert two.heard("connection_lost") == [("connection_lost", ("node 'S2' has crashed",))]


def test_the_federates_of_a_crashed_home_are_told() -> None:
    """Clause 4.4: connection_lost names the node and the federation; the federate is no member any more."""
    network = mesh()
    one, two = federation(network, "S3", "S2")
    (three,) = seats(network, "S1")
    pending = two.begin("subscribe_interaction_class", two.call("get_interaction_class_handle", "Event"))
    network.crash("S3")
    network.settle()
    with pytest.raises(NotConnected, match="'S3' went away"):
        pending.result()
    ((method, (fault,)),) = two.heard()
    assert method == "connection_lost"
    assert "'S3'" in fault
    assert f"'{NAME}'" in fault
    with pytest.raises(FederateNotExecutionMember):
        two.call("get_federate_name", b"")
    with pytest.raises(NotConnected):
        one.call("list_federation_executions")
    assert three.federations() == set()
    two.create()
    two.join()
    assert three.members() == {"f2"}
    check_agreement(network, *NODES[:3])


def test_an_ambassador_hears_of_its_crashed_home() -> None:
    """Clause 4.4: the ambassador of a federate whose home crashed is not connected any more, and can start over."""
    network = mesh()
    lost: list[str] = []

    class Ears(FederateAmbassador):
        def connection_lost(self, fault_description: str) -> None:
            lost.append(fault_description)

    (one,) = seats(network, "S3")
    one.create()
    rti = RTIambassador(network.at("S2"))
    rti.connect(Ears(), CallbackModel.EVOKED)
    rti.join_federation_execution("ears", "test", NAME)
    network.crash("S3")
    rti.evoke_callback(5.0)
    assert len(lost) == 1
    with pytest.raises(NotConnected, match="'S3'"):
        rti.resign_federation_execution(ResignAction.NO_ACTION)
    rti.connect(Ears(), CallbackModel.EVOKED)
    rti.list_federation_executions()


def test_calls_to_the_directory_end_when_it_crashes() -> None:
    """No hang: what waits for the directory is refused, with its name; so is what is asked of it later."""
    network = mesh()
    one, two = federation(network, "S2", "S3")
    (three,) = seats(network, "S3")
    waiting = [
        three.begin("list_federation_executions"),
        three.begin("create_federation_execution", "other", (fom(),), None, ""),
        three.begin("join_federation_execution", "elsewhere", "test", None, ()),
    ]
    network.crash("S1")
    network.settle()
    for pending in waiting:
        with pytest.raises(RTIinternalError, match="'S1' went away"):
            pending.result()
    for call in (three.federations, lambda: three.join("elsewhere"), lambda: three.create("other")):
        pending_now = network.clock.now
        assert "S1" in outcome(call)[1]
        assert network.clock.now == pending_now, "it is known to be gone, so nobody waits"
    # The federation itself lives on, and its members find one another.
    one.publish_interaction("Event")
    two.subscribe_interaction("Event")
    network.settle()
    one.send("Event", b"still here")
    network.settle()
    assert two.tags("receive_interaction") == [b"still here"]
    assert two.members() == {"f1", "f2"}


def test_a_new_directory_learns_what_there_is() -> None:
    """A directory that comes back is told by the homes which names are taken."""
    network = mesh()
    one, two = federation(network, "S2", "S3")
    network.crash("S1")
    network.settle()
    network.restart("S1")
    network.settle()
    (three,) = seats(network, "S1")
    three.name = "f3"
    assert three.federations() == {NAME}
    assert outcome(three.create)[0] == "FederationExecutionAlreadyExists"
    three.join()
    assert one.members() == two.members() == {"f1", "f2", "f3"}
    for seat in (one, two, three):
        seat.resign()
    three.destroy()
    assert three.federations() == set()
    check_agreement(network, *NODES[:3])


def test_a_federation_is_destroyed_without_its_directory() -> None:
    """The home can destroy although the directory is gone, or goes away meanwhile."""
    network = mesh()
    one, two = seats(network, "S2", "S3")
    one.create("first")
    one.create("second")
    one.join("second")
    two.join("second")  # so that S3 need not ask where it is
    one.resign()
    two.resign()
    pending = one.begin("destroy_federation_execution", "first")
    network.crash("S1")
    network.settle()
    assert pending.has_come()
    assert pending.result() is None
    one.destroy("second")
    assert not network.node("S2").federations


def test_a_restarted_node_begins_with_nothing() -> None:
    """A node that comes back is a fresh one: no session, no member, and it may join again."""
    network = mesh()
    one, two = federation(network, "S1", "S2")
    two.publish("Building", "Height")
    two.register("Building")
    network.crash("S2")
    network.restart("S2")
    assert not network.node("S2").sessions
    assert not network.node("S2").federations
    (again,) = seats(network, "S2")
    again.name = "f2"
    again.join()
    network.settle()
    assert one.members() == {"f1", "f2"}
    again.publish_interaction("Event")
    assert again.call("get_federate_name", again.call("get_federate_handle", "f2")) == "f2"
    check_agreement(network, *NODES[:3])


def test_a_restarted_node_hears_nothing_meant_for_the_one_before() -> None:
    """Parcels that were under way to a crashed node, or kept for it by a cut link, are gone with it."""
    network = mesh(delay=5.0)
    sender, receiver = federation(network, "S1", "S2")
    sender.publish_interaction("Event")
    receiver.subscribe_interaction("Event")
    network.settle()
    sender.send("Event", b"under way")
    network.cut("S1", "S2")
    sender.send("Event", b"kept")
    network.crash("S2")
    network.heal("S1", "S2")
    network.restart("S2")
    (again,) = seats(network, "S2")
    again.name = "again"
    again.join()
    again.subscribe_interaction("Event")
    network.settle()
    assert not again.heard()
    sender.send("Event", b"new")
    network.settle()
    assert again.tags("receive_interaction") == [b"new"]


def test_a_node_that_comes_back_knows_who_is_still_gone() -> None:
    """A call to a node that was down already when this one started is refused, too."""
    network = mesh()
    network.crash("S1")
    network.crash("S2")
    network.restart("S2")
    (one,) = seats(network, "S2")
    assert "'S1'" in outcome(one.create)[1]
    network.restart("S1")
    one.create()
    assert one.federations() == {NAME}


def test_last_words_of_a_crashed_node_may_arrive_but_none_after_its_end_is_known() -> None:
    """Over a link slower than the detection, nothing of a node arrives once the others have noticed."""
    network = mesh(3, 3, delay=4.0)
    one, two, _ = federation(network, "S1", "S2", "S3")
    network.detection = 0.1
    (late,) = seats(network, "S2")
    late.begin("join_federation_execution", NAME, "test", "late", ())
    two.begin("register_federation_synchronization_point", "never", b"")
    network.crash("S2")
    network.settle()
    assert one.members() == {"f1", "f3"}
    check_agreement(network, *NODES[:3])


# --- at any moment --------------------------------------------------------------------------------------------


def check(drawn: list[Draw], places: list[str], crashes: list[tuple[float, str, float]], seed: int) -> None:
    network = mesh(4, seed, delay=0.01, jitter=0.03, loss=0.2)
    made = federation(network, *places)
    driver = Driver(network, made)
    for number, call in enumerate(script(drawn, len(made), len(made))):
        driver.at(number * 0.005, call)
    for when, node, back in crashes:
        driver.act(when, _crash(network.crash, node))
        if back:
            driver.act(when + 1.0 + back, _crash(network._return, node))
    driver.run()
    driver.check_all_ended()
    check_agreement(network, *NODES)
    alive = {node.name for node in running(network, *NODES)}
    for number, seat in enumerate(made):
        _check_told(seat, places[number], places[0], {node for _, node, _ in crashes})
    for place in sorted(alive):  # what is left is a working network
        (visitor,) = seats(network, place)
        if "S1" in alive:
            visitor.create(f"of {place}")
            visitor.join(f"of {place}")


def _crash(action: Callable[[str], None], node: str) -> Callable[[], None]:
    return lambda: action(node)


def _check_told(seat: Seat, place: str, home: str, crashed: set[str]) -> None:
    told = [arguments[0] for _, arguments in seat.heard("connection_lost")]
    if place not in crashed and home not in crashed:
        assert not told
    for fault in told:
        assert any(repr(node) in fault for node in crashed)


CASES = given(
    drawn=st.lists(draws(5), min_size=20, max_size=60),
    places=st.lists(st.sampled_from(NODES), min_size=5, max_size=5),
    crashes=st.lists(
        st.tuples(st.floats(0, 0.8), st.sampled_from(NODES), st.sampled_from([0.0, 0.001, 0.5])),
        min_size=1,
        max_size=2,
        unique_by=lambda crash: crash[1],
    ),
    seed=st.integers(0, 10_000),
)


@settings(
    max_examples=50, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck)
)
@CASES
def test_a_crash_at_any_moment_hangs_nobody(
    drawn: list[Draw], places: list[str], crashes: list[tuple[float, str, float]], seed: int
) -> None:
    """Everything settles, every call of a survivor ends, and the nodes that are left agree."""
    check(drawn, places, crashes, seed)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@settings(max_examples=1000, database=None, deadline=None, suppress_health_check=list(HealthCheck))
@CASES
def test_a_crash_at_any_moment_hangs_nobody_for_long(
    drawn: list[Draw], places: list[str], crashes: list[tuple[float, str, float]], seed: int
) -> None:
    """As above, for longer and with new cases each time."""
    check(drawn, places, crashes, seed)

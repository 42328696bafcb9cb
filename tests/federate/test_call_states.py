"""The precondition of every service in every state, at an embedded node and over the Federate Protocol.

The table is `support.call_states.TABLE`.  Save, restore and time states come with those services.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from time import monotonic

import pytest

from support.call_states import CONNECTED, OF_STATE, SERVICES, TABLE, State, outcomes, row, rows_of
from support.recording_ambassador import Recorder
from support.server_in_thread import WAIT, Running, serving
from support.standard_services import snake, standard
from weft import CallbackModel, EmbeddedNode, RTIambassador, RtiConfiguration

# Where Weft answers a state with another exception than the standard's list for the service has.
CLEARER = {"evoke_callback", "evoke_multiple_callbacks", "enable_callbacks", "disable_callbacks"}
"""The standard names only RTIinternalError for want of a connection; NotConnected says what is wrong."""


class Embedded:
    def __init__(self) -> None:
        self.node = EmbeddedNode()

    def connected(self, ears: Recorder) -> RTIambassador:
        rti = RTIambassador(self.node)
        rti.connect(ears, CallbackModel.EVOKED)
        return rti

    def lose(self, rti: RTIambassador, ears: Recorder) -> None:
        rti._lose_connection()


class Wire:
    def __init__(self, server: Running) -> None:
        self.server = server

    def connected(self, ears: Recorder) -> RTIambassador:
        rti = RTIambassador()
        rti.connect(ears, CallbackModel.EVOKED, RtiConfiguration(rti_address=self.server.address()))
        return rti

    def lose(self, rti: RTIambassador, ears: Recorder) -> None:
        """The server drops the session, and will not have it resumed."""
        self.server.ask(
            lambda server: [
                server.drop(one, "for a test", monotonic()) for one in [*server.sessions.values()]
            ]
        )
        deadline = monotonic() + WAIT
        while not ears.count("connection_lost") and monotonic() < deadline:
            rti.evoke_callback(0.1)
        assert ears.count("connection_lost")


@pytest.fixture(scope="module")
def hosts() -> Iterator[dict[str, Embedded | Wire]]:
    with serving() as server:
        yield {"embedded": Embedded(), "wire": Wire(server)}


@cache
def _found(host: Embedded | Wire, state: State) -> dict[str, str]:
    return outcomes(host, state)


@pytest.mark.parametrize("where", ["embedded", "wire"])
@pytest.mark.parametrize("state", State)
def test_every_service_is_answered_as_the_table_says(
    hosts: dict[str, Embedded | Wire], where: str, state: State
) -> None:
    """A row that names an exception gets just that; one that names none is never refused because of the state."""
    found = _found(hosts[where], state)
    wrong = [
        f"{one.service}, {state.value}: expected {one.expected or 'no refusal for the state'}, got {found[one.service]}"
        for one in rows_of(state)
        if (found[one.service] != one.expected if one.expected else found[one.service] in OF_STATE)
    ]
    assert not wrong


@pytest.mark.parametrize("state", State)
def test_a_server_answers_like_the_embedded_node(hosts: dict[str, Embedded | Wire], state: State) -> None:
    """Not only the exceptions of states: the same calls with the same arguments are refused alike, or carried out.

    But for steering, which a server allows to operators only.
    """
    wire, embedded = dict(_found(hosts["wire"], state)), dict(_found(hosts["embedded"], state))
    steered = wire.pop("steer"), embedded.pop("steer")
    assert steered[0] == ("Unauthorized" if state in CONNECTED else steered[1])
    assert wire == embedded


# --- against the standard -----------------------------------------------------------------------------------------


def test_the_table_has_every_service_of_the_standard() -> None:
    rows = {(one.service, one.state) for one in TABLE}
    missing = [
        f"{service.name}, {state.value}"
        for service in standard("services")
        for state in State
        if (snake(service.name), state) not in rows
    ]
    assert not missing
    assert len(rows) == len(SERVICES) * len(State)


def test_the_table_says_what_the_standard_says() -> None:
    """Each exception of a state is in the table exactly where the standard lists it for the service."""
    listed: dict[str, set[str]] = {}
    for service in standard("services"):
        listed.setdefault(snake(service.name), set()).update(service.exceptions)
    wrong = []
    for name, exceptions in listed.items():
        factory = name.endswith("_factory") and name != "get_time_factory"
        expected = {row(name, state).expected for state in State} - {""}
        theirs = set() if factory else exceptions & OF_STATE
        if expected - ({"NotConnected"} if name in CLEARER else set()) != theirs:
            wrong.append(f"{name}: the table has {sorted(expected)}, the standard {sorted(theirs)}")
    assert not wrong

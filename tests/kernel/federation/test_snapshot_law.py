"""The law of snapshots: a federation made of one behaves as the original from there on."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.federation_digest import digest
from support.random_kernel_calls import LOST, Call, Draw, draws, script
from support.simulated_federates import FOM, NAME
from support.small_fom import ADVISORIES, fom
from support.traced_traffic import canonical
from weft.host.files import cbor
from weft.kernel import Callback, Effect, Node, Refuse, Reply
from weft.kernel.federation.plain import SnapshotError
from weft.kernel.federation.snapshot import restored, snapshot

SEATS = 4
_SETTINGS = {"database": None, "deadline": None, "suppress_health_check": list(HealthCheck)}


def founded(advisories: bool) -> Node:
    node = Node("S1")
    sessions = [node.open_session() for _ in range(SEATS)]
    model = fom(*ADVISORIES) if advisories else FOM
    node.call(sessions[0], 0, "create_federation_execution", (NAME, (model,), None, ""), 0.0)
    for number, session in enumerate(sessions):
        node.call(session, 0, "join_federation_execution", (NAME, "test", f"f{number + 1}", ()), 0.0)
    return node


def twin(node: Node, now: float) -> Node:
    """Another node with the same sessions, and the federation from a snapshot that went through bytes."""
    data = cbor.decode(cbor.encode(snapshot(node.federations[NAME], now)))
    original = node.federations[NAME]
    made = restored(data, now)
    assert snapshot(made, now) == data
    made.execution, made.home, made.sequence = original.execution, original.home, original.sequence
    other = Node(node.name)
    other.sessions_opened = node.sessions_opened
    other.executions.founded = node.executions.founded
    other.homes.update(node.homes)
    other.federations.update(node.federations)
    other.federations[NAME] = made
    for number, session in node.sessions.items():
        other.open_session()
        copy = other.sessions.pop(next(reversed(other.sessions)))
        copy.number = number
        copy.joining = session.joining
        copy.federation = made if session.federation is original else session.federation
        if session.member is not None:
            copy.member = made.members.get(session.member.handle)
        other.sessions[number] = copy
    other.sessions_opened = node.sessions_opened
    assert digest(made) == digest(original)
    return other


def told(effects: list[Effect]) -> list[Any]:
    """Effects as they can be compared."""
    found: list[Any] = []
    for effect in effects:
        if isinstance(effect, Reply):
            found.append(("reply", effect.session, canonical(effect.value)))
        elif isinstance(effect, Refuse):
            found.append(("refuse", effect.session, type(effect.error).__name__, str(effect.error)))
        elif isinstance(effect, Callback):
            found.append((effect.session, effect.method, canonical(effect.arguments)))
    return found


def do(node: Node, call: Call, now: float) -> list[Any]:
    session = sorted(node.sessions)[call.seat % len(node.sessions)] if node.sessions else 0
    if call.service == LOST:
        return told(node.session_lost(session, now)) if len(node.sessions) > 1 else []
    return told(node.call(session, 1, call.service, call.arguments, now))


def check(drawn: list[Draw], where: int, advisories: bool) -> None:
    node = founded(advisories)
    calls = script(drawn, SEATS, SEATS)
    other: Node | None = None
    for number, call in enumerate(calls):
        if number >= len(calls) * where // 10 and other is None and NAME in node.federations:
            other = twin(node, float(number))
        first = do(node, call, float(number))
        if other is not None:
            assert do(other, call, float(number)) == first
    if other is not None and NAME in node.federations:
        ends = [snapshot(one.federations[NAME], 0.0) for one in (node, other)]
        assert ends[0] == ends[1]


CASES = given(
    drawn=st.lists(draws(SEATS), min_size=10, max_size=60),
    where=st.integers(0, 9),
    advisories=st.booleans(),
)


@settings(max_examples=120, derandomize=True, **_SETTINGS)  # type: ignore[arg-type]
@CASES
def test_a_federation_of_a_snapshot_behaves_as_the_original(
    drawn: list[Draw], where: int, advisories: bool
) -> None:
    """Whatever was done before and whatever is done after: the same answers, refusals, callbacks, in the same order."""
    check(drawn, where, advisories)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@settings(max_examples=3000, **_SETTINGS)  # type: ignore[arg-type]
@CASES
def test_a_federation_of_a_snapshot_behaves_as_the_original_for_long(
    drawn: list[Draw], where: int, advisories: bool
) -> None:
    """As above, for longer and with new cases each time."""
    check(drawn, where, advisories)


def test_a_snapshot_is_plain_data() -> None:
    """Nothing in it but dicts, lists, text, bytes and numbers: any host can write it."""

    def plain(value: Any) -> bool:
        if isinstance(value, dict):
            return all(type(key) in (str, int) and plain(item) for key, item in value.items())
        if isinstance(value, list):
            return all(map(plain, value))
        return value is None or type(value) in (str, bytes, int, float, bool)

    assert plain(snapshot(founded(False).federations[NAME], 0.0))


@pytest.mark.parametrize(
    "change", [{"version": 1}, {"members": 5}, {"time": "?"}, {"instances": [[]]}, {"fom": [99]}]
)
def test_data_that_is_no_snapshot_is_refused(change: dict[str, Any]) -> None:
    """What another version wrote, or nobody did, never becomes a federation."""
    data = snapshot(founded(False).federations[NAME], 0.0) | change
    with pytest.raises(SnapshotError, match="it "):
        restored(data)


plain_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(1 << 200), 1 << 200)
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=12,
)


@settings(max_examples=60)
@given(plain_values)
def test_plain_data_survives_cbor(value: Any) -> None:
    """RFC 8949: what is encoded is decoded to the same."""
    assert cbor.decode(cbor.encode(value)) == value


@given(st.binary(max_size=60))
def test_any_bytes_are_decoded_or_refused(data: bytes) -> None:
    """No bytes lead to another error than CborError."""
    with contextlib.suppress(cbor.CborError):
        cbor.decode(data)

"""Synchronization points (clauses 4.14 to 4.18) against a small model, whatever the order of calls."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from support.bare_federation import HERE, bare, step_of
from weft.kernel.federation import synchronization
from weft.kernel.state.effects import Callback
from weft.model.errors import SynchronizationPointLabelNotAnnounced

SEATS = 3
LABELS = ("ready", "done")
MOVES = st.one_of(
    st.tuples(
        st.just("register"),
        st.integers(0, SEATS - 1),
        st.sampled_from(LABELS),
        st.sets(st.integers(0, SEATS - 1)),
    ),
    st.tuples(st.just("achieve"), st.integers(0, SEATS - 1), st.sampled_from(LABELS), st.booleans()),
)


@given(st.lists(MOVES, max_size=25))
def test_a_point_is_reached_when_all_it_was_announced_to_have_achieved_it(
    moves: list[tuple[str, int, str, object]],
) -> None:
    """And all of them are told, once, who failed; who has nothing to achieve is refused (4.16)."""
    federation, members = bare(*[HERE] * SEATS)
    model: dict[str, dict[int, bool | None]] = {}
    for kind, who, label, more in moves:
        step = step_of(federation, members[who])
        expected: list[tuple[str, int]] = []
        if kind == "register":
            assert isinstance(more, set)
            chosen = {members[one].handle for one in more}
            synchronization.register_federation_synchronization_point(step, label, b"", chosen)
            if label in model:
                expected = [("synchronization_point_registration_failed", who)]
            else:
                model[label] = dict.fromkeys(sorted(more) or range(SEATS))
                expected = [("synchronization_point_registration_succeeded", who)]
                expected += [("announce_synchronization_point", one) for one in model[label]]
        elif model.get(label, {}).get(who, True) is not None:
            try:
                synchronization.synchronization_point_achieved(step, label, bool(more))
                raise AssertionError("it was not refused")
            except SynchronizationPointLabelNotAnnounced:
                pass
        else:
            synchronization.synchronization_point_achieved(step, label, bool(more))
            model[label][who] = bool(more)
            if None not in model[label].values():
                failed = {members[one].handle for one, well in model.pop(label).items() if not well}
                told = [one for one in step.effects if isinstance(one, Callback)]
                assert told
                assert all(one.arguments == (label, failed) for one in told)
                expected = [("federation_synchronized", session) for session in _seats(step.effects, members)]
        heard = [one.method for one in step.effects if isinstance(one, Callback)]
        assert list(zip(heard, _seats(step.effects, members), strict=True)) == expected
        assert set(federation.points) == set(model)


def _seats(effects: list, members: list) -> list[int]:  # type: ignore[type-arg]
    sessions = [member.session for member in members]
    return [sessions.index(one.session) for one in effects if isinstance(one, Callback)]

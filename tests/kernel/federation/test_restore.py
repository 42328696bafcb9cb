"""Who becomes whom in a restore (4.27): by type, and among equal types by name where one is the same."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from support.bare_federation import HERE, bare, step_of
from weft.kernel.federation.membership import join
from weft.kernel.federation.restore import places
from weft.kernel.federation.snapshot import snapshot
from weft.kernel.state.federation import Federation

WHO = st.dictionaries(st.sampled_from("ABCDE"), st.sampled_from(["tank", "plane"]), max_size=5)


def joined(who: dict[str, str]) -> Federation:
    federation, _ = bare()
    step = step_of(federation, federation.rti)
    for number, (name, kind) in enumerate(who.items()):
        join(step, HERE, number, kind, name, None)
    return federation


@given(WHO, WHO)
def test_places_are_taken_by_type_and_then_by_name(saved: dict[str, str], now: dict[str, str]) -> None:
    """All are taken once, or the restore is refused in words: it fits where there are as many of each type."""
    federation = joined(now)
    found = places(federation, snapshot(joined(saved), 0.0))
    if Counter(saved.values()) != Counter(now.values()):
        assert isinstance(found, str)
        return
    assert not isinstance(found, str)
    after = {federation.members[handle].name: name for handle, _, name in found}
    assert sorted(after) == sorted(now)
    assert sorted(after.values()) == sorted(saved)
    for name, other in after.items():
        assert saved[other] == now[name]
        assert other == name or saved.get(name) != now[name]

"""Dependencies and events for Hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st

from weft.channel import all_of, any_of, on
from weft.channel.qos import Dependency

TYPES = (16, 17, 18)
SOURCES = (1, 2)

pairs = st.tuples(st.sampled_from(SOURCES), st.sampled_from(TYPES))
leaves = st.builds(on, st.sampled_from((0, *TYPES)), st.sampled_from((0, *SOURCES)))


def groups(parts: st.SearchStrategy[Dependency]) -> st.SearchStrategy[Dependency]:
    several = st.lists(parts, min_size=1, max_size=3)
    return several.map(lambda found: all_of(*found)) | several.map(lambda found: any_of(*found))


dependencies: st.SearchStrategy[Dependency] = st.recursive(leaves, groups, max_leaves=7)

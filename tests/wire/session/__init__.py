"""Tests of `weft.wire.session`."""

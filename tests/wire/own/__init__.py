"""Tests of `weft.wire.own`."""

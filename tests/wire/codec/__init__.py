"""Tests of `weft.wire.codec`."""

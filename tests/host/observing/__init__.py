"""Tests of `weft.host.observing`."""

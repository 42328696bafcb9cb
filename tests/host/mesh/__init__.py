"""Tests of `weft.host.mesh`."""

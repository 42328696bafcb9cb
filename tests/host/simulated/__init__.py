"""Tests of `weft.host.simulated`."""

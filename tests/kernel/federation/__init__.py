"""Tests of `weft.kernel.federation`."""

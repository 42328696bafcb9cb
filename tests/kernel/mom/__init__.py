"""Tests of `weft.kernel.mom`."""

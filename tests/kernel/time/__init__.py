"""Tests of `weft.kernel.time`."""

"""Tests of `weft.kernel.node`."""

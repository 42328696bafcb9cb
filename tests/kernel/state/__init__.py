"""Tests of `weft.kernel.state`."""

"""Tests of `weft.kernel`."""

"""Tests of `weft.recorder`."""

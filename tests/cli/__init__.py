"""Tests of `weft.cli`."""

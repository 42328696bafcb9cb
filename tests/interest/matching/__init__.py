"""Tests of `weft.interest.matching`."""

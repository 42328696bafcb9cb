"""Tests of `weft.fom.classes`."""

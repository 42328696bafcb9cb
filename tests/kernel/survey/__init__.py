"""Tests of `weft.kernel.survey`."""

"""Tests of `weft.kernel.recording`."""

"""Tests of `weft.host.recording`."""

"""Tests of `weft.host.links`."""

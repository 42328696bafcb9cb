"""Tests of `weft.host.loop`."""

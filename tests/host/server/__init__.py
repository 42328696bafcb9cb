"""Tests of `weft.host.server`."""

"""Tests of `weft.host.dispatch`."""

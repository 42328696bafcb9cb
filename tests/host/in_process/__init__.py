"""Tests of `weft.host.in_process`."""

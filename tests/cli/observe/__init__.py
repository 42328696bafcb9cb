"""Tests of `weft.cli.observe`."""

"""Tests of `weft.cli.analyse`."""

"""Tests of `weft.cli.design`."""

"""Tests of `weft.cli.reference`."""

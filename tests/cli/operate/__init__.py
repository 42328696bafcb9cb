"""Tests of `weft.cli.operate`."""

"""Tests of `weft.fom.encoding`."""

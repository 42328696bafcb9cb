"""Tests of `weft.wire`."""

"""Tests of `weft.kernel.message`."""

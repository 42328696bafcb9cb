"""Tests of `weft.kernel.services`."""

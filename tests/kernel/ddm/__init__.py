"""Tests of `weft.kernel.ddm`."""

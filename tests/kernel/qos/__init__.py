"""Tests of `weft.kernel.qos`."""

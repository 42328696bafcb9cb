"""Tests of `weft.host.parcels`."""

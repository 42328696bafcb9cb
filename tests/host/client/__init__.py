"""Tests of `weft.host.client`."""

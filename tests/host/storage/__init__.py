"""Tests of `weft.host.storage`."""

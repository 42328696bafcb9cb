"""Tests of `weft.host.files`."""

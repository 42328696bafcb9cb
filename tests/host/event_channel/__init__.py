"""Tests of `weft.host.event_channel`."""

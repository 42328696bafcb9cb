"""Tests of `weft.channel.scheduling`."""

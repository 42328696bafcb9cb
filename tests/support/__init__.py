"""Helpers that tests share: an object model of our own, a recording federate, a ready federation, an oracle."""

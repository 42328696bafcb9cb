"""Tests of `weft.federate.services`."""

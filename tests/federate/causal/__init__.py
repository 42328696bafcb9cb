"""Tests of `weft.federate.causal`."""

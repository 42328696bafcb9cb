"""Tests of `weft.fom.codegen`."""

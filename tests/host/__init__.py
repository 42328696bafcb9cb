"""Tests of `weft.host`; `mesh`, `calls` and `digest` are what they share."""

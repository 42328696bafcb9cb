"""Tests of `weft.recorder.timeline`; `reference` has its rules, read literally."""

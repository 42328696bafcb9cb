"""Tests of `weft.review.steps`."""

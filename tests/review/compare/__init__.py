"""Tests of `weft.review.compare`."""

"""Tests of `weft.review.live`."""

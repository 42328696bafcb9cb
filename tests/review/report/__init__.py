"""Tests of `weft.review.report`."""
